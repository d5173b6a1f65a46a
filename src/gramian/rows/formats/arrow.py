"""Feather and Arrow files."""

from gramian.rows.columns.source import ColumnSource
from gramian.rows.formats.parquet import ArrowSource
from gramian.rows.opened import Opened


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a file."""
    return ArrowSource([opened.path or opened.file], opened.name, is_parquet=False)
