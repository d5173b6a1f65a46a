"""Minimises a function of each row, many rows at once; no step ever makes a row worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray

IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
HALVINGS = 40
# A step must bring this part of what its slope promises (Armijo 1966).
PROMISE = 1e-4
# Of the objective's size: smaller gains are rounding.
NOISE = 1e-13
# How much of the weights' sum of magnitudes a fixed-point step is divided by at least.
DAMPING = 0.05
MEMORY = 10


@dataclass(frozen=True, eq=False)
class Local:
    """What an objective says about points of shape (b, d).

    Attributes
    ----------
    values : ndarray of shape (b,)
        In units in which they are about 1 in size.
    gradient : ndarray of shape (b, d)
    stiffness, damping : ndarray of shape (b, 1) or (b, d)
        Where the gradient is ``stiffness * (x - centre)``: that factor, and the same of the magnitudes of all
        weights in it, which is positive and at least as large; 0 where it is not.
    """

    values: FloatArray
    gradient: FloatArray
    stiffness: FloatArray
    damping: FloatArray

    def taken(self, rows: IndexArray) -> Local:
        """Return the same of some rows."""
        return Local(*(getattr(self, fact.name)[rows] for fact in fields(self)))

    def replaced(self, rows: IndexArray, new: Local) -> None:
        """Write new facts about some rows over the old ones."""
        for fact in fields(self):
            getattr(self, fact.name)[rows] = getattr(new, fact.name)


Objective = Callable[[FloatArray, IndexArray], Local]


class FixedPoint:
    """Steps of the fixed-point iteration, damped where weights of both signs cancel.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces,
    equation 10.
    """

    def __call__(self, here: Local, free: FloatArray) -> FloatArray:
        """Return ``centre - x``, or a part of it; ``free`` is 0 where an entry is held fast, else 1."""
        divisor = np.maximum(here.stiffness, DAMPING * here.damping)
        seen = divisor > 0
        return np.where(seen, -here.gradient * free / np.where(seen, divisor, 1.0), 0.0)

    def learn(self, step: FloatArray, change: FloatArray) -> None:
        """Nothing is learned: every step starts afresh."""

    def keep(self, rows: IndexArray) -> None:
        """Nothing is remembered."""


class LimitedMemory:
    """Quasi-Newton steps from the last few changes of the gradient, for each row its own.

    References
    ----------
    Nocedal (1980), Updating quasi-Newton matrices with limited storage; Nocedal and Wright (2006), Numerical
    Optimization, algorithm 7.4.
    """

    def __init__(self, rows: int) -> None:
        # Step, change of the gradient, and one over their product; for each row its own.
        self.pairs: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.scale = np.zeros(rows)

    def __call__(self, here: Local, free: FloatArray) -> FloatArray:
        """Return minus the estimated inverse Hessian times the gradient."""
        q = here.gradient * free
        fresh = self.scale <= 0
        length = np.linalg.norm(q, axis=1)
        # Of the first step nothing is known but the units, in which the data has size 1.
        self.scale = scale = np.where(fresh, 0.1 / np.maximum(length, 0.1), self.scale)
        shares = []
        for s, y, inverse in reversed(self.pairs):
            share = inverse * _dot(s, q)
            q = q - share[:, None] * y
            shares.append(share)
        q = q * scale[:, None]
        for s, y, inverse in self.pairs:
            q = q + (shares.pop() - inverse * _dot(y, q))[:, None] * s
        p = -q * free
        # What is no descent, by rounding or by entries held fast, gives way to the gradient.
        steep = _dot(p, here.gradient) <= -1e-12 * np.linalg.norm(p, axis=1) * length
        return np.where(steep[:, None], p, -scale[:, None] * here.gradient * free)

    def learn(self, step: FloatArray, change: FloatArray) -> None:
        """Remember a pair where the function curves upwards; elsewhere dare longer steps."""
        curvature, size = _dot(step, change), _dot(change, change)
        good = curvature > 1e-10 * np.sqrt(size * _dot(step, step))
        inverse = np.where(good, 1.0 / np.where(good, curvature, 1.0), 0.0)
        kept = good[:, None]
        self.pairs.append((np.where(kept, step, 0.0), np.where(kept, change, 0.0), inverse))
        del self.pairs[:-MEMORY]
        moved = np.any(step != 0, axis=1)
        fallen = np.where(moved & ~good, 4.0 * self.scale, self.scale)
        self.scale = np.where(good, curvature / np.where(good, size, 1.0), fallen)

    def keep(self, rows: IndexArray) -> None:
        """Forget all rows but these."""
        self.pairs = [(s[rows], y[rows], inverse[rows]) for s, y, inverse in self.pairs]
        self.scale = self.scale[rows]


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a descent ended.

    Attributes
    ----------
    points : ndarray of shape (b, d)
    values : ndarray of shape (b,)
    converged : ndarray of shape (b,), bool
        Whether the gradient is within the tolerance, or no gain beyond rounding is left.
    iterations : int
        Of the row that took the most.
    """

    points: FloatArray
    values: FloatArray
    converged: BoolArray
    iterations: int


