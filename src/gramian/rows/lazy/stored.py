"""Arrays in files that are read block by block: never mapped, never whole unless that is asked for."""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount, evenly
from gramian.errors import FileError, MemoryLimitError, reason
from gramian.rows.kinds.array import bytes_of_rows, dtype_of_rows
from gramian.rows.rows import Rows
from gramian.store import Passes

# Bytes of a row that are read at a time when blocks of columns are: less makes the system read in vain.
LEAST_RUN = 4096
COLUMNS_AT_ONCE = 16 << 20  # bytes of a block of columns
IN_A_ROW, AHEAD = 1 << 18, 32 << 20  # bytes of a read from which on others follow it, and how far ahead
ROWS_COMPARED = 32  # by which data is known again


class OnDisk:
    """Numbers in a file that are read where this is sliced: it has a shape and a dtype like an array.

    Attributes
    ----------
    held : int
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
    ndim = 2
    held: int = 0
    finite: bool | None = None
    reads_columns: bool = False
    speed: float = 1.5e9

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def picked(
        self, rows: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> OnDisk:
        """Return some rows, which rise, or some columns in the order given, without reading them."""
        n, d = self.shape
        everything = rows is None or (isinstance(rows, range) and rows == range(n))
        whole = everything and (columns is None or list(columns) == list(range(d)))
        return self if whole else Picked(self, range(n) if rows is None else rows, columns)

    def filled(self, means: npt.NDArray[Any]) -> OnDisk:
        """Return the same numbers, with the column's one in place of NaN."""
        return Picked(self, range(len(self)), None, means.astype(self.dtype))

    @property
    def T(self) -> OnDisk:
        """The same numbers with rows and columns swapped.

        Raises
        ------
        MemoryLimitError
            For all but arrays in one piece.
        """
        raise MemoryLimitError(
            f"transpose=True (--transpose) reads columns, and {self.source} is too large for memory and kept "
            "by rows. Raise memory_limit, or save it as .npy, which is read by columns too."
        )


