"""Is a row like the rows of the fit: T squared and SPE, their limits, and the columns that cause them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from gramian.analysis.preimages import FeatureSpace
from gramian.arrays import as_float64
from gramian.checks import counted, percent
from gramian.notebook import Grid, Tabulated
from gramian.records import FloatArray

BOTH = ("T2", "SPE")
# Theory is contradicted where its alarms differ from alpha by this factor, and by so many standard errors.
FACTOR, ERRORS = 2.0, 2.0
# The sum of T2 over the rows of the fit is known; rounding leaves it within this share.
SAME_ROWS = 1e-4


# ----------------------------------------------------------------- statistics of a PCA


@dataclass(frozen=True, eq=False)
class LinearStatistics:
    """T2 and SPE of rows that a PCA has centred and scaled.

    Attributes
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    variances : ndarray of shape (k,)
        Of the scores, above 0.
    """

    directions: FloatArray
    variances: FloatArray

    def measured(self, C: FloatArray) -> FloatArray:
        """Return T2 and SPE of centred, scaled rows of shape (b, d): shape (b, 2).

        ``T2 = sum_j t_j^2 / l_j`` with scores t and variances l; ``SPE = |c - c_hat|^2``.
        """
        scores = C @ self.directions.T
        residuals = C - scores @ self.directions
        return np.stack([t2_of(scores, self.variances), np.sum(residuals**2, axis=1)], axis=1)

    def contributions(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column contributes to T2, and the residuals; both of shape (b, d).

        Column i contributes ``c_i * sum_j t_j / l_j p_ij`` to T2: the sum over columns is T2, and a
        contribution may be negative. Squares of the residuals ``c_i - c_hat_i`` sum to SPE.
        """
        scores = C @ self.directions.T
        return C * ((scores / self.variances) @ self.directions), C - scores @ self.directions


def t2_of(scores: FloatArray, variances: FloatArray) -> FloatArray:
    """Return Hotelling's T squared of scores of shape (b, k): ``sum_j t_j^2 / l_j``."""
    return np.asarray(np.sum(scores**2 / variances, axis=1))


@dataclass(frozen=True, eq=False)
class ScoreStatistics:
    """T2 of rows of which only scores are known.

    Attributes
    ----------
    variances : ndarray of shape (r,)
        Of the scores, above 0.
    """

    variances: FloatArray

    def measured(self, scores: FloatArray) -> FloatArray:
        """Return T2 of scores of shape (b, r), and 0 for SPE: shape (b, 2)."""
        t2 = t2_of(scores, self.variances)
        return np.stack([t2, np.zeros(len(t2))], axis=1)


# ------------------------------------------------------ statistics of a kernel PCA


