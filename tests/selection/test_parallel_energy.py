"""Kernel parallel analysis, against the definition, a jackknife and the rule for one kernel."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

from gramian import KernelPCA
from gramian.analysis.component_rules import parallel_analysis
from gramian.errors import ParameterError
from gramian.kernels import RBF, Linear, Polynomial
from gramian.selection.choose_kernel import parallel_energy
from refusals import refused

SEEDS = list(range(19))


def planted(n=60):
    rng = np.random.default_rng(1)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((n, 5))


def spectrum(kernel, A):
    H = np.eye(len(A)) - 1 / len(A)
    return np.maximum(np.sort(np.linalg.eigvalsh(H @ kernel.gram(A) @ H))[::-1], 0)


def test_it_is_the_definition():
    for kernel in [RBF(sigma=2.0), Linear(), Polynomial(2, 0.2)]:
        X = planted()
        result = parallel_energy(KernelPCA(kernel=kernel), X, SEEDS)
        values = spectrum(kernel, X)
        drawn = []
        for seed in SEEDS:
            columns = np.random.default_rng(seed).permuted(np.ascontiguousarray(X.T), axis=1)
            drawn.append(spectrum(kernel, columns.T.copy()))
        threshold = np.max(drawn, axis=0)
        q = 0
        while values[q] > threshold[q] * (1 + 1e-6):
            q += 1
        assert result.n_components == q > 0
        assert result.value == pytest.approx(np.sum(values[:q] - threshold[:q]) / values.sum(), rel=1e-9)


def test_the_number_is_that_of_the_rule_for_one_kernel():
    X, kernel = planted(), RBF(sigma=2.0)
    rule = parallel_analysis(
        X,
        lambda A, count: spectrum(kernel, np.ascontiguousarray(A))[:count],
        np.random.default_rng(3),
        size=59,
    )
    seeds = np.random.default_rng(3).integers(2**62, size=19).tolist()
    assert parallel_energy(KernelPCA(kernel=kernel), X, seeds).n_components == rule.number


def test_the_standard_error_is_near_the_jackknife():
    X, kernel = planted(80), RBF(sigma=2.0)
    result = parallel_energy(KernelPCA(kernel=kernel), X, SEEDS)
    q = result.n_components
    shares = []
    for i in range(80):
        values = spectrum(kernel, np.delete(X, i, axis=0))
        shares.append(values[:q].sum() / values.sum())
    jackknife = np.sqrt(79 / 80 * np.sum((shares - np.mean(shares)) ** 2))
    assert result.standard_error == pytest.approx(jackknife, rel=0.1)


def test_noise_has_no_energy():
    X = np.random.default_rng(0).standard_normal((80, 4))
    for kernel in (Linear(), RBF(sigma=1.0), RBF(sigma=3.0)):
        result = parallel_energy(KernelPCA(kernel=kernel), X, SEEDS)
        assert (result.value, result.standard_error, result.n_components) == (0.0, 0.0, 0)


def test_rings_are_seen_by_narrow_kernels_only():
    X = make_circles(200, factor=0.4, noise=0.05, random_state=0)[0]
    assert parallel_energy(KernelPCA(kernel=Linear()), X, SEEDS).value == 0
    assert parallel_energy(KernelPCA(kernel=RBF(sigma=0.1)), X, SEEDS).value > 0.03


def test_wide_kernels_approach_the_linear_one():
    X = planted()
    wide = parallel_energy(KernelPCA(kernel=RBF(sigma=1e4)), X, SEEDS)
    linear = parallel_energy(KernelPCA(kernel=Linear()), X, SEEDS)
    assert wide.value == pytest.approx(linear.value, rel=1e-4)
    assert wide.n_components == linear.n_components


def test_scale_is_nothing():
    for scale in [1e-150, 1e150]:
        plain = parallel_energy(KernelPCA(kernel=Linear()), planted(), SEEDS)
        scaled = parallel_energy(KernelPCA(kernel=Linear()), planted() * scale, SEEDS)
        assert scaled.value == pytest.approx(plain.value, rel=1e-9)
        assert scaled.n_components == plain.n_components


def test_a_model_that_does_not_centre_is_refused():
    with refused(ParameterError, "criterion"):
        parallel_energy(KernelPCA(kernel=Linear(), center=False), planted(), SEEDS)
