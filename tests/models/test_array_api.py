"""Arrays of any library, and those that NumPy cannot read: what comes in decides where everything runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils import estimator_checks

from gramian import PCA, KernelPCA, Whitener, choose_components, load
from gramian.core import arrays
from gramian.core.arrays import as_float64, is_numpy, moved, to_numpy
from gramian.engine.features import KernelValues
from gramian.errors import CostWarning, DataError, InputTypeError
from gramian.kernels import RBF
from gramian.models.kernel_pca import preimages
from gramian.models.kernel_pca.preimages import minimised
from gramian.tables.as_rows import as_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 6)) * 0.7 ** np.arange(6) + 1.0
NEW = RNG.standard_normal((9, 6)) * 0.7 ** np.arange(6) + 1.0
NYSTROEM = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=30, random_state=0)
MODELS = (
    PCA(2),
    PCA(0.9, solver="full", scale="unit", whiten=True),
    PCA(2, solver="krylov", random_state=0),
    KernelPCA(2, kernel="rbf"),
    KernelPCA(2, kernel="poly", solver="krylov", random_state=0),
    NYSTROEM,
    Whitener(),
    Whitener(regularization=0.1),
)


def pretended():
    """What makes arrays on a device that NumPy cannot read, and that mixes with none of the host."""
    xp = pytest.importorskip("array_api_strict")
    return lambda values: xp.asarray(np.array(values), device=xp.Device("device1"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_checks_of_scikit_learn(monkeypatch):
    checks = [check for check in dir(estimator_checks) if check == "check_array_api_same_namespace"]
    if not checks:
        pytest.skip("this scikit-learn has no such checks yet")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    run = 0
    for model in (PCA(2), KernelPCA(2, kernel="rbf"), NYSTROEM, Whitener()):
        assert model.__sklearn_tags__().array_api_support
        name = type(model).__name__
        for check in estimator_checks._yield_array_api_checks(model):
            try:
                check(name, clone(model))
                run += 1
            except (estimator_checks.SkipTest, pytest.skip.Exception):
                continue  # a library or device that is not here
    assert run >= 4 * 4  # of array-api-strict alone


def test_mixed_kinds_follow_what_comes_in(tmp_path):
    make = pretended()
    labels = np.arange(120) % 2
    for model in MODELS:
        host = clone(model).fit(X, labels)
        device = clone(model).fit(make(X), labels)
        expected = host.transform(NEW)
        for result in (host.transform(make(NEW)), device.transform(make(NEW))):
            assert moved(result, make(NEW)) is result
            assert_allclose(to_numpy(result), expected, atol=1e-6)
        assert isinstance(device.transform(NEW), np.ndarray)
        device.save(tmp_path / "model.gramian")
        assert_allclose(load(tmp_path / "model.gramian").transform(NEW), expected, atol=1e-6)
        for name, value in vars(host).items():
            if isinstance(value, np.ndarray):
                assert type(getattr(device, name)) is type(make(X)), name


def test_one_component_in_every_kind(array_kind):
    for model in (
        PCA(1),
        PCA(1, solver="krylov", random_state=0),
        KernelPCA(1, kernel="rbf"),
        KernelPCA(1, kernel="rbf", solver="krylov", random_state=0),
        clone(NYSTROEM).set_params(n_components=1),
        Whitener("pca", n_components=1),
    ):
        scores = model.fit(array_kind.make(X)).transform(array_kind.make(NEW))
        assert array_kind.same(scores)
        assert_allclose(to_numpy(scores), clone(model).fit(X).transform(NEW), atol=1e-4)


def test_the_seconds_of_a_processor_are_no_warning_about_a_device(monkeypatch):
    monkeypatch.setattr("gramian.engine.solving.LONG", 0.0)
    make = pretended()
    for model in (PCA(2), KernelPCA(2, kernel="rbf")):
        with pytest.warns(CostWarning, match="predicted to take"):
            model.fit(X)
        model.fit(make(X))


def test_landmarks_are_fitted_where_the_rows_are(monkeypatch):
    make, at_host = pretended(), []
    own = KernelValues.__call__

    def called(self, rows, out):
        at_host.append(len(rows) if is_numpy(rows) else 0)
        own(self, rows, out)

    monkeypatch.setattr(KernelValues, "__call__", called)
    rows = np.tile(X, (4, 1)) + 0.01 * (np.arange(480)[:, None] % 7)
    first, second = rows[:200], rows[200:]
    few = {"kernel": "rbf", "solver": "nystroem", "n_landmarks": 30, "random_state": 0}
    for options in (
        few,
        few | {"landmarks": "uniform", "kernel": "poly"},
        few | {"kernel": "rbf.on(0, 2) * linear.on(1) + 1"},
        few | {"landmarks": make(rows[:20]), "n_landmarks": None},
    ):
        model = KernelPCA(2, **options)
        for single in (False, True) if options is few else (False,):
            at_once, later = (np.asarray(part, "f4" if single else "f8") for part in (first, second))
            host = clone(model).partial_fit(at_once).partial_fit(later)
            at_host.clear()
            device = clone(model).partial_fit(make(at_once)).partial_fit(make(later))
            assert max(at_host, default=0) <= 64
            assert type(device.eigenvalues_) is type(make(X))
            assert device.certificate_.ok
            rtol = 1e-5 if single else 1e-10
            assert_allclose(to_numpy(device.eigenvalues_), host.eigenvalues_, rtol=rtol)
            scores = to_numpy(device.transform(make(at_once)))
            assert_allclose(scores, host.transform(at_once), atol=10 * rtol)


def test_what_else_a_fitted_model_says():
    make = pretended()
    host, device = PCA(3).fit(X), PCA(3).fit(make(X))
    assert device.score(make(X)) == pytest.approx(host.score(X))
    assert_allclose(device.get_covariance(), host.get_covariance(), atol=1e-10)
    assert str(device.summary()).splitlines()[:-1] == str(host.summary()).splitlines()[:-1]
    assert str(choose_components(make(X), random_state=0)) == str(choose_components(X, random_state=0))
    counts = RNG.integers(0, 3, (50, 8)).astype(float)
    result = PCA(2, scale="genotype").fit(make(counts))
    assert_allclose(to_numpy(result.scale_), PCA(2, scale="genotype").fit(counts).scale_)
    whole = PCA(random_state=0).partial_fit(make(X)).partial_fit(make(NEW))
    expected = PCA().fit(np.concatenate([X, NEW])).explained_variance_
    assert_allclose(as_float64(whole.explained_variance_), expected, rtol=1e-9)
    gram = RBF(gamma=0.3).gram(make(X))
    scores = KernelPCA(2, kernel="precomputed").fit_transform(gram)
    expected = KernelPCA(2, kernel="precomputed").fit_transform(RBF(gamma=0.3).gram(X))
    assert_allclose(to_numpy(scores), expected, atol=1e-7)


@pytest.mark.walk
def test_the_way_back_is_searched_where_the_scores_are(monkeypatch):
    make, kinds = pretended(), set()

    def searched(space, *rest):
        kinds.add(type(space.rows))
        return minimised(space, *rest)

    rows, new = np.abs(X[:40]), np.abs(NEW[:2])
    columns = "rbf(gamma=0.3).on(0, 2) * chi2(0.2).on(1, 3) + 0.5 * (0.1 * linear + 1) ** 3"
    other = "matern(1, nu=2.5) ** 1.5 * rq(1).normalized() + poly(degree=1).normalized() + exp(0.1 * cosine)"
    for kernel, solver in (("rbf", "auto"), ("rbf", "nystroem"), (columns, "auto"), (other, "auto")):
        host = KernelPCA(3, kernel=kernel, random_state=0, solver=solver).fit(rows)
        device = clone(host).fit(make(rows))
        expected, errors = host.denoise(new, return_error=True)
        back = host.inverse_transform(host.transform(new))
        monkeypatch.setattr(preimages, "minimised", searched)
        for model in (host, device):
            result, off = model.denoise(make(new), return_error=True)
            assert moved(result, make(new)) is result
            assert_allclose(to_numpy(result), expected, atol=1e-5, err_msg=kernel)
            assert_allclose(to_numpy(off), errors, atol=1e-6, err_msg=kernel)
            result = to_numpy(model.inverse_transform(make(host.transform(new))))
            assert_allclose(result, back, atol=1e-5, err_msg=kernel)
        assert kinds == {type(make(X))}
        monkeypatch.undo()


@pytest.mark.parametrize("limit", [5000, 3])
def test_a_device_decomposes_small_matrices_only(monkeypatch, limit):
    xp = pytest.importorskip("array_api_strict")
    orders = []

    def counting(solve):
        def call(A, **options):
            orders.append(min(A.shape))
            return solve(A, **options)

        return call

    for name in ("eigh", "eigvalsh", "svd"):
        monkeypatch.setattr(xp.linalg, name, counting(getattr(xp.linalg, name)))
    monkeypatch.setattr(arrays, "MOST_ON_DEVICE", limit)
    make = pretended()
    for model in (PCA(2), PCA(2, solver="full"), PCA(2, solver="covariance"), KernelPCA(2, kernel="rbf")):
        result = clone(model).fit(make(X))
        assert result.certificate_.ok
        expected = clone(model).fit(X).transform(NEW)
        assert_allclose(to_numpy(result.transform(make(NEW))), expected, atol=1e-7)
    assert bool(orders) == (limit == 5000)
    assert max(orders, default=0) <= limit


def test_a_solver_that_fails_on_its_device_is_followed_by_the_host(monkeypatch):
    xp = pytest.importorskip("array_api_strict")

    def failing(*_, **__):
        raise RuntimeError("cusolver error")

    monkeypatch.setattr(xp.linalg, "eigh", failing)
    model = PCA(2, solver="covariance").fit(pretended()(X))
    assert_allclose(as_float64(model.explained_variance_), PCA(2).fit(X).explained_variance_)


def test_refusals():
    xp = pytest.importorskip("array_api_strict")
    without = xp.ones((4, 3), dtype=xp.float32, device=xp.Device("no_float64"))
    with pytest.raises(InputTypeError, match=r"X is on array_api_strict\.Device\("):
        as_rows(without)
    torch = pytest.importorskip("torch")
    with pytest.raises(InputTypeError, match=r"X is a sparse tensor of PyTorch\. Pass X\.to_dense\(\), or a"):
        as_rows(torch.eye(3).to_sparse())
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        with pytest.raises(DataError, match="PyTorch is set to multiply float32 with the precision"):
            as_rows(torch.ones((4, 3)))
        assert as_rows(torch.ones((4, 3), dtype=torch.float64)).shape == (4, 3)
    finally:
        torch.set_float32_matmul_precision(before)
    values = X.copy()
    values[2, 1] = np.nan
    with pytest.raises(DataError, match=r'Input X contains NaN: row 2, column 1\. Use missing="em"'):
        PCA(2).fit(pretended()(values))
