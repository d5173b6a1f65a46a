"""Derivatives of kernels of the distance against central differences of their own values."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import kernels

WIDTHS = (0.7, 1.3, 2.0)

SMOOTH = {
    "rbf": kernels.RBF(gamma=0.4),
    "rbf-widths": kernels.RBF(sigma=WIDTHS),
    "matern3": kernels.Matern(1.5, nu=1.5),
    "matern5": kernels.Matern(1.5, nu=2.5),
    "matern5-widths": kernels.Matern(WIDTHS, nu=2.5),
    "rq": kernels.RationalQuadratic(1.2, alpha=0.7),
    "rq-widths": kernels.RationalQuadratic(WIDTHS, alpha=2.0),
}


def rows(n, seed):
    return np.random.default_rng(seed).uniform(0.2, 2.5, (n, 3))


def central(function, X, h=1e-6):
    """d function(X)_b / dX_bj, for a function of rows that treats each alone."""
    values = np.empty(X.shape)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = h
        values[:, j] = (function(X + step) - function(X - step)) / (2 * h)
    return values


# With precision 0 distances are summed from differences instead of expanded into a product.
def weighted(bound, W, right, Z):
    return np.sum(W * bound.tile(bound.encode(Z)[0], right), axis=1)


def test_the_pull_is_the_derivative():
    for precision, centered, kernel in product([1e-9, 0.0], [False, True], SMOOTH.values()):
        case = precision, centered, kernel
        X, Y = rows(5, 0), rows(7, 1)
        W = np.random.default_rng(2).standard_normal((5, 7))
        bound = kernel.bind(Y, precision, centered=centered)
        assert kernel.smooth, case
        _, right = bound.encode(Y)
        result = bound.slopes(X, right)
        values = bound.tile(bound.encode(X)[0], right)
        assert_allclose(result.values, values, rtol=1e-9, atol=1e-9, err_msg=repr(case))
        expected = central(partial(weighted, bound, W, right), X)
        assert_allclose(
            result.pull(W), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(), err_msg=repr(case)
        )


@pytest.mark.parametrize("name", SMOOTH)
def test_a_kernel_pulls_towards_a_weighted_mean(name):
    X, Y = rows(5, 0), rows(7, 1)
    W = np.random.default_rng(2).uniform(0.1, 1.0, (5, 7))
    bound = SMOOTH[name].bind(Y)
    result = bound.slopes(X, bound.encode(Y)[1])
    stiffness = result.stiffness(W)
    assert np.all(stiffness > 0)
    centre = X + result.pull(W) / stiffness
    low, high = np.broadcast_to(Y.min(axis=0), X.shape), np.broadcast_to(Y.max(axis=0), X.shape)
    assert np.all(centre > low)
    assert np.all(centre < high)


def test_other_kernels_have_none_and_underflow_is_no_number():
    for kernel in (kernels.Laplacian(0.5), kernels.Matern(1.0, nu=0.5), kernels.Linear(), kernels.RBF() ** 2):
        assert not kernel.smooth
    bound = kernels.RBF(gamma=1.0).bind(np.array([[0.0], [1.0]]))
    result = bound.slopes(np.array([[1e3]]), bound.encode(np.array([[0.0], [1.0]]))[1])
    assert np.isfinite(result.pull(np.ones((1, 2)))).all()


def test_histograms_do_not_go_below_zero():
    assert_array_equal(kernels.ChiSquared().floor(2), [0.0, 0.0])
    assert_array_equal(kernels.RBF().floor(2), [-np.inf, -np.inf])
    kernel = (kernels.ChiSquared(0.5).on(1) * kernels.RBF(gamma=0.3)).resolve(rows(4, 0))
    assert_array_equal(kernel.floor(3), [-np.inf, 0.0, -np.inf])
