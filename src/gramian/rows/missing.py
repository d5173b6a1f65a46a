"""Missing values: found, refused, or treated in a way that was asked for and is noted."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import NAMES_SHOWN, counted
from gramian.errors import DataError, ParameterError
from gramian.rows.expected import Expected
from gramian.rows.table import Table

MissingPolicy = Literal["mean", "drop-rows", "drop-columns"]

_WAY_OUT = (
    'Use missing="mean", "drop-rows" or "drop-columns" (--missing on the command line), or fill it first.'
)
_NO_MEANS = (
    'The model was fitted without missing="mean", so it has no means to fill with. Leave those rows out with '
    'missing="drop-rows" (--missing drop-rows), fill the values first, or fit the model again with '
    'missing="mean" (--missing mean).'
)


def handle_missing(
    table: Table, policy: MissingPolicy | None = None, expected: Expected | None = None
) -> Table:
    """Refuse NaN and inf, or treat NaN as the policy says.

    Parameters
    ----------
    table : Table
        New data has the columns that are expected, in their order.
    policy : {"mean", "drop-rows", "drop-columns"} or None
        ``"mean"`` puts the mean of the column's other values in the place of NaN. inf is refused
        under every policy.
    expected : Expected or None
        For new data, what its model expects: the means are then those of the fitted data, and fill NaN
        without a policy too.

    Raises
    ------
    DataError
        If there is inf, or NaN without a policy, or nothing is left.
    ParameterError
        For ``"mean"`` where the model has no means.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]))
    >>> handle_missing(table, "mean").values[1, 1]
    np.float64(3.0)
    """
    if policy == "mean" and expected is not None and expected.means is None:
        raise ParameterError(
            'missing="mean" (--missing mean) would depend on the new data instead of the fitted one. '
            + _NO_MEANS
        )
    if sparse.issparse(table.values):
        return _handle_sparse(table, policy, expected)
    flat = table.values.reshape(len(table.values), -1)
    # One sum decides for nearly all data.
    with np.errstate(over="ignore", invalid="ignore"):
        whole = table.values.dtype.kind != "f" or bool(np.isfinite(flat.sum(dtype=np.float64)))
    if not whole and (infinite := np.isinf(flat)).any():
        raise DataError(
            f"inf in {_place(table, infinite)} ({counted(int(infinite.sum()), 'infinite value')} in total; "
            "rows are counted from 0). "
            "No missing-value policy covers inf: correct it, or leave out those rows or columns."
        )
    if policy == "mean" and expected is None:
        table = replace(table, means=_column_means(table, flat))
    if whole or not (missing := np.isnan(flat)).any():
        return table
    if policy == "drop-rows":
        return _drop_rows(table, flat, missing)
    if policy == "drop-columns":
        return _drop_columns(table, flat, missing)
    if expected is not None and expected.means is not None:
        return _filled(table, flat, missing, expected.means, "the means of the fitted data")
    if table.means is not None:
        return _filled(table, flat, missing, table.means, "column means")
    raise DataError(
        f"NaN in {_place(table, missing)} ({counted(int(missing.sum()), 'missing value')} in total; "
        f"rows are counted from 0). {_WAY_OUT if expected is None else _NO_MEANS}"
    )


def _handle_sparse(table: Table, policy: MissingPolicy | None, expected: Expected | None) -> Table:
    values = table.values
    if not np.isfinite(values.data).all():
        wrong = values.tocoo()
        first = int(np.isfinite(wrong.data).argmin())
        raise DataError(
            f"{wrong.data[first]} in {_row(table, int(wrong.row[first]))}, "
            f"{_column(table, int(wrong.col[first]))} of a sparse matrix (rows are counted from 0), where "
            "missing values are not filled. Fill it or leave its row out before the matrix is saved."
        )
    if policy != "mean" or expected is not None:
        return table
    return replace(table, means=np.asarray(values.mean(axis=0, dtype=np.float64)).ravel())


def _place(table: Table, where: npt.NDArray[np.bool_]) -> str:
    row, column = (int(index) for index in np.unravel_index(int(where.argmax()), where.shape))
    return f"{_row(table, row)}, {_column(table, column)}"


def _row(table: Table, row: int) -> str:
    text = f"row {row if table.row_numbers is None else table.row_numbers[row]}"
    return text if table.row_names is None else f"{text} ({table.row_names[row]})"


def _column(table: Table, column: int) -> str:
    if table.picture_shape is not None:
        down, across = divmod(column, table.picture_shape[1])
        return f"pixel ({down}, {across})"
    if table.feature_names is not None:
        return f"column {table.feature_names[column]!r}"
    return f"column {column}"


def _column_means(table: Table, flat: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean of what is there in every column; empty ones are refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        means: npt.NDArray[np.float64] = flat.mean(axis=0, dtype=np.float64)
    empty = []
    for column in np.flatnonzero(~np.isfinite(means)).tolist():
        present = flat[~np.isnan(flat[:, column]), column].astype(np.float64)
        if not present.size:
            empty.append(column)
            continue
        # Scaling by an exact power of two keeps the sum finite where values are near the limit.
        exponent = int(np.frexp(np.abs(present).max())[1])
        means[column] = np.ldexp(np.ldexp(present, -exponent).mean(), exponent)
    if empty:
        raise DataError(
            f'missing="mean", but no value to take a mean of is in {_shown(table, empty, _column)} of '
            f"{table.source}. Leave out what is empty (drop=[...], --drop NAME), or use "
            'missing="drop-columns".'
        )
    return means


def _shown(table: Table, places: list[int], name: Callable[[Table, int], str]) -> str:
    shown = ", ".join(name(table, place) for place in places[:NAMES_SHOWN])
    return shown + (f" and {len(places) - NAMES_SHOWN} more" if len(places) > NAMES_SHOWN else "")


def _filled(
    table: Table,
    flat: npt.NDArray[Any],
    missing: npt.NDArray[np.bool_],
    means: npt.NDArray[np.float64],
    what: str,
) -> Table:
    if len(means) != flat.shape[1]:
        raise DataError(
            f"{table.source} has {counted(flat.shape[1], 'column')}, but the model was fitted on "
            f"{len(means):,}. Choose them with columns=[...] (--columns)."
        )
    filled = flat.copy(order="K")
    np.copyto(filled, means, where=missing, casting="same_kind")
    columns = counted(int(missing.any(axis=0).sum()), "column")
    notes = [f"{counted(int(missing.sum()), 'missing value')} in {columns} filled with {what}"]
    if empty := np.flatnonzero(missing.all(axis=1)).tolist():
        rows = counted(len(empty), "row without any value is", "rows without any value are")
        notes.append(f"{rows} nothing but means: {_shown(table, empty, _row)}")
    return replace(table, values=filled.reshape(table.values.shape), notes=(*table.notes, *notes))


def _drop_rows(table: Table, flat: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> Table:
    keep = np.flatnonzero(~missing.any(axis=1))
    if len(keep) == 0:
        raise DataError(
            f'missing="drop-rows" leaves none of the {len(flat)} rows of {table.source}: every row '
            'has a missing value. Use missing="mean" or "drop-columns", or fill it first.'
        )
    dropped = len(flat) - len(keep)
    names = table.row_names
    return replace(
        table,
        values=table.values[keep],
        row_names=None if names is None else tuple(names[row] for row in keep),
        labels=None if table.labels is None else table.labels[keep],
        row_numbers=None,
        notes=(*table.notes, f"{dropped} of {len(flat)} rows with missing values dropped"),
    )


def _drop_columns(table: Table, flat: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> Table:
    if table.picture_shape is not None:
        raise ParameterError(
            'missing="drop-columns" would drop pixels and with them the shape of the pictures. '
            'Use missing="mean" or "drop-rows".'
        )
    keep = np.flatnonzero(~missing.any(axis=0))
    n_columns = flat.shape[1]
    if len(keep) == 0:
        raise DataError(
            f'missing="drop-columns" leaves none of the {n_columns} columns of {table.source}: '
            'every column has a missing value. Use missing="mean" or "drop-rows", or fill it first.'
        )
    names, numbers = table.feature_names, table.column_numbers or range(n_columns)
    note = f"{n_columns - len(keep)} of {n_columns} columns with missing values dropped"
    return replace(
        table,
        values=np.take(flat, keep, axis=1),
        feature_names=None if names is None else tuple(names[column] for column in keep),
        column_numbers=tuple(numbers[column] for column in keep) if names is None else None,
        notes=(*table.notes, note),
    )
