"""Missing values: find them, then raise an error or apply the policy and add a note."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import counted, first_few, listed
from gramian.data.as_rows import to_rows
from gramian.data.rows import Holes, Rows, row_text
from gramian.data.table import Expected, Missing, RowsRequest, Table
from gramian.errors import DataError, ParameterError, by_surface, option
from gramian.io.spool import columns_taken, parts, rows_taken
from gramian.io.stored import StoredRows, opened_rows
from gramian.reading import IMPUTED, MissingPolicy

_NO_MEANS = (
    f"The model was fitted without {option('missing', 'mean')}, so it has no means to fill with. Leave those "
    f"rows out with {option('missing', 'drop-rows')}, fill the values first, or fit the model again with "
    f"{option('missing', 'mean')}."
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
        without a policy too.

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
            "missing",
            policy,
            "needs a PCA that was fitted with it",
            f"Leave it out, or drop such rows with {option('missing', 'drop-rows')}.",
        )
    if policy == "mean" and expected is not None and expected.means is None:
        problem = "would depend on the new data instead of the fitted one"
        raise ParameterError("missing", policy, problem, _NO_MEANS)
    if sparse.issparse(table.values) or hasattr(table.values, "indptr"):
        return _handle_sparse(table, policy, expected)
    holes = _holes(table)
    if table.alleles is not None and expected is None and holes is not None:
        table, holes = _with_calls(table, holes)
    fitted = expected is None and table.picture_shape is None and policy != "mean"
    if fitted and holes is not None and len(holes.empty) == len(table.values):
        advice = "Check that this is the right file, and how its numbers are written."
        raise DataError(f"{table.source} holds no value: all its entries are missing.", advice)
    if policy == "mean" and expected is None:
        table = replace(table, missing=Missing(means=_column_means(table, holes)))
    if policy in IMPUTED:
        table = _left_in(table, holes, str(policy))
    if holes is None or policy in (*IMPUTED, "error"):
        return table
    if policy == "drop-rows":
        return _drop_rows(table, holes, expected)
    if policy == "drop-columns":
        return _drop_columns(table, holes)
    if expected is not None and expected.means is not None:
        return _filled(table, holes, expected.means, "the means of the fitted data")
    means = table.missing.means
    return table if means is None else _filled(table, holes, means, "column means")


def _with_calls(table: Table, holes: Holes) -> tuple[Table, Holes | None]:
    """Leave out variants that were called for nobody."""
    called, names = holes.by_column < len(table.values), table.feature_names
    if names is None or called.all() or not called.any():
        return table, holes
    empty = np.flatnonzero(~called).tolist()
    were = counted(len(empty), "variant without any call was", "variants without any call were")
    note = f"{were} left out: {first_few(empty, lambda place: repr(names[place]))}"
    table = _with_columns(table, np.flatnonzero(called), note)
    return table, _holes(table)


def without_marks(table: Table, na_values: Sequence[str]) -> Table:
    """Return a table that holds no text, with NaN for the numbers that stand for missing values."""
    values, hint = table.values, "Leave it out."
    try:
        marks = [float(mark) for mark in na_values]
    except ValueError:
        raise ParameterError(
            "na_values", allowed=f"does not apply to {table.source}, which holds no text", hint=hint
        ) from None
    if not isinstance(values, np.ndarray):
        raise ParameterError(
            "na_values",
            allowed=f"needs the numbers in memory, but {table.source} is too large or sparse",
            hint=hint,
        )
    hits = np.isin(values, marks)
    return replace(table, values=np.where(hits, np.nan, values)) if hits.any() else table


def _left_in(table: Table, holes: Holes | None, policy: str) -> Table:
    """Leave missing values in for PCA, and leave out rows that have nothing else."""
    if isinstance(table.values, StoredRows):
        raise ParameterError(
            "missing",
            policy,
            f"needs the table in memory, but {table.source} is too large",
            f"Use {option('missing', 'mean')}, choose rows, or raise the memory limit.",
        )
    if holes is not None and holes.empty:
        keep = np.delete(np.arange(len(table.values)), holes.empty)
        table = with_rows(table, keep, _without_any(table, holes))
    return replace(table, missing=replace(table.missing, method=policy))


def _handle_sparse(table: Table, policy: MissingPolicy | None, expected: Expected | None) -> Table:
    values = table.values
    if isinstance(values, StoredRows):
        if policy is None:
            return table
        raise ParameterError(
            "missing",
            policy,
            f"is not supported for {table.source}, a sparse matrix that stays in its file",
            "Leave it out: a NaN raises an error when it is read.",
        )
    if policy != "mean" or expected is not None:
        return table
    means = np.asarray(values.mean(axis=0, dtype=np.float64)).ravel()
    return replace(table, missing=Missing(means=means))


def rows_of_table(table: Table) -> Rows:
    """Return the numbers of a table as rows with its names, not searched for NaN."""
    values = table.values
    rows = opened_rows(values) if isinstance(values, StoredRows) else to_rows(table.flat, RowsRequest())
    return replace(rows, table=table, feature_names=table.feature_names, row_names=table.row_names)


def _holes(table: Table) -> Holes | None:
    """Return where NaN is; None where there is none."""
    if table.values.dtype.kind != "f" or getattr(table.values, "finite", None):
        return None
    holes: Holes | None = getattr(table.values, "calls", None) or rows_of_table(table).holes()
    return holes if holes is not None and holes.by_row else None


def _blocks(values: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield blocks that depend on the shape alone, so that sums of a file are those of its array."""
    for block in (values[part] for part in parts(values)):
        yield np.ascontiguousarray(block.reshape(len(block), -1))


