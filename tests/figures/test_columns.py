"""Loadings, biplot and correlation circle."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.quiver import Quiver
from sklearn.datasets import load_breast_cancer, load_iris

import gramian
from gramian import figures
from gramian.core.checks import number
from gramian.errors import DataError, ParameterError
from gramian.figures import style
from gramian.figures.labels import Labels
from gramian.figures.registry import available
from gramian.tables.table import Table
from helpers import boxes_of


def labels_of(ax):
    ax.figure.draw_without_rendering()
    (labels,) = (one for one in ax.artists if isinstance(one, Labels))
    return labels


def tips_of(ax):
    (arrows,) = (one for one in ax.collections if isinstance(one, Quiver))
    return np.column_stack([arrows.U, arrows.V])


def test_loadings_are_the_components_as_a_long_table(pca, X):
    for kind in ("bars", "lines"):
        data = figures.loadings_data(pca, kind=kind)
        table = data.columns
        place = [int(name[1]) for name in table["column"]]
        component = [int(name[2]) - 1 for name in table["component"]]
        np.testing.assert_array_equal(table["loading"], pca.components_[component, place])
        assert len(place) == 8


def test_bars_are_sorted_and_signed(pca):
    axes = figures.loadings(pca)
    assert [ax.get_title(loc="left")[:3] for ax in axes] == ["PC1", "PC2"]
    for ax, component in zip(axes, pca.components_, strict=True):
        np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], np.sort(component)[::-1])
        assert [one.get_text() for one in ax.get_yticklabels()] == [f"x{j}" for j in np.argsort(-component)]
    ax = figures.loadings(pca, [2], color="black")
    assert ax.get_title(loc="left").startswith("PC2")
    assert {bar.get_facecolor() for bar in ax.patches} == {(0, 0, 0, 1)}
    assert figures.loadings(pca, [1], ax=ax) is ax
    with pytest.raises(ParameterError, match="ax must be 2 matplotlib Axes"):
        figures.loadings(pca, ax=ax)


def test_names_of_few_bars_have_room(pca):
    for mine in ({}, {"font.size": 14}):
        with mpl.rc_context(mine):
            axes = figures.loadings(pca)
        axes[0].figure.draw_without_rendering()
        for ax in axes:
            boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_loadings_are_lines_over_columns_that_are_an_axis_and_bars_of_others():
    X = np.random.default_rng(0).normal(size=(30, 80))
    spectra = Table(X, tuple(f"{900 + 2.5 * j} nm" for j in range(80)))
    model = gramian.PCA(2).fit(spectra)
    assert figures.loadings_data(model).columns["position"][1] == 902.5
    ax = figures.loadings(model)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), 900 + 2.5 * np.arange(80))
    assert ax.get_xlabel() == "nm"
    model = gramian.PCA(2).fit(X)
    assert figures.loadings(model, kind="lines").get_xlabel() == "column (position, counted from 0)"
    data = figures.loadings_data(model, [1])
    largest = np.argsort(-np.abs(model.components_[0]))[:20]
    assert set(data.columns["column"]) == {f"x{j}" for j in largest}
    assert "The 20 of 80 columns with the largest loadings." in data.notes
    assert len(figures.loadings_data(model).columns["column"]) == 40  # each panel has its own
    wide = gramian.PCA(2).fit(np.random.default_rng(0).normal(size=(9, 3000)))
    assert len(figures.loadings(wide, kind="lines").lines[1].get_xdata()) == 3000


def test_a_biplot_has_points_and_arrows(pca, X):
    ax = figures.biplot(pca, X)
    tips = tips_of(ax)
    order = np.argsort(-np.hypot(*pca.components_), kind="stable")
    factor = tips[0, 0] / pca.components_[0, order[0]]
    np.testing.assert_allclose(tips, factor * pca.components_.T[order], rtol=1e-9)
    labels = labels_of(ax)
    assert f"Arrows are loadings times {number(factor, 3)}." in style.caption(ax)
    assert {text for text, _ in boxes_of(labels)} >= {"x0", "x1", "x2", "x3"}
    data = figures.biplot_data(pca, X)
    np.testing.assert_array_equal(data.arrows.tips, pca.components_.T)
    np.testing.assert_array_equal(data.values, pca.transform(X))


def test_arrows_are_seen_whatever_the_units(X):
    for units in ([1e6, 1, 1, 1], [1, 1, 1, 1e-9], [300, 40, 30, 1]):
        model = gramian.PCA(2).fit(X * units)
        ax = figures.biplot(model, X * units)
        ends = np.array([ax.get_xlim(), ax.get_ylim()])
        tips, order = tips_of(ax), figures.biplot_data(model, X * units).arrows.longest
        sides = np.where(tips < 0, -ends[:, 0], ends[:, 1])
        assert 0.75 < (np.abs(tips) / sides).max() < 0.85
        if "different scales" in style.caption(ax):
            factors = np.abs(tips).max(axis=0) / np.abs(model.components_).max(axis=1)
            places = order(factors * model.components_.T)
            np.testing.assert_allclose(tips, factors * model.components_.T[places])
            across, up = (number(one, 3) for one in factors)
            said = f"times {across} along X and {up} along Y."
            assert said in style.caption(ax)
            assert ((np.abs(tips) / sides).max(axis=0) > 0.35).all()


def test_arrows_end_inside_their_axes_at_any_width():
    iris = load_iris(as_frame=True)
    model = gramian.PCA(2).fit(iris.data)
    for width in (60, 85, 180):
        with style.canvas(width):
            ax = figures.biplot(model, iris.data, hue=iris.target_names[iris.target])
        ax.figure.draw_without_rendering()
        assert (ax.viewLim.min < tips_of(ax)).all()
        assert (tips_of(ax) < ax.viewLim.max).all()


def test_of_many_arrows_the_longest_have_names():
    cancer = load_breast_cancer()
    table = Table(cancer.data, tuple(f"c{j}" for j in range(30)))
    model = gramian.PCA(2, scale="unit").fit(table)
    with style.canvas(120):
        ax = figures.biplot(model, table)
    labels, tips = labels_of(ax), tips_of(ax)
    assert "Names: the 12 longest; the others are lighter." in style.caption(ax)
    longest = [f"c{j}" for j in np.argsort(-np.hypot(*model.components_))[:12]]
    assert len(tips) == 30
    assert len(boxes_of(labels)) >= 9
    assert {text for text, _ in boxes_of(labels)} <= set(longest)
    for text, box in boxes_of(labels):  # near its arrow
        tip = ax.transData.transform(tips[longest.index(text)])
        away = np.maximum(0, np.maximum(box.min - tip, tip - box.max))
        assert np.hypot(*away) / ax.figure.dpi * 72 < 60


def test_every_panel_of_loadings_has_the_names(X):
    for columns, beside in ((("a", "b", "c", "d"), 3), (("a" * 30, "b", "c", "d"), 2)):
        model = gramian.PCA(4).fit(Table(X, columns))
        axes = figures.loadings(model, [1, 2, 3, 4])
        assert all(len(ax.get_yticklabels()) == 4 for ax in axes)
        assert axes[0].get_gridspec().ncols == beside
    with style.canvas(60):
        assert figures.loadings(model, [1, 2, 3, 4])[0].get_gridspec().ncols == 1


def test_the_correlation_circle(X):
    X = np.column_stack([X, np.full(len(X), 7.0)])
    for scale in (None, "unit"):
        model = gramian.PCA(scale=scale).fit(X)
        scores = model.transform(X)
        expected = [[np.corrcoef(column, scores[:, j])[0, 1] for j in (0, 2)] for column in X.T[:4]]
        expected.append([0, 0])
        data = figures.correlation_circle_data(model, components=(1, "PC3"))
        got = np.stack([data.columns["PC1"], data.columns["PC3"]], axis=1)
        np.testing.assert_allclose(got, expected, atol=1e-12)
        np.testing.assert_allclose(data.columns["squares"], np.square(expected).sum(axis=1), atol=1e-12)
        assert list(data.columns) == ["column", "PC1", "PC3", "squares"]
        ax = figures.correlation_circle(model, components=(1, 3))
        ends = np.array(expected)
        np.testing.assert_allclose(
            tips_of(ax), ends[np.argsort(-np.hypot(*ends.T), kind="stable")], atol=1e-12
        )
        ax.figure.draw_without_rendering()
        across, up = ax.transData.transform([[0, 0], [1, 1]])[1] - ax.transData.transform([0, 0])
        assert across == pytest.approx(up)
    moments = gramian.PCA(center=False).fit(X)
    with pytest.raises(DataError, match=r"The model subtracts no mean, so it knows no correlations\."):
        figures.correlation_circle(moments)
    assert [
        "correlation-circle" in [figure.name for figure in available(one)] for one in (model, moments)
    ] == [True, False]


def test_a_circle_has_described_numbers_in_another_colour(pca, X):
    weight = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    described = gramian.describe(pca, X, {"site": ["a", "b"] * 10, "weight": weight})
    data = figures.correlation_circle_data(pca, described, components=(2, 1))
    assert data.columns["column"][4:] == ["weight"]
    assert data.columns["described"].tolist() == [False] * 4 + [True]
    expected = [np.corrcoef(weight, score)[0, 1] for score in pca.transform(X).T[::-1]]
    np.testing.assert_allclose([data.columns[name][4] for name in ("PC2", "PC1")], expected)
    plain = figures.correlation_circle_data(pca, components=(2, 1))
    assert data.notes[:1] == plain.notes  # of the fitted columns
    ax = figures.correlation_circle(pca, described, components=(2, 1))
    fitted, added = (one for one in ax.collections if isinstance(one, Quiver))
    assert (fitted.N, added.N) == (4, 1)
    np.testing.assert_allclose([added.U[0], added.V[0]], expected)
    colours = {one.get_text(): one.get_color() for one in labels_of(ax).drawn if hasattr(one, "get_text")}
    assert colours["weight"] == style.VERMILION != colours["x0"]


def test_a_rotation_has_a_panel_for_each_component():
    X = np.random.default_rng(0).normal(size=(30, 70))
    result = gramian.rotate(gramian.PCA(3).fit(X))
    axes = figures.rotation(result)
    assert [len(ax.patches) for ax in axes] == [20] * 3
    assert axes[0].figure.get_suptitle() == f"Rotated by {result.method}"
    assert "The 20 of 70 columns with the largest loadings of each component." in style.caption(axes)


def test_more_arrows_have_names_where_axes_are_wide():
    cancer = load_breast_cancer()
    table = Table(cancer.data, tuple(f"c{j}" for j in range(30)))
    model, counts = gramian.PCA(2, scale="unit").fit(table), []
    for width in (85, 120, 180):
        with style.canvas(width):
            ax = figures.correlation_circle(model)
        counts.append(len(boxes_of(labels_of(ax))))
    assert counts[0] <= counts[1] <= 12 < 20 <= counts[2]


def test_kernel_pca_has_no_loadings(X):
    model = gramian.KernelPCA(2, kernel="rbf").fit(X)
    for draw in (lambda: figures.loadings(model), lambda: figures.biplot(model, X)):
        with pytest.raises(DataError, match="A KernelPCA has no loadings: its components are not"):
            draw()
    with pytest.raises(DataError, match=r"A figure with arrows needs two components\. Fit more"):
        figures.biplot(gramian.PCA(1).fit(X), X)
    with pytest.raises(DataError, match=r"A figure with arrows needs two components\. Name two"):
        figures.biplot(gramian.PCA(2).fit(X), X, components=2)
