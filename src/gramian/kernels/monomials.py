"""Products of powers of features, up to a degree: which there are, their names, values and coefficients.

They come by degree, from 0 up; within a degree the first feature's powers fall. In this order the monomials
of degree m that start with feature f are feature f times the last C(d - f + m - 2, m - 1) of degree m - 1,
which makes every degree from the one before in d products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from gramian.arrays import namespace
from gramian.records import FloatArray

# A numerator or denominator beyond this says less than six decimals do.
READABLE = 10**12
DENOMINATORS = 1000


def count_monomials(n_features: int, degree: int) -> int:
    """Return how many monomials of ``n_features`` variables have a degree up to ``degree``: C(d + p, p)."""
    return math.comb(n_features + degree, degree)


def exponents(n_features: int, degree: int) -> npt.NDArray[np.int64]:
    """Return the powers of all monomials up to a degree, shape (C(d + p, p), d).

    Examples
    --------
    >>> exponents(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    return np.concatenate(graded_powers(n_features, degree)).astype(np.int64)


def graded_blocks(Z: Any, degree: int, *, shrink: bool = False) -> Iterator[Any]:
    """Yield the monomials of every row by degree, from 0 up to ``degree``.

    Parameters
    ----------
    Z : array of shape (n, d), float64
    shrink : bool
        Divide those of degree m by sqrt(m!), which keeps high degrees inside the range of float64.

    Yields
    ------
    array of shape (n, C(d + m - 1, m)), of Z's kind
    """
    xp = namespace(Z)
    n, d = Z.shape
    block = xp.ones((n, 1), dtype=Z.dtype, device=array_api_compat.device(Z))
    yield block
    for m in range(1, degree + 1):
        step = Z / math.sqrt(m) if shrink else Z
        pieces = [block[:, s:] * step[:, f : f + 1] for f, s in _tails(d, m)] if m > 1 else [step]
        block = xp.concat(pieces, axis=1)
        yield block


def graded_powers(n_features: int, degree: int) -> list[npt.NDArray[np.int32]]:
    """Return the powers of the monomials by degree, each of shape (C(d + m - 1, m), d).

    Examples
    --------
    >>> [powers.tolist() for powers in graded_powers(2, 2)]
    [[[0, 0]], [[1, 0], [0, 1]], [[2, 0], [1, 1], [0, 2]]]
    """
    unit = np.eye(n_features, dtype=np.int32)
    blocks = [np.zeros((1, n_features), dtype=np.int32)]
    for m in range(1, degree + 1):
        blocks.append(np.concatenate([blocks[-1][s:] + unit[f] for f, s in _tails(n_features, m)]))
    return blocks


def _tails(d: int, m: int) -> list[tuple[int, int]]:
    """Where, for each feature, the part of degree m - 1 begins that it multiplies."""
    width = math.comb(d + m - 2, m - 1)
    return [(f, width - math.comb(d - f + m - 2, m - 1)) for f in range(d)]


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


# ------------------------------------------------ multinomial coefficients


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
    results = []
    for powers in graded_powers(n_features, degree):
        roots = np.ones(len(powers))
        partial = powers[:, 0].astype(np.int64)
        for column in powers.T[1:]:
            partial += column
            roots *= table[partial, column]
        results.append(roots)
    return tuple(results)


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
