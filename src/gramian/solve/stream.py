"""Streams of rows: moments of batches, merged exactly, and PCA of them as problems for the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from gramian.arrays import from_numpy, numpy_dtype, power_of_two
from gramian.data import Rows
from gramian.data.rows import SeenRows
from gramian.errors import DataError, option
from gramian.operators.centered import CenteredRows
from gramian.operators.costs import BANDWIDTH, Form, SymmetricCosts, TableCosts
from gramian.operators.moments import (
    ALONE,
    EQUAL,
    LEAST_SQUARES,
    from_moments,
    lost_columns,
    merge_moments,
    require_squares,
    scatter,
)
from gramian.operators.operator import SymmetricMatrix
from gramian.records import BoundKind, Certificate, FloatArray, Moments, Remainder, SolveRequest
from gramian.solve.linear import Directions, LinearProblem, require_range
from gramian.solve.route import Route
from gramian.solve.solving import Solution
from gramian.store import Array, Optional

BATCH_SECONDS = 3e-4  # to check a batch and merge it, its matrix not counted
BESIDE = 4  # matrices: of what was seen, of a batch, its product, and their sum
# Between two to these powers, sums of squares and their squares stay in the range of float64.
SAFE = 200
# Below the first, numbers lose digits; columns much smaller than others by the second need them at no scale.
LEAST_NORM, LEAST_SCALE = 1e-290, 1e-150
SPLIT = 1e-8  # share of the largest eigenvalue that bounds the products of columns left out as constant
WEIGHED = 4  # bounds the roundings of sums of weights and of their squares by a batch
MERGED = 25  # bounds the roundings of an entry when two batches become one
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class StreamMoments:
    """All that is remembered of a stream of rows.

    A row weighs f w: w is its own weight, and f the product of the forgetting factors of later batches.

    Attributes
    ----------
    rows, batches : int
        How many there were.
    centered : bool
        Whether column means are subtracted.
    moments : Moments
        Of ``X / 2**exponent``, each row with its weight; ``squares`` has shape (d, d).
    squared_weights : float
        Sum of f^2 w. A row of weight w is w equal rows, so that its own weight is not squared.
    exponent : int
    kind : array of shape (0, 0)
        Of the kind and dtype that results are returned in.
    seconds : float
        What the batches took.
    blur : float
        Bound on what means that were not found for merging change sums of squares by, relatively.
    loss : ndarray of shape (d,) or None
        The exact scatter matrix of ``X / 2**exponent`` lies within ``diag(loss)`` of ``squares``, rounding
        apart; None where nothing was discarded before the stream.
    loss_kind : str
        Kind of that bound.
    hidden : ndarray of int
        Columns that vary, by too little for their squares to be kept.
    """

    rows: int
    batches: int
    centered: bool
    moments: Moments
    squared_weights: Annotated[float, Array("", least=0)]
    exponent: int
    kind: Annotated[Any, Array("_ _")]
    seconds: float = 0.0
    blur: float = 0.0
    loss: Annotated[FloatArray | None, Optional(Array("d", least=0))] = None
    loss_kind: BoundKind = "deterministic"
    hidden: Annotated[Any, Array("_", least=0, kinds="iu")] = field(
        default_factory=lambda: np.empty(0, dtype=np.intp)
    )

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.moments.mean)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns by the mean, by both sides of the squares and by the loss."""
        squares = self.moments.squares.shape
        lossy = self.columns if self.loss is None else len(self.loss)
        return self.columns, squares[0], squares[-1], lossy

    @property
    def effective(self) -> float:
        """Rows of weight 1 that tell as much: ``(sum f w)^2 / sum f^2 w``, or sum w if nothing is forgotten.

        References
        ----------
        Kish (1965), Survey sampling.
        """
        return float(self.moments.count * (self.moments.count / (self.squared_weights or 1.0)))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights of their own, or earlier ones were forgotten in part."""
        return self.moments.count != self.rows

    def table(self) -> SeenRows:
        """Return the table that was seen, without its numbers."""
        dtype = numpy_dtype(self.kind)
        return SeenRows(dtype=dtype, count=self.rows, columns=self.columns, kind=self.kind)

    def column_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of the columns, shape (d,); divided by the sum of the weights."""
        result = self.moments
        variances = np.ldexp(self.column_squares / result.count, 2 * self.exponent)
        return np.ldexp(result.mean, self.exponent), variances

    @property
    def column_squares(self) -> FloatArray:
        """Sums of squares of the columns of ``X / 2**exponent`` about their means, shape (d,)."""
        return _diagonal(self.moments.squares)

    def degrees_lost(self, ddof: int) -> float:
        """Return what the sum of the weights is reduced by to divide sums of squares, as in ``numpy.cov``."""
        return ddof * self.squared_weights / self.moments.count

    def view(self, scale: Any, ddof: float, metric: FloatArray | None = None) -> CenteredRows:
        """Return the centred rows, of which there is all but their numbers."""
        rows, center = self.table(), self.centered
        if scale is not None:
            require_squares(np.intersect1d(self.hidden, np.flatnonzero(self.column_squares < LEAST_SQUARES)))
        options = {"center": center, "scale": scale, "ddof": ddof, "metric": metric}
        return from_moments(rows, self.moments, self.exponent, **options)

    def error(self, view: CenteredRows, degrees: float) -> float:
        """Bound on what float64 and the loss have changed eigenvalues of the scatter matrix by.

        The rounding of ``degrees`` is part of it.
        """
        terms = float(self.rows + self.columns + MERGED * self.batches)
        # Of few rows that weigh anything, the sum of the weights nearly cancels what is taken off it.
        terms += WEIGHED * (1 + self.batches) * (self.moments.count / degrees - 1.0)
        lost = np.zeros(1) if self.loss is None else self.loss
        if view.divisor is not None:
            # A constant column has no part in the scaled matrix.
            lost = np.where(np.isinf(view.divisor), 0.0, (np.sqrt(lost) / view.divisor) ** 2)
        # Batches of float32 were centred and multiplied in float64.
        rounding = (terms * EPS + self.blur) * (view.total + view.noise) + replace(
            view, double=True
        ).forming_error
        return rounding + float(lost.max())


