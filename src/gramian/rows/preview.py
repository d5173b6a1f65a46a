"""A preview of a table before columns are chosen: their kinds, missing values and first entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Literal

import numpy as np

from gramian.errors import DataError
from gramian.rows.files import opened_source
from gramian.rows.source import ArraySource, PictureSource

FIRST = 8  # entries of a column that are shown
WIDEST = 40  # letters of one of them
MOST = 200  # columns


@dataclass(frozen=True)
class Column:
    """One column as it is in the file.

    Attributes
    ----------
    name : str
        Its name, or its position, counted from 0.
    kind : {"number", "text", "constant"}
        Constant: a number, and the same in all rows that have one.
    missing, distinct : int
        Number of missing entries, and of distinct values among the others.
    low, high : float or None
        Of numbers, those that are finite.
    first : tuple of str
        The first entries.
    """

    name: str
    kind: Literal["number", "text", "constant"]
    missing: int
    distinct: int
    low: float | None
    high: float | None
    first: tuple[str, ...]


@dataclass(frozen=True)
class Preview:
    """A table before anything is chosen: how many rows and columns, and 200 of these, text before numbers."""

    rows: int
    width: int
    columns: tuple[Column, ...]


def preview(file: IO[bytes], source: str) -> Preview | None:
    """Look at a table.

    Parameters
    ----------
    file : binary file
        Its format follows from its content.
    source : str
        Its name in error messages.

    Returns
    -------
    Preview or None
        None for pictures, which have no columns.

    Raises
    ------
    FileError, DataError
        If it is not a table.

    Examples
    --------
    >>> import io
    >>> result = preview(io.BytesIO(b"a,b,c\\n1,x,2\\n1,y,\\n"), "table")
    >>> [(column.name, column.kind, column.missing) for column in result.columns]
    [('a', 'constant', 0), ('b', 'text', 0), ('c', 'constant', 1)]
    """
    with opened_source(file, name=source) as (_, _, opened):
        if isinstance(opened, PictureSource):
            return None
        if isinstance(opened, ArraySource):
            return None if len(opened.shape) > 2 else _of_array(opened)
        from gramian.rows.columns import is_number, whole_columns

        columns = whole_columns(opened)
    count = len(columns.arrays[0]) if columns.arrays else 0
    if not count:
        raise DataError(f"{source} has no rows. Add at least one row of numbers.")
    # Of many columns those of text are wanted, since they need a use.
    places = sorted(range(len(columns.arrays)), key=lambda place: is_number(columns.arrays[place]))[:MOST]
    shown = [
        _of_arrow(columns.names[i], columns.arrays[i], is_number(columns.arrays[i])) for i in sorted(places)
    ]
    return Preview(count, len(columns.arrays), tuple(shown))


def _of_array(source: ArraySource) -> Preview:
    (count, width), names = source.shape, source.columns or map(str, range(source.shape[1]))
    shown = source.read()[:, :MOST]
    shown = shown.tocsc() if hasattr(shown, "tocsc") else shown
    # One column of a sparse matrix at a time takes memory.
    columns: Iterable[Any] = map(partial(_column, shown), range(shown.shape[1]))
    return Preview(count, width, tuple(map(_of_numbers, names, columns)))


def _column(array: Any, place: int) -> Any:
    column = array[:, [place]]
    return (column.toarray() if hasattr(column, "toarray") else column).reshape(-1)


def _of_numbers(name: str, column: Any) -> Column:
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    there = column[~missing]
    finite = there[np.isfinite(there)] if there.size else there
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    shown = zip(column, missing[:FIRST], strict=False)
    first = tuple("" if hole else f"{value:.6g}" for value, hole in shown)
    distinct = len(np.unique(there))
    kind: Literal["number", "constant"] = "number" if distinct > 1 else "constant"
    return Column(name, kind, int(missing.sum()), distinct, low, high, first)


def _of_arrow(name: str, column: Any, number: bool) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if number:
        return _of_numbers(name, column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    texts = ["" if value is None else str(value) for value in column.slice(0, FIRST).to_pylist()]
    first = tuple(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in texts)
    try:
        distinct = pc.count_distinct(column).as_py()
    except pa.ArrowNotImplementedError:  # of lists, structures and the like
        distinct = len({str(value) for value in column.to_pylist() if value is not None})
    return Column(name, "text", column.null_count, distinct, None, None, first)
