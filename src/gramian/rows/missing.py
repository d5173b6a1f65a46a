"""Missing values: find them, then raise an error or apply the policy and add a note."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import NAMES_SHOWN, counted
from gramian.errors import DataError, ParameterError
from gramian.reading import IMPUTED, MissingPolicy
from gramian.rows.expected import Expected
from gramian.rows.lazy.array import LazyArray
from gramian.rows.lazy.spool import columns_taken, parts, rows_taken
from gramian.rows.table import Table

_NO_MEANS = (
    'The model was fitted without missing="mean", so it has no means to fill with. Leave those rows out with '
    'missing="drop-rows", fill the values first, or fit the model again with missing="mean".'
)


def handle_missing(
    table: Table, policy: MissingPolicy | None = None, expected: Expected | None = None
) -> Table:
    """Treat NaN by a policy; :meth:`Rows.require_finite` finds what is left.

    Parameters
    ----------
    table : Table
        New data has the columns that are expected, in their order.
    policy : MissingPolicy or None
        ``"mean"`` puts the mean of the column's other values in place of NaN. "em" and "iterative" leave NaN
        in for PCA, without the rows that hold nothing else.
    expected : Expected or None
        For new data, what its model expects: the means are then those of the fitted data, and fill NaN
        without a policy too. A model that maps rows with missing values gets them as they are.

    Raises
    ------
    DataError
        If nothing is left, or a column has no mean.
    ParameterError
        For ``"mean"`` where the model has no means.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]))
    >>> handle_missing(table, "mean").values[1, 1]
    np.float64(3.0)
    """
    if policy in IMPUTED and expected is not None and not expected.holes:
        raise ParameterError(
            f'missing="{policy}" needs a PCA that was fitted with it. Leave it out, or drop such rows with '
            'missing="drop-rows".'
        )
    if policy == "mean" and expected is not None and expected.means is None:
        raise ParameterError(
            f'missing="mean" would depend on the new data instead of the fitted one. {_NO_MEANS}'
        )
    if sparse.issparse(table.values) or hasattr(table.values, "indptr"):
        return _handle_sparse(table, policy, expected)
    holes = _survey(table.values)
    if policy == "mean" and expected is None and table.means is None:
        table = replace(table, means=_column_means(table, holes))
    if policy in IMPUTED:
        table = _left_in(table, holes, str(policy))
    if not holes.rows or policy in (*IMPUTED, "error"):
        return table
    if policy == "drop-rows":
        return _drop_rows(table, holes)
    if policy == "drop-columns":
        return _drop_columns(table, holes)
    if expected is not None and expected.holes and policy is None:
        many = f"{counted(holes.n_missing, 'missing value')} in {counted(len(holes.rows), 'row')}"
        note = f"{many}: scores of such rows follow from their observed entries"
        return replace(table, notes=(*table.notes, note))
    if policy != "error" and expected is not None and expected.means is not None:
        return _filled(table, holes, expected.means, "the means of the fitted data")
    return table if table.means is None else _filled(table, holes, table.means, "column means")


def _left_in(table: Table, holes: _Holes, policy: str) -> Table:
    """Leave missing values in for PCA, and leave out rows that have nothing else."""
    if isinstance(table.values, LazyArray):
        raise ParameterError(
            f'missing="{policy}" needs the table in memory, but {table.source} is too '
            'large. Use missing="mean", choose rows, or raise the memory limit.'
        )
    if holes.empty:
        keep = np.delete(np.arange(len(table.values)), holes.empty)
        table = with_rows(table, keep, _without_any(table, holes))
    return replace(table, missing=policy)


def _handle_sparse(table: Table, policy: MissingPolicy | None, expected: Expected | None) -> Table:
    values = table.values
    if isinstance(values, LazyArray):
        if policy is None:
            return table
        raise ParameterError(
            f"missing={policy!r} is not supported for {table.source}, a sparse matrix that stays in its "
            "file. Leave it out: a NaN raises an error when it is read."
        )
    if policy != "mean" or expected is not None:
        return table
    return replace(table, means=np.asarray(values.mean(axis=0, dtype=np.float64)).ravel())


@dataclass
class _Holes:
    """Positions of a table's NaN, collected block by block.

    Attributes
    ----------
    by_column : ndarray of shape (d,)
        Number of NaN.
    rows, empty : list of int
        Rows with a NaN, and with nothing else.
    """

    by_column: npt.NDArray[np.int64]
    rows: list[int] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)

    @property
    def n_missing(self) -> int:
        return int(self.by_column.sum())

    def add(self, start: int, flat: npt.NDArray[Any]) -> None:
        missing = np.isnan(flat)
        self.by_column += missing.sum(axis=0)
        self.rows += (start + np.flatnonzero(missing.any(axis=1))).tolist()
        self.empty += (start + np.flatnonzero(missing.all(axis=1))).tolist()


def _survey(values: Any) -> _Holes:
    holes = _Holes(np.zeros(int(np.prod(values.shape[1:])), dtype=np.int64))
    known = values.dtype.kind != "f" or getattr(values, "finite", None)
    for start, flat in () if known else _blocks(values):
        # One sum decides for nearly all data.
        with np.errstate(over="ignore", invalid="ignore"):
            whole = bool(np.isfinite(flat.sum(dtype=np.float64)))
        if not whole:
            holes.add(start, flat)
    return holes


def _blocks(values: Any) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield blocks that depend on the shape alone, so that sums of a file are those of its array."""
    for part in parts(values):
        block = values[part]
        yield part.start, np.ascontiguousarray(block.reshape(len(block), -1))


