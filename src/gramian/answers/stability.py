"""How much components would change with another sample: the bootstrap of a fitted PCA."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from gramian.core import progress
from gramian.core.arrays import as_float64, dense, memory_limit_bytes, to_numpy
from gramian.core.checks import check_integer, check_number, counted, percent, slices
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import BoolArray, FloatArray, IntArray, Seed
from gramian.engine.linear import factors
from gramian.engine.solving import require_memory
from gramian.errors import DataError, InputTypeError
from gramian.models.inputs import generators
from gramian.models.pca.estimator import PCA
from gramian.statistics.components import column_names, component_names
from gramian.statistics.sampling import POWERS, grouped, mixed_group, named_group, reaches, separable
from gramian.tables.rows import Rows

TURNED = 0.05  # share of replicates at which a component that turned by 45 degrees has no own direction
LEAST = 1e-13  # ratio of a variance to the total that logarithms are taken of
SMALLEST = 0.05  # of the normal standard error, below which none is believed
ROWS = 10  # the fewest that give intervals
LARGE = 700.0  # largest logarithm of a float
STACK = 2 << 20  # bytes of replicates that are decomposed at once: what a cache holds
SAME = 1e-3  # relative difference of variances up to which rows are those of the fit


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Tabulated):
    """Bootstrap intervals of a PCA's variances and loadings; prints as a table.

    Attributes
    ----------
    variances, ratios : ndarray of shape (k,)
        Explained variances and their ratios to the total, of the rows themselves.
    variance_intervals, ratio_intervals : ndarray of shape (k, 2)
        Intervals of the j-th largest variance of the population, and of its ratio; NaN where there are
        fewer than 10 rows, or no more than 2 j.
    loadings : ndarray of shape (k, d)
        The components.
    loading_intervals : ndarray of shape (k, d, 2)
        Intervals of the loadings; NaN for components that are not ``separated``.
    agreement : ndarray of shape (k,)
        Mean absolute cosine between each component and the one that matches it in a replicate: 1 is stable.
    turned : ndarray of shape (k,)
        Share of replicates in which no component is within 45 degrees of this one.
    separated : ndarray of shape (k,), bool
        Whether a component has a direction of its own: the rows separate it from its neighbours, it is
        ``turned`` in less than 5 % of the replicates, and there are rows enough for intervals.
    groups : tuple of range
        Components, counted from 0, by what the rows separate, as in ``sampling_`` of the model.
    next_separated : bool or None
        Whether the last component is separated from the first one that was left out, if that is known.
    n_resamples, n_samples : int
        Number of bootstrap samples, and of rows in each.
    level : float
        Nominal coverage of the intervals.
    feature_names : list of str
        Names of the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> pca = gramian.PCA(2, scale="unit").fit(X)
    >>> stability = gramian.stability(pca, X)
    >>> stability.separated, stability.agreement.round(2)
    (array([ True,  True]), array([0.99, 0.98]))
    >>> stability.ratio_intervals.round(2)
    array([[0.32, 0.41],
           [0.17, 0.22]])
    """

    variances: FloatArray
    variance_intervals: FloatArray
    ratios: FloatArray
    ratio_intervals: FloatArray
    loadings: FloatArray
    loading_intervals: FloatArray
    agreement: FloatArray
    turned: FloatArray
    separated: BoolArray
    groups: tuple[range, ...]
    next_separated: bool | None
    n_resamples: int
    n_samples: int
    level: float
    feature_names: list[str]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return, for each component, its name, variance and ratio with intervals, and its agreement.

        Returns
        -------
        list of tuple
            Name, variance, its interval, ratio, its interval, agreement.
        """
        intervals = (*self.variance_intervals.T, self.ratios, *self.ratio_intervals.T, self.agreement)
        columns = (column.tolist() for column in (self.variances, *intervals))
        return list(zip(component_names(len(self.variances)), *columns, strict=True))

    @property
    def answer(self) -> str:
        """How many components are stable, and how well those of other samples agree with them."""
        stable, k = int(self.separated.sum()), len(self.separated)
        if not stable:
            return f"No component has a direction of its own in {counted(self.n_samples, 'row')}."
        which = "Every component" if stable == k else f"{stable} of {counted(k, 'component')}"
        least = float(self.agreement[self.separated].min())
        agrees = f"the mean agreement with those of other samples is at least {least:.2f}, and 1 is the same"
        return f"{which} can be read alone: {agrees}."

    def sentences(self) -> list[str]:
        """Return which components can only be read together, and which have no direction of their own."""
        k, lines, together = len(self.variances), list[str](), set[int]()
        without = range(_stated(self.n_samples, k), k)
        if without:
            lines.append(
                f"{counted(self.n_samples, 'row')} give no intervals of {named_group(without, False)}: those "
                f"of component j need more than 2 j rows, and at least {ROWS}."
            )
            together.update(without)
        for group in self.groups:
            following = group.stop == k and self.next_separated is False
            if len(group) > 1 or following:
                together.update(group)
                which = mixed_group(group, following)
                lines.append(
                    f"{which[0].upper()}{which[1:]} cannot be told apart by {self.n_samples:,} rows, so that "
                    "their loadings have no intervals."
                )
        names = component_names(k)
        for j in sorted(set(np.flatnonzero(self.turned >= TURNED).tolist()) - together):
            lines.append(
                f"{names[j]} turns by more than 45 degrees in {percent(float(self.turned[j]))} of the "
                "samples, so that its loadings have no intervals."
            )
        return lines

    def _notebook(self) -> Iterator[str | Grid]:
        yield (
            f"Stability of {counted(len(self.variances), 'component')}: {100 * self.level:g} % intervals "
            f"from {self.n_resamples:,} samples of {self.n_samples:,} rows with replacement."
        )

        def between(low: float, high: float, spec: str) -> str:
            return "-" if math.isnan(low) else f"{low:{spec}} to {high:{spec}}"

        rows = [
            (name, value, between(low, high, ".5g"), ratio, between(least, most, ".4f"), agreement)
            for name, value, low, high, ratio, least, most, agreement in self.rows()
        ]
        heads = "", "variance", "interval", "ratio", "interval", "agreement"
        yield Grid(heads, rows, ("", ".6g", "", ".4f", "", ".3f"))
        yield from self.sentences()


