"""Held-out residuals of linear regressions that differ by a few columns, for one fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from sklearn.base import clone

from gramian.records import FloatArray, IntArray
from gramian.selection.folds import Fold

__all__ = ["FoldProblem", "of_fold"]

# The part of a column's squared length that must be left beside the others: errors of scores stay below 1e-9.
LEAST = 1e-6
BATCH = 1 << 22  # residuals held at a time


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


class FoldProblem:
    """Least squares with a penalty ``alpha |w|^2`` on some of the columns.

    Parameters
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

    def __init__(
        self,
        G: FloatArray,
        b: FloatArray,
        test: FloatArray,
        y: FloatArray,
        start: FloatArray,
        penalty: float,
    ) -> None:
        self.G, self.b, self.test, self.y, self.start = G, b, test, y, start
        self.penalty = penalty
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
        step = max(1, BATCH // max(1, len(self.y)))
        for part in (slice(a, a + step) for a in range(0, len(places), step)):
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
