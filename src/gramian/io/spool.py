"""A spool: numbers that are slow to read again, written once to a file without a name."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import amount, slices
from gramian.data.rows import BLOCK_BYTES
from gramian.errors import FULL, FileError, option, reason
from gramian.io.parts import take_columns
from gramian.io.stored import FileRows, OpenFile, StoredRows
from gramian.progress import track

_DISK = "/var/tmp"


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
        file, dtype = OpenFile("", os.dup(self._file.number)), self.dtype or np.dtype("f8")
        note = f"{amount(self.nbytes)} of numbers were written to a temporary file in {self.folder}"
        return FileRows.of(file, self.source, shape, dtype, finite=self.finite, note=note)

    def _nameless(self) -> OpenFile:
        try:
            free = shutil.disk_usage(self.folder).free
            if self.needed > free:
                raise OSError(errno.ENOSPC, f"it has {amount(free)} of room")
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                return OpenFile("", os.dup(file.fileno()))
        except OSError as error:
            raise self._full(reason(error)) from error

    def _add(self, values: npt.NDArray[Any]) -> None:
        if self.dtype is None:
            self.dtype, self._width = values.dtype, values.shape[1:]
        wider = np.result_type(self.dtype, values.dtype)
        if wider != self.dtype:
            before, self.dtype, self.n_rows, self._file = self.rows(), wider, 0, self._nameless()
            for part in parts(before):
                self._add(before[part].reshape(-1, *self._width))
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
        return FileError(
            f"{self.source} does not fit into memory, and its temporary copy does not fit into "
            f"{self.folder}: {why}.{needed} Free some space there, set TMPDIR to a folder on a larger disk, "
            f"or raise {option('memory_limit')}."
        )


def columns_taken(values: Any, places: Sequence[int]) -> Any:
    """Return some columns of a table, in memory or stored, in this order.

    Those of an array that is read directly are copied, so that no pass reads the others.
    """
    if not isinstance(values, StoredRows):
        return take_columns(values, places)
    picked = values.picked(columns=places)
    if picked is values or not isinstance(values, FileRows):
        return picked
    spool = Spool(values.source, picked.nbytes)
    for part in track(parts(values), f"part of {values.source}"):
        spool.append(picked[part])
    return spool.rows()


def rows_taken(values: Any, rows: Sequence[int] | npt.NDArray[Any]) -> Any:
    """Return some rows of a table, in memory or stored; they rise."""
    return values.picked(rows) if isinstance(values, StoredRows) else values[rows]


def parts(values: Any) -> list[slice]:
    """Cut a table into slices of rows of a few MB, by its shape alone."""
    n = values.shape[0]
    return slices(n, max(1, BLOCK_BYTES // max(1, 8 * int(np.prod(values.shape[1:])))))


def spool_folder() -> str:
    """Return the folder of temporary files: TMPDIR, or a folder on disk, which has more space."""
    folder = tempfile.gettempdir()
    if "TMPDIR" in os.environ or not _in_memory(folder):
        return folder
    return _DISK if os.access(_DISK, os.W_OK) and not _in_memory(_DISK) else folder


def _in_memory(folder: str) -> bool:
    """Return whether files in a folder take memory, as far as the system tells."""
    path = Path(folder).resolve()
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    above = [(len(place), kind) for place, kind in mounts if path.is_relative_to(place)]
    return max(above, default=(0, ""))[1] in ("tmpfs", "ramfs")
