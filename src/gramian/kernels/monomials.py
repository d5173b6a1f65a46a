"""Products of powers of features, up to a degree: which there are, what they are called, their values.

They come by degree, from 0 up; within a degree the first feature's powers fall. In this order the monomials
of degree m that start with feature f are feature f times the last C(d - f + m - 2, m - 1) of degree m - 1,
which makes every degree from the one before in d products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from gramian.arrays import namespace

__all__ = ["count_monomials", "exponents", "graded_blocks", "graded_powers", "monomial_name"]


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
