"""The covariance side, against ``C.T @ C`` written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.arrays import to_float64, to_numpy
from gramian.operators.moments import center_rows
from gramian.operators.scatter import CovarianceOperator
from gramian.rows import as_rows

X = np.random.default_rng(0).standard_normal((900, 40)) * np.linspace(0.1, 3, 40) + 5
C = X - X.mean(axis=0)
V = np.random.default_rng(1).standard_normal((40, 6))


def operator(data, **options):
    view = center_rows(as_rows(data), **{"center": True, "scale": None, "ddof": 1, **options})
    return CovarianceOperator(view)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix])
def test_products_and_the_matrix(form):
    result = operator(form(X))
    assert result.size == 40
    np.testing.assert_allclose(result.dense(), C.T @ C, atol=1e-9)
    np.testing.assert_allclose(result.matmat(V), C.T @ (C @ V), atol=1e-9)


@pytest.mark.parametrize("scale", ["unit", "pareto"])
def test_scaled_columns(scale):
    deviation = C.std(axis=0, ddof=1)
    D = C / (deviation if scale == "unit" else np.sqrt(deviation))
    result = operator(X, scale=scale)
    np.testing.assert_allclose(result.dense(), D.T @ D, atol=1e-9)
    np.testing.assert_allclose(result.matmat(V), D.T @ (D @ V), atol=1e-9)


def test_without_centring():
    result = operator(X, center=False)
    np.testing.assert_allclose(result.dense(), X.T @ X, rtol=1e-11)
    assert result.trace() == pytest.approx((X**2).sum())


def test_every_kind_keeps_its_kind(array_kind):
    result = operator(array_kind.make(X))
    wide = to_float64(array_kind.make(V))
    product = result.matmat(wide)
    assert type(product) is type(wide)
    assert product.dtype == result.like.dtype
    atol = 1e-9 if array_kind.dtype == np.float64 else 0.05
    np.testing.assert_allclose(to_numpy(product), C.T @ (C @ V), atol=atol)
    np.testing.assert_allclose(to_numpy(result.dense()), C.T @ C, atol=atol)


def test_a_matrix_that_is_known_is_not_made_again():
    view = operator(X).centered
    known = np.eye(40)
    assert CovarianceOperator(view, whole=True, matrix=known).dense() is known
