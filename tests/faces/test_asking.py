"""Answers in one step are those of the steps."""

import numpy as np
import pytest

from gramian import DataError
from gramian.errors import InputTypeError
from gramian.faces import FaceSpace, Recogniser, drawn_faces
from gramian.faces.recognition import identify, verify


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


@pytest.mark.parametrize("count", [1, 4, 5, 24])
def test_one_step_is_all_of_them(drawn, space, recogniser, count):
    new = drawn.take(np.arange(72) % 6 >= 4).take(slice(count))
    scores, least = space.face_score(new), space.face_threshold_
    expected = recogniser.identify(space.transform(new), scores, least)
    found = identify(space, recogniser, new)
    assert [answer.person for answer in found] == [answer.person for answer in expected]
    assert [answer.kind for answer in found] == [answer.kind for answer in expected]
    np.testing.assert_allclose([a.score for a in found], [a.score for a in expected], atol=1e-5)
    np.testing.assert_allclose([a.face_score for a in found], scores, rtol=1e-5)
    expected = recogniser.verify(space.transform(new), "p03", scores, least)
    found = verify(space, recogniser, new.pictures, "p03")
    assert [answer.person for answer in found] == [answer.person for answer in expected]
    np.testing.assert_allclose([a.score for a in found], [a.score for a in expected], atol=1e-5)


def test_what_is_no_face_is_nobody(space, recogniser):
    noise = np.random.default_rng(0).integers(0, 256, (2, 28, 24), dtype=np.uint8)
    assert [answer.kind for answer in identify(space, recogniser, noise)] == ["not-a-face"] * 2
    assert [answer.kind for answer in verify(space, recogniser, noise, "p03")] == ["not-a-face"] * 2


def test_what_cannot_be_asked(drawn, space, recogniser):
    with pytest.raises(DataError, match=r"The pictures are 12x14 .* and the model is of pictures 24x28"):
        identify(space, recogniser, drawn.pictures[:, ::2, ::2])
    with pytest.raises(DataError, match="'p99' is not among the 12 people enrolled"):
        verify(space, recogniser, drawn.take([0]), "p99")
    other = FaceSpace(5).fit(drawn)
    with pytest.raises(
        DataError, match="The vectors have 5 components, and those of the people enrolled have 20"
    ):
        identify(other, recogniser, drawn)


def test_what_is_no_model_and_no_recogniser(drawn, space, recogniser):
    for ask in (identify, lambda *given: verify(*given, "p03")):
        with pytest.raises(InputTypeError, match=r"model is str\. Give a FaceSpace"):
            ask("m.gramian", recogniser, drawn)
        with pytest.raises(InputTypeError, match=r"recogniser is NoneType\. Give a Recogniser"):
            ask(space, None, drawn)
