"""Distances against literal double loops."""

import numpy as np
import pytest
import scipy.linalg

from gramian.errors import DataError, ParameterError
from gramian.faces import similarity
from gramian.faces.similarity import SHRINKAGE, Matcher, as_vectors, discriminants, whitening, why_none


def literal(queries, vectors, people, *, cosine, match):
    """The definition: one picture of one person at a time, in float64."""
    values = np.empty((len(queries), people.max() + 1))
    for i, query in enumerate(queries.astype(float)):
        for person in range(people.max() + 1):
            own = vectors[people == person].astype(float)
            if cosine:
                own = np.array([v / np.linalg.norm(v) if v.any() else v for v in own])
            if match == "mean":
                own = own.mean(axis=0, keepdims=True)
            likeness = []
            for vector in own:
                if cosine:
                    lengths = np.linalg.norm(query) * np.linalg.norm(vector)
                    likeness.append(sum(query * vector) / lengths if lengths else 0.0)
                else:
                    likeness.append(-np.sqrt(sum((query - vector) ** 2)))
            values[i, person] = max(likeness)
    return values


def some_people(seed, n_people=7, d=5):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), rng.integers(1, 4, n_people))
    vectors = 100 * rng.standard_normal((len(people), d)).astype(np.float32)
    return vectors, people, 100 * rng.standard_normal((6, d)).astype(np.float32)


def test_likeness_and_whitening_are_their_definitions():
    for match in ["nearest", "mean"]:
        for cosine in [True, False]:
            for seed in range(3):
                vectors, people, queries = some_people(seed)
                expected = literal(queries, vectors, people, cosine=cosine, match=match)
                result = Matcher(vectors, people, cosine=cosine, match=match)
                assert result.similarity(queries).dtype == np.float32
                np.testing.assert_allclose(result.similarity(queries), expected, rtol=1e-4, atol=1e-6)
                # One picture at a time takes another route to the same.
                alone = np.concatenate([result.similarity(query[None]) for query in queries])
                np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-6)
    vectors, people, queries = some_people(0)
    assert not Matcher(vectors, people, cosine=True).similarity(0 * queries[:1]).any()
    vectors, people, _ = some_people(1)
    own = np.arange(len(people)), people
    cosines = Matcher(vectors, people, cosine=True).similarity(vectors)
    np.testing.assert_allclose(cosines[own], 1, atol=1e-6)
    assert cosines.max() <= 1
    # A difference of squares in float32 leaves this much of a distance of 0.
    lengths = np.linalg.norm(vectors, axis=1)
    assert (-Matcher(vectors, people, cosine=False).similarity(vectors)[own] < 2e-3 * lengths).all()
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
    np.testing.assert_allclose(whitening([4.0, 0.25]), [0.5, 2.0])
    assert whitening([1.0, 1e-16, 0.0])[1:].tolist() == [0.0, 0.0]
    assert whitening([0.0]).tolist() == [0.0]
    for bad in [[1.0, np.nan], [-1.0], [[1.0]], [np.inf]]:
        with pytest.raises(ParameterError, match="variances must be one finite number of at least 0 for"):
            whitening(bad)
    vectors, people, queries = some_people(0)
    with pytest.raises(DataError, match=r"A vector is too long for distances in float32\. Use"):
        Matcher(np.float32(1e25) * vectors, people, cosine=False)
    with pytest.raises(DataError, match=r"A vector is too long for distances in float32\. Use"):
        Matcher(vectors, people, cosine=False).similarity(np.float32(1e25) * queries)
    assert np.isfinite(Matcher(np.float32(1e25) * vectors, people, cosine=True).similarity(queries)).all()
    vectors, people = people_at_places()
    with pytest.raises(DataError, match="All pictures of each person are the same, so there are no"):
        discriminants(vectors[people * 4], people)


def test_blocks_of_queries_change_nothing(monkeypatch):
    vectors, people, queries = some_people(0)
    whole = Matcher(vectors, people, cosine=True).similarity(queries)
    monkeypatch.setattr(similarity, "ENTRIES", 2 * len(vectors))
    np.testing.assert_allclose(Matcher(vectors, people, cosine=True).similarity(queries), whole, atol=1e-6)


def projection(vectors, people, shifts=None):
    """What a matcher multiplies vectors by."""
    model = discriminants(vectors, people, shifts)
    return Matcher(np.float32(vectors), np.sort(people), model, cosine=False)._directions


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
    for people, expected in [
        (np.repeat(np.arange(10), 2), ""),
        (np.arange(10), "0 of 10 people have two pictures"),
        (np.repeat(np.arange(3), 5), "3 of 3 people have two pictures"),
    ]:
        assert expected in why_none(people)
        assert bool(expected) == bool(why_none(people))
    for shifted in [False, True]:
        vectors, people = people_at_places()
        k = vectors.shape[1]
        change = np.random.default_rng(1).standard_normal((20, k))
        shifts = change.T @ change / 20 if shifted else None
        more = shifts if shifted else 0.0
        within = np.zeros((k, k))
        for person in range(12):
            own = vectors[people == person] - vectors[people == person].mean(axis=0)
            within += own.T @ own / len(people)
        total = np.cov(vectors.T, ddof=0)

        def shrunk(S, k=k):
            return (1 - SHRINKAGE) * S + SHRINKAGE * np.trace(S) / k * np.eye(k)

        _, expected = scipy.linalg.eigh(shrunk(total) - shrunk(within), shrunk(within) + more)
        result = projection(vectors, people, shifts)
        assert result.shape == (8, 8)
        assert result.dtype == np.float32
        for column, direction in zip(result.T, expected.T[::-1], strict=True):
            np.testing.assert_allclose(np.abs(column), np.abs(direction), rtol=1e-3, atol=1e-4)
        # People vary by one unit along each, so that distances there need no further scale.
        np.testing.assert_allclose(result.T @ (shrunk(within) + more) @ result, np.eye(8), atol=1e-4)


def test_of_very_many_people_an_even_part_is_enough(monkeypatch):
    monkeypatch.setattr(similarity, "MOST_FITTED", 6)
    people = np.concatenate([np.repeat(np.arange(10), 2), [10, 10, 10, 11]])
    kept = np.unique(people[similarity._chosen(people)])
    # The one with three pictures for certain, five of those with two, none of those with one.
    assert len(kept) == 6
    assert 10 in kept
    assert 11 not in kept
    assert np.ptp(kept[kept < 10]) == 9
    several = np.append(np.repeat(np.arange(5), 2), [5, 6, 7])
    assert np.unique(several[similarity._chosen(several)]).tolist() == [0, 1, 2, 3, 4]
