"""Loadings, biplot and correlation circle."""

import numpy as np
import pytest
from gramian.figures._altair_style import COLOURS, GREY, room
from sklearn.datasets import load_breast_cancer

import gramian
from gramian import figures
from gramian.errors import DataError
from gramian.figures.points import LabelLayout
from gramian.figures.registry import available
from gramian.tables.table import Table


def test_loadings_are_the_components_as_a_long_table(pca, X):
    for kind in ("bars", "heat", "lines"):
        data = figures.loadings(pca, kind=kind).data
        assert data.num_rows == 8
        np.testing.assert_array_equal(data["loading"], pca.components_.ravel())
    assert data["column"].to_pylist() == ["x0", "x1", "x2", "x3"] * 2
    result = figures.loadings(pca, ["PC2"], data=X).data["loading"]
    expected = [np.corrcoef(column, pca.transform(X)[:, 1])[0, 1] for column in X.T]
    np.testing.assert_allclose(result, expected)


def test_loadings_are_lines_over_columns_that_are_an_axis_and_bars_of_others():
    X = np.random.default_rng(0).normal(size=(30, 80))
    spectra = Table(X, tuple(f"{900 + 2.5 * j} nm" for j in range(80)))
    chart = figures.loadings(gramian.PCA(2).fit(spectra), position="wavelength (nm)")
    assert chart.data["position"][1].as_py() == 902.5
    assert chart.to_dict()["layer"][1]["mark"]["type"] == "line"
    model = gramian.PCA(2).fit(X)
    assert (
        figures.loadings(gramian.PCA(2).fit(spectra)).to_dict()["layer"][1]["encoding"]["x"]["title"] == "nm"
    )
    spec = figures.loadings(model, kind="lines").to_dict()
    assert spec["layer"][1]["encoding"]["x"]["title"] == "column (position, counted from 0)"
    bars = figures.loadings(model, [1])
    largest = np.sort(np.argsort(-np.abs(model.components_[0]))[:20])
    assert bars.data["column"].to_pylist() == [f"x{j}" for j in largest]
    assert "The 20 of 80 columns with the largest loadings." in " ".join(bars.title.subtitle)
    both = figures.loadings(model).data.to_pydict()["column"]  # each panel has its own
    own = [np.sort(np.argsort(-np.abs(component))[:20]) for component in model.components_]
    assert both == [f"x{j}" for j in np.concatenate(own)]


def parts_of_biplot(chart):
    """Return the caption, the tips of the arrows by column, and both domains."""
    spec = chart.to_dict()
    arrows = next(rows for rows in spec["datasets"].values() if "arrow" in rows[0])
    tips = np.array([[row["tip_x"], row["tip_y"]] for row in sorted(arrows, key=lambda row: row["arrow"])])
    points = next(layer for layer in spec["layer"] if "scale" in layer.get("encoding", {}).get("x", {}))
    domains = np.array([points["encoding"][side]["scale"]["domain"] for side in "xy"])
    return " ".join(chart.title.subtitle), tips, domains


def test_a_biplot_has_points_and_arrows(pca, X):
    caption, tips, domains = parts_of_biplot(figures.biplot(pca, X))
    factor = tips[0, 0] / pca.components_[0, 0]
    np.testing.assert_allclose(tips, factor * pca.components_.T, rtol=1e-9)
    assert f"Arrows are loadings times {factor:.3g}." in caption
    assert (domains[:, 0] < tips).all()
    assert (tips < domains[:, 1]).all()


def test_arrows_are_seen_whatever_the_units(X):
    for units in ([1e6, 1, 1, 1], [1, 1, 1, 1e-9], [300, 40, 30, 1]):
        model = gramian.PCA(2).fit(X * units)
        caption, tips, domains = parts_of_biplot(figures.biplot(model, X * units))
        sides = np.where(tips < 0, -domains[:, 0], domains[:, 1])
        assert 0.75 < (np.abs(tips) / sides).max() < 0.85
        if "different scales" in caption:
            factors = tips[0] / model.components_[:, 0]
            np.testing.assert_allclose(tips, factors * model.components_.T)
            assert f"times {factors[0]:.3g} along X and {factors[1]:.3g} along Y." in caption
            assert ((np.abs(tips) / sides).max(axis=0) > 0.35).all()


