"""What the formulas compute with: products, distances, powers, and the rounding of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj
from scipy.spatial.distance import cdist

from gramian.arrays import from_numpy, is_numpy, namespace, numpy_dtype, to_float64
from gramian.checks import slices
from gramian.errors import DataError

UNIT = float(np.finfo(np.float64).eps) / 2
# Error of one call of exp, tanh or pow beyond that of its argument, in unit roundoffs.
FUNCTION_ULPS = 4.0
# Below this, values lose digits to underflow.
TINY = float(np.finfo(np.float64).tiny)
LEAST = float(np.finfo(np.float64).smallest_subnormal)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number that float64 can hold, and not a truth value."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def check_rows(name: str, X: Any) -> Any:
    """Return rows as a table of real finite numbers: an array as it is, anything else as float64."""
    try:
        X = X if is_array_api_obj(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} is not a table of numbers ({error}). Give an array of shape (n, d)."
        ) from error
    if X.ndim != 2:
        raise DataError(f"{name} has shape {tuple(X.shape)}, but a kernel takes rows: shape (n, d).")
    kind = numpy_dtype(X).kind
    if kind not in "biuf":
        raise DataError(f"{name} holds {X.dtype}, which is not real numbers.")
    if kind == "f" and not bool(namespace(X).all(namespace(X).isfinite(X))):
        raise DataError(f"{name} has NaN or infinity, for which a kernel has no value.")
    return X


def product(left: Any, right: Any, out: Any = None) -> Any:
    """Return ``left @ right.T``."""
    return np.matmul(left, right.T, out=out) if is_numpy(left) else left @ right.T


def exponential(T: Any) -> Any:
    """Return exp, in place where that is possible."""
    return np.exp(T, out=T) if is_numpy(T) else namespace(T).exp(T)


def whole_power(T: Any, degree: int) -> Any:
    """Raise to a whole power by products: many times faster than pow, and as accurate."""
    if degree == 1:
        return T
    base = T.copy() if "1" in bin(degree)[3:] else T
    for bit in bin(degree)[3:]:
        np.multiply(T, T, out=T)
        if bit == "1":
            np.multiply(T, base, out=T)
    return T


def squared_norms(X: Any) -> Any:
    """Return the squared Euclidean norm of every row."""
    X = to_float64(X)
    return np.einsum("ij,ij->i", X, X) if is_numpy(X) else namespace(X).sum(X * X, axis=1)


def largest_norm(X: Any) -> float:
    """Return the largest Euclidean norm of a row; infinity where an entry is infinite."""
    xp = namespace(X)
    top = float(xp.max(xp.abs(X)))
    if not 0 < top < np.inf:
        return top
    # Divided by the largest entry first, so that no square overflows.
    X = X / top
    return top * math.sqrt(float(xp.max(xp.sum(X * X, axis=1))))


def ones(X: Any) -> Any:
    """Return one number 1 for every row."""
    return from_numpy(np.ones(X.shape[0]), X)


def squared_distances(left: Any, right: Any, weights: Any = None) -> Any:
    """Return ``sum w_j (x_j - y_j)^2`` of all pairs, summed from differences."""
    if is_numpy(left):
        return cdist(left, right, "sqeuclidean", w=weights)
    xp = namespace(left)
    scale = 1.0 if weights is None else from_numpy(weights, left)
    return by_rows(left, right, lambda gap: xp.sum(gap * gap * scale, axis=-1))


def absolute_distances(left: Any, right: Any) -> Any:
    """Return ``sum |x_j - y_j|`` of all pairs."""
    if is_numpy(left):
        return cdist(left, right, "cityblock")
    xp = namespace(left)
    return by_rows(left, right, lambda gap: xp.sum(xp.abs(gap), axis=-1))


def by_rows(left: Any, right: Any, reduce: Callable[[Any], Any]) -> Any:
    """Reduce differences of all pairs, a few rows at a time so that memory stays small."""
    xp = namespace(left)
    size = max(1, (1 << 22) // max(1, right.shape[0] * right.shape[1]))
    parts = [reduce(left[rows, None, :] - right[None, :, :]) for rows in slices(left.shape[0], size)]
    return xp.concat(parts, axis=0)
