"""Delimited text."""

from gramian.rows.columns import ColumnSource, text_source
from gramian.rows.opened import Opened


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a text, whose separator, header and encoding are found."""
    return text_source(opened)
