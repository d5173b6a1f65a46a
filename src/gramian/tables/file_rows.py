"""Rows of what is not an array in memory: files, generators, arrays with labels, Dask and memory maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gramian.core.arrays import is_dask, to_numpy
from gramian.core.checks import listed
from gramian.errors import DataError, GramianError, InputTypeError
from gramian.tables import scan
from gramian.tables.dask import DaskRows
from gramian.tables.memory import ArrayRows, array_rows, column_names, names_in
from gramian.tables.rows import Rows
from gramian.tables.source import whole_within
from gramian.tables.stored import Spool, StoredRows, opened_rows, require_rows, stored_map
from gramian.tables.table import RowsRequest, Table, contiguous, repeated_note, unique_names
from gramian.tables.treatment import as_expected


def read(X: Any, request: RowsRequest) -> Rows:
    """Return rows of a file, blocks, a table, a memory map, Dask's collections, a DataArray or AnnData."""
    if isinstance(X, Path | scan.Scan):
        scanned = scan.Scan(X) if isinstance(X, Path) else X
        if scanned.missing is None and request.missing is not None:
            scanned = replace(scanned, missing=request.missing)  # type: ignore[arg-type]
        return replace(_of_table(scanned.open(request.working, request.expected), request), borrowed=False)
    if isinstance(X, Iterator):
        return replace(read(table_of_blocks(X, request), request), borrowed=False)
    table = X if isinstance(X, Table) else labelled_table(X, request.working)
    if table is not None:
        return _of_table(table if request.expected is None else as_expected(table, request.expected), request)
    if isinstance(X, np.memmap):
        X = X if request.limit is None else stored_map(X, whole_within(request.limit))
        if isinstance(X, np.memmap):
            return ArrayRows.checked(X, request)
    if is_dask(X):
        rows: StoredRows = replace(DaskRows.checked(X, request), feature_names=column_names(X))
    elif isinstance(X, StoredRows):
        require_rows(len(X), X.source, request)
        rows = opened_rows(X, request.working)
    else:
        raise InputTypeError(f"X is a {type(X).__name__}, which holds no rows of numbers.")
    # Callers that need all rows have them in memory; those that will be mapped stay with Dask.
    if request.limit is None and (rows.in_one_place or request.expected is None):
        values = rows.whole(request.working)
        return replace(array_rows(values, request), feature_names=rows.feature_names)
    return rows


def _of_table(table: Table, request: RowsRequest) -> Rows:
    values = table.values
    stored = isinstance(values, StoredRows | np.memmap) or is_dask(values)
    rows = read(values, request) if stored else array_rows(values, request)
    return replace(rows, feature_names=table.feature_names, row_names=table.row_names, table=table)


_SOURCE = "the blocks of a generator"


def table_of_blocks(blocks: Iterator[Any], request: RowsRequest) -> Table:
    """Stack the blocks of a generator: on disk, or in memory if they are few.

    Parameters
    ----------
    blocks : iterator
        Of arrays or frames (m, d), or pictures (m, height, width).
    request : RowsRequest

    Raises
    ------
    DataError
        If there is no block, or a block is not a table of numbers or has other columns than the first.
    FileError
        If the disk is full.
    """
    numbers, names, first = Spool(_SOURCE, within=whole_within(request.working)), None, None
    for number, block in enumerate(blocks):
        try:
            rows = ArrayRows.checked(block, replace(request, minimum=1))
        except GramianError as error:
            kind = InputTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"Block {number} of the generator, counted from 0: {error}") from error
        here = column_names(block)
        if first is None:
            first, names = rows, here
        if rows.shape[1] != first.shape[1] or rows.picture_shape != first.picture_shape or here != names:
            what = f"Block {number} of the generator, counted from 0, has {_size(rows, here)}"
            hint = "Every block needs the same columns, in the same order."
            raise DataError(f"{what}, but block 0 has {_size(first, names)}.", hint)
        values = to_numpy(rows.in_memory())
        numbers.append(values if rows.picture_shape is None else values.reshape(-1, *rows.picture_shape))
    if first is None:
        why = "The generator yields no blocks: it is empty, or was consumed: it can be read only once."
        raise DataError(why, "Create a new one, or pass a file or an array.")
    values = numbers.rows()
    notes = (values.note,) if isinstance(values, StoredRows) else ()
    return Table(values, names, picture_shape=first.picture_shape, source=_SOURCE, notes=notes)


