"""The kernels, one class each.

A class says how rows are encoded, how a tile of values is filled, and how large the error of an entry can be.
A new kernel is one class here, with a name for it in ``named.py``.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from gramian.arrays import is_numpy, namespace, power_of_two, to_float64
from gramian.errors import DataError, ParameterError
from gramian.kernels.kernel import Kernel

__all__ = ["RBF", "Cosine", "Laplacian", "Linear", "Polynomial", "Sigmoid"]

UNIT = float(np.finfo(np.float64).eps) / 2
# Error of one call of exp, tanh or pow beyond that of its argument, in unit roundoffs.
FUNCTION_ULPS = 4.0
# Below this, values lose digits to underflow.
TINY = float(np.finfo(np.float64).tiny)
LEAST = float(np.finfo(np.float64).smallest_subnormal)


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ParameterError(f"{name}={value!r} must be a positive number.")
    return float(value)


def _number(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ParameterError(f"{name}={value!r} must be a finite number.")
    return value


class Linear(Kernel):
    """k(x, y) = x . y: kernel PCA with it is PCA.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear().gram([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    psd = True
    shifts_out = True
    validity = "an inner product: the feature map is x itself"

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        return _product(left, right, out)

    def diagonal(self, X: Any) -> Any:
        return _squared_norms(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        size = largest * largest
        if not np.isfinite(size):
            raise DataError(
                f"{self!r} overflows on this data: rows reach a norm of {largest:.3g}. Scale the data first."
            )
        return 0.0, (d + 3) * UNIT * size + d * LEAST


class Polynomial(Kernel):
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

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the kernel is proven positive semi-definite: whole power, no negative constant."""
        return float(self.degree).is_integer() and self.degree >= 1 and self.coef0 >= 0

    @property
    def validity(self) -> str:  # type: ignore[override]
        """Why the kernel is valid, or what refutes it."""
        if self.psd:
            return "sums and products of the linear kernel and a constant >= 0 are kernels"
        return "refuted in general: a fractional power or a negative constant has a negative expansion"

    def resolve(self, n_features: int) -> Kernel:
        if isinstance(self.degree, bool) or not isinstance(self.degree, Real) or not 0 < self.degree < np.inf:
            raise ParameterError(f"degree={self.degree!r} must be a positive whole number such as 3.")
        _number("coef0", self.coef0)
        gamma = 1.0 / n_features if self.gamma is None else _positive("gamma", self.gamma)
        return Polynomial(self.degree, gamma, self.coef0)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X * self.gamma, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = _product(left, right, out)
        T += self.coef0
        if not float(self.degree).is_integer():
            self._refuse_negative(T)
        elif is_numpy(T):
            return _whole_power(T, int(self.degree))
        return T**self.degree

    def _refuse_negative(self, T: Any) -> None:
        least = float(namespace(T).min(T)) if T.shape[0] and T.shape[1] else 0.0
        if least < 0:
            raise DataError(
                f"{self!r} has no value where gamma x . y + coef0 is negative, and it reaches {least:.3g}. "
                "Use a whole degree: a fractional power is no kernel."
            )

    def diagonal(self, X: Any) -> Any:
        return (self.gamma * _squared_norms(X) + self.coef0) ** self.degree

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        size = (self.gamma or 0.0) * largest**2 + abs(self.coef0)
        with np.errstate(over="ignore"):
            whole = float(np.float64(size) ** self.degree)
        if not np.isfinite(whole):
            raise DataError(
                f"{self!r} overflows on this data: rows reach a norm of {largest:.3g}. "
                "Scale the data first (sklearn.preprocessing.StandardScaler) or lower gamma."
            )
        # A power by products takes at most degree - 1 of them.
        return (FUNCTION_ULPS + self.degree) * UNIT, self.degree * (d + 3) * UNIT * whole


class RBF(Kernel):
    """k(x, y) = exp(-gamma ||x - y||^2), gamma = 1 / (2 sigma^2): the Gaussian kernel.

    Parameters
    ----------
    sigma : float or None
        Width, in the units of the data.
    gamma : float or None
        The same as a factor; give one of the two. With neither, gamma is 1 / n_features.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> RBF(sigma=1.0).gram([[0.0], [2.0]]).round(6)
    array([[1.      , 0.135335],
           [0.135335, 1.      ]])
    """

    psd = True
    stationary = True
    expands = True
    validity = "the Fourier transform of a positive measure (Bochner)"

    def __init__(self, sigma: float | None = None, gamma: float | None = None) -> None:
        self.sigma = sigma
        self.gamma = gamma

    def resolve(self, n_features: int) -> Kernel:
        if self.sigma is not None and self.gamma is not None:
            raise ParameterError("RBF takes sigma or gamma, not both: gamma = 1 / (2 sigma^2).")
        if self.sigma is not None:
            sigma = _positive("sigma", self.sigma)
            gamma = 0.5 / sigma / sigma
            if not 0 < gamma < np.inf:
                raise ParameterError(
                    f"sigma={self.sigma!r} has a square that float64 cannot hold. Scale the data first."
                )
            return RBF(gamma=gamma)
        return RBF(gamma=1.0 / n_features if self.gamma is None else _positive("gamma", self.gamma))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        if direct:
            # A power of two rounds nothing, so that rows close to each other keep their difference.
            X = X * 2.0**self._exponent
            return X, X
        X = X * float(np.sqrt(self.gamma))  # type: ignore[arg-type]
        # One product of these gives -gamma ||x - y||^2.
        xp = namespace(X)
        norms = _squared_norms(X)[:, None]
        ones = xp.ones_like(norms)
        root = float(np.sqrt(2.0))
        return xp.concat([root * X, -norms, ones], axis=1), xp.concat([root * X, ones, -norms], axis=1)

    @property
    def _exponent(self) -> int:
        return power_of_two(float(np.sqrt(self.gamma)))  # type: ignore[arg-type]

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        if direct:
            return _exp(_squared_distances(left, right) * (-self.gamma * 4.0**-self._exponent))  # type: ignore[operator]
        T = _product(left, right, out)
        if is_numpy(T):
            np.minimum(T, 0.0, out=T)
            return np.exp(T, out=T)
        xp = namespace(T)
        return xp.exp(xp.minimum(T, xp.zeros_like(T)))

    def diagonal(self, X: Any) -> Any:
        return _ones(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        if direct:
            # A relative error (d + 7) u of the exponent t costs t exp(-t) (d + 7) u, at most (d + 7) u / e.
            return FUNCTION_ULPS * UNIT, (d + 7) * UNIT / np.e + TINY
        # Shift, factors and squared norms are rounded as well as the product; the factor sqrt(2) twice.
        size = 4.0 * (self.gamma or 0.0) * largest * largest
        return float(np.expm1(min((1.5 * d + 14) * UNIT * size, 1.0))) + FUNCTION_ULPS * UNIT, TINY


class Laplacian(Kernel):
    """k(x, y) = exp(-gamma ||x - y||_1).

    Parameters
    ----------
    gamma : float or None
        Inverse width; None takes 1 / n_features.
    """

    psd = True
    stationary = True
    validity = "a product of exponential kernels, each the Fourier transform of a Cauchy density (Bochner)"

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma

    def resolve(self, n_features: int) -> Kernel:
        return Laplacian(1.0 / n_features if self.gamma is None else _positive("gamma", self.gamma))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        # The factor comes last, so that rows close to each other keep their difference.
        if is_numpy(left):
            return _exp(cdist(left, right, "cityblock") * -self.gamma)  # type: ignore[operator]
        xp = namespace(left)
        return xp.exp(_by_rows(left, right, lambda gap: xp.sum(xp.abs(gap), axis=-1)) * -self.gamma)  # type: ignore[operator]

    def diagonal(self, X: Any) -> Any:
        return _ones(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, (d + 4) * UNIT / np.e + TINY


class Cosine(Kernel):
    """k(x, y) = x . y / (||x|| ||y||); a zero row has kernel 0 with everything."""

    psd = True
    validity = "the linear kernel of rows scaled to length 1"

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        xp = namespace(X)
        # Dividing by the largest entry first keeps squares inside the range of float64.
        size = xp.max(xp.abs(X), axis=1)[:, None]
        X = X / xp.where(size > 0, size, xp.ones_like(size))
        norms = xp.sqrt(_squared_norms(X))[:, None]
        X = X / xp.where(norms > 0, norms, xp.ones_like(norms))
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        return _product(left, right, out)

    def diagonal(self, X: Any) -> Any:
        return _squared_norms(self.encode(to_float64(X), False)[0])

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, (2 * d + 8) * UNIT


class Sigmoid(Kernel):
    """k(x, y) = tanh(gamma x . y + coef0), which is not a kernel in general.

    Parameters
    ----------
    gamma : float or None
        Factor of the inner product; None takes 1 / n_features.
    coef0 : float
        Constant.
    """

    psd = False
    validity = "refuted: the Taylor series of tanh has a negative coefficient"

    def __init__(self, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def resolve(self, n_features: int) -> Kernel:
        _number("coef0", self.coef0)
        return Sigmoid(1.0 / n_features if self.gamma is None else _number("gamma", self.gamma), self.coef0)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X * self.gamma, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = _product(left, right, out)
        T += self.coef0
        return np.tanh(T, out=T) if is_numpy(T) else namespace(T).tanh(T)

    def diagonal(self, X: Any) -> Any:
        xp = namespace(X)
        return xp.tanh(self.gamma * _squared_norms(X) + self.coef0)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        size = abs(self.gamma or 0.0) * largest**2 + abs(self.coef0)
        return FUNCTION_ULPS * UNIT, min((d + 3) * UNIT * size, 2.0)


# ------------------------------------------------------------------- pieces


def _product(left: Any, right: Any, out: Any) -> Any:
    return np.matmul(left, right.T, out=out) if is_numpy(left) else left @ right.T


def _exp(T: Any) -> Any:
    return np.exp(T, out=T) if is_numpy(T) else namespace(T).exp(T)


def _whole_power(T: Any, degree: int) -> Any:
    """Raise to a whole power by products: many times faster than pow, and as accurate."""
    if degree == 1:
        return T
    base = T.copy()
    for bit in bin(degree)[3:]:
        np.multiply(T, T, out=T)
        if bit == "1":
            np.multiply(T, base, out=T)
    return T


def _squared_norms(X: Any) -> Any:
    X = to_float64(X)
    return np.einsum("ij,ij->i", X, X) if is_numpy(X) else namespace(X).sum(X * X, axis=1)


def _ones(X: Any) -> Any:
    xp = namespace(X)
    return np.ones(X.shape[0]) if is_numpy(X) else xp.ones((X.shape[0],), dtype=xp.float64, device=X.device)


def _squared_distances(left: Any, right: Any) -> Any:
    if is_numpy(left):
        return cdist(left, right, "sqeuclidean")
    xp = namespace(left)
    return _by_rows(left, right, lambda gap: xp.sum(gap * gap, axis=-1))


def _by_rows(left: Any, right: Any, reduce: Any) -> Any:
    """Reduce differences of all pairs, a few rows at a time so that memory stays small."""
    xp = namespace(left)
    size = max(1, (1 << 22) // max(1, right.shape[0] * right.shape[1]))
    n = left.shape[0]
    parts = [
        reduce(left[start : min(n, start + size), None, :] - right[None, :, :]) for start in range(0, n, size)
    ]
    return xp.concat(parts, axis=0)
