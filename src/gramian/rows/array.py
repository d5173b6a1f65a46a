"""Checks on NumPy arrays, frames and other dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from gramian.arrays import namespace, numpy_dtype
from gramian.errors import DataError, InputTypeError

__all__ = ["check_array_api", "check_numpy"]

# float32 has a 24-bit significand: every 8- and 16-bit integer and every float16 is exact in it.
EXACT_IN_FLOAT32 = tuple(np.dtype(t) for t in ("i1", "u1", "i2", "u2", "f2"))


def check_numpy(X: Any, estimator: str, minimum: int) -> npt.NDArray[Any]:
    """Return ``X`` as a float32 or float64 NumPy array of shape (n, d), not yet searched for NaN."""
    _refuse_text_columns(X)
    dtype = getattr(X, "dtype", None)
    if np.ma.is_masked(X):
        raise DataError(
            f"X is a masked array with {int(np.ma.getmaskarray(X).sum())} masked entries: missing values. "
            "Fill them (X.filled(...), sklearn.impute.SimpleImputer) or leave their rows out."
        )
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        raise DataError(f"X holds dates or durations ({dtype}), not numbers. Convert them to numbers first.")
    if isinstance(dtype, np.dtype) and dtype in EXACT_IN_FLOAT32:
        X = np.asarray(X, dtype=np.float32)
    try:
        checked = check_array(
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=minimum,
            estimator=estimator,
            input_name="X",
        )
    except TypeError as error:
        if "complex" in str(error):
            raise DataError(
                "Complex data not supported: pass the real and the imaginary part apart."
            ) from error
        raise InputTypeError(str(error)) from error
    except ValueError as error:
        text = "could not convert string" in str(error)
        raise DataError(
            f"{error}. Text is not data: drop or encode it first." if text else str(error)
        ) from error
    return np.asarray(checked)


def check_array_api(X: Any, estimator: str, minimum: int) -> Any:
    """Return a PyTorch or other array-API array as float32 or float64, shape (n, d), where it lives."""
    xp = namespace(X)
    if X.ndim != 2:
        raise DataError(
            f"Expected a 2-D array of samples by features, got {X.ndim} dimensions. "
            "Reshape your data: x[:, None] for one feature, x[None, :] for one sample."
        )
    n, d = X.shape
    if n < minimum:
        raise DataError(
            f"Found array with {n} sample(s) (shape={tuple(X.shape)}) while a minimum of {minimum} "
            f"is required by {estimator}."
        )
    if d == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required "
            f"by {estimator}."
        )
    dtype = numpy_dtype(X) if "bfloat16" not in str(X.dtype) else np.dtype("f2")
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: X has dtype {X.dtype}. Pass X.real and X.imag apart.")
    if getattr(X, "requires_grad", False):
        X = X.detach()
    if dtype in (np.dtype("f4"), np.dtype("f8")):
        return X
    return xp.astype(X, xp.float32 if dtype in EXACT_IN_FLOAT32 else xp.float64)


def _refuse_text_columns(X: Any) -> None:
    """Name the text columns of a frame, before a conversion fails on the first cell of one."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    text = [str(name) for name, dtype in zip(X.columns, X.dtypes, strict=True) if _is_text(X, name, dtype)]
    if text:
        shown = ", ".join(repr(name) for name in text[:8])
        more = f" and {len(text) - 8} more" if len(text) > 8 else ""
        raise DataError(
            f"{len(text)} column(s) hold text, not numbers: {shown}{more}. "
            f"Drop them (X.drop(columns=[...]) in pandas, X.drop([...]) in polars) or encode them first."
        )


def _is_text(X: Any, name: Any, dtype: Any) -> bool:
    kind = str(dtype).lower()
    if kind.startswith(("str", "category", "categorical", "enum", "datetime", "date", "time", "duration")):
        return True
    if kind == "object":
        return any(isinstance(value, str) for value in X[name])
    return False
