"""How much of the scores of each component a variable explains: batch, sex, age, dose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from gramian.core.arrays import as_float64, memory_limit_bytes
from gramian.core.checks import counted, percent
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray, IntArray
from gramian.engine.centered import center_rows
from gramian.errors import DataError
from gramian.statistics.candidates import as_frame
from gramian.statistics.components import component_names
from gramian.tables.as_rows import as_rows

NUMBER, CATEGORY = "number", "category"
MOST_CODES = 10  # distinct whole numbers up to which they are codes of categories
SHOWN, LEVEL = 10, 0.05
ONE_SIGN, OPPOSITE = 0.9, 0.5  # share of the area; the other end of a contrast, relative to the first
# Of a series: samples, p and share of a trend; periods, bins beside a peak of the spectrum, and their share.
SHORTEST, RARE, EXPLAINED, CYCLES, NEAR, REGULAR = 60, 1e-3, 0.3, 4, 2, 0.8
ERRORS = 2.0  # standard errors between two variances (North and others 1982), for times that remember


@dataclass(frozen=True, eq=False)
class Association:
    """A variable and the scores of k components.

    Attributes
    ----------
    kind : {"number", "category"}
    rows, levels : int
        Rows with a value, and categories among them (0 for numbers).
    r2 : ndarray of shape (k,)
        Share of the sum of squares of the scores that the variable explains: the squared correlation with a
        number, and eta squared (between groups over total) of categories.
    p : ndarray of shape (k,)
        Of the F test that it explains nothing; NaN where the scores do not vary.
    r : ndarray of shape (k,)
        The correlation with a number; NaN for categories.
    """

    kind: str
    rows: int
    levels: int
    r2: FloatArray
    p: FloatArray
    r: FloatArray


def associated(values: npt.NDArray[Any], scores: FloatArray) -> Association | str:
    """Return the association of a variable with scores, or why there is none.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers with NaN, or text with "", where there is no value: these rows are left out. At most
        ``MOST_CODES`` distinct whole numbers, each of two rows on average, are categories, such as the number
        of a batch.
    scores : ndarray of shape (n, k)

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers, chapter 8.
    """
    numeric = values.dtype.kind == "f"
    there = ~np.isnan(values) if numeric else values != ""
    if numeric and (infinite := int(np.isinf(values).sum())):
        return f"{counted(infinite, 'row has', 'rows have')} an infinite value; leave it empty if missing"
    x, Z = values[there], scores[there]
    distinct, codes = np.unique(x, return_inverse=True)
    n, c = len(x), len(distinct)
    if c < 2:
        return f"{counted(n, 'row')} with a value, all of them equal" if n else "no row has a value"
    number = numeric and (c > MOST_CODES or 2 * c > n or bool((distinct % 1).any()))
    if number and n < 3:
        return f"only {counted(n, 'row')} with a value"
    if not number and c == n:
        return "every row has a value of its own"
    # Centred twice and of length 1: nothing cancels, and the squared correlation is a sum of squares.
    U = unit_columns(np.ascontiguousarray(Z.T))
    if number:
        degrees, line = (1, n - 2), unit_columns(x[None, :])
        r = (U * line).sum(axis=1)
        share, rest = r**2, ((U - r[:, None] * line) ** 2).sum(axis=1)
    else:
        degrees = (c - 1, n - c)
        means = np.stack([U[:, codes == code].mean(axis=1) for code in range(c)], axis=1)
        share, rest = means**2 @ np.bincount(codes), ((U - means[:, codes]) ** 2).sum(axis=1)
        r = np.full(len(U), np.nan)
    p = special.betainc(degrees[1] / 2, degrees[0] / 2, np.minimum(rest, 1.0))
    p, levels = np.where(U.any(axis=1), p, np.nan), 0 if number else c
    return Association(NUMBER if number else CATEGORY, n, levels, np.minimum(share, 1.0), p, r)


@dataclass(frozen=True, eq=False, repr=False)
class Description(Tabulated):
    """What the components of a model have to do with its columns and with metadata; print it.

    Attributes
    ----------
    explained_variance : ndarray of shape (k,)
        Of the components.
    top : list of k lists of (str, float)
        The columns with the largest loadings of each component, largest first; for a kernel PCA with the
        largest correlations with the scores, and empty for a precomputed kernel.
    measure : {"loading", "correlation"}
        What the numbers in ``top`` are.
    variables : list of v str
        The columns of the metadata, by decreasing ``weighted_r2``.
    kinds : list of v str
        "number" or "category".
    rows, levels : ndarray of int, shape (v,)
        Rows with a value; categories among them, 0 for numbers.
    r2 : ndarray of shape (v, k)
        Squared correlation with a number, eta squared of categories.
    p, p_adjusted : ndarray of shape (v, k)
        Of F tests with (1, n - 2) or (c - 1, n - c) degrees of freedom; adjusted over all pairs by the method
        of Benjamini and Hochberg. NaN where scores do not vary.
    r : ndarray of shape (v, k)
        Correlation with a number, NaN for categories.
    weighted_r2 : ndarray of shape (v,)
        ``sum_j l_j r2_j / sum_j l_j`` over the variances l_j: the share of the variance of the components
        that the variable explains.
    left_out : dict of str to str
        Columns of the metadata without an association, and why.
    joined : str
        How metadata and rows were joined.
    texts : sequence of str
        What the file says of columns in ``top``, such as the texts of questions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> pca = gramian.PCA(2, scale="unit").fit(X)
    >>> result = gramian.describe(pca, X, {"cultivar": y.map(str)})
    >>> [name for name, _ in result.top[0]][:3]
    ['flavanoids', 'total_phenols', 'od280/od315_of_diluted_wines']
    >>> result.variables, result.r2.round(2)
    (['cultivar'], array([[0.8 , 0.72]]))
    """

    explained_variance: FloatArray
    top: list[list[tuple[str, float]]]
    measure: str
    variables: list[str]
    kinds: list[str]
    rows: IntArray
    levels: IntArray
    r2: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    r: FloatArray
    weighted_r2: FloatArray
    left_out: Mapping[str, str] = field(default_factory=dict)
    joined: str = ""
    texts: Sequence[str] = ()

    @property
    def components(self) -> list[str]:
        """PC1, PC2, ..."""
        return component_names(len(self.explained_variance))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return one line for each variable and component, as arrays by name."""
        v, k = self.r2.shape

        def repeated(values: Any) -> npt.NDArray[Any]:
            return np.repeat(np.asarray(values), k)

        return {
            "variable": repeated(np.array(self.variables, dtype=object)),
            "kind": repeated(np.array(self.kinds, dtype=object)),
            "rows": repeated(self.rows),
            "levels": repeated(self.levels),
            "component": np.tile(np.array(self.components, dtype=object), v),
            "r2": self.r2.ravel(),
            "r": self.r.ravel(),
            "p": self.p.ravel(),
            "p adjusted": self.p_adjusted.ravel(),
            "weighted r2": repeated(self.weighted_r2),
        }

    def table(self) -> Any:
        """Return :meth:`columns` as a frame of pandas, else of Polars, else as they are."""
        return as_frame(self.columns())

    def lines(self) -> list[tuple[str, ...]]:
        """Return a head and a line for each variable: name, weighted r2, r2 by component, kind."""
        shown = self.components[:SHOWN]
        head = ("", "weighted", *shown, "")
        lines = [head]
        for i, name in enumerate(self.variables):
            marks = ["*" if p < LEVEL else " " for p in self.p_adjusted[i]]
            cells = [f"{r2:.3f}{mark}" for r2, mark in zip(self.r2[i], marks, strict=True)]
            what = f"{self.levels[i]} categories" if self.levels[i] else "number"
            what = f"{what}, n = {self.rows[i]:,}"
            lines.append((name, f"{self.weighted_r2[i]:.3f}", *cells[:SHOWN], what))
        return lines

    def answers(self) -> list[str]:
        """Return what each variable explains most of, where that is more than chance."""
        result = []
        for i, name in enumerate(self.variables):
            j = int(np.nanargmax(self.r2[i])) if np.isfinite(self.r2[i]).any() else 0
            if self.p_adjusted[i, j] < LEVEL:
                share = percent(float(self.r2[i, j]))
                result.append(f"{name} explains {share} of the variance of {self.components[j]}.")
        return result or (
            ["No metadata has more to do with a component than chance."] if self.variables else []
        )

    def sentences(self) -> list[str]:
        """Return how to read the lines, and what was left out."""
        sentences = [f"{self.joined[:1].upper()}{self.joined[1:]}."] if self.joined else []
        if self.variables:
            k = len(self.explained_variance)
            whole = "component" if k == 1 else f"{k} components"
            sentences.append(
                "Each number is the share of the variance of a component that a variable explains (r2, eta "
                f"squared of categories); * marks more than chance (adjusted p below {LEVEL:g}: F tests, "
                f"Benjamini-Hochberg over all pairs). The weighted r2 is that share of the {whole}."
            )
        for name, kind, every in zip(self.variables, self.kinds, self.r, strict=True):
            if kind == NUMBER:
                pairs = zip(self.components[:SHOWN], every.tolist(), strict=False)
                numbers = ", ".join(f"{component} {r:+z.3f}" for component, r in pairs)
                sentences.append(f"Correlations of {name}: {numbers}.")
        if len(self.explained_variance) > SHOWN and self.variables:
            sentences.append(f"The first {SHOWN} of {len(self.explained_variance)} components are listed.")
        return sentences + [f"{name} was left out: {why}." for name, why in self.left_out.items()]

    def _notebook(self) -> Iterator[str | Grid]:
        if self.variables:
            head, *rows = self.lines()
            yield Grid(head, rows)
        yield from self.sentences()
        if any(self.top):
            yield f"Columns with the largest {self.measure}s:"
            for name, columns in zip(self.components[:SHOWN], self.top, strict=False):
                yield f"  {name}: " + ", ".join(f"{column} {value:+z.3f}" for column, value in columns)
        if self.texts:
            yield "What the file says of them:"
            yield from (f"  {text}" for text in self.texts)


