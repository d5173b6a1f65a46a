"""Why a row is unusual, or what tells some rows from others: columns, their shares, and likely causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64, dense, memory_limit_bytes
from gramian.core.checks import check_integer, counted, evenly, number, shown
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import AnyArray, BoolArray, FloatArray, IndexArray, ModelKind
from gramian.errors import DataError, ParameterError
from gramian.models.events import RowStatistics
from gramian.models.monitor import Monitor, monitor_of
from gramian.statistics.causes import Cause, causes_of
from gramian.statistics.components import column_names, kind_of, mapping_of, names_of
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Rows, row_number
from gramian.tables.table import Table
from gramian.tables.treatment import rows_named

SAMPLE, CELLS = 20_000, 20_000_000  # other rows that are looked at, and their numbers
TYPICAL = (0.05, 0.5, 0.95)  # quantiles
FEWEST = 3  # rows of which one can be compared with the others
SHOWN = 8  # columns that are printed
LEVEL = 0.05  # of adjusted p values
BARELY = 1.05  # times a limit
NAMED = 3  # columns in a sentence
DISTANCES = {
    "T2": "its distance from the mean along the components",
    "SPE": "its distance from what the components say",
}
MEANINGS = {
    "T2": "it lies far from the mean along the components",
    "SPE": "its values do not go together as the components say",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(Tabulated):
    """Why a row is unusual, or how two groups of rows differ; prints as sentences and a table.

    Attributes
    ----------
    rows, versus : tuple of str
        Names of the rows that are explained, and of those that they are compared with.
    statistic : {"T2", "SPE", "difference"}
        What the contributions sum to: Hotelling's T squared or the squared prediction error of one row; or
        the difference of the mean scores of two groups along the direction that separates them best (Fisher's
        discriminant), in standard deviations within the groups.
    value, limit : float
        Of the statistic, and the limit above which a row is unusual; NaN for groups.
    columns : tuple of str
        Names, by the size of their contribution, largest first.
    values : ndarray of shape (d,)
        Of the row, or means of the rows.
    typical : ndarray of shape (d, 3)
        Quantiles .05, .5 and .95 of the other rows; of groups their mean, and the confidence interval (95 %)
        of the difference of the means.
    contributions : ndarray of shape (d,)
        Signed; NaN for groups of a KernelPCA.
    p_adjusted : ndarray of shape (d,) or None
        Of groups: Welch's t test of each column, adjusted for their number (Benjamini and Hochberg).
    causes : tuple of Cause
        Likely causes of single values.
    notes : tuple of str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> pca = gramian.PCA(3, scale="unit").fit(X)
    >>> explanation = gramian.explain(pca, X, 121)
    >>> explanation.columns[0], explanation.values[0].item()
    ('ash', 3.23)
    """

    rows: tuple[str, ...]
    versus: tuple[str, ...]
    statistic: Literal["T2", "SPE", "difference"]
    value: float
    limit: float
    columns: tuple[str, ...]
    values: FloatArray
    typical: FloatArray
    contributions: FloatArray
    p_adjusted: FloatArray | None = None
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer."""
        return self._of_groups() if self.p_adjusted is not None else self._of_row()

    def _of_row(self) -> str:
        times, name, statistic = self.value / self.limit, f"Row {shown(self.rows[0])}", self.statistic
        if np.isinf(self.limit):
            why = f"with all components of so few rows no distance has a limit ({statistic})"
            return f"{name} cannot be judged: {why}. Fit fewer components."
        if not times > 1:
            return f"{name} is not unusual: {DISTANCES[statistic]} is {times:.2g} of the limit ({statistic})."
        beyond = f"{times:.2g} times the limit" if times > BARELY else "just above the limit"
        unusual = f"{name} is unusual{self._leading(', most of all')}"
        return f"{unusual}: {MEANINGS[statistic]}, {beyond} ({statistic})."

    def _of_groups(self) -> str:
        assert self.p_adjusted is not None
        sizes = f"{counted(len(self.rows), 'row')} and {len(self.versus):,} others"
        count = int((self.p_adjusted < LEVEL).sum())
        if not count:
            return f"The means of {sizes} differ in no column by more than chance."
        sentence = f"The means of {sizes} differ in {count} of {counted(len(self.columns), 'column')}"
        if not np.isfinite(self.value):
            return f"{sentence}."
        return f"{sentence}; along the direction that separates them best{self._leading()}."

    def _leading(self, before: str = ",") -> str:
        """Return the columns that contribute most: as many as make up half of the sum, at most three."""
        sizes = np.abs(self.contributions)
        if not sizes.sum() > 0:
            return ""
        shares = sizes / sizes.sum()
        count = min(NAMED, 1 + int(np.searchsorted(np.cumsum(shares), 0.5)))
        texts = []
        names = map(shown, self.columns[:count])
        for name, value, (low, _, high) in zip(names, self.values, self.typical, strict=False):
            if self.p_adjusted is None:
                itself = "by itself " * bool(low <= value <= high)
                texts.append(f"{name} = {number(value)} ({itself}usual: {number(low)} to {number(high)})")
            else:
                texts.append(f"{name} ({'-' if value < low else '+'})")
        return f"{before} by {' and '.join(filter(None, [', '.join(texts[:-1]), texts[-1]]))}"

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.sentence
        yield from (f"{cause}." for cause in self.causes)
        heads, formats = ["column", "value", "5 %", "median", "95 %", "contribution"], [""] + [".4g"] * 5
        cells = [self.values, *self.typical.T, self.contributions]
        if self.p_adjusted is not None:
            ends = ["mean of others", "difference from", "to"]
            heads = ["column", "mean", *ends, "contribution", "p adjusted"]
            cells, formats = [*cells, self.p_adjusted], [*formats, ".2g"]
        count = min(SHOWN, len(self.columns))
        lines = [(self.columns[i], *(float(column[i]) for column in cells)) for i in range(count)]
        yield Grid(heads, lines, formats)
        if rest := len(self.columns) - count:
            left = float(self.contributions[count:].sum())
            contribute = f"contribute {number(left)} together" if np.isfinite(left) else "are not shown"
            if rest == 1:
                contribute = f"contributes {number(left)}" if np.isfinite(left) else "is not shown"
            yield f"{counted(rest, 'further column')} {contribute}."
        yield from self.notes

    def table(self) -> dict[str, Any]:
        """Return all columns as a table: dict of str to arrays of shape (d,)."""
        groups = self.p_adjusted is not None
        of_groups = "mean_of_others", "difference_low", "difference_high"
        ends = of_groups if groups else ("low", "median", "high")
        result = {"column": np.array(self.columns, dtype=object), "mean" if groups else "value": self.values}
        result |= dict(zip(ends, self.typical.T, strict=True)) | {"contribution": self.contributions}
        return result | ({"p_adjusted": self.p_adjusted} if groups else {})


