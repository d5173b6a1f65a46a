"""The Taylor map of the Gaussian kernel: its features by hand, and its bound against what happens."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

import gramian.arrays
from gramian.errors import ParameterError
from gramian.kernels import RBF
from gramian.kernels.feature_maps import taylor_map
from refusals import refused


def in_ball(n, d, radius, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X *= radius / np.linalg.norm(X, axis=1)[:, None]
    # A third inside; the rest on the sphere, among them opposite and equal pairs: the worst there are.
    X[: n // 3] *= rng.uniform(0, 1, (n // 3, 1))
    X[-1], X[-2] = -X[0], X[0]
    X[-3], X[-4] = -X[n // 2], X[n // 2]
    return X


def test_features_by_hand():
    phi = taylor_map(2, order=3, gamma=0.5)
    x, y = 0.7, -1.3
    damping = math.exp(-0.5 * (x * x + y * y))
    s, t = math.sqrt(2), math.sqrt(6)
    terms = [1, x, y, x*x/s, x*y, y*y/s, x**3/t, x*x*y/s, x*y*y/s, y**3/t]  # fmt: skip
    np.testing.assert_allclose(phi([[x, y]])[0], damping * np.array(terms), rtol=1e-14)
    assert phi.names[:7] == (
        "exp(-0.5 |x|^2)",
        "exp(-0.5 |x|^2) f1",
        "exp(-0.5 |x|^2) f2",
        "exp(-0.5 |x|^2) sqrt(1/2) f1^2",
        "exp(-0.5 |x|^2) f1 f2",
        "exp(-0.5 |x|^2) sqrt(1/2) f2^2",
        "exp(-0.5 |x|^2) sqrt(1/6) f1^3",
    )
    np.testing.assert_allclose(
        phi.coefficients, [1, 1, 1, 1 / s, 1, 1 / s, 1 / t, 1 / s, 1 / s, 1 / t], rtol=1e-14
    )


def test_the_bound_holds_and_is_attained():
    for d in [1, 2, 3, 5]:
        for order in [0, 1, 2, 5, 9]:
            for radius in [0.3, 1.0, 2.5, 6.0]:
                gamma = 0.37
                phi = taylor_map(d, order=order, gamma=gamma)
                assert len(phi) == math.comb(d + order, order), (d, order, radius)
                X = in_ball(60, d, radius)
                error = phi.kernel_error(X)
                bound = phi.error_bound(radius)
                exact = RBF(gamma=gamma).gram(X)
                actual = np.abs(phi(X) @ phi(X).T - exact).max()
                assert actual <= bound, (d, order, radius)
                # Equal points on the sphere reach it: the tail of a Poisson distribution of mean 2 gamma R^2.
                assert actual == pytest.approx(
                    poisson.sf(order, 2 * gamma * radius**2), rel=1e-9, abs=1e-14
                ), (d, order, radius)
                assert bound == pytest.approx(actual, rel=1e-9, abs=1e-11), (d, order, radius)
                assert error.maximum == pytest.approx(actual, abs=1e-14), (d, order, radius)
                assert error.bound == pytest.approx(bound, rel=1e-9), (d, order, radius)
                assert error.kind == "deterministic", (d, order, radius)
                assert phi.error_bound(X) == pytest.approx(bound, rel=1e-9), (d, order, radius)


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(0, 7), st.floats(1e-3, 30), st.integers(0, 10**6), st.floats(1e-3, 10))
def test_the_bound_holds_for_any_rows(d, order, gamma, seed, spread):
    X = np.random.default_rng(seed).standard_normal((12, d)) * spread
    phi = taylor_map(d, order=order, gamma=gamma)
    error = phi.kernel_error(X, -X[:5])
    assert error.ok, error
    assert error.maximum <= 1 + 1e-12


def test_one_width_for_each_feature():
    X = in_ball(40, 3, 1.5)
    sigma = np.array([0.5, 1.0, 4.0])
    phi = taylor_map(3, order=12, sigma=sigma)
    exact = RBF(gamma=0.5).gram(X / sigma)
    np.testing.assert_allclose(phi.kernel(X), exact, rtol=1e-12)
    np.testing.assert_allclose(phi(X), taylor_map(3, order=12, gamma=0.5)(X / sigma), rtol=1e-12, atol=1e-15)
    assert np.abs(phi(X) @ phi(X).T - exact).max() <= phi.error_bound(X) <= 1
    with refused(ParameterError, "gamma"):
        phi.error_bound(1.0)
    assert phi.names[1] == "exp(-sum gamma_i x_i^2) 2 f1"


def test_an_origin_moves_the_expansion_and_not_the_kernel():
    X = in_ball(40, 2, 1.0) + np.array([100.0, -7.5])
    near = taylor_map(2, order=8, gamma=0.5, origin=[100.0, -7.5])
    far = taylor_map(2, order=8, gamma=0.5)
    np.testing.assert_array_equal(near.kernel(X), far.kernel(X))
    assert near.kernel_error(X).maximum < 1e-5
    assert far.kernel_error(X).maximum == pytest.approx(1.0)
    assert far.kernel_error(X).ok
    assert near.names[2] == "exp(-0.5 |x - origin|^2) (f2 + 7.5)"
    assert near.names[4] == "exp(-0.5 |x - origin|^2) (f1 - 100) (f2 + 7.5)"


def test_high_orders_reach_rounding_however_large_the_rows():
    # exp(-|z|^2 / 2) alone underflows here, and |z|^m alone overflows.
    X = np.linspace(-28, 28, 41)[:, None]
    phi = taylor_map(1, order=1000, gamma=0.5)
    error = phi.kernel_error(X)
    assert error.maximum < 1e-11
    assert error.ok
    assert phi.error_bound(28.0) < 1e-6


def test_rows_far_out_have_features_of_zero_and_never_nan():
    phi = taylor_map(2, order=6, gamma=1e10)
    X = np.array([[1e300, -1e300], [1e150, 0.0], [1e-300, 0.0], [0.0, 0.0]])
    values = phi(X)
    assert (values[:2] == 0).all()
    assert values[3].tolist() == [1.0, *[0.0] * (len(phi) - 1)]
    assert phi.kernel_error(X).ok
    assert phi.error_bound(1e300) >= 1.0


def test_array_kinds(array_kind):
    X = in_ball(20, 3, 1.0)
    phi = taylor_map(3, order=4, gamma=[0.5, 1.0, 0.2], origin=[0.1, 0.2, 0.3])
    values = phi(array_kind.make(X))
    assert type(values) is type(array_kind.make(X))
    expected = phi(X.astype(array_kind.dtype))
    np.testing.assert_allclose(gramian.arrays.to_numpy(values), expected, rtol=1e-12, atol=1e-15)


def test_parameters_outside_their_range():
    for arguments in [
        {"order": -1},
        {"order": 2.5},
        {"gamma": [1.0, 2.0, 3.0]},
        {"gamma": 0.0},
        {"order": 1500},
        {"origin": [0.0]},
    ]:
        with refused(ParameterError):
            taylor_map(2, **arguments)


@pytest.mark.parametrize("radius", [-1.0, np.nan, "1", None, True])
def test_a_radius_is_a_number_or_rows(radius):
    with refused(ParameterError, "radius"):
        taylor_map(2).error_bound(radius)
