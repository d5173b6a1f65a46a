"""Kernels of distances: widths, units, exact diagonals and the ends of the range."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from exact_kernels import clusters
from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF, ChiSquared, Laplacian, Matern, RationalQuadratic

X = np.random.default_rng(5).standard_normal((37, 5))
KINDS = [RBF, Matern, RationalQuadratic]
NUS = (0.5, 1.5, 2.5)
KERNELS = [RBF(), *(Matern(nu=nu) for nu in NUS), RationalQuadratic(), RationalQuadratic(alpha=50.0)]


def test_widths_are_one_for_each_feature_and_units():
    for kind in KINDS:
        with pytest.raises(ParameterError, match=r"has 2 widths but X has 5 features: give one each\."):
            kind((1.0, 2.0)).gram(X)
    for width, kind in product([1e-200, 1e200, (1e-200, 1, 1, 1, 1), (1, 1, 1, 1, 1e200)], KINDS):
        with pytest.raises(ParameterError, match=r"200 has a square that float64 cannot hold\. Scale the"):
            kind(width).gram(X)
    with pytest.raises(ParameterError, match=r"gamma=0\.5 and sigma are two names of one width, so give"):
        RBF(sigma=1.0, gamma=0.5).gram(X)
    assert RBF(sigma=2.0).resolve(X) == RBF(gamma=0.125)
    assert_array_equal(RBF(sigma=2.0).gram(X), RBF(gamma=0.125).gram(X))
    assert RBF().resolve(X) == RBF(gamma=0.2)
    for kind, cls in product([list, tuple, np.array], KINDS):
        case = kind, cls
        widths = [0.5, 2.0, 1e3, 1.0, 1e-3]
        assert_allclose(
            cls(kind(widths)).gram(X * widths), cls(1.0).gram(X), rtol=1e-12, atol=1e-15, err_msg=repr(case)
        )
        assert cls(kind(widths)) == cls(tuple(widths)), case
        assert cls(kind(widths)).resolve(X) == cls(tuple(widths)), case


def test_values_are_1_on_the_diagonal_and_fall_to_0():
    for offset, dtype, kernel in product([0.0, 1e4, 1e8], [np.float32, np.float64], KERNELS):
        case = offset, dtype, kernel
        assert kernel.stationary, case
        rows = (X + offset).astype(dtype)
        assert_array_equal(np.diag(kernel.gram(rows)), 1, err_msg=repr(case))
        assert_array_equal(kernel.bind(rows).diagonal(rows), 1, err_msg=repr(case))
    for kernel, rows in product(KERNELS, (X, X * 1e-6 + 1e3, X * 1e3)):
        K = kernel.gram(rows)
        assert K.min() >= 0, kernel
        assert K.max() <= 1 + 1e-9, kernel
    for kernel in KERNELS:
        if isinstance(kernel, RationalQuadratic):
            continue
        for scale in (1e8, 1e155, 1e200, 1e300):
            rows = scale * np.array([[1.0], [-1.0], [0.0]])
            assert_array_equal(kernel.gram(rows), np.eye(3), err_msg=repr(kernel))
            assert_array_equal(
                kernel.gram(np.zeros((2, 1)), rows[:2]), np.zeros((2, 2)), err_msg=repr(kernel)
            )
    for offset, gamma in product([0.0, 1e4, 1e8], [None, 300.0]):
        case = offset, gamma
        for kernel in (Laplacian(gamma), ChiSquared(gamma or 1.0)):
            assert_array_equal(np.diag(kernel.gram(HISTOGRAMS + offset)), 1, err_msg=repr(case))
        assert Laplacian().stationary, case
        assert not ChiSquared().stationary, case


def test_gamma_rows_and_widths_of_any_unit():
    for gamma, scale in [(1e-310, 1e155), (5e-324, 4e161), (1e308, 1e-154)]:
        expected = np.exp(-gamma * scale * scale * np.sum((X[:, None] - X) ** 2, axis=2))
        assert_allclose(RBF(gamma=gamma).gram(X * scale), expected, rtol=1e-9, atol=1e-300)
    for scale, kernel in product([1e-150, 1e-20, 1e20, 1e150], KERNELS):
        name = "sigma" if isinstance(kernel, RBF) else "length_scale"
        one = type(kernel)(**{**kernel.get_params(), name: 0.7})
        other = type(kernel)(**{**kernel.get_params(), name: 0.7 * scale})
        assert_allclose(
            other.gram(X * scale), one.gram(X), rtol=1e-11, atol=1e-300, err_msg=repr((scale, kernel))
        )
    assert_allclose(
        RBF(sigma=(1e160, 1e160, 1.0, 1.0, 1.0)).gram(X), RBF(sigma=1.0).gram(X[:, 2:]), rtol=1e-13
    )
    rows = np.array([[1e8, 1.0], [1e8, 1.0 + 1e-9], [1e8 + 16, 1.0]])
    kernel = RBF(sigma=(16.0, 1e-9))
    gap = (rows[1, 1] - rows[0, 1]) / 1e-9
    K = kernel.gram(rows)
    assert K[0, 1] == pytest.approx(math.exp(-gap * gap / 2), rel=1e-14)
    assert K[0, 2] == pytest.approx(math.exp(-0.5), rel=1e-14)
    widths = np.array([1.0, 1e3, 1e-3])
    rows = clusters(3.0)
    ours, scaled = RBF(sigma=widths).bind(rows * widths), RBF(sigma=1.0).bind(rows)
    assert not ours.direct
    assert scaled.relative / 20 < ours.relative < scaled.relative * 20


def test_proven_by_named_theorems_and_far_apart_0():
    for kernel in [*KERNELS, Laplacian(), ChiSquared()]:
        assert kernel.psd, kernel
        assert kernel.facts.divisible, kernel
        rows = HISTOGRAMS if isinstance(kernel, ChiSquared) else X
        for power in (0.1, 0.5, 1.7):
            assert (kernel**power).psd, kernel
            assert np.linalg.eigvalsh((kernel**power).gram(rows))[0] > -1e-12, kernel
    assert "Bochner 1933" in RBF().validity.reason
    assert "Student's t" in Matern().validity.reason
    assert "Schoenberg 1938" in RationalQuadratic().validity.reason
    assert "Cauchy" in Laplacian().validity.reason
    assert "1 / (x + y) is the integral" in ChiSquared().validity.reason
    for scale in [1e8, 1e155, 1e300]:
        rows = scale * np.array([[1.0], [7.0], [30.0]])
        assert_array_equal(Laplacian(gamma=1.0).gram(rows), np.eye(3))
        assert_array_equal(ChiSquared().gram(rows), np.eye(3))
    rows = np.array([[1.7e308], [1e308]])
    assert_array_equal(ChiSquared().gram(rows), np.eye(2))
    expected = math.exp(-1e-308 * 0.7e308 * (0.7 / 2.7))
    assert ChiSquared(1e-308).gram(rows)[0, 1] == pytest.approx(expected, rel=1e-12)
    full = np.array([[3.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    K = ChiSquared().gram(full)
    assert_array_equal(K, ChiSquared().gram(full[:, [0, 2]]))
    assert K[0, 1] == pytest.approx(math.exp(-(4 / 4 + 1 / 3)))
    assert K[0, 2] == pytest.approx(math.exp(-4.0))


ROWS = np.random.default_rng(5).standard_normal((20, 3))
HISTOGRAMS = np.abs(ROWS)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_chi_squared_refuses_negative_numbers(kind):
    xp = pytest.importorskip(kind)
    rows, bad = xp.asarray([[0.5, 2.0], [3.0, 4.0]]), xp.asarray([[1.0, 2.0], [3.0, -0.25]])
    kernel, combined = ChiSquared(), 1.0 + ChiSquared()
    for call, rows_given in (
        (kernel.gram, (bad,)),
        (kernel.gram, (rows, bad)),
        (kernel.bind(rows).diagonal, (bad,)),
        (combined.gram, (bad,)),
    ):
        with pytest.raises(DataError, match="The chi-squared kernel is for histograms, but X reaches"):
            call(*rows_given)
