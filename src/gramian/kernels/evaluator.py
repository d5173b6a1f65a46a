"""A kernel bound to data: it fills tiles of the Gram matrix, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from gramian.arrays import (
    THIN,
    as_float64,
    each_thread,
    from_numpy,
    is_numpy,
    namespace,
    numpy_dtype,
    to_dtype,
)
from gramian.kernels.slopes import DiagonalSlopes, Slopes

__all__ = ["Evaluator", "exact_diagonal", "gram_matrix"]

TILE = THIN
# Far below the largest number of float32: rows of Y may have larger values than those of X.
SINGLE_MAX = 1e30


class Evaluator(Protocol):
    """A kernel bound to one set of fitted rows.

    Attributes
    ----------
    kernel : Kernel
        The kernel with every parameter a number.
    relative, absolute : float
        Bound on an entry's evaluation error: ``absolute + relative * |k|``.
    largest : float
        Bound on ``|k|`` over the fitted rows.
    """

    @property
    def kernel(self) -> Any: ...

    @property
    def relative(self) -> float: ...

    @property
    def absolute(self) -> float: ...

    @property
    def largest(self) -> float: ...

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as left and right factors of a tile: float64 arrays with a row for each."""
        ...

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return k of every row of ``left`` with every row of ``right``; ``out`` may be written into."""
        ...

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row, float64."""
        ...

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return k of every NumPy row of ``X`` with every encoded row, and the derivative by X."""
        ...

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        """Return k(x, x) of every NumPy row and its derivative."""
        ...


def exact_diagonal(K: Any, diagonal: Any) -> Any:
    """Return a square tile made exactly symmetric, with the diagonal given."""
    K = (K + K.T) / 2
    if is_numpy(K):
        np.fill_diagonal(K, as_float64(diagonal))
        return K
    xp = namespace(K)
    unit = xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
    return K * (1.0 - unit) + unit * diagonal


def gram_matrix(bound: Evaluator, X: Any, Y: Any = None) -> Any:
    """Return the Gram matrix of X with Y, or of X with itself: then by half of its tiles.

    Returns
    -------
    array of shape (n, m)
        float32 where all rows are float32 and its range holds the values, else float64.
    """
    single = numpy_dtype(X) == np.float32 and (Y is None or numpy_dtype(Y) == np.float32)
    single = single and bound.largest < SINGLE_MAX
    dtype = np.dtype(np.float32 if single else np.float64)
    left, right = bound.encode(X)
    if Y is not None:
        right = bound.encode(Y)[1]
    if not is_numpy(left):
        K = bound.tile(left, right)
        return to_dtype(K if Y is not None else exact_diagonal(K, bound.diagonal(X)), dtype)
    K = np.empty((left.shape[0], right.shape[0]), dtype=dtype)
    if Y is None:
        _fill_symmetric(bound, left, right, as_float64(bound.diagonal(X)), K)
    else:
        _fill(bound, left, right, K)
    return K


def _slices(n: int, size: int = TILE) -> list[slice]:
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]


def _fill_symmetric(bound: Evaluator, left: Any, right: Any, diagonal: Any, K: Any) -> None:
    slices = _slices(K.shape[0])

    def share(draw: Iterator[tuple[int, int]]) -> None:
        scratch = np.empty((TILE, TILE))
        for i, j in draw:
            rows, columns = slices[i], slices[j]
            out = scratch if rows.stop - rows.start == columns.stop - columns.start == TILE else None
            tile = bound.tile(left[rows], right[columns], out)
            if i == j:
                K[rows, columns] = exact_diagonal(tile, from_numpy(diagonal[rows], tile))
                continue
            K[rows, columns] = tile
            K[columns, rows] = tile.T

    each_thread(share, [(i, j) for i in range(len(slices)) for j in range(i + 1)])


def _fill(bound: Evaluator, left: Any, right: Any, K: Any) -> None:
    columns = _slices(K.shape[1], 4 * TILE)

    def share(draw: Iterator[slice]) -> None:
        for rows in draw:
            for part in columns:
                K[rows, part] = bound.tile(left[rows], right[part])

    each_thread(share, _slices(K.shape[0]))
