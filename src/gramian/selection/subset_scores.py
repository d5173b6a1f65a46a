"""Scores of subsets, cached: no subset is fitted twice within a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import joblib
import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from gramian import checks, progress
from gramian.arrays import memory_limit_bytes, parallel_map
from gramian.records import FloatArray, IntArray
from gramian.selection.validation import Fold, Validation


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
        self.computed = 0

    @classmethod
    def of(cls, validation: Validation, scoring: Any, n_jobs: int | None) -> Self:
        """Return what scores candidates: fast where the estimator has a fast way."""
        v = validation
        return cls(v, least_squares_scorer(v.estimator, v.X, v.y, v.folds, scoring), n_jobs)

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        base = _key(kept)
        # Adding and removing toggle the same bits.
        keys = [base ^ _key(group) for group in groups]
        todo = [j for j, key in enumerate(keys) if key not in self._known]
        self.computed += len(todo)
        if todo and self._fast is not None:
            result = self._fast.scores(kept, [groups[j] for j in todo], adding)
            exact = np.isfinite(result).all(axis=1)
            self._known.update((keys[todo[k]], result[k]) for k in np.flatnonzero(exact).tolist())
            todo = [todo[k] for k in np.flatnonzero(~exact).tolist()]
        if todo:
            each = self._fitted([np.setxor1d(kept, groups[j]) for j in todo])
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


def _key(columns: IntArray) -> int:
    """Return a set of columns as the bits of a number: with or without a group is one operation away."""
    return sum(1 << j for j in set(columns.tolist()))


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
    known = scoring is None or isinstance(scoring, str)
    if model is None or not known or scoring not in SCORES or y.dtype.kind not in "fiu" or sparse.issparse(X):
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

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds).

        NaN where columns are so nearly dependent that the Gram matrix would lose digits: within 1e-6 of their
        squared length.
        """

        def in_fold(fold: FoldProblem) -> FloatArray:
            values = np.full(len(groups), np.nan)
            for places, errors in fold.added(kept, groups) if adding else fold.removed(kept, groups):
                values[places] = self.score(errors, fold.y)
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
    known, wanted = y[train].astype(np.float64), y[test].astype(np.float64)
    origin = 0.0
    if intercept:
        center, origin = A.mean(axis=0), float(known.mean())
        A -= center
        B -= center
        known = known - origin
    return FoldProblem(A.T @ A, A.T @ known, B, wanted, wanted - origin, penalty)


@dataclass(frozen=True, eq=False)
class FoldProblem:
    """Least squares with a penalty ``alpha |w|^2`` on some of the columns.

    Attributes
    ----------
    G : ndarray of shape (d, d)
        Gram matrix of the columns on the rows fitted.
    b : ndarray of shape (d,)
        Products of the columns with the label.
    test : ndarray of shape (m, d)
        The rows held out.
    y : ndarray of shape (m,)
        Their labels, for the score.
    start : ndarray of shape (m,)
        Their labels without the mean: residuals of no features.
    penalty : float
        alpha.
    """

    G: FloatArray
    b: FloatArray
    test: FloatArray
    y: FloatArray
    start: FloatArray
    penalty: float

    def added(self, kept: IntArray, groups: Sequence[IntArray]) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals of ``kept`` with groups added.

        Yields
        ------
        places : ndarray of shape (c,)
            Which of the groups.
        errors : ndarray of shape (m, c)
            Residuals on the rows held out, a column each.
        """
        solved = self._solved(kept)
        if solved is None:
            return
        inverse, weights, error, V = solved
        others = self.G[kept]
        length = np.diagonal(self.G) + self.penalty
        left = length - np.einsum("ij,ij->j", others, inverse @ others)
        slope = self.b - others.T @ weights
        beside = self.test - V @ others
        alone, columns = _single(groups)
        sound = left[columns] > LEAST * length[columns]
        steps = slope[columns] / np.where(sound, left[columns], 1.0)
        yield from self._batches(alone[sound], columns[sound], -steps[sound], error, beside)
        for i, group in enumerate(groups):
            if len(group) == 1:
                continue
            inner = self._moments(group) - others[:, group].T @ inverse @ others[:, group]
            L = _factor(inner, length[group])
            if L is not None:
                yield np.array([i]), (error - beside[:, group] @ cho_solve((L, True), slope[group]))[:, None]

    def removed(self, kept: IntArray, groups: Sequence[IntArray]) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals of ``kept`` without groups, as :meth:`added` does."""
        kept = np.sort(kept)
        solved = self._solved(kept)
        if solved is None:
            return
        P, weights, error, V = solved
        alone, columns = _single(groups)
        places = np.searchsorted(kept, columns)
        yield from self._batches(alone, places, weights[places] / np.diagonal(P)[places], error, V)
        for i, group in enumerate(groups):
            if len(group) == 1:
                continue
            gone = np.searchsorted(kept, group)
            share = np.linalg.solve(P[np.ix_(gone, gone)], weights[gone])
            yield np.array([i]), (error + V[:, gone] @ share)[:, None]

    def _batches(
        self, places: IntArray, columns: IntArray, weights: FloatArray, error: FloatArray, beside: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals with one column each added to them."""
        for part in checks.slices(len(places), max(1, BATCH // max(1, len(self.y)))):
            yield places[part], error[:, None] + beside[:, columns[part]] * weights[part]

    def _moments(self, columns: IntArray) -> FloatArray:
        M = self.G[np.ix_(columns, columns)]
        M[np.diag_indices_from(M)] += self.penalty
        return M

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
        M = self._moments(kept)
        L = _factor(M, np.diagonal(M))
        if L is None:
            return None
        inverse = cho_solve((L, True), np.eye(len(kept)))
        weights, rows = inverse @ self.b[kept], self.test[:, kept]
        return inverse, weights, self.start - rows @ weights, rows @ inverse


def _single(groups: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return which groups are of one column, and these columns."""
    places = [i for i, group in enumerate(groups) if len(group) == 1]
    return np.array(places, dtype=np.intp), np.array([groups[i][0] for i in places], dtype=np.intp)


def _factor(M: FloatArray, length: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor, or None where less than enough of a column's length is left."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        # Dependent to the last digit.
        return None
    return np.asarray(L) if np.all(np.diagonal(L) ** 2 > LEAST * length) else None
