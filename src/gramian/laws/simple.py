"""Laws of two or three terms: few enough to try all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from gramian.laws.sparse import Features
from gramian.records import FloatArray, IntArray

__all__ = ["simple_fits"]

# All triples of so many terms are tried: 34,220.
MOST_FOR_TRIPLES = 60
CHUNK = 20_000
# So many of the nearest are fitted again without squares, whose rounding hides what is clearer than 1e-8.
LOOKED_AT = 60


def simple_fits(
    features: Features, size: int, without: FloatArray
) -> Iterator[tuple[float, IntArray, FloatArray]]:
    """Yield equations of 2 or 3 terms, about from the nearest to vanishing on.

    Parameters
    ----------
    features : Features
    size : int
        Number of terms; with 3 and more than 60 monomials there are none.
    without : ndarray of shape (m, q)
        Equations that are known: what holds all terms of one of them is passed over.

    Yields
    ------
    distance : float
        Root mean square of the values over that of the gradient, not below what can be told.
    support : ndarray of shape (size,)
    vector : ndarray of shape (size,)
    """
    m = features.values.shape[1]
    if m < size or (size > 2 and m > MOST_FOR_TRIPLES):
        return
    supports = np.array(list(combinations(range(m), size)))
    for known in without.T:
        if np.count_nonzero(known) <= size:
            supports = supports[np.sum(known[supports] != 0, axis=1) < np.count_nonzero(known)]
    if not len(supports):
        return
    scale = np.linalg.norm(features.values, axis=0)
    scale[scale == 0] = 1.0
    values, slopes = features.values / scale, features.slopes / scale
    squares = np.concatenate(
        [
            _least(values, slopes, supports[start : start + CHUNK], features.first_is_constant)
            for start in range(0, len(supports), CHUNK)
        ]
    )
    fits = []
    for place in np.argsort(squares, kind="stable")[:LOOKED_AT]:
        support = supports[place]
        distance, vector, _ = features.fit(support)
        if np.all(vector != 0):
            fits.append((max(distance, features.floor(support, vector)), support, vector))
    yield from sorted(fits, key=lambda fit: fit[0])


def _least(values: FloatArray, slopes: FloatArray, supports: IntArray, first_is_constant: bool) -> FloatArray:
    """Return the least eigenvalue of every small pencil of moments of values and of slopes."""
    P, G = values.T @ values, slopes.T @ slopes
    A = P[supports[:, :, None], supports[:, None, :]]
    B = G[supports[:, :, None], supports[:, None, :]]
    if first_is_constant:
        # The best constant is taken out of the others, and its own place is filled with what is never least.
        has = supports[:, 0] == 0
        Q = values[1:].T @ values[1:]
        A[has] = Q[supports[has][:, :, None], supports[has][:, None, :]]
        A[has, 0, 0] = 1e6
        B[has, 0, 0] = 1.0
    trace = np.trace(B, axis1=1, axis2=2)
    B += (1e-13 * trace + 1e-300)[:, None, None] * np.eye(supports.shape[1])
    L = np.linalg.cholesky(B)
    half = np.linalg.solve(L, A)
    return np.asarray(np.linalg.eigvalsh(np.linalg.solve(L, half.transpose(0, 2, 1)))[:, 0])
