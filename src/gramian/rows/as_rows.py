"""The one function that converts user input to :class:`Rows`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gramian.arrays import fix_threads, memory_limit_bytes, to_numpy
from gramian.checks import listed
from gramian.errors import DataError, GramianError, InputTypeError, ParameterError
from gramian.rows.expected import Expected
from gramian.rows.kinds.array import ArrayRows
from gramian.rows.kinds.dask import DaskRows, DaskTable, is_dask
from gramian.rows.kinds.sparse import StoredSparseRows, rows_in_memory
from gramian.rows.kinds.stored import StoredRows, require_rows
from gramian.rows.labelled import labelled_table
from gramian.rows.lazy.array import LazyArray, whole_within
from gramian.rows.lazy.spool import GrowingTable
from gramian.rows.lazy.stored import stored_map
from gramian.rows.rows import Rows
from gramian.rows.scan import Scan
from gramian.rows.table import Table
from gramian.rows.weights import weighted


def as_rows(
    X: Any,
    *,
    estimator: str = "gramian",
    minimum: int = 1,
    check_finite: bool = True,
    expected: Expected | None = None,
    limit: int | None = None,
    in_place: bool = False,
    weigh: bool | None = None,
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
    in_place : bool
        Whether also a small file is left where it is, if its kind can be read block by block.
    weigh : bool, optional
        Whether the column of weights that a file was read with counts: False refuses it, and None is for
        callers that look at rows one by one.

    Raises
    ------
    InputTypeError
        For a bare string, which could be data or a path.
    DataError
        If it is not a table of finite real numbers.
    MemoryLimitError
        If all rows are needed, and take more than the memory that may be used.
    """
    fix_threads()
    if isinstance(X, Rows):
        return X
    if isinstance(X, (str, bytes)):
        raise InputTypeError(
            f"X is the text {X[:60]!r}. To read a file, write gramian.scan({X[:60]!r}) or use pathlib.Path."
        )
    working = memory_limit_bytes(None) if limit is None else limit
    was_read = isinstance(X, Path | Scan | Iterator)
    if isinstance(X, Path | Scan):
        scan = Scan(X) if isinstance(X, Path) else X
        table: Table | None = scan.open(working, expected, in_place=in_place)
    else:
        if isinstance(X, Iterator):
            X = table_of_blocks(X, estimator, working)
        table = X if isinstance(X, Table) else labelled_table(X)
        table = expected.ordered(table) if table is not None and expected is not None else table
    values = _of_sparse_columns(X) if table is None else table.values
    if isinstance(values, np.memmap) and limit is not None:
        values = stored_map(values, whole_within(limit))
    rows = _rows_where_they_are(values, estimator, minimum, working)
    # Rows that will only be mapped stay in the chunks of Dask.
    if limit is None and isinstance(rows, StoredRows) and (rows.in_one_place or expected is None):
        rows = rows_in_memory(rows.whole(working), estimator, minimum)
    rows = replace(
        rows,
        feature_names=table.feature_names if table else column_names(X),
        row_names=table.row_names if table else _index_names(X),
        table=table,
        borrowed=rows.borrowed and not was_read,
    )
    if table is not None and table.weights is not None and expected is None:
        if weigh is False:
            raise ParameterError(
                f"{estimator} does not support weights of rows. Leave weights out, or repeat rows before."
            )
        rows = weighted(rows, table.weights, "The column of weights") if weigh else rows
    if check_finite and (expected is None or rows.in_one_place):
        rows.require_finite()
    return rows


def _rows_where_they_are(values: Any, estimator: str, minimum: int, working: int) -> Rows:
    if isinstance(values, DaskTable) or is_dask(values):
        lazy = values.lazy if isinstance(values, DaskTable) else values
        return DaskRows.checked(lazy, estimator, minimum, working)
    if isinstance(values, LazyArray):
        require_rows(len(values), values.source, minimum, estimator)
        return (StoredSparseRows if hasattr(values, "indptr") else StoredRows).of(values, working)
    return rows_in_memory(values, estimator, minimum)


def _of_sparse_columns(X: Any) -> Any:
    """Return a frame of pandas whose columns are all sparse as a matrix; anything else stays as it is."""
    types = list(X.dtypes) if hasattr(X, "iloc") and hasattr(X, "columns") else []
    if not types or not all(str(dtype).startswith("Sparse[") for dtype in types):
        return X
    return X.sparse.to_coo() if all(dtype.fill_value == 0 for dtype in types) else X.sparse.to_dense()


def _index_names(X: Any) -> tuple[str, ...] | None:
    index = None if is_dask(X) else getattr(X, "index", None)
    if index is None or callable(index) or not hasattr(index, "dtype"):
        return None
    values = to_numpy(index)
    return tuple(str(v) for v in values) if values.dtype.kind in "OUST" else None


# -------------------------------------------- blocks of a generator

_SOURCE = "the blocks of a generator"


def table_of_blocks(blocks: Iterator[Any], estimator: str, limit: int) -> Table:
    """Stack the blocks of a generator: on disk, or in memory if they are few.

    Parameters
    ----------
    blocks : iterator
        Of arrays or frames (m, d), or pictures (m, height, width).
    estimator : str
        Whose data it is, for messages.
    limit : int
        Bytes of working memory.

    Raises
    ------
    DataError
        If there is no block, or a block is not a table of numbers or has other columns than the first.
    FileError
        If the disk is full.
    """
    numbers, names, first = GrowingTable(_SOURCE, whole_within(limit)), None, None
    for number, block in enumerate(blocks):
        try:
            rows = ArrayRows.checked(block, estimator, 1)
        except GramianError as error:
            kind = InputTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"Block {number} of the generator, counted from 0: {error}") from error
        here = column_names(block)
        if first is None:
            first, names = rows, here
        if rows.shape[1] != first.shape[1] or rows.picture_shape != first.picture_shape or here != names:
            raise DataError(
                f"Block {number} of the generator, counted from 0, has {_size(rows, here)}, but block 0 has "
                f"{_size(first, names)}. Every block needs the same columns, in the same order."
            )
        values = to_numpy(rows.in_memory())
        numbers.append(values if rows.picture_shape is None else values.reshape(-1, *rows.picture_shape))
    if first is None:
        raise DataError(
            "The generator yields no blocks: it is empty, or was already consumed, since a generator can be "
            "read only once. Create a new one, or pass a file or an array."
        )
    values = numbers.rows()
    notes = (values.note,) if isinstance(values, LazyArray) else ()
    return Table(values, names, picture_shape=first.picture_shape, source=_SOURCE, notes=notes)


def column_names(block: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame; None where not all of them are text."""
    names = getattr(block, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _size(rows: ArrayRows, names: tuple[str, ...] | None) -> str:
    what = f"pictures of shape {rows.picture_shape}" if rows.picture_shape else f"{rows.shape[1]} columns"
    return what + (f" ({listed(names)})" if names else "")
