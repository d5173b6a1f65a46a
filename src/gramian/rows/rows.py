"""Checked data as blocks of rows, and the one function that makes it from user input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

from gramian.arrays import is_numpy, namespace, numpy_dtype, to_numpy
from gramian.errors import InputTypeError
from gramian.rows.array import check_array_api, check_numpy
from gramian.rows.finite import require_finite
from gramian.rows.scan import Scan
from gramian.rows.sparse import check_sparse
from gramian.rows.table import Table

__all__ = ["Rows", "as_rows"]

BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class Rows:
    """A checked table of n samples by d features, in memory, dense or sparse.

    Attributes
    ----------
    values : array of shape (n, d)
        float32 or float64 numbers: NumPy, scipy.sparse CSR or another array-API kind.
    dtype : numpy.dtype
        Type of what is handed back to the user: float32 for float32 input (and for 8- and 16-bit
        integers, which float32 holds exactly), otherwise float64.
    feature_names, row_names : tuple of str or None
        Names where the input had them.
    picture_shape : tuple of int or None
        Height and width, where each row is a picture.
    table : Table or None
        What was read, where the input was a file.
    """

    values: Any
    dtype: np.dtype[Any]
    feature_names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    picture_shape: tuple[int, int] | None = None
    table: Table | None = None

    def in_memory(self) -> Any:
        """Return the whole table as one array, for those who truly need it."""
        return self.values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and features."""
        n, d = self.values.shape
        return int(n), int(d)

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a scipy.sparse matrix."""
        return bool(sparse.issparse(self.values))

    @property
    def xp(self) -> Any:
        """Array namespace that results are returned in."""
        return np if self.is_sparse else namespace(self.values)

    @property
    def like(self) -> Any:
        """A small dense array of the kind and dtype that results are returned in."""
        if self.is_sparse:
            return np.empty(0, dtype=self.dtype)
        return self.values[:0, :0]

    def blocks(self, rows_per_block: int | None = None) -> Iterator[slice]:
        """Yield slices that cover all rows in order, each of about ``BLOCK_BYTES``."""
        n, d = self.shape
        size = rows_per_block or max(1, BLOCK_BYTES // max(1, d * self.dtype.itemsize))
        for start in range(0, n, size):
            yield slice(start, min(n, start + size))

    def dense_block(self, rows: slice) -> Any:
        """Return a dense block of rows: a view where that is possible."""
        block = self.values[rows, ...]
        return block.toarray() if self.is_sparse else block

    def require_finite(self) -> None:
        """Raise a DataError that names the first NaN or infinite entry, if there is one."""
        require_finite(self.values, self.feature_names, self.row_names)


def as_rows(
    X: Any,
    *,
    estimator: str = "gramian",
    minimum: int = 1,
    check_finite: bool = True,
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
    table = None
    if isinstance(X, Path):
        X = Scan(X)
    if isinstance(X, Scan):
        X = X.read()
    if isinstance(X, Table):
        table, X = X, X.values
    values, dtype, shape = _checked(X, estimator, minimum)
    rows = Rows(
        values=values,
        dtype=dtype,
        feature_names=table.feature_names if table else _column_names(X),
        row_names=table.row_names if table else _index_names(X),
        picture_shape=shape,
        table=table,
    )
    if check_finite:
        rows.require_finite()
    return rows


def _checked(X: Any, estimator: str, minimum: int) -> tuple[Any, np.dtype[Any], tuple[int, int] | None]:
    if sparse.issparse(X):
        values, dtype = check_sparse(X, estimator, minimum)
        return values, dtype, None
    foreign = array_api_compat.is_array_api_obj(X) and not isinstance(X, np.ndarray)
    shape = None
    if hasattr(X, "ndim") and X.ndim == 3:
        shape = (int(X.shape[1]), int(X.shape[2]))
        X = X.reshape(X.shape[0], -1) if is_numpy(X) else namespace(X).reshape(X, (X.shape[0], -1))
    values = check_array_api(X, estimator, minimum) if foreign else check_numpy(X, estimator, minimum)
    return values, numpy_dtype(values), shape


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
