import io
import shlex
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pytest

from gramian import PCA, FeatureFilter, KernelPCA, PolynomialMap, Whitener, load, scan
from gramian.app.cli.inputs import read_new_data, read_table
from gramian.errors import DataError, ParameterError
from gramian.tables.table import Table


def test_the_source_is_named_as_it_was_given(folder):
    assert read_table("faces.npz::X", {"rows": "0:3"}).source == "faces.npz::X"


def test_marks_of_missing_values_in_the_shell(folder, gramian):
    (folder / "marked.csv").write_text("x,y\n1,2\n-,3\n4,7\n5,2\n6,-\n")
    gramian.refuses("fit marked.csv --as-is -o m.gramian", 1, "Do as gramian.propose suggests.")
    ran = gramian.works("fit marked.csv -o proposed.gramian")
    assert "proposed na_values=['-']: " in ran.err
    ran = gramian.works("fit marked.csv --na-values - --missing drop-rows -o m.gramian")
    assert "rows with missing values were dropped: 2 of 5" in ran.err


STRANGE = Path(__file__).parents[2] / "strange"


@pytest.mark.parametrize("name", ["money.csv", "limits.csv", "long.csv", "dates.csv", "sheets.xlsx"])
def test_a_refusal_is_one_command_that_works(name, tmp_path, gramian, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = gramian("fit", STRANGE / name, "--as-is -o m.gramian")
    assert ran.code == 1
    options = eval(f"dict({ran.err.rpartition('ead it with ')[2].splitlines()[0].removesuffix('.')})")
    texts = {name: ",".join(value) if isinstance(value, list) else value for name, value in options.items()}
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in texts.items()]
    advice = shlex.join(str(word) for pair in pairs for word in pair if word is not True)
    gramian.works("fit", STRANGE / name, f"--as-is {advice} -o m.gramian")
    gramian.works("transform m.gramian", STRANGE / name, "-o scores.csv")


