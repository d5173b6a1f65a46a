"""Shapes of points in the plane of two components: arches and horseshoes, and points that are not normal."""

from __future__ import annotations

import numpy as np

from gramian.core.records import FloatArray

FEWEST_OF_CURVE = 20  # points
# R2 of a parabola; of a ring with a gap its spread over its radius, and its angle; a gap between groups
CURVE, RING, OPEN, HOLE = 0.7, 0.35, 0.8, 0.15
FAR, LEVEL_FAR = 0.2, 1.63  # distance of two distribution functions; of n points at 1 %, times the root of n


def curve(points: FloatArray) -> float | None:
    """Return the R2 of a parabola, of points on an arch or a horseshoe; None of other points.

    Parameters
    ----------
    points : ndarray of shape (n, 2)

    Returns
    -------
    float or None

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> curve(np.column_stack([x, x**2])), curve(np.column_stack([x, np.sin(40 * x)]))
    (1.0, None)
    """
    centred = points - points.mean(axis=0)
    deviations = centred.std(axis=0)
    if len(points) < FEWEST_OF_CURVE or not deviations.all():
        return None
    x, y = (centred / deviations).T
    A = np.column_stack([np.ones_like(x), x, x**2])
    r2 = 1 - float(((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).mean())
    hole = float(np.diff(np.sort(x)).max() / np.ptp(x))
    return r2 if (hole < HOLE and r2 >= CURVE) or (hole < 2 * HOLE and _horseshoe(x, y)) else None


def _horseshoe(x: FloatArray, y: FloatArray) -> bool:
    """Return whether points form a ring with one gap: the ends of a long gradient curl inwards."""
    radius, angles = np.hypot(x, y), np.sort(np.arctan2(y, x))
    gaps = np.sort(np.diff(np.append(angles, angles[0] + 2 * np.pi)))
    return bool(radius.std() < RING * radius.mean() and gaps[-1] > max(OPEN, 2.0 * gaps[-2]))


def not_normal(points: FloatArray) -> bool:
    """Return whether points are spread so that a normal ellipse says nothing of them, such as on a ring.

    Their squared distances, in units of their covariance, are far from the chi-squared distribution.

    Parameters
    ----------
    points : ndarray of shape (n, 2)

    Returns
    -------
    bool

    Examples
    --------
    >>> angle = np.linspace(0, 6, 100)
    >>> not_normal(np.column_stack([np.cos(angle), np.sin(angle)]))
    True
    >>> not_normal(np.random.default_rng(0).standard_normal((100, 2)))
    False
    """
    U, s, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    n = len(points)
    if not s[-1] > 1e-6 * s[0]:
        return False
    expected = -np.expm1(-np.sort((U**2).sum(axis=1)) * (n - 1) / 2)
    steps = np.arange(n + 1) / n
    far = max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max())
    return bool(far > max(FAR, LEVEL_FAR / np.sqrt(n)))
