"""Similarity of pictures and enrolled people: distances, along components or discriminants."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.validation import check_array

from gramian.arrays import as_float64, blas_threads, to_numpy
from gramian.checks import evenly, slices
from gramian.errors import DataError, ParameterError
from gramian.records import FloatArray

DISTANCES = ("cosine", "euclidean", "mahalanobis", "whitened-cosine")
MATCHES = ("nearest", "mean")
ENTRIES = 1 << 24  # similarity scores held at a time, 64 MB
Codes = npt.NDArray[np.intp]
Vectors = npt.NDArray[np.float32]


def as_vectors(vectors: Any, n_components: int | None = None, at_least: int = 0) -> Vectors:
    """Return the vectors of pictures, as a model's ``transform`` gives them, as finite float32.

    Parameters
    ----------
    vectors : array-like of shape (n, k)
    n_components : int, optional
        What k must be.
    at_least : int
        How many there must be.

    Raises
    ------
    ValueError
        By scikit-learn's check_array: for another shape, other than real numbers, and a vector that is not
        finite in float32.
    DataError
        For another number of components.
    """
    with np.errstate(over="ignore"):
        values: Vectors = check_array(
            to_numpy(vectors), dtype=np.float32, order="C", ensure_min_samples=at_least, input_name="vectors"
        )
    if n_components is not None and values.shape[1] != n_components:
        raise DataError(
            f"The vectors have {values.shape[1]} components, but the enrolled people have {n_components}.",
            "Use the model that they were enrolled with.",
        )
    return values


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
        each = "must be one finite number of at least 0 for each component: eigenvalues_ of the model"
        raise ParameterError("variances", allowed=each)
    # What rounding leaves of a variance of 0 must not become the loudest component.
    known = values > values.max(initial=0.0) * np.finfo(np.float32).eps ** 2
    return np.asarray(np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=known))


class Matcher:
    """Compares query vectors with the vectors of people.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    codes : ndarray of shape (n,), int
        The person of each, ascending.
    model : LinearDiscriminantAnalysis, optional
        Compare along its discriminants.
    cosine : bool
        The similarity score is the cosine of the angle; otherwise the negative Euclidean distance.
    match : {"nearest", "mean"}, default="nearest"
        Compare with the nearest picture of a person, or with the mean of the pictures (of their directions,
        for cosines).

    Attributes
    ----------
    people : ndarray of int
        The codes of those with a column in the similarity scores.

    Examples
    --------
    >>> vectors = np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]], dtype=np.float32)
    >>> Matcher(vectors, np.array([0, 0, 1]), cosine=False).similarity(vectors[1:2]).tolist()
    [[-0.0, -5.0]]
    >>> Matcher(vectors, np.array([0, 0, 1]), cosine=True).similarity(vectors[:1]).tolist()
    [[1.0, 0.0]]
    """

    def __init__(
        self,
        vectors: Vectors,
        codes: Codes,
        model: LinearDiscriminantAnalysis | None = None,
        *,
        cosine: bool,
        match: str = "nearest",
    ) -> None:
        self.cosine = cosine
        self.people = np.unique(codes)
        self._directions: Vectors | None = None
        if model is not None:
            count = min(len(model.classes_) - 1, model.scalings_.shape[1])
            self._directions = np.ascontiguousarray(model.scalings_[:, :count], dtype=np.float32)
        rows = self._projected(vectors)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        if match == "mean":
            sizes = np.diff(starts, append=len(rows))[:, None]
            means = np.add.reduceat(rows.astype(np.float64), starts, axis=0) / sizes
            rows = directions(means) if cosine else means.astype(np.float32)
            starts = np.arange(len(rows))
        # One row a component: a vector times such a matrix is read at the speed of memory.
        self._columns = np.ascontiguousarray(rows.T)
        # Where everybody has one row there is nothing to choose from.
        self._starts = None if len(starts) == len(rows) else starts
        self._squares = None if cosine else _squares(rows)

    def similarity(self, queries: Vectors) -> Vectors:
        """Return the similarity of queries and people, shape (m, n_people), float32; larger is more similar.

        Parameters
        ----------
        queries : ndarray of shape (m, k)
        """
        queries = self._projected(queries)
        values = np.empty((len(queries), len(self.people)), dtype=np.float32)
        for some in slices(len(queries), max(1, ENTRIES // self._columns.shape[1])):
            values[some] = self._compared(queries[some])
        return values

    def _projected(self, vectors: Vectors) -> Vectors:
        along = vectors if self._directions is None else vectors @ self._directions
        return directions(along) if self.cosine else np.ascontiguousarray(along, dtype=np.float32)

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
            "A vector is too long for distances in float32.",
            'Use distance="cosine", or scale the grey values.',
        )
    return np.asarray(squares)


SHRINKAGE = 0.1  # 0.05 to 0.3 differ by less than chance on ORL; on Extended Yale B 0.3 does worse
FEWEST = 10  # people with two pictures below which few directions are left, and strangers fit them too
MOST = 1000  # people that discriminants are found from; more make it slow, and change little


def why_none(people: Codes) -> str:
    """Return why discriminants are not used; empty where they are.

    Parameters
    ----------
    people : ndarray of shape (n,), int

    Examples
    --------
    >>> why_none(np.repeat(np.arange(12), 2))
    ''
    """
    counts = np.bincount(people)
    several = int((counts > 1).sum())
    if several >= FEWEST:
        return ""
    return (
        f"No discriminants are used: {several} of {len(counts)} people have two pictures, and at least "
        f"{FEWEST} are needed to reject strangers."
    )


class _Within:
    """The covariance of the pictures of one person, for scikit-learn: shrunk, and with that of shifts."""

    def __init__(self, shifts: FloatArray | None) -> None:
        self._shifts = 0.0 if shifts is None else shifts

    def fit(self, X: FloatArray) -> Self:
        # As scikit-learn's shrunk_covariance does, which checks its input at length, of each person anew.
        C = X - X.mean(axis=0)
        covariance = (1.0 - SHRINKAGE) / len(C) * (C.T @ C)
        covariance.flat[:: C.shape[1] + 1] += SHRINKAGE * np.vdot(C, C) / C.size
        self.covariance_ = covariance + self._shifts
        return self


def discriminants(
    vectors: npt.NDArray[Any], people: Codes, shift_covariance: FloatArray | None = None
) -> LinearDiscriminantAnalysis:
    """Fit scikit-learn's linear discriminant analysis of people, with shrunk covariance within people.

    Without shrinkage the estimate breaks down where there are about as many components as pictures.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    people : ndarray of shape (n,), int
    shift_covariance : ndarray of shape (k, k), float64, optional
        Covariance of the change of vectors when pictures are shifted: added to that within people.

    Returns
    -------
    LinearDiscriminantAnalysis
        Fitted on people with two pictures: at most 1000, evenly spread over those with the most. The first
        ``n_people - 1`` columns of ``scalings_`` are used.

    Raises
    ------
    DataError
        Where fewer than two people have two pictures, or nobody varies.

    References
    ----------
    Belhumeur, Hespanha and Kriegman (1997), Eigenfaces vs. Fisherfaces, section 2.4. Friedman (1989),
    Regularized discriminant analysis, for the shrinkage.
    """
    kept = _chosen(people)
    values, owners = as_float64(vectors[kept]), people[kept]
    if len(np.unique(owners)) < 2:
        raise DataError(
            "Discriminants need two people with two pictures each.",
            'Enroll more pictures, or use discriminant="auto".',
        )
    if not _varies(values, owners):
        raise DataError(
            "All pictures of each person are the same, so there are no discriminants.",
            "Enroll pictures taken at different times, or use discriminant=False.",
        )
    model = LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=_Within(shift_covariance))
    # A small product for each person: threads would wait for each other longer than they work.
    with blas_threads():
        return model.fit(values, owners)


def _chosen(people: Codes) -> npt.NDArray[np.bool_]:
    counts = np.bincount(people)
    several = np.flatnonzero(counts > 1)
    if len(several) <= MOST:
        return np.isin(people, several)
    # Of those with equally many pictures an even share, not the first ones by name.
    least = np.sort(counts[several])[-MOST]
    sure, tied = several[counts[several] > least], several[counts[several] == least]
    return np.isin(people, [*sure, *tied[evenly(len(tied), MOST - len(sure))]])


def _varies(values: npt.NDArray[Any], owners: Codes) -> bool:
    order = np.argsort(owners, kind="stable")
    apart = np.diff(values[order], axis=0)[np.diff(owners[order]) == 0]
    return bool(np.abs(apart).max(initial=0.0) > 1e-6 * np.abs(values).max(initial=0.0))
