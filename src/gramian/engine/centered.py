"""The centred, scaled data matrix C, block by block and never stored, and the moments that it is made by.

Both PCA operators, the covariance side ``C.T C`` and the dual side ``C C.T``, are built on it. C is formed
from each block before anything is multiplied (never ``E[x^2] - E[x]^2``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from gramian.core import arrays
from gramian.core.checks import slices as cut
from gramian.core.progress import track
from gramian.core.records import FloatArray, Moments
from gramian.engine.operator import LARGE, SPARSE_LONG, SPARSE_PAIRS, digest, rows_of_sparse, sparse_workers
from gramian.errors import DataError
from gramian.tables.rows import Block, Rows, SeenRows, magnitudes, require_magnitudes, row_text

R = TypeVar("R")
CACHE_BYTES, DEVICE_BYTES = 1 << 20, 64 << 20
LAP_BYTES = 256 << 20
# Columns up to which products are made of few rows; those rows, entries in them, and products that are added.
FEW_COLUMNS, LEAST_TERMS, TERMS, PIECES = 1024, 512, 1 << 17, 4
CHUNK = 256  # rows that are added up at once
MATRICES = 1024  # columns up to which each worker has a matrix of its own
EPS, FLOAT32 = float(np.finfo(np.float64).eps), np.finfo(np.float32)
# Part of a sum of squares that the mean may make for products of uncentred data to be as exact as others.
SMALL_MEAN, SAMPLED = 0.05, 64  # rows in a block that show whether it may be so
HALF = 0.5  # the same for sparse columns in float32, whose zeros add nothing and round nothing
# Deviations of columns, relative to their means, up to which all values are equal.
EQUAL, EQUAL_WEIGHTED = 1e-20, 1e-28
CHUNK_ENTRIES, BLOCK_ENTRIES = 1 << 17, 1 << 20
# Error of a mean, relative to the spread, that its square may show.
ALONE = 1e-9
# Products of float32 are near enough to 1 while norms of columns are below the first, and what underflows is
# below the second, relative to the sum of squares of C. A product of two that underflows loses up to LOST.
LARGEST_NORM, UNSEEN, LOST = 2.0**50, 1e-12, 2.0**-149
COUNTS = 'scale="genotype" is for counts of an allele, 0, 1 or 2'


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
    weight : float
        Of all rows that were measured, which these may be a part of; 1 where nothing is to be bounded.
    norms : ndarray of shape (d,)
        Of the columns of ``X - mean``, before any is divided; empty before they are known.
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
    weight: float = 1.0
    norms: FloatArray = field(default_factory=lambda: np.empty(0))
    weighted: bool = False

    def map_reduce(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        """Combine ``f`` of every part of C in one place; see :meth:`gramian.tables.rows.Rows.map_reduce`."""
        if self.rows.in_one_place:
            return f(self, *aligned)
        # What is sent to others holds no rows of its own.
        bare = replace(self, rows=None)  # type: ignore[arg-type]
        return self.rows.map_reduce(
            lambda rows, *aligned_values: f(replace(bare, rows=rows), *aligned_values), combine, *aligned
        )

    def over_columns(self, f: Callable[[CenteredRows], R], combine: Callable[[R, R], R]) -> R:
        """Combine ``f`` of blocks of columns of C, in one place each."""
        bare = replace(self, rows=None)  # type: ignore[arg-type]

        def of_columns(rows: Rows, mean: Any, divisor: Any, squares: Any, rest: Any) -> R:
            fields = {"mean": mean, "divisor": divisor, "column_squares": squares, "rest": rest}
            return f(replace(bare, rows=rows, **fields))

        return self.rows.over_columns(
            of_columns, combine, self.mean, self.divisor, self.column_squares, self.rest
        )

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
        if self.double or self.weighted or self.rows.block_dtype == np.float64:
            return np.dtype(np.float64)
        # A sum of products of two columns is at most the product of their norms, and of each term at most
        # LOST is lost by underflow.
        n, d = self.rows.shape
        divisor = np.ones(d) if self.divisor is None else self.divisor[np.isfinite(self.divisor)]
        with np.errstate(over="ignore"):
            lost = LOST * n * float((divisor**-2.0).sum())
        beyond = lost > UNSEEN * self.total or (self.norms > LARGEST_NORM).any()
        return np.dtype(np.float64 if beyond else np.float32)

    def multiplied_in(self, *, double: bool) -> CenteredRows:
        """Return the same, with float32 data multiplied in float64 or not."""
        same = double == self.double or self.rows.block_dtype == np.float64
        return self if same else replace(self, double=double)

    def materialized(self) -> Any:
        """Return C as one float64 array of its own."""
        C = self.multiplied_in(double=True).block(slice(None), slice(None))
        return C.copy() if self.rows.shares_memory(C) else C

    def block(self, rows: slice, columns: slice, scratch: Any = None, values: Any = None) -> Any:
        """Return one dense block of C, written into ``scratch`` where NumPy can; of these values of X."""
        values = self.rows.cut(rows, columns) if values is None else values
        if not isinstance(values, np.ndarray):
            values = arrays.to_float64(values) if self.arithmetic == np.float64 else values
        # Of the mean in two parts, the second where it matters, and of the factor, the columns asked for.
        high = low = factor = None
        if self.mean.any():
            means = (None if part is None else part[columns] for part in self._mean_in_parts[:2])
            high, low = (arrays.from_numpy(m, values) if m is not None and m.any() else None for m in means)
        if self.divisor is not None:
            factor = arrays.from_numpy((1.0 / self.divisor[columns]).astype(self.arithmetic), values)
        roots = self._roots(rows) if self.weighted else None
        if not isinstance(values, np.ndarray):
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

    @property
    def mean_error(self) -> float:
        """What the part of the mean that is not subtracted changes eigenvalues of ``C.T C`` by."""
        return self._mean_in_parts[2]

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
        return arrays.THIN if isinstance(self.rows.like, np.ndarray) else arrays.DEVICE_TILE

    def _length(self, other: int, least: int, share: float = 1.0) -> int:
        """How many rows (or columns) of ``other`` entries make a block.

        So many that it fits into the cache; on a device as many as keep it busy, but sums of float32 short.
        """
        row = other * self.arithmetic.itemsize
        if isinstance(self.rows.like, np.ndarray):
            return max(least, int(share * CACHE_BYTES) // row)
        most = arrays.DEVICE_TILE if self.arithmetic == np.float32 else sum(self.rows.shape)
        return max(least, min(most, DEVICE_BYTES // row))

    def scratch(self, rows: int, columns: int) -> Any:
        """Memory for one block, where blocks are written in place."""
        return np.empty((rows, columns), dtype=self.arithmetic) if arrays.is_numpy(self.rows.like) else None

    def along(self, draw: Iterator[slice], axis: int, size: int) -> Iterator[tuple[slice, Any]]:
        """Yield the slices drawn, of at most so many rows (0) or columns (1), and their blocks of C."""
        (n, d), every = self.rows.shape, slice(None)
        scratch = self.scratch(n, size) if axis else self.scratch(size, d)
        for chunk in draw:
            yield chunk, self.block(every, chunk, scratch) if axis else self.block(chunk, every, scratch)

    def times(self, V: Any) -> Any:
        """Return ``C V`` for V of shape (d, k), in the dtype of V."""

        def of_part(C: CenteredRows) -> Any:
            return C._sparse_times(V) if C.rows.skips_zeros else C._product(V, 0, "scores")

        return self.map_reduce(of_part, lambda upper, lower: np.concatenate([upper, lower]))

    def transposed_times(self, W: Any) -> Any:
        """Return ``C.T W`` for W of shape (n, k), in the dtype of W."""

        def of_part(C: CenteredRows, W: Any) -> Any:
            sparse = C.rows.skips_zeros
            return C.sparse_sum(lambda block: W[block.rows]) if sparse else C._product(W, 1, "directions")

        return self.map_reduce(of_part, np.add, W)

    def _product(self, V: Any, axis: int, doing: str) -> Any:
        """``C V`` by blocks of rows (0), or ``C.T V`` by blocks of columns (1)."""
        if not isinstance(V, np.ndarray):
            blocks = self.on_device(lambda _, C: (C.T if axis else C) @ V, axis)
            return self.rows.xp.concat(list(blocks), axis=0)
        slices = self.column_slices() if axis else self.row_slices()
        out = np.zeros((self.rows.shape[axis], V.shape[1]), dtype=V.dtype)

        def share(draw: Iterator[slice]) -> None:
            for chunk, C in self.along(draw, axis, slices[0].stop):
                np.matmul(C.T if axis else C, V, out=out[chunk])

        return filled(self, slices, share, out, doing)

    def on_device(self, work: Callable[[slice, Any], R], axis: int) -> Iterator[R]:
        """Yield what ``work`` makes of blocks of rows (0) or columns (1) of C on a device, in their order."""

        def centred(chunk: slice, values: Any) -> R:
            rows, columns = (slice(None), chunk) if axis else (chunk, slice(None))
            return work(chunk, self.block(rows, columns, values=values))

        from gramian.tables.device import device_blocks  # which no fit on the host needs

        return device_blocks(self.rows, centred, axis)

    def _sparse_times(self, V: Any) -> Any:
        out, product = np.zeros((self.rows.shape[0], V.shape[1])), self.sparse_product(V)

        def share(draw: Iterator[slice]) -> None:
            for rows in draw:
                out[rows] = product(self.rows.block(rows))

        return filled(self, self.rows.batches, share, out, "scores")

    def sparse_product(self, V: Any) -> Callable[[Block], Any]:
        """Return what multiplies a block of sparse rows of C by V."""
        V = V / self.divisor[:, None] if self.divisor is not None else V
        shift = self.mean @ V

        def product(block: Block) -> Any:
            result, roots = block.values @ V - shift, self._roots(block.rows)
            return result if roots is None else roots * result

        return product

    def sparse_sum(self, factor: Callable[[Block], Any]) -> Any:
        """Return ``C.T W`` of sparse rows, for the rows of W that ``factor`` returns for each block."""

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
            products = sorted(chain.from_iterable(arrays.each_thread(share, batch)), key=itemgetter(0))
            return sum(product for _, product in products)

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
    passes.count += 1
    return functools.reduce(combine, map(work, track(batches, f"pass {passes.count} ({doing}), part")))


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


def uncentered(rows: Rows, double: bool = False) -> CenteredRows:
    """Return X as it is, before anything is known about it."""
    d = rows.shape[1]
    return CenteredRows(rows, np.zeros(d), None, np.ones(d), 0.0, double)


def least_rows(d: int) -> int:
    """Rows in a block below which adding up (d, d) products costs more than making them."""
    return max(64, min(d, 1024))


def terms_of(view: CenteredRows) -> int | None:
    """Rows whose products with few columns are added up in float32; None where those are of whole blocks."""
    d = view.rows.shape[1]
    if view.rows.skips_zeros:
        return rows_of_sparse(d)
    few = view.arithmetic == np.float32 and isinstance(view.rows.like, np.ndarray) and d <= FEW_COLUMNS
    return max(LEAST_TERMS, TERMS // d) if few else None


# ---- Mean, spread and size of the data, measured block by block in one pass. Every block is centred on its
# own mean before anything is squared. Sums run in float64, and means are kept as pairs of float64, because a
# mean that is rounded far from the origin is wrong by much of a small spread.


def merge_moments(*moments: Moments, apart: float = EQUAL) -> Moments:
    """Combine the moments of blocks of rows.

    Parameters
    ----------
    *parts : Moments
    apart : float
        Least deviation of a column that is not constant, relative to its mean. Values that are not all
        equal, and weigh the same, differ by the unit of the last place of the mean. Rows with weights may
        weigh less, and those that are forgotten as little as can be (0).

    References
    ----------
    Chan, Golub, LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.
    """
    result = _merged(moments, apart)[0]
    singles = [each for each in moments if isinstance(each, SingleMoments)]
    if not singles:
        return result
    # What lies between blocks is float64, so that errors add up.
    drift, gap = (np.sum([getattr(each, name) for each in singles], axis=0) for name in ("drift", "gap"))
    return SingleMoments(**vars(result), drift=drift, gap=gap)


# Of rows that count alike, or not.
_MERGE: dict[bool, Callable[..., Moments]] = {
    True: merge_moments,
    False: functools.partial(merge_moments, apart=EQUAL_WEIGHTED),
}


def _merged(moments: Sequence[Moments], apart: float = EQUAL) -> tuple[Moments, FloatArray]:
    """Moments of all blocks, and how far the mean of each lies from theirs, times the root of its count."""
    count = sum(map(attrgetter("count"), moments))
    counts = np.array(list(map(attrgetter("count"), moments)), dtype=np.float64)
    # From the mean that weighs most: a step back to it would leave the rounding of a nearly forgotten one.
    # Differences of means are exact where the means are large compared with them.
    origin = moments[int(counts.argmax())].mean
    gaps = np.array([(each.mean - origin) + each.rest for each in moments])
    gap = counts @ gaps / (counts.sum() or 1.0)  # rows of weight 0 alone have no mean
    mean, rest = _two_sum(origin, gap)
    gaps = np.sqrt(counts)[:, None] * (gaps - gap)
    if moments[0].squares.ndim == 2:
        squares = moments[0].squares.copy()
        for each in moments[1:]:
            squares += each.squares
        _add_products(squares, gaps)
    else:
        squares = np.sum(list(map(attrgetter("squares"), moments)), axis=0) + np.einsum(
            "ij,ij->j", gaps, gaps
        )
    if not apart:
        return Moments(count, mean, squares, rest), gaps
    same = np.sqrt(diagonal_of(squares) / (count or 1.0)) <= apart * np.abs(mean)
    squares[..., same] = 0.0
    squares[same] = 0.0
    return Moments(count, mean, squares, np.where(same, 0.0, rest)), gaps


@dataclass(frozen=True, eq=False)
class SingleMoments(Moments):
    """Moments whose scatter matrix S is of float32 products, and how far they are off.

    Attributes
    ----------
    drift : ndarray of shape (d,)
        How far the diagonal of S was off; it is exact now.
    gap : ndarray of shape (d, c)
        ``(S - exact S) G`` for given columns G.
    """

    drift: FloatArray = field(kw_only=True)
    gap: FloatArray = field(kw_only=True)


def _two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded sum and what it leaves out, exactly (Knuth)."""
    total = a + b
    difference = total - a
    return total, (a - (total - difference)) + (b - difference)


