"""Groups of rows: whether components tell given ones apart, and whether the rows form some of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np

from gramian.core.checks import evenly, slices
from gramian.core.records import AnyArray, BoolArray, FloatArray, IntArray

COMPONENTS = 5  # the first, that are looked at

# ---- Given groups


PERMUTATIONS, CHANCE = 199, 0.01  # and the share of them that may be as good
FEW, SPREAD = 29, 6.0  # permutations that are enough where the labels are so many of their deviations better
ROWS = 1000  # evenly spaced ones, that are looked at
MOST_GROUPS, FEWEST = 50, 3  # and rows of a group
SAME = 1e-12  # least variance within groups, of that of all rows
ON_SIDE = 0.9  # share of the rows of either side that are on it
TELLING = 2.0  # times the share of variance between groups, from which another component is shown first


@dataclass(frozen=True)
class Separation:
    """How well scores tell groups apart.

    Attributes
    ----------
    right : float
        Share of the rows whose nearest group mean is that of their own group, without the row itself.
    chance : float
        The same with permuted labels, in the mean.
    least : float
        The same share in the group where it is smallest.
    p : float
        Share of permutations, and of the labels themselves, that are as good; 0 where no permutation comes
        near.
    component : int or None
        The component, from 0, that parts some groups from all others; else one after the second, if it has
        at least ``TELLING`` times the share of variance between groups of either of the first two.
    group, others : tuple of str
        The groups on the two sides, the smaller number first; empty where none are parted.
    above : bool
        Whether ``group`` has the larger scores.
    sided : float
        Share of the rows that are on the side of their group.
    rows : int
        How many were looked at.
    whole : bool
        Whether these are all rows of the groups.
    """

    right: float
    chance: float
    least: float
    p: float
    rows: int
    whole: bool
    component: int | None = None
    group: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    above: bool = True
    sided: float = 0.0

    @property
    def pair(self) -> tuple[int, int]:
        """The two components that show the groups, from 1: the first two, or another and the first."""
        component = self.component or 0
        return (component + 1, 1) if component > 1 else (1, 2)


def separation_of(scores: FloatArray, groups: AnyArray) -> Separation | None:
    """Return how well the first components tell groups apart; None where there are no groups to compare.

    Distances are in standard deviations within the groups. Groups of fewer than three rows are left out, and
    of more than 1,000 rows evenly spaced ones are looked at.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    groups : ndarray of str, shape (n,)
        "" is no group.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(40, 2))
    >>> kinds = np.where(scores[:, 1] > 0, "up", "down")
    >>> result = separation_of(scores, kinds)
    >>> result.component, result.group, result.others, result.above
    (1, ('down',), ('up',), False)
    """
    counts = Counter(groups.tolist())
    usable = {kind for kind, count in counts.items() if count >= FEWEST and kind}
    if not 2 <= len(usable) <= MOST_GROUPS:
        return None
    every = np.flatnonzero([kind in usable for kind in groups.tolist()])
    rows = every[evenly(len(every), ROWS)]
    kinds, codes = np.unique(groups[rows].astype(np.str_), return_inverse=True)
    Z = np.ascontiguousarray(scores[rows, :COMPONENTS], dtype=np.float64)
    Z = Z - Z.mean(axis=0)
    Z = Z / np.maximum(np.abs(Z).max(axis=0), np.finfo(np.float64).tiny)
    if len(kinds) < 2 or np.bincount(codes).min() < 2 or not Z.any():
        return None
    hits, rng = _nearest(Z, codes[None])[0], np.random.default_rng(0)
    right = float(hits.mean())
    permuted = _by_chance(Z, codes, FEW, rng)
    clear = right > permuted.mean() + SPREAD * permuted.std()
    if not clear and (permuted >= right).sum() <= FEW / 4:
        more = [
            _by_chance(Z, codes, batch.stop - batch.start, rng) for batch in slices(PERMUTATIONS - FEW, FEW)
        ]
        permuted = np.concatenate([permuted, *more])
    p = 0.0 if clear else (1 + int((permuted >= right).sum())) / (1 + len(permuted))
    least = float((np.bincount(codes, hits) / np.bincount(codes)).min())
    facts = right, float(permuted.mean()), least, p, len(rows), len(rows) == len(every)
    side = _sides(Z, codes, len(kinds)) if p <= CHANCE else None
    if side is None:
        between = np.array([np.bincount(codes, z) ** 2 / np.bincount(codes) for z in Z.T]).sum(axis=1)
        shares = between / (Z**2).sum(axis=0).clip(np.finfo(np.float64).tiny)
        best = int(shares.argmax())
        telling = p <= CHANCE and best > 1 and shares[best] >= TELLING * shares[:2].max()
        return Separation(*facts, best if telling else None)
    component, upper, sided = side
    sides = [tuple(kinds[upper].tolist()), tuple(kinds[~upper].tolist())]
    above = len(sides[0]) <= len(sides[1]) and (len(kinds) > 2 or sides[0] < sides[1])
    group, others = sides if above else sides[::-1]
    return Separation(*facts, component, group, others, above, sided)


def _by_chance(Z: FloatArray, codes: IntArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return the share of rows that are nearest to the mean of their group for permuted labels, each time."""
    permuted = np.stack([rng.permutation(codes) for _ in range(count)])
    return np.asarray(_nearest(Z, permuted).mean(axis=1))


