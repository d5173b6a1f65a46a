"""Arrays in .npy files and .npz archives, checked by their header before anything large is read."""

import hashlib
import operator
import os
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import amount, slices, told
from gramian.errors import DataError, FileError
from gramian.rows.archives import Header, Use, damage, pick_array, require, require_room
from gramian.rows.kinds.sparse import ENTRY, StoredSparse, refuse_by_columns, require_lengths
from gramian.rows.lazy.spool import Spool
from gramian.rows.lazy.stored import StoredArray, whole_within
from gramian.rows.table import LOGICAL, Choice, Table, pick_rows

UNPACKED = 1 << 20  # entries at a time

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
        header, start, _ = _read_header(file)
        require(header, source, use)
        _require_all(header, file.seek(0, os.SEEK_END) - start, source)
        file.seek(0)
        array = _read_array(file)
    return array if use == "table" else array.reshape(-1)


def hash_of_npy(file: IO[bytes], array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of a .npy file, of which nothing but the header is read again."""
    file.seek(0)
    _, start, _ = _read_header(file)
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
        header, start, fortran = _read_header(file)
        require(header, source, "table")
        _require_all(header, file.seek(0, os.SEEK_END) - start, source)
    if fortran and len(header.shape) == 3:
        return None, ()
    logical = header.dtype.kind == "b"
    kind, notes = (np.dtype(np.uint8), (LOGICAL,)) if logical else (header.dtype, ())
    return StoredArray(path, start, header.shape, kind, fortran=fortran, source=source), notes


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
        return pick_array(keys, partial(_header_in, archive, source), key, source, use)


def read_sparse_npz(file: IO[bytes], source: str) -> Any:
    """Read a matrix that scipy.sparse.save_npz wrote, as CSR; None if the archive is no such matrix.

    Raises
    ------
    FileError, DataError
        As of :func:`read_npz`.
    MemoryLimitError
        If it takes more memory than may be used.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> sparse.save_npz(buffer, sparse.eye_array(3, format="csc"))
    >>> read_sparse_npz(buffer, "memory").format
    'csr'
    """
    with damage(source):
        with zipfile.ZipFile(file) as archive:
            if "format.npy" not in archive.namelist():
                return None
            entries = _header_in(archive, source, "data")
            require_room(replace(entries, dtype=np.dtype("V16")), source)
            _sparse_shape(archive, source)
        file.seek(0)
        matrix = sparse.load_npz(file).tocsr()
        matrix.check_format(full_check=True)  # what points outside of the matrix would be written there
    if matrix.dtype.kind not in "buif":
        raise DataError(f"{source} holds a sparse matrix of {matrix.dtype}, not of real numbers.")
    return matrix


def stored_npz(path: Path, key: str | None, choice: Choice, limit: int, source: str) -> Table | None:
    """Return the matrix of :func:`read_sparse_npz` to be read block by block; None for others and if small.

    Its entries are unpacked to a temporary file first.

    Raises
    ------
    FileError
        If the file is damaged, or the disk too full.
    MemoryLimitError
        If it is large and not kept by rows.
    """
    if key is not None or choice.names_columns():
        return None
    with damage(source), zipfile.ZipFile(path) as archive:
        if "format.npy" not in archive.namelist():
            return None
        entries = _header_in(archive, source, "data").shape[0]
        if ENTRY * entries <= whole_within(limit):
            return None
        form = _header_in(archive, source, "format").read().item().decode()
        refuse_by_columns(form, entries, limit, source, "scipy.sparse.save_npz(path, X.tocsr())")
        n, d = _sparse_shape(archive, source)
        data, indices = (_unpacked(archive, f"{name}.npy", path, source) for name in ("data", "indices"))
        indptr = _header_in(archive, source, "indptr").read().astype(np.int64)
    rows = pick_rows(n, choice.rows, source)
    values = StoredSparse((n, d), indptr, indices, data, source).picked(rows)
    held = (data.dtype.itemsize + indices.dtype.itemsize) * entries
    notes = (f"{amount(held)} of entries were unpacked to a temporary file, to be read block by block",)
    return Table(values, source=source, notes=notes, row_numbers=None if choice.rows is None else rows)


def _sparse_shape(archive: zipfile.ZipFile, source: str) -> tuple[int, int]:
    n, d = map(operator.index, _header_in(archive, source, "shape").read().tolist())
    require_lengths((n, d), source)
    return n, d


def _unpacked(archive: zipfile.ZipFile, name: str, path: Path, source: str) -> StoredArray:
    """Copy an array of one axis to a temporary file."""
    with archive.open(name) as member:
        header, _, _ = _read_header(member)
        require(replace(header, shape=(*header.shape, 1)), f"{source}::{name}")
        spool = Spool(source, header.n_bytes, sure=True, path=path)
        for part in told(slices(header.shape[0], UNPACKED), f"part of {name}"):
            size = (part.stop - part.start) * header.dtype.itemsize
            values = np.frombuffer(member.read(size), dtype=header.dtype)
            _require_all(replace(header, shape=(part.stop - part.start,)), values.nbytes, source)
            spool.append(values[:, None].astype(header.dtype.newbyteorder("=")))
    return spool.stored()


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
        header = _header_in(archive, source, key)
        _check_names(header, key, count, source)
        names = tuple(map(str, header.read()))
    for place, name in enumerate(names):
        if not name.strip():
            raise DataError(f"{source}: entry {place} of {key} (counted from 0) is empty. Name all of them.")
    return names


def _check_names(header: Header, key: str, count: int, source: str) -> None:
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


def _read_header(file: IO[bytes]) -> tuple[Header, int, bool]:
    """Return what the header of an array says, how many bytes it takes, and whether columns come first."""
    start = file.tell()
    try:
        shape, fortran, dtype = _HEADER_READERS[np.lib.format.read_magic(file)](file)
    except MemoryError as error:  # Python's, of a text that is nested too deep
        raise ValueError("its header is no description of an array") from error
    if min(shape, default=0) < 0:
        raise ValueError("its header has a negative shape")
    return Header(shape, dtype, partial(_read_array, file)), file.tell() - start, fortran


def _header_in(archive: zipfile.ZipFile, source: str, key: str) -> Header:
    name = f"{key}.npy"
    with archive.open(name) as member:
        header, start, _ = _read_header(member)

    def read() -> npt.NDArray[Any]:
        _require_all(header, archive.getinfo(name).file_size - start, f"{source}::{key}")
        # Seeking back in a compressed member would decompress twice: it is opened again instead.
        with archive.open(name) as member:
            return _read_array(member)

    return Header(header.shape, header.dtype, read)


def _read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _require_all(header: Header, follow: int, source: str) -> None:
    """Refuse a header that promises more than there is, before memory is taken for it."""
    if follow < header.n_bytes:
        raise FileError(
            f"{source} is truncated: its header promises {header} ({header.n_bytes} bytes), "
            f"but {follow} bytes follow. Make or copy it again."
        )
