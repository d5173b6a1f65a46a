import h5py
import numpy as np
import openpyxl
import pytest

from gramian.cli.inputs import model_path, read_new_data, read_table
from gramian.cli.options import Reading
from gramian.errors import ParameterError


def test_the_source_is_named_as_it_was_given(folder):
    assert read_table("faces.npz::X", Reading(rows="0:3")).source == "faces.npz::X"


def test_marks_of_missing_values_in_the_shell(folder, gramian):
    (folder / "marked.csv").write_text("x,y\n1,2\n-,3\n4,7\n5,2\n6,-\n")
    ran = gramian("fit", "marked.csv", "-o", "m.gramian")
    assert ran.code == 1
    assert '--na-values "-"' in ran.err
    ran = gramian("fit", "marked.csv", "--na-values", "-", "--missing", "drop-rows", "-o", "m.gramian")
    assert ran.code == 0, ran.err
    assert "2 of 5 rows with missing values dropped" in ran.err


def test_labels_from_another_file(folder, gramian):
    (folder / "kinds.csv").write_text("flower,kind\n" + "".join(f"f{i},{'uv'[i % 2]}\n" for i in range(30)))
    (folder / "genes.csv").write_text("gene,s1,s2,s3,s4\nclass,A,B,A,B\ng1,1,2,3,5\ng2,4,6,5,4\n")
    for arguments in (
        ["flowers.csv", "--drop", "species", "--labels-from", "kinds.csv"],
        ["genes.csv", "--transpose", "--label", "class"],
        ["faces.npz::X", "--labels-from", "faces.npz::y"],
    ):
        ran = gramian("fit", *arguments, "-o", "out")
        assert ran.code == 0, ran.err
    assert (folder / "out" / "scores.csv").read_text().splitlines()[1].startswith("0,0,")
    for labels in ("kinds.csv", "kinds.csv:kind"):
        ran = gramian(
            "whiten", "flowers.csv", "--drop", "species", "--labels-from", labels, "-o", "kinds.csv"
        )
        assert (ran.code, "-o kinds.csv is what is read" in ran.err) == (2, True)
    ran = gramian("select", "flowers.csv", "--drop", "species", "--labels-from", "kinds.csv:kind", "--json")
    assert ran.json["label"] == "kind"
    ran = gramian("choose-kernel", "flowers.csv", "--labels-from", "kinds.csv", "--label", "species")
    assert (ran.code, "Leave out one of them" in ran.err) == (2, True)


def test_kinds_of_file_in_the_shell(folder, gramian):
    rng = np.random.default_rng(0)
    book = openpyxl.Workbook()
    for row in [["name", "x", "y"], *([f"r{i}", *rng.random(2)] for i in range(5))]:
        book.active.append(row)
    book.save("x.xlsx")
    with h5py.File("x.h5", "w") as file:
        file.update(
            {"train/data": rng.random((5, 3)), "test/data": rng.random((4, 3)), "test/target": [1, 2, 1, 2]}
        )
    for arguments in (
        ["x.xlsx"],
        ["x.xlsx::Sheet"],
        ["x.h5::test/data", "--labels-from", "x.h5::test/target"],
    ):
        ran = gramian("fit", *arguments, "-o", "m.gramian")
        assert ran.code == 0, ran.err
    for arguments, code, message in (
        (["x.h5"], 1, "Say which one is meant: x.h5::test/data"),
        (["x.xlsx::Tab"], 2, "has no sheet 'Tab'. Its sheets are 'Sheet'"),
        (["flowers.csv::X"], 2, "Leave out ::X"),
    ):
        ran = gramian("fit", *arguments, "-o", "m.gramian")
        assert (ran.code, message in ran.err) == (code, True), ran.err


def test_new_data_is_not_filled_with_its_own_means(folder):
    with pytest.raises(ParameterError, match="--missing mean would depend on the new data"):
        read_new_data("new.csv", Reading(missing="mean"))


def test_a_folder_stands_for_the_model_in_it(tmp_path):
    assert model_path(str(tmp_path)) == tmp_path
    (tmp_path / "model.gramian").write_text("")
    assert model_path(str(tmp_path)) == tmp_path / "model.gramian"
