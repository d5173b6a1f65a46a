"""Sheets of pictures: components, and pictures with their reconstructions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.checks import check_integer, evenly
from gramian.core.records import FloatArray
from gramian.errors import DataError
from gramian.figures import style
from gramian.figures.drawing import Data, figure, fitted, numbers_of
from gramian.figures.images import beside, center_of, grey_range
from gramian.statistics.components import component_titles, kind_of

MOST_PICTURES, MOST_REBUILT = 24, 6
SMALLEST, LARGEST, CAPTION = 16, 45, 4.2  # millimetres of a picture, and of its caption


@dataclass(frozen=True, eq=False)
class Sheet(Data):
    """Pictures beside each other; the column "picture" has their captions.

    Attributes
    ----------
    pictures : ndarray of shape (count, height, width)
    limits : ndarray of shape (count, 2)
        What is black and what is white in each.
    across : int
        The number of pictures in a row; 0 for as many as there is room for.
    """

    pictures: FloatArray
    limits: FloatArray
    across: int


def draw(data: Sheet, ax: Any, **imshow: Any) -> Any:
    """Return axes with the pictures."""
    count, height, width = data.pictures.shape
    room, captions = style.width_mm(), [style.drawable(name) for name in data.columns["picture"]]
    most = min(math.ceil(math.sqrt(count * 1.5)), int(room // SMALLEST))
    across = data.across or beside(count, max(1, most))
    down, cell = math.ceil(count / across), room / across
    tall = down * (min(cell, LARGEST) * height / width + CAPTION)
    axes = style.subplots(down, across, ax=ax, height_mm=tall)
    letters = {"fontsize": min(7.0, 5.0 * cell / max(map(len, captions))), "pad": 2, "loc": "left"}
    for panel in axes.flat:
        panel.set_axis_off()
    for panel, picture, edges, caption in zip(axes.flat, data.pictures, data.limits, captions, strict=False):
        look = {"cmap": "gray", "interpolation": "nearest", "vmin": edges[0], "vmax": edges[1]}
        panel.imshow(picture, **look | imshow)
        panel.set_title(caption, **letters, **style.PLAIN)
    return axes


def _shape(model: Any) -> tuple[int, int]:
    if (shape := getattr(model, "picture_shape_", None)) is None:
        raise DataError("The model was not fitted on pictures. Fit it on a 3-D array or on picture files.")
    return int(shape[0]), int(shape[1])


def components_data(model: Any, count: int = MOST_PICTURES) -> Sheet:
    """Return what :func:`components` draws."""
    model = fitted(model)
    shape = _shape(model)
    if not kind_of(model).linear:
        raise DataError("Components of a kernel PCA are not pictures. Use gramian.PCA.")
    mean, shown = as_float64(model.mean_), as_float64(model.components_[:count])
    pictures = np.concatenate([np.reshape(mean, (1, *shape)), np.reshape(shown, (-1, *shape))])
    largest = np.abs(pictures[1:]).max(axis=(1, 2))
    names = ["mean", *component_titles(model, len(largest))]
    limits = np.concatenate([[grey_range(pictures[:1])], np.stack([-largest, largest], axis=1)])
    return Sheet({"picture": names}, ["In a component, middle grey is 0."], pictures, limits, 0)


@figure(components_data)
def components(data: Sheet, ax: Any, **imshow: Any) -> Any:
    """Show the mean and the first components of a model of pictures; in a component, middle grey is 0.

    Parameters
    ----------
    model : fitted PCA or FaceSpace
        Fitted on pictures, an array of shape (n_samples, height, width).
    count : int, default 24
        The number of components.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : array of Axes, optional
        One for each place of the sheet, by default in a new figure.
    **imshow
        As of ``Axes.imshow``.

    Returns
    -------
    ndarray of Axes
        One for each place of the sheet.

    Raises
    ------
    DataError
        If the model was not fitted on pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import gramian
    >>> axes = gramian.figures.components(gramian.PCA(5).fit(load_digits().images), 3)
    >>> axes.shape
    (2, 2)
    """
    return draw(data, ax, **imshow)


def reconstructions_data(model: Any, X: Any, counts: Sequence[int] | None = None) -> Sheet:
    """Return what :func:`reconstructions` draws; columns: picture, components, error (relative)."""
    inner = fitted(model)
    if kind_of(model).faces:
        model, X = inner, model.relight(X)
    shape, k = _shape(inner), int(model.n_components_)
    default = sorted({*(d * 10**p for p in range(6) for d in (1, 2, 5) if d * 10**p < k), k})[-6:]
    chosen = [check_integer("counts", count, 1, k) for count in (default if counts is None else counts)]
    rows = numbers_of(X)
    shown = as_float64(rows[evenly(len(rows), MOST_REBUILT)]).reshape(-1, math.prod(shape))
    mapped = as_float64(model.transform(shown.reshape(-1, *shape)))
    sizes = np.linalg.norm(shown - center_of(model), axis=1)
    kept = [np.where(np.arange(k) < count, mapped, 0.0) for count in chosen]
    rebuilt = np.stack([shown, *(np.reshape(model.inverse_transform(Z), shown.shape) for Z in kept)], axis=1)
    errors = np.linalg.norm(shown[:, None] - rebuilt, axis=2) / np.where(sizes > 0, sizes, 1.0)[:, None]
    names = ["original", *(f"r={count}" for count in chosen)] * len(shown)
    captions = [f"{name}: {error:.3f}" for name, error in zip(names, errors.flat, strict=True)]
    captions[:: 1 + len(chosen)] = ["original"] * len(shown)
    columns = {"picture": captions, "components": np.tile([k, *chosen], len(shown)), "error": errors.ravel()}
    notes = ["From r components, with the relative error |x - x~| / |x - mean|."]
    edges = np.tile(grey_range(shown), (len(captions), 1))
    return Sheet(columns, notes, rebuilt.reshape(-1, *shape), edges, 1 + len(chosen))


@figure(reconstructions_data)
def reconstructions(data: Sheet, ax: Any, **imshow: Any) -> Any:
    """Show pictures, one in each row, with reconstructions from more and more components.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or FaceSpace
        Fitted on pictures. Kernel PCA reconstructs by pre-images.
    X : array of shape (n, height, width), or Faces for a FaceSpace
        At most six are drawn, evenly spaced; with a FaceSpace after its correction of the illumination.
    counts : sequence of int, optional
        Numbers of components; by default 1, 2, 5, 10, 20, 50, ... up to all, the last six of them.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : array of Axes, optional
        One for each picture, by default in a new figure.
    **imshow
        As of ``Axes.imshow``.

    Returns
    -------
    ndarray of Axes of shape (pictures, 1 + counts)
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
    >>> gramian.figures.reconstructions(model, digits[:2], [1, 5]).shape
    (2, 3)
    """
    return draw(data, ax, **imshow)
