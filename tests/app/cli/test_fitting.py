import csv
import re
from importlib.resources import files
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import gramian as package
from gramian.app.verb import parameters_of, reading
from gramian.app.verbs.fit import component_table


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_a_results_folder_holds_everything(folder, gramian, drawn):
    ran = gramian.works("fit flowers.csv --label species --n-components 2 --scale unit -o results/")
    assert "PCA of 30 rows x 3 columns: 2 components" in ran.out
    assert "\nThe eigenvalues are accurate to " in ran.out
    assert "of the largest, and none was missed (certificate).\nPlan: solver" in ran.out
    names = sorted(path.name for path in (folder / "results").iterdir())
    tables = ["columns.csv", "eigenvalues.csv", "loadings.csv", "model.gramian", "scores.csv"]
    pictures = ["biplot.svg", "correlation-circle.svg", "loadings.svg", "scores.svg", "scree.svg"]
    assert names == sorted([*tables, *pictures, "summary.md"])
    model = package.load("results/model.gramian")
    scores = read("results/scores.csv")
    assert scores[0] == ["name", "species", "PC1", "PC2"]
    assert scores[1][:2] == ["f0", "setosa"]
    table = package.scan("flowers.csv", label="species").read()
    np.testing.assert_allclose(
        [[float(v) for v in row[2:]] for row in scores[1:]], model.transform(table), atol=1e-12
    )
    loadings = read("results/loadings.csv")
    assert [row[0] for row in loadings] == ["feature", "length", "width", "height"]
    assert [float(row[1]) for row in loadings[1:]] == model.components_[0].tolist()
    described = {"columns": model.table("columns")}
    for name, expected in described.items():
        head, *lines = read(f"results/{name}.csv")
        assert head == [{"rows": "name", "columns": "feature"}[name], *expected.columns[1:]]
        assert [line[0] for line in lines] == expected.index.tolist()
        np.testing.assert_allclose([list(map(float, line[1:])) for line in lines], expected.iloc[:, 1:])


def test_a_scale_is_proposed_for_a_column_that_dominates_by_its_unit(folder, gramian):
    numbers = np.random.default_rng(0).standard_normal((40, 3)) * [2.0, 14.0, 800.0]
    lines = ["depth,flipper,mass", *(",".join(map(str, row)) for row in numbers.tolist())]
    Path("penguins.csv").write_text("\n".join(lines))
    said = "mass has 99.9"
    assert f"Serious: {said}" in gramian("fit penguins.csv --scale none").out
    assert said not in gramian("fit penguins.csv --scale unit").out
    ran = gramian("fit penguins.csv")
    assert said not in ran.out
    assert f"proposed scale='unit': \"{said}".replace('"mass', '"mass"') in ran.err


DRAWN = np.random.default_rng(0).normal(size=(80, 3))
CARS = "name,mpg,cylinders,horsepower,weight_in_lbs,year,origin\n" + "".join(
    f"car {i % 41},{'' if i % 23 == 5 else round(25 - 6 * x, 1)},{4 + 2 * (x > 0)},"
    f"{'' if i % 31 == 7 else round(100 + 30 * x + 9 * y)},{round(2600 + 600 * x + 200 * z)},"
    f"{1970 + i // 9}-01-01,{('USA', 'Europe', 'Japan')[i % 3]}\n"
    for i, (x, y, z) in enumerate(DRAWN)
)


def test_a_first_try_reads_a_messy_table_and_says_how(folder, gramian):
    content = files("gramian").joinpath("examples", "penguins.csv").read_text(encoding="utf-8")
    Path("penguins.csv").write_text(content)
    Path("cars.csv").write_text(CARS)
    ran = gramian.works("fit penguins.csv -o p")
    assert "gramian: proposed drop='year': \"year\" looks like a time: its name says so and" in ran.err
    assert "drop=['island', 'sex']: 2 columns of text, as \"island\" holds text" in ran.err
    assert "PCA of 342 rows x 4 columns: 4 components; the first 3 have 97.29 %" in ran.out
    assert "2 rows without any value were left out: row 3, row 271" in ran.out
    again = ran.err.partition("the same without proposals: ")[2].partition("\n")[0]
    assert again.endswith("-o p --as-is")
    model = package.load("p/model.gramian")
    literal = gramian(again.removeprefix("gramian "))
    assert "proposed" not in literal.err
    assert np.array_equal(package.load("p/model.gramian").components_, model.components_)
    assert read("p/scores.csv")[0] == ["row", "species", "PC1", "PC2", "PC3", "PC4"]

    facts = gramian("fit cars.csv -o c --json").json
    found = {(one["option"], one["value"]) for one in facts["proposals"]}
    assert found >= {
        ("label", "origin"),
        ("id", "name"),
        ("drop", "year"),
        ("missing", "em"),
        ("scale", "unit"),
    }
    assert read("c/scores.csv")[1][:2] == ["car 0", "USA"]
    assert (Path("c") / "biplot.svg").is_file()


