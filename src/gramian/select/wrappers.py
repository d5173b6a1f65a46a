"""Sequential feature selection by the cross-validated score of an estimator."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gramian.core import progress
from gramian.core.checks import check_choice, check_integer, check_share, counted, listed, plain
from gramian.core.records import FloatArray, IntArray
from gramian.errors import ParameterError
from gramian.models.sklearn import MetaEstimatorMixin, knows_names
from gramian.select import validation
from gramian.select.targets import ColumnSelector, as_labelled
from gramian.statistics import candidates
from gramian.statistics.candidates import Candidate, Choice, Selection, tolerance


@knows_names
@dataclass(eq=False, repr=False)
class SequentialFeatureSelector(MetaEstimatorMixin, ColumnSelector):
    """Select features by adding or removing, at each step, the one with the best validated score.

    There are 2^d subsets. The greedy search fits of the order of d^2 models and selects the best subset
    among its steps. For few features ``direction="exhaustive"`` fits them all.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with ``fit``; it is cloned for every fit.
    n_features_to_select : "best", "one-se", int or float in (0, 1), default="best"
        "best": the best mean score of all sizes; ties go to the fewest features. "one-se": the fewest
        features whose mean is within one standard error of the best. A number or a share of the features.
        With ``groups`` it is the largest number of columns: groups that would exceed it are not tried, and
        a backward search ends at it or below.
    direction : {"forward", "backward", "exhaustive"}, default="forward"
        Add features to none (or to ``fixed``), remove them from all, or score every subset of at most 15
        features (or groups); a step is then the best subset of its size.
    floating : bool, default=False
        After each step undo earlier ones while the subset is better than the best of its size so far.
    cv : int, splitter, iterable of (train, test) or None, default=5
        As in scikit-learn: stratified for classifiers, not shuffled. Rows are split once, so that all
        candidates are scored on the same folds.
    scoring : str, callable or None, default=None
        Larger is better. None uses the estimator's own score: accuracy or R^2.
    groups : sequence of sequences, array-like of shape (n_features,), or None
        Features that are added or removed together, by number or name; or one label for each feature. Other
        features move alone. Groups must not overlap.
    fixed : sequence of int or str, mask of shape (n_features,), or None
        Features that are always selected; one of a group fixes the whole group.
    patience : int or None, default=None
        For "best" and "one-se": stop after this many steps without a better subset. None never stops early.
    validate : bool, default=True
        False fits and scores on all rows, for teaching: scores then rise with the number of features.
    n_jobs : int or None, default=None
        Number of candidates fitted in parallel, as in joblib. Results do not depend on it.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features,)
        The selected features.
    n_features_to_select_ : int
        Their number.
    score_, standard_error_ : float
        Of the selected subset: mean over the folds, and its standard error (ddof 1; NaN for one fold).
    history_ : History
        Every step with every candidate and score; prints as a table. ``to_frame()`` and ``to_dict()``.
    interrupted_ : bool
        Whether Ctrl-C stopped the search. The selection is then the best subset so far.
    n_features_in_ : int
        Number of columns of the fitted data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the features have names.

    Raises
    ------
    ParameterError
        For parameters that are not allowed, alone or for these data.
    DataError
        For NaN in X, a single class, a class with fewer rows than folds, and a subset on which the estimator
        fails or scores NaN. ``history_`` then has the steps before.

    Notes
    -----
    The score is optimistic, as the best of many. ``sklearn.model_selection.cross_validate`` of a pipeline of
    the selector and the estimator repeats the whole selection without each fold, and scores it on that fold.

    Scores that differ by less than 1e-12 (relative to scores above 1) tie. Ties go to the first column: of
    two equal columns, forward adds and backward removes the first.

    For scikit-learn's LinearRegression and Ridge the same scores are computed without fitting, from Cholesky
    factors of Gram matrices. A candidate for which that is inexact is fitted.

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection. Pudil, Novovicova, Kittler (1994),
    Floating search methods in feature selection. Ambroise and McLachlan (2002), Selection bias in gene
    extraction. Breiman et al. (1984), section 3.4.3, for "one-se".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from gramian import SequentialFeatureSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> knn = KNeighborsClassifier(n_neighbors=4)
    >>> selector = SequentialFeatureSelector(knn, n_features_to_select="one-se").fit(X, y)
    >>> [(step.moved, round(step.mean, 3)) for step in selector.history_]
    [((3,), 0.96), ((2,), 0.967), ((0,), 0.953), ((1,), 0.973)]
    >>> selector.get_support(indices=True), round(selector.score_, 3)
    (array([2, 3]), 0.967)
    """

    _habits: ClassVar = {
        "tol": 'leave it out: "best" and "one-se" compare all sizes, and patience=3 stops after three steps '
        "without a better subset"
    }

    estimator: Any
    _: KW_ONLY
    n_features_to_select: Any = "best"
    direction: str = "forward"
    floating: bool = False
    cv: Any = 5
    scoring: Any = None
    groups: Any = None
    fixed: Any = None
    patience: int | None = None
    validate: bool = True
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search, and select.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path, Scan or Rows of shape (n_samples, n_features)
            The estimator gets dense columns: those of a candidate in a sparse matrix are made dense.
        y : array-like of shape (n_samples,)
            Classes for a classifier, otherwise numbers. May be left out for a file read with ``label=``. Rows
            whose label is missing are left out, with a warning.

        Returns
        -------
        self
            After Ctrl-C the best subset so far is selected, ``interrupted_`` is True, and KeyboardInterrupt
            is raised again.

        Raises
        ------
        DataError
            For labels that do not match the rows.
        ParameterError
            For settings that contradict each other or the number of columns.
        """
        scorer = validation.scorer_of(self.estimator, self.scoring)
        check_choice("direction", self.direction, ("forward", "backward", "exhaustive"))
        classes = bool(is_classifier(self.estimator))
        data = as_labelled(X, y, estimator=self, discrete=classes, cv=self.cv)
        space = space_of(self.groups, self.fixed, data.names)
        wanted, floating = self.n_features_to_select, bool(self.floating)
        search = search_of(space, wanted, self.direction, floating, self.patience)
        folds = [(np.arange(len(data.y)),) * 2]
        if self.validate:
            folds = validation.draw_folds(self.cv, data.X, data.original, classifier=classes)
        if search.rule == "one-se" and len(folds) < 2:
            why = "needs a standard error, but there is a single fold."
            hint = "Use 'best', a number, or two or more folds and validate=True."
            raise ParameterError("n_features_to_select", "one-se", why, hint)
        validator = validation.Validation(self.estimator, data.X, data.original, folds, scorer, data.names)
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)
        with progress.shows_progress("SequentialFeatureSelector"):
            self._search(search, validator)
        return self

    def summary(self) -> History:
        """Return the history of the search; it prints as a table with the choice and its reason."""
        check_is_fitted(self)
        result: History = self.history_
        return result

    def _search(self, search: SubsetSearch, validator: validation.Validation) -> None:
        """Search, and record the steps however the search ends."""
        self.history_ = History((), self._about(search, validator), names=validator.names)
        self.interrupted_ = False
        steps: list[SearchStep] = []
        try:
            for step in self._measured(search, validator):
                steps.append(step)
        except KeyboardInterrupt:
            self.interrupted_ = True
            if steps:
                result = choose(steps, "best" if search.rule == "size" else search.rule)
                self._settle(steps, Choice(result.place, f"interrupted; so far {result.why}"))
            raise
        except BaseException:
            self.history_ = replace(self.history_, tried=tuple(steps))
            raise
        self._settle(steps, choose(steps, search.rule, search.limit))

    def _measured(self, search: SubsetSearch, validator: validation.Validation) -> Iterator[SearchStep]:
        """Yield the steps with the work that each took, and report them."""
        begin, end = search.ends
        scorer = validation.SubsetScores.of(validator, self.scoring, self.n_jobs)
        d, computed, began = len(validator.names), 0, time.perf_counter()
        progress.report("first feature", "feature", 0, abs(end - begin))
        for step in search.steps(scorer):
            text = f"{len(step.subset):,} of {d:,} features, {step.mean:.4g}"
            progress.report(text, "feature", abs(len(step.subset) - begin), abs(end - begin))
            fresh, computed = scorer.computed - computed, scorer.computed
            seconds, models = time.perf_counter() - began, fresh * len(validator.folds)
            yield replace(step, models=models, seconds=seconds, validated=bool(self.validate))
            began = time.perf_counter()
        progress.report("search done", "feature", abs(end - begin), abs(end - begin))

    def _settle(self, steps: list[SearchStep], choice: Choice) -> None:
        self.history_ = replace(self.history_, tried=tuple(steps), choice=choice)
        chosen = self.history_.chosen
        self.support_ = np.zeros(len(self.history_.names), dtype=bool)
        self.support_[list(chosen.subset)] = True
        self.n_features_to_select_ = len(chosen.subset)
        self.score_, self.standard_error_ = chosen.mean, chosen.standard_error

    def _about(self, search: SubsetSearch, validator: validation.Validation) -> str:
        n, d = validator.X.shape
        direction = self.direction.capitalize() + " floating" * search.floating
        score = validation.score_name(self.scoring, "its own score")
        name = validation.estimator_name(self.estimator)
        where = f"{len(validator.folds)} folds of {n:,} rows" if self.validate else NOT_VALIDATED
        return f"{direction} selection among {d:,} features with {name}: {score}, {where}"


