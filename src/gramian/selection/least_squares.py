"""Scores of candidate features for least squares and ridge regression, without fitting each one.

All candidates of a step differ from the features kept by one group. With the Cholesky factor of the Gram
matrix of those kept, the residuals on held-out rows of every candidate follow from one column each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from gramian.arrays import memory_limit_bytes, parallel_map
from gramian.checks import slices
from gramian.records import FloatArray, IntArray
from gramian.selection.validation import Fold

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
    """Scores candidates of all folds; remembers the step before, which the next one extends."""

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


@dataclass(eq=False)
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

    def __post_init__(self) -> None:
        self._kept: list[int] = []
        self._begin()

    def added(self, kept: IntArray, groups: Sequence[IntArray]) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals of ``kept`` with groups added.

        Yields
        ------
        places : ndarray of shape (c,)
            Which of the groups.
        errors : ndarray of shape (m, c)
            Residuals on the rows held out, a column each.
        """
        if not self._reach(kept.tolist()):
            return
        alone, columns = _single(groups)
        sound = self._left[columns] > LEAST * self._length[columns]
        weights = self._slope[columns] / np.where(sound, self._left[columns], 1.0)
        yield from self._batches(alone[sound], columns[sound], -weights[sound], self._error, self._beside)
        for i, group in enumerate(groups):
            if len(group) == 1:
                continue
            inner = self.G[np.ix_(group, group)] - self._C[:, group].T @ self._C[:, group]
            inner[np.diag_indices_from(inner)] += self.penalty
            L = _factor(inner, self._length[group])
            if L is not None:
                weights = cho_solve((L, True), self._slope[group])
                yield np.array([i]), (self._error - self._beside[:, group] @ weights)[:, None]

    def removed(self, kept: IntArray, groups: Sequence[IntArray]) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield residuals of ``kept`` without groups, as :meth:`added` does."""
        kept = np.sort(kept)
        M = self.G[np.ix_(kept, kept)]
        M[np.diag_indices_from(M)] += self.penalty
        L = _factor(M, np.diagonal(M).copy())
        if L is None:
            return
        P = cho_solve((L, True), np.eye(len(kept)))
        weights = P @ self.b[kept]
        error = self.start - self.test[:, kept] @ weights
        V = self.test[:, kept] @ P
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
        for part in slices(len(places), max(1, BATCH // max(1, len(self.y)))):
            yield places[part], error[:, None] + beside[:, columns[part]] * weights[part]

    def _begin(self) -> None:
        """Keep nothing."""
        self._kept = []
        self._C = np.empty((0, len(self.b)))
        self._length = np.diagonal(self.G) + self.penalty
        self._left = self._length.copy()
        self._slope = self.b.copy()
        self._error = self.start.copy()
        self._beside = self.test.copy()

    def _reach(self, kept: list[int]) -> bool:
        """Bring what is remembered to the columns kept; False where they are too nearly dependent."""
        if not set(self._kept) <= set(kept):
            self._begin()
        known = set(self._kept)
        return all(self._add(j) for j in kept if j not in known)

    def _add(self, j: int) -> bool:
        """Extend the Cholesky factor by a column, and take its part out of all the others."""
        if not self._left[j] > LEAST * self._length[j]:
            # What is remembered stays that of the columns before, and is asked again with the next step.
            return False
        root = np.sqrt(self._left[j])
        row = (self.G[j] - self._C[:, j] @ self._C) / root
        slope = self._slope[j] / root
        direction = self._beside[:, j] / root
        self._C = np.vstack([self._C, row])
        self._left -= row**2
        self._slope -= row * slope
        self._error -= direction * slope
        self._beside -= np.outer(direction, row)
        self._kept.append(j)
        return True


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
