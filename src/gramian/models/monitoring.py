"""T2 and SPE of rows, the columns that cause them, and their limits, by theory and by held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import special, stats

from gramian.core.arrays import as_float64
from gramian.core.checks import counted, percent
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray, IndexArray
from gramian.engine.routes import eigenvalues
from gramian.errors import DataError, of_new_rows
from gramian.statistics.imputation import Patterns, grams
from gramian.statistics.normal_model import DETERMINED
from gramian.tables.rows import Rows

if TYPE_CHECKING:
    from gramian.models.kernel_pca.preimages import FeatureSpace

CONTRIBUTORS = 3
MOST_COLUMNS = 1000  # of which all variances are computed for a limit of SPE
NEGLIGIBLE = 1e-12  # share of a column that a statistic depends on, below which it does not
LEAST = float(np.finfo(np.float64).tiny)  # limit that a statistic is divided by
BOTH = ("T2", "SPE")
EPS = float(np.finfo(np.float64).eps)
# Theory is contradicted where its alarms differ from alpha by this factor, and by so many standard errors.
FACTOR, ERRORS = 2.0, 2.0
# The sum of T2 over the rows of the fit is known; rounding leaves it within this share.
SAME_ROWS = 1e-4
# Rows for each component, below which limits are not to be relied on.
ROWS_PER_COMPONENT = 5
# An autocorrelation counts if it is significant at this level; rows that depend on their neighbours are named
# where they say as much as this share of independent ones.
SIGNIFICANT, DEPENDENT = 0.01, 0.5
# Held-out rows have heavier tails than theory where their largest value is beyond what it lets this share of
# samples of so many rows reach.
RARE = 0.05
HEAVY = (
    "The largest are beyond theory, as with heavy tails, so limits are no smaller than these: alarms may be "
    "more than requested, up to one in as many rows for each statistic."
)


# ------------------------------------------------------------------ statistics of rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistics:
    """T2 and SPE of rows; by itself T2 of rows of which only scores are known.

    Attributes
    ----------
    variances : ndarray of shape (k,)
        Of the scores, above 0.
    blocks : callable
        Yields a few of the rows at a time, as ``measured`` takes them.
    noise : float or None
        Of the model, if rows may have missing values.
    """

    variances: FloatArray
    blocks: Callable[[Rows], Iterable[FloatArray]]
    noise: float | None = None

    @property
    def explains(self) -> bool:
        """Whether there are contributions."""
        return False

    def measured(self, block: FloatArray) -> FloatArray:
        """Return T2 and SPE of a block of b rows, shape (b, 2); 0 for SPE that there is not."""
        t2 = t2_of(block, self.variances)
        return np.stack([t2, np.zeros(len(t2))], axis=1)

    def contributions(self, block: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what columns contribute to T2, and to SPE, of a block of b rows; both of shape (b, d)."""
        raise NotImplementedError

    @property
    def takes_holes(self) -> bool:
        """Whether rows may have missing values."""
        return self.noise is not None

    def of_rows(self, rows: Rows, limits: Sequence[float] | None = None) -> FloatArray:
        """Return T2 and SPE of all rows, shape (n, 2); with limits also the numbers of three columns."""

        def of_part(some_rows: Rows) -> FloatArray:
            return np.concatenate([self._of_block(block, limits) for block in self.blocks(some_rows)])

        count = 2 if limits is None else 2 + CONTRIBUTORS
        values = as_float64(rows.mapped(of_part, count, np.float64, holes=self.takes_holes))
        if not np.isfinite(values).all():
            with of_new_rows():
                rows.require_finite(holes=self.takes_holes)
            if not self.takes_holes or np.isinf(values).any():
                raise DataError("T2 or SPE of a row overflows float64. Leave out such rows, or scale them.")
        return values

    def _of_block(self, block: FloatArray, limits: Sequence[float] | None) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.measured(block)
            if self.takes_holes:  # NaN is of holes alone
                values[~np.isnan(block).any(axis=1) & np.isnan(values).any(axis=1)] = np.inf
            if limits is None:
                return values
            top = np.full((len(block), CONTRIBUTORS), -1)
            if self.explains:
                top = top_contributors(self.sizes(block, limits, values))
        return np.concatenate([values, top], axis=1)

    def sizes(
        self, block: FloatArray, limits: Sequence[float], values: FloatArray | None = None
    ) -> FloatArray:
        """Return contributions to the statistic that is larger relative to its limit, relative to this."""
        values = self.measured(block) if values is None else values
        t2_limit, spe_limit = (max(limit, LEAST) for limit in (*limits, math.inf)[:2])
        to_t2, to_spe = self.contributions(block)
        more = values[:, 1] / spe_limit > values[:, 0] / t2_limit
        return np.asarray(np.where(more[:, None], to_spe / spe_limit, to_t2 / t2_limit))


