"""Tables that are read as text: sheets of Excel workbooks, and GCT files of gene expression."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from gramian.arrays import require_memory
from gramian.checks import counted, listed
from gramian.data.table import Expected
from gramian.errors import DataError, ParameterError, needs
from gramian.io.columns import ColumnsInMemory, ColumnSource, whole_fields
from gramian.io.formats.text import TextFile, TextSource
from gramian.io.layout import Layout
from gramian.io.numerals import shown_as_text
from gramian.io.source import Opened, damage
from gramian.reading import ReadingOptions

ROWS = 1 << 20  # that a sheet can have
LOOK = 200  # rows that show whether a sheet has a table
WITHOUT_VALUE = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")  # a formula
TIMES = 5  # as much memory as the unpacked file: cells, and their text


def open_excel(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a sheet, by default of the first with a table; of a formula its last value.

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
        If openpyxl is not installed.
    """
    source = opened.name
    with needs("excel", "openpyxl", "reading Excel files"):
        from openpyxl import load_workbook
    with damage(source), ZipFile(opened.file) as packed:
        need = TIMES * sum(part.file_size for part in packed.infolist())
    require_memory(need, f"Reading {source}", "Save the sheet as CSV")
    with damage(source), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and forms, which no number depends on
        book = load_workbook(opened.file, read_only=True, data_only=True)
        names = tuple(one.title for one in book.worksheets)
        if key is not None and key not in names:
            raise ParameterError(
                "path",
                problem=f"{source} has no sheet {key!r}.",
                hint=f"Its sheets are {listed(names)}.",
            )
        chosen = key or next((name for name in names if _has_numbers(_rows(book, name, LOOK))), None)
        chosen = chosen or next((name for name in names if any(_rows(book, name, LOOK))), names[0])
        rows = _rows(book, chosen, ROWS)
        sheet = ZipFile(opened.file).read(book[chosen]._worksheet_path)
        _fill_merged(rows, sheet)
    if not any(rows):
        raise DataError(f"{source}: the sheet {chosen!r} is empty. Its sheets are {listed(names)}.")
    width = max(map(len, rows))
    text = io.StringIO()
    lines = csv.writer(text)
    for row in rows:
        lines.writerow(map(_as_text, [*row, *[None] * (width - len(row))] if row else []))
    first = key is None and len(names) > 1
    which = "the first" if chosen == names[0] else "the first with a table"
    notes: tuple[str, ...] = (
        (f"sheet {chosen!r} was read, {which} of {listed(names)}; another can be chosen",) if first else ()
    )
    if without := len(WITHOUT_VALUE.findall(sheet)):
        have = counted(without, "formula has", "formulas have")
        notes += (f"{have} no stored value and count as missing: open and save the file in a spreadsheet",)
    names = (chosen, *(name for name in names if name != chosen))
    return TextSource(Opened(source, data=text.getvalue().encode()), notes=notes, sheets=names)


def _rows(book: Any, name: str, most: int) -> list[list[Any]]:
    """Return the rows of a sheet up to the last one that holds anything, each up to its last cell."""
    # A sheet may claim a million rows that hold nothing but formats.
    book[name].reset_dimensions()
    rows: list[list[Any]] = []
    blank = 0
    for row in islice(book[name].iter_rows(values_only=True), most):
        width = max((place + 1 for place, cell in enumerate(row) if _filled(cell)), default=0)
        if not width:
            blank += 1
            continue
        rows += [[] for _ in range(blank)]
        rows.append(list(row[:width]))
        blank = 0
    return rows


def _has_numbers(rows: Sequence[Sequence[Any]]) -> bool:
    """Say whether rows are a table: two of them have numbers in one column."""
    places = Counter(place for row in rows for place, cell in enumerate(row) if isinstance(cell, int | float))
    return max(places.values(), default=0) > 1


