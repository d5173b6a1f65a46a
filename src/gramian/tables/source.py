"""What is opened: a file, a folder or the bytes of a stream; the sources that formats return; their limits.

A header of a few bytes can claim any size, and libraries meet damaged bytes unprepared.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import EXACT_IN_FLOAT32, require_memory
from gramian.core.checks import first_few
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError, reason
from gramian.tables.names import readable
from gramian.tables.table import Origin

Use = Literal["table", "labels"]

_KEYS_SHOWN = 12
SAVE_FIRST = "Save its output to a file first."
TEXT = 64  # bytes of a short text of any length


@dataclass(frozen=True)
class Header:
    """An array in a file: the shape and dtype in its header, and a function that reads it.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        That of str for text of any length.
    read : callable
        Returns it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], npt.NDArray[Any]]

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def fits(self, use: Use) -> bool:
        """Say whether its shape and kind are those of a table or of labels."""
        if use == "table":
            return len(self.shape) in (2, 3) and self.dtype.kind in "buif"
        one_axis = sum(length != 1 for length in self.shape) <= 1 <= len(self.shape)
        return one_axis and self.dtype.kind in "buifU"

    def __str__(self) -> str:
        kind = "text" if self.dtype.kind == "U" else str(self.dtype)
        return f"{' x '.join(map(str, self.shape))} {kind}" if self.shape else f"single {kind}"


def pick_array(
    names: Sequence[str], look: Callable[[str], Header], key: str | None, source: str, use: Use = "table"
) -> tuple[str, Header, tuple[str, ...]]:
    """Return the name and the header of one array of several; the others are not touched.

    Parameters
    ----------
    names : sequence of str
    look : callable
        Takes a name and returns a :class:`Header`.
    key : str or None
        The array to read; None takes the only one that fits, and adds a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    key : str
    header : Header
        Its ``read`` raises a MemoryLimitError if the array exceeds the memory limit.
    notes : tuple of str

    Raises
    ------
    DataError
        If the key is unknown or missing, or its array does not suit ``use``.

    Examples
    --------
    >>> stored = {"X": np.eye(2), "y": np.zeros(2)}
    >>> def look(name): return Header(stored[name].shape, stored[name].dtype, lambda: stored[name])
    >>> pick_array(["X", "y"], look, None, "memory")[2]
    ("array 'X' was read, the only table in the archive",)
    """
    notes: tuple[str, ...] = ()
    if key is None:
        key = _only(names, look, source, use)
        notes = (f"array {key!r} was read, the only {use} in the archive",)
    key = key if key in names else key.strip("/")
    if key not in names:
        raise DataError(f"{source} has no array {key!r}. It holds {_described(names, look)}.")
    header, name = look(key), f"{source}::{key}"
    require(header, name, use)

    def read() -> npt.NDArray[Any]:
        require_room(header, name)
        return header.read()

    return key, replace(header, read=read), notes


def require(header: Header, source: str, use: Use = "table") -> None:
    """Check from its header that an array can be a table of real numbers, or labels.

    Raises
    ------
    DataError
    """
    if header.dtype.hasobject:
        what = f"{source} holds Python objects that need pickle, which is not supported because reading it"
        hint = "Save the array as numbers, for instance numpy.save(path, array.astype(float))."
        raise DataError(f"{what} can run code.", hint)
    if not header.fits(use):
        needed = ", but labels need one text or number for each row. Choose another."
        if use == "table":
            needed = (
                ". A table has real numbers and two axes, rows and columns; grey pictures have three: "
                "picture, height, width. Save it like that."
            )
        raise DataError(f"{source} holds {header}{needed}")
    if use == "table" and 0 in header.shape:
        what = "rows" if header.shape[0] == 0 else "columns"
        raise DataError(f"{source} holds {header}: there are no {what}. At least one is needed.")


def require_room(header: Header, source: str) -> None:
    """Check that an array fits into the memory limit: a header of a few bytes can claim any size.

    Raises
    ------
    MemoryLimitError
    """
    need = math.prod(header.shape) * (header.dtype.itemsize or TEXT)
    require_memory(need, f"{source} holds {header}, which", "Save a part of it or smaller numbers")


