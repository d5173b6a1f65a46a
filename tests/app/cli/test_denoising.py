import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import gramian as package
from commands import called
from gramian.errors import ParameterError

FLOWERS = {"drop": "species"}


def denoise(model, data, reading, out, as_json):
    called("denoise", model=model, data=data, out=out, as_json=as_json, **reading)


@pytest.fixture
def fitted(folder, gramian):
    args = "--drop species --kernel rbf --gamma median --n-components 2"
    gramian.works(f"fit flowers.csv {args} -o k.gramian")
    return "k.gramian"


def expected():
    return package.load("k.gramian").denoise(
        package.scan("new.csv", drop="species").read(), return_error=True
    )


def test_rows_and_their_residuals(fitted, capsys):
    denoise(fitted, "new.csv", FLOWERS, "clean.npy", False)
    rows, residuals = expected()
    np.testing.assert_array_equal(np.load("clean.npy"), rows)
    err = capsys.readouterr().err
    assert (
        "5 rows found from 2 components, by fixed-point: the kernel is a smooth function of the distance"
        in err
    )
    assert f"50 % {np.median(residuals):.4g}" in err


def test_a_table_keeps_the_names_of_rows_and_columns(fitted, capsys):
    denoise(fitted, "new.csv", FLOWERS, "clean.csv", False)
    lines = list(csv.reader(io.StringIO(Path("clean.csv").read_text())))
    assert lines[0] == ["name", "length", "width", "height"]
    assert lines[1][0] == "f0"
    numbers = np.array([[float(v) for v in line[1:]] for line in lines[1:]])
    np.testing.assert_array_equal(numbers, expected()[0])


def test_as_json(fitted, capsys):
    denoise(fitted, "new.csv", FLOWERS, "clean.npy", True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 5
    assert facts["components"] == 2
    assert facts["method"] == "fixed-point"
    assert facts["residual_percentiles"]["100 %"] == expected()[1].max()


def test_pictures_go_to_a_folder(folder, gramian, capsys):
    gramian.works("fit faces.npz::X --kernel poly --n-components 4 -o k.gramian")
    denoise("k.gramian", "faces.npz::X", {"rows": "3:6"}, "clean", False)
    names = sorted(path.name for path in Path("clean").iterdir())
    assert names == ["3.png", "4.png", "5.png", "comparison.png", "reconstruction.csv"]
    assert "by ridge: a search needs a smooth kernel of distances" in capsys.readouterr().err


def test_without_distances_the_rows_are_written_all_the_same(folder, gramian, capsys):
    args = "--drop species --kernel 'rbf(sigma=2) - 0.2*linear' --n-components 2"
    gramian.works(f"fit flowers.csv {args} --repair clip -o k.gramian")
    denoise("k.gramian", "new.csv", FLOWERS, "clean.npy", False)
    assert np.load("clean.npy").shape == (5, 3)
    assert "no distances to report" in capsys.readouterr().err


def test_models_that_have_nothing_to_denoise_with(folder, gramian):
    gramian.works("fit flowers.csv --drop species -o p.gramian")
    with pytest.raises(ParameterError, match=r"denoise needs a kernel PCA, and this is a PCA\. For a PCA"):
        denoise("p.gramian", "new.csv", FLOWERS, "c.npy", False)
    np.save("K.npy", np.eye(4))
    gramian.works("fit K.npy --kernel precomputed -o k.gramian")
    with pytest.raises(ParameterError, match="The model has no pre-images: a precomputed kernel has no"):
        denoise("k.gramian", "K.npy", {}, "c.npy", False)
