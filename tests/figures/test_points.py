"""Scores as points: the table, groups, ellipses, the density."""

import inspect
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from gramian.figures._altair_style import VERMILION, room
from scipy.stats import chi2, f

import gramian
from gramian import PCA, KernelPCA, figures
from gramian.errors import DataError, ParameterError
from gramian.figures.names import usual_hue
from gramian.figures.points import Group
from gramian.figures.registry import FIGURES, available
from gramian.statistics.associations import mean_ellipse, normal_ellipse
from gramian.tables.table import Table


def caption(chart):
    return " ".join(chart.title.subtitle)


def marks(chart):
    return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]


def test_the_table_has_a_row_a_point(pca, X):
    chart = figures.scores(pca, X, x="PC2", y=1, color=["a", "b"] * 10, names=[f"r{i}" for i in range(20)])
    result = chart.data.to_pydict()
    assert list(result) == ["name", "PC2", "PC1", "group"]
    np.testing.assert_array_equal(result["PC1"], pca.transform(X)[:, 0])
    assert result["group"][:3] == ["a", "b", "a"]
    spec = chart.to_dict()
    points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
    share = 100 * pca.explained_variance_ratio_[1]
    assert points["encoding"]["x"]["title"] == f"PC2 ({share:.1f} % of the variance)"
    assert points["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    assert {"point", "line", "text"} <= set(marks(chart))
    assert "Ellipses: 95 % of a normal distribution (thin), and of its mean (thick)." in caption(chart)
    assert "line" not in marks(figures.scores(pca, X, color=["a", "b"] * 10, ellipses=None))


def test_what_does_not_fit_is_refused(pca, X):
    for options, match in (
        ({"color": [1, 2, 3]}, "color has 3 entries"),
        ({"names": ["a"]}, "names has 1 entries"),
        ({"color": "petal"}, "is not a column of"),
        ({"x": "PC7"}, "x=7 must be a whole"),
        ({"y": "two"}, r"is not a component\."),
        ({"y": 1}, r"x and y are both PC1\."),
        ({"ellipses": 1.5, "color": ["a", "b"] * 10}, r"ellipses=1\.5 must be"),
    ):
        with pytest.raises(ParameterError, match=match):
            figures.scores(pca, X, **options)
    with pytest.raises(DataError, match=r"The model does not contain its training rows\. Pass them:"):
        figures.scores(pca)


def test_scores_of_kernel_pca_are_remembered(X):
    model = gramian.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    chart = figures.scores(model)
    np.testing.assert_allclose(chart.data["PC1"], model.transform(X)[:, 0], atol=1e-10)
    assert "feature space" in caption(chart)


def test_one_component_is_a_strip_for_each_group(X):
    model = gramian.PCA(1).fit(X)
    chart = figures.scores(model, X, color=["a", "b", "b", None] * 5)
    result = chart.data.to_pydict()
    assert list(result) == ["row", "PC1", "position", "group"]
    np.testing.assert_array_equal(result["PC1"], model.transform(X)[:, 0])
    strips = {"a": 0, "b": -1, "no label": -2}
    away = np.array(result["position"]) - [strips[group] for group in result["group"]]
    assert (np.abs(away) <= 0.3).all()
    spec = chart.to_dict()
    assert "line" not in marks(chart)  # an ellipse of places means nothing
    names = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "text")
    assert [row["strip"] for row in spec["datasets"][names["data"]["name"]]] == list(strips)
    assert figures.scores(model, X).data.column_names == ["row", "PC1", "position"]


def test_a_unit_of_both_axes_has_the_same_length(pca, X):
    def units(chart):
        spec = chart.to_dict()
        points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
        sizes = (spec["width"], spec["height"])
        domains = (points["encoding"][side]["scale"]["domain"] for side in "xy")
        return [np.ptp(domain) / size for domain, size in zip(domains, sizes, strict=True)]

    for width in (None, 360):
        with room(width):
            for chart in (figures.scores(pca, X), figures.biplot(pca, X, color=["a", "b"] * 10)):
                across, up = units(chart)
                assert across == pytest.approx(up)
                assert "different scales" not in caption(chart)
            assert chart.width == (440 if width is None else 294)
    long = gramian.PCA(2).fit(X * [1e6, 1, 1, 1])
    chart = figures.biplot(long, X * [1e6, 1, 1, 1])
    across, up = units(chart)
    assert across > 1000 * up
    assert "The axes have different scales." in caption(chart)


