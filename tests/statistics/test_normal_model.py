import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gramian.errors import DataError
from gramian.statistics.normal_model import NormalModel


@pytest.fixture
def gaussian():
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    return NormalModel(
        directions, np.array([4.0, 2.0]), 0.5, np.zeros(5), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    )


def definition(g):
    """Covariance by its definition: variances along the directions, noise along an orthogonal basis."""
    W = g.directions
    rest = np.eye(5) - W.T @ W
    inner = W.T @ np.diag(g.variances) @ W + g.noise * rest
    return np.diag(g.divisor) @ inner @ np.diag(g.divisor)


def test_covariance_is_the_definition(gaussian):
    np.testing.assert_allclose(gaussian.covariance(), definition(gaussian), atol=1e-14)


def test_precision_is_the_inverse(gaussian):
    np.testing.assert_allclose(gaussian.precision() @ definition(gaussian), np.eye(5), atol=1e-12)


def test_log_density_is_that_of_the_normal(gaussian):
    X = np.random.default_rng(1).standard_normal((7, 5))
    expected = multivariate_normal(np.zeros(5), definition(gaussian)).logpdf(X)
    np.testing.assert_allclose(gaussian.log_density(X / gaussian.divisor), expected, rtol=1e-12)


def test_a_singular_covariance_has_no_precision_and_no_density():
    flat = NormalModel(np.eye(3)[:2], np.array([1.0, 0.5]), 0.0, np.zeros(3), None)
    with pytest.raises(DataError, match=r"The fitted covariance is singular \(2 of 3 directions have"):
        flat.precision()
    with pytest.raises(DataError, match=r"The fitted covariance is singular \(2 of 3 directions have"):
        flat.log_density(np.zeros((1, 3)))
