import os
import re
from pathlib import Path

import pytest


@pytest.mark.walk
def test_the_demo_writes_what_it_promises(tmp_path, gramian):
    pytest.importorskip("PIL")
    out = tmp_path / "demo"
    ran = gramian.works(f"demo -o {out}")
    commands = re.findall(r"^\$ gramian (?:faces )?(\w+)", ran.out, re.MULTILINE)
    assert commands == ["fit", "fit", "plot", "reconstruct", "enroll", "identify"]
    assert f"{out}/door/p03.png: p03 (" in ran.out
    assert f"{out}/door/stranger.png: Unknown person (" in ran.out
    assert f"{out}/door/house.png: Not recognised as a face (" in ran.out
    tried = ran.out.rpartition("Three things to try:\n")[2].splitlines()
    assert [line.split()[:2] for line in tried][1:] == [["gramian", "fit"], ["gramian", "serve"]]
    assert all(Path(next(word for word in line.split() if "demo" in word)).is_file() for line in tried)
    names = ("penguins/scores.svg", "data/genes.csv", "faces/components.png", "faces/strip.png")
    assert all((out / name).is_file() for name in names)
    gramian.works(f"demo -o {out}")


def test_a_command_that_fails_ends_it(tmp_path, gramian):
    (tmp_path / "penguins").mkdir()
    (tmp_path / "penguins" / "summary.md").write_text("mine")
    gramian.refuses(f"demo -o {tmp_path}", 1, "were not written by gramian")


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_that_leads_nowhere_is_refused(tmp_path, gramian):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    ran = gramian("demo -o", tmp_path / "link")
    assert (ran.code, ran.out) == (1, "")
    assert "link is a link to " in ran.err
    assert not (tmp_path / "nothing").exists()
