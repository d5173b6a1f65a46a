"""Polynomials as vectors of coefficients: their values on data, their gradients, products and shifts.

A polynomial of degree up to p in d features is a vector over :func:`gramian.kernels.feature_maps.exponents`.
The monomials up to a lower degree stand first, so a shorter vector is a polynomial of lower degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian.core.checks import slices
from gramian.core.records import FloatArray, IntArray
from gramian.kernels.feature_maps import count_monomials, exponents, graded_blocks

BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Monomials:
    """All monomials of ``n_features`` variables up to ``degree``, and what is done with vectors over them.

    Examples
    --------
    >>> Monomials(2, 2).powers.tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """

    n_features: int
    degree: int

    @cached_property
    def powers(self) -> IntArray:
        """Exponents of every monomial, shape (m, d)."""
        return exponents(self.n_features, self.degree)

    def __len__(self) -> int:
        return len(self.powers)

    @cached_property
    def _place(self) -> dict[tuple[int, ...], int]:
        return {tuple(power): row for row, power in enumerate(self.powers.tolist())}

    @cached_property
    def raised(self) -> IntArray:
        """Place of every monomial of lower degree times feature k, shape (d, C(d + p - 1, p - 1))."""
        lower = self.powers[: self.up_to(self.degree - 1)]
        eye = np.eye(self.n_features, dtype=np.int64)
        places = [[self._place[tuple(power)] for power in (lower + step).tolist()] for step in eye]
        return np.array(places, dtype=np.int64)

    def up_to(self, degree: int) -> int:
        """Return how many monomials have at most this degree."""
        return count_monomials(self.n_features, degree) if degree >= 0 else 0

    def degree_of(self, vector: FloatArray) -> int:
        """Return the degree of a polynomial; 0 for a constant."""
        used = np.flatnonzero(vector)
        return int(self.powers[used].sum(axis=1).max(initial=0))

    def gradients(self, factor: FloatArray, weights: FloatArray) -> FloatArray:
        """Return what a factor of the values' second moment says about the gradients.

        The derivative of a monomial is a monomial of lower degree, so no second pass over the data is needed.

        Parameters
        ----------
        factor : ndarray of shape (r, m_t)
            ``|factor @ a|`` is the norm of the values of the polynomial ``a`` on the rows.
        weights : ndarray of shape (d,)

        Returns
        -------
        ndarray of shape (d * r, m_t)
            ``|result @ a|^2`` is the sum over rows and features of ``(weight_k da/dx_k)^2``.
        """
        r, m = factor.shape
        results = np.zeros((self.n_features, r, m))
        for k in range(self.n_features):
            places = self.raised[k]
            fits = np.flatnonzero(places < m)
            results[k][:, places[fits]] = factor[:, fits] * (weights[k] * self.powers[places[fits], k])
        return results.reshape(-1, m)

    def shift(self, offset: FloatArray) -> FloatArray:
        """Return T of shape (m, m): a polynomial ``a`` in ``v - offset`` is ``T @ a`` in ``v``."""
        m = len(self)
        table = np.zeros((m, m))
        table[0, 0] = 1.0
        low = self.up_to(self.degree - 1)
        for row in range(1, m):
            power = self.powers[row].tolist()
            k = next(f for f, p in enumerate(power) if p)
            power[k] -= 1
            parent = table[:, self._place[tuple(power)]]
            table[self.raised[k], row] += parent[:low]
            table[:, row] -= offset[k] * parent
        return table

    def multiples(self, polynomials: Sequence[FloatArray], degree: int) -> FloatArray:
        """Return the products of polynomials and monomials up to a degree, as columns of shape (m_t, q).

        ``degree`` may not exceed ``self.degree``. Every polynomial's own vector is among them, and each
        product has unit length.
        """
        m = self.up_to(degree)
        columns = [np.zeros((m, 0))]
        for polynomial in polynomials:
            used = np.flatnonzero(polynomial)
            spare = degree - self.degree_of(polynomial)
            if spare < 0:
                continue
            factors = self.powers[: self.up_to(spare)]
            products = np.zeros((m, len(factors)))
            for place in used:
                sums = (factors + self.powers[place]).tolist()
                rows = [self._place[tuple(power)] for power in sums]
                products[rows, np.arange(len(factors))] += polynomial[place]
            columns.append(products / np.linalg.norm(polynomial[used]))
        return np.concatenate(columns, axis=1)


def triangle(values: FloatArray, monomials: Monomials, counts: FloatArray | float = 1.0) -> FloatArray:
    """Return R of shape (m, m) with ``|R @ a|`` the norm of the values of ``a`` on the rows.

    Householder QR of the monomials in blocks of rows: unlike their moment matrix it keeps the small singular
    values, to which a relation belongs.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    monomials : Monomials
    counts : float or ndarray of shape (n,)
        How often each row counts.
    """
    m, each = len(monomials), np.sqrt(np.broadcast_to(counts, len(values)))[:, None]
    R = np.zeros((0, m))
    for rows in slices(len(values), max(4 * m, BLOCK_BYTES // (8 * m))):
        features = np.concatenate(list(graded_blocks(values[rows], monomials.degree)), axis=1)
        R = reduced(np.concatenate([R, features * each[rows]]))
    padded = np.zeros((m, m))
    padded[: len(R)] = R
    return padded


def reduced(matrix: FloatArray) -> FloatArray:
    """Return the triangle R of a QR decomposition: ``|R @ a| = |matrix @ a|`` for every vector."""
    return np.asarray(np.linalg.qr(matrix, mode="r"))


def term_order(powers: IntArray) -> IntArray:
    """Return the places of the terms in print: from high degree to low."""
    return np.lexsort((np.arange(len(powers)), -powers.sum(axis=1)))
