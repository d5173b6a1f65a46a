"""The part of a table that a reader takes: which rows and columns, and the names that result."""

import difflib
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core.checks import NAMES_SHOWN, either, listed
from gramian.errors import ParameterError
from gramian.tables.reading import ReadingOptions
from gramian.tables.table import Table

LOGICAL = "true and false were read as 1 and 0"


def label_fields(labels: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return columns of labels as fields of a Table: the first sets the labels, the others are metadata."""
    first = next(iter(labels), None)
    return {
        "labels": None if first is None else labels[first],
        "label_name": first,
        "metadata": {name: values for name, values in labels.items() if name != first},
    }


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make names unique by numbering repeats, and fill in the empty ones by position.

    Returns
    -------
    names : tuple of str
    repeated : tuple of str
        The names that occurred more than once.

    Examples
    --------
    >>> unique_names(["a", "b", "a", ""])
    (('a', 'b', 'a_2', 'column 3'), ('a',))
    """
    filled = [name or f"column {position}" for position, name in enumerate(names)]
    taken = set(filled)
    if len(taken) == len(filled):
        return tuple(filled), ()
    counts: dict[str, int] = {}
    result: list[str] = []
    for name in filled:
        count = counts.get(name, 0) + 1
        new = name
        while count > 1 and (new := f"{name}_{count}") in taken:
            count += 1
        taken.add(new)
        counts[name] = count
        result.append(new)
    return tuple(result), tuple(name for name, count in counts.items() if count > 1)


def repeated_note(repeated: Sequence[str], what: str = "column") -> tuple[str, ...]:
    """Return the note about repeated names."""
    return (f"repeated {what} names were numbered: {listed(repeated)}",) if repeated else ()


def pick_rows(n_rows: int, rows: slice | None, source: str) -> range:
    """Turn a slice into row numbers.

    Raises
    ------
    ParameterError
        If the slice reaches outside or selects nothing.

    Examples
    --------
    >>> pick_rows(10, slice(2, 8, 3), "memory")
    range(2, 8, 3)
    """
    if rows is None:
        return range(n_rows)
    limits = [limit for limit in (rows.start, rows.stop) if limit is not None]
    picked, outside = range(n_rows)[rows], any(abs(limit) > n_rows for limit in limits)
    if outside or not picked:
        what = "reaches outside" if outside else "selects none of"
        raise ParameterError(
            "rows",
            slice_text(rows),
            f"{what} the {n_rows} rows of {source}",
            f"Rows are counted from 0; ask for a part of 0:{n_rows}.",
        )
    return picked


def slice_text(rows: slice) -> str:
    """Return a slice as it is written.

    Examples
    --------
    >>> slice_text(slice(None, 8, 2))
    ':8:2'
    """
    parts = [rows.start, rows.stop] if rows.step is None else [rows.start, rows.stop, rows.step]
    return ":".join("" if part is None else str(part) for part in parts)


class Roles(NamedTuple):
    """The positions of columns by their use.

    ``values`` are those of numbers, in the order that is wanted; ``groups`` choose rows, besides another use.
    """

    values: list[int]
    id: int | None
    weights: int | None
    labels: dict[str, int]
    groups: dict[str, int]

    @property
    def aside(self) -> list[int]:
        """The columns that are read as they are, not as numbers."""
        places = (self.id, self.weights, *self.labels.values(), *self.groups.values())
        return [place for place in places if place is not None]


def pick_columns(names: Sequence[str], reading: ReadingOptions, source: str) -> Roles:
    """Return the positions of the columns that options name.

    Raises
    ------
    ParameterError
        If a name is unknown; the message suggests the closest ones.

    Examples
    --------
    >>> pick_columns(["name", "x", "y"], ReadingOptions(drop=("y",), id="name"), "memory")
    Roles(values=[1], id=0, weights=None, labels={}, groups={})
    """
    position = {name: index for index, name in enumerate(names)}

    def find(role: str, wanted: Sequence[str]) -> list[int]:
        unknown = [name for name in wanted if name not in position]
        if unknown:
            raise unknown_columns(role, unknown, names, source)
        return [position[name] for name in wanted]

    id_column = find("id", [reading.id])[0] if reading.id is not None else None
    labels = dict(zip(reading.label_columns, find("label", reading.label_columns), strict=True))
    weights = find("weights", [reading.weights])[0] if reading.weights is not None else None
    places = list(range(len(names))) if reading.columns is None else find("columns", reading.columns)
    out = {*find("drop", reading.drop or ()), *labels.values(), id_column, weights}
    values = [index for index in places if index not in out]
    groups = {name: position[name] for entry in reading.groups for name in _group_columns(entry, position)}
    return Roles(values, id_column, weights, labels, groups)


def _group_columns(entry: str, names: Collection[str]) -> list[str]:
    """Return the column of COLUMN=VALUE, or those of similar names, which a message then suggests."""
    column = group_column(entry, names)
    return difflib.get_close_matches(entry.rpartition("=")[0], names) if column is None else [column]


def group_column(entry: str, names: Container[str]) -> str | None:
    """Return the longest of some names that COLUMN=VALUE begins with, or None.

    Examples
    --------
    >>> group_column("a=b=c", {"a", "a=b"})
    'a=b'
    """
    cuts = [place for place, letter in enumerate(entry) if letter == "="]
    return next((entry[:cut] for cut in reversed(cuts) if entry[:cut] in names), None)


def unknown_columns(name: str, unknown: Sequence[str], names: Sequence[str], source: str) -> ParameterError:
    """Return the error for names of no columns, with the closest ones."""
    folded = {name.casefold(): name for name in reversed(names)}
    close = {
        folded[match]: None
        for wanted in unknown[:3]
        for match in difflib.get_close_matches(wanted.casefold(), folded, n=3)
    }
    hint = f"Did you mean {listed(close)}?" if close else f"Its {len(names)} columns are {listed(names)}."
    # A name of a list in a file knows its line.
    where = getattr(unknown[0], "place", f"{name}={either(unknown[:NAMES_SHOWN])}")
    what = f"column {str(unknown[0])!r}" if hasattr(unknown[0], "place") else "such column"
    wrong = f"{source} has no {what}."
    return ParameterError(name, str(unknown[0]), f": {wrong}", hint, problem=f"{where}: {wrong}")


def take_columns(values: Any, places: Sequence[int]) -> Any:
    """Return some columns in the order given, of an array or a sparse matrix."""
    return values[:, places] if sparse.issparse(values) else np.take(values, places, axis=1)


def contiguous(values: Any) -> Any:
    """Give values in native byte order and in C or Fortran order, or CSR, copied only if they are not."""
    if sparse.issparse(values):
        return values.tocsr()
    if not hasattr(values, "flags"):  # of Dask
        return values
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.flags.c_contiguous or values.flags.f_contiguous:
        return values
    return np.ascontiguousarray(values)


def transpose(table: Table) -> Table:
    """Swap rows and columns, and their names.

    Raises
    ------
    ParameterError
        If the table holds pictures.

    Examples
    --------
    >>> genes = Table(np.zeros((2, 3)), row_names=("g1", "g2"))
    >>> transpose(genes).feature_names
    ('g1', 'g2')
    """
    if table.picture_shape is not None:
        problem = f"is for tables, but {table.source} holds pictures"
        raise ParameterError("transpose", True, problem, "Leave it out.")
    names, notes = table.row_names, table.notes
    if names is not None:
        names, repeated = unique_names(names)
        notes = (*notes, *repeated_note(repeated, "row"))
    return replace(
        table,
        values=table.values.T,
        feature_names=names,
        row_names=table.feature_names,
        row_numbers=None,
        column_numbers=None,
        units={},
        notes=notes,
    )
