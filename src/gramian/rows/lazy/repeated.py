"""A few rows again and again, in place of a table whose size alone matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.rows.lazy.array import LazyArray, bytes_of_rows


class RepeatedRows(LazyArray):
    """Rows in memory that stand for a table on disk.

    Parameters
    ----------
    values : ndarray
        The table's first rows, or columns.
    count : int
        How many rows, or columns, the table has.
    axis : {0, 1}
        0 repeats rows, 1 columns.
    source : str
        The name of the table in messages.

    Examples
    --------
    >>> RepeatedRows(np.array([[1.0], [2.0]]), 5, 0)[3:5].tolist()
    [[2.0], [1.0]]
    """

    reads_columns = True

    def __init__(self, values: npt.NDArray[Any], count: int, axis: int, source: str = "") -> None:
        self._values, self.source = values, source
        n, d = values.shape
        self.shape = (n, count) if axis else (count, d)
        self.dtype, self.finite = values.dtype, True

    def cut(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        (n, d), across = self._values.shape, np.arange(columns.start, columns.stop)
        down = np.arange(rows.start, rows.stop)
        result: npt.NDArray[Any] = self._values[np.ix_(down % n, across % d)]
        return result


def repeated(values: npt.NDArray[Any], count: int, axis: int, most: int, source: str) -> Any:
    """Return rows, or columns, again and again: in memory up to so many bytes."""
    lazy = RepeatedRows(values, count, axis, source)
    if bytes_of_rows(lazy.shape, lazy.dtype) > most:
        return lazy
    if values.shape == lazy.shape:
        return values
    return lazy[:] if axis else np.resize(values, lazy.shape)  # which copies all rows together
