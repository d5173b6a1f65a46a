"""Checks of a fitted model for what makes its answer misleading.

Each takes the evidence and yields findings. A new check is a function and its place in ``CHECKS``; tables
with its trap, and tables without one, stand in ``benchmarks/diagnosis``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import betainc, ndtri
from scipy.stats import kstest, rankdata

from gramian.analysis.associations import curve
from gramian.analysis.components import column_names, component_names, kind_of, shares_of
from gramian.analysis.findings import (
    AXIS,
    FEWEST,
    SHARE,
    Finding,
    correlated_neighbours,
    dominating,
    units_of,
    width_of,
)
from gramian.analysis.proposals import why_no_measurement
from gramian.analysis.sampling import named_group, sampling_of
from gramian.analysis.units import column_variances
from gramian.arrays import as_float64, dense
from gramian.checks import counted, evenly, listed, percent
from gramian.data import Rows
from gramian.data.rows import row_text
from gramian.errors import by_surface, option
from gramian.io.preview import of_numbers
from gramian.records import FloatArray, ModelKind

# Rows and entries that are looked at; of more rows, evenly spaced pairs of neighbours.
ROWS, KERNEL_ROWS, FEWEST_ROWS, ENTRIES = 2000, 500, 200, 1 << 20
LEADING = 5  # components that are looked at: those with such a share, and the first
ORDERED_ROWS = 20  # and about their order
LEVEL = 0.01  # of a test

# no-signal
PERMUTED, PERMUTATIONS = 30_000, 19  # entries of the table whose columns are shuffled
ABOVE_NULL = 3.0  # standard deviations of the largest shuffled eigenvalue
CLEAR, TAIL = 2.0, 8.0  # times the edge of Marchenko and Pastur, if no entry is further out than this
# one-row, row-order, ties, imputed
HALF, ORDERED, DIFFERENT, IMPUTED = 0.5, 0.4, 0.5, 0.2
# groups-of-zeros, identifier: correlation with the pattern of zeros, with a column
ZEROS, FOLLOWS = 0.7, 0.9
EVEN = 0.35  # deviation of the loadings of an overall size over their mean
SIZE_SHARE = 0.3
LEAVE_OUT = "Leave the column out."


class Evidence:
    """What checks look at: the model, and a sample of its rows with their scores.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    rows : Rows or None
        Those of the fit.
    labels : mapping of str to sequences, or frame, optional
        Groups of the rows, one column a kind.
    """

    def __init__(self, model: Any, rows: Rows | None, labels: Any = None) -> None:
        self.model, self.rows, self.labels = model, rows, labels
        self.kernel = kind_of(model) is ModelKind.KERNEL_PCA
        self.n, self.d = int(model.n_samples_), int(model.n_features_in_)
        self.k = min(int(model.n_components_), int(model.rank_))
        self.names, self.shares = column_names(model), shares_of(model)
        self.pictures = getattr(model, "picture_shape_", None) is not None
        self.starts = np.empty(0, dtype=np.intp)
        self.values, self.scores = np.empty((0, self.d)), np.empty((0, self.k))
        if rows is not None:
            self._look_at(rows)

    def _look_at(self, rows: Rows) -> None:
        """Take complete rows with their scores; ``starts`` are places that the next row follows."""
        n = rows.shape[0]
        most = min(KERNEL_ROWS if self.kernel else ROWS, max(FEWEST_ROWS, ENTRIES // max(1, self.d)))
        starts = np.unique(np.asarray(evenly(max(n - 1, 1), n if n <= most else most // 2)))
        places = np.unique(np.concatenate([starts, np.minimum(starts + 1, n - 1)])).astype(np.intp)
        part = rows.here().picked(places)
        values = as_float64(dense(part.in_memory()))
        full = np.isfinite(values).all(axis=1)
        self.places, self.values = places[full], values[full]
        if full.any():
            scores = as_float64(self.model._scores(part.picked(np.flatnonzero(full))))
            self.scores = scores[:, : self.k]
        self.starts = np.flatnonzero(np.diff(self.places) == 1)

    @property
    def whole(self) -> bool:
        """Whether every row was looked at."""
        return len(self.values) == self.n

    @cached_property
    def leading(self) -> range:
        """The components that are looked at, counted from 0."""
        many = 2 if self.shares is None else int((self.shares[: self.k] >= SHARE).sum())
        return range(min(self.k, LEADING, max(1, many)))

    @cached_property
    def standardised(self) -> FloatArray:
        """The rows that were looked at, with columns of deviation 1 and without constant ones."""
        C = self.values - self.values.mean(axis=0)
        deviations = np.sqrt((C**2).mean(axis=0))
        vary = deviations > 1e-12 * np.abs(self.values).max(axis=0, initial=0.0)
        return np.asarray(C[:, vary] / deviations[vary])

    def name(self, i: int) -> str:
        """Return the name of a component."""
        return component_names(i + 1)[-1]


Check = Callable[[Evidence], Iterator[Finding]]

# ------------------------------------------------------------------ columns


def scale_dominates(e: Evidence) -> Iterator[Finding]:
    """Find columns that are the first component, or the distances of a kernel, because of their unit."""
    if not e.kernel:
        yield from units_of(e.model, (lambda: _neighbours(e)) if len(e.values) > 2 else None)
    elif not e.pictures and e.model.kernel_ is not None and len(e.values) > 2 and not _neighbours(e):
        found = dominating(np.var(e.values, axis=0), lambda: e.names, "distances between rows")
        if found is not None:
            divide = "If columns have different units, divide each by its standard deviation before the fit."
            yield Finding("scale-dominates", "serious", found[0], divide, found[1])


def _neighbours(e: Evidence) -> bool:
    """Return whether columns are neighbours on an axis, such as wavelengths, and so share a unit."""
    if e.values.shape[1] < AXIS:
        return False
    C = e.values - e.values.mean(axis=0)
    return correlated_neighbours((C[:, 1:] * C[:, :-1]).sum(axis=0), (C**2).sum(axis=0))


def identifier(e: Evidence) -> Iterator[Finding]:
    """Find columns that count or name the rows."""
    n = len(e.values)
    if n < FEWEST or e.pictures or (e.kernel and e.model.kernel_ is None):
        return
    V = e.values
    candidates = (np.floor(V) == V).all(axis=0) & (V[0] != V).any(axis=0)
    for j in np.flatnonzero(candidates).tolist():
        x = V[:, j]
        why = why_no_measurement(of_numbers(e.names[j], x), n) if e.whole else ""
        if not why and _names_rows(V, j):
            why = "has another whole number in every row and relates to no other column"
        if why:
            followed = [i for i in e.leading if abs(_correlations(x, e.scores[:, [i]])[0]) > FOLLOWS]
            yield Finding(
                "identifier",
                "serious" if followed else "note",
                f"{e.names[j]} {why}{f', and {e.name(followed[0])} follows it' if followed else ''}.",
                by_surface(
                    LEAVE_OUT,
                    f"Leave it out with {option('drop', e.names[j])}.",
                    LEAVE_OUT,
                ),
                {"column": e.names[j], "component": followed[0] + 1 if followed else None},
            )


def _names_rows(values: FloatArray, j: int) -> bool:
    """Return whether a column has whole, different, evenly spread numbers that relate to no other."""
    x, n = values[:, j], len(values)
    low, high = float(x.min()), float(x.max())
    if n < ORDERED_ROWS or (x != np.floor(x)).any() or len(np.unique(x)) < n or high - low < n:
        return False
    if kstest((x - low) / (high - low), "uniform").pvalue < LEVEL:
        return False
    others = np.delete(values, j, axis=1)
    return others.shape[1] > 0 and float(np.abs(_correlations(x, others)).max()) < _chance(n, others.shape[1])


def zeros(e: Evidence) -> Iterator[Finding]:
    """Find a component that is which entries are zero."""
    if e.kernel or e.pictures or len(e.values) < FEWEST or e.d < 2:
        return
    Z = (e.values == 0).astype(np.float64)
    if not 0.1 <= Z.mean() <= 0.99:
        return
    Z -= Z.mean(axis=0)
    wide = len(Z) < e.d
    vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)[1][:, -1]
    pattern = vectors if wide else Z @ vectors
    for i in e.leading[:2]:
        r = abs(float(_correlations(pattern, e.scores[:, [i]])[0]))
        if r > ZEROS:
            yield Finding(
                *("groups-of-zeros", "note"),
                f"{e.name(i)} is which entries are zero: it correlates {r:.2f} with their pattern.",
                "Read it as presence and absence, or look at the entries above zero alone.",
                {"component": i + 1, "correlation": r},
            )
            return


def size(e: Evidence) -> Iterator[Finding]:
    """Find a first component that is overall level."""
    if e.kernel or e.pictures or e.d < 3 or not e.k or e.shares is None or e.shares[0] < SIZE_SHARE:
        return
    first = as_float64(e.model.components_)[0][column_variances(e.model) > 0]
    if len(first) >= 3 and abs(np.sign(first).sum()) == len(first) and first.std() < EVEN * abs(first.mean()):
        yield Finding(
            *("size", "note"),
            "All columns have similar loadings of one sign on PC1: it is overall level, or size.",
            "If level is of no interest, divide each row by its total or its mean before the fit.",
            {"share": float(e.shares[0])},
        )


# ------------------------------------------------------------------ kernels


def kernel_width(e: Evidence) -> Iterator[Finding]:
    """Find a kernel in which all rows are equally unlike, or equally alike."""
    if e.kernel and e.model.kernel_ is not None:
        yield from width_of(e.model, e.values)


# ------------------------------------------------------------------ the sample


def no_signal(e: Evidence) -> Iterator[Finding]:
    """Find tables whose correlations do not exceed those of shuffled columns."""
    if e.kernel or e.pictures or len(e.values) < FEWEST or e.standardised.shape[1] < 2:
        return
    Z = e.standardised
    rows = max(50, PERMUTED // Z.shape[1])
    Z = Z[evenly(len(Z), rows)]
    Z = Z[:, evenly(Z.shape[1], max(2, PERMUTED // len(Z)))]
    largest, edge = _largest(Z), (1 + np.sqrt(Z.shape[1] / len(Z))) ** 2
    if largest > CLEAR * edge and np.abs(Z).max() < TAIL:
        return
    rng = np.random.default_rng(0)
    null = np.array([_largest(rng.permuted(Z, axis=0)) for _ in range(PERMUTATIONS)])
    mean, limit = float(null.mean()), float(null.mean() + ABOVE_NULL * null.std())
    if largest <= limit:
        yield Finding(
            *("no-signal", "serious"),
            "No component exceeds what independent columns give: the largest eigenvalue of the correlations "
            f"is {largest:.3g}. With each column shuffled it is {mean:.3g} on average, up to {limit:.3g}.",
            "Do not interpret the components.",
            {"largest": largest, "shuffled": mean, "limit": limit},
        )


def _largest(Z: FloatArray) -> float:
    """Return the largest eigenvalue of the covariance of some rows."""
    Z = Z - Z.mean(axis=0)
    return float(np.linalg.eigvalsh(Z @ Z.T if len(Z) < Z.shape[1] else Z.T @ Z)[-1]) / len(Z)


def not_separated(e: Evidence) -> Iterator[Finding]:
    """Find components whose single directions the sample does not determine."""
    sample = None if e.kernel else sampling_of(e.model)
    groups = [] if sample is None else sample.groups
    for group in groups:
        last = group.stop == len(sample.variances) and sample.next_separated is False  # type: ignore[union-attr]
        if len(group) > 1 or last:
            yield Finding(
                *("not-separated", "note"),
                f"{named_group(group, last)} are not separated by {counted(e.n, 'row')}.",
                "Read them together, as a plane or a space, or take more rows.",
                {"components": [j + 1 for j in group]},
            )
            return


def few_rows(e: Evidence) -> Iterator[Finding]:
    """Find fewer rows than intervals and limits need."""
    least = max(FEWEST, 0 if e.kernel else 5 * e.k)
    if e.n < least:
        yield Finding(
            *("few-rows", "note"),
            f"{counted(e.n, 'row')} are few for {counted(e.k, 'component')}: intervals need {least}.",
            "Take more rows, or fewer components.",
            {"rows": e.n, "components": e.k, "needed": least},
        )


def imputed(e: Evidence) -> Iterator[Finding]:
    """Find tables of which much was imputed."""
    record = getattr(e.model, "imputed_", None)
    if record is None or not len(record.rows):
        return
    by_column = np.bincount(np.asarray(record.columns), minlength=e.d) / e.n
    share, worst = float(by_column.mean()), int(by_column.argmax())
    most = float(by_column[worst])
    if max(share, most) > IMPUTED:
        yield Finding(
            *("imputed", "note"),
            f"{percent(share)} of the entries were imputed, and {percent(most)} of {e.names[worst]}.",
            "Read scores with their standard errors, or leave such columns out.",
            {"share": share, "column": e.names[worst], "share of the column": most},
        )


# ------------------------------------------------------------------ rows


def one_row(e: Evidence) -> Iterator[Finding]:
    """Find a row that has more than half of a component's variance."""
    n = len(e.scores)
    if n < FEWEST:
        return
    for i in e.leading:
        scores, first = e.scores[:, i], 0
        total = float(e.model.explained_variance_[i]) * e.n
        if not e.whole and not e.kernel and float(scores @ scores) / n * e.n < (1 - HALF) * total:
            # Rows that were not looked at have more than half: all of them are.
            assert e.rows is not None
            scores = as_float64(e.model._scores(e.rows))[:, i]
        squares = scores**2
        row = int(np.nanargmax(squares))
        share = float(squares[row] / (total if len(scores) != e.n else np.nansum(squares)))
        first = row if len(scores) == e.n and not e.whole else int(e.places[row])
        # The share of one of n normal scores follows a beta distribution.
        if share > HALF and len(scores) * (1 - betainc(0.5, (len(scores) - 2) / 2, share)) < LEVEL:
            assert e.rows is not None
            text = row_text(e.rows, first)
            yield Finding(
                *("one-row", "serious"),
                f"{text[0].upper()}{text[1:]} alone has {percent(share)} of the variance of {e.name(i)}.",
                "Look at this row, and fit again without it.",
                {"row": first, "component": i + 1, "share": share},
            )


