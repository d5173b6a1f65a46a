"""Delimited text, plain or packed: its separator, whether it has a header, and its columns in batches."""

from __future__ import annotations

import codecs
import contextlib
import csv
import hashlib
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gramian import arrays, progress
from gramian.checks import amount, counted
from gramian.data.table import Expected
from gramian.errors import DataError, FileError
from gramian.io.columns import INDEX_NAMES, ColumnSource
from gramian.io.names import R_DATA, R_STARTS
from gramian.io.numerals import MISSING_TOKENS, QUOTED, as_written, is_missing, is_number
from gramian.io.source import GZIP, Opened, expanded
from gramian.reading import ReadingOptions

# Earlier wins where two separators explain the text equally well: a tab is never part of a value by
# accident, a space often is.
_SEPARATORS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES, _SAMPLE_PIECE = 12, 1 << 18
SAMPLE_BYTES = 1 << 24
LARGEST_ROW = 1 << 26  # bytes that Arrow parses together, and no row may have more
GUESSED = "the text is not UTF-8 and was read as Windows-1252 (Western European)"
NO_HEADER = "the file has no header line, so columns are numbered from 0"
_LINE = rb"[^\r\n]*(?:\r\n|\n|\r|\Z)"
_LEAST, _MOST = 1 << 12, 1 << 21  # bytes of a batch
_LEAST_ROWS = 64  # of a batch: a column of strings takes as long for one row as for so many
_TOGETHER = 8  # batches that are parsed at a time, by as many threads as there are
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Attributes
    ----------
    separator : str
    names : tuple of str or None
        Its header, if it has one.
    n_fields : int
    skipped : int
        Number of lines before the first row.
    comments : int
        How many of them are comments.
    """

    separator: str
    names: tuple[str, ...] | None
    n_fields: int
    skipped: int = 0
    comments: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        comments = counted(self.comments, "comment line was", "comment lines were")
        header = () if self.names else (NO_HEADER,)
        return (*header, f"{comments} left out at the top") if self.comments else header


def open_text(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a text, whose separator, header and encoding are detected."""
    return TextSource(opened)


class TextFile:
    """The bytes of a text, piece by piece: unpacked, in UTF-8 if it is Unicode, without a byte order mark.

    A pass over all of them sets the hash of the file.
    """

    def __init__(self, opened: Opened) -> None:
        self.source, self._opened, self._file = opened.name, opened, opened.file
        self.nbytes = self._file.seek(0, io.SEEK_END)
        self._file.seek(0)
        self._packed = self._file.read(2) == GZIP
        self._passes = 0
        self._digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Return the next bytes of the file as they are."""
        data = self._file.read(size)
        if self._opened.path is not None:
            self._digest.update(data)
            self._opened.sha256 = "" if data else self._digest.hexdigest()
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
        self._file.seek(0)
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
            raise FileError(
                f"{self.source} begins as UTF-16 text but is damaged or cut off. Save it as UTF-8."
            ) from error

    def _reported(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Report how much of the file is read in this pass."""
        self._passes += 1
        again, start = "" if self._passes == 1 else f"pass {self._passes}: ", 0
        for piece in pieces:
            part = f"{amount(start)} of {amount(self.nbytes)} ({100 * start // self.nbytes} %)"
            progress.report(again + part, f"part of {self.source}", start, self.nbytes)
            start = self._file.tell()
            yield piece

    def head(self) -> bytes:
        """Return the first lines, from which the layout is detected.

        Raises
        ------
        FileError
            If this is not text.
        """
        sample, pieces = b"", self.pieces(_SAMPLE_PIECE, silent=True)
        for piece in pieces:
            sample += piece
            if sample.count(b"\n") - sample.count(b"\n#") > _SAMPLE_LINES or len(sample) >= SAMPLE_BYTES:
                break
        if b"\0" in sample:
            if sample.startswith(R_STARTS):
                raise FileError(f"{self.source} {R_DATA}")
            raise FileError(
                f"{self.source} is neither text nor a file of another known kind: bytes of it are 0. Save "
                "the table as CSV, in UTF-8."
            )
        # A letter of several bytes may have been cut.
        return sample if next(pieces, None) is None else sample[: sample.rfind(b"\n") + 1] or sample


