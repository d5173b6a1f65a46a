"""Answers as records and as sentences."""

import pytest

from gramian.errors import DataError, ParameterError
from gramian.faces.recognition import answer, as_face_scores

NAMED = [(0.8, "Ann"), (0.3, "Bob")]


def test_a_person():
    found = answer(NAMED, 0.5, None, None)
    assert (found.kind, found.person, found.runner_up) == ("person", "Ann", "Bob")
    assert (found.score, found.runner_up_score, found.threshold) == (0.8, 0.3, 0.5)
    assert str(found) == "Ann (likeness 0.8, 0.5 is needed; next is Bob with 0.3)"


def test_the_threshold_itself_is_enough():
    assert answer(NAMED, 0.8, None, None).kind == "person"


def test_an_unknown_person_has_a_nearest_one():
    found = answer(NAMED, 0.9, None, None)
    assert (found.kind, found.person, found.score) == ("unknown", None, 0.8)
    assert (found.runner_up, found.runner_up_score) == ("Ann", 0.8)
    assert str(found) == "unknown (likeness 0.8 to the nearest, Ann, 0.9 is needed)"


def test_the_only_person_has_nobody_beside():
    found = answer(NAMED[:1], 0.5, None, None)
    assert (found.runner_up, found.runner_up_score) == (None, None)
    assert str(found) == "Ann (likeness 0.8, 0.5 is needed)"


def test_a_verification_names_nobody_else():
    found = answer(NAMED[:1], 0.9, None, None, asked=True)
    assert (found.kind, found.person, found.runner_up) == ("unknown", None, None)
    assert str(found) == "unknown (likeness 0.8, 0.9 is needed)"


@pytest.mark.parametrize("score", [0.31, float("nan")])
def test_not_a_face_comes_first(score):
    found = answer(NAMED, 0.5, score, 0.3)
    assert (found.kind, found.person, found.face_threshold) == ("not-a-face", None, 0.3)
    assert str(found).startswith("not a face (unlikeness ")


def test_a_face_may_reach_the_threshold():
    assert answer(NAMED, 0.5, 0.3, 0.3).kind == "person"


def test_scores_of_faces():
    assert as_face_scores(None, None, 2) == [None, None]
    assert as_face_scores([1, 2.5], 3.0, 2) == [1.0, 2.5]


def test_scores_without_their_threshold():
    with pytest.raises(ParameterError, match="face_scores were given without face_threshold"):
        as_face_scores([1.0], None, 1)


def test_another_number_of_scores():
    with pytest.raises(DataError, match="2 vectors but face scores of shape"):
        as_face_scores([1.0], 0.5, 2)


@pytest.mark.parametrize(
    ("scores", "threshold", "error", "message"),
    [
        (None, 0.5, ParameterError, "face_threshold was given without face_scores. Give both, or neither"),
        ([0.1], "a", ParameterError, "face_threshold='a' is not a number"),
        ([0.1], float("nan"), ParameterError, "face_threshold=nan is not a number"),
        (["a"], 0.5, DataError, "face_scores are no numbers"),
    ],
)
def test_scores_and_thresholds_that_are_none(scores, threshold, error, message):
    with pytest.raises(error, match=message):
        as_face_scores(scores, threshold, 1)
