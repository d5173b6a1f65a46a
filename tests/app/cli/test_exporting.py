import numpy as np
import pytest

from gramian import load

pytest.importorskip("skl2onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


def test_export_writes_a_model_of_the_same_scores(flower_model, gramian):
    ran = gramian(f"export {flower_model} -o m.onnx")
    assert (ran.code, ran.out) == (
        0,
        "Input X (rows x 3), output scores (rows x 3), both float32.\nWritten: m.onnx\n",
    )
    X, model = np.float32([[5, 5, 5], [1, 2, 3]]), load(flower_model)
    (scores,) = onnxruntime.InferenceSession("m.onnx").run(["scores"], {"X": X})
    assert np.allclose(scores, (X - model.mean_) @ model.components_.T, rtol=0, atol=1e-5)


def test_another_suffix_is_refused(flower_model, gramian):
    gramian.refuses(f"export {flower_model} -o m.pmml", 2, "ends in .onnx")