def diagonal_of(squares: FloatArray) -> FloatArray:
    """Return sums of squares of columns, of a matrix of their products a copy of its diagonal."""
    return np.diag(squares).copy() if squares.ndim == 2 else squares


def center_rows(
    rows: Rows, *, center: bool, scale: Any, ddof: float, metric: FloatArray | None = None
) -> CenteredRows:
    """Measure mean, spread and size of the data in one pass and return its centred view.

    Parameters
    ----------
    rows : Rows
        The data, possibly not yet searched for NaN.
    center : bool
        Whether column means are subtracted.
    scale : None, "unit", "pareto", "genotype" or ndarray of shape (d,)
        What columns are divided by: nothing, the standard deviation, its square root, that of counts of an
        allele of this frequency, or given numbers.
    ddof : float
        Divisor of the variance is ``n - ddof``, or the sum of the weights less this.
    metric : ndarray of shape (d,), optional
        Roots of the weights of the columns, which multiply the scaled columns.
    """
    most = rows.shape[0]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = rows.map_reduce(lambda block: moments(block, center, most), _MERGE[rows.weights is None])
    result, unseen = in_range(rows, result)
    return from_moments(rows, result, center=center, scale=scale, ddof=ddof, metric=metric, unseen=unseen)


def from_moments(
    rows: Rows,
    result: Moments,
    *,
    center: bool,
    scale: Any,
    ddof: float,
    metric: FloatArray | None = None,
    unseen: Any = None,
) -> CenteredRows:
    """Return the centred view for moments that are already known; ``squares`` of shape (d,) or (d, d).

    ``unseen`` are the columns that count as 0 (:func:`in_range`).
    """
    n, d = result.count, rows.shape[1]
    squares = diagonal_of(result.squares)
    norms = np.sqrt(squares)
    mean = result.mean if center else np.zeros(d)
    # The data are exactly these numbers, whatever their type, and a column of one number is zero in C.
    rounding = (EPS * np.where(squares > 0, mean, 0.0)) ** 2 * n
    constant = squares <= rounding
    if isinstance(scale, str) and scale == "genotype":
        frequency = mean / 2
        if isinstance(rows, SeenRows):
            _require_frequencies(frequency, squares / n)
        else:
            require_counts(rows)
        scale = _binomial_deviation(frequency, constant)
    divisor, unit = _divisor(squares, constant, scale, metric, n - ddof, rows.dtype)
    if unseen is not None and unseen.any():
        divisor = np.where(unseen, np.inf, 1.0 if divisor is None else divisor)
    if divisor is not None:
        squares, rounding = (np.sqrt(squares) / divisor) ** 2, (np.sqrt(rounding) / divisor) ** 2
        total = float(squares.sum())
        is_given = metric is not None or (scale is not None and not isinstance(scale, str))
        if is_given and rows.dtype == np.float32 and total > 0:
            # No score is longer than the whole table.
            size = unit + math.log2(total) / 2
            if not FLOAT32.minexp <= size < FLOAT32.maxexp:
                more, less = ("larger", "smaller") if size > 0 else ("smaller", "larger")
                raise DataError(
                    "With scale and feature_weight X has a size of about "
                    f"10^{size * math.log10(2):.0f}, which float32 cannot hold.",
                    f"Give {more} numbers in scale, {less} ones in feature_weight, or X in float64.",
                )
    noise = float(rounding.sum())
    rest = np.zeros(d) + result.rest if center else None
    facts: dict[str, Any] = {"constant": constant, "rest": rest, "weight": n, "norms": norms}
    facts |= {"unit_exponent": unit, "weighted": rows.weights is not None}
    return CenteredRows(rows, mean, divisor, squares, noise, **facts)


