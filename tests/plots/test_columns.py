"""Loadings, biplot and correlation circle."""

import numpy as np
import pytest

import gramian
from gramian import plots
from gramian.errors import DataError, ParameterError
from gramian.rows.table import Table


def test_loadings_are_the_components_as_a_long_table(pca, X):
    for kind in ("bars", "heat", "lines"):
        data = plots.loadings(pca, kind=kind).data
        assert data.num_rows == 8
        np.testing.assert_array_equal(data["loading"], pca.components_.ravel())
    assert data["column"].to_pylist() == ["x0", "x1", "x2", "x3"] * 2
    result = plots.loadings(pca, ["PC2"], data=X).data["loading"]
    expected = [np.corrcoef(column, pca.transform(X)[:, 1])[0, 1] for column in X.T]
    np.testing.assert_allclose(result, expected)


def test_many_columns_are_lines_along_the_numbers_in_their_names():
    X = np.random.default_rng(0).normal(size=(30, 80))
    spectra = Table(X, tuple(f"{900 + 2.5 * j} nm" for j in range(80)))
    chart = plots.loadings(gramian.PCA(2).fit(spectra), position="wavelength (nm)")
    assert chart.data["position"][1].as_py() == 902.5
    assert chart.to_dict()["layer"][1]["mark"]["type"] == "line"
    model = gramian.PCA(2).fit(X)
    spec = plots.loadings(model).to_dict()
    assert spec["layer"][1]["encoding"]["x"]["title"] == "column (position, counted from 0)"
    bars = plots.loadings(model, [1], kind="bars")
    largest = np.sort(np.argsort(-np.abs(model.components_[0]))[:30])
    assert bars.data["column"].to_pylist() == [f"x{j}" for j in largest]
    assert "The 30 of 80 columns" in " ".join(bars.title.subtitle)


def test_a_biplot_has_points_and_arrows(pca, X):
    chart = plots.biplot(pca, X)
    spec = chart.to_dict()
    arrows = next(rows for rows in spec["datasets"].values() if "arrow" in rows[0])
    tips = np.array([[row["tip_x"], row["tip_y"]] for row in sorted(arrows, key=lambda row: row["arrow"])])
    factor = tips[0, 0] / pca.components_[0, 0]
    np.testing.assert_allclose(tips, factor * pca.components_.T, rtol=1e-9)
    assert f"Arrows are loadings times {factor:.3g}." in " ".join(chart.title.subtitle)
    reach = np.abs(pca.transform(X)).max(axis=0)
    assert (np.abs(tips).max(axis=0) <= reach * (1 + 1e-12)).all()


def test_one_row_has_no_correlations(pca, X):
    with pytest.raises(DataError, match="Nothing varies in one row"):
        plots.correlation_circle(pca, X[:1])


def test_the_correlation_circle(X):
    X = np.column_stack([X, np.full(len(X), 7.0)])
    model = gramian.PCA().fit(X)
    data = plots.correlation_circle(model, X, x=1, y="PC3").data
    scores = model.transform(X)
    expected = [[np.corrcoef(column, scores[:, j])[0, 1] for j in (0, 2)] for column in X.T[:4]]
    np.testing.assert_allclose(np.column_stack([data["PC1"], data["PC3"]]), [*expected, [0, 0]], atol=1e-12)
    np.testing.assert_allclose(data["squares"], np.sum([*np.square(expected), [0, 0]], axis=1), atol=1e-12)


def test_kernel_pca_has_no_loadings(X):
    model = gramian.KernelPCA(2, kernel="rbf").fit(X)
    for draw in (lambda: plots.loadings(model), lambda: plots.biplot(model, X)):
        with pytest.raises(DataError, match="KernelPCA has no loadings"):
            draw()
    with pytest.raises(ParameterError, match="biplot needs two components"):
        plots.biplot(gramian.PCA(1).fit(X), X)
