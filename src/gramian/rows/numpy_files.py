"""Arrays in .npy files and .npz archives, checked by their header before anything large is read."""

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, FileError, GramianError

_KEYS_SHOWN = 12
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def is_table(self) -> bool:
        return len(self.shape) in (2, 3) and self.dtype.kind in "buif"

    def __str__(self) -> str:
        if len(self.shape) == 0:
            return f"single {self.dtype}"
        return f"{' x '.join(map(str, self.shape))} {self.dtype}"


@contextmanager
def _damage(source: str) -> Iterator[None]:
    """Say of everything that a truncated or altered file makes the readers raise that it is one."""
    try:
        yield
    except GramianError:
        raise
    except Exception as error:  # numpy and zipfile meet damaged bytes unprepared and raise anything
        detail = str(error).split("\n")[0].rstrip(".")
        raise FileError(
            f"{source} cannot be read: it is truncated, damaged or protected, or of another kind ({detail}). "
            "Make or copy it again."
        ) from error


def read_npy(file: IO[bytes], source: str) -> npt.NDArray[Any]:
    """Read the one array of a .npy file; a header that claims more than follows is refused at once.

    Parameters
    ----------
    file : binary file
        Placed at its start.
    source : str

    Raises
    ------
    FileError
        If the file is truncated or no .npy file.
    DataError
        If it does not hold two or three axes of real numbers.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.eye(2)); _ = buffer.seek(0)
    >>> read_npy(buffer, "memory").shape
    (2, 2)
    """
    with _damage(source):
        header = _read_header(file)
        _check_header(header, source)
        _require_all(header, file.seek(0, os.SEEK_END), source)
        file.seek(0)
        return _read_array(file)


def read_npz(file: IO[bytes], key: str | None, source: str) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read one array of a .npz archive; the others are not touched.

    Parameters
    ----------
    file : binary file
    key : str or None
        Name of the array; None takes the only one that can be a table, and says so in a note.
    source : str

    Returns
    -------
    array : ndarray
    notes : tuple of str

    Raises
    ------
    FileError
        If the file is truncated or no archive.
    DataError
        If the key is unknown or missing, or its array is no table of real numbers.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, X=np.eye(2), y=np.zeros(2))
    >>> read_npz(buffer, None, "memory")[1]
    ("array 'X' used: the only table in the archive",)
    """
    with _damage(source), zipfile.ZipFile(file) as archive:
        keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        notes: tuple[str, ...] = ()
        if key is None:
            key = _only_table(archive, keys, source)
            notes = (f"array {key!r} used: the only table in the archive",)
        if key not in keys:
            raise DataError(f"{source} has no array {key!r}. It holds {_describe(archive, keys)}.")
        header, name = _header_of(archive, key), f"{source}::{key}"
        _check_header(header, name)
        _require_all(header, archive.getinfo(f"{key}.npy").file_size, name)
        # Seeking back in a compressed member would decompress twice: it is opened again instead.
        with archive.open(f"{key}.npy") as member:
            return _read_array(member), notes


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
    with _damage(source), zipfile.ZipFile(file) as archive:
        if f"{key}.npy" not in archive.namelist():
            return None
        _check_names(_header_of(archive, key), key, count, source)
        with archive.open(f"{key}.npy") as member:
            names = tuple(map(str, _read_array(member)))
    for place, found in enumerate(names):
        if not found.strip():
            raise DataError(f"{source}: entry {place} of {key} (counted from 0) is empty. Name all of them.")
    return names


def _check_names(header: _Header, key: str, count: int, source: str) -> None:
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


def _read_header(file: IO[bytes]) -> _Header:
    start = file.tell()
    shape, _, dtype = _HEADER_READERS[np.lib.format.read_magic(file)](file)
    if min(shape, default=0) < 0:
        raise ValueError("its header has a negative shape")
    return _Header(shape, dtype, file.tell() - start)


def _header_of(archive: zipfile.ZipFile, key: str) -> _Header:
    with archive.open(f"{key}.npy") as member:
        return _read_header(member)


def _read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _require_all(header: _Header, size: int, source: str) -> None:
    """Refuse a header that promises more than there is, before memory is taken for it."""
    if size - header.start < header.n_bytes:
        raise FileError(
            f"{source} is truncated: its header promises {header} ({header.n_bytes} bytes), "
            f"but {size - header.start} bytes follow. Make or copy it again."
        )


def _check_header(header: _Header, source: str) -> None:
    if header.dtype.hasobject:
        raise DataError(
            f"{source} holds Python objects that need pickle, which can run code when it is read: "
            "refused. Save it as numbers, for instance numpy.save(path, array.astype(float))."
        )
    if header.dtype.kind not in "buif":
        raise DataError(
            f"{source} holds {header}, not real numbers. Save it as an array of integers or floats."
        )
    if len(header.shape) not in (2, 3):
        raise DataError(
            f"{source} holds {header}. A table has two axes, rows and columns, and grey pictures "
            "have three: picture, height, width. Save it reshaped to that."
        )
    if 0 in header.shape:
        what = "rows" if header.shape[0] == 0 else "columns"
        raise DataError(f"{source} holds {header}: there are no {what}. At least one is needed.")


def _only_table(archive: zipfile.ZipFile, keys: list[str], source: str) -> str:
    if not keys:
        raise DataError(f"{source} holds no NumPy arrays. Save some with numpy.savez(path, X=X).")
    tables = [key for key in keys if _header_of(archive, key).is_table()]
    if len(tables) == 1:
        return tables[0]
    if not tables and len(keys) == 1:
        return keys[0]
    raise DataError(
        f"{source} holds {_describe(archive, keys)}. Say which one is meant: {source}::{(tables or keys)[0]}"
    )


def _describe(archive: zipfile.ZipFile, keys: list[str]) -> str:
    text = ", ".join(f"{key} ({_header_of(archive, key)})" for key in keys[:_KEYS_SHOWN])
    hidden = len(keys) - _KEYS_SHOWN
    return f"{text} and {hidden} more" if hidden > 0 else text
