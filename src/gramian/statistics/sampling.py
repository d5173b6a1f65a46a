"""Sampling errors: standard errors of variances, and which components n rows do not separate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from gramian.core.arrays import as_float64
from gramian.core.checks import counted
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import BoolArray, FloatArray, IntArray, ModelKind
from gramian.statistics import components
from gramian.statistics.components import component_names, effective_rows, known_variances

LEVEL = 0.05  # of the test that two population eigenvalues are equal
NAMED = 3  # groups that a sentence names
LEADING = 30  # components that the squares of correlations between columns are computed from
POWERS = {"unit": 1.0, "pareto": 0.5}  # of its own deviation that a column has been divided by
NEXT = "the first component left out"


@dataclass(frozen=True, eq=False, repr=False)
class Sampling(Tabulated):
    """How much the variances of a fitted PCA differ from the population's, under normal theory.

    Attributes
    ----------
    variances, standard_errors : ndarray of shape (r,)
        Explained variances above the rank tolerance, and their standard errors.
    ratios, ratio_standard_errors : ndarray of shape (r,)
        Ratios to the total variance, and their standard errors.
    groups : tuple of range
        Components, counted from 0. Neighbours that the sample does not separate share a group: their
        population variances may be equal. Read the span of a group, not its single directions.
    next_separated : bool or None
        Whether the last component is separated from the first one that was left out; None if the fit did
        not compute that one, or if there is none: a variance of 0 by the rank has no direction.
    n_samples : int
    n_effective : float
        The number of rows of weight 1 that say as much: the sum of the weights, less what was forgotten.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> sampling = gramian.PCA(3, scale="unit").fit(load_wine().data).sampling_
    >>> sampling.variances.round(2), sampling.standard_errors.round(2)
    (array([4.71, 2.5 , 1.45]), array([0.26, 0.17, 0.11]))
    >>> sampling.groups
    (range(0, 1), range(1, 2), range(2, 3))
    """

    variances: FloatArray
    standard_errors: FloatArray
    ratios: FloatArray
    ratio_standard_errors: FloatArray
    groups: tuple[range, ...]
    next_separated: bool | None
    n_samples: int
    n_effective: float

    @property
    def separated(self) -> BoolArray:
        """Whether each component is separated from its known neighbours, shape (r,)."""
        result = np.array([len(group) == 1 for group in self.groups for _ in group], dtype=bool)
        if self.next_separated is False:
            result[-1] = False
        return result

    @property
    def brief(self) -> str:
        """Which components the rows do not separate, in one sentence; "" if there is nothing to separate."""
        k = len(self.variances)
        if k + (self.next_separated is not None) < 2:
            return ""
        all_independent = self.n_effective == self.n_samples
        rows = counted(self.n_samples, "row") if all_independent else f"{self.n_effective:.6g} effective rows"
        separated = self.separated
        groups = [group for group in self.groups if not separated[group].all()]
        if not groups:
            named = named_group(range(k), bool(self.next_separated))
            return f"{rows} are enough to tell {named} apart."
        shown = [mixed_group(group, group.stop == k and self.next_separated is False) for group in groups]
        more = len(shown) - NAMED
        shown[NAMED:] = [counted(more, "more group")] if more > 0 else []
        read = "each group" if len(shown) > 1 else "them"
        span = f"only {'its' if len(shown) > 1 else 'their'} span is determined"
        mixed = f"another sample may mix them, so read {read} together ({span})"
        return f"{rows} cannot tell {', nor '.join(shown)} apart: {mixed}."

    def _notebook(self) -> Iterator[str | Grid]:
        columns = (self.variances, self.standard_errors, self.ratios, self.ratio_standard_errors)
        rows = zip(
            component_names(len(self.variances)), *(column.tolist() for column in columns), strict=True
        )
        heads = "", "variance", "standard error", "ratio", "standard error"
        yield Grid(heads, list(rows), ("", ".6g", ".3g", ".4f", ".4f"))
        yield from filter(None, [self.brief])


def sampling_of(model: Any) -> Sampling | None:
    """Return the sampling errors of a fitted PCA; None where normal theory says nothing of them.

    None for other models, without centring (the mean is then part of the components), for imputed fits
    (imputed entries are no observations),
    for ``scale="genotype"`` (counts 0, 1, 2 are not normal, and their divisors vary with their means), and
    without a component above the rank tolerance.

    Notes
    -----
    For normal rows the standard error of an eigenvalue l is ``l sqrt(2 / (n - 1))``. Let columns be divided
    by the power a of their deviations, 1 for ``scale="unit"`` and 1/2 for ``"pareto"``, and M be their
    covariance, ``feature_weight`` included. A row y then has the influence ``(y p)^2 - (1 - a) l
    - a l sum_m p_m^2 y_m^2 / M_mm`` on the eigenvalue of direction p, so that its standard error is the same
    times ``sqrt(1 - 2 a l sum_m p_m^4 / M_mm + a^2 sum_mq p_m^2 p_q^2 M_mq^2 / (M_mm M_qq))``, with M from
    the leading components. Its influence on the total variance is ``(1 - a) sum_m (y_m^2 - M_mm)``; standard
    errors of ratios follow by the delta method. Eigenvalues of heavy-tailed rows vary more.

    References
    ----------
    Girshick (1939), On the sampling theory of roots of determinantal equations. Anderson (1963), Asymptotic
    theory for principal component analysis. Konishi (1979), Asymptotic expansions for the distributions of
    statistics based on the sample correlation matrix in principal component analysis.
    """
    if components.kind_of(model) is not ModelKind.PCA:
        return None
    rank = min(int(model.n_components_), int(model.rank_))
    power = POWERS.get(model.scale, 0.0) if isinstance(model.scale, str) else 0.0
    genotypes = isinstance(model.scale, str) and not power
    if not rank or not model.center or getattr(model, "n_missing_", False) or genotypes:
        return None
    columns = components.column_variances(model) if power else np.empty(0)
    effective, variances, k = effective_rows(model), known_variances(model), int(model.n_components_)
    degrees = max(effective - 1.0, 1.0)
    values, total = variances[:rank], float(model.total_variance_)
    ratios = values / total
    left = (1.0 - float(ratios.sum())) * float(model.noise_variance_) / total if k == rank else 0.0
    rest = float(((variances[k:] / total) ** 2).sum()) if variances.size > k else left
    # Variances of eigenvalues and ratios, relative to their squares, times degrees / 2.
    of_variances = np.ones(rank)
    of_ratios = of_variances - (1 - power) * (2 * ratios - (1 - power) * (float((ratios**2).sum()) + rest))
    if power:
        P = as_float64(model.components_)[:rank]
        more, squares = _of_divisors(power, values, P, columns * (total / columns.sum()), rest * total**2)
        of_variances, of_ratios = (
            of_variances + more,
            of_ratios + more + 2 * power * (1 - power) * squares / total,
        )
    errors, ratio_errors = (
        np.sqrt(2 / degrees * np.maximum(term, 0.0)) for term in (of_variances, of_ratios)
    )
    groups, next_separated = grouped(separable(model), rank, degrees)
    of_values, of_shares, n = values * errors, ratios * ratio_errors, int(model.n_samples_)
    return Sampling(values, of_values, ratios, of_shares, groups, next_separated, n, effective)


def sampling_note(model: Any) -> str:
    """Return the sentence of :class:`Sampling` on a fitted model; "" for models that have none."""
    result = sampling_of(model)
    return "" if result is None else result.brief


def separable(model: Any) -> FloatArray:
    """Return the known variances of a fitted PCA that are not 0 by the rank, kept ones first."""
    variances, kept, rank = known_variances(model), int(model.n_components_), int(model.rank_)
    if rank < kept or not variances.size:
        return variances[:rank]
    most = min(int(model.n_samples_) - bool(model.center), int(model.n_features_in_))
    above = variances[kept:most] > float(model.spectrum_.rank_tolerance) * variances[0]
    return np.concatenate([variances[:kept], variances[kept:most][above]])


def grouped(values: FloatArray, count: int, degrees: float) -> tuple[tuple[range, ...], bool | None]:
    """Return the groups of the first ``count`` eigenvalues, and whether the next one is separated from them.

    The second is None where there is no next one among the values.
    """
    apart = separated(values[:-1], values[1:], degrees)
    edges = [0, *(np.flatnonzero(apart[: count - 1]) + 1).tolist(), count] if count else []
    last = bool(apart[count - 1]) if 0 < count < values.size else None
    return tuple(range(a, b) for a, b in pairwise(edges)), last


def separated(upper: FloatArray, lower: FloatArray, degrees: float) -> BoolArray:
    """Return for pairs of sample eigenvalues whether those of the population differ, by a test at 5 %.

    Parameters
    ----------
    upper, lower : ndarray of shape (m,)
        Positive, or 0.
    degrees : float
        Degrees of freedom of the covariance, ``n - 1``.

    Notes
    -----
    The likelihood-ratio test, which is exact for two normal columns: ``W = 4 u l / (u + l)^2`` has
    ``W^((degrees - 1) / 2)`` uniform. Sample eigenvalues repel each other: equal ones of the population are
    more than one standard error apart (the rule of thumb of North et al.) in three of four samples.

    References
    ----------
    Mauchly (1940), Significance test for sphericity of a normal n-variate distribution. North, Bell, Cahalan
    and Moeng (1982), Sampling errors in the estimation of empirical orthogonal functions.

    Examples
    --------
    >>> separated(np.array([8.0, 8.0]), np.array([7.0, 4.0]), 99.0)
    array([False,  True])
    """
    apart = (upper - lower) / np.where(upper > 0, upper + lower, 1.0)
    logs = np.log1p(-np.minimum(apart**2, 1.0 - np.finfo(np.float64).eps))
    return np.asarray(max(degrees - 1.0, 0.0) / 2 * logs < math.log(LEVEL))


def reaches(values: FloatArray, count: int, degrees: float) -> IntArray:
    """Return for the first eigenvalues the last one that may equal each, and all between, in the population.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Positive, descending.
    count : int
    degrees : float
        Degrees of freedom of the covariance, ``n - 1``.

    Notes
    -----
    The test of :func:`separated` for more than two: with the ratio W of the geometric to the arithmetic
    mean of q eigenvalues, to the power q, ``-(degrees - (2 q^2 + q + 2) / (6 q)) log W`` is chi squared with
    ``(q - 1)(q + 2) / 2`` degrees of freedom.

    References
    ----------
    Bartlett (1954), A note on the multiplying factors for various chi squared approximations.

    Examples
    --------
    >>> reaches(np.array([8.0, 7.0, 1.2, 1.1, 1.0]), 3, 99.0)
    array([1, 1, 4])
    """
    m = len(values)
    result = np.arange(count)
    for j in range(count):
        some, q = values[j:], np.arange(1.0, m - j + 1)
        logs = np.cumsum(np.log(some / some[0])) - q * np.log(np.cumsum(some / some[0]) / q)
        statistic = np.maximum(-(degrees - (2 * q**2 + q + 2) / (6 * q)) * logs, 0.0)[1:]
        differ = np.flatnonzero(special.chdtrc(((q - 1) * (q + 2) / 2)[1:], statistic) < LEVEL)
        result[j] = j + int(differ[0]) if differ.size else m - 1
    return result


def _of_divisors(
    power: float, values: FloatArray, P: FloatArray, columns: FloatArray, rest: float
) -> tuple[FloatArray, FloatArray]:
    """Return what estimated divisors add to relative variances, and ``sum_m p_m^2 (M^2)_mm / M_mm``.

    Parameters
    ----------
    power : float
        Of the deviations that columns have been divided by.
    values : ndarray of shape (r,)
        Leading eigenvalues of the covariance M of the divided columns.
    P : ndarray of shape (r, d)
        Their directions.
    columns : ndarray of shape (d,)
        The diagonal of M.
    rest : float
        Sum of squares of the other eigenvalues.
    """
    shares = P**2 / np.where(columns > 0, columns, np.inf)
    roots = np.sqrt(values[:LEADING])[:, None] * P[:LEADING]
    # The rest of the covariance is taken to be a diagonal.
    diagonal = columns**2 - (roots**2).sum(axis=0) ** 2
    off = np.array([float((((roots * s) @ roots.T) ** 2).sum() + s**2 @ diagonal) for s in shares])
    left = np.maximum(columns - values @ P**2, 0.0)
    squares = values**2 @ P**2 + left * (rest / (left.sum() or 1.0))
    return power**2 * off - 2 * power * values * (shares * P**2).sum(axis=1), shares @ squares


def mixed_group(group: range, following: bool) -> str:
    """Name components that are not separated; of more than two, that is said of neighbours only."""
    return "neighbours among " * (len(group) + following > 2) + named_group(group, following)


def named_group(group: range, following: bool) -> str:
    names = component_names(group.stop)[group.start :]
    last = [NEXT] if following else []
    shown = [*names, *last] if len(names) < 3 else [f"{names[0]} to {names[-1]}", *last]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
