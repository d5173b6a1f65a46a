"""Finds the first NaN or infinite entry and says where it is and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from gramian.arrays import is_numpy, namespace, to_numpy
from gramian.errors import DataError

__all__ = ["require_finite"]

BLOCK = 1 << 20


def require_finite(
    values: Any, feature_names: Sequence[str] | None = None, row_names: Sequence[str] | None = None
) -> None:
    """Raise a DataError naming row and column of the first entry that is NaN or infinite.

    Parameters
    ----------
    values : array of shape (n, d)
        Numbers: NumPy, scipy.sparse CSR or another array-API kind.
    feature_names, row_names : sequence of str or None
        Names to show beside the positions.
    """
    if sparse.issparse(values):
        bad = np.flatnonzero(~np.isfinite(values.data))
        if bad.size:
            row = int(np.searchsorted(values.indptr, bad[0], side="right")) - 1
            _refuse(
                values.data[bad[0]],
                row,
                int(values.indices[bad[0]]),
                bad.size,
                feature_names,
                row_names,
            )
        return
    if is_numpy(values) and values.dtype.kind in "biu":
        return
    xp = namespace(values)
    n, d = values.shape
    size = max(1, BLOCK // max(1, d))
    for start in range(0, n, size):
        block = values[start : min(n, start + size), :]
        # One sum decides for nearly all data; a sum can overflow, so only the entries can refuse.
        with np.errstate(over="ignore", invalid="ignore"):
            if bool(xp.isfinite(xp.sum(block))):
                continue
        wrong = ~np.isfinite(to_numpy(block))
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            found = to_numpy(block)[row, column]
            count = sum(
                int((~np.isfinite(to_numpy(values[s : min(n, s + size), :]))).sum())
                for s in range(start, n, size)
            )
            _refuse(found, start + row, column, count, feature_names, row_names)


def _refuse(
    value: Any,
    row: int,
    column: int,
    count: int,
    feature_names: Sequence[str] | None,
    row_names: Sequence[str] | None,
) -> None:
    what = "NaN" if np.isnan(value) else "inf (infinity)"
    row_text = f"row {row}" + (f" ({row_names[row]})" if row_names else "")
    column_text = f"column {column}" + (f" ({feature_names[column]!r})" if feature_names else "")
    total = f" ({count} such values in total)" if count > 1 else ""
    way_out = (
        'Fill it (sklearn.impute.SimpleImputer), or read the file with missing="mean", "drop-rows" or '
        '"drop-columns" (--missing on the command line).'
        if np.isnan(value)
        else "Replace it by a finite number or leave the row out."
    )
    raise DataError(f"Input X contains {what}: {row_text}, {column_text}{total}. {way_out}")
