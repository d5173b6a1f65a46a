"""Labels from another file than the data, joined to its rows by their names or by their order."""

import os
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.checks import counted, listed
from gramian.errors import DataError, FileError, InputTypeError
from gramian.rows.files import Location, format_of, locate, opened_source
from gramian.rows.metadata import places_of_names
from gramian.rows.names import readable
from gramian.rows.source import ArraySource, PictureSource
from gramian.rows.table import Table, pick_rows


@dataclass(frozen=True)
class LabelPlace:
    """A file of labels, and the column to take."""

    file: Location
    column: str | None = None

    def __str__(self) -> str:
        return readable(str(self.file)) + (f":{self.column}" if self.column else "")


# The labels, names of their rows, the name of their column, and notes.
Labels: TypeAlias = tuple[npt.NDArray[Any], tuple[str, ...] | None, str, tuple[str, ...]]


def locate_labels(text: str | os.PathLike[str]) -> LabelPlace:
    """Split ``FILE:COLUMN`` and check that the file is there.

    Raises
    ------
    FileError, ParameterError
        As for data.
    InputTypeError
        If it is not a path.
    """
    if not isinstance(text, str | os.PathLike):
        raise InputTypeError(
            f"labels_from is a {type(text).__name__}. Give the path of a file, or FILE:COLUMN."
        )
    text = os.fsdecode(text)
    name, separator, column = text.rpartition(":")
    if not separator or not column or name.endswith(":") or os.path.exists(text):
        place = LabelPlace(locate(text))
    else:
        place = LabelPlace(locate(name), column)
    if place.file.path.is_dir():
        raise FileError(f"{place} is a folder, but labels are read from a file. Give a file, or FILE:COLUMN.")
    return place


def with_labels(table: Table, place: LabelPlace, rows: slice | None, id: str | None) -> Table:
    """Label the rows of a table.

    Parameters
    ----------
    table : Table
    place : LabelPlace
    rows : slice or None
        Which rows of the file the table has, where its rows are those of the file.
    id : str or None
        The column that names rows in the data; in the file of labels too where it is there.

    Raises
    ------
    DataError
        If a row has no label, or the numbers of labels and rows differ and rows have no names.
    """
    values, row_names, name, more = _read(place, id, table.values.shape[0] if rows is None else None)
    if table.row_names is None or row_names is None:
        wanted = pick_rows(len(values), rows, str(place))
        if len(wanted) != table.values.shape[0] or (table.row_numbers not in (None, wanted)):
            raise DataError(
                f"{place} has {counted(len(values), 'label')}, which do not match the rows of "
                f"{table.source} ({table.values.shape[0]} used). Without row names in both files, labels are "
                "matched by order: give one label for each row of the file."
            )
        notes = (*table.notes, *more)
        if table.row_names is not None:
            notes = (*notes, f"{place} has no unique row names, so labels were matched by order")
        return replace(table, labels=values[list(wanted)], label_name=name, notes=notes)
    places = places_of_names(row_names, table.row_names, str(place), "label")
    if missing := [table.row_names[row] for row in np.flatnonzero(places < 0)]:
        raise DataError(
            f"{place} has no label for {listed(missing)} of {table.source}. Its rows are named "
            f"{listed(row_names)}. Add the missing labels, or remove the row names to match labels by "
            "order."
        )
    extra = len(set(row_names) - set(table.row_names))
    left_out = counted(extra, "label was", "labels were")
    note = f"{left_out} left out because no row has that name, in {place}"
    return replace(
        table,
        labels=values[places],
        label_name=name,
        notes=(*table.notes, note) if extra else table.notes,
    )


def _read(place: LabelPlace, id: str | None, expected: int | None) -> Labels:
    file, format = place.file, format_of(place.file.path)
    column = place.column
    if format.keyed and not format.marks and file.key is None:  # of arrays the column is one of several
        file = replace(file, key=column)
    with opened_source(file, "labels") as (_, _, source):
        if isinstance(source, ArraySource) and source.columns is None:
            return source.read().reshape(-1), None, file.key or column or "label", source.notes
        if isinstance(source, ArraySource | PictureSource):
            raise FileError(
                f"{source.source} cannot be read as labels. Give a table of labels, or FILE:COLUMN."
            )
        # Arrow takes longer to import than everything else here.
        from gramian.rows.columns.whole import labels_of_columns

        return labels_of_columns(source, column, id, expected)
