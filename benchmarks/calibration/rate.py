"""A measured rate and the range that it should lie in."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """A coverage, a share of false alarms, or another mean over simulated tables.

    Attributes
    ----------
    name : str
        What was simulated, with its sizes.
    value : float
    error : float
        Standard error of the simulation.
    least, most : float
        The wanted range.
    """

    name: str
    value: float
    error: float
    least: float
    most: float

    @classmethod
    def of_share(cls, name: str, share: float, count: int, least: float, most: float) -> Rate:
        """Return the rate of a share of ``count`` independent draws."""
        return cls(name, share, math.sqrt(max(share * (1 - share), 0.01) / count), least, most)
