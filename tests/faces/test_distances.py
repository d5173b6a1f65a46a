"""Distances against literal double loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import DataError, ParameterError
from gramian.faces import similarity as distances
from gramian.faces.similarity import Index, whitening


def literal(queries, vectors, people, *, cosine, match):
    """The definition: one picture of one person at a time, in float64."""
    found = np.empty((len(queries), people.max() + 1))
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
            found[i, person] = max(likeness)
    return found


def some_people(seed, n_people=7, d=5):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), rng.integers(1, 4, n_people))
    vectors = 100 * rng.standard_normal((len(people), d)).astype(np.float32)
    return vectors, people, 100 * rng.standard_normal((6, d)).astype(np.float32)


@pytest.mark.parametrize("match", ["nearest", "mean"])
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_likeness_is_the_definition(seed, cosine, match):
    vectors, people, queries = some_people(seed)
    expected = literal(queries, vectors, people, cosine=cosine, match=match)
    found = Index(vectors, people, cosine=cosine, match=match)
    assert found.similarity(queries).dtype == np.float32
    np.testing.assert_allclose(found.similarity(queries), expected, rtol=1e-4, atol=1e-6)
    # One picture at a time takes another route to the same.
    alone = np.concatenate([found.similarity(query[None]) for query in queries])
    np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-6)


def test_blocks_of_queries_change_nothing(monkeypatch):
    vectors, people, queries = some_people(0)
    whole = Index(vectors, people, cosine=True).similarity(queries)
    monkeypatch.setattr(distances, "ENTRIES", 2 * len(vectors))
    np.testing.assert_allclose(Index(vectors, people, cosine=True).similarity(queries), whole, atol=1e-6)


def test_nobody_asked_is_nobody_answered():
    vectors, people, queries = some_people(0)
    assert Index(vectors, people, cosine=True).similarity(queries[:0]).shape == (0, 7)


@given(st.integers(0, 50), st.sampled_from([1e-3, 7.0, 1e4]))
def test_cosines_do_not_depend_on_length(seed, factor):
    vectors, people, queries = some_people(seed)
    index = Index(vectors, people, cosine=True)
    np.testing.assert_allclose(
        index.similarity(queries), index.similarity(np.float32(factor) * queries), atol=1e-5
    )


def test_a_vector_of_zeros_is_like_nobody():
    vectors, people, queries = some_people(0)
    assert not Index(vectors, people, cosine=True).similarity(0 * queries[:1]).any()


def test_what_is_the_same_is_as_alike_as_can_be():
    vectors, people, _ = some_people(1)
    own = np.arange(len(people)), people
    cosines = Index(vectors, people, cosine=True).similarity(vectors)
    np.testing.assert_allclose(cosines[own], 1, atol=1e-6)
    assert cosines.max() <= 1
    # A difference of squares in float32 leaves this much of a distance of 0.
    lengths = np.linalg.norm(vectors, axis=1)
    assert (-Index(vectors, people, cosine=False).similarity(vectors)[own] < 2e-3 * lengths).all()


def test_whitening_divides_by_standard_deviations():
    np.testing.assert_allclose(whitening([4.0, 0.25]), [0.5, 2.0])


def test_a_component_without_variance_counts_for_nothing():
    assert whitening([1.0, 1e-16, 0.0])[1:].tolist() == [0.0, 0.0]
    assert whitening([0.0]).tolist() == [0.0]


@pytest.mark.parametrize("bad", [[1.0, np.nan], [-1.0], [[1.0]], [np.inf]])
def test_what_is_no_variance(bad):
    with pytest.raises(ParameterError, match="one finite number of at least 0"):
        whitening(bad)


def test_a_way_to_match_that_is_not_known():
    vectors, people, _ = some_people(0)
    with pytest.raises(ParameterError, match="match='best'"):
        Index(vectors, people, cosine=True, match="best")


def test_vectors_too_long_for_float32():
    vectors, people, queries = some_people(0)
    with pytest.raises(DataError, match="too long for distances in float32"):
        Index(np.float32(1e25) * vectors, people, cosine=False)
    with pytest.raises(DataError, match="too long for distances in float32"):
        Index(vectors, people, cosine=False).similarity(np.float32(1e25) * queries)
    assert np.isfinite(Index(np.float32(1e25) * vectors, people, cosine=True).similarity(queries)).all()
