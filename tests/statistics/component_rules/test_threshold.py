"""The hard threshold: its constants from closed forms and published numbers, its choice on planted data."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from gramian.statistics.component_rules import (
    Scree,
    gavish_donoho,
    known_noise_factor,
    marchenko_pastur_median,
    unknown_noise_factor,
)


def distribution(t, beta):
    """Marchenko and Pastur's density, summed over a grid that is finer where it grows without bound."""
    a, b = (1 - beta**0.5) ** 2, (1 + beta**0.5) ** 2
    edges = a + (t - a) * np.linspace(0, 1, 200_001) ** 2
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.sqrt((b - middle) * (middle - a)) / (2 * np.pi * beta * middle)
    return float(density @ np.diff(edges))


def test_medians_and_factors_are_those_of_the_paper():
    for beta in [0.01, 0.1, 0.3, 0.5, 0.9, 1.0]:
        assert distribution(marchenko_pastur_median(beta), beta) == pytest.approx(0.5, abs=2e-5)

    # For beta = 1 the square root of an eigenvalue follows the quarter circle on [0, 2].
    def excess(x):
        return (x * np.sqrt(4 - x * x) / 2 + 2 * np.arcsin(x / 2)) / np.pi - 0.5

    assert marchenko_pastur_median(1.0) == pytest.approx(brentq(excess, 0, 2, xtol=1e-14) ** 2, rel=1e-11)
    assert marchenko_pastur_median(1e-8) == pytest.approx(1.0, abs=1e-7)
    assert known_noise_factor(1e-12) == pytest.approx(2**0.5)
    for beta in np.linspace(0.01, 1, 12):
        cubic = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
        assert unknown_noise_factor(beta) == pytest.approx(cubic, abs=0.02)
    assert known_noise_factor(1.0) == pytest.approx(4 / 3**0.5, rel=1e-15)
    assert unknown_noise_factor(1.0) == pytest.approx(2.858, abs=5e-4)
    for shape in [(400, 100), (100, 400), (200, 200)]:
        s = np.linalg.svd(np.random.default_rng(0).standard_normal(shape), compute_uv=False)
        expected = np.sqrt(marchenko_pastur_median(min(shape) / max(shape)) * max(shape))
        assert np.median(s) == pytest.approx(expected, rel=0.02)


def scree_of(X, known=None, ddof=1):
    n, d = X.shape
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / (n - ddof)
    return Scree(values[:known], float(values.sum()), n, d, d, degrees=n - ddof)


def planted(n, d, k, seed):
    rng = np.random.default_rng(seed)
    return 2 * rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((n, d))


def test_the_choice_is_the_count_above_the_threshold_and_none_of_nothing():
    rng = np.random.default_rng(2)
    values = np.concatenate([[5.0, 3.0], np.zeros(6)])
    choice = gavish_donoho(Scree(values, 8.0, 50, 8, 8, degrees=49))
    assert choice.number == 2
    assert "0, the median: data without noise" in choice.sentence
    assert gavish_donoho(Scree(np.zeros(4), 0.0, 50, 4, 4)).number == 0
    assert gavish_donoho(Scree(np.empty(0), 0.0, 2, 4, 0)).number == 0
    noise = gavish_donoho(scree_of(rng.standard_normal((150, 50))))
    assert noise.number == 0
    assert noise.sentence.startswith("0 singular values exceed the threshold")
    for shape, ddof in product([(300, 40), (40, 300), (100, 100)], [0, 1]):
        n, d = shape
        X = planted(n, d, 3, seed=0)
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[: min(n - 1, d)]
        beta = min(n - 1, d) / max(n - 1, d)
        threshold = unknown_noise_factor(beta) * np.median(s)
        choice = gavish_donoho(scree_of(X, ddof=ddof))
        assert choice.number == np.sum(s > threshold) == 3
        assert_allclose(choice.evidence["threshold"], threshold)
        assert_allclose(choice.evidence["singular_value"], s, rtol=1e-10)
    for known in [5, 12]:
        X = planted(300, 40, 3, seed=1)
        choice = gavish_donoho(scree_of(X, known))
        assert (choice.number, choice.at_least) == (3, False)
        assert "by the trace, as the median is not known" in choice.sentence
        threshold = choice.evidence["threshold"][0]
        assert threshold == pytest.approx(known_noise_factor(40 / 299) * np.sqrt(299), rel=0.03)
        few = gavish_donoho(scree_of(X, 2))
        assert (few.number, few.at_least) == (2, True)
