"""What a formula for k(x, y) has to say, and how it is bound to rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays import is_numpy, namespace, to_float64
from gramian.errors import DataError
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.kernel import Kernel
from gramian.kernels.slopes import DiagonalSlopes, Slopes, flat, no_slopes

__all__ = ["Formula", "FormulaEvaluator"]


class Formula(Kernel):
    """A kernel with a formula of its own: how rows are encoded, a tile filled, its error bounded.

    Attributes
    ----------
    general : str
        The formula with the names of its parameters.
    """

    general: str = ""
    # Whether distances may be expanded into one product: fast, and inaccurate for clusters far apart.
    expands: bool = False

    @abstractmethod
    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        """Return float64 rows as the left and right factors that :meth:`tile` combines."""

    @abstractmethod
    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        """Return the block of kernel values for encoded rows."""

    @abstractmethod
    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) for every row, float64."""

    @abstractmethod
    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        """Bound an entry's error as ``(relative, absolute)`` for rows of norm up to ``largest``."""

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        """Return the tile of encoded NumPy rows with its derivative by X, the rows before :meth:`encode`.

        Raises
        ------
        ParameterError
            For a kernel without a derivative, with the reason.
        """
        raise no_slopes(self.kinks)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        """Return k(x, x) with its derivative by x; that of a stationary kernel does not change."""
        if not self.stationary:
            raise no_slopes(self.kinks)
        return flat(self.diagonal(X), X.shape[1])

    def size(self, largest: float) -> float:
        """Bound |k| for rows of norm up to ``largest``."""
        return 1.0

    def graded(self, bound: Any) -> float:
        # A valid kernel that depends on x - y alone has k(x, x) = 1 in all formulas here.
        return float(bound.relative + bound.absolute) if self.stationary else np.inf

    def weights(self) -> Any:
        """Return what columns are multiplied by before their norm is taken; None for the Euclidean norm."""
        return None

    def admit(self, X: Any) -> None:
        """Refuse rows on which the formula has no value.

        Raises
        ------
        DataError
        """

    def bind(
        self,
        X: Any,
        precision: float = 1e-9,
        *,
        centered: bool = False,
        names: Sequence[str] | None = None,
    ) -> Evaluator:
        """Bind to fitted rows, distances expanded where that is accurate enough."""
        kernel = self.resolve(X, names)
        assert isinstance(kernel, Formula)
        d = int(X.shape[1])
        shift = _mean(X) if kernel.expands or (centered and kernel.shifts_out) else None
        norm = largest_norm(X, shift, kernel.weights())
        relative, absolute = kernel.evaluation_error(d, norm, direct=False)
        direct = kernel.expands and not relative + absolute <= precision
        if direct:
            # Differences of the rows as they are: a shift would round away what tells neighbours apart.
            shift = None
            relative, absolute = kernel.evaluation_error(d, norm, direct=True)
        size = kernel.size(norm)
        if not np.isfinite(size):
            raise DataError(
                f"{self!r} overflows on this data: rows reach a norm of {norm:.3g}. Scale the data first "
                "(sklearn.preprocessing.StandardScaler)."
            )
        return FormulaEvaluator(kernel, relative, absolute, size, shift, direct)


@dataclass(frozen=True, eq=False)
class FormulaEvaluator:
    """A formula bound to rows.

    Attributes
    ----------
    kernel, relative, absolute, largest
        See :class:`~gramian.kernels.evaluator.Evaluator`.
    shift : array of shape (d,) or None
        Subtracted from every row first: where distances are expanded into a product, and where only the
        centred matrix matters and a shift does not change that.
    direct : bool
        Whether distances are summed from differences instead of expanded into a product: slower, and
        accurate for clusters that lie many widths apart.
    """

    kernel: Formula
    relative: float
    absolute: float
    largest: float
    shift: Any = None
    direct: bool = False

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile."""
        self.kernel.admit(X)
        X = to_float64(X)
        return self.kernel.encode(X if self.shift is None else X - self.shift, self.direct)

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row."""
        self.kernel.admit(X)
        return self.kernel.diagonal(X if self.shift is None else to_float64(X) - self.shift)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        return self.kernel.tile(left, right, self.direct, out)

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return a block of kernel values with their derivative by the rows of X."""
        X = X if self.shift is None else X - self.shift
        return self.kernel.slopes(X, self.kernel.encode(X, self.direct)[0], right, self.direct)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        """Return k(x, x) with its derivative by x."""
        return self.kernel.diagonal_slopes(X if self.shift is None else X - self.shift)


def _mean(X: Any) -> Any:
    return X.mean(axis=0, dtype=np.float64) if is_numpy(X) else namespace(X).mean(to_float64(X), axis=0)


def largest_norm(X: Any, shift: Any = None, weights: Any = None) -> float:
    """Return the largest Euclidean norm of a row, after a shift and weights of the columns."""
    xp = namespace(X)
    largest = 0.0
    n = X.shape[0]
    scale = None if weights is None else xp.asarray(weights, **({} if is_numpy(X) else {"device": X.device}))
    for start in range(0, n, 4096):
        block = to_float64(X[start : min(n, start + 4096), :])
        block = block if shift is None else block - shift
        block = block if scale is None else block * scale
        with np.errstate(over="ignore"):
            largest = max(largest, float(xp.max(xp.sum(block * block, axis=1))))
    return float(np.sqrt(largest))
