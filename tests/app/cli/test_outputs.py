import csv
import io
import json
import os
import re
import sys

import numpy as np
import pytest
from PIL import Image

import gramian as package
from gramian.app.cli import main
from gramian.app.cli.outputs import check_not_input, check_out, check_place, is_model_file, print_json
from gramian.app.cli.run import prepare_streams
from gramian.errors import FileError, ParameterError
from gramian.report.tables import write_table


def test_model_files_and_folders_are_told_apart(tmp_path):
    (tmp_path / "old.gramian").mkdir()
    assert is_model_file("m.gramian")
    assert not is_model_file("m.gramian/")
    assert not is_model_file(str(tmp_path / "old.gramian"))
    assert not is_model_file("run.2024")
    assert not is_model_file("v1.2")
    assert not is_model_file("out.xyz/")
    for name in ("a.csv", "out.xyz", "model.pkl", "m.gramian2"):
        with pytest.raises(ParameterError, match=r": fit writes a model, whose name ends in \.gramian, or a"):
            is_model_file(name)


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    check_place(tmp_path / "new" / "folder")
    check_out(str(tmp_path / "new.csv"))
    with pytest.raises(FileError, match="is a file, so there is no folder"):
        check_place(tmp_path / "file" / "folder")
    with pytest.raises(FileError, match=r"is a folder\. Name a file in it\."):
        check_out(str(tmp_path))


def test_names_that_no_file_can_have(tmp_path):
    name = str(tmp_path / (300 * "x"))
    assert is_model_file(f"{name}.gramian")
    check_not_input(name, name)

    with pytest.raises(FileError, match=r"names a folder\. Name a file: leave out the / at the end\."):
        check_out(str(tmp_path / "m.gramian") + "/")


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "lost").symlink_to(tmp_path / "nothing")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for folder in (tmp_path / "lost", tmp_path / "lost" / "inside", tmp_path / "circle"):
        with pytest.raises(FileError, match=r"is a link to what is not there\. Remove it, or choose"):
            check_place(folder)
    check_out(str(tmp_path / "lost"))


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_no_command_replaces_its_input_under_any_name(folder, gramian, monkeypatch):
    gramian.works("fit faces.npz::X -o r")
    gramian.works("reconstruct r faces.npz::X -o pics")
    gramian.works("whiten faces.npz::X -o white")
    (folder / "link.csv").symlink_to(folder / "r" / "scores.csv")
    (folder / "s").symlink_to(folder / "r")
    (folder / "r" / "mine.csv").write_bytes((folder / "flowers.csv").read_bytes())
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for arguments, place in (
        ("fit r/scores.csv -o r", "r/scores.csv"),
        ("fit link.csv -o r", "r/scores.csv"),
        ("fit r/scores.csv -o s", "s/scores.csv"),
        ("fit r/components.png -o r", "r/components.png"),
        ("fit flowers.csv --labels-from r/loadings.csv -o r", "r/loadings.csv"),
        ("reconstruct r pics -o pics", None),
        ("reconstruct r pics/0.png -o pics", "pics/0.png"),
        ("whiten white/0.png -o white", "white/0.png"),
        ("transform r link.csv -o r/scores.csv", None),
    ):
        ran = gramian(arguments)
        assert ran.code == 2, (arguments, ran.err)
        says = f"would replace the input {place}" if place else "is an input of this command"
        assert says in ran.err, (arguments, ran.err)
    with open(folder / "r" / "scores.csv") as data:
        monkeypatch.setattr(sys, "stdin", data)
        for arguments in ("fit - -o r", "transform r - -o r/scores.csv", "transform r - -o link.csv"):
            gramian.refuses(arguments, 2, "input")
    assert {path: path.read_bytes() for path in before} == before
    # Files of other names stay where they are, so they may be read.
    gramian.works("fit r/mine.csv --label species -o r")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252"])
def test_json_stays_json(monkeypatch, encoding):
    name = "Zo\u00eb \U0001f600 \udcff"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    prepare_streams()
    print_json({"person": name})
    sys.stdout.flush()
    text = sys.stdout.buffer.getvalue().decode("ascii")
    assert json.loads(text) == {"person": name}


CONTROLS = "\x01\x07\x0b\x1b[31m\x7f\x9b\u202e\ufffe"


