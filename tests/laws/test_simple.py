import numpy as np
import pytest

from gramian.laws import simple
from gramian.laws.evidence import evidence_of, features_of
from gramian.laws.polynomials import Monomials
from gramian.laws.simple import simple_fits

NOTHING = np.zeros((10, 0))


@pytest.fixture
def features():
    a, b = np.random.default_rng(0).uniform(1, 2, (2, 100))
    X = np.column_stack([a, b, a * b])
    return features_of(evidence_of(X, 2, np.zeros(3), 0), X)


def test_the_nearest_pair_is_the_law(features):
    distance, support, vector = next(simple_fits(features, 2, NOTHING))
    powers = Monomials(3, 2).powers[support].tolist()
    assert powers == [[0, 0, 1], [1, 1, 0]]
    assert distance < 1e-14
    assert vector[0] == pytest.approx(-vector[1])


def test_distances_are_those_of_fits_and_ascend(features, monkeypatch):
    monkeypatch.setattr(simple, "CHUNK", 7)
    fits = list(simple_fits(features, 2, NOTHING))
    assert len(fits) == 45
    distances = [distance for distance, _, _ in fits]
    assert distances == sorted(distances)
    for distance, support, _ in fits[1:]:
        assert distance == pytest.approx(features.fit(support)[0], rel=1e-9)


def test_the_nearest_triples_are_found_among_all(features):
    found = {tuple(support.tolist()) for _, support, _ in simple_fits(features, 3, NOTHING)}
    from itertools import combinations

    every = sorted(combinations(range(10), 3), key=lambda s: features.fit(np.array(s))[0])
    # Those that hold the law have a zero coefficient or a distance of rounding.
    clear = [s for s in every if not {3, 5} <= set(s)]
    assert set(clear[:10]) <= found


def test_what_holds_a_known_law_is_passed_over(features):
    law = np.zeros((10, 1))
    law[[3, 5], 0] = [-1, 1]
    assert all(not {3, 5} <= set(support.tolist()) for _, support, _ in simple_fits(features, 3, law))


def test_too_many_triples_are_not_tried(features, monkeypatch):
    monkeypatch.setattr(simple, "MOST_FOR_TRIPLES", 9)
    assert list(simple_fits(features, 3, NOTHING)) == []
    assert list(simple_fits(features, 2, NOTHING)) != []
