"""How alike a picture and the enrolled ones are: one product, exact over everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError
from gramian.records import FloatArray

__all__ = ["DISTANCES", "MATCHES", "Index", "whitening"]

DISTANCES = ("cosine", "euclidean", "mahalanobis", "whitened-cosine")
MATCHES = ("nearest", "mean")
ENTRIES = 1 << 24  # likenesses held at a time, 64 MB
Vectors = npt.NDArray[np.float32]


def whitening(variances: Any) -> FloatArray:
    """Return the factors that bring every component to variance 1; 0 for components without variance.

    Parameters
    ----------
    variances : array-like of shape (k,)
        Variances of the scores, not negative.

    Returns
    -------
    ndarray of shape (k,), float64

    Examples
    --------
    >>> whitening([4.0, 1.0, 0.0]).tolist()
    [0.5, 1.0, 0.0]
    """
    values = as_float64(variances)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(
            "variances must be one finite number of at least 0 for each component. Give eigenvalues_ of the "
            "model that made the vectors."
        )
    # What rounding leaves of a variance of 0 must not become the loudest component.
    known = values > values.max(initial=0.0) * np.finfo(np.float32).eps ** 2
    return np.asarray(np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=known))


class Index:
    """Vectors of people, ready to be compared with.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    people : ndarray of shape (n,), int
        Whose each is: ascending, 0 .. n_people - 1, everybody at least once.
    cosine : bool
        Compare directions, not places: likeness is the cosine of the angle. Otherwise it is minus the
        Euclidean distance.
    match : {"nearest", "mean"}, default="nearest"
        A person is as alike as the most alike picture, or as the mean of the pictures (of their directions,
        for cosines).

    Examples
    --------
    >>> vectors = np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]], dtype=np.float32)
    >>> Index(vectors, np.array([0, 0, 1]), cosine=False).similarity(vectors[1:2]).tolist()
    [[-0.0, -5.0]]
    >>> Index(vectors, np.array([0, 0, 1]), cosine=True).similarity(vectors[:1]).tolist()
    [[1.0, 0.0]]
    """

    def __init__(
        self, vectors: Vectors, people: npt.NDArray[np.intp], *, cosine: bool, match: str = "nearest"
    ) -> None:
        check_choice("match", match, MATCHES)
        self.cosine = cosine
        rows = directions(vectors) if cosine else np.ascontiguousarray(vectors, dtype=np.float32)
        starts = np.flatnonzero(np.diff(people, prepend=-1))
        if match == "mean":
            sizes = np.diff(starts, append=len(rows))[:, None]
            means = np.add.reduceat(rows.astype(np.float64), starts, axis=0) / sizes
            rows = directions(means) if cosine else means.astype(np.float32)
            starts = np.arange(len(rows))
        # One row a component: a vector times such a matrix is read at the speed of memory.
        self._columns = np.ascontiguousarray(rows.T)
        # Where everybody has one row there is nothing to choose from.
        self._starts = None if len(starts) == len(rows) else starts
        self.n_people = len(starts)
        self._squares = None if cosine else _squares(rows)

    def similarity(self, queries: Vectors) -> Vectors:
        """Return how alike queries and people are, shape (m, n_people), float32; larger is more alike.

        Parameters
        ----------
        queries : ndarray of shape (m, d)
        """
        queries = directions(queries) if self.cosine else np.ascontiguousarray(queries, dtype=np.float32)
        found = np.empty((len(queries), self.n_people), dtype=np.float32)
        step = max(1, ENTRIES // max(1, self._columns.shape[1]))
        for start in range(0, len(queries), step):
            found[start : start + step] = self._compared(queries[start : start + step])
        return found

    def _compared(self, queries: Vectors) -> Vectors:
        # One vector by gemv, which does not copy the matrix first as gemm does.
        one = len(queries) == 1
        products = (queries[0] @ self._columns)[None] if one else queries @ self._columns
        if self._squares is not None:
            products *= 2
            products -= self._squares
        if self._starts is not None:
            products = np.maximum.reduceat(products, self._starts, axis=1)
        if self._squares is None:
            return np.asarray(np.clip(products, -1, 1))
        squared = _squares(queries)[:, None] - products
        return np.asarray(-np.sqrt(np.maximum(squared, 0)))


def directions(vectors: npt.NDArray[Any]) -> Vectors:
    """Return vectors divided by their lengths, float32; 0 stays 0."""
    values = np.asarray(vectors, dtype=np.float32)
    # Squares of float32 can overflow and vanish; a copy of all vectors in float64 would be large.
    squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)
    lengths = np.sqrt(squares).astype(np.float32)[:, None]
    return np.asarray(np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0))


def _squares(rows: Vectors) -> Vectors:
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(np.float32)
    if not np.isfinite(squares).all():
        raise DataError(
            "A vector is too long for distances in float32. Take distance='cosine', or divide the grey "
            "values of the pictures."
        )
    return np.asarray(squares)
