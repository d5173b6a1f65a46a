"""Rules of thumb that read the eigenvalues only."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaln

from gramian.analysis.component_rules.rules import ComponentChoice, Scree, compared, leading, numbered
from gramian.records import FloatArray

# Rounding in a sum must not cost a component.
SLACK = 1e-12


def kaiser(scree: Scree) -> ComponentChoice:
    """Keep eigenvalues above their mean: above 1 for a correlation matrix.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough.

    References
    ----------
    Guttman (1954), Some necessary conditions for common-factor analysis. Kaiser (1960), The application of
    electronic computers to factor analysis.

    Examples
    --------
    >>> kaiser(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    mean = np.full(scree.known.size, scree.total / max(scree.varying, 1))
    # Equal eigenvalues are their own mean, and rounding must not put one above it.
    names = ("eigenvalue", "mean")
    return compared("kaiser", scree.known, mean, names, "the mean", beyond=SLACK, part=not scree.whole)


def broken_stick(scree: Scree) -> ComponentChoice:
    """Keep explained variance ratios above the pieces of a stick of length 1 broken at random.

    The j-th longest of p pieces has expected length ``(1/p) sum_{i=j}^p 1/i``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough; p is the number of eigenvalues that can be different from 0.

    References
    ----------
    Frontier (1976), Etude de la decroissance des valeurs propres. Jackson (1993), Stopping rules in
    principal components analysis.

    Examples
    --------
    >>> broken_stick(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    p = scree.size
    pieces = np.cumsum(1.0 / np.arange(p, 0, -1))[::-1][: scree.known.size] / max(p, 1)
    shares = scree.known / scree.total if scree.total > 0 else scree.known
    names = ("ratio", "stick_piece")
    what = "that of a broken stick"
    return compared("broken-stick", shares, pieces, names, what, beyond=SLACK, part=not scree.whole)


def elbow(scree: Scree) -> ComponentChoice:
    """Split the scree plot where two normal groups with one variance have the largest likelihood.

    Parameters
    ----------
    scree : Scree
        The whole spectrum is needed.

    Notes
    -----
    With means of the first q and of the other p - q eigenvalues and the pooled variance
    ``(SS_1 + SS_2) / (p - 2)``, the log-likelihood is ``-p/2 log(2 pi variance) - (p - 2)/2``, so the best q
    has the least sum of squares within the groups. q goes from 1 to p - 1.

    References
    ----------
    Zhu and Ghodsi (2006), Automatic dimensionality selection from the scree plot via the use of profile
    likelihood, section 2.

    Examples
    --------
    >>> elbow(Scree(np.array([9.0, 8.0, 1.1, 1.0, 0.9, 0.8]), 20.8, 50, 6, 6)).number
    2
    """
    if not scree.whole:
        said = (
            f"It needs the whole spectrum, and {scree.known.size} of {scree.size} eigenvalues are known: "
            "give the data, or a model with n_components=None."
        )
        return ComponentChoice("elbow", None, {}, said)
    values, p = scree.known, scree.size
    if p < 3 or not values[0] > 0:
        return ComponentChoice("elbow", None, {}, "An elbow needs at least 3 eigenvalues, not all 0.")
    values = values / values[0]
    within = _within(values)[:-1] + _within(values[::-1])[::-1][1:]
    rounding = float(np.finfo(np.float64).eps) * p
    variance = np.maximum(within, rounding) / (p - 2)
    likelihood = -p / 2 * np.log(2 * np.pi * variance) - (p - 2) / 2
    number = int(np.argmax(likelihood)) + 1
    evidence = numbered(1, {"log_likelihood": likelihood, "eigenvalue": scree.known[:-1]})
    said = (
        f"The scree plot splits best after {number}: log-likelihood {likelihood[number - 1]:.4g}, eigenvalue "
        f"{scree.known[number - 1]:.4g} before and {scree.known[number]:.4g} after."
    )
    return ComponentChoice("elbow", number, evidence, said)


def _within(values: FloatArray) -> FloatArray:
    """Sums of squares about the mean of the first 1, 2, ..., p values."""
    count = np.arange(1, values.size + 1)
    squares = np.cumsum(values**2) - np.cumsum(values) ** 2 / count
    return np.asarray(np.maximum(squares, 0.0))


def fraction_rule(scree: Scree, fraction: float) -> ComponentChoice:
    """Keep the fewest components that explain a fraction of the variance.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it carries the fraction.
    fraction : float
        In (0, 1).

    Examples
    --------
    >>> fraction_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3), 0.9).number
    2
    """
    left = scree.left
    shares = 1 - left / left[0] if left[0] > 0 else np.ones(left.size)
    what = f"{100 * fraction:g} % of the " + ("variance" if scree.centered else "second moments")

    number, result = _first(shares >= fraction - SLACK)
    share = f"{100 * shares[number]:.4g} %"
    said = f"The fewest components that explain {what}: {number} explain {share}."
    if not result:
        said = f"The {number} known components explain {share}, less than {what}."
    return ComponentChoice("fraction", number, numbered(0, {"cumulative": shares}), said, not result)


def rmse_rule(scree: Scree, max_rmse: float) -> ComponentChoice:
    """Keep the fewest components whose reconstruction error is small enough.

    The error is the root mean square over all ``n d`` entries of X - X~ in the units that were fitted,
    ``sqrt(degrees sum_{j>k} lambda_j / (n d))``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it reaches the error: the rest is in the trace.
    max_rmse : float
        In the units that were fitted.

    Examples
    --------
    >>> rmse_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 51, 3, 3, degrees=50), 0.4).number
    2
    """
    entries = max(scree.n_samples * scree.n_features, 1)
    errors = np.sqrt(scree.left * scree.degrees / entries)
    # Relative to the error asked for, and to the largest one where that is at rounding level.
    number, result = _first(errors <= max_rmse * (1 + 1e-9) + SLACK * errors[0])
    error = f"a root-mean-square error of {errors[number]:.4g} per entry"
    if not result:
        said = f"The {number} known components leave {error}, more than {max_rmse:g}."
    elif number == 0:
        said = f"The mean alone has {error}, at most {max_rmse:g}."
    else:
        said = f"The fewest with an error of at most {max_rmse:g}: {number} leave {error}."
    return ComponentChoice("max_rmse", number, numbered(0, {"rmse": errors}), said, not result)


def _first(reached: npt.NDArray[np.bool_]) -> tuple[int, bool]:
    """Return the first number that reaches what is asked for, or the last one where none does."""
    result = bool(reached.any())
    return (int(np.argmax(reached)) if result else reached.size - 1), result


# ------------------------------------------------------ Minka's evidence

# Relative gap below which two eigenvalues count as this far apart: the logarithm of 0 would decide alone.
LEAST = 1e-15


def log_evidence(values: FloatArray, n: int, most: int | None = None) -> FloatArray:
    """Return Laplace's approximation to the log evidence of k = 1, 2, ... components.

    Parameters
    ----------
    values : ndarray of shape (d,)
        All eigenvalues of the covariance, descending; only ratios matter.
    n : int
        Number of rows.
    most : int, optional
        Largest k, at most d - 1.

    Returns
    -------
    ndarray of shape (most,)
        Entry k - 1 is about k components, up to a constant.

    Notes
    -----
    Equation 30 of the reference in O(d^2) operations: the pairs i <= k < j of its Hessian are the pairs
    i <= k, i < j less those with j <= k, and both are running sums.

    References
    ----------
    Minka (2000), Automatic choice of dimensionality for PCA, equations 30 and 31.

    Examples
    --------
    >>> evidence = log_evidence(np.array([9.0, 8.0, 1.2, 1.05, 0.95, 0.8]), 200)
    >>> int(np.argmax(evidence)) + 1
    2
    """
    lam = np.asarray(values, dtype=np.float64) / values[0]
    d = lam.size
    most = d - 1 if most is None else min(most, d - 1)
    k = np.arange(1, most + 1)
    tail = np.cumsum(lam[::-1])[::-1]
    noise = np.maximum(tail[1 : most + 1] / (d - k), LEAST)
    logs = np.cumsum(np.log(np.maximum(lam[:most], LEAST)))
    half = (d - k + 1) / 2
    uniform = np.cumsum(gammaln(half) - half * np.log(np.pi)) - k * np.log(2)
    pairs = d * k - k * (k + 1) / 2
    evidence = uniform - n / 2 * (logs + (d - k) * np.log(noise)) + (pairs + k) / 2 * np.log(2 * np.pi)
    hessian = _gaps(lam, most) - (k - 1) * logs + pairs * np.log(n)
    apart = [np.log(np.maximum(lam[:j] - v, LEAST)).sum() for j, v in zip(k, noise, strict=True)]
    hessian += (d - k) * (np.array(apart) - k * np.log(noise) - logs)
    return np.asarray(evidence - hessian / 2 - k / 2 * np.log(n))


def _gaps(lam: FloatArray, most: int) -> FloatArray:
    """Sums of log(lam_i - lam_j): of pairs i < j with i <= k, and once more of those with j <= k."""
    rows, columns = np.zeros(most), np.zeros(lam.size)
    for i in range(most):
        gap = np.log(np.maximum(lam[i] - lam[i + 1 :], LEAST))
        rows[i] = gap.sum()
        columns[i + 1 :] += gap
    return np.asarray(np.cumsum(rows) + np.cumsum(columns[:most]))


def minka(scree: Scree) -> ComponentChoice:
    """Keep the number of components with the largest evidence, from 1 to d - 1.

    Parameters
    ----------
    scree : Scree
        Of more rows than columns that vary. Where a part of the spectrum is known, the trace says what the
        mean of the others is, and they count as equal to it.

    References
    ----------
    Minka (2000), Automatic choice of dimensionality for PCA.

    Examples
    --------
    >>> values = np.array([9.0, 8.0, 1.2, 1.05, 0.95, 0.8])
    >>> minka(Scree(values, float(values.sum()), 200, 6, 6, degrees=199)).number
    2
    """
    d, known = scree.varying, scree.known
    if scree.n_samples <= d:
        said = (
            f"Minka's evidence needs more rows than columns, and there are {scree.n_samples} rows x {d} "
            "columns that vary. Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
        return ComponentChoice("mle", None, {}, said)
    rank = int(np.sum(known > 0))
    if d < 2 or rank == 0:
        return ComponentChoice("mle", rank, {}, f"{rank} of {d} columns that vary: nothing to compare.")
    if scree.whole and rank < d:
        said = f"{d - rank} of {d} eigenvalues are 0, so {rank} components hold the data without any noise."
        return ComponentChoice("mle", rank, {}, said)
    most = min(rank, d - 1)
    rest = np.full(d - known.size, float(scree.left[-1]) / max(d - known.size, 1))
    evidence = log_evidence(np.concatenate([known, np.minimum(rest, known[-1])]), scree.n_samples, most)
    number = int(np.argmax(evidence)) + 1
    others = np.delete(evidence, number - 1)
    said = f"The log evidence is largest at {number}: {evidence[number - 1]:.6g}"
    said += f", {evidence[number - 1] - others.max():.3g} above the next best." if others.size else "."
    if not scree.whole:
        said += f" The {d - known.size} unknown eigenvalues count as equal, by the trace."
    at_least = number == known.size and not scree.whole
    columns = {"log_evidence": evidence, "eigenvalue": known[:most]}
    return ComponentChoice("mle", number, numbered(1, columns), said, at_least)


# ------------------------- the optimal hard threshold of singular values


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
    """Standard deviation of the noise by the trace: the variance left after the components found with it."""
    left = scree.left * scree.degrees
    k, seen = singular.size, set[int]()
    sigma = 0.0
    while k not in seen:
        seen.add(k)
        room = max((scree.rows - k) * (scree.varying - k), 1)
        sigma = math.sqrt(float(left[k]) / room)
        k = min(k, leading(singular > factor * sigma))
    return sigma
