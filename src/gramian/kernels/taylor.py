"""The Taylor map of the Gaussian kernel: its feature map cut off at an order, with a guaranteed error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import gammainc

from gramian.arrays import from_numpy, namespace
from gramian.errors import ParameterError
from gramian.kernels.arithmetic import is_number
from gramian.kernels.feature_maps import MAX_FEATURES, MonomialMap, check_degree, check_size
from gramian.kernels.maps import EPS, check_gamma, check_labels, check_origin, gaussian_gram
from gramian.kernels.monomials import graded_blocks
from gramian.records import FloatArray

__all__ = ["TaylorFeatureMap", "taylor_map"]


class TaylorFeatureMap(MonomialMap):
    """The Taylor map of exp(-sum gamma_i (x_i - y_i)^2) up to an order; made by :func:`taylor_map`."""

    reason = "The map leaves out the Taylor terms above its order; the bound is their sum, plus rounding."

    def __init__(
        self, labels: tuple[str, ...], order: int, gamma: FloatArray, origin: FloatArray | None
    ) -> None:
        super().__init__(labels, gamma, 2.0, order, 0, origin)
        self.order = order
        same = bool((gamma == gamma[0]).all())
        where = "x - origin" if origin is not None and origin.any() else "x"
        where_i = "x_i" if where == "x" else "(x - origin)_i"
        self.formula = f"exp(-{gamma[0]:.6g} |x - y|^2)" if same else "exp(-sum gamma_i (x_i - y_i)^2)"
        self.prefix = f"exp(-{gamma[0]:.6g} |{where}|^2)" if same else f"exp(-sum gamma_i {where_i}^2)"

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        return gaussian_gram(X, Y, self.gamma)

    def _weight(self, m: int) -> float:
        return math.exp(-0.5 * math.lgamma(m + 1))

    def _square(self, power: Sequence[int]) -> Any:
        return Fraction(1, math.prod(math.factorial(p) for p in power))

    def _features(self, Z: Any) -> Any:
        xp = namespace(Z)
        # Finite, so that its product with zero is zero.
        squares = xp.minimum(xp.sum(Z * Z, axis=1), xp.full_like(Z[:, 0], 1e300))[:, None]
        # The Gaussian factor is shared out among the degrees: whole, it underflows where a product does not.
        damping = xp.exp(squares * (-0.5 / max(1, self.order)))
        Z = xp.where(damping > 0, Z * damping, xp.zeros_like(Z))
        blocks = []
        for m, block in enumerate(graded_blocks(Z, self.order, shrink=True)):
            rest = xp.exp(squares * (-0.5 * (self.order - m) / self.order)) if self.order else damping
            blocks.append(block * from_numpy(self._roots[m], Z) * rest)
        return xp.concat(blocks, axis=1)

    def error_bound(self, radius: Any) -> float:
        """Bound ``|phi(x) . phi(y) - k(x, y)|`` for all rows within ``radius`` of the origin.

        Parameters
        ----------
        radius : float or array of shape (n, d)
            Largest Euclidean distance of a row from the origin; where gamma differs between features,
            the rows themselves.

        Notes
        -----
        With z = sqrt(2 gamma) x, w = sqrt(2 gamma) y and R the remainder of the exponential series, the error
        is exp(-(|z|^2 + |w|^2) / 2) |R(z . w)|. From |R(t)| <= R(|t|), |z . w| <= |z| |w| and
        |z|^2 + |w|^2 >= 2 |z| |w| it is at most exp(-s) R(s) with s = |z| |w|: the probability that a Poisson
        variable of mean s exceeds the order, which grows with s. The bound is attained at x = y on the
        sphere. Rounding is added.

        References
        ----------
        Cotter, Keshet and Srebro (2011), Explicit approximations of the Gaussian kernel.
        """
        if is_number(radius) and radius >= 0:
            if (self.gamma != self.gamma[0]).any():
                raise ParameterError("gamma differs between features, so give error_bound the rows: (n, d).")
            return self._bound(float(radius) * math.sqrt(2.0 * self.gamma[0]), 1, EPS)
        if np.ndim(radius) == 0:
            raise ParameterError(f"radius={radius!r} must be a number, at least 0, or rows of shape (n, d).")
        return self._bound(self.radius(self._checked(radius)), 1, EPS)

    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        square = min(radius, 1e150) ** 2
        rounding = len(self) + 12 * (self.order + 1) + (self.n_features_in + 8) * (square + 6)
        # No inner product of two such rows leaves [-1, 1].
        return min(float(gammainc(self.order + 1, square)) + rounding * EPS + 2 * eps, 2.0)


def taylor_map(
    n_features: int,
    *,
    order: int = 4,
    gamma: Any = None,
    sigma: Any = None,
    origin: Any = None,
    names: Sequence[str] | None = None,
    max_features: int = MAX_FEATURES,
) -> TaylorFeatureMap:
    """Return the Taylor map of the Gaussian kernel exp(-sum_i gamma_i (x_i - y_i)^2) up to ``order``.

    exp(-gamma |x - y|^2) = exp(-gamma |x|^2) exp(-gamma |y|^2) exp(2 gamma x . y); the last factor's series
    up to the order gives the features ``exp(-gamma |x|^2) sqrt((2 gamma)^|alpha| / alpha!) x^alpha`` for all
    powers alpha with ``|alpha| <= order``: C(d + order, order) of them.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    order : int
        Largest degree, from 0 to 1000.
    gamma : float, array of shape (d,) or None
        1 / (2 sigma^2), in one over squared units of the data; None takes 1 / n_features.
    sigma : float, array of shape (d,) or None
        The same as a width, in units of the data; give one of the two.
    origin : array of shape (d,), optional
        Point about which to expand, zero when left out. The kernel depends on x - y only, so any point is
        right, and the mean of the data gives the smallest error.
    names, max_features
        As in :func:`polynomial_map`.

    Raises
    ------
    ParameterError
        For a parameter outside its range, or too many features: the message holds their number.

    References
    ----------
    Cotter, Keshet and Srebro (2011), Explicit approximations of the Gaussian kernel.

    Examples
    --------
    >>> phi = taylor_map(1, order=2, gamma=0.5)
    >>> phi.names
    ('exp(-0.5 |x|^2)', 'exp(-0.5 |x|^2) f1', 'exp(-0.5 |x|^2) sqrt(1/2) f1^2')
    >>> round(phi.error_bound(1.0), 4)
    0.0803
    """
    labels = check_labels(n_features, names)
    power = check_degree("order", order, least=0)
    factors = check_gamma(gamma, len(labels), several=True, sigma=sigma)
    start = check_origin(origin, len(labels))
    check_size(f"The Taylor map up to order {power}", len(labels), len(labels) + power, power, max_features)
    return TaylorFeatureMap(labels, power, factors, start)
