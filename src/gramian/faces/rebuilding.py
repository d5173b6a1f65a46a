"""What reconstructions of pictures leave over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.errors import InputTypeError, ParameterError
from gramian.estimators.pca import PCA
from gramian.records import FloatArray

__all__ = ["as_counts", "relative_errors"]

Pictures = npt.NDArray[np.float32]


def as_counts(n_components: Any, most: int) -> list[int]:
    """Return numbers of components as a list; one number is a list of one.

    Parameters
    ----------
    n_components : int or sequence of int
    most : int
        How many the model has.

    Raises
    ------
    InputTypeError
        For what is neither.
    ParameterError
        For none, and for numbers outside of what they may be.

    Examples
    --------
    >>> as_counts((1, 5), 10), as_counts(3, 10)
    ([1, 5], [3])
    """
    given = [n_components] if np.ndim(n_components) == 0 else n_components
    if isinstance(n_components, (str, bytes)) or n_components is None:
        raise InputTypeError(
            f"n_components={n_components!r} is no number of components. Give a whole number, or several."
        )
    if not len(given):
        raise ParameterError("n_components is empty. Give at least one number of components.")
    for count in given:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ParameterError(f"n_components={count!r} is not a positive number of components.")
        if count > most:
            raise ParameterError(
                f"n_components={count} but the model has {most} components. Ask for at most {most}, or fit a "
                "model with more."
            )
    return [int(count) for count in given]


def relative_errors(model: Any, relit: Pictures, mean: Pictures, counts: Sequence[int]) -> FloatArray:
    """Return ``||x - x~|| / ||x - mean||``, shape (n, len(counts)); 0 for a picture that is the mean.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted on relit pictures.
    relit : ndarray of shape (n, height, width)
    mean : ndarray of shape (height, width)
    counts : sequence of int
        Numbers of components to rebuild from.
    """
    sizes = _norms(relit - mean)
    found = np.stack([_norms(left) for left in _left(model, relit, mean, counts)], axis=1)
    known = sizes[:, None] > 0
    return np.asarray(np.divide(found, sizes[:, None], out=np.zeros_like(found), where=known))


def _left(model: Any, relit: Pictures, mean: Pictures, counts: Sequence[int]) -> Iterator[Pictures]:
    """Yield x - x~ for each number of components; a PCA takes off component after component."""
    scores = np.asarray(model.transform(relit), dtype=np.float32)
    if not isinstance(model, PCA):
        for count in counts:
            kept = scores.copy()
            kept[:, count:] = 0
            yield relit - np.asarray(model.inverse_transform(kept), dtype=np.float32)
        return
    components, done = np.asarray(model.components_, dtype=np.float32), 0
    left = (relit - mean).reshape(len(relit), -1)
    by_count = {}
    for count in sorted(set(counts)):
        left = left - scores[:, done:count] @ components[done:count]
        by_count[count], done = left, count
    yield from (by_count[count] for count in counts)


def _norms(pictures: Any) -> FloatArray:
    flat = as_float64(pictures).reshape(len(pictures), -1)
    return np.asarray(np.linalg.norm(flat, axis=1))
