"""Greedy and floating searches through subsets of features; they know scores only, no estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gramian.records import FloatArray, IntArray
from gramian.selection.candidates import CandidateScorer
from gramian.selection.history import Action, Choice, Step

__all__ = ["Rule", "Space", "backward", "choose", "first_best", "forward", "tolerance"]

Rule = Literal["best", "one-se", "size"]
TIED = 1e-12
# A set of two is one move from sets of one, all of which have been scored: undoing cannot be better.
NOTHING_TO_UNDO = 2


@dataclass(frozen=True, eq=False)
class Space:
    """What can be chosen.

    Attributes
    ----------
    free : tuple of ndarray of int
        Groups of columns that move together, by their first column; columns of a group ascend.
    fixed : ndarray of int
        Columns that every subset has, ascending.
    """

    free: tuple[IntArray, ...]
    fixed: IntArray


def tolerance(best: float) -> float:
    """Return by how much a score may be below the best and still count as equal: rounding."""
    return TIED * max(1.0, abs(best))


def first_best(means: FloatArray) -> int:
    """Return the place of the largest mean, the first one of those that tie with it.

    Examples
    --------
    >>> first_best(np.array([0.5, 0.9, 0.9 + 1e-15]))
    1
    """
    best = float(np.max(means))
    return int(np.argmax(means >= best - tolerance(best)))


def forward(
    scorer: CandidateScorer,
    space: Space,
    *,
    floating: bool = False,
    limit: int | None = None,
    patience: int | None = None,
) -> Iterator[Step]:
    """Add the group whose addition scores best, one at a time.

    Parameters
    ----------
    scorer : CandidateScorer
    space : Space
    floating : bool
        After each addition remove groups, as long as the smaller subset is better than the best of its number
        of groups so far. Each such removal raises the best score of that number, so the search ends.
    limit : int, optional
        Largest number of features: groups that would exceed it are not tried. A floating search that has
        got there goes one move further and back, until that gives nothing better of this size.
    patience : int, optional
        Stop after so many additions that did not lead to a better subset.

    Yields
    ------
    Step

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection. Pudil, Novovicova, Kittler (1994),
    Floating search methods in feature selection, section 2.3 (SFFS) and 2.4 (SBFS).
    """
    walk = _Walk(scorer, space, set())
    return _walked(walk, True, floating, limit, patience)


def backward(
    scorer: CandidateScorer,
    space: Space,
    *,
    floating: bool = False,
    limit: int | None = None,
    patience: int | None = None,
) -> Iterator[Step]:
    """Remove the group whose removal scores best, one at a time, from all of them.

    The mirror of :func:`forward`: with ``floating`` groups come back as long as the larger subset is better
    than the best of its number of groups; ``limit`` is the number of features to come down to, or below it
    where groups do not give it exactly. The last group stays unless there are fixed columns.
    """
    walk = _Walk(scorer, space, set(range(len(space.free))))
    return _walked(walk, False, floating, limit, patience)


def choose(steps: Sequence[Step], rule: Rule, limit: int | None = None) -> Choice:
    """Choose one of the subsets that a search has visited.

    Parameters
    ----------
    steps : sequence of Step
    rule : "best", "one-se" or "size"
        The best mean; the fewest features within one standard error of the best (of the best's); the best
        of the largest size up to ``limit``. Ties go to the fewest features, then to the first.
    limit : int, optional
        For "size".

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, section 3.4.3, for the rule
    of one standard error.
    """
    places = [j for j, step in enumerate(steps) if step.action != "keep"]
    means = np.array([steps[j].mean for j in places])
    sizes = np.array([steps[j].size for j in places])
    if rule == "size" and limit is not None:
        size = sizes[sizes <= limit].max()
        place = places[_fewest(np.where(sizes == size, means, -np.inf), sizes)]
        asked = "as many as" if size == limit else f"the most that groups give of the {limit} that"
        return Choice(place, f"{asked} were asked for")
    best = _fewest(means, sizes)
    if rule == "best":
        tied = np.flatnonzero(means >= means[best] - tolerance(means[best]))
        others = len({steps[places[j]].subset for j in tied}) - 1
        same = "; another one scores the same" if others == 1 else f"; {others} others score the same"
        return Choice(places[best], f"the best mean of all on the way{same if others else ''}")
    error = steps[places[best]].standard_error
    enough = means >= means[best] - error - tolerance(means[best])
    smallest = enough & (sizes == sizes[enough].min())
    place = _fewest(np.where(smallest, means, -np.inf), sizes)
    why = (
        f"the fewest within one standard error, {error:.2g}, of the best mean, {means[best]:.4g} with "
        f"{sizes[best]:,} feature{'s' * int(sizes[best] != 1)}"
    )
    return Choice(places[place], why)


def _fewest(means: FloatArray, sizes: IntArray) -> int:
    """Return the place of the best mean; of tied ones the first with the fewest features."""
    best = float(np.max(means))
    return int(np.argmin(np.where(means >= best - tolerance(best), sizes, np.inf)))


class _Walk:
    """Where a search stands."""

    def __init__(self, scorer: CandidateScorer, space: Space, inside: set[int]) -> None:
        self.scorer, self.space, self.inside = scorer, space, inside
        self.number = 0
        self.best: dict[int, float] = {}
        self.now: FloatArray = np.empty(0)
        self.leader: Step | None = None

    @property
    def columns(self) -> IntArray:
        groups = [self.space.free[i] for i in self.inside]
        return np.sort(np.concatenate([self.space.fixed, *groups])).astype(np.intp)

    def start(self) -> Step:
        columns = self.columns
        self.now = self.scorer.scores(columns[:0], [columns], True)[0]
        self.best[len(self.inside)] = float(self.now.mean())
        return self._step("start", (), np.empty((0, len(self.now))), ())

    def addable(self, limit: int | None) -> list[int]:
        room = np.inf if limit is None else limit - len(self.columns)
        free = self.space.free
        return [i for i in range(len(free)) if i not in self.inside and len(free[i]) <= room]

    def removable(self, limit: int | None) -> list[int]:
        free, fixed = self.space.free, len(self.space.fixed)
        if limit is not None and len(self.columns) <= limit:
            return []
        inside = sorted(self.inside)
        if fixed:
            return inside
        # One group must stay, and one that is small enough where there is a limit.
        last = [i for i in inside if limit is None or len(free[i]) <= limit]
        return [i for i in inside if last != [i]]

    def round(self, candidates: list[int], adding: bool, *, undo: bool = False) -> Step:
        groups = [self.space.free[i] for i in candidates]
        scores = self.scorer.scores(self.columns, groups, adding)
        means = scores.mean(axis=1)
        place = first_best(means)
        count = len(self.inside) + (1 if adding else -1)
        known, mean = self.best.get(count, -np.inf), float(means[place])
        tried = tuple(tuple(group.tolist()) for group in groups)
        if undo and not mean > known + tolerance(mean):
            return self._step("keep", (), scores, tried)
        self.best[count] = max(known, mean)
        self.inside ^= {candidates[place]}
        self.now = scores[place]
        return self._step("add" if adding else "remove", tried[place], scores, tried)

    def leads(self, step: Step) -> bool:
        """Say whether a step leads to the best subset so far, and remember it if so."""
        mean, leader = step.mean, self.leader
        if leader is not None:
            gain, tied = mean - leader.mean, tolerance(leader.mean)
            if gain < -tied or (gain <= tied and step.size >= leader.size):
                return False
        self.leader = step
        return True

    def _step(
        self, action: Action, moved: tuple[int, ...], scores: FloatArray, tried: tuple[tuple[int, ...], ...]
    ) -> Step:
        self.number += action != "start"
        subset = tuple(self.columns.tolist())
        return Step(self.number, action, moved, subset, self.now, tried, scores)


def _walked(
    walk: _Walk, adding: bool, floating: bool, limit: int | None, patience: int | None
) -> Iterator[Step]:
    if walk.columns.size:
        step = walk.start()
        walk.leads(step)
        yield step
    onward = walk.addable if adding else walk.removable
    idle = 0
    while True:
        candidates = onward(limit)
        beyond = not candidates and floating and limit is not None and _moved(walk, adding) >= NOTHING_TO_UNDO
        if beyond:
            # One move further and back: ends when that finds nothing better of the size that was asked for.
            candidates = onward(None)
        if not candidates:
            return
        step = walk.round(candidates, adding)
        better, undone = walk.leads(step), False
        yield step
        while floating and _moved(walk, adding) > NOTHING_TO_UNDO and step.action != "keep":
            back = walk.removable(None) if adding else walk.addable(None)
            step = walk.round(back, not adding, undo=True)
            better, undone = walk.leads(step) or better, undone or step.action != "keep"
            yield step
        idle = 0 if better else idle + 1
        if (beyond and not undone) or (patience is not None and idle >= patience):
            return


def _moved(walk: _Walk, adding: bool) -> int:
    return len(walk.inside) if adding else len(walk.space.free) - len(walk.inside)
