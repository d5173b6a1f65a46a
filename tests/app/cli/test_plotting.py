"""The command ``plot``: files for figures, and what it refuses."""

import os
from pathlib import Path

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
STARTS = {"svg": b"<svg", "pdf": b"%PDF"}


def test_what_is_asked_for_is_drawn(flower_model, gramian):
    options = "--what scores,scree --color species --x PC1 --y PC3 -o figs"
    for kind, start in STARTS.items():
        ran = gramian.works(f"plot m.gramian new.csv {options} --format {kind}")
        assert ran.out.splitlines() == [f"Written: figs/scores.{kind}", f"Written: figs/scree.{kind}"]
        assert Path(f"figs/scores.{kind}").read_bytes().startswith(start)
    text = Path("figs/scores.svg").read_text()
    assert all(word in text for word in ("PC3 (", "species", "setosa", "f4"))


@pytest.fixture
def sketched(monkeypatch):
    """Specifications are made, but not drawn."""
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: "<svg></svg>")


@pytest.mark.usefixtures("sketched")
def test_by_default_all_that_there_can_be(flower_model, gramian):
    assert gramian("plot m.gramian --json").json["files"] == [
        f"figures/{name}.svg" for name in ("scree", "loadings", "eigenvalues", "correlation-circle")
    ]
    gramian.works("plot m.gramian flowers.csv --color width -o all")
    names = ("biplot", "control-chart", "correlation-circle", "directions", "eigenvalues", "loadings")
    names += ("metadata", "scores", "scree")
    assert sorted(os.listdir("all")) == [f"{name}.svg" for name in names]


@pytest.mark.usefixtures("sketched")
def test_other_models_have_other_figures(folder, gramian):
    pytest.importorskip("PIL")
    gramian.works("fit faces.npz::X --n-components 3 -o p.gramian")
    gramian.works("plot p.gramian faces.npz::X -o p")
    assert {"components.svg", "reconstructions.svg", "scores.svg"} <= set(os.listdir("p"))
    flowers = "flowers.csv --columns length,width"
    gramian.works(f"fit {flowers} --kernel rbf --n-components 2 -o k.gramian")
    ran = gramian(f"plot k.gramian {flowers} --what contours -o k")
    assert (ran.code, os.listdir("k")) == (0, ["contours.svg"])
    assert "warning" not in ran.err
    gramian.works("whiten flowers.csv --label species -o w.gramian")
    ran = gramian("plot w.gramian flowers.csv -o w")
    assert (ran.code, sorted(os.listdir("w"))) == (0, ["eigenvalues.svg", "scree.svg", "whitening.svg"])


def test_what_cannot_be_drawn_is_refused_before_anything_is_written(flower_model, gramian):
    for words, arguments in (
        ("what='scores' needs a PCA or KernelPCA and DATA. Available: scree,", "--what scores"),
        ("what='components' needs a PCA or FaceSpace of pictures", "flowers.csv --what components"),
        ("what='pie' is not known", "--what pie"),
        ("format='jpg' is not known", "--format jpg"),
        ('plot writes a folder. Name a folder, and use format="png"', "-o a.png"),
        ("color is about the rows of DATA", "--color species"),
        (
            "species is a column of DATA, and labels_from names another file",
            "flowers.csv --color species --labels-from new.csv:species",
        ),
        ("must be a whole number from 1 to 3", "flowers.csv --what scores --x PC9"),
    ):
        gramian.refuses(f"plot m.gramian {arguments}", 2, words)
        assert not Path("figures").exists()
