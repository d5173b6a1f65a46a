"""From ``n_components="parallel"`` to a number: gives rules the spectra they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gramian.core.arrays import memory_limit_bytes, power_of_two, to_numpy
from gramian.core.checks import check_choice, counted
from gramian.core.records import Plan, SolveRequest, Step, Target
from gramian.engine.centered import CenteredRows
from gramian.engine.linear import LinearProblem, factors, leading_values
from gramian.engine.operator import TableCosts
from gramian.engine.solving import plan, require_memory, solve
from gramian.errors import ParameterError
from gramian.models.inputs import ComponentRequest
from gramian.statistics import component_rules
from gramian.statistics.components import effective_rows, known_variances
from gramian.tables.rows import Rows

NAMED = ("mle", "gavish-donoho", "parallel", "sign-flip", "cv")  # what n_components takes
# A rule's number is not known when a plan is asked for; it is planned for as many components.
PLANNED = 10
UNEQUAL = (
    "the rule is for rows of equal weight, but the rows have weights. Use a number of components or "
    "a fraction such as 0.95."
)
DRAWN_COUNT = 32  # components of other data, which a rule may well ask for
NOTHING = 1e-90  # entries of a table near 1 in size that are as good as 0


def rule_request(parameters: Any, rows: Rows) -> ComponentRequest:
    """Return the request of a rule in ``n_components``.

    Raises
    ------
    ParameterError
        For a value that is not allowed, or a rule that does not apply to such data.
    """
    rule = check_choice("n_components", parameters.n_components, NAMED)
    equal = rows.weights is None
    problem = refusal(rule, rows.shape, center=bool(parameters.center), sparse=rows.skips_zeros, equal=equal)
    if problem:
        raise ParameterError("n_components", rule, f": {problem}")
    return ComponentRequest(Target(count=min(PLANNED, *rows.shape)), rule)


def refusal(rule: str, shape: tuple[int, int], *, center: bool, sparse: bool, equal: bool = True) -> str:
    """Return why a rule does not apply to such data, with advice; "" if it applies."""
    if rule in NAMED and not equal:
        return UNEQUAL
    if sparse and component_rules.RULES[rule].draws:
        return (
            f"'{rule}' draws new dense data of the same size, but X is sparse. "
            "Pass X.toarray() if it fits into memory, or use 'gavish-donoho'."
        )
    if not center and component_rules.RULES[rule].of_covariances:
        why = "the rule is for variances, and without centring the mean is the first component"
        if rule == "parallel":
            why = "permuted columns keep their means, so the rule cannot tell the mean from noise"
        return f"the rule needs center=True: {why}. Use 'gavish-donoho', 'sign-flip' or 'cv'."
    if rule == "mle" and shape[0] <= shape[1]:
        return (
            f"Minka's evidence needs more rows than columns, but X has {shape[0]} rows x {shape[1]} columns. "
            "Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
    return ""


def with_rule(result: Plan, wanted: ComponentRequest, problem: LinearProblem, memory_limit: int) -> Plan:
    """Return a plan with the step that asks a rule by its name, before anything else is done.

    Raises
    ------
    MemoryLimitError
        When the rule's copies of the data do not fit.
    """
    rule, (n, d) = str(wanted.rule), problem.rows.shape
    costs, target, solves, need, matrices = problem.costs, Target(), 1, 0, "the data"
    if component_rules.RULES[rule].draws:
        need = room_for(rule, problem.rows, memory_limit)
        solves, matrices = component_rules.REPEATS + 1, "random data"
        if rule == "cv":
            n, d, solves, matrices = max(1, n // 2), max(1, d // 2), 4 * component_rules.SPLITS, "quarters"
        costs, target = TableCosts((n, d), problem.rows.dtype), Target(count=min(DRAWN_COUNT, n, d))
    route = plan(costs, SolveRequest(target, 1e-6, memory_limit))
    detail = f"{counted(solves, 'spectrum', 'spectra')} of {matrices}, for the rule '{rule}'"
    # A rule that draws asks again, for more components, until it is sure.
    step = Step("choose", detail, (1 if solves == 1 else 2) * solves * route.seconds)
    return replace(result, steps=(step, *result.steps), bytes=max(result.bytes, route.bytes + need))


def room_for(rule: str, rows: Rows, memory_limit: int) -> int:
    """Return the bytes of a rule's copies of the data.

    Raises
    ------
    MemoryLimitError
        When they do not fit.
    """
    need = (2 if rule == "cv" else 3) * rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
    way_out = "Raise memory_limit, use 'gavish-donoho', or a sample of the rows."
    require_memory(f"The rule '{rule}', which copies the data,", need, memory_limit, way_out)
    return need


def settle(
    model: Any, problem: LinearProblem, wanted: ComponentRequest, rng: np.random.Generator
) -> tuple[Target, Any]:
    """Ask the rule, and return a target that a solver understands with the rule's answer."""
    choice = Material(problem, memory_limit_bytes(model.memory_limit)).choose(str(wanted.rule), rng)
    if choice.number is None:
        raise ParameterError("n_components", wanted.rule, f": {choice.sentence}")
    return Target(count=max(int(choice.number or 0), 1)), choice


