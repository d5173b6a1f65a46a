"""A gallery that is made by enrolling: with everybody in it, or not at all."""

import hashlib
import os

import numpy as np
import pytest

from gramian import DataError, FileError, InputTypeError
from gramian.faces.gallery import Gallery
from gramian.faces.gallery import gallery as enrolling
from gramian.faces.gallery.gallery import enroll_into

HASHES = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(4)]
VECTORS = np.arange(8.0).reshape(4, 2)


class Model:
    fingerprint_ = "ab" * 32
    n_components_ = 2
    eigenvalues_ = np.array([2.0, 1.0])
    shift_covariance_ = None


class Other(Model):
    fingerprint_ = "cd" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.gallery"


def names(path):
    with Gallery.open(path, Model) as gallery:
        return gallery.vectors()[1].tolist()


def test_a_new_gallery_and_one_that_is_there(path):
    first = enroll_into(
        path, Model, ["Anna", "Ben"], VECTORS[:2], HASHES[:2], [b"0", b"1"], sources=["1", "2"]
    )
    assert first.counts == {"Anna": 1, "Ben": 1}
    second = enroll_into(path, Model, ["Ben", "Eve"], VECTORS[1:3], HASHES[1:3])
    assert second.counts == {"Ben": 0, "Eve": 1}
    assert names(path) == ["Anna", "Ben", "Eve"]
    with Gallery.open(path) as gallery:
        assert gallery.originals("Ben") == (("2", b"1"),)
        assert gallery.settings == {}
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_enrolled_makes_no_gallery(path):
    for people, vectors, match in (
        (["Anna", "Ben"], VECTORS[:2], "is enrolled for Anna already"),
        (["Anna", "\n"], VECTORS[:2], "The name of a person is empty"),
        (["Anna", "Anna"], VECTORS[:2] * np.nan, "holds NaN"),
    ):
        with pytest.raises(DataError, match=match):
            enroll_into(path, Model, people, vectors, HASHES[:1] * 2)
        assert os.listdir(path.parent) == []
    with pytest.raises(FileError, match="there is no folder"):
        enroll_into(path / "deeper", Model, ["Anna"], VECTORS[:1], HASHES[:1])


def test_a_gallery_of_another_model_is_left_as_it_is(path):
    enroll_into(path, Other, ["Anna"], VECTORS[:1], HASHES[:1])
    before = path.read_bytes()
    with pytest.raises(DataError, match="was made with the model cdcdcdcdcdcd"):
        enroll_into(path, Model, ["Ben"], VECTORS[:1], HASHES[1:2])
    assert path.read_bytes() == before


def test_two_that_make_the_same_gallery(path, monkeypatch):
    make = enrolling.create_file

    def late(*arguments):
        with monkeypatch.context() as restored:
            restored.setattr(enrolling, "create_file", make)
            enroll_into(path, Model, ["Anna"], VECTORS[:1], HASHES[:1])
        return make(*arguments)

    monkeypatch.setattr(enrolling, "create_file", late)
    assert enroll_into(path, Model, ["Ben"], VECTORS[1:2], HASHES[1:2]).counts == {"Ben": 1}
    assert names(path) == ["Anna", "Ben"]


def test_what_comes_one_after_the_other_is_taken(path):
    def once(things):
        return (thing for thing in things)

    for places, counts in ((slice(0, 2), {"Anna": 1, "Ben": 1}), (slice(2, 4), {"Anna": 1, "Ben": 1})):
        enrolled = enroll_into(
            path, Model, once(["Anna", "Ben"]), VECTORS[places], once(HASHES[places]), sources=once("ab")
        )
        assert enrolled.counts == counts


def test_a_link_that_leads_nowhere(path):
    path.symlink_to("nothing")
    with pytest.raises(FileError, match="is a link to nothing, which does not exist"):
        enroll_into(path, Model, ["Anna"], VECTORS[:1], HASHES[:1])
    assert os.listdir(path.parent) == [path.name]


def test_what_is_no_fitted_model(path):
    with pytest.raises(InputTypeError, match=r"The model is NoneType\. Give a fitted FaceSpace"):
        enroll_into(path, None, ["Anna"], VECTORS[:1], HASHES[:1])
