"""Delimited text: its separator, whether it has a header, and its columns as Arrow arrays."""

from __future__ import annotations

import codecs
import contextlib
import csv
import hashlib
import io
import itertools
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv as arrow_csv

from gramian.arrays import parallel_map
from gramian.checks import counted, listed, slices, told
from gramian.errors import DataError, FileError
from gramian.rows.columnar import OtherEncoding, WideBlock
from gramian.rows.opened import opened_file as opened
from gramian.rows.table import Choice
from gramian.rows.text_numbers import MISSING_TOKENS, is_missing, is_number, without_numbers

# Earlier wins where two separators explain the text equally well: a tab is never part of a value by
# accident, a space often is.
_SEPARATORS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES = 12
SAMPLE_BYTES = 1 << 24
LARGEST_ROW = 1 << 26  # bytes that Arrow parses together, and no row may have more
GUESSED = "text is not UTF-8: read as Windows-1252 (Western European)"
NO_HEADER = "no header line: columns are known by position, counted from 0"
_ROW_NAME_HEADERS = ("", "rownames", "row.names", "row_names", "unnamed: 0")


@dataclass(frozen=True)
class Layout:
    """How a text is laid out: its separator, its header if it has one, and its number of fields."""

    separator: str
    names: tuple[str, ...] | None
    n_fields: int


def to_utf8(data: bytes, source: str) -> tuple[bytes, tuple[str, ...]]:
    """Give text as UTF-8 without a byte order mark, and a note where the encoding was a guess.

    Raises
    ------
    FileError
        If the bytes are no text.

    Examples
    --------
    >>> to_utf8("a,é".encode("utf-16"), "memory")[0].decode()
    'a,é'
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16").encode("utf-8"), ()
        except UnicodeError as error:
            raise FileError(
                f"{source} begins as UTF-16 text but is damaged or cut off. Save it as UTF-8."
            ) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data[:SAMPLE_BYTES]:
        raise FileError(f"{source} is not text: it holds zero bytes. Save it as CSV in UTF-8.")
    if data.isascii():
        return data, ()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").encode("utf-8"), (GUESSED,)
    return data, ()


def detect_layout(data: bytes, source: str, na_values: Sequence[str] = ()) -> Layout:
    """Find the separator and the header in the first lines.

    Raises
    ------
    DataError
        If there is no line with anything in it.

    Examples
    --------
    >>> detect_layout(b"x;y\\n1,5;2\\n", "memory")
    Layout(separator=';', names=('x', 'y'), n_fields=2)
    """
    text = _sample(data)
    best: tuple[float, str, list[list[str]]] | None = None
    for separator in _SEPARATORS:
        rows = _split(text, separator)
        score = _score(rows, separator, na_values)
        if score > 0 and (best is None or score > best[0] + 1e-9):
            best = score, separator, rows
    separator, rows = (",", _split(text, ",")) if best is None else best[1:]
    if not rows and text.strip():
        raise DataError(
            f"{source} begins with a field of more than {csv.field_size_limit()} characters. "
            "Is it a table? A closing quote may be missing."
        )
    if not rows:
        raise DataError(f"{source} has no rows: there is no text in it.")
    if not _has_header(rows, separator, na_values):
        return Layout(separator, None, len(rows[0]))
    names = [name.strip() for name in rows[0]]
    body = rows[1:]
    if body and all(len(row) == len(names) + 1 for row in body):
        names = ["", *names]
    return Layout(separator, tuple(names), len(names))


def _sample(data: bytes) -> str:
    lines = data[:SAMPLE_BYTES].split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
    return b"\n".join(lines).decode("utf-8", errors="replace")


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
    if first[0].strip().casefold() in _ROW_NAME_HEADERS and named:
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


def strip_comments(data: bytes, na_values: Sequence[str]) -> tuple[bytes, tuple[str, ...]]:
    """Take out leading lines that start with ``#``, unless the last of them is the header."""
    start = 0
    lines = []
    while data.startswith(b"#", start):
        end = data.find(b"\n", start) + 1 or len(data)
        lines.append(data[start:end])
        start = end
    if not lines:
        return data, ()
    rest = data[start:]
    header = lines[-1].lstrip(b"# \t")
    layout = detect_layout(rest, "the text", na_values) if rest.strip() else None
    if layout is not None and layout.names is None:
        fields = _split(header.decode("utf-8", errors="replace"), layout.separator)
        if fields and len(fields[0]) == layout.n_fields:
            lines, rest = lines[:-1], header + rest
    note = f"{counted(len(lines), 'comment line was', 'comment lines were')} left out at the top"
    return rest, (note,) if lines else ()


