"""Figures of kernels, whitening, selections and scores with thresholds."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

import gramian
from gramian import plots
from gramian.analysis.candidates import Candidate, Choice, Selection
from gramian.errors import DataError
from gramian.plots.contours import contour


def test_contours_of_a_circle_are_circles_in_the_component_that_is_the_radius(tmp_path):
    X, y = make_circles(200, noise=0.02, factor=0.4, random_state=0)
    models = [gramian.PCA(2).fit(X), gramian.KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)]
    chart = plots.kernel_contours(models, X, color=y)
    data = {name: np.array(values) for name, values in chart.data.to_pydict().items()}
    panels = list(dict.fromkeys(data["panel"]))
    assert len(panels) == 5
    assert panels[0].startswith("1. PCA, PC1")
    radius = np.hypot(data["x"], data["y"])
    for panel, spread in ((panels[4], 0.05), (panels[2], 0.1)):
        level = np.unique(data["level"][data["panel"] == panel])[-1]
        here = radius[(data["panel"] == panel) & (data["level"] == level)]
        assert (here.std() < spread) == (panel == panels[4])
    chart.save(tmp_path / "a.svg")
    with pytest.raises(DataError, match="model of two columns, and this one has 3"):
        plots.kernel_contours(gramian.PCA(2).fit(np.eye(3)), np.eye(3))


def test_a_contour_is_where_the_level_is():
    xs, ys = np.linspace(-1, 1, 30), np.linspace(-2, 1, 40)
    grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1)
    ends = contour(grid, 2 * grid[..., 0] - grid[..., 1], 0.3)
    np.testing.assert_allclose(2 * ends[:, [0, 2]] - ends[:, [1, 3]], 0.3, atol=1e-12)
    assert len(contour(grid, grid[..., 0], 5.0)) == 0
    ring = contour(grid, np.hypot(*np.moveaxis(grid, -1, 0)), 0.5)
    assert np.abs(np.hypot(ring[:, 0], ring[:, 1]) - 0.5).max() < 0.01
    length = np.hypot(ring[:, 2] - ring[:, 0], ring[:, 3] - ring[:, 1]).sum()
    assert length == pytest.approx(np.pi, rel=0.01)


def test_whitening_before_and_after(X):
    X = X @ np.array([[1, 0.9, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    chart = plots.whitening(gramian.Whitener().fit(X), X)
    data = chart.data.to_pydict()
    np.testing.assert_array_equal(data["before_y"], X[:, 1])
    assert np.corrcoef(data["after_x"], data["after_y"])[0, 1] == pytest.approx(0, abs=1e-9)
    assert "after: variances 1 and 1, covariance 0.000;" in " ".join(chart.title.subtitle)


def test_selection_curves(tmp_path):
    tried = tuple(Candidate.in_folds(f"{k} of them", k, np.array([0.5, 0.7]) + 0.1 * k) for k in (1, 2, 3))
    result = Selection(tried, "Forward selection", Choice(1, "the smallest"))
    data = plots.selection(result).data.to_pydict()
    assert data["chosen"] == [False, True, False]
    np.testing.assert_allclose(np.subtract(data["high"], data["mean"]), 0.1)
    assert plots.selection(result).to_dict()["layer"][1]["mark"]["type"] == "line"
    one = Selection(
        (Candidate("linear", None, 0.5), Candidate("rbf", None, 0.8)), "Kernels", Choice(1, "the best")
    )
    chart = plots.selection(one)
    assert len(chart.to_dict()["layer"]) == 2
    chart.save(tmp_path / "a.svg")
    with pytest.raises(DataError, match="no selection to draw"):
        plots.selection(gramian.PCA(1).fit(np.arange(12.0).reshape(6, 2)))


def test_scores_with_thresholds():
    both = plots.face_scores({"same": [0.9, 0.8], "others": [0.1]}, {"accept": 0.5}, title="similarity")
    assert set(both.data["group"].to_pylist()) == {"same", "others"}
    assert len(both.to_dict()["layer"]) == 3
    with pytest.raises(DataError, match="A group has no scores"):
        plots.face_scores({"same": []})