def arch(e: Evidence) -> Iterator[Finding]:
    """Find a second component that is a curve of the first one."""
    if e.k < 2 or len(e.scores) < ORDERED_ROWS:
        return
    r2 = curve(e.scores[:, :2])
    if r2 is not None:
        yield Finding(
            *("arch", "note"),
            f"PC2 is a curve of PC1 (R2 {r2:.2f}): both show one gradient, bent to an arch.",
            "Read distances along the arch, and no groups at its ends.",
            {"R2": r2},
        )


def ties(e: Evidence) -> Iterator[Finding]:
    """Find tables of which most rows are copies."""
    if not e.whole or e.n < FEWEST:
        return
    different = len({row.tobytes() for row in e.values + 0.0})
    if different <= DIFFERENT * e.n:
        yield Finding(
            *("ties", "note"),
            f"Only {different:,} of {e.n:,} rows differ.",
            "If equal rows are copies, keep one of each: the sample is smaller than it looks.",
            {"different": different, "rows": e.n},
        )


def row_order(e: Evidence) -> Iterator[Finding]:
    """Find a component that follows the order of the rows."""
    m = len(e.starts)
    if m < ORDERED_ROWS:
        return
    for i in e.leading:
        ranks = rankdata(e.scores[:, i])
        before, after = ranks[e.starts], ranks[e.starts + 1]
        if before.std() and after.std():
            r = float(np.corrcoef(before, after)[0, 1])
            if r > max(ORDERED, 4 / np.sqrt(m)):
                yield Finding(
                    *("row-order", "note"),
                    f"{e.name(i)} follows the order of rows: neighbours correlate {r:.2f}.",
                    "Ask whether the order is time, batch or group; rows then count as fewer than they are.",
                    {"component": i + 1, "correlation": r},
                )
                return


