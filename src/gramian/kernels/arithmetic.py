"""Arithmetic of the formulas: products, distances, powers, and the rounding of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used
from array_api_compat import is_array_api_obj
from scipy import sparse

from gramian.core import arrays, checks
from gramian.errors import DataError

UNIT = float(np.finfo(np.float64).eps) / 2
SINGLE_UNIT = float(np.finfo(np.float32).eps) / 2
# Error of one call of exp, tanh or pow beyond that of its argument, in unit roundoffs.
FUNCTION_ULPS = 4.0
# Below this, values lose digits to underflow.
TINY = float(np.finfo(np.float64).tiny)
SINGLE_TINY = float(np.finfo(np.float32).tiny)
LEAST = float(np.finfo(np.float64).smallest_subnormal)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number that float64 can hold, and not a truth value."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def check_rows(name: str, X: Any, *, accept_sparse: bool = False) -> Any:
    """Return rows as a table of real finite numbers: arrays as they are, sparse as CSR, else as float64."""
    try:
        if accept_sparse and sparse.issparse(X):
            X = arrays.as_csr(X)
        elif not is_array_api_obj(X):
            X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a table of numbers: {error}.") from error
    if X.ndim != 2:
        raise DataError(f"{name} has shape {tuple(X.shape)}, but a kernel takes rows: shape (n, d).")
    entries = X.data if sparse.issparse(X) else X
    kind = arrays.numpy_dtype(entries).kind
    if kind not in "biuf":
        raise DataError(f"{name} holds {X.dtype}, which is not real numbers.")
    if kind == "f" and not bool(arrays.namespace(entries).all(arrays.namespace(entries).isfinite(entries))):
        raise DataError(f"{name} has NaN or infinity, for which a kernel has no value.")
    return X


def product(left: Any, right: Any, out: Any = None) -> Any:
    """Return ``left @ right.T``, dense."""
    if sparse.issparse(left):
        return (left @ right.T).toarray(out=out)
    return np.matmul(left, right.T, out=out) if arrays.is_numpy(left) else left @ right.T


def exponential(T: Any) -> Any:
    """Return exp, in place where that is possible."""
    if hasattr(T, "exp_"):
        return T.exp_()
    return np.exp(T, out=T) if arrays.is_numpy(T) else arrays.namespace(T).exp(T)


def check_base(T: Any, text: str) -> Any:
    """Return the base of a fractional power; ``text`` names the kernel where it is negative."""
    least = float(arrays.namespace(T).min(T)) if 0 not in T.shape else 0.0
    if least < 0:
        raise DataError(f"{text}, and it reaches {least:.3g}. Use a whole power.")
    return T


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
    X = arrays.to_float64(X)
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return arrays.row_products(X, X)


def largest_norm(X: Any) -> float:
    """Return the largest Euclidean norm of a row; infinity where its square is."""
    with np.errstate(over="ignore"):
        return math.sqrt(float(arrays.namespace(X).max(squared_norms(X))))


def terms(X: Any) -> int:
    """Return the largest number of terms in an inner product of two rows."""
    return int(np.diff(X.indptr).max(initial=0)) if sparse.issparse(X) else int(X.shape[1])


def times_columns(X: Any, factors: Any) -> Any:
    """Return X with every column times its factor, or all of them times one."""
    return X.multiply(factors).tocsr() if sparse.issparse(X) else X * arrays.from_numpy(factors, X)


def over_rows(X: Any, divisors: Any) -> Any:
    """Return X with every row divided by its divisor; by nothing where that is 0."""
    divisors = arrays.namespace(X).where(divisors > 0, divisors, arrays.namespace(X).ones_like(divisors))
    if not sparse.issparse(X):
        return X / divisors[:, None]
    entries = X.data / np.repeat(divisors, np.diff(X.indptr))
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def largest_entries(X: Any) -> Any:
    """Return the largest magnitude in every row."""
    if sparse.issparse(X):
        return abs(X).max(axis=1).toarray().ravel()
    return arrays.namespace(X).max(arrays.namespace(X).abs(X), axis=1)


def hstack(*matrices: Any) -> Any:
    """Concatenate tables along columns; the result is sparse if one of them is."""
    if any(sparse.issparse(matrix) for matrix in matrices):
        return sparse.hstack([sparse.csr_array(matrix) for matrix in matrices], format="csr")
    return arrays.namespace(matrices[0]).concat(matrices, axis=1)


def ones(X: Any) -> Any:
    """Return one number 1 for every row."""
    return arrays.from_numpy(np.ones(X.shape[0]), X)


def zeros(X: Any, columns: int) -> Any:
    """Return columns of zeros with as many rows as X."""
    return arrays.from_numpy(np.zeros((X.shape[0], columns)), X)


def squared_distances(left: Any, right: Any, weights: Any = None) -> Any:
    """Return ``sum w_j (x_j - y_j)^2`` of all pairs, summed from differences."""
    if arrays.is_numpy(left):
        return scipy.spatial.distance.cdist(left, right, "sqeuclidean", w=weights)
    xp = arrays.namespace(left)
    scale = 1.0 if weights is None else arrays.from_numpy(weights, left)
    return by_rows(left, right, lambda gap: xp.sum(gap * gap * scale, axis=-1))


def absolute_distances(left: Any, right: Any) -> Any:
    """Return ``sum |x_j - y_j|`` of all pairs."""
    if arrays.is_numpy(left):
        return scipy.spatial.distance.cdist(left, right, "cityblock")
    xp = arrays.namespace(left)
    return by_rows(left, right, lambda gap: xp.sum(xp.abs(gap), axis=-1))


def by_rows(left: Any, right: Any, reduce: Callable[[Any], Any]) -> Any:
    """Reduce differences of all pairs, a few rows at a time so that memory stays small."""
    xp = arrays.namespace(left)
    size = max(1, (1 << 22) // max(1, right.shape[0] * right.shape[1]))
    blocks = [reduce(left[rows, None, :] - right[None, :, :]) for rows in checks.slices(left.shape[0], size)]
    return xp.concat(blocks, axis=0)
