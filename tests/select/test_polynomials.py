import numpy as np
import pytest

from gramian.select import polynomials
from gramian.select.polynomials import Monomials, reduced, triangle


def values_of(X, powers):
    return np.array([[np.prod(row**power) for power in powers] for row in X])


@pytest.fixture
def data():
    return np.random.default_rng(0).normal(size=(50, 3))


def test_the_triangle_has_the_norms_of_the_values(data, monkeypatch):
    monkeypatch.setattr(polynomials, "BLOCK_BYTES", 1)
    monomials = Monomials(3, 2)
    values = values_of(data, monomials.powers)
    R = triangle(np.tile(data, (3, 1)), monomials)
    assert R.shape == (10, 10)
    np.testing.assert_allclose(R.T @ R, 3 * values.T @ values, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(np.tril(R, -1), 0, atol=0)


def test_the_triangle_keeps_a_direction_that_the_moments_lose(data):
    data[:, 2] = data[:, 0] + 1e-11 * np.random.default_rng(1).normal(size=50)
    smallest = np.linalg.svd(triangle(data, Monomials(3, 1)), compute_uv=False)[-1]
    assert smallest == pytest.approx(1e-11 * np.sqrt(50 / 2), rel=0.3)


def test_few_rows_give_a_square_triangle():
    R = triangle(np.ones((2, 3)), Monomials(3, 2))
    assert R.shape == (10, 10)
    assert not R[2:].any()


def test_gradients_are_those_of_differences(data):
    monomials = Monomials(3, 3)
    vector = np.random.default_rng(1).normal(size=20)
    weights = np.array([1.0, 2.0, 0.5])
    expected, step = 0.0, 1e-5
    for k in range(3):
        move = step * np.eye(3)[k]
        rise = (values_of(data + move, monomials.powers) - values_of(data - move, monomials.powers)) @ vector
        expected += np.sum((weights[k] * rise / (2 * step)) ** 2)
    slopes = monomials.gradients(triangle(data, monomials), weights) @ vector
    assert np.sum(slopes**2) == pytest.approx(expected, rel=1e-7)


def test_a_shift_changes_coefficients_and_not_values(data):
    monomials, offset = Monomials(3, 3), np.array([1.0, -2.0, 0.5])
    vector = np.random.default_rng(2).normal(size=20)
    before = values_of(data - offset, monomials.powers) @ vector
    after = values_of(data, monomials.powers) @ (monomials.shift(offset) @ vector)
    np.testing.assert_allclose(after, before, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(monomials.shift(-offset) @ monomials.shift(offset), np.eye(20), atol=1e-12)


def test_multiples_are_products(data):
    monomials = Monomials(3, 3)
    line = np.zeros(20)
    line[[0, 1, 3]] = [-1.0, 1.0, 2.0]
    products = monomials.multiples([line], 3)
    values = values_of(data, monomials.powers)
    expected = (values @ line)[:, None] * values[:, :10] / np.sqrt(6)
    np.testing.assert_allclose(values @ products, expected, atol=1e-12)
    assert monomials.multiples([line], 1).shape == (4, 1)
    assert monomials.multiples([], 2).shape == (10, 0)
    assert monomials.multiples([monomials.shift(np.ones(3))[:, -1]], 2).shape == (10, 0)


def test_reduced_keeps_norms(data):
    vector = np.array([1.0, -2.0, 3.0])
    assert np.linalg.norm(reduced(data) @ vector) == pytest.approx(np.linalg.norm(data @ vector))
