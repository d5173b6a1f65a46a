"""Splits: nothing is on both sides."""

import dataclasses

import numpy as np
import pytest

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces import drawn_faces
from gramian.faces.splits import (
    as_faces,
    check_leave_out,
    choose,
    component_counts,
    noise_pictures,
    population,
    size_text,
    whole_number,
)


@pytest.fixture(scope="module")
def faces():
    return drawn_faces(5, 4, size=(20, 24))


@pytest.mark.parametrize("leave_out", [0, 2])
def test_every_picture_is_on_one_side(leave_out):
    codes = np.repeat(np.arange(6), [3, 4, 5, 6, 4, 4])
    for seed in range(5):
        chosen = choose(codes, 2, leave_out, np.random.default_rng(seed))
        sides = chosen.enrolled.astype(int) + chosen.tested + chosen.strangers
        assert (sides == 1).all()
        strangers = set(codes[chosen.strangers])
        assert len(strangers) == leave_out
        assert not strangers & (set(codes[chosen.enrolled]) | set(codes[chosen.tested]))
        counts = np.bincount(codes[chosen.enrolled], minlength=6)
        assert set(counts) == ({0, 2} if leave_out else {2})


def test_splits_differ_and_repeat():
    codes = np.repeat(np.arange(6), 6)
    masks = [choose(codes, 3, 0, np.random.default_rng(seed)).enrolled for seed in (0, 0, 1)]
    assert np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[0], masks[2])


def test_half_of_the_pictures_are_enrolled_by_default(faces):
    people, notes, usable = population(faces, None)
    assert (people.enrolled, people.count, notes) == (2, 5, [])
    assert usable.all()
    assert people.names == ("p01", "p02", "p03", "p04", "p05")
    assert people.codes.tolist() == np.repeat(np.arange(5), 4).tolist()


def test_people_with_too_few_pictures_are_not_used(faces):
    fewer = faces.take(np.arange(2, 20))
    people, notes, usable = population(fewer, 3)
    assert people.names == ("p02", "p03", "p04", "p05")
    assert usable.tolist() == [False] * 2 + [True] * 16
    assert people.codes.max() == 3
    assert notes == ["1 person with at most 3 pictures not used."]


def test_pictures_of_nobody(faces):
    with pytest.raises(DataError, match="does not say who is on its pictures"):
        population(dataclasses.replace(faces, people=None), 2)


def test_too_few_pictures(faces):
    with pytest.raises(DataError, match=r"0 of 5 people have more than 4 pictures.* has is 4"):
        population(faces, 4)


@pytest.mark.parametrize("enrolled", [0, -1, 1.5, True])
def test_a_number_of_pictures_that_is_none(faces, enrolled):
    with pytest.raises(ParameterError, match=r"enrolled=.* must be a whole number of at least 1"):
        population(faces, enrolled)


def test_two_people_stay(faces):
    people, _, _ = population(faces, 2)
    assert check_leave_out(3, people) == 3
    with pytest.raises(ParameterError, match="leave_out=4 of 5 people leaves fewer than 2"):
        check_leave_out(4, people)
    with pytest.raises(ParameterError, match="leave_out=-1"):
        check_leave_out(-1, people)


def test_numbers_of_components():
    notes = []
    assert component_counts([100, 25, 25], 400, notes) == [25, 100]
    assert notes == []
    assert component_counts([100, 300, 25], 99, notes) == [25, 99]
    assert notes == ["100 and 300 components became 99, the most that the enrolled pictures have."]
    with pytest.raises(ParameterError, match="n_components is empty"):
        component_counts([], 5, notes)
    with pytest.raises(ParameterError, match="n_components=0"):
        component_counts([0], 5, notes)
    assert component_counts(7, 9, notes) == [7]
    assert component_counts(np.int64(7), 9, notes) == [7]
    for wrong in ("7", None):
        with pytest.raises(InputTypeError, match="is no number of components"):
            component_counts(wrong, 9, notes)


def test_numbers_have_bounds():
    assert whole_number("splits", np.int64(3), 1, 3) == 3
    with pytest.raises(ParameterError, match=r"splits=4 is too many: at most 3 are possible\. Give fewer"):
        whole_number("splits", 4, 1, 3)


def test_pictures_that_do_not_know_where_they_are_from(faces):
    assert as_faces("others", faces) is faces
    for wrong in (faces.pictures, "people", None):
        with pytest.raises(InputTypeError, match=rf"others is {type(wrong).__name__}. Give Faces"):
            as_faces("others", wrong)


def test_noise_has_the_form_of_faces(faces):
    noise = noise_pictures(faces, 3)
    assert noise.pictures.shape == (200, 24, 20)
    assert noise.pictures.dtype == faces.pictures.dtype
    assert size_text(noise) == size_text(faces) == "20x24"
    # Shuffling keeps the grey values of a picture.
    greys = {tuple(np.sort(picture.ravel())) for picture in faces.pictures}
    assert all(tuple(np.sort(picture.ravel())) in greys for picture in noise.pictures[100:])
    assert np.array_equal(noise.pictures, noise_pictures(faces, 3).pictures)
