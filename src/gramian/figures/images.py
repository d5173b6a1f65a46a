"""Grey pictures from numbers, and sheets of them: components, and pictures with their reconstructions."""

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
from gramian.core.checks import check_integer, evenly
from gramian.errors import DataError, needs
from gramian.figures.names import component_titles, fitted, numbers_of
from gramian.statistics.components import kind_of

MOST_PICTURES, MOST_REBUILT = 24, 6


def components(model: Any, count: int = MOST_PICTURES) -> Picture:
    """Show the mean and the first components of a model of pictures; in a component, middle grey is 0.

    Parameters
    ----------
    model : fitted PCA or FaceSpace
        Fitted on pictures, an array of shape (n_samples, height, width).
    count : int, default 24
        The number of components.

    Returns
    -------
    Picture
        ``save`` writes .png, and with the extra "plots" .svg, .pdf and .html.

    Raises
    ------
    DataError
        If the model was not fitted on pictures.
    MissingExtraError
        If Pillow is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import gramian
    >>> picture = gramian.figures.components(gramian.PCA(5).fit(load_digits().images), 3)
    >>> picture.pixels.dtype, picture.pixels.ndim
    (dtype('uint8'), 2)
    >>> picture.save("components.png")  # doctest: +SKIP
    """
    shape, kind = _shape(fitted(model)), kind_of(model)
    if not (kind.linear or kind.faces):
        raise DataError("Components of a kernel PCA are not pictures. Use gramian.PCA.")
    if kind.faces:
        mean, shown = model.mean_face_, model.component_pictures(min(count, model.n_components_))
    else:
        mean = as_float64(model.mean_).reshape(shape)
        shown = as_float64(model.components_[:count]).reshape(-1, *shape)
    pictures = [grey(mean, *grey_range(mean)), *map(signed, shown)]
    return contact_sheet(pictures, ["mean", *component_titles(model, len(shown))])


def reconstructions(model: Any, X: Any, counts: Sequence[int] | None = None) -> Picture:
    """Show pictures, one in each row, with reconstructions from more and more components.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or FaceSpace
        Fitted on pictures. Kernel PCA reconstructs by pre-images.
    X : array of shape (n, height, width), or Faces for a FaceSpace
        The first six are drawn; with a FaceSpace after its correction of the illumination.
    counts : sequence of int, optional
        Numbers of components; by default 1, 2, 5, 10, 20, 50, ... up to all, the last six of them.

    Returns
    -------
    Picture
        Captions state the number r of components, and the relative error ``|x - x~| / |x - mean|``.

    Raises
    ------
    DataError
        If the model was not fitted on pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import gramian
    >>> digits = load_digits().images
    >>> model = gramian.PCA(5).fit(digits)
    >>> picture = gramian.figures.reconstructions(model, digits[:2], [1, 5])
    >>> picture.save("reconstructions.png")  # doctest: +SKIP
    """
    inner = fitted(model)
    if kind_of(model).faces:
        model, X = inner, model.relight(X)
    shape, k = _shape(inner), int(model.n_components_)
    default = sorted({*(d * 10**p for p in range(6) for d in (1, 2, 5) if d * 10**p < k), k})[-6:]
    chosen = [check_integer("counts", count, 1, k) for count in (default if counts is None else counts)]
    shown = as_float64(numbers_of(X)[:MOST_REBUILT]).reshape(-1, int(np.prod(shape)))
    mapped = as_float64(model.transform(shown.reshape(-1, *shape)))
    sizes = np.linalg.norm(shown - center_of(model), axis=1)
    columns, captions = [shown], [["original"] for _ in shown]
    for count in chosen:
        back = as_float64(model.inverse_transform(np.where(np.arange(k) < count, mapped, 0.0)))
        columns.append(back.reshape(shown.shape))
        errors = np.linalg.norm(shown - columns[-1], axis=1) / np.where(sizes > 0, sizes, 1.0)
        for texts, error in zip(captions, errors, strict=True):
            texts.append(f"r={count}: {error:.3f}")
    edges, pictures = grey_range(shown), np.stack(columns, axis=1).reshape(-1, *shape)
    every = [text for texts in captions for text in texts]
    return contact_sheet([grey(picture, *edges) for picture in pictures], every, len(columns))


