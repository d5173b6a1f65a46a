"""What every feature map shares: evaluation in blocks, the check against the kernel, refusals.

A map phi is written out, so that phi(x) . phi(y) is k(x, y), exactly or to a stated error. The exact and the
Taylor map are in ``feature_maps.py``, random Fourier features in ``fourier.py``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from gramian.arrays import (
    as_float64,
    from_numpy,
    is_numpy,
    memory_limit_bytes,
    namespace,
    numpy_dtype,
    parallel_map,
    power_of_two,
    to_dtype,
    to_float64,
)
from gramian.errors import DataError, MemoryLimitError, ParameterError
from gramian.kernels.arithmetic import is_number
from gramian.records import BoundKind, FloatArray

__all__ = [
    "EPS",
    "FeatureMap",
    "KernelError",
    "check_gamma",
    "check_labels",
    "check_origin",
    "gaussian_gram",
    "largest_norm",
]

EPS = float(np.finfo(np.float64).eps)
# Entries of one block of rows: large enough to hide the loop, small enough for the cache.
BLOCK = 1 << 16


@dataclass(frozen=True)
class KernelError:
    """How far phi(x) . phi(y) is from k(x, y), measured on pairs of rows, and the bound that holds for them.

    Attributes
    ----------
    maximum, rms : float
        Largest and root-mean-square ``|phi(x) . phi(y) - k(x, y)|`` over the measured pairs.
    scale : float
        Largest ``|k(x, y)|`` among them.
    pairs : int
        Number of ordered pairs (x, y) measured.
    bound : float
        Bound on the largest error; for a fitted transformer over all pairs of fitted rows.
    kind : {"deterministic", "probabilistic"}
        Whether the bound always holds, or with the probability that ``about`` names.
    about : str
        What was measured and where the bound comes from.
    """

    maximum: float
    rms: float
    scale: float
    pairs: int
    bound: float
    kind: BoundKind
    about: str

    @property
    def relative(self) -> float:
        """The largest error divided by the largest kernel value."""
        return self.maximum / self.scale if self.scale > 0 else self.maximum

    @property
    def ok(self) -> bool:
        """Whether the measured error is within the bound."""
        return self.maximum <= self.bound

    def __str__(self) -> str:
        return (
            f"kernel error: max {self.maximum:.2g}, rms {self.rms:.2g}, of values up to {self.scale:.4g}, "
            f"over {self.pairs:,} pairs; bound {self.bound:.2g} ({self.kind}). {self.about}"
        )


class FeatureMap(ABC):
    """A map phi from rows of d numbers to rows of D features.

    Attributes
    ----------
    n_features_in : int
        d.
    labels : tuple of str
        Names of the d features, f1, f2, ... unless given.
    formula : str
        The kernel.
    kind : {"deterministic", "probabilistic"}
        Kind of its error bound.
    """

    formula: str
    kind: BoundKind = "deterministic"
    # What the error bound rests on, for KernelError.
    reason: str = ""

    def __init__(self, labels: tuple[str, ...], scale: FloatArray | None, origin: FloatArray | None) -> None:
        self.labels = labels
        self.n_features_in = len(labels)
        self._scale = scale
        self._origin = origin

    # ------------------------------------------------------- for each map

    @abstractmethod
    def __len__(self) -> int:
        """Return D, the number of features."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the D features, with their coefficients."""

    @abstractmethod
    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the exact kernel from its definition, shape (n, m), float64 NumPy."""

    @abstractmethod
    def _features(self, Z: Any) -> Any:
        """Return the features of float64 rows that are already shifted and scaled, shape (n, D)."""

    @abstractmethod
    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        """Bound the error for shifted and scaled rows up to ``radius``, features rounded to ``eps``."""

    # ------------------------------------------------------- for the user

    @property
    def n_features_out(self) -> int:
        """D, the number of features."""
        return len(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.formula}: {self.n_features_in} -> {len(self):,} features>"

    def __call__(self, X: Any) -> Any:
        """Return phi of every row.

        Parameters
        ----------
        X : array of shape (n, d)
            Any array kind; lists and frames become NumPy.

        Returns
        -------
        array of shape (n, D), float64, of X's kind

        Raises
        ------
        DataError
            For another width, NaN, infinity, or a feature that float64 cannot hold.
        MemoryLimitError
            When the result is larger than the memory of the machine.
        """
        return self.evaluate(self._checked(X))

    def kernel_error(self, X: Any, Y: Any = None) -> KernelError:
        """Compare phi(x) . phi(y) with k(x, y) for every pair of rows.

        Parameters
        ----------
        X : array of shape (n, d)
        Y : array of shape (m, d), optional
            X itself when left out.
        """
        X = self._checked(X)
        Y = None if Y is None else self._checked(Y)
        radius = max(self.radius(X), 0.0 if Y is None else self.radius(Y))
        return self.measure(X, Y, np.dtype(np.float64), radius=radius)

    # ------------------------------------------- for the transformers

    def evaluate(self, X: Any, dtype: npt.DTypeLike = np.float64) -> Any:
        """Return phi of finite rows as ``dtype``, filled block by block; see :meth:`__call__`."""
        dtype = np.dtype(dtype)
        n = int(X.shape[0])
        self._refuse_memory(n, dtype)
        parts = self._parts(n, is_numpy(X))
        if is_numpy(X):
            out = np.empty((n, len(self)), dtype=dtype)

            def fill(part: slice) -> None:
                out[part] = self._block(X[part], dtype)

            parallel_map(fill, parts)
            return out
        blocks = [self._block(X[part, :], dtype) for part in parts]
        return blocks[0] if len(blocks) == 1 else namespace(X).concat(blocks, axis=0)

    def radius(self, X: Any) -> float:
        """Return the largest norm of the rows as the map sees them: shifted and scaled."""
        largest = 0.0
        for part in self._parts(int(X.shape[0]), is_numpy(X)):
            with np.errstate(over="ignore"):
                largest = max(largest, largest_norm(self._scaled(X[part, :])))
        return largest

    def measure(
        self,
        X: Any,
        Y: Any,
        dtype: np.dtype[Any],
        *,
        radius: float,
        pairs: int | None = None,
        about: str = "",
    ) -> KernelError:
        """Return the error of features handed out as ``dtype``, with the bound for rows up to ``radius``."""
        left = as_float64(self.evaluate(X, dtype))
        right = left if Y is None else as_float64(self.evaluate(Y, dtype))
        exact = self.kernel(X, Y)
        gap = np.abs(left @ right.T - exact)
        count = gap.size
        if pairs is None:
            n = gap.shape[0]
            pairs = n * (n - 1) // 2 if Y is None else count
        eps = EPS if dtype == np.float64 else float(np.finfo(dtype).eps)
        bound = self._bound(radius, max(1, pairs), eps)
        scale = float(np.abs(exact).max(initial=0.0))
        maximum = float(gap.max(initial=0.0))
        # Relative to the largest, so that no square overflows.
        rms = maximum * math.sqrt(float(np.mean((gap / maximum) ** 2))) if maximum > 0 else 0.0
        return KernelError(maximum, rms, scale, count, bound, self.kind, f"{about}{self.reason}")

    # --------------------------------------------------------- plumbing

    def _checked(self, X: Any) -> Any:
        if not array_api_compat.is_array_api_obj(X):
            try:
                X = np.asarray(X, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"X is not a table of numbers ({error}). Give an array of shape (n, d)."
                ) from error
        if X.ndim != 2 or X.shape[1] != self.n_features_in:
            raise DataError(
                f"X has shape {tuple(X.shape)}, but this map takes (n, {self.n_features_in}). "
                "Reshape X, or make a map for its number of columns."
            )
        if numpy_dtype(X).kind not in "biuf":
            raise DataError(f"X has dtype {X.dtype}, which is not real numbers. Convert it first.")
        X = X if numpy_dtype(X).kind == "f" else to_float64(X)
        if not bool(namespace(X).all(namespace(X).isfinite(X))):
            raise DataError("X contains NaN or infinity, which have no features. Remove or fill them first.")
        return X

    def _refuse_memory(self, n: int, dtype: np.dtype[Any]) -> None:
        need, limit = n * len(self) * dtype.itemsize, memory_limit_bytes(None)
        if need > limit:
            raise MemoryLimitError(
                f"{n:,} rows x {len(self):,} features take {need / 1e9:,.1f} GB, more than the "
                f"{limit / 1e9:,.1f} GB that may be used. Map fewer rows at a time, or use KernelPCA, which "
                "needs no features."
            )

    def _parts(self, n: int, small: bool) -> Iterator[slice]:
        entries = BLOCK if small else BLOCK << 8
        size = max(1, entries // max(len(self), self.n_features_in))
        for start in range(0, n, size):
            yield slice(start, min(n, start + size))

    def _scaled(self, X: Any) -> Any:
        Z = to_float64(X)
        if self._origin is not None:
            Z = Z - from_numpy(self._origin, Z)
        return Z if self._scale is None else Z * from_numpy(self._scale, Z)

    def _block(self, X: Any, dtype: np.dtype[Any]) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            values = to_dtype(self._features(self._scaled(X)), dtype)
        if not bool(namespace(values).all(namespace(values).isfinite(values))):
            raise DataError(
                f"A feature of {self.formula} is beyond what {dtype.name} can hold on this data. "
                "Scale the data first (sklearn.preprocessing.StandardScaler) or lower gamma."
            )
        return values


def largest_norm(Z: Any) -> float:
    """Return the largest Euclidean norm of a row; infinity where an entry is infinite."""
    xp = namespace(Z)
    top = float(xp.max(xp.abs(Z)))
    if not 0 < top < np.inf:
        return top
    # Divided by the largest entry first, so that no square overflows.
    Z = Z / top
    return top * math.sqrt(float(xp.max(xp.sum(Z * Z, axis=1))))


# ------------------------------------------------------------ the Gaussian kernel


def gaussian_gram(X: Any, Y: Any, gamma: FloatArray) -> FloatArray:
    """Return exp(-sum_i gamma_i (x_i - y_i)^2) from differences, shape (n, m), float64 NumPy."""
    X = as_float64(X)
    Y = X if Y is None else as_float64(Y)
    # A power of two rounds nothing, and keeps squares inside the range of float64.
    exponent = power_of_two(float(np.sqrt(gamma.max())))
    weights = np.ldexp(gamma, -2 * exponent)
    with np.errstate(over="ignore"):
        squares = cdist(np.ldexp(X, exponent), np.ldexp(Y, exponent), "sqeuclidean", w=weights)
    return np.asarray(np.exp(-squares))


# --------------------------------------------------------------------- parameters


def check_labels(n_features: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return a name for each feature: those given, or f1, f2, ..."""
    whole = is_number(n_features) and float(n_features).is_integer()
    if not whole or n_features < 1:
        raise ParameterError(f"n_features={n_features!r} must be a whole number, at least 1.")
    if names is None:
        return tuple(f"f{i + 1}" for i in range(int(n_features)))
    if isinstance(names, str) or len(names) != int(n_features):
        raise ParameterError(
            f"names={names!r} must be a sequence of {int(n_features)} names, one for each feature."
        )
    return tuple(str(name) for name in names)


