"""Kernels of the Euclidean distance: functions of ``q = sum c_j (x_j - y_j)^2``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays import is_numpy, namespace
from gramian.errors import ParameterError
from gramian.kernels.arithmetic import (
    FUNCTION_ULPS,
    TINY,
    UNIT,
    check_positive,
    exponential,
    ones,
    product,
    squared_distances,
    squared_norms,
)
from gramian.kernels.formulas import Formula
from gramian.kernels.kernel import Kernel
from gramian.kernels.maps import FeatureMap
from gramian.kernels.slopes import Slopes
from gramian.kernels.taylor import taylor_map
from gramian.kernels.validity import Validity, proven
from gramian.kernels.widths import (
    ALSO,
    check_width,
    factor_text,
    gamma_of,
    is_median,
    median_distance,
    resolved_width,
    width_text,
)

__all__ = ["RBF", "Matern", "RationalQuadratic"]

NUS = (0.5, 1.5, 2.5)
FARTHEST = 1e8  # exp(-r) is 0 for r = 1e4, of which this is the square


class Radial(Formula):
    """k(x, y) = f(q) with ``q = sum c_j (x_j - y_j)^2`` and f(0) = 1."""

    stationary = True
    expands = True
    divisible = True
    kinks = ""
    # Bound on |f'|; f itself changes by at most (d + 7) u / e when q changes relatively by (d + 7) u.
    slope = 1.0

    @property
    @abstractmethod
    def rates(self) -> Any:
        """The factors c of the squared differences: a number, or an array of shape (d,)."""

    @abstractmethod
    def profile(self, T: Any) -> Any:
        """Return f(-T), in place where that is possible; rounding can leave T a little above 0."""

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        xp = namespace(X)
        if direct or not self.expands:
            # Powers of two round nothing, so that rows close to each other keep their difference.
            X = X * _like(np.ldexp(1.0, self._exponents), X)
            return X, X
        X = X * _like(np.sqrt(self.rates), X)
        # One product of these gives -q.
        norms = squared_norms(X)[:, None]
        column = xp.ones_like(norms)
        root = float(np.sqrt(2.0))
        return xp.concat([root * X, -norms, column], axis=1), xp.concat([root * X, column, -norms], axis=1)

    @property
    def _exponents(self) -> Any:
        return np.frexp(np.sqrt(self.rates))[1] - 1

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        if direct or not self.expands:
            left_over = np.ldexp(self.rates, -2 * self._exponents)
            if np.ndim(left_over):
                return self.profile(-squared_distances(left, right, left_over))
            with np.errstate(over="ignore"):
                T = squared_distances(left, right) * -float(left_over)
            return self.profile(T)
        return self.profile(product(left, right, out))

    @abstractmethod
    def fading(self, T: Any, values: Any) -> Any:
        """Return -f'(-T) for T <= 0, given ``values = profile(T)``."""

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        if self.kinks:
            return super().slopes(X, left, right, direct)
        # Both encodings hold the rows in their first d columns, times powers of two or sqrt(2 c).
        d = X.shape[1]
        x, y = left[:, :d], right[:, :d]
        if direct or not self.expands:
            scale = np.ldexp(1.0, self._exponents)
            left_over = np.ldexp(self.rates, -2 * self._exponents)
            T = -squared_distances(x, y, np.broadcast_to(left_over, (d,)))
        else:
            scale = np.sqrt(2.0 * self.rates)
            T = np.minimum(product(left, right), 0.0)
        values = self.profile(T.copy())
        fading = self.fading(T, values)
        stiffness = np.broadcast_to(2.0 * np.asarray(self.rates), (d,))

        def pull(W: Any) -> Any:
            weights = W * fading
            return (stiffness / scale) * (weights @ y - np.sum(weights, axis=1)[:, None] * x)

        return Slopes(values, pull, lambda W: np.sum(W * fading, axis=1)[:, None] * stiffness)

    def diagonal(self, X: Any) -> Any:
        return ones(X)

    def weights(self) -> Any:
        return np.sqrt(self.rates) if np.ndim(self.rates) else None

    def rounding(self, d: int, largest: float) -> float:
        """Bound the error of q where distances are expanded into a product."""
        # Shift, factors and squared norms are rounded as well as the product; the factor sqrt(2) twice.
        rate = 1.0 if np.ndim(self.rates) else float(self.rates)
        return (1.5 * d + 14) * UNIT * 4.0 * rate * largest * largest

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        function = (FUNCTION_ULPS + 4) * UNIT
        if direct or not self.expands:
            return function, (d + 9) * UNIT / np.e + TINY
        return function, min(self.slope * self.rounding(d, largest), 1.0) + TINY


