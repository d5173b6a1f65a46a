"""Scree and certificate intervals."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import gramian
from gramian import figures
from gramian.errors import DataError
from gramian.figures import style


def rules_of(ax):
    """Return the answers above 100 % of a scree, by their rules."""
    above = [text for text in ax.texts if text.xy[1] > 100]
    assert [answer.xy[1] for answer in above[::2]] == [rule.xy[1] for rule in above[1::2]]
    return {rule.get_text(): answer.get_text() for answer, rule in zip(above[::2], above[1::2], strict=True)}


def test_a_scree_has_every_known_component_and_rule(pca, X):
    data = figures.scree_data(pca)
    whole = gramian.PCA().fit(X)
    np.testing.assert_allclose(data.columns["variance"], whole.explained_variance_)
    np.testing.assert_allclose(data.columns["cumulative"], 100 * np.cumsum(whole.explained_variance_ratio_))
    assert data.columns["kept"].tolist() == [True, True, False, False]
    assert data.notes[0].startswith(f"2 components kept, {data.columns['cumulative'][1]:.2f} % of the total")
    asked = gramian.choose_components(pca, X, random_state=0)
    drawn = rules_of(figures.scree(pca, asked))
    assert drawn == {rule: choice.answer for rule, choice in asked.items() if choice.number is not None}
    assert "parallel" in drawn
    assert "parallel" not in rules_of(figures.scree(pca))
    assert not rules_of(figures.scree(pca, ()))


def test_bars_are_of_kept_and_other_components_and_more_than_40_are_a_line(pca):
    ax = figures.scree(pca, hatch="/")
    assert [bars.get_label() for bars in ax.containers] == ["kept", "left out"]
    assert ax.patches[0].get_hatch() == "/"
    with pytest.raises(AttributeError, match="no_such"):
        figures.scree(pca, no_such=1)
    X = np.random.default_rng(0).normal(size=(100, 60))
    model = gramian.PCA(2).fit(X)
    data, ax = figures.scree_data(model), figures.scree(model)
    assert not ax.patches
    assert ax.get_xscale() == "log"
    needed = np.argmax(data.columns["cumulative"] >= 95) + 1
    assert data.lines == {"95 %": needed}
    assert f"95 % needs {needed} components." in data.notes
    assert rules_of(ax)["fraction"] == str(needed)


def test_a_scree_without_total(X):
    model = gramian.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert len(figures.scree(model).patches) > 2
    model.explained_variance_ratio_ = None
    data = figures.scree_data(model, ())
    assert data.columns["cumulative"][-1] == pytest.approx(100)
    assert "the variance of 2 components" in data.notes[0]


def test_intervals_are_those_of_the_certificate(pca):
    data, ax = figures.eigenvalues_data(pca), figures.eigenvalues(pca)
    np.testing.assert_array_equal(data.columns["lower"], pca.certificate_.lower)
    np.testing.assert_array_equal(data.columns["upper"], pca.certificate_.upper)
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == pca.certificate_.unit
    assert data.notes[0].endswith("exact eigenvalues.")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        figures.eigenvalues(gramian.PCA())
    with pytest.warns(gramian.errors.RankWarning):
        nothing = gramian.PCA(1).fit(np.ones((4, 2)))
    with pytest.raises(DataError, match="There is no eigenvalue above 0, so there is no error"):
        figures.eigenvalues(nothing)


def test_bars_have_numbers_where_there_is_room():
    model = gramian.PCA().fit(np.random.default_rng(0).normal(size=(60, 20)))
    shares = [f"{share:.1f}" for share in figures.scree_data(model).columns["share"]]
    for width, shown in ((85, []), (180, shares)):
        with style.canvas(width):
            ax = figures.scree(model, ())
        assert [text.get_text() for text in ax.texts] == shown
