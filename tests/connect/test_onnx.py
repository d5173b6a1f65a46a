"""A changed import leaves an export to ONNX as it was."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import KernelPCA
from gramian.connect import sklearn as compat
from gramian.errors import InputTypeError, MemoryLimitError

skl2onnx = pytest.importorskip("skl2onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

from gramian.connect.onnx import to_onnx  # noqa: E402

rng = np.random.default_rng(0)
X = (rng.standard_normal((90, 5)) * [3, 2, 1, 0.5, 0.1] + [5, 0, -5, 1, 0]).astype(np.float32)
NEW = (X[:20] + rng.standard_normal((20, 5)) * 0.3).astype(np.float32)


def run(proto):
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"X": NEW})[0]


def test_scores_are_those_of_transform_and_pipelines():
    for model in (
        compat.PCA(3),
        compat.PCA(3, whiten=True),
        compat.IncrementalPCA(3, batch_size=30),
        compat.KernelPCA(3, kernel="rbf", gamma=0.1),
        compat.KernelPCA(3, kernel="poly", gamma=0.01),
        compat.KernelPCA(3, kernel="sigmoid", gamma=0.001),
    ):
        expected = model.fit(X).transform(NEW.astype(np.float64))
        for proto in (to_onnx(model), skl2onnx.to_onnx(model, X[:1])):
            assert np.abs(run(proto) - expected).max() <= 1e-5 * np.abs(expected).max(), model
    y = X[:, 0] > 5
    for step in (compat.PCA(3), compat.KernelPCA(3, kernel="rbf")):
        pipeline = make_pipeline(StandardScaler(), step, LogisticRegression()).fit(X, y)
        assert (run(skl2onnx.to_onnx(pipeline, X[:1])) == pipeline.predict(NEW)).all()


def test_what_scikit_learn_fitted_is_left_to_it(monkeypatch):
    def refuse(*_):
        raise MemoryLimitError("too large")

    monkeypatch.setattr(KernelPCA, "fit", refuse)
    model = compat.KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    with pytest.raises(InputTypeError, match="gramian could not fit this KernelPCA, and scikit-learn"):
        to_onnx(model)
