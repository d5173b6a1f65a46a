"""Arrays in .npy files and .npz archives, checked by their header before anything large is read."""

import ast
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, FileError

__all__ = ["read_npy", "read_npz", "read_npz_names"]

_KEYS_SHOWN = 12
# The limit that numpy itself sets: parsing a larger one is not safe.
_LARGEST_HEADER = 10_000


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
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        # numpy and zipfile raise these for damaged headers and for encryption or compression that
        # they do not know.
        ValueError,
        RuntimeError,
        TypeError,
        LookupError,
        AttributeError,
        MemoryError,
        SyntaxError,
        OverflowError,
    ) as error:
        if isinstance(error, DataError | FileError):
            raise
        detail = str(error).split("\n")[0].rstrip(".")
        raise FileError(
            f"{source} cannot be read: it is truncated, damaged or protected ({detail}). "
            "Make or copy it again."
        ) from error


def read_npy(file: IO[bytes], n_bytes: int, source: str) -> npt.NDArray[Any]:
    """Read the one array of a .npy file.

    Parameters
    ----------
    file : binary file
        Placed at the start of the array.
    n_bytes : int
        How many bytes there are: a header that claims more is refused before memory is taken.
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
    >>> np.save(buffer, np.eye(2)); size = buffer.tell(); _ = buffer.seek(0)
    >>> read_npy(buffer, size, "memory").shape
    (2, 2)
    """
    with _damage(source):
        start = file.tell()
        header = _read_header(file)
        _check_header(header, source)
        held = n_bytes - header.start
        if held < header.n_bytes:
            raise FileError(
                f"{source} is truncated: its header promises {header} ({header.n_bytes} bytes), "
                f"but {held} bytes follow. Make or copy it again."
            )
        file.seek(start)
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


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
        members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
        notes: tuple[str, ...] = ()
        if key is None:
            key = _only_table(archive, members, source)
            notes = (f"array {key!r} used: the only table in the archive",)
        if key not in members:
            raise DataError(f"{source} has no array {key!r}. It holds {_describe(archive, members)}.")
        info = members[key]
        # Seeking back in a compressed member would decompress twice: it is opened again instead.
        with archive.open(info) as member:
            header = _read_header(member)
        name = f"{source}::{key}"
        _check_header(header, name)
        with archive.open(info) as member:
            if info.file_size - header.start < header.n_bytes:
                raise FileError(f"{name} is truncated: {header} promised. Make or copy it again.")
            return np.asarray(np.lib.format.read_array(member, allow_pickle=False)), notes


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
        name = f"{key}.npy"
        if name not in archive.namelist():
            return None
        with archive.open(name) as member:
            header = _read_header(member)
        _check_names(header, key, count, source)
        with archive.open(name) as member:
            names = tuple(str(value) for value in np.lib.format.read_array(member, allow_pickle=False))
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
    version = np.lib.format.read_magic(file)
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    if length > _LARGEST_HEADER:
        raise ValueError("its header is larger than any that numpy writes for numbers")
    encoding = "utf-8" if version >= (3, 0) else "latin1"
    fields = ast.literal_eval(file.read(length).decode(encoding).strip())
    dtype = np.lib.format.descr_to_dtype(fields["descr"])
    shape = tuple(int(size) for size in fields["shape"])
    if any(size < 0 for size in shape):
        raise ValueError("its header has a negative shape")
    return _Header(shape, dtype, file.tell() - start)


def _check_header(header: _Header, source: str) -> None:
    kind = header.dtype.kind
    if header.dtype.hasobject:
        raise DataError(
            f"{source} holds Python objects that need pickle, which can run code when it is read: "
            "refused. Save it as numbers, for instance numpy.save(path, array.astype(float))."
        )
    if kind == "c":
        raise DataError(
            f"Complex data not supported: {source} holds {header}. "
            "Save its real and imaginary parts, or its absolute values, as columns."
        )
    if kind not in "buif":
        raise DataError(f"{source} holds {header}, not numbers. Save it as an array of integers or floats.")
    if len(header.shape) not in (2, 3):
        raise DataError(
            f"{source} holds {header}. A table has two axes, rows and columns, and grey pictures "
            "have three: picture, height, width. Save it reshaped to that."
        )
    if 0 in header.shape:
        what = "rows" if header.shape[0] == 0 else "columns"
        raise DataError(f"{source} holds {header}: there are no {what}. At least one is needed.")


def _headers(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, _Header]:
    headers = {}
    for key, info in members.items():
        with archive.open(info) as member:
            headers[key] = _read_header(member)
    return headers


def _only_table(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], source: str) -> str:
    if not members:
        raise DataError(f"{source} holds no NumPy arrays. Save some with numpy.savez(path, X=X).")
    headers = _headers(archive, members)
    tables = [key for key, header in headers.items() if header.is_table()]
    if len(tables) == 1:
        return tables[0]
    if not tables and len(headers) == 1:
        return next(iter(headers))
    example = tables[0] if tables else next(iter(headers))
    raise DataError(
        f"{source} holds {_describe(archive, members)}. Say which one is meant: {source}::{example}"
    )


def _describe(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> str:
    parts = [f"{key} ({header})" for key, header in _headers(archive, members).items()]
    hidden = len(parts) - _KEYS_SHOWN
    return ", ".join(parts[:_KEYS_SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")
