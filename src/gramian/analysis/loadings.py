"""How much columns have to do with components, and where groups of points lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, f

from gramian.arrays import as_float64, memory_limit_bytes
from gramian.errors import DataError
from gramian.operators.moments import center_rows
from gramian.records import FloatArray
from gramian.rows import as_rows


def correlations(model: Any, data: Any) -> FloatArray:
    """Return the correlations of columns with scores, ``component * sd(score) / sd(column)``.

    Parameters
    ----------
    model : fitted PCA
    data : array-like of shape (n_samples, n_features)
        What it was fitted on.

    Returns
    -------
    ndarray of shape (n_features, n_components)
        0 for constant columns.

    Raises
    ------
    DataError
        For one row, in which nothing varies.
    """
    rows = as_rows(data, limit=memory_limit_bytes(None), weigh=True)
    if rows.shape[0] < 2:
        raise DataError("Nothing varies in one row, so no column has a correlation. Give at least 2 rows.")
    ddof = np.ldexp(model.ddof, -2 * rows.weight_exponent)
    view = center_rows(rows, center=True, scale=None, ddof=ddof)
    deviation = np.ldexp(np.sqrt(view.column_squares / (rows.weight - ddof)), view.exponent)
    divisor = np.ones(len(deviation)) if model.scale_ is None else as_float64(model.scale_)
    constant = deviation == 0
    factor = np.where(constant, 0.0, divisor / np.where(constant, 1.0, deviation))
    directions = as_float64(model.components_).T
    return np.asarray(directions * np.sqrt(as_float64(model.explained_variance_)) * factor[:, None])


def normal_ellipse(points: npt.ArrayLike, level: float = 0.95, corners: int = 60) -> FloatArray:
    """Return the ellipse that holds a share of a normal distribution with the points' mean and covariance.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least two; the covariance divides by n - 1.
    level : float
        The share, between 0 and 1.
    corners : int

    Returns
    -------
    ndarray of shape (corners + 1, 2)
        The last point is the first one. Of points on a line it is a part of that line.

    References
    ----------
    Johnson and Wichern (2007), Applied Multivariate Statistical Analysis, section 4.2.

    Examples
    --------
    >>> normal_ellipse([[-1, 0], [1, 0], [0, -1], [0, 1]], 0.95)[0].round(2).tolist()
    [2.0, 0.0]
    """
    given = np.asarray(points, dtype=np.float64)
    size = float(np.abs(given).max()) or 1.0
    given = given / size
    (a, b), (_, c) = np.cov(given.T)
    # The root of a 2 x 2 matrix M is (M + d I) / sqrt(trace + 2 d), d the root of the determinant.
    d = np.sqrt(max(a * c - b * b, 0.0))
    root = np.array([[a + d, b], [b, c + d]]) / (np.sqrt(a + c + 2 * d) or 1.0)
    angle = np.linspace(0, 2 * np.pi, corners + 1)
    circle = np.sqrt(chi2.ppf(level, 2)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(size * (given.mean(axis=0) + circle @ root))


def mean_ellipse(points: npt.ArrayLike, level: float = 0.95, corners: int = 60) -> FloatArray:
    """Return the confidence ellipse of the mean of points of a normal distribution.

    It contains the mean of the distribution with probability ``level``, by Hotelling's T squared.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least three.
    level : float
        The probability, between 0 and 1.
    corners : int

    Returns
    -------
    ndarray of shape (corners + 1, 2)
        The last point is the first one.

    References
    ----------
    Johnson and Wichern (2007), Applied Multivariate Statistical Analysis, section 5.4.

    Examples
    --------
    >>> mean_ellipse([[-1, 0], [1, 0], [0, -1], [0, 1]], 0.95)[0].round(2).tolist()
    [3.08, 0.0]
    """
    given = np.asarray(points, dtype=np.float64)
    n = len(given)
    squared = 2 * (n - 1) / (n - 2) * f.ppf(level, 2, n - 2) / n
    centre = given.mean(axis=0)
    around = normal_ellipse(given, level, corners) - centre
    return np.asarray(centre + np.sqrt(squared / chi2.ppf(level, 2)) * around)