def stability(
    model: Any, X: Any, *, n_resamples: int = 200, level: float = 0.95, random_state: Seed = 0
) -> Stability:
    """Return bootstrap intervals of the variances and loadings of a fitted PCA.

    Each replicate draws as many rows as there are, with replacement, and computes the components of these
    rows, with columns scaled anew. Its components are matched with those of the model: by the largest
    overlaps, then by sign, or by the best rotation where components of the model have equal variances.

    Parameters
    ----------
    model : fitted PCA
        Fitted to these rows.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit, in memory.
    n_resamples : int, default=200
        Number of replicates. Intervals of 95 % need 200 or more.
    level : float, default=0.95
        Nominal coverage of the intervals.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the replicates; None draws a new one at each call.

    Returns
    -------
    Stability
        Intervals and agreement; prints as a table.

    Raises
    ------
    InputTypeError
        For models other than PCA.
    DataError
        If X has other variances than the rows of the fit, if the fit had weights or imputed values, or rows
        cannot be used.
    MemoryLimitError
        If the loadings of all replicates do not fit into the model's ``memory_limit``.

    Notes
    -----
    Rows are taken as independent draws from one population. Intervals are symmetric, with the longer tail
    of the replicates on both sides: of the logarithm of a variance, and of the log odds of a ratio, both
    studentised by the influence of the rows, and of a loading. Variances of a sample are further apart than
    those of its population. The interval of a variance therefore contains those of all components that may
    have an equal variance, by a test at 5 %. It ends at the latest where those of larger variances do, and
    under unit scale at the total. A replicate has about two thirds of the rows: of fewer than 10 rows, or for
    component j of no more than 2 j, it says too little for an interval. A direction is compared only where
    the rows separate the component from its neighbours, by the test of ``model.sampling_``, and where fewer
    than 5 % of the replicates turn it by more than 45 degrees. A replicate costs an eigenproblem of the
    smaller side of X only: with more columns than rows, of the scores along all components.

    References
    ----------
    Efron and Tibshirani (1993), An introduction to the bootstrap, chapter 12. Milan and Whittaker (1995),
    Application of the parametric bootstrap to models that incorporate a singular value decomposition. North,
    Bell, Cahalan and Moeng (1982), Sampling errors in the estimation of empirical orthogonal functions.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(1).standard_normal((200, 5)) * [8, 4, 2, 1, 1]
    >>> result = gramian.stability(gramian.PCA(2).fit(X), X, random_state=0)
    >>> low, high = result.variance_intervals[0]
    >>> bool(low < 64 < high)
    True
    >>> result.agreement.round(2)
    array([1., 1.])
    """
    if not isinstance(model, PCA):
        raise InputTypeError(
            f"stability takes a fitted PCA, not a {type(model).__name__}. Whitened and kernel components are "
            "not supported; fit a PCA of the same rows."
        )
    check_is_fitted(model)
    n_resamples = check_integer("n_resamples", n_resamples, 2, advice="200 are enough for intervals of 95 %.")
    level = check_number("level", level, above=0.0, below=1.0, advice="Use a coverage such as 0.95.")
    rows = model._new_rows(X)
    _require_complete(model, rows, n_resamples)
    n, k = rows.shape[0], min(int(model.n_components_), int(model.rank_))
    resampled = _Resampled(model, as_float64(dense(rows.in_memory())), k)
    (values,), (total,), _, errors = resampled.replicates(np.ones((1, n)))
    _require_same_rows(model, values, n)
    P = as_float64(model.components_)[:k]
    drawn, drawn_errors, loadings = _replicated(resampled, n_resamples, random_state, P, _equal(model, k))
    off = drawn - _scales(values, total)
    # Replicates without the one row that makes a variance state far too small an error.
    halves = np.minimum(errors[:, 0] * _reach(off / drawn_errors, level), 2 * _reach(off, level))
    spectrum = np.append(values, separable(model)[k:] if k == model.n_components_ else [])
    ends, stated = np.full((2, k, 2), np.nan), _stated(n, k)
    if stated:
        may_equal = reaches(spectrum, stated, n - 1.0)
        ends[:, :stated] = _ranges(_scales(spectrum, total), halves[:, :stated], may_equal)
    unit = isinstance(model.scale, str) and model.scale == "unit" and total > 0
    runs, next_separated = grouped(spectrum, k, n - 1.0)
    alone = np.array([len(run) == 1 for run in runs for _ in run], dtype=bool)
    alone[k - 1 :] &= next_separated is not False
    cosines = np.abs(np.einsum("bkd,kd->bk", loadings, P))
    turned = (cosines < math.sqrt(0.5)).mean(axis=0)
    separated = alone & (turned < TURNED) & (np.arange(k) < stated)
    # Component by component: quantiles copy what they sort.
    reach = np.array([_reach(loadings[:, j] - P[j], level) for j in range(k)]).reshape(*P.shape, 1)
    between = np.clip(P[..., None] + reach * [-1.0, 1.0], -1.0, 1.0)
    between[~separated] = np.nan
    return Stability(
        variances=values,
        variance_intervals=np.exp(np.minimum(ends[0], math.log(total) if unit else LARGE)),
        ratios=values / (total or 1.0),
        ratio_intervals=special.expit(ends[1]),
        loadings=P,
        loading_intervals=between,
        agreement=cosines.mean(axis=0),
        turned=turned,
        separated=separated,
        groups=runs,
        next_separated=next_separated,
        n_resamples=n_resamples,
        n_samples=n,
        level=level,
        feature_names=column_names(model),
    )


