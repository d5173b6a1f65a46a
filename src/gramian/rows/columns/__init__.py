"""Columns of text, Parquet and Arrow as one source, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount
from gramian.errors import MemoryLimitError
from gramian.rows.arrow_files import ArrowBlocks, read_arrow, read_parquet, read_parquet_files
from gramian.rows.columnar import (
    Columns,
    labels_from_columns,
    table_from_blocks,
    table_from_columns,
    with_names,
)
from gramian.rows.delimited import TextBlocks, parse_delimited, read_gct
from gramian.rows.lazy.array import whole_within
from gramian.rows.opened import Opened
from gramian.rows.table import Choice, Table
from gramian.rows.text_numbers import numbers_from_text

Read = Callable[[Choice], tuple[Sequence[Any], Sequence[str] | None, tuple[str, ...], str | None]]
Blocks = Callable[[Choice, int], Any]


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """Columns of a file, which are read as a whole or in blocks."""

    name: str
    opened: Opened
    read: Read
    blocks: Blocks | None = None
    named_by: bool = False  # whether the first column names rows, whatever it holds


def text_source(
    opened: Opened, data: Callable[[], tuple[bytes, tuple[str, ...]]] | None = None
) -> ColumnSource:
    """Return delimited text; of a sheet it is what ``data`` returns."""

    def read(choice: Choice) -> Any:
        text, notes = (opened.content(), ()) if data is None else data()
        columns, names, more, separator = parse_delimited(text, opened.name, choice.na_values or ())
        return columns, names, (*notes, *more), separator

    def blocks(choice: Choice, limit: int) -> TextBlocks | None:
        path = opened.path or Path()
        size = path.stat().st_size
        if 20 * size <= whole_within(limit):
            return None
        return TextBlocks(path, opened.name, choice.na_values or (), limit)

    return ColumnSource(opened.name, opened, read, blocks if opened.path and data is None else None)


def gct_source(opened: Opened) -> ColumnSource:
    """Return a GCT file."""
    return ColumnSource(
        opened.name, opened, lambda choice: read_gct(opened.content(), choice, opened.name), named_by=True
    )


def parquet_source(opened: Opened, paths: Sequence[Path] = ()) -> ColumnSource:
    """Return a Parquet file, or several with the same columns, which are one table."""

    def read(choice: Choice) -> Any:
        many = len(paths) > 0
        columns, names = (
            read_parquet_files(paths, opened.name) if many else read_parquet(opened.file, opened.name)
        )
        return columns, names, (), None

    return ColumnSource(opened.name, opened, read, _arrow_blocks(opened, paths))


def arrow_source(opened: Opened) -> ColumnSource:
    """Return a Feather or Arrow file."""
    return ColumnSource(
        opened.name,
        opened,
        lambda choice: (*read_arrow(opened.file, opened.name), (), None),
        _arrow_blocks(opened, ()),
    )


def _arrow_blocks(opened: Opened, paths: Sequence[Path]) -> Blocks | None:
    if opened.path is None:
        return None
    files = paths or [opened.path]
    return lambda choice, limit: ArrowBlocks(files, opened.name, choice, limit)


def table_of_columns(source: ColumnSource, choice: Choice, limit: int | None) -> Table:
    """Return a table of columns, in memory, or on disk where it takes more than a quarter of the limit."""
    if limit is not None and source.blocks is not None:
        if choice.label_row is not None:
            _refuse_whole(source, limit)
        else:
            blocks = source.blocks(choice, limit)
            if blocks is not None and blocks.needed > whole_within(limit):
                return table_from_blocks(blocks, choice, limit)
    columns, names, notes, separator = source.read(choice)
    if source.named_by and names is not None and choice.id is None:
        choice = replace(choice, id=names[0])
    return table_from_columns(columns, names, choice, source.name, notes, separator)


def _refuse_whole(source: ColumnSource, limit: int) -> None:
    path = source.opened.path
    size, most = 0 if path is None else path.stat().st_size, max(limit, memory_limit_bytes(None))
    if size > most:
        raise MemoryLimitError(
            f"{source.name} has {amount(size)}, and a row of labels needs all of it in the {amount(most)} of "
            "memory that may be used. Save it as .npy, .csv or .parquet without that row."
        )


def labels_of_columns(
    source: ColumnSource, choice: Choice, expected: int | None = None
) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, str, tuple[str, ...]]:
    """Return labels, names of rows, the name of the labels, and notes; a header may be one of the labels."""
    columns, names, _, _ = source.read(Choice())
    alone = names is not None and len(names) == 1 and str(columns[0].type) == "string"
    if names is not None and alone and len(columns[0]) + 1 == expected:
        values = np.array([names[0], *map(str, columns[0].to_pylist())])
        note = f"first line of {source.name}, {names[0]!r}, taken as a label"
        return values, None, "label", (note,)
    id_name = choice.id if names and choice.id in names and choice.id != choice.label else None
    return *labels_from_columns(columns, names, replace(choice, id=id_name), source.name), ()


def typed_columns(source: ColumnSource) -> Columns:
    """Return the columns before any is chosen, those of numbers as numbers."""
    arrays, names, _, separator = source.read(Choice())
    if separator is not None:
        arrays, _ = numbers_from_text(arrays, separator)
    return with_names(arrays, names, source.name, typed=separator is None)[0]
