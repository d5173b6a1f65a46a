"""``make faces-figure``: its numbers on small data, and what it says without data."""

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

import helpers
from drawn import drawn_faces, drawn_others


def size_of(path):
    with Image.open(path) as picture:
        return picture.size


@pytest.fixture(scope="module")
def script():
    return helpers.script("examples/faces_figure.py")


@pytest.fixture
def small(tmp_path):
    """The same files, with drawn faces and things in them."""
    (tmp_path / "faces").mkdir()
    (tmp_path / "pictures").mkdir()
    faces = drawn_faces(40, 3, size=(30, 36))
    people = [int(person[1:]) for person in faces.people]
    np.savez(tmp_path / "faces" / "extended_yale_b_cropped_u8.npz", X=faces.pictures, y=people)
    Image.new("RGB", (50, 70), (90, 20, 60)).save(tmp_path / "pictures" / "dog.jpg")
    things = drawn_others(80, size=(64, 64)).pictures
    for kind in ("dog", "cat"):
        columns = things.transpose(0, 2, 1).reshape(80, -1).T.astype(float)
        savemat(tmp_path / "pictures" / f"{kind}Data.mat", {kind: columns})
    return tmp_path


def test_the_figure(script, small, capsys):
    script.main(small, small / "out")
    page = (small / "out" / "summary.md").read_text()
    assert page.startswith("# What 108 pictures of 36 people rebuild")
    assert "| 12 held-out faces, 50 % |" in page
    assert "| 160 dogs and cats, 95 % |" in page
    assert "Noise separates from faces at every r" in page
    assert "Noise separates" in capsys.readouterr().out
    assert (small / "out" / "errors.svg").read_text().startswith("<?xml")
    assert size_of(small / "out" / "strip.png")[0] > 300
    np.testing.assert_array_equal(
        script.animals(small, (64, 64))[:80], drawn_others(80, size=(64, 64)).pictures
    )


def test_separation_against_the_definition(script):
    rng = np.random.default_rng(0)
    faces, others = rng.normal(size=40), rng.normal(size=30) + 1
    expected = np.mean(others[:, None] > faces[None])
    assert script.separation(faces, others) == pytest.approx(expected)
    assert script.refused(faces, others) == np.mean(others > np.percentile(faces, 95))


def test_the_words_follow_the_numbers(script):
    def said(shift):
        rng = np.random.default_rng(0)
        errors = {name: rng.random((50, 2)) + s for name, s in zip(script.GROUPS, (0, shift, 5), strict=True)}
        scores = {name: values[:, 0] for name, values in errors.items()}
        return script.paragraph([25, 50], errors, scores)

    assert "Dogs and cats do as well" in said(3)
    assert "Dogs and cats do so in part" in said(0.5)
    assert "Dogs and cats do not" in said(0)


def test_without_data_it_says_what_is_missing(script, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_TEST_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"^The figure needs faces/.*\.npz, pictures/dog\.jpg") as end:
        script.data_folder()
    assert "set GRAMIAN_TEST_DATA to their folder. gramian demo needs no data." in str(end.value)
