"""Whitening: linear maps after which columns are uncorrelated and of variance 1.

A covariance ``S = U.T diag(variances) U`` has many square roots of its inverse, all rotations of each other.
Here are their formulas; :mod:`gramian.analysis.whitening_map` applies them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gramian.arrays import as_float64, from_numpy, is_numpy, namespace, numpy_dtype, to_dtype, to_float64
from gramian.records import FloatArray

__all__ = [
    "METHODS",
    "divided",
    "inverse_deviations",
    "inverse_root",
    "multiplied",
    "orthonormal_rows",
    "shrinkage_intensity",
    "triangular_root",
]

METHODS = ("pca", "zca", "zca-cor", "pca-cor", "cholesky")
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of sums that would be 0 or 1
COLUMNS = 4096  # of the directions worked on at a time


# ------------------------------------------------------- scores of variance one


def inverse_deviations(deviations: FloatArray) -> FloatArray:
    """Return ``1 / deviations``, and 0 where a deviation is 0."""
    some = deviations > 0
    return np.where(some, 1.0 / np.where(some, deviations, 1.0), 0.0)


def divided(scores: Any, deviations: FloatArray) -> Any:
    """Return scores divided by their standard deviations; a deviation of 0 gives 0.

    Parameters
    ----------
    scores : array of shape (n, k)
    deviations : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> divided(np.array([[4.0, 1e-9]]), np.array([2.0, 0.0]))
    array([[2., 0.]])
    """
    return scores * from_numpy(inverse_deviations(deviations).astype(numpy_dtype(scores)), scores)[None, :]


def multiplied(scores: Any, deviations: FloatArray) -> Any:
    """Undo :func:`divided`, where the deviation is not 0."""
    return scores * from_numpy(deviations.astype(numpy_dtype(scores)), scores)[None, :]


# ------------------------------------------------------------------- shrinkage


def shrinkage_intensity(rule: str, n: int, d: int, squares: float, fourth: float) -> float:
    """Return the weight of ``mu I`` in a shrunk covariance ``(1 - weight) S + weight mu I``, mu = trace(S)/d.

    The same number as ``sklearn.covariance`` finds from the rows, here from sums over the centred rows c,
    none of which needs a (d, d) matrix; ``t`` is the sum of ``||c||^2``.

    Parameters
    ----------
    rule : {"ledoit-wolf", "oas"}
    n, d : int
        Rows and columns.
    squares : float
        Squared Frobenius norm of ``C.T C``, which is that of ``C C.T``, over ``t^2``.
    fourth : float
        Sum of ``||c||^4`` over ``t^2``; used by Ledoit and Wolf only.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices. Chen,
    Wiesel, Eldar and Hero (2010), Shrinkage algorithms for MMSE covariance estimation, equation 23, without
    its terms in 2 / d, as scikit-learn has it.

    Examples
    --------
    >>> round(shrinkage_intensity("oas", n=10, d=2, squares=0.75, fourth=0.0), 4)
    0.6364
    """
    # What S has beyond a multiple of the identity of the same trace.
    beyond = squares - 1.0 / d
    if d == 1:
        return 0.0
    if beyond <= 0:
        return 1.0
    if rule == "oas":
        return min((squares + 1.0) / ((n + 1) * beyond), 1.0)
    return min(max((fourth - squares / n) / beyond, 0.0), 1.0)


# ------------------------------------------------------------- roots of matrices


def inverse_root(products: FloatArray) -> FloatArray | None:
    """Return ``T^-1/2`` for a T that should be the identity, or None where it is, to rounding.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        Covariance of whitened scores as measured.
    """
    gap = float(np.abs(products - np.eye(len(products))).max(initial=0.0))
    if gap <= ROUNDING:
        return None
    values, vectors = scipy.linalg.eigh(products, check_finite=False)
    # It corrects rounding; where that is as large as the values themselves, it must not amplify it.
    return np.asarray((vectors / np.sqrt(np.maximum(values, 0.25))) @ vectors.T)


def orthonormal_rows(directions: Any) -> Any:
    """Return directions that are orthonormal to rounding, where they were so nearly.

    ZCA goes through the directions twice, so that what they lack shows twice in the covariance.

    Parameters
    ----------
    directions : array of shape (k, d)

    References
    ----------
    Higham (1986), Computing the polar decomposition: one step towards the nearest orthonormal rows.
    """
    k, d = directions.shape
    parts = [slice(start, min(start + COLUMNS, d)) for start in range(0, d, COLUMNS)]
    dtype = numpy_dtype(directions)

    def block(part: slice) -> Any:
        return to_float64(directions[:, part])

    gap = as_float64(sum(B @ B.T for B in map(block, parts))) - np.eye(k)
    if float(np.abs(gap).max(initial=0.0)) <= max(2 * float(np.finfo(dtype).eps), ROUNDING):
        return np.ascontiguousarray(directions) if is_numpy(directions) else directions
    step = from_numpy(np.eye(k) - gap / 2, directions)
    if not is_numpy(directions):
        turned = [to_dtype(step @ block(part), dtype) for part in parts]
        return namespace(directions).concat(turned, axis=1)
    out = np.empty((k, d), dtype=dtype)
    for part in parts:
        out[:, part] = step @ block(part)
    return out


def triangular_root(
    directions: FloatArray, deviations: FloatArray, rest: float, correction: FloatArray | None
) -> FloatArray:
    """Return the upper triangular W of positive diagonal with ``W.T W = S^-1``.

    ``L = W.T`` is the Cholesky factor of ``S^-1 = L L.T``. S is never formed: W is the inverse of R in
    ``M = R Q``, where ``S = M M.T``.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    deviations : ndarray of shape (k,)
        Square roots of the variances along them, all positive.
    rest : float
        Square root of the variance along every other direction; positive where k < d.
    correction : ndarray of shape (k, k) or None
        As of :class:`Whitening`; None where k < d.
    """
    k, d = directions.shape
    top = max(float(deviations.max()), rest)
    root = deviations / top
    if k == d:
        back = np.diag(root) if correction is None else np.linalg.inv(correction) * root[:, None]
        # Not the transpose: what rounding has left of orthogonality would be divided by small deviations.
        M = np.linalg.solve(directions, back)
    else:
        least = rest / top
        beyond = np.sqrt(np.maximum(root**2 - least**2, 0.0))
        M = np.hstack([directions.T * beyond, least * np.eye(d)])
    R = scipy.linalg.rq(M, mode="economic")[0]
    R = R * np.where(np.diag(R) < 0, -1.0, 1.0)
    return np.asarray(scipy.linalg.solve_triangular(R, np.eye(d)) / top)
