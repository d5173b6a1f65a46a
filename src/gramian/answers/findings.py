"""Checks of a fitted model and its rows for what makes the answer misleading.

Each takes the evidence and yields findings. A new check is a function and its place in ``CHECKS``; tables
with its trap, and tables without one, stand in ``benchmarks/diagnosis``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse, special
from scipy.stats import rankdata

from gramian.answers.proposals import DEEPER, FOLLOWED, correlations
from gramian.core.arrays import are_whole, as_float64, dense
from gramian.core.checks import counted, evenly, listed, percent
from gramian.core.records import FloatArray, IntArray, ModelKind
from gramian.errors import MissingValuesWarning, ignoring
from gramian.statistics import components
from gramian.statistics import findings as of_models
from gramian.statistics.associations import curve
from gramian.statistics.components import column_names, component_names, kind_of, names_of, shares_of
from gramian.statistics.findings import FEWEST, Finding
from gramian.statistics.units import unit_difference
from gramian.tables.labels import as_variable
from gramian.tables.preview import of_array
from gramian.tables.roles import roles_of
from gramian.tables.rows import Rows, row_number, row_text

# Rows, columns and entries that are looked at; of more rows half as many, evenly spaced pairs of neighbours.
ROWS, KERNEL_ROWS, FEWEST_ROWS, COLUMNS, ENTRIES = 2000, 500, 200, 1000, 1 << 19
LEADING, SHARE = 5, 0.05  # components that are looked at: those with such a share, and the first
ORDERED_ROWS = 20  # from which scores say something about the order of rows
LEVEL = 0.01  # of a test

# no-signal: entries of the table, permutations of its columns, deviations of the largest shuffled eigenvalue
ENOUGH, PERMUTATIONS, ABOVE_NULL = 20_000, 29, 2.8
SEVERAL, TAME = 10, 6.0  # columns and their mean fourth moment, for which Tracy and Widom's law is used
TRACY_WIDOM, CLEARLY = 2.02, 1.15  # its quantile of 99 %; factor above which nothing is shuffled
# one-row, row-order, ties, imputed
HALF, ORDERED, STEP, DIFFERENT, IMPUTED = 0.5, 0.4, 0.25, 0.5, 0.2
FOLLOWS = 0.9  # correlation of a component with a column of identifiers, or with the sums of few rows
# size: deviation of the correlations with PC1 over their mean, and its least share
EVEN, SIZE_SHARE = 0.35, 0.3
COUNTED, FEW_DEPTHS = 100, 6  # largest whole number, and rows, from which sums of counts are looked at
COINCIDE, DISAGREE = 0.95, 0.1  # shares of rows: labels agree; they do not, outside of the largest group
NO_MEASURES = ("identifier", "counter", "time", "code", "place", "weight")
FEWEST_THINGS = 4  # in a matrix that is symmetric by no coincidence
LEAVE_OUT = "Leave the column out."


class Evidence:
    """What checks look at: the model, and a sample of its rows with their scores.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    rows : Rows or None
        Those of the fit.
    labels : mapping of str to ndarray, optional
        Groups of the rows, one column a kind.
    """

    def __init__(self, model: Any, rows: Rows | None, labels: Mapping[str, Any] | None = None) -> None:
        self.model, self.rows, self.labels = model, rows, labels or {}
        self.kernel = kind_of(model) is ModelKind.KERNEL_PCA
        self.n, self.d = int(model.n_samples_), int(model.n_features_in_)
        self.k = min(int(model.n_components_), int(model.rank_))
        self.shares = shares_of(model)
        # Pixels share a unit, and columns of a matrix of kernel values are rows.
        self.alike = getattr(model, "picture_shape_", None) is not None
        self.alike |= self.kernel and model.kernel_ is None
        # A kernel needs all columns of a row.
        self.columns = np.asarray(evenly(self.d, self.d if self.kernel else COLUMNS), dtype=np.intp)
        self.places, self.starts = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self.values, self.scores = np.empty((0, len(self.columns))), np.empty((0, self.k))
        if rows is not None:
            with ignoring(MissingValuesWarning):
                self._look_at(rows)

    def _look_at(self, rows: Rows) -> None:
        """Take rows with their scores; ``starts`` are places that the next row follows."""
        n = rows.shape[0]
        most = min(KERNEL_ROWS if self.kernel else ROWS, max(FEWEST_ROWS, ENTRIES // max(1, self.d)))
        starts = np.unique(np.asarray(evenly(max(n - 1, 1), n if n <= most else most // 4)))
        rows_seen = np.unique(np.concatenate([starts, np.minimum(starts + 1, n - 1)])).astype(np.intp)
        subset = rows.here().picked(rows_seen)
        values = subset.in_memory()
        if not sparse.issparse(values):
            values = as_float64(values)
            full = np.isfinite(values).all(axis=1)
            if not full.all() and getattr(self.model, "_maps_holes", False):
                values = self.model._normal_model(of_entries=True).filled(values)
                full = np.isfinite(values).all(axis=1)
            if not full.all():
                rows_seen, values, subset = rows_seen[full], values[full], subset.picked(np.flatnonzero(full))
        self.places = rows_seen
        self.values = as_float64(dense(values if len(self.columns) == self.d else values[:, self.columns]))
        if len(rows_seen):
            self.scores = as_float64(self.model._scores(subset))[:, : self.k]
        self.starts = np.flatnonzero(np.diff(self.places) == 1)

    @property
    def genotypes(self) -> bool:
        """Whether entries are counts of an allele."""
        scale = getattr(self.model, "scale", None)
        counted_alleles = getattr(self.model, "counted_alleles_", None) is not None
        return counted_alleles or (isinstance(scale, str) and scale == "genotype")

    @property
    def whole(self) -> bool:
        """Whether every row was looked at."""
        return len(self.values) == self.n

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns that were looked at."""
        names = column_names(self.model)
        return [names[j] for j in self.columns]

    @cached_property
    def groups(self) -> dict[str, IntArray]:
        """The groups of the rows that were looked at, for each kind of labels."""
        some = slice(None) if self.rows is None else self.places
        return {name: _groups(values[some]) for name, values in self.labels.items()}

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


