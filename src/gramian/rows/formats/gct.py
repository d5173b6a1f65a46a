"""GCT files of gene expression."""

from gramian.rows.columns import ColumnSource, gct_source
from gramian.rows.opened import Opened


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of numbers, whose rows the first column names."""
    return gct_source(opened)
