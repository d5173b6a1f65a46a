import os
import re
from pathlib import Path

import pytest
import typer

from gramian.applications import is_installed
from gramian.cli import demonstration
from gramian.cli.app import app
from gramian.errors import DataError, GramianError
from refusals import refused


@pytest.mark.usefixtures("few_digits")
@pytest.mark.walk
def test_the_demo_writes_what_it_promises(tmp_path, gramian, monkeypatch):
    pytest.importorskip("PIL")
    faces, out = [], tmp_path / "demo"
    if is_installed("gramian.faces"):
        monkeypatch.setattr("gramian.cli.demonstration.show_faces", lambda step, place: faces.append(place))
    ran = gramian("demo", "-o", out)
    assert ran.code == 0, ran.err
    assert re.findall(r"^\$ gramian (\w+)", ran.out, re.MULTILINE) == ["fit", "fit"]
    assert (ran.out.count("Plan:"), ran.out.count("Certified:")) == (2, 2)
    tried = ran.out.rpartition("Three things to try:\n")[2].splitlines()
    assert [line.split()[:2] for line in tried][1:] == [["gramian", "fit"], ["gramian", "serve"]]
    assert all(Path(next(word for word in line.split() if "demo" in word)).is_file() for line in tried)
    assert faces == [out / "faces"] * is_installed("gramian.faces")
    assert "Labels: " in (out / "pca" / "summary.md").read_text()
    names = ("pca/components.png", "pca/report.html", "kernel-pca/scores.svg", "data/genes.csv")
    assert all((out / name).is_file() for name in names)


def test_a_command_that_fails_ends_it(tmp_path, capsys, monkeypatch):
    def fail(*given, **options):
        raise DataError("it rains")

    monkeypatch.setattr("gramian.cli.fitting.proposed", fail)
    command = typer.main.get_command(app)
    with refused(GramianError):
        demonstration._run(command, "fit", "x.csv")
    assert "it rains" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_that_leads_nowhere_is_refused(tmp_path, gramian):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    ran = gramian("demo", "-o", tmp_path / "link")
    assert (ran.code, ran.out) == (1, "")
    assert "link is a link to " in ran.err
    assert not (tmp_path / "nothing").exists()
