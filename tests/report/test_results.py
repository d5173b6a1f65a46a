import numpy as np
import pytest

import gramian
from gramian import figures
from gramian.errors import MissingExtraError
from gramian.report import results
from gramian.report.facts import Fitted
from gramian.report.pictures import grey_limits
from gramian.report.results import loadings, write_results
from gramian.tables.table import Table


def fitted(values, **options):
    table = Table(values, picture_shape=values.shape[1:] if values.ndim == 3 else None)
    model = gramian.PCA(2, random_state=0)
    return Fitted(
        model, table, model.fit_transform(table), ("gramian", "fit", "a", "-o", "r"), 0.1, **options
    )


RNG = np.random.default_rng(0)


def test_the_page_is_written_last(tmp_path):
    written = write_results(tmp_path / "r", fitted(RNG.normal(size=(9, 3))))
    assert written.files[0] == "model.gramian"
    assert written.files[-1] == "summary.md"
    assert all((tmp_path / "r" / name).is_file() for name in written.files)


def test_a_stopped_second_fit_leaves_the_results_of_the_first(tmp_path, monkeypatch):
    write_results(tmp_path, fitted(RNG.normal(size=(9, 3))))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def stopped(*_):
        raise KeyboardInterrupt("stopped")

    monkeypatch.setattr(results.tables, "write_table", stopped)
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        write_results(tmp_path, fitted(RNG.normal(size=(9, 3))))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_small_pictures_are_enlarged_for_people(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    write_results(tmp_path, fitted(RNG.normal(size=(9, 8, 8))))
    assert np.asarray(Image.open(tmp_path / "mean.png")).shape == (168, 168)


def test_too_many_loadings_are_left_out_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "MOST_CELLS", 5)
    written = write_results(tmp_path, fitted(RNG.normal(size=(9, 3))))
    assert "loadings.csv" not in written.files
    assert not {"rows.csv", "columns.csv"} & set(written.files)
    text = (tmp_path / "summary.md").read_text()
    assert "No table of loadings was written" in text
    assert '.table("columns")' in text


def test_without_pillow_everything_else_is_written(tmp_path, monkeypatch):
    def missing():
        raise MissingExtraError("images", "pillow", "Writing pictures")

    monkeypatch.setattr(results, "require_pillow", missing)
    written = write_results(tmp_path, fitted(RNG.normal(size=(9, 3, 2))))
    assert not any(name.endswith(".png") for name in written.files)
    assert 'pip install "gramian[images]"' in written.notes[0]
    assert "summary.md" in written.files


def test_without_matplotlib_everything_else_is_written(tmp_path, monkeypatch):
    def missing(name):
        raise MissingExtraError("plots", "matplotlib", "Drawing figures")

    monkeypatch.setattr(figures, "__getattr__", missing)
    written = write_results(tmp_path, fitted(RNG.normal(size=(9, 3))))
    assert not list(tmp_path.glob("*.svg"))
    assert "No figures were written." in written.notes[0]
    assert 'pip install "gramian[plots]"' in (tmp_path / "summary.md").read_text()
    assert {"scores.csv", "loadings.csv", "eigenvalues.csv", "model.gramian"} <= set(written.files)


def test_correlations_of_constant_columns_are_zero_and_grey_has_limits():
    values = RNG.normal(size=(20, 3))
    values[:, 1] = 7
    model = gramian.PCA(2).fit(values)
    result = loadings(model, Table(values), "correlation")
    assert result[1].tolist() == [0, 0]
    expected = np.corrcoef(values[:, 0], model.transform(values)[:, 0])[0, 1]
    assert result[0, 0] == pytest.approx(expected)
    for values, limits in (([3, 9], (3, 9)), ([3, 200], (0, 255))):  # files keep the bytes of photographs
        assert grey_limits(Table(np.array(values, dtype=np.uint8).reshape(2, 1, 1))) == limits
    assert grey_limits(Table(np.array([[[-1.0]], [[2.0]]]))) == (-1.0, 2.0)
