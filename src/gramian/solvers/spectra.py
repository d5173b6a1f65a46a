"""What solvers share about spectra: how many of them, and what is rounding."""

from __future__ import annotations

import numpy as np

from gramian.records import FloatArray, Target


def count_for_fraction(values: FloatArray, total: float, fraction: float) -> int | None:
    """Return the least k whose leading values reach ``fraction`` of ``total``; None when none does.

    Rounding in the sum must not cost a component, so the comparison allows for it.
    """
    if total <= 0:
        return 1 if values.size else None
    reached = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) >= (fraction - 1e-12) * total)
    return int(reached[0]) + 1 if reached.size else None


def relative_tolerance(relative: float, noise: float, top: float) -> float:
    """One relative rank threshold out of the route's own and the data's absolute rounding."""
    return max(relative, noise / top) if top > 0 else 1.0


def count_of(target: Target, values: FloatArray, total: float | None) -> int:
    """Return how many of all values, descending, a target takes."""
    if target.count is not None:
        return min(target.count, values.size)
    if target.fraction is None:
        return int(values.size)
    whole = total if total is not None else float(np.maximum(values, 0.0).sum())
    return count_for_fraction(values, whole, target.fraction) or int(values.size)
