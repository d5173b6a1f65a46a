"""Illumination correction of pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from gramian.core.arrays import as_float64, parallel_map
from gramian.core.checks import check_choice, check_number, evenly, slices
from gramian.core.records import FloatArray
from gramian.errors import DataError

LIGHTS = ("none", "log", "equalise", "dog")
INNER, OUTER = 1.0, 2.0  # standard deviations of the two Gaussians of "dog", in pixels
JUDGED = 1000  # pictures, evenly spaced, that corrections are compared on
BLOCK = 64  # pictures treated at a time by one worker
Relit = npt.NDArray[np.float32]


def relight(pictures: npt.NDArray[Any], how: str) -> Relit:
    """Return pictures with corrected illumination.

    Grey values are first brought to one scale: 8-bit values as they are, 16-bit values divided by 257, so
    that white is 255 in both; floating values and other integers as they are.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values.
    how : {"none", "log", "equalise", "dog"}
        - ``"none"``: the grey values v;
        - ``"log"``: ``log(1 + v)``, which turns a factor of the light into a sum;
        - ``"equalise"``: 255 times the share of the picture's pixels that are darker, those of equal grey
          counted half, which no increasing change of the grey values affects;
        - ``"dog"``: the logarithm, smoothed by a Gaussian of 1 pixel less the same smoothed by one of 2
          (standard deviations; edges mirrored), then divided by the root of its mean square, which leaves
          what changes over few pixels, at one contrast.

    Returns
    -------
    ndarray of shape (n, height, width), float32
        The corrected pictures.

    Raises
    ------
    ParameterError
        For another name.
    DataError
        For values of -1 or less, of which there is no logarithm.

    References
    ----------
    Tan and Triggs (2010), Enhanced local texture feature sets for face recognition under difficult lighting
    conditions, section 2, for the difference of Gaussians and the widths.

    Examples
    --------
    >>> relight(np.array([[[0, 10], [10, 200]]], dtype=np.uint8), "equalise").tolist()
    [[[31.875, 127.5], [127.5, 223.125]]]
    """
    check_choice("light", how, LIGHTS)
    if how == "none" and pictures.dtype == np.float32:
        return pictures
    treated = np.empty(pictures.shape, dtype=np.float32)

    def treat(block: slice) -> None:
        treated[block] = _treated(grey_scale(pictures[block]), how)

    parallel_map(treat, slices(len(pictures), BLOCK))
    return treated


def choose_light(pictures: npt.NDArray[Any], people: npt.NDArray[Any] | None) -> tuple[str, str]:
    """Return the correction by which most pictures are most similar to another one of their person, and why.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
        Of more than 1000, evenly spaced ones are compared, by the cosine of their differences from the mean.
    people : ndarray of shape (n,) or None
        Who is on each.

    Returns
    -------
    light : str
        The first of :data:`LIGHTS` with the largest share.
    why : str

    Raises
    ------
    DataError
        Where nobody has two pictures.
    """
    some = evenly(len(pictures), JUDGED)
    people = np.arange(len(some)) if people is None else np.unique(people[some], return_inverse=True)[1]
    several = np.bincount(people)[people] > 1
    if not several.any():
        raise DataError(
            'light="auto" compares pictures of one person, but nobody has two.',
            'Name the people, or use light="none" or "equalise".',
        )
    shares = {}
    for light in LIGHTS:
        Z = as_float64(relight(pictures[some], light).reshape(len(some), -1))
        Z -= Z.mean(axis=0)
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        Z /= np.where(norms > 0, norms, 1.0)
        similarity = Z @ Z.T
        np.fill_diagonal(similarity, -np.inf)
        shares[light] = float(np.mean((people[similarity.argmax(axis=1)] == people)[several]))
    best = max(shares, key=shares.__getitem__)
    told = ", ".join(f"{light} {100 * share:.0f} %" for light, share in shares.items())
    return best, f"light {best}: pictures most similar to another one of their person: {told}"


def unlight(pictures: npt.NDArray[Any], how: str) -> npt.NDArray[Any]:
    """Return grey values where the treatment can be undone: after "log"; other pictures as they are.

    Examples
    --------
    >>> unlight(relight(np.full((1, 1, 1), 99.0), "log"), "log").round(3).tolist()
    [[[99.0]]]
    """
    return np.expm1(pictures) if how == "log" else pictures


def grey_scale(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return pictures with 16-bit grey values brought to 0..255; others as they are."""
    if pictures.dtype == np.uint16:
        return (pictures / np.float32(257)).astype(np.float32)
    return pictures


def _treated(pictures: npt.NDArray[Any], how: str) -> npt.NDArray[Any]:
    if how == "none":
        return pictures
    if how == "equalise":
        from scipy.stats import rankdata  # which takes longer to import than all else

        ranks = rankdata(pictures.reshape(len(pictures), -1), axis=1)
        return np.reshape((ranks - 0.5) * (255 / pictures[0].size), pictures.shape)
    logarithms = _logarithms(pictures)
    return logarithms if how == "log" else edges(logarithms, 1e-5)


def edges(pictures: npt.NDArray[Any], rounding: Any) -> npt.NDArray[Any]:
    """Return differences of two Gaussians, at contrast 1; 0 where there is no more than rounding."""
    axes = (1, 2)
    inner, outer = (gaussian_filter(pictures, sigma, axes=axes, mode="mirror") for sigma in (INNER, OUTER))
    result = inner - outer
    root = np.sqrt(np.mean(result.astype(np.float64) ** 2, axis=axes, keepdims=True))
    # A picture of one grey has no contrast to bring to 1.
    return np.where(root > rounding, result / np.maximum(root, rounding), 0.0)


def _logarithms(pictures: npt.NDArray[Any]) -> Relit:
    least = float(pictures.min(initial=0))
    if least <= -1:
        raise DataError(
            f"A grey value is {least:.6g}, but the logarithm needs values above -1.",
            'Scale grey values to 0..255, or use light="none" or "equalise".',
        )
    return np.asarray(np.log1p(pictures, dtype=np.float32))


# ---- Copies of pictures moved by a few pixels, from which a model learns what bad alignment does

LARGEST = 0.25
WAYS = ((0, 1), (0, -1), (1, 0), (-1, 0))  # down and right, in units of the shift
COPIES = 1 + len(WAYS)
SCORED = 256  # pictures whose scores are held at a time


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
    padded = np.pad(pictures, ((0, 0), (pixels, pixels), (pixels, pixels)), mode="edge")
    for y, x in WAYS:
        top, left = pixels * (1 - y), pixels * (1 - x)
        yield padded[:, top : top + height, left : left + width]


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
    for some in slices(len(pictures), SCORED):
        block = pictures[some]
        scores = as_float64(transform(block))
        for copy in moved(block, pixels):
            change = as_float64(transform(copy)) - scores
            total = total + change.T @ change
    return np.asarray(total / (len(WAYS) * len(pictures)))
