"""Grey pictures from numbers, single or on a sheet with captions."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from gramian.core.arrays import as_float64
from gramian.core.atomic import atomic_write
from gramian.errors import needs
from gramian.statistics.components import kind_of

Pixels = npt.NDArray[np.uint8]
LARGEST_SHOWN, GAP, LETTER = 168, 8, 13  # pixels of a picture on a sheet, around it, and of a caption
SHOWN = 0.995  # share of the whitened pixels that are neither black nor white
SAMPLED = 1 << 22


def require_pillow() -> Any:
    """Return Pillow's Image module.

    Raises
    ------
    MissingExtraError
        With the command that installs it.
    """
    with needs("images", "pillow", "Writing pictures"):
        from PIL import Image
    return Image


@dataclass(frozen=True, eq=False)
class Picture:
    """A grey picture of shape (height, width), uint8: 0 is black and 255 white."""

    pixels: Pixels

    def png(self) -> bytes:
        """Return the picture as the bytes of a PNG file."""
        buffer = io.BytesIO()
        require_pillow().fromarray(np.ascontiguousarray(self.pixels)).save(buffer, "PNG")
        return buffer.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture atomically to a .png file."""
        with atomic_write(path) as file:
            file.write(self.png())


def grey(values: npt.ArrayLike, low: float, high: float) -> Pixels:
    """Return numbers as grey values: ``low`` and below black, ``high`` and above white.

    Examples
    --------
    >>> grey([-1.0, 0.0, 0.5, 2.0], 0, 1).tolist(), grey([7.0], 7, 7).tolist()
    ([0, 0, 128, 255], [128])
    """
    numbers = np.asarray(values, dtype=np.float64)
    share = (numbers - low) / (high - low) if high > low else np.full_like(numbers, 0.5)
    levels: Pixels = np.rint(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)
    return levels


def signed(values: npt.ArrayLike) -> Pixels:
    """Return numbers of both signs as grey values: 0 is middle grey, the largest magnitude black or white.

    Examples
    --------
    >>> signed([-2.0, 0.0, 1.0]).tolist()
    [0, 128, 191]
    """
    largest = float(np.abs(values).max(initial=0.0))
    return grey(values, -largest, largest)


def grey_range(pictures: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the values of black and white: the extremes, because a type such as uint8 says no range.

    Examples
    --------
    >>> grey_range(np.array([[0, 16]], dtype=np.uint8)), grey_range(np.array([[-1.0, 0.5]]))
    ((0.0, 16.0), (-1.0, 0.5))
    """
    return float(pictures.min()), float(pictures.max())


def coordinates(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return rows of at most so many coordinates as pictures, line by line; pixels without one are 0.

    Examples
    --------
    >>> coordinates(np.array([[1, 2, 3]]), (2, 2)).tolist()
    [[[1, 2], [3, 0]]]
    """
    flat = rows.reshape(len(rows), -1)
    missing = math.prod(shape) - flat.shape[1]
    return np.pad(flat, ((0, 0), (0, missing))).reshape(len(rows), *shape)


def whitened_limit(values: npt.NDArray[Any]) -> float:
    """Return the number that is white, its negative being black: few whitened pixels are beyond it."""
    sample = values.reshape(-1)[:: max(1, values.size // SAMPLED)]
    return float(np.quantile(np.abs(sample), SHOWN)) or 1.0


def center_of(model: Any) -> npt.NDArray[Any]:
    """Return the mean that the model subtracts (kernel PCA: the mean of its rows), or zeros."""
    if kind_of(model).linear:
        return as_float64(model.mean_)
    rows = model.X_fit_ if model.landmarks_ is None else model.landmarks_
    if model._scaling is not None:
        rows = model._scaling.back(as_float64(rows))
    if not model.center:
        return np.zeros(rows.shape[1])
    fitted = rows if issparse(rows) else as_float64(rows)  # sparse rows have a mean of their own
    return np.asarray(fitted.mean(axis=0)).reshape(-1)


def enlarged(pixels: Pixels) -> Pixels:
    """Enlarge a small picture by repeating its pixels, to at most 168 of them.

    Examples
    --------
    >>> enlarged(np.zeros((8, 6), dtype=np.uint8)).shape
    (168, 126)
    """
    factor = max(1, LARGEST_SHOWN // max(pixels.shape))
    return pixels.repeat(factor, axis=0).repeat(factor, axis=1)


def beside(count: int, most: int) -> int:
    """Return how many of the panels to draw in a row, so that none is alone in the last one if possible.

    Examples
    --------
    >>> [beside(count, 3) for count in (1, 2, 3, 4, 5, 6, 7)]
    [1, 2, 3, 2, 3, 3, 3]
    """
    fewer = range(min(count, most), 1, -1)
    return next((each for each in fewer if count % each != 1), max(1, min(count, most)))


def contact_sheet(pictures: Sequence[Pixels], captions: Sequence[str], columns: int | None = None) -> Picture:
    """Place pictures of one size on a white sheet, with captions below.

    Parameters
    ----------
    pictures : sequence of ndarray of shape (height, width), uint8
        Small ones are enlarged by an integer factor, large ones reduced.
    captions : sequence of str
    columns : int, optional
        Pictures in a row; by default about as many as rows.
    """
    Image = require_pillow()
    from PIL import ImageDraw, ImageFont

    whole = [Image.fromarray(enlarged(np.ascontiguousarray(pixels))) for pixels in pictures]
    reduced = min(1.0, LARGEST_SHOWN / max(whole[0].size))
    width, height = (max(1, round(side * reduced)) for side in whole[0].size)
    columns = columns or beside(len(pictures), math.ceil(math.sqrt(len(pictures) * 1.5)))
    across, down, font = width + GAP, height + GAP + LETTER + 5, ImageFont.load_default(LETTER)
    sheet = Image.new("L", (columns * across + GAP, math.ceil(len(pictures) / columns) * down + GAP), 255)
    draw = ImageDraw.Draw(sheet)
    for index, (picture, caption) in enumerate(zip(whole, captions, strict=True)):
        x, y = GAP + index % columns * across, GAP + index // columns * down
        sheet.paste(picture.resize((width, height), Image.Resampling.BOX), (x, y))
        text = "".join(letter if letter.isprintable() else "?" for letter in caption)
        while font.getlength(text) > width:
            text = text[:-1]
        draw.text((x, y + height + 3), text, fill=40, font=font)
    return Picture(np.asarray(sheet))
