"""The engine: routes are run until one is accepted, under one limit, and no answer is lost on the way."""

import tracemalloc
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.linalg
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gramian import PCA, KernelPCA
from gramian.core.records import Cost, SolveRequest, Step, Target
from gramian.engine import linear, solving
from gramian.engine.certificates import may_have_missed
from gramian.engine.kernel import KernelProblem
from gramian.engine.krylov import KrylovRoute, improved
from gramian.engine.linear import LinearProblem
from gramian.engine.operator import Form, SymmetricCosts, SymmetricMatrix
from gramian.engine.routes import ProductRoute, Route, SolverResult, Status, solve_dense
from gramian.engine.solving import solve
from gramian.engine.tiles import KernelSource
from gramian.errors import MemoryLimitError
from gramian.kernels import RBF
from gramian.tables.as_rows import as_rows
from helpers import SymmetricProblem, spectrum_matrix

PLENTY = 1 << 40
FLAT = np.linspace(1, 0.9999, 180)


def request(target=None, **options):
    defaults = {"tol": 1e-6, "memory_limit": PLENTY}
    return SolveRequest(target or Target(count=3), **{**defaults, **options})


GIVEN = Form("given", "whole")


@dataclass(frozen=True)
class Made(Route):
    """A route that answers what it is told to."""

    name: str
    seconds: float
    answer: object = field(repr=False)
    form: Form = GIVEN
    direct: bool = False
    bytes: int = 10

    @property
    def solver(self):
        return self.name

    def cost(self, costs, target):
        return Cost((Step("work", self.name, self.seconds),), self.bytes)

    def reason(self, costs, target):
        return f"{self.name} is cheap."

    def solve(self, operator, request, start=None):
        return self.answer(operator, request, start)


def take(monkeypatch, *routes):
    monkeypatch.setattr(solving, "all_routes", lambda costs, target: routes)
    monkeypatch.setattr(solving, "QUICK", 0.0)


def pairs(A, count, error=0.0, why="", complete=False, order=None):
    """The leading pairs, turned by a rotation of the given size against the others."""
    values, V = np.linalg.eigh(A)
    V = V[:, ::-1]
    V = V if order is None else V[:, order]
    mixed, _ = np.linalg.qr(V[:, :count] + error * V[:, count : 2 * count])
    theta = np.sum(mixed * (A @ mixed), axis=0)
    dense = solve_dense(SymmetricMatrix(A, psd=True), Target(count=count), "made")
    residuals = np.linalg.norm(A @ mixed - mixed * theta, axis=0)
    result = replace(dense, values=theta, vectors=mixed, residuals=residuals, rest=np.empty(0))
    lacking = Status.INACCURATE if complete else Status.INCOMPLETE
    status = lacking if why else Status.COMPLETE
    return SolverResult(replace(result, complete=complete, smallest=float(values[0])), status, why)


A = np.diag(np.r_[9.0, 8.0, 7.0, np.linspace(1, 0.1, 40)])


def answers(error=0.0, why="", count=3, **options):
    return lambda operator, request, start: pairs(A, count, error, why, **options)


