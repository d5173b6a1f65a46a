"""Tables of a fitted model: coordinates, squared cosines and contributions of rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gramian.core import arrays, checks
from gramian.core.records import AnyArray, FloatArray
from gramian.errors import DataError, ParameterError
from gramian.models.pca.missing import rows_as_fitted
from gramian.statistics.candidates import as_frame
from gramian.statistics.components import column_names, component_names
from gramian.statistics.projection import incomplete_rows
from gramian.tables.rows import Rows, row_number

ROWS, COLUMNS = "rows", "columns"
STATISTICS = ("coordinate", "correlation", "cos2", "contribution")


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind with their statistics.

    Attributes
    ----------
    kind : str
        "row" or "column".
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


def linear_table(model: Any, what: str, X: Any) -> Any:
    """Return the table of a PCA; see :meth:`gramian.PCA.table`."""
    k = int(model.n_components_)
    if checks.check_choice("of", what, (ROWS, COLUMNS)) == ROWS:
        return _table_of_rows(linear_rows(model, X, k), X, k)
    return as_frame(items_table(linear_columns(model, k), k), X)


def kernel_table(model: Any, what: str, X: Any) -> Any:
    """Return the table of a kernel PCA; see :meth:`gramian.KernelPCA.table`."""
    if checks.check_choice("of", what, (ROWS, COLUMNS)) == COLUMNS:
        why = "needs components that are directions of the columns; those of a KernelPCA lie in feature space"
        hint = "Ask for the table of rows, or describe the model for correlations of columns with scores."
        raise ParameterError("of", what, why, hint)
    rows = _fitted_rows(model, X)
    sums = None if vars(model).get("_unequal", False) else arrays.as_float64(model.eigenvalues_)
    items = _row_items(rows, *model._scores_and_squares(rows), sums=sums)
    return _table_of_rows(items, X, int(model.n_components_))


def _table_of_rows(items: Items, X: Any, k: int) -> Any:
    """Return rows as a frame; those of a frame of pandas keep its index."""
    frame = as_frame(items_table(items, k), X)
    if _is_pandas(frame) and _is_pandas(X):
        frame.index = X.index
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
    return _row_items(rows, *scores_and_squares(model, rows, k), sums=sums)


def _row_items(
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
    rows : Rows
    scores : ndarray of shape (n, k)
    squares : ndarray of shape (n,) or None
        Squared distances of the rows from the mean, in fitted units; None where a kernel has no distances.
    spread : ndarray of shape (n, k) or 0
        Conditional variances of the scores of rows with missing values: their expected squares are larger.
    sums : ndarray of shape (k,) or None
        Sums of squared scores; None where rows count differently, and have no contributions.

    Returns
    -------
    Items
        ``cos2[i, j] = scores[i, j]**2 / squares[i]``, 0 for a row at the mean; its sum over all components
        is 1. ``contribution[i, j] = scores[i, j]**2 / sums[j]``; its sum over the rows is 1.

    References
    ----------
    Lebart, Morineau, Warwick (1984), Multivariate Descriptive Statistical Analysis, chapter 1.
    """
    names = rows.row_names
    if names is None:
        names = [str(row_number(rows, row)) for row in range(rows.shape[0])]
    expected, statistics, facts = scores**2 + spread, {"coordinate": scores}, {}
    if squares is not None:
        statistics["cos2"], facts["distance"] = _ratio(expected, squares[:, None]), np.sqrt(squares)
    if sums is not None:
        statistics["contribution"] = _ratio(expected, sums[None, :])
    return Items("row", names, statistics, facts)


def _fitted_rows(model: Any, X: Any) -> Rows:
    """Return the rows of the fit, as the model reads new rows."""
    if X is None:
        why = "is needed: the model does not contain the rows of its fit"
        raise ParameterError("X", allowed=why, hint="Pass them as X.")
    rows: Rows = model._new_rows(X, limit=arrays.memory_limit_bytes(model.memory_limit))
    if rows.shape[0] != model.n_samples_:
        count = checks.counted(rows.shape[0], "row")
        why = f"X has {count}, but the model was fitted on {model.n_samples_:,}."
        raise DataError(why, "Pass the rows of the fit; transform gives the scores of others.")
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


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, with 0 where the divisor is 0."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


# ---------------------------------------------------------------------- as a table


def items_table(items: Items, k: int) -> dict[str, AnyArray]:
    """Return items as columns: name, kind, facts, then each statistic of PC1, PC2, ...

    A coordinate is named ``PC1``, another statistic ``cos2 PC1``.
    """
    columns: dict[str, AnyArray] = {
        "name": np.array(list(items.names), dtype=object),
        "kind": np.array([items.kind] * len(items.names), dtype=object),
        **items.facts,
    }
    for name in STATISTICS:
        if (values := items.statistics.get(name)) is not None:
            prefix = "" if name == "coordinate" else f"{name} "
            columns |= {f"{prefix}{pc}": values[:, j] for j, pc in enumerate(component_names(k))}
    return columns
