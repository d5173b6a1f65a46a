"""A gallery: whole changes, one file, and nothing left of who was forgotten."""

import hashlib
import inspect
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from damaged import reseal
from gramian import PCA
from gramian.core.atomic import locked
from gramian.errors import DataError, FileError, InputTypeError
from gramian.faces import FaceSpace, Recogniser
from gramian.faces.gallery import Enrolled, Gallery, changing
from gramian.models.model_file import read_model

K = 16


class Model:
    fingerprint_ = "ab" * 32
    eigenvalues_ = np.linspace(5, 1, K)


class Other(Model):
    fingerprint_ = "cd" * 32


@pytest.fixture
def gallery():
    return Gallery.create(Model)


@pytest.fixture
def path(tmp_path):
    Gallery.create(Model).save(tmp_path / "people.gallery")
    return tmp_path / "people.gallery"


def pictures_of(person, count=2):
    """Vectors and hashes of pictures, different for every person."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(person.encode()).digest()[:4], "big"))
    hashes = [hashlib.sha256(f"{person} {i}".encode()).hexdigest() for i in range(count)]
    return rng.standard_normal((count, K)).astype("f4"), hashes


def enroll(path, *people):
    with changing(path) as gallery:
        for person in people:
            gallery.enroll(person, *pictures_of(person))


def traces(path, person):
    """Everything of a person that is in the file or beside it."""
    vectors, hashes = pictures_of(person)
    wanted = [person.encode(), *(digest[:32].encode() for digest in hashes)]
    wanted += [part for vector in vectors for part in (vector.tobytes()[:16], vector.tobytes()[-16:])]
    data = b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))
    return [part for part in wanted if part in data]


def test_what_is_enrolled_is_there_when_opened_again(path):
    enroll(path, "Пётр", "Anna")
    again = Gallery.open(path, Model)
    assert again.people == ("Пётр", "Пётр", "Anna", "Anna")
    np.testing.assert_array_equal(again.vectors, np.vstack([pictures_of("Пётр")[0], pictures_of("Anna")[0]]))
    assert (again.fingerprint, len(again)) == ("ab" * 32, 4)
    np.testing.assert_array_equal(again.variances, Model.eigenvalues_)
    assert again.variances.dtype == np.float64
    assert list(again.counts().items()) == [("Anna", 2), ("Пётр", 2)]
    rounded = type("Rounded", (Model,), {"eigenvalues_": np.array([2.5, -1e-17])})
    assert Gallery.create(rounded).variances.tolist() == [2.5, 0]


def test_many_people_at_once_are_listed_by_name_and_number(gallery):
    people = [f"person {i // 3}" for i in range(300)]
    vectors = np.random.default_rng(0).standard_normal((300, K))
    hashes = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(300)]
    enrolled = gallery.enroll(iter(people), vectors, iter(hashes))
    assert enrolled.counts == {f"person {i}": 3 for i in range(100)}
    assert len(gallery) == 300
    assert list(gallery.counts()) == [f"person {i}" for i in range(100)]
    again = gallery.enroll(people[::-1], vectors[::-1], hashes[::-1])
    assert again.known == len(gallery) == 300
    assert str(Enrolled({"Anna": 1}, 0)) == "1 picture of 1 person enrolled"
    assert str(Enrolled({"A": 1000, "B": 0}, 1)) == "1,000 pictures of 2 people enrolled, 1 known already"


def test_the_same_name_in_two_spellings_is_one_person(gallery):
    gallery.enroll("Zoe\u0308", *pictures_of("a"))
    gallery.enroll(" Zo\u00eb", *pictures_of("b"))
    assert gallery.counts() == {"Zo\u00eb": 4}
    assert gallery.forget("Zoe\u0308") == 4


def test_a_picture_is_stored_once_and_shows_one_person_or_nothing_is_stored(gallery):
    gallery.enroll("Anna", *pictures_of("Anna"))
    vectors, hashes = pictures_of("Ben", 3)
    twice = gallery.enroll(["Eve", "Eve"], vectors[:2], ["4" * 64] * 2)
    assert (twice.counts, twice.known) == ({"Eve": 1}, 1)
    for people, given, match in (
        (["Ben", "Eve", "Ben"], [*hashes[:2], pictures_of("Anna")[1][0]], "is already enrolled for Anna"),
        (
            ["Ben", "Ann", "Ben"],
            hashes[:1] * 3,
            r"Picture 1 \(counted from 0\) is already enrolled for Ben, so it cannot be Ann",
        ),
        (["Ben"], hashes, "3 vectors but 1 people"),
        (["Ben"] * 3, hashes[:2], "3 vectors but 2 hashes"),
        (["Ben", "Ben", "\n"], hashes, "has 0 characters"),
    ):
        with pytest.raises(DataError, match=match):
            gallery.enroll(people, vectors, given)
    with pytest.raises(ValueError, match="vectors contains NaN"):
        gallery.enroll("Ben", vectors * [[1], [1], [np.nan]], hashes)
    with pytest.raises(DataError, match="The vectors have 3"):
        gallery.enroll("Ben", vectors[:, :3], hashes)
    with pytest.raises(InputTypeError, match=r"s name must be text, not list\."):
        gallery.enroll([["Anna"]] * 3, vectors, hashes)
    assert gallery.counts() == {"Anna": 2, "Eve": 1}


def test_vectors_of_any_kind_become_floats(array_kind, gallery):
    vectors = np.arange(2.0 * K).reshape(2, K)
    gallery.enroll("Anna", array_kind.make(vectors), ["1" * 64, "2" * 64])
    assert gallery.vectors.dtype == np.float32
    np.testing.assert_array_equal(gallery.vectors, vectors)


def test_a_gallery_belongs_to_a_fitted_model(path):
    with pytest.raises(DataError, match="was made with the model abababababab, but this model is"):
        Gallery.open(path, Other)
    assert Gallery.open(path).fingerprint == Model.fingerprint_
    for use in (lambda model: Gallery.open(path, model), Gallery.create):
        with pytest.raises(NotFittedError, match="This FaceSpace instance is not fitted yet"):
            use(FaceSpace(3))
        with pytest.raises(TypeError, match="is not an estimator instance"):
            use("m.gramian")
    with pytest.raises(InputTypeError, match=r"None is not a path\. Pass a string or a pathlib\.Path\."):
        Gallery.open(None)


def test_nothing_is_left_of_who_was_forgotten(path):
    others = [f"somebody {i}" for i in range(20)]
    enroll(path, *others[:10], "Jane Doe", *others[10:])
    assert traces(path, "Jane Doe")
    with changing(path) as gallery:
        assert gallery.forget("Jane Doe") == 2
    assert traces(path, "Jane Doe") == []
    assert os.listdir(path.parent) == [path.name]
    assert len(Gallery.open(path)) == 40
    assert all(len(traces(path, other)) > 4 for other in others)


def test_everybody_can_be_forgotten(gallery):
    with pytest.raises(DataError, match=r"Anna is not among the 0 people of the gallery\. See who"):
        gallery.person("Anna")
    gallery.enroll("Anna", *pictures_of("Anna"))
    with pytest.raises(DataError, match=r"Ben is not among the 1 person of the gallery\. See who"):
        gallery.forget("Ben")
    with pytest.raises(InputTypeError, match=r"s name must be text, not NoneType\."):
        gallery.forget(None)
    gallery.forget("Anna")
    assert gallery.vectors.shape == (0, K)
    with pytest.raises(DataError, match="Start with: gramian faces enroll MODEL GALLERY PICTURES"):
        gallery.recogniser()
    gallery.enroll("Anna", *pictures_of("Anna"))
    with pytest.raises(DataError, match=r"1 enrolled person cannot show .*\. Enroll at least 5\."):
        gallery.recogniser()


def test_a_recogniser_is_fitted_on_the_vectors(gallery):
    for i in range(12):
        gallery.enroll(f"p{i:02}", *pictures_of(str(i)))
    result = gallery.recogniser(far=0.2)
    expected = Recogniser(far=0.2).fit(gallery.vectors, gallery.people, gallery.variances)
    assert (result.threshold_, result.people_) == (expected.threshold_, expected.people_)
    assert gallery.recogniser().far is None


PAUSED = """
import os, sys, time
from gramian.faces.gallery import changing

