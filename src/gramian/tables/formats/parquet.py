"""Parquet files as columns in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from copy import copy
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet

from gramian.core.checks import listed
from gramian.core.progress import report, track
from gramian.errors import DataError
from gramian.tables.columns import ColumnSource, decoded, first_free
from gramian.tables.labels import declared_levels
from gramian.tables.names import parquet_files
from gramian.tables.reading import ReadingOptions, pick_columns
from gramian.tables.source import Opened, damage
from gramian.tables.table import Expected, unique_names

_MOST = 16 << 20  # bytes of a batch of numbers
_LEAST_ROWS = 128  # of a batch: an Arrow column takes as long for one row as for so many


def open_parquet(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a file, or of the files of a folder, one below the other."""
    path = opened.path
    files = parquet_files(path) if path is not None and path.is_dir() else [path or opened.file]
    return ParquetSource(files, opened.name)


class ParquetSource(ColumnSource):
    """The columns of files that have types.

    Parameters
    ----------
    files : sequence of Path or binary file
    source : str
    """

    def __init__(self, files: Sequence[Path | IO[bytes]], source: str) -> None:
        self.source, self._files = source, files
        self.path = files[0] if isinstance(files[0], Path) else None
        every = [self._names_in(file) for file in files]
        for file, names in zip(files, every, strict=True):
            require_same(every[0], names, Path(str(file)), Path(str(files[0])))
        self.names = every[0]
        self._used = set(range(len(self.names)))
        self.levels: dict[str, tuple[str, ...]] = {}

    def prepared(self, reading: ReadingOptions, expected: Expected | None = None) -> ColumnSource:
        """Return the same files, limited to columns that have, or may have, a role."""
        names = self.names or ()
        unique, _ = unique_names(names)
        roles = pick_columns(unique, reading, self.source)
        needed = set((expected and expected.names) or unique)
        wanted = [index for index in roles.values if unique[index] in needed]
        free = first_free(unique, reading, expected)
        source = copy(self)  # the first column may name rows, and the last one may be empty
        source._used = {0, free or 0, len(names) - 1, *wanted, *roles.aside}
        return source

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield all rows; columns that are not used are nulls."""
        names = self.names or ()
        most = _MOST if limit is None else min(_MOST, limit // 64)
        rows = max(_LEAST_ROWS, most // (8 * len(self._used)))
        for file in track(self._files, "file") if len(self._files) > 1 else self._files:
            for table in self._tables(file, rows, sorted({names[index] for index in self._used})):
                used, nothing = set(table.column_names), pa.nulls(table.num_rows)
                stated = {name: declared_levels(table[name]) for name in used - self.levels.keys()}
                self.levels.update((name, levels) for name, levels in stated.items() if levels)
                yield [decoded(table[name]) if name in used else nothing for name in names]

    def _names_in(self, file: Path | IO[bytes]) -> tuple[str, ...]:
        with opened_columns(file, self.source) as opened:
            schema = opened.schema_arrow
            if not schema.names or len(set(schema.names)) < len(schema.names):
                what = "columns of the same name" if schema.names else "no columns"
                raise DataError(f"{self.source} has {what}. Give each column of numbers a name of its own.")
        index = _pandas_index(schema)
        # pandas writes the index last; in a table that is read, row names come first.
        return tuple(sorted(schema.names, key=lambda name: name not in index))

    def _tables(self, file: Path | IO[bytes], rows: int, names: list[str]) -> Iterator[Any]:
        with opened_columns(file, self.source) as opened:
            done, total = 0, opened.metadata.num_rows
            for batch in opened.iter_batches(rows, columns=names, use_threads=False):
                done += batch.num_rows
                report(f"{done:,} of {total:,} rows", f"row of {self.source}", done, total)
                yield pa.Table.from_batches([batch])


def require_same(expected: Sequence[str], names: Sequence[str], path: Path, first: Path) -> None:
    """Check that a file of a folder has the same columns as the first one.

    Raises
    ------
    DataError
    """
    if set(names) != set(expected):
        other = sorted(set(names) ^ set(expected))
        why = f"{path} has other columns than {first.name}: only one of them has {listed(other)}."
        raise DataError(why, "Parquet files of a folder form one table, and need the same columns.")


@contextmanager
def opened_columns(file: Path | IO[bytes], source: str) -> Iterator[Any]:
    """Open a file to read part after part.

    Raises
    ------
    FileError
        If it is truncated or damaged, also on a later read.
    """
    with damage(str(file) if isinstance(file, Path) else source), ExitStack() as stack:
        opened = stack.enter_context(file.open("rb")) if isinstance(file, Path) else file
        opened.seek(0)
        yield parquet.ParquetFile(opened)


def _pandas_index(schema: Any) -> tuple[str, ...]:
    try:
        index = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return tuple(name for name in index if isinstance(name, str))
    except (KeyError, RecursionError, TypeError, ValueError):
        return ()
