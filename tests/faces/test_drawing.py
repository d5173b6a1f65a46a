"""Drawn people and things: reproducible, and neither trivial nor impossible to tell apart."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from gramian import PCA
from gramian.errors import ParameterError
from gramian.faces.drawing import MOMENT, PERSON, _bar, _Canvas, _ellipse, _face, drawn_faces, drawn_others
from refusals import refused


def face(**changed):
    """Draw a face whose parameters are in the middle of their ranges, but for those given."""
    canvas, ranges = _Canvas((46, 56)), PERSON | MOMENT
    middle = {name: sum(ends) / 2 for name, ends in ranges.items()} | {"light": 0, "exposure": 1}
    _face(canvas, SimpleNamespace(**middle | changed))
    return canvas.tone


# ------------------------------------------------------------------ one face


def test_a_face_under_even_light_is_symmetric():
    np.testing.assert_allclose(face(), face()[:, ::-1], atol=1e-12)


def test_everything_that_can_be_chosen_shows():
    for name, (low, high) in (PERSON | MOMENT).items():
        assert np.abs(face(**{name: low}) - face(**{name: high})).mean() > 1e-4, name


def test_light_from_the_right_lights_the_right():
    picture = face(light=0.5)
    assert picture[20:45, 25:38].mean() > picture[20:45, 8:21].mean() + 0.1
    np.testing.assert_allclose(face(exposure=0.5), 0.5 * face())


def test_alignment_moves_the_picture():
    np.testing.assert_allclose(face(right=4 / 56)[:, 8:], face()[:, 6:-2], atol=1e-12)


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
        "stripes3.png",
        "house4.png",
        "tree5.png",
        "stripes6.png",
    )
    assert len(set(things.hashes)) == 7
    assert all(picture.std() > 2 for picture in things.pictures)


def test_what_cannot_be_drawn():
    for arguments in (
        {"n_people": 0},
        {"n_pictures": 2.5},
        {"size": (4, 50)},
        {"size": (24.0, 28.0)},
        {"seed": -1},
        {"seed": "a"},
    ):
        with refused(ParameterError):
            drawn_faces(**arguments)