# ---- Greedy and floating searches through subsets of features, by scores alone

Rule = Literal["best", "one-se", "size"]
# A set of two is one move from sets of one, all of which have been scored: undoing cannot be better.
NOTHING_TO_UNDO = 2
MOST_EXHAUSTIVE = 15  # groups, of which there are 32,767 subsets


@dataclass(frozen=True, eq=False)
class SubsetSearch:
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

    def steps(self, scorer: validation.SubsetScores) -> Iterator[SearchStep]:
        """Search, one move at a time."""
        adding, floating, limit = self.adding, self.floating, self.limit
        walk = _Walk(scorer, self.space, adding)
        if walk.columns.size:
            step = walk.start()
            walk.leads(step)
            yield step
        onward = walk.addable if adding else walk.removable
        idle = 0
        while True:
            movable = onward(limit)
            beyond = not movable and floating and limit is not None and walk.moved >= NOTHING_TO_UNDO
            if beyond:
                # One move further and back: ends when that finds nothing better of the requested size.
                movable = onward(None)
            if not movable:
                return
            step = walk.round(movable, adding)
            better, undone = walk.leads(step), False
            yield step
            while floating and walk.moved > NOTHING_TO_UNDO and step.action != "keep":
                back = walk.removable(None) if adding else walk.addable(None)
                step = walk.round(back, not adding, undo=True)
                better, undone = walk.leads(step) or better, undone or step.action != "keep"
                yield step
            idle = 0 if better else idle + 1
            if (beyond and not undone) or (self.patience is not None and idle >= self.patience):
                return