def units(e: Evidence) -> Iterator[Finding]:
    """Find columns that are the first component, or the distances of a kernel, because of their unit."""
    if not len(e.values):
        yield from () if e.kernel else of_models.unit_findings(e.model)
    elif not of_models.has_one_unit(e.model) and e.k:
        variances = np.var(e.values, axis=0) if e.kernel else components.column_variances(e.model)[e.columns]
        clause, evidence = unit_difference(e.names, np.sqrt(variances), e.values)
        if clause:
            subject = "distances between rows" if e.kernel else "the first component"
            yield of_models.scale_dominates(clause, evidence, subject)


def symmetric(e: Evidence) -> Iterator[Finding]:
    """Find a matrix of correlations, distances or similarities where rows of measurements are expected."""
    V = e.values
    if e.kernel or e.n < FEWEST_THINGS or V.shape != (e.n, e.n) or np.ptp(V) == 0.0:
        return
    if not np.allclose(V, V.T, 1e-6, 1e-9 * np.abs(V).max()):
        return
    yield Finding(
        *("symmetric", "serious"),
        f"The table is symmetric, as a matrix of correlations or distances between {e.n:,} things is: its "
        "rows are no observations, and these are not the components of the data behind it.",
        'Fit the rows of which it was computed. Without them, kernel="precomputed", center=False has the '
        "eigenvectors of this matrix; of distances take -D**2 / 2 and center=True (classical scaling).",
        {"rows": e.n},
    )


