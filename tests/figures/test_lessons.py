"""Figures of kernels, whitening, selections and scores with thresholds."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

import gramian
from gramian import figures
from gramian.errors import DataError
from gramian.figures.planes import contour
from gramian.statistics.candidates import Candidate, Choice, Selection


def test_contours_of_a_circle_are_circles_in_the_component_that_is_the_radius(tmp_path):
    X, y = make_circles(200, noise=0.02, factor=0.4, random_state=0)
    models = [gramian.PCA(2).fit(X), gramian.KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)]
    chart = figures.kernel_contours(models, X, color=y)
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
    with pytest.raises(DataError, match=r"Contours need a model of two columns, and this one has 3\."):
        figures.kernel_contours(gramian.PCA(2).fit(np.eye(3)), np.eye(3))


def test_no_panel_of_contours_is_alone_in_a_row():
    X = make_circles(60, noise=0.02, factor=0.4, random_state=0)[0]
    pca, kernel = gramian.PCA(2).fit(X), gramian.KernelPCA(4, kernel="rbf", gamma=2.0).fit(X)
    rows = figures.kernel_contours([pca, kernel], X, components=4).vconcat
    assert [(row.columns, len(row.concat)) for row in rows] == [(2, 2), (2, 4)]
    assert len({(panel.width, panel.height) for row in rows for panel in row.concat}) == 1
    rows = figures.kernel_contours([gramian.PCA(1).fit(X), kernel], X, components=3).vconcat
    assert [(row.columns, len(row.concat)) for row in rows] == [(2, 4)]


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
    chart = figures.whitening(gramian.Whitener().fit(X), X)
    data = chart.data.to_pydict()
    np.testing.assert_array_equal(data["before_y"], X[:, 1])
    assert np.corrcoef(data["after_x"], data["after_y"])[0, 1] == pytest.approx(0, abs=1e-9)
    assert "after: variances 1 and 1, covariance 0.000;" in " ".join(chart.title.subtitle)


def test_selection_curves(tmp_path):
    tried = tuple(Candidate.in_folds(f"{k} of them", k, np.array([0.5, 0.7]) + 0.1 * k) for k in (1, 2, 3))
    result = Selection(tried, "Forward selection", Choice(1, "the smallest"))
    data = figures.selection(result).data.to_pydict()
    assert data["chosen"] == [False, True, False]
    np.testing.assert_allclose(np.subtract(data["high"], data["mean"]), 0.1)
    assert figures.selection(result).to_dict()["layer"][1]["mark"]["type"] == "line"
    one = Selection(
        (Candidate("linear", None, 0.5), Candidate("rbf", None, 0.8)), "Kernels", Choice(1, "the best")
    )
    chart = figures.selection(one)
    assert len(chart.to_dict()["layer"]) == 2
    chart.save(tmp_path / "a.svg")
    with pytest.raises(DataError, match=r"There is no selection to draw\. A filter compares numbers"):
        figures.selection(gramian.PCA(1).fit(np.arange(12.0).reshape(6, 2)))


def test_scores_with_thresholds():
    both = figures.face_scores({"same": [0.9, 0.8], "others": [0.1]}, {"accept": 0.5}, title="similarity")
    assert set(both.data["group"].to_pylist()) == {"same", "others"}
    assert len(both.to_dict()["layer"]) == 3
    with pytest.raises(DataError, match=r"A group has no scores\. Give at least one score for each"):
        figures.face_scores({"same": []})


def test_directions_have_the_length_of_the_deviation_and_meet_their_points_at_right_angles(tmp_path):
    X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]], dtype=float)
    for given in ({"ddof": 0}, {"scale": "unit", "whiten": True}, {"center": False}):
        model = gramian.PCA(**given).fit(X)
        chart = figures.directions(model, X, color=["a", "b"] * 4)
        data = {name: np.array(values) for name, values in chart.data.to_pydict().items()}
        points = np.column_stack([data["x"], data["y"]])
        feet = np.column_stack([data["projected x"], data["projected y"]])
        np.testing.assert_allclose(points, X / (1 if model.scale_ is None else model.scale_))
        first, second = model.components_
        np.testing.assert_allclose((points - feet) @ first, 0, atol=1e-12)
        np.testing.assert_allclose((feet - feet[0]) @ second, 0, atol=1e-12)
        arrows = chart.vconcat[0].layer[-3].data.to_pylist()
        lengths = [np.hypot(a["to_x"] - a["from_x"], a["to_y"] - a["from_y"]) for a in arrows]
        np.testing.assert_allclose(lengths, np.sqrt(model.explained_variance_))
    chart.save(tmp_path / "a.svg")
    named = str(figures.directions(model, X, names=["u", "w"]).to_dict())
    assert "PC1" not in named.replace("'PC1'", "")  # the column of the table keeps its name
    with pytest.raises(DataError, match=r"There are 1 names for 2 directions\. Give one for each\."):
        figures.directions(model, X, names=["u"])
    spec = chart.vconcat[0].to_dict()
    across, up = (np.ptp(spec["layer"][2]["encoding"][side]["scale"]["domain"]) for side in "xy")
    assert across / spec["width"] == pytest.approx(up / spec["height"])  # a right angle looks right
    drawn = figures.directions(gramian.PCA().fit(X), X)
    arrows = drawn.vconcat[0].layer[-1].data.to_pandas()  # beyond the tip, PC1 would lie on (8, 7)
    between = np.hypot(*(arrows[[f"name_{side}"]].to_numpy() - X[:, j] for j, side in enumerate("xy")))
    domain = drawn.vconcat[0].to_dict()["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert between.min() > 13 * np.ptp(domain) / drawn.vconcat[0].width


def test_directions_in_space_are_drawn_by_an_orthographic_projection():
    X = np.random.default_rng(0).standard_normal((30, 3)) * [3, 2, 1]
    model = gramian.PCA(3).fit(X)
    data = figures.directions(model, X, view=(0, 90)).data
    np.testing.assert_allclose(data["across"], X[:, 1], atol=1e-12)  # from above: y to the right, x down
    np.testing.assert_allclose(data["up"], -X[:, 0], atol=1e-12)
    chart = figures.directions(model, X, components=1)
    assert "PC2" not in chart.data.column_names
    plane = "The rectangle lies in their plane."
    assert plane not in " ".join(chart.title.subtitle)
    assert plane in " ".join(figures.directions(model, X).title.subtitle)
    assert "Orthographic projection from azimuth 35 and elevation 25" in " ".join(chart.title.subtitle)
    assert chart.to_dict()["$schema"]
    for other in (gramian.PCA(2).fit(np.eye(4)), gramian.Whitener().fit(X[:, :2])):
        with pytest.raises(DataError, match="Directions are drawn for a PCA of two or three columns,"):
            figures.directions(other, X)


def test_errors_fall_with_the_number_of_components():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((30, 5)), rng.standard_normal((10, 5))
    model = gramian.PCA(4).fit(X)
    chart = figures.reconstruction_errors(model, {"fitted": X, "new": new})
    data = chart.data.to_pandas()
    expected = np.sqrt(1 - np.append(0, np.cumsum(model.explained_variance_ratio_)))
    np.testing.assert_allclose(data[data.set == "fitted"].error, expected)
    assert data[data.set == "new"].error.is_monotonic_decreasing
    assert chart.to_dict()["layer"][0]["encoding"]["strokeDash"]["scale"]["domain"] == ["fitted", "new"]
    with pytest.raises(DataError, match="Errors for every number of components are those of a PCA,"):
        figures.reconstruction_errors(gramian.Whitener().fit(X), X)
    with pytest.raises(DataError, match="The rows are all equal to the mean, so they have no"):
        figures.reconstruction_errors(model, np.tile(model.mean_, (3, 1)))


def test_whitening_of_pictures_and_of_several_models(X):
    both = [gramian.Whitener(method).fit(X) for method in ("pca", "zca")]
    data = figures.whitening(both, X, x=2, y=3).data
    np.testing.assert_allclose(data["after_x"], both[0].transform(X)[:, 1])
    np.testing.assert_allclose(data["after2_y"], both[1].transform(X)[:, 2])
    faces = np.random.default_rng(0).random((12, 10, 8))
    both = [gramian.Whitener(method, n_components=5).fit(faces) for method in ("pca", "zca")]
    sheet = figures.whitening(both, faces).pixels
    alone = figures.whitening(both[0], faces).pixels
    assert (sheet.shape[1] - 8) * 2 == (alone.shape[1] - 8) * 3
    # Of 16 pixels a block each: five scores, and 0 below them, which is middle grey.
    cell = alone[8 : 8 + 160 : 16, 8 + 136 : 8 + 136 + 128 : 16]
    assert len(set(cell[0, :5].tolist())) > 1
    assert set(cell[1:].ravel().tolist()) == {128}
