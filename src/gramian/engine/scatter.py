"""The covariance and the dual Gram matrix: blocked products with C, and bounds on their rounding."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, Self

import numpy as np

from gramian.core import arrays, records
from gramian.engine import centered
from gramian.engine.centered import CenteredRows, SingleMoments
from gramian.engine.operator import symmetric_times, workers_of

# Width, in standard deviations, of the rounding estimate, and in drifts of the diagonal.
CONFIDENCE, DRIFTS = 6.0, 2.0
# Runs of rows whose products of float32 are compared with exact ones, unless few rows hold most squares.
RUNS, TINY = 2, float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Observed:
    """What exact products show of the error E of a scatter matrix of float32 products.

    Attributes
    ----------
    probed : float
        Bound on ``||E||_2`` from a probe (:func:`observed`); infinite without one.
    least : float
        What ``||E||_2`` is at least.
    drift : float
        Sum of the magnitudes of the diagonal of E.
    """

    probed: float = math.inf
    least: float = 0.0
    drift: float = 0.0


class ScatterOperator(ABC):
    """Common part of ``C.T C`` and ``C C.T``: two sides of one centred data matrix.

    Parameters
    ----------
    view : CenteredRows
        The centred data C.
    keep : bool
        Whether blocks of C that matmat forms are kept for the next pass, as much memory as the data.
    whole : bool
        Whether the matrix itself is formed and multiplied.
    matrix : array of shape (m, m), optional
        The matrix, where the pass that measured the mean has already made it.
    observed : Observed
        What is known of the error of that matrix.
    worst_case : bool
        Whether the worst case over all roundings bounds the errors, and nothing less.

    Attributes
    ----------
    axis : int
        Along which blocks are cut: rows (0) of ``C.T C``, columns (1) of ``C C.T``.
    """

    psd = True
    axis: int
    _whole: Any = None

    def __init__(
        self,
        view: CenteredRows,
        *,
        keep: bool = False,
        whole: bool = False,
        matrix: Any = None,
        observed: Observed = Observed(),
        worst_case: bool = False,
    ) -> None:
        shape = view.rows.shape
        inner = shape[self.axis]
        self.centered = view
        self.size = shape[1 - self.axis]
        self.like = arrays.from_numpy(np.empty(0), view.rows.like) if matrix is None else matrix[:0, 0]
        # In float64 it does not count how many terms are added up at once.
        block = self._wide_slices()[0].stop if view.arithmetic == np.float32 else 0
        # A matrix that comes with the mean is that of ``scatter``.
        terms = None if matrix is None else centered.terms_of(view)
        self._terms = block if terms is None else terms + centered.PIECES
        self._observed, self._worst_case = observed, worst_case
        self.noise = view.noise
        self.relative_tolerance = product_tolerance(shape, view.unit_roundoff, block)
        self._whole = self.dense() if whole and matrix is None else matrix
        self._formed = self._whole is not None
        self._kept: dict[int, Any] = {}
        self._memory: Any = None
        if keep and arrays.is_numpy(view.rows.like):
            pieces, rows = self._cutting
            self._memory = np.empty(inner * pieces * rows, dtype=view.arithmetic)

    @cached_property
    def _error(self) -> tuple[float, records.BoundKind]:
        """Bound on the error of what products multiply by, and its kind."""
        C = self.centered
        terms, products, observed = C.thin, 2, self._observed
        if self._formed:
            terms, products = self._terms, 1
        else:
            observed = self._sampled()
        return product_error(C, C.rows.shape[self.axis], terms, products, observed, self._worst_case)

    def _sampled(self) -> Observed:
        """Return how far products of float32 with some runs of rows are off, carried on to all rows.

        Sums that stagnate do so in most runs, and most along the direction in which the rows are largest.
        """
        C, run = self.centered, self.centered.thin
        if C.arithmetic != np.float32 or self.axis or not (C.rows.in_one_place and C.rows.free_to_revisit):
            return Observed()
        n, every = C.rows.shape[0], slice(None)
        pieces = -(-n // run)
        for runs in (RUNS, 4 * RUNS, 16 * RUNS):
            starts = run * np.unique(np.linspace(0, pieces - 1, min(runs, pieces)).astype(np.intp))
            rows = (starts[:, None] + np.arange(run)).ravel()
            sample = replace(C, rows=C.rows.picked(rows[rows < n]))
            blocks = (arrays.to_float64(sample.block(some, every)) for some in sample.row_slices())
            total = sum(float((arrays.column_norms(block) ** 2).sum()) for block in blocks)
            if total >= 0.5 * C.total * sample.rows.shape[0] / n:
                break  # else few rows hold most of the squares
        single, double = (type(self)(replace(sample, double=double)) for double in (False, True))
        image = double.matmat(arrays.from_numpy(np.ones((self.size, 1)), self.like))
        v = image / max(float(arrays.column_norms(image)[0]), TINY)
        exact, ones = double.matmat(v), np.ones((1, arrays.THIN_COLUMNS))
        # BLAS adds up products with few vectors and with many in different orders.
        products = (single.matmat(v @ arrays.from_numpy(ones[:, :k], v)) for k in (1, arrays.THIN_COLUMNS))
        off = max(float(arrays.column_norms(product - exact)[0]) for product in products)
        return Observed(drift=off * C.total / max(total, TINY))

    @property
    def error_kind(self) -> records.BoundKind:
        """The kind of the bounds."""
        return self._error[1]

    @property
    def dense_error(self) -> float:
        """Bound on the error of the matrix itself."""
        if self._formed:
            return self._error[0]
        C = self.centered
        return product_error(C, C.rows.shape[self.axis], self._terms, 1, self._observed, self._worst_case)[0]

    @property
    def error_bound(self) -> float:
        """Bound on the error of what products multiply by."""
        rounding = self.size * float(np.finfo(np.float64).eps) * self.centered.total if self._formed else 0.0
        return self._error[0] + rounding

    def promoted(self) -> Self | None:
        """Return the same matrix with products in float64, made anew in every pass."""
        C = self.centered
        if C.arithmetic != np.float32:
            return None
        other = type(self)(replace(C, double=True), worst_case=self._worst_case)
        other.like = self.like
        return other

    def release(self) -> None:
        """Give back the memory of what was kept."""
        self._kept, self._memory, self._whole = {}, None, None

    def trace(self) -> float:
        """Return the sum of squares of C."""
        return self.centered.total

    def frobenius(self) -> float | None:
        """Return the norm of the whole matrix; None where it would cost as much as the matrix."""
        if self._whole is None or not arrays.is_numpy(self._whole):
            return None
        return float(np.linalg.norm(self._whole)) + self.dense_error

    def fingerprint(self) -> bytes:
        """Return a hash of the moments of the data."""
        return self.centered.fingerprint()

    def matmat(self, V: Any) -> Any:
        """Return the product with V, float64, forming or reading each block of C once."""
        C = self.centered
        if self._whole is not None:
            return symmetric_times(self._whole, V)
        if not C.rows.in_one_place:
            kind = type(self)
            return C.map_reduce(lambda rows: kind(rows).matmat(V), np.add)
        if C.rows.skips_zeros:
            return C.sparse_sum(C.sparse_product(V)) if self.axis == 0 else C.times(C.transposed_times(V))
        like, V = V, arrays.to_dtype(V, C.arithmetic)
        if not arrays.is_numpy(C.rows.like):
            U = arrays.moved(V, C.rows.like)
            return arrays.moved(self._on_device(lambda B: arrays.long_product(B, B @ U, C.thin)), like)
        slices = C.thin_slices(self.axis)
        groups = arrays.thin_groups(V, *self._cutting, slices[0].stop)

        def share(draw: Iterator[slice]) -> list[Any]:
            totals = [np.zeros(group.shape) for group in groups]
            scratch = self._scratch(slices)
            for chunk in draw:
                B = self._pieces(chunk, scratch)
                for group, total in zip(groups, totals, strict=True):
                    total += np.matmul(B, np.matmul(B.transpose(0, 2, 1), group).sum(axis=0))
            return totals

        def of_batch(batch: list[slice]) -> Any:
            return arrays.joined_groups(arrays.each_thread(share, batch), self.size)

        return centered.in_batches(C, slices, of_batch, np.add, "products")

    def dense(self) -> Any:
        """Return the matrix as float64, accumulated over blocks of C."""
        if self._whole is not None:
            return self._whole
        matrix, squares = self._accumulated()
        if self.centered.arithmetic == np.float32:
            drift = np.abs(arrays.as_float64(arrays.namespace(matrix).linalg.diagonal(matrix)) - squares)
            self._observed = Observed(least=float(drift.max()), drift=float(drift.sum()))
        return matrix

    def _accumulated(self) -> tuple[Any, records.FloatArray]:
        """Return the matrix, and its diagonal from exact squares where it is of float32 products."""
        C, m = self.centered, self.size
        if not C.rows.in_one_place:
            over = C.map_reduce if self.axis == 0 else C.over_columns
            kind = type(self)
            return over(
                lambda rows: kind(rows)._accumulated(),
                lambda first, other: (first[0] + other[0], first[1] + other[1]),
            )
        slices, single = self._wide_slices(), C.arithmetic == np.float32
        squares = np.zeros(m)
        if not arrays.is_numpy(C.rows.like):
            terms = slices[0].stop

            def product(B: Any) -> Any:
                result = arrays.long_product(B, B, terms)
                if single:
                    lengths = arrays.namespace(B).sum(arrays.to_float64(B) ** 2, axis=0)
                    np.add(squares, arrays.as_float64(lengths), out=squares)
                return result

            return self._on_device(product), squares
        total, lock = np.zeros((m, m)), Lock()

        def share(draw: Iterator[slice]) -> None:
            length = slices[0].stop
            scratch = C.scratch(*((length, m) if self.axis == 0 else (m, length)))
            product = np.empty((m, m), dtype=C.arithmetic)
            for chunk in draw:
                B = self._cut(chunk, scratch)
                np.matmul(B, B.T, out=product)  # NumPy recognises this and computes one triangle only
                lengths = np.einsum("ij,ij->i", B, B, dtype=np.float64) if single else 0.0
                with lock:
                    np.add(total, product, out=total)
                    np.add(squares, lengths, out=squares)

        workers = workers_of(m * m * C.arithmetic.itemsize)
        return centered.filled(C, slices, share, total, "matrix", most=workers), squares

    def _on_device(self, product: Callable[[Any], Any]) -> Any:
        """Add up products of blocks of C, each with its long side first."""
        blocks = self.centered.on_device(lambda _, C: product(C if self.axis == 0 else C.T), self.axis)
        return sum(blocks, start=0.0)

    def lift(self, W: Any) -> Any:
        """Return the product of the other side, ``C.T W`` or ``C W``, in the dtype of W."""
        C = self.centered
        if self._memory is None or W.shape[1] == 0:
            return C.times(W) if self.axis == 0 else C.transposed_times(W)
        out = np.empty((C.rows.shape[self.axis], W.shape[1]), dtype=W.dtype)
        groups = arrays.thin_groups(W, *self._cutting, C.thin_slices(self.axis)[0].stop)

        def share(draw: Iterator[slice]) -> None:
            for chunk in draw:
                B = self._pieces(chunk, None).transpose(0, 2, 1)
                out[chunk] = np.concatenate([np.matmul(B, group).sum(axis=0) for group in groups], axis=1)

        arrays.each_thread(share, C.thin_slices(self.axis))
        return out

    def _wide_slices(self) -> list[slice]:
        """Slices for large products: wide enough that adding them up costs less than making them."""
        C, least = self.centered, centered.least_rows(self.size)
        return C.column_slices(least) if self.axis else C.row_slices(least)

    def _cut(self, chunk: slice, scratch: Any) -> Any:
        """One block of C with the operator's order as its first dimension."""
        if self.axis == 0:
            return self.centered.block(chunk, slice(None), scratch).T
        return self.centered.block(slice(None), chunk, scratch)

    # C is multiplied by few vectors in pieces of at most THIN rows of the operator's order, of one size, so
    # that one call of NumPy runs over them; what is missing in the last piece is zero.

    @property
    def _cutting(self) -> tuple[int, int]:
        """Number of pieces, and rows in each."""
        pieces = -(-self.size // arrays.THIN)
        return pieces, -(-self.size // pieces)

    def _pieces(self, chunk: slice, scratch: Any) -> Any:
        """One block of C as (pieces, rows, length of the part), kept where memory was given for it."""
        if chunk.start in self._kept:
            return self._kept[chunk.start]
        pieces, rows = self._cutting
        length, order = chunk.stop - chunk.start, pieces * rows
        if self._memory is not None:
            buffer = self._memory[chunk.start * order : chunk.stop * order]
        else:
            buffer = scratch[: length * order]
        buffer = buffer.reshape((length, order) if self.axis == 0 else (order, length))
        cut = buffer[:, : self.size].T if self.axis == 0 else buffer[: self.size]
        block = self._cut(chunk, cut.T if self.axis == 0 else cut)
        if not np.may_share_memory(block, cut):
            cut[...] = block
        (buffer[:, self.size :] if self.axis == 0 else buffer[self.size :])[...] = 0
        shaped = buffer.reshape(length, pieces, rows).transpose(1, 2, 0)
        shaped = shaped if self.axis == 0 else buffer.reshape(pieces, rows, length)
        if self._memory is not None:
            self._kept[chunk.start] = shaped
        return shaped

    def _scratch(self, slices: list[slice]) -> Any:
        if self._memory is not None:
            return None
        pieces, rows = self._cutting
        return np.empty(slices[0].stop * pieces * rows, dtype=self.centered.arithmetic)


def product_error(
    view: CenteredRows, inner: int, block: int, products: int, observed: Observed, worst_case: bool
) -> tuple[float, records.BoundKind]:
    """Bound ``||computed - exact||_2`` for a product of C with its transpose.

    In float64 the worst case over all roundings is small enough to be used; products with sparse data round
    what cancels between its entries and its means. In float32 sums of at most ``block`` terms are rounded;
    their errors are taken as independent and centred, so that they grow with the square root and average out
    over the blocks, which makes an estimate. Sums that stagnate, or round in one direction, break that
    assumption: the exact diagonal shows by how much, and then the estimate follows from it. What is observed
    to exceed the worst case contradicts it, and takes its place.

    Parameters
    ----------
    view : CenteredRows
        C.
    inner : int
        Length of the sums that make one entry.
    block : int
        Number of terms that are summed in the data's own precision.
    products : int
        1 for the matrix itself, 2 for a product with C after one with its transpose.
    observed : Observed
        What exact products show: a probe takes the place of an estimate.
    worst_case : bool
        Whether the worst case is asked for.

    References
    ----------
    Higham and Mary (2019), A new approach to probabilistic rounding error analysis, theorem 3.1.
    """
    unit, total, forming = view.unit_roundoff, view.total + view.noise, view.forming_error
    # Blocks about zero are multiplied with their means; see _about_zero.
    total /= 1.0 - centered.part_of_mean(view)
    if unit < 1e-12:
        if products == 2 and view.rows.skips_zeros:
            # Entries and means are multiplied apart and then subtracted, so that nearly all may cancel.
            gross = view.gross
            total = max(total, gross * (math.sqrt(view.total) + sum(view.rows.shape) * unit * gross))
        terms = inner if products == 1 else sum(view.rows.shape)
        return (terms + 6) * unit * total + forming, "deterministic"
    block = chain = min(block, inner)
    if products == 2:
        # The first of the two sums over the other side, in NumPy in pieces that are themselves added up.
        other = sum(view.rows.shape) - inner
        piece = min(arrays.THIN, other) if arrays.is_numpy(view.rows.like) else other
        chain += piece + -(-other // piece)
    worst = (chain + 3 * products) * unit * total + forming
    likely = CONFIDENCE * unit * (math.sqrt(block) * math.sqrt(block / inner) + 1.0) * total
    likely += view.mean_error
    likely = max(likely, DRIFTS * observed.drift)
    kind: records.BoundKind = "estimate"
    if observed.probed < math.inf:
        likely, kind = observed.probed, "probabilistic"
    # A bound that is certain is worth twice the width.
    certain = (worst_case or worst <= 2 * likely) and observed.least <= worst
    return (worst, "deterministic") if certain else (max(likely, observed.least), kind)


def observed(view: CenteredRows, result: SingleMoments, probe: records.FloatArray | None) -> Observed:
    """Return what the diagonal, and a probe, show of the error of a scatter matrix of float32 products.

    Parameters
    ----------
    view : CenteredRows
        C, whose columns are divided by its divisor.
    result : SingleMoments
        ``drift`` and ``gap`` are in float64, before columns are divided.
    probe : ndarray of shape (d, c) or None
        G, independent standard normal entries.

    Notes
    -----
    Nothing is assumed of roundings. Let E be the error and u a unit vector with ``E u = +-||E||_2 u``. The c
    numbers ``u.T g`` are independent and standard normal, so that ``(u.T g)^2 >= t = (pi / 2) p^(2 / c)`` for
    one of them at least, except with probability p. For this column
    ``||E g|| >= |u.T E g| >= ||E||_2 sqrt(t)``. Divided by D on both sides, E acts on ``D g``: the numbers
    ``u.T D g`` have a standard deviation of at least the smallest divisor. The rounding of the products with
    G is bounded by its worst case: an entry takes a sum over the columns, one over the rows of a block in the
    cache and one over the blocks.

    References
    ----------
    Freivalds (1979), Fast probabilistic algorithms. Halko, Martinsson, Tropp (2011), Finding structure with
    randomness, lemma 4.1.
    """
    n, d = view.rows.shape
    divisor = np.ones(d) if view.divisor is None else view.divisor
    varying = np.isfinite(divisor)
    drifts = np.abs(result.drift[varying]) / divisor[varying] ** 2
    drift, least = float(drifts.sum()), float(drifts.max(initial=0.0))
    if probe is None or not varying.any():
        return Observed(least=least, drift=drift)
    # Products with sparse rows round what cancels between entries and means.
    rows = centered.terms_of(view) or n if view.rows.skips_zeros else centered.rows_of_chunk(d)
    rows = min(n, rows)
    norms = view.norms + (2.0 * math.sqrt(n) * np.abs(view.mean) if view.rows.skips_zeros else 0.0)
    unit, terms = float(np.finfo(np.float64).eps) / 2, d + rows + -(-n // rows) + 20
    length, gross = float(np.linalg.norm(probe, axis=0).max()), 1.0 + 1.2 * centered.SMALL_MEAN
    sizes = float(np.linalg.norm(norms)) * float(np.linalg.norm((norms / divisor)[varying]))
    rounding = terms * unit * gross * length * sizes
    seen = np.linalg.norm(result.gap[varying] / divisor[varying, None], axis=0)
    lengths = np.linalg.norm(divisor[varying, None] * probe[varying], axis=0)
    least = max(least, float(((seen - rounding) / lengths).max()))
    share = math.sqrt(math.pi / 2) * records.PROBE_PROBABILITY ** (1 / probe.shape[1])
    forming = float(view.multiplied_in(double=True).forming_error)
    probed = (float(seen.max()) + rounding) / (share * float(divisor[varying].min())) + forming
    return Observed(probed, least, drift)


def product_tolerance(shape: tuple[int, int], unit: float, block: int) -> float:
    """Relative size below which an eigenvalue of a product is rounding.

    ``max(n, d) eps`` in float64. In float32 only ``block`` terms meet in that precision, so the longer
    dimension does not count: ``sqrt(block) eps``.
    """
    eps = 2 * unit
    if unit < 1e-12:
        return max(shape) * eps
    return math.sqrt(min(block, max(shape))) * eps


# --------------------------------------------------------- the two sides


class CovarianceOperator(ScatterOperator):
    """The scatter matrix ``C.T C``: eigenvalues are squared singular values of C."""

    axis = 0


class GramOperator(ScatterOperator):
    """The Gram matrix ``K = C C.T`` of inner products of centred rows.

    Its non-zero eigenvalues are those of ``C.T C``; an eigenvector b of eigenvalue s^2 lifts to the
    direction ``C.T b / s``.
    """

    axis = 1
