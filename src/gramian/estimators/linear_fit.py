"""The fits of PCA: of a table, of a sketch of one, and of a stream. Each is planned once, and solved."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Annotated

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.analysis.component_rules.table import RULES
from gramian.arrays import memory_limit_bytes, moved
from gramian.checks import check_choice, check_integer, check_number, counted
from gramian.engine import LinearProblem, Schedule, Solution, plan, run
from gramian.engine.linear import Directions
from gramian.engine.planning import schedule
from gramian.engine.stream import (
    FREQUENT_DIRECTIONS,
    ExpectedProblem,
    MomentsProblem,
    SketchProblem,
    StreamProblem,
    problem_of,
    scatter_costs,
    sketch_costs,
    with_pass,
)
from gramian.errors import DataError, ParameterError
from gramian.estimators.component_choice import ComponentRequest, check_wanted, settle, with_rule
from gramian.estimators.fitted import with_orthonormality
from gramian.estimators.inputs import (
    check_ddof,
    check_feature_weight,
    check_scale,
    check_tol,
    ddof_of,
    streams,
)
from gramian.operators.moments import require_counts
from gramian.operators.stream_moments import StreamMoments, merged, seen_of, sketched
from gramian.records import Plan, Seed, SolveRequest, Target
from gramian.rows import Rows
from gramian.rows.rows import SeenRows
from gramian.rows.weights import true_weights
from gramian.solvers.names import solver_names
from gramian.store import Given

SOLVERS = ("auto", *solver_names("PCA"))
LEAST_SKETCH = 20
WEIGHTED = "eigenvalues (variances) of the weighted rows"
FIXED = (
    "center, sketch_size, and whether solver is 'frequent-directions', cannot change within a "
    "stream. Set them back, or start again with a fresh model."
)


class TooFewRowsError(DataError, NotFittedError):  # type: ignore[misc]
    """A stream has too few rows, or rows of too little weight, for a model."""


@dataclass(eq=False, repr=False)
class PCAParameters:
    """The parameters of PCA, which its docstring explains; fits read nothing else of an estimator."""

    n_components: int | float | str | None = None
    _: KW_ONLY
    center: bool = True
    scale: Annotated[npt.ArrayLike | None, Given("d")] = None
    whiten: bool = False
    ddof: Annotated[int, int] = 1
    solver: str = "auto"
    tol: float | None = None
    random_state: Seed = 0
    memory_limit: int | str | None = None
    max_rmse: float | None = None
    forgetting: float = 1.0
    sketch_size: int | None = None
    device: str | None = None
    missing: str = "error"
    regularization: float | str | None = None
    feature_weight: Annotated[npt.ArrayLike | None, Given("d")] = None


@dataclass(frozen=True, eq=False)
class Decomposition:
    """What a fit found: the engine's answer, directions, and what a rule said of their number."""

    rows: Rows
    problem: LinearProblem
    solution: Solution
    directions: Directions
    choice: ComponentChoice | None

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.directions.components.values.size)