@pytest.fixture
def hostile(folder):
    """A table whose names would control a terminal."""
    rng = np.random.default_rng(0)
    lines = [f"name,kind,a{CONTROLS},b</script><script>,constructor"]
    for i in range(12):
        lines.append(",".join([f"r{i}{CONTROLS}", f"{i % 2}{CONTROLS}", *map(str, rng.normal(size=3))]))
    (folder / "hostile.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.walk
def test_text_for_people_has_no_control_characters(hostile, gramian, drawn):
    ran = [
        gramian("fit hostile.csv --label kind --report -o r"),
        gramian("info r"),
        gramian("info r --json"),
        gramian("select hostile.csv --label kind --k 1 -o s.txt"),
        gramian("select hostile.csv --label kind --k 1 --json"),
        gramian("fit hostile.csv --label no\x1b[31m -o r"),
    ]
    assert [one.code for one in ran] == [0, 0, 0, 0, 0, 2]
    pages = [hostile / "r" / name for name in ("summary.md", "report.html", "scores.svg", "scree.svg")]
    for text in [*(one.out + one.err for one in ran), *(page.read_text("utf-8") for page in pages)]:
        assert not set(CONTROLS).difference("[31m").intersection(text)
    assert f"a{CONTROLS}" in ran[2].json["model"]["feature_names"]
    assert "<script" not in pages[1].read_text("utf-8")
    # Tables keep the names of the data.
    assert f"a{CONTROLS}" in (hostile / "r" / "loadings.csv").read_text("utf-8")
    assert f"r0{CONTROLS}" in (hostile / "r" / "scores.csv").read_text("utf-8")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_on_a_terminal_has_no_control_characters(terminal, hostile, monkeypatch):
    assert main(["fit", "hostile.csv", "--label", "kind", "-o", "r"]) == 0
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    out.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["transform", "r", "hostile.csv", "--label", "kind"]) == 0
    out.flush()
    text = out.buffer.getvalue().decode("utf-8")
    assert text.count("\n") == 13
    assert (f"r0{CONTROLS}" in text) == (not terminal)
    if terminal:
        assert not set(CONTROLS).difference("[31m").intersection(text)
        assert r"r0\x01\x07\x0b\x1b[31m" in text


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names of files")
def test_outputs_may_have_names_that_are_no_text(flower_model, gramian):
    bad = os.fsdecode(b"\xff")
    read = "flowers.csv --label species"
    for line in (
        f"fit {read} --report -o r{bad}",
        f"fit {read} -o m{bad}.gramian",
        f"info r{bad}",
        *(f"transform m.gramian {read} -o t{bad}.{kind}" for kind in ("csv", "parquet", "npy")),
        f"plot m.gramian scree -o p{bad}",
        f"report m.gramian -o q{bad}.html",
        f"whiten {read} -o w{bad}.csv",
    ):
        gramian.works(line).out.encode()


FORMULAS = ('=HYPERLINK("http://evil")', "=cmd|'/C calc'!A0", "@SUM(1)", "+1+1", "-2+3", "'=kept")


def test_no_command_writes_text_that_a_spreadsheet_runs(folder, gramian):
    """Names of rows and columns, labels, metadata and pictures, in each table that a command writes."""
    rng = np.random.default_rng(0)
    columns = {"=id": [f"{FORMULAS[i % 6]}{i}" for i in range(24)]}
    columns |= {"@kind": [FORMULAS[i % 2] for i in range(24)], "+more": [FORMULAS[i % 3] for i in range(24)]}
    values = rng.normal(size=(24, 4)) @ rng.normal(size=(4, 4)) + 9
    columns |= dict(zip(FORMULAS[2:], values.T, strict=True))
    write_table("in.csv", columns, "csv")
    (folder / "=cmd").mkdir()
    for name in ["=1", "@2", "-3+3", "+4+4"]:
        picture = rng.integers(0, 256, (6, 5)).astype(np.uint8)
        Image.fromarray(picture).save(folder / "=cmd" / f"{name}.png")
    read = "in.csv --id =id --label @kind,+more"
    for line in (
        f"fit {read} -o r",
        f"fit {read} --kernel rbf --gamma 0.01 --n-components 2 -o k",
        f"transform r {read} -o scores.csv",
        f"reconstruct r {read} -o back.csv",
        f"denoise k {read} -o clean.csv",
        f"monitor r {read} -o alarms.csv",
        f"describe r {read} -o described.csv",
        f"whiten {read} -o white.csv",
        "select in.csv --id =id --label @kind --drop +more --k 2 -o chosen.csv",
        "fit =cmd --n-components 2 -o p",
        "reconstruct p =cmd -o rebuilt",
        "whiten =cmd -o whitened",
    ):
        gramian.works(line)
    tables = list(folder.rglob("*.csv"))
    assert len(tables) > 15
    for path in tables:
        for row in csv.reader(io.StringIO(path.read_text(), newline="")):
            assert not [cell for cell in row if re.match("[=+@]|-(?![0-9.e+-]*$)", cell)], path
    scores = package.scan("scores.csv", id="name", label="@kind,+more").read()
    assert list(scores.row_names) == columns["=id"]
    assert scores.labels.tolist() == columns["@kind"]
    assert scores.metadata["+more"].tolist() == columns["+more"]
    assert package.scan("in.csv", label="@kind,+more").read().feature_names == FORMULAS[2:]
    gramian.works(f"fit {read} --columns @chosen.csv")
