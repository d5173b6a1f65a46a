"""Tables of a fitted model: coordinates, squared cosines, contributions and v-tests of rows and columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core import arrays, checks
from gramian.core.records import FloatArray
from gramian.errors import DataError, ParameterError
from gramian.models.pca.missing import rows_as_fitted
from gramian.statistics.candidates import as_frame
from gramian.statistics.components import column_names, component_names
from gramian.statistics.projection import incomplete_rows
from gramian.tables.labels import in_order
from gramian.tables.metadata import as_metadata
from gramian.tables.rows import Rows

ROWS, COLUMNS = "rows", "columns"
STATISTICS = ("coordinate", "correlation", "cos2", "contribution", "v-test")
MOST_CATEGORIES = 1000  # of a supplementary column: each takes a number for every row


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind with their statistics.

    Attributes
    ----------
    kind : str
        Such as "row" or "category".
    names : sequence of m str
    facts : mapping of str to ndarray of shape (m,)
        Numbers that do not depend on a component.
    statistics : mapping of str to ndarray of shape (m, k)
        By the names in ``STATISTICS``, one column a component.
    """

    kind: str
    names: Sequence[str]
    statistics: Mapping[str, FloatArray]
    facts: Mapping[str, FloatArray] = field(default_factory=dict)


def linear_table(model: Any, what: str, X: Any, supplementary: Any) -> Any:
    """Return the table of a PCA; see :meth:`gramian.PCA.table`."""
    k = int(model.n_components_)
    if checks.check_choice("of", what, (ROWS, COLUMNS)) == ROWS:
        measured = partial(scores_and_squares, model, k=k)
        return _table_of_rows(model, linear_rows(model, X, k), X, supplementary, measured)
    groups = [linear_columns(model, k)]
    if supplementary is not None:
        groups += _supplementary_columns(model, _fitted_rows(model, X), supplementary)
    return as_frame(items_table(groups, k), supplementary if X is None else X)


def kernel_table(model: Any, what: str, X: Any, supplementary: Any) -> Any:
    """Return the table of a kernel PCA; see :meth:`gramian.KernelPCA.table`."""
    if checks.check_choice("of", what, (ROWS, COLUMNS)) == COLUMNS:
        why = "needs components that are directions of the columns; those of a KernelPCA lie in feature space"
        hint = "Ask for the table of rows, or describe the model for correlations of columns with scores."
        raise ParameterError("of", what, why, hint)
    rows = _fitted_rows(model, X)
    sums = None if vars(model).get("_unequal", False) else arrays.as_float64(model.eigenvalues_)
    group = _row_items("row", rows, *model._scores_and_squares(rows), sums=sums)
    return _table_of_rows(model, group, X, supplementary, model._scores_and_squares)


def _table_of_rows(
    model: Any, group: Items, X: Any, supplementary: Any, measured: Callable[[Rows], tuple[Any, ...]]
) -> Any:
    """Return the rows of the fit, and others, as a frame; rows of a frame of pandas keep its index."""
    groups, data = [group], [X]
    if supplementary is not None:
        rows = model._new_rows(supplementary, limit=arrays.memory_limit_bytes(model.memory_limit))
        groups.append(_row_items("supplementary row", rows, *measured(rows)))
        data.append(supplementary)
    frame, start = as_frame(items_table(groups, int(model.n_components_)), X), 0
    if not _is_pandas(frame):
        return frame
    pieces = []
    for items, source in zip(groups, data, strict=True):
        stop = start + len(items.names)
        pieces.append(source.index if _is_pandas(source) else frame.index[start:stop])
        start = stop
    frame.index = pieces[0].append(pieces[1:])
    return frame


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


# ---------------------------------------------------------------------- rows


def linear_rows(model: Any, X: Any, k: int) -> Items:
    """Return the statistics of the rows of the fit by the first k components of a PCA."""
    rows = rows_as_fitted(model, _fitted_rows(model, X))
    sums: FloatArray | None = arrays.as_float64(model.singular_values_)[:k] ** 2
    degrees = rows.shape[0] - float(model.ddof)
    if vars(model).get("_unequal", False) or abs(model._degrees - degrees) > 1e-6 * degrees:
        sums = None  # rows count differently, and the model does not say how much each
    return _row_items("row", rows, *scores_and_squares(model, rows, k), sums=sums)


