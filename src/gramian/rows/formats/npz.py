"""Arrays in .npz archives, and sparse matrices that scipy.sparse.save_npz wrote."""

import operator
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import amount, slices
from gramian.errors import DataError
from gramian.progress import track
from gramian.rows.archives import Header, damage, pick_array, require, require_room
from gramian.rows.formats.npy import read_array, read_header, require_all
from gramian.rows.lazy.sparse import ENTRY, StoredSparse, refuse_by_columns, require_lengths
from gramian.rows.lazy.spool import Spool
from gramian.rows.lazy.stored import StoredArray
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource

UNPACKED = 1 << 20  # entries at a time


def recognizes(file: IO[bytes]) -> bool:
    """Say whether a zip archive holds arrays."""
    return any(name.endswith(".npy") for name in zipfile.ZipFile(file).namelist())


def open(opened: Opened, key: str | None) -> ArraySource:
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
    >>> open(Opened("memory", data=buffer.getvalue()), None).notes
    ("array 'X' was read, the only table in the archive",)
    """
    name = opened.name
    with damage(name):
        archive = opened.enter_context(zipfile.ZipFile(opened.file))
        members = archive.namelist()
        if key is None and opened.use == "table" and "format.npy" in members:
            return _matrix(opened, archive)
        keys = [member.removesuffix(".npy") for member in members if member.endswith(".npy")]
        _, header, notes = pick_array(keys, partial(_header_in, archive, name), key, name, opened.use)
    return ArraySource.of(header, name, notes)


def _matrix(opened: Opened, archive: zipfile.ZipFile) -> ArraySource:
    """Return a matrix in CSR; a large one is unpacked to a temporary file."""
    name = opened.name
    entries = _header_in(archive, name, "data")
    count = entries.shape[0]
    shape = _sparse_shape(archive, name)

    def read() -> Any:
        require_room(replace(entries, dtype=np.dtype("V16")), name)
        opened.file.seek(0)
        matrix = sparse.load_npz(opened.file).tocsr()
        matrix.check_format(full_check=True)  # an index outside of the matrix would write there
        if matrix.dtype.kind not in "buif":
            raise DataError(f"{name} holds a sparse matrix of {matrix.dtype}, not of real numbers.")
        return matrix

    def lazy(limit: int) -> StoredSparse:
        form = _header_in(archive, name, "format").read().item().decode()
        refuse_by_columns(form, count, limit, name, "scipy.sparse.save_npz(path, X.tocsr())")
        data, indices = (_unpacked(archive, f"{part}.npy", opened.path, name) for part in ("data", "indices"))
        indptr = _header_in(archive, name, "indptr").read().astype(np.int64)
        return StoredSparse(shape, indptr, indices, data, name, note)

    parts = [part for part in ("data", "indices") if f"{part}.npy" in archive.namelist()]
    size = count * sum(_header_in(archive, name, part).dtype.itemsize for part in parts)
    note = f"{amount(size)} of entries were unpacked to a temporary file, to be read block by block"
    header = Header(shape, entries.dtype, read)
    return ArraySource.of(header, name, lazy=lazy, bytes_read=lambda rows: ENTRY * count)


def _sparse_shape(archive: zipfile.ZipFile, source: str) -> tuple[int, int]:
    n, d = map(operator.index, _header_in(archive, source, "shape").read().tolist())
    require_lengths((n, d), source)
    return n, d


def _unpacked(archive: zipfile.ZipFile, name: str, path: Path | None, source: str) -> StoredArray:
    """Copy an array of one axis to a temporary file."""
    with archive.open(name) as member:
        header, _, _ = read_header(member)
        require(replace(header, shape=(*header.shape, 1)), f"{source}::{name}")
        spool = Spool(source, header.n_bytes, sure=True, path=path)
        for part in track(slices(header.shape[0], UNPACKED), f"part of {name}"):
            size = (part.stop - part.start) * header.dtype.itemsize
            values = np.frombuffer(member.read(size), dtype=header.dtype)
            require_all(replace(header, shape=(part.stop - part.start,)), values.nbytes, source)
            spool.append(values[:, None].astype(header.dtype.newbyteorder("=")))
    return spool.stored()


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
