"""Derivatives of every kernel against central differences of its own values."""

import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import kernels
from gramian.kernels.algebra import Constant
from gramian.kernels.evaluator import Slopes, chained, flat

WIDTHS = (0.7, 1.3, 2.0)

SMOOTH = {
    "linear": kernels.Linear(),
    "constant": Constant(2.0),
    "poly1": kernels.Polynomial(degree=1, gamma=0.3),
    "poly2": kernels.Polynomial(degree=2, gamma=0.3, coef0=0.0),
    "poly3": kernels.Polynomial(degree=3, gamma=0.3),
    "cosine": kernels.Cosine(),
    "sigmoid": kernels.Sigmoid(gamma=0.2, coef0=0.3),
    "rbf": kernels.RBF(gamma=0.4),
    "rbf-widths": kernels.RBF(sigma=WIDTHS),
    "matern3": kernels.Matern(1.5, nu=1.5),
    "matern5": kernels.Matern(1.5, nu=2.5),
    "matern5-widths": kernels.Matern(WIDTHS, nu=2.5),
    "rq": kernels.RationalQuadratic(1.2, alpha=0.7),
    "rq-widths": kernels.RationalQuadratic(WIDTHS, alpha=2.0),
    "chi2": kernels.ChiSquared(0.6),
    "sum": kernels.RBF(gamma=0.4) + 0.5 * kernels.Polynomial(degree=2, gamma=0.1),
    "difference": kernels.Polynomial(degree=2, gamma=0.5) - 0.3 * kernels.RBF(gamma=0.2),
    "product": kernels.RBF(gamma=0.1) * kernels.Matern(2.0, nu=1.5),
    "power": kernels.RBF(gamma=0.3) ** 1.7,
    "whole-power": (kernels.Linear() + 1) ** 3,
    "first-power": kernels.RBF(gamma=0.3) ** 1,
    "exp": kernels.exp(0.2 * kernels.Linear()),
    "normalized": kernels.Polynomial(degree=2, gamma=0.4).normalized(),
    "normalized-rbf": kernels.RBF(gamma=0.4).normalized(),
    "normalized-exp": kernels.exp(0.1 * kernels.Linear()).normalized(),
    "columns": kernels.RBF(gamma=0.5).on(0, 2),
    "columns-backwards": kernels.RBF(sigma=(0.5, 2.0)).on(2, 1) + kernels.Linear().on(0),
    "columns-of-columns": kernels.Polynomial(degree=2, gamma=0.5).on(1).on(2, 0),
    "columns-product": kernels.RBF(gamma=0.5).on(0) * kernels.Matern(1.0, nu=2.5).on(1, 2),
    "histogram-and-more": kernels.ChiSquared(0.5).on(1) * kernels.RBF(gamma=0.3),
}
STATIONARY = [name for name, kernel in SMOOTH.items() if kernel.stationary]
KINKED = {
    "laplacian": (kernels.Laplacian(0.5), "kink wherever two rows have an entry in common"),
    "matern1": (kernels.Matern(1.0, nu=0.5), "kink wherever two rows are equal"),
    "callable": (kernels.kernel_from_name(lambda x, y: float(x @ y)), "derivative of the function <lambda>"),
    "after": (kernels.RBF(gamma=1.0).after(np.log1p), "derivative of the map log1p is not known"),
    "inside": (kernels.exp(kernels.RBF(gamma=1.0) * kernels.Laplacian(1.0)), "laplacian.* has a kink"),
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


def test_pull_and_the_diagonal_are_derivatives():
    for precision, centered, kernel in product([1e-9, 0.0], [False, True], SMOOTH.values()):
        case = precision, centered, kernel
        X, Y = rows(5, 0), rows(7, 1)
        W = np.random.default_rng(2).standard_normal((5, 7))
        bound = kernel.bind(Y, precision, centered=centered)
        assert not kernel.not_differentiable, case
        _, right = bound.encode(Y)
        result = bound.slopes(X, right)
        values = bound.tile(bound.encode(X)[0], right)
        assert_allclose(result.values, values, rtol=1e-9, atol=1e-9, err_msg=repr(case))
        expected = central(partial(weighted, bound, W, right), X)
        assert_allclose(
            result.pull(W), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(), err_msg=repr(case)
        )
    for kernel in SMOOTH.values():
        X = rows(6, 0)
        bound = kernel.bind(rows(7, 1))
        result = bound.diagonal_slopes(X)
        assert_allclose(result.values, bound.diagonal(X), rtol=1e-12, err_msg=repr(kernel))
        expected = central(bound.diagonal, X)
        assert_allclose(result.gradient, expected, rtol=1e-6, atol=1e-6, err_msg=repr(kernel))


def test_a_stationary_kernel_pulls_towards_a_weighted_mean_and_kinks_are_said():
    for name in STATIONARY:
        X, Y = rows(5, 0), rows(7, 1)
        W = np.random.default_rng(2).uniform(0.1, 1.0, (5, 7))
        bound = SMOOTH[name].bind(Y)
        result = bound.slopes(X, bound.encode(Y)[1])
        stiffness = result.stiffness(W)
        assert np.all(stiffness >= 0), name
        seen = stiffness > 0
        centre = X + result.pull(W) / np.where(seen, stiffness, 1.0)
        low, high = np.broadcast_to(Y.min(axis=0), X.shape), np.broadcast_to(Y.max(axis=0), X.shape)
        assert np.all(centre[seen] > low[seen]), name
        assert np.all(centre[seen] < high[seen]), name
        assert np.all(result.pull(W)[~seen] == 0), name
    for name in [name for name in SMOOTH if not SMOOTH[name].stationary]:
        Y = rows(7, 1)
        bound = SMOOTH[name].bind(Y)
        stiffness = bound.slopes(rows(5, 0), bound.encode(Y)[1]).stiffness
        assert stiffness is None or name == "constant", name
    for name, (kernel, reason) in KINKED.items():
        assert re.search(reason, kernel.not_differentiable), name
    bound = kernels.Laplacian(0.5).bind(rows(7, 1))
    with pytest.raises(NotImplementedError, match="has a kink"):
        bound.slopes(rows(5, 0), bound.encode(rows(7, 1))[1])


def test_histograms_do_not_go_below_zero():
    assert_array_equal(kernels.ChiSquared().floor(2), [0.0, 0.0])
    assert_array_equal(kernels.RBF().floor(2), [-np.inf, -np.inf])
    kernel = (kernels.ChiSquared(0.5).on(1) * kernels.RBF(gamma=0.3)).resolve(rows(4, 0))
    assert_array_equal(kernel.floor(3), [-np.inf, 0.0, -np.inf])
    Y = np.array([[0.0, 1.0], [2.0, 0.0]])
    X = np.zeros((1, 2))
    bound = kernels.ChiSquared(0.5).bind(Y)
    W = np.array([[1.0, -2.0]])
    right = bound.encode(Y)[1]
    h = 1e-7
    expected = [
        (np.sum(W * bound.tile(X + step, right)) - np.sum(W * bound.tile(X, right))) / h
        for step in h * np.eye(2)
    ]
    assert_allclose(bound.slopes(X, right).pull(W)[0], expected, rtol=1e-5)


def test_underflow_zero_rows_flat_diagonals_and_the_chain_rule():
    Y = np.array([[0.0], [1.0]])
    X = np.array([[1e3]])
    for kernel in (
        kernels.RBF(gamma=1.0),
        kernels.RBF(gamma=1.0) ** 0.5,
        kernels.Polynomial(degree=2, gamma=1.0).normalized(),
    ):
        bound = kernel.bind(Y)
        result = bound.slopes(X, bound.encode(Y)[1])
        assert np.isfinite(result.pull(np.ones((1, 2)))).all()
    Y = rows(4, 0)
    for kernel in (kernels.Cosine(), kernels.Linear().normalized()):
        bound = kernel.bind(Y)
        result = bound.slopes(np.zeros((1, 3)), bound.encode(Y)[1])
        assert_array_equal(result.pull(np.ones((1, 4))), np.zeros((1, 3)))
    assert_array_equal(flat(np.ones(2), 3).gradient, np.zeros((2, 3)))
    inner = Slopes(np.full((1, 1), 3.0), lambda W: W * 5.0)
    square = chained(inner.values**2, [inner], [2 * inner.values])
    assert square.values[0, 0] == 9.0
    assert square.pull(np.ones((1, 1)))[0, 0] == 30.0
    assert square.stiffness is None
