import io
import json
import os
import sys

import pytest

from gramian.cli.outputs import check_file, check_not_input, check_place, is_model_file, print_json
from gramian.cli.run import prepare_streams
from gramian.errors import FileError, ParameterError


def test_model_files_and_folders_are_told_apart(tmp_path):
    (tmp_path / "old.gramian").mkdir()
    assert is_model_file("m.gramian")
    assert not is_model_file("m.gramian/")
    assert not is_model_file(str(tmp_path / "old.gramian"))
    assert not is_model_file("run.2024")
    with pytest.raises(ParameterError, match=r"For a folder of that name write a\.csv/"):
        is_model_file("a.csv")


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    check_place(tmp_path / "new" / "folder")
    check_file(str(tmp_path / "new.csv"))
    with pytest.raises(FileError, match="is a file, so there is no folder"):
        check_place(tmp_path / "file" / "folder")
    with pytest.raises(FileError, match="is a folder"):
        check_file(str(tmp_path))


def test_names_that_no_file_can_have(tmp_path):
    name = str(tmp_path / (300 * "x"))
    assert is_model_file(f"{name}.gramian")
    check_not_input(name, name)
    with pytest.raises(FileError, match=r"the name is too long .*Choose another name"):
        check_file(name)
    with pytest.raises(FileError, match=r"the name is too long .*Choose another name"):
        check_place(tmp_path / (300 * "x") / "folder")
    with pytest.raises(FileError, match=r"m\.gramian/ names a folder\. Name a file"):
        check_file(str(tmp_path / "m.gramian") + "/")


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "lost").symlink_to(tmp_path / "nothing")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for folder in (tmp_path / "lost", tmp_path / "lost" / "inside", tmp_path / "circle"):
        with pytest.raises(FileError, match=r"(lost|circle) is a link to what is not there"):
            check_place(folder)
    check_file(str(tmp_path / "lost"))


def test_inputs_are_not_overwritten(tmp_path):
    data = tmp_path / "a.npz"
    data.write_text("")
    check_not_input(str(tmp_path / "b.npy"), str(data), "-")
    with pytest.raises(ParameterError, match="is what is read"):
        check_not_input(str(data), f"{data}::X")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252"])
def test_json_stays_json(monkeypatch, encoding):
    name = "Zo\u00eb \U0001f600 \udcff"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    prepare_streams()
    print_json({"person": name})
    sys.stdout.flush()
    text = sys.stdout.buffer.getvalue().decode("utf-8")
    assert json.loads(text) == {"person": name}
    assert ("Zo\u00eb" in text) == (encoding == "utf-8")
