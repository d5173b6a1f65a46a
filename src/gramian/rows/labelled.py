"""Arrays with labels of other libraries, as tables: xarray's DataArray and AnnData."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.errors import DataError, InputTypeError
from gramian.rows.table import Table, contiguous, repeated_note, unique_names

# Dimensions of these names in the other place are a table that lies on its side.
SAMPLES = ("sample", "samples", "observation", "obs")
FEATURES = ("feature", "features", "variable", "var")


def labelled_table(X: Any) -> Table | None:
    """Return an array with labels as a table with its names; None for other data.

    Raises
    ------
    DataError
        For a DataArray that is no table of samples and features, and AnnData that is not in memory.
    InputTypeError
        For a Dataset of xarray.
    """
    kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__}
    if ("xarray", "Dataset") in kinds:
        raise InputTypeError(
            "X is an xarray.Dataset of several variables. Pass one, such as X['name'], or X.to_dataarray() "
            "with two dimensions."
        )
    if ("xarray", "DataArray") in kinds:
        return _of_xarray(X)
    return of_anndata(X, X.X, "X") if ("anndata", "AnnData") in kinds else None


def _of_xarray(X: Any) -> Table:
    dims = tuple(map(str, X.dims))
    if len(dims) != 2:
        advice = f" Stack the others: X.stack(feature={list(dims[1:])!r})." if len(dims) > 2 else ""
        raise DataError(f"X has the dimensions {dims}, but a table has two: samples, then features.{advice}")
    if dims[0].lower() in FEATURES or dims[1].lower() in SAMPLES:
        raise DataError(
            f"X has the dimensions {dims}, but rows are the first one and features the second. Pass X.T."
        )
    names = [_text(X.indexes[dim]) if dim in X.indexes else None for dim in X.dims]
    columns, repeated = (None, ()) if names[1] is None else unique_names(names[1])
    return Table(contiguous(X.data), columns, names[0], source="X", notes=repeated_note(repeated))


def of_anndata(adata: Any, values: Any, source: str, columns: Any = slice(None)) -> Table:
    """Return a matrix of AnnData as a table with the names of its rows and columns.

    Parameters
    ----------
    adata : AnnData
    values : array, sparse matrix or None
        X, or a layer.
    source : str
        Its name, for messages.
    columns : index
        Which of the columns to take.

    Raises
    ------
    DataError
        If the matrix is not there or not in memory.
    """
    if values is None:
        raise DataError(
            f"{source} of this AnnData is empty. Name a layer: gramian.anndata.pca(adata, layer=...)."
        )
    if getattr(adata, "isbacked", False):
        raise DataError(
            "This AnnData is backed by a file. Pass pathlib.Path(adata.filename), which is read block by "
            "block, or adata.to_memory()."
        )
    names, repeated = unique_names(tuple(map(str, adata.var_names[columns])))
    taken = values if isinstance(columns, slice) else values[:, np.flatnonzero(columns)]
    rows = tuple(map(str, adata.obs_names))
    return Table(contiguous(taken), names, rows, source=source, notes=repeated_note(repeated))


def _text(index: Any) -> tuple[str, ...] | None:
    values = np.asarray(index)
    there = values.dtype.kind in "OUT" and all(isinstance(value, str) for value in values)
    return tuple(map(str, values)) if there else None
