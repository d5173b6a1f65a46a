"""Contiguous arrays of files, read by positioned reads and never mapped."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import FileError
from gramian.rows.archives import damage
from gramian.rows.lazy.array import LazyArray, bytes_of_rows

IN_A_ROW, AHEAD = 1 << 18, 32 << 20  # bytes of a read from which on others follow it, and how far ahead


class StoredArray(LazyArray):
    """The numbers of one array in a file, read by positioned reads when they are sliced.

    Parameters
    ----------
    path : Path or None
        None for a copy of data without a file.
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
        self._place, self._copy = path, None  # the file to open, or an open one
        self._before = (0, 0)
        self._lock = threading.Lock()

    def _like(self, **other: Any) -> StoredArray:
        stored = object.__new__(StoredArray)
        stored.__setstate__(self._attributes() | other)
        return stored

    def opened(self, file: Any) -> StoredArray:
        """Return the same numbers of an open file, which need not have a name any more."""
        return self._like(_copy=file)

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

    @cached_property
    def _file(self) -> int:
        with self._lock:
            if "_file" in vars(self):
                return int(vars(self)["_file"])
            with damage(self.source):
                if self._copy is not None:
                    file = os.dup(self._copy.fileno())
                else:
                    file = os.open(self._place or "", os.O_RDONLY | getattr(os, "O_BINARY", 0))
            vars(self).update(_before=_state(file), _file=file)
        return file

    def __del__(self) -> None:
        if "_file" in vars(self):
            os.close(self._file)

    def _attributes(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name not in ("_file", "_lock", "_before")
        }

    def __getstate__(self) -> dict[str, Any]:
        if self._copy is None:
            return self._attributes()
        # Other processes on the machine find a file without a name by this one's number for it.
        return self._attributes() | {"_copy": None, "_place": f"/proc/{os.getpid()}/fd/{self._copy.fileno()}"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

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
        file = self._file
        if len(view) >= IN_A_ROW:
            self._ask_ahead(file, place, place + len(view))
        while done < len(view):
            read = os.preadv(file, [view[done:]], self.offset + place + done)
            if not read:
                raise FileError(
                    f"{self._block(rows)} are not there: the file was cut off while it was read. "
                    "Copy it again."
                )
            done += read
        if _state(file) != self._before:
            raise FileError(f"{self._block(rows)}: the file was changed while it was read. Start again.")

    def _ask_ahead(self, file: int, start: int, stop: int) -> None:
        """Ask the system to read ahead while earlier rows are computed with, if it supports that."""
        if not self._asked - 2 * AHEAD <= start <= self._asked:
            self._asked = start
        while hasattr(os, "posix_fadvise") and self._asked < stop + AHEAD:
            begin, self._asked = self._asked, self._asked + AHEAD
            os.posix_fadvise(file, self.offset + begin, AHEAD, os.POSIX_FADV_WILLNEED)

    def _block(self, rows: slice) -> str:
        return f"{self.source}, rows {rows.start:,} to {rows.stop - 1:,}"


def _state(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_size, status.st_mtime_ns


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
