"""Ranks features by a score, optionally minus redundancy; repeated in every fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import rankdata

from gramian.analysis.explained import unit_columns
from gramian.errors import DataError
from gramian.records import FloatArray
from gramian.rows import Rows
from gramian.selection.information import information, random_stream
from gramian.selection.labels import column_of
from gramian.selection.mutual_information import MutualInformation, mutual_information
from gramian.selection.scores import Scores, chi2_score, correlation_score, f_score
from gramian.selection.validation import score_name

Values = Any  # an array, a CSC matrix, or Rows that are spread
Places = npt.NDArray[np.intp]

SCORES = ("mutual-information", "f", "chi2", "correlation")
# An infinite score as a share of the largest finite one, where scores are compared with correlations.
BEYOND = 2.0
# Scores that are nearer than this are equal: they are sums that may be rounded differently.
TIE = 1e-12
# Features of more distinct values than this are alike.
FEW = 20
# The smallest p-value that can come out is the level that a lone discovery needs, divided by this.
FINER = 2.0
LEAST_PERMUTATIONS = 20


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
    order: Places


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

    def measure(self, X: Values, y: Values, random_state: Any = None) -> Scores:
        """Score the features."""
        if callable(self.score):
            return _called(self.score, X, y if self.classes is None else self.classes[y])
        if self.score == "mutual-information":
            result = self._information(X, y, random_state)
            return Scores(result.values, None, tuple(result.notes))
        if isinstance(X, Rows):
            bare = replace(self, names=())

            def of_part(part: Rows, names: Any) -> Scores:
                return replace(bare, names=tuple(names.tolist())).measure(part.in_memory(), y)

            return X.over_columns(of_part, _beside, np.array(self.names))
        if self.score == "chi2":
            return chi2_score(X, y, discrete=self.discrete, names=self.names)
        score = f_score if self.score == "f" else correlation_score
        return score(X, y, discrete=self.discrete)

    def by_permutation(
        self, X: Values, y: Values, alpha: float, rng: np.random.Generator
    ) -> tuple[FloatArray, int]:
        """Return p-values of mutual information and the number of permutations behind them."""
        discrete = self._information(X, y, rng).discrete

        def estimates(columns: Places, permutations: int) -> FloatArray:
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


def _beside(first: Scores, second: Scores) -> Scores:
    p_values = None if first.p_values is None else np.append(first.p_values, second.p_values)  # type: ignore[arg-type]
    notes = tuple(dict.fromkeys(first.notes + second.notes))
    return Scores(np.append(first.values, second.values), p_values, notes)


def _called(score: Callable[..., Any], X: Values, y: Values) -> Scores:
    name, given = score_name(score), score(X, y)
    try:
        values, p_values = given if isinstance(given, tuple) else (given, None)
        values = np.asarray(values, dtype=np.float64)
        p_values = np.ones(len(values)) if p_values is None else np.asarray(p_values, dtype=np.float64)
        if not values.shape == p_values.shape == X.shape[1:]:
            raise ValueError(f"it returned {values.size} and {p_values.size} for {X.shape[1]} features.")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"score={name} must return one number for each feature, or a pair of scores and p-values: {error}"
        ) from error
    missing = np.isnan(values)
    notes = (f"score={name} gave NaN for {int(missing.sum())} features, which rank last.",)
    tested = np.where(np.isnan(p_values) | missing, 1.0, p_values) if isinstance(given, tuple) else None
    return Scores(np.where(missing, -np.inf, values), tested, notes * bool(missing.any()))


# ----------------------------------------------------------------- redundancy


def greedy_order(relevance: FloatArray, redundancy: Callable[[int], FloatArray], limit: int) -> Places:
    """Order features by relevance less mean redundancy with those before.

    The first is the most relevant feature; each next one has the largest ``relevance_j - (1 / |S|) sum over
    s in S of redundancy_js``, with S the features before it: the difference criterion (MID) of the
    reference. Ties go to the first feature.

    Parameters
    ----------
    relevance : ndarray of shape (d,)
        Finite; larger is better.
    redundancy : callable
        Takes the number of a feature and returns how much every feature repeats of it, shape (d,).
    limit : int
        So many are ordered by the rule. The others follow by the value that they have after those.

    Returns
    -------
    ndarray of shape (d,)
        Numbers of the features, best first.

    References
    ----------
    Peng, Long and Ding (2005), Feature selection based on mutual information: criteria of max-dependency,
    max-relevance, and min-redundancy, IEEE Transactions on Pattern Analysis and Machine Intelligence 27,
    equation 7.

    Examples
    --------
    >>> copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> greedy_order(np.array([0.9, 0.9, 0.5]), copies.__getitem__, 3).tolist()
    [0, 2, 1]
    """
    d = relevance.size
    repeated = np.zeros(d)
    value = relevance.astype(np.float64)
    order: list[int] = []
    left = np.ones(d, dtype=bool)
    for count in range(1, min(limit, d) + 1):
        best = value[left].max()
        near = left & (value >= best - TIE * max(1.0, abs(best)))
        order.append(int(np.argmax(near)))
        left[order[-1]] = False
        if count < d:
            repeated += redundancy(order[-1])
            value = relevance - repeated / count
    rest = np.flatnonzero(left)
    return np.concatenate([np.array(order, dtype=np.intp), rest[np.argsort(-value[rest], kind="stable")]])


def shared_correlation(X: npt.NDArray[Any]) -> Callable[[int], FloatArray]:
    """Return a function of j that gives ``|r|`` of feature j with every feature, 0 for a constant one.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 0.0], [4.0, 8.0, 0.0]])
    >>> shared_correlation(X)(0).round(6).tolist()
    [1.0, 1.0, 0.0]
    """
    return _correlations(unit_columns(np.ascontiguousarray(X.T, dtype=np.float64)))


def shared_information(X: npt.NDArray[Any]) -> Callable[[int], FloatArray]:
    """Return a function of j that gives the mutual information of feature j with every feature, in nats.

    It is that of the Gaussian copula, ``-1/2 ln(1 - rho^2)``, with rho the correlation of the normal scores
    of the two features: the normal quantiles of ``(rank - 1/2) / n``, equal values sharing their mean rank.
    As mutual information does, it stays the same when a feature is replaced by an increasing function of
    it, and it needs one product of a matrix with a vector where an estimate by neighbours needs a search
    for each pair. For features whose copula is not normal it is a lower bound on their mutual information.
    It is at most ``ln n``, which is what n different values can tell.

    References
    ----------
    Ince, Giordano, Kayser, Rousselet, Gross and Schyns (2017), A statistical framework for neuroimaging data
    analysis based on mutual information estimated via a Gaussian copula, Human Brain Mapping 38.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0, 3.0], [2.0, 8.0, 1.0], [3.0, 27.0, 2.0], [4.0, 64.0, 4.0]])
    >>> shared_information(X)(0).round(4).tolist()
    [1.3863, 1.3863, 0.1016]
    """
    n = len(X)
    ranks = rankdata(np.ascontiguousarray(X.T, dtype=np.float64), axis=1)
    correlation = _correlations(unit_columns(ndtri((ranks - 0.5) / n)))
    # Beyond this the logarithm would pass ln n.
    largest = np.sqrt(1.0 - 1.0 / n**2)

    def information(j: int) -> FloatArray:
        return np.asarray(-0.5 * np.log1p(-(np.minimum(correlation(j), largest) ** 2)))

    return information


def _correlations(U: FloatArray) -> Callable[[int], FloatArray]:
    def correlation(j: int) -> FloatArray:
        return np.asarray(np.minimum(np.abs(U @ U[j]), 1.0))

    return correlation


# --------------------------------------------------------------- significance


def pooled_p_values(
    measure: Callable[[Places, int], FloatArray], kinds: Places, alpha: float
) -> tuple[FloatArray, int]:
    """Return p-values of scores by permuting the label, and the largest number of permutations.

    Without relation every order of the label is as likely. ``p_j = (1 + #{score >= score_j}) / (1 + N)``
    over the N scores that all features of the kind of j have with permuted labels. By that pooling few
    permutations resolve what a lone discovery among d features needs, ``alpha / d``: as many are made as
    give ``N >= 2 d / alpha``, and at least 20.

    Parameters
    ----------
    measure : callable
        Takes numbers of features and a number of permutations; returns the scores of these features, shape
        (1 + permutations, features), first those with the label as it is.
    kinds : ndarray of shape (d,)
        Equal for features whose scores without relation have the same distribution; 0 for constant ones,
        which have p-value 1.
    alpha : float
        False discovery rate that will be asked for.

    References
    ----------
    Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in
    Genetics and Molecular Biology 9(1), for the 1 in the formula.
    """
    d = kinds.size
    p_values = np.ones(d)
    most = 0
    for kind in np.unique(kinds[kinds > 0]):
        columns = np.flatnonzero(kinds == kind)
        count = max(LEAST_PERMUTATIONS, ceil(FINER * d / (alpha * columns.size)))
        most = max(most, count)
        result = measure(columns, count)
        chance = np.sort(result[1:], axis=None)
        above = chance.size - np.searchsorted(chance, result[0] - TIE, side="left")
        p_values[columns] = (1 + above) / (1 + chance.size)
    return p_values, most


def alike(X: Values, discrete: npt.NDArray[np.bool_]) -> Places:
    """Return a number for the kind of every feature: 0 if constant, else by distinct values and discreteness.

    All numbers of distinct values above 20 count as one.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 2.0, 1.0, 0.1], [0.0, 1.0, 0.0, 0.2]])
    >>> alike(X, np.array([True, True, True, False])).tolist()
    [0, 5, 5, 6]
    """
    kinds = np.zeros(X.shape[1], dtype=np.intp)
    for j in range(X.shape[1]):
        distinct = 1 + np.count_nonzero(np.diff(np.sort(column_of(X, j))))
        if distinct > 1:
            kinds[j] = 2 * min(int(distinct), FEW + 1) + discrete[j]
    return kinds
