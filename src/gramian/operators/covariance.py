"""The covariance side ``C.T C`` of PCA, (d, d): for more rows than columns."""

from __future__ import annotations

from typing import Any

from gramian.operators.centered import CenteredRows
from gramian.operators.scatter import ScatterOperator

__all__ = ["CovarianceOperator"]


class CovarianceOperator(ScatterOperator):
    """The scatter matrix ``C.T C``: eigenvalues are squared singular values of C.

    Parameters
    ----------
    centered : CenteredRows
        The centred data C, (n, d).
    matrix : array of shape (d, d), optional
        The scatter matrix, where the pass that measured the mean has already made it.
    keep : bool
        Whether blocks of C are kept from pass to pass.
    """

    axis = 0

    def __init__(self, centered: CenteredRows, matrix: Any = None, *, keep: bool = False) -> None:
        super().__init__(centered, keep=keep)
        self._matrix = matrix

    def dense(self) -> Any:
        """Return ``C.T C`` as float64."""
        return super().dense() if self._matrix is None else self._matrix
