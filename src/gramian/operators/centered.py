"""The centred, scaled data matrix C, block by block and never stored.

Both PCA operators, the covariance side ``C.T C`` and the dual side ``C C.T``, are built on it. C is formed
from each block before anything is multiplied (never ``E[x^2] - E[x]^2``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from gramian import arrays
from gramian.checks import slices as cut
from gramian.data import Block, Rows
from gramian.data.device import device_blocks
from gramian.operators.costs import rows_of_sparse
from gramian.operators.operator import digest
from gramian.records import FloatArray

R = TypeVar("R")
CACHE_BYTES, DEVICE_BYTES = 1 << 20, 64 << 20
LAP_BYTES = 256 << 20
# Columns up to which products are made of few rows; those rows, entries in them, and products that are added.
FEW_COLUMNS, LEAST_TERMS, TERMS, PIECES = 1024, 512, 1 << 17, 4
FACTORS = 1e-37, 1e37  # divisors whose reciprocals, and norms whose differences, are numbers of float32


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """C = (X - mean) / divisor, wherever the rows are; times roots of weights where weighted.

    Attributes
    ----------
    rows : Rows
        The data as it came.
    mean : ndarray of shape (d,)
        Column means of X, or zeros without centring.
    divisor : ndarray of shape (d,) or None
        What each column of ``X - mean`` is divided by, so that C is near 1; infinite where it is constant.
    column_squares : ndarray of shape (d,)
        Sum of squares of each column of C.
    noise : float
        Size of eigenvalues of ``C.T C`` that the rounding of data and mean alone can make.
    double : bool
        Whether float32 data is multiplied in float64.
    unit_exponent : int
        ``2**unit_exponent C`` is in the units that were asked for: those of the data, or of the scaled data.
    constant : ndarray of bool, shape (d,), or None
        Which columns do not vary beyond the rounding of their mean.
    rest : ndarray of shape (d,) or None
        What the float64 ``mean`` leaves out of the mean; None where nothing is known to be left out.
    among : float or None
        Weight of all rows, where it is not that of these: those of a part of a table, or of a stream.
    norms : ndarray of shape (d,) or None
        Of the columns of ``X - mean``, before any is divided.
    weighted : bool
        Whether each row of C is multiplied by the square root of its weight, in float64, so that sums of
        products over rows are weighted sums.
    """

    rows: Rows
    mean: FloatArray
    divisor: FloatArray | None
    column_squares: FloatArray
    noise: float
    double: bool = False
    unit_exponent: int = 0
    constant: Any = None
    rest: FloatArray | None = None
    among: float | None = None
    norms: FloatArray | None = None
    weighted: bool = False

    def map_reduce(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        """Combine ``f`` of every part of C that is in one place; see :meth:`gramian.data.Rows.map_reduce`."""
        if self.rows.in_one_place:
            return f(self, *aligned)
        # What is sent to others holds no rows of its own.
        bare = replace(self, rows=None, among=self.weight)  # type: ignore[arg-type]
        return self.rows.map_reduce(lambda rows, *own: f(replace(bare, rows=rows), *own), combine, *aligned)

    def over_columns(self, f: Callable[[CenteredRows], R], combine: Callable[[R, R], R]) -> R:
        """Combine ``f`` of blocks of columns of C, in one place each."""
        bare = replace(self, rows=None)  # type: ignore[arg-type]

        def of_columns(rows: Rows, mean: Any, divisor: Any, squares: Any, rest: Any) -> R:
            own = {"mean": mean, "divisor": divisor, "column_squares": squares, "rest": rest}
            return f(replace(bare, rows=rows, **own))

        return self.rows.over_columns(
            of_columns, combine, self.mean, self.divisor, self.column_squares, self.rest
        )

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.rows.weight if self.among is None else self.among

    @cached_property
    def total(self) -> float:
        """Sum of squares of C, the trace of both operators."""
        return float(self.column_squares.sum())

    @property
    def square_unit(self) -> float:
        """What sums of squares of C are multiplied by to be in the units asked for."""
        if not self.unit_exponent:
            return 1.0
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(1.0, 2 * self.unit_exponent))

    @property
    def data_divisor(self) -> FloatArray | None:
        """What centred columns are divided by, in units of the data; constant columns are left alone."""
        if self.divisor is None:
            return None
        divisor = np.ldexp(self.divisor, -self.unit_exponent)
        return np.where(np.isinf(self.divisor), 1.0, divisor)

    @cached_property
    def unit_roundoff(self) -> float:
        """Unit roundoff of the arithmetic that blocks are multiplied in."""
        return float(np.finfo(self.arithmetic).eps) / 2

    @cached_property
    def arithmetic(self) -> np.dtype[Any]:
        """Type that blocks of C have."""
        single = self.rows.block_dtype == np.float32
        double = single and (self.double or self.weighted or self._beyond_float32)
        return np.dtype(np.float64) if double else self.rows.block_dtype

    @cached_property
    def _beyond_float32(self) -> bool:
        """Whether float32 cannot hold what a column is multiplied by, or differences within it."""
        divisor = np.ones(1) if self.divisor is None else self.divisor[np.isfinite(self.divisor)]
        norms = np.zeros(1) if self.norms is None else self.norms
        least, most = FACTORS
        return bool((divisor < least).any() or (divisor > most).any() or (norms > most).any())

    def multiplied_in(self, *, double: bool) -> CenteredRows:
        """Return the same, with float32 data multiplied in float64 or not."""
        same = double == self.double or self.rows.block_dtype == np.float64
        return self if same else replace(self, double=double)

    def in_unit(self, unit: FloatArray) -> CenteredRows:
        """Return the same C, of rows whose columns have been divided by powers of two."""
        assert self.norms is not None
        divisor = (1.0 if self.divisor is None else self.divisor) / unit
        return replace(self, mean=self.mean / unit, norms=self.norms / unit, divisor=divisor)

    def block(self, rows: slice, columns: slice, scratch: Any = None) -> Any:
        """Return one dense block of C, written into ``scratch`` where NumPy can."""
        return self._centered(self.rows.cut(rows, columns), rows, columns, scratch)

    def materialized(self) -> Any:
        """Return C as one float64 array of its own."""
        C = self.multiplied_in(double=True).block(slice(None), slice(None))
        return C.copy() if self.rows.shares_memory(C) else C

    def _centered(self, values: Any, rows: slice, columns: slice, scratch: Any) -> Any:
        if not arrays.is_numpy(values):
            values = arrays.to_float64(values) if self.arithmetic == np.float64 else values
        # Of the mean in two parts, the second where it matters, and of the factor, the columns asked for.
        high, low, _ = self._mean_in_parts
        high, low = high[columns], None if low is None else low[columns]
        high = arrays.from_numpy(high, values) if high.any() else None
        low = arrays.from_numpy(low, values) if low is not None and low.any() else None
        factor = None
        if self.divisor is not None:
            factor = arrays.from_numpy((1.0 / self.divisor[columns]).astype(self.arithmetic), values)
        roots = self._roots(rows) if self.weighted else None
        if not arrays.is_numpy(values):
            values = values - high if high is not None else values
            values = values - low if low is not None else values
            values = values * factor if factor is not None else values
            return values if roots is None else values * arrays.from_numpy(roots, values)
        unchanged = high is None and low is None and factor is None and roots is None
        if unchanged and values.dtype == self.arithmetic:
            return values
        if scratch is None:
            scratch = np.empty(values.shape, dtype=self.arithmetic)
        out = scratch[: values.shape[0], : values.shape[1]]
        if high is not None:
            values = np.subtract(values, high, out=out)
        if low is not None:
            values = np.subtract(values, low, out=out)
        if values is not out:
            out[...] = values
        out = out if factor is None else np.multiply(out, factor, out=out)
        return out if roots is None else np.multiply(out, roots, out=out)

    def _roots(self, rows: slice) -> FloatArray | None:
        """Square roots of the weights of some rows, shape (m, 1); None where C is not weighted."""
        weights = self.rows.weights_of(rows) if self.weighted else None
        return None if weights is None else np.sqrt(weights)[:, None]

    @cached_property
    def _mean_in_parts(self) -> tuple[Any, Any, float]:
        """Mean as a number of the arithmetic, what that leaves out where it matters, and what is lost then.

        A mean that is off by e adds ``n |e|^2`` to one eigenvalue of ``C.T C``, and nothing to first order.
        """
        high = self.mean.astype(self.arithmetic)
        rest = self.mean - high + (0.0 if self.rest is None else self.rest)
        lost = self._shift(rest)
        if lost <= (1e-12 if self.arithmetic == np.float32 else 1e-17) * self.total:
            return high, None, lost
        low = rest.astype(self.arithmetic)
        return high, low, self._shift(rest - low)

    def _shift(self, offset: FloatArray) -> float:
        """Sum of squares that adding a number to each centred column adds to C."""
        scaled = offset if self.divisor is None else offset / self.divisor
        return self.weight * float(scaled @ scaled)

    @property
    def forming_error(self) -> float:
        """Bound on what forming C in its arithmetic changes eigenvalues of ``C.T C`` by.

        An entry takes two subtractions, a rounded factor and a product; the first subtraction also leaves the
        rounding of the mean. The root of a weight and its product are two roundings more.
        """
        roundings = 14 if self.weighted else 10
        return roundings * self.unit_roundoff * (self.total + self.noise) + self._mean_in_parts[2]

    @property
    def mean_error(self) -> float:
        """What the part of the mean that is not subtracted changes eigenvalues of ``C.T C`` by."""
        return self._mean_in_parts[2]

    @property
    def implicit_total(self) -> float:
        """Sum of squares that products with sparse data really round: of its entries and of its means.

        They are multiplied apart and then subtracted, so that far from the origin nearly all may cancel.
        """
        gross = self.gross
        return gross * (math.sqrt(self.total) + sum(self.rows.shape) * self.unit_roundoff * gross)

    @property
    def gross(self) -> float:
        """Norm of the entries as they are, before the means are taken off, and of those."""
        means = self._shift(self.mean)
        return math.sqrt(self.total + means) + math.sqrt(means)

    def fingerprint(self) -> bytes:
        """Return a hash of means and sums of squares to the last bit, which a planted direction changes."""
        return digest(self.mean, self.rest, self.divisor, self.column_squares)

    # ------------------------------------------------------------ products

    def row_slices(self, least: int = 1) -> list[slice]:
        """Slices of rows whose block of C fits into the cache."""
        n, d = self.rows.shape
        return cut(n, self._length(d, least))

    def column_slices(self, least: int = 16) -> list[slice]:
        """Slices of columns whose block of C fits into the cache."""
        n, d = self.rows.shape
        return cut(d, max(self.rows.least_columns, self._length(n, least)))

    def thin_slices(self, axis: int) -> list[slice]:
        """Slices of rows (0) or columns (1) for products with few vectors."""
        length, other = self.rows.shape[axis], self.rows.shape[1 - axis]
        size = min(self.thin, self._length(other, 16, share=7 / 8))
        return cut(length, max(size, self.rows.least_columns) if axis else size)

    @property
    def thin(self) -> int:
        """Most rows or columns in a product with few vectors."""
        return arrays.THIN if arrays.is_numpy(self.rows.like) else arrays.DEVICE_TILE

    def _length(self, other: int, least: int, share: float = 1.0) -> int:
        """How many rows (or columns) of ``other`` entries make a block.

        So many that it fits into the cache; on a device as many as keep it busy, but sums of float32 short.
        """
        row = other * self.arithmetic.itemsize
        if arrays.is_numpy(self.rows.like):
            return max(least, int(share * CACHE_BYTES) // row)
        most = (
            arrays.DEVICE_TILE if self.arithmetic == np.float32 else self.rows.shape[0] + self.rows.shape[1]
        )
        return max(least, min(most, DEVICE_BYTES // row))

    def scratch(self, rows: int, columns: int) -> Any:
        """Memory for one block, where blocks are written in place."""
        return np.empty((rows, columns), dtype=self.arithmetic) if arrays.is_numpy(self.rows.like) else None

    def along(self, draw: Iterator[slice], axis: int, size: int) -> Iterator[tuple[slice, Any]]:
        """Yield the slices drawn, of at most so many rows (0) or columns (1), and their blocks of C."""
        (n, d), every = self.rows.shape, slice(None)
        scratch = self.scratch(n, size) if axis else self.scratch(size, d)
        for part in draw:
            yield part, self.block(every, part, scratch) if axis else self.block(part, every, scratch)

    def times(self, V: Any) -> Any:
        """Return ``C V`` for V of shape (d, k), in the dtype of V."""
        return self.map_reduce(lambda C: C._times(V), lambda upper, lower: np.concatenate([upper, lower]))

    def _times(self, V: Any) -> Any:
        return self._sparse_times(V) if self.rows.skips_zeros else self._product(V, 0, "scores")

    def transposed_times(self, W: Any) -> Any:
        """Return ``C.T W`` for W of shape (n, k), in the dtype of W."""
        return self.map_reduce(CenteredRows._transposed_times, np.add, W)

    def _transposed_times(self, W: Any) -> Any:
        if self.rows.skips_zeros:
            return self._sparse_sum(lambda block: W[block.rows], W)
        return self._product(W, 1, "directions")

    def _product(self, V: Any, axis: int, doing: str) -> Any:
        """``C V`` by blocks of rows (0), or ``C.T V`` by blocks of columns (1)."""
        if not arrays.is_numpy(V):
            blocks = self.on_device(lambda _, C: (C.T if axis else C) @ V, axis)
            return self.rows.xp.concat(list(blocks), axis=0)
        slices = self.column_slices() if axis else self.row_slices()
        out = np.zeros((self.rows.shape[axis], V.shape[1]), dtype=V.dtype)

        def share(draw: Iterator[slice]) -> None:
            for part, C in self.along(draw, axis, slices[0].stop):
                np.matmul(C.T if axis else C, V, out=out[part])

        return filled(self, slices, share, out, doing)

    def on_device(self, work: Callable[[slice, Any], R], axis: int) -> Iterator[R]:
        """Yield what ``work`` makes of blocks of rows (0) or columns (1) of C on a device, in their order."""

        def centred(part: slice, values: Any) -> R:
            rows, columns = (slice(None), part) if axis else (part, slice(None))
            return work(part, self._centered(values, rows, columns, None))

        return device_blocks(self.rows, centred, axis)

    def sparse_scatter_times(self, V: Any) -> Any:
        """Return ``C.T (C V)`` of sparse data, in one pass over the rows."""
        return self._sparse_sum(self._sparse_product(V), V)

    def _sparse_times(self, V: Any) -> Any:
        out, product = np.zeros((self.rows.shape[0], V.shape[1])), self._sparse_product(V)

        def share(draw: Iterator[slice]) -> None:
            for rows in draw:
                out[rows] = product(self.rows.block(rows))

        return filled(self, self.rows.batches, share, out, "scores")

    def _sparse_product(self, V: Any) -> Callable[[Block], Any]:
        """What multiplies a block of sparse rows of C by V."""
        V = V / self.divisor[:, None] if self.divisor is not None else V
        shift = self.mean @ V

        def product(block: Block) -> Any:
            result, roots = block.values @ V - shift, self._roots(block.rows)
            return result if roots is None else roots * result

        return product

    def _sparse_sum(self, factor: Callable[[Block], Any], V: Any) -> Any:
        """``C.T W`` for the W whose rows ``factor`` makes of V, block after block."""

        def share(draw: Iterator[slice]) -> list[tuple[int, Any]]:
            products: list[tuple[int, Any]] = []
            for rows in draw:
                block = self.rows.block(rows)
                W, roots = factor(block), self._roots(block.rows)
                W = W if roots is None else roots * W
                product = block.values.T @ W - np.outer(self.mean, W.sum(axis=0))
                if products and not self.rows.free_to_revisit:  # which are many
                    product += products.pop()[1]
                products.append((rows.start, product))
            return products

        def of_batch(batch: list[slice]) -> Any:
            # In the order of the rows, whichever thread was faster.
            parts = sorted(chain.from_iterable(arrays.each_thread(share, batch)), key=itemgetter(0))
            return sum(product for _, product in parts)

        product = in_batches(self, self.rows.batches, of_batch, np.add, "products")
        return product / self.divisor[:, None] if self.divisor is not None else product


def in_batches(
    view: CenteredRows,
    slices: list[slice],
    work: Callable[[list[slice]], R],
    combine: Callable[[R, R], R],
    doing: str,
) -> R:
    """Combine what ``work`` finds for batch after batch of the slices; rows in memory make one batch.

    A pass over a file is long, and what it has found so far should not grow with the file.

    Parameters
    ----------
    view : CenteredRows
    slices : list of slice
        Of rows or of columns, all of one length.
    work : callable
        Of some of the slices: an array, or a record of arrays.
    combine : callable
        Of what earlier batches gave and the next one.
    doing : str
        What the pass is for.
    """
    passes = view.rows.passes
    if passes is None:
        return work(slices)
    each = max(1, slices[0].stop * view.rows.stored_bytes // slices[-1].stop)
    batches = [slices[some] for some in cut(len(slices), max(1, LAP_BYTES // each))]
    starts, length = [batch[0].start for batch in batches], slices[-1].stop
    progress = starts, length, "rows" if length == view.rows.shape[0] else "columns"
    return passes.run(batches, work, combine, doing, progress)


def filled(
    view: CenteredRows,
    slices: list[slice],
    share: Callable[[Iterator[slice]], None],
    out: FloatArray,
    doing: str,
    most: int | None = None,
) -> FloatArray:
    """Return an array that threads fill, or add to, in laps over the slices that they draw."""

    def work(batch: list[slice]) -> FloatArray:
        if most == 1:
            share(iter(batch))  # with every thread of BLAS
        else:
            arrays.each_thread(share, batch, most=most)
        return out

    return in_batches(view, slices, work, lambda _, new: new, doing)


def uncentered(rows: Rows, double: bool = False, divisor: FloatArray | None = None) -> CenteredRows:
    """Return X as it is, or its columns divided by powers of two, before anything is known about it."""
    d = rows.shape[1]
    return CenteredRows(rows, np.zeros(d), divisor, np.ones(d), 0.0, double)


def least_rows(d: int) -> int:
    """Rows in a block below which adding up (d, d) products costs more than making them."""
    return max(64, min(d, 1024))


def terms_of(view: CenteredRows) -> int | None:
    """Rows whose products with few columns are added up in float32; None where those are of whole blocks."""
    d = view.rows.shape[1]
    if view.rows.skips_zeros:
        return rows_of_sparse(d)
    few = view.arithmetic == np.float32 and arrays.is_numpy(view.rows.like) and d <= FEW_COLUMNS
    return max(LEAST_TERMS, TERMS // d) if few else None