def test_rows_without_a_group_are_no_group(X):
    pca = gramian.PCA(2).fit(X)
    for missing in (None, "", np.nan, "nan"):
        chart = figures.scores(pca, X, color=np.array(["a", "b", "b", missing] * 5, dtype=object))
        spec = chart.to_dict()
        lines = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "line")
        assert {row["group"] for row in spec["datasets"][lines["data"]["name"]]} == {"a", "b"}
        assert chart.data["group"].to_pylist()[:4] == ["a", "b", "b", "no label"]
    assert Group.of(["a", "NA"], 2).kinds == ["a", "no label"]  # as R writes a missing one
    assert Group.of([1.0, 2.0, np.nan], 3).kinds == ["1", "2", "no label"]
    many = Group.of([f"p{i:02}" for i in range(20)] + [""] * 30, 50)
    assert many.kinds[-2:] == ["11 others", "no label"]
    assert len(set(many.scale().to_dict()["range"])) == 11


def test_a_column_of_the_data_is_a_colour(pca, X):
    names = ("a", "b", "c", "d")
    table = Table(
        X, names, row_names=tuple(f"r{i}" for i in range(20)), labels=X[:, 0] > 100, label_name="high"
    )
    model = gramian.PCA(2).fit(table)
    assert figures.scores(model, table, color="c").data["group"].to_pylist() == X[:, 2].tolist()
    chart = figures.scores(model, table, color="high")
    assert chart.data["name"][0].as_py() == "r0"
    assert set(chart.data["group"].to_pylist()) == {"True", "False"}


def test_groups():
    assert Group.of([2.0, 10.0, 2.0], 3).kinds == ["2", "10"]
    assert Group.of(np.arange(20), 20).kinds == []
    many = Group.of([f"p{i:02}" for i in range(20)] + ["p07"] * 5, 25)
    assert len(many.kinds) == 10
    assert many.kinds[-1] == "11 others"
    assert "p07" in many.kinds
    assert Group.of(np.array([np.nan] * 3 + list(range(15))), 18).kinds == []


def test_very_many_rows_are_a_density_with_a_stated_sample(pca):
    many = np.random.default_rng(0).normal(size=(20_001, 4))
    chart = figures.scores(pca, many, color=many[:, 0] > 0)
    assert chart.data.num_rows == 2000
    assert (
        "Points: a random sample of 2,000 of 20,001 rows (seed 0), over the density of all rows."
        in caption(chart)
    )
    spec = chart.to_dict()
    cells = spec["datasets"][spec["layer"][0]["data"]["name"]]
    assert sum(cell["rows"] for cell in cells) == 20_001
    assert figures.scores(pca, many[:20_000]).data.num_rows == 20_000


def test_a_linked_table_shows_what_is_selected(pca, X):
    spec = figures.scores(pca, X, linked=True).to_dict()
    assert spec["params"][0]["name"] == "chosen"
    assert {"filter": {"param": "chosen"}} in spec["hconcat"][1]["hconcat"][0]["transform"]


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_scores_of_any_size_can_be_drawn(tmp_path):
    for values in (np.zeros((5, 3)), np.full((5, 3), 1e95) * np.arange(15).reshape(5, 3)):
        model = gramian.PCA(2).fit(values)
        figures.scores(model, values, color=list("aaabb")).save(tmp_path / "a.svg")
        assert "NaN" not in (tmp_path / "a.svg").read_text()


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
    chart = figures.scores(gramian.PCA(2).fit(X), X, color=kinds)
    assert "No ellipse of 'ring': not spread like a normal distribution." in caption(chart)
    outlines = next(rows for rows in chart.to_dict()["datasets"].values() if "edge_x" in rows[0])
    assert {one["group"] for one in outlines} == {"cloud"}
    place = np.sort(rng.uniform(0, 10, 80))
    species = np.exp(-((place[:, None] - np.linspace(0, 10, 15)) ** 2) / 4)
    arch, ends = gramian.PCA(2).fit(species), np.where(place < 5, "left", "right")
    drawn, asked = (
        figures.scores(arch, species, color=ends, **options) for options in ({}, {"ellipses": 0.9})
    )
    assert "No ellipses: the rows lie on a curve." in caption(drawn)
    assert "line" not in str([layer["mark"] for layer in drawn.to_dict()["layer"]])
    assert "Ellipses: 90 %" in caption(asked)


