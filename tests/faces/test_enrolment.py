"""What may be enrolled, and what is refused before anything is stored."""

import hashlib

import numpy as np
import pytest

from gramian import DataError, InputTypeError
from gramian.faces.gallery.records import Enrolled, as_batch, as_list


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def batch(people=("Anna", "Ben"), vectors=((1, 2), (3, 4)), hashes=None, sources=None, pictures=None):
    hashes = [digest(str(i)) for i in range(len(vectors))] if hashes is None else hashes
    return as_batch(people, vectors, hashes, sources, pictures, 2)


def test_a_batch_is_what_is_stored():
    rows = list(batch(sources=["a/1.png", "b/\udc80.png"], pictures=[b"0", b"1"]))
    expected = [
        ("Anna", np.array([1, 2], "<f4").tobytes(), hashlib.sha256(b"0").digest(), "a/1.png", b"0"),
        ("Ben", np.array([3, 4], "<f4").tobytes(), hashlib.sha256(b"1").digest(), "b/?.png", b"1"),
    ]
    assert rows == expected
    assert [row[3:] for row in batch()] == [("", None)] * 2


def test_vectors_of_any_kind_become_little_endian_floats(array_kind):
    vectors = array_kind.make(np.array([[1.5, -2.0], [0.25, 4.0]]))
    made = batch(vectors=vectors, hashes=[digest("0"), digest("1")]).vectors
    assert made.dtype == np.dtype("<f4")
    np.testing.assert_array_equal(made, [[1.5, -2.0], [0.25, 4.0]])
    big = np.array([[1.5, -2.0], [0.25, 4.0]], dtype=">f8")
    assert batch(vectors=big).vectors.tobytes() == made.tobytes()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"vectors": [[1, 2, 3], [4, 5, 6]]}, r"have shape \(2, 3\); this gallery stores 2 numbers for each"),
        ({"vectors": [1.0, 2.0]}, r"have shape \(2,\)"),
        ({"vectors": [[1, np.nan], [1, 2]]}, "Vector 0 holds NaN, infinity, or a number too large"),
        ({"vectors": [[1, 2], [1e39, 2]]}, "Vector 1 holds NaN, infinity, or a number too large"),
        ({"vectors": [["a", "b"], ["c", "d"]]}, "The vectors are <U1, not real numbers"),
        ({"vectors": [[1j, 2], [3, 4]]}, "The vectors are complex128, not real numbers"),
        ({"vectors": [[1, 2], [3]], "hashes": [digest("0")] * 2}, "The vectors are no array"),
        ({"people": ["Anna"]}, "2 vectors but 1 people. Give one for each vector"),
        ({"hashes": [digest("0")]}, "2 vectors but 1 hashes"),
        ({"sources": ["a", "b", "c"]}, "2 vectors but 3 sources"),
        ({"pictures": []}, "2 vectors but 0 pictures"),
        (
            {"pictures": [b"0", b"2"]},
            "Picture 1 is not the one with that SHA-256. Give pictures in the order",
        ),
        ({"hashes": ["12", "34"]}, "'12' is not a SHA-256 in 64 small hexadecimal digits"),
        ({"hashes": [digest("0").upper()] * 2}, "is not a SHA-256"),
        ({"hashes": [b"1" * 64] * 2}, "is not a SHA-256"),
        ({"people": ["Anna", ""]}, "The name of a person is empty"),
    ],
)
def test_what_does_not_fit_together(given, match):
    with pytest.raises(DataError, match=match):
        batch(**given)


def test_arguments_of_another_kind():
    with pytest.raises(InputTypeError, match=r"people is the text 'Anna'. Give a list with one name"):
        batch(people="Anna")
    with pytest.raises(InputTypeError, match=r"hashes is NoneType\. Give a list with the SHA-256 of each"):
        as_batch(["Anna"], [[1, 2]], None, None, None, 2)
    with pytest.raises(InputTypeError, match=r"hashes is the text '12'"):
        batch(hashes="12")
    with pytest.raises(InputTypeError, match=r"sources is the text 'ab'\. Give a list with the name of each"):
        batch(sources="ab")
    with pytest.raises(InputTypeError, match=r"pictures is int\. Give a list with the bytes"):
        batch(pictures=5)
    with pytest.raises(InputTypeError, match=r"people is NoneType\. Give a list with one name"):
        batch(people=None)
    for name in (None, ["Anna"], 5, b"Anna"):
        with pytest.raises(InputTypeError, match=r"The name of a person is \w+\. Give text"):
            batch(people=["Anna", name])
    with pytest.raises(InputTypeError, match=r"A picture to keep is str. Give the bytes of its file"):
        batch(pictures=["a.png", "b.png"])


def test_nothing_to_enroll_is_an_empty_batch():
    assert list(batch(people=[], vectors=np.empty((0, 2)), hashes=[])) == []


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
    assert [(name, source, picture) for name, _, _, source, picture in made] == [
        ("Anna", "a.png", b"0"),
        ("Ben", "b.png", b"1"),
    ]
    assert as_list("people", np.array(["Anna"])) == ["Anna"]
