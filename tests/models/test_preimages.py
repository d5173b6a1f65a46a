"""inverse_transform and denoise of kernel PCA: methods, kinds of data, what is said and what is refused."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import PCA, KernelPCA
from gramian.core.arrays import numpy_dtype, to_numpy
from gramian.errors import DataError, IndefiniteKernelError, ParameterError, PreimageWarning, RankWarning
from gramian.kernels import RBF, Linear, kernel_from_name
from gramian.models.kernel_pca.preimages import PreimageMethod, preimage_method


def data(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.resize([3.0, 2.0, 1.0, 0.5], d) + np.resize([10.0, -5.0], d)


X, NEW = data(), data(9, seed=1)
KERNELS = {
    "rbf(gamma=0.05)": "fixed-point",
    "matern(length_scale=3, nu=2.5)": "fixed-point",
    "rq(length_scale=3)": "fixed-point",
    "rbf(gamma=0.05) * matern(length_scale=9)": "ridge",
    "poly(degree=2, gamma=0.1)": "ridge",
    "cosine": "ridge",
    "rbf(gamma=0.05) + 0.1 * linear": "ridge",
    "laplacian(gamma=0.1)": "ridge",
    "matern(length_scale=3, nu=0.5)": "ridge",
}


def squared_residual(model, x, z):
    """||phi(x) - P||^2 with P written out in images of the fitted rows."""
    kernel, fitted = model.kernel_, np.asarray(model.X_fit_, dtype=np.float64)
    A = np.asarray(model.projection_coef_, dtype=np.float64)
    n = len(fitted)
    g = (A - A.mean(axis=0)) @ z + 1.0 / n if model.center else A @ z
    K = kernel.gram(fitted)
    return kernel.gram(x[None])[0, 0] - 2.0 * g @ kernel.gram(x[None], fitted)[0] + g @ K @ g


# Without centring a large mean leaves the Gram matrix few digits for what differs.
def test_the_linear_kernel_is_pca_and_what_auto_takes():
    for (center, offset), preimage in product(
        [(True, 0.0), (True, 1e5), (False, 0.0), (False, 10.0)], ["auto", "ridge"]
    ):
        A, new = X + offset, NEW + offset
        model = KernelPCA(2, center=center, preimage=preimage, solver="dense").fit(A)
        pca = PCA(2, center=center, solver="full").fit(A)
        assert model.preimage_.method == "exact"
        expected = pca.inverse_transform(pca.transform(new))
        back, errors = model.inverse_transform(model.transform(new), return_error=True)
        assert_allclose(back, expected, rtol=0, atol=1e-12 * np.abs(A).max())
        assert_array_equal(errors, 0.0)
        assert_allclose(model.denoise(new), expected, rtol=0, atol=1e-12 * np.abs(A).max())
    assert preimage_method("auto", Linear()).method == "exact"
    function = preimage_method("auto", kernel_from_name(lambda x, y: float(x @ y)))
    needed = "a smooth kernel of distances: rbf, rq, or matern with nu=1.5 or 2.5"
    assert str(function) == f"ridge: a search needs {needed}."
    assert preimage_method("auto", None) == PreimageMethod("none", "a precomputed kernel has no rows.")
    assert preimage_method("ridge", RBF(gamma=1.0)).method == "ridge"
    K = X @ X.T
    model = KernelPCA(2, kernel="precomputed").fit(K)
    assert model.preimage_.method == "none"
    for call in (model.inverse_transform, model.denoise):
        with pytest.raises(DataError, match="A precomputed kernel has no rows, so there are no"):
            call(model.transform(K))


@pytest.mark.parametrize("kernel", KERNELS)
def test_residuals_are_distances_in_feature_space(kernel):
    for center in [True, False]:
        model = KernelPCA(3, kernel=kernel, center=center).fit(X)
        assert model.preimage_.method == KERNELS[kernel]
        Z = model.transform(NEW)
        back, errors = model.inverse_transform(Z, return_error=True)
        assert back.shape == NEW.shape
        assert errors.shape == (9,)
        expected = [squared_residual(model, x, z) for x, z in zip(back, Z, strict=True)]
        assert_allclose(errors**2, expected, rtol=1e-5, atol=1e-8)
        assert_array_equal(model.inverse_transform(Z), back)


def test_fitted_and_noisy_rows_come_back_whatever_the_rank():
    for kernel in ["rbf(gamma=0.05)", "poly(degree=2, gamma=0.1)", "laplacian(gamma=0.1)"]:
        model = KernelPCA(kernel=kernel).fit(X)
        back, errors = model.inverse_transform(model.transform(X), return_error=True)
        if model.preimage_.method == "ridge":
            assert np.sqrt(np.mean((back - X) ** 2)) < 0.5 * X.std()
            continue
        assert_allclose(back, X, atol=1e-3)
        assert_allclose(errors, 0.0, atol=1e-4 * np.sqrt(model.kernel_.gram(X).max()))
    for kernel in ("rbf(gamma=0.05)", "poly(degree=2, gamma=0.1)", "laplacian(gamma=0.1)", "linear"):
        model = KernelPCA(3, kernel=kernel).fit(X)
        _, errors = model.denoise(NEW, return_error=True)
        _, others = model.inverse_transform(model.transform(NEW), return_error=True)
        # Two starts may end in different minima, of about the same depth here.
        assert_allclose(errors, others, rtol=0.2, atol=1e-9)
        own = [squared_residual(model, x, z) for x, z in zip(NEW, model.transform(NEW), strict=True)]
        if KERNELS.get(kernel) != "ridge" and kernel != "linear":
            assert np.all(errors**2 <= np.array(own) + 1e-9)
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle[:100] + 0.2 * rng.standard_normal((100, 2))
    model = KernelPCA(4, kernel=RBF(sigma=0.5)).fit(circle)
    away = np.abs(np.linalg.norm(model.denoise(noisy), axis=1) - 1)
    assert away.max() < 0.12
    assert np.abs(np.linalg.norm(noisy, axis=1) - 1).max() > 0.3
    for kernel in ["rbf", "poly", "laplacian", "linear"]:
        A = np.repeat(X[:4], 5, axis=0)
        with pytest.warns(RankWarning, match="has rank 3"):
            model = KernelPCA(6, kernel=kernel).fit(A)
        Z = model.transform(A)
        expected = model.inverse_transform(Z)
        Z[:, 3:] = 100.0
        assert_array_equal(model.inverse_transform(Z), expected)
        if kernel in ("rbf", "linear"):
            assert_allclose(expected, A, atol=2e-3)
    for kernel in ["rbf", "poly", "laplacian", "linear"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)
            model = KernelPCA(2, kernel=kernel).fit(np.full((6, 3), 5.0))
        back, errors = model.denoise(np.full((2, 3), 5.0), return_error=True)
        assert_allclose(back, 5.0, rtol=1e-6)
        assert_allclose(errors, 0.0, atol=1e-5)


@cache
def errors_of_float64(kernel):
    return KernelPCA(3, kernel=kernel).fit(X).denoise(NEW, return_error=True)[1]


def test_every_kind_of_array(array_kind):
    for kernel in ["linear", "rbf", "poly", "laplacian"]:
        rows, new = array_kind.make(X), array_kind.make(NEW)
        model = KernelPCA(3, kernel=kernel).fit(rows)
        back, errors = model.denoise(new, return_error=True)
        assert array_kind.same(back)
        assert type(errors) is type(back)
        assert numpy_dtype(errors) == np.float64
        assert array_kind.same(model.inverse_transform(model.transform(new)))
        single = array_kind.dtype == np.float32
        assert_allclose(to_numpy(errors), errors_of_float64(kernel), rtol=0.02 if single else 1e-3, atol=1e-5)


def test_frames_give_arrays_and_pictures_come_back_as_pictures():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelPCA(3, kernel="rbf(gamma=0.05) + linear.on('a')").fit(frame)
    new = pd.DataFrame(NEW, columns=list("abcd"))
    back = model.denoise(new)
    assert isinstance(back, np.ndarray)
    scores = pd.DataFrame(model.transform(new), columns=["PC1", "PC2", "PC3"])
    assert model.inverse_transform(scores).shape == (9, 4)
    with pytest.raises(DataError, match="feature names"):
        model.denoise(new[["b", "a", "c", "d"]])
    stack = np.random.default_rng(0).random((20, 3, 4))
    model = KernelPCA(4, kernel="rbf").fit(stack)
    assert model.picture_shape_ == (3, 4)
    assert model.inverse_transform(model.transform(stack)).shape == (20, 3, 4)
    back, errors = model.denoise(stack[:2], return_error=True)
    assert back.shape == (2, 3, 4)
    assert errors.shape == (2,)


def test_a_saved_model_gives_the_same_rows(tmp_path):
    for first, kernel in product(
        [True, False], ["linear", "rbf", "poly", "laplacian", "rbf.on(0, 2) + linear.on(1, 3)"]
    ):
        model = KernelPCA(3, kernel=kernel).fit(X)
        Z = model.transform(NEW)
        before = model.inverse_transform(Z) if first else None
        model.save(tmp_path / "m.gramian")
        twin = gramian.load(tmp_path / "m.gramian")
        assert twin.preimage_ == model.preimage_
        assert_array_equal(
            twin.inverse_transform(Z), model.inverse_transform(Z) if before is None else before
        )


def test_what_is_learned_is_learned_once_and_forgotten_by_a_new_fit(monkeypatch):
    import gramian.models.kernel_pca.preimages as module

    calls = []
    learn = module.learn_map
    monkeypatch.setattr(module, "learn_map", lambda *rows: calls.append(1) or learn(*rows))
    model = KernelPCA(3, kernel="laplacian").fit(X)
    assert not calls
    model.inverse_transform(model.transform(NEW))
    model.denoise(NEW)
    assert len(calls) == 1
    model.fit(X[:30])
    model.denoise(NEW)
    assert len(calls) == 2


def test_methods_can_be_changed():
    model = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    Z = model.transform(NEW)
    entries = {}
    for name in ("auto", "fixed-point", "ridge"):
        model.set_params(preimage=name)
        entries[name] = model.inverse_transform(Z, return_error=True)
    assert_array_equal(entries["auto"][0], entries["fixed-point"][0])
    assert np.all(entries["ridge"][1] >= entries["fixed-point"][1] - 1e-6)
    for asked, kernel, message in [
        ("newton", "rbf", r"is not known\. Allowed:"),
        ("gradient", "rbf", r"is not known\. Allowed:"),
        ("fixed-point", "poly", "needs a smooth kernel of distances: rbf, rq, or matern with"),
        ("fixed-point", "linear", "needs a smooth kernel of distances"),
        ("fixed-point", "laplacian", "needs a smooth kernel of distances"),
        ("fixed-point", "matern(nu=0.5)", r"nu=1\.5 or 2\.5, not matern\(nu=0\.5\)"),
        ("ridge", "precomputed", r"needs rows\. A precomputed kernel"),
    ]:
        model = KernelPCA(2, kernel=kernel, preimage=asked)
        with pytest.raises(ParameterError, match=message):
            model.fit(X @ X.T if kernel == "precomputed" else X)
    model = KernelPCA(1, kernel="rbf", gamma=0.05).fit(X)
    back, errors = model.inverse_transform([[1e6]], return_error=True)
    assert np.isfinite(back).all()
    assert errors[0] == pytest.approx(1e6, rel=1e-3)
    assert model.denoise(NEW[:1]).shape == (1, 4)
    pipeline = make_pipeline(StandardScaler(), KernelPCA(3, kernel="rbf")).fit(X)
    back = pipeline.inverse_transform(pipeline.transform(NEW))
    assert np.all(np.abs(back - X.mean(axis=0)) < 5 * X.std(axis=0))
    assert clone(pipeline[-1]).preimage == "auto"


def test_wrong_scores_units_and_rows_far_outside():
    model = KernelPCA(3, kernel="rbf").fit(X)
    with pytest.raises(DataError, match=r"X has 2 columns, but inverse_transform takes 3 scores\."):
        model.inverse_transform(np.zeros((4, 2)))
    with pytest.raises(DataError, match=r"Input X contains NaN: 12 values are missing in 4 rows \(4"):
        model.inverse_transform(np.full((4, 3), np.nan))
    with pytest.raises(DataError, match="features"):
        model.denoise(np.zeros((4, 3)))
    model = KernelPCA(2, kernel="rbf(gamma=0.05) - 0.2 * linear", repair="clip").fit(X)
    assert model.preimage_.method == "ridge"
    assert model.denoise(NEW).shape == NEW.shape
    with pytest.raises(IndefiniteKernelError, match="The squared distance of pre-image 0 in feature space"):
        model.denoise(NEW, return_error=True)
    for scale, kernel in product([1e-95, 1e-40, 1e40, 1e95], ["rbf", "linear", "cosine", "laplacian"]):
        gamma = {"gamma": "median"} if kernel in ("rbf", "laplacian") else {}
        expected = KernelPCA(3, kernel=kernel, **gamma).fit(X).denoise(NEW)
        back = KernelPCA(3, kernel=kernel, **gamma).fit(X * scale).denoise(NEW * scale)
        assert_allclose(back / scale, expected, rtol=1e-6)
    for kernel, size in product(["rbf", "poly", "linear", "laplacian", "cosine"], [1e6, 1e100, 1e300]):
        model = KernelPCA(2, kernel=kernel).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreimageWarning)
            if kernel == "poly" and size > 1e6:  # the learned map goes on in a line
                with pytest.raises(DataError, match="their kernel values overflow"):
                    model.inverse_transform([[size, -size]], return_error=True)
                continue
            back, errors = model.inverse_transform([[size, -size]], return_error=True)
        assert np.isfinite(back).all()
        assert np.isfinite(errors).all()
    model = KernelPCA(2, kernel="laplacian").fit(X)
    with pytest.raises(DataError, match=r"Scores reach 1e\+308, so that rows leave the range of"):
        model.inverse_transform([[1e308, -1e308]])


def test_searches_that_do_not_end_are_counted(monkeypatch):
    monkeypatch.setattr("gramian.models.kernel_pca.preimages.LIMIT", 1)
    model = KernelPCA(3, kernel="rbf").fit(X)
    with pytest.warns(PreimageWarning, match=r"\d of 9 pre-images did not converge") as caught:
        back, errors = model.denoise(NEW, return_error=True)
    assert caught[0].filename == __file__
    assert np.isfinite(back).all()
    assert np.isfinite(errors).all()