def explain(model: Any, X: Any, subset: Any = None, *, versus: Any = None, units: Any = None) -> Explanation:
    """Explain why a row is unusual, or what tells some rows from others.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Monitor
        The model whose components are used; of a monitor its model.
    X : array-like, frame, path, Scan or Table of shape (n_samples, n_features)
        Rows of the fit, or new ones.
    subset : int, str, sequence of them, or bool array of shape (n_samples,), optional
        A row by its position in X (int), or by the name or number that is printed (str); or several: also
        ``"COLUMN=VALUE"`` or a value of the labels for a group. A single row without ``versus`` is explained
        by what is usual for the others.
        By default the row that is largest relative to its limits.
    versus : as subset, optional
        The rows to compare with, by default all others.
    units : array-like of shape (n_samples,), optional
        What was measured several times, such as a subject: the means of its rows are tested, because
        repeated rows are not independent.

    Returns
    -------
    Explanation
        Print it, or use ``.table()``.

    Raises
    ------
    ParameterError
        For rows that do not exist, and for rows in both groups.
    DataError
        For fewer than two rows to compare with.

    Notes
    -----
    With the centred and scaled row z, its scores t, the directions p_j and their variances l_j, a column
    contributes ``z_i sum_j t_j p_ij / l_j`` to T2 and ``sign(e_i) e_i^2`` of the residuals e to SPE. A
    KernelPCA has contributions by its gradient, which are approximate. Groups: with the mean difference d
    of the scaled columns and Fisher's direction w in the scores, scaled to variance 1 within the groups, a
    column contributes ``d_i sum_j w_j p_ij``. Of more than 20,000 other rows a part is looked at, evenly
    spaced.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> wine = load_wine(as_frame=True)
    >>> pca = gramian.PCA(3, scale="unit").fit(wine.data)
    >>> gramian.explain(pca, wine.data, wine.target == 0, versus=wine.target == 2).value > 5
    True
    """
    check_is_fitted(model)
    fitted = mapping_of(model)
    if kind_of(fitted) not in (ModelKind.PCA, ModelKind.KERNEL_PCA):
        kind = type(model).__name__
        raise ParameterError("model", allowed=f"is a {kind}, but must be a fitted PCA, KernelPCA or Monitor")
    data: Rows = fitted._new_rows(X, limit=memory_limit_bytes(fitted.memory_limit))
    n = data.shape[0]
    notes, watched = [], None
    if subset is None:
        watch = monitor_of(fitted, X)
        watched = watch.statistics(X, rows="auto")
        subset = int(watched.worst(1)[0])
        if np.isfinite(watched.columns["T2 limit"][subset]):
            notes.append(f"Of {counted(n, 'row')} it is the largest relative to its limits.")
    chosen = _mask(subset, data, "subset")
    others = ~chosen if versus is None else _mask(versus, data, "versus")
    if (both := chosen & others).any():
        first = int(np.flatnonzero(both)[0])
        raise ParameterError("versus", allowed=f"has row {_name(data, first)} in common with subset")
    if others.sum() < 2:
        raise DataError(f"{counted(n, 'row')} leave fewer than two to compare with. Name fewer in subset.")
    if others.sum() > (most := _most(data)):
        notes.append(f"{most:,} of {int(others.sum()):,} other rows were looked at, evenly spaced.")
    near, far = _part(chosen, most), _part(others, most)
    if chosen.sum() == 1 and versus is None:
        if watched is None:
            watch = monitor_of(fitted, X)
            watched = watch.statistics(X, rows="auto")
        return _explained_row(watch, watched.columns, data, near[0], far, notes)
    units = None if units is None else np.asarray(units)
    if units is not None and units.shape != (n,):
        raise ParameterError("units", allowed=f"has shape {units.shape}, but X has {counted(n, 'row')}")
    return _explained_groups(fitted, data, near, far, units, notes)


