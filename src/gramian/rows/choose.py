"""From a source to a table: the chosen rows and columns, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.arrays import dense
from gramian.checks import listed
from gramian.errors import DataError, ParameterError, of_new_rows
from gramian.reading import IMPUTED, ReadingOptions, Remembered
from gramian.rows.archives import damage
from gramian.rows.expected import Expected
from gramian.rows.files import Place, opened_source
from gramian.rows.labels import LabelPlace, with_labels
from gramian.rows.lazy.array import LazyArray, whole_within
from gramian.rows.lazy.repeated import repeated
from gramian.rows.lazy.spool import columns_taken, parts, rows_taken
from gramian.rows.missing import handle_missing, rows_of_table
from gramian.rows.source import ArraySource, PictureSource, Source
from gramian.rows.table import (
    COLUMN_OPTIONS,
    LOGICAL,
    Choice,
    Table,
    contiguous,
    label_fields,
    pick_columns,
    pick_rows,
    take_columns,
    transpose,
)

UNMATCHED = 'Count them as missing with unmatched="leave-out".'


def choose(
    place: Place,
    reading: ReadingOptions,
    labels: LabelPlace | None = None,
    limit: int | None = None,
    expected: Expected | None = None,
) -> Table:
    """Return the chosen part of a file as a table.

    Parameters
    ----------
    place : Location, sequence of Path, or binary file
    reading : ReadingOptions
        Checked.
    labels : LabelPlace, optional
        Where labels are, if in another file.
    limit : int, optional
        Bytes of working memory: a table larger than a quarter of it stays on disk. None reads all.
    expected : Expected, optional
        What a fitted model expects of new data.
    """
    if expected is not None:
        expected = replace(expected, leave_out=reading.unmatched == "leave-out")
    with opened_source(place, limit=limit) as (format, opened, source):
        reading, notes = _where_it_applies(reading, source, format.marks)
        choice = _checked_choice(reading, expected, source, format.marks)
        genotypes = isinstance(source, ArraySource) and source.alleles is not None
        if reading.unmatched is not None and (expected is None or not genotypes):
            raise ParameterError(
                f"unmatched={reading.unmatched!r} applies to genotypes (.bed) that a fitted "
                "model maps. Leave it out."
            )
        table = table_of(source, choice, limit)
        read = not (table.sha256 or isinstance(table.values, LazyArray))
        if sha256 := opened.hash() if read else opened.sha256:
            table = replace(table, sha256=sha256, hashed="the bytes of the file")
        options = {one.name: getattr(reading, one.name) for one in fields(ReadingOptions)}
        table = replace(table, notes=(*table.notes, *notes), reading=options)
    return _completed(table, reading, labels, expected)


def choose_first_rows(place: Place, reading: ReadingOptions, limit: int) -> Table | None:
    """Return a table as large as that of :func:`choose`, made of the first rows again and again.

    Nothing is written to the temporary folder. Labels and names of rows are left out.

    Parameters
    ----------
    place : Location or binary file
    reading : ReadingOptions
        Checked.
    limit : int
        Bytes of working memory: a table larger than a quarter of it is a ``RepeatedRows``.

    Returns
    -------
    Table or None
        None for arrays and pictures, whose size is in their header: :func:`choose` leaves them there.
    """
    with opened_source(place, limit=limit) as (format, _, source):
        if isinstance(source, ArraySource | PictureSource) or reading.unmatched is not None:
            return None
        choice = _checked_choice(replace(reading, rows=None), None, source, format.marks)
        source, _ = source.prepared(choice)
        first, times, estimate = source.first_rows()
        table = table_of(first, choice)
        axis = 1 if reading.transpose else 0
        before = len(table.values)
        table = _completed(table, reading, None, None)
    n_rows = round(before * times)
    if estimate:  # four digits of it
        n_rows = round(n_rows, 4 - len(str(n_rows)))
        estimate = f"about {n_rows:,} rows: estimated from {estimate} of the file"
    wanted = len(range(*(reading.rows or slice(None)).indices(n_rows)))
    count = round(wanted * table.values.shape[axis] / before)
    return replace(
        table,
        values=repeated(table.values, count, axis, whole_within(limit), table.source),
        feature_names=table.feature_names if axis == 0 else None,
        row_names=None,
        labels=None,
        metadata={},
        weights=None if table.weights is None else np.resize(table.weights, count),
        notes=(*table.notes, estimate) if estimate else table.notes,
    )


def _completed(
    table: Table,
    reading: ReadingOptions,
    labels: LabelPlace | None,
    expected: Expected | None,
) -> Table:
    """Return a table transposed, with its labels, and with its missing values treated."""
    if reading.transpose:
        table = transpose(table)
    if labels is not None:
        table = with_labels(table, labels, None if reading.transpose else reading.rows, reading.id)
    if expected is not None:
        table = expected.ordered(table)
    stored = isinstance(table.values, LazyArray)
    holes = expected is not None and expected.holes and reading.missing is None
    fitted_means = expected is not None and expected.means is not None and not holes
    # Calls of genotypes become means without being asked to.
    unasked = table.alleles is not None and reading.missing is None and expected is None
    policy = "mean" if unasked else reading.missing
    if policy is not None or fitted_means or (holes and not stored):
        table = handle_missing(table, policy, expected)
    if reading.missing == "mean":
        table = replace(table, missing="mean")
    # Otherwise the first pass over the numbers finds NaN and infinity.
    if table.values.finite is False if stored else table.values.dtype.kind == "f":
        with nullcontext() if expected is None else of_new_rows():
            rows_of_table(table).require_finite(holes=holes or table.missing in IMPUTED)
    if not stored:
        return replace(table, values=contiguous(table.values))
    return replace(table, notes=(*table.notes, table.values.note)) if table.values.note else table


def _checked_choice(
    reading: ReadingOptions, expected: Expected | None, source: Source, marks: bool
) -> Choice:
    """Return the reading options as a choice; raises a ParameterError for those of other kinds of file."""
    choice = choice_of(reading, expected)
    if not marks:
        choice.refuse(["na_values"], source.source, "no text")
    if not isinstance(source, PictureSource):
        choice.refuse(["size"], source.source, "a table")
    return choice


def _where_it_applies(
    reading: ReadingOptions, source: Source, marks: bool
) -> tuple[ReadingOptions, tuple[str, ...]]:
    """Return the options without remembered names that a source lacks, and notes on these."""
    changed: dict[str, Any] = {}
    notes: list[str] = []
    for option in (*COLUMN_OPTIONS, "na_values"):
        value = getattr(reading, option)
        names = value if isinstance(value, tuple) else (value,)
        absent = [name for name in names if isinstance(name, Remembered)]
        if absent and option != "na_values":
            known = source.column_names
            absent = [name for name in absent if known is not None and name not in known]
        if absent and not (option == "na_values" and marks):
            rest = tuple(name for name in names if name not in absent)
            changed[option] = (rest[0] if len(rest) == 1 and option == "label" else rest) if rest else None
            if option not in ("drop", "na_values"):
                notes.append(f"{option}: no column {listed(absent)} here, as the fitted data had")
    return (replace(reading, **changed) if changed else reading), tuple(notes)


def choice_of(reading: ReadingOptions, expected: Expected | None) -> Choice:
    """Return the reading options as a choice in the terms of the file."""
    options = ("rows", "columns", "drop", "id", "weights", "size", "na_values")
    shared = {option: getattr(reading, option) for option in options}
    shared["label_row" if reading.transpose else "label"] = reading.label
    if not reading.transpose and expected is not None:
        shared |= {"needed": expected.names, "leave_out": expected.leave_out}
    return Choice(**shared)


def table_of(source: Source, choice: Choice, limit: int | None = None) -> Table:
    """Return the chosen part of a source: on disk where reading it takes more than a quarter of a limit.

    Raises
    ------
    ParameterError
        If the choice names rows or columns that are not there, or columns of pictures.
    DataError
        If its content cannot be a table of numbers.

    Examples
    --------
    >>> from gramian.rows.archives import Header
    >>> source = ArraySource.of(Header((3, 3), np.dtype(float), lambda: np.eye(3)), "memory")
    >>> table = table_of(source, Choice(label="2"))
    >>> table.values.shape, table.labels.tolist()
    ((3, 2), [0.0, 0.0, 1.0])
    """
    if isinstance(source, PictureSource):
        choice.refuse(COLUMN_OPTIONS, source.source, "pictures")
        return _table_of_array(source.array(choice.rows, choice.size), Choice(), limit)
    if isinstance(source, ArraySource):
        return _table_of_array(source, choice, limit)
    # Arrow takes longer to import than everything else here.
    from gramian.rows.columns.reading import table_of_columns

    return table_of_columns(source, choice, limit)


def _table_of_array(source: ArraySource, choice: Choice, limit: int | None) -> Table:
    rows = pick_rows(source.shape[0], choice.rows, source.source)
    places, notes = _value_columns(source, choice)
    with damage(source.source):
        lazy = None
        if limit is not None and source.lazy is not None and source.memory_of(rows) > whole_within(limit):
            lazy = partial(source.lazy, limit)
        values, column = _numbers(source, choice, rows, places, lazy)

        def aside(option: str, name: str) -> npt.NDArray[Any]:
            """Return a column that is no number."""
            if source.set_aside is not None:
                return source.set_aside(option, name)[list(rows)]
            return column(int(name) if source.columns is None else source.columns.index(name))

        names = source.row_names and tuple(source.row_names[row] for row in rows)
        if choice.id is not None:
            names = tuple(map(str, aside("id", choice.id).tolist()))
        labels = {name: aside("label", name) for name in choice.labels}
        weights = None if choice.weights is None else aside("weights", choice.weights)
    positions = range(values.shape[1]) if places is None else places
    features = None if source.columns is None else tuple(source.columns[place] for place in positions)
    alleles, others = (
        None if known is None else {name: known[name] for name in features or () if name in known}
        for known in (source.alleles, source.other_alleles)
    )
    return Table(
        values,
        features,
        names,
        **label_fields(labels),
        picture_shape=(source.shape[1], source.shape[2]) if len(source.shape) == 3 else None,
        source=source.source,
        notes=(
            *source.notes,
            *((LOGICAL,) if source.dtype.kind == "b" else ()),
            *notes,
            *(() if lazy else source.notes_in_memory),
        ),
        sha256="" if source.sha256 is None else source.sha256(),
        hashed="" if source.sha256 is None else source.hashed,
        row_numbers=None if choice.rows is None else rows,
        column_numbers=None if places is None or features is not None else tuple(places),
        alleles=alleles,
        other_alleles=others,
        weights=weights,
    )


def _value_columns(source: ArraySource, choice: Choice) -> tuple[list[int] | None, tuple[str, ...]]:
    """Return the columns of numbers, None for all, and notes on the changes for a fitted model."""
    name, columns, elsewhere = source.source, source.columns, source.set_aside is not None
    if (choice.id or choice.label_row) and source.row_names is not None and not elsewhere:
        raise ParameterError(f"{name} already names its rows. Leave out id and label.")
    if choice.label_row is not None:
        why = f"rows of {name} have no names. Read labels from another file with labels_from."
        if elsewhere:
            why = f"labels of {name} are columns of obs. Leave out transpose: its rows are samples already."
        raise ParameterError(f"label={choice.label_row!r} with transpose names a row, but {why}")
    if len(source.shape) == 3:
        choice.refuse(COLUMN_OPTIONS, name, "pictures")
        return None, ()
    if columns is None and not choice.names_columns():
        return None, ()
    columns = columns or tuple(map(str, range(source.shape[1])))
    inside = replace(choice, id=None, label=None, weights=None) if elsewhere else choice
    notes: tuple[str, ...] = ()
    places = pick_columns(columns, inside, name).values
    if source.by_columns and choice.needed is not None:
        available = [columns[place] for place in places]
        there = set(available) if choice.leave_out else set(choice.needed)
        some = tuple(column for column in choice.needed if column in there) or choice.needed
        advice = () if source.alleles is None else (UNMATCHED,)
        order, notes = Expected(some).places(available, name, *advice)
        places = [places[place] for place in order]
    if not places:
        raise DataError(f"{name} has no columns left. Drop fewer columns, or choose some with columns.")
    return None if places == list(range(len(columns))) else places, notes


def _numbers(
    source: ArraySource,
    choice: Choice,
    rows: range,
    places: list[int] | None,
    lazy: Callable[..., LazyArray] | None,
) -> tuple[Any, Callable[[int], npt.NDArray[Any]]]:
    """Return the numbers, in memory or as ``lazy`` leaves them on disk, and what reads another column."""
    some = range(source.shape[1]) if places is None else places
    if source.by_columns:
        values = source.read(rows, some) if lazy is None else lazy(rows, some)
        return values, lambda place: source.read(rows, [place])[:, 0]
    if lazy is None:
        array = source.read(rows)
        if array.dtype.kind == "b":
            array = array.astype(np.uint8) if sparse.issparse(array) else array.view(np.uint8)
        values = contiguous(array) if places is None else take_columns(array, places)
    else:
        array = lazy() if choice.rows is None else rows_taken(lazy(), rows)
        values = array if places is None else columns_taken(array, places)
    return values, partial(_column, array)


def _column(matrix: Any, place: int) -> npt.NDArray[Any]:
    """Return a column of a matrix, in memory or in its file."""
    blocks = [matrix[part] for part in parts(matrix)] if isinstance(matrix, LazyArray) else [matrix]
    return np.concatenate([np.ravel(dense(block[:, [place]])) for block in blocks])