def require_counts(rows: Rows) -> None:
    """Refuse the first entry that is no count of alleles, 0 to 2, or a mean of such.

    Raises
    ------
    DataError
    """

    def first(block: Block) -> list[tuple[int, int, float]]:
        values = block.values.data if issparse(block.values) else block.values
        if not bool(arrays.namespace(values).any((values < 0) | (values > 2))):
            return []
        values = arrays.as_float64(block.dense)
        i, j = np.argwhere((values < 0) | (values > 2))[0].tolist()
        return [(block.rows.start + i, j, float(values[i, j]))]

    for row, column, value in rows.reduce(first, lambda earlier, later: earlier or later):
        named = f"{row_text(rows, row)}, column {column}"
        named += f" ({rows.feature_names[column]!r})" if rows.feature_names else ""
        hint = 'Put a missing call to NaN and read it with missing="mean", or use scale="unit".'
        raise DataError(f"{COUNTS}, and {named} holds {value:g}.", hint)


def _require_frequencies(frequency: FloatArray, variance: FloatArray) -> None:
    """Refuse moments that no counts of alleles have, of rows that came before they were to be counts.

    Numbers from 0 to 2 of mean m have a variance of at most m (2 - m) (Bhatia and Davis 2000).
    """
    most = 4 * frequency * (1 - frequency) + 1e-9
    wrong = np.flatnonzero(~((frequency >= 0) & (frequency <= 1) & (variance <= most)))
    if wrong.size:
        hint = 'Set scale="unit", or start again with a fresh model.'
        raise DataError(f"{COUNTS}, and column {wrong[0]} of the earlier batches has other values.", hint)


