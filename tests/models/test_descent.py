"""Descent: quasi-Newton row by row within a floor, and the fixed point of many rows at once."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls, rosen, rosen_der

from gramian.models.kernel_pca.preimages import Local, fixed_points, quasi_newton

FREE = np.full(3, -np.inf)


def smooth(values, gradient):
    """What is known of a function without a centre to step to."""
    return Local(values, gradient, np.zeros((len(values), 1)))


def rosenbrock(X, rows):
    return smooth(np.array([rosen(x) for x in X]), np.array([rosen_der(x) for x in X]))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_narrow_curved_valley_is_followed(rng):
    start = rng.uniform(-1.5, 1.5, (6, 3))
    result = quasi_newton(rosenbrock, start, floor=FREE, tol=1e-8, limit=500)
    assert result[1].all()
    for x, begin in zip(result[0], start, strict=True):
        np.testing.assert_allclose(rosen(x), minimize(rosen, begin, jac=rosen_der, tol=1e-12).fun, atol=1e-9)


def test_the_floor_holds_as_in_non_negative_least_squares(rng):
    B = rng.standard_normal((8, 3))
    right = rng.standard_normal((5, 8))

    def objective(X, rows):
        away = X @ B.T - right[rows]
        return smooth(0.5 * np.sum(away**2, axis=1), away @ B)

    result = quasi_newton(objective, np.full((5, 3), 2.0), floor=np.zeros(3), tol=1e-9, limit=200)
    assert result[1].all()
    expected = np.array([nnls(B, r)[0] for r in right])
    assert np.any(expected == 0)
    np.testing.assert_allclose(result[0], expected, atol=1e-5)


def test_no_row_ends_worse_than_it_began(rng):
    start = rng.uniform(-1.5, 1.5, (4, 3))
    before = rosenbrock(start, np.arange(4)).values
    for limit in range(1, 12):
        result = quasi_newton(rosenbrock, start, floor=FREE, tol=0.0, limit=limit)
        assert np.all(rosenbrock(result[0], np.arange(4)).values <= before)


def test_what_is_no_number_is_not_stepped_into():
    def objective(X, rows):
        inside = X[:, 0] > -1
        value = np.where(inside, X[:, 0], np.nan)
        return smooth(value, np.where(inside[:, None], [[50.0, 0.0, 0.0]], np.nan))

    result = quasi_newton(objective, np.zeros((2, 3)), floor=FREE, tol=1e-8, limit=20)
    assert np.isfinite(result[0]).all()
    assert np.all(result[0][:, 0] > -1)
    assert not result[1].any()


def test_a_saddle_that_curves_down_is_left_with_longer_and_longer_steps():
    def objective(X, rows):
        # Falls ever faster until |x| = 1000, and rises beyond.
        x = X[:, 0]
        value = np.where(np.abs(x) < 1000, -(x**2), (x**2) - 2e6)
        return smooth(
            value / 1e6, np.column_stack([np.where(np.abs(x) < 1000, -2 * x, 2 * x), 0 * x, 0 * x]) / 1e6
        )

    result = quasi_newton(objective, np.array([[1.0, 0.0, 0.0]]), floor=FREE, tol=1e-9, limit=60)
    assert result[0][0, 0] > 500


def test_where_weights_cancel_the_fixed_point_goes_on_by_quasi_newton():
    # The centre lies far away because the sum of weights is nearly 0, or has no meaning; f = x^2 / 2.
    for stiffness in (1e-9, -3.0, 0.0):

        def objective(X, rows, stiffness=stiffness):
            return Local(np.sum(X**2, axis=1) / 2, X, np.full((len(X), 1), stiffness))

        result = fixed_points(objective, np.ones((2, 3)), floor=FREE, tol=1e-9, limit=50)
        assert result[1].all()
        np.testing.assert_allclose(result[0], 0.0, atol=1e-8)
