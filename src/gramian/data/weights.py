"""Weights of rows: the one place where they are checked."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gramian.arrays import power_of_two, real_numbers
from gramian.data.device import DeviceRows
from gramian.data.rows import Rows
from gramian.errors import DataError
from gramian.records import FloatArray

NEAR_ONE = 64  # powers of two up to which weights are multiplied as they are


def weighted(rows: Rows, weights: Any, of: str = "sample_weight") -> Rows:
    """Return rows that count as often as their weights say; None and weights of 1 change nothing.

    Parameters
    ----------
    rows : Rows
    weights : array-like of shape (n,), or None
        An integer has the effect of so many equal rows, and 0 that of no row.
    of : str
        What the user calls them, for messages.

    Raises
    ------
    DataError
        For weights that are no finite numbers, negative, or not one for each row.
    """
    if weights is None:
        return rows
    if rows.weights is not None:
        raise DataError(f"The rows have weights already, and {of} gives others.", "Leave one of them out.")
    values = checked_weights(weights, rows.shape[0], of)
    if (values == 1.0).all():
        return rows
    # A power of 4, whose root is exact too.
    exponent = power_of_two(float(values.max())) // 2
    exponent = exponent if 2 * abs(exponent) > NEAR_ONE else 0
    own: dict[str, Any] = {"weights": np.ldexp(values, -2 * exponent), "weight_exponent": exponent}
    if isinstance(rows, DeviceRows):
        own["host"] = replace(rows.host, **own)
    return replace(rows, **own)


def checked_weights(weights: Any, n: int, of: str) -> FloatArray:
    """Return weights of n rows as float64, or raise a DataError."""
    advice = f"{of} says how often each row counts: give {n:,} finite numbers, 0 or more."
    try:
        values = real_numbers(weights)
    except (TypeError, ValueError) as error:
        raise DataError(f"{of} holds something that is no number ({error}).", advice) from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]  # a frame of one column
    if values.shape != (n,):
        shape = "a single number" if values.ndim == 0 else f"the shape {values.shape}"
        raise DataError(f"{of} has {shape}, but X has {n:,} rows.", advice)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        raise DataError(f"{of} is {values[wrong[0]]:g} for row {wrong[0]}.", advice)
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if not math.isfinite(total):
        raise DataError(
            f"{of} has a sum beyond what float64 can hold.", "Divide all weights by a large number."
        )
    return values


def true_weights(rows: Rows) -> FloatArray | None:
    """Return the weights as they were given."""
    return None if rows.weights is None else np.ldexp(rows.weights, 2 * rows.weight_exponent)
