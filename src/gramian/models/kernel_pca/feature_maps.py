"""Transformers that compute a kernel's features explicitly and report their error."""

from __future__ import annotations

import operator
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64, memory_limit_bytes
from gramian.core.records import POSITIVE, FloatArray, RealArray, Seed
from gramian.kernels import feature_maps
from gramian.models import fitted, inputs
from gramian.models.saving import Saved
from gramian.models.sklearn import knows_names
from gramian.statistics.components import names_of
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Rows

# Rows on which the error is measured, and features of them held at once.
SAMPLE = 256
SAMPLE_ENTRIES = 1 << 24


class KernelMapper(fitted.Transformer):
    """Base class of the maps: ``fit`` computes the map's numbers, ``transform`` applies it."""

    n_features_out_: Annotated[int, "p"]
    kernel_error_: feature_maps.KernelError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Set up the map for the columns of X, and measure its error against the kernel.

        Parameters
        ----------
        X : array-like, frame, array-API array, Path or Scan of shape (n_samples, n_features)
            Dense rows.
        y : object, ignored
            For pipelines.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ParameterError
            A parameter outside its range, or more than ``max_features`` features.
        DataError
            Sparse data, NaN, infinity, or features that the data's dtype cannot hold.
        """
        rows = self._rows(X)
        self._learn(rows)
        inputs.store_features(self, X, rows)
        mapping = self.feature_map_
        self.n_features_out_ = len(mapping)
        n = rows.shape[0]
        wanted = max(2, min(SAMPLE, SAMPLE_ENTRIES // len(mapping)))
        sample = rows.at(range(0, n, -(-n // wanted)))
        radius, pairs = rows.reduce(lambda block: mapping.radius(block.values), max), n * (n - 1) // 2
        about = f"Measured on {sample.shape[0]:,} of the {n:,} fitted rows; the bound is for all rows. "
        self.kernel_error_ = mapping.measure(sample, None, rows.dtype, radius, pairs, about)
        return self

    def transform(self, X: Any) -> RealArray:
        """Return the features of every row, shape (n_samples, n_features_out_), in X's kind and dtype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_features_out_)
            phi of every row.
        """
        check_is_fitted(self)
        rows = self._new_rows(X)
        mapping = self.feature_map_
        if rows.free_to_revisit or not rows.in_one_place:
            return rows.mapped(lambda block: mapping.evaluate(block.in_memory(), block.dtype), len(mapping))
        mapping.require_room(rows.shape[0], rows.dtype)
        features: RealArray = rows.map(lambda block: mapping.evaluate(block.values, rows.dtype))
        return features

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features, with their coefficients.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns; None means those of ``fit``, or f1, f2, ....

        Returns
        -------
        ndarray of shape (n_features_out_,), object
            Such as ``sqrt(2) f1 f2``.
        """
        check_is_fitted(self)
        return np.array(self._map(self._labels(input_features)).names, dtype=object)

    @property
    def feature_map_(self) -> feature_maps.FeatureMap:
        """The map itself: ``names``, ``len``, ``kernel_error(X, Y)``, ``error_bound(...)``."""
        check_is_fitted(self, "n_features_in_")
        return self._map(self._labels(None))

    def _labels(self, names: Any) -> tuple[str, ...]:
        if names is None:
            return names_of(self) or feature_maps.default_labels(self.n_features_in_)
        return tuple(map(str, OneToOneFeatureMixin.get_feature_names_out(self, names)))

    def _rows(self, X: Any, **options: Any) -> Rows:
        name = type(self).__name__
        rows = as_rows(X, weigh=False, estimator=name, limit=memory_limit_bytes(None), **options)
        rows.require_dense(
            f"{name} does not support sparse data. Pass X.toarray(), of a frame "
            "X.sparse.to_dense(), or PCA(...).fit_transform(X) first: PCA keeps sparse data sparse."
        )
        return rows

    @abstractmethod
    def _learn(self, rows: Rows) -> None:
        """Check the parameters and store the map's numbers."""

    @abstractmethod
    def _map(self, labels: tuple[str, ...]) -> feature_maps.FeatureMap:
        """Return the fitted map."""


class PolynomialMapAttributes(KernelMapper):
    """The attributes that only a fitted PolynomialMap has."""

    gamma_: Annotated[float, "", POSITIVE]
    _degree: Annotated[int, "degree"]
    _coef0: Annotated[float, "", POSITIVE]
    _weighted: bool


