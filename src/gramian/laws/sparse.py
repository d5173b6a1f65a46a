"""The simplest equations among all that hold: sparse vectors in a space of vanishing polynomials.

Terms are left out one after the other, and laws of two or three terms are few enough to try all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from gramian.records import FloatArray, IntArray

# Seeds of the search for sparse vectors: one linear programme each.
SEEDS = 80
# Directions along which the gradient all but vanishes have no distance; they are multiples of others.
FLAT = 1e-9
# All triples of so many terms are tried: 34,220.
MOST_FOR_TRIPLES = 60
CHUNK = 20_000
# So many of the nearest are fitted again without squares, whose rounding hides what is clearer than 1e-8.
LOOKED_AT = 60
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Features:
    """The monomials of the data in the coordinates of the equation, compressed to triangles.

    Attributes
    ----------
    values : ndarray of shape (m, m)
        ``|values @ a|`` is the norm of a polynomial's values on the rows.
    slopes : ndarray of shape (m, m)
        ``|slopes @ a|`` is the norm of its gradients, in units in which every feature has spread 1.
    rounding : ndarray of shape (r, m)
        ``|rounding @ a|`` is what rounding of the data does to the values.
    n_rows : int
    n_monomials : int
        How many terms there were to choose from.
    first_is_constant : bool
        Whether column 0 belongs to the constant.
    """

    values: FloatArray
    slopes: FloatArray
    rounding: FloatArray
    n_rows: int
    n_monomials: int
    first_is_constant: bool = True

    def fit(self, support: IntArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the polynomial on a support that is nearest to vanishing, by distance to first order.

        Returns
        -------
        residual : float
            Root mean square of the values over that of the gradients.
        vector : ndarray of shape (s,)
            With gradients of unit root sum of squares.
        importance : ndarray of shape (s,)
            By how much the squared residual would grow, to first order, without each term.

        References
        ----------
        G. Taubin (1991), Estimation of planar curves, surfaces and nonplanar space curves defined by
        implicit equations, IEEE Transactions on Pattern Analysis and Machine Intelligence 13.
        """
        constant = self.first_is_constant and support[0] == 0
        free = support[1:] if constant else support
        scale = np.linalg.norm(self.values[:, free], axis=0)
        scale[scale == 0] = 1.0
        A = self.values[:, free] / scale
        _, g, Vt = np.linalg.svd(self.slopes[:, free] / scale, full_matrices=False)
        keep = g > FLAT * g.max(initial=0.0)
        if not keep.any():
            return np.inf, np.zeros(len(support)), np.zeros(len(support))
        Y = Vt[keep].T / g[keep]
        # The first column is the constant, so without the first row the best constant is taken out.
        _, s, Wt = np.linalg.svd((A[1:] if constant else A) @ Y, full_matrices=False)
        vectors = Y @ Wt.T
        inverse = np.zeros(len(s))
        inverse[:-1] = 1 / np.maximum(s[:-1] ** 2 - s[-1] ** 2, (EPS * s[0]) ** 2 + 1e-300)
        if constant:
            vectors = np.vstack([-(A[0] @ vectors) / self.values[0, 0], vectors])
            scale = np.concatenate([[1.0], scale])
        spread = vectors**2 @ inverse
        if constant:
            spread[0] += 1 / self.n_rows
        with np.errstate(over="ignore"):  # without residual nothing may be left out
            importance = vectors[:, -1] ** 2 / np.maximum(spread, 1e-300)
        return float(s[-1]), vectors[:, -1] / scale, importance

    def floor(self, support: IntArray, vector: FloatArray) -> float:
        """Return the residual below which nothing can be told, for a polynomial as :meth:`fit` returns it."""
        sizes = np.linalg.norm(self.values[:, support], axis=0)
        return 4 * EPS * float(np.abs(vector) @ sizes) + float(
            np.linalg.norm(self.rounding[:, support] @ vector)
        )


