"""Dense arrays in memory or on a device: NumPy, frames and lists, and other array-API kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from gramian.arrays import EXACT_IN_FLOAT32, is_numpy, namespace, numpy_dtype, rows_of
from gramian.checks import counted, first_few
from gramian.data.rows import Rows
from gramian.data.table import RowsRequest
from gramian.errors import DataError, InputTypeError, by_surface

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
        original, picture_shape = X, None
        if getattr(X, "ndim", 2) == 3:
            picture_shape = (int(X.shape[1]), int(X.shape[2]))
            X = X.reshape(X.shape[0], -1) if is_numpy(X) else namespace(X).reshape(X, (X.shape[0], -1))
        if not is_numpy(X) and array_api_compat.is_array_api_obj(X):
            values = _check_array_api(X, request)
            borrowed = X.dtype == values.dtype
        else:
            _refuse_other_columns(X)
            values = check_by_sklearn(X, request)
            borrowed = _may_share(values, original)
        return cls(values, dtype=numpy_dtype(values), picture_shape=picture_shape, borrowed=borrowed)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @property
    def like(self) -> Any:
        return self.values[:0, :0]

    def cut(self, rows: slice, columns: slice) -> Any:
        return self.values[rows, columns]

    def in_memory(self) -> Any:
        return self.values

    def at(self, places: Any) -> Any:
        return rows_of(self.values, places)

    def converted(self, f: Callable[[Any], Any]) -> ArrayRows:
        return replace(self, values=self.map(lambda block: f(block.values)), borrowed=False)

    def shares_memory(self, array: Any) -> bool:
        both = is_numpy(array) and is_numpy(self.values)
        return both and np.may_share_memory(array, self.values)

    def owned(self) -> Any:
        if not self.borrowed:
            return self.values
        return np.array(self.values) if is_numpy(self.values) else self.xp.asarray(self.values, copy=True)


def _may_share(values: npt.NDArray[Any], X: Any) -> bool:
    if isinstance(X, list | tuple):
        return False
    # A converted frame shares memory with none of its columns, an unconverted one with all.
    if hasattr(X, "dtypes"):
        X = np.asarray(X[X.columns[0]])
    return not isinstance(X, np.ndarray) or np.may_share_memory(values, X)


def check_by_sklearn(X: Any, request: RowsRequest, accept_sparse: str | bool = False) -> Any:
    """Return ``X`` as float32 or float64, shape (n, d), by scikit-learn's rules and in its words.

    Raises
    ------
    DataError, InputTypeError
    """
    dtype = getattr(X, "dtype", None)
    minimum, estimator = request.minimum, request.estimator
    plain = type(X) is np.ndarray and X.ndim == 2 and (dtype == np.float64 or dtype == np.float32)
    if plain and len(X) >= minimum and X.shape[1]:
        return X  # nothing that scikit-learn would refuse or convert
    if isinstance(dtype, np.dtype):
        if dtype.kind in "mM":
            raise DataError(
                f"X holds dates or durations ({dtype}), not numbers.", "Convert them to numbers first."
            )
        single = dtype in (*EXACT_IN_FLOAT32, np.float32)
        if np.ma.is_masked(X) and dtype.kind in "fiub":
            X = np.ma.filled(X.astype(np.float32 if single else np.float64), np.nan)
        elif single and dtype != np.float32 and not accept_sparse:
            X = np.asarray(X, dtype=np.float32)
    try:
        return check_array(
            X,
            accept_sparse=accept_sparse,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=minimum,
            estimator=estimator,
            input_name="X",
        )
    except TypeError as error:
        if "complex" in str(error):
            raise DataError(
                "Complex data not supported: pass the real and the imaginary part separately."
            ) from error
        if "NAType" in str(error):
            return check_by_sklearn(_without_na(X), request, accept_sparse)
        raise InputTypeError(str(error)) from error
    except (ValueError, OverflowError) as error:
        advice = " Text is not data: drop or encode it first."
        text = "could not convert string" in str(error)
        few = (
            f"There are too few rows: {estimator} needs at least {minimum}."
            if "minimum of" in str(error)
            else None
        )
        said = f"{error}.{advice}" if text else str(error)
        if "unique column names" in said:
            said += "\nRename these columns, or pass X.to_numpy()."
        raise DataError(by_surface(said, few or said)) from error


def _without_na(X: Any) -> npt.NDArray[Any]:
    """Return objects with NaN in place of pandas.NA, which is no number."""
    values = np.array(X, dtype=object)
    for place, value in np.ndenumerate(values):
        if type(value).__name__ == "NAType":
            values[place] = np.nan
    return values


def _check_array_api(X: Any, request: RowsRequest) -> Any:
    """Return a PyTorch or other array-API array as float32 or float64, shape (n, d), where it lives."""
    xp = namespace(X)
    if "sparse" in str(getattr(X, "layout", "")):
        raise InputTypeError(
            "X is a sparse tensor of PyTorch.", "Pass X.to_dense(), or a matrix of scipy.sparse."
        )
    if X.ndim != 2:
        raise DataError(
            f"Expected a 2-D array of samples by features, got {X.ndim} dimensions.",
            "Reshape your data: x[:, None] for one feature, x[None, :] for one sample.",
        )
    check_by_sklearn(np.broadcast_to(np.float32(0), tuple(X.shape)), request)
    _require_float64(X, xp)
    dtype = numpy_dtype(X) if "bfloat16" not in str(X.dtype) else np.dtype("f2")
    if dtype.kind == "c":
        raise DataError(
            f"Complex data not supported: X has dtype {X.dtype}.", "Pass X.real and X.imag separately."
        )
    if getattr(X, "requires_grad", False):
        X = X.detach()
    if dtype in (np.dtype("f4"), np.dtype("f8")):
        return X
    return xp.astype(X, xp.float32 if dtype in EXACT_IN_FLOAT32 else xp.float64)


def _require_float64(X: Any, xp: Any) -> None:
    """Raise for arrays whose certificate would not hold: no float64, or products of reduced precision."""
    if "float64" in str(X.dtype):
        return
    device = array_api_compat.device(X)
    try:
        xp.empty(0, dtype=xp.float64, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(
            f"X is on {device}, which has no float64, but certificates need float64.",
            "Move X to the host (in PyTorch X.cpu()), or to a device that has it, such as one of CUDA.",
        ) from error
    precision = getattr(xp, "get_float32_matmul_precision", lambda: "highest")()
    if precision != "highest":
        raise DataError(
            f"PyTorch is set to multiply float32 with the precision {precision!r}, less than float32 has.",
            "Call torch.set_float32_matmul_precision('highest'), or pass X.double().",
        )


def _refuse_other_columns(X: Any) -> None:
    """Raise a DataError that names the columns of a frame that are not numeric, before a conversion fails."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    entries = {str(name): _other(X, name, dtype) for name, dtype in zip(X.columns, X.dtypes, strict=True)}
    others = [f"{name!r} ({what})" for name, what in entries.items() if what]
    if others:
        raise DataError(
            f"{counted(len(others), 'column holds', 'columns hold')} no numbers: {first_few(others)}.",
            "Drop them (X.drop(columns=[...]) in pandas, X.drop([...]) in polars), or convert them to "
            "numbers first: a column for each category (pandas.get_dummies, X.to_dummies), days since a "
            "date.",
        )


def _other(X: Any, name: Any, dtype: Any) -> str:
    """Return the kind of a column that is not numeric, or an empty string."""
    kind = str(dtype).lower()
    if kind == "object":
        kinds = {type(value).__name__.lower() for value in X[name]} - {"nonetype", "float", "nattype"}
        kind = next((one for one in sorted(kinds) if one.startswith(_NO_NUMBERS)), "")
    return kind if kind.startswith(_NO_NUMBERS) else ""
