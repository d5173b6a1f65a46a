"""A symmetric matrix as lower-triangular tiles, each used twice in a product.

Tiles are filled by a source function in float64, kept in memory (half of n^2) or filled anew in every pass.
Tiles kept as float32 are multiplied in float32; sums over tiles run in float64 always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Protocol

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
from gramian.store import Passes

TILE = THIN  # one tile times one group of vectors takes OpenBLAS's fast path
DEVICE_TILE = 2048
CACHE_BYTES = 1 << 20
LAP_ENTRIES = 1 << 30  # of the kernel matrix, seconds of work


class Source(Protocol):
    """What fills tiles: a tile for two slices of rows, and a hash of what tiles are made from."""

    def __call__(self, rows: slice, columns: slice, out: Any = None, /) -> Any: ...

    def fingerprint(self) -> bytes: ...


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
    passes : Passes, optional
        Where what passes over the tiles give is kept.

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
        passes: Passes | None = None,
    ) -> None:
        self.n = n
        self.like = like
        self.storage = None if storage is None else np.dtype(storage)
        self._source, self._passes = source, passes
        # Tiles of one size, so that one call of NumPy multiplies a stripe of them.
        size = TILE if is_numpy(like) else DEVICE_TILE
        self._side = -(-n // -(-n // size))
        self._slices = slices(n, self._side)
        self._kept: dict[int, Any] = {}
        self._on_device: dict[tuple[int, int], Any] = {}
        self._whole: Any = None
        if whole and is_numpy(like):
            self._whole = np.empty((n, n))
        elif self.storage is not None and is_numpy(like):
            self._kept = self._stripes()
        self.row_sums, self.squares = self._measure()

    def promoted(self) -> TileMatrix:
        """Return the same matrix as float64 tiles that are filled anew in every pass; nothing is measured."""
        other = copy(self)
        other.storage, other._kept, other._on_device = None, {}, {}
        return other

    @property
    def is_whole(self) -> bool:
        """Whether ``dense`` returns an array that is kept, in which changes stay."""
        return self._whole is not None

    def release(self) -> None:
        """Give back the memory of what was kept."""
        self.storage, self._whole, self._kept, self._on_device = None, None, {}, {}

    def matmat(self, V: Any) -> Any:
        """Return the product with V of shape (n, b), float64."""
        if self._whole is not None:
            return symmetric_times(self._whole, V)
        if self.storage is not None:
            V = to_dtype(V, self.storage)
        if not is_numpy(V):
            return self._multiply(self._pairs(), V)
        padded = np.zeros((len(self._slices) * self._side, V.shape[1]), dtype=V.dtype)
        padded[: self.n] = V
        groups = [group.reshape(len(self._slices), self._side, -1) for group in thin_chunks(padded)]
        multiply = self._multiply_kept if self._kept else self._multiply_again

        def of_lap(stripes: Sequence[int]) -> FloatArray:
            parts = each_thread(lambda draw: multiply(draw, groups), stripes)
            columns = [sum(part[g] for part in parts) for g in range(len(groups))]
            return np.concatenate([c.reshape(-1, c.shape[2])[: self.n] for c in columns], axis=1)

        return self._in_laps(of_lap, "kernel times vectors", V)

    def fingerprint(self) -> bytes:
        """Return a hash of what the tiles are made from."""
        return self._source.fingerprint()

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
            rows, columns = self._slices[i], self._slices[j]
            if (i, j) in self._on_device:
                tile = to_float64(self._on_device[i, j])
            elif i in self._kept:
                tile = to_float64(self._kept[i][j, : rows.stop - rows.start, : columns.stop - columns.start])
            else:
                tile = self._source(rows, columns, None)
            A[rows, columns] = tile
            A[columns, rows] = tile.T
        return A

    def _in_laps(self, work: Callable[[Sequence[int]], FloatArray], doing: str, *of: Any) -> FloatArray:
        """Add up what stripes of tiles give, in laps that a checkpoint keeps, but not tiles in memory."""
        # The longest stripes first, so that the workers end together.
        order = range(len(self._slices) - 1, -1, -1)
        in_memory = self._whole is not None or (self._kept and not of)
        if self._passes is None or in_memory or not is_numpy(self.like):
            return work(order)
        laps = [order[some] for some in slices(len(order), max(1, LAP_ENTRIES // (self.n * self._side)))]
        progress = [self.n - self._slices[lap[0]].stop for lap in laps], self.n, "rows"
        return self._passes.run(laps, work, np.add, doing, of, np.asarray, progress)

    # ---------------------------------------------------------------- tiles

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return ((i, j) for i in range(len(self._slices)) for j in range(i + 1))

    def _stripes(self) -> dict[int, Any]:
        """Memory for row i of tiles as (i + 1, side, side), in one piece: the system pages it in as such."""
        count, side = len(self._slices), self._side
        memory = np.empty((count * (count + 1) // 2, side, side), dtype=self.storage)
        stripes = {i: memory[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(count)}
        missing = count * side - self.n
        if missing:
            stripes[count - 1][:, side - missing :, :] = 0
            stripes[count - 1][-1, :, side - missing :] = 0
        return stripes

    def _fill(self, i: int, j: int, scratch: Any) -> Any:
        rows, columns = self._slices[i], self._slices[j]
        if scratch is None:
            return self._source(rows, columns, None)
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return self._source(rows, columns, scratch[: shape[0] * shape[1]].reshape(shape))

    def _scratch(self) -> Any:
        return np.empty(self._side**2) if is_numpy(self.like) else None

    def _measure(self) -> tuple[FloatArray, float]:
        """Fill every tile once: keep it, and add up row sums and squares while it is in the cache."""

        def share(draw: Iterator[tuple[int, int]]) -> tuple[FloatArray, float]:
            sums, squares = np.zeros(self.n), 0.0
            scratch = self._scratch()
            for i, j in draw:
                tile = self._fill(i, j, scratch)
                rows, columns = self._slices[i], self._slices[j]
                if i in self._kept:
                    self._kept[i][j, : tile.shape[0], : tile.shape[1]] = tile
                elif self._whole is not None:
                    self._whole[rows, columns] = tile
                    self._whole[columns, rows] = tile.T
                elif self.storage is not None:
                    self._on_device[i, j] = to_dtype(tile, self.storage)
                xp = namespace(tile)
                sums[rows] += as_float64(xp.sum(tile, axis=1))
                square = float(np.vdot(tile, tile)) if is_numpy(tile) else float(xp.sum(tile * tile))
                squares += square if i == j else 2 * square
                if i != j:
                    sums[columns] += as_float64(xp.sum(tile, axis=0))
            return sums, squares

        def of_lap(stripes: Sequence[int]) -> FloatArray:
            pairs = ((i, j) for i in stripes for j in range(i + 1))
            parts = each_thread(share, pairs) if is_numpy(self.like) else [share(pairs)]
            sums = sum((part[0] for part in parts[1:]), start=parts[0][0])
            return np.append(sums, sum(part[1] for part in parts))

        found = self._in_laps(of_lap, "kernel values")
        return found[:-1], float(found[-1])

    def _multiply_kept(self, draw: Iterator[int], groups: list[Any]) -> list[Any]:
        totals = [np.zeros(V.shape) for V in groups]
        for i in draw:
            stripe = self._kept[i]
            # As many tiles at a time as stay in the cache for their second use.
            for part in slices(i + 1, max(1, CACHE_BYTES // stripe[0].nbytes)):
                tiles, turned = stripe[part], stripe[part.start : min(part.stop, i)].transpose(0, 2, 1)
                for V, total in zip(groups, totals, strict=True):
                    total[i] += np.matmul(tiles, V[part]).sum(axis=0, dtype=np.float64)
                    total[part.start : part.start + len(turned)] += np.matmul(turned, V[i])
        return totals

    def _multiply_again(self, draw: Iterator[int], groups: list[Any]) -> list[Any]:
        totals = [np.zeros(V.shape) for V in groups]
        scratch = self._scratch()
        for i in draw:
            for j in range(i + 1):
                tile = self._fill(i, j, scratch)
                a, b = tile.shape
                for V, total in zip(groups, totals, strict=True):
                    total[i, :a] += tile @ V[j, :b]
                    if i != j:
                        total[j, :b] += tile.T @ V[i, :a]
        return totals

    def _multiply(self, pairs: Iterator[tuple[int, int]], V: Any) -> Any:
        """The product on a device."""
        xp = namespace(self.like)
        total = xp.zeros(V.shape, dtype=xp.float64, device=self.like.device)
        for i, j in pairs:
            rows, columns = self._slices[i], self._slices[j]
            tile = self._on_device[i, j] if self._on_device else self._fill(i, j, None)
            total[rows, :] += to_float64(tile @ V[columns, :])
            if i != j:
                total[columns, :] += to_float64(tile.T @ V[rows, :])
        return total