def test_the_first_accepted_or_the_better_answer_is_kept(monkeypatch):
    take(monkeypatch, Made("second", 2.0, answers()), Made("first", 1.0, answers()))
    solution = solve(SymmetricProblem(A, psd=True), request())
    assert [attempt.plan.solver for attempt in solution.account.attempts] == ["first"]
    assert solution.spectrum.note == ""
    assert str(solution.account.attempts[0]).endswith("; accepted")
    take(
        monkeypatch,
        Made("quick", 1.0, answers(1e-3, "it stalled")),
        Made("slow", 2.0, answers(complete=True), direct=True),
    )
    solution = solve(SymmetricProblem(A, psd=True), request())
    quick, slow = map(str, solution.account.attempts)
    assert quick.startswith("quick on the given in float64: 0.")
    assert quick.endswith("; not accepted: it stalled")
    assert slow.endswith("of the largest; accepted")
    assert all(attempt.plan.took > 0 for attempt in solution.account.attempts)
    assert solution.account.plan == solution.account.attempts[-1].plan
    assert "It took" in str(solution.account.plan)
    assert "slow is cheap" not in str(solution.account.attempts[0].plan)
    good, bad = answers(1e-9, "not all of it"), answers(0.3, "stalled")
    take(monkeypatch, Made("good", 1.0, good), Made("bad", 2.0, bad, direct=True))
    solution = solve(SymmetricProblem(A, psd=True), request())
    assert [attempt.plan.solver for attempt in solution.account.attempts] == ["good", "bad"]
    assert solution.account.plan == solution.account.attempts[0].plan
    assert solution.certificate.ok
    assert_allclose(solution.spectrum.values, [9, 8, 7], rtol=1e-12)
    assert solution.spectrum.note == "not all of it; then stalled"
    # One pair, known exactly, after three that are not quite as accurate as tol asks for.
    three, one = answers(1e-2, "stalled"), answers(0.0, "stalled", count=1)
    take(monkeypatch, Made("three", 1.0, three), Made("one", 2.0, one, direct=True))
    solution = solve(SymmetricProblem(A, psd=True), request())
    assert solution.account.plan.solver == "three"
    assert solution.spectrum.values.size == 3


@pytest.mark.parametrize("order", [(0.3, 1e-3), (1e-3, 0.3)])
def test_of_two_that_are_not_certified_the_better_one_is_returned(monkeypatch, order):
    first, second = (answers(error, "stalled") for error in order)
    take(monkeypatch, Made("first", 1.0, first), Made("second", 2.0, second, direct=True))
    solution = solve(SymmetricProblem(A, psd=True), request())
    assert not solution.certificate.ok
    assert len(solution.account.attempts) == 2
    errors = [attempt.error for attempt in solution.account.attempts]
    assert solution.account.plan == solution.account.attempts[int(np.argmin(errors))].plan
    assert float(solution.certificate.radii.max() / solution.certificate.values[0]) == min(errors)


def test_a_missed_eigenvalue_is_looked_for_and_the_probe_says_so(monkeypatch):
    """Pairs 2 to 4, converged: the fresh probe sees the first, and all are computed."""
    B = np.diag(np.r_[90.0, 8.0, 7.0, 6.0, np.linspace(1, 0.1, 400)])
    missing = pairs(B, 3, order=np.arange(1, 404))
    take(
        monkeypatch,
        Made("blind", 1.0, lambda *_: missing),
        Made("dense", 2.0, lambda *_: pairs(B, 3, complete=True), direct=True),
    )
    solution = solve(SymmetricProblem(B, psd=True), request())
    assert solution.account.attempts[0].why == "a larger eigenvalue was missed"
    assert solution.spectrum.note.endswith("; dense on the given took over")
    assert_allclose(solution.spectrum.values, [90, 8, 7], rtol=1e-12)
    assert solution.certificate.ok
    assert not may_have_missed(solution.certificate)


def test_what_was_found_starts_what_follows_where_the_orders_agree(monkeypatch):
    starts = []

    def watched(operator, request, start):
        starts.append(start)
        return pairs(A, 3)

    again = Form("given", "again")
    stalls = Made("stalls", 1.0, answers(1e-3, "stalled"), form=again)
    take(monkeypatch, stalls, Made("next", 2.0, watched))
    solution = solve(SymmetricProblem(A, psd=True), request())
    assert_allclose(np.abs(starts[0][:3, :3]), np.eye(3), atol=2e-3)

    @dataclass(frozen=True)
    class Orders(SymmetricCosts):
        def order(self, form):
            return 7 if form == again else 43

    monkeypatch.setattr(SymmetricProblem, "costs", property(lambda self: Orders(43)))
    assert solve(SymmetricProblem(A, psd=True), request()).account.plan.solver == "next"
    assert starts[1] is None
    assert solution.spectrum.note.endswith("took over")


