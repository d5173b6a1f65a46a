"""Drawn people and things: reproducible, and neither trivial nor impossible to tell apart."""

import hashlib

import numpy as np
import pytest

from gramian import PCA
from gramian.errors import InputTypeError, ParameterError
from gramian.faces.drawing import (
    MOMENT,
    PERSON,
    _as_pixels,
    _bar,
    _Canvas,
    _ellipse,
    draw_face,
    drawn_faces,
    drawn_others,
    looks,
)

PLAIN = looks(PERSON) | looks(MOMENT)


def change(one, other):
    return float(np.abs(one.astype(float) - other).mean())


def drawn(size=(46, 56), **changed):
    return draw_face(PLAIN | changed, size)


# ------------------------------------------------------------------ one face


def test_a_face_has_the_size_and_kind_asked_for():
    picture = drawn((92, 112))
    assert picture.shape == (112, 92)
    assert picture.dtype == np.uint8
    assert 20 < picture.mean() < 235


def test_a_face_under_even_light_is_symmetric():
    inside = drawn(strength=0, brow_tilt=0.1).astype(int)[22:48]
    assert np.abs(inside - inside[:, ::-1]).max() <= 1


def test_everything_that_can_be_chosen_shows():
    for name, (low, high) in (PERSON | MOMENT).items():
        both = [drawn((92, 112), **{name: end}) for end in (low, high)]
        assert change(*both) > 0.02, name


def test_light_from_the_right_lights_the_right():
    picture = drawn(azimuth=50, elevation=0, strength=0.8).astype(float)
    assert picture[20:45, 25:38].mean() > picture[20:45, 8:21].mean() + 30
    assert drawn(exposure=0.5).mean() < 0.6 * drawn(exposure=1.0).mean()


def test_alignment_moves_the_picture():
    still, moved = drawn(strength=0).astype(int), drawn(strength=0, right=4 / 56).astype(int)
    assert change(moved[:, 8:], still[:, 6:-2]) < 1e-9
    assert change(drawn(strength=0, turn=5, scale=1.1), still) > 3


def test_edges_are_smooth():
    canvas = _Canvas((40, 40))
    canvas.tone[:] = 0
    canvas.lay(_ellipse(canvas.x, canvas.y, 0.6, 0.6), 1.0)
    # The area of the disc, which jagged edges would miss by more.
    assert canvas.tone.sum() * canvas.pixel**2 == pytest.approx(np.pi * 0.36, rel=4e-3)
    assert ((canvas.tone > 0.1) & (canvas.tone < 0.9)).any()


def test_distances_to_a_bar():
    x, y = np.array([0.0, 2.0, 2.0, 0.5]), np.array([0.0, 0.0, 3.0, 1.5])
    np.testing.assert_allclose(_bar(x, y, 1.0, 2.0), [-1, 1, np.sqrt(2), -0.5])


def test_noise_only_where_it_is_asked_for():
    tone = np.full((30, 30), 0.5)
    assert set(_as_pixels(tone, None).ravel()) == {128}
    assert 1.7 < _as_pixels(tone, np.random.default_rng(0)).std() < 2.3


# ------------------------------------------------------------------ people and things


def test_people_and_names():
    faces = drawn_faces(3, 2, size=(24, 28), seed=5)
    assert faces.people == ("p01", "p01", "p02", "p02", "p03", "p03")
    assert faces.names[3] == "p02/2.png"
    assert faces.pictures.shape == (6, 28, 24)
    assert faces.hashes[0] == hashlib.sha256(faces.pictures[0].tobytes()).hexdigest()
    assert faces.source == "drawn faces (seed 5)"
    assert drawn_faces(100, 1, size=(8, 8)).people[0] == "p001"


def test_the_same_seed_gives_the_same_pictures_however_many():
    some, more = drawn_faces(2, 2, size=(24, 28)), drawn_faces(4, 3, size=(24, 28))
    np.testing.assert_array_equal(some.pictures, more.pictures[[0, 1, 3, 4]])
    assert (some.pictures != drawn_faces(2, 2, size=(24, 28), seed=1).pictures).any()


def test_people_differ_and_so_do_their_pictures():
    faces = drawn_faces(20, 6, size=(46, 56))
    pictures, people = faces.pictures.reshape(120, -1).astype(float), np.array(faces.people)
    enrolled = np.arange(120) % 6 < 3
    # Nearest neighbours by grey values are often wrong, whitened components mostly right.
    distance = ((pictures[~enrolled][:, None] - pictures[enrolled][None]) ** 2).sum(axis=2)
    plain = np.mean(people[enrolled][distance.argmin(axis=1)] == people[~enrolled])
    pca = PCA(40, whiten=True).fit(pictures[enrolled])
    a, b = (
        z / np.linalg.norm(z, axis=1, keepdims=True)
        for z in map(pca.transform, (pictures[enrolled], pictures[~enrolled]))
    )
    whitened = np.mean(people[enrolled][(b @ a.T).argmax(axis=1)] == people[~enrolled])
    assert 0.5 < plain < 0.9 < whitened


def test_things():
    things = drawn_others(7, size=(24, 28), seed=2)
    assert things.people is None
    assert things.names[:6] == (
        "house1.png",
        "tree2.png",
        "cup3.png",
        "stripes4.png",
        "blobs5.png",
        "house6.png",
    )
    assert len(set(things.hashes)) == 7
    assert all(picture.std() > 2 for picture in things.pictures)


def test_what_cannot_be_drawn():
    for arguments, message in (
        ({"n_people": 0}, "n_people=0 must be a whole number of at least 1"),
        ({"n_pictures": 2.5}, r"n_pictures=2\.5 must be a whole number"),
        ({"size": (4, 50)}, "a side of size=4 must be a whole number from 8 to 4096"),
        ({"size": (50, 10**6)}, "a side of size=1000000 must be"),
        ({"size": (24.0, 28.0)}, r"a side of size=24\.0 must be"),
        ({"seed": -1}, "seed=-1 must be a whole number from 0"),
        ({"seed": "a"}, "seed='a' must be a whole number"),
    ):
        with pytest.raises(ParameterError, match=message):
            drawn_faces(**arguments)
    for size in ("24x28", 24, (24,), None):
        for draw in (drawn_faces, drawn_others):
            with pytest.raises(InputTypeError, match=r"is not two whole numbers\. Give width and height"):
                draw(2, size=size)