class RBF(Radial):
    """k(x, y) = exp(-gamma ||x - y||^2), gamma = 1 / (2 sigma^2): the Gaussian kernel.

    Parameters
    ----------
    sigma : float, sequence of d floats, "median" or None
        Width, in the units of the data; one for every feature where it is a sequence. "median" takes the
        median distance between (at most 5000 evenly spaced) rows.
    gamma : float, "median" or None
        The same as a factor; give one of the two. With neither, gamma is 1 / n_features.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> RBF(sigma=1.0).gram([[0.0], [2.0]]).round(6)
    array([[1.      , 0.135335],
           [0.135335, 1.      ]])
    """

    name = "rbf"
    general = "exp(-gamma ||x - y||^2), gamma = 1 / (2 sigma^2)"

    def __init__(self, sigma: Any = None, gamma: Any = None) -> None:
        self.sigma = sigma
        self.gamma = gamma

    def check(self) -> None:
        if self.sigma is not None and self.gamma is not None:
            raise ParameterError("RBF takes sigma or gamma, not both: gamma = 1 / (2 sigma^2).")
        check_width("sigma", self.sigma, optional=True)
        if self.gamma is not None and not is_median(self.gamma):
            check_positive("gamma", self.gamma, ALSO)

    def judge(self) -> Validity:
        return proven("The Fourier transform of a positive measure (Bochner 1933).")

    @property
    def formula(self) -> str:
        if self.sigma is None:
            return f"exp(-{factor_text(self.gamma)}||x - y||^2)"
        if is_median(self.sigma) or np.ndim(self.sigma) == 0:
            return f"exp(-||x - y||^2 / (2 {width_text(self.sigma)}^2))"
        return f"exp(-sum_j (x_j - y_j)^2 / (2 s_j^2)), s = {width_text(self.sigma)}"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        if is_median(self.gamma) or is_median(self.sigma):
            return RBF(gamma=gamma_of("gamma", median_distance(X)))
        if self.sigma is None:
            return RBF(gamma=1.0 / X.shape[1] if self.gamma is None else float(self.gamma))
        widths = resolved_width("sigma", self.sigma, X)
        return RBF(sigma=widths) if isinstance(widths, tuple) else RBF(gamma=gamma_of("sigma", widths))

    def feature_map(self, n_features: int, **options: Any) -> FeatureMap:
        """Return the first terms of the Taylor map, which has infinitely many.

        Parameters
        ----------
        n_features : int
        **options
            ``order`` of the last terms, by default 4; ``origin`` about which rows are expanded; ``names``,
            ``max_features``.

        Returns
        -------
        gramian.kernels.taylor.TaylorFeatureMap
            Its ``error_bound(rows)`` bounds the error of the truncation.
        """
        self.check()
        if is_median(self.gamma) or is_median(self.sigma):
            raise ParameterError(
                f"{self!r} has no number for its width yet. Give sigma or gamma as a number, or take "
                "resolve(X), which fills in the median."
            )
        return taylor_map(n_features, gamma=self.gamma, sigma=self.sigma, **options)

    @property
    def rates(self) -> Any:
        return float(self.gamma) if self.sigma is None else 0.5 / np.array(self.sigma) / np.array(self.sigma)

    def profile(self, T: Any) -> Any:
        return exponential(T)

    def fading(self, T: Any, values: Any) -> Any:
        return values

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        if direct:
            return super().evaluation_error(d, largest, direct)
        return float(np.expm1(min(self.rounding(d, largest), 1.0))) + FUNCTION_ULPS * UNIT, TINY


