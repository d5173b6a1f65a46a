"""What every way to solve is, and the direct ways: LAPACK decomposes a matrix or the centred data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy

from gramian.core import arrays, checks
from gramian.core.records import MATRICES, Cost, FloatArray, SolveRequest, Spectrum, Step, Target
from gramian.engine.operator import DIRECT, EIGH_ALL, EIGH_FEW, Costs, Form, Operator, TableCosts

# Above LARGE the matrix leaves the cache, and half of the reduction runs at the speed of memory.
LARGE, SLOWER = 1500, 1.25


class Status(Enum):
    """What became of a search for eigenpairs."""

    COMPLETE = "every pair that was asked for"
    INCOMPLETE = "pairs may be missing"
    INACCURATE = "digits are missing"


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver returns: pairs, whatever became of them.

    Attributes
    ----------
    spectrum : Spectrum
        The pairs as far as they came.
    status : Status
    why : str
        Why they are not all that was asked for, for the user.
    """

    spectrum: Spectrum
    status: Status = Status.COMPLETE
    why: str = ""


class Route(Protocol):
    """One way to solve, as a frozen record in its solver's own file, which derives from this.

    Attributes
    ----------
    form : Form
        How the matrix is held.
    direct : bool
        Whether it cannot stall.
    """

    form: Form
    direct: bool

    @property
    def solver(self) -> str:
        """The solver's name as users spell it."""

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""

    def reason(self, costs: Costs, target: Target) -> str:
        """Return when this route is the one to take, as a sentence."""

    def with_patience(self, costs: Costs, target: Target, seconds: float | None) -> Route:
        """Return the route, given what the cheapest direct one takes: what can stall ends sooner then.

        None means that no direct one fits into memory.
        """
        return self

    def solve(self, operator: Operator, request: SolveRequest, start: Any = None) -> SolverResult:
        """Find the pairs, from approximate vectors where there are some."""


def finishing(costs: Costs, form: Form, count: int) -> list[Step]:
    """Return the steps from so many pairs, as they were found in this form, to what was asked for."""
    steps = []
    if costs.improves(form):
        exact = costs.product(form.promoted(), count)
        steps.append(Step("improve", "pairs and residuals in float64", exact))
    if form.matrix == "gram":
        steps.append(Step("lift", "directions from the dual vectors", costs.lift(form, count)))
    return steps


def few(target: Target, m: int) -> str:
    """Return why an iteration pays."""
    if target.count is None:
        return f"{target} usually takes few of {m} eigenpairs"
    return f"{target} of {m} are few"


# -------------------------------------- what solvers share about spectra


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


def count_of(target: Target, values: FloatArray, total: float | None) -> int:
    """Return how many of all values, descending, a target takes."""
    if target.count is not None:
        return min(target.count, values.size)
    if target.fraction is None:
        return int(values.size)
    whole = total if total is not None else float(np.maximum(values, 0.0).sum())
    return count_for_fraction(values, whole, target.fraction) or int(values.size)


# ---- The matrix, formed and decomposed


