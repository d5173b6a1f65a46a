import csv
import io
from pathlib import Path

import numpy as np
import pytest

import gramian as package


def flowers():
    return package.scan("new.csv", label="species").read()


def numbers(rows, first):
    return np.array([[float(value) for value in row[first:]] for row in rows])


def test_scores_in_every_format(folder, gramian, flower_model):
    for target in ["scores.csv", "scores.parquet", "scores.npy", "-"]:
        ran = gramian("transform", flower_model, "new.csv", "--label", "species", "-o", target)
        assert ran.code == 0, ran.err
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


def test_a_results_folder_is_a_model_too(folder, gramian):
    assert gramian("fit", "flowers.csv", "--drop", "species", "-o", "r").code == 0
    ran = gramian("transform", "r", "new.csv", "--drop", "species")
    assert ran.code == 0
    assert ran.out.startswith("name,PC1,PC2,PC3\n")


def test_transform_as_json(folder, gramian, flower_model):
    ran = gramian("transform", flower_model, "new.csv", "--label", "species", "-o", "s.csv", "--json")
    assert ran.json == {"rows": 5, "components": 3, "files": ["s.csv"]}


def test_rebuilt_rows_equal_the_definition(folder, gramian, flower_model):
    args = ("--label", "species", "--components", 1)
    ran = gramian("reconstruct", flower_model, "new.csv", *args, "-o", "back.csv")
    assert ran.code == 0
    model, X = package.load(flower_model), flowers().values
    first = model.components_[:1]
    expected = model.mean_ + (X - model.mean_) @ first.T @ first
    rows = list(csv.reader(io.StringIO(Path("back.csv").read_text())))
    assert rows[0] == ["name", "species", "length", "width", "height"]
    np.testing.assert_allclose(numbers(rows[1:], 2), expected, atol=1e-12)
    assert ran.out == ""
    assert "5 rows rebuilt from 1 components" in ran.err
    facts = gramian("reconstruct", flower_model, "new.csv", *args, "-o", "back.npy", "--json").json
    error = np.linalg.norm(X - expected, axis=1) / np.linalg.norm(X - model.mean_, axis=1)
    assert facts["relative_error_percentiles"]["50 %"] == pytest.approx(np.median(error))
    assert facts["mean_square_error"] == pytest.approx(np.sum((X - expected) ** 2, axis=1).mean())


def test_all_components_give_everything_back(folder, gramian, flower_model):
    ran = gramian("reconstruct", flower_model, "new.csv", "--label", "species", "-o", "-")
    rows = list(csv.reader(io.StringIO(ran.out)))
    np.testing.assert_allclose(numbers(rows[1:], 2), flowers().values, atol=1e-12)


def test_whitened_scores_lead_back_too(folder, gramian):
    assert gramian("fit", "flowers.csv", "--drop", "species", "--whiten", "-o", "w.gramian").code == 0
    ran = gramian("reconstruct", "w.gramian", "new.csv", "--drop", "species", "-o", "-")
    rows = list(csv.reader(io.StringIO(ran.out)))
    np.testing.assert_allclose(numbers(rows[1:], 1), flowers().values, atol=1e-10)


