"""GCT files of gene expression: a delimited text below two lines that say its size."""

from typing import Any

import numpy as np

from gramian.checks import listed
from gramian.errors import FileError
from gramian.rows.delimited import Layout, parse_delimited, to_utf8
from gramian.rows.table import Choice

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
