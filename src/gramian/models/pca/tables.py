"""Tables of a fitted PCA: which rows and columns are near its components, and contribute to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian.core import arrays, checks
from gramian.core.records import FloatArray
from gramian.errors import DataError, ParameterError
from gramian.models.pca.missing import rows_as_fitted
from gramian.statistics import components, tables
from gramian.statistics.projection import incomplete_rows
from gramian.tables.labels import in_order
from gramian.tables.metadata import as_metadata
from gramian.tables.rows import Rows

ROWS, COLUMNS = "rows", "columns"
MOST_CATEGORIES = 1000  # of a supplementary column: each takes a number for every row


def linear_table(model: Any, of: str, X: Any, supplementary: Any) -> Any:
    """Return the table of a PCA; see :meth:`gramian.PCA.table`."""
    k = int(model.n_components_)
    if checks.check_choice("of", of, (ROWS, COLUMNS)) == ROWS:
        parts, data = [linear_rows(model, X, k)], [X]
        if supplementary is not None:
            parts.append(_linear_rows(model, "supplementary row", model._new_rows(supplementary), k, None))
            data.append(supplementary)
        return tables.rows_frame(parts, k, data)
    parts = [linear_columns(model, k)]
    if supplementary is not None:
        parts += _supplementary_items(model, fitted_rows(model, X), supplementary)
    return tables.as_frame(tables.items_table(parts, k), supplementary if X is None else X)


def linear_rows(model: Any, X: Any, k: int) -> tables.Items:
    """Return the statistics of the rows of the fit by the first k components of a PCA."""
    rows = rows_as_fitted(model, fitted_rows(model, X))
    sums: FloatArray | None = arrays.as_float64(model.singular_values_)[:k] ** 2
    degrees = rows.shape[0] - float(model.ddof)
    if vars(model).get("_unequal", False) or abs(model._degrees - degrees) > 1e-6 * degrees:
        sums = None  # rows count differently, and the model does not say how much each
    return _linear_rows(model, "row", rows, k, sums)


def _linear_rows(model: Any, kind: str, rows: Rows, k: int, sums: FloatArray | None) -> tables.Items:
    scores, squares, spread = scores_and_squares(model, rows, k)
    return tables.row_items(kind, row_names_of(rows), scores, squares, sums, spread)


def linear_columns(model: Any, k: int) -> tables.Items:
    """Return the statistics of the fitted columns by the first k components, which need no data."""
    own, divisor = model._column_deviations(), model._host_divisor
    facts = {"mean": arrays.as_float64(model._center), "standard deviation": own}
    if divisor is not None:
        facts["scale"] = divisor
    return tables.column_items(
        components.column_names(model),
        arrays.as_float64(model.components_)[:k].T,
        arrays.as_float64(model.explained_variance_)[:k],
        own if divisor is None else own / divisor,
        centered=bool(model.center),
        facts=facts,
    )


# ---------------------------------------------------------------------- rows


def fitted_rows(model: Any, X: Any) -> Rows:
    """Return the rows of the fit, as the model reads new rows."""
    if X is None:
        why = "is needed: the model does not contain the rows of its fit"
        raise ParameterError("X", allowed=why, hint="Pass them as X; further rows are supplementary.")
    rows: Rows = model._new_rows(X, limit=arrays.memory_limit_bytes(model.memory_limit))
    if rows.shape[0] != model.n_samples_:
        why = (
            f"X has {checks.counted(rows.shape[0], 'row')}, but the model was fitted on {model.n_samples_:,}."
        )
        raise DataError(why, "Pass the rows of the fit as X, and other rows as supplementary.")
    return rows


def row_names_of(rows: Rows) -> Sequence[str]:
    return list(map(str, range(rows.shape[0]))) if rows.row_names is None else rows.row_names


def scores_and_squares(model: Any, rows: Rows, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return k scores before whitening, squared distances from the mean, and variances of the scores.

    Of rows with missing values these are conditional expectations, and the variances are conditional.
    """
    projection = model._projection()
    W = np.ascontiguousarray(arrays.as_float64(projection.directions)[:k].T)
    W[:, projection.rank :] = 0.0

    def measured(part: Rows) -> Any:
        holes = part.require_finite(holes=model._missing_method != "error")
        spread = np.zeros((part.shape[0], k + 1))
        for places, X in () if holes is None else incomplete_rows(part, np.array(sorted(holes.by_row))):
            incomplete = model._normal_model(of_entries=True)
            rank = min(k, projection.rank)
            spread[places, :rank] = incomplete.scores(X)[1][:, :rank] ** 2
            divisor = 1.0 if model._divisor is None else model._host_divisor
            spread[places, k] = ((incomplete.deviations_at_holes(X) / divisor) ** 2).sum(axis=1)
            values = np.array(arrays.to_numpy(arrays.dense(part.in_memory())), dtype=np.float64)
            values[places] = incomplete.filled(X)
            part = replace(part, values=values)  # type: ignore[call-arg]
        view = projection.centered(part)

        def of_block(some: slice) -> FloatArray:
            C = arrays.as_float64(view.block(some, slice(None)))
            return np.column_stack([C @ W, np.einsum("ij,ij->i", C, C)])

        blocks = arrays.parallel_map(of_block, view.row_slices(), like=part.like)
        return arrays.from_numpy(np.column_stack([np.concatenate(blocks), spread]), part.like)

    result = arrays.as_float64(rows.mapped(measured, 2 * k + 2, np.float64, holes=True))
    scores, squares, spread = np.split(result, [k, k + 1], axis=1)
    # With variances that divide by n, as those that were expected in the fit.
    spread *= model._degrees / float(vars(model).get("_weight", model.n_samples_))
    return scores, squares[:, 0] + spread[:, k], spread[:, :k]


