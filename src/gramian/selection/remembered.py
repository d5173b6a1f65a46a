"""Scores that are kept: no subset is fitted twice, and a search that was stopped can go on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from gramian.records import FloatArray, IntArray
from gramian.selection.candidates import CandidateScorer, CrossValidated, Trial
from gramian.selection.folds import Fold
from gramian.selection.least_squares import least_squares_scorer

__all__ = ["Memory", "Remembering", "fingerprint", "remembering"]


@dataclass(frozen=True, eq=False)
class Memory:
    """What a search leaves for the next one.

    Attributes
    ----------
    folds : list of (train, test)
        The parts that were drawn.
    known : dict
        Scores of subsets, by their keys.
    seconds : dict
        What each step took, by its number and the subset it led to.
    mark : tuple or None
        :func:`fingerprint` of everything that scores depend on; None while the search runs.
    """

    folds: list[Fold]
    known: dict[int, FloatArray] = field(default_factory=dict)
    seconds: dict[tuple[int, tuple[int, ...]], float] = field(default_factory=dict)
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
        # A generator or a lambda: the same object, with the same parameters as far as it prints them.
        return part, repr(part)


class Remembering:
    """Asks for the score of a subset once: the exact fast scorer first, the general one for what it leaves.

    Parameters
    ----------
    general : CrossValidated
    fast : CandidateScorer or None
        May give NaN for what it cannot do exactly.
    known : dict
        Scores by key; filled as scores come in, so that nothing is lost when something stops the search.
    tell : callable
        Called with how many candidates of a round are known, and how many there are.
    """

    def __init__(
        self,
        general: CrossValidated,
        fast: CandidateScorer | None,
        known: dict[int, FloatArray],
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        self._general, self._fast, self._known, self._tell = general, fast, known, tell
        # Subsets are keyed by the exclusive or of 128 random bits for each feature: the key of a set with or
        # without a group is one operation away, and two of 10^12 subsets share one with probability 10^-15.
        bits = np.random.default_rng(0).bytes(16 * general.trial.X.shape[1])
        self._bits = [int.from_bytes(bits[k : k + 16], "little") for k in range(0, len(bits), 16)]
        self._seen: set[int] = set()
        self.computed = 0
        self.new = 0

    def scores(self, kept: IntArray, groups: Sequence[IntArray], adding: bool) -> FloatArray:
        """Return the score of ``kept`` with each group added, or removed: shape (n_groups, n_folds)."""
        base = self._key(kept)
        # Adding and removing toggle the same bits.
        keys = [base ^ self._key(group) for group in groups]
        self.new += len(set(keys) - self._seen)
        self._seen.update(keys)
        todo = [j for j, key in enumerate(keys) if key not in self._known]
        self.computed += len(todo)
        if todo and self._fast is not None:
            found = self._fast.scores(kept, [groups[j] for j in todo], adding)
            exact = np.isfinite(found).all(axis=1)
            self._known.update((keys[todo[k]], found[k]) for k in np.flatnonzero(exact).tolist())
            todo = [todo[k] for k in np.flatnonzero(~exact).tolist()]
        if todo:
            each = self._general.each(kept, [groups[j] for j in todo], adding)
            for done, (j, row) in enumerate(zip(todo, each, strict=True), start=len(groups) - len(todo) + 1):
                self._known[keys[j]] = row
                if self._tell is not None:
                    self._tell(done, len(groups))
        return np.array([self._known[key] for key in keys])

    def _key(self, columns: IntArray) -> int:
        key = 0
        for j in columns.tolist():
            key ^= self._bits[j]
        return key


def remembering(
    trial: Trial,
    scoring: Any,
    n_jobs: int | None,
    known: dict[int, FloatArray] | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> Remembering:
    """Return what scores the candidates of a trial: fast where the estimator has a fast way."""
    fast = least_squares_scorer(trial.estimator, trial.X, trial.y, trial.folds, scoring)
    return Remembering(CrossValidated(trial, n_jobs), fast, {} if known is None else known, tell)
