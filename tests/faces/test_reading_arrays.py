"""Pictures of faces from .npz and .npy files."""

import hashlib

import numpy as np
import pytest

from gramian.errors import DataError, FileError, MemoryLimitError
from gramian.faces.reading import read_faces


def some(n=6, height=12, width=10):
    return np.random.default_rng(0).integers(0, 256, (n, height, width), dtype=np.uint8)


def test_arrays_with_people_and_names(tmp_path):
    pictures = some(3)
    np.savez(tmp_path / "f.npz", X=pictures, y=[7, 7, 8], name=["a", "b", "c"])
    faces = read_faces(tmp_path / "f.npz")
    assert (faces.people, faces.names) == (("7", "7", "8"), ("a", "b", "c"))
    assert faces.hashes[0] == hashlib.sha256(pictures[0].tobytes()).hexdigest()
    assert faces.paths is None
    np.save(tmp_path / "f.npy", pictures)
    faces = read_faces(tmp_path / "f.npy", size=(8, 9))
    assert (faces.people, faces.names, faces.pictures.shape) == (None, ("0", "1", "2"), (3, 9, 8))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (list("aab"), r"f\.npz: y has 3 entries for 6 pictures"),
        (["a", "a", "b", "", "c", "c"], r"f\.npz: entry 3 of y \(counted from 0\) is empty"),
        ([1, 1, 2, 2, 3, np.nan], r"f\.npz: y holds 6 float64, and one text or whole number"),
    ],
)
def test_people_that_do_not_fit(y, message, tmp_path):
    np.savez(tmp_path / "f.npz", X=some(), y=y)
    with pytest.raises(DataError, match=message):
        read_faces(tmp_path / "f.npz")


def test_names_that_do_not_fit_are_left_out(tmp_path):
    np.savez(tmp_path / "f.npz", X=some(2), name="the name of the set")
    faces = read_faces(tmp_path / "f.npz")
    assert faces.names == ("0", "1")
    assert faces.notes[0].startswith("pictures are named by their numbers, for ")


def test_names_can_be_printed_and_people_are_one_however_composed(tmp_path):
    np.savez(tmp_path / "f.npz", X=some(2), y=["e\u0301", "\u00e9"], name=["\x1b[2Jq", "b"])
    faces = read_faces(tmp_path / "f.npz")
    assert faces.names == ("\ufffd[2Jq", "b")
    assert faces.people == ("\u00e9", "\u00e9")


def test_a_picture_that_is_not_finite(tmp_path):
    pictures = some().astype(float)
    pictures[4, 0, 0] = np.nan
    np.savez(tmp_path / "f.npz", X=pictures)
    with pytest.raises(DataError, match=r"f\.npz: Picture 4 \(counted from 0\) contains NaN.*Leave it out"):
        read_faces(tmp_path / "f.npz")


@pytest.mark.parametrize("size", [None, (12, 12)])
def test_pictures_in_which_no_face_is_left(size, tmp_path):
    np.save(tmp_path / "f.npy", some(height=4, width=4))
    with pytest.raises(DataError, match=r"f\.npy: each picture is 4x4 pixels: nothing of a face is left"):
        read_faces(tmp_path / "f.npy", size=size)


def test_arrays_that_are_no_pictures(tmp_path):
    np.save(tmp_path / "f.npy", np.eye(3))
    with pytest.raises(DataError, match=r"three axes \(n, height, width\).*shape \(3, 3\)"):
        read_faces(tmp_path / "f.npy")
    (tmp_path / "g.npz").write_bytes(b"text")
    with pytest.raises(FileError, match=r"g\.npz cannot be read: it is truncated, damaged or protected"):
        read_faces(tmp_path / "g.npz")


def test_a_size_that_does_not_fit(tmp_path, monkeypatch):
    np.save(tmp_path / "f.npy", some())
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1MB")
    with pytest.raises(MemoryLimitError, match="6 pictures of 300x300 pixels need"):
        read_faces(tmp_path / "f.npy", size=(300, 300))
