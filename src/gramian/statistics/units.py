"""What columns share: a unit, or none, by which few have most variance; or a sum, as parts of a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.core.checks import evenly, percent
from gramian.core.records import FloatArray, IntArray
from gramian.statistics.components import RATIO, UNITS_GAP
from gramian.tables.cells import OF_AXES, UNITS, units_of

SHARE = 0.95
NAMED = 3
SPREAD = 0.05  # least share of the variance of a column that is named with others
GAP, FEW = 20.0, 30  # the same without units; over the median one, if there are more columns than that
# Words that say what is measured where names state no unit; a mass and a length have none in common.
MASSES = frozenset(("weight", "mass"))
LENGTHS = frozenset(("length", "width", "height", "depth", "thickness", "diameter"))
APART, THRICE = 1 / 3, 3.0  # share of pairs of columns whose ranges are apart, and whose deviations differ so
# Neighbours on an axis: correlation, fewest, share of the largest variance.
SMOOTH, AXIS, PEAK = 0.9, 20, 0.01
# A scale of answers: its largest number, rows that have it; how many times as many answers another one has.
HIGHEST, ENDING, LONGER = 11, 5, 1.5


def dominant_columns(variances: npt.ArrayLike) -> IntArray:
    """Return the few columns whose scale decides the components, largest first; most often none.

    Parameters
    ----------
    variances : array-like of shape (d,)
        Variances of the columns as PCA sees them, scaled where it scales.

    Returns
    -------
    ndarray of shape (m,)
        The fewest columns, at most half of those that vary, that have at least 95 % of the total variance
        together, and of which each has at least 5 times the standard deviation of every other column. Empty
        where there are none.

    Notes
    -----
    Standard deviations of columns in one unit form a continuum: neighbouring pixels, wavelengths and genes
    have similar ones. A wide gap in it separates units. It is a rule of thumb, and no error if it is wrong.

    Examples
    --------
    Bill length, bill depth and flipper length of penguins in millimetres, and their mass in grams:

    >>> dominant_columns([29.8, 3.9, 197.7, 643131.1])
    array([3])
    >>> dominant_columns([29.8, 3.9, 197.7])
    array([], dtype=int64)
    """
    values = np.asarray(variances, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    values = values[values > 0]
    shares = np.cumsum(values) / (values.sum() or 1.0)
    for j in range(1, values.size // 2 + 1):
        if shares[j - 1] >= SHARE and values[j - 1] >= RATIO**2 * values[j]:
            return order[:j].astype(np.int64)
    return np.empty(0, dtype=np.int64)


def dominance(variances: npt.ArrayLike, names: Sequence[str]) -> tuple[int, str]:
    """Return the number of columns that dominate by their scale, and a clause that names them.

    Examples
    --------
    >>> dominance([29.8, 3.9, 197.7, 643131.1], ["bill", "depth", "flipper", "mass"])
    (1, 'mass has 99.96 % of the variance because of its scale')
    """
    values = np.asarray(variances, dtype=np.float64)
    columns = dominant_columns(values)
    if not columns.size:
        return 0, ""
    share = percent(float(values[columns].sum() / values.sum()))
    who = [names[j] for j in columns.tolist()]
    shown = who if len(who) <= NAMED + 1 else [*who[:NAMED], f"{len(who) - NAMED} other columns"]
    have, their = ("has", "its") if len(who) == 1 else ("have", "their")
    subject = shown[0] if len(who) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return len(who), f"{subject} {have} {share} of the variance because of {their} scale"


def unit_difference(
    names: Sequence[str],
    deviations: npt.ArrayLike,
    sample: FloatArray | None = None,
    units: Sequence[str] | None = None,
) -> tuple[str, dict[str, Any]]:
    """Return why columns seem to have different units, as a clause, and its evidence; "" where they do not.

    Parameters
    ----------
    names : sequence of str
    deviations : array-like of shape (d,)
        Standard deviations of the columns.
    sample : ndarray of shape (n, d), optional
        Some of the rows; NaN where a value is missing. Without them ranges do not count.
    units : sequence of str, optional
        Units that the file states, "" where it states none; by default those in the names count.

    Returns
    -------
    clause : str
        With the columns that decide as its subject.
    evidence : dict
        ``columns`` that decide, ``largest share`` of the variance, and ``ratio of deviations``.

    Notes
    -----
    Columns share a unit if their names say so, if they are neighbours on an axis, if many have the same
    range, as pixels and ratings do, or if they are shares of one total.

    Examples
    --------
    >>> people = np.array([[175.0, 70, 30], [181, 92, 35], [169, 55, 62], [172, 66, 18]])
    >>> unit_difference(["height_cm", "mass_kg", "age"], people.std(axis=0), people)[0]
    'columns have different units (cm, kg)'
    >>> unit_difference(["a_cm", "b_cm", "c_cm"], people.std(axis=0), people)[0]
    ''
    """
    values = np.asarray(deviations, dtype=np.float64)
    vary = np.flatnonzero(values > 0)
    if len(vary) < 2 or (sample is not None and len(sample) < 2):
        return "", {}
    names, values = [names[j] for j in vary.tolist()], values[vary]
    if sample is not None:
        sample = sample[:, vary] / np.nanmax(np.abs(sample[:, vary]))
    stated = [""] * len(values) if units is None else [units[j] for j in vary.tolist()]
    units = [stated_unit or named for stated_unit, named in zip(stated, units_of(names), strict=True)]
    widest = float(values.max() / values.min())
    different = set(units) - {""}
    alike = sample is not None and (same_range(sample) or neighbours(sample) or constant_sum(sample))
    if (len(different) == 1 and all(units)) or (len(different) < 2 and alike):
        return "", {}
    variances = (values / values.max()) ** 2
    order, shares = np.argsort(-variances, kind="stable"), variances / variances.sum()
    count, clause = dominance(variances, names)
    few = sample is not None and len(values) <= FEW
    ascending, m = np.sort(values), len(values)
    usual = ascending[0] if few else (ascending[(m - 1) // 2] + ascending[m // 2]) / 2
    if not count and len(different) > 1 and widest >= UNITS_GAP:
        count, clause = len(names), f"columns have different units ({', '.join(sorted(different))})"
    elif not count and values.max() >= GAP * usual:
        count = max(1, int((shares >= SPREAD).sum()))
        who = f"{names[order[0]]} has" if count == 1 else f"{count} of {len(names):,} columns have"
        share = percent(float(shares[order[:count]].sum()))
        clause = f"deviations of columns differ {widest:,.0f}-fold, and {who} {share} of the variance"
    elif not count and few and sample is not None and (pair := _apart(values, sample)):
        count, (small, large) = 1, pair
        clause = f"ranges of columns are apart, from {names[small]} to {names[large]}"
    decide = [names[j] for j in order[:count]]
    evidence = {"columns": decide, "largest share": float(shares.max()), "ratio of deviations": widest}
    return clause, evidence if clause else {}


def different_quantities(names: Sequence[str], sample: FloatArray) -> bool:
    """Return whether few columns have names without a common word or unit, and nothing in common else.

    Parameters
    ----------
    names : sequence of str
    sample : ndarray of shape (n, d)
        Some of the rows.

    Examples
    --------
    >>> people = np.array([[17.0, 7, 3], [18, 9, 3], [16, 5, 6], [17, 6, 2]])
    >>> different_quantities(["wage", "education", "age"], people)
    True
    >>> different_quantities(["petal length", "petal width", "sepal length"], people)
    False
    >>> different_quantities(["shell length", "shell width", "shell weight"], people)
    True
    """
    units = set(units_of(names))
    if not 2 <= len(names) <= FEW or (len(units) == 1 and units != {""}):
        return False
    words = [set(WORDS.findall(name.casefold())) for name in names]
    telling = any(map(MASSES.intersection, words)) and any(map(LENGTHS.intersection, words))
    groups: list[tuple[set[str], int]] = []  # of names that share words, and their numbers
    for quantity in filter(None, words):
        alike = [group for group in groups if group[0] & quantity]
        groups = [group for group in groups if group not in alike]
        groups.append((quantity.union(*(group[0] for group in alike)), 1 + sum(group[1] for group in alike)))
    telling |= 2 * sum(map(bool, words)) >= len(words) and len(groups) >= 2 * sum(n > 1 for _, n in groups)
    return telling and not (one_range(sample) or neighbours(sample) or constant_sum(sample))


def one_range(sample: FloatArray) -> bool:
    """Return whether every column has the least or the largest value that a third of them share."""
    low, high = np.nanmin(sample, axis=0), np.nanmax(sample, axis=0)
    return same_range(sample) and bool(((low == low.min()) | (high == high.max())).all())


def beyond_answers(sample: FloatArray) -> tuple[int, list[int]]:
    """Return a column with a scale of answers, and those that go beyond; none where one scale may hold all.

    The largest answer of a scale is given often; that of counts is the end of a tail.

    Parameters
    ----------
    sample : ndarray of shape (n, d)
        Some of the rows; no column is constant.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sure, easy = rng.integers(1, 7, 50), rng.integers(1, 11, 50)
    >>> beyond_answers(np.column_stack([sure, easy]).astype(float))
    (0, [1])
    >>> beyond_answers(np.column_stack([sure, sure[::-1]]).astype(float))
    (0, [])
    """
    low, high = np.nanmin(sample, axis=0), np.nanmax(sample, axis=0)
    answers, ends = high - low + 1, (sample == high).sum(axis=0)
    short = (low >= 0) & (low <= 1) & (high <= HIGHEST)
    often = np.maximum(ENDING, np.isfinite(sample).sum(axis=0) / (2 * answers))
    closed = np.flatnonzero(short & (ends >= often))
    if not closed.size or bool((sample != np.rint(sample))[np.isfinite(sample)].any()):
        return 0, []
    first = int(closed[answers[closed].argmin()])
    same = (low == low[first]) & (high == high[first])
    beyond = (high >= GAP * high[first]) | (short & (answers > LONGER * answers[first]))
    return first, np.flatnonzero(beyond).tolist() if (same | beyond).all() else []


def _apart(deviations: FloatArray, sample: FloatArray) -> tuple[int, int] | None:
    """Return the columns of the smallest and largest deviation if many ranges of columns do not overlap."""
    low, high = np.nanmin(sample, axis=0), np.nanmax(sample, axis=0)
    i, j = np.triu_indices(len(deviations), 1)
    ratio = np.maximum(deviations[i], deviations[j]) / np.minimum(deviations[i], deviations[j])
    apart = ((high[i] < low[j]) | (high[j] < low[i])) & (ratio >= THRICE)
    return (int(deviations.argmin()), int(deviations.argmax())) if apart.mean() >= APART else None


def same_range(sample: FloatArray) -> bool:
    """Return whether a third of the columns have the same least and largest value, as pixels and ratings."""
    low, high = np.nanmin(sample, axis=0), np.nanmax(sample, axis=0)
    ends = min((low == low.min()).sum(), (high == high.max()).sum())
    return bool(ends >= max(2, APART * len(low)))


def neighbours(sample: FloatArray) -> bool:
    """Return whether columns are neighbours on an axis, such as wavelengths, and so share a unit."""
    sample = sample[np.isfinite(sample).all(axis=1)]
    if sample.shape[1] < AXIS or len(sample) < 3:
        return False
    C = sample - sample.mean(axis=0)
    squares = (C**2).sum(axis=0)
    # Between the peaks of a spectrum is noise, which says nothing.
    large = squares > PEAK * squares.max()
    pairs = large[1:] & large[:-1]
    products = (C[:, 1:] * C[:, :-1]).sum(axis=0)[pairs] / np.sqrt(squares[1:] * squares[:-1])[pairs]
    return len(products) >= AXIS // 2 and float(np.median(products)) >= SMOOTH


WORDS = re.compile(r"[^\W\d_]{3,}")
EVEN = 1.5  # of neighbouring steps, the larger relative to the smaller
ON_AXIS = re.compile(
    r"(\D*?)((?:(?<![^\W_])[-+])?(?!0\d)\d+(?:\.\d+)?(?:e[-+]?\d+)?)(\D*(?:\^?-1)?)", re.IGNORECASE
)


def column_axis(names: Sequence[str]) -> tuple[FloatArray, str] | None:
    """Return the positions of columns along an axis, such as wavelengths or times; None if they are items.

    Names along an axis are equal but for a number, which rises or falls steadily, and which either has a
    unit or goes in even steps. Counters such as x1 to x9 number items, as padded numbers do
    (ENSG00000100000).

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    positions : ndarray of shape (d,)
    unit : str
        A unit or a word that all names have; "" for bare numbers.

    Examples
    --------
    >>> column_axis(["900 nm", "902 nm", "904 nm"])
    (array([900., 902., 904.]), 'nm')
    >>> column_axis(["x1", "x2", "x3"])
    """
    split = [ON_AXIS.fullmatch(name.strip()) for name in names]
    around = {(name_split[1], name_split[3]) for name_split in split if name_split}
    if len(split) < 3 or not all(split) or len(around) > 1:
        return None
    before, after = (word.strip(" _-.:=/()[]") for word in around.pop())
    values = np.array([float(name_split[2]) for name_split in split if name_split])
    steps = np.diff(values)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return None
    if before.casefold() in {*OF_AXES, ""} and after.casefold() in UNITS | OF_AXES:
        return values, after
    if before.casefold() in OF_AXES and not after:
        return values, before
    ratios = steps[1:] / steps[:-1]
    counted = values[0] in (0, 1) and np.all(steps == 1)
    # R writes X before names that are numbers.
    bare = before in ("", "X") and not after and not counted
    return (values, "") if bare and max(ratios.max(), 1 / ratios.min()) <= EVEN else None


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
