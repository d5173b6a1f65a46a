"""Delimited text, plain or packed, and its columns in batches of rows."""

from __future__ import annotations

import codecs
import hashlib
import io
import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gramian.core import arrays, progress
from gramian.core.checks import amount, counted
from gramian.errors import DataError, FileError
from gramian.tables import layout
from gramian.tables.cells import MISSING_TOKENS
from gramian.tables.columns import ColumnSource
from gramian.tables.names import refuse_document
from gramian.tables.reading import NO_OPTIONS, ReadingOptions
from gramian.tables.source import GZIP, Opened, expanded
from gramian.tables.strings import QUOTED, as_written
from gramian.tables.table import Expected

LARGEST_ROW = 1 << 26  # bytes that Arrow parses together, and no row may have more
GUESSED = "the text is not UTF-8 and was read as Windows-1252 (Western European)"
_LEAST, _MOST = 1 << 12, 1 << 21  # bytes of a batch
_LEAST_ROWS = 64  # of a batch: a column of strings takes as long for one row as for so many
_TOGETHER = 8  # batches that are parsed at a time, by as many threads as there are
_PIECE = 1 << 18  # bytes of the beginning that are read together
_TAIL = 1 << 14  # bytes of the end of a text, where notes may stand
_BLANK = re.compile(rb"\n(?:\r?\n)+")  # lines
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_text(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a text, whose separator, header and encoding are detected."""
    return TextSource(TextFile(opened))


class TextFile:
    """The bytes of a text, piece by piece: unpacked, in UTF-8 if it is Unicode, without a byte order mark.

    A pass over all of them sets the hash of the file.
    """

    def __init__(self, opened: Opened) -> None:
        self.source, self._opened = opened.name, opened
        file = opened.file
        self.nbytes = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._packed = file.read(2) == GZIP
        self._passes = 0
        self.path = opened.path
        self._head, self._n_lines = b"", 0
        self._digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Return the next bytes of the file as they are."""
        data = self._opened.file.read(size)
        if self.path is not None:
            self._digest.update(data)
            self._opened.sha256 = self._opened.sha256 if data else self._digest.hexdigest()
        return data

    def pieces(self, size: int, whole: bool = False, silent: bool = False) -> Iterator[bytes]:
        """Yield the text from its beginning.

        Parameters
        ----------
        size : int
            Bytes that are read together.
        whole : bool
            Whether all of it will be in memory: then no more is unpacked than that may take.
        silent : bool
            Whether no progress is reported.

        Raises
        ------
        FileError
            If it is damaged.
        MemoryLimitError
        """
        self._digest = hashlib.sha256()
        self._opened.file.seek(0)
        raw = iter(partial(self.read, size), b"")
        pieces = expanded(self, size, self.source, whole) if self._packed else raw
        if not silent and self.nbytes > size:
            pieces = self._reported(pieces)
        first = next(pieces, b"")
        if not first.startswith(_WIDE):
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from pieces
            return
        try:
            for text in codecs.iterdecode(itertools.chain([first], pieces), "utf-16"):
                yield text.encode()
        except UnicodeError as error:
            why = f"{self.source} begins as UTF-16 text but is damaged or cut off."
            raise FileError(why, "Save it as UTF-8.") from error

    def _reported(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Report how much of the file is read in this pass."""
        self._passes += 1
        again, start = "" if self._passes == 1 else f"pass {self._passes}: ", 0
        for piece in pieces:
            progress_text = f"{amount(start)} of {amount(self.nbytes)} ({100 * start // self.nbytes} %)"
            progress.report(again + progress_text, f"part of {self.source}", start, self.nbytes)
            start = self._opened.file.tell()
            yield piece

    def head(self, lines: int) -> bytes:
        """Return the first lines, from which the layout is detected: so many, and more if they are short.

        Raises
        ------
        FileError
            If this is not text.
        """
        if lines <= self._n_lines:
            return self._head
        sample, pieces = b"", self.pieces(_PIECE, silent=True)
        for piece in pieces:
            sample += piece
            self._n_lines = sample.count(b"\n") - sample.count(b"\n#") - 1
            most = layout.MORE_BYTES if self._n_lines >= lines else layout.SAMPLE_BYTES
            if self._n_lines >= max(lines, layout.MORE_LINES) or len(sample) >= most:
                break
        refuse_document(sample, self.source)
        if b"\0" in sample:
            why = f"{self.source} is neither text nor a file of another known kind: bytes of it are 0."
            raise FileError(why, "Save the table as CSV, in UTF-8.")
        # A letter of several bytes may have been cut.
        whole = next(pieces, None) is None
        self._n_lines = sys.maxsize if whole else max(self._n_lines, lines)
        self._head = sample if whole else sample[: sample.rfind(b"\n") + 1] or sample
        return self._head


class TextSource(ColumnSource):
    """The columns of a delimited text, whose separator, header and encoding are detected.

    Parameters
    ----------
    file : TextFile
    reading : ReadingOptions

    Raises
    ------
    DataError
        If there is no line with anything in it; later if rows have different numbers of fields.
    FileError
        If the bytes are no text, or damaged.

    Examples
    --------
    >>> source = TextSource(TextFile(Opened("memory", data=b"x,y\\n1,2\\n")))
    >>> source.names, [column.to_pylist() for column in next(source.batches())]
    (('x', 'y'), [['1'], ['2']])
    """

    separator: str

    def __init__(self, file: TextFile, reading: ReadingOptions = NO_OPTIONS) -> None:
        self._file, self.source, self.path = file, file.source, file.path
        self.na_values, self.skip_footer = reading.na_values or (), reading.skip_footer
        self._head = file.head(layout.known_lines(reading))
        head = self._as_utf8(self._head)
        found = layout.detect_layout(head, self.source, reading)
        if not found.plain and reading.header is None:
            found = layout.detect_layout(head, self.source, reading, layout.MORE_LINES)
        self.separator = found.separator
        self._lay_out(found, None if found.names is None else tuple(as_written(found.names).to_pylist()))
        self._row_bytes = len(head) // max(1, head.count(b"\n"))
        shown = layout.first_lines(head[: layout.SAMPLE_BYTES], layout.SHOWN[0] + 1)
        lines = layout.split_lines(shown.decode("utf-8", errors="replace"), self.separator)
        self.first_lines = layout.shown_lines([line.fields for line in lines])
        self._types = dict.fromkeys(map(str, range(found.n_fields)), pa.string())

    def prepared(self, reading: ReadingOptions, expected: Expected | None = None) -> ColumnSource:
        """Return the text with the missing-value marks of the options, and its header where they say."""
        options = (reading.na_values, reading.header, reading.skip_footer, reading.skip_after_header)
        return TextSource(self._file, reading) if any(option is not None for option in options) else self

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield all rows; see :class:`gramian.tables.columns.ColumnSource`."""
        every = whole_rows(self._rows(self._size(limit), whole=limit is None), self.source)
        every = every if self.skip_footer is not None else self._first_table(every)
        blocks = self._placed(self._without_footer(every))
        for first in itertools.islice(blocks, 1):
            yield self._parsed(*first, plain)
        while group := list(itertools.islice(blocks, _TOGETHER)):
            yield from arrays.parallel_map(lambda block: self._parsed(*block, plain), group)

    def _size(self, limit: int | None) -> int:
        """Return the bytes of a block."""
        size = _MOST if limit is None else min(_MOST, max(_LEAST, limit // 64))
        return max(size, min(LARGEST_ROW, _LEAST_ROWS * self._row_bytes))

    def _rows(self, size: int, whole: bool) -> Iterator[bytes]:
        """Yield the text after its header, piece by piece."""
        header = len(layout.first_lines(self._head, self._layout.skipped))
        for piece in self._file.pieces(size, whole):
            if len(piece) > header:
                yield piece[header:]
            header = max(0, header - len(piece))

    def _first_table(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the text up to a blank line with another table below it."""
        held = b""
        for block in blocks:
            text, held = held + block, b""
            blank = _BLANK.finditer(text) if b"\n\n" in text or b"\n\r\n" in text else ()
            for match in blank:
                below = text[match.end() : match.end() + _TAIL].split(b"\n")[: layout.NEXT_LINES]
                lines = [self._as_utf8(line) for line in below]
                if layout.begins_table(
                    [layout.fields_of(line, self.separator) for line in lines], self.separator, self.names
                ):
                    self._note_table(lines[0].decode("utf-8", errors="replace"))
                    yield text[: match.start() + 1]
                    deque(blocks, 0)  # the hash is that of the whole file
                    return
                if len(below) < layout.NEXT_LINES:  # what tells may follow
                    text, held = text[: match.start()], text[match.start() :]
                    break
            if text:
                yield text
        if held:
            yield held

    def _without_footer(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Hold back the end of the text, and leave out what stands below the table."""
        held, size, lines, wanted = deque[tuple[bytes, int]](), 0, 0, self.skip_footer or 0
        for block in blocks:
            held.append((block, block.count(b"\n") if wanted else 0))
            size, lines = size + len(block), lines + held[-1][1]
            while size - len(held[0][0]) >= _TAIL and lines - held[0][1] >= wanted:
                first, count = held.popleft()
                size, lines = size - len(first), lines - count
                yield first
        rest = self._without_notes(b"".join(block for block, _ in held))
        if rest:
            yield rest

    def _without_notes(self, text: bytes) -> bytes:
        """Return the end of the text without its last lines."""
        newline = b"\n" if b"\n" in text else b"\r"
        count = self.skip_footer
        if count is None:
            last = text.rstrip(b"\r\n").rsplit(newline, layout.LAST_LINES)[-layout.LAST_LINES :]
            lines, count = self._as_utf8(newline.join(last)).split(newline), 0
            of_table, end = (self.separator, self._layout.n_fields), lines[-1]
            # Most tables end with a row.
            if layout.is_note(layout.fields_of(end, self.separator), *of_table, apart=True):
                fields = [layout.fields_of(line, self.separator) for line in lines]
                count = layout.notes_below(fields, *of_table)
            self._note_below([line.decode("utf-8", errors="replace") for line in lines[len(lines) - count :]])
            text = text.rstrip(b"\r\n") if count else text
        if not count:
            return text
        kept = text.removesuffix(newline).rsplit(newline, count)
        return kept[0] + newline if len(kept) > count else b""

    def _placed(self, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
        """Yield each block with the number of lines before it."""
        lines = self._layout.skipped
        for block in blocks:
            yield block, lines
            lines += block.count(b"\n")

    def _parsed(self, block: bytes, lines: int, plain: AbstractSet[int]) -> list[Any]:
        """Return the columns of some rows: strings, or float64 where these are plain numbers."""
        rows, uneven = self._as_utf8(block), []
        if self.separator == " ":
            rows = layout.collapse_spaces(rows) or b"\n"
        # As a number, -999 stands for a missing value in any spelling.
        direct = set() if self.na_values else set(plain)

        def note_uneven(row: Any) -> str:
            uneven.append(row)
            return "error"

        types = self._types | {str(number): pa.float64() for number in direct}
        # No thread may outlive an error and the end of the program.
        read = arrow_csv.ReadOptions(column_names=[*types], block_size=LARGEST_ROW, use_threads=False)
        parse = arrow_csv.ParseOptions(
            delimiter=self.separator, newlines_in_values=b'"' in rows, invalid_row_handler=note_uneven
        )
        convert = arrow_csv.ConvertOptions(column_types=types, null_values=MISSING_TOKENS)
        try:
            table = arrow_csv.read_csv(pa.BufferReader(rows), read, parse, convert)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, MemoryError):  # Arrow's are also errors of Arrow
                raise
            if direct and not uneven:  # a number is padded, or is none
                return self._parsed(block, lines, frozenset())
            if uneven:
                raise _uneven_rows(rows, uneven[0], self.source, lines) from error
            raise DataError(f"{self.source} cannot be read as delimited text: {error}.") from error
        columns = [column.combine_chunks() for column in table.columns]
        if re.search(QUOTED, rows):  # one call for all columns: rows may have many thousand fields
            indices = [number for number in range(len(columns)) if number not in direct]
            together = pa.chunked_array([columns[number] for number in indices], pa.string())
            texts = as_written(together.combine_chunks())
            for index, number in enumerate(indices):
                columns[number] = texts.slice(index * len(columns[0]), len(columns[0]))
        return self._without_headers(columns)

    def _as_utf8(self, text: bytes) -> bytes:
        """Return bytes as they are if they are UTF-8, otherwise as Windows-1252, and note that."""
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            if GUESSED not in self.notes:
                self.notes = (GUESSED, *self.notes)
            return text.decode("cp1252", errors="replace").encode()
        return text


def _uneven_rows(data: bytes, row: Any, source: str, before: int) -> DataError:
    text = row.text.strip("\r\n")
    match = re.search(rb"(?m)^" + re.escape(text.encode()) + rb"\r?$", data)
    line = "a line" if match is None else f"line {before + 1 + data[: match.start()].count(10)}"
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return DataError(
        f"{source}, {line}: {counted(row.actual_columns, 'field')} where {row.expected_columns} are expected "
        f"({shown!r}). Every row needs as many fields as the first; correct that line, or quote a "
        "field that contains the separator. Lines below the table are left out with skip_footer."
    )


# ---------------------------------------------------- blocks of whole rows


def whole_rows(pieces: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Cut text where rows end, into a block for each piece, or for several that a row takes."""
    rest = newline = b""
    for piece in pieces:
        rest += piece
        newline = newline or (b"\n" if b"\n" in rest else b"\r" if b"\r" in rest[:-1] else b"")
        end = _row_end(rest, newline) if newline else 0
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LARGEST_ROW:
            why = f"{source} has a row of more than {LARGEST_ROW:,} bytes. Is it a table?"
            raise DataError(why, "A closing quote may be missing.")
    if rest:
        yield rest


def _row_end(data: bytes, newline: bytes) -> int:
    """Return where the last row of a text ends, outside of quotes; 0 if none does."""
    end = data.rfind(newline) + 1
    odd = data.count(b'"', 0, end) % 2
    while end and odd:
        before = data.rfind(newline, 0, end - 1) + 1
        odd = (odd + data.count(b'"', before, end)) % 2
        end = before
    return end