class Picked(OnDisk):
    """Some rows and columns of what is in a file."""

    def __init__(
        self,
        base: OnDisk,
        rows: Sequence[int] | npt.NDArray[Any],
        columns: Sequence[int] | None,
        fill: npt.NDArray[Any] | None = None,
    ) -> None:
        self.base, self.rows, self.fill = base, rows, fill
        self.columns = None if columns is None else np.asarray(columns)
        self.shape = (len(rows), base.shape[1] if columns is None else len(columns))
        self.dtype, self.held, self.path, self.source = base.dtype, base.held, base.path, base.source
        self.picture_shape = base.picture_shape if columns is None else None
        self.finite = True if fill is not None else base.finite
        self.reads_columns = base.reads_columns and columns is None
        self.speed = base.speed * self.shape[1] / base.shape[1]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        some: Any = self.rows[rows]
        first, last = (some[0], some[-1] + 1) if len(some) else (0, 0)
        found = self.base[first:last, columns] if self.reads_columns else self.base[first:last]
        found = found if last - first == len(some) else found[np.asarray(some) - first]
        if not self.reads_columns:
            found = (found if self.columns is None else found[:, self.columns])[:, columns]
        return found if self.fill is None else np.where(np.isnan(found), self.fill[columns], found)

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where each row begins, of sparse rows."""
        lengths = np.diff(self.base.indptr)[np.asarray(self.rows)]  # type: ignore[attr-defined]
        return np.concatenate([[0], np.cumsum(lengths)])


class StoredArray(OnDisk):
    """The numbers of one array in a file, read where they are asked for by positioned reads.

    Parameters
    ----------
    path : Path or None
        None for a copy of what is no file.
    offset : int
        Where the first number is.
    shape : tuple of int
        (n, d), or (n, height, width).
    dtype : numpy.dtype
        As stored; what is read has the machine's byte order.
    fortran : bool
        Whether columns lie in one piece, not rows.
    source : str
        What the file is called in messages.

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
    ) -> None:
        self.path, self.offset, self.fortran = path, offset, fortran
        self.source = source or str(path)
        self.picture_shape = (shape[1], shape[2]) if len(shape) == 3 else None
        self.shape = (int(shape[0]), int(np.prod(shape[1:])))
        self._stored, self._asked = np.dtype(dtype), 0
        self.dtype = self._stored.newbyteorder("=")
        self.nbytes = self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._place, self._copy = path, None  # what is opened, or is open
        self._before = (0, 0)
        self._lock = threading.Lock()

    def _like(self, **other: Any) -> StoredArray:
        stored = object.__new__(StoredArray)
        stored.__setstate__(self._kept() | other)
        stored.nbytes = stored.shape[0] * stored.shape[1] * self.dtype.itemsize
        return stored

    def opened(self, file: Any) -> StoredArray:
        """Return the same numbers of an open file, which need not have a name any more."""
        return self._like(_copy=file)

    @property
    def T(self) -> StoredArray:
        """The same numbers with rows and columns swapped."""
        return self._like(shape=self.shape[::-1], fortran=not self.fortran, picture_shape=None)

    def part(self, start: int, stop: int) -> StoredArray:
        """Return consecutive rows, where each lies in one piece."""
        shape, size = (stop - start, self.shape[1]), self.dtype.itemsize
        return self._like(shape=shape, offset=self.offset + start * self.shape[1] * size)

    @cached_property
    def _file(self) -> int:
        with self._lock:
            if "_file" in vars(self):
                return int(vars(self)["_file"])
            try:
                if self._copy is not None:
                    file = os.dup(self._copy.fileno())
                else:
                    file = os.open(self._place or "", os.O_RDONLY | getattr(os, "O_BINARY", 0))
            except OSError as error:
                raise FileError(f"{self.source} cannot be read: {reason(error)}.") from error
            vars(self).update(_before=_state(file), _file=file)
        return file

    def __del__(self) -> None:
        if "_file" in vars(self):
            os.close(self._file)

    def _kept(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name not in ("_file", "_lock", "_before")
        }

    def __getstate__(self) -> dict[str, Any]:
        if self._copy is None:
            return self._kept()
        # Other processes on the machine find a file without a name by this one's number for it.
        return self._kept() | {"_copy": None, "_place": f"/proc/{os.getpid()}/fd/{self._copy.fileno()}"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return a new array of rows, or of (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        (start, stop, _), (left, right, _) = (
            part.indices(size) for part, size in zip((rows, columns), self.shape, strict=True)
        )
        out = np.empty(
            (max(0, stop - start), max(0, right - left)), self._stored, order="F" if self.fortran else "C"
        )
        if self.fortran:
            self._read(out.T, left, start, self.shape[0], slice(start, stop))
        else:
            self._read(out, start, left, self.shape[1], slice(start, stop))
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
        file = self._file
        if len(view) >= IN_A_ROW:
            self._ask_ahead(file, place, place + len(view))
        while done < len(view):
            try:
                read = os.preadv(file, [view[done:]], self.offset + place + done)
            except OSError as error:
                raise FileError(f"{self._block(rows)} cannot be read: {reason(error)}.") from error
            if not read:
                raise FileError(
                    f"{self._block(rows)} are not there: the file was cut off while it was read. "
                    "Copy it again."
                )
            done += read
        if _state(file) != self._before:
            raise FileError(f"{self._block(rows)}: the file was changed while it was read. Start again.")

    def _ask_ahead(self, file: int, start: int, stop: int) -> None:
        """Have the system read on while what comes before is computed with, if it can be asked for that."""
        if not self._asked - 2 * AHEAD <= start <= self._asked:
            self._asked = start
        while hasattr(os, "posix_fadvise") and self._asked < stop + AHEAD:
            begin, self._asked = self._asked, self._asked + AHEAD
            os.posix_fadvise(file, self.offset + begin, AHEAD, os.POSIX_FADV_WILLNEED)

    def _block(self, rows: slice) -> str:
        return f"{self.source}, rows {rows.start:,} to {rows.stop - 1:,}"


def _state(file: int) -> tuple[int, int]:
    found = os.fstat(file)
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True, eq=False)
class StoredRows(Rows):
    """Rows that are read when their turn comes.

    Attributes
    ----------
    values : OnDisk
        (n, d) real numbers, not searched for NaN.
    limit : int
        Bytes of working memory; a quarter of it may be taken by the whole table where that is needed.
    passes : Passes
        How often they were read from first to last, and what that gave where a checkpoint keeps it.
    """

    values: OnDisk
    limit: int
    passes: Passes = field(default_factory=Passes)
    is_stored: ClassVar[bool] = True

    @classmethod
    def of(cls, values: OnDisk, limit: int | None = None) -> StoredRows:
        """Return the rows of an array that is read when it is sliced."""
        return cls(
            values,
            limit or memory_limit_bytes(None),
            dtype=dtype_of_rows(values.dtype),
            picture_shape=values.picture_shape,
            borrowed=False,
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    def identity(self) -> dict[str, str]:
        """Return by what the data is known again: its file's size and time, and some of its rows."""
        n, d = self.shape
        found = hashlib.blake2b(self.some(evenly(n, ROWS_COMPARED)).tobytes(), digest_size=16)
        facts = {"the data": f"{n} x {d} {self.values.dtype}, sampled rows {found.hexdigest()}"}
        parts: list[Any] = [self.values, *(getattr(self.values, name, None) for name in ("base", "data"))]
        path = next((part.path for part in parts if getattr(part, "path", None) is not None), None)
        if path is not None:
            state = os.stat(path)
            changed = datetime.fromtimestamp(state.st_mtime_ns // 10**9, UTC)
            facts["the file's size"] = f"{state.st_size:,} bytes"
            facts["the file's time"] = f"{changed:%Y-%m-%d %H:%M:%S} and {state.st_mtime_ns % 10**9} ns UTC"
        return facts

    @property
    def cuts_columns(self) -> bool:
        return self.values.reads_columns

    @property
    def held(self) -> int:
        return self.values.held

    @property
    def speed(self) -> float:  # type: ignore[override]
        return self.values.speed

    @property
    def least_columns(self) -> int:
        size = self.values.dtype.itemsize
        return int(max(LEAST_RUN // size, COLUMNS_AT_ONCE // (self.shape[0] * size)))

    def cut(self, rows: slice, columns: slice) -> Any:
        return np.asarray(self.values[rows, columns]).astype(self.dtype, copy=False)

    def some(self, places: Iterable[int]) -> Any:
        """Return rows by their numbers, as a dense array."""
        return np.concatenate([self.cut(slice(place, place + 1), slice(None)) for place in places])

    def in_memory(self) -> Any:
        """Read the whole table, for those who truly need it.

        Raises
        ------
        MemoryLimitError
            If it takes more than a quarter of the working memory.
        """
        return self.whole(whole_within(self.limit))

    def whole(self, most: int) -> Any:
        """Read the whole table if it takes at most so many bytes."""
        if self.stored_bytes > most:
            raise MemoryLimitError(
                f"This needs all {self.shape[0]:,} rows of {self.values.source} in memory, "
                f"{amount(self.stored_bytes)}, and of {amount(self.limit)} of memory that may be used "
                f"a table may take {amount(most)}. Raise GRAMIAN_MEMORY_LIMIT, or give fewer rows; PCA "
                "reads block by block."
            )
        return self.block(slice(None)).values


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
    stored = StoredArray(Path(name), mapped.offset, mapped.shape, mapped.dtype, fortran=fortran)
    for row in (slice(0, 1), slice(len(mapped) - 1, len(mapped))):
        try:
            same = stored[row].tobytes() == np.asarray(mapped[row], stored.dtype).tobytes()
        except FileError:
            same = False
        if not same:  # another file has that name by now
            return mapped
    return stored


def whole_within(limit: int) -> int:
    """Return the bytes in memory of a table in a file up to which it is read as a whole."""
    return limit // 4
