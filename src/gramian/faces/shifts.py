"""Copies of pictures moved by a few pixels, from which a model learns what bad alignment does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian.arrays import as_float64
from gramian.checks import check_number, slices
from gramian.faces.light import Relit
from gramian.records import FloatArray

LARGEST = 0.25
WAYS = ((0, 1), (0, -1), (1, 0), (-1, 0))  # down and right, in units of the shift
COPIES = 1 + len(WAYS)
BLOCK = 256  # pictures whose scores are held at a time


def shift_pixels(shift: Any, width: int) -> int:
    """Return by how many pixels pictures are moved.

    Parameters
    ----------
    shift : float
        As a share of the width, from 0 to 0.25.
    width : int

    Raises
    ------
    ParameterError
        For a share outside of what it may be.

    Examples
    --------
    >>> shift_pixels(0.04, 92), shift_pixels(0.001, 92), shift_pixels(0, 92)
    (4, 1, 0)
    """
    advice = (
        "It is a share of the width of a picture. Give for instance 0.04, or 0 to fit on the pictures alone."
    )
    value = check_number("shift", shift, least=0, most=LARGEST, advice=advice)
    return max(1, round(value * width)) if value > 0 else 0


def moved(pictures: Relit, pixels: int) -> Iterator[Relit]:
    """Yield the pictures moved right, left, down and up; what is bared repeats the edge.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
    pixels : int

    Examples
    --------
    >>> [copy[0, 0].tolist() for copy in moved(np.array([[[1, 2, 3]]], dtype=np.float32), 1)][:2]
    [[1.0, 1.0, 2.0], [2.0, 3.0, 3.0]]
    """
    height, width = pictures.shape[1:]
    down, across = np.arange(height), np.arange(width)
    for y, x in WAYS:
        rows = np.clip(down - y * pixels, 0, height - 1)
        columns = np.clip(across - x * pixels, 0, width - 1)
        yield pictures[:, rows[:, None], columns[None, :]]


def with_moved(pictures: Relit, pixels: int) -> Relit:
    """Return the pictures followed by their moved copies, five times as many; for 0 pixels as they are."""
    return np.concatenate([pictures, *moved(pictures, pixels)]) if pixels else pictures


def shift_covariance(transform: Callable[[Relit], Any], pictures: Relit, pixels: int) -> FloatArray | None:
    """Return how scores change when pictures are moved: the mean of ``d d^T``, shape (k, k).

    ``d`` is the scores of a moved picture less those of the picture.

    Parameters
    ----------
    transform : callable
        Returns the scores of pictures, shape (n, k).
    pictures : ndarray of shape (n, height, width)
    pixels : int
        None is returned for 0.

    References
    ----------
    Simard, LeCun and Denker (1993), Efficient pattern recognition using a new transformation distance: what
    leaves alone who it is should cost nothing in a comparison.
    """
    if not pixels:
        return None
    total: Any = 0.0
    for some in slices(len(pictures), BLOCK):
        block = pictures[some]
        scores = as_float64(transform(block))
        for copy in moved(block, pixels):
            change = as_float64(transform(copy)) - scores
            total = total + change.T @ change
    return np.asarray(total / (len(WAYS) * len(pictures)))
