"""Certificates: error bounds of eigenpairs from residuals, traces, norms and a fresh random probe."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from gramian.core import arrays, records
from gramian.core.records import BoundKind, Certificate, Completeness, DirectionBounds, FloatArray, Spectrum
from gramian.engine.operator import Operator

# A missed eigenvalue may exceed the last computed one by this much before the certificate fails.
SLACK = 0.35
# Largest relative gap that the probe may leave open.
PROBE_GAP = 0.25
# Shares of that which the error of the matrix may be in which the probe looks: without a look in one that is
# more accurate, and before one.
SEARCHED, SEARCHED_FIRST = 0.25, 0.6
PROBE_GAP_INDEFINITE = 0.1
# An iteration finds an eigenvalue at most as often as its block is wide, which is no less than the probe has
# columns if as many are wanted. Where one was found that often, the probe takes up to MORE times the steps.
PROBE_COLUMNS, PROBE_STEPS, MORE = 8, 12, 2
HUGE, TINY = 1e100, 1e-300


def certify(
    spectrum: Spectrum, operator: Operator, request: records.SolveRequest, unit: str, factor: float = 1.0
) -> tuple[Certificate, Any]:
    """Bound the errors of the leading eigenpairs of an operator.

    Parameters
    ----------
    spectrum : Spectrum
        Computed pairs: approximate eigenvalues t_j, orthonormal vectors V and residuals.
    operator : Operator
        The matrix they belong to.
    request : SolveRequest
        Its tolerance, and the source of the probe, a generator that is independent of the solver's. The probe
        depends on the operator's fingerprint too, so that no matrix can be built to hide from a seed.
    unit : str
        What the eigenvalues are called.
    factor : float
        Turns eigenvalues of the operator into that unit.

    Returns
    -------
    certificate : Certificate
    missed : array of shape (m, j) or None
        Approximate vectors of eigenvalues that belong among the computed ones, as the probe saw them.

    Notes
    -----
    For one pair an eigenvalue lies within the residual norm of t_j. For the set, k eigenvalues lie
    within ``||R||_2 / sigma_min(V)`` of the t_j (Cao, Xie, Li 1996, sharpening Kahan 1967). The exact
    matrix differs from the computed one by at most ``operator.error_bound``, which moves no eigenvalue
    further than that (Weyl). The (k+1)-st eigenvalue is at most the largest one of ``P A P``,
    ``P = I - Q Q.T`` for any k orthonormal columns Q (Courant and Fischer), which :func:`_completeness`
    bounds for a Q that spans V; :func:`largest_missed` adds what the residuals leave open.
    """
    k = spectrum.values.size
    loss = orthogonality_loss(spectrum.vectors)
    # Vectors that may be dependent prove nothing.
    sigma = math.sqrt(1.0 - loss) if loss < 1.0 else 1e-150
    radii = spectrum.residuals / sigma + spectrum.error_bound
    together = _norm(spectrum.residuals) / sigma + spectrum.error_bound
    every = spectrum.complete and spectrum.rest.size > 0
    trace = operator.trace() if operator.psd and k and not every else None
    left = math.inf
    if trace is not None:
        # Of P A P. The error of a trace: at most k parts of it below Q, and sqrt(size) on the diagonal.
        left = max(trace - float(spectrum.values.sum()), 0.0) + float(spectrum.residuals.sum()) / sigma
        terms = k + math.sqrt(operator.size) + 1.0
        left = left + terms * spectrum.searched_to + 1e-14 * abs(trace)
        left = largest_missed(spectrum.values, left, together)
    complete: Completeness | None = None
    missed = None
    if k:
        complete, missed = _completeness(spectrum, operator, request, sigma, together, left)
    reasons = _reasons(spectrum, radii, complete, request.tol, seen=missed is not None)
    # The eigenvalues that are not among the computed ones, and whether the bound on them is one of them.
    others, searched = min(left, math.inf if complete is None else complete.bound), False
    if k >= operator.size:
        others, searched = -math.inf, True
    elif every:
        others, searched = float(spectrum.rest.max()) + spectrum.searched_to, True
    kinds = [spectrum.error_kind, operator.error_kind]
    kinds += [] if searched or complete is None else [complete.kind]
    kind = max(kinds, key=records.BOUND_KINDS.index)
    certificate = Certificate(
        values=spectrum.values * factor,
        residuals=spectrum.residuals * factor,
        radii=radii * factor,
        set_radius=together * factor,
        widening=spectrum.error_bound * factor,
        widening_kind=spectrum.error_kind,
        orthogonality=loss,
        completeness=None if complete is None else replace(complete, bound=complete.bound * factor),
        tol=request.tol,
        unit=unit,
        ok=not reasons,
        reasons=tuple(reasons),
        directions=direction_bounds(spectrum, sigma, others, searched, kind, factor),
    )
    return certificate, missed


def orthogonality_loss(vectors: Any) -> float:
    """Return the spectral norm of ``V.T V - I``, in float64; its Frobenius norm where that is rounding."""
    V = arrays.to_float64(vectors)
    gap = arrays.as_float64(V.T @ V) - np.eye(V.shape[1])
    bound = _norm(gap.ravel())
    # Eigenvalues of this symmetric matrix take a third of the time of its singular values.
    return bound if bound <= arrays.ORTHONORMAL else float(np.abs(np.linalg.eigvalsh(gap)).max())


def _norm(values: FloatArray) -> float:
    """Return the Euclidean norm of few numbers, sooner than NumPy's function for arrays of all kinds."""
    return math.sqrt(float(values @ values))


