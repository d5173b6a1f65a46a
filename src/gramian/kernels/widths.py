"""Widths of kernels: numbers, one for every feature, or the median distance between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used
from scipy import sparse

from gramian.core.arrays import as_float64, is_numpy, namespace, rows_of, to_float64
from gramian.core.checks import check_number, evenly
from gramian.core.records import FloatArray
from gramian.errors import DataError, ParameterError

MEDIAN = "median"
SCALE = "scale"
MEDIAN_ROWS = 1000
LOST = 1e-10  # of the squared norms, below which a squared distance of sparse rows is mostly rounding
OR_WIDTHS = "Give one, one for every feature, or 'median'."
# What is wrong with both, and what they are.
GAMMA_AND_SIGMA = "and sigma are two names of one width, so give one of them", "gamma is 1 / (2 sigma^2)."


def median_distance(X: Any, metric: str = "euclidean") -> float:
    """Return the median distance between two rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Of more than 1000 rows, 1000 evenly spaced ones are taken.
    metric : {"euclidean", "cityblock"}

    Returns
    -------
    float
        In the units of the data. Where more than half of the pairs are equal rows, the median of the others.

    Raises
    ------
    DataError
        Where all rows are equal.

    References
    ----------
    Garreau, Jitkrittum, Kanagawa (2018), Large sample analysis of the median heuristic.
    """
    rows = rows_of(X, evenly(X.shape[0], MEDIAN_ROWS))
    if sparse.issparse(rows):
        distances = _of_sparse(rows)
    else:
        rows = as_float64(rows)
        distances = _euclidean(rows) if metric == "euclidean" else scipy.spatial.distance.pdist(rows, metric)
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0:
        apart = distances[distances > 0]
        median = float(np.median(apart)) if apart.size else 0.0
    if not 0 < median < np.inf:
        hint = "Give gamma or sigma."
        raise DataError(f"The median distance of rows is {median:g}, which is no width.", hint)
    return median


def _euclidean(rows: FloatArray) -> FloatArray:
    """Distances of all pairs, by one product where its rounding is far below the median."""
    centred = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    lower = np.tril_indices(len(rows), -1)
    squares = (norms[:, None] + norms[None, :] - 2.0 * (centred @ centred.T))[lower]
    middle = float(np.median(squares)) if squares.size else 0.0
    if middle <= 1e-6 * float(norms.max()):
        return np.asarray(scipy.spatial.distance.pdist(rows))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _of_sparse(rows: Any) -> FloatArray:
    """Distances of all pairs of sparse rows, by their products; of equal rows exactly 0."""
    products = (rows @ rows.T).toarray()
    norms = np.diag(products)
    lower = np.tril_indices(len(norms), -1)
    both = (norms[:, None] + norms[None, :])[lower]
    squares = np.maximum(both - 2.0 * products[lower], 0.0)
    apart = squares > 0
    if apart.any() and np.median(squares[apart] / both[apart]) < LOST:
        raise DataError("Sparse rows far from 0 leave no digits of their median distance. Pass X.toarray().")
    return np.asarray(np.sqrt(squares))


def scale_factor(X: Any) -> float:
    """Return 1 / (d var) with the variance of all entries of rows, zeros of sparse ones among them.

    It is what scikit-learn's SVC calls gamma="scale": 1 where all entries are equal.
    """
    n, d = X.shape
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            mean = float(X.data.sum()) / (n * d)
            squares = float(np.square(X.data - mean).sum()) + (n * d - X.data.size) * mean * mean
            variance = squares / (n * d)
        elif is_numpy(X):
            variance = float(np.var(X, dtype=np.float64))
        else:
            variance = float(namespace(X).var(to_float64(X)))
        factor = 1.0 / (d * variance) if variance else 1.0
    if not 0 < factor < np.inf:
        raise DataError(f"gamma={SCALE!r} has no value: X.var() is {variance:.3g}. Scale the data.")
    return factor


def check_width(name: str, value: Any, optional: bool = False) -> None:
    """Refuse what is neither a positive number nor a sequence of them nor "median"."""
    if (optional and value is None) or is_median(value):
        return
    several = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    for entry in value if several and len(value) else [value]:
        number = entry.item() if isinstance(entry, np.generic) else entry
        check_number(f"an entry of {name}" if several else name, number, above=0, advice=OR_WIDTHS)


def check_factor(gamma: Any, *words: str | None, above: float = 0.0) -> None:
    """Refuse what is neither a number above a limit nor one of the words, of which None may be one."""
    if (gamma is None or isinstance(gamma, str)) and gamma in words:
        return
    rest = ", or leave it out for 1 over the number of columns" if None in words else ""
    advice = f"Or give {' or '.join(repr(word) for word in words if word)}{rest}."
    check_number("gamma", gamma, above=above, advice=advice)


def resolved_factor(gamma: Any, X: Any) -> float:
    """Return the number for gamma: itself, 1 / (d var), 1 over the median |x - y|_1, or 1 / d for None."""
    if is_median(gamma):
        return 1.0 / median_distance(X, "cityblock")
    if is_scale(gamma):
        return scale_factor(X)
    return 1.0 / int(X.shape[1]) if gamma is None else float(gamma)


def resolved_width(name: str, value: Any, X: Any) -> Any:
    """Return the width as a number or a tuple of them, or refuse it for rows of another width."""
    if is_median(value):
        name, value = "the median distance", median_distance(X)
    if np.ndim(value) == 0:
        gamma_of(name, float(value))
        return float(value)
    if len(value) != X.shape[1]:
        problem = f"has {len(value)} widths but X has {X.shape[1]} features: give one each"
        raise ParameterError(name, allowed=problem)
    for width in value:
        gamma_of(name, float(width))
    return tuple(float(width) for width in value)


def gamma_of(name: str, sigma: float) -> float:
    """Return 1 / (2 sigma^2), or refuse a width whose square does not fit into a number."""
    gamma = 0.5 / sigma / sigma
    if not 0 < gamma < np.inf:
        raise ParameterError(name, sigma, "has a square that float64 cannot hold", "Scale the data first.")
    return gamma


def is_median(value: Any) -> bool:
    """Return whether a parameter asks for the median distance."""
    return isinstance(value, str) and value == MEDIAN


def is_scale(value: Any) -> bool:
    """Return whether a factor is asked for by the variance of the entries."""
    return isinstance(value, str) and value == SCALE
