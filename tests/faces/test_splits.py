import dataclasses

import numpy as np
import pytest

from gramian.errors import DataError, ParameterError
from gramian.faces import drawn_faces
from gramian.faces.splits import choose, component_counts, noise_pictures, population, size_text, whole_number

FACES = drawn_faces(4, 5, size=(20, 24), seed=0)


def test_every_person_has_as_many_pictures_enrolled_and_nobody_is_asked_and_enrolled():
    people, notes, usable = population(FACES, 2)
    assert (people.count, notes, usable.all()) == (4, [], True)
    for seed in range(5):
        chosen = choose(people.codes, 2, 1, np.random.default_rng(seed))
        total = chosen.enrolled.astype(int) + chosen.tested + chosen.strangers
        assert (total == 1).all()
        assert sorted(np.bincount(people.codes[chosen.enrolled], minlength=4)) == [0, 2, 2, 2]
        assert len(set(people.codes[chosen.strangers])) == 1
        assert chosen.strangers.sum() == 5


def test_half_is_enrolled_where_nothing_is_said():
    assert population(FACES, None)[0].enrolled == 2


def test_people_with_too_few_pictures_are_left_out_with_a_note():
    faces = FACES.take(np.arange(20) != 0)
    people, notes, usable = population(faces, 4)
    assert people.count == 3
    assert notes == ["1 people with at most 4 pictures are not used."]
    assert usable.sum() == 15


def test_pictures_without_people_or_too_few_of_them_are_refused():
    with pytest.raises(DataError, match="does not say who is on its pictures"):
        population(dataclasses.replace(FACES, people=None), 2)
    with pytest.raises(DataError, match="0 of 4 people have more than 5 pictures"):
        population(FACES, 5)
    with pytest.raises(ParameterError, match="enrolled=0 must be a whole number of at least 1"):
        population(FACES, 0)


def test_numbers_of_components_are_cut_to_what_there_is():
    notes = []
    assert component_counts([50, 3, 400], 20, notes) == [3, 20]
    assert notes == ["50 and 400 components became 20, the most that the enrolled pictures have."]
    with pytest.raises(ParameterError, match="n_components is empty"):
        component_counts([], 20, [])
    with pytest.raises(ParameterError, match=r"n_components=1\.5 must be a whole number"):
        whole_number("n_components", 1.5, 1)


def test_noise_has_the_form_of_the_faces():
    made = noise_pictures(FACES)
    assert made.pictures.dtype == FACES.pictures.dtype
    assert size_text(made) == size_text(FACES) == "20x24"
    # Shuffled pictures have the grey values of a face.
    histograms = {tuple(np.sort(p, axis=None)) for p in FACES.pictures}
    assert all(tuple(np.sort(p, axis=None)) in histograms for p in made.pictures[100:])
    assert np.array_equal(noise_pictures(FACES, 3).pictures, noise_pictures(FACES, 3).pictures)
