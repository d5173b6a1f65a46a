"""A symmetric matrix as tiles: the same numbers as the matrix, however it is cut and kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.engine.tiles import TILE, TileMatrix
from helpers import covering

SIZES = [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 37]
HELD = [(np.float64, 1.0), (np.float32, 1.0), (np.float64, 0.0), (np.float32, 0.0), (np.float32, 0.6)]


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T


class Source:
    """Tiles of a matrix; counts how often they are asked for, and spoils memory it may use."""

    def __init__(self, A):
        self.A = A
        self.asked = []

    def __call__(self, rows, columns, out=None):
        self.asked.append((rows, columns))
        tile = self.A[rows, columns]
        if out is not None:
            assert out.shape == tile.shape
            out[...] = tile
            return out
        return tile.copy()


def sum_of_asked(source):
    return sum((rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in source.asked)


@pytest.mark.parametrize(("n", "held", "width"), covering(SIZES, HELD, [1, 15, 16, 17, 33]))
def test_product_is_the_product(n, held, width):
    A, (storage, share) = symmetric(n), held
    V = np.random.default_rng(1).standard_normal((n, width))
    tiles = TileMatrix(n, Source(A), np.empty(0), storage, share=share)
    tolerance = 1e-5 if storage == np.float32 else 1e-12
    assert_allclose(tiles.matmat(V), A @ V, atol=tolerance * n)
    fortran = np.asfortranarray(V)
    assert_allclose(tiles.matmat(fortran), A @ V, atol=tolerance * n)


def test_float32_tiles_and_those_that_are_filled_in_every_pass():
    A = symmetric(3 * TILE)
    V = np.random.default_rng(1).standard_normal((len(A), 4))
    tiles = TileMatrix(len(A), Source(A), np.empty(0), np.float32)
    product = tiles.matmat(V)
    assert product.dtype == np.float64
    gap = np.abs(product - A @ V)
    assert 0 < gap.max() <= 1e-5 * (np.abs(A) @ np.abs(V)).max()
    exact = tiles.promoted()
    assert_allclose(exact.matmat(V), A @ V, atol=1e-11)
    assert_array_equal(exact.row_sums, tiles.row_sums)
    A = symmetric(2 * TILE + 5)
    n = len(A)
    for share in (0.0, 0.3, 0.9):
        source = Source(A)
        tiles = TileMatrix(n, source, np.empty(0), share=share)
        half = sum_of_asked(source)
        assert n * n / 2 < half < n * (n + TILE) / 2
        kept = sum(tile.size for tile in tiles._kept.values())
        assert share * half - 2 * TILE * TILE <= kept <= share * half
        source.asked.clear()
        tiles.matmat(np.ones((n, 2)))
        tiles.matmat(np.ones((n, 40)))
        assert sum_of_asked(source) == 2 * (half - kept)
