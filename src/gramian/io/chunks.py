"""Zarr stores and Parquet files as tables in Dask's chunks, each read by whoever works on it."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import check_choice
from gramian.data.table import Expected, Origin, Table
from gramian.errors import DataError, FileError, ParameterError, needs
from gramian.io import choose, metadata, parts, scan
from gramian.io.columns import as_labels
from gramian.io.dask import CHUNK_BYTES, DaskTable
from gramian.io.files import Location, format_of
from gramian.io.formats.parquet import opened_columns, require_same
from gramian.io.formats.zarr import StoredZarr, array_of
from gramian.io.names import parquet_files, readable
from gramian.io.source import ArraySource, Opened, dtype_of_rows, rows_of
from gramian.io.transform import TRANSFORMED, computed
from gramian.reading import ReadingOptions

# What a scan cannot ask of a table in chunks.
ANSWER = "10s"  # that a scheduler may take to answer
LEAST_CHUNKS = 16
REFUSED = ("exclude", "id", "transpose", "missing", "unmatched", "size", "na_values")


class _Direct:
    """Rows of a Zarr array, read by several at once, with nothing kept."""

    ndim = 2

    def __init__(self, stored: StoredZarr) -> None:
        self.stored, self.shape, self.dtype = stored, stored.shape, stored.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> npt.NDArray[Any]:
        # Dask may have put a step of its own into the slice of a chunk.
        return self.stored.read_rows(key[0].start, key[0].stop)[:: key[0].step, key[1]]


class _Groups:
    """Row groups of Parquet files with the same columns of numbers, one below the other."""

    ndim = 2

    def __init__(self, paths: list[Path], names: list[str], columns: list[str], source: str) -> None:
        self.paths, self.columns = paths, columns
        groups = []
        for place, path in enumerate(paths):
            with opened_columns(path) as file:
                schema, about = file.schema_arrow, file.metadata
                groups += [(place, i, about.row_group(i).num_rows) for i in range(about.num_row_groups)]
                require_same(names, schema.names, path, paths[0])
                empty = schema.empty_table().select(self.columns)
        self.groups = [group for group in groups if group[2]]
        self.starts = [0, *accumulate(rows for *_, rows in self.groups)]
        self.shape = (self.starts[-1], len(self.columns))
        wrong = [field for field in empty.schema if not _is_number(field.type)]
        if wrong:
            others = ",".join(field.name for field in wrong[:8])
            raise DataError(
                f"{source}: column {wrong[0].name!r} holds {wrong[0].type}, but --engine dask reads only "
                "numbers.",
                f"Leave out such columns: --drop '{others}'",
            )
        self.dtype = np.result_type(np.float32, *(field.type.to_pandas_dtype() for field in empty.schema))

    def __getitem__(self, key: tuple[slice, slice]) -> npt.NDArray[Any]:
        first, last = key[0].start, key[0].stop
        results = []
        for place in range(bisect_right(self.starts, first) - 1, len(self.groups)):
            file, group, _ = self.groups[place]
            start = self.starts[place]
            if start >= last:
                break
            with opened_columns(self.paths[file]) as opened:
                table = opened.read_row_group(group, columns=self.columns, use_threads=False)
            columns = [table[name].to_numpy() for name in self.columns]
            results.append(np.stack(columns, axis=1, dtype=self.dtype)[max(first - start, 0) : last - start])
        return np.concatenate(results)[:: key[0].step, key[1]]

    def labels(self, name: str) -> npt.NDArray[Any]:
        """Return a column of any kind."""
        results = []
        for path in self.paths:
            with opened_columns(path) as opened:
                results.append(as_labels(opened.read([name], use_threads=False)[name]))
        return np.concatenate(results)


def in_chunks(asked: scan.Scan, expected: Expected | None = None) -> Table:
    """Return the part of a file that a scan chooses as a table in Dask's chunks, without reading it.

    Raises
    ------
    ParameterError
        For other formats, and for options that are not supported in chunks.
    MissingExtraError
        If Dask is not installed.
    FileError, DataError
        As the file's reader says.
    """
    with needs("cluster", "dask", "--engine dask"):
        import dask.array  # noqa: F401

    place, name = asked._place, readable(str(asked.path))
    kind = format_of(place.path).name if isinstance(place, Location) else ""
    if not isinstance(place, Location) or kind not in ("zarr", "parquet"):
        raise ParameterError(
            "--engine dask",
            allowed=f"reads .zarr and .parquet, but {name} is neither",
            hint="Leave out --engine, or save the data in one of these formats.",
        )
    for refused in REFUSED:
        if getattr(asked, refused):
            raise ParameterError(
                f"--{refused.replace('_', '-')}",
                allowed="is not supported with --engine dask, which takes --rows, --columns, --drop, "
                "--label, --weights, --labels-from and --transform",
                hint="Leave out one of them.",
            )
    # Workers may have another working directory.
    path, reading = place.path.resolve(), asked.options
    source = _zarr_source(path, place.key, name) if kind == "zarr" else _parquet_source(path, reading, name)
    table = choose.table_of(source, reading, expected=expected)
    how = reading.transform or (expected and expected.transform)
    if how:
        check_choice("transform", how, tuple(TRANSFORMED))
    origin = Origin(asked=(TRANSFORMED[how],), reading={"transform": how}) if how else Origin()
    values = DaskTable(_transformed(table, how) if how else table.values)
    table = replace(table, values=values, origin=origin)
    return table if asked._labels is None else metadata.with_labels(table, asked._labels, asked.rows, None)


def _zarr_source(path: Path, key: str | None, name: str) -> ArraySource:
    array, _, notes = array_of(Opened(name, path), key)
    stored = StoredZarr(path, array, sys.maxsize, name)
    values = _lazy(_Direct(stored), range(0, len(stored) + stored.step, stored.step))
    return ArraySource(name, stored.shape, stored.dtype, partial(rows_of, lambda: values), notes=notes)


def _parquet_source(path: Path, reading: ReadingOptions, name: str) -> ArraySource:
    paths = parquet_files(path) if path.is_dir() else [path]
    with opened_columns(paths[0]) as file:
        every = list(file.schema_arrow.names)
    aside = ReadingOptions(label=reading.label, weights=reading.weights)
    columns = [every[place] for place in parts.pick_columns(every, aside, name).values]
    n = _Groups(paths, every, [], name).shape[0]

    def read(rows: range, places: Sequence[int]) -> Any:
        groups = _Groups(paths, every, [columns[place] for place in places], name)
        return rows_of(lambda: _lazy(groups, groups.starts), rows)

    def label(_: str, column: str) -> npt.NDArray[Any]:
        return _Groups(paths, every, [], name).labels(column)

    return ArraySource(
        name,
        (n, len(columns)),
        np.dtype(np.float64),
        read,
        columns=tuple(columns),
        by_columns=True,
        set_aside=label if len(columns) < len(every) else None,
    )


def _lazy(whole: Any, ends: Sequence[int]) -> Any:
    """Return a sliceable array as a Dask array, whose chunks end where parts of the file do."""
    import dask.array as da

    chunks = _lengths(ends, whole), whole.shape[1]
    return da.from_array(whole, chunks, name=False, fancy=False, meta=np.empty((0, 0), whole.dtype))


def _transformed(table: Table, kind: Any) -> Any:
    """Return the numbers of a table in chunks transformed where the chunks are."""
    whole = table.values.rechunk({1: -1})
    # Names for messages: the rows themselves stay in their chunks.
    example = replace(table, values=np.ones((1, whole.shape[1])), labels=None, weights=None, metadata={})
    dtype = dtype_of_rows(whole.dtype)

    def of_chunk(values: Any, block_info: Any = None) -> Any:
        first = block_info[0]["array-location"][0][0] if block_info else 0
        return computed(values, kind, example, int(first))

    return whole.map_blocks(of_chunk, dtype=dtype, meta=np.empty((0, 0), dtype))


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Compute on the workers of a scheduler inside, or on threads of this process.

    Raises
    ------
    MissingExtraError
        If distributed is not installed.
    FileError
        If no scheduler answers at the address.
    """
    if address is None:
        yield
        return
    with needs("cluster", "distributed", "--scheduler"):
        from distributed import Client
    try:
        client = Client(address, timeout=ANSWER)
    except (OSError, ValueError, TypeError) as error:
        raise FileError(
            f"no Dask scheduler answers at {address}. Start one with: dask scheduler. Then give its "
            "address, as in tcp://HOST:8786, or leave out --scheduler."
        ) from error
    with client:
        yield


def _lengths(ends: Any, whole: Any) -> tuple[int, ...]:
    """Rows of chunks that are made of whole parts of the file: of some size, and enough for many workers."""
    n, d = whole.shape
    least = min(CHUNK_BYTES // (2 * d * whole.dtype.itemsize), -(-n // LEAST_CHUNKS))
    borders = [0]
    for end in ends:
        if min(end, n) - borders[-1] >= least:
            borders.append(min(end, n))
    return tuple(b - a for a, b in pairwise([*borders, n]) if b > a)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
