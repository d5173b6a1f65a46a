"""Recognising people by vectors of prescribed places."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from drawn import drawn_faces
from gramian.errors import DataError, ParameterError
from gramian.faces import FaceSpace
from gramian.faces.recognition import Recogniser, _answered, identify, verify

K = 12


class World:
    """People at places in a space, and pictures around them."""

    def __init__(self, n_people=15, n_pictures=4, seed=0, noise=0.5):
        self.rng = np.random.default_rng(seed)
        self.scale = np.geomspace(5, 0.5, K)
        self.noise = noise
        self.places = self.rng.standard_normal((n_people, K)) * self.scale
        self.names = np.array([f"p{i:02}" for i in range(n_people)])
        self.people = np.repeat(self.names, n_pictures)
        self.vectors = self.pictures(np.repeat(self.places, n_pictures, axis=0))
        self.variances = self.scale**2

    def pictures(self, places):
        return (places + self.noise * self.rng.standard_normal(places.shape)).astype(np.float32)

    def strangers(self, count):
        return self.pictures(self.rng.standard_normal((count, K)) * self.scale)

    def recogniser(self, **settings):
        return Recogniser(**settings).fit(self.vectors, self.people, self.variances)


@pytest.fixture(scope="module")
def world():
    return World()


def test_everybody_is_known_in_every_way_and_answers_rank_people(world):
    for discriminant in (True, False):
        recogniser = world.recogniser(discriminant=discriminant, far=0.1)
        answers = recogniser.identify(world.pictures(world.places))
        assert np.mean([a.person == name for a, name in zip(answers, world.names, strict=True)]) >= 0.4
        named = [a.kind == "person" for a in recogniser.identify(world.strangers(200))]
        assert np.mean(named) <= 0.25
        assert (recogniser.discriminant_ is None) == (discriminant is False)
    order = np.random.default_rng(1).permutation(len(world.vectors))
    mixed = Recogniser().fit(world.vectors[order], world.people[order], world.variances)
    whole = world.recogniser()
    asked = world.strangers(5)
    assert mixed.people_ == whole.people_ == tuple(world.names)
    np.testing.assert_allclose(mixed.similarity(asked), whole.similarity(asked), atol=1e-4)
    recogniser = world.recogniser()
    asked = world.strangers(6)
    alone = [recogniser.identify(v[None])[0] for v in asked]
    for one, other in zip(alone, recogniser.identify(asked), strict=True):
        assert (one.kind, one.person, one.runner_up) == (other.kind, other.person, other.runner_up)
        assert one.score == pytest.approx(other.score, abs=1e-5)
    recogniser = world.recogniser(far=0.2)
    asked = np.vstack([world.pictures(world.places), world.strangers(10)])
    for row, result in zip(recogniser.similarity(asked), recogniser.identify(asked), strict=True):
        best, second = np.argsort(-row, kind="stable")[:2]
        assert result.score == row[best]
        assert result.threshold == recogniser.threshold_
        if result.kind == "person":
            assert (result.person, result.runner_up) == (recogniser.people_[best], recogniser.people_[second])
            assert result.score >= result.threshold
        else:
            assert (result.person, result.runner_up) == (None, recogniser.people_[best])
            assert result.score < result.threshold
    asked = world.pictures(world.places[:2])
    kinds = [a.kind for a in recogniser.identify(asked, [0.9, 0.1], 0.5)]
    assert kinds == ["not-a-face", "person"]
    assert recogniser.verify(asked[:1], "p00", [0.9], 0.5)[0].kind == "not-a-face"
    recogniser = world.recogniser(far=0.05)
    for scores, threshold in (([1.0], None), (None, 0.5)):
        with pytest.raises(ParameterError, match=r"face_scores and face_threshold belong together\. Give"):
            recogniser.identify(world.vectors[:1], scores, threshold)
    with pytest.raises(ValueError, match=r"zip\(\) argument"):
        recogniser.verify(world.vectors[:2], "p00", [1.0], 0.5)


def test_verification_asks_about_one_person_and_discriminants_every_trial(world):
    recogniser = world.recogniser(far=0.05)
    asked = world.pictures(world.places)
    passed = [
        recogniser.verify(v[None], name)[0].person == name for v, name in zip(asked, world.names, strict=True)
    ]
    assert np.mean(passed) >= 0.85
    others = [a.kind == "person" for a in recogniser.verify(world.strangers(400), "p03")]
    assert np.mean(others) <= 0.15
    # One chance to be taken for somebody is fewer than fifteen.
    assert recogniser.verify_threshold_ < recogniser.threshold_
    assert recogniser.verify(asked, "p00")[0].threshold == recogniser.verify_threshold_
    # On the pictures that discriminants were found from, everybody looks better than new pictures do.
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((60, 40)).astype(np.float32)
    people = np.repeat([f"p{i:02}" for i in range(20)], 3)
    recogniser = Recogniser(far=0.1).fit(vectors, people, np.ones(40))
    # There is nothing to recognise, which only held-out pictures tell.
    assert recogniser.predicted_false_reject_ > 0.6


def test_both_rates_are_as_promised():
    named, refused, predicted = [], [], []
    for seed in range(5):
        world = World(40, 4, seed, noise=1.0)
        recogniser = world.recogniser(far=0.05)
        named += [a.kind == "person" for a in recogniser.identify(world.strangers(200))]
        asked = world.pictures(np.repeat(world.places, 3, axis=0))
        refused += [a.kind != "person" for a in recogniser.identify(asked)]
        predicted.append(recogniser.predicted_false_reject_)
        assert recogniser.predicted_false_accept_ <= 0.05
    assert 0.01 <= np.mean(named) <= 0.05
    assert np.mean(refused) <= np.mean(predicted) <= np.mean(refused) + 0.1


def test_likeness_is_the_formula_and_the_default_rate_the_least(world):
    thresholds = [world.recogniser(far=far).threshold_ for far in (0.07, 0.2, 0.5)]
    assert thresholds == sorted(thresholds, reverse=True)
    assert len(set(thresholds)) == 3
    default, lax = world.recogniser(), world.recogniser(far=0.2)
    assert (default.far, default.far_, default.verify_far_) == (None, 0.07, 0.005)
    assert (lax.far_, lax.verify_far_) == (0.2, 0.2)
    assert default.predicted_false_reject_ > lax.predicted_false_reject_
    assert default.predicted_false_accept_ <= 0.07
    notes = world.recogniser(far=0.001).notes_
    assert len(notes) == 1
    assert "15 people who serve as strangers" in notes[0]
    assert world.recogniser(far=0.1).notes_ == ()
    recogniser = world.recogniser(discriminant=False)
    asked = world.strangers(4)
    for vector, similarities in zip(asked, recogniser.similarity(asked), strict=True):
        for name, result in zip(recogniser.people_, similarities, strict=True):
            own = world.vectors[world.people == name].astype(float)
            expected = max(vector @ v / np.linalg.norm(vector) / np.linalg.norm(v) for v in own)
            assert result == pytest.approx(expected, rel=1e-3, abs=1e-5)
    recogniser = world.recogniser()
    asked = world.strangers(3)
    model = recogniser.discriminant_
    assert isinstance(model, LinearDiscriminantAnalysis)
    a, b = asked @ model.scalings_[:, :14], world.vectors @ model.scalings_[:, :14]
    cosines = (a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    expected = np.array([cosines[:, world.people == name].max(axis=1) for name in recogniser.people_]).T
    np.testing.assert_allclose(recogniser.similarity(asked), expected, atol=1e-4)


def test_one_picture_of_few_people_is_enough_to_be_known():
    world = World(15, 1)
    recogniser = world.recogniser(far=0.1)
    assert recogniser.discriminant_ is None
    assert recogniser.predicted_false_reject_ is None
    assert "0 of 15 people have two pictures" in recogniser.notes_[0]
    likeness = recogniser.similarity(world.pictures(world.places))
    assert np.mean(likeness.argmax(axis=1) == np.arange(15)) >= 0.85
    world = World(15, 3)
    kept = np.ones(45, dtype=bool)
    kept[[1, 2, 4, 5]] = False
    recogniser = Recogniser(far=0.1).fit(world.vectors[kept], world.people[kept], world.variances)
    assert recogniser.discriminant_ is not None
    likeness = recogniser.similarity(world.pictures(world.places))
    assert np.mean(likeness.argmax(axis=1) == np.arange(15)) >= 0.85
    with pytest.raises(DataError, match=r"4 enrolled people cannot show how similar strangers are\. Enroll"):
        World(4, 3).recogniser()


def test_discriminants_need_people_who_change_and_two_names_let_nobody_in():
    assert World(9, 2).recogniser().discriminant_ is None
    assert World(10, 2).recogniser().discriminant_ is not None
    world = World(12, 1)
    twice = np.repeat(world.vectors, 2, axis=0), np.repeat(world.people, 2)
    recogniser = Recogniser(far=0.1).fit(*twice, world.variances)
    assert recogniser.discriminant_ is None
    assert "at least 10 with different ones are needed" in recogniser.notes_[0]
    world = World(12, 3)
    vectors = world.vectors.copy()
    vectors[3] = vectors[0]
    recogniser = Recogniser(far=0.01).fit(vectors, world.people, world.variances)
    assert recogniser.threshold_ > 0.99


def test_constants_and_numbers_as_names_and_what_does_not_fit(world):
    vectors = np.hstack([world.vectors, np.zeros((60, 2), dtype=np.float32)])
    recogniser = Recogniser().fit(vectors, world.people, np.append(world.variances, [0, 0]))
    assert np.isfinite(recogniser.similarity(vectors)).all()
    numbers = np.repeat(np.arange(15), 4)
    assert Recogniser().fit(world.vectors, numbers, world.variances).people_[:2] == ("0", "1")
    one_by_one = (name for name in world.people)
    assert Recogniser().fit(world.vectors, one_by_one, world.variances).people_ == tuple(world.names)
    with pytest.raises(ParameterError, match="far=0 must be a"):
        world.recogniser(far=0)
    for people, variances, match in (
        (["a", "b"], world.variances, r"60 vectors but 2 people\. Give one"),
        ("Ann", world.variances, r"60 vectors but 3 people\. Give one"),
        ([None] * 60, world.variances, r"people\[0\] is None, not a name\. Give"),
        ([b"Ann"] * 60, world.variances, r", not a name\. Give one for each"),
        (["Ann", "  "] * 30, world.variances, r", not a name\. Give one for each"),
        ([1.0, float("nan")] * 30, world.variances, r"people\[1\] is nan, not a name\. Give"),
        (world.people, [1.0, 1.0, 1.0], "3 variances but vectors of 12"),
    ):
        with pytest.raises(DataError, match=match):
            Recogniser().fit(world.vectors, people, variances)
    with pytest.raises(ValueError, match="a minimum of 1 is required"):
        Recogniser().fit(world.vectors[:0], [], world.variances)


def test_tensors_lists_and_nothing_asked(world):
    torch = pytest.importorskip("torch")
    recogniser = Recogniser(far=0.1).fit(
        torch.asarray(world.vectors), list(world.people), list(world.variances)
    )
    expected = world.recogniser(far=0.1).similarity(world.vectors[:2])
    np.testing.assert_allclose(recogniser.similarity(world.vectors[:2].tolist()), expected, atol=1e-5)
    recogniser = world.recogniser()
    assert recogniser.identify(np.empty((0, K))) == []
    with pytest.raises(DataError, match=r"Nobody is enrolled in this recogniser\. Call fit first\."):
        Recogniser().similarity(world.vectors)


NAMED = [(0.8, "Ann"), (0.3, "Bob")]


def answer(ranked, threshold, score, limit, **options):
    scores = None if score is None else [score]
    (result,) = _answered([ranked], threshold, scores, limit, **options)
    return result


def test_thresholds_the_nearest_and_what_is_no_face():
    result = answer(NAMED, 0.5, None, None)
    assert (result.kind, result.person, result.runner_up) == ("person", "Ann", "Bob")
    assert (result.score, result.runner_up_score, result.threshold) == (0.8, 0.3, 0.5)
    assert str(result) == "Ann (similarity 0.8; threshold 0.5; next: Bob, 0.3)"
    assert answer(NAMED, 0.8, None, None).kind == "person"
    result = answer(NAMED, 0.9, None, None)
    assert (result.kind, result.person, result.score) == ("unknown", None, 0.8)
    assert (result.runner_up, result.runner_up_score) == ("Ann", 0.8)
    assert str(result) == "Unknown person (similarity 0.8 to Ann; threshold 0.9)"
    result = answer(NAMED[:1], 0.5, None, None)
    assert (result.runner_up, result.runner_up_score) == (None, None)
    assert str(result) == "Ann (similarity 0.8; threshold 0.5)"
    result = answer(NAMED[:1], 0.9, None, None, claimed=True)
    assert (result.kind, result.person, result.runner_up) == ("unknown", None, None)
    assert str(result) == "Unknown person (similarity 0.8; threshold 0.9)"
    for score in [0.31, float("nan")]:
        result = answer(NAMED, 0.5, score, 0.3)
        assert (result.kind, result.person, result.face_threshold) == ("not-a-face", None, 0.3)
        assert str(result).startswith("Not recognised as a face (distance ")
    assert answer(NAMED, 0.5, 0.3, 0.3).kind == "person"


@pytest.fixture(scope="module")
def drawn():
    return drawn_faces(12, 6, size=(24, 28), seed=1)


@pytest.fixture(scope="module")
def space(drawn):
    return FaceSpace(20).fit(drawn.take(np.arange(72) % 6 < 4))


@pytest.fixture(scope="module")
def recogniser(drawn, space):
    known = drawn.take(np.arange(72) % 6 < 4)
    return Recogniser(far=0.05).fit(space.transform(known), known.people, space.eigenvalues_)


def test_one_step_is_all_of_them(drawn, space, recogniser):
    for count in [1, 4, 5, 24]:
        new = drawn.take(np.arange(72) % 6 >= 4).take(slice(count))
        scores, least = space.face_score(new), space.face_threshold_
        expected = recogniser.identify(space.transform(new), scores, least)
        result = identify(space, recogniser, new)
        assert [answer.person for answer in result] == [answer.person for answer in expected]
        assert [answer.kind for answer in result] == [answer.kind for answer in expected]
        np.testing.assert_allclose([a.score for a in result], [a.score for a in expected], atol=1e-5)
        np.testing.assert_allclose([a.face_score for a in result], scores, rtol=1e-5)
        expected = recogniser.verify(space.transform(new), "p03", scores, least)
        result = verify(space, recogniser, new.pictures, "p03")
        assert [answer.person for answer in result] == [answer.person for answer in expected]
        np.testing.assert_allclose([a.score for a in result], [a.score for a in expected], atol=1e-5)
    with pytest.raises(DataError, match=r"The pictures are 12x14 \(width x height\), but the model"):
        identify(space, recogniser, drawn.pictures[:, ::2, ::2])
    with pytest.raises(DataError, match=r"is not among the 12 people enrolled \(people_\)\."):
        verify(space, recogniser, drawn.take([0]), "p99")
    other = FaceSpace(5).fit(drawn)
    with pytest.raises(DataError, match="The vectors have 5 components, but the enrolled people"):
        identify(other, recogniser, drawn)
