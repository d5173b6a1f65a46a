"""Plans, runs and certifies: ranks routes by cost, runs them until one is accepted, returns the best answer.

The order of routes depends on shape, dtype, number of components and ``memory_limit``, never on the memory
that is free, so that the same call takes the same route everywhere.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian.core import arrays, records
from gramian.core.checks import amount, duration
from gramian.core.progress import note, report, reporting
from gramian.core.records import Certificate, Components, FloatArray, Plan, SolveRequest, Spectrum, Target
from gramian.engine import routes
from gramian.engine.certificates import certify, may_have_missed
from gramian.engine.operator import COVARIANCE, DIRECT, GRAM, Costs, TableCosts
from gramian.engine.routes import RATE, ProductRoute, Route, SolverResult, Status, SvdRoute, eigh_seconds
from gramian.errors import CostWarning, IndefiniteKernelError, MemoryLimitError

log = logging.getLogger(__name__)

# Seconds of a route below which BLAS has one thread, and below which it takes no more by itself.
BRIEF, TINY = 0.01, DIRECT + 2e-5

# Entries below which the SVD takes no noticeable time, and bytes that suffice where a direct route is quick.
SMALL, ROOM = 500 * 500, 96 << 20
SAVED = 5e-4  # seconds below which a product saves nothing worth a digit of the smallest eigenvalues
QUICK = 0.05  # seconds below which a direct route is taken: an iteration may need many passes
CONTINUATIONS = 3  # of an iteration from what the probe saw, each for as many pairs as it has columns
LONG = 600.0
SHOWN = 3

STORAGES = {
    "whole": "in memory",
    "kept": "its parts in memory",
    "again": "its parts recomputed in every pass",
    "copied": "a copy in memory",
}


@dataclass(frozen=True)
class Ranked:
    """A route with its predicted seconds and bytes."""

    route: Route
    seconds: float
    bytes: int


def all_routes(costs: Costs, target: Target) -> Iterator[Any]:
    """Yield every route to the target, in no order."""
    from gramian.engine import krylov  # which small tables do not need

    yield from routes.routes(costs, target)
    yield from krylov.routes(costs, target)


def ranked(costs: Costs, request: SolveRequest, *, everything: bool = False) -> list[Ranked]:
    """Return the routes for a problem, the preferred one first.

    Parameters
    ----------
    costs : Costs
        Costs of products with the problem's matrix.
    request : SolveRequest
    everything : bool
        Whether every eigenvalue is needed, so that an iteration will not do.

    Raises
    ------
    MemoryLimitError
        If no route fits into the limit, or the requested one does not.
    """
    beside = 0
    if costs.substitute is not None:
        beside = costs.substitute.bytes
        request = replace(request, solver="auto", memory_limit=request.memory_limit - beside)
    target, side, below = request.target, costs.forms()[0].matrix, _below_float32(costs, request.target)
    results = []
    for route in all_routes(costs, target):
        if (everything and not route.direct) or (below and not route.form.double):
            continue
        # It may have the memory that it leaves of the limit.
        form = costs.spare(route.form, request.memory_limit - route.cost(costs, target).bytes)
        cost = (route := replace(route, form=form)).cost(costs, target)
        results.append(Ranked(route, cost.seconds, cost.bytes))
    wanted = [item for item in results if request.solver in ("auto", item.route.solver)]
    if request.solver not in ("covariance", "gram"):
        # The data, or a matrix that is worth while.
        sides = (routes.DATA.matrix, *costs.sides) if isinstance(costs, TableCosts) else (side,)
        wanted = [item for item in wanted if item.route.form.matrix in sides]
    # Where an iteration would fill the space, the whole matrix on the smaller side takes its place.
    wanted = wanted or [item for item in results if item.route.form.matrix == side and item.route.direct]
    order = _order(costs, target)
    fitting = sorted((item for item in wanted if item.bytes <= request.memory_limit), key=order)
    if not fitting:
        least = min(wanted, key=lambda item: item.bytes)
        smaller = 'few components, which solver="krylov" finds in less memory'
        if any(not item.route.direct for item in wanted):
            smaller = "fewer components, or use fewer rows"
        way_out = f"Raise memory_limit, or ask for {smaller}."
        what, way_out = costs.too_large or (f"The {least.route.solver} route", way_out)
        need, limit = least.bytes + beside, request.memory_limit + beside
        require_memory(what, need, limit, way_out, request.resident_bytes)
    # What takes over from the first route may be any that fits.
    others = (item for item in results if item.bytes <= request.memory_limit and item not in fitting)
    items = fitting + sorted(others, key=order)
    # What can stall may take as long as the cheapest direct route.
    direct = min((item.seconds for item in items if item.route.direct), default=None)
    return [replace(item, route=item.route.with_patience(costs, target, direct)) for item in items]


def _below_float32(costs: Costs, target: Target) -> bool:
    """Whether the request may need components that float32 products cannot separate from rounding."""
    if target.count is None:
        return target.fraction is None
    # Eigenvalues of kernels fall faster than those of tables.
    share = 2 if isinstance(costs, TableCosts) else 8
    return target.count > min(costs.order(form) for form in costs.forms()) // share


def _order(costs: Costs, target: Target) -> Callable[[Ranked], tuple[bool, bool, float]]:
    exacting = _exacting(costs)
    least = min(costs.shape) if isinstance(costs, TableCosts) else 0
    # Few of many components are most often far above rounding; where they are not, the SVD takes over.
    few = exacting and target.count is not None and 2 * target.count <= least

    def key(item: Ranked) -> tuple[bool, bool, float]:
        route, seconds = item.route, item.seconds
        whole = exacting and route.solver == "full"
        product = few and route.direct and route.solver in ("covariance", "gram") and route.form.double
        saved = SAVED if product else 0.0
        return not (whole or product), not (route.direct and seconds < QUICK), seconds + saved

    return key


def _exacting(costs: Costs) -> bool:
    """Whether a table is so small that each of its eigenvalues is found to ``tol`` of itself."""
    return isinstance(costs, TableCosts) and costs.shape[0] * costs.shape[1] <= SMALL


def require_memory(what: str, need: int, memory_limit: int, way_out: str, resident: int = 0) -> None:
    """Raise an error if a computation needs more working memory than allowed.

    Raises
    ------
    MemoryLimitError
    """
    if need > memory_limit:
        read = f" in addition to the {amount(resident)} read from the file" if resident else ""
        allowed = f"memory_limit allows {amount(max(memory_limit, 0))}{read}."
        raise MemoryLimitError(f"{what} needs about {amount(need)} of working memory, and {allowed}", way_out)


def small_first(costs: Costs, request: SolveRequest) -> Ranked | None:
    """Choose the route of a small problem by its shape, as :func:`ranked` would; None where costs decide.

    The SVD takes small tables, and the smaller matrix few components where it saves time; a matrix
    that is quickly made and decomposed needs no iteration.
    """
    target = request.target
    if request.solver != "auto" or costs.substitute is not None:
        return None
    if not isinstance(costs, TableCosts):
        route = ProductRoute(costs.forms()[0])
        cost = route.cost(costs, target)
        quick = cost.seconds < QUICK and cost.bytes <= request.memory_limit
        return Ranked(route, cost.seconds, cost.bytes) if quick else None
    (n, d), few = costs.shape, target.count is not None and 2 * target.count <= min(costs.shape)
    exacting = _exacting(costs)
    if costs.sparse or costs.spread or costs.speed or request.memory_limit < ROOM:
        return None
    if costs.dtype == np.float32 and not (costs.quick or exacting):
        return None
    svd = n * d * (2e-9 + RATE * min(n, d)) + DIRECT
    if exacting and (svd < DIRECT + SAVED or not few):
        return Ranked(SvdRoute(), svd, ROOM)
    form = COVARIANCE if d <= n else GRAM
    product = costs.build(form)[0] + eigh_seconds(min(n, d), target) + costs.lift(form, target.count or n)
    taken = Ranked(ProductRoute(form), product, ROOM)
    if exacting:
        return taken if product + SAVED < svd else Ranked(SvdRoute(), svd, ROOM)
    return taken if product < min(svd, QUICK) else None


class Schedule:
    """The routes for a request, planned once: fits run the first, and print the plan of all when asked.

    Parameters
    ----------
    costs : Costs
    request : SolveRequest
    everything : bool
        Whether every eigenvalue is needed.

    Attributes
    ----------
    first : Ranked
        The route that is tried first; the others are ranked when it fails, or when somebody looks.
    seconds : float
        Predicted ones of the plan.

    Raises
    ------
    MemoryLimitError
        If no route fits into the limit.
    """

    def __init__(self, costs: Costs, request: SolveRequest, *, everything: bool = False) -> None:
        self.costs, self.request, self.everything = costs, request, everything
        self.first = small_first(costs, request) or self.items[0]
        made = 0.0 if costs.substitute is None else costs.substitute.seconds
        self.seconds = made + self.first.seconds

    @cached_property
    def items(self) -> tuple[Ranked, ...]:
        """The routes in the order in which they are tried."""
        return tuple(ranked(self.costs, self.request, everything=self.everything))

    @property
    def reason(self) -> str:
        """Why the first route, in a sentence."""
        return self.plan.reason

    @property
    def plan(self) -> Plan:
        """The first route in words."""
        return self.in_words(self.items[0], self.items[1:])

    def without(self, tried: Sequence[Ranked]) -> list[Ranked]:
        """Return the routes that were not tried, in their order."""
        done = [item.route for item in tried]
        return [item for item in self.items if item.route not in done]

    def _alternative(self, other: Ranked) -> records.Alternative:
        """Put another route into words."""
        form = other.route.form
        storage = f"{form.share:.0%} of its parts in memory" if form.share else STORAGES[form.storage]
        if not other.route.direct and other.route.solver == form.matrix:
            storage += ", by iteration"
        matrix = records.MATRICES.get(form.matrix, form.matrix)
        return records.Alternative(
            other.route.solver, matrix, storage, form.arithmetic, other.seconds, other.bytes
        )

    def in_words(self, item: Ranked, others: Sequence[Ranked]) -> Plan:
        """Put a route into words, with the alternatives that are left."""
        route, request, substitute = item.route, self.request, self.costs.substitute
        cost, reason = route.cost(self.costs, request.target), route.reason(self.costs, request.target)
        reason = reason[:1].upper() + reason[1:]
        if request.solver == route.solver:
            reason = f"You set solver={request.solver!r}."
        elif request.solver == "krylov":
            size = self.costs.order(route.form)
            reason = f"An iteration for {request.target} of {size} would fill the whole space."
        alternatives = tuple(map(self._alternative, others[:SHOWN]))
        facts = cost.steps, cost.bytes, reason, route.form.arithmetic, alternatives
        plan = Plan(route.form.matrix, route.solver, *facts)
        if substitute is None:
            return plan
        steps = (*substitute.steps, *cost.steps)
        return replace(substitute, steps=steps, bytes=substitute.bytes + cost.bytes)


def plan(costs: Costs, request: SolveRequest, *, everything: bool = False) -> Plan:
    """Return the plan for a request without running it."""
    return Schedule(costs, request, everything=everything).plan


def warn_of_cost(result: Plan | Schedule, advice: Callable[[], str], like: Any) -> None:
    """Warn if a plan is predicted to take more than ten minutes, with advice on a faster one.

    Predictions are for two cores, so there is no warning for arrays on a device.
    """
    if result.seconds > LONG and not arrays.on_accelerator(like):
        CostWarning(
            f"This is predicted to take about {result.seconds / 60:.0f} minutes ({result.reason}) {advice()}"
        ).warn()


# ------------------------------------------------------ problems and their solutions


class Problem(ABC):
    """A problem for the engine: data, and the matrices whose eigenpairs solve it.

    Attributes
    ----------
    unit : str
        What the eigenvalues are called.
    request : SolveRequest or None
        What is being run, once it is.
    earlier : float
        Seconds of passes over the rows before.
    everything : bool
        Whether every eigenvalue is needed, so that an iteration will not do.
    """

    unit: str
    everything: bool = False
    request: SolveRequest | None = None
    earlier: float = 0.0
    _built: Any = None

    @property
    @abstractmethod
    def costs(self) -> Costs:
        """Costs of products with its matrices."""

    def schedule(self, request: SolveRequest) -> Schedule:
        """Plan the routes to what is asked for; a MemoryLimitError where none fits."""
        self.request = request  # on which the arithmetic may depend
        return Schedule(self.costs, request, everything=self.everything)

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
    def truncate(self, result: Spectrum, operator: Any, request: SolveRequest) -> Spectrum:
        """Truncate a solver's result to the request; raise an error for an invalid one."""

    def factor(self) -> float:
        """Return the factor from eigenvalues of the operator to ``unit``."""
        return 1.0

    def certified(self, certificate: Certificate, request: SolveRequest) -> Certificate:
        """Return the certificate for the exact matrix if the operator approximates it."""
        return certificate


