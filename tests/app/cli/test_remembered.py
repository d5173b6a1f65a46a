"""A model remembers how its data were read: the same file needs no options again."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gramian import PCA, load, scan
from gramian.app.cli import main
from gramian.report.sentences import of_what
from gramian.tables.table import Table

STRANGE = Path(__file__).parents[2] / "strange"
TEXT = """rownames,kind,site,a,b,c,year
1,u,n,1.0,2.0,-,2007
2,v,n,3.0,.,1.5,2007
3,u,s,5.0,1.0,2.5,2008
4,v,s,2.0,4.5,0.5,2008
5,u,n,4.0,3.0,4.5,2009
6,v,s,6.0,0.5,3.5,2009
"""
OPTIONS = "--drop year --label kind,site --na-values -,. --missing drop-rows"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    (folder / "marks.csv").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(f"fit marks.csv {OPTIONS} --n-components 2 -o all".split()) == 0
    shutil.copy(folder / "all" / "model.gramian", folder / "m.gramian")
    return folder


@pytest.fixture
def fitted(results, tmp_path, monkeypatch):
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_name_with_commas_is_one_name_again(tmp_path, monkeypatch, gramian):
    monkeypatch.chdir(tmp_path)
    shutil.copy(STRANGE / "comma_in_label.csv", tmp_path / "t.csv")
    proposed = gramian.works("fit t.csv -o all")
    (line,) = [one for one in proposed.err.splitlines() if "without proposals: " in one]
    gramian.works(line.partition(": gramian ")[2].replace("-o all", "-o again"))
    name = "How much, if at all, do you like it?"
    for folder in ("all", "again"):
        assert load(folder + "/model.gramian").reading_["label"] == (name,)
    assert f"label=['{name}']" in (tmp_path / "all" / "summary.md").read_text("utf-8")
    gramian.works("transform all/model.gramian t.csv -o scores.csv")


def test_the_file_of_the_fit_needs_no_options_again(fitted, gramian):
    """Each command answers as with the options of the fit."""
    commands = ("transform", "monitor", "describe", "stability --n-resamples 20", "reconstruct -o -")
    for command in commands:
        short = gramian(f"{command} m.gramian marks.csv")
        long = gramian(f"{command} m.gramian marks.csv {OPTIONS}")
        assert (short.code, short.out) == (0, long.out), short.err
        said = "read as for the fit: --label kind,site --missing drop-rows --na-values -,."
        assert said in short.err
        assert "read as" not in long.err
    gramian.works("plot all scree marks.csv")


@pytest.mark.usefixtures("fitted")
def test_options_given_win(gramian):
    ran = gramian("transform all marks.csv --label site --rows :4 --na-values -,.,?")
    assert ran.out.splitlines()[0] == "name,site,PC1,PC2"
    assert "read as for the fit: --missing drop-rows\n" in ran.err
    # A column has one use.
    ran = gramian("transform all marks.csv --id kind")
    assert ran.out.splitlines()[0] == "name,site,PC1,PC2"
    assert "read as for the fit: --label site --missing" in ran.err


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_another_file_is_read_as_far_as_its_columns_allow(fitted, gramian):
    (fitted / "new.csv").write_text("a,b,c,site\n1.0,2.0,.,n\n3,4,5,s\n")
    ran = gramian.works("transform m.gramian new.csv")
    assert ran.out.splitlines()[0] == "row,site,PC1,PC2"
    assert len(ran.out.splitlines()) == 2
    assert "rows with missing values were dropped: 1 of 2" in ran.err
    assert "read as marks.csv was for the fit: --label kind,site" in ran.err
    assert "label: no column 'kind' here, as the fitted data had" in ran.err
    np.save("new.npy", np.arange(6.0).reshape(2, 3))
    ran = gramian.works("transform m.gramian new.npy")
    assert len(ran.out.splitlines()) == 3


def test_an_array_of_several_columns_by_position_and_a_file_of_labels(tmp_path, monkeypatch, gramian):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(9, 4))
    np.savez("data.npz", X=X, other=X[:3], y=np.arange(9) % 2)
    line = "data.npz::X --columns 3,1 --labels-from data.npz::y"
    gramian.works(f"fit {line} --n-components 1 -o m.gramian")
    ran = gramian("transform m.gramian data.npz")
    assert ran.out == gramian(f"transform m.gramian {line}").out
    np.testing.assert_allclose(load("m.gramian").mean_, X[:, [3, 1]].mean(axis=0))
    # Labels of one file are not those of another.
    np.save("new.npy", X)
    assert gramian("transform m.gramian new.npy").out.splitlines()[0] == "row,PC1"


def test_transposed_tables(tmp_path, monkeypatch, gramian):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "genes.csv").write_text("gene,s1,s2,s3,s4\ng1,1,2,3,9\ng2,3,1,2,5\n")
    line = "--transpose --drop s2"
    gramian.works(f"fit genes.csv {line} -o m.gramian")
    ran = gramian.works("transform m.gramian genes.csv")
    assert ran.out == gramian(f"transform m.gramian genes.csv {line}").out
    (tmp_path / "more.csv").write_text("gene,t1,t2\ng1,1,2\ng2,3,1\n")
    ran = gramian("transform m.gramian more.csv")
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["name", '"t1"', '"t2"'], ran.err


def test_the_table_of_the_fit_needs_no_name_while_it_is_unchanged(fitted, gramian, monkeypatch):
    for command in ("transform", "describe", "diagnose"):
        assert gramian.works(f"{command} all").out == gramian.works(f"{command} all marks.csv").out
    named = gramian.works("explain all marks.csv --subset kind=u").out
    assert gramian.works("explain all kind=u").out == named
    assert "most unusual" in gramian("explain -h").out
    assert "largest relative to its limits" in gramian.works("explain all").out
    monkeypatch.chdir("/")
    assert gramian.works(f"explain {fitted}/all kind=u").out == named
    monkeypatch.chdir(fitted)
    refused = {
        "explain all W122": "subset='W122' is neither a row nor a group of marks.csv",
        "explain all --rows W122": "rows='W122' is no range of rows. To explain rows, name them in subset",
    }
    for line, why in refused.items():
        gramian.refuses(line, 2, why)
    gramian.works(
        "fit marks.csv -o some --missing mean --rows 1:6 --exclude site=s --drop year --label kind -k 1"
    )
    assert gramian.works("transform some").out.count("\n") == 1 + 2
    assert gramian.works("transform some --rows 0:6").out.count("\n") == 1 + 3
    with (fitted / "marks.csv").open("a") as file:
        file.write("7,u,n,1.0,2.0,1.5,2007\n")
    gramian.refuses("transform all", 1, "marks.csv has changed since the fit. Name it")
    (fitted / "marks.csv").unlink()
    gramian.refuses("transform all", 2, "were in marks.csv, which is not there. Add")
    PCA(1).fit(np.eye(3)).save("array.gramian")
    gramian.refuses("transform array.gramian", 2, "array.gramian does not say in which file")


def test_a_table_that_was_read_without_options_is_found_too(tmp_path, monkeypatch, gramian):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(20, 3)).round(3)
    (tmp_path / "plain.csv").write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    gramian.works("fit plain.csv -o all --as-is")
    assert "largest relative to its limits" in gramian.works("explain all").out


@pytest.mark.usefixtures("fitted")
def test_python_remembers_too():
    table = scan("marks.csv", drop="year", label="kind,site", na_values="-,.", missing="drop-rows").read()
    model = PCA(2).fit(table)
    assert model.reading_ == load("m.gramian").reading_
    assert model.reading_ == {
        "source": "marks.csv",
        "label": ("kind", "site"),
        "missing": "drop-rows",
        "na_values": ("-", "."),
    }
    assert not hasattr(model.fit(np.eye(5)), "reading_")


def test_a_report_is_titled_by_the_model(fitted, gramian):
    (fitted / "new.csv").write_text("a,b,c\n1,2,3\n3,4,5\n")
    gramian.works("report m.gramian new.csv")
    assert "<h1>PCA of marks.csv, applied to new.csv</h1>" in (fitted / "report.html").read_text()
    model, rows = load("m.gramian"), np.eye(4, 3)
    assert of_what(model, None) == of_what(model, Table(rows, source="a/marks.csv")) == " of marks.csv"
    fewer = Table(rows[:2], source="marks.csv")
    assert of_what(model, fewer) == " of marks.csv, applied to 2 rows of marks.csv"
    nameless = PCA(2).fit(rows)
    assert of_what(nameless, None) == ""
    assert of_what(nameless, Table(rows, source="marks.csv")) == " of marks.csv"
    assert of_what(nameless, fewer) == ", applied to marks.csv"
