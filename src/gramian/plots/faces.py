"""Sheets of faces: the mean with the first components, and pictures beside what was rebuilt of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.plots.pictures import Picture, contact_sheet, grey, signed

Pixels = npt.NDArray[np.uint8]


def grey_range(picture: npt.NDArray[Any]) -> tuple[float, float]:
    """Return what is drawn black and white: 0 and 255 for grey values, else the picture's own extremes.

    Examples
    --------
    >>> grey_range(np.array([[3.0, 200.0]])), grey_range(np.array([[-1.0, 0.5]]))
    ((0.0, 255.0), (-1.0, 0.5))
    """
    low, high = float(picture.min()), float(picture.max())
    return (0.0, 255.0) if low >= 0 and 8 < high <= 255 else (low, high)


def face_sheet(mean: npt.NDArray[Any], components: npt.NDArray[Any], titles: Sequence[str]) -> Picture:
    """Draw the mean face and components, in which middle grey is 0.

    Parameters
    ----------
    mean : ndarray of shape (height, width)
    components : ndarray of shape (k, height, width)
    titles : sequence of k str
    """
    shown = [grey(mean, *grey_range(mean)), *(signed(component) for component in components)]
    return contact_sheet(shown, ["mean face", *titles])


def strip(
    originals: Sequence[npt.NDArray[Any]],
    rebuilt: Sequence[npt.NDArray[Any]],
    captions: Sequence[Sequence[str]],
) -> Picture:
    """Draw pictures, one a row, each before what was rebuilt of it.

    Parameters
    ----------
    originals : sequence of m ndarray of shape (height, width)
    rebuilt : sequence of m ndarray of shape (c, height, width)
    captions : sequence of m sequences of c + 1 str
    """
    pixels: list[Pixels] = []
    for original, pictures in zip(originals, rebuilt, strict=True):
        limits = grey_range(original)
        pixels += [grey(picture, *limits) for picture in (original, *pictures)]
    texts = [text for row in captions for text in row]
    return contact_sheet(pixels, texts, columns=len(captions[0]))
