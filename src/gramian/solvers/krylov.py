"""Randomised block Krylov iteration with full reorthogonalisation and a stop on measured residuals."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays import (
    as_float64,
    blas_threads,
    column_norms,
    from_numpy,
    is_numpy,
    namespace,
    orthonormal,
    random_normal,
)
from gramian.operators.operator import Operator
from gramian.records import FloatArray, Spectrum, Target
from gramian.solvers.dense import count_for_fraction, relative_tolerance

__all__ = ["Stalled", "krylov"]

log = logging.getLogger(__name__)

# Relative accuracy of eigenvalues, down to this multiple of the largest one.
ACCURACY, SMALL = 1e-4, 1e-3
TINY = float(np.finfo(np.float64).tiny)


class Stalled(Exception):
    """The iteration would need more products than a direct route costs; not an error for the user.

    Parameters
    ----------
    passes : int
        Products done so far.
    residual : float
        Largest residual among the wanted pairs, relative to the largest eigenvalue.
    found : Spectrum
        The pairs as far as they came.
    """

    def __init__(self, passes: int, residual: float, found: Spectrum) -> None:
        self.passes, self.residual, self.found = passes, residual, found
        super().__init__(f"stalled after {passes} block products at a relative residual of {residual:.1e}")


def krylov(
    operator: Operator,
    target: Target,
    *,
    tol: float,
    block: int,
    columns: int,
    max_passes: int,
    rng: np.random.Generator,
    start: Any = None,
) -> Spectrum:
    """Find the leading eigenpairs of a symmetric operator by block Krylov iteration.

    Parameters
    ----------
    operator : Operator
        Symmetric matrix of order m, known by its products.
    target : Target
        Number of pairs, or fraction of the trace: the basis grows until the trace is reached.
    tol : float
        Bound on residuals relative to the largest eigenvalue.
    block : int
        Number of vectors multiplied at once.
    columns : int
        Largest number of basis vectors kept; when it is reached the iteration restarts from the best
        Ritz vectors.
    max_passes : int
        Number of block products after which the iteration counts as stalled.
    rng : numpy.random.Generator
        Source of the Gaussian start.
    start : array of shape (m, s), optional
        Approximate leading vectors to start from.

    Raises
    ------
    Stalled
        When ``max_passes`` products do not suffice, or at the rate seen cannot.

    References
    ----------
    Musco and Musco (2015), Randomized block Krylov methods for stronger and faster approximate SVD,
    algorithm 2. Thick restart: Wu and Simon (2000). Full reorthogonalisation and a Rayleigh-Ritz step in
    float64 at every pass.
    """
    with blas_threads():
        return _iterate(operator, target, tol, block, columns, max_passes, rng, start)


def _iterate(
    operator: Operator,
    target: Target,
    tol: float,
    block: int,
    columns: int,
    max_passes: int,
    rng: np.random.Generator,
    start: Any,
) -> Spectrum:
    basis = _Basis(operator, columns, block)
    candidate = random_normal(rng, (operator.size, block), operator.like)
    if start is not None:
        candidate = namespace(candidate).concat(
            [start, candidate[:, : max(0, block - start.shape[1])]], axis=1
        )
    candidate, _ = orthonormal(candidate)
    history: list[float] = []
    earlier: list[FloatArray] = []
    for passes in range(1, max_passes + 1):
        basis.append(candidate, operator.matmat(candidate))
        values, Y = basis.ritz()
        following, coupling = basis.next_block()
        k = _wanted(target, values, operator.trace())
        count = k or values.size
        if following is None and basis.exhausted(values):
            return _spectrum(operator, basis, values, Y, count, passes)
        estimates = _estimates(coupling, Y, candidate.shape[1])
        worst = float(estimates[:k].max()) / max(float(values[0]), TINY) if k else np.inf
        log.info("pass %d: %d of %s, residual %.1e", passes, k or 0, target, worst)
        sure = following is not None and _settled(values[:k], earlier)
        if k and sure and worst <= _allowed(operator, values, tol):
            return _spectrum(operator, basis, values, Y, k, passes)
        history.append(worst)
        earlier = [*earlier[-1:], values]
        full = basis.full(block)
        if passes == max_passes or _hopeless(history, tol, max_passes) or (full and target.count is None):
            raise Stalled(passes, worst, _spectrum(operator, basis, values, Y, count, passes))
        if full and target.count is not None:
            basis.restart(Y, target.count + block // 2)
        candidate = basis.fresh(rng) if following is None else following
    raise AssertionError("max_passes must be positive")


@dataclass
class _Basis:
    """Basis vectors Q, their products AQ and the projected matrix T = Q.T A Q, filled as they come."""

    operator: Operator
    columns: int
    block: int

    def __post_init__(self) -> None:
        xp = namespace(self.operator.like)
        m = self.operator.size
        self.columns = min(self.columns, m)
        if is_numpy(self.operator.like):
            self.Q, self.AQ = (np.empty((m, self.columns), order="F") for _ in range(2))
        else:
            device = self.operator.like.device
            self.Q, self.AQ = (xp.empty((m, self.columns), dtype=xp.float64, device=device) for _ in range(2))
        self.T = np.zeros((self.columns, self.columns))
        self.size = 0
        self.last = slice(0, 0)

    def full(self, more: int) -> bool:
        return self.size + more > self.columns

    def append(self, V: Any, AV: Any) -> None:
        self.last = slice(self.size, self.size + V.shape[1])
        self.Q[:, self.last] = V
        self.AQ[:, self.last] = AV
        self.size = self.last.stop
        projected = as_float64(self.Q[:, : self.size].T @ AV)
        self.T[: self.size, self.last] = projected
        self.T[self.last, : self.size] = projected.T
        corner = self.T[self.last, self.last]
        self.T[self.last, self.last] = (corner + corner.T) / 2

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        values, Y = np.linalg.eigh(self.T[: self.size, : self.size])
        return values[::-1], Y[:, ::-1]

    def next_block(self) -> tuple[Any, FloatArray]:
        """Orthonormal continuation of the basis and its coupling to the last block; None at the end."""
        Q = self.Q[:, : self.size]
        W = self.AQ[:, self.last]
        room = self.operator.size - self.size
        width = W.shape[1]
        coupling = np.eye(width)
        scale = float(column_norms(W).max()) if width else 0.0
        xp = namespace(W)
        for _ in range(3):
            for _ in range(2):
                W = W - Q @ (Q.T @ W)
            W, R = orthonormal(W)
            coupling = R @ coupling
            if float(xp.max(xp.abs(Q.T @ W))) < 1e-12:
                break
        # When what is left is rounding, the basis spans an invariant subspace and nothing can follow.
        if room < width or np.linalg.norm(coupling) <= 1e-15 * scale * self.operator.size**0.5:
            return None, coupling
        return W, coupling

    def exhausted(self, values: FloatArray) -> bool:
        """Whether the last block found nothing, or there is no room for another one."""
        found = float(column_norms(self.AQ[:, self.last]).max())
        room = self.operator.size - self.size
        return room < self.block or self.full(self.block) or found <= 1e-12 * float(values[0])

    def fresh(self, rng: np.random.Generator) -> Any:
        """A new random block: an eigenvalue of higher multiplicity than the block needs more than one."""
        Q = self.Q[:, : self.size]
        block = random_normal(rng, (self.operator.size, self.block), self.operator.like)
        for _ in range(2):
            block, _ = orthonormal(block - Q @ (Q.T @ block))
        return block

    def restart(self, Y: FloatArray, keep: int) -> None:
        """Shrink the basis to its best Ritz vectors; their products are known without a new pass."""
        keep = max(min(keep, self.size - self.block), 1)
        kept = from_numpy(np.ascontiguousarray(Y[:, :keep]), self.operator.like)
        Q, AQ = self.Q[:, : self.size] @ kept, self.AQ[:, : self.size] @ kept
        self.Q[:, :keep], self.AQ[:, :keep] = Q, AQ
        self.T[:keep, :keep] = as_float64(Q.T @ AQ)
        self.size = keep


def _estimates(coupling: FloatArray, Y: FloatArray, width: int) -> FloatArray:
    """Residual norms of all Ritz pairs: only the last block's product leaves the span of the basis."""
    return np.asarray(np.linalg.norm(coupling @ Y[-width:, :], axis=0))