def empty_like(array: Any) -> Any:
    """Return an array of shape (0, 0) of the same kind and dtype, which keeps no other one alive."""
    return from_numpy(np.empty((0, 0), dtype=numpy_dtype(array)), array)


def blur_of(result: Moments) -> float:
    """Bound ``StreamMoments.blur`` for moments of rows that nothing was to be merged with."""
    squares = _diagonal(result.squares)
    varies = squares > 0
    off = result.count * EPS * np.abs(result.mean[varies]) / np.sqrt(squares[varies] / result.count)
    # A larger error of a mean was measured and taken off.
    return 2.0 * min(float(off.max(initial=0.0)), ALONE)


def seen_of_components(
    rows: int,
    weight: float,
    A: FloatArray,
    mean: tuple[FloatArray, FloatArray],
    remainder: Remainder,
    *,
    divisor: FloatArray | None,
    constant: Any,
    centered: bool,
    like: Any,
) -> StreamMoments:
    """Return what a fit says of its rows, as if they had been the first batch of a stream.

    Parameters
    ----------
    rows : int
        Their number.
    weight : float
        Sum of their weights.
    A : ndarray of shape (k, d)
        Components times singular values, of scaled columns.
    mean : pair of ndarrays of shape (d,)
        The column means, and what their rounding leaves out.
    remainder : Remainder
    divisor : ndarray of shape (d,) or None
        What columns were divided by; those in ``constant`` then have no part in A.
    constant : ndarray of int
    centered : bool
    like : array
        Of the kind and dtype that results are returned in.

    Raises
    ------
    DataError
        When all columns vary by so little that their means, in units of the data, have lost digits.
    """
    least = float(remainder.norms[remainder.norms > 0].min(initial=math.inf))
    if least < LEAST_NORM and float(remainder.norms.max()) < LEAST_SCALE:
        raise DataError(
            f"A fitted column has a norm of {least:.1e}, too small for its mean to have full precision. "
            "Multiply all rows by a power of ten and call fit again."
        )
    norms, loss = remainder.norms, np.full(A.shape[1], remainder.root_loss)
    if divisor is not None:
        if norms[constant].any():
            # Their products with other columns are lost: 2 |x.T S y| <= t x.T S x + y.T S y / t.
            lost, top = norms[constant], math.sqrt(A.shape[1]) * float(np.abs(A[:1]).max())
            loss = np.hypot(loss, math.sqrt(SPLIT) * np.hypot(top, loss))
            loss[constant] = np.hypot(lost.sum(), math.sqrt(len(constant) / SPLIT) * lost)
        A, loss = A * divisor, loss * divisor
    largest = max(float(norms.max()), float(np.abs(mean[0]).max()) * 2.0**-1000)
    exponent = power_of_two(largest)
    A, norms, loss, *center = (np.ldexp(part, -exponent) for part in (A, norms, loss, *mean))
    squares = A.T @ A
    # What was discarded is part of the sum of squares of every column.
    np.fill_diagonal(squares, norms**2)
    result = Moments(weight, center[0], squares, center[1])
    seen = StreamMoments(rows, 1, centered, result, float(weight), exponent, empty_like(like))
    return replace(seen, blur=blur_of(result), loss=loss**2, loss_kind=remainder.kind)


