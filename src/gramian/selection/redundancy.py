"""Minimum redundancy, maximum relevance: features that tell most and repeat each other least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import rankdata

from gramian.records import FloatArray
from gramian.selection.scores import unit_columns

__all__ = ["greedy_order", "shared_correlation", "shared_information"]

# Criteria that are nearer than this are equal: they are sums that may be rounded differently.
TIE = 1e-12


def greedy_order(
    relevance: FloatArray, redundancy: Callable[[int], FloatArray], limit: int
) -> npt.NDArray[np.intp]:
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
