"""PCA as a problem for the engine: a table, its two matrices, and the way back to directions."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.core import arrays, records
from gramian.core.records import Components, DirectionBounds, FloatArray, SolveRequest, Spectrum, Target
from gramian.engine import centered, scatter
from gramian.engine.centered import CenteredRows, SingleMoments
from gramian.engine.certificates import lifted
from gramian.engine.operator import Operator, TableCosts, digest
from gramian.engine.routes import Route
from gramian.engine.scatter import CovarianceOperator, GramOperator, ScatterOperator
from gramian.engine.solving import Problem, Solution, complete_basis, components_of, fixed_signs, solve
from gramian.errors import DataError
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Rows

# Columns up to which the covariance is decomposed on the host, whatever device the rows are on, and up to
# which what is read in every pass is multiplied in float64.
FEW_ON_DEVICE, FEW_COLUMNS = 512, 400
SPARSE_TOL = 1e-8  # below which float32 products of sparse rows, whose zeros round nothing, will hardly do
# Entries, and columns or rows, up to which a product in float64 is faster than one in float32 and a pass that
# improves its result.
FEW_ENTRIES, NARROW = 3_000_000, 128
# Gaussian columns that a scatter matrix of float32 products is probed with (so few take a path of BLAS
# without packing), the random stream that they are of, and rows that it depends on.
PROBE_COLUMNS, PROBE_STREAM, SAMPLED_ROWS = 6, 3, 64
# Share of the tolerance below which the rounding that a model predicts needs no probe.
ENOUGH = 0.9


@dataclass(frozen=True, eq=False)
class Directions:
    """What a table's eigenpairs mean.

    Attributes
    ----------
    components : Components
        Variances.
    vectors : array of shape (d, k)
        Orthonormal columns, signs fixed.
    scores : array of shape (n, k) or None
        Scores of the fitted rows where the route has them for free.
    """

    components: Components
    vectors: Any
    scores: Any


@dataclass(eq=False)
class LinearProblem(Problem):
    """Directions of largest variance of a table.

    Attributes
    ----------
    rows : Rows
    center : bool
    scale : None, "unit", "pareto", "genotype" or ndarray of shape (d,)
    ddof : float
        In the unit of ``rows.weights``, as the sum of the weights is.
    metric : ndarray of shape (d,) or None
        Roots of the weights of the columns.
    worst_case : bool
        Whether rounding is bounded by its worst case only.
    view : CenteredRows or None
        The centred data, once it has been measured.
    """

    rows: Rows
    center: bool = True
    scale: str | FloatArray | None = None
    ddof: float = 1
    unit: str = "eigenvalues (variances)"
    view: CenteredRows | None = None
    metric: FloatArray | None = None
    worst_case: bool = False

    @property
    def costs(self) -> TableCosts:
        """What products with the covariance and the Gram matrix take."""
        rows = self.rows
        n, d = rows.shape
        # To read once more costs more than products of few columns in float64, which need one pass.
        if rows.free_to_revisit:
            few = n * d <= FEW_ENTRIES and min(n, d) <= NARROW and arrays.is_numpy(rows.like)
        else:
            few = d <= FEW_COLUMNS
        quick = few or (rows.skips_zeros and self._needs_double)
        if not quick and not arrays.is_numpy(rows.like):
            from gramian.tables.device import quick_double  # which no fit on the host needs

            quick = quick_double(rows.like)
        facts = (rows.skips_zeros, rows.speed, rows.cuts_columns, rows.share, rows.spread, quick)
        dtype = rows.dtype if rows.weights is None else np.dtype(np.float64)
        # Most variants have nothing to do with each other.
        flat = isinstance(self.scale, str) and self.scale == "genotype"
        return TableCosts(rows.shape, dtype, *facts, flat)

    @property
    def _needs_double(self) -> bool:
        """Whether one pass in float64 is unlikely to improve a float32 covariance of sparse rows enough."""
        return self.worst_case or (self.request is not None and self.request.tol < SPARSE_TOL)

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows, or their number."""
        return self.rows.weight

    @property
    def most(self) -> int:
        """Number of all components; integer weights stand for repeated rows."""
        return min(self.rows.repeats, self.rows.shape[1])

    @property
    def degrees(self) -> float:
        """What sums of squares are divided by."""
        return self.weight - self.ddof

    def measured(self) -> CenteredRows:
        """Return the centred data, measuring it in one pass where that has not been done."""
        if self.view is None:
            self.view = centered.center_rows(
                self.rows, center=self.center, scale=self.scale, ddof=self.ddof, metric=self.metric
            )
            require_range(self.view, self.degrees)
        return self.view

    def build(self, route: Route) -> ScatterOperator:
        """Build the covariance or the Gram matrix; data that were not measured are on the way."""
        form = route.form
        if form.whole and form.matrix == "covariance" and self.view is None:
            return self._covariance(double=form.double)
        view = self.measured().multiplied_in(double=form.double)
        kind = GramOperator if form.matrix == "gram" else CovarianceOperator
        return kind(view, keep=form.storage == "kept", whole=form.whole, worst_case=self.worst_case)

    def _covariance(self, *, double: bool) -> CovarianceOperator:
        """Mean and scatter matrix in one pass over the data."""
        rows = self.rows if double else self.rows.in_float32
        probe = None if double or self.worst_case else self._probe(rows)
        result, unseen = centered.scatter(rows, center=self.center, double=double, probe=probe)
        options: dict[str, Any] = {"scale": self.scale, "ddof": self.ddof, "metric": self.metric}
        self.view = centered.from_moments(self.rows, result, center=self.center, unseen=unseen, **options)
        require_range(self.view, self.degrees)
        view = replace(self.view, rows=rows).multiplied_in(double=double)
        if isinstance(result, SingleMoments) and view.arithmetic == np.float64:  # it is beyond float32
            result, _ = centered.scatter(rows, center=self.center, double=True)
        matrix = result.squares
        if view.divisor is not None:
            matrix = matrix / view.divisor[:, None] / view.divisor[None, :]
        # A small one is decomposed sooner than it is moved.
        if len(matrix) > FEW_ON_DEVICE:
            matrix = arrays.from_numpy(matrix, self.rows.like)
        observed = scatter.Observed()
        if isinstance(result, SingleMoments):
            observed = scatter.observed(view, result, probe)
        return CovarianceOperator(
            view, whole=True, matrix=matrix, observed=observed, worst_case=self.worst_case
        )

    def _probe(self, rows: Rows) -> FloatArray | None:
        """Gaussian columns for rows of NumPy whose products round in float32; None where none are needed.

        They follow from the seeds and, of an array, from rows of it, so that data cannot easily hide from one
        seed.
        """
        request = self.request
        if not _can_be_probed(rows):
            return None
        seen: list[Any] = []
        if rows.free_to_revisit and rows.in_one_place:
            starts = range(0, rows.shape[0], -(-rows.shape[0] // SAMPLED_ROWS))
            seen = [rows.cut(slice(i, i + 1), slice(None)) for i in starts]
            some = np.concatenate(seen)
            if request is not None and self._estimate(rows, some) <= ENOUGH * request.tol:
                return None
        drawn = records.random_stream(None if request is None else request.seeds, PROBE_STREAM)
        seed = [*drawn.integers(2**32, size=4).tolist(), int.from_bytes(digest(*seen), "little")]
        return np.random.default_rng(seed).standard_normal((rows.shape[1], PROBE_COLUMNS))

    @arrays.blas_threads()  # several would wait for each other longer than so little work takes
    @np.errstate(all="ignore")  # of what is not finite or too large nothing is said
    def _values_of(self, some: Any) -> FloatArray:
        """Eigenvalues of the covariance of some rows, descending; none where they do not vary."""
        C = some.astype(np.float64)
        C = C - C.mean(axis=0) if self.center else C
        total = float(np.sum(C * C))
        if not 0 < total < math.inf:
            return np.empty(0)
        return np.linalg.eigvalsh(C @ C.T if len(C) < C.shape[1] else C.T @ C)[::-1]

    def _estimate(self, rows: Rows, some: Any) -> float:
        """Rounding of the scatter matrix over its largest eigenvalue, as a model and a few rows have it."""
        values = self._values_of(some) if self.scale is None and self.metric is None else np.empty(0)
        if not values.size:
            return math.inf
        view = centered.uncentered(rows)
        inner, terms = rows.shape[0], centered.terms_of(view) or rows.shape[0]
        facts = inner, terms + centered.PIECES, 1, scatter.Observed(), False
        of_trace = scatter.product_error(view, *facts)[0] / view.total
        return float(of_trace * values.sum() / max(float(values[0]), 1e-300))

    def truncate(self, result: Spectrum, operator: Operator, request: SolveRequest) -> Spectrum:
        """Cut off the eigenvalues that the larger side has beyond ``min(n, d)``: they are zero."""
        least = min(self.rows.shape)
        if result.values.size + result.rest.size <= least:
            return result
        cut = result.first(least)
        return replace(cut, rest=cut.rest[: least - cut.values.size])

    def factor(self) -> float:
        """Return what turns squared singular values of C into variances."""
        return self.measured().square_unit / self.degrees

    def directions(self, solution: Solution, count: int | None) -> Directions:
        """Lift the eigenpairs to directions.

        Parameters
        ----------
        solution : Solution
        count : int or None
            Number of directions: beyond the rank they are orthonormal and have no variance.
        """
        spectrum, view, rows = solution.spectrum, self.measured(), self.rows
        components = components_of(spectrum, count, self.factor(), view.total, self.most)
        rank, k = components.rank, components.values.size
        vectors = spectrum.vectors[:, :rank]
        scale = np.sqrt(spectrum.values[:rank])
        scores = None
        if isinstance(solution.operator, GramOperator):
            scores = vectors * arrays.from_numpy(scale, vectors)[None, :]
            vectors, kept = _lift(solution.operator, vectors, scale)
            scores = scores if kept else None
        if view.divisor is not None and np.isinf(view.divisor).any():
            # A constant column has no part in any direction; rounding must not give it one.
            varying = np.isfinite(view.divisor).astype(arrays.numpy_dtype(vectors))
            vectors = vectors * arrays.from_numpy(varying, vectors)[:, None]
            vectors = _orthonormal_again(vectors) if rank else vectors
        directions = complete_basis(arrays.to_dtype(vectors, rows.dtype), k)
        signs = fixed_signs(directions)
        directions = directions * arrays.to_dtype(arrays.from_numpy(signs, directions), rows.dtype)[None, :]
        directions = arrays.moved(directions, rows.like)
        # Vectors of weighted rows are scores times the roots of their weights.
        if scores is None or view.weighted:
            return Directions(components, directions, None)
        with np.errstate(over="ignore"):  # callers that want scores raise an error
            scores = scores * arrays.from_numpy(signs[:rank] * 2.0**view.unit_exponent, scores)[None, :]
            scores = arrays.to_dtype(scores, rows.dtype)
        if rank < k:
            empty = np.zeros((rows.shape[0], k - rank), rows.dtype)
            scores = arrays.namespace(scores).concat([scores, arrays.from_numpy(empty, scores)], axis=1)
        return Directions(components, directions, arrays.moved(scores, rows.like))

    def direction_bounds(self, solution: Solution, result: Directions) -> DirectionBounds | None:
        """Bound the angles between the directions and those of the exact covariance.

        Notes
        -----
        A direction ``C.T b / s`` of an eigenvector b of the Gram matrix multiplies the sine of b's angle by
        at most the largest singular value over s. Making them orthonormal again moves them by at most as
        much once more. The product adds its own rounding.
        """
        if solution.certificate is None or solution.certificate.directions is None:
            return None
        bounds, kind = solution.certificate.directions, solution.spectrum.error_kind
        unit = float(np.finfo(arrays.numpy_dtype(result.vectors)).eps)
        factors, drift = np.ones(bounds.sines.size), np.full(bounds.sines.size, unit)
        if isinstance(solution.operator, GramOperator):
            view = solution.operator.centered
            values = np.maximum(solution.spectrum.values[: factors.size], np.finfo(np.float64).tiny)
            top = float(values.max(initial=0.0))
            exact = view.unit_roundoff < 1e-12 or self.worst_case
            kind = kind if exact else "estimate"
            n = view.rows.shape[0]
            terms = (n if exact else min(n, scatter.CONFIDENCE * math.sqrt(n))) + 3
            size = view.gross if view.rows.skips_zeros else math.sqrt(view.total)
            change = terms * view.unit_roundoff * size + view.forming_error / math.sqrt(top or 1.0)
            factors = 2.0 * np.sqrt(top / values)
            drift = drift + change / np.sqrt(values)
        return lifted(bounds, factors, drift, max(bounds.kind, kind, key=records.BOUND_KINDS.index))

    def hidden_by_offset(self, solution: Solution, components: Components) -> str:
        """Say which variances above the tolerance are 0 because the data are far from 0; "" where none is."""
        spectrum, noise, k = solution.spectrum, solution.operator.noise, components.values.size
        top = float(spectrum.values.max(initial=0.0))
        # Otherwise the rank is one of the data.
        if solution.certificate is None or noise < (1 - 1e-9) * spectrum.rank_tolerance * top:
            return ""
        zeroed = spectrum.values[components.rank : k]
        zeroed = zeroed[zeroed > solution.certificate.tol * top] * self.factor()
        if not zeroed.size:
            return ""
        view = self.measured()
        varies = view.norms > 0
        spread = view.norms[varies] / math.sqrt(self.weight)
        ratio = float((np.abs(view.mean[varies]) / spread).max())
        return (
            f"{zeroed.size} of {k} components have variance 0, although their computed variances reach "
            f"{zeroed.max():.3g}: the rounding of float64 numbers this far from 0 can make variances of up "
            f"to {noise * self.factor():.3g} (the mean of a column is {ratio:.1e} times its standard "
            "deviation). Subtract the offset in a wider type before X becomes float64."
        )


def _can_be_probed(rows: Rows) -> bool:
    """Whether rows are those of NumPy in float32, without weights."""
    return arrays.is_numpy(rows.like) and rows.weights is None and rows.block_dtype == np.float32


def _lift(operator: GramOperator, B: Any, scale: FloatArray) -> tuple[Any, bool]:
    """Directions ``C.T b / s``, made orthonormal again where small s has spoilt that."""
    view = operator.centered
    factor = arrays.from_numpy((1.0 / scale).astype(view.arithmetic), view.rows.like)
    U = operator.lift(arrays.to_dtype(B, view.arithmetic)) * factor[None, :]
    gap = arrays.as_float64(U.T @ U) - np.eye(U.shape[1])
    eps = float(np.finfo(view.rows.dtype).eps)
    if float(np.abs(gap).max(initial=0.0)) <= 10 * eps:
        return U, True
    return _orthonormal_again(U), False


def _orthonormal_again(U: Any) -> Any:
    """Orthonormal columns in place of nearly orthonormal ones, each in the same direction."""
    Q, R = arrays.orthonormal(U)
    signs = np.where(np.diag(R) < 0, -1.0, 1.0).astype(arrays.numpy_dtype(Q))
    return Q * arrays.from_numpy(signs, Q)[None, :]


def require_range(view: CenteredRows, degrees: float) -> None:
    """Refuse a variance that float64 cannot hold, in the units of the data."""
    variance = view.total * (view.square_unit / degrees)
    # Of what rounds to less nothing would be known.
    if view.total > 0 and not sys.float_info.min / sys.float_info.epsilon <= variance < math.inf:
        size = (math.log2(view.total) / 2 + view.unit_exponent) * math.log10(2)
        raise DataError(
            f"With scale and feature_weight X has a size of about 10^{size:.0f}, "
            "whose square float64 cannot hold.",
            "Give other numbers in scale and feature_weight.",
        )


# ---- Eigenvalues and singular triplets of tables as they stand: for rules and criteria

# Residual of the largest eigenvalues of data without structure: far below what chance makes them vary by.
ROUGH = 1e-3


def leading_values(A: Any, count: int, memory_limit: int | None = None) -> FloatArray:
    """Return the ``count`` largest eigenvalues of ``A.T A`` for a table that is not centred, to 1e-3.

    By the route that is predicted to be fastest for so many components of such a table, without vectors.
    """
    if count == 0:
        return np.empty(0)
    problem = LinearProblem(as_rows(A), center=False, ddof=0)
    limit = arrays.memory_limit_bytes(memory_limit)
    solution = solve(problem, SolveRequest(Target(count), ROUGH, limit, vectors=False, certify=False))
    return np.maximum(solution.spectrum.values[:count] * problem.measured().square_unit, 0.0)


def factors(A: Any, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular triplets of A above rounding: (a, r), (r,), (r, b) with r <= count."""
    problem = LinearProblem(as_rows(np.asarray(A, dtype=np.float64)), center=False, ddof=0)
    limit = arrays.memory_limit_bytes(None)
    solution = solve(problem, SolveRequest(Target(count), 1e-9, limit, certify=False))
    result = problem.directions(solution, None)
    r = result.components.rank
    s = np.sqrt(solution.spectrum.values[:r] * problem.measured().square_unit)
    V = arrays.as_float64(result.vectors)[:, :r]
    return (np.asarray(A, dtype=np.float64) @ V) / s, s, V.T
