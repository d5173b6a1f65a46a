import numpy as np
import pytest

from gramian.select.polynomials import Monomials, frame_of, points_of
from gramian.select.relation_search import search

EPS = 2.0**-52


def found(X, degree=2, tol=None):
    result = search(points_of(X), frame_of(points_of(X), degree, EPS), degree, tol)
    return [relation for relation, _ in result.relations], result


def terms(relation):
    return {tuple(power) for power in relation.powers.tolist()}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_laws_are_found_within_the_tolerance_side_by_side(rng):
    t = rng.uniform(0, 2 * np.pi, 100)
    X = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
    (circle,), result = found(X)
    powers = Monomials(2, 2).powers
    values = np.array([[np.prod(row**power) for power in powers] for row in X])
    moment = values.T @ values / 100
    null = np.linalg.eigh(moment)[1][:, 0]
    law = np.zeros(6)
    spread = X.std(axis=0)
    for power, coefficient in zip(circle.powers, circle.vector, strict=True):
        law[np.flatnonzero((powers == power).all(axis=1))] = coefficient / np.prod(spread**power)
    np.testing.assert_allclose(law / law[3], null / null[3], rtol=1e-8, atol=1e-8)
    assert result.nearest > 0.3
    index, height = rng.uniform(17, 40, 200), rng.uniform(1.5, 2.0, 200)
    relations, result = found(np.column_stack([index, height, index * height**2]), 3)
    assert [terms(r) for r in relations] == [{(1, 2, 0), (0, 0, 1)}]
    assert result.nearest < 0.05
    assert "many terms" in result.reason
    t = rng.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([np.cos(t), np.sin(t)]) + 0.05 * rng.normal(size=(200, 2))
    assert found(X)[0] == []
    (circle,), _ = found(X, tol=0.1)
    assert max(circle.distance, circle.held_out) < 0.1
    assert found(X, tol=circle.distance / 1.1)[0] == []
    a, b, d = rng.normal(size=(3, 300))
    X = np.column_stack([a, b, a + b, 2 * d + 1e-3 * rng.normal(size=300), d])
    relations, _ = found(X)
    assert {frozenset(np.flatnonzero(r.powers.any(axis=0))) for r in relations} == {
        frozenset({0, 1, 2}),
        frozenset({3, 4}),
    }
    X = np.column_stack([rng.integers(0, 2, 100), rng.normal(size=100), np.full(100, 5.0)])
    relations, _ = found(X)
    assert {frozenset(terms(r)) for r in relations} == {
        frozenset({(2, 0, 0), (1, 0, 0)}),
        frozenset({(0, 0, 1), (0, 0, 0)}),
    }


def test_multiples_and_consequences_are_not_listed(rng):
    for noise in [0.0, 1e-6, 1e-2]:
        x, z = rng.normal(size=(2, 200))
        X = np.column_stack([x, 1 - x, z]) + noise * rng.normal(size=(200, 3))
        relations, _ = found(X, 3)
        assert [terms(r) for r in relations] == [{(1, 0, 0), (0, 1, 0), (0, 0, 0)}]
    for noise in [0.0, 1e-6, 1e-2]:
        x = rng.uniform(-1, 1, 200)
        X = np.column_stack([x, x**2, x**3])
        X += noise * X.std(axis=0) * rng.normal(size=X.shape)
        relations, _ = found(X)
        assert {frozenset(terms(r)) for r in relations} == {
            frozenset({(2, 0, 0), (0, 1, 0)}),
            frozenset({(1, 1, 0), (0, 0, 1)}),
        }


def test_noise_obeys_nothing_however_heavy_its_tails():
    for draw, degree in [
        (lambda rng: rng.normal(size=(132, 10)), 2),
        (lambda rng: rng.uniform(size=(100, 3)), 3),
        (lambda rng: rng.standard_cauchy((200, 3)), 2),
        (lambda rng: np.exp(2 * rng.normal(size=(200, 3))), 2),
    ]:
        for seed in range(5):
            assert found(draw(np.random.default_rng(seed)), degree)[0] == []
    for seed in [11, 24, 35, 48]:
        assert found(np.random.default_rng(seed).standard_cauchy((200, 3)))[0] == []
