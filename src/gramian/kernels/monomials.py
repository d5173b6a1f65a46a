"""Products of powers of features, up to a degree: which there are, what they are called, their values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray

__all__ = ["count_monomials", "evaluate_monomials", "exponents", "monomial_name"]


def count_monomials(n_features: int, degree: int) -> int:
    """Return how many monomials of ``n_features`` variables have a degree up to ``degree``: C(d + p, p)."""
    return comb(n_features + degree, degree)


def exponents(n_features: int, degree: int) -> npt.NDArray[np.int64]:
    """Return the powers of all monomials up to a degree, shape (C(d + p, p), d).

    Rows go from degree 0 up; within a degree the first feature's powers fall.

    Examples
    --------
    >>> exponents(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    powers = np.zeros((count_monomials(n_features, degree), n_features), dtype=np.int64)
    row = 0
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(n_features), total):
            for feature in chosen:
                powers[row, feature] += 1
            row += 1
    return powers


def evaluate_monomials(X: Any, powers: npt.NDArray[np.int64]) -> FloatArray:
    """Return the monomials of every row, float64.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    powers : ndarray of shape (m, d)
        As :func:`exponents` returns them: every monomial's parent, with one factor less, stands before it.

    Returns
    -------
    ndarray of shape (n, m)
    """
    X = np.asarray(X, dtype=np.float64)
    values = np.ones((len(powers), X.shape[0]))
    place = {tuple(power): row for row, power in enumerate(powers.tolist())}
    columns = np.ascontiguousarray(X.T)
    for row, power in enumerate(powers.tolist()):
        feature = next((f for f, p in enumerate(power) if p), None)
        if feature is None:
            continue
        parent = list(power)
        parent[feature] -= 1
        np.multiply(values[place[tuple(parent)]], columns[feature], out=values[row])
    return values.T


def monomial_name(power: Sequence[int], names: Sequence[str]) -> str:
    """Return a monomial in words.

    Examples
    --------
    >>> monomial_name([2, 1], ["x", "y"])
    'x^2 y'
    >>> monomial_name([0, 0], ["x", "y"])
    '1'
    """
    factors = [name if p == 1 else f"{name}^{p}" for name, p in zip(names, map(int, power), strict=True) if p]
    return " ".join(factors) or "1"