def _size(rows: ArrayRows, names: tuple[str, ...] | None) -> str:
    what = f"pictures of shape {rows.picture_shape}" if rows.picture_shape else f"{rows.shape[1]} columns"
    return what + (f" ({listed(names)})" if names else "")


# ---- Arrays with labels of other libraries, as tables: xarray's DataArray and AnnData

# Dimensions of these names in the other place are a table that lies on its side.
SAMPLES = ("sample", "samples", "observation", "obs")
FEATURES = ("feature", "features", "variable", "var")


def labelled_table(X: Any, limit: int) -> Table | None:
    """Return an array with labels as a table with its names; None for other data.

    What is in a file is read block by block if it takes more than a quarter of ``limit`` bytes.

    Raises
    ------
    DataError
        For a DataArray that is no table of samples and features, and AnnData without X.
    InputTypeError
        For a Dataset of xarray.
    """
    kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__}
    if ("xarray", "Dataset") in kinds:
        why = "X is an xarray.Dataset of several variables."
        raise InputTypeError(why, "Pass one, such as X['name'], or X.to_dataarray() with two dimensions.")
    if ("xarray", "DataArray") in kinds:
        return _of_xarray(X)
    return of_anndata(X, None, slice(None), limit) if ("anndata", "AnnData") in kinds else None


def _of_xarray(X: Any) -> Table:
    dims = tuple(map(str, X.dims))
    if len(dims) != 2:
        advice = f" Stack the others: X.stack(feature={list(dims[1:])!r})." if len(dims) > 2 else ""
        raise DataError(f"X has the dimensions {dims}, but a table has two: samples, then features.{advice}")
    if dims[0].lower() in FEATURES or dims[1].lower() in SAMPLES:
        why = f"X has the dimensions {dims}, but rows are the first one and features the second."
        raise DataError(why, "Pass X.T.")
    names = [names_in(X.indexes.get(dim)) for dim in X.dims]
    columns, repeated = (None, ()) if names[1] is None else unique_names(names[1])
    return Table(contiguous(X.data), columns, names[0], source="X", notes=repeated_note(repeated))


def of_anndata(adata: Any, layer: str | None, columns: Any, limit: int) -> Table:
    """Return a matrix of AnnData as a table with the names of its rows and columns.

    Parameters
    ----------
    adata : AnnData
    layer : str or None
        Its name; None means X.
    columns : ndarray of bool or slice
        Which of the columns to take.
    limit : int
        Bytes of working memory: X of a file that takes more than a quarter of it is read block by block.

    Raises
    ------
    DataError
        If there is no matrix.
    """
    source = "X" if layer is None else f"layer {layer!r}"
    backed = layer is None and getattr(adata, "isbacked", False)  # such an AnnData has its layers in memory
    if backed:
        values, source = _backed(adata, columns, limit), f"{Path(adata.filename).name}::X"
    else:
        values = adata.X if layer is None else adata.layers[layer]
    if values is None:
        why = f"{source} of this AnnData is empty."
        raise DataError(why, "Name a layer: gramian.connect.anndata.pca(adata, layer=...).")
    names, repeated = unique_names(tuple(map(str, adata.var_names[columns])))
    if not (backed or isinstance(columns, slice)):
        values = values[:, np.flatnonzero(columns)]
    rows = tuple(map(str, adata.obs_names))
    return Table(contiguous(values), names, rows, source=source, notes=repeated_note(repeated))


def _backed(adata: Any, columns: Any, limit: int) -> Any:
    """Return columns of X of an AnnData whose X is in a file, or of a view of such, to be read later."""
    from gramian.tables.formats.hdf5 import lazy_matrix

    if not adata.file.is_open:
        adata.file.open()
    adata.file["X"].file.flush()  # of what was written through it
    path = Path(adata.filename)
    values = lazy_matrix(adata.file["X"], path.name, path, limit)
    n, d = values.shape
    chosen = np.arange(n), np.arange(d)
    if adata.is_view:
        chosen = chosen[0][adata._oidx], chosen[1][adata._vidx]
    rows, picked = chosen[0], chosen[1][columns]
    if not isinstance(values, StoredRows):
        return values[rows][:, picked]
    if (np.diff(rows) <= 0).any():
        why = "This view of an AnnData backed by a file has its rows in another order than the file."
        hint = "Sort the index that it was made with, or pass adata.to_memory()."
        raise DataError(why, hint)
    return values.picked(None if len(rows) == n else rows, picked.tolist())
