"""The body of ``whiten``, called as the command calls it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import gramian as package
from commands import called
from gramian.errors import FileError, ParameterError
from gramian.models.whitener import Whitener

READ = {"label": "species"}


def run(data="flowers.csv", out="z.csv", reading=READ, method="zca", **given):
    called("whiten", **reading, data=data, out=out, method=method, **given)


def numbers(path, first=2):
    rows = list(csv.reader(io.StringIO(Path(path).read_text(encoding="utf-8"))))
    return rows[0], np.array([[float(value) for value in row[first:]] for row in rows[1:]])


def flowers():
    return package.scan("flowers.csv", label="species").read().values


def test_a_table_keeps_the_names_of_its_columns_and_scores_are_components(folder):
    for method in ["zca", "zca-cor"]:
        run(method=method)
        head, Z = numbers("z.csv")
        assert head == ["name", "species", "length", "width", "height"]
        np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=1e-10)
        np.testing.assert_array_equal(Z, Whitener(method, random_state=0).fit(flowers()).transform(flowers()))
    for method in ["pca", "pca-cor"]:
        run(method=method, n_components="2")
        head, Z = numbers("z.csv")
        assert head == ["name", "species", "PC1", "PC2"]
        np.testing.assert_allclose(np.cov(Z.T), np.eye(2), atol=1e-10)


def test_every_format(folder, capfd):
    for out in ("z.csv", "z.parquet", "z.npy", "-"):
        run(out=out)
    captured = capfd.readouterr()
    Path("out.csv").write_text(captured.out[captured.out.index("name,species") :], encoding="utf-8")
    from pyarrow import parquet

    expected = numbers("z.csv")[1]
    np.testing.assert_array_equal(np.load("z.npy"), expected)
    np.testing.assert_array_equal(numbers("out.csv")[1], expected)
    assert parquet.read_table("z.parquet").column_names == ["name", "species", "length", "width", "height"]
    assert "No regularization." in captured.err


def test_the_options_reach_the_estimator(folder, capsys):
    run(regularization="0.5", ddof=0)
    expected = Whitener(regularization=0.5, ddof=0).fit_transform(flowers())
    np.testing.assert_array_equal(numbers("z.csv")[1], expected)
    assert "Added to every variance: 0.5" in capsys.readouterr().out
    run(regularization="ledoit-wolf")
    assert "Shrunk by ledoit-wolf with intensity" in capsys.readouterr().out


def test_what_was_done_is_said_in_words_and_as_json(folder, capsys):
    run()
    text = capsys.readouterr().out
    assert "zca whitening of 30 rows x 3 columns: 3 directions have variance." in text
    assert "Written: z.csv" in text
    run(regularization="ledoit-wolf", as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == "zca"
    assert (facts["rows"], facts["columns"], facts["components"], facts["rank"]) == (30, 3, 3, 3)
    assert facts["regularization"] == "ledoit-wolf"
    assert (
        facts["regularization_used"] == Whitener(regularization="ledoit-wolf").fit(flowers()).regularization_
    )
    assert facts["certificate"]["ok"]


def test_a_model_whitens_new_rows(folder, gramian):
    run(out="w.gramian", method="zca-cor")
    ran = gramian.works("transform w.gramian new.csv --label species -o new-z.csv")
    head, Z = numbers("new-z.csv")
    assert head == ["name", "species", "length", "width", "height"]
    new = package.scan("new.csv", label="species")
    np.testing.assert_array_equal(Z, package.load("w.gramian").transform(new))
    for options in ("", "--json"):
        ran = gramian.works(f"info w.gramian {options}")
        assert "Whitener" in ran.out
    gramian.refuses(
        "reconstruct w.gramian new.csv --label species -o b.csv",
        2,
        "reconstruct needs a PCA, and this is a Whitener",
    )


def test_pictures_come_as_png(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    run("faces.npz::X", "white/", {}, n_components="6")
    names = sorted(path.name for path in Path("white").iterdir())
    assert names == sorted([*(f"{i}.png" for i in range(20)), "comparison.png", "whitening.csv"])
    Z = Whitener(n_components=6, random_state=0).fit_transform(np.load("faces.npz")["X"])
    limit = np.quantile(np.abs(Z), 0.995)
    expected = np.rint(255 * np.clip((Z[3] + limit) / (2 * limit), 0, 1))
    np.testing.assert_array_equal(np.asarray(Image.open("white/3.png")), expected)
    head, lengths = numbers("white/whitening.csv", first=1)
    assert head == ["picture", "length"]
    np.testing.assert_allclose(lengths[:, 0], np.linalg.norm(Z.reshape(20, -1), axis=1), rtol=1e-5)
    # What the command has written itself may be replaced.
    run("faces.npz::X", "white/", {}, n_components="3")
    run("faces.npz::X", "white.npy", {})
    assert np.load("white.npy").shape == (20, 30)
    run("faces.npz::X", "w.gramian", {})
    gramian.works("transform w.gramian faces.npz::X -o again.npy")
    np.testing.assert_allclose(np.load("again.npy"), np.load("white.npy"), atol=1e-4)


def test_refusals_come_before_anything_is_written(folder):
    for given, error, message in [
        ({"method": "zac"}, ParameterError, r"is not known\. Allowed:"),
        ({"regularization": "lw"}, ParameterError, "is neither a number"),
        ({"regularization": "-1"}, ParameterError, r"regularization=-1\.0"),
        ({"regularization": "nan"}, ParameterError, "regularization=nan"),
        ({"n_components": "0"}, ParameterError, r"is out of range\. Give"),
        ({"out": "-", "as_json": True}, ParameterError, "--json and -o - both"),
        ({"out": "flowers.csv"}, ParameterError, r"-o flowers\.csv is an"),
        ({"out": "folder"}, ParameterError, "-o folder names a"),
        ({"out": "none/z.csv"}, FileError, r"none/z\.csv cannot be"),
    ]:
        before = sorted(Path().iterdir())
        with pytest.raises(error, match=message):
            run(**given)
        assert sorted(Path().iterdir()) == before


def test_scores_as_pictures(folder):
    from PIL import Image

    run("faces.npz::X", "scores", {}, method="pca", n_components="5")
    Z = Whitener("pca", n_components=5, random_state=0).fit(np.load("faces.npz")["X"])
    Z = Z.transform(np.load("faces.npz")["X"]).astype(np.float64)
    pixels = np.asarray(Image.open(min(Path("scores").glob("[0-9]*.png"))), dtype=float).ravel()
    assert set(pixels[5:]) == {128}
    inside = (pixels[:5] > 0) & (pixels[:5] < 255)
    ratio = (pixels[:5][inside] - 127.5) / Z[0][inside]
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=0.1)