@pytest.mark.parametrize("kind", ["table", "kernel"])
def test_every_attempt_fits_into_the_limit(kind, monkeypatch):
    """An iteration in float32 on a flat spectrum: whatever takes over was planned against the same limit."""
    monkeypatch.setattr(solving, "QUICK", 0.0)
    monkeypatch.setattr(solving, "SMALL", 0)
    monkeypatch.setattr(linear, "FEW_ENTRIES", 0)
    monkeypatch.setattr(KrylovRoute, "passes_worth", lambda *_: 3)
    X = spectrum_matrix(400, 190, FLAT, seed=3).astype("f4")
    wanted = request(Target(count=5), tol=1e-8)

    def problem():
        if kind == "table":
            return LinearProblem(as_rows(X))
        source = KernelSource(RBF(sigma=0.3).bind(X, centered=True), X)
        return KernelProblem(as_rows(X), source, center=True, psd=True, clip=False)

    items = solving.ranked(problem().costs, wanted)
    before = 0
    for limit in sorted({item.bytes for item in items}):
        solution = solve(problem(), replace(wanted, memory_limit=limit))
        assert all(attempt.plan.bytes <= limit for attempt in solution.account.attempts)
        assert solution.account.plan in [attempt.plan for attempt in solution.account.attempts]
        before = max(before, len(solution.account.attempts))
    assert before > 1
    with pytest.raises(MemoryLimitError, match=r"MB\. Raise memory_limit, or ask for fewer components, or"):
        solve(problem(), replace(wanted, memory_limit=min(item.bytes for item in items) - 1))


def test_a_retry_takes_no_more_memory_than_its_own_route(monkeypatch):
    """What the first route kept of the data is given back before the second one makes its matrix."""
    X = np.random.default_rng(0).standard_normal((2000, 1000)).astype("f4")
    wanted = request(Target(count=5), tol=1e-9)

    def attempts_and_peak(*forms):
        problem = LinearProblem(as_rows(X))
        routes = [KrylovRoute(form, 16, 192, 5) for form in forms]
        costs = [route.cost(problem.costs, wanted.target) for route in routes]
        items = [solving.Ranked(r, cost.seconds, cost.bytes) for r, cost in zip(routes, costs, strict=True)]
        monkeypatch.setattr(solving, "small_first", lambda *_: None)
        monkeypatch.setattr(solving, "ranked", lambda *_, **__: items)
        tracemalloc.start()
        solution = solve(problem, wanted)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return len(solution.account.attempts), peak

    first, second = Form("covariance", "kept", "float32"), Form("covariance", "kept")
    (_, alone), (attempts, peak) = attempts_and_peak(second), attempts_and_peak(first, second)
    assert attempts == 2
    assert peak < alone + X.nbytes / 2


def test_digits_that_float32_lacks_come_from_an_iteration_where_nothing_else_fits(monkeypatch):
    """Rank 30 in float64, less in float32, and no memory for a matrix."""
    monkeypatch.setattr(solving, "_below_float32", lambda *_: False)
    monkeypatch.setattr(solving, "SMALL", 0)
    X = spectrum_matrix(2500, 300, np.geomspace(1, 1e-5, 30), seed=4).astype("f4")
    problem, wanted = LinearProblem(as_rows(X)), request(Target(count=30), solver="krylov", tol=1e-5)
    items = solving.ranked(problem.costs, wanted)
    single = min(i.bytes for i in items if not i.route.form.double)
    fitting = [i for i in items if i.bytes <= single]
    assert not any(i.route.direct for i in fitting)
    take(monkeypatch, *(i.route for i in sorted(fitting, key=lambda i: i.route.form.double)))
    monkeypatch.setattr(solving, "_order", lambda *_: lambda item: item.route.form.double)
    solution = solve(problem, replace(wanted, memory_limit=single))
    assert "components from rounding" in solution.account.attempts[0].why
    assert [a.plan.arithmetic for a in solution.account.attempts] == ["float32", "float64"]
    assert solution.spectrum.rank == 30
    assert solution.certificate.ok