def column_text(table: Table, column: int) -> str:
    """Return the name or the number of a column, for messages."""
    return f"column {column if table.feature_names is None else repr(table.feature_names[column])}"


def _column_means(table: Table, holes: Holes | None) -> npt.NDArray[np.float64]:
    """Return the mean of the values that every column has; an empty column raises a DataError."""
    n, d = len(table.values), int(np.prod(table.values.shape[1:]))
    missing = np.zeros(d, dtype=np.int64) if holes is None else holes.by_column
    if empty := np.flatnonzero(missing == n).tolist():
        shown = first_few(empty, partial(column_text, table))
        raise DataError(
            f"{option('missing', 'mean')} needs a value in every column, but {shown} of {table.source} has "
            "none.",
            f"Leave out empty columns with {by_surface('drop=[...]', '--drop', 'drop')}, or use "
            f"{option('missing', 'drop-columns')}.",
        )
    if hasattr(table.values, "means"):
        return np.asarray(table.values.means)
    sums = (np.nansum(flat, axis=0, dtype=np.float64) for flat in _blocks(table.values))
    with np.errstate(over="ignore", invalid="ignore"):
        return sum(sums, np.zeros(d)) / (n - missing)


def _filled(table: Table, holes: Holes, means: npt.NDArray[np.float64], what: str) -> Table:
    d = len(holes.by_column)
    if len(means) != d:
        raise DataError(
            f"{table.source} has {counted(d, 'column')}, but the model was fitted on {len(means):,}.",
            f"Choose them with {by_surface('columns=[...]', '--columns', 'columns')}.",
        )
    values = table.values
    if isinstance(values, StoredRows):
        filled: Any = values.filled(means)
    else:
        filled = values.reshape(len(values), -1).copy(order="K")
        np.copyto(filled, means, where=np.isnan(filled), casting="same_kind")
        filled = filled.reshape(values.shape)
    columns = counted(int((holes.by_column > 0).sum()), "column")
    were = "was" if holes.missing == 1 else "were"
    notes = [f"{counted(holes.missing, 'missing value')} in {columns} {were} filled with {what}"]
    if holes.empty:
        rows = counted(len(holes.empty), "row without any value was", "rows without any value were")
        notes.append(f"{rows} filled with means only: {_empty_rows(table, holes)}")
    every = (*table.notes, *notes)
    done = replace(table.missing, note="; ".join(notes), filled=holes.missing)
    return replace(table, values=filled, notes=every, missing=done)


