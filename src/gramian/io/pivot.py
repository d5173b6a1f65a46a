"""Long tables, with a row for each value: recognise them, and make one row of all values of an id."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays import require_memory
from gramian.checks import counted
from gramian.errors import DataError, option
from gramian.io.columns import Columns, ColumnsInMemory, ColumnSource, as_names, is_number, is_text
from gramian.io.parts import unknown_columns
from gramian.reading import ReadingOptions

FEWEST = (3, 2)  # ids and variables
MOST = 1000  # variables
FULL = 0.5  # of the wide table, at least
_TIMES = 6  # as much memory as a file: its text, its columns and the wide table


def find_long(columns: Columns) -> tuple[str, str, str] | None:
    """Return the columns of ids, of names of variables and of values, if a table is long.

    It has one column of values. Its ids and its variables repeat, each pair of them stands once, and most
    pairs are there.

    Examples
    --------
    >>> ids, tests = pa.array([1, 1, 2, 2, 3, 3]), pa.array(["a", "b"] * 3)
    >>> arrays = [ids, tests, pa.array([1.5, 2.0, 1.0, 7.0, 3.0, 4.0])]
    >>> find_long(Columns(arrays, ("id", "test", "score"), ColumnsInMemory()))
    ('id', 'test', 'score')
    """
    rows = len(columns.arrays[0]) if columns.arrays else 0
    numbers = [place for place, column in enumerate(columns.arrays) if is_number(column)]
    if not 0 < len(numbers) <= 2 or rows < FEWEST[0] * FEWEST[1]:
        return None
    counts = [
        None if place in numbers[-1:] and len(numbers) == 1 else _repeats(column, rows)
        for place, column in enumerate(columns.arrays)
    ]
    best: tuple[int, tuple[int, int, int]] | None = None
    for id, variable in product(range(len(counts)), repeat=2):
        ids, variables = counts[id], counts[variable]
        values = [place for place in numbers if place != id]
        if (
            id == variable
            or not ids
            or not variables
            or len(values) != 1
            or not is_text(columns.arrays[variable])
        ):
            continue
        if ids < FEWEST[0] or not FEWEST[1] <= variables <= min(MOST, ids) or ids * variables * FULL > rows:
            continue
        if rows > ids * variables or not _pairs_differ(columns.arrays[id], columns.arrays[variable]):
            continue
        if best is None or ids * variables < best[0]:
            best = ids * variables, (id, variable, values[0])
    if best is None:
        return None
    id, variable, value = (columns.names[place] for place in best[1])
    return id, variable, value


def _repeats(column: Any, rows: int) -> int | None:
    """Return how many values a column has in all rows, if they repeat and may name something."""
    if column.null_count or pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return None
    distinct = pc.count_distinct(column).as_py()
    return distinct if distinct < rows else None


def _pairs_differ(ids: Any, variables: Any) -> bool:
    codes = _codes(ids)[0] * (1 << 32) + _codes(variables)[0]
    return len(np.unique(codes)) == len(codes)


def _codes(column: Any) -> tuple[Any, Any]:
    """Return the number of each entry in the order in which they occur, and the entries."""
    encoded = pc.dictionary_encode(column)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def pivoted(source: ColumnSource, reading: ReadingOptions) -> tuple[ColumnSource, ReadingOptions]:
    """Return a long table as a wide one, in memory: a row for each id, NaN where a value is absent.

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
    name = source.source
    if source.path is not None:
        advice = "Give a part of it, or a wide table"
        require_memory(_TIMES * source.path.stat().st_size, f"A pivot of {name}", advice)
    columns = Columns.whole(source, reading)
    position = {column: place for place, column in enumerate(columns.names)}
    if unknown := [one for one in reading.pivot if one not in position]:
        raise unknown_columns("pivot", unknown, columns.names, name)
    id, variable, value = (columns.arrays[position[one]] for one in reading.pivot)
    if not is_number(value):
        raise DataError(
            f"The column {reading.pivot[2]!r} of {name} holds no numbers.",
            f"Name the column of values last: {option('pivot', 'ID,VARIABLE,VALUE')}.",
        )
    for column, called in zip((id, variable), reading.pivot, strict=False):
        if column.null_count:
            row = pc.index(pc.is_null(column), pa.scalar(True)).as_py()
            raise DataError(
                f"{called!r} is empty in row {row} of {name}. Every value needs an id and a name."
            )
    (rows, ids), (places, variables) = _codes(id), _codes(variable)
    n, d = len(ids), len(variables)
    _, first = np.unique(rows * d + places, return_index=True)
    if len(first) < len(rows):
        row = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise DataError(
            f"{name} has several values of {variables[int(places[row])].as_py()!r} for "
            f"{ids[int(rows[row])].as_py()!r}, the second one in row {row}.",
            "Take their mean first, or name another column of ids.",
        )
    require_memory(8 * n * d, f"{name} as a table of {n:,} x {d:,}", "Use fewer variables")
    wide = np.full((d, n), np.nan)
    wide[places, rows] = value.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    start = pa.array(np.unique(rows, return_index=True)[1])
    beside = {*reading.label_columns, reading.weights, *(reading.columns or ()), *(reading.drop or ())}
    others = [one for one in columns.names if one in beside and one not in reading.pivot]
    for one in others:
        column = columns.arrays[position[one]]
        if one in (*reading.label_columns, reading.weights) and not _of_each(column, rows, start):
            raise DataError(
                f"{one!r} of {name} has several values for one {reading.pivot[0]!r}.", "Leave it out."
            )
    names = (reading.pivot[0], *others, *as_names(variables))
    arrays = [ids, *(columns.arrays[position[one]].take(start) for one in others), *map(pa.array, wide)]
    absent = counted(n * d - len(rows), "value is absent", "values are absent")
    note = (
        f"{len(rows):,} rows became {n:,} rows x {d:,} columns, one for each {reading.pivot[1]!r}: {absent}"
    )
    result = ColumnsInMemory(arrays, names, name, (*source.notes, *columns.notes, note))
    return result, replace(reading, id=reading.id or reading.pivot[0], pivot=None)


def _of_each(column: Any, rows: Any, start: Any) -> bool:
    """Say whether a column is the same in all rows of an id."""
    codes, _ = _codes(column)
    return bool(np.array_equal(codes, codes[start.to_numpy()][rows]))
