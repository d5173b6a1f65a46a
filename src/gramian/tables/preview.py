"""A preview of a table before columns are chosen: their kinds, missing values and first entries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import are_whole
from gramian.core.checks import evenly, slices
from gramian.core.records import FloatArray
from gramian.errors import DataError
from gramian.tables.files import Place, opened_source
from gramian.tables.formats.pictures import PictureSource
from gramian.tables.reading import COLUMN_OPTIONS, ReadingOptions, pick_rows
from gramian.tables.source import ArraySource

FIRST = 8  # entries of a column that are shown
WIDEST = 40  # letters of one of them
MOST = 200  # columns that are shown, besides those that need a use
SAMPLE, MOST_GROUPS = 1000, 20  # rows of which values are kept; different texts of a column of labels
SAMPLED, TOGETHER = 1 << 20, 1 << 20  # entries that are kept, of 64 rows at least; entries looked at together


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
        Number of missing entries, and of distinct values among the others, of numbers those that are finite:
        after the first 200 columns in the sample, unless all are integers.
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
        Of numbers: those of at most 1000 evenly spaced rows, fewer of many columns, NaN where one is missing
        or infinite.
    unit : str
        Its unit, where the file has one apart from its name: of a row of units, a percent sign or currency.
    description : str
        What the file says of it below the header, such as the text of a question.
    infinite : ndarray of uint8 or None
        Of numbers, some of which are infinite: a bit for each row, 1 where one is.
    texts : ndarray of str or None
        Of text with few values: that of the same rows as ``sample``, "" where one is missing.
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
    description: str = ""
    infinite: npt.NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    texts: npt.NDArray[np.str_] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Preview:
    """A table before anything is chosen.

    Attributes
    ----------
    rows, width : int
        Number of rows and columns.
    columns : tuple of Column
        All of them.
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
    answers : tuple of two tuples of str
        Ordered answers that several columns of text have, which the option of that name takes; the columns.
    notes : tuple of str
        What was decided about the file, and how its numbers and dates were read.
    marks : mapping of str to mapping of str to int
        By columns of text that are numbers but for a few texts, how often each of these occurs.
    slips : mapping of str to sequence of tuple of (int, str, str)
        By such columns, rows, their cells that are no numbers, and what these are most likely meant to be.
    odd_rows : tuple of tuple of (str, str, str)
        Rows that are sums, means or the like of others, or quality controls: a column, its text, and why.
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
    answers: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    notes: tuple[str, ...] = ()
    marks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    slips: Mapping[str, Sequence[tuple[int, str, str]]] = field(default_factory=dict)
    odd_rows: tuple[tuple[str, str, str], ...] = ()

    def facts(self, wanted: Collection[str] = ()) -> dict[str, Any]:
        """Return all of it but the values and the places of missing entries.

        Parameters
        ----------
        wanted : collection of str
            Columns that are among the facts in any case; of many columns the others are text, and the first.

        Returns
        -------
        dict
            By the names of the attributes.
        """
        needed = {column.name for column in self.columns if column.name in wanted or column.sample is None}
        others = [column.name for column in self.columns if column.name not in needed]
        others = others[: max(0, MOST - len(needed))]
        shown = [column for column in self.columns if column.name in needed.union(others)]
        hidden = {"holes", "sample", "infinite", "texts"}
        columns = [{name: fact for name, fact in vars(one).items() if name not in hidden} for one in shown]
        return asdict(replace(self, columns=())) | {"columns": tuple(columns)}