# ------------------------------------------------------------------ labels


def confounded(e: Evidence) -> Iterator[Finding]:
    """Find two columns of labels that say the same."""
    labels = {} if e.labels is None else {str(name): list(e.labels[name]) for name in e.labels}
    for (a, x), (b, y) in combinations(labels.items(), 2):
        counts, pairs = (len(set(x)), len(set(y))), len(set(zip(x, y, strict=True)))
        if min(counts) > 1 and pairs == max(counts) < len(x):
            yield Finding(
                *("confounded", "serious"),
                f"{listed([a, b])} coincide: their effects cannot be told apart.",
                "Take rows in which they differ.",
                {"columns": [a, b]},
            )


CHECKS: tuple[Check, ...] = (
    *(scale_dominates, kernel_width, no_signal, one_row, identifier, confounded),
    *(imputed, few_rows, not_separated, arch, size, zeros, ties, row_order),
)


def findings(e: Evidence) -> tuple[Finding, ...]:
    """Return what all checks find, serious findings first."""
    result = [one for check in CHECKS for one in check(e)]
    rows = any(one.code == "one-row" and one.evidence["component"] == 1 for one in result)
    columns = {one.evidence["column"] for one in result if one.code == "identifier"}
    # A wild row or an identifier is why its column varies so much: units are not the reason.
    caused = [
        one
        for one in result
        if one.code != "scale-dominates" or not (rows or columns >= set(one.evidence["columns"]))
    ]
    return tuple(sorted(caused, key=lambda one: one.severity != "serious"))


def _correlations(x: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the correlations of a vector with columns; 0 with constant ones."""
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    norms = np.sqrt((x @ x) * (Y**2).sum(axis=0))
    return np.asarray(np.divide(x @ Y, norms, out=np.zeros(Y.shape[1]), where=norms > 0))


def _chance(n: int, tests: int) -> float:
    """Return a correlation that so many independent columns exceed in 1 of 100 tables (Fisher's z)."""
    return float(np.tanh(-ndtri(LEVEL / (2 * tests)) / np.sqrt(max(n - 3, 1))))
