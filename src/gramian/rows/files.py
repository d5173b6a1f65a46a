"""From a path or an open file to a table: what kind it is, and the reader for that kind."""

import difflib
import gzip
import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from gramian.errors import FileError, InputTypeError, ParameterError, reason, shortened
from gramian.rows.columnar import table_from_columns
from gramian.rows.decoding import readable
from gramian.rows.delimited import parse_delimited
from gramian.rows.numpy_files import read_npy, read_npz
from gramian.rows.parquet_files import read_parquet
from gramian.rows.pictures import (
    PICTURE_SUFFIXES,
    Picture,
    opened_zip,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
    read_pictures,
)
from gramian.rows.table import Choice, Table, table_from_array

__all__ = ["Location", "locate", "read_location", "read_picture_list", "read_stream", "require_regular"]

_TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_KINDS = {
    **dict.fromkeys(_TEXT_SUFFIXES, "text"),
    **dict.fromkeys(PICTURE_SUFFIXES, "picture"),
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".zip": "zip",
}
# Kinds that are read from their end, or whose size is checked first: no pipe gives them.
_REGULAR = (*PICTURE_SUFFIXES, ".npy", ".npz", ".zip", ".parquet")
_SUPPORTED = (
    ".csv .tsv .txt (also with .gz), .parquet, .npy, .npz (FILE.npz::KEY), "
    "a picture, and a folder or .zip of pictures"
)
_READABLE = {
    "gzip": "gzip-compressed",
    "npy": "a NumPy array",
    "parquet": "Parquet",
    "picture": "a picture",
    "zip": "a zip archive (or an Excel workbook)",
}


@dataclass(frozen=True)
class Location:
    """A path that exists, and the array meant in it where it is an archive of arrays."""

    path: Path
    key: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}::{self.key}"


def locate(text: str) -> Location:
    """Split ``FILE::KEY`` and check that the file is there.

    Raises
    ------
    FileError
        If there is no such file or folder, or its kind is not supported.
    ParameterError
        If the text is empty, or names a key in a file that is no archive of arrays.
    """
    if not text.strip():
        raise ParameterError("the path is empty. Give the path of a file or a folder.")
    name, separator, key = text.rpartition("::")
    location = Location(Path(text))
    if separator and not _exists(location.path):
        location = Location(Path(name), key)
    path = location.path
    if not _exists(path):
        raise FileError(f"{readable(str(path))}: there is no such file or folder. {_similar(path)}")
    if path.is_dir() or not path.is_file():
        return location
    kind = _kind(path)
    if location.key is not None and kind != "npz":
        raise ParameterError(f"{readable(text)}: ::KEY names an array in an .npz file. Leave out ::{key}.")
    return location


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise FileError(
            f"{shortened(readable(str(path)))!r} cannot be opened: {why}. Check the path."
        ) from error
    return True


