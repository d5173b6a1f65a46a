import pytest

from gramian.cli.outputs import check_file, check_not_input, check_place, is_model_file
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


def test_inputs_are_not_overwritten(tmp_path):
    data = tmp_path / "a.npz"
    data.write_text("")
    check_not_input(str(tmp_path / "b.npy"), str(data), "-")
    with pytest.raises(ParameterError, match="is what is read"):
        check_not_input(str(data), f"{data}::X")