def _row(table: Table, row: int) -> str:
    text = f"row {row if table.row_numbers is None else table.row_numbers[row]}"
    return text if table.row_names is None else f"{text} (named {table.row_names[row]!r})"


def _column(table: Table, column: int) -> str:
    return f"column {column if table.feature_names is None else repr(table.feature_names[column])}"


def _column_means(table: Table, holes: _Holes) -> npt.NDArray[np.float64]:
    """Return the mean of the values that every column has; an empty column raises a DataError."""
    n, d = len(table.values), len(holes.by_column)
    if empty := np.flatnonzero(holes.by_column == n).tolist():
        raise DataError(
            f'missing="mean" needs a value in every column, but {_shown(table, empty, _column)} of '
            f"{table.source} has none. Leave out empty columns with drop=[...], or use "
            'missing="drop-columns".'
        )
    sums = (np.nansum(flat, axis=0, dtype=np.float64) for _, flat in _blocks(table.values))
    with np.errstate(over="ignore", invalid="ignore"):
        return sum(sums, np.zeros(d)) / (n - holes.by_column)


def _shown(table: Table, places: list[int], name: Callable[[Table, int], str]) -> str:
    shown = ", ".join(name(table, place) for place in places[:NAMES_SHOWN])
    return shown + (f" and {len(places) - NAMES_SHOWN} more" if len(places) > NAMES_SHOWN else "")


def _filled(table: Table, holes: _Holes, means: npt.NDArray[np.float64], what: str) -> Table:
    d = len(holes.by_column)
    if len(means) != d:
        raise DataError(
            f"{table.source} has {counted(d, 'column')}, but the model was fitted on "
            f"{len(means):,}. Choose them with columns=[...]."
        )
    values = table.values
    if isinstance(values, LazyArray):
        filled: Any = values.filled(means)
    else:
        filled = values.reshape(len(values), -1).copy(order="K")
        np.copyto(filled, means, where=np.isnan(filled), casting="same_kind")
        filled = filled.reshape(values.shape)
    columns = counted(int((holes.by_column > 0).sum()), "column")
    were = "was" if holes.n_missing == 1 else "were"
    notes = [f"{counted(holes.n_missing, 'missing value')} in {columns} {were} filled with {what}"]
    if holes.empty:
        rows = counted(len(holes.empty), "row without any value was", "rows without any value were")
        notes.append(f"{rows} filled with means only: {_shown(table, holes.empty, _row)}")
    every = (*table.notes, *notes)
    return replace(
        table, values=filled, notes=every, missing_note="; ".join(notes), missing_values=holes.n_missing
    )


def _drop_rows(table: Table, holes: _Holes) -> Table:
    n = len(table.values)
    keep = np.delete(np.arange(n), holes.rows)
    if len(keep) == 0:
        raise DataError(
            f'missing="drop-rows" leaves none of the {n} rows of {table.source}: every row '
            'has a missing value. Use missing="mean" or "drop-columns", or fill it first.'
        )
    if holes.empty == holes.rows:
        return with_rows(table, keep, _without_any(table, holes))
    return with_rows(table, keep, f"rows with missing values were dropped: {n - len(keep)} of {n}")


def _without_any(table: Table, holes: _Holes) -> str:
    what = counted(len(holes.empty), "row without any value was", "rows without any value were")
    return f"{what} left out: {_shown(table, holes.empty, _row)}"


def with_rows(table: Table, keep: npt.NDArray[np.intp], note: str) -> Table:
    """Return some rows of a table, with a note."""
    names = table.row_names
    values, notes = rows_taken(table.values, keep)
    return replace(
        table,
        values=values,
        row_names=None if names is None else tuple(names[row] for row in keep),
        **table.labels_at(keep),
        row_numbers=None,
        notes=(*table.notes, *notes, note),
        missing_note=note,
    )


def _drop_columns(table: Table, holes: _Holes) -> Table:
    if table.picture_shape is not None:
        raise ParameterError(
            'missing="drop-columns" would drop pixels and with them the shape of the pictures. '
            'Use missing="mean" or "drop-rows".'
        )
    keep = np.flatnonzero(holes.by_column == 0)
    n_columns = len(holes.by_column)
    if len(keep) == 0:
        raise DataError(
            f'missing="drop-columns" leaves none of the {n_columns} columns of {table.source}: '
            'every column has a missing value. Use missing="mean" or "drop-rows", or fill it first.'
        )
    names, numbers = table.feature_names, table.column_numbers or range(n_columns)
    values, notes = columns_taken(table.values, keep.tolist())
    note = f"columns with missing values were dropped: {n_columns - len(keep)} of {n_columns}"
    return replace(
        table,
        values=values,
        feature_names=None if names is None else tuple(names[column] for column in keep),
        column_numbers=tuple(numbers[column] for column in keep) if names is None else None,
        notes=(*table.notes, *notes, note),
        missing_note=note,
    )
