"""What every estimator of this room promises: names, copies, missing values, and what is no table."""

import copy
import io
import pickle
import re
from functools import cache
from itertools import product

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian
from gramian import PCA, KernelPCA, PolynomialMap, RandomFourierMap, Whitener
from gramian.core.arrays import numpy_dtype, to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.kernels import RBF
from helpers import spectrum_matrix

X = np.random.default_rng(0).standard_normal((40, 3)) * [3.0, 2.0, 1.0] + [5.0, -2.0, 0.5]
NEW = X[:9] + np.random.default_rng(1).standard_normal((9, 3))
FEW = {"kernel": "rbf", "gamma": 0.1, "n_landmarks": 20, "random_state": 0}
SOLVERS = ("full", "covariance", "gram", "krylov", "auto")
METHODS = ("zca", "pca", "zca-cor", "pca-cor")
MODELS = {
    "pca": PCA(2),
    "pca, scaled": PCA(2, scale=np.array([1.0, 2.0, 3.0]), whiten=True, solver="covariance", random_state=1),
    "linear kernel": KernelPCA(2),
    "kernel": KernelPCA(2, kernel=RBF(sigma=3.0), tol=1e-8, memory_limit="1GB"),
    "laplacian": KernelPCA(2, kernel="laplacian"),
    "landmarks": KernelPCA(2, solver="nystroem", **FEW),
    **{method: Whitener(method) for method in METHODS},
    "shrunk": Whitener("zca-cor", regularization="ledoit-wolf", ddof=0),
    "polynomial": PolynomialMap(degree=3, gamma=0.5),
    "polynomial, no constant": PolynomialMap(degree=2, coef0=0),
    "polynomial, no weights": PolynomialMap(degree=2, weights=None),
    "fourier": RandomFourierMap(60, gamma=0.125, random_state=0),
    "fourier, independent": RandomFourierMap(
        50, gamma=[0.5, 0.125, 0.03125], orthogonal=False, random_state=3
    ),
}
MAPS = (PolynomialMap, RandomFourierMap)
WIDE = spectrum_matrix(20, 60, np.geomspace(10, 0.1, 19), seed=8, mean=1.0)
ROUTES = (
    *MODELS.values(),
    *(PCA(2, solver=s, scale=c, random_state=0) for s, c in product(SOLVERS, (None, "unit"))),
    *(Whitener(m, regularization=rule) for m, rule in product(METHODS, (0.3, "ledoit-wolf"))),
)


