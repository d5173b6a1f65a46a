"""Sheets of pictures."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import gramian
from gramian import figures
from gramian.errors import DataError, ParameterError
from gramian.figures.images import grey_range
from gramian.figures.names import component_titles

pytest.importorskip("PIL")
PICTURES = np.random.default_rng(0).normal(size=(20, 6, 5))


def test_components_are_pictures_of_any_format(tmp_path):
    model = gramian.PCA(4).fit(PICTURES)
    sheet = figures.components(model)
    assert sheet.pixels.ndim == 2
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")):
        sheet.save(tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)
    with pytest.raises(DataError, match=r"The model was not fitted on pictures\. Fit it on a 3-D"):
        figures.components(gramian.PCA(2).fit(PICTURES.reshape(20, -1)))
    with pytest.raises(DataError, match=r"Components of a kernel PCA are not pictures\. Use"):
        figures.components(gramian.KernelPCA(2).fit(PICTURES))


def test_reconstructions_get_better():
    model = gramian.PCA(19).fit(PICTURES)
    sheet = figures.reconstructions(model, PICTURES[:2], [1, 19])
    width = sheet.pixels.shape[1]
    third = (width - 8) // 3
    original, one, whole = (
        sheet.pixels[:100, 8 + j * third : 8 + j * third + 80].astype(int) for j in range(3)
    )
    assert np.abs(original - whole).max() <= 1 < np.abs(original - one).max()
    assert figures.reconstructions(model, PICTURES[:1]).pixels.shape[1] > width
    few = gramian.KernelPCA(
        3, kernel="rbf", gamma="median", solver="nystroem", n_landmarks=10, random_state=0
    )
    assert figures.reconstructions(few.fit(PICTURES), PICTURES[:1], [3]).pixels.ndim == 2
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


@pytest.mark.parametrize("kind", ["reconstructions", "components", "whitening"])
def test_pictures_of_few_grey_values_are_not_black(kind):
    digits = load_digits().images[:40].astype(np.uint8)  # values 0 to 16
    if kind == "components":
        sheet = figures.components(gramian.PCA(1).fit(digits))
    else:
        model = gramian.Whitener(method="zca") if kind == "whitening" else gramian.PCA(3)
        sheet = getattr(figures, kind)(model.fit(digits), digits[:2])
    first = sheet.pixels[8:176, 8:176]
    assert first.min() == 0
    assert first.max() >= 230


def test_a_sheet_of_mean_and_components():
    model = gramian.PCA(3).fit(np.random.default_rng(0).normal(size=(5, 100, 100)))
    model.mean_ = np.full(10_000, 77.0)
    model.components_ = np.stack([np.full(10_000, value) for value in (0.0, 0.5, -0.5)])
    for tone in (128, 255, 1):  # 128 too for a mean of one value
        assert np.sum(figures.components(model).pixels == tone) >= 9900
