"""Whether rows form groups along a component: the dip test of a single peak."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from gramian.core.checks import evenly
from gramian.core.records import FloatArray, IntArray

# The dip times the root of the number of rows: above it for fewer than 1 in 1,000 uniform samples.
DIP, ROWS, COMPONENTS = 0.6, 2000, 5
# The same for sums that are chosen: above it for 1 in 300 samples with one peak of five shapes.
CHOSEN, SEARCHED, STEPS, STAYS = 0.8, 500, 10, 1e-3  # and rows that they are chosen by
LEAST, SMALLEST = 0.05, 5  # share and number of the rows of a group
VALLEY, NEAR = 0.5, 0.25  # rows in the valley relative to those at the means; near, of the distance of these
PLACES = 41  # that are tried for the valley


@dataclass(frozen=True)
class Parted:
    """Two groups of rows with few rows between them.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Of the scores of the first components, each divided by its deviation, in the sum that parts them.
    above : ndarray of bool, shape (n,)
        The rows of the group with the larger sum.
    """

    weights: FloatArray
    above: npt.NDArray[np.bool_]


def parted(scores: FloatArray) -> Parted | None:
    """Return the first component, or sum of them, along which the rows have more than one peak; else None.

    Sums are those that two means divide best, from each component on: these are chosen, so that the dip has
    to be larger. It is compared with that of a uniform distribution, the largest of those with a single peak.
    Groups of fewer than a twentieth of the rows are outliers, and scores of few values are none.

    Parameters
    ----------
    scores : ndarray of shape (n, k)

    References
    ----------
    Hartigan, J. A., and Hartigan, P. M. (1985). The dip test of unimodality. Annals of Statistics 13, 70-84.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> two = np.concatenate([rng.normal(size=80), rng.normal(8, size=40)])[:, None]
    >>> int(parted(two).above.sum())
    40
    >>> parted(rng.exponential(size=(120, 1)))
    """
    if len(scores) < 4 * SMALLEST:
        return None
    some = np.array(evenly(len(scores), ROWS), dtype=np.intp)
    k = min(COMPONENTS, scores.shape[1])
    Z = scores[:, :k] / np.maximum(scores[some, :k].std(axis=0), np.finfo(np.float64).tiny)
    few, searched, single = Z[some], Z[some[evenly(len(some), SEARCHED)]], np.eye(k)
    for w, least in chain(zip(single, repeat(DIP)), ((_two_means(searched, w), CHOSEN) for w in single)):
        sums = few @ w
        x = np.sort(sums)
        if len(np.unique(x)) < max(4 * SMALLEST, len(x) / 2):
            continue
        distance = dip(x, least / np.sqrt(len(x))) * np.sqrt(len(x))
        if distance <= least:
            continue
        cut, means = _halves(x)
        between, *peaks = _near(x, np.array([cut, *means]), means).tolist()
        lower = int(np.searchsorted(x, cut))
        large = min(lower, len(x) - lower) >= max(SMALLEST, LEAST * len(x))
        independent = distance * np.sqrt(_effective_share(sums, cut)) > least
        if large and between <= VALLEY * min(peaks) and independent:
            return Parted(w, Z @ w > cut)
    return None


def _two_means(Z: FloatArray, w: FloatArray) -> FloatArray:
    """Return the direction between the means of the groups that a direction divides best, repeated."""
    for _ in range(STEPS):
        sums = Z @ w
        above = sums > _cut(np.sort(sums))[0]
        if not above.any() or above.all():
            break
        apart = Z[above].mean(axis=0) - Z[~above].mean(axis=0)
        w, old = apart / np.linalg.norm(apart), w
        if abs(w @ old) > 1 - STAYS:
            break
    return w


def _effective_share(x: FloatArray, cut: float) -> float:
    """Return the share of rows that are independent, if those on one side of a cut are in an order.

    A process that drifts stays at some levels for longer, which looks like groups.
    """
    inside, above = x.copy(), x > cut
    for side in (above, ~above):
        inside[side] -= inside[side].mean()
    r = max(0.0, float(inside[1:] @ inside[:-1] / (inside @ inside)))
    return (1 - r) / (1 + r) if r > 2 / np.sqrt(len(x)) else 1.0


def dip(x: FloatArray, enough: float = 0.0) -> float:
    """Return the largest distance of a sample's distribution from the nearest one with a single peak.

    Parameters
    ----------
    x : ndarray of shape (n,)
        In rising order.
    enough : float, default=0
        A distribution that is as near as this is not improved on.
    """
    values, first = np.unique(x, return_index=True)
    below, upto = first / len(x), np.append(first[1:], len(x)) / len(x)

    def bent(ends: slice, low: FloatArray, high: FloatArray, rising: bool) -> float:
        """Return how far ``high`` is at most above the convex line below ``low``, or the mirror image."""
        gaps = np.diff(values[ends])
        if not len(gaps):
            return 0.0
        slopes = isotonic_regression(np.diff(low[ends]) / gaps, weights=gaps, increasing=rising).x
        line = low[ends][0] + np.concatenate([[0.0], np.cumsum(slopes * gaps)])
        return float(np.abs(high[ends] - line).max())

    def sides(peak: int) -> tuple[float, float]:
        """Return the distances left and right of a peak: the first rises with its place, the second falls."""
        return bent(slice(peak + 1), below, upto, True), bent(slice(peak, None), upto, below, False)

    low, high = 0, len(values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        left, right = sides(middle)
        if max(left, right) / 2 <= enough:
            return max(left, right) / 2
        low, high = (middle, high) if left < right else (low, middle)
    return min(max(sides(low)), max(sides(high))) / 2


def _halves(x: FloatArray) -> tuple[float, tuple[float, float]]:
    """Return the means of the two groups of sorted numbers with the least squares, and the valley between."""
    _, means = _cut(x)
    levels = np.linspace(*means, PLACES)
    counts = _near(x, levels, means)
    valley = np.flatnonzero(counts == counts.min())
    return float(levels[valley[len(valley) // 2]]), means


def _cut(x: FloatArray) -> tuple[float, tuple[float, float]]:
    """Return the end of the lower of two groups of sorted numbers of least squares, and their means."""
    n = np.arange(1, len(x))
    sums = np.cumsum(x)
    lower, upper = sums[:-1] / n, (sums[-1] - sums[:-1]) / (len(x) - n)
    at = int(np.argmax(n * (len(x) - n) * (upper - lower) ** 2))
    return float(x[at]), (float(lower[at]), float(upper[at]))


def _near(x: FloatArray, levels: FloatArray, means: tuple[float, float]) -> IntArray:
    """Return how many of the sorted numbers are near each place, relative to the distance of the means."""
    width = NEAR * (means[1] - means[0])
    return np.searchsorted(x, levels + width, "right") - np.searchsorted(x, levels - width)
