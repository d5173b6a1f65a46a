"""What a fit shows, in a sentence for each kind of table: groups, time, pictures, clusters, noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gramian.answers.diagnose import Diagnosis
from gramian.answers.proposals import FOLLOWED
from gramian.core.arrays import as_float64
from gramian.core.checks import counted, evenly, percent, shown
from gramian.core.records import AnyArray, BoolArray, FloatArray, IntArray
from gramian.errors import shortened
from gramian.report.facts import where_text
from gramian.report.sentences import quoted
from gramian.statistics.associations import LEVEL, associated, field_pattern
from gramian.statistics.components import component_names, feature_names_of, shares_of
from gramian.statistics.groups import CHANCE, COMPONENTS, Parted, Separation, parted, separation_of
from gramian.statistics.units import column_axis
from gramian.tables.labels import as_array, label_texts
from gramian.tables.table import Table
from gramian.tables.treatment import DEPTH

if TYPE_CHECKING:
    from gramian.answers.departure import Departure

DESCRIBED = 2  # components
LABELLED = 5000  # rows whose labels are read; of more rows, evenly spaced ones
KINDS = 4  # of rows, that are values of columns rather than groups
COLUMNS, RELATIVE = 3, 0.5  # of a component, and their least loading relative to the largest
APART = 0.9  # share of the rows of every group that is right, from which groups are told apart
UNTOLD = 0.1  # share of permuted labels as good as theirs, above which groups are said not to be told apart
LONGEST_NAME = 60  # characters
PEAKS, PROMINENT = 2, 0.5  # of a curve of loadings that are named, and their prominence relative to its range
STRAIGHT = 0.95  # correlation of a curve with a straight line


@dataclass(frozen=True, eq=False)
class Headline:
    """What a fit shows.

    Attributes
    ----------
    kind : {"groups", "time", "grid", "pictures", "noise", "clusters", "components"}
        What the first sentence is about.
    sentences : tuple of str
        The answer; then what the first one or two components are.
    figure : str
        The figure in the registry that shows it.
    pair : tuple of int
        The two components that show it, counted from 1.
    evidence : Separation, Departure, Parted or None
        What the first sentence says, as numbers.
    """

    kind: Literal["groups", "time", "grid", "pictures", "noise", "clusters", "components"]
    sentences: tuple[str, ...]
    figure: str = "scores"
    pair: tuple[int, int] = (1, 2)
    evidence: Separation | Departure | Parted | None = None


def headline(
    model: Any, table: Table | None = None, scores: Any = None, diagnosis: Diagnosis | None = None
) -> Headline:
    """Return what a fit shows.

    Groups of labels come first, then a departure in time, groups without labels, and noise: each is said
    where a test says so. Else the first components are described.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Whitener
    table : Table, optional
        The rows of the fit, or new ones.
    scores : array-like of shape (n_samples, at least 1), optional
        Of these rows.
    diagnosis : Diagnosis, optional
        Says whether there is more than noise.

    Examples
    --------
    >>> import gramian
    >>> X = np.column_stack([np.arange(40.0), np.arange(40) % 7])
    >>> model, table = gramian.PCA(1).fit(X), Table(X, labels=np.repeat(["a", "b"], 20), label_name="kind")
    >>> print(*headline(model, table, model.transform(X)).sentences, sep="\\n")
    PC1 separates `a` from `b`, by a smaller `x0` (all rows are on the side of their group).
    PC1 (97.20 % of the variance) rises with `x0`.
    """
    k = int(model.n_components_)
    has_scores = table is not None and scores is not None and len(scores) == table.values.shape[0]
    Z = as_float64(scores) if has_scores and k else np.empty((0, 0))
    ratios = shares_of(model)
    varying = k if ratios is None else int((ratios > 0).sum())
    # Batches that follow one another differ where the process does; what they cannot say is since when.
    first_two = (_time, _groups) if _are_batches(table) else (_groups, _time)
    tests = (*first_two, _field, _pictures, _clusters, _noise) if varying else ()
    first = next(filter(None, (test(model, table, Z, diagnosis) for test in tests)), None)
    described = min(DESCRIBED, varying) if first is None else 0 if first.kind in ("noise", "grid") else 1
    axis = column_axis(feature_names_of(model)) if model.model_kind.linear and described else None
    about = tuple(f"{_about(model, index, axis)}." for index in range(described))
    if table is not None and len(Z) and about and DEPTH in table.metadata:
        about += _of_depth(table.metadata[DEPTH], Z)
    if first is None:
        still = ("The rows do not vary.",) if k and not varying else ()
        return Headline("components", about or still, "scores" if axis is None else "loadings")
    return replace(first, sentences=(*first.sentences, *about))


def _are_batches(table: Table | None) -> bool:
    """Say whether the rows of each label are in one piece."""
    if table is None or table.labels is None:
        return False
    labels = as_array(table.labels)
    labels = labels[evenly(len(labels), LABELLED)]
    return bool(1 + np.count_nonzero(labels[1:] != labels[:-1]) == len({*labels.tolist()}))


def _groups(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say whether the first components tell the groups of the labels apart, and which one parts them."""
    labels = None if table is None else table.labels
    if labels is None or table is None or not len(Z):
        return None
    some = np.array(evenly(len(Z), LABELLED))
    texts, title = label_texts(as_array(labels)[some]), table.label_name or ""
    result = separation_of(Z[some], texts)
    if result is None:
        return None
    result = replace(result, whole=result.whole and len(some) == len(Z))
    groups = f"groups of {_name(title)}" if title else "groups"
    which = "this component" if min(COMPONENTS, int(model.n_components_)) == 1 else "the first components"
    if result.component is not None and result.group:
        by = _by(model, result, texts, table, some)
        sentence = f"PC{result.component + 1} separates {_sides(result, groups)}{by}."
    elif result.p > UNTOLD:
        sentence = f"The {groups} are not told apart by {which}."
    elif result.p > CHANCE:
        return None
    else:
        shares = _rounded(result.right), _rounded(result.chance)
        rates = f"right for {shares[0]} of left-out rows, and for {shares[1]} by chance"
        along = f" on {which}" if result.component is None else f", least along PC{result.component + 1}"
        how = f"overlap{along} (the nearest group is {rates})"
        if result.least >= APART:
            how = f"are told apart by several components together: the nearest group is {rates}"
        sentence = f"The {groups} {how}."
    return Headline("groups", (sentence,), pair=result.pair, evidence=result)


