"""Fills tiles of a Gram matrix: from a kernel and rows, or from a matrix that is already there."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from gramian.arrays import (
    as_float64,
    divided_by_power,
    from_numpy,
    is_numpy,
    namespace,
    numpy_dtype,
    parallel_map,
    power_of_two,
    to_dtype,
    to_float64,
)
from gramian.checks import slices
from gramian.errors import DataError
from gramian.kernels import Evaluator
from gramian.kernels.evaluator import exact_diagonal
from gramian.operators.operator import digest
from gramian.records import BoundKind, FloatArray

FEW_ROWS = 512  # of which a start is made
NEAR_ONE = 40  # powers of two from 1 up to which squares and float32 hold every entry that counts


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
        self.diagonal: FloatArray = as_float64(evaluator.diagonal(X))
        self.exponent = _exponent(float(np.abs(self.diagonal).max()))
        self.diagonal = np.ldexp(self.diagonal, -self.exponent)
        self.relative, self.absolute = evaluator.relative, math.ldexp(evaluator.absolute, -self.exponent)
        self.error_kind = evaluator.kernel.error_kind

    def single(self) -> KernelSource:
        """Return a source of float32 tiles, with their error, from rows encoded in float64."""
        assert self.evaluator.single is not None
        other = copy(self)
        single = np.dtype(np.float32)
        other.left, other.right = (to_dtype(factor, single) for factor in (self.left, self.right))
        other.relative, absolute = self.evaluator.single
        other.absolute = math.ldexp(absolute, -self.exponent)
        return other

    def fingerprint(self) -> bytes:
        """Return a hash of the rows."""
        return digest(_row_sums(self.left), self.diagonal)

    def __call__(self, rows: slice, columns: slice, out: Any = None) -> Any:
        """Return the tile for two slices of rows."""
        tile = self.evaluator.tile(self.left[rows, :], self.right[columns, :], out)
        diagonal = self.diagonal[rows] if rows == columns else None
        return self._finished(tile, diagonal, rows.start)

    def _finished(self, tile: Any, diagonal: FloatArray | None, start: int = 0) -> Any:
        if self.exponent:
            tile = divided_by_power(tile, self.exponent)
        if diagonal is None:
            return tile
        if self.error_kind == "estimate":
            _require_symmetric(tile, start)
        # Exactly symmetric with an exact diagonal, whatever the product rounded to.
        return exact_diagonal(tile, from_numpy(diagonal, tile))

    def bare(self) -> KernelSource:
        """Return what :meth:`between` needs, without rows, to be sent to others."""
        other = copy(self)
        other.left = other.right = None
        other.diagonal = np.empty(0)
        return other

    def between(self, X: Any, Y: Any = None) -> Any:
        """Return the tile for rows that are given, of X with Y or with itself."""
        left, right = self.evaluator.encode(X)
        if Y is not None:
            return self._finished(self.evaluator.tile(left, self.evaluator.encode(Y)[1]), None)
        diagonal = np.ldexp(as_float64(self.evaluator.diagonal(X)), -self.exponent)
        return self._finished(self.evaluator.tile(left, right), diagonal)


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
                f"kernel='precomputed' needs the square matrix of kernel values between all rows to fit; "
                f"got {n} rows x {m} columns. "
                "Precomputed matrix must be a square matrix."
            )
        self.K = K
        xp = namespace(K)
        self.diagonal: FloatArray = as_float64(xp.linalg.diagonal(K) if not is_numpy(K) else np.diag(K))
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
        xp = namespace(self.K)
        eps = float(np.finfo(np.float32 if "float32" in str(self.K.dtype) else np.float64).eps)
        size, worst, where, norm = 0.0, 0.0, (0, 0), 0.0
        step = 1024
        n = self.K.shape[0]
        for start in range(0, n, step):
            rows = slice(start, min(n, start + step))
            block = self.K[rows, : rows.stop]
            gap = to_float64(xp.abs(block - self.K[: rows.stop, rows].T))
            largest = float(xp.max(gap))
            if largest > 0:
                norm = math.hypot(
                    norm, math.sqrt(2.0) * largest * float(xp.linalg.matrix_norm(gap / largest))
                )
            size = max(size, float(xp.max(xp.abs(block))))
            if largest > worst:
                place = np.unravel_index(int(xp.argmax(gap)), gap.shape)
                worst, where = largest, (start + int(place[0]), int(place[1]))
        if worst > 100 * eps * size:
            i, j = where
            raise DataError(
                f"The precomputed matrix is not symmetric: K[{i}, {j}] and K[{j}, {i}] differ by "
                f"{worst:.3g}. A kernel is symmetric; pass (K + K.T) / 2 if the difference means nothing."
            )
        return size, norm

    def __call__(self, rows: slice, columns: slice, out: Any = None) -> Any:
        """Return the float64 tile for two slices of rows; of a pair (i, j), (j, i) the lower one counts."""
        tile = to_float64(self.K[rows, columns])
        if self.exponent:
            tile = divided_by_power(tile, self.exponent)
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
        return tile * to_dtype(
            from_numpy(np.outer(self.roots[rows], self.roots[columns]), tile), numpy_dtype(tile)
        )


def _row_sums(array: Any) -> FloatArray:
    """Sums of the rows and of their squares, in float64."""
    n = array.shape[0]
    parts = (to_float64(array[start : min(n, start + 1024), :]) for start in range(0, n, 1024))
    xp = namespace(array)
    return np.concatenate([as_float64(xp.sum(f, axis=1)) for part in parts for f in (part, part * part)])


def _require_symmetric(tile: Any, start: int) -> None:
    """Refuse a user's function that depends on the order of its rows, as far as one tile shows."""
    values = as_float64(tile)
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
    exponent = power_of_two(largest)
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
    right, parts = source.right[few], slices(n, 2048)

    def columns(part: slice) -> FloatArray:
        result: FloatArray = source.evaluator.tile(source.left[part], right)
        return result

    def moments(part: slice) -> tuple[FloatArray, FloatArray]:
        C = columns(part)
        return C.sum(axis=0), C.T @ C

    totals = parallel_map(moments, parts)
    mean = sum(total[0] for total in totals) / n
    # Not by the engine: what is found here is where an iteration starts, and no answer.
    values, Q = np.linalg.eigh(source.evaluator.tile(source.left[few], right))
    sound = values > 1e-10 * values[-1]
    M = Q[:, sound] / np.sqrt(values[sound])
    values, P = np.linalg.eigh(M.T @ (sum(total[1] for total in totals) - n * np.outer(mean, mean)) @ M)
    coefficients = M @ P[:, ::-1][:, :width]
    return np.concatenate(parallel_map(lambda part: (columns(part) - mean) @ coefficients, parts))


def cross_times(evaluator: Evaluator, new: Any, fitted: Any, coefficients: Any, size: int = 960) -> Any:
    """Return ``k(new, fitted) @ coefficients`` for encoded rows, tile by tile.

    Parameters
    ----------
    new : array of shape (b, .)
        Left factor of encoded new rows.
    fitted : array of shape (n, .)
        Right factor of encoded fitted rows.
    coefficients : array of shape (n, k), float64
    """
    xp = namespace(coefficients)
    total = None
    scratch = np.empty((new.shape[0], min(size, fitted.shape[0]))) if is_numpy(coefficients) else None
    for start in range(0, fitted.shape[0], size):
        part = slice(start, min(fitted.shape[0], start + size))
        out = None
        if scratch is not None:
            out = scratch if part.stop - part.start == scratch.shape[1] else None
        product = evaluator.tile(new, fitted[part, :], out) @ coefficients[part, :]
        total = product if total is None else total + product
    return total if total is not None else xp.zeros((new.shape[0], coefficients.shape[1]), dtype=xp.float64)
