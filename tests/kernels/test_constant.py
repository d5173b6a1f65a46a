"""The kernel that is the same for all rows."""

from fractions import Fraction

import numpy as np
import pytest

from exact_kernels import excess, quadratic_form
from gramian.kernels import RBF, Constant, Linear

X = np.random.default_rng(5).standard_normal((37, 5))


@pytest.mark.parametrize("value", [0, 1, 2.5, -3.0, 1e300])
def test_every_value_is_the_constant(value):
    np.testing.assert_array_equal(Constant(value).gram(X), np.full((37, 37), float(value)))
    np.testing.assert_array_equal(Constant(value).gram(X, X[:4]), np.full((37, 4), float(value)))
    np.testing.assert_array_equal(Constant(value).bind(X).diagonal(X), np.full(37, float(value)))
    assert excess(Constant(value), X[:3]) == 0


def test_it_stands_for_numbers_in_sums():
    assert RBF() + 2 == RBF() + Constant(2)
    assert -Constant(2.0) == Constant(-2.0)
    np.testing.assert_allclose((Linear() + 2).gram(X), X @ X.T + 2, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0, 1.0, 3])
def test_constants_of_at_least_0_are_kernels_with_all_their_powers(value):
    assert Constant(value).psd
    assert Constant(value).facts.divisible
    assert (Constant(value) ** 0.5).psd
    assert quadratic_form(Constant(value), [Fraction(1, 8)]) == value


@pytest.mark.parametrize("value", [-1e-300, -0.5, -3])
def test_one_point_refutes_a_negative_constant(value):
    result = Constant(value).validity
    assert result.refuted
    assert "one point refutes it" in result.reason
    assert quadratic_form(Constant(value), [Fraction(1, 8)]) < 0
    assert not Constant(value).facts.divisible


def test_it_does_not_change():
    bound = Constant(2.5).bind(X)
    result = bound.slopes(X[:2], bound.encode(X)[1])
    np.testing.assert_array_equal(result.values, np.full((2, 37), 2.5))
    np.testing.assert_array_equal(result.pull(np.ones((2, 37))), np.zeros((2, 5)))
    np.testing.assert_array_equal(result.stiffness(np.ones((2, 37))), np.zeros((2, 5)))
