"""Numbers as their logarithms, square roots or log-ratios, in memory or when they are read from a file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import check_choice
from gramian.data.rows import row_text
from gramian.data.table import Table
from gramian.errors import ParameterError, option
from gramian.io.missing import column_text, rows_of_table
from gramian.io.source import dtype_of_rows
from gramian.io.stored import DerivedRows, DerivedSparse, StoredRows
from gramian.reading import Transform

TRANSFORMED = {
    "log1p": "numbers x became log(1 + x)",
    "sqrt": "numbers became their square roots",
    "clr": "numbers became centred log-ratios, log(x) minus the mean over the row",
}


def with_transform(table: Table, kind: Transform) -> Table:
    """Return a table whose numbers are transformed; NaN stays.

    Parameters
    ----------
    table : Table
    kind : {"log1p", "sqrt", "clr"}
        log(1 + x), square root, or the centred log-ratios: the logarithms minus their mean over the entries
        of the row that are not missing [1]_.

    Raises
    ------
    ParameterError
        For a negative number, with "clr" also for zero and for a sparse matrix. Numbers that stay in a file
        raise it when they are read.

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
    if kind == "clr" and hasattr(values, "indptr"):
        problem = f"takes logarithms of all entries, but {table.source} is a sparse matrix, which has zeros"
        raise ParameterError("transform", kind, problem, f"Use {option('transform', 'log1p', 'sqrt')}.")
    f = partial(computed, table, kind)
    if not isinstance(values, StoredRows):
        return replace(table, values=f(table.flat, slice(0), slice(0)).reshape(values.shape))
    sparse_too = {"indptr": values.indptr} if hasattr(values, "indptr") else {}
    dtype, cuts = dtype_of_rows(values.dtype), values.cuts_columns and kind != "clr"
    more = {"f": f, "dtype": dtype, "stored": dtype, "cuts_columns": cuts, **sparse_too}
    return replace(table, values=values.derived(DerivedSparse if sparse_too else DerivedRows, **more))


def computed(table: Table, kind: Transform, block: Any, rows: slice, columns: slice) -> Any:
    """Return some numbers of a table transformed."""
    dtype, row, column = dtype_of_rows(block.dtype), rows.start or 0, columns.start or 0
    if sparse.issparse(block):
        result = block.astype(dtype, copy=True)
        result.sum_duplicates()
        _check(result.data, kind, lambda place: _coordinates(result, place), table, row, column)
        result.data = _elementwise(kind)(result.data)
        return result
    _check(block, kind, lambda place: divmod(place, block.shape[1]), table, row, column)
    if kind != "clr":
        return _elementwise(kind)(block, dtype=dtype)
    logs = np.log(np.ascontiguousarray(block, dtype=np.float64))
    there = np.isfinite(logs)
    sums = np.where(there, logs, 0.0).sum(axis=1, keepdims=True)
    return (logs - sums / np.maximum(there.sum(axis=1, keepdims=True), 1)).astype(dtype)


def _elementwise(kind: Transform) -> np.ufunc:
    return np.log1p if kind == "log1p" else np.sqrt


def _coordinates(matrix: Any, place: int) -> tuple[int, int]:
    """Return row and column of an entry of a matrix in compressed rows or columns."""
    line = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    other = int(matrix.indices[place])
    return (line, other) if matrix.format == "csr" else (other, line)


def _check(numbers: npt.NDArray[Any], kind: Transform, at: Any, table: Table, row: int, column: int) -> None:
    """Raise for the first number that has no transform."""
    bad = numbers <= 0 if kind == "clr" else numbers < 0
    if not bad.any():
        return
    place = int(bad.argmax())
    i, j = at(place)
    where = f"{row_text(rows_of_table(table), row + i)}, {column_text(table, column + j)}"
    if kind == "clr":
        needs, instead = "positive numbers", option("transform", "log1p", "sqrt")
        advice = f"Put a small positive number in place of zeros, or use {instead}"
    else:
        needs = "numbers of at least 0"
        advice = f"If it is no count, leave out {option('transform')} or the column"
    raise ParameterError(
        "transform",
        kind,
        f"needs {needs}, but {table.source} has {np.ravel(numbers)[place]:.6g} in {where}",
        f"{advice}; if the row is wrong, leave it out with {option('exclude')}.",
    )
