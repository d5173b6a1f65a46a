"""Columns in batches: facts about them, which are numbers, names and labels, and the table of them."""

from gramian.rows.columns.reading import table_of_columns
from gramian.rows.columns.roles import as_labels, find_row_names, is_number
from gramian.rows.columns.source import Batch, ColumnsInMemory, ColumnSource
from gramian.rows.columns.whole import labels_of_columns, metadata_of_columns, whole_columns

__all__ = [
    "Batch",
    "ColumnSource",
    "ColumnsInMemory",
    "as_labels",
    "find_row_names",
    "is_number",
    "labels_of_columns",
    "metadata_of_columns",
    "table_of_columns",
    "whole_columns",
]