def _sides(result: Separation, groups: str) -> str:
    """Return the groups on either side of a component."""
    sides = [_and([_name(name) for name in side[:COLUMNS]]) for side in (result.group, result.others)]
    if len(result.others) > COLUMNS:
        sides[1] = f"the {len(result.others)} other groups"
    if len(result.group) > COLUMNS:
        sides[0] = f"{len(result.group)} {groups}"
    return f"{sides[0]} from {sides[1]}"


def _by(model: Any, result: Separation, texts: Any, table: Table, some: IntArray) -> str:
    """Return the columns in which two sides of some rows differ, and how many are on theirs."""
    rows = "rows" if result.whole else f"{result.rows:,} evenly spaced rows"
    many = f"all {rows}" if result.sided == 1 else f"{percent(result.sided)} of {'the ' * result.whole}{rows}"
    sides = [some[[text in side for text in texts.tolist()]] for side in (result.group, result.others)]
    sign, linear = 1 if result.above else -1, model.model_kind.linear
    direction = sign * as_float64(model.components_)[result.component or 0] if linear else None
    by = _columns_of(model, direction, table, sides)
    return f"{by} ({many} are on the side of their group)"


def _columns_of(model: Any, direction: FloatArray | None, table: Table, sides: Sequence[IntArray]) -> str:
    """Return the columns that are large in a direction, in which the means of two sides differ that way."""
    X = table.values
    rows = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == model.n_features_in_
    if not rows or direction is None or getattr(model, "picture_shape_", None) is not None:
        return ""
    order = np.argsort(-np.abs(direction).round(6), kind="stable")[:COLUMNS]
    means = [_means(X[np.ix_(side, order)]) for side in sides]
    strong = np.abs(direction[order]) >= RELATIVE * np.abs(direction[order[0]])
    largest = order[strong & (direction[order] * (means[0] - means[1]) > 0)]
    names = feature_names_of(model)
    signs = ("larger", largest[direction[largest] > 0]), ("smaller", largest[direction[largest] < 0])
    clauses = [f"a {word} {_and([_name(names[j]) for j in some])}" for word, some in signs if some.size]
    return f", by {' and '.join(clauses)}" if clauses else ""


