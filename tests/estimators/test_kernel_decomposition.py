"""From a plan and a source of tiles to eigenpairs: the record that the estimator stores."""

import math

import numpy as np
import pytest

import gramian.estimators.kernel_decomposition as module
from gramian.errors import IndefiniteKernelError, RankWarning
from gramian.estimators.kernel_decomposition import KernelRequest, decompose_kernel
from gramian.estimators.kernel_pca import KernelPCA
from gramian.kernels import RBF, Linear, Polynomial
from gramian.operators.kernel_source import KernelSource, MatrixSource
from gramian.planning import plan_kernel_pca
from gramian.records import Target
from gramian.rows import as_rows
from gramian.solvers.krylov import Stalled

X = np.random.default_rng(0).standard_normal((120, 4)) * [2.0, 1.2, 0.8, 0.5]


def decompose(kernel, values=X, *, target=None, solver="dense", psd=True, center=True, clip=False, tol=1e-6):
    """Run the whole line for a kernel, or for a matrix when there is none."""
    rows = as_rows(values)
    n, d = rows.shape
    target = target or Target(count=3)
    plan = plan_kernel_pca(n, d, rows.dtype, target, solver, 10**9, psd=psd, whole=clip)
    assert plan.solver == solver
    source = (
        MatrixSource(values) if kernel is None else KernelSource(kernel.bind(values, centered=center), values)
    )
    request = KernelRequest(
        target=target,
        tol=tol,
        center=center,
        psd=psd,
        clip=clip,
        solver_rng=np.random.default_rng(1),
        probe_rng=np.random.default_rng(2),
    )
    return decompose_kernel(source, rows, plan, request)


def centred(K, center=True):
    if not center:
        return K
    t = K.mean(axis=1)
    return K - t[:, None] - t[None, :] + K.mean()


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", [RBF(sigma=2.0), Polynomial(degree=2), Linear()])
def test_every_part_of_the_record(kernel, center, solver):
    found = decompose(kernel, solver=solver, center=center)
    K = kernel.gram(X)
    Kc = centred(K, center)
    values = np.linalg.eigvalsh(Kc)[::-1]
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-8)
    V, alpha = found.vectors, found.coefficients
    np.testing.assert_allclose(Kc @ V, V * found.values, atol=1e-5 * values[0])
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    # alpha.T Kc alpha = I: directions of length 1 in feature space.
    np.testing.assert_allclose(alpha.T @ Kc @ alpha, np.eye(3), atol=1e-6)
    assert found.total == pytest.approx(np.trace(Kc), rel=1e-10)
    assert found.rank == 3
    if not center:
        assert found.mean == 0
        np.testing.assert_array_equal(found.row_means, 0)
    elif kernel != Linear():
        np.testing.assert_allclose(found.row_means, K.mean(axis=1), rtol=1e-12)
        assert found.mean == pytest.approx(K.mean(), rel=1e-12)
    else:
        # Rows are shifted to their mean first, where sums of the linear kernel vanish.
        np.testing.assert_allclose(found.row_means, 0, atol=1e-13)


def test_rest_of_a_whole_spectrum_follows_the_kept_part():
    found = decompose(RBF(sigma=2.0), target=Target(fraction=0.9))
    values = np.linalg.eigvalsh(centred(RBF(sigma=2.0).gram(X)))[::-1]
    every = np.concatenate([found.spectrum.values, found.spectrum.rest])
    np.testing.assert_allclose(every, values, atol=1e-12 * values[0])
    assert found.spectrum.values.size == found.values.size == found.vectors.shape[1]
    assert found.spectrum.residuals.size == found.values.size


def test_all_of_them():
    found = decompose(Linear(), target=Target())
    assert found.values.size == found.rank == 4
    assert found.certificate.ok


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_beyond_the_rank_nothing_is_divided_by_zero(solver):
    found = decompose(Linear(), X[:, :2], target=Target(count=4), solver=solver)
    assert found.rank == 2
    np.testing.assert_array_equal(found.values[2:], 0)
    np.testing.assert_array_equal(found.coefficients[:, 2:], 0)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-12)


