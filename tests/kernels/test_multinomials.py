"""Coefficients against whole-number arithmetic."""

import math
from fractions import Fraction

from gramian.kernels.monomials import exact_fraction, graded_powers, graded_roots, radical

SIZES = [(1, 0), (1, 7), (2, 0), (2, 6), (3, 5), (4, 3), (6, 4), (9, 2), (5, 1)]


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


def test_a_float_is_the_simple_fraction_it_stands_for():
    for value, fraction in [
        (0.0, Fraction(0)),
        (1.0, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1 / 3, Fraction(1, 3)),
        (2 / 3, Fraction(2, 3)),
        (250.5, Fraction(501, 2)),
        (math.pi, None),
        (1e-5, None),
        (0.1 + 1e-15, None),
    ]:
        assert exact_fraction(value) == fraction, (value, fraction)


def test_coefficients_as_text():
    for square, text in [
        (Fraction(1), "1"),
        (Fraction(9), "3"),
        (Fraction(6), "sqrt(6)"),
        (Fraction(1, 4), "1/2"),
        (Fraction(2, 9), "sqrt(2/9)"),
        (None, "1.41421"),
        (Fraction(10**13), "1.41421"),
        (Fraction(1, 10**13), "1.41421"),
        (Fraction(10**12), "1000000"),
    ]:
        assert radical(square, math.sqrt(2)) == text, (square, text)
