"""Taylor series of f, where k(x, y) = f(x . y): one negative coefficient refutes the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.records import FloatArray

__all__ = ["ORDER", "Series"]

ORDER = 12
# Coefficients are told from rounding where they exceed this share of what was added up to them.
CLEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Series:
    """Coefficients of a power series, and how large the terms were that they are sums of.

    Attributes
    ----------
    terms : ndarray of shape (order + 1,)
    sizes : ndarray of shape (order + 1,)
        The same sums with every term taken positive: their rounding is a small part of it.
    """

    terms: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, terms: list[float]) -> Series:
        """Return the series with these coefficients."""
        return cls(np.array(terms, dtype=np.float64), np.abs(np.array(terms, dtype=np.float64)))

    def __add__(self, other: Series) -> Series:
        return Series(self.terms + other.terms, self.sizes + other.sizes)

    def __mul__(self, other: Series) -> Series:
        n = len(self.terms)
        return Series(
            np.convolve(self.terms, other.terms)[:n],
            np.convolve(self.sizes, other.sizes)[:n],
        )

    def scaled(self, factor: float) -> Series:
        """Return the series times a number."""
        return Series(self.terms * factor, self.sizes * abs(factor))

    def exp(self) -> Series:
        """Return exp of the series, by ``g' = f' g``."""
        pairs = []
        for f in (self.terms, self.sizes):
            g = np.zeros_like(f)
            g[0] = np.exp(f[0])
            for m in range(1, len(f)):
                j = np.arange(1, m + 1)
                g[m] = float(np.sum(j * f[1 : m + 1] * g[m - j])) / m
            pairs.append(g)
        return Series(*pairs)

    def power(self, exponent: float) -> Series | None:
        """Return a power of the series, by ``f g' = p f' g``; None where it has no Taylor series."""
        if float(exponent).is_integer():
            whole = Series.of([1.0] + [0.0] * (len(self.terms) - 1))
            for bit in bin(int(exponent))[2:]:
                whole = whole * whole * self if bit == "1" else whole * whole
            return whole
        f = self.terms
        if f[0] <= 0 or f[0] <= CLEAR * self.sizes[0]:
            return None
        g, size = np.zeros_like(f), np.zeros_like(f)
        g[0] = size[0] = f[0] ** exponent
        for m in range(1, len(f)):
            j = np.arange(1, m + 1)
            weights = (exponent * j - (m - j)) / (m * f[0])
            g[m] = float(np.sum(weights * f[1 : m + 1] * g[m - j]))
            size[m] = float(np.sum(np.abs(weights) * self.sizes[1 : m + 1] * size[m - j]))
        return Series(g, size)

    def negative(self) -> tuple[int, float] | None:
        """Return the place and value of the first coefficient that is negative beyond rounding."""
        with np.errstate(invalid="ignore"):
            found = np.flatnonzero(self.terms < -CLEAR * self.sizes)
        if not found.size or not np.isfinite(self.terms[: found[0] + 1]).all():
            return None
        return int(found[0]), float(self.terms[found[0]])