def parse_delimited(
    data: bytes, source: str, na_values: Sequence[str] = (), layout: Layout | None = None
) -> tuple[list[Any], tuple[str, ...] | None, tuple[str, ...], str]:
    """Read delimited text into Arrow columns.

    Parameters
    ----------
    data : bytes
    source : str
    na_values : sequence of str
        What stands for a missing value beside what always does.
    layout : Layout, optional
        Where it is known already.

    Returns
    -------
    columns : list of pyarrow.ChunkedArray
        Of numbers, or of text that may still stand for numbers.
    names : tuple of str or None
        The header, or None where the text has none.
    notes : tuple of str
    separator : str

    Raises
    ------
    DataError
        If rows have different numbers of fields, or there are none.
    FileError
        If the bytes are no text.

    Examples
    --------
    >>> columns, names, notes, separator = parse_delimited(b"x,y\\n1,2\\n", "memory")
    >>> names, columns[1].to_pylist(), separator
    (('x', 'y'), [2], ',')
    """
    data, notes = to_utf8(data, source)
    data, comment_notes = strip_comments(data, na_values)
    layout = layout or detect_layout(data, source, na_values)
    if layout.separator == " ":
        data = collapse_spaces(data)
    columns = read_columns(data, layout, source, na_values)
    if len(columns[0]) == 0:
        raise DataError(f"{source} has no rows: only a header line. Add at least one row of numbers.")
    if layout.names is None:
        notes = (*notes, NO_HEADER)
    return columns, layout.names, (*notes, *comment_notes), layout.separator


def read_columns(
    data: bytes,
    layout: Layout,
    source: str,
    na_values: Sequence[str],
    as_text: Collection[int] = (),
    lines: int = 0,
) -> list[Any]:
    """Read rows; some columns as text, whatever they hold. So many ``lines`` were before them."""
    uneven: list[Any] = []
    header = _header_short_by_one(data, layout)
    # Without an end of line, Arrow takes a lone header for a row that was cut off.
    end = b"" if data.endswith((b"\n", b"\r")) else b"\n"
    if header or end:
        data = b"".join((header, data, end))

    def note_uneven(row: Any) -> str:
        uneven.append(row)
        return "error"

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(
                column_names=[str(index) for index in range(layout.n_fields)],
                skip_rows_after_names=0 if layout.names is None else 1,
                block_size=LARGEST_ROW,
                use_threads=False,  # no thread may outlive an error and the end of the program
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.separator,
                newlines_in_values=b'"' in data,
                invalid_row_handler=note_uneven,
            ),
            convert_options=arrow_csv.ConvertOptions(
                null_values=[*MISSING_TOKENS, *na_values],
                column_types={str(place): pa.string() for place in as_text},
            ),
        )
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):  # Arrow's are also errors of Arrow
            raise
        if uneven:
            raise _uneven_rows(data[len(header) :], uneven[0], source, lines) from error
        raise DataError(f"{source} cannot be read as delimited text: {error}.") from error
    return list(table.columns)


def wide_block(
    data: bytes,
    layout: Layout,
    na_values: Sequence[str],
    as_text: Collection[int],
    columns: Callable[[], list[Any]],
) -> WideBlock | None:
    """Parse rows without a header field after field, as one Arrow column of numbers and one of text.

    None where fields are quoted, rows differ in length, or a field that is not to be text is no plain number:
    then ``columns`` decides.
    """
    data = data.replace(b"\r\n", b"\n")
    if b'"' in data or b"\r" in data:
        return None
    rows = [line.split(layout.separator.encode()) for line in data.split(b"\n") if line]
    if not rows or any(len(row) != layout.n_fields for row in rows):
        return None
    is_text = np.zeros(layout.n_fields, dtype=np.bool_)
    is_text[list(as_text)] = True
    try:
        numbers = _fields(rows, ~is_text, na_values)
        text = _fields(rows, is_text, na_values, pa.string())
    except pa.ArrowException:
        return None
    real = pa.types.is_floating(numbers.type)
    if not (real or pa.types.is_integer(numbers.type) or pa.types.is_null(numbers.type)):
        return None
    values = without_numbers(numbers, na_values).cast(pa.float64(), safe=False).to_numpy()
    return WideBlock(
        values.reshape(len(rows), -1),
        np.flatnonzero(~is_text),
        columns,
        text=text,
        text_places=np.flatnonzero(is_text),
        real=real,
    )


