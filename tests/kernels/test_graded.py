"""Monomials by degree against their definition, coefficients against whole-number arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

import gramian.arrays
from gramian.kernels.graded import exact_fraction, graded_blocks, graded_powers, graded_roots, radical
from gramian.kernels.monomials import exponents

SIZES = [(1, 0), (1, 7), (2, 0), (2, 6), (3, 5), (4, 3), (6, 4), (9, 2), (5, 1)]


@pytest.mark.parametrize(("d", "degree"), SIZES)
def test_powers_are_all_there_are_in_the_common_order(d, degree):
    powers = graded_powers(d, degree)
    assert [p.sum(axis=1).tolist() for p in powers] == [
        [m] * math.comb(d + m - 1, m) for m in range(degree + 1)
    ]
    np.testing.assert_array_equal(np.concatenate(powers), exponents(d, degree))


@pytest.mark.parametrize(("d", "degree"), SIZES)
def test_blocks_are_products_of_powers(array_kind, d, degree):
    Z = np.random.default_rng(0).uniform(-2, 2, (7, d))
    made = array_kind.make(Z)
    blocks = list(graded_blocks(made, degree))
    shrunk = list(graded_blocks(made, degree, shrink=True))
    assert len(blocks) == degree + 1
    rtol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
    for m, (block, small, powers) in enumerate(zip(blocks, shrunk, graded_powers(d, degree), strict=True)):
        assert array_kind.same(block) or array_kind.name == "numpy-read-only"
        expected = np.prod(Z[:, None, :] ** powers, axis=2)
        np.testing.assert_allclose(gramian.arrays.to_numpy(block), expected, rtol=rtol)
        root = math.sqrt(math.factorial(m))
        np.testing.assert_allclose(gramian.arrays.to_numpy(small) * root, expected, rtol=rtol)


@pytest.mark.parametrize(("d", "degree"), [*SIZES, (2, 60), (3, 30), (1, 1000), (2, 400)])
def test_roots_are_those_of_whole_multinomials(d, degree):
    roots = graded_roots(d, degree)
    powers = graded_powers(d, degree)
    for m in sorted({0, 1, degree // 2, degree}):
        if m > degree:
            continue
        for alpha, root in zip(powers[m][::7].tolist(), roots[m][::7].tolist(), strict=True):
            exact = math.factorial(m) // math.prod(map(math.factorial, alpha))
            # isqrt of the number scaled by 4^60: the root to 60 bits, whatever the number's size.
            expected = Fraction(math.isqrt(exact << 120), 1 << 60)
            assert abs(Fraction(root) / expected - 1) < 2e-15 * d


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.0, Fraction(0)), (1.0, Fraction(1)), (0.1, Fraction(1, 10)), (1 / 3, Fraction(1, 3)),
        (2 / 3, Fraction(2, 3)), (250.5, Fraction(501, 2)), (math.pi, None), (1e-5, None),
        (0.1 + 1e-15, None),
    ],
)  # fmt: skip
def test_a_float_is_the_simple_fraction_it_stands_for(value, fraction):
    assert exact_fraction(value) == fraction


@pytest.mark.parametrize(
    ("square", "text"),
    [
        (Fraction(1), "1"), (Fraction(9), "3"), (Fraction(6), "sqrt(6)"), (Fraction(1, 4), "1/2"),
        (Fraction(2, 9), "sqrt(2/9)"), (None, "1.41421"), (Fraction(10**13), "1.41421"),
        (Fraction(1, 10**13), "1.41421"), (Fraction(10**12), "1000000"),
    ],
)  # fmt: skip
def test_coefficients_as_text(square, text):
    assert radical(square, math.sqrt(2)) == text