def seen_of(rows: Rows, *, center: bool, among: int = 1) -> StreamMoments:
    """Return mean and scatter matrix of one batch, in one pass; it may be merged with so many rows."""
    exponent, result = scatter(rows, center=center, double=True, among=among)
    n = rows.shape[0]
    seen = StreamMoments(n, 1, center, result, float(result.count), exponent, empty_like(rows.home))
    seen = replace(seen, hidden=lost_columns(rows, seen.column_squares, center))
    if rows.weights is None:
        return seen
    # Very large or small weights are taken into the unit of the data.
    exponent = _common_exponent(seen, seen)
    return replace(seen, moments=_moments_at(seen, exponent), exponent=exponent)


def merged(before: StreamMoments, batch: StreamMoments, forgetting: float) -> StreamMoments:
    """Return what is known of all rows, from what was known and a batch.

    Means and scatter matrices are merged by Chan, Golub and LeVeque (1979), see
    :func:`gramian.operators.moments.merge_moments`.
    """
    faded = before.moments
    if forgetting != 1.0:
        faded = replace(faded, count=faded.count * forgetting, squares=faded.squares * forgetting)
    before = replace(before, moments=faded)
    exponent = _common_exponent(before, batch)
    parts = [_moments_at(seen, exponent) for seen in (before, batch)]
    return replace(
        batch,
        rows=before.rows + batch.rows,
        batches=before.batches + 1,
        moments=merge_moments(*parts, apart=0.0 if before.weighted or batch.weighted else EQUAL),
        squared_weights=before.squared_weights * forgetting**2 + batch.squared_weights,
        exponent=exponent,
        kind=max(batch.kind, before.kind, key=lambda kind: numpy_dtype(kind).itemsize),
        blur=before.blur,
        loss=None if before.loss is None else _rescaled(before.loss * forgetting, before.exponent - exponent),
        loss_kind=before.loss_kind,
        hidden=_hidden(before, batch, exponent),
    )


def _hidden(before: StreamMoments, batch: StreamMoments, exponent: int) -> Any:
    """Columns whose squares are lost in one of the parts, or by bringing both to one power of two."""
    results = [before.hidden, batch.hidden]
    for seen in (before, batch):
        squares = seen.column_squares
        small = _rescaled(squares, seen.exponent - exponent) < LEAST_SQUARES
        results.append(np.flatnonzero((squares > 0) & small))
    if before.centered:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            finer = min(before.exponent, batch.exponent)
            first, second = (np.ldexp(seen.moments.mean, seen.exponent - finer) for seen in (before, batch))
            gap = np.abs(first - second)
            apart = (gap > 1e-10 * np.abs(first)) & (np.ldexp(gap, finer - exponent) ** 2 < LEAST_SQUARES)
        results.append(np.flatnonzero(apart))
    return np.unique(np.concatenate(results))


def _moments_at(seen: StreamMoments, exponent: int) -> Moments:
    shift, result = seen.exponent - exponent, seen.moments
    if shift == 0:
        return result
    with np.errstate(under="ignore"):
        mean, rest = np.ldexp(result.mean, shift), np.ldexp(result.rest, shift)
        return Moments(result.count, mean, _rescaled(result.squares, shift), rest)


def _rescaled(squares: FloatArray, shift: int) -> FloatArray:
    """Return squares of numbers times ``2**shift``."""
    with np.errstate(under="ignore"):
        return np.ldexp(squares, 2 * shift) if shift else squares


def _common_exponent(*parts: StreamMoments) -> int:
    """Power of two by which data are divided for their squares to stay in range; 0 where that will do."""
    coarse = max(seen.exponent for seen in parts)
    means = [np.ldexp(seen.moments.mean, seen.exponent - coarse) for seen in parts]
    gap = float(np.abs(means[1] - means[0]).max())
    totals = [(seen.exponent, _total(seen.moments.squares)) for seen in parts]
    sizes = [e + power_of_two(math.sqrt(total)) for e, total in totals if total > 0]
    sizes += [coarse + power_of_two(gap)] if gap > 0 else []
    size = max(sizes, default=0)
    if abs(size) < SAFE:
        return 0
    # A small spread is not blown up so far that a large mean overflows.
    return max(size, coarse + power_of_two(max(float(np.abs(mean).max()) for mean in means)) - 1000)


