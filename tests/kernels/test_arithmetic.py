"""Products, distances and powers against loops; what counts as a number, and as rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gramian.kernels.arithmetic import is_number, largest_norm, squared_distances, whole_power

RNG = np.random.default_rng(2)
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))


def test_numbers_and_what_is_none():
    for value in [1, 0, -2.5, np.float64(1), np.float32(2), np.int64(3), Fraction(1, 3), 1e308, 10**300]:
        assert is_number(value), value
    for value in [True, np.True_, "1", None, 1j, math.nan, math.inf, -math.inf, [1], np.ones(1)]:
        assert not is_number(value), value


def test_distances_of_many_rows_are_worked_out_a_few_at_a_time():
    torch = pytest.importorskip("torch")
    many, d = RNG.standard_normal((60, 40)), RNG.standard_normal((3000, 40))
    result = squared_distances(torch.asarray(many), torch.asarray(d))
    assert_allclose(result.numpy(), squared_distances(many, d), rtol=1e-12)


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(-3, 3))
def test_whole_powers_are_exact_to_the_stated_rounding(degree, base):
    exact = Fraction(base) ** degree
    result = Fraction(float(whole_power(np.array([[base]]), degree)[0, 0]))
    assert abs(result - exact) <= abs(exact) * Fraction(degree) / 2**53 + Fraction(1, 2**1000)


def test_largest_norm():
    assert largest_norm(X) == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-15)
    assert largest_norm(np.zeros((2, 2))) == 0
    assert largest_norm(np.array([[np.inf, 1.0]])) == np.inf