def _means(X: AnyArray) -> FloatArray:
    """Return the means of the values that columns have; NaN where they have none."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(X, axis=0, dtype=np.float64) / (~np.isnan(X)).sum(axis=0))


def _time(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say when rows in the order of time leave the pattern of their first half."""
    if table is None or table.row_names is None:
        return None
    from gramian.answers.departure import departure_of  # loads monitors, which few fits need

    found = departure_of(model, table)
    if found is None:
        return None
    lasts = f" and lasts {_lasting(found.seconds)}" if found.seconds >= 1 else ""
    both = " and " in found.statistic
    verb, limit = ("reach", "their limits") if both else ("reaches", "its limit")
    sentence = (
        f"As in the first half of the rows until {found.last}; then {_name(found.column)} leaves the pattern "
        f"of the others: it begins at {found.start}{lasts} ({found.statistic} {verb} "
        f"{found.excess:.2g} times {limit})."
    )
    if found.set_back:
        again = f" The clock goes back an hour at {found.set_back}"
        sentence += f"{again}: rows are taken in the order of the file."
    more = f"{counted(found.further, 'later event')} in the control chart." if found.further else ""
    return Headline("time", (sentence, *filter(None, [more])), "control-chart", evidence=found)


def _lasting(seconds: float) -> str:
    """Return a time in the two largest units that it has."""
    minutes = round(seconds / 60)
    if not minutes:
        return counted(round(seconds), "second")
    sizes = (("day", minutes // 1440), ("hour", minutes // 60 % 24), ("minute", minutes % 60))
    units = [counted(size, unit) for unit, size in sizes]
    first = next(i for i, (_, size) in enumerate(sizes) if size)
    return " ".join(unit for unit, (_, size) in zip(units, sizes, strict=True) if size) if first else units[0]


def _noise(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say that no direction has more variance than unrelated columns would give it."""
    if diagnosis is None or "no-signal" not in diagnosis.codes:
        return None
    rows = counted(model.n_samples_, "row")
    sentence = f"These {rows} show no direction that unrelated columns would not show."
    return Headline("noise", (sentence,), "scree")


def _field(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say where the first pattern of a field on a grid is, and what its series does."""
    kind = model.model_kind
    if table is None or len(table.axes) != 2 or not len(Z) or not kind.linear or kind.whitens:
        return None
    (row, rows), (column, columns) = table.axes.items()

    def place(cell: int) -> str:
        i, j = divmod(cell, len(columns))
        return f"{row}={rows[i]:.6g}, {column}={columns[j]:.6g}"

    said = field_pattern(model, Z, place, ordered=True)
    return Headline("grid", (said,), "components") if said else None


def _pictures(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say how well components rebuild a picture of the fit."""
    ratios = shares_of(model)
    if getattr(model, "picture_shape_", None) is None or not model.model_kind.linear or ratios is None:
        return None
    lost = np.sqrt(max(0.0, 1.0 - float(ratios.sum())))
    sentence = (
        f"{counted(model.n_components_, 'component')} rebuild a picture of the fit up to {percent(lost)} of "
        "its difference from the mean picture (root mean square)."
    )
    return Headline("pictures", (sentence,), "components")


def _clusters(model: Any, table: Table | None, Z: FloatArray, diagnosis: Diagnosis | None) -> Headline | None:
    """Say that rows without labels fall into groups."""
    found = parted(Z) if len(Z) and table is not None else None
    if found is None or table is None:
        return None
    above = int(found.above.sum())
    group = found.above if 2 * above <= len(Z) else ~found.above
    sides = [np.flatnonzero(group), np.flatnonzero(~group)]
    sizes = np.abs(found.weights)
    chosen = np.count_nonzero(sizes) > 1  # a sum of components, of which the two largest are named at least
    count = min(COLUMNS, max(1 + chosen, int((sizes >= RELATIVE * sizes.max()).sum())))
    largest = np.argsort(-sizes, kind="stable")[:count].tolist()
    apart, direction = Z[group][:, largest].mean(axis=0) - Z[~group][:, largest].mean(axis=0), None
    if model.model_kind.linear:
        direction = apart @ as_float64(model.components_)[largest]
    by = _columns_of(model, direction, table, sides)
    why = f"the smaller has{by.removeprefix(', by')}" if by else ""
    X = table.values
    if isinstance(X, np.ndarray) and X.shape == (len(Z), model.n_features_in_):
        names = feature_names_of(model)
        same = [_name(names[j]) for j, x in enumerate(X.T) if _is_split(x, group)]
        why = f"they are the two values of {_and(same)}" if same else why
        order: Any = [] if direction is None else np.argsort(-np.abs(direction), kind="stable")[:COLUMNS]
        kinds = not same and any(_are_kinds(X[:, order[: i + 1]], group) for i in range(len(order)))
        if kinds or (same and chosen):  # columns of few values make groups for whoever looks for a direction
            return None
    along = f"{_and([f'PC{j + 1}' for j in sorted(largest)])}{' together' * (len(largest) > 1)}"
    sentence = (
        f"The rows form at least two groups along {along}, of {len(Z) - group.sum():,} and {group.sum():,}"
        f"{why and f': {why}'} (rows of one group look like this in fewer than 1 of 100 tables)."
    )
    pair = (largest[0] + 1, largest[1] + 1) if len(largest) > 1 else (largest[0] + 1, 1)
    pair = (1, 2) if max(largest[:2]) < 2 else pair
    return Headline("clusters", (sentence,), pair=pair, evidence=found)


def _is_split(x: AnyArray, group: BoolArray) -> bool:
    """Return whether a column has one value in a group, and one other in all other rows."""
    return bool((x[group] == x[group][0]).all() and (x[~group] == x[~group][0]).all())


def _are_kinds(X: AnyArray, group: BoolArray) -> bool:
    """Return whether the values of some columns make few kinds of rows, each wholly in a group or not."""
    some = evenly(len(X), LABELLED)
    kinds, kind = np.unique(X[some], axis=0, return_inverse=True)
    return len(kinds) <= KINDS and len(
        {*zip(kind.ravel().tolist(), group[some].tolist(), strict=True)}
    ) == len(kinds)


# ------------------------------------------------------------------ components


def _about(model: Any, index: int, axis: Any) -> str:
    """Return the share of a component, and the columns of its largest loadings, or their curve on an axis."""
    name, ratios = component_names(index + 1)[index], shares_of(model)
    share = "" if ratios is None else f"{percent(float(ratios[index]))} of the variance{where_text(model)}"
    if not model.model_kind.linear or getattr(model, "picture_shape_", None) is not None:
        return f"{name} explains {share}" if share else f"{name} has no known share of the variance"
    direction, names = as_float64(model.components_)[index], feature_names_of(model)
    subject = f"{name} ({share})" if share else name
    if len(names) > COLUMNS and direction.min() >= RELATIVE * direction.max():
        return f"{subject} is an overall size: all {len(names)} columns rise together"
    if axis is not None and len(names) > COLUMNS and (curve := _along(direction, axis[0], names)):
        return f"{subject} {curve}"
    order = np.argsort(-np.abs(direction).round(6), kind="stable")
    strong = order[np.abs(direction[order]) >= RELATIVE * np.abs(direction[order[0]])]
    large, opposite = strong[:COLUMNS], strong[direction[strong] * direction[strong[0]] < 0][:1]
    if len(opposite) and not np.isin(opposite, large).any():
        large = np.append(large[:-1], opposite)  # the strongest column of the other sign has a place
    verbs = (("rises with", large[direction[large] > 0]), ("falls with", large[direction[large] < 0]))
    clauses = [f"{verb} {_and([_name(names[j]) for j in some])}" for verb, some in verbs if len(some)]
    pause = " and " if len(large) == 2 else ", and "
    return f"{subject} {pause.join(clauses)}"


def _of_depth(depths: FloatArray, Z: FloatArray) -> tuple[str, ...]:
    """Say whether the first component follows the sums of counts that were divided out."""
    found = associated(np.log1p(depths), Z[:, :1])
    if isinstance(found, str):
        return ()
    r2 = float(found.r2[0])
    verb = "follows" if r2 >= FOLLOWED else "depends in part on" if found.p[0] < LEVEL else "does not follow"
    return (f"PC1 {verb} the depth of counting, the sums of rows (r2 = {r2:.2f}).",)


def _along(direction: FloatArray, axis: FloatArray, names: list[str]) -> str:
    """Return what a curve of loadings along an axis is: a slope, or peaks; "" where it is neither."""
    if abs(float(np.corrcoef(direction, axis)[0, 1])) >= STRAIGHT:
        first, last = (names[0], names[-1]) if direction[0] < direction[-1] else (names[-1], names[0])
        return f"is a slope: it rises steadily from {_name(first)} to {_name(last)}"
    clauses = []
    from scipy.signal import find_peaks  # whose import takes a twentieth of a fit

    for sign, word in ((1, "peaks"), (-1, "dips")):
        ends = np.pad(sign * direction, 1, constant_values=float((sign * direction).min()))
        tops, _ = find_peaks(ends, prominence=PROMINENT * float(np.ptp(direction)))
        high = [j for j in tops if ends[j] >= RELATIVE * np.abs(direction).max()]
        high = sorted(high, key=lambda j: -ends[j])[:PEAKS]
        if high:
            clauses.append(f"{word} at {_and([_name(names[j - 1]) for j in high])}")
    return " and ".join(clauses)


def _rounded(share: float) -> str:
    return f"{100 * share:.0f} %"


def _name(name: str) -> str:
    """Return a name between backticks, not longer than a line."""
    return quoted(shortened(shown(name), LONGEST_NAME))


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