def _binomial_deviation(frequency: FloatArray, constant: Any) -> FloatArray:
    """Standard deviation sqrt(2 p (1 - p)) of counts of an allele with frequency p.

    Infinite for constant columns. Patterson, Price, Reich (2006), equations 1 to 3, leave out the factor 2.
    """
    varies = np.where(constant, 0.5, frequency)
    return np.where(constant, np.inf, np.sqrt(2.0 * varies * (1.0 - varies)))


@np.errstate(over="ignore", under="ignore")  # what is divided by infinity is too small to show
def _divisor(
    squares: FloatArray, constant: Any, scale: Any, metric: FloatArray | None, degrees: float, dtype: Any
) -> tuple[FloatArray | None, int]:
    """Divisor of ``X - mean``, and the power of two in it that brings C near 1."""
    deviation = np.sqrt(np.where(constant, 1.0, squares) / degrees)
    if scale is None:
        divisor = np.ones(squares.size)
    elif isinstance(scale, str):
        # Constant columns are zero in C, where the rounding of a large constant would otherwise be added.
        divisor = np.where(constant, np.inf, deviation if scale == "unit" else np.sqrt(deviation))
    else:
        divisor = np.asarray(scale, dtype=np.float64)
    divisor = divisor if metric is None else divisor / metric
    norms, info = np.sqrt(squares) / divisor, np.finfo(dtype)
    total = float(norms @ norms)
    # In float64 the eigenvalues, of the size of the total, are themselves squared further on.
    near = float(info.tiny) ** 0.4 < total < float(info.max) ** (0.4 if info.bits == 64 else 0.75)
    shift = 0 if near else arrays.power_of_two(float(norms.max()))
    if not shift and scale is None and metric is None:
        return None, 0
    return np.ldexp(divisor, shift), shift


