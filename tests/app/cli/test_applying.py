import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramian as package
from gramian.tables.table import Table


def flowers():
    return package.scan("new.csv", label="species").read()


def numbers(rows, first):
    return np.array([[float(value) for value in row[first:]] for row in rows])


def test_scores_in_every_format(folder, gramian, flower_model):
    for target in ["scores.csv", "scores.parquet", "scores.npy", "-"]:
        ran = gramian.works(f"transform {flower_model} new.csv --label species -o {target}")
        expected = package.load(flower_model).transform(flowers())
        if target.endswith("npy"):
            np.testing.assert_array_equal(np.load(target), expected)
            continue
        if target.endswith("parquet"):
            from pyarrow import parquet

            table = parquet.read_table(target).to_pydict()
            assert list(table) == ["name", "species", "PC1", "PC2", "PC3"]
            np.testing.assert_array_equal(table["PC2"], expected[:, 1])
            continue
        rows = list(csv.reader(io.StringIO(ran.out if target == "-" else Path(target).read_text())))
        assert rows[0] == ["name", "species", "PC1", "PC2", "PC3"]
        assert rows[1][:2] == ["f0", "setosa"]
        np.testing.assert_array_equal(numbers(rows[1:], 2), expected)


def test_transform_as_json(folder, gramian, flower_model):
    ran = gramian(f"transform {flower_model} new.csv --label species -o s.csv --json")
    note = 'row names were taken from column "flower", which holds unique text'
    assert ran.json == {"rows": 5, "components": 3, "files": ["s.csv"], "notes": [note]}


def test_rebuilt_rows_equal_the_definition(folder, gramian, flower_model):
    args = "--label species --n-components 1"
    ran = gramian.works(f"reconstruct {flower_model} new.csv {args} -o back.csv")
    model, X = package.load(flower_model), flowers().values
    first = model.components_[:1]
    expected = model.mean_ + (X - model.mean_) @ first.T @ first
    rows = list(csv.reader(io.StringIO(Path("back.csv").read_text())))
    assert rows[0] == ["name", "species", "length", "width", "height"]
    np.testing.assert_allclose(numbers(rows[1:], 2), expected, atol=1e-12)
    assert ran.out == ""
    assert "5 rows rebuilt from 1 components" in ran.err
    facts = gramian(f"reconstruct {flower_model} new.csv {args} -o back.npy --json").json
    error = np.linalg.norm(X - expected, axis=1) / np.linalg.norm(X - model.mean_, axis=1)
    assert facts["relative_error_percentiles"]["50 %"] == pytest.approx(np.median(error))
    assert facts["mean_square_error"] == pytest.approx(np.sum((X - expected) ** 2, axis=1).mean())
    gramian.works("fit flowers.csv --drop species --scale unit -o u.gramian")
    facts = gramian("reconstruct u.gramian new.csv --drop species -k 1 -o back.npy --json").json
    errors = package.load("u.gramian").reconstruction_errors(flowers())[:, 1]
    assert facts["mean_square_error"] == pytest.approx(errors.mean())


def test_whitened_scores_lead_back_too(folder, gramian):
    gramian.works("fit flowers.csv --drop species --whiten -o w.gramian")
    ran = gramian("reconstruct w.gramian new.csv --drop species -o -")
    rows = list(csv.reader(io.StringIO(ran.out)))
    np.testing.assert_allclose(numbers(rows[1:], 1), flowers().values, atol=1e-10)


