"""Sheets of pictures: components of pictures, and pictures beside what is rebuilt of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from gramian.analysis.components import kind_of
from gramian.arrays import as_float64
from gramian.checks import check_integer
from gramian.errors import DataError
from gramian.plots.names import component_titles, fitted, numbers_of
from gramian.plots.pictures import Picture, Pixels, contact_sheet, grey, signed

MOST_PICTURES, MOST_REBUILT = 24, 6


def components(model: Any, count: int = MOST_PICTURES) -> Picture:
    """Show the first components of a PCA of pictures as pictures: middle grey is 0.

    Parameters
    ----------
    model : fitted PCA
        Fitted on pictures, an array of shape (n_samples, height, width).
    count : int, default 24
        How many.

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
    model = fitted(model)
    shape = _shape(model)
    if not kind_of(model).linear:
        raise DataError("Components of a kernel PCA are no pictures. Those of gramian.PCA are.")
    shown = as_float64(model.components_[:count]).reshape(-1, *shape)
    return contact_sheet([signed(picture) for picture in shown], component_titles(model, len(shown)))


def reconstructions(model: Any, X: Any, counts: Sequence[int] | None = None) -> Picture:
    """Show pictures, one a row, each before what is rebuilt of it from ever more components.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
        Fitted on pictures. One that kernel PCA rebuilds is a pre-image.
    X : array of shape (n, height, width)
        The first six are shown.
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
            "A space of faces treats light first: use its reconstruct, or gramian faces reconstruct."
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


def center_of(model: Any) -> npt.NDArray[Any]:
    """Return what the model subtracts from rows, or kernel PCA in feature space: their mean, or nothing."""
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
        raise DataError(
            "Components are pictures for a PCA fitted on pictures: a 3-D array, or picture files."
        )
    return (int(shape[0]), int(shape[1]))


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
    limits: tuple[float, float] | None = None,
) -> Picture:
    """Draw pictures, one a row, each before what was rebuilt of it.

    Parameters
    ----------
    originals : sequence of m ndarray of shape (height, width)
    rebuilt : sequence of m ndarray of shape (c, height, width)
    captions : sequence of m sequences of c + 1 str
    limits : (float, float), optional
        What is black and white; by default as in :func:`grey_range` of each original.
    """
    pixels: list[Pixels] = []
    for original, pictures in zip(originals, rebuilt, strict=True):
        edges = limits or grey_range(original)
        pixels += [grey(picture, *edges) for picture in (original, *pictures)]
    texts = [text for row in captions for text in row]
    return contact_sheet(pixels, texts, columns=len(captions[0]))
