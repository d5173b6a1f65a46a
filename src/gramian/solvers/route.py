"""What every way to solve is: a typed record that knows its own cost, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from gramian.operators.costs import Costs, Form
from gramian.operators.operator import Operator
from gramian.records import Ask, Cost, Spectrum, Target


@dataclass(frozen=True, eq=False)
class Found:
    """What a solver returns: pairs, whatever became of them.

    Attributes
    ----------
    spectrum : Spectrum
        The pairs as far as they came.
    why : str
        Why they are not all that was asked for; "" where they are.
    left : array or None
        The other side's vectors, where the solver has them for free.
    """

    spectrum: Spectrum
    why: str = ""
    left: Any = None


class Route(Protocol):
    """One way to solve, as a frozen record in its solver's own file.

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
        ...

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""
        ...

    def reason(self, costs: Costs, target: Target) -> str:
        """Return when this route is the one to take, as a sentence."""
        ...

    def solve(self, operator: Operator, ask: Ask, start: Any = None) -> Found:
        """Find the pairs, from approximate vectors where there are some."""
        ...


def few(target: Target, m: int) -> str:
    """Return why an iteration pays."""
    if target.count is None:
        return f"{target} usually takes few of {m} eigenpairs"
    return f"{target} of {m} are few"
