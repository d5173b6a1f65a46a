"""Splits: nothing is on both sides."""

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from gramian.errors import DataError, ParameterError
from gramian.faces import drawn_faces
from gramian.faces.splits import (
    Population,
    component_counts,
    copies_of,
    draw_split,
    noise_pictures,
    population,
)


@pytest.fixture(scope="module")
def faces():
    return drawn_faces(5, 4, size=(20, 24))


def crowd(codes, enrolled, originals=None):
    originals = np.arange(len(codes)) if originals is None else originals
    return Population(tuple(f"p{i}" for i in range(max(codes) + 1)), codes, enrolled, originals)


def test_every_picture_is_on_one_side():
    for leave_out in [0, 2]:
        codes = np.repeat(np.arange(6), [3, 4, 5, 6, 4, 4])
        for seed in range(5):
            chosen = draw_split(crowd(codes, 2), leave_out, np.random.default_rng(seed))
            sides = chosen.enrolled.astype(int) + chosen.tested + chosen.strangers
            assert (sides == 1).all()
            strangers = set(codes[chosen.strangers])
            assert len(strangers) == leave_out
            assert not strangers & (set(codes[chosen.enrolled]) | set(codes[chosen.tested]))
            counts = np.bincount(codes[chosen.enrolled], minlength=6)
            assert set(counts) == ({0, 2} if leave_out else {2})


def test_splits_differ_and_repeat():
    codes = np.repeat(np.arange(6), 6)
    masks = [draw_split(crowd(codes, 3), 0, np.random.default_rng(seed)).enrolled for seed in (0, 0, 1)]
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


def test_a_number_of_pictures_that_is_none(faces):
    for enrolled in [0, -1, 1.5, True]:
        with pytest.raises(ParameterError, match=r"enrolled=.* must be a whole number of at least 1"):
            population(faces, enrolled)


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
        with pytest.raises(ParameterError, match="must be a whole number of at least 1"):
            component_counts(wrong, 9, notes)


def test_noise_has_the_form_of_faces(faces):
    noise = noise_pictures(faces, 3)
    assert noise.pictures.shape == (200, 24, 20)
    assert noise.pictures.dtype == faces.pictures.dtype
    assert noise.size == faces.size == "20x24"
    # Shuffling keeps the grey values of a picture.
    greys = {tuple(np.sort(picture.ravel())) for picture in faces.pictures}
    assert all(tuple(np.sort(picture.ravel())) in greys for picture in noise.pictures[100:])
    assert np.array_equal(noise.pictures, noise_pictures(faces, 3).pictures)


# ------------------------------------------------------------------ copies


def stored(picture, kind, **options):
    """A picture as another file gives it back."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, kind, **options)
    return np.asarray(Image.open(buffer))


def near_copies(picture):
    height, width = picture.shape
    smaller = Image.fromarray(picture).resize((2 * width // 3, 2 * height // 3)).resize((width, height))
    return [
        stored(picture, "PNG"),
        stored(picture, "JPEG", quality=85),
        np.asarray(smaller),
        (0.8 * picture + 20).astype(np.uint8),
    ]


def test_copies_are_found_whatever_file_they_come_from():
    pictures = drawn_faces(8, 4, size=(92, 112)).pictures
    assert copies_of(pictures).tolist() == list(range(32))
    found = copies_of(np.concatenate([pictures, near_copies(pictures[5]), near_copies(pictures[9])]))
    assert found.tolist() == [*range(32), *[5] * 4, *[9] * 4]
    flat = np.full((2, 12, 10), 7, dtype=np.uint16)
    assert copies_of(flat).tolist() == [0, 0]


def test_copies_are_on_one_side_of_every_split(faces):
    with_copies = faces.take([*range(20), 0, 0, 5, 6, 17])
    people, notes, usable = population(with_copies, None)
    assert (people.copies, people.enrolled, notes) == (5, 2, [])
    assert usable.all()
    for seed in range(20):
        split = draw_split(people, 1, np.random.default_rng(seed))
        for side in (split.enrolled, split.tested, split.strangers):
            inside = set(people.originals[side])
            assert not inside & set(people.originals[~side])
        different = np.unique(people.originals[split.enrolled])
        assert np.bincount(people.codes[different], minlength=5).max() == 2


def test_copies_do_not_make_enough_pictures(faces):
    # Two pictures, of which one is there three times, and four others.
    fewer = faces.take([0, 1, 1, 1, *range(4, 20)])
    people, notes, _ = population(fewer, 2)
    assert people.names == ("p02", "p03", "p04", "p05")
    assert notes == ["1 person with at most 2 pictures not used."]
    assert people.originals.tolist() == list(range(16))


def test_a_picture_under_two_names_shows_nobody_knows_whom(faces):
    pictures = faces.pictures.copy()
    pictures[4] = pictures[0]
    people, notes, usable = population(dataclasses.replace(faces, pictures=pictures), 2)
    assert notes == ["2 pictures not used: the same is also filed under another person."]
    assert np.flatnonzero(~usable).tolist() == [0, 4]
    assert people.originals.tolist() == list(range(18))
