"""Arrays of numbers: NumPy's .npy and .npz files."""

import operator
import os
import sys
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.errors import DataError, FileError
from gramian.tables.memory import ENTRY, require_lengths
from gramian.tables.source import ArraySource, Header, Opened, pick_array, require, require_room
from gramian.tables.stored import FileRows

_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def open_npy(opened: Opened, key: str | None) -> ArraySource:
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
    >>> open_npy(Opened("memory", data=buffer.getvalue()), None).read().shape
    (2, 2)
    """
    file, path = opened.file, opened.path
    header, start, fortran = read_header(file)
    require(header, opened.name, opened.use)
    require_all(header, file.seek(0, os.SEEK_END) - start, opened.name)

    def read() -> npt.NDArray[Any]:
        file.seek(0)
        array = read_array(file)
        opened.hash(sys.maxsize)
        return array

    def lazy(limit: int) -> FileRows:
        kind = np.dtype(np.uint8) if header.dtype.kind == "b" else header.dtype
        return FileRows.of(path or Path(), opened.name, header.shape, kind, start, fortran=fortran)

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


# ---- Arrays in .npz archives, and sparse matrices that scipy.sparse.save_npz wrote


def open_npz(opened: Opened, key: str | None) -> ArraySource:
    """Return one array of a .npz archive, by default the only one that fits, or its matrix.

    Raises
    ------
    FileError
        If the file is truncated or no archive.
    DataError
        If the key is unknown or missing, or its array does not fit its use.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, X=np.eye(2), y=np.zeros(2))
    >>> open_npz(Opened("memory", data=buffer.getvalue()), None).notes
    ("array 'X' was read, the only table in the archive",)
    """
    name = opened.name
    archive = opened.enter_context(zipfile.ZipFile(opened.file))
    members = archive.namelist()
    if key is None and opened.use == "table" and "format.npy" in members:
        return _matrix(opened, archive)
    keys = [member.removesuffix(".npy") for member in members if member.endswith(".npy")]
    _, header, notes = pick_array(keys, partial(_header_in, archive, name), key, name, opened.use)
    return ArraySource.of(header, name, notes)


def _matrix(opened: Opened, archive: zipfile.ZipFile) -> ArraySource:
    """Return a matrix in CSR."""
    name = opened.name
    entries = _header_in(archive, name, "data")
    n, d = map(operator.index, _header_in(archive, name, "shape").read().tolist())
    require_lengths((n, d), name)

    def read() -> Any:
        require_room(replace(entries, dtype=np.dtype("V16")), name)
        opened.file.seek(0)
        matrix = sparse.load_npz(opened.file).tocsr()
        matrix.check_format(full_check=True)  # an index outside of the matrix would write there
        if matrix.dtype.kind not in "buif":
            raise DataError(f"{name} holds a sparse matrix of {matrix.dtype}, not of real numbers.")
        return matrix

    header = Header((n, d), entries.dtype, read)
    return ArraySource.of(header, name, bytes_read=lambda rows: ENTRY * entries.shape[0])


def _header_in(archive: zipfile.ZipFile, source: str, key: str) -> Header:
    name = f"{key}.npy"
    with archive.open(name) as member:
        header, start, _ = read_header(member)

    def read() -> npt.NDArray[Any]:
        require_all(header, archive.getinfo(name).file_size - start, f"{source}::{key}")
        # Seeking back in a compressed member would decompress twice: it is opened again instead.
        with archive.open(name) as member:
            return read_array(member)

    return Header(header.shape, header.dtype, read)
