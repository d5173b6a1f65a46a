"""Datasets of HDF5 files, whole, and block by block where every chunk is read once in a pass."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.checks import amount, slices
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError, needs
from gramian.rows.archives import Header, Use, damage, pick_array, pick_key
from gramian.rows.kinds.array import bytes_of_rows
from gramian.rows.lazy.stored import OnDisk, StoredArray, whole_within
from gramian.rows.table import Choice, Table, pick_rows, table_from_array


@contextmanager
def opened_hdf5(file: IO[bytes], source: str) -> Iterator[Any]:
    """Open an HDF5 file, and say what is wrong with one that cannot be read.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    MissingExtraError
        If h5py is not installed.
    """
    with needs("hdf5", "h5py", "reading HDF5 files"):
        import h5py
    with damage(source), h5py.File(file, "r") as opened:
        yield opened


def read_hdf5(
    file: IO[bytes], key: str | None, source: str, use: Use = "table"
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read one dataset of an HDF5 file; the others are not touched.

    Parameters
    ----------
    file : binary file
    key : str or None
        Its path in the file; None takes the only one that can be what is wanted, and says so in a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    array : ndarray
    notes : tuple of str

    Raises
    ------
    FileError, MissingExtraError
        As :func:`opened_hdf5`.
    DataError
        If the key is unknown or missing, or its array cannot be what is wanted.
    """
    with opened_hdf5(file, source) as opened:
        return pick_array(datasets_in(opened), lambda name: header_of(opened[name]), key, source, use)


def datasets_in(group: Any) -> list[str]:
    """List the paths of all datasets in a group and below."""
    names: list[str] = []

    def note(name: str, found: Any) -> None:
        if hasattr(found, "dtype"):
            names.append(name)

    group.visititems(note)
    return names


def refuse_elsewhere(dataset: Any) -> None:
    """Refuse a dataset with numbers in other files: what came from elsewhere could name any of this machine.

    Raises
    ------
    DataError
    """
    if dataset.external or dataset.is_virtual:
        raise DataError(
            f"{dataset.name} keeps its numbers in other files, which are not read. Copy all into one."
        )


def member(group: Any, name: str) -> Any:
    """Return a group or dataset that is stored in a group itself.

    Raises
    ------
    KeyError
        If there is no such member.
    DataError
        If it is a link, or a dataset whose numbers are in other files.
    """
    from h5py import HardLink

    for part in name.strip("/").split("/"):
        link = group.get(part, getlink=True)
        if link is None:
            raise KeyError(f"{group.name} has no {part}")
        if not isinstance(link, HardLink):
            raise DataError(
                f"{part!r} in {group.name} is a link, which is not followed. Copy all into one file."
            )
        group = group[part]
    if hasattr(group, "dtype"):
        refuse_elsewhere(group)
    return group


def header_of(dataset: Any, reverse: bool = False) -> Header:
    """Describe a dataset; ``reverse`` reverses its axes, as MATLAB writes them."""
    from h5py import check_string_dtype

    text = check_string_dtype(dataset.dtype) is not None
    plain = np.dtype("V") if dataset.dtype.hasobject else dataset.dtype

    def read() -> npt.NDArray[Any]:
        refuse_elsewhere(dataset)
        array = dataset.asstr()[()].astype(np.str_) if text else dataset[()]
        return np.asarray(array.T if reverse else array)

    shape = tuple(dataset.shape or ())
    return Header(shape[::-1] if reverse else shape, np.dtype(np.str_) if text else plain, read)


# -------------------------------------------------------- block by block

BAND_BYTES = 8 << 20
NEAR = 16  # of rows that are this many apart HDF5 takes longer to pick some than to read all
READ_WHOLE = 64 << 20  # bytes up to which a dataset is read whatever is wanted of it
GUNZIPPED = 2e8  # bytes a second
BANDS = 2  # that are kept: workers that go along the rows are in one or the next