def top_contributors(contributions: FloatArray) -> IndexArray:
    """Return the columns of the three largest contributions of each row, largest first; -1 for none."""
    top = np.full((len(contributions), CONTRIBUTORS), -1)
    left, rows = np.maximum(np.nan_to_num(contributions), 0.0), np.arange(len(contributions))
    for index in range(min(CONTRIBUTORS, contributions.shape[1])):
        largest = np.argmax(left, axis=1)
        top[:, index] = np.where(left[rows, largest] > 0, largest, -1)
        left[rows, largest] = 0.0
    return top


# ----------------------------------------------------------------- statistics of a PCA


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearStatistics(Statistics):
    """T2 and SPE of rows that a PCA has centred and scaled.

    Attributes
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    noise : float or None
        Variance along every other direction, for rows with missing values, which are NaN; None for complete
        rows only.

    Notes
    -----
    Under the normal model the observed entries O of a row are ``c_O = P_O t + noise``, with variances l of t
    and s of the noise. With ``W = P_O sqrt(l - s)``, of rank q, and ``z`` the least squares solution of
    ``W z = c_O``, ``T2 = z.T inv(I + s inv(W.T W)) z`` is chi squared with q degrees of freedom, and
    ``|c_O - W z|^2 / s`` independently of it with ``|O| - q``. Both are turned into the values with the same
    probabilities for a complete row, whose T2 and SPE they equal without missing values. T2 is NaN for
    q = 0, and SPE for ``|O| = q``.
    """

    directions: FloatArray
    explains: ClassVar = True

    def measured(self, C: FloatArray) -> FloatArray:
        """Return T2 and SPE of centred, scaled rows of shape (b, d): shape (b, 2).

        ``T2 = sum_j t_j^2 / l_j`` with scores t and variances l; ``SPE = |c - c_hat|^2``.
        """
        scores = C @ self.directions.T
        residuals = C - scores @ self.directions
        values = np.stack([t2_of(scores, self.variances), np.sum(residuals**2, axis=1)], axis=1)
        if self.noise is not None and (holed := np.isnan(C).any(axis=1)).any():
            values[holed] = self._of_observed(C[holed], self.noise)[0]
        return values

    def contributions(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how much T2, and SPE, fall if one column is reconstructed; both of shape (b, d).

        With ``T2 = c.T M c`` for ``M = P inv(L) P.T`` and ``SPE = c.T M c`` for ``M = I - P P.T``, column i
        contributes ``(M c)_i^2 / M_ii``. That is 0 for a missing value.
        """
        scores = C @ self.directions.T
        to_t2 = _reconstructed(
            (scores / self.variances) @ self.directions,
            np.sum(self.directions.T**2 / self.variances, axis=1),
            float(self.variances.max()),
        )
        to_spe = _reconstructed(self.residuals(C), 1 - np.sum(self.directions**2, axis=0))
        if self.noise is not None and (holed := np.isnan(C).any(axis=1)).any():
            _, to_t2[holed], to_spe[holed] = self._of_observed(C[holed], self.noise, explain=True)
        return to_t2, to_spe

    def residuals(self, C: FloatArray) -> FloatArray:
        """Return complete rows less their projections."""
        return np.asarray(C - (C @ self.directions.T) @ self.directions)

    def discarded(self, rows: Rows, degrees: float) -> FloatArray | None:
        """Return the variances of the residuals of the rows of the fit, if there are not too many columns."""
        d = rows.shape[1]
        if d > MOST_COLUMNS or not rows.in_one_place:
            return None
        squares = np.zeros((d, d))
        for block in self.blocks(rows):
            residuals = self.residuals(block)
            squares += residuals.T @ residuals
        return np.maximum(eigenvalues(squares / degrees), 0.0)

    def _of_observed(
        self, C: FloatArray, s: float, *, explain: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return T2 and SPE of rows with missing values, and what columns contribute if that is asked for."""
        observed, (k, d) = ~np.isnan(C), self.directions.shape
        W, X = self.directions.T * np.sqrt(np.maximum(self.variances - s, 0.0)), np.where(observed, C, 0.0)
        patterns, y = Patterns.of(observed), X @ W
        z, b, ranks = np.empty_like(y), np.empty_like(y), np.empty(len(X))
        of_t2, of_spe = (np.zeros(X.shape if explain else (0, d)) for _ in BOTH)
        for batch, here, which in patterns.batches(k):
            e, V = np.linalg.eigh(grams(patterns.masks[batch], W))
            determined = e > DETERMINED * self.variances.max()
            ranks[here] = determined.sum(axis=1)[which]
            e = np.where(determined, e, np.inf)
            if explain:
                squares = np.matmul(W, V) ** 2
                of_t2[here] = np.sum(squares / (e * (e + s))[:, None, :], axis=2)[which]
                of_spe[here] = 1 - np.sum(squares / e[:, None, :], axis=2)[which]
            e, V = e[which], V[which]
            u = np.einsum("nij,ni->nj", V, y[here]) / e
            z[here], b[here] = (np.einsum("nij,nj->ni", V, vector) for vector in (u, u / (e + s)))
        by_t2, residuals = np.where(observed, b @ W.T, 0.0), np.where(observed, X - z @ W.T, 0.0)
        t2, spe = np.sum(X * by_t2, axis=1), np.sum(residuals**2, axis=1)
        values = np.stack([equally_probable(t2, ranks, k), spe], axis=1)
        free = observed.sum(axis=1) - ranks
        if d > k and s > 0:
            values[:, 1] = s * equally_probable(spe / s, free, d - k)
        if not explain:
            return values, X[:0], X[:0]
        to_t2 = _reconstructed(by_t2, of_t2, float(self.variances.max())) * _share(values[:, 0], t2)
        return values, to_t2, _reconstructed(residuals, of_spe) * _share(values[:, 1], spe)


def _reconstructed(product: FloatArray, diagonal: FloatArray, unit: float = 1.0) -> FloatArray:
    """Return ``(M c)_i^2 / M_ii``; 0 where the statistic does not depend on the column."""
    some = diagonal * unit > NEGLIGIBLE
    roots = product * np.where(some, 1 / np.sqrt(np.where(some, diagonal, 1.0)), 0.0)
    return np.asarray(np.square(roots, out=roots))


def _share(values: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole`` as a column; 1 for 0 of 0."""
    some = whole > 0
    return np.asarray(np.where(some, values, 1.0 + 0.0 * values) / np.where(some, whole, 1.0))[:, None]


def equally_probable(values: FloatArray, degrees: FloatArray, wanted: int) -> FloatArray:
    """Return values of chi squared with other degrees of freedom that are exceeded with equal probability.

    The cube root of chi squared is taken for normal. Values without degrees of freedom are NaN.

    References
    ----------
    Wilson and Hilferty (1931), The distribution of chi-square, Proceedings of the National Academy of
    Sciences 17.

    Examples
    --------
    >>> equally_probable(np.array([3.841, 18.307]), np.array([1, 10]), 10).round(1)
    array([18.5, 18.3])
    """
    now, other = 2 / (9 * np.where(degrees > 0, degrees, np.nan)), 2 / (9 * wanted)
    z = (np.cbrt(values * 9 / 2 * now) - 1 + now) / np.sqrt(now)
    return np.asarray(wanted * np.maximum(1 - other + z * math.sqrt(other), 0.0) ** 3)


def t2_of(scores: FloatArray, variances: FloatArray) -> FloatArray:
    """Return Hotelling's T squared of scores of shape (b, k): ``sum_j t_j^2 / l_j``."""
    return np.asarray(np.sum(scores**2 / variances, axis=1))


# ------------------------------------------------------ statistics of a kernel PCA


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelStatistics(Statistics):
    """T2 and SPE of rows in the feature space of a kernel.

    Attributes
    ----------
    space : FeatureSpace
        Of the model, in NumPy.
    """

    space: FeatureSpace

    @property
    def explains(self) -> bool:
        """Whether the kernel is a smooth function of distances, whose derivatives give contributions."""
        return bool(self.space.evaluator.kernel.smooth)

    def measured(self, X: FloatArray) -> FloatArray:
        """Return T2 and SPE of rows of shape (b, d): shape (b, 2).

        SPE is the squared distance of the row from its projection in feature space,
        ``kc(x, x) - sum_j t_j^2`` with the centred kernel kc; 0 where rounding makes it negative.
        """
        scores, norms = self.space.coordinates(X)
        rest = norms - np.sum(scores**2, axis=1)
        return np.stack([t2_of(scores, self.variances), np.maximum(rest, 0.0)], axis=1)

    def contributions(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(x - mean) * dT2/dx / 2`` and ``(dSPE/dx / 2)^2``, both of shape (b, d).

        They are local: they say what a small change of a column would do, and do not sum to the statistic.
        """
        space = self.space
        scores, _ = space.coordinates(X)
        by_t2 = (scores / self.variances) @ space.coefficients.T
        by_rest = scores @ space.coefficients.T + space.mean_weights
        to_t2, to_rest = np.zeros_like(X), np.zeros_like(X)
        for chunk in space.tiles:
            slopes = space.evaluator.slopes(X, space.right[chunk, :])
            to_t2 += slopes.pull(by_t2[:, chunk])
            to_rest -= slopes.pull(by_rest[:, chunk])
        return (X - space.center) * to_t2, to_rest**2


# --------------------------------------------------------------- limits by theory


def t2_limit(
    alpha: float, n: float, k: int, *, of_fit: bool = False, centered: bool = True, ddof: float = 1.0
) -> float:
    """Return the limit of T2 that a normal row exceeds with probability alpha; infinite without freedom.

    With n rows in the fit and k components it is ``(n-1)^2 / n * Beta(1-alpha; k/2, (n-k-1)/2)`` for rows of
    the fit, and ``k (n-1) (n+1) / (n (n-k)) * F(1-alpha; k, n-k)`` for new rows.

    Parameters
    ----------
    alpha : float
    n : float
        Number of rows of the fit; with forgetting the effective number.
    k : int
    of_fit : bool
        Whether the row was in the fit.
    centered : bool
        False for second moments about 0: the degrees of freedom are then n.
    ddof : float
        The variances of the scores were divided by ``n - ddof``.

    References
    ----------
    Tracy, Young, Mason (1992), Multivariate control charts for individual observations, Journal of Quality
    Technology 24.

    Examples
    --------
    >>> round(t2_limit(0.05, 60, 3), 3), round(t2_limit(0.05, 60, 3, of_fit=True), 3)
    (8.734, 7.495)
    """
    degrees = n - 1.0 if centered else float(n)
    unit = (n - ddof) / degrees  # of variances that are not divided by the degrees of freedom
    if of_fit:
        spread = degrees * ((n - 1.0) / n if centered else 1.0)
        # With all n - 1 components T2 is the same for every row of the fit, but for rounding.
        if degrees <= k:
            return math.inf
        return unit * spread * float(special.betaincinv(k / 2, (degrees - k) / 2, 1 - alpha))
    rest = degrees - k + 1
    if rest <= 0:
        return math.inf
    return _unit_of_new(n, k, centered, ddof) * k * float(special.fdtri(k, rest, 1 - alpha))


def _unit_of_new(n: float, k: int, centered: bool, ddof: float) -> float:
    """Return what T2 of new rows over k is divided by for an F distribution."""
    degrees = n - 1.0 if centered else float(n)
    return (n - ddof) * (1.0 + 1.0 / n if centered else 1.0) / (degrees - k + 1)


def spe_limit(alpha: float, discarded: FloatArray) -> float:
    """Return the limit of SPE by Jackson and Mudholkar, from the discarded variances.

    With ``theta_i = sum l^i`` over the discarded variances and ``h = 1 - 2 theta1 theta3 / (3 theta2^2)`` it
    is ``theta1 (1 + z sqrt(2 theta2) h / theta1 + theta2 h (h - 1) / theta1^2)^(1/h)``, where z is the
    ``1 - alpha`` quantile of the normal distribution.

    Parameters
    ----------
    alpha : float
    discarded : ndarray
        All discarded variances, some of them above 0.

    References
    ----------
    Jackson and Mudholkar (1979), Control procedures for residuals associated with principal component
    analysis, Technometrics 21.

    Examples
    --------
    >>> round(spe_limit(0.05, np.ones(7)), 2)  # the quantile of chi squared with 7 degrees of freedom: 14.07
    14.05
    """
    unit = float(np.max(discarded))  # so that powers stay in range
    first, two, three = (float(np.sum((discarded / unit) ** power)) for power in (1, 2, 3))
    h = 1 - 2 * first * three / (3 * two * two)
    z = float(special.ndtri(1 - alpha))
    if abs(h) < 1e-8:  # the limit of the formula
        return unit * first * math.exp(z * math.sqrt(2 * two) / first - two / first**2)
    inside = 1 + z * math.sqrt(2 * two) * h / first + two * h * (h - 1) / first**2
    # Of few unequal variances the power may leave the real numbers: Box's limit of the same moments.
    return unit * first * inside ** (1 / h) if inside > 0 else unit * box_limit(alpha, first, 2 * two)


def box_limit(alpha: float, mean: float, variance: float, count: float = math.inf) -> float:
    """Return ``g * chi2(1-alpha; h)`` with ``g = variance / (2 mean)``, ``h = 2 mean^2 / variance``.

    Moments of a few rows are uncertain: the mean then divides by ``chi2(count h) / (count h)``, which makes
    the limit ``mean * F(1-alpha; h, count h)``, and h is less its bias ``(2 h + 6) / count``.

    Parameters
    ----------
    alpha : float
    mean, variance : float
        Of SPE on normal rows.
    count : float
        Number of these rows.

    References
    ----------
    Box (1954), Some theorems on quadratic forms applied in the study of analysis of variance problems I,
    Annals of Mathematical Statistics 25.

    Examples
    --------
    >>> round(box_limit(0.05, 7.0, 14.0), 2), round(box_limit(0.05, 7.0, 14.0, 15), 2)
    (14.07, 15.69)
    """
    if not variance > 0:
        return mean
    h = 2 * mean**2 / variance
    if math.isinf(count):
        return float(2 * mean / h * special.gammaincinv(h / 2, 1 - alpha))
    h = max(h - (2 * h + 6) / count, 1.0)
    return float(mean * special.fdtri(h, count * h, 1 - alpha))


# ----------------------------------------------------------- limits of held-out rows


def of_all_rows(held_out: FloatArray, of_fit: FloatArray, share: float) -> FloatArray:
    """Return statistics of held-out rows as a model of all rows would give them.

    The models that gave them were fitted to a share of the rows, and are further from the truth. Medians of
    new rows and of rows of the fit differ from their common limit by as much, in proportion to 1 over the
    number of rows of the fit.

    Parameters
    ----------
    held_out : ndarray of shape (m, s)
    of_fit : ndarray of shape (n, s)
        Statistics of the rows of the fit by the model of all rows.
    share : float
    """
    if not (len(held_out) and len(of_fit)):
        return held_out
    medians = np.median(held_out, axis=0)
    ratios = np.median(of_fit, axis=0) / np.where(medians > 0, medians, 1.0)
    nearer = 2 * share / (1 + share)
    return held_out * (nearer + (1 - nearer) * ratios)


def correlation_times(values: FloatArray) -> tuple[float, ...]:
    """Return how many rows in order say as much as one independent row, at least 1, for each statistic.

    That is ``1 + 2 sum_j r_j`` with the autocorrelations r of its ranks, up to the first that is not
    positive and to a quarter of the rows: the factor by which the variance of a mean is larger than that of
    independent rows. It is 1 where the first one is not significant. Autocorrelations about the mean of m
    rows fall short of the true ones by about an m-th of this factor, which is added.

    Parameters
    ----------
    values : ndarray of shape (m, s)
        In the order of time.

    References
    ----------
    Marriott and Pope (1954), Bias in the estimation of autocorrelations, Biometrika 41. Geyer (1992),
    Practical Markov chain Monte Carlo, section 3.3, for the positive ones.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 1))
    >>> correlation_times(rows)
    (1.0,)
    >>> [round(time) for time in correlation_times(np.repeat(rows, 4, axis=0))]
    [4]
    """
    m = len(values)
    if m < 3:
        return tuple(1.0 for _ in values.T)
    ranks = stats.rankdata(values, "max", axis=0) / m
    ranks -= ranks.mean(axis=0)
    power = np.abs(np.fft.rfft(ranks, 2 * m, axis=0)) ** 2
    products = np.fft.irfft(power, 2 * m, axis=0)
    r = products[1:m] / np.where(products[0] > m * EPS, products[0], np.inf)
    return tuple(_time_of(column, m) for column in r.T)


def _time_of(r: FloatArray, m: int) -> float:
    """Return ``1 + 2 sum_j r_j`` of the autocorrelations of m values, without their bias."""
    if r[0] <= special.ndtri(1 - SIGNIFICANT) / math.sqrt(m):
        return 1.0
    positive = np.logical_and.accumulate(r[: m // 4] > 0)
    # Each of these falls short by time / m, which makes the sum an equation for the time.
    return (1 + 2 * float(np.sum(r[: m // 4][positive]))) / (1 - 2 * int(np.count_nonzero(positive)) / m)


def empirical_limits(alpha: float, values: FloatArray) -> FloatArray | None:
    """Return limits that a share alpha of held-out normal rows exceeds, in any of the statistics.

    Each row gets the larger of its ranks in the statistics. The limits are the values at the rank that a
    share alpha of the rows exceeds, so both statistics have the same level; between two ranks they are
    interpolated. A new row counts as one more above the limit of each statistic, so that it has an alarm with
    a probability of about alpha (with exchangeable rows).

    Parameters
    ----------
    alpha : float
    values : ndarray of shape (m, s)
        Statistics of rows that the model has not seen.

    Returns
    -------
    ndarray of shape (s,), or None
        None for fewer than about ``s / alpha`` rows, which have no such rank.

    References
    ----------
    Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world, for the rank of one more row.

    Examples
    --------
    >>> empirical_limits(0.1, np.arange(1.0, 21.0)[:, None])
    array([18.9])
    """
    m, s = values.shape
    if not m:
        return None
    ranks = stats.rankdata(values, "max", axis=0)
    steps, counts = np.unique(ranks.max(axis=1), return_counts=True)
    below = np.cumsum(counts)
    needed = (m + s - alpha * (m + 1)) * (1 - 1e-12)
    index = int(np.searchsorted(below, needed))
    if index == len(below):
        return None
    first, second = (
        np.where(ranks <= steps[step], values, 0.0).max(axis=0) for step in (max(index - 1, 0), index)
    )
    if index == 0:
        return np.asarray(second)
    nearer = (needed - below[index - 1]) / (below[index] - below[index - 1])
    return np.asarray(first + nearer * (second - first))


# ------------------------------------------------------------------ all limits


@dataclass(frozen=True)
class ControlLimit:
    """A limit of a statistic.

    Attributes
    ----------
    statistic : {"T2", "SPE"}
    rows : {"fit", "new"}
        The rows that it applies to.
    method : {"Beta", "F", "scaled F", "Jackson-Mudholkar", "Box", "empirical", "largest", "none"}
    value : float
        Infinite where no method gives a limit.
    decides : bool
        Whether alarms follow from it.
    """

    statistic: str
    rows: str
    method: str
    value: float
    decides: bool = False


@dataclass(frozen=True, repr=False)
class ControlLimits(Tabulated):
    """The limits of T2 and SPE by all methods; prints as a table.

    Attributes
    ----------
    alpha : float
        Share of normal rows with an alarm in T2, SPE or both.
    level : float
        The level of each limit by theory: ``1 - (1 - alpha)^(1/2)`` for two statistics, which are
        independent for normal rows.
    limits : tuple of ControlLimit
    held_out : int
        Number of held-out normal rows.
    sentences : tuple of str
        What to know of the limits: too few rows, rows that depend on each other, disagreement of theory and
        held-out rows, and limits that are missing with the reason.
    effective_rows : float or None
        Number of independent rows that say as much as the held-out ones: these over ``1 + 2 sum_j r_j``, with
        the autocorrelations r of the ranks of T2 or SPE, whichever are larger. None without held-out rows.
    """

    alpha: float
    level: float
    limits: tuple[ControlLimit, ...]
    held_out: int
    sentences: tuple[str, ...] = ()
    effective_rows: float | None = None

    def deciding(self, rows: str = "new") -> dict[str, float]:
        """Return the limits that decide: T2, and SPE where there is one.

        Parameters
        ----------
        rows : {"new", "fit"}
        """
        return {limit.statistic: limit.value for limit in self.limits if limit.rows == rows and limit.decides}

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"Limits for {percent(self.alpha)} false alarms in total."
        rows = [(c.statistic, c.rows, c.method, c.value, "decides" if c.decides else "") for c in self.limits]
        yield Grid(("", "rows", "method", "limit", ""), rows, ("", "", "", ".6g", ""))
        yield from self.sentences


@dataclass(eq=False)
class Known:
    """What is known of a fitted model and of normal rows, for its limits.

    Attributes
    ----------
    n : float
        Effective number of rows of the fit.
    k : int
        Components with a variance above 0.
    centered : bool
    ddof : float
    without_spe : str
        Why there is no SPE; "" if there is.
    discarded : ndarray or None
        All discarded variances; None where they are not all known.
    own : ndarray of shape (n, s) or None
        Statistics of the rows of the fit.
    held_out : ndarray of shape (m, s)
        Statistics of normal rows that the model has not seen, in the order of time if there is one.
    """

    n: float
    k: int
    centered: bool
    ddof: float
    without_spe: str
    discarded: FloatArray | None
    own: FloatArray | None = None
    held_out: FloatArray = field(default_factory=lambda: np.empty((0, 2)))

    @property
    def degrees(self) -> float:
        """What sums of squares of scores are divided by."""
        return self.n - self.ddof

    @cached_property
    def times(self) -> tuple[float, ...]:
        """Held-out rows that say as much as an independent one, for each statistic."""
        return correlation_times(self.held_out)

    @property
    def independent(self) -> float:
        """Number of independent rows that say as much as the held-out ones."""
        return len(self.held_out) / max(self.times)

    @property
    def too_few(self) -> str:
        """A sentence for fewer independent rows of the fit than five for each component; else ""."""
        independent, rows = self.n / max(self.times), f"{self.n:.4g} rows are"
        least = ROWS_PER_COMPONENT * self.k
        if independent >= least:
            return ""
        if independent < self.n:
            rows = f"{self.n:.4g} rows say as much as {independent:.2g} independent ones, which are"
        return (
            f"{rows} few for limits with {counted(self.k, 'component')}: alarms may be far more or fewer "
            f"than requested. Fit at least {math.ceil(least * max(self.times)):,} rows, or fewer components."
        )


def control_limits(alpha: float, reference: Known, prefer: str = "empirical") -> ControlLimits:
    """Return the limits by all methods.

    Parameters
    ----------
    alpha : float
        Share of alarms among normal rows, in total.
    reference : Known
    prefer : {"empirical", "theory"}
        What decides for new rows, if it is there.
    """
    names = BOTH[: 1 if reference.without_spe else 2]
    level = 1 - (1 - alpha) ** (1 / len(names))
    spe_of_fit = _jackson_mudholkar(level, reference, of_fit=True)
    if reference.own is not None and len(reference.own) > 1:
        spe_of_fit.append(("Box", _box_limit(level, reference.own[:, 1])))
    of_fit = {"T2": [("Beta", _t2_limit(level, reference, of_fit=True))], "SPE": spe_of_fit}
    theory = [("F", _t2_limit(level, reference)), *_jackson_mudholkar(level, reference)]
    tail = _tail_limits(level, reference)
    measured = empirical_limits(alpha, reference.held_out)
    heavy = measured is None and prefer != "theory" and len(tail) == len(names)
    if heavy:  # a value is beyond what theory lets hardly any sample of so many rows reach
        count = reference.independent * reference.held_out.shape[1]
        reached = [value for _, value in _tail_limits(-math.expm1(math.log1p(-RARE) / count), reference)]
        heavy = bool(np.any(reference.held_out.max(axis=0) > reached))
    # A new row exceeds the largest of m others with a probability of 1 / (m + 1), whatever the tails.
    method, values = ("largest", reference.held_out.max(axis=0)) if heavy else ("empirical", measured)
    empirical: list[tuple[str, float]] = [
        (method, value) for value in ([] if values is None else values.tolist())
    ]
    # Rows that say too little do not reach the tail, and theory does not know how heavy it is.
    few = reference.independent < len(names) / alpha - 1 and max(reference.times) > 1
    either = heavy or (measured is not None and few and len(tail) == len(names))
    pairs = zip(empirical, tail, strict=True) if either else ()
    larger: list[tuple[str, float]] = [max(pair, key=itemgetter(1)) for pair in pairs]
    sentences = [
        reference.too_few,
        _dependence(reference, measured is not None and bool(larger)),
        reference.without_spe,
    ]
    if len(names) == 2 and reference.discarded is None:
        sentences.append("The discarded variances are not all known: no limit by Jackson-Mudholkar.")
    if measured is not None and len(theory) == len(names):
        sentences.append(_disagreement(alpha, reference, [value for _, value in theory]))
    if measured is None and len(reference.held_out):
        sentences.append(
            f"{counted(len(reference.held_out), 'held-out row is', 'held-out rows are')} too few for an "
            f"empirical limit at {percent(alpha)}, which needs {math.ceil(len(names) / alpha) - 1:,}. "
            + (HEAVY if heavy else "Theory decides.")
        )
    choices = [tail, theory, empirical] if prefer == "theory" else [larger, empirical, tail, theory]
    decides = next((choice for choice in choices if len(choice) == len(names)), theory)
    if len(decides) < len(names):
        sentences.append(
            "SPE has no limit: the fit did not compute all discarded variances, and there are too few "
            "held-out rows. Set the limits by normal rows."
        )
    limits = []
    for index, name in enumerate(names):
        fit_limits = of_fit[name] or [("none", math.inf)]
        limits += [ControlLimit(name, "fit", *choice, choice is fit_limits[0]) for choice in fit_limits]
        new = [made[index] for made in (theory, tail, empirical) if len(made) > index]
        if len(decides) <= index:
            decides = [*decides, ("none", math.inf)]
            new.append(decides[index])
        limits += [ControlLimit(name, "new", *choice, choice is decides[index]) for choice in new]
    count, remarks = len(reference.held_out), tuple(filter(None, sentences))
    rows = reference.independent if count else None
    return ControlLimits(alpha, level, tuple(limits), count, remarks, rows)


def _t2_limit(level: float, reference: Known, *, of_fit: bool = False) -> float:
    n = reference.n if of_fit else reference.n / reference.times[0]
    return t2_limit(level, n, reference.k, of_fit=of_fit, centered=reference.centered, ddof=reference.ddof)


def _jackson_mudholkar(level: float, reference: Known, *, of_fit: bool = False) -> list[tuple[str, float]]:
    """Return the limit of SPE of new rows, or of those of the fit.

    Errors of the mean and of k directions raise SPE of a new row by about ``(k + 1) / n``.
    """
    if reference.discarded is None or reference.without_spe:
        return []
    factor = 1.0 if of_fit else 1 + (reference.k + 1) * reference.times[1] / reference.n
    return [("Jackson-Mudholkar", factor * spe_limit(level, reference.discarded))]


def _tail_limits(level: float, reference: Known) -> list[tuple[str, float]]:
    """Return limits by the distributions for normal rows, with the moments of held-out rows.

    T2 has its distribution F only for directions that do not depend on the rows. Noise in the directions
    makes it smaller, so F is multiplied by the ratio of the means. The ratio is uncertain as
    ``F(k, m k) / chi2(k)`` for m held-out rows; if 1 is within, F stays.
    """
    (m, *of_spe), k = (len(reference.held_out) / time for time in reference.times), reference.k
    if not min((m, *of_spe)) > 1:
        return []
    mean = reference.held_out.mean(axis=0)
    limit, n = _t2_limit(level, reference), reference.n / reference.times[0]
    rest = (n - 1.0 if reference.centered else n) - k + 1
    if rest > 2:
        unit = _unit_of_new(n, k, reference.centered, reference.ddof)
        ratio = float(mean[0]) / (unit * k * rest / (rest - 2))
        spread = float(special.fdtri(k, m * k, 1 - level) / (special.gammaincinv(k / 2, 1 - level) * 2 / k))
        limit *= min(max(1.0, ratio), ratio * spread)
    boxes = [("Box", _box_limit(level, reference.held_out[:, 1], m)) for m in of_spe]
    return [("scaled F", limit), *boxes]


def _box_limit(level: float, values: FloatArray, count: float = math.inf) -> float:
    """Return Box's limit by the moments of values, whose squares may be beyond float64."""
    mean = float(values.mean())
    if not mean > 0:
        return mean
    variance = float(np.mean((values / mean - 1) ** 2))
    variance = variance if math.isinf(count) else variance * count / (count - 1)
    return mean * box_limit(level, 1.0, variance, count)


def _dependence(reference: Known, larger: bool) -> str:
    """Say that the normal rows depend on their neighbours, so that they tell less than their number."""
    m = len(reference.held_out)
    if not m or reference.independent > DEPENDENT * m:
        return ""
    way = " The larger of the limits by theory and by their ranks decides." if larger else ""
    return (
        f"Normal rows depend on their neighbours: {m:,} held-out rows say as much as "
        f"{reference.independent:,.0f} independent ones, and limits are as uncertain as theirs.{way}"
    )


def _disagreement(alpha: float, reference: Known, limits: list[float]) -> str:
    """Say that theory's limits give another share of alarms on held-out rows than was asked for."""
    beyond = np.any(reference.held_out > np.asarray(limits), axis=1)
    rate = float(beyond.mean())
    error = math.sqrt(alpha * (1 - alpha) / len(beyond))
    if alpha / FACTOR <= rate <= FACTOR * alpha or abs(rate - alpha) <= ERRORS * error:
        return ""
    return (
        f"The limits by theory give {percent(rate)} alarms on {len(beyond):,} held-out normal rows, "
        f"{rate / alpha:.2g} times the {percent(alpha)} requested: these rows are not independent normal "
        "rows."
    )
