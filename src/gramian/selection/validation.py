"""Cross-validation of an estimator on folds that are drawn once, the same for all candidates."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian.checks import check_integer, counted, listed
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.records import FloatArray, IntArray

Fold = tuple[IntArray, IntArray]
Scorer = Callable[..., float]

SAID = 3
ADVICE = {
    "Fitting": "Use an estimator that can be fitted on every candidate, or leave these features out.",
    "Scoring": "Use another scoring, or a cv on whose folds the estimator can be scored.",
}


# ----------------------------------------------------------------- estimators


def scorer_of(estimator: Any, scoring: Any) -> Scorer:
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
            f"estimator={estimator!r} is not an estimator with fit.",
            "Give for instance LogisticRegression().",
        )
    try:
        if isinstance(scoring, (list, tuple, set, dict)):
            raise ValueError("Selection needs a single score.")
        scorer: Scorer = check_scoring(estimator, scoring=scoring)
    except (TypeError, ValueError) as error:
        why = "" if isinstance(scoring, str) else f": {error}"
        name = "Give the name of a scikit-learn score, such as 'accuracy' or 'r2'."
        also = " In Python also a function scorer(estimator, X, y)."
        raise ParameterError("scoring", scoring, f"cannot be used{why}", name + also) from error
    return scorer


def kind_of_label(estimator: Any) -> bool | str:
    """Return whether the estimator takes labels as classes; "auto" where it does not tell.

    Examples
    --------
    >>> kind_of_label(Ridge()), kind_of_label(None)
    (False, 'auto')
    """
    if estimator is not None and is_classifier(estimator):
        return True
    return False if estimator is not None and is_regressor(estimator) else "auto"


def default_estimator(discrete: bool) -> Any:
    """Return what is validated by default: logistic or ridge regression of standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if discrete else Ridge())


def estimator_name(estimator: Any) -> str:
    """Return the name of an estimator, with its steps if it is a pipeline.

    Examples
    --------
    >>> estimator_name(make_pipeline(StandardScaler(), Ridge()))
    'StandardScaler + Ridge'
    """
    steps = getattr(estimator, "steps", None)
    if steps is None:
        return type(estimator).__name__
    return " + ".join(estimator_name(step) for _, step in steps)


def score_name(score: Any, default: str = "score") -> str:
    """Return how a score is called: its name, that of the function, or the default for None.

    Examples
    --------
    >>> score_name("f"), score_name(max), score_name(None, "accuracy")
    ('f', 'max', 'accuracy')
    """
    if score is None or isinstance(score, str):
        return score or default
    return str(getattr(score, "__name__", type(score).__name__))


# ---------------------------------------------------------------------- folds


def draw_folds(
    cv: Any,
    X: FloatArray,
    y: np.ndarray[Any, Any],
    *,
    classifier: bool,
    shuffle: np.random.Generator | None = None,
) -> list[Fold]:
    """Draw the folds once.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        As in scikit-learn: stratified for the classes of a classifier, None is 5.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    classifier : bool
    shuffle : Generator, optional
        Cuts the rows at random where ``cv`` is a number; otherwise in their order.

    Returns
    -------
    list of (train, test)
        Numbers of rows.

    Raises
    ------
    ParameterError
        For what is no way to split.
    DataError
        For a class with fewer rows than folds, more folds than rows, rows that are not there.
    """
    n, given = len(y), cv
    if cv is None or isinstance(cv, (Integral, bool)):
        also = "In Python also a splitter, or splits."
        folds = check_integer("cv", 5 if cv is None else cv, 2, advice=also)
        seed = None if shuffle is None else int(shuffle.integers(2**31))
        kind = StratifiedKFold if classifier else KFold
        cv = kind(folds, shuffle=shuffle is not None, random_state=seed)
    try:
        splitter = check_cv(cv, y, classifier=classifier)
    except (TypeError, ValueError) as error:
        raise ParameterError("cv", cv, f"cannot be used: {error}") from error
    if isinstance(splitter, StratifiedKFold):
        classes, counts = np.unique(y, return_counts=True)
        few = int(np.argmin(counts))
        if (rows := int(counts[few])) < splitter.n_splits:
            fewer = f"Give cv={rows!r} at most, or leave" if rows > 1 else "Leave"
            raise DataError(
                f"The class {classes[few].item()!r} has {counted(rows, 'row')}, fewer than the "
                f"{splitter.n_splits} folds.",
                f"{fewer} out the rows of that class.",
            )
    every = np.arange(n)
    try:
        # Masks become numbers, and rows that are not there raise an error.
        parts = [(every[np.asarray(train)], every[np.asarray(test)]) for train, test in splitter.split(X, y)]
    except (TypeError, ValueError, IndexError) as error:
        grouped = "For grouped rows give the splits: cv=list(splitter.split(X, y, groups))."
        hint = f"Give fewer folds. {grouped}"
        raise DataError(f"cv={given!r} cannot split {n} rows: {error}", hint) from error
    if not parts:
        raise DataError(
            f"cv={given!r} has no splits.",
            "A generator can be read only once: give a list, or a number of folds.",
        )
    return parts