def _total(squares: FloatArray) -> float:
    return float(_diagonal(squares).sum())


def _diagonal(squares: FloatArray) -> FloatArray:
    return np.diag(squares) if squares.ndim == 2 else squares


# ------------------------------------------------------------- problems for the engine


def scatter_costs(rows: int, d: int, batches: int = 1) -> SymmetricCosts:
    """Return what the scatter matrix of a stream of d columns takes."""
    seconds = TableCosts((rows, d), np.dtype(np.float64)).build(Form("covariance", "whole"))[0]
    made = "" if batches == 1 else f"; {batches:,} batches merged in one pass"
    seconds += batches * (BATCH_SECONDS + BESIDE * 8 * d * d / BANDWIDTH)
    too_large = (
        f"A stream of {d:,} columns stores several matrices of {d:,} x {d:,} numbers and",
        f"Raise {option('memory_limit')}, or fit a file of all rows, which needs less.",
    )
    return SymmetricCosts(d, "covariance", BESIDE, seconds, made, too_large=too_large)


@dataclass(eq=False)
class StreamProblem(LinearProblem):
    """Of rows whose mean and scatter matrix are all that is left; their table is ``rows``.

    Attributes
    ----------
    seen : StreamMoments
        What is kept of them.
    """

    seen: StreamMoments = field(kw_only=True)

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows."""
        return self.seen.moments.count

    @property
    def most(self) -> int:
        """Number of all components; integer weights stand for repeated rows."""
        n, d = self.seen.table().shape
        return min(max(n, int(self.weight)), d)

    @property
    def costs(self) -> SymmetricCosts:  # type: ignore[override]
        """What products with the scatter matrix take."""
        return scatter_costs(self.seen.rows, self.seen.columns, self.seen.batches)

    def measured(self) -> CenteredRows:
        """Return the centred rows, without their numbers."""
        if self.view is None:
            self.view = replace(self.seen.view(self.scale, self.ddof, self.metric), rows=self.rows)
            require_range(self.view, self.degrees)
        return self.view

    def build(self, route: Route) -> SymmetricMatrix:  # type: ignore[override]
        """Return the scatter matrix, scaled."""
        view, matrix = self.measured(), self.seen.moments.squares
        if view.divisor is not None:
            matrix = matrix / view.divisor[:, None] / view.divisor[None, :]
        error = self.seen.error(view, self.degrees)
        built = SymmetricMatrix(matrix, psd=True, error=error, noise=view.noise, terms=self.rows.shape[0])
        built.error_kind = self.seen.loss_kind
        return built

    def certified(self, certificate: Certificate, request: SolveRequest) -> Certificate:
        """Return the certificate with the loss of accuracy before the stream."""
        view, exact = self.measured(), replace(self.seen, loss=None)
        lossy = self.seen.error(view, self.degrees) > 2 * exact.error(view, self.degrees)
        if certificate.ok or not lossy:
            return certificate
        why = (
            "fit discarded components, or set them to 0 as rounding, before partial_fit continued; "
            "call partial_fit instead of fit to retain all components."
        )
        return replace(certificate, reasons=(*certificate.reasons, why))


@dataclass(eq=False)
class ExpectedProblem(StreamProblem):
    """Of the expected moments of rows with missing values, whose noise is in every direction."""

    unit: str = "eigenvalues (expected variances)"

    def directions(self, solution: Solution, count: int | None) -> Directions:
        """Lift the eigenpairs to directions; there are as many variances as columns that vary."""
        result = super().directions(solution, count)
        varying = int(np.count_nonzero(~self.measured().constant))
        size = max(varying, result.components.values.size)
        return replace(result, components=replace(result.components, size=size))


def problem_of(seen: StreamMoments, scale: Any, ddof: int, metric: Any = None) -> StreamProblem:
    """Return the problem for the moments of a stream."""
    kind = np.empty((0, 0), dtype=numpy_dtype(seen.kind))
    rows, lost = replace(seen.table(), kind=kind), seen.degrees_lost(ddof)
    return StreamProblem(rows, seen.centered, scale, lost, seen=seen, metric=metric)


def with_pass(solution: Solution, seconds: float) -> Solution:
    """Return an answer whose plan took the seconds of the pass over the data too."""
    return replace(solution, account=replace(solution.account, earlier=seconds))
