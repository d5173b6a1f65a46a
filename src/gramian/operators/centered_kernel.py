"""The centred kernel matrix ``Kc = H K H``, applied without being formed."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from gramian.arrays import as_float64, from_numpy, is_numpy, namespace
from gramian.checks import slices
from gramian.operators.tiles import SpreadTiles, TileMatrix
from gramian.records import BoundKind, FloatArray

EPS = float(np.finfo(np.float64).eps)


class CenteredKernelOperator:
    """``H K H`` with ``H = I - 1 1.T / n``, or K itself without centring.

    Parameters
    ----------
    tiles : TileMatrix or SpreadTiles
        K.
    diagonal : ndarray of shape (n,)
        k(x_i, x_i).
    relative, absolute : float
        Bound on the evaluation error of an entry: ``absolute + relative * |k|``.
    center : bool
        Whether to centre.
    psd : bool
        Whether K is proven positive semidefinite.
    error_kind : str
        Kind of the bound that ``relative`` and ``absolute`` are.
    promoted : (float, float), optional
        ``relative`` and ``absolute`` of the tiles that ``promoted`` fills, where they are others.

    Notes
    -----
    An entrywise error of ``absolute + relative |k|`` has a spectral norm of at most
    ``n absolute + relative ||K||_F``, and centring never enlarges it. Sums run over the ``side`` of a tile
    and then over tiles, so that a product is wrong by at most ``(side + n / side) u ||K||_F``; centring
    before and after adds as much again. Tiles kept in float32 add the rounding of tile, vector and
    sums in that precision.
    """

    def __init__(
        self,
        tiles: TileMatrix | SpreadTiles,
        diagonal: FloatArray,
        *,
        relative: float,
        absolute: float,
        center: bool,
        psd: bool,
        error_kind: BoundKind = "deterministic",
        promoted: tuple[float, float] | None = None,
    ) -> None:
        n, side = tiles.n, min(tiles.n, tiles.most)
        self.tiles = tiles
        self.center = center
        self.psd = psd
        self.error_kind: BoundKind = error_kind
        self.size = n
        self._centred = False
        self.like = tiles.like
        self._rounded: CenteredKernelOperator | None = None
        self._set_means(tiles.row_sums if center else np.zeros(n))
        self._diagonal = diagonal
        norm = math.sqrt(tiles.squares)
        terms = side + n / side
        rounding = (terms + 10) * EPS * norm
        self.promoted_bound: float | None = None
        if tiles.storage == np.float32:
            # Tile and vector are rounded, and the sums over one tile are.
            exact = promoted or (relative, absolute)
            self.promoted_bound = n * exact[1] + exact[0] * norm + rounding
            unit, least = np.finfo(np.float32).eps / 2, float(np.finfo(np.float32).tiny)
            rounding += (min(n, tiles.terms) + 3) * float(unit) * norm + n * least
        # Rounding of the sum of squares and of what centring takes off it, which can be nearly all of it.
        self._lost = (side**2 + (n / side) ** 2 + 8 * terms) * EPS / 2 * tiles.squares
        if tiles.single:
            # Sums over a tile are in float32: of squares, and twice of the row sums, which are squared.
            self._lost += 8 * (side + 3) * float(np.finfo(np.float32).eps) / 2 * tiles.squares
        self.error_bound = self.dense_error = n * absolute + relative * norm + rounding
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
        xp = namespace(V)
        V = self._centre(V)
        if self._rounded is None:
            KV: Any = self.tiles.matmat(V)
        else:
            KV = self.tiles.matmat(xp.concat([V, self._along(V)], axis=1))
            for operator in (self, self._rounded):
                operator._set_means(as_float64(KV[:, -1]))
            self._rounded, KV = None, KV[:, :-1]
        return self._centre(KV)

    def _centre(self, V: Any) -> Any:
        """Return columns less their part along the vector of the mean."""
        return V - namespace(V).mean(V, axis=0)

    def _along(self, V: Any) -> Any:
        """The vector of the sums of rows as a column like those of V."""
        return namespace(V).ones_like(V[:, :1])

    def _set_means(self, row_sums: FloatArray) -> None:
        self.row_means: FloatArray = row_sums / self.size
        self.mean = float(self.row_means.mean())

    def dense(self) -> Any:
        """Return ``Kc`` in memory."""
        A = self.tiles.dense()
        if not self.center or self._centred:
            return A
        self._centred = self.tiles.is_whole
        t = from_numpy(self.row_means, self.like)
        if is_numpy(A):
            A -= t[:, None]
            A -= t[None, :]
            A += self.mean
            return A
        return A - t[:, None] - t[None, :] + self.mean

    def fingerprint(self) -> bytes:
        """Return a hash of what the matrix is made from."""
        return self.tiles.fingerprint()

    def diagonal(self) -> FloatArray:
        """Return the diagonal of ``Kc``."""
        return self._diagonal - 2 * self.row_means + self.mean

    def trace(self) -> float:
        """Return ``sum k(x_i, x_i) - n mean(K)``."""
        return float(self._diagonal.sum()) - self.size * self.mean

    def frobenius(self) -> float:
        """Return the Frobenius norm of ``Kc``, from that of K and its row means, rounding included.

        Where centring takes most of K away, the difference of squares is mostly rounding: the bound on that
        is added, so that the norm is never too small.
        """
        n = self.size
        square = self.tiles.squares - 2 * n * float(self.row_means @ self.row_means) + (n * self.mean) ** 2
        return math.sqrt(max(square, 0.0) + self._lost)


class WeightedKernelOperator(CenteredKernelOperator):
    """``W^1/2 Kc W^1/2`` for weights of the rows, with Kc centred on the weighted mean.

    Parameters
    ----------
    tiles : TileMatrix
        ``W^1/2 K W^1/2``, whose sums of rows are along u.
    unit : ndarray of shape (n,)
        u, the roots of the weights divided by their norm.
    weight : float
        Sum of the weights.
    **options
        As of :class:`CenteredKernelOperator`.

    Notes
    -----
    With ``H = I - 1 p.T`` and p the shares of the weights, ``W^1/2 H = (I - u u.T) W^1/2``: u takes the place
    of the vector of equal entries.
    """

    def __init__(
        self, tiles: TileMatrix, diagonal: FloatArray, *, unit: FloatArray, weight: float, **options: Any
    ) -> None:
        self.unit, self.weight = unit, weight
        super().__init__(tiles, diagonal, **options)

    def _centre(self, V: Any) -> Any:
        u = self._along(V)
        return V - u * (u.T @ V)

    def _along(self, V: Any) -> Any:
        return from_numpy(self.unit, V)[:, None]

    def _set_means(self, row_sums: FloatArray) -> None:
        self._sums = row_sums
        # Of K itself: a row of weight 0 says nothing of its own mean.
        roots = math.sqrt(self.weight) * self.unit
        self.row_means = np.divide(row_sums, roots, out=np.zeros(self.size), where=roots > 0)
        self.row_means /= math.sqrt(self.weight)
        self.mean = float(self.unit @ row_sums) / self.weight

    def dense(self) -> Any:
        """Return the matrix in memory."""
        A = self.tiles.dense()
        if not self.center or self._centred:
            return A
        self._centred = self.tiles.is_whole
        # s u.T + u s.T - (u.T s) u u.T, symmetric to the last bit.
        u, half = self.unit, self._sums - float(self.unit @ self._sums) / 2 * self.unit
        for part in slices(self.size, 256):
            taken = np.outer(half[part], u) + np.outer(u[part], half)
            A[part, :] -= from_numpy(taken, A)
        return A

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the matrix."""
        u = self.unit
        return self._diagonal - 2 * self._sums * u + float(u @ self._sums) * u * u

    def trace(self) -> float:
        """Return the sum of the weighted diagonal, less what centring takes off it."""
        return float(self._diagonal.sum()) - float(self.unit @ self._sums)

    def frobenius(self) -> float:
        """Return the Frobenius norm, rounding included, as without weights."""
        square = self.tiles.squares - 2 * float(self._sums @ self._sums) + float(self.unit @ self._sums) ** 2
        return math.sqrt(max(square, 0.0) + self._lost)