# --------------------------------------------------------------------- scores


def fitted_score(
    estimator: Any, scorer: Scorer, known: tuple[Any, Any], new: tuple[Any, Any], where: str
) -> float:
    """Fit a clone of the estimator to known rows and labels, and score it on new ones.

    Raises
    ------
    DataError
        Where that fails, or the score is not a finite number; says on what, and the cause.
    """
    doing = "Fitting"
    try:
        fitted = clone(estimator).fit(*known)
        doing = "Scoring"
        score = float(scorer(fitted, *new))
    except Exception as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")
        raise DataError(
            f"{doing} {estimator_name(estimator)} {where} failed. {cause}.", ADVICE[doing]
        ) from error
    if not np.isfinite(score):
        raise DataError(
            f"Scoring {estimator_name(estimator)} {where} gave {score} on {len(new[1])} held-out rows.",
            "Use another scoring, or a cv with larger folds.",
        )
    return score


@dataclass(frozen=True, eq=False)
class Validation:
    """What stays the same for all candidates. It is sent to other processes."""

    estimator: Any
    X: Any
    y: np.ndarray[Any, Any]
    folds: Sequence[Fold]
    scorer: Scorer
    names: tuple[str, ...]

    def score(self, columns: IntArray, fold: int) -> float:
        """Fit and score some of the columns in one fold.

        Raises
        ------
        DataError
            Names subset, fold and cause.
        """
        (train, test), y = self.folds[fold], self.y
        subset = listed(self.names[j] for j in columns.tolist())
        where = f"on {{{subset}}} in fold {fold + 1} of {len(self.folds)}"
        known, new = (self._cut(train, columns), y[train]), (self._cut(test, columns), y[test])
        return fitted_score(self.estimator, self.scorer, known, new, where)

    def _cut(self, rows: IntArray, columns: IntArray) -> FloatArray:
        if not sparse.issparse(self.X):
            return np.asarray(self.X[np.ix_(rows, columns)])
        # The few that are looked at, dense: every estimator takes that.
        return np.asarray(self.X[:, columns].toarray()[rows])

    def scores(self, columns: IntArray) -> FloatArray:
        """Fit and score some of the columns in every fold, shape (n_folds,)."""
        return np.array([self.score(columns, fold) for fold in range(len(self.folds))])


@contextmanager
def warnings_counted() -> Iterator[Counter[str]]:
    """Count the warnings of estimators instead of showing hundreds of them."""
    said: Counter[str] = Counter()
    if current_thread() is not main_thread():
        yield said  # of none: Python's filters are of all threads
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.update(f"{w.category.__name__}: {str(w.message).splitlines()[0]}" for w in caught)


def notes_of(said: Counter[str]) -> tuple[str, ...]:
    """Return the most frequent warnings of cross-validation."""
    return tuple(
        f"During cross-validation: {text} ({counted(count, 'time')})"
        for text, count in said.most_common(SAID)
    )
