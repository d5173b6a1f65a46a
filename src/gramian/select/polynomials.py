"""Polynomials as vectors of coefficients, and the rows that they are evaluated on.

A polynomial of degree up to p in d features is a vector over :func:`gramian.kernels.feature_maps.exponents`.
The monomials up to a lower degree stand first, so a shorter vector is a polynomial of lower degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        indices = [[self._place[tuple(power)] for power in (lower + step).tolist()] for step in eye]
        return np.array(indices, dtype=np.int64)

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
            raised = self.raised[k]
            fits = np.flatnonzero(raised < m)
            results[k][:, raised[fits]] = factor[:, fits] * (weights[k] * self.powers[raised[fits], k])
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
            for index in used:
                sums = (factors + self.powers[index]).tolist()
                rows = [self._place[tuple(power)] for power in sums]
                products[rows, np.arange(len(factors))] += polynomial[index]
            columns.append(products / np.linalg.norm(polynomial[used]))
        return np.concatenate(columns, axis=1)


def triangle(values: FloatArray, monomials: Monomials) -> FloatArray:
    """Return R of shape (m, m) with ``|R @ a|`` the norm of the values of ``a`` on the rows.

    Householder QR of the monomials in blocks of rows: unlike their moment matrix it keeps the small singular
    values, to which a relation belongs.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    monomials : Monomials
    """
    m = len(monomials)
    R = np.zeros((0, m))
    for rows in slices(len(values), max(4 * m, BLOCK_BYTES // (8 * m))):
        features = np.concatenate(list(graded_blocks(values[rows], monomials.degree)), axis=1)
        R = reduced(np.concatenate([R, features]))
    padded = np.zeros((m, m))
    padded[: len(R)] = R
    return padded


def reduced(matrix: FloatArray) -> FloatArray:
    """Return the triangle R of a QR decomposition: ``|R @ a| = |matrix @ a|`` for every vector."""
    return np.asarray(np.linalg.qr(matrix, mode="r"))


def term_order(powers: IntArray) -> IntArray:
    """Return the places of the terms in print: from high degree to low."""
    return np.lexsort((np.arange(len(powers)), -powers.sum(axis=1)))


# ---- The rows that laws are looked for in

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Points:
    """Rows, different from each other.

    Attributes
    ----------
    values : ndarray of shape (n, d)
    parts : list of ndarray of int
        Which are held out together.
    largest : ndarray of shape (d,)
        Largest magnitude of each column.
    """

    values: FloatArray
    parts: list[IntArray]
    largest: FloatArray

    def columns(self, some: slice) -> Points:
        """Return some columns."""
        return replace(self, values=self.values[:, some], largest=self.largest[some])

    def shuffled(self, rng: np.random.Generator) -> Points:
        """Return the columns without what they have to do with each other."""
        return replace(self, values=rng.permuted(self.values, axis=0))


def points_of(X: FloatArray) -> Points:
    """Return rows in random parts.

    Examples
    --------
    >>> len(points_of(np.arange(12.0).reshape(6, 2)).parts)
    5
    """
    # Shuffled, so that sorted or periodic rows do not fall into parts of their own.
    order = np.random.default_rng(0).permutation(len(X))
    folds = [np.sort(fold) for fold in np.array_split(order, FOLDS)]
    return Points(X, folds, np.abs(X).max(axis=0))


# ---- Coordinates in which monomials neither overflow nor cancel, and those in which equations are written

# A column is counted from an origin of its own where powers of its offset over its spread leave less than
# half of the digits, and in a unit of its own where powers of it would not fit into a number.
LOST, LARGEST_POWER = 1e8, 100


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates: scaled ``u = (x - centre) / spread``, and those of the equation, ``(x - origin) / unit``.

    Attributes
    ----------
    centre, spread, origin, unit : ndarray of shape (d,)
    rounding : ndarray of shape (d,)
        Relative to ``spread``, by how much the numbers of the data are rounded.
    """

    centre: FloatArray
    spread: FloatArray
    origin: FloatArray
    unit: FloatArray
    rounding: FloatArray

    @property
    def offset(self) -> FloatArray:
        """Where the centre is, in the equation's coordinates over spread."""
        return (self.centre - self.origin) / self.spread

    def scaled(self, X: FloatArray) -> FloatArray:
        """Return rows with mean 0 and spread 1."""
        # Halves, because the difference of two numbers of the largest size overflows.
        return np.asarray((X / 2 - self.centre / 2) / (self.spread / 2))

    def shifted(self, X: FloatArray) -> FloatArray:
        """Return rows counted from the origin, with spread 1."""
        return np.asarray((X / 2 - self.origin / 2) / (self.spread / 2))


def frame_of(points: Points, degree: int, eps: float) -> Frame:
    """Choose coordinates in which monomials up to a degree neither overflow nor cancel.

    Parameters
    ----------
    points : Points
    degree : int
    eps : float
        Relative rounding of the numbers: 2^-52, or 2^-23 where they came as float32.
    """
    top = points.largest
    power = np.exp2(np.floor(np.log2(np.where(top > 0, top, 1.0))))
    Y = points.values / power
    centre = Y.mean(axis=0)
    # The rounding of the sum would make a constant column look as if it varied.
    centre += (Y - centre).mean(axis=0)
    spread = np.sqrt(((Y - centre) ** 2).mean(axis=0))
    constant = spread <= eps * np.abs(Y).max(axis=0)
    centre = np.where(constant, np.median(Y, axis=0), centre)
    spread = np.where(constant, np.where(top > 0, np.abs(centre), 1.0), spread)
    ratio = np.where(constant, 1.0, np.abs(centre) / spread)
    centre, spread = centre * power, spread * power
    step = 10.0 ** np.minimum(np.ceil(np.log10(spread)), 308)
    origin = np.where(ratio**degree > LOST, np.round(centre / step) * step, 0.0)
    far = np.abs(np.log10(np.maximum(spread, np.abs(centre - origin)))) * degree > LARGEST_POWER
    unit = np.where(far, 10.0 ** np.round(np.log10(spread)), 1.0)
    return Frame(centre, spread, origin, unit, np.where(constant, 1.0, 0.5) * eps * top / spread)