def sparse_basis(
    features: Features,
    degrees: IntArray,
    space: FloatArray,
    known: FloatArray,
    news: FloatArray,
    to_scaled: FloatArray,
    slack: float,
) -> list[FloatArray]:
    """Return simple polynomials that span, together with known ones, a space of vanishing polynomials.

    Every vector of the space with as few terms as possible is a candidate: the smallest sums of absolute
    contributions with one coefficient held at 1, with the terms left out that the data do not ask for.
    Candidates are taken from the simplest on, as long as they say something new; of all bases this greedy
    choice gives the simplest, because independence is a matroid.

    Parameters
    ----------
    features : Features
    degrees : ndarray of shape (m_t,)
        Of the monomials.
    space : ndarray of shape (m_t, q)
        Basis of the space, in the coordinates of ``features``.
    known : ndarray of shape (m_t, w)
        What is known already: polynomials in scaled coordinates, as unit vectors.
    news : ndarray of shape (r, m_t)
        Functionals that are 0 for what is known: one for each polynomial that is wanted beside it.
    to_scaled : ndarray of shape (m_t, m_t)
        Takes coefficients to the scaled coordinates, where independence is judged.
    slack : float
        Part of a unit vector that counts as something new.

    Returns
    -------
    list of ndarray of shape (m_t,)
        At most ``r``, in the coordinates of ``features``.
    """
    candidates: dict[tuple[int, ...], FloatArray] = {}
    for start in _candidates(features, space, degrees, news):
        support, vector = pruned(features, start)
        candidates.setdefault(tuple(support.tolist()), vector)
    order = sorted(candidates, key=lambda s: (len(s), int(degrees[list(s)].sum()), s))
    basis, _ = np.linalg.qr(known[1:]) if known.shape[1] else (np.zeros((len(space) - 1, 0)), None)
    chosen: list[FloatArray] = []
    for terms in order:
        if len(chosen) == len(news):
            break
        vector = np.zeros(len(space))
        vector[list(terms)] = candidates[terms]
        scaled = (to_scaled @ vector)[1:]
        length = np.linalg.norm(scaled)
        if not length:
            continue
        scaled /= length
        rest = scaled - basis @ (basis.T @ scaled)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > slack:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            chosen.append(vector)
    return chosen


def _candidates(
    features: Features, space: FloatArray, degrees: IntArray, news: FloatArray
) -> list[FloatArray]:
    """Return vectors of the space with many zeros, each entry measured by its contribution."""
    sizes = np.linalg.norm(features.values[:, : len(space)], axis=0) / np.sqrt(features.n_rows)
    sizes[sizes == 0] = 1.0
    space = space / np.linalg.norm(space, axis=0)
    if space.shape[1] == 1:
        return [space[:, 0]]
    Q, _ = np.linalg.qr(space * sizes[:, None])
    weight = np.linalg.norm(Q, axis=1)
    seeds = np.argsort(-weight, kind="stable")[:SEEDS]
    m, q = Q.shape
    both = np.block([[Q, -np.eye(m)], [-Q, -np.eye(m)]])
    # Of terms that contribute alike the lower degree is taken, and then the first.
    cost = np.concatenate([np.zeros(q), 1 + 0.05 * degrees + 1e-3 * np.arange(m) / m])
    bounds = [(None, None)] * q + [(0, None)] * m
    # With one coefficient held at 1 the simplest may be known; what is held at 1 last is new.
    helds = [Q[seed] for seed in seeds[weight[seeds] > 1e-3]] + list((news / sizes) @ Q)
    results = []
    for held in helds:
        row = np.concatenate([held / np.abs(held).max(), np.zeros(m)])[None, :]
        best = linprog(cost, both, np.zeros(2 * m), row, [1.0], bounds, method="highs")
        if best.status == 0:
            results.append(Q @ best.x[:q] / sizes)
    return results


def pruned(features: Features, vector: FloatArray) -> tuple[IntArray, FloatArray]:
    """Leave out the terms of a relation that the data do not ask for, the least important first.

    A term stays when the mean squared residual without it is larger by more than chance makes it, and at
    least by 1 %. The price of a term is about that of the extended Bayesian information criterion (Chen and
    Chen 2008, Biometrika 95), a little stricter: an idle term in print misleads more than a faint one lost.
    """
    sizes = np.linalg.norm(features.values[:, : len(vector)], axis=0)
    part = np.abs(vector) * np.where(sizes > 0, sizes, 1.0)
    support = np.flatnonzero(part > 1e-9 * part.max())
    residual, vector, importance = features.fit(support)
    needed: set[int] = set()
    while len(support) > 1:
        order = [j for j in np.argsort(importance, kind="stable") if int(support[j]) not in needed]
        if not order:
            break
        freedom = max(features.n_rows - len(support), 1)
        price = max(2 * np.log(features.n_rows * features.n_monomials) / freedom, 0.01)
        light = [j for j in order if importance[j] <= price * residual**2]
        for batch in ([light[: len(light) // 2]] if len(light) > 3 else []) + [order[:1]]:
            fewer = np.delete(support, batch)
            refit = features.fit(fewer)
            # Idle terms make the residual smaller by about one part in the degrees of freedom each.
            idle = 1.5 * (len(batch) - 1) / freedom
            if refit[0] <= max(residual * np.sqrt(1 + price + idle), features.floor(fewer, refit[1])):
                support, (residual, vector, importance) = fewer, refit
                break
        else:
            needed.add(int(support[order[0]]))
    return support, vector


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
