"""The covariance side ``C.T C`` of PCA, (d, d): for more rows than columns."""

from __future__ import annotations

from typing import Any

from gramian.operators.centered import CenteredRows, least_rows
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
        super().__init__(centered, size=d, inner=n, block=centered.row_slices(least_rows(d))[0].stop)
        self._matrix = matrix

    def matmat(self, V: Any) -> Any:
        """Return ``C.T (C V)``, reading each block of rows once."""
        C = self.centered
        if C.rows.is_sparse:
            return C.transposed_times(C.times(V))
        return self._apply(V, C.thin_slices(0), lambda part, scratch: C.block(part, slice(None), scratch).T)

    def _scratch(self, slices: list[slice]) -> Any:
        return self.centered.scratch(slices[0].stop, self.size)

    def dense(self) -> Any:
        """Return ``C.T C`` as float64, accumulated over blocks of rows."""
        if self._matrix is not None:
            return self._matrix
        C = self.centered
        slices = C.row_slices(least_rows(self.size))
        return self._sum_of_products(slices, lambda part, scratch: C.block(part, slice(None), scratch).T)
