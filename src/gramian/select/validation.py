"""Cross-validation of an estimator on folds that are drawn once; scores of subsets, each computed once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import joblib
import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from gramian.core import progress
from gramian.core.arrays import memory_limit_bytes, parallel_map
from gramian.core.checks import check_integer, counted, listed, slices
from gramian.core.records import FloatArray, IntArray
from gramian.errors import DataError, InputTypeError, ParameterError

Fold = tuple[IntArray, IntArray]
Scorer = Callable[..., float]

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
        hint = "Give for instance LogisticRegression()."
        raise InputTypeError(f"estimator={estimator!r} is not an estimator with fit.", hint)
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
    n, value = len(y), cv
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
        pairs = [(every[np.asarray(train)], every[np.asarray(test)]) for train, test in splitter.split(X, y)]
    except (TypeError, ValueError, IndexError) as error:
        grouped = "For grouped rows give the splits: cv=list(splitter.split(X, y, groups))."
        hint = f"Give fewer folds. {grouped}"
        raise DataError(f"cv={value!r} cannot split {n} rows: {error}", hint) from error
    if not pairs:
        hint = "A generator can be read only once: give a list, or a number of folds."
        raise DataError(f"cv={value!r} has no splits.", hint)
    return pairs


# --------------------------------------------------------------------- scores


def fitted_score(
    estimator: Any, scorer: Scorer, train: tuple[Any, Any], new: tuple[Any, Any], where: str
) -> float:
    """Fit a clone of the estimator to known rows and labels, and score it on new ones.

    Raises
    ------
    DataError
        Where that fails, or the score is not a finite number; says on what, and the cause.
    """
    doing = "Fitting"
    try:
        fitted = clone(estimator).fit(*train)
        doing = "Scoring"
        score = float(scorer(fitted, *new))
    except Exception as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")
        raise DataError(
            f"{doing} {estimator_name(estimator)} {where} failed. {cause}.", ADVICE[doing]
        ) from error
    if not np.isfinite(score):
        why = f"Scoring {estimator_name(estimator)} {where} gave {score} on {len(new[1])} held-out rows."
        raise DataError(why, "Use another scoring, or a cv with larger folds.")
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
        train_rows, new = (self._cut(train, columns), y[train]), (self._cut(test, columns), y[test])
        return fitted_score(self.estimator, self.scorer, train_rows, new, where)

    def _cut(self, rows: IntArray, columns: IntArray) -> FloatArray:
        if not sparse.issparse(self.X):
            return np.asarray(self.X[np.ix_(rows, columns)])
        # The few that are looked at, dense: every estimator takes that.
        return np.asarray(self.X[:, columns].toarray()[rows])

    def scores(self, columns: IntArray) -> FloatArray:
        """Fit and score some of the columns in every fold, shape (n_folds,)."""
        return np.array([self.score(columns, fold) for fold in range(len(self.folds))])


# ---- Scores of subsets, cached: no subset is fitted twice within a search


class SubsetScores:
    """Asks for the score of a subset once: the exact fast scorer first, the general one for what it leaves.

    Parameters
    ----------
    validation : Validation
        Fits and scores what is left.
    fast : LeastSquaresScorer or None
        Gives NaN for what it cannot do exactly.
    n_jobs : int or None
        How many candidates are fitted at a time, as in joblib. Results do not depend on it.
    """

    def __init__(self, validation: Validation, fast: Any = None, n_jobs: int | None = None) -> None:
        self._validation, self._fast, self._n_jobs = validation, fast, n_jobs
        self._known: dict[int, FloatArray] = {}

    @classmethod
    def of(cls, validation: Validation, scoring: Any, n_jobs: int | None) -> Self:
        """Return what scores candidates: fast where the estimator has a fast way."""
        v = validation
        return cls(v, least_squares_scorer(v.estimator, v.X, v.y, v.folds, scoring), n_jobs)

    def scores(self, kept: IntArray, columns: IntArray) -> FloatArray:
        """Return the score of ``kept`` with each column added, or without it if it is there, in every fold.

        Of shape (n_columns, n_folds). All columns are in ``kept``, or none.
        """
        # A set of columns as the bits of a number: adding and removing toggle one.
        base = sum(1 << j for j in kept.tolist())
        keys = [base ^ (1 << j) for j in columns.tolist()]
        todo = [j for j, key in enumerate(keys) if key not in self._known]
        if todo and self._fast is not None:
            result = self._fast.scores(kept, columns[todo])
            exact = np.isfinite(result).all(axis=1)
            self._known.update((keys[todo[k]], result[k]) for k in np.flatnonzero(exact).tolist())
            todo = [todo[k] for k in np.flatnonzero(~exact).tolist()]
        if todo:
            each = self._fitted([np.setxor1d(kept, columns[[j]]) for j in todo])
            with warnings.catch_warnings():  # scikit-learn's threads mix up the filters that they put back
                self._known.update(
                    (keys[j], row) for j, row in zip(progress.track(todo, "candidate"), each, strict=True)
                )
        return np.array([self._known[key] for key in keys])

    def _fitted(self, subsets: list[IntArray]) -> Iterator[FloatArray]:
        """Yield the scores of one subset after the other, each as soon as it is known."""
        if len(subsets) < 2 or joblib.effective_n_jobs(self._n_jobs) == 1:
            return map(self._validation.scores, subsets)
        parallel = Parallel(n_jobs=self._n_jobs, return_as="generator")
        result: Iterator[FloatArray] = parallel(delayed(self._validation.scores)(s) for s in subsets)
        return result


# ---- Scores of candidate features for least squares and ridge regression, without fitting each one

# The part of a column's squared length that must be left beside the others: errors of scores stay below 1e-9.
LEAST = 1e-6
BATCH = 1 << 22  # residuals held at a time
# Solvers of Ridge that iterate give something else than the minimum.
DIRECT = ("auto", "svd", "cholesky")
MEMORY_SHARE = 4  # Gram matrices may take a quarter of the memory limit

Score = Callable[[FloatArray, FloatArray], FloatArray]


def _r2(errors: FloatArray, y: FloatArray) -> FloatArray:
    left = np.sum(errors**2, axis=0)
    total = float(np.sum((y - y.mean()) ** 2))
    # For a constant label as scikit-learn defines it.
    return np.asarray(1.0 - left / total if total > 0 else np.where(left == 0.0, 1.0, 0.0))


SCORES: dict[str | None, Score] = {
    None: _r2,
    "r2": _r2,
    "neg_mean_squared_error": lambda errors, y: -np.mean(errors**2, axis=0),
    "neg_root_mean_squared_error": lambda errors, y: -np.sqrt(np.mean(errors**2, axis=0)),
    "neg_mean_absolute_error": lambda errors, y: -np.mean(np.abs(errors), axis=0),
}


def least_squares_scorer(
    estimator: Any, X: FloatArray, y: np.ndarray[Any, Any], folds: Sequence[Fold], scoring: Any
) -> LeastSquaresScorer | None:
    """Return the fast scorer of a linear regression, or None where it would not give the same scores.

    Parameters
    ----------
    estimator : estimator
        ``LinearRegression`` or ``Ridge`` of scikit-learn, alone or after a ``StandardScaler`` in a pipeline,
        without the constraint to positive coefficients, and with a solver that does not iterate.
    X : ndarray of shape (n, d)
        None of a sparse matrix: all columns of it would be made dense.
    y : ndarray of shape (n,)
        Numbers.
    folds : sequence of (train, test)
    scoring : str or None
        ``"r2"`` (None), or the negative mean squared, root mean squared or mean absolute error.

    Returns
    -------
    LeastSquaresScorer or None
        Its scores are those of float64 arithmetic, also for float32 data.
    """
    model = _recognised(estimator)
    named = scoring is None or isinstance(scoring, str)
    if model is None or not named or scoring not in SCORES or y.dtype.kind not in "fiu" or sparse.issparse(X):
        return None
    score = SCORES[scoring]
    if score is _r2 and min(len(test) for _, test in folds) < 2:
        return None
    if 8 * len(folds) * X.shape[1] ** 2 > memory_limit_bytes(None) // MEMORY_SHARE:
        return None
    return LeastSquaresScorer(parallel_map(lambda fold: of_fold(X, y, fold, *model), folds), score)


def _recognised(estimator: Any) -> tuple[float, bool, StandardScaler | None] | None:
    """Return the penalty, whether there is an intercept, and the scaler before it."""
    scaler = None
    if type(estimator) is Pipeline and len(estimator.steps) == 2:
        scaler, estimator = (step for _, step in estimator.steps)
        if type(scaler) is not StandardScaler:
            return None
    if type(estimator) is LinearRegression and not estimator.positive:
        return 0.0, bool(estimator.fit_intercept), scaler
    if type(estimator) is not Ridge or estimator.positive or estimator.solver not in DIRECT:
        return None
    if not isinstance(estimator.alpha, Real) or not 0 <= float(estimator.alpha) < np.inf:
        return None
    return float(estimator.alpha), bool(estimator.fit_intercept), scaler


@dataclass(frozen=True, eq=False)
class LeastSquaresScorer:
    """Scores candidates of all folds."""

    folds: list[FoldProblem]
    score: Score

    def scores(self, kept: IntArray, columns: IntArray) -> FloatArray:
        """Return scores as :meth:`SubsetScores.scores` does.

        NaN where columns are so nearly dependent that the Gram matrix would lose digits: within 1e-6 of their
        squared length.
        """

        def in_fold(fold: FoldProblem) -> FloatArray:
            values = np.full(len(columns), np.nan)
            for indices, errors in fold.residuals(kept, columns):
                values[indices] = self.score(errors, fold.y)
            return values

        return np.column_stack(parallel_map(in_fold, self.folds))


# ------------------------------------------------------------------ one fold


def of_fold(
    X: FloatArray, y: FloatArray, fold: Fold, penalty: float, intercept: bool, scaler: Any
) -> FoldProblem:
    """Return the regression problem of one fold: its rows scaled and centred as the estimator would."""
    train, test = fold
    A, B = X[train].astype(np.float64), X[test].astype(np.float64)
    if scaler is not None:
        fitted = clone(scaler).fit(A)
        A, B = fitted.transform(A), fitted.transform(B)
    target, wanted = y[train].astype(np.float64), y[test].astype(np.float64)
    origin = 0.0
    if intercept:
        center, origin = A.mean(axis=0), float(target.mean())
        A -= center
        B -= center
        target = target - origin
    G = A.T @ A
    G[np.diag_indices_from(G)] += penalty
    return FoldProblem(G, A.T @ target, B, wanted, wanted - origin)


@dataclass(frozen=True, eq=False)
class FoldProblem:
    """Least squares with a penalty ``alpha |w|^2`` on some of the columns.

    Attributes
    ----------
    G : ndarray of shape (d, d)
        Gram matrix of the columns on the rows fitted, with alpha on its diagonal.
    b : ndarray of shape (d,)
        Products of the columns with the label.
    test : ndarray of shape (m, d)
        The rows held out.
    y : ndarray of shape (m,)
        Their labels, for the score.
    start : ndarray of shape (m,)
        Their labels without the mean: residuals of no features.
    """

    G: FloatArray
    b: FloatArray
    test: FloatArray
    y: FloatArray
    start: FloatArray

    def residuals(self, kept: IntArray, columns: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals of ``kept`` with each column added, or without it if it is there.

        Yields
        ------
        places : ndarray of shape (c,)
            Which of the columns.
        errors : ndarray of shape (m, c)
            Residuals on the rows held out, a column each.
        """
        kept = np.sort(kept)
        solved = self._solved(kept)
        if solved is None:
            return
        inverse, weights, error, V = solved
        indices = np.arange(len(columns))
        if np.isin(columns, kept).any():
            beside, places = V, np.searchsorted(kept, columns)
            steps = weights[places] / np.diagonal(inverse)[places]
        else:
            others, length = self.G[kept], np.diagonal(self.G)[columns]
            left = (np.diagonal(self.G) - np.einsum("ij,ij->j", others, inverse @ others))[columns]
            sound = left > LEAST * length
            beside, places, indices = self.test - V @ others, columns[sound], indices[sound]
            steps = -(self.b - others.T @ weights)[places] / left[sound]
        for batch in slices(len(indices), max(1, BATCH // max(1, len(self.y)))):
            yield indices[batch], error[:, None] + beside[:, places[batch]] * steps[batch]

    def _solved(self, kept: IntArray) -> tuple[FloatArray, ...] | None:
        """Solve for some columns; None where they are too nearly dependent.

        Returns
        -------
        inverse : ndarray of shape (k, k)
        weights : ndarray of shape (k,)
            Coefficients.
        error : ndarray of shape (m,)
            Residuals on the rows held out.
        V : ndarray of shape (m, k)
            Those rows times the inverse.
        """
        M = self.G[np.ix_(kept, kept)]
        L = _factor(M, np.diagonal(M))
        if L is None:
            return None
        inverse = cho_solve((L, True), np.eye(len(kept)))
        weights, rows = inverse @ self.b[kept], self.test[:, kept]
        return inverse, weights, self.start - rows @ weights, rows @ inverse


def _factor(M: FloatArray, length: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor, or None where less than enough of a column's length is left."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        # Dependent to the last digit.
        return None
    return np.asarray(L) if np.all(np.diagonal(L) ** 2 > LEAST * length) else None
