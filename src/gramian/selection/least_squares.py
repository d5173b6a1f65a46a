"""Scores of candidate features for least squares and ridge regression, without fitting each one.

All candidates of a step differ from the features kept by one group. With the Cholesky factor of the Gram
matrix of those kept, the residuals on held-out rows of every candidate follow from one column each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from gramian.arrays import memory_limit_bytes, parallel_map
from gramian.records import FloatArray, IntArray
from gramian.selection.folds import Fold
from gramian.selection.least_squares_fold import FoldProblem, of_fold

__all__ = ["LeastSquaresScorer", "least_squares_scorer"]

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
    if model is None or not known or scoring not in SCORES or y.dtype.kind not in "fiu":
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
            found = np.full(len(groups), np.nan)
            for places, errors in fold.added(kept, groups) if adding else fold.removed(kept, groups):
                found[places] = self.score(errors, fold.y)
            return found

        return np.column_stack(parallel_map(in_fold, self.folds))