def may_have_missed(certificate: Certificate) -> bool:
    """Return whether an eigenvalue that belongs among the computed ones may be missing."""
    complete = certificate.completeness
    if not certificate.values.size:
        return False
    return complete is None or complete.bound > _enough(certificate.values, certificate.tol)


def _enough(values: FloatArray, tol: float) -> float:
    """Largest bound on the eigenvalues that were not computed which leaves the computed ones leading."""
    top, last = float(values[0]), float(values[-1])
    return last + max(SLACK * last, tol * top)


def _reasons(
    spectrum: Spectrum, radii: Any, complete: Completeness | None, tol: float, *, seen: bool
) -> list[str]:
    if not spectrum.values.size:
        return []
    top, last = float(spectrum.values[0]), float(spectrum.values[-1])
    reasons = []
    if float(radii.max()) > tol * top:
        cause = "forming the matrix" if spectrum.error_bound > 0.5 * tol * top else "the residuals"
        reasons.append(
            f"the eigenvalues are known to {_share(float(radii.max()), top):.1e} of the largest, "
            f"not to {tol:.1e}, because of {cause}."
        )
    if complete is None:
        reasons.append("nothing bounds the eigenvalues that were not computed.")
    elif complete.bound > _enough(spectrum.values, tol):
        reasons.append(
            f"an eigenvalue of up to {_share(complete.bound, top):.2g} of the largest may have been missed, "
            f"while the last one computed is {_share(last, top):.2g} of it."
        )
    elif seen:
        reasons.append("an eigenvalue larger than the last one computed was seen, but not computed.")
    return reasons


def largest_missed(values: FloatArray, below: float, coupling: float) -> float:
    """Bound every eigenvalue of A that is not one of k within ``coupling`` of the computed values.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Computed values t_j, descending.
    below : float
        Bound on the largest eigenvalue of ``P A P``, P the projection off the computed vectors.
    coupling : float
        ``||A V - V T||_2 / sigma_min(V)``, or more.

    Notes
    -----
    ``P A P`` bounds the (k+1)-st eigenvalue. Where a computed value is not larger than ``below`` by the
    coupling, a larger eigenvalue may be the one that was missed. On the span of V, A is at most
    ``t_j + e_1`` beyond the vectors of larger values; on its complement it is at most ``below``; between them
    it is at most e_2, and ``e_1^2 + e_2^2 <= coupling^2``. The largest eigenvalue of all such 2 x 2 matrices
    is what is returned: at most ``max(t_j, below) + 2 / sqrt(3) coupling``.

    References
    ----------
    Li and Li (2005), A note on eigenvalues of perturbed Hermitian matrices, with e_1 = 0.

    Examples
    --------
    >>> import numpy as np
    >>> largest_missed(np.array([3.0, 2.0]), below=1.0, coupling=0.1)
    1.0
    >>> round(largest_missed(np.array([3.0, 1.0]), below=1.0, coupling=0.1), 4)
    1.1155
    """
    close = values[values < below + coupling]
    if not close.size:
        return below
    gap = 2.0 / 3.0 * (float(close[0]) - below)
    reach = math.hypot(gap, 2.0 / math.sqrt(3.0) * coupling)
    # The sum of a negative gap and the root, without cancellation.
    more = gap + reach if gap >= 0 else 4.0 / 3.0 * coupling * (coupling / (reach - gap)) if reach else 0.0
    return below + more


