"""The files of pictures, opened once more."""

import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gramian import DataError, FileError, ParameterError
from gramian.faces.reading import file_bytes, read_faces, stretched

Image = pytest.importorskip("PIL.Image")

SHAPES = {
    "anna/1.png": (30, 40),
    "anna/two words.png": (300, 400),
    "bén/1.png": (30, 43),
    "bén/2.png": (40, 40),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of folders of pictures, a zip archive of it, and both as working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, (width, height) in SHAPES.items():
        path = Path("people", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (height, width), dtype=np.uint8)).save(path)
    with zipfile.ZipFile("people.zip", "w") as archive:
        for name in SHAPES:
            archive.write(Path("people", name), f"outer/{name}")
    return Path("people")


SOURCES = ["people", "people/", Path("people"), "people.zip", ["people/anna/1.png", "people/bén/2.png"]]


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_bytes_are_those_that_were_read(folder, source):
    faces = read_faces(source, size=(30, 40))
    found = file_bytes(source, faces)
    assert [hashlib.sha256(data).hexdigest() for data in found] == list(faces.hashes)
    assert found[-1] == (folder / "bén" / "2.png").read_bytes()


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_pictures_of_other_proportions(folder, source):
    found = stretched(source, read_faces(source, size=(30, 40)))
    assert [(name.rpartition("/")[2], size) for name, size in found] == [("2.png", (40, 40))]


def test_wide_and_narrow_are_alike(folder):
    def names(size):
        return [name for name, _ in stretched("people", read_faces("people", size=size))]

    assert names((40, 40)) == ["anna/1.png", "anna/two words.png", "bén/1.png"]
    assert names((30, 42)) == ["bén/2.png"]


def test_a_file_that_has_changed(folder):
    faces = read_faces("people", size=(30, 40))
    shutil.copy("people/anna/1.png", "people/bén/1.png")
    with pytest.raises(DataError, match=r"bén/1.png was changed while it was read\. Try again"):
        file_bytes("people", faces)
    (folder / "anna" / "1.png").unlink()
    with pytest.raises(FileError, match=r"anna/1.png cannot be opened: No such file"):
        file_bytes("people", faces)


def test_arrays_have_no_files(folder):
    X = np.random.default_rng(0).integers(0, 255, (4, 12, 10), dtype=np.uint8)
    np.savez("faces.npz", X=X)
    for source in ("faces.npz", "faces.npz::X"):
        faces = read_faces(source, size=(12, 12))
        assert stretched(source, faces) == ()
        with pytest.raises(
            ParameterError, match=r"faces.npz.* is an array of pictures, and only picture files"
        ):
            file_bytes(source, faces)


ODD = ["tab\there", "new\nline", "esc\x1b[31m", "byte\udcff"]


@pytest.mark.skipif(os.name != "posix", reason="names of arbitrary bytes exist on POSIX only")
@pytest.mark.parametrize("inside", ["folder", "zip", "list"])
def test_names_that_cannot_be_printed(inside, tmp_path):
    rng = np.random.default_rng(0)
    names = ODD if inside != "zip" else ODD[:3]
    for name in names:
        path = tmp_path / "people" / name / f"{name}.png"
        try:
            path.parent.mkdir(parents=True)
        except OSError:
            pytest.skip("this file system takes only Unicode names")
        Image.fromarray(rng.integers(0, 255, (40, 40), dtype=np.uint8)).save(path)
    source = tmp_path / "people"
    if inside == "zip":
        with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
            for path in source.rglob("*.png"):
                archive.write(path, path.relative_to(source))
        source = tmp_path / "p.zip"
    if inside == "list":
        source = sorted(source.rglob("*.png"))
    faces = read_faces(source, size=(30, 40))
    assert len(faces) == len(names)
    assert not any(letter in "".join(faces.names) for letter in "\t\n\x1b\udcff")
    assert [hashlib.sha256(data).hexdigest() for data in file_bytes(source, faces)] == list(faces.hashes)
    assert [name for name, _ in stretched(source, faces)] == list(faces.names)
    last = faces.take([len(faces) - 1])
    assert len(file_bytes(source, last)) == 1