def described(
    scores: FloatArray,
    variances: FloatArray,
    metadata: Mapping[str, npt.NDArray[Any]],
    top: Sequence[Sequence[tuple[str, float]]],
    measure: str,
    joined: str = "",
) -> Description:
    """Return how metadata is associated with scores.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    variances : ndarray of shape (k,)
    metadata : mapping of str to ndarray of shape (n,)
        As :func:`associated` takes them.
    top, measure, joined
        As in :class:`Description`.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate.
    """
    results = {name: associated(values, scores) for name, values in metadata.items()}
    left_out = {name: result for name, result in results.items() if isinstance(result, str)}
    pairs = [(name, result) for name, result in results.items() if not isinstance(result, str)]
    k, total = len(variances), float(variances.sum()) or 1.0
    weighted = np.array([result.r2 for _, result in pairs]).reshape(-1, k) @ variances / total
    order = np.argsort(-weighted, kind="stable")
    names, found = [pairs[i][0] for i in order], [pairs[i][1] for i in order]
    r2, p, r = (
        np.array([getattr(result, name) for result in found]).reshape(-1, k) for name in ("r2", "p", "r")
    )
    p_adjusted, tested = np.full(p.shape, np.nan), np.isfinite(p)
    if tested.any():
        p_adjusted[tested] = stats.false_discovery_control(p[tested])
    kinds = [result.kind for result in found]
    rows, levels = (
        np.array([getattr(result, name) for result in found], dtype=np.int64) for name in ("rows", "levels")
    )
    shown = [list(columns) for columns in top]
    numbers = (rows, levels, r2, p, p_adjusted, r, weighted[order])
    return Description(variances, shown, measure, names, kinds, *numbers, left_out, joined)