def test_a_stalled_iteration_hands_over_to_the_dense_route(monkeypatch):
    def stalls(*args, **options):
        raise Stalled(7, 1e-3, None)

    monkeypatch.setattr(module, "krylov", stalls)
    found = decompose(RBF(sigma=2.0), solver="krylov")
    assert found.spectrum.route == "dense"
    assert "stalled after 7 block products" in found.spectrum.note
    assert "the dense route took over" in found.spectrum.note
    values = np.linalg.eigvalsh(centred(RBF(sigma=2.0).gram(X)))[::-1]
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-10)


def test_an_iteration_that_lost_an_eigenvalue_is_not_believed(monkeypatch):
    """A solver that returns pairs 2 to 4, converged: the probe sees the first, and all are computed."""
    K = centred(RBF(sigma=1.0).gram(X))
    values = np.linalg.eigvalsh(K)

    def misses(operator, target, **options):
        found = module.solve_dense(operator, Target(), "dense")
        return module.replace(
            found,
            values=found.values[1:4],
            vectors=found.vectors[:, 1:4],
            residuals=found.residuals[1:4],
            rest=np.empty(0),
            route="krylov",
            complete=False,
        )

    monkeypatch.setattr(module, "krylov", misses)
    found = decompose(RBF(sigma=1.0), solver="krylov")
    assert values[-1] > 1.4 * values[-4]
    np.testing.assert_allclose(found.values, values[::-1][:3], rtol=1e-10)
    assert "may have missed an eigenvalue; the dense route took over" in found.spectrum.note
    assert found.certificate.ok


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_multiplicity_larger_than_the_block(copies):
    """Equal eigenvalues, more of them than a block is wide."""
    rows = np.repeat(1e3 * np.arange(40.0)[:, None], copies, axis=0)
    model = KernelPCA(10, kernel=RBF(sigma=1.0), solver="krylov", random_state=0).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_, copies, rtol=1e-10)


# ---------------------------------------------------------- float32 tiles


def tile_types(monkeypatch, kernel, values, tol=1e-5):
    kept = []
    original = module.TileMatrix

    def watched(*arguments):
        tiles = original(*arguments)
        kept.append(tiles.storage)
        return tiles

    monkeypatch.setattr(module, "TileMatrix", watched)
    found = decompose(kernel, values, solver="krylov", tol=tol)
    return kept[0], found


def test_float32_data_is_kept_in_float32_where_that_is_accurate(monkeypatch):
    storage, found = tile_types(monkeypatch, RBF(sigma=2.0), X.astype(np.float32))
    assert storage == np.float32
    assert found.certificate.ok
    assert found.certificate.widening >= 2.0**-24 * np.linalg.norm(RBF(sigma=2.0).gram(X)) * 0.99
    values = np.linalg.eigvalsh(centred(RBF(sigma=2.0).gram(X.astype(np.float32))))[::-1]
    assert (np.abs(found.values - values[:3]) <= found.certificate.radii).all()


@pytest.mark.parametrize(
    ("kernel", "factor", "tol"),
    [
        (RBF(sigma=300.0), 1.0, 1e-5),  # centring takes nearly all of it away
        (RBF(sigma=2.0), 1.0, 1e-8),
        (Linear(), 1e-22, 1e-5),
        (Linear(), 1e18, 1e-5),
    ],
)
def test_float32_tiles_are_not_used_where_they_would_show(monkeypatch, kernel, factor, tol):
    values = (X * factor).astype(np.float32)
    storage, found = tile_types(monkeypatch, kernel, values, tol)
    assert storage == np.float64
    assert found.certificate.ok


