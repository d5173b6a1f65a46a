"""Parquet, Feather and Arrow files as Arrow columns, whole and in blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from gramian.checks import listed, slices
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError
from gramian.progress import track
from gramian.rows.columnar import WideBlock, first_free
from gramian.rows.table import Choice, pick_columns, unique_names

_MOST = 16 << 20  # bytes of a block of numbers
_LEAST_ROWS = 128  # of a block: an Arrow column takes more bytes beside its values than so many values


def read_parquet(file: IO[bytes], source: str) -> tuple[list[Any], list[str]]:
    """Read a Parquet file into Arrow columns and their names, with an index of pandas first.

    Raises
    ------
    FileError
        If the file is truncated or damaged.
    DataError
        If there are no columns.
    """
    with _damage(source, "Parquet"):
        table = parquet.ParquetFile(file).read(use_threads=False)
    return _columns(table, source)


def read_arrow(file: IO[bytes], source: str) -> tuple[list[Any], list[str]]:
    """Read a Feather file, or an Arrow file or stream, as :func:`read_parquet` reads its kind."""
    with _damage(source, "Arrow or Feather"):
        table = _opened_arrow(file).read_all()
    return _columns(table, source)


def read_parquet_files(paths: Sequence[Path], source: str) -> tuple[list[Any], list[str]]:
    """Read Parquet files with the same columns, one below the other."""
    tables: list[Any] = []
    for path in paths:
        with path.open("rb") as file:
            columns, names = read_parquet(file, str(path))
        first = tables[0].column_names if tables else names
        require_same(first, names, path, paths[0])
        place = {name: index for index, name in reversed(list(enumerate(names)))}
        tables.append(pa.table([columns[place[name]] for name in first], first))
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"{source} holds files whose columns are of different types: {error}.") from error
    return list(whole.columns), whole.column_names


def require_same(expected: Sequence[str], names: Sequence[str], path: Path, first: Path) -> None:
    """Refuse a file of a folder with other columns than the first one.

    Raises
    ------
    DataError
    """
    if set(names) != set(expected):
        other = sorted(set(names) ^ set(expected))
        raise DataError(
            f"{path} has other columns than {first.name}: {listed(other)} are in one of them only. Parquet "
            "files of a folder are one table, and need the same columns."
        )


@contextmanager
def opened_columns(path: Path, is_parquet: bool = True) -> Iterator[Any]:
    """Open a Parquet file, or an Arrow file, to read part after part.

    Raises
    ------
    FileError
        If it is truncated or damaged, also of what is read of it.
    """
    kind = "Parquet" if is_parquet else "Arrow or Feather"
    # Mapped, one batch of a file may be larger than memory.
    with _damage(str(path), kind), path.open("rb") if is_parquet else pa.memory_map(str(path)) as file:
        yield parquet.ParquetFile(file) if is_parquet else _opened_arrow(file)


class ArrowBlocks:
    """Parquet files with the same columns, or an Arrow file, as blocks of Arrow columns.

    Columns that the choice has no use for are not read: nulls stand in their places.

    Parameters
    ----------
    paths : sequence of Path
    source : str
        What they are called in messages.
    choice : Choice
    limit : int
        Bytes of working memory, of which a block takes a small part.

    Raises
    ------
    FileError, DataError
        As of :func:`read_parquet`.
    """

    def __init__(self, paths: Sequence[Path], source: str, choice: Choice, limit: int) -> None:
        self.path, self.source, self._paths = paths[0], source, paths
        self.separator: str | None = None
        self.na_values: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.sha256 = ""
        self._parquet = paths[0].suffix.lower() == ".parquet"
        found = [self._names_and_rows(path) for path in paths]
        names = found[0][0]
        for path, (others, _) in zip(paths, found, strict=True):
            require_same(names, others, path, paths[0])
        self.names: tuple[str, ...] | None = tuple(names)
        self._used = _used(names, choice, source)
        self.needed = sum(rows for _, rows in found) * len(self._used) * 8
        self._rows = max(_LEAST_ROWS, min(_MOST, limit // 64) // (8 * len(self._used)))

    def read(self, as_text: frozenset[int]) -> Iterator[list[Any] | WideBlock]:
        """Yield block after block, some columns apart from the numbers."""
        names = self.names or ()
        layout: _Layout | None = None
        for path in track(self._paths, "file") if len(self._paths) > 1 else self._paths:
            for batch in self._batches(path, sorted({names[place] for place in self._used})):
                columns = partial(self._columns_of, batch)
                if layout is not None and not layout.repeated and batch.schema.equals(layout.schema):
                    yield layout.wide_block(batch, columns)
                else:
                    layout = layout or _Layout(batch.schema, names, as_text)
                    yield columns()

    def _columns_of(self, batch: Any) -> list[Any]:
        names = self.names or ()
        nothing = pa.chunked_array([pa.nulls(batch.num_rows)])
        table = _in_order(pa.Table.from_batches([batch]), names)
        return [table.get(place, nothing) for place in range(len(names))]

    def typed(self, column: Any) -> Any:
        """Return the column: it has a type."""
        return column

    def _names_and_rows(self, path: Path) -> tuple[list[str], int]:
        with opened_columns(path, self._parquet) as file:
            schema = file.schema_arrow if self._parquet else file.schema
            if self._parquet:
                rows = file.metadata.num_rows
            else:
                rows = sum(batch.num_rows for batch in _record_batches(file))
            return _columns(schema.empty_table(), str(path))[1], rows

    def _batches(self, path: Path, names: list[str]) -> Iterator[Any]:
        with opened_columns(path, self._parquet) as file:
            if self._parquet:
                twice = len(set(self.names or ())) < len(self.names or ())
                columns = None if twice else names
                yield from file.iter_batches(self._rows, columns=columns, use_threads=False)
                return
            for batch in _record_batches(file):
                for part in slices(batch.num_rows, self._rows):
                    yield batch.slice(part.start, part.stop - part.start)


def _used(names: Sequence[str], choice: Choice, source: str) -> set[int]:
    """Return the columns that have a use, or may have: the first one may name rows."""
    unique, _ = unique_names(names)
    kept, *others = pick_columns(unique, choice, source)
    if choice.needed is not None:
        needed = set(choice.needed)
        kept = [place for place in kept if unique[place] in needed]
    others.append(first_free(unique, choice))
    return {0, len(names) - 1, *kept, *(place for place in others if place is not None)}


class _Layout:
    """Which columns of batches of one schema are numbers, by their places in the file."""

    def __init__(self, schema: Any, names: Sequence[str], apart: frozenset[int]) -> None:
        self.schema = schema
        place = {name: index for index, name in enumerate(names)}
        self.repeated = len(place) < len(names)
        found = np.array([place[name] for name in schema.names], dtype=np.intp)
        is_number = np.array([_one_array_holds(kind) for kind in schema.types], dtype=np.bool_)
        is_number &= ~np.isin(found, list(apart))
        self._numbers = np.flatnonzero(is_number).tolist()
        self._places = found[is_number]
        self._others = {int(found[index]): int(index) for index in np.flatnonzero(~is_number)}

    def wide_block(self, batch: Any, columns: Callable[[], list[Any]]) -> WideBlock:
        """Return a batch with its numbers as one array."""
        values = np.empty((batch.num_rows, 0))
        if self._numbers:
            values = batch.select(self._numbers).to_tensor(null_to_nan=True, row_major=True).to_numpy()
        others = {place: pa.chunked_array([batch.column(i)]) for place, i in self._others.items()}
        return WideBlock(values, self._places, columns, others=others)


def _one_array_holds(kind: Any) -> bool:
    """Say whether numbers of a type go into one tensor with others."""
    return pa.types.is_integer(kind) or (pa.types.is_floating(kind) and not pa.types.is_float16(kind))


def _in_order(table: Any, names: Sequence[str]) -> dict[int, Any]:
    """Return the columns of a table by their places among all names, which may occur more than once."""
    found: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        found.setdefault(name, []).append(column)
    return {place: found[name].pop(0) for place, name in enumerate(names) if found.get(name)}


def _opened_arrow(file: Any) -> Any:
    whole = file.read(6) == b"ARROW1"
    file.seek(0)
    return (ipc.open_file if whole else ipc.open_stream)(file)


def _record_batches(file: Any) -> Iterator[Any]:
    if hasattr(file, "get_batch"):
        return (file.get_batch(place) for place in range(file.num_record_batches))
    return iter(file)


@contextmanager
def _damage(source: str, kind: str) -> Iterator[None]:
    """Say of everything that Arrow makes of a truncated or altered file that it is one."""
    try:
        yield
    except GramianError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, MemoryError):  # Arrow's are also errors of Arrow
            told = f"{source} takes more memory than there is ({error}). Read a part of it."
            raise MemoryLimitError(told) from error
        detail = str(error).split("\n")[0].rstrip(".")
        raise FileError(
            f"{source} is truncated or damaged {kind} ({detail}). Make or copy it again."
        ) from error


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
    except (KeyError, RecursionError, TypeError, ValueError):
        return ()
