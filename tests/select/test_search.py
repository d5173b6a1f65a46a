"""Searches against exhaustive search and literal transcriptions of the algorithms."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import ParameterError
from gramian.select.wrappers import SearchStep, Space, SubsetSearch, choose, search_of, space_of
from gramian.statistics.candidates import tolerance

FOLDS = 3
NAMES = tuple(f"x{j}" for j in range(10))


def forward(scorer, space, **given):
    return SubsetSearch(space, True, **given).steps(scorer)


def backward(scorer, space, **given):
    return SubsetSearch(space, False, **given).steps(scorer)


class Told:
    """Scores given by a function of the subset; counts what it is asked."""

    def __init__(self, value):
        self.value, self.asked = value, []

    def of(self, subset):
        result = np.atleast_1d(np.asarray(self.value(frozenset(subset)), dtype=float))
        return np.repeat(result, FOLDS) if len(result) == 1 else result

    def scores(self, kept, groups, adding):
        assert list(kept) == sorted(kept)
        subsets = [set(kept) | set(g) if adding else set(kept) - set(g) for g in groups]
        self.asked += [frozenset(int(j) for j in s) for s in subsets]
        return np.array([self.of(s) for s in subsets])


def singles(d, fixed=()):
    free = tuple(np.array([j]) for j in range(d) if j not in fixed)
    return Space(free, np.array(fixed, dtype=np.intp))


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
    steps = list((forward if adding else backward)(scorer, singles(d)))
    expected = greedy(table.__getitem__, d, adding)
    assert [(frozenset(s.subset), s.mean) for s in steps] == [(s, pytest.approx(v)) for s, v in expected]
    assert len(scorer.asked) == d * (d + 1) // 2
    assert [s.number for s in steps] == list(range(1 if adding else 0, d + 1 if adding else d))


def test_candidates_and_groups_are_recorded_within_the_limit():
    table = at_random(4, 0)
    first, second = list(forward(Told(table.__getitem__), singles(4)))[:2]
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
    steps = list(forward(Told(len), singles(4, fixed=(2,))))
    assert (steps[0].action, steps[0].subset, steps[0].number, steps[0].moved) == ("start", (2,), 0, ())
    assert steps[0].candidates == ()
    assert all(2 in s.subset for s in steps)
    steps = list(backward(Told(len), singles(4, fixed=(2,))))
    assert steps[0].subset == (0, 1, 2, 3)
    assert steps[-1].subset == (2,)
    space = Space((np.array([0, 3]), np.array([1]), np.array([2, 4])), np.array([5]))
    steps = list(forward(Told(len), space))
    assert [s.moved for s in steps] == [(), (0, 3), (2, 4), (1,)]
    assert [s.size for s in steps] == [1, 3, 5, 6]
    assert [s.moved for s in backward(Told(lambda s: -len(s)), space)] == [(), (0, 3), (2, 4), (1,)]
    space = Space((np.array([0, 1, 2]), np.array([3, 4]), np.array([5])), np.array([], dtype=np.intp))
    steps = list(forward(Told(len), space, limit=4))
    assert [s.moved for s in steps] == [(0, 1, 2), (5,)]
    assert steps[1].candidates == ((5,),)
    steps = list(forward(Told(len), space, limit=2))
    assert [s.subset for s in steps] == [(3, 4)]
    assert choose(steps, "size", 2).why == "as many as were requested"
    steps = list(forward(Told(lambda s: -len(s)), space, limit=2))
    assert [s.subset for s in steps] == [(5,)]
    assert choose(steps, "size", 2).why == "the most that the groups allow of the 2 that were requested"
    space = Space((np.array([0, 1, 2]), np.array([3, 4])), np.array([], dtype=np.intp))
    steps = list(backward(Told(len), space, limit=2))
    assert [s.subset for s in steps] == [(0, 1, 2, 3, 4), (3, 4)]
    space = Space((np.array([0, 1, 2]), np.array([3]), np.array([4, 5]), np.array([6])), np.array([7]))
    for search, limit in product((forward, backward), (None, 3, 5)):
        steps = list(search(Told(lambda s: -abs(len(s) - 4.1)), space, floating=True, limit=limit))
        assert all(7 in s.subset for s in steps)
        assert len(steps) < 40


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_floating_is_pudils(seed, d):
    table = at_random(d, seed)
    steps = list(forward(Told(table.__getitem__), singles(d), floating=True))
    assert moves(steps) == pudil(table.__getitem__, d)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 6))
def test_backward_floating_is_the_mirror_of_forward(seed, d):
    # Subsets by what is left out: the whole set takes the part of the empty one.
    table = at_random(d, seed)
    everything = frozenset(range(d))

    def mirrored(left_out):
        return table[everything - left_out] if len(left_out) < d else -1e9

    steps = list(backward(Told(table.__getitem__), singles(d), floating=True))
    expected = [everything - s for s in pudil(mirrored, d) if len(s) < d]
    # The mirror also tries to leave out all, and to come back from there, which this search does not.
    assert moves(steps)[1:] == expected[: len(moves(steps)) - 1]
    assert moves(steps)[-1] == expected[-1] or len(moves(steps)[-1]) == 1


@given(seed=st.integers(0, 10**6), adding=st.booleans(), limit=st.none() | st.integers(1, 6))
def test_floating_ends_and_is_never_worse_at_its_own_sizes(seed, adding, limit):
    table = at_random(6, seed)
    search = forward if adding else backward
    steps = list(search(Told(table.__getitem__), singles(6), floating=True, limit=limit))
    assert len(steps) < 200
    plain = list(search(Told(table.__getitem__), singles(6), limit=limit))
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
    assert choose(steps, "size", 4).place == 1


def search(wanted="best", *, direction="forward", floating=False, patience=None, **space):
    return search_of(
        space_of(space.get("groups"), space.get("fixed"), NAMES), wanted, direction, floating, patience
    )


def test_ties_limits_patience_and_numbers_that_cannot_be_reached():
    for wanted in ["auto", 0, 11, True, None, 1.0, float("nan")]:
        with pytest.raises(ParameterError, match="n_features_to_select="):
            search(wanted)
    with pytest.raises(ParameterError, match=r"n_features_to_select=2 is 2 features, but 3 are fixed\."):
        search(2, fixed=[0, 1, 2])
    assert search(3, fixed=[0, 1, 2]).limit == 3
    with pytest.raises(ParameterError, match=r"n_features_to_select=0\.4 is 4 features, but 5 are in the"):
        search(0.4, groups=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])
    names = tuple(f"x{j}" for j in range(100))
    assert int(0.29 * 100) == 28
    assert search_of(space_of(None, None, names), 0.29, "forward", False, None).limit == 29
    assert tolerance(-1e6) == pytest.approx(1e-6)
    assert [s.moved for s in forward(Told(lambda s: 1.0), singles(3))] == [(0,), (1,), (2,)]
    assert [s.moved for s in backward(Told(lambda s: 1.0), singles(3))] == [(), (0,), (1,)]
    assert [s.size for s in forward(Told(len), singles(5), limit=2)] == [1, 2]
    assert [s.size for s in backward(Told(len), singles(5), limit=2)] == [5, 4, 3, 2]
    assert [s.size for s in backward(Told(len), singles(5), limit=5)] == [5]
    up = {1: 0.5, 2: 0.7, 3: 0.6, 4: 0.65, 5: 0.9, 6: 0.9}
    assert [s.size for s in forward(Told(lambda s: up[len(s)]), singles(6), patience=2)] == [1, 2, 3, 4]
    assert [s.size for s in forward(Told(lambda s: up[len(s)]), singles(6), patience=3)] == [1, 2, 3, 4, 5, 6]
    # Backward, an equal score with fewer features is better; forward it is not.
    level = Told(lambda s: 1.0)
    assert [s.size for s in backward(level, singles(6), patience=1)] == [6, 5, 4, 3, 2, 1]
    assert [s.size for s in forward(level, singles(6), patience=1)] == [1, 2]
