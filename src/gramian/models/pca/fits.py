"""What a fit of PCA makes, of a table or of one batch after another."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from gramian.core.arrays import is_numpy, memory_limit_bytes, moved
from gramian.core.checks import check_choice, check_number, counted, solver_names
from gramian.core.records import Plan, Seed, SolveRequest, Target, random_stream
from gramian.engine import stream
from gramian.engine.centered import require_counts
from gramian.engine.linear import Directions, LinearProblem
from gramian.engine.solving import Schedule, Solution, plan, run
from gramian.engine.stream import StreamMoments
from gramian.errors import DataError, DiagnosticWarning, ParameterError
from gramian.models import fitted, inputs
from gramian.models.inputs import check_ddof, check_feature_weight, check_scale, store_features
from gramian.statistics.component_rules import RULES
from gramian.tables.rows import Rows, SeenRows

if TYPE_CHECKING:
    from gramian.statistics.component_rules import ComponentChoice

SOLVERS = ("auto", *solver_names("PCA"))
CERTIFICATES = ("probabilistic", "deterministic")
WEIGHTED = "eigenvalues (variances) of the weighted rows"


@dataclass(eq=False, repr=False)
class PCAParameters:
    """The parameters of PCA, which its docstring explains; fits read nothing else of an estimator."""

    n_components: int | float | str | None = None
    _: KW_ONLY
    center: bool = True
    scale: Annotated[npt.ArrayLike | None, "d"] = None
    whiten: bool = False
    ddof: int = 1
    solver: str = "auto"
    tol: float | None = None
    random_state: Seed = 0
    memory_limit: int | str | None = None
    forgetting: float = 1.0
    missing: str = "error"
    feature_weight: Annotated[npt.ArrayLike | None, "d"] = None
    certificate: str = "probabilistic"


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
    """PCA of a table that can be read; of moments in its place where ``problem`` is set."""

    parameters: PCAParameters
    rows: Rows

    @cached_property
    def wanted(self) -> inputs.ComponentRequest:
        """The requested number of components; raises a ParameterError for what is not allowed."""
        parameters, (n, d) = self.parameters, self.rows.shape
        if not isinstance(parameters.n_components, str):
            most = min(max(n, self.rows.repeats), d)
            return inputs.ComponentRequest(inputs.check_target(parameters.n_components, most, (n, d)))
        from gramian.models.pca.rules import rule_request

        return rule_request(parameters, self.rows)

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        parameters, rows = self.parameters, self.rows
        center = bool(parameters.center)
        metric = inputs.check_feature_weight(parameters.feature_weight, rows)
        ddof, scale = (
            inputs.ddof_of(parameters.ddof, rows),
            inputs.check_scale(parameters.scale, rows, center),
        )
        worst_case = check_choice("certificate", parameters.certificate, CERTIFICATES) == "deterministic"
        problem = LinearProblem(rows, center, scale, ddof, metric=metric, worst_case=worst_case)
        if rows.weights is not None:
            problem.unit = WEIGHTED
        return problem

    @cached_property
    def ruled(self) -> LinearProblem:
        """What a rule is asked about."""
        return self.problem

    @cached_property
    def request(self) -> SolveRequest:
        """What is asked of the engine, but for random streams, which a plan does not need."""
        parameters, rows = self.parameters, self.rows
        return SolveRequest(
            self._solvable(self.wanted.target),
            inputs.check_tol(parameters.tol, rows.dtype),
            memory_limit_bytes(parameters.memory_limit, rows.like) - rows.resident_bytes,
            check_choice("solver", parameters.solver, SOLVERS),
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
        if self.wanted.rule is None:
            return result
        from gramian.models.pca.rules import with_rule

        return with_rule(result, self.wanted, self.ruled, self.request.memory_limit)

    def counted(self, count: int) -> TableFit:
        """Return this fit, of so many components whatever the parameters say."""
        self.wanted = inputs.ComponentRequest(Target(count=count))
        return self

    def _solvable(self, target: Target) -> Target:
        """Return a target that the engine can reach: weights stand for more rows than there are."""
        most = min(self.rows.shape)
        return replace(target, count=most) if target.count is not None and target.count > most else target

    def solve(self, seeds: list[int]) -> Decomposition:
        """Ask the rule and the engine; the estimator remembers nothing yet."""
        problem, wanted = self.problem, self.wanted
        target, choice = wanted.target, None
        if wanted.rule is not None:
            from gramian.models.pca.rules import settle

            target, choice = settle(self.parameters, self.ruled, wanted, random_stream(seeds, 2))
        is_wanted, count = target == wanted.target, target.count
        target = self._solvable(target)
        planned = self.schedule if is_wanted else problem.schedule(replace(self.request, target=target))
        solution = run(problem, planned, seeds)
        if target == Target() and problem.most != min(self.rows.shape):
            count = problem.most
        result = problem.directions(solution, count)
        if not is_numpy(self.rows.like):
            # A stream is solved in NumPy, whatever kind its rows were.
            result = replace(result, vectors=moved(result.vectors, self.rows.like))
        certificate, account = solution.certificate, solution.account
        if certificate is not None:
            directions = problem.direction_bounds(solution, result)
            certificate = fitted.with_orthonormality(certificate, result.vectors, directions)
        if wanted.rule is not None:
            account = replace(account, told=self._with_rule(account.plan))
        solution = Solution(solution.spectrum, certificate, solution.operator, account)
        return Decomposition(self.rows, problem, solution, result, choice)


SPLIT = 1e-8  # share of the largest eigenvalue that bounds the products of columns left out as constant
FIXED = "cannot change within a stream", "Set it back, or start again with a fresh model."


class TooFewRowsError(DataError, NotFittedError):  # type: ignore[misc]
    """A stream has too few rows, or rows of too little weight, for a model."""


def check_stream(parameters: PCAParameters, rows: Rows, seen: StreamMoments | None, before: int) -> None:
    """Raise an error for parameters that a stream does not support.

    Parameters
    ----------
    parameters : PCAParameters
    rows : Rows
        The next batch, or all rows so far.
    seen : StreamMoments or None
        What is kept of the batches before; None before the first.
    before : int
        Number of rows before.
    """
    d, count = rows.shape[1], parameters.n_components
    check_number("forgetting", parameters.forgetting, above=0.0, most=1.0, advice="1 forgets nothing.")
    if seen and seen.centered != bool(parameters.center):
        raise ParameterError("center", parameters.center, *FIXED)
    if parameters.solver in ("full", "gram"):
        why = "needs all rows at once, but partial_fit does not store them"
        raise ParameterError(
            "solver", parameters.solver, why, 'Use solver="auto" or "covariance" or "krylov".'
        )
    if isinstance(count, Integral) and int(count) > d:
        why = f"but rows of {counted(d, 'column')} have at most {d} components"
        hint = f"Ask for at most {d}, or a fraction such as 0.95."
        raise ParameterError("n_components", int(count), why, hint)
    # As if rows enough had been seen.
    n = max(rows.shape[0] + before, d + 2)
    fit = TableFit(parameters, SeenRows(dtype=rows.dtype, shape=(n, d), like=rows.like))
    rule = None if fit.wanted.rule is None else RULES[fit.wanted.rule]
    unequal = parameters.forgetting != 1.0 or rows.weights is not None or (seen is not None and seen.weighted)
    if rule is not None and (rule.draws or (unequal and count is not None)):
        stored = "resamples the rows, which partial_fit does not store"
        why = stored if rule.draws else "needs rows of equal weight"
        hint = "Use a number or a fraction, or call gramian.choose_components on a sample of the rows."
        raise ParameterError("n_components", count, why, hint)
    check_scale(parameters.scale, rows, bool(parameters.center))
    check_feature_weight(parameters.feature_weight, rows)
    check_ddof(parameters.ddof, n)
    if seen is None:
        plan(stream.scatter_costs(n, d), fit.request)  # does it fit


def merged_with(parameters: PCAParameters, seen: StreamMoments | None, rows: Rows) -> StreamMoments:
    """Return what is kept of the batches before and these rows."""
    began = time.perf_counter()
    if isinstance(parameters.scale, str) and parameters.scale == "genotype":
        require_counts(rows)
    result = stream.seen_of(rows, center=bool(parameters.center), among=1 if seen is None else seen.rows)
    if seen is not None:
        result = stream.merged(seen, result, float(parameters.forgetting))
    earlier = 0.0 if seen is None else seen.seconds
    return replace(result, seconds=earlier + time.perf_counter() - began)


def require_enough(parameters: PCAParameters, seen: StreamMoments) -> None:
    """Raise a TooFewRowsError where no model follows from so few rows yet."""
    count = parameters.n_components
    least = max(2, int(count) if isinstance(count, Integral) else 0)
    name = f"This {type(parameters).__name__} instance is not fitted yet:"
    if seen.rows < least:
        why = f"at least {least} are needed" + (f" for n_components={count!r}" if least > 2 else "")
        read = counted(seen.rows, "row was", "rows were")
        raise TooFewRowsError(f"{name} {read} read, but {why}.", "Give more rows.")
    if not seen.effective > parameters.ddof * (1 + 1e-9):
        raise TooFewRowsError(
            f"{name} with forgetting={parameters.forgetting!r} the effective number of rows is "
            f"{seen.effective:.3g}, but it must exceed ddof={parameters.ddof!r}.",
            "Use larger batches, a larger forgetting, or weights that count rows.",
        )


def fit_of_stream(parameters: PCAParameters, seen: StreamMoments) -> TableFit:
    """Return the fit to all rows so far; parameters may be others than at the last batch.

    Raises
    ------
    TooFewRowsError
    """
    require_enough(parameters, seen)
    rows = seen.table()
    check_stream(parameters, rows, seen, seen.rows)
    scale = check_scale(parameters.scale, rows, bool(parameters.center))
    metric = check_feature_weight(parameters.feature_weight, rows)
    fit = TableFit(parameters, rows)
    fit.problem = stream.problem_of(seen, scale, check_ddof(parameters.ddof, seen.rows), metric)
    fit.problem.earlier = seen.seconds
    if seen.weighted:
        fit.problem.unit = WEIGHTED
    return fit


def add_batch(model: Any, X: Any, sample_weight: Any) -> None:
    """Merge a batch of rows with those that a PCA describes already."""
    before: StreamMoments | None = vars(model).get("_moments")
    new = {"sample_weight": sample_weight}
    rows = model._rows(X, **new) if before is None else model._new_rows(X, **new)
    if model.missing != "error" and rows.holes() is not None:
        rows.require_finite(holes=True)
        raise DataError(
            "partial_fit does not impute: a batch says too little of what is missing in it.",
            "Leave out incomplete rows, call fit on all rows, or fill each batch by a fitted model first: "
            "model.impute(batch).",
        )
    check_stream(model, rows, before, 0 if before is None else before.rows)
    seen = merged_with(model, before, rows)
    if before is None and "components_" in vars(model):
        DiagnosticWarning(
            "fit keeps no sums of its rows, so that partial_fit starts a new model of this batch alone. Call "
            "partial_fit from the first batch on."
        ).warn()
    if before is None:
        store_features(model, X, rows)
        model.picture_shape_, model._unequal = rows.picture_shape, False
    model._moments, model.n_samples_ = seen, seen.rows
    model._unequal = model._unequal or rows.weights is not None
    for name in model._following:
        model.__dict__.pop(name, None)