# The largest variances, the total, directions and standard errors of b replicates, of shapes (b, k), (b,),
# (b, k, d) and (2, b, k), from how often each row was drawn for each of them: (b, n). The errors are those of
# the two scales of `_scales`.
Replicates = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _require_complete(model: PCA, rows: Rows, n_resamples: int) -> None:
    """Refuse fits that imputed values or had weights, rows with holes, and loadings beyond the limit."""
    if model.imputed_ is not None:
        raise DataError(
            "This model imputed missing values, which stability does not support: replicates of filled rows "
            "would vary too little.",
            'Fit the complete rows, with missing="drop-rows".',
        )
    if vars(model).get("_unequal", False):
        raise DataError(
            "This model was fitted with sample weights, which stability does not support. Fit it without "
            "them, or on a table that repeats each row as often as it counts."
        )
    k, (n, d) = min(int(model.n_components_), int(model.rank_)), rows.shape
    require_memory(
        f"{n_resamples} replicates of {k} x {d:,} loadings and {n:,} rows",
        8 * (3 * n * d + 2 * min(n, d) ** 2 + (n_resamples * k + 2 * n_resamples) * d),
        memory_limit_bytes(model.memory_limit),
        "Use fewer components, or a sample of the rows.",
    )
    rows.require_finite()