@dataclass(frozen=True)
class Run:
    """A route that was run; the others are as of :class:`gramian.core.records.Attempt`."""

    item: Ranked
    took: float
    passes: int
    error: float
    rank: int
    why: str


@dataclass(frozen=True, eq=False)
class Account:
    """The routes that led to a solution; in words when somebody asks.

    Attributes
    ----------
    planned : Schedule
    runs : tuple of Run
        Every route that was run, in order.
    best : int
        Which one gave the answer.
    earlier : float
        Seconds of passes over the rows before, which count as the first run's and the best one's.
    told : Plan, optional
        The plan where more is to be said than what ran.
    """

    planned: Schedule
    runs: tuple[Run, ...]
    best: int = 0
    earlier: float = 0.0
    told: Plan | None = None

    @cached_property
    def attempts(self) -> tuple[records.Attempt, ...]:
        """Every route that was run, in order, with its alternatives at that time, and what became of it."""
        result = list[records.Attempt]()
        for i, run in enumerate(self.runs):
            tried = [earlier.item for earlier in self.runs[: i + 1]]
            plan = self.planned.in_words(run.item, self.planned.without(tried))
            reason = f"The previous route was not accepted: {self.runs[i - 1].why}." if i else plan.reason
            plan = replace(plan, took=run.took + (0.0 if i else self.earlier), reason=reason)
            result.append(records.Attempt(plan, run.passes, run.error, run.rank, run.why))
        return tuple(result)

    @cached_property
    def plan(self) -> Plan:
        """The route that gave the answer, as it ran."""
        plan = self.told or self.attempts[self.best].plan
        return replace(plan, took=(plan.took or 0.0) + self.earlier) if self.best and not self.told else plan

    def __str__(self) -> str:
        return str(self.attempts[-1])


