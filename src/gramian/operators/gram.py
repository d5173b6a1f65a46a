"""The dual side ``C C.T`` of PCA, (n, n): for more columns than rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian.arrays import each_thread, is_numpy, to_dtype, to_float64
from gramian.operators.centered import CenteredRows
from gramian.operators.scatter import ScatterOperator

__all__ = ["GramOperator"]


class GramOperator(ScatterOperator):
    """The Gram matrix ``K = C C.T`` of inner products of centred rows.

    Its non-zero eigenvalues are those of ``C.T C``; an eigenvector b of eigenvalue s^2 lifts to the
    direction ``C.T b / s``.

    Parameters
    ----------
    centered : CenteredRows
        The centred data C, (n, d).
    """

    def __init__(self, centered: CenteredRows) -> None:
        n, d = centered.rows.shape
        super().__init__(centered, size=n, inner=d, block=centered.column_slices()[0].stop)

    def matmat(self, V: Any) -> Any:
        """Return ``C (C.T V)``, reading each block of columns once."""
        C = self.centered
        if C.rows.is_sparse:
            return C.times(C.transposed_times(V))
        slices = C.column_slices()
        V = to_dtype(V, C.arithmetic)
        n, b = V.shape

        def share(draw: Iterator[slice]) -> Any:
            total = np.zeros((n, b)) if is_numpy(V) else 0.0
            scratch = C.scratch(n, slices[0].stop)
            for _, block in C.column_blocks(draw, scratch):
                total += to_float64(block @ (block.T @ V))
            return total

        parts = each_thread(share, slices) if is_numpy(V) else [share(iter(slices))]
        return sum(parts[1:], start=parts[0])

    def dense(self) -> Any:
        """Return ``C C.T`` as float64, accumulated over blocks of columns."""
        C = self.centered
        n = self.size
        slices = C.column_slices(max(16, min(n, 1024)))
        total: Any = 0.0
        scratch = C.scratch(n, slices[0].stop)
        for _, block in C.column_blocks(iter(slices), scratch):
            total = total + to_float64(block @ block.T)
        return total
