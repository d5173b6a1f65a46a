"""How much components would change with another sample: the bootstrap of a fitted PCA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.candidates import data_frame
from gramian.analysis.components import column_names, component_names
from gramian.arrays import as_float64, dense, memory_limit_bytes, to_numpy
from gramian.checks import check_integer, check_number, counted
from gramian.engine import factors, require_memory
from gramian.engine.symmetric import leading_pairs
from gramian.errors import DataError, InputTypeError
from gramian.estimators.inputs import generators
from gramian.estimators.pca import PCA
from gramian.notebook import Grid, Tabulated
from gramian.progress import track
from gramian.progress_bar import shows_progress
from gramian.records import FloatArray, Seed

SAME = 1e-3  # relative difference of variances up to which rows are those of the fit


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Tabulated):
    """Bootstrap intervals of a PCA's variances and loadings; prints as a table.

    Attributes
    ----------
    variances, ratios : ndarray of shape (k,)
        Explained variances and their ratios to the total, of the rows themselves.
    variance_intervals, ratio_intervals : ndarray of shape (k, 2)
        Intervals of the j-th largest variance, and of its ratio: percentiles with bias correction and
        acceleration (BCa).
    loadings : ndarray of shape (k, d)
        The components.
    loading_intervals : ndarray of shape (k, d, 2)
        Percentile intervals of the loadings of matched components.
    agreement : ndarray of shape (k,)
        Mean absolute cosine between each component and the one that matches it in a replicate: 1 is stable.
    groups : tuple of range
        Components, counted from 0, whose variances have overlapping intervals: they may trade places.
    group_agreement : ndarray of shape (len(groups),)
        Mean cosine of the largest principal angle between the span of a group and that in a replicate.
    n_boot, n_samples : int
    level : float
        Nominal coverage of the intervals.
    feature_names : list of str
    """

    variances: FloatArray
    variance_intervals: FloatArray
    ratios: FloatArray
    ratio_intervals: FloatArray
    loadings: FloatArray
    loading_intervals: FloatArray
    agreement: FloatArray
    groups: tuple[range, ...]
    group_agreement: FloatArray
    n_boot: int
    n_samples: int
    level: float
    feature_names: list[str]

    @property
    def certain_signs(self) -> Any:
        """Which loadings have an interval without 0, shape (k, d)."""
        low, high = self.loading_intervals[..., 0], self.loading_intervals[..., 1]
        return (low > 0) | (high < 0)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return, for each component, its name, variance and ratio with intervals, and its agreement.

        Returns
        -------
        list of tuple
            Name, variance, its interval, ratio, its interval, agreement.
        """
        columns = (
            self.variances,
            *self.variance_intervals.T,
            self.ratios,
            *self.ratio_intervals.T,
            self.agreement,
        )
        names = component_names(len(self.variances))
        return list(zip(names, *(column.tolist() for column in columns), strict=True))

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame with one row for each component.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`rows`, by component.

        Raises
        ------
        MissingExtraError
            If pandas is not installed; :meth:`rows` does not need it.
        """
        names = ["component", "variance", "variance_low", "variance_high"]
        names += ["ratio", "ratio_low", "ratio_high", "agreement"]
        return data_frame(self.rows(), names).set_index("component")

    def sentences(self) -> list[str]:
        """Return which components can only be read together."""
        names = component_names(len(self.variances))
        lines = []
        for group, agreement in zip(self.groups, self.group_agreement, strict=True):
            if len(group) > 1:
                lines.append(
                    f"The intervals of {names[group[0]]} to {names[group[-1]]} overlap, so that these may "
                    f"trade places. Their span has agreement {agreement:.2f}."
                )
        return lines

    def _notebook(self) -> Iterator[str | Grid]:
        yield (
            f"Stability of {counted(len(self.variances), 'component')}: {100 * self.level:g} % intervals "
            f"from {self.n_boot:,} samples of {self.n_samples:,} rows with replacement."
        )
        rows = [
            (name, value, f"{low:.5g} to {high:.5g}", ratio, f"{least:.4f} to {most:.4f}", agreement)
            for name, value, low, high, ratio, least, most, agreement in self.rows()
        ]
        heads = "", "variance", "interval", "ratio", "interval", "agreement"
        yield Grid(heads, rows, ("", ".6g", "", ".4f", "", ".3f"))
        yield from self.sentences()


def stability(
    model: Any, X: Any, *, n_boot: int = 200, level: float = 0.95, random_state: Seed = 0
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
    n_boot : int, default=200
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
        If X has other variances than the rows of the fit, or rows cannot be used.
    MemoryLimitError
        If the loadings of all replicates do not fit into the model's ``memory_limit``.

    Notes
    -----
    Rows are taken as independent draws from one population. Variances of a sample are further apart than
    those of its population, and those of replicates are even more so: intervals of variances are corrected
    for that bias. They still cover less often than stated if rows are few or variances close. A
    replicate costs an eigenproblem of the smaller side of X only: with more columns than rows, of the scores
    along all components.

    References
    ----------
    Efron and Tibshirani (1993), An introduction to the bootstrap, sections 7.2 and 14.3. Milan and
    Whittaker (1995), Application of the parametric bootstrap to models that incorporate a singular value
    decomposition.

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
    n_boot = check_integer("n_boot", n_boot, 2, advice="200 are enough for intervals of 95 %.")
    level = check_number("level", level, above=0.0, below=1.0, advice="Use a coverage such as 0.95.")
    rows = model._new_rows(X)
    k, (n, d) = min(int(model.n_components_), int(model.rank_)), rows.shape
    require_memory(
        f"{n_boot} replicates of {k} x {d:,} loadings and {n:,} rows",
        8 * (3 * n * d + 2 * min(n, d) ** 2 + (n_boot * k + 2 * n_boot) * d),
        memory_limit_bytes(model.memory_limit),
        "Use fewer components, or a sample of the rows.",
    )
    rows.require_finite()
    resampled = _Resampled.of(model, as_float64(dense(rows.in_memory())))
    values, total, axes = resampled.components(np.ones(n), k)
    _require_same_rows(model, values, n)
    influence, of_total = resampled.influence(values, axes)
    (rng,) = generators(random_state, 1)
    P = as_float64(model.components_)[:k]
    groups = _equal(model, k)
    drawn = np.empty((n_boot, k))
    ratios, loadings = np.empty((n_boot, k)), np.empty((n_boot, k, d))
    with shows_progress("stability"):
        for b in track(range(n_boot), "replicate"):
            counts = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
            some, all_of_it, directions = resampled.components(counts, k)
            drawn[b], ratios[b] = some, some / (all_of_it or 1.0)
            loadings[b] = _aligned(directions, P, groups)
    ends = (1 - level) / 2, (1 + level) / 2
    intervals = _accelerated(drawn, values, influence, level)
    shares = values / (total or 1.0)
    # Component by component: quantiles copy what they sort.
    between = np.array([np.quantile(loadings[:, j], ends, axis=0).T for j in range(k)]).reshape(k, d, 2)
    cosines = np.abs(np.einsum("bkd,kd->bk", loadings, P))
    overlapping = _overlapping(intervals)
    return Stability(
        variances=values,
        variance_intervals=intervals,
        ratios=shares,
        ratio_intervals=_accelerated(ratios, shares, influence - shares * of_total, level),
        loadings=P,
        loading_intervals=between,
        agreement=cosines.mean(axis=0),
        groups=overlapping,
        group_agreement=np.array([_agreement(loadings, P, group) for group in overlapping]),
        n_boot=n_boot,
        n_samples=n,
        level=level,
        feature_names=column_names(model),
    )


@dataclass(frozen=True, eq=False)
class _Resampled:
    """Centred rows, in coordinates of the smaller side where columns are not scaled anew.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        In units of ``unit``.
    basis : ndarray of shape (d, p) or None
        Orthonormal directions of the coordinates; None for the columns themselves.
    mean : ndarray of shape (d,)
        What was subtracted, in units of ``unit``.
    scale : str or None
        How each replicate scales columns.
    center : bool
    ddof : float
    unit : float
        A power of two, so that squares stay in range.
    """

    rows: FloatArray
    basis: FloatArray | None
    mean: FloatArray
    scale: str | None
    center: bool
    ddof: float
    unit: float

    @classmethod
    def of(cls, model: PCA, X: FloatArray) -> _Resampled:
        center, divisor = bool(model.center), model._divisor
        scale = model.scale if isinstance(model.scale, str) else None
        mean = as_float64(model._center) if center else np.zeros(X.shape[1])
        C = X - mean
        if divisor is not None and scale is None:
            C = C / as_float64(divisor)
        if center:
            C[:, to_numpy(model.constant_features_)] = 0.0  # what is there is rounding of the mean
        unit = 2.0 ** int(np.frexp(np.abs(C).max(initial=0.0) or 1.0)[1])
        C /= unit
        basis = None
        if C.shape[1] > C.shape[0] and scale is None:
            left, s, right = factors(C, C.shape[0])
            C, basis = left * s, right.T
        return cls(C, basis, mean / unit, scale, center, float(model.ddof), unit)

    def components(self, counts: FloatArray, k: int) -> tuple[FloatArray, float, FloatArray]:
        """Return the k largest variances, the total variance, and directions of shape (k, d).

        Parameters
        ----------
        counts : ndarray of shape (n,)
            How often each row was drawn.
        k : int
        """
        there = counts > 0
        C, root = self.rows[there], np.sqrt(counts[there])
        n = counts.sum()
        degrees = n - self.ddof
        shift = counts[there] @ C / n if self.center else np.zeros(C.shape[1])
        C = (C - shift) * root[:, None]
        if self.scale is not None:
            C = C / self._divisors(C, shift, degrees)
        dual = len(C) < C.shape[1]
        S = C @ C.T if dual else C.T @ C
        total = float(np.trace(S)) / degrees
        count = min(k, len(S))
        values, vectors = leading_pairs(S, count)
        values = np.maximum(values, 0.0)
        directions = np.zeros((k, C.shape[1]))
        if dual:
            vectors = C.T @ vectors
            vectors /= np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(np.float64).tiny)
        directions[:count] = vectors.T
        if self.basis is not None:
            directions = directions @ self.basis.T
        variances = np.zeros(k)
        variances[:count] = values / degrees
        square = 1.0 if self.scale in ("unit", "genotype") else self.unit**2
        return variances * square, total * square, directions

    def influence(self, values: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how each row draws on each variance, and on the total, up to a factor: (n, k) and (n, 1).

        More of row i changes the variance ``l`` of direction p by its ``score^2 - l``, and under unit scale
        by ``score^2 - l sum_m p_m^2 z_m^2``, since the deviations of columns change too. For the other
        scales that change, which matters to the skewness alone, is left out.
        """
        C = self.rows - (self.rows.mean(axis=0) if self.center else 0.0)
        degrees = len(C) - self.ddof
        P = directions if self.basis is None else directions @ self.basis
        if self.scale is not None:
            C = C / self._divisors(C, C.mean(axis=0), degrees)
        square = 1.0 if self.scale in ("unit", "genotype") else self.unit**2
        squares = C * C
        scores = (C @ P.T) ** 2 * square
        if self.scale == "unit":
            return scores - values * (squares @ (P * P).T), np.zeros((len(C), 1))
        sizes = squares.sum(axis=1, keepdims=True) * square
        return scores - values, sizes - sizes.sum() / degrees

    def _divisors(self, C: FloatArray, shift: FloatArray, degrees: float) -> FloatArray:
        """Return what each column is divided by; infinity for columns that are constant now."""
        deviations = np.sqrt((C * C).sum(axis=0) / degrees)
        if self.scale == "genotype":
            p = np.clip((self.mean + shift) * self.unit / 2, 0.0, 1.0)
            divisor = np.sqrt(2 * p * (1 - p)) / self.unit
        elif self.scale == "pareto":
            divisor = np.sqrt(deviations * self.unit)
        else:
            divisor = deviations
        return np.where((deviations > 0) & (divisor > 0), divisor, np.inf)


