"""Annotated matrices of single-cell data: .h5ad files, as the anndata package lays them out."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import listed
from gramian.errors import DataError, ParameterError
from gramian.rows.archives import Header, require, require_room
from gramian.rows.formats.hdf5 import header_of, member, opened_hdf5, stored_dataset
from gramian.rows.kinds.array import bytes_of_rows
from gramian.rows.kinds.sparse import ENTRY, StoredSparse, refuse_by_columns
from gramian.rows.lazy.spool import columns_taken
from gramian.rows.lazy.stored import whole_within
from gramian.rows.table import Choice, Table, pick_columns, pick_rows, repeated_note, unique_names


def read_annotated(file: IO[bytes], choice: Choice, source: str) -> Table:
    """Read the matrix X of a .h5ad file with the names of its rows and columns.

    A sparse matrix becomes dense; ``label`` and ``id`` of the choice are columns of obs.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If it has no matrix X of numbers with names, or sizes disagree.
    MemoryLimitError
        If the rows that are wanted take more memory than may be used.
    ParameterError
        If the choice names what does not exist.
    MissingExtraError
        If h5py is not installed.
    """
    if choice.label_row is not None:
        raise ParameterError(
            f"label={choice.label_row!r} with transpose names a row, but labels of {source} are columns of "
            "obs. Leave out transpose: its rows are samples already."
        )
    with opened_hdf5(file, source) as opened:
        return _annotated(opened, choice, source, _matrix)


def stored_annotated(path: Path, choice: Choice, limit: int, source: str) -> Table | None:
    """Return the table of :func:`read_annotated` to be read block by block; None where it is small.

    Sparse X stays sparse, and comes into memory where it takes no more than a table may.

    Raises
    ------
    FileError, DataError, MemoryLimitError, ParameterError, MissingExtraError
        As of :func:`read_annotated`.
    """
    with path.open("rb") as file, opened_hdf5(file, source) as opened:
        if "X" not in opened:
            return None
        X = member(opened, "X")
        kind = (X if hasattr(X, "dtype") else member(X, "data")).dtype
        if bytes_of_rows(_shape(X), kind) <= whole_within(limit):
            return None
        return _annotated(opened, choice, source, partial(_stored_matrix, path, limit))


def _stored_matrix(path: Path, limit: int, X: Any, rows: range, source: str) -> tuple[Any, tuple[str, ...]]:
    if hasattr(X, "dtype"):
        require(header_of(X), f"{source}::X")
        return stored_dataset(path, X, limit, f"{source}::X").picked(rows), ()
    entries = member(X, "data").shape[0]
    if ENTRY * entries <= whole_within(limit):
        return _sparse(X)[slice(rows.start, rows.stop, rows.step)].tocsr(), ()
    form = X.attrs["encoding-type"].removesuffix("_matrix")
    refuse_by_columns(form, entries, limit, f"{source}::X", "adata.X = adata.X.tocsr()")
    data, indices = (
        stored_dataset(path, member(X, name), limit, f"{source}::X") for name in ("data", "indices")
    )
    n, d = _shape(X)
    indptr = _read(member(X, "indptr")).astype(np.int64, copy=False)
    return StoredSparse((n, d), indptr, indices, data, f"{source}::X").picked(rows), ()


def _annotated(opened: Any, choice: Choice, source: str, matrix: Callable[..., Any]) -> Table:
    for part in ("X", "obs", "var"):
        if part not in opened:
            raise DataError(
                f"{source} has no {part}, which an .h5ad file has. Is it another HDF5 file? Name it .h5."
            )
    features, repeated = unique_names(_index(member(opened, "var")))
    kept, _, _ = pick_columns(features, Choice(columns=choice.columns, drop=choice.drop), source)
    obs, X = member(opened, "obs"), member(opened, "X")
    labels = None if choice.label is None else _column(obs, choice.label, "label", source)
    names = _index(obs) if choice.id is None else map(str, _column(obs, choice.id, "id", source).tolist())
    row_names, shape = tuple(names), _shape(X)
    many = len(row_names) if labels is None else labels.size
    if shape != (len(row_names), len(features)) or many != len(row_names):
        raise DataError(
            f"{source} is damaged: X is {' x '.join(map(str, shape))}, with {len(row_names)} names of "
            f"rows, {many} labels and {len(features)} names of columns. Write it again."
        )
    rows = pick_rows(len(row_names), choice.rows, source)
    values, notes = matrix(X, rows, source)
    return Table(
        values if kept == list(range(len(features))) else columns_taken(values, kept)[0],
        feature_names=tuple(features[place] for place in kept),
        row_names=tuple(row_names[row] for row in rows),
        labels=None if labels is None else labels[list(rows)],
        label_name=choice.label,
        source=source,
        notes=(*notes, *repeated_note(repeated)),
        row_numbers=None if choice.rows is None else rows,
    )


def _shape(X: Any) -> tuple[int, ...]:
    return tuple(X.shape if hasattr(X, "dtype") else map(int, X.attrs["shape"]))


def _matrix(X: Any, rows: range, source: str) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    part, shape = slice(rows.start, rows.stop, rows.step), (len(rows), _shape(X)[1])
    if hasattr(X, "dtype"):
        dense = replace(header_of(X), shape=shape)
        require(dense, f"{source}::X")
        require_room(dense, f"{source}::X")
        return np.asarray(X[part]), ()
    found = _sparse(X)
    dense = Header(shape, found.dtype, found.toarray)
    require(dense, f"{source}::X")
    require_room(dense, f"{source}::X")
    share = found.nnz / max(1, found.shape[0] * found.shape[1])
    return found[part].toarray(), (f"sparse X, {share:.0%} of it not zero, was made dense",)


def _sparse(X: Any) -> Any:
    kind = sparse.csc_matrix if X.attrs["encoding-type"] == "csc_matrix" else sparse.csr_matrix
    found = kind(tuple(_read(member(X, name)) for name in ("data", "indices", "indptr")), shape=_shape(X))
    found.check_format(full_check=True)  # what points outside of the matrix would be written there
    return found


def _read(dataset: Any) -> npt.NDArray[Any]:
    found = header_of(dataset)
    require_room(found, dataset.name)
    return found.read()


def _index(frame: Any) -> tuple[str, ...]:
    return tuple(map(str, _read(member(frame, frame.attrs["_index"])).tolist()))


def _column(frame: Any, name: str, option: str, source: str) -> npt.NDArray[Any]:
    """Read a column of obs: numbers, text, or categories, of which a missing one is empty text."""
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