def check_gamma(gamma: Any, n_features: int, *, several: bool, sigma: Any = None) -> FloatArray:
    """Return gamma of each feature, shape (d,), from gamma or from sigma; with neither, 1 / n_features.

    With ``several`` an array of one number for each feature is taken as well as one number.
    """
    if gamma is not None and sigma is not None:
        raise ParameterError("Give sigma or gamma, not both: gamma = 1 / (2 sigma^2).")
    if gamma is None and sigma is None:
        return np.full(n_features, 1.0 / n_features)
    name, given = ("gamma", gamma) if sigma is None else ("sigma", sigma)
    try:
        values = np.asarray(None if isinstance(given, bool) else given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim == 0:
        values = np.full(n_features, float(values))
    elif not several:
        values = np.zeros(0)
    if values.shape != (n_features,) or not (np.isfinite(values) & (values > 0)).all():
        also = f", {n_features} of them (one for each feature)," if several else ""
        raise ParameterError(f"{name}={given!r} must be a positive number{also} or None for 1 / n_features.")
    if sigma is None:
        return values
    with np.errstate(over="ignore", under="ignore"):
        factors = 0.5 / values / values
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise ParameterError(f"sigma={sigma!r} has a square that float64 cannot hold. Scale the data first.")
    return np.asarray(factors)


def check_origin(origin: Any, n_features: int) -> FloatArray | None:
    """Return the point that is subtracted from rows first, shape (d,), or None."""
    if origin is None:
        return None
    values = np.asarray(origin, dtype=np.float64)
    if values.shape != (n_features,) or not np.isfinite(values).all():
        raise ParameterError(
            f"origin has shape {values.shape}; it must hold {n_features} finite numbers, one a feature."
        )
    return values
