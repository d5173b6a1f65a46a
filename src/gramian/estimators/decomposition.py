"""Carries out a plan for PCA: from rows to directions, along one straight line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.analysis.certificates import certify
from gramian.analysis.components import complete_basis, fixed_signs
from gramian.arrays import as_float64, from_numpy, is_numpy, namespace, numpy_dtype, orthonormal, to_dtype
from gramian.errors import DataError
from gramian.estimators.inputs import check_ddof, check_scale, check_tol
from gramian.operators.centered import CenteredRows
from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.operators.moments import center_rows, from_moments, scatter
from gramian.records import Certificate, FloatArray, Plan, Spectrum, Target
from gramian.rows import Rows
from gramian.solvers.dense import solve_dense, solve_svd
from gramian.solvers.krylov import Stalled, krylov

__all__ = ["Decomposition", "Request", "decompose", "require_range"]


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a decomposition, apart from the data."""

    target: Target
    tol: float
    center: bool
    scale: str | FloatArray | None
    ddof: int
    solver_rng: np.random.Generator
    probe_rng: np.random.Generator

    @classmethod
    def of(cls, model: Any, rows: Rows, target: Target, rngs: tuple[np.random.Generator, ...]) -> Request:
        """Check the parameters of a PCA; the first two generators are the solver's and the probe's."""
        n, d = rows.shape
        return cls(
            target=target,
            tol=check_tol(model.tol, rows.dtype),
            center=bool(model.center),
            scale=check_scale(model.scale, d),
            ddof=check_ddof(model.ddof, n),
            solver_rng=rngs[0],
            probe_rng=rngs[1],
        )


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Directions of a table with everything that was learned on the way.

    Attributes
    ----------
    view : CenteredRows
        The centred data.
    spectrum : Spectrum
        Eigenpairs of the operator that the plan names.
    values : ndarray of shape (k,)
        Eigenvalues of ``C.T C`` in units of the data, zero beyond the rank.
    directions : array of shape (d, k)
        Orthonormal columns, signs fixed.
    rank : int
        Number of eigenvalues above the rank tolerance among those computed.
    total : float
        Trace in units of the data.
    scores : array of shape (n, k) or None
        Scores of the fitted rows where the route has them for free.
    certificate : Certificate
        In units of the variance.
    """

    view: CenteredRows
    spectrum: Spectrum
    values: FloatArray
    directions: Any
    rank: int
    total: float
    scores: Any
    certificate: Certificate

    def left(self) -> float:
        """Return the sum of the eigenvalues that were not kept; those at rounding level count as zero."""
        spectrum, tolerance = self.spectrum, self.spectrum.rank_tolerance
        if spectrum.complete and spectrum.rest.size == min(self.view.rows.shape) - self.values.size:
            top = float(spectrum.values[0]) if spectrum.values.size else 0.0
            rest = spectrum.rest
            return float(rest[rest > tolerance * top].sum()) * self.view.square_unit
        left = self.total - float(self.values.sum())
        return left if left > tolerance * self.total else 0.0


def decompose(rows: Rows, plan: Plan, request: Request) -> Decomposition:
    """Run a plan on rows."""
    view, operator, spectrum, dual = _solve(rows, plan, request)
    spectrum = _within(spectrum, min(rows.shape))
    unit = view.square_unit
    degrees = rows.shape[0] - request.ddof
    require_range(view, degrees)
    certificate = certify(
        spectrum,
        operator,
        tol=request.tol,
        rng=request.probe_rng,
        unit="eigenvalues (variances)",
        factor=unit / degrees,
    )
    k = request.target.count if request.target.count is not None else spectrum.values.size
    rank = min(spectrum.rank, k) if spectrum.values.size else 0
    values = np.zeros(k)
    values[:rank] = spectrum.values[:rank]
    directions, scores = _directions(operator, spectrum, dual, rank, k)
    return Decomposition(
        view=view,
        spectrum=spectrum,
        values=values * unit,
        directions=directions,
        rank=rank,
        total=view.total * unit,
        scores=scores,
        certificate=certificate,
    )


def _solve(rows: Rows, plan: Plan, request: Request) -> tuple[CenteredRows, Any, Spectrum, Any]:
    """Return view, operator, spectrum and, for the dual routes, what lifts its vectors."""
    view, operator = _operator(rows, plan, request)
    if plan.solver == "full":
        C = _materialize(view)
        eps = float(np.finfo(rows.dtype).eps)
        spectrum, left = solve_svd(C, request.target, view.noise, eps)
        return view, CovarianceOperator(view), spectrum, left
    spectrum = _spectrum(operator, plan, request)
    top = float(spectrum.values[0]) if spectrum.values.size else 0.0
    if view.arithmetic == np.float32 and spectrum.error_bound > request.tol * top:
        # Rounding of float32 products would hide what was asked for; the data is multiplied again in float64.
        plan = replace(plan, options={**plan.options, "double": True})
        view, operator = _operator(rows, plan, request)
        spectrum = _spectrum(operator, plan, request)
        spectrum = replace(spectrum, note=f"{spectrum.note} multiplied in float64 to meet tol".strip())
    return view, operator, spectrum, None


def _operator(rows: Rows, plan: Plan, request: Request) -> tuple[CenteredRows, Any]:
    double = bool(plan.options.get("double", False))
    options = {"center": request.center, "scale": request.scale, "ddof": request.ddof}
    if plan.solver == "covariance":
        exponent, found = scatter(rows, center=request.center, double=double)
        view = replace(from_moments(rows, found, exponent, **options), double=double)  # type: ignore[arg-type]
        matrix = found.squares
        if view.divisor is not None:
            matrix = matrix / view.divisor[:, None] / view.divisor[None, :]
        return view, CovarianceOperator(view, from_numpy(matrix, rows.like))
    view = replace(center_rows(rows, **options), double=double or plan.solver == "full")  # type: ignore[arg-type]
    keep = bool(plan.options.get("keep", False))
    operator = GramOperator if plan.operator == "gram" else CovarianceOperator
    return view, operator(view, keep=keep)


def _spectrum(operator: Any, plan: Plan, request: Request) -> Spectrum:
    if plan.solver != "krylov":
        return solve_dense(operator, request.target, plan.solver)
    try:
        return krylov(
            operator,
            request.target,
            tol=request.tol,
            block=plan.options["block"],
            columns=plan.options["columns"],
            max_passes=plan.options["max_passes"],
            rng=request.solver_rng,
        )
    except Stalled as stalled:
        fallback = plan.options["fallback"]
        if fallback is None:
            return replace(stalled.found, note=f"block Krylov {stalled}; memory_limit rules out other routes")
        found = solve_dense(operator, request.target, fallback)
        return replace(found, note=f"block Krylov {stalled}; the {fallback} route took over")


def _within(spectrum: Spectrum, least: int) -> Spectrum:
    """Cut off the eigenvalues that the larger side of the data has beyond ``min(n, d)``: they are zero."""
    k = min(spectrum.values.size, least)
    return replace(
        spectrum,
        values=spectrum.values[:k],
        vectors=spectrum.vectors[:, :k],
        residuals=spectrum.residuals[:k],
        rest=np.concatenate([spectrum.values[k:], spectrum.rest])[: least - k],
    )


def _materialize(view: CenteredRows) -> Any:
    """C as one float64 array of its own."""
    C = view.block(slice(None), slice(None))
    return C.copy() if is_numpy(C) and C is view.rows.in_memory() else C


def _directions(operator: Any, spectrum: Spectrum, left: Any, rank: int, k: int) -> tuple[Any, Any]:
    """Directions (d, k) with fixed signs, and the scores (n, k) that the dual routes have for free."""
    view = operator.centered
    rows = view.rows
    vectors = spectrum.vectors[:, :rank]
    scale = np.sqrt(spectrum.values[:rank])
    scores = None
    if left is not None:
        scores = left[:, :rank] * from_numpy(scale, left)[None, :]
    elif isinstance(operator, GramOperator):
        scores = vectors * from_numpy(scale, vectors)[None, :]
        vectors, kept = _lift(operator, vectors, scale)
        scores = scores if kept else None
    if view.divisor is not None and np.isinf(view.divisor).any():
        # A constant column has no part in any direction; rounding must not give it one.
        vectors = (
            vectors * from_numpy(np.isfinite(view.divisor).astype(numpy_dtype(vectors)), vectors)[:, None]
        )
    directions = complete_basis(to_dtype(vectors, rows.dtype), k)
    signs = fixed_signs(directions)
    directions = directions * to_dtype(from_numpy(signs, rows.like), rows.dtype)[None, :]
    if scores is None:
        return directions, None
    xp = namespace(scores)
    scores = scores * from_numpy(signs[:rank] * 2.0**view.unit_exponent, scores)[None, :]
    scores = to_dtype(scores, rows.dtype)
    if rank < k:
        empty = xp.zeros((rows.shape[0], k - rank), dtype=scores.dtype, **_on_device(scores))
        scores = xp.concat([scores, empty], axis=1)
    return directions, scores


def _lift(operator: GramOperator, B: Any, scale: FloatArray) -> tuple[Any, bool]:
    """Directions ``C.T b / s``, made orthonormal again where small s has spoilt that."""
    view = operator.centered
    factor = from_numpy((1.0 / scale).astype(view.arithmetic), view.rows.like)
    U = operator.lift(to_dtype(B, view.arithmetic)) * factor[None, :]
    gap = as_float64(U.T @ U) - np.eye(U.shape[1])
    eps = float(np.finfo(view.rows.dtype).eps)
    if float(np.abs(gap).max(initial=0.0)) <= 100 * eps:
        return U, True
    U, R = orthonormal(U)
    U = U * from_numpy(np.where(np.diag(R) < 0, -1.0, 1.0).astype(view.arithmetic), view.rows.like)[None, :]
    return U, False


def _on_device(array: Any) -> dict[str, Any]:
    return {} if is_numpy(array) else {"device": array.device}


def require_range(view: CenteredRows, degrees: int) -> None:
    """Refuse a variance that float64 cannot hold, in the units of the data."""
    with np.errstate(over="ignore", under="ignore"):
        variance = view.total * (view.square_unit / degrees)
    if view.total > 0 and not (np.isfinite(variance) and variance >= np.finfo(np.float64).tiny):
        raise DataError(
            f"The variance of this data is about 2^{int(np.log2(view.total)) + 2 * view.unit_exponent}, "
            "outside of what float64 can hold. Multiply the data by a power of ten first."
        )