@dataclass(frozen=True, eq=False)
class Exhaustive(SubsetSearch):
    """All subsets, smallest first: a step is the best subset of a number of features."""

    def steps(self, scorer: validation.SubsetScores) -> Iterator[SearchStep]:
        """Score all subsets, one number of features at a time."""
        fixed, free = self.space.fixed, self.space.free
        numbers = range(0 if fixed.size else 1, len(free) + 1)
        chosen = [some for number in numbers for some in combinations(free, number)]
        unions = [np.sort(np.concatenate([fixed, *some])) for some in chosen]
        sizes = sorted({len(union) for union in unions if len(union) <= self.ends[1]})
        for number, size in enumerate(sizes, 1):
            subsets = [union for union in unions if len(union) == size]
            scores = scorer.scores(np.empty(0, dtype=np.intp), subsets, True)
            tried, best = _tuples(subsets), first_best(scores)
            facts: Any = {"number": number, "candidates": tried, "candidate_scores": scores}
            yield SearchStep.in_folds(tried[best], size, scores[best], action="best", **facts)


def search_of(space: Space, wanted: Any, direction: str, floating: bool, patience: Any) -> SubsetSearch:
    """Settle what to do.

    Parameters
    ----------
    space : Space
    wanted : "best", "one-se", int or float in (0, 1)
        Parameter ``n_features_to_select``.
    direction : "forward", "backward" or "exhaustive"
    floating : bool
    patience : int or None

    Raises
    ------
    ParameterError
        For a number that cannot be reached, a patience without use or below 1, and too many subsets.
    """
    every, name = 'direction="exhaustive"', "n_features_to_select"
    exhaustive, adding = direction == "exhaustive", direction != "backward"
    if exhaustive and (floating or patience is not None):
        useless, value = ("floating", True) if patience is None else ("patience", patience)
        raise ParameterError(useless, value, f"has no use: {every} scores all subsets.", "Leave it out.")
    if exhaustive and len(space.free) > MOST_EXHAUSTIVE:
        raise ParameterError(
            "direction",
            "exhaustive",
            f"allows at most {MOST_EXHAUSTIVE} free features or groups, and there are {len(space.free)}, "
            f"with {2 ** len(space.free) - 1:,} subsets.",
            "Use 'forward', groups, or fewer columns.",
        )
    search = Exhaustive if exhaustive else SubsetSearch
    d, held = space.n_features, len(space.fixed)
    if isinstance(wanted, str):
        rule: Rule = "best" if check_choice(name, wanted, ("best", "one-se")) == "best" else "one-se"
        enough = None if patience is None else check_integer("patience", patience)
        return search(space, adding, floating, rule, None, enough)
    if patience is not None:
        only = f"applies to best and one-se only, but {name}={wanted!r}."
        raise ParameterError("patience", patience, only, "Leave out one of the two.")
    advice = f"Give 'best', 'one-se', a number of features from 1 to {d}, or a share between 0 and 1."
    if isinstance(wanted, (Integral, bool)):
        limit = check_integer(name, wanted, 1, d, advice)
    else:
        # 0.29 of 100 is 28.999999999999996 in binary.
        limit = max(1, math.floor(check_share(name, wanted, advice) * d + 1e-9))
    least = held or min(map(len, space.free))
    if limit < least:
        why = "are fixed" if held else "are in the smallest group; features are counted, not groups"
        few = f"is {counted(limit, 'feature')}, but {least} {why}."
        raise ParameterError(name, wanted, few, f"Give {least} or more.")
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
    moves = [j for j, step in enumerate(steps) if step.action != "keep"]
    visited = [steps[j] for j in moves]
    if rule == "size" and limit is not None:
        size = max(len(step.subset) for step in visited if len(step.subset) <= limit)
        moves = [j for j in moves if len(steps[j].subset) == size]
        how = "as many as" if size == limit else f"the most that the groups allow of the {limit} that"
        return Choice(moves[candidates.best([steps[j] for j in moves])], f"{how} were requested")
    best = candidates.best(visited)
    top = visited[best]
    if rule == "best":
        tied = {step.subset for step in visited if step.mean >= top.mean - tolerance(top.mean)}
        others = len(tied) - 1
        same = "; another subset ties" if others == 1 else f"; {others} other subsets tie"
        return Choice(moves[best], f"the best mean of all steps{same if others else ''}")
    why = (
        f"the fewest within one standard error, {top.standard_error:.2g}, of the best mean, {top.mean:.4g} "
        f"with {counted(len(top.subset), 'feature')}"
    )
    return Choice(moves[candidates.within_one_standard_error(visited)], why)


