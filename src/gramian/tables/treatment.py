"""What is done to a table after it is read: rows left out, columns of a model, transforms, missing values."""

from __future__ import annotations

import itertools
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core.checks import check_choice, counted, first_few, listed
from gramian.errors import DataError, ParameterError
from gramian.tables import reading as options
from gramian.tables import stored
from gramian.tables.labels import NO_LABEL, has_label
from gramian.tables.rows import Holes
from gramian.tables.source import dtype_of_rows
from gramian.tables.table import Expected, Missing, Table


def as_expected(table: Table, expected: Expected) -> Table:
    """Return a table with the expected columns in their order, and notes on the changes.

    A table without names stays as it is.

    Raises
    ------
    DataError
        If a column is not there, or counts another allele than that of the fitted data.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(np.array([[1.0, 2.0, 3.0]]), ("z", "y", "x"))
    >>> ordered = as_expected(table, Expected(("x", "y")))
    >>> ordered.values.tolist(), ordered.notes[0]
    ([[3.0, 2.0]], "1 column that the model was not fitted on was left out: 'z'")
    """
    wrong = []
    for name, wanted in expected.alleles.items() if table.alleles else ():
        here, other = (table.alleles or {}).get(name, (wanted, ""))
        if here != wanted and (here or other == wanted):
            wrong.append(f"{name!r} ({here or '0'}/{other or '0'}, fitted {wanted})")
    if wrong:
        many = counted(len(wrong), "variant counts", "variants count")
        why = f"{table.source}: {many} another allele than the fitted data: {first_few(wrong)}."
        raise DataError(why, "Write it with the same A1 and strand (plink --a1-allele, --flip).")
    names = table.feature_names
    if expected.names is None or names is None or names == expected.names:
        return table
    indices, notes = expected.places(names, table.source)
    values = stored.columns_taken(table.values, indices)
    return replace(table, values=values, feature_names=expected.names, notes=(*table.notes, *notes))


# ---- Logarithms, square roots and log-ratios

TRANSFORMED = {
    "log": "numbers became their logarithms",
    "log1p": "numbers x became log(1 + x)",
    "sqrt": "numbers became their square roots",
    "logcpm": "counts x became log(1 + x per million of their row)",
    "clr": "numbers became centred log-ratios, log(x) minus the mean over the row",
}
DEPTH = "depth"  # metadata that logcpm adds: the sum of each row of counts
OF_ROWS = ("logcpm", "clr")  # transforms that need all columns of a row
OF_POSITIVE = ("log", "clr")


def with_transform(table: Table, kind: options.Transform) -> Table:
    """Return a table whose numbers are transformed; NaN stays.

    Parameters
    ----------
    table : Table
    kind : {"log", "log1p", "sqrt", "logcpm", "clr"}
        Natural logarithm, log(1 + x), square root, log(1 + 1e6 x / depth) where the depth is the sum of the
        row, or the centred log-ratios: the logarithms minus their mean over the entries of the row that are
        not missing [1]_.

    Raises
    ------
    ParameterError
        For a negative number, with "log" and "clr" also for zero and for a sparse matrix. Numbers that stay
        in a file raise it when they are read.

    References
    ----------
    .. [1] Aitchison, J. (1986). The Statistical Analysis of Compositional Data, chapter 4.

    Examples
    --------
    >>> with_transform(Table(np.array([[0.0, 3.0]])), "log1p").values.round(3).tolist()
    [[0.0, 1.386]]
    """
    check_choice("transform", kind, tuple(TRANSFORMED))  # a model file may hold anything
    values = table.values
    if kind in OF_POSITIVE and sparse.issparse(values):
        problem = f"takes logarithms of all entries, but {table.source} is a sparse matrix, which has zeros"
        raise ParameterError("transform", kind, problem, 'Use transform="log1p" or "sqrt".')
    f = partial(computed, table, kind)
    if not isinstance(values, stored.StoredRows):
        depths = {DEPTH: _depths(table.flat)} if kind == "logcpm" else {}
        numbers = f(table.flat, slice(0), slice(0)).reshape(values.shape)
        return replace(table, values=numbers, metadata={**depths, **table.metadata})
    dtype, cuts = dtype_of_rows(values.dtype), values.cuts_columns and kind not in OF_ROWS
    more = {"f": f, "dtype": dtype, "stored": dtype, "cuts_columns": cuts}
    return replace(table, values=values.derived(**more))


