"""Selection by an estimator's own validated score, one feature or group at a time."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from gramian import progress
from gramian.analysis.tried import Choice
from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError
from gramian.estimators.sklearn_hints import KnowsHabits, refuse_metadata
from gramian.progress import track
from gramian.selection.history import NOT_VALIDATED, History, Nested, SearchStep
from gramian.selection.labels import as_labelled
from gramian.selection.search import Search, choose, search_of
from gramian.selection.selector import ColumnSelector
from gramian.selection.space import Space, space_of
from gramian.selection.subset_scores import subset_scores
from gramian.selection.validation import (
    Fold,
    Validation,
    draw_folds,
    estimator_name,
    is_number,
    score_name,
    scorer_of,
)

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class SequentialFeatureSelector(KnowsHabits, MetaEstimatorMixin, ColumnSelector):
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
    n_jobs : int or None, default=None
        Candidates fitted at a time, as in joblib. Results do not depend on it.
    verbose : bool, default=False
        Write each step to standard error. The logger "gramian" records it at level INFO.

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

    _habits: ClassVar = {
        "tol": 'leave it out: "best" and "one-se" look at every size, and patience=3 stops after three steps '
        "without a better subset",
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
    nested: bool = False
    n_jobs: int | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Search, and select.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path, Scan or Rows of shape (n_samples, n_features)
            The estimator is fitted on dense columns: of a sparse matrix those of a candidate are made dense.
        y : array-like of shape (n_samples,)
            Classes for a classifier, otherwise numbers. May be left out for a file read with ``label=``.
        **metadata
            None: ``sample_weight`` and whatever is routed are refused with what to do instead.

        Returns
        -------
        self
            After Ctrl-C the best subset so far is selected, ``interrupted_`` is True, and KeyboardInterrupt
            is raised again.
        """
        refuse_metadata(self, metadata)
        scorer = scorer_of(self.estimator, self.scoring)
        check_choice("direction", self.direction, ("forward", "backward"))
        data = as_labelled(X, y, estimator=self, discrete=bool(is_classifier(self.estimator)))
        space = space_of(self.groups, self.fixed, data.names)
        adding = self.direction == "forward"
        search = search_of(space, self.n_features_to_select, adding, bool(self.floating), self.patience)
        folds = self._inner(data.X, data.original)
        if search.rule == "one-se" and len(folds) < 2:
            raise ParameterError(
                "n_features_to_select='one-se' needs a standard error, but there is a single fold. Give "
                "'best', a number, or validate=True and a cv of two or more."
            )
        validation = Validation(self.estimator, data.X, data.original, folds, scorer, data.names)
        outer = self._outer(validation) if self.nested else []
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)
        self._search(search, validation)
        if self.nested:
            self._nest(space, validation, outer)
        return self

    def summary(self) -> History:
        """Return the table of the search with the choice and why; it prints."""
        check_is_fitted(self)
        found: History = self.history_
        return found

    def _split(self, X: Any, y: Any) -> list[Fold]:
        return draw_folds(self.cv, X, y, classifier=is_classifier(self.estimator))

    def _inner(self, X: Any, y: Any) -> list[Fold]:
        """Return the folds that a selection is made with."""
        every = np.arange(len(y))
        return self._split(X, y) if self.validate else [(every, every)]

    def _search(self, search: Search, validation: Validation) -> None:
        """Search, and keep what is found however it ends."""
        self.history_ = History((), self._about(search, validation), names=validation.names)
        self.interrupted_ = False
        steps: list[SearchStep] = []
        try:
            for step in self._measured(search, validation):
                steps.append(step)
        except KeyboardInterrupt:
            self.interrupted_ = True
            if steps:
                found = choose(steps, "best" if search.rule == "size" else search.rule)
                self._settle(steps, Choice(found.place, f"stopped by hand; so far {found.why}"))
            raise
        except BaseException:
            self.history_ = replace(self.history_, tried=tuple(steps))
            raise
        self._settle(steps, choose(steps, search.rule, search.limit))

    def _measured(self, search: Search, validation: Validation) -> Iterator[SearchStep]:
        """Yield the steps with the work that each took, and report them."""

        def report(text: str, moved: int, level: int = logging.INFO) -> None:
            log.log(level, text)
            progress.report(text, "move", moved, search.moves)

        scorer = subset_scores(validation, self.scoring, self.n_jobs)
        d, computed, began = len(validation.names), 0, time.perf_counter()
        report("first feature", 0, logging.DEBUG)
        for step in search.steps(scorer):
            text = f"{len(step.subset):,} of {d:,} features, {step.mean:.4g}"
            report(text, search.moved(step))
            if self.verbose:
                print(text, file=sys.stderr, flush=True)
            fresh, computed = scorer.computed - computed, scorer.computed
            seconds, models = time.perf_counter() - began, fresh * len(validation.folds)
            yield replace(step, models=models, seconds=seconds, validated=bool(self.validate))
            began = time.perf_counter()
        report("search done", search.moves, logging.DEBUG)

    def _settle(self, steps: list[SearchStep], choice: Choice) -> None:
        self.history_ = replace(self.history_, tried=tuple(steps), choice=choice)
        chosen = self.history_.chosen
        self.support_ = np.zeros(len(self.history_.names), dtype=bool)
        self.support_[list(chosen.subset)] = True
        self.n_features_to_select_ = len(chosen.subset)
        self.score_, self.standard_error_ = chosen.mean, chosen.standard_error

    def _outer(self, validation: Validation) -> list[Fold]:
        """Return what whole selections are scored on; parts that cannot be split are refused at once."""
        if not (self.cv is None or is_number(self.cv) or hasattr(self.cv, "split")):
            raise ParameterError(
                "nested=True splits parts of the rows again, but cv holds splits of all rows. Give a number "
                "of folds or a splitter."
            )
        X, y = validation.X, validation.y
        outer = list(validation.folds) if self.validate else self._split(X, y)
        for part, (train, _) in enumerate(outer, 1):
            with _without(part, len(outer)):
                self._inner(X[train], y[train])
        return outer

    def _nest(self, space: Space, validation: Validation, outer: list[Fold]) -> None:
        """Select without each part in turn, fit on the others with what was selected, and score the part.

        References
        ----------
        Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of microarray
        gene-expression data. Varma and Simon (2006), Bias in error estimation when using cross-validation
        for model selection.
        """
        plain = {"nested": False, "verbose": False}
        places = {"groups": [group.tolist() for group in space.free], "fixed": space.fixed.tolist()}
        supports, scores = [], []
        for part, (train, test) in enumerate(track(outer, "nested: part"), 1):
            log.info("nested: part %d of %d", part, len(outer))
            with _without(part, len(outer)):
                inner = clone(self).set_params(**plain, **places)
                supports.append(inner.fit(validation.X[train], validation.y[train]).support_)
                held_out = replace(validation, folds=[(train, test)])
                scores.append(held_out.score(np.flatnonzero(supports[-1]), 0))
        optimism = self.score_ - float(np.mean(scores))
        found = Nested.in_folds(
            "all of it", None, np.array(scores), supports=np.array(supports), optimism=optimism
        )
        self.history_ = replace(self.history_, nested=found)
        self.nested_score_, self.nested_standard_error_ = found.mean, found.standard_error
        self.nested_scores_, self.nested_supports_ = found.scores, found.supports
        self.optimism_ = found.optimism

    def _about(self, search: Search, validation: Validation) -> str:
        n, d = validation.X.shape
        score = score_name(self.scoring, "its own score")
        where = f"{len(validation.folds)} folds of {n:,} rows" if self.validate else NOT_VALIDATED
        name = estimator_name(self.estimator)
        return f"{search.name.capitalize()} selection among {d:,} features with {name}: {score}, {where}"


@contextmanager
def _without(part: int, parts: int) -> Iterator[None]:
    """Say without which part a selection failed."""
    try:
        yield
    except DataError as error:
        raise DataError(f"nested=True, selection without part {part} of {parts}: {error}") from error
