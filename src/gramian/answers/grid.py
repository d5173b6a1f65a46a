"""What PCA of fields on a grid shows, in sentences: the first pattern, and what its series does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gramian.core.checks import percent
from gramian.core.records import FloatArray

ONE_SIGN = 0.9  # share of the weight of the cells
OPPOSITE, SAME = 0.5, 1.1  # the other end of a contrast, relative to the first; ratio of two periods
ERRORS = 2.0  # standard errors between two variances (North and others 1982), for times that remember
SHORTEST, CYCLES, NEAR, REGULAR = 60, 4, 2, 0.8  # times; periods in them; bins beside a peak, and their share
LEVEL, EXPLAINED = 1e-3, 0.3  # of a trend: its p, and the least share of the variance


@dataclass(frozen=True)
class Series:
    """What a series does.

    Attributes
    ----------
    trend : {-1, 0, 1}
        Whether it falls or rises by more than a series that remembers would.
    period : float
        Steps after which it repeats; 0 where no period has most of the variance.
    """

    trend: int
    period: float


def series_of(x: FloatArray) -> Series:
    """Return the trend and the period of a series of equal steps.

    Examples
    --------
    >>> months = np.arange(240)
    >>> series_of(np.sin(2 * np.pi * months / 12))
    Series(trend=0, period=12.0)
    >>> series_of(months + np.random.default_rng(0).normal(size=240))
    Series(trend=1, period=0.0)
    """
    n, order = len(x), np.arange(len(x), dtype=np.float64)
    if n < SHORTEST or not np.ptp(x) > 0:
        return Series(0, 0.0)
    line = stats.linregress(order, x)
    rest = x - line.intercept - line.slope * order
    memory = _memory(rest)
    r2, freedom = line.rvalue**2, n * (1 - memory) / (1 + memory) - 2
    trend = 0
    if freedom > 1 and r2 >= EXPLAINED:
        t = np.sqrt(r2 * freedom / max(1 - r2, np.finfo(float).tiny))
        trend = int(np.sign(line.slope)) if 2 * stats.t.sf(t, freedom) < LEVEL else 0
    power = np.abs(np.fft.rfft(rest * np.hanning(n))) ** 2
    top = int(power[1:].argmax()) + 1
    bins = np.arange(max(1, top - NEAR), min(len(power), top + NEAR + 1))
    regular = top >= CYCLES and float(power[bins].sum()) >= REGULAR * float(power[1:].sum())
    return Series(trend, round(float(n * power[bins].sum() / (power[bins] @ bins)), 1) if regular else 0.0)


def _memory(x: FloatArray) -> float:
    """Return the correlation of each value of a series without a mean with the next, at least 0."""
    return max(0.0, float(x[1:] @ x[:-1]) / max(float(x @ x), np.finfo(float).tiny))


def grid_sentence(
    pattern: FloatArray,
    weight: FloatArray,
    ratios: FloatArray,
    together: int,
    scores: FloatArray | None,
    where: Callable[[int], str],
) -> str:
    """Return what the first pattern is, or the first ones that the sample does not tell apart.

    Parameters
    ----------
    pattern : ndarray of shape (m,)
        The first one, in units of the data.
    weight : ndarray of shape (m,)
        Of the cells.
    ratios : ndarray of shape (k,)
    together : int
        Number of the first components that the sample does not tell apart.
    scores : ndarray of shape (n, k), or None
        At times of equal steps; None where there are no such times.
    where : callable
        Returns the coordinates of a cell.
    """
    if scores is not None and together == 1 and len(ratios) > 1:
        # A trend or a cycle is no chance: only what both remember makes times fewer.
        memory = min(_memory(x - x.mean()) for x in scores[:, :2].T) ** 2
        error = np.sqrt(2 / len(scores) * (1 + memory) / (1 - memory))
        together += int(ratios[1] > ratios[0] * (1 - ERRORS * error))
    share = f"{percent(float(ratios[:together].sum()))} of the variance"
    series = [] if scores is None else [series_of(x) for x in scores[:, :together].T]
    if together > 1:
        names = "PC1 and PC2" if together == 2 else f"PC1 to PC{together}"
        periods = [curve.period for curve in series] or [0.0]
        if together == 2 and min(periods) > max(periods) / SAME > 0:
            moves = f"are one moving pattern, which repeats after about {np.mean(periods):.3g} steps"
            return f"{names} (together {share}) {moves}."
        return f"{names} (together {share}) are not told apart by these samples: read them together."
    top = int(np.abs(pattern).argmax())
    signed = pattern * np.sign(pattern[top])
    same, other = float(weight[signed > 0].sum() / weight.sum()), int(signed.argmin())
    sentence, there = f"PC1 ({share}) is strongest at {where(top)}", "there"
    if same >= ONE_SIGN:
        area = "cells" if (weight == weight[0]).all() else "area"
        sentence = (
            f"PC1 ({share}) has one sign over {100 * same:.0f} % of the {area}, strongest at {where(top)}"
        )
    elif -signed[other] >= OPPOSITE * signed[top]:
        sentence = f"PC1 ({share}) is a contrast between {where(top)} and {where(other)}"
        there = f"at {where(top)}"
    for curve in series:
        rises = curve.trend * np.sign(pattern[top]) > 0
        does = [f"{'rises' if rises else 'falls'} over the whole time"] if curve.trend else []
        does += [f"repeats after about {curve.period:.3g} steps"] if curve.period else []
        sentence += f"; {there} it {' and '.join(does)}" if does else ""
    return f"{sentence}."
