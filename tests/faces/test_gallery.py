"""A gallery through its door: whole changes, several at once, and nothing left of who was forgotten."""

import hashlib
import inspect
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gramian.core.atomic import locked
from gramian.errors import DataError, FileError, InputTypeError, ParameterError
from gramian.faces import FaceSpace, Recogniser
from gramian.faces import gallery as module
from gramian.faces.gallery import Gallery, enroll_into

K = 16


class Model:
    fingerprint_ = "ab" * 32
    n_components_ = K
    eigenvalues_ = np.linspace(5, 1, K)
    shift_covariance_ = np.eye(K) / 8


class Other(Model):
    fingerprint_ = "cd" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.gallery"


@pytest.fixture
def gallery(path):
    return Gallery.create(path, Model)


def pictures_of(person, count=2):
    """Vectors, hashes and files of pictures, different for every person."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(person.encode()).digest()[:4], "big"))
    files = [f"a picture of {person}, number {i}: ".encode() + rng.bytes(500) for i in range(count)]
    return rng.standard_normal((count, K)).astype("f4"), [hashlib.sha256(f).hexdigest() for f in files], files


def enroll(gallery, *people, kept=False, count=2):
    for person in people:
        vectors, hashes, files = pictures_of(person, count)
        sources = [f"folder of {person}/{i}.png" for i in range(count)]
        gallery.enroll(person, vectors, hashes, files if kept else None, sources=sources)


def traces(path, person, count=2):
    """Everything of a person that is in the file or beside it."""
    vectors, hashes, files = pictures_of(person, count)
    wanted = [
        person.encode(),
        f"folder of {person}".encode(),
        *(f[:100] for f in files),
        *(f[-100:] for f in files),
    ]
    wanted += [part for v in vectors for part in (v.tobytes()[:16], v.tobytes()[-16:])]
    wanted += [
        part for h in hashes for part in (bytes.fromhex(h)[:16], bytes.fromhex(h)[16:], h[:32].encode())
    ]
    data = b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))
    return [part for part in wanted if part in data]


def test_what_is_enrolled_is_there_when_opened_again_unless_replaced(gallery, path):
    enroll(gallery, "Anna", "Пётр")
    again = Gallery.open(path, Model)
    vectors, people = again.vectors()
    assert people.tolist() == ["Anna", "Anna", "Пётр", "Пётр"]
    np.testing.assert_array_equal(vectors, np.vstack([pictures_of("Anna")[0], pictures_of("Пётр")[0]]))
    assert (again.fingerprint, again.n_components, len(again)) == ("ab" * 32, K, 4)
    np.testing.assert_array_equal(again.variances, Model.eigenvalues_)
    assert again.variances.dtype == np.float64
    assert again.created.endswith("+00:00")
    assert [(p.name, p.pictures, p.kept) for p in again.people()] == [("Anna", 2, 0), ("Пётр", 2, 0)]
    enroll(gallery, "Anna")
    path.unlink()
    with pytest.raises(FileError, match=r"does not exist|cannot be read"):
        gallery.forget("Anna")
    enroll_into(path, Other, ["Ben"], VECTORS[:1], HASHES[:1])
    with pytest.raises(FileError, match=r"was replaced by a gallery of another model\. Open it again"):
        gallery.forget("Ben")


def test_many_people_at_once(gallery):
    people = [f"person {i // 3}" for i in range(300)]
    vectors = np.random.default_rng(0).standard_normal((300, K))
    hashes = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(300)]
    enrolled = gallery.enroll(people, vectors, hashes)
    assert enrolled.counts == {f"person {i}": 3 for i in range(100)}
    assert len(gallery) == 300
    again = gallery.enroll(people[::-1], vectors[::-1], hashes[::-1])
    assert len(again.repeated) == len(gallery) == 300


def test_the_same_name_in_two_spellings_is_one_person(gallery):
    gallery.enroll("Zoe\u0308", *pictures_of("a")[:2])
    gallery.enroll(" Zo\u00eb", *pictures_of("b")[:2])
    assert [(p.name, p.pictures) for p in gallery.people()] == [("Zo\u00eb", 4)]
    assert gallery.forget("Zoe\u0308") == 4


def test_all_or_nothing(gallery, path):
    enroll(gallery, "Anna")
    before = path.read_bytes()
    vectors, hashes, _ = pictures_of("Ben", 3)
    taken = pictures_of("Anna")[1][0]
    with pytest.raises(DataError, match=r"A picture is already enrolled for Anna \(folder of"):
        gallery.enroll(["Ben", "Eve", "Ben"], vectors, [*hashes[:2], taken])
    with pytest.raises(ValueError, match="vectors contains NaN"):
        gallery.enroll("Ben", vectors * [[1], [1], [np.nan]], hashes)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_gallery_belongs_to_a_fitted_model_and_takes_no_other_kinds(gallery, path):
    with pytest.raises(DataError, match="was made with the model abababababab, but this model is"):
        Gallery.open(path, Other)
    assert Gallery.open(path).fingerprint == gallery.fingerprint
    for use in (lambda model: Gallery.open(path, model), lambda model: Gallery.create(f"{path}2", model)):
        with pytest.raises(NotFittedError, match="This FaceSpace instance is not fitted yet"):
            use(FaceSpace(3))
        with pytest.raises(TypeError, match="is not an estimator instance"):
            use("m.gramian")
    assert os.listdir(path.parent) == [path.name]
    vectors, hashes, _ = pictures_of("Anna")
    with pytest.raises(InputTypeError, match=r"s name must be text, not list\."):
        gallery.enroll([["Anna"]] * 2, vectors, hashes)
    with pytest.raises(InputTypeError, match=r"s name must be text, not NoneType\."):
        gallery.forget(None)
    with pytest.raises(InputTypeError, match=r"None is not a path\. Pass a string or a pathlib\.Path\."):
        Gallery.open(None)
    gallery.enroll((name for name in ("Anna", "Ben")), vectors, iter(hashes))
    assert [person.name for person in gallery.people()] == ["Anna", "Ben"]


@pytest.mark.parametrize("kept", [False, True])
def test_nothing_is_left_of_who_was_forgotten(gallery, path, kept):
    others = [f"somebody {i}" for i in range(20)]
    enroll(gallery, *others[:10], "Jane Doe", *others[10:], kept=kept)
    assert traces(path, "Jane Doe")
    assert gallery.forget("Jane Doe") == 2
    assert traces(path, "Jane Doe") == []
    assert os.listdir(path.parent) == [path.name]
    assert len(gallery) == 40
    assert all(len(traces(path, other)) > 4 for other in others)
    assert traces(path, "Jane Doe") == []


def test_pictures_are_kept_when_asked_and_everybody_can_be_forgotten(gallery, path):
    enroll(gallery, "Anna", "Ben")
    gallery.forget("Anna")
    gallery.forget("Ben")
    assert gallery.people() == ()
    assert gallery.vectors()[0].shape == (0, K)
    with pytest.raises(DataError, match="Start with: gramian faces enroll MODEL GALLERY PICTURES"):
        gallery.recogniser()
    enroll(gallery, "Anna")
    assert len(gallery) == 2
    enroll(gallery, "Anna")
    enroll(gallery, "Ben", kept=True)
    files = pictures_of("Ben")[2]
    assert gallery.originals("Anna") == ()
    assert gallery.originals("Ben") == tuple((f"folder of Ben/{i}.png", files[i]) for i in range(2))
    assert files[0] in path.read_bytes()
    assert b"a picture of Anna" not in path.read_bytes()


PAUSED = """
import os, sys, time
from gramian.faces.gallery import Gallery

