"""Sheets of pictures: components, and pictures with their reconstructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from gramian.analysis.components import kind_of
from gramian.arrays import as_float64
from gramian.checks import check_integer, evenly
from gramian.errors import DataError
from gramian.plots.names import component_titles, fitted, numbers_of
from gramian.plots.pixels import Picture, Pixels, contact_sheet, grey, signed

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
    model : fitted PCA or KernelPCA
        Fitted on pictures. Kernel PCA reconstructs by pre-images.
    X : array of shape (n, height, width)
        The first six are drawn.
    counts : sequence of int, optional
        Numbers of components; by default 1, 2, 5, 10, 20, 50, ... up to all, the last six of them.

    Returns
    -------
    Picture
        Captions state the number r of components, and the relative error ``|x - x~| / |x - mean|``.

    Raises
    ------
    DataError
        If the model was not fitted on pictures; for a FaceSpace, which has ``reconstruct``.
    """
    if kind_of(model).faces:
        raise DataError(
            "A FaceSpace corrects illumination first. Use its reconstruct, or gramian faces reconstruct."
        )
    shape, k = _shape(fitted(model)), int(model.n_components_)
    default = sorted({*(d * 10**p for p in range(6) for d in (1, 2, 5) if d * 10**p < k), k})[-6:]
    chosen = [check_integer("counts", count, 1, k) for count in (default if counts is None else counts)]
    shown = as_float64(numbers_of(X)[:MOST_REBUILT]).reshape(-1, int(np.prod(shape)))
    mapped = as_float64(model.transform(shown.reshape(-1, *shape)))
    sizes = np.linalg.norm(shown - center_of(model), axis=1)
    rebuilt, captions = [], [["original"] for _ in shown]
    for count in chosen:
        back = as_float64(model.inverse_transform(np.where(np.arange(k) < count, mapped, 0.0)))
        back = back.reshape(shown.shape)
        rebuilt.append(back.reshape(-1, *shape))
        errors = np.linalg.norm(shown - back, axis=1) / np.where(sizes > 0, sizes, 1.0)
        for texts, error in zip(captions, errors, strict=True):
            texts.append(f"r={count}: {error:.3f}")
    edges = (0.0, 255.0) if numbers_of(X).dtype == np.uint8 else (float(shown.min()), float(shown.max()))
    return strip(list(shown.reshape(-1, *shape)), list(np.stack(rebuilt, axis=1)), captions, edges)


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
    if not model.center:
        return np.zeros(rows.shape[1])
    fitted = rows if issparse(rows) else as_float64(rows)  # sparse rows have a mean of their own
    return np.asarray(fitted.mean(axis=0)).reshape(-1)


def _shape(model: Any) -> tuple[int, int]:
    shape = getattr(model, "picture_shape_", None)
    if shape is None:
        raise DataError("The model was not fitted on pictures. Fit it on a 3-D array or on picture files.")
    return (int(shape[0]), int(shape[1]))


def grey_range(picture: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the values of black and white: 0 and 255 for grey values of 8 bits, else its extremes.

    Examples
    --------
    >>> grey_range(np.array([[3.0, 200.0]])), grey_range(np.array([[-1.0, 0.5]]))
    ((0.0, 255.0), (-1.0, 0.5))
    """
    low, high = float(picture.min()), float(picture.max())
    return (0.0, 255.0) if low >= 0 and 32 <= high <= 255 else (low, high)


def strip(
    originals: Sequence[npt.NDArray[Any]],
    rebuilt: Sequence[npt.NDArray[Any]],
    captions: Sequence[Sequence[str]],
    limits: tuple[float, float] | None = None,
) -> Picture:
    """Draw pictures, one in each row, with their reconstructions.

    Parameters
    ----------
    originals : sequence of m ndarray of shape (height, width)
    rebuilt : sequence of m ndarray of shape (c, height, width)
    captions : sequence of m sequences of c + 1 str
    limits : (float, float), optional
        The values of black and white; by default :func:`grey_range` of each original.
    """
    pixels: list[Pixels] = []
    for original, pictures in zip(originals, rebuilt, strict=True):
        edges = limits or grey_range(original)
        pixels += [grey(picture, *edges) for picture in (original, *pictures)]
    texts = [text for row in captions for text in row]
    return contact_sheet(pixels, texts, columns=len(captions[0]))