@dataclass(eq=False)
class TableFit:
    """PCA of a table that can be read."""

    parameters: PCAParameters
    rows: Rows

    @cached_property
    def wanted(self) -> ComponentRequest:
        """The requested number of components."""
        return check_wanted(self.parameters, self.rows)

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        asked, rows = self.parameters, self.rows
        center = bool(asked.center)
        metric = check_feature_weight(asked.feature_weight, rows)
        ddof, scale = ddof_of(asked.ddof, rows), check_scale(asked.scale, rows, center)
        problem = LinearProblem(rows, center, scale, ddof, metric=metric)
        if rows.weights is not None:
            problem.unit = WEIGHTED
        return problem

    @property
    def ruled(self) -> LinearProblem:
        """What a rule is asked about."""
        return self.problem

    @cached_property
    def request(self) -> SolveRequest:
        """What is asked of the engine, but for random streams, which a plan does not need."""
        asked, rows = self.parameters, self.rows
        return SolveRequest(
            _solvable(self.wanted.target, rows),
            check_tol(asked.tol, rows.dtype),
            memory_limit_bytes(asked.memory_limit, rows.like) - rows.resident_bytes,
            check_choice("solver", asked.solver, SOLVERS),
            resident_bytes=rows.resident_bytes,
        )

    @cached_property
    def schedule(self) -> Schedule:
        """The routes, for as many components as are asked for or, of a rule, for about as many."""
        return self.problem.schedule(self.request)

    @cached_property
    def plan(self) -> Plan:
        """What solving does first, with what asking a rule takes."""
        return self._with_rule(self.schedule.plan)

    def _with_rule(self, result: Plan) -> Plan:
        return with_rule(result, self.wanted, self.ruled, self.request.memory_limit)

    def counted(self, count: int) -> TableFit:
        """Return this fit, of so many components whatever the parameters say."""
        self.wanted = ComponentRequest(Target(count=count))
        return self

    def solve(self, seeds: list[int]) -> Decomposition:
        """Ask the rule and the engine; the estimator remembers nothing yet."""
        solver_rng, probe_rng, rule_rng = streams(seeds, 3)
        problem, wanted = self.problem, self.wanted
        target, choice = settle(self.parameters, self.ruled, wanted, rule_rng)
        known, count = target == wanted.target, target.count
        target = _solvable(target, self.rows)
        planned = self.schedule if known else problem.schedule(replace(self.request, target=target))
        solution = run(problem, planned.seeded(solver_rng, probe_rng))
        if isinstance(problem, MomentsProblem):
            solution = with_pass(solution, problem.seen.seconds)
        if isinstance(problem, SketchProblem):
            count = planned.request.target.count
        elif target == Target() and problem.most != min(self.rows.shape):
            count = problem.most
        result = problem.directions(solution, count)
        # A stream is solved in NumPy, whatever kind its rows were.
        result = replace(result, vectors=moved(result.vectors, self.rows.home))
        certificate = with_orthonormality(solution.certificate, result.vectors)
        if certificate is not None:
            certificate = replace(certificate, directions=problem.direction_bounds(solution, result))
        solution = replace(solution, plan=self._with_rule(solution.plan), certificate=certificate)
        return Decomposition(self.rows, problem, solution, result, choice)


@dataclass(eq=False)
class StreamFit(TableFit):
    """PCA of rows that came in batches; ``rows`` stands for all of them."""

    seen: StreamMoments

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        asked, seen = self.parameters, self.seen
        scale = check_scale(asked.scale, self.rows, bool(asked.center))
        metric = check_feature_weight(asked.feature_weight, self.rows)
        problem = problem_of(seen, scale, check_ddof(asked.ddof, seen.rows), metric)
        if isinstance(problem, StreamProblem) and seen.weighted:
            problem.unit = WEIGHTED
        return problem

    @cached_property
    def request(self) -> SolveRequest:
        """As of a table; a sketch has no more components than rows, and the accuracy that it has."""
        request, problem = super().request, self.problem
        if not isinstance(problem, SketchProblem):
            return request
        if request.target.count is None:
            request = replace(request, target=Target(count=min(*self.rows.shape, problem.size)))
        return request if self.parameters.tol is not None else replace(request, tol=np.inf)


@dataclass(eq=False)
class ExpectedFit(StreamFit):
    """PCA of the expected moments of a table with missing values.

    Attributes
    ----------
    filled : Rows
        The table with imputed values, for rules that resample rows.
    """

    filled: Rows

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        asked, rows = self.parameters, self.filled
        scale, metric = check_scale(asked.scale, rows), check_feature_weight(asked.feature_weight, rows)
        ddof = ddof_of(asked.ddof, replace(rows, weights=true_weights(rows), weight_exponent=0))
        return ExpectedProblem(self.rows, True, scale, ddof, metric=metric, seen=self.seen)

    @cached_property
    def ruled(self) -> LinearProblem:
        """The filled table for rules that draw rows."""
        rule = self.wanted.rule
        draws = rule is not None and RULES[rule].draws
        return TableFit(self.parameters, self.filled).problem if draws else self.problem


@dataclass(eq=False)
class SketchFit(TableFit):
    """PCA of a sketch, which one pass over a table makes."""

    size: int

    @cached_property
    def schedule(self) -> Schedule:
        """The routes for a sketch of so many rows, with what making it takes."""
        return schedule(sketch_costs(self.rows.shape, self.size), self.request)

    def solve(self, seeds: list[int]) -> Decomposition:
        """Pass over the rows, as over a single batch, and decompose the sketch."""
        seen = Stream(self.parameters).merged(self.rows)
        return StreamFit(self.parameters, self.rows, seen).solve(seeds)


