"""Derivatives of a kernel by its first row: what pre-images follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian.errors import ParameterError
from gramian.records import FloatArray

__all__ = ["DiagonalSlopes", "Slopes", "flat", "no_slopes", "pulled_by_product", "scattered"]

Pull = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Slopes:
    """A block of kernel values k(x_b, y_i) with the derivative by x_b, never held entry by entry.

    Attributes
    ----------
    values : ndarray of shape (b, n)
    pull : callable
        From weights W of shape (b, n) to ``sum_i W_bi dk(x_b, y_i)/dx_b``, shape (b, d).
    stiffness : callable or None
        For functions of ``c_j (x_j - y_j)^2``, whose pull is ``stiffness * (centre - x)`` with a weighted
        mean ``centre`` of the y_i: from W to that factor, shape (b, d). ``x + pull / stiffness`` is then
        one step of the fixed-point iteration. None for other kernels.
    """

    values: FloatArray
    pull: Pull
    stiffness: Pull | None = None

    def scaled(self, factor: FloatArray | float, values: FloatArray) -> Slopes:
        """Return the slopes of F(k): ``values`` are F(k), ``factor`` is F'(k)."""
        stiffness = self.stiffness
        return Slopes(
            values,
            lambda W: self.pull(W * factor),
            None if stiffness is None else lambda W: stiffness(W * factor),
        )

    def joined(self, other: Slopes, mine: FloatArray | float, theirs: FloatArray | float) -> Slopes:
        """Return slopes whose derivative is ``mine * k' + theirs * other'``; the values are to be set."""
        a, b = self.stiffness, other.stiffness
        return Slopes(
            self.values,
            lambda W: self.pull(W * mine) + other.pull(W * theirs),
            None if a is None or b is None else lambda W: a(W * mine) + b(W * theirs),
        )


@dataclass(frozen=True, eq=False)
class DiagonalSlopes:
    """k(x, x) with its derivative by x.

    Attributes
    ----------
    values : ndarray of shape (b,)
    gradient : ndarray of shape (b, d)
    """

    values: FloatArray
    gradient: FloatArray


def no_slopes(kinks: str) -> ParameterError:
    """Return the error for a kernel that has no derivative, given the reason."""
    return ParameterError(f"{kinks} Use preimage='ridge', which needs no derivative.")


def flat(values: FloatArray, d: int) -> DiagonalSlopes:
    """Return a diagonal that does not change with x, as that of a stationary kernel."""
    return DiagonalSlopes(values, np.zeros((len(values), d)))


def pulled_by_product(values: FloatArray, derivative: FloatArray | float, Y: FloatArray) -> Slopes:
    """Return the slopes of f(x . y), given f'; ``Y`` has the shape (n, d)."""
    return Slopes(values, lambda W: np.asarray((W * derivative) @ Y))


def scattered(inner: Slopes, columns: list[int], d: int) -> Slopes:
    """Return the slopes by all d columns of a kernel that sees some of them."""

    def spread(part: Pull) -> Pull:
        def pull(W: FloatArray) -> FloatArray:
            found = np.zeros((W.shape[0], d))
            found[:, columns] = part(W)
            return found

        return pull

    stiffness = inner.stiffness
    return Slopes(inner.values, spread(inner.pull), None if stiffness is None else spread(stiffness))
