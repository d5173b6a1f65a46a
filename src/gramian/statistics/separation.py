"""Whether components tell groups of rows apart, and which component shows that best."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import evenly, slices
from gramian.core.records import FloatArray, IntArray

PERMUTATIONS, CHANCE = 199, 0.01  # and the share of them that may be as good
FEW, SPREAD = 29, 6.0  # permutations that are enough where the labels are so many of their deviations better
COMPONENTS, ROWS = 5, 1000  # the first, and evenly spaced ones, that are looked at
MOST_GROUPS, FEWEST = 50, 3  # and rows of a group
PARTED = 0.9  # share of the rows of either side that are on it
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


def separation_of(scores: FloatArray, groups: npt.NDArray[Any]) -> Separation | None:
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
    side = _parted(Z, codes, len(kinds)) if p <= CHANCE else None
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


def _nearest(Z: FloatArray, codes: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether each row is nearest to the mean of the others of its group, for each row of codes."""
    counts = np.bincount(codes[0])
    members = (codes[:, None] == np.arange(len(counts))[:, None]).astype(np.float64)
    means = members @ Z / counts[:, None]
    apart = Z - np.take_along_axis(means, codes[..., None], axis=1)
    within = np.sqrt((apart**2).mean(axis=1, keepdims=True))
    scaled = 1 / np.where(within > 0, within, 1.0)
    W, M = Z * scaled, means * scaled
    distances = (W**2).sum(axis=2)[..., None] - 2 * W @ M.swapaxes(1, 2) + (M**2).sum(axis=2)[:, None]
    left_out = counts / np.maximum(counts - 1.0, 0.5)  # of the mean without the row itself
    here = ((apart * scaled) ** 2).sum(axis=2) * left_out[codes] ** 2
    np.put_along_axis(distances, codes[..., None], here[..., None], axis=2)
    return np.asarray(distances.argmin(axis=2) == codes)


def _parted(Z: FloatArray, codes: IntArray, groups: int) -> tuple[int, npt.NDArray[np.bool_], float] | None:
    """Return the component that parts groups best, which are above, and the share of rows on their side."""
    best, result = PARTED, None
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