def moments(rows: Rows, center: bool, most: int = 0) -> Moments:
    """Return mean and sums of squares of the columns of X, of rows among so many."""
    n = rows.shape[0]
    most = max(most, n)
    view = uncentered(rows, double=True)
    if view.rows.skips_zeros:

        def sparse(draw: Iterator[slice]) -> list[tuple[int, Moments]]:
            return [(r.start, _sparse_moments(rows.block(r), center)) for r in draw]

        return _of_rows(view, rows.batches, sparse, center)
    if rows.weights is not None or not isinstance(rows.like, np.ndarray):
        return _by_block(view, center, most, products=False)
    if n <= 8192 and rows.free_to_revisit:
        # Segments of rows that are read from memory at once are long, and a piece of them stays in the cache.
        widest = CACHE_BYTES // (CHUNK * view.arithmetic.itemsize)
        width = max(view.column_slices()[0].stop, min(widest, rows.shape[1] // 8))
        slices = cut(rows.shape[1], width)

        def columns(draw: Iterator[slice]) -> list[tuple[int, Moments]]:
            out = view.scratch(min(n, CHUNK), slices[0].stop)
            return [(c.start, _measured_columns(view, c, center, out)) for c in draw]

        done = _in_order(arrays.each_thread(columns, slices))
        names = "mean", "squares", "rest"
        mean, squares, rest = (np.concatenate([getattr(each, name) for each in done]) for name in names)
        return merge_moments(Moments(n, mean, squares, rest))
    slices = view.row_slices(512 if rows.free_to_revisit else 64)

    def share(draw: Iterator[slice]) -> list[tuple[int, Moments]]:
        out = view.scratch(slices[0].stop, rows.shape[1])
        return [(r.start, _measured(view.block(r, slice(None), out), center, out, most)[0]) for r in draw]

    return _of_rows(view, slices, share, center)


def _of_rows(
    view: CenteredRows, slices: list[slice], share: Callable[[Iterator[slice]], Any], center: bool
) -> Moments:
    """Merge the moments of blocks of rows that workers measure."""
    merged = _MERGE[view.rows.weights is None]

    def of_batch(batch: list[slice]) -> Moments:
        return merged(*_in_order(arrays.each_thread(share, batch)))

    result: Moments = in_batches(view, slices, of_batch, merged, "mean and spread")
    return result


def _in_order(numbered: Iterable[list[tuple[int, Moments]]]) -> list[Moments]:
    """What the workers found, in the order of the data, so that sums do not depend on who came first."""
    return list(map(itemgetter(1), sorted(chain.from_iterable(numbered), key=itemgetter(0))))


def scatter(
    rows: Rows, *, center: bool, double: bool = False, among: int = 0, probe: FloatArray | None = None
) -> tuple[Moments, Any]:
    """Return mean and the scatter matrix ``C.T C`` in one pass over the data.

    Each block is centred on its own mean, multiplied in the data's dtype, and added in float64; blocks are
    merged by the between-block scatter of their means. Means and the diagonal are those of float64 sums. The
    search for NaN is part of the pass: a NaN shows in the scatter.

    Parameters
    ----------
    rows : Rows
    center, double : bool
    among : int
        Number of rows that these are merged with, which the mean has to be exact enough for.
    probe : ndarray of shape (d, c), optional
        Columns G that the exact scatter matrix of rows of float32 in NumPy is multiplied by in the same pass.

    Returns
    -------
    moments, unseen : tuple
        The moments, whose ``squares`` has shape (d, d); :class:`SingleMoments` where they are of float32
        products. And the columns that count as 0 (:func:`in_range`).
    """
    most, weighted = rows.shape[0] + among, rows.weights is not None

    def of_part(block: Rows) -> Moments:
        view = uncentered(block, double or weighted)
        if weighted or not isinstance(block.like, np.ndarray):
            return _by_block(view, center, most, products=True)
        return _ScatterPass(view, center, most, probe).run()

    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = rows.map_reduce(of_part, _MERGE[not weighted])
    return in_range(rows, result)


@dataclass(eq=False)
class _ScatterPass:
    """One pass over rows of NumPy in one place, as :func:`scatter` makes it.

    Attributes
    ----------
    view : CenteredRows
        The rows as they are.
    center : bool
    among : int
        Number of rows that these are part of.
    probe : ndarray of shape (d, c) or None
    few : tuple of ndarrays of int
        Columns of sparse rows that are multiplied as dense ones, those with most entries, and the others.
    """

    view: CenteredRows
    center: bool
    among: int
    probe: FloatArray | None
    few: tuple[Any, Any] = ()  # type: ignore[assignment]

    def run(self) -> Moments:
        """Return the moments of the rows."""
        view, d, terms, workers = self.view, self.view.rows.shape[1], terms_of(self.view), None
        least = least_rows(d) if terms is None else terms * max(1, min(PIECES, BLOCK_ENTRIES // (d * terms)))
        if view.rows.skips_zeros:
            self.few, workers, least = self._few_entries(), sparse_workers(d), rows_of_sparse(d)
        slices = view.row_slices(least)
        share = functools.partial(self._share, slices[0].stop)
        alone = workers == 1 if view.rows.skips_zeros else d > MATRICES  # with every thread of BLAS

        def of_batch(batch: list[slice]) -> Moments:
            return self._joined(
                [share(iter(batch))] if alone else arrays.each_thread(share, batch, most=workers)
            )

        # From one batch to the next BLAS is held at one thread: its others would wait, and spin, for a while.
        with arrays.blas_threads() if d <= MATRICES else nullcontext():
            return in_batches(view, slices, of_batch, merge_moments, "covariance")

    def _share(
        self, most: int, draw: Iterator[slice]
    ) -> tuple[FloatArray, FloatArray, list[tuple[int, Moments]]]:
        """Return a worker's sum of products, what the exact one makes of the probe, and moments of blocks."""
        d = self.view.rows.shape[1]
        total, image = np.zeros((d, d)), np.zeros((d, 0 if self.probe is None else self.probe.shape[1]))
        result, left = list[tuple[int, Moments]](), list[FloatArray]()
        products = self._of_double if self.view.arithmetic == np.float64 else self._of_single
        products = self._of_sparse if self.few else products
        for start, block_moments, inside in products(draw, most, total, image):
            if inside.any():
                left.append(math.sqrt(block_moments.count) * inside)
            result.append((start, block_moments))
        if left:  # the rounded means left some of their own inside the blocks
            _add_products(total, np.array(left), -1)
        return total, image, result

    def _joined(self, results: list[tuple[FloatArray, FloatArray, list[tuple[int, Moments]]]]) -> Moments:
        """Merge what workers found."""
        merged, gaps = _merged(_in_order(map(itemgetter(2), results)))
        squares, *others = map(itemgetter(0), results)
        for total in others:
            squares += total
        _add_products(squares, gaps)
        drift = np.diag(squares) - merged.squares
        np.fill_diagonal(squares, merged.squares)
        same = merged.squares == 0
        squares[same], squares[:, same], drift[same] = 0.0, 0.0, 0.0
        found = replace(merged, squares=squares)
        if self.view.arithmetic == np.float64:
            return found
        gap = np.zeros((len(squares), 0))
        if self.probe is not None:
            exact = sum((image for _, image, _ in results), start=gaps.T @ (gaps @ self.probe))
            gap = np.where(same[:, None], 0.0, squares @ self.probe - exact)
        return SingleMoments(**vars(found), drift=drift, gap=gap)

    # Each adds the products of blocks to ``total`` and yields their first row, their moments, and the means
    # that are left in them. Of float32 and of sparse rows, what the exact products make of the probe is added
    # to ``image``.

    def _of_double(
        self, draw: Iterator[slice], most: int, total: FloatArray, image: FloatArray
    ) -> Iterator[tuple[int, Moments, FloatArray]]:
        view, d = self.view, len(total)
        scratch, product = np.empty((most, d)), np.empty((d, d))

        def squares(values: Any) -> FloatArray:
            # NumPy recognises A.T @ A and computes one triangle only.
            return np.diag(np.matmul(values.T, values, out=product)).copy()

        near = False  # whether the means of the last block were small
        for rows in draw:
            values, result, inside = view.block(rows, slice(None), scratch), None, np.zeros(d)
            if self.center:
                count, inside = len(values), _column_means(values)
                if not near:  # no product in vain: a few rows tell whether it is worth a try
                    some = values[:: max(1, count // SAMPLED)]
                    near = _of_small_mean(count, inside, _squares(some) * (count / len(some))) is not None
                result = _of_small_mean(count, inside, squares(values)) if near else None
                near = result is not None
            if result is None:
                mean = inside if self.center else None
                result, inside = _measured(values, self.center, scratch, self.among, squares, mean)
            total += product
            yield rows.start, result, inside

    def _of_single(
        self, draw: Iterator[slice], most: int, total: FloatArray, image: FloatArray
    ) -> Iterator[tuple[int, Moments, FloatArray]]:
        """Products of few rows are added in float32, a few of them, before they are added to ``total``."""
        view, d, terms, probe = self.view, len(total), terms_of(self.view), self.probe
        exact = uncentered(view.rows, True)
        scratch, wide = view.scratch(most, d), exact.scratch(most, d)
        product, more = (view.scratch(d, d) for _ in range(2))
        pending = 0
        for rows in draw:
            values = view.block(rows, slice(None), scratch)
            result = _about_zero(values, probe, image) if self.center else None
            mean = np.zeros(d, dtype=view.arithmetic)
            if result is None:
                block = exact.block(rows, slice(None), wide)
                result, _ = _measured(block, self.center, wide, self.among)
                for some in cut(len(values), rows_of_chunk(d)) if probe is not None else ():
                    image += wide[some].T @ (wide[some] @ probe)
                if self.center:
                    mean = result.mean.astype(view.arithmetic)
                    values = _minus(values, mean, scratch)
            for some in cut(len(values), terms or len(values)):
                np.matmul(values[some].T, values[some], out=more if pending else product)
                if pending:
                    product += more
                pending += 1
            if terms is None or pending >= PIECES:
                total += product
                pending = 0
            yield rows.start, result, (result.mean - mean) + result.rest
        if pending:
            total += product

    def _few_entries(self) -> tuple[Any, Any]:
        """Return the columns that are multiplied as dense ones, and the others.

        The others have so few entries in a sample of rows that :meth:`_of_sparse` takes less time with them
        as they are, and, where columns are centred, that their means are small.
        """
        view, d = self.view, self.view.rows.shape[1]
        sample = view.rows.sampled  # type: ignore[attr-defined]
        shares = np.bincount(sample.indices, minlength=d) / max(1, sample.shape[0])
        order = np.argsort(-shares, kind="stable")
        # Seconds a row with so many dense columns: among them, of each with the others, among the others.
        dense, entries = np.arange(d + 1), np.append(np.cumsum(shares[order][::-1])[::-1], 0.0)
        seconds = dense**2 / 2 / LARGE[view.arithmetic.name]
        seconds += entries * dense / SPARSE_LONG + entries**2 / SPARSE_PAIRS
        if self.center:
            seconds[:-1][shares[order] > 0.8 * part_of_mean(view)] = np.inf
        first = int(seconds.argmin())
        return order[:first], order[first:]

    def _of_sparse(
        self, draw: Iterator[slice], most: int, total: FloatArray, image: FloatArray
    ) -> Iterator[tuple[int, Moments, FloatArray]]:
        """Rows are made dense in the columns of many entries only.

        Let A be those columns, less their means where these are large, and B the others, with means so small
        that nothing cancels. The blocks are ``A.T A``, ``B.T A`` and ``B.T B``. Zeros stay zeros where they
        can: in float32 sums of many equal terms, such as products of means, round all in one direction.
        """
        view, probe, order = self.view, self.probe, np.concatenate(self.few)
        scratch = view.scratch(most, len(total) if self.center else len(self.few[0]))
        inverse = np.argsort(order)
        for rows in draw:
            block = view.rows.block(rows)
            result = _sparse_moments(block, self.center)
            values = block.values.tocsc()[:, order]
            first, mean = len(self.few[0]), result.mean[order]
            shift = result.count * mean**2
            near = np.where(shift <= part_of_mean(view) * (result.squares[order] + shift), 0.0, mean)
            if near[first:].any():
                first = len(total)  # no column has few entries here
            if probe is not None:
                Y = values @ probe[order] - mean @ probe[order]
                image[order] += values.T @ Y - np.outer(mean, Y.sum(axis=0))
            values, near = values.astype(view.arithmetic, copy=False), near.astype(view.arithmetic)
            A, B = scratch.reshape(-1)[: len(scratch) * first].reshape(len(scratch), first), values[:, first:]
            A = values[:, :first].toarray(out=A[: values.shape[0]])
            if near[:first].any():
                A -= near[:first]
            total[:first, :first] += A.T @ A
            if first < len(total):
                total[first:, :first] += B.T @ A
                total[first:, first:] += (B.T @ B).toarray()
            yield rows.start, result, (result.mean - near[inverse]) + result.rest
        first = len(self.few[0])
        total[:first, first:] = total[first:, :first].T
        total[...] = total[np.ix_(inverse, inverse)]


def part_of_mean(view: CenteredRows) -> float:
    """Return which part of a sum of squares the mean may make in columns that are not centred."""
    return HALF if view.rows.skips_zeros and view.arithmetic == np.float32 else SMALL_MEAN


def _add_products(total: FloatArray, gaps: FloatArray, sign: int = 1) -> None:
    """Add ``sign * gaps.T @ gaps`` to a matrix, a few rows at a time."""
    for some in cut(len(total), CHUNK):
        total[some] += sign * (gaps[:, some].T @ gaps)


def _by_block(view: CenteredRows, center: bool, among: int, *, products: bool) -> Moments:
    """Moments, or with ``products`` the scatter matrix, of rows on a device or with weights.

    From a device one copy a block goes to the host.
    """
    rows, d, merged = view.rows, view.rows.shape[1], _MERGE[view.rows.weights is None]

    def of_block(chunk: slice, values: Any) -> Moments:
        weights = rows.weights_of(chunk)
        facts = view, values, weights, center, among, products
        result, again = _of_block(*facts, 1 if weights is None else 2)
        return _of_block(*facts, 2)[0] if again else result

    if not isinstance(rows.like, np.ndarray):
        from gramian.tables.device import device_blocks

        return merged(*device_blocks(rows, of_block))
    every, slices = slice(None), view.row_slices(least_rows(d))

    def share(draw: Iterator[slice]) -> list[Moments]:
        result: list[Moments] = []
        for chunk in draw:
            result = [functools.reduce(merged, [*result, of_block(chunk, rows.cut(chunk, every))])]
        return result

    def of_batch(batch: list[slice]) -> Moments:
        results = arrays.each_thread(share, batch) if d <= MATRICES or not products else [share(iter(batch))]
        return merged(*(each for result in results for each in result))

    doing = "covariance" if products else "mean and spread"
    result: Moments = in_batches(view, slices, of_batch, merged, doing)
    return result


def _of_block(
    view: CenteredRows, values: Any, weights: Any, center: bool, among: int, products: bool, rounds: int
) -> tuple[Moments, bool]:
    """Moments of a block, its means subtracted so often, and whether that was not often enough."""
    xp, (count, d) = arrays.namespace(values), values.shape
    weights_here = None if weights is None else arrays.from_numpy(weights, values)
    if weights is not None:
        count = float(weights.sum())

    def average(A: Any) -> Any:
        return xp.mean(A, axis=0) if weights_here is None else weights_here @ A / (count or 1.0)

    wide = arrays.to_float64(values)
    shifts: list[Any] = []
    for _ in range(rounds if center else 0):
        shifts.append(average(wide))
        wide = wide - shifts[-1]
    inner = average(wide)
    if weights_here is not None:
        wide = wide * xp.sqrt(weights_here)[:, None]
    near, single = wide, view.arithmetic == np.float32
    if single:
        near = values - xp.astype(sum(shifts), values.dtype) if center else values
    S = [arrays.long_product(near, near, arrays.DEVICE_TILE)] if products else []
    squares = xp.linalg.diagonal(S[0]) if products and not single else xp.sum(wide * wide, axis=0)
    facts = [*shifts, inner, squares, *(xp.reshape(A, (-1,)) for A in S)]
    result = np.reshape(arrays.as_float64(xp.concat(facts)), (-1, d))
    shift, left, squares = result[: len(shifts)], result[len(shifts)], result[len(shifts) + 1]
    if not center:
        left = np.zeros(d)
    mean, rest = _two_sum(*shift) if len(shift) == 2 else (shift.sum(axis=0), np.zeros(d))
    spread = np.where(np.isfinite(squares), np.sqrt(np.abs(squares) / (count or 1.0)), 0.0)
    # As in _measured.
    off = count * EPS * np.abs(mean) > (ALONE if count == among else among * EPS / 4) * spread
    again = rounds == 1 and bool(off.any() and (np.abs(left) > 0.1 * spread).any())
    # What is left of the mean in the numbers that were multiplied.
    inside = (mean - mean.astype(view.arithmetic)) + rest + left if single and center else left
    mean, rest = _two_sum(mean, rest + left)
    squares = np.maximum(squares - count * left * left, 0.0)
    if not products:
        return Moments(count, mean, squares, rest), again
    product = result[len(shifts) + 2 :]
    for some in cut(d, CHUNK) if inside.any() else ():
        product[some] -= np.outer(count * inside[some], inside)
    drift = np.diag(product) - squares
    np.fill_diagonal(product, squares)
    if not single:
        return Moments(count, mean, product, rest), again
    return SingleMoments(count, mean, product, rest, drift=drift, gap=np.zeros((d, 0))), again


def in_range(rows: Rows, result: Moments) -> tuple[Moments, Any]:
    """Return moments in which columns of subnormal float32 numbers are 0, and those columns.

    Raises
    ------
    DataError
        For NaN and infinity, and for a column that :func:`gramian.tables.rows.require_magnitudes` refuses.
    """
    squares, (least, most) = diagonal_of(result.squares), magnitudes(rows.dtype)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = result.count * result.mean * result.mean + squares
        # A largest magnitude is between the roots of the mean square and of the sum over the least weight.
        weights = np.ones(1) if rows.weights is None else rows.weights
        low = 1.01 * least**2 * result.count
        high = 0.99 * most**2 * float(weights[weights > 0].min(initial=1.0))
        if squares.min() >= low and squares.max() <= high:
            return result, None
        single = rows.dtype == np.float32
        sure = (squares >= low) & (np.isfinite(squares) if single else squares <= high)
        if single or not rows.free_to_revisit:  # numbers whose squares and mean are 0 take another pass
            sure |= (squares == 0) & (result.mean == 0)
    if sure.all():
        return result, None
    unseen = require_magnitudes(rows, np.flatnonzero(~sure))
    if not unseen.size:
        return result, None
    squares = result.squares.copy()
    squares[unseen], squares[..., unseen] = 0.0, 0.0
    zero = np.isin(np.arange(len(result.mean)), unseen)
    mean, rest = (np.where(zero, 0.0, values) for values in (result.mean, result.rest))
    return replace(result, mean=mean, squares=squares, rest=rest), zero


def _measured(
    values: Any,
    center: bool,
    scratch: Any,
    n: int,
    squares_of: Callable[[Any], FloatArray] | None = None,
    shift: Any = None,
) -> tuple[Moments, FloatArray]:
    """Moments of a block of float64 out of n rows, and the mean that is left in it where that was measured.

    ``squares_of`` finds the sums of squares of the columns less their rounded means; ``shift`` are those, if
    they are known.
    """
    count, d = values.shape
    squares_of = squares_of or _squares
    left = np.zeros(d)
    if not center:
        return Moments(count, left, squares_of(values), left), left
    mean, rest = np.zeros(d), np.zeros(d)
    # An error of a mean shows in the square only, but between blocks to first order.
    allowed = ALONE if count == n else n * EPS / 4
    for last in (False, True):
        shift = _column_means(values) if last or shift is None else shift
        values = _minus(values, shift, scratch)
        mean, gone = _two_sum(mean, shift)
        rest += gone
        squares = squares_of(values)
        # Squares overflow where only the rounding of a mean may be large.
        spread = np.where(np.isfinite(squares), np.sqrt(squares / count), 0.0)
        if not (count * EPS * np.abs(mean) > allowed * spread).any():
            break
        left = _column_means(values)
        if not (np.abs(left) > 0.1 * spread).any():
            break
    mean, rest = _two_sum(mean, rest + left)
    return Moments(count, mean, np.maximum(squares - count * left * left, 0.0), rest), left


def _measured_columns(view: CenteredRows, columns: slice, center: bool, scratch: Any) -> Moments:
    """Moments of some columns of all rows, in one pass that subtracts the mean of the first few rows.

    Where that is so far from the mean of all that squares would cancel, a second pass subtracts the better.
    """
    n, d = view.rows.shape[0], columns.stop - columns.start
    chunks = cut(n, CHUNK)
    shift = left = np.zeros(d)
    if center:
        shift = _column_means(view.block(chunks[0], columns, scratch))
    for _ in range(2):
        sums, squares = np.zeros(d), np.zeros(d)
        for chunk in chunks:
            values = view.block(chunk, columns, scratch)
            if center:
                values = _minus(values, shift, scratch)
                sums += np.ones(len(values)) @ values
            squares += np.einsum("ij,ij->j", values, values)
        if not center:
            return Moments(n, left, squares, left)
        left = sums / n
        lost = n * left * left
        # Squares overflow where the rounding of a large mean is left.
        if ((lost <= 0.9 * squares) & np.isfinite(lost)).all():
            break
        shift = shift + left
    mean, rest = _two_sum(shift, left)
    return Moments(n, mean, np.maximum(squares - lost, 0.0), rest)


def _about_zero(values: Any, probe: FloatArray | None, image: FloatArray) -> Moments | None:
    """Moments of a block of float32 whose means are small compared with its spread; None for any other.

    Such columns need not be centred before they are squared: what is taken off in the end is a small part.
    What their products make of the probe is added to ``image``.
    """
    count, d = values.shape
    squares, products = np.zeros(d), np.zeros((d, image.shape[1] + 1))
    scratch = np.empty((min(count, rows_of_chunk(d)), d))
    factor = np.ones((len(scratch), products.shape[1]))  # the last column adds up the rows
    for chunk in cut(count, len(scratch)):
        length = chunk.stop - chunk.start
        wide = scratch[:length]
        wide[...] = values[chunk]
        if probe is not None:
            factor[:length, :-1] = wide @ probe
        products += wide.T @ factor[:length]
        squares += np.einsum("ij,ij->j", wide, wide)
    sums, products = products[:, -1], products[:, :-1]
    result = _of_small_mean(count, sums / count, squares)
    if result is not None and probe is not None:
        image += products - np.outer(count * result.mean, result.mean @ probe)
    return result


def _of_small_mean(count: int, mean: FloatArray, squares: FloatArray) -> Moments | None:
    """Moments for sums of squares about zero; None where means are no small part of them, or not finite."""
    shift = count * mean * mean
    if not (shift <= SMALL_MEAN * squares).all():
        return None
    return Moments(count, mean, squares - shift, np.zeros(len(mean)))


def rows_of_chunk(d: int) -> int:
    """Rows whose moments, and products with a probe, are added up at once."""
    return max(16, CHUNK_ENTRIES // d)


def _minus(values: Any, mean: Any, scratch: Any) -> Any:
    """Subtract a mean from each column, in scratch memory where there is some."""
    return np.subtract(values, mean, out=None if scratch is None else scratch[: len(values), : len(mean)])


def _squares(values: Any) -> FloatArray:
    """Sums of squares of the columns of a block."""
    total = np.zeros(values.shape[1])
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK]
        total += np.einsum("ij,ij->j", chunk, chunk)
    return total


def _column_means(values: Any) -> Any:
    # As a product: several times as fast as a reduction along the first axis.
    return np.ones(len(values)) @ values / len(values)


def _sparse_moments(block: Block, center: bool) -> Moments:
    values, weights = block.values, block.weights
    if weights is not None:  # rows of weight 0 are left out
        values, weights = values[weights > 0], weights[weights > 0]
    values.sum_duplicates()
    (n, d), columns = values.shape, values.indices
    counts = np.bincount(columns, minlength=d)
    data, row_weights = values.data.copy(), np.ones(n) if weights is None else weights
    total, stored = n if weights is None else float(row_weights.sum()), counts

    def sums(data: Any) -> FloatArray:
        result: FloatArray = type(values)((data, columns, values.indptr), values.shape).T @ row_weights
        return result

    if weights is not None:
        # Where every row has an entry, what the others weigh is no rounding of a difference.
        stored = np.where(counts == n, total, sums(np.ones(len(data))))
    shifts: list[FloatArray] = []
    for _ in range(2 if center else 0):
        # Entries that are not stored are zeros, and so less what was subtracted before.
        before = (total - stored) * sum(shifts, start=np.zeros(d))
        shift = (sums(data) - before) / (total or 1.0)
        data -= shift.take(columns)
        shifts.append(shift)
    mean, rest = _two_sum(shifts[0], shifts[1]) if center else (np.zeros(d), np.zeros(d))
    return Moments(total, mean, sums(data**2) + (total - stored) * mean**2, rest)