def computed(table: Table, kind: options.Transform, block: Any, rows: slice, columns: slice) -> Any:
    """Return some numbers of a table transformed.

    Raises
    ------
    ParameterError
        For the first number that has no transform.
    """
    dtype = dtype_of_rows(block.dtype)
    if sparse.issparse(block):
        block = block.astype(dtype, copy=True)
        block.sum_duplicates()
    numbers = block.data if sparse.issparse(block) else block
    if (numbers <= 0 if kind in OF_POSITIVE else numbers < 0).any():
        invalid = (block <= 0 if kind in OF_POSITIVE else block < 0).nonzero()
        i, j = min(zip(*(axis.tolist() for axis in invalid), strict=True))
        row, column = table.row_text((rows.start or 0) + i), (columns.start or 0) + j
        needs, advice = "numbers of at least 0", "If it is no count, leave out transform or the column"
        if kind in OF_POSITIVE:
            needs = "positive numbers"
            advice = 'Put a small positive number in place of zeros, or use transform="log1p" or "sqrt"'
        raise ParameterError(
            "transform",
            kind,
            f"needs {needs}, but {table.source} has {block[i, j]:.6g} in {row}, {column_text(table, column)}",
            f"{advice}; if the row is wrong, leave it out with exclude.",
        )
    if sparse.issparse(block):
        if kind == "logcpm":
            lines = np.repeat(np.arange(len(block.indptr) - 1), np.diff(block.indptr))
            of_entries = lines if block.format == "csr" else block.indices
            block.data = block.data * _per_million(_depths(block))[of_entries]
        block.data = _elementwise(kind)(block.data).astype(dtype, copy=False)
        return block
    if kind == "logcpm":
        counts = np.ascontiguousarray(block, dtype=np.float64)
        return np.log1p(counts * _per_million(_depths(counts))[:, None]).astype(dtype)
    if kind != "clr":
        return _elementwise(kind)(block, dtype=dtype)
    logs = np.log(np.ascontiguousarray(block, dtype=np.float64))
    there = np.isfinite(logs)
    sums = np.where(there, logs, 0.0).sum(axis=1, keepdims=True)
    return (logs - sums / np.maximum(there.sum(axis=1, keepdims=True), 1)).astype(dtype)


def _elementwise(kind: options.Transform) -> np.ufunc:
    return {"log": np.log, "sqrt": np.sqrt}.get(kind, np.log1p)


def _depths(counts: Any) -> npt.NDArray[np.float64]:
    """Return the sums of rows."""
    sums = counts.sum(axis=1) if sparse.issparse(counts) else np.nansum(counts, axis=1, dtype=np.float64)
    return np.asarray(sums, dtype=np.float64).ravel()


