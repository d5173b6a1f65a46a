"""Searches against exhaustive search and literal transcriptions of the algorithms."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import ParameterError
from gramian.select.wrappers import SearchStep, SubsetSearch, choose, search_of
from gramian.statistics.candidates import tolerance

FOLDS = 3


def forward(scorer, d, **given):
    return SubsetSearch(d, True, **given).steps(scorer)


def backward(scorer, d, **given):
    return SubsetSearch(d, False, **given).steps(scorer)


class Told:
    """Scores given by a function of the subset; counts what it is asked."""

    def __init__(self, value):
        self.value, self.asked = value, []

    def of(self, subset):
        result = np.atleast_1d(np.asarray(self.value(frozenset(subset)), dtype=float))
        return np.repeat(result, FOLDS) if len(result) == 1 else result

    def scores(self, kept, columns):
        assert list(kept) == sorted(kept)
        subsets = [set(kept) ^ {j} for j in columns]
        self.asked += [frozenset(int(j) for j in s) for s in subsets]
        return np.array([self.of(s) for s in subsets])


def at_random(d, seed):
    """A score for every subset."""
    rng = np.random.default_rng(seed)
    return {
        frozenset(c): float(rng.normal() + 0.3 * k)
        for k in range(1, d + 1)
        for c in combinations(range(d), k)
    }


def greedy(value, d, adding):
    """Whitney's forward and its mirror, as in a textbook."""
    now = set() if adding else set(range(d))
    results = [] if adding else [(frozenset(now), value(frozenset(now)))]
    while len(now) < d if adding else len(now) > 1:
        options = [j for j in range(d) if (j not in now) == adding]
        scored = [(value(frozenset(now | {j} if adding else now - {j})), -j) for j in options]
        best, j = max(scored)
        now = now | {-j} if adding else now - {-j}
        results.append((frozenset(now), best))
    return results


def pudil(value, d):
    """SFFS: after each inclusion exclude the least significant while that beats the best of its size."""
    now, best, visited = frozenset(), {}, []
    while len(now) < d:
        now = now | {max((value(now | {j}), -j) for j in range(d) if j not in now)[1] * -1}
        best[len(now)] = max(best.get(len(now), -np.inf), value(now))
        visited.append(now)
        while len(now) > 2:
            score, j = max((value(now - {j}), -j) for j in now)
            if not score > best[len(now) - 1]:
                break
            now = now - {-j}
            best[len(now)] = score
            visited.append(now)
    return visited


def moves(steps):
    return [frozenset(s.subset) for s in steps if s.action != "keep"]


@given(seed=st.integers(0, 10**6), adding=st.booleans(), d=st.integers(1, 6))
def test_plain_searches_are_the_textbook(seed, adding, d):
    table = at_random(d, seed)
    scorer = Told(table.__getitem__)
    steps = list((forward if adding else backward)(scorer, d))
    expected = greedy(table.__getitem__, d, adding)
    assert [(frozenset(s.subset), s.mean) for s in steps] == [(s, pytest.approx(v)) for s, v in expected]
    assert len(scorer.asked) == d * (d + 1) // 2
    assert [s.number for s in steps] == list(range(1 if adding else 0, d + 1 if adding else d))


def test_candidates_are_recorded():
    table = at_random(4, 0)
    first, second = list(forward(Told(table.__getitem__), 4))[:2]
    assert first.candidates == ((0,), (1,), (2,), (3,))
    assert first.candidate_scores.mean(axis=1).tolist() == pytest.approx(
        [table[frozenset([j])] for j in range(4)]
    )
    assert first.action == "add"
    assert first.moved == first.subset
    kept = first.subset[0]
    assert second.candidates == tuple((j,) for j in range(4) if j != kept)
    assert second.candidate_scores.mean(axis=1).tolist() == pytest.approx(
        [table[frozenset([kept, j])] for j in range(4) if j != kept]
    )
    assert (
        second.fold_scores.tolist()
        == second.candidate_scores[np.argmax(second.candidate_scores.mean(axis=1))].tolist()
    )


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_floating_is_pudils(seed, d):
    table = at_random(d, seed)
    steps = list(forward(Told(table.__getitem__), d, floating=True))
    assert moves(steps) == pudil(table.__getitem__, d)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 6))
