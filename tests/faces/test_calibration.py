"""Thresholds: the promised rates are kept in simulations."""

import numpy as np
import pytest

from gramian.errors import ParameterError
from gramian.faces import calibration
from gramian.faces.calibration import calibrate, check_far, threshold_at, trials


class Nearest:
    """A gallery by the definition: minus the distance to the nearest picture of each person."""

    def __init__(self, vectors, people):
        self.vectors, self.owners, self.people = vectors, people, np.unique(people)

    def similarity(self, vectors):
        apart = np.linalg.norm(np.asarray(vectors)[:, None] - self.vectors[None], axis=2)
        nearest = [apart[:, self.owners == person].min(axis=1) for person in self.people]
        return -np.array(nearest, dtype=np.float32).T


def some_people(n_people, n_pictures, seed=0, d=3):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), n_pictures)
    return rng.standard_normal((n_people, d))[people] + 0.2 * rng.standard_normal((len(people), d)), people


# ------------------------------------------------------------------ the threshold


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
def test_the_threshold_is_the_literal_one(seed, far):
    rng = np.random.default_rng(seed)
    owners = np.append(np.arange(25), rng.integers(0, 25, 60))
    scores = rng.integers(0, 40, len(owners)) / 40
    expected, rate = literal(scores, owners, far)
    value, promised, observed = threshold_at(scores, far, 1.0, owners)
    assert observed
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
        value, rate, _ = threshold_at(pictures(50).ravel(), far, 99.0, np.repeat(np.arange(50), 4))
        rates.append((pictures(200) >= value).mean())
        promised.append(rate)
    assert max(promised) <= far
    assert np.mean(rates) <= far
    assert np.mean(rates) > far / 3


@pytest.mark.parametrize("power", [3, 10])
def test_a_power_law_is_extrapolated(power):
    # Distances to perfect likeness with P(distance < t) = t ** power.
    rng = np.random.default_rng(power)
    rates = []
    for _ in range(500):
        value, rate, observed = threshold_at(1 - rng.random(200) ** (1 / power), 0.001, 1.0)
        assert not observed
        assert rate == 0.001
        rates.append((1 - value) ** power)
    # The power is known to a fifth or so, and the most alike stranger is one draw.
    assert 0.0003 < np.median(rates) < 0.001
    assert np.mean(rates) == pytest.approx(0.001, rel=0.3)


def test_the_extrapolated_threshold_is_above_all_and_below_perfect():
    scores = np.random.default_rng(0).random(50)
    value, _, _ = threshold_at(scores, 1e-6, 1.0)
    assert scores.max() < value < 1


def test_a_smaller_rate_needs_more():
    scores = np.random.default_rng(0).random(300)
    rates = (0.5, 0.1, 0.01, 0.007, 0.0034, 0.0032, 0.001, 1e-5)
    values = [threshold_at(scores, far, 1.0)[0] for far in rates]
    assert values == sorted(values)
    assert len(set(values)) == len(values)


def test_equal_scores_do_not_let_more_pass():
    scores = np.array([0.5] * 30 + [0.1] * 70)
    value, rate, observed = threshold_at(scores, 0.1, 1.0)
    assert value > 0.5
    assert rate == pytest.approx(1 / 101)
    assert observed


def test_nothing_to_extrapolate_from():
    value, _, observed = threshold_at(np.array([0.3]), 0.001, 1.0)
    assert 0.3 < value < 0.3001
    assert not observed
    value, _, _ = threshold_at(np.array([1.0, 0.2, 0.3]), 0.001, 1.0)
    assert value > 1  # somebody is enrolled under two names


@pytest.mark.parametrize("far", [0, 1, -0.1, "often", None, float("nan")])
def test_a_rate_that_is_none(far):
    with pytest.raises(ParameterError, match="not a share of strangers above 0 and below 1"):
        check_far(far)


