"""Scree and certificate intervals."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import gramian
from gramian import figures
from gramian.errors import DataError


def rules_of(chart):
    spec = chart.to_dict()
    name = spec["vconcat"][1]["data"]["name"]
    return {row["rule"]: row for row in spec["datasets"][name]}


def test_a_scree_has_every_known_component_and_rule(pca, X):
    chart = figures.scree(pca)
    data = chart.data.to_pydict()
    whole = gramian.PCA().fit(X)
    np.testing.assert_allclose(data["variance"], whole.explained_variance_)
    np.testing.assert_allclose(data["cumulative"], 100 * np.cumsum(whole.explained_variance_ratio_))
    assert data["kept"] == [True, True, False, False]
    assert chart.title.subtitle[0].startswith(
        f"2 components kept, {data['cumulative'][1]:.2f} % of the total"
    )
    asked = gramian.choose_components(pca, X, random_state=0)
    result = rules_of(figures.scree(pca, asked))
    assert {rule: row["number"] for rule, row in result.items()} == {
        rule: choice.number for rule, choice in asked.items() if choice.number is not None
    }
    assert "parallel" in result
    assert "parallel" not in rules_of(chart)


def test_more_components_than_bars_are_lines_with_a_mark_at_95_percent():
    X = np.random.default_rng(0).normal(size=(100, 12))
    cumulative = 100 * np.cumsum(gramian.PCA().fit(X).explained_variance_ratio_)
    needed = int(np.argmax(cumulative >= 95)) + 1
    for most, kind, scale in ((4, "line", "log"), (40, "bar", None)):
        chart = figures.scree(gramian.PCA(2).fit(X), most=most)
        spec = chart.to_dict()
        upper = spec["vconcat"][0]
        assert upper["layer"][0]["mark"]["type"] == kind
        assert upper["layer"][0]["encoding"]["x"]["scale"].get("type") == scale
        (mark,) = (rows for rows in spec["datasets"].values() if "words" in rows[0])
        assert mark[0]["component"] == needed
        assert mark[0]["words"] == f"95 %: {needed} components"
        assert f"95 % needs {needed} components." in " ".join(chart.title.subtitle)
        result = rules_of(chart)
        assert result["fraction"]["component"] == result["fraction"]["number"] > 4


def test_a_scree_without_rules_or_total(X):
    model = gramian.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert figures.scree(model).to_dict()["layer"][0]["mark"]["type"] == "bar"
    model.explained_variance_ratio_ = None
    chart = figures.scree(model, ())
    assert chart.data["cumulative"][-1].as_py() == pytest.approx(100)
    assert "the variance of 2 components" in " ".join(chart.title.subtitle)


def test_intervals_are_those_of_the_certificate(pca, tmp_path):
    chart = figures.eigenvalues(pca)
    data = chart.data.to_pydict()
    np.testing.assert_array_equal(data["lower"], pca.certificate_.lower)
    np.testing.assert_array_equal(data["upper"], pca.certificate_.upper)
    chart.save(tmp_path / "a.png")
    assert "exact eigenvalues [deterministic]." in " ".join(chart.title.subtitle)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        figures.eigenvalues(gramian.PCA())
    with pytest.warns(gramian.errors.RankWarning):
        nothing = gramian.PCA(1).fit(np.ones((4, 2)))
    with pytest.raises(DataError, match="There is no eigenvalue above 0, so there is no error"):
        figures.eigenvalues(nothing)
