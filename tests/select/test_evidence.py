import numpy as np
import pytest

from gramian.select.polynomials import points_of
from gramian.select.relation_search import evidence_of


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


def test_directions_and_held_out_rows_tell_a_law_from_a_fit():
    X = unit_circle(noise=0.05)
    evidence = evidence_of(points_of(X), 2, np.zeros(2), 0)
    distances, vectors = evidence.directions(evidence.whole, [], 2, 1e-7)
    assert np.all(np.diff(distances) >= 0)
    for result, vector in zip(distances, vectors.T, strict=True):
        assert result == pytest.approx(distance(X, vector), rel=1e-8)
    # No other polynomial is nearer to vanishing.
    others = np.random.default_rng(1).normal(size=(300, 6)) + 3 * vectors[:, 0] / vectors[3, 0]
    assert distances[0] <= min(distance(X, other) for other in others)
    evidence = evidence_of(points_of(unit_circle()), 2, np.array([1e-3, 1e-3]), 0)
    distances, _ = evidence.directions(evidence.whole, [], 2, 1e-7)
    assert distances[0] == pytest.approx(1e-3, rel=1e-6)
    law = evidence_of(points_of(unit_circle(30, 1e-3)), 2, np.zeros(2), 0)
    fit = evidence_of(points_of(np.random.default_rng(0).normal(size=(14, 2))), 2, np.zeros(2), 0)
    assert law.held_out([], 1, 1e-7) < 3e-3
    inside, _ = fit.directions(fit.whole, [], 2, 1e-7)
    assert fit.held_out([], 1, 1e-7) > 2 * inside[0]