def test_rows_have_the_numbers_of_their_file(X):
    table = Table(X, row_numbers=[3 * j for j in range(20)])
    assert figures.scores(gramian.PCA(2).fit(X), table).data["row"].to_pylist() == [3 * j for j in range(20)]


def test_ellipses_hold_the_mean_as_by_hotelling_and_leave_the_cloud_large():
    points = np.random.default_rng(0).normal(size=(12, 2)) @ [[3, 1], [0, 0.2]] + [5, -7]
    centred = mean_ellipse(points, 0.9) - points.mean(axis=0)
    inverse = np.linalg.inv(np.cov(points.T) / 12)
    squared = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(squared, 2 * 11 / 10 * f.ppf(0.9, 2, 10))
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:4] = [[2, 2], [-2, -2], [2, -2], [-2, 2.5]]
    spec = gramian.PCA(2).fit(X).plot(X, color=np.repeat(["few", "many"], [4, 56])).to_dict()
    points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
    assert np.ptp(points["encoding"]["y"]["scale"]["domain"]) < 2 * np.ptp(X, axis=0).max()


def test_a_table_with_labels_is_coloured_by_them_in_every_figure_of_its_rows(X):
    kinds = np.array(["v", "u"] * 10)
    labelled = Table(X[:, :2], ("a", "b"), labels=kinds, label_name="kind")
    model, drawn = gramian.PCA(2).fit(labelled), [figure for figure in FIGURES if "color" in figure.options]
    assert {"scores", "biplot", "contours", "directions"} <= {figure.name for figure in drawn}
    for table, coloured in ((labelled, True), (Table(X[:, :2], ("a", "b")), False)):
        for figure in drawn:
            assert (VERMILION in json.dumps(figure.draw(model, table).to_dict())) is coloured, figure.name
    assert model.plot(labelled).data["group"].to_pylist() == kinds.tolist()
    assert "group" not in model.plot(labelled, color="").data.column_names


def test_a_legend_is_no_wider_than_its_figure(pca, X):
    for kinds, columns in ((["a", "b"], 2), (["a long name of a class " + "abcd"[j] for j in range(4)], 2)):
        spec = pca.plot(X, color=(kinds * 10)[:20]).to_dict()
        points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
        assert points["encoding"]["color"]["legend"] == {"columns": columns}


def test_methods_and_functions_name_their_arguments(pca, X):
    y = ["u", "v"] * 10
    for draw in (pca.plot, pca.biplot, partial(figures.scores, pca), partial(figures.biplot, pca)):
        assert draw(X, color=y).data["group"].to_pylist() == y
        for name in ("ax", "hue", "title"):
            with pytest.raises(TypeError, match=f"has no argument '{name}'. It has .*color.* and "):
                draw(X, **{name: 1})
    drawn = [pca.plot, pca.biplot, gramian.KernelPCA.plot, pca.plot(X).save]
    for function in [*drawn, *(getattr(figures, name) for name in figures.__all__)]:
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, function
    for name in set(figures.__all__) - {"Picture"}:
        with pytest.raises(TypeError, match=f"^{name} has no argument 'hue'. It has "):
            getattr(figures, name)(hue=1)


