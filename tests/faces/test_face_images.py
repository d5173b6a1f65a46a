"""Pictures in memory, of whatever kind they come."""

from pathlib import Path

import numpy as np
import pytest

import gramian
from gramian.errors import DataError, InputTypeError
from gramian.faces.face_images import Faces, as_pictures


def some(n=4):
    pictures = np.random.default_rng(0).integers(0, 256, (n, 9, 8), dtype=np.uint8)
    names = tuple(f"p{i // 2}/{i % 2}.png" for i in range(n))
    return Faces(pictures, tuple(name[:2] for name in names), names, tuple("abcd"[:n]))


def test_some_of_them_and_pictures_without_people():
    for places in [slice(1, 3), [1, 2], np.array([False, True, True, False])]:
        faces = some().take(places)
        np.testing.assert_array_equal(faces.pictures, some().pictures[1:3])
        assert (faces.people, faces.names) == (("p0", "p1"), ("p0/1.png", "p1/0.png"))
        assert faces.hashes == ("b", "c")
        assert len(faces) == 2
    assert repr(some().take([0])) == "Faces(1 picture of 1 person, 8x9, source='memory')"
    faces = Faces(some().pictures, None, some().names, some().hashes)
    assert faces.take([0]).people is None
    assert repr(faces) == "Faces(4 pictures, 8x9, source='memory')"
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        as_pictures([np.zeros((9, 8)), np.zeros((9, 7))])
    for dtype in [object, bool]:
        assert as_pictures(np.ones((2, 9, 8), dtype=dtype)).dtype.kind in "fu"
    for given in [None, "people", b"people", Path("people")]:
        with pytest.raises(InputTypeError, match=r"Pictures of faces are an array \(n, height, width\), not"):
            as_pictures(given)


def test_arrays_files_and_other_libraries(array_kind, tmp_path):
    pictures = some().pictures
    np.save(tmp_path / "a.npy", pictures)
    scan = gramian.scan(tmp_path / "a.npy")
    for given in (some(), pictures, pictures.tolist(), scan, scan.read()):
        np.testing.assert_array_equal(as_pictures(given), pictures)
    np.testing.assert_array_equal(as_pictures(array_kind.make(pictures.astype(float))), pictures)


def test_what_is_no_picture_or_not_finite_is_named():
    for given, message in [
        (5, r"three axes \(n, height, width\)"),
        (np.zeros((9, 8)), r"three axes \(n, height, width\), not the shape \(9, 8\).*picture\[None\]"),
        (np.full((2, 9, 8), np.nan), "contains NaN"),
        (np.full((2, 9, 8), np.inf), "infinity"),
        (np.zeros((2, 9, 8), dtype=complex), "Complex data not supported"),
        (np.full((2, 9, 8), "a"), "Text is not data|could not convert"),
        (np.zeros((0, 9, 8)), r"no pictures: the shape is \(0, 9, 8\)"),
    ]:
        with pytest.raises(DataError, match=message):
            as_pictures(given)
    pictures = np.zeros((70, 9, 8), dtype=np.float32)
    pictures[66, 3, 3] = np.inf
    with pytest.raises(DataError, match=r"Picture 66 \(counted from 0\) contains NaN or infinity\."):
        as_pictures(pictures)
    pictures[66, 3, 4] = np.nan
    with pytest.raises(DataError, match=r"Picture 66 \(counted from 0\) contains NaN or") as result:
        as_pictures(pictures)
    assert "missing" not in str(result.value)