def _per_million(depths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return 1e6 / np.where(depths > 0, depths, 1.0)


# ---- Missing values: find them, then raise an error or apply the policy and add a note

_NO_MEANS = (
    'The model was fitted without missing="mean", so it has no means to fill with. Leave those '
    'rows out with missing="drop-rows", fill the values first, or fit the model again with '
    'missing="mean".'
)


def handle_missing(
    table: Table, policy: options.MissingPolicy | None = None, expected: Expected | None = None
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
    if policy in options.IMPUTED and expected is not None and not expected.holes:
        raise ParameterError(
            "missing",
            policy,
            "needs a PCA that was fitted with it",
            'Leave it out, or drop such rows with missing="drop-rows".',
        )
    if policy == "mean" and expected is not None and expected.means is None:
        problem = "would depend on the new data instead of the fitted one"
        raise ParameterError("missing", policy, problem, _NO_MEANS)
    if sparse.issparse(table.values):
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
    if policy in options.IMPUTED:
        table = _left_in(table, holes, str(policy))
    if holes is None or policy in (*options.IMPUTED, "error"):
        return table
    if policy in ("drop-rows", "drop-columns"):
        return _dropped(table, holes, policy)
    if expected is not None and expected.means is not None:
        return _filled(table, holes, expected.means, "the means of the fitted data")
    means = table.missing.means
    return table if means is None else _filled(table, holes, means, "column means")


def masked(table: Table) -> Table:
    """Return a field on a grid with 0 in cells that have no value at any time, such as land."""
    first = table.values[:1]
    holes = _holes(table) if first.dtype.kind == "f" and np.isnan(first).any() else None
    if holes is None or not (empty := holes.by_column == len(table.values)).any() or empty.all():
        return table
    cells = counted(int(empty.sum()), "cell has", "cells have")
    done = _filled(table, holes, np.where(empty, 0.0, np.nan), "")
    notes = (
        *table.notes,
        f"{cells} no value at any time, such as land in a field of the sea: left out as a mask",
    )
    return replace(done, notes=notes, missing=table.missing)


def _with_calls(table: Table, holes: Holes) -> tuple[Table, Holes | None]:
    """Leave out variants that were called for nobody."""
    called, names = holes.by_column < len(table.values), table.feature_names
    if names is None or called.all() or not called.any():
        return table, holes
    empty = np.flatnonzero(~called).tolist()
    were = counted(len(empty), "variant without any call was", "variants without any call were")
    note = f"{were} left out: {first_few(empty, lambda column: repr(names[column]))}"
    table = _with_columns(table, np.flatnonzero(called), note)
    return table, _holes(table)


def without_marks(table: Table, na_values: Sequence[str]) -> Table:
    """Return a table that holds no text, with NaN for the numbers that stand for missing values.

    Of those of the fitted data, texts are passed over, and all are where the numbers are not in memory.
    """
    values, hint = table.values, "Leave it out."
    names = table.feature_names or tuple(map(str, table.column_numbers or range(values.shape[1])))
    requested = [
        value
        for value in na_values
        if not isinstance(value, options.Remembered) or _is_float(value.rpartition("=")[2])
    ]
    every, single = options.na_values_of(requested, names, table.source)
    marks = {None: every} | single
    if not all(map(_is_float, itertools.chain(*marks.values()))):
        problem = f"does not apply to {table.source}, which holds no text"
        raise ParameterError("na_values", allowed=problem, hint=hint)
    if not isinstance(values, np.ndarray):
        if all(isinstance(value, options.Remembered) for value in requested):
            return table
        problem = f"needs the numbers in memory, but {table.source} is too large or sparse"
        raise ParameterError("na_values", allowed=problem, hint=hint)
    hits = np.zeros(values.shape, dtype=bool)
    for name, some in marks.items():
        where = ... if name is None else (slice(None), names.index(name))
        hits[where] |= np.isin(values[where], [*map(float, some)])
    return replace(table, values=np.where(hits, np.nan, values)) if hits.any() else table


def _is_float(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _left_in(table: Table, holes: Holes | None, policy: str) -> Table:
    """Leave missing values in for PCA, and leave out rows that have nothing else."""
    if isinstance(table.values, stored.StoredRows):
        raise ParameterError(
            "missing",
            policy,
            f"needs the table in memory, but {table.source} is too large",
            'Use missing="mean", choose rows, or raise the memory limit.',
        )
    if holes is not None and holes.empty:
        keep = np.delete(np.arange(len(table.values)), holes.empty)
        table = with_rows(table, keep, _without_any(table, holes))
    return replace(table, missing=replace(table.missing, method=policy))


def _handle_sparse(table: Table, policy: options.MissingPolicy | None, expected: Expected | None) -> Table:
    values = table.values
    if isinstance(values, stored.StoredRows):
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


def _holes(table: Table) -> Holes | None:
    """Return where NaN is; None where there is none."""
    if table.values.dtype.kind != "f" or getattr(table.values, "finite", None):
        return None
    holes = stored.rows_of_table(table).holes()
    return holes if holes is not None and holes.by_row else None


def _blocks(values: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield blocks that depend on the shape alone, so that sums of a file are those of its array."""
    for block in (values[rows] for rows in stored.row_slices(values)):
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
            f'missing="mean" needs a value in every column, but {shown} of {table.source} has none.',
            'Leave out empty columns with drop=[...], or use missing="drop-columns".',
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
            "Choose them with columns=[...].",
        )
    values = table.values
    if isinstance(values, stored.StoredRows):
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


def _dropped(table: Table, holes: Holes, policy: str) -> Table:
    """Return a table without the rows, or the columns, that have missing values."""
    if policy == "drop-columns" and table.picture_shape is not None:
        problem = "would drop pixels and with them the shape of the pictures"
        raise ParameterError("missing", policy, problem, 'Use missing="mean" or "drop-rows".')
    by_rows, n = policy == "drop-rows", len(table.values)
    keep = np.delete(np.arange(n), list(holes.by_row)) if by_rows else np.flatnonzero(holes.by_column == 0)
    what, total = policy.removeprefix("drop-"), n if by_rows else len(holes.by_column)
    if not len(keep):
        hint = 'Use missing="mean", or fill the values first.'
        empty = np.flatnonzero(holes.by_column == n) if by_rows and table.feature_names else ()
        if names := [table.feature_names[j] for j in empty]:  # type: ignore[index]
            hint = f"No row has a value in {listed(names)}: leave that out with drop={names!r}."
        raise DataError(
            f'missing="{policy}" leaves none of the {total} {what} of {table.source}: '
            f"every {what[:-1]} has a missing value.",
            hint,
        )
    note = f"{what} with missing values were dropped: {total - len(keep)} of {total}"
    if not by_rows:
        return _with_columns(table, keep, note)
    only_empty = len(holes.empty) == len(holes.by_row)
    return with_rows(table, keep, _without_any(table, holes) if only_empty else note)


def _empty_rows(table: Table, holes: Holes) -> str:
    return first_few(holes.empty, table.row_text)


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
        values=stored.rows_taken(table.values, keep),
        **table.labels_at(keep),
        row_numbers=array("q", (numbers[row] for row in keep)),
    )


def _with_columns(table: Table, keep: npt.NDArray[np.intp], note: str) -> Table:
    """Return some columns of a table, with a note on missing values."""
    names, numbers = table.feature_names, table.column_numbers or range(int(np.prod(table.values.shape[1:])))
    return replace(
        table,
        values=stored.columns_taken(table.values, keep.tolist()),
        feature_names=None if names is None else tuple(names[column] for column in keep),
        column_numbers=tuple(numbers[column] for column in keep) if names is None else None,
        notes=(*table.notes, note),
        missing=replace(table.missing, note=note),
    )


# ---- Rows that are left out: by name, by number, or all of a group

NUMBER = re.compile("0|[1-9][0-9]{0,17}")  # 007 is a name
ADVICE = "Give names or numbers of rows, or COLUMN=VALUE for all rows of a group."


def without(table: Table, entries: Sequence[str]) -> Table:
    """Leave out rows of a table.

    Parameters
    ----------
    table : Table
    entries : sequence of str
        As of :func:`rows_named`.

    Raises
    ------
    ParameterError
        For an entry without a row, and if no row is left.

    Examples
    --------
    >>> table = Table(np.eye(3), row_names=("a", "b", "c"), label_name="k", labels=np.array(["u", "v", "v"]))
    >>> without(table, ("k=v",)).row_names
    ('a',)
    """
    out = rows_named(table, entries, "exclude")
    if out.all():
        hint, n = "Leave out fewer.", len(out)
        raise ParameterError("exclude", list(entries), f"leaves none of the {n} rows of {table.source}", hint)
    return replace(rows_taken_of(table, np.flatnonzero(~out)), groups={})


def rows_named(table: Table, entries: Sequence[str], parameter: str) -> npt.NDArray[np.bool_]:
    """Return which rows of a table some entries name, shape (n_samples,).

    Parameters
    ----------
    table : Table
    entries : sequence of str
        Each is the name of a row; or the number of a row of the file, counted from 0, where no row has that
        name; or COLUMN=VALUE, of labels, metadata, the columns of ``table.groups``, or a feature; or a value
        of the labels.
    parameter : str
        For messages.

    Raises
    ------
    ParameterError
        For an entry without a row.
    """
    n = table.values.shape[0]
    rows = np.zeros(n, dtype=bool)
    find_rows, available = _places_of_rows(table), {**table.groups, **table.metadata}
    if table.labels is not None:
        available[table.label_name or "label"] = table.labels
    columns = {*available, *(table.feature_names or ())}
    for entry in entries:
        if found := find_rows(entry):
            rows[found] = True
        elif (column := options.group_column(entry, columns)) is not None:
            values = available.get(column)
            if values is None:
                values = stored.column_of(table.flat, (table.feature_names or ()).index(column))
            rows |= _rows_with(values, entry, column, table, parameter)
        elif table.labels is not None and (of_label := table.labels.astype(np.str_) == entry).any():
            rows |= of_label
        else:
            problem = f"is neither a row nor a group of {table.source}"
            raise ParameterError(parameter, entry, problem, f"{_numbering(table)} {ADVICE}")
    return rows


def _places_of_rows(table: Table) -> Callable[[str], list[int]]:
    """Return what finds rows by name, or by number in the file where no row has that name."""
    named: dict[str, list[int]] = {}
    for row, name in enumerate(table.row_names or ()):
        named.setdefault(name, []).append(row)
    numbers = range(table.values.shape[0]) if table.row_numbers is None else table.row_numbers

    def places(entry: str) -> list[int]:
        numbered = NUMBER.fullmatch(entry) and int(entry) in numbers
        return named.get(entry) or ([numbers.index(int(entry))] if numbered else [])

    return places


def _rows_with(
    values: npt.NDArray[Any], entry: str, column: str, table: Table, parameter: str
) -> npt.NDArray[np.bool_]:
    """Return the rows that COLUMN=VALUE is about; an empty value stands for none."""
    value = entry[len(column) + 1 :]
    if value in NO_LABEL:
        rows = ~has_label(values)
    elif values.dtype.kind not in "fiu":
        rows = values.astype(np.str_) == value
    else:
        try:
            rows = values == np.float64(value).astype(np.result_type(values.dtype, np.float32))
        except ValueError:
            rows = np.zeros(len(values), dtype=bool)
    if not rows.any():
        present = [_text(value) for value in np.unique(values).tolist() if value == value]
        problem = f"names no row: {column!r} of {table.source} has no such value"
        raise ParameterError(parameter, entry, problem, f"It has {listed(present)}.")
    return np.asarray(rows)


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _numbering(table: Table) -> str:
    """Return how rows are named, or numbered, as a sentence."""
    if table.row_names is not None:
        return f"Rows are named {listed(table.row_names)}."
    numbers = range(table.values.shape[0]) if table.row_numbers is None else table.row_numbers
    return f"Rows are numbered {numbers[0]} to {numbers[-1]}."


# -------------------------------------------------------------------- cells


def corrected(table: Table, entries: Sequence[str]) -> Table:
    """Return a table with other numbers in some cells.

    Parameters
    ----------
    table : Table
    entries : sequence of str
        ROW:COLUMN=VALUE, where the row is named, or numbered where no row has that name. Without a VALUE the
        cell is missing.

    Raises
    ------
    ParameterError
        For an unknown cell, a name of several rows, and a table that is not in memory.

    Examples
    --------
    >>> table = Table(np.eye(2), feature_names=("x", "a:b"), row_names=("u", "v"))
    >>> corrected(table, ("u:x=2.5", "1:a:b=")).values.tolist()
    [[2.5, 0.0], [0.0, nan]]
    """
    if not isinstance(table.values, np.ndarray) or table.picture_shape is not None:
        problem = f"needs a table of numbers in memory, which {table.source} is not"
        raise ParameterError("corrections", allowed=problem, hint="Correct the file, or leave rows out.")
    values = table.values.astype(table.values.dtype if table.values.dtype.kind == "f" else np.float64)
    columns = table.feature_names or tuple(map(str, table.column_numbers or range(values.shape[1])))
    find_rows = _places_of_rows(table)
    for entry in entries:
        cell, _, value = entry.rpartition("=")
        cuts = [index for index, letter in enumerate(cell) if letter == ":"]
        found = [(cell[:cut], cell[cut + 1 :]) for cut in cuts if cell[cut + 1 :] in columns]
        if not found:
            raise options.unknown_columns("corrections", [cell[cuts[0] + 1 :]], columns, table.source)
        row, column = next((entry for entry in found if find_rows(entry[0])), found[0])
        if len(rows := find_rows(row)) != 1:
            problem = f"names {counted(len(rows), 'row')} of {table.source}, and must name one"
            raise ParameterError("corrections", entry, problem, _numbering(table))
        number = float(value or "nan")
        if abs(number) > float(np.finfo(values.dtype).max):
            problem = f"is beyond the numbers of {table.source}, which are {values.dtype}"
            raise ParameterError("corrections", entry, problem, "Give a smaller one, or leave it missing.")
        values[rows[0], columns.index(column)] = number
    return replace(table, values=values)
