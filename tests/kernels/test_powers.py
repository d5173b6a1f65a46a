"""Powers and exponentials of kernels."""

from fractions import Fraction

import numpy as np
import pytest

from exact_kernels import quadratic_form
from gramian.errors import DataError, ParameterError
from gramian.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    Sigmoid,
    exp,
)

X = np.abs(np.random.default_rng(3).standard_normal((14, 3))) + 0.05
Y = X[:5] * 1.3 + 0.1
k1, k2, k3 = RBF(sigma=1.3), Polynomial(2, 0.5, 1.0), Matern(0.7, 1.5)


def same(first, second, rtol=1e-13):
    np.testing.assert_allclose(first.gram(X), second.gram(X), rtol=rtol)
    np.testing.assert_allclose(first.gram(X, Y), second.gram(X, Y), rtol=rtol)
    np.testing.assert_allclose(first.bind(X).diagonal(X), second.bind(X).diagonal(X), rtol=rtol)


def test_exponents_are_positive():
    for exponent in [0, -1, -0.5, float("nan"), "2", None]:
        with pytest.raises(ParameterError, match=r"exponent=.* must be a number above 0"):
            Power(k1, exponent).gram(X)
        assert Power(k1, exponent).validity.status == "unknown", exponent


def test_powers_of_powers_multiply():
    for a, b in [(2, 3), (0.5, 2), (1.5, 0.4), (3, 0.5)]:
        for kernel in [k1, k3, Laplacian(), ChiSquared(), exp(k2 / 4)]:
            same((kernel**a) ** b, kernel ** (a * b), rtol=1e-12)
            same(kernel**a * kernel**b, kernel ** (a + b), rtol=1e-12)


def test_exponentials_turn_sums_into_products():
    same(exp(k1 + k3), exp(k1) * exp(k3))
    same(exp(k2 / 8) ** 3, exp(3 * (k2 / 8)), rtol=1e-12)
    same(exp(Constant(0.0)), Constant(1.0))


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 5])
def test_whole_powers_of_negative_values(exponent):
    values = (k1 - 2).gram(X)
    assert values.max() < 0
    np.testing.assert_allclose(((k1 - 2) ** exponent).gram(X), values**exponent, rtol=1e-14)


def test_fractional_powers_of_negative_values_are_refused():
    with pytest.raises(
        DataError, match=r"no value where rbf\(.*\) \+ constant.* is negative|no value where .* - 2"
    ):
        ((k1 - 2) ** 0.5).gram(X)
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match=r"reaches -1.* Use a whole power"):
        ((k1 - 2) ** 0.5).gram(torch.asarray(X))


def test_fractional_powers_of_what_is_not_divisible_are_not_proven():
    for kernel in (k2, Linear(), Cosine(), k1 + k3, k1 * k2, k1 + 1.0, k2.normalized()):
        assert kernel.psd
        assert not kernel.facts.divisible
        assert not (kernel**0.5).psd
        assert (kernel**2).psd


def test_a_sum_that_is_not_divisible_really_is_not():
    """cosh(x y) = (exp(x y) + exp(-x y)) / 2 shows what a root can do; so do three points of 1 + x y."""
    assert quadratic_form((1 + Linear()) ** 0.5, [Fraction(i, 8) for i in range(3)]) < -1e-30


def test_judging_deep_chains_takes_no_time():
    kernel = RBF()
    for _ in range(60):
        kernel = exp(kernel) ** 0.5
    assert kernel.psd
    other = Sigmoid()
    for _ in range(60):
        other = exp(other) ** 0.5 * other.on(0, 1) if _ < 3 else other**2
    assert not other.psd


def test_judging_huge_exponents_takes_no_time():
    assert (Sigmoid(1.0, 0.0) ** 10**9).validity.status == "unknown"
    assert (k2**1e300).psd
    assert not ((k1 - 2) ** 1e300).psd
