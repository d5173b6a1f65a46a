"""Scores of subsets that are kept: none is fitted twice, and a search that was stopped can go on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from gramian.records import FloatArray, IntArray
from gramian.selection.least_squares import least_squares_scorer
from gramian.selection.search import CandidateScorer
from gramian.selection.validating import Fold, Validation


@dataclass(frozen=True, eq=False)
class Memory:
    """What a search leaves for the next one.

    Attributes
    ----------
    folds : list of (train, test)
        The parts that were drawn.
    known : dict
        Scores of subsets, by their keys.
    mark : tuple or None
        :func:`fingerprint` of everything that scores depend on; None while the search runs.
    """

    folds: list[Fold]
    known: dict[int, FloatArray] = field(default_factory=dict)
    mark: tuple[Any, ...] | None = None


def fingerprint(*parts: Any) -> tuple[Any, ...]:
    """Return what is equal when all parts are: a hash each, or the part itself where it cannot be hashed.

    Examples
    --------
    >>> fingerprint(np.arange(3), "r2") == fingerprint(np.arange(3), "r2")
    True
    >>> fingerprint(np.arange(3), "r2") == fingerprint(np.arange(3), None)
    False
    """
    return tuple(_mark(part) for part in parts)


def _mark(part: Any) -> Any:
    try:
        # What an estimator learnt before does not matter: it is cloned for each fit.
        return joblib.hash(clone(part) if hasattr(part, "get_params") else part)
    except (pickle.PicklingError, AttributeError, TypeError):
        # A generator or a lambda: the same object.
        return part


class Remembering:
    """Asks for the score of a subset once: the exact fast scorer first, the general one for what it leaves.

    Parameters
    ----------
    validation : Validation
        Fits and scores what is left.
    fast : CandidateScorer or None
        May give NaN for what it cannot do exactly.
    known : dict
        Scores by key; filled as scores come in, so that nothing is lost when something stops the search.
    n_jobs : int or None
        How many candidates are fitted at a time, as in joblib. Results do not depend on it.
    tell : callable
        Called with how many candidates of a round are known, and how many there are.
    """

    def __init__(
        self,
        validation: Validation,
        fast: CandidateScorer | None,
        known: dict[int, FloatArray] | None = None,
        n_jobs: int | None = None,
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self._validation, self._fast, self._n_jobs, self._tell = validation, fast, n_jobs, tell
        self._known = {} if known is None else known
        self.computed = 0

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        base = _key(kept)
        # Adding and removing toggle the same bits.
        keys = [base ^ _key(group) for group in groups]
        todo = [j for j, key in enumerate(keys) if key not in self._known]
        self.computed += len(todo)
        if todo and self._fast is not None:
            found = self._fast.scores(kept, [groups[j] for j in todo], adding)
            exact = np.isfinite(found).all(axis=1)
            self._known.update((keys[todo[k]], found[k]) for k in np.flatnonzero(exact).tolist())
            todo = [todo[k] for k in np.flatnonzero(~exact).tolist()]
        if todo:
            each = self._fitted([np.setxor1d(kept, groups[j]) for j in todo])
            for done, (j, row) in enumerate(zip(todo, each, strict=True), start=len(groups) - len(todo) + 1):
                self._known[keys[j]] = row
                self._tell(done, len(groups))
        return np.array([self._known[key] for key in keys])

    def _fitted(self, subsets: list[IntArray]) -> Iterator[FloatArray]:
        """Yield the scores of one subset after the other, each as soon as it is known."""
        if len(subsets) < 2 or joblib.effective_n_jobs(self._n_jobs) == 1:
            return map(self._validation.scores, subsets)
        parallel = Parallel(n_jobs=self._n_jobs, return_as="generator")
        found: Iterator[FloatArray] = parallel(delayed(self._validation.scores)(s) for s in subsets)
        return found


def _key(columns: IntArray) -> int:
    """Return a set of columns as the bits of a number: with or without a group is one operation away."""
    return sum(1 << j for j in set(columns.tolist()))


def remembering(validation: Validation, scoring: Any, n_jobs: int | None, **more: Any) -> Remembering:
    """Return what scores candidates: fast where the estimator has a fast way."""
    fast = least_squares_scorer(validation.estimator, validation.X, validation.y, validation.folds, scoring)
    return Remembering(validation, fast, n_jobs=n_jobs, **more)
