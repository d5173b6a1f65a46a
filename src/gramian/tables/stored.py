"""Rows that are read when their turn comes: of files, and what is picked or computed of these."""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core.arrays import dense, memory_limit_bytes, stacked
from gramian.core.checks import amount, counted, slices
from gramian.core.progress import Passes, track
from gramian.errors import FULL, DataError, FileError, MemoryLimitError, reason
from gramian.tables.memory import array_rows
from gramian.tables.rows import BLOCK_BYTES, Rows
from gramian.tables.source import bytes_of_rows, damage, dtype_of_rows, whole_within
from gramian.tables.table import RowsRequest, Table

FAR_APART = 16  # of rows with more than so many from one to the next each is read alone
# Bytes of a row that are read at a time when blocks of columns are: less makes the system read in vain.
LEAST_RUN = 4096
COLUMNS_AT_ONCE = 16 << 20  # bytes of a block of columns


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredRows(Rows):
    """Rows that are read when their turn comes; slices of it are arrays of the numbers as they are stored.

    A kind implements :attr:`shape` and :meth:`read`.

    Attributes
    ----------
    source : str
        What messages call it.
    stored : numpy.dtype
        Type of the numbers as they are read. ``dtype`` is that too in a Table, where it is not yet the type
        of results.
    note : str
        Where the numbers were copied to, for the user; "" where they were not.
    limit : int or None
        Bytes of working memory; a quarter of it may be taken by the whole table where that is needed.
        None in a Table, whose rows are not yet searched for NaN.
    finite : bool or None
        Whether there is neither NaN nor infinity, where that is known.
    resident_bytes : int
        Bytes of it that are kept in memory.
    cuts_columns : bool
        Whether some columns are read without the others.
    speed : float
        Bytes of the numbers that are read, and unpacked, in a second.
    passes : Passes
        Number of full passes so far.
    """

    source: str = ""
    stored: Any = None
    note: str = ""
    limit: int | None = None
    finite: bool | None = None
    resident_bytes: int = 0
    cuts_columns: bool = False
    speed: float = 1.5e9  # type: ignore[misc]
    borrowed: bool = False
    passes: Passes = field(default_factory=Passes)  # type: ignore[misc]
    ndim: ClassVar[int] = 2
    free_to_revisit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.stored is None:
            object.__setattr__(self, "stored", self.dtype)

    def read(self, rows: slice, columns: slice) -> Any:
        """Return the rows and columns from their ``start`` to their ``stop``, perhaps to be read only."""
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        """Return rows, or (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        n, d = self.shape
        return self.read(slice(*rows.indices(n)), slice(*columns.indices(d)))

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers as they are read."""
        return math.prod(self.shape) * int(self.stored.itemsize)

    @property
    def unchecked(self) -> bool:  # type: ignore[override]
        return self.limit is None

    @property
    def T(self) -> StoredRows:
        """The same numbers with rows and columns swapped.

        Raises
        ------
        MemoryLimitError
            For all but arrays in one piece.
        """
        why = (
            f"transpose=True reads columns, but {self.source} is too large for memory and is stored by rows."
        )
        raise MemoryLimitError(why, "Raise memory_limit, or save it as .npy, which is read by columns too.")

    @property
    def least_columns(self) -> int:
        size = self.stored.itemsize
        return int(max(LEAST_RUN // size, COLUMNS_AT_ONCE // (self.shape[0] * size)))

    def cut(self, rows: slice, columns: slice) -> Any:
        return np.asarray(self[rows, columns]).astype(self.dtype, copy=False)

    def at(self, indices: Any) -> Any:
        rows = [slice(row, row + 1) for row in np.asarray(indices).tolist()]
        return np.concatenate([self.cut(row, slice(None)) for row in rows])

    def take_columns(self, columns: npt.NDArray[np.intp]) -> Any:
        return self.mapped(lambda rows: rows.map(lambda block: block.values[:, columns]), len(columns))

    def derived(self, **changes: Any) -> DerivedRows:
        """Return rows that are computed from these when they are read."""
        attributes = {field.name: getattr(self, field.name) for field in fields(StoredRows)}
        return DerivedRows(**attributes | {"base": self, "shape": self.shape, "passes": Passes()} | changes)

    def picked(
        self, indices: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> StoredRows:
        """Return some rows, which rise, or some columns in the order given, without reading them."""
        n, d = self.shape
        every = indices is None or (isinstance(indices, range) and indices == range(n))
        if every and (columns is None or list(columns) == list(range(d))):
            return self
        changes: dict[str, Any] = {"row_names": None, "table": None, "rows": None if every else indices}
        if columns is not None:
            changes |= {"columns": np.asarray(columns), "speed": self.speed * len(columns) / d}
            changes |= {"cuts_columns": False, "picture_shape": None}
        shape = n if indices is None else len(indices), d if columns is None else len(columns)
        return self.derived(**changes, shape=shape)

    def filled(self, means: npt.NDArray[Any]) -> StoredRows:
        """Return the same numbers, with the column's one in place of NaN."""
        means = means.astype(self.stored)

        def without_nan(block: Any, rows: slice, columns: slice) -> Any:
            return np.where(np.isnan(block), means[columns], block)

        return self.derived(f=without_nan, finite=True)

    def converted(self, f: Callable[[Any], Any]) -> StoredRows:
        changes = {"stored": self.dtype, "note": "", "cuts_columns": False}
        return self.derived(f=lambda block, *_: f(block), **changes)

    def in_memory(self) -> Any:
        """Read the whole table, for those who truly need it.

        Raises
        ------
        MemoryLimitError
            If it takes more than a quarter of the working memory.
        """
        return self.whole(whole_within(self.limit or memory_limit_bytes(None)))

    def whole(self, most: int) -> Any:
        """Read the whole table if it takes at most so many bytes."""
        if self.stored_bytes > most:
            size, limit = amount(self.stored_bytes), amount(self.limit or memory_limit_bytes(None))
            what = f"This needs all {self.shape[0]:,} rows of {self.source} in memory ({size})"
            hint = "Raise GRAMIAN_MEMORY_LIMIT, or give fewer rows; PCA reads block by block."
            why = f"{what}, but a table may take {amount(most)} of the {limit} that may be used."
            raise MemoryLimitError(why, hint)
        return self.block(slice(None)).values


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivedRows(StoredRows):
    """Rows of other ones that are picked or computed when they are read.

    Attributes
    ----------
    base : StoredRows
    rows : sequence of int or None
        Those of the base, which rise; None for all.
    columns : ndarray of int or None
        Those of the base; None for all.
    f : callable or None
        Takes a block of these and its slices of rows and columns: of all columns unless ``cuts_columns``.
    """

    base: StoredRows
    shape: tuple[int, int] = (0, 0)
    rows: Any = None
    columns: npt.NDArray[np.intp] | None = None
    f: Callable[[Any, slice, slice], Any] | None = None

    def read(self, rows: slice, columns: slice) -> Any:
        every = slice(0, self.shape[1], 1)
        some = columns if self.cuts_columns else every
        inside = some if self.cuts_columns else slice(None)
        block = self.base[rows, inside] if self.rows is None else self._rows(self.rows[rows], inside)
        block = block if self.columns is None else block[:, self.columns]
        block = block if self.f is None else self.f(block, rows, some)
        return block if self.cuts_columns or columns == every else block[:, columns]

    def _rows(self, rows: Any, columns: slice) -> Any:
        some = np.asarray(rows)
        first, last = (int(some[0]), int(some[-1]) + 1) if len(some) else (0, 0)
        if last - first > FAR_APART * len(some):
            return stacked([self.base[row : row + 1, columns] for row in some.tolist()])
        result = self.base[first:last, columns]
        return result if last - first == len(some) else result[some - first]

    @property
    def T(self) -> StoredRows:
        return super().T if self.columns is not None or self.f else self.base.T.picked(columns=self.rows)


# ---- Contiguous arrays of files, read by positioned reads and never mapped


class OpenFile:
    """A file that is closed when nobody needs it any more.

    The system is told that it is read from its beginning to its end, and reads ahead while earlier rows are
    computed with.

    Parameters
    ----------
    file : Path or int
        Its path, or its descriptor where it is open already and perhaps has no name.
    """

    def __init__(self, file: Path | int) -> None:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
        self.number = file if isinstance(file, int) else os.open(file, flags)
        self.before = _state(self.number)
        with suppress(AttributeError, OSError):  # not every system takes advice
            os.posix_fadvise(self.number, 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def __del__(self) -> None:
        if "number" in vars(self):
            os.close(self.number)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy has a descriptor of its own
        return OpenFile, (Path(f"/proc/{os.getpid()}/fd/{self.number}"),)


@dataclass(frozen=True, eq=False, kw_only=True)
class FileRows(StoredRows):
    """Rows of one array in a file, read by positioned reads.

    Attributes
    ----------
    file : OpenFile
    kind : numpy.dtype
        In the file; arrays that are read have the machine's byte order.
    offset : int
        Where the first number is.
    fortran : bool
        Whether columns lie in one piece, not rows.
    stride : int
        Bytes from one row to the next where others lie between; 0 where they do not.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.arange(12.0).reshape(4, 3))
    >>> FileRows.of(OpenFile(path), "x.npy", (4, 3), "f8", path.stat().st_size - 96)[1:3, 1:2].tolist()
    [[4.0], [7.0]]
    """

    file: OpenFile
    kind: np.dtype[Any]
    shape: tuple[int, int] = (0, 0)
    offset: int = 0
    fortran: bool = False
    stride: int = 0
    cuts_columns: bool = True

    @classmethod
    def of(
        cls,
        file: OpenFile | Path,
        source: str,
        shape: tuple[int, ...],
        kind: npt.DTypeLike,
        offset: int = 0,
        **more: Any,
    ) -> FileRows:
        """Return the rows of an array of shape (n, d), or (n, height, width)."""
        with damage(source):
            file = file if isinstance(file, OpenFile) else OpenFile(file)
        pictures, kind = ((shape[1], shape[2]) if len(shape) == 3 else None), np.dtype(kind)
        sizes = int(shape[0]), math.prod(map(int, shape[1:]))
        more |= {"source": source, "shape": sizes, "picture_shape": pictures, "offset": offset}
        return cls(file=file, kind=kind, dtype=kind.newbyteorder("="), **more)

    @property
    def T(self) -> FileRows:
        return replace(self, shape=self.shape[::-1], fortran=not self.fortran, picture_shape=None)

    def picked(
        self, indices: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> StoredRows:
        if columns is not None or self.fortran or not isinstance(indices, range) or indices.step != 1:
            return super().picked(indices, columns)
        offset = self.offset + indices.start * (self.stride or self.shape[1] * self.kind.itemsize)
        return replace(self, shape=(len(indices), self.shape[1]), offset=offset)

    def read(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        shape = max(0, rows.stop - rows.start), max(0, columns.stop - columns.start)
        out = np.empty(shape, self.kind, order="F" if self.fortran else "C")
        with damage(self._block(rows)):
            if self.fortran:
                self._lines(out.T, columns.start, rows.start, self.shape[0], rows)
            else:
                self._lines(out, rows.start, columns.start, self.shape[1], rows)
        return out if self.kind.isnative else out.astype(self.stored)

    def _lines(self, out: npt.NDArray[Any], first: int, left: int, length: int, rows: slice) -> None:
        """Fill lines from the one numbered ``first``, from place ``left`` of each; lines have ``length``."""
        size = self.kind.itemsize
        stride = self.stride or length * size
        if out.size and out.shape[1] * size == stride:
            self._fill(out.reshape(-1), first * stride, rows)
            return
        for line, values in enumerate(out, first):
            self._fill(values, line * stride + left * size, rows)

    def _fill(self, values: npt.NDArray[Any], position: int, rows: slice) -> None:
        view, done = memoryview(values).cast("B"), 0  # type: ignore[arg-type]
        file = self.file.number
        while done < len(view):
            read = os.preadv(file, [view[done:]], self.offset + position + done)
            if not read:
                why = f"{self._block(rows)} are not there: the file was cut off while it was read."
                raise FileError(why, "Copy it again.")
            done += read
        if _state(file) != self.file.before:
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
        facts = name, mapped.shape, mapped.dtype, mapped.offset
        stored = FileRows.of(Path(name), *facts, fortran=fortran)
        if all(stored[row].tobytes() == np.asarray(mapped[row], stored.dtype).tobytes() for row in ends):
            return stored
    return mapped  # another file has that name by now


# ---- Arrays in chunks, read in bands of whole chunks, so that every chunk is unpacked once in a pass

BAND_BYTES = 8 << 20
GUNZIPPED = 2e8  # bytes a second
UNPACKED = 8e8  # bytes a second, of noise and of what packs well, by the default codec of Zarr
BANDS = 2  # that are cached: workers that go along the rows are in one or the next


class Cache:
    """The last bands that were read, and the open dataset."""

    def __init__(self, dataset: Any = None) -> None:
        self.dataset, self.lock = dataset, threading.Lock()
        self.bands: dict[int, npt.NDArray[Any]] = {}


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedRows(StoredRows):
    """Rows of a dataset of an HDF5 file, read in bands: rows of whole chunks, and the last ones are cached.

    Attributes
    ----------
    path : Path
    key : str
        The dataset in it.
    watched : Path
        File that must not change while rows are read, and its state ``before``.
    band : int
        Rows that are read at once.
    cache : Cache
    """

    path: Path
    key: str
    watched: Path
    before: tuple[int, int, int]
    band: int
    cache: Cache
    shape: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls, path: Path, dataset: Any, limit: int, source: str, watched: Path | None = None, **more: Any
    ) -> ChunkedRows:
        """Return the rows of a dataset of an open file; only its attributes are read.

        Raises
        ------
        MemoryLimitError
            If its chunks are so long that a band does not fit into ``limit`` bytes of working memory.
        """
        n, *others = dataset.shape
        shape, chunks = (n, math.prod(others)), dataset.chunks
        dtype = (np.dtype(np.uint8) if dataset.dtype.kind == "b" else dataset.dtype).newbyteorder("=")
        step, row = (chunks or (1,))[0], max(1, shape[1] * dtype.itemsize)
        target = min(BAND_BYTES, whole_within(limit) // (2 * BANDS + 2))
        band = min(n, step * max(1, target // (step * row)))
        resident = (BANDS + 1) * band * row
        if resident > whole_within(limit):
            what = f"{source} is stored in chunks of {' x '.join(map(str, chunks))}: reading a row takes"
            again = cls.rechunked(dataset.name, (max(1, target // row), *others))
            hint = f"Raise it, or write the file again in chunks of few rows: {again}"
            why = f"{what} {amount(band * row)}, but memory_limit leaves {amount(target)}."
            raise MemoryLimitError(why, hint)
        if getattr(dataset, "compression", None) == "gzip":
            more["speed"] = GUNZIPPED
        more = {"key": dataset.name, "cache": Cache(), "shape": shape, "dtype": dtype} | more
        more |= {"picture_shape": tuple(others) if len(others) == 2 else None, "resident_bytes": resident}
        watched = watched or path
        with damage(source):
            return cls(path=path, watched=watched, before=_state(watched), band=band, source=source, **more)

    @staticmethod
    def rechunked(key: str, chunks: tuple[int, ...]) -> str:
        """Return how to write a dataset again in such chunks."""
        return f"h5repack -l {key.strip('/')}:CHUNK={'x'.join(map(str, chunks))}"

    def read(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        """Return rows and columns, perhaps of a cached band, which are read-only."""
        start, stop = rows.start, rows.stop
        bands = range(start - start % self.band, stop, self.band)
        if len(bands) == 1:
            return self._band(bands[0])[start - bands[0] : stop - bands[0], columns]
        out = np.empty((stop - start, columns.stop - columns.start), self.stored)
        for first in bands:
            low, high = max(start, first), min(stop, first + self.band)
            out[low - start : high - start] = self._band(first)[low - first : high - first, columns]
        return out

    def _band(self, first: int) -> npt.NDArray[Any]:
        """Return the band that begins with a row."""
        with self.cache.lock:
            bands = self.cache.bands
            if first not in bands:
                while len(bands) >= BANDS:
                    del bands[next(iter(bands))]
                bands[first] = self.read_rows(first, min(first + self.band, self.shape[0]))
            return bands[first]

    def read_rows(self, first: int, last: int) -> npt.NDArray[Any]:
        """Read some rows, which are not cached."""
        where = f"{self.source}, rows {first:,} to {last - 1:,}"
        with damage(where):
            result = self.dataset()[first:last]
        with damage(self.source):
            if _state(self.watched) != self.before:
                raise FileError(f"{where}: the file was changed while it was read. Start again.")
        return np.asarray(result.reshape(last - first, self.shape[1]).astype(self.stored, copy=False))

    def dataset(self) -> Any:
        """Return the dataset, whose file this process opens once."""
        import h5py

        if self.cache.dataset is None:
            self.cache.dataset = h5py.File(self.path, "r")
        return self.cache.dataset[self.key]


def opened_rows(values: StoredRows, limit: int | None = None) -> StoredRows:
    """Return values of a table as rows that results are computed of, in so many bytes of memory."""
    dtype, limit = dtype_of_rows(values.stored), memory_limit_bytes(None) if limit is None else limit
    return replace(values, dtype=dtype, limit=limit, passes=Passes())


def require_rows(number: int, source: str, request: RowsRequest) -> None:
    """Raise a DataError for fewer rows than an estimator needs."""
    if number < request.minimum:
        what = f"{source} holds {counted(number, 'row')}, and a minimum of {request.minimum} is required by"
        raise DataError(f"{what} {request.estimator}.", "Give more rows.")


# ---- A spool: numbers that are slow to read again, written once to a file without a name

_DISK = "/var/tmp"


def rows_of_table(table: Table) -> Rows:
    """Return a table, stored or in memory, as rows with its names; NaN is not searched for."""
    is_stored, names = isinstance(table.values, StoredRows), table.row_names
    rows: Rows = opened_rows(table.values) if is_stored else array_rows(table.flat, RowsRequest())
    return replace(rows, table=table, feature_names=table.feature_names, row_names=names)


class Spool:
    """A table that grows block by block: in memory while it is small, else in a temporary file.

    The file has no name: it is gone with the process, however that ends.

    Parameters
    ----------
    source : str
        What is copied, for messages.
    needed : int
        Bytes that it will take, where that is known: a disk with less space raises at once.
    within : int or None
        Bytes up to which it stays in memory; None if all of it does.

    Examples
    --------
    >>> spool = Spool("an example")
    >>> for start in (0, 2):
    ...     spool.append(np.arange(start, start + 2.0)[:, None])
    >>> spool.rows()[1:3].tolist()
    [[1.0], [2.0]]
    """

    def __init__(self, source: str, needed: int = 0, *, within: int | None = 0) -> None:
        self.source, self.needed, self.within = source, needed, within
        self.n_rows, self.finite = 0, True
        self.dtype: np.dtype[Any] | None = None
        self.folder = spool_folder()
        self._width: tuple[int, ...] = ()
        self._waiting: list[npt.NDArray[Any]] = []
        self._file = None if within != 0 else self._nameless()

    @property
    def nbytes(self) -> int:
        """Bytes written so far."""
        return self.n_rows * int(np.prod(self._width)) * self.dtype.itemsize if self.dtype else 0

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add the next rows, (m, d) or pictures (m, height, width); a wider dtype widens the earlier rows.

        Raises
        ------
        FileError
            If the disk is full.
        """
        self._waiting.append(values)
        if self._file is None:
            if self.within is None or sum(block.nbytes for block in self._waiting) <= self.within:
                return
            self._file = self._nameless()
        for block in self._waiting:
            self._add(block)
        self._waiting.clear()

    def rows(self) -> Any:
        """Return all rows: in memory, or to be read block by block."""
        if self._file is None:
            return np.concatenate(self._waiting)
        shape = (self.n_rows, *self._width)
        file, dtype = OpenFile(os.dup(self._file.number)), self.dtype or np.dtype("f8")
        note = f"{amount(self.nbytes)} of numbers were written to a temporary file in {self.folder}"
        return FileRows.of(file, self.source, shape, dtype, finite=self.finite, note=note)

    def _nameless(self) -> OpenFile:
        try:
            free = shutil.disk_usage(self.folder).free
            if self.needed > free:
                raise OSError(errno.ENOSPC, f"it has {amount(free)} of room")
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                return OpenFile(os.dup(file.fileno()))
        except OSError as error:
            raise self._full(reason(error)) from error

    def _add(self, values: npt.NDArray[Any]) -> None:
        if self.dtype is None:
            self.dtype, self._width = values.dtype, values.shape[1:]
        wider = np.result_type(self.dtype, values.dtype)
        if wider != self.dtype:
            before, self.dtype, self.n_rows, self._file = self.rows(), wider, 0, self._nameless()
            for chunk in row_slices(before):
                self._add(before[chunk].reshape(-1, *self._width))
        values = np.ascontiguousarray(values, dtype=self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            self.finite = self.finite and bool(np.isfinite(values.sum(dtype=np.float64)))
        view = memoryview(values).cast("B") if values.size else memoryview(b"")  # type: ignore[arg-type]
        while view and self._file is not None:
            try:
                view = view[os.write(self._file.number, view) :]
            except OSError as error:
                if error.errno not in FULL:
                    raise
                raise self._full(f"{reason(error)} after {amount(self.nbytes)}") from error
        self.n_rows += len(values)

    def _full(self, why: str) -> FileError:
        needed = f" {amount(max(self.needed, self.nbytes))} are needed." if self.needed else ""
        what = f"{self.source} does not fit into memory, and its temporary copy does not fit into"
        hint = "Free some space there, set TMPDIR to a folder on a larger disk, or raise memory_limit."
        return FileError(f"{what} {self.folder}: {why}.{needed}", hint)


def columns_taken(values: Any, columns: Sequence[int]) -> Any:
    """Return some columns of a table, in memory or stored, in this order.

    Those of an array that is read directly are copied, so that no pass reads the others.
    """
    if not isinstance(values, StoredRows):
        return values[:, columns] if sparse.issparse(values) else np.take(values, columns, axis=1)
    picked = values.picked(columns=columns)
    if picked is values or not isinstance(values, FileRows):
        return picked
    spool = Spool(values.source, picked.nbytes)
    for chunk in track(row_slices(values), f"part of {values.source}"):
        spool.append(picked[chunk])
    return spool.rows()


def rows_taken(values: Any, rows: Sequence[int] | npt.NDArray[Any]) -> Any:
    """Return some rows of a table, in memory or stored; they rise."""
    return values.picked(rows) if isinstance(values, StoredRows) else values[rows]


def column_of(values: Any, column: int) -> npt.NDArray[Any]:
    """Return a column of a table, in memory or stored."""
    blocks = (values[rows, column : column + 1] for rows in row_slices(values))
    return np.concatenate([np.ravel(dense(block)) for block in blocks])


def row_slices(values: Any) -> list[slice]:
    """Cut a table into slices of rows of a few MB, by its shape alone."""
    n = values.shape[0]
    return slices(n, max(1, BLOCK_BYTES // max(1, 8 * int(np.prod(values.shape[1:])))))


def spool_folder() -> str:
    """Return the folder of temporary files: TMPDIR, or one that is on disk, where /tmp may be in memory."""
    on_disk = "TMPDIR" not in os.environ and os.access(_DISK, os.W_OK)
    return _DISK if on_disk else tempfile.gettempdir()