# ---- How much columns have to do with components, and where groups of points lie


def correlations(model: Any, data: Any) -> FloatArray:
    """Return the correlations of columns with scores, ``component * sd(score) / sd(column)``.

    Parameters
    ----------
    model : fitted PCA
    data : array-like of shape (n_samples, n_features)
        What it was fitted on.

    Returns
    -------
    ndarray of shape (n_features, n_components)
        0 for constant columns.

    Raises
    ------
    DataError
        For one row, in which nothing varies.
    """
    rows = as_rows(data, limit=memory_limit_bytes(None), weigh=True)
    if rows.shape[0] < 2:
        raise DataError("Nothing varies in one row, so no column has a correlation.", "Give at least 2 rows.")
    view = center_rows(rows, center=True, scale=None, ddof=model.ddof)
    deviation = view.norms / np.sqrt(rows.weight - model.ddof)
    divisor = np.ones(len(deviation)) if model.scale_ is None else as_float64(model.scale_)
    constant = deviation == 0
    factor = np.where(constant, 0.0, divisor / np.where(constant, 1.0, deviation))
    directions = as_float64(model.components_).T
    return np.asarray(directions * np.sqrt(as_float64(model.explained_variance_)) * factor[:, None])


def normal_ellipse(points: npt.ArrayLike, level: float = 0.95) -> FloatArray:
    """Return the ellipse that holds a share of a normal distribution with the points' mean and covariance.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least two; the covariance divides by n - 1.
    level : float
        The share, between 0 and 1.

    Returns
    -------
    ndarray of shape (61, 2)
        The last point is the first one. Of points on a line it is a part of that line.

    References
    ----------
    Johnson and Wichern (2007), Applied Multivariate Statistical Analysis, section 4.2.

    Examples
    --------
    >>> normal_ellipse([[-1, 0], [1, 0], [0, -1], [0, 1]], 0.95)[0].round(2).tolist()
    [2.0, 0.0]
    """
    values = np.asarray(points, dtype=np.float64)
    size = float(np.abs(values).max()) or 1.0
    values = values / size
    (a, b), (_, c) = np.cov(values.T)
    # The root of a 2 x 2 matrix M is (M + d I) / sqrt(trace + 2 d), d the root of the determinant.
    d = np.sqrt(max(a * c - b * b, 0.0))
    root = np.array([[a + d, b], [b, c + d]]) / (np.sqrt(a + c + 2 * d) or 1.0)
    angle = np.linspace(0, 2 * np.pi, 61)
    circle = np.sqrt(special.chdtri(2, 1 - level)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(size * (values.mean(axis=0) + circle @ root))


def mean_ellipse(points: npt.ArrayLike, level: float = 0.95) -> FloatArray:
    """Return the confidence ellipse of the mean of points of a normal distribution.

    It contains the mean of the distribution with probability ``level``, by Hotelling's T squared.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least three.
    level : float
        The probability, between 0 and 1.

    Returns
    -------
    ndarray of shape (61, 2)
        The last point is the first one.

    References
    ----------
    Johnson and Wichern (2007), Applied Multivariate Statistical Analysis, section 5.4.

    Examples
    --------
    >>> mean_ellipse([[-1, 0], [1, 0], [0, -1], [0, 1]], 0.95)[0].round(2).tolist()
    [3.08, 0.0]
    """
    values = np.asarray(points, dtype=np.float64)
    n = len(values)
    squared = 2 * (n - 1) / (n - 2) * special.fdtri(2, n - 2, level) / n
    centre = values.mean(axis=0)
    around = normal_ellipse(values, level) - centre
    return np.asarray(centre + np.sqrt(squared / special.chdtri(2, 1 - level)) * around)


def unit_columns(columns: FloatArray) -> FloatArray:
    """Return columns, one in each row, centred and of length 1; a constant one becomes zero.

    Parameters
    ----------
    columns : ndarray of shape (b, n)
        Finite numbers of any scale.

    Examples
    --------
    >>> unit_columns(np.array([[1e200, 3e200], [5.0, 5.0]])).round(4)
    array([[-0.7071,  0.7071],
           [ 0.    ,  0.    ]])
    """
    varies = columns.max(axis=1) > columns.min(axis=1)
    # By a power of two, which rounds nothing and lets the square of any number be held.
    B = np.ldexp(columns, -np.frexp(np.abs(columns).max(axis=1))[1][:, None])
    B -= B.mean(axis=1)[:, None]
    # Far from 0 the first mean is rounded by more than what the column varies.
    B -= B.mean(axis=1)[:, None]
    B = np.ldexp(B, -np.frexp(np.abs(B).max(axis=1))[1][:, None])
    length = np.sqrt((B * B).sum(axis=1))
    B /= np.where(varies, length, 1.0)[:, None]
    B[~varies] = 0.0
    return np.asarray(B)


# ---- Shapes of points in the plane of two components: arches, horseshoes, and what no ellipse describes

FEWEST_OF_CURVE = 20  # points
# R2 of a parabola; of a ring with a gap its spread over its radius, and its angle; a gap between groups
CURVE, RING, OPEN, HOLE = 0.7, 0.35, 0.8, 0.15
FAR, LEVEL_FAR = 0.2, 1.63  # distance of two distribution functions; of n points at 1 %, times the root of n


def curve(points: FloatArray) -> float | None:
    """Return the R2 of a parabola, of points on an arch or a horseshoe; None of other points.

    Parameters
    ----------
    points : ndarray of shape (n, 2)

    Returns
    -------
    float or None

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> curve(np.column_stack([x, x**2])), curve(np.column_stack([x, np.sin(40 * x)]))
    (1.0, None)
    """
    centred = points - points.mean(axis=0)
    deviations = centred.std(axis=0)
    if len(points) < FEWEST_OF_CURVE or not deviations.all():
        return None
    x, y = (centred / deviations).T
    A = np.column_stack([np.ones_like(x), x, x**2])
    r2 = 1 - float(((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).mean())
    hole = float(np.diff(np.sort(x)).max() / np.ptp(x))
    return r2 if (hole < HOLE and r2 >= CURVE) or (hole < 2 * HOLE and _horseshoe(x, y)) else None


def _horseshoe(x: FloatArray, y: FloatArray) -> bool:
    """Return whether points form a ring with one gap: the ends of a long gradient curl inwards."""
    radius, angles = np.hypot(x, y), np.sort(np.arctan2(y, x))
    gaps = np.sort(np.diff(np.append(angles, angles[0] + 2 * np.pi)))
    return bool(radius.std() < RING * radius.mean() and gaps[-1] > max(OPEN, 2.0 * gaps[-2]))


def not_normal(points: FloatArray) -> bool:
    """Return whether points are spread so that a normal ellipse says nothing of them, such as on a ring.

    Their squared distances, in units of their covariance, are far from the chi-squared distribution.

    Parameters
    ----------
    points : ndarray of shape (n, 2)

    Returns
    -------
    bool

    Examples
    --------
    >>> angle = np.linspace(0, 6, 100)
    >>> not_normal(np.column_stack([np.cos(angle), np.sin(angle)]))
    True
    >>> not_normal(np.random.default_rng(0).standard_normal((100, 2)))
    False
    """
    U, s, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    n = len(points)
    if not s[-1] > 1e-6 * s[0]:
        return False
    expected = -np.expm1(-np.sort((U**2).sum(axis=1)) * (n - 1) / 2)
    steps = np.arange(n + 1) / n
    far = max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max())
    return bool(far > max(FAR, LEVEL_FAR / np.sqrt(n)))


# ---- Fields on a grid: where a pattern is, and what its series does


def field_pattern(model: Any, scores: FloatArray, place: Callable[[int], str], ordered: bool) -> str:
    """Return where the first pattern of a field is and what its series does, or which are not told apart.

    Parameters
    ----------
    model : fitted PCA
        Of the cells of a grid; "" where it says nothing of the sample.
    scores : ndarray of shape (n, k)
    place : callable
        Returns the coordinates of a column.
    ordered : bool
        Whether rows are one series.
    """
    sample, weight, divisor = model.sampling_, model.feature_weight, model._host_divisor
    if sample is None or not sample.groups:
        return ""
    ratios, together = as_float64(model.explained_variance_ratio_), len(sample.groups[0])
    if together == 1 and len(ratios) > 1:
        # A trend or a cycle is no chance: only what both remember makes times fewer.
        memory = min(_memory(x - x.mean()) for x in scores[:, :2].T) ** 2
        error = np.sqrt(2 / len(scores) * (1 + memory) / (1 - memory))
        together += int(ratios[1] > ratios[0] * (1 - ERRORS * error))
    share = f"{percent(float(ratios[:together].sum()))} of the variance"
    if together > 1:
        names = "PC1 and PC2" if together == 2 else f"PC1 to PC{together}"
        return f"{names} (together {share}) are not told apart by these samples: read them together."
    pattern = as_float64(model.components_)[0] * (1.0 if divisor is None else divisor)
    area = np.ones(len(pattern)) if weight is None else as_float64(weight)
    top = int(np.abs(pattern).argmax())
    signed, where = pattern * np.sign(pattern[top]), place(top)
    same, other = float(area[signed > 0].sum() / area.sum()), int(signed.argmin())
    if same >= ONE_SIGN:
        of = "cells" if (area == area[0]).all() else "area"
        is_where = f"has one sign over {100 * same:.0f} % of the {of}, strongest at {where}"
    elif -signed[other] >= OPPOSITE * signed[top]:
        is_where = f"is a contrast between {where} and {place(other)}"
    else:
        is_where = f"is strongest at {where}"
    return (
        f"PC1 ({share}) {is_where}{_series(scores[:, 0] * np.sign(pattern[top]), where) if ordered else ''}."
    )


def _series(x: FloatArray, where: str) -> str:
    """Return whether a series rises, falls or repeats; "" if it does not by more than what remembers may."""
    n, order = len(x), np.arange(len(x), dtype=np.float64)
    if n < SHORTEST or not np.ptp(x) > 0:
        return ""
    line = stats.linregress(order, x)
    rest = x - line.intercept - line.slope * order
    memory, r2 = _memory(rest), line.rvalue**2
    freedom = n * (1 - memory) / (1 + memory) - 2
    t = np.sqrt(r2 * max(freedom, 0.0) / max(1 - r2, np.finfo(float).tiny))
    if freedom > 1 and r2 >= EXPLAINED and 2 * stats.t.sf(t, freedom) < RARE:
        return f"; at {where} it {'rises' if line.slope > 0 else 'falls'} over the whole time"
    power = np.abs(np.fft.rfft(rest * np.hanning(n))[1:]) ** 2
    top = int(power.argmax())
    near = power[max(0, top - NEAR) : top + NEAR + 1]
    if top + 1 < CYCLES or near.sum() < REGULAR * power.sum():
        return ""
    return f"; at {where} it repeats after about {n / (top + 1):.3g} steps"


def _memory(x: FloatArray) -> float:
    """Return the correlation of each value of a series without a mean with the next, at least 0."""
    return max(0.0, float(x[1:] @ x[:-1]) / max(float(x @ x), np.finfo(float).tiny))