def identifier(e: Evidence) -> Iterator[Finding]:
    """Find columns that count or name the rows."""
    if len(e.values) < FEWEST or e.alike:
        return
    seen = replace(of_array(e.values, e.names), named=names_of(e.model) is not None)
    for j, role in enumerate(roles_of(seen)):
        if role.role in NO_MEASURES:
            x = e.values[:, j]
            followed = [i for i in e.leading if abs(correlations(x, e.scores[:, [i]])[0]) > FOLLOWS]
            yield Finding(
                "identifier",
                "serious" if followed else "note",
                f"{e.names[j]} {role.why}{f', and {e.name(followed[0])} follows it' if followed else ''}.",
                LEAVE_OUT,
                {"column": e.names[j], "role": role.role, "component": followed[0] + 1 if followed else None},
            )


def size(e: Evidence) -> Iterator[Finding]:
    """Find a first component that is overall level: all columns correlate with it, and alike."""
    if e.kernel or e.alike or e.d < 3 or not e.k or e.shares is None or e.shares[0] < SIZE_SHARE:
        return
    transform, values = getattr(e.model, "reading_", {}).get("transform"), e.values
    plain = transform is None and values.max(initial=0) >= COUNTED
    counts = transform == "log1p" or (plain and are_whole(values).all())
    if counts and len(values) >= FEW_DEPTHS and values.min() >= 0:
        totals = (np.expm1(values) if transform else values).sum(axis=1)
        r2 = float(correlations(np.log1p(totals), e.scores[:, :1])[0]) ** 2
        least = FOLLOWED if len(values) >= FEWEST else FOLLOWS
        if r2 >= least and totals.max() >= DEEPER * totals.min():
            yield Finding(
                *("size", "note"),
                f"PC1 follows the totals of the rows (r2 = {r2:.2f}), which differ "
                f"{totals.max() / max(totals.min(), 1.0):,.3g}-fold: it is size, or the depth of counting.",
                'If it is of no interest, divide each row by its total first: transform="logcpm" does.',
                {"share": float(e.shares[0]), "r2": r2},
            )
            return
    variances = components.column_variances(e.model)
    vary = variances > 0
    first = as_float64(e.model.components_)[0][vary] / np.sqrt(variances[vary])
    even = first.std() < EVEN * abs(first.mean())
    if len(first) >= 3 and abs(np.sign(first).sum()) == len(first) and even:
        divide = "rows by their total or mean; of logarithms, subtract the mean; for spectra, take SNV"
        if isinstance(e.model.scale, str):  # columns may have different units
            divide = "the columns by one that measures it, or read the later components"
        yield Finding(
            *("size", "note"),
            "All columns rise together on PC1, and alike: it is overall level, or size.",
            f"If level is of no interest, divide {divide}.",
            {"share": float(e.shares[0])},
        )


# ------------------------------------------------------------------ kernels


def kernel_width(e: Evidence) -> Iterator[Finding]:
    """Find a kernel in which all rows are equally unlike, or equally alike."""
    if not e.kernel or e.model.kernel_ is None:
        return
    rows, kernel = e.values, e.model.kernel_
    if (divisor := getattr(e.model, "scale_", None)) is not None:
        rows = (rows - as_float64(e.model.mean_)) / as_float64(divisor)
    identity = False
    if len(rows) >= FEWEST and kernel.facts.unit_diagonal:
        squares = np.tril(as_float64(kernel.gram(rows)), -1) ** 2
        # The effective rank of the matrix of all rows, n / (1 + (n - 1) mean k^2), is above n / 2.
        identity = (e.n - 1) * float(squares.sum()) < len(rows) * (len(rows) - 1) / 2
    yield from of_models.width_findings(e.model, rows, identity)


# ------------------------------------------------------------------ the sample