@dataclass(frozen=True, eq=False)
class KernelStatistics:
    """T2 and SPE of rows in the feature space of a kernel.

    Attributes
    ----------
    space : FeatureSpace
        Of the model, in NumPy.
    variances : ndarray of shape (r,)
        Of the scores, above 0.
    """

    space: FeatureSpace
    variances: FloatArray

    def measured(self, X: FloatArray) -> FloatArray:
        """Return T2 and SPE of rows of shape (b, d): shape (b, 2).

        SPE is the squared distance of the row from its projection in feature space,
        ``kc(x, x) - sum_j t_j^2`` with the centred kernel kc; 0 where rounding makes it negative.
        """
        scores, norms = self.space.coordinates(X)
        rest = norms - np.sum(scores**2, axis=1)
        return np.stack([t2_of(scores, self.variances), np.maximum(rest, 0.0)], axis=1)

    def contributions(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(x - mean) * dT2/dx / 2`` and ``dSPE/dx / 2``, both of shape (b, d).

        With the linear kernel they are those of :class:`LinearStatistics`. With others they are local: they
        say what a small change of a column would do, and do not sum to the statistic.
        """
        space = self.space
        scores, _ = space.coordinates(X)
        by_t2 = (scores / self.variances) @ space.coefficients.T
        by_rest = scores @ space.coefficients.T + space.mean_weights
        to_t2, to_rest = np.zeros_like(X), 0.5 * as_float64(space.evaluator.diagonal_slopes(X).gradient)
        for part in space.tiles:
            slopes = space.evaluator.slopes(X, space.right[part, :])
            to_t2 += slopes.pull(by_t2[:, part])
            to_rest -= slopes.pull(by_rest[:, part])
        return (X - space.center) * to_t2, to_rest


# --------------------------------------------------------------- limits by theory


def t2_limit(
    alpha: float, n: float, k: int, *, of_fit: bool = False, centered: bool = True, ddof: float = 1.0
) -> float:
    """Return the limit of T2 that a normal row exceeds with probability alpha.

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
        # With all n - 1 components T2 is the same for every row of the fit.
        share = 1.0 if degrees <= k else float(special.betaincinv(k / 2, (degrees - k) / 2, 1 - alpha))
        return unit * spread * share
    rest = degrees - k + 1
    if rest <= 0:
        return math.inf
    factor = (1.0 + 1.0 / n if centered else 1.0) * degrees * k / rest
    return float(unit * factor * special.fdtri(k, rest, 1 - alpha))


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
    one, two, three = (float(np.sum((discarded / unit) ** power)) for power in (1, 2, 3))
    h = 1 - 2 * one * three / (3 * two * two)
    z = float(special.ndtri(1 - alpha))
    if abs(h) < 1e-8:  # the limit of the formula
        return unit * one * math.exp(z * math.sqrt(2 * two) / one - two / one**2)
    inside = 1 + z * math.sqrt(2 * two) * h / one + two * h * (h - 1) / one**2
    # Of few unequal variances the power may leave the real numbers: Box's limit of the same moments.
    return unit * one * inside ** (1 / h) if inside > 0 else unit * box_limit(alpha, one, 2 * two)


def box_limit(alpha: float, mean: float, variance: float) -> float:
    """Return ``g * chi2(1-alpha; h)`` with ``g = variance / (2 mean)``, ``h = 2 mean^2 / variance``.

    Parameters
    ----------
    alpha : float
    mean, variance : float
        Of SPE on normal rows.

    References
    ----------
    Box (1954), Some theorems on quadratic forms applied in the study of analysis of variance problems I,
    Annals of Mathematical Statistics 25.

    Examples
    --------
    >>> round(box_limit(0.05, 7.0, 14.0), 2)
    14.07
    """
    if not variance > 0:
        return mean
    return float(variance / mean * special.gammaincinv(mean**2 / variance, 1 - alpha))


# ----------------------------------------------------------- limits of held-out rows


def empirical_limits(alpha: float, values: FloatArray, weights: FloatArray) -> FloatArray | None:
    """Return limits that a share alpha of held-out normal rows exceeds, in any of the statistics.

    Each row gets the larger of its ranks in the statistics. The limits are the values at the rank that a
    share alpha of the rows exceeds, so both statistics have the same level. A new row of the same
    distribution counts as one more, so that its probability of an alarm is at most alpha (with equal weights
    and exchangeable rows).

    Parameters
    ----------
    alpha : float
    values : ndarray of shape (m, s)
        Statistics of rows that the model has not seen.
    weights : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (s,), or None
        None for fewer than about ``1 / alpha`` rows, which have no such rank.

    References
    ----------
    Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world, for the rank of one more row.

    Examples
    --------
    >>> empirical_limits(0.1, np.arange(1.0, 21.0)[:, None], np.ones(20))
    array([19.])
    """
    if not len(values):
        return None
    total = float(weights.sum())
    ranks = [_shares_up_to(column, weights / total) for column in values.T]
    largest = np.max(ranks, axis=0)
    order = np.argsort(largest, kind="stable")
    below = np.cumsum(weights[order])
    needed = (1 - alpha) * (total + float(weights.max()))
    place = int(np.searchsorted(below, needed * (1 - 1e-12)))
    if place == len(order):
        return None
    rank = largest[order[place]]
    return np.array([column[own <= rank].max() for column, own in zip(values.T, ranks, strict=True)])


def _shares_up_to(column: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the share of the weights at or below each value."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    last = np.searchsorted(ordered, ordered, side="right") - 1
    shares = np.empty(len(column))
    shares[order] = np.cumsum(weights[order])[last]
    return shares


def are_rows_of_the_fit(t2: FloatArray, n: int, k: int, degrees: float) -> bool:
    """Return whether T2 of these rows sums to what it does for the rows of the fit: ``degrees * k``.

    The sum is a property of the fit: the mean square of a score is its variance. New rows have it by chance
    only.
    """
    return len(t2) == n and abs(float(t2.sum()) - degrees * k) <= SAME_ROWS * degrees * k


# ------------------------------------------------------------------ all limits


@dataclass(frozen=True)
class ControlLimit:
    """A limit of a statistic.

    Attributes
    ----------
    statistic : {"T2", "SPE"}
    rows : {"fit", "new"}
        The rows that it applies to.
    method : {"Beta", "F", "Jackson-Mudholkar", "Box", "empirical", "none"}
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
        Disagreement of theory and held-out rows, and limits that are missing with the reason.
    """

    alpha: float
    level: float
    limits: tuple[ControlLimit, ...]
    held_out: int
    sentences: tuple[str, ...] = ()

    def deciding(self, rows: str = "new") -> dict[str, float]:
        """Return the limits that decide: T2, and SPE where there is one.

        Parameters
        ----------
        rows : {"new", "fit"}
        """
        return {one.statistic: one.value for one in self.limits if one.rows == rows and one.decides}

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"Limits for {percent(self.alpha)} false alarms in total."
        rows = [
            (one.statistic, one.rows, one.method, one.value, "decides" if one.decides else "")
            for one in self.limits
        ]
        yield Grid(("", "rows", "method", "limit", ""), rows, ("", "", "", ".6g", ""))
        yield from self.sentences


@dataclass(frozen=True, eq=False)
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
        Statistics of normal rows that the model has not seen.
    weights : ndarray of shape (m,)
    """

    n: float
    k: int
    centered: bool
    ddof: float
    without_spe: str
    discarded: FloatArray | None
    own: FloatArray | None = None
    held_out: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    weights: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def degrees(self) -> float:
        """What sums of squares of scores are divided by."""
        return self.n - self.ddof


def control_limits(alpha: float, known: Known, prefer: str = "empirical") -> ControlLimits:
    """Return the limits by all methods.

    Parameters
    ----------
    alpha : float
        Share of alarms among normal rows, in total.
    known : Known
    prefer : {"empirical", "theory"}
        What decides for new rows, if it is there.
    """
    count = 1 if known.without_spe else 2
    level = 1 - (1 - alpha) ** (1 / count)
    limits: list[ControlLimit] = []
    for rows, method in (("fit", "Beta"), ("new", "F")):
        value = t2_limit(
            level, known.n, known.k, of_fit=rows == "fit", centered=known.centered, ddof=known.ddof
        )
        limits.append(ControlLimit("T2", rows, method, value))
    sentences = []
    if not known.without_spe:
        limits += _spe_limits(level, known)
        if known.discarded is None:
            sentences.append("The discarded variances are not all known: no limit by Jackson-Mudholkar.")
    else:
        sentences.append(known.without_spe)
    # The first limit of each statistic.
    theory = {
        rows: {one.statistic: one for one in reversed(limits) if one.rows == rows} for rows in ("fit", "new")
    }
    measured = empirical_limits(alpha, known.held_out, known.weights)
    decides = {rows: set(theory[rows].values()) for rows in theory}
    if measured is not None:
        both = zip(BOTH[:count], measured.tolist(), strict=True)
        empirical = [ControlLimit(statistic, "new", "empirical", value) for statistic, value in both]
        limits += empirical
        if prefer == "empirical" or len(theory["new"]) < count:
            decides["new"] = set(empirical)
        if len(theory["new"]) == count:
            sentences += _disagreement(alpha, known, [theory["new"][name].value for name in BOTH[:count]])
    elif len(known.held_out):
        sentences.append(
            f"{counted(len(known.held_out), 'held-out row is', 'held-out rows are')} too few for an "
            f"empirical limit at {percent(alpha)}, which needs {math.ceil(1 / alpha) - 1:,}. Theory decides."
        )
    for rows, deciding in decides.items():
        if len(deciding) < count:
            limits.append(ControlLimit("SPE", rows, "none", math.inf))
            deciding.add(limits[-1])
    if len(theory["new"]) < count and measured is None:
        sentences.append(
            "SPE has no limit: the fit did not compute all discarded variances, and there are too few "
            "held-out rows. Set the limits by normal rows."
        )
    chosen = decides["fit"] | decides["new"]
    limits.sort(key=lambda one: (BOTH.index(one.statistic), one.rows))
    every = tuple(replace(one, decides=one in chosen) for one in limits)
    return ControlLimits(alpha, level, every, len(known.held_out), tuple(sentences))


def _spe_limits(level: float, known: Known) -> list[ControlLimit]:
    """Return the limits of SPE by theory; moments of rows that the fit has seen are for such rows only."""
    limits = []
    for rows, statistics in (("fit", known.own), ("new", known.held_out)):
        if known.discarded is not None:
            limits.append(ControlLimit("SPE", rows, "Jackson-Mudholkar", spe_limit(level, known.discarded)))
        if statistics is not None and len(statistics) > 1:
            weights = known.weights if rows == "new" else np.ones(len(statistics))
            mean = float(np.average(statistics[:, 1], weights=weights))
            variance = float(np.average((statistics[:, 1] - mean) ** 2, weights=weights))
            limits.append(ControlLimit("SPE", rows, "Box", box_limit(level, mean, variance)))
    return limits


def _disagreement(alpha: float, known: Known, limits: list[float]) -> list[str]:
    """Say that theory's limits give another share of alarms on held-out rows than was asked for."""
    beyond = np.any(known.held_out > np.asarray(limits), axis=1)
    rate = float(np.average(beyond, weights=known.weights))
    effective = float(known.weights.sum() ** 2 / np.sum(known.weights**2))
    error = math.sqrt(alpha * (1 - alpha) / effective)
    if alpha / FACTOR <= rate <= FACTOR * alpha or abs(rate - alpha) <= ERRORS * error:
        return []
    return [
        f"The limits by theory give {percent(rate)} alarms on {len(beyond):,} held-out normal rows, "
        f"{rate / alpha:.2g} times the {percent(alpha)} requested: these rows are not independent normal "
        "rows."
    ]


def top_contributors(contributions: FloatArray, count: int = 3) -> npt.NDArray[np.intp]:
    """Return the columns of the largest contributions of each row, largest first; -1 where there is none."""
    count = min(count, contributions.shape[1])
    top = np.argsort(-contributions, axis=1, kind="stable")[:, :count]
    return np.where(np.take_along_axis(contributions, top, axis=1) > 0, top, -1)
