"""Sequential feature selection by the cross-validated score of an estimator."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from gramian import progress
from gramian.analysis.candidates import Choice
from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError
from gramian.estimators.sklearn_base import MetaEstimatorMixin
from gramian.estimators.sklearn_hints import knows_names, refuse_metadata
from gramian.progress import track
from gramian.progress_bar import shows_progress
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
    nested : bool, default=False
        Nested cross-validation: repeat the whole selection without each fold of ``cv`` and score it on that
        fold. The selection score is optimistic, as the best of many; ``optimism_`` is the difference.
    n_jobs : int or None, default=None
        Number of candidates fitted in parallel, as in joblib. Results do not depend on it.
    verbose : bool, default=False
        Write each step to standard error. The logger "gramian" records it at level INFO.

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
    nested_score_, nested_standard_error_, optimism_ : float
        With ``nested``: score of the whole selection on held-out rows, and ``score_`` minus that score.
    nested_scores_ : ndarray of shape (n_folds,)
    nested_supports_ : ndarray of bool, shape (n_folds, n_features)
        The features selected without each outer fold.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the features have names.

    Raises
    ------
    ParameterError
        For parameters that are not allowed, alone or for these data.
    DataError
        For NaN, a single class, a class with fewer rows than folds, and a subset on which the estimator
        fails or scores NaN. ``history_`` then has the steps before.

    Notes
    -----
    Scores that differ by less than 1e-12 (relative to scores above 1) tie. Ties go to the first column: of
    two equal columns, forward adds and backward removes the first.

    For scikit-learn's LinearRegression and Ridge the same scores are computed without fitting, from Cholesky
    factors of Gram matrices. A candidate for which that is inexact is fitted.

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
        "tol": 'leave it out: "best" and "one-se" compare all sizes, and patience=3 stops after three steps '
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
            The estimator gets dense columns: those of a candidate in a sparse matrix are made dense.
        y : array-like of shape (n_samples,)
            Classes for a classifier, otherwise numbers. May be left out for a file read with ``label=``.
        **metadata
            Not supported: ``sample_weight`` and other routed metadata raise an error with advice.

        Returns
        -------
        self
            After Ctrl-C the best subset so far is selected, ``interrupted_`` is True, and KeyboardInterrupt
            is raised again.
        """
        refuse_metadata(self, metadata)
        scorer = scorer_of(self.estimator, self.scoring)
        check_choice("direction", self.direction, ("forward", "backward", "exhaustive"))
        data = as_labelled(X, y, estimator=self, discrete=bool(is_classifier(self.estimator)))
        space = space_of(self.groups, self.fixed, data.names)
        adding, exhaustive = self.direction != "backward", self.direction == "exhaustive"
        wanted, floating = self.n_features_to_select, bool(self.floating)
        search = search_of(space, wanted, adding, floating, self.patience, exhaustive)
        folds = self._inner(data.X, data.original)
        if search.rule == "one-se" and len(folds) < 2:
            raise ParameterError(
                "n_features_to_select='one-se' needs a standard error, but there is a single fold. Use "
                "'best', a number, or validate=True with two or more folds."
            )
        validation = Validation(self.estimator, data.X, data.original, folds, scorer, data.names)
        outer = self._outer(validation) if self.nested else []
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)
        with shows_progress("SequentialFeatureSelector"):
            self._search(search, validation)
            if self.nested:
                self._nest(space, validation, outer)
        return self

    def summary(self) -> History:
        """Return the history of the search; it prints as a table with the choice and its reason."""
        check_is_fitted(self)
        result: History = self.history_
        return result

    def _split(self, X: Any, y: Any) -> list[Fold]:
        return draw_folds(self.cv, X, y, classifier=is_classifier(self.estimator))

    def _inner(self, X: Any, y: Any) -> list[Fold]:
        """Return the folds that a selection is made with."""
        every = np.arange(len(y))
        return self._split(X, y) if self.validate else [(every, every)]

    def _search(self, search: Search, validation: Validation) -> None:
        """Search, and record the steps however the search ends."""
        self.history_ = History((), self._about(search, validation), names=validation.names)
        self.interrupted_ = False
        steps: list[SearchStep] = []
        try:
            for step in self._measured(search, validation):
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

    def _measured(self, search: Search, validation: Validation) -> Iterator[SearchStep]:
        """Yield the steps with the work that each took, and report them."""

        begin, end = search.ends

        def report(text: str, size: int, level: int = logging.INFO) -> None:
            log.log(level, text)
            progress.report(text, "feature", abs(size - begin), abs(end - begin))

        scorer = subset_scores(validation, self.scoring, self.n_jobs)
        d, computed, began = len(validation.names), 0, time.perf_counter()
        report("first feature", begin, logging.DEBUG)
        for step in search.steps(scorer):
            text = f"{len(step.subset):,} of {d:,} features, {step.mean:.4g}"
            report(text, len(step.subset))
            if self.verbose:
                print(text, file=sys.stderr, flush=True)
            fresh, computed = scorer.computed - computed, scorer.computed
            seconds, models = time.perf_counter() - began, fresh * len(validation.folds)
            yield replace(step, models=models, seconds=seconds, validated=bool(self.validate))
            began = time.perf_counter()
        report("search done", end, logging.DEBUG)

    def _settle(self, steps: list[SearchStep], choice: Choice) -> None:
        self.history_ = replace(self.history_, tried=tuple(steps), choice=choice)
        chosen = self.history_.chosen
        self.support_ = np.zeros(len(self.history_.names), dtype=bool)
        self.support_[list(chosen.subset)] = True
        self.n_features_to_select_ = len(chosen.subset)
        self.score_, self.standard_error_ = chosen.mean, chosen.standard_error

    def _outer(self, validation: Validation) -> list[Fold]:
        """Return the outer folds; raise at once where the rest of a fold cannot be split again."""
        if not (self.cv is None or is_number(self.cv) or hasattr(self.cv, "split")):
            raise ParameterError(
                "nested=True splits the training rows again, but cv is a list of splits of all rows. Give a "
                "number of folds or a splitter."
            )
        X, y = validation.X, validation.y
        outer = list(validation.folds) if self.validate else self._split(X, y)
        for part, (train, _) in enumerate(outer, 1):
            with _without(part, len(outer)):
                self._inner(X[train], y[train])
        return outer

    def _nest(self, space: Space, validation: Validation, outer: list[Fold]) -> None:
        """Run nested cross-validation: select without each outer fold, and score on it.

        References
        ----------
        Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of microarray
        gene-expression data. Varma and Simon (2006), Bias in error estimation when using cross-validation
        for model selection.
        """
        plain = {"nested": False, "verbose": False}
        places = {"groups": [group.tolist() for group in space.free], "fixed": space.fixed.tolist()}
        supports, scores = [], []
        for part, (train, test) in enumerate(track(outer, "outer fold"), 1):
            log.info("outer fold %d of %d", part, len(outer))
            with _without(part, len(outer)):
                inner = clone(self).set_params(**plain, **places)
                supports.append(inner.fit(validation.X[train], validation.y[train]).support_)
                held_out = replace(validation, folds=[(train, test)])
                scores.append(held_out.score(np.flatnonzero(supports[-1]), 0))
        optimism = self.score_ - float(np.mean(scores))
        result = Nested.in_folds(
            "all of it", None, np.array(scores), supports=np.array(supports), optimism=optimism
        )
        self.history_ = replace(self.history_, nested=result)
        self.nested_score_, self.nested_standard_error_ = result.mean, result.standard_error
        self.nested_scores_, self.nested_supports_ = result.scores, result.supports
        self.optimism_ = result.optimism

    def _about(self, search: Search, validation: Validation) -> str:
        n, d = validation.X.shape
        score = score_name(self.scoring, "its own score")
        where = f"{len(validation.folds)} folds of {n:,} rows" if self.validate else NOT_VALIDATED
        name = estimator_name(self.estimator)
        return f"{search.name.capitalize()} selection among {d:,} features with {name}: {score}, {where}"


@contextmanager
def _without(part: int, parts: int) -> Iterator[None]:
    """Name the outer fold in which a selection failed."""
    try:
        yield
    except DataError as error:
        raise DataError(f"nested=True, outer fold {part} of {parts}: {error}") from error
