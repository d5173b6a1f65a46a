"""All columns in memory, in the types that they have; and labels among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.checks import listed
from gramian.errors import ParameterError
from gramian.rows.columns.numerals import Commas, understood
from gramian.rows.columns.roles import Columns, as_labels, as_names, find_row_names, is_text
from gramian.rows.columns.source import ColumnSource, whole_fields
from gramian.rows.table import Choice, pick_columns


def whole_columns(source: ColumnSource) -> Columns:
    """Return all columns in memory, in the types that they have."""
    source, _ = source.prepared(Choice())
    return as_columns(whole_fields(source), source)


def labels_of_columns(
    source: ColumnSource, column: str | None = None, id: str | None = None, expected: int | None = None
) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, str, tuple[str, ...]]:
    """Take labels out of columns.

    Parameters
    ----------
    source : ColumnSource
    column : str, optional
        Their name; None if there is only one apart from the names of rows.
    id : str, optional
        The column that names rows, if it is there; by default row names are chosen as in a table.
    expected : int, optional
        Number of rows that need a label: one column of text may have a label in its first line.

    Returns
    -------
    labels : ndarray
    row_names : tuple of str or None
    column : str
        Its name.
    notes : tuple of str

    Raises
    ------
    ParameterError
        If there are several columns and none was chosen, or it does not exist.
    """
    columns = whole_columns(source)
    if source.names is not None and len(columns.names) == 1 and is_text(columns.arrays[0]):
        header, entries = columns.names[0], as_names(columns.arrays[0])
        if len(entries) + 1 == expected:
            note = f"the first line of {source.source}, {header!r}, was read as a label"
            return np.array([header, *entries]), None, "label", (note,)
    labels, others, row_names = _with_row_names(columns, source, id, column)
    if not labels and len(others) != 1:
        raise ParameterError(
            f"{columns.source} has the columns {listed(columns.names)}. Say which one holds the labels: "
            f"{columns.source}:{columns.names[others[-1] if others else 0]}"
        )
    (place,) = labels or others
    return as_labels(columns.arrays[place]), row_names, columns.names[place], ()


def metadata_of_columns(
    source: ColumnSource, id: str | None = None
) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...] | None]:
    """Return all columns as labels by their names, and names of rows where a column has them.

    Parameters
    ----------
    source : ColumnSource
    id : str, optional
        The column that names rows, if it is there.
    """
    columns = whole_columns(source)
    _, places, row_names = _with_row_names(columns, source, id)
    return {columns.names[place]: as_labels(columns.arrays[place]) for place in places}, row_names


def _with_row_names(
    columns: Columns, source: ColumnSource, id: str | None, label: str | None = None
) -> tuple[list[int], list[int], tuple[str, ...] | None]:
    """Return the places of the label and of the other columns, and names of rows."""
    choice = Choice(id=id if id in columns.names and id != label else None, label=label)
    roles = pick_columns(columns.names, choice, columns.source)
    names, others, _ = find_row_names(
        columns.names, source.first_is_index, choice, roles.id, roles.values, columns.arrays.__getitem__
    )
    row_names = None if names is None else as_names(columns.arrays[names])
    return list(roles.labels.values()), others, row_names


def as_columns(fields: list[Any], source: ColumnSource, first_row: int = 0) -> Columns:
    """Return fields of many rows as columns in the types that they have."""
    from_text = source.separator is not None
    if source.separator is not None:
        fields = understood(fields, Commas(len(fields), source.separator, source.na_values))
    if source.last_may_be_empty and pa.types.is_null(fields[-1].type):
        fields = fields[:-1]
    return Columns(fields, source.unique_names(len(fields))[0], source.source, from_text, first_row)
