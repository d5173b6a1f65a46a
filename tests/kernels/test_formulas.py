"""Every formula against its definition entry by entry, against scikit-learn, and its stated error bound."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from exact_kernels import clusters, excess
from gramian.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Cosine,
    Formula,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from gramian.kernels.facts import Facts, proven
from gramian.kernels.formulas import NAMED

RNG = np.random.default_rng(5)
# Above 0, for the chi-squared kernel; every formula takes that.
X = np.abs(RNG.standard_normal((37, 5)))
Y = np.abs(RNG.standard_normal((23, 5)) + 0.5)
WIDTHS = (0.3, 2.0, 1.0, 20.0, 0.7)


# (kernel, scikit-learn's function)
CASES = {
    "linear": (Linear(), pairwise.linear_kernel),
    "constant": (Constant(2.5), gp.ConstantKernel(2.5)),
    "poly": (
        Polynomial(degree=3, gamma=0.25, coef0=1.0),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=0.25, coef0=1.0),
    ),
    "poly-default": (Polynomial(), pairwise.polynomial_kernel),
    "poly-1": (
        Polynomial(degree=1, gamma=2.0, coef0=0.5),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=1, gamma=2.0, coef0=0.5),
    ),
    "poly-13": (
        Polynomial(degree=13, gamma=0.1, coef0=0.0),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=13, gamma=0.1, coef0=0.0),
    ),
    "poly-fractional": (
        Polynomial(degree=1.5, gamma=1.0, coef0=0.25),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=1.5, gamma=1.0, coef0=0.25),
    ),
    "dot-product": (Polynomial(degree=1, gamma=1.0, coef0=4.0), gp.DotProduct(sigma_0=2.0)),
    "rbf": (RBF(gamma=0.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)),
    "rbf-sigma": (RBF(sigma=1.7), gp.RBF(1.7)),
    "rbf-default": (RBF(), pairwise.rbf_kernel),
    "rbf-widths": (RBF(sigma=WIDTHS), gp.RBF(length_scale=WIDTHS)),
    "laplacian": (Laplacian(gamma=0.4), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.4)),
    "laplacian-default": (Laplacian(), pairwise.laplacian_kernel),
    **{f"matern-{nu}": (Matern(length_scale=1.3, nu=nu), gp.Matern(1.3, nu=nu)) for nu in (0.5, 1.5, 2.5)},
    **{
        f"matern-widths-{nu}": (Matern(length_scale=WIDTHS, nu=nu), gp.Matern(WIDTHS, nu=nu))
        for nu in (0.5, 1.5, 2.5)
    },
    "rq": (RationalQuadratic(length_scale=1.3, alpha=0.7), gp.RationalQuadratic(1.3, 0.7)),
    "rq-widths": (
        RationalQuadratic(length_scale=WIDTHS, alpha=3.0),
        lambda A, B: gp.RationalQuadratic(1.0, 3.0)(A / WIDTHS, B / WIDTHS),
    ),
    "cosine": (Cosine(), pairwise.cosine_similarity),
    "chi2": (ChiSquared(), pairwise.chi2_kernel),
    "chi2-gamma": (ChiSquared(0.2), lambda A, B: pairwise.chi2_kernel(A, B, gamma=0.2)),
    "sigmoid": (
        Sigmoid(gamma=0.2, coef0=-0.3),
        lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.2, coef0=-0.3),
    ),
    "sigmoid-default": (Sigmoid(), pairwise.sigmoid_kernel),
}


def test_every_formula_is_its_definition_symmetric_and_printed():
    assert {type(kernel) for kernel, _ in CASES.values()} >= set(NAMED)
    for name, (kernel, _) in CASES.items():
        assert excess(kernel, X[:9]) <= 1, name
    for name, (kernel, reference) in CASES.items():
        assert_allclose(kernel.gram(X, Y), reference(X, Y), rtol=1e-10, atol=1e-14, err_msg=name)
    for name, (kernel, _) in CASES.items():
        assert_array_equal(kernel(X), kernel.gram(X), err_msg=name)
        assert_array_equal(kernel(X, Y), kernel.gram(X, Y), err_msg=name)
        assert_array_equal(np.diag(kernel.gram(X)), kernel.bind(X).diagonal(X), err_msg=name)
        assert str(kernel) == kernel.formula != "", name
        assert kernel.general, name
        assert str(kernel.bind(X).kernel), name
        for rows in (X, X.astype(np.float32), np.asfortranarray(X), X * 1e-3 + 1e4):
            K = kernel.gram(rows)
            assert K.dtype == rows.dtype, name
            assert_array_equal(K, K.T, err_msg=name)
    for kernel, formula in [
        (Linear(), "x . y"),
        (Constant(2), "2"),
        (Polynomial(), "(gamma x . y + 1)^3"),
        (Polynomial(2, 0.5, 0), "(0.5 x . y + 0)^2"),
        (RBF(), "exp(-gamma ||x - y||^2)"),
        (RBF(gamma=0.5), "exp(-0.5 ||x - y||^2)"),
        (RBF(gamma=1), "exp(-1 ||x - y||^2)"),
        (RBF(sigma=2.0), "exp(-||x - y||^2 / (2 2^2))"),
        (RBF(sigma="median"), "exp(-||x - y||^2 / (2 sigma^2))"),
        (RBF(sigma=(1, 0.5)), "exp(-||x - y||^2 / (2 (1, 0.5)^2))"),
        (Laplacian(gamma="median"), "exp(-gamma ||x - y||_1)"),
        (Matern(2.0, 2.5), "(1 + r + r^2/3) exp(-r), r = sqrt(2 2.5) ||x - y|| / 2"),
        (Matern(), "(1 + r) exp(-r), r = sqrt(2 1.5) ||x - y|| / 1"),
        (RationalQuadratic(2.0, 0.5), "(1 + ||x - y||^2 / (2 0.5 2^2))^-0.5"),
        (ChiSquared(0.5), "exp(-0.5 sum_j (x_j - y_j)^2 / (x_j + y_j)), x and y >= 0"),
        (Sigmoid(coef0=-1), "tanh(gamma x . y + -1)"),
    ]:
        assert str(kernel) == formula, (kernel, formula)


DTYPES = (np.float32, np.float64)
FAR = [
    RBF(sigma=1.0),
    RBF(sigma=0.37),
    RBF(sigma=(1.0, 1e3, 1e-3)),
    RBF(sigma=(0.1, 2.0, 30.0)),
    Laplacian(gamma=0.7),
    Matern(1.0, 0.5),
    Matern(0.37, 1.5),
    Matern((0.1, 2.0, 30.0), 2.5),
    Matern((1.0, 1e3, 1e-3), 1.5),
    RationalQuadratic(1.0, 1.0),
    RationalQuadratic(0.3, 0.1),
    RationalQuadratic((0.1, 2.0, 30.0), 50.0),
    ChiSquared(0.1),
]


def test_the_error_bound_holds_for_clusters_near_zero_and_at_the_ends_of_the_range():
    for kernel, *case in product(FAR, (0.0, 3.0, 1e6), [0.0, 1e8], (1.0, 1e-9), DTYPES):
        rows = clusters(*case)
        rows = np.abs(rows) if isinstance(kernel, ChiSquared) else rows
        assert excess(kernel, rows) <= 1, (kernel, case)
    kernels = [
        *(Linear(), Cosine(), Constant(3.7), Polynomial(), Polynomial(degree=17, gamma=0.3, coef0=0.1)),
        *(Polynomial(degree=2, gamma=1e-3, coef0=0.0), Polynomial(degree=2, gamma=1.0, coef0=-3.0)),
        *(Sigmoid(gamma=1e-3, coef0=0.5), Sigmoid(gamma=0.4, coef0=-1.0)),
    ]
    for kernel, *case in product(kernels, (0.0, 5.0, 1e4), [0.0, 100.0, 1e4], (1.0, 1e-6), DTYPES):
        assert excess(kernel, clusters(*case)) <= 1, (kernel, case)
    # Rows whose inner product cancels nearly, where the slope of t^0.5 has no bound.
    for degree in [0.5, 0.1, 1.5, 2.5]:
        kernel = Polynomial(degree=degree, gamma=0.3, coef0=0.0)
        assert excess(kernel, np.array([[1.0, 1.0], [1.0, -1.0 + 2.0**-50]])) <= 1
        assert excess(kernel, np.array([[1.0, 1.0], [1e8, -1e8 + 2.0**-20]])) <= 1
    products = [Linear(), Cosine(), Polynomial(2, 1.0, 0.0), Sigmoid(1.0, 0.0)]
    for kernel in [*products, RBF(sigma=1.0), Laplacian(), Matern(), ChiSquared()]:
        for scale in [1e-160, 1e-100, 1e60]:
            assert excess(kernel, np.abs(clusters(3.0)) * scale) <= 1, (scale, kernel)

    class Careless(Linear):
        def evaluation_error(self, d, largest, direct):
            return 0.0, 1e-18

    assert excess(Careless(), clusters(3.0)) > 10


@pytest.mark.parametrize(
    "kernel", [RBF(sigma=1.0), Laplacian(gamma=0.7), Cosine(), Polynomial(), Matern(), RationalQuadratic()]
)
@settings(max_examples=12)
@given(
    d=st.integers(1, 12), scale=st.floats(1e-3, 1e5), offset=st.floats(-1e5, 1e5), seed=st.integers(0, 10**6)
)
def test_the_error_bound_on_random_rows(kernel, d, scale, offset, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((5, d)) * rng.choice([1e-3, 1.0], (5, 1)) * scale + offset
    assert excess(kernel, rows) <= 1


def test_neighbours_far_from_the_mean_keep_their_digits_and_errors_are_small():
    """Centring rows first would round away what tells two neighbours apart."""
    rows = np.array([[0.0], [1e-3], [1e6 + 0.5], [1e6 + 1.25]])
    K = RBF(sigma=1.0).gram(rows)
    assert K[2, 3] == pytest.approx(math.exp(-(0.75**2) / 2), rel=1e-15)
    assert K[0, 1] == pytest.approx(math.exp(-1e-6 / 2), rel=1e-15)
    K = Laplacian(gamma=1.0).gram(rows)
    assert K[2, 3] == pytest.approx(math.exp(-0.75), rel=1e-15)
    K = Matern(nu=0.5).gram(rows)
    assert K[0, 1] == pytest.approx(math.exp(-1e-3), rel=1e-15)
    for name, (kernel, _) in CASES.items():
        bound = kernel.bind(X)
        assert 0 <= bound.absolute < 1e-9 * max(1.0, bound.largest), name
        assert 0 <= bound.relative < 1e-12, name
        assert np.abs(kernel.gram(X)).max() <= bound.largest * (1 + 1e-12), name


class Brownian(Formula):
    """min(x, y) of numbers above 0; its diagonal is a column of the data itself."""

    name = "brownian"
    general = formula = "min(x, y)"

    facts = Facts(proven("An inner product of indicator functions."))

    def encode(self, X, direct):
        return X, X

    def tile(self, left, right, direct, out=None):
        return np.minimum(left[:, :1], right[:, 0])

    def diagonal(self, X):
        return X[:, 0]

    def evaluation_error(self, d, largest, direct):
        return 0.0, 0.0

    def size(self, largest):
        return largest


def test_a_formula_of_ones_own_takes_part_in_everything():
    for combined in [2 * Brownian(), Brownian() ** 2, Brownian() + 1.0, Brownian().exp()]:
        before = X.copy()
        combined.gram(X)
        assert_array_equal(X, before)
    K = np.minimum(X[:, :1], X[:, 0])
    kernel = Brownian()
    assert_array_equal(kernel.gram(X), K)
    assert kernel.psd
    assert repr(kernel) == "brownian()"
    assert_allclose((2 * kernel + kernel**2).gram(X), 2 * K + K**2, rtol=1e-15)
    assert_allclose((kernel * RBF()).gram(X, Y), np.minimum(X[:, :1], Y[:, 0]) * RBF().gram(X, Y))
    assert (kernel + RBF()).normalized().psd
    assert np.linalg.eigvalsh((kernel + RBF()).normalized().gram(X))[0] > -1e-12
