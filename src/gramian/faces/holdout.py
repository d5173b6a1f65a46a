"""Pictures held out from fitting: which ones together, and the threshold that keeps most of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray

__all__ = ["FOLDS", "MANY", "folds", "keeping"]

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
        return [], f"there are too few pictures to measure what counts as a face ({n})"
    times = f"{len(parts)} more fits" if len(parts) > 1 else "1 more fit"
    held = sum(map(len, parts))
    return parts, (
        f"what counts as a face was measured on {held:,} pictures held out from fitting, whole {what} at a "
        f"time, by {times}"
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
