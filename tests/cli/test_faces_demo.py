"""The faces of ``gramian demo``: all commands on drawn faces."""

import re
from functools import partial
from pathlib import Path

import pytest
import typer

from gramian.cli import demonstration as faces_demo
from gramian.cli.app import app
from gramian.cli.demonstration import _run, check_faces, show_faces, write_examples
from gramian.errors import FileError
from refusals import refused

STEP = partial(_run, typer.main.get_command(app))


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(faces_demo, "TRAINED", 30)
    return tmp_path


@pytest.mark.walk
def test_the_demonstration_answers_each_question_rightly(small, capsys):
    show_faces(STEP, Path("out"))
    out = capsys.readouterr().out
    commands = re.findall(r"^\$ gramian (?:faces )?(\w+)", out, re.MULTILINE)
    assert commands == ["fit", "plot", "reconstruct", "enroll", "identify", "forget"]
    assert "out/door/Anna.png: Anna (" in out
    assert "out/door/Zoë.png: Zoë (" in out
    assert "out/door/stranger.png: Unknown person (" in out
    assert "out/door/house.png: Not recognised as a face (" in out
    for name in ("components.png", "strip.png", "faces.gramian", "people.gallery", "people/Zoë/5.png"):
        assert (small / "out" / name).is_file()


def test_it_can_be_repeated_and_leaves_what_is_not_its_own(small):
    out = small / "out"
    out.mkdir()
    (out / "holiday.txt").write_text("mine")
    with refused(FileError):
        check_faces(out)
    (out / faces_demo.MARK).write_text("")
    (out / "pictures").mkdir()
    (out / "pictures" / "old.png").write_text("of an earlier run")
    check_faces(out)
    show_faces(lambda *given: None, out)
    assert (out / "holiday.txt").read_text() == "mine"
    assert not (out / "pictures" / "old.png").exists()


def test_faces_are_among_the_example_files(tmp_path):
    pytest.importorskip("PIL")
    assert write_examples(tmp_path) == []
    for name in ("flowers.csv", "faces.npz", "faces/p01/1.png"):
        assert (tmp_path / name).is_file()
