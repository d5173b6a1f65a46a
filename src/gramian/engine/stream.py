"""PCA of streams as problems for the engine: from their moments, or from their sketch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gramian.analysis.directions import direction_bounds
from gramian.arrays import numpy_dtype, to_dtype
from gramian.engine.linear import Directions, LinearProblem, require_range
from gramian.engine.solving import Solution
from gramian.errors import ParameterError
from gramian.operators.centered import CenteredRows
from gramian.operators.costs import BANDWIDTH, LARGE, SCRATCH, Form, Substitute, SymmetricCosts, TableCosts
from gramian.operators.operator import SymmetricMatrix
from gramian.operators.stream_moments import StreamMoments
from gramian.records import Certificate, Completeness, Cost, SolveRequest, Step
from gramian.rows import as_rows
from gramian.solvers.product import EIGH_ALL
from gramian.solvers.route import Route

FREQUENT_DIRECTIONS = "frequent-directions"
BATCH_SECONDS = 3e-4  # to check a batch and merge it, its matrix not counted
SHRINK_SECONDS = 2e-4  # of each shrinking of a sketch, however small
BESIDE = 4  # matrices: of what was seen, of a batch, its product, and their sum


def scatter_costs(rows: int, d: int, batches: int = 1) -> SymmetricCosts:
    """Return what the scatter matrix of a stream of d columns takes."""
    seconds = TableCosts((rows, d), np.dtype(np.float64)).build(Form("covariance", "whole"))[0]
    made = "" if batches == 1 else f"; {batches:,} batches merged in one pass"
    seconds += batches * (BATCH_SECONDS + BESIDE * 8 * d * d / BANDWIDTH)
    too_large = (
        f"A stream of {d:,} columns stores several matrices of {d:,} x {d:,} numbers and",
        "Raise memory_limit, or use a sketch of few rows instead: PCA(10, "
        "solver='frequent-directions').partial_fit(X).",
    )
    return SymmetricCosts(d, "covariance", BESIDE, seconds, made, too_large=too_large)


@dataclass(eq=False)
class MomentsProblem(LinearProblem):
    """Directions of largest variance of a stream of rows.

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


@dataclass(eq=False)
class StreamProblem(MomentsProblem):
    """Of rows whose mean and scatter matrix are all that is left; their table is ``rows``."""

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
        varying = int(np.count_nonzero(~self.data_view().constant))
        size = max(varying, result.components.values.size)
        return replace(result, components=replace(result.components, size=size))