def test_float64_data_is_kept_in_float64(monkeypatch):
    assert tile_types(monkeypatch, RBF(sigma=2.0), X, 1e-3)[0] == np.float64


# ------------------------------------------------------------ extreme sizes


@pytest.mark.parametrize("exponent", [-900, -400, 400, 900])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_matrices_whose_squares_do_not_fit(exponent, solver):
    K = RBF(sigma=2.0).gram(X)
    expected = decompose(None, K, solver=solver, psd=False)
    found = decompose(None, K * 2.0**exponent, solver=solver, psd=False)
    factor = 2.0**exponent
    np.testing.assert_allclose(found.values / factor, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.certificate.values / factor, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.row_means / factor, expected.row_means, rtol=1e-12)
    np.testing.assert_allclose(found.spectrum.values / factor, expected.values, rtol=1e-12)
    assert found.mean / factor == pytest.approx(expected.mean)
    assert found.certificate.ok
    assert math.isfinite(found.spectrum.error_bound)


# --------------------------------------------------------------- indefinite


def shifted(values, seed=3):
    n = len(values) + 1
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, n - 1))]))[0][:, 1:]
    K = (Q * np.asarray(values)) @ Q.T
    return (K + K.T) / 2


def test_error_says_how_many_are_positive():
    K = shifted([5.0, 4.0, 1.0, -3.0])
    with pytest.raises(IndefiniteKernelError, match=r"eigenvalue -3, negative .* 3 eigenvalues are positive"):
        decompose(None, K, target=Target(count=4), psd=False)
    with pytest.raises(IndefiniteKernelError, match=r"eigenvalue -3e\+200, negative"):
        decompose(None, 1e200 * K, target=Target(count=4), psd=False)


def test_total_only_where_nothing_is_negative():
    K = shifted(np.linspace(1.0, 0.1, 30))
    assert decompose(None, K, psd=False).total == pytest.approx(np.trace(K))
    assert decompose(None, K, psd=False, solver="krylov").total is None
    K = shifted([*np.linspace(1.0, 0.1, 30), -0.01])
    assert decompose(None, K, psd=False).total is None


@pytest.mark.parametrize("factor", [1.0, 2.0**-900, 2.0**900])
def test_clipping_sets_negative_eigenvalues_to_0_and_says_what_that_changes(factor):
    values = np.array([5.0, 4.0, 1.0, 1e-17, -0.5, -3.0])
    found = decompose(None, shifted(values) * factor, target=Target(count=6), psd=False, clip=True)
    np.testing.assert_allclose(found.values / factor, [5.0, 4.0, 1.0, 0, 0, 0], atol=1e-14)
    assert found.rank == 3
    assert found.total / factor == pytest.approx(10.0)
    repair = found.repair
    assert (repair.count, repair.size) == (2, 7)
    assert repair.smallest / factor == pytest.approx(-3.0)
    assert repair.negative / factor == pytest.approx(3.5)
    assert repair.total / factor == pytest.approx(13.5)
    assert repair.change == pytest.approx(np.sqrt((0.25 + 9) / np.sum(values**2)))
    assert found.certificate.ok


def test_a_proven_kernel_has_nothing_to_clip():
    found = decompose(RBF(sigma=2.0), clip=True, solver="krylov")
    assert (found.repair.count, found.repair.size, found.repair.change) == (0, 120, 0.0)
    assert found.repair.total == pytest.approx(found.total)
    assert found.spectrum.route == "krylov"
    assert decompose(RBF(sigma=2.0)).repair is None


def test_tiny_negative_eigenvalues_are_rounding():
    K = shifted([1.0, 0.5, 1e-17, -1e-17, -1e-17])
    found = decompose(None, K, target=Target(count=5), psd=False)
    assert found.rank == 2
    np.testing.assert_array_equal(found.values[2:], 0)
    with pytest.warns(RankWarning, match="rank 2"):
        KernelPCA(5, kernel="precomputed").fit(K)
