"""A map from scores back to rows, learned by ridge regression on the fitted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import eigh, svd
from scipy.spatial.distance import cdist

from gramian.arrays import blas_threads, parallel_map, power_of_two
from gramian.checks import evenly
from gramian.records import FloatArray
from gramian.store import Array

LANDMARKS = 1000
COMPONENTS = 500  # scores beyond these are left out of the map
# Widths that are tried, as multiples of the median distance between scores.
WIDTHS = (0.5, 1.0, 2.0, 4.0)
# Penalties that are tried, as parts of the largest squared singular value.
PENALTIES = np.logspace(-12, 1, 40)
# Of the rows; with more degrees of freedom cross-validation divides rounding by rounding.
MOST_FREEDOM = 0.9
# Criterion, penalty, degrees of freedom, coefficients.
Fit = tuple[float, float, float, FloatArray]


@dataclass(frozen=True, eq=False)
class RidgeMap:
    """Rows as a regularised least-squares function of scores.

    ``x = intercept + z . linear + sum_m exp(-||z - c_m||^2 / (2 width^2)) * radial_m``.

    Attributes
    ----------
    mean : ndarray of shape (r,)
        Subtracted from scores first.
    unit : float
        Divides scores: the largest of them.
    linear : ndarray of shape (r, d)
    intercept : ndarray of shape (d,)
    landmarks : ndarray of shape (m, r)
        The c_m, as ``(scores - mean) / unit``; without rows where the linear part alone does better.
    radial : ndarray of shape (m, d)
    width : float or None
        None without landmarks.
    alpha : float
        The penalty on squared coefficients, in the units of the features.
    score : float
        The criterion of generalised cross-validation: an estimate of the mean squared error of a row.
    freedom : float
        Effective degrees of freedom, the trace of the hat matrix.
    """

    mean: Annotated[FloatArray, Array("r")]
    unit: float
    linear: Annotated[FloatArray, Array("r d")]
    intercept: Annotated[FloatArray, Array("d")]
    landmarks: Annotated[FloatArray, Array("m r")]
    radial: Annotated[FloatArray, Array("m d")]
    width: float | None
    alpha: float
    score: float
    freedom: float

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the rows of scores of shape (b, r): shape (b, d)."""
        Z = (Z[:, : len(self.mean)] - self.mean) / self.unit
        result = Z @ self.linear + self.intercept
        if self.width is not None:
            with np.errstate(over="ignore"):
                squares = cdist(Z, self.landmarks, "sqeuclidean")
            result += _bumps(squares, self.width) @ self.radial
        return np.asarray(result)


def learn_map(scores: FloatArray, rows: FloatArray) -> RidgeMap:
    """Learn rows from scores; penalty, width and whether bumps are used, by generalised cross-validation.

    Parameters
    ----------
    scores : ndarray of shape (n, r)
    rows : ndarray of shape (n, d)

    References
    ----------
    Bakir, Weston, Schoelkopf (2004), Learning to find pre-images. Golub, Heath, Wahba (1979), Generalized
    cross-validation as a method for choosing a good ridge parameter.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> learned = learn_map(z, 3.0 * z + 1.0)
    >>> learned(np.array([[2.0]])).round(6)
    array([[7.]])
    """
    n = len(rows)
    scores = scores[:, :COMPONENTS]
    factor = 2.0 ** power_of_two(float(np.abs(rows).max(initial=0.0)))
    intercept = (rows / factor).mean(axis=0)
    target = rows / factor - intercept
    mean = scores.mean(axis=0)
    unit = float(np.abs(scores - mean).max(initial=0.0)) or 1.0
    Z = (scores - mean) / unit
    picked = evenly(n, LANDMARKS)
    squares = cdist(Z, Z[picked], "sqeuclidean") if Z.shape[1] else np.zeros((n, 0))
    apart = squares[squares > 0]
    median = float(np.sqrt(np.median(apart))) if apart.size else 0.0

    def fit(width: float) -> Fit:
        if width == np.inf:
            return _fitted(Z, target, exact=True)
        bumps = _bumps(squares, width)
        return _fitted(np.concatenate([Z, bumps - bumps.mean(axis=0)], axis=1), target, exact=False)

    # One width a thread: eigenvectors of a thousand columns take several threads longer than one.
    widths = [np.inf, *(share * median for share in WIDTHS if median > 0)]
    with blas_threads():
        fits = parallel_map(fit, widths)
    # Ties go to the simpler map.
    best = min(range(len(fits)), key=lambda i: fits[i][0] * (1.0 if i == 0 else 1.0 + 1e-6))
    score, alpha, freedom, coefficients = fits[best]
    width = widths[best]
    landmarks = Z[picked] if best else Z[:0]
    means = _bumps(squares, width).mean(axis=0) if best else np.zeros(0)
    linear, radial = np.split(coefficients * factor, [Z.shape[1]])
    return RidgeMap(
        mean=mean,
        unit=unit,
        linear=linear,
        intercept=intercept * factor - means @ radial,
        landmarks=landmarks,
        radial=radial,
        width=float(width) if best else None,
        alpha=alpha,
        score=score * factor * factor,
        freedom=freedom,
    )