def test_pictures_come_back_as_png(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    assert gramian("fit", "faces.npz::X", "--rows", "0:15", "-o", "m.gramian").code == 0
    ran = gramian("reconstruct", "m.gramian", "faces.npz::X", "--rows", "12:17", "-o", "back/")
    assert ran.code == 0
    names = sorted(path.name for path in Path("back").iterdir())
    assert names == [*(f"{i}.png" for i in range(12, 17)), "comparison.png", "reconstruction.csv"]
    original = np.load("faces.npz")["X"]
    # A picture that was fitted comes back exactly.
    np.testing.assert_array_equal(np.asarray(Image.open("back/12.png")), original[12])
    again = gramian("reconstruct", "m.gramian", "faces.npz::X", "--rows", "12:17", "-o", "back/")
    assert again.code == 0


def test_pictures_of_another_size_are_refused_with_the_size(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    Path("new").mkdir()
    Image.fromarray(np.zeros((5, 6), np.uint8)).save("new/0.png")
    assert gramian("fit", "faces.npz::X", "-o", "m.gramian").code == 0
    ran = gramian("transform", "m.gramian", "new")
    assert ran.code == 1
    assert "are 6x5 (width x height), and those the model was fitted on 5x6" in ran.err
    assert "(--size 5x6)" in ran.err
    assert gramian("transform", "m.gramian", "new", "--size", "5x6").code == 0
    np.save("turned.npy", np.zeros((2, 5, 6), np.uint8))
    ran = gramian("transform", "m.gramian", "turned.npy")
    assert (ran.code, "Resize them first." in ran.err) == (1, True)


def test_pictures_can_come_back_as_numbers(folder, gramian):
    assert gramian("fit", "faces.npz::X", "-o", "m.gramian").code == 0
    assert gramian("reconstruct", "m.gramian", "faces.npz::X", "-o", "back.npy").code == 0
    np.testing.assert_allclose(np.load("back.npy").reshape(20, 6, 5), np.load("faces.npz")["X"], atol=1e-3)


def test_originals_are_not_overwritten(folder, gramian):
    Image = pytest.importorskip("PIL.Image")
    Path("pictures").mkdir()
    for i, picture in enumerate(np.load("faces.npz")["X"]):
        Image.fromarray(picture).save(f"pictures/{i}.png")
    assert gramian("fit", "pictures", "-o", "m.gramian").code == 0
    ran = gramian("reconstruct", "m.gramian", "pictures", "-o", "pictures")
    assert ran.code == 2
    assert "is what is read" in ran.err
    Path("other").mkdir()
    Path("other/1.png").write_text("mine")
    ran = gramian("reconstruct", "m.gramian", "pictures", "-o", "other")
    assert ran.code == 1
    assert "other is not empty" in ran.err


def test_kernel_pca_goes_back_by_pre_images(folder, gramian):
    args = ("--drop", "species", "--kernel", "rbf", "--gamma", "median", "--components", 3)
    assert gramian("fit", "flowers.csv", *args, "-o", "k.gramian").code == 0
    args = ("--drop", "species", "--components", 2)
    ran = gramian("reconstruct", "k.gramian", "new.csv", *args, "-o", "b.npy")
    assert ran.code == 0, ran.err
    assert "5 rows rebuilt from 2 components" in ran.err
    model, X = package.load("k.gramian"), package.scan("new.csv", drop="species").read()
    scores = model.transform(X)
    scores[:, 2:] = 0
    expected = model.inverse_transform(scores)
    np.testing.assert_array_equal(np.load("b.npy"), expected)
    assert f"{np.mean(np.sum((expected - X.values) ** 2, axis=1)):.6g}" in ran.err


def test_a_precomputed_kernel_has_no_way_back(folder, gramian):
    np.save("K.npy", np.eye(4))
    assert gramian("fit", "K.npy", "--kernel", "precomputed", "-o", "k.gramian").code == 0
    ran = gramian("reconstruct", "k.gramian", "K.npy", "-o", "b.npy")
    assert ran.code == 2
    assert "no rows to go back to: a precomputed kernel has no rows" in ran.err
    assert not Path("b.npy").exists()


def test_mistakes(folder, gramian, flower_model):
    for arguments, code, message in [
        (
            ("transform", "m.gramian", "new.csv", "--drop", "species", "-o", "s.xlsx"),
            2,
            "does not end in .csv",
        ),
        (
            ("transform", "m.gramian", "new.csv", "--drop", "species", "--json"),
            2,
            "both write to standard output",
        ),
        (("transform", "m.gramian", "new.csv", "--drop", "species", "-o", "new.csv"), 2, "is what is read"),
        (
            ("transform", "m.gramian", "new.csv", "--drop", "species", "--missing", "mean"),
            2,
            "--missing mean",
        ),
        (("transform", "m.gramian", "new.csv", "--drop", "species,width"), 1, "lack 'width'"),
        (("transform", "nothing.gramian", "new.csv"), 1, "nothing.gramian does not exist"),
        (("transform", "new.csv", "new.csv"), 1, "not a model saved by gramian"),
        (
            ("reconstruct", "m.gramian", "new.csv", "--drop", "species", "-o", "b.csv", "--components", "4"),
            2,
            "from 1 to 3",
        ),
        (("reconstruct", "m.gramian", "new.csv", "--drop", "species", "-o", "b"), 2, "does not end in .csv"),
    ]:
        ran = gramian(*arguments)
        assert ran.code == code
        assert message in ran.err
        assert ran.out == ""


def test_a_folder_of_pictures_is_not_made_of_a_table(folder, gramian):
    assert gramian("fit", "faces.npz::X", "-o", "m.gramian").code == 0
    np.save("flat.npy", np.zeros((3, 30)))
    ran = gramian("reconstruct", "m.gramian", "flat.npy", "-o", "back")
    assert ran.code == 2
    assert "flat.npy is a table" in ran.err
    ran = gramian("reconstruct", "m.gramian", "faces.npz::X", "-o", "-")
    assert ran.code == 2
    assert "PNG files into a folder" in ran.err
