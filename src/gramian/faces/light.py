"""Illumination correction of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from gramian.arrays import parallel_map
from gramian.checks import check_choice, slices
from gramian.errors import DataError

LIGHTS = ("none", "log", "equalise", "dog")
INNER, OUTER = 1.0, 2.0  # standard deviations of the two Gaussians of "dog", in pixels
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
        return np.stack([_equalised(picture) for picture in pictures])
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
            f"A grey value is {least:.6g}, but the logarithm needs values above -1. "
            "Scale grey values to 0..255, or use light='none' or 'equalise'."
        )
    return np.asarray(np.log1p(pictures, dtype=np.float32))


def _equalised(picture: npt.NDArray[Any]) -> npt.NDArray[Any]:
    _, places, counts = np.unique(picture, return_inverse=True, return_counts=True)
    share = (np.cumsum(counts) - 0.5 * counts) * (255 / picture.size)
    return np.asarray(share[places].reshape(picture.shape), dtype=np.float32)
