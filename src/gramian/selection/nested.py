"""The whole selection validated from outside: what the score that chose is worth on new rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.errors import DataError
from gramian.records import FloatArray, IntArray
from gramian.selection.candidates import CandidateScorer, Trial, fold_scores
from gramian.selection.folds import Fold
from gramian.selection.history import Nested
from gramian.selection.plans import Plan
from gramian.selection.search import choose

__all__ = ["Part", "nested_parts", "nested_scores"]

log = logging.getLogger(__name__)


Splitter = Callable[[FloatArray, np.ndarray[Any, Any]], list[Fold]]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are held out of a selection, and the folds of the others, counted among these."""

    train: IntArray
    test: IntArray
    folds: list[Fold]


def nested_parts(
    X: FloatArray, y: np.ndarray[Any, Any], outer: Sequence[Fold], split: Splitter
) -> list[Part]:
    """Draw all folds before anything is fitted.

    Raises
    ------
    DataError
        Where the rows without one part cannot be split.
    """
    parts = []
    for k, (train, test) in enumerate(outer):
        try:
            parts.append(Part(train, test, split(X[train], y[train])))
        except DataError as error:
            raise DataError(f"{_without(k, len(outer))}: {error}") from error
    return parts


def nested_scores(
    plan: Plan,
    trial: Trial,
    parts: Sequence[Part],
    scorer: Callable[[Trial], CandidateScorer],
    inner_score: float,
) -> Nested:
    """Select without each part in turn, fit on the other parts with what was selected, and score the part.

    Parameters
    ----------
    plan : Plan
    trial : Trial
        The estimator with all rows.
    parts : sequence of Part
    scorer : callable
        Makes what scores candidates from a trial.
    inner_score : float
        The score that chose among all rows.

    References
    ----------
    Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of microarray
    gene-expression data. Varma and Simon (2006), Bias in error estimation when using cross-validation for
    model selection.
    """
    scores = np.empty(len(parts))
    supports = np.zeros((len(parts), trial.X.shape[1]), dtype=bool)
    for k, part in enumerate(parts):
        log.info("nested: part %d of %d", k + 1, len(parts))
        X, y = trial.X[part.train], trial.y[part.train]
        try:
            steps = list(plan.steps(scorer(replace(trial, X=X, y=y, folds=part.folds))))
            chosen = np.array(steps[choose(steps, plan.rule, plan.limit).place].subset)
            scores[k] = fold_scores(replace(trial, folds=[(part.train, part.test)]), chosen)[0]
        except DataError as error:
            raise DataError(f"{_without(k, len(parts))}: {error}") from error
        supports[k, chosen] = True
    return Nested(scores, supports, inner_score - float(scores.mean()))


def _without(k: int, parts: int) -> str:
    return f"nested=True, selection without part {k + 1} of {parts}"
