"""Tables in temporary files, kept in bands of columns, so that some rows and some columns are both near."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import FileError, reason
from gramian.rows.stored import OnDisk


class Bands(OnDisk):
    """A table in a file without a name, which is gone with the process, however that ends.

    Parameters
    ----------
    shape : (n, d)
    dtype : numpy.dtype
    width : int
        Columns in a band: all its rows lie in one piece.
    source : str
        What is copied, for messages.

    Examples
    --------
    >>> bands = Bands((3, 4), np.dtype("f8"), 3, "an example")
    >>> X = np.arange(12.0).reshape(3, 4)
    >>> bands.put(X[:, :3])
    >>> bands.put(X[:, 3:], column=3)
    >>> bands[1:2, 2:4].tolist()
    [[6.0, 7.0]]
    """

    reads_columns = True

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], width: int, source: str) -> None:
        self.shape, self.dtype, self.width, self.source = shape, np.dtype(dtype), width, source
        try:
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())
        except OSError as error:
            raise self._full(error) from error

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def __len__(self) -> int:
        return self.shape[0]

    def put(self, values: npt.NDArray[Any], row: int = 0, column: int = 0) -> None:
        """Write consecutive rows of a whole band.

        Raises
        ------
        FileError
            If the disk is full.
        """
        view = memoryview(np.ascontiguousarray(values, dtype=self.dtype)).cast("B")  # type: ignore[arg-type]
        place = self._place(row, column, values.shape[1])
        while view:
            try:
                done = os.pwrite(self._file, view, place)
            except OSError as error:
                raise self._full(error) from error
            view, place = view[done:], place + done

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return a new array of rows, or of (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        (top, bottom, _), (left, right, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        out = np.empty((max(0, bottom - top), max(0, right - left)), self.dtype)
        for first in range(left - left % self.width, right, self.width):
            width = min(self.width, self.shape[1] - first)
            band = np.empty((len(out), width), self.dtype)
            view, place = memoryview(band).cast("B"), self._place(top, first, width)  # type: ignore[arg-type]
            while view:
                done = os.preadv(self._file, [view], place)
                if not done:
                    raise FileError(f"The temporary copy of {self.source} is cut off. Start again.")
                view, place = view[done:], place + done
            some = slice(max(left, first), min(right, first + width))
            out[:, some.start - left : some.stop - left] = band[:, some.start - first : some.stop - first]
        return out

    def _place(self, row: int, column: int, width: int) -> int:
        return (column * self.shape[0] + row * width) * self.dtype.itemsize

    def _full(self, error: OSError) -> FileError:
        return FileError(
            f"{self.source} does not fit into memory, and a temporary copy of its numbers not into "
            f"{tempfile.gettempdir()}: {reason(error)}. Free some space there, set TMPDIR to a folder on a "
            "larger disk, or raise memory_limit."
        )