def pause(source, target):
    print("now", flush=True)
    time.sleep(60)

gallery = Gallery.open(sys.argv[1])
os.replace = pause
gallery.forget("Jane Doe")
"""


@pytest.mark.walk
def test_a_process_that_is_killed_in_the_middle_leaves_the_gallery_as_it_was(gallery, path):
    enroll(gallery, "Anna", "Jane Doe")
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
    assert gallery.forget("Jane Doe") == 2
    assert traces(path, "Jane Doe") == []
    assert os.listdir(path.parent) == [path.name]


def enroll_ten(path, who):
    gallery = Gallery.open(path)
    for i in range(10):
        vectors = np.full((4, gallery.n_components), i, dtype=np.float32)
        hashes = [f"{who}{4 * i + j:063x}" for j in range(4)]
        gallery.enroll(f"person {i}", vectors, hashes)
        assert len(gallery.vectors()[0]) >= 4 * (i + 1)


@pytest.mark.walk
def test_two_processes_enroll_at_the_same_time(gallery, path):
    code = "import sys\nimport numpy as np\nfrom gramian.faces.gallery import Gallery\n"
    code += f"{inspect.getsource(enroll_ten)}\nprint('ready', flush=True)\nenroll_ten(sys.argv[1], 'a')"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    enroll_ten(path, "b")
    child.communicate()
    assert child.returncode == 0
    again = Gallery.open(path)
    assert [(p.name, p.pictures) for p in again.people()] == [(f"person {i}", 8) for i in range(10)]


def test_a_change_waits_for_another(gallery, path):
    other = Gallery.open(path)
    with locked(path.parent):
        thread = threading.Thread(target=enroll, args=(other, "Ben"))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert len(Gallery.open(path)) == 0
    thread.join()
    assert [person.name for person in Gallery.open(path).people()] == ["Ben"]


class Recorded(Recogniser):
    """In place of a recogniser: remembers what it was made and fitted with."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.settings = settings

    def fit(self, *given):
        self.fitted = given
        return self


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(module, "Recogniser", Recorded)


