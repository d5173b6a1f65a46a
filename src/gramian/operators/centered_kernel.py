"""The centred kernel matrix ``Kc = H K H``, applied without being formed."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from gramian.arrays import as_float64, from_numpy, is_numpy, namespace
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
        V = V - xp.mean(V, axis=0)
        if self._rounded is None:
            KV: Any = self.tiles.matmat(V)
        else:
            KV = self.tiles.matmat(xp.concat([V, xp.ones_like(V[:, :1])], axis=1))
            for operator in (self, self._rounded):
                operator._set_means(as_float64(KV[:, -1]))
            self._rounded, KV = None, KV[:, :-1]
        return KV - xp.mean(KV, axis=0)

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