def _accelerated(drawn: FloatArray, estimate: FloatArray, influence: FloatArray, level: float) -> FloatArray:
    """Return bias-corrected and accelerated percentile intervals (BCa), shape (k, 2).

    Parameters
    ----------
    drawn : ndarray of shape (n_boot, k)
        Values in the replicates.
    estimate : ndarray of shape (k,)
        Values of the rows themselves.
    influence : ndarray of shape (n, k)
        Influence of each row on them, up to a factor.
    level : float

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals, equations 2.3 and 6.6.
    """
    n_boot = len(drawn)
    below = (np.sum(drawn < estimate, axis=0) + 0.5 * np.sum(drawn == estimate, axis=0)) / n_boot
    bias = ndtri(np.clip(below, 0.5 / n_boot, 1 - 0.5 / n_boot))
    size = np.sqrt((influence**2).sum(axis=0))
    # Cubes of shares stay in range.
    shares = influence / np.where(size > 0, size, 1.0)
    skewness = (shares**3).sum(axis=0) / 6.0
    ends = []
    for side in (-1.0, 1.0):
        z = bias + side * ndtri((1 + level) / 2)
        share = ndtr(bias + z / np.maximum(1.0 - skewness * z, 0.1))
        ends.append([np.quantile(some, s) for some, s in zip(drawn.T, share, strict=True)])
    return np.array(ends).reshape(2, -1).T


