"""Direct decompositions: complete, and the fallback of every iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gramian.arrays import as_float64, column_norms, from_numpy, is_numpy, namespace
from gramian.operators.operator import Operator
from gramian.records import FloatArray, Spectrum, Target

__all__ = ["count_for_fraction", "relative_tolerance", "solve_dense", "solve_svd"]


def count_for_fraction(values: FloatArray, total: float, fraction: float) -> int | None:
    """Return the least k whose leading values reach ``fraction`` of ``total``; None when none does.

    Rounding in the sum must not cost a component, so the comparison allows for it.
    """
    if total <= 0:
        return 1 if values.size else None
    reached = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) >= (fraction - 1e-12) * total)
    return int(reached[0]) + 1 if reached.size else None


def relative_tolerance(relative: float, noise: float, top: float) -> float:
    """One relative rank threshold out of the route's own and the data's absolute rounding."""
    return max(relative, noise / top) if top > 0 else 1.0


def solve_dense(operator: Operator, target: Target, route: str) -> Spectrum:
    """Decompose the operator's matrix directly.

    Parameters
    ----------
    operator : Operator
        Symmetric matrix of order m.
    target : Target
        Number of eigenpairs, fraction of the trace, or all.
    route : str
        Name of the route for the record.

    Returns
    -------
    Spectrum
        The leading eigenpairs; ``rest`` holds every other eigenvalue where they were computed.
    """
    A = operator.dense()
    total = operator.trace()
    values, vectors, rest = _leading(A, target, total)
    residuals = column_norms(A @ vectors - vectors * from_numpy(values, vectors)[None, :])
    # The backward error of LAPACK's symmetric solvers is a modest multiple of eps times the norm.
    norm = float(np.abs(np.concatenate([values, rest])).max(initial=0.0))
    backward = operator.size**0.5 * 10 * float(np.finfo(np.float64).eps) * norm
    top = float(values[0]) if values.size else 0.0
    return Spectrum(
        values=values,
        vectors=vectors,
        residuals=residuals,
        total=total,
        squares=None,
        rank_tolerance=relative_tolerance(operator.relative_tolerance, operator.noise, top),
        error_bound=operator.dense_error + backward,
        error_kind=operator.error_kind,
        route=route,
        complete=True,
        rest=rest,
        smallest=float(rest[-1]) if rest.size else (float(values[-1]) if values.size else None),
    )


def solve_svd(C: Any, target: Target, noise: float, eps: float) -> tuple[Spectrum, Any]:
    """Singular value decomposition of a centred data matrix held in memory as float64.

    Parameters
    ----------
    C : array of shape (n, d), float64
        Centred data; overwritten.
    target : Target
        Number of components, fraction of the sum of squares, or all ``min(n, d)``.
    noise : float
        Absolute size of squared singular values that is rounding of the data.
    eps : float
        Machine epsilon of the data as it came.

    Returns
    -------
    spectrum, left : tuple
        Squared singular values with the right vectors as columns, and the left vectors (n, k).
    """
    xp = namespace(C)
    n, d = C.shape
    U, s, Vt = _svd(C)
    squares = as_float64(s) ** 2
    total = float(squares.sum())
    k = _count(target, squares, total)
    left, right = U[:, :k], Vt[:k, :].T
    gap = C @ right - left * s[:k][None, :]
    residuals = column_norms(gap) * as_float64(s[:k])
    unit = float(np.finfo(np.float64).eps)
    top = float(squares[0]) if squares.size else 0.0
    spectrum = Spectrum(
        values=squares[:k],
        vectors=xp.asarray(right, copy=True) if xp is not np else right,
        residuals=residuals,
        total=total,
        squares=None,
        rank_tolerance=relative_tolerance(
            min((max(n, d) * unit) ** 2 if eps < 1e-12 else (4 * eps) ** 2, 1.0), noise, top
        ),
        error_bound=10 * max(n, d) ** 0.5 * unit * top,
        error_kind="deterministic",
        route="full",
        complete=True,
        rest=squares[k:],
        smallest=float(squares[-1]) if squares.size else None,
    )
    return spectrum, left


def _svd(C: Any) -> tuple[Any, Any, Any]:
    if not is_numpy(C):
        found = namespace(C).linalg.svd(C, full_matrices=False)
        return found[0], found[1], found[2]
    try:
        return scipy.linalg.svd(C, full_matrices=False, check_finite=False)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        # Divide and conquer fails to converge on rare matrices where plain QR iteration succeeds.
        return scipy.linalg.svd(  # type: ignore[no-any-return]
            C, full_matrices=False, check_finite=False, lapack_driver="gesvd"
        )


def _leading(A: Any, target: Target, total: float | None) -> tuple[FloatArray, Any, FloatArray]:
    """Leading eigenpairs in descending order and the other eigenvalues, as far as they were computed."""
    m = A.shape[0]
    if not is_numpy(A):
        values, vectors = namespace(A).linalg.eigh(A)
        values, vectors = as_float64(values)[::-1], namespace(A).flip(vectors, axis=1)
        k = _count(target, values, total)
        return values[:k].copy(), vectors[:, :k], values[k:].copy()
    if target.count is None and target.fraction is not None and m > 256:
        every = scipy.linalg.eigh(A, eigvals_only=True, check_finite=False)[::-1]
        k = _count(target, every, total)
        values, vectors, _ = _leading(A, Target(count=k), total)
        return values, vectors, every[k:].copy()
    if target.count is not None and target.count <= m // 4 and m > 64:
        low = m - target.count
        values, vectors = _eigh(A, subset_by_index=[low, m - 1])
        return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1]), np.empty(0)
    values, vectors = _eigh(A, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    k = _count(target, values, total)
    return values[:k].copy(), np.ascontiguousarray(vectors[:, :k]), values[k:].copy()


def _eigh(A: Any, **options: Any) -> tuple[Any, Any]:
    try:
        return scipy.linalg.eigh(A, check_finite=False, **options)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        options.pop("driver", None)
        return scipy.linalg.eigh(  # type: ignore[no-any-return]
            A, check_finite=False, driver="evx" if "subset_by_index" in options else "ev", **options
        )


def _count(target: Target, values: FloatArray, total: float | None) -> int:
    if target.count is not None:
        return min(target.count, values.size)
    if target.fraction is None:
        return int(values.size)
    whole = total if total is not None else float(np.maximum(values, 0.0).sum())
    return count_for_fraction(values, whole, target.fraction) or int(values.size)
