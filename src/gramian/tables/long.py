"""Long tables: which columns are ids, names of variables and values, and the wide table of them.

Values may also stand in a column for each year, as in tables of countries and indicators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.core.arrays import require_memory
from gramian.core.checks import counted
from gramian.core.records import FloatArray, IntArray
from gramian.errors import DataError
from gramian.tables.columns import Columns, ColumnsInMemory, ColumnSource, as_names, is_number
from gramian.tables.reading import ReadingOptions, unknown_columns

FEWEST = (3, 2)  # ids and variables
MOST, MOST_COLUMNS = 1000, 100  # variables; columns but those of years
_TIMES = 6  # as much memory as a file: its text, its columns and the wide table
FULL, BY_YEAR = 0.9, 0.5  # of the wide table, at least: so an id stands in several rows; of columns of years
YEAR = re.compile(r"(1[5-9]\d\d|2[01]\d\d)( \[YR\1\])?")  # name of a column of values
FEWEST_YEARS = 3
YEARS = "year"  # what labels may name, of rows that are years of an id
VARIABLE = re.compile(
    "indicator|series|variable|item|measure|subject", re.IGNORECASE
)  # name of such a column


def find_long(names: Sequence[str], arrays: Sequence[Any]) -> tuple[str, str, str] | None:
    """Return the columns of ids, of names of variables and of values, if a table is long.

    It has one column of values, which are no row numbers, or one for each year, of which the fullest is
    returned. Its ids and its variables repeat, each pair of them stands once, and nearly all pairs are there.

    Parameters
    ----------
    names : sequence of str
    arrays : sequence of pyarrow.Array

    Examples
    --------
    >>> ids, tests = pa.array([1, 1, 2, 2, 3, 3]), pa.array(["a", "b"] * 3)
    >>> find_long(("id", "test", "score"), [ids, tests, pa.array([1.5, 2.0, 1.0, 7.0, 3.0, 4.0])])
    ('id', 'test', 'score')
    """
    rows = len(arrays[0]) if arrays else 0
    years = [index for index, name in enumerate(names) if YEAR.fullmatch(name) and is_number(arrays[index])]
    years = years if len(years) >= FEWEST_YEARS else []
    numbers = [index for index, column in enumerate(arrays) if _is_number(column.type) and index not in years]
    few = len(numbers) <= 2 and len(names) - len(years) <= MOST_COLUMNS
    if not few or not (numbers or years) or rows < FEWEST[0] * FEWEST[1]:
        return None
    fullest = sorted(years, key=lambda index: (arrays[index].null_count, -index))[:1]
    counters = [index for index in numbers if _counts_rows(arrays[index])]
    counts = {index: _repeats(column, rows) for index, column in enumerate(arrays) if index not in years}
    named = {index for index in counts if years and VARIABLE.search(names[index])}
    candidates: list[tuple[int, int, int, int]] = []
    for id, variable in permutations([index for index, count in counts.items() if count], 2):
        ids, variables = counts[id], counts[variable]
        values = fullest or [index for index in numbers if index != id]
        if len(values) != 1 or not pa.types.is_string(arrays[variable].type) or values[0] in counters:
            continue
        fits = variable in named and id not in named if named else variables <= ids
        fits &= FEWEST[0] <= ids and FEWEST[1] <= variables <= MOST * (1 + len(years))
        if fits and ids * variables * (BY_YEAR if years else FULL) <= rows <= ids * variables:
            candidates.append((ids * variables, id, variable, values[0]))
    for _, id, variable, value in sorted(candidates):
        pairs = (codes(arrays[id])[0] << 32) + codes(arrays[variable])[0]
        if len(np.unique(pairs)) == rows:
            return names[id], names[variable], names[value]
    return None


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _counts_rows(column: Any) -> bool:
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return bool((np.diff(values) == 1).all())


def _repeats(column: Any, rows: int) -> int:
    """Return how many values a column has in all rows, if they repeat and may name something; else 0."""
    kind = column.type
    if column.null_count or pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return 0
    distinct = int(pc.count_distinct(column).as_py())
    return distinct if distinct < rows else 0


def codes(column: Any) -> tuple[Any, Any]:
    """Return the number of each entry in the order in which they occur, and the entries.

    Examples
    --------
    >>> numbers, entries = codes(pa.array(["b", "a", "b"]))
    >>> numbers.tolist(), entries.to_pylist()
    ([0, 1, 0], ['b', 'a'])
    """
    encoded = pc.dictionary_encode(column)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def pivoted(source: ColumnSource, reading: ReadingOptions) -> tuple[ColumnSource, ReadingOptions]:
    """Return a long table as a wide one, in memory: a row for each id, NaN where a value is absent.

    Rows are in the order in which ids occur, or in that of time where ids are times. Without a column of
    values these stand in a column for each year, and each id has a row for each year that has a value.

    Columns that are labels or weights need one value for each id; others are left out.

    Raises
    ------
    ParameterError
        If there is no such column.
    DataError
        If values are no numbers, an id has two values of a variable or of a label, or a name is missing.
    MemoryLimitError
        If the table may not fit.
    """
    name, (called, variable_name, *_) = source.source, reading.pivot
    if source.path is not None:
        advice = "Give a part of it, or a wide table"
        require_memory(_TIMES * source.path.stat().st_size, f"A pivot of {name}", advice)
    columns = Columns.whole(source, reading)
    position = {column: index for index, column in enumerate(columns.names)}
    if unknown := [header for header in reading.pivot if header not in position]:
        raise unknown_columns("pivot", unknown, columns.names, name)
    id, variable = columns.arrays[position[called]], columns.as_file_has(variable_name)
    id = id if pa.types.is_temporal(id.type) else columns.as_file_has(called)
    for column, its_name in ((id, called), (variable, variable_name)):
        if column.null_count:
            row = pc.index(pc.is_null(column), pa.scalar(True)).as_py()
            raise DataError(
                f"{its_name!r} is empty in row {row} of {name}. Every value needs an id and a name."
            )
    (rows, ids), (column_codes, variables) = codes(id), codes(variable)
    across, lines = len(reading.pivot) == 2, np.arange(len(rows))
    years = _of_years(columns) if across else {}
    if across:
        rows, ids, lines, values, when = _by_year(rows, ids, years)
        column_codes = column_codes[lines]
    else:
        values = _of_column(columns.arrays[position[reading.pivot[2]]], reading.pivot[2], name)
    if by_time := pa.types.is_temporal(ids.type):  # not by the first value, which some times lack
        order = pc.sort_indices(ids)
        rows, ids = np.argsort(order.to_numpy())[rows], ids.take(order)
    n, d = len(ids), len(variables)
    _, first = np.unique(rows * d + column_codes, return_index=True)
    if len(first) < len(rows):
        row = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise DataError(
            f"{name} has several values of {variables[int(column_codes[row])].as_py()!r} for "
            f"{ids[int(rows[row])].as_py()!r}, the second one in row {lines[row]}.",
            "Take their mean first, or name another column of ids.",
        )
    require_memory(8 * n * d, f"{name} as a table of {n:,} x {d:,}", "Use fewer variables")
    wide = np.full((d, n), np.nan)
    wide[column_codes, rows] = values
    title = f"{called} and year" if across else called
    result = {title: ids} | _beside(columns, reading, rows, lines, years)
    if across and YEARS in _wanted(reading):
        result[YEARS] = when
    arrays, names = [*result.values(), *map(pa.array, wide)], (*result, *as_names(variables))
    absent = counted(int(np.isnan(wide).sum()), "value is absent", "values are absent")
    note = (
        f"{len(columns.arrays[0]):,} rows became {n:,} rows x {d:,} columns, one for each "
        f"{variable_name!r}: {absent}"
        f"{'; rows are in the order of time' if by_time else ''}"
    )
    source = ColumnsInMemory(arrays, names, name, (*source.notes, *columns.notes(), note))
    return source, replace(reading, id=reading.id or title, pivot=None)


def _wanted(reading: ReadingOptions) -> set[str | None]:
    return {*reading.label_columns, reading.weights, *(reading.columns or ()), *(reading.drop or ())}


def _beside(
    columns: Columns, reading: ReadingOptions, rows: IntArray, lines: IntArray, years: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns beside the wide table that options name, at the first line of each of its rows."""
    start, wanted = lines[np.unique(rows, return_index=True)[1]], _wanted(reading)
    pivot: tuple[str, ...] = reading.pivot or ()
    labels, result = reading.label_columns, dict[str, Any]()
    for header, column in zip(columns.names, columns.arrays, strict=True):
        if header not in wanted or header in years or (header in pivot and not years):
            continue
        column = pa.array(columns.labels(columns.names.index(header))) if header in labels else column
        found, _ = codes(column)
        if header in (*labels, reading.weights) and not np.array_equal(found[lines], found[start][rows]):
            raise DataError(
                f"{header!r} of {columns.source.source} has several values for one {pivot[0]!r}.",
                "Leave it out.",
            )
        result[header] = column.take(pa.array(start))
    return result


