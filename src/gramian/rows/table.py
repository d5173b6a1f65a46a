"""A table of numbers in memory with its names, and the operations that a reader applies to it."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import listed
from gramian.errors import ParameterError

LOGICAL = "true and false were read as 1 and 0"
COLUMN_OPTIONS = ("columns", "drop", "id", "label", "weights")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Numeric data with its names, labels, source and the notes of its reader.

    Attributes
    ----------
    values : ndarray, CSR matrix or LazyArray
        Shape (n_samples, n_features), or (n_samples, height, width) for pictures. Contiguous, in C
        or Fortran order as it was stored; the numeric dtype is the stored one.
    feature_names : tuple of str or None
        One name per column; None for pictures and for columns without names.
    row_names : tuple of str or None
        One name per row.
    labels : ndarray of shape (n_samples,) or None
        Labels, numbers or text: a column that was taken out, a row where the table is to be transposed, or
        from another file.
    label_name : str or None
        Name of that column or row.
    picture_shape : (height, width) or None
        Set when each row is a picture.
    source : str
        The name of its source, for messages.
    notes : tuple of str
        Decisions of the reader, for the user.
    asked : tuple of str
        What the user chose to do with the data while reading, for the report.
    sha256 : str
        Hash of the file; "" if no file was read as a whole.
    hashed : str
        What that covers.
    row_numbers : sequence of int or None
        Numbers of the rows in the file, counted from 0, where these are not all: a range of those that were
        asked for, fewer where rows with missing values were left out.
    column_numbers : tuple of int or None
        Numbers of the columns in the file, where they have no names and only some of them were asked for.
    means : ndarray of shape (n_features,) or None
        Means of the columns without their missing values, where those were to be filled with them.
    alleles, other_alleles : dict of str to str
        Of genotypes: the allele that a column counts, and the other one, by its name, where that is known.
    weights : ndarray of shape (n_samples,) or None
        The column that was taken out as weights of the rows.
    metadata : mapping of str to ndarray of shape (n_samples,)
        Further labels: those after the first one, and columns of a file of metadata.
    missing : str
        The method of PCA that missing values were left in for, or "mean" where that was asked for.
    missing_values : int
        Number of missing values that were filled while reading.
    reading : mapping of str to object
        The options of :func:`gramian.scan` that new rows need too, and ``key``, the array or sheet.
    missing_note : str
        What was done about missing values, which is among the notes too.
    imputed : ndarray of bool, of the shape of the values, or None
        Which values a fitted model put in the place of missing ones.
    """

    values: Any
    feature_names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    labels: npt.NDArray[Any] | None = None
    label_name: str | None = None
    picture_shape: tuple[int, int] | None = None
    source: str = "memory"
    notes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    sha256: str = ""
    hashed: str = ""
    row_numbers: Sequence[int] | None = None
    column_numbers: tuple[int, ...] | None = None
    means: npt.NDArray[np.float64] | None = None
    alleles: Mapping[str, str] | None = None
    other_alleles: Mapping[str, str] | None = None
    weights: npt.NDArray[Any] | None = None
    metadata: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    missing: str = ""
    missing_values: int = 0
    reading: Mapping[str, Any] = field(default_factory=dict)
    missing_note: str = ""
    imputed: npt.NDArray[np.bool_] | None = None

    @property
    def flat(self) -> Any:
        """The values as rows of numbers: a picture is one row, and sparse values stay sparse."""
        return self.values if self.values.ndim == 2 else self.values.reshape(len(self.values), -1)

    @property
    def in_memory(self) -> bool:
        """Whether the numbers are in memory, and not in a file or on a cluster."""
        return isinstance(self.values, np.ndarray) or sparse.issparse(self.values)

    def labels_at(self, rows: Any) -> dict[str, Any]:
        """Return what is known of some rows beside values and names, as arguments of ``dataclasses.replace``.

        Parameters
        ----------
        rows : slice or array-like of int
            Which rows.

        Returns
        -------
        dict
            Keyword arguments.
        """
        return {
            "labels": None if self.labels is None else self.labels[rows],
            "metadata": {name: values[rows] for name, values in self.metadata.items()},
            "weights": None if self.weights is None else self.weights[rows],
            "imputed": None if self.imputed is None else self.imputed[rows],
        }

    @property
    def observed(self) -> "Table":
        """The table with NaN where values were imputed."""
        if self.imputed is None:
            return self
        return replace(self, values=np.where(self.imputed, np.nan, self.values), imputed=None)

    def __repr__(self) -> str:
        size = " x ".join(str(length) for length in self.values.shape)
        return f"Table({size}, {self.values.dtype}, source={self.source!r})"


