"""Detects faces by the unexplained share of small edge pictures after a few components."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.checks import counted, slices
from gramian.errors import RankWarning
from gramian.estimators.pca import PCA
from gramian.faces.light import edges, grey_scale
from gramian.records import FloatArray

FOLDS = 5
MANY = 5000  # pictures above which one part is held out once, so that calibrating costs one more fit


def folds(
    n: int, people: npt.NDArray[Any] | None, rng: np.random.Generator
) -> tuple[list[npt.NDArray[np.intp]], str]:
    """Return the positions of the pictures that are held out together, and how they were chosen.

    Parameters
    ----------
    n : int
        Number of pictures.
    people : ndarray of shape (n,) or None
        All pictures of a person are held out together: a new person is what a new picture may show.
    rng : Generator

    Returns
    -------
    parts : list of ndarray of int
        Five, or fewer where there are fewer people; one where there are more than 5000 pictures.
    how : str

    Examples
    --------
    >>> parts, how = folds(4, np.array(["a", "a", "b", "b"]), np.random.default_rng(0))
    >>> [part.tolist() for part in parts]
    [[0, 1], [2, 3]]
    """
    groups = np.arange(n) if people is None else np.unique(people, return_inverse=True)[1]
    known = int(groups.max()) + 1
    what = "people" if people is not None and known > 1 else "pictures"
    if known == 1:
        groups, known = np.arange(n), n
    count = min(FOLDS, known)
    part_of = np.empty(known, dtype=np.intp)
    part_of[rng.permutation(known)] = np.arange(known) % count
    parts = [np.flatnonzero(part_of[groups] == part) for part in range(count)]
    if n > MANY:
        parts = parts[:1]
    # What is left must be enough to fit.
    parts = sorted((part for part in parts if n - len(part) >= 2), key=lambda part: int(part[0]))
    if not parts:
        return [], f"there are too few pictures to calibrate the limit for faces ({n})"
    held = sum(map(len, parts))
    return parts, (
        f"the limit for faces was calibrated on {held:,} held-out pictures, split by {what}, with "
        f"{counted(len(parts), 'more fit')}"
    )


def keeping(scores: FloatArray, keep: float) -> float:
    """Return the least threshold that a new score of the same kind is at or below with probability ``keep``.

    Of n scores it is the one of rank ``ceil((n + 1) keep)``, the largest where n is too small for that;
    infinite without scores.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    keep : float

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world, proposition 2.4.

    Examples
    --------
    >>> keeping(np.arange(1.0, 200.0), 0.99)
    198.0
    """
    if not len(scores):
        return math.inf
    rank = min(len(scores), math.ceil((len(scores) + 1) * keep))
    return float(np.sort(scores)[rank - 1])


# Chosen on ORL faces, dogs and cats; docs/faces.md has the figures.
HEIGHT = 24
COMPONENTS = 75
VALUES = ("grey", "log")
BLOCK = 256
BLOCK_BYTES = 64 << 20


def sketches(pictures: npt.NDArray[Any], values: str) -> npt.NDArray[np.float32]:
    """Return small pictures of edges, all at one contrast.

    Pictures are made 24 pixels high by averaging areas. Their grey values, or the
    logarithms of these, are smoothed by a Gaussian of 1 pixel less the same smoothed by one of 2, and divided
    by the root of their mean square: neither the brightness nor the contrast of a picture matters, nor light
    that changes slowly across it.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w)
        Those that are smaller stay as they are.
    values : {"grey", "log"}

    Returns
    -------
    ndarray of shape (n, height, width), float32
    """
    _, h, w = pictures.shape
    down, across = areas(h, min(HEIGHT, h)), areas(w, max(1, round(w * min(1.0, HEIGHT / h))))
    small = np.empty((len(pictures), len(down), len(across)), dtype=np.float32)
    for some in slices(len(pictures), max(1, min(BLOCK, BLOCK_BYTES // (8 * h * w)))):
        block = down @ as_float64(grey_scale(pictures[some])) @ across.T
        if values == "log":
            block = np.log1p(np.maximum(block, 0.0))
        largest = np.abs(block).max(axis=(1, 2), keepdims=True)
        small[some] = edges(block, 1e-12 * np.maximum(largest, 1e-300))
    return small


def areas(size: int, wanted: int) -> FloatArray:
    """Return the matrix that averages ``size`` pixels into ``wanted``, by the overlap of their areas."""
    edges = np.arange(wanted + 1) * (size / wanted)
    low, high, pixels = edges[:-1, None], edges[1:, None], np.arange(size)[None]
    overlap = np.clip(np.minimum(high, pixels + 1) - np.maximum(low, pixels), 0.0, None)
    return np.asarray(overlap / (high - low))


def fit_detector(pictures: npt.NDArray[Any], random_state: Any) -> tuple[PCA, ...]:
    """Return the components of sketches of faces: of their grey values, and of the logarithms of these.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w)
    random_state : int, RandomState, Generator or None
    """
    models = []
    for values in VALUES:
        small = sketches(pictures, values)
        # At most half of what there is: all of it would leave nothing over of anything.
        most = max(1, min(COMPONENTS, (len(small) - 1) // 2, small[0].size // 2))
        # The smaller of the two products: a direct decomposition of so few rows is more work.
        solver = "covariance" if len(small) > small[0].size else "gram"
        with warnings.catch_warnings(action="ignore", category=RankWarning):
            models.append(PCA(most, solver=solver, random_state=random_state).fit(small))
    return tuple(models)


def unlikeness(models: tuple[PCA, ...], pictures: npt.NDArray[Any]) -> FloatArray:
    """Return the distance of pictures from the faces, shape (n,).

    The unexplained share of a sketch's mean square, from 0 to about 1; the geometric mean of both kinds of
    sketches. A uniform picture has no sketch and the distance 1.

    Parameters
    ----------
    models : tuple of PCA
        As :func:`fit_detector` returns.
    pictures : ndarray of shape (n, h, w)

    References
    ----------
    Moghaddam and Pentland (1997), Probabilistic visual learning for object representation, section 3: the
    distance from feature space.
    """
    logs = np.zeros(len(pictures))
    for model, values in zip(models, VALUES, strict=True):
        small = sketches(pictures, values)
        left = np.mean(
            (as_float64(small) - model.inverse_transform(model.transform(small))) ** 2, axis=(1, 2)
        )
        left[~small.any(axis=(1, 2))] = 1.0
        logs += np.log(np.maximum(left, np.finfo(float).tiny))
    return np.asarray(np.exp(logs / len(models)))