def _completeness(
    spectrum: Spectrum,
    operator: Operator,
    request: records.SolveRequest,
    sigma: float,
    together: float,
    left: float,
) -> tuple[Completeness | None, Any]:
    """Bound the eigenvalues that were not computed, by the cheapest argument that suffices.

    With vectors of those that the probe saw although they belong among the computed ones, else None.

    With ``A V = V T + R`` and ``s = sigma_min(V)`` the trace of ``P A P`` is that of A less the sum of the
    t_j, up to ``sum_j ||r_j|| / s``; its Frobenius norm follows from ``||A||^2 - ||Q.T A Q||^2``, where
    ``||Q.T A Q|| >= ||T|| - ||R|| / s``.
    """
    last = float(spectrum.values[-1])
    k, error, kind = spectrum.values.size, spectrum.searched_to, operator.error_kind
    loss = _norm(spectrum.residuals) / sigma
    if spectrum.complete or k >= operator.size:
        return _bounded("full decomposition", last + loss + error, last, kind), None
    enough = _enough(spectrum.values, request.tol)
    room, left_out = enough - last, None
    copies = _repeated(spectrum.values, together)
    enough, most = min(enough, copies), PROBE_STEPS * (1 if copies == math.inf else MORE)

    def missed(below: float) -> float:
        return largest_missed(spectrum.values, below, together)

    best = None if left == math.inf else _bounded("trace", left, last, kind)
    norm = operator.frobenius()
    if norm is not None and (best is None or best.bound > enough):
        seen = max(_norm(spectrum.values) - loss - error, 0.0)
        remainder = missed(math.sqrt(max(norm**2 - seen**2, 0.0) + 1e-13 * norm**2) + error)
        if best is None or remainder < best.bound:
            best = _bounded("Frobenius norm", remainder, last, kind)
    risk = 0.0
    exact = operator.promoted() if error > SEARCHED * room else None
    tried = [(operator, error)] if exact is None or error <= SEARCHED_FIRST * room else []
    tried += [] if exact is None else [(exact, exact.error_bound)]
    for matrix, off in tried:
        if left_out is not None or (best is not None and best.bound <= enough):
            break
        larger = last + request.tol * float(spectrum.values[0]) + together + off
        stream = _stream(request.probe_rng, matrix)
        looked = _probe(matrix, spectrum.vectors, stream, missed, off, enough, larger, most)
        below, probability, left_out = looked
        bound, risk = missed(below + off), risk + probability
        if best is None or bound < best.bound:
            method = "Lanczos from a fresh Gaussian block" if probability else "decomposition of the rest"
            likely: BoundKind = "probabilistic" if probability and kind == "deterministic" else kind
            best = _bounded(method, bound, last, likely, risk if probability else 0.0)
    return best, left_out


def _repeated(values: FloatArray, reach: float) -> float:
    """Return a bound that excludes copies of a value above the last that was found often; inf for none."""
    edges = [0, *(np.flatnonzero(-np.diff(values) > 2.0 * reach) + 1).tolist()]
    often = [float(values[b - 1]) for a, b in pairwise(edges) if b - a >= PROBE_COLUMNS]
    return often[-1] - reach if often else math.inf


def _share(value: float, top: float) -> float:
    return value / top if top > 0 else math.inf


def _bounded(
    method: str, bound: float, last: float, kind: BoundKind, probability: float = 0.0
) -> Completeness:
    delta = bound / last - 1.0 if last > 0 else math.inf
    return Completeness(method, kind, bound, delta, probability)