@dataclass(frozen=True, eq=False)
class Solution:
    """The best certified result, and the routes that led to it.

    Attributes
    ----------
    spectrum : Spectrum
    certificate : Certificate or None
    operator : Operator
        The matrix that the pairs belong to.
    account : Account
    """

    spectrum: Spectrum
    certificate: Certificate | None
    operator: Any
    account: Account = None  # type: ignore[assignment]  # until the last route has run


def solve(problem: Problem, request: SolveRequest) -> Solution:
    """Plan a request, and run the plan.

    Raises
    ------
    MemoryLimitError
        When no route fits into the limit.
    """
    return run(problem, problem.schedule(request))


def run(problem: Problem, planned: Schedule, seeds: Sequence[int] | None = None) -> Solution:
    """Find the eigenpairs that were planned for, with random streams of these seeds.

    Routes are run in the order of their cost until an answer is accepted. What was found on the way starts
    the next route; every route was planned against the same memory limit, and the best certified answer is
    returned, which need not be the last one.
    """
    request = planned.request if seeds is None else replace(planned.request, seeds=seeds)
    problem.request = request
    best: Solution | None = None
    winner = 0
    runs: list[Run] = []
    tried: list[Ranked] = []
    start = None
    item: Ranked | None = planned.first
    while item is not None:
        tried.append(item)
        if reporting():
            report(f"{item.route.solver}, about {duration(item.seconds)}", "")
        began = time.perf_counter()
        # BLAS threads that wait for each other take longer than so little work, on busy cores many times.
        alone = arrays.blas_threads() if TINY <= item.seconds < BRIEF else nullcontext()
        with alone, _explained(getattr(problem, "rows", None)):
            solution, status, why = _run(problem, planned, request, tried, start)
        spectrum, took = solution.spectrum, time.perf_counter() - began
        runs.append(Run(item, took, spectrum.passes, _error(solution.certificate), spectrum.rank, why))
        note(log, "%s", Account(planned, tuple(runs)))
        if best is None or status is Status.COMPLETE or _quality(solution, request) > _quality(best, request):
            best, winner = solution, len(runs) - 1
        following = None if status is Status.COMPLETE else _next(planned.without(tried), item, status)
        start = None
        if following is not None:
            if problem.costs.order(following.route.form) == problem.costs.order(item.route.form):
                start = spectrum.vectors
            if following.route.form != item.route.form:
                solution.operator.release()
        item = following
    assert best is not None
    account = Account(planned, tuple(runs), winner, problem.earlier)
    spectrum = best.spectrum
    if runs[0].why:
        reasons = "; then ".join(run.why for run in runs if run.why)
        took_over = f"; {account.plan.solver} on the {account.plan.matrix} took over"
        spectrum = replace(spectrum, note=reasons + ("" if runs[-1].why else took_over))
    certificate = None if best.certificate is None else problem.certified(best.certificate, request)
    return Solution(spectrum, certificate, best.operator, account)


