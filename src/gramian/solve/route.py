"""What every way to solve is: a record that knows its own cost; what it returns, and what solvers share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from gramian.operators.costs import Costs, Form
from gramian.operators.operator import Operator
from gramian.records import Cost, FloatArray, SolveRequest, Spectrum, Step, Target


class Status(Enum):
    """What became of a search for eigenpairs."""

    COMPLETE = "every pair that was asked for"
    INCOMPLETE = "pairs may be missing"
    INACCURATE = "digits are missing"


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver returns: pairs, whatever became of them.

    Attributes
    ----------
    spectrum : Spectrum
        The pairs as far as they came.
    status : Status
    why : str
        Why they are not all that was asked for, for the user.
    """

    spectrum: Spectrum
    status: Status = Status.COMPLETE
    why: str = ""


class Route(Protocol):
    """One way to solve, as a frozen record in its solver's own file, which derives from this.

    Attributes
    ----------
    form : Form
        How the matrix is held.
    direct : bool
        Whether it cannot stall.
    """

    form: Form
    direct: bool

    @property
    def solver(self) -> str:
        """The solver's name as users spell it."""

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""

    def reason(self, costs: Costs, target: Target) -> str:
        """Return when this route is the one to take, as a sentence."""

    def with_patience(self, costs: Costs, target: Target, seconds: float | None) -> Route:
        """Return the route, given what the cheapest direct one takes: what can stall ends sooner then.

        None means that no direct one fits into memory.
        """
        return self

    def solve(self, operator: Operator, request: SolveRequest, start: Any = None) -> SolverResult:
        """Find the pairs, from approximate vectors where there are some."""


def finishing(costs: Costs, form: Form, count: int) -> list[Step]:
    """Return the steps from so many pairs, as they were found in this form, to what was asked for."""
    steps = []
    if costs.improves(form):
        exact = costs.product(form.promoted(), count)
        steps.append(Step("improve", "pairs and residuals in float64", exact))
    if form.matrix == "gram":
        steps.append(Step("lift", "directions from the dual vectors", costs.lift(form, count)))
    return steps


def few(target: Target, m: int) -> str:
    """Return why an iteration pays."""
    if target.count is None:
        return f"{target} usually takes few of {m} eigenpairs"
    return f"{target} of {m} are few"


# -------------------------------------- what solvers share about spectra


def count_for_fraction(values: FloatArray, total: float, fraction: float) -> int | None:
    """Return the least k whose leading values reach ``fraction`` of ``total``; None when none does.

    Rounding in the sum must not cost a component, so the comparison allows for it.
    """
    if total <= 0:
        return 1 if values.size else None
    reached = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) >= (fraction - 1e-12) * total)
    return int(reached[0]) + 1 if reached.size else None


def relative_tolerance(relative: float, noise: float, top: float) -> float:
    """One relative rank threshold out of the route's own and the data's absolute rounding."""
    return max(relative, noise / top) if top > 0 else 1.0


def count_of(target: Target, values: FloatArray, total: float | None) -> int:
    """Return how many of all values, descending, a target takes."""
    if target.count is not None:
        return min(target.count, values.size)
    if target.fraction is None:
        return int(values.size)
    whole = total if total is not None else float(np.maximum(values, 0.0).sum())
    return count_for_fraction(values, whole, target.fraction) or int(values.size)
