"""The row that labels the columns of a table that will be transposed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.checks import listed
from gramian.errors import DataError, ParameterError
from gramian.rows.columns.numerals import Commas, understood
from gramian.rows.columns.roles import as_labels, as_names
from gramian.rows.columns.source import ColumnsInMemory, ColumnSource, whole_fields
from gramian.rows.table import Choice, pick_columns, pick_rows


def without_label_row(source: ColumnSource, choice: Choice) -> tuple[ColumnSource, list[Any], Choice]:
    """Take out the row that labels the columns, before its text makes text of all of them.

    Returns the columns with the rows that are wanted of those that are left, the labels, and the rest of the
    choice.
    """
    fields, row = whole_fields(source), choice.label_row
    names, _ = source.unique_names(len(fields))
    if not fields:
        raise DataError(f"{source.source} has no rows. Add at least one row of numbers.")
    id_name = names[0] if choice.id is None else choice.id
    place = pick_columns(names, Choice(id=id_name), source.source).id or 0
    entries = as_names(fields[place])
    if source.names is not None and names[place] == row:
        labels: list[Any] = list(names)
        others = np.arange(len(entries))
    elif row in entries:
        index = entries.index(row)
        labels = [column[index].as_py() for column in fields]
        others = np.delete(np.arange(len(entries)), index)
    else:
        close = difflib.get_close_matches(str(row), entries, n=3) or entries
        raise ParameterError(
            f"label={row!r} with transpose names a row, but {source.source} has no such row in its "
            f"column {id_name!r}, which holds {listed(close)}."
        )
    if len(others) == 0:
        raise DataError(f"{source.source} has no rows other than {row!r}. Add at least one row of numbers.")
    others = others[np.array(pick_rows(len(others), choice.rows, source.source))]
    arrays = [column.take(pa.array(others)) for column in fields]
    about = source.source, source.notes, source.separator, source.na_values
    rest = ColumnsInMemory(arrays, source.names, *about)
    return rest, labels, replace(choice, id=id_name, rows=None)


def labels_of_row(values: Sequence[Any], value_columns: Sequence[int]) -> npt.NDArray[Any]:
    """Make labels of the values of a row: numbers where all of them are."""
    text = [None if values[place] is None else str(values[place]) for place in value_columns]
    fields = pa.array(text, pa.string())
    labels = as_labels(understood([fields], Commas(1, ","))[0])
    if labels.dtype.kind == "f" and np.array_equal(labels, np.rint(labels)):
        return labels.astype(np.int64)
    return labels
