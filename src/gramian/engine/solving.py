"""Runs routes until one is accepted, and returns the best certified answer."""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from gramian.analysis.certificates import certify, may_have_missed
from gramian.arrays import blas_threads
from gramian.checks import duration
from gramian.engine.planning import Ranked, Schedule, schedule
from gramian.errors import IndefiniteKernelError
from gramian.operators.costs import Costs
from gramian.operators.operator import Operator
from gramian.progress import note, report
from gramian.records import Attempt, Certificate, Plan, SolveRequest, Spectrum
from gramian.rows.kinds.device import explained_memory_errors
from gramian.solvers.route import Route, SolverResult, Status

log = logging.getLogger(__name__)

BRIEF = 0.01  # seconds of a route below which BLAS has one thread


class Problem(ABC):
    """A problem for the engine: data, and the matrices whose eigenpairs solve it.

    Attributes
    ----------
    unit : str
        What the eigenvalues are called.
    """

    unit: str
    _built: Any = None

    @property
    @abstractmethod
    def costs(self) -> Costs:
        """Costs of products with its matrices."""

    @property
    def everything(self) -> bool:
        """Whether every eigenvalue is needed, so that an iteration will not do."""
        return False

    def schedule(self, request: SolveRequest) -> Schedule:
        """Plan: return the routes to what is asked for."""
        return schedule(self.costs, request, everything=self.everything)

    def operator(self, route: Route) -> Any:
        """Return the matrix that a route works on; the one built last is used again."""
        if self._built is None or self._built[0] != route.form:
            self._built = None  # whose memory the next one may need
            self._built = route.form, self.build(route)
        return self._built[1]

    @abstractmethod
    def build(self, route: Route) -> Any:
        """Build the matrix that a route works on."""

    def start(self, route: Route, request: SolveRequest) -> Any:
        """Return vectors near the leading ones if they cost little compared with a pass; else None."""
        return None

    @abstractmethod
    def truncate(self, result: Spectrum, operator: Operator, request: SolveRequest) -> Spectrum:
        """Truncate a solver's result to the request; raise an error for an invalid one."""

    def factor(self) -> float:
        """Return the factor from eigenvalues of the operator to ``unit``."""
        return 1.0

    def scaled(self, spectrum: Spectrum) -> Spectrum:
        """Return the record in ``unit``."""
        return spectrum.scaled(self.factor())

    def certified(self, certificate: Certificate, request: SolveRequest) -> Certificate:
        """Return the certificate for the exact matrix if the operator approximates it."""
        return certificate


@dataclass(frozen=True, eq=False)
class Solution:
    """The best certified result, and the routes that led to it.

    Attributes
    ----------
    spectrum : Spectrum
    certificate : Certificate or None
    operator : Operator
        The matrix that the pairs belong to.
    left : array or None
        The other side's vectors, where the solver has them for free.
    plan : Plan
        The route that gave the answer, as it ran.
    attempts : tuple of Attempt
        Every route that was run, in order.
    """

    spectrum: Spectrum
    certificate: Certificate | None
    operator: Any
    left: Any
    plan: Plan
    attempts: tuple[Attempt, ...]


def solve(problem: Problem, request: SolveRequest) -> Solution:
    """Plan a request, and run the plan.

    Raises
    ------
    MemoryLimitError
        When no route fits into the limit.
    """
    return run(problem, problem.schedule(request))


def run(problem: Problem, planned: Schedule) -> Solution:
    """Find the eigenpairs that were planned for.

    Routes are run in the order of their cost until an answer is accepted. What was found on the way starts
    the next route; every route was planned against the same memory limit, and the best certified answer is
    returned, which need not be the last one.
    """
    request, waiting = planned.request, list(planned.items)
    best: Solution | None = None
    attempts: list[Attempt] = []
    start = None
    item: Ranked | None = waiting[0]
    while item is not None:
        waiting.remove(item)
        report(f"{item.route.solver}, about {duration(item.cost.seconds)}", "")
        began = time.perf_counter()
        # BLAS threads that wait for each other take longer than so little work, on busy cores many times.
        alone = blas_threads() if item.cost.seconds < BRIEF else nullcontext()
        with alone, explained_memory_errors(getattr(problem, "rows", None)):
            solution, status, why = _run(problem, item, request, start, [other.route for other in waiting])
        ran = replace(planned.in_words(item, waiting), took=time.perf_counter() - began)
        if attempts:
            ran = replace(ran, reason=f"The previous route was not accepted: {attempts[-1].why}.")
        solution = replace(solution, plan=ran)
        spectrum = solution.spectrum
        attempts.append(Attempt(ran, spectrum.passes, _error(solution.certificate), spectrum.rank, why))
        note(log, "%s", attempts[-1])
        if best is None or status is Status.COMPLETE or _quality(solution, request) > _quality(best, request):
            best = solution
        following = None if status is Status.COMPLETE else _next(waiting, item, status)
        start = None
        if following is not None:
            if problem.costs.order(following.route.form) == problem.costs.order(item.route.form):
                start = spectrum.vectors
            if following.route.form != item.route.form:
                solution.operator.release()
        item = following
    assert best is not None
    reasons = "; then ".join(attempt.why for attempt in attempts if not attempt.accepted)
    if reasons:
        took = best.plan
        over = f"; {took.solver} on the {took.matrix} took over" if attempts[-1].accepted else ""
        best = replace(best, spectrum=replace(best.spectrum, note=f"{reasons}{over}"))
    certificate = None if best.certificate is None else problem.certified(best.certificate, request)
    return replace(best, certificate=certificate, attempts=tuple(attempts))


