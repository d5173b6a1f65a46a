"""Randomised block Krylov iteration with full reorthogonalisation and a stop on measured residuals."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.core import arrays
from gramian.core.progress import note
from gramian.core.records import MATRICES, Cost, FloatArray, SolveRequest, Spectrum, Step, Target
from gramian.engine import routes as route
from gramian.engine.operator import EIGH_ALL, PASS, Costs, Form, Operator, TableCosts

log = logging.getLogger(__name__)

# Relative accuracy of eigenvalues, down to this multiple of the largest one.
ACCURACY, SMALL = 1e-4, 1e-3
TINY = float(np.finfo(np.float64).tiny)
# What the rounding of float32 products leaves in a residual, relative to the largest eigenvalue.
FLOAT32_FLOOR = 3e-6
# Share of the tolerance that the error of products may take before their matrix is promoted.
REPAIRED = 0.6
# Of an iteration on a spectrum that falls, and for more than so many values of one that is flat after them;
# and times the root of the pairs on sparse rows, whose spectra end in noise most often.
PASSES, FLAT_PASSES, BEFORE_FLAT, SPARSE_PASSES = 7, 20, 4, 5
# Vectors at a time where a product takes as long for each, or reads a whole matrix; passes then, beyond those
# that three times the pairs take.
NARROW, NARROW_PASSES = 16, 3
# Where eigenpairs of the basis take longer than this share of a product, it grows by at least and at most
# these shares of it before they are computed again.
SHORT, LEAST_GROWTH, MOST_GROWTH = 0.12, 0.06, 0.6
PROBE_PASSES, PROBE_COLUMNS = 6, 8
MAX_PASSES = 80
WHOLE_PASSES = 400  # on a matrix in memory, where a pass costs little
FEWEST_PASSES = 16
RETAINED = 0.45  # of the basis, at a restart: what is near the wanted vectors makes them converge sooner
STAGNANT = 15  # passes without a smaller residual after which more of them are of no use


@dataclass(frozen=True)
class KrylovRoute(route.Route):
    """Block Krylov iteration on a matrix in some form.

    Attributes
    ----------
    form : Form
    block : int
        Vectors multiplied at once.
    columns : int
        Largest number of basis vectors; then the iteration restarts from the best Ritz vectors.
    max_passes : int
        Products after which a direct route is the better one.
    foresees : bool
        Whether it ends as soon as more products than these are foreseen. Where no direct route could take
        over, it ends only after ``STAGNANT`` products without progress.
    product : float
        Predicted seconds of a product. Where eigenpairs of the basis take longer, they are computed only when
        they are likely to be near enough.
    """

    form: Form
    block: int
    columns: int
    max_passes: int = MAX_PASSES
    foresees: bool = True
    product: float = math.inf
    direct = False

    @property
    def solver(self) -> str:
        """The matrix of a table names the solver where it is formed; else ``"krylov"``."""
        return self.form.matrix if self.form.whole and self.form.of_table else "krylov"

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""
        form, m = self.form, costs.order(self.form)
        seconds, size = costs.build(form)
        count = target.count or self.block
        if isinstance(costs, TableCosts) and costs.sparse:
            passes = SPARSE_PASSES * math.sqrt(count) * NARROW / self.block
        else:
            passes = 3 * count / self.block + NARROW_PASSES if self.block < _width(target) else PASSES
        passes = max(passes, FLAT_PASSES) if costs.flat and count > BEFORE_FLAT else passes
        vectors = self.block * passes
        orthogonal = 4 * m * vectors * min(vectors, self.columns) / 2 / 10e9
        note = "" if form.whole else costs.note(form, self.block)
        how = f"block Krylov, {self.block} vectors at a time{_kept(form)}{note}"
        probe = PROBE_PASSES * (costs.product(form, PROBE_COLUMNS) + PASS)
        steps = [
            Step(*_first_step(form, m, costs.note(form)), seconds),
            Step("iterate", how, passes * (costs.product(form, self.block) + PASS) + orthogonal),
            Step("certify", "a fresh random probe for missed eigenvalues", probe),
            *route.finishing(costs, form, count),
        ]
        return Cost(tuple(steps), size + 8 * m * (3 * self.columns + 10 * self.block))

    def passes_worth(self, costs: Costs, target: Target, seconds: float) -> int:
        """Return how many passes may be made before a direct route of so many seconds is better."""
        pass_seconds = max(costs.product(self.form, self.block), 1e-9)
        least = WHOLE_PASSES if self.form.whole else FEWEST_PASSES * max(1, _width(target) // self.block)
        return max(least, min(WHOLE_PASSES, int(1.5 * seconds / pass_seconds)))

    def with_patience(self, costs: Costs, target: Target, seconds: float | None) -> KrylovRoute:
        """Return the route with as many passes as a direct one of so many seconds is worth."""
        if seconds is None:
            return replace(self, foresees=False)
        return replace(self, max_passes=self.passes_worth(costs, target, seconds))

    def reason(self, costs: Costs, target: Target) -> str:
        """Return why an iteration, and why in this form."""
        m = costs.order(self.form)
        if self.form.whole:
            matrix = MATRICES.get(self.form.matrix, "matrix")
            return f"{route.few(target, m)}, and the {matrix} fits into memory."
        reason = f"{route.few(target, m)}: products with blocks of vectors cost less than the whole matrix."
        if self.form.matrix == "centered kernel" and self.form.storage == "again":
            which = f"only {self.form.share:.0%} of them stay in memory and the others"
            which = which if self.form.share else "they"
            reason += f" The tiles do not fit into memory_limit, so {which} are recomputed in every pass."
        return reason

    def solve(self, operator: Operator, request: SolveRequest, start: Any = None) -> route.SolverResult:
        """Iterate until the residuals are small enough, or the iteration stalls."""
        # The matrix itself is multiplied in float64, whatever it was made in.
        double = self.form.double or self.form.whole
        tol = request.tol if double else max(request.tol, FLOAT32_FLOOR)
        return self.iterate(operator, request.target, tol, request.solver_rng, start)

    @arrays.blas_threads()
    @np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore")
    def iterate(
        self,
        operator: Operator,
        target: Target,
        tol: float,
        rng: np.random.Generator,
        start: Any = None,
        before: FloatArray | None = None,
    ) -> route.SolverResult:
        """Find the leading eigenpairs of a symmetric operator by block Krylov iteration.

        Parameters
        ----------
        operator : Operator
            Symmetric matrix of order m, known by its products.
        target : Target
            Number of pairs, or fraction of the trace: the basis grows until the trace is reached.
        tol : float
            Bound on residuals relative to the largest eigenvalue.
        rng : numpy.random.Generator
            Source of the Gaussian start.
        start : array of shape (m, s), optional
            Approximate leading vectors to start from.
        before : ndarray of shape (k,), optional
            The wanted eigenvalues as another computation found them, where ``start`` holds their vectors.

        Returns
        -------
        SolverResult
            With the best pairs so far where the iteration stalls, and why.

        References
        ----------
        Musco and Musco (2015), Randomized block Krylov methods for stronger and faster approximate SVD,
        algorithm 2. Thick restart: Wu and Simon (2000). Full reorthogonalisation and a Rayleigh-Ritz step in
        float64 at every pass.
        """
        basis = _Basis(operator, self.columns, self.block)
        if start is not None and before is None and target.count is not None:
            # After a restart a block as wide as the start must fit together with the retained vectors.
            start = start[:, : max(self.block, self.columns - target.count - self.block // 2)]
        candidate = _first_block(operator, self.block, rng, start, whole=before is not None)
        history: list[tuple[int, float]] = []
        earlier: list[FloatArray] = [] if before is None else [before]
        due, stretch = 0.0, max(1, _width(target) // self.block)
        for passes in range(1, self.max_passes + 1):
            basis.append(candidate, operator.matmat(candidate))
            following, coupling = basis.next_block()
            waits = passes < due and following is not None and not basis.full(following.shape[1])
            if waits and passes < self.max_passes:
                candidate = following
                continue
            values, Y = basis.ritz()
            k = _wanted(target, values, operator.trace())
            count = k or values.size
            if following is None and basis.exhausted(values):
                spectrum = _spectrum(operator, basis, values, Y, count, passes)
                if target.count is None or count >= target.count:
                    return route.SolverResult(spectrum)
                why = f"block Krylov ended after {passes} block products with {count} pairs"
                return _stalled(spectrum, why)
            # Only the last block's product leaves the span of the basis.
            estimates = np.linalg.norm(coupling @ Y[-candidate.shape[1] :, :], axis=0)
            worst = float(estimates[:k].max()) / max(float(values[0]), TINY) if k else np.inf
            note(log, "pass %d: %d of %s, residual %.1e", passes, k or 0, target, worst)
            sure = (following is not None or before is not None) and _settled(values[:k], earlier)
            allowed = _allowed(operator, values, tol, measured=before is not None and passes == 1)
            if k and sure and worst <= allowed:
                return route.SolverResult(_spectrum(operator, basis, values, Y, k, passes))
            if EIGH_ALL * basis.size**3 > SHORT * self.product:
                due = _due(history, (passes, worst), basis.size / self.block, tol)
            history.append((passes, worst))
            earlier = [*earlier[-1:], values]
            # Vectors to start from may be more than a block.
            full = basis.full(self.block if following is None else following.shape[1])
            hopeless = _stagnant(history)
            if self.foresees:
                hopeless = _hopeless(history, tol, self.max_passes, stretch)
            if passes == self.max_passes or hopeless or (full and target.count is None):
                why = f"stalled after {passes} block products at a relative residual of {worst:.1e}"
                spectrum = _spectrum(operator, basis, values, Y, count, passes)
                return _stalled(spectrum, f"block Krylov {why}")
            if full and target.count is not None:
                basis.restart(Y, max(target.count + self.block // 2, int(RETAINED * basis.columns)))
            candidate = basis.fresh(rng) if following is None else following
            if following is not None and following.shape[1] > self.block:
                candidate = basis.narrowed(following, coupling, 0.5 * allowed * float(values[0]))
        raise AssertionError("max_passes must be positive")


def routes(costs: Costs, target: Target) -> Iterator[KrylovRoute]:
    """Yield the iteration in every form, where its basis does not fill much of the space."""
    for form in costs.forms():
        m = costs.order(form)
        narrow = form.whole or costs.linear(form)
        block, columns = basis_size(m, target, NARROW if narrow else _width(target))
        if columns == 0:
            continue
        stored = isinstance(costs, TableCosts) and costs.stored
        if form.storage == "again" and (form.matrix == "centered kernel" or stored):
            block = min(2 * block, columns // 4)
        if form.whole:
            columns = min(2 * columns, m // 2)
        yield KrylovRoute(form, block, columns, product=costs.product(form, block))


def basis_size(least: int, target: Target, block: int) -> tuple[int, int]:
    """Return width of a block, if possible this one, and of the basis; zero where it would fill the space."""
    if target.count is None and target.fraction is None:
        return 0, 0
    if target.count is None:
        return (32, least // 3) if least >= 768 else (0, 0)
    k = target.count
    columns = max(12 * block, 3 * k + 6 * block)
    if 2 * columns <= least:
        return block, columns
    block = max(4, min(16, k + 2))
    columns = 2 * k + 4 * block
    return (block, columns) if columns + block <= least else (0, 0)


def _width(target: Target) -> int:
    """Vectors at a time where reading the data takes long, whatever it is multiplied by."""
    return 16 if target.count is not None and target.count <= 20 else 32


def _first_step(form: Form, m: int, note: str) -> tuple[str, str]:
    if form.matrix == "centered kernel":
        where = "half of n^2 in memory" if form.storage == "kept" else "recomputed in every pass"
        where = f"{form.share:.0%} in memory, the others {where}" if form.share else where
        where = "all in memory" if form.whole else where
        return "evaluate", f"lower-triangular tiles, {where}, {form.arithmetic}{note}"
    if form.whole:
        return "multiply", f"the {m} x {m} {form.matrix} matrix in {form.arithmetic}{note}"
    return "measure", "mean and sums of squares in one pass"


def _kept(form: Form) -> str:
    return ", centred data in memory" if form.storage == "kept" and form.matrix != "centered kernel" else ""


def improved(operator: Operator, result: route.SolverResult, request: SolveRequest) -> route.SolverResult:
    """Return the pairs as the same matrix in float64 has them, where float32 cannot meet the tolerance.

    The vectors found start an iteration on the promoted operator, which one pass usually ends: eigenvalues
    are Rayleigh quotients, whose errors are squares of those of the vectors, and residuals are measured in
    float64. Missed eigenvalues were looked for in the float32 matrix, whose error bounds what that can hide.
    """
    spectrum = result.spectrum
    k = spectrum.values.size
    top = float(spectrum.values[0]) if k else 0.0
    if (
        not spectrum.vectors.shape[1]
        or float(spectrum.residuals.max()) + spectrum.error_bound <= request.tol * top
    ):
        return result
    exact = operator.promoted()
    if exact is None:
        return result
    k = max(spectrum.rank, 1) if spectrum.rank < k else k
    again = KrylovRoute(Form("given", "again"), k, min(exact.size, 6 * k + 16), max_passes=6)
    start, before = spectrum.vectors[:, :k], spectrum.values[:k]
    better = again.iterate(exact, Target(count=k), request.tol, request.solver_rng, start, before)
    rest = np.concatenate([spectrum.values[k:], spectrum.rest])
    kept = {name: getattr(spectrum, name) for name in ("complete", "route", "smallest")}
    kept["rank_tolerance"] = max(spectrum.rank_tolerance, better.spectrum.rank_tolerance)
    passes, error = spectrum.passes + better.spectrum.passes, spectrum.error_bound
    pairs = replace(better.spectrum, rest=rest, passes=passes, search_error=error, **kept)
    complete = better.status is route.Status.COMPLETE
    return route.SolverResult(pairs) if complete else _stalled(pairs, better.why)


def _stalled(spectrum: Spectrum, why: str) -> route.SolverResult:
    """Return pairs that are not enough; in a basis of the whole space it is digits that they lack."""
    return route.SolverResult(
        spectrum, route.Status.INACCURATE if spectrum.complete else route.Status.INCOMPLETE, why
    )


def _first_block(operator: Operator, block: int, rng: np.random.Generator, start: Any, *, whole: bool) -> Any:
    """The start, filled up with Gaussian columns to the width of a block, orthonormal."""
    if start is None:
        return arrays.orthonormal(arrays.random_normal(rng, (operator.size, block), operator.like))[0]
    missing = 0 if whole else max(0, block - start.shape[1])
    start = start * 1.0
    if missing:
        start = arrays.namespace(start).concat(
            [start, arrays.random_normal(rng, (operator.size, missing), operator.like)], axis=1
        )
    return arrays.orthonormal(start)[0]


@dataclass
class _Basis:
    """Basis vectors Q, their products AQ and the projected matrix T = Q.T A Q, filled as they come."""

    operator: Operator
    columns: int
    block: int

    def __post_init__(self) -> None:
        xp = arrays.namespace(self.operator.like)
        m = self.operator.size
        self.columns = min(self.columns, m)
        if arrays.is_numpy(self.operator.like):
            self.Q, self.AQ = (np.empty((m, self.columns), order="F") for _ in range(2))
        else:
            device = self.operator.like.device
            self.Q, self.AQ = (xp.empty((m, self.columns), dtype=xp.float64, device=device) for _ in range(2))
        self.T = np.zeros((self.columns, self.columns))
        self.size = 0
        self.last, self.reach = slice(0, 0), slice(0, 0)
        # Whether the next block follows from the last one, and products of all others are in the basis.
        self.chained, self.closed = False, True

    def full(self, more: int) -> bool:
        return self.size + more > self.columns

    def append(self, V: Any, AV: Any) -> None:
        start = self.last.start if self.chained else 0
        self.last = slice(self.size, self.size + V.shape[1])
        # The product of a block that follows from another one has parts in these two alone, but for rounding.
        self.reach, self.chained = slice(start, self.last.stop), self.closed
        self.Q[:, self.last] = V
        self.AQ[:, self.last] = AV
        self.size = self.last.stop
        projected = arrays.as_float64(arrays.inner(self.Q[:, self.reach], AV))
        self.T[self.reach, self.last] = projected
        self.T[self.last, self.reach] = projected.T
        corner = self.T[self.last, self.last]
        self.T[self.last, self.last] = (corner + corner.T) / 2

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        values, Y = arrays.eigh(self.T[: self.size, : self.size])
        return values[::-1], Y[:, ::-1]

    def next_block(self) -> tuple[Any, FloatArray]:
        """Orthonormal continuation of the basis and its coupling to the last block; None at the end."""
        Q = self.Q[:, : self.size]
        W = self.AQ[:, self.last]
        room = self.operator.size - self.size
        width = W.shape[1]
        coupling = np.eye(width)
        scale = float(arrays.column_norms(W).max()) if width else 0.0
        xp = arrays.namespace(W)
        # The first projection is known, since the product has just been added to T.
        near = arrays.from_numpy(self.T[self.reach, self.last], W)
        W = arrays.without(W, self.Q[:, self.reach], near)
        for _ in range(3):
            W = arrays.without(W, Q, arrays.inner(Q, W))
            W, R = arrays.orthonormal(W)
            coupling = R @ coupling
            spread = np.abs(np.diag(R))
            sound = float(spread.min(initial=1.0)) > 1e-3 * scale
            if sound or float(xp.max(xp.abs(arrays.inner(Q, W)))) < 1e-12:
                break
            W = arrays.without(W, Q, arrays.inner(Q, W))
        # When what is left is rounding, the basis spans an invariant subspace and nothing can follow.
        if room < width or np.linalg.norm(coupling) <= 1e-15 * scale * self.operator.size**0.5:
            return None, coupling
        return W, coupling

    def exhausted(self, values: FloatArray) -> bool:
        """Whether the last block found nothing, or there is no room for another one."""
        result = float(arrays.column_norms(self.AQ[:, self.last]).max())
        room = self.operator.size - self.size
        return room < self.block or self.full(self.block) or result <= 1e-12 * float(values[0])

    def fresh(self, rng: np.random.Generator) -> Any:
        """A new random block: an eigenvalue of higher multiplicity than the block needs more than one."""
        self.chained = self.closed = False
        Q = self.Q[:, : self.size]
        block = arrays.random_normal(rng, (self.operator.size, self.block), self.operator.like)
        for _ in range(2):
            block, _ = arrays.orthonormal(arrays.without(block, Q, arrays.inner(Q, block)))
        return block

    def narrowed(self, following: Any, coupling: FloatArray, small: float) -> Any:
        """Leave out directions of a wide block by which the last product leaves the span that little."""
        U, s, _ = np.linalg.svd(coupling)
        self.chained = self.closed = False
        kept = np.ascontiguousarray(U[:, : max(self.block, int((s > small).sum()))])
        return following @ arrays.from_numpy(kept, following)

    def restart(self, Y: FloatArray, keep: int) -> None:
        """Shrink the basis to its best Ritz vectors; their products are known without a new pass."""
        keep = max(min(keep, self.size - self.block), 1)
        kept = arrays.from_numpy(np.ascontiguousarray(Y[:, :keep]), self.operator.like)
        Q, AQ = self.Q[:, : self.size] @ kept, self.AQ[:, : self.size] @ kept
        self.Q[:, :keep], self.AQ[:, :keep] = Q, AQ
        self.T[:keep, :keep] = arrays.as_float64(Q.T @ AQ)
        self.size = keep
        self.chained = False


def _allowed(operator: Operator, values: FloatArray, tol: float, *, measured: bool) -> float:
    """Residual at which to stop, so that the error of the products still fits into the tolerance.

    Residuals of the vectors that an iteration starts with are measured, not estimated.
    """
    top = float(values[0])
    # What a promoted operator repairs is no reason to stop later; it takes a pass in float64.
    repaired = operator.error_bound > REPAIRED * tol * top
    left = tol if repaired or top <= 0 else tol - operator.error_bound / top
    return min((0.9 if measured else 0.5) * tol, 0.9 * max(left, 0.1 * tol))


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
    assert target.fraction is not None
    assert total is not None
    return route.count_for_fraction(values, total, target.fraction)


def _due(history: list[tuple[int, float]], now: tuple[int, float], blocks: float, tol: float) -> float:
    """Pass after which eigenpairs of a basis of so many blocks are computed again, as the residuals say."""
    passes, worst = now
    more = MOST_GROWTH * blocks
    if history and 0 < worst < history[-1][1] < np.inf:
        fall = np.log(worst / history[-1][1]) / (passes - history[-1][0])
        more = min(more, float(np.log(0.5 * tol / worst) / fall))
    return passes + max(more, 1.0, LEAST_GROWTH * blocks)


def _hopeless(history: list[tuple[int, float]], tol: float, max_passes: int, stretch: int) -> bool:
    """Whether the residuals of the last passes, carried on, cannot reach the tolerance.

    With few vectors at a time, ``stretch`` times fewer, residuals fall as much later, and then faster.
    """
    now, last = history[-1]
    earlier = [item for item in history if np.isfinite(item[1]) and item[0] <= now - 5 * stretch]
    if len(earlier) < 2 or last <= 0:
        return False
    before, first = earlier[-1]
    rate = (last / first) ** (1 / (now - before))
    needed = np.log(0.5 * tol / last) / np.log(rate) if rate < 1 else np.inf
    return bool(now + needed > (1.5 if stretch == 1 else 3.0) * max_passes)


def _stagnant(history: list[tuple[int, float]]) -> bool:
    """Whether the last passes have made no progress; a restart alone costs several."""
    worst = [item[1] for item in history]
    return len(worst) > STAGNANT and min(worst[-STAGNANT:]) >= min(worst[:-STAGNANT])


def _spectrum(
    operator: Operator, basis: _Basis, values: FloatArray, Y: FloatArray, k: int, passes: int
) -> Spectrum:
    """Form the wanted Ritz vectors and measure their residuals."""
    kept = arrays.from_numpy(np.ascontiguousarray(Y[:, :k]), operator.like)
    vectors = basis.Q[:, : basis.size] @ kept
    products = basis.AQ[:, : basis.size] @ kept
    theta = values[:k].copy()
    residuals = arrays.column_norms(products - vectors * arrays.from_numpy(theta, vectors)[None, :])
    top = float(theta[0]) if k else 0.0
    tolerance = route.relative_tolerance(operator.relative_tolerance, operator.noise, top)
    norm, smallest = operator.frobenius(), float(values[-1]) if values.size else None
    sizes = operator.trace(), None if norm is None else norm**2, tolerance, operator.error_bound
    facts = *sizes, operator.error_kind, "krylov", basis.size >= operator.size
    return Spectrum(theta, vectors, residuals, *facts, passes=passes, smallest=smallest)