def test_backward_floating_is_the_mirror_of_forward(seed, d):
    # Subsets by what is left out: the whole set takes the part of the empty one.
    table = at_random(d, seed)
    everything = frozenset(range(d))

    def mirrored(left_out):
        return table[everything - left_out] if len(left_out) < d else -1e9

    steps = list(backward(Told(table.__getitem__), d, floating=True))
    expected = [everything - s for s in pudil(mirrored, d) if len(s) < d]
    # The mirror also tries to leave out all, and to come back from there, which this search does not.
    assert moves(steps)[1:] == expected[: len(moves(steps)) - 1]
    assert moves(steps)[-1] == expected[-1] or len(moves(steps)[-1]) == 1


@given(seed=st.integers(0, 10**6), adding=st.booleans(), limit=st.none() | st.integers(1, 6))
def test_floating_ends_and_is_never_worse_at_its_own_sizes(seed, adding, limit):
    table = at_random(6, seed)
    search = forward if adding else backward
    steps = list(search(Told(table.__getitem__), 6, floating=True, limit=limit))
    assert len(steps) < 200
    plain = list(search(Told(table.__getitem__), 6, limit=limit))
    if limit is not None:
        chosen = steps[choose(steps, "size", limit).place]
        assert chosen.size == limit == plain[-1].size
    kept = [s for s in steps if s.action == "keep"]
    assert all(s.moved == () for s in kept)
    for step in kept:
        smaller = [
            t.mean for t in steps[: steps.index(step)] if t.size == len(step.subset) - (1 if adding else -1)
        ]
        assert max(step.candidate_scores.mean(axis=1)) <= max(smaller) + 1e-9


def step(size, *scores, start=0):
    subset = tuple(range(start, start + size))
    return SearchStep.in_folds(subset, size, np.array(scores), number=1, action="add", moved=(0,))


def test_every_rule_takes_the_fewest_of_tied_by_its_definition():
    steps = [step(3, 0.9, 0.7), step(1, 0.5, 0.5), step(2, 0.8, 0.8), step(2, 0.8, 0.8, start=1)]
    result = choose(steps, "best")
    assert result.place == 2
    assert result.why == "the best mean of all steps; 2 other subsets tie"
    assert choose(steps[:3], "best").why == "the best mean of all steps; another subset ties"
    assert choose(steps[1:2], "best").why == "the best mean of all steps"
    # Mean 0.8 with a standard error of 0.1 / sqrt(2) * sqrt(2) / sqrt(2) = 0.1.
    best = step(4, 0.7, 0.9)
    assert best.standard_error == pytest.approx(0.1)
    steps = [step(1, 0.69, 0.69), step(2, 0.71, 0.71), step(2, 0.75, 0.75), step(3, 0.79, 0.79), best]
    result = choose(steps, "one-se")
    assert result.place == 2
    assert result.why == "the fewest within one standard error, 0.1, of the best mean, 0.8 with 4 features"
    assert choose([step(1, 0.7, 0.7), best], "one-se").place == 0
    steps = [step(2, 0.5, 0.5), step(3, 0.9, 0.9), step(2, 0.6, 0.6)]
    assert choose(steps, "size", 2).place == 2
    assert choose(steps, "size", 2).why == "as many as were requested"


def search(wanted="best", d=10, direction="forward"):
    return search_of(d, wanted, direction, False)


def test_ties_limits_and_numbers_that_cannot_be_reached():
    for wanted in ["auto", 0, 11, True, None, 1.0, float("nan")]:
        with pytest.raises(ParameterError, match="n_features_to_select="):
            search(wanted)
    assert int(0.29 * 100) == 28
    assert search(0.29, 100).limit == 29
    assert tolerance(-1e6) == pytest.approx(1e-6)
    assert [s.moved for s in forward(Told(lambda s: 1.0), 3)] == [(0,), (1,), (2,)]
    assert [s.moved for s in backward(Told(lambda s: 1.0), 3)] == [(), (0,), (1,)]
    assert [s.size for s in forward(Told(len), 5, limit=2)] == [1, 2]
    assert [s.size for s in backward(Told(len), 5, limit=2)] == [5, 4, 3, 2]
    assert [s.size for s in backward(Told(len), 5, limit=5)] == [5]
