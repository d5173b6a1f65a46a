"""The fits of PCA: of a table and of a stream. Each is planned once, and solved."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy.typing as npt

from gramian.core.arrays import is_numpy, memory_limit_bytes, moved
from gramian.core.checks import check_choice, solver_names
from gramian.core.records import Plan, Seed, SolveRequest, Target, random_stream
from gramian.engine.linear import Directions, LinearProblem
from gramian.engine.solving import Schedule, Solution, run
from gramian.models import fitted, inputs
from gramian.tables.rows import Rows

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
        ddof = inputs.ddof_of(parameters.ddof, rows)
        scale = inputs.check_scale(parameters.scale, rows, center)
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
