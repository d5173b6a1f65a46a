"""What reconstructions leave over, against the estimator's own reconstructions."""

import numpy as np
import pytest

from gramian import PCA, KernelPCA
from gramian.errors import InputTypeError, ParameterError
from gramian.faces.space import as_counts, relative_errors

PICTURES = np.random.default_rng(0).random((30, 6, 5), dtype=np.float32)


@pytest.mark.parametrize("kind", ["pca", "kernel"])
def test_against_reconstructions(kind):
    model = PCA(8) if kind == "pca" else KernelPCA(8, kernel="poly(degree=2)")
    model.fit(PICTURES)
    mean = PICTURES.mean(axis=0)
    found = relative_errors(model, PICTURES, mean, [8, 3, 8])
    assert found.dtype == np.float64
    sizes = np.linalg.norm((PICTURES - mean).reshape(30, -1), axis=1)
    for place, count in enumerate([8, 3, 8]):
        scores = np.array(model.transform(PICTURES))
        scores[:, count:] = 0
        left = (PICTURES - model.inverse_transform(scores)).reshape(30, -1)
        np.testing.assert_allclose(found[:, place], np.linalg.norm(left, axis=1) / sizes, atol=1e-5)


def test_a_picture_that_is_the_mean_has_no_error():
    model = PCA(2).fit(PICTURES)
    assert relative_errors(model, model.mean_[None], np.asarray(model.mean_), [2]).tolist() == [[0.0]]


def test_numbers_of_components():
    assert as_counts(3, 5) == [3]
    assert as_counts(np.int64(3), 5) == [3]
    assert as_counts((5, 1, 5), 5) == [5, 1, 5]
    assert as_counts(np.array([2, 4]), 5) == [2, 4]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ParameterError, "n_components is empty. Give at least one"),
        (0, ParameterError, "n_components=0 is not a positive number"),
        (2.0, ParameterError, r"n_components=2\.0 is not a positive number"),
        ([True], ParameterError, "n_components=True is not a positive number"),
        ([1, 6], ParameterError, "n_components=6 but the model has 5 components. Ask for at most 5"),
        ("12", InputTypeError, "n_components='12' is no number"),
        (None, InputTypeError, "n_components=None is no number"),
    ],
)
def test_numbers_of_components_that_cannot_be(given, error, message):
    with pytest.raises(error, match=message):
        as_counts(given, 5)
