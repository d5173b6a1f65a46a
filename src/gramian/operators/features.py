"""Functions of a row, summed over all rows: their means and products, block by block and never stored.

Kernel values with landmarks and random features both are such functions; what is found out about them is a
matrix of their number, however many rows there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import THIN, alike, as_float64, each_thread, to_numpy
from gramian.checks import slices
from gramian.kernels import Evaluator
from gramian.operators.costs import workers_of
from gramian.operators.scatter import CONFIDENCE
from gramian.records import FloatArray
from gramian.rows import Rows

BLOCK = 1024  # rows whose products are made in the data's own precision before they are added in float64
COLUMNS = 4 * THIN
# From rows and memory for what comes, (b, m), to kernel values or features of the rows.
Functions = Callable[[Any, Any], None]


@dataclass(frozen=True, eq=False)
class KernelValues:
    """k(x, l) for some nodes l, as functions of x.

    Parameters
    ----------
    evaluator : Evaluator
        The kernel, bound to the nodes.
    nodes : array or sparse matrix of shape (m, d)
    factor : float
        Multiplies the values: a power of two.
    rough : bool
        Whether float32 will do, where the kernel has it.
    """

    evaluator: Evaluator
    nodes: Any
    factor: float = 1.0
    rough: bool = False

    @cached_property
    def _right(self) -> Any:
        right = self.evaluator.encode(self.nodes)[1]
        return right.astype(np.float32) if self.rough and self.evaluator.single is not None else right

    def __call__(self, X: Any, out: npt.NDArray[Any]) -> None:
        """Write the values of rows (b, d) into ``out`` of shape (b, m)."""
        left, right = self.evaluator.encode(alike(X, self.nodes))[0], self._right
        if self.rough and self.evaluator.single is not None:
            left = left.astype(np.float32)
        scratch = np.empty((THIN, COLUMNS), left.dtype)
        for rows in slices(left.shape[0], THIN):
            for columns in slices(right.shape[0], COLUMNS):
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = scratch if shape == scratch.shape else None
                found = self.evaluator.tile(left[rows], right[columns], tile)
                out[rows, columns] = found if self.factor == 1.0 else found * self.factor


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Sums over rows of m functions f and of their products, about a fixed point.

    Sums about the same point add up, so that rows may come in parts.

    Attributes
    ----------
    count : int
        Number of rows.
    shift : ndarray of shape (m,)
        Subtracted from every f(x); near their mean, so that little cancels.
    first : ndarray of shape (m,)
        Sum of ``f(x) - shift``.
    second : ndarray of shape (m, m)
        Sum of ``(f(x) - shift) (f(x) - shift).T``.
    diagonal : float
        Sum of k(x, x).
    single : bool
        Whether products were made in float32.
    """

    count: int
    shift: FloatArray
    first: FloatArray
    second: FloatArray
    diagonal: float
    single: bool

    def __add__(self, other: FeatureSums) -> FeatureSums:
        return FeatureSums(
            self.count + other.count,
            self.shift,
            self.first + other.first,
            self.second + other.second,
            self.diagonal + other.diagonal,
            self.single or other.single,
        )

    @property
    def mean(self) -> FloatArray:
        """Mean of f."""
        return self.shift + self.first / self.count

    @property
    def squares(self) -> FloatArray:
        """Sum of ``f(x) f(x).T``, shape (m, m)."""
        cross = np.outer(self.first, self.shift)
        return self.second + cross + cross.T + self.count * np.outer(self.shift, self.shift)

    @property
    def scatter(self) -> FloatArray:
        """Sum of ``(f(x) - mean) (f(x) - mean).T``, shape (m, m)."""
        return self.second - np.outer(self.first, self.first / self.count)

    def rounding(self) -> float:
        """Bound, in float32 an estimate, on the spectral norm of the error of the sums of products."""
        total = float(np.trace(self.second))
        unit = float(np.finfo(np.float32 if self.single else np.float64).eps) / 2
        block = min(BLOCK, self.count)
        if self.single:
            return rounding_of_single(self.count, total)
        return (block + self.count / block + 6) * unit * total


def rounding_of_single(count: int, total: float) -> float:
    """Estimate the error of a sum of products in float32 over blocks, as in ``operators.scatter``."""
    block = min(BLOCK, count)
    return CONFIDENCE * float(np.finfo(np.float32).eps) / 2 * block / math.sqrt(count) * total


def feature_sums(
    rows: Rows, functions: Functions, shift: FloatArray, diagonal: Callable[[Any], Any], *, single: bool
) -> FeatureSums:
    """Sum functions and their products over all rows, in one pass.

    Parameters
    ----------
    rows : Rows
    functions : callable
        Writes the values of a block into memory that it is given.
    shift : ndarray of shape (m,)
    diagonal : callable
        From rows to k(x, x).
    single : bool
        Whether values are rounded to float32 and multiplied so.
    """
    n, m = rows.shape[0], len(shift)
    dtype = np.dtype(np.float32 if single else np.float64)

    def share(draw: Iterator[slice]) -> tuple[FloatArray, FloatArray, list[tuple[int, float]]]:
        first, second, traces = np.zeros(m), np.zeros((m, m)), []
        values, product = np.empty((min(BLOCK, n), m), dtype), np.empty((m, m), dtype)
        for part in draw:
            X = numpy_rows(rows.block(part).values)
            block = values[: part.stop - part.start]
            functions(X, block)
            block -= shift.astype(dtype)
            first += np.ones(len(block), dtype) @ block
            np.matmul(block.T, block, out=product)  # NumPy computes one triangle only
            second += product
            traces.append((part.start, float(np.sum(as_float64(diagonal(X))))))
        return first, second, traces

    parts, workers = slices(n, BLOCK), workers_of(m * m * dtype.itemsize)
    found = each_thread(share, parts, most=workers) if workers > 1 else [share(iter(parts))]
    first, second, _ = found[0]
    for other in found[1:]:
        first += other[0]
        second += other[1]
    trace = sum(value for _, value in sorted(trace for part in found for trace in part[2]))
    # What was subtracted is a number of the arithmetic.
    return FeatureSums(n, as_float64(shift.astype(dtype)), first, second, trace, single)


def numpy_rows(values: Any) -> Any:
    """Return rows as NumPy's, or sparse."""
    return values if hasattr(values, "tocsr") else to_numpy(values)