def test_headers_footers_and_limits_in_the_shell(tmp_path, gramian, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("a,b\n9,9\nx,y\n<1,2\n3,4\n5,1\n7,7\n")
    options = "--header 3 --skip-footer 1 --below-limit half"
    gramian.works(f"fit x.csv {options} -o m.gramian --json")
    model = load("m.gramian")
    np.testing.assert_allclose(model.mean_, [8.5 / 3, 7 / 3])
    assert model.reading_["header"] == 3
    ran = gramian("transform m.gramian x.csv -o scores.csv")
    assert "--header 3 --skip-footer 1 --below-limit half" in ran.err
    assert len(Path("scores.csv").read_text().splitlines()) == 4
    Path("y.csv").write_text("x,y\n<1,2\n3,4\n")
    ran = gramian("transform m.gramian y.csv -o scores.csv")
    assert (ran.code, "--header" in ran.err) == (0, False), ran.err


def test_labels_from_another_file(folder, gramian):
    (folder / "kinds.csv").write_text("flower,kind\n" + "".join(f"f{i},{'uv'[i % 2]}\n" for i in range(30)))
    for arguments in (
        "flowers.csv --drop species --labels-from kinds.csv",
        "faces.npz::X --labels-from faces.npz::y",
    ):
        gramian.works(f"fit {arguments} -o out")
    assert (folder / "out" / "scores.csv").read_text().splitlines()[1].startswith("0,0,")
    for labels in ("kinds.csv", "kinds.csv:kind"):
        gramian.refuses(
            f"whiten flowers.csv --drop species --labels-from {labels} -o kinds.csv",
            2,
            "-o kinds.csv is an input of this command",
        )
    ran = gramian("select flowers.csv --drop species --labels-from kinds.csv:kind --json")
    assert ran.json["label"] == "kind"
    gramian.refuses(
        "choose-kernel flowers.csv --labels-from kinds.csv --label species", 2, "Leave out one of them"
    )


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
    for arguments in ("x.xlsx", "x.xlsx::Sheet", "x.h5::test/data --labels-from x.h5::test/target"):
        gramian.works(f"fit {arguments} -o m.gramian")
    for arguments, code, message in (
        ("x.h5", 1, "Choose one, as in x.h5::train/data"),
        ("x.xlsx::Tab", 2, "has no sheet 'Tab'. Its sheets are 'Sheet'"),
        ("flowers.csv::X", 2, "Leave out ::X"),
    ):
        gramian.refuses(f"fit {arguments} -o m.gramian", code, message)


def test_a_table_without_any_value_is_no_case_for_missing_values(folder, gramian):
    (folder / "none.csv").write_text("a,b\nNA,NA\n,\n")
    for how in ("--missing em --n-components 1", "--missing drop-columns"):
        gramian.refuses(f"fit none.csv {how}", 1, "holds no value: all its entries are missing")


def test_new_data_is_not_filled_with_its_own_means(folder):
    for policy in ("mean", "drop-columns"):
        with pytest.raises(ParameterError, match=r"would depend on the new data instead of the fitted one\."):
            read_new_data("new.csv", {"missing": policy, "drop": "species"}, PCA(1))


def test_names_decide_and_not_order(folder, gramian):
    """A file is brought into the order of the fitted one, also where others of its columns hold text."""
    gramian.works("fit flowers.csv --drop species -o m.gramian")
    options = "--drop species --kernel rbf --n-components 2"
    gramian.works(f"fit flowers.csv {options} -o k.gramian")
    rows = [line.split(",") for line in Path("new.csv").read_text().splitlines()]
    places = [0, 4, 2, 1, 3, 2]
    text = [",".join(row[i] for i in places) for row in rows]
    text[0] = "flower,height,length,species,width,more"
    Path("turned.csv").write_text("\n".join(text) + "\n")
    for command, model in (("transform", "m"), ("reconstruct", "m"), ("reconstruct", "k"), ("denoise", "k")):
        expected = gramian(f"{command} {model}.gramian new.csv --drop species -o a.csv")
        ran = gramian(f"{command} {model}.gramian turned.csv -o b.csv --json")
        assert (expected.code, ran.code) == (0, 0), ran.err
        assert Path("a.csv").read_text() == Path("b.csv").read_text()
        said = "2 columns that the model was not fitted on were left out: 'species', 'more'"
        assert f"gramian: {said}\n" in ran.err
        assert "gramian: columns were put in the order of the fitted data, by name\n" in ran.err
        assert said in ran.json["notes"]
        gramian.refuses(
            f"{command} {model}.gramian turned.csv --drop width -o b.csv", 1, "turned.csv lack 'width'"
        )


def test_models_of_every_kind_look_columns_up_by_name(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[["c", "a", "b"]].assign(d="text").to_csv(tmp_path / "b.csv", index=False)
    labels = rng.integers(0, 2, 20)
    turned = Table(frame[["c", "a", "b"]].to_numpy(), ("c", "a", "b"))
    for model in (PCA(2), KernelPCA(2), Whitener(), PolynomialMap(2), FeatureFilter("f", 2)):
        model.fit(tmp_path / "a.csv", labels)
        expected = model.transform(tmp_path / "a.csv")
        for source in (tmp_path / "b.csv", scan(tmp_path / "b.csv", columns="c,b,a"), turned):
            np.testing.assert_array_equal(model.transform(source), expected)
        with pytest.raises(DataError, match=r", which the model was fitted on\. Expected: a, b, c\. Add"):
            model.transform(scan(tmp_path / "b.csv", drop="b"))


def test_transposed_files_are_put_in_order_too(tmp_path, gramian, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("genes.csv").write_text("gene,s1,s2,s3\ng1,1,2,5\ng2,4,6,5\n")
    Path("more.csv").write_text("gene,s4,s5\ng3,1,1\ng2,4,6\ng1,7,2\n")
    gramian.works("fit genes.csv --transpose -o m.gramian")
    ran = gramian.works("transform m.gramian more.csv --transpose -o s.npy")
    assert "1 column that the model was not fitted on was left out: 'g3'" in ran.err
    expected = load("m.gramian").transform(Table(np.array([[7.0, 4.0], [2.0, 6.0]]), ("g1", "g2")))
    np.testing.assert_array_equal(np.load("s.npy"), expected)


def test_a_sheet_of_samples_labels_and_its_one_column_is_predicted(folder, gramian):
    lines = "".join(f"{i},f{i},{'uv'[i % 2]},{i / 7:.3f}\n" for i in reversed(range(30)))
    (folder / "sheet.csv").write_text("n,flower,kind,age\n" + lines)
    flowers = "flowers.csv --drop species --labels-from"
    gramian.refuses(
        f"select {flowers} sheet.csv",
        2,
        "labels_from='sheet.csv' has the columns 'kind', 'n', 'age', but one is predicted",
        "Name one, as in labels_from='sheet.csv:kind'.",
    )
    gramian.works(f"fit {flowers} sheet.csv --exclude kind=v,f2 -o m.gramian")
    ran = gramian("transform m.gramian flowers.csv")
    assert ran.out.splitlines()[0].startswith("name,kind,n,age,PC1")
    assert len(ran.out.splitlines()) == 31
    assert ran.out.splitlines()[4].startswith('"f3","v",3,0.429,')
    ran = gramian("describe m.gramian flowers.csv")
    assert "Correlations of age: PC1 " in ran.out


def test_standard_input_says_what_is_wrong_with_it_also_to_fit(gramian, monkeypatch):
    for content, problem in (
        (b"%PDF-1.4\n1 0 obj\n", "is not a table"),
        (b"a,b\n1,2\n3\n", "line 3: 1 field"),
    ):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        assert problem in gramian("fit -").err
