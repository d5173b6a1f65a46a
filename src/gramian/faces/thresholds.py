"""From which likeness on a stranger is taken for somebody at a given rate: counted, or by a tail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray

__all__ = ["counted_threshold", "tail_size", "tail_threshold"]

# By simulation: docs/decisions/0011-thresholds-of-few-people.md.
SHARE, EACH, LEAST = 0.05, 5, 10
NEAR = 1e-6  # distances below this share of the tail's are taken for it: one person under two names


def counted_threshold(
    scores: FloatArray, far: float, groups: npt.NDArray[Any] | None = None
) -> tuple[float, float] | None:
    """Return the threshold that a new stranger's picture reaches with probability ``far`` at most.

    It is the least t for which ``(F_1(t) + ... + F_N(t) + 1) / (N + 1) <= far``, where ``F_i(t)`` is the
    share of the pictures of stranger i with a score of at least t: if a new stranger is of the same kind, the
    expected share of his pictures is no larger.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Larger is more alike.
    far : float
    groups : ndarray of shape (n,), int, optional
        Whose picture each is, 0 .. N - 1; by default of a stranger each.

    Returns
    -------
    threshold, rate
        The rate expected of new strangers; None where N strangers cannot show so small a rate.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal risk control, theorem 1.

    Examples
    --------
    >>> counted_threshold(np.arange(1.0, 1000.0) / 1000, 0.01)
    (0.991, 0.01)
    >>> counted_threshold(np.arange(1.0, 100.0) / 100, 0.001)
    """
    owners = np.arange(len(scores)) if groups is None else groups
    counts = np.bincount(owners)
    strangers = len(counts)
    allowed = far * (strangers + 1) - 1
    if not len(scores) or allowed < -1e-9:
        return None
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    shares = np.cumsum(1 / counts[owners[order]])
    # Of equal scores all are accepted or none.
    ends = np.append(np.diff(falling) != 0, True)
    fitting = np.flatnonzero(ends & (shares <= allowed + 1e-9))
    if not len(fitting):
        return float(np.nextafter(falling[0], np.inf)), 1 / (strangers + 1)
    place = int(fitting[-1])
    return float(falling[place]), float(shares[place] + 1) / (strangers + 1)


def tail_size(n: int, people: int) -> int:
    """Return how many of n comparisons of strangers :func:`tail_threshold` is given: the largest.

    A twentieth of them, and no more than five for each stranger, but at least ten.

    Examples
    --------
    >>> tail_size(4050, 30), tail_size(810, 30), tail_size(100, 5)
    (150, 40, 10)
    """
    return min(n, max(LEAST, round(min(SHARE * n, EACH * people))))


def tail_threshold(closest: FloatArray, n: int, far: float, perfect: float, independent: float) -> float:
    """Return the threshold that a new comparison with a stranger reaches with probability ``far``.

    Near perfect likeness the share of comparisons within a distance d is taken to be a power of d, from the
    largest of the given ones on. The power is fitted to them. As it is known from few strangers only, it is
    not put in as if it were known, but the chance is averaged over what it may be: its reciprocal follows a
    gamma distribution of the shape ``independent``, which gives ``(1 + x / k) ** -k`` where a known power
    gives ``exp(-x)``. The fewer strangers, the higher the threshold.

    Parameters
    ----------
    closest : ndarray of shape (m,)
        The most alike of n comparisons, descending; of :func:`tail_size`.
    n : int
    far : float
        Below ``(m + 1) / (n + 1)``: more can be counted.
    perfect : float
        The likeness of a vector to itself.
    independent : float
        k: how many of the comparisons say something new. N people make N / 2 couples that share nobody.

    References
    ----------
    Hill (1975), A simple general approach to inference about the tail of a distribution, for the power.
    Geisser (1993), Predictive inference, for averaging over it.

    Examples
    --------
    Distances whose share within d is d ** 3:

    >>> distances = (np.arange(1, 1001) / 1000) ** (1 / 3)
    >>> value = tail_threshold(1 - distances[:50], 1000, 0.001, 1.0, 1e9)
    >>> round(float((1 - value) ** 3), 4)
    0.0011
    """
    distances = perfect - closest
    widest = float(distances[-1]) if len(distances) else 0.0
    if len(distances) < 2 or not widest > 0:
        return float(np.nextafter(closest[0] if len(closest) else perfect, np.inf))
    reached = np.maximum(distances[:-1], NEAR * widest)
    power = float(np.mean(np.log(widest / reached)))  # 1 / a, where the share within d is d ** a
    fewer = (len(closest) + 1) / (n + 1) / max(far, np.finfo(float).tiny)
    return perfect - widest * math.exp(-power * independent * math.expm1(math.log(fewer) / independent))
