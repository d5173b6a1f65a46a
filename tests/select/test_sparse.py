import numpy as np
import pytest

from gramian.select import relation_search as search
from gramian.select.polynomials import Monomials, points_of, triangle
from gramian.select.relation_search import Features, pruned, simple_fits, sparse_basis


def features_of(X, degree):
    monomials = Monomials(X.shape[1], degree)
    values = triangle(X, monomials)
    ones = np.ones(X.shape[1])
    return Features(
        values,
        monomials.gradients(values, ones),
        monomials.gradients(values, 0 * ones),
        len(X),
        len(monomials),
    )


def circle(noise=0.0, n=200):
    rng = np.random.default_rng(3)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def test_fit_minimises_the_quotient_of_taubin():
    X = circle(0.1)
    features = features_of(X, 2)
    x, y = X.T
    values = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    P = values.T @ values
    zero = np.zeros_like(x)
    by_x = np.column_stack([zero, zero + 1, zero, 2 * x, y, zero])
    by_y = np.column_stack([zero, zero, zero + 1, zero, x, 2 * y])
    G = by_x.T @ by_x + by_y.T @ by_y
    # The constant has no gradient: its best value is put in, and the other five are a regular pencil.
    P = P[1:, 1:] - np.outer(P[1:, 0], P[0, 1:]) / P[0, 0]
    expected = np.sqrt(np.linalg.eigvals(np.linalg.solve(G[1:, 1:], P)).real.min())
    residual, vector, _ = features.fit(np.arange(6))
    assert residual == pytest.approx(expected, rel=1e-9)
    assert np.linalg.norm(values @ vector) == pytest.approx(expected, rel=1e-9)


def test_a_basis_is_simple_and_keeps_the_terms_that_the_data_ask_for():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 300))
    X = np.column_stack([x, 2 * x + 0.01 * z + 1e-4 * rng.normal(size=300), z])
    support, _ = pruned(features_of(X, 1), np.ones(4))
    assert support.tolist() == [1, 2, 3]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 25))
    X[:, 1] = X[:, 0] + 1e-3 * rng.normal(size=60)
    support, _ = pruned(features_of(X, 1), np.ones(26))
    assert support.tolist() == [1, 2]
    x = np.random.default_rng(0).uniform(-1, 1, 100)
    X = np.column_stack([x, x**2, x**3])
    features, monomials = features_of(X, 2), Monomials(3, 2)
    _, s, Vt = np.linalg.svd(features.values)
    assert np.sum(s < 1e-12) == 3
    mixed = Vt[-3:].T @ np.random.default_rng(1).normal(size=(3, 3))
    result = sparse_basis(
        features, monomials.powers.sum(axis=1), mixed, np.zeros((10, 0)), mixed.T, np.eye(10), 1e-6
    )
    terms = [{tuple(p) for p in monomials.powers[np.flatnonzero(v)].tolist()} for v in result]
    assert {frozenset(t) for t in terms} == {
        frozenset({(2, 0, 0), (0, 1, 0)}),
        frozenset({(1, 1, 0), (0, 0, 1)}),
        frozenset({(0, 2, 0), (1, 0, 1)}),
    }


NOTHING = np.zeros((10, 0))


@pytest.fixture
def features():
    a, b = np.random.default_rng(0).uniform(1, 2, (2, 100))
    X = np.column_stack([a, b, a * b])
    points = points_of(X)
    return search.features_of(search.evidence_of(points, 2, np.zeros(3), 0), points)


def test_distances_are_those_of_fits_and_ascend(features, monkeypatch):
    monkeypatch.setattr(search, "CHUNK", 7)
    fits = list(simple_fits(features, 2, NOTHING))
    assert len(fits) == 45
    distances = [distance for distance, _, _ in fits]
    assert distances == sorted(distances)
    for distance, support, _ in fits[1:]:
        assert distance == pytest.approx(features.fit(support)[0], rel=1e-9)


def test_the_nearest_triples_are_found_among_all(features):
    entries = {tuple(support.tolist()) for _, support, _ in simple_fits(features, 3, NOTHING)}
    from itertools import combinations

    every = sorted(combinations(range(10), 3), key=lambda s: features.fit(np.array(s))[0])
    # Those that hold the law have a zero coefficient or a distance of rounding.
    clear = [s for s in every if not {3, 5} <= set(s)]
    assert set(clear[:10]) <= entries


def test_too_many_triples_are_not_tried(features, monkeypatch):
    monkeypatch.setattr(search, "MOST_FOR_TRIPLES", 9)
    assert list(simple_fits(features, 3, NOTHING)) == []
    assert list(simple_fits(features, 2, NOTHING)) != []
