"""A preview of a table before columns are chosen: their kinds, missing values and first entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.arrays import are_whole
from gramian.checks import evenly
from gramian.errors import DataError
from gramian.io.files import Place, opened_source
from gramian.io.parts import pick_rows
from gramian.io.source import ArraySource, PictureSource
from gramian.reading import COLUMN_OPTIONS, ReadingOptions
from gramian.records import FloatArray

FIRST = 8  # entries of a column that are shown
WIDEST = 40  # letters of one of them
MOST = 200  # columns
SAMPLE = 1000  # rows of which the values are kept


@dataclass(frozen=True)
class Column:
    """One column as it is in the file.

    Attributes
    ----------
    name : str
        Its name, or its position, counted from 0.
    kind : {"number", "text", "constant", "date"}
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
    sample : ndarray of float64 or None
        Of numbers: those of at most 1000 evenly spaced rows, NaN where one is missing or infinite.
    unit : str
        Its unit, where the file has one apart from its name: of a row of units, a percent sign or currency.
    """

    name: str
    kind: Literal["number", "text", "constant", "date"]
    missing: int
    distinct: int
    low: float | None
    high: float | None
    first: tuple[str, ...]
    deviation: float | None = None
    whole: bool = False
    counts: bool = False
    holes: npt.NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    sample: FloatArray | None = field(default=None, repr=False, compare=False)
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
    whole : bool
        Whether all rows were looked at, or the first ones of a large file.
    genotypes : bool
        Whether the numbers are counts of alleles.
    lines : tuple of tuple of str
        The first ten lines of a text, or rows of a sheet, as they are: the first fields, cut short.
    header : int
        The line of the header, counted from 1; 0 if there is none.
    sheets : tuple of str
        The sheets of a workbook, the one that is read first.
    long : tuple of str or None
        Columns of ids, variables and values, if the table is long: what the option ``pivot`` takes.
    notes : tuple of str
        What was decided about the file, and how its numbers and dates were read.
    marks : mapping of str to mapping of str to int
        By columns of text that are numbers but for a few texts, how often each of these occurs.
    """

    rows: int
    width: int
    columns: tuple[Column, ...]
    named: bool = True
    row_names: str | None = None
    whole: bool = True
    genotypes: bool = False
    lines: tuple[tuple[str, ...], ...] = ()
    header: int = 0
    sheets: tuple[str, ...] = ()
    long: tuple[str, str, str] | None = None
    notes: tuple[str, ...] = ()
    marks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return all of it but the values and the places of missing entries."""
        facts = asdict(self)
        for column in facts["columns"]:
            del column["holes"], column["sample"]
        return facts


def preview(
    place: Place, source: str | None = None, reading: ReadingOptions | None = None, most: int | None = None
) -> Preview | None:
    """Look at a table.

    Parameters
    ----------
    place : Location, sequence of Path, or binary file
        The format of a binary file follows from its content.
    source : str, optional
        Its name in error messages.
    reading : ReadingOptions, optional
        Of these, what says how the file is written, whether it is long, and which rows are wanted.
    most : int, optional
        Bytes of a large file that are looked at; None looks at all of it.

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
    with opened_source(place, name=source) as (_, _, opened):
        if isinstance(opened, PictureSource):
            return None
        reading = reading or ReadingOptions()
        if isinstance(opened, ArraySource):
            return None if len(opened.shape) > 2 else _of_source(opened, reading, most)
        from gramian.io import numerals
        from gramian.io.columns import Columns, whole_fields
        from gramian.io.long import find_long
        from gramian.io.pivot import pivoted

        table, reading = opened.prepared(replace(reading, **dict.fromkeys(COLUMN_OPTIONS)), None)  # type: ignore[arg-type]
        about = {"lines": table.first_lines, "header": table.header, "sheets": table.sheets}
        if reading.pivot is not None:
            table, _ = pivoted(table, reading)
        fields = whole_fields(table, most)
        whole = most is None or sum(field.nbytes for field in fields) < most
        width, names = len(fields), table.unique_names(len(fields))[0]
        if width > MOST and table.separator is not None:  # each column that is not shown costs time
            shown = numerals.likely_text(fields, table.na_values)
            shown = sorted({0, *(shown + sorted({*range(MOST)} - {*shown}))[:MOST]})
            fields, names = [fields[place] for place in shown], tuple(names[place] for place in shown)
        columns = Columns.of(fields, table, below_limit=reading.below_limit)
        columns = replace(columns, names=names[: len(columns.arrays)])
    if not columns.arrays or not len(columns.arrays[0]):
        raise DataError(f"{columns.source.source} has no rows. Add at least one row of numbers.")
    if reading.rows is not None and whole:
        rows = np.array(pick_rows(len(columns.arrays[0]), reading.rows, columns.source.source))
        columns = replace(columns, arrays=[column.take(rows) for column in columns.arrays])
    about |= {"long": find_long(columns.names, columns.arrays), "notes": (*table.notes, *columns.notes)}
    seen = of_columns(columns, columns.source.names is not None, whole)
    return replace(seen, width=max(width, seen.width) if width > MOST else seen.width, **about)


