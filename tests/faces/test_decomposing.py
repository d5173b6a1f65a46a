"""Which estimator finds components of pictures, and in which precision."""

import numpy as np
import pytest

from gramian import PCA, KernelPCA
from gramian.errors import RankWarning
from gramian.faces.space import decomposed


@pytest.fixture
def pictures():
    return np.random.default_rng(0).random((30, 6, 5), dtype=np.float32)


def test_few_components_are_found_in_float32(pictures):
    model, notes = decomposed(pictures, 5, None, random_state=0)
    assert isinstance(model, PCA)
    assert notes == ()
    expected = np.linalg.svd(pictures.reshape(30, -1) - pictures.reshape(30, -1).mean(axis=0))[1][:5]
    np.testing.assert_allclose(model.singular_values_, expected, rtol=1e-4)


def test_many_are_found_in_float64_and_kept_in_float32(pictures):
    model, notes = decomposed(pictures, 29, None, random_state=0)
    assert "float64" in notes[0]
    assert model.components_.dtype == model.mean_.dtype == np.float32
    product = model.components_ @ model.components_.T
    np.testing.assert_allclose(product, np.eye(29), atol=1e-5)


def test_copies_leave_no_rank_for_all(pictures):
    with pytest.warns(RankWarning):
        model, notes = decomposed(np.repeat(pictures[:4], 5, axis=0), 8, None, random_state=0)
    assert "float64" in notes[0]
    assert model.rank_ == 3


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_width_of_a_kernel_is_the_median(pictures, kernel):
    model, notes = decomposed(pictures, 3, kernel)
    assert isinstance(model, KernelPCA)
    assert model.gamma == "median"
    assert notes == ()