@pytest.mark.parametrize(
    ("shape", "product", "dtype"),
    [((1500, 64), "covariance", "f4"), ((1500, 64), "covariance", "f8"), ((65, 1500), "gram", "f8")],
)
@pytest.mark.parametrize(
    ("spectrum", "count", "solver"),
    [
        (np.geomspace(1, 1e-3, 64), 9, "product"),
        (np.geomspace(1, 1e-9, 64), 31, "full"),  # the last value asked for is near rounding
        (np.r_[np.ones(5), 1e-7 * np.ones(59)], 5, "full"),  # what is left is
        (np.r_[3.0, 2.0, 1.0], 6, "full"),  # there are not as many
    ],
)
def test_the_svd_takes_over_where_a_small_table_has_values_near_rounding(
    spectrum, count, solver, shape, product, dtype
):
    X = spectrum_matrix(*shape, spectrum, seed=8).astype(dtype)
    solution = solve(LinearProblem(as_rows(X)), request(Target(count=count)))
    expected = (product, 1) if solver == "product" else (solver, 2)
    assert (solution.account.plan.solver, len(solution.account.attempts)) == expected
    assert solution.certificate.ok
    exact = np.linalg.svd(X.astype("f8") - X.astype("f8").mean(axis=0), compute_uv=False) ** 2
    r = min(count, len(spectrum))
    assert_allclose(solution.spectrum.values[:r], exact[:r], rtol=1e-6 if dtype == "f8" else 1e-5)
    asked = replace(request(Target(count=count)), solver=product)
    assert len(solve(LinearProblem(as_rows(X)), asked).account.attempts) == 1


def test_all_eigenvalues_come_with_few_vectors_and_what_takes_over_says_why():
    for spectrum in (np.ones(90), np.r_[np.ones(4), np.zeros(86)], np.geomspace(1, 1e-6, 90)):
        X = spectrum_matrix(2000, 90, spectrum, seed=2)
        found = solve(LinearProblem(as_rows(X)), request(Target(count=3), solver="covariance")).spectrum
        assert found.vectors.shape == (90, 3)
        every = np.concatenate([found.values, found.rest])
        assert_allclose(every, spectrum**2, atol=1e-13)
    X = np.random.default_rng(0).standard_normal((30, 5))
    for model in (PCA(2), KernelPCA(2, kernel="rbf")):
        rng = np.random.default_rng(1)
        before = rng.bit_generator.state
        model.set_params(random_state=rng).plan(X)
        assert rng.bit_generator.state == before
    X = spectrum_matrix(900, 600, np.linspace(1.0, 0.9999, 500), seed=15)
    model = PCA(12, solver="krylov", tol=1e-9, random_state=0).fit(X)
    first, second = model.attempts_
    assert first.plan.reason == "You set solver='krylov'."
    assert second.plan.reason == f"The previous route was not accepted: {first.why}."


def test_lapack_runs_on_one_thread(monkeypatch):
    seen = []

    def watch(module, name):
        real = getattr(module, name)

        def watched(*arguments, **options):
            blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
            seen.append((name, [library.num_threads for library in blas.lib_controllers]))
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, watched)

    lapack = scipy.linalg.lapack
    names = {"eigh": np.linalg, "eigvalsh": scipy.linalg, "dgesdd": lapack, "dsytrd": lapack}
    for name, module in names.items():
        watch(module, name)
    X = np.random.default_rng(0).standard_normal((80, 70))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        for solver in ("covariance", "gram", "full"):
            for count in (5, 40):
                solve(LinearProblem(as_rows(X)), request(Target(count=count), solver=solver))
            solve(LinearProblem(as_rows(X)), request(Target(), solver=solver, vectors=False, certify=False))
    assert {name for name, _ in seen} == set(names)
    assert all(set(threads) <= {1} for _, threads in seen)