def _row_items(
    kind: str,
    rows: Rows,
    scores: FloatArray,
    squares: FloatArray | None,
    spread: FloatArray | float = 0.0,
    *,
    sums: FloatArray | None = None,
) -> Items:
    """Return coordinates, squared cosines and contributions of rows.

    Parameters
    ----------
    kind : str
    rows : Rows
    scores : ndarray of shape (n, k)
    squares : ndarray of shape (n,) or None
        Squared distances of the rows from the mean, in fitted units; None where a kernel has no distances.
    spread : ndarray of shape (n, k) or 0
        Conditional variances of the scores of rows with missing values: their expected squares are larger.
    sums : ndarray of shape (k,) or None
        Sums of squared scores over the rows of the fit; None for other rows, which contribute nothing.

    Returns
    -------
    Items
        ``cos2[i, j] = scores[i, j]**2 / squares[i]``, 0 for a row at the mean; its sum over all components
        is 1. ``contribution[i, j] = scores[i, j]**2 / sums[j]``; its sum over the rows is 1.

    References
    ----------
    Lebart, Morineau, Warwick (1984), Multivariate Descriptive Statistical Analysis, chapter 1.
    """
    names = list(map(str, range(rows.shape[0]))) if rows.row_names is None else rows.row_names
    expected, statistics, facts = scores**2 + spread, {"coordinate": scores}, {}
    if squares is not None:
        statistics["cos2"], facts["distance"] = _ratio(expected, squares[:, None]), np.sqrt(squares)
    if sums is not None:
        statistics["contribution"] = _ratio(expected, sums[None, :])
    return Items(kind, names, statistics, facts)


def _fitted_rows(model: Any, X: Any) -> Rows:
    """Return the rows of the fit, as the model reads new rows."""
    if X is None:
        why = "is needed: the model does not contain the rows of its fit"
        raise ParameterError("X", allowed=why, hint="Pass them as X; further rows are supplementary.")
    rows: Rows = model._new_rows(X, limit=arrays.memory_limit_bytes(model.memory_limit))
    if rows.shape[0] != model.n_samples_:
        count = checks.counted(rows.shape[0], "row")
        why = f"X has {count}, but the model was fitted on {model.n_samples_:,}."
        raise DataError(why, "Pass the rows of the fit as X, and other rows as supplementary.")
    return rows