class _Resampled:
    """Centred rows without holes, in coordinates of the smaller side where columns are not scaled anew."""

    def __init__(self, model: PCA, X: FloatArray, k: int) -> None:
        self.k, self.center, self.ddof = k, bool(model.center), float(model.ddof)
        self.scale = model.scale if isinstance(model.scale, str) else None  # of replicates
        mean = as_float64(model._center) if self.center else np.zeros(X.shape[1])
        C = X - mean
        if model._divisor is not None and self.scale is None:
            C = C / as_float64(model._divisor)
        if self.center:
            C[:, to_numpy(model.constant_features_)] = 0.0  # what is there is rounding of the mean
        # A power of two, so that squares stay in range.
        self.unit = 2.0 ** int(np.frexp(np.abs(C).max(initial=0.0) or 1.0)[1])
        self.rows, self.mean = C / self.unit, mean / self.unit
        self.basis = None  # orthonormal directions of the coordinates, of shape (d, p)
        if X.shape[1] > X.shape[0] and self.scale is None:
            left, s, right = factors(self.rows, X.shape[0])
            self.rows, self.basis = left * s, right.T
        weight = model.feature_weight
        self.metric = 1.0 if weight is None else np.sqrt(np.asarray(weight, dtype=np.float64))

    def replicates(self, counts: FloatArray) -> Replicates:
        """Return the components of replicates."""
        (b, rows), p = counts.shape, self.rows.shape[1]
        n = counts.sum(axis=1, keepdims=True)
        degrees = n - self.ddof
        shift = counts @ self.rows / n if self.center else np.zeros((b, p))
        C = self.rows - shift[:, None, :]
        if self.scale is not None:
            C /= self._divisors(C, counts, shift, degrees)[:, None, :]
        W = C * np.sqrt(counts)[..., None]
        dual = rows < p
        S = W @ W.mT if dual else W.mT @ W
        total = np.trace(S, axis1=1, axis2=2) / degrees[:, 0]
        count = min(self.k, S.shape[-1])
        values, vectors = np.linalg.eigh(S)
        values, vectors = np.maximum(values[:, : -count - 1 : -1], 0.0), vectors[..., : -count - 1 : -1]
        if dual:
            vectors = W.mT @ vectors
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        k = self.k
        variances, errors, directions = np.zeros((b, k)), np.ones((2, b, k)), np.zeros((b, k, p))
        variances[:, :count] = values / degrees
        errors[..., :count] = self._errors(C, counts, vectors, variances[:, :count], total)
        directions[:, :count] = vectors.mT
        if self.basis is not None:
            directions = directions @ self.basis.T
        square = 1.0 if self.scale in ("unit", "genotype") else self.unit**2
        return variances * square, total * square, directions, errors

    def _errors(
        self, C: FloatArray, counts: FloatArray, vectors: FloatArray, values: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Return standard errors from the influence of each row, with the moments that the rows have.

        More of row i changes the logarithm of the variance ``l`` of direction p by its ``score^2 / l - 1``,
        and less where it changes the divisors of columns too, as :func:`sampling_of` derives. For genotypes
        that change is left out.
        """
        n, power = counts.sum(axis=1, keepdims=True), POWERS.get(self.scale or "", 0.0)
        unit = np.where(total == 0, 1.0, total)[:, None]
        of_log = (C @ vectors) ** 2 / np.maximum(values, LEAST * unit)[:, None, :] - (1 - power)
        if power:
            columns = np.einsum("bn,bnp->bp", counts, C * C) / (n - self.ddof)
            shares = C * C / np.where(columns > 0, columns, np.inf)[:, None, :]
            of_log -= power * (shares @ vectors**2)
        lengths = np.einsum("bnp,bnp->bn", C, C) / unit - 1.0
        of_odds = of_log - (1 - power) * lengths[..., None]
        of_odds /= np.maximum(1.0 - values / unit, LEAST)[:, None, :]
        errors = [
            np.sqrt(np.einsum("bn,bnk->bk", counts, deviation * deviation)) / n
            for deviation in (of_log, of_odds)
        ]
        # Rows of equal distances have none at all.
        return np.asarray(np.maximum(errors, SMALLEST * np.sqrt(2.0 / n)))

    def _divisors(
        self, C: FloatArray, counts: FloatArray, shift: FloatArray, degrees: FloatArray
    ) -> FloatArray:
        """Return what each column is divided by; infinity for columns that are constant now."""
        deviations = np.sqrt(np.einsum("bn,bnp->bp", counts, C * C) / degrees)
        if self.scale == "genotype":
            p = np.clip((self.mean + shift) * self.unit / 2, 0.0, 1.0)
            divisor = np.sqrt(2 * p * (1 - p)) / self.unit
        elif self.scale == "pareto":
            divisor = np.sqrt(deviations * self.unit)
        else:
            divisor = deviations
        return np.where((deviations > 0) & (divisor > 0), divisor / self.metric, np.inf)


def _replicated(
    resampled: _Resampled, count: int, random_state: Seed, P: FloatArray, equal: list[Any]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scales of variances and ratios of replicates, their errors, and directions as in the model."""
    (rng,), (n, p) = generators(random_state, 1), resampled.rows.shape
    scales, errors = np.empty((2, count, 2, len(P)))
    loadings = np.empty((count, *P.shape))
    with progress.shows_progress("stability"):
        for chunk in slices(count, max(1, STACK // (8 * (4 * n * p + 2 * min(n, p) ** 2)))):
            progress.report(f"replicate {chunk.start + 1} of {count}", "replicate", chunk.start, count)
            drawn = [rng.integers(n, size=n) for _ in range(chunk.start, chunk.stop)]
            counts = np.array([np.bincount(rows, minlength=n) for rows in drawn], dtype=np.float64)
            variances, totals, directions, several = resampled.replicates(counts)
            scales[chunk] = np.moveaxis(_scales(variances, totals[:, None]), 0, 1)
            errors[chunk] = np.moveaxis(several, 0, 1)
            loadings[chunk] = [_aligned(direction, P, equal) for direction in directions]
    return scales, errors, loadings


def _stated(n: int, k: int) -> int:
    """Return how many of k components have intervals from n rows."""
    return min(k, (n - 1) // 2) if n >= ROWS else 0


def _scales(variances: FloatArray, total: float | FloatArray) -> FloatArray:
    """Return logarithms of variances and of the odds of their ratios, which are less skew; shape (2, ...)."""
    unit = np.where(np.asarray(total) == 0, 1.0, total)
    ratios = np.maximum(variances / unit, LEAST)
    return np.array([np.log(ratios) + np.log(unit), np.log(ratios) - np.log(np.maximum(1.0 - ratios, LEAST))])


def _reach(deviations: FloatArray, level: float) -> FloatArray:
    """Return the longer tail of deviations of replicates, which an interval takes on both sides.

    Which of the tails is the longer one is itself uncertain in a small sample: intervals with both tails
    cover less.
    """
    # Order statistic (n_resamples + 1) q, which few replicates do not make too small.
    ends = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(deviations, ends, axis=0, method="weibull")
    return np.asarray(np.maximum(-low, high))


def _ranges(centers: FloatArray, halves: FloatArray, reach: IntArray) -> FloatArray:
    """Return intervals, each with those of the components that may be equal to it; shape (2, k, 2).

    Parameters
    ----------
    centers : ndarray of shape (2, m)
        Of all known components; those that were left out get the half length of the last one.
    halves : ndarray of shape (2, k)
        Half lengths.
    reach : ndarray of shape (k,)
        The last component that may be equal to each.
    """
    k = halves.shape[1]
    every = np.concatenate([halves, np.repeat(halves[:, -1:], centers.shape[1] - k, axis=1)], axis=1)
    low, high = centers - every, centers + every
    result = np.empty((2, k, 2))
    for j in range(k):
        result[:, j, 0] = low[:, j : reach[j] + 1].min(axis=1)
        result[:, j, 1] = high[:, : j + 1][:, reach[: j + 1] >= j].max(axis=1)
    result[..., 1] = np.minimum.accumulate(result[..., 1], axis=1)  # variances descend
    return result


def _require_same_rows(model: PCA, values: FloatArray, n: int) -> None:
    expected = as_float64(model.explained_variance_)[: values.size]
    gap, largest = np.abs(values - expected).max(initial=0.0), expected.max(initial=0.0)
    if n != int(model.n_samples_) or gap > SAME * largest:
        raise DataError(
            f"These {n:,} rows are not those of the fit ({model.n_samples_:,} rows): their variances differ. "
            "Pass the rows that the model was fitted on, or fit it on these."
        )


def _equal(model: PCA, k: int) -> list[Any]:
    """Return places of components that the certificate cannot tell apart, the first k only."""
    certificate = model.certificate_
    bounds = None if certificate is None else certificate.directions
    first = np.arange(k) if bounds is None else bounds.first[:k]
    return [np.flatnonzero(first == value) for value in np.unique(first)]


def _aligned(directions: FloatArray, P: FloatArray, groups: list[Any]) -> FloatArray:
    """Return the directions of a replicate in the order, and with the signs, of those of the model."""
    overlaps = P @ directions.T
    partner = np.argmax(overlaps**2, axis=1)
    if len(set(partner.tolist())) < len(P):
        _, partner = linear_sum_assignment(-(overlaps**2))
    signs = np.where(overlaps[np.arange(len(P)), partner] < 0, -1.0, 1.0)
    result: FloatArray = directions[partner] * signs[:, None]
    for group in groups:
        if len(group) == 1:
            continue
        # The orthogonal matrix nearest to the overlaps.
        U, _, Vt = np.linalg.svd(overlaps[np.ix_(group, partner[group])])
        result[group] = (U @ Vt) @ directions[partner[group]]
    return result
