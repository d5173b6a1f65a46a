"""Explicit feature maps phi with phi(x) . phi(y) = k(x, y), exactly or to a stated error.

The polynomial kernel has an exact map, the Gaussian kernel one that is right on average (random Fourier
features).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy  # whose parts are imported when they are first used

from gramian.core import arrays, notebook
from gramian.core.checks import amount, check_choice, check_integer, check_number, check_share, slices
from gramian.core.records import BoundKind, FloatArray
from gramian.errors import DataError, MemoryLimitError, ParameterError
from gramian.kernels.arithmetic import check_rows, is_number, largest_norm

EPS = float(np.finfo(np.float64).eps)
# Entries of one block of rows: large enough to hide the loop, small enough for the cache.
BLOCK = 1 << 16
MAX_FEATURES = 1_000_000
SCALE_FIRST = "Scale the data first (sklearn.preprocessing.StandardScaler) or lower gamma."
# Beyond it, factorials leave the range of float64.
MAX_DEGREE = 170
# The probability with which the bound of a measured error holds for all pairs at once.
CONFIDENCE = 0.99
# A mean of cosines and a kernel value lie within [-1, 1].
LARGEST_GAP = 2.0
# Largest rounding error of a phase, in radians, before cos and sin say nothing about the row.
WORST_PHASE = 1e-3


@dataclass(frozen=True, repr=False)
class KernelError(notebook.InNotebook):
    """How far phi(x) . phi(y) is from k(x, y), measured on pairs of rows, and the bound that holds for them.

    Attributes
    ----------
    maximum, rms : float
        Largest and root-mean-square ``|phi(x) . phi(y) - k(x, y)|`` over the measured pairs.
    scale : float
        Largest ``|k(x, y)|`` among them.
    pairs : int
        Number of ordered pairs (x, y) measured.
    bound : float
        Bound on the largest error; for a fitted transformer over all pairs of fitted rows.
    kind : {"deterministic", "probabilistic"}
        Whether the bound always holds, or with the probability that ``about`` names.
    about : str
        What was measured and where the bound comes from.
    """

    maximum: float
    rms: float
    scale: float
    pairs: int
    bound: float
    kind: BoundKind
    about: str

    @property
    def relative(self) -> float:
        """The largest error divided by the largest kernel value."""
        return self.maximum / self.scale if self.scale > 0 else self.maximum

    @property
    def ok(self) -> bool:
        """Whether the measured error is within the bound."""
        return self.maximum <= self.bound

    def __str__(self) -> str:
        return (
            f"kernel error: max {self.maximum:.2g}, rms {self.rms:.2g}, of values up to {self.scale:.4g}, "
            f"over {self.pairs:,} pairs; bound {self.bound:.2g} ({self.kind}). {self.about}"
        )


class FeatureMap(ABC):
    """A map phi from rows of d numbers to rows of D features.

    Attributes
    ----------
    n_features_in : int
        d.
    labels : tuple of str
        Names of the d features, f1, f2, ... unless given.
    formula : str
        The kernel.
    gamma : ndarray of shape (d,)
        Factor of every feature in the kernel.
    kind : {"deterministic", "probabilistic"}
        Kind of its error bound.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0)
    >>> phi = kernel.feature_map(2)
    >>> phi.names
    ('1', 'sqrt(2) f1', 'sqrt(2) f2', 'f1^2', 'sqrt(2) f1 f2', 'f2^2')
    >>> rows = phi([[1.0, 2.0], [3.0, 4.0]])
    >>> np.allclose(rows @ rows.T, kernel.gram([[1.0, 2.0], [3.0, 4.0]]))
    True
    """

    formula: str
    gamma: FloatArray
    kind: BoundKind = "deterministic"
    # What the error bound rests on, for KernelError.
    reason: str = ""

    def __init__(
        self, labels: tuple[str, ...], gamma: FloatArray, scale: FloatArray, origin: FloatArray
    ) -> None:
        self.labels, self.gamma = labels, gamma
        self.n_features_in = len(labels)
        self._scale, self._origin = scale, origin

    # ------------------------------------------------------- for each map

    @abstractmethod
    def __len__(self) -> int:
        """Return D, the number of features."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the D features, with their coefficients."""

    @abstractmethod
    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the exact kernel from its definition, shape (n, m), float64 NumPy.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        Y : array of shape (m, d), optional
            X itself when left out.

        Returns
        -------
        ndarray of shape (n, m), float64
            Values of the kernel.
        """

    @abstractmethod
    def _features(self, Z: Any) -> Any:
        """Return the features of float64 rows that are already shifted and scaled, shape (n, D)."""

    @abstractmethod
    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        """Bound the error for shifted and scaled rows up to ``radius``, features rounded to ``eps``."""

    # ------------------------------------------------------- for the user

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.formula}: {self.n_features_in} -> {len(self):,} features>"

    def __call__(self, X: Any) -> Any:
        """Return phi of every row.

        Parameters
        ----------
        X : array of shape (n, d)
            Any array kind; lists and frames become NumPy.

        Returns
        -------
        array of shape (n, D), float64, of X's kind

        Raises
        ------
        DataError
            For another width, NaN, infinity, or a feature that float64 cannot hold.
        MemoryLimitError
            When the result is larger than the memory of the machine.
        """
        return self.evaluate(self._checked(X))

    def kernel_error(self, X: Any, Y: Any = None) -> KernelError:
        """Compare phi(x) . phi(y) with k(x, y) for every pair of rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        Y : array of shape (m, d), optional
            X itself when left out.

        Returns
        -------
        KernelError
            Prints as a sentence.
        """
        X = self._checked(X)
        Y = None if Y is None else self._checked(Y)
        radius = max(self.radius(X), 0.0 if Y is None else self.radius(Y))
        return self.measure(X, Y, np.dtype(np.float64), radius=radius)

    # ------------------------------------------- for the transformers

    def evaluate(self, X: Any, dtype: npt.DTypeLike = np.float64) -> Any:
        """Return phi of finite rows as ``dtype``, filled block by block; see :meth:`__call__`."""
        dtype = np.dtype(dtype)
        n = int(X.shape[0])
        self.require_room(n, dtype)
        chunks = self._parts(n, arrays.is_numpy(X))
        if arrays.is_numpy(X):
            out = np.empty((n, len(self)), dtype=dtype)

            def fill(chunk: slice) -> None:
                out[chunk] = self._block(X[chunk], dtype)

            arrays.parallel_map(fill, chunks)
            return out
        blocks = [self._block(X[chunk, :], dtype) for chunk in chunks]
        return blocks[0] if len(blocks) == 1 else arrays.namespace(X).concat(blocks, axis=0)

    def require_room(self, n: int, dtype: np.dtype[Any]) -> None:
        """Raise a MemoryLimitError if the features of n rows take more memory than may be used."""
        need, limit = n * len(self) * dtype.itemsize, arrays.memory_limit_bytes(None)
        if need > limit:
            size = f"{n:,} rows x {len(self):,} features take {amount(need)}"
            raise MemoryLimitError(
                f"{size}, and {amount(limit)} may be used. Map fewer rows, or use KernelPCA."
            )

    def radius(self, X: Any) -> float:
        """Return the largest norm of the rows as the map sees them: shifted and scaled."""
        largest = 0.0
        for chunk in self._parts(int(X.shape[0]), arrays.is_numpy(X)):
            with np.errstate(over="ignore"):
                largest = max(largest, largest_norm(self._scaled(X[chunk, :])))
        return largest

    def measure(
        self, X: Any, Y: Any, dtype: np.dtype[Any], radius: float, pairs: int | None = None, about: str = ""
    ) -> KernelError:
        """Return the error of features handed out as ``dtype``, with the bound for rows up to ``radius``."""
        left = arrays.as_float64(self.evaluate(X, dtype))
        right = left if Y is None else arrays.as_float64(self.evaluate(Y, dtype))
        exact = self.kernel(X, Y)
        gap = np.abs(left @ right.T - exact)
        if pairs is None:
            pairs = len(gap) * (len(gap) - 1) // 2 if Y is None else gap.size
        bound = self._bound(radius, max(1, pairs), float(np.finfo(dtype).eps))
        scale, maximum = float(np.abs(exact).max(initial=0.0)), float(gap.max(initial=0.0))
        # Relative to the largest, so that no square overflows.
        rms = maximum * math.sqrt(float(np.mean((gap / maximum) ** 2))) if maximum > 0 else 0.0
        return KernelError(maximum, rms, scale, gap.size, bound, self.kind, f"{about}{self.reason}")

    # --------------------------------------------------------- plumbing

    def _checked(self, X: Any) -> Any:
        X = check_rows("X", X)
        if X.shape[1] != self.n_features_in:
            raise DataError(f"X has shape {tuple(X.shape)}, but this map takes (n, {self.n_features_in}).")
        return X if arrays.numpy_dtype(X).kind == "f" else arrays.to_float64(X)

    def _parts(self, n: int, small: bool) -> list[slice]:
        entries = BLOCK if small else BLOCK << 8
        return slices(n, max(1, entries // max(len(self), self.n_features_in)))

    def _scaled(self, X: Any) -> Any:
        return (arrays.to_float64(X) - arrays.from_numpy(self._origin, X)) * arrays.from_numpy(self._scale, X)

    def _block(self, X: Any, dtype: np.dtype[Any]) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            values = arrays.to_dtype(self._features(self._scaled(X)), dtype)
        if not bool(arrays.namespace(values).all(arrays.namespace(values).isfinite(values))):
            raise DataError(f"A feature of {self.formula} exceeds what {dtype.name} can hold. {SCALE_FIRST}")
        return values


# ---------------------------------------------------------------------------- maps made of monomials


class PolynomialFeatureMap(FeatureMap):
    """The exact feature map of (gamma x . y + coef0)^degree; made by :func:`polynomial_map`.

    Attributes
    ----------
    degree, lowest : int
        Largest and smallest degree of the monomials.
    coef0 : float
    weighted : bool
        False leaves all coefficients at 1; the kernel is then by definition the inner product.
    """

    reason = "The map is exact; the bound is rounding."

    def __init__(
        self, labels: tuple[str, ...], degree: int, gamma: float, coef0: float, weighted: bool = True
    ) -> None:
        d, gamma = len(labels), gamma if weighted else 1.0
        super().__init__(labels, np.full(d, gamma), np.full(d, math.sqrt(gamma)), np.zeros(d))
        self.degree, self.lowest, self.coef0 = degree, 0 if coef0 > 0 else degree, coef0
        self.weighted = weighted
        self.formula = _formula(degree, gamma, coef0)
        if not weighted:
            self.formula = f"sum of x^a y^a for |a| {'<=' if coef0 else '='} {degree}"

    @cached_property
    def powers(self) -> npt.NDArray[np.int32]:
        """Powers of the monomials, shape (D, d): by degree; within one the first feature's powers fall."""
        return np.concatenate(graded_powers(self.n_features_in, self.degree)[self.lowest :])

    def __len__(self) -> int:
        d = self.n_features_in
        return sum(math.comb(d + m - 1, m) for m in range(self.lowest, self.degree + 1))

    @property
    def coefficients(self) -> FloatArray:
        """Coefficient of every monomial of the data, shape (D,)."""
        weights = np.concatenate([self._weights(m) for m in range(self.lowest, self.degree + 1)])
        return np.asarray(weights * np.prod(self._scale**self.powers, axis=1))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, with their coefficients: whole numbers, their roots or decimals."""
        texts = {value: coefficient_text(value) for value in set(self.coefficients.tolist())}
        named = zip(self.coefficients.tolist(), self.powers.tolist(), strict=True)
        words = ((texts[value], monomial_name(power, self.labels)) for value, power in named)
        return tuple(" ".join(word for word in pair if word != "1") or "1" for pair in words)

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        if not self.weighted:
            left = arrays.as_float64(self(X))
            return left @ (left if Y is None else arrays.as_float64(self(Y))).T
        X = arrays.as_float64(X)
        Y = X if Y is None else arrays.as_float64(Y)
        with np.errstate(over="ignore"):
            values = ((X * self.gamma) @ Y.T + self.coef0) ** self.degree
        if not np.isfinite(values).all():
            raise DataError(f"{self.formula} exceeds what float64 can hold. {SCALE_FIRST}")
        return np.asarray(values)

    def _weights(self, m: int) -> FloatArray:
        """Return the coefficients of degree m without gamma."""
        if not self.weighted:
            return np.ones(math.comb(self.n_features_in + m - 1, m))
        # 0 ** 0 is 1, which is what coef0 = 0 needs at the highest degree.
        factor = math.sqrt(math.comb(self.degree, m)) * math.sqrt(self.coef0) ** (self.degree - m)
        return factor * graded_roots(self.n_features_in, self.degree)[m]

    def _features(self, Z: Any) -> Any:
        wanted = [
            block * arrays.from_numpy(self._weights(m), Z)
            for m, block in enumerate(graded_blocks(Z, self.degree))
            if m >= self.lowest
        ]
        return arrays.namespace(Z).concat(wanted, axis=1)

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
    weights: str | None = "kernel",
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
        p, a whole number from 1 to 170.
    gamma : float or None
        Positive; None takes 1 / n_features.
    coef0 : float
        At least 0.
    weights : {"kernel", None}
        None gives the monomials themselves, without coefficients: all of them, or with ``coef0=0`` those of
        degree p.
    max_features : int
        More features than this raise an error before anything is computed.

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
    labels = default_labels(check_integer("n_features", n_features))
    whole: Any = int(degree) if is_number(degree) and degree == int(degree) else degree
    advice = "A fractional power is no kernel (FitzGerald and Horn 1977)."
    power = check_integer("degree", whole, 1, MAX_DEGREE, advice)
    factor = 1.0 / len(labels) if gamma is None else check_number("gamma", gamma, above=0)
    constant = check_number("coef0", coef0, least=0, advice="A negative one makes no kernel.")
    top = len(labels) + power - (0 if constant > 0 else 1)
    allowed, count = check_number("max_features", max_features, least=1), math.comb(top, power)
    if count > allowed:
        shown = f"= {count:,}" if count < 10**15 else "> 10^15"
        what = f"{_formula(power, factor, constant)} of {len(labels):,} features"
        why = f"is exceeded: {what} has C({top}, {power}) {shown} monomials"
        hint = "Use KernelPCA, lower the degree, or raise max_features."
        raise ParameterError("max_features", int(allowed), why, hint)
    if weights is not None and check_choice("weights", weights, ("kernel",)):
        return PolynomialFeatureMap(labels, power, factor, constant)
    for name, value, possible in (("gamma", gamma, (None, 1)), ("coef0", constant, (0, 1))):
        if value not in possible:
            why = "is part of the coefficients, which weights=None leaves out"
            raise ParameterError(name, value, why, 'Leave it out, or use weights="kernel".')
    return PolynomialFeatureMap(labels, power, factor, constant, weighted=False)


def _formula(degree: int, gamma: float, coef0: float) -> str:
    product = "x.y" if gamma == 1 else f"{gamma:.6g} x.y"
    return f"({product} + {coef0:.6g})^{degree}" if coef0 > 0 else f"({product})^{degree}"


# --------------------------------------------------------------------------- random Fourier features


class FourierFeatureMap(FeatureMap):
    """[cos(w_j . x), sin(w_j . x)] / sqrt(m), j = 1 ... m; made by :func:`fourier_map`.

    Attributes
    ----------
    frequencies : ndarray of shape (m, d)
        The w_j.
    gamma : ndarray of shape (d,)
    independent : float
        Number of draws on which the Hoeffding bound rests: all frequencies, or, where they were drawn
        orthogonal in groups of d, the number of whole groups.
    """

    kind: BoundKind = "probabilistic"

    def __init__(
        self,
        labels: tuple[str, ...],
        frequencies: FloatArray,
        gamma: FloatArray,
        orthogonal: bool,
        origin: FloatArray,
    ) -> None:
        super().__init__(labels, gamma, np.ones(len(labels)), origin)
        self.frequencies = frequencies
        m, d = frequencies.shape
        self.independent = max(1, m // d) if orthogonal else m
        same = (gamma == gamma[0]).all()
        self.formula = f"exp(-{gamma[0]:.6g} |x - y|^2)" if same else "exp(-sum gamma_i (x_i - y_i)^2)"
        self.reason = (
            f"Random features are right on average; the bound is Hoeffding's for {self.independent} "
            f"independent draws and holds for all pairs at once with probability {CONFIDENCE:g} over "
            "random_state."
        )

    def __len__(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features: cos(w1.x), ..., sin(w1.x), ..."""
        count = range(1, len(self.frequencies) + 1)
        return tuple(f"{function}(w{j}.x)" for function in ("cos", "sin") for j in count)

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        X = arrays.as_float64(X)
        Y = X if Y is None else arrays.as_float64(Y)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-scipy.spatial.distance.cdist(X, Y, "sqeuclidean", w=self.gamma)))

    def _features(self, Z: Any) -> Any:
        rounding = self._phase_rounding(largest_norm(Z))
        if not rounding <= WORST_PHASE:
            raise DataError(f"Rows far from the origin round w . x by {rounding:.1g} radians. {SCALE_FIRST}")
        xp = arrays.namespace(Z)
        phases = Z @ arrays.from_numpy(self.frequencies.T, Z)
        features = xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)
        return features * (1.0 / math.sqrt(len(self.frequencies)))

    def _phase_rounding(self, radius: float) -> float:
        longest = math.sqrt(float((self.frequencies**2).sum(axis=1).max()))
        return EPS * (self.n_features_in + 2) * radius * longest

    def error_bound(self, pairs: int = 1, confidence: float = CONFIDENCE) -> float:
        """Bound ``|phi(x) . phi(y) - k(x, y)|`` for given pairs of rows, all at once.

        Parameters
        ----------
        pairs : int
            Number of pairs (x, y), chosen without looking at the frequencies.
        confidence : float
            Probability, over the draw of the frequencies, with which the bound holds.

        Notes
        -----
        phi(x) . phi(y) is the mean of cos(w_j . (x - y)), each in [-1, 1] with mean k(x, y): Hoeffding's
        inequality and a union over the pairs. Of frequencies that are orthogonal in groups of d, only those
        at the same place of different groups are independent; the mean over places obeys the same bound with
        the number of groups (Hoeffding 1963, section 5). This is what is proven: their error is smaller than
        that of independent ones (Yu et al. 2016), which the measured error shows and the bound does not.

        References
        ----------
        Hoeffding (1963), Probability inequalities for sums of bounded random variables, theorem 2.
        Rahimi and Recht (2007), Random features for large-scale kernel machines, claim 1.
        """
        pairs, confidence = check_integer("pairs", pairs), check_share("confidence", confidence)
        bound = math.sqrt(2.0 * math.log(2.0 * pairs / (1.0 - confidence)) / self.independent)
        return min(bound, LARGEST_GAP)

    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        rounding = 4 * self._phase_rounding(radius) + 2 * (len(self) + 16) * EPS + 4 * eps
        return min(self.error_bound(pairs) + rounding, LARGEST_GAP)