def test_a_command_that_names_thousands_of_columns_is_shown_in_part(folder, gramian):
    wide = [
        ",".join(f"gene{j}" for j in range(2000)),
        *(",".join(["1"] * 1900 + 100 * [f"{i}.5"]) for i in range(9)),
    ]
    Path("wide.csv").write_text("\n".join(wide))
    ran = gramian.works("fit wide.csv -o w")
    again = ran.err.partition("the same without proposals: ")[2].partition("\n")[0]
    assert len(again) < 1100
    assert again.endswith(" ... (whole in summary.md of --out)")
    assert again.partition(" ...")[0] in Path("w/summary.md").read_text()


def test_options_that_are_given_win(folder, gramian):
    Path("cars.csv").write_text(CARS)
    given = "--label cylinders --scale none --missing mean --n-components 2 --id year"
    ran = gramian(f"fit cars.csv {given} --json")
    assert {one["option"] for one in ran.json["proposals"]} == {"drop"}
    assert ran.json["model"]["parameters"]["scale"] is None
    assert [one["value"] for one in ran.json["proposals"]] == ["name", "origin"]
    gramian.refuses(
        "fit cars.csv --columns mpg,horsepower,year --missing mean", 1, "'year'"
    )  # text that was asked for stays
    ran = gramian("fit cars.csv --as-is")
    assert (ran.code, "proposed" in ran.err) == (1, False)
    stream = gramian("plan cars.csv --columns mpg,horsepower,weight_in_lbs --n-components 0.9")
    assert "proposed missing='mean'" in stream.err  # --missing em needs a number


def test_a_model_of_landmarks_has_all_results(folder, gramian):
    args = "flowers.csv --label species --kernel rbf --solver nystroem --n-landmarks 9"
    ran = gramian(f"plan {args}")
    assert "9 rows by randomly pivoted Cholesky" in ran.out
    ran = gramian.works(f"fit {args} --n-components 2 -o results")
    assert "The eigenvalues of the approximation by 9 landmarks" in ran.out
    assert "approximation by 9 landmarks" in Path("results/summary.md").read_text()
    gramian.works("transform results flowers.csv --drop species -o again.csv")
    first, again = (
        np.array([row[-2:] for row in read(name)[1:]], float) for name in ("results/scores.csv", "again.csv")
    )
    np.testing.assert_allclose(first, again, atol=1e-12)
    gramian.works("reconstruct results flowers.csv --drop species -o back.csv")


def test_correlation_loadings_are_correlations(folder, gramian):
    args = "fit flowers.csv --drop species --scale unit --loadings correlation -o r"
    gramian.works(args)
    table = package.scan("flowers.csv", drop="species").read()
    scores = np.array([[float(v) for v in row[1:]] for row in read("r/scores.csv")[1:]])
    expected = np.corrcoef(table.values.T, scores.T)[:3, 3:]
    values = np.array([[float(v) for v in row[1:]] for row in read("r/loadings.csv")[1:]])
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_only_the_model_is_written_for_a_model_file(folder, gramian):
    before = set(folder.iterdir())
    ran = gramian.works("fit flowers.csv --drop species -o m.gramian")
    assert "Written: m.gramian" in ran.out
    assert {path.name for path in set(folder.iterdir()) - before} == {"m.gramian"}


def test_without_a_place_the_answer_is_printed_and_nothing_is_written(folder, gramian):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for options in ("", "--kernel rbf", "--scale unit --n-components 1"):
        arguments = f"fit flowers.csv --drop species {options}"
        ran = gramian(arguments)
        written = gramian(f"{arguments} -o ../m.gramian")
        assert (ran.code, written.code) == (0, 0), ran.err
        assert all(word in ran.out for word in ("PC1", "Plan: solver", "\nThe eigenvalues are accurate to"))
        assert "Written" not in ran.out
        # But for the seconds it took, what is printed is the same.
        same = [line for line in ran.out.splitlines() if "second" not in line and " s" not in line]
        assert set(same) <= set(written.out.splitlines())
        facts = gramian(f"{arguments} --json").json
        assert facts["files"] == []
        assert facts["model"]["certificate"]["ok"] is True
        median = "--gamma median" if "--kernel" in options else ""
        assert sorted(facts["command"]) == sorted(f"gramian {arguments} {median} --as-is".split())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_json_tells_the_same(folder, gramian):
    ran = gramian("fit flowers.csv --drop species --n-components 0.9 -o r/ --json")
    facts = ran.json
    assert ran.code == 0
    assert facts["data"]["rows"] == 30
    assert facts["model"]["parameters"]["n_components"] == 0.9
    assert facts["model"]["certificate"]["ok"] is True
    assert facts["components"]["component"][0] == "PC1"
    assert facts["components"]["cumulative"][-1] >= 0.9
    assert all(Path(name).is_file() for name in facts["files"])
    assert set(facts["versions"]) == {"gramian", "python", "numpy", "scipy", "scikit-learn"}
    assert 'row names were taken from column "flower", which holds unique text' in ran.err