# ---------------------------------------------------------------------- supplementary columns


def _supplementary_items(model: Any, rows: Rows, supplementary: Any) -> list[tables.Items]:
    metadata = as_metadata(supplementary)
    columns, _ = metadata.joined(rows.shape[0], rows.row_names, "X")
    scores = scores_and_squares(model, rows, model.n_components_)[0]
    numbers, categories = [], []
    for name, values in columns.items():
        if values.dtype.kind != "f":
            levels = in_order({*values.tolist()} - {""}, metadata.levels.get(name, ()))
            if (count := len(levels)) > MOST_CATEGORIES:
                why = f"has {count:,} categories, and at most {MOST_CATEGORIES:,} are allowed."
                raise DataError(f"The supplementary column {name!r} {why}", "Leave it out, or give numbers.")
            distances = _distances_of_means(model, rows, values, levels)
            categories.append(tables.category_items(name, values, levels, scores, distances))
            continue
        if np.isfinite(values).sum() < 2:
            raise DataError(f"The supplementary column {name!r} has fewer than 2 numbers.", "Leave it out.")
        scaled = isinstance(model.scale, str) and model.scale == "unit"
        numbers.append(
            tables.supplementary_column(name, values, scores, standardized=scaled, ddof=float(model.ddof))
        )
    return numbers + categories


def _distances_of_means(model: Any, rows: Rows, labels: Any, levels: Sequence[str]) -> FloatArray:
    """Return the distance of the mean row of each category from the mean of the fit, in fitted units."""
    shares = np.stack([(labels == level) / np.sum(labels == level) for level in levels], axis=1)

    def summed(part: Rows, own: Any) -> FloatArray:
        view = model._projection().centered(part)
        W = np.ascontiguousarray(own, dtype=view.arithmetic)
        return arrays.as_float64(view.transposed_times(arrays.from_numpy(W, part.like)))

    means = rows.map_reduce(summed, lambda earlier, later: earlier + later, shares)
    return np.asarray(np.sqrt(np.sum(arrays.to_numpy(means) ** 2, axis=0)))
