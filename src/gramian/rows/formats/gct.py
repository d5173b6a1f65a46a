"""GCT files of gene expression: text with its size and descriptions at the top."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa

from gramian.checks import listed
from gramian.errors import FileError
from gramian.rows.columns.source import ColumnsInMemory, ColumnSource, whole_fields
from gramian.rows.formats.text import Layout, TextFile, TextSource
from gramian.rows.opened import Opened
from gramian.rows.table import Choice

DIGITS = 18  # of a number of rows or columns, at most
_SIZES = {b"#1.2": 2, b"#1.3": 4}


def open(opened: Opened, key: str | None) -> ColumnSource:
    """Return the columns of numbers, whose rows the first column names."""
    return gct_source(opened.file, opened.name)


def gct_source(file: IO[bytes], source: str) -> GctSource:
    """Return the columns of a GCT file of version 1.2 or 1.3, the names of its rows first.

    Descriptions of rows and of columns are left out, but for the row that is wanted as labels.

    Raises
    ------
    FileError
        If its first lines are not those of a GCT file, or say another size than it has.
    DataError
        If rows have different numbers of fields.
    """
    text = TextFile(file, source)
    data = b"".join(text.pieces(1 << 20, whole=True))
    first, sizes, table = (*data.split(b"\n", 2), b"", b"")[:3]
    numbers = [int(size) for size in sizes.split() if size.isdigit() and len(size) <= DIGITS]
    if len(numbers) != _SIZES.get(first.strip()) or not table.strip():
        raise FileError(
            f"{source} is truncated, or no GCT file: those begin with a line #1.2 or #1.3, then one of their "
            "size. Make or copy it again, or give it the suffix of what it is, such as .tsv."
        )
    described, labelling = (1, 0) if len(numbers) == 2 else numbers[2:]
    header = table.partition(b"\n")[0].decode("utf-8", errors="replace")
    names = tuple(header.strip("\r").split("\t"))
    if len(names) != 1 + described + numbers[1]:
        raise FileError(
            f"{source} is truncated or altered: its second line promises {numbers[1]} columns of numbers, "
            f"and there are {max(len(names) - 1 - described, 0)}. Make or copy it again."
        )
    table_file = TextFile(io.BytesIO(table), source)
    described_text = TextSource(table_file, (), (), Layout("\t", names, len(names)))
    columns = whole_fields(described_text)
    if not columns or len(columns[0]) != numbers[0] + labelling:
        raise FileError(
            f"{source} is truncated or altered: its second line promises {numbers[0]} rows, and there are "
            f"{max(len(columns[0]) - labelling, 0) if columns else 0}. Make or copy it again."
        )
    places = [0, *range(1 + described, len(columns))]
    return GctSource(
        [columns[place] for place in places],
        tuple(names[place] for place in places),
        source,
        described_text.notes,
        "\t",
        sha256=text.sha256,
        path=text.path,
        nbytes=text.nbytes,
        described=names[1 : 1 + described],
        labelling=labelling,
    )


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
        """Leave out the rows that describe columns, but for the one that is wanted as labels."""
        entries = self.arrays[0].slice(0, self.labelling).to_pylist()
        wanted = [row for row, entry in enumerate(entries) if entry == choice.label_row]
        rows = pa.array([*wanted, *range(self.labelling, len(self.arrays[0]))], pa.int64())
        left = [*self.described, *(entry for entry in entries if entry != choice.label_row)]
        note = f"{listed(left)} left out: no numbers but descriptions"
        source = ColumnsInMemory(
            [column.take(rows) for column in self.arrays],
            self.names,
            self.source,
            (*self.notes, note) if left else self.notes,
            self.separator,
            choice.na_values or (),
            self.sha256,
            self.path,
            self.nbytes,
        )
        return source, replace(choice, id=choice.id or (self.names or ("",))[0])
