"""What users pass as :class:`Rows`: data, by the type of what comes, and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gramian.core.arrays import real_numbers
from gramian.core.records import FloatArray
from gramian.errors import DataError, InputTypeError
from gramian.tables.memory import array_rows
from gramian.tables.rows import Rows
from gramian.tables.table import Expected, RowsRequest, Table

# Packages whose objects are read, or looked into, by gramian.tables.
READ_BY_IO = ("gramian.tables.", "anndata.", "dask.", "dask_expr.", "xarray.")


def as_rows(
    X: Any,
    *,
    estimator: str = "gramian",
    minimum: int = 1,
    check_finite: bool = True,
    expected: Expected | None = None,
    limit: int | None = None,
    weigh: bool | None = None,
    missing: str | None = None,
) -> Rows:
    """Check user data and return it as :class:`Rows`.

    Parameters
    ----------
    X : array-like, frame, DataArray, AnnData, sparse matrix, Path, Scan, Table, Rows, or iterator of blocks
        (n_samples, n_features) numbers, or (n_samples, height, width) pictures.
    estimator : str
        Whose data it is, for messages.
    minimum : int
        Least number of rows.
    check_finite : bool
        False leaves the search for NaN and infinity to the caller's first pass over the data,
        which must call :meth:`Rows.require_finite` when its sums are not finite.
    expected : Expected, optional
        What a fitted model expects of new data: a file or a table is brought into that form. Dask's are
        searched for NaN and infinity when what is made of them is computed.
    limit : int, optional
        Bytes of working memory: a file, memory map or generator that takes more than a quarter of it is read
        block by block. None is for callers that need all rows: they are in memory afterwards, unless
        Dask's rows are expected to be mapped.
    weigh : bool, optional
        Whether the column of weights that a file was read with counts: False refuses it, and None is for
        callers that look at rows one by one.
    missing : str, optional
        How a file is read whose scan says nothing of missing values.

    Raises
    ------
    InputTypeError
        For a bare string, which could be data or a path.
    DataError
        If it is not a table of finite real numbers.
    MemoryLimitError
        If all rows are needed, and take more than the memory that may be used.
    """
    if isinstance(X, Rows) and not X.unchecked:
        return X
    rows = to_rows(X, RowsRequest(estimator, minimum, limit, expected, missing))
    if rows.table is not None and rows.table.weights is not None and expected is None:
        if weigh is False:
            hint = "Leave weights out, or repeat rows before."
            raise DataError(f"{estimator} does not support weights of rows.", hint)
        rows = weighted(rows, rows.table.weights, "The column of weights") if weigh else rows
    if check_finite and (expected is None or rows.in_one_place):
        rows.require_finite()
    return rows


def to_rows(X: Any, request: RowsRequest) -> Rows:
    """Return user data as rows; :func:`as_rows` names the kinds, and raises its errors."""
    return _reader_of(X, request.expected)(X, request)


def _reader_of(X: Any, expected: Expected | None) -> Callable[[Any, RowsRequest], Rows]:
    """Return what makes rows of such data: arrays are checked, what is elsewhere is read."""
    if type(X) is Table and type(X.values) is np.ndarray and (expected is None or expected.fits(X)):
        return _rows_in_memory
    if isinstance(X, str | bytes):
        hint = f"To read a file, write gramian.scan({X[:60]!r}) or use pathlib.Path."
        raise InputTypeError(f"X is the text {X[:60]!r}.", hint)
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and not isinstance(X, np.memmap)):
        return array_rows
    modules = [f"{base.__module__}." for base in type(X).__mro__]
    looked_into = any(module.startswith(READ_BY_IO) for module in modules)
    if looked_into or isinstance(X, np.memmap | Path | Iterator):
        from gramian.tables.file_rows import read  # a fit to an array does without the readers of files

        return read
    return array_rows


def _rows_in_memory(table: Table, request: RowsRequest) -> Rows:
    rows, names = array_rows(table.values, request), table.row_names
    return replace(rows, feature_names=table.feature_names, row_names=names, table=table)


# ---- Weights of rows, which are checked here only

WEIGHTS = 1e-19, 1e19  # between which the largest weight is, so that products with squares stay in range


def weighted(rows: Rows, weights: Any, param: str = "sample_weight") -> Rows:
    """Return rows that count as often as their weights say; None and weights of 1 change nothing.

    Parameters
    ----------
    rows : Rows
    weights : array-like of shape (n,), or None
        An integer has the effect of so many equal rows, and 0 that of no row.
    param : str
        What the user calls them, for messages.

    Raises
    ------
    DataError
        For weights that are no finite numbers, negative, or not one for each row.
    """
    if weights is None:
        return rows
    if rows.weights is not None:
        raise DataError(f"The rows have weights already, and {param} gives others.", "Leave one of them out.")
    values = checked_weights(weights, rows.shape[0], param)
    if (values == 1.0).all():
        return rows
    return replace(rows, weights=values)


def checked_weights(weights: Any, n: int, param: str) -> FloatArray:
    """Return weights of n rows as float64, or raise a DataError."""
    advice = f"{param} says how often each row counts: give {n:,} finite numbers, 0 or more."
    try:
        values = real_numbers(weights)
    except (TypeError, ValueError) as error:
        raise DataError(f"{param} holds something that is no number ({error}).", advice) from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]  # a frame of one column
    if values.shape != (n,):
        shape = "a single number" if values.ndim == 0 else f"the shape {values.shape}"
        raise DataError(f"{param} has {shape}, but X has {n:,} rows.", advice)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        raise DataError(f"{param} is {values[wrong[0]]:g} for row {wrong[0]}.", advice)
    largest = float(values.max())
    if largest and not WEIGHTS[0] <= largest <= WEIGHTS[1]:
        why = f"The largest {param} is {largest:.2g}, and may be {WEIGHTS[0]:g} to {WEIGHTS[1]:g}."
        hint = "Divide all weights by one number, those of all batches by the same."
        raise DataError(why, hint)
    return values
