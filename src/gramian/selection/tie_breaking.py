"""Columns on a common scale, with a little noise that decides between equal distances."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gramian.errors import ParameterError
from gramian.records import FloatArray

__all__ = ["noise_blocks", "noisy", "random_stream", "unit_scale"]

NOISE = 1e-10
# Offsets beyond this many standard deviations are subtracted, or the noise, which is relative to the mean
# magnitude, would be larger than what it is to decide.
FAR = 100.0
BLOCK_BYTES = 256 << 20
PIECE = 1 << 17  # random numbers drawn at a time


def random_stream(random_state: Any) -> np.random.RandomState:
    """Return the generator whose stream scikit-learn's estimators would draw from.

    Raises
    ------
    ParameterError
        For what cannot start a generator.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32, size=4))
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            f"random_state={random_state!r} cannot start a random number generator. "
            "Give an integer from 0 to 2**32 - 1, a numpy Generator or RandomState, or None."
        ) from error
    return state


def noise_blocks(stream: np.random.RandomState, n: int, d: int) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the columns of an (n, d) matrix of normal numbers as rows, some columns at a time.

    The matrix is that which ``stream.standard_normal((n, d))`` draws. So that it is never held whole when it
    is large, it is drawn again for each block; the stream itself ends where one drawing of it ends.

    Yields
    ------
    columns : slice
    noise : ndarray of shape (b, n)
    """
    width = max(1, BLOCK_BYTES // (8 * n))
    again = copy.deepcopy(stream) if width < d else stream
    for first in range(0, d, width):
        columns = slice(first, min(first + width, d))
        source = stream if first == 0 else copy.deepcopy(again)
        kept = np.empty((columns.stop - columns.start, n))
        step = max(1, PIECE // d)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            kept[:, rows] = source.standard_normal((rows.stop - rows.start, d))[:, columns].T
        yield columns, kept


def noisy(columns: FloatArray, noise: FloatArray) -> FloatArray:
    """Return columns with unit standard deviation and noise of 1e-10 of their mean magnitude, or of 1.

    Parameters
    ----------
    columns, noise : ndarray of shape (b, n)
        One column in each row.
    """
    scaled = unit_scale(columns)
    scaled += NOISE * np.maximum(1.0, np.abs(scaled).mean(axis=1))[:, None] * noise
    return np.asarray(scaled)


def unit_scale(columns: FloatArray) -> FloatArray:
    """Return columns divided by their standard deviations; a constant one becomes zero.

    A column whose mean is beyond 100 standard deviations is centred.

    Parameters
    ----------
    columns : ndarray of shape (b, n)
        One column in each row.

    Examples
    --------
    >>> unit_scale(np.array([[-1e200, 1e200], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    # By a power of two first, which rounds nothing and lets the square of any value be held.
    largest = np.abs(columns).max(axis=1)
    scaled = np.ldexp(columns, -np.frexp(largest)[1][:, None])
    mean, spread = scaled.mean(axis=1), scaled.std(axis=1)
    far = np.abs(mean) > FAR * spread
    if far.any():
        scaled[far] -= mean[far, None]
        spread[far] = scaled[far].std(axis=1)
    constant = (columns.min(axis=1) == columns.max(axis=1)) | (spread == 0)
    scaled[constant] = 0.0
    scaled /= np.where(constant, 1.0, spread)[:, None]
    return np.asarray(scaled)
