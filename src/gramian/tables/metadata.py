"""Labels and metadata of rows, from a file or a frame, joined by row names or by order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted, listed
from gramian.errors import DataError, FileError, InputTypeError
from gramian.tables.files import Location, format_of, locate, opened_source
from gramian.tables.formats.pictures import PictureSource
from gramian.tables.labels import as_variable, declared_levels, label_texts
from gramian.tables.memory import index_names
from gramian.tables.names import readable
from gramian.tables.reading import pick_rows
from gramian.tables.source import ArraySource, Use
from gramian.tables.table import Table, label_fields


@dataclass(frozen=True, eq=False)
class Metadata:
    """Columns that describe rows.

    Attributes
    ----------
    columns : mapping of str to ndarray of shape (n,)
        Numbers as float64, NaN where there is none; other columns as text, "" where there is none.
    row_names : sequence of str or None
    source : str
        The name of its source, for messages.
    written : callable or None
        Returns a column as a file has it, by its name.
    indexed : bool
        Whether an index of pandas numbers the rows where they have no names.
    levels : mapping of str to tuple of str
        Ordered categories of columns, by their names.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    row_names: Sequence[str] | None = None
    source: str = "the metadata"
    written: Callable[[str], tuple[str, ...]] | None = None
    indexed: bool = False
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def joined(
        self, n: int, row_names: Sequence[str] | None, what: str = "the data"
    ) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Return the columns for n rows, and a sentence that says how they were joined.

        Rows go to entries of the same name where both have names, and are missing where there is none.
        Otherwise they go by order.

        Raises
        ------
        DataError
            If a name occurs twice, no name matches, or the numbers of rows differ without names in both.
        """
        if (keyed := self.keyed(row_names)) is not self:
            return keyed.joined(n, row_names, what)
        if self.row_names is None or row_names is None or [*self.row_names] == [*row_names]:
            size = len(next(iter(self.columns.values())))
            if size != n:
                raise DataError(
                    f"{self.source} has {counted(size, 'row')} for the {n} rows of {what}. Without row names "
                    "in both they are joined by order: give one entry for each row, or name the rows."
                )
            named = self.row_names is not None and row_names is not None
            how = f"row names: {n} of {n} rows have an entry" if named else "order"
            return dict(self.columns), f"{self.source} was joined by {how}"
        if twice := [name for name, count in Counter(self.row_names).items() if count > 1]:
            raise DataError(f"{self.source} names {listed(twice)} more than once. Give each row one entry.")
        where = {name: index for index, name in enumerate(self.row_names)}
        indices = np.array([where.get(str(name), -1) for name in row_names], dtype=np.intp)
        there = indices >= 0
        if not there.any():
            lacking = listed([row_names[row] for row in np.flatnonzero(~there).tolist()])
            raise DataError(
                f"{self.source} has no entry for {lacking} of {what}. Its rows are named "
                f"{listed(self.row_names)}. Name them alike, or remove the names to join by order."
            )
        result = {name: values[indices] for name, values in self.columns.items()}
        if not there.all():
            result = {name: as_variable(name, values) for name, values in result.items()}
        for values in result.values() if not there.all() else ():
            values[~there] = np.nan if values.dtype.kind == "f" else ""
        return result, f"{self.source} was joined by row names: {int(there.sum())} of {n} rows have an entry"

    def keyed(self, row_names: Sequence[str] | None, keep: str | None = None) -> Metadata:
        """Return metadata without row names with the index or the column as such that names all rows."""
        if self.row_names is None and row_names is not None and self.indexed:
            numbers = tuple(map(str, range(len(next(iter(self.columns.values()))))))
            if set(row_names).issubset(numbers):
                return replace(self, row_names=numbers)
        if self.row_names is None and row_names is not None and len(self.columns) > 1:
            for key in (name for name in self.columns if name != keep):
                names = self.written(key) if self.written else tuple(label_texts(self.columns[key]))
                if len(set(names)) == len(names) and set(row_names).issubset(names):
                    others = {name: values for name, values in self.columns.items() if name != key}
                    return replace(self, columns=others, row_names=names)
        return self


def as_metadata(data: Any, id: str | None = None) -> Metadata:
    """Read metadata.

    Parameters
    ----------
    data : path, frame, Table, mapping of str to arrays, or array of shape (n,)
        A file is a table; of a Table its labels are taken. A frame of pandas may name rows by its index.
    id : str, optional
        The column of a file that names rows, if it is there; by default as in a table of data.

    Raises
    ------
    InputTypeError
        For anything else.
    DataError
        If columns are missing, or differ in length.
    """
    if isinstance(data, Metadata):
        return data
    if isinstance(data, str | os.PathLike):
        return _read(LabelPlace(locate(os.fsdecode(data))), "table", id)[0]
    if isinstance(data, Table):
        source = f"the labels of {data.source}"
        return Metadata(labels_of(data), data.row_names, source, levels=data.levels)
    if hasattr(data, "columns"):
        columns = {str(name): data[name] for name in getattr(data, "column_names", data.columns)}
    elif isinstance(data, Mapping):
        columns = {str(name): values for name, values in data.items()}
    else:
        columns = {str(getattr(data, "name", None) or "label"): data}
    result = {name: as_variable(name, values) for name, values in columns.items()}
    if not result:
        raise DataError('The metadata have no column. Give one or more, such as {"batch": batches}.')
    if len({len(values) for values in result.values()}) > 1:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in result.items())
        raise DataError(f"Columns of metadata need one length ({sizes}). Give one value for each row.")
    index = getattr(data, "index", None)
    levels = {name: declared_levels(values) for name, values in columns.items()}
    return Metadata(result, index_names(data), indexed=hasattr(index, "dtype"), levels=levels)


def label_columns(table: Table) -> dict[str, npt.NDArray[Any]]:
    """Return the labels of a table by their names, as they are; empty without labels."""
    first = {} if table.labels is None else {table.label_name or "label": table.labels}
    return first | dict(table.metadata)


def labels_of(table: Table) -> dict[str, npt.NDArray[Any]]:
    """Return the labels of a table as columns of metadata; empty without labels."""
    return {name: as_variable(name, values) for name, values in label_columns(table).items()}


def usual_hue(X: Any) -> Any:
    """Return what sets the colour of points by default: the first labels of a table, or the name of these."""
    first = next(iter(labels_of(X)), None) if isinstance(X, Table) else None
    return first if first is None or X.labels is None or X.label_name is not None else X.labels


def with_metadata(table: Table, data: Any, id: str | None = None) -> Table:
    """Add metadata to the rows of a table, and note how they were joined.

    Raises
    ------
    DataError
        As :meth:`Metadata.joined`.
    """
    metadata = as_metadata(data, id)
    columns, note = metadata.joined(table.values.shape[0], table.row_names, table.source)
    levels = {**table.levels, **metadata.levels}
    return replace(table, metadata={**table.metadata, **columns}, notes=(*table.notes, note), levels=levels)


# ---- Labels from another file than the data, joined to its rows by their names or by their order


@dataclass(frozen=True)
class LabelPlace:
    """A file of labels, the column to take, and what messages call the file if not by its path."""

    file: Location | IO[bytes]
    column: str | None = None
    name: str = ""

    def __str__(self) -> str:
        return (self.name or readable(str(self.file))) + (f":{self.column}" if self.column else "")


def locate_labels(text: str | os.PathLike[str] | LabelPlace) -> LabelPlace:
    """Split ``FILE:COLUMN`` and check that the file is there.

    Raises
    ------
    FileError, ParameterError
        As for data.
    InputTypeError
        If it is not a path.
    """
    if isinstance(text, LabelPlace):
        return text
    if not isinstance(text, str | os.PathLike):
        raise InputTypeError(
            f"labels_from is a {type(text).__name__}.", "Give the path of a file, or FILE:COLUMN."
        )
    text = os.fsdecode(text)
    name, separator, column = text.rpartition(":")
    whole = not separator or not column or name.endswith(":") or os.path.exists(text)
    file = locate(text if whole else name)
    located = LabelPlace(file, None if whole else column)
    if file.path.is_dir():
        raise FileError(
            f"{located} is a folder, but labels are read from a file. Give a file, or FILE:COLUMN."
        )
    return located


def with_labels(table: Table, located: LabelPlace, rows: slice | None, id: str | None) -> Table:
    """Label the rows of a table; of several columns the others become metadata.

    Parameters
    ----------
    table : Table
    located : LabelPlace
    rows : slice or None
        Which rows of the file the table has, where its rows are those of the file.
    id : str or None
        The column that names rows in the data; in the file of labels too where it is there.

    Raises
    ------
    DataError
        If no row has a label, or the numbers of labels and rows differ and rows have no names.
    """
    n = table.values.shape[0]
    labels, more = _read(located, "labels", id, n if rows is None else None)
    labels = labels.keyed(table.row_names, located.column)
    if located.column is not None:
        labels = replace(labels, columns=dict([next(iter(labels.columns.items()))]))
    size = len(next(iter(labels.columns.values())))
    named = table.row_names is not None
    if not named or labels.row_names is None:
        wanted = pick_rows(size, rows, str(located))
        wanted = wanted if table.row_numbers in (None, wanted) else range(size)
        columns = {
            name: values[wanted.start : wanted.stop : wanted.step] for name, values in labels.columns.items()
        }
        labels = replace(labels, columns=columns)
    joined, note = labels.joined(n, table.row_names, table.source)
    notes = (*table.notes, *more, *((note,) if named else ()))
    levels = {**table.levels, **labels.levels}
    return replace(table, **label_fields(joined), notes=notes, levels=levels)


def _read(
    located: LabelPlace, use: Use, id: str | None, n_rows: int | None = None
) -> tuple[Metadata, tuple[str, ...]]:
    """Read the columns of a file, first the labels if it is used as such, and notes on these."""
    file, column = located.file, located.column
    key = getattr(file, "key", None) or column
    if column is not None and isinstance(file, Location) and file.key is None:
        format = format_of(file.path)
        if format.keyed and not format.marks:  # of arrays the column is one of several
            file = replace(file, key=column)
    with opened_source(file, use, name=located.name or None) as (_, _, source):
        if use == "labels" and isinstance(source, ArraySource) and source.columns is None:
            return Metadata({key or "label": source.read().reshape(-1)}, None, str(located)), source.notes
        if isinstance(source, ArraySource | PictureSource):
            hint = "Give a table, such as a .csv file; FILE:COLUMN is one column."
            raise FileError(f"{source.source} has no named columns of labels or metadata. {hint}")
        # Arrow takes longer to import than everything else here.
        from gramian.tables.columns import Columns, spelling_notes

        table = Columns.whole(source)
        columns, row_names = table.described(id, column)
        levels, notes = source.levels, tuple[str, ...]()
    if not columns:
        raise DataError(f"{source.source} has names of rows but no other column. Add columns to it.")
    if use == "table":
        columns = {name: as_variable(name, values) for name, values in columns.items()}
        return Metadata(columns, row_names, source.source, table.row_names, levels=levels), ()
    first = column or _grouping(columns)
    columns = {first: columns[first]} | columns
    if column is not None:
        notes = tuple(spelling_notes({column: table.fields[table.names.index(column)]}))
    elif source.names == (first,) and columns[first].dtype.kind == "U" and len(columns[first]) + 1 == n_rows:
        columns = {"label": np.array([first, *columns[first]])}
        notes = (f"the first line of {source.source}, {first!r}, was read as a label",)
    return Metadata(columns, row_names, str(located), table.row_names, levels=levels), notes


def _grouping(columns: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the first column whose values repeat, of text or else of whole numbers; by default the first."""
    repeat = [name for name, values in columns.items() if 1 < len(np.unique(values)) <= len(values) / 2]
    text = [name for name in repeat if columns[name].dtype.kind not in "fiu"]
    return next(iter([*text, *(name for name in repeat if columns[name].dtype.kind in "iu"), *columns]))
