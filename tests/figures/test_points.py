"""Scores as points: the data, groups, ellipses, the density, labels."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.stats import chi2, f

import gramian
from gramian import PCA, KernelPCA, figures
from gramian.errors import DataError, ParameterError
from gramian.figures import style
from gramian.figures.labels import Labels
from gramian.figures.points import Groups, pair_of
from gramian.figures.registry import FIGURES, available
from gramian.statistics.associations import mean_ellipse, normal_ellipse
from gramian.tables.metadata import usual_hue
from gramian.tables.table import Table
from helpers import boxes_of


def colours(ax):
    return {to_hex(colour).upper() for one in ax.collections for colour in one.get_facecolors()}


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_data_have_a_row_a_point(pca, X):
    names = [f"r{i}" for i in range(20)]
    data = figures.scores_data(pca, X, components=("PC2", 1), hue=["a", "b"] * 10, labels=names)
    assert list(data.columns) == ["name", "PC2", "PC1", "group"]
    np.testing.assert_array_equal(data.columns["PC1"], pca.transform(X)[:, 0])
    assert data.columns["group"][:3] == ["a", "b", "a"]
    share = 100 * pca.explained_variance_ratio_[1]
    assert data.x == f"PC2 ({share:.1f} % of the variance)"
    assert "Ellipses: 95 % of a normal distribution (thin), and of its mean (thick)." in data.notes
    ax = figures.scores(pca, X, components=("PC2", 1), hue=["a", "b"] * 10, labels=names)
    assert ax.get_xlabel() == data.x
    assert legend_of(ax) == ["a", "b"]
    points = np.vstack([one.get_offsets() for one in ax.collections])
    np.testing.assert_array_equal(points, np.vstack([data.values[::2], data.values[1::2]]))
    assert colours(ax) == {style.BLUE, style.VERMILION}
    lines = len(ax.lines)
    assert lines - len(figures.scores(pca, X, hue=["a", "b"] * 10, ellipses=False).lines) == 4


def test_what_does_not_fit_is_refused(pca, X):
    for options, match in (
        ({"hue": [1, 2, 3]}, "hue has 3 entries"),
        ({"labels": ["a"]}, "labels has 1 entries"),
        ({"hue": "petal"}, "is not a column of"),
        ({"components": (1, "PC7")}, "components=7 must be a whole"),
        ({"components": (1, "two")}, r"is not a component\."),
        ({"components": (1, 1)}, r"components=\(1, 1\) are not two different components"),
        ({"components": (1, 2, 1)}, "are not two different components"),
        ({"ax": 3}, "ax must be one matplotlib Axes"),
        ({"ax": plt.subplots(1, 2)[1]}, "ax must be one matplotlib Axes"),
    ):
        with pytest.raises(ParameterError, match=match):
            figures.scores(pca, X, **options)
    with pytest.raises(DataError, match=r"The model does not contain its training rows\. Pass them:"):
        pca.plot()
    with pytest.raises(AttributeError, match="unexpected keyword argument 'colour'"):
        pca.plot(X, colour="red")


def test_scores_of_kernel_pca_are_remembered(X):
    model = gramian.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    data = figures.scores_data(model)
    np.testing.assert_allclose(data.values, model.transform(X), atol=1e-10)
    assert model.plot().get_xlabel().startswith("PC1 (")


def test_one_component_is_drawn_over_the_order_of_the_rows(X, pca):
    model = gramian.PCA(1).fit(X)
    kinds = ["a", "b", "b", None] * 5
    for one, components, name in ((model, (1, 2), "PC1"), (pca, 2, "PC2")):
        data = figures.scores_data(one, X, components=components, hue=kinds)
        assert list(data.columns) == ["row", name, "position", "group"]
        np.testing.assert_array_equal(data.columns[name], one.transform(X)[:, int(name[-1]) - 1])
        np.testing.assert_array_equal(data.values[:, 1], range(20))
        assert not data.ellipses  # an ellipse of places means nothing
        ax = figures.scores(one, X, components=components, hue=kinds)
        assert ax.get_ylabel() == "row"
        assert legend_of(ax) == ["a", "b", "no label"]
        assert "different scales" not in style.caption(ax)


def test_a_unit_of_both_axes_has_the_same_length(pca, X):
    def units(ax):
        ax.figure.draw_without_rendering()
        return np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1) / ax.bbox.size

    for width in (85, 180):
        with style.canvas(width):
            for ax in (figures.scores(pca, X), figures.biplot(pca, X, hue=["a", "b"] * 10)):
                across, up = units(ax)
                assert across == pytest.approx(up)
                assert "different scales" not in style.caption(ax)
            assert ax.figure.get_size_inches()[0] == pytest.approx(width / 25.4)
    ax = gramian.PCA(2).fit(X * [1e6, 1, 1, 1]).biplot(X * [1e6, 1, 1, 1])
    across, up = units(ax)
    assert across > 1000 * up
    assert "The axes have different scales." in style.caption(ax)


def test_rows_without_a_group_are_no_group(X):
    pca = gramian.PCA(2).fit(X)
    for missing in (None, "", np.nan, "nan"):
        data = figures.scores_data(pca, X, hue=np.array(["a", "b", "b", missing] * 5, dtype=object))
        assert {one.group for one in data.ellipses} == {"a", "b"}
        assert data.columns["group"][:4] == ["a", "b", "b", "no label"]
    assert Groups.of(["a", "NA"], 2).kinds == ("a", "no label")  # as R writes a missing one
    assert Groups.of([1.0, 2.0, np.nan], 3).kinds == ("1", "2", "no label")


def test_a_column_of_the_data_is_a_hue(X):
    names = ("a", "b", "c", "d")
    rows = tuple(f"r{i}" for i in range(20))
    table = Table(X, names, row_names=rows, labels=X[:, 0] > 100, label_name="high")
    model = gramian.PCA(2).fit(table)
    data = figures.scores_data(model, table, hue="c")
    assert data.columns["group"] == X[:, 2].tolist()
    assert data.columns["name"] == list(rows)
    ax = model.plot(table, hue="c")
    assert ax.child_axes[0].get_ylabel() == "c"  # a colour bar
    data = figures.scores_data(model, table, hue="high")
    assert set(data.columns["group"]) == {"True", "False"}
    frame = pd.DataFrame(X, columns=names)
    hue = pd.Series(["u", "v"] * 10, name="site")
    assert gramian.PCA(2).fit(frame).plot(frame, hue=hue).get_legend().get_title().get_text() == "site"


def test_groups():
    assert Groups.of([2.0, 10.0, 2.0], 3).kinds == ("2", "10")
    assert Groups.of(np.arange(20), 20).kinds == ()
    many = [f"p{i:02}" for i in range(20)] + ["p07"] * 5
    groups = Groups.of(many, 25)
    assert len(groups.kinds) == 20
    colours = groups.colours()
    expected = [*(f"p{i:02}" for i in range(8))]  # the most frequent, p07, among the first
    assert [kind for kind in groups.classes if colours[kind] != style.GREY] == expected
    assert len(set(colours.values())) == 10  # with grey, and that of rows without a class
    assert Groups.of(np.array([np.nan] * 3 + list(range(15))), 18).kinds == ()


def test_of_many_groups_the_names_stand_in_the_figure(pca, X):
    kinds = [f"kind {i % 10}" for i in range(20)]
    ax = pca.plot(X, hue=kinds)
    assert ax.get_legend() is None
    ax.figure.draw_without_rendering()
    (labels,) = (one for one in ax.artists if isinstance(one, Labels))
    assert {text for text, _ in boxes_of(labels)} <= set(kinds)
    assert len(boxes_of(labels)) >= 8


def test_of_very_many_rows_a_stated_sample_is_drawn(pca):
    many = np.random.default_rng(0).normal(size=(10_001, 4))
    data = figures.scores_data(pca, many, hue=many[:, 0] > 0)
    assert len(data.columns["row"]) == 10_000
    assert "A random sample of 10,000 of 10,001 rows (seed 0)." in data.notes
    ax = pca.plot(many, hue=many[:, 0] > 0)
    assert sum(len(one.get_offsets()) for one in ax.collections) == 10_000
    assert len(figures.scores_data(pca, many[:10_000]).columns["row"]) == 10_000


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_scores_of_any_size_can_be_drawn():
    for values in (np.zeros((5, 3)), np.full((5, 3), 1e95) * np.arange(15).reshape(5, 3)):
        ax = gramian.PCA(2).fit(values).plot(values, hue=list("aaabb"))
        assert b"nan" not in style.encoded(ax).lower()


def test_an_ellipse_has_the_mahalanobis_distance_of_its_level():
    rng = np.random.default_rng(0)
    for points in (rng.normal(size=(50, 2)) @ [[3, 1], [0, 0.2]] + [5, -7], 1e150 * rng.normal(size=(9, 2))):
        centred = (normal_ellipse(points, 0.9) - points.mean(axis=0)) / np.abs(points).max()
        inverse = np.linalg.inv(np.cov(points.T / np.abs(points).max()))
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", centred, inverse, centred), chi2.ppf(0.9, 2))
    line = normal_ellipse([[0, 0], [1, 2], [2, 4]])
    np.testing.assert_allclose(line[:, 1], 2 * line[:, 0], atol=1e-12)
    assert np.ptp(normal_ellipse(np.ones((4, 2)))) == 0


def test_ellipses_are_drawn_of_groups_that_are_nearly_normal_only():
    rng = np.random.default_rng(0)
    angle, kinds = rng.uniform(0, 2 * np.pi, 200), np.repeat(["ring", "cloud"], [100, 100])
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(kinds == "ring", 5, 0.0)[:, None]
    X = ring + rng.normal(size=(200, 2)) * 0.3
    data = figures.scores_data(gramian.PCA(2).fit(X), X, hue=kinds)
    assert "No ellipse of 'ring': not spread like a normal distribution." in data.notes
    assert {one.group for one in data.ellipses} == {"cloud"}
    place = np.sort(rng.uniform(0, 10, 80))
    species = np.exp(-((place[:, None] - np.linspace(0, 10, 15)) ** 2) / 4)
    arch, ends = gramian.PCA(2).fit(species), np.where(place < 5, "left", "right")
    drawn = figures.scores_data(arch, species, hue=ends)
    assert "No ellipses: the rows lie on a curve." in drawn.notes
    assert not drawn.ellipses


def test_rows_have_the_numbers_of_their_file(X):
    table = Table(X, row_numbers=[3 * j for j in range(20)])
    data = figures.scores_data(gramian.PCA(2).fit(X), table)
    assert data.columns["row"] == [3 * j for j in range(20)]


def test_ellipses_hold_the_mean_as_by_hotelling_and_leave_the_cloud_large():
    points = np.random.default_rng(0).normal(size=(12, 2)) @ [[3, 1], [0, 0.2]] + [5, -7]
    centred = mean_ellipse(points, 0.9) - points.mean(axis=0)
    inverse = np.linalg.inv(np.cov(points.T) / 12)
    squared = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(squared, 2 * 11 / 10 * f.ppf(0.9, 2, 10))
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:4] = [[2, 2], [-2, -2], [2, -2], [-2, 2.5]]
    data = figures.scores_data(gramian.PCA(2).fit(X), X, hue=np.repeat(["few", "many"], [4, 56]))
    assert np.ptp(data.edges()[1]) < 2 * np.ptp(X, axis=0).max()


def test_a_table_with_labels_is_coloured_by_them_in_every_figure_of_its_rows(X):
    kinds = np.array(["v", "u"] * 10)
    labelled = Table(X[:, :2], ("a", "b"), labels=kinds, label_name="kind")
    model, drawn = gramian.PCA(2).fit(labelled), [figure for figure in FIGURES if "hue" in figure.options]
    assert {"scores", "biplot", "contours", "directions"} <= {figure.name for figure in drawn}
    for table, coloured in ((labelled, True), (Table(X[:, :2], ("a", "b")), False)):
        for figure in drawn:
            axes = np.atleast_1d(figure.draw(model, table)).ravel()
            every = set.union(*map(colours, axes))
            assert ({style.BLUE, style.VERMILION} <= every) is coloured, figure.name
    assert figures.scores_data(model, labelled).columns["group"] == kinds.tolist()
    assert "group" not in figures.scores_data(model, labelled, hue="").columns


def test_a_title_says_what_a_component_separates():
    rng = np.random.default_rng(0)
    kinds = np.repeat(["a", "b", "c"], 20)
    X = rng.normal(size=(60, 3)) + 9 * (kinds == "c")[:, None] * [1, 0, 0]
    model = gramian.PCA(2).fit(X)
    ax = model.plot(X, hue=kinds)
    assert ax.figure.get_suptitle() == "PC1 separates c"
    assert model.plot(X, hue=kinds, title=None).figure.get_suptitle() == ""
    assert model.plot(X, hue=kinds, title="Mine").figure.get_suptitle() == "Mine"
    assert figures.scores_data(model, X, hue=kinds == "c").title == "PC1 separates False from True"
    cylinders = pd.Series(np.where(kinds == "c", 8, 4), name="cylinders")
    assert figures.scores_data(model, X, hue=cylinders).title == "PC1 separates cylinders 4 from 8"
    X[40] = -X[40]  # one exception
    assert figures.scores_data(gramian.PCA(2).fit(X), X, hue=kinds).title == ""


def test_a_legend_is_no_wider_than_its_figure(pca, X):
    long = ["a long name of a class " + "abcd"[j] for j in range(4)] * 5
    for width in (85, 180):
        with style.canvas(width):
            ax = pca.plot(X, hue=long)
        ax.figure.draw_without_rendering()
        box = ax.get_legend().get_window_extent()
        assert box.x1 <= ax.figure.bbox.x1


def test_methods_take_what_the_functions_take(pca, X):
    y = ["u", "v"] * 10
    fig, axes = plt.subplots(1, 4)
    before = fig.get_size_inches().tolist()
    draws = (pca.plot, pca.biplot, partial(figures.scores, pca), partial(figures.biplot, pca))
    for draw, ax in zip(draws, axes, strict=True):
        assert draw(X, hue=y, ax=ax, s=30, title="Mine") is ax
        assert ax.collections[0].get_sizes().tolist() == [30]
        assert ax.get_title() == "Mine"
        assert legend_of(ax) == ["u", "v"]
    assert fig.get_size_inches().tolist() == before
    assert fig.get_layout_engine() is None
    assert fig.get_suptitle() == ""
    assert len(fig.axes) == 4


def test_colour_and_marker_by_two_groupings(pca, X):
    site, dose = np.array(["a", "b", "c", ""] * 5), np.arange(20.0)
    dose[3] = np.nan
    data = figures.scores_data(pca, X, hue=dose, style=site)
    assert data.columns["style"][:4] == ["a", "b", "c", "no label"]
    assert np.isnan(data.columns["group"][3])
    assert "1 row without a value not drawn." in data.notes
    ax = pca.plot(X, hue=dose, style=site)
    assert legend_of(ax) == ["a", "b", "c", "no label"]
    assert sum(len(one.get_offsets()) for one in ax.collections) == 19
    table = Table(X, labels=site, label_name="site", metadata={"dose": dose, "kit": np.arange(20) % 2})
    by_names = figures.biplot_data(pca, table, hue="dose", style="kit").columns
    assert by_names["style"][:3] == ["0", "1", "0"]
    both = legend_of(pca.plot(X, hue=["u", "v"] * 10, style=site))
    assert both == ["u", "no label", "v", "a", "b", "c"]  # in columns
    assert usual_hue(Table(X, metadata={"kit": np.arange(20) % 2})) == "kit"
    two = Table(X, labels=site, label_name="site", metadata={"kit": np.arange(20) % 2})
    assert usual_hue(two) == "site"  # a second grouping only where somebody asks
    assert usual_hue(Table(X, labels=site)) is site
    for many, count in ((dose, 19), ([f"p{i}" for i in range(20)], 20)):
        with pytest.raises(
            ParameterError, match=f"style has {count} distinct values, but there are 8 markers"
        ):
            figures.scores(pca, X, style=many)
    with pytest.raises(ParameterError, match="is not a column of the data:"):
        figures.scores(pca, table, style="plate")


def test_row_names_are_those_of_a_column_or_of_nobody(X):
    table = Table(X, ("a", "b", "c", "d"), metadata={"town": np.array([f"t{i}" for i in range(20)])})
    model = gramian.PCA(2).fit(table)
    assert figures.scores_data(model, table, labels="town").labels[3] == "t3"
    assert not figures.scores_data(model, table, labels=False).labels
    few = [""] * 20
    few[7] = "this"
    ax = model.plot(table, labels=few)
    ax.figure.draw_without_rendering()
    (labels,) = (one for one in ax.artists if isinstance(one, Labels))
    assert [text for text, _ in boxes_of(labels)] == ["this"]


def test_of_more_rows_the_outermost_have_names():
    X = np.random.default_rng(0).normal(size=(90, 3))
    X[[3, 70]] = [9, 0, 0], [-9, 1, 0]
    frame = pd.DataFrame(X, index=[f"town {i}" for i in range(90)])
    model = PCA(2).fit(frame)
    data = figures.scores_data(model, frame)
    named = {name for name in data.labels if name}
    assert {"town 3", "town 70"} <= named
    assert 4 <= len(named) <= 16
    assert "Names: the outermost rows." in data.notes
    assert data.columns["name"] == list(frame.index)
    assert len(figures.scores_data(model, frame, labels=list(frame.index)).notes) == len(data.notes) - 1
    numbered = frame.set_axis(range(7, 97))
    long = pd.DataFrame(np.tile(X, (3, 1)), index=[f"cell {i}" for i in range(270)])
    for rows, options in ((numbered, {}), (long, {}), (frame, {"labels": False}), (frame, {"components": 1})):
        assert not any(figures.scores_data(model, rows, **options).labels)


def test_metadata_are_drawn_as_a_heat_map(pca, X):
    described = gramian.describe(pca, X, {"side": X[:, 0] > 100, "noise": np.arange(20) % 7 + 0.5})
    data = figures.metadata_data(described)
    assert data.columns["component"][:3] == ["all, weighted", "PC1", "PC2"]
    np.testing.assert_allclose(data.columns["r2"][:3], [described.weighted_r2[0], *described.r2[0]])
    assert len(data.columns["r2"]) == 6
    ax = figures.metadata(described)
    with plt.style.context("ggplot"):
        lines = figures.metadata(described).get_xgridlines()
        assert not any(line.get_visible() for line in lines)  # across the numbers
    cells = [text.get_text() for text in ax.texts]
    assert cells[1].endswith("*") == (described.p_adjusted[0, 0] < 0.05)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(described.variables)
    table = Table(X, metadata={"side": (X[:, 0] > 100).astype(str)})
    assert "metadata" in [figure.name for figure in available(pca, table)]


def test_a_model_draws_itself():
    X, labels = np.random.default_rng(0).standard_normal((30, 4)), ["a", "b"] * 15
    for model in (PCA(3).fit(X), KernelPCA(3, kernel="rbf", scale="unit").fit(X)):
        drawn = model.plot(X, hue=labels, components=(2, "PC3"))
        expected = figures.scores(model, X, hue=labels, components=(2, 3))
        assert style.encoded(drawn) == style.encoded(expected)
    pca = PCA(2).fit(X)
    assert style.encoded(pca.biplot(X, hue=labels)) == style.encoded(figures.biplot(pca, X, hue=labels))


def test_the_first_screen_of_help_is_enough_to_start(capsys):
    for kind, words in (
        (PCA, ("n_components", "scale", "missing", "tol", "memory_limit", ".plot(X)", ".biplot(X)")),
        (KernelPCA, ("kernel", "gamma", "scale", "n_components", "solver", ".plot()", "which_method")),
    ):
        help(kind)
        lines = capsys.readouterr().out.splitlines()
        first = [line.removeprefix(" |  ") for line in lines if line.startswith(" |  ")][1:26]
        assert all(any(word in line for line in first) for word in words), kind
        assert any(line.startswith(">>> ") and ".fit(" in line for line in first)
        assert first[-1].strip("- ") in ("", "Parameters") or "Parameters" in first


def test_points_have_the_index_of_a_frame():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3))).sample(frac=1, random_state=0)
    data = figures.scores_data(PCA(2).fit(frame), frame)
    assert data.columns["name"] == [str(name) for name in frame.index]
    assert "name" not in figures.scores_data(PCA(2).fit(frame), frame.reset_index(drop=True)).columns


@pytest.mark.parametrize("components", ["PC1", 1, np.int64(1), (1, 2), ["PC1"], np.array([1, 2])])
def test_the_only_component_may_be_named_in_any_way(components):
    assert pair_of(components, 1) == [0]
