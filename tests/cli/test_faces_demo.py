"""``faces demo``: all commands on drawn faces."""

import os
import re

import pytest

from gramian.cli import faces_demo
from gramian.cli.examples import write_examples
from gramian.errors import DataError


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(faces_demo, "TRAINED", 30)
    return tmp_path


def test_the_demonstration_answers_each_question_rightly(small, gramian):
    ran = gramian("faces", "demo", "-o", "out")
    assert ran.code == 0, ran.err
    commands = re.findall(r"^\$ gramian faces (\w+)", ran.out, re.MULTILINE)
    assert commands == ["fit", "show", "reconstruct", "enroll", "identify", "verify", "forget"]
    assert "out/door/Anna.png: Anna (" in ran.out
    assert "out/door/Zoë.png: Zoë (" in ran.out
    assert "out/door/stranger.png: unknown (" in ran.out
    assert "out/door/house.png: not a face (" in ran.out
    for name in ("components.png", "strip.png", "faces.gramian", "people.gallery", "people/Zoë/5.png"):
        assert (small / "out" / name).is_file()


def test_it_can_be_repeated_and_leaves_what_is_not_its_own(small, gramian, monkeypatch):
    monkeypatch.setattr(faces_demo, "_run", lambda *given: None)
    (small / "out").mkdir()
    (small / "out" / "holiday.txt").write_text("mine")
    ran = gramian("faces", "demo", "-o", "out")
    assert ran.code == 1
    assert "out is not empty: files in it might be overwritten. Name a new folder." in ran.err
    (small / "out" / faces_demo.MARK).write_text("")
    (small / "out" / "pictures").mkdir()
    (small / "out" / "pictures" / "old.png").write_text("of an earlier run")
    assert gramian("faces", "demo", "-o", "out").code == 0
    assert (small / "out" / "holiday.txt").read_text() == "mine"
    assert not (small / "out" / "pictures" / "old.png").exists()


def test_a_command_that_fails_ends_it(small, gramian, monkeypatch):
    def fail(*given, **options):
        raise DataError("it rains")

    monkeypatch.setattr("gramian.cli.faces_model.read_pictures", fail)
    ran = gramian("faces", "demo", "-o", "out")
    assert ran.code == 1
    assert "it rains" in ran.err
    assert "gramian faces fit ended with 1, so the demonstration ends here." in ran.err


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_that_leads_nowhere_is_refused(small, gramian):
    (small / "link").symlink_to(small / "nothing")
    ran = gramian("faces", "demo", "-o", "link")
    assert (ran.code, ran.out) == (1, "")
    assert "link is a link to " in ran.err
    assert not (small / "nothing").exists()


def test_faces_are_among_the_example_files(tmp_path):
    pytest.importorskip("PIL")
    assert write_examples(tmp_path) == []
    for name in ("flowers.csv", "faces.npz", "faces/p01/1.png"):
        assert (tmp_path / name).is_file()