class TextSource(ColumnSource):
    """The columns of a delimited text, whose separator, header and encoding are detected.

    Parameters
    ----------
    opened : Opened
        Perhaps packed with gzip.
    na_values : tuple of str
        Texts that stand for a missing value, in addition to the usual ones.
    notes : tuple of str
        What was decided before.
    layout : Layout, optional
        Where it is known already.

    Raises
    ------
    DataError
        If there is no line with anything in it; later if rows have different numbers of fields.
    FileError
        If the bytes are no text, or damaged.

    Examples
    --------
    >>> source = TextSource(Opened("memory", data=b"x,y\\n1,2\\n"))
    >>> source.names, [column.to_pylist() for column in next(source.batches())]
    (('x', 'y'), [['1'], ['2']])
    """

    def __init__(
        self,
        opened: Opened,
        na_values: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        layout: Layout | None = None,
    ) -> None:
        self._opened, self._file = opened, TextFile(opened)
        self.source, self.path = opened.name, opened.path
        self.na_values, self.notes, self._notes = na_values, notes, notes
        self._head = self._file.head()
        head = self._as_utf8(self._head)
        self._layout = layout = layout or detect_layout(head, self.source, na_values)
        self.names = None if layout.names is None else tuple(as_written(layout.names).to_pylist())
        self.separator = layout.separator
        self.notes += layout.notes
        self._row_bytes = len(head) // max(1, head.count(b"\n"))
        self._types = dict.fromkeys(map(str, range(layout.n_fields)), pa.string())

    def prepared(
        self, reading: ReadingOptions, expected: Expected | None
    ) -> tuple[ColumnSource, ReadingOptions]:
        """Return the text with the missing-value marks of the options."""
        marks = reading.na_values or ()
        return self if marks == self.na_values else TextSource(self._opened, marks, self._notes), reading

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield all rows; see :class:`gramian.io.columns.ColumnSource`."""
        size = _MOST if limit is None else min(_MOST, max(_LEAST, limit // 64))
        size = max(size, min(LARGEST_ROW, _LEAST_ROWS * self._row_bytes))
        blocks = self._placed(whole_rows(self._rows(size, whole=limit is None), self.source))
        for first in itertools.islice(blocks, 1):
            yield self._parsed(*first, plain)
        while group := list(itertools.islice(blocks, _TOGETHER)):
            yield from arrays.parallel_map(lambda block: self._parsed(*block, plain), group)

    def _rows(self, size: int, whole: bool) -> Iterator[bytes]:
        """Yield the text after its header, piece by piece."""
        header = len(_lines(self._head, self._layout.skipped))
        for piece in self._file.pieces(size, whole):
            if len(piece) > header:
                yield piece[header:]
            header = max(0, header - len(piece))

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
            rows = collapse_spaces(rows) or b"\n"
        # As a number, -999 stands for a missing value in any spelling.
        direct = set() if self.na_values else set(plain)

        def note_uneven(row: Any) -> str:
            uneven.append(row)
            return "error"

        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(rows),
                read_options=arrow_csv.ReadOptions(
                    column_names=[str(place) for place in range(self._layout.n_fields)],
                    block_size=LARGEST_ROW,
                    use_threads=False,  # no thread may outlive an error and the end of the program
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator,
                    newlines_in_values=b'"' in rows,
                    invalid_row_handler=note_uneven,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=self._types | {str(place): pa.float64() for place in direct},
                    null_values=MISSING_TOKENS,
                ),
            )
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
            places = [place for place in range(len(columns)) if place not in direct]
            texts = as_written(
                pa.chunked_array([columns[place] for place in places], pa.string()).combine_chunks()
            )
            for index, place in enumerate(places):
                columns[place] = texts.slice(index * len(columns[0]), len(columns[0]))
        return columns

    def _as_utf8(self, text: bytes) -> bytes:
        """Return bytes as they are if they are UTF-8, otherwise as Windows-1252, and note that."""
        if is_utf8(text):
            return text
        if GUESSED not in self.notes:
            self.notes = (GUESSED, *self.notes)
        return text.decode("cp1252", errors="replace").encode()


def is_utf8(text: bytes) -> bool:
    """Say whether bytes are text in UTF-8."""
    try:
        return text.isascii() or bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _uneven_rows(data: bytes, row: Any, source: str, lines: int) -> DataError:
    text = row.text.strip("\r\n")
    match = re.search(rb"(?m)^" + re.escape(text.encode()) + rb"\r?$", data)
    line = "a line" if match is None else f"line {lines + 1 + data[: match.start()].count(10)}"
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return DataError(
        f"{source}, {line}: {row.actual_columns} fields where {row.expected_columns} are expected "
        f"({shown!r}). Every row needs as many fields as the first; correct that line, or quote a "
        "field that contains the separator."
    )


# ------------------------------------------------------ how a text is laid out


def detect_layout(data: bytes, source: str, na_values: Sequence[str] = ()) -> Layout:
    """Find comments, the separator and the header in the first lines.

    Raises
    ------
    DataError
        If there is no line with anything in it.

    Examples
    --------
    >>> detect_layout(b"# by hand\\nx;y\\n1,5;2\\n", "memory")
    Layout(separator=';', names=('x', 'y'), n_fields=2, skipped=2, comments=1)
    """
    match = re.match(rb"(?:#" + _LINE + rb")*", data)
    comments = match[0].splitlines() if match else []
    rows = data[len(_lines(data, len(comments))) :]
    layout = _layout_of_rows(rows, source, na_values)
    if comments and layout.names is None:  # the last comment may be the header
        header = comments[-1].lstrip(b"# \t")
        fields = _split(header.decode("utf-8", errors="replace"), layout.separator)
        if fields and len(fields[0]) == layout.n_fields:
            comments = comments[:-1]
            layout = _layout_of_rows(header + b"\n" + rows, source, na_values)
    return replace(layout, skipped=layout.skipped + len(comments), comments=len(comments))


def _lines(data: bytes, count: int) -> bytes:
    """Return so many lines from the beginning."""
    match = re.match(rb"(?:%b){%d}" % (_LINE, count), data)
    return match[0] if match else data


def _layout_of_rows(data: bytes, source: str, na_values: Sequence[str]) -> Layout:
    lines = data[:SAMPLE_BYTES].split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
    text = b"\n".join(lines).decode("utf-8", errors="replace")
    best: tuple[float, str, list[list[str]]] | None = None
    for separator in _SEPARATORS:
        rows = _split(text, separator)
        score = _score(rows, separator, na_values)
        if score > 0 and (best is None or score > best[0] + 1e-9):
            best = score, separator, rows
    separator, rows = (",", _split(text, ",")) if best is None else best[1:]
    if not rows:
        why = f"it begins with a field of more than {csv.field_size_limit()} characters"
        raise DataError(f"{source} has no rows: {why if text.strip() else 'there is no text in it'}.")
    if not _has_header(rows, separator, na_values):
        return Layout(separator, None, len(rows[0]))
    names = [name.strip() for name in rows[0]]
    body = rows[1:]
    if body and all(len(row) == len(names) + 1 for row in body):
        names = ["", *names]
    lines_read = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    next(filter(None, lines_read))
    return Layout(separator, tuple(names), len(names), lines_read.line_num)


def _split(text: str, separator: str) -> list[list[str]]:
    if separator == " ":
        text = collapse_spaces(text.encode()).decode()
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    # A field beyond the limit of the csv module ends the sample early.
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in itertools.islice(lines, _SAMPLE_LINES) if row)
    # A quoted field may have been cut where the sample ends.
    return rows[:-1] if len(rows) > 2 else rows


def _score(rows: Sequence[Sequence[str]], separator: str, na_values: Sequence[str]) -> float:
    """Say how well a separator explains the rows: even lengths, and numbers between separators."""
    body = rows[1:] or rows
    if not body:
        return 0.0
    length, count = Counter(map(len, body)).most_common(1)[0]
    if length < 2:
        return 0.0
    cells = [field for row in body for field in row if not is_missing(field, na_values)]
    numbers = sum(is_number(field, separator) for field in cells)
    return count / len(body) * (0.05 + numbers / max(1, len(cells)))


def _has_header(rows: Sequence[Sequence[str]], separator: str, na_values: Sequence[str]) -> bool:
    first, body = rows[0], rows[1:]
    if not body:
        return not any(is_number(field, separator) for field in first)
    shift = 1 if all(len(row) == len(first) + 1 for row in body) else 0
    if shift:
        return True
    named = not any(is_missing(row[0], na_values) for row in body)
    if first[0].strip().casefold() in INDEX_NAMES and named:
        return True
    numeric_first = False
    for column, field in enumerate(first):
        below = [row[column] for row in body if column < len(row) and not is_missing(row[column], na_values)]
        if not below or not all(is_number(value, separator) for value in below):
            continue
        if not is_missing(field, na_values) and not is_number(field, separator):
            return True
        numeric_first = numeric_first or is_number(field, separator)
    return not numeric_first


def collapse_spaces(data: bytes) -> bytes:
    """Make one space of every run of blanks outside quotes, and none at the ends of a line."""
    data = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data)
    if b'"' not in data:
        return re.sub(rb"[ \t]+", b" ", data)
    return re.sub(rb'"[^"]*"|[ \t]+', lambda m: m[0] if m[0][:1] == b'"' else b" ", data)


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
            raise DataError(
                f"{source} has a row of more than {LARGEST_ROW:,} bytes. Is it a table? A closing quote may "
                "be missing."
            )
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
