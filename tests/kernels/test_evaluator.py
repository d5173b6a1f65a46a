"""The Gram matrix that tiles are joined to: symmetric, of the rows' precision, whatever its size."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial
from gramian.kernels.evaluator import TILE

KERNELS = [
    Linear(),
    Polynomial(degree=2),
    RBF(sigma=2.0),
    Laplacian(),
    Matern(nu=2.5),
    2 * RBF(sigma=1.0) + Linear() * Cosine(),
    (RBF() + 1.0).normalized(),
    RBF().on(0, 2),
]


def rows(n, seed=0, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.fixture(params=KERNELS, ids=repr)
def kernel(request):
    return request.param


def test_any_number_of_rows_and_of_other_rows():
    for n, kernel in product([1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 17], KERNELS):
        case = n, kernel
        X = rows(n)
        K = kernel.gram(X)
        assert K.shape == (n, n), case
        assert_array_equal(K, K.T, err_msg=repr(case))
        picked = np.unique(np.linspace(0, n - 1, 7).astype(int))
        bound = kernel.bind(X)
        left, right = bound.encode(X)
        tile = bound.tile(left[picked], right[picked])
        assert_allclose(K[np.ix_(picked, picked)], tile, rtol=1e-12, atol=1e-14, err_msg=repr(case))
        assert_array_equal(np.diag(K), bound.diagonal(X), err_msg=repr(case))
    for m, kernel in product([0, 1, 3, TILE + 1, 4 * TILE + 9], KERNELS):
        case = m, kernel
        X, Y = rows(TILE + 5), rows(m, seed=1)
        K = kernel.gram(X, Y)
        assert K.shape == (TILE + 5, m), case
        picked = np.unique(np.linspace(0, max(m - 1, 0), 4).astype(int))[:m]
        bound = kernel.bind(X)
        tile = bound.tile(bound.encode(X)[0][:9], bound.encode(Y)[1][picked])
        assert_allclose(K[:9, picked], tile, rtol=1e-12, atol=1e-14, err_msg=repr(case))


def test_rows_beside_themselves_take_half_of_the_tiles(kernel, monkeypatch):
    X, tiles = rows(600), []
    bound = kernel.bind(X)
    real = type(bound).tile
    monkeypatch.setattr(type(bound), "tile", lambda self, *given: tiles.append(1) or real(self, *given))
    grams = []
    for Y in (None, X, X.copy()):
        tiles.clear()
        grams.append((kernel.gram(X, Y), len(tiles)))
    (alone, few), (beside, as_few), (other, many) = grams
    assert few == as_few < many
    assert np.array_equal(alone, beside)
    assert np.array_equal(beside, beside.T)
    assert_allclose(beside, other, rtol=1e-12, atol=1e-12 * np.abs(other).max())


def test_float32_rows_are_evaluated_in_float64_and_rounded_once_if_they_fit():
    for kernel in KERNELS:
        X, Y = rows(TILE + 5).astype("f4"), rows(7, seed=1).astype("f4")
        for result, expected in [
            (kernel.gram(X), kernel.gram(X.astype("f8"))),
            (kernel.gram(X, Y), kernel.gram(X.astype("f8"), Y.astype("f8"))),
        ]:
            assert result.dtype == np.float32, kernel
            assert_array_equal(result, expected.astype("f4"), err_msg=repr(kernel))
        assert kernel.gram(X, Y.astype("f8")).dtype == np.float64, kernel
        assert kernel.gram(X.astype("f8"), Y).dtype == np.float64, kernel
    large = np.array([[1e10, 0.0], [0.0, 2e10]], dtype=np.float32)
    K = Polynomial(degree=3, gamma=1.0).gram(large)
    assert K.dtype == np.float64
    assert np.isfinite(K).all()
    assert Polynomial(degree=1, gamma=1.0).gram(large).dtype == np.float32