def _allowed(operator: Operator, values: FloatArray, tol: float) -> float:
    """Residual at which to stop, so that the error of the products still fits into the tolerance."""
    top = float(values[0])
    left = tol - operator.error_bound / top if top > 0 else tol
    return min(0.5 * tol, 0.9 * max(left, 0.1 * tol))


def _settled(values: FloatArray, earlier: list[FloatArray]) -> bool:
    """Whether the wanted values have come as close to their limits as is promised.

    A residual of ``tol`` times the largest eigenvalue says little about an eigenvalue a thousand times
    smaller. What the last pass changed bounds what is left; where the changes fall by a steady factor r,
    what is left is about r / (1 - r) of the last one, and four times that is allowed for.
    """
    k = values.size
    if not earlier or earlier[-1].size < k:
        return False
    accurate = ACCURACY * np.maximum(values, SMALL * float(values[0]))
    change = np.abs(values - earlier[-1][:k])
    left = change
    if len(earlier) > 1 and earlier[-2].size >= k:
        change_before = np.abs(earlier[-1][:k] - earlier[-2][:k])
        r = np.minimum(change / np.maximum(change_before, TINY), 0.99)
        left = np.minimum(change, 4 * change * r / (1 - r))
    return bool(np.all(left <= accurate))


def _wanted(target: Target, values: FloatArray, total: float | None) -> int | None:
    if target.count is not None:
        return target.count if values.size >= target.count else None
    if target.fraction is None or total is None:
        raise ValueError("block Krylov needs a number of pairs, or a fraction and a trace")
    return count_for_fraction(values, total, target.fraction)


