"""Kernels of the inner product and constants: ends of the range, and what proves or refutes them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from exact_kernels import excess, quadratic_form
from gramian.errors import DataError
from gramian.kernels import Constant, Cosine, Linear, Polynomial, Sigmoid, audit, exp

X = np.random.default_rng(5).standard_normal((37, 5))


# ------------------------------------------------------- ends of the range


def test_zero_rows_overflow_and_powers_of_negative_numbers():
    for kernel, scale in [
        (Polynomial(degree=30, gamma=1.0), 1e12),
        (Linear(), 1e160),
        (Sigmoid(gamma=1.0), 1e160),
    ]:
        with pytest.raises(DataError, match=r"\) overflows on this data: rows reach a norm of"):
            kernel.gram(X * scale)
    for coef0 in [0.0, -1.0]:
        with pytest.raises(DataError, match=r"\.0\) has no value where gamma x \. y \+ coef0 is negative,"):
            Polynomial(degree=2.5, gamma=1.0, coef0=coef0).gram(X)
        # Where only the diagonal is negative as well.
        with pytest.raises(DataError, match=r"poly\(degree=1\.5, gamma=1\.0, coef0=-1\.0\) has no value"):
            Polynomial(degree=1.5, gamma=1.0, coef0=-1.0).gram([[0.5]])
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1e-200, 0.0], [1e200, 1e200], [5e-324, 0.0]])
    half = math.sqrt(0.5)
    assert_allclose(
        Cosine().gram(rows),
        [
            [0, 0, 0, 0, 0],
            [0, 1, 0.6, 1.4 * half, 0.6],
            [0, 0.6, 1, half, 1],
            [0, 1.4 * half, half, 1, half],
            [0, 0.6, 1, half, 1],
        ],
        rtol=1e-14,
    )


def test_proven_and_by_what_also_of_constants():
    for kernel in (
        *(Linear(), Cosine(), Polynomial(), Polynomial(2, 1.0, 0.0), Polynomial(4.0, 0.1, 3)),
        *(Sigmoid(gamma=0, coef0=coef0) for coef0 in (1.0, 0.0)),  # constants, as without inner products
    ):
        assert kernel.psd, kernel
        K = kernel.gram(X)
        assert np.linalg.eigvalsh(K)[0] >= -1e-13 * np.linalg.norm(K), kernel
    assert Sigmoid(gamma=0, coef0=-1.0).validity.refuted
    assert "feature map is x itself" in str(Linear().validity)
    assert "scaled to length 1" in str(Cosine().validity)
    assert [part.formula for part in Polynomial(coef0=2.0).validity.parts] == [
        "linear()",
        "constant(value=2.0)",
    ]
    assert not any(kernel.facts.divisible for kernel in (Linear(), Cosine(), Polynomial()))
    for value in (0, 0.0, 1, 2.5, 1e300, -3.0, -1e-300):
        kernel = Constant(value)
        assert_array_equal(kernel.gram(X), np.full((37, 37), float(value)))
        assert_array_equal(kernel.gram(X, X[:4]), np.full((37, 4), float(value)))
        assert_array_equal(kernel.bind(X).diagonal(X), np.full(37, float(value)))
        assert excess(kernel, X[:3]) == 0
        assert kernel.psd == kernel.facts.divisible == (kernel**0.5).psd == (value >= 0)
        assert float(quadratic_form(kernel, [Fraction(1, 8)])) == value


REFUTED = [
    # (kernel, the power whose Taylor coefficient is negative)
    *((Constant(value), 0) for value in (-0.5, -3)),
    (Polynomial(1, 1.0, -1.0), 0),
    (Polynomial(2, 1.0, -1.0), 1),
    (Polynomial(3, 0.5, -2.0), 0),
    (Polynomial(4, 2.0, -0.1), 1),
    (Polynomial(0.5, 1.0, 1.0), 2),
    (Polynomial(1.5, 1.0, 1.0), 3),
    (Polynomial(2.5, 1.0, 1.0), 4),
    (Polynomial(5.5, 1.0, 2.0), 7),
    (Sigmoid(1.0, 1.0), 2),
    (Sigmoid(0.5, 0.1), 2),
    (Sigmoid(2.0, 0.0), 3),
    (Sigmoid(1.0, -0.5), 0),
    (Sigmoid(-1.0, 0.5), 1),
    (Sigmoid(None, 1.0), 2),
    (Sigmoid(-0.5, 0.0), 1),
    (-Linear(), 1),
    (Linear() - Polynomial(2, 1.0, 0.0), 2),
    (Polynomial(2, 1.0, 1.0) - 2 * Linear() - 2, 0),
    (Polynomial(3, 1.0, 1.0) - 4 * Linear(), 1),
    (exp(Linear()) - Linear() ** 2, 2),
    (exp(-Linear()), 1),
    (exp(Linear() - 0.5 * Polynomial(2, 1.0, 0.0) * 2), 2),
    (Linear() * (1 - Linear()), 2),
    ((1 + Linear()) ** 0.5, 2),
    ((1 + Linear() + Linear() ** 2) ** 1.5, 5),
    ((Linear() - 1) ** 3, 0),
    (Sigmoid(1.0, 0.0) ** 2, 4),
    (Sigmoid(1.0, 1.0) * 2, 2),
    (exp(Sigmoid(1.0, 1.0)), 2),
]


def test_points_refute_and_theory_does_where_a_formula_is_named():
    for kernel, power in REFUTED:
        assert kernel.validity.refuted or kernel.parts, (kernel, power)
        assert not kernel.psd, (kernel, power)
        points = [Fraction(i + 1, 64) for i in range(power + 1)]
        assert quadratic_form(kernel, points) < -1e-30, (kernel, power)
        assert audit(kernel).witness is not None, (kernel, power)


def test_what_refutes_is_written_down_and_huge_powers_judged():
    for kernel in [Linear(), Polynomial(3, 1.0, 0.5), Constant(1.0), Polynomial(2, 1.0, 0.0)]:
        for m in range(6):
            assert quadratic_form(kernel, [Fraction(i + 1, 64) for i in range(m + 1)]) >= -1e-40
    for degree in [10**9, 1e300]:
        assert not Polynomial(degree, 1.0, -1.0).psd
        assert not Polynomial(degree, 1.0, -1e200).psd
        assert Polynomial(degree, 1.0, 1.0).psd
    assert "one point refutes it" in Constant(-3).validity.reason
    assert "still no kernel" in (Sigmoid(1.0, 1.0) * 2).validity.reason
    result = Sigmoid(1.0, 40.0).validity
    assert result.refuted
    assert "has a negative Taylor coefficient" in result.reason
    assert quadratic_form(Sigmoid(1.0, 20.0), [Fraction(i + 1, 64) for i in range(3)]) < -1e-30
    kernel = Polynomial(degree=1.5, gamma=1.0, coef0=0.0)
    assert kernel.validity.refuted
    assert "two or more features" in kernel.validity.reason
    rows = np.array([[1.0, 0.5 * i] for i in range(4)])
    assert np.linalg.eigvalsh(kernel.gram(rows))[0] < -1e-6
    # One feature does not refute it: x^1.5 y^1.5 has a feature map.
    K = kernel.gram(np.arange(1.0, 6.0)[:, None])
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * K.max()
