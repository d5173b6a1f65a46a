"""What a kernel is: a formula that stores its arguments, and an evaluator bound to data."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gramian.arrays import as_float64, is_numpy, namespace, to_float64
from gramian.errors import ParameterError
from gramian.records import BoundKind

__all__ = ["Evaluator", "Kernel", "exact_diagonal"]


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A kernel bound to one set of fitted rows, ready to fill tiles of the Gram matrix in float64.

    Attributes
    ----------
    kernel : Kernel
        The kernel with every parameter a number.
    shift : ndarray of shape (d,) or None
        Subtracted from every row first: where distances are expanded into a product, and where only the
        centred matrix matters and a shift does not change that.
    direct : bool
        Whether distances are summed from differences instead of expanded into a product: slower, and
        accurate for clusters that lie many widths apart.
    relative, absolute : float
        Bound on an entry's evaluation error: ``absolute + relative * |k|``.
    """

    kernel: Kernel
    shift: Any
    direct: bool
    relative: float
    absolute: float

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as left and right factors of a tile, float64."""
        X = to_float64(X)
        return self.kernel.encode(X if self.shift is None else X - self.shift, self.direct)

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row."""
        return self.kernel.diagonal(X if self.shift is None else to_float64(X) - self.shift)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return k of every row of ``left`` with every row of ``right``; ``out`` may be written into."""
        return self.kernel.tile(left, right, self.direct, out)


class Kernel(ABC):
    """A function k(x, y) of two rows.

    Subclasses store their arguments untouched, print as formulas and compare by value.

    Attributes
    ----------
    psd : bool
        Whether every Gram matrix is proven positive semi-definite.
    validity : str
        Why, or why not.
    """

    psd: bool = False
    validity: str = "unknown"
    stationary: bool = False
    # Whether distances may be expanded into one product: fast, and inaccurate for clusters far apart.
    expands: bool = False
    # Whether shifting all rows alike leaves the centred Gram matrix as it is.
    shifts_out: bool = False
    # Kind of the bound that evaluation_error states.
    error_kind: BoundKind = "deterministic"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's search tools expect."""
        if type(self).__init__ is object.__init__:
            return {}
        names = [p for p in inspect.signature(type(self).__init__).parameters if p != "self"]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        allowed = self.get_params()
        for name, value in params.items():
            if name not in allowed:
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}. "
                    f"It has: {', '.join(allowed) or 'none'}."
                )
            setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.get_params().items())))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    # ------------------------------------------------------- for the user

    def gram(self, X: Any, Y: Any = None) -> Any:
        """Return the Gram matrix k(x_i, y_j).

        Parameters
        ----------
        X : array of shape (n, d)
        Y : array of shape (m, d), optional
            X itself when left out; then the matrix is exactly symmetric and, for a stationary kernel,
            its diagonal exactly k(x, x).

        Returns
        -------
        array of shape (n, m), float64
        """
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        bound = self.bind(X)
        left, right = bound.encode(X)
        if Y is not None:
            Y = Y if hasattr(Y, "shape") else np.asarray(Y, dtype=np.float64)
            return bound.tile(left, bound.encode(Y)[1])
        return exact_diagonal(bound.tile(left, right), bound.kernel.diagonal(X))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return :meth:`gram`."""
        return self.gram(X, Y)

    # ------------------------------------------------- for each formula

    def resolve(self, n_features: int) -> Kernel:
        """Return the kernel with parameters that depend on the data filled in."""
        return self

    def bind(self, X: Any, precision: float = 1e-9, *, centered: bool = False) -> Evaluator:
        """Bind to fitted rows: fill in parameters, choose how distances are formed, bound the error.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows that the kernel will be evaluated on.
        precision : float
            Largest relative error of an entry that is accepted before differences are summed directly.
        centered : bool
            Whether only the centred Gram matrix is wanted, so that rows may be shifted where that leaves it
            as it is.
        """
        kernel = self.resolve(int(X.shape[1]))
        shift = _mean(X) if kernel.expands or (centered and kernel.shifts_out) else None
        largest = _largest_norm(X, shift)
        relative, absolute = kernel.evaluation_error(int(X.shape[1]), largest, direct=False)
        direct = kernel.expands and relative > precision
        if direct:
            # Differences of the rows as they are: a shift would round away what tells neighbours apart.
            shift = None
            relative, absolute = kernel.evaluation_error(int(X.shape[1]), largest, direct=True)
        return Evaluator(kernel, shift, direct, relative, absolute)

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
        """Bound an entry's error as ``(relative, absolute)`` for rows of Euclidean norm up to ``largest``."""


def exact_diagonal(K: Any, diagonal: Any) -> Any:
    """Return a square tile made exactly symmetric, with the diagonal given."""
    K = (K + K.T) / 2
    if is_numpy(K):
        np.fill_diagonal(K, as_float64(diagonal))
        return K
    xp = namespace(K)
    unit = xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
    return K * (1.0 - unit) + unit * diagonal


def _mean(X: Any) -> Any:
    return X.mean(axis=0, dtype=np.float64) if is_numpy(X) else namespace(X).mean(to_float64(X), axis=0)


def _largest_norm(X: Any, shift: Any) -> float:
    xp = namespace(X)
    largest = 0.0
    n = X.shape[0]
    for start in range(0, n, 4096):
        block = to_float64(X[start : min(n, start + 4096), :])
        block = block if shift is None else block - shift
        with np.errstate(over="ignore"):
            largest = max(largest, float(xp.max(xp.sum(block * block, axis=1))))
    return float(np.sqrt(largest))
