"""The number of kernel components by what pre-images tell about hidden entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramian
from gramian.models.kernel_pca.rules import PASSES, first_components, held_out_preimages
from gramian.tables.as_rows import as_rows


def request(X, seed=0, **parameters):
    model = gramian.KernelPCA(**{"kernel": "rbf", "gamma": "median", **parameters})
    rows = as_rows(X, estimator="test", minimum=2)
    return held_out_preimages(model, rows, np.random.default_rng(seed))


def planted(n=150, rank=2, noise=0.2, d=6):
    rng = np.random.default_rng(1)
    loadings = np.linalg.qr(rng.standard_normal((d, rank)))[0].T * np.sqrt(d)
    return rng.standard_normal((n, rank)) @ loadings + noise * rng.standard_normal((n, d))


@pytest.mark.walk
def test_noise_has_no_component():
    assert request(np.random.default_rng(0).standard_normal((48, 4))).number == 0


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_linear_kernel_finds_the_planted_rank(rank):
    assert request(planted(rank=rank, d=12), kernel="linear", gamma=None).number == rank


@pytest.mark.walk
def test_too_many_components_tell_less_than_the_best():
    result = request(planted(n=80))
    errors = dict(
        zip(result.evidence["components"].astype(int).tolist(), result.evidence["error"], strict=True)
    )
    assert 2 <= result.number <= 12
    assert errors[result.number] < 0.5 * errors[0]
    assert errors[48] > 1.2 * errors[result.number]


def test_the_error_is_that_of_the_definition():
    """One component of the linear kernel, filled in by hand with PCA."""
    X = planted(n=12, d=4)
    result = request(X, kernel="linear", gamma=None, seed=5)
    rng = np.random.default_rng(5)
    part, group = rng.permutation(np.arange(12) % 3), rng.permutation(np.arange(4) % 3)
    total = 0.0
    for fold in range(3):
        fitted, rows = X[part != fold], X[part == fold]
        mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
        v = np.linalg.svd(fitted - mean)[2][0]
        for hidden in (group == 0, group == 1, group == 2):
            filled = np.where(hidden, mean, rows)
            for _ in range(PASSES):
                back = mean + np.outer((filled - mean) @ v, v)
                filled = np.where(hidden, back, rows)
            total += hidden.mean() * np.mean((((filled - rows) / spread)[:, hidden]) ** 2) / 3
    assert result.evidence["error"][1] == pytest.approx(total, rel=1e-9)


def test_what_it_cannot_be_asked_and_a_plan_includes_its_fits():
    assert "too few" in request(planted(n=5)).sentence
    assert "too few" in request(planted()[:, :1]).sentence
    assert request(planted(n=5)).number is None
    K = np.eye(20)
    assert "no rows" in request(K, kernel="precomputed", gamma=None).sentence
    X = planted(20)
    model = gramian.KernelPCA(3, kernel=lambda a, b: float(a @ b)).fit(X)
    assert (model.explained_variance_ratio_ is None) == (
        first_components(model, 1).explained_variance_ratio_ is None
    )
    X = planted(60)
    for kernel in ("rbf", "linear"):
        plain = gramian.KernelPCA(10, kernel=kernel).plan(X)
        for rule in ("parallel", "cv"):
            plan = gramian.KernelPCA(rule, kernel=kernel).plan(X)
            assert plan.steps[1:] == plain.steps, (kernel, rule)
            assert f"for the rule '{rule}'" in plan.steps[0].detail, (kernel, rule)
            assert plan.seconds > 10 * plain.seconds, (kernel, rule)


@pytest.mark.parametrize("kernel", ["linear", "rbf(sigma=2)", "laplacian(gamma=0.3)"])
def test_first_components_are_those_of_a_fit_with_fewer(kernel):
    X, new = planted(60), planted(70)[60:]
    whole = gramian.KernelPCA(6, kernel=kernel).fit(X)
    fewer = gramian.KernelPCA(2, kernel=kernel).fit(X)
    if kernel.startswith("laplacian"):
        # A map from all scores was learned already.
        whole.inverse_transform(whole.transform(new))
    part = first_components(whole, 2)
    assert (whole.n_components_, part.n_components_, part.rank_) == (6, 2, 2)
    assert_allclose(part.transform(new), fewer.transform(new), atol=1e-8)
    assert_allclose(part.eigenvalues_, fewer.eigenvalues_)
    assert_allclose(part.explained_variance_ratio_, fewer.explained_variance_ratio_)
    back = part.inverse_transform(part.transform(new))
    assert_allclose(back, fewer.inverse_transform(fewer.transform(new)), atol=1e-4)
