"""Options that several commands of ``gramian faces`` have, on drawn faces."""

import numpy as np
import pytest
from PIL import Image

import gramian as package
from drawn import drawn_faces

FACES = drawn_faces(12, 4, size=(40, 48), seed=0)


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, picture in zip(FACES.names, FACES.pictures, strict=True):
        (tmp_path / "faces" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(tmp_path / "faces" / name)
    return tmp_path


def test_pictures_are_moved_for_a_model_and_its_gallery(work, gramian):
    ran = gramian.works("faces fit faces -o m.gramian --n-components 20 --shift 0.05")
    assert "Also fitted on copies of the pictures shifted by 2 pixels." in ran.out
    shifts = package.load("m.gramian").shift_covariance_
    gramian.works("faces enroll m.gramian people.gallery faces")
    gallery = package.faces.Gallery.open("people.gallery")
    np.testing.assert_allclose(gallery.shift_covariance, shifts, rtol=1e-6)
    assert gallery.recogniser(far=0.1).discriminant_ is not None


@pytest.mark.parametrize("shift", ["0.5", "-0.1", "nan"])
def test_a_shift_that_is_none(work, gramian, shift):
    gramian.refuses(
        f"faces fit faces -o m.gramian --shift {shift}",
        2,
        "must be a number of at least 0 and of at most 0.25. It is a share of the width of a picture",
    )
    assert not (work / "m.gramian").exists()
