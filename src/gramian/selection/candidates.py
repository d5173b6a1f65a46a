"""Scores of candidate subsets of features by cross-validation of any estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.records import FloatArray, IntArray
from gramian.selection.filter_summary import estimator_name
from gramian.selection.folds import Fold
from gramian.selection.history import listed

__all__ = ["CandidateScorer", "CrossValidated", "Trial", "fold_scores", "scorer_of", "with_or_without"]

ADVICE = {
    "Fitting": "Change the estimator so that it can be fitted on any subset of the features, or leave these "
    "features out.",
    "Scoring": "Choose another scoring=, or a cv= whose parts the fitted estimator can be scored on.",
}


class CandidateScorer(Protocol):
    """What a search asks for scores."""

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        ...


@dataclass(frozen=True, eq=False)
class Trial:
    """What stays the same in all fits: estimator, rows, folds and scorer. It is sent to other processes."""

    estimator: Any
    X: FloatArray
    y: np.ndarray[Any, Any]
    folds: Sequence[Fold]
    scorer: Any
    names: tuple[str, ...]


class CrossValidated:
    """Scores candidates by fitting the estimator once for each candidate and fold.

    Parameters
    ----------
    trial : Trial
    n_jobs : int or None
        How many candidates are fitted at a time, as in joblib. Results do not depend on it.
    """

    def __init__(self, trial: Trial, n_jobs: int | None = None) -> None:
        self.trial = trial
        self.n_jobs = n_jobs

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        found = list(self.each(kept, groups, adding))
        return np.array(found).reshape(len(groups), len(self.trial.folds))

    def each(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> Iterator[FloatArray]:
        """Yield the scores of one candidate after the other, each as soon as it is known."""
        subsets = [with_or_without(kept, group, adding) for group in groups]
        if len(subsets) < 2 or effective_n_jobs(self.n_jobs) == 1:
            return (fold_scores(self.trial, columns) for columns in subsets)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        found: Iterator[FloatArray] = parallel(
            delayed(fold_scores)(self.trial, columns) for columns in subsets
        )
        return found


def with_or_without(kept: IntArray, group: IntArray, adding: bool) -> IntArray:
    """Return ``kept`` with a group added, or removed, ascending.

    Examples
    --------
    >>> with_or_without(np.array([1, 4]), np.array([0, 2]), True).tolist()
    [0, 1, 2, 4]
    """
    joined = np.union1d(kept, group) if adding else np.setdiff1d(kept, group)
    return joined.astype(np.intp, copy=False)


def fold_scores(trial: Trial, columns: IntArray) -> FloatArray:
    """Fit and score one subset of the columns in every fold, shape (n_folds,).

    Raises
    ------
    DataError
        Where a fit or a score fails, or a score is not a finite number; names subset, fold and cause.
    """
    X = np.take(trial.X, columns, axis=1)
    found = np.empty(len(trial.folds))
    for k, (train, test) in enumerate(trial.folds):
        doing = "Fitting"
        try:
            fitted = clone(trial.estimator).fit(X[train], trial.y[train])
            doing = "Scoring"
            found[k] = trial.scorer(fitted, X[test], trial.y[test])
        except Exception as error:
            cause = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")
            raise DataError(f"{_where(trial, doing, columns, k)} failed. {cause}. {ADVICE[doing]}") from error
        if not np.isfinite(found[k]):
            raise DataError(
                f"{_where(trial, 'Scoring', columns, k)} gave {found[k]}, which cannot be compared. Choose "
                "another scoring=, or a cv= with more rows in each part."
            )
    return found


def _where(trial: Trial, doing: str, columns: IntArray, k: int) -> str:
    subset = listed([trial.names[j] for j in columns.tolist()])
    return f"{doing} {estimator_name(trial.estimator)} on {{{subset}}} in fold {k + 1} of {len(trial.folds)}"


def scorer_of(estimator: Any, scoring: Any) -> Any:
    """Return the function that scores a fitted estimator.

    Raises
    ------
    InputTypeError
        For what is no estimator.
    ParameterError
        For a scoring that is not known, or several of them.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(
            f"estimator={estimator!r} is no estimator with fit. Give one, such as LogisticRegression()."
        )
    if isinstance(scoring, (list, tuple, set, dict)):
        raise ParameterError(
            f"scoring={scoring!r} names several scores, but a selection follows one. Give one of them."
        )
    try:
        return check_scoring(estimator, scoring=scoring)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"scoring={scoring!r} cannot be used: {error} Give the name of a score of scikit-learn, such as "
            "'accuracy' or 'r2', or a function scorer(estimator, X, y)."
        ) from error
