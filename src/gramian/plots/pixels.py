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

from gramian.errors import needs
from gramian.store import atomic_write

Pixels = npt.NDArray[np.uint8]
SMALLEST_SHOWN, LARGEST_SHOWN = 96, 168  # pixels of a picture on a sheet
GAP, CAPTION = 8, 18
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
    """A grey picture.

    Attributes
    ----------
    pixels : ndarray of shape (height, width), uint8
        0 is black and 255 white.
    """

    pixels: Pixels

    def png(self) -> bytes:
        """Return the picture as the bytes of a PNG file."""
        buffer = io.BytesIO()
        require_pillow().fromarray(np.ascontiguousarray(self.pixels)).save(buffer, "PNG")
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture atomically to a .png, .svg, .pdf or .html file.

        Parameters
        ----------
        path : str or path-like
            The suffix chooses the format.

        Raises
        ------
        MissingExtraError
            Without Pillow, and without the extra "plots" for formats other than .png.
        """
        content = self.png()
        if os.fspath(path).lower().endswith((".svg", ".pdf", ".html")):
            with needs("plots", "altair", "Writing pictures as other than .png"):
                from gramian.plots.style import framed
            framed(content, self.pixels.shape).save(path)
            return
        with atomic_write(path) as file:
            file.write(content)


def grey(values: npt.ArrayLike, low: float, high: float) -> Pixels:
    """Return numbers as grey values: ``low`` and below black, ``high`` and above white.

    Examples
    --------
    >>> grey([-1.0, 0.0, 0.5, 2.0], 0, 1).tolist()
    [0, 0, 128, 255]
    """
    numbers = np.asarray(values, dtype=np.float64)
    width = high - low
    share = (numbers - low) / width if width > 0 else np.zeros_like(numbers)
    levels: Pixels = np.rint(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)
    return levels


def signed(values: npt.ArrayLike) -> Pixels:
    """Return numbers of both signs as grey values: 0 is middle grey, the largest magnitude black or white.

    Examples
    --------
    >>> signed([-2.0, 0.0, 1.0]).tolist()
    [1, 128, 192]
    """
    numbers = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    levels: Pixels = np.rint(128 + 127 * (numbers / largest)).astype(np.uint8)
    return levels


def coordinates(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return rows of at most so many coordinates as pictures, line by line; pixels without one are 0.

    Examples
    --------
    >>> coordinates(np.array([[1, 2, 3]]), (2, 2)).tolist()
    [[[1, 2], [3, 0]]]
    """
    flat = rows.reshape(len(rows), -1)
    pictures = np.zeros((len(rows), math.prod(shape)), dtype=rows.dtype)
    pictures[:, : flat.shape[1]] = flat
    return pictures.reshape(len(rows), *shape)


def whitened_limit(values: npt.NDArray[Any]) -> float:
    """Return the number that is white, its negative being black: few whitened pixels are beyond it."""
    sample = values.reshape(-1)[:: max(1, values.size // SAMPLED)]
    return float(np.quantile(np.abs(sample), SHOWN)) or 1.0


def enlarged(pixels: Pixels) -> Pixels:
    """Enlarge a small picture by repeating its pixels.

    Examples
    --------
    >>> enlarged(np.zeros((8, 6), dtype=np.uint8)).shape
    (96, 72)
    """
    factor = math.ceil(SMALLEST_SHOWN / max(pixels.shape))
    return pixels.repeat(factor, axis=0).repeat(factor, axis=1)


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

    pictures = [enlarged(pixels) for pixels in pictures]
    height, width = _shown_size(pictures[0].shape)
    columns = columns or math.ceil(math.sqrt(len(pictures) * 1.5))
    rows = math.ceil(len(pictures) / columns)
    cell_width, cell_height = width + GAP, height + GAP + CAPTION
    sheet = Image.new("L", (columns * cell_width + GAP, rows * cell_height + GAP), 255)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default()
    for place, (pixels, caption) in enumerate(zip(pictures, captions, strict=True)):
        x, y = GAP + place % columns * cell_width, GAP + place // columns * cell_height
        shown = Image.fromarray(np.ascontiguousarray(pixels)).resize((width, height), Image.Resampling.BOX)
        sheet.paste(shown, (x, y))
        draw.text((x, y + height + 3), _fitting(caption, width, font), fill=40, font=font)
    return Picture(np.asarray(sheet))


def _shown_size(shape: tuple[int, ...]) -> tuple[int, int]:
    height, width = shape
    larger = max(height, width)
    if larger > LARGEST_SHOWN:
        factor_down = LARGEST_SHOWN / larger
        return max(1, round(height * factor_down)), max(1, round(width * factor_down))
    return height, width


def _fitting(caption: str, width: int, font: Any) -> str:
    caption = "".join(letter if letter.isprintable() else "?" for letter in caption)
    while caption and font.getlength(caption) > width:
        caption = caption[:-1]
    return caption