def test_pictures_come_back_as_png(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    gramian.works("fit faces.npz::X --rows 0:15 --n-components 15 -o m.gramian")
    gramian.works("reconstruct m.gramian faces.npz::X --rows 12:17 -o back/")
    names = sorted(path.name for path in Path("back").iterdir())
    assert names == [*(f"{i}.png" for i in range(12, 17)), "comparison.png", "reconstruction.csv"]
    original = np.load("faces.npz")["X"]
    # A picture that was fitted comes back exactly.
    np.testing.assert_array_equal(np.asarray(Image.open("back/12.png")), original[12])
    gramian.works("reconstruct m.gramian faces.npz::X --rows 12:17 -o back/")


def test_pictures_of_another_size_are_refused_with_the_size(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    Path("new").mkdir()
    Image.fromarray(np.zeros((5, 6), np.uint8)).save("new/0.png")
    gramian.works("fit faces.npz::X --n-components 20 -o m.gramian")
    gramian.refuses(
        "transform m.gramian new",
        1,
        "are 6x5 (width x height), but the model was fitted on 5x6",
        "with size='5x6'",
    )
    gramian.works("transform m.gramian new --size 5x6")
    np.save("turned.npy", np.zeros((2, 5, 6), np.uint8))
    gramian.refuses("transform m.gramian turned.npy", 1, "Resize them first.")


def test_pictures_can_come_back_as_numbers(folder, gramian):
    gramian.works("fit faces.npz::X --n-components 20 -o m.gramian")
    gramian.works("reconstruct m.gramian faces.npz::X -o back.npy")
    np.testing.assert_allclose(np.load("back.npy").reshape(20, 6, 5), np.load("faces.npz")["X"], atol=1e-3)


def test_pictures_of_others_are_not_overwritten(folder, gramian):
    gramian.works("fit faces.npz::X -o m.gramian")
    Path("other").mkdir()
    Path("other/1.png").write_text("mine")
    gramian.refuses("reconstruct m.gramian faces.npz::X -o other", 1, "other is not empty")


def test_kernel_pca_goes_back_by_pre_images(folder, gramian):
    args = "--drop species --kernel rbf --gamma median --n-components 3"
    gramian.works(f"fit flowers.csv {args} -o k.gramian")
    args = "--drop species --n-components 2"
    ran = gramian.works(f"reconstruct k.gramian new.csv {args} -o b.npy")
    assert "5 rows rebuilt from 2 components" in ran.err
    model, X = package.load("k.gramian"), package.scan("new.csv", drop="species").read()
    scores = model.transform(X)
    scores[:, 2:] = 0
    expected = model.inverse_transform(scores)
    np.testing.assert_array_equal(np.load("b.npy"), expected)
    assert f"{np.mean(np.sum((expected - X.values) ** 2, axis=1)):.6g}" in ran.err


def test_a_precomputed_kernel_has_no_way_back(folder, gramian):
    np.save("K.npy", np.eye(4))
    gramian.works("fit K.npy --kernel precomputed -o k.gramian")
    gramian.refuses(
        "reconstruct k.gramian K.npy -o b.npy",
        2,
        "The model has no pre-images: a precomputed kernel has no rows",
    )
    assert not Path("b.npy").exists()


def test_mistakes(folder, gramian, flower_model):
    for arguments, code, message in [
        ("transform m.gramian new.csv --drop species -o s.xlsx", 2, "does not end in .csv"),
        ("transform m.gramian new.csv --drop species --json", 2, "both write to standard output"),
        ("transform m.gramian new.csv --drop species -o new.csv", 2, "is an input of this command"),
        ("transform m.gramian new.csv --drop species --missing mean", 2, "missing='mean'"),
        ("transform m.gramian new.csv --drop species,width", 1, "lack 'width'"),
        ("transform nothing.gramian new.csv", 1, "nothing.gramian does not exist"),
        ("transform new.csv new.csv", 1, "not a model or gallery saved by gramian"),
        ("reconstruct m.gramian new.csv --drop species -o b.csv --n-components 4", 2, "from 1 to 3"),
        ("reconstruct m.gramian new.csv --drop species -o b", 2, "does not end in .csv"),
    ]:
        gramian.refuses(arguments, code, message)


def test_a_folder_of_pictures_is_not_made_of_a_table(folder, gramian):
    gramian.works("fit faces.npz::X --n-components 20 -o m.gramian")
    np.save("flat.npy", np.zeros((3, 30)))
    gramian.refuses("reconstruct m.gramian flat.npy -o back", 2, "flat.npy is a table")
    gramian.refuses("reconstruct m.gramian faces.npz::X -o -", 2, "PNG files into a folder")


def test_holes_are_filled_with_the_means_of_the_fitted_data(folder, gramian):
    """Whatever the model, the command, and the order of the columns; and it is said."""
    lines = Path("flowers.csv").read_text().splitlines()
    Path("holed.csv").write_text("\n".join([*lines, "last,setosa,NA,1,2"]) + "\n")
    Path("new.csv").write_text("width,flower,length,height\n1,a,2,3\n,b,,4\nNA,c,NA,NA\n")
    options = "--drop species --missing mean"
    for command in ("fit --scale unit", "fit --kernel rbf", "fit --no-center", "whiten"):
        ran = gramian(f"{command} holed.csv {options} -o m.gramian")
        assert (ran.code, "1 missing value in 1 column was filled with column means" in ran.err) == (0, True)
        model = package.load("m.gramian")
        means = package.scan("flowers.csv", drop="species").read().values.mean(axis=0)
        np.testing.assert_allclose(model.column_means_[0], means[0], rtol=1e-14)
        filled = np.array([[2, 1, 3], [*model.column_means_[:2], 4], model.column_means_])
        filled = Table(filled, tuple(model.feature_names_in_))
        ran = gramian.works("transform m.gramian new.csv -o s.npy")
        assert "5 missing values in 3 columns were filled with the means of the fitted data" in ran.err
        assert "1 row without any value was filled with means only: row 2 (named 'c')" in ran.err
        np.testing.assert_array_equal(np.load("s.npy"), model.transform(filled))
        np.testing.assert_array_equal(model.transform(Path("new.csv")), np.load("s.npy"))
        asked = gramian("transform m.gramian new.csv --missing mean -o t.npy")
        assert (asked.code, Path("t.npy").read_bytes()) == (0, Path("s.npy").read_bytes())
        ran = gramian("transform m.gramian new.csv --missing drop-rows -o s.npy")
        assert (ran.code, len(np.load("s.npy"))) == (0, 1)
        if command != "whiten":
            back = gramian("reconstruct m.gramian new.csv -o b.csv")
            assert (back.code, Path("b.csv").read_text().startswith("name,length,width,height\n")) == (
                0,
                True,
            )
        if hasattr(model, "denoise"):
            gramian.works("denoise m.gramian new.csv -o b.npy")
            np.testing.assert_array_equal(np.load("b.npy"), model.denoise(filled))


def test_a_model_without_means_says_what_to_do_about_holes(folder, gramian, flower_model):
    Path("holed.csv").write_text("flower,length,width,height\na,1,,2\nb,1,2,3\n")
    gramian.refuses(
        "transform m.gramian holed.csv -o s.npy",
        1,
        "Input X contains NaN: row 0 (named 'a'), column 1 ('width')",
    )
    refused = gramian("transform m.gramian holed.csv --missing mean -o s.npy")
    assert 'was fitted without missing="mean", so it has no means to fill with' in refused.err
    # What it advises works.
    gramian.works("transform m.gramian holed.csv --missing drop-rows -o s.npy")
    options = "--label species --missing mean"
    gramian.works(f"fit flowers.csv {options} -o m.gramian")
    gramian.works("transform m.gramian holed.csv -o s.npy")
    # Columns that the model does not use may have holes.
    Path("holed.csv").write_text("flower,length,width,height,more\na,1,1,2,\nb,1,2,3,4\n")
    gramian("fit flowers.csv --label species -o m.gramian")
    gramian.works("transform m.gramian holed.csv -o s.npy")


def test_holes_in_arrays_without_names_are_filled_too(folder, gramian):
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(20, 3)), rng.integers(0, 9, size=(20, 2, 3))):
        np.save("a.npy", X)
        holed = X[:4].astype(float)
        holed[1, 1] = np.nan
        np.save("b.npy", holed)
        gramian.works("fit a.npy --missing mean -o m.gramian")
        gramian.works("transform m.gramian b.npy -o s.npy")
        holed[1, 1] = X.mean(axis=0)[1]
        np.testing.assert_allclose(
            np.load("s.npy"), package.load("m.gramian").transform(holed), rtol=0, atol=1e-12
        )
    np.save("c.npy", np.array([[1.0, np.nan]]))
    gramian.refuses(
        "transform m.gramian c.npy -o s.npy", 1, "c.npy has 2 columns, but the model was fitted on 6."
    )


