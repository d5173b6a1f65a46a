"""A kernel matrix as lower-triangular tiles, each used twice in a product: their sources, and ``Kc = H K H``.

Tiles are filled by a source, and kept in memory (half of n^2), or a share of them, or filled anew in every
pass. Float32 tiles are multiplied in float32; sums over tiles run in float64 always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.core import arrays
from gramian.core.checks import slices
from gramian.core.records import BoundKind, Calls, FloatArray
from gramian.engine import operator as rates
from gramian.engine.operator import Costs, Form, digest, symmetric_times, whole_product
from gramian.errors import DataError
from gramian.kernels import Evaluator
from gramian.kernels.evaluator import exact_diagonal
from gramian.tables.device import explained_memory_errors, full_precision, tile_length

R = TypeVar("R")
TILE = arrays.THIN  # one tile times one group of vectors takes OpenBLAS's fast path
CACHE_BYTES = 1 << 20
FEW_ROWS = 512  # of which a start is made
LARGEST_POWER = 1000  # of two, which float64 can be divided by at once
NEAR_ONE = 40  # powers of two from 1 up to which squares and float32 hold every entry that counts


# -------------------------------------------------------------- what fills tiles


class KernelSource:
    """Tiles of ``k(x_i, x_j)``; the diagonal is set exactly.

    Parameters
    ----------
    evaluator : Evaluator
        Kernel bound to the rows.
    X : array of shape (n, d)
        The rows.

    Attributes
    ----------
    exponent : int
        Tiles are divided by ``2**exponent``, where squares of them would leave the range of float64; so
        are ``diagonal`` and ``absolute``.
    """

    def __init__(self, evaluator: Evaluator, X: Any) -> None:
        self.evaluator = evaluator
        self.left, self.right = evaluator.encode(X)
        self.diagonal: FloatArray = arrays.as_float64(evaluator.diagonal(X))
        self.exponent = _exponent(float(np.abs(self.diagonal).max()))
        self.diagonal = np.ldexp(self.diagonal, -self.exponent)
        self.relative, self.absolute = evaluator.relative, math.ldexp(evaluator.absolute, -self.exponent)
        self.error_kind = evaluator.kernel.error_kind

    def single(self) -> KernelSource:
        """Return a source of float32 tiles, with their error, from rows encoded in float64."""
        assert self.evaluator.single is not None
        other = copy(self)
        single = np.dtype(np.float32)
        other.left, other.right = (arrays.to_dtype(factor, single) for factor in (self.left, self.right))
        other.relative, absolute = self.evaluator.single
        other.absolute = math.ldexp(absolute, -self.exponent)
        return other

    def fingerprint(self) -> bytes:
        """Return a hash of the rows."""
        return digest(_row_sums(self.left), self.diagonal)

    def __call__(self, rows: slice, columns: slice, out: Any = None) -> Any:
        """Return the tile for two slices of rows."""
        tile = self.evaluator.tile(self.left[rows, :], self.right[columns, :], out)
        if self.exponent:
            tile = tile * 2.0**-self.exponent
        if rows != columns:
            return tile
        if self.error_kind == "estimate":
            _require_symmetric(tile, rows.start)
        # Exactly symmetric with an exact diagonal, whatever the product rounded to.
        return exact_diagonal(tile, arrays.from_numpy(self.diagonal[rows], tile))


class MatrixSource:
    """Tiles of a Gram matrix given by the user.

    Parameters
    ----------
    K : array of shape (n, n)
        Checked for symmetry as far as rounding allows.
    """

    relative = 0.0
    error_kind: BoundKind = "deterministic"

    def __init__(self, K: Any) -> None:
        n, m = K.shape
        if n != m:
            raise DataError(
                'kernel="precomputed" needs the square matrix of kernel values between all '
                f"rows to fit; got {n} rows x {m} columns.",
                "Precomputed matrix must be a square matrix.",
            )
        self.K = K
        xp = arrays.namespace(K)
        self.diagonal: FloatArray = arrays.as_float64(
            xp.linalg.diagonal(K) if not arrays.is_numpy(K) else np.diag(K)
        )
        largest, asymmetry = self._asymmetry()
        self.exponent = _exponent(largest)
        self.diagonal = np.ldexp(self.diagonal, -self.exponent)
        # The norm of half the asymmetry: between K and its transpose nothing is known.
        self.absolute = math.ldexp(asymmetry / (2 * n), -self.exponent)

    def fingerprint(self) -> bytes:
        """Return a hash of the matrix."""
        return digest(_row_sums(self.K), self.diagonal)

    def _asymmetry(self) -> tuple[float, float]:
        """Return the largest entry and the norm of ``K - K.T``; refuse what is more than rounding."""
        xp = arrays.namespace(self.K)
        eps = float(np.finfo(np.float32 if "float32" in str(self.K.dtype) else np.float64).eps)
        size, worst, where, norm = 0.0, 0.0, (0, 0), 0.0
        step = 1024
        n = self.K.shape[0]
        for start in range(0, n, step):
            rows = slice(start, min(n, start + step))
            block = self.K[rows, : rows.stop]
            gap = arrays.to_float64(xp.abs(block - self.K[: rows.stop, rows].T))
            largest = float(xp.max(gap))
            if largest > 0:
                norm = math.hypot(
                    norm, math.sqrt(2.0) * largest * float(xp.linalg.matrix_norm(gap / largest))
                )
            size = max(size, float(xp.max(xp.abs(block))))
            if largest > worst:
                index = np.unravel_index(int(xp.argmax(gap)), gap.shape)
                worst, where = largest, (start + int(index[0]), int(index[1]))
        if worst > 100 * eps * size:
            i, j = where
            raise DataError(
                f"The precomputed matrix is not symmetric: K[{i}, {j}] and K[{j}, {i}] differ by "
                f"{worst:.3g}. A kernel is symmetric; pass (K + K.T) / 2 if the difference means nothing."
            )
        return size, norm

    def __call__(self, rows: slice, columns: slice, out: Any = None) -> Any:
        """Return the float64 tile for two slices of rows; of a pair (i, j), (j, i) the lower one counts."""
        tile = arrays.to_float64(self.K[rows, columns])
        if self.exponent:
            tile = tile * 2.0**-self.exponent
        return (tile + tile.T) / 2 if rows == columns else tile


class WeightedSource:
    """Tiles of another source, each entry times the roots of the weights of its two rows.

    Parameters
    ----------
    source : KernelSource or MatrixSource
    roots : ndarray of shape (n,)

    Attributes
    ----------
    diagonal, relative, absolute, exponent, error_kind
        As of the other; the errors of n entries of at most ``absolute`` have the same norm as those here.
    """

    def __init__(self, source: KernelSource | MatrixSource, roots: FloatArray) -> None:
        self.source, self.roots = source, roots
        weights = roots * roots
        self.diagonal: FloatArray = source.diagonal * weights
        self.exponent, self.error_kind = source.exponent, source.error_kind
        self.relative = source.relative + 4 * float(np.finfo(np.float64).eps)
        self.absolute = source.absolute * float(weights.mean())

    def single(self) -> WeightedSource:
        """Return a source of float32 tiles."""
        assert isinstance(self.source, KernelSource)
        other = WeightedSource(self.source.single(), self.roots)
        other.relative += 4 * float(np.finfo(np.float32).eps)
        return other

    def fingerprint(self) -> bytes:
        """Return a hash of what the tiles are made from."""
        return digest(self.roots, np.frombuffer(self.source.fingerprint(), dtype=np.uint8))

    def __call__(self, rows: slice, columns: slice, out: Any = None) -> Any:
        """Return the tile for two slices of rows."""
        tile = self.source(rows, columns, out)
        # The products of the roots first: they are symmetric to the last bit.
        return tile * arrays.to_dtype(
            arrays.from_numpy(np.outer(self.roots[rows], self.roots[columns]), tile), arrays.numpy_dtype(tile)
        )


AnySource = KernelSource | MatrixSource | WeightedSource


def _row_sums(array: Any) -> FloatArray:
    """Sums of the rows and of their squares, in float64."""
    n = array.shape[0]
    blocks = (arrays.to_float64(array[start : min(n, start + 1024), :]) for start in range(0, n, 1024))
    xp = arrays.namespace(array)
    return np.concatenate(
        [arrays.as_float64(xp.sum(f, axis=1)) for block in blocks for f in (block, block * block)]
    )


def _require_symmetric(tile: Any, start: int) -> None:
    """Refuse a user's function that depends on the order of its rows, as far as one tile shows."""
    values = arrays.as_float64(tile)
    gap = np.abs(values - values.T)
    if float(gap.max()) > 1e-6 * float(np.abs(values).max()):
        i, j = (start + int(index) for index in np.unravel_index(int(gap.argmax()), gap.shape))
        raise DataError(
            f"The kernel function is not symmetric: for rows {i} and {j} it gives "
            f"{values[i - start, j - start]:.6g}, and in the other order "
            f"{values[j - start, i - start]:.6g}. A kernel is symmetric."
        )


