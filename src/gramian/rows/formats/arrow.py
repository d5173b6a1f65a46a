"""Feather and Arrow files."""

from gramian.rows.columns import ColumnSource
from gramian.rows.formats.parquet import arrow_source
from gramian.rows.opened import Opened


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a file."""
    return arrow_source(opened.path or opened.file, opened.name)