def no_signal(e: Evidence) -> Iterator[Finding]:
    """Find tables whose correlations do not exceed those of independent columns."""
    if e.kernel or e.alike or len(e.values) < FEWEST or e.standardised.shape[1] < 2:
        return
    Z = e.standardised
    Z = Z[evenly(len(Z), max(50, ENOUGH // Z.shape[1]))]
    Z = Z[:, evenly(Z.shape[1], max(2, ENOUGH // len(Z)))]
    n, p = Z.shape
    tame = p >= SEVERAL and float((Z**2 * Z**2).mean()) <= TAME
    least = _least_of_correlations(e) / _tracy_widom(e.n, e.d)[1] if e.model.center else 0.0
    if tame and least > CLEARLY:
        return
    (largest, norm), (usual, limit) = map(float, _largest_and_norm(Z)), _tracy_widom(n, p)
    # With heavy tails a single row may add its squared norm.
    if largest > (CLEARLY * limit if tame else 2 * limit + float((Z**2).sum(axis=1).max()) / n):
        return
    if not tame or largest > usual:
        rng = np.random.default_rng(0)
        null = np.stack(
            _largest_and_norm(np.array([rng.permuted(Z, axis=0) for _ in range(PERMUTATIONS)])), axis=-1
        )
        (usual, _), (limit, most) = null.mean(axis=0), null.mean(axis=0) + ABOVE_NULL * null.std(axis=0)
        if norm > most:  # columns correlate, if along no single direction
            return
    if largest <= limit:
        # What few rows and columns do not show, all of them may.
        sampled = Z.size < e.standardised.size or not e.whole or len(e.columns) < e.d
        if sampled and (
            least > 1.0 or _largest_and_norm(e.standardised)[0] > _tracy_widom(*e.standardised.shape)[1]
        ):
            return
        yield Finding(
            *("no-signal", "serious"),
            "No component exceeds what independent columns give: the largest eigenvalue of the correlations "
            f"is {largest:.3g}. Independent columns have {usual:.3g} on average, up to {limit:.3g}.",
            "Do not interpret the components.",
            {"largest": largest, "independent": usual, "limit": limit},
        )


def _least_of_correlations(e: Evidence) -> float:
    """Return a lower bound of the largest eigenvalue of the correlations of all rows, by the components."""
    squares = as_float64(e.model.components_)[: e.k] ** 2
    variances = components.column_variances(e.model)
    shares = squares @ (variances / variances.sum()) * float(e.model.total_variance_)
    return float((as_float64(e.model.explained_variance_)[: e.k] / shares).max())


def _largest_and_norm(Z: FloatArray) -> tuple[Any, Any]:
    """Return the largest eigenvalue of the correlations of some rows, and the norm of all correlations.

    Of a stack of tables it returns those of each.
    """
    Z, (n, p) = Z - Z.mean(axis=-2, keepdims=True), Z.shape[-2:]
    columns = np.swapaxes(Z, -2, -1)
    values = np.linalg.eigvalsh(Z @ columns if n < p else columns @ Z) / n
    return values[..., -1], np.sqrt(np.maximum(0.0, np.vecdot(values, values - 1)))


def _tracy_widom(n: int, p: int) -> tuple[float, float]:
    """Return the usual largest eigenvalue of correlations of independent columns, and its 99 % quantile."""
    a, b = np.sqrt(n - 1.5), np.sqrt(p - 0.5)
    spread = (a + b) * (1 / a + 1 / b) ** (1 / 3)
    return (a + b) ** 2 / n - 1.21 * spread / n, ((a + b) ** 2 + TRACY_WIDOM * spread) / n


def few_rows(e: Evidence) -> Iterator[Finding]:
    """Find fewer rows than intervals and limits need."""
    least = max(FEWEST, 0 if e.kernel else 5 * e.k)
    if e.k and e.n < least:
        yield Finding(
            *("few-rows", "note"),
            f"{counted(e.n, 'row')} are few for {counted(e.k, 'component')}: standard errors, limits for "
            f"unusual rows (T2, SPE) and tests that tell components apart are reliable from {least} on.",
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
    most, name = float(by_column[worst]), column_names(e.model)[worst]
    if max(share, most) > IMPUTED:
        yield Finding(
            *("imputed", "note"),
            f"{percent(share)} of the entries were imputed, and {percent(most)} of {name}.",
            "Read scores with their standard errors, or leave such columns out.",
            {"share": share, "column": name, "share of the column": most},
        )


# ------------------------------------------------------------------ rows


def one_row(e: Evidence) -> Iterator[Finding]:
    """Find a row that has more than half of a component's variance."""
    if len(e.scores) < FEWEST:
        return
    for i in e.leading:
        row, share, n = _largest_share(e, i)
        # The share of one of n normal scores follows a beta distribution.
        if share > HALF and n * (1 - special.betainc(0.5, (n - 2) / 2, share)) < LEVEL:
            assert e.rows is not None
            text = row_text(e.rows, row)
            yield Finding(
                *("one-row", "serious"),
                f"{text[0].upper()}{text[1:]} alone has {percent(share)} of the variance of {e.name(i)}.",
                "Look at this row, and fit again without it.",
                {"row": row_number(e.rows, row), "place": row, "component": i + 1, "share": share},
            )


def _largest_share(e: Evidence, i: int) -> tuple[int, float, int]:
    """Return the row with the largest share of a component's variance, this share, and the number of rows."""
    squares, n = e.scores[:, i] ** 2, len(e.scores)
    whitened = getattr(e.model, "whiten", False)
    total = e.n * (1.0 if whitened else float(e.model.explained_variance_[i]))
    if not e.whole and not e.kernel and float(squares.mean()) * e.n < (1 - HALF) * total:
        # Rows that were not looked at have more than half: all of them are.
        squares = as_float64(e.model._scores(e.rows))[:, i] ** 2
        row = int(np.nanargmax(squares))
        return row, float(squares[row] / np.nansum(squares)), e.n
    row = int(np.nanargmax(squares))
    return int(e.places[row]), float(squares[row] / (np.nansum(squares) if e.whole else total)), n


def arch(e: Evidence) -> Iterator[Finding]:
    """Find a second component that is a curve of the first one."""
    if e.k < 2 or len(e.scores) < ORDERED_ROWS:
        return
    r2 = curve(e.scores[:, :2])
    if r2 is not None:
        yield Finding(
            *("arch", "note"),
            "Rows lie on a curve in the plane of PC1 and PC2: both show one gradient, bent to an arch.",
            "Read distances along the arch, and no groups at its ends.",
            {"R2 of a parabola": r2},
        )


def ties(e: Evidence) -> Iterator[Finding]:
    """Find tables of which most rows are copies."""
    if len(e.values) < FEWEST or not e.whole:
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
    """Find a component that follows the order of the rows, within the groups of labels if there are some."""
    m = len(e.starts)
    if e.rows is None or m < ORDERED_ROWS:
        return
    for i in e.leading:
        scores = _within(e, e.scores[:, i])
        if scores.std() <= 1e-6 * e.scores[:, i].std():
            continue
        ranks = np.asarray(rankdata(scores))
        r = float(correlations(ranks[e.starts], ranks[e.starts + 1, None])[0])
        trend = abs(float(correlations(ranks, as_float64(e.places)[:, None])[0]))
        step, share = _change(ranks)
        if r > max(ORDERED, 4 / np.sqrt(m)):
            how = f"neighbouring rows have similar scores (correlation {r:.2f})"
        elif trend > max(np.sqrt(STEP), 4 / np.sqrt(m)):
            how = f"it correlates {trend:.2f} with the number of the row"
        elif share > max(STEP, 16 / m):
            how = f"its level changes at {row_text(e.rows, int(e.places[step]))}"
        else:
            continue
        yield Finding(
            *("row-order", "note"),
            f"{e.name(i)} follows the order of rows: {how}.",
            "Ask whether the order is time, batch or group: rows then count as fewer than they are.",
            {"component": i + 1, "correlation": r, "trend": trend, "change": share},
        )
        return


def _within(e: Evidence, scores: FloatArray) -> FloatArray:
    """Return scores without the means of the groups of each kind of labels."""
    for groups in e.groups.values():
        if 1 < groups.max() + 1 <= len(groups) / 5:
            counts = np.bincount(groups + 1)
            scores = scores - (np.bincount(groups + 1, scores) / np.maximum(counts, 1))[groups + 1]
    return scores


def _change(ranks: FloatArray) -> tuple[int, float]:
    """Return where the level changes most, and the share of the variance of ranks that this explains."""
    n = len(ranks)
    sums = np.cumsum(ranks - ranks.mean())[:-1]
    sizes = np.arange(1, n)
    between = sums**2 * n / (sizes * (n - sizes))
    inside = slice(n // 10, n - n // 10 - 1)
    best = int(np.argmax(between[inside])) + n // 10
    return best + 1, float(between[best] / ((ranks - ranks.mean()) ** 2).sum())


# ------------------------------------------------------------------ labels


def confounded(e: Evidence) -> Iterator[Finding]:
    """Find two columns of labels that say the same in nearly all rows."""
    for a, b in combinations(e.groups, 2):
        agree = _agreement(e.groups[a], e.groups[b])
        if agree >= COINCIDE and not e.whole:  # the sentence is about all rows
            agree = _agreement(*(_groups(e.labels[name]) for name in (a, b)))
        if agree >= COINCIDE:
            exactly = "coincide" if agree == 1 else f"coincide in {percent(agree)} of the rows"
            yield Finding(
                *("confounded", "serious"),
                f"{listed([a, b])} {exactly}: their effects cannot be told apart.",
                "Take rows in which they differ.",
                {"columns": [a, b], "share": agree},
            )


def _agreement(x: IntArray, y: IntArray) -> float:
    """Return the share of the rows in which groups of the finer kind name those of the coarser one."""
    labelled = (x >= 0) & (y >= 0)
    x, y = (np.unique(groups[labelled], return_inverse=True)[1] for groups in (x, y))
    n = len(x)
    if not n or min(x.max(), y.max()) < 1 or max(x.max(), y.max()) + 1 > n / 2:
        return 0.0
    table = np.zeros((x.max() + 1, y.max() + 1))
    np.add.at(table, (x, y), 1)
    right = [(some.max(axis=0).sum(), some.sum(axis=1).max()) for some in (table, table.T)]
    # Most rows of one group are named right by chance: the others must be, too.
    agree = (float(named / n) * bool(n - named <= DISAGREE * (n - largest)) for named, largest in right)
    return max(agree)


def _groups(labels: Any) -> IntArray:
    """Return labels as numbers of their groups; -1 where one is missing."""
    values = as_variable("label", labels)
    there = values == values if values.dtype.kind == "f" else values != ""
    groups = np.full(len(values), -1, dtype=np.int64)
    groups[there] = np.unique(values[there], return_inverse=True)[1]
    return groups


CHECKS: tuple[Check, ...] = (
    *(symmetric, units, kernel_width, no_signal, one_row, identifier, confounded),
    *(imputed, few_rows, arch, size, ties, row_order),
)


def findings(e: Evidence) -> tuple[Finding, ...]:
    """Return what all checks find, serious findings first."""
    found = [finding for check in CHECKS for finding in check(e)]
    codes = {finding.code for finding in found}
    # Another finding is the reason of these, or leaves nothing to say.
    implied = {"arch", "size"} if "no-signal" in codes else set[str]()
    if "scale-dominates" in codes and not _without(e, found):
        implied.add("scale-dominates")
    kept = (finding for finding in found if finding.code not in implied)
    return tuple(sorted(kept, key=lambda finding: finding.severity != "serious"))


def _without(e: Evidence, found: list[Finding]) -> bool:
    """Return whether columns dominate also without wild rows and identifiers, whose variance is no unit."""
    rows = [finding.evidence["place"] for finding in found if finding.code == "one-row"]
    columns = [finding.evidence["column"] for finding in found if finding.code == "identifier"]
    if not rows and not columns:
        return True
    kept = [j for j, name in enumerate(e.names) if name not in columns]
    rest = e.values[~np.isin(e.places, rows)][:, kept]
    divisor = getattr(e.model, "_divisor", None)
    rest = rest if divisor is None else rest / as_float64(divisor)[e.columns[kept]]
    return bool(unit_difference([e.names[j] for j in kept], rest.std(axis=0), rest)[0])
