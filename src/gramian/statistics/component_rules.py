"""What rules for the number of components are given, and what every rule hands back.

Rules are functions of spectra and arrays; whoever asks one that needs spectra of other data gives it a
function that finds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import special

from gramian.core.checks import counted
from gramian.core.notebook import Grid, InNotebook
from gramian.core.records import BoolArray, FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ComponentChoice(InNotebook):
    """What a rule says about the number of components, and why.

    Attributes
    ----------
    rule : str
        Its name.
    number : int or None
        How many components it finds, possibly 0; None where it has no answer, and ``sentence`` says why.
    evidence : dict of str to ndarray
        What was compared, column by column; ``"components"`` says which line is about which number.
    sentence : str
        The answer with the numbers that decided.
    at_least : bool
        Whether only a part of the spectrum was known, all of it belongs to the components, and there may be
        more.

    Examples
    --------
    >>> print(ComponentChoice("kaiser", 2, {}, "2 eigenvalues exceed their mean."))
    kaiser: 2 components. 2 eigenvalues exceed their mean.
    """

    rule: str
    number: int | None
    evidence: Mapping[str, FloatArray]
    sentence: str
    at_least: bool = False

    @property
    def answer(self) -> str:
        """The number in words: ``"3"``, ``"at least 3"`` or ``"-"``."""
        if self.number is None:
            return "-"
        return f"at least {self.number}" if self.at_least else str(self.number)

    @property
    def brief(self) -> str:
        """The answer in one line."""
        nouns = "component" if self.number == 1 else "components"
        sentence = f"{self.answer} {nouns}" if self.number is not None else "no answer"
        return f"{self.rule}: {sentence}. {self.sentence}"

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.brief
        if self.evidence:
            names = sorted(self.evidence, key=lambda name: (name != "components", name))
            rows = list(zip(*(self.evidence[name] for name in names), strict=True))
            yield Grid(names, rows, [".6g"] * len(names), most=20)


@dataclass(frozen=True, eq=False)
class Scree:
    """Eigenvalues of a covariance, as many as are known, with what rules need to know about the data.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The largest eigenvalues, descending, as variances in the units that were fitted.
    total : float
        Sum of all eigenvalues, known or not.
    n_samples : int
    n_features : int
        Number of columns.
    varying : int
        Number of columns that vary: a constant one carries neither signal nor noise.
    centered : bool
        Whether a mean was subtracted, which costs one row.
    degrees : float
        What sums of squares were divided by.
    tolerance : float
        Eigenvalues at or below this multiple of the largest one are rounding, and count as 0.
    """

    values: FloatArray
    total: float
    n_samples: int
    n_features: int
    varying: int
    centered: bool = True
    degrees: float = 1
    tolerance: float = 0.0

    @cached_property
    def known(self) -> FloatArray:
        """The eigenvalues, with 0 for those that are rounding."""
        values = np.asarray(self.values, dtype=np.float64)[: self.size]
        top = float(values[0]) if values.size else 0.0
        return np.where(values > max(self.tolerance * top, 0.0), values, 0.0)

    @cached_property
    def rows(self) -> int:
        """Number of rows that are independent of the mean."""
        return self.n_samples - int(self.centered)

    @cached_property
    def size(self) -> int:
        """How many eigenvalues can be different from 0."""
        return max(min(self.rows, self.varying), 0)

    @cached_property
    def whole(self) -> bool:
        """Whether every eigenvalue that can be different from 0 is known."""
        return self.known.size >= self.size

    @property
    def left(self) -> FloatArray:
        """Sum of the eigenvalues beyond the first 0, 1, ..., k ones, by the trace where some are unknown."""
        if self.whole:
            return np.concatenate([np.cumsum(self.known[::-1])[::-1], [0.0]])
        left = self.total - np.concatenate([[0.0], np.cumsum(self.known)])
        return np.maximum(left, 0.0)


def numbered(first: int, columns: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Return evidence with a column that counts components from ``first``."""
    length = len(next(iter(columns.values())))
    number = {"components": np.arange(first, first + length, dtype=np.float64)}
    return number | {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def leading(above: Any) -> int:
    """Return how many entries are true before the first one that is not."""
    above = np.asarray(above, dtype=bool)
    return int(above.size if above.all() else np.argmin(above))


def compared(
    rule: str,
    observed: FloatArray,
    threshold: FloatArray,
    names: tuple[str, str],
    what: str,
    *,
    beyond: float = 0.0,
    incomplete: bool = False,
) -> ComponentChoice:
    """Keep what exceeds its threshold, up to the first that does not.

    Parameters
    ----------
    rule : str
    observed, threshold : ndarray of shape (k,)
    names : tuple of two str
        Of the columns of the evidence.
    what : str
        The threshold in words.
    beyond : float
        The part of a threshold by which it must be exceeded to count: rounding.
    incomplete : bool
        Whether there are more that are not known.
    """
    number = leading(observed > threshold * (1 + beyond))
    sentence = f"{counted(number, names[0].replace('_', ' '))} exceed{'s' if number == 1 else ''} {what}"
    if number:
        sentence += f" (component {number}: {observed[number - 1]:.4g} > {threshold[number - 1]:.4g})"
    if number < observed.size:
        sentence += f"; component {number + 1} does not: {observed[number]:.4g} <= {threshold[number]:.4g}"
    evidence = numbered(1, dict(zip(names, (observed, threshold), strict=True)))
    return ComponentChoice(rule, number, evidence, sentence + ".", incomplete and number == observed.size)


# ------------------------- Rules of thumb that read the eigenvalues only

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
    return compared("kaiser", scree.known, mean, names, "the mean", beyond=SLACK, incomplete=not scree.whole)


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
    return compared("broken-stick", shares, pieces, names, what, beyond=SLACK, incomplete=not scree.whole)


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
    sentence = f"The fewest components that explain {what}: {number} explain {share}."
    if not result:
        sentence = f"The {number} known components explain {share}, less than {what}."
    return ComponentChoice("fraction", number, numbered(0, {"cumulative": shares}), sentence, not result)


def _first(reached: BoolArray) -> tuple[int, bool]:
    """Return the first number that reaches what is asked for, or the last one where none does."""
    result = bool(reached.any())
    return (int(np.argmax(reached)) if result else reached.size - 1), result


# ------------------------------------------------------ Minka's evidence

# Relative gap below which two eigenvalues count as this far apart: the logarithm of 0 would decide alone.
LEAST = 1e-15
SAME = 1e-10  # difference of two variances, relative to the largest, that is rounding


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
    uniform = np.cumsum(special.gammaln(half) - half * np.log(np.pi)) - k * np.log(2)
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
    d, variances = scree.varying, scree.known
    if scree.n_samples <= d:
        sentence = (
            f"Minka's evidence needs more rows than columns, and there are {scree.n_samples} rows x {d} "
            "columns that vary. Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
        return ComponentChoice("mle", None, {}, sentence)
    rank = int(np.sum(variances > 0))
    if d < 2 or rank == 0:
        return ComponentChoice("mle", rank, {}, f"{rank} of {d} columns that vary: nothing to compare.")
    if scree.whole and rank < d:
        why = f"{d - rank} of {d} eigenvalues are 0, so {rank} components hold the data without any noise."
        return ComponentChoice("mle", rank, {}, why)
    most = min(rank, d - 1)
    rest = np.full(d - variances.size, float(scree.left[-1]) / max(d - variances.size, 1))
    evidence = log_evidence(
        np.concatenate([variances, np.minimum(rest, variances[-1])]), scree.n_samples, most
    )
    number = int(np.argmax(evidence)) + 1
    same = -np.diff(variances[:number]) <= max(SAME, scree.tolerance) * variances[0]
    if same.any():
        sentence = (
            f"Minka's evidence diverges where variances are equal: {int(same.sum())} of the first {number} "
            "equal the next one, so the number means nothing. Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
        return ComponentChoice("mle", None, {}, sentence)
    others = np.delete(evidence, number - 1)
    sentence = f"The log evidence is largest at {number}: {evidence[number - 1]:.6g}"
    sentence += f", {evidence[number - 1] - others.max():.3g} above the next best." if others.size else "."
    if not scree.whole:
        sentence += f" The {d - variances.size} unknown eigenvalues count as equal, by the trace."
    at_least = number == variances.size and not scree.whole
    columns = {"log_evidence": evidence, "eigenvalue": variances[:most]}
    return ComponentChoice("mle", number, numbered(1, columns), sentence, at_least)


# ------------------------- the optimal hard threshold of singular values


@lru_cache(maxsize=256)
def marchenko_pastur_median(beta: float) -> float:
    """Return the median of the Marchenko-Pastur distribution of ratio ``beta`` and noise variance 1.

    The density is ``sqrt((b - t)(t - a)) / (2 pi beta t)`` on ``[a, b] = [(1 - sqrt(beta))^2,
    (1 + sqrt(beta))^2]``. With ``t = 1 + beta + 2 sqrt(beta) cos(angle)`` it has an elementary integral.

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
    low, high = 0.0, math.pi
    for _ in range(60):
        angle = (low + high) / 2
        turned = math.atan2((1 - root) * math.sin(angle / 2), (1 + root) * math.cos(angle / 2))
        whole = (1 + beta) * angle / (4 * beta) - math.sin(angle) / (2 * root)
        below = 1 - 2 / math.pi * (whole - (1 - beta) / (2 * beta) * turned)  # share of smaller eigenvalues
        low, high = (angle, high) if below > 0.5 else (low, angle)
    return (1 - root) ** 2 + 4 * root * math.cos(low / 2) ** 2


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
    return compared("gavish-donoho", singular, thresholds, columns, what, incomplete=not scree.whole)


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


# ---- Rules that draw: spectra of data whose structure was destroyed, and blocks that are held out

# The largest of 19 has a chance of 1 in 20 to be passed by an exchangeable twentieth.
REPEATS = 19
FIRST = 8
# An eigenvalue exceeds another one when it does so beyond the rounding and the tolerance of both.
BEYOND = 1e-6

SpectrumOf = Callable[[Any, int], FloatArray]
Draw = Callable[[int], Any]


def parallel_analysis(
    C: Any, spectrum_of: SpectrumOf, rng: np.random.Generator, *, size: int, factor: float = 1.0
) -> ComponentChoice:
    """Keep eigenvalues above those of the data with every column permuted by itself.

    The j-th eigenvalue is compared with the largest of 19 j-th ones, and the first that fails ends it:
    independent columns pass that with a probability of exactly 0.05 at the first eigenvalue. Permuting keeps
    what each column is and destroys what columns have in common.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data.
    spectrum_of : callable
        ``spectrum_of(A, count)`` returns the largest eigenvalues of ``A.T A``, descending.
    rng : numpy.random.Generator
    size : int
        How many eigenvalues can be different from 0.
    factor : float
        Turns eigenvalues into variances.

    References
    ----------
    Horn (1965), A rationale and test for the number of factors in factor analysis. Permutation: Buja and
    Eyuboglu (1992), Remarks on parallel analysis.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 9)) + rng.standard_normal((200, 9))
    >>> values = lambda A, count: np.linalg.svd(A, compute_uv=False)[:count] ** 2
    >>> parallel_analysis(X - X.mean(axis=0), values, rng, size=9).number
    2
    """
    observed, threshold = _observed(C, permuted_columns(C), spectrum_of, rng, size, edge=False)
    what = f"those of all {REPEATS} data sets with permuted columns"
    names = ("eigenvalue", "threshold")
    return compared("parallel", observed * factor, threshold * factor, names, what, beyond=BEYOND)


def sign_flips(
    C: Any,
    spectrum_of: SpectrumOf,
    rng: np.random.Generator,
    *,
    size: int,
    centered: bool = True,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep singular values above the largest one of the data with the sign of every entry drawn at random.

    Noise that is symmetric about 0 and independent is the same noise after the flips, whatever the size of
    each entry's noise; signal turns into noise.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data, or raw data of mean 0.
    spectrum_of, rng, size
        As for :func:`parallel_analysis`; every singular value is compared with the largest of all (the
        upper-edge comparison).
    centered : bool
        Whether a mean was subtracted. That took ``1 / n`` of the noise's variance away, which the flipped
        data get back: without it noise in few rows would exceed its own flips.
    factor : float
        Turns squares of singular values into squares in the units that were fitted.

    References
    ----------
    Hong, Sheng, Dobriban (2020), Selecting the number of components in PCA via random signflips,
    upper-edge comparison.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 30)) + rng.standard_normal((200, 30))
    >>> values = lambda A, count: np.linalg.svd(A, compute_uv=False)[:count] ** 2
    >>> sign_flips(X - X.mean(axis=0), values, rng, size=30).number
    2
    """
    observed, threshold = _observed(C, _flipped(C), spectrum_of, rng, size, edge=True)
    if centered and len(C) > 1:
        threshold = threshold * (len(C) / (len(C) - 1))
    observed, threshold = np.sqrt(observed * factor), np.sqrt(threshold * factor)
    what = f"the largest of all {REPEATS} data sets with random signs"
    return compared("sign-flip", observed, threshold, ("singular_value", "threshold"), what, beyond=BEYOND)


def _observed(
    C: Any, draw: Draw, spectrum_of: SpectrumOf, rng: np.random.Generator, size: int, *, edge: bool
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenvalues of C, as many as decide and one more, and what each must exceed."""
    # Seeds, so that more eigenvalues of the same draws can be asked for.
    seeds = rng.integers(2**62, size=REPEATS).tolist()
    count = min(FIRST, size)
    while True:
        observed = spectrum_of(C, count)
        drawn = np.array([spectrum_of(draw(seed), 1 if edge else count) for seed in seeds])
        threshold = np.broadcast_to(drawn.max(axis=0), observed.shape) if count else np.empty(0)
        number = leading(observed > threshold * (1 + BEYOND))
        if number < count or count == size:
            return observed, threshold
        count = min(2 * count, size)


def permuted_columns(C: Any) -> Draw:
    """Return the function that permutes each column of C by itself; it writes into one memory."""
    by_column = np.ascontiguousarray(np.asarray(C).T)
    out = np.empty_like(by_column)

    def draw(seed: int) -> Any:
        return np.random.default_rng(seed).permuted(by_column, axis=1, out=out).T

    return draw


def _flipped(C: Any) -> Draw:
    C = np.asarray(C)
    out = np.empty_like(C)

    def draw(seed: int) -> Any:
        bits = np.random.default_rng(seed).integers(0, 256, (C.size + 7) // 8, dtype=np.uint8)
        negative = np.unpackbits(bits, count=C.size).reshape(C.shape).view(bool)
        out[...] = C
        return np.negative(C, out=out, where=negative)

    return draw


# ------------------------ cross-validation by blocks of rows and columns

SPLITS = 10
TRIED_FIRST = 16
# Errors that differ by less than this part of the error of no component are equal.
EQUAL = 1e-12

FactorsOf = Callable[[Any, int], tuple[FloatArray, FloatArray, FloatArray]]


def bi_cross_validation(
    C: Any, factors_of: FactorsOf, rng: np.random.Generator, *, centered: bool = True, factor: float = 1.0
) -> ComponentChoice:
    """Keep the number of components that predicts held-out quarters of the table best.

    Rows and columns are each cut into random halves, ten times, and each of the four blocks is held
    out in turn: for ``[[A, B], [C, D]]`` the block A is predicted by ``B D_k^+ C``, with D_k the truncation
    of D to k components.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Scaled data. With ``centered`` its columns are centred on the mean of the rows that are not held out.
    factors_of : callable
        ``factors_of(D, k)`` returns left vectors (a, r), singular values (r,) and right vectors (r, b),
        with r at most k and not beyond the rank of D.
    rng : numpy.random.Generator
    factor : float
        Turns mean squares into squared units of the data.

    References
    ----------
    Owen and Perry (2009), Bi-cross-validation of the SVD and the nonnegative matrix factorization, section 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((200, 20))
    >>> def factors_of(D, k):
    ...     U, s, Vt = np.linalg.svd(D, full_matrices=False)
    ...     return U[:, :k], s[:k], Vt[:k]
    >>> bi_cross_validation(X, factors_of, rng).number
    2
    """
    n, d = C.shape
    # Half of the rows and columns cannot have more.
    most = max(min(n // 2 - int(centered), d // 2), 0)
    if most == 0:
        least = "4 rows and 2 columns" if centered else "2 rows and 2 columns"
        sentence = f"Halves of {n} rows x {d} columns that vary are too small: at least {least} are needed."
        return ComponentChoice("cv", None, {}, sentence)
    seeds = rng.integers(2**62, size=SPLITS).tolist()
    count = min(TRIED_FIRST, most)
    while True:
        errors = sum((_split_errors(C, factors_of, seed, count, centered) for seed in seeds), np.zeros(1))
        number = int(np.argmax(errors <= errors.min() + EQUAL * errors[0]))
        if number < count or count == most:
            break
        count = min(2 * count, most)
    errors = errors * (factor / (SPLITS * n * d))
    sentence = (
        f"The mean square error on held-out quarters, over {SPLITS} random cuts, is least at {number}: "
        f"{errors[number]:.4g} after {errors[0]:.4g} without components."
    )
    if number == most:
        sentence += f" More than {most} cannot be tried with half of the data."
    return ComponentChoice("cv", number, numbered(0, {"held_out_error": errors}), sentence)


def _split_errors(C: Any, factors_of: FactorsOf, seed: int, count: int, centered: bool) -> FloatArray:
    """Sums of squared errors over the four blocks of one cut, for 0, 1, ..., count components."""
    rng = np.random.default_rng(seed)
    n, d = C.shape
    rows, columns = rng.permutation(n), rng.permutation(d)
    row_halves, column_halves = (rows[: n // 2], rows[n // 2 :]), (columns[: d // 2], columns[d // 2 :])
    errors = np.zeros(count + 1)
    for out, kept in (row_halves, row_halves[::-1]):
        held_out, held_in = C[out], C[kept]
        if centered:
            mean = held_in.mean(axis=0, dtype=np.float64).astype(C.dtype)
            held_out, held_in = held_out - mean, held_in - mean
        for left, right in (column_halves, column_halves[::-1]):
            A, B = held_out[:, left], held_out[:, right]
            errors += _errors(A, B, held_in[:, left], factors_of(held_in[:, right], count), count)
    return errors


def _errors(
    A: Any, B: Any, C: Any, factors: tuple[FloatArray, FloatArray, FloatArray], count: int
) -> FloatArray:
    """``|A - B D_k^+ C|^2`` for k = 0, 1, ..., count, without forming any of the predictions."""
    U, s, Vt = factors
    P = np.asarray(B @ Vt.T, dtype=np.float64) / s
    Q = np.asarray(U.T @ C, dtype=np.float64)
    squares = (P.T @ P) * (Q @ Q.T)
    # Sums over the leading k x k corners, one border at a time.
    corners = np.cumsum(2 * np.tril(squares, -1).sum(axis=1) + np.diag(squares))
    products = np.cumsum(np.einsum("ij,ij->j", P, np.asarray(A @ Q.T, dtype=np.float64)))
    start = float(np.einsum("ij,ij->", A, A, dtype=np.float64))
    errors = start + np.concatenate([[0.0], corners - 2 * products])
    # Beyond the rank of D nothing more is predicted.
    return np.asarray(np.concatenate([errors, np.full(count + 1 - errors.size, errors[-1])]))


# ------------------- The table of all rules for the number of components

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True)
class Rule:
    """What is known of a rule before it is asked.

    Attributes
    ----------
    trust : str
        When to trust it.
    request : callable or None
        The rule itself, where it reads the spectrum and nothing else.
    draws : bool
        Whether it needs the data, to draw others like them.
    of_covariances : bool
        Whether it is about variances, so that without centring it has no meaning.
    """

    trust: str
    request: Callable[[Scree], ComponentChoice] | None = None
    draws: bool = False
    of_covariances: bool = False


KERNEL_RULES = ("parallel", "fraction", "cv")  # those of kernel PCA
RULES = {
    "parallel": Rule(
        "Columns of any size and distribution, the same noise in all rows. A strong component hides "
        "weak ones; where rows have different noise it finds too many.",
        draws=True,
        of_covariances=True,
    ),
    "sign-flip": Rule(
        "Noise that is independent and symmetric about 0, of any size in any entry. Misses weak components "
        "next to strong ones, and in small tables.",
        draws=True,
    ),
    "gavish-donoho": Rule(
        "Independent noise of one size in all entries, components fewer than half of the smaller side. Where "
        "columns or rows have different noise it finds too many.",
        gavish_donoho,
    ),
    "mle": Rule(
        "Normal data, many more rows than columns, noise of one size in all columns. Never answers 0.",
        minka,
        of_covariances=True,
    ),
    "cv": Rule(
        "Independent noise; the number that predicts best. It sees half of the data at a time, so it misses "
        "weak components.",
        draws=True,
    ),
    "broken-stick": Rule(
        "A cautious first look: it has no model of noise, and keeps few components.",
        broken_stick,
        of_covariances=True,
    ),
    "kaiser": Rule(
        "Hardly ever: about half of the eigenvalues of pure noise exceed their mean.",
        kaiser,
        of_covariances=True,
    ),
    "fraction": Rule("When you need a given explained variance ratio. It ignores noise."),
}
