"""Selection by an estimator's own validated score, one feature or group at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from gramian.arrays import from_numpy
from gramian.checks import check_choice
from gramian.errors import ParameterError
from gramian.estimators.inputs import check_features
from gramian.rows import as_rows
from gramian.selection.candidates import Trial, scorer_of
from gramian.selection.feature_groups import space_of
from gramian.selection.filter_summary import estimator_name
from gramian.selection.folds import Fold, all_rows, draw_folds
from gramian.selection.history import NOT_VALIDATED, Choice, History, Step
from gramian.selection.labels import Labelled, as_labelled
from gramian.selection.nested import Part, nested_parts, nested_scores
from gramian.selection.pace import Pace
from gramian.selection.plans import Plan, plan_of
from gramian.selection.remembered import Memory, Remembering, fingerprint, remembering
from gramian.selection.search import choose

__all__ = ["SequentialFeatureSelector"]

log = logging.getLogger(__name__)
DIRECTIONS = ("forward", "backward")
FLAGS = ("floating", "validate", "nested", "warm_start", "verbose")
FOUND = (
    *("history_", "interrupted_", "support_", "n_features_to_select_", "score_", "standard_error_"),
    *("nested_score_", "nested_standard_error_", "nested_scores_", "nested_supports_", "optimism_"),
)


class SequentialFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features by adding or removing, at each step, the one that gives the best validated score.

    All subsets are too many to try: 2^d. The greedy search fits of the order of d^2, and keeps the best
    subset that it met.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with ``fit``; it is cloned for every fit.
    n_features_to_select : "best", "one-se", int or float in (0, 1), default="best"
        "best": the best mean score of all sizes; ties go to the fewest features. "one-se": the fewest
        features whose mean is within one standard error of the best. A number or a share: so many
        features. With ``groups`` it is the largest number of columns: groups that would exceed it are not
        tried, and a backward search comes down to it or below.
    direction : {"forward", "backward"}, default="forward"
        Add features to none (or to ``fixed``), or remove them from all.
    floating : bool, default=False
        After each step undo earlier ones, as long as the subset is better than the best of its size so far.
    cv : int, splitter, iterable of (train, test) or None, default=5
        As in scikit-learn: stratified for classifiers, not shuffled. Split once, so that all candidates are
        scored on the same rows.
    scoring : str, callable or None, default=None
        Larger is better. None is the estimator's own score: accuracy, or R^2.
    groups : sequence of sequences, array-like of shape (n_features,), or None
        Features that move together, by number or name; or one label for each feature. Features that are in
        no list move alone. Groups must not overlap.
    fixed : sequence of int or str, mask of shape (n_features,), or None
        Features that are always in; with one of a group, all of it.
    patience : int or None, default=None
        For "best" and "one-se": stop after so many steps without a better subset. None goes to the end.
    validate : bool, default=True
        False fits and scores on all rows, for teaching: scores then rise with the number of features.
    nested : bool, default=False
        Repeat the whole selection without each part of ``cv`` in turn, and score it there. The score that
        chose is optimistic, because it is the best of many; ``optimism_`` is the difference.
    warm_start : bool, default=False
        Keep all scores, and do not fit again what an earlier fit has scored: after Ctrl-C, an error, or with
        other settings of the search. Where rows, labels, estimator, scoring, cv or validate differ from the
        earlier fit, all starts anew. Splits are those drawn before.
    n_jobs : int or None, default=None
        Candidates fitted at a time, as in joblib. Results do not depend on it.
    verbose : bool, default=False
        Write each step and the time left to standard error. The logger "gramian" has it at level INFO.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features,)
        The features that were selected.
    n_features_to_select_ : int
        How many they are.
    score_, standard_error_ : float
        Of the selected subset: mean over the folds, and its standard error (ddof 1; NaN for one fold).
    history_ : History
        Every step with every candidate and score; prints as a table. ``to_frame()`` and ``to_dict()``.
    interrupted_ : bool
        Whether Ctrl-C stopped the search. The selection is then the best so far, and history_ ends there.
    nested_score_, nested_standard_error_, optimism_ : float
        With ``nested``: score of the whole selection on held-out rows, and by how much score_ exceeds it.
    nested_scores_ : ndarray of shape (n_folds,)
    nested_supports_ : ndarray of bool, shape (n_folds, n_features)
        What was selected without each part.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the features have names.

    Raises
    ------
    ParameterError
        For parameters that are not allowed, alone or for these data.
    DataError
        For data that cannot be used: NaN, a single class, a class with fewer rows than folds; and for a
        subset on which the estimator fails or scores NaN. ``history_`` then holds the steps before.

    Notes
    -----
    Scores that differ by less than 1e-12 (relative to scores above 1) tie, and the first in the order of the
    columns is taken: of two equal columns forward adds, and backward removes, the first.

    For scikit-learn's LinearRegression and Ridge the same scores are found without fitting, from Cholesky
    factors of Gram matrices; a candidate for which that is not exact is fitted.

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection. Pudil, Novovicova, Kittler (1994),
    Floating search methods in feature selection. Ambroise and McLachlan (2002), Selection bias in gene
    extraction, for ``nested``. Breiman et al. (1984), section 3.4.3, for "one-se".

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

    def __init__(
        self,
        estimator: Any,
        *,
        n_features_to_select: Any = "best",
        direction: str = "forward",
        floating: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        groups: Any = None,
        fixed: Any = None,
        patience: int | None = None,
        validate: bool = True,
        nested: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.direction = direction
        self.floating = floating
        self.cv = cv
        self.scoring = scoring
        self.groups = groups
        self.fixed = fixed
        self.patience = patience
        self.validate = validate
        self.nested = nested
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search, and select.

        Parameters
        ----------
        X : array-like, frame, Path, Scan or Rows of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes for a classifier, otherwise numbers. May be left out for a file read with ``label=``.

        Returns
        -------
        self
            Ctrl-C keeps what was found: the best subset so far is selected, ``interrupted_`` is True, and
            KeyboardInterrupt goes on. With ``warm_start=True`` another fit continues there.
        """
        scorer = self._checked()
        classifier = bool(is_classifier(self.estimator))
        data = as_labelled(X, y, estimator=self, discrete=classifier, remember=True)
        space = space_of(self.groups, self.fixed, data.names)
        adding = self.direction == "forward"
        plan = plan_of(space, self.n_features_to_select, adding, bool(self.floating), self.patience)
        memory = self._recalled(data)
        if plan.rule == "one-se" and len(memory.folds) < 2:
            raise ParameterError(
                "n_features_to_select='one-se' needs a standard error, but there is a single fold. Give "
                "'best', a number, or validate=True and a cv of two or more."
            )
        trial = Trial(self.estimator, data.X, data.original, memory.folds, scorer, data.names)
        parts = self._parts(trial) if self.nested else []
        for name in FOUND:
            self.__dict__.pop(name, None)
        finished = False
        try:
            self._search(plan, trial, memory)
            if self.nested:
                self._nest(plan, trial, parts)
            finished = True
        finally:
            kept = self.warm_start or not finished
            self._memory = replace(memory, mark=self._mark(data)) if kept else None
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, in X's kind and dtype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_to_select_)
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator=type(self).__name__)
        check_features(self, X, rows)
        chosen = np.flatnonzero(self.support_)
        if rows.is_sparse:
            return rows.in_memory()[:, chosen]
        return rows.xp.take(rows.in_memory(), from_numpy(chosen, rows.in_memory()), axis=1)

    def summary(self) -> History:
        """Return the table of the search with the choice and why; it prints."""
        check_is_fitted(self)
        found: History = self.history_
        return found

    def _checked(self) -> Any:
        """Refuse parameters that no data make right; return what scores a fitted estimator."""
        scorer = scorer_of(self.estimator, self.scoring)
        check_choice("direction", self.direction, DIRECTIONS)
        for name in FLAGS:
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ParameterError(f"{name}={value!r} is neither True nor False. Give one of them.")
        whole = isinstance(self.n_jobs, (int, np.integer)) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (whole and self.n_jobs):
            raise ParameterError(
                f"n_jobs={self.n_jobs!r} is no number of jobs. Give 1 or more, -1 for all cores, or None."
            )
        splits = self.cv is None or isinstance(self.cv, (int, np.integer)) or hasattr(self.cv, "split")
        if self.nested and not splits:
            raise ParameterError(
                "nested=True splits parts of the rows again, but cv holds splits of all rows. Give a number "
                "of folds or a splitter."
            )
        return scorer

    def _mark(self, data: Labelled) -> tuple[Any, ...]:
        rows = np.ascontiguousarray(data.X)
        return fingerprint(rows, data.original, self.estimator, self.scoring, self.cv, bool(self.validate))

    def _recalled(self, data: Labelled) -> Memory:
        """Return the scores of an earlier fit of the same, or no more than folds."""
        memory: Memory | None = getattr(self, "_memory", None)
        if self.warm_start and memory is not None:
            if memory.mark == self._mark(data):
                return memory
            log.info("warm_start: rows, labels, estimator or validation differ, so all starts anew")
        return Memory(self._inner(data.X, data.original))

    def _split(self, X: Any, y: Any) -> list[Fold]:
        return draw_folds(self.cv, X, y, classifier=bool(is_classifier(self.estimator)))

    def _inner(self, X: Any, y: Any) -> list[Fold]:
        """Return the folds that a selection is made with."""
        return self._split(X, y) if self.validate else all_rows(len(y))

    def _scorer(self, trial: Trial) -> Remembering:
        return remembering(trial, self.scoring, self.n_jobs)

    def _search(self, plan: Plan, trial: Trial, memory: Memory) -> None:
        """Search, and keep what is found however it ends."""
        self.history_ = History((), trial.names, self._about(plan, trial))
        self.interrupted_ = False
        steps: list[Step] = []
        try:
            for step in self._measured(plan, trial, memory):
                steps.append(step)
        except KeyboardInterrupt:
            self.interrupted_ = True
            if steps:
                found = choose(steps, "best" if plan.rule == "size" else plan.rule)
                self._settle(steps, Choice(found.place, f"stopped by hand; so far {found.why}"))
            raise
        except BaseException:
            self.history_ = replace(self.history_, steps=tuple(steps))
            raise
        self._settle(steps, choose(steps, plan.rule, plan.limit))

    def _measured(self, plan: Plan, trial: Trial, memory: Memory) -> Iterator[Step]:
        """Yield the steps with what they took, also where they took it before a search was stopped."""
        pace = Pace(plan, verbose=bool(self.verbose))
        scorer = remembering(trial, self.scoring, self.n_jobs, memory.known, pace.within)
        new = computed = 0
        began = time.perf_counter()
        for step in plan.steps(scorer):
            place = step.number, step.subset
            seconds = memory.seconds.get(place, 0.0) + time.perf_counter() - began
            memory.seconds[place] = seconds
            models = (scorer.new - new) * len(trial.folds)
            pace.step(step, scorer.computed - computed)
            yield replace(step, models=models, seconds=seconds, validated=bool(self.validate))
            new, computed, began = scorer.new, scorer.computed, time.perf_counter()

    def _settle(self, steps: list[Step], choice: Choice) -> None:
        self.history_ = replace(self.history_, steps=tuple(steps), choice=choice)
        chosen = self.history_.chosen
        self.support_ = np.zeros(len(self.history_.names), dtype=bool)
        self.support_[list(chosen.subset)] = True
        self.n_features_to_select_ = chosen.size
        self.score_, self.standard_error_ = chosen.mean, chosen.standard_error

    def _parts(self, trial: Trial) -> list[Part]:
        outer = trial.folds if self.validate else self._split(trial.X, trial.y)
        return nested_parts(trial.X, trial.y, outer, self._inner)

    def _nest(self, plan: Plan, trial: Trial, parts: list[Part]) -> None:
        found = nested_scores(plan, trial, parts, self._scorer, self.score_)
        self.history_ = replace(self.history_, nested=found)
        self.nested_score_, self.nested_standard_error_ = found.mean, found.standard_error
        self.nested_scores_, self.nested_supports_ = found.scores, found.supports
        self.optimism_ = found.optimism

    def _about(self, plan: Plan, trial: Trial) -> str:
        n, d = trial.X.shape
        score = (
            self.scoring
            if isinstance(self.scoring, str)
            else getattr(self.scoring, "__name__", "its own score")
        )
        where = f"{len(trial.folds)} folds of {n:,} rows" if self.validate else NOT_VALIDATED
        name = estimator_name(self.estimator)
        return f"{plan.name.capitalize()} selection among {d:,} features with {name}: {score}, {where}"

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "fit") and not isinstance(self.estimator, type):
            own = get_tags(self.estimator)
            tags.input_tags.positive_only = own.input_tags.positive_only
            tags.target_tags.positive_only = own.target_tags.positive_only
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
