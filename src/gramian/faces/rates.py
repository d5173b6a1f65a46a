"""Error rates of a comparison: what is accepted wrongly and refused wrongly, at every threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.errors import DataError
from gramian.records import FloatArray

__all__ = ["equal_error", "mean_and_error", "rejects_at", "roc"]


def roc(genuine: Any, impostor: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return thresholds and the rates of false accepts and false rejects at them.

    A comparison is accepted when its score is at least the threshold.

    Parameters
    ----------
    genuine, impostor : array-like of shape (g,) and (s,)
        Scores of comparisons of the same person and of different ones; larger is more alike.

    Returns
    -------
    thresholds, false_accepts, false_rejects : ndarray
        Every score that occurs, ascending, and infinity: nothing is accepted.

    Raises
    ------
    DataError
        Where one of them is empty.

    Examples
    --------
    >>> thresholds, accepts, rejects = roc([3, 2], [1, 2])
    >>> thresholds.tolist(), accepts.tolist(), rejects.tolist()
    ([1.0, 2.0, 3.0, inf], [1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0])
    """
    same, other = np.sort(as_float64(genuine).ravel()), np.sort(as_float64(impostor).ravel())
    if not len(same) or not len(other):
        raise DataError(
            f"There are {len(same)} comparisons of the same person and {len(other)} of different ones. "
            "Error rates need at least one of each."
        )
    thresholds = np.append(np.unique(np.concatenate([same, other])), np.inf)
    accepts = 1 - np.searchsorted(other, thresholds) / len(other)
    rejects = np.searchsorted(same, thresholds) / len(same)
    return thresholds, accepts, rejects


def equal_error(genuine: Any, impostor: Any) -> float:
    """Return the rate at which as many are accepted wrongly as refused wrongly.

    Where no threshold makes them equal, the mean of both at the threshold where they differ least.

    Examples
    --------
    >>> equal_error([3, 4, 5, 1], [0, 1, 2, 3.5])
    0.25
    """
    _, accepts, rejects = roc(genuine, impostor)
    # Rounded, so that the first of equal differences is taken on every machine.
    place = int(np.argmin(np.abs(accepts - rejects).round(12)))
    return float(accepts[place] + rejects[place]) / 2


def rejects_at(genuine: Any, impostor: Any, fars: npt.ArrayLike) -> FloatArray:
    """Return the least rate of false rejects at which false accepts are at most ``fars``.

    Examples
    --------
    >>> rejects_at([3, 2], [1, 2], [0.0, 0.5]).tolist()
    [0.5, 0.0]
    """
    _, accepts, rejects = roc(genuine, impostor)
    # Rates of false accepts fall along the thresholds, and false rejects rise.
    places = np.searchsorted(-accepts, -as_float64(fars) - 1e-12)
    return np.asarray(rejects[places])


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Return the mean over splits and its standard error; None of a single one.

    Examples
    --------
    >>> mean_and_error([0.5, 1.0]), mean_and_error([0.5])
    ((0.75, 0.25), (0.5, None))
    """
    given = as_float64(values)
    if len(given) < 2:
        return float(given.mean()), None
    return float(given.mean()), float(given.std(ddof=1) / np.sqrt(len(given)))