class _Walk:
    """Where a search stands."""

    def __init__(self, scorer: validation.SubsetScores, space: Space, adding: bool) -> None:
        self.scorer, self.space, self.adding = scorer, space, adding
        self.inside: set[int] = set() if adding else set(range(len(space.free)))
        self.number = 0
        self.best: dict[int, float] = {}
        self.now: FloatArray = np.empty(0)
        self.leader: SearchStep | None = None

    @property
    def moved(self) -> int:
        return len(self.inside) if self.adding else len(self.space.free) - len(self.inside)

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

    def round(self, movable: list[int], adding: bool, *, undo: bool = False) -> SearchStep:
        groups = [self.space.free[i] for i in movable]
        scores = self.scorer.scores(self.columns, groups, adding)
        tried, best_move = _tuples(groups), first_best(scores)
        count = len(self.inside) + (1 if adding else -1)
        reached, mean = self.best.get(count, -np.inf), float(scores.mean(axis=1)[best_move])
        if undo and not mean > reached + tolerance(mean):
            return self._step("keep", (), scores, tried)
        self.best[count] = max(reached, mean)
        self.inside ^= {movable[best_move]}
        self.now = scores[best_move]
        return self._step("add" if adding else "remove", tried[best_move], scores, tried)

    def leads(self, step: SearchStep) -> bool:
        """Say whether a step leads to the best subset so far, and remember it if so."""
        leader = self.leader
        if leader is not None and candidates.best([leader, step]) == 0:
            return False
        self.leader = step
        return True

    def _step(
        self, action: Action, moved: tuple[int, ...], scores: FloatArray, tried: tuple[tuple[int, ...], ...]
    ) -> SearchStep:
        self.number += action != "start"
        subset = tuple(self.columns.tolist())
        facts = {"moved": moved, "candidates": tried, "candidate_scores": scores}
        return SearchStep.in_folds(subset, len(subset), self.now, number=self.number, action=action, **facts)


def _tuples(groups: Sequence[IntArray]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(group.tolist()) for group in groups)


def first_best(scores: FloatArray) -> int:
    """Return the first of the rows whose mean is the best but for rounding."""
    means = scores.mean(axis=1)
    return int(np.argmax(means >= means.max() - tolerance(means.max())))


