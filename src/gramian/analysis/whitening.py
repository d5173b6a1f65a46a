"""Whitening: linear maps after which columns are uncorrelated and of variance 1.

A covariance ``S = U.T diag(variances) U`` has many square roots of its inverse, all rotations of each other.
Here are their formulas; :mod:`gramian.analysis.whitening_map` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from gramian.arrays import as_float64, from_numpy, is_numpy, namespace, numpy_dtype, to_dtype, to_float64
from gramian.checks import check_choice, check_number, slices
from gramian.operators.centered import CenteredRows
from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.records import FloatArray, Spectrum

METHODS = ("pca", "zca", "zca-cor", "pca-cor", "cholesky")
SHRINKAGE = ("ledoit-wolf", "oas")
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


# ------------------------------------------------- what scores are divided by


@dataclass(frozen=True, eq=False)
class Settled:
    """What scores are divided by.

    Attributes
    ----------
    amount : float or None
        What was added to the variances, or the intensity of the shrinkage.
    variances : ndarray of shape (k,)
        Variances after that; 0 leaves a direction out.
    deviations : ndarray of shape (k,)
        Their square roots, also where a variance is too small to be written down.
    rest : float
        The same for everything beside the k directions.
    correction : ndarray of shape (k, k) or None
        What whitened scores are multiplied by to be white to rounding.
    """

    amount: float | None
    variances: FloatArray
    deviations: FloatArray
    rest: float
    correction: FloatArray | None


def check_regularization(value: Any) -> float | str | None:
    """Return ``regularization``, or refuse it; 0 adds nothing and is None.

    Raises
    ------
    ParameterError
        For anything but a number of at least 0, the name of a shrinkage, or None.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return check_choice("regularization", value, SHRINKAGE)
    advice = "It is added to every variance; 'ledoit-wolf' and 'oas' estimate it, None adds nothing."
    return check_number("regularization", value, least=0.0, advice=advice) or None


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


def standard_deviations(spectrum: Spectrum, largest: float, rank: int, k: int) -> FloatArray:
    """Return the standard deviations of k scores, 0 beyond the rank.

    Parameters
    ----------
    spectrum : Spectrum
        In any unit: small variances may be outside of what float64 can hold in that of the data.
    largest : float
        The largest variance, in units of the data.
    rank, k : int
        Number of directions with variance, and of all.
    """
    found = np.zeros(k)
    if rank:
        found[:rank] = np.sqrt(spectrum.values[:rank] / spectrum.values[0]) * np.sqrt(largest)
    return found


def as_measured(variances: FloatArray, deviations: FloatArray, products: FloatArray) -> Settled:
    """Divide by the variances as they are, corrected by what the divided scores were measured to have.

    Parameters
    ----------
    variances, deviations : ndarray of shape (k,)
        0 beyond the rank.
    products : ndarray of shape (k, k)
        Covariance of the divided scores.
    """
    rank = int((deviations > 0).sum())
    whole = np.eye(len(deviations))
    whole[:rank, :rank] = products[:rank, :rank]
    return Settled(None, variances, deviations, 0.0, inverse_root(whole))


def regularized(
    rule: float | str,
    variances: FloatArray,
    total: float,
    spectrum: Spectrum,
    view: CenteredRows,
    fourth: float,
) -> Settled:
    """Divide by variances that have no zero among them, unless what was added is itself rounding.

    Parameters
    ----------
    rule : float or {"ledoit-wolf", "oas"}
        What is added, or how it is estimated.
    variances : ndarray of shape (k,)
        0 beyond the rank.
    total : float
        Sum of all variances.
    spectrum : Spectrum
        Whose rank tolerance says what rounding is.
    view : CenteredRows
        The fitted rows, centred.
    fourth : float
        As for :func:`shrinkage_intensity`.
    """
    n, d = view.rows.shape
    weight, added = 0.0, rule
    if isinstance(added, str):
        squares = _sum_of_squares(spectrum, view) if total > 0 else 1.0 / d
        weight = shrinkage_intensity(added, n, d, squares, fourth)
        added = weight * total / d
    least = spectrum.rank_tolerance * float(variances.max(initial=0.0))
    values = (1.0 - weight) * variances + added
    values = np.where(values > least, values, 0.0)
    return Settled(
        amount=weight if isinstance(rule, str) else added,
        variances=values,
        deviations=np.sqrt(values),
        rest=float(np.sqrt(added)) if added > least else 0.0,
        correction=None,
    )


def _sum_of_squares(spectrum: Spectrum, view: CenteredRows) -> float:
    """Sum of the squares of all eigenvalues, over the square of their sum."""
    values = np.concatenate([spectrum.values, spectrum.rest])
    n, d = view.rows.shape
    if spectrum.complete and values.size >= min(n, d):
        values = values / values.sum()
        return float(values @ values)
    A = (GramOperator if n < d else CovarianceOperator)(view).dense()
    xp = namespace(A)
    A = A / float(xp.linalg.trace(A))
    return float(xp.sum(A * A))


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
    parts = slices(d, COLUMNS)
    dtype = numpy_dtype(directions)

    def block(part: slice) -> Any:
        return to_float64(directions[:, part])

    gap = as_float64(sum(B @ B.T for B in map(block, parts))) - np.eye(k)
    if float(np.abs(gap).max(initial=0.0)) <= max(2 * float(np.finfo(dtype).eps), ROUNDING):
        return np.ascontiguousarray(directions) if is_numpy(directions) else directions
    step = from_numpy(np.eye(k) - gap / 2, directions)
    turned = [to_dtype(step @ block(part), dtype) for part in parts]
    return namespace(directions).concat(turned, axis=1)


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
