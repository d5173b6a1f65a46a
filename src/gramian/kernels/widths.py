"""Widths of kernels: numbers, one for every feature, or the median distance between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from gramian.arrays import as_float64
from gramian.checks import check_number, evenly
from gramian.errors import DataError, ParameterError
from gramian.records import FloatArray

MEDIAN = "median"
MEDIAN_ROWS = 5000


def median_distance(X: Any, metric: str = "euclidean") -> float:
    """Return the median distance between two rows.

    Parameters
    ----------
    X : array of shape (n, d)
        Of more than 5000 rows, 5000 evenly spaced ones are taken.
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
    rows = as_float64(X)[evenly(X.shape[0], MEDIAN_ROWS)]
    distances = _euclidean(rows) if metric == "euclidean" else pdist(rows, metric)
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0:
        apart = distances[distances > 0]
        median = float(np.median(apart)) if apart.size else 0.0
    if not 0 < median < np.inf:
        raise DataError(
            f"The median distance of {len(rows)} rows is {median:g}, which is no width. "
            "Give gamma or sigma as a number."
        )
    return median


def _euclidean(rows: FloatArray) -> FloatArray:
    """Distances of all pairs, by one product where its rounding is far below the median."""
    largest = float(np.abs(rows).max(initial=0.0))
    if not 1e-100 < largest < 1e100:
        return np.asarray(pdist(rows))
    centred = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    lower = np.tril_indices(len(rows), -1)
    squares = (norms[:, None] + norms[None, :] - 2.0 * (centred @ centred.T))[lower]
    middle = float(np.median(squares)) if squares.size else 0.0
    if middle <= 1e-6 * float(norms.max()):
        return np.asarray(pdist(rows))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def check_width(name: str, value: Any, optional: bool = False) -> None:
    """Refuse what is neither a positive number nor a sequence of them nor "median"."""
    if (optional and value is None) or is_median(value):
        return
    several = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    for entry in value if several and len(value) else [value]:
        number = entry.item() if isinstance(entry, np.generic) else entry
        advice = "Give one, one for every feature, or 'median'."
        check_number(f"an entry of {name}" if several else name, number, above=0, advice=advice)


def check_factor(gamma: Any) -> None:
    """Refuse what is neither a positive number nor "median" nor None."""
    if gamma is not None and not is_median(gamma):
        check_number("gamma", gamma, above=0, advice="Or 'median', or None for 1 / n_features.")


def resolved_width(name: str, value: Any, X: Any) -> Any:
    """Return the width as a number or a tuple of them, or refuse it for rows of another width."""
    if is_median(value):
        name, value = "the median distance", median_distance(X)
    if np.ndim(value) == 0:
        gamma_of(name, float(value))
        return float(value)
    if len(value) != X.shape[1]:
        raise ParameterError(
            f"{name} has {len(value)} widths but X has {X.shape[1]} features. "
            "Give one for each, or one number."
        )
    for width in value:
        gamma_of(name, float(width))
    return tuple(float(width) for width in value)


def gamma_of(name: str, sigma: float) -> float:
    """Return 1 / (2 sigma^2), or refuse a width whose square does not fit into a number."""
    gamma = 0.5 / sigma / sigma
    if not 0 < gamma < np.inf:
        raise ParameterError(f"{name}={sigma!r} has a square that float64 cannot hold. Scale the data first.")
    return gamma


def is_median(value: Any) -> bool:
    """Return whether a parameter asks for the median distance."""
    return isinstance(value, str) and value == MEDIAN


def factor_text(gamma: Any) -> str:
    """Return a factor as it stands in a formula."""
    if gamma is None:
        return "(1/d) "
    if is_median(gamma):
        return "gamma "
    return "" if gamma == 1 else f"{gamma:g} "


def width_text(value: Any) -> str:
    """Return a width as it stands in a formula."""
    if is_median(value):
        return "median"
    if np.ndim(value) == 0:
        return f"{value:g}"
    return "(" + ", ".join(f"{v:g}" for v in value) + ")"