def scores_and_squares(model: Any, rows: Rows, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return k scores before whitening, squared distances from the mean, and variances of the scores.

    Of rows with missing values these are conditional expectations, and the variances are conditional.
    """
    projection = model._projection()
    W = np.ascontiguousarray(arrays.as_float64(projection.directions)[:k].T)
    W[:, projection.rank :] = 0.0

    def measured(block: Rows) -> Any:
        holes = block.require_finite(holes=model._missing_method != "error")
        spread = np.zeros((block.shape[0], k + 1))
        for indices, X in () if holes is None else incomplete_rows(block, np.array(sorted(holes.by_row))):
            incomplete = model._normal_model(of_entries=True)
            rank = min(k, projection.rank)
            spread[indices, :rank] = incomplete.scores(X)[1][:, :rank] ** 2
            divisor = 1.0 if model._divisor is None else model._host_divisor
            spread[indices, k] = ((incomplete.deviations_at_holes(X) / divisor) ** 2).sum(axis=1)
            values = np.array(arrays.to_numpy(arrays.dense(block.in_memory())), dtype=np.float64)
            values[indices] = incomplete.filled(X)
            block = replace(block, values=values)  # type: ignore[call-arg]
        view = projection.centered(block)

        def of_block(some: slice) -> FloatArray:
            C = arrays.as_float64(view.block(some, slice(None)))
            return np.column_stack([C @ W, np.einsum("ij,ij->i", C, C)])

        blocks = arrays.parallel_map(of_block, view.row_slices(), like=block.like)
        return arrays.from_numpy(np.column_stack([np.concatenate(blocks), spread]), block.like)

    result = arrays.as_float64(rows.mapped(measured, 2 * k + 2, np.float64, holes=True))
    scores, squares, spread = np.split(result, [k, k + 1], axis=1)
    # With variances that divide by n, as those that were expected in the fit.
    spread *= model._degrees / float(vars(model).get("_weight", model.n_samples_))
    return scores, squares[:, 0] + spread[:, k], spread[:, :k]


# ------------------------------------------------------------------- columns


def linear_columns(model: Any, k: int) -> Items:
    """Return the statistics of the fitted columns by the first k components, which need no data.

    The coordinate is the covariance of the column with the standardised score, ``direction * sqrt(l)``: under
    unit scale the correlation. The contribution is the squared entry of the unit vector. Without a centre
    deviations are roots of second moments, and there is no correlation.
    """
    deviations, divisor = model._column_deviations(), model._host_divisor
    facts = {"mean": arrays.as_float64(model._center), "standard deviation": deviations}
    if divisor is not None:
        facts["scale"], deviations = divisor, deviations / divisor
    directions = arrays.as_float64(model.components_)[:k].T
    coordinates = directions * np.sqrt(arrays.as_float64(model.explained_variance_)[:k])
    correlations = _ratio(coordinates, deviations[:, None])
    statistics = {"coordinate": coordinates, "cos2": correlations**2, "contribution": directions**2}
    if model.center:
        statistics["correlation"] = correlations
    return Items("column", column_names(model), statistics, facts)


def _supplementary_columns(model: Any, rows: Rows, supplementary: Any) -> list[Items]:
    metadata = as_metadata(supplementary)
    columns, _ = metadata.joined(rows.shape[0], rows.row_names, "X")
    scores = scores_and_squares(model, rows, model.n_components_)[0]
    numbers, categories = [], []
    for name, values in columns.items():
        if values.dtype.kind == "f":
            numbers.append(_number(model, name, values, scores))
            continue
        levels = in_order({*values.tolist()} - {""}, metadata.levels.get(name, ()))
        if (count := len(levels)) > MOST_CATEGORIES:
            why = f"has {count:,} categories, and at most {MOST_CATEGORIES:,} are allowed."
            raise DataError(f"The supplementary column {name!r} {why}", "Leave it out, or give numbers.")
        distances = _distances_of_means(model, rows, values, levels)
        categories.append(_categories(name, values, levels, scores, distances))
    return numbers + categories


def _number(model: Any, name: str, values: FloatArray, scores: FloatArray) -> Items:
    """Return the correlation of a supplementary column with the scores, over the rows that have a value."""
    there = np.isfinite(values)
    if there.sum() < 2:
        raise DataError(f"The supplementary column {name!r} has fewer than 2 numbers.", "Leave it out.")
    x, Z = values[there], scores[there]
    x, Z = x - x.mean(), Z - Z.mean(axis=0)
    norm = math.sqrt(float(x @ x))
    correlation = _ratio(x @ Z, norm * np.sqrt(np.sum(Z**2, axis=0)))[None, :]
    deviation = norm / math.sqrt(len(x) - float(model.ddof))
    unit = 1.0 if isinstance(model.scale, str) and model.scale == "unit" else deviation
    statistics = {"coordinate": correlation * unit, "correlation": correlation, "cos2": correlation**2}
    facts = {"mean": values[there].mean(), "standard deviation": deviation, "rows": float(len(x))}
    columns = {key: np.array([value]) for key, value in facts.items()}
    return Items("supplementary column", [name], statistics, columns)


def _categories(
    name: str, labels: npt.NDArray[Any], levels: Sequence[str], scores: FloatArray, distances: FloatArray
) -> Items:
    """Return the mean scores of the rows of each category, with their v-tests.

    Parameters
    ----------
    name : str
        Of the column of labels: items are named ``name=label``.
    labels : ndarray of str, shape (n,)
        "" where there is none: these rows are left out.
    levels : sequence of c str
        The categories, in order.
    scores : ndarray of shape (n, k)
    distances : ndarray of shape (c,)
        Of the mean of the rows of each category from the mean of the fit, in the order of ``levels``.

    Returns
    -------
    Items
        The v-test is the mean score in standard deviations of a mean of as many rows that are drawn without
        replacement, with population variances: beyond 1.96 the mean differs from 0 at the level 0.05.

    References
    ----------
    Lebart, Morineau, Piron (1995), Statistique exploratoire multidimensionnelle, section 2.2.4.
    """
    there = labels != ""
    n = int(there.sum())
    center, variance = scores[there].mean(axis=0), scores[there].var(axis=0)
    sizes = np.array([float(np.sum(labels == level)) for level in levels])
    means = np.array([scores[labels == level].mean(axis=0) for level in levels])
    error = np.sqrt(variance * ((n - sizes) / (sizes * max(n - 1, 1)))[:, None])
    statistics = {
        "coordinate": means,
        "cos2": _ratio(means**2, distances[:, None] ** 2),
        "v-test": _ratio(means - center, error),
    }
    names = [f"{name}={level}" for level in levels]
    return Items("category", names, statistics, {"rows": sizes, "distance": distances})


def _distances_of_means(model: Any, rows: Rows, labels: Any, levels: Sequence[str]) -> FloatArray:
    """Return the distance of the mean row of each category from the mean of the fit, in fitted units."""
    shares = np.stack([(labels == level) / np.sum(labels == level) for level in levels], axis=1)

    def summed(block: Rows, weights: Any) -> FloatArray:
        view = model._projection().centered(block)
        W = np.ascontiguousarray(weights, dtype=view.arithmetic)
        return arrays.as_float64(view.transposed_times(arrays.from_numpy(W, block.like)))

    means = rows.map_reduce(summed, lambda earlier, later: earlier + later, shares)
    return np.asarray(np.sqrt(np.sum(arrays.to_numpy(means) ** 2, axis=0)))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, with 0 where the divisor is 0."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


# ---------------------------------------------------------------------- as a table


def items_table(groups: Sequence[Items], k: int) -> dict[str, npt.NDArray[Any]]:
    """Return items as columns: name, kind, facts, then each statistic of PC1, PC2, ...

    A coordinate is named ``PC1``, another statistic ``cos2 PC1``. Entries that an item lacks are NaN.
    """
    columns: dict[str, npt.NDArray[Any]] = {
        "name": np.array([name for group in groups for name in group.names], dtype=object),
        "kind": np.array([group.kind for group in groups for _ in group.names], dtype=object),
    }
    facts = list(dict.fromkeys(name for group in groups for name in group.facts))
    for name in facts:
        columns[name] = np.concatenate(
            [group.facts.get(name, np.full(len(group.names), np.nan)) for group in groups]
        )
    for name in STATISTICS:
        if any(name in group.statistics for group in groups):
            values = np.vstack(
                [group.statistics.get(name, np.full((len(group.names), k), np.nan)) for group in groups]
            )
            prefix = "" if name == "coordinate" else f"{name} "
            columns |= {f"{prefix}{pc}": values[:, j] for j, pc in enumerate(component_names(k))}
    return columns
