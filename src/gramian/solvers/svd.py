"""Singular value decomposition of the centred data: for small tables, and where the last digit counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from gramian.arrays import as_float64, blas_threads, column_norms, decomposed, moved, namespace
from gramian.operators.costs import DIRECT, Costs, Form, TableCosts
from gramian.records import Cost, FloatArray, SolveRequest, Spectrum, Step, Target
from gramian.solvers.route import Route, SolverResult, count_of, relative_tolerance

DATA = Form("data (SVD)", "copied")
EPS = float(np.finfo(np.float64).eps)
RATE = 4.2e-10  # seconds for one n d min(n, d), all vectors included


@dataclass(frozen=True)
class SvdRoute(Route):
    """All singular triplets of C in float64."""

    form: Form = DATA
    direct = True
    solver = "full"

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""
        assert isinstance(costs, TableCosts)
        n, d = costs.shape
        least = min(n, d)
        steps = (
            Step("centre", f"a float64 copy of {n} x {d}", n * d * 2e-9),
            Step(
                "decompose",
                "singular value decomposition, all components",
                RATE * n * d * least + DIRECT,
            ),
        )
        return Cost(steps, 8 * (2 * n * d + 2 * n * least + d * least + 6 * least**2))

    def reason(self, costs: Costs, target: Target) -> str:
        """Return when it is taken."""
        assert isinstance(costs, TableCosts)
        n, d = costs.shape
        return f"{n} x {d} is small, and the SVD resolves the smallest eigenvalues best."

    def solve(self, operator: Any, request: SolveRequest, start: Any = None) -> SolverResult:
        """Decompose the centred data that the operator is made of."""
        view = operator.centered
        # Rank as of products for float32: numbers that somebody has rounded are not noise to be whitened.
        unit = max(view.rows.shape) * EPS
        relative = unit**2 if view.rows.dtype == np.float64 else unit
        spectrum, left = solve_svd(view.materialized(), request.target, view.noise, relative)
        return SolverResult(
            replace(spectrum, error_bound=spectrum.error_bound + view.forming_error), left=left
        )


def routes(costs: Costs, target: Target) -> Iterator[SvdRoute]:
    """Yield the one route, for dense tables in one place."""
    if isinstance(costs, TableCosts) and not costs.sparse and not costs.spread:
        yield SvdRoute()


def solve_svd(C: Any, target: Target, noise: float, relative: float) -> tuple[Spectrum, Any]:
    """Singular value decomposition of a centred data matrix held in memory as float64.

    Parameters
    ----------
    C : array of shape (n, d), float64
        Centred data; overwritten.
    target : Target
        Number of components, fraction of the sum of squares, or all ``min(n, d)``.
    noise : float
        Absolute size of squared singular values that is rounding of the data.
    relative : float
        The same relative to the largest one.

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
    k = count_of(target, squares, total)
    left, right = U[:, :k], Vt[:k, :].T
    # Of the directions too: those of a wide, badly scaled table may be less accurate than singular values.
    residuals = column_norms(C.T @ (C @ right) - right * (s[:k] ** 2)[None, :])
    top = float(squares[0]) if squares.size else 0.0
    spectrum = Spectrum(
        values=squares[:k],
        vectors=xp.asarray(right, copy=True) if xp is not np else right,
        residuals=residuals,
        total=total,
        squares=None,
        rank_tolerance=relative_tolerance(relative, noise, top),
        error_bound=10 * max(n, d) ** 0.5 * EPS * top,
        error_kind="deterministic",
        route="full",
        complete=True,
        rest=squares[k:],
        smallest=float(squares[-1]) if squares.size else None,
    )
    return spectrum, left


def _svd(C: Any) -> tuple[Any, Any, Any]:
    result = decomposed(C, lambda linalg, C: tuple(linalg.svd(C, full_matrices=False)), _svd_on_host)
    return moved(result[0], C), moved(result[1], C), moved(result[2], C)


def _svd_on_host(C: FloatArray) -> tuple[Any, ...]:
    with blas_threads():
        try:
            return scipy.linalg.svd(C, full_matrices=False, check_finite=False)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError:
            # Divide and conquer fails to converge on rare matrices where plain QR iteration succeeds.
            return scipy.linalg.svd(  # type: ignore[no-any-return]
                C, full_matrices=False, check_finite=False, lapack_driver="gesvd"
            )