def test_a_recogniser_is_fitted_on_the_vectors_and_kept_until_something_changes(gallery, recorded, path):
    enroll(gallery, "Anna", "Ben")
    vectors, people, variances, shifts = gallery.recogniser().fitted
    np.testing.assert_array_equal(vectors, gallery.vectors()[0])
    assert people.tolist() == ["Anna", "Anna", "Ben", "Ben"]
    np.testing.assert_array_equal(variances, Model.eigenvalues_)
    np.testing.assert_array_equal(shifts, Model.shift_covariance_)
    enroll(gallery, "Anna", "Ben")
    first = gallery.recogniser()
    assert gallery.recogniser() is first
    assert gallery.recogniser(far=0.1) is not first
    first = gallery.recogniser()
    enroll(gallery, "Eve")
    second = gallery.recogniser()
    assert second is not first
    gallery.forget("Anna")
    third = gallery.recogniser()
    assert third is not second
    assert third.fitted[1].tolist() == ["Ben", "Ben", "Eve", "Eve"]
    gallery.configure(far=0.01)
    assert gallery.recogniser().settings == {"far": 0.01}


def test_settings_are_stored_and_may_be_overruled(path, recorded):
    gallery = Gallery.create(path, Model, far=0.01, match=None)
    enroll(gallery, "Anna")
    assert gallery.settings == {"far": 0.01}
    gallery.configure(distance="cosine", discriminant=False)
    gallery = Gallery.open(path)
    assert gallery.settings == {"distance": "cosine", "discriminant": False, "far": 0.01}
    made = gallery.recogniser(far=None, distance="euclidean")
    assert made.settings == {"distance": "euclidean", "discriminant": False, "far": 0.01}
    gallery.configure(far=None)
    assert gallery.settings == {"distance": "cosine", "discriminant": False}
    with pytest.raises(TypeError, match="unexpected keyword argument 'fars'"):
        gallery.configure(fars=0.1)
    gallery.configure(far=np.float32(0.25), n_components=np.int64(3), discriminant=np.bool_(True))
    assert gallery.settings == {"distance": "cosine", "discriminant": True, "far": 0.25, "n_components": 3}
    with pytest.raises(ParameterError, match=r"n_components=17 must be a whole number from 1 to 16\."):
        gallery.configure(n_components=17)
    with pytest.raises(TypeError, match="unexpected keyword argument 'matching'"):
        Gallery.create(path.with_name("new"), Model, matching="mean")
    assert os.listdir(path.parent) == [path.name]


HASHES = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(4)]
VECTORS = np.arange(4.0 * K).reshape(4, K)


def names(path):
    gallery = Gallery.open(path, Model)
    return gallery.vectors()[1].tolist()


def test_a_new_gallery_and_one_that_is_there(path):
    first = enroll_into(
        path, Model, iter(["Anna", "Ben"]), VECTORS[:2], iter(HASHES[:2]), [b"0", b"1"], sources=iter("12")
    )
    assert first.counts == {"Anna": 1, "Ben": 1}
    second = enroll_into(path, Model, iter(["Ben", "Eve"]), VECTORS[1:3], iter(HASHES[1:3]))
    assert second.counts == {"Ben": 0, "Eve": 1}
    assert names(path) == ["Anna", "Ben", "Eve"]
    gallery = Gallery.open(path)
    assert gallery.originals("Ben") == (("2", b"1"),)
    assert gallery.settings == {}
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_enrolled_makes_no_gallery_and_changes_none(path):
    for people, vectors, match in (
        (["Anna", "Ben"], VECTORS[:2], "is already enrolled for Anna"),
        (["Anna", "\n"], VECTORS[:2], "A person's name is empty"),
        (["Anna", "Anna"], VECTORS[:2] * np.nan, "contains NaN"),
    ):
        with pytest.raises(ValueError, match=match):
            enroll_into(path, Model, people, vectors, HASHES[:1] * 2)
        assert os.listdir(path.parent) == []
    enroll_into(path, Other, ["Anna"], VECTORS[:1], HASHES[:1])
    before = path.read_bytes()
    with pytest.raises(DataError, match="was made with the model cdcdcdcdcdcd, but this model is"):
        enroll_into(path, Model, ["Ben"], VECTORS[:1], HASHES[1:2])
    assert path.read_bytes() == before
