"""Minimises a function of each row, many rows at once; no step ever makes a row worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64, namespace, row_products, rows_of, to_float64, to_numpy, with_rows
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
    """What an objective says about points of shape (b, d): of their kind, but for the values.

    Attributes
    ----------
    values : ndarray of shape (b,)
        In units in which they are about 1 in size.
    gradient : array of shape (b, d)
    stiffness, damping : array of shape (b, 1) or (b, d)
        Where the gradient is ``stiffness * (x - centre)``: that factor, and the same of the magnitudes of all
        weights in it, which is positive and at least as large; 0 where it is not.
    """

    values: FloatArray
    gradient: Any
    stiffness: Any
    damping: Any

    def taken(self, rows: IndexArray) -> Local:
        """Return the same of some rows."""
        return Local(*(rows_of(fact, rows) for fact in vars(self).values()))

    def replaced(self, rows: IndexArray, new: Local) -> Local:
        """Return it with new facts about some rows in place of the old ones."""
        pairs = zip(vars(self).values(), vars(new).values(), strict=True)
        return Local(*(with_rows(old, rows, fact) for old, fact in pairs))


Objective = Callable[[Any, IndexArray], Local]


class FixedPoint:
    """Steps of the fixed-point iteration, damped where weights of both signs cancel.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces,
    equation 10.
    """

    def __call__(self, here: Local, free: Any) -> Any:
        """Return ``centre - x``, or a part of it; ``free`` is 0 where an entry is held fast, else 1."""
        xp = namespace(here.gradient)
        divisor = xp.maximum(here.stiffness, DAMPING * here.damping)
        seen = divisor > 0
        return xp.where(seen, -here.gradient * free / xp.where(seen, divisor, 1.0), 0.0)

    def learn(self, step: Any, change: Any) -> None:
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

    def __init__(self) -> None:
        # Step, change of the gradient, and one over their product; for each row its own.
        self.pairs: list[tuple[Any, Any, Any]] = []
        self.scale: Any = None

    def __call__(self, here: Local, free: Any) -> Any:
        """Return minus the estimated inverse Hessian times the gradient."""
        xp, q = namespace(here.gradient), here.gradient * free
        length = xp.linalg.vector_norm(q, axis=1)
        before = xp.zeros_like(length) if self.scale is None else self.scale
        # Of the first step nothing is known but the units, in which the data has size 1.
        self.scale = scale = xp.where(before <= 0, 0.1 / xp.clip(length, 0.1, None), before)
        shares = []
        for s, y, inverse in reversed(self.pairs):
            share = inverse * row_products(s, q)
            q = q - share[:, None] * y
            shares.append(share)
        q = q * scale[:, None]
        for s, y, inverse in self.pairs:
            q = q + (shares.pop() - inverse * row_products(y, q))[:, None] * s
        p = -q * free
        # What is no descent, by rounding or by entries held fast, gives way to the gradient.
        steep = row_products(p, here.gradient) <= -1e-12 * xp.linalg.vector_norm(p, axis=1) * length
        return xp.where(steep[:, None], p, -scale[:, None] * here.gradient * free)

    def learn(self, step: Any, change: Any) -> None:
        """Remember a pair where the function curves upwards; elsewhere dare longer steps."""
        xp, curvature, size = namespace(step), row_products(step, change), row_products(change, change)
        good = curvature > 1e-10 * xp.sqrt(size * row_products(step, step))
        inverse = xp.where(good, 1.0 / xp.where(good, curvature, 1.0), 0.0)
        kept = good[:, None]
        self.pairs.append((xp.where(kept, step, 0.0), xp.where(kept, change, 0.0), inverse))
        del self.pairs[:-MEMORY]
        moved = xp.any(step != 0, axis=1)
        fallen = xp.where(moved & ~good, 4.0 * self.scale, self.scale)
        self.scale = xp.where(good, curvature / xp.where(good, size, 1.0), fallen)

    def keep(self, rows: IndexArray) -> None:
        """Forget all rows but these."""
        self.pairs = [(rows_of(s, rows), rows_of(y, rows), rows_of(i, rows)) for s, y, i in self.pairs]
        self.scale = rows_of(self.scale, rows)


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a descent ended.

    Attributes
    ----------
    points : array of shape (b, d)
    values : ndarray of shape (b,)
    converged : ndarray of shape (b,), bool
        Whether the gradient is within the tolerance, or no gain beyond rounding is left.
    iterations : int
        Of the row that took the most.
    """

    points: Any
    values: FloatArray
    converged: BoolArray
    iterations: int


def descend(
    objective: Objective,
    start: Any,
    direction: FixedPoint | LimitedMemory,
    *,
    floor: Any,
    tol: float,
    limit: int,
) -> Descended:
    """Minimise a function of every row on its own.

    Parameters
    ----------
    objective : callable
        From points (a, d) and the numbers (a,) of the rows they belong to, to :class:`Local`.
    start : array of shape (b, d), float64
        Of any kind; what is decided of a whole row is decided on the host.
    direction : FixedPoint or LimitedMemory
        Where to go from points, given what is known there.
    floor : array of shape (d,)
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
    xp = namespace(start)
    points = xp.maximum(start, floor)
    active, at = np.arange(points.shape[0]), points
    here = objective(points, active)
    values = here.values.copy()
    converged = np.zeros(len(active), dtype=bool)
    count = 0
    for count in range(limit + 1):
        free = to_float64(~((at <= floor) & (here.gradient > 0)))
        done = as_float64(xp.linalg.vector_norm(here.gradient * free, axis=1)) <= tol
        step = direction(here, free)
        gain = -as_float64(row_products(step, here.gradient))
        done |= gain <= NOISE * np.maximum(1.0, np.abs(here.values))
        converged[active[done]] = True
        if done.all() or count == limit:
            break
        if done.any():
            left = np.flatnonzero(~done)
            active, at, here, step = active[left], rows_of(at, left), here.taken(left), rows_of(step, left)
            direction.keep(left)
        moved, new = _searched(objective, at, here, step, floor, active)
        stuck = ~to_numpy(xp.any(moved != at, axis=1))
        direction.learn(moved - at, new.gradient - here.gradient)
        points, values[active] = with_rows(points, active, moved), new.values
        at, here = moved, new
        if stuck.any():
            left = np.flatnonzero(~stuck)
            active, at, here = active[left], rows_of(at, left), here.taken(left)
            direction.keep(left)
        if not len(active):
            break
    return Descended(points, values, converged, count)


def _searched(
    objective: Objective, points: Any, here: Local, step: Any, floor: Any, rows: IndexArray
) -> tuple[Any, Local]:
    """Go along the steps, halved until the values fall as promised; a row that never does stays."""
    xp = namespace(points)
    moved = xp.maximum(points + step, floor)
    new = objective(moved, rows)
    todo = np.flatnonzero(_failed(here, new, moved - points))
    length = 1.0
    for _ in range(HALVINGS):
        if not len(todo):
            return moved, new
        length /= 2
        start = rows_of(points, todo)
        tried = xp.maximum(start + length * rows_of(step, todo), floor)
        there = objective(tried, rows[todo])
        moved, new = with_rows(moved, todo, tried), new.replaced(todo, there)
        todo = todo[_failed(here.taken(todo), there, tried - start)]
    return with_rows(moved, todo, rows_of(points, todo)), new.replaced(todo, here.taken(todo))


def _failed(here: Local, new: Local, step: Any) -> BoolArray:
    promised = as_float64(row_products(step, here.gradient))
    # What is no number has left the range of float64.
    return ~(new.values <= here.values + PROMISE * np.minimum(promised, 0.0))