# ------------------------------------------------------------------ trials


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
    monkeypatch.setattr(calibration, "MOST", 5)
    vectors, people = some_people(30, 3)
    built = []

    def build(mask):
        built.append(mask)
        return Nearest(vectors[mask], people[mask])

    found = trials(vectors, people, build)
    assert (len(found.strangers), len(found.own), len(built)) == (15, 5, 2)


# ------------------------------------------------------------------ galleries


def calibrated(vectors, people, far, spread=1.0):
    return calibrate(
        vectors,
        people,
        lambda mask: Nearest(vectors[mask], people[mask]),
        far=far,
        perfect=0.0,
        variances=np.full(vectors.shape[1], spread),
    )


def faces_of(centres, rng):
    return centres + 0.2 * rng.standard_normal(centres.shape)


def test_strangers_get_names_as_rarely_as_promised():
    far, named, taken, promised = 0.05, [], [], []
    for seed in range(60):
        vectors, people = some_people(50, 1, seed)
        found = calibrated(vectors, people, far)
        rng = np.random.default_rng(1000 + seed)
        strange = Nearest(vectors, people).similarity(faces_of(rng.standard_normal((100, 3)), rng))
        named.append((strange.max(axis=1) >= found.identify.value).mean())
        taken.append((strange >= found.verify.value).mean())
        promised.append(found.identify.false_accept)
        assert found.verify.value < found.identify.value
    assert max(promised) <= far
    assert np.mean(named) == pytest.approx(far, abs=0.015)
    assert np.mean(taken) == pytest.approx(far, abs=0.015)


def test_own_pictures_are_refused_a_little_more_rarely_than_predicted():
    refused, predicted = [], []
    for seed in range(20):
        vectors, people = some_people(30, 3, seed)
        found = calibrated(vectors, people, 0.05)
        centres, rng = np.random.default_rng(seed).standard_normal((30, 3)), np.random.default_rng(99 + seed)
        own = Nearest(vectors, people).similarity(faces_of(centres, rng))[range(30), range(30)]
        refused.append((own < found.identify.value).mean())
        predicted.append(found.identify.false_reject)
        assert found.notes == ()
    # In the trials each picture is compared with one fewer than a new one is.
    assert np.mean(refused) <= np.mean(predicted) <= np.mean(refused) + 0.15


def test_a_rate_that_few_people_cannot_show():
    found = calibrated(*some_people(8, 3), 0.001)
    assert not found.identify.observed
    assert found.notes[0].startswith("With 8 people who can stand for strangers a rate of 0.001 cannot be")
    assert "Rates from 0.11 on can be counted" in found.notes[0]
    assert found.identify.false_accept <= 0.001


@pytest.mark.parametrize("n_people", [1, 2, 4])
def test_strangers_are_drawn_where_hardly_anybody_is_enrolled(n_people):
    vectors, people = some_people(n_people, 2)
    found = calibrated(vectors, people, 0.01)
    rng = np.random.default_rng(1)
    named = (
        Nearest(vectors, people).similarity(rng.standard_normal((2000, 3))).max(axis=1)
    ) >= found.identify.value
    assert named.mean() <= 0.02
    assert not found.identify.observed
    assert ("1 person" if n_people == 1 else f"{n_people} people") in found.notes[0]
    assert "is a guess" in found.notes[0]


def test_nobody_has_two_pictures():
    found = calibrated(*some_people(8, 1), 0.2)
    assert found.identify.false_reject is None
    assert (found.n_genuine, found.n_impostor) == (0, 8)
    assert "the rate of false rejects is not known" in found.notes[-1]


def test_pictures_that_are_all_equally_far_apart_tell_nothing():
    people = np.repeat(np.arange(8), 2)
    found = calibrated(np.eye(16), people, 0.2)
    assert found.identify.value > 0
    assert found.identify.false_reject == 1
    assert found.notes[0].startswith("All pictures of different people are equally alike")