def _similar(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"Neither is there a folder {readable(str(path.parent))}."
    close = [readable(name) for name in difflib.get_close_matches(path.name, names, n=2)]
    return f"Did you mean {' or '.join(close)}?" if close else "Check the path."


def _kind(path: Path) -> str:
    name = path.name.lower()
    suffix = Path(name).suffix
    if suffix == ".gz":
        suffix = Path(name.removesuffix(".gz")).suffix + ".gz"
    if suffix in _KINDS:
        return _KINDS[suffix]
    advice = ""
    if suffix in (".xlsx", ".xls", ".ods"):
        advice = " Save the sheet as CSV."
    elif suffix in (".pkl", ".pickle", ".joblib", ".mat", ".h5", ".hdf5"):
        advice = " Save the array as .npy."
    kind = f"of the kind {readable(suffix)}" if suffix else "without a suffix"
    raise FileError(
        f"{readable(str(path))} is a file {kind}, which is not read. Readable are {_SUPPORTED}.{advice}"
    )


def require_regular(path: Path) -> None:
    """Refuse a pipe or a device by the name of an archive or a picture, which may have no end.

    Raises
    ------
    FileError
        As it says.
    """
    if path.suffix.lower() in _REGULAR and path.exists() and not path.is_file():
        raise FileError(f"{readable(str(path))} is no regular file. Save what comes from it as a file first.")


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(
            f"{readable(str(path))} cannot be opened: {error.strerror}. Check the path."
        ) from error
    with file:
        yield file


def read_location(location: Location, choice: Choice, size: tuple[int, int] | None = None) -> Table:
    """Read a file or a folder.

    Raises
    ------
    FileError
        If the file is empty, truncated, damaged, or of another kind than its name says.
    DataError
        If what it holds cannot be a table of numbers.
    ParameterError
        If the choice names what is not there, or does not apply to this kind.
    """
    path, source = location.path, readable(str(location.path))
    if path.is_dir():
        pictures, notes = pictures_in_folder(path)
        return _with_notes(_pictures(pictures, choice, size, source), notes)
    require_regular(path)
    with _opened(path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return read_stream(file, choice, size, source)
        kind = _kind(path)
        _check_content(file, kind, source)
        try:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            table = _read_kind(kind, file, location.key, choice, size, source)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{source} cannot be read: {error.strerror or error}.") from error
    return replace(table, sha256=digest)


def read_stream(
    stream: IO[bytes],
    choice: Choice,
    size: tuple[int, int] | None = None,
    source: str = "standard input",
) -> Table:
    """Read a binary stream, such as standard input, to its end; its kind is told from its content.

    Raises
    ------
    InputTypeError
        If the stream gives text instead of bytes.
    FileError, DataError, ParameterError
        As for a file.

    Examples
    --------
    >>> read_stream(io.BytesIO(b"x,y\\n1,2\\n"), Choice()).feature_names
    ('x', 'y')
    """
    try:
        data = stream.read()
    except (OSError, ValueError) as error:
        raise FileError(f"{source} cannot be read: {error}.") from error
    if not isinstance(data, bytes):
        raise InputTypeError(
            f"{source} gives {type(data).__name__}, but bytes are needed. "
            'Open it with mode "rb", or pass sys.stdin.buffer.'
        )
    if not data:
        raise FileError(f"{source} is empty (0 bytes). A stream can be read only once.")
    kind = _sniff(data[:64]) or "text"
    file = io.BytesIO(data)
    if kind == "zip" and _holds_arrays(file):
        kind = "npz"
    file.seek(0)
    table = _read_kind("text" if kind == "gzip" else kind, file, None, choice, size, source)
    return replace(table, sha256=hashlib.sha256(data).hexdigest())


def read_picture_list(paths: Sequence[Path], choice: Choice, size: tuple[int, int] | None = None) -> Table:
    """Read a list of picture files, in its order.

    Raises
    ------
    DataError
        If one is no picture, or sizes differ.
    FileError
        If one is missing or damaged.
    """
    return _pictures(pictures_in_list(paths), choice, size, f"{len(paths)} pictures")


def _with_notes(table: Table, notes: tuple[str, ...]) -> Table:
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def _sniff(head: bytes) -> str | None:
    """Tell the kind from the first bytes; None for what may be text."""
    for magic, kind in (
        (b"\x93NUMPY", "npy"),
        (b"PK\x03\x04", "zip"),
        (b"PK\x05\x06", "zip"),
        (b"PAR1", "parquet"),
        (b"\x1f\x8b", "gzip"),
        (b"\x89PNG", "picture"),
        (b"\xff\xd8\xff", "picture"),
        (b"GIF87a", "picture"),
        (b"GIF89a", "picture"),
        (b"II*\0", "picture"),
        (b"MM\0*", "picture"),
    ):
        if head.startswith(magic):
            return kind
    webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    # Text may begin with BM or P5 as well, but a bitmap has four zero bytes after its length.
    bitmap = head[:2] == b"BM" and head[6:10] == b"\0\0\0\0"
    return "picture" if webp or bitmap or re.match(rb"P[1-6][\r\n]", head) else None


def _check_content(file: IO[bytes], kind: str, source: str) -> None:
    head = file.read(64)
    file.seek(0)
    if not head:
        raise FileError(f"{source} is empty (0 bytes). Make or copy it again.")
    found = _sniff(head)
    expected = {"npz": "zip"}.get(kind, kind)
    if found == expected or (kind == "text" and found in (None, "gzip")):
        return
    # What is wrong with a picture, its own decoder says best.
    if kind == "picture" and found is None:
        return
    content = _READABLE.get(found or "", "something else")
    raise FileError(
        f"{source} is named like {_READABLE.get(expected, 'delimited text')}, but its content is "
        f"{content}. Give it the suffix of what it is, or make it again."
    )


def _holds_arrays(file: IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _read_kind(
    kind: str,
    file: IO[bytes],
    key: str | None,
    choice: Choice,
    size: tuple[int, int] | None,
    source: str,
) -> Table:
    if kind == "picture":
        picture = Picture(Path(source).name, partial(_rewound, file))
        return _pictures([picture], choice, size, source)
    if kind == "zip":
        return _read_zip(file, choice, size, source)
    if size is not None:
        raise ParameterError(f"size resizes pictures in files, but {source} holds a table. Leave it out.")
    if kind == "npz":
        array, notes = read_npz(file, key, source)
        return _with_notes(table_from_array(array, choice, source), notes)
    if kind == "npy":
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        return table_from_array(read_npy(file, n_bytes, source), choice, source)
    if kind == "parquet":
        columns, names = read_parquet(file, source)
        return table_from_columns(columns, names, choice, source)
    columns, header, notes = parse_delimited(_read_text(file, source), source)
    return table_from_columns(columns, header, choice, source, notes)


def _rewound(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return io.BytesIO(file.read())


def _pictures(
    pictures: Sequence[Picture], choice: Choice, size: tuple[int, int] | None, source: str
) -> Table:
    if choice.names_columns():
        raise ParameterError(
            f"columns, drop, id and label name columns of a table, but {source} holds pictures. "
            "Leave them out."
        )
    return read_pictures(pictures, source, choice.rows, size)


def _read_zip(file: IO[bytes], choice: Choice, size: tuple[int, int] | None, source: str) -> Table:
    with opened_zip(file, source) as archive:
        pictures, notes = pictures_in_zip(archive, source)
        return _with_notes(_pictures(pictures, choice, size, source), notes)


def _read_text(file: IO[bytes], source: str) -> bytes:
    data = file.read()
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{source} is truncated or damaged gzip ({error}). Make or copy it again.") from error
    if not data:
        raise FileError(f"{source} is empty: 0 bytes when unpacked. Make or copy it again.")
    return data
