"""The dual side, against ``C @ C.T`` written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.arrays import to_float64, to_numpy
from gramian.operators.moments import center_rows
from gramian.operators.scatter import GramOperator
from gramian.rows import as_rows

X = np.random.default_rng(0).standard_normal((40, 900)) * np.linspace(0.1, 3, 900) + 5
C = X - X.mean(axis=0)
V = np.random.default_rng(1).standard_normal((40, 6))


def operator(data, **options):
    view = center_rows(as_rows(data), **{"center": True, "scale": None, "ddof": 1, **options})
    return GramOperator(view)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix])
def test_products_and_the_matrix(form):
    result = operator(form(X))
    assert result.size == 40
    np.testing.assert_allclose(result.dense(), C @ C.T, atol=1e-9)
    np.testing.assert_allclose(result.matmat(V), C @ (C.T @ V), atol=1e-9)


@pytest.mark.parametrize("scale", ["unit", "pareto"])
def test_scaled_columns(scale):
    deviation = C.std(axis=0, ddof=1)
    D = C / (deviation if scale == "unit" else np.sqrt(deviation))
    result = operator(X, scale=scale)
    np.testing.assert_allclose(result.dense(), D @ D.T, atol=1e-9)
    np.testing.assert_allclose(result.matmat(V), D @ (D.T @ V), atol=1e-9)


def test_without_centring():
    result = operator(X, center=False)
    np.testing.assert_allclose(result.dense(), X @ X.T, rtol=1e-11)
    assert result.trace() == pytest.approx((X**2).sum())


def test_every_kind_keeps_its_kind(array_kind):
    result = operator(array_kind.make(X))
    wide = to_float64(array_kind.make(V))
    product = result.matmat(wide)
    assert type(product) is type(wide)
    assert product.dtype == result.like.dtype
    atol = 1e-9 if array_kind.dtype == np.float64 else 0.05
    np.testing.assert_allclose(to_numpy(product), C @ (C.T @ V), atol=atol)
    np.testing.assert_allclose(to_numpy(result.dense()), C @ C.T, atol=atol)


def test_its_eigenvalues_are_those_of_the_covariance_side():
    values = np.linalg.eigvalsh(operator(X).dense())[::-1]
    singular = np.linalg.svd(C, compute_uv=False)
    np.testing.assert_allclose(values, singular**2, atol=1e-10 * singular[0] ** 2)
    assert abs(values[-1]) <= 1e-12 * values[0]
