"""Feature maps made of monomials, and the exact one of the polynomial kernel.

What all maps share is in ``maps.py``; the Gaussian kernel's are in ``taylor.py`` and ``fourier.py``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64, from_numpy, namespace
from gramian.errors import DataError, ParameterError
from gramian.kernels.arithmetic import is_number
from gramian.kernels.maps import EPS, FeatureMap, check_gamma, check_labels
from gramian.kernels.monomials import graded_blocks, graded_powers, monomial_name
from gramian.kernels.multinomials import exact_fraction, graded_roots, radical
from gramian.records import FloatArray

__all__ = [
    "MAX_FEATURES",
    "MonomialMap",
    "PolynomialFeatureMap",
    "check_degree",
    "check_size",
    "polynomial_map",
]

MAX_FEATURES = 1_000_000
# Beyond it, binomial coefficients leave the range of float64.
MAX_DEGREE = 1000
COUNTED = 10**15
LOG_MAX = math.log(np.finfo(np.float64).max)


class MonomialMap(FeatureMap):
    """A map whose features are monomials times coefficients: what the exact and the Taylor map share.

    Attributes
    ----------
    degree, lowest : int
        Largest and smallest degree of the monomials.
    gamma : ndarray of shape (d,)
        Factor of every feature in the kernel.
    """

    prefix = ""

    def __init__(
        self,
        labels: tuple[str, ...],
        gamma: FloatArray,
        factor: float,
        degree: int,
        lowest: int,
        origin: FloatArray | None,
    ) -> None:
        super().__init__(labels, np.sqrt(factor * gamma), origin)
        self.gamma = gamma
        self.degree = degree
        self.lowest = lowest
        self._factor = factor

    @cached_property
    def powers(self) -> npt.NDArray[np.int32]:
        """Powers of the monomials, shape (D, d): by degree; within one the first feature's powers fall."""
        return np.concatenate(graded_powers(self.n_features_in, self.degree)[self.lowest :])

    @property
    def _roots(self) -> tuple[FloatArray, ...]:
        return graded_roots(self.n_features_in, self.degree)

    def __len__(self) -> int:
        d = self.n_features_in
        return sum(math.comb(d + m - 1, m) for m in range(self.lowest, self.degree + 1))

    @property
    def coefficients(self) -> FloatArray:
        """Coefficient of every monomial of the (shifted) data, shape (D,)."""
        assert self._scale is not None
        weights = np.concatenate(
            [self._weight(m) * self._roots[m] for m in range(self.lowest, self.degree + 1)]
        )
        return np.asarray(weights * np.prod(self._scale**self.powers, axis=1))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features: exact radicals where they are simple, otherwise decimals."""
        factors = [exact_fraction(self._factor * g) for g in self.gamma.tolist()]
        shown = self.labels if self._origin is None else _shifted(self.labels, self._origin)
        texts: dict[Any, str] = {}
        names = []
        same = len(set(self.gamma.tolist())) == 1
        for power, value in zip(self.powers.tolist(), self.coefficients.tolist(), strict=True):
            key = tuple(sorted(filter(None, power))) if same else tuple(power)
            if key not in texts:
                square = self._square(power)
                for factor, p in zip(factors, power, strict=True):
                    if p:
                        square = None if square is None or factor is None else square * factor**p
                texts[key] = radical(square, value)
            words = [self.prefix, texts[key], monomial_name(power, shown)]
            names.append(" ".join(word for word in words if word not in ("", "1")) or "1")
        return tuple(names)

    @abstractmethod
    def _weight(self, m: int) -> float:
        """Return what degree m's coefficients have beside the root of the multinomial m! / alpha!."""

    @abstractmethod
    def _square(self, power: Sequence[int]) -> Any:
        """Return the exact square of the coefficient without gamma, a Fraction; None where not simple."""


def _shifted(labels: Sequence[str], origin: FloatArray) -> list[str]:
    """Names of features less a number, such as "(f1 - 5.84)"."""
    signs = ["-" if value > 0 else "+" for value in origin]
    return [
        f"({label} {sign} {abs(value):.4g})" if value else label
        for label, sign, value in zip(labels, signs, origin, strict=True)
    ]


class PolynomialFeatureMap(MonomialMap):
    """The exact feature map of (gamma x . y + coef0)^degree; made by :func:`polynomial_map`."""

    reason = "The map is exact; the bound is rounding."

    def __init__(self, labels: tuple[str, ...], degree: int, gamma: float, coef0: float) -> None:
        lowest = 0 if coef0 > 0 else degree
        super().__init__(labels, np.full(len(labels), gamma), 1.0, degree, lowest, None)
        self.coef0 = coef0
        self.formula = _formula(degree, gamma, coef0)

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        X = as_float64(X)
        Y = X if Y is None else as_float64(Y)
        with np.errstate(over="ignore"):
            values = ((X * self.gamma) @ Y.T + self.coef0) ** self.degree
        if not np.isfinite(values).all():
            raise DataError(
                f"{self.formula} is beyond what float64 can hold on this data. Scale the data first "
                "(sklearn.preprocessing.StandardScaler) or lower gamma."
            )
        return np.asarray(values)

    def _weight(self, m: int) -> float:
        # 0 ** 0 is 1, which is what coef0 = 0 needs at the highest degree.
        return math.sqrt(math.comb(self.degree, m)) * math.sqrt(self.coef0) ** (self.degree - m)

    def _square(self, power: Sequence[int]) -> Any:
        rest = self.degree - sum(power)
        constant = exact_fraction(self.coef0) if rest else Fraction(1)
        if constant is None:
            return None
        ways = math.factorial(self.degree) // math.prod(map(math.factorial, [rest, *power]))
        return ways * constant**rest

    def _features(self, Z: Any) -> Any:
        wanted = []
        for m, block in enumerate(graded_blocks(Z, self.degree)):
            if m >= self.lowest:
                wanted.append(block * from_numpy(self._weight(m) * self._roots[m], Z))
        return namespace(Z).concat(wanted, axis=1)

    def error_bound(self, radius: float) -> float:
        """Bound the rounding of phi(x) . phi(y) for rows of Euclidean norm up to ``radius``."""
        return self._bound(radius * math.sqrt(self.gamma[0]), 1, EPS)

    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        # Cauchy-Schwarz: sums of |phi_j(x) phi_j(y)| are at most the kernel at the longest row.
        with np.errstate(over="ignore"):
            size = float((np.float64(radius) ** 2 + self.coef0) ** self.degree)
        steps = len(self) + (self.degree + 6) * (self.n_features_in + 10)
        return (steps * EPS + 2 * eps) * size


