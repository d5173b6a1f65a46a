"""Rows of a table that are none of its cases: sums and means of others, and quality controls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.core.checks import counted
from gramian.core.records import FloatArray
from gramian.tables.columns import is_number, is_text

# Names of rows that summarise others, in any case: alone at an end of a table; only where numbers agree; and
# only at an end beside one that is a sum or mean.
NAMED = (
    r"(?:grand |sub-?)?totals?(?:\b.*)?|sum|gesamt(?:summe)?|insgesamt|summe|somme|suma|of which\b.*"
    r"|davon\b.*|mean|average|avg\.?|mittel(?:wert)?|durchschnitt|moyenne|media|promedio"
)
LIKELY = r"all|overall|world|global|combined|ensemble"
BESIDE = r"n|count|min(?:imum)?|max(?:imum)?|median|s\.?d\.?|std\.?(?: ?dev\.?(?:iation)?)?"
CONTROL = r"(?:pool(?:ed)?)?[ _-]?qc[ _-]?\d*|(?:(?:solvent|method|reagent)[ _-])?blank[ _-]?\d*|ntc[ _-]?\d*"
PROVINCES = {"AB", "BC", "MB", "NB", "NL", "NS", "ON", "PE", "SK"}  # beside which QC is Quebec
ANY = rf"(?i)^\s*(?:{NAMED}|{LIKELY}|{BESIDE}|{CONTROL})\s*$"
MOST, MOST_ROWS, MOST_COLUMNS = 20, 100_000, 100  # names of such rows; what is added up
# Shares by which rounded sums miss, where few columns say so, and of columns: percentages do not add up.
CLOSE, EXACT, AGREE = 5e-3, 1e-6, 0.5


def odd_rows(names: Sequence[str], arrays: Sequence[Any]) -> tuple[tuple[str, str, str], ...]:
    """Return rows that are sums or means of others, or quality controls; none where most are.

    Parameters
    ----------
    names : sequence of str
    arrays : sequence of pyarrow.Array
        Columns.

    Returns
    -------
    tuple of tuple of (str, str, str)
        A column, its text in such rows, and why they are no cases.

    Examples
    --------
    >>> columns = [pa.array(["a", "b", "c", "Total"]), pa.array([1.5, 2.5, 4.0, 8.0])]
    >>> odd_rows(["town", "sales"], columns)
    (('town', 'Total', 'is the sum of the 3 rows above'),)
    """
    n, numbers = len(arrays[0]), list(filter(is_number, arrays))[:MOST_COLUMNS]
    named = dict[tuple[int, str], list[int]]()
    for at, column in enumerate(arrays if numbers and 4 <= n <= MOST_ROWS else ()):
        hits = pc.match_substring_regex(column, ANY) if is_text(column) else pa.nulls(0, pa.bool_())
        for row in np.flatnonzero(pc.fill_null(hits, False)).tolist():
            named.setdefault((at, column[row].as_py().strip()), []).append(row)
    flagged = np.isin(np.arange(n), [row for rows in named.values() for row in rows])
    if not named or len(named) > MOST or 2 * flagged.sum() > n:
        return ()
    X = np.array([item.cast(pa.float64(), safe=False) for item in numbers]).T
    cases = np.flatnonzero(np.isfinite(X).any(axis=1) & ~flagged)
    texts = [text for (_, text), rows in named.items() for _ in rows]
    controls, sums = (sum(_is(text, pattern) for text in texts) for pattern in (CONTROL, NAMED))
    result, covered = list[tuple[str, str, str]](), set[int]()
    for (at, text), rows in sorted(named.items(), key=lambda item: -len(item[1])):  # few names of many rows
        why, summed = "", [_sum_of(X, row, cases) for row in rows if not _is(text, BESIDE)]
        end = len(rows) == 1 and len(cases) > 0 and not cases[0] < rows[0] < cases[-1]
        if _is(text, CONTROL) and controls > 1 and not (text == "QC" and _has_provinces(arrays[at])):
            why = "is named as a quality control"
        elif summed and all(summed):
            why = summed[0]
        elif end and (_is(text, NAMED) or (_is(text, BESIDE) and sums)):
            why = "is named as a statistic of the other rows"
        if why and not covered.issuperset(rows):
            result.append((names[at], text, why))
            covered.update(rows)
    return tuple(result)


def _has_provinces(column: Any) -> bool:
    return len(PROVINCES.intersection(column.to_pylist())) > 1


def _is(text: str, pattern: str) -> bool:
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None


def _sum_of(X: FloatArray, row: int, cases: Any) -> str:
    """Return of which rows beside it a row is the sum or the mean; "" if of none."""
    for where, some in (("above", cases[cases < row][::-1]), ("below", cases[cases > row])):
        # A column that goes on, such as a year, says nothing; nor does one alone that agrees nearly.
        at = np.isfinite(X[row]) & (X[row] != 0) & (X[some[:1]] != X[row]).all(axis=0)
        close = (CLOSE if at.sum() > 2 else EXACT) * np.abs(X[row, at])
        sums = np.cumsum(np.nan_to_num(X[some][:, at]), axis=0)
        for kind, values in (("sum", sums), ("mean", sums / np.arange(1, len(some) + 1)[:, None])):
            agree = (np.abs(values[1:] - X[row, at]) <= close).sum(axis=1)
            if at.any() and (hits := np.flatnonzero(agree > AGREE * at.sum())).size:
                return f"is the {kind} of the {counted(int(hits[0]) + 2, 'row')} {where}"
    return ""