def test_arrows_have_a_colour_of_no_group_and_names_near_their_tips(pca, X):
    spec = figures.biplot(pca, X, color=["a", "b"] * 10).to_dict()
    rules = [
        layer for layer in spec["layer"] if layer["mark"]["type"] == "rule" and "x2" in layer["encoding"]
    ]
    assert not {rule["mark"]["color"] for rule in rules} & {*COLOURS, GREY}
    labels = LabelLayout([0, 100], [0, 100], (300, 300))
    points = np.random.default_rng(0).uniform(20, 80, (60, 2))
    labels.block(points)
    middle = labels.places(points[:6], ["abcdefgh"] * 6, outward=True)
    assert np.isfinite(middle).all()
    # A name next to its arrow rather covers other points than is far from it, but never another name.
    assert (np.abs(middle - points[:6]) * 3 <= [24 + 3 + 2 + 18, 5.5 + 3 + 1 + 18]).all()
    between = np.abs(middle[:, None] - middle[None]) * 3 + 1e3 * np.eye(6)[..., None]
    assert (between >= np.array([48, 11]) - 1e-9).any(axis=2).all()
    full = LabelLayout([0, 10], [0, 10], (100, 100))
    full.block_arrows(np.stack(np.meshgrid(np.arange(11.0), np.arange(11.0)), axis=-1).reshape(-1, 2))
    assert full.layers(points[:3] / 10, ["abcdefgh"] * 3, outward=True)[1] == 3


def test_of_many_arrows_the_ten_longest_have_names():
    cancer = load_breast_cancer()
    table = Table(cancer.data, tuple(f"c{j}" for j in range(30)))
    model = gramian.PCA(2, scale="unit").fit(table)
    chart = figures.biplot(model, table)
    spec = chart.to_dict()
    assert "Names: the 10 longest; the others are lighter." in " ".join(chart.title.subtitle)
    arrows, words = (
        next(rows for rows in spec["datasets"].values() if field in rows[0]) for field in ("angle", "text_x")
    )
    longest = [f"c{j}" for j in np.argsort(-np.hypot(*model.components_))[:10]]
    assert [one["arrow"] for one in arrows if one["weight"] == 1] == longest
    assert len(arrows) == 30
    assert len(words) >= 8
    assert {one["text"] for one in words} <= set(longest)
    tips = {one["arrow"]: (one["tip_x"], one["tip_y"]) for one in arrows}
    unit = np.ptp(spec["layer"][2]["encoding"]["x"]["scale"]["domain"]) / spec["width"]
    for one in words:
        assert np.hypot(one["to_x"] - tips[one["text"]][0], one["to_y"] - tips[one["text"]][1]) < 60 * unit


def test_loadings_of_many_columns_are_no_longer_than_a_page():
    X = np.random.default_rng(0).normal(size=(40, 30))
    for count in (6, 30):
        panels = figures.loadings(gramian.PCA(3).fit(X[:, :count])).to_dict()["concat"]
        assert max(panel["height"] for panel in panels) <= 300


def test_every_panel_of_loadings_has_the_names(X):
    for columns, beside in ((("a", "b", "c", "d"), 3), (("a" * 30, "b", "c", "d"), 2)):
        model = gramian.PCA(4).fit(Table(X, columns))
        spec = figures.loadings(model, [1, 2, 3, 4]).to_dict()
        axes = [panel["encoding"]["y"]["axis"] for panel in spec["concat"]]
        assert [axis.get("labels", True) for axis in axes] == [True] * 4
        assert spec["columns"] == beside
    with room(320):
        assert figures.loadings(model, [1, 2, 3, 4]).to_dict()["columns"] == 1


def test_one_row_has_no_correlations(pca, X):
    with pytest.raises(DataError, match="Nothing varies in one row, so no column has a"):
        figures.correlation_circle(pca, X[:1])


def test_the_correlation_circle(X):
    X = np.column_stack([X, np.full(len(X), 7.0)])
    for scale in (None, "unit"):
        model = gramian.PCA(scale=scale).fit(X)
        scores = model.transform(X)
        expected = [[np.corrcoef(column, scores[:, j])[0, 1] for j in (0, 2)] for column in X.T[:4]]
        expected.append([0, 0])
        for rows in ([X], []):
            data = figures.correlation_circle(model, *rows, x=1, y="PC3").data
            np.testing.assert_allclose(np.column_stack([data["PC1"], data["PC3"]]), expected, atol=1e-12)
            np.testing.assert_allclose(data["squares"], np.square(expected).sum(axis=1), atol=1e-12)
    moments = gramian.PCA(center=False).fit(X)
    with pytest.raises(DataError, match=r"The model subtracts no mean, so it knows no correlations\."):
        figures.correlation_circle(moments)
    assert [
        "correlation-circle" in [figure.name for figure in available(one)] for one in (model, moments)
    ] == [True, False]


def test_kernel_pca_has_no_loadings(X):
    model = gramian.KernelPCA(2, kernel="rbf").fit(X)
    for draw in (lambda: figures.loadings(model), lambda: figures.biplot(model, X)):
        with pytest.raises(DataError, match="A KernelPCA has no loadings: its components are not"):
            draw()
    with pytest.raises(DataError, match=r"A biplot needs two components, and the model has one\. Fit"):
        figures.biplot(gramian.PCA(1).fit(X), X)
