"""Thresholds by their definition, and the rates that they keep."""

import numpy as np
import pytest

from gramian import PCA
from gramian.errors import DataError
from gramian.faces import Recogniser
from gramian.faces import similarity as module
from gramian.faces.similarity import calibrate, counted_threshold, held_out


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


def test_thresholds_are_the_literal_ones_and_nothing_is_compared_with_itself():
    for seed in range(5):
        for far in [0.05, 0.1, 0.33, 0.9]:
            rng = np.random.default_rng(seed)
            owners = np.append(np.arange(25), rng.integers(0, 25, 60))
            scores = rng.integers(0, 40, len(owners)) / 40
            expected, rate = literal(scores, owners, far)
            value, promised = counted_threshold(scores, far, owners)
            assert promised == pytest.approx(rate)
            assert value == expected or (expected == np.inf and value > scores.max())
    scores = np.random.default_rng(0).random(300)
    assert counted_threshold(scores, 0.0034) is not None
    assert counted_threshold(scores, 0.0033) is None
    assert counted_threshold(np.empty(0), 0.5) is None
    value, rate = counted_threshold(np.array([0.5] * 30 + [0.1] * 70), 0.1)
    assert value > 0.5
    assert rate == pytest.approx(1 / 101)
    for n_people, n_pictures in [(5, 3), (7, 2), (13, 1), (12, 4)]:
        vectors, people = some_people(n_people, n_pictures)
        seen = []

        def build(mask, vectors=vectors, people=people, seen=seen):
            seen.append(mask)
            return Nearest(vectors[mask], people[mask])

        result = held_out(vectors, people, build)
        assert not (result.strangers == 0).any()
        assert not (result.own == 0).any()
        assert len(result.strangers) == len(people)
        assert len(result.own) == (len(people) if n_pictures > 1 else 0)
        left_out = [mask for mask in seen if len(np.unique(people[mask])) < n_people]
        # Everybody is a stranger once, with all pictures.
        assert np.array_equal(sum((~mask).astype(int) for mask in left_out), np.ones(len(people)))
        for mask in left_out:
            assert not set(people[mask]) & set(people[~mask])
    vectors, people = some_people(5, 3)
    result = held_out(vectors, people, lambda mask: Nearest(vectors[mask], people[mask]))
    expected = []
    for i, vector in enumerate(vectors):
        others = [np.linalg.norm(vector - v) for v, p in zip(vectors, people, strict=True) if p != people[i]]
        expected.append(-min(others))
    np.testing.assert_allclose(np.sort(result.strangers), np.sort(expected), rtol=1e-5)
    own = []
    for i, vector in enumerate(vectors):
        same = [np.linalg.norm(vector - vectors[j]) for j in np.flatnonzero(people == people[i]) if j != i]
        own.append(-min(same))
    np.testing.assert_allclose(np.sort(result.own), np.sort(own), rtol=1e-5)
    assert result.share == pytest.approx(4 / 5)


def calibrated(vectors, people, far, spread=1.0):
    variances = np.full(vectors.shape[1], spread)
    return calibrate(
        vectors, people, lambda mask: Nearest(vectors[mask], people[mask]), far=far, variances=variances
    )


def faces_of(centres, rng):
    return centres + 0.2 * rng.standard_normal(centres.shape)


def test_without_a_rate_the_least_that_can_be_counted_holds():
    """Of strangers left out: 1 - (N / (N + 1)) ** (1 / share), as they meet fewer people than there are."""
    for people, expected in [(9, 0.05), (12, 0.086), (30, 0.036), (100, 0.011)]:
        identify, _ = calibrated(*some_people(people, 2), None)
        assert (identify.far, identify.observed) == (expected, people > 9)
    assert calibrated(*some_people(1200, 1), None)[0].far == 0.002
    assert calibrated(*some_people(30, 2), None)[1].far == 0.002
    assert calibrated(*some_people(100, 2), None)[1].far == 0.001
    named, taken, fars = [], [], []
    for seed in range(40):
        vectors, people = some_people(30, 3, seed)
        identify, verify = calibrated(vectors, people, None)
        rng = np.random.default_rng(1000 + seed)
        strange = Nearest(vectors, people).similarity(faces_of(rng.standard_normal((300, 3)), rng))
        named.append((strange.max(axis=1) >= identify.value).mean())
        taken.append((strange >= verify.value).mean())
        fars.append((identify.far, verify.far))
    for rates, (far,) in zip((named, taken), zip(*set(fars), strict=True), strict=True):
        assert np.mean(rates) <= far + 2 * np.std(rates) / np.sqrt(40)
        assert np.mean(rates) > far / 3


