"""Annotated matrices of single-cell data: .h5ad files, as the anndata package lays them out."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import listed
from gramian.errors import DataError, ParameterError
from gramian.rows.archives import Header, damage, require, require_room
from gramian.rows.formats.hdf5 import header_of, member, opened_hdf5, stored_dataset
from gramian.rows.lazy.array import whole_within
from gramian.rows.lazy.sparse import ENTRY, StoredSparse, refuse_by_columns
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource
from gramian.rows.table import repeated_note, unique_names

PARTS = ("X", "obs", "var")


def recognizes(file: IO[bytes]) -> bool:
    """Say whether an HDF5 file is an annotated matrix."""
    import h5py

    with h5py.File(file, "r") as members:
        return all(part in members for part in PARTS)


def open(opened: Opened, key: str | None) -> ArraySource:
    """Return the matrix X of a .h5ad file with the names of its rows and columns.

    A sparse matrix becomes dense where that is small; ``label`` and ``id`` are columns of obs.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If it has no matrix X of numbers with names, or sizes disagree.
    MissingExtraError
        If h5py is not installed.
    """
    members, name = opened_hdf5(opened), opened.name
    with damage(name):
        for part in PARTS:
            if part not in members:
                raise DataError(
                    f"{name} has no {part}, which an .h5ad file needs. Rename other HDF5 files to .h5."
                )
        obs, X = member(members, "obs"), member(members, "X")
        columns, repeated = unique_names(_index(member(members, "var")))
        row_names, shape = _index(obs), _shape(X)
        if shape != (len(row_names), len(columns)):
            raise ValueError(f"X is {shape}, with names of {len(row_names)} rows and {len(columns)} columns")
        entries = X if hasattr(X, "dtype") else member(X, "data")
        require(replace(header_of(entries), shape=shape), f"{name}::X")
        share = entries.size / max(1, math.prod(shape))

    def set_aside(option: str, column: str) -> npt.NDArray[Any]:
        values = _column(obs, column, option, name)
        if values.size != len(row_names):
            raise ValueError(f"X is {shape}, with {values.size} labels")
        return values

    path = opened.path
    return ArraySource(
        name,
        shape,
        entries.dtype,
        partial(_read_matrix, X, name),
        lazy=None if path is None else partial(_lazy_matrix, X, name, path),
        columns=columns,
        row_names=row_names,
        set_aside=set_aside,
        notes=repeated_note(repeated),
        notes_in_memory=()
        if hasattr(X, "dtype")
        else (f"the sparse matrix X ({share:.0%} non-zero) was made dense",),
    )


def _read_matrix(X: Any, name: str, rows: range | None = None) -> npt.NDArray[Any]:
    """Read rows of X as a dense array."""
    rows = range(_shape(X)[0]) if rows is None else rows
    part, shape = slice(rows.start, rows.stop, rows.step), (len(rows), _shape(X)[1])
    if hasattr(X, "dtype"):
        require_room(replace(header_of(X), shape=shape), f"{name}::X")
        return np.asarray(X[part])
    matrix = _sparse(X)
    require_room(Header(shape, matrix.dtype, matrix.toarray), f"{name}::X")
    return np.asarray(matrix[part].toarray())


def _lazy_matrix(X: Any, name: str, path: Path, limit: int) -> Any:
    """Return X to be read block by block; sparse X stays sparse, and comes into memory where it fits."""
    if hasattr(X, "dtype"):
        return stored_dataset(path, X, limit, source=f"{name}::X")
    entries = member(X, "data").shape[0]
    if ENTRY * entries <= whole_within(limit):
        return _sparse(X).tocsr()
    form = X.attrs["encoding-type"].removesuffix("_matrix")
    refuse_by_columns(form, entries, limit, f"{name}::X", "adata.X = adata.X.tocsr()")
    data, indices = (
        stored_dataset(path, member(X, part), limit, source=f"{name}::X") for part in ("data", "indices")
    )
    n, d = _shape(X)
    indptr = _read(member(X, "indptr")).astype(np.int64, copy=False)
    return StoredSparse((n, d), indptr, indices, data, f"{name}::X")


def _shape(X: Any) -> tuple[int, ...]:
    return tuple(X.shape if hasattr(X, "dtype") else map(int, X.attrs["shape"]))


def _sparse(X: Any) -> Any:
    kind = sparse.csc_matrix if X.attrs["encoding-type"] == "csc_matrix" else sparse.csr_matrix
    result = kind(tuple(_read(member(X, name)) for name in ("data", "indices", "indptr")), shape=_shape(X))
    result.check_format(full_check=True)  # an index outside of the matrix would write there
    return result


def _read(dataset: Any) -> npt.NDArray[Any]:
    result = header_of(dataset)
    require_room(result, dataset.name)
    return result.read()


def _index(frame: Any) -> tuple[str, ...]:
    return tuple(map(str, _read(member(frame, frame.attrs["_index"])).tolist()))


def _column(frame: Any, name: str, option: str, source: str) -> npt.NDArray[Any]:
    """Read a column of obs: numbers, text, or categories, where a missing one is empty text."""
    names = [str(one) for one in frame.attrs["column-order"]]
    if name not in names:
        raise ParameterError(
            f"{option}={name!r}: obs of {source} has no such column. It has {listed(names)}."
        )
    column = member(frame, name)
    if hasattr(column, "dtype"):
        return _read(column)
    if "categories" not in column:
        raise DataError(
            f"{source}: column {name!r} of obs is neither numbers, text nor categories. Use another."
        )
    categories = _read(member(column, "categories"))
    return np.asarray(np.append(categories.astype(np.str_), "")[_read(member(column, "codes"))])
