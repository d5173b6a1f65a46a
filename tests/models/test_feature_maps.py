"""The transformers over feature maps: the maps themselves, the error they report, scikit-learn, saving."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from gramian import PCA, KernelPCA, PolynomialMap, RandomFourierMap
from gramian.errors import DataError, MemoryLimitError
from gramian.kernels import RBF, Linear, Polynomial
from helpers import same_up_to_sign

MODELS = {
    "polynomial": PolynomialMap(degree=3, gamma=0.5),
    "polynomial, no constant": PolynomialMap(degree=2, coef0=0),
    "polynomial, no weights": PolynomialMap(degree=2, weights=None),
    "fourier": RandomFourierMap(60, gamma=0.125, random_state=0),
    "fourier, independent": RandomFourierMap(
        50, gamma=[0.5, 0.125, 0.03125], orthogonal=False, random_state=3
    ),
}


def crossed(X):
    """Half of the mixed terms of (x . y)^2, which the map without weights has once."""
    squares = np.stack([np.outer(x, x) for x in X.T], axis=2)
    return (squares.sum(axis=2) ** 2 - (squares**2).sum(axis=2)) / 2


KERNELS = {
    "polynomial": lambda X: Polynomial(degree=3, gamma=0.5).gram(X),
    "polynomial, no constant": lambda X: Polynomial(degree=2, coef0=0.0).gram(X),
    "polynomial, no weights": lambda X: (1 + Linear() + Linear() ** 2).gram(X) - crossed(X),
    "fourier": lambda X: RBF(sigma=2.0).gram(X),
    "fourier, independent": lambda X: RBF(sigma=1.0).gram(X / [1.0, 2.0, 4.0]),
}


def data(n=80, d=3, seed=0, mean=(5.0, -2.0, 0.5)):
    return np.random.default_rng(seed).standard_normal((n, d)) + np.resize(mean, d)


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_the_error_reported_is_the_error_there_is(name):
    for dtype in [np.float64, np.float32]:
        X = data(300).astype(dtype)
        model = clone(MODELS[name]).fit(X)
        Z = model.transform(X)
        assert Z.dtype == dtype
        assert Z.shape == (300, model.n_features_out_)
        exact = KERNELS[name](X.astype(np.float64))
        gap = np.abs(Z.astype(np.float64) @ Z.astype(np.float64).T - exact)
        error = model.kernel_error_
        # Every second row: 300 rows are more than the 256 that are measured.
        measured = gap[::2, ::2]
        tolerance = 1e-14 * exact.max()
        assert error.pairs == 150 * 150
        assert error.maximum == pytest.approx(measured.max(), rel=1e-6, abs=tolerance)
        assert error.rms == pytest.approx(math.sqrt((measured**2).mean()), rel=1e-4, abs=tolerance)
        assert error.scale == pytest.approx(exact[::2, ::2].max(), rel=1e-12)
        assert gap.max() <= error.bound
        assert error.ok
        assert error.about.startswith("Measured on 150 of the 300 fitted rows; the bound is for all rows. ")
        assert error.kind == ("probabilistic" if "fourier" in name else "deterministic")
        if "fourier" in name:
            # All pairs of different fitted rows at once, the measured ones and the others.
            assert error.bound == pytest.approx(model.feature_map_.error_bound(300 * 299 // 2), rel=1e-4)


def test_maps_are_exact_and_pca_of_them_is_kernel_pca():
    for dtype in [np.float64, np.float32]:
        X = data(100).astype(dtype)
        error = PolynomialMap(4).fit(X).kernel_error_
        assert error.relative < 20 * np.finfo(dtype).eps
        assert error.bound < 400 * np.finfo(dtype).eps * error.scale
    X = (data(100) * 0.5 + 1000).astype(np.float32)
    error = RandomFourierMap(4000, gamma=0.5 / 1.5**2, random_state=0).fit(X).kernel_error_
    assert error.maximum < 0.06
    assert error.ok
    for model in (PolynomialMap(5), RandomFourierMap(10, random_state=0)):
        Z = model.fit_transform([[2.0]])
        assert Z.shape == (1, model.n_features_out_)
        assert model.kernel_error_.pairs == 1
        assert model.kernel_error_.ok
        assert np.isfinite(Z).all()
    with pytest.raises(DataError, match=r"A feature of \(x\.y \+ 1\)\^3 exceeds what float32 can hold\."):
        PolynomialMap(3, gamma=1).fit(np.array([[1e20, 1.0], [2.0, 3.0]], dtype=np.float32))
    with pytest.raises(DataError, match=r"Rows far from the origin round w \. x by 1e\+135 radians\."):
        RandomFourierMap(gamma=0.5).fit([[1e150, 1.0], [2.0, 3.0]])
    with pytest.raises(DataError, match=r"Rows far from the origin round w \. x by inf radians"):
        RandomFourierMap().fit([[1.7e308, 1.0], [1.7e308, 3.0]])
    for degree, gamma, coef0 in [(2, None, 1), (3, 0.5, 1), (2, 1.0, 0), (3, 0.2, 2.5)]:
        X, new = data(60, mean=0.3), data(20, seed=1, mean=0.3)
        mapper = PolynomialMap(degree, gamma=gamma, coef0=coef0)
        linear = PCA(5).fit(mapper.fit_transform(X))
        kernel = KernelPCA(5, kernel="poly", degree=degree, gamma=gamma, coef0=coef0).fit(X)
        assert_allclose(linear.explained_variance_, kernel.eigenvalues_ / 59, rtol=1e-9)
        assert_allclose(linear.explained_variance_ratio_, kernel.explained_variance_ratio_, rtol=1e-9)
        for rows in (X, new):
            ours, theirs = linear.transform(mapper.transform(rows)), kernel.transform(rows)
            same_up_to_sign(ours, theirs, 1e-8 * np.abs(theirs).max())
    X = data()
    model = PolynomialMap(degree=2, gamma=1).fit(X)
    assert model.get_feature_names_out().tolist()[3:5] == ["sqrt(2) f3", "f1^2"]
    assert model.get_feature_names_out(["a", "b", "c"])[5] == "sqrt(2) a b"
    frame = pd.DataFrame(X, columns=["height", "weight", "age"])
    model.fit(frame)
    assert model.feature_names_in_.tolist() == ["height", "weight", "age"]
    assert model.get_feature_names_out()[5] == "sqrt(2) height weight"
    assert model.get_feature_names_out(frame.columns)[4] == "height^2"
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(ValueError, match="input_features should have length equal"):
        PolynomialMap().fit(X).get_feature_names_out(["a"])


def test_many_features_are_measured_on_fewer_rows_and_too_many_refused(monkeypatch):
    monkeypatch.setattr("gramian.models.kernel_pca.feature_maps.SAMPLE_ENTRIES", 200)
    model = PolynomialMap(3).fit(data(100))
    assert model.n_features_out_ == 20
    assert model.kernel_error_.pairs == 100
    model = PolynomialMap(3).fit(data(10, 20))
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "20MB")
    with pytest.raises(MemoryLimitError, match=r"2,000 rows x 1,771 features take 28\.3 MB, and 20 MB may"):
        model.transform(data(2000, 20))