def largest_possible(projected: FloatArray, start: FloatArray, steps: int, probability: float) -> float:
    """Bound the largest eigenvalue of a symmetric matrix from a Krylov space of a Gaussian block.

    Parameters
    ----------
    projected : ndarray of shape (m, m)
        The matrix A on an orthonormal basis Q of the space: ``Q.T A Q``.
    start : ndarray of shape (m, b)
        The Gaussian columns G that the space was built from, in that basis: ``Q.T G``.
    steps : int
        Number of blocks: the space holds ``p(A) G`` for every polynomial p of a lower degree.
    probability : float
        Of the bound being wrong.

    Notes
    -----
    Let L be the largest eigenvalue and u its unit eigenvector. The b numbers ``u.T g`` are independent and
    normal, so that one of them at least has a square of ``t = (pi / 2) probability^(2 / b)``, except with
    that probability. For this column and every polynomial, ``t p(L)^2 <= (u.T p(A) g)^2 <= ||p(A) g||^2``.
    The right-hand side is known, and smallest against ``p(L)^2`` is its ratio to the sum of squares of the
    polynomials orthonormal for it (Christoffel), which grow beyond their zeros: from some L on it is
    contradicted. Whatever the number of steps, and of looks at them, the event is the same one.

    References
    ----------
    Szegoe (1939), Orthogonal polynomials, theorem 3.1.3. A random start and polynomials: Kuczynski and
    Wozniakowski (1992), Estimating the largest eigenvalue by the power and Lanczos algorithms with a random
    start, who need no measured norms and lose the logarithm of the order for it.
    """
    if steps < 2:
        return math.inf
    values = np.linalg.eigvalsh(projected)
    high, width = float(values[-1]), max(float(values[-1] - values[0]), float(np.abs(values).max()), TINY)
    norms = np.linalg.norm(start, axis=0)
    basis, diagonal, beside = [start / norms], [], [np.zeros(len(norms))]
    for _ in range(steps - 1):
        W = projected @ basis[-1]
        diagonal.append(np.sum(basis[-1] * W, axis=0))
        for q in basis * 2:
            W = W - q * np.sum(q * W, axis=0)
        beside.append(np.maximum(np.linalg.norm(W, axis=0), 1e-14 * width))
        basis.append(W / beside[-1])

    def contradicted(value: float) -> bool:
        before, now = np.zeros(len(norms)), 1.0 / norms
        squares = now * now
        for j, middle in enumerate(diagonal):
            following = ((value - middle) * now - beside[j] * before) / beside[j + 1]
            before, now = now, np.minimum(following, HUGE)
            squares = squares + now * now
        return bool(0.5 * math.pi * probability ** (2 / len(norms)) * squares.min() > 1.0)

    step = 1e-3 * width
    while not contradicted(high + step) and step < HUGE * width:
        step *= 2.0
    low = 0.0
    for _ in range(30):
        middle = (low + step) / 2
        low, step = (low, middle) if contradicted(high + middle) else (middle, step)
    return high + step


def _stream(rng: np.random.Generator, operator: Operator) -> np.random.Generator:
    """A generator that follows from the caller's and from the data."""
    drawn = rng.integers(2**32, size=4).tolist()
    return np.random.default_rng([*drawn, int.from_bytes(operator.fingerprint(), "little")])


