"""Ranks features by a score: the step that must be taken again on the training rows of every fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.records import FloatArray
from gramian.selection.information import information
from gramian.selection.mutual_information import MutualInformation, mutual_information
from gramian.selection.redundancy import greedy_order, shared_correlation, shared_information
from gramian.selection.scores import Scores, chi2_score, correlation_score, f_score
from gramian.selection.significance import alike, pooled_p_values
from gramian.selection.tie_breaking import random_stream

__all__ = ["SCORES", "Ranked", "Ranker"]

Values = npt.NDArray[Any]

SCORES = ("mutual-information", "f", "chi2", "correlation")
# An infinite score as a share of the largest finite one, where scores are compared with correlations.
BEYOND = 2.0


@dataclass(frozen=True, eq=False)
class Ranked:
    """Scores of features and their order.

    Attributes
    ----------
    scores : Scores
    order : ndarray of shape (d,)
        Numbers of the features, best first; ties in the order of the columns.
    """

    scores: Scores
    order: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ranker:
    """How features are scored and ordered.

    Attributes
    ----------
    score : str or callable
        One of ``SCORES``, or a function of rows and labels that returns scores, or scores and p-values.
    names : tuple of str
        Of the features.
    classes : ndarray or None
        What the codes in a label stand for; None for a label that is a number.
    redundancy : str or None
        "mrmr" orders by relevance less redundancy.
    n_neighbors : int
        For mutual information.
    """

    score: str | Callable[..., Any]
    names: tuple[str, ...]
    classes: Values | None
    redundancy: str | None = None
    n_neighbors: int = 3

    @property
    def discrete(self) -> bool:
        """Whether the label names classes."""
        return self.classes is not None

    def rank(self, X: Values, y: Values, limit: int, random_state: Any = None) -> Ranked:
        """Score the features and order them; with "mrmr" the first ``limit`` by the greedy rule.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Codes of classes, or numbers.
        """
        scores = self.measure(X, y, random_state)
        if self.redundancy is None:
            return Ranked(scores, np.argsort(-scores.values, kind="stable"))
        shared = shared_information if self.score == "mutual-information" else shared_correlation
        return Ranked(scores, greedy_order(self._relevance(X, y, scores), shared(X), limit))

    def order(self, X: Values, y: Values, limit: int, random_state: Any) -> npt.NDArray[np.intp]:
        """Return the features best first, as :meth:`rank` does."""
        return self.rank(X, y, limit, random_state).order

    def measure(self, X: Values, y: Values, random_state: Any = None) -> Scores:
        """Score the features."""
        if callable(self.score):
            return _called(self.score, X, y if self.classes is None else self.classes[y])
        if self.score == "mutual-information":
            found = self._information(X, y, random_state)
            return Scores(found.values, None, tuple(found.notes))
        if self.score == "chi2":
            return chi2_score(X, y, discrete=self.discrete, names=self.names)
        score = f_score if self.score == "f" else correlation_score
        return score(X, y, discrete=self.discrete)

    def by_permutation(
        self, X: Values, y: Values, alpha: float, rng: np.random.Generator
    ) -> tuple[FloatArray, int]:
        """Return p-values of mutual information and the number of permutations behind them."""
        discrete = self._information(X, y, rng).discrete

        def estimates(columns: npt.NDArray[np.intp], permutations: int) -> FloatArray:
            return information(
                X[:, columns],
                y,
                classes=self.discrete,
                discrete=discrete[columns],
                k=self.n_neighbors,
                permutations=permutations,
                stream=random_stream(rng),
                most=None,
            )

        return pooled_p_values(estimates, alike(X, discrete), alpha)

    def _information(self, X: Values, y: Values, random_state: Any) -> MutualInformation:
        return mutual_information(
            X, y, discrete_target=self.discrete, n_neighbors=self.n_neighbors, random_state=random_state
        )

    def _relevance(self, X: Values, y: Values, scores: Scores) -> FloatArray:
        """Return scores in the unit of the redundancy: nats, or the scale of a correlation."""
        if self.score in ("mutual-information", "correlation"):
            return scores.values
        if self.score == "f":
            return correlation_score(X, y, discrete=self.discrete).values
        values = scores.values
        size = np.abs(values)
        largest = float(size[np.isfinite(size)].max(initial=0.0))
        return np.clip(values / (largest if largest > 0 else 1.0), -BEYOND, BEYOND)


def _called(score: Callable[..., Any], X: Values, y: Values) -> Scores:
    name = getattr(score, "__name__", type(score).__name__)
    given = score(X, y)
    pair = given if isinstance(given, tuple) else (given, None)
    if len(pair) != 2:
        raise DataError(
            f"score={name} returned {len(pair)} things. It must return one score for each feature, or a pair "
            "of scores and p-values."
        )
    try:
        arrays = [None if part is None else np.asarray(part, dtype=np.float64) for part in pair]
    except (TypeError, ValueError) as error:
        raise DataError(f"score={name} returned what is no number for each feature: {error}") from error
    for array, what in zip(arrays, ("scores", "p-values"), strict=True):
        if array is not None and array.shape != X.shape[1:]:
            raise DataError(
                f"score={name} returned {what} of shape {array.shape} for {X.shape[1]} features. It must "
                "return one number for each."
            )
    values, p_values = arrays
    if values is None:
        raise DataError(f"score={name} returned no scores. It must return one number for each feature.")
    missing = np.isnan(values)
    notes: tuple[str, ...] = ()
    if missing.any():
        notes = (f"score={name} gave no number for {int(missing.sum())} features: they rank last.",)
    if p_values is not None:
        p_values = np.where(np.isnan(p_values) | missing, 1.0, p_values)
    return Scores(np.where(missing, -np.inf, values), p_values, notes)
