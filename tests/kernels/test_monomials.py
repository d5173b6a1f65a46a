"""Monomials: which there are, their names and values, against products written out."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from gramian.core.arrays import to_numpy
from gramian.errors import ParameterError
from gramian.kernels.feature_maps import (
    coefficient_text,
    count_monomials,
    exponents,
    graded_blocks,
    graded_powers,
    graded_roots,
    monomial_name,
    polynomial_map,
)

SIZES = [(1, 0), (1, 7), (2, 0), (2, 6), (3, 5), (4, 3), (6, 4), (9, 2), (5, 1)]


@pytest.mark.parametrize(
    ("d", "degree", "count"), [(4, 3, 35), (10, 15, 3268760), (2, 20, 231), (2, 3, 10), (3, 0, 1)]
)
def test_counts(d, degree, count):
    assert count_monomials(d, degree) == comb(d + degree, degree) == count


def test_all_powers_once_in_order_of_degree():
    for d in [1, 2, 3, 4]:
        for degree in [0, 1, 2, 3, 5]:
            powers = exponents(d, degree)
            every = {p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree}
            assert {tuple(p) for p in powers.tolist()} == every, (d, degree)
            assert len(powers) == len(every) == count_monomials(d, degree), (d, degree)
            degrees = powers.sum(axis=1)
            assert (np.diff(degrees) >= 0).all(), (d, degree)
            for total in range(degree + 1):
                within = [tuple(p) for p in powers[degrees == total].tolist()]
                assert within == sorted(within, reverse=True), (d, degree)


def test_powers_are_all_there_are_in_the_common_order():
    for d, degree in SIZES:
        powers = graded_powers(d, degree)
        assert [p.sum(axis=1).tolist() for p in powers] == [
            [m] * comb(d + m - 1, m) for m in range(degree + 1)
        ], (d, degree)
        np.testing.assert_array_equal(np.concatenate(powers), exponents(d, degree), err_msg=repr((d, degree)))


def test_blocks_are_products_of_powers(array_kind):
    for d, degree in SIZES:
        Z = np.random.default_rng(0).uniform(-2, 2, (7, d))
        made = array_kind.make(Z)
        blocks = list(graded_blocks(made, degree))
        assert len(blocks) == degree + 1, (d, degree)
        rtol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
        for block, powers in zip(blocks, graded_powers(d, degree), strict=True):
            assert array_kind.same(block) or array_kind.name == "numpy-read-only", (d, degree)
            expected = np.prod(Z[:, None, :] ** powers, axis=2)
            np.testing.assert_allclose(to_numpy(block), expected, rtol=rtol, err_msg=repr((d, degree)))


@pytest.mark.parametrize(
    ("power", "name"), [([0, 0], "1"), ([1, 0], "x"), ([0, 2], "y^2"), ([2, 1], "x^2 y"), ([3, 3], "x^3 y^3")]
)
def test_names(power, name):
    assert monomial_name(power, ["x", "y"]) == name
    assert monomial_name(np.array(power), ("x", "y")) == name


# ------------------------------------------------ coefficients against whole-number arithmetic


def test_roots_are_those_of_whole_multinomials():
    for d, degree in [*SIZES, (2, 60), (3, 30), (1, 1000), (2, 400)]:
        roots = graded_roots(d, degree)
        powers = graded_powers(d, degree)
        for m in sorted({0, 1, degree // 2, degree}):
            if m > degree:
                continue
            for alpha, root in zip(powers[m][::7].tolist(), roots[m][::7].tolist(), strict=True):
                exact = math.factorial(m) // math.prod(map(math.factorial, alpha))
                # isqrt of the number scaled by 4^60: the root to 60 bits, whatever the number's size.
                expected = Fraction(math.isqrt(exact << 120), 1 << 60)
                assert abs(Fraction(root) / expected - 1) < 2e-15 * d, (d, degree)


def test_coefficients_as_text():
    for value, text in [
        (1.0, "1"),
        (3.0, "3"),
        (math.sqrt(6), "sqrt(6)"),
        (math.sqrt(6306300), "sqrt(6306300)"),
        (0.5, "0.5"),
        (math.sqrt(2 / 9), "0.471405"),
        (math.sqrt(2 + 1e-9), "1.41421"),
        (3e5, "300000"),
        (math.sqrt(2) * 1e5, "141421"),
        (0.0, "0"),
    ]:
        assert coefficient_text(value) == text, (value, text)


def test_monomials_without_coefficients():
    rng = np.random.default_rng(0)
    for d, degree, coef0 in [(1, 1, 1), (2, 3, 1), (3, 2, 0), (4, 5, 1)]:
        X, Y = rng.standard_normal((6, d)), rng.standard_normal((4, d))
        mapping = polynomial_map(d, degree=degree, coef0=coef0, weights=None)
        degrees = range(degree + 1) if coef0 else [degree]
        powers = [p for p in product(range(degree + 1), repeat=d) if sum(p) in degrees]
        expected = {p: np.prod(X ** np.array(p), axis=1) for p in powers}
        values = mapping(X)
        assert values.shape == (6, len(expected))
        for column, power in zip(values.T, mapping.powers.tolist(), strict=True):
            np.testing.assert_allclose(column, expected[tuple(power)], rtol=1e-13)
        assert set(mapping.coefficients) == {1.0}
        assert not any("sqrt" in name for name in mapping.names)
        kernel = sum(np.outer(np.prod(X**p, axis=1), np.prod(Y**p, axis=1)) for p in mapping.powers)
        np.testing.assert_allclose(mapping.kernel(X, Y), kernel, rtol=1e-12, atol=1e-12)
        error = mapping.kernel_error(X, Y)
        assert error.maximum <= error.bound < 1e-8
    for wrong in ({"gamma": 0.5}, {"coef0": 2.0}):
        with pytest.raises(ParameterError, match="part of the coefficients"):
            polynomial_map(2, weights=None, **wrong)
    with pytest.raises(ParameterError, match="weights"):
        polynomial_map(2, weights="none")
