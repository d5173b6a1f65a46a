"""Multinomial coefficients: their roots to full accuracy, and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from gramian.kernels.monomials import graded_powers
from gramian.records import FloatArray

__all__ = ["exact_fraction", "graded_roots", "radical"]

# A numerator or denominator beyond this says less than six decimals do.
READABLE = 10**12
DENOMINATORS = 1000


@lru_cache(maxsize=4)
def graded_roots(n_features: int, degree: int) -> tuple[FloatArray, ...]:
    """Return sqrt(m! / (alpha_1! ... alpha_d!)) of the monomials by degree, kept for the next call.

    The product of d roots of exact binomials C(alpha_1 + ... + alpha_i, alpha_i), so that the relative error
    is that of d products at any degree up to 1000.

    Examples
    --------
    >>> [(roots**2).round(9).tolist() for roots in graded_roots(2, 2)]
    [[1.0], [1.0, 1.0], [1.0, 2.0, 1.0]]
    """
    table = _root_binomials(degree if n_features > 1 else 0)
    found = []
    for powers in graded_powers(n_features, degree):
        roots = np.ones(len(powers))
        partial = powers[:, 0].astype(np.int64)
        for column in powers.T[1:]:
            partial += column
            roots *= table[partial, column]
        found.append(roots)
    return tuple(found)


def _root_binomials(degree: int) -> FloatArray:
    """Return the table of sqrt(C(s, a)), by Pascal's rule in whole numbers."""
    table = np.zeros((degree + 1, degree + 1))
    row = [1]
    for s in range(degree + 1):
        table[s, : s + 1] = np.sqrt(np.array(row, dtype=np.float64))
        row = [1, *(a + b for a, b in pairwise(row)), 1]
    return table


def exact_fraction(value: float) -> Fraction | None:
    """Return the fraction with a small denominator that this float is the nearest to, if there is one.

    Examples
    --------
    >>> exact_fraction(1 / 3), exact_fraction(2**0.5)
    (Fraction(1, 3), None)
    """
    near = Fraction(value).limit_denominator(DENOMINATORS)
    return near if float(near) == value else None


def radical(square: Fraction | None, value: float) -> str:
    """Return the root of ``square`` as text: whole or a ratio, else a radical; without it ``value``.

    Examples
    --------
    >>> radical(Fraction(4), 2.0), radical(Fraction(3, 4), 0.866), radical(None, 0.5**0.5)
    ('2', 'sqrt(3/4)', '0.707107')
    """
    if square is None or max(square.numerator, square.denominator) > READABLE:
        return f"{value:.6g}"
    over, under = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if Fraction(over * over, under * under) == square:
        return str(Fraction(over, under))
    return f"sqrt({square})"