# ---- The search space: free groups and fixed columns, from names, numbers, masks or labels

SHAPES = "Give lists of features, such as [[0, 1], ['height', 'weight']], or one label for each feature."


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

    @property
    def n_features(self) -> int:
        """Number of features there are."""
        return len(self.fixed) + sum(map(len, self.free))


def space_of(groups: Any, fixed: Any, names: Sequence[str]) -> Space:
    """Return what can be chosen.

    Parameters
    ----------
    groups : sequence of sequences of int or str, array-like of shape (n_features,), or None
        Features that move together, by number or name; or a label for each feature, equal ones belong
        together. Features that are in no list are groups of their own.
    fixed : sequence of int or str, mask of shape (n_features,), or None
        Features that every subset has; with one of a group, all of it.
    names : sequence of str
        Of all features.

    Raises
    ------
    ParameterError
        For features that are not there, overlapping or empty groups, and where all features are fixed.
    """
    every, fixed_columns = _groups(groups, names), set(_fixed(fixed, names))
    free = sorted(sorted(group) for group in every if not fixed_columns & set(group))
    if not free:
        reason = f"includes all {len(names)} features, with their groups"
        raise ParameterError("fixed", fixed, reason, "Leave one free.")
    rest = set(range(len(names))) - {j for group in free for j in group}
    return Space(
        tuple(np.array(group, dtype=np.intp) for group in free), np.array(sorted(rest), dtype=np.intp)
    )


def _groups(groups: Any, names: Sequence[str]) -> list[list[int]]:
    d = len(names)
    if groups is None:
        return [[j] for j in range(d)]
    items = list(groups)
    if items and all(np.ndim(item) == 1 for item in items):
        return _members(items, names)
    if len(items) != d:
        raise ParameterError("groups", groups, f"has {len(items)} labels for {d} features", SHAPES)
    labelled: dict[Any, list[int]] = {}
    for j, label in enumerate(items):
        labelled.setdefault(label, []).append(j)
    return list(labelled.values())


def _members(groups: list[Any], names: Sequence[str]) -> list[list[int]]:
    owner: dict[int, int] = {}
    results = []
    for number, group in enumerate(groups):
        members = [_feature(item, names, "groups") for item in group]
        if not members:
            raise ParameterError(f"groups[{number}]", allowed="is empty", hint="Leave it out.")
        for j in members:
            if j in owner:
                both = f"and groups[{number}] have the feature {names[j]!r} (number {j}) in common"
                raise ParameterError(f"groups[{owner[j]}]", allowed=both, hint="Groups must not overlap.")
            owner[j] = number
        results.append(members)
    return results + [[j] for j in range(len(names)) if j not in owner]


def _fixed(fixed: Any, names: Sequence[str]) -> list[int]:
    if fixed is None:
        return []
    items = list(fixed)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            few = f"is a mask of {len(items)} booleans, but there are {len(names)} features"
            raise ParameterError("fixed", allowed=few)
        return np.flatnonzero(items).tolist()
    return [_feature(item, names, "fixed") for item in items]


def _feature(item: Any, names: Sequence[str], parameter: str) -> int:
    """Return the number of a feature given by number or name."""
    if not isinstance(item, str):
        return check_integer(f"A feature in {parameter}", item, 0, len(names) - 1, "Or give a name.")
    count = list(names).count(item)
    if count != 1:
        problem = f"{count} features have that name" if count else f"the features are {listed(names)}"
        hint = "Give a unique name, or numbers."
        raise ParameterError(parameter, allowed=f"names {item!r}, but {problem}", hint=hint)
    return list(names).index(item)


# ----------------------- Records of a search through subsets of features

Action = Literal["start", "add", "remove", "keep", "best"]
NOT_VALIDATED = "training rows, not validated"
OPTIMISTIC = "The best of many scores is optimistic: cross_validate the selector and estimator."
SIGNS = {"add": "+", "remove": "-", "start": " "}
LONGEST = 90  # characters of a list of names


