"""Arrays in .npy files, checked by their header before anything large is read."""

import os
import sys
from functools import partial
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import FileError
from gramian.rows.archives import Header, damage, require
from gramian.rows.lazy.stored import StoredArray
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def open(opened: Opened, key: str | None) -> ArraySource:
    """Return the one array of a .npy file; a header that claims more than follows raises at once.

    Raises
    ------
    FileError
        If the file is truncated or not a .npy file.
    DataError
        If it does not hold two or three axes of real numbers, or for labels one of anything.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.eye(2))
    >>> open(Opened("memory", data=buffer.getvalue()), None).read().shape
    (2, 2)
    """
    file, path = opened.file, opened.path
    with damage(opened.name):
        header, start, fortran = read_header(file)
        require(header, opened.name, opened.use)
        require_all(header, file.seek(0, os.SEEK_END) - start, opened.name)

    def read() -> npt.NDArray[Any]:
        file.seek(0)
        array = read_array(file)
        opened.hash(sys.maxsize)
        return array

    def lazy(limit: int) -> StoredArray:
        kind = np.dtype(np.uint8) if header.dtype.kind == "b" else header.dtype
        return StoredArray(path, start, header.shape, kind, fortran=fortran, source=opened.name)

    # No row of pictures in Fortran order lies in one piece, nor any column.
    whole = path is None or (fortran and len(header.shape) == 3)
    return ArraySource.of(Header(header.shape, header.dtype, read), opened.name, lazy=None if whole else lazy)


def read_header(file: IO[bytes]) -> tuple[Header, int, bool]:
    """Return the header of an array, its length in bytes, and whether columns come first."""
    start = file.tell()
    try:
        shape, fortran, dtype = _HEADER_READERS[np.lib.format.read_magic(file)](file)
    except MemoryError as error:  # Python's, of a text that is nested too deep
        raise ValueError("its header is no description of an array") from error
    if min(shape, default=0) < 0:
        raise ValueError("its header has a negative shape")
    return Header(shape, dtype, partial(read_array, file)), file.tell() - start, fortran


def read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    """Read an array, unless it holds Python objects."""
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def require_all(header: Header, follow: int, source: str) -> None:
    """Raise if a header promises more bytes than follow, before memory is allocated."""
    if follow < header.n_bytes:
        raise FileError(f"{source} is truncated: it promises {header}, but {follow} bytes follow.")
