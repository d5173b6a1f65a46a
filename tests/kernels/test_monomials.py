"""Monomials: which there are, their names and values, against products written out."""

from itertools import product
from math import comb, factorial, sqrt

import numpy as np
import pytest

from gramian.arrays import to_numpy
from gramian.kernels.monomials import (
    count_monomials,
    exponents,
    graded_blocks,
    graded_powers,
    monomial_name,
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
        shrunk = list(graded_blocks(made, degree, shrink=True))
        assert len(blocks) == degree + 1, (d, degree)
        rtol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
        for m, (block, small, powers) in enumerate(
            zip(blocks, shrunk, graded_powers(d, degree), strict=True)
        ):
            assert array_kind.same(block) or array_kind.name == "numpy-read-only", (d, degree)
            expected = np.prod(Z[:, None, :] ** powers, axis=2)
            np.testing.assert_allclose(to_numpy(block), expected, rtol=rtol, err_msg=repr((d, degree)))
            root = sqrt(factorial(m))
            np.testing.assert_allclose(to_numpy(small) * root, expected, rtol=rtol, err_msg=repr((d, degree)))


@pytest.mark.parametrize(
    ("power", "name"), [([0, 0], "1"), ([1, 0], "x"), ([0, 2], "y^2"), ([2, 1], "x^2 y"), ([3, 3], "x^3 y^3")]
)
def test_names(power, name):
    assert monomial_name(power, ["x", "y"]) == name
    assert monomial_name(np.array(power), ("x", "y")) == name
