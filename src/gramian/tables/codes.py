"""Numbers that stand for missing values: apart from all others of their column, and repeated or usual."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from gramian.core.records import FloatArray
from gramian.tables.preview import Column

USUAL = {
    *(-9.0, -99.0, -999.0, -9999.0, -99999.0, -99.99, -999.9, -9999.9, -99.9, -8888.0, -200.0),
    *(9.0, 99.0, 999.0, 9999.0, 99999.0, 99.99, 999.9, 9999.9, 8888.0, 888.0, 777.0, 88.0, 77.0),
}
WITHIN = {77.0, 88.0, 99.0, 777.0, 888.0, 999.0, 9999.0}  # of these also within the range of the others
FEWEST, MOST = 10, 4  # other values that are needed; codes of a column
FENCES = 3.0  # interquartile ranges beyond which a value is outside
FAR = 5.0  # ranges of the others to a value that is no usual code
NEIGHBOURS, OFTEN = 5.0, 5  # distance to values that a code within is more frequent than, and how much
CHANCE = 1e-6  # of so many equal values by chance
LARGEST = 0.9  # share of the values that may be codes


def codes_of(column: Column) -> dict[float, int]:
    """Return the numbers of a column that stand for missing values, and how often each is in its sample.

    Parameters
    ----------
    column : Column
        Of numbers.

    Notes
    -----
    A code is the least or largest value, beyond the quartiles of the others by three times their distance,
    and further from the nearest other value than the range of those; other numbers than usual codes are
    repeated, and five ranges away. 77, 88, 99 and such within the range of whole numbers count where they are
    five times as frequent as any neighbour (binomial, 1e-6). A usual negative code is one wherever no other
    value is negative.

    Examples
    --------
    >>> from gramian.tables.preview import of_numbers
    >>> values = np.r_[np.linspace(3.0, 9.0, 30), -200.0, -200.0]
    >>> codes_of(of_numbers(["CO"], values[None])[0])
    {-200.0: 2}
    """
    if column.sample is None or column.low is None or column.high is None or column.distinct < 4:
        return {}
    x = column.sample[np.isfinite(column.sample)]
    x = np.concatenate([x, [end for end in (column.low, column.high) if end not in x]])
    found: dict[float, int] = {}
    for _ in range(MOST):
        value = next((v for v in _candidates(x) if _is_code(v, x)), None)
        if value is None:
            break
        found[value] = int((x == value).sum())
        x = x[x != value]
    return found if sum(found.values()) < LARGEST * len(column.sample) else {}


def _candidates(x: FloatArray) -> Iterator[float]:
    yield from (float(x.min()), float(x.max())) if len(x) else ()
    yield from sorted(USUAL.intersection(x.tolist()))


def _is_code(value: float, x: FloatArray) -> bool:
    count, rest = int((x == value).sum()), x[x != value]
    usual = value in USUAL or (value == 0.0 and count >= 2)
    if len(rest) < FEWEST or (count < 2 and not usual):
        return False
    first, third = np.quantile(rest, [0.25, 0.75])
    reach = FENCES * (third - first)
    inside = (rest >= first - reach) & (rest <= third + reach)
    rest = rest[inside | ~np.isin(rest, list(USUAL))]  # without other codes
    if len(np.unique(rest)) < 3:
        return False
    low, high = float(rest.min()), float(rest.max())
    if not low <= value <= high:
        outside = not first - reach <= value <= third + reach
        far = min(abs(value - low), abs(value - high)) > (1.0 if usual else FAR) * (high - low)
        return (outside and far) or (value in USUAL and value < 0 <= low)
    if value not in WITHIN or not bool((rest == np.rint(rest)).all()):
        return False
    values, counts = np.unique(rest[np.abs(rest - value) <= NEIGHBOURS], return_counts=True)
    usually = counts.max() if len(values) else 1
    return count > OFTEN * usually and bool(binom.sf(count - 1, len(x), usually / len(x)) < CHANCE)
