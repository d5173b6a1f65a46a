import pytest

from gramian.cli.inputs import model_path, read_new_data, read_table
from gramian.cli.options import Reading
from gramian.errors import ParameterError


def test_the_source_is_named_as_it_was_given(folder):
    assert read_table("faces.npz::X", Reading(rows="0:3")).source == "faces.npz::X"


def test_new_data_is_not_filled_with_its_own_means(folder):
    with pytest.raises(ParameterError, match="--missing mean would depend on the new data"):
        read_new_data("new.csv", Reading(missing="mean"))


def test_a_folder_stands_for_the_model_in_it(tmp_path):
    assert model_path(str(tmp_path)) == tmp_path
    (tmp_path / "model.gramian").write_text("")
    assert model_path(str(tmp_path)) == tmp_path / "model.gramian"
