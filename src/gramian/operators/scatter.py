"""What the covariance and the dual Gram matrix share: rounding bounds of blocked products with C."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian.arrays import (
    THIN,
    each_thread,
    from_numpy,
    is_numpy,
    thin_chunks,
    to_dtype,
    to_float64,
)
from gramian.operators.centered import CenteredRows
from gramian.records import BoundKind

__all__ = ["CONFIDENCE", "ScatterOperator", "product_error"]

# Width, in standard deviations, of the probabilistic rounding bound.
CONFIDENCE = 6.0
# Order up to which every worker may hold a matrix of its own to add up in.
SHARED = 3000


class ScatterOperator(ABC):
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
        How many terms :meth:`dense` sums in the data's own precision before the sum moves to float64.
    """

    psd = True

    def __init__(self, centered: CenteredRows, size: int, inner: int, block: int) -> None:
        self.centered = centered
        self.size = size
        like = centered.rows.like
        self.like = from_numpy(np.empty(0), like)
        self.error_bound, self.error_kind = product_error(centered, inner, THIN)
        self.dense_error, _ = product_error(centered, inner, block)
        self.noise = centered.noise
        self.relative_tolerance = product_tolerance(centered.rows.shape, centered.unit_roundoff, block)

    @abstractmethod
    def _scratch(self, slices: list[slice]) -> Any:
        """Memory for one block that belongs to one of the slices."""

    def trace(self) -> float:
        """Return the sum of squares of C."""
        return self.centered.total

    def frobenius(self) -> None:
        """Return None: the norm costs as much as the matrix."""
        return

    def _apply(self, V: Any, slices: list[slice], transposed_block: Callable[[slice, Any], Any]) -> Any:
        """Return the sum over all blocks B of ``B (B.T V)``, each block formed once.

        ``transposed_block(part, scratch)`` returns B with the operator's order as its first dimension.
        """
        V = to_dtype(V, self.centered.arithmetic)
        if not is_numpy(V):
            total: Any = 0.0
            for part in slices:
                B = transposed_block(part, None)
                total = total + to_float64(B @ (B.T @ V))
            return total
        chunks = thin_chunks(V)

        def share(draw: Iterator[slice]) -> list[Any]:
            totals = [np.zeros(chunk.shape) for chunk in chunks]
            scratch = self._scratch(slices)
            for part in draw:
                _add_outer(transposed_block(part, scratch), chunks, totals)
            return totals

        parts = each_thread(share, slices)
        return np.concatenate([sum(part[c] for part in parts) for c in range(len(chunks))], axis=1)

    def _sum_of_products(self, slices: list[slice], transposed_block: Callable[[slice, Any], Any]) -> Any:
        """Return the sum over all blocks B of ``B B.T``, float64."""

        def share(draw: Iterator[slice]) -> Any:
            total: Any = 0.0
            scratch = self._scratch(slices)
            for part in draw:
                B = transposed_block(part, scratch)
                product = B @ B.T  # NumPy recognises this and computes one triangle only
                total = to_float64(product) if isinstance(total, float) else _add(total, product)
            return total

        shared = is_numpy(self.like) and self.size <= SHARED
        parts = each_thread(share, slices) if shared else [share(iter(slices))]
        return sum(parts[1:], start=parts[0])


def _add(total: Any, part: Any) -> Any:
    return np.add(total, part, out=total) if is_numpy(total) else total + to_float64(part)


def _add_outer(B: Any, chunks: list[Any], totals: list[Any]) -> None:
    """Add ``B (B.T V)`` to the totals, in pieces small enough for OpenBLAS's fast path."""
    pieces = [slice(start, start + THIN) for start in range(0, B.shape[0], THIN)]
    for V, total in zip(chunks, totals, strict=True):
        inner = B[pieces[0]].T @ V[pieces[0]]
        for piece in pieces[1:]:
            inner += B[piece].T @ V[piece]
        for piece in pieces:
            total[piece] += B[piece] @ inner


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
