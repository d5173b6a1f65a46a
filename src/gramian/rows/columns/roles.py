"""The roles of columns: row names, numbers, labels, and the error about columns of text without a role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.checks import NAMES_SHOWN, counted, first_few, listed
from gramian.errors import DataError
from gramian.rows.columns.numerals import like_number, marks, undecided_comma
from gramian.rows.expected import Expected
from gramian.rows.table import Choice
from gramian.wording import worded


@dataclass(frozen=True)
class Columns:
    """Arrow columns in memory with unique names, before any of them is chosen.

    Attributes
    ----------
    arrays : list of pyarrow.Array
    names : tuple of str
    source : str
    from_text : bool
        Whether the columns come from text.
    first_row : int
        Number of the first of their rows in the file.
    """

    arrays: list[Any]
    names: tuple[str, ...]
    source: str
    from_text: bool
    first_row: int = 0


def is_number(column: Any) -> bool:
    """Say whether a column holds numbers."""
    t = pa.types
    kinds = (t.is_floating, t.is_integer, t.is_boolean, t.is_decimal, t.is_null)
    return any(is_kind(column.type) for is_kind in kinds)


def is_text(column: Any) -> bool:
    """Say whether a column holds text."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def first_free(names: Sequence[str], choice: Choice) -> int | None:
    """Return the first column without another use, which may name rows."""
    taken = {
        choice.weights,
        *choice.labels,
        *(choice.drop or ()),
        *(choice.columns or ()),
        *(choice.needed or ()),
    }
    return next((index for index, name in enumerate(names) if name not in taken), None)


def find_row_names(
    names: Sequence[str],
    first_is_index: bool,
    choice: Choice,
    id_column: int | None,
    value_columns: list[int],
    column_of: Callable[[int], Any],
) -> tuple[int | None, list[int], tuple[str, ...]]:
    """Use the first free column as row names if it has no other possible role.

    Returns
    -------
    id_column : int or None
    value_columns : list of int
        Columns of numbers.
    notes : tuple of str
    """
    first = first_free(names, choice)
    if first is None or first == id_column or len(names) == 1:
        return id_column, value_columns, ()
    column, name = column_of(first), names[first]
    rest = [index for index in value_columns if index != first]
    countable = pa.types.is_integer(column.type) or is_text(column)
    if first == 0 and first_is_index and countable and all_different(column):
        if id_column is not None:
            return id_column, rest, (f'"{name}" was left out because it names rows, as "{choice.id}" does',)
        known = "which has no name" if name == "column 0" else f'"{name}"'
        return first, rest, (f"row names were taken from the first column, {known}",)
    if id_column is not None or not is_text(column) or not all_different(column):
        return id_column, value_columns, ()
    # More likely a column of numbers with a slip in it.
    if 2 * (pc.sum(like_number(column)).as_py() or 0) > len(column):
        return None, value_columns, ()
    return first, rest, (f'row names were taken from column "{name}", which holds unique text',)


def in_order(
    names: Sequence[str], choice: Choice, value_columns: list[int], source: str
) -> tuple[list[int], tuple[str, ...]]:
    """Return columns in the order in which a fitted model needs them, and notes on the changes."""
    if choice.needed is None:
        return value_columns, ()
    places, notes = Expected(choice.needed).places([names[index] for index in value_columns], source)
    return [value_columns[place] for place in places], notes


def all_different(column: Any) -> bool:
    """Say whether a column has a value in every row, and none twice."""
    if pa.types.is_nested(column.type):  # Arrow compares no lists
        return False
    return bool(len(column) and not column.null_count and pc.count_distinct(column).as_py() == len(column))


def as_names(column: Any) -> tuple[str, ...]:
    """Return a column as names of rows."""
    if is_text(column):
        return tuple(pc.fill_null(column, "").to_pylist())
    return tuple("" if value is None else str(value) for value in column.to_pylist())


def as_labels(column: Any) -> npt.NDArray[Any]:
    """Return a column as labels: numbers, or text."""
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return np.array(as_names(column), dtype=np.str_)


# ------------------------------------------------ columns of text that have no use


def refuse_text(columns: Columns, value_columns: Sequence[int], text: Sequence[int]) -> DataError:
    """Return the error that names the columns of text, and what to do with them."""
    if len(text) == len(value_columns):
        shown = f": {_describe(columns, text)}" if text else ""
        return DataError(
            f"{columns.source} has no numeric columns{shown}. {_why_text(columns, text)}"
            "At least one column must hold numbers and not be dropped, an id or a label."
        )
    names = [columns.names[index] for index in text[:NAMES_SHOWN]]
    more = ", ..." if len(text) > NAMES_SHOWN else ""
    quoted = ", ".join(f'"{name}"' for name in names)
    what = (
        f"{columns.source} has {counted(len(text), 'column that holds', 'columns that hold')} no numbers: "
        f"{_describe(columns, text)}. {_why_text(columns, text)}"
    )
    return DataError(
        f"{what}Leave out with drop=[{quoted}{more}], "
        f'or take one out as labels with label="{names[0]}" or as row names with id="{names[0]}".',
        page=worded(what, "page") + "Leave out such columns, or choose one as labels or as names of rows.",
    )


def _why_text(columns: Columns, text: Sequence[int]) -> str:
    """Explain why columns of text that are nearly numeric are not, and what to do."""
    if not columns.from_text:
        return ""
    every: dict[str, int] = {}
    nearly, advice = [], ""
    for index in [place for place in text if is_text(columns.arrays[place])]:
        if here := marks(columns.arrays[index]):
            nearly.append(columns.names[index])
            every = {mark: every.get(mark, 0) + here.get(mark, 0) for mark in {**every, **here}}
        elif not advice and (value := undecided_comma(columns.arrays[index])) is not None:
            advice = (
                f"In {columns.names[index]!r}, {value} may be {value.replace(',', '')} or "
                f"{value.replace(',', '.')}, and no other value decides whether the comma separates "
                "thousands or decimals: write one or the other. "
            )
    if not nearly:
        return advice
    counts = " and ".join(f"{mark!r} ({counted(count, 'time')})" for mark, count in every.items())
    python = ", ".join(f'"{mark}"' for mark in every)
    return advice + (
        f"{listed(nearly)} would be numbers without {counts}. If that stands for a missing value, read it as "
        f"one with na_values=[{python}]. "
    )


def _describe(columns: Columns, text: Sequence[int]) -> str:
    return first_few(text, lambda index: f"{columns.names[index]!r} ({_sample_value(columns, index)})")


def _sample_value(columns: Columns, index: int) -> str:
    """Show the first value that is no number: in a column of numbers with a slip, the slip."""
    column = columns.arrays[index]
    if not is_text(column):
        return str(column.type)
    row = max(pc.index(like_number(column), pa.scalar(False)).as_py(), 0)
    value = str(column[row].as_py())
    shown = value if len(value) <= 24 else f"{value[:21]}..."
    return f"{shown!r} in row {columns.first_row + row}"