def _explained(rows: Any) -> AbstractContextManager[None]:
    """Explain that a device has no memory left for rows, where they are on one."""
    if rows is None or arrays.is_numpy(rows.like):
        return nullcontext()
    from gramian.tables import device  # which no fit on the host needs

    return device.explained_memory_errors(rows.like, device.named(rows))


def _run(
    problem: Problem, planned: Schedule, request: SolveRequest, tried: Sequence[Ranked], start: Any
) -> tuple[Solution, Status, str]:
    """Run the last of the routes and certify its result; return its status and the reason."""
    item = tried[-1]
    operator = problem.operator(item.route)
    if start is None and not item.route.direct:
        start = problem.start(item.route, request)
    certificate, missed, passes = None, None, 0
    for again in range(CONTINUATIONS, -1, -1):
        result: SolverResult = item.route.solve(operator, request, start)
        if result.status is Status.COMPLETE and not item.route.form.double:
            from gramian.engine.krylov import improved

            result = improved(operator, result, request)
        passes += result.spectrum.passes
        try:
            spectrum = problem.truncate(result.spectrum, operator, request)
        except IndefiniteKernelError:
            others = [] if result.spectrum.complete else planned.without(tried)
            if not any(other.route.direct for other in others):
                raise
            spectrum = result.spectrum
            result = replace(result, status=Status.INCOMPLETE, why="signs of eigenvalues are undetermined")
        if request.certify:
            certificate, missed = certify(spectrum, operator, request, problem.unit, problem.factor())
        if missed is None or result.status is not Status.COMPLETE:
            break
        result = replace(result, status=Status.INCOMPLETE, why="a larger eigenvalue was missed")
        other = _next(planned.without(tried), item, Status.INCOMPLETE)
        if not again or (other is not None and other.seconds <= item.seconds):
            break
        start = arrays.namespace(missed).concat([spectrum.vectors, missed], axis=1)
    spectrum = spectrum if passes == spectrum.passes else replace(spectrum, passes=passes)
    solution = Solution(spectrum, certificate, operator)
    return solution, *_judged(result, solution, planned, tried)


