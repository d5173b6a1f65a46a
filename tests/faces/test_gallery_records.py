"""What may be enrolled, described and chosen, and what is refused before anything is stored."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces import FaceSpace
from gramian.faces.gallery import Enrolled, as_batch, check_model, checked, content_of
from gramian.faces.recognition import Recogniser


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def batch(people=("Anna", "Ben"), vectors=((1, 2), (3, 4)), hashes=None, sources=None, pictures=None):
    hashes = [digest(str(i)) for i in range(len(vectors))] if hashes is None else hashes
    return as_batch(people, vectors, hashes, sources, pictures, 2)


def test_a_batch_is_what_is_stored():
    rows = batch(sources=["a/1.png", "b/\udc80.png"], pictures=[b"0", b"1"])
    assert [(row.person, row.digest, row.source, bytes(row.original)) for row in rows] == [
        ("Anna", digest("0"), "a/1.png", b"0"),
        ("Ben", digest("1"), "b/?.png", b"1"),
    ]
    assert [row.vector.tolist() for row in rows] == [[1, 2], [3, 4]]
    assert [(row.source, row.original) for row in batch()] == [("", None)] * 2
    assert list(batch(people=[], vectors=np.empty((0, 2)), hashes=[])) == []


def test_vectors_of_any_kind_become_floats(array_kind):
    vectors = array_kind.make(np.array([[1.5, -2.0], [0.25, 4.0]]))
    made = batch(vectors=vectors, hashes=[digest("0"), digest("1")])
    assert [row.vector.tolist() for row in made] == [[1.5, -2.0], [0.25, 4.0]]
    assert all(row.vector.dtype == np.float32 for row in made)
    big = np.array([[1.5, -2.0], [0.25, 4.0]], dtype=">f8")
    assert [row.vector.tolist() for row in batch(vectors=big)] == [row.vector.tolist() for row in made]


def test_what_does_not_fit_together():
    for given in (
        {"vectors": [[1, 2, 3], [4, 5, 6]]},
        {"people": ["Anna"]},
        {"hashes": [digest("0")]},
        {"sources": ["a", "b", "c"]},
        {"pictures": []},
        {"pictures": [b"0", b"2"]},
        {"hashes": ["12", "34"]},
        {"hashes": [digest("0").upper()] * 2},
        {"hashes": [b"1" * 64] * 2},
        {"people": ["Anna", ""]},
    ):
        with pytest.raises(
            DataError,
            match=(
                r"1111111111111111111111|2 vectors but 0|2 vectors but 1|2 vectors but 3|"
                r"5FECEB66FFC86F38D95278|Picture 1 has another|The vectors have 3|"
                r"\)\. Give at least one|is not a SHA-256 of"
            ),
        ):
            batch(**given)


def test_a_name_of_another_kind():
    with pytest.raises(InputTypeError, match=r"s name must be text, not NoneType\."):
        batch(people=["Anna", None])


def test_what_was_stored_in_words():
    assert str(Enrolled({"Anna": 1}, ())) == "1 picture of 1 person enrolled"
    several = Enrolled({"Anna": 1000, "Ben": 0}, (("Ben", "b.png"),))
    assert str(several) == "1,000 pictures of 2 people enrolled, 1 known already"


def test_what_comes_one_after_the_other_is_taken():
    made = batch(
        people=(name for name in ("Anna", "Ben")),
        hashes=(digest(str(i)) for i in range(2)),
        sources=iter(["a.png", "b.png"]),
        pictures=iter([b"0", b"1"]),
    )
    assert [(row.person, row.source, bytes(row.original)) for row in made] == [
        ("Anna", "a.png", b"0"),
        ("Ben", "b.png", b"1"),
    ]


def model(**changed):
    given = {"fingerprint_": "ab" * 32, "n_components_": np.int64(2), "eigenvalues_": np.array([2.5, 1])}
    return SimpleNamespace(**given | {"shift_covariance_": np.eye(2) / 4} | changed)


def test_a_model_is_described_by_what_its_vectors_depend_on():
    content = content_of(model(), {"distance": "cosine"})
    assert (content.fingerprint, content.variances.tolist()) == ("ab" * 32, [2.5, 1])
    np.testing.assert_array_equal(content.shift_covariance, np.eye(2) / 4)
    assert content.settings == {"distance": "cosine"}
    assert content_of(model(shift_covariance_=None), {}).shift_covariance is None
    rounded = content_of(model(eigenvalues_=np.array([2.5, -1e-17])), {})
    assert rounded.variances.tolist() == [2.5, 0]


def test_what_is_no_fitted_model():
    check_model(model())
    for use in (check_model, lambda model: content_of(model, {})):
        with pytest.raises(NotFittedError, match="This FaceSpace instance is not fitted yet"):
            use(FaceSpace(3))
        for other in (None, "m.gramian"):
            with pytest.raises(TypeError, match="is not an estimator instance"):
                use(other)


def test_settings_are_stored_and_read():
    assert checked({"far": None, "match": None}, 5) == {}
    given = {
        "distance": "mahalanobis",
        "match": "mean",
        "far": 0.5,
        "discriminant": "auto",
        "n_components": 3,
    }
    assert checked(given, 5) == given
    assert vars(Recogniser(**given)) == given
    given = {"far": np.float32(0.25), "n_components": np.int64(3), "discriminant": np.bool_(True)}
    assert repr(checked(given, 3)) == "{'discriminant': True, 'far': 0.25, 'n_components': 3}"
    given = {"far": np.float64(0.25), "match": np.str_("mean")}
    assert repr(checked(given, 3)) == "{'far': 0.25, 'match': 'mean'}"


def test_what_no_recogniser_takes():
    for settings in (
        {"distance": "cosinus"},
        {"match": 1},
        {"far": 2},
        {"far": "0.1"},
        {"far": True},
        {"discriminant": "yes"},
        {"n_components": 0},
        {"n_components": True},
        {"n_components": 4},
    ):
        with pytest.raises(
            ParameterError,
            match=(
                r"far=2 must be a|far=True must be a|is not known\. Allowed:|is not known\. Give|"
                r"match=1 is not known\.|must be a number|n_components=0 must|n_components=4 must|"
                "n_components=True"
            ),
        ):
            checked(settings, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'distanz'"):
        checked({"distanz": "cosine"}, 3)