def _nearest(Z: FloatArray, codes: IntArray) -> BoolArray:
    """Return whether each row is nearest to the mean of the others of its group, for each row of codes.

    Columns of Z have mean 0. The squares of rows, which all groups share, are left out of distances.
    """
    counts, total = np.bincount(codes[0]), (Z**2).mean(axis=0)
    members = (codes[:, None] == np.arange(len(counts))[:, None]).astype(np.float64)
    means = members @ Z / counts[:, None]
    within = np.maximum(total - np.tensordot(means**2, counts / len(Z), (1, 0)), SAME * total)
    scaled = 1 / np.where(within > 0, within, 1.0)
    M = means * scaled[:, None]
    distances = (means * M).sum(axis=2)[..., None] - 2 * (M.reshape(-1, Z.shape[1]) @ Z.T).reshape(
        members.shape
    )
    squares = scaled @ (Z**2).T
    left_out = (counts / np.maximum(counts - 1.0, 0.5)) ** 2  # of the mean without the row itself
    own = codes[:, None]
    here = (np.take_along_axis(distances, own, axis=1)[:, 0] + squares) * left_out[codes] - squares
    np.put_along_axis(distances, own, here[:, None], axis=1)
    return np.asarray(distances.argmin(axis=1) == codes)


def _sides(Z: FloatArray, codes: IntArray, groups: int) -> tuple[int, BoolArray, float] | None:
    """Return the component that parts groups best, which are above, and the share of rows on their side."""
    best, result = ON_SIDE, None
    counts = np.bincount(codes)
    for j in range(Z.shape[1]):
        means = np.bincount(codes, Z[:, j]) / counts
        order = np.argsort(means)
        for at in range(1, groups):
            upper = np.zeros(groups, dtype=bool)
            upper[order[at:]] = True
            cut, above = (means[order[at - 1]] + means[order[at]]) / 2, upper[codes]
            on_side = (Z[:, j] > cut) == above
            share = min(float(on_side[above].mean()), float(on_side[~above].mean()))
            if share >= best and (share > best or result is None):
                best, result = share, (j, upper, float(on_side.mean()))
    return result


# ---- Groups that nobody named: the dip test of a single peak

# The dip times the root of the number of rows: above it for fewer than 1 in 1,000 uniform samples.
DIP, CLUSTERED = 0.6, 2000  # and rows that are looked at
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
    above: BoolArray


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
    some = np.array(evenly(len(scores), CLUSTERED), dtype=np.intp)
    k = min(COMPONENTS, scores.shape[1])
    few = scores[some, :k]
    deviations = np.maximum(few.std(axis=0), np.finfo(np.float64).tiny)
    few, single = few / deviations, np.eye(k)
    searched = few[evenly(len(few), SEARCHED)]
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
            return Parted(w, scores[:, :k] @ (w / deviations) > cut)
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
    from scipy.optimize import isotonic_regression  # which figures of given groups do without

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
