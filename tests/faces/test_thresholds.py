"""Thresholds by their definition, and the rates that they keep."""

import math

import numpy as np
import pytest

from gramian.faces.thresholds import counted_threshold, tail_size, tail_threshold


def literal(scores, owners, far):
    """The least of all scores, and of what is above all, that keeps the promise; and the rate there."""
    people = sorted(set(owners))
    for value in [*sorted(set(scores)), np.inf]:
        shares = [
            np.mean([s >= value for s, o in zip(scores, owners, strict=True) if o == p]) for p in people
        ]
        rate = (sum(shares) + 1) / (len(people) + 1)
        if rate <= far + 1e-12:
            return value, rate
    return None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("far", [0.05, 0.1, 0.33, 0.9])
def test_the_counted_threshold_is_the_literal_one(seed, far):
    rng = np.random.default_rng(seed)
    owners = np.append(np.arange(25), rng.integers(0, 25, 60))
    scores = rng.integers(0, 40, len(owners)) / 40
    expected, rate = literal(scores, owners, far)
    value, promised = counted_threshold(scores, far, owners)
    assert promised == pytest.approx(rate)
    assert value == expected or (expected == np.inf and value > scores.max())


@pytest.mark.parametrize("alike", [0.0, 0.9])
@pytest.mark.parametrize("far", [0.2, 0.05])
def test_new_strangers_reach_it_as_rarely_as_promised(far, alike):
    # Pictures of one stranger are alike to some degree.
    rng = np.random.default_rng(0)

    def pictures(people):
        own = rng.standard_normal((people, 1)) * np.sqrt(alike)
        return own + np.sqrt(1 - alike) * rng.standard_normal((people, 4))

    rates, promised = [], []
    for _ in range(300):
        value, rate = counted_threshold(pictures(50).ravel(), far, np.repeat(np.arange(50), 4))
        rates.append((pictures(200) >= value).mean())
        promised.append(rate)
    assert max(promised) <= far
    assert np.mean(rates) <= far
    assert np.mean(rates) > far / 3


def test_a_rate_too_small_to_count():
    scores = np.random.default_rng(0).random(300)
    assert counted_threshold(scores, 0.0034) is not None
    assert counted_threshold(scores, 0.0033) is None
    assert counted_threshold(np.empty(0), 0.5) is None


def test_equal_scores_do_not_let_more_pass():
    value, rate = counted_threshold(np.array([0.5] * 30 + [0.1] * 70), 0.1)
    assert value > 0.5
    assert rate == pytest.approx(1 / 101)


# ------------------------------------------------------------------ the tail


def tail(scores, far, independent, perfect=1.0, people=10**9):
    closest = -np.sort(-scores)[: tail_size(len(scores), people)]
    return tail_threshold(closest, len(scores), far, perfect, independent)


@pytest.mark.parametrize("power", [3, 10])
@pytest.mark.parametrize("people", [8, 30, 200])
def test_a_power_law_is_extrapolated(power, people):
    # Distances to perfect likeness with P(distance < t) = t ** power, as many as the tail is told of.
    rng = np.random.default_rng(power)
    rates = []
    for _ in range(500):
        value = tail(1 - rng.random(20 * people) ** (1 / power), 0.001, people, people=people)
        rates.append((1 - value) ** power)
    assert 0.0001 < np.mean(rates) < 0.0013


@pytest.mark.parametrize("independent", [3.0, 15.0, 1e9])
def test_the_tail_is_its_formula(independent):
    rng = np.random.default_rng(1)
    closest = -np.sort(-rng.random(20))
    distances = 1 - closest
    power = np.mean([math.log(distances[19] / distances[i]) for i in range(19)])
    ratio = (21 / 401) / 0.001
    expected = 1 - distances[19] * math.exp(-power * independent * (ratio ** (1 / independent) - 1))
    assert tail_threshold(closest, 400, 0.001, 1.0, independent) == pytest.approx(expected, abs=1e-6)


def test_fewer_people_need_more():
    scores = np.random.default_rng(0).random(1000)
    values = [tail(scores, 0.001, people) for people in (100, 30, 10, 3)]
    assert values == sorted(values)
    assert len(set(values)) == 4


def test_a_smaller_rate_needs_more_and_never_all():
    scores = np.random.default_rng(0).random(300)
    values = [tail(scores, far, 20.0) for far in (0.05, 0.01, 0.007, 0.0034, 0.0032, 0.001, 1e-5)]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    assert scores.max() < values[-1] < 1
    assert values[-1] < tail(scores, 0.0, 20.0) <= 1


def test_counting_goes_over_into_the_tail():
    scores = np.random.default_rng(3).random(1000)
    closest = -np.sort(-scores)[: tail_size(1000, 1000)]
    edge = (len(closest) + 1) / 1001
    counted, _ = counted_threshold(scores, edge)
    assert counted == closest[-1]
    assert tail_threshold(closest, 1000, edge, 1.0, 10.0) == pytest.approx(counted)


def test_nothing_to_extrapolate_from():
    assert 0.3 < tail(np.array([0.3]), 0.001, 5.0) < 0.3001
    assert tail_threshold(np.empty(0), 0, 0.001, 1.0, 5.0) > 1
    assert 0.3 < tail(np.full(12, 0.3), 0.001, 5.0) <= 1
    assert tail(np.ones(12), 0.001, 5.0) > 1


def test_one_person_under_two_names_is_one_comparison_of_many():
    scores = np.random.default_rng(0).random(400) / 2
    alone, twice = tail(scores, 0.001, 20.0), tail(np.append(scores, [1.0, 1.0000001]), 0.001, 20.0)
    assert alone < twice < 1
