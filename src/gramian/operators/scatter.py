"""What the covariance and the dual Gram matrix share: rounding bounds of blocked products with C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gramian.arrays import from_numpy
from gramian.operators.centered import CenteredRows
from gramian.records import BoundKind

__all__ = ["CONFIDENCE", "ScatterOperator", "product_error"]

# Width, in standard deviations, of the probabilistic rounding bound.
CONFIDENCE = 6.0


class ScatterOperator:
    """Common part of ``C.T C`` and ``C C.T``: two sides of one centred data matrix.

    Parameters
    ----------
    centered : CenteredRows
        The centred data C.
    size : int
        Order of the operator, d or n.
    inner : int
        Length of the sums that make one entry, n or d.
    block : int
        How many terms are summed in the data's own precision before the sum moves to float64.
    """

    psd = True

    def __init__(self, centered: CenteredRows, size: int, inner: int, block: int) -> None:
        self.centered = centered
        self.size = size
        like = centered.rows.like
        self.like = from_numpy(np.empty(0), like)
        self.error_bound, self.error_kind = product_error(centered, inner, block)
        self.noise = centered.noise
        self.relative_tolerance = product_tolerance(centered.rows.shape, centered.unit_roundoff, block)

    def trace(self) -> float:
        """Return the sum of squares of C."""
        return self.centered.total

    def frobenius(self) -> None:
        """Return None: the norm costs as much as the matrix."""
        return


def product_error(centered: CenteredRows, inner: int, block: int) -> tuple[float, BoundKind]:
    """Bound ``||computed - exact||_2`` for a product of C with its transpose.

    In float64 the worst case over all roundings is small enough to be used. In float32 sums of at most
    ``block`` terms are rounded; their errors are taken as independent and centred, so that they grow with
    the square root and average out over the blocks.

    References
    ----------
    Higham and Mary (2019), A new approach to probabilistic rounding error analysis, theorem 3.1.
    """
    unit = centered.unit_roundoff
    block = min(block, inner)
    worst = (inner + 3) * unit if unit < 1e-12 else (block + 3) * unit
    if unit < 1e-12:
        return worst * centered.total, "deterministic"
    likely = CONFIDENCE * unit * (math.sqrt(block) * math.sqrt(block / inner) + 1.0)
    if worst <= likely:
        return worst * centered.total, "deterministic"
    return likely * centered.total, "probabilistic"


def product_tolerance(shape: tuple[int, int], unit: float, block: int) -> float:
    """Relative size below which an eigenvalue of a product is rounding.

    ``max(n, d) eps`` in float64. In float32 only ``block`` terms meet in that precision, so the longer
    dimension does not count: ``sqrt(block) eps``.
    """
    eps = 2 * unit
    if unit < 1e-12:
        return max(shape) * eps
    return math.sqrt(min(block, max(shape))) * eps
