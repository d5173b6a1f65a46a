"""Tiles from a kernel and from a matrix, and products with new rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.engine.tiles import KernelSource, MatrixSource
from gramian.errors import DataError
from gramian.kernels import RBF, Cosine, FunctionKernel, Laplacian, Linear, Polynomial, Sigmoid

X = np.random.default_rng(0).standard_normal((50, 4))
KERNELS = [
    Linear(),
    Cosine(),
    RBF(),
    RBF(sigma=1e-6),
    Laplacian(),
    Polynomial(),
    Sigmoid(),
    FunctionKernel(lambda x, y: float(x @ y)),
]


@pytest.fixture(params=KERNELS, ids=lambda kernel: type(kernel).__name__)
def source(request):
    return KernelSource(request.param.bind(X), X)


def test_tiles_are_parts_of_the_gram_matrix_and_exact_on_the_diagonal(source):
    K = source.evaluator.kernel.gram(X)
    for rows, columns in [(slice(0, 20), slice(0, 20)), (slice(20, 50), slice(0, 20))]:
        tile = source(rows, columns, np.full((rows.stop - rows.start, 20), np.nan))
        assert_allclose(tile, K[rows, columns], rtol=1e-13, atol=1e-15)
    part = slice(10, 30)
    tile = source(part, part)
    assert_array_equal(tile, tile.T)
    assert_array_equal(np.diag(tile), source.diagonal[part])


def test_a_function_that_depends_on_the_order_of_rows_is_refused():
    source = KernelSource(FunctionKernel(lambda x, y: float(x[0] - y[1])).bind(X), X)
    with pytest.raises(DataError, match="The kernel function is not symmetric: for rows 12 and 27"):
        source(slice(10, 30), slice(10, 30))


def test_asymmetry_is_refused_with_the_pair_unless_it_is_rounding():
    for pair in [(0, 1), (40, 3), (1700, 20), (1700, 1699)]:
        K = np.eye(1800)
        K[pair] += 0.25
        with pytest.raises(DataError, match=r"\] differ by 0\.25\. A kernel is symmetric; pass \(K \+ K\.T"):
            MatrixSource(K)
    for dtype in [np.float32, np.float64]:
        rng = np.random.default_rng(0)
        K = RBF().gram(X)
        noisy = (K * (1 + np.finfo(dtype).eps * rng.uniform(-3, 3, K.shape))).astype(dtype)
        source = MatrixSource(noisy)
        gap = np.linalg.norm(noisy.astype(float) - noisy.astype(float).T, 2) / 2
        assert 0 < gap <= len(K) * source.absolute
        tile = source(slice(0, 50), slice(0, 50))
        assert_array_equal(tile, tile.T)
