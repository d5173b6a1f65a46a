"""Descent of many rows at once against SciPy's, one row at a time."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls, rosen, rosen_der

from gramian.kernel_pca.preimages import FixedPoint, LimitedMemory, Local, descend

FREE = np.full(3, -np.inf)


def smooth(values, gradient):
    """What is known of a function without a centre to step to."""
    return Local(values, gradient, *np.zeros((2, len(values), 1)))


def quadratic(A, targets):
    """Half of (x - t) A (x - t) for each row, with its gradient."""

    def objective(X, rows):
        away = X - targets[rows]
        return smooth(0.5 * np.einsum("bd,de,be->b", away, A, away), away @ A)

    return objective


def rosenbrock(X, rows):
    return smooth(np.array([rosen(x) for x in X]), np.array([rosen_der(x) for x in X]))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_every_row_finds_its_own_minimum(rng):
    A = np.diag([1.0, 10.0, 100.0])
    targets = rng.standard_normal((9, 3))
    result = descend(
        quadratic(A, targets), np.zeros((9, 3)), LimitedMemory(), floor=FREE, tol=1e-9, limit=100
    )
    assert result.converged.all()
    np.testing.assert_allclose(result.points, targets, atol=1e-6)


def test_a_narrow_curved_valley_is_followed(rng):
    start = rng.uniform(-1.5, 1.5, (6, 3))
    result = descend(rosenbrock, start, LimitedMemory(), floor=FREE, tol=1e-8, limit=500)
    assert result.converged.all()
    for x, begin in zip(result.points, start, strict=True):
        np.testing.assert_allclose(rosen(x), minimize(rosen, begin, jac=rosen_der, tol=1e-12).fun, atol=1e-9)


def test_rows_do_not_know_of_each_other(rng):
    start = rng.uniform(-1.5, 1.5, (5, 3))
    options = {"floor": FREE, "tol": 1e-8, "limit": 500}
    together = descend(rosenbrock, start, LimitedMemory(), **options)
    for i in range(5):
        alone = descend(rosenbrock, start[i : i + 1], LimitedMemory(), **options)
        np.testing.assert_allclose(alone.points[0], together.points[i], rtol=1e-6)


def test_the_floor_holds_as_in_non_negative_least_squares(rng):
    B = rng.standard_normal((8, 3))
    right = rng.standard_normal((5, 8))

    def objective(X, rows):
        away = X @ B.T - right[rows]
        return smooth(0.5 * np.sum(away**2, axis=1), away @ B)

    result = descend(objective, np.full((5, 3), 2.0), LimitedMemory(), floor=np.zeros(3), tol=1e-9, limit=200)
    assert result.converged.all()
    expected = np.array([nnls(B, r)[0] for r in right])
    assert np.any(expected == 0)
    np.testing.assert_allclose(result.points, expected, atol=1e-5)


def test_no_step_makes_a_row_worse(rng):
    seen = {}

    def objective(X, rows):
        there = rosenbrock(X, rows)
        for row, value in zip(rows, there.values, strict=True):
            seen.setdefault(row, []).append(value)
        return there

    start = rng.uniform(-1.5, 1.5, (4, 3))
    before = rosenbrock(start, np.arange(4)).values
    for limit in range(1, 12):
        result = descend(objective, start, LimitedMemory(), floor=FREE, tol=0.0, limit=limit)
        assert result.iterations <= limit
        assert np.all(result.values <= before)
        before = result.values
    assert all(result.values[row] <= values[0] for row, values in seen.items())


def test_too_few_steps_are_said():
    result = descend(rosenbrock, np.full((1, 3), -1.0), LimitedMemory(), floor=FREE, tol=1e-8, limit=3)
    assert not result.converged[0]
    assert result.iterations == 3


def test_what_is_no_number_is_not_stepped_into():
    def objective(X, rows):
        inside = X[:, 0] > -1
        value = np.where(inside, X[:, 0], np.nan)
        return smooth(value, np.where(inside[:, None], [[50.0, 0.0, 0.0]], np.nan))

    result = descend(objective, np.zeros((2, 3)), LimitedMemory(), floor=FREE, tol=1e-8, limit=20)
    assert np.isfinite(result.points).all()
    assert np.all(result.points[:, 0] > -1)
    assert not result.converged.any()


def test_a_saddle_that_curves_down_is_left_with_longer_and_longer_steps():
    def objective(X, rows):
        # Falls ever faster until |x| = 1000, and rises beyond.
        x = X[:, 0]
        value = np.where(np.abs(x) < 1000, -(x**2), (x**2) - 2e6)
        return smooth(
            value / 1e6, np.column_stack([np.where(np.abs(x) < 1000, -2 * x, 2 * x), 0 * x, 0 * x]) / 1e6
        )

    result = descend(objective, np.array([[1.0, 0.0, 0.0]]), LimitedMemory(), floor=FREE, tol=1e-9, limit=60)
    assert result.points[0, 0] > 500


def test_an_undamped_fixed_point_is_one_step_to_the_centre():
    centre = np.array([[1.0, 2.0, 3.0]])

    def objective(X, rows):
        stiffness = np.full(X.shape, 4.0)
        return Local(2.0 * np.sum((X - centre) ** 2, axis=1), 4.0 * (X - centre), stiffness, stiffness)

    result = descend(objective, np.zeros((1, 3)), FixedPoint(), floor=FREE, tol=1e-12, limit=2)
    np.testing.assert_allclose(result.points, centre)
    assert result.iterations == 1


def test_where_weights_cancel_the_fixed_point_is_damped():
    # The centre lies far away because the sum of weights is nearly 0; the function is f = x^2 / 2.
    here = Local(np.array([0.5]), np.array([[1.0]]), np.array([[1e-9]]), np.array([[2.0]]))
    assert FixedPoint()(here, np.ones((1, 1)))[0, 0] == pytest.approx(-10.0)
    here = Local(np.array([0.5]), np.array([[1.0]]), np.array([[-3.0]]), np.array([[2.0]]))
    assert FixedPoint()(here, np.ones((1, 1)))[0, 0] == pytest.approx(-10.0)
    unseen = Local(np.array([0.5]), np.array([[0.0]]), np.zeros((1, 1)), np.zeros((1, 1)))
    assert FixedPoint()(unseen, np.ones((1, 1)))[0, 0] == 0.0
