"""A table of numbers with its names, and what is asked of one: by who reads it, and by a fitted model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core.arrays import memory_limit_bytes
from gramian.core.checks import counted, first_few, listed, shown
from gramian.errors import DataError, ParameterError, shortened

LOGICAL = "true and false were read as 1 and 0"


@dataclass(frozen=True, eq=False)
class Origin:
    """The file of a table, and what was asked of it.

    Attributes
    ----------
    sha256 : str
        Hash of the file; "" if no file was read as a whole.
    hashed : str
        What that covers.
    asked : tuple of str
        What the user chose to do with the data while reading, for the report.
    reading : mapping of str to object
        The options of :func:`gramian.scan` that new rows need too, and ``key``, the array or sheet.
    own : mapping of str to str, or tuple of str
        Those that are about these rows alone: which were read, left out, and corrected.
    """

    sha256: str = ""
    hashed: str = ""
    asked: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Missing:
    """What was done about missing values while a table was read.

    Attributes
    ----------
    method : str
        The method of PCA that they were left in for, or "mean" where that was asked for.
    means : ndarray of shape (n_features,) or None
        Means of the columns without them, where they were to be filled with those.
    filled : int
        How many were filled.
    note : str
        What was done, which is among the notes of the table too.
    """

    method: str = ""
    means: npt.NDArray[np.float64] | None = None
    filled: int = 0
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Numeric data with its names, labels, source and the notes of its reader.

    Attributes
    ----------
    values : ndarray, CSR matrix or StoredRows
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
    origin : Origin
        The file, and what was asked of it.
    row_numbers : sequence of int or None
        Numbers of the rows in the file, counted from 0, where these are not all: a range of those that were
        asked for, fewer where rows with missing values were left out.
    column_numbers : tuple of int or None
        Numbers of the columns in the file, where they have no names and only some of them were asked for.
    alleles : dict of str to (str, str) or None
        Of genotypes: the allele that a column counts, and the other one, by its name; "" where not known.
    weights : ndarray of shape (n_samples,) or None
        The column that was taken out as weights of the rows.
    metadata : mapping of str to ndarray of shape (n_samples,)
        Further labels: those after the first one, and columns of a file of metadata.
    groups : mapping of str to ndarray of shape (n_samples,)
        Columns of the file by which rows are left out; empty once they are.
    missing : Missing
        What was done about missing values.
    units : mapping of str to str
        Units of columns that a file states apart from their names, by these.
    descriptions : mapping of str to str
        What a file says of columns below its header, such as the texts of questions, by their names.
    axes : mapping of str to ndarray
        Of fields on a grid: the positions along height and width, by the names of these dimensions.
    levels : mapping of str to tuple of str
        Ordered categories that a file states of its labels and metadata, by their names.
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
    origin: Origin = Origin()
    row_numbers: Sequence[int] | None = None
    column_numbers: tuple[int, ...] | None = None
    alleles: Mapping[str, tuple[str, str]] | None = None
    weights: npt.NDArray[Any] | None = None
    metadata: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    groups: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    missing: Missing = Missing()
    imputed: npt.NDArray[np.bool_] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def flat(self) -> Any:
        """The values as rows of numbers: a picture is one row, and sparse values stay sparse."""
        return self.values if self.values.ndim == 2 else self.values.reshape(len(self.values), -1)

    @property
    def in_memory(self) -> bool:
        """Whether the numbers are in memory, and not in a file or on a cluster."""
        return isinstance(self.values, np.ndarray) or sparse.issparse(self.values)

    def labels_at(self, rows: Any) -> dict[str, Any]:
        """Return what is known of some rows beside values and numbers.

        Parameters
        ----------
        rows : slice or array-like of int
            Which rows.

        Returns
        -------
        dict
            Keyword arguments of ``dataclasses.replace``.
        """
        names = self.row_names
        if names is not None:
            names = names[rows] if isinstance(rows, slice) else tuple(names[row] for row in rows)
        return {
            "row_names": names,
            "labels": None if self.labels is None else self.labels[rows],
            "metadata": {name: values[rows] for name, values in self.metadata.items()},
            "weights": None if self.weights is None else self.weights[rows],
            "imputed": None if self.imputed is None else self.imputed[rows],
        }

    def row_text(self, row: int) -> str:
        """Return the number of a row in the file and its name, for messages.

        Parameters
        ----------
        row : int
            Its index in the table.

        Returns
        -------
        str
            Such as "row 3 (named 'a')".
        """
        named = f" (named {self.row_names[row]!r})" if self.row_names else ""
        return f"row {row if self.row_numbers is None else self.row_numbers[row]}{named}"

    def described(self, names: Iterable[str]) -> list[str]:
        """Return a line for each of some columns that the file describes, such as the text of a question.

        Parameters
        ----------
        names : iterable of str
            Of columns; of those that are named twice the first counts.

        Returns
        -------
        list of str
            The name and what the file says of it.
        """
        texts = ((name, self.descriptions.get(name)) for name in dict.fromkeys(names))
        return [f"{shown(name)}: {shortened(shown(text))}" for name, text in texts if text]

    @property
    def observed(self) -> "Table":
        """The table with NaN where values were imputed."""
        if self.imputed is None:
            return self
        return replace(self, values=np.where(self.imputed, np.nan, self.values), imputed=None)

    def __repr__(self) -> str:
        size = " x ".join(str(length) for length in self.values.shape)
        return f"Table({size}, {self.values.dtype}, source={self.source!r})"


@dataclass(frozen=True, eq=False)
class Expected:
    """The columns that a model was fitted on.

    Attributes
    ----------
    names : tuple of str or None
        Their names, in order; None where they had none.
    means : ndarray of shape (n_features,) or None
        What missing values are filled with; None where the model was not fitted with ``missing="mean"``.
    alleles : dict of str to str
        Which allele a column counted, by its name, where that is known.
    holes : bool
        Whether the model maps rows with missing values from their observed entries.
    transform : str or None
        How the numbers of the fitted file were transformed.
    answers : sequence of str or None
        Answers in words that became numbers in it.
    """

    names: tuple[str, ...] | None = None
    means: npt.NDArray[Any] | None = None
    alleles: Mapping[str, str] = field(default_factory=dict)
    holes: bool = False
    transform: Any = None
    answers: Any = None

    def fits(self, table: Table) -> bool:
        """Whether a table is as expected: without alleles, and with these columns in their order."""
        return not table.alleles and (self.names is None or table.feature_names in (None, self.names))

    def places(self, available: Sequence[str], source: str) -> tuple[list[int], tuple[str, ...]]:
        """Return where the expected columns are among the available ones, and notes on the changes.

        Raises
        ------
        DataError
            If one is not there.
        """
        names = self.names or ()
        fitted_names = set(names)
        where = {name: index for index, name in enumerate(available)}
        missing = [name for name in names if name not in where]
        if missing:
            why = f"The columns of {source} lack {listed(missing)}, which the model was fitted on."
            raise DataError(
                f"{why} Expected: {first_few(names)}.", "Add the missing columns, or rename yours."
            )
        results = [where[name] for name in names]
        notes: list[str] = []
        if others := [name for name in available if name not in fitted_names]:
            unknown = "that the model was not fitted on"
            extra = counted(len(others), f"column {unknown} was", f"columns {unknown} were")
            notes.append(f"{extra} left out: {listed(others)}")
        if results != sorted(results):
            notes.append("columns were put in the order of the fitted data, by name")
        return results, tuple(notes)


@dataclass(frozen=True)
class RowsRequest:
    """What is asked of user data; :func:`gramian.tables.as_rows.as_rows` explains the fields."""

    estimator: str = "gramian"
    minimum: int = 1
    limit: int | None = None
    expected: Expected | None = None
    missing: str | None = None

    @property
    def working(self) -> int:
        """Bytes of working memory."""
        return memory_limit_bytes(None) if self.limit is None else self.limit


# ---- Its rows, columns and their names


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
        descriptions={},
        notes=notes,
    )
