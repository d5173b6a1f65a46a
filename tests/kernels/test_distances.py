"""The Laplacian and chi-squared kernels."""

import math

import numpy as np
import pytest
from sklearn.metrics import pairwise

from gramian.errors import DataError
from gramian.kernels import ChiSquared, Laplacian

X = np.random.default_rng(5).standard_normal((20, 3))
H = np.abs(X)


def test_defaults_are_those_of_scikit_learn():
    assert Laplacian().resolve(X).gamma == 1 / 3
    assert ChiSquared().resolve(H).gamma == 1.0
    np.testing.assert_allclose(Laplacian().gram(X), pairwise.laplacian_kernel(X), rtol=1e-13)
    np.testing.assert_allclose(ChiSquared().gram(H), pairwise.chi2_kernel(H), rtol=1e-13)


def test_the_diagonal_is_exactly_1():
    for offset in [0.0, 1e4, 1e8]:
        for gamma in [None, 300.0]:
            for kernel in (Laplacian(gamma), ChiSquared(gamma or 1.0)):
                np.testing.assert_array_equal(
                    np.diag(kernel.gram(H + offset)), 1, err_msg=repr((offset, gamma))
                )
            assert Laplacian().stationary, (offset, gamma)
            assert not ChiSquared().stationary, (offset, gamma)


@pytest.mark.parametrize("scale", [1e8, 1e155, 1e300])
def test_far_rows_have_kernel_0(scale):
    rows = scale * np.array([[1.0], [7.0], [30.0]])
    np.testing.assert_array_equal(Laplacian(gamma=1.0).gram(rows), np.eye(3))
    np.testing.assert_array_equal(ChiSquared().gram(rows), np.eye(3))


def test_chi_squared_where_a_sum_of_two_entries_overflows():
    rows = np.array([[1.7e308], [1e308]])
    np.testing.assert_array_equal(ChiSquared().gram(rows), np.eye(2))
    expected = math.exp(-1e-308 * 0.7e308 * (0.7 / 2.7))
    assert ChiSquared(1e-308).gram(rows)[0, 1] == pytest.approx(expected, rel=1e-12)


def test_bins_that_are_empty_in_both_count_nothing():
    full = np.array([[3.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    K = ChiSquared().gram(full)
    np.testing.assert_array_equal(K, ChiSquared().gram(full[:, [0, 2]]))
    assert K[0, 1] == pytest.approx(math.exp(-(4 / 4 + 1 / 3)))
    assert K[0, 2] == pytest.approx(math.exp(-4.0))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_chi_squared_refuses_negative_numbers(kind):
    xp = pytest.importorskip(kind)
    rows, bad = xp.asarray([[0.5, 2.0], [3.0, 4.0]]), xp.asarray([[1.0, 2.0], [3.0, -0.25]])
    with pytest.raises(DataError, match="The chi-squared kernel is for histograms, but X reaches"):
        ChiSquared().gram(bad)
    with pytest.raises(DataError, match="The chi-squared kernel is for histograms, but X reaches"):
        ChiSquared().gram(rows, bad)
    with pytest.raises(DataError, match="The chi-squared kernel is for histograms, but X reaches"):
        ChiSquared().bind(rows).diagonal(bad)
    with pytest.raises(DataError, match="The chi-squared kernel is for histograms, but X reaches"):
        (1.0 + ChiSquared()).gram(bad)


def test_proven_with_every_positive_power():
    for kernel in (Laplacian(), ChiSquared()):
        assert kernel.psd
        assert kernel.facts.divisible
        assert (kernel**0.3).psd
        assert np.linalg.eigvalsh((kernel**0.3).gram(H))[0] > -1e-12
    assert "Cauchy" in Laplacian().validity.reason
    assert "1 / (x + y) is the integral" in ChiSquared().validity.reason
