"""From a source to a table: the chosen rows and columns, in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core import checks
from gramian.errors import DataError, ParameterError, of_new_rows
from gramian.tables import treatment
from gramian.tables.files import Place, opened_source
from gramian.tables.formats.pictures import PictureSource
from gramian.tables.labels import label_texts
from gramian.tables.metadata import LabelPlace, with_labels
from gramian.tables.reading import (
    COLUMN_OPTIONS,
    IMPUTED,
    TEXT_OPTIONS,
    ReadingOptions,
    Remembered,
    group_column,
    pick_columns,
    pick_rows,
)
from gramian.tables.source import ArraySource, Source, damage, whole_within
from gramian.tables.stored import StoredRows, column_of, columns_taken, rows_of_table, rows_taken
from gramian.tables.table import LOGICAL, Expected, Origin, Table, contiguous, label_fields, transpose


def choose(
    location: Place,
    reading: ReadingOptions,
    labels: LabelPlace | None = None,
    limit: int | None = None,
    expected: Expected | None = None,
) -> Table:
    """Return the chosen part of a file as a table.

    Parameters
    ----------
    location : Location, sequence of Path, or binary file
    reading : ReadingOptions
        Checked.
    labels : LabelPlace, optional
        Where labels are, if in another file.
    limit : int, optional
        Bytes of working memory: a table larger than a quarter of it stays on disk. None reads all.
    expected : Expected, optional
        What a fitted model expects of new data.
    """
    with opened_source(location, limit=limit) as (format, opened, source):
        reading, notes = _where_it_applies(reading, source)
        if expected is not None and expected.transform is not None and reading.transform is None:
            reading = replace(reading, transform=expected.transform)
        if not format.marks:
            others = [name for name in TEXT_OPTIONS if name != "na_values"]
            refuse(reading, others, source.source, "no text")
        if not isinstance(source, PictureSource):
            refuse(reading, ["size"], source.source, "a table")
        if isinstance(source, ArraySource | PictureSource):
            refuse(reading, ["pivot", "answers"], source.source, "no columns of text")
        table = table_of(source, reading, limit, None if reading.transpose else expected)
        if reading.na_values and not format.marks:
            table = treatment.without_marks(table, reading.na_values)
        read = not (table.origin.sha256 or isinstance(table.values, StoredRows))
        if sha256 := opened.hash() if read else opened.sha256:
            table = replace(table, origin=Origin(sha256, "the bytes of the file"))
        origin = replace(table.origin, reading=vars(reading))
        table = replace(table, notes=(*table.notes, *notes), origin=origin)
    return _completed(table, reading, labels, expected)


def _completed(
    table: Table, reading: ReadingOptions, labels: LabelPlace | None, expected: Expected | None
) -> Table:
    """Return a table transposed, with its labels, and with its missing values treated."""
    if reading.transpose:
        table = transpose(table)
    if labels is not None:
        table = with_labels(table, labels, None if reading.transpose else reading.rows, reading.id)
    if reading.corrections is not None:
        table = treatment.corrected(table, reading.corrections)
    if reading.exclude is not None:
        table = treatment.without(table, reading.exclude)
    if expected is not None:
        table = treatment.as_expected(table, expected)
    if reading.transform is not None:
        table = treatment.with_transform(table, reading.transform)
    if table.axes and expected is None:
        table = treatment.masked(table)
    stored = isinstance(table.values, StoredRows)
    holes = expected is not None and expected.holes and reading.missing is None
    fitted_means = expected is not None and expected.means is not None and not holes
    # Calls of genotypes become means without being asked to.
    unasked = table.alleles is not None and reading.missing is None and expected is None
    policy = "mean" if unasked else reading.missing
    if policy is not None or fitted_means:
        table = treatment.handle_missing(table, policy, expected)
    if reading.missing == "mean":
        table = replace(table, missing=replace(table.missing, method="mean"))
    # Otherwise the first pass over the numbers finds NaN and infinity.
    if table.values.finite is False if stored else table.values.dtype.kind == "f":
        with nullcontext() if expected is None else of_new_rows():
            left = holes or table.missing.method in IMPUTED
            found = rows_of_table(table).require_finite(holes=left)
        if holes and not stored and found is not None:
            missing = checks.counted(found.missing, "missing value")
            rows = checks.counted(len(found.by_row), "row")
            note = f"{missing} in {rows}: scores of such rows follow from their observed entries"
            table = replace(table, notes=(*table.notes, note))
    if not stored:
        return replace(table, values=contiguous(table.values))
    return replace(table, notes=(*table.notes, table.values.note)) if table.values.note else table


def _where_it_applies(reading: ReadingOptions, source: Source) -> tuple[ReadingOptions, tuple[str, ...]]:
    """Return the options without remembered names that a source lacks, and notes on these."""
    changed: dict[str, Any] = {}
    notes: list[str] = []
    names_here = source.column_names
    for option in COLUMN_OPTIONS if names_here is not None else ():
        value = getattr(reading, option)
        names = value if isinstance(value, tuple) else (value,)
        if absent := [name for name in names if isinstance(name, Remembered) and name not in names_here]:
            rest = tuple(name for name in names if name not in absent)
            changed[option] = (rest if isinstance(value, tuple) else rest[0]) if rest else None
            if option != "drop":
                notes.append(f"{option}: no column {checks.listed(absent)} here, as the fitted data had")
    return (replace(reading, **changed) if changed else reading), tuple(notes)


def refuse(reading: ReadingOptions, options: Sequence[str], source: str, content: str) -> None:
    """Raise a ParameterError for the first of some options that does not apply to a file."""
    for name in options:
        if getattr(reading, name) is not None:
            why = f"does not apply to {source}, which holds {content}"
            raise ParameterError(name, allowed=why, hint="Leave it out.")


def table_of(
    source: Source, reading: ReadingOptions, limit: int | None = None, expected: Expected | None = None
) -> Table:
    """Return the chosen part of a source: on disk where reading it takes more than a quarter of a limit.

    Raises
    ------
    ParameterError
        If the options name rows or columns that are not there, or columns of pictures.
    DataError
        If its content cannot be a table of numbers.

    Examples
    --------
    >>> from gramian.tables.source import Header
    >>> source = ArraySource.of(Header((3, 3), np.dtype(float), lambda: np.eye(3)), "memory")
    >>> table = table_of(source, ReadingOptions(label="2"))
    >>> table.values.shape, table.labels.tolist()
    ((3, 2), [0.0, 0.0, 1.0])
    """
    if isinstance(source, PictureSource):
        refuse(reading, COLUMN_OPTIONS, source.source, "pictures")
        return _table_of_array(source.array(reading.rows, reading.size), ReadingOptions(), limit)
    if isinstance(source, ArraySource):
        return _table_of_array(source, reading, limit)
    # Arrow takes longer to import than everything else here.
    from gramian.tables.answers import coded
    from gramian.tables.columns import table_of_columns
    from gramian.tables.long import pivoted

    if answers := reading.answers or (expected and expected.answers):
        source = coded(source, reading, answers)
    if reading.pivot is not None:
        source, reading = pivoted(source, reading)
    return table_of_columns(source, reading, limit, expected)


def _table_of_array(source: ArraySource, reading: ReadingOptions, limit: int | None) -> Table:
    rows = pick_rows(source.shape[0], reading.rows, source.source)
    indices = _value_columns(source, reading)
    with damage(source.source):
        lazy = source.lazy if limit is not None and source.memory_of(rows) > whole_within(limit) else None
        if lazy is not None:
            array = lazy(limit) if reading.rows is None else rows_taken(lazy(limit), rows)
        else:
            array = source.read(rows)
            if array.dtype.kind == "b":
                array = array.astype(np.uint8) if sparse.issparse(array) else array.view(np.uint8)
        values = contiguous(array) if indices is None else columns_taken(array, indices)

        def aside(option: str, name: str) -> npt.NDArray[Any]:
            """Return a column that is no number."""
            if source.set_aside is not None:
                return source.set_aside(option, name)[list(rows)]
            index = int(name) if source.columns is None else source.columns.index(name)
            return column_of(array, index)

        names = source.row_names and tuple(source.row_names[row] for row in rows)
        if reading.id is not None:
            names = tuple(label_texts(aside("id", reading.id)))
        labels = {name: aside("label", name) for name in reading.label_columns}
        known_names = source.names_aside if source.set_aside is not None else source.column_names or ()
        grouping = (group_column(entry, known_names) for entry in reading.groups)
        groups = {name: aside("exclude", name) for name in grouping if name is not None}
        weights = None if reading.weights is None else aside("weights", reading.weights)
    positions = range(values.shape[1]) if indices is None else indices
    features = None if source.columns is None else tuple(source.columns[index] for index in positions)
    alleles = source.alleles and {name: source.alleles[name] for name in features or ()}
    logical = (LOGICAL,) if source.dtype.kind == "b" else ()
    return Table(
        values,
        features,
        names,
        **label_fields(labels),
        picture_shape=(source.shape[1], source.shape[2]) if len(source.shape) == 3 else None,
        axes=source.axes,
        source=source.source,
        notes=(*source.notes, *logical, *(() if lazy else source.notes_in_memory)),
        origin=source.origin(),
        row_numbers=None if reading.rows is None else rows,
        column_numbers=None if indices is None or features is not None else tuple(indices),
        alleles=alleles,
        weights=weights,
        groups=groups,
    )


def _value_columns(source: ArraySource, reading: ReadingOptions) -> list[int] | None:
    """Return the columns of numbers, None for all."""
    name, columns, elsewhere = source.source, source.columns, source.set_aside is not None
    if reading.id and source.row_names is not None and not elsewhere:
        problem = f"does not apply to {name}, which already names its rows"
        raise ParameterError("id", reading.id, problem, "Leave it out.")
    if len(source.shape) == 3:
        refuse(reading, COLUMN_OPTIONS, name, "pictures")
        return None
    if columns is None and all(getattr(reading, option) is None for option in COLUMN_OPTIONS):
        return None
    columns = columns or tuple(map(str, range(source.shape[1])))
    inside = replace(reading, id=None, label=None, weights=None) if elsewhere else reading
    indices = pick_columns(columns, inside, name).values
    if not indices:
        raise DataError(f"{name} has no columns left.", "Drop fewer columns, or choose some with columns.")
    return None if indices == list(range(len(columns))) else indices
