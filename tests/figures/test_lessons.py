"""Figures of kernels, whitening, selections and directions."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

import gramian
from gramian import figures
from gramian.errors import DataError, ParameterError
from gramian.statistics.candidates import Candidate, Choice, Selection
from helpers import boxes_of


def test_contours_of_a_circle_are_circles_in_the_component_that_is_the_radius():
    X, y = make_circles(200, noise=0.02, factor=0.4, random_state=0)
    models = [gramian.PCA(2).fit(X), gramian.KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)]
    data = figures.kernel_contours_data(models, X, hue=y)
    assert [len(row) for row in data.panels] == [2, 3]
    assert data.panels[0][0].startswith("1. PCA, PC1")
    grid = np.stack([data.columns["x"], data.columns["y"]], axis=1)
    np.testing.assert_allclose(data.columns[data.panels[1][2]], models[1].transform(grid)[:, 2])
    axes = figures.kernel_contours(models, X, hue=y)
    spreads = {}
    for ax in axes[1]:
        *_, lines = ax.collections
        radius = np.hypot(*lines.get_paths()[-1].vertices.T)  # of the highest level
        spreads[ax.get_title(loc="left")] = radius.std()
        assert ax.get_box_aspect() == 1
    assert [spread < 0.05 for spread in spreads.values()] == [False, False, True]
    with pytest.raises(DataError, match=r"Contours need a model of two columns, and this one has 3\."):
        figures.kernel_contours(gramian.PCA(2).fit(np.eye(3)), np.eye(3))


def test_no_panel_of_contours_is_alone_in_a_row():
    X = make_circles(60, noise=0.02, factor=0.4, random_state=0)[0]
    pca, kernel = gramian.PCA(2).fit(X), gramian.KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)
    assert figures.kernel_contours([pca, kernel], X, components=4).shape == (3, 2)
    assert figures.kernel_contours([gramian.PCA(1).fit(X), kernel], X, components=3).shape == (2, 2)


def test_whitening_before_and_after(X):
    X = X @ np.array([[1, 0.9, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    data = figures.whitening_data(gramian.Whitener().fit(X), X)
    np.testing.assert_array_equal(data.columns["before_y"], X[:, 1])
    assert np.corrcoef(data.columns["after_x"], data.columns["after_y"])[0, 1] == pytest.approx(0, abs=1e-9)
    zca = gramian.Whitener("zca").fit(X)
    columns = figures.whitening_data(zca, X, components=(2, 3)).columns
    np.testing.assert_allclose(columns["after_x"], zca.transform(X)[:, 1])
    axes = figures.whitening(zca, X, components=(2, "3"))
    np.testing.assert_allclose(axes[0, 1].collections[0].get_offsets()[:, 1], columns["after_y"])
    for wrong in ((1, 5), (1,)):
        with pytest.raises(
            ParameterError, match=r"components=.* (4 columns are whitened|are not two columns)"
        ):
            figures.whitening(zca, X, components=wrong)


def test_selection_curves():
    tried = tuple(Candidate.in_folds(f"{k} of them", k, np.array([0.5, 0.7]) + 0.1 * k) for k in (1, 2, 3))
    result = Selection(tried, "Forward selection", Choice(1, "the smallest"))
    data = figures.selection_data(result)
    assert data.columns["chosen"].tolist() == [False, True, False]
    np.testing.assert_allclose(data.columns["standard_error"], 0.1)
    ax = figures.selection(result)
    assert ax.lines[-1].get_xydata().tolist() == [[2, data.columns["mean"][1]]]
    candidates = (Candidate("linear", None, 0.5), Candidate("rbf", None, 0.8))
    ax = figures.selection(Selection(candidates, "Kernels", Choice(1, "the best")))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["linear", "rbf"]
    assert ax.lines[-1].get_xydata().tolist() == [[0.8, 1]]
    with pytest.raises(DataError, match=r"There is no selection to draw\. A filter compares numbers"):
        figures.selection(gramian.PCA(1).fit(np.arange(12.0).reshape(6, 2)))


POINTS = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]], dtype=float)


@pytest.mark.parametrize("given", [{"ddof": 0}, {"scale": "unit", "whiten": True}, {"center": False}])
def test_directions_have_the_length_of_the_deviation_and_meet_their_points_at_right_angles(given):
    model = gramian.PCA(**given).fit(POINTS)
    data = figures.directions_data(model, POINTS, hue=["a", "b"] * 4)
    np.testing.assert_allclose(data.values, POINTS / (1 if model.scale_ is None else model.scale_))
    first, second = model.components_
    np.testing.assert_allclose((data.values - data.onto) @ first, 0, atol=1e-12)
    np.testing.assert_allclose((data.onto - data.onto[0]) @ second, 0, atol=1e-12)
    lengths = [np.linalg.norm(tip - data.mean) for tip in data.arrows.values()]
    np.testing.assert_allclose(lengths, np.sqrt(model.explained_variance_))
    np.testing.assert_allclose(data.columns["PC1"], (data.onto - data.mean) @ first)


def test_directions_are_drawn_with_equal_units_and_names_off_the_points():
    model = gramian.PCA().fit(POINTS)
    upper = figures.directions(model, POINTS, hue=["a", "b"] * 4)
    upper.figure.draw_without_rendering()
    across, up = np.ptp(upper.transData.transform([[0, 0], [1, 1]]), axis=0)
    assert across == pytest.approx(up, rel=0.01)  # a right angle looks right
    (labels,) = [artist for artist in upper.get_children() if hasattr(artist, "drawn")]
    assert {text for text, _ in boxes_of(labels)} == {"PC1", "PC2"}
    for place in upper.transData.transform(POINTS):
        assert not any(box.contains(*place) for _, box in boxes_of(labels))


def test_directions_are_of_two_columns(X):
    for other in (gramian.PCA(2).fit(np.eye(3)), gramian.Whitener().fit(X[:, :2])):
        with pytest.raises(DataError, match="Directions are drawn for a PCA of two columns,"):
            figures.directions(other, X)


def test_figures_of_rows_read_a_file(tmp_path, X):
    np.save(tmp_path / "x.npy", X[:, :2])
    rows, scan = X[:, :2], gramian.scan(tmp_path / "x.npy")
    pca, white = gramian.PCA(1).fit(rows), gramian.Whitener().fit(rows)
    for drawn, model in (
        (figures.kernel_contours_data, gramian.KernelPCA(2, kernel="rbf").fit(rows)),
        (figures.directions_data, pca),
        (figures.whitening_data, white),
        (figures.contribution_map_data, gramian.Monitor(pca).fit(rows)),
    ):
        of_rows, of_file = (drawn(model, some).columns for some in (rows, scan))
        for name, column in of_rows.items():
            np.testing.assert_array_equal(column, of_file[name])