@knows_names
@dataclass(eq=False, repr=False)
class PolynomialMap(Saved, PolynomialMapAttributes):
    """The exact features of the polynomial kernel (gamma x . y + coef0)^degree.

    PCA of them is kernel PCA with that kernel, and every feature has a name. There are
    C(d + degree, degree) features, so use this map for few columns or low degrees.

    Parameters
    ----------
    degree : int, default=3
        From 1 to 170.
    gamma : float or None, default=None
        Positive; None means ``1 / n_features``.
    coef0 : float, default=1
        At least 0; with 0 only monomials of the full degree remain.
    weights : {"kernel", None}, default="kernel"
        None leaves out the coefficients: the features are the monomials themselves, and not those of the
        kernel. ``gamma`` has no part in them, and ``coef0`` is 0 or 1.
    max_features : int, default=1_000_000
        Limit on the number of features; above it ``fit`` raises an error before any computation.

    Attributes
    ----------
    kernel_error_ : KernelError
        Largest and root-mean-square difference from the kernel on up to 256 fitted rows (every m-th), and a
        rounding bound for all fitted rows; print it.
    n_features_out_ : int
        Number of features.
    feature_map_ : FeatureMap
        The map: ``names``, ``powers``, ``coefficients``, ``kernel_error(X, Y)``.
    gamma_ : float
        The value of gamma, also if the parameter is None.

    References
    ----------
    Schoelkopf and Smola (2002), Learning with Kernels, proposition 2.1.

    Examples
    --------
    >>> from gramian import PolynomialMap
    >>> mapper = PolynomialMap(degree=2, gamma=1).fit([[1.0, 2.0], [3.0, 4.0]])
    >>> mapper.get_feature_names_out(["a", "b"]).tolist()
    ['1', 'sqrt(2) a', 'sqrt(2) b', 'a^2', 'sqrt(2) a b', 'b^2']
    >>> mapper.transform([[1.0, 2.0]]).round(4)
    array([[1.    , 1.4142, 2.8284, 1.    , 2.8284, 4.    ]])

    Without the coefficients:

    >>> PolynomialMap(degree=2, weights=None).fit_transform([[1.0, 2.0]])
    array([[1., 1., 2., 1., 2., 4.]])
    """

    degree: int = 3
    _: KW_ONLY
    gamma: float | None = None
    coef0: float = 1
    weights: str | None = "kernel"
    max_features: int = feature_maps.MAX_FEATURES

    def _learn(self, rows: Rows) -> None:
        result = feature_maps.polynomial_map(rows.shape[1], **self.get_params(deep=False))
        self.gamma_ = float(result.gamma[0])
        # What transform uses, so that set_params after fit changes nothing until the next fit.
        self._degree, self._coef0, self._weighted = result.degree, result.coef0, self.weights is not None

    def _map(self, labels: tuple[str, ...]) -> feature_maps.PolynomialFeatureMap:
        return feature_maps.PolynomialFeatureMap(
            labels, self._degree, self.gamma_, self._coef0, self._weighted
        )


class RandomFourierMapAttributes(KernelMapper):
    """The attributes that only a fitted RandomFourierMap has."""

    gamma_: Annotated[FloatArray, "d"]
    origin_: Annotated[FloatArray, "d"]
    frequencies_: Annotated[FloatArray, "_ d"]
    _orthogonal: bool


@knows_names
@dataclass(eq=False, repr=False)
class RandomFourierMap(Saved, RandomFourierMapAttributes):
    """Random Fourier features of the Gaussian kernel: unbiased, for any number of columns.

    Parameters
    ----------
    n_components : int, default=100
        Number of features, in pairs of cosine and sine: of an odd number, one more. The error is
        proportional to ``1 / sqrt(n_components)``.
    gamma : float, array-like of shape (n_features,) or None, default=None
        Factor of the kernel, 1 / (2 sigma^2) for the width sigma; one, or one a column. None means
        ``1 / n_features``.
    orthogonal : bool, default=True
        Frequencies orthogonal in groups of n_features, which lowers the error; otherwise independent.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the frequencies; None draws a new one at each fit.

    Attributes
    ----------
    kernel_error_ : KernelError
        Largest and root-mean-square difference from the kernel, measured on up to 256 fitted rows (every
        m-th), and a bound for all pairs of fitted rows that holds with probability 0.99 (Hoeffding). For
        orthogonal frequencies the bound counts whole groups only and is very pessimistic. Print it.
    n_features_out_ : int
        Number of features.
    feature_map_ : FeatureMap
        The map: ``kernel_error(X, Y)``, ``error_bound(pairs, confidence)``.
    frequencies_ : ndarray of shape (ceil(n_components / 2), n_features)
        The frequencies, normal with variance 2 gamma.
    gamma_ : ndarray of shape (n_features,)
        gamma of every column.
    origin_ : ndarray of shape (n_features,)
        Mean of the fitted rows, subtracted first: the kernel is the same, and phases stay small.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines.
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features, theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RandomFourierMap
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> mapper = RandomFourierMap(n_components=2000, gamma=0.02, random_state=0).fit(X)
    >>> mapper.kernel_error_.maximum < 0.1
    True
    """

    n_components: int = 100
    _: KW_ONLY
    gamma: Annotated[npt.ArrayLike | None, "d"] = None
    orthogonal: bool = True
    random_state: Seed = 0

    def _check_restored(self) -> None:
        """Raise a ValueError unless the map has as many features as the file says."""
        if len(self.feature_map_) != self.n_features_out_:
            raise ValueError(f"n_features_out_ is {self.n_features_out_}, not {len(self.feature_map_)}")

    def _learn(self, rows: Rows) -> None:
        options, xp = self.get_params(deep=False), rows.xp
        with np.errstate(over="ignore"):
            sums = rows.reduce(lambda block: xp.sum(block.values, axis=0, dtype=xp.float64), operator.add)
        origin = as_float64(sums) / rows.shape[0]
        rng = inputs.generators(options.pop("random_state"))[0]
        result = feature_maps.fourier_map(rows.shape[1], rng=rng, origin=origin, **options)
        self.gamma_, self.origin_, self.frequencies_ = result.gamma, origin, result.frequencies
        self._orthogonal = bool(self.orthogonal)

    def _map(self, labels: tuple[str, ...]) -> feature_maps.FourierFeatureMap:
        return feature_maps.FourierFeatureMap(
            labels, self.frequencies_, self.gamma_, self._orthogonal, self.origin_
        )
