"""Kernels of rows that have length 1 in feature space."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays import as_float64, namespace, to_float64
from gramian.errors import DataError
from gramian.kernels.arithmetic import UNIT
from gramian.kernels.composites import Bounds, Composite, CompositeEvaluator
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.kernel import ATOM, Kernel, bracketed
from gramian.kernels.slopes import DiagonalSlopes, Slopes, flat
from gramian.kernels.validity import Validity, proven, unknown
from gramian.records import FloatArray

__all__ = ["Normalized"]

# Smallest k(x, x) whose rounding is not that of underflow.
SAFE = 1e-280


class Normalized(Composite):
    """``k(x, y) / sqrt(k(x, x) k(y, y))``, and 0 where k(x, x) is 0: the cosine in feature space.

    Parameters
    ----------
    kernel : Kernel
    """

    name = "normalized"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.normalized()"

    @property
    def formula(self) -> str:
        return f"[k(x, y) / sqrt(k(x, x) k(y, y)), k = {self.kernel.formula}]"

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """A power of the normalised kernel is the normalised power."""
        return self.kernel.divisible

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if inner.proven:
            return proven("g(x) k(x, y) g(y) is a kernel for every function g.", "", inner)
        return unknown("It is as valid as the kernel where k(x, x) > 0.", "", inner)

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Normalized(*parts)

    def combine(self, *values: Any) -> Any:
        return values[0]

    def chain(self, *slopes: Slopes) -> Slopes:
        return slopes[0]

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        (inner,) = slopes
        return flat(np.where(inner.values > 0, 1.0, 0.0), inner.gradient.shape[1])

    def graded(self, bound: Any) -> float:
        return float(bound.absolute)

    def bounds(self, *parts: Evaluator) -> Bounds:
        return parts[0].relative, parts[0].absolute, 1.0

    def bound(self, seen: Any, parts: tuple[Evaluator, ...]) -> Evaluator:
        (part,) = parts
        if not np.isfinite(part.largest):
            raise DataError(f"{self!r} overflows on this data. Scale the data or the kernels in it first.")
        diagonal = as_float64(part.diagonal(seen))
        positive = diagonal[diagonal > 0]
        least = float(positive.min()) if positive.size else 1.0
        # How wrong a value can be for roots of k(x, x) and k(y, y), which are wrong by half of it each.
        error = part.kernel.graded(part) if least > SAFE else np.inf
        if not np.isfinite(error):
            error = part.relative + part.absolute / least
        # Cauchy and Schwarz bound the value by 1 for a kernel; for what may be none, its own size does.
        largest = max(1.0, part.largest / least)
        largest = 1.0 if largest == 1.0 or self.kernel.psd else largest
        absolute = (3.0 * error + 8.0 * UNIT) * largest if error < 0.1 else np.inf
        width = int(part.encode(seen[:1, :])[0].shape[1])
        return NormalizedEvaluator(self, 0.0, absolute, largest, parts, (width,))


class NormalizedEvaluator(CompositeEvaluator):
    """The part's evaluator, with 1 / sqrt(k(x, x)) of every row beside its code."""

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile, with a last column that scales them."""
        (part,) = self.parts
        left, right = part.encode(X)
        xp = namespace(left)
        diagonal = to_float64(part.diagonal(X))
        least = float(xp.min(diagonal)) if diagonal.shape[0] else 0.0
        if least < 0:
            raise DataError(
                f"{self.kernel!r} needs k(x, x) >= 0, but it reaches {least:.3g}: "
                f"{part.kernel!r} is no kernel."
            )
        inverse = xp.where(
            diagonal > 0,
            1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))),
            0.0 * diagonal,
        )[:, None]
        return xp.concat([left, inverse], axis=1), xp.concat([right, inverse], axis=1)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        values = self.parts[0].tile(left[:, :-1], right[:, :-1], out)
        values *= left[:, -1:]
        values *= right[:, -1:].T
        return values

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return a block of kernel values with their derivative by the rows of X."""
        (part,) = self.parts
        inner, own = part.slopes(X, right[:, :-1]), part.diagonal_slopes(X)
        there = own.values > 0
        size = np.where(there, own.values, 1.0)
        factor = np.where(there, 1.0 / np.sqrt(size), 0.0)[:, None] * right[:, -1]
        values = inner.values * factor
        shrink = own.gradient / (2.0 * size)[:, None]

        def pull(W: FloatArray) -> FloatArray:
            return np.asarray(inner.pull(W * factor) - np.sum(W * values, axis=1)[:, None] * shrink)

        found = inner.scaled(factor, values)
        return found if self.kernel.stationary else Slopes(values, pull)

    def diagonal(self, X: Any) -> Any:
        """Return 1, or 0 where k(x, x) is 0."""
        diagonal = to_float64(self.parts[0].diagonal(X))
        xp = namespace(diagonal)
        return xp.where(diagonal > 0, xp.ones_like(diagonal), 0.0 * diagonal)
