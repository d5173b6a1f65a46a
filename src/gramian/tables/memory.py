"""Rows in memory: dense arrays of NumPy, frames, lists and other array-API kinds, and sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_array

from gramian.core import arrays
from gramian.core.checks import counted, first_few
from gramian.core.checks import slices as cut
from gramian.errors import DataError, InputTypeError
from gramian.tables.rows import Block, Holes, Rows
from gramian.tables.table import RowsRequest

# How the types of columns without numbers begin, in pandas and polars.
_NO_NUMBERS = ("str", "categor", "enum", "date", "time", "duration", "period", "interval", "list", "struct")


@dataclass(frozen=True, eq=False)
class ArrayRows(Rows):
    """Rows of a dense array.

    Attributes
    ----------
    values : array of shape (n, d)
        float32 or float64: NumPy, or another array-API kind, where it lives.
    """

    values: Any

    @classmethod
    def checked(cls, X: Any, request: RowsRequest) -> ArrayRows:
        """Take an array, frame or list, (n, d) or pictures (n, height, width); NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        """
        if _is_plain(X, request.minimum):
            return cls(X, dtype=X.dtype)
        original, picture_shape = X, None
        if getattr(X, "ndim", 2) == 3:
            picture_shape = (int(X.shape[1]), int(X.shape[2]))
            X = arrays.namespace(X).reshape(X, (X.shape[0], -1))
        if not arrays.is_numpy(X) and array_api_compat.is_array_api_obj(X):
            values = _check_array_api(X, request)
            borrowed = X.dtype == values.dtype
        else:
            _refuse_other_columns(X)
            values = check_by_sklearn(X, request)
            borrowed = _may_share(values, original)
        return cls(values, dtype=arrays.numpy_dtype(values), picture_shape=picture_shape, borrowed=borrowed)

    @cached_property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @cached_property
    def like(self) -> Any:
        return self.values[:0, :0]

    def cut(self, rows: slice, columns: slice) -> Any:
        return self.values[rows, columns]

    def in_memory(self) -> Any:
        return self.values

    def at(self, indices: Any) -> Any:
        return arrays.rows_of(self.values, indices)

    def converted(self, f: Callable[[Any], Any]) -> ArrayRows:
        return replace(self, values=self.map(lambda block: f(block.values)), borrowed=False)

    def shares_memory(self, array: Any) -> bool:
        both = arrays.is_numpy(array) and arrays.is_numpy(self.values)
        return both and np.may_share_memory(array, self.values)


def _may_share(values: npt.NDArray[Any], X: Any) -> bool:
    if isinstance(X, list | tuple):
        return False
    # A converted frame shares memory with none of its columns, an unconverted one with all.
    if hasattr(X, "dtypes"):
        X = np.asarray(X[X.columns[0]])
    return not isinstance(X, np.ndarray) or np.may_share_memory(values, X)


def _is_plain(X: Any, minimum: int) -> bool:
    """Return whether scikit-learn would neither refuse nor convert an array."""
    plain = type(X) is np.ndarray and X.ndim == 2 and (X.dtype == np.float64 or X.dtype == np.float32)
    return plain and len(X) >= minimum and X.shape[1] > 0


def check_by_sklearn(X: Any, request: RowsRequest, accept_sparse: str | bool = False) -> Any:
    """Return ``X`` as float32 or float64, shape (n, d), by scikit-learn's rules and in its words.

    Raises
    ------
    DataError, InputTypeError
    """
    dtype = getattr(X, "dtype", None)
    minimum, estimator = request.minimum, request.estimator
    if _is_plain(X, minimum):
        return X
    if isinstance(dtype, np.dtype):
        if dtype.kind in "mM":
            hint = "Convert them to numbers first."
            raise DataError(f"X holds dates or durations ({dtype}), not numbers.", hint)
        single = dtype in (*arrays.EXACT_IN_FLOAT32, np.float32)
        if np.ma.is_masked(X) and dtype.kind in "fiub":
            X = np.ma.filled(X.astype(np.float32 if single else np.float64), np.nan)
        elif single and dtype != np.float32 and not accept_sparse:
            X = np.asarray(X, dtype=np.float32)
    try:
        rules: Any = {"dtype": [np.float64, np.float32], "ensure_all_finite": False, "input_name": "X"}
        rules |= {"accept_sparse": accept_sparse, "ensure_min_samples": minimum, "estimator": estimator}
        return check_array(X, **rules)
    except TypeError as error:
        if "complex" in str(error):
            why = "Complex data not supported: pass the real and the imaginary part separately."
            raise DataError(why) from error
        if "NAType" in str(error):
            return check_by_sklearn(_without_na(X), request, accept_sparse)
        raise InputTypeError(str(error)) from error
    except (ValueError, OverflowError) as error:
        advice = " Text is not data: drop or encode it first."
        text = "could not convert string" in str(error)
        message = f"{error}.{advice}" if text else str(error)
        if "unique column names" in message:
            message += "\nRename these columns, or pass X.to_numpy()."
        raise DataError(message) from error


def _without_na(X: Any) -> npt.NDArray[Any]:
    """Return objects with NaN in place of pandas.NA, which is no number."""
    values = np.array(X, dtype=object)
    for index, value in np.ndenumerate(values):
        if type(value).__name__ == "NAType":
            values[index] = np.nan
    return values


def _check_array_api(X: Any, request: RowsRequest) -> Any:
    """Return a PyTorch or other array-API array as float32 or float64, shape (n, d), where it lives."""
    xp = arrays.namespace(X)
    if "sparse" in str(getattr(X, "layout", "")):
        hint = "Pass X.to_dense(), or a matrix of scipy.sparse."
        raise InputTypeError("X is a sparse tensor of PyTorch.", hint)
    if X.ndim != 2:
        advice = "Reshape your data: x[:, None] for one feature, x[None, :] for one sample."
        raise DataError(f"Expected a 2-D array of samples by features, got {X.ndim} dimensions.", advice)
    check_by_sklearn(np.broadcast_to(np.float32(0), tuple(X.shape)), request)
    _require_float64(X, xp)
    dtype = arrays.numpy_dtype(X) if "bfloat16" not in str(X.dtype) else np.dtype("f2")
    if dtype.kind == "c":
        hint = "Pass X.real and X.imag separately."
        raise DataError(f"Complex data not supported: X has dtype {X.dtype}.", hint)
    if getattr(X, "requires_grad", False):
        X = X.detach()
    if dtype in (np.dtype("f4"), np.dtype("f8")):
        return X
    return xp.astype(X, xp.float32 if dtype in arrays.EXACT_IN_FLOAT32 else xp.float64)


def _require_float64(X: Any, xp: Any) -> None:
    """Raise for arrays whose certificate would not hold: no float64, or products of reduced precision."""
    if "float64" in str(X.dtype):
        return
    device = array_api_compat.device(X)
    try:
        xp.empty(0, dtype=xp.float64, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        problem = f"X is on {device}, which has no float64, but certificates need float64."
        advice = "Move X to the host (in PyTorch X.cpu()), or to a device that has it, such as one of CUDA."
        raise InputTypeError(problem, advice) from error
    precision = getattr(xp, "get_float32_matmul_precision", lambda: "highest")()
    if precision != "highest":
        why = f"PyTorch is set to multiply float32 with the precision {precision!r}, less than float32 has."
        hint = "Call torch.set_float32_matmul_precision('highest'), or pass X.double()."
        raise DataError(why, hint)


def _refuse_other_columns(X: Any) -> None:
    """Raise a DataError that names the columns of a frame that are not numeric, before a conversion fails."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    entries = {str(name): _other(X, name, dtype) for name, dtype in zip(X.columns, X.dtypes, strict=True)}
    others = [f"{name!r} ({what})" for name, what in entries.items() if what]
    if others:
        drop = (
            "Drop them (X.drop(columns=[...]) in pandas, X.drop([...]) in polars), or convert them to numbers"
        )
        hint = (
            f"{drop} first: a column for each category (pandas.get_dummies, X.to_dummies), days since a date."
        )
        what = counted(len(others), "column holds", "columns hold")
        raise DataError(f"{what} no numbers: {first_few(others)}.", hint)


