"""Columns that others determine: a part of a whole, whose rows sum to one number, and a sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gramian.core.checks import evenly
from gramian.core.records import FloatArray

WIDEST, FEWEST = 60, 10  # columns among which sums are sought; complete rows that show them
LARGEST, DISTINCT = 1e100, 4  # number whose square is one; values of a column that is a sum
LOOK, USUALLY = 12, 0.85  # rows on which sums are compared before all, and share of them that agrees
NEARLY, CLOSE = 0.95, 0.01  # the same of all rows, and how nearly they do
LEFT, SAME = 0.01, 1e-16  # variance of the difference, of those of the parts, at most; if it is rounding
RARE = 1e-4  # such a share that columns of one factor, which cancel out, hardly have
ALIKE, EXACT = 2.0, 1e-9  # of the least such share, up to which the most columns are the whole


class Sum(NamedTuple):
    """Columns that sum to a number, the same in nearly all rows, or to another column; and how exactly."""

    parts: list[int]
    total: float | None
    column: int | None
    exact: bool


def constant_sum(sample: FloatArray) -> float | None:
    """Return the number that parts of a whole sum to in nearly every row, or None.

    Parameters
    ----------
    sample : ndarray of shape (n, d)
        Rows with a missing value do not count.

    Examples
    --------
    >>> constant_sum(np.array([[20.0, 30, 50], [10, 60, 30], [70, 10, 20]]))
    100.0
    >>> constant_sum(np.array([[20.0, 30, 50], [10, 60, 40], [70, 10, 20]]))
    """
    sample = sample[np.isfinite(sample).all(axis=1)]
    if len(sample) < 2 or not 0 <= sample.min() <= sample.max() <= LARGEST:
        return None
    total = float(np.median(sample.sum(axis=1)))
    return total if total and _rest(sample, np.full(len(sample), total)) <= LEFT else None


def sums(sample: FloatArray) -> list[Sum]:
    """Return which columns sum to a constant, or to another column, the most exact first.

    Parameters
    ----------
    sample : ndarray of shape (n, d)
        Parts are neighbours, unless they are two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> early, late, wet = rng.integers(1, 50, (3, 20)).astype(float)
    >>> sums(np.column_stack([early, late, early + late]))
    [Sum(parts=[0, 1], total=None, column=2, exact=True)]
    >>> sums(np.column_stack([early, wet, 100.0 - wet]))
    [Sum(parts=[1, 2], total=100.0, column=None, exact=True)]
    """
    X = sample[np.isfinite(sample).all(axis=1)]
    if len(X) < FEWEST or X.shape[1] < 2 or np.abs(X).max() > LARGEST:
        return []
    if X.shape[1] > WIDEST:
        total = constant_sum(X)
        return [] if total is None else [Sum([*range(X.shape[1])], total, None, False)]
    positive = ((summands, j) for summands, j in _like_columns(X) if X[:, summands].min() >= 0)
    totals = sorted((_rest(X[:, summands], X[:, j]), summands, j) for summands, j in positive)
    result = [Sum(summands, None, j, rest <= SAME) for rest, summands, j in totals if rest <= LEFT]
    wholes = []
    for summands in _like_constants(X):
        if (total := constant_sum(X[:, summands])) is not None and not _are_ranks(X[:, summands]):
            rest = _rest(X[:, summands], np.full(len(X), total))
            usual = len(summands) > 2 and abs((np.log10(total) + 0.5) % 1 - 0.5) <= CLOSE / 2  # 1, 100, 1e6
            if usual or rest <= RARE or _are_within_one(X[:, summands], total):
                wholes.append((rest, summands, total))
    while wholes:
        least = min(wholes)[0]
        alike = [whole for whole in wholes if whole[0] <= max(ALIKE * least, EXACT)]
        fewest = min if least <= EXACT else max  # two wholes are none; small parts belong to one
        rest, summands, total = fewest(alike, key=lambda whole: len(whole[1]))
        result.append(Sum(summands, total, None, rest <= SAME))
        wholes = [whole for whole in wholes if not {*whole[1]} & {*summands}]
    return result


def _rest(summands: FloatArray, total: FloatArray) -> float:
    """Return the variance of what parts lack, over theirs, in nearly all rows; 1 if these are too few."""
    rest, most = np.abs(summands.sum(axis=1) - total), CLOSE * np.abs(total)
    spread = float(summands.var(axis=0).sum())
    # Of few whole numbers, such as 0 and 1, most agree by chance.
    few = total.max() <= 1 / CLOSE and bool((summands == np.rint(summands)).all())
    enough = (rest <= most).mean() >= (1.0 if few else NEARLY)
    return float((np.minimum(rest, most) ** 2).mean()) / spread if enough and spread > 0 else 1.0


def _runs(X: FloatArray, fewest: int) -> tuple[list[range], FloatArray]:
    """Return all runs of neighbouring columns, and their sums."""
    up = np.hstack([np.zeros((len(X), 1)), X.cumsum(axis=1)])
    begin, end = np.triu_indices(up.shape[1], fewest)
    return list(map(range, begin.tolist(), end.tolist())), up[:, end] - up[:, begin]


def _like_columns(X: FloatArray) -> Iterator[tuple[list[int], int]]:
    """Yield runs of columns that sum to another column in a few rows."""
    few = X[evenly(len(X), min(len(X), LOOK))]
    runs, run = _runs(few, 2)
    for j, column in enumerate(few.T):
        if len(np.unique(X[:, j])) >= DISTINCT:
            near = np.abs(run - column[:, None]) <= CLOSE * np.abs(column)[:, None]
            found = (runs[at] for at in np.flatnonzero(near.mean(axis=0) >= USUALLY).tolist())
            yield from (([*summands], j) for summands in found if j not in summands)


def _like_constants(X: FloatArray) -> Iterator[list[int]]:
    """Yield runs of columns, and pairs, whose sums hardly vary in a few rows."""
    few = X[evenly(len(X), min(len(X), LOOK))]
    i, j = np.triu_indices(X.shape[1], 1)
    runs, run = _runs(few, 3)
    some, S = [*zip(i.tolist(), j.tolist(), strict=True), *runs], np.hstack([few[:, i] + few[:, j], run])
    middle, variances = np.median(S, axis=0), X.var(axis=0)
    far = np.abs(S - middle)
    for at in np.flatnonzero((far <= CLOSE * middle).mean(axis=0) >= USUALLY).tolist():
        if np.median(far[:, at]) ** 2 <= LEFT * variances[[*some[at]]].sum():
            yield [*some[at]]


def _are_within_one(summands: FloatArray, total: float) -> bool:
    """Return whether whole numbers sum to a number or one more or less, such as age and year of birth."""
    return (
        bool((summands == np.rint(summands)).all()) and float(np.abs(summands.sum(axis=1) - total).max()) <= 1
    )


def _are_ranks(columns: FloatArray) -> bool:
    """Return whether rows are permutations, whose sum says nothing, of more than 0 and 1."""
    ordered = np.sort(columns, axis=1)
    return bool((ordered == ordered[0]).all()) and len(np.unique(ordered[0])) > 2
