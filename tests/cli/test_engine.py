"""``--engine dask`` gives what this process gives, or says what it cannot do."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from gramian.cli import main

zarr = pytest.importorskip("zarr", reason='needs pip install "gramian[cluster]"')
pytest.importorskip("dask", reason='needs pip install "gramian[cluster]"')

X = (np.random.default_rng(0).standard_normal((500, 6)) * np.arange(6, 0, -1) + 2).astype("f4")
NAMES = list("abcdef")


@pytest.fixture(params=["x.zarr", "x.parquet", "folder"])
def data(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gramian.io.chunks.CHUNK_BYTES", 4000)
    whole = pa.table(dict(zip(NAMES, X.T, strict=True)))
    zarr.create_array("x.zarr", data=X, chunks=(70, 4))
    parquet.write_table(whole, "x.parquet", row_group_size=90)
    (tmp_path / "folder").mkdir()
    parquet.write_table(whole[:200], "folder/a.parquet", row_group_size=150)
    parquet.write_table(whole[200:], "folder/b.parquet")
    return request.param


def run(*arguments):
    assert main(list(map(str, arguments))) == 0


@pytest.mark.walk
def test_all_commands_give_the_same_as_without(data, tmp_path, capsys):
    run("plan", data, "--engine", "dask")
    assert "chunks: a pass is" in capsys.readouterr().out
    run("fit", data, "--engine", "dask", "--components", 3, "-o", "m.gramian")
    run("fit", data, "--components", 3, "-o", "here.gramian")
    for command in (("transform", "m.gramian"), ("whiten",), ("reconstruct", "m.gramian", "--components", 2)):
        run(*command, data, "-o", "here.npy")
        for out in ("there.npy", "there.parquet", "there.zarr"):
            run(*command, data, "--engine", "dask", "-o", out)
        here = np.load("here.npy")
        assert here.shape[0] == 500
        np.testing.assert_allclose(np.load("there.npy"), here, atol=1e-5)
        np.testing.assert_allclose(zarr.open("there.zarr")[:], here, atol=1e-5)
        table = parquet.read_table("there.parquet")
        assert table["row"].to_pylist() == list(range(500))
        np.testing.assert_allclose(table.column(1).to_numpy(), here[:, 0], atol=1e-5)
        assert main([*map(str, command), data, "--engine", "dask", "-o", "there.zarr"]) == 1
        assert "there.zarr is there already" in capsys.readouterr().err
        (tmp_path / "there.zarr").rename(tmp_path / f"{command[0]}.zarr")
    run(
        "fit",
        data,
        "--engine",
        "dask",
        "--rows",
        "5:300:2",
        "--columns",
        "1,3,0" if data == "x.zarr" else "b,d,a",
    )
    assert "148 rows x 3 columns" in capsys.readouterr().out
    assert not list(tmp_path.glob(".gramian*"))


def test_results_of_a_fit_in_chunks_fill_a_folder(data, tmp_path):
    run("fit", data, "--engine", "dask", "--components", 2, "-o", "results/")
    assert (tmp_path / "results/scores.csv").read_text().count("\n") == 501
    assert f"gramian fit {data} --components 2 --engine dask" in (tmp_path / "results/summary.md").read_text()


@pytest.mark.walk
def test_columns_are_selected_by_a_label_where_they_are(data, capsys):
    first = "0" if data == "x.zarr" else "a"
    np.savetxt("kinds.csv", X[:, 1] > 2, header="kind", comments="", fmt="%d")
    for label in (["--label", first], ["--labels-from", "kinds.csv", "--rows", "3:400:7"]):
        for method in ("mutual-information", "f", "correlation"):
            asked = ["select", data, *label, "--method", method, "--features", 2]
            run(*asked)
            here = capsys.readouterr().out
            run(*asked, "--engine", "dask")
            assert capsys.readouterr().out == here
    assert main(["select", data, "--label", first, "--method", "forward", "--engine", "dask"]) == 2
    assert "Use one of mutual-information, f, chi2, correlation, or leave out" in capsys.readouterr().err


def test_a_label_of_text_is_read_from_parquet(tmp_path, capsys):
    kinds = np.where(X[:, 1] > 2, "high", "low")
    whole = pa.table({"kind": kinds, **dict(zip(NAMES, X.T, strict=True))})
    parquet.write_table(whole, tmp_path / "x.parquet", row_group_size=90)
    run("select", tmp_path / "x.parquet", "--label", "kind", "--features", 1, "--engine", "dask")
    assert re.search(r" 1  b .* selected\n", capsys.readouterr().out)


@pytest.mark.parametrize("data", ["x.zarr"], indirect=True)
def test_what_it_cannot_do_is_refused(data, tmp_path, capsys):
    np.save("x.npy", X)
    parquet.write_table(pa.table({"n": ["p", "q"], "x": [1.0, 2.0]}), "text.parquet")
    for arguments, said in [
        (["x.npy", "--engine", "dask"], "reads .zarr and .parquet, but x.npy is neither"),
        (["x.zarr", "--engine", "spark"], "--engine spark is not known. Allowed: dask"),
        (["x.zarr", "--scheduler", "tcp://h:1"], "--scheduler applies only to --engine dask"),
        (
            ["x.zarr", "--engine", "dask", "--missing", "mean"],
            "--missing is not supported with --engine dask",
        ),
    ]:
        assert main(["fit", *arguments]) == 2
        assert re.search(said, capsys.readouterr().err)
    assert main(["fit", "text.parquet", "--engine", "dask"]) == 1  # as without Dask
    assert re.search("column 'n' holds string.*--drop 'n'", capsys.readouterr().err)
    (tmp_path / "x.zarr/c/1/0").unlink()
    assert main(["fit", "x.zarr", "--engine", "dask"]) == 1
    assert "rows 70 to 139: the chunk c/1/0 is not there" in capsys.readouterr().err