def _other(X: Any, name: Any, dtype: Any) -> str:
    """Return the kind of a column that is not numeric, or an empty string."""
    kind = str(dtype).lower()
    if kind == "object":
        kinds = {type(value).__name__.lower() for value in X[name]} - {"nonetype", "float", "nattype"}
        kind = next((word for word in sorted(kinds) if word.startswith(_NO_NUMBERS)), "")
    return kind if kind.startswith(_NO_NUMBERS) else ""


# ---- Sparse matrices

# Runs of rows that threads share out, at most, and entries of each, at least.
PIECES, LEAST_ENTRIES = 16, 200_000
SAMPLED_ROWS = 4096  # that show how many entries each column has
ENTRY = 12  # bytes of a number and its column
VECTORS = 8  # of a number for each row and column, needed by any computation with a matrix


@dataclass(frozen=True, eq=False)
class SparseRows(Rows):
    """Rows of a sparse matrix.

    Attributes
    ----------
    values : scipy.sparse CSR matrix of shape (n, d)
        float64 for any input: centring is implicit for sparse data, as ``X v - 1 (m.T v)``, and that
        difference loses digits that float32 does not have to spare.
    single : bool
        Whether columns that are made dense for a matrix of products, and centred, are float32.
    """

    values: Any
    single: bool = False
    skips_zeros: ClassVar[bool] = True

    @classmethod
    def checked(cls, X: Any, request: RowsRequest) -> SparseRows:
        """Take a matrix of any format; NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        MemoryLimitError
            If it has more columns than vectors in memory can have.
        """
        require_lengths(X.shape, "X")
        checked = check_by_sklearn(X, request, accept_sparse="csr")
        values = arrays.as_csr(checked.astype(np.float64, copy=False))
        pairs = [(getattr(values, name), getattr(X, name, None)) for name in ("data", "indices", "indptr")]
        borrowed = any(b is not None and np.may_share_memory(a, b) for a, b in pairs)
        return cls(values, dtype=np.dtype(checked.dtype), borrowed=borrowed)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @property
    def share(self) -> float:
        return self.values.nnz / max(1, self.shape[0] * self.shape[1])  # type: ignore[no-any-return]

    @property
    def sampled(self) -> Any:
        """Some rows, from all parts of the table."""
        return self.values[:: max(1, self.shape[0] // SAMPLED_ROWS)]

    @property
    def block_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.single else np.float64)

    @property
    def in_float32(self) -> SparseRows:
        return replace(self, single=True)

    def take_columns(self, columns: Any) -> Any:
        return self.values[:, columns]

    @property
    def batches(self) -> list[slice]:
        return [slice(*ends) for ends in self._pieces]

    @cached_property
    def _pieces(self) -> dict[tuple[int, int], Any]:
        """What threads share out: runs of rows by their ends, in the memory of the whole matrix."""
        values, (n, _) = self.values, self.shape
        data, indices, indptr = values.data, values.indices, values.indptr
        pieces = max(1, min(PIECES, n, values.nnz // LEAST_ENTRIES))
        result = {}
        for chunk in cut(n, -(-n // pieces)):
            lines = indptr[chunk.start : chunk.stop + 1]
            entries = slice(lines[0], lines[-1])
            contents = (data[entries], indices[entries], lines - lines[0])
            piece = type(values)(contents, shape=(chunk.stop - chunk.start, values.shape[1]))
            result[chunk.start, chunk.stop] = piece
        return result

    def block(self, rows: slice) -> Block:
        values = self._pieces.get((rows.start, rows.stop))
        return Block(rows, self.values[rows, :] if values is None else values, self.weights_of(rows))

    def in_memory(self) -> Any:
        return self.values

    @cached_property
    def _by_column(self) -> Any:
        """The matrix in the order that blocks of columns are cut in."""
        return self.values.tocsc()

    def cut(self, rows: slice, columns: slice) -> Any:
        values = self._by_column if rows == slice(None) else self.block(rows).values
        return values[:, columns].toarray()

    def converted(self, f: Callable[[Any], Any]) -> ArrayRows:
        arrays.require_memory(8 * self.shape[0] * self.shape[1], "The dense form of X", "Give fewer rows")
        return ArrayRows(self.map(lambda block: f(block.values)), **self.facts | {"borrowed": False})

    def require_finite(self, *, holes: bool = False) -> Holes | None:
        # Few numbers may be in many rows: one look at them spares the blocks.
        return None if np.isfinite(self.values.data).all() else super().require_finite(holes=holes)


def require_lengths(shape: tuple[int, int], source: str) -> None:
    """Raise if not even the means of a sparse matrix fit into memory: a short header can claim any shape.

    Raises
    ------
    MemoryLimitError
    """
    what = f"{source} is a sparse matrix of {' x '.join(f'{n:,}' for n in shape)}: a computation"
    advice = "Leave out columns without entries, X[:, np.unique(X.nonzero()[1])]"
    arrays.require_memory(8 * VECTORS * sum(shape), what, advice)


# ---- Frames and arrays of any library, and the names of their rows and columns


def array_rows(X: Any, request: RowsRequest) -> Rows:
    """Return an array, a sparse matrix, a frame or a list as rows, with the names of a frame."""
    if isinstance(X, np.ndarray):
        return ArrayRows.checked(X, request)
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        hint = "Compute them: pass X.collect()."
        raise InputTypeError("X is a LazyFrame, a query whose rows are not computed yet.", hint)
    values = X
    types = list(X.dtypes) if hasattr(X, "iloc") and hasattr(X, "columns") else []
    if types and all(str(dtype).startswith("Sparse[") for dtype in types):  # columns of pandas
        zeros = all(dtype.fill_value == 0 for dtype in types)
        values = X.sparse.to_coo() if zeros else X.sparse.to_dense()
    kind = SparseRows if sparse.issparse(values) else ArrayRows
    return replace(kind.checked(values, request), feature_names=column_names(X), row_names=index_names(X))


def column_names(block: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame as text; None where they only count columns from 0."""
    names = getattr(block, "columns", None)
    if isinstance(names, list):  # of polars
        return tuple(names) if all(isinstance(name, str) for name in names) else None
    return names_in(names)


def names_in(index: Any) -> tuple[str, ...] | None:
    """Return the entries of an index as text; None where they only count from 0, as if nobody gave them."""
    return None if _counts(index) else as_text(index)


def index_names(X: Any) -> IndexNames | None:
    """Return the index of a frame as names of its rows; None where it only counts rows from 0."""
    index = getattr(X, "index", None)  # of a list and of a tuple a method
    return None if _counts(index) else IndexNames(index)


def _counts(index: Any) -> bool:
    """Return whether this is no index, or counts its entries from 0."""
    if not hasattr(index, "dtype"):
        return True
    whole = getattr(index.dtype, "kind", "") in "iu"
    return whole and np.array_equal(arrays.to_numpy(index), np.arange(len(index)))


def as_text(index: Any) -> tuple[str, ...]:
    """Return the entries of an index of pandas as text, as pandas writes them to a CSV.

    Examples
    --------
    >>> import pandas as pd
    >>> as_text(pd.Index([400.0, 402.5])), as_text(pd.to_datetime(["2024-03-02"]))
    (('400.0', '402.5'), ('2024-03-02',))
    """
    times = getattr(index.dtype, "kind", "") in "mM"
    return tuple(map(str, arrays.to_numpy(index.astype(str) if times else index)))


class IndexNames(Sequence[str]):
    """The index of a frame as names of rows, which become text when somebody looks at one.

    Attributes
    ----------
    values : pandas.Index
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    @cached_property
    def _text(self) -> tuple[str, ...]:
        return as_text(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self._text[index]