def _of_column(column: Any, called: str, source: str) -> FloatArray:
    if not is_number(column):
        raise DataError(
            f"The column {called!r} of {source} holds no numbers.",
            'Name the column of values last: pivot="ID,VARIABLE,VALUE".',
        )
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _of_years(columns: Columns) -> dict[str, FloatArray]:
    """Return the numbers of each column that a year names."""
    every = zip(columns.names, columns.arrays, strict=True)
    found = {name: column for name, column in every if YEAR.fullmatch(name) and is_number(column)}
    if len(found) < FEWEST_YEARS:
        raise DataError(
            f"{columns.source.source} has no columns of numbers that years name, such as 2015.",
            'Name the column of values last: pivot="ID,VARIABLE,VALUE".',
        )
    return {name: _of_column(column, name, columns.source.source) for name, column in found.items()}


def _by_year(rows: IntArray, ids: Any, years: Mapping[str, FloatArray]) -> tuple[Any, ...]:
    """Return ids with each year that has a value: the places of values, the ids, lines, values and years."""
    every = np.column_stack([*years.values()])
    lines, at = np.nonzero(~np.isnan(every))
    pairs, rows = np.unique(rows[lines] * len(years) + at, return_inverse=True)
    each, when = np.divmod(pairs, len(years))
    when = pa.array([name[:4] for name in years]).take(pa.array(when))
    ids = pc.binary_join_element_wise(ids.take(pa.array(each)).cast(pa.string()), when, " ")
    return rows, ids, lines, every[lines, at], when.cast(pa.int64())
