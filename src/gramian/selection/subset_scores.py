"""Scores of subsets, cached: no subset is fitted twice within a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from gramian.progress import track
from gramian.records import FloatArray, IntArray
from gramian.selection.least_squares import least_squares_scorer
from gramian.selection.search import CandidateScorer
from gramian.selection.validation import Validation


class SubsetScores:
    """Asks for the score of a subset once: the exact fast scorer first, the general one for what it leaves.

    Parameters
    ----------
    validation : Validation
        Fits and scores what is left.
    fast : CandidateScorer or None
        May give NaN for what it cannot do exactly.
    n_jobs : int or None
        How many candidates are fitted at a time, as in joblib. Results do not depend on it.
    """

    def __init__(
        self,
        validation: Validation,
        fast: CandidateScorer | None,
        n_jobs: int | None = None,
    ) -> None:
        self._validation, self._fast, self._n_jobs = validation, fast, n_jobs
        self._known: dict[int, FloatArray] = {}
        self.computed = 0

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
            self._known.update((keys[j], row) for j, row in zip(track(todo, "candidate"), each, strict=True))
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


def subset_scores(validation: Validation, scoring: Any, n_jobs: int | None) -> SubsetScores:
    """Return what scores candidates: fast where the estimator has a fast way."""
    fast = least_squares_scorer(validation.estimator, validation.X, validation.y, validation.folds, scoring)
    return SubsetScores(validation, fast, n_jobs)
