"""A preview of a table before columns are chosen: their kinds, missing values and first entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.io.files import opened_source
from gramian.io.source import ArraySource, PictureSource
from gramian.reading import ReadingOptions

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
    kind : {"number", "text", "date", "constant"}
        Constant: a number, and the same in all rows that have one.
    missing, distinct : int
        Number of missing entries, and of distinct values among the others.
    low, high, deviation : float or None
        Of numbers, those that are finite; ``deviation`` is their standard deviation (ddof 1).
    first : tuple of str
        The first entries.
    whole : bool
        Whether all its numbers are integers.
    counts : bool
        Whether its numbers are 0, 1, 2, ... or 1, 2, 3, ... in the order of the rows.
    holes : ndarray of uint8 or None
        Of numbers: a bit for each row, 1 where the entry is missing (``numpy.packbits``).
    unit : str
        Its unit, where the file has one apart from its name: of a row of units, a percent sign or currency.
    """

    name: str
    kind: Literal["number", "text", "date", "constant"]
    missing: int
    distinct: int
    low: float | None
    high: float | None
    first: tuple[str, ...]
    deviation: float | None = None
    whole: bool = False
    counts: bool = False
    holes: npt.NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    unit: str = ""


@dataclass(frozen=True)
class Preview:
    """A table before anything is chosen.

    Attributes
    ----------
    rows, width : int
        Number of rows and columns.
    columns : tuple of Column
        At most 200 of them, text before numbers.
    named : bool
        Whether the columns have names.
    row_names : str or None
        The column that names the rows, unless another use is chosen for it.
    lines : tuple of tuple of str
        The first ten lines of a text, or rows of a sheet, as they are: the first fields, cut short.
    header : int
        The line of the header, counted from 1; 0 if there is none.
    sheets : tuple of str
        The sheets of a workbook.
    long : tuple of str or None
        Columns of ids, variables and values, if the table is long: what the option ``pivot`` takes.
    notes : tuple of str
        What was decided about the file, and how its numbers and dates were read.
    """

    rows: int
    width: int
    columns: tuple[Column, ...]
    named: bool = True
    row_names: str | None = None
    lines: tuple[tuple[str, ...], ...] = ()
    header: int = 0
    sheets: tuple[str, ...] = ()
    long: tuple[str, str, str] | None = None
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return all of it but the places of missing entries."""
        facts = asdict(self)
        for column in facts["columns"]:
            del column["holes"]
        return facts


def preview(file: IO[bytes], source: str, reading: ReadingOptions | None = None) -> Preview | None:
    """Look at a table.

    Parameters
    ----------
    file : binary file
        Its format follows from its content.
    source : str
        Its name in error messages.
    reading : ReadingOptions, optional
        Where its header and last lines are, what marks missing values, and whether it is long; other options
        do not matter.

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
        from gramian.io.columns import Columns, find_row_names, is_number
        from gramian.io.long import find_long
        from gramian.io.pivot import pivoted

        table, reading = opened.prepared(reading or ReadingOptions(), None)
        about = {"lines": table.first_lines, "header": table.header, "sheets": table.sheets}
        if reading.pivot is not None:
            table, _ = pivoted(table, reading)
        columns = Columns.whole(table, replace(reading, pivot=None))
    count = len(columns.arrays[0]) if columns.arrays else 0
    if not count:
        raise DataError(f"{source} has no rows. Add at least one row of numbers.")
    # Of many columns those of text are wanted, since they need a use.
    places = sorted(range(len(columns.arrays)), key=lambda place: is_number(columns.arrays[place]))[:MOST]
    shown = [
        _of_arrow(columns.names[i], columns.arrays[i], is_number(columns.arrays[i])) for i in sorted(places)
    ]
    shown = [replace(one, unit=columns.units.get(one.name, "")) for one in shown]
    names, every = columns.names, list(range(len(columns.arrays)))
    place, *_ = find_row_names(names, table, ReadingOptions(), None, every, columns.arrays.__getitem__)
    about |= {"long": find_long(columns.names, columns.arrays), "notes": (*table.notes, *columns.notes)}
    about["row_names"] = None if place is None else names[place]
    return Preview(count, len(every), tuple(shown), table.names is not None, **about)


def _of_array(source: ArraySource) -> Preview:
    (count, width), names = source.shape, source.columns or map(str, range(source.shape[1]))
    shown = source.read()[:, :MOST]
    shown = shown.tocsc() if hasattr(shown, "tocsc") else shown
    # One column of a sparse matrix at a time takes memory.
    columns: Iterable[Any] = map(partial(_column, shown), range(shown.shape[1]))
    return Preview(count, width, tuple(map(of_numbers, names, columns)), source.columns is not None)


def _column(array: Any, place: int) -> Any:
    column = array[:, [place]]
    return (column.toarray() if hasattr(column, "toarray") else column).reshape(-1)


def of_numbers(name: str, column: Any) -> Column:
    """Return what is known of a column of numbers."""
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    there = column[~missing]
    finite = there[np.isfinite(there)] if there.size else there
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    shown = zip(column, missing[:FIRST], strict=False)
    first = tuple("" if hole else f"{value:.6g}" for value, hole in shown)
    distinct = len(np.unique(there))
    kind: Literal["number", "constant"] = "number" if distinct > 1 else "constant"
    whole = bool(finite.size) and not np.mod(finite, 1).any()
    counts = len(column) > 1 and low in (0, 1) and bool(np.array_equal(column, low + np.arange(len(column))))
    deviation = _deviation(finite) if finite.size > 1 else None
    about = (low, high, first, deviation, whole, counts)
    return Column(name, kind, int(missing.sum()), distinct, *about, holes=np.packbits(missing))


def _deviation(values: npt.NDArray[Any]) -> float | None:
    """Return the standard deviation; None where it is beyond float64."""
    values = values.astype(np.float64)
    size = float(np.abs(values).max()) or 1.0
    deviation = size * float(np.std(values / size, ddof=1))
    return deviation if np.isfinite(deviation) else None


def _of_arrow(name: str, column: Any, number: bool) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if number:
        return of_numbers(name, column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    texts = ["" if value is None else str(value) for value in column.slice(0, FIRST).to_pylist()]
    first = tuple(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in texts)
    try:
        distinct = pc.count_distinct(column).as_py()
    except pa.ArrowNotImplementedError:  # of lists, structures and the like
        distinct = len({str(value) for value in column.to_pylist() if value is not None})
    kind: Literal["date", "text"] = "date" if pa.types.is_temporal(column.type) else "text"
    return Column(name, kind, column.null_count, distinct, None, None, first)
