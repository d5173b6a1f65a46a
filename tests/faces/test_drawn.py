"""Drawn people and things: reproducible, and neither trivial nor impossible to tell apart."""

import hashlib

import numpy as np
import pytest

from gramian import PCA
from gramian.errors import InputTypeError, ParameterError
from gramian.faces.drawing import drawn_faces, drawn_others


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_people": 0}, "n_people=0 must be a whole number of at least 1"),
        ({"n_pictures": 2.5}, r"n_pictures=2\.5 must be a whole number"),
        ({"size": (4, 50)}, "size=4x50: each must be at least 8 pixels"),
        ({"size": (50, 10**6)}, "size=50x1000000: each must be at least 8 pixels and at most 4,096"),
        ({"seed": -1}, "seed=-1 must be a whole number of at least 0"),
        ({"seed": "a"}, "seed='a' must be a whole number of at least 0"),
    ],
)
def test_what_cannot_be_drawn(arguments, message):
    with pytest.raises(ParameterError, match=message):
        drawn_faces(**arguments)


@pytest.mark.parametrize("size", ["24x28", 24, (24,), (24.0, 28.0), None])
def test_sizes_that_are_none(size):
    for draw in (drawn_faces, drawn_others):
        with pytest.raises(InputTypeError, match=r"is not two whole numbers\. Give width and height"):
            draw(2, size=size)