def _fields(
    rows: Sequence[list[bytes]], chosen: npt.NDArray[np.bool_], na_values: Sequence[str], kind: Any = None
) -> Any:
    """Parse the fields of some columns row by row into one Arrow column, of a type that may be given."""
    if not chosen.any():
        return pa.chunked_array([pa.nulls(0, kind)])
    of_rows = rows if chosen.all() else (itertools.compress(row, chosen.tolist()) for row in rows)
    table = arrow_csv.read_csv(
        pa.BufferReader(b"\n".join([*map(b"\n".join, of_rows), b""])),
        read_options=arrow_csv.ReadOptions(
            column_names=["fields"], block_size=LARGEST_ROW, use_threads=False
        ),
        parse_options=arrow_csv.ParseOptions(delimiter="\x1f", ignore_empty_lines=False),
        convert_options=arrow_csv.ConvertOptions(
            null_values=[*MISSING_TOKENS, *na_values], column_types={} if kind is None else {"fields": kind}
        ),
    )
    return table.column(0)


def _header_short_by_one(data: bytes, layout: Layout) -> bytes:
    """Give what the header lacks where it has no name for the first column, as R writes it."""
    if layout.names is None or layout.names[0] != "":
        return b""
    first = _split(_sample(data), layout.separator)[0]
    return layout.separator.encode() if len(first) == layout.n_fields - 1 else b""


def _uneven_rows(data: bytes, row: Any, source: str, lines: int) -> DataError:
    text = row.text.strip("\r\n")
    found = re.search(rb"(?m)^" + re.escape(text.encode()) + rb"\r?$", data)
    line = "a line" if found is None else f"line {lines + 1 + data[: found.start()].count(10)}"
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return DataError(
        f"{source}, {line}: {row.actual_columns} fields where {row.expected_columns} are expected "
        f"({shown!r}). Every row needs as many fields as the first; correct that line, or quote a "
        "field that contains the separator."
    )


# ----------------------------------------------- in blocks of whole rows

