"""The kernels with a formula of their own. A new one is a class here: its facts, its formula, its
rounding, and its place in ``NAMED``.

Those of the inner product x . y come first, then those of the Euclidean distance, then those of other
distances. What they are combined to is in ``algebra.py``.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from gramian.core.arrays import as_float64, from_numpy, is_numpy, namespace, to_float64
from gramian.core.checks import check_number, slices
from gramian.core.records import Calls
from gramian.errors import DataError, ParameterError
from gramian.kernels import arithmetic, widths
from gramian.kernels.algebra import Constant, Kernel
from gramian.kernels.arithmetic import FUNCTION_ULPS, LEAST, SINGLE_TINY, SINGLE_UNIT, TINY, UNIT
from gramian.kernels.evaluator import Evaluator, Slopes
from gramian.kernels.facts import Facts, proven, refuted, unknown
from gramian.kernels.feature_maps import PolynomialFeatureMap, polynomial_map

NUS = {0.5: "exp(-r)", 1.5: "(1 + r) exp(-r)", 2.5: "(1 + r + r^2/3) exp(-r)"}  # with what Matern kernels are
SINGLE_ENOUGH = 1e-3  # error of float32 distances up to which eigenvalues tell who is among the largest
ROWS = 4096  # that are shifted at once
SAMPLE = 3  # rows on which it is found out how a function is called
TILED = 100  # rows, at most, on which its speed is measured where it takes many at once
SIZED = 6  # rows, about, on which it is found out how large its values are
FARTHEST = 1e8  # exp(-r) is 0 for r = 1e4, of which this is the square


class Formula(Kernel):
    """A kernel with a formula of its own: how rows are encoded, a tile filled, its error bounded.

    Examples
    --------
    >>> from gramian.kernels import Facts, Formula, Validity
    >>> class Damped(Formula):  # x y / ((1 + |x|) (1 + |y|)), of one column
    ...     facts = Facts(Validity("proven", "The linear kernel of x / (1 + |x|)."))
    ...     def encode(self, X, direct):
    ...         return (X / (1 + abs(X)),) * 2
    ...     def diagonal(self, X):
    ...         return (X / (1 + abs(X)))[:, 0] ** 2
    ...     def evaluation_error(self, d, largest, direct):
    ...         return 1e-15, 0.0  # relative and absolute
    >>> Damped().gram([[1.0], [3.0]])
    array([[0.25  , 0.375 ],
           [0.375 , 0.5625]])
    """

    # Whether distances may be expanded into one product: fast, and inaccurate for clusters far apart.
    expands: bool = False

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel with numbers for its factor ``gamma`` or its ``length_scale``."""
        self.check()
        values = self.get_params(deep=False)
        if "gamma" in values:
            values["gamma"] = widths.resolved_factor(values["gamma"], X)
        if "length_scale" in values:
            values["length_scale"] = widths.resolved_width("length_scale", values["length_scale"], X)
        return type(self)(**values)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        """Return float64 rows as the left and right factors that :meth:`tile` combines: as they are."""
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        """Return the block of kernel values for encoded rows: their inner products."""
        return arithmetic.product(left, right, out)

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) for every row, float64: 1 where the facts say so, else for each formula to say."""
        if not self.facts.unit_diagonal:
            raise NotImplementedError(f"{type(self).__name__} does not say what k(x, x) is.")
        return arithmetic.ones(X)

    @abstractmethod
    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        """Bound an entry's error as ``(relative, absolute)`` for rows of norm up to ``largest``."""

    def single_error(self, d: int, largest: float) -> tuple[float, float] | None:
        """Bound an entry's error, if not direct, for rows encoded in float64 and all that follows in float32.

        None where that is not offered, or tells so little that float64 would have to do it all again.
        """
        return None

    def check_numbers(self, why: str) -> None:
        for name, value in self.get_params(deep=False).items():
            if widths.is_median(value) or widths.is_scale(value):
                hint = "Give a number, or fill it in from the rows X of a fit with kernel.resolve(X)."
                raise ParameterError(name, value, f"depends on the rows, and {why}", hint)

    def size(self, largest: float) -> float:
        """Bound |k| for rows of norm up to ``largest``."""
        return 1.0

    def weights(self) -> Any:
        """Return what columns are multiplied by before their norm is taken; None for the Euclidean norm."""
        return None

    def bound_to(self, X: Any, precision: float, centered: bool) -> Evaluator:
        """Bind to fitted rows, distances expanded where that is accurate enough."""
        # A shift would fill sparse rows, and so would differences: they have their products, whose error
        # is that of the entries stored, and of no mean taken off.
        held, d = sparse.issparse(X), arithmetic.terms(X)
        shifts = self.expands or (centered and self.facts.shifts_out)
        shift = _mean(X) if shifts and not held else None
        norm = _longest(X, shift, self.weights())
        relative, absolute = self.evaluation_error(d, norm, direct=False)
        direct = self.expands and not held and not relative + absolute <= precision
        if direct:
            # Differences of the rows as they are: a shift would round away what tells neighbours apart.
            shift = None
            relative, absolute = self.evaluation_error(d, norm, direct=True)
        size = self.size(norm)
        if not np.isfinite(size) or (held and self.expands and not 4.0 * norm * norm < np.inf):
            raise DataError(f"{self!r} overflows on this data: rows reach a norm of {norm:.3g}. Scale it.")
        single = None if held or direct else self.single_error(d, norm)
        return Evaluator(self, relative, absolute, size, shift, direct, single)


