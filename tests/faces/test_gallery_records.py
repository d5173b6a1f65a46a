"""What may be enrolled, described and chosen, and what is refused before anything is stored."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.faces.gallery import Enrolled, as_batch, content_of


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def batch(people=("Anna", "Ben"), vectors=((1, 2), (3, 4)), hashes=None, sources=None, pictures=None):
    hashes = [digest(str(i)) for i in range(len(vectors))] if hashes is None else hashes
    return as_batch(people, vectors, hashes, sources, pictures, 2)


def test_a_batch_is_what_is_stored_if_it_fits_together():
    rows = batch(sources=["a/1.png", "b/\udc80.png"], pictures=[b"0", b"1"])
    assert [(row.person, row.digest, row.source, bytes(row.original)) for row in rows] == [
        ("Anna", digest("0"), "a/1.png", b"0"),
        ("Ben", digest("1"), "b/?.png", b"1"),
    ]
    assert [row.vector.tolist() for row in rows] == [[1, 2], [3, 4]]
    assert [(row.source, row.original) for row in batch()] == [("", None)] * 2
    assert list(batch(people=[], vectors=np.empty((0, 2)), hashes=[])) == []
    assert str(Enrolled({"Anna": 1}, ())) == "1 picture of 1 person enrolled"
    several = Enrolled({"Anna": 1000, "Ben": 0}, (("Ben", "b.png"),))
    assert str(several) == "1,000 pictures of 2 people enrolled, 1 known already"
    for given, match in (
        ({"vectors": [[1, 2, 3], [4, 5, 6]]}, "The vectors have 3"),
        ({"people": ["Anna"]}, "2 vectors but 1"),
        ({"hashes": [digest("0")]}, "2 vectors but 1"),
        ({"sources": ["a", "b", "c"]}, "2 vectors but 3"),
        ({"pictures": []}, "2 vectors but 0"),
        ({"pictures": [b"0", b"2"]}, "Picture 1 has another"),
        ({"hashes": ["12", "34"]}, "is not a SHA-256 of"),
        ({"hashes": [digest("0").upper()] * 2}, "5FECEB66FFC86F38D95278"),
        ({"hashes": [b"1" * 64] * 2}, "1111111111111111111111"),
        ({"people": ["Anna", ""]}, r"\)\. Give at least one"),
    ):
        with pytest.raises(DataError, match=match):
            batch(**given)


def test_vectors_of_any_kind_become_floats(array_kind):
    vectors = array_kind.make(np.array([[1.5, -2.0], [0.25, 4.0]]))
    made = batch(vectors=vectors, hashes=[digest("0"), digest("1")])
    assert [row.vector.tolist() for row in made] == [[1.5, -2.0], [0.25, 4.0]]
    assert all(row.vector.dtype == np.float32 for row in made)
    big = np.array([[1.5, -2.0], [0.25, 4.0]], dtype=">f8")
    assert [row.vector.tolist() for row in batch(vectors=big)] == [row.vector.tolist() for row in made]


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