@arrays.blas_threads()
def _probe(
    operator: Operator,
    V: Any,
    rng: np.random.Generator,
    missed: Callable[[float], float],
    error: float,
    enough: float,
    larger: float,
    most: int,
) -> tuple[float, float, Any]:
    """Bound the largest eigenvalue of ``P A P`` from fresh Gaussian columns.

    The probe ends as soon as its bound is ``enough``, after ``most`` steps at the latest. If these are the
    usual ones, it also ends when the bound is as near to the largest eigenvalue seen as it gets for a share
    of the width of the spectrum. Where it sees an eigenvalue above ``larger``, it takes the usual steps.

    Returns
    -------
    bound, risk : float
    missed : array of shape (m, j) or None
        Ritz vectors of the largest eigenvalues seen, where one is above ``larger``.
    """
    size = operator.size - V.shape[1]
    V, _ = arrays.orthonormal(V)
    # One block that fills the space leaves nothing to chance.
    columns = PROBE_COLUMNS if size > PROBE_COLUMNS * PROBE_STEPS else size
    gap = PROBE_GAP if operator.psd else PROBE_GAP_INDEFINITE
    least, most = min(PROBE_STEPS, size // columns), min(most, size // columns)
    spaces = _krylov_spaces(operator, V, columns, rng)
    while True:
        projected, start, basis = next(spaces)
        values, steps = np.linalg.eigvalsh(projected), len(projected) // columns
        low, high = float(values[0]), float(values[-1])
        bound, risk = high, 0.0
        if columns < size:
            risk = records.PROBE_PROBABILITY
            bound = largest_possible(projected, start, steps, risk)
        near = most == PROBE_STEPS and (1.0 - gap) * bound <= high - gap * low
        settled = steps >= least if high > larger else near or missed(bound + error) <= enough
        if settled or steps == most:
            break
    if high <= larger:
        return bound, risk, None
    leading = np.ascontiguousarray(arrays.eigh(projected)[1][:, -PROBE_COLUMNS:])
    return bound, risk, basis @ arrays.from_numpy(leading, basis)


def _krylov_spaces(
    operator: Operator, V: Any, columns: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray, Any]]:
    """Yield ``P A P`` on ever larger Krylov spaces of a Gaussian block, that block there, and their bases."""
    xp = arrays.namespace(V)
    k = V.shape[1]
    block = arrays.random_normal(rng, (operator.size, columns), V)
    basis, projected, first = V, np.zeros((0, 0)), np.eye(columns)
    while True:
        for _ in range(2):
            block, R = arrays.orthonormal(arrays.without(block, basis, arrays.inner(basis, block)))
            first = first if len(projected) else R @ first
        image = operator.matmat(block)
        basis = xp.concat([basis, block], axis=1)
        seen = arrays.as_float64(arrays.inner(basis[:, k:], image))
        above, corner = seen[:-columns], (seen[-columns:] + seen[-columns:].T) / 2
        projected = np.block([[projected, above], [above.T, corner]])
        yield projected, np.concatenate([first, np.zeros_like(above)]), basis[:, k:]
        block = image


# ---- How far computed eigenvectors can be from exact ones, and which eigenvalues are too close to tell apart


def direction_bounds(
    spectrum: Spectrum, sigma: float, others: float, searched: bool, kind: BoundKind, factor: float = 1.0
) -> DirectionBounds:
    """Bound the angles between computed eigenvectors and those of the exact matrix.

    Parameters
    ----------
    spectrum : Spectrum
        Its ``error_bound`` is one on the spectral norm of (computed matrix - exact matrix). Eigenvalues
        beyond its rank have no direction.
    sigma : float
        Smallest singular value of its vectors.
    others : float
        Bound on the eigenvalues of the exact matrix that were not computed; -inf where there are none.
    searched : bool
        Whether ``others`` is an eigenvalue with its error bound, and not merely an upper bound.
    kind : {"deterministic", "probabilistic", "estimate"}
        Kind of the weakest of these bounds.
    factor : float
        Turns eigenvalues into the unit of the result.

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
    """
    values, residuals, error = spectrum.values, spectrum.residuals / sigma, spectrum.error_bound
    k, rank = values.size, min(spectrum.rank, values.size)
    reach = _norm(residuals) + error
    apart = ~(values[:-1] - values[1:] <= 2.0 * reach)
    starts = [0, *(np.flatnonzero(apart) + 1).tolist()] if k else []
    first, gaps, sines = np.zeros(k, dtype=np.int64), np.zeros(k), np.ones(k)
    for a, b in pairwise([*starts, k]):
        above = float(values[a - 1] - values[a]) - reach if a else math.inf
        below = float(values[b - 1] - values[b]) - reach if b < k else math.inf
        # Finite where there is no other eigenvalue at all.
        gap = min(above, below, float(values[b - 1]) - others, float(values[0]))
        first[a:b], gaps[a:b] = a, max(gap, 0.0)
        off = _norm(residuals[a:b]) + error
        # A cluster that reaches into rounding has no directions.
        sines[a:b] = min(1.0, off / gap) if gap > 0 and b <= rank else 1.0
    gaps, others = gaps[:rank] * factor, float(others) * factor
    return DirectionBounds(first[:rank], gaps, sines[:rank], others, searched, kind)


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
    sines = np.minimum(1.0, bounds.sines * factors + drift)
    if not bool((bounds.first == np.arange(bounds.first.size)).all()):
        for cluster in bounds.clusters:
            some = slice(cluster.start, cluster.stop)
            more = _norm(drift[some])
            sines[some] = np.minimum(1.0, bounds.sines[some] * float(factors[some].max()) + more)
    return DirectionBounds(bounds.first, bounds.gaps, sines, bounds.others, bounds.known, kind)
