"""Polynomials as vectors of coefficients, and the rows that they are evaluated on.

A polynomial of degree up to p in d features is a vector over :func:`gramian.kernels.feature_maps.exponents`.
The monomials up to a lower degree stand first, so a shorter vector is a polynomial of lower degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert

from gramian.core.arrays import as_float64
from gramian.core.checks import slices
from gramian.core.records import FloatArray, IntArray
from gramian.errors import DataError
from gramian.kernels.feature_maps import count_monomials, exponents, graded_blocks
from gramian.tables.rows import Block, Rows

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


# ---- The rows that laws are looked for in: all of them, or few with the same means and products

FOLDS = 5
DRAWN = 40  # rows for each column that tell how near to vanishing unrelated columns come


@dataclass(frozen=True, eq=False)
class Points:
    """Rows with how often each counts.

    Attributes
    ----------
    values : ndarray of shape (m, d)
    counts : ndarray of shape (m,)
        1 where they are the rows; where they stand for n others they sum up to n.
    parts : list of ndarray of int
        Which are held out together.
    largest : ndarray of shape (d,)
        Largest magnitude of each column.
    """

    values: FloatArray
    counts: FloatArray
    parts: list[IntArray]
    largest: FloatArray

    @cached_property
    def n(self) -> int:
        """Number of rows that they stand for."""
        return round(float(self.counts.sum()))

    def columns(self, some: slice) -> Points:
        """Return some columns."""
        return replace(self, values=self.values[:, some], largest=self.largest[some])

    def shuffled(self, rng: np.random.Generator) -> Points:
        """Return the columns without what they have to do with each other.

        Those that stand for others are drawn: products of many shuffled rows sum up to those of normal ones.
        """
        if len(self.values) == self.n:
            return replace(self, values=rng.permuted(self.values, axis=0))
        m = min(self.n, DRAWN * (self.values.shape[1] + 1))
        drawn = rng.standard_normal((m, self.values.shape[1]))
        drawn = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)
        mean = np.average(self.values, axis=0, weights=self.counts)
        spread = np.sqrt(np.average((self.values - mean) ** 2, axis=0, weights=self.counts))
        return replace(self, values=mean + spread * drawn, counts=np.full(m, self.n / m), parts=[])


def points_of(X: FloatArray) -> Points:
    """Return rows that count once each.

    Examples
    --------
    >>> points_of(np.arange(12.0).reshape(6, 2)).n
    6
    """
    # Shuffled, so that sorted or periodic rows do not fall into parts of their own.
    order = np.random.default_rng(0).permutation(len(X))
    folds = [np.sort(fold) for fold in np.array_split(order, FOLDS)]
    return Points(X, np.ones(len(X)), folds, np.abs(X).max(axis=0))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Count and mean of rows, and the triangle R with R.T R their sum of products about the mean."""

    count: int
    mean: FloatArray
    triangle: FloatArray

    def __add__(self, other: _Sums) -> _Sums:
        n, gap = self.count + other.count, other.mean - self.mean
        if not self.count or not other.count:
            return self if self.count else other
        between = np.sqrt(self.count / n * other.count) * gap
        merged = reduced(np.concatenate([self.triangle, other.triangle, between[None]]))
        return _Sums(n, self.mean + gap * (other.count / n), merged)


def stand_ins(rows: Rows, most: int) -> tuple[Points, int]:
    """Return few points with the means and products that rows have, held-out parts apart, from one pass.

    Polynomials of degree 1 cannot tell them from the rows. Triangles are merged instead of sums of products,
    which would lose half of the digits. Beside them how many rows are different, counted up to ``most``.

    Raises
    ------
    DataError
        For NaN and infinity.
    """
    # Equal rows have equal sums, whichever block they are in.
    factors = np.random.default_rng(0).uniform(1, 2, rows.shape[1])

    def measured(block: Block) -> tuple[list[_Sums], FloatArray, FloatArray]:
        X = np.ascontiguousarray(as_float64(block.dense))
        order = np.random.default_rng(block.rows.start).permutation(len(X))
        sums = []
        for k in range(FOLDS):
            some = X[(order + block.rows.start) % FOLDS == k]
            mean = (some / max(len(some), 1)).sum(axis=0)
            mean += (some - mean).sum(axis=0) / max(len(some), 1)
            sums.append(_Sums(len(some), mean, reduced(some - mean)))
        return sums, np.unique((X * factors).sum(axis=1))[:most], np.abs(X).max(axis=0)

    def merged(a: Any, b: Any) -> Any:
        result = np.unique(np.concatenate([a[1], b[1]]))[:most]
        return (
            [first + other for first, other in zip(a[0], b[0], strict=True)],
            result,
            np.maximum(a[2], b[2]),
        )

    with np.errstate(over="ignore", invalid="ignore"):
        block = max(4096, 2 * FOLDS * rows.shape[1])
        sums, keys, largest = rows.reduce(measured, merged, block)
    if not all(np.isfinite(each.triangle).all() for each in sums):
        rows.require_finite()
        raise DataError(
            "The columns vary by more than float64 can represent. Divide them by a power of ten first."
        )
    values: list[FloatArray] = []
    counts: list[FloatArray] = []
    indices: list[IntArray] = []
    for each in sums:
        k = len(each.triangle) + 1 if each.count else 0
        # Orthonormal columns that sum up to 0.
        spread = np.sqrt(k / max(each.count, 1)) * (helmert(k).T @ each.triangle if k else each.triangle[:0])
        indices.append(np.arange(k) + sum(len(before) for before in counts))
        values.append(each.mean + spread)
        counts.append(np.full(k, each.count / max(k, 1)))
    return Points(np.concatenate(values), np.concatenate(counts), indices, largest), len(keys)


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
    top, counts = points.largest, points.counts
    power = np.exp2(np.floor(np.log2(np.where(top > 0, top, 1.0))))
    Y = points.values / power
    centre = np.average(Y, axis=0, weights=counts)
    # The rounding of the sum would make a constant column look as if it varied.
    centre += np.average(Y - centre, axis=0, weights=counts)
    spread = np.sqrt(np.average((Y - centre) ** 2, axis=0, weights=counts))
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
