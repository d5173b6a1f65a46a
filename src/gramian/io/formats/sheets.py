"""Sheets of Excel workbooks, which are read as text."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from datetime import datetime, time
from functools import reduce
from itertools import chain, islice
from typing import Any
from zipfile import ZipFile

from gramian.arrays import require_memory
from gramian.checks import counted, listed
from gramian.errors import DataError, ParameterError, needs
from gramian.io.columns import ColumnSource
from gramian.io.formats.text import TextSource
from gramian.io.numerals import shown_as_text
from gramian.io.source import Opened, damage

ROWS = 1 << 20  # that a sheet can have
LOOK = 200  # rows that show whether a sheet has a table
WITHOUT_VALUE = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")  # a formula
WHOLE = 1e16  # a whole number below it is written in all digits
TIMES = 5  # as much memory as the unpacked file: cells, and their text


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
        chosen = key or max(names, key=lambda name: _size(book, name))
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
    note = f"sheet {chosen!r} was read, the largest table of {listed(names)}; another can be chosen"
    notes: tuple[str, ...] = (note,) if first else ()
    if without := len(WITHOUT_VALUE.findall(sheet)):
        have = counted(without, "formula has", "formulas have")
        notes += (f"{have} no stored value and count as missing: open and save the file in a spreadsheet",)
    names = (chosen, *(name for name in names if name != chosen))
    source = f"{source}::{chosen}" if first else source
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


def _size(book: Any, name: str) -> tuple[float, bool]:
    """Return about how many cells a sheet with numbers fills, and whether it holds anything."""
    claimed = book[name].max_row or 0
    rows = _rows(book, name, LOOK)
    places = Counter(place for row in rows for place, cell in enumerate(row) if isinstance(cell, int | float))
    filled = sum(map(_filled, chain(*rows))) if max(places.values(), default=0) > 1 else 0
    return filled * (max(1.0, claimed / LOOK) if len(rows) == LOOK else 1.0), any(rows)


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
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < WHOLE:
        return int(cell)
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date()
    return "" if cell is None else cell


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""
