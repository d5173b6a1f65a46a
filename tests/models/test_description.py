import numpy as np
import pytest
from scipy import sparse

import gramian
from damaged import DROPPED, changed, reseal
from gramian import PCA, KernelPCA, Whitener
from gramian.app.verbs.show import described
from gramian.models.model_file import read_model
from gramian.report.facts import component_facts, model_facts

X = np.random.default_rng(0).standard_normal((30, 6))


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (PCA("mle", scale="pareto"), X * [9, 5, 2, 1, 1, 1]),
        (PCA(2), X.reshape(30, 2, 3)),
        (KernelPCA(3, kernel="rbf(sigma=2) + 0.5*linear"), X),
        (KernelPCA(3, kernel="rbf"), sparse.csr_array(np.maximum(X, 0))),
        (KernelPCA(2, kernel="sigmoid", repair="clip"), X),
        (Whitener("zca-cor"), X),
    ],
    ids=["pca", "pictures", "kernel", "sparse", "clipped", "whitener"],
)
def test_a_file_tells_of_a_decomposition_what_the_decomposition_tells(model, rows, tmp_path):
    model.fit(rows).save(tmp_path / "m.gramian")
    twin, told = gramian.load(tmp_path / "m.gramian"), described(read_model(tmp_path / "m.gramian"))
    assert model_facts(told) | {"kind": type(model).__name__} == model_facts(twin)
    assert component_facts(told) == component_facts(twin)
    assert (str(told.plan_), str(told.certificate_)) == (str(twin.plan_), str(twin.certificate_))


def test_what_only_a_class_can_tell_is_left_to_it(tmp_path):
    path = tmp_path / "m.gramian"
    for name, value in (("n_components_", 3), ("explained_variance_", None), ("plan_", {"$": "No"})):
        PCA(2).fit(X).save(path)
        reseal(path, lambda content, name=name, value=value: changed(content, ("state", name), value))
        assert described(read_model(path)) is None
    gramian.PolynomialMap(2).fit(X).save(path)
    assert described(read_model(path)) is None


def test_a_description_without_its_kernel_tells_the_rest(tmp_path):
    path = tmp_path / "m.gramian"
    KernelPCA(2, kernel="rbf").fit(X).save(path)
    reseal(path, lambda content: changed(content, ("state", "kernel_"), DROPPED))
    assert model_facts(described(read_model(path)))["kernel"] == "rbf"
