import numpy as np
import pytest

import gramian
from gramian.errors import DataError, ParameterError
from gramian.plots.figures import component_titles, draw_scores

X = np.random.default_rng(0).normal(size=(20, 4)) * [4, 3, 2, 1]


def test_scores_of_pca_need_the_rows():
    model = gramian.PCA(2).fit(X)
    chart = gramian.plots.scores(model, X, labels=["a", "b"] * 10)
    assert f"PC1 ({100 * model.explained_variance_ratio_[0]:.1f} %)" in chart.svg
    with pytest.raises(ParameterError, match="Pass them"):
        gramian.plots.scores(model)
    with pytest.raises(ParameterError, match="labels has 3 entries for 20 rows"):
        gramian.plots.scores(model, X, labels=[1, 2, 3])


def test_scores_of_kernel_pca_are_remembered():
    model = gramian.KernelPCA(2, kernel="rbf").fit(X)
    assert gramian.plots.scores(model).svg.count("<circle") == 20


def test_one_component_is_drawn_by_row():
    model = gramian.PCA(1).fit(X)
    assert ">row<" in draw_scores(model, model.transform(X)).svg


def test_variances():
    assert ">PC4<" in gramian.plots.variances(gramian.PCA().fit(X)).svg


def test_without_a_total_the_title_says_of_what():
    model = gramian.PCA(2).fit(X)
    model.explained_variance_ratio_ = None
    assert component_titles(model, 2) == ["PC1", "PC2"]
    assert "of the variance of 2 components" in gramian.plots.variances(model).svg


def test_component_pictures_need_pictures():
    pytest.importorskip("PIL")
    assert gramian.plots.components(gramian.PCA(2).fit(X.reshape(20, 2, 2))).pixels.ndim == 2
    with pytest.raises(DataError, match="fitted on pictures"):
        gramian.plots.components(gramian.PCA(2).fit(X))
