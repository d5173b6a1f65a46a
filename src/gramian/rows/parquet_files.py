"""Tables in Parquet files."""

import json
from typing import IO, Any

from gramian.errors import DataError, FileError

__all__ = ["read_parquet"]


def read_parquet(file: IO[bytes], source: str) -> tuple[list[Any], list[str]]:
    """Read a Parquet file into Arrow columns and their names, with an index of pandas first.

    Raises
    ------
    FileError
        If the file is truncated or damaged.
    DataError
        If there are no columns.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(file).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        detail = str(error).split("\n")[0].rstrip(".")
        raise FileError(
            f"{source} is truncated or damaged Parquet ({detail}). Make or copy it again."
        ) from error
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