def _only(names: Sequence[str], look: Callable[[str], Header], source: str, use: Use) -> str:
    if not names:
        raise DataError(f"{source} holds no arrays of numbers or text. Is it the right file?")
    fitting = [name for name in names if look(name).fits(use)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and len(names) == 1:
        return names[0]
    largest = max(fitting or names, key=lambda name: math.prod(look(name).shape))
    hint = f"Choose one, as in {source}::{largest}, or save it in its own file."
    raise DataError(f"{source} holds {_described(names, look)}.", hint)


def _described(names: Sequence[str], look: Callable[[str], Header]) -> str:
    return first_few(names, lambda name: f"{name} ({look(name)})", _KEYS_SHOWN)


@contextmanager
def damage(source: str) -> Iterator[None]:
    """Turn any exception that a library raises on a file into a GramianError, with the library's words."""
    try:
        yield
    except (GramianError, Warning):  # warnings may be errors
        raise
    except MemoryError as error:
        why = f"{source} takes more memory than there is ({error})."
        raise MemoryLimitError(why, "Read a part of it.") from error
    except Exception as error:  # libraries meet damaged bytes unprepared and raise anything
        if isinstance(error, OSError) and error.strerror:
            raise FileError(f"{source} cannot be read: {reason(error)}. Check the path.") from error
        detail = str(error).split("\n")[0].rstrip(".")
        why = f"{source} cannot be read: it is truncated, damaged or protected, or of another kind"
        raise FileError(f"{why} ({detail}).", "Make or copy it again.") from error


def open_regular(path: Path, name: str, advice: str = "Leave it out.") -> io.BufferedReader:
    """Open a file that must be a regular one: a picture, or an archive.

    Raises
    ------
    FileError
        For a pipe or a device, which might block forever, and for a missing file.
    """
    with damage(readable(name)):
        if path.exists() and not path.is_file():
            raise FileError(f"{readable(name)} is not a regular file. {advice}")
        return path.open("rb")


def dtype_of_rows(stored: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype that numbers of a file have as rows; true and false are bytes there.

    Examples
    --------
    >>> dtype_of_rows("u1"), dtype_of_rows("i4")
    (dtype('float32'), dtype('float64'))
    """
    kind = np.dtype(stored).newbyteorder("=")
    single = kind in (*EXACT_IN_FLOAT32, np.float32) or kind.kind == "b"
    return np.dtype(np.float32 if single else np.float64)


def bytes_of_rows(shape: tuple[int, ...], stored: npt.DTypeLike) -> int:
    """Return the bytes that numbers of a file take in memory as rows."""
    return math.prod(shape) * dtype_of_rows(stored).itemsize


def whole_within(limit: int) -> int:
    """Return the bytes in memory of a table in a file up to which it is read as a whole."""
    return limit // 4


# ---- A file, a folder or the bytes of a stream, opened once and closed after reading

GZIP, PIECE = b"\x1f\x8b", 1 << 20
_WBITS = 31  # makes zlib expect gzip
HASHED = 64 << 20  # bytes up to which every kind of file is hashed


class Opened(ExitStack):
    """A file, a folder or the content of a stream; files that a format opens close with it.

    Parameters
    ----------
    name : str
        What messages call it.
    path : Path, optional
    data : bytes, optional
        The content, where there is no path.
    use : {"table", "labels"}
        How the content is used.

    Examples
    --------
    >>> with Opened("memory", data=b"1,2") as opened:
    ...     opened.content(), opened.sha256[:8]
    (b'1,2', '17f8af97')
    """

    def __init__(
        self, name: str, path: Path | None = None, data: bytes | None = None, use: Use = "table"
    ) -> None:
        super().__init__()
        self.name, self.path, self.use = name, path, use
        self.is_whole = True  # whether one file has all that is read, and all of it is
        self.sha256 = "" if data is None else hashlib.sha256(data).hexdigest()
        self._data = None if data is None else unpacked(data, name)

    @cached_property
    def file(self) -> IO[bytes]:
        """The content as a file that can be read from any place."""
        if self.path is None:
            return io.BytesIO(self._data or b"")
        return self.enter_context(opened_file(self.path, self.name, regular=True))

    def __exit__(self, *details: Any) -> None:
        """Close the file; it is opened again where it is needed again."""
        self.__dict__.pop("file", None)
        super().__exit__(*details)

    def content(self) -> bytes:
        """Return all of it, without the gzip around it."""
        if self._data is not None or self.path is None:
            return self._data or b""
        with opened_file(self.path, self.name) as file, damage(self.name):
            data = file.read()
        self.sha256 = hashlib.sha256(data).hexdigest()
        return unpacked(data, self.name)

    def hash(self, most: int = HASHED) -> str:
        """Return the SHA-256 of a file of at most so many bytes, and keep it."""
        if self.sha256 or self.path is None or not self.path.is_file() or not self.is_whole:
            return self.sha256
        if os.fstat(self.file.fileno()).st_size <= most:
            self.file.seek(0)
            self.sha256 = hashlib.file_digest(self.file, "sha256").hexdigest()  # type: ignore[arg-type]
        return self.sha256


@contextmanager
def opened_file(path: Path, source: str, regular: bool = False) -> Iterator[io.BufferedReader]:
    """Open a file for reading.

    Raises
    ------
    FileError
        If it is empty, missing, not readable, or a pipe where a regular file is needed.
    """
    with damage(source):
        file = open_regular(path, source, SAVE_FIRST) if regular else path.open("rb")
    with file:
        state = os.fstat(file.fileno())
        if stat.S_ISREG(state.st_mode) and state.st_size == 0:
            raise FileError(f"{source} is empty (0 bytes). Make or copy it again.")
        yield file


def unpacked(data: bytes, source: str) -> bytes:
    """Return bytes without the gzip around them; raises as :func:`expanded`."""
    if not data.startswith(GZIP):
        return data
    return b"".join(expanded(io.BytesIO(data), PIECE, source, whole=True))


def expanded(file: Any, size: int, source: str, whole: bool = False) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces of at most so many bytes.

    Raises
    ------
    FileError
        If it is damaged.
    MemoryLimitError
        If all of it is needed, and exceeds the memory limit.
    """
    # Python's gzip module takes a fifth longer.
    expand, begun, length = zlib.decompressobj(_WBITS), False, 0
    with damage(f"{source} (gzip)"):
        for data in iter(partial(file.read, size), b""):
            while data:
                piece = expand.decompress(data, size)
                length += len(piece)
                if whole:
                    require_memory(length, f"{source}, when it is unpacked,", "Pack a part of it")
                yield piece
                data, begun = expand.unconsumed_tail, not expand.eof
                if expand.eof:  # more members may follow
                    data, expand = expand.unused_data, zlib.decompressobj(_WBITS)
        if begun or not length:
            raise ValueError("it ends too early" if begun else "0 bytes when unpacked")


# ---- The three kinds of source that a format returns: an array, pictures, or columns


@dataclass(frozen=True, eq=False)
class ArraySource:
    """An array in a file that has not been read yet; its shape and dtype are known.

    Attributes
    ----------
    source : str
        What messages call it.
    shape : tuple of int
        (n, d), or (n, height, width) for pictures.
    dtype : numpy.dtype
    read : callable
        Returns rows, a range or None for all, in memory: an array, or a sparse matrix.
    lazy : callable or None
        Returns the array as it is left on disk, under a limit of memory; None if it can only be read whole.
    bytes_read : callable or None
        Bytes that reading some rows takes in memory; by default those of the whole array.
    columns, row_names : tuple of str or None
    set_aside : callable or None
        Returns labels or names of rows that are no column of the array, by the option and a name.
    names_aside : tuple of str
        Of those.
    notes : tuple of str
    notes_in_memory : tuple of str
        Notes that apply only if the numbers are read into memory.
    alleles : dict of str to (str, str) or None
        Of genotypes: the allele that a column counts, and the other one, by its name.
    origin : callable
        Returns the hash of the data, once they are read, if it is not that of the file.
    axes : mapping of str to ndarray
        Of a field on a grid: the positions along its height and width, by the names of these dimensions.
    """

    source: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[..., Any]
    lazy: Callable[..., Any] | None = None
    bytes_read: Callable[[range], int] | None = None
    columns: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    set_aside: Callable[[str, str], npt.NDArray[Any]] | None = None
    names_aside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    notes_in_memory: tuple[str, ...] = ()
    alleles: Mapping[str, tuple[str, str]] | None = None
    origin: Callable[[], Origin] = Origin
    axes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, header: Header, name: str, notes: tuple[str, ...] = (), **more: Any) -> ArraySource:
        """Return the source of an array that is read as a whole."""
        return cls(name, header.shape, header.dtype, partial(rows_of, header.read), notes=notes, **more)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """All names that a choice may use for columns, none of pictures; None where others are aside."""
        if self.set_aside is not None:
            return None
        positions = range(self.shape[1]) if len(self.shape) == 2 else ()
        return self.columns or tuple(map(str, positions))

    def memory_of(self, rows: range) -> int:
        """Return the bytes that reading some rows takes in memory."""
        return bytes_of_rows(self.shape, self.dtype) if self.bytes_read is None else self.bytes_read(rows)


def grid_axes(shape: tuple[int, ...], axes: Sequence[tuple[str, Header | None]]) -> dict[str, Any]:
    """Return the positions along height and width of an array, by their names; none unless both are numbers.

    Parameters
    ----------
    shape : tuple of int
        (n, height, width).
    axes : sequence of (str, Header or None)
        The names of its dimensions, and what the file has of the positions along them.
    """
    along = {name: header for name, header in axes[1:] if header is not None and header.dtype.kind in "iuf"}
    lengths = [header.shape for header in along.values()]
    if len(shape) != 3 or lengths != [(shape[1],), (shape[2],)]:
        return {}
    return {name: np.asarray(header.read()) for name, header in along.items()}


def rows_of(read: Callable[[], Any], rows: range | None = None) -> Any:
    """Return some rows of an array that is read as a whole."""
    array = read()
    return array if rows is None or len(rows) == array.shape[0] else array[rows.start : rows.stop : rows.step]


# An ArraySource, a gramian.tables.formats.pictures.PictureSource, or a gramian.tables.columns.ColumnSource.
Source: TypeAlias = Any
