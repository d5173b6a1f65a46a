"""Thresholds: the promised rates are kept in simulations."""

import numpy as np
import pytest

from gramian.errors import ParameterError
from gramian.faces.thresholds import calibrate, check_far
from strangers import Nearest, some_people


@pytest.mark.parametrize("far", [0, 1, -0.1, "often", "0.1", True, None, float("nan")])
def test_a_rate_that_is_none(far):
    with pytest.raises(ParameterError, match="not a share of strangers above 0 and below 1"):
        check_far(far)


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
        assert found.identify.notes == ()
    # In the trials each picture is compared with one fewer than a new one is.
    assert np.mean(refused) <= np.mean(predicted) <= np.mean(refused) + 0.15


def test_a_rate_that_few_people_cannot_show():
    found = calibrated(*some_people(8, 3), 0.001)
    assert not found.identify.observed
    assert found.identify.notes[0].startswith(
        "With 8 people who can stand for strangers a rate of 0.001 cannot be"
    )
    assert "Rates from 0.11 on can be counted" in found.identify.notes[0]
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
    assert ("1 person" if n_people == 1 else f"{n_people} people") in found.identify.notes[0]
    assert "is a guess" in found.identify.notes[0]


def test_nobody_has_two_pictures():
    found = calibrated(*some_people(8, 1), 0.2)
    assert found.identify.false_reject is None
    assert (found.n_genuine, found.n_impostor) == (0, 8)
    assert "the rate of false rejects is not known" in found.identify.notes[-1]


def test_pictures_that_are_all_equally_far_apart_tell_nothing():
    people = np.repeat(np.arange(8), 2)
    found = calibrated(np.eye(16), people, 0.2)
    assert found.identify.value > 0
    assert found.identify.false_reject == 1
    assert found.identify.notes[0].startswith("All pictures of different people are equally alike")


def test_one_to_one_smaller_rates_can_be_counted():
    found = calibrated(*some_people(30, 3), 0.01)
    assert not found.identify.observed
    assert found.verify.observed
    assert "With 30 people who can stand for strangers a rate of 0.01" in found.identify.notes[0]
    assert found.verify.notes == ()
    rarer = calibrated(*some_people(30, 3), 0.0001)
    assert "With 810 couples of a stranger and a person a rate of 0.0001" in rarer.verify.notes[0]
    assert "Rates from 0.0012 on" in rarer.verify.notes[0]
