"""A file, a folder or the bytes of a stream, opened once and closed after reading."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

from gramian.errors import FileError
from gramian.rows.archives import Use, damage, require_memory
from gramian.rows.pictures import SAVE_FIRST, open_picture

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
        file = open_picture(path, source, SAVE_FIRST) if regular else path.open("rb")
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
