"""What is stored, found, listed and removed."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.faces import gallery as module
from gramian.faces.gallery import Gallery, read_content

MODEL = SimpleNamespace(fingerprint_="ab", eigenvalues_=np.ones(2), shift_covariance_=None)


@pytest.fixture
def gallery(tmp_path):
    return Gallery.create(tmp_path / "g", MODEL)


def digest(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def add(gallery, people, numbers, *, kept=False, sources=None):
    vectors = [[number, -number] for number in numbers]
    pictures = [str(number).encode() for number in numbers] if kept else None
    return gallery.enroll(people, vectors, [digest(number) for number in numbers], pictures, sources=sources)


def rows(gallery):
    return read_content(gallery.path).pictures


def test_a_picture_is_stored_once(gallery):
    add(gallery, ["Anna"], [1], sources=["first.png"])
    enrolled = add(gallery, ["Anna", "Anna", "Ben"], [1, 2, 3], sources=["again.png", "2.png", "3.png"])
    assert enrolled.counts == {"Anna": 1, "Ben": 1}
    assert enrolled.repeated == (("Anna", "again.png"),)
    assert [row.source for row in rows(gallery)] == ["first.png", "2.png", "3.png"]
    assert add(gallery, ["Eve", "Eve"], [4, 4]).repeated == (("Eve", ""),)


def test_a_picture_shows_one_person(gallery):
    add(gallery, ["Anna"], [1], sources=["a/1.png"])
    with pytest.raises(DataError, match=r"b/1\.png is already enrolled for Anna \(a/1\.png\), so it"):
        add(gallery, ["Ben"], [1], sources=["b/1.png"])
    with pytest.raises(DataError, match=r"A picture is already enrolled for Anna \(a/1\.png\), so it"):
        add(gallery, ["Ben"], [1])
    with pytest.raises(DataError, match="A picture is already enrolled for Eve, so it cannot be"):
        add(gallery, ["Eve", "Ann"], [7, 7])


def test_a_picture_that_is_known_can_be_kept_later(gallery):
    add(gallery, ["Anna"], [1], sources=["1.png"])
    assert gallery.originals("Anna") == ()
    assert add(gallery, ["Anna", "Anna"], [1, 2], kept=True, sources=["x", "2.png"]).counts == {"Anna": 1}
    assert gallery.originals("Anna") == (("1.png", b"1"), ("2.png", b"2"))


def test_people_are_listed_by_name_and_number(gallery, monkeypatch):
    add(gallery, ["s10", "s2"], [1, 2])
    with monkeypatch.context() as patched:
        patched.setattr(module, "now", lambda: "2020-01-01T00:00:00+00:00")
        add(gallery, ["s2"], [3])
    add(gallery, ["s1"], [4], kept=True)
    people = gallery.people()
    assert [person.name for person in people] == ["s1", "s2", "s10"]
    assert [(person.pictures, person.kept) for person in people] == [(1, 1), (2, 0), (1, 0)]
    assert people[1].first == "2020-01-01T00:00:00+00:00"
    assert people[1].last > people[1].first


def test_somebody_who_is_not_there(gallery):
    with pytest.raises(DataError, match=r"Anna is not among the 0 people of the gallery\. See who"):
        gallery.person("Anna")
    add(gallery, ["Anna Maria", "Ben", "Anna Marta"], [1, 2, 3])
    with pytest.raises(DataError, match=r"anna mari is not among the 3 people of the gallery\. Did"):
        gallery.person("anna mari")
    with pytest.raises(DataError, match=r"BEN is not among the 3 people of the gallery\. Did you"):
        gallery.forget("BEN")
    with pytest.raises(DataError, match=r"Zwingli is not among the 3 people of the gallery\. See who"):
        gallery.originals("Zwingli")