@dataclass(eq=False)
class SketchProblem(MomentsProblem):
    """PCA of a stream's sketch, which is a table itself; ``rows`` stands for the rows of the stream."""

    unit: str = "approximate eigenvalues (variances, none too large)"

    @property
    def size(self) -> int:
        """Number of rows that the sketch is shrunk to."""
        assert self.seen.sketch is not None
        return self.seen.sketch.size

    @property
    def costs(self) -> SymmetricCosts:  # type: ignore[override]
        """What making and decomposing it takes."""
        return sketch_costs(self.seen.table().shape, self.size, self.rows.shape[0])

    def measured(self) -> CenteredRows:
        """Return the sketch, in units of the data."""
        if self.view is None:
            view = super().measured()
            self.view = replace(view, unit_exponent=view.unit_exponent + self.seen.exponent)
            if not view.total > 0 and self.data_view().total > 0:
                raise ParameterError(
                    f"sketch_size={self.size} is too small: shrinking left no variance, because at least "
                    "that many directions have equal variance. Use a larger sketch_size."
                )
        return self.view

    def data_view(self) -> CenteredRows:
        """Return the centred rows, without their numbers."""
        view = self.seen.view(None, self.ddof)
        require_range(view, self.degrees)
        return view

    def build(self, route: Route) -> Any:
        """Build the matrix of the sketch, whose error is the loss by shrinking."""
        built, sketch, view = super().build(route), self.seen.sketch, self.data_view()
        assert sketch is not None
        lost = sketch.shrunk + sketch.rounding * view.total + self.seen.error(view, self.degrees)
        # The sketch is measured in a unit of its own.
        lost = float(np.ldexp(lost, 2 * (self.seen.exponent - self.measured().unit_exponent)))
        built.error_bound += lost
        built.dense_error += lost
        built.error_kind = self.seen.loss_kind
        return built

    def certified(self, certificate: Certificate, request: SolveRequest) -> Certificate:
        """Return the certificate for the data; for an infinite ``request.tol`` with the accuracy reached."""
        if not certificate.values.size or not certificate.values[0] > 0:
            return certificate
        top, last = float(certificate.values[0]), float(certificate.values[-1])
        bound = last + certificate.set_radius
        gap = bound / last - 1 if last > 0 else np.inf
        complete = certificate.completeness
        if complete is not None and complete.method == "full decomposition":  # of the sketch, not of the data
            complete = Completeness("Frequent Directions sketch", certificate.widening_kind, bound, gap)
        tol = request.tol if np.isfinite(request.tol) else float(certificate.radii.max()) / top
        bounds, lost = certificate.directions, certificate.widening
        if bounds is not None and bounds.others < 0:  # eigenvalues that the sketch has no room for
            rank, kind = bounds.first.size, certificate.widening_kind
            bounds = direction_bounds(
                certificate.values,
                certificate.residuals,
                lost,
                others=lost,
                known=False,
                rank=rank,
                kind=kind,
            )
        return replace(certificate, completeness=complete, tol=tol, directions=bounds)

    def directions(self, solution: Solution, count: int | None) -> Directions:
        """Lift the eigenpairs to directions, with the total variance, which is known exactly."""
        result = super().directions(solution, count)
        view, table = self.data_view(), self.seen.table()
        total = view.total * (view.square_unit / self.degrees)
        components = replace(result.components, total=total, size=self.most, rest=result.components.rest[:0])
        vectors = to_dtype(result.vectors, numpy_dtype(table.like))
        return replace(result, components=components, vectors=vectors, scores=None)


def problem_of(
    seen: StreamMoments, scale: Any, ddof: int, metric: Any = None
) -> StreamProblem | SketchProblem:
    """Return the problem for the moments or the sketch of a stream."""
    lost, more = seen.degrees_lost(ddof), {"seen": seen, "metric": metric}
    if seen.sketch is None:
        kind = np.empty((0, 0), dtype=numpy_dtype(seen.kind))
        rows = replace(seen.table(), kind=kind)
        return StreamProblem(rows, seen.centered, scale, lost, **more)
    return SketchProblem(as_rows(seen.sketch.rows), False, None, lost, seen=seen)


def with_pass(solution: Solution, seconds: float) -> Solution:
    """Return an answer whose plan took the seconds of the pass over the data too."""
    plans = [
        replace(ran, took=(ran.took or 0.0) + seconds) for ran in (solution.plan, solution.attempts[0].plan)
    ]
    attempts = replace(solution.attempts[0], plan=plans[1]), *solution.attempts[1:]
    return replace(solution, plan=plans[0], attempts=attempts)


def sketch_costs(shape: tuple[int, int], size: int, rows: int | None = None) -> SymmetricCosts:
    """Return the costs of a table's sketch and of decomposing it by its Gram matrix.

    Parameters
    ----------
    shape : (n, d)
    size : int
        Rows that it is shrunk to.
    rows : int, optional
        Rows that it has, where they are known.
    """
    n, d = shape
    order = min(n, 2 * size) if rows is None else rows
    seconds, held = TableCosts((order, d), np.dtype(np.float64)).build(Form("gram", "whole"))
    shrink = SHRINK_SECONDS + 4 * size**2 * d / LARGE["float64"] + EIGH_ALL * (2 * size) ** 3
    detail = f"{n:,} rows to at most {2 * size} in one pass, by Frequent Directions"
    step = Step("sketch", detail, n / size * shrink + n * d * 2e-9)
    sketch = Substitute(
        FREQUENT_DIRECTIONS,
        "covariance",
        Cost((step,), held + 8 * 6 * size * d + SCRATCH),
        "it is approximate, and the certificate bounds the error.",
    )
    too_large = (
        f"A sketch of {size} rows of {d} columns",
        "Raise memory_limit, or use a smaller sketch_size.",
    )
    return SymmetricCosts(order, "gram", seconds=seconds, substitute=sketch, too_large=too_large)
