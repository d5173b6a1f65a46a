"""Linear discriminants of people: the directions in which they differ most for how much each varies."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.covariance import empirical_covariance, shrunk_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramian.arrays import as_float64, blas_threads
from gramian.errors import DataError
from gramian.records import FloatArray

__all__ = ["FEWEST", "MOST", "SHRINKAGE", "discriminants", "projection", "why_none"]

SHRINKAGE = 0.1  # 0.05 to 0.3 differ by less than chance on ORL; on Extended Yale B 0.3 does worse
FEWEST = 10  # people with two pictures below which few directions are left, and strangers fit them too
MOST = 1000  # people that discriminants are found from; more make it slow, and change little


def why_none(people: npt.NDArray[np.intp]) -> str:
    """Say why discriminants would do harm; empty where they help.

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
        f"No discriminants are used: {several} of {len(counts)} people have two pictures, and fewer than "
        f"{FEWEST} leave directions in which strangers are like somebody."
    )


class _Within:
    """The covariance of the pictures of one person, for scikit-learn: shrunk, and with that of shifts."""

    def __init__(self, shifts: FloatArray | None) -> None:
        self._shifts = 0.0 if shifts is None else shifts

    def fit(self, X: FloatArray) -> Self:
        self.covariance_ = shrunk_covariance(empirical_covariance(X), SHRINKAGE) + self._shifts
        return self


def discriminants(
    vectors: npt.NDArray[Any], people: npt.NDArray[np.intp], shift_covariance: FloatArray | None = None
) -> LinearDiscriminantAnalysis:
    """Find discriminants of people, by scikit-learn, with the covariance within people shrunk.

    Without shrinkage the estimate breaks down where there are about as many components as pictures to learn
    from.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    people : ndarray of shape (n,), int
    shift_covariance : ndarray of shape (k, k), float64, optional
        Of what happens to vectors when pictures are moved: added to the covariance within people.

    Returns
    -------
    LinearDiscriminantAnalysis
        Its ``scalings_`` are (k, k), of which one fewer than people count. Found from those who have two
        pictures: at most 1000 people, evenly spread over those with the most.

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
            "Discriminants need two people with two pictures each. Enroll more pictures, or take "
            "discriminant='auto'."
        )
    if not _varies(values, owners):
        raise DataError(
            "All pictures of each person are the same, so there are no discriminants. Enroll pictures taken "
            "at different times, or take discriminant=False."
        )
    model = LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=_Within(shift_covariance))
    # A small product for each person: threads would wait for each other longer than they work.
    with blas_threads():
        return model.fit(values, owners)


def projection(model: LinearDiscriminantAnalysis) -> npt.NDArray[np.float32]:
    """Return the matrix that a vector is multiplied by, shape (k, d), float32."""
    count = min(len(model.classes_) - 1, model.scalings_.shape[1])
    return np.ascontiguousarray(model.scalings_[:, :count], dtype=np.float32)


def _chosen(people: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    counts = np.bincount(people)
    several = np.flatnonzero(counts > 1)
    if len(several) <= MOST:
        return np.isin(people, several)
    ranked = several[np.argsort(-counts[several], kind="stable")]
    # Of those with equally many pictures an even share, not the first ones by name.
    least = counts[ranked[MOST - 1]]
    sure, tied = several[counts[several] > least], several[counts[several] == least]
    even = tied[np.linspace(0, len(tied) - 1, MOST - len(sure)).astype(int)]
    return np.isin(people, np.concatenate([sure, even]))


def _varies(values: npt.NDArray[Any], owners: npt.NDArray[np.intp]) -> bool:
    order = np.argsort(owners, kind="stable")
    apart = np.diff(values[order], axis=0)[np.diff(owners[order]) == 0]
    return bool(np.abs(apart).max(initial=0.0) > 1e-6 * np.abs(values).max(initial=0.0))
