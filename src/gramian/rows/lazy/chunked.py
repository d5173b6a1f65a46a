"""Arrays in chunks, read in bands of whole chunks, so that every chunk is unpacked once in a pass."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import amount
from gramian.errors import FileError, MemoryLimitError
from gramian.rows.archives import damage
from gramian.rows.lazy.array import LazyArray, whole_within

BAND_BYTES = 8 << 20
GUNZIPPED = 2e8  # bytes a second
UNPACKED = 8e8  # bytes a second, of noise and of what packs well, by the default codec of Zarr
BATCHES = 2  # that are cached: workers that go along the rows are in one or the next


class StoredDataset(LazyArray):
    """A dataset in chunks, read in bands: rows of whole chunks, and the last ones are cached.

    Parameters
    ----------
    path : Path
    dataset : h5py.Dataset
        Of an open file; only its attributes are read here.
    limit : int
        Bytes of working memory.
    source : str
        What it is called in messages.

    Raises
    ------
    MemoryLimitError
        If its chunks are so long that a batch does not fit.
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
        target = min(BAND_BYTES, whole_within(limit) // (2 * BATCHES + 2))
        self._batch = min(n, self.step * max(1, target // (self.step * row)))
        if getattr(dataset, "compression", None) == "gzip":
            self.speed = GUNZIPPED
        self.resident_bytes = (BATCHES + 1) * self._batch * row
        if self.resident_bytes > whole_within(limit):
            raise MemoryLimitError(
                f"{source} is stored in chunks of {' x '.join(map(str, dataset.chunks))}: reading a row "
                f"takes {amount(self._batch * row)}, but memory_limit leaves {amount(target)}. Raise it, or "
                f"write the file again in chunks of few rows: "
                f"{self._rechunked((max(1, target // row), *others))}"
            )
        self._before = self._state()
        self._cached: dict[int, npt.NDArray[Any]] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_opened")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _cached={})

    def cut(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        """Return rows and columns, perhaps of a cached batch, which are read-only."""
        start, stop = rows.start, rows.stop
        batches = range(start - start % self._batch, stop, self._batch)
        if len(batches) == 1:
            return self._read(batches[0])[start - batches[0] : stop - batches[0], columns]
        out = np.empty((stop - start, columns.stop - columns.start), self.dtype)
        for first in batches:
            low, high = max(start, first), min(stop, first + self._batch)
            out[low - start : high - start] = self._read(first)[low - first : high - first, columns]
        return out

    def _read(self, first: int) -> npt.NDArray[Any]:
        """Return the batch that begins with a row."""
        with self._lock:
            if first not in self._cached:
                while len(self._cached) >= BATCHES:
                    del self._cached[next(iter(self._cached))]
                self._cached[first] = self.read_rows(first, min(first + self._batch, self.shape[0]))
            return self._cached[first]

    def read_rows(self, first: int, last: int) -> npt.NDArray[Any]:
        """Read some rows, which are not cached."""
        where = f"{self.source}, rows {first:,} to {last - 1:,}"
        with damage(where):
            result = self._dataset()[first:last]
        if self._state() != self._before:
            raise FileError(f"{where}: the file was changed while it was read. Start again.")
        return np.asarray(result.reshape(last - first, self.shape[1]).astype(self.dtype, copy=False))

    def _dataset(self) -> Any:
        import h5py

        if not hasattr(self, "_opened"):
            self._opened = h5py.File(self.path, "r")
        return self._opened[self.key]

    def _rechunked(self, chunks: tuple[int, ...]) -> str:
        return f"h5repack -l {self.key.strip('/')}:CHUNK={'x'.join(map(str, chunks))}"

    def _state(self) -> tuple[int, int, int]:
        with damage(self.source):
            status = os.stat(self._path)
        return status.st_ino, status.st_size, status.st_mtime_ns
