"""Comparisons of pictures as if they had not been enrolled."""

import numpy as np
import pytest

from gramian.faces import thresholds as module
from gramian.faces.thresholds import trials
from strangers import Nearest, some_people


@pytest.mark.parametrize(("n_people", "n_pictures"), [(4, 3), (7, 2), (13, 1), (12, 4)])
def test_nothing_is_compared_with_itself(n_people, n_pictures):
    vectors, people = some_people(n_people, n_pictures)
    seen = []

    def build(mask):
        seen.append(mask)
        return Nearest(vectors[mask], people[mask])

    found = trials(vectors, people, build)
    assert not (found.strangers == 0).any()
    assert not (found.own == 0).any()
    assert len(found.strangers) == len(people)
    assert len(found.own) == (len(people) if n_pictures > 1 else 0)
    left_out = [mask for mask in seen if len(np.unique(people[mask])) < n_people]
    # Everybody is a stranger once, with all pictures.
    assert np.array_equal(sum((~mask).astype(int) for mask in left_out), np.ones(len(people)))
    for mask in left_out:
        assert not set(people[mask]) & set(people[~mask])


def test_one_at_a_time_is_the_literal_definition():
    vectors, people = some_people(5, 3)
    found = trials(vectors, people, lambda mask: Nearest(vectors[mask], people[mask]))
    expected = []
    for i, vector in enumerate(vectors):
        others = [np.linalg.norm(vector - v) for v, p in zip(vectors, people, strict=True) if p != people[i]]
        expected.append(-min(others))
    np.testing.assert_allclose(np.sort(found.strangers), np.sort(expected), rtol=1e-5)
    own = []
    for i, vector in enumerate(vectors):
        same = [np.linalg.norm(vector - vectors[j]) for j in np.flatnonzero(people == people[i]) if j != i]
        own.append(-min(same))
    np.testing.assert_allclose(np.sort(found.own), np.sort(own), rtol=1e-5)
    assert found.share == pytest.approx(4 / 5)


def test_two_pictures_each_are_held_out_of_every_other_person():
    vectors, people = some_people(6, 2)
    left = []

    def build(mask):
        left.append(mask)
        return Nearest(vectors[mask], people[mask])

    found = trials(vectors, people, build)
    assert len(found.own) == 12
    for mask in left:
        counts = np.bincount(people[mask], minlength=6)
        assert (counts == 2).sum() >= 3


def test_a_large_gallery_is_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST", 5)
    vectors, people = some_people(30, 3)
    built = []

    def build(mask):
        built.append(mask)
        return Nearest(vectors[mask], people[mask])

    found = trials(vectors, people, build)
    assert (len(found.strangers), len(found.own), len(built)) == (15, 5, 2)


def test_blocks_change_nothing(monkeypatch):
    vectors, people = some_people(12, 4)

    def found():
        return trials(vectors, people, lambda mask: Nearest(vectors[mask], people[mask]))

    whole = found()
    monkeypatch.setattr(module, "PAIRS", 40)
    parts = found()
    assert parts.n_pairs == whole.n_pairs > 40
    assert len(parts.pairs) < len(whole.pairs)
    for name in ("strangers", "who", "closest", "own"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
