"""Kernels of the inner product x . y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays import is_numpy, namespace, to_float64
from gramian.errors import DataError, ParameterError
from gramian.kernels.arithmetic import (
    FUNCTION_ULPS,
    LEAST,
    TINY,
    UNIT,
    check_number,
    check_positive,
    is_number,
    product,
    squared_norms,
    whole_power,
)
from gramian.kernels.constant import Constant
from gramian.kernels.feature_maps import polynomial_map
from gramian.kernels.formulas import Formula
from gramian.kernels.kernel import Kernel
from gramian.kernels.maps import FeatureMap
from gramian.kernels.series import ORDER, Series
from gramian.kernels.slopes import DiagonalSlopes, Slopes, flat, pulled_by_product
from gramian.kernels.validity import Validity, proven, refuted, unknown

__all__ = ["Constant", "Cosine", "Linear", "Polynomial", "Sigmoid"]


def by_series(kernel: Kernel) -> Validity | None:
    """Return the refutation by a negative Taylor coefficient, or None.

    For one feature and points near zero, ``v.T K v`` with v orthogonal to all powers below m has the sign
    of the m-th coefficient. Schoenberg (1942), Positive definite functions on spheres, has the converse.
    """
    with np.errstate(all="ignore"):
        series = kernel.series(ORDER)
    found = None if series is None else series.negative()
    if found is None:
        return None
    m, value = found
    return refuted(
        f"It is f(x . y), and the Taylor coefficient of t^{m} in f(t) is {value:.4g} < 0: "
        f"{m + 1} point{'s' if m else ''} near zero refute it."
    )


class Linear(Formula):
    """k(x, y) = x . y: kernel PCA with it is PCA.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear().gram([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    name = "linear"
    general = formula = "x . y"
    shifts_out = True
    kinks = ""

    def judge(self) -> Validity:
        return proven("An inner product: its feature map is x itself.")

    def series(self, order: int) -> Series:
        return Series.of([0.0, 1.0] + [0.0] * (order - 1))

    def feature_map(self, n_features: int, **options: Any) -> FeatureMap:
        """Return the map to the features themselves."""
        return polynomial_map(n_features, degree=1, gamma=1.0, coef0=0.0, **options)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        return product(left, right, out)

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        return pulled_by_product(product(left, right), 1.0, right)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        return DiagonalSlopes(squared_norms(X), 2.0 * X)

    def diagonal(self, X: Any) -> Any:
        return squared_norms(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, (d + 3) * UNIT * largest * largest + d * LEAST

    def size(self, largest: float) -> float:
        return largest * largest

    def graded(self, bound: Any) -> float:
        # |x . y| <= ||x|| ||y||, and so is its error, up to the factor it has for the longest rows.
        return float(bound.absolute / bound.largest) if bound.largest > 0 else np.inf


class Polynomial(Formula):
    """k(x, y) = (gamma x . y + coef0) ** degree.

    Parameters
    ----------
    degree : int
        Power, at least 1. A fractional power is no kernel (FitzGerald and Horn 1977).
    gamma : float or None
        Factor of the inner product, positive; None takes 1 / n_features.
    coef0 : float
        Constant, at least 0: a negative one makes no kernel.
    """

    name = "poly"
    general = "(gamma x . y + coef0)^degree"
    kinks = ""

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def check(self) -> None:
        if not is_number(self.degree) or self.degree <= 0:
            raise ParameterError(f"degree={self.degree!r} must be a positive whole number such as 3.")
        check_number("coef0", self.coef0)
        if self.gamma is not None:
            check_positive("gamma", self.gamma, " or None")

    def judge(self) -> Validity:
        if not float(self.degree).is_integer():
            if self.coef0 == 0:
                return refuted(
                    f"A fractional power, {self.degree:g}, of x . y is no kernel for two or more features "
                    "(FitzGerald and Horn 1977)."
                )
            why = f"A fractional power, {self.degree:g}, is no kernel (FitzGerald and Horn 1977)."
            found = by_series(self)
            return refuted(why if found is None else f"{why} {found.reason}")
        if self.coef0 < 0:
            found = by_series(self)
            return unknown("A negative constant loses the proof.") if found is None else found
        inside = (Linear().validity, Constant(self.coef0).validity)
        return proven(f"A whole power, {self.degree:g}, of a sum of kernels times numbers >= 0.", "", *inside)

    @property
    def formula(self) -> str:
        inside = "x . y / d" if self.gamma is None else f"{self.gamma:g} x . y"
        return f"({inside} + {self.coef0:g})^{self.degree:g}"

    def series(self, order: int) -> Series | None:
        gamma = 1.0 if self.gamma is None else float(self.gamma)
        inside = Series.of([float(self.coef0), gamma] + [0.0] * (order - 1))
        return inside.power(self.degree)

    def feature_map(self, n_features: int, **options: Any) -> FeatureMap:
        """Return the map to all monomials up to the degree, each times its coefficient.

        Parameters
        ----------
        n_features : int
        **options
            ``names`` of the features; ``max_features``, the largest number that is not refused.

        Returns
        -------
        gramian.kernels.maps.FeatureMap

        Examples
        --------
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0).feature_map(2).names
        ('1', 'sqrt(2) f1', 'sqrt(2) f2', 'f1^2', 'sqrt(2) f1 f2', 'f2^2')
        """
        self.check()
        given: dict[str, Any] = {"degree": self.degree, "gamma": self.gamma, "coef0": self.coef0}
        return polynomial_map(n_features, **given, **options)

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        return Polynomial(self.degree, gamma, self.coef0)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X * self.gamma, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = product(left, right, out)
        T += self.coef0
        if not float(self.degree).is_integer():
            self._refuse_negative(T)
        elif is_numpy(T):
            return whole_power(T, int(self.degree))
        return T**self.degree

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        T = product(left, right) + self.coef0
        return pulled_by_product(self.tile(left, right, direct), self._steepness(T), right)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        steepness = self._steepness(self.gamma * squared_norms(X) + self.coef0)
        return DiagonalSlopes(self.diagonal(X), (2.0 * steepness)[:, None] * X)

    def _steepness(self, T: Any) -> Any:
        """The derivative of ``T ** degree`` by x . y."""
        gamma = float(self.gamma or 0.0)
        return gamma * self.degree * T ** (self.degree - 1) if self.degree != 1 else np.full_like(T, gamma)

    def _refuse_negative(self, T: Any) -> None:
        least = float(namespace(T).min(T)) if 0 not in T.shape else 0.0
        if least < 0:
            raise DataError(
                f"{self!r} has no value where gamma x . y + coef0 is negative, and it reaches {least:.3g}. "
                "Use a whole degree: a fractional power is no kernel."
            )

    def diagonal(self, X: Any) -> Any:
        inside = self.gamma * squared_norms(X) + self.coef0
        if not float(self.degree).is_integer():
            self._refuse_negative(inside)
        return inside**self.degree

    def graded(self, bound: Any) -> float:
        # As for x . y: |gamma x . y + coef0| is at most the root of its values at (x, x) and (y, y).
        if not self.psd or not bound.largest > 0:
            return np.inf
        return float(bound.relative + bound.absolute / bound.largest)

    def size(self, largest: float) -> float:
        with np.errstate(over="ignore"):
            inside = np.float64(self.gamma or 0.0) * largest * largest + abs(self.coef0)
            return float(inside**self.degree)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        # A power by products takes at most degree - 1 of them.
        relative = (FUNCTION_ULPS + self.degree) * UNIT
        if self.degree >= 1:
            return relative, self.degree * (d + 3) * UNIT * self.size(largest) + TINY
        # The slope of t^p is infinite at 0, where it moves by e^p at most.
        inside = float(self.gamma or 0.0) * largest * largest + abs(self.coef0)
        return relative, float(((d + 3) * UNIT * inside + TINY) ** self.degree)


class Cosine(Formula):
    """k(x, y) = x . y / (||x|| ||y||); a zero row has kernel 0 with everything."""

    name = "cosine"
    general = formula = "x . y / (||x|| ||y||)"
    kinks = ""

    def judge(self) -> Validity:
        return proven("The linear kernel of rows scaled to length 1.", "", Linear().validity)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        xp = namespace(X)
        # Dividing by the largest entry first keeps squares inside the range of float64.
        size = xp.max(xp.abs(X), axis=1)[:, None]
        X = X / xp.where(size > 0, size, xp.ones_like(size))
        norms = xp.sqrt(squared_norms(X))[:, None]
        X = X / xp.where(norms > 0, norms, xp.ones_like(norms))
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        return product(left, right, out)

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        values = product(left, right)
        norms = np.linalg.norm(X, axis=1)[:, None]
        inverse = np.where(norms > 0, 1.0 / np.where(norms > 0, norms, 1.0), 0.0)

        def pull(W: Any) -> Any:
            return (W @ right - np.sum(W * values, axis=1)[:, None] * left) * inverse

        return Slopes(values, pull)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        return flat(self.diagonal(X), X.shape[1])

    def diagonal(self, X: Any) -> Any:
        return squared_norms(self.encode(to_float64(X), False)[0])

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, (2 * d + 8) * UNIT


class Sigmoid(Formula):
    """k(x, y) = tanh(gamma x . y + coef0), which is not a kernel.

    Parameters
    ----------
    gamma : float or None
        Factor of the inner product; None takes 1 / n_features.
    coef0 : float
        Constant.
    """

    name = "sigmoid"
    general = "tanh(gamma x . y + coef0)"
    kinks = ""

    def __init__(self, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def check(self) -> None:
        check_number("coef0", self.coef0)
        if self.gamma is not None:
            check_number("gamma", self.gamma)

    def judge(self) -> Validity:
        if self.gamma == 0:
            return Constant(float(np.tanh(self.coef0))).judge()
        found = by_series(self)
        if found is not None:
            return found
        return refuted(
            "It is f(x . y), and the Taylor coefficient of t^2 in f(t) is "
            "-gamma^2 tanh(coef0) / cosh(coef0)^2 < 0: 3 points near zero refute it."
        )

    @property
    def formula(self) -> str:
        inside = "x . y / d" if self.gamma is None else f"{self.gamma:g} x . y"
        return f"tanh({inside} + {self.coef0:g})"

    def series(self, order: int) -> Series:
        """By ``f' = gamma (1 - f^2)``."""
        gamma = 1.0 if self.gamma is None else float(self.gamma)
        f = [float(np.tanh(self.coef0))]
        sizes = [abs(f[0])]
        for m in range(order):
            square = sum(f[i] * f[m - i] for i in range(m + 1))
            size = sum(sizes[i] * sizes[m - i] for i in range(m + 1))
            f.append(gamma * ((m == 0) - square) / (m + 1))
            sizes.append(abs(gamma) * ((m == 0) + size) / (m + 1))
        return Series(np.array(f), np.array(sizes))

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        return Sigmoid(1.0 / X.shape[1] if self.gamma is None else float(self.gamma), self.coef0)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X * self.gamma, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = product(left, right, out)
        T += self.coef0
        return np.tanh(T, out=T) if is_numpy(T) else namespace(T).tanh(T)

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        values = self.tile(left, right, direct)
        return pulled_by_product(values, float(self.gamma or 0.0) * (1.0 - values * values), right)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        values = self.diagonal(X)
        return DiagonalSlopes(values, (2.0 * float(self.gamma or 0.0) * (1.0 - values * values))[:, None] * X)

    def diagonal(self, X: Any) -> Any:
        xp = namespace(X)
        return xp.tanh(self.gamma * squared_norms(X) + self.coef0)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        size = abs(self.gamma or 0.0) * largest * largest + abs(self.coef0)
        return FUNCTION_ULPS * UNIT, min((d + 3) * UNIT * size + TINY, 2.0)

    def size(self, largest: float) -> float:
        # Beyond, x . y itself is no number.
        return 1.0 if abs(self.gamma or 0.0) * largest * largest < np.inf else np.inf
