"""Kinship of individuals by their genotypes, by an estimator that ancestry does not inflate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.core.checks import evenly, slices
from gramian.core.records import FloatArray

SECOND_DEGREE, FIRST_DEGREE, SAME = 0.0884, 0.177, 0.354  # least kinship, between the powers of 1/2 expected
# What all pairs are screened by: variants, evenly spaced, and a kinship that chance explains at most.
SCREENED, SUSPECT = 4000, 0.05
MOST_PAIRS, MOST_FLOPS = 5000, 1e11  # that are looked at closely; of the screening
CHANCE = 6.0  # kinship of unrelated people deviates by less than 1 / sqrt(variants)
PIECE = 1 << 21  # calls of pairs that are compared at a time
# The same person twice: rows, sorted by common variants in random orders, are compared with the next one.
# They differ by at most this share of what two people do, over at least so many variants. Pairs that
# differ in more calls are left out.
COMMON, ORDERS, ERRORS, ENOUGH, UNLIKE = 400, 16, 0.05, 100, 0.4


@dataclass(frozen=True)
class Pair:
    """Two individuals and their kinship: 1/2 for the same one twice, 1/4 for siblings, 1/8 for half-siblings.

    Attributes
    ----------
    first, second : int
        Their rows.
    kinship : float
    """

    first: int
    second: int
    kinship: float

    @property
    def degree(self) -> str:
        """What it is about."""
        if self.kinship >= SAME:
            return "the same person or twins"
        return "parent and child or siblings" if self.kinship >= FIRST_DEGREE else "second degree"


def related(calls: FloatArray) -> list[Pair]:
    """Return pairs of individuals with a kinship of the second degree or nearer, the nearest first.

    Of d variants also at least ``6 / sqrt(d)``, which chance does not reach. Every pair is screened by some
    variants, and suspects are compared by all of them. Of many individuals only the same one twice is found:
    calls that differ by 5 % or less of what those of two people do, also without heterozygous calls.

    Parameters
    ----------
    calls : ndarray of shape (n, d)
        Counts 0, 1, 2; anything else, such as NaN or a mean, is a missing call.

    Notes
    -----
    Over the variants that both have, with counts of pairs of calls, kinship is
    ``1/2 - (4 [0, 2] + [1, not 1] + [not 1, 1]) / (4 min([1, any], [any, 1]))``. It compares two individuals
    with each other and not with allele frequencies of the cohort, so that common ancestry does not raise it,
    as it does the entries of a genetic relationship matrix. Different ancestry of the two lowers it.

    References
    ----------
    Manichaikul et al. (2010), Robust relationship inference in genome-wide association studies, eq. 11.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parents = rng.binomial(1, 0.4, (4, 2, 3000))  # two copies of each of four people
    >>> child = parents[0, rng.integers(0, 2, 3000), np.arange(3000)]
    >>> child = child + parents[1, rng.integers(0, 2, 3000), np.arange(3000)]
    >>> pairs = related(np.vstack([parents.sum(axis=1), child]))
    >>> [(one.first, one.second, round(one.kinship, 1)) for one in pairs]
    [(1, 4, 0.2), (0, 4, 0.2)]
    """
    n, d = calls.shape
    columns = np.asarray(evenly(d, SCREENED), dtype=np.intp)
    if n < 2:
        return []
    twins = _twins(calls, columns)
    suspects = list(twins)
    if 3.0 * n * n * len(columns) <= MOST_FLOPS:
        rough = _screened(np.asarray(calls[:, columns], dtype=np.float32))
        first, second = np.nonzero(np.triu(rough >= SUSPECT, 1))
        nearest = np.argsort(-rough[first, second], kind="stable")[:MOST_PAIRS]
        suspects += zip(first[nearest].tolist(), second[nearest].tolist(), strict=True)
    suspects = list(dict.fromkeys(suspects))[:MOST_PAIRS]
    found = _kinship(calls, *np.array(suspects, dtype=np.intp).reshape(-1, 2).T)
    least = max(SECOND_DEGREE, CHANCE / math.sqrt(d))
    pairs = [
        Pair(*pair, max(value, twins.get(pair, value))) for pair, value in zip(suspects, found, strict=True)
    ]
    kept = [pair for pair in pairs if pair.kinship >= least or (pair.first, pair.second) in twins]
    return sorted(kept, key=lambda pair: -pair.kinship)


def _twins(calls: FloatArray, columns: npt.NDArray[np.intp]) -> dict[tuple[int, int], float]:
    """Return pairs whose calls hardly differ, with their kinship by how much two people of the cohort do."""

    def known(values: FloatArray) -> FloatArray:
        return np.where((values == 0) | (values == 1) | (values == 2), values, np.nan)

    some = known(calls[np.ix_(np.asarray(evenly(len(calls), COMMON)), columns)])
    called = np.maximum((~np.isnan(some)).sum(axis=0), 1)
    variances = np.nansum((some - np.nansum(some, axis=0) / called) ** 2, axis=0) / called
    common = np.argsort(-variances, kind="stable")[:COMMON]
    X, usual = known(calls[:, columns[common]]), 2 * variances[common]
    codes, rng = np.nan_to_num(X, nan=3).astype("u1"), np.random.default_rng(0)
    found: dict[tuple[int, int], float] = {}
    for _ in range(ORDERS):
        keys = np.ascontiguousarray(codes[:, rng.permutation(len(common))])
        order = np.argsort(keys.view(f"V{len(common)}")[:, 0])
        for batch in slices(len(order) - 1, PIECE // COMMON):
            pairs = np.sort([order[:-1][batch], order[1:][batch]], axis=0)
            pairs = pairs[:, (codes[pairs[0]] != codes[pairs[1]]).mean(axis=1) < UNLIKE]
            squares = (X[pairs[0]] - X[pairs[1]]) ** 2
            both = ~np.isnan(squares) & (usual > 0)
            shares = np.nansum(squares, axis=1, where=both) / np.maximum(both @ usual, np.finfo(float).tiny)
            for pair, share, count in zip(pairs.T.tolist(), shares.tolist(), both.sum(axis=1), strict=True):
                if share <= ERRORS and count >= ENOUGH:
                    found[pair[0], pair[1]] = (1 - share) / 2
    return found


def _screened(calls: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the kinship of all pairs where calls are missing independently, shape (n, n)."""
    none, single, two = ((calls == value).astype(np.float32) for value in (0, 1, 2))
    there = (none + single + two).mean(axis=1)
    # Heterozygous calls of one where the other has a call.
    singles = single.sum(axis=1)[:, None] * there[None, :]
    if there.min() == 1:  # the same counts in a third of the time: squares of differences
        squares = (calls**2).sum(axis=1)
        apart = squares[:, None] + squares[None, :] - 2 * (calls @ calls.T)
    else:
        opposite = none @ two.T
        apart = 4 * (opposite + opposite.T) + singles + singles.T - 2 * (single @ single.T)
    least = np.maximum(np.minimum(singles, singles.T), 1)
    return np.asarray(0.5 - apart / (4 * least))


def _kinship(calls: FloatArray, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Iterator[float]:
    """Yield the kinship of pairs by the definition."""
    for batch in slices(len(first), max(1, PIECE // calls.shape[1])):
        A, B = (np.asarray(calls[which[batch]]) for which in (first, second))
        called = [(X == 0) | (X == 1) | (X == 2) for X in (A, B)]
        both = called[0] & called[1]
        opposite = ((np.abs(A - B) == 2) & both).sum(axis=1)
        first_single, other = (((X == 1) & both).sum(axis=1) for X in (A, B))
        shared = ((A == 1) & (B == 1)).sum(axis=1)
        least = np.minimum(first_single, other)
        apart = 4 * opposite + first_single + other - 2 * shared
        # Without a heterozygous call nothing is known.
        yield from np.where(least > 0, 0.5 - apart / (4 * np.maximum(least, 1)), 0.0).tolist()