def polynomial_map(
    n_features: int,
    *,
    degree: int = 3,
    gamma: float | None = None,
    coef0: float = 1.0,
    names: Sequence[str] | None = None,
    max_features: int = MAX_FEATURES,
) -> PolynomialFeatureMap:
    """Return the exact feature map of the kernel (gamma x . y + coef0)^degree.

    Its features are ``sqrt(p! / (alpha! (p - |alpha|)!) gamma^|alpha| coef0^(p - |alpha|)) x^alpha`` for
    all powers alpha with ``|alpha| <= p``: C(d + p, p) of them, or, with coef0 = 0, the C(d + p - 1, p)
    of degree p.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    degree : int
        p, a whole number from 1 to 1000.
    gamma : float or None
        Positive; None takes 1 / n_features.
    coef0 : float
        At least 0.
    names : sequence of str, optional
        Names of the d features; f1, f2, ... when left out.
    max_features : int
        More features than this are refused before anything is computed.

    Raises
    ------
    ParameterError
        For a parameter outside its range, or too many features: the message holds their number.

    References
    ----------
    Schoelkopf and Smola (2002), Learning with Kernels, proposition 2.1.

    Examples
    --------
    >>> phi = polynomial_map(2, degree=2, gamma=1)
    >>> phi.names
    ('1', 'sqrt(2) f1', 'sqrt(2) f2', 'f1^2', 'sqrt(2) f1 f2', 'f2^2')
    >>> phi([[1.0, 2.0]]).round(4)
    array([[1.    , 1.4142, 2.8284, 1.    , 2.8284, 4.    ]])
    """
    labels = check_labels(n_features, names)
    power = check_degree("degree", degree, least=1)
    factor = float(check_gamma(gamma, len(labels), several=False)[0])
    if not is_number(coef0) or coef0 < 0:
        raise ParameterError(f"coef0={coef0!r} must be a number, at least 0: a negative one makes no kernel.")
    constant = float(coef0)
    if constant > 1 and power * math.log(constant) > LOG_MAX:
        raise ParameterError(
            f"coef0={coef0!r} to the power {power} is beyond what float64 can hold. Lower one of them."
        )
    top = len(labels) + power - (0 if constant > 0 else 1)
    check_size(_formula(power, factor, constant), len(labels), top, power, max_features)
    return PolynomialFeatureMap(labels, power, factor, constant)


def _formula(degree: int, gamma: float, coef0: float) -> str:
    product = "x.y" if gamma == 1 else f"{gamma:.6g} x.y"
    return f"({product} + {coef0:.6g})^{degree}" if coef0 > 0 else f"({product})^{degree}"


# --------------------------------------------------------------------- parameters


def check_degree(name: str, value: Any, least: int) -> int:
    """Return a degree as int, or refuse it; whether it is too large is :func:`check_size`'s question."""
    # Whole numbers may be too large for a float, which is_number takes.
    huge = isinstance(value, int) and abs(value) >= COUNTED
    fractional = not huge and is_number(value) and not float(value).is_integer()
    if huge or fractional or not is_number(value) or value < least:
        shown = " is beyond 10^15; it" if huge else f"={value!r}"
        reason = " A fractional power is no kernel (FitzGerald and Horn 1977)." if fractional else ""
        raise ParameterError(f"{name}{shown} must be a whole number from {least} to {MAX_DEGREE}.{reason}")
    return int(value)


def check_size(what: str, d: int, top: int, p: int, allowed: Any) -> None:
    """Refuse more than ``allowed`` of the C(top, p) monomials."""
    if not is_number(allowed) or allowed < 1:
        raise ParameterError(f"max_features={allowed!r} must be a positive whole number.")
    count = _count(top, p)
    if count > allowed:
        shown = f"= {count:,}" if count < COUNTED else "> 10^15"
        raise ParameterError(
            f"{what} of {d:,} features has C({top}, {p}) {shown} monomials, and max_features allows "
            f"{int(allowed):,}. KernelPCA and other kernel methods use such a kernel without its features; "
            "otherwise lower the degree or raise max_features."
        )
    if p > MAX_DEGREE:
        raise ParameterError(
            f"{what} is of degree {p}, more than {MAX_DEGREE}, where coefficients leave the range of float64."
        )


def _count(top: int, p: int) -> int:
    """Return C(top, p), or a smaller number from ``COUNTED`` up, so that a huge one takes no time."""
    count = 1
    least = min(p, top - p)
    for i in range(1, least + 1):
        count = count * (top - least + i) // i
        if count >= COUNTED:
            break
    return count