def _run(
    problem: Problem, item: Ranked, request: SolveRequest, start: Any, others: list[Route]
) -> tuple[Solution, Status, str]:
    """Run one route and certify its result; return its status and the reason."""
    operator = problem.operator(item.route)
    start = problem.start(item.route, request) if start is None else start
    result: SolverResult = item.route.solve(operator, request, start)
    try:
        spectrum = problem.truncate(result.spectrum, operator, request)
    except IndefiniteKernelError:
        if result.spectrum.complete or not any(route.direct for route in others):
            raise
        spectrum = result.spectrum
        result = replace(result, status=Status.INCOMPLETE, why="signs of eigenvalues are undetermined")
    certificate = None
    if request.certify:
        certificate = certify(
            spectrum,
            operator,
            tol=request.tol,
            rng=request.probe_rng,
            unit=problem.unit,
            factor=problem.factor(),
        )
    solution = Solution(spectrum, certificate, operator, result.left, Plan("", "", (), 0, ""), ())
    return solution, *_judged(result, spectrum, certificate, item, request)


def _judged(
    result: SolverResult,
    spectrum: Spectrum,
    certificate: Certificate | None,
    item: Ranked,
    request: SolveRequest,
) -> tuple[Status, str]:
    """Return a result's status, and why it is not accepted: the one policy."""
    if result.status is not Status.COMPLETE:
        return result.status, result.why
    wanted = request.target.count or 0
    if not item.route.form.double and (spectrum.rank < wanted or not spectrum.rank):
        why = f"float32 products separate only {spectrum.rank} components from rounding"
        return Status.INACCURATE, why
    if certificate is None or not spectrum.values.size or certificate.ok:
        return Status.COMPLETE, ""
    if not spectrum.complete and may_have_missed(certificate):
        return Status.INCOMPLETE, "an eigenvalue may have been missed"
    if not item.route.form.double:
        return Status.INACCURATE, "rounding of float32 products exceeds tol"
    return Status.COMPLETE, ""


def _next(waiting: list[Ranked], last: Ranked, lacks: Status) -> Ranked | None:
    """Return the route that takes over: complete where pairs are missing, in float64 where digits are."""
    incomplete = lacks is Status.INCOMPLETE
    for item in waiting:
        route = item.route
        if not last.route.form.double and not route.form.double and not incomplete:
            continue
        if incomplete and not route.direct and not (route.form.whole and not last.route.form.whole):
            continue
        if route.form.matrix == last.route.form.matrix or route.solver == "full" or route.direct:
            return item
    # Where nothing complete fits, digits may have been what was missing.
    return _next(waiting, last, Status.INACCURATE) if incomplete and not last.route.form.double else None


def _quality(solution: Solution, request: SolveRequest) -> tuple[Any, ...]:
    """Return a sort key for results: enough pairs, certified, of higher rank, accurate."""
    certificate, spectrum = solution.certificate, solution.spectrum
    enough = spectrum.values.size >= (request.target.count or 0)
    if certificate is None:
        return (enough, spectrum.rank)
    return (enough, certificate.ok, not may_have_missed(certificate), spectrum.rank, -_error(certificate))


def _error(certificate: Certificate | None) -> float:
    if certificate is None or not certificate.values.size:
        return 0.0
    top = float(certificate.values[0])
    radius = float(certificate.radii.max())
    return radius / top if top > 0 else (math.inf if radius else 0.0)