def test_kernel_pca(folder, gramian):
    args = "--label species --kernel rbf --gamma 0.1 --n-components 4"
    ran = gramian.works(f"fit flowers.csv {args} -o r --format parquet")
    assert "Kernel PCA with rbf(gamma=0.1)" in ran.out
    names = {path.name for path in Path("r").iterdir()}
    assert names == {
        "model.gramian",
        "scores.parquet",
        "eigenvalues.parquet",
        "scores.svg",
        "scree.svg",
        "summary.md",
    }
    model = package.load("r/model.gramian")
    assert (model.gamma, model.n_components_) == (0.1, 4)


def test_options_reach_the_estimator(folder, gramian):
    options = "--no-center --whiten --ddof 0 --solver covariance --tol 1e-5 --random-state 3"
    gramian.works(f"fit flowers.csv --drop species {options} --memory-limit 1GB -o m.gramian")
    given = package.load("m.gramian").get_params()
    assert given == package.PCA().get_params() | {
        "center": False,
        "whiten": True,
        "ddof": 0,
        "solver": "covariance",
        "tol": 1e-5,
        "random_state": 3,
        "memory_limit": "1GB",
    }


def test_pictures_come_back_as_pictures(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    gramian.works("fit faces.npz::X --rows 0:15 --n-components 3 -o faces/")
    names = {path.relative_to("faces").as_posix() for path in Path("faces").rglob("*.png")}
    assert names == {"components.png", "mean.png"}
    model = package.load("faces/model.gramian")
    mean = np.asarray(Image.open("faces/mean.png"))[::28, ::28]
    low, high = model.mean_.min(), model.mean_.max()  # drawn by its range
    expected = np.rint(255 * (model.mean_.reshape(6, 5) - low) / (high - low))
    np.testing.assert_allclose(mean, expected, atol=1)
    assert read("faces/loadings.csv")[1][0] == "r0c0"
    assert "faces.npz::X" in Path("faces/summary.md").read_text()


def test_rows_without_names_are_numbered_as_in_the_file(folder, gramian):
    np.save("a.npy", np.random.default_rng(0).normal(size=(9, 2)))
    gramian.works("fit a.npy --rows 3:9 -o r")
    assert [row[0] for row in read("r/scores.csv")] == ["row", "3", "4", "5", "6", "7", "8"]


def test_a_second_fit_replaces_the_first_and_nothing_else(folder, gramian):
    pytest.importorskip("PIL.Image")
    gramian.works("fit faces.npz::X --n-components 5 -o r")
    Path("r/notes.txt").write_text("mine")
    gramian.works("fit faces.npz::X --n-components 2 --format parquet -o r")
    assert not Path("r/scores.csv").exists()
    assert Path("r/scores.parquet").exists()
    assert Path("r/notes.txt").read_text() == "mine"


def test_files_of_somebody_else_are_not_replaced(folder, gramian):
    Path("mine").mkdir()
    Path("mine/scores.csv").write_text("precious")
    gramian.refuses(
        "fit flowers.csv --drop species -o mine/",
        1,
        "mine contains scores.csv, which were not written by gramian",
    )
    assert Path("mine/scores.csv").read_text() == "precious"


def test_places_and_tables_that_make_no_sense(folder, gramian):
    for options, message in [
        ("-o a.csv", "ends in .gramian, or a folder of results"),
        ("-o -", "fit writes a .gramian file or a folder"),
        ("-o new.csv/", "is a file"),
        ("-o m.gramian --format csv", "format needs a folder of results. Name one with -o."),
        ("--loadings unit", "loadings needs a folder of results. Name one with -o."),
        ("-o r --format xlsx", "format='xlsx' is not known"),
        ("-o r --loadings big", "loadings='big' is not known"),
        ("-o r --loadings unit --kernel rbf", "loadings applies only to PCA"),
        ("-o r --loadings correlation --no-center", "needs centred data"),
        ("-o no/such/m.gramian", "there is no folder no/such"),
    ]:
        ran = gramian(f"fit flowers.csv --drop species {options}")
        assert ran.code in (1, 2)
        assert ran.out == ""
        assert message in ran.err
        assert len(ran.err.strip().splitlines()) == 1


def test_plan_says_how_without_doing_it(folder, gramian):
    ran = gramian.works("plan flowers.csv --drop species")
    assert ran.out.startswith("Plan: solver 'full' on the data (SVD)")
    facts = gramian("plan flowers.csv --drop species --kernel rbf --json").json
    assert facts["plan"]["operator"] == "centered kernel"
    assert facts["data"]["columns"] == 3


def test_the_command_in_the_summary_repeats_the_fit(folder, gramian):
    Path("my data.csv").write_bytes(Path("flowers.csv").read_bytes())
    args = "'my data.csv' --drop species --n-components 2 --scale unit --loadings correlation"
    gramian.works(f"fit {args} -o r")
    page = Path("r/summary.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("gramian fit"))
    assert line == (
        "gramian fit 'my data.csv' --drop species --n-components 2 --scale unit --loadings correlation -o r "
        "--as-is"
    )


def test_columns_are_printed_with_the_texts_of_their_questions(folder, gramian):
    rows = [f"{i * i % 7},{i % 5},{i % 3}" for i in range(20)]
    Path("survey.csv").write_text("\n".join(["Q1,Q2,Q3", "How old are you?,How tall?,", *rows]))
    output = gramian.works("fit survey.csv --n-components 2 --as-is").out
    assert "\n  Q1: How old are you?\n" in output
    assert output.index("Columns: ") < output.index("  Q1: ") < output.index("largest loadings")


def test_long_tables_of_components_are_cut(folder, gramian):
    gramian.works("fit faces.npz::X --n-components 20 -o m.gramian")
    lines = component_table(package.load("m.gramian"), 3)
    assert len(lines) == 5
    assert lines[-1] == "... and 17 more"


@pytest.mark.walk
def test_the_page_says_what_every_option_of_the_data_did(folder, gramian, monkeypatch):
    monkeypatch.setattr("gramian.report.results._write_figures", lambda *arguments: None)
    Image = pytest.importorskip("PIL.Image")
    Path("pictures").mkdir()
    for i, picture in enumerate(np.load("faces.npz")["X"]):
        Image.fromarray(picture).save(f"pictures/{i}.png")
    Path("holed.csv").write_text("x,y,z\n1,2,-\n2,1,4\n5,4,3\n2,2,9\n")
    Path("titled.csv").write_text("Leaves\nx,y\n1,2\n2,1\n5,4\n9,9\n")
    Path("limits.csv").write_text("x,y\n1,<0.5\n2,1\n5,4\n9,9\n")
    Path("answers.csv").write_text("x,y\nno,yes\nmaybe,no\nyes,yes\nno,maybe\n")
    Path("slips.csv").write_text("x,y\n1,O.5\n2,1\n5,4\n9,9\n")
    Path("long.csv").write_text(
        "id,name,value\n" + "".join(f"r{i // 2},{'xy'[i % 2]},{i * i}\n" for i in range(12))
    )
    Path("kinds.csv").write_text("flower,kind\n" + "".join(f"f{i},{'uv'[i % 2]}\n" for i in range(30)))
    flowers, holed = "flowers.csv --drop species", "holed.csv --na-values -"
    from bed_reader import to_bed

    calls = np.random.default_rng(0).binomial(2, 0.4, (30, 9)).astype("f4")
    to_bed("calls.bed", calls, properties={"chromosome": ["1"] * 9, "bp_position": list(range(1, 10))})
    told = {
        "rows": [(f"{flowers} --rows 2:20", "rows 2:20 were used, counted from 0")],
        "exclude": [(f"{flowers} --exclude species=setosa,3", "rows were left out: 'species=setosa', '3'")],
        "transform": [(f"{holed} --missing mean --transform sqrt", "numbers became their square roots")],
        "columns": [("flowers.csv --columns width,length", "columns 'width', 'length' were used")],
        "drop": [(flowers, "'species' was left out")],
        "id": [(f"{flowers} --id flower", "row names were taken from column 'flower'")],
        "label": [("flowers.csv --label species", "'species' was used as labels")],
        "weights": [(f"{flowers} --weights width", "rows were weighted by column 'width'")],
        "labels_from": [(f"{flowers} --labels-from kinds.csv", "labels were joined from kinds.csv")],
        "transpose": [(f"{flowers} --transpose", "rows and columns were swapped")],
        "size": [("pictures --size 4x3", "pictures were resized to 4 x 3 pixels")],
        "na_values": [(f"{holed} --missing mean", "missing values were written as '-'")],
        "header": [("titled.csv --header 2", "the header was line 2")],
        "skip_footer": [("titled.csv --skip-footer 1", "1 last line was left out")],
        "answers": [("answers.csv --answers no,maybe,yes", "'no', 'maybe', 'yes' became 1 to 3")],
        "skip_after_header": [(f"{flowers} --skip-after-header 1", "1 line below the header left out")],
        "below_limit": [("limits.csv --below-limit half", "entries below a limit were read as half")],
        "slips": [("slips.csv --slips read", "slips in columns of numbers were read as meant")],
        "corrections": [(f"{flowers} --corrections 3:width=2.5", "cells were corrected: '3:width=2.5'")],
        "pivot": [("long.csv --pivot id,name,value", "rows of one 'id' became one row")],
        "missing": [
            (f"{holed} --missing mean", "1 missing value in 1 column was filled with column means"),
            (f"{holed} --missing drop-rows", "rows with missing values were dropped: 1 of 4"),
            (f"{holed} --missing drop-columns", "columns with missing values were dropped: 1 of 3"),
        ],
    }
    assert set(told) == {one.name for one in parameters_of(reading)}
    for arguments, words in chain.from_iterable(told.values()):
        gramian.works(f"fit {arguments} --whiten -o r")
        paragraph = Path("r/summary.md").read_text().partition("## For a methods section")[2]
        assert words in paragraph
        assert "Scores were scaled to unit variance" in paragraph


def test_sparse_matrices_and_genotypes_are_fitted_like_tables(folder, gramian):
    from bed_reader import to_bed
    from scipy import sparse

    X = sparse.random(60, 12, 0.3, format="csr", random_state=0)
    sparse.save_npz("terms.npz", X)
    ran = gramian.works("fit terms.npz --n-components 2 --loadings correlation -o results/")
    assert "PCA of 60 rows x 12 columns" in ran.out
    assert package.load("results/model.gramian").transform(X).shape == (60, 2)
    gramian.works("reconstruct results/ terms.npz -o back.npy")
    back = package.load("results/model.gramian")
    assert np.allclose(np.load("back.npy"), back.inverse_transform(back.transform(X)))
    G = np.random.default_rng(0).binomial(2, 0.4, (30, 9)).astype("f4")
    G[2, 3] = np.nan
    to_bed("study.bed", G)
    ran = gramian("fit study.bed --scale genotype --n-components 2 -o people/")
    assert "1 missing value in 1 column was filled with column means" in ran.err
    assert "sqrt(2 p (1 - p))" in (folder / "people" / "summary.md").read_text()


def test_a_fit_says_what_was_used_and_which_columns_load(folder, gramian):
    text = "site,a,b,flat,kind\n" + "".join(f"s{i},{i},{-2 * i + i % 3},7,{'xy'[i % 2]}\n" for i in range(9))
    (folder / "t.csv").write_text(text)
    ran = gramian("fit t.csv --label kind --scale unit --as-is")
    used, loaded, rest = ran.out.split("\n\n")
    answer, _, *others = used.splitlines()
    assert answer == (
        "The groups of `kind` are not told apart by the first components. "
        "PC1 (99.39 % of the variance) rises with `a` and falls with `b`."
    )
    assert others == [
        "Columns: 'a', 'b', 'flat'",
        "Read: 'kind' was used as labels",
        "Constant: 'flat'; without variance, so not scaled",
    ]
    first, *others = (line.split("  ")[-1] for line in loaded.splitlines()[1:])
    assert first == "a +0.71, b -0.71"
    # Beyond the rank no direction is better than another.
    assert others[-1] == "100.00 %"
    assert [line[:5] for line in rest.splitlines()] == ["Note:", "9 row", "The e", "Plan:"]
    assert "9 rows are few for 2 components" in rest
    every = gramian("fit t.csv --label kind --scale unit --verbose --as-is").out
    assert all(word in every for word in ("Why:", "Certificate: holds", "Forming the matrix adds", "a +0.71"))
    kernel = gramian("fit t.csv --drop kind --kernel rbf --gamma median").out
    assert "loadings" not in kernel
    assert max(len(digits) for digits in re.findall(r"gamma=0\.0*(\d+)", kernel)) <= 6
