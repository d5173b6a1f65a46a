import json

import numpy as np

import gramian
from gramian.core.checks import plain
from gramian.report.facts import component_facts, kernel_text, model_facts, versions

X = np.random.default_rng(0).normal(size=(12, 3))


def test_facts_are_strict_json_with_the_numbers_of_the_kernel():
    for model in (gramian.PCA(random_state=0).fit(X), gramian.KernelPCA(3, kernel="rbf").fit(X)):
        json.dumps(model_facts(model), allow_nan=False)
        json.dumps(component_facts(model), allow_nan=False)
    assert plain({"a": (np.nan, np.int64(3), object)})["a"][:2] == [None, 3]
    assert kernel_text(gramian.KernelPCA(2, kernel="rbf", gamma=0.25).fit(X)) == "rbf(gamma=0.25)"
    combined = gramian.KernelPCA(2, kernel="rbf(sigma=1) + 2 * linear.on(0, 1)").fit(X)
    assert kernel_text(combined) == "rbf(gamma=0.5) + 2 * linear().on(0, 1)"
    assert kernel_text(gramian.KernelPCA(2, kernel="precomputed").fit(X @ X.T)) == "precomputed"
    assert kernel_text(gramian.PCA(2).fit(X)) == ""
    assert versions()["numpy"] == np.__version__


def test_components_beyond_the_rank_have_no_residual():
    flat = np.outer(np.arange(6.0), [1, 2, 3])
    model = gramian.PCA().fit(flat)
    facts = component_facts(model)
    assert len({len(column) for column in facts.values()}) == 1
    assert facts["cumulative"][-1] == 1.0 or abs(facts["cumulative"][-1] - 1) < 1e-12
