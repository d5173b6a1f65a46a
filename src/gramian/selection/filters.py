"""Keeps the features that tell most about a label, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.estimators.inputs import check_features, generators
from gramian.rows import as_rows
from gramian.selection.candidates import scorer_of
from gramian.selection.choosing_k import ChoiceOfK, choose_folds, cross_validate_k, tried_sizes
from gramian.selection.filter_settings import (
    check_settings,
    default_estimator,
    kind_of_label,
    near_one,
    number_of_features,
)
from gramian.selection.filter_summary import (
    filter_summary,
    reason_for,
    reason_for_discoveries,
    reason_for_number,
    score_name,
)
from gramian.selection.folds import Fold
from gramian.selection.labels import Labelled, as_labelled
from gramian.selection.ranking import Ranker
from gramian.selection.significance import benjamini_hochberg

__all__ = ["FeatureFilter"]

# So many features at least are put in order by "mrmr"; each costs a pass over the data.
MOST_ORDERED = 1000


@dataclass(frozen=True, eq=False)
class _Validation:
    """What is validated, and on which rows."""

    estimator: Any
    scorer: Callable[..., float]
    folds: Sequence[Fold]
    notes: tuple[str, ...]


class FeatureFilter(SelectorMixin, BaseEstimator):
    """Keep the K features that tell most about a label, each judged by itself.

    A filter is cheap where a search over subsets is not, and blind to what features say together only. How
    many to keep is found by cross-validation: the features are ranked anew on the training rows of every
    fold, and an estimator is fitted to the K best of them. Ranking on all rows first would show the
    held-out labels to the ranking: with many features the score then is high even for labels that are pure
    chance.

    Parameters
    ----------
    score_func : {"mutual-information", "f", "chi2", "correlation"} or callable, default="mutual-information"
        What a feature is judged by. ``mutual_information`` in nats; the F statistic of the analysis of
        variance, or of the simple regression where the label is a number; chi-squared, for counts and
        classes; the size of Pearson's correlation, for classes the correlation ratio. Or a function of rows
        and labels that returns scores, or scores and p-values; larger is better.
    k : "cv", int, float or "fdr", default="cv"
        How many to keep. ``"cv"``: of 1, 2, 3, 4, 5, 7, 10, 15, 20, ... features the smallest number whose
        validated score is within one standard error of the best. A number of features. A share in (0, 1] of
        them, rounded half up, at least one. ``"fdr"``: those that Benjamini and Hochberg's rule finds at the
        false discovery rate ``alpha``; there may be none, and ``transform`` then says so.
    estimator : estimator, optional
        What is validated, with ``k="cv"``. It also says whether the label names classes. By default, on
        standardised features, logistic regression for classes and ridge regression for numbers.
    cv : int, splitter or iterable, default=5
        Folds, as scikit-learn reads them. Fewer than a number says where a class has fewer rows.
    redundancy : {None, "mrmr"}, default=None
        ``"mrmr"`` ranks greedily by relevance less the mean redundancy with the features before: shared
        information of the Gaussian copula in nats for mutual information, otherwise ``|r|``, beside which
        the relevance is the correlation ratio (for ``"f"`` and ``"correlation"``) or the share of the
        largest score. At least 1,000 features are ranked so, the others by what they score after those.
    scoring : str or callable, optional
        What is validated, as scikit-learn names it; by default the estimator's own, accuracy or R2.
    n_neighbors : int, default=3
        Of the estimate of mutual information.
    alpha : float, default=0.05
        False discovery rate of ``k="fdr"``. For mutual information p-values come from permuted labels, pooled
        over features with as many distinct values.
    random_state : int, RandomState, Generator or None, default=None
        For what mutual information draws: noise that decides ties, and permutations.
    n_jobs : int or None, default=None
        Folds validated at the same time, as joblib counts.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each feature; 0 for a constant one.
    pvalues_ : ndarray of shape (n_features,) or None
        Where the score has them; for mutual information with ``k="fdr"`` only.
    ranking_ : ndarray of shape (n_features,)
        Place of each feature, from 1; equal scores in the order of the columns.
    k_, support_ : int, ndarray of bool of shape (n_features,)
        How many are kept, and which.
    cv_results_ : dict or None
        With ``k="cv"``: ``"k"``, ``"mean_score"``, ``"standard_error"``, ``"fold_scores"`` of shape (tried,
        folds), ``"best_k"`` and ``"one_standard_error_k"``. The best of these scores is optimistic, because
        it was chosen: validate a pipeline with the filter in it to know how it does.
    estimator_ : estimator or None
        What was validated, unfitted.
    task_ : "classes" or "numbers"
    reason_ : str
        Why so many.
    notes_ : tuple of str
        What should be known.
    classes_ : ndarray or None
    n_samples_, n_features_in_, feature_names_in_
        What the data was.

    References
    ----------
    Guyon and Elisseeff (2003), An introduction to variable and feature selection, Journal of Machine
    Learning Research 3. Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of
    microarray gene-expression data, PNAS 99, for the ranking inside of the folds. Breiman, Friedman, Olshen
    and Stone (1984) for the one-standard-error rule. Benjamini and Hochberg (1995). Peng, Long and Ding
    (2005) for mRMR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import FeatureFilter
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> chosen = FeatureFilter("f").fit(X, y)
    >>> chosen.get_feature_names_out().tolist()
    ['petal length (cm)']
    >>> chosen.ranking_.tolist(), chosen.scores_.round(1).tolist()
    ([3, 4, 1, 2], [119.3, 49.2, 1180.2, 960.0])
    """

    def __init__(
        self,
        score_func: str | Callable[..., Any] = "mutual-information",
        k: int | float | str = "cv",
        *,
        estimator: Any = None,
        cv: Any = 5,
        redundancy: str | None = None,
        scoring: str | Callable[..., float] | None = None,
        n_neighbors: int = 3,
        alpha: float = 0.05,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.score_func = score_func
        self.k = k
        self.estimator = estimator
        self.cv = cv
        self.redundancy = redundancy
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the features and choose how many to keep.

        Parameters
        ----------
        X : array-like, frame, Path or Scan of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Classes or numbers; not needed for a file that is read with ``label=``. Text, booleans and whole
            numbers of few distinct values are classes, unless the estimator says otherwise.

        Raises
        ------
        DataError
            NaN, a single class, sparse data, negative values for chi2, too few rows for cross-validation.
        ParameterError
            A parameter outside of what it may be.
        """
        check_settings(self)
        data = as_labelled(X, y, estimator=self, discrete=kind_of_label(self.estimator), remember=True)
        d = data.X.shape[1]
        asked = number_of_features(self.k, d)
        # Before the ranking, so that what cannot be validated is refused at once.
        validation = self._validation(data) if self.k == "cv" else None
        drawing, folding = generators(self.random_state, 2)
        ranker = Ranker(self.score_func, data.names, data.classes, self.redundancy, self.n_neighbors)
        ranked = ranker.rank(data.X, data.y, max(asked or 0, MOST_ORDERED), drawing)
        self.task_ = "classes" if ranker.discrete else "numbers"
        self.classes_, self.n_samples_ = data.classes, len(data.y)
        self.scores_, self.pvalues_ = ranked.scores.values, ranked.scores.p_values
        self.notes_ = ranked.scores.notes
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[ranked.order] = np.arange(1, d + 1)
        self.estimator_ = None if validation is None else validation.estimator
        self.cv_results_ = None
        if validation is not None:
            found = self._validate(ranker, data, validation, folding)
            self.cv_results_ = {
                "k": found.sizes,
                "mean_score": found.mean,
                "standard_error": found.error,
                "fold_scores": found.fold_scores,
                "best_k": found.best,
                "one_standard_error_k": found.chosen,
            }
            self.notes_ += (*validation.notes, *found.notes)
            asked, self.reason_ = found.chosen, reason_for(found, self.score_name_)
        if asked is None:
            self.support_, self.reason_ = self._discoveries(ranker, data, drawing)
        else:
            self.support_ = self.ranking_ <= asked
            if self.k != "cv":
                self.reason_ = reason_for_number(self.k, d)
        self.k_ = int(self.support_.sum())
        return self

    def _validation(self, data: Labelled) -> _Validation:
        default = default_estimator(data.classes is not None)
        estimator = default if self.estimator is None else self.estimator
        folds, notes = choose_folds(self.cv, data)
        return _Validation(estimator, scorer_of(estimator, self.scoring), folds, notes)

    def _validate(
        self, ranker: Ranker, data: Labelled, validation: _Validation, rng: np.random.Generator
    ) -> ChoiceOfK:
        X, y = data.X, data.original
        if self.estimator is None:
            # The default standardises, so that a power of two changes nothing but what overflows.
            X = near_one(X)
            if self.scoring is None and not ranker.discrete:
                y = near_one(y[:, None])[:, 0]
        return cross_validate_k(
            ranker.order,
            data,
            X,
            y,
            tried_sizes(X.shape[1], len(y)),
            validation.folds,
            validation.estimator,
            validation.scorer,
            random_states=rng.spawn(len(validation.folds)),
            n_jobs=self.n_jobs,
        )

    def _discoveries(
        self, ranker: Ranker, data: Labelled, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.bool_], str]:
        """Return which features are significant, and say so."""
        if ranker.score == "mutual-information":
            self.pvalues_, most = ranker.by_permutation(data.X, data.y, self.alpha, rng)
            self.notes_ += (
                f"p-values by up to {most:,} permutations of the label, pooled over alike features.",
            )
        if self.pvalues_ is None:
            raise ParameterError(
                f"k='fdr' needs p-values, and score_func={score_name(self.score_func)} returns none. "
                "Let it return a pair of scores and p-values, or give k as a number or 'cv'."
            )
        support, adjusted = benjamini_hochberg(self.pvalues_, self.alpha)
        return support, reason_for_discoveries(support, adjusted, self.alpha)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> Any:
        """Return the kept columns of X, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, k_)
            In X's kind, float32 or float64.

        Raises
        ------
        DataError
            Where ``k="fdr"`` found no feature.
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator="FeatureFilter")
        check_features(self, X, rows)
        if self.k_ == 0:
            raise DataError(
                f"There is nothing to keep. {self.reason_} Give a larger alpha, or k as a number or 'cv'."
            )
        kept = np.flatnonzero(self.support_)
        if rows.is_sparse:
            return rows.in_memory()[:, kept]
        return rows.xp.take(rows.in_memory(), _places(kept, rows), axis=1)

    def inverse_transform(self, X: Any) -> Any:
        """Put the kept columns back in their places; the others are 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, k_)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator="FeatureFilter")
        if rows.is_sparse:
            raise InputTypeError("inverse_transform takes dense data. Pass X.toarray().")
        if rows.shape[1] != self.k_:
            raise DataError(f"X has {rows.shape[1]} columns, but {self.k_} features were kept. Give those.")
        zero = rows.xp.zeros_like(rows.in_memory()[:, :1])
        # What was dropped is read from the column of zeros.
        places = np.where(self.support_, np.cumsum(self.support_) - 1, self.k_)
        return rows.xp.take(rows.xp.concat([rows.in_memory(), zero], axis=1), _places(places, rows), axis=1)

    # ------------------------------------------------ what the selector says

    def summary(self, features: int = 30) -> str:
        """Return the ranking with bars, how many were kept and why, as text.

        Parameters
        ----------
        features : int
            How many of the best are listed.
        """
        check_is_fitted(self)
        return filter_summary(self, features)

    @property
    def feature_names_(self) -> list[str]:
        """Names of all features; x0, x1, ... where they have none."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if given is None else [str(n) for n in given]

    @property
    def score_name_(self) -> str:
        """What was validated, in words."""
        if self.scoring is not None:
            return score_name(self.scoring)
        return "accuracy" if self.task_ == "classes" else "R2"

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _places(indices: npt.NDArray[Any], rows: Any) -> Any:
    if rows.xp is np:
        return indices
    return rows.xp.asarray(indices, device=getattr(rows.in_memory(), "device", None))
