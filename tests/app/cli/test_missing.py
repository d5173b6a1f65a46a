"""Missing values from the shell: the fit, new rows, and what is refused."""

import csv
from pathlib import Path

import numpy as np
import pytest

from gramian import PCA, load


@pytest.fixture
def birds(tmp_path, monkeypatch):
    """Forty birds, of which two have no measurement and two lack one."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1)) * [5, -2, 14, 8] + rng.standard_normal((40, 4)) + [44, 17, 200, 40]
    X[[3, 30]] = np.nan
    X[5, 1] = X[7, 2] = np.nan
    lines = [",".join(["name", "bill", "depth", "flipper", "mass"])]
    for i, row in enumerate(X.tolist()):
        lines.append(",".join([f"bird{i}", *("" if value != value else repr(value) for value in row)]))
    (tmp_path / "birds.csv").write_text("\n".join(lines) + "\n")
    return X


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_default_says_how_many_holes_where_and_the_choices(gramian, birds):
    count = "10 values are missing in 4 rows (2 without any value) and 4 columns: row 3 (named "
    by_pca = '"em" or "iterative", by which PCA imputes them, or '
    for line, imputing in (
        ("fit birds.csv --as-is", by_pca),
        ("fit birds.csv --missing error", by_pca),
        ("whiten birds.csv -o w.csv --as-is", ""),
    ):
        # Every column has holes.
        choices = f'Use missing={imputing}"mean"; a file is also read with missing="drop-rows". '
        gramian.refuses(line, 1, count, choices)


def test_fit_imputes_and_leaves_out_rows_without_any_value(gramian, birds):
    whole = np.delete(birds, [3, 30], axis=0)
    for method in ("em", "iterative"):
        ran = gramian.works(
            f"fit birds.csv --missing {method} --scale none --n-components 2 --report -o {method}"
        )
        assert "2 rows without any value were left out: row 3 (named 'bird3'), row 30 (named" in ran.err
        assert "2 of 152 entries (1.3 %) were missing." in ran.out.partition("are accurate to")[0]
        model, expected = load(f"{method}/model.gramian"), PCA(2, missing=method).fit(whole)
        assert (model.missing, model.n_missing_, model.n_samples_) == (method, 2, 38)
        assert np.allclose(model.components_, expected.components_)
        entries = table(f"{method}/imputed.csv")
        assert [(one["row"], one["column"]) for one in entries] == [("bird5", "depth"), ("bird7", "flipper")]
        assert np.allclose([float(one["value"]) for one in entries], expected.imputed_.values)
        about = {"em": "expected covariance matrix", "iterative": "filled table"}[method]
        assert about in Path(method, "report.html").read_text()
        assert f"--missing {method}" in Path(method, "summary.md").read_text()
        scores = np.array([[float(one["PC1"]), float(one["PC2"])] for one in table(f"{method}/scores.csv")])
        assert np.allclose(scores, expected.transform(whole))


def test_new_rows_of_a_saved_model(gramian, birds):
    whole = np.delete(birds, [3, 30], axis=0)
    gramian("fit birds.csv --missing em --scale none --n-components 2 -o m.gramian")
    Path("later.csv").write_text(Path("birds.csv").read_text())
    ran = gramian("transform m.gramian later.csv -o scores.csv")
    assert "10 missing values in 4 rows: scores of such rows follow from their observed entries" in ran.err
    assert "too few observed entries to determine scores, which are NaN: row 3 (named 'bird3')" in ran.err
    rows = table("scores.csv")
    assert (rows[3]["PC1"], rows[30]["PC2"]) == ("", "")
    expected = PCA(2, missing="em").fit(whole).transform(birds[[5, 7]])
    assert np.allclose([[float(rows[i][name]) for name in ("PC1", "PC2")] for i in (5, 7)], expected)
    ran = gramian("reconstruct m.gramian later.csv -o back.csv --json")
    assert len(table("back.csv")) == ran.json["rows"] == 38
    assert ran.json["relative_error_percentiles"]["100 %"] < 1
    assert "2 rows with too few values were left out: row 3 (named 'bird3'), row 30 (named" in "".join(
        ran.json["notes"]
    )
    gramian.works("report m.gramian birds.csv -o r.html")
    gramian.works("plot m.gramian birds.csv -o figures")
    gramian.refuses("transform m.gramian birds.csv --missing mean", 2, "has no means to fill with")


def test_a_model_of_complete_rows_maps_complete_rows_only(gramian, birds):
    gramian("fit birds.csv --missing drop-rows --n-components 2 -o m.gramian")
    Path("later.csv").write_text(Path("birds.csv").read_text())
    gramian.refuses(
        "transform m.gramian later.csv --missing error -o scores.csv",
        1,
        "row 3 (named 'bird3')",
        'fitted with missing="em" or "projection" maps them',
    )
    gramian("transform m.gramian later.csv -o scores.csv")
    assert len(table("scores.csv")) == 36


def test_what_does_not_impute_says_so(gramian, birds):
    for command in ("fit birds.csv --kernel rbf", "whiten birds.csv -o w.csv"):
        gramian.refuses(
            f"{command} --missing em",
            2,
            "missing='em' imputes by a PCA: it applies to fit and plan without a kernel",
        )
    for components in ("", "--n-components 0.9", "--n-components cv"):
        gramian.refuses(
            f"fit birds.csv --missing em {components}",
            2,
            "imputes with a number of components. Give one, such as n_components=2",
        )
    gramian.works("plan birds.csv --missing em --n-components 2")


def test_rows_keep_their_numbers_when_others_are_dropped(tmp_path, gramian, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["a,b,c", *(f"{i},{i * i % 7},{i * 3 % 5}" for i in range(12))]
    lines[3] = "2,,1"
    Path("holes.csv").write_text("\n".join(lines) + "\n")
    gramian.works("fit holes.csv --missing drop-rows --rows 1: -o r")
    ran = gramian("transform r holes.csv --missing drop-rows --rows 1:")
    numbers = ["1", *map(str, range(3, 12))]
    for text in (ran.out, Path("r/scores.csv").read_text()):
        assert [line.partition(",")[0].strip('"') for line in text.splitlines()[1:]] == numbers
