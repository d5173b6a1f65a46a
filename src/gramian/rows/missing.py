"""Missing values: found, refused, or treated in a way that was asked for and is noted."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.checks import NAMES_SHOWN, counted
from gramian.errors import DataError, ParameterError
from gramian.rows.table import Table

MissingPolicy = Literal["mean", "drop-rows", "drop-columns"]

_WAY_OUT = (
    'Use missing="mean", "drop-rows" or "drop-columns" (--missing on the command line), or fill it first.'
)


def handle_missing(table: Table, policy: MissingPolicy | None = None) -> Table:
    """Refuse NaN and inf, or treat NaN as the policy says.

    Parameters
    ----------
    table : Table
    policy : {"mean", "drop-rows", "drop-columns"} or None
        ``"mean"`` puts the mean of the column's other values in the place of NaN. inf is refused
        under every policy.

    Raises
    ------
    DataError
        If there is inf, or NaN without a policy, or nothing is left.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]))
    >>> handle_missing(table, "mean").values[1, 1]
    np.float64(3.0)
    """
    if table.values.dtype.kind != "f":
        return table
    flat = table.values.reshape(len(table.values), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat.sum(dtype=np.float64)):
            return table
    infinite, missing = np.isinf(flat), np.isnan(flat)
    if infinite.any():
        raise DataError(
            f"inf in {_place(table, infinite)} ({counted(int(infinite.sum()), 'infinite value')} in total; "
            "rows are counted from 0). "
            "No missing-value policy covers inf: correct it, or leave out those rows or columns."
        )
    if not missing.any():
        return table
    if policy is None:
        raise DataError(
            f"NaN in {_place(table, missing)} ({counted(int(missing.sum()), 'missing value')} in total; "
            f"rows are counted from 0). {_WAY_OUT}"
        )
    treat = {"mean": _fill_mean, "drop-rows": _drop_rows, "drop-columns": _drop_columns}[policy]
    return treat(table, flat, missing)


def _place(table: Table, where: npt.NDArray[np.bool_]) -> str:
    row, column = (int(index) for index in np.unravel_index(int(where.argmax()), where.shape))
    text = f"row {row if table.row_numbers is None else table.row_numbers[row]}"
    if table.row_names is not None:
        text += f" ({table.row_names[row]})"
    return f"{text}, {_column(table, column)}"


def _column(table: Table, column: int) -> str:
    if table.picture_shape is not None:
        down, across = divmod(column, table.picture_shape[1])
        return f"pixel ({down}, {across})"
    if table.feature_names is not None:
        return f"column {table.feature_names[column]!r}"
    return f"column {column}"


def _fill_mean(table: Table, flat: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> Table:
    touched = np.flatnonzero(missing.any(axis=0))
    empty = [int(column) for column in touched if missing[:, column].all()]
    if empty:
        shown = ", ".join(_column(table, column) for column in empty[:NAMES_SHOWN])
        more = f" and {len(empty) - NAMES_SHOWN} more" if len(empty) > NAMES_SHOWN else ""
        raise DataError(
            f'missing="mean", but no value to take a mean of is in {shown}{more} of {table.source}. '
            "Leave out what is empty (drop=[...], --drop NAME), or use "
            'missing="drop-columns".'
        )
    filled = flat.copy(order="K")
    for column in touched:
        present = flat[~missing[:, column], column].astype(np.float64)
        # Scaling by an exact power of two keeps the sum finite where values are near the limit.
        exponent = int(np.frexp(np.abs(present).max())[1])
        mean = np.ldexp(np.ldexp(present, -exponent).mean(), exponent)
        filled[missing[:, column], column] = mean
    note = (
        f"{counted(int(missing.sum()), 'missing value')} in {counted(len(touched), 'column')} "
        "filled with column means"
    )
    return replace(table, values=filled.reshape(table.values.shape), notes=(*table.notes, note))


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
    names = table.feature_names
    note = f"{n_columns - len(keep)} of {n_columns} columns with missing values dropped"
    return replace(
        table,
        values=np.take(flat, keep, axis=1),
        feature_names=None if names is None else tuple(names[column] for column in keep),
        notes=(*table.notes, note),
    )
