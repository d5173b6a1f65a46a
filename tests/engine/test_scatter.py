"""Covariance and Gram matrices against ``C.T @ C`` and ``C @ C.T`` written out; bounds on their rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gramian.core.arrays import to_float64, to_numpy
from gramian.engine.centered import center_rows
from gramian.engine.scatter import CovarianceOperator, GramOperator
from gramian.tables.as_rows import as_rows

TALL = np.random.default_rng(0).standard_normal((900, 40)) * np.linspace(0.1, 3, 40) + 5
WIDE = np.random.default_rng(0).standard_normal((40, 900)) * np.linspace(0.1, 3, 900) + 5
V = np.random.default_rng(1).standard_normal((40, 6))
# Each side, with a table whose matrix has order 40.
SIDES = pytest.mark.parametrize(("kind", "X"), [(CovarianceOperator, TALL), (GramOperator, WIDE)])
KINDS = pytest.mark.parametrize("kind", [CovarianceOperator, GramOperator])


def operator_of(kind, data, **options):
    return kind(center_rows(as_rows(data), **{"center": True, "scale": None, "ddof": 1, **options}))


def exact(kind, C):
    return C.T @ C if kind is CovarianceOperator else C @ C.T


def assert_exact(operator, kind, C, atol=1e-9):
    assert operator.size == 40
    assert_allclose(to_numpy(operator.dense()), exact(kind, C), atol=atol)
    assert_allclose(to_numpy(operator.matmat(V)), exact(kind, C) @ V, atol=atol)


@SIDES
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix])
def test_products_and_the_matrix(kind, X, form):
    assert_exact(operator_of(kind, form(X)), kind, X - X.mean(axis=0))


@SIDES
def test_every_kind_keeps_its_kind(kind, X, array_kind):
    C, result = X - X.mean(axis=0), operator_of(kind, array_kind.make(X))
    wide = to_float64(array_kind.make(V))
    product = result.matmat(wide)
    assert type(product) is type(wide)
    assert product.dtype == result.like.dtype
    atol = 1e-9 if array_kind.dtype == np.float64 else 0.05
    assert_allclose(to_numpy(product), exact(kind, C) @ V, atol=atol)
    assert_allclose(to_numpy(result.dense()), exact(kind, C), atol=atol)


@KINDS
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8])
def test_what_cancels_in_sparse_products_is_in_their_bound(kind, offset):
    X = np.random.default_rng(5).standard_normal((60, 25)) + offset
    operator = operator_of(kind, sp.csr_matrix(X))
    dense = operator_of(kind, X)
    off = np.linalg.norm(operator.matmat(np.eye(operator.size)) - dense.dense(), 2)
    assert off <= operator.error_bound
    assert operator.dense_error == pytest.approx(dense.dense_error)
    # Near the origin the bound is that of dense data but for a small factor.
    assert operator.error_bound <= 1e-13 * operator.trace() * max(offset, 1) ** 2
    assert offset < 1e4 or operator.error_bound > 1e2 * dense.error_bound


@KINDS
def test_what_is_called_deterministic_holds_for_equal_entries(kind):
    """Roundings that all go one way are the worst case, which is what the word promises."""
    seen = 0
    for inner, order in ((4, 3), (9, 40), (2, 300), (30, 2), (240, 3), (2000, 2)):
        for value in (1.1, 1.7, 1.9):
            X = np.full((inner, order), value, dtype=np.float32)
            X = X if kind is CovarianceOperator else X.T.copy()
            operator = operator_of(kind, X, center=False)
            matrix = exact(kind, X.astype(np.float64))
            if operator.error_kind == "deterministic":
                seen += 1
                products = operator.matmat(np.eye(operator.size))
                assert np.linalg.norm(products - matrix, 2) <= operator.error_bound
                assert np.linalg.norm(operator.dense() - matrix, 2) <= operator.dense_error
    assert seen > 0