def _judged(
    result: SolverResult, solution: Solution, planned: Schedule, tried: Sequence[Ranked]
) -> tuple[Status, str]:
    """Return a result's status, and why it is not accepted: the one policy."""
    if result.status is not Status.COMPLETE:
        return result.status, result.why
    request, route = planned.request, tried[-1].route
    spectrum, certificate = solution.spectrum, solution.certificate
    if not route.form.double and (spectrum.rank < (request.target.count or 0) or not spectrum.rank):
        why = f"float32 products separate only {spectrum.rank} components from rounding"
        return Status.INACCURATE, why
    if certificate is not None and spectrum.values.size and not certificate.ok:
        if not spectrum.complete and may_have_missed(certificate):
            return Status.INCOMPLETE, "an eigenvalue may have been missed"
        if not route.form.double:
            return Status.INACCURATE, "rounding of float32 products exceeds tol"
    if request.solver == "auto" and route.solver != "full" and _exacting(planned.costs):
        # Each value, and the sum of the others, is to be known to tol of itself if the SVD can do that.
        left = max((spectrum.total or 0.0) - float(spectrum.values.sum()), 0.0)
        least = min(left, float(spectrum.values.min(initial=math.inf)))
        error = float(spectrum.residuals.max(initial=0.0)) + spectrum.error_bound
        complete = spectrum.rank >= spectrum.values.size and error <= request.tol * least
        if not complete and any(other.route.solver == "full" for other in planned.without(tried)):
            return Status.INACCURATE, "products do not resolve the smallest eigenvalues"
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


