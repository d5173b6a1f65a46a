"""Sources of columns: a file that yields them in batches of rows, in as many passes as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gramian.errors import DataError
from gramian.rows.columns.numerals import plain_numbers
from gramian.rows.table import Choice, unique_names

# Headers that R, pandas and spreadsheets give to a column of row names. "" is the commonest.
INDEX_NAMES = ("", "rownames", "row.names", "row_names", "unnamed: 0", "__index_level_0__")


@dataclass(frozen=True)
class Batch:
    """Some rows of all columns.

    Attributes
    ----------
    columns : list of pyarrow.Array
        Of a text: float64 or booleans where every field is one, else strings.
    fields : list of pyarrow.Array
        Of a text: all fields as they are written; else the columns.
    """

    columns: list[Any]
    fields: list[Any]


class ColumnSource:
    """Columns in batches, of a file that stays open until the table is made.

    Attributes
    ----------
    source : str
        What messages call it.
    names : tuple of str or None
        Names of the columns as the file has them; None where columns are known by position.
    path : Path or None
        The file, if it is one.
    separator : str or None
        What separates the fields of a text, in which numbers may be written in several ways; else None.
    na_values : tuple of str
        Texts that stand for a missing value, in addition to the usual ones.
    notes : tuple of str
        What was decided about the file; complete after a pass over it.
    """

    source: str
    names: tuple[str, ...] | None = None
    path: Path | None = None
    separator: str | None = None
    na_values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def first_is_index(self) -> bool:
        """Whether the first column is named like an index."""
        return self.names is not None and self.names[0].casefold() in INDEX_NAMES

    @property
    def last_may_be_empty(self) -> bool:
        """Whether the last column has no name: it is left out if it holds nothing."""
        return self.names is not None and len(self.names) > 1 and self.names[-1] == ""

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """All names that a choice may use for columns; None where they have none."""
        return None if self.names is None else unique_names(self.names)[0]

    def unique_names(self, width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the first columns, or their positions, and names that occur more than once."""
        if self.names is None:
            return tuple(map(str, range(width))), ()
        return unique_names(self.names[:width])

    def prepared(self, choice: Choice) -> tuple[ColumnSource, Choice]:
        """Return the source as a choice wants it read, and the choice in the terms of that source."""
        return self, choice

    def batches(
        self, limit: int | None = None, as_text: AbstractSet[int] | None = frozenset()
    ) -> Iterator[Batch]:
        """Yield all rows once, from the first to the last.

        Parameters
        ----------
        limit : int or None
            Bytes of working memory, which a batch takes a small part of. None if all rows go into memory.
        as_text : set of int or None
            Columns of a text that stay strings, None for all; more may be added between batches.
        """
        raise NotImplementedError

    def first_rows(self) -> tuple[ColumnSource, float, str]:
        """Return the first rows, a few MB of them, as columns in memory.

        Returns
        -------
        source : ColumnSource
        times : float
            How many times as many rows there are in all.
        estimate : str
            From what ``times`` was estimated; "" if it is exact.
        """
        return self, 1.0, ""


@dataclass(frozen=True)
class ColumnsInMemory(ColumnSource):
    """Arrow columns as a source of one batch."""

    arrays: Sequence[Any] = ()
    names: tuple[str, ...] | None = None
    source: str = "memory"
    notes: tuple[str, ...] = ()
    separator: str | None = None
    na_values: tuple[str, ...] = ()

    def batches(
        self, limit: int | None = None, as_text: AbstractSet[int] | None = frozenset()
    ) -> Iterator[Batch]:
        """Yield all rows."""
        fields = [decoded(array) for array in self.arrays]
        columns = fields if self.separator is None else plain_numbers(fields, as_text, self.na_values)
        if fields:
            yield Batch(columns, fields)


def decoded(column: Any) -> Any:
    """Return a column in one piece, without a dictionary or string views, which few functions take."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def joined(parts: Sequence[Any], source: str) -> Any:
    """Return the parts of a column as one, in the type that holds them all.

    Raises
    ------
    DataError
        If there is no such type.
    """
    tables = [pa.table([part], ["column"]) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0).combine_chunks()
    except pa.ArrowException as error:
        raise DataError(f"{source} holds files whose columns are of different types: {error}.") from error


def whole_fields(source: ColumnSource) -> list[Any]:
    """Return all columns in memory, those of a text as strings."""
    batches = [batch.fields for batch in source.batches(as_text=None)]
    return [joined(parts, source.source) for parts in zip(*batches, strict=True)]
