"""Exported models: an ONNX runtime computes what ``transform`` does."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gramian import PCA, KernelPCA, PolynomialMap, Whitener
from gramian.errors import DataError, InputTypeError, MemoryLimitError, ParameterError

skl2onnx = pytest.importorskip("skl2onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from gramian.connect import onnx as onnx_graph  # noqa: E402
from gramian.connect import sklearn as compat  # noqa: E402
from gramian.connect.onnx import register, to_onnx  # noqa: E402

rng = np.random.default_rng(0)
# Means up to 1e5 deviations from zero, deviations from 3 to 0.01.
X = (rng.standard_normal((90, 6)) * [3, 2, 1, 0.5, 0.1, 0.01] + [5, 0, -5, 1, 0, 1000]).astype(np.float32)
NEW = (X[:20] + rng.standard_normal((20, 6)) * 0.3).astype(np.float32)
pytestmark = pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")


def run(proto, rows):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows})[0]


def assert_equal(model, fitted=X, rows=NEW):
    model.fit(fitted)
    expected = model.transform(rows.astype(np.float64))
    scores = run(to_onnx(model), rows)
    assert scores.dtype == np.float32
    assert np.abs(scores - expected).max() <= 1e-5 * np.abs(expected).max(), model


def test_linear_maps():
    for options in (
        {},
        {"center": False},
        {"scale": "unit"},
        {"scale": "pareto", "feature_weight": [1, 2, 3, 4, 5, 6]},
        {"whiten": True, "n_components": 6},
        {"whiten": True, "scale": "unit"},
    ):
        assert_equal(PCA(**{"n_components": 3} | options))
    for method in ("zca", "pca", "zca-cor", "pca-cor"):
        assert_equal(Whitener(method))
    assert_equal(Whitener(regularization="ledoit-wolf"), X[:5])
    # Beyond the rank scores are 0, whitened or not.
    flat = X[:, [0, 1, 0]]
    assert_equal(PCA(3, whiten=True), flat, NEW[:, [0, 1, 0]])


KERNELS = (
    "linear",
    "poly",
    "poly(degree=2, gamma=0.1, coef0=0)",
    "cosine",
    "rbf",
    "rbf(sigma=(1, 2, 3, 4, 5, 6))",
    "matern(nu=0.5)",
    "matern(nu=1.5)",
    "matern(length_scale=3, nu=2.5)",
    "rq(alpha=0.7)",
)


def test_kernels_with_all_rows_and_with_landmarks():
    near = X - np.float32([0, 0, 0, 0, 0, 1000])
    for kernel in KERNELS:
        assert_equal(KernelPCA(3, kernel=kernel), near, NEW - np.float32([0, 0, 0, 0, 0, 1000]))
    for kernel in ("linear", "rbf"):
        model = KernelPCA(3, kernel=kernel, solver="nystroem", n_landmarks=30, random_state=0)
        assert_equal(model, near, NEW - np.float32([0, 0, 0, 0, 0, 1000]))
    for options in ({}, {"solver": "nystroem"}):
        # A constant column has no part in a score, whatever a new row has there.
        constant = X * np.float32([1, 1, 1, 1, 1, 0])
        assert_equal(KernelPCA(3, kernel="rbf", scale="unit", **options), constant)
    # A fit of sparse rows shifts nothing.
    assert_equal(KernelPCA(3, kernel="linear"), csr_array(near), NEW - np.float32([0, 0, 0, 0, 0, 1000]))
    assert_equal(KernelPCA(3, kernel="rbf", center=False))
    kernel = KernelPCA(3, kernel="sigmoid", gamma=0.001, repair="clip").fit(near)
    scores = run(to_onnx(kernel), near)
    assert np.abs(scores - kernel.transform(near)).max() <= 1e-5 * np.abs(scores).max()
    K = (near @ near.T).astype(np.float32)
    assert_equal(KernelPCA(3, kernel="precomputed"), K, K[:7])


def test_missing_values_are_filled_and_pictures_are_flat_rows():
    holed = X.copy()
    holed[3, 1] = np.nan
    model = PCA(2, missing="mean").fit(holed)
    assert np.abs(run(to_onnx(model), holed) - model.transform(holed)).max() < 1e-4
    assert np.isnan(run(to_onnx(PCA(2).fit(X)), holed)[3]).all()
    pictures = X.reshape(90, 2, 3)
    model = PCA(2).fit(pictures)
    assert np.abs(run(to_onnx(model), X) - model.transform(pictures)).max() < 1e-3


def test_names_are_in_the_metadata():
    pd = pytest.importorskip("pandas")
    model = PCA(2).fit(pd.DataFrame(X, columns=list("abcdef")))
    proto = to_onnx(model)
    known = {entry.key: entry.value for entry in proto.metadata_props}
    assert known["columns"] == '["a", "b", "c", "d", "e", "f"]'
    assert known["components"] == '["PC1", "PC2"]'
    assert [value.name for value in (*proto.graph.input, *proto.graph.output)] == ["X", "scores"]


def test_pipelines_in_the_dtype_of_their_input():
    y = X[:, 0] > 5
    register()
    for step in (PCA(3), KernelPCA(3, kernel="rbf"), Whitener()):
        pipeline = make_pipeline(StandardScaler(), step, LogisticRegression()).fit(X, y)
        assert (run(skl2onnx.to_onnx(pipeline, X[:1]), NEW) == pipeline.predict(NEW)).all()
    pipeline = make_pipeline(StandardScaler(), KernelPCA(3, kernel="rbf")).fit(X.astype(float))
    scores = run(skl2onnx.to_onnx(pipeline, X[:1].astype(float)), NEW.astype(float))
    assert scores.dtype == np.float64
    assert np.allclose(scores, pipeline.transform(NEW.astype(float)), rtol=0, atol=1e-12)


def test_what_is_not_exported_is_said(monkeypatch):
    doubled = KernelPCA(2, kernel=lambda x, y: float(x @ y)).fit(X)
    with pytest.raises(ParameterError, match=r"kernel=callable\(function=<lambda>, vectorised=False\) is"):
        to_onnx(doubled)
    with pytest.raises(InputTypeError, match=r"A PolynomialMap of gramian.* is not exported to ONNX"):
        to_onnx(PolynomialMap(2).fit(X))
    for kernel in ("laplacian", "rbf() + linear()"):
        with pytest.raises(
            ParameterError, match=r"is not exported to ONNX\. Kernels that are: cosine, linear, "
        ):
            to_onnx(KernelPCA(2, kernel=kernel).fit(X))
    with pytest.raises(InputTypeError, match=r"A PCA of gramian\.connect\.sklearn is not exported to ONNX"):
        to_onnx(compat.PCA(2).fit(X))
    monkeypatch.setattr(onnx_graph, "MOST_BYTES", 1000)
    with pytest.raises(MemoryLimitError, match=r"An ONNX file holds at most 2 GB, but this model has 5\.18"):
        to_onnx(KernelPCA(2, kernel="rbf").fit(X))
    with pytest.raises(DataError, match=r"Numbers of this model exceed the range of float32\. Scale"):
        to_onnx(PCA(2).fit(X.astype(float) * 1e60))
