"""Kernel PCA of scipy.sparse rows: the numbers of dense ones, without ever making them dense."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import check_estimator_sparse_tag

import gramian
from gramian import KernelPCA, choose_components
from gramian.core.arrays import to_numpy
from gramian.errors import CertificateWarning, DataError, ModelFileError, ParameterError
from gramian.kernels import RBF
from helpers import covering

RNG = np.random.default_rng(0)
X = sp.random(80, 40, 0.15, format="csr", random_state=RNG)
NEW = sp.random(7, 40, 0.15, format="csr", random_state=RNG)
KERNELS = [
    "linear",
    "poly",
    "rbf",
    "cosine",
    "rq",
    "matern",
    "rbf(gamma='median')",
    "2 * rbf(sigma=1) + 0.5 * poly(degree=2)",
    "(rbf * linear).normalized()",
    "exp(cosine) ** 2",
]


def test_sparse_rows_give_the_model_of_dense_ones():
    for kernel, solver, center in covering(KERNELS, ["dense", "krylov"], [True, False]):
        settings = {"kernel": kernel, "solver": solver, "center": center, "random_state": 0}
        model, dense = KernelPCA(3, **settings).fit(X), KernelPCA(3, **settings).fit(X.toarray())
        assert model.certificate_.ok
        assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
        scores = dense.transform(NEW.toarray())
        for one in (model, dense):
            for new in (NEW, NEW.tocsc(), sp.csr_array(NEW), NEW.toarray()):
                assert_allclose(one.transform(new), scores, atol=1e-4)
        assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-4)
    given = X.copy()
    model = KernelPCA(2, kernel="rbf").fit(given)
    before = model.transform(NEW)
    given.data[:] = 0
    assert sp.issparse(model.X_fit_)
    assert model.X_fit_.format == "csr"
    assert_array_equal(model.transform(NEW), before)
    assert_array_equal(model.X_fit_.toarray(), X.toarray())
    model = KernelPCA(2, kernel="rbf").fit(X.astype(np.float32))
    assert model.eigenvectors_.dtype == model.transform(NEW.astype(np.float32)).dtype == np.float32


def test_new_rows_of_any_kind_for_a_model_of_sparse_ones(array_kind):
    model = KernelPCA(2, kernel="rbf").fit(X)
    scores = model.transform(array_kind.make(NEW.toarray()))
    assert type(scores) is type(array_kind.make(NEW.toarray()))
    assert_allclose(to_numpy(scores), model.transform(NEW), atol=1e-5)
    dense = KernelPCA(2, kernel="rbf").fit(array_kind.make(X.toarray()))
    assert_allclose(np.abs(dense.transform(NEW)), np.abs(model.transform(NEW)), atol=1e-4)


def test_rows_are_never_made_dense():
    n, d, held = 20_000, 100_000, 10
    places = RNG.integers(0, d, n * held)
    rows = sp.csr_array((RNG.random(n * held), places, np.arange(0, n * held + 1, held)), shape=(n, d))
    few = rows[::20]
    for kernel in ["linear", "rbf(gamma='scale')", "cosine + rbf(sigma='median')"]:
        tracemalloc.start()
        model = KernelPCA(2, kernel=kernel, tol=1e-3, random_state=0, memory_limit="200MB").fit(few)
        model.transform(rows[:2000])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The matrix of 1000 x 1000 distances that a median is of, thrice; the rows would take 800 MB.
        assert peak < 75e6, (kernel, peak)


def test_a_saved_model_comes_back_and_what_needs_its_rows_says_so(tmp_path):
    for kernel in ["laplacian", "chi2", "matern(nu=0.5)", "rbf.on(0, 1)", np.dot]:
        for request in (KernelPCA(2, kernel=kernel).fit, KernelPCA(2, kernel=kernel).plan):
            with pytest.raises(DataError, match=r"\) takes no sparse rows\. Those that do: linear, poly,"):
                request(X)
    with pytest.raises(DataError, match='kernel="precomputed" needs a dense matrix, but X is'):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    # New rows are made dense block by block for a model of dense ones.
    model = KernelPCA(2, kernel="laplacian").fit(X.toarray())
    assert_allclose(model.transform(NEW), model.transform(NEW.toarray()), rtol=1e-12)
    model = KernelPCA(2, kernel="rbf").fit(X)
    assert str(model.preimage_) == "none: the fitted rows are sparse."
    for back in (model.inverse_transform, model.denoise):
        with pytest.raises(DataError, match="A model fitted on sparse rows has no pre-images, because"):
            back(model.transform(X))
    with pytest.raises(ParameterError, match=r"needs rows\. A model fitted on sparse rows has no"):
        KernelPCA(2, preimage="ridge").fit(X)
    result = choose_components(KernelPCA(kernel="rbf"), X)
    assert "X is sparse" in result["parallel"].sentence
    assert "X is sparse" in result["cv"].sentence
    assert result["fraction"].number > 1
    with pytest.raises(ParameterError, match=r"draws new dense data of the same size, but X is sparse\."):
        KernelPCA("parallel").fit(X)
    model = KernelPCA(3, kernel="rbf(gamma='median')").fit(X)
    model.save(tmp_path / "m.gramian")
    twin = gramian.load(tmp_path / "m.gramian")
    assert_array_equal(twin.transform(NEW), model.transform(NEW))
    assert sp.issparse(twin.X_fit_)
    assert str(twin.certificate_) == str(model.certificate_)
    # Three arrays, not n times d numbers.
    assert (tmp_path / "m.gramian").stat().st_size < 8 * X.shape[0] * X.shape[1]
    # What is no matrix is refused, though its checksum is right.
    for name, wrong in {"indices": -1, "indptr": 10**6, "data": np.nan}.items():
        broken = KernelPCA(3, kernel="rbf").fit(X)
        getattr(broken.X_fit_, name)[-1] = wrong
        broken.save(tmp_path / "b.gramian")
        with pytest.raises(ModelFileError, match=r"b\.gramian"):
            gramian.load(tmp_path / "b.gramian")


def test_tags_and_warnings_of_sparse_rows():
    for kernel, takes in {"rbf": True, "laplacian": False, "precomputed": False, "no such": False}.items():
        assert KernelPCA(kernel=kernel).__sklearn_tags__().input_tags.sparse is takes
    assert not KernelPCA("parallel").__sklearn_tags__().input_tags.sparse
    # Scaled rows are dense, whatever the kernel.
    for solver in ("dense", "krylov", "nystroem"):
        given = KernelPCA(2, kernel="laplacian", solver=solver)
        check_estimator_sparse_tag("KernelPCA", given)
        check_estimator_sparse_tag("KernelPCA", given.set_params(scale="unit"))
    # Rows 1e-3 apart at a distance of 1e7: dense rows have differences summed instead.
    rows = np.repeat([[0.0, 1e7], [1e7, 0.0]], 15, axis=0) + 1e-3 * RNG.standard_normal((30, 2))
    near = np.repeat([[0.0, 3e4], [3e4, 0.0]], 15, axis=0) + RNG.standard_normal((30, 2))
    for X, sigma, left in [(rows, 1e-3, "1.0e+00"), (near, 1.0, "e-06")]:
        model = KernelPCA(3, kernel=RBF(sigma=sigma), random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(sp.csr_array(X))
        said = [str(w.message) for w in caught if w.category is CertificateWarning]
        assert left in said[0]
        assert "Pass X.toarray(), so that gramian sums differences" in said[0]
        assert caught[0].filename == __file__
        assert model.fit(X).certificate_.ok
