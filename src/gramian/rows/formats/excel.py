"""Sheets of Excel workbooks, as text that is then read like any other."""

import csv
import io
import warnings
from itertools import islice
from typing import IO, Any
from zipfile import ZipFile

from gramian.checks import listed
from gramian.errors import DataError, ParameterError, needs
from gramian.rows.archives import damage, require_memory
from gramian.rows.columns.formulas import shown_as_text
from gramian.rows.columns.source import ColumnSource
from gramian.rows.formats.text import TextSource
from gramian.rows.opened import Opened

ROWS = 1 << 20  # that a sheet can have
TIMES = 5  # as much memory as the unpacked file: cells, and their text


def recognizes(file: IO[bytes]) -> bool:
    """Say whether a zip archive is a workbook."""
    return "xl/workbook.xml" in ZipFile(file).namelist()


def open(opened: Opened, key: str | None) -> ColumnSource:
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
            raise ParameterError(f"{source} has no sheet {key!r}. Its sheets are {listed(names)}.")
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