_LEAST, _MOST = 1 << 12, 16 << 20  # bytes of a block
_TOGETHER = 8  # blocks that are parsed at a time, by as many threads as there are
_GZIP = 31  # how zlib is told to expect gzip
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextBlocks:
    """The rows of a text, as :class:`gramian.rows.columnar.Blocks` of Arrow columns.

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
        head = _first_bytes(pieces)
        return (head[: head.rfind(b"\n") + 1] or head) if len(head) >= SAMPLE_BYTES else head

    def read(self, as_text: frozenset[int]) -> Iterator[list[Any] | WideBlock]:
        """Yield block after block, some columns as text."""
        pieces = self._pieces()
        head, _ = strip_comments(_first_bytes(pieces), self.na_values)
        blocks = self._placed(_whole_rows(itertools.chain([head], pieces), self._size, self.source))
        for first in itertools.islice(blocks, 1):
            yield self._parsed(*first, as_text)
        while group := list(itertools.islice(blocks, _TOGETHER)):
            yield from parallel_map(lambda block: self._parsed(*block, as_text), group)

    def _placed(self, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, Layout, int]]:
        """Yield each block with its layout, the first with a header, and with the lines before it."""
        layout, lines = self._layout, 0
        first = next(blocks, b"")
        if layout.names is not None and first.count(b"\n") < 2:
            first += next(blocks, b"")  # a header alone has no types to go by
        for block in itertools.chain([first], blocks):
            yield block, layout, lines
            lines += block.count(b"\n")
            layout = replace(layout, names=None)

    def _parsed(
        self, block: bytes, layout: Layout, lines: int, as_text: frozenset[int]
    ) -> list[Any] | WideBlock:
        rows = self._as_utf8(block)
        if layout.separator == " ":
            rows = collapse_spaces(rows) or b"\n"
        columns = partial(read_columns, rows, layout, self.source, self.na_values, as_text, lines)
        wide = lines > 0 and rows.count(b"\n") < layout.n_fields
        return (wide_block(rows, layout, self.na_values, as_text, columns) if wide else None) or columns()

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


def _first_bytes(pieces: Iterator[bytes]) -> bytes:
    """Join pieces until they are a sample."""
    found, length = [], 0
    while length < SAMPLE_BYTES and (piece := next(pieces, b"")):
        found.append(piece)
        length += len(piece)
    return b"".join(found)


def _whole_rows(pieces: Iterator[bytes], size: int, source: str) -> Iterator[bytes]:
    """Cut text where rows end, into blocks of about one size."""
    most, newline = size, b""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length <= most:  # a row may be many pieces long, which are joined once
            continue
        rest = b"".join(waiting)
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
        if not newline:
            most *= 2
        waiting = [rest[start:]]
        length = len(waiting[0])
    if length:
        yield b"".join(waiting)


def _row_end(data: bytes, start: int, stop: int, newline: bytes) -> int:
    """Return where the last row ends of a part of a text, outside of quotes; its start, if none does."""
    end = data.rfind(newline, start, stop) + 1
    odd = data.count(b'"', start, end) % 2
    while end > start and odd:
        before = data.rfind(newline, start, end - 1) + 1
        odd = (odd + data.count(b'"', max(before, start), end)) % 2
        end = before
    return max(end, start)


# ------------------------------------------ GCT files of gene expression

DIGITS = 18  # of a number of rows or columns, at most
_SIZES = {b"#1.2": 2, b"#1.3": 4}


def read_gct(data: bytes, choice: Choice, source: str) -> tuple[list[Any], list[str], tuple[str, ...], str]:
    """Read a GCT file of version 1.2 or 1.3 into Arrow columns, the names of its rows first.

    Descriptions of rows and of columns are left out, but for the row that is wanted as labels.

    Raises
    ------
    FileError
        If its first lines are not those of a GCT file, or say another size than it has.
    DataError
        If rows have different numbers of fields.
    """
    data, notes = to_utf8(data, source)
    first, sizes, table = (*data.split(b"\n", 2), b"", b"")[:3]
    numbers = [int(size) for size in sizes.split() if size.isdigit() and len(size) <= DIGITS]
    if len(numbers) != _SIZES.get(first.strip()) or not table.strip():
        raise FileError(
            f"{source} is truncated, or no GCT file: those begin with a line #1.2 or #1.3, then one of their "
            "size. Make or copy it again, or give it the suffix of what it is, such as .tsv."
        )
    described, labelling = (1, 0) if len(numbers) == 2 else numbers[2:]
    names = tuple(table.partition(b"\n")[0].decode("utf-8").strip("\r").split("\t"))
    if len(names) != 1 + described + numbers[1]:
        raise FileError(
            f"{source} is truncated or altered: its second line promises {numbers[1]} columns of numbers, "
            f"and there are {max(len(names) - 1 - described, 0)}. Make or copy it again."
        )
    layout = Layout("\t", names, len(names))
    columns, _, _, separator = parse_delimited(table, source, choice.na_values or (), layout)
    if len(columns[0]) != numbers[0] + labelling:
        raise FileError(
            f"{source} is truncated or altered: its second line promises {numbers[0]} rows, and there are "
            f"{len(columns[0]) - labelling}. Make or copy it again."
        )
    entries = columns[0].slice(0, labelling).to_pylist()
    wanted = [row for row, entry in enumerate(entries) if entry == choice.label_row]
    rows = np.array([*wanted, *range(labelling, len(columns[0]))], dtype=np.int64)
    left = [*names[1 : 1 + described], *(entry for entry in entries if entry != choice.label_row)]
    notes = (*notes, f"{listed(left)} left out: no numbers but descriptions") if left else notes
    places = [0, *range(1 + described, len(columns))]
    return (
        [columns[place].take(rows) for place in places],
        [names[place] for place in places],
        notes,
        separator,
    )
