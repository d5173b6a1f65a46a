import numpy as np
import pytest

from gramian.select.polynomials import Monomials, points_of
from gramian.select.relation_search import FLOOR, basis_of, evidence_of, features_of


def unit_circle(n=100, noise=0.0):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.sqrt(2) * np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def distance(X, vector):
    """Root mean square of the values over that of the gradient, literally."""
    x, y = X.T
    values = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]) @ vector
    _, a, b, c, d, e = vector
    squares = (a + 2 * c * x + d * y) ** 2 + (b + d * x + 2 * e * y) ** 2
    return np.sqrt(np.mean(values**2) / np.mean(squares))


def test_directions_are_what_the_definition_says():
    X = unit_circle(noise=0.05)
    evidence = evidence_of(points_of(X), 2, np.zeros(2), 0)
    distances, vectors = evidence.directions(evidence.whole, [], 2, 1e-7)
    assert np.all(np.diff(distances) >= 0)
    for result, vector in zip(distances, vectors.T, strict=True):
        assert result == pytest.approx(distance(X, vector), rel=1e-8)
    # No other polynomial is nearer to vanishing.
    others = np.random.default_rng(1).normal(size=(300, 6)) + 3 * vectors[:, 0] / vectors[3, 0]
    assert distances[0] <= min(distance(X, other) for other in others)


def test_multiples_of_what_is_known_are_no_directions():
    X = unit_circle()
    circle = np.zeros(10)
    circle[[0, 3, 5]] = [-2.0, 1.0, 1.0]
    evidence = evidence_of(points_of(X), 3, np.zeros(2), 0)
    free, _ = evidence.directions(evidence.whole, [], 3, 1e-7)
    rest, _ = evidence.directions(evidence.whole, [circle], 3, 1e-7)
    assert np.sum(free < 1e-9) == 3
    np.testing.assert_array_equal(free[:3], FLOOR)
    assert len(rest) == 6
    assert rest[0] > 0.1


def test_rounding_of_the_data_is_a_floor():
    evidence = evidence_of(points_of(unit_circle()), 2, np.array([1e-3, 1e-3]), 0)
    distances, _ = evidence.directions(evidence.whole, [], 2, 1e-7)
    assert distances[0] == pytest.approx(1e-3, rel=1e-6)


def test_held_out_rows_tell_a_law_from_a_fit():
    law = evidence_of(points_of(unit_circle(30, 1e-3)), 2, np.zeros(2), 0)
    fit = evidence_of(points_of(np.random.default_rng(0).normal(size=(14, 2))), 2, np.zeros(2), 0)
    assert law.held_out([], 1, 1e-7) < 3e-3
    inside, _ = fit.directions(fit.whole, [], 2, 1e-7)
    assert fit.held_out([], 1, 1e-7) > 2 * inside[0]


def test_shuffled_columns_obey_nothing():
    evidence = evidence_of(points_of(unit_circle()), 2, np.zeros(2), 3)
    assert len(evidence.shuffled) == 3
    assert evidence.by_chance([], 1e-7) > 0.1
    assert evidence_of(points_of(unit_circle()), 2, np.zeros(2), 0).by_chance([], 1e-7) == np.inf


def test_features_measure_in_the_equations_coordinates():
    X = unit_circle() + 5
    monomials = Monomials(2, 2)
    features = features_of(evidence_of(points_of(X - 5), 2, np.zeros(2), 0), points_of(X))
    law = np.zeros(6)
    law[[0, 1, 2, 3, 5]] = [48.0, -10, -10, 1, 1]
    assert np.linalg.norm(features.values @ law) < 1e-11
    steepness = np.linalg.norm(features.slopes @ law) / np.sqrt(100)
    assert steepness == pytest.approx(2 * np.sqrt(2))
    assert features.n_monomials == len(monomials)


def test_a_basis_leaves_out_what_is_known_to_less_than_the_slack():
    columns = np.array([[1.0, 1.0], [0.0, 1e-3], [0.0, 0.0]])
    assert basis_of(columns, 1e-2).shape == (3, 1)
    assert basis_of(columns, 1e-5).shape == (3, 2)
