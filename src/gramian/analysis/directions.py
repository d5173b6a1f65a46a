"""How far computed eigenvectors can be from exact ones, and which eigenvalues are too close to tell apart."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gramian.records import BoundKind, DirectionBounds, FloatArray


def direction_bounds(
    values: FloatArray,
    residuals: FloatArray,
    error: float,
    *,
    others: float,
    known: bool = True,
    rank: int | None = None,
    kind: BoundKind = "deterministic",
) -> DirectionBounds:
    """Bound the angles between computed eigenvectors and those of the exact matrix.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Computed eigenvalues, descending.
    residuals : ndarray of shape (k,)
        Norms of ``A v - value v`` for the matrix A that was computed.
    error : float
        Bound on the spectral norm of (computed matrix - exact matrix).
    others : float
        Bound on the eigenvalues of the exact matrix that were not computed; -inf where there are none.
    known : bool
        Whether ``others`` is an eigenvalue with its error bound, and not merely an upper bound.
    rank : int, optional
        Number of eigenvalues that are no rounding; the others have no direction. By default k.
    kind : {"deterministic", "probabilistic", "estimate"}
        Kind of the weakest of these bounds.

    Returns
    -------
    DirectionBounds

    Notes
    -----
    k eigenvalues of the exact matrix lie within ``e = ||R||_F + error`` of the computed ones, pair by pair.
    Two neighbours further apart than 2 e are therefore distinct; others form a cluster. With residuals R of
    a cluster whose values lie in [a, b], and every other exact eigenvalue at least g away from [a, b],
    the largest principal angle between the two subspaces has ``sin <= (||R||_F + error) / g``. The bound is
    below 1 where the eigenvalues that were not computed are as far away.

    References
    ----------
    Davis and Kahan (1970), The rotation of eigenvectors by a perturbation III, the sin theta theorem.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = direction_bounds(np.array([3.0, 2.0, 2.0]), np.full(3, 1e-9), 1e-12, others=1.0)
    >>> bounds.first, bounds.sines.round(10)
    (array([0, 1, 1]), array([1.0e-09, 1.4e-09, 1.4e-09]))
    """
    k = values.size
    rank = k if rank is None else min(rank, k)
    reach = float(np.linalg.norm(residuals)) + error
    starts = [j for j in range(k) if j == 0 or not values[j - 1] - values[j] <= 2.0 * reach]
    first, gaps, sines = np.zeros(k, dtype=np.int64), np.zeros(k), np.ones(k)
    for a, b in pairwise([*starts, k]):
        above = float(values[a - 1] - values[a]) - reach if a else math.inf
        below = float(values[b - 1] - values[b]) - reach if b < k else math.inf
        # Finite where there is no other eigenvalue at all.
        gap = min(above, below, float(values[b - 1]) - others, float(values[0]))
        first[a:b], gaps[a:b] = a, max(gap, 0.0)
        off = float(np.linalg.norm(residuals[a:b])) + error
        # A cluster that reaches into rounding has no directions.
        sines[a:b] = min(1.0, off / gap) if gap > 0 and b <= rank else 1.0
    return DirectionBounds(first[:rank], gaps[:rank], sines[:rank], float(others), known, kind)


def lifted(
    bounds: DirectionBounds, factors: FloatArray, drift: FloatArray, kind: BoundKind
) -> DirectionBounds:
    """Return bounds for directions that were computed from the eigenvectors.

    Parameters
    ----------
    bounds : DirectionBounds
        Of the eigenvectors.
    factors : ndarray of shape (r,)
        What the map multiplies an error of each eigenvector by, at most.
    drift : ndarray of shape (r,)
        Norm of the error that the map itself adds to each unit vector.
    kind : BoundKind
        Kind of the weakest bound, these included.
    """
    sines = np.ones(bounds.sines.size)
    for part in bounds.clusters:
        some = slice(part.start, part.stop)
        more = float(np.linalg.norm(drift[some]))
        sines[some] = np.minimum(1.0, bounds.sines[some] * float(factors[some].max()) + more)
    return replace(bounds, sines=sines, kind=kind)
