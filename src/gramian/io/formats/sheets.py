"""Tables that are read as text: sheets of Excel workbooks, and GCT files of gene expression."""

from __future__ import annotations

import csv
import io
import warnings
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from gramian.arrays import require_memory
from gramian.checks import listed
from gramian.data.table import Expected
from gramian.errors import DataError, ParameterError, needs
from gramian.io.columns import ColumnsInMemory, ColumnSource, whole_fields
from gramian.io.formats.text import Layout, TextFile, TextSource
from gramian.io.numerals import shown_as_text
from gramian.io.source import Opened, damage
from gramian.reading import ReadingOptions

ROWS = 1 << 20  # that a sheet can have
TIMES = 5  # as much memory as the unpacked file: cells, and their text


def open_excel(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of a sheet, by default of the first; of a formula the value it last had.

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
        names = [one.title for one in book.worksheets]
        if key is not None and key not in names:
            raise ParameterError(
                "path",
                problem=f"{source} has no sheet {key!r}.",
                hint=f"Its sheets are {listed(names)}.",
            )
        chosen = names[0] if key is None else key
        # A sheet may claim a million rows that hold nothing but formats.
        book[chosen].reset_dimensions()
        every = islice(book[chosen].iter_rows(values_only=True), ROWS)
        rows = [row for row in every if any(map(_filled, row))]
    if not rows:
        raise DataError(f"{source}: the sheet {chosen!r} is empty. Its sheets are {listed(names)}.")
    width = max(place + 1 for row in rows for place, cell in enumerate(row) if _filled(cell))
    text = io.StringIO()
    lines = csv.writer(text)
    for row in rows:
        cells = [*row[:width], *[None] * (width - len(row))]
        lines.writerow(map(_as_text, cells))
    first = key is None and len(names) > 1
    notes = (f"sheet {chosen!r} was read, the first of {len(names)}",) if first else ()
    return TextSource(Opened(source, data=text.getvalue().encode()), notes=notes)


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
        table = TextSource(opened, layout=Layout("\t", names, len(names), skipped=3))
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
        entries = self.arrays[0].slice(0, self.labelling).to_pylist()
        wanted = [row for row, entry in enumerate(entries) if entry == reading.label_row]
        rows = pa.array([*wanted, *range(self.labelling, len(self.arrays[0]))], pa.int64())
        left = [*self.described, *(entry for entry in entries if entry != reading.label_row)]
        note = f"descriptions were left out: {listed(left)}"
        arrays = [column.take(rows) for column in self.arrays]
        notes, marks = (*self.notes, note) if left else self.notes, reading.na_values or ()
        source = ColumnsInMemory(arrays, self.names, self.source, notes, "\t", marks)
        return source, replace(reading, id=reading.id or (self.names or ("",))[0])
