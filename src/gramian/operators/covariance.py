"""The covariance side ``C.T C`` of PCA, (d, d): for more rows than columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian.arrays import each_thread, is_numpy, to_dtype, to_float64
from gramian.operators.centered import CenteredRows
from gramian.operators.scatter import ScatterOperator
from gramian.records import FloatArray

__all__ = ["CovarianceOperator"]


class CovarianceOperator(ScatterOperator):
    """The scatter matrix ``C.T C``: eigenvalues are squared singular values of C.

    Parameters
    ----------
    centered : CenteredRows
        The centred data C, (n, d).
    matrix : ndarray of shape (d, d), optional
        The scatter matrix, where the pass that measured the mean has already made it.
    """

    def __init__(self, centered: CenteredRows, matrix: FloatArray | None = None) -> None:
        n, d = centered.rows.shape
        super().__init__(centered, size=d, inner=n, block=centered.row_slices(64)[0].stop)
        self._matrix = matrix

    def matmat(self, V: Any) -> Any:
        """Return ``C.T (C V)``, reading each block of rows once."""
        C = self.centered
        if C.rows.is_sparse:
            return C.transposed_times(C.times(V))
        slices = C.row_slices(64)
        V = to_dtype(V, C.arithmetic)
        d, b = V.shape

        def share(draw: Iterator[slice]) -> Any:
            total = np.zeros((d, b)) if is_numpy(V) else 0.0
            scratch = C.scratch(slices[0].stop, d)
            for _, block in C.row_blocks(draw, scratch):
                total += to_float64(block.T @ (block @ V))
            return total

        parts = each_thread(share, slices) if is_numpy(V) else [share(iter(slices))]
        return sum(parts[1:], start=parts[0])

    def dense(self) -> Any:
        """Return ``C.T C`` as float64, accumulated over blocks of rows."""
        if self._matrix is not None:
            return self._matrix
        C = self.centered
        d = self.size
        slices = C.row_slices(max(64, min(4 * d, 4096)))

        def share(draw: Iterator[slice]) -> Any:
            total: Any = 0.0
            scratch = C.scratch(slices[0].stop, d)
            for _, block in C.row_blocks(draw, scratch):
                total = total + to_float64(block.T @ block)
            return total

        parts = each_thread(share, slices) if d <= 1024 and C.scratch(1, 1) is not None else [share(iter(slices))]
        return sum(parts[1:], start=parts[0])
