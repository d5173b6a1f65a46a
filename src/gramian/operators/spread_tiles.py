"""A kernel matrix as tiles on a cluster, where each is computed and stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.checks import slices
from gramian.operators.kernel_source import KernelSource
from gramian.operators.tiles import TILE
from gramian.operators.whole import symmetric_times
from gramian.records import FloatArray

# Tiles of TILE rows in one on a cluster, and parts of the rows that make work for some workers.
LARGEST, LEAST = 10, 4


class SpreadTiles:
    """A symmetric matrix of rows in many places, with the interface of :class:`TileMatrix`.

    Parameters
    ----------
    rows : Rows
        Spread.
    source : KernelSource
        Of the same rows, in one place.
    whole : bool
        Whether the matrix itself is brought here.
    """

    storage = np.dtype(np.float64)
    single = False
    is_whole = False
    most = terms = TILE

    def __init__(self, rows: Any, source: KernelSource, *, whole: bool = False) -> None:
        self.n, self.like = rows.shape[0], np.empty(0)
        self._fingerprint = source.fingerprint()
        # Whole numbers of TILE, so that sums are no longer than those of other tiles.
        side = TILE * max(1, min(LARGEST, self.n // (LEAST * TILE)))
        self._tiles = rows.tiles(source.bare().between, side)
        found = self._tiles.over(_sums)
        self.row_sums: FloatArray = found[:, 0]
        self.squares = float(found[:, 1].sum())
        self._whole = self._tiles.dense() if whole else None
        if whole:
            self._tiles = None

    def promoted(self) -> SpreadTiles:
        """Return the matrix: it is in float64."""
        return self

    def release(self) -> None:
        """Let the tiles go."""
        self._tiles = self._whole = None

    def fingerprint(self) -> bytes:
        """Return a hash of the rows."""
        return self._fingerprint

    def matmat(self, V: Any) -> Any:
        """Return the product with V of shape (n, b), float64: blocks of V travel, and no tile does."""
        return self._tiles.over(_times, V) if self._whole is None else symmetric_times(self._whole, V)

    def dense(self) -> Any:
        """Return the whole matrix."""
        return self._tiles.dense() if self._whole is None else self._whole


def _sums(tile: FloatArray, diagonal: bool) -> tuple[FloatArray, ...]:
    """Return sums of the rows and of their squares and, beside the diagonal, those of the columns."""
    squares = tile * tile

    def along(axis: int) -> FloatArray:
        starts = range(0, tile.shape[axis], TILE)
        pieces = (np.add.reduceat(values, starts, axis=axis) for values in (tile, squares))
        return np.stack([found.sum(axis=axis) for found in pieces], axis=1)

    return (along(1),) if diagonal else (along(1), along(0))


def _times(tile: FloatArray, diagonal: bool, V: FloatArray, W: FloatArray) -> tuple[FloatArray, ...]:
    """Return ``tile V`` and, beside the diagonal, ``tile.T W``, by pieces that stay in the cache for both."""
    own, other = np.zeros((len(tile), V.shape[1])), np.zeros(V.shape)
    for rows in slices(len(tile), TILE):
        for columns in slices(len(V), TILE):
            piece = tile[rows, columns]
            own[rows] += piece @ V[columns]
            if not diagonal:
                other[columns] += piece.T @ W[rows]
    return (own,) if diagonal else (own, other)
