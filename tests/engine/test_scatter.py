"""Covariance and Gram matrices against ``C.T @ C`` and ``C @ C.T`` written out; bounds on their rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gramian.core.arrays import to_float64, to_numpy
from gramian.engine.centered import center_rows
from gramian.engine.scatter import CovarianceOperator, GramOperator, product_error, product_tolerance
from gramian.tables.as_rows import as_rows
from helpers import spectrum_matrix

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
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("mean", [0.0, 1000.0])
@pytest.mark.parametrize("shape", [(400, 30), (30, 400), (120, 90)])
def test_the_rounding_bound_holds(kind, dtype, mean, shape):
    X = spectrum_matrix(*shape, [10, 5, 1, 0.1, 0.01], seed=0, mean=mean).astype(dtype)
    operator = operator_of(kind, X)
    wide = X.astype(np.float64)
    matrix = exact(kind, wide - wide.mean(axis=0))
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((operator.size, 4)))[0]
    slack = 1e-11 * operator.trace()
    assert np.linalg.norm(operator.dense() - matrix, 2) <= operator.error_bound + slack
    assert np.linalg.norm(operator.matmat(Q) - matrix @ Q, 2) <= 4 * operator.error_bound + slack
    assert operator.error_bound <= 1e-2 * operator.trace()
    assert operator.trace() == pytest.approx(np.trace(matrix), rel=1e-6)
    assert operator.frobenius() is None


def test_float64_bounds_are_deterministic_and_grow_with_the_sum():
    rows = as_rows(np.random.default_rng(2).standard_normal((50, 8)))
    view = center_rows(rows, center=True, scale=None, ddof=1)
    short, kind = product_error(view, 50, 50)
    long, _ = product_error(view, 5000, 50)
    assert kind == "deterministic"
    assert long > short > 0


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


@KINDS
@pytest.mark.parametrize("keep", [False, True])
def test_no_vectors_lift_to_no_directions(kind, keep):
    X = np.random.default_rng(6).standard_normal((12, 9))
    operator = kind(center_rows(as_rows(X), center=True, scale=None, ddof=1), keep=keep)
    assert operator.lift(np.empty((operator.size, 0))).shape == (21 - operator.size, 0)


def test_long_float32_sums_have_an_estimate_and_rank_a_tolerance():
    rows = as_rows(np.random.default_rng(2).standard_normal((50, 8)).astype(np.float32))
    view = center_rows(rows, center=True, scale=None, ddof=1)
    assert product_error(view, 10, 10)[1] == "deterministic"
    bound, kind = product_error(view, 10**6, 1000)
    assert kind == "estimate"
    assert bound < product_error(view, 1000, 1000)[0]
    eps = np.finfo(np.float64).eps
    assert product_tolerance((300, 20), eps / 2, 64) == 300 * eps
    single = float(np.finfo(np.float32).eps)
    assert product_tolerance((10**6, 20), single / 2, 64) == pytest.approx(8 * single)
    assert product_tolerance((16, 9), single / 2, 64) == pytest.approx(4 * single)


@KINDS
def test_a_large_mean_makes_noise(kind):
    X = spectrum_matrix(60, 20, [1.0], seed=3, mean=1e6)
    operator = operator_of(kind, X)
    C = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(C.T @ C)
    assert values[:-1].max() <= 10 * operator.noise
    assert operator.noise < 1e-6
