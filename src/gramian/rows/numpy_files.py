"""Arrays in .npy files and .npz archives, checked by their header before anything large is read."""

import hashlib
import os
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, FileError
from gramian.rows.archives import Stored, Use, damage, pick_array, require
from gramian.rows.stored import StoredArray
from gramian.rows.table import LOGICAL

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(file: IO[bytes], source: str, use: Use = "table") -> npt.NDArray[Any]:
    """Read the one array of a .npy file; a header that claims more than follows is refused at once.

    Parameters
    ----------
    file : binary file
        Placed at its start.
    source : str
    use : {"table", "labels"}

    Raises
    ------
    FileError
        If the file is truncated or no .npy file.
    DataError
        If it does not hold two or three axes of real numbers, or for labels one of anything.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.eye(2)); _ = buffer.seek(0)
    >>> read_npy(buffer, "memory").shape
    (2, 2)
    """
    with damage(source):
        header, start = _read_header(file)
        require(header, source, use)
        _require_all(header, file.seek(0, os.SEEK_END) - start, source)
        file.seek(0)
        array = _read_array(file)
    return array if use == "table" else array.reshape(-1)


def hash_of_npy(file: IO[bytes], array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of a .npy file, of which nothing but the header is read again."""
    file.seek(0)
    _, start = _read_header(file)
    file.seek(0)
    found = hashlib.sha256(file.read(start))
    stored = array if array.flags.c_contiguous else array.T
    found.update(memoryview(np.ascontiguousarray(stored).reshape(-1)).cast("B"))  # type: ignore[arg-type]
    return found.hexdigest() if file.seek(0, os.SEEK_END) == start + array.nbytes else ""


def stored_npy(path: Path, source: str) -> tuple[StoredArray | None, tuple[str, ...]]:
    """Return the one array of a .npy file to be read block by block, and notes.

    None for pictures in Fortran order, of which no row lies in one piece, nor any column.

    Raises
    ------
    FileError, DataError
        As of :func:`read_npy`.
    """
    with damage(source), path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        shape, fortran, dtype = _HEADER_READERS[version](file)
        start = file.tell()
        header = Stored(shape, dtype, lambda: np.empty(0))
        require(header, source, "table")
        _require_all(header, file.seek(0, os.SEEK_END) - start, source)
    if fortran and len(shape) == 3:
        return None, ()
    kind = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    notes = (LOGICAL,) if dtype.kind == "b" else ()
    return StoredArray(path, start, shape, kind, fortran=fortran, source=source), notes


def read_npz(
    file: IO[bytes], key: str | None, source: str, use: Use = "table"
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read one array of a .npz archive; the others are not touched.

    Parameters
    ----------
    file : binary file
    key : str or None
        Name of the array; None takes the only one that can be what is wanted, and says so in a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    array : ndarray
    notes : tuple of str

    Raises
    ------
    FileError
        If the file is truncated or no archive.
    DataError
        If the key is unknown or missing, or its array cannot be what is wanted.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, X=np.eye(2), y=np.zeros(2))
    >>> read_npz(buffer, None, "memory")[1]
    ("array 'X' used: the only table in the archive",)
    """
    with damage(source), zipfile.ZipFile(file) as archive:
        keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if not keys:
            raise DataError(f"{source} holds no NumPy arrays. Save some with numpy.savez(path, X=X).")
        return pick_array(keys, partial(_stored, archive, source), key, source, use)


def read_npz_names(file: IO[bytes], key: str, count: int, source: str) -> tuple[str, ...] | None:
    """Read one array of a .npz archive as names, one for each row of another one.

    Parameters
    ----------
    file : binary file
    key : str
    count : int
        Number of rows.
    source : str

    Returns
    -------
    tuple of str or None
        Text, or whole numbers as text; None if there is no such array.

    Raises
    ------
    DataError
        If the array has another length, holds anything else, or an empty text.
    FileError
        If the file is truncated or no archive.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, X=np.eye(2), y=[7, 8])
    >>> read_npz_names(buffer, "y", 2, "memory")
    ('7', '8')
    """
    with damage(source), zipfile.ZipFile(file) as archive:
        if f"{key}.npy" not in archive.namelist():
            return None
        stored = _stored(archive, source, key)
        _check_names(stored, key, count, source)
        names = tuple(map(str, stored.read()))
    for place, name in enumerate(names):
        if not name.strip():
            raise DataError(f"{source}: entry {place} of {key} (counted from 0) is empty. Name all of them.")
    return names


def _check_names(header: Stored, key: str, count: int, source: str) -> None:
    if len(header.shape) != 1 or header.dtype.kind not in "iuU":
        what = "Python objects" if header.dtype.hasobject else str(header)
        raise DataError(
            f"{source}: {key} holds {what}, and one text or whole number for each picture is needed. "
            f"Save it for instance as {key}={key}.astype(str), or leave it out."
        )
    if header.shape[0] != count:
        raise DataError(
            f"{source}: {key} has {header.shape[0]} entries for {count} pictures. "
            "Give one for each, or leave it out."
        )


def _read_header(file: IO[bytes]) -> tuple[Stored, int]:
    """Return what the header of an array says, and how many bytes it takes."""
    start = file.tell()
    shape, _, dtype = _HEADER_READERS[np.lib.format.read_magic(file)](file)
    if min(shape, default=0) < 0:
        raise ValueError("its header has a negative shape")
    return Stored(shape, dtype, partial(_read_array, file)), file.tell() - start


def _stored(archive: zipfile.ZipFile, source: str, key: str) -> Stored:
    name = f"{key}.npy"
    with archive.open(name) as member:
        header, start = _read_header(member)

    def read() -> npt.NDArray[Any]:
        _require_all(header, archive.getinfo(name).file_size - start, f"{source}::{key}")
        # Seeking back in a compressed member would decompress twice: it is opened again instead.
        with archive.open(name) as member:
            return _read_array(member)

    return Stored(header.shape, header.dtype, read)


def _read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _require_all(header: Stored, follow: int, source: str) -> None:
    """Refuse a header that promises more than there is, before memory is taken for it."""
    if follow < header.n_bytes:
        raise FileError(
            f"{source} is truncated: its header promises {header} ({header.n_bytes} bytes), "
            f"but {follow} bytes follow. Make or copy it again."
        )