def test_blas_has_one_thread_in_a_brief_route_only(monkeypatch):
    seen, real = [], ProductRoute.solve

    def solution(*arguments):
        seen.append(
            max(one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas")
        )
        return real(*arguments)

    monkeypatch.setattr(ProductRoute, "solve", solution)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        for n in (60, 900):
            KernelPCA(3, kernel="rbf", solver="dense").fit(np.random.default_rng(0).standard_normal((n, 5)))
    assert seen == [1, 2]


@st.composite
def questions(draw):
    n, d = draw(st.integers(2, 50)), draw(st.integers(1, 50))
    dtype = draw(st.sampled_from(["f4", "f8"]))
    rank = draw(st.integers(0, min(n - 1, d)))
    fall = draw(st.sampled_from([1.0, 0.99, 0.7, 0.2]))
    scale = draw(st.sampled_from([1.0, 1e-6, 1e6] if dtype == "f4" else [1.0, 1e-90, 1e90]))
    values = np.maximum(scale * fall ** np.arange(rank), 1e-3 * scale)
    X = spectrum_matrix(n, d, values, seed=draw(st.integers(0, 9)), mean=draw(st.sampled_from([0, scale])))
    count = draw(st.one_of(st.none(), st.integers(1, min(n, d))))
    fraction = None if count else draw(st.sampled_from([None, 0.5, 0.99]))
    limit = draw(st.sampled_from([PLENTY, 17_500_000, 10**6, 30_000]))
    solver = draw(st.sampled_from(["auto", "full", "covariance", "gram", "krylov"]))
    small = draw(st.booleans())
    return X.astype(dtype), Target(count=count, fraction=fraction), limit, solver, small


@given(questions())
@settings(max_examples=50)
def test_whatever_is_asked_the_certificate_is_true(question):
    """Against eigh in float64: each value within its radius, nothing larger left out, true residuals."""
    X, target, limit, solver, small = question
    problem = LinearProblem(as_rows(X))
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(solving, "SMALL", 0)
            patch.setattr(solving, "QUICK", 0.0)
        try:
            solution = solve(problem, request(target, tol=1e-5, memory_limit=limit, solver=solver))
        except MemoryLimitError:
            assert limit < PLENTY
            assert problem.view is None  # refused before any work
            return
    certificate = solution.certificate
    assert all(attempt.plan.bytes <= limit for attempt in solution.account.attempts)
    unit = 2.0 ** np.frexp(np.abs(X).max())[1]
    C = X.astype(float) / unit
    C = C - C[0]
    C -= C.mean(axis=0)
    exact = np.linalg.svd(C, compute_uv=False) ** 2 / (len(X) - 1)
    values, slack = certificate.values / unit**2, 1e-12 * max(exact[0], 1e-18)
    assert target.count in (None, values.size)
    assert certificate.ok
    assert_allclose(values, exact[: values.size], rtol=0, atol=certificate.set_radius / unit**2 + slack)
    assert (certificate.radii / unit**2 <= 1e-5 * values[0] + slack).all()
    result = problem.directions(solution, target.count)
    W = np.asarray(result.vectors, dtype=float)
    assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-5)
    V, theta = W[:, : result.components.rank], result.components.values[: result.components.rank] / unit**2
    residuals = np.linalg.norm(C.T @ (C @ V) / (len(X) - 1) - V * theta, axis=0)
    assert (residuals <= 2e-5 * exact[0] + slack).all()


def test_an_iteration_that_found_pairs_is_improved_in_float64():
    """Vectors from float32 products start one in float64; residuals are those of the exact matrix."""
    X = spectrum_matrix(500, 180, 10 * 0.9 ** np.arange(100), seed=6, mean=2.0).astype("f4")
    C = X.astype(float) - X.astype(float).mean(axis=0)
    exact = C.T @ C
    for storage in ("whole", "kept", "again"):
        form = Form("covariance", storage, "float32")
        for route in (KrylovRoute(form, 8, 80), *([ProductRoute(form)] if form.whole else [])):
            problem = LinearProblem(as_rows(X))
            operator, wanted = problem.operator(route), request(Target(count=4), tol=1e-8)
            result = improved(operator, route.solve(operator, wanted), wanted)
            assert not result.why
            V = result.spectrum.vectors
            residuals = np.linalg.norm(exact @ V - V * result.spectrum.values, axis=0)
            assert (residuals <= 1.1e-8 * result.spectrum.values[0]).all()
            assert_allclose(result.spectrum.residuals, residuals, atol=1e-11 * exact.trace())
            assert result.spectrum.search_error > result.spectrum.error_bound
