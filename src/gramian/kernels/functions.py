"""A Python function as a kernel; nothing is known about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian.arrays import as_float64, from_numpy, to_float64
from gramian.errors import DataError
from gramian.kernels.algebra import Kernel
from gramian.kernels.facts import Facts, unknown
from gramian.kernels.formulas import Formula, FormulaEvaluator
from gramian.records import Calls

SAMPLE = 3  # rows on which it is found out how a function is called
TILED = 100  # rows, at most, on which its speed is measured where it takes many at once
SIZED = 6  # rows, about, on which it is found out how large its values are


@dataclass(eq=False, repr=False)
class FunctionKernel(Formula):
    """A function ``k(x, y)`` of two rows, or ``k(X, Y)`` of many at once.

    Parameters
    ----------
    function : callable
        Takes two arrays of shape (d,) and returns a number, or takes (n, d) and (m, d) and returns (n, m).
    params : mapping, optional
        Keyword arguments for it.
    vectorised : bool or None, default=None
        Which of the two it is. None tries the second on the first three rows, checks it against single
        rows, and falls back to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import FunctionKernel
    >>> kernel = FunctionKernel(lambda x, y, power: float(x @ y) ** power, {"power": 2})
    >>> kernel.gram([[1.0, 0.0], [1.0, 2.0]])
    array([[ 1.,  1.],
           [ 1., 25.]])
    """

    name = "callable"
    general = "k(x, y), called for each pair, or k(X, Y), called for a tile"
    no_proof: ClassVar[str] = "A Python function has no proof"

    function: Callable[..., Any]
    params: Mapping[str, Any] | None = None
    vectorised: bool | None = None

    @property
    def facts(self) -> Facts:
        """Nothing is known about a function."""
        return Facts(
            unknown(f"{self.no_proof}; gramian.kernels.audit searches for a counterexample."),
            not_differentiable=f"The derivative of the function {self.label} is not known.",
            error_kind="estimate",
        )

    @property
    def label(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def formula(self) -> str:
        return f"{self.label}(x, y)"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        known = self.vectorised
        # A fitted model's own: arrays among them may be changed later.
        return FunctionKernel(
            self.function, deepcopy(self.params), self.takes_many(X) if known is None else known
        )

    def takes_many(self, X: Any) -> bool:
        """Return whether the function takes many rows at once: tried on three, checked pair by pair."""
        # Fewer rows are repeated: with one, too much looks right.
        rows = _read_only(as_float64(X[:SAMPLE, :])[np.arange(SAMPLE) % min(SAMPLE, X.shape[0])])
        try:
            with np.errstate(all="ignore"):
                whole = np.asarray(self._call(rows, rows[:2]))
                if whole.shape != (SAMPLE, 2) or whole.dtype.kind not in "biuf":
                    return False
                pairs = [[self._call(rows[[i]], rows[[j]]) for j in range(2)] for i in range(SAMPLE)]
                return np.shape(pairs) == (SAMPLE, 2, 1, 1) and np.allclose(
                    np.array(pairs)[:, :, 0, 0], whole, rtol=1e-6, equal_nan=True
                )
        except Exception:
            # Whatever a function of two rows does with tables of them.
            return False

    def calls(self, X: Any) -> Calls:
        """Return how long one value takes, measured on a few rows."""
        scalar = not self.vectorised
        rows = as_float64(X[: SAMPLE if scalar else TILED, :])
        start = time.perf_counter()
        self.tile(rows, rows, False)
        return Calls((time.perf_counter() - start) / max(1, len(rows) ** 2), scalar)

    def _call(self, x: Any, y: Any) -> Any:
        return self.function(x, y, **dict(self.params or {}))

    def bound_to(self, X: Any, precision: float, centered: bool) -> FormulaEvaluator:
        """Bind to rows; the size of the values is that on a few of them."""
        bound = super().bound_to(X, precision, centered)
        few = to_float64(X[:: max(1, X.shape[0] // SIZED), :])
        values = as_float64(bound.tile(few, few))
        return replace(bound, largest=float(np.abs(values).max(initial=0.0)))

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        x, y = _read_only(left), _read_only(right)
        if self.vectorised:
            return from_numpy(self._numbers(x, y, len(x), len(y)), left)
        values = np.array([[float(self._numbers(a, b)) for b in y] for a in x], dtype=np.float64)
        return from_numpy(values.reshape(x.shape[0], y.shape[0]), left)

    def _numbers(self, x: Any, y: Any, *shape: int) -> Any:
        """Return what the function returns for rows, or for two of them, as finite numbers of a shape."""
        returned = self._call(x, y)
        values = np.asarray(returned)
        if values.shape != shape or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            wanted = f"finite numbers of shape {shape}" if shape else "one finite number for two rows"
            shown = f"{values.dtype} of shape {values.shape}" if values.ndim else repr(returned)
            raise DataError(f"The kernel function {self.label} returned {shown}; it must return {wanted}.")
        # A copy: the function may keep what it returned.
        return np.array(values, dtype=np.float64)

    def diagonal(self, X: Any) -> Any:
        rows = _read_only(X)
        pairs = ((rows[i : i + 1],) * 2 + (1, 1) if self.vectorised else (a, a) for i, a in enumerate(rows))
        values = [self._numbers(*pair).item() for pair in pairs]
        return from_numpy(np.array(values, dtype=np.float64), X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        # Nothing is known about the function's own rounding: that of one multiplication is assumed.
        return 4 * float(np.finfo(np.float64).eps), 0.0


def _read_only(X: Any) -> Any:
    """Rows that a user's function cannot write into: they may be the user's data."""
    rows = as_float64(X).view()
    rows.flags.writeable = False
    return rows
