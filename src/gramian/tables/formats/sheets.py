"""Sheets of workbooks: .xlsx, .xls and .ods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, time
from functools import reduce
from itertools import chain, islice
from typing import Any
from zipfile import ZipFile, is_zipfile

import pyarrow as pa

from gramian.core.arrays import require_memory
from gramian.core.checks import listed
from gramian.errors import DataError, ParameterError, needs
from gramian.tables import layout
from gramian.tables.columns import ColumnSource
from gramian.tables.reading import NO_OPTIONS, ReadingOptions
from gramian.tables.source import Opened
from gramian.tables.table import Expected

LOOK = 200  # rows that show whether a sheet has a table
WHOLE = 1e16  # a whole number below it is written in all digits
TIMES, CELL = 5, 48  # memory as a multiple of the unpacked file, and bytes of a cell
REFERENCE = re.compile(rb"""<(?:\w+:)?c\b[^>]*?\br=["']([A-Za-z]{1,3})(\d{1,7})""")
ROW = re.compile(rb"<table:table-row\b.*?</table:table-row>", re.DOTALL)  # of an OpenDocument sheet
TAG = re.compile(rb"<table:[\w-]*cell\b[^>]*>")
REPEATED = re.compile(rb"""-repeated=["'](\d+)""")


def open_excel(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a sheet, by default of that with the largest table; of a formula its last value.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If the sheet is empty.
    ParameterError
        If there is no such sheet.
    MemoryLimitError
        If it exceeds the memory limit.
    MissingExtraError
        If python-calamine is not installed.
    """
    source = opened.name
    with needs("excel", "python_calamine", "reading workbooks"):
        from python_calamine import CalamineWorkbook, SheetTypeEnum
    packed = ZipFile(opened.file) if is_zipfile(opened.file) else None
    need = 0 if packed is None else _memory(packed)
    require_memory(need, f"Reading {source}", "Save the sheet as CSV")
    opened.file.seek(0)
    book = CalamineWorkbook.from_filelike(opened.file)
    names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    if key is not None and key not in names:
        hint = f"Its sheets are {listed(names)}."
        raise ParameterError("path", problem=f"{source} has no sheet {key!r}.", hint=hint)
    sheets = {name: book.get_sheet_by_name(name) for name in (names if key is None else [key])}
    chosen = key or max(names, key=lambda name: _size(sheets[name]))
    rows = [_cut(row) for row in sheets[chosen].to_python(skip_empty_area=False)]
    _fill_merged(rows, sheets[chosen].merged_cell_ranges or ())
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise DataError(f"{source}: the sheet {chosen!r} is empty. Its sheets are {listed(names)}.")
    width = max(map(len, rows))
    texts = [[*map(_as_text, row), *[""] * (width - len(row))] if row else [] for row in rows]
    first = key is None and len(names) > 1
    note = f"sheet {chosen!r} was read, the largest table of {listed(names)}; another can be chosen"
    notes: tuple[str, ...] = (note,) if first else ()
    names = [chosen, *(name for name in names if name != chosen)]
    return SheetSource(texts, f"{source}::{chosen}" if first else source, notes, (*names,))


class SheetSource(ColumnSource):
    """The columns of a sheet as text.

    Parameters
    ----------
    rows : sequence of sequence of str
        As wide as the sheet, empty where nothing stands.
    source : str
    notes, sheets : tuple of str
        What was decided before, and the sheets of the workbook.
    reading : ReadingOptions
    """

    word, separator = "row", ","

    def __init__(
        self,
        rows: Sequence[Sequence[str]],
        source: str,
        notes: tuple[str, ...],
        sheets: tuple[str, ...],
        reading: ReadingOptions = NO_OPTIONS,
    ) -> None:
        self._rows, self.source, self._notes, self.sheets = rows, source, notes, sheets
        self.notes, self.na_values, self._footer = notes, reading.na_values or (), reading.skip_footer
        found = layout.layout_of_rows(rows, source, reading)
        self._lay_out(found, found.names)
        self.first_lines = layout.shown_lines(rows)

    def prepared(self, reading: ReadingOptions, expected: Expected | None = None) -> ColumnSource:
        """Return the sheet with the missing-value marks of the options, and its header where they say."""
        return SheetSource(self._rows, self.source, self._notes, self.sheets, reading)

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield all rows of the table at once."""
        rows, names = self._rows[self._layout.skipped :], self.names
        if self._footer is None:
            begin = (at for at in range(2, len(rows)) if rows[at] and not rows[at - 1])
            end = next(
                (at for at in begin if layout.begins_table(rows[at : at + layout.NEXT_LINES], ",", names)),
                len(rows),
            )
            if end < len(rows):
                self._note_table(",".join(rows[end]))
            rows = rows[:end]
            footer = layout.notes_below(rows[-layout.LAST_LINES :], ",", self._layout.n_fields)
            self._note_below([",".join(row) for row in rows[len(rows) - footer :]])
        else:
            footer = self._footer
        rows = [row for row in rows[: max(0, len(rows) - footer)] if row]
        width = self._layout.n_fields
        yield self._without_headers([pa.array([row[at] for row in rows], pa.string()) for at in range(width)])


def _memory(packed: ZipFile) -> int:
    """Return the bytes that cells may take: of the unpacked file, and of the rectangles that hold them."""
    need = TIMES * sum(member.file_size for member in packed.infolist())
    require_memory(need, f"Reading {packed.filename}", "Save the sheet as CSV")
    for member in packed.namelist():
        if member.startswith("xl/worksheets/") and member.endswith(".xml"):
            cells = {(letters.upper(), row) for letters, row in REFERENCE.findall(packed.read(member))}
            last = max((_column(letters) for letters, _ in cells), default=0)
            need += CELL * last * max((int(row) for _, row in cells), default=0)
        elif member == "content.xml":
            need += CELL * _spread(packed.read(member))
    return need


def _spread(content: bytes) -> int:
    """Return the cells of the rectangle that holds all values of an OpenDocument sheet."""

    def times(tag: bytes) -> int:
        found = REPEATED.search(tag)
        return int(found[1]) if found else 1

    rows = height = width = 0
    for row in ROW.findall(content):
        rows, column = rows + times(row[: row.find(b">")]), 0
        for tag in TAG.findall(row):
            column += times(tag)
            if b"value-type" in tag:
                height, width = rows, max(width, column)
    return height * width


def _column(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)


def _cut(row: Sequence[Any]) -> list[Any]:
    """Return a row up to its last cell."""
    return list(row[: max((index + 1 for index, cell in enumerate(row) if cell != ""), default=0)])


def _size(sheet: Any) -> tuple[float, bool]:
    """Return about how many cells a sheet with numbers fills, and whether it holds anything."""
    rows = [row for row in map(_cut, islice(sheet.iter_rows(), LOOK)) if row]
    columns = Counter(
        column for row in rows for column, cell in enumerate(row) if isinstance(cell, int | float)
    )
    filled = sum(cell != "" for cell in chain(*rows)) if max(columns.values(), default=0) > 1 else 0
    return filled * max(1.0, sheet.total_height / LOOK), bool(rows)


def _fill_merged(rows: list[list[Any]], merged: Sequence[Any]) -> None:
    """Write the value of a cell that was merged with those below it into all of them."""
    for (top, column), (bottom, last) in merged:
        for row in rows[top + 1 : bottom + 1] if column == last else ():
            row += [""] * (column + 1 - len(row))
            row[column] = rows[top][column] if column < len(rows[top]) else ""


def _as_text(cell: Any) -> str:
    """Return a cell as text."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < WHOLE:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())
    return str(cell)
