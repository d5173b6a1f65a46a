"""Minka's evidence against the formula, pair by pair, and against scikit-learn's choice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import hadamard
from scipy.special import gammaln

from gramian import PCA, choose_components
from gramian.errors import ParameterError
from gramian.statistics.component_rules import Scree, log_evidence, minka


def definition(values, k, n):
    """Equations 30 and 31 with the pairs written out."""
    d = len(values)
    noise = values[k:].mean()
    estimate = [*values[:k], *[noise] * (d - k)]
    m = d * k - k * (k + 1) / 2
    log_pu = -k * np.log(2)
    for i in range(1, k + 1):
        log_pu += gammaln((d - i + 1) / 2) - (d - i + 1) / 2 * np.log(np.pi)
    log_det = 0.0
    for i in range(k):
        for j in range(i + 1, d):
            log_det += np.log((1 / estimate[j] - 1 / estimate[i]) * (values[i] - values[j]) * n)
    likelihood = -n / 2 * np.log(values[:k]).sum() - n * (d - k) / 2 * np.log(noise)
    return log_pu + likelihood + (m + k) / 2 * np.log(2 * np.pi) - log_det / 2 - k / 2 * np.log(n)


def table(n, d, k, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((n, d))


def scree_of(X, known=None):
    n, d = X.shape
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:d] ** 2 / (n - 1)
    return Scree(values[:known], float(values.sum()), n, d, d, degrees=n - 1)


def test_the_evidence_is_that_of_the_formula_also_of_parts():
    X = table(400, 20, 4, seed=2)
    part = minka(scree_of(X, known=8))
    assert (part.number, part.at_least) == (4, False)
    assert "12 unknown eigenvalues count as equal" in part.sentence
    few = minka(scree_of(X, known=2))
    assert (few.number, few.at_least) == (2, True)
    whole = minka(scree_of(X)).evidence["log_evidence"]
    assert_allclose(part.evidence["log_evidence"][:4], whole[:4], rtol=1e-3)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 8))
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    choice = minka(Scree(values, float(values.sum()), 50, 8, 8, degrees=49, tolerance=1e-12))
    assert choice.number == 3
    assert "5 of 8 eigenvalues are 0" in choice.sentence
    assert minka(Scree(np.array([2.0]), 2.0, 30, 1, 1, degrees=29)).number == 1
    assert minka(Scree(np.array([0.0, 0.0]), 0.0, 30, 2, 2, degrees=29)).number == 0
    assert np.isfinite(log_evidence(np.ones(6), 30)).all()
    X = hadamard(16)[:, 1:].astype(float)
    X[:, :4] *= 5
    for dtype in (np.float64, np.float32):
        with pytest.raises(ParameterError, match=r"evidence diverges where variances are equal.*Use .gavish"):
            PCA("mle").fit(X.astype(dtype))
    assert choose_components(X)["mle"].number is None
    near = X * np.linspace(1, 1.01, 15)  # not equal
    assert PCA("mle").fit(near).n_components_ >= 4
    for n, d in [(50, 2), (60, 9), (21, 20), (500, 30)]:
        values = scree_of(table(n, d, 1, seed=d)).values
        result = log_evidence(values, n)
        # Only ratios of eigenvalues matter, so what is left is a constant.
        expected = np.array([definition(values / values[0], k, n) for k in range(1, d)])
        assert_allclose(result, expected, rtol=1e-11, atol=1e-9)
        assert_allclose(log_evidence(values * 1e-200, n), result, rtol=1e-9)
        assert_allclose(log_evidence(values, n, 1), result[:1])
    choice = minka(scree_of(table(400, 20, 4, seed=1)))
    assert choice.number == 4
    assert choice.evidence["components"].tolist() == list(range(1, 20))
    assert "largest at 4" in choice.sentence
    for shape in [(10, 10), (10, 30)]:
        choice = minka(scree_of(table(*shape, 2, seed=3)))
        assert choice.number is None
        assert f"there are 10 rows x {shape[1]} columns" in choice.sentence
