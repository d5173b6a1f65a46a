"""Every kernel against its formula, entry by entry, and the error bound that it states."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF, Cosine, Laplacian, Linear, Polynomial, Sigmoid

RNG = np.random.default_rng(5)
X = RNG.standard_normal((37, 5))
Y = RNG.standard_normal((23, 5)) + 0.5


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def squared_distance(x, y):
    return math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def absolute_distance(x, y):
    return math.fsum(abs(a - b) for a, b in zip(x, y, strict=True))


# (kernel, the formula in plain arithmetic, scikit-learn's function)
CASES = {
    "linear": (Linear(), dot, pairwise.linear_kernel),
    "poly": (
        Polynomial(degree=3, gamma=0.25, coef0=1.0),
        lambda x, y: (0.25 * dot(x, y) + 1.0) ** 3,
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=0.25, coef0=1.0),
    ),
    "poly-default": (
        Polynomial(),
        lambda x, y: (dot(x, y) / 5 + 1.0) ** 3,
        pairwise.polynomial_kernel,
    ),
    "poly-1": (
        Polynomial(degree=1, gamma=2.0, coef0=0.5),
        lambda x, y: 2.0 * dot(x, y) + 0.5,
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=1, gamma=2.0, coef0=0.5),
    ),
    "poly-13": (
        Polynomial(degree=13, gamma=0.1, coef0=0.0),
        lambda x, y: (0.1 * dot(x, y)) ** 13,
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=13, gamma=0.1, coef0=0.0),
    ),
    "rbf": (
        RBF(gamma=0.3),
        lambda x, y: math.exp(-0.3 * squared_distance(x, y)),
        lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3),
    ),
    "rbf-sigma": (
        RBF(sigma=1.7),
        lambda x, y: math.exp(-squared_distance(x, y) / (2 * 1.7**2)),
        lambda A, B: pairwise.rbf_kernel(A, B, gamma=1 / (2 * 1.7**2)),
    ),
    "rbf-default": (
        RBF(),
        lambda x, y: math.exp(-squared_distance(x, y) / 5),
        pairwise.rbf_kernel,
    ),
    "laplacian": (
        Laplacian(gamma=0.4),
        lambda x, y: math.exp(-0.4 * absolute_distance(x, y)),
        lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.4),
    ),
    "laplacian-default": (
        Laplacian(),
        lambda x, y: math.exp(-absolute_distance(x, y) / 5),
        pairwise.laplacian_kernel,
    ),
    "cosine": (
        Cosine(),
        lambda x, y: dot(x, y) / math.sqrt(dot(x, x) * dot(y, y)),
        pairwise.cosine_similarity,
    ),
    "sigmoid": (
        Sigmoid(gamma=0.2, coef0=-0.3),
        lambda x, y: math.tanh(0.2 * dot(x, y) - 0.3),
        lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.2, coef0=-0.3),
    ),
    "sigmoid-default": (
        Sigmoid(),
        lambda x, y: math.tanh(dot(x, y) / 5 + 1.0),
        pairwise.sigmoid_kernel,
    ),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


def test_every_entry_is_the_formula(case):
    kernel, formula, _ = case
    expected = np.array([[formula(x, y) for y in Y] for x in X])
    np.testing.assert_allclose(kernel.gram(X, Y), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        kernel.gram(X), [[formula(x, y) for y in X] for x in X], rtol=1e-12, atol=1e-14
    )


def test_agrees_with_scikit_learn(case):
    kernel, _, reference = case
    np.testing.assert_allclose(kernel.gram(X, Y), reference(X, Y), rtol=1e-12, atol=1e-14)


def test_calling_a_kernel_is_its_gram_matrix(case):
    kernel = case[0]
    np.testing.assert_array_equal(kernel(X), kernel.gram(X))
    np.testing.assert_array_equal(kernel(X, Y), kernel.gram(X, Y))


def test_gram_is_exactly_symmetric_and_float64(case):
    kernel = case[0]
    for rows in (X, X.astype(np.float32), np.asfortranarray(X), X * 1e-3 + 1e4):
        K = kernel.gram(rows)
        assert K.dtype == np.float64
        np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("kernel", [RBF(), RBF(sigma=1e-3), Laplacian(), Laplacian(gamma=300.0)])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_stationary_kernels_have_an_exact_unit_diagonal(kernel, offset):
    assert kernel.stationary
    for dtype in (np.float32, np.float64):
        rows = (X + offset).astype(dtype)
        np.testing.assert_array_equal(np.diag(kernel.gram(rows)), np.ones(len(X)))
        np.testing.assert_array_equal(kernel.diagonal(rows), np.ones(len(X)))


def test_diagonal_is_the_diagonal_of_the_gram_matrix(case):
    kernel = case[0].resolve(X.shape[1])
    np.testing.assert_allclose(kernel.diagonal(X), [case[1](x, x) for x in X], rtol=1e-13, atol=1e-15)


def test_lists_are_taken_as_rows():
    np.testing.assert_array_equal(Linear().gram([[1, 2], [3, 4]], [[1, 0], [0, 1]]), [[1.0, 2.0], [3.0, 4.0]])


def test_cosine_of_a_zero_row_is_zero():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1e-200, 0.0], [1e200, 1e200]])
    half = math.sqrt(0.5)
    np.testing.assert_allclose(
        Cosine().gram(rows),
        [[0, 0, 0, 0], [0, 1, 0.6, 1.4 * half], [0, 0.6, 1, half], [0, 1.4 * half, half, 1]],
        rtol=1e-14,
    )


# --------------------------------------------------------- the stated bound


def exact_value(kernel, x, y):
    """k(x, y) to forty digits: sums are exact rationals, functions decimal."""
    x, y = ([Fraction(float(v)) for v in row] for row in (x, y))
    with localcontext() as context:
        context.prec = 45
        context.Emin, context.Emax = -(10**9), 10**9

        def decimal(q):
            return Decimal(q.numerator) / Decimal(q.denominator)

        inner = sum(a * b for a, b in zip(x, y, strict=True))
        if isinstance(kernel, Linear):
            return decimal(inner)
        if isinstance(kernel, Cosine):
            size = sum(a * a for a in x) * sum(b * b for b in y)
            return decimal(inner) / decimal(size).sqrt() if size else Decimal(0)
        gamma = Fraction(kernel.gamma)
        if isinstance(kernel, RBF):
            gap = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
            return decimal(-gamma * gap).exp()
        if isinstance(kernel, Laplacian):
            gap = sum(abs(a - b) for a, b in zip(x, y, strict=True))
            return decimal(-gamma * gap).exp()
        argument = gamma * inner + Fraction(kernel.coef0)
        if isinstance(kernel, Polynomial):
            return decimal(argument ** int(kernel.degree))
        large = (2 * decimal(argument)).exp() if argument < 300 else None
        return Decimal(1) if large is None else (large - 1) / (large + 1)


def worst_excess(kernel, rows):
    """Largest (error - stated bound) over all pairs; at most zero when the bound holds."""
    bound = kernel.bind(rows)
    left, right = bound.encode(rows)
    K = bound.tile(left, right)
    worst = Decimal(-1)
    for i in range(len(rows)):
        for j in range(len(rows)):
            exact = exact_value(bound.kernel, rows[i], rows[j])
            allowed = Decimal(bound.absolute) + Decimal(bound.relative) * abs(exact)
            worst = max(worst, abs(Decimal(float(K[i, j])) - exact) - allowed)
    return worst


def clusters(gap, offset, dtype, d=3, seed=0):
    """Rows in three tight clusters ``gap`` apart; within a cluster they are about 1 apart."""
    rng = np.random.default_rng(seed)
    centres = gap * np.array([[0.0] * d, [1.0] + [0.0] * (d - 1), [0.3] * d])
    rows = np.repeat(centres, 5, axis=0) + rng.standard_normal((15, d)) + offset
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("gap", [3.0, 300.0, 1000.0, 1e6])
@pytest.mark.parametrize("kernel", [RBF(sigma=1.0), RBF(sigma=0.37), Laplacian(gamma=0.7)])
def test_error_bound_of_stationary_kernels_on_clusters_far_apart(kernel, gap, offset, dtype):
    assert worst_excess(kernel, clusters(gap, offset, dtype)) <= 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Cosine(),
        Polynomial(),
        Polynomial(degree=17, gamma=0.3, coef0=0.1),
        Polynomial(degree=2, gamma=1e-3, coef0=0.0),
        Sigmoid(gamma=1e-3, coef0=0.5),
        Sigmoid(gamma=0.4, coef0=-1.0),
    ],
)
def test_error_bound_of_kernels_of_inner_products(kernel, offset, dtype):
    assert worst_excess(kernel, clusters(5.0, offset, dtype)) <= 0


@pytest.mark.parametrize("kernel", [RBF(sigma=1.0), Laplacian(gamma=0.7), Cosine(), Polynomial()])
@settings(max_examples=15)
@given(
    d=st.integers(1, 12),
    scale=st.floats(1e-3, 1e5),
    offset=st.floats(-1e5, 1e5),
    seed=st.integers(0, 10**6),
)
def test_error_bound_on_random_rows(kernel, d, scale, offset, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6, d)) * rng.choice([1e-3, 1.0], (6, 1)) * scale + offset
    assert worst_excess(kernel, rows) <= 0


def test_neighbours_far_from_the_mean_keep_their_digits():
    """Centring rows first would round away what tells two neighbours apart."""
    rows = np.array([[0.0], [1e-3], [1e6 + 0.5], [1e6 + 1.25]])
    K = RBF(sigma=1.0).gram(rows)
    assert K[2, 3] == pytest.approx(math.exp(-(0.75**2) / 2), rel=1e-15)
    assert K[0, 1] == pytest.approx(math.exp(-1e-6 / 2), rel=1e-15)
    K = Laplacian(gamma=1.0).gram(rows)
    assert K[2, 3] == pytest.approx(math.exp(-0.75), rel=1e-15)


@pytest.mark.parametrize("gap", [3.0, 300.0])
def test_distances_are_expanded_where_that_is_accurate(gap):
    bound = RBF(sigma=1.0).bind(clusters(gap, 1e4, np.float64))
    assert not bound.direct
    assert bound.relative < 1e-9


@pytest.mark.parametrize("gap", [1e4, 1e6, 1e9])
def test_differences_are_summed_where_the_product_would_lose_digits(gap):
    bound = RBF(sigma=1.0).bind(clusters(gap, 0.0, np.float64))
    assert bound.direct
    assert bound.relative + bound.absolute < 1e-14


def test_a_stricter_precision_sums_differences_sooner():
    rows = clusters(300.0, 0.0, np.float64)
    assert RBF(sigma=1.0).bind(rows, precision=1e-13).direct
    assert not RBF(sigma=1.0).bind(rows, precision=1e-8).direct


def test_rows_at_the_ends_of_the_range():
    rows = np.array([[1e200], [-1e200], [1e-200], [0.0]])
    np.testing.assert_array_equal(
        RBF(gamma=1.0).gram(rows), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    )
    np.testing.assert_array_equal(
        Laplacian(gamma=1.0).gram(rows), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    )


# -------------------------------------------------------------- parameters


@pytest.mark.parametrize("value", [0, 0.0, -1.0, float("nan"), float("inf"), "1", True, [1.0], 1j])
@pytest.mark.parametrize("kind", [RBF, Laplacian, Polynomial])
def test_gamma_must_be_positive(kind, value):
    with pytest.raises(ParameterError, match=r"gamma=.* must be a positive number"):
        kind(gamma=value).gram(X)


@pytest.mark.parametrize("value", [0.0, -2.0, float("nan"), "wide", False])
def test_sigma_must_be_positive(value):
    with pytest.raises(ParameterError, match=r"sigma=.* must be a positive number"):
        RBF(sigma=value).gram(X)


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_sigma_whose_square_does_not_fit_is_refused(sigma):
    with pytest.raises(ParameterError, match="square that float64 cannot hold"):
        RBF(sigma=sigma).gram(X)


def test_sigma_and_gamma_together_are_refused():
    with pytest.raises(ParameterError, match="sigma or gamma, not both"):
        RBF(sigma=1.0, gamma=0.5).gram(X)


def test_sigma_is_the_width():
    assert RBF(sigma=2.0).resolve(3) == RBF(gamma=0.125)
    np.testing.assert_array_equal(RBF(sigma=2.0).gram(X), RBF(gamma=0.125).gram(X))


@pytest.mark.parametrize("degree", [0, -1, float("nan"), float("inf"), "3", True, None])
def test_degree_must_be_positive(degree):
    with pytest.raises(ParameterError, match=r"degree=.* must be a positive whole number"):
        Polynomial(degree=degree).gram(X)


@pytest.mark.parametrize("coef0", [float("nan"), float("inf"), "1", None])
@pytest.mark.parametrize("kind", [Polynomial, Sigmoid])
def test_coef0_must_be_a_number(kind, coef0):
    with pytest.raises(ParameterError, match=r"coef0=.* must be a finite number"):
        kind(coef0=coef0).gram(X)


@pytest.mark.parametrize("gamma", [float("nan"), float("inf"), "auto"])
def test_gamma_of_the_sigmoid_must_be_a_number(gamma):
    with pytest.raises(ParameterError, match=r"gamma=.* must be a finite number"):
        Sigmoid(gamma=gamma).gram(X)


def test_polynomial_that_overflows_is_refused():
    with pytest.raises(DataError, match=r"overflows on this data: rows reach a norm of"):
        Polynomial(degree=30, gamma=1.0).gram(X * 1e6)


def test_linear_kernel_that_overflows_is_refused():
    with pytest.raises(DataError, match=r"Linear\(\) overflows on this data"):
        Linear().gram(X * 1e160)


def test_fractional_power_of_a_negative_number_is_refused():
    with pytest.raises(DataError, match=r"no value where gamma x \. y"):
        Polynomial(degree=2.5, gamma=1.0, coef0=0.0).gram(X)


def test_fractional_power_of_positive_numbers_is_refuted_by_its_eigenvalue():
    """FitzGerald and Horn: the exponent 1.5 is refuted by four points."""
    t = np.arange(4.0)[:, None]
    kernel = Polynomial(degree=1.5, gamma=1.0, coef0=1.0)
    expected = (1 + t @ t.T) ** 1.5
    np.testing.assert_allclose(kernel.gram(t), expected, rtol=1e-14)
    assert not kernel.psd
    assert np.linalg.eigvalsh(kernel.gram(t))[0] < -1e-3


# --------------------------------------------------------------- validity


def test_what_is_proven_positive_semi_definite():
    for kernel in (Linear(), RBF(), Laplacian(), Cosine(), Polynomial(), Polynomial(2, 1.0, 0.0)):
        assert kernel.psd
        assert np.linalg.eigvalsh(kernel.gram(X))[0] > -1e-10
    for kernel in (Sigmoid(), Polynomial(degree=2.5), Polynomial(coef0=-1.0)):
        assert not kernel.psd
        assert "refuted" in kernel.validity


def test_negative_constant_has_a_negative_eigenvalue():
    rows = np.array([[0.1, 0.0], [0.0, 0.1]])
    assert np.linalg.eigvalsh(Polynomial(1, 1.0, -1.0).gram(rows))[0] < -1


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), angle=st.floats(0, 6.3))
def test_rbf_sees_neither_translation_nor_rotation(seed, angle):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((8, 2))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved = rows @ turn + rng.uniform(-10, 10, 2)
    np.testing.assert_allclose(RBF(0.8).gram(moved), RBF(0.8).gram(rows), atol=1e-12)


@pytest.mark.parametrize("power", [1, 2, 3, 4, 5, 7, 12])
def test_polynomial_is_the_inner_product_of_monomials(power):
    """(x . y + 1)^p through its feature map, for two features."""

    def phi(row):
        a, b = row
        return [
            math.sqrt(math.comb(power, i) * math.comb(power - i, j)) * a**i * b**j
            for i in range(power + 1)
            for j in range(power + 1 - i)
        ]

    features = np.array([phi(row) for row in X[:, :2]])
    assert features.shape[1] == math.comb(2 + power, power)
    kernel = Polynomial(degree=power, gamma=1.0, coef0=1.0)
    K = features @ features.T
    size = np.sqrt(np.diag(K))
    np.testing.assert_allclose(
        kernel.gram(X[:, :2]) / size / size[:, None], K / size / size[:, None], atol=1e-13
    )