@dataclass(frozen=True, eq=False, repr=False)
class SearchStep(Candidate):
    """One step of the search: every candidate that was scored, and the one that was chosen.

    Attributes
    ----------
    number : int
        Number of the step. 0 is the starting subset, where it is not empty.
    action : "start", "add", "remove", "keep" or "best"
        "keep": a floating search tried to undo a step, and no candidate was better. "best": an exhaustive
        search scored every subset of so many features, and this one is the best of them.
    moved : tuple of int
        The features that were added or removed, counted from 0.
    subset : tuple of int
        The features after the step.
    candidates : tuple of tuple of int
        The features that could have been moved, in the order of the columns; of an exhaustive search the
        subsets.
    candidate_scores : ndarray of shape (n_candidates, n_folds)
        Scores of the resulting subsets.
    models : int
        Number of models fitted in this step: new candidates times folds.
    seconds : float
        Time of the step.
    validated : bool
        False where models were scored on their training rows.
    """

    number: int = 0
    action: Action = "start"
    moved: tuple[int, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    candidate_scores: FloatArray = field(default_factory=lambda: np.empty((0, 1)))
    models: int = 0
    seconds: float = 0.0
    validated: bool = True

    @property
    def subset(self) -> tuple[int, ...]:
        """The features after the step."""
        return tuple(self.candidate)

    def __repr__(self) -> str:
        moved = f" {set(self.moved)}" if self.moved else ""
        error = f" ± {self.standard_error:.4g}" if len(self.fold_scores) > 1 else ""
        note = "" if self.validated else f", {NOT_VALIDATED}"
        size = counted(len(self.subset), "feature")
        return f"<Step {self.number}: {self.action}{moved}, {size}: {self.mean:.4g}{error}{note}>"


@dataclass(frozen=True, eq=False, repr=False)
class History(Selection[SearchStep]):
    """Every step of a search, in order; prints as a table with the choice and why.

    Attributes
    ----------
    tried : tuple of SearchStep
        The steps of the search.
    about : str
        Description of the search.
    choice : Choice or None
        None where a search was interrupted before its first score.
    names : tuple of str
        Of all features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> search = gramian.SequentialFeatureSelector(KNeighborsClassifier(), n_features_to_select=2).fit(X, y)
    >>> [round(step.mean, 3) for step in search.history_.tried]
    [0.96, 0.967]
    >>> [search.history_.names[j] for j in search.history_.chosen.subset]
    ['petal length (cm)', 'petal width (cm)']
    """

    names: tuple[str, ...] = ()

    columns: ClassVar[tuple[str, ...]] = (
        *("step", "action", "moved", "size", "score", "standard_error", "features", "models", "seconds"),
    )

    def named(self, features: Sequence[int]) -> tuple[str, ...]:
        """Return the names of features given by number, counted from 0."""
        return tuple(self.names[j] for j in features)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return step, action, moved, size, mean, standard error, subset, models, seconds of each step."""
        return [
            (
                *(s.number, s.action, self.named(s.moved), s.size, s.mean, s.standard_error),
                *(self.named(s.subset), s.models, s.seconds),
            )
            for s in self.tried
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; the standard error of one fold is None."""
        steps = []
        for step, row in zip(self.tried, self.rows(), strict=True):
            scores = {"fold_scores": step.fold_scores, "candidates": [*map(self.named, step.candidates)]}
            more = {"candidate_scores": step.candidate_scores, "validated": step.validated}
            steps.append(dict(zip(self.columns, row, strict=True)) | scores | more)
        facts: dict[str, Any] = {"about": self.about, "steps": steps}
        if self.choice is not None:
            features = self.named(self.chosen.subset)
            facts["chosen"] = {"step": self.chosen.number, "why": self.choice.why, "features": features}
        return dict(plain(facts))

    # ------------------------------------------------------------------ text

    def label_of(self, step: SearchStep) -> str:
        """Return what a step added or removed, by name, such as ``+ name``."""
        return f"{SIGNS.get(step.action, ' ')} {self._joined(step.moved or step.subset)}"

    def shown(self) -> list[int]:
        """Return the places of the steps that moved something."""
        return [index for index, step in enumerate(self.tried) if step.action != "keep"]

    def remarks(self) -> list[str]:
        """Return the choice, the work and how to read the scores."""
        notes = []
        if self.choice is not None:
            subset = self.chosen.subset
            what = f"{counted(len(subset), 'feature')} ({self._joined(subset)})"
            notes.append(f"* {what}: {self.choice.why}.")
        models, seconds = sum(s.models for s in self.tried), sum(s.seconds for s in self.tried)
        notes.append(f"{models:,} models in {seconds:.3g} s.")
        if self.tried[0].validated:
            return [*notes, OPTIMISTIC]
        return [*notes, f"Scores are on {NOT_VALIDATED}."]

    def _joined(self, features: Sequence[int]) -> str:
        return textwrap.shorten(", ".join(self.named(features)), LONGEST, placeholder=" ...")