def _drop_rows(table: Table, holes: Holes, expected: Expected | None) -> Table:
    n = len(table.values)
    keep = np.delete(np.arange(n), list(holes.by_row))
    if len(keep) == 0:
        others = ["mean", "drop-columns"] if (holes.by_column == 0).any() else ["mean"]
        hint = f"Use {option('missing', *others)}, or fill it first."
        if (
            names := [table.feature_names[j] for j in np.flatnonzero(holes.by_column == n)]
            if table.feature_names
            else []
        ):
            hint = f"No row has a value in {listed(names)}: leave that out with {option('drop', names)}."
        if expected is not None:
            advice = f"Fill the values first, or fit a PCA with {option('missing', 'em')}."
            hint = "Leave it out." if expected.holes else advice
        raise DataError(
            f"{option('missing', 'drop-rows')} leaves none of the {n} rows of {table.source}: every row has "
            "a missing value.",
            hint,
        )
    if len(holes.empty) == len(holes.by_row):
        return with_rows(table, keep, _without_any(table, holes))
    return with_rows(table, keep, f"rows with missing values were dropped: {n - len(keep)} of {n}")


def _empty_rows(table: Table, holes: Holes) -> str:
    return first_few(holes.empty, partial(row_text, rows_of_table(table)))


def _without_any(table: Table, holes: Holes) -> str:
    what = counted(len(holes.empty), "row without any value was", "rows without any value were")
    return f"{what} left out: {_empty_rows(table, holes)}"


def with_rows(table: Table, keep: npt.NDArray[np.intp], note: str) -> Table:
    """Return some rows of a table, with a note on missing values."""
    missing = replace(table.missing, note=note)
    return replace(rows_taken_of(table, keep), notes=(*table.notes, note), missing=missing)


def rows_taken_of(table: Table, keep: npt.NDArray[np.intp]) -> Table:
    """Return some rows of a table, which rise."""
    numbers = table.row_numbers or range(table.values.shape[0])
    return replace(
        table,
        values=rows_taken(table.values, keep),
        **table.labels_at(keep),
        row_numbers=array("q", (numbers[row] for row in keep)),
    )


def _drop_columns(table: Table, holes: Holes) -> Table:
    if table.picture_shape is not None:
        raise ParameterError(
            "missing",
            "drop-columns",
            "would drop pixels and with them the shape of the pictures",
            f"Use {option('missing', 'mean', 'drop-rows')}.",
        )
    keep = np.flatnonzero(holes.by_column == 0)
    n_columns = len(holes.by_column)
    if len(keep) == 0:
        others = ["mean", "drop-rows"] if len(holes.by_row) < len(table.values) else ["mean"]
        raise DataError(
            f"{option('missing', 'drop-columns')} leaves none of the {n_columns} columns of {table.source}: "
            "every column has a missing value.",
            f"Use {option('missing', *others)}, or fill it first.",
        )
    note = f"columns with missing values were dropped: {n_columns - len(keep)} of {n_columns}"
    return _with_columns(table, keep, note)


def _with_columns(table: Table, keep: npt.NDArray[np.intp], note: str) -> Table:
    """Return some columns of a table, with a note on missing values."""
    names, numbers = table.feature_names, table.column_numbers or range(int(np.prod(table.values.shape[1:])))
    return replace(
        table,
        values=columns_taken(table.values, keep.tolist()),
        feature_names=None if names is None else tuple(names[column] for column in keep),
        column_numbers=tuple(numbers[column] for column in keep) if names is None else None,
        notes=(*table.notes, note),
        missing=replace(table.missing, note=note),
    )
