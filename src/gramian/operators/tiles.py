"""A symmetric matrix as lower-triangular tiles, each used twice in a product.

Tiles are filled by a source function in float64, kept in memory (half of n^2) or filled anew in every pass.
Tiles kept as float32 are multiplied in float32; sums over tiles run in float64 always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import (
    THIN,
    as_float64,
    each_thread,
    is_numpy,
    namespace,
    thin_chunks,
    to_dtype,
    to_float64,
)
from gramian.checks import slices
from gramian.operators.whole import symmetric_times
from gramian.records import FloatArray

__all__ = ["TILE", "TileMatrix"]

TILE = THIN  # one tile times one group of vectors takes OpenBLAS's fast path

Source = Callable[[slice, slice, Any], Any]


class TileMatrix:
    """A symmetric (n, n) matrix that is multiplied tile by tile.

    Parameters
    ----------
    n : int
        Order.
    source : callable
        ``source(rows, columns, out)`` returns a float64 tile; ``out`` is memory it may use.
    like : array
        Empty float64 array of the kind that vectors have.
    storage : numpy dtype or None
        Type in which tiles are kept, and multiplied; None fills them anew in every pass, in float64.
    whole : bool
        Whether the matrix is kept as one array instead.

    Attributes
    ----------
    row_sums : ndarray of shape (n,)
        Sums of the rows.
    squares : float
        Sum of all squared entries.
    """

    def __init__(
        self,
        n: int,
        source: Source,
        like: Any,
        storage: npt.DTypeLike | None = np.float64,
        *,
        whole: bool = False,
    ) -> None:
        self.n = n
        self.like = like
        self.storage = None if storage is None else np.dtype(storage)
        self._source = source
        self._slices = slices(n, TILE if is_numpy(like) else 2048)
        self._kept: dict[tuple[int, int], Any] = {}
        self._whole: Any = None
        if whole and is_numpy(like):
            self._whole = np.empty((n, n))
        elif self.storage is not None and is_numpy(like):
            # One piece of memory: the system can then page it in by huge pages.
            pairs, side = self._pairs(), self._slices[0].stop
            memory = np.empty((len(pairs), side * side), dtype=self.storage)
            self._kept = {(i, j): self._view(memory[p], i, j) for p, (i, j) in enumerate(pairs)}
        self.row_sums, self.squares = self._measure()

    def promoted(self) -> TileMatrix:
        """Return the same matrix as float64 tiles that are filled anew in every pass; nothing is measured."""
        other = copy(self)
        other.storage, other._kept = None, {}
        return other

    @property
    def is_whole(self) -> bool:
        """Whether ``dense`` returns an array that is kept, in which changes stay."""
        return self._whole is not None

    def release(self) -> None:
        """Give back the memory of what was kept."""
        self.storage, self._kept, self._whole = None, {}, None

    def matmat(self, V: Any) -> Any:
        """Return the product with V of shape (n, b), float64."""
        if self._whole is not None:
            return symmetric_times(self._whole, V)
        xp = namespace(V)
        if self.storage is not None:
            V = to_dtype(V, self.storage)
        chunks = thin_chunks(V) if is_numpy(V) else [V]
        parts = self._share_out(lambda draw: self._multiply(draw, chunks))
        columns = [sum_parts([part[c] for part in parts]) for c in range(len(chunks))]
        return columns[0] if len(columns) == 1 else xp.concat(columns, axis=1)

    def dense(self) -> Any:
        """Return the whole matrix as float64."""
        if self._whole is not None:
            return self._whole
        xp = namespace(self.like)
        if is_numpy(self.like):
            A = np.empty((self.n, self.n))
        else:
            A = xp.empty((self.n, self.n), dtype=xp.float64, device=self.like.device)
        for i, j in self._pairs():
            tile = self._tile(i, j, None)
            A[self._slices[i], self._slices[j]] = tile
            A[self._slices[j], self._slices[i]] = tile.T
        return A

    # ---------------------------------------------------------------- tiles

    def _pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(len(self._slices)) for j in range(i + 1)]

    def _share_out(self, share: Callable[[Iterator[tuple[int, int]]], Any]) -> list[Any]:
        return each_thread(share, self._pairs()) if is_numpy(self.like) else [share(iter(self._pairs()))]

    def _view(self, memory: Any, i: int, j: int) -> Any:
        """The part of a piece of memory that a tile takes, in its shape."""
        rows, columns = self._slices[i], self._slices[j]
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return memory[: shape[0] * shape[1]].reshape(shape)

    def _tile(self, i: int, j: int, scratch: Any) -> Any:
        kept = self._kept.get((i, j))
        return self._fill(i, j, scratch) if kept is None else kept

    def _fill(self, i: int, j: int, scratch: Any) -> Any:
        out = None if scratch is None else self._view(scratch, i, j)
        return self._source(self._slices[i], self._slices[j], out)

    def _keep(self, i: int, j: int, scratch: Any) -> Any:
        """Fill a tile and put it where it is kept; return it in float64."""
        if not is_numpy(self.like):
            tile = self._fill(i, j, None)
            self._kept[i, j] = to_dtype(tile, np.dtype(self.storage))
            return tile
        place = self._kept[i, j]
        out = place if place.dtype == np.float64 else self._view(scratch, i, j)
        tile = self._source(self._slices[i], self._slices[j], out)
        if tile is not place:
            place[...] = tile
        return tile

    def _scratch(self) -> Any:
        side = self._slices[0].stop
        return np.empty(side * side) if is_numpy(self.like) else None

    def _measure(self) -> tuple[FloatArray, float]:
        """Fill every tile once: keep it, and add up row sums and squares while it is in the cache."""

        def share(draw: Iterator[tuple[int, int]]) -> tuple[FloatArray, float]:
            sums, squares = np.zeros(self.n), 0.0
            scratch = self._scratch()
            for i, j in draw:
                tile = self._fill(i, j, scratch) if self.storage is None else self._keep(i, j, scratch)
                if self._whole is not None:
                    self._whole[self._slices[i], self._slices[j]] = tile
                    self._whole[self._slices[j], self._slices[i]] = tile.T
                xp = namespace(tile)
                sums[self._slices[i]] += as_float64(xp.sum(tile, axis=1))
                square = float(np.vdot(tile, tile)) if is_numpy(tile) else float(xp.sum(tile * tile))
                squares += square if i == j else 2 * square
                if i != j:
                    sums[self._slices[j]] += as_float64(xp.sum(tile, axis=0))
            return sums, squares

        parts = self._share_out(share)
        return sum_parts([p[0] for p in parts]), float(sum(p[1] for p in parts))

    def _multiply(self, draw: Iterator[tuple[int, int]], chunks: list[Any]) -> list[Any]:
        xp = namespace(self.like)
        if is_numpy(self.like):
            totals = [np.zeros(V.shape) for V in chunks]
        else:
            device = self.like.device
            totals = [xp.zeros(V.shape, dtype=xp.float64, device=device) for V in chunks]
        scratch = self._scratch() if self.storage is None else None
        for i, j in draw:
            rows, columns = self._slices[i], self._slices[j]
            tile = self._tile(i, j, scratch)
            for V, total in zip(chunks, totals, strict=True):
                total[rows, :] += to_float64(tile @ V[columns, :])
                if i != j:
                    total[columns, :] += to_float64(tile.T @ V[rows, :])
        return totals


def sum_parts(parts: list[Any]) -> Any:
    """Add up what the workers return."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