@dataclass(frozen=True)
class ProductRoute(Route):
    """The matrix, formed and decomposed directly."""

    form: Form
    direct = True

    @property
    def solver(self) -> str:
        """The matrix names the solver of a table; ``"dense"`` for kernels."""
        return self.form.matrix if self.form.of_table else "dense"

    def cost(self, costs: Costs, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""
        form, m = self.form, costs.order(self.form)
        seconds, size = costs.build(form)
        name, detail = {
            "covariance": ("multiply", f"the {m} x {m} scatter matrix in one pass over the data"),
            "gram": ("multiply", f"the {m} x {m} matrix of inner products of rows"),
            "centered kernel": ("evaluate", f"{m} x {m} kernel values"),
        }.get(form.matrix, ("read", f"the {m} x {m} matrix"))
        steps = [
            Step(name, f"{detail}, {form.arithmetic}{costs.note(form)}", seconds),
            Step("decompose", f"{target} of {m}", eigh_seconds(m, target)),
        ]
        steps += finishing(costs, form, target.count or m)
        return Cost(tuple(steps), size + 8 * (2 if _partial(m, target) else 3) * m * m)

    def reason(self, costs: Costs, target: Target) -> str:
        """Return when it is taken."""
        m = costs.order(self.form)
        if self.form.matrix == "given":
            return "the matrix is given."
        if len(costs.forms()) == 1:
            return f"only the {self.form.matrix} matrix of the rows is stored."
        if self.form.matrix == "centered kernel":
            return f"{m} rows are few." if m <= 1000 else f"{target} of {m} need the whole spectrum."
        smaller = costs.forms()[0].matrix == self.form.matrix
        return f"the {self.form.matrix} matrix is the {'smaller' if smaller else 'larger'} of the two."

    def solve(self, operator: Operator, request: SolveRequest, start: Any = None) -> SolverResult:
        """Decompose the matrix."""
        # Of a matrix that may be indefinite all eigenvalues are found: their signs are the question.
        target = request.target if operator.psd else Target()
        return SolverResult(solve_dense(operator, target, self.solver, vectors=request.vectors))


def routes(costs: Costs, target: Target) -> Iterator[Route]:
    """Yield the SVD for dense tables in one place, and the direct route for forms of the whole matrix."""
    if isinstance(costs, TableCosts) and not costs.sparse and not costs.spread:
        yield SvdRoute()
    for form in costs.forms():
        if form.whole:
            yield ProductRoute(form)


def both_matrices(costs: Costs, target: Target) -> Iterator[str]:
    """Yield what forming and decomposing the covariance and the dual Gram matrix takes, in words."""
    for matrix, growth in (("covariance", "O(n d^2 + d^3)"), ("gram", "O(n^2 d + n^3)")):
        for form in [form for form in costs.forms() if form.matrix == matrix and form.whole and form.double][
            :1
        ]:
            cost, m = ProductRoute(form).cost(costs, target), costs.order(form)
            size = f"{m:,} x {m:,}, {growth}"
            time, memory = checks.duration(cost.seconds), checks.amount(cost.bytes)
            yield f"{MATRICES[matrix]}, {size}: about {time} and {memory}"


def _partial(m: int, target: Target) -> bool:
    return target.count is not None and target.count <= m // 4 and m > 32


def eigh_seconds(m: int, target: Target) -> float:
    """Return seconds of an eigendecomposition of order m."""
    slower = SLOWER if m > LARGE else 1.0
    return (EIGH_FEW if _partial(m, target) else EIGH_ALL) * slower * m**3 + 5e-8 * m * m + DIRECT


def solve_dense(operator: Operator, target: Target, route: str, *, vectors: bool = True) -> Spectrum:
    """Decompose the operator's matrix directly.

    Parameters
    ----------
    operator : Operator
        Symmetric matrix of order m.
    target : Target
        Number of eigenpairs, fraction of the trace, or all.
    route : str
        Name of the route for the record.
    vectors : bool
        False finds eigenvalues only, with residuals of 0.

    Returns
    -------
    Spectrum
        The leading eigenpairs; ``rest`` holds all other eigenvalues.
    """
    A = operator.dense()
    # Of this very matrix: a share close to 1 leaves no room for the rounding of another sum.
    total = float(arrays.namespace(A).linalg.trace(A)) if operator.psd else operator.trace()
    if vectors:
        values, V, rest = leading(A, target, total)
        residuals = arrays.column_norms(A @ V - V * arrays.from_numpy(values, V)[None, :])
    else:
        values = eigenvalues(A)
        k = count_of(target, values, total)
        values, V, rest, residuals = values[:k], A[:, :0], values[k:], np.zeros(k)
    # The backward error of LAPACK's symmetric solvers is a modest multiple of eps times the norm.
    backward = arrays.backward_error(np.concatenate([values, rest]))
    top = float(values[0]) if values.size else 0.0
    tolerance = relative_tolerance(operator.relative_tolerance, operator.noise, top)
    bound = tolerance, operator.dense_error + backward, operator.error_kind
    smallest = float(rest[-1]) if rest.size else (float(values[-1]) if values.size else None)
    return Spectrum(values, V, residuals, total, None, *bound, route, True, rest, smallest=smallest)


def leading(A: Any, target: Target, total: float | None = None) -> tuple[FloatArray, Any, FloatArray]:
    """Leading eigenpairs in descending order and all other eigenvalues."""

    def on_device(linalg: Any, A: Any) -> tuple[FloatArray, Any]:
        values, vectors = linalg.eigh(A)
        return arrays.as_float64(values)[::-1], arrays.namespace(A).flip(vectors, axis=1)

    count: Any = target.count or (A.shape[0] if target.fraction is None else None)
    count = count or (lambda values: count_of(target, values, total))
    values, vectors = arrays.decomposed(A, on_device, partial(arrays.leading_pairs, count=count))
    k = count_of(target, values, total)
    return values[:k].copy(), arrays.moved(vectors[:, :k], A), values[k:].copy()


def eigenvalues(A: Any) -> FloatArray:
    """Return all eigenvalues of a symmetric float64 matrix, descending."""

    def on_host(A: FloatArray) -> FloatArray:
        with arrays.blas_threads():
            return np.asarray(scipy.linalg.eigvalsh(A, check_finite=False)[::-1])

    return arrays.decomposed(A, lambda linalg, A: arrays.as_float64(linalg.eigvalsh(A))[::-1], on_host)


# ---- Singular value decomposition of the centred data: for small tables, and where the last digit counts

DATA = Form("data (SVD)", "copied")
EPS = float(np.finfo(np.float64).eps)
FEW = 4096  # entries up to which one call of LAPACK is faster than two
RATE = 4.2e-10  # seconds for one n d min(n, d), all vectors included


@dataclass(frozen=True)
class SvdRoute(Route):
    """All singular triplets of C in float64."""

    form: Form = DATA
    direct = True
    solver = "full"

    def cost(self, costs: Any, target: Target) -> Cost:
        """Return steps with their seconds, and bytes."""
        n, d = costs.shape
        least = min(n, d)
        steps = (
            Step("centre", f"a float64 copy of {n} x {d}", n * d * 2e-9),
            Step("decompose", "singular value decomposition, all components", RATE * n * d * least + DIRECT),
        )
        return Cost(steps, 8 * (2 * n * d + 2 * n * least + d * least + 6 * least**2))

    def reason(self, costs: Any, target: Target) -> str:
        """Return when it is taken."""
        n, d = costs.shape
        return f"{n} x {d} is small, and the SVD resolves the smallest eigenvalues best."

    def solve(self, operator: Any, request: SolveRequest, start: Any = None) -> SolverResult:
        """Decompose the centred data that the operator is made of."""
        view = operator.centered
        # Rank as of products for float32: numbers that somebody has rounded are not noise to be whitened.
        unit = max(view.rows.shape) * EPS
        relative = unit**2 if view.rows.dtype == np.float64 else unit
        C = view.materialized()
        return SolverResult(solve_svd(C, request.target, view.noise, relative, view.forming_error))


def solve_svd(C: Any, target: Target, noise: float, relative: float, error: float = 0.0) -> Spectrum:
    """Singular value decomposition of a centred data matrix held in memory as float64.

    Parameters
    ----------
    C : array of shape (n, d), float64
        Centred data.
    target : Target
        Number of components, fraction of the sum of squares, or all ``min(n, d)``.
    noise : float
        Absolute size of squared singular values that is rounding of the data.
    relative : float
        The same relative to the largest one.
    error : float
        Bound on what forming C changed squared singular values by.

    Returns
    -------
    Spectrum
        Squared singular values with the right vectors as columns.
    """
    xp = arrays.namespace(C)
    n, d = C.shape
    s, Vt = _svd(C)
    squares = arrays.as_float64(s) ** 2
    total = float(squares.sum())
    k = count_of(target, squares, total)
    right = Vt[:k, :].T
    # Of the directions too: those of a wide, badly scaled table may be less accurate than singular values.
    residuals = arrays.column_norms(C.T @ (C @ right) - right * (s[:k] ** 2)[None, :])
    top = float(squares[0]) if squares.size else 0.0
    V = xp.asarray(right, copy=True) if xp is not np else right
    tolerance, bound = relative_tolerance(relative, noise, top), 10 * max(n, d) ** 0.5 * EPS * top + error
    pairs, rest = (squares[:k], V, residuals, total, None, tolerance, bound), squares[k:]
    smallest = float(squares[-1]) if squares.size else None
    return Spectrum(*pairs, "deterministic", "full", True, rest, smallest=smallest)


def _svd(C: Any) -> tuple[Any, Any]:
    """Return singular values and right vectors as rows; nobody needs the left ones."""
    s, Vt = arrays.decomposed(
        C, lambda linalg, C: tuple(linalg.svd(C, full_matrices=False))[1:], _svd_on_host
    )
    return arrays.moved(s, C), arrays.moved(Vt, C)


def _svd_on_host(C: FloatArray) -> tuple[Any, Any]:
    (n, d), lapack = C.shape, scipy.linalg.lapack
    # For few entries BLAS takes one thread by itself.
    with arrays.blas_threads() if n * d > FEW else nullcontext():
        if 11 * d <= 6 * n and n * d > FEW:
            # As LAPACK's routine begins for tall matrices, which then spends as long again on left vectors.
            C = np.triu(lapack.dgeqrf(C, lwork=_work(lapack.dgeqrf_lwork(n, d)))[0][:d])
        size = _work(lapack.dgesdd_lwork(*C.shape, full_matrices=0))
        _, s, Vt, failed = lapack.dgesdd(C, full_matrices=0, lwork=size)
        if failed:
            # Divide and conquer fails to converge on rare matrices where plain QR iteration succeeds.
            _, s, Vt = scipy.linalg.svd(C, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return s, Vt


def _work(item: tuple[Any, int]) -> int:
    """Return the size of the workspace that LAPACK asks for."""
    return int(item[0])