def descend(
    objective: Objective,
    start: FloatArray,
    direction: FixedPoint | LimitedMemory,
    *,
    floor: FloatArray,
    tol: float,
    limit: int,
) -> Descended:
    """Minimise a function of every row on its own.

    Parameters
    ----------
    objective : callable
        From points (a, d) and the numbers (a,) of the rows they belong to, to :class:`Local`.
    start : ndarray of shape (b, d)
    direction : FixedPoint or LimitedMemory
        Where to go from points, given what is known there.
    floor : ndarray of shape (d,)
        Least value of every entry, minus infinity for most.
    tol : float
        Norm of the gradient, without entries held by the floor, at which a row is done.
    limit : int
        Most steps.

    Returns
    -------
    Descended
        No row has a larger value than at the start.
    """
    points = np.maximum(start, floor)
    active = np.arange(len(points))
    here = objective(points, active)
    values = here.values.copy()
    converged = np.zeros(len(points), dtype=bool)
    count = 0
    for count in range(limit + 1):
        free = np.where((points[active] <= floor) & (here.gradient > 0), 0.0, 1.0)
        done = np.linalg.norm(here.gradient * free, axis=1) <= tol
        step = direction(here, free)
        gain = -_dot(step, here.gradient)
        done |= gain <= NOISE * np.maximum(1.0, np.abs(here.values))
        converged[active[done]] = True
        if done.all() or count == limit:
            break
        if done.any():
            left = np.flatnonzero(~done)
            active, here, step = active[left], here.taken(left), step[left]
            direction.keep(left)
        moved, new = _searched(objective, points[active], here, step, floor, active)
        stuck = ~np.any(moved != points[active], axis=1)
        direction.learn(moved - points[active], new.gradient - here.gradient)
        points[active], values[active], here = moved, new.values, new
        if stuck.any():
            left = np.flatnonzero(~stuck)
            active, here = active[left], here.taken(left)
            direction.keep(left)
        if not len(active):
            break
    return Descended(points, values, converged, count)


def _searched(
    objective: Objective,
    points: FloatArray,
    here: Local,
    step: FloatArray,
    floor: FloatArray,
    rows: IndexArray,
) -> tuple[FloatArray, Local]:
    """Go along the steps, halved until the values fall as promised; a row that never does stays."""
    moved = np.maximum(points + step, floor)
    new = objective(moved, rows)
    todo = np.flatnonzero(_failed(here, new, moved - points, np.arange(len(points))))
    length = 1.0
    for _ in range(HALVINGS):
        if not len(todo):
            return moved, new
        length /= 2
        moved[todo] = np.maximum(points[todo] + length * step[todo], floor)
        new.replaced(todo, objective(moved[todo], rows[todo]))
        todo = todo[_failed(here, new.taken(todo), moved[todo] - points[todo], todo)]
    moved[todo] = points[todo]
    new.replaced(todo, here.taken(todo))
    return moved, new


def _failed(here: Local, new: Local, step: FloatArray, rows: IndexArray) -> BoolArray:
    promised = _dot(step, here.gradient[rows])
    # What is no number has left the range of float64.
    return ~(new.values <= here.values[rows] + PROMISE * np.minimum(promised, 0.0))


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("bd,bd->b", a, b))
