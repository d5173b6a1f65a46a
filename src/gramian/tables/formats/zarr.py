"""Arrays of Zarr stores, folders of chunks or .zip files of such, read block by block.

Every chunk is read once in a pass.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.atomic import as_file_error, temporary_beside
from gramian.errors import DataError, FileError, needs
from gramian.tables.names import METADATA
from gramian.tables.source import ArraySource, Header, Opened, damage, grid_axes, pick_array, require_room
from gramian.tables.stored import UNPACKED, Cache, ChunkedRows

WRITTEN = 8 << 20  # bytes of a chunk that is written


class ZarrRows(ChunkedRows):
    """Rows of an array of a Zarr store, read in bands as those of HDF5 files are.

    A missing chunk raises a FileError: an incomplete copy would be read as zeros.
    """

    def read_rows(self, first: int, last: int) -> npt.NDArray[Any]:
        array, store = self.dataset(), self.path
        folder: Any = (zipfile.Path(store) if store.is_file() else store) / self.key
        grid = array.shards or array.chunks
        rows = range(first // grid[0], -(-last // grid[0]))
        others = (range(-(-size // each)) for size, each in zip(array.shape[1:], grid[1:], strict=True))
        for index in product(rows, *others):
            chunk = array.metadata.encode_chunk_key(index)
            if not (folder / chunk).exists():
                start = index[0] * grid[0]
                stop = min(start + grid[0], len(self))
                why = f"{self.source}, rows {start:,} to {stop - 1:,}: the chunk {chunk} is not there"
                write = 'write the chunk out: zarr.config.set({"array.write_empty_chunks": True}).'
                hint = f"Create or copy it again. If all its entries are {array.fill_value}, {write}"
                raise FileError(f"{why}; the store may be incomplete.", hint)
        return super().read_rows(first, last)

    def dataset(self) -> Any:
        if self.cache.dataset is None:
            store = opened_zarr(self.path, self.source)
            self.cache.dataset = store[self.key] if self.key else store
        return self.cache.dataset

    @staticmethod
    def rechunked(key: str, chunks: tuple[int, ...]) -> str:
        return f"zarr.create_array(..., data=array, chunks={chunks})"


def opened_zarr(path: Path, source: str) -> Any:
    """Open a store.

    Raises
    ------
    FileError
        If it is damaged or not a store.
    MissingExtraError
        If zarr is not installed.
    """
    zarr = require_zarr("reading Zarr stores")
    with damage(source):
        return zarr.open(zarr.storage.ZipStore(path, mode="r") if path.is_file() else path, mode="r")


def require_zarr(purpose: str) -> Any:
    """Return the module.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    with needs("cluster", "zarr", purpose):
        import zarr
    return zarr


def write_zarr(path: Path, blocks: Iterable[npt.NDArray[Any]], rows: int) -> None:
    """Write rows block by block to an array that appears under its name when all of them are there.

    Raises
    ------
    FileError
        If it cannot be written there.
    """
    with as_file_error(path), temporary_beside(path, folder=True) as temporary:
        array, start = None, 0
        for block in blocks:
            width = block.shape[1]
            if array is None:
                array = require_zarr("writing Zarr stores").create_array(
                    temporary,
                    shape=(rows, width),
                    chunks=(min(rows, max(1, WRITTEN // (width * block.itemsize))), width),
                    dtype=block.dtype,
                    config={"write_empty_chunks": True},
                )
            array[start : start + len(block)] = block
            start += len(block)
        os.rename(temporary, path)


def open_zarr(opened: Opened, key: str | None) -> ArraySource:
    """Return one array of a store, without reading its chunks.

    Raises
    ------
    FileError, MissingExtraError
        As :func:`opened_zarr`.
    DataError
        If the key is unknown or missing, or its array cannot be a table.
    """
    path, name = opened.path, opened.name
    if path is None:
        raise FileError(f"{name} is a Zarr store in a stream, which is not supported.", "Save it to a file.")
    store = opened_zarr(path, name)
    alone = hasattr(store, "chunks")
    members = [(path.stem, store)] if alone else list(store.members(max_depth=None))
    arrays = {member: array for member, array in members if hasattr(array, "chunks")}
    key, header, notes = pick_array(sorted(arrays), lambda member: header_of(arrays[member]), key, name)
    array = arrays[key]

    def read() -> npt.NDArray[Any]:
        require_room(header, name)
        return np.asarray(lazy(sys.maxsize)[:].reshape(header.shape))

    def lazy(limit: int) -> ChunkedRows:
        metadata = map((path / array.path).joinpath, METADATA)
        watched = path if path.is_file() else next(filter(Path.is_file, metadata))
        more = {"key": array.path, "cache": Cache(array), "speed": UNPACKED}
        return ZarrRows.of(path, array, limit, name, watched, **more)

    # As xarray writes them: in the third version of the format, or before it.
    dims = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    folder = key.rpartition("/")[0]
    near = {str(dim): arrays.get(f"{folder}/{dim}".lstrip("/")) for dim in dims}
    axes = [(dim, None if stored is None else header_of(stored)) for dim, stored in near.items()]
    more: dict[str, Any] = {"lazy": lazy, "axes": grid_axes(header.shape, axes)}
    return ArraySource.of(replace(header, read=read), name, () if alone else notes, **more)


def header_of(array: Any) -> Header:
    """Describe an array."""
    filters = (*(getattr(array.metadata, "filters", None) or ()), getattr(array.metadata, "compressor", None))
    if any(getattr(codec, "codec_id", "") == "pickle" for codec in filters):
        why = f"{array.name} is stored as pickle, which is not supported because reading it can run code."
        raise DataError(why, "Write it again as numbers.")
    plain = array.dtype if array.dtype.kind in "buifc" else np.dtype(np.str_)
    return Header(array.shape, plain, lambda: np.asarray(array[...]))
