"""Checks on scipy.sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from gramian.errors import DataError, InputTypeError

__all__ = ["check_sparse"]


def check_sparse(X: Any, estimator: str, minimum: int) -> tuple[Any, np.dtype[Any]]:
    """Return ``X`` as float64 CSR, and the dtype that results are returned in.

    The arithmetic is float64 whatever came in: centring is implicit for sparse data, as
    ``X v - 1 (m.T v)``, and that difference loses digits that float32 does not have to spare.
    """
    try:
        checked = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=minimum,
            estimator=estimator,
            input_name="X",
        )
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(str(error)) from error
    return checked.astype(np.float64, copy=False), np.dtype(checked.dtype)