def preview(
    location: Place,
    reading: ReadingOptions | None = None,
    most: int | None = None,
) -> Preview | None:
    """Look at a table.

    Parameters
    ----------
    location : Location, sequence of Path, or binary file
        The format of a binary file follows from its content.
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
    >>> result = preview(io.BytesIO(b"a,b,c\\n1,x,2\\n1,y,\\n"))
    >>> [(column.name, column.kind, column.missing) for column in result.columns]
    [('a', 'constant', 0), ('b', 'text', 0), ('c', 'constant', 1)]
    """
    with opened_source(location) as (_, _, opened):
        if isinstance(opened, PictureSource):
            return None
        reading = reading or ReadingOptions()
        if isinstance(opened, ArraySource):
            return None if len(opened.shape) > 2 else _of_source(opened, reading, most)
        from gramian.tables.answers import coded, find_answers
        from gramian.tables.columns import Columns, is_text, whole_fields
        from gramian.tables.long import find_long, pivoted
        from gramian.tables.summaries import odd_rows

        reading = replace(reading, **dict.fromkeys(COLUMN_OPTIONS))  # type: ignore[arg-type]
        table = opened.prepared(reading)
        about = {"lines": table.first_lines, "header": table.header, "sheets": table.sheets}
        if reading.answers is not None:
            table = coded(table, reading, reading.answers)
        if reading.pivot is not None:
            table, _ = pivoted(table, reading)
        fields = whole_fields(table, most)
        whole = most is None or sum(field.nbytes for field in fields) < most
        columns = Columns(fields, table, reading)
    if not columns.arrays or not len(columns.arrays[0]):
        raise DataError(f"{columns.source.source} has no rows. Add at least one row of numbers.")
    if reading.rows is not None and whole:
        rows = np.array(pick_rows(len(columns.arrays[0]), reading.rows, columns.source.source))
        columns.arrays = [column.take(rows) for column in columns.arrays]
    if reading.groups and (out := columns.rows_of(reading.groups)).any() and not out.all():
        columns.arrays = [column.take(np.flatnonzero(~out)) for column in columns.arrays]
    about |= {"notes": (*table.notes, *columns.notes())}
    if any(map(is_text, columns.arrays)):  # which all of these are about
        for name, find in (("odd_rows", odd_rows), ("answers", find_answers), ("long", find_long)):
            about[name] = find(columns.names, columns.arrays)
    seen = of_columns(columns, columns.source.names is not None, whole)
    return replace(seen, **about)


def of_columns(columns: Any, named: bool, whole: bool = True) -> Preview:
    """Look at Arrow columns."""
    import pyarrow as pa

    from gramian.tables.columns import find_row_names, is_number, marks_of, slips_of

    names, arrays = columns.names, columns.arrays
    numbers = [index for index, column in enumerate(arrays) if is_number(column)]
    text = sorted({*range(len(arrays))}.difference(numbers))

    def some(chunk: slice) -> Any:
        some = [arrays[index].cast(pa.float64(), safe=False) for index in numbers[chunk]]
        return np.array([column.to_numpy(zero_copy_only=False) for column in some])

    sampled = _sampled(len(arrays[0]), len(numbers))
    found = {index: _of_text(names[index], arrays[index], sampled) for index in text}
    found |= zip(numbers, _of_parts([names[at] for at in numbers], len(arrays[0]), some), strict=True)
    units, texts = columns.units, columns.source.descriptions
    shown = [
        replace(column, unit=units.get(column.name, ""), description=texts.get(column.name, ""))
        for _, column in sorted(found.items())
    ]
    every = list(range(len(arrays)))
    index, *_ = find_row_names(columns, ReadingOptions(), None, every)
    row_names = None if index is None else names[index]
    found_slips = slips_of(columns, text)
    marks = {names[index]: some for index, some in marks_of(columns, text, found_slips).items()}
    slips = {
        names[index]: [(row, *cell) for row, cell in slip.read.items()]
        for index, slip in found_slips.items()
        if slip.read and (names[index] in marks or not slip.rest)
    }
    about: dict[str, Any] = {"marks": marks, "slips": slips}
    return Preview(len(arrays[0]), len(arrays), tuple(shown), named, row_names, whole, **about)


