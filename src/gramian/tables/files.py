"""Open a path or a stream as a source: find its format, and check that it can be read."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from gramian.core.arrays import require_memory
from gramian.errors import FileError, InputTypeError, ParameterError, reason, shortened
from gramian.tables import formats, names
from gramian.tables.formats.pictures import PictureSource, pictures_in_list
from gramian.tables.source import Opened, Source, Use, damage, opened_file

Place: TypeAlias = "Location | Sequence[Path] | IO[bytes]"
# Of files of statistics packages, functions that read them.
READERS = {".dta": "pandas.read_stata", ".sas7bdat": "pandas.read_sas", ".sav": "haven::read_sav of R"}
READERS |= {".rds": "readRDS of R", ".rda": "load of R", ".rdata": "load of R"}
SAMPLE = 1 << 16  # bytes by which text is distinguished from other content
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"})  # that text holds rarely


@dataclass(frozen=True)
class Location:
    """A path that exists, and the array meant in it where it is an archive of arrays."""

    path: Path
    key: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}::{self.key}"

    @property
    def is_stored(self) -> bool:
        """Whether it is a file or a folder, and not a pipe or a device."""
        return self.path.is_dir() or self.path.is_file()


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
        raise ParameterError("path", text, "is empty", "Give the path of a file or a folder.")
    name, separator, key = text.rpartition("::")
    location = Location(Path(text))
    if separator and not _exists(location.path):
        location = Location(Path(name), key)
    path = location.path
    if not _exists(path):
        raise FileError(f"{names.readable(str(path))}: there is no such file or folder. {_similar(path)}")
    if not location.is_stored:
        return location
    format = format_of(path)
    if location.key is not None and not format.keyed:
        keyed = ", ".join(format.suffixes[0] for format in formats.FORMATS if format.keyed)
        problem = f"{names.readable(text)}: ::NAME chooses one array or sheet of a file of {keyed}."
        raise ParameterError("path", text, problem=problem, hint=f"Leave out ::{key}.")
    return location


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        problem = f"{shortened(names.readable(str(path)))!r} cannot be opened: {why}."
        raise FileError(problem, "Check the path.") from error
    return True


def _similar(path: Path) -> str:
    try:
        entries = os.listdir(path.parent)
    except OSError:
        return f"The folder {names.readable(str(path.parent))} does not exist either."
    close = [names.readable(name) for name in difflib.get_close_matches(path.name, entries, n=2)]
    return f"Did you mean {' or '.join(close)}?" if close else "Check the path."


def format_of(path: Path) -> formats.Format:
    """Return the format of a file by its name, or of a folder by its content.

    Raises
    ------
    FileError
        If the format is not supported.
    """
    if path.is_dir():
        table = formats.PARQUET if names.parquet_files(path) else formats.FOLDER
        return formats.ZARR if names.is_zarr(path) else table
    format = formats.by_name(path)
    if format is not None:
        return format
    suffix = formats.suffix_of(path)
    kind = f"of the kind {names.readable(suffix)}" if suffix else "without a suffix"
    why = f"{names.readable(str(path))} is a file {kind}, which is not supported."
    reader = f" {READERS[suffix]} reads it." if suffix in READERS else ""
    raise FileError(why, f"Save it as one that is read: {formats.READABLE}.{reader}")


def _may_be_text(sample: bytes) -> bool:
    """Return whether text may begin so; a name in it may hold a few control characters."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16
        return True
    return b"\0" not in sample and 20 * len(sample.translate(None, _CONTROLS)) >= 19 * len(sample)


def format_of_content(opened: Opened) -> formats.Format:
    """Return the format of a stream by its content.

    Raises
    ------
    FileError
        If it is neither text nor a supported format.
    """
    file = opened.file
    format, _ = formats.by_content(file), file.seek(0)
    sample, _ = file.read(SAMPLE), file.seek(0)
    names.refuse_document(sample, opened.name)
    if format is None and not _may_be_text(sample):
        what = f"{opened.name} is neither text nor a known format: it holds bytes that do not occur in text"
        hint = f"Readable are {formats.READABLE}."
        raise FileError(f"{what}, and its first bytes match no format.", hint)
    return format or formats.TEXT


@contextmanager
def opened_source(
    location: Place, use: Use = "table", limit: int | None = None, name: str | None = None
) -> Iterator[tuple[formats.Format, Opened, Source]]:
    """Open a file, a folder, a list of pictures or a stream, whose format follows from its content.

    Parameters
    ----------
    location : Location, sequence of Path, or binary file
    use : {"table", "labels"}
    limit : int, optional
        Bytes of working memory: a format that is read as a whole raises if it exceeds it.
    name : str, optional
        What messages call it; by default its path, for a stream its ``name`` or standard input.

    Raises
    ------
    FileError
        If it is empty, truncated, damaged, or of another kind than its name says.
    InputTypeError
        If a stream returns text instead of bytes.
    MemoryLimitError
        If it does not fit into memory.
    """
    if isinstance(location, list | tuple):
        name = name or f"{len(location)} pictures"
        yield formats.FOLDER, Opened(name), PictureSource(name, *pictures_in_list(location))
        return
    with _opened(location, use, name) as opened:
        if opened.path is None:
            format = format_of_content(opened)
        else:
            format = format_of(opened.path)
            if limit is not None and not format.in_blocks:
                advice = "It can only be read as a whole: save it as .npy, .csv or .parquet"
                require_memory(opened.path.stat().st_size, opened.name, advice, limit)
            if opened.path.is_file():
                opened.file.seek(0)  # so that every format reports an empty file alike
        with damage(opened.name):  # so that no format needs it
            source = format.open(opened, location.key if isinstance(location, Location) else None)
        yield format, opened, source


def _opened(location: Any, use: Use, name: str | None) -> Opened:
    if not isinstance(location, Location):
        called = getattr(location, "name", None)
        name = name or (called if isinstance(called, str) and called != "<stdin>" else "standard input")
        return Opened(name, data=_content_of(location, name), use=use)
    path, name = location.path, name or names.readable(str(location.path))
    if location.is_stored:
        return Opened(name, path, use=use)
    # A pipe has no format but that of its content, and some formats are read from their end.
    format = formats.by_name(path)
    with opened_file(path, name, regular=format is not None and not format.packed) as file:
        return Opened(name, data=_content_of(file, name), use=use)


def _content_of(stream: IO[bytes], name: str) -> bytes:
    """Read a binary stream to its end."""
    with damage(name):
        data = stream.read()
    if not isinstance(data, bytes):
        why = f"{name} returns {type(data).__name__}, but bytes are needed."
        raise InputTypeError(why, 'Open it with mode "rb", or pass sys.stdin.buffer.')
    if not data:
        raise FileError(f"{name} is empty (0 bytes). A stream can be read only once.")
    return data
