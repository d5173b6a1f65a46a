"""Kernels: from tiles to coefficients, float32 tiles, what a user's function costs, indefinite matrices."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gramian import KernelPCA
from gramian.core.records import SolveRequest, Target
from gramian.engine import krylov, solving, tiles
from gramian.engine.kernel import KernelProblem
from gramian.engine.krylov import KrylovRoute
from gramian.engine.solving import solve
from gramian.engine.tiles import KernelSource, MatrixSource
from gramian.errors import IndefiniteKernelError, MemoryLimitError
from gramian.kernels import RBF, Laplacian, Linear, Matern, Polynomial
from gramian.tables.as_rows import as_rows
from helpers import centred, indefinite

X = np.random.default_rng(0).standard_normal((120, 4)) * [2.0, 1.2, 0.8, 0.5]
PLENTY = 1 << 40


def decompose(
    function,
    values=X,
    target=None,
    solver="auto",
    *,
    psd=True,
    center=True,
    clip=False,
    tol=1e-6,
    limit=PLENTY,
):
    """Run the whole line for a kernel, or for a matrix when there is none."""
    target = target or Target(count=3)
    source = (
        MatrixSource(values)
        if function is None
        else KernelSource(function.bind(values, min(1e-9, tol / 100), centered=center), values)
    )
    problem = KernelProblem(
        as_rows(values),
        source,
        center=center,
        psd=psd,
        clip=clip,
        given=function is None,
        fraction=target.fraction is not None,
    )
    solution = solve(problem, SolveRequest(target, tol, limit, solver))
    return solution, problem.coefficients(solution, target.count)


def test_a_stalled_iteration_hands_over_to_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(KrylovRoute, "passes_worth", lambda *_: 1)
    solution, result = decompose(RBF(sigma=0.5), solver="krylov")
    assert "stalled after 1 block products" in solution.spectrum.note
    assert solution.spectrum.note.endswith("dense on the centred kernel matrix took over")
    assert [attempt.plan.solver for attempt in solution.account.attempts][-1] == "dense"
    values = np.linalg.eigvalsh(centred(RBF(sigma=0.5).gram(X)))[::-1]
    assert_allclose(result.components.values, values[:3], rtol=1e-10)


def storages(monkeypatch):
    """What tiles are kept in, and the real one."""
    kept, real = [], tiles.TileMatrix

    def watched(*arguments, **options):
        made = real(*arguments, **options)
        kept.append(made.storage)
        return made

    monkeypatch.setattr(tiles, "TileMatrix", watched)
    return kept


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_float32_tiles_and_a_step_in_float64_give_what_float64_gives(monkeypatch, dtype, tol):
    monkeypatch.setattr(solving, "QUICK", 0.0)
    kept = storages(monkeypatch)
    # The same numbers in either type, so that the definition is one.
    values = X.astype("f4").astype(dtype)
    for function in (RBF(sigma=2.0), RBF(sigma=30.0), Polynomial(degree=3), Linear()):
        solution, result = decompose(function, values, solver="krylov", tol=tol)
        Kc = centred(function.gram(values.astype("f8")))
        exact = np.linalg.eigvalsh(Kc)[::-1]
        V = solution.spectrum.vectors
        residuals = np.linalg.norm(Kc @ V - V * result.components.values, axis=0)
        assert (residuals <= 1.01 * tol * exact[0]).all()
        assert_allclose(result.components.values, exact[:3], atol=tol * exact[0])
        assert (np.abs(result.components.values - exact[:3]) <= solution.certificate.radii).all()
        assert solution.certificate.ok
        assert result.vectors.dtype == values.dtype
        assert result.components.ratio.sum() <= 1
    assert np.dtype("f4") in kept


@pytest.mark.parametrize(
    ("function", "factor"),
    [(RBF(sigma=300.0), 1.0), (Linear(), 1e-22), (Linear(), 1e18)],
    ids=["nearly constant", "tiny", "huge"],
)
def test_where_float32_tiles_would_show_they_do_not(monkeypatch, function, factor):
    monkeypatch.setattr(solving, "QUICK", 0.0)
    values = (X * factor).astype("f4")
    solution, result = decompose(function, values, solver="krylov", tol=1e-5)
    C = values.astype("f8") / factor - (values.astype("f8") / factor).mean(axis=0)
    if factor != 1.0:
        exact = np.linalg.svd(C, compute_uv=False)[:3] ** 2 * factor * factor
        assert_allclose(result.components.values, exact, rtol=1e-5)
    else:
        # To first order a very wide kernel is a multiple of the linear one.
        assert_allclose(
            result.components.values * 300.0**2, np.linalg.svd(C, compute_uv=False)[:3] ** 2, rtol=1e-3
        )
    assert solution.certificate.ok


def tables(n=700):
    rng = np.random.default_rng(5)
    plain = rng.standard_normal((n, 6)) * [3, 2, 1.5, 1, 1, 1]
    clusters = plain + 4.0 * rng.standard_normal((5, 6))[rng.integers(5, size=n)]
    return {
        "plain": (plain.astype("f4"), 3.0),
        "offset": ((plain + 1e4).astype("f4"), 3.0),
        "duplicates": (plain[rng.integers(40, size=n)].astype("f4"), 3.0),
        "clusters": (clusters.astype("f4"), 3.0),
        "falling": (plain.astype("f4"), 30.0),
        "equal": (np.repeat(np.eye(6), n // 6 + 1, axis=0)[:n].astype("f4"), 1.0),
        "far": ((plain + 900.0 * rng.standard_normal((4, 6))[rng.integers(4, size=n)]).astype("f4"), 3.0),
        "huge": (plain * 1e95, 3e95),
    }


def of_definition(rows, sigma):
    rows = rows.astype("f8") / sigma
    K = np.exp(-0.5 * np.square(rows[:, None, :] - rows[None, :, :]).sum(axis=2))
    return centred(K)


@pytest.mark.parametrize("name", list(tables(60)))
@pytest.mark.walk
def test_tiles_made_again_give_what_the_definition_gives(name):
    """Float32 tiles, none of them kept: certified, and the certificate is true."""
    values, sigma = tables()[name]
    Kc = of_definition(values, sigma)
    exact = np.linalg.eigvalsh(Kc)[::-1]
    model = KernelPCA(4, kernel=RBF(sigma=sigma), solver="krylov", tol=1e-5, random_state=0)
    everything = model.plan(values)
    least = min(other.bytes for other in everything.alternatives)
    for limit in (least, (least + everything.bytes) // 2):
        model.memory_limit = limit
        foreseen = model.plan(values)
        model.fit(values)
        # What plan says is what fit does; distances of far clusters are nothing for float32.
        assert (model.plan_.steps, model.plan_.bytes) == (foreseen.steps, foreseen.bytes)
        assert "recomputed in every pass" in foreseen.steps[0].detail
        assert [attempt.plan.arithmetic for attempt in model.attempts_] == ["float32"]
        assert model.certificate_.ok
        V = model.eigenvectors_.astype("f8")
        residuals = np.linalg.norm(Kc @ V - V * model.eigenvalues_, axis=0)
        assert (residuals <= 1e-5 * exact[0] + 1e-6 * exact[0]).all()
        assert (np.abs(model.eigenvalues_ - exact[:4]) <= model.certificate_.radii).all()
        assert (model.certificate_.radii <= 1e-5 * exact[0]).all()


def test_float32_evaluates_where_its_bound_allows_it():
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((600, 6)).astype("f4")
    far = plain + 300.0 * rng.standard_normal((4, 6))[rng.integers(4, size=600)].astype("f4")
    near = RBF(sigma=1.0).bind(plain, 1e-9, centered=True)
    relative, absolute = near.single
    source = KernelSource(near, plain)
    tile = source.single()(slice(0, 300), slice(300, 600), np.empty((300, 300), "f4"))
    assert tile.dtype == np.float32
    exact = source(slice(0, 300), slice(300, 600))
    gap = np.abs(tile - exact)
    assert (gap <= relative * exact + absolute).all()
    assert 1e-8 < gap.max() < relative < 1e-4
    # The same formula on clusters far apart is wrong in every digit, and its bound is not offered.
    assert RBF(sigma=1.0).bind(far, 1e-9, centered=True).single is None
    for other in (RBF(sigma=1.0) + 0.5, Polynomial(), Matern(1.0), Laplacian()):
        assert other.bind(plain, 1e-9, centered=True).single is None


def test_where_float32_leaves_digits_open_float64_follows(monkeypatch):
    """A bound that is claimed and not kept: float32 tiles are wrong, and the answer is not."""

    class Wrong(KernelSource):
        def single(self):
            other = super().single()
            other.left = other.left * np.float32(1.02)
            return other

    monkeypatch.setattr("gramian.models.kernel_pca.fits.KernelSource", Wrong)
    monkeypatch.setattr(tiles, "KernelSource", Wrong)
    values, sigma = tables(700)["plain"]
    exact = np.linalg.eigvalsh(of_definition(values, sigma))[::-1]
    model = KernelPCA(4, kernel=RBF(sigma=sigma), solver="krylov", tol=1e-8, random_state=0)
    model.memory_limit = min(other.bytes for other in model.plan(values).alternatives)
    model.fit(values)
    assert model.certificate_.ok
    assert_allclose(model.eigenvalues_, exact[:4], rtol=1e-7)


def test_a_start_from_few_rows_saves_passes_and_hides_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1000, 6)).astype("f4")
    # A cluster of few rows that few rows of all are not likely to show, and no others know of.
    values[:20] = 30.0 + 0.01 * rng.standard_normal((20, 6))
    few, source = tiles.leading_from_few, []
    monkeypatch.setattr(tiles, "FEW_ROWS", 30)
    monkeypatch.setattr(tiles, "leading_from_few", lambda *a: source.append(few(*a)) or source[-1])
    model = KernelPCA(3, kernel=RBF(sigma=4.0), solver="krylov", tol=1e-5, random_state=0)
    model.memory_limit = min(other.bytes for other in model.plan(values).alternatives)
    model.fit(values)
    assert len(source) == 1
    exact = np.linalg.eigvalsh(of_definition(values, 4.0))[::-1]
    assert_allclose(model.eigenvalues_, exact[:3], rtol=1e-5)
    assert model.certificate_.ok
    passes = model.attempts_[0].passes
    monkeypatch.setattr(tiles, "leading_from_few", lambda *_: None)
    assert model.fit(values).attempts_[0].passes > passes


def test_vectors_are_orthonormal_and_positive_values_not_denied():
    for dtype in ("f4", "f8"):
        model = KernelPCA(20, kernel="rbf").fit(X.astype(dtype))
        V = model.eigenvectors_.astype("f8")
        assert np.linalg.norm(V.T @ V - np.eye(20), 2) <= model.certificate_.orthogonality < 1e-5
        assert model.explained_variance_ratio_.sum() <= 1
    # Three positive eigenvalues, ten thousand times smaller than the negative ones.
    values = [1e-4, 9e-5, 8e-5]
    K = indefinite([*values, *-np.linspace(0.01, 1, 400)], seed=3)
    solution, result = decompose(None, K, solver="krylov", psd=False)
    assert [attempt.plan.solver for attempt in solution.account.attempts] == ["krylov", "dense"]
    assert_allclose(result.components.values, values, rtol=1e-9)
    with pytest.raises(IndefiniteKernelError, match="The Gram matrix has the eigenvalue -1, negative beyond"):
        decompose(None, K, Target(count=4), solver="krylov", psd=False)


@pytest.mark.parametrize("passes", [400, 2])
@pytest.mark.parametrize("solver", ["auto", "krylov", "dense"])
def test_a_function_of_two_rows_is_not_called_twice_for_a_value(monkeypatch, solver, passes):
    """Not by an iteration, and not by what takes over from it."""
    calls = {}

    def function(x, y):
        key = x.tobytes(), y.tobytes()
        calls[key] = calls.get(key, 0) + 1
        return float(np.exp(-((x - y) ** 2).sum()))

    monkeypatch.setattr(KrylovRoute, "passes_worth", lambda *_: passes)
    monkeypatch.setattr(solving, "QUICK", 0.0)
    monkeypatch.setattr(krylov, "PASS", 0.0)
    rows = X[:70].copy()
    model = KernelPCA(3, kernel=function, solver=solver, random_state=0).fit(rows)
    if passes == 2 and solver != "dense":
        assert len(model.attempts_) > 1
    # The diagonal is computed on its own too, and a few values are what the time of a call is measured on.
    measured = sum(count - 1 for (x, y), count in calls.items() if x != y)
    assert measured <= 100
    assert all(count <= 4 for count in calls.values())
    assert len(calls) <= 70 * 70 + 1


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_matrices_whose_squares_do_not_fit(solver):
    K = RBF(sigma=2.0).gram(X)
    _, expected = decompose(None, K, solver=solver, psd=False)
    for exponent in (-900, -400, 400, 900):
        factor = 2.0**exponent
        solution, result = decompose(None, K * factor, solver=solver, psd=False)
        assert_allclose(result.components.values / factor, expected.components.values, rtol=1e-12)
        assert_allclose(solution.certificate.values / factor, expected.components.values, rtol=1e-12)
        assert_allclose(result.row_means / factor, expected.row_means, rtol=1e-12)
        assert result.mean / factor == pytest.approx(expected.mean)
        assert solution.certificate.ok
        assert math.isfinite(solution.spectrum.error_bound)


@st.composite
def questions(draw):
    n, d = draw(st.integers(2, 70)), draw(st.integers(1, 6))
    rows = np.random.default_rng(draw(st.integers(0, 99))).standard_normal((n, d))
    rows = rows * draw(st.sampled_from([1.0, 1e-3, 1e3])) + draw(st.sampled_from([0.0, 10.0]))
    rows = np.repeat(rows, draw(st.sampled_from([1, 1, 3])), axis=0).astype(
        draw(st.sampled_from(["f4", "f8"]))
    )
    function = draw(st.sampled_from([RBF(sigma=1.0), RBF(sigma=50.0), Linear(), Polynomial(degree=2), None]))
    count = draw(st.one_of(st.none(), st.integers(1, len(rows))))
    fraction = None if count else draw(st.sampled_from([None, 0.5, 0.999]))
    return (
        rows,
        function,
        Target(count=count, fraction=fraction),
        draw(st.sampled_from(["auto", "dense", "krylov"])),
        draw(st.sampled_from([PLENTY, 17_000_000, 10**6])),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@given(questions())
@settings(max_examples=60)
def test_whatever_is_asked_the_certificate_is_true(question):
    """Against eigh in float64 of the centred matrix of the rows as given; None is a matrix of the user's."""
    rows, function, target, solver, limit, small, center = question
    exactly = rows.astype("f8")
    K = exactly @ exactly.T if function is None else function.gram(exactly)
    Kc = centred(K) if center else K
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(solving, "QUICK", 0.0)
        try:
            solution, result = decompose(
                function,
                K if function is None else rows,
                target,
                solver,
                psd=function is not None,
                center=center,
                tol=1e-5,
                limit=limit,
            )
        except MemoryLimitError:
            assert limit < PLENTY
            return
    assert all(attempt.plan.bytes <= limit for attempt in solution.account.attempts)
    exact, certificate = np.linalg.eigvalsh(Kc)[::-1], solution.certificate
    slack = 1e-12 * np.abs(K).max() * len(K)
    values = result.components.values
    assert target.count in (None, values.size)
    assert_allclose(values, exact[: values.size], rtol=0, atol=1e-5 * exact[0] + slack)
    if not certificate.ok:
        # Where centring takes nearly everything away, the rounding of the kernel's values is what is left.
        assert certificate.widening > 0.5e-5 * exact[0]
        return
    known = certificate.values
    assert (np.abs(known - exact[: known.size]) <= certificate.set_radius + slack).all()
    assert (certificate.radii <= 1e-5 * max(known[0], 0) + slack).all()
    V = np.asarray(result.vectors, dtype="f8")
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-5)
    rank = result.components.rank
    residuals = np.linalg.norm(Kc @ V[:, :rank] - V[:, :rank] * values[:rank], axis=0)
    assert (residuals <= 2e-5 * exact[0] + slack).all()
