"""The one function that makes :class:`Rows` of user input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy import sparse

from gramian.arrays import to_numpy
from gramian.errors import InputTypeError
from gramian.rows.array import ArrayRows
from gramian.rows.expected import Expected
from gramian.rows.rows import Rows
from gramian.rows.scan import Scan
from gramian.rows.sparse import SparseRows
from gramian.rows.stored import OnDisk, StoredRows
from gramian.rows.stored_sparse import StoredSparseRows
from gramian.rows.table import Table


def as_rows(
    X: Any,
    *,
    estimator: str = "gramian",
    minimum: int = 1,
    check_finite: bool = True,
    expected: Expected | None = None,
    limit: int | None = None,
) -> Rows:
    """Check user data and return it as :class:`Rows`.

    Parameters
    ----------
    X : array-like, frame, sparse matrix, Path, Scan or Rows
        (n_samples, n_features) numbers, or (n_samples, height, width) pictures.
    estimator : str
        Whose data it is, for messages.
    minimum : int
        Least number of rows.
    check_finite : bool
        False leaves the search for NaN and infinity to the caller's first pass over the data,
        which must call :meth:`Rows.require_finite` when its sums are not finite.
    expected : Expected, optional
        What a fitted model expects of new data: a file or a table is brought into that form.
    limit : int, optional
        Bytes of working memory: a file that takes more than a quarter of it is read block by block. None
        reads files as a whole.

    Raises
    ------
    InputTypeError
        For a bare string, which could be data or a path.
    DataError
        For anything that is not a table of finite real numbers.
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, (str, bytes)):
        raise InputTypeError(
            f"X is the text {X[:60]!r}. To read a file, write gramian.scan({X[:60]!r}) or use pathlib.Path."
        )
    read = isinstance(X, Path | Scan)
    if isinstance(X, Path):
        X = Scan(X)
    if isinstance(X, Scan):
        X = X.read(expected) if limit is None else X.open(limit, expected)
    table = X if isinstance(X, Table) else None
    if table is not None and expected is not None:
        table = expected.ordered(table)
    values = X if table is None else table.values
    if isinstance(values, OnDisk):
        left = StoredSparseRows if hasattr(values, "indptr") else StoredRows
        rows: Rows = left.of(values, limit)
    else:
        rows = (SparseRows if sparse.issparse(values) else ArrayRows).checked(values, estimator, minimum)
    rows = replace(
        rows,
        feature_names=table.feature_names if table else _column_names(X),
        row_names=table.row_names if table else _index_names(X),
        table=table,
        borrowed=rows.borrowed and not read,
    )
    if check_finite:
        rows.require_finite()
    return rows


def _column_names(X: Any) -> tuple[str, ...] | None:
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _index_names(X: Any) -> tuple[str, ...] | None:
    index = getattr(X, "index", None)
    if index is None or callable(index) or not hasattr(index, "dtype"):
        return None
    values = to_numpy(index)
    return tuple(str(v) for v in values) if values.dtype.kind in "OUST" else None