# ---- From eigenpairs to components: variances, signs, and bases completed beyond the rank


def components_of(
    spectrum: Spectrum, count: int | None, factor: float, total: float | None, size: int
) -> Components:
    """Return what eigenvalues mean.

    Parameters
    ----------
    spectrum : Spectrum
    count : int or None
        Number of components: beyond the rank they are 0.
    factor : float
        Turns eigenvalues into what they mean.
    total : float or None
        Sum of all eigenvalues, where it means something.
    size : int
        Their number.
    """
    k = spectrum.values.size if count is None else count
    rank = min(spectrum.rank, k)
    values = np.zeros(k)
    values[:rank] = spectrum.values[:rank] * factor
    whole = None if total is None else total * factor
    return Components(values, whole, size, rank, spectrum.rank_tolerance, spectrum.rest * factor)


def fixed_signs(vectors: Any) -> FloatArray:
    """Return +1 or -1 for each column, which makes its first largest entry positive.

    The first entry within 1e-6 (float64; 1e-3 float32) of the largest magnitude, relatively, decides, so
    that rounding cannot choose between entries of equal size.

    Parameters
    ----------
    vectors : array of shape (m, k)
    """
    if vectors.shape[1] == 0:
        return np.empty(0)
    near = 1e-6 if arrays.numpy_dtype(vectors) == np.float64 else 1e-3
    # Row by row in memory, along which the first large entry is searched for.
    columns = np.ascontiguousarray(arrays.to_numpy(vectors).T)
    sizes = np.abs(columns)
    enough = ((1 - near) * sizes.max(axis=1, keepdims=True)).astype(columns.dtype)
    first = (sizes >= enough).argmax(axis=1)
    values = columns[np.arange(len(columns)), first]
    return np.where(values < 0, -1.0, 1.0)


def complete_basis(vectors: Any, k: int) -> Any:
    """Extend orthonormal columns to k of them, by directions orthogonal to all given ones.

    Parameters
    ----------
    vectors : array of shape (m, r)
        Orthonormal columns, r <= k <= m.
    """
    m, r = vectors.shape
    if r >= k:
        return vectors[:, :k]
    xp = arrays.namespace(vectors)
    # A fixed seed: these directions carry no information, and must not differ from run to run.
    rng = np.random.default_rng(0)
    extra = arrays.from_numpy(rng.standard_normal((m, k - r)).astype(arrays.numpy_dtype(vectors)), vectors)
    for _ in range(2):
        extra = extra - vectors @ (vectors.T @ extra)
        extra, _ = arrays.orthonormal(extra)
    return xp.concat([vectors, extra], axis=1)
