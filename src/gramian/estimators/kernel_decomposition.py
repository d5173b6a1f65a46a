"""Carries out a plan for kernel PCA: from tiles to eigenvectors and coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.analysis.certificates import certify, may_have_missed
from gramian.analysis.components import complete_basis, fixed_signs
from gramian.arrays import as_float64, from_numpy, is_numpy, to_dtype
from gramian.errors import IndefiniteKernelError, ParameterError
from gramian.operators.centered_kernel import CenteredKernelOperator
from gramian.operators.kernel_source import KernelSource, MatrixSource
from gramian.operators.tiles import TileMatrix
from gramian.records import Certificate, FloatArray, Plan, Repair, Spectrum, Target
from gramian.rows import Rows
from gramian.solvers.dense import count_for_fraction, solve_dense
from gramian.solvers.krylov import Stalled, krylov

__all__ = ["KernelDecomposition", "KernelRequest", "decompose_kernel"]

SAMPLE = 512  # rows on which the effect of float32 tiles is estimated


@dataclass(frozen=True, eq=False)
class KernelRequest:
    """What is asked of a decomposition, apart from the data."""

    target: Target
    tol: float
    center: bool
    psd: bool
    clip: bool
    solver_rng: np.random.Generator
    probe_rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class KernelDecomposition:
    """Eigenpairs of ``Kc`` with what maps new rows.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, zero beyond the rank.
    vectors, coefficients : array of shape (n, k)
        Unit eigenvectors with fixed signs; the same divided by square roots of the eigenvalues.
    total : float or None
        Trace of Kc where the kernel is valid, as far as is known.
    row_means, mean : ndarray of shape (n,), float
        Means of the rows of K and of all of it; zero without centring.
    repair : Repair or None
        What clipping changed, where it was asked for.
    """

    values: FloatArray
    vectors: Any
    coefficients: Any
    total: float | None
    rank: int
    row_means: FloatArray
    mean: float
    spectrum: Spectrum
    certificate: Certificate
    repair: Repair | None = None


def decompose_kernel(
    source: KernelSource | MatrixSource, rows: Rows, plan: Plan, request: KernelRequest
) -> KernelDecomposition:
    """Run a plan on the kernel matrix of rows."""
    operator = _operator(source, rows, plan, request)
    factor = 2.0**source.exponent
    found = _spectrum(operator, plan, request)
    repair = _repair(found, operator, factor) if request.clip else None
    spectrum, total, certificate = _certified(found, operator, request, factor)
    if plan.options.get("fallback") and spectrum.route == "krylov" and may_have_missed(certificate):
        # An eigenvalue of higher multiplicity than the block is wide exhausts the iteration too early.
        found = _dense(operator, request, "may have missed an eigenvalue")
        spectrum, total, certificate = _certified(found, operator, request, factor)
    spectrum = _scaled(spectrum, factor)
    k = request.target.count if request.target.count is not None else spectrum.values.size
    rank = min(spectrum.rank, k)
    values = np.zeros(k)
    values[:rank] = spectrum.values[:rank]
    vectors = complete_basis(to_dtype(spectrum.vectors[:, :rank], rows.dtype), k)
    vectors = vectors * to_dtype(from_numpy(fixed_signs(vectors), rows.like), rows.dtype)[None, :]
    inverse = np.zeros(k)
    inverse[:rank] = 1.0 / np.sqrt(values[:rank])
    coefficients = vectors * to_dtype(from_numpy(inverse, rows.like), rows.dtype)[None, :]
    return KernelDecomposition(
        values,
        vectors,
        coefficients,
        None if total is None else total * factor,
        rank,
        operator.row_means * factor,
        operator.mean * factor,
        spectrum,
        certificate,
        repair,
    )


def _repair(spectrum: Spectrum, operator: CenteredKernelOperator, factor: float) -> Repair:
    """Say what setting the negative eigenvalues to zero changes."""
    if operator.psd:
        return Repair(0, operator.size, 0.0, 0.0, operator.trace() * factor, 0.0)
    every = np.concatenate([spectrum.values, spectrum.rest])
    negative = every[every < -_noise(spectrum, operator)]
    return Repair(
        count=negative.size,
        size=operator.size,
        smallest=float(negative.min(initial=0.0)) * factor,
        negative=-float(negative.sum()) * factor,
        total=float(np.abs(every).sum()) * factor,
        change=float(np.linalg.norm(negative) / (np.linalg.norm(every) or 1.0)),
    )


def _noise(spectrum: Spectrum, operator: CenteredKernelOperator) -> float:
    """Return the size below which an eigenvalue may be zero or have the other sign."""
    largest = float(np.abs(spectrum.values).max(initial=0.0))
    return spectrum.error_bound + operator.size * float(np.finfo(np.float64).eps) * largest


def _operator(
    source: KernelSource | MatrixSource, rows: Rows, plan: Plan, request: KernelRequest
) -> CenteredKernelOperator:
    xp = rows.xp
    like = (
        np.empty(0)
        if is_numpy(rows.in_memory())
        else xp.zeros((0,), dtype=xp.float64, device=rows.in_memory().device)
    )
    storage: Any = np.float64
    if plan.solver == "krylov":
        keep = plan.options["keep"] and isinstance(source, KernelSource)
        storage = _storage(source, rows, request) if keep else None
    elif isinstance(source, MatrixSource):
        storage = None
    tiles = TileMatrix(rows.shape[0], source, like, storage)
    return CenteredKernelOperator(
        tiles,
        source.diagonal,
        relative=source.relative,
        absolute=source.absolute,
        center=request.center,
        psd=request.psd,
        error_kind=source.error_kind,
    )


def _storage(source: Any, rows: Rows, request: KernelRequest) -> Any:
    """float32 tiles for float32 data where their rounding stays well inside the tolerance, else float64.

    The rounding changes the matrix by at most ``u ||K||_F``; its ratio to the largest eigenvalue of Kc is
    read off a sample of rows. The certificate states the true bound whatever is chosen here.
    """
    if rows.dtype == np.float64:
        return np.float64
    n = rows.shape[0]
    step = max(1, n // SAMPLE)
    picked = slice(0, n, step)
    if source.exponent:
        return np.float64
    K = as_float64(source.evaluator.tile(source.left[picked, :], source.right[picked, :]))
    # A valid kernel is largest on the diagonal.
    largest = max(float(np.abs(source.diagonal).max()), float(np.abs(K).max()))
    norm = float(np.linalg.norm(K))
    if request.center:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    top = float(np.linalg.norm(K, 2))
    unit = float(np.finfo(np.float32).eps) / 2
    # Outside this range of values float32 overflows, or rounds by more than its unit.
    safe = largest < 1e30 and norm > 1e-20 * n
    return np.float32 if safe and unit * norm < request.tol / 4 * top else np.float64


def _spectrum(operator: CenteredKernelOperator, plan: Plan, request: KernelRequest) -> Spectrum:
    if plan.solver == "dense":
        # All of them: whether the matrix is definite, and which eigenvalues are zero, is read off the rest.
        whole = request.target if request.psd and request.target.count is not None else Target()
        return solve_dense(operator, whole, "dense")
    try:
        found = krylov(
            operator,
            request.target,
            tol=request.tol,
            block=plan.options["block"],
            columns=plan.options["columns"],
            max_passes=plan.options["max_passes"],
            rng=request.solver_rng,
        )
        if request.target.count is None or found.values.size >= request.target.count:
            return found
        reason = f"ended after {found.passes} block products with {found.values.size} pairs"
    except Stalled as stalled:
        found, reason = stalled.found, str(stalled)
    if plan.options["fallback"] is None:
        return replace(found, note=f"block Krylov {reason}; memory_limit rules out the dense route")
    return _dense(operator, request, reason)


def _dense(operator: CenteredKernelOperator, request: KernelRequest, reason: str) -> Spectrum:
    found = solve_dense(operator, request.target, "dense")
    return replace(found, note=f"block Krylov {reason}; the dense route took over")


def _certified(
    spectrum: Spectrum, operator: CenteredKernelOperator, request: KernelRequest, factor: float
) -> tuple[Spectrum, float | None, Certificate]:
    """Refuse an indefinite matrix, cut down to what was asked for, and certify that."""
    _require_definite(spectrum, request, operator, factor)
    spectrum, total = _kept(spectrum, operator, request)
    certificate = certify(
        spectrum, operator, tol=request.tol, rng=request.probe_rng, unit="eigenvalues of Kc", factor=factor
    )
    return spectrum, total, certificate


def _scaled(spectrum: Spectrum, factor: float) -> Spectrum:
    """Return the record in the units of the kernel; the sum of squares may not fit into a number."""
    if factor == 1.0:
        return spectrum
    return replace(
        spectrum,
        values=spectrum.values * factor,
        residuals=spectrum.residuals * factor,
        rest=spectrum.rest * factor,
        total=None if spectrum.total is None else spectrum.total * factor,
        squares=None,
        error_bound=spectrum.error_bound * factor,
        smallest=None if spectrum.smallest is None else spectrum.smallest * factor,
    )


def _kept(
    spectrum: Spectrum, operator: CenteredKernelOperator, request: KernelRequest
) -> tuple[Spectrum, float | None]:
    """Cut a whole spectrum down to what was asked for; the total where it means something."""
    every = np.concatenate([spectrum.values, spectrum.rest])
    total: float | None = operator.trace() if request.psd else None
    whole = spectrum.complete and every.size == operator.size
    if not request.psd and whole and (request.clip or float(every.min()) >= -operator.noise):
        total = float(np.maximum(every, 0.0).sum())
    if request.target.count is not None:
        known = spectrum.rank if request.clip else spectrum.values.size
        k = min(request.target.count, known)
    elif request.target.fraction is not None:
        if total is None:
            raise ParameterError(
                f"n_components={request.target.fraction} asks for a share of the variance, which a "
                f"kernel with negative eigenvalues does not have (smallest: {float(every.min()):.4g}). "
                "Ask for an integer."
            )
        k = count_for_fraction(spectrum.values, total, request.target.fraction) or spectrum.values.size
    else:
        k = max(spectrum.rank, 1)
    cut = replace(
        spectrum,
        values=spectrum.values[:k],
        vectors=spectrum.vectors[:, :k],
        residuals=spectrum.residuals[:k],
        rest=np.concatenate([spectrum.values[k:], spectrum.rest]),
    )
    return cut, total


def _require_definite(
    spectrum: Spectrum, request: KernelRequest, operator: CenteredKernelOperator, factor: float
) -> None:
    """Refuse a negative eigenvalue beyond rounding, unless it lies outside of what was asked for."""
    smallest, bound = spectrum.smallest, _noise(spectrum, operator)
    if request.psd or request.clip or smallest is None or smallest >= -bound:
        return
    if request.target.count is not None:
        wanted = spectrum.values[: request.target.count]
        if wanted.size == request.target.count and float(wanted[-1]) > bound:
            return
    raise IndefiniteKernelError(
        f"The Gram matrix has the eigenvalue {smallest * factor:.6g}, negative beyond rounding "
        f"({bound * factor:.1e}), so this is not "
        f"a valid kernel on this data; {int((spectrum.values > bound).sum())} eigenvalues are positive. "
        "Ask for no more components than that, set the negative ones to 0 (repair='clip'), or use a kernel "
        "that is positive semi-definite, such as rbf or poly."
    )