def sampled(model: Any, table: Any) -> Picture:
    """Show reconstructions of evenly spaced pictures: the first ones may all be of one class."""
    values = table.values
    sample = values[evenly(len(values), MOST_REBUILT)] if isinstance(values, np.ndarray) else table
    return reconstructions(model, sample)


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


def _shape(model: Any) -> tuple[int, int]:
    shape = getattr(model, "picture_shape_", None)
    if shape is None:
        raise DataError("The model was not fitted on pictures. Fit it on a 3-D array or on picture files.")
    return (int(shape[0]), int(shape[1]))


def grey_range(pictures: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the values of black and white: the extremes, because a type such as uint8 says no range.

    Examples
    --------
    >>> grey_range(np.array([[0, 16]], dtype=np.uint8)), grey_range(np.array([[-1.0, 0.5]]))
    ((0.0, 16.0), (-1.0, 0.5))
    """
    return float(pictures.min()), float(pictures.max())


# -------- Grey pictures from numbers, single or on a sheet with captions

Pixels = npt.NDArray[np.uint8]
LARGEST_SHOWN, GAP = 168, 8  # pixels of a picture on a sheet, and around it
LETTERS = 42  # heights of a caption in the width of a sheet, at most: on paper too it can be read
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

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.figures import Picture
    >>> picture = Picture(np.array([[0, 255], [128, 64]], dtype=np.uint8))
    >>> picture.pixels.shape
    (2, 2)
    >>> picture.save("picture.png")  # doctest: +SKIP
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
                from gramian.figures._altair_style import framed
            framed(content, self.pixels.shape).save(path)
            return
        with atomic_write(path) as file:
            file.write(content)


def grey(values: npt.ArrayLike, low: float, high: float) -> Pixels:
    """Return numbers as grey values: ``low`` and below black, ``high`` and above white.

    Examples
    --------
    >>> grey([-1.0, 0.0, 0.5, 2.0], 0, 1).tolist(), grey([7.0], 7, 7).tolist()
    ([0, 0, 128, 255], [128])
    """
    numbers = np.asarray(values, dtype=np.float64)
    width = high - low
    share = (numbers - low) / width if width > 0 else np.full_like(numbers, 0.5)
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

    pictures = [enlarged(pixels) for pixels in pictures]
    height, width = pictures[0].shape
    reduced = min(1.0, LARGEST_SHOWN / max(height, width))
    height, width = max(1, round(height * reduced)), max(1, round(width * reduced))
    columns = columns or beside(len(pictures), math.ceil(math.sqrt(len(pictures) * 1.5)))
    rows = math.ceil(len(pictures) / columns)
    largest = max(13, columns * (width + GAP) // LETTERS)
    fonts = [ImageFont.load_default(size) for size in range(largest, 9, -1)]
    font = next((one for one in fonts if max(map(one.getlength, captions), default=0) <= width), fonts[-1])
    cell_width, cell_height = width + GAP, height + GAP + int(font.size) + 5
    sheet = Image.new("L", (columns * cell_width + GAP, rows * cell_height + GAP), 255)
    draw = ImageDraw.Draw(sheet)
    for place, (pixels, caption) in enumerate(zip(pictures, captions, strict=True)):
        x, y = GAP + place % columns * cell_width, GAP + place // columns * cell_height
        shown = Image.fromarray(np.ascontiguousarray(pixels)).resize((width, height), Image.Resampling.BOX)
        sheet.paste(shown, (x, y))
        draw.text((x, y + height + 3), _fitting(caption, width, font), fill=40, font=font)
    return Picture(np.asarray(sheet))


def _fitting(caption: str, width: int, font: Any) -> str:
    caption = "".join(letter if letter.isprintable() else "?" for letter in caption)
    while caption and font.getlength(caption) > width:
        caption = caption[:-1]
    return caption
