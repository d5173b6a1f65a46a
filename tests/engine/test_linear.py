"""Tables: units, ranks, directions, what float32 data resolve, and the smallest and largest scales."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from gramian import PCA, scan
from gramian.core.arrays import as_float64
from gramian.core.records import SolveRequest, Target
from gramian.engine import centered, linear, solving
from gramian.engine.krylov import KrylovRoute
from gramian.engine.linear import LinearProblem
from gramian.engine.operator import Form
from gramian.engine.routes import ProductRoute
from gramian.engine.scatter import ScatterOperator
from gramian.engine.solving import solve
from gramian.errors import DataError, ParameterError
from gramian.models.fitted import with_orthonormality
from gramian.tables.as_rows import as_rows
from gramian.tables.stored import opened_rows
from helpers import spectrum_matrix

VALUES = np.array([6.0, 3, 2, 1])
SOLVERS = ("auto", "full", "covariance", "gram", "krylov")


def run(X, solver="auto", target=None, *, scale=None, **options):
    """The problem, its solution and its directions."""
    problem = LinearProblem(as_rows(X), scale=scale)
    target = target or Target(count=3)
    solution = solve(
        problem, SolveRequest(target, **{"tol": 1e-6, "memory_limit": 1 << 40, "solver": solver, **options})
    )
    return problem, solution, problem.directions(solution, target.count)


@pytest.mark.parametrize("solver", ["covariance", "gram", "krylov"])
def test_float32_data_end_up_as_accurate_as_tol(solver, monkeypatch):
    """Residuals of the exact matrix of the data as given, and orthonormality as the user holds it."""
    monkeypatch.setattr(solving, "SMALL", 0)
    monkeypatch.setattr(linear, "FEW_ENTRIES", 0)
    shape = (600, 190) if solver != "gram" else (190, 6000)
    X = spectrum_matrix(*shape, 10 * 0.93 ** np.arange(150), seed=2, mean=3).astype("f4")
    C = X.astype(float) - X.astype(float).mean(axis=0)
    exact = C.T @ C if solver != "gram" else C @ C.T
    top = np.linalg.eigvalsh(exact)[::-1][:5]
    steps = set()
    for tol in (1e-5, 1e-8):
        _, solution, result = run(X, solver, Target(count=5), tol=tol)
        steps |= {attempt.plan.arithmetic for attempt in solution.account.attempts}
        V, values = solution.spectrum.vectors, solution.spectrum.values
        residuals = np.linalg.norm(exact @ V - V * values, axis=0)
        assert (residuals <= tol * top[0]).all()
        assert_allclose(values, top, rtol=1e-4 if tol > 1e-6 else 1e-8)
        assert solution.certificate.ok
        assert result.vectors.dtype == np.float32
        W = result.vectors.astype(float)
        assert_allclose(W.T @ W, np.eye(5), atol=1e-6)
    assert "float32" in steps


def test_the_matrix_is_formed_once(monkeypatch):
    """Whatever stalls on a matrix, or is improved after it, does not form it again."""
    formed = []
    real = ScatterOperator.dense

    def dense(self):
        if self._whole is None:
            formed.append(self.centered.arithmetic)
        return real(self)

    monkeypatch.setattr(ScatterOperator, "dense", dense)
    monkeypatch.setattr(solving, "SMALL", 0)
    monkeypatch.setattr(solving, "QUICK", 0.0)
    X = spectrum_matrix(150, 700, np.linspace(1, 0.999, 140), seed=3)
    for dtype in ("f8", "f4"):
        formed.clear()
        problem = LinearProblem(as_rows(X.astype(dtype)))
        form = replace(problem.costs.forms()[0], arithmetic="float64" if dtype == "f8" else "float32")
        routes = (KrylovRoute(form, 8, 60, 2), ProductRoute(form))
        monkeypatch.setattr(solving, "all_routes", lambda costs, target, r=routes: r)
        monkeypatch.setattr(solving, "_order", lambda *_: lambda item: item.route.direct)
        monkeypatch.setattr(KrylovRoute, "with_patience", lambda self, *_: self)
        monkeypatch.setattr(solving, "small_first", lambda *_, **__: None)
        solution = solve(problem, SolveRequest(Target(count=3), 1e-7, 1 << 40))
        assert [attempt.plan.solver for attempt in solution.account.attempts] == ["gram", "gram"]
        assert formed == [np.dtype(dtype)]
        assert solution.certificate.ok
        assert_allclose(solution.spectrum.values, np.linspace(1, 0.999, 140)[:3] ** 2, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_float32_data_have_the_rank_that_their_numbers_have():
    """Singular values down to 1e-6 of the largest, whatever the mean: rounding belongs to arithmetic."""
    for shape in ((300, 90), (90, 300)):
        for mean in (0.0, 100.0):
            X = spectrum_matrix(*shape, np.geomspace(1, 1e-6, 40), seed=1, mean=mean).astype("f4")
            for asked in (None, 40, 30, 12):
                # By a product: an SVD of float64 resolves still smaller values, the rounding to float32.
                double = PCA(asked, solver="covariance").fit(X.astype("f8"))
                for solver in SOLVERS:
                    single = PCA(asked, solver=solver).fit(X)
                    assert single.rank_ == double.rank_ >= (asked or 40), (shape, mean, asked, solver)
                    assert_allclose(
                        single.explained_variance_,
                        double.explained_variance_,
                        rtol=2e-4,
                        atol=1e-7 * double.explained_variance_[0],
                    )


def test_shares_and_orthonormality_are_those_that_the_user_holds():
    for shape in ((90, 300), (300, 90)):
        X = spectrum_matrix(*shape, np.geomspace(1, 1e-7, 50), seed=1).astype("f4")
        number = PCA(1 - 1e-9).fit(X.astype("f8")).n_components_
        for solver in ("full", "covariance", "gram", "krylov"):
            assert PCA(1 - 1e-9, solver=solver).fit(X).n_components_ == number
    noise = np.random.default_rng(1).standard_normal((200, 30))
    for X in (noise, spectrum_matrix(200, 60, np.geomspace(1, 1e-4, 40), seed=1, mean=5.0)):
        for dtype in ("f4", "f8"):
            for solver in SOLVERS:
                for k in (30, None, 0.9999):
                    if k is None and X is not noise:
                        continue
                    model = PCA(k, solver=solver).fit(X.astype(dtype))
                    assert model.explained_variance_ratio_.sum() <= 1 + 4e-16
                    W = model.components_.astype(float)
                    loss = np.linalg.norm(W @ W.T - np.eye(len(W)), 2)
                    assert loss <= model.certificate_.orthogonality
                    assert model.certificate_.orthogonality <= (1e-5 if dtype == "f4" else 1e-12)


def test_values_of_any_scale_stay_in_range_and_orthonormal():
    for shape in [(300, 190), (190, 300)]:
        X = spectrum_matrix(*shape, 10 * 0.9 ** np.arange(100), seed=0)
        for exponent in (-95, -20, 20, 95):
            scale = 10.0**exponent
            model = PCA(3, solver="krylov").fit(X * scale)
            assert model.plan_.solver == "krylov"
            assert model.certificate_.ok
            expected = 100 * 0.81 ** np.arange(3) / (shape[0] - 1)
            assert_allclose(model.explained_variance_ / scale / scale, expected, rtol=1e-6)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)).astype(np.float32)
    X[:, 1] *= np.float32(1e-37)
    X[:, 2] = np.float32(1e14)
    scale = np.array([1.0, 1e-37, 1e-88, 2.0, 0.5])
    exact = np.linalg.svd((X - X.mean(axis=0, dtype=np.float64)) / scale, compute_uv=False) ** 2 / 59
    for solver in ("krylov", "covariance", "gram", "full"):
        model = PCA(2, scale=scale, solver=solver).fit(X)
        assert_allclose(model.explained_variance_, exact[:2], rtol=1e-4)
        assert model.certificate_.ok
    for solver in ["full", "covariance", "gram"]:
        X = spectrum_matrix(20, 5, VALUES, seed=5)
        for divisor in (1e-160, 1e160):
            with pytest.raises(DataError, match="whose square float64 cannot hold"):
                run(X, solver, scale=np.full(5, divisor))
    X = spectrum_matrix(12, 60, [1, 1e-2, 1e-5, 1e-6], seed=1)
    _, _, result = run(X, "gram", Target(count=4))
    assert result.components.rank == 4
    assert result.scores is None
    assert_allclose(result.vectors.T @ result.vectors, np.eye(4), atol=1e-13)
    exact = np.linalg.svd(X - X.mean(axis=0))[2][:2].T
    assert_allclose(np.abs((exact * result.vectors[:, :2]).sum(axis=0)), 1, rtol=1e-12)


def test_the_plan_of_a_model_is_the_route_that_gave_the_answer(monkeypatch):
    monkeypatch.setattr(solving, "SMALL", 0)
    monkeypatch.setattr(solving, "QUICK", 0.0)
    easy = spectrum_matrix(300, 200, 0.5 ** np.arange(20), seed=3)
    model = PCA(3, random_state=0).fit(easy)
    assert model.plan_ == PCA(3, random_state=0).plan(easy) == model.attempts_[0].plan
    assert model.plan_.took > 0
    X = spectrum_matrix(300, 200, np.linspace(1, 0.9999, 180), seed=3)
    monkeypatch.setattr(KrylovRoute, "passes_worth", lambda *_: 2)
    model = PCA(3, solver="krylov", random_state=0).fit(X)
    planned = PCA(3, solver="krylov").plan(X)
    assert model.attempts_[0].plan == planned
    assert model.plan_ != planned
    assert model.plan_ == model.attempts_[-1].plan
    assert "not accepted: block Krylov stalled" in str(model.attempts_[0])
    assert model.spectrum_.note.endswith("took over")
    assert model.certificate_.ok


@pytest.mark.parametrize(("center", "offset"), [(True, 0.0), (True, 1e3), (False, 0.3)])
def test_a_probe_bounds_the_rounding_of_a_flat_table(center, offset):
    X = (np.random.default_rng(0).standard_normal((300_000, 30)) + offset).astype(np.float32)
    C = X.astype(float)
    C -= C.mean(axis=0) if center else 0.0
    exact = np.linalg.eigvalsh(C.T @ C / (len(X) - 1))[::-1]
    probed = PCA(3, center=center).fit(X)
    assert "covariance" in str(probed.attempts_[0])
    assert len(probed.attempts_) == 1
    certificate = probed.certificate_
    assert certificate.ok
    assert certificate.widening_kind == "probabilistic"
    assert certificate.widening < 2e-6 * exact[0]  # so that no second product is needed
    assert "except with probability 1.0e-06 [probabilistic]" in str(certificate)
    worst = PCA(3, center=center, certificate="deterministic").fit(X).certificate_
    assert worst.ok
    assert worst.widening_kind == "deterministic"
    for found in (certificate, worst):
        assert (np.abs(found.values - exact[:3]) <= found.radii).all()
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        PCA(3, certificate="sure").fit(X[:9])


@pytest.mark.parametrize("solver", ["covariance", "krylov"])
@pytest.mark.parametrize("every", [64, 240, 1310])
def test_sums_of_float32_that_stagnate_are_covered_by_what_is_stated(array_kind, solver, every, monkeypatch):
    """Squares that are lost one by one beside a large one, so that errors all have one sign."""
    monkeypatch.setattr(linear, "FEW_ENTRIES", 0)
    n, d = 60_000, 20
    v = np.full(n, np.sqrt(0.98 * 2.0**-24))
    v[::every] = 1.0
    v *= np.where(np.arange(n) // every % 2 == 0, 1, -1)
    X = np.repeat(v.astype("f4")[:, None], d, axis=1)
    exact = d * float(np.sum((X[:, 0] - X[:, 0].mean(dtype="f8")) ** 2, dtype="f8")) / (n - 1)
    certificate = PCA(1, solver=solver).fit(array_kind.make(X)).certificate_
    assert certificate.ok
    assert abs(certificate.values[0] - exact) <= certificate.radii[0] + 1e-14 * exact


def test_columns_of_float32_far_apart_are_scaled_as_exactly_as_others(array_kind):
    f, g = np.random.default_rng(0).standard_normal((2, 12_000, 1))
    single = array_kind.dtype == np.float32
    for factor in (1e-24, 1e-37, 1e22, 1e34) if single else (1e-37, 1e34):
        X = np.c_[np.repeat(f, 240, 1), np.repeat(g, 60, 1) * factor].astype("f4")
        C = X.astype("f8") - X.astype("f8").mean(axis=0)
        for tol in (None, 1e-4) if single else (None,):
            model = PCA(2, scale="unit", tol=tol).fit(array_kind.make(X))
            r = np.corrcoef(C[:, [0, 240]].T)[0, 1]
            block = np.array([[240.0, r * np.sqrt(240 * 60)], [r * np.sqrt(240 * 60), 60.0]])
            exact = np.linalg.eigvalsh(block)[::-1]
            assert model.certificate_.ok
            assert_allclose(as_float64(model.explained_variance_), exact, rtol=1e-5)
            assert (np.abs(model.certificate_.values - exact) <= model.certificate_.radii + 1e-9).all()


def test_a_probe_sees_what_a_product_has_wrong(monkeypatch):
    X = np.random.default_rng(0).standard_normal((9000, 20)).astype(np.float32)
    route = ProductRoute(Form("covariance", "whole", "float32"))
    right = LinearProblem(as_rows(X)).build(route).dense_error
    monkeypatch.setattr(centered.np, "matmul", lambda a, b, out=None: np.multiply(a @ b, 1.01, out=out))
    operator = LinearProblem(as_rows(X)).build(route)
    C = X - X.mean(axis=0, dtype=float)
    error = np.linalg.norm(operator.dense() - C.T @ C, 2)
    assert right < 1e-3 * error < error < operator.dense_error


@pytest.mark.walk
def test_orthonormality_of_many_vectors_is_measured():
    certificate = PCA(2).fit(np.random.default_rng(0).standard_normal((20, 4))).certificate_
    for m, k in ((20_000, 500), (1500, 1400)):
        V = np.linalg.qr(np.random.default_rng(1).standard_normal((m, k)))[0].astype(np.float32)
        loss = np.linalg.norm(V.T.astype(float) @ V.astype(float) - np.eye(k), 2)
        stated = with_orthonormality(certificate, V, None).orthogonality
        assert loss <= stated <= 1.01 * loss + m * np.finfo(float).eps


def stored(tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    return opened_rows(scan(tmp_path / "x.npy").open(1 << 20).values, 1 << 20)


@pytest.mark.parametrize("kind", ["normal", "signs", "one large row", "offset"])
def test_a_pass_over_a_file_in_float32_is_bounded_by_its_probe(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(linear, "FEW_COLUMNS", 50)
    n, d = 20_000, 100
    X = np.random.default_rng(0).standard_normal((n, d)) * 0.97 ** np.arange(d)
    if kind == "signs":
        X = np.where(X > 0, 1.1, -1.1)
    if kind == "one large row":
        X[1] *= 300
    X = (X + (1e4 if kind == "offset" else 0)).astype("f4")
    C = X.astype(float) - X.astype(float).mean(axis=0)
    exact = np.linalg.eigvalsh(C.T @ C)[::-1]
    problem = LinearProblem(stored(tmp_path, X))
    solution = solve(problem, SolveRequest(Target(count=5), tol=1e-5, memory_limit=1 << 40))
    assert [attempt.plan.arithmetic for attempt in solution.account.attempts] == ["float32"]
    assert problem.rows.passes.count == 1
    assert solution.certificate.ok
    assert solution.spectrum.error_kind == "probabilistic"
    off = np.abs(solution.spectrum.values - exact[:5]).max()
    assert 0 < off <= solution.spectrum.error_bound < 1e-5 * exact[0]


@pytest.mark.parametrize("kind", ["alike", "unequal", "unit", "uncentred", "tol", "deterministic", "weights"])
@pytest.mark.walk
def test_the_covariance_of_sparse_float32_rows_is_bounded_by_a_probe(kind):
    draw = np.random.default_rng(0)
    n, d = 8000, 400
    shares = np.full(d, 0.07) if kind == "alike" else np.minimum(draw.lognormal(-3, 1.5, d), 0.9)
    X = ((draw.random((n, d)) < shares) * draw.lognormal(0, 0.5, (n, d))).astype("f4")
    C = X.astype(float) - (0 if kind == "uncentred" else X.astype(float).mean(axis=0))
    C = C / C.std(axis=0, ddof=1) if kind == "unit" else C
    exact = np.linalg.eigvalsh(C.T @ C)[::-1]
    rows = as_rows(sparse.csr_matrix(X))
    rows = replace(rows, weights=np.ones(n)) if kind == "weights" else rows
    settings = {"scale": "unit" if kind == "unit" else None, "worst_case": kind == "deterministic"}
    problem = LinearProblem(rows, center=kind != "uncentred", **settings)
    tol = 1e-9 if kind == "tol" else 1e-7
    solution = solve(problem, SolveRequest(Target(count=10), tol=tol, memory_limit=1 << 40))
    arithmetic = "float64" if kind in ("tol", "deterministic", "weights") else "float32"
    assert [attempt.plan.arithmetic for attempt in solution.account.attempts] == [arithmetic]
    assert solution.certificate.ok
    off = np.abs(solution.spectrum.values - exact[:10]).max()
    assert off <= solution.spectrum.error_bound + solution.spectrum.residuals.max() <= tol * exact[0]


@pytest.mark.parametrize("why", ["tol", "deterministic", "steep", "scaled", "few columns", "weights"])
def test_a_file_is_multiplied_in_float64_where_float32_would_read_it_twice(why, tmp_path):
    n, d = 20_000, 40 if why == "few columns" else 100
    X = np.random.default_rng(0).standard_normal((n, d))
    X = (X * (0.5 if why == "steep" else 0.97) ** np.arange(d)).astype("f4")
    rows = stored(tmp_path, X)
    rows = replace(rows, weights=np.ones(n)) if why == "weights" else rows
    scale = "unit" if why == "scaled" else None
    problem = LinearProblem(rows, scale=scale, worst_case=why == "deterministic")
    tol = 1e-8 if why == "tol" else 1e-5
    solution = solve(problem, SolveRequest(Target(count=20), tol=tol, memory_limit=1 << 40))
    assert [attempt.plan.arithmetic for attempt in solution.account.attempts] == ["float64"]
    assert problem.rows.passes.count == 1
    assert solution.certificate.ok
