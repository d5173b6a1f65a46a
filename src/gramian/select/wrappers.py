"""Sequential feature selection by the cross-validated score of an estimator."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gramian.core import progress
from gramian.core.checks import check_choice, check_integer, check_share, counted, plain
from gramian.core.records import FloatArray
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
    direction : {"forward", "backward", "exhaustive"}, default="forward"
        Add features to none, remove them from all, or score every subset of at most 15 features; a step is
        then the best subset of its size.
    floating : bool, default=False
        After each step undo earlier ones while the subset is better than the best of its size so far.
    cv : int, splitter, iterable of (train, test) or None, default=5
        As in scikit-learn: stratified for classifiers, not shuffled. Rows are split once, so that all
        candidates are scored on the same folds.
    scoring : str, callable or None, default=None
        Larger is better. None uses the estimator's own score: accuracy or R^2.
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
        fails or scores NaN.

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

    _habits: ClassVar = {"tol": 'leave it out: "best" and "one-se" compare all sizes'}

    estimator: Any
    _: KW_ONLY
    n_features_to_select: Any = "best"
    direction: str = "forward"
    floating: bool = False
    cv: Any = 5
    scoring: Any = None
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
            The fitted selector.

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
        search = search_of(len(data.names), self.n_features_to_select, self.direction, bool(self.floating))
        folds = validation.draw_folds(self.cv, data.X, data.original, classifier=classes)
        if search.rule == "one-se" and len(folds) < 2:
            why = "needs a standard error, but there is a single fold."
            raise ParameterError("n_features_to_select", "one-se", why, "Use 'best' or a number.")
        validator = validation.Validation(self.estimator, data.X, data.original, folds, scorer, data.names)
        with progress.shows_progress("SequentialFeatureSelector"):
            steps = tuple(self._measured(search, validator))
        choice = choose(steps, search.rule, search.limit)
        self.history_ = History(steps, self._about(search, validator), choice, names=data.names)
        chosen = self.history_.chosen
        self.support_ = np.isin(np.arange(len(data.names)), chosen.subset)
        self.n_features_to_select_ = len(chosen.subset)
        self.score_, self.standard_error_ = chosen.mean, chosen.standard_error
        return self

    def summary(self) -> History:
        """Return the history of the search; it prints as a table with the choice and its reason."""
        check_is_fitted(self)
        result: History = self.history_
        return result

    def _measured(self, search: SubsetSearch, validator: validation.Validation) -> Iterator[SearchStep]:
        """Yield the steps, and report them."""
        begin, end = search.ends
        for step in search.steps(validation.SubsetScores.of(validator, self.scoring, self.n_jobs)):
            text = f"{len(step.subset):,} of {len(validator.names):,} features, {step.mean:.4g}"
            progress.report(text, "feature", abs(len(step.subset) - begin), abs(end - begin))
            yield step

    def _about(self, search: SubsetSearch, validator: validation.Validation) -> str:
        n, d = validator.X.shape
        direction = self.direction.capitalize() + " floating" * search.floating
        score = validation.score_name(self.scoring, "its own score")
        name = validation.estimator_name(self.estimator)
        folds = f"{len(validator.folds)} folds of {n:,} rows"
        return f"{direction} selection among {d:,} features with {name}: {score}, {folds}"


# ---- Greedy and floating searches through subsets of features, by scores alone

Rule = Literal["best", "one-se", "size"]
# A set of two is one move from sets of one, all of which have been scored: undoing cannot be better.
NOTHING_TO_UNDO = 2
MOST_EXHAUSTIVE = 15  # features, with 32,767 subsets


@dataclass(frozen=True, eq=False)
class SubsetSearch:
    """Which subsets are visited, and which of them is kept.

    Attributes
    ----------
    n_features : int
        Number of features there are.
    adding : bool
        Forward from none: the feature is added whose addition scores best. Otherwise backward from all, in
        the same way; the last one stays.
    floating : bool
        After each move undo others, as long as the subset is better than the best of its size so far. Each
        such move raises the best score of that size, so the search ends.
    rule : "best", "one-se" or "size"
    limit : int or None
        Number of features to go to. A floating search that has got there goes one move further and back,
        until that gives nothing better of this size.

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection. Pudil, Novovicova, Kittler (1994),
    Floating search methods in feature selection, section 2.3 (SFFS) and 2.4 (SBFS).
    """

    n_features: int
    adding: bool = True
    floating: bool = False
    rule: Rule = "best"
    limit: int | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """Numbers of features at which the search begins and ends."""
        return (0, self.limit or self.n_features) if self.adding else (self.n_features, self.limit or 1)

    def steps(self, scorer: validation.SubsetScores) -> Iterator[SearchStep]:
        """Search, one move at a time."""
        adding, (_, end) = self.adding, self.ends
        last = self.n_features if adding else 1
        walk = _Walk(scorer, self.n_features, adding)
        if not adding:
            yield walk.start()
        while len(walk.inside) != last:
            beyond = len(walk.inside) == end
            if beyond and not (self.floating and walk.moved >= NOTHING_TO_UNDO):
                return
            yield walk.move(adding)
            undone = False
            while self.floating and walk.moved > NOTHING_TO_UNDO:
                step = walk.move(not adding, undo=True)
                yield step
                if step.action == "keep":
                    break
                undone = True
            # One move further and back: ends when that finds nothing better of the requested size.
            if beyond and not undone:
                return


@dataclass(frozen=True, eq=False)
class Exhaustive(SubsetSearch):
    """All subsets, smallest first: a step is the best subset of a number of features."""

    def steps(self, scorer: validation.SubsetScores) -> Iterator[SearchStep]:
        """Score all subsets, one number of features at a time."""
        d = self.n_features
        for size in range(1, self.ends[1] + 1):
            tried: list[tuple[int, ...]] = []
            scores = []
            for kept in combinations(range(d), size - 1):
                columns = np.arange(kept[-1] + 1 if kept else 0, d)
                tried += [(*kept, j) for j in columns.tolist()]
                if columns.size:
                    scores.append(scorer.scores(np.array(kept, dtype=np.intp), columns))
            every = np.concatenate(scores)
            best = first_best(every)
            facts: Any = {"number": size, "candidates": tuple(tried), "candidate_scores": every}
            yield SearchStep.in_folds(tried[best], size, every[best], action="best", **facts)


def search_of(d: int, wanted: Any, direction: str, floating: bool) -> SubsetSearch:
    """Settle what to do with d features.

    Parameters
    ----------
    d : int
    wanted : "best", "one-se", int or float in (0, 1)
        Parameter ``n_features_to_select``.
    direction : "forward", "backward" or "exhaustive"
    floating : bool

    Raises
    ------
    ParameterError
        For a number that cannot be reached, a floating exhaustive search, and too many subsets.
    """
    name, adding = "n_features_to_select", direction != "backward"
    if direction == "exhaustive" and floating:
        why = f"has no use: direction={direction!r} scores all subsets."
        raise ParameterError("floating", floating, why, "Leave it out.")
    if direction == "exhaustive" and d > MOST_EXHAUSTIVE:
        why = f"allows at most {MOST_EXHAUSTIVE} features, and there are {d}, with {2**d - 1:,} subsets."
        raise ParameterError("direction", direction, why, "Use 'forward' or fewer columns.")
    search = Exhaustive if direction == "exhaustive" else SubsetSearch
    if isinstance(wanted, str):
        rule: Rule = "best" if check_choice(name, wanted, ("best", "one-se")) == "best" else "one-se"
        return search(d, adding, floating, rule)
    advice = f"Give 'best', 'one-se', a number of features from 1 to {d}, or a share between 0 and 1."
    if isinstance(wanted, (Integral, bool)):
        limit = check_integer(name, wanted, 1, d, advice)
    else:
        # 0.29 of 100 is 28.999999999999996 in binary.
        limit = max(1, math.floor(check_share(name, wanted, advice) * d + 1e-9))
    return search(d, adding, floating, "size", limit)


def choose(steps: Sequence[SearchStep], rule: Rule, limit: int | None = None) -> Choice:
    """Choose one of the subsets that a search has visited.

    Parameters
    ----------
    steps : sequence of SearchStep
    rule : "best", "one-se" or "size"
        The best mean; the fewest features within one standard error of the best (of the best's); the best
        of the size ``limit``. Ties go to the fewest features, then to the first.
    limit : int, optional
        For "size".
    """
    moves = [j for j, step in enumerate(steps) if step.action != "keep"]
    visited = [steps[j] for j in moves]
    if rule == "size":
        moves = [j for j in moves if len(steps[j].subset) == limit]
        return Choice(moves[candidates.best([steps[j] for j in moves])], "as many as were requested")
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

    def __init__(self, scorer: validation.SubsetScores, n_features: int, adding: bool) -> None:
        self.scorer, self.n_features, self.adding = scorer, n_features, adding
        self.inside: set[int] = set() if adding else set(range(n_features))
        self.number = 0
        self.best: dict[int, float] = {}
        self.now: FloatArray = np.empty(0)

    @property
    def moved(self) -> int:
        return len(self.inside) if self.adding else self.n_features - len(self.inside)

    def start(self) -> SearchStep:
        every = np.arange(self.n_features)
        self.now = self.scorer.scores(every[:-1], every[-1:])[0]
        self.best[self.n_features] = float(self.now.mean())
        return self._step("start", (), np.empty((0, len(self.now))), ())

    def move(self, adding: bool, *, undo: bool = False) -> SearchStep:
        """Add or remove the feature with the best score, or none that would undo a move without gain."""
        movable = sorted(self.inside ^ set(range(self.n_features)) if adding else self.inside)
        scores = self.scorer.scores(np.array(sorted(self.inside), dtype=np.intp), np.array(movable))
        tried, best_move = tuple((j,) for j in movable), first_best(scores)
        count = len(self.inside) + (1 if adding else -1)
        reached, mean = self.best.get(count, -np.inf), float(scores.mean(axis=1)[best_move])
        if undo and not mean > reached + tolerance(mean):
            return self._step("keep", (), scores, tried)
        self.best[count] = max(reached, mean)
        self.inside ^= {movable[best_move]}
        self.now = scores[best_move]
        return self._step("add" if adding else "remove", tried[best_move], scores, tried)

    def _step(
        self, action: Action, moved: tuple[int, ...], scores: FloatArray, tried: tuple[tuple[int, ...], ...]
    ) -> SearchStep:
        self.number += action != "start"
        subset = tuple(sorted(self.inside))
        facts = {"moved": moved, "candidates": tried, "candidate_scores": scores}
        return SearchStep.in_folds(subset, len(subset), self.now, number=self.number, action=action, **facts)


def first_best(scores: FloatArray) -> int:
    """Return the first of the rows whose mean is the best but for rounding."""
    means = scores.mean(axis=1)
    return int(np.argmax(means >= means.max() - tolerance(means.max())))


# ----------------------- Records of a search through subsets of features

Action = Literal["start", "add", "remove", "keep", "best"]
OPTIMISTIC = "The best of many scores is optimistic: cross_validate the selector and estimator."
SIGNS = {"add": "+", "remove": "-", "start": " "}
LONGEST = 90  # characters of a list of names


@dataclass(frozen=True, eq=False, repr=False)
class SearchStep(Candidate):
    """One step of the search: every candidate that was scored, and the one that was chosen.

    Attributes
    ----------
    number : int
        Number of the step. 0 is all features, where a backward search starts.
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
    """

    number: int = 0
    action: Action = "start"
    moved: tuple[int, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    candidate_scores: FloatArray = field(default_factory=lambda: np.empty((0, 1)))

    @property
    def subset(self) -> tuple[int, ...]:
        """The features after the step."""
        return tuple(self.candidate)

    def __repr__(self) -> str:
        moved = f" {set(self.moved)}" if self.moved else ""
        error = f" ± {self.standard_error:.4g}" if len(self.fold_scores) > 1 else ""
        size = counted(len(self.subset), "feature")
        return f"<Step {self.number}: {self.action}{moved}, {size}: {self.mean:.4g}{error}>"


@dataclass(frozen=True, eq=False, repr=False)
class History(Selection[SearchStep]):
    """Every step of a search, in order; prints as a table with the choice and why.

    Attributes
    ----------
    tried : tuple of SearchStep
        The steps of the search.
    about : str
        Description of the search.
    choice : Choice
        The step that was chosen, and why.
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
        *("step", "action", "moved", "size", "score", "standard_error", "features"),
    )

    def named(self, features: Sequence[int]) -> tuple[str, ...]:
        """Return the names of features given by number, counted from 0."""
        return tuple(self.names[j] for j in features)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return step, action, moved, size, mean, standard error and subset of each step."""
        return [
            (
                *(s.number, s.action, self.named(s.moved), s.size, s.mean, s.standard_error),
                self.named(s.subset),
            )
            for s in self.tried
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; the standard error of one fold is None."""
        steps = []
        for step, row in zip(self.tried, self.rows(), strict=True):
            scores = {"fold_scores": step.fold_scores, "candidates": [*map(self.named, step.candidates)]}
            more = {"candidate_scores": step.candidate_scores}
            steps.append(dict(zip(self.columns, row, strict=True)) | scores | more)
        features = self.named(self.chosen.subset)
        chosen = {"step": self.chosen.number, "why": self.choice.why, "features": features}
        return dict(plain({"about": self.about, "steps": steps, "chosen": chosen}))

    # ------------------------------------------------------------------ text

    def label_of(self, step: SearchStep) -> str:
        """Return what a step added or removed, by name, such as ``+ name``."""
        return f"{SIGNS.get(step.action, ' ')} {self._joined(step.moved or step.subset)}"

    def shown(self) -> list[int]:
        """Return the places of the steps that moved something."""
        return [index for index, step in enumerate(self.tried) if step.action != "keep"]

    def remarks(self) -> list[str]:
        """Return the choice and how to read the scores."""
        subset = self.chosen.subset
        what = f"{counted(len(subset), 'feature')} ({self._joined(subset)})"
        return [f"* {what}: {self.choice.why}.", OPTIMISTIC]

    def _joined(self, features: Sequence[int]) -> str:
        return textwrap.shorten(", ".join(self.named(features)), LONGEST, placeholder=" ...")