# What differs between these: where a series is expanded, what a kernel takes, how rows are standardised.
@parametrize_with_checks(
    [
        *(PCA(), PCA(0.9, scale="unit", whiten=True, solver="krylov"), PCA(1, missing="em")),
        *(KernelPCA(), KernelPCA(1, kernel="laplacian", solver="krylov", tol=1e-9)),
        KernelPCA(2, kernel="rbf", solver="nystroem", random_state=0),
        KernelPCA(2, kernel="rbf", scale="unit"),
        *(Whitener(), Whitener("pca-cor", n_components=1, regularization=0.1)),
        *(PolynomialMap(), RandomFourierMap(10, random_state=0)),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@cache
def of_numpy(place, wide, dtype):
    """Return a model of NumPy's rows, and its scores."""
    rows = (WIDE if wide else X).astype(dtype)
    model = clone(ROUTES[place]).fit(rows)
    return model, model.transform(rows)


def test_array_kinds_give_their_own_kind(array_kind):
    for (place, unfitted), rows in product(enumerate(ROUTES), (X, WIDE)):
        asked = unfitted.get_params(deep=False)
        if rows is WIDE and (isinstance(unfitted, MAPS) or np.ndim(asked.get("scale"))):
            continue
        given, model = array_kind.make(rows), clone(unfitted)
        expected, scores = of_numpy(place, rows is WIDE, array_kind.dtype)
        Z = model.fit_transform(given)
        pairs = [(Z, scores), (model.transform(given), scores)]
        if isinstance(model, (PCA, Whitener)):
            pairs.append((model.inverse_transform(Z), expected.inverse_transform(scores)))
            pairs += [(getattr(model, name), getattr(expected, name)) for name in ("components_", "mean_")]
            assert type(model.explained_variance_) is type(Z)
            assert numpy_dtype(model.explained_variance_) == np.float64
            variances = to_numpy(model.explained_variance_)
            assert_allclose(variances, expected.explained_variance_, rtol=1e-6)
            assert model.certificate_.ok
        for value, wanted in pairs:
            assert array_kind.same(value) or array_kind.name == "numpy-read-only", model
            atol = (1e-11 if array_kind.dtype == np.float64 else 1e-4) * max(1, np.abs(wanted).max())
            assert_allclose(to_numpy(value), wanted, atol=atol, err_msg=repr(model))
        if isinstance(model, MAPS):
            assert isinstance(model.kernel_error_.maximum, float)
            assert model.kernel_error_.ok


@pytest.fixture(params=MODELS)
def unfitted(request):
    return clone(MODELS[request.param])


def test_frames_keep_their_names(unfitted):
    expected = clone(unfitted).fit(X)
    for frames in (pd, pl):
        frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
        model = clone(unfitted).fit(frame)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert_allclose(model.transform(frame), expected.transform(X), rtol=1e-9, atol=1e-11)
        out = clone(unfitted).set_output(transform=frames.__name__).fit_transform(frame)
        assert isinstance(out, frames.DataFrame)
        assert list(out.columns) == model.get_feature_names_out().tolist()
        assert_allclose(out.to_numpy(), expected.transform(X), rtol=1e-9, atol=1e-11)
        with pytest.raises(DataError, match="feature names should match those that were passed"):
            model.transform(frame[["b", "a", "c"]])
        with pytest.raises(DataError, match="Feature names seen at fit time, yet now missing"):
            model.transform(frame[["a", "b"]])
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.transform(X)
    dated = pd.DataFrame(X).set_index(np.arange(40) + 100)
    assert (clone(unfitted).set_output(transform="pandas").fit_transform(dated).index == dated.index).all()
    name = type(unfitted).__name__
    with pytest.raises(DataError, match=f"X has 2 features, but {name} is expecting 3 features"):
        expected.transform(X[:, :2])


def test_copies_give_the_same_bits(unfitted, tmp_path):
    assert clone(unfitted).get_params(deep=False).keys() == unfitted.get_params(deep=False).keys()
    for dtype in (np.float64, np.float32):
        rows, new = X.astype(dtype), NEW.astype(dtype)
        model = clone(unfitted).fit(rows)
        stored = io.BytesIO()
        joblib.dump(model, stored)
        stored.seek(0)
        model.save(tmp_path / "m.gramian")
        twins = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        for twin in (*twins, joblib.load(stored), gramian.load(tmp_path / "m.gramian")):
            assert_array_equal(twin.transform(new), model.transform(new))
            assert twin.transform(new).dtype == dtype
            assert twin.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
            assert getattr(twin, "plan_", None) == getattr(model, "plan_", None)
            assert getattr(twin, "kernel_error_", None) == getattr(model, "kernel_error_", None)
            clone(twin).fit(rows)


def test_what_is_missing_or_infinite_is_named(array_kind):
    for unfitted in MODELS.values():
        model, wrong = clone(unfitted).fit(array_kind.make(X)), X.copy()
        for wrong[13, 1] in (np.nan, np.inf, -np.inf):
            for call in (clone(unfitted).fit, model.transform):
                with pytest.raises(DataError, match=r": row 13, column 1\."):
                    call(array_kind.make(wrong))


NO_TABLES = [
    (np.ones((5, 0)), DataError, "a minimum of 1 is required"),
    (np.ones(5), DataError, "Expected 2D array, got 1D array instead"),
    (np.ones((2, 3, 4, 5)), DataError, "dim 4"),
    (np.ones((4, 3)) * 1j, DataError, "Complex data not supported"),
    ("faces.npz", InputTypeError, "gramian.scan('faces.npz')"),
    (b"faces.npz", InputTypeError, "gramian.scan("),
    ([["a", "b"], ["c", "d"]], DataError, "could not convert string to float"),
]


def test_what_is_no_table_and_what_is_not_fitted_is_refused(unfitted):
    refused = NO_TABLES.copy()
    if not isinstance(unfitted, MAPS):  # which take a row alone
        refused.append((np.ones((1, 3)), DataError, "(shape=(1, 3)) while a minimum of 2"))
    if isinstance(unfitted, (*MAPS, Whitener)):
        refused.append((sp.csr_matrix(np.eye(4)), DataError, "does not support sparse data"))
    for rows, error, message in refused:
        with pytest.raises(error, match=re.escape(message)):
            clone(unfitted).fit(rows)
    name = f"{type(unfitted).__name__} instance is not fitted yet"
    for method in ("transform", "inverse_transform", "denoise", "score", "score_samples", "save"):
        if hasattr(unfitted, method):
            with pytest.raises(NotFittedError, match=name):
                getattr(unfitted, method)("m.gramian" if method == "save" else X)
    for method in ("summary", "get_covariance", "get_precision", "get_feature_names_out"):
        if hasattr(type(unfitted), method):
            with pytest.raises(NotFittedError, match=name):
                getattr(unfitted, method)()
    if isinstance(unfitted, MAPS):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            _ = unfitted.feature_map_


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (PCA(), {"n_components": [1, 0.95], "scale": [None, "unit"]}),
        (Whitener(), {"method": ["zca", "pca"], "regularization": [None, 0.01, "ledoit-wolf"]}),
        (PolynomialMap(), {"degree": [1, 2], "coef0": [0, 1]}),
        (RandomFourierMap(random_state=0), {"gamma": [0.5, 3.0]}),
        (KernelPCA(2, kernel="rbf"), {"gamma": [1e-3, 1.0], "n_components": [2, 4]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_in_a_pipeline_and_a_grid(model, grid):
    rows, labels = load_iris(return_X_y=True)
    pipeline = make_pipeline(model, LogisticRegression(max_iter=5000))
    step = type(model).__name__.lower()
    search = GridSearchCV(pipeline, {f"{step}__{name}": values for name, values in grid.items()}, cv=3)
    assert search.fit(rows, labels).best_score_ > 0.9
    assert search.best_estimator_[0].n_features_in_ == 4
