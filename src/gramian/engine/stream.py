"""Streams of rows: moments of batches, merged exactly, and PCA of them as problems for the engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from gramian.core import records
from gramian.core.arrays import from_numpy, numpy_dtype
from gramian.core.records import FloatArray, Moments, RealArray
from gramian.engine import centered
from gramian.engine.centered import CenteredRows, diagonal_of, from_moments, merge_moments, scatter
from gramian.engine.linear import Directions, LinearProblem, require_range
from gramian.engine.operator import BANDWIDTH, Form, SymmetricCosts, SymmetricMatrix, TableCosts
from gramian.engine.routes import Route
from gramian.engine.solving import Solution
from gramian.tables.rows import Rows, SeenRows

BATCH_SECONDS = 3e-4  # to check a batch and merge it, its matrix not counted
BESIDE = 4  # matrices: of what was seen, of a batch, its product, and their sum
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
        Each row with its weight; ``squares`` has shape (d, d).
    squared_weights : float
        Sum of f^2 w. A row of weight w is w equal rows, so that its own weight is not squared.
    kind : array of shape (0, 0)
        Of the kind and dtype that results are returned in.
    seconds : float
        What the batches took.
    blur : float
        Bound on what means that were not found for merging change sums of squares by, relatively.
    """

    rows: int
    batches: int
    centered: bool
    moments: Moments
    squared_weights: Annotated[float, "", records.POSITIVE]
    kind: Annotated[RealArray, "_ _"]
    seconds: float = 0.0
    blur: float = 0.0

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.moments.mean)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns by the mean and by both sides of the squares."""
        return self.columns, *self.moments.squares.shape

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
        return SeenRows(dtype=dtype, shape=(self.rows, self.columns), like=self.kind)

    def column_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of the columns, shape (d,); divided by the sum of the weights."""
        return self.moments.mean, self.column_squares / self.moments.count

    @property
    def column_squares(self) -> FloatArray:
        """Sums of squares of the columns about their means, shape (d,)."""
        return diagonal_of(self.moments.squares)

    def degrees_lost(self, ddof: int) -> float:
        """Return what the sum of the weights is reduced by to divide sums of squares, as in ``numpy.cov``."""
        return ddof * self.squared_weights / self.moments.count

    def view(self, scale: Any, ddof: float, metric: FloatArray | None = None) -> CenteredRows:
        """Return the centred rows, of which there is all but their numbers."""
        options = {"center": self.centered, "scale": scale, "ddof": ddof, "metric": metric}
        return from_moments(self.table(), self.moments, **options)

    def error(self, view: CenteredRows, degrees: float) -> float:
        """Bound on what float64 has changed eigenvalues of the scatter matrix by.

        The rounding of ``degrees`` is part of it.
        """
        terms = float(self.rows + self.columns + MERGED * self.batches)
        # Of few rows that weigh anything, the sum of the weights nearly cancels what is taken off it.
        terms += WEIGHED * (1 + self.batches) * (self.moments.count / degrees - 1.0)
        # Batches of float32 were centred and multiplied in float64.
        forming = replace(view, double=True).forming_error
        return (terms * EPS + self.blur) * (view.total + view.noise) + forming


def empty_like(array: Any) -> Any:
    """Return an array of shape (0, 0) of the same kind and dtype, which keeps no other one alive."""
    return from_numpy(np.empty((0, 0), dtype=numpy_dtype(array)), array)


def seen_of(rows: Rows, *, center: bool, among: int = 1) -> StreamMoments:
    """Return mean and scatter matrix of one batch, in one pass; it may be merged with so many rows."""
    result, _ = scatter(rows, center=center, double=True, among=among)
    n = rows.shape[0]
    return StreamMoments(n, 1, center, result, float(result.count), empty_like(rows.like))


def merged(before: StreamMoments, batch: StreamMoments, forgetting: float) -> StreamMoments:
    """Return what is known of all rows, from what was known and a batch.

    Means and scatter matrices are merged by Chan, Golub and LeVeque (1979), see
    :func:`gramian.engine.centered.merge_moments`.
    """
    faded = before.moments
    if forgetting != 1.0:
        faded = replace(faded, count=faded.count * forgetting, squares=faded.squares * forgetting)
    before = replace(before, moments=faded)
    apart = 0.0 if before.weighted or batch.weighted else centered.EQUAL
    moments = merge_moments(faded, batch.moments, apart=apart)
    weights = before.squared_weights * forgetting**2 + batch.squared_weights
    kind = max(batch.kind, before.kind, key=lambda kind: numpy_dtype(kind).itemsize)
    seen = replace(before, rows=before.rows + batch.rows, batches=before.batches + 1, moments=moments)
    return replace(seen, squared_weights=weights, kind=kind, seconds=batch.seconds)


# ------------------------------------------------------------- problems for the engine


def scatter_costs(rows: int, d: int, batches: int = 1) -> SymmetricCosts:
    """Return what the scatter matrix of a stream of d columns takes."""
    seconds = TableCosts((rows, d), np.dtype(np.float64)).build(Form("covariance", "whole"))[0]
    made = "" if batches == 1 else f"; {batches:,} batches merged in one pass"
    seconds += batches * (BATCH_SECONDS + BESIDE * 8 * d * d / BANDWIDTH)
    too_large = (
        f"A stream of {d:,} columns stores several matrices of {d:,} x {d:,} numbers and",
        "Raise memory_limit, or fit a file of all rows, which needs less.",
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
        return SymmetricMatrix(matrix, psd=True, error=error, noise=view.noise, terms=self.rows.shape[0])


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
    rows, lost = replace(seen.table(), like=kind), seen.degrees_lost(ddof)
    return StreamProblem(rows, seen.centered, scale, lost, seen=seen, metric=metric)