def scree_of(model: Any) -> component_rules.Scree:
    """Return what a fitted PCA knows about the spectrum: all of it, or a part and the trace."""
    d, n, total = model.n_features_in_, model.n_samples_, model.total_variance_
    varying, degrees = d - model.constant_features_.shape[0], n - model.ddof * n / effective_rows(model)
    facts = varying, bool(model.center), degrees, model.spectrum_.rank_tolerance
    return component_rules.Scree(known_variances(model), total, n, d, *facts)


@dataclass(frozen=True, eq=False)
class Material:
    """The data as rules need it: its spectrum, or its centred and scaled entries; each made once.

    Attributes
    ----------
    problem : LinearProblem
        The data as the engine takes it.
    memory_limit : int
        Bytes.
    """

    problem: LinearProblem
    memory_limit: int

    @property
    def view(self) -> CenteredRows:
        """The centred, scaled data; raises a DataError if their variance overflows float64."""
        return self.problem.measured()

    @property
    def varying(self) -> int:
        """Number of columns that vary."""
        return self.problem.rows.shape[1] - int(self.view.constant.sum())

    @cached_property
    def scree(self) -> component_rules.Scree:
        """Every eigenvalue, without any vector."""
        request = SolveRequest(Target(), 1e-6, self.memory_limit, vectors=False, certify=False)
        problem, spectrum = self.problem, solve(self.problem, request).spectrum
        (n, d), factor = problem.rows.shape, problem.factor()
        values, total = np.maximum(spectrum.values, 0.0) * factor, self.view.total * factor
        # Errors are of a row on average: sums of squares are over the weights.
        degrees, tolerance = n * problem.degrees / problem.weight, spectrum.rank_tolerance
        return component_rules.Scree(values, total, n, d, self.varying, problem.center, degrees, tolerance)

    @cached_property
    def matrix(self) -> tuple[Any, float]:
        """The varying columns, centred and scaled, near 1 in size; and what turns squares into variances."""
        view = replace(self.view, rows=self.problem.rows)
        C = to_numpy(view.block(slice(None), slice(None)))
        if view.constant.any():
            C = C[:, ~view.constant]
        exponent = power_of_two(math.sqrt(view.total / max(C.size, 1))) if view.total > 0 else 0
        C = np.ldexp(C, -exponent) if exponent else C
        C = np.where(np.abs(C) < NOTHING, 0.0, C)  # a column of nothing else would be refused
        return C, math.ldexp(view.square_unit, 2 * exponent) / self.problem.degrees

    def choose(self, rule: str, rng: np.random.Generator) -> component_rules.ComponentChoice:
        """Ask one of :data:`NAMED`."""
        if not self.view.total > 0:
            constant = "All columns are constant, so there are no components."
            return component_rules.ComponentChoice(rule, 0, {}, constant)
        of_spectrum = component_rules.RULES[rule].request
        if of_spectrum is not None:
            return of_spectrum(self.scree)
        (C, factor), centered = self.matrix, self.problem.center
        squares, size = factor * self.problem.degrees, min(len(C) - int(centered), C.shape[1])
        if rule == "cv":
            return component_rules.bi_cross_validation(C, factors, rng, centered=centered, factor=squares)
        spectrum_of = partial(leading_values, memory_limit=self.memory_limit)
        if rule == "parallel":
            return component_rules.parallel_analysis(C, spectrum_of, rng, size=size, factor=factor)
        return component_rules.sign_flips(C, spectrum_of, rng, size=size, centered=centered, factor=squares)