def require_eigenvalues(largest: float) -> None:
    """Refuse a kernel matrix with eigenvalues of a size that float64 cannot hold."""
    if not np.isfinite(largest):
        raise DataError(
            "The eigenvalues of this kernel matrix overflow float64. Divide the data, or the kernel, by a "
            "power of ten first."
        )


def _exponent(largest: float) -> int:
    """Power of two that makes a matrix safe to square: 0 unless its entries are extreme."""
    exponent = max(-LARGEST_POWER, min(arrays.power_of_two(largest), LARGEST_POWER))
    return exponent if abs(exponent) > NEAR_ONE else 0


def leading_from_few(source: KernelSource, width: int, rng: np.random.Generator) -> FloatArray:
    """Return vectors near the leading ones of the centred matrix, from its columns for few random rows.

    Parameters
    ----------
    source : KernelSource
        Of dense NumPy rows.
    width : int
        Number of vectors, at most.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, <= width)
        The left singular vectors of ``C W^(-1/2)``, C the columns and W their rows of the same few.

    References
    ----------
    Williams and Seeger (2001), Using the Nystroem method to speed up kernel machines.
    """
    n = len(source.diagonal)
    few = np.sort(rng.choice(n, min(n, FEW_ROWS), replace=False))
    right, chunks = source.right[few], slices(n, 2048)

    def columns(chunk: slice) -> FloatArray:
        result: FloatArray = source.evaluator.tile(source.left[chunk], right)
        return result

    def moments(chunk: slice) -> tuple[FloatArray, FloatArray]:
        C = columns(chunk)
        return C.sum(axis=0), C.T @ C

    totals = arrays.parallel_map(moments, chunks)
    mean = sum(total[0] for total in totals) / n
    # Not by the engine: what is found here is where an iteration starts, and no answer.
    values, Q = arrays.eigh(source.evaluator.tile(source.left[few], right))
    sound = values > 1e-10 * values[-1]
    M = Q[:, sound] / np.sqrt(values[sound])
    values, P = arrays.eigh(M.T @ (sum(total[1] for total in totals) - n * np.outer(mean, mean)) @ M)
    coefficients = M @ P[:, ::-1][:, :width]
    return np.concatenate(arrays.parallel_map(lambda chunk: (columns(chunk) - mean) @ coefficients, chunks))