@dataclass(frozen=True)
class Choice:
    """Which part of a file to read, and how to interpret it, in the terms of the file.

    A fitted model needs some columns and ignores the others. With ``leave_out`` some of them may be absent.
    """

    rows: slice | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    id: str | None = None
    label: str | tuple[str, ...] | None = None
    weights: str | None = None
    size: tuple[int, int] | None = None
    na_values: tuple[str, ...] | None = None
    label_row: str | None = None
    needed: tuple[str, ...] | None = None
    leave_out: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of labels."""
        return label_names(self.label)

    def names_columns(self) -> bool:
        """Say whether any column is asked for by name."""
        return any(getattr(self, option) is not None for option in COLUMN_OPTIONS)

    def refuse(self, options: Sequence[str], source: str, content: str) -> None:
        """Raise a ParameterError for the first of some options that does not apply to a file."""
        for option in options:
            if getattr(self, option) is not None:
                raise ParameterError(
                    f"{option} does not apply to {source}, which holds {content}. Leave it out."
                )


def label_names(label: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names that the option ``label`` holds."""
    return label if isinstance(label, tuple) else () if label is None else (label,)


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
            f'rows="{slice_text(rows)}" {what} the {n_rows} rows of {source}. '
            f"Rows are counted from 0; ask for a part of 0:{n_rows}."
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
    """The positions of columns by their use; ``values`` are those of numbers, in the order that is wanted."""

    values: list[int]
    id: int | None
    weights: int | None
    labels: dict[str, int]

    @property
    def aside(self) -> list[int]:
        """The columns that are not numbers."""
        places = (self.id, self.weights, *self.labels.values())
        return [place for place in places if place is not None]


def pick_columns(names: Sequence[str], choice: Choice, source: str) -> Roles:
    """Return the positions of the columns that a choice names.

    Raises
    ------
    ParameterError
        If a name is unknown; the message suggests the closest ones.

    Examples
    --------
    >>> pick_columns(["name", "x", "y"], Choice(drop=("y",), id="name"), "memory")
    Roles(values=[1], id=0, weights=None, labels={})
    """
    position = {name: index for index, name in enumerate(names)}

    def find(option: str, wanted: Sequence[str]) -> list[int]:
        unknown = [name for name in wanted if name not in position]
        if unknown:
            raise _unknown_columns(option, unknown, names, source)
        return [position[name] for name in wanted]

    id_column = find("id", [choice.id])[0] if choice.id is not None else None
    labels = dict(zip(choice.labels, find("label", choice.labels), strict=True))
    weights = find("weights", [choice.weights])[0] if choice.weights is not None else None
    places = list(range(len(names))) if choice.columns is None else find("columns", choice.columns)
    out = {*find("drop", choice.drop or ()), *labels.values(), id_column, weights}
    return Roles([index for index in places if index not in out], id_column, weights, labels)


def _unknown_columns(
    option: str, unknown: Sequence[str], names: Sequence[str], source: str
) -> ParameterError:
    folded = {name.casefold(): name for name in reversed(names)}
    close = {
        folded[match]: None
        for wanted in unknown[:3]
        for match in difflib.get_close_matches(wanted.casefold(), folded, n=3)
    }
    hint = f"Did you mean {listed(close)}?" if close else f"Its {len(names)} columns are {listed(names)}."
    # A name of a list in a file knows its line.
    where = getattr(unknown[0], "place", f"{option}={listed(unknown)}")
    what = f"column {str(unknown[0])!r}" if hasattr(unknown[0], "place") else "such column"
    return ParameterError(f"{where}: {source} has no {what}. {hint}")


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
        raise ParameterError(
            f"transpose=True is for tables, but {table.source} holds pictures. Leave it out."
        )
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
        notes=notes,
    )
