"""Parquet, Feather and Arrow files as Arrow columns."""

import json
from typing import IO, Any

import pyarrow as pa
from pyarrow import ipc, parquet

from gramian.errors import DataError, FileError


def read_parquet(file: IO[bytes], source: str) -> tuple[list[Any], list[str]]:
    """Read a Parquet file into Arrow columns and their names, with an index of pandas first.

    Raises
    ------
    FileError
        If the file is truncated or damaged.
    DataError
        If there are no columns.
    """
    try:
        table = parquet.ParquetFile(file).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(error, source, "Parquet") from error
    return _columns(table, source)


def read_arrow(file: IO[bytes], source: str) -> tuple[list[Any], list[str]]:
    """Read a Feather file, or an Arrow file or stream, as :func:`read_parquet` reads its kind."""
    try:
        whole = file.read(6) == b"ARROW1"
        file.seek(0)
        table = (ipc.open_file if whole else ipc.open_stream)(file).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(error, source, "Arrow or Feather") from error
    return _columns(table, source)


def _damaged(error: Exception, source: str, kind: str) -> FileError:
    detail = str(error).split("\n")[0].rstrip(".")
    return FileError(f"{source} is truncated or damaged {kind} ({detail}). Make or copy it again.")


def _columns(table: Any, source: str) -> tuple[list[Any], list[str]]:
    if table.num_columns == 0:
        raise DataError(f"{source} has no columns. At least one column of numbers is needed.")
    names = list(table.column_names)
    index = _pandas_index(table)
    # pandas writes the index last; in a table that is read, row names come first.
    order = sorted(range(len(names)), key=lambda place: names[place] not in index)
    return [table.column(place) for place in order], [names[place] for place in order]


def _pandas_index(table: Any) -> tuple[str, ...]:
    try:
        index = json.loads((table.schema.metadata or {})[b"pandas"])["index_columns"]
        return tuple(name for name in index if isinstance(name, str))
    except (KeyError, TypeError, ValueError):
        return ()