def _require_same_rows(model: PCA, values: FloatArray, n: int) -> None:
    expected = as_float64(model.explained_variance_)[: values.size]
    if n != int(model.n_samples_) or np.abs(values - expected).max(initial=0.0) > SAME * expected.max(
        initial=0.0
    ):
        raise DataError(
            f"These {n:,} rows are not those of the fit ({model.n_samples_:,} rows): their variances differ. "
            "Pass the rows that the model was fitted on, or fit it on these."
        )


def _equal(model: PCA, k: int) -> list[Any]:
    """Return places of components that the certificate cannot tell apart, the first k only."""
    certificate = model.certificate_
    bounds = None if certificate is None else certificate.directions
    first = np.arange(k) if bounds is None else bounds.first[:k]
    return [np.flatnonzero(first == one) for one in np.unique(first)]


def _aligned(directions: FloatArray, P: FloatArray, groups: list[Any]) -> FloatArray:
    """Return the directions of a replicate in the order, and with the signs, of those of the model."""
    overlaps = P @ directions.T
    _, partner = linear_sum_assignment(-(overlaps**2))
    result = np.empty_like(P)
    for group in groups:
        # The orthogonal matrix nearest to the overlaps: of one component its sign.
        U, _, Vt = np.linalg.svd(overlaps[np.ix_(group, partner[group])])
        result[group] = (U @ Vt) @ directions[partner[group]]
    return result


def _overlapping(intervals: FloatArray) -> tuple[range, ...]:
    """Return runs of components whose intervals overlap with the next one's."""
    k = len(intervals)
    starts = [j for j in range(k) if j == 0 or intervals[j - 1, 0] > intervals[j, 1]]
    return tuple(range(a, b) for a, b in zip(starts, [*starts[1:], k], strict=True)) if k else ()


def _agreement(loadings: FloatArray, P: FloatArray, group: range) -> float:
    some = slice(group.start, group.stop)
    overlaps = np.einsum("id,bjd->bij", P[some], loadings[:, some])
    return float(np.linalg.svd(overlaps, compute_uv=False)[:, -1].mean())