def test_strangers_and_own_pictures_are_refused_as_promised():
    refused, predicted = [], []
    for seed in range(20):
        vectors, people = some_people(30, 3, seed)
        identify, verify = calibrated(vectors, people, 0.05)
        centres, rng = np.random.default_rng(seed).standard_normal((30, 3)), np.random.default_rng(99 + seed)
        own = Nearest(vectors, people).similarity(faces_of(centres, rng))[range(30), range(30)]
        refused.append((own < identify.value).mean())
        predicted.append(identify.false_reject)
        assert identify.notes == ()
    # In the trials each picture is compared with one fewer than a new one is.
    assert np.mean(refused) <= np.mean(predicted) <= np.mean(refused) + 0.15
    far, named, taken, promised = 0.05, [], [], []
    for seed in range(60):
        vectors, people = some_people(50, 1, seed)
        identify, verify = calibrated(vectors, people, far)
        rng = np.random.default_rng(1000 + seed)
        strange = Nearest(vectors, people).similarity(faces_of(rng.standard_normal((100, 3)), rng))
        named.append((strange.max(axis=1) >= identify.value).mean())
        taken.append((strange >= verify.value).mean())
        promised.append(identify.false_accept)
        assert verify.value < identify.value
    assert max(promised) <= far
    assert np.mean(named) == pytest.approx(far, abs=0.015)
    assert np.mean(taken) == pytest.approx(far, abs=0.015)


def test_a_model_that_knows_the_strangers_takes_a_margin():
    vectors, people = some_people(30, 3)
    known = vectors - vectors.mean(axis=0)
    assert calibrated(known, people, 0.3)[0].value == pytest.approx(
        calibrated(vectors, people, 0.1)[0].value, rel=0.05
    )
    assert calibrated(known, people, None)[0].far == 0.108
    named = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scale = np.arange(1, 201) ** -0.7
        places = np.repeat(rng.standard_normal((40, 200)), 4, axis=0)
        pictures = scale * (places + 0.6 * rng.standard_normal(places.shape))
        model, people = PCA(40).fit(pictures[:80]), np.repeat(np.arange(20), 4).astype(str)
        recogniser = Recogniser(far=0.05)
        recogniser.fit(model.transform(pictures[:80]), people, model.explained_variance_)
        strange = recogniser.similarity(model.transform(pictures[80:])).max(axis=1)
        named.append((strange >= recogniser.threshold_).mean())
    assert np.mean(named) <= 0.05


def test_smaller_rates_are_counted_one_to_one():
    with pytest.raises(
        DataError, match=r"1 enrolled person cannot show how similar strangers are\. Enroll at"
    ):
        calibrated(*some_people(1, 2), 0.01)
    identify, verify = calibrated(*some_people(30, 3), 0.01)
    assert not identify.observed
    assert verify.observed
    assert (
        "30 people who serve as strangers are too few to count a false accept rate of 0.01"
        in identify.notes[0]
    )
    assert verify.notes == ()
    _, rarer = calibrated(*some_people(30, 3), 0.0001)
    assert (
        "810 pairs of a stranger and a person are too few to count a false accept rate of 0.0001"
        in rarer.notes[0]
    )
    assert "Rates from 0.0012 can be counted" in rarer.notes[0]


def test_what_few_people_and_pictures_cannot_tell_is_said():
    identify, verify = calibrated(*some_people(8, 1), 0.2)
    assert identify.false_reject is None
    assert any("the false reject rate is unknown" in note for note in identify.notes)
    # All pictures of different people are equally similar: nobody is recognised.
    alike, _ = calibrated(np.eye(32), np.repeat(np.arange(16), 2), 0.2)
    assert alike.false_reject == 1
    for n_people, least in [(8, 0.13), (30, 0.036)]:
        vectors, people = some_people(n_people, 3)
        identify, verify = calibrated(vectors, people, 0.001)
        assert not identify.observed
        said = f"{n_people} people who serve as strangers are too few to count a false accept rate of 0.001"
        assert identify.notes[0].startswith(said)
        assert f"Rates from {least} can be counted" in identify.notes[0]
        strangers = held_out(vectors, people, lambda mask: Nearest(vectors[mask], people[mask])).strangers  # noqa: B023
        assert strangers.max() < identify.value < strangers.max() + 1e-9
        if n_people < 10:
            assert identify.false_accept is verify.false_accept is None
            assert "at least 10 are needed" in identify.notes[-1]
        else:
            assert identify.false_accept == pytest.approx(least, abs=1e-3)
    assert calibrated(*some_people(10, 3), 0.2)[0].false_accept <= 0.2


def test_a_large_gallery_is_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST", 5)
    vectors, people = some_people(30, 3)
    built = []

    def build(mask):
        built.append(mask)
        return Nearest(vectors[mask], people[mask])

    result = held_out(vectors, people, build)
    assert (len(result.strangers), len(result.own), len(built)) == (15, 5, 2)


def test_blocks_change_nothing(monkeypatch):
    vectors, people = some_people(12, 4)

    def found():
        return held_out(vectors, people, lambda mask: Nearest(vectors[mask], people[mask]))

    whole = found()
    monkeypatch.setattr(module, "PAIRS", 40)
    parts = found()
    assert parts.n_pairs == whole.n_pairs > 40
    assert len(parts.pairs) < len(whole.pairs)
    for name in ("strangers", "who", "own"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