def pause(source, target):
    print("now", flush=True)
    time.sleep(60)

os.replace = pause
with changing(sys.argv[1]) as gallery:
    gallery.forget("Jane Doe")
"""


@pytest.mark.walk
def test_a_process_that_is_killed_in_the_middle_leaves_the_gallery_as_it_was(path):
    enroll(path, "Anna", "Jane Doe")
    before = path.read_bytes()
    child = subprocess.Popen([sys.executable, "-c", PAUSED, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "now\n"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert path.read_bytes() == before
    (left,) = (file for file in path.parent.iterdir() if file != path)
    os.utime(left, (0, 0))  # more than a day ago
    with changing(path) as gallery:
        gallery.forget("Jane Doe")
    assert traces(path, "Jane Doe") == []
    assert os.listdir(path.parent) == [path.name]


def enroll_ten(path, who):
    for i in range(10):
        hashes = [f"{who}{4 * i + j:063x}" for j in range(4)]
        with changing(path) as gallery:
            gallery.enroll(f"person {i}", np.full((4, len(gallery.variances)), i, np.float32), hashes)


@pytest.mark.walk
def test_two_processes_enroll_at_the_same_time(path):
    code = "import sys\nimport numpy as np\nfrom gramian.faces.gallery import changing\n"
    code += f"{inspect.getsource(enroll_ten)}\nprint('ready', flush=True)\nenroll_ten(sys.argv[1], 'a')"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    enroll_ten(path, "b")
    child.communicate()
    assert child.returncode == 0
    assert Gallery.open(path).counts() == {f"person {i}": 8 for i in range(10)}


def test_a_change_waits_for_another(path):
    with locked(path.parent):
        thread = threading.Thread(target=enroll, args=(path, "Ben"))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert len(Gallery.open(path)) == 0
    thread.join()
    assert Gallery.open(path).counts() == {"Ben": 2}


def test_a_new_gallery_is_made_for_a_model_if_all_can_be_enrolled(path):
    path.unlink()
    with pytest.raises(FileError, match=r"people\.gallery does not exist\. Check the name"), changing(path):
        pass
    with pytest.raises(DataError, match="has 0 characters"), changing(path, Model) as gallery:
        gallery.enroll("", *pictures_of("Anna"))
    assert os.listdir(path.parent) == []
    with changing(path, Model) as gallery:
        gallery.enroll("Anna", *pictures_of("Anna"))
    with pytest.raises(DataError, match="was made with the model abababababab"), changing(path, Other):
        pass
    assert Gallery.open(path).counts() == {"Anna": 2}


def not_opened(path, match):
    with pytest.raises(FileError, match=match):
        Gallery.open(path)


def test_a_file_is_a_private_model_file_that_nobody_alters(path):
    assert read_model(path).kind == "Gallery"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)
        enroll(path, "Anna")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    data = path.read_bytes()
    for keep in (*range(1, len(data), 97), len(data) - 1):
        path.write_bytes(data[:keep])
        not_opened(path, "is damaged")
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        not_opened(path, "is damaged|has format")


def test_what_is_no_gallery(tmp_path):
    not_opened(tmp_path / "none", "none does not exist")
    not_opened(tmp_path, "is not a file")
    (tmp_path / "text").write_text("a list of people\n" * 100, encoding="utf-8")
    not_opened(tmp_path / "text", "text is of another kind, not a model or gallery saved by gramian")
    PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(tmp_path / "model")
    not_opened(tmp_path / "model", "holds a PCA, not a gallery. Name one written by gramian faces enroll")


def test_a_file_that_was_sealed_with_other_contents(path):
    enroll(path, "Anna")
    stored, whole = read_model(path), path.read_bytes()
    vectors, variances = stored.arrays["vectors"], stored.arrays["variances"]
    for changed in (
        *({"content": {name: None}} for name in stored.content if name != "$"),
        {"content": {"people": ["Anna"]}},
        {"content": {"people": ["Anna", 7]}},
        {"content": {"$": "Moments"}},
        {"content": {"extra": 1}},
        {"content": {"hashes": ["1" * 64]}},
        {"arrays": {"vectors": vectors[:1]}},
        {"arrays": {"vectors": vectors * np.float32(np.nan)}},
        {"arrays": {"vectors": vectors.astype(float)}},
        {"arrays": {"variances": variances[:1]}},
        {"arrays": {"variances": np.array(1.0)}},
    ):
        path.write_bytes(whole)
        content = changed.get("content", {})
        reseal(path, lambda old, content=content: old | content, changed.get("arrays"))
        not_opened(path, "(damaged: its contents are not those|holds a Moments, not a) gallery|of a gallery")


def test_a_change_is_written_as_a_whole_or_not_at_all(path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(FileError, match=r"was not written: No space left on device\. Free some space\."):
            enroll(path, "Anna")
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
