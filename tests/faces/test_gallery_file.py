"""The file of a gallery: made whole, opened only if it is one, and every refusal in plain words."""

import os
import stat
from types import SimpleNamespace

import numpy as np
import pytest

from damaged import reseal
from gramian import PCA
from gramian.errors import FileError, InputTypeError
from gramian.faces import gallery as module
from gramian.faces.gallery import Gallery, content_of, create_file
from gramian.models.model_file import read_model

posix_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may read and write everywhere"
)
CONTENT = content_of(
    SimpleNamespace(fingerprint_="ab" * 32, eigenvalues_=np.array([2.0, 1.0]), shift_covariance_=np.eye(2)),
    {},
)
ANNA = ["Anna", [[1, 2], [3, 4]], ["1" * 64, "2" * 64]]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, CONTENT)
    return path


def not_opened(path, match, **options):
    with pytest.raises(FileError, match=match):
        Gallery(path, **options)


def test_a_new_file_is_a_private_model_file_that_nobody_alters(path):
    gallery = Gallery(path)
    assert (gallery.fingerprint, gallery.created) == (CONTENT.fingerprint, CONTENT.created)
    assert gallery.variances.tolist() == [2.0, 1.0]
    assert gallery.shift_covariance.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert gallery.shift_covariance.dtype == np.float64
    assert read_model(path).kind == "GalleryFile"
    assert os.listdir(path.parent) == [path.name]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    data = path.read_bytes()
    for keep in (*range(1, len(data), 97), len(data) - 1):
        path.write_bytes(data[:keep])
        not_opened(path, "is damaged")
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        not_opened(path, "is damaged|has format")


def test_what_is_no_gallery(tmp_path, path):
    not_opened(tmp_path / "none", "none does not exist. Check the name, or enroll somebody")
    not_opened(tmp_path / ("x" * 300), "does not exist")
    not_opened(tmp_path, "is a folder or a device. Name the file of the gallery")
    (tmp_path / "empty").touch()
    not_opened(tmp_path / "empty", "empty is empty, not a model or gallery")
    (tmp_path / "text").write_text("a list of people\n" * 100, encoding="utf-8")
    not_opened(tmp_path / "text", "text is of another kind, not a model or gallery saved by gramian")
    PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(tmp_path / "model")
    not_opened(
        tmp_path / "model", "model holds a PCA, not a gallery. Name one written by gramian faces enroll"
    )
    (tmp_path / "link").symlink_to(path.name)
    Gallery(tmp_path / "link")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        not_opened(tmp_path / "pipe", "pipe is a folder or a device")
    with pytest.raises(InputTypeError, match=r"None is not a path\. Pass a string or a pathlib\.Path\."):
        Gallery(None)


def test_a_file_that_was_sealed_with_other_contents(path):
    gallery = Gallery(path)
    gallery.enroll(*ANNA)
    stored, whole = read_model(path), path.read_bytes()
    arrays, vectors = stored.arrays, stored.arrays["vectors"]
    nothing = [{"content": {name: None}} for name in stored.content if name not in ("$", "shift_covariance")]
    for changed in (
        *nothing,
        {"content": {"people": ["Anna"]}},
        {"content": {"people": ["Anna", 7]}},
        {"content": {"settings": {"distance": "cosinus"}}},
        {"content": {"settings": {"unknown": 1}}},
        {"content": {"settings": [1]}},
        {"content": {"$": "Moments"}},
        {"content": {"extra": 1}},
        {"arrays": {"vectors": vectors[:1]}},
        {"arrays": {"vectors": vectors * np.float32(np.nan)}},
        {"arrays": {"vectors": vectors.astype(float)}},
        {"arrays": {"shift_covariance": arrays["shift_covariance"][:1]}},
        {"arrays": {"variances": arrays["variances"][:1]}},
        {"arrays": {"variances": np.array(1.0)}},
        {"content": {"hashes": ["1" * 64]}},
        {"content": {"originals": [None, "text"]}},
    ):
        path.write_bytes(whole)
        content = changed.get("content", {})
        reseal(path, lambda old, content=content: old | content, changed.get("arrays"))
        not_opened(path, "(damaged: its contents are not those|holds a Moments, not a) gallery|of a gallery")


@posix_user
def test_a_protected_file(path):
    path.chmod(0o400)
    not_opened(path, "people.gallery is write-protected. Change its permissions")
    Gallery(path)
    path.chmod(0o000)
    not_opened(path, "cannot be read: .*Check its name and permissions")


@posix_user
def test_a_file_in_a_protected_folder(path):
    path.parent.chmod(0o500)
    try:
        not_opened(
            path, "cannot be changed: .* is write-protected. Change its permissions, or copy the gallery"
        )
        Gallery(path)
    finally:
        path.parent.chmod(0o700)


def test_a_change_is_made_as_a_whole_or_not_at_all(path, monkeypatch):
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    gallery = Gallery(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(FileError, match=r"people\.gallery was not written"):
            gallery.enroll(*ANNA)
    assert len(gallery) == 0
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    gallery.enroll(*ANNA)
    assert len(gallery) == 2


def test_nothing_is_written_over_and_permissions_are_kept(path):
    path.chmod(0o640)
    gallery = Gallery(path)
    gallery.enroll(*ANNA)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"exists already\. Open it, or choose another name\."):
        create_file(path, CONTENT)
    assert path.read_bytes() == before


def test_a_name_taken_at_the_last_moment_is_not_written_over(tmp_path, monkeypatch):
    path = tmp_path / "g"
    monkeypatch.setattr(module, "check_writable", lambda target: target.write_text("somebody else's"))
    with pytest.raises(FileError, match=r"exists already\. Open it, or choose another name\."):
        create_file(path, CONTENT)
    assert path.read_text() == "somebody else's"
    assert os.listdir(tmp_path) == ["g"]


def test_what_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"was not written: No space left on device\. Free some space\."):
        create_file(tmp_path / "g", CONTENT)
    assert os.listdir(tmp_path) == []


def test_places_where_nothing_can_be_made(tmp_path):
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        create_file(tmp_path / "nowhere" / "g", CONTENT)
    with pytest.raises(FileError, match="cannot be written: the name is too long"):
        create_file(tmp_path / ("x" * 300), CONTENT)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match=r"exists already\. Open it, or choose another name\."):
        create_file(tmp_path / "loop", CONTENT)
    assert os.listdir(tmp_path) == ["loop"]


@posix_user
def test_a_protected_folder(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match=r"cannot be written: .* is write-protected\. Choose another"):
            create_file(tmp_path / "g", CONTENT)
    finally:
        tmp_path.chmod(0o700)
