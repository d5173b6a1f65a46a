"""Numbers in files that are read where they are sliced: arrays, chunks, sparse rows, and parts of such."""

from __future__ import annotations

import math
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.arrays import stacked
from gramian.checks import amount
from gramian.errors import FileError, MemoryLimitError, option
from gramian.io.source import bytes_of_rows, damage, whole_within

FAR_APART = 16  # of rows with more than so many from one to the next each is read alone


class LazyArray:
    """Numbers in a file that are read where this is sliced: it has a shape and a dtype like an array.

    Attributes
    ----------
    note : str
        Where the numbers were copied to, for the user; "" where they were not.
    resident_bytes : int
        Bytes of it that are kept in memory.
    reads_columns : bool
        Whether some columns are read without the others.
    speed : float
        Bytes of the numbers that are read, and unpacked, in a second.
    finite : bool or None
        Whether there is neither NaN nor infinity, where that is known.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    picture_shape: tuple[int, int] | None = None
    path: Path | None = None
    source: str = ""
    note: str = ""
    ndim = 2
    resident_bytes: int = 0
    finite: bool | None = None
    reads_columns: bool = False
    speed: float = 1.5e9

    def __getitem__(self, key: Any) -> Any:
        """Return rows, or (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        n, d = self.shape
        return self.cut(slice(*rows.indices(n)), slice(*columns.indices(d)))

    def cut(self, rows: slice, columns: slice) -> Any:
        """Read the rows and columns from their ``start`` to their ``stop``, perhaps to be read only."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers as they are read."""
        return math.prod(self.shape) * self.dtype.itemsize

    def picked(
        self, rows: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> LazyArray:
        """Return some rows, which rise, or some columns in the order given, without reading them."""
        n, d = self.shape
        everything = rows is None or (isinstance(rows, range) and rows == range(n))
        whole = everything and (columns is None or list(columns) == list(range(d)))
        return self if whole else Picked(self, range(n) if rows is None else rows, columns)

    def filled(self, means: npt.NDArray[Any]) -> LazyArray:
        """Return the same numbers, with the column's one in place of NaN."""
        return Picked(self, range(len(self)), None, means.astype(self.dtype))

    @property
    def T(self) -> LazyArray:
        """The same numbers with rows and columns swapped.

        Raises
        ------
        MemoryLimitError
            For all but arrays in one piece.
        """
        raise MemoryLimitError(
            f"{option('transpose', True)} reads columns, but {self.source} is too large for memory and is "
            f"stored by rows. Raise {option('memory_limit')}, or save it as .npy, which is read by columns "
            "too."
        )


class Derived(LazyArray):
    """Numbers that are computed from another array in a file when they are read."""

    def __init__(self, base: LazyArray, shape: tuple[int, int]) -> None:
        self.base, self.shape, self.dtype = base, shape, base.dtype
        self.path, self.source, self.note = base.path, base.source, base.note
        self.resident_bytes, self.finite = base.resident_bytes, base.finite


class Picked(Derived):
    """Some rows and columns of an array in a file."""

    def __init__(
        self,
        base: LazyArray,
        rows: Sequence[int] | npt.NDArray[Any],
        columns: Sequence[int] | None,
        fill: npt.NDArray[Any] | None = None,
    ) -> None:
        super().__init__(base, (len(rows), base.shape[1] if columns is None else len(columns)))
        self.rows, self.fill = rows, fill
        self.columns = None if columns is None else np.asarray(columns)
        self.picture_shape = base.picture_shape if columns is None else None
        self.finite = True if fill is not None else base.finite
        self.reads_columns = base.reads_columns and columns is None
        self.speed = base.speed * self.shape[1] / base.shape[1]

    def cut(self, rows: slice, columns: slice) -> Any:
        some = np.asarray(self.rows[rows])
        if not self.reads_columns:
            result = self._rows_of_base(some, slice(None))
            result = (result if self.columns is None else result[:, self.columns])[:, columns]
        else:
            result = self._rows_of_base(some, columns)
        return result if self.fill is None else np.where(np.isnan(result), self.fill[columns], result)

    def _rows_of_base(self, some: npt.NDArray[Any], columns: slice) -> Any:
        first, last = (int(some[0]), int(some[-1]) + 1) if len(some) else (0, 0)
        if last - first > FAR_APART * len(some):
            return stacked([self.base[row : row + 1, columns] for row in some.tolist()])
        result = self.base[first:last, columns]
        return result if last - first == len(some) else result[some - first]

    @property
    def T(self) -> LazyArray:
        """The same numbers with rows and columns swapped; raises as that of the array itself."""
        rows: Any = self.rows
        return super().T if self.columns is not None else self.base.T.picked(columns=rows)

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where each row begins, of sparse rows."""
        lengths = np.diff(self.base.indptr)[np.asarray(self.rows)]  # type: ignore[attr-defined]
        return np.concatenate([[0], np.cumsum(lengths)])


class Converted(Derived):
    """Numbers that are a function of the rows of an array in a file."""

    def __init__(self, base: LazyArray, f: Callable[[Any], Any], dtype: np.dtype[Any]) -> None:
        super().__init__(base, base.shape)
        self.f, self.dtype, self.picture_shape, self.speed = f, dtype, base.picture_shape, base.speed

    def cut(self, rows: slice, columns: slice) -> Any:
        return self.f(self.base[rows])[:, columns]


# ---- Contiguous arrays of files, read by positioned reads and never mapped


class OpenFile:
    """A file that is closed when nobody needs it any more; other processes of the machine open it again.

    The system is told that it is read from its beginning to its end, and reads ahead while earlier rows are
    computed with.

    Parameters
    ----------
    path : Path or str
    number : int, optional
        Its descriptor, where it is open already and perhaps has no name.
    """

    def __init__(self, path: Path | str, number: int | None = None) -> None:
        self.path = path
        self.number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)) if number is None else number
        self.before = _state(self.number)
        with suppress(AttributeError, OSError):  # not every system takes advice
            os.posix_fadvise(self.number, 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def __del__(self) -> None:
        if "number" in vars(self):
            os.close(self.number)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenFile, (self.path or f"/proc/{os.getpid()}/fd/{self.number}",)


class StoredArray(LazyArray):
    """The numbers of one array in a file, read by positioned reads when they are sliced.

    Parameters
    ----------
    path : Path or None
        The file that numbers come from, if they come from one.
    offset : int
        Where the first number is.
    shape : tuple of int
        (n, d), or (n, height, width).
    dtype : numpy.dtype
        As stored; arrays that are read have the machine's byte order.
    fortran : bool
        Whether columns lie in one piece, not rows.
    source : str
        What the file is called in messages.
    file : OpenFile, optional
        Where the numbers are, if that is not the path.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.arange(12.0).reshape(4, 3))
    >>> stored = StoredArray(path, path.stat().st_size - 96, (4, 3), np.dtype("f8"))
    >>> stored[1:3, 1:2].tolist()
    [[4.0], [7.0]]
    """

    reads_columns = True

    def __init__(
        self,
        path: Path | None,
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        fortran: bool = False,
        source: str = "",
        file: OpenFile | None = None,
    ) -> None:
        self.path, self.offset, self.fortran = path, offset, fortran
        self.source = source or str(path)
        self.picture_shape = (shape[1], shape[2]) if len(shape) == 3 else None
        self.shape = (int(shape[0]), int(np.prod(shape[1:])))
        self._stored = np.dtype(dtype)
        self.dtype = self._stored.newbyteorder("=")
        with damage(self.source):
            self._file = file or OpenFile(path or "")

    def _like(self, **other: Any) -> StoredArray:
        like = copy(self)
        vars(like).update(other)
        return like

    @property
    def T(self) -> StoredArray:
        """The same numbers with rows and columns swapped."""
        return self._like(shape=self.shape[::-1], fortran=not self.fortran, picture_shape=None)

    def picked(
        self, rows: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> LazyArray:
        """Return some rows, which rise, or some columns in the order given, without reading them."""
        if columns is not None or self.fortran or not isinstance(rows, range) or rows.step != 1:
            return super().picked(rows, columns)
        start = self.offset + rows.start * self.shape[1] * self.dtype.itemsize
        return self._like(shape=(len(rows), self.shape[1]), offset=start)

    def cut(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        """Return a new array of rows and columns."""
        shape = max(0, rows.stop - rows.start), max(0, columns.stop - columns.start)
        out = np.empty(shape, self._stored, order="F" if self.fortran else "C")
        with damage(self._block(rows)):
            if self.fortran:
                self._read(out.T, columns.start, rows.start, self.shape[0], rows)
            else:
                self._read(out, rows.start, columns.start, self.shape[1], rows)
        return out if self._stored.isnative else out.astype(self.dtype)

    def _read(self, out: npt.NDArray[Any], first: int, left: int, length: int, rows: slice) -> None:
        """Fill lines from the one numbered ``first``, from place ``left`` of each; lines have ``length``."""
        size = self._stored.itemsize
        if out.size and out.shape[1] == length:
            self._fill(out.reshape(-1), (first * length) * size, rows)
            return
        for line, values in enumerate(out, first):
            self._fill(values, (line * length + left) * size, rows)

    def _fill(self, values: npt.NDArray[Any], place: int, rows: slice) -> None:
        view, done = memoryview(values).cast("B"), 0  # type: ignore[arg-type]
        file = self._file.number
        while done < len(view):
            read = os.preadv(file, [view[done:]], self.offset + place + done)
            if not read:
                raise FileError(
                    f"{self._block(rows)} are not there: the file was cut off while it was read. "
                    "Copy it again."
                )
            done += read
        if _state(file) != self._file.before:
            raise FileError(f"{self._block(rows)}: the file was changed while it was read. Start again.")

    def _block(self, rows: slice) -> str:
        return f"{self.source}, rows {rows.start:,} to {rows.stop - 1:,}"


def _state(file: int | Path) -> tuple[int, int, int]:
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns


def stored_map(mapped: np.memmap[Any, Any], most: int) -> Any:
    """Return the file behind a map of rows of more than so many bytes, or the map where that is not sure.

    What is written through the map is seen in the file at once, but not through a private copy; and of a
    part of a map nothing says where in the file it is.
    """
    name = mapped.filename
    whole = isinstance(mapped.base, mmap.mmap) and mapped.mode in ("r", "r+", "w+")
    plain = mapped.flags.c_contiguous or (mapped.flags.f_contiguous and mapped.ndim == 2)
    if not (whole and plain and name) or mapped.ndim not in (2, 3) or mapped.dtype.kind not in "uif":
        return mapped
    if bytes_of_rows(mapped.shape, mapped.dtype) <= most or not mapped.size:
        return mapped
    fortran = not mapped.flags.c_contiguous
    ends = (slice(0, 1), slice(len(mapped) - 1, len(mapped)))
    with suppress(FileError):
        stored = StoredArray(Path(name), mapped.offset, mapped.shape, mapped.dtype, fortran=fortran)
        if all(stored[row].tobytes() == np.asarray(mapped[row], stored.dtype).tobytes() for row in ends):
            return stored
    return mapped  # another file has that name by now


# ---- Arrays in chunks, read in bands of whole chunks, so that every chunk is unpacked once in a pass

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
                f"takes {amount(self._batch * row)}, but {option('memory_limit')} leaves {amount(target)}. "
                "Raise it, or write the file again in chunks of few rows: "
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
            return _state(self._path)


# -------------------------- Sparse matrices in files, in compressed rows

ENTRY = 12  # bytes of a number and its column in memory


def refuse_by_columns(form: str, entries: int, limit: int, source: str, way_out: str) -> None:
    """Raise for a matrix that is not stored by rows, which would have to be read as a whole.

    Raises
    ------
    MemoryLimitError
    """
    if form != "csr":
        raise MemoryLimitError(
            f"{source} holds a sparse matrix in {form.upper()} format, so reading rows needs all of its "
            f"{amount(ENTRY * entries)}, but a table may take at most {amount(whole_within(limit))}. Write "
            f"it by rows, {way_out}, or raise {option('memory_limit')}."
        )


@dataclass(frozen=True, eq=False)
class StoredSparse(LazyArray):
    """A matrix in compressed rows whose numbers are in a file.

    Attributes
    ----------
    shape : (n, d)
    indptr : ndarray of int64, shape (n + 1,)
        Where each row begins.
    indices, data : StoredArray, or another array that is read when it is sliced
        Columns and numbers of the entries, one below the other.
    source, note : str

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> StoredSparse(X.shape, X.indptr, X.indices, X.data, "memory")[1:2].toarray()
    array([[1., 0.]])
    """

    shape: tuple[int, int]
    indptr: npt.NDArray[Any]
    indices: Any
    data: Any
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.data.dtype))
        resident_bytes = sum(getattr(part, "resident_bytes", 0) for part in (self.data, self.indices))
        object.__setattr__(self, "resident_bytes", resident_bytes + self.indptr.nbytes)
        ends, lengths = self.indptr[[0, -1]].tolist() if self.indptr.size else [], np.diff(self.indptr)
        if (
            self.indptr.shape != (self.shape[0] + 1,)
            or ends != [0, len(self.data)]
            or len(self.data) != len(self.indices)
            or lengths.min(initial=0) < 0
        ):
            raise FileError(f"{self.source} is damaged: its indptr does not fit its data. Write it again.")

    def cut(self, rows: slice, columns: slice) -> sparse.csr_matrix:
        """Return consecutive rows in float64."""
        first, last = self.indptr[[rows.start, rows.stop]].tolist()
        data, indices = (np.ravel(part[first:last]) for part in (self.data, self.indices))
        indices = indices.astype(np.int32 if self.shape[1] < 2**31 else np.int64, copy=False)
        if indices.size and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            wrong = indices.min() if indices.min() < 0 else indices.max()
            raise FileError(
                f"{self.source}, rows {rows.start:,} to {rows.stop - 1:,}: it is damaged, an entry is in "
                f"column {wrong} of {self.shape[1]:,}. Write it again."
            )
        starts = self.indptr[rows.start : rows.stop + 1] - first
        made = (data.astype(np.float64, copy=False), indices, starts.astype(indices.dtype))
        result = sparse.csr_matrix(made, shape=(rows.stop - rows.start, self.shape[1]))
        return result if columns == slice(0, self.shape[1], 1) else result[:, columns]
