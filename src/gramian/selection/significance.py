"""Which scores are more than chance: p-values by permutation, and the false discovery rate."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray

__all__ = ["alike", "benjamini_hochberg", "pooled_p_values"]

# Features of more distinct values than this are alike.
FEW = 20
# The smallest p-value that can come out is the level that a lone discovery needs, divided by this.
FINER = 2.0
LEAST_PERMUTATIONS = 20
TIE = 1e-12  # of scores that are sums in another order


def benjamini_hochberg(p_values: FloatArray, alpha: float) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Return which p-values are discoveries at a false discovery rate, and the adjusted p-values.

    With p sorted, the discoveries are the j smallest, j the largest number with ``p_(j) <= alpha j / d``.
    The adjusted value of ``p_(i)`` is the smallest of ``p_(j) d / j`` over j >= i, at most 1: the rate at
    which it becomes a discovery.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical
    Society B 57, procedure (1).

    Examples
    --------
    >>> found, adjusted = benjamini_hochberg(np.array([0.04, 0.01, 0.9, 0.02]), 0.05)
    >>> found.tolist(), adjusted.round(4).tolist()
    ([False, True, False, True], [0.0533, 0.04, 0.9, 0.04])
    """
    d = p_values.size
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * (d / np.arange(1, d + 1))
    # Not scaled <= alpha, whose rounding differs from that of the rule.
    below = np.flatnonzero(p_values[order] <= alpha * np.arange(1, d + 1) / d)
    found = np.zeros(d, dtype=bool)
    found[order[: below[-1] + 1 if below.size else 0]] = True
    adjusted = np.empty(d)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found, adjusted


def pooled_p_values(
    measure: Callable[[npt.NDArray[np.intp], int], FloatArray], kinds: npt.NDArray[np.intp], alpha: float
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
        found = measure(columns, count)
        chance = np.sort(found[1:], axis=None)
        above = chance.size - np.searchsorted(chance, found[0] - TIE, side="left")
        p_values[columns] = (1 + above) / (1 + chance.size)
    return p_values, most


def alike(X: npt.NDArray[Any], discrete: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return a number for the kind of every feature: 0 if constant, else by distinct values and discreteness.

    All numbers of distinct values above 20 count as one.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 2.0, 1.0, 0.1], [0.0, 1.0, 0.0, 0.2]])
    >>> alike(X, np.array([True, True, True, False])).tolist()
    [0, 5, 5, 6]
    """
    kinds = np.zeros(X.shape[1], dtype=np.intp)
    for j, column in enumerate(X.T):
        distinct = 1 + np.count_nonzero(np.diff(np.sort(column)))
        if distinct > 1:
            kinds[j] = 2 * min(int(distinct), FEW + 1) + discrete[j]
    return kinds
