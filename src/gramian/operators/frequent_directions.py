"""Few rows in place of many: the Frequent Directions sketch, where a covariance would be too large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from gramian.arrays import blas_threads
from gramian.records import FloatArray

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Sketch:
    """Rows B with ``0 <= C.T C - B.T B <= shrunk I`` for all the rows C that went in, up to rounding.

    Therefore no eigenvalue of ``B.T B`` exceeds that of ``C.T C``, or misses it by more than ``shrunk``. That
    is itself at most ``||C - C_k||_F^2 / (size + 1 - k)`` for every k up to ``size``, where C_k is the best
    approximation of rank k.

    Attributes
    ----------
    size : int
        Rows that are left when the buffer of twice as many has been shrunk.
    rows : ndarray of shape (m, d), float64
        B, m at most ``2 size``.
    shrunk : float
        Sum of what every squared singular value was reduced by.
    times : int
        How often that was done.

    References
    ----------
    Ghashami, Liberty, Phillips, Woodruff (2016), Frequent Directions: simple and deterministic matrix
    sketching, theorem 1.1 and the faster algorithm with a buffer of twice as many rows.
    """

    size: int
    rows: FloatArray
    shrunk: float = 0.0
    times: int = 0

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def rounding(self) -> float:
        """What float64 makes of the two inequalities, relative to the trace of ``C.T C``."""
        return self.times * (self.columns + 40 * self.size) * EPS

    def scaled(self, factor: float, exponent: int) -> Sketch:
        """Return the sketch of ``factor C 2**exponent``."""
        if factor == 1.0 and exponent == 0:
            return self
        rows, shrunk = (self.rows * factor, exponent), (self.shrunk * factor**2, 2 * exponent)
        return replace(self, rows=np.ldexp(*rows), shrunk=float(np.ldexp(*shrunk)))

    def joined(self, other: Sketch) -> Sketch:
        """Return the sketch of the rows of both; what it states holds of them together."""
        both = self.with_rows([other.rows])
        return replace(both, shrunk=both.shrunk + other.shrunk, times=both.times + other.times)

    def with_rows(self, blocks: Iterable[FloatArray]) -> Sketch:
        """Return the sketch of all rows so far and of those in the blocks, each (m, d)."""
        buffer = np.empty((2 * self.size, self.columns))
        filled, shrunk, times = len(self.rows), self.shrunk, self.times
        buffer[:filled] = self.rows
        for block in blocks:
            start = 0
            while start < len(block):
                if filled == len(buffer):
                    kept, lost = _shrunk(buffer, self.size)
                    filled, shrunk, times = len(kept), shrunk + lost, times + 1
                    buffer[:filled] = kept
                taken = block[start : start + len(buffer) - filled]
                buffer[filled : filled + len(taken)] = taken
                filled, start = filled + len(taken), start + len(taken)
        return replace(self, rows=buffer[:filled].copy(), shrunk=shrunk, times=times)


def _shrunk(B: FloatArray, size: int) -> tuple[FloatArray, float]:
    """At most ``size`` rows, all squared singular values less the first that is cut off; and that one."""
    with blas_threads():
        values, U = scipy.linalg.eigh(B @ B.T, check_finite=False, driver="evd")
    values, U = values[::-1], U[:, ::-1]
    lost = max(float(values[size]), 0.0)
    kept = values[:size][values[:size] > lost]
    return (U[:, : len(kept)] * np.sqrt(1.0 - lost / kept)).T @ B, lost
