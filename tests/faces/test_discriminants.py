"""Discriminants against the generalised eigenproblem written out."""

import numpy as np
import pytest
import scipy.linalg

from gramian.errors import DataError
from gramian.faces import similarity as module
from gramian.faces.similarity import SHRINKAGE, discriminants, projection, why_none


def some_people(n_people=12, n_pictures=4, d=8, seed=0):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), n_pictures)
    noise = rng.standard_normal((len(people), d)) * np.geomspace(5, 0.5, d)
    return 3 * rng.standard_normal((n_people, d))[people] + noise, people


@pytest.mark.parametrize("shifted", [False, True])
def test_directions_solve_the_shrunk_eigenproblem(shifted):
    vectors, people = some_people()
    k = vectors.shape[1]
    change = np.random.default_rng(1).standard_normal((20, k))
    shifts = change.T @ change / 20 if shifted else None
    more = shifts if shifted else 0.0
    within = np.zeros((k, k))
    for person in range(12):
        own = vectors[people == person] - vectors[people == person].mean(axis=0)
        within += own.T @ own / len(people)
    total = np.cov(vectors.T, ddof=0)

    def shrunk(S):
        return (1 - SHRINKAGE) * S + SHRINKAGE * np.trace(S) / k * np.eye(k)

    _, expected = scipy.linalg.eigh(shrunk(total) - shrunk(within), shrunk(within) + more)
    found = projection(discriminants(vectors, people, shifts))
    assert found.shape == (8, 8)
    assert found.dtype == np.float32
    for column, direction in zip(found.T, expected.T[::-1], strict=True):
        np.testing.assert_allclose(np.abs(column), np.abs(direction), rtol=1e-3, atol=1e-4)
    # People vary by one unit along each, so that distances there need no further scale.
    np.testing.assert_allclose(found.T @ (shrunk(within) + more) @ found, np.eye(8), atol=1e-4)


def test_one_direction_fewer_than_people():
    vectors, people = some_people(n_people=4)
    assert projection(discriminants(vectors, people)).shape == (8, 3)


def test_more_components_than_pictures():
    vectors, people = some_people(n_people=5, n_pictures=2, d=40)
    assert np.isfinite(projection(discriminants(vectors, people))).all()


def test_people_with_one_picture_change_nothing():
    vectors, people = some_people()
    alone = np.vstack([vectors, vectors[:1] + 1])
    expected = projection(discriminants(vectors, people))
    assert np.array_equal(projection(discriminants(alone, np.append(people, 12))), expected)


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        (np.repeat(np.arange(10), 2), ""),
        (np.arange(10), "0 of 10 people have two pictures"),
        (np.repeat(np.arange(3), 5), "3 of 3 people have two pictures"),
    ],
)
def test_why_there_are_none(people, expected):
    assert expected in why_none(people)
    assert bool(expected) == bool(why_none(people))


def test_of_very_many_people_an_even_part_is_enough(monkeypatch):
    monkeypatch.setattr(module, "MOST", 6)
    people = np.concatenate([np.repeat(np.arange(10), 2), [10, 10, 10, 11]])
    kept = np.unique(people[module._chosen(people)])
    # The one with three pictures for certain, five of those with two, none of those with one.
    assert len(kept) == 6
    assert 10 in kept
    assert 11 not in kept
    assert np.ptp(kept[kept < 10]) == 9
    several = np.append(np.repeat(np.arange(5), 2), [5, 6, 7])
    assert np.unique(several[module._chosen(several)]).tolist() == [0, 1, 2, 3, 4]


def test_nobody_has_two_pictures():
    vectors, _ = some_people()
    with pytest.raises(DataError, match="two people with two pictures each"):
        discriminants(vectors, np.arange(len(vectors)))
    with pytest.raises(DataError, match="two people with two pictures each"):
        discriminants(vectors, np.zeros(len(vectors), dtype=int))


def test_nobody_varies():
    vectors, people = some_people()
    with pytest.raises(DataError, match="All pictures of each person are the same"):
        discriminants(vectors[people * 4], people)
