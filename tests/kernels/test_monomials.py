"""Monomials: which there are, their names and values, against products written out."""

from itertools import product
from math import comb, prod

import numpy as np
import pytest

from gramian.kernels.monomials import count_monomials, evaluate_monomials, exponents, monomial_name

X = np.random.default_rng(0).standard_normal((6, 4))


@pytest.mark.parametrize(
    ("d", "degree", "count"), [(4, 3, 35), (10, 15, 3268760), (2, 20, 231), (2, 3, 10), (3, 0, 1)]
)
def test_counts(d, degree, count):
    assert count_monomials(d, degree) == comb(d + degree, degree) == count


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
def test_all_powers_once_in_order_of_degree(d, degree):
    powers = exponents(d, degree)
    every = {p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree}
    assert {tuple(p) for p in powers.tolist()} == every
    assert len(powers) == len(every) == count_monomials(d, degree)
    degrees = powers.sum(axis=1)
    assert (np.diff(degrees) >= 0).all()
    for total in range(degree + 1):
        within = [tuple(p) for p in powers[degrees == total].tolist()]
        assert within == sorted(within, reverse=True)


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_values_are_products_of_features(degree):
    powers = exponents(4, degree)
    expected = [[prod(x[j] ** int(p) for j, p in enumerate(power)) for power in powers] for x in X]
    found = evaluate_monomials(X, powers)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(evaluate_monomials(np.ones((2, 4), dtype=int), powers), 1)


@pytest.mark.parametrize(
    ("power", "name"), [([0, 0], "1"), ([1, 0], "x"), ([0, 2], "y^2"), ([2, 1], "x^2 y"), ([3, 3], "x^3 y^3")]
)
def test_names(power, name):
    assert monomial_name(power, ["x", "y"]) == name
    assert monomial_name(np.array(power), ("x", "y")) == name