def _fitted(A: FloatArray, Y: FloatArray, *, exact: bool) -> Fit:
    """Ridge regression of centred columns on centred columns, the penalty by cross-validation."""
    n = len(A)
    sigma, shares, right = _decomposed(A, Y, exact)
    total = float(np.sum(Y * Y))
    explained = np.sum(shares * shares, axis=1)
    penalties = PENALTIES * float(sigma.max(initial=0.0)) ** 2
    if exact:
        penalties = np.concatenate([[0.0], penalties])
    left_out = penalties[:, None] / (sigma * sigma + penalties[:, None])
    # One more for the intercept.
    freedom = 1.0 + np.sum(1.0 - left_out, axis=1)
    missed = total - (1.0 - left_out**2) @ explained
    rounding = n * float(np.finfo(np.float64).eps) * total
    score = np.maximum(missed, rounding) * n / np.maximum(n - freedom, 1.0) ** 2
    allowed = freedom <= MOST_FREEDOM * n
    allowed[-1] = True
    # Nothing is better than what leaves no error, and a larger penalty would seem to be.
    for result in np.flatnonzero(allowed & (missed <= rounding))[:1]:
        allowed[result + 1 :] = False
    best = int(np.argmin(np.where(allowed, score, np.inf)))
    alpha = float(penalties[best])
    filtered = sigma / (sigma * sigma + alpha) if sigma.size else sigma
    coefficients = np.asarray(right @ (filtered[:, None] * shares))
    return float(score[best]), alpha, float(freedom[best]), coefficients


def _decomposed(A: FloatArray, Y: FloatArray, exact: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular values of A above rounding, ``U.T Y`` and V.

    Not exact is by the smaller of A.T A and A A.T: half of the digits, of which the penalties need no more.
    """
    n, p = A.shape
    if exact:
        U, sigma, Vt = svd(A, full_matrices=False, check_finite=False)
        good = sigma > max(n, p) * np.finfo(np.float64).eps * sigma.max(initial=0.0)
        return sigma[good], U.T[good] @ Y, Vt.T[:, good]
    values, vectors = eigh(A.T @ A if p <= n else A @ A.T, check_finite=False)
    good = values > 1e-14 * values.max(initial=0.0)
    sigma, vectors = np.sqrt(values[good]), vectors[:, good]
    if p <= n:
        return sigma, (vectors.T @ (A.T @ Y)) / sigma[:, None], vectors
    return sigma, vectors.T @ Y, (A.T @ vectors) / sigma


def _bumps(squares: FloatArray, width: float) -> FloatArray:
    return np.asarray(np.exp(squares * (-0.5 / width / width)))