def test_colour_and_shape_by_two_groupings(pca, X):
    site, dose = np.array(["a", "b", "c", ""] * 5), np.arange(20.0)
    dose[3] = np.nan
    chart = figures.scores(pca, X, color=dose, shape=site)
    result = chart.data.to_pydict()
    assert result["shape"][:4] == ["a", "b", "c", "no label"]
    assert result["group"][3] is None
    assert "1 row without a value not drawn." in caption(chart)
    points = next(one for one in chart.to_dict()["layer"] if one["mark"]["type"] == "point")
    assert points["encoding"]["shape"]["field"] == "shape"
    assert points["encoding"]["shape"]["scale"]["domain"] == ["a", "b", "c", "no label"]
    assert points["encoding"]["color"]["field"] == "group"
    table = Table(X, labels=site, label_name="site", metadata={"dose": dose, "kit": np.arange(20) % 2})
    by_names = figures.biplot(pca, table, color="dose", shape="kit").data.to_pydict()
    assert by_names["shape"][:3] == ["0", "1", "0"]
    assert usual_hue(Table(X, metadata={"kit": np.arange(20) % 2})) == "kit"
    two = Table(X, labels=site, label_name="site", metadata={"kit": np.arange(20) % 2})
    assert usual_hue(two) == "site"  # a second grouping only where somebody asks
    assert usual_hue(Table(X, labels=site)) is site
    with pytest.raises(ParameterError, match="shape has 19 distinct numbers, but shapes are for"):
        figures.scores(pca, X, shape=dose)
    with pytest.raises(ParameterError, match="is not a column of the data:"):
        figures.scores(pca, table, shape="plate")
    many = figures.scores(pca, X, shape=[f"s{i % 10}" for i in range(20)]).data.to_pydict()
    assert len(set(many["shape"])) == 8
    assert "3 others" in many["shape"]


def test_metadata_are_drawn_as_a_heat_map(pca, X):
    found = gramian.describe(pca, X, {"side": X[:, 0] > 100, "noise": np.arange(20) % 7 + 0.5})
    result = figures.metadata(found).data.to_pydict()
    assert result["component"][:3] == ["all, weighted", "PC1", "PC2"]
    assert result["variable"][:3] == [found.variables[0]] * 3
    np.testing.assert_allclose(result["r2"][:3], [found.weighted_r2[0], *found.r2[0]])
    assert result["label"][1].endswith("*") == (found.p_adjusted[0, 0] < 0.05)
    table = Table(X, metadata={"side": (X[:, 0] > 100).astype(str)})
    assert "metadata" in [figure.name for figure in available(pca, table)]
    assert "metadata" not in [figure.name for figure in available(pca, Table(X))]
    drawn = next(figure for figure in available(pca, table) if figure.name == "metadata").draw(pca, table)
    assert drawn.data.to_pydict()["r2"] == pytest.approx(result["r2"][:3])
    with pytest.raises(DataError, match=r"No column of the metadata can be drawn\. The metadata was"):
        figures.metadata(gramian.describe(pca, X, {"side": ["same"] * 20}))


def test_a_model_draws_itself():
    X, labels = np.random.default_rng(0).standard_normal((30, 4)), ["a", "b"] * 15
    for model in (PCA(3).fit(X), KernelPCA(3, kernel="rbf", scale="unit").fit(X)):
        drawn, expected = (
            model.plot(X, labels, x=2, y="PC3"),
            figures.scores(model, X, color=labels, x=2, y=3),
        )
        assert drawn.to_dict() == expected.to_dict()
    assert model.plot().to_dict() == figures.scores(model).to_dict()
    pca = PCA(2).fit(X)
    assert pca.biplot(X, labels).to_dict() == figures.biplot(pca, X, color=labels).to_dict()
    with pytest.raises(DataError, match=r"The model does not contain its training rows\. Pass them:"):
        pca.plot()


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
    chart = figures.scores(PCA(2).fit(frame), frame)
    assert [str(name) for name in chart.data["name"].to_pylist()] == [str(name) for name in frame.index]
    assert "name" not in figures.scores(PCA(2).fit(frame), frame.reset_index(drop=True)).data.column_names
