"""The optimal hard threshold for singular values."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from gramian.analysis.component_rules.rules import ComponentChoice, Scree, compared, leading
from gramian.records import FloatArray


@lru_cache(maxsize=256)
def marchenko_pastur_median(beta: float) -> float:
    """Return the median of the Marchenko-Pastur distribution of ratio ``beta`` and noise variance 1.

    The density ``sqrt((b - t)(t - a)) / (2 pi beta t)`` on ``[a, b] = [(1 - sqrt(beta))^2,
    (1 + sqrt(beta))^2]`` is integrated numerically; ``t = 1 + beta + 2 sqrt(beta) cos(angle)`` takes the
    square roots at its ends away.

    Parameters
    ----------
    beta : float
        Shorter side over longer side, in (0, 1].

    References
    ----------
    Gavish and Donoho (2014), The optimal hard threshold for singular values is 4/sqrt(3), section III-E.

    Examples
    --------
    >>> round(marchenko_pastur_median(1.0), 4)
    0.6528
    """
    root = math.sqrt(beta)

    def density(angle: float) -> float:
        # sin^2 / t, written without the 0 / 0 at the lower end where beta is 1.
        s, c = math.sin(angle), math.cos(angle / 2)
        t = (1 - root) ** 2 + 4 * root * c * c
        return 2 * s * s / (math.pi * t) if t > 0 else 2 / math.pi

    def excess(angle: float) -> float:
        return float(quad(density, angle, math.pi, epsabs=1e-13, epsrel=1e-12)[0]) - 0.5

    middle = float(brentq(excess, 0.0, math.pi, xtol=1e-13))
    return (1 - root) ** 2 + 4 * root * math.cos(middle / 2) ** 2


def known_noise_factor(beta: float) -> float:
    """Return lambda(beta): the threshold is ``lambda sqrt(n) sigma`` for n the longer side.

    References
    ----------
    Gavish and Donoho (2014), equation 11.

    Examples
    --------
    >>> abs(known_noise_factor(1.0) - 4 / 3**0.5) < 1e-15
    True
    """
    return math.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + math.sqrt(beta * beta + 14 * beta + 1)))


def unknown_noise_factor(beta: float) -> float:
    """Return omega(beta): the threshold is ``omega`` times the median singular value.

    References
    ----------
    Gavish and Donoho (2014), equations 5 and 12.

    Examples
    --------
    >>> round(unknown_noise_factor(1.0), 4)
    2.8584
    """
    return known_noise_factor(beta) / math.sqrt(marchenko_pastur_median(beta))


def gavish_donoho(scree: Scree) -> ComponentChoice:
    """Keep singular values above the threshold that is optimal for white noise of unknown size.

    Parameters
    ----------
    scree : Scree
        Where a part of the spectrum is known, the noise comes from the trace instead of from the median:
        ``sigma^2 = (sum of squares left) / ((n - k)(d - k))``.

    Notes
    -----
    Centring takes one row, so that the noise is that of an (n - 1, d) matrix; constant columns hold none.

    References
    ----------
    Gavish and Donoho (2014), The optimal hard threshold for singular values is 4/sqrt(3).

    Examples
    --------
    >>> values = np.array([90.0, 40.0, 1.3, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6])
    >>> gavish_donoho(Scree(values, float(values.sum()), 500, 10, 10, degrees=499)).number
    2
    """
    if scree.size == 0 or not scree.known.size or not scree.known[0] > 0:
        return ComponentChoice("gavish-donoho", 0, {}, "No column varies, so no singular value is above 0.")
    singular = np.sqrt(scree.known * scree.degrees)
    longer = max(scree.rows, scree.varying)
    beta = scree.size / longer
    if scree.whole:
        middle = float(np.median(singular))
        factor = unknown_noise_factor(beta)
        threshold, how = factor * middle, f"{factor:.4g} times the median, {middle:.4g}"
    else:
        sigma = _noise(scree, singular, known_noise_factor(beta) * math.sqrt(longer))
        threshold = known_noise_factor(beta) * math.sqrt(longer) * sigma
        how = f"for noise of {sigma:.4g} per entry by the trace, as the median is not known"
    if scree.whole and threshold == 0:
        how = "0, the median: data without noise"
    columns = ("singular_value", "threshold")
    what = f"the threshold, {how}"
    thresholds = np.full(singular.size, threshold)
    return compared("gavish-donoho", singular, thresholds, columns, what, part=not scree.whole)


def _noise(scree: Scree, singular: FloatArray, factor: float) -> float:
    """Standard deviation of the noise by the trace: what is left beside the components found with it."""
    left = scree.left * scree.degrees
    k, seen = singular.size, set[int]()
    sigma = 0.0
    while k not in seen:
        seen.add(k)
        room = max((scree.rows - k) * (scree.varying - k), 1)
        sigma = math.sqrt(float(left[k]) / room)
        k = min(k, leading(singular > factor * sigma))
    return sigma
