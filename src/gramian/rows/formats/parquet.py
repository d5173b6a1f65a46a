"""Parquet files, one or a folder of them."""

from gramian.rows.columns import ColumnSource, parquet_source
from gramian.rows.names import parquet_files
from gramian.rows.opened import Opened


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a file, or of the files of a folder, one below the other."""
    folder = opened.path is not None and opened.path.is_dir()
    return parquet_source(opened, parquet_files(opened.path) if folder and opened.path else ())