def fourier_map(
    n_features: int,
    *,
    n_components: int = 100,
    gamma: Any = None,
    orthogonal: bool = True,
    rng: np.random.Generator | int | None = 0,
    origin: FloatArray | None = None,
) -> FourierFeatureMap:
    """Return random Fourier features of the Gaussian kernel exp(-sum_i gamma_i (x_i - y_i)^2).

    By Bochner's theorem the kernel is the mean of cos(w . (x - y)) over normal w of variances 2 gamma_i;
    m = n_components / 2 of them give ``[cos(w_j . x), sin(w_j . x)] / sqrt(m)``.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    n_components : int
        Number of features, in pairs of cosine and sine: of an odd number, one more.
    gamma : float, array of shape (d,) or None
        1 / (2 sigma^2); None takes 1 / n_features.
    orthogonal : bool
        Draw frequencies orthogonal to each other in groups of d, with the lengths of normal vectors: as
        right on average, and closer to it.
    rng : numpy Generator, int or None
        Source of the frequencies.
    origin : array of shape (d,), optional
        Subtracted from rows first, which leaves the kernel as it is and large phases exact.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines.
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features, theorem 1.

    Examples
    --------
    >>> phi = fourier_map(2, n_components=1000, gamma=0.5, rng=0)
    >>> phi.kernel_error([[0.0, 0.0], [1.0, 1.0]]).maximum < 0.1
    True
    """
    labels = default_labels(check_integer("n_features", n_features))
    features = check_integer("n_components", n_components)
    need, limit = 4 * features * len(labels), arrays.memory_limit_bytes(None)
    if need > limit:
        size = f"of {len(labels):,} features take {amount(need)}, and {amount(limit)} may be used"
        raise ParameterError("n_components", features, size, "Take fewer.")
    factors = check_gamma(gamma, len(labels))
    start = np.zeros(len(labels)) if origin is None else origin
    source = np.random.default_rng(rng)
    drawn = frequencies(-(-features // 2), len(labels), orthogonal=bool(orthogonal), rng=source)
    return FourierFeatureMap(labels, drawn * np.sqrt(2.0 * factors), factors, bool(orthogonal), start)


def frequencies(count: int, d: int, *, orthogonal: bool, rng: np.random.Generator) -> FloatArray:
    """Return standard normal vectors, shape (count, d): independent, or orthogonal in groups of d."""
    if not orthogonal:
        return rng.standard_normal((count, d))
    groups = []
    for start in range(0, count, d):
        size = min(d, count - start)
        Q, R = np.linalg.qr(rng.standard_normal((d, size)))
        # The signs make the columns uniform on the sphere (Mezzadri 2007).
        groups.append((Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T)
    # Lengths of independent normal vectors, so that each row is normal.
    lengths = np.sqrt(rng.chisquare(d, size=count))
    return np.concatenate(groups) * lengths[:, None]


# ---------------------------------------------------------------------------------------- parameters


def default_labels(d: int) -> tuple[str, ...]:
    """Return the names f1, f2, ... of d features."""
    return tuple(f"f{i + 1}" for i in range(d))


def check_gamma(gamma: Any, d: int) -> FloatArray:
    """Return gamma of each feature, shape (d,): one number for all, or 1 / n_features for None."""
    if gamma is None:
        return np.full(d, 1.0 / d)
    try:
        values = np.array(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    values = np.full(d, values) if values.ndim == 0 else values
    if values.shape != (d,) or not (np.isfinite(values) & (values > 0)).all():
        raise ParameterError("gamma", gamma, f"must be a positive number, or {d} of them, or None")
    return values


# ---- Products of powers of features, up to a degree: which there are, their names, values and coefficients

READABLE = 1e5  # a coefficient beyond this is not named by its square


def count_monomials(n_features: int, degree: int) -> int:
    """Return how many monomials of ``n_features`` variables have a degree up to ``degree``: C(d + p, p)."""
    return math.comb(n_features + degree, degree)


def exponents(n_features: int, degree: int) -> npt.NDArray[np.int64]:
    """Return the powers of all monomials up to a degree, shape (C(d + p, p), d).

    Examples
    --------
    >>> exponents(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    return np.concatenate(graded_powers(n_features, degree)).astype(np.int64)


def graded_blocks(Z: Any, degree: int) -> Iterator[Any]:
    """Yield the monomials of every row by degree, from 0 up to ``degree``.

    Parameters
    ----------
    Z : array of shape (n, d), float64

    Yields
    ------
    array of shape (n, C(d + m - 1, m)), of Z's kind
    """
    xp = arrays.namespace(Z)
    n, d = Z.shape
    block = xp.ones((n, 1), dtype=Z.dtype, device=array_api_compat.device(Z))
    yield block
    for m in range(1, degree + 1):
        block = xp.concat([block[:, s:] * Z[:, f : f + 1] for f, s in _tails(d, m)], axis=1)
        yield block


def graded_powers(n_features: int, degree: int) -> list[npt.NDArray[np.int32]]:
    """Return the powers of the monomials by degree, each of shape (C(d + m - 1, m), d).

    Examples
    --------
    >>> [powers.tolist() for powers in graded_powers(2, 2)]
    [[[0, 0]], [[1, 0], [0, 1]], [[2, 0], [1, 1], [0, 2]]]
    """
    unit = np.eye(n_features, dtype=np.int32)
    blocks = [np.zeros((1, n_features), dtype=np.int32)]
    for m in range(1, degree + 1):
        blocks.append(np.concatenate([blocks[-1][s:] + unit[f] for f, s in _tails(n_features, m)]))
    return blocks


def _tails(d: int, m: int) -> list[tuple[int, int]]:
    """Where, for each feature, the part of degree m - 1 begins that it multiplies."""
    width = math.comb(d + m - 2, m - 1)
    return [(f, width - math.comb(d - f + m - 2, m - 1)) for f in range(d)]


def monomial_name(power: Sequence[int], names: Sequence[str]) -> str:
    """Return a monomial in words.

    Examples
    --------
    >>> monomial_name([2, 1], ["x", "y"])
    'x^2 y'
    >>> monomial_name([0, 0], ["x", "y"])
    '1'
    """
    factors = [name if p == 1 else f"{name}^{p}" for name, p in zip(names, map(int, power), strict=True) if p]
    return " ".join(factors) or "1"


# ------------------------------------------------ multinomial coefficients


@lru_cache(maxsize=4)
def graded_roots(n_features: int, degree: int) -> tuple[FloatArray, ...]:
    """Return sqrt(m! / (alpha_1! ... alpha_d!)) of the monomials by degree, kept for the next call.

    Examples
    --------
    >>> [(roots**2).round(9).tolist() for roots in graded_roots(2, 2)]
    [[1.0], [1.0, 1.0], [1.0, 2.0, 1.0]]
    """
    factorials = np.array([float(math.factorial(m)) for m in range(degree + 1)])
    graded = enumerate(graded_powers(n_features, degree))
    return tuple(np.sqrt(factorials[m] / np.prod(factorials[powers], axis=1)) for m, powers in graded)


def coefficient_text(value: float) -> str:
    """Return a whole number, the root of one, or six digits.

    Examples
    --------
    >>> coefficient_text(2.0), coefficient_text(12**0.5), coefficient_text(0.5)
    ('2', 'sqrt(12)', '0.5')
    """
    square = round(value * value) if value < READABLE else 0
    if not square or abs(value * value - square) > 1e-12 * square:
        return f"{value:.6g}"
    root = math.isqrt(square)
    return str(root) if root * root == square else f"sqrt({square})"
