"""Ranks the routes that meet a request and fit into memory, by their predicted cost.

The order depends on shape, dtype, number of components and ``memory_limit``, never on the memory that is
free, so that the same call takes the same route everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.arrays import on_accelerator
from gramian.checks import amount, duration
from gramian.errors import CostWarning, MemoryLimitError
from gramian.operators.costs import Costs, TableCosts
from gramian.records import MATRICES, Alternative, Cost, Plan, SolveRequest, Target
from gramian.solvers import krylov, product, svd
from gramian.solvers.route import Route

SOLVERS: tuple[Callable[[Costs, Target], Iterator[Any]], ...] = (svd.routes, product.routes, krylov.routes)
SMALL = 500 * 500  # entries below which the SVD takes no noticeable time
QUICK = 0.05  # seconds below which a direct route is taken: an iteration may need many passes
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
    """A route with its predicted cost."""

    route: Route
    cost: Cost


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
    replacement, beside = costs.substitute, 0
    if replacement is not None:
        beside = replacement.cost.bytes
        request = replace(request, solver="auto", memory_limit=request.memory_limit - beside)
    results = [
        Ranked(route, route.cost(costs, request.target))
        for routes in SOLVERS
        for route in (_spared(route, costs, request) for route in routes(costs, request.target))
        if route.direct or not everything
    ]
    results = [
        item for item in results if item.route.form.double or not _below_float32(costs, request.target)
    ]
    wanted = [item for item in results if request.solver in ("auto", item.route.solver)]
    side = costs.forms()[0].matrix
    if request.solver not in ("covariance", "gram"):
        sides = costs.sides if isinstance(costs, TableCosts) else (side,)
        wanted = [item for item in wanted if item.route.form.matrix in (*sides, svd.DATA.matrix)]
    # Where an iteration would fill the space, the whole matrix on the smaller side takes its place.
    wanted = wanted or [item for item in results if item.route.form.matrix == side and item.route.direct]
    fitting = sorted((item for item in wanted if item.cost.bytes <= request.memory_limit), key=_order(costs))
    if not fitting:
        least = min(wanted, key=lambda item: item.cost.bytes)
        if costs.too_large is not None:
            what, way_out = costs.too_large
            require_memory(what, least.cost.bytes + beside, request.memory_limit + beside, way_out)
        raise MemoryLimitError(_too_much(least, request, wanted))
    # What takes over from the first route may be any that fits.
    others = (item for item in results if item.cost.bytes <= request.memory_limit and item not in fitting)
    return _patient(fitting + sorted(others, key=_order(costs)), costs, request.target)


def _spared(route: Any, costs: Costs, request: SolveRequest) -> Any:
    """Give a route the memory that it leaves of the limit."""
    form = costs.spare(route.form, request.memory_limit - route.cost(costs, request.target).bytes)
    return route if form == route.form else replace(route, form=form)


def _below_float32(costs: Costs, target: Target) -> bool:
    """Whether the request may need components that float32 products cannot separate from rounding."""
    if target.count is None:
        return target.fraction is None
    # Eigenvalues of kernels fall faster than those of tables.
    share = 2 if isinstance(costs, TableCosts) else 8
    return target.count > min(costs.order(form) for form in costs.forms()) // share


def _order(costs: Costs) -> Callable[[Ranked], tuple[bool, bool, float]]:
    small = isinstance(costs, TableCosts) and costs.shape[0] * costs.shape[1] <= SMALL

    def key(item: Ranked) -> tuple[bool, bool, float]:
        whole = small and item.route.solver == "full"
        return not whole, not (item.route.direct and item.cost.seconds < QUICK), item.cost.seconds

    return key


def _patient(items: list[Ranked], costs: Costs, target: Target) -> list[Ranked]:
    """Limit the passes of each route by the predicted time of the cheapest direct one."""
    direct = min((item.cost.seconds for item in items if item.route.direct), default=None)
    return [replace(item, route=item.route.with_patience(costs, target, direct)) for item in items]


def _too_much(least: Ranked, request: SolveRequest, tried: list[Ranked]) -> str:
    smaller = (
        "fewer components, or use fewer rows"
        if any(not item.route.direct for item in tried)
        else "few components, which solver='krylov' finds in less memory"
    )
    beside = (
        f" in addition to the {amount(request.resident_bytes)} read from the file"
        if request.resident_bytes
        else ""
    )
    return (
        f"The {least.route.solver} route needs about {amount(least.cost.bytes)} of working memory, and "
        f"memory_limit allows {amount(max(request.memory_limit, 0))}{beside}. Raise memory_limit, or ask for "
        f"{smaller}."
    )


def require_memory(what: str, need: int, memory_limit: int, way_out: str) -> None:
    """Raise an error if a computation needs more working memory than allowed.

    Raises
    ------
    MemoryLimitError
    """
    if need > memory_limit:
        raise MemoryLimitError(
            f"{what} needs about {amount(need)} of working memory, and memory_limit allows "
            f"{amount(memory_limit)}. {way_out}"
        )


@dataclass(frozen=True, eq=False)
class Schedule:
    """The routes for a request, planned once: fits print the plan of it, and run it.

    Attributes
    ----------
    costs : Costs
    request : SolveRequest
    items : tuple of Ranked
        The routes in the order in which they are tried.
    """

    costs: Costs
    request: SolveRequest
    items: tuple[Ranked, ...]

    @property
    def plan(self) -> Plan:
        """The first route in words."""
        return self.in_words(self.items[0], self.items[1:])

    def seeded(self, solver_rng: np.random.Generator, probe_rng: np.random.Generator) -> Schedule:
        """Return the same routes with random streams, which a plan does not need."""
        return replace(self, request=replace(self.request, solver_rng=solver_rng, probe_rng=probe_rng))

    def _alternative(self, taken: Ranked, other: Ranked) -> Alternative:
        """Put another route into words; if it shows as cheaper than the route taken, with the reason."""
        route, form, why = other.route, other.route.form, ""
        seconds, least = taken.cost.seconds, other.cost.seconds
        if least < seconds and duration(least) != duration(seconds):
            if self.request.solver not in ("auto", route.solver):
                why = f"you set solver={self.request.solver!r}"
            elif taken is not self.items[0]:
                why = "it might fail as the previous route did"
            elif taken.route.direct and not route.direct:
                why = "an iteration may stall, and the direct method is quick"
            else:
                why = "the SVD resolves the smallest eigenvalues best, and the data are small"
        storage = f"{form.share:.0%} of its parts in memory" if form.share else STORAGES[form.storage]
        if not route.direct and route.solver == form.matrix:
            storage += ", by iteration"
        matrix, cost = MATRICES.get(form.matrix, form.matrix), other.cost
        return Alternative(route.solver, matrix, storage, form.arithmetic, cost.seconds, cost.bytes, why)

    def in_words(self, item: Ranked, others: Sequence[Ranked]) -> Plan:
        """Put a route into words, with the alternatives that are left."""
        route, cost, request, substitute = item.route, item.cost, self.request, self.costs.substitute
        reason = route.reason(self.costs, request.target)
        reason = reason[:1].upper() + reason[1:]
        if request.solver == route.solver:
            reason = f"You set solver={request.solver!r}."
        elif request.solver == "krylov":
            size = self.costs.order(route.form)
            reason = f"An iteration for {request.target} of {size} would fill the whole space."
        plan = Plan(
            operator=route.form.matrix,
            solver=route.solver,
            steps=cost.steps,
            bytes=cost.bytes,
            reason=reason,
            arithmetic=route.form.arithmetic,
            alternatives=() if substitute else tuple(self._alternative(item, o) for o in others[:SHOWN]),
        )
        if substitute is None:
            return plan
        return replace(
            plan,
            operator=substitute.matrix,
            solver=substitute.solver,
            steps=(*substitute.cost.steps, *cost.steps),
            bytes=substitute.cost.bytes + cost.bytes,
            reason=f"You set solver={substitute.solver!r}; {substitute.reason}",
            arithmetic=substitute.arithmetic,
        )


def schedule(costs: Costs, request: SolveRequest, *, everything: bool = False) -> Schedule:
    """Plan: return the routes for a request, as :func:`ranked` orders them."""
    return Schedule(costs, request, tuple(ranked(costs, request, everything=everything)))


def plan(costs: Costs, request: SolveRequest, *, everything: bool = False) -> Plan:
    """Return the plan for a request without running it."""
    return schedule(costs, request, everything=everything).plan


def warn_of_cost(result: Plan, advice: Callable[[], str], like: Any) -> None:
    """Warn if a plan is predicted to take more than ten minutes, with advice on a faster one.

    Predictions are for two cores, so there is no warning for arrays on a device.
    """
    if result.seconds > LONG and not on_accelerator(like):
        warnings.warn(
            f"This is predicted to take about {result.seconds / 60:.0f} minutes ({result.reason}) {advice()}",
            CostWarning,
            stacklevel=4,
        )
