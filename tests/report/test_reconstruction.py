from pathlib import PurePosixPath

import numpy as np
import pytest

import gramian
from gramian.errors import FileError
from gramian.report import pictures
from gramian.report.pictures import Errors, check_picture_folder, picture_names, rebuilt
from gramian.tables.table import Table


def test_errors_are_those_of_the_definition():
    errors = Errors(np.array([1.0, 2.0]))
    errors.add(np.array([[4.0, 6.0], [1.0, 2.0], [1.0, 2.0]]), np.array([[4.0, 5.0], [1.0, 2.0], [2.0, 2.0]]))
    assert errors.relative.tolist() == [0.2, 0.0, np.inf]
    assert errors.mean_square == pytest.approx(2 / 3)
    assert errors.percentiles()["50 %"] == 0.2


def test_blocks_are_one_whole(monkeypatch):
    X = np.random.default_rng(0).normal(size=(11, 4))
    model = gramian.PCA().fit(X)
    monkeypatch.setattr(pictures, "BLOCK_BYTES", 8 * 4 * 3)
    errors = Errors(model.mean_)
    back = np.concatenate([block for _, block in rebuilt(model, Table(X), 4, errors)])
    np.testing.assert_allclose(back, X, atol=1e-12)
    assert len(errors.squares) == 11


def test_names_stay_inside_the_folder():
    for name in ["../../etc/passwd", "/abs/a.png", "a\\..\\b", "...", "", "C:\\x.png", "a\0b", "."]:
        (result,) = picture_names([name])
        path = PurePosixPath(result)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert "\\" not in result
        assert "\0" not in result
        assert path.suffix == ".png"


def test_names_differ_without_case_and_a_folder_in_use_is_refused(tmp_path):
    names = picture_names(["a.png", "A.jpg", "a", "comparison"])
    assert len({name.casefold() for name in names} | {"comparison.png"}) == 5
    check_picture_folder(tmp_path, "list.csv")
    (tmp_path / "a.png").write_text("")
    with pytest.raises(FileError, match=r"is not empty, and its pictures could be overwritten\. Name"):
        check_picture_folder(tmp_path, "list.csv")
