"""Tiles of a kernel matrix that stay where rows are: the matrix itself, and what does not travel."""

import pickle

import numpy as np
import pytest

from gramian.data import as_rows
from gramian.kernels import RBF
from gramian.operators.tiles import KernelSource, SpreadTiles

da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')


def test_products_and_sums_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    for n, factor in ((1, 1.0), (300, 1.0), (1201, 1e100)):  # one tile; an uneven number of them
        X = rng.standard_normal((n, 5)) + 3
        kernel = RBF(gamma=0.1) * factor**2 if factor != 1 else RBF(gamma=0.1)
        exact = factor**2 * np.exp(-0.1 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
        source = KernelSource(kernel.bind(X), X)
        rows = as_rows(da.from_array(X, chunks=(400, 5)), limit=1 << 30)
        V = rng.standard_normal((n, 3))
        for whole in (False, True):
            tiles = SpreadTiles(rows, source, whole=whole)
            K = exact / 2.0**source.exponent
            np.testing.assert_allclose(tiles.matmat(V), K @ V, atol=1e-11)
            np.testing.assert_allclose(tiles.dense(), K, atol=1e-13)
            np.testing.assert_allclose(tiles.row_sums, K.sum(axis=1), rtol=1e-12)
            assert tiles.squares == pytest.approx(np.sum(K * K), rel=1e-12)
            assert (tiles.dense() == tiles.dense().T).all()
        assert len(pickle.dumps(source.bare())) < 2000  # what is sent holds no rows
