"""The rows that laws are looked for in: all of them, or few that have the same means and products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert

from gramian.core.arrays import as_float64
from gramian.core.records import FloatArray, IntArray
from gramian.errors import DataError
from gramian.select.polynomials import reduced
from gramian.tables.rows import Block, Rows

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
    parts = [np.sort(part) for part in np.array_split(order, FOLDS)]
    return Points(X, np.ones(len(X)), parts, np.abs(X).max(axis=0))


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
        place = np.random.default_rng(block.rows.start).permutation(len(X))
        parts = []
        for k in range(FOLDS):
            some = X[(place + block.rows.start) % FOLDS == k]
            mean = (some / max(len(some), 1)).sum(axis=0)
            mean += (some - mean).sum(axis=0) / max(len(some), 1)
            parts.append(_Sums(len(some), mean, reduced(some - mean)))
        return parts, np.unique((X * factors).sum(axis=1))[:most], np.abs(X).max(axis=0)

    def merged(a: Any, b: Any) -> Any:
        result = np.unique(np.concatenate([a[1], b[1]]))[:most]
        return [one + other for one, other in zip(a[0], b[0], strict=True)], result, np.maximum(a[2], b[2])

    with np.errstate(over="ignore", invalid="ignore"):
        block = max(4096, 2 * FOLDS * rows.shape[1])
        sums, keys, largest = rows.reduce(measured, merged, block)
    if not all(np.isfinite(part.triangle).all() for part in sums):
        rows.require_finite()
        raise DataError(
            "The columns vary by more than float64 can represent. Divide them by a power of ten first."
        )
    values: list[FloatArray] = []
    counts: list[FloatArray] = []
    parts: list[IntArray] = []
    for part in sums:
        k = len(part.triangle) + 1 if part.count else 0
        # Orthonormal columns that sum up to 0.
        spread = np.sqrt(k / max(part.count, 1)) * (helmert(k).T @ part.triangle if k else part.triangle[:0])
        parts.append(np.arange(k) + sum(len(before) for before in counts))
        values.append(part.mean + spread)
        counts.append(np.full(k, part.count / max(k, 1)))
    return Points(np.concatenate(values), np.concatenate(counts), parts, largest), len(keys)


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