def of_columns(columns: Any, named: bool, whole: bool = True) -> Preview:
    """Look at Arrow columns."""
    from gramian.io.columns import find_row_names, is_number, marks_of

    names, arrays = columns.names, columns.arrays
    # Of many columns those of text are wanted, since they need a use.
    places = sorted(range(len(arrays)), key=lambda place: is_number(arrays[place]))[:MOST]
    shown = [_of_arrow(names[i], arrays[i], is_number(arrays[i])) for i in sorted(places)]
    shown = [replace(one, unit=columns.units.get(one.name, "")) for one in shown]
    every = list(range(len(arrays)))
    place, *_ = find_row_names(names, columns.source, ReadingOptions(), None, every, arrays.__getitem__)
    row_names = None if place is None else names[place]
    text = [place for place in places if not is_number(arrays[place])]
    marks = {names[place]: some for place, some in marks_of(columns, text).items()}
    return Preview(len(arrays[0]), len(arrays), tuple(shown), named, row_names, whole, marks=marks)


def _of_source(source: ArraySource, reading: ReadingOptions, most: int | None) -> Preview:
    rows = pick_rows(source.shape[0], reading.rows, source.source)
    whole = most is None or source.memory_of(rows) <= most
    if not whole:
        rows = rows[: max(1, most * len(rows) // source.memory_of(rows))]  # type: ignore[operator]
    some = (list(range(min(MOST, source.shape[1]))),) if source.by_columns else ()
    result = of_array(source.read(rows, *some), source.columns, whole)
    return replace(result, width=source.shape[1], genotypes=source.alleles is not None)


def of_array(values: Any, names: Sequence[str] | None, whole: bool = True) -> Preview:
    """Look at an array, or a sparse matrix."""
    (count, width), named = values.shape, names is not None
    shown = values[:, :MOST]
    shown = shown.tocsc() if hasattr(shown, "tocsc") else shown
    # One column of a sparse matrix at a time takes memory.
    columns: Iterable[Any] = map(partial(_column, shown), range(shown.shape[1]))
    every = map(of_numbers, names or map(str, range(width)), columns)
    return Preview(count, width, tuple(every), named, whole=whole)


def _column(array: Any, place: int) -> Any:
    column = array[:, [place]]
    return (column.toarray() if hasattr(column, "toarray") else column).reshape(-1)


_places = lru_cache(maxsize=1)(evenly)  # the same in each column


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
    whole = bool(finite.size) and bool(are_whole(finite))
    counts = len(column) > 1 and low in (0, 1) and bool(np.array_equal(column, low + np.arange(len(column))))
    deviation = _deviation(finite) if finite.size > 1 else None
    about = (low, high, first, deviation, whole, counts)
    sample = np.asarray(column[_places(len(column), SAMPLE)], dtype=np.float64)
    sample = np.where(np.isfinite(sample), sample, np.nan)
    return Column(name, kind, int(missing.sum()), distinct, *about, holes=np.packbits(missing), sample=sample)


def _deviation(values: npt.NDArray[Any]) -> float | None:
    """Return the standard deviation; None where it is beyond float64."""
    values = values.astype(np.float64)
    size = float(np.abs(values).max()) or 1.0
    deviation = size * float(np.std(values / size, ddof=1))
    return deviation if np.isfinite(deviation) else None


def _of_arrow(name: str, column: Any, number: bool) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    from gramian.io.columns import is_text

    if number:
        return of_numbers(name, column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    kind: Literal["text", "date"] = "date" if pa.types.is_temporal(column.type) else "text"
    if is_text(column):  # a blank is no value
        blank = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
        column = pc.if_else(blank, pa.scalar(None, column.type), column)
    texts = ["" if value is None else str(value) for value in column.slice(0, FIRST).to_pylist()]
    first = tuple(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in texts)
    try:
        distinct = pc.count_distinct(column).as_py()
    except pa.ArrowNotImplementedError:  # of lists, structures and the like
        distinct = len({str(value) for value in column.to_pylist() if value is not None})
    return Column(name, kind, column.null_count, distinct, None, None, first)