# ------------------------------------------------------------------------ tiles


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
        source: AnySource,
        like: Any,
        storage: npt.DTypeLike = np.float64,
        *,
        share: float = 1.0,
        exact: AnySource | None = None,
        whole: bool = False,
        along: FloatArray | None = None,
    ) -> None:
        self.n = n
        self.like = like
        self.along = along
        self.storage = np.dtype(storage)
        self._source, self._exact = source, exact
        # Tiles of one size, so that one call of NumPy multiplies a stack of them.
        self.most = TILE if arrays.is_numpy(like) else tile_length(like)
        self.terms = TILE if arrays.is_numpy(like) else min(arrays.DEVICE_TILE, self.most)
        self._side = -(-n // -(-n // self.most))
        self._slices = slices(n, self._side)
        self._stripes = [self._stripe(column) for column in range(len(self._slices))]
        self._kept: dict[Stack, Any] = {}
        self._whole: Any = None
        if whole and arrays.is_numpy(like):
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
        V = arrays.to_dtype(V, self.storage)
        if not arrays.is_numpy(V):
            return self._each(lambda draw: self._multiply_on_device(draw, V))[0]
        groups = arrays.thin_groups(V, len(self._slices), self._side)
        return arrays.joined_groups(self._each(lambda draw: self._multiply(draw, groups)), self.n)

    def fingerprint(self) -> bytes:
        """Return a hash of what the tiles are made from."""
        return self._source.fingerprint()

    def dense(self) -> Any:
        """Return the whole matrix as float64."""
        if self._whole is not None:
            return self._whole
        A = arrays.zeros((self.n, self.n), self.like)
        with self._explained():
            for stack in self._stacks():
                tiles = self._tiles(stack)
                A[stack.rows, stack.columns] = arrays.to_float64(tiles)
                A[stack.columns, stack.rows] = arrays.to_float64(tiles.T)
        return A

    # ---------------------------------------------------------------- tiles

    def _stripe(self, column: int) -> list[Stack]:
        """A column of tiles from the diagonal down, in stacks that stay in the cache for their second use."""
        count, side = len(self._slices), self._side
        most = max(1, CACHE_BYTES // (side * side * 8)) if arrays.is_numpy(self.like) else 1
        full = self.n // side
        starts = [column, *range(column + 1, full, most), *range(max(full, column + 1), count)]
        tiles = list(map(slice, starts, [*starts[1:], count]))
        rows = [slice(some.start * side, min(some.stop * side, self.n)) for some in tiles]
        return [Stack(column, *pair, self._slices[column]) for pair in zip(tiles, rows, strict=True)]

    def _stacks(self) -> Iterator[Stack]:
        return (stack for stripe in self._stripes for stack in stripe)

    def _memory(self, share: float) -> dict[Stack, Any]:
        """Memory for the stacks that are kept, in one piece: the system pages it in as such."""
        stacks = list(self._stacks())
        ends = np.cumsum([stack.size for stack in stacks])
        kept = stacks[: int(np.searchsorted(ends, share * ends[-1], side="right"))]
        if not arrays.is_numpy(self.like):
            return dict.fromkeys(kept)
        memory = np.empty(sum(stack.size for stack in kept), dtype=self.storage)
        return {
            stack: memory[end - stack.size : end].reshape(stack.shape)
            for stack, end in zip(kept, ends.tolist(), strict=False)
        }

    def _scratch(self) -> Any:
        """Memory for the largest stack, in the type in which it is filled."""
        if not arrays.is_numpy(self.like):
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
        return kept if kept is not None else arrays.to_dtype(self._fill(stack, scratch), self.storage)

    def _measure(self) -> tuple[FloatArray, float]:
        """Fill every tile once: keep it, and add up row sums and squares while it is in the cache."""

        def share(draw: Iterator[list[Stack]]) -> tuple[Any, Any]:
            sums, squares, scratch = arrays.zeros((self.n,), self.like), 0.0, self._scratch()
            for stack in (stack for stripe in draw for stack in stripe):
                filled = self._fill(stack, scratch)
                if self._whole is not None:
                    self._whole[stack.rows, stack.columns] = filled
                    if not stack.diagonal:
                        self._whole[stack.columns, stack.rows] = filled.T
                elif stack in self._kept and scratch is None:  # on a device
                    self._kept[stack] = arrays.to_dtype(filled, self.storage)
                elif stack in self._kept:
                    self._kept[stack][...] = filled
                across, down, square = _sums(filled, self._side, *self._along_of(stack))
                sums[stack.rows] += across
                squares += square if stack.diagonal else 2 * square
                if not stack.diagonal:
                    sums[stack.columns] += down
            return sums, squares

        results = self._each(share)
        sums = sum((result[0] for result in results[1:]), start=results[0][0])
        return arrays.as_float64(sums), float(sum(result[1] for result in results))

    def _each(self, share: Callable[[Iterator[list[Stack]]], R]) -> list[R]:
        """Run ``share`` over the stripes of tiles on each worker; on a device, once."""
        if arrays.is_numpy(self.like):
            return arrays.each_thread(share, self._stripes)
        with self._explained():
            return [share(iter(self._stripes))]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain that a device has no memory left, and have it multiply float32 as such."""
        if arrays.is_numpy(self.like):
            yield
            return
        with explained_memory_errors(self.like, f"{self.n:,} rows of a kernel matrix"), full_precision():
            yield

    def _along_of(self, stack: Stack) -> tuple[FloatArray | None, FloatArray | None]:
        """What rows and columns of a stack are multiplied by in sums."""
        along = self.along
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

    def _multiply_on_device(self, draw: Iterator[list[Stack]], V: Any) -> Any:
        total = arrays.zeros(V.shape, self.like)
        for stack in (stack for stripe in draw for stack in stripe):
            tile = self._tiles(stack)
            total[stack.rows, :] += arrays.long_product(tile.T, V[stack.columns, :], self.terms)
            if not stack.diagonal:
                total[stack.columns, :] += arrays.long_product(tile, V[stack.rows, :], self.terms)
        return total


def _sums(filled: Any, side: int, left: Any, right: Any) -> tuple[Any, Any, Any]:
    """Sums of the rows and of the columns of a stack, and of its squares: float64 beyond one tile."""
    if not arrays.is_numpy(filled):
        xp = arrays.namespace(filled)
        wide = filled if right is None else filled * arrays.from_numpy(right[None, :], filled)
        tall = filled if left is None else filled * arrays.from_numpy(left[:, None], filled)
        across, down = xp.sum(wide, axis=1, dtype=xp.float64), xp.sum(tall, axis=0, dtype=xp.float64)
        return across, down, xp.sum(filled * filled, dtype=xp.float64)
    tiles = filled.reshape(-1, min(side, len(filled)), filled.shape[1])
    # As products with the vector along which they run: sooner than reductions.
    both = zip((left, right), filled.shape, strict=True)
    left, right = (
        np.ones(size, filled.dtype) if along is None else along.astype(filled.dtype) for along, size in both
    )
    down = np.matmul(left.reshape(len(tiles), 1, -1), tiles).sum(axis=(0, 1), dtype=np.float64)
    squares = float(np.einsum("ij,ij->i", filled, filled).sum(dtype=np.float64))
    return arrays.as_float64(filled @ right), down, squares


# ---- The centred kernel matrix ``Kc = H K H``, applied without being formed

EPS = float(np.finfo(np.float64).eps)


class CenteredKernelOperator:
    """``H K H`` with ``H = I - 1 1.T / n``, or K itself without centring.

    For weighted rows ``W^1/2 Kc W^1/2``, with Kc centred on the weighted mean.

    Parameters
    ----------
    tiles : TileMatrix
        K; of weighted rows ``W^1/2 K W^1/2``, whose sums of rows are along u, the roots of the weights
        divided by their norm.
    source : KernelSource, MatrixSource or WeightedSource
        What filled the tiles, with the bound on the evaluation error of an entry.
    exact : the same, optional
        What fills the tiles of ``promoted``, where that is another one.
    center : bool
        Whether to centre.
    psd : bool
        Whether K is proven positive semidefinite.
    weight : float
        Sum of the weights.

    Notes
    -----
    With ``H = I - 1 p.T`` and p the shares of the weights, ``W^1/2 H = (I - u u.T) W^1/2``: u takes the place
    of the vector of equal entries.

    An entrywise error of ``absolute + relative |k|`` has a spectral norm of at most
    ``n absolute + relative ||K||_F``, and centring never enlarges it. Sums run over the ``side`` of a tile
    and then over tiles, so that a product is wrong by at most ``(side + n / side) u ||K||_F``; centring
    before and after adds as much again. Tiles kept in float32 add the rounding of tile, vector and
    sums in that precision.
    """

    def __init__(
        self,
        tiles: TileMatrix,
        source: AnySource,
        exact: AnySource | None = None,
        *,
        center: bool,
        psd: bool,
        weight: float = 1.0,
    ) -> None:
        n, side = tiles.n, min(tiles.n, tiles.most)
        self.tiles, self.unit, self.weight = tiles, tiles.along, weight
        self.center = center
        self.psd = psd
        self.error_kind: BoundKind = source.error_kind
        self.size = n
        self._centred = False
        self.like = tiles.like
        self._rounded: CenteredKernelOperator | None = None
        self._set_means(tiles.row_sums if center else np.zeros(n))
        self._diagonal = source.diagonal
        norm = math.sqrt(tiles.squares)
        terms = side + n / side
        rounding = (terms + 10) * EPS * norm
        self.promoted_bound: float | None = None
        if tiles.storage == np.float32:
            # Tile and vector are rounded, and the sums over one tile are.
            exact = exact or source
            self.promoted_bound = n * exact.absolute + exact.relative * norm + rounding
            unit, least = np.finfo(np.float32).eps / 2, float(np.finfo(np.float32).tiny)
            rounding += (min(n, tiles.terms) + 3) * float(unit) * norm + n * least
        # Rounding of the sum of squares and of what centring takes off it, which can be nearly all of it.
        self._lost = (side**2 + (n / side) ** 2 + 8 * terms) * EPS / 2 * tiles.squares
        if tiles.single:
            # Sums over a tile are in float32: of squares, and twice of the row sums, which are squared.
            self._lost += 8 * (side + 3) * float(np.finfo(np.float32).eps) / 2 * tiles.squares
        self.error_bound = self.dense_error = n * source.absolute + source.relative * norm + rounding
        self.relative_tolerance = n * EPS
        self.noise = self.error_bound

    def promoted(self) -> CenteredKernelOperator | None:
        """Return the same matrix with tiles filled anew in float64; None where this one is in float64."""
        if self.promoted_bound is None:
            return None
        other = copy(self)
        other.tiles = self.tiles.promoted()
        # Sums of tiles filled in float32 have seven digits; the first product here measures them anew.
        other._rounded = self if self.tiles.single and self.center else None
        other.error_bound = other.dense_error = other.noise = self.promoted_bound
        other.promoted_bound = None
        return other

    def release(self) -> None:
        """Give back the memory of the tiles."""
        self.tiles.release()

    def matmat(self, V: Any) -> Any:
        """Return ``Kc V``, centring V before and the product after."""
        if not self.center:
            return self.tiles.matmat(V)
        xp = arrays.namespace(V)
        V = self._centre(V)
        if self._rounded is None:
            KV: Any = self.tiles.matmat(V)
        else:
            KV = self.tiles.matmat(xp.concat([V, self._along(V)], axis=1))
            for operator in (self, self._rounded):
                operator._set_means(arrays.as_float64(KV[:, -1]))
            self._rounded, KV = None, KV[:, :-1]
        return self._centre(KV)

    def _centre(self, V: Any) -> Any:
        """Return columns less their part along the vector of the mean."""
        if self.unit is None:
            return V - arrays.namespace(V).mean(V, axis=0)
        u = self._along(V)
        return V - u * (u.T @ V)

    def _along(self, V: Any) -> Any:
        """The vector of the sums of rows as a column like those of V."""
        if self.unit is None:
            return arrays.namespace(V).ones_like(V[:, :1])
        return arrays.from_numpy(self.unit, V)[:, None]

    def _set_means(self, row_sums: FloatArray) -> None:
        n, u = self.size, self.unit
        self._sums = row_sums
        if u is None:
            self.row_means: FloatArray = row_sums / n
            self.mean = float(self.row_means.mean())
            # What centring takes off the trace, and half of what it takes off the sum of squares.
            self._taken, square = n * self.mean, n * float(self.row_means @ self.row_means)
        else:
            # Of K itself: a row of weight 0 says nothing of its own mean.
            roots = math.sqrt(self.weight) * u
            self.row_means = np.divide(row_sums, roots, out=np.zeros(n), where=roots > 0)
            self.row_means /= math.sqrt(self.weight)
            self._taken, square = float(u @ row_sums), float(row_sums @ row_sums)
            self.mean = self._taken / self.weight
        self._squares = self.tiles.squares - 2 * square + self._taken**2

    def dense(self) -> Any:
        """Return ``Kc`` in memory."""
        A = self.tiles.dense()
        if not self.center or self._centred:
            return A
        self._centred = self.tiles.is_whole
        if self.unit is not None:
            # s u.T + u s.T - (u.T s) u u.T, symmetric to the last bit.
            u, half = self.unit, self._sums - self._taken / 2 * self.unit
            for chunk in slices(self.size, 256):
                taken = np.outer(half[chunk], u) + np.outer(u[chunk], half)
                A[chunk, :] -= arrays.from_numpy(taken, A)
            return A
        t = arrays.from_numpy(self.row_means, self.like)
        if arrays.is_numpy(A):
            A -= t[:, None]
            A -= t - self.mean
            return A
        return A - t[:, None] - t[None, :] + self.mean

    def fingerprint(self) -> bytes:
        """Return a hash of what the matrix is made from."""
        return self.tiles.fingerprint()

    def trace(self) -> float:
        """Return ``sum k(x_i, x_i) - n mean(K)``, or the same of weighted rows."""
        return float(self._diagonal.sum()) - self._taken

    def frobenius(self) -> float:
        """Return the Frobenius norm of ``Kc``, from that of K and its row means, rounding included.

        Where centring takes most of K away, the difference of squares is mostly rounding: the bound on that
        is added, so that the norm is never too small.
        """
        return math.sqrt(max(self._squares, 0.0) + self._lost)


# ------------------------------------------------------------------- what they take


@dataclass(frozen=True)
class KernelCosts(Costs):
    """The centred kernel matrix of n rows of d numbers.

    Attributes
    ----------
    shape : (n, d)
    calls : Calls or None
        What a user's function costs.
    given : bool
        Whether the matrix is the user's, and nothing is evaluated.
    single : bool
        Whether tiles may be kept in float32: entries of a proven kernel do not exceed its diagonal.
    quick : bool
        Whether tiles that are made again may be evaluated in float32 too.
    """

    shape: tuple[int, int]
    calls: Calls | None = None
    given: bool = False
    single: bool = True
    quick: bool = False

    def forms(self) -> tuple[Form, ...]:
        """Return whole, tiles kept in either precision, and tiles made again in every pass."""
        whole, again = (Form("centered kernel", how) for how in ("whole", "again"))
        if self.given:
            return whole, again
        kept = Form("centered kernel", "kept")
        if self.calls is not None:
            # A user's function is too slow to be called twice for a value.
            return (whole, kept) if self.calls.scalar else (whole, kept, again)
        single = (Form("centered kernel", how, "float32") for how in ("kept", "again") if self.single)
        return whole, kept, *single, again

    def order(self, form: Form) -> int:
        """Return n."""
        return self.shape[0]

    def spare(self, form: Form, left: int) -> Form:
        """Return the form with as many tiles kept as there is room for, unless that is all or hardly any."""
        share = left / self._tiles(form)
        anew = form.storage == "again" and not self.given
        return replace(form, share=share) if anew and 0.01 <= share < 1 else form

    def build(self, form: Form) -> tuple[float, int]:
        """Return seconds of evaluating half of the matrix, and what is kept of it."""
        n, _ = self.shape
        seconds = self._values(form)
        if form.whole:
            return seconds + n * n * 1e-9, 12 * n * n + rates.SCRATCH
        kept = int(self._tiles(form) * (1.0 if form.storage == "kept" else form.share))
        if form.storage == "kept" and self.calls is not None and self.calls.scalar:
            # One iteration in fifty stalls, and then asks for everything again; the whole matrix has it.
            seconds *= 1.02
        # Memory that was not used before is paged in at the speed at which tiles are made.
        return seconds + kept / 8e9, kept + rates.SCRATCH

    def product(self, form: Form, columns: int) -> float:
        """Return seconds of one product with the tiles."""
        n = self.shape[0]
        if form.whole:
            return whole_product(n, columns)
        rate, read = rates.THIN[form.arithmetic], rates.SIZES[form.arithmetic] / rates.BANDWIDTH
        if form.storage == "kept":
            return n * n * max(columns / rate, read / 2)
        if self.given:
            return n * n * (columns / rate + read)
        return n * n * max(columns / rate, form.share * read / 2) + (1.0 - form.share) * self._values(form)

    def improves(self, form: Form) -> bool:
        """Return whether tiles are in float32: the trace of a kernel matrix is far above its eigenvalues."""
        return not form.double

    def note(self, form: Form, columns: int = 0) -> str:
        """Return how often a user's function is called, and what that takes."""
        if self.calls is None or columns:
            return ""
        n = self.shape[0]
        how = "for each pair of rows" if self.calls.scalar else "for many rows at once"
        return (
            f"; a Python function is called {how}, and {n * (n + 1) // 2:,} values take about "
            f"{1e6 * self.calls.seconds:.2g} us each"
        )

    def _tiles(self, form: Form) -> int:
        """Bytes of all tiles."""
        n = self.shape[0]
        return n * (n + 512) // 2 * rates.SIZES[form.arithmetic]

    def _values(self, form: Form) -> float:
        n, d = self.shape
        half = n * (n + 1) / 2
        if self.given:
            return half * 8 / rates.BANDWIDTH
        call = 0.0 if self.calls is None else self.calls.seconds
        kind = form.arithmetic if self.quick and form.storage == "again" else "float64"
        return half * (rates.KERNEL_VALUE[kind] / 2 + d / rates.LARGE[kind] + call)
