"""What of a command's arguments can be read is read; the rest is reported, or refused as a whole."""

import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gramian import DataError, FileError, MissingExtraError
from gramian.cli.faces_reading import Reading, read_arguments, skipped_facts, without_pictures

Image = pytest.importorskip("PIL.Image")

SPACE = SimpleNamespace(picture_shape_=(12, 10))


def save(path, size=(10, 12)):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    Image.fromarray(np.arange(width * height, dtype=np.uint8).reshape(height, width)).save(path)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("people/anna/1.png", "people/ben/1.png", "one.png", "two.png"):
        save(name)
    Path("text.png").write_text("no picture")
    Path("more.png").write_text("no picture")
    Path("empty").mkdir()
    return tmp_path


def names(readings):
    return [name for reading in readings for name in reading.names]


def test_pictures_in_a_row_are_read_together():
    readings, skipped, error = read_arguments(["one.png", "two.png", "people", "one.png"], SPACE)
    assert [reading.source for reading in readings] == [["one.png", "two.png"], "people", ["one.png"]]
    assert names(readings) == ["one.png", "two.png", "people/anna/1.png", "people/ben/1.png", "one.png"]
    assert (skipped, error) == ([], None)


def test_names_lead_to_the_pictures():
    assert Reading("people/", SimpleNamespace(names=("anna/1.png",))).names == ["people/anna/1.png"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["people", "text.png"],
        ["text.png", "people"],
        ["text.png", "more.png", "people"],
        ["empty", "people"],
        ["nowhere", "people"],
        ["nowhere.png", "people"],
        ["cut.zip", "people"],
        ["people", "text.png", "empty", "nowhere", "one.png"],
    ],
)
def test_what_can_be_read_is(arguments, capsys):
    Path("cut.zip").write_bytes(b"PK")
    readings, skipped, error = read_arguments(arguments, SPACE)
    assert names(readings)[:2] == ["people/anna/1.png", "people/ben/1.png"]
    assert error is None
    bad = [name for name in arguments if name not in ("people", "one.png")]
    assert [name for name, _ in skipped] == bad
    err = capsys.readouterr().err
    for name, why in skipped:
        assert not why.startswith(name)
        assert f"gramian: skipped: {name} {why}\n" in err


def test_one_bad_picture_among_good_ones_is_said_once(capsys):
    _, skipped, _ = read_arguments(["one.png", "text.png", "two.png"], SPACE)
    ((name, why),) = skipped
    assert name == "text.png"
    assert why.startswith("is no picture")
    assert capsys.readouterr().err.count("text.png") == 1
    assert skipped_facts(skipped) == [{"picture": "text.png", "why": why}]


def test_nothing_at_all(capsys):
    readings, skipped, error = read_arguments(["text.png"], SPACE)
    assert (readings, len(skipped)) == ([], 1)
    assert "text.png is no picture" in str(error)
    assert capsys.readouterr().err == ""
    readings, skipped, error = read_arguments(["text.png", "more.png", "empty"], SPACE)
    assert (readings, len(skipped)) == ([], 3)
    assert str(error) == "None of the 3 pictures and folders given can be used."
    assert capsys.readouterr().err.count("gramian: skipped: ") == 3


@pytest.mark.parametrize("arguments", [["people", "text.png"], ["people", "empty"], ["people", "nowhere"]])
def test_strictly_all_or_nothing(arguments):
    with pytest.raises((DataError, FileError), match=arguments[1]):
        read_arguments(arguments, SPACE, strict=True)


def test_a_folder_that_is_not_there_may_be_refused_before_anything_is_read(capsys):
    with pytest.raises(FileError, match="nowhere"):
        read_arguments(["text.png", "nowhere"], SPACE, all_there=True)
    assert capsys.readouterr().err == ""


def test_what_is_missing_to_read_anything_is_no_bad_picture(monkeypatch):
    def refuse(*arguments, **options):
        raise MissingExtraError("images", "pillow", "reading pictures")

    monkeypatch.setattr("gramian.faces.reading.read_faces", refuse)
    with pytest.raises(MissingExtraError, match="needs pillow"):
        read_arguments(["people", "one.png"], SPACE)


def test_one_picture_of_other_proportions(capsys):
    save("wide.png", (30, 12))
    read_arguments(["wide.png"], SPACE)
    assert "warning: 1 of 1 picture has other proportions than the model's 10x12" in capsys.readouterr().err


def test_people_without_a_picture():
    with zipfile.ZipFile("people.zip", "w") as archive:
        archive.write("one.png", "anna/1.png")
        archive.write("one.png", "ben/1.png")
        for name in ("anna/2.png", "eve/1.png", "eve/2.png", "../out/1.png", "/etc/1.png", "C:/x/1.png"):
            archive.writestr(name, "no picture")
        archive.writestr("mia/../../1.png", "no picture")
        archive.writestr(r"x\..\1.png", "no picture")
    ((reading,), skipped, _) = read_arguments(["people.zip"], SPACE)
    assert len(skipped) == 8
    assert without_pictures(reading.faces) == ["eve"]
