"""Sheets of pictures."""

import numpy as np
import pytest

import gramian
from gramian import figures
from gramian.errors import DataError, ParameterError
from gramian.figures.images import grey_range
from gramian.statistics.components import component_titles

pytest.importorskip("matplotlib")
PICTURES = np.random.default_rng(0).normal(size=(20, 6, 5))


def test_components_are_pictures():
    model = gramian.PCA(4).fit(PICTURES)
    data, axes = figures.components_data(model), figures.components(model)
    assert axes.shape == (2, 3)
    shown = [ax.get_images()[0] for ax in axes.flat if ax.get_images()]
    np.testing.assert_array_equal(np.stack([one.get_array() for one in shown]), data.pictures)
    np.testing.assert_allclose(data.pictures[1:].reshape(4, -1), model.components_)
    low, high = data.limits[1:].T
    np.testing.assert_allclose(high, np.abs(model.components_).max(axis=1))
    np.testing.assert_array_equal(low, -high)  # middle grey is 0
    assert axes[0, 1].get_title(loc="left") == component_titles(model, 1)[0]
    assert shown[0].get_clim() == grey_range(data.pictures[:1])
    with pytest.raises(DataError, match=r"The model was not fitted on pictures\. Fit it on a 3-D"):
        figures.components(gramian.PCA(2).fit(PICTURES.reshape(20, -1)))
    with pytest.raises(DataError, match=r"Components of a kernel PCA are not pictures\. Use"):
        figures.components(gramian.KernelPCA(2).fit(PICTURES))


def test_reconstructions_get_better():
    model = gramian.PCA(19).fit(PICTURES)
    data = figures.reconstructions_data(model, PICTURES[:2], [1, 19])
    original, one, whole = np.moveaxis(data.pictures.reshape(2, 3, 6, 5), 1, 0)
    np.testing.assert_array_equal(original, PICTURES[:2])
    np.testing.assert_allclose(whole, original)
    assert data.columns["components"].tolist() == [19, 1, 19] * 2
    center = np.linalg.norm((original - model.mean_.reshape(6, 5)).reshape(2, -1), axis=1)
    errors = np.linalg.norm((original - one).reshape(2, -1), axis=1) / center
    np.testing.assert_allclose(data.columns["error"][1::3], errors)
    assert data.columns["picture"][1] == f"r=1: {errors[0]:.3f}"
    assert figures.reconstructions(model, PICTURES[:1]).shape == (1, 6)
    assert len(figures.reconstructions_data(model, PICTURES, [2]).pictures) == 2 * 6
    few = gramian.KernelPCA(
        3, kernel="rbf", gamma="median", solver="nystroem", n_landmarks=10, random_state=0
    )
    assert figures.reconstructions_data(few.fit(PICTURES), PICTURES[:1], [3]).columns["error"][1] < 1
    with pytest.raises(ParameterError, match=r"counts=20 must be a whole number from 1 to 19\."):
        figures.reconstructions(model, PICTURES, [20])


def test_titles_without_ratios():
    model = gramian.PCA(2).fit(PICTURES)
    assert component_titles(model, 1) == [f"PC1 ({100 * model.explained_variance_ratio_[0]:.1f} %)"]
    model.explained_variance_ratio_ = None
    assert component_titles(model, 2) == ["PC1", "PC2"]


def test_what_is_black_and_white():
    for dtype, low, high in (
        ("u1", 0, 255),
        ("u1", 0, 16),
        ("u1", 20, 200),
        ("u2", 0, 4000),
        ("f8", -2, 300),
    ):
        assert grey_range(np.array([[low, high]], dtype=dtype)) == (low, high)