# ------------------------------------------------------------------ which rows


def _mask(rows: Any, data: Rows, parameter: str) -> BoolArray:
    """Return the rows that a parameter names."""
    n = data.shape[0]
    values = np.asarray(rows)
    if values.dtype == bool:
        if values.shape != (n,):
            wrong = f"has shape {values.shape}, but X has {counted(n, 'row')}"
            raise ParameterError(parameter, allowed=wrong)
        mask = values.copy()
    else:
        mask = np.zeros(n, dtype=bool)
        entries: Iterable[Any] = [rows] if values.ndim == 0 else values.tolist()
        texts = [entry for entry in entries if isinstance(entry, str)]
        for entry in values.ravel().tolist():
            if not isinstance(entry, str):
                mask[check_integer(parameter, entry, 0, n - 1)] = True
        if texts:
            names = None if data.row_names is None else tuple(map(str, data.row_names))
            table = data.table or Table(np.empty((n, 0)), row_names=names)
            mask |= rows_named(table, texts, parameter)
    if not mask.any():
        raise ParameterError(parameter, allowed="names no row")
    return mask


def _part(mask: BoolArray, most: int) -> IndexArray:
    rows = np.flatnonzero(mask)
    return rows[evenly(len(rows), most)]


def _most(data: Rows) -> int:
    """Return how many rows are looked at."""
    return max(1000, min(SAMPLE, CELLS // data.shape[1]))


def _name(data: Rows, row: int) -> str:
    return str(row_number(data, row) if data.row_names is None else data.row_names[row])


def _sorted(columns: Sequence[str], sizes: FloatArray, data: Rows, groups: Any, **values: Any) -> Explanation:
    """Return the explanation with arrays of all columns, by falling size."""
    order = np.argsort(-sizes, kind="stable")
    rows, versus = (tuple(_name(data, i) for i in some) for some in groups)
    fields: dict[str, Any] = {
        name: value[order] if isinstance(value, np.ndarray) else value for name, value in values.items()
    }
    return Explanation(rows=rows, versus=versus, columns=tuple(columns[i] for i in order), **fields)


# ------------------------------------------------------------------ one row


def unusual_rows(watch: Monitor, X: Any, statistics: RowStatistics, count: int) -> list[Explanation]:
    """Explain the rows that are largest relative to their limits, and beyond these.

    Parameters
    ----------
    watch : Monitor
    X : array-like of shape (n_samples, n_features)
    statistics : RowStatistics
        Of these rows.
    count : int
        Of rows, at most.
    """
    model: Any = watch.model_
    data: Rows = model._new_rows(X, limit=memory_limit_bytes(model.memory_limit))
    if data.shape[0] < FEWEST:
        return []
    worst = statistics.worst(count)
    others = [_part(np.arange(data.shape[0]) != row, _most(data)) for row in worst]
    each = zip(worst, others, strict=True)
    explained = (_explained_row(watch, statistics.columns, data, *result, []) for result in each)
    return [result for result in explained if result.value > result.limit]


def _explained_row(
    watch: Monitor,
    statistics: Mapping[str, AnyArray],
    data: Rows,
    row: int,
    others: IndexArray,
    notes: list[str],
) -> Explanation:
    fitted, names = watch.model_, column_names(watch.model_)
    values = _numbers(data, np.concatenate([[row], others]))
    limits = {name: float(statistics[f"{name} limit"][row]) for name in ("T2", "SPE") if name in statistics}
    sizes = {name: float(statistics[name][row]) for name in limits}
    if not np.isfinite(list(sizes.values())).any():
        raise DataError(f"Row {_name(data, row)} has too few values to be explained. Name another row.")
    statistic: Any = max(sizes, key=lambda name: np.nan_to_num(sizes[name] / limits[name]))
    if kind_of(fitted) is ModelKind.PCA:
        contributions = _linear(fitted, values[0], statistic)
    else:
        whole = watch.contributions(Table(values[:1], feature_names=names_of(fitted)))[statistic][0]
        middle = np.nanmedian(values[1:], axis=0)
        contributions = whole if statistic == "T2" else whole * np.sign(values[0] - middle)
        notes = [*notes, "Contributions to a kernel PCA are approximate: they follow from its gradient."]
    causes = causes_of(values[0], values[1:], names, [_name(data, i) for i in others])
    if getattr(fitted, "reading_", {}).get("transform"):  # logarithms have no units and no decimal points
        causes = [cause for cause in causes if cause.kind == "copied row"]
    return _sorted(
        *(names, np.abs(contributions), data, ([row], others)),
        statistic=statistic,
        value=sizes[statistic],
        limit=limits[statistic],
        values=values[0],
        typical=np.nanquantile(values[1:], TYPICAL, axis=0).T,
        contributions=contributions,
        causes=tuple(causes),
        notes=tuple(notes),
    )


def _numbers(data: Rows, rows: IndexArray) -> FloatArray:
    return as_float64(dense(data.at(rows))).reshape(len(rows), -1)


def _linear(model: Any, values: FloatArray, statistic: str) -> FloatArray:
    """Return the signed contributions of the columns to T2 or SPE of a row; 0 of missing values."""
    holes = np.isnan(values)
    z, r = _centered(model, values[None])[0], int(model.rank_)
    directions, variances = as_float64(model.components_)[:r], as_float64(model.explained_variance_)[:r]
    scores = directions @ z
    residuals = z - scores @ directions
    both = {"T2": z * ((scores / variances) @ directions), "SPE": np.sign(residuals) * residuals**2}
    return np.asarray(np.where(holes, 0.0, both[statistic]))


def _centered(model: Any, values: FloatArray) -> FloatArray:
    """Return rows as a PCA centres and scales them, with what it makes of missing values."""
    if np.isnan(values).any():
        values = as_float64(model.impute(Table(values, feature_names=names_of(model))))
    return np.concatenate([*model._projection().centered_blocks(as_rows(values), double=True)])


# ------------------------------------------------------------------ groups


def _explained_groups(
    model: Any,
    data: Rows,
    near: IndexArray,
    far: IndexArray,
    units: AnyArray | None,
    notes: list[str],
) -> Explanation:
    names, d = column_names(model), data.shape[1]
    first, second = _numbers(data, near), _numbers(data, far)
    value, contributions = np.nan, np.full(d, np.nan)
    if kind_of(model) is ModelKind.PCA:
        contributions = _along(model, first, second)
        value = float(contributions.sum())
    else:
        notes = [*notes, "The columns of a kernel PCA have no contributions to its scores: they are tested."]
    if units is not None:
        first, second = _averaged(first, units[near]), _averaged(second, units[far])
        notes = [*notes, f"Tested are the means of {len(first)} and {len(second)} units."]
    with np.errstate(invalid="ignore", divide="ignore"):
        test = stats.ttest_ind(first, second, axis=0, equal_var=False, nan_policy="omit")
        interval = test.confidence_interval(0.95)
    p = np.where(np.isfinite(test.pvalue), test.pvalue, 1.0)
    adjusted = stats.false_discovery_control(p)
    means = [np.nanmean(group, axis=0) for group in (first, second)]
    typical = np.stack([means[1], np.asarray(interval.low), np.asarray(interval.high)], axis=1)
    return _sorted(
        *(names, np.abs(contributions) if np.isfinite(value) else -p, data, (near, far)),
        statistic="difference",
        value=value,
        limit=np.nan,
        values=means[0],
        typical=typical,
        contributions=contributions,
        p_adjusted=adjusted,
        notes=tuple(notes),
    )


def _along(model: Any, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return what columns contribute to the difference along Fisher's direction in the scores."""
    groups = [_centered(model, group) for group in (first, second)]
    k = max(1, min(int(model.rank_), (len(first) + len(second) - 2) // 5))
    directions = as_float64(model.components_)[:k]
    scores = [group @ directions.T for group in groups]
    within = sum((len(s) - 1) * np.cov(s.T).reshape(k, k) for s in scores if len(s) > 1)
    within = np.asarray(within) / max(1, sum(map(len, scores)) - 2)
    difference = groups[0].mean(axis=0) - groups[1].mean(axis=0)
    w = np.linalg.lstsq(within, directions @ difference, rcond=1e-10)[0]
    size = float(np.sqrt(max(w @ within @ w, 0.0)))
    return np.asarray(difference * ((w / size) @ directions)) if size > 0 else np.zeros(len(difference))


def _averaged(values: FloatArray, units: AnyArray) -> FloatArray:
    """Return the mean of the rows of each unit."""
    _, which = np.unique(units.astype(np.str_), return_inverse=True)
    return np.stack([np.nanmean(values[which == unit], axis=0) for unit in range(which.max() + 1)])