class StoredDataset(OnDisk):
    """A dataset in chunks, read in bands: rows of whole chunks, of which the last ones are kept.

    Parameters
    ----------
    path : Path
    dataset : h5py.Dataset
        Of an open file; only what it says about itself is looked at.
    limit : int
        Bytes of working memory.
    source : str
        What it is called in messages.

    Raises
    ------
    MemoryLimitError
        If its chunks are so long that a band does not fit.
    """

    def __init__(self, path: Path, dataset: Any, limit: int, source: str) -> None:
        self.path = self._path = Path(path)
        self.key, self.source = dataset.name, source
        n, *others = dataset.shape
        self.picture_shape = (others[0], others[1]) if len(others) == 2 else None
        self.shape = (n, int(np.prod(others)))
        kind = np.dtype(np.uint8) if dataset.dtype.kind == "b" else dataset.dtype
        self.dtype = kind.newbyteorder("=")
        self.step, row = (dataset.chunks or (1,))[0], max(1, self.shape[1] * self.dtype.itemsize)
        target = min(BAND_BYTES, whole_within(limit) // (2 * BANDS + 2))
        self._band = min(n, self.step * max(1, target // (self.step * row)))
        if getattr(dataset, "compression", None) == "gzip":
            self.speed = GUNZIPPED
        self.held = (BANDS + 1) * self._band * row
        if self.held > whole_within(limit):
            raise MemoryLimitError(
                f"{source} is kept in chunks of {' x '.join(map(str, dataset.chunks))}: reading a row takes "
                f"{amount(self._band * row)}, and {amount(target)} fit into memory_limit. Raise it, or write "
                f"the file again in chunks of few rows: {self._rechunked((max(1, target // row), *others))}"
            )
        self._before = self._state()
        self._kept: dict[int, npt.NDArray[Any]] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_opened")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _kept={})

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return rows, or (rows, columns), of slices with a step of 1: to be read only, perhaps of a band."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        start, stop, _ = rows.indices(self.shape[0])
        parts = []
        for first in range(start - start % self._band, stop, self._band):
            band = self._read(first)
            parts.append(band[max(start - first, 0) : stop - first, columns])
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty((0, self.shape[1]))])

    def _read(self, first: int) -> npt.NDArray[Any]:
        """Return the band that begins with a row."""
        with self._lock:
            if first not in self._kept:
                while len(self._kept) >= BANDS:
                    del self._kept[next(iter(self._kept))]
                self._kept[first] = self._made(first, min(first + self._band, self.shape[0]))
            return self._kept[first]

    def _made(self, first: int, last: int) -> npt.NDArray[Any]:
        where = f"{self.source}, rows {first:,} to {last - 1:,}"
        try:
            found = self._dataset()[first:last]
        except (GramianError, MemoryError):
            raise
        except Exception as error:  # h5py meets damaged bytes with whatever its filters raise
            detail = str(error).split("\n")[0]
            raise FileError(f"{where} cannot be read: the file is damaged or cut off ({detail}).") from error
        if self._state() != self._before:
            raise FileError(f"{where}: the file was changed while it was read. Start again.")
        return np.asarray(found.reshape(last - first, self.shape[1]).astype(self.dtype, copy=False))

    def _dataset(self) -> Any:
        import h5py

        if not hasattr(self, "_opened"):
            self._opened = h5py.File(self.path, "r")
        return self._opened[self.key]

    def _rechunked(self, chunks: tuple[int, ...]) -> str:
        return f"h5repack -l {self.key.strip('/')}:CHUNK={'x'.join(map(str, chunks))}"

    def _state(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise FileError(f"{self.source} cannot be read any more: it was moved or deleted.") from error
        return found.st_ino, found.st_size, found.st_mtime_ns


def stored_hdf5(
    path: Path, key: str | None, choice: Choice, limit: int, source: str
) -> tuple[OnDisk | Table | None, tuple[str, ...]]:
    """Return one dataset of an HDF5 file to be read block by block, None where it is small; and notes.

    It is a table where some rows are asked for, which fit into memory: only these are read.

    Raises
    ------
    FileError, MissingExtraError, DataError
        As of :func:`read_hdf5`.
    """
    with path.open("rb") as file, opened_hdf5(file, source) as opened:
        key, notes = pick_key(datasets_in(opened), lambda name: header_of(opened[name]), key, source)
        about = header_of(opened[key])
        most = min(whole_within(limit), READ_WHOLE if choice.rows else sys.maxsize)
        if bytes_of_rows(about.shape, about.dtype) <= most:
            return None, notes
        rows = pick_rows(about.shape[0], choice.rows, source)
        if bytes_of_rows((len(rows), *about.shape[1:]), about.dtype) > whole_within(limit):
            return stored_dataset(path, opened[key], limit, source), notes
        taken = table_from_array(_taken(opened[key], rows), replace(choice, rows=None), source)
        return replace(taken, notes=(*notes, *taken.notes), row_numbers=rows), ()


def _taken(dataset: Any, rows: range) -> npt.NDArray[Any]:
    """Read some rows: alone where they are far apart, with those between them where they are near."""
    refuse_elsewhere(dataset)
    if rows.step > NEAR:
        return np.asarray(dataset[rows.start : rows.stop : rows.step])
    found = np.empty((len(rows), *dataset.shape[1:]), dataset.dtype)
    each = max(1, BAND_BYTES // max(1, found.itemsize * found[0].size * rows.step))
    for some in slices(len(rows), each):
        part = rows[some]
        found[some] = dataset[part.start : part.stop][:: part.step]
    return found


def stored_dataset(path: Path, dataset: Any, limit: int, source: str) -> StoredArray | StoredDataset:
    """Return the numbers of a dataset to be read block by block: by place where they lie in one piece."""
    refuse_elsewhere(dataset)
    offset = None if dataset.chunks or dataset.file.userblock_size else dataset.id.get_offset()
    if offset is None or dataset.dtype.kind == "b":
        return StoredDataset(path, dataset, limit, source)
    return StoredArray(path, offset, dataset.shape, dataset.dtype, source=source)
