"""Greedy and floating searches through subsets of features, by scores alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any, Literal, Protocol

import numpy as np

from gramian.analysis.candidates import Choice, best, tolerance, within_one_standard_error
from gramian.checks import check_choice, check_integer, check_share, counted
from gramian.errors import ParameterError
from gramian.records import FloatArray, IntArray
from gramian.selection.history import Action, SearchStep
from gramian.selection.space import Space

Rule = Literal["best", "one-se", "size"]
# A set of two is one move from sets of one, all of which have been scored: undoing cannot be better.
NOTHING_TO_UNDO = 2
MOST_EXHAUSTIVE = 15  # groups, of which there are 32,767 subsets


class CandidateScorer(Protocol):
    """What a search asks for scores."""

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        ...


@dataclass(frozen=True, eq=False)
class Search:
    """Which subsets are visited, and which of them is kept.

    Attributes
    ----------
    space : Space
    adding : bool
        Forward from no groups: the one is added whose addition scores best. Otherwise backward from all, in
        the same way; the last group stays unless there are fixed columns.
    floating : bool
        After each move undo others, as long as the subset is better than the best of its number of groups so
        far. Each such move raises the best score of that number, so the search ends.
    rule : "best", "one-se" or "size"
    limit : int or None
        Number of features to go to: groups that would exceed it are not added; a backward search comes down
        to it, or below it where groups do not give it exactly. A floating search that has got there goes one
        move further and back, until that gives nothing better of this size.
    patience : int or None
        Stop after so many moves that did not lead to a better subset.

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection. Pudil, Novovicova, Kittler (1994),
    Floating search methods in feature selection, section 2.3 (SFFS) and 2.4 (SBFS).
    """

    space: Space
    adding: bool = True
    floating: bool = False
    rule: Rule = "best"
    limit: int | None = None
    patience: int | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """Numbers of features at which the search begins and ends."""
        d, fixed = self.space.n_features, len(self.space.fixed)
        if self.adding:
            return fixed, self.limit or d
        return d, self.limit or max(1, fixed)

    @property
    def name(self) -> str:
        """The search in words."""
        return ("forward" if self.adding else "backward") + " floating" * self.floating

    def steps(self, scorer: CandidateScorer) -> Iterator[SearchStep]:
        """Search, one move at a time."""
        walk = _Walk(scorer, self.space, set() if self.adding else set(range(len(self.space.free))))
        return _walked(walk, self)


@dataclass(frozen=True, eq=False)
class ExhaustiveSearch(Search):
    """All subsets, smallest first: a step is the best subset of a number of features."""

    @property
    def name(self) -> str:
        """The search in words."""
        return "exhaustive"

    def steps(self, scorer: CandidateScorer) -> Iterator[SearchStep]:
        """Score all subsets, one number of features at a time."""
        fixed, free = self.space.fixed, self.space.free
        numbers = range(0 if fixed.size else 1, len(free) + 1)
        chosen = [some for number in numbers for some in combinations(free, number)]
        unions = [np.sort(np.concatenate([fixed, *some])) for some in chosen]
        sizes = sorted({len(union) for union in unions if len(union) <= self.ends[1]})
        for number, size in enumerate(sizes, 1):
            subsets = [union for union in unions if len(union) == size]
            scores = scorer.scores(np.empty(0, dtype=np.intp), subsets, True)
            means = scores.mean(axis=1)
            place = int(np.argmax(means >= means.max() - tolerance(means.max())))
            tried = tuple(tuple(one.tolist()) for one in subsets)
            yield SearchStep.in_folds(
                tried[place],
                len(tried[place]),
                scores[place],
                number=number,
                action="best",
                candidates=tried,
                candidate_scores=scores,
            )


def search_of(
    space: Space, wanted: Any, adding: bool, floating: bool, patience: Any, exhaustive: bool = False
) -> Search:
    """Settle what to do.

    Parameters
    ----------
    space : Space
    wanted : "best", "one-se", int or float in (0, 1)
        Parameter ``n_features_to_select``.
    adding, floating : bool
    patience : int or None
    exhaustive : bool
        Whether all subsets are scored.

    Raises
    ------
    ParameterError
        For a number that cannot be reached, a patience without use or below 1, and too many subsets.
    """
    if exhaustive and (floating or patience is not None):
        name = f"patience={patience!r}" if patience is not None else "floating=True"
        raise ParameterError(
            f"direction='exhaustive' scores all subsets, so {name} has no use. Leave it out."
        )
    if exhaustive and len(space.free) > MOST_EXHAUSTIVE:
        raise ParameterError(
            f"direction='exhaustive' allows at most {MOST_EXHAUSTIVE} free features or groups, and there are "
            f"{len(space.free)}, with {2 ** len(space.free) - 1:,} subsets. Use 'forward', groups, or fewer "
            "columns."
        )
    search = ExhaustiveSearch if exhaustive else Search
    name, d, held = "n_features_to_select", space.n_features, len(space.fixed)
    if isinstance(wanted, str) and wanted == "auto":
        raise ParameterError(
            f"{name}='auto' is not supported: 0.5 selects half of the features, and 'best' or 'one-se' "
            "choose the number. Or import SequentialFeatureSelector from gramian.compat.sklearn."
        )
    if isinstance(wanted, str):
        rule: Rule = "best" if check_choice(name, wanted, ("best", "one-se")) == "best" else "one-se"
        enough = None if patience is None else check_integer("patience", patience)
        return search(space, adding, floating, rule, None, enough)
    if patience is not None:
        raise ParameterError(
            f"patience={patience!r} applies to best and one-se only, but {name}={wanted!r}. Leave out "
            "one of the two."
        )
    advice = f"Give 'best', 'one-se', a number of features from 1 to {d}, or a share between 0 and 1."
    if isinstance(wanted, (Integral, bool)):
        limit = check_integer(name, wanted, 1, d, advice)
    else:
        # 0.29 of 100 is 28.999999999999996 in binary.
        limit = max(1, math.floor(check_share(name, wanted, advice) * d + 1e-9))
    least = held or min(map(len, space.free))
    if limit < least:
        why = "are fixed" if held else "are in the smallest group; features are counted, not groups"
        raise ParameterError(
            f"{name}={wanted!r} is {counted(limit, 'feature')}, but {least} {why}. Give {least} or more."
        )
    return search(space, adding, floating, "size", limit)


def choose(steps: Sequence[SearchStep], rule: Rule, limit: int | None = None) -> Choice:
    """Choose one of the subsets that a search has visited.

    Parameters
    ----------
    steps : sequence of SearchStep
    rule : "best", "one-se" or "size"
        The best mean; the fewest features within one standard error of the best (of the best's); the best
        of the largest size up to ``limit``. Ties go to the fewest features, then to the first.
    limit : int, optional
        For "size".
    """
    places = [j for j, step in enumerate(steps) if step.action != "keep"]
    visited = [steps[j] for j in places]
    if rule == "size" and limit is not None:
        size = max(len(step.subset) for step in visited if len(step.subset) <= limit)
        places = [j for j in places if len(steps[j].subset) == size]
        asked = "as many as" if size == limit else f"the most that the groups allow of the {limit} that"
        return Choice(places[best([steps[j] for j in places])], f"{asked} were requested")
    place = best(visited)
    top = visited[place]
    if rule == "best":
        tied = {step.subset for step in visited if step.mean >= top.mean - tolerance(top.mean)}
        others = len(tied) - 1
        same = "; another subset ties" if others == 1 else f"; {others} other subsets tie"
        return Choice(places[place], f"the best mean of all steps{same if others else ''}")
    why = (
        f"the fewest within one standard error, {top.standard_error:.2g}, of the best mean, {top.mean:.4g} "
        f"with {counted(len(top.subset), 'feature')}"
    )
    return Choice(places[within_one_standard_error(visited)], why)


class _Walk:
    """Where a search stands."""

    def __init__(self, scorer: CandidateScorer, space: Space, inside: set[int]) -> None:
        self.scorer, self.space, self.inside = scorer, space, inside
        self.number = 0
        self.best: dict[int, float] = {}
        self.now: FloatArray = np.empty(0)
        self.leader: SearchStep | None = None

    @property
    def columns(self) -> IntArray:
        groups = [self.space.free[i] for i in self.inside]
        return np.sort(np.concatenate([self.space.fixed, *groups])).astype(np.intp)

    def start(self) -> SearchStep:
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

    def round(self, candidates: list[int], adding: bool, *, undo: bool = False) -> SearchStep:
        groups = [self.space.free[i] for i in candidates]
        scores = self.scorer.scores(self.columns, groups, adding)
        means = scores.mean(axis=1)
        # The first one of those that tie.
        place = int(np.argmax(means >= means.max() - tolerance(means.max())))
        count = len(self.inside) + (1 if adding else -1)
        known, mean = self.best.get(count, -np.inf), float(means[place])
        tried = tuple(tuple(group.tolist()) for group in groups)
        if undo and not mean > known + tolerance(mean):
            return self._step("keep", (), scores, tried)
        self.best[count] = max(known, mean)
        self.inside ^= {candidates[place]}
        self.now = scores[place]
        return self._step("add" if adding else "remove", tried[place], scores, tried)

    def leads(self, step: SearchStep) -> bool:
        """Say whether a step leads to the best subset so far, and remember it if so."""
        leader = self.leader
        if leader is not None and best([leader, step]) == 0:
            return False
        self.leader = step
        return True

    def _step(
        self, action: Action, moved: tuple[int, ...], scores: FloatArray, tried: tuple[tuple[int, ...], ...]
    ) -> SearchStep:
        self.number += action != "start"
        subset = tuple(self.columns.tolist())
        return SearchStep.in_folds(
            subset,
            len(subset),
            self.now,
            number=self.number,
            action=action,
            moved=moved,
            candidates=tried,
            candidate_scores=scores,
        )


def _walked(walk: _Walk, search: Search) -> Iterator[SearchStep]:
    adding, floating, limit = search.adding, search.floating, search.limit
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
        if (beyond and not undone) or (search.patience is not None and idle >= search.patience):
            return


def _moved(walk: _Walk, adding: bool) -> int:
    return len(walk.inside) if adding else len(walk.space.free) - len(walk.inside)
