"""From a source to a table: the chosen rows and columns, in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.arrays import dense
from gramian.checks import listed
from gramian.errors import DataError, ParameterError
from gramian.reading import IMPUTED, ReadingOptions, Remembered
from gramian.rows.archives import damage
from gramian.rows.expected import Expected
from gramian.rows.files import Place, opened_source
from gramian.rows.kinds.sparse import rows_in_memory
from gramian.rows.kinds.stored import StoredRows
from gramian.rows.labels import LabelPlace, with_labels
from gramian.rows.lazy.array import LazyArray, whole_within
from gramian.rows.lazy.repeated import repeated
from gramian.rows.lazy.spool import columns_taken, parts, rows_taken
from gramian.rows.missing import handle_missing
from gramian.rows.source import ArraySource, PictureSource, Source
from gramian.rows.table import (
    COLUMN_OPTIONS,
    LOGICAL,
    Choice,
    Table,
    contiguous,
    pick_columns,
    pick_rows,
    take_columns,
    transpose,
    unique_names,
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
    leave_out = reading.unmatched == "leave-out"
    if expected is not None:
        expected = replace(expected, leave_out=leave_out)
    with opened_source(place, limit=limit) as (format, opened, source):
        reading, notes = _where_it_applies(reading, source, format.marks)
        choice = choice_of(reading, expected)
        if not format.marks:
            choice.refuse(["na_values"], source.source, "no text")
        if not isinstance(source, PictureSource):
            choice.refuse(["size"], source.source, "a table")
        genotypes = isinstance(source, ArraySource) and source.alleles is not None
        if reading.unmatched is not None and (expected is None or not genotypes):
            raise ParameterError(
                f"unmatched={reading.unmatched!r} applies to genotypes (.bed) that a fitted "
                "model maps. Leave it out."
            )
        fills = isinstance(source, ArraySource) and source.fills_missing
        if fills and reading.missing not in (None, "mean"):
            limit = None
        table = table_of(source, choice, limit)
        read = not (table.sha256 or isinstance(table.values, LazyArray))
        if sha256 := opened.hash() if read else opened.sha256:
            table = replace(table, sha256=sha256, hashed="the bytes of the file")
        options = {one.name: getattr(reading, one.name) for one in fields(ReadingOptions)}
        table = replace(table, notes=(*table.notes, *notes), reading=options)
    return _completed(table, reading, labels, expected, fills)


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
        choice = choice_of(replace(reading, rows=None), None)
        if not format.marks:
            choice.refuse(["na_values"], source.source, "no text")
        choice.refuse(["size"], source.source, "a table")
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
    fills: bool = False,
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
    unasked = fills and reading.missing is None and expected is None
    if reading.missing is not None or fitted_means or unasked or (holes and not stored):
        table = handle_missing(table, "mean" if unasked else reading.missing, expected)
    if stored and (count := getattr(table.values, "missing_values", 0)):
        table = replace(table, missing_values=count)
    if reading.missing == "mean":
        table = replace(table, missing="mean")
    # Otherwise the first pass over the numbers finds NaN and infinity.
    if table.values.finite is False if stored else table.values.dtype.kind == "f":
        rows = StoredRows.of(table.values) if stored else rows_in_memory(table.flat)
        rows = replace(rows, table=table, feature_names=table.feature_names, row_names=table.row_names)
        rows.require_finite(holes=holes or table.missing in IMPUTED)
    return table if stored else replace(table, values=contiguous(table.values))


def _where_it_applies(
    reading: ReadingOptions, source: Source, marks: bool
) -> tuple[ReadingOptions, tuple[str, ...]]:
    """Return the options without remembered names that a source lacks, and notes on these."""
    changed: dict[str, Any] = {}
    notes: list[str] = []
    for option in (*COLUMN_OPTIONS, "na_values"):
        value = getattr(reading, option)
        names = value if isinstance(value, tuple) else (value,)
        remembered = [name for name in names if isinstance(name, Remembered)]
        absent = _absent(remembered, source) if option != "na_values" else () if marks else remembered
        if absent:
            rest = tuple(name for name in names if name not in absent)
            changed[option] = (rest[0] if len(rest) == 1 and option == "label" else rest) if rest else None
            if option not in ("drop", "na_values"):
                notes.append(f"{option}: no column {listed(absent)} here, as the fitted data had")
    return (replace(reading, **changed) if changed else reading), tuple(notes)


def _absent(names: Sequence[str], source: Source) -> Sequence[str]:
    """Return the names of columns that a source is known to lack."""
    if isinstance(source, PictureSource) or len(getattr(source, "shape", ())) == 3:
        return names
    if isinstance(source, ArraySource):
        if source.set_aside is not None:
            return ()
        width = source.shape[1]
        if source.columns is None:
            return [name for name in names if not name.isdecimal() or int(name) >= width]
        return [name for name in names if name not in source.columns]
    known = None if source.names is None else unique_names(source.names)[0]
    return [] if known is None else [name for name in names if name not in known]


def choice_of(reading: ReadingOptions, expected: Expected | None) -> Choice:
    """Return the reading options as a choice in the terms of the file."""
    options = ("rows", "columns", "drop", "id", "weights", "size", "na_values")
    shared = {option: getattr(reading, option) for option in options}
    label, *further = labels_asked(reading.label)
    shared |= (
        {"label_row": label} if reading.transpose else {"label": label, "further_labels": tuple(further)}
    )
    if not reading.transpose and expected is not None and expected.names is not None:
        holes = expected.holes and reading.missing is None
        means = None if holes else expected.means
        shared |= {"needed": expected.names, "means": means, "holes": holes, "leave_out": expected.leave_out}
    return Choice(**shared)


def labels_asked(label: str | tuple[str, ...] | None) -> tuple[str | None, ...]:
    """Return the names of the labels, at least one, which may be None."""
    return label if isinstance(label, tuple) else (label,)


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
    from gramian.rows.columns import table_of_columns

    return table_of_columns(source, choice, limit)


def _table_of_array(source: ArraySource, choice: Choice, limit: int | None) -> Table:
    rows = pick_rows(source.shape[0], choice.rows, source.source)
    value_columns, id_column, label, weighing, roles_notes = _roles(source, choice)
    # Labels of an .h5ad file are no columns of its matrix.
    inside = () if source.set_aside is not None else choice.further_labels
    further = {name: int(name) if source.columns is None else source.columns.index(name) for name in inside}
    places = id_column, label, weighing, *further.values()
    aside = [place for place in places if place is not None]
    with damage(source.source):
        if limit is not None and source.stays(rows, whole_within(limit)):
            values, taken, notes, means = _on_disk(source, choice, rows, value_columns, aside, limit)
        else:
            values, taken = _in_memory(source, rows, value_columns, aside)
            notes, means = source.notes_in_memory, None
        names = None if id_column is None else tuple(map(str, taken[id_column].tolist()))
        if names is None and source.row_names is not None:
            names = tuple(source.row_names[row] for row in rows)
        labels = None if label is None else taken[label]
        if source.set_aside is not None and choice.id is not None:
            names = tuple(map(str, source.set_aside("id", choice.id)[list(rows)].tolist()))
        if source.set_aside is not None and choice.label is not None:
            labels = source.set_aside("label", choice.label)[list(rows)]
        weights = None if weighing is None else taken[weighing]
        if source.set_aside is not None and choice.weights is not None:
            weights = source.set_aside("weights", choice.weights)[list(rows)]
        metadata = {name: taken[place] for name, place in further.items()}
        if source.set_aside is not None:
            metadata = {name: source.set_aside("label", name)[list(rows)] for name in choice.further_labels}
    positions = range(values.shape[1]) if value_columns is None else value_columns
    features = None if source.columns is None else tuple(source.columns[place] for place in positions)
    alleles, others = (
        None if known is None else {name: known[name] for name in features or () if name in known}
        for known in (source.alleles, source.other_alleles)
    )
    return Table(
        values,
        features,
        names,
        labels,
        label_name=choice.label,
        picture_shape=(source.shape[1], source.shape[2]) if len(source.shape) == 3 else None,
        source=source.source,
        notes=(*source.notes, *((LOGICAL,) if source.dtype.kind == "b" else ()), *roles_notes, *notes),
        sha256="" if source.sha256 is None else source.sha256(),
        hashed="" if source.sha256 is None else source.hashed,
        row_numbers=None if choice.rows is None else rows,
        column_numbers=None if value_columns is None or features is not None else tuple(value_columns),
        means=means,
        alleles=alleles,
        other_alleles=others,
        weights=weights,
        metadata=metadata,
    )


def _roles(
    source: ArraySource, choice: Choice
) -> tuple[list[int] | None, int | None, int | None, int | None, tuple[str, ...]]:
    """Return the columns of numbers, None for all, those that name, label and weigh rows, and notes."""
    name, columns, elsewhere = source.source, source.columns, source.set_aside is not None
    notes: tuple[str, ...] = ()
    if (choice.id or choice.label_row) and source.row_names is not None and not elsewhere:
        raise ParameterError(f"{name} already names its rows. Leave out id and label.")
    if choice.label_row is not None:
        why = f"rows of {name} have no names. Read labels from another file with labels_from."
        if elsewhere:
            why = f"labels of {name} are columns of obs. Leave out transpose: its rows are samples already."
        raise ParameterError(f"label={choice.label_row!r} with transpose names a row, but {why}")
    if len(source.shape) == 3:
        choice.refuse(COLUMN_OPTIONS, name, "pictures")
        return None, None, None, None, notes
    if columns is None:
        if not choice.names_columns():
            return None, None, None, None, notes
        columns = tuple(map(str, range(source.shape[1])))
    inside = choice
    if elsewhere:
        inside = replace(choice, id=None, label=None, weights=None, further_labels=())
    value_columns, id_column, label, weights = pick_columns(columns, inside, name)
    if source.by_columns and choice.needed is not None:
        available = [columns[place] for place in value_columns]
        there = set(available) if choice.leave_out else set(choice.needed)
        some = tuple(column for column in choice.needed if column in there) or choice.needed
        advice = () if source.alleles is None else (UNMATCHED,)
        places, notes = Expected(some).places(available, name, *advice)
        value_columns = [value_columns[place] for place in places]
    if not value_columns:
        raise DataError(f"{name} has no columns left. Drop fewer columns, or choose some with columns.")
    every = value_columns == list(range(len(columns)))
    return None if every else value_columns, id_column, label, weights, notes


def _in_memory(
    source: ArraySource, rows: range, value_columns: list[int] | None, aside: Sequence[int]
) -> tuple[Any, dict[int, npt.NDArray[Any]]]:
    """Return the numbers, and the columns that are set aside by their places."""
    if source.by_columns:
        values = source.read(rows, range(source.shape[1]) if value_columns is None else value_columns)
        return values, {place: source.read(rows, [place])[:, 0] for place in aside}
    array = source.read(rows)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8) if sparse.issparse(array) else array.view(np.uint8)
    taken = {place: np.array(dense(array[:, [place]])).ravel() for place in aside}
    return contiguous(array) if value_columns is None else take_columns(array, value_columns), taken


def _on_disk(
    source: ArraySource,
    choice: Choice,
    rows: range,
    value_columns: list[int] | None,
    aside: Sequence[int],
    limit: int,
) -> tuple[Any, dict[int, npt.NDArray[Any]], tuple[str, ...], npt.NDArray[Any] | None]:
    """Return as :func:`_in_memory`, with notes on where the numbers are, and means that fill their holes."""
    if source.copy is not None:
        taken = {place: source.read(rows, [place])[:, 0] for place in aside}
        columns = range(source.shape[1]) if value_columns is None else value_columns
        values, notes, means = source.copy(choice, rows, columns, limit)
        return values, taken, notes, means
    assert source.lazy is not None
    array, notes = source.lazy(limit), source.notes_on_disk
    if choice.rows is not None:
        array, more = rows_taken(array, rows)
        notes += more
    if value_columns is None:
        return array, {}, notes, None
    taken = {place: _column(array, place) for place in aside}
    values, more = columns_taken(array, value_columns)
    return values, taken, (*notes, *more), None


def _column(matrix: Any, place: int) -> npt.NDArray[Any]:
    """Return a column of a sparse matrix, in memory or in its file."""
    blocks = [matrix[part] for part in parts(matrix)] if isinstance(matrix, LazyArray) else [matrix]
    return np.concatenate([np.ravel(dense(block[:, [place]])) for block in blocks])
