"""The command ``plot``: files for figures, and what it refuses."""

import os
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
STARTS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


def test_what_is_asked_for_is_drawn(flower_model, gramian):
    options = "--hue species --components 1,3 -o figs"
    for kind, start in STARTS.items():
        ran = gramian.works(f"plot m.gramian scores,scree new.csv {options} --format {kind}")
        assert ran.out.splitlines() == [f"Written: figs/scores.{kind}", f"Written: figs/scree.{kind}"]
        assert Path(f"figs/scores.{kind}").read_bytes().startswith(start)
    text = Path("figs/scores.svg").read_text()
    assert all(word in text for word in ("PC3 (", "species", "setosa", "f4"))


def test_one_figure_is_one_file_as_wide_as_is_asked_for(flower_model, gramian):
    for kind, start in STARTS.items():
        ran = gramian.works(f"plot m.gramian scores new.csv --hue species --width 85 -o a.{kind}")
        assert ran.out == f"Written: a.{kind}\n"
        assert Path(f"a.{kind}").read_bytes().startswith(start)
    assert f'width="{85 * 72 / 25.4:.3f}'[:-2] in Path("a.svg").read_text()
    once = Path("a.svg").read_bytes()
    gramian.works("plot m.gramian scores new.csv --hue species --width 85 -o a.svg")
    assert Path("a.svg").read_bytes() == once
    gramian.refuses("plot m.gramian scores,scree new.csv -o b.pdf", 2, "is one file, for one figure")
    gramian.refuses("plot m.gramian new.csv -o b.pdf", 2, "is one file, for one figure")
    gramian.refuses("plot m.gramian scores new.csv -o b.pdf --format svg", 2, "Leave one of them out")
    gramian.refuses("plot m.gramian scree new.csv -o b.pdf --hue species", 2, "hue is not for scree")
    assert not Path("b.pdf").exists()


def test_what_is_said_of_rows_and_labels_is_drawn_into_the_file_of_that_ending(flower_model, gramian):
    for command, file, words in (
        ("explain m.gramian new.csv --subset 3", "why.svg", "contribution to"),
        ("describe m.gramian flowers.csv --label species", "shares.svg", "all, weighted"),
    ):
        ran = gramian.works(f"{command} -o {file}")
        assert ran.out.endswith(f"Written: {file}\n")
        assert words in Path(file).read_text()
    gramian.refuses("explain m.gramian new.csv --subset 3 -o why.txt", 2, "explain writes a table")


def test_loadings_are_of_the_named_components(flower_model, gramian):
    gramian.works("plot m.gramian loadings --components 3 -o three.svg")
    text = Path("three.svg").read_text()
    assert "PC3 (" in text
    assert "PC1 (" not in text
    gramian.refuses(
        "plot m.gramian loadings --components 9 -o nine.svg", 2, "must be a whole number from 1 to 3"
    )


def test_by_default_all_that_there_can_be(flower_model, gramian):
    assert gramian("plot m.gramian --json").json["files"] == [
        f"figures/{name}.svg" for name in ("scree", "loadings", "eigenvalues", "correlation-circle")
    ]
    gramian.works("plot m.gramian flowers.csv --hue width -o all")
    names = ("biplot", "control-chart", "correlation-circle", "eigenvalues", "loadings")
    names += ("metadata", "scores", "scree")
    assert sorted(os.listdir("all")) == [f"{name}.svg" for name in names]


def test_other_models_have_other_figures(folder, gramian):
    pytest.importorskip("PIL")
    gramian.works("fit faces.npz::X --n-components 3 -o p.gramian")
    gramian.works("plot p.gramian faces.npz::X -o p")
    assert {"components.svg", "reconstructions.svg", "scores.svg"} <= set(os.listdir("p"))
    flowers = "flowers.csv --columns length,width"
    gramian.works(f"fit {flowers} --kernel rbf --n-components 2 -o k.gramian")
    ran = gramian(f"plot k.gramian contours {flowers} -o k")
    assert (ran.code, os.listdir("k")) == (0, ["contours.svg"])
    assert "warning" not in ran.err
    gramian.works("whiten flowers.csv --label species -o w.gramian")
    ran = gramian("plot w.gramian flowers.csv -o w")
    assert (ran.code, sorted(os.listdir("w"))) == (0, ["eigenvalues.svg", "scree.svg", "whitening.svg"])


def test_what_cannot_be_drawn_is_refused_before_anything_is_written(flower_model, gramian):
    for words, arguments in (
        ("figures='contours' needs another model or DATA. Available: scores,", "contours"),
        ("figures='components' needs another model or DATA", "components flowers.csv"),
        ("figures='pie' is not known", "pie"),
        ("format='jpg' is not known", "--format jpg"),
        ("hue is about the rows of DATA", "--hue species"),
        (
            "species is a column of DATA, and labels_from names another file",
            "flowers.csv --hue species --labels-from new.csv:species",
        ),
        ("must be a whole number from 1 to 3", "scores flowers.csv --components PC9,1"),
    ):
        gramian.refuses(f"plot m.gramian {arguments}", 2, words)
        assert not Path("figures").exists()


def test_a_figure_of_rows_is_of_the_table_of_the_fit_while_it_is_there_as_it_was(flower_model, gramian):
    ran = gramian.works("plot m.gramian scores --hue species -o a.svg")
    assert "the table is that of the fit: flowers.csv, unchanged since then" in ran.err
    gramian.works("plot m.gramian scores flowers.csv --hue species -o b.svg")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    with open("flowers.csv", "a") as file:
        file.write(Path("flowers.csv").read_text().splitlines()[-1] + "\n")
    gramian.refuses(
        "plot m.gramian scree,scores -o c", 1, "has changed since the fit. Name it after the model"
    )
    os.remove("flowers.csv")
    gramian.refuses("plot m.gramian scores -o c.svg", 2, "flowers.csv, which is not there. Add the file")
    gramian.works("plot m.gramian scree -o c.svg")