def _fill_merged(rows: list[list[Any]], sheet: bytes) -> None:
    """Write the value of a cell that was merged with those below it into all of them."""
    for first, top, last, bottom in re.findall(rb'<mergeCell ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"', sheet):
        place = reduce(lambda number, letter: 26 * number + letter - 64, first, 0) - 1
        for row in rows[int(top) : int(bottom)] if first == last else ():
            row += [None] * (place + 1 - len(row))
            row[place] = rows[int(top) - 1][place] if place < len(rows[int(top) - 1]) else None


def _as_text(cell: Any) -> Any:
    """Return a cell as the text of it is written that is read next."""
    if isinstance(cell, str) and cell.startswith("'"):
        return shown_as_text([cell])[0]
    return "" if cell is None else cell


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""


# ---- GCT files of gene expression: text with its size and descriptions at the top

DIGITS = 18  # of a number of rows or columns, at most
_SIZES = {b"#1.2": 2, b"#1.3": 4}


def open_gct(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a GCT file of version 1.2 or 1.3, the names of its rows first.

    Descriptions of rows and of columns are left out, except for the row that is chosen as labels.

    Raises
    ------
    FileError
        If its first lines are not those of a GCT file, or say another size than it has.
    DataError
        If rows have different numbers of fields.
    """
    source, text = opened.name, TextFile(opened)
    first, sizes, header = (*text.head().split(b"\n", 3), b"", b"")[:3]
    numbers = [int(size) for size in sizes.split() if size.isdigit() and len(size) <= DIGITS]
    with damage(source):
        if len(numbers) != _SIZES.get(first.strip()):
            raise ValueError("a GCT file begins with a line #1.2 or #1.3, and a line with its size")
        described, labelling = (1, 0) if len(numbers) == 2 else numbers[2:]
        names = tuple(header.decode("utf-8", errors="replace").strip("\r").split("\t"))
        if len(names) != 1 + described + numbers[1]:
            raise ValueError(f"its second line promises {numbers[1]} columns of numbers")
        table = TextSource(opened, layout=Layout("\t", names, len(names), skipped=3), skip_footer=0)
        columns = whole_fields(table)
        if not columns or len(columns[0]) != numbers[0] + labelling:
            raise ValueError(f"its second line promises {numbers[0]} rows")
    places = [0, *range(1 + described, len(columns))]
    arrays, array_names = [columns[place] for place in places], tuple(names[place] for place in places)
    left = names[1 : 1 + described]
    return GctSource(arrays, array_names, source, table.notes, "\t", (), left, labelling)


@dataclass(frozen=True)
class GctSource(ColumnsInMemory):
    """The columns of a GCT file.

    Attributes
    ----------
    described : tuple of str
        Names of the columns that describe rows, which are left out.
    labelling : int
        Number of rows that describe columns: the first ones.
    """

    described: tuple[str, ...] = ()
    labelling: int = 0

    def prepared(
        self, reading: ReadingOptions, expected: Expected | None
    ) -> tuple[ColumnSource, ReadingOptions]:
        """Leave out the rows that describe columns, except for the one that is chosen as labels."""
        for name in ("header", "skip_footer"):
            if getattr(reading, name) is not None:
                raise ParameterError(name, allowed=f"does not apply to {self.source}", hint="Leave it out.")
        entries = self.arrays[0].slice(0, self.labelling).to_pylist()
        wanted = [row for row, entry in enumerate(entries) if entry == reading.label_row]
        rows = pa.array([*wanted, *range(self.labelling, len(self.arrays[0]))], pa.int64())
        left = [*self.described, *(entry for entry in entries if entry != reading.label_row)]
        note = f"descriptions were left out: {listed(left)}"
        arrays = [column.take(rows) for column in self.arrays]
        notes, marks = (*self.notes, note) if left else self.notes, reading.na_values or ()
        source = ColumnsInMemory(arrays, self.names, self.source, notes, "\t", marks)
        return source, replace(reading, id=reading.id or (self.names or ("",))[0])