class Matern(Radial):
    """The Matern kernel: as smooth as nu says, from exp(-r) at 1/2 towards the RBF kernel.

    With ``r = sqrt(2 nu) ||x - y|| / length_scale``, it is exp(-r) for nu = 1/2, (1 + r) exp(-r) for 3/2 and
    (1 + r + r^2 / 3) exp(-r) for 5/2.

    Parameters
    ----------
    length_scale : float, sequence of d floats or "median"
        Width, in the units of the data.
    nu : {0.5, 1.5, 2.5}

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 4.2.1.
    """

    name = "matern"
    general = "exp(-r), (1 + r) exp(-r) or (1 + r + r^2/3) exp(-r), r = sqrt(2 nu) ||x - y|| / length_scale"

    def __init__(self, length_scale: Any = 1.0, nu: float = 1.5) -> None:
        self.length_scale = length_scale
        self.nu = nu

    def check(self) -> None:
        check_width("length_scale", self.length_scale)
        if isinstance(self.nu, bool) or self.nu not in NUS:
            raise ParameterError(f"nu={self.nu!r} must be 0.5, 1.5 or 2.5.")

    def judge(self) -> Validity:
        return proven(
            "The characteristic function of Student's t distribution, so the Fourier transform of a positive "
            "measure (Bochner 1933)."
        )

    @property
    def formula(self) -> str:
        profile = {0.5: "exp(-r)", 1.5: "(1 + r) exp(-r)", 2.5: "(1 + r + r^2/3) exp(-r)"}[float(self.nu)]
        factor = "" if self.nu == 0.5 else f"sqrt({2 * self.nu:g}) "
        return f"{profile}, r = {factor}||x - y|| / {width_text(self.length_scale)}"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        return Matern(resolved_width("length_scale", self.length_scale, X), self.nu)

    @property
    def expands(self) -> bool:  # type: ignore[override]
        """For nu = 1/2 the root of a rounded distance would lose half of its digits."""
        return self.nu != 0.5

    @property
    def rates(self) -> Any:
        widths = np.array(self.length_scale, dtype=np.float64)
        return 2.0 * self.nu / widths / widths

    @property
    def slope(self) -> float:  # type: ignore[override]
        """Bound on the derivative by q = r^2."""
        return 0.5 if self.nu == 1.5 else 1 / 6

    def profile(self, T: Any) -> Any:
        xp = namespace(T)
        # Beyond, exp(-r) is 0 and r may be infinite, of which the product is no number.
        r = xp.sqrt(-xp.clip(T, -FARTHEST, 0.0))
        decay = exponential(-r)
        if self.nu == 0.5:
            return decay
        return decay * (1.0 + r if self.nu == 1.5 else 1.0 + r + r * r / 3.0)

    @property
    def kinks(self) -> str:  # type: ignore[override]
        """exp(-r) comes to a point where two rows are equal."""
        return "" if self.nu != 0.5 else f"{self!r} has a kink wherever two rows are equal."

    def fading(self, T: Any, values: Any) -> Any:
        r = np.sqrt(np.clip(-T, 0.0, FARTHEST))
        return np.exp(-r) * (0.5 if self.nu == 1.5 else (1.0 + r) / 6.0)


class RationalQuadratic(Radial):
    """k(x, y) = (1 + ||x - y||^2 / (2 alpha length_scale^2)) ** -alpha: RBF kernels of many widths at once.

    Parameters
    ----------
    length_scale : float, sequence of d floats or "median"
        Width, in the units of the data.
    alpha : float
        Positive; the larger, the closer to the RBF kernel.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, equation 4.19.
    """

    name = "rq"
    general = "(1 + ||x - y||^2 / (2 alpha length_scale^2))^-alpha"

    def __init__(self, length_scale: Any = 1.0, alpha: float = 1.0) -> None:
        self.length_scale = length_scale
        self.alpha = alpha

    def check(self) -> None:
        check_width("length_scale", self.length_scale)
        check_positive("alpha", self.alpha)

    def judge(self) -> Validity:
        return proven("A mixture of RBF kernels with positive weights, a gamma density (Schoenberg 1938).")

    @property
    def formula(self) -> str:
        return f"(1 + ||x - y||^2 / (2 {self.alpha:g} {width_text(self.length_scale)}^2))^-{self.alpha:g}"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        return RationalQuadratic(resolved_width("length_scale", self.length_scale, X), float(self.alpha))

    @property
    def rates(self) -> Any:
        widths = np.array(self.length_scale, dtype=np.float64)
        return 0.5 / self.alpha / widths / widths

    @property
    def slope(self) -> float:  # type: ignore[override]
        """Bound on the derivative by q."""
        return float(self.alpha)

    def profile(self, T: Any) -> Any:
        return (1.0 - T) ** -self.alpha

    def fading(self, T: Any, values: Any) -> Any:
        return self.alpha * values / (1.0 - T)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        relative, absolute = super().evaluation_error(d, largest, direct)
        # The rounding of 1 + q, raised to the power.
        return relative + self.alpha * UNIT, absolute


def _like(values: Any, X: Any) -> Any:
    if np.ndim(values) == 0:
        return float(values)
    return values if is_numpy(X) else namespace(X).asarray(values, device=X.device)
