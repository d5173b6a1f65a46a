"""Kernels of other distances: the sum of absolute differences, and chi-squared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays import is_numpy, namespace, to_float64
from gramian.errors import DataError
from gramian.kernels.arithmetic import (
    FUNCTION_ULPS,
    TINY,
    UNIT,
    absolute_distances,
    check_positive,
    exponential,
    ones,
)
from gramian.kernels.formulas import Formula
from gramian.kernels.kernel import Kernel
from gramian.kernels.slopes import DiagonalSlopes, Slopes, flat
from gramian.kernels.validity import Validity, proven
from gramian.kernels.widths import ALSO, factor_text, is_median, median_distance
from gramian.records import FloatArray

__all__ = ["ChiSquared", "Laplacian"]


class Laplacian(Formula):
    """k(x, y) = exp(-gamma ||x - y||_1).

    Parameters
    ----------
    gamma : float, "median" or None
        Inverse width; None takes 1 / n_features, "median" 1 / the median of ||x - y||_1 over (at most 5000
        evenly spaced) rows.
    """

    name = "laplacian"
    general = "exp(-gamma ||x - y||_1)"
    stationary = True
    divisible = True

    @property
    def kinks(self) -> str:
        """|x_j - y_j| comes to a point where it is 0."""
        return f"{self!r} has a kink wherever two rows have an entry in common."

    def __init__(self, gamma: Any = None) -> None:
        self.gamma = gamma

    def check(self) -> None:
        if self.gamma is not None and not is_median(self.gamma):
            check_positive("gamma", self.gamma, ALSO)

    def judge(self) -> Validity:
        return proven(
            "A product of exponential kernels, each the Fourier transform of a Cauchy density (Bochner 1933)."
        )

    @property
    def formula(self) -> str:
        return f"exp(-{factor_text(self.gamma)}||x - y||_1)"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        if is_median(self.gamma):
            return Laplacian(1.0 / median_distance(X, "cityblock"))
        return Laplacian(1.0 / X.shape[1] if self.gamma is None else float(self.gamma))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        # The factor comes last, so that rows close to each other keep their difference.
        T = absolute_distances(left, right)
        if is_numpy(T):
            T *= -self.gamma
            return np.exp(T, out=T)
        return exponential(T * -self.gamma)

    def diagonal(self, X: Any) -> Any:
        return ones(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, (d + 4) * UNIT / np.e + TINY


class ChiSquared(Formula):
    """k(x, y) = exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), for histograms: no entry is negative.

    Parameters
    ----------
    gamma : float
        Factor, positive.

    References
    ----------
    Zhang, Marszalek, Lazebnik, Schmid (2007), Local features and kernels for classification of texture and
    object categories.
    """

    name = "chi2"
    general = "exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), x and y >= 0"
    divisible = True
    kinks = ""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check(self) -> None:
        check_positive("gamma", self.gamma)

    def judge(self) -> Validity:
        return proven(
            "exp of -(x + y) + 4 x y / (x + y), where 1 / (x + y) is the integral of exp(-t x) exp(-t y), "
            "on data without negative entries (Schoenberg 1938)."
        )

    @property
    def formula(self) -> str:
        return f"exp(-{factor_text(self.gamma)}sum_j (x_j - y_j)^2 / (x_j + y_j))"

    def admit(self, X: Any) -> None:
        least = float(namespace(X).min(X)) if X.shape[0] else 0.0
        if least < 0:
            raise DataError(
                f"The chi-squared kernel is for histograms and takes no negative numbers, but X reaches "
                f"{least:.4g}. Use counts or frequencies, or another kernel such as laplacian."
            )

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        xp = namespace(left)
        total: Any = 0.0
        for j in range(left.shape[1]):
            # Halved and divided first, so that nothing but the result can leave the range of float64.
            x, y = 0.5 * left[:, j][:, None], 0.5 * right[:, j][None, :]
            both = x + y
            gap = x - y
            with np.errstate(over="ignore"):
                total = total + gap * (gap / xp.where(both > 0, both, xp.ones_like(both)))
        with np.errstate(over="ignore"):
            return exponential(total * -(2.0 * float(self.gamma)))

    def floor(self, d: int) -> FloatArray:
        return np.zeros(d)

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        values = self.tile(left, right, direct)

        def pull(W: FloatArray) -> FloatArray:
            weights = W * values * -float(self.gamma)
            found = np.empty(left.shape)
            for j in range(left.shape[1]):
                x, y = left[:, j][:, None], right[:, j][None, :]
                both = x + y
                share = (x - y) / np.where(both > 0, both, 1.0)
                # Of (x - y)^2 / (x + y); where both are 0, the slope towards positive numbers.
                slope = np.where(both > 0, share * (2.0 - share), 1.0)
                found[:, j] = np.einsum("bn,bn->b", weights, slope)
            return found

        return Slopes(values, pull)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        return flat(self.diagonal(X), X.shape[1])

    def diagonal(self, X: Any) -> Any:
        return ones(to_float64(X))

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, (d + 8) * UNIT / np.e + TINY
