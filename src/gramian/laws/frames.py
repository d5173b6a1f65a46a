"""Coordinates in which monomials neither overflow nor cancel, and those in which equations are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.laws.points import Points
from gramian.records import FloatArray

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
