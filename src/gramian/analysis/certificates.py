"""What residuals, traces, norms and a fresh random probe prove about computed eigenpairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gramian.arrays import as_float64, blas_threads, namespace, orthonormal, random_normal
from gramian.operators.operator import Operator
from gramian.records import Certificate, Completeness, Spectrum

__all__ = ["certify", "missed_probability", "probe_gap"]

# A missed eigenvalue may exceed the last computed one by this much before the certificate fails.
SLACK = 0.35
# Largest relative gap that the probe may leave open, and the probability that its statement is wrong.
PROBE_GAP = 0.25
PROBE_PROBABILITY = 1e-6
PROBE_COLUMNS = 16


def certify(
    spectrum: Spectrum,
    operator: Operator,
    *,
    tol: float,
    rng: np.random.Generator,
    unit: str,
    factor: float = 1.0,
) -> Certificate:
    """State what is guaranteed about the leading eigenpairs of an operator.

    Parameters
    ----------
    spectrum : Spectrum
        Computed pairs: approximate eigenvalues t_j, orthonormal vectors V and residuals.
    operator : Operator
        The matrix they belong to.
    tol : float
        Tolerance relative to the largest eigenvalue.
    rng : numpy.random.Generator
        Source of the probe; independent of the solver's.
    unit : str
        What the eigenvalues are called.
    factor : float
        Turns eigenvalues of the operator into that unit.

    Returns
    -------
    Certificate

    Notes
    -----
    For one pair an eigenvalue lies within the residual norm of t_j. For the set, k distinct eigenvalues lie
    within ``||R||_2 / sigma_min(V)`` of the t_j (Cao, Xie, Li 1996, sharpening Kahan 1967). The exact
    matrix differs from the computed one by at most ``operator.error_bound``, which moves no eigenvalue
    further than that (Weyl). The (k+1)-st eigenvalue is at most the largest one of ``P A P``,
    ``P = I - V V.T`` (Courant and Fischer), which :func:`_completeness` bounds.
    """
    k = spectrum.values.size
    V = spectrum.vectors
    loss = np.linalg.norm(as_float64(V.T @ V) - np.eye(k), 2) if k else 0.0
    sigma = math.sqrt(max(1.0 - float(loss), 1e-300))
    radii = spectrum.residuals / sigma + spectrum.error_bound
    together = float(np.linalg.norm(spectrum.residuals)) / sigma + spectrum.error_bound
    complete = _completeness(spectrum, operator, tol, rng) if k else None
    reasons = _reasons(spectrum, radii, complete, tol)
    return Certificate(
        values=spectrum.values * factor,
        residuals=spectrum.residuals * factor,
        radii=radii * factor,
        set_radius=together * factor,
        widening=spectrum.error_bound * factor,
        widening_kind=spectrum.error_kind,
        orthogonality=float(loss),
        completeness=_scaled(complete, factor),
        tol=tol,
        unit=unit,
        ok=not reasons,
        reasons=tuple(reasons),
    )


def _reasons(spectrum: Spectrum, radii: Any, complete: Completeness | None, tol: float) -> list[str]:
    if not spectrum.values.size:
        return []
    top, last = float(spectrum.values[0]), float(spectrum.values[-1])
    reasons = []
    if float(radii.max()) > tol * top:
        part = "forming the matrix" if spectrum.error_bound > 0.5 * tol * top else "the residuals"
        reasons.append(
            f"the eigenvalues are known to {float(radii.max()) / top if top else math.inf:.1e} of the largest, "
            f"not to {tol:.1e}, because of {part}."
        )
    if complete is None:
        reasons.append("nothing bounds the eigenvalues that were not computed.")
    elif complete.bound > last + max(SLACK * last, tol * top):
        reasons.append(
            f"an eigenvalue of up to {complete.bound / top if top else math.inf:.2g} of the largest may have been "
            f"missed, while the last one computed is {last / top if top else 0.0:.2g} of it."
        )
    return reasons


def _completeness(
    spectrum: Spectrum, operator: Operator, tol: float, rng: np.random.Generator
) -> Completeness | None:
    """Bound the largest eigenvalue of the deflated operator, by the cheapest argument that suffices."""
    last, top = float(spectrum.values[-1]), float(spectrum.values[0])
    slack = spectrum.error_bound + float(np.linalg.norm(spectrum.residuals))
    if spectrum.complete:
        return _bounded("full decomposition", last + slack, last)
    enough = last + max(SLACK * last, tol * top)
    best: Completeness | None = None
    trace = operator.trace()
    if operator.psd and trace is not None:
        left = max(trace - float(spectrum.values.sum()), 0.0) + 1e-14 * trace
        best = _bounded("trace", left + slack, last)
    norm = operator.frobenius()
    remainder = math.inf
    if norm is not None and (best is None or best.bound > enough):
        remainder = math.sqrt(max(norm**2 - float((spectrum.values**2).sum()), 0.0) + 1e-13 * norm**2)
        if best is None or remainder + slack < best.bound:
            best = _bounded("Frobenius norm", remainder + slack, last)
    if (best is None or best.bound > enough) and (operator.psd or remainder < math.inf):
        shift = 0.0 if operator.psd else remainder
        with blas_threads():
            value, gap, probability = _probe(operator, spectrum.vectors, rng)
        bound = (max(value, 0.0) + gap * shift) / (1.0 - gap) + slack
        if best is None or bound < best.bound:
            best = _bounded("Lanczos from a fresh Gaussian block", bound, last, "probabilistic", probability)
    return best


def _bounded(
    method: str, bound: float, last: float, kind: Any = "deterministic", probability: float = 0.0
) -> Completeness:
    delta = bound / last - 1.0 if last > 0 else math.inf
    return Completeness(method, kind, bound, delta, probability)


def _scaled(complete: Completeness | None, factor: float) -> Completeness | None:
    if complete is None:
        return None
    return Completeness(
        complete.method, complete.kind, complete.bound * factor, complete.delta, complete.probability
    )


def missed_probability(size: int, steps: int, gap: float, columns: int) -> float:
    """Probability that Lanczos underestimates the largest eigenvalue by more than the relative ``gap``.

    For one uniformly random start in dimension ``size``, ``1.648 sqrt(size) exp(-sqrt(gap) (2 steps - 1))``;
    the Krylov space of a block of independent columns contains those of all of them, so all must fail.

    References
    ----------
    Kuczynski and Wozniakowski (1992), Estimating the largest eigenvalue by the power and Lanczos algorithms
    with a random start, theorem 4.2.
    """
    one = math.log(1.648 * math.sqrt(size)) - math.sqrt(gap) * (2 * steps - 1)
    return math.exp(min(columns * one, 0.0))


def probe_gap(size: int, steps: int, probability: float, columns: int) -> float:
    """Return the gap that :func:`missed_probability` allows for a number of steps; may exceed 1."""
    root = (math.log(1.648 * math.sqrt(size)) - math.log(probability) / columns) / (2 * steps - 1)
    return root**2


def _probe(operator: Operator, V: Any, rng: np.random.Generator) -> tuple[float, float, float]:
    """Largest Ritz value of ``P A P`` on a Krylov space from fresh Gaussian columns, with what it proves."""
    size = operator.size - V.shape[1]
    columns = max(1, min(PROBE_COLUMNS, size // 4))
    steps, gap = 2, 1.0
    while (gap := probe_gap(size, steps, PROBE_PROBABILITY, columns)) > PROBE_GAP:
        steps += 1
    probability = PROBE_PROBABILITY
    if columns * steps >= size:
        # The Krylov space of one column is then everything that the column reaches.
        columns, steps, gap, probability = 1, size, 0.0, 0.0
    xp = namespace(V)
    block = random_normal(rng, (operator.size, columns), V)
    basis, images = V[:, :0], V[:, :0]
    for _ in range(steps):
        for _ in range(2):
            block = block - V @ (V.T @ block)
            block = block - basis @ (basis.T @ block)
            block, _ = orthonormal(block)
        image = operator.matmat(block)
        image = image - V @ (V.T @ image)
        basis, images = xp.concat([basis, block], axis=1), xp.concat([images, image], axis=1)
        if basis.shape[1] + columns > size:
            break
        block = image
    projected = as_float64(basis.T @ images)
    value = float(np.linalg.eigvalsh((projected + projected.T) / 2)[-1]) if projected.size else 0.0
    return value, gap, probability
