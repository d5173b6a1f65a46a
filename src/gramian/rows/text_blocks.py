"""Delimited text in blocks of whole rows."""

from __future__ import annotations

import codecs
import hashlib
import itertools
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gramian.arrays import parallel_map
from gramian.checks import slices, told
from gramian.errors import DataError, FileError
from gramian.rows.column_blocks import OtherEncoding
from gramian.rows.delimited import (
    GUESSED,
    LARGEST_ROW,
    NO_HEADER,
    SAMPLE_BYTES,
    Layout,
    collapse_spaces,
    detect_layout,
    read_columns,
    strip_comments,
    to_utf8,
)
from gramian.rows.files import opened

_LEAST, _MOST = 1 << 12, 16 << 20  # bytes of a block
_TOGETHER = 8  # blocks that are parsed at a time, by as many threads as there are
_GZIP = 31  # how zlib is told to expect gzip
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextBlocks:
    """The rows of a text, as :class:`gramian.rows.column_blocks.Blocks` of Arrow columns.

    Parameters
    ----------
    path : Path
    source : str
        What it is called in messages.
    na_values : tuple of str
        What stands for a missing value beside what always does.
    limit : int
        Bytes of working memory, of which a block takes a small part.

    Raises
    ------
    DataError, FileError
        As of :func:`gramian.rows.delimited.parse_delimited`.
    """

    def __init__(self, path: Path, source: str, na_values: tuple[str, ...], limit: int) -> None:
        self.path, self.source, self.na_values, self.sha256 = path, source, na_values, ""
        self._size = min(_MOST, max(_LEAST, limit // 64))
        self._utf8 = True
        head = self._head(self._pieces(silent=True))
        try:
            head.decode("utf-8")
        except UnicodeDecodeError:
            self._utf8 = False
        text, _ = to_utf8(head, source)
        rows, self._comments = strip_comments(text, na_values)
        self._layout = detect_layout(rows, source, na_values)
        skipped = max(0, len(text) - len(rows))
        self.separator = self._layout.separator
        self.names = self._layout.names
        self.needed = self._estimate(text[skipped:], skipped)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the text."""
        encoding = () if self._utf8 else (GUESSED,)
        return (*encoding, *(() if self.names else (NO_HEADER,)), *self._comments)

    def _estimate(self, rows: bytes, skipped: int) -> int:
        """Bytes of the table, by the length of the first rows; gzip makes numbers three times smaller."""
        size = self.path.stat().st_size * (3 if self._packed else 1)
        lines = max(1, rows.count(b"\n"))
        return int(size / max(1, len(rows)) * lines * self._layout.n_fields * 8)

    @property
    def _packed(self) -> bool:
        with opened(self.path, self.source) as file:
            return file.read(2) == b"\x1f\x8b"

    def _head(self, pieces: Iterator[bytes]) -> bytes:
        head = b""
        for piece in pieces:
            head += piece
            if len(head) >= SAMPLE_BYTES:
                return head[: head.rfind(b"\n") + 1] or head
        return head

    def read(self, as_text: frozenset[int]) -> Iterator[list[Any]]:
        """Yield block after block, some columns as text."""
        pieces = self._pieces()
        head = b""
        while len(head) < SAMPLE_BYTES and (piece := next(pieces, b"")):
            head += piece
        head, _ = strip_comments(head, self.na_values)
        blocks = self._placed(_whole_rows(itertools.chain([head], pieces), self._size, self.source))
        while group := list(itertools.islice(blocks, _TOGETHER)):
            yield from parallel_map(lambda block: self._parsed(*block, as_text), group)

    def _placed(self, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, Layout, int]]:
        """Yield each block with its layout, the first with a header, and with the lines before it."""
        layout, lines = self._layout, 0
        for block in blocks:
            yield block, layout, lines
            lines += block.count(b"\n")
            layout = replace(layout, names=None)

    def _parsed(self, block: bytes, layout: Layout, lines: int, as_text: frozenset[int]) -> list[Any]:
        rows = self._as_utf8(block)
        if layout.separator == " ":
            rows = collapse_spaces(rows) or b"\n"
        return read_columns(rows, layout, self.source, self.na_values, as_text, lines)

    def _as_utf8(self, block: bytes) -> bytes:
        if not self._utf8:
            return block.decode("cp1252", errors="replace").encode()
        try:
            if not block.isascii():
                block.decode("utf-8")
        except UnicodeDecodeError as error:
            self._utf8 = False
            raise OtherEncoding from error
        return block

    def typed(self, column: Any) -> Any:
        """Return a column of text in the type that it would have been read in."""
        sink = pa.BufferOutputStream()
        quoted = arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid")
        arrow_csv.write_csv(pa.table([column], ["column"]), sink, quoted)
        data = sink.getvalue().to_pybytes()
        return read_columns(data, Layout(",", None, 1), self.source, self.na_values)[0]

    # ------------------------------------------------------------ bytes

    def _pieces(self, silent: bool = False) -> Iterator[bytes]:
        """Yield the text, unpacked, without a byte order mark, and in UTF-8 if it is Unicode."""
        pieces = self._unpacked(silent)
        first = next(pieces, b"")
        if not first.startswith(_WIDE):
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from pieces
            return
        try:
            for text in codecs.iterdecode(itertools.chain([first], pieces), "utf-16"):
                yield text.encode()
        except UnicodeError as error:
            raise FileError(
                f"{self.source} begins as UTF-16 text but is damaged or cut off. Save it as UTF-8."
            ) from error

    def _unpacked(self, silent: bool) -> Iterator[bytes]:
        raw = self._raw(silent)
        if not self._packed:
            yield from raw
            return
        expand, begun = zlib.decompressobj(_GZIP), False
        try:
            for data in raw:
                while data:
                    yield expand.decompress(data, self._size)
                    data, begun = expand.unconsumed_tail, not expand.eof
                    if expand.eof:  # more members may follow
                        data, expand = expand.unused_data, zlib.decompressobj(_GZIP)
            if begun:
                raise zlib.error("it ends too early")
        except zlib.error as error:
            raise FileError(
                f"{self.source} is truncated or damaged gzip ({error}). Make or copy it again."
            ) from error

    def _raw(self, silent: bool) -> Iterator[bytes]:
        found = hashlib.sha256()
        with opened(self.path, self.source) as file:
            pieces = slices(os.fstat(file.fileno()).st_size, self._size)
            for piece in pieces if silent else told(pieces, f"part of {self.path.name}"):
                data = file.read(piece.stop - piece.start)
                found.update(data)
                yield data
        self.sha256 = found.hexdigest()


def _whole_rows(pieces: Iterator[bytes], size: int, source: str) -> Iterator[bytes]:
    """Cut text where rows end, into blocks of about one size."""
    rest, most, newline = b"", size, b""
    for piece in pieces:
        rest += piece
        newline = newline or (b"\n" if b"\n" in rest else b"\r" if b"\r" in rest[:-1] else b"")
        start = 0
        while newline and len(rest) - start > most:
            end = _row_end(rest, start, start + most, newline)
            if end > start:
                yield rest[start:end]
                start, most = end, size
            elif most > LARGEST_ROW:
                raise DataError(
                    f"{source} has a row of more than {LARGEST_ROW:,} bytes. Is it a table? A closing quote "
                    "may be missing."
                )
            else:
                most *= 2
        rest = rest[start:]
    if rest:
        yield rest


def _row_end(data: bytes, start: int, stop: int, newline: bytes) -> int:
    """Return where the last row ends of a part of a text, outside of quotes; its start, if none does."""
    end = data.rfind(newline, start, stop) + 1
    odd = data.count(b'"', start, end) % 2
    while end > start and odd:
        before = data.rfind(newline, start, end - 1) + 1
        odd = (odd + data.count(b'"', max(before, start), end)) % 2
        end = before
    return max(end, start)
