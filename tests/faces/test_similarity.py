"""Distances against literal double loops."""

import numpy as np
import pytest
import scipy.linalg

from gramian.errors import DataError
from gramian.faces import similarity
from gramian.faces.similarity import SHRINKAGE, Matcher, as_vectors, discriminants


def literal(queries, vectors, people):
    """The definition: one picture of one person at a time, in float64."""
    values = np.empty((len(queries), people.max() + 1))
    for i, query in enumerate(queries.astype(float)):
        for person in range(people.max() + 1):
            lengths = [
                np.linalg.norm(query) * np.linalg.norm(v) for v in vectors[people == person].astype(float)
            ]
            products = [sum(query * v) for v in vectors[people == person].astype(float)]
            values[i, person] = max(p / n if n else 0.0 for p, n in zip(products, lengths, strict=True))
    return values


def some_people(seed, n_people=7, d=5):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), rng.integers(1, 4, n_people))
    vectors = 100 * rng.standard_normal((len(people), d)).astype(np.float32)
    return vectors, people, 100 * rng.standard_normal((6, d)).astype(np.float32)


def test_likeness_is_its_definition():
    for seed in range(3):
        vectors, people, queries = some_people(seed)
        expected = literal(queries, vectors, people)
        result = Matcher(vectors, people)
        assert result.similarity(queries).dtype == np.float32
        np.testing.assert_allclose(result.similarity(queries), expected, rtol=1e-4, atol=1e-6)
        # One picture at a time takes another route to the same.
        alone = np.concatenate([result.similarity(query[None]) for query in queries])
        np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-6)
    vectors, people, queries = some_people(0)
    assert not Matcher(vectors, people).similarity(0 * queries[:1]).any()
    assert np.isfinite(Matcher(np.float32(1e25) * vectors, people).similarity(queries)).all()
    vectors, people, _ = some_people(1)
    cosines = Matcher(vectors, people).similarity(vectors)
    np.testing.assert_allclose(cosines[np.arange(len(people)), people], 1, atol=1e-6)
    assert cosines.max() <= 1
    for vectors, message in (
        ([[1.0, 2.0], [np.nan, 1.0]], "Input vectors contains NaN"),
        ([1.0, 2.0], "Expected 2D array, got 1D array"),
        (np.empty((0, 0)), r"shape=\(0, 0\)"),
        ([["a"]], "could not convert string"),
        ([[1e200]], "too large for dtype"),
        ([[1j]], "Complex data not supported"),
    ):
        with pytest.raises(ValueError, match=message):
            as_vectors(vectors)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        as_vectors(np.empty((0, 3)), at_least=1)
    assert as_vectors(np.empty((0, 3)), 3).shape == (0, 3)
    with pytest.raises(DataError, match="The vectors have 5 components, but the enrolled people"):
        as_vectors(np.ones((2, 5)), 12)
    vectors, people = people_at_places()
    assert discriminants(vectors[people * 4], people) is None


def test_blocks_of_queries_change_nothing(monkeypatch):
    vectors, people, queries = some_people(0)
    whole = Matcher(vectors, people).similarity(queries)
    monkeypatch.setattr(similarity, "ENTRIES", 2 * len(vectors))
    np.testing.assert_allclose(Matcher(vectors, people).similarity(queries), whole, atol=1e-6)


def projection(vectors, people):
    """What a matcher multiplies vectors by."""
    return Matcher(np.float32(vectors), np.sort(people), discriminants(vectors, people))._directions


def people_at_places(n_people=12, n_pictures=4, d=8, seed=0):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), n_pictures)
    noise = rng.standard_normal((len(people), d)) * np.geomspace(5, 0.5, d)
    return 3 * rng.standard_normal((n_people, d))[people] + noise, people


def test_directions_solve_the_shrunk_eigenproblem_and_are_fewer_than_people():
    vectors, people = people_at_places(n_people=4)
    assert projection(vectors, people).shape == (8, 3)
    vectors, people = people_at_places(n_people=5, n_pictures=2, d=40)
    assert np.isfinite(projection(vectors, people)).all()
    vectors, people = people_at_places()
    alone = np.vstack([vectors, vectors[:1] + 1])
    expected = projection(vectors, people)
    assert np.array_equal(projection(alone, np.append(people, 12)), expected)
    vectors, people = people_at_places()
    k = vectors.shape[1]
    within = np.zeros((k, k))
    for person in range(12):
        own = vectors[people == person] - vectors[people == person].mean(axis=0)
        within += own.T @ own / len(people)
    total = np.cov(vectors.T, ddof=0)

    def shrunk(S):
        return (1 - SHRINKAGE) * S + SHRINKAGE * np.trace(S) / k * np.eye(k)

    _, expected = scipy.linalg.eigh(shrunk(total) - shrunk(within), shrunk(within))
    result = projection(vectors, people)
    assert result.shape == (8, 8)
    assert result.dtype == np.float32
    for column, direction in zip(result.T, expected.T[::-1], strict=True):
        np.testing.assert_allclose(np.abs(column), np.abs(direction), rtol=1e-3, atol=1e-4)
    # People vary by one unit along each, so that distances there need no further scale.
    np.testing.assert_allclose(result.T @ shrunk(within) @ result, np.eye(8), atol=1e-4)


def test_of_very_many_people_an_even_part_is_enough(monkeypatch):
    monkeypatch.setattr(similarity, "MOST_FITTED", 6)
    vectors, people = people_at_places(n_people=11)
    assert discriminants(vectors, people).classes_.tolist() == [0, 2, 4, 6, 8, 10]
