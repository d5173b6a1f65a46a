"""A symmetric matrix as lower-triangular tiles, each used twice in a product.

Tiles are filled by a source function, and kept in memory (half of n^2), or a share of them, or filled anew in
every pass. Float32 tiles are multiplied in float32; sums over tiles run in float64 always.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.arrays import (
    DEVICE_TILE,
    THIN,
    as_float64,
    each_thread,
    from_numpy,
    is_numpy,
    long_product,
    namespace,
    thin_chunks,
    to_dtype,
    to_float64,
)
from gramian.checks import slices
from gramian.operators.kernel_source import KernelSource
from gramian.operators.operator import symmetric_times
from gramian.records import FloatArray
from gramian.rows.kinds.device import full_precision, out_of_memory, release_unused, smaller, tile_length
from gramian.store import Passes

log = logging.getLogger(__name__)

R = TypeVar("R")
TILE = THIN  # one tile times one group of vectors takes OpenBLAS's fast path
CACHE_BYTES = 1 << 20
LAP_ENTRIES = 1 << 30  # of the kernel matrix, seconds of work


class Source(Protocol):
    """What fills tiles: a tile for two slices of rows, and a hash of what tiles are made from."""

    def __call__(self, rows: slice, columns: slice, out: Any = None, /) -> Any: ...

    def fingerprint(self) -> bytes: ...


@dataclass(frozen=True, eq=False)
class Stack:
    """Tiles of one size below each other, filled by one call; one on the diagonal stands alone.

    Attributes
    ----------
    column : int
        Column of tiles.
    tiles : slice
        Their rows of tiles.
    rows, columns : slice
        The same in rows and columns of the matrix.
    """

    column: int
    tiles: slice
    rows: slice
    columns: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of all of them together."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def diagonal(self) -> bool:
        """Whether it is the tile on the diagonal."""
        return self.rows == self.columns

    def cut(self, size: int) -> list[Stack]:
        """Return the same part of the matrix in pieces of so many rows and columns at most."""
        if max(self.shape) <= size:
            return [self]
        return [
            Stack(
                self.column,
                self.tiles,
                *(slice(whole.start + part.start, whole.start + part.stop) for whole, part in both),
            )
            for both in product(
                *(
                    [(whole, part) for part in slices(length, size)]
                    for whole, length in zip((self.rows, self.columns), self.shape, strict=True)
                )
            )
            if not self.diagonal or both[0][1].start >= both[1][1].start
        ]


class TileMatrix:
    """A symmetric (n, n) matrix that is multiplied tile by tile.

    Parameters
    ----------
    n : int
        Order.
    source : callable
        ``source(rows, columns, out)`` returns a tile; ``out`` is memory it may use.
    like : array
        Empty float64 array of the kind that vectors have.
    storage : numpy dtype
        Type in which tiles are kept, and multiplied.
    share : float
        Share of the tiles that is kept; the others are filled anew in every pass.
    exact : callable or None
        A float64 source of the same matrix, where ``source`` fills tiles in ``storage``.
    whole : bool
        Whether the matrix is kept as one array instead.
    passes : Passes, optional
        Where what passes over the tiles give is kept.
    along : ndarray of shape (n,), optional
        What the entries of a row are multiplied by in ``row_sums``.

    Attributes
    ----------
    most : int
        Rows that a tile has at most.
    terms : int
        Entries of a tile that are added up in its own precision.
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
        storage: npt.DTypeLike = np.float64,
        *,
        share: float = 1.0,
        exact: Source | None = None,
        whole: bool = False,
        passes: Passes | None = None,
        along: FloatArray | None = None,
    ) -> None:
        self.n = n
        self.like = like
        self._along = along
        self.storage = np.dtype(storage)
        self._source, self._exact, self._passes = source, exact, passes
        # Tiles of one size, so that one call of NumPy multiplies a stack of them.
        self.most = TILE if is_numpy(like) else tile_length(like)
        self.terms = TILE if is_numpy(like) else min(DEVICE_TILE, self.most)
        self._side = -(-n // -(-n // self.most))
        self._slices = slices(n, self._side)
        self._stripes = [self._stripe(column) for column in range(len(self._slices))]
        self._kept: dict[Stack, Any] = {}
        self._whole: Any = None
        if whole and is_numpy(like):
            self._whole = np.empty((n, n))
        else:
            self._kept = self._memory(share)
        self.row_sums, self.squares = self._measure()

    @property
    def single(self) -> bool:
        """Whether tiles are filled in float32 already."""
        return self._exact is not None

    def promoted(self) -> TileMatrix:
        """Return the same matrix as float64 tiles that are filled anew in every pass; nothing is measured."""
        other = copy(self)
        other.storage, other._kept = np.dtype(np.float64), {}
        other._source, other._exact = self._exact or self._source, None
        return other

    @property
    def is_whole(self) -> bool:
        """Whether ``dense`` returns an array that is kept, in which changes stay."""
        return self._whole is not None

    def release(self) -> None:
        """Give back the memory of what was kept."""
        self._whole, self._kept = None, {}

    def matmat(self, V: Any) -> Any:
        """Return the product with V of shape (n, b), float64."""
        if self._whole is not None:
            return symmetric_times(self._whole, V)
        given, V = V, to_dtype(V, self.storage)
        if not is_numpy(V):
            return self._multiply_on_device(V)
        padded = np.zeros((len(self._slices) * self._side, V.shape[1]), dtype=V.dtype)
        padded[: self.n] = V
        groups = [group.reshape(len(self._slices), self._side, -1) for group in thin_chunks(padded)]

        def of_batch(stripes: Sequence[list[Stack]]) -> FloatArray:
            parts = each_thread(lambda draw: self._multiply(draw, groups), stripes)
            columns = [sum(part[g] for part in parts) for g in range(len(groups))]
            return np.concatenate([c.reshape(-1, c.shape[2])[: self.n] for c in columns], axis=1)

        return self._in_batches(of_batch, "kernel times vectors", given)

    def fingerprint(self) -> bytes:
        """Return a hash of what the tiles are made from."""
        return self._source.fingerprint()

    def dense(self) -> Any:
        """Return the whole matrix as float64."""
        if self._whole is not None:
            return self._whole
        if is_numpy(self.like):
            A = np.empty((self.n, self.n))
            result: Iterator[Any] = map(self._with_tiles, self._stacks())
        else:
            xp = namespace(self.like)
            A = xp.empty((self.n, self.n), dtype=xp.float64, device=self.like.device)
            result = self._on_device(self._with_tiles)
        for stack, tiles in result:
            A[stack.rows, stack.columns] = to_float64(tiles)
            A[stack.columns, stack.rows] = to_float64(tiles.T)
        return A

    def _in_batches(
        self, work: Callable[[Sequence[list[Stack]]], FloatArray], doing: str, *of: Any
    ) -> FloatArray:
        """Add up what stripes of tiles give, in laps that a checkpoint keeps, but not tiles in memory."""
        in_memory = self._whole is not None or (self._kept and not of)
        if self._passes is None or in_memory or not is_numpy(self.like):
            return work(self._stripes)
        some = slices(len(self._stripes), max(1, LAP_ENTRIES // (self.n * self._side)))
        about = (*of, np.array([self.storage.itemsize, self.single]))
        progress = [part.start * self._side for part in some], self.n, "rows"
        batches = [self._stripes[part] for part in some]
        return self._passes.run(batches, work, np.add, doing, about, np.asarray, progress)

    # ---------------------------------------------------------------- tiles

    def _stripe(self, column: int) -> list[Stack]:
        """A column of tiles from the diagonal down, in stacks that stay in the cache for their second use."""
        count, side = len(self._slices), self._side
        most = max(1, CACHE_BYTES // (side * side * 8)) if is_numpy(self.like) else 1
        full = self.n // side
        starts = [column, *range(column + 1, full, most), *range(max(full, column + 1), count)]
        return [
            Stack(
                column,
                slice(start, stop),
                slice(start * side, min(stop * side, self.n)),
                self._slices[column],
            )
            for start, stop in zip(starts, [*starts[1:], count], strict=True)
        ]

    def _stacks(self) -> Iterator[Stack]:
        return (stack for stripe in self._stripes for stack in stripe)

    def _memory(self, share: float) -> dict[Stack, Any]:
        """Memory for the stacks that are kept, in one piece: the system pages it in as such."""
        stacks = list(self._stacks())
        ends = np.cumsum([stack.size for stack in stacks])
        kept = stacks[: int(np.searchsorted(ends, share * ends[-1], side="right"))]
        if not is_numpy(self.like):
            return dict.fromkeys(kept)
        memory = np.empty(sum(stack.size for stack in kept), dtype=self.storage)
        return {
            stack: memory[end - stack.size : end].reshape(stack.shape)
            for stack, end in zip(kept, ends.tolist(), strict=False)
        }

    def _scratch(self) -> Any:
        """Memory for the largest stack, in the type in which it is filled."""
        if not is_numpy(self.like):
            return None
        return np.empty(
            max(stack.size for stack in self._stacks()), dtype=self.storage if self.single else np.float64
        )

    def _fill(self, stack: Stack, scratch: Any) -> Any:
        out = None
        if scratch is not None:
            out = scratch[: stack.size].reshape(stack.shape)
        return self._source(stack.rows, stack.columns, out)

    def _tiles(self, stack: Stack, scratch: Any = None) -> Any:
        """A stack as it is multiplied, kept or filled anew."""
        kept = self._kept.get(stack)
        return kept if kept is not None else to_dtype(self._fill(stack, scratch), self.storage)

    def _with_tiles(self, stack: Stack) -> tuple[Stack, Any]:
        return stack, self._tiles(stack)

    def _measure(self) -> tuple[FloatArray, float]:
        """Fill every tile once: keep it, and add up row sums and squares while it is in the cache."""
        if not is_numpy(self.like):
            return self._measure_on_device()

        def share(draw: Iterator[list[Stack]]) -> tuple[FloatArray, float]:
            sums, squares = np.zeros(self.n), 0.0
            scratch = self._scratch()
            for stack in (stack for stripe in draw for stack in stripe):
                filled = self._fill(stack, scratch)
                if self._whole is not None:
                    self._whole[stack.rows, stack.columns] = filled
                    self._whole[stack.columns, stack.rows] = filled.T
                elif stack in self._kept:
                    self._kept[stack][...] = filled
                across, down, square = _sums(filled, self._side, *self._along_of(stack))
                sums[stack.rows] += across
                squares += square if stack.diagonal else 2 * square
                if not stack.diagonal:
                    sums[stack.columns] += down
            return sums, squares

        def of_batch(stripes: Sequence[list[Stack]]) -> FloatArray:
            parts = each_thread(share, stripes)
            sums = sum((part[0] for part in parts[1:]), start=parts[0][0])
            return np.append(sums, sum(part[1] for part in parts))

        result = self._in_batches(of_batch, "kernel values")
        return result[:-1], float(result[-1])

    def _along_of(self, stack: Stack) -> tuple[FloatArray | None, FloatArray | None]:
        """What rows and columns of a stack are multiplied by in sums."""
        along = self._along
        return (None, None) if along is None else (along[stack.rows], along[stack.columns])

    def _multiply(self, draw: Iterator[list[Stack]], groups: list[Any]) -> list[Any]:
        totals = [np.zeros(V.shape) for V in groups]
        scratch = self._scratch()
        for stack in (stack for stripe in draw for stack in stripe):
            height, width = min(self._side, stack.shape[0]), stack.shape[1]
            tiles = self._tiles(stack, scratch).reshape(-1, height, width)
            below, beside = (stack.tiles, slice(height)), (stack.column, slice(width))
            for V, total in zip(groups, totals, strict=True):
                total[below] += np.matmul(tiles, V[beside])
                if not stack.diagonal:
                    turned = np.matmul(tiles.transpose(0, 2, 1), V[below])
                    total[beside] += turned.sum(axis=0, dtype=np.float64)
        return totals

    # ------------------------------------------------------------ on a device

    def _measure_on_device(self) -> tuple[FloatArray, float]:
        xp = namespace(self.like)
        sums = xp.zeros((self.n,), dtype=xp.float64, device=self.like.device)

        def work(stack: Stack) -> tuple[Stack, Any, Any, Any]:
            filled = self._fill(stack, None)
            if stack in self._kept:
                self._kept[stack] = to_dtype(filled, self.storage)
            left, right = self._along_of(stack)
            wide, tall = filled, filled
            if left is not None and right is not None:
                wide, tall = (
                    filled * from_numpy(right[None, :], filled),
                    filled * from_numpy(left[:, None], filled),
                )
            across, down = xp.sum(wide, axis=1, dtype=xp.float64), xp.sum(tall, axis=0, dtype=xp.float64)
            return stack, across, down, xp.sum(filled * filled, dtype=xp.float64)

        squares: Any = 0.0
        for stack, across, down, square in self._on_device(work):
            sums[stack.rows] += across
            squares = squares + (square if stack.diagonal else 2 * square)
            if not stack.diagonal:
                sums[stack.columns] += down
        return as_float64(sums), float(squares)

    def _multiply_on_device(self, V: Any) -> Any:
        xp = namespace(self.like)
        total = xp.zeros(V.shape, dtype=xp.float64, device=self.like.device)

        def work(stack: Stack) -> tuple[Stack, Any, Any]:
            tile = self._tiles(stack)
            across = long_product(tile.T, V[stack.columns, :], self.terms)
            down = None if stack.diagonal else long_product(tile, V[stack.rows, :], self.terms)
            return stack, across, down

        for stack, across, down in self._on_device(work):
            total[stack.rows, :] += across
            if down is not None:
                total[stack.columns, :] += down
        return total

    def _on_device(self, work: Callable[[Stack], R]) -> Iterator[R]:
        """Yield what ``work`` makes of every tile; where memory ends, fewer are kept, or they are smaller."""
        todo, used = deque(self._stacks()), list[Stack]()
        while todo:
            try:
                with full_precision():
                    result = work(todo[0])
            except out_of_memory() as error:
                error.__traceback__ = None  # what it holds is not free before
                todo = deque(self._lighter(list(todo)))
                continue
            used.append(todo.popleft())
            yield result
        self._stripes = [used]

    def _lighter(self, todo: list[Stack]) -> list[Stack]:
        """What is left to do when a device has no memory for the next tile: fewer kept, else smaller ones."""
        there = [stack for stack, tile in self._kept.items() if tile is not None]
        if there:
            kept = there[: len(there) // 2]
            log.warning("the device is out of memory: it stores %d of %d tiles", len(kept), len(there))
            self._kept = {stack: self._kept[stack] for stack in kept}
            release_unused()
            return todo
        self._kept = {}
        size = max(todo[0].shape)
        size = smaller(size, 8 * size, self.like, f"{self.n:,} rows of a kernel matrix")
        return [part for stack in todo for part in stack.cut(size)]


def _sums(filled: Any, side: int, left: Any, right: Any) -> tuple[FloatArray, FloatArray, float]:
    """Sums of the rows and of the columns of a stack, and of its squares: float64 beyond one tile."""
    tiles = filled.reshape(-1, min(side, len(filled)), filled.shape[1])
    if left is not None:
        squares = float(np.einsum("ij,ij->i", filled, filled).sum(dtype=np.float64))
        left, right = left.astype(filled.dtype), right.astype(filled.dtype)
        down = np.matmul(left.reshape(len(tiles), 1, -1), tiles).sum(axis=(0, 1), dtype=np.float64)
        return as_float64(filled @ right), down, squares
    down = tiles.sum(axis=1).sum(axis=0, dtype=np.float64)
    squares = float(np.einsum("ij,ij->i", filled, filled).sum(dtype=np.float64))
    return as_float64(filled.sum(axis=1)), down, squares


# ------------------------ on a cluster, where each is computed and stays

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
        result = self._tiles.over(_tile_sums)
        self.row_sums: FloatArray = result[:, 0]
        self.squares = float(result[:, 1].sum())
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
        return self._tiles.over(_tile_times, V) if self._whole is None else symmetric_times(self._whole, V)

    def dense(self) -> Any:
        """Return the whole matrix."""
        return self._tiles.dense() if self._whole is None else self._whole


def _tile_sums(tile: FloatArray, diagonal: bool) -> tuple[FloatArray, ...]:
    """Return sums of the rows and of their squares and, beside the diagonal, those of the columns."""
    squares = tile * tile

    def along(axis: int) -> FloatArray:
        starts = range(0, tile.shape[axis], TILE)
        pieces = (np.add.reduceat(values, starts, axis=axis) for values in (tile, squares))
        return np.stack([result.sum(axis=axis) for result in pieces], axis=1)

    return (along(1),) if diagonal else (along(1), along(0))


def _tile_times(tile: FloatArray, diagonal: bool, V: FloatArray, W: FloatArray) -> tuple[FloatArray, ...]:
    """Return ``tile V`` and, beside the diagonal, ``tile.T W``, by pieces that stay in the cache for both."""
    own, other = np.zeros((len(tile), V.shape[1])), np.zeros(V.shape)
    for rows in slices(len(tile), TILE):
        for columns in slices(len(V), TILE):
            piece = tile[rows, columns]
            own[rows] += piece @ V[columns]
            if not diagonal:
                other[columns] += piece.T @ W[rows]
    return (own,) if diagonal else (own, other)