def _hopeless(history: list[float], tol: float, max_passes: int) -> bool:
    """Whether the residuals of the last passes, carried on, cannot reach the tolerance."""
    seen = [h for h in history if np.isfinite(h)]
    if len(seen) < 8 or seen[-1] <= 0:
        return False
    rate = (seen[-1] / seen[-7]) ** (1 / 6)
    needed = np.log(0.5 * tol / seen[-1]) / np.log(rate) if rate < 1 else np.inf
    return bool(len(history) + needed > 2 * max_passes)


def _spectrum(
    operator: Operator, basis: _Basis, values: FloatArray, Y: FloatArray, k: int, passes: int
) -> Spectrum:
    """Form the wanted Ritz vectors and measure their residuals."""
    kept = from_numpy(np.ascontiguousarray(Y[:, :k]), operator.like)
    vectors = basis.Q[:, : basis.size] @ kept
    products = basis.AQ[:, : basis.size] @ kept
    theta = values[:k].copy()
    residuals = column_norms(products - vectors * from_numpy(theta, vectors)[None, :])
    top = float(theta[0]) if k else 0.0
    return Spectrum(
        values=theta,
        vectors=vectors,
        residuals=residuals,
        total=operator.trace(),
        squares=None if operator.frobenius() is None else operator.frobenius() ** 2,  # type: ignore[operator]
        rank_tolerance=relative_tolerance(operator.relative_tolerance, operator.noise, top),
        error_bound=operator.error_bound,
        error_kind=operator.error_kind,
        route="krylov",
        complete=basis.size >= operator.size,
        passes=passes,
        smallest=float(values[-1]) if values.size else None,
    )