def _of_source(source: ArraySource, reading: ReadingOptions, most: int | None) -> Preview:
    rows = pick_rows(source.shape[0], reading.rows, source.source)
    whole = most is None or source.memory_of(rows) <= most
    if not whole:
        rows = rows[: max(1, most * len(rows) // source.memory_of(rows))]  # type: ignore[operator]
    result = of_array(source.read(rows), source.columns, whole)
    return replace(result, width=source.shape[1], genotypes=source.alleles is not None)


def of_array(values: Any, names: Sequence[str] | None, whole: bool = True) -> Preview:
    """Look at an array, or a sparse matrix."""
    count, width = values.shape
    values = values.tocsc() if hasattr(values, "tocsc") else values

    def some(chunk: slice) -> Any:
        block = values[:, chunk]
        return (block.toarray() if hasattr(block, "toarray") else block).T

    every = _of_parts(names or [*map(str, range(width))], count, some)
    return Preview(count, width, tuple(every), names is not None, whole=whole)


def _sampled(rows: int, numbers: int) -> Sequence[int]:
    return evenly(rows, min(SAMPLE, max(SAMPLED // max(1, numbers), 64)))


def _of_parts(names: Sequence[str], rows: int, some: Callable[[slice], Any]) -> list[Column]:
    """Return what is known of columns of numbers; one array of all takes memory."""
    sampled = _sampled(rows, len(names))
    result: list[Column] = []
    for chunk in slices(len(names), max(1, TOGETHER // max(1, rows))):
        result += of_numbers(names[chunk], np.ascontiguousarray(some(chunk)), sampled, chunk.start)
    return result


def of_numbers(
    names: Sequence[str], X: npt.NDArray[Any], sampled: Sequence[int] | None = None, start: int = 0
) -> list[Column]:
    """Return what is known of columns of numbers.

    Parameters
    ----------
    names : sequence of str
    X : ndarray of shape (d, n)
        A row for each column.
    sampled : sequence of int, optional
        Which of the n values are kept.
    start : int
        Number of columns before these.
    """
    X = X.astype(np.float64, copy=False)
    n = X.shape[1]
    missing, finite = np.isnan(X), np.isfinite(X)
    Z, F = np.where(finite, X, 0.0), np.where(finite, X, np.nan)
    low, high = np.fmin.reduce(F, axis=1), np.fmax.reduce(F, axis=1)
    there = low <= high
    sample = F[:, evenly(n, SAMPLE) if sampled is None else sampled]
    whole = there & are_whole(np.nan_to_num(sample).T)  # most numbers are not
    whole[whole] = are_whole(Z[whole].T)
    counts = whole & np.isin(low, (0, 1)) & (n > 1)
    counts[counts] = (X[counts] == low[counts, None] + np.arange(n)).all(axis=1)
    exact = whole | (np.arange(start, start + len(X)) < MOST)
    distinct = np.empty(len(X), dtype=np.intp)
    distinct[exact], distinct[~exact] = _distinct(F[exact]), _distinct(sample[~exact])
    distinct = np.maximum(distinct, there.astype(np.intp) + (low < high))
    deviations = _deviations(Z, finite)
    many, holes = missing.sum(axis=1).tolist(), np.packbits(missing, axis=1)
    beyond = np.packbits(~(missing | finite), axis=1)
    shown = [["" if value != value else f"{value:.6g}" for value in row] for row in X[:, :FIRST].tolist()]

    def column(at: int) -> Column:
        least, most = (float(low[at]), float(high[at])) if there[at] else (None, None)
        deviation = float(deviations[at]) if np.isfinite(deviations[at]) else None
        about = (tuple(shown[at]), deviation, bool(whole[at]), bool(counts[at]), holes[at], sample[at])
        kind: Literal["number", "constant"] = "number" if distinct[at] > 1 else "constant"
        infinite = beyond[at] if beyond[at].any() else None
        return Column(names[at], kind, many[at], int(distinct[at]), least, most, *about, infinite=infinite)

    return [column(at) for at in range(len(X))]


def _distinct(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the number of distinct values in each row that are not NaN."""
    X = np.sort(X, axis=1)
    return np.asarray((X[:, 1:] > X[:, :-1]).sum(axis=1) + ~np.isnan(X[:, 0]))


def _deviations(Z: npt.NDArray[Any], finite: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the standard deviation of each row over what is finite; NaN where there is none in float64."""
    size, count = np.maximum(Z.max(axis=1), -Z.min(axis=1)), finite.sum(axis=1)
    C = Z / np.where(size > 0, size, 1.0)[:, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        C -= (C.sum(axis=1) / count)[:, None]
        C[~finite] = 0.0
        return np.asarray(size * np.sqrt(np.einsum("ij,ij->i", C, C) / (count - 1)))


def _of_text(name: str, column: Any, sampled: Sequence[int]) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    from gramian.tables.strings import as_texts

    kind: Literal["text", "date"] = "date" if pa.types.is_temporal(column.type) else "text"
    texts = as_texts(column.slice(0, FIRST))
    first = tuple(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in texts)
    try:
        distinct = pc.count_distinct(column).as_py()
    except pa.ArrowNotImplementedError:  # of lists, structures and the like
        distinct = len({str(value) for value in column.to_pylist() if value is not None})
    some = np.array(as_texts(column.take(pa.array(sampled)))) if 1 < distinct <= MOST_GROUPS else None
    return Column(name, kind, column.null_count, distinct, None, None, first, texts=some)
