"""GCT files of gene expression: text with its size and descriptions at the top."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from gramian.checks import listed
from gramian.rows.archives import damage
from gramian.rows.columns.source import ColumnsInMemory, ColumnSource, whole_fields
from gramian.rows.formats.text import Layout, TextFile, TextSource
from gramian.rows.opened import Opened
from gramian.rows.table import Choice

DIGITS = 18  # of a number of rows or columns, at most
_SIZES = {b"#1.2": 2, b"#1.3": 4}


def open(opened: Opened, key: str | None) -> ColumnSource:
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

    def prepared(self, choice: Choice) -> tuple[ColumnSource, Choice]:
        """Leave out the rows that describe columns, except for the one that is chosen as labels."""
        entries = self.arrays[0].slice(0, self.labelling).to_pylist()
        wanted = [row for row, entry in enumerate(entries) if entry == choice.label_row]
        rows = pa.array([*wanted, *range(self.labelling, len(self.arrays[0]))], pa.int64())
        left = [*self.described, *(entry for entry in entries if entry != choice.label_row)]
        note = f"descriptions were left out: {listed(left)}"
        arrays = [column.take(rows) for column in self.arrays]
        notes, marks = (*self.notes, note) if left else self.notes, choice.na_values or ()
        source = ColumnsInMemory(arrays, self.names, self.source, notes, "\t", marks)
        return source, replace(choice, id=choice.id or (self.names or ("",))[0])
