"""All columns in memory, in the types that they have; and labels among them."""

from __future__ import annotations

from dataclasses import replace
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
    source: ColumnSource, choice: Choice, expected: int | None = None
) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, str, tuple[str, ...]]:
    """Take labels out of columns.

    Parameters
    ----------
    source : ColumnSource
    choice : Choice
        Its label is the column, None if there is only one apart from the names; its id, if there is such a
        column, names the rows; by default row names are chosen as in a table.
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
    if choice.id is not None and (choice.id not in columns.names or choice.id == choice.label):
        choice = replace(choice, id=None)
    value_columns, id_column, label, _ = pick_columns(columns.names, choice, columns.source)
    id_column, value_columns, _ = find_row_names(
        columns.names, source.first_is_index, choice, id_column, value_columns, columns.arrays.__getitem__
    )
    if label is None and len(value_columns) != 1:
        raise ParameterError(
            f"{columns.source} has the columns {listed(columns.names)}. Say which one holds the labels: "
            f"{columns.source}:{columns.names[value_columns[-1] if value_columns else 0]}"
        )
    place = value_columns[0] if label is None else label
    row_names = None if id_column is None else as_names(columns.arrays[id_column])
    return as_labels(columns.arrays[place]), row_names, columns.names[place], ()


def metadata_of_columns(
    source: ColumnSource, choice: Choice
) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...] | None]:
    """Return all columns as labels by their names, and names of rows where a column has them.

    Parameters
    ----------
    source : ColumnSource
    choice : Choice
        Its id, if there is such a column, names the rows.
    """
    columns = whole_columns(source)
    if choice.id not in columns.names:
        choice = replace(choice, id=None)
    places, id_column, *_ = pick_columns(columns.names, choice, columns.source)
    id_column, places, _ = find_row_names(
        columns.names, source.first_is_index, choice, id_column, places, columns.arrays.__getitem__
    )
    row_names = None if id_column is None else as_names(columns.arrays[id_column])
    return {columns.names[place]: as_labels(columns.arrays[place]) for place in places}, row_names


def as_columns(fields: list[Any], source: ColumnSource, first_row: int = 0) -> Columns:
    """Return fields of many rows as columns in the types that they have."""
    from_text = source.separator is not None
    if source.separator is not None:
        fields = understood(fields, Commas(len(fields), source.separator, source.na_values))
    if source.last_may_be_empty and pa.types.is_null(fields[-1].type):
        fields = fields[:-1]
    return Columns(fields, source.unique_names(len(fields))[0], source.source, from_text, first_row)