def test_what_is_written_is_said(folder, gramian, flower_model):
    gramian.works("fit flowers.csv --label species --kernel rbf -o k.gramian")
    for command in ("transform m", "reconstruct m", "denoise k", "monitor m"):
        ran = gramian(f"{command}.gramian new.csv --label species -o s.csv")
        assert "Written: s.csv" in ran.out + ran.err, command
        piped = gramian(f"{command}.gramian new.csv --label species -o -")
        assert "Written" not in piped.out + piped.err
    assert gramian("transform m.gramian new.csv --label species -o s.csv").out == (
        "Written: s.csv, 5 rows x 3 components\n"
    )


def test_standard_errors_of_genotypes(tmp_path, monkeypatch, gramian):
    bed = pytest.importorskip("bed_reader")
    monkeypatch.chdir(tmp_path)
    X, names = np.random.default_rng(0).integers(0, 3, (30, 6)).astype("f4"), [f"rs{i}" for i in range(6)]
    bed.to_bed("x.bed", X, properties={"sid": names, "allele_1": ["A"] * 6, "allele_2": ["G"] * 6})
    gramian.works("fit x.bed --n-components 2 -o m.gramian")
    swapped = {"sid": names, "allele_1": ["G"] * 6, "allele_2": ["A"] * 6}
    bed.to_bed("y.bed", 2 - X, properties=swapped)
    gramian.refuses("transform m.gramian y.bed -o y.npy", 1, "6 variants count another allele than the")
    X[::2, 5] = np.nan
    bed.to_bed("y.bed", X, properties={"sid": names, "allele_1": ["A"] * 6, "allele_2": ["G"] * 6})
    model = package.load("m.gramian")
    gramian.works("transform m.gramian y.bed --standard-errors -o e.csv")
    written, quality = pd.read_csv("e.csv"), model.projection_quality(Table(X, tuple(names)))
    assert list(written)[1:] == ["PC1", "PC2", "PC1_standard_error", "PC2_standard_error", "observed"]
    expected = np.c_[quality.scores, quality.standard_errors, quality.observed]
    assert np.allclose(written.iloc[:, 1:], expected, rtol=0, atol=1e-5)
    assert (expected[::2, 2:4] > 0).all()
    Y = np.random.default_rng(0).normal(size=(20, 3))
    np.savetxt("z.csv", Y, delimiter=",", header="a,b,c", comments="")
    gramian.works("fit z.csv --kernel rbf -o k.gramian")
    gramian.refuses("transform k.gramian z.csv --standard-errors", 2, "standard_errors are those of a PCA")