def _solvable(target: Target, rows: Rows) -> Target:
    """Return a target that the engine can reach: weights stand for more rows than there are."""
    most = min(rows.shape)
    return replace(target, count=most) if target.count is not None and target.count > most else target


def fit_of(parameters: PCAParameters, rows: Rows) -> TableFit:
    """Return the fit that a solver's name asks for."""
    size = Stream(parameters).sketch_size(rows.shape[1])
    return TableFit(parameters, rows) if size is None else SketchFit(parameters, rows, size)


@dataclass(frozen=True, eq=False)
class Stream:
    """The moments of earlier batches, and the checks of a stream's parameters.

    Attributes
    ----------
    parameters : PCAParameters
    seen : StreamMoments or None
        What is kept of the batches before; None before the first.
    """

    parameters: PCAParameters
    seen: StreamMoments | None = None

    def check(self, rows: Rows, before: int = 0) -> None:
        """Raise an error for parameters that a stream does not support; ``before`` rows came earlier."""
        asked, d, seen = self.parameters, rows.shape[1], self.seen
        check_number("forgetting", asked.forgetting, above=0.0, most=1.0, advice="1 forgets nothing.")
        size = self.sketch_size(d)
        if seen and (seen.centered, seen.sketch and seen.sketch.size) != (bool(asked.center), size):
            raise ParameterError(FIXED)
        if asked.solver in ("full", "gram"):
            raise ParameterError(
                f"solver={asked.solver!r} needs all rows at once, but partial_fit does not store them. "
                "Use solver='auto', 'covariance' or 'krylov'."
            )
        count = asked.n_components
        if isinstance(count, Integral) and not isinstance(count, bool) and int(count) > d:
            raise ParameterError(
                f"n_components={count} but rows of {counted(d, 'column')} have at most {d} components. "
                f"Ask for at most {d}, or a fraction such as 0.95."
            )
        # As if rows enough had been seen.
        n = max(rows.shape[0] + before, d + 2)
        fit = TableFit(asked, SeenRows(dtype=rows.dtype, count=n, columns=d, kind=rows.home))
        rule = None if fit.wanted.rule is None else RULES[fit.wanted.rule]
        unequal = asked.forgetting != 1.0 or rows.weights is not None or (seen is not None and seen.weighted)
        if rule is not None and (rule.draws or (unequal and count is not None)):
            why = (
                "resamples the rows, which partial_fit does not store"
                if rule.draws
                else "needs rows of equal weight"
            )
            raise ParameterError(
                f"n_components={count!r} {why}. Use a number or a fraction, or call "
                "gramian.choose_components on a sample of the rows."
            )
        check_scale(asked.scale, rows, bool(asked.center))
        check_feature_weight(asked.feature_weight, rows)
        check_ddof(asked.ddof, n)
        if seen is None:
            plan(
                scatter_costs(n, d) if size is None else sketch_costs((n, d), size), fit.request
            )  # does it fit

    def sketch_size(self, d: int) -> int | None:
        """Return the number of rows of the sketch, as before if it may be; None where none is asked for."""
        asked, count = self.parameters, self.parameters.n_components
        if asked.solver != FREQUENT_DIRECTIONS:
            if asked.sketch_size is not None:
                raise ParameterError(
                    f"sketch_size={asked.sketch_size!r} applies only to solver='frequent-directions'. "
                    "Leave it out."
                )
            return None
        if asked.max_rmse is not None or not (count is None or isinstance(count, Integral)):
            error = asked.max_rmse
            given = f"n_components={count!r}" if error is None else f"max_rmse={error!r}"
            raise ParameterError(
                "solver='frequent-directions' does not know the whole spectrum, which "
                f"a share of the variance or an error needs: {given} was given. Set a number of "
                "components, such as n_components=10."
            )
        if asked.scale is not None or asked.feature_weight is not None:
            what = "scale" if asked.feature_weight is None else "feature_weight"
            raise ParameterError(
                f"solver='frequent-directions' does not support {what}: the standard deviation of a column "
                "is known only after the pass over the data. Divide the columns first."
            )
        least = max(1, int(count or 0))
        if asked.sketch_size is None:
            before = self.seen.sketch.size if self.seen and self.seen.sketch else 0
            size = before if before >= least else max(LEAST_SKETCH, 2 * int(count or 0))
        else:
            advice = "It limits the number of components; a larger sketch is more accurate."
            size = check_integer("sketch_size", asked.sketch_size, least, advice=advice)
        if size >= d:
            raise ParameterError(
                f"A sketch of {size} rows is no smaller than the {d} x {d} covariance of "
                f"{counted(d, 'column')}. Use solver='auto', which is exact. In Python also a smaller "
                "sketch_size."
            )
        return size

    def merged(self, rows: Rows) -> StreamMoments:
        """Return what is kept of the batches before and these rows.

        Raises
        ------
        DataError
            For a batch with which a variance leaves float64, since no later look would succeed.
        """
        began, asked, before = time.perf_counter(), self.parameters, self.seen
        if rows.weight_exponent:  # batches are merged in one unit
            rows = replace(rows, weights=true_weights(rows), weight_exponent=0)
        center, forgetting = bool(asked.center), float(asked.forgetting)
        size = self.sketch_size(rows.shape[1])
        if isinstance(asked.scale, str) and asked.scale == "genotype":
            require_counts(rows)
        if size is not None:
            seen = sketched(before, rows, center=center, size=size, forgetting=forgetting)
        else:
            seen = seen_of(rows, center=center, among=1 if before is None else before.rows)
            seen = seen if before is None else merged(before, seen, forgetting)
        earlier = 0.0 if before is None else before.seconds
        return replace(seen, seconds=earlier + time.perf_counter() - began)

    def require_finite_variance(self) -> None:
        """Raise a DataError where a variance has left float64, since no later look would succeed."""
        asked, seen = self.parameters, self.seen
        if seen is None or not seen.moments.count or isinstance(asked.scale, str):
            return  # variances are then none, of the size of 1, or of a standard deviation
        squares, count = seen.column_squares, seen.moments.count
        degrees = count - seen.degrees_lost(asked.ddof)
        divisor = 1.0 if asked.scale is None else np.asarray(asked.scale, dtype=np.float64)
        if asked.feature_weight is not None:
            divisor = divisor / np.sqrt(np.asarray(asked.feature_weight, dtype=np.float64))
        with np.errstate(over="ignore", under="ignore"):
            # Sums of squares have to be in range too.
            norms = np.ldexp(np.sqrt(squares), seen.exponent) / divisor
            finite = bool(np.isfinite((norms**2).sum() / (min(degrees, 1.0) if degrees > 0 else 1.0)))
        if not finite:
            column = int(np.argmax(norms))
            deviation = float(np.ldexp(np.sqrt(squares[column] / count), seen.exponent))
            raise DataError(
                f"With this batch the standard deviation of column {column} is {deviation:.3g}, and "
                "its square overflows float64. The model is unchanged. Remove such values, "
                "or start again with a fresh model and multiply all rows by a small number first."
            )

    def fit(self) -> StreamFit:
        """Return the fit to all rows so far; parameters may be others than at the last batch.

        Raises
        ------
        TooFewRowsError
        """
        self.require_enough()
        assert self.seen is not None
        table = self.seen.table()
        self.check(table, self.seen.rows)
        return StreamFit(self.parameters, table, self.seen)

    def require_enough(self) -> None:
        """Raise a TooFewRowsError where no model follows from so few rows yet."""
        assert self.seen is not None
        asked, seen, count = self.parameters, self.seen, self.parameters.n_components
        least = max(2, int(count) if isinstance(count, Integral) else 0)
        name = f"This {type(asked).__name__} instance is not fitted yet:"
        if seen.rows < least:
            why = f" for n_components={count}" if least > 2 else ""
            raise TooFewRowsError(
                f"{name} {counted(seen.rows, 'row was', 'rows were')} read, but at least {least} are needed"
                f"{why}. In Python call partial_fit with more rows."
            )
        if not seen.effective > asked.ddof * (1 + 1e-9):
            raise TooFewRowsError(
                f"{name} with forgetting={asked.forgetting!r} the effective number of rows is "
                f"{seen.effective:.3g}, but it must exceed ddof={asked.ddof}. Use larger batches, a larger "
                "forgetting, or weights that count rows."
            )
