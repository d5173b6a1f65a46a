"""The dual side ``C C.T`` of PCA, (n, n): for more columns than rows."""

from __future__ import annotations

from typing import Any

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
        super().__init__(
            centered, size=n, inner=d, block=centered.column_slices(max(16, min(n, 1024)))[0].stop
        )

    def matmat(self, V: Any) -> Any:
        """Return ``C (C.T V)``, reading each block of columns once."""
        C = self.centered
        if C.rows.is_sparse:
            return C.times(C.transposed_times(V))
        return self._apply(V, C.thin_slices(1), lambda part, scratch: C.block(slice(None), part, scratch))

    def _scratch(self, slices: list[slice]) -> Any:
        return self.centered.scratch(self.size, slices[0].stop)

    def dense(self) -> Any:
        """Return ``C C.T`` as float64, accumulated over blocks of columns."""
        C = self.centered
        n = self.size
        slices = C.column_slices(max(16, min(n, 1024)))
        return self._sum_of_products(slices, lambda part, scratch: C.block(slice(None), part, scratch))
