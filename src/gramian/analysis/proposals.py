"""What the columns of a table suggest before a fit: their uses, columns to leave out, and unit variance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gramian.analysis.units import dominance
from gramian.checks import counted
from gramian.data.table import Table
from gramian.io.preview import Column, Preview, of_numbers

YEARS = (1800, 2100)
YEAR_WORDS = {"year", "years", "yr", "jahr", "date", "datum", "annee", "année", "anno", "ano", "año"}
ID_WORDS = {"id", "ids", "identifier", "key", "index", "nr", "no", "number", "nummer", "code"}
FEWEST = 10  # rows from which integers that count rows, or differ in all rows, are no coincidence
MOST_GROUPS = 20
SAMPLE = (1000, 200)  # rows and columns of a table that is read already


@dataclass(frozen=True)
class Proposal:
    """A choice that a table suggests; nothing applies it unless its reader does.

    Attributes
    ----------
    option : {"id", "label", "drop", "missing", "scale"}
        An option of :func:`gramian.scan`, or ``scale`` of :class:`gramian.PCA`.
    value : str
        Its value: a column, ``"drop-rows"``, or ``"unit"``.
    why : str
        The reason, as a clause.
    """

    option: Literal["id", "label", "drop", "missing", "scale"]
    value: str
    why: str


def proposals(table: Preview) -> tuple[Proposal, ...]:
    """Return what a table suggests; nothing for columns without names.

    At most one proposal each has the option "id", "label", "missing" or "scale". Columns of text without
    another use are among those to leave out. Standard deviations that :func:`dominant_columns` finds too
    different suggest unit variance.

    Examples
    --------
    >>> import io
    >>> from gramian.io.preview import preview
    >>> lines = ["bird,sex,mass,year", *(f"a{i},{'fm'[i % 2]},{i * i},{2007 + i % 3}" for i in range(12))]
    >>> table = preview(io.BytesIO("\\n".join(lines).encode()), "birds.csv")
    >>> for proposal in proposals(table):
    ...     print(proposal.option, proposal.value, "because", proposal.why)
    id bird because "bird" has another text in every row
    label sex because "sex" names 2 groups of rows
    drop year because "year" looks like a year
    """
    if not table.named:
        return ()
    result = []
    for column in table.columns:
        if column.name == table.row_names:
            what = "text" if column.kind == "text" else "number"
            why = "counts the rows" if column.counts else f"has another {what} in every row"
            result.append(Proposal("id", column.name, f'"{column.name}" {why}'))
    free = [column for column in table.columns if column.name != table.row_names]
    groups = next((column for column in free if _groups(column, table.rows)), None)
    if groups is not None:
        result.append(
            Proposal("label", groups.name, f'"{groups.name}" names {groups.distinct} groups of rows')
        )
    used, drops = [], []
    for column in free:
        if column is groups:
            continue
        if why := "holds text" if column.kind == "text" else why_no_measurement(column, table.rows):
            drops.append(Proposal("drop", column.name, f'"{column.name}" {why}'))
        else:
            used.append(column)
    if not used:  # nothing would be left
        return tuple(result)
    return (*result, *drops, *_rows(used, table), *_scale(used, table))


def columns_to_drop(table: Table) -> tuple[Proposal, ...]:
    """Return the columns of a table in memory that are better left out of a fit, by its first rows.

    Constant columns are not among them: a fit says which they are.
    """
    names = table.feature_names
    if names is None or not table.in_memory or table.picture_shape is not None:
        return ()
    rows, width = SAMPLE
    values = table.values[:rows, :width]
    if not isinstance(values, np.ndarray):
        return ()
    columns = (of_numbers(name, column) for name, column in zip(names, values.T, strict=False))
    reasons = (
        (column.name, why_no_measurement(column, len(values))) for column in columns if column.distinct > 1
    )
    return tuple(Proposal("drop", name, f'"{name}" {why}') for name, why in reasons if why)


def why_no_measurement(column: Column, rows: int) -> str:
    """Return why a column of numbers is no measurement; "" if it may be one."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.name)  # of sampleId too
    words = set(re.findall(r"[^\W\d_]+", parts.casefold()))
    if not column.distinct:
        return "holds no value"
    if column.kind == "constant":
        return "is the same in all rows"
    if column.counts and rows >= FEWEST:
        return "counts the rows"
    low, high = column.low, column.high
    if not column.whole or low is None or high is None:
        return ""
    if words & YEAR_WORDS and YEARS[0] <= low and high <= YEARS[1]:
        return "looks like a year"
    if words & ID_WORDS and column.distinct == rows >= FEWEST:
        return "looks like an identifier: every row has another number"
    return ""


def _groups(column: Column, rows: int) -> bool:
    return column.kind == "text" and 2 <= column.distinct <= min(MOST_GROUPS, rows // 2)


def _rows(used: Sequence[Column], table: Preview) -> Iterator[Proposal]:
    """Propose to leave out the rows without any value, if no other row lacks one."""
    holes = [np.unpackbits(column.holes, count=table.rows) for column in used if column.holes is not None]
    if not holes or table.width > len(table.columns):
        return
    empty = np.logical_and.reduce(holes)
    if empty.any() and np.array_equal(empty, np.logical_or.reduce(holes)):
        many = counted(int(empty.sum()), "row has no measurement", "rows have no measurement")
        yield Proposal("missing", "drop-rows", many)


def _scale(used: Sequence[Column], table: Preview) -> Iterator[Proposal]:
    deviations = [column.deviation for column in used if column.deviation is not None]
    if len(deviations) < max(2, len(used)) or table.width > len(table.columns):
        return
    largest = max(deviations) or 1.0
    count, why = dominance([(one / largest) ** 2 for one in deviations], [f'"{c.name}"' for c in used])
    if count:
        yield Proposal("scale", "unit", why)