def _mean(X: Any) -> Any:
    return X.mean(axis=0, dtype=np.float64) if is_numpy(X) else namespace(X).mean(to_float64(X), axis=0)


def _longest(X: Any, shift: Any, weights: Any) -> float:
    """Return the largest norm of a row, after a shift and weights of the columns or one weight for all."""
    largest = 0.0
    for rows in slices(X.shape[0], ROWS):
        block = to_float64(X[rows, :])
        with np.errstate(over="ignore"):
            block = block if shift is None else block - shift
            block = arithmetic.times_columns(block, weights) if np.ndim(weights) else block
        largest = max(largest, arithmetic.largest_norm(block))
    return largest if weights is None or np.ndim(weights) else largest * float(weights)


# ---------------------------------------------------------------------------- of the inner product


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
    general = "x . y"
    takes_sparse = True
    facts = Facts(
        proven("An inner product: its feature map is x itself."),
        shifts_out=True,
        # |x . y| <= ||x|| ||y||, and so is its error, up to the factor it has for the longest rows.
        graded=True,
    )

    def diagonal(self, X: Any) -> Any:
        return arithmetic.squared_norms(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, (d + 3) * UNIT * largest * largest + d * LEAST

    def size(self, largest: float) -> float:
        return largest * largest


class Projective(Formula):
    """k(x, y) = f(gamma x . y + coef0)."""

    gamma: Any
    coef0: float
    takes_sparse = True

    @abstractmethod
    def profile(self, T: Any) -> Any:
        """Return f(T), in place where that is possible."""

    def reach(self, largest: float) -> float:
        """Bound |gamma x . y + coef0| for rows of norm up to ``largest``."""
        return abs(float(self.gamma or 0.0)) * largest * largest + abs(float(self.coef0))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X * self.gamma, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = arithmetic.product(left, right, out)
        T += self.coef0
        return self.profile(T)

    def diagonal(self, X: Any) -> Any:
        return self.profile(self.gamma * arithmetic.squared_norms(X) + self.coef0)


class Polynomial(Projective):
    """k(x, y) = (gamma x . y + coef0) ** degree; ``gamma=1`` gives the textbook's (x . y + 1)^degree.

    Parameters
    ----------
    degree : int
        Power, at least 1. A fractional power is no kernel (FitzGerald and Horn 1977).
    gamma : float, "scale" or None
        Factor of the inner product, positive; "scale" takes 1 / (n_features * X.var()), None 1 / n_features.
    coef0 : float
        Constant, at least 0: a negative one makes no kernel.

    Examples
    --------
    >>> from gramian.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0)
    >>> kernel.formula
    '(1 x . y + 1)^2'
    >>> kernel.gram([[1.0, 2.0], [3.0, 4.0]])
    array([[ 36., 144.],
           [144., 676.]])
    """

    name = "poly"
    general = "(gamma x . y + coef0)^degree"

    def __init__(self, degree: int = 3, gamma: Any = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def check(self) -> None:
        check_number("degree", self.degree, above=0, advice="Give a whole number such as 3.")
        check_number("coef0", self.coef0)
        widths.check_factor(self.gamma, "scale", None)

    @property
    def facts(self) -> Facts:
        if not float(self.degree).is_integer():
            what = "is no kernel" if self.coef0 else "of x . y is no kernel for two or more features"
            return Facts(refuted(f"A fractional power, {self.degree:g}, {what} (FitzGerald and Horn 1977)."))
        if self.coef0 < 0:
            return Facts(
                refuted("A negative constant makes a Taylor coefficient negative (Schoenberg 1942).")
            )
        why = f"A whole power, {self.degree:g}, of a sum of kernels times numbers >= 0."
        # As for x . y: |gamma x . y + coef0| is at most the root of its values at (x, x) and (y, y).
        return Facts(proven(why, "", Linear().validity, Constant(self.coef0).validity), graded=True)

    def feature_map(self, n_features: int, **options: Any) -> PolynomialFeatureMap:
        """Return the map to all monomials up to the degree, each times its coefficient.

        Parameters
        ----------
        n_features : int
            Number of columns of the rows.
        **options
            ``max_features``, the largest number that is not refused.

        Returns
        -------
        gramian.kernels.feature_maps.PolynomialFeatureMap
            Maps rows to C(n_features + degree, degree) features.

        Examples
        --------
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0).feature_map(2).names
        ('1', 'sqrt(2) f1', 'sqrt(2) f2', 'f1^2', 'sqrt(2) f1 f2', 'f2^2')
        """
        self.check()
        return polynomial_map(n_features, **self.get_params(), **options)

    def profile(self, T: Any) -> Any:
        if float(self.degree).is_integer():
            return arithmetic.whole_power(T, int(self.degree)) if is_numpy(T) else T**self.degree
        nowhere = f"{self!r} has no value where gamma x . y + coef0 is negative"
        return arithmetic.check_base(T, nowhere) ** self.degree

    def size(self, largest: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.float64(self.reach(largest)) ** self.degree)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        # A power by products takes at most degree - 1 of them.
        relative = (FUNCTION_ULPS + self.degree) * UNIT
        if self.degree >= 1:
            return relative, self.degree * (d + 3) * UNIT * self.size(largest) + TINY
        # The slope of t^p is infinite at 0, where it moves by e^p at most.
        return relative, float(((d + 3) * UNIT * self.reach(largest) + TINY) ** self.degree)


class Cosine(Formula):
    """k(x, y) = x . y / (||x|| ||y||), from -1 to 1; a zero row has kernel 0 with everything.

    Examples
    --------
    >>> from gramian.kernels import Cosine
    >>> Cosine().gram([[1.0, 0.0], [3.0, 3.0], [0.0, 0.0]]).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.    ],
           [0.    , 0.    , 0.    ]])
    """

    name = "cosine"
    general = "x . y / (||x|| ||y||)"
    takes_sparse = True
    facts = Facts(proven("The linear kernel of rows scaled to length 1.", "", Linear().validity))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        # Dividing by the largest entry first keeps squares inside the range of float64.
        X = arithmetic.over_rows(X, arithmetic.largest_entries(X))
        norms = arithmetic.squared_norms(X)
        X = arithmetic.over_rows(X, namespace(norms).sqrt(norms))
        return X, X

    def diagonal(self, X: Any) -> Any:
        return arithmetic.squared_norms(self.encode(to_float64(X), False)[0])

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, (2 * d + 8) * UNIT


class Sigmoid(Projective):
    """k(x, y) = tanh(gamma x . y + coef0), which is not a kernel.

    Parameters
    ----------
    gamma : float, "scale" or None
        Factor of the inner product; "scale" takes 1 / (n_features * X.var()), None 1 / n_features.
    coef0 : float
        Constant.

    Examples
    --------
    >>> from gramian.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0, coef0=0.5).gram([[0.0], [1.0]]).round(4)
    array([[0.4621, 0.4621],
           [0.4621, 0.9051]])
    >>> Sigmoid(gamma=1.0, coef0=0.5).psd
    False
    """

    name = "sigmoid"
    general = "tanh(gamma x . y + coef0)"

    def __init__(self, gamma: Any = None, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def check(self) -> None:
        check_number("coef0", self.coef0)
        widths.check_factor(self.gamma, "scale", None, above=-np.inf)

    @property
    def facts(self) -> Facts:
        if self.gamma == 0:
            return replace(Constant(float(np.tanh(self.coef0))).facts, divisible=False)
        why = "tanh(gamma t + coef0) has a negative Taylor coefficient (Schoenberg 1942)"
        return Facts(refuted(f"{why}: points near zero refute it."))

    def profile(self, T: Any) -> Any:
        return np.tanh(T, out=T) if is_numpy(T) else namespace(T).tanh(T)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, min((d + 3) * UNIT * self.reach(largest) + TINY, 2.0)

    def size(self, largest: float) -> float:
        # Beyond, x . y itself is no number.
        return 1.0 if self.reach(largest) < np.inf else np.inf


# ----------------------------------------------------------------------- of the Euclidean distance


@cache
def _of_distances(proof: str) -> Facts:
    """Return the facts of a kernel that depends on the distance alone, with its proof."""
    return Facts(proven(proof), divisible=True, stationary=True, unit_diagonal=True)


class Radial(Formula):
    """k(x, y) = f(q) with ``q = sum c_j (x_j - y_j)^2`` and f(0) = 1."""

    expands = takes_sparse = smooth = True
    # Why it is a kernel.
    proof: str = ""
    # Bound on |f'|; f itself changes by at most (d + 7) u / e when q changes relatively by (d + 7) u.
    slope = 1.0

    @property
    def facts(self) -> Facts:
        """All that depends on the distance alone."""
        return _of_distances(self.proof)

    @property
    @abstractmethod
    def rates(self) -> Any:
        """The factors c of the squared differences: a number, or an array of shape (d,)."""

    @abstractmethod
    def profile(self, T: Any) -> Any:
        """Return f(-T), in place where that is possible; rounding can leave T a little above 0."""

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        if direct:
            # Powers of two round nothing, so that rows close to each other keep their difference.
            X = arithmetic.times_columns(X, np.ldexp(1.0, self._exponents))
            return X, X
        # One product of these gives -q.
        factors = np.sqrt(2.0) * np.sqrt(self.rates)
        if is_numpy(X):
            left, right = np.empty((2, X.shape[0], X.shape[1] + 2))
            scaled = np.multiply(X, factors, out=left[:, :-2])
            left[:, -2] = right[:, -1] = -0.5 * arithmetic.squared_norms(scaled)
            left[:, -1] = right[:, -2] = 1.0
            right[:, :-2] = scaled
            return left, right
        X = arithmetic.times_columns(X, factors)
        norms, column = -0.5 * arithmetic.squared_norms(X)[:, None], arithmetic.ones(X)[:, None]
        return arithmetic.hstack(X, norms, column), arithmetic.hstack(X, column, norms)

    @property
    def _exponents(self) -> Any:
        return np.frexp(np.sqrt(self.rates))[1] - 1

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        T = self._apart(left, right) if direct else arithmetic.product(left, right, out)
        if sparse.issparse(left):
            # Without a shift rounding can lift it far above 0, where no profile is bounded.
            np.minimum(T, 0.0, out=T)
        return self.profile(T)

    def _apart(self, left: Any, right: Any) -> Any:
        """Return -q, summed from differences of rows times powers of two."""
        left_over = np.ldexp(self.rates, -2 * self._exponents)
        if np.ndim(left_over):
            return -arithmetic.squared_distances(left, right, left_over)
        with np.errstate(over="ignore"):
            return arithmetic.squared_distances(left, right) * -float(left_over)

    @abstractmethod
    def fading(self, T: Any, values: Any) -> Any:
        """Return -f'(-T) for T <= 0, given ``values = profile(T)``."""

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        """Return the tile of encoded rows with its derivative by X, the rows before :meth:`encode`."""
        # Both encodings hold the rows in their first d columns, times powers of two or sqrt(2 c).
        xp, d = namespace(left), X.shape[1]
        x, y = left[:, :d], right[:, :d]
        if direct:
            scale = np.ldexp(1.0, self._exponents)
            T = self._apart(x, y)
        else:
            scale = np.sqrt(2.0 * self.rates)
            T = xp.clip(arithmetic.product(left, right), None, 0.0)
        values = self.profile(xp.asarray(T, copy=True))
        fading = self.fading(T, values)
        factors = np.broadcast_to(2.0 * np.asarray(self.rates), (d,))
        stiffness, unscaled = from_numpy(factors, left), from_numpy(factors / scale, left)

        def pull(W: Any) -> Any:
            weights = W * fading
            return unscaled * (weights @ y - xp.sum(weights, axis=1)[:, None] * x)

        return Slopes(values, pull, lambda W: xp.sum(W * fading, axis=1)[:, None] * stiffness)

    def weights(self) -> Any:
        return np.sqrt(self.rates)

    def rounding(self, d: int, largest: float) -> float:
        """Bound the error of q where distances are expanded into a product."""
        # Shift, factors (three times) and squared norms are rounded as well as the product.
        return (1.5 * d + 14) * UNIT * 4.0 * largest * largest

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        function = (FUNCTION_ULPS + 4) * UNIT
        if direct:
            return function, (d + 9) * UNIT / np.e + TINY
        return function, min(self.slope * self.rounding(d, largest), 1.0) + TINY


class RBF(Radial):
    """k(x, y) = exp(-gamma ||x - y||^2), gamma = 1 / (2 sigma^2): the Gaussian kernel.

    Parameters
    ----------
    sigma : float, sequence of d floats, "median" or None
        Width, in the units of the data; one for every feature where it is a sequence. "median" takes the
        median distance between (at most 1000 evenly spaced) rows.
    gamma : float, "median", "scale" or None
        The same as a factor; give one of the two. "scale" is 1 / (n_features * X.var()) with the variance of
        all entries. With neither, gamma is 1 / n_features.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> RBF(sigma=1.0).gram([[0.0], [2.0]]).round(6)
    array([[1.      , 0.135335],
           [0.135335, 1.      ]])
    """

    name = "rbf"
    general = "exp(-gamma ||x - y||^2), gamma = 1 / (2 sigma^2)"
    proof = "The Fourier transform of a positive measure (Bochner 1933)."

    def __init__(self, sigma: Any = None, gamma: Any = None) -> None:
        self.sigma = sigma
        self.gamma = gamma

    def check(self) -> None:
        if self.sigma is not None and self.gamma is not None:
            raise ParameterError("gamma", self.gamma, *widths.GAMMA_AND_SIGMA)
        widths.check_width("sigma", self.sigma, optional=True)
        widths.check_factor(self.gamma, "median", "scale", None)

    @property
    def formula(self) -> str:
        text = "exp(-gamma ||x - y||^2)" if self.sigma is None else "exp(-||x - y||^2 / (2 sigma^2))"
        return self.filled_in(text)

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        if widths.is_median(self.gamma) or widths.is_median(self.sigma):
            return RBF(gamma=widths.gamma_of("gamma", widths.median_distance(X)))
        if self.sigma is None:
            return RBF(gamma=widths.resolved_factor(self.gamma, X))
        sigma = widths.resolved_width("sigma", self.sigma, X)
        return RBF(sigma=sigma) if isinstance(sigma, tuple) else RBF(gamma=widths.gamma_of("sigma", sigma))

    @property
    def rates(self) -> Any:
        return float(self.gamma) if self.sigma is None else 0.5 / np.array(self.sigma) / np.array(self.sigma)

    def profile(self, T: Any) -> Any:
        return arithmetic.exponential(T)

    def fading(self, T: Any, values: Any) -> Any:
        return values

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        rounding = self.rounding(d, largest)
        if direct or rounding > 1.0:
            return super().evaluation_error(d, largest, direct)
        return float(np.expm1(rounding)) + FUNCTION_ULPS * UNIT, TINY

    def single_error(self, d: int, largest: float) -> tuple[float, float] | None:
        # A product of d + 2 terms, of factors that are rounded: at most 4 largest^2 in sum.
        rounding = self.rounding(d, largest) + (d + 5) * SINGLE_UNIT * 4.0 * largest * largest
        if not rounding <= SINGLE_ENOUGH:
            return None
        return float(np.expm1(rounding)) + 2 * FUNCTION_ULPS * SINGLE_UNIT, SINGLE_TINY


class Matern(Radial):
    """The Matern kernel: the larger nu, the smoother, from exp(-r) at 1/2 towards the RBF kernel.

    With ``r = sqrt(2 nu) ||x - y|| / length_scale``, it is exp(-r) for nu = 1/2, (1 + r) exp(-r) for 3/2 and
    (1 + r + r^2 / 3) exp(-r) for 5/2.

    Parameters
    ----------
    length_scale : float, sequence of d floats or "median"
        Width, in the units of the data.
    nu : {0.5, 1.5, 2.5}
        Smoothness: functions drawn from a Gaussian process with this covariance have nu - 1/2 derivatives
        in mean square.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 4.2.1.

    Examples
    --------
    >>> from gramian.kernels import Matern
    >>> Matern(length_scale=2.0, nu=1.5).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.4834],
           [0.4834, 1.    ]])
    """

    name = "matern"
    general = "exp(-r), (1 + r) exp(-r) or (1 + r + r^2/3) exp(-r), r = sqrt(2 nu) ||x - y|| / length_scale"
    proof = (
        "The characteristic function of Student's t distribution, so the Fourier transform of a positive "
        "measure (Bochner 1933)."
    )

    def __init__(self, length_scale: Any = 1.0, nu: float = 1.5) -> None:
        self.length_scale = length_scale
        self.nu = nu

    def check(self) -> None:
        widths.check_width("length_scale", self.length_scale)
        if isinstance(self.nu, bool) or self.nu not in list(NUS):
            raise ParameterError("nu", self.nu, "must be 0.5, 1.5 or 2.5")

    @property
    def formula(self) -> str:
        closed_form = next(
            (text for nu, text in NUS.items() if nu == self.nu), self.general.partition(", r =")[0]
        )
        return self.filled_in(f"{closed_form}, r = sqrt(2 nu) ||x - y|| / length_scale")

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Not for exp(-r), which comes to a point where two rows are equal."""
        return self.nu != 0.5

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Not where the root of a rounded distance would lose half of its digits."""
        return self.nu != 0.5

    @property
    def rates(self) -> Any:
        scale = np.array(self.length_scale, dtype=np.float64)
        return 2.0 * self.nu / scale / scale

    @property
    def slope(self) -> float:  # type: ignore[override]
        """Bound on the derivative by q = r^2: for nu = 1/2 a rounded one's root loses half of its digits."""
        return {0.5: np.inf, 1.5: 0.5, 2.5: 1 / 6}[float(self.nu)]

    def profile(self, T: Any) -> Any:
        xp = namespace(T)
        # Beyond, exp(-r) is 0 and r may be infinite, of which the product is no number.
        r = xp.sqrt(-xp.clip(T, -FARTHEST, 0.0))
        decay = arithmetic.exponential(-r)
        if self.nu == 0.5:
            return decay
        return decay * (1.0 + r if self.nu == 1.5 else 1.0 + r + r * r / 3.0)

    def fading(self, T: Any, values: Any) -> Any:
        xp = namespace(T)
        r = xp.sqrt(xp.clip(-T, 0.0, FARTHEST))
        return xp.exp(-r) * (0.5 if self.nu == 1.5 else (1.0 + r) / 6.0)


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

    Examples
    --------
    >>> from gramian.kernels import RationalQuadratic
    >>> RationalQuadratic(length_scale=2.0, alpha=0.5).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    name = "rq"
    general = "(1 + ||x - y||^2 / (2 alpha length_scale^2))^-alpha"
    proof = "A mixture of RBF kernels with positive weights, a gamma density (Schoenberg 1938)."

    def __init__(self, length_scale: Any = 1.0, alpha: float = 1.0) -> None:
        self.length_scale = length_scale
        self.alpha = alpha

    def check(self) -> None:
        widths.check_width("length_scale", self.length_scale)
        check_number("alpha", self.alpha, above=0)

    @property
    def rates(self) -> Any:
        scale = np.array(self.length_scale, dtype=np.float64)
        return 0.5 / self.alpha / scale / scale

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


# ------------------------------------------------------------------------------ of other distances


class Laplacian(Formula):
    """k(x, y) = exp(-gamma ||x - y||_1), ||.||_1 the sum of absolute values.

    Parameters
    ----------
    gamma : float, "median", "scale" or None
        Inverse width, positive, per unit of the data; None takes 1 / n_features, "scale"
        1 / (n_features * X.var()), "median" 1 / the median of ||x - y||_1 over (at most 1000 evenly spaced)
        rows.

    Examples
    --------
    >>> from gramian.kernels import Laplacian
    >>> Laplacian(gamma=0.5).gram([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    name = "laplacian"
    general = "exp(-gamma ||x - y||_1)"
    facts = _of_distances(
        "A product of exponential kernels, each the Fourier transform of a Cauchy density (Bochner 1933)."
    )

    def __init__(self, gamma: Any = None) -> None:
        self.gamma = gamma

    def check(self) -> None:
        widths.check_factor(self.gamma, "median", "scale", None)

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        # The factor comes last, so that rows close to each other keep their difference.
        T = arithmetic.absolute_distances(left, right)
        T *= -self.gamma
        return arithmetic.exponential(T)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, (d + 4) * UNIT / np.e + TINY


class ChiSquared(Formula):
    """k(x, y) = exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), for histograms.

    A term of two zeros is 0. Rows with a negative entry raise a DataError.

    Parameters
    ----------
    gamma : float or "scale"
        Factor, positive, per unit of the data; "scale" takes 1 / (n_features * X.var()).

    References
    ----------
    Zhang, Marszalek, Lazebnik, Schmid (2007), Local features and kernels for classification of texture and
    object categories.

    Examples
    --------
    >>> from gramian.kernels import ChiSquared
    >>> histograms = [[4, 0, 2], [2, 2, 2]]
    >>> ChiSquared(gamma=0.5).gram(histograms).round(4)
    array([[1.    , 0.2636],
           [0.2636, 1.    ]])
    """

    name = "chi2"
    general = "exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), x and y >= 0"
    facts = Facts(
        proven(
            "exp of -(x + y) + 4 x y / (x + y), where 1 / (x + y) is the integral of exp(-t x) exp(-t y), "
            "on data without negative entries (Schoenberg 1938)."
        ),
        divisible=True,
        unit_diagonal=True,
        floor=0.0,
    )

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def check(self) -> None:
        widths.check_factor(self.gamma, "scale")

    def admit(self, X: Any) -> None:
        least = float(namespace(X).min(X)) if X.shape[0] else 0.0
        if least < 0:
            raise DataError(
                f"The chi-squared kernel is for histograms, but X reaches {least:.4g}: use counts."
            )

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
            return arithmetic.exponential(total * -(2.0 * float(self.gamma)))

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return FUNCTION_ULPS * UNIT, (d + 8) * UNIT / np.e + TINY


# ---------------------------------------------------------------------------- a user's function


@dataclass(eq=False, repr=False)
class FunctionKernel(Formula):
    """A function ``k(x, y)`` of two rows, or ``k(X, Y)`` of many at once.

    Parameters
    ----------
    function : callable
        Takes two arrays of shape (d,) and returns a number, or takes (n, d) and (m, d) and returns (n, m).
    params : mapping, optional
        Keyword arguments for it.
    vectorised : bool or None, default=None
        Which of the two it is. None tries the second on the first three rows, checks it against single
        rows, and falls back to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import FunctionKernel
    >>> kernel = FunctionKernel(lambda x, y, power: float(x @ y) ** power, {"power": 2})
    >>> kernel.gram([[1.0, 0.0], [1.0, 2.0]])
    array([[ 1.,  1.],
           [ 1., 25.]])
    """

    name = "callable"
    general = "k(x, y), called for each pair, or k(X, Y), called for a tile"
    no_proof: ClassVar[str] = "A Python function has no proof"

    function: Callable[..., Any]
    params: Mapping[str, Any] | None = None
    vectorised: bool | None = None

    @property
    def facts(self) -> Facts:
        """Nothing is known about a function."""
        return Facts(
            unknown(f"{self.no_proof}; gramian.kernels.audit searches for a counterexample."),
            error_kind="estimate",
        )

    @property
    def label(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def formula(self) -> str:
        return f"{self.label}(x, y)"

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        vectorised = self.vectorised
        # A fitted model's own: arrays among them may be changed later.
        return FunctionKernel(
            self.function, deepcopy(self.params), self.takes_many(X) if vectorised is None else vectorised
        )

    def takes_many(self, X: Any) -> bool:
        """Return whether the function takes many rows at once: tried on three, checked pair by pair."""
        # Fewer rows are repeated: with one, too much looks right.
        rows = _read_only(as_float64(X[:SAMPLE, :])[np.arange(SAMPLE) % min(SAMPLE, X.shape[0])])
        try:
            with np.errstate(all="ignore"):
                whole = np.asarray(self._call(rows, rows[:2]))
                if whole.shape != (SAMPLE, 2) or whole.dtype.kind not in "biuf":
                    return False
                pairs = [[self._call(rows[[i]], rows[[j]]) for j in range(2)] for i in range(SAMPLE)]
                return np.shape(pairs) == (SAMPLE, 2, 1, 1) and np.allclose(
                    np.array(pairs)[:, :, 0, 0], whole, rtol=1e-6, equal_nan=True
                )
        except Exception:
            # Whatever a function of two rows does with tables of them.
            return False

    def calls(self, X: Any) -> Calls:
        """Return how long one value takes, measured on a few rows."""
        scalar = not self.vectorised
        rows = as_float64(X[: SAMPLE if scalar else TILED, :])
        start = time.perf_counter()
        self.tile(rows, rows, False)
        return Calls((time.perf_counter() - start) / max(1, len(rows) ** 2), scalar)

    def _call(self, x: Any, y: Any) -> Any:
        return self.function(x, y, **dict(self.params or {}))

    def bound_to(self, X: Any, precision: float, centered: bool) -> Evaluator:
        """Bind to rows; the size of the values is that on a few of them."""
        bound = super().bound_to(X, precision, centered)
        few = to_float64(X[:: max(1, X.shape[0] // SIZED), :])
        values = as_float64(bound.tile(few, few))
        return replace(bound, largest=float(np.abs(values).max(initial=0.0)))

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        x, y = _read_only(left), _read_only(right)
        if self.vectorised:
            return from_numpy(self._numbers(x, y, len(x), len(y)), left)
        values = np.array([[float(self._numbers(a, b)) for b in y] for a in x], dtype=np.float64)
        return from_numpy(values.reshape(x.shape[0], y.shape[0]), left)

    def _numbers(self, x: Any, y: Any, *shape: int) -> Any:
        """Return what the function returns for rows, or for two of them, as finite numbers of a shape."""
        returned = self._call(x, y)
        values = np.asarray(returned)
        if values.shape != shape or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            wanted = f"finite numbers of shape {shape}" if shape else "one finite number for two rows"
            shown = f"{values.dtype} of shape {values.shape}" if values.ndim else repr(returned)
            raise DataError(f"The kernel function {self.label} returned {shown}; it must return {wanted}.")
        # A copy: the function may keep what it returned.
        return np.array(values, dtype=np.float64)

    def diagonal(self, X: Any) -> Any:
        values = [self.tile(row, row, False).item() for row in as_float64(X)[:, None, :]]
        return from_numpy(np.array(values, dtype=np.float64), X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        # Nothing is known about the function's own rounding: that of one multiplication is assumed.
        return 4 * float(np.finfo(np.float64).eps), 0.0


def _read_only(X: Any) -> Any:
    """Rows that a user's function cannot write into: they may be the user's data."""
    rows = as_float64(X).view()
    rows.flags.writeable = False
    return rows


# All of them, in the order in which they are listed; an expression calls them by their ``name``.
NAMED: tuple[type[Kernel], ...] = (
    Linear,
    Polynomial,
    RBF,
    Laplacian,
    Matern,
    RationalQuadratic,
    Cosine,
    ChiSquared,
    Sigmoid,
    Constant,
)
