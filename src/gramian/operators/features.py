"""Functions of a row, summed over all rows: their means and products, block by block and never stored.

Kernel values with landmarks and random features both are such functions; what is found out about them is a
matrix of their number, however many rows there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.arrays import (
    THIN,
    alike,
    as_float64,
    each_thread,
    from_numpy,
    is_numpy,
    long_product,
    to_dtype,
    to_numpy,
)
from gramian.checks import evenly, slices
from gramian.kernels import Evaluator
from gramian.operators.costs import workers_of
from gramian.operators.moments import merge_moments
from gramian.operators.scatter import CONFIDENCE
from gramian.records import FloatArray, Moments
from gramian.rows import Rows
from gramian.rows.kinds.device import device_blocks
from gramian.rows.weights import true_weights

BLOCK = 1024  # rows whose products are made in the data's own precision before they are added in float64
COLUMNS = 4 * THIN
NEAR_MEAN = 64  # rows whose values are subtracted, on average, before products are summed
MERGED = 8  # bounds the roundings of an entry when two parts become one
# From rows and memory for what comes, (b, m), to kernel values or features of the rows.
Functions = Callable[[Any, Any], None]
# From an array on a device to what finds, of rows there, the same values and k(x, x).
OnDevice = Callable[[Any], Callable[[Any], tuple[Any, Any]]]


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
        return self._rounded(right)

    def _rounded(self, factor: Any) -> Any:
        single = self.rough and self.evaluator.single is not None
        return to_dtype(factor, np.dtype(np.float32)) if single else factor

    def __call__(self, X: Any, out: npt.NDArray[Any]) -> None:
        """Write the values of rows (b, d), of the nodes' kind, into ``out`` of shape (b, m)."""
        left, right = self._rounded(self.evaluator.encode(alike(X, self.nodes))[0]), self._right
        if not (is_numpy(left) or sparse.issparse(left)):
            out[...] = to_numpy(self.evaluator.tile(left, right)) * self.factor
            return
        scratch = np.empty((THIN, COLUMNS), left.dtype)
        for rows in slices(left.shape[0], THIN):
            for columns in slices(right.shape[0], COLUMNS):
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = scratch if shape == scratch.shape else None
                result = self.evaluator.tile(left[rows], right[columns], tile)
                out[rows, columns] = result if self.factor == 1.0 else result * self.factor


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """What is kept of rows: moments of functions f of a row, and the sum of k(x, x).

    Attributes
    ----------
    moments : Moments
        Of f; ``squares`` has shape (m, m).
    diagonal : float
        Sum of k(x, x).
    rounding : float
        Bound, in float32 an estimate, on the spectral norm of the error of the sums of products.
    single : bool
        Whether products were made in float32.
    """

    moments: Moments
    diagonal: float
    rounding: float
    single: bool

    def merged(self, other: FeatureSums) -> FeatureSums:
        """Return the sums over the rows of both."""
        moments = merge_moments(self.moments, other.moments)
        parts = self.rounding, other.rounding
        # Errors of float32 are taken as independent.
        rounding = math.hypot(*parts) if self.single else sum(parts)
        rounding += MERGED * float(np.finfo(np.float64).eps) * float(np.trace(moments.squares))
        return FeatureSums(moments, self.diagonal + other.diagonal, rounding, self.single)

    @property
    def count(self) -> int:
        """Number of rows, or the sum of their weights."""
        return math.ceil(self.moments.count)

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows."""
        return self.moments.count

    @property
    def mean(self) -> FloatArray:
        """Mean of f."""
        return self.moments.mean + self.moments.rest

    @property
    def squares(self) -> FloatArray:
        """Sum of ``f(x) f(x).T``, shape (m, m)."""
        return self.moments.squares + self.weight * np.outer(self.mean, self.mean)


def rounding_of_single(count: int, total: float) -> float:
    """Estimate the error of a sum of products in float32 over blocks, as in ``operators.scatter``."""
    block = min(BLOCK, count)
    return CONFIDENCE * float(np.finfo(np.float32).eps) / 2 * block / math.sqrt(count) * total


def feature_sums(
    rows: Rows,
    functions: Functions,
    m: int,
    diagonal: Callable[[Any], Any],
    on_device: OnDevice,
    *,
    single: bool,
) -> FeatureSums:
    """Sum m functions and their products over all rows, in one pass.

    Parameters
    ----------
    rows : Rows
    functions : callable
        Writes the values of a block into memory that it is given.
    m : int
    diagonal : callable
        From rows to k(x, x).
    on_device : callable
        Returns the same for rows like an array on a device.
    single : bool
        Whether values are rounded to float32 and multiplied so; those of weighted rows never are.
    """
    single = single and rows.weights is None
    if rows.weight_exponent:  # sums over batches are merged in one unit
        rows = replace(rows, weights=true_weights(rows), weight_exponent=0)
    dtype = np.dtype(np.float32 if single else np.float64)
    # Near the mean of all rows, so that little cancels; what is subtracted is a number of the arithmetic.
    some = numpy_rows(rows.at_home.at(evenly(rows.shape[0], NEAR_MEAN)))
    near = np.empty((some.shape[0], m))
    functions(some, near)
    shift = near.mean(axis=0).astype(dtype)
    return rows.map_reduce(
        lambda part: _sums(part, functions, diagonal, on_device, shift), FeatureSums.merged
    )


def _sums(
    rows: Rows, functions: Functions, diagonal: Callable[[Any], Any], on_device: OnDevice, shift: Any
) -> FeatureSums:
    """Return the sums over rows in one place, of functions less their shift in its arithmetic."""
    n, m, dtype = rows.shape[0], len(shift), shift.dtype
    single = bool(dtype == np.float32)

    def share(draw: Iterator[slice]) -> tuple[FloatArray, FloatArray, list[tuple[int, float]]]:
        first, second, traces = np.zeros(m), np.zeros((m, m)), []
        values, product = np.empty((min(BLOCK, n), m), dtype), np.empty((m, m), dtype)
        for part in draw:
            X = numpy_rows(rows.block(part).values)
            block = values[: part.stop - part.start]
            functions(X, block)
            block -= shift
            weights = rows.weights_of(part)
            first += (np.ones(len(block), dtype) if weights is None else weights) @ block
            if weights is not None:
                block *= np.sqrt(weights)[:, None]
            np.matmul(block.T, block, out=product)  # NumPy computes one triangle only
            second += product
            lengths = as_float64(diagonal(X))
            traces.append((part.start, float(np.sum(lengths if weights is None else weights * lengths))))
        return first, second, traces

    block = min(BLOCK, n)
    if is_numpy(rows.like):
        parts, workers = slices(n, BLOCK), workers_of(m * m * dtype.itemsize)
        result = each_thread(share, parts, most=workers) if workers > 1 else [share(iter(parts))]
        first, second, _ = result[0]
        for other in result[1:]:
            first += other[0]
            second += other[1]
        trace = sum(value for _, value in sorted(trace for part in result for trace in part[2]))
    else:
        first, second, trace = _sums_on_device(rows, on_device(rows.like), shift)
        block = block if single else n
    total = float(np.trace(second))
    rounding = (block + n / block + 6) * float(np.finfo(np.float64).eps) / 2 * total
    mean = first / (rows.weight or 1.0)
    second -= np.outer(first, mean)
    np.fill_diagonal(second, np.maximum(np.diag(second), 0.0))
    moments = Moments(rows.weight, as_float64(shift), second, mean)
    return FeatureSums(moments, trace, rounding_of_single(n, total) if single else rounding, single)


def _sums_on_device(
    rows: Rows, functions: Callable[[Any], tuple[Any, Any]], shift: Any
) -> tuple[FloatArray, FloatArray, float]:
    xp, origin, totals = rows.xp, from_numpy(shift, rows.like), None

    def work(part: slice, X: Any) -> list[Any]:
        values, trace = functions(X)
        values, weights = to_dtype(values, shift.dtype) - origin, rows.weights_of(part)
        if weights is not None:
            own = from_numpy(weights, values)
            sums, values, trace = own @ values, values * xp.sqrt(own)[:, None], own * trace
            return [sums, long_product(values, values, BLOCK), xp.sum(trace, dtype=xp.float64)]
        sums = xp.sum(values, axis=0, dtype=xp.float64)
        return [sums, long_product(values, values, BLOCK), xp.sum(trace, dtype=xp.float64)]

    for result in device_blocks(rows, work, width=4 * len(shift)):
        totals = result if totals is None else [a + b for a, b in zip(totals, result, strict=True)]
    assert totals is not None
    return as_float64(totals[0]), as_float64(totals[1]), float(totals[2])


def numpy_rows(values: Any) -> Any:
    """Return rows as NumPy's, or sparse."""
    return values if hasattr(values, "tocsr") else to_numpy(values)
