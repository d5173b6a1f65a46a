"""Whitening: linear maps after which columns are uncorrelated and of variance 1, and the estimator of them.

A covariance ``S = U.T diag(variances) U`` has many square roots of its inverse, all rotations of each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from gramian.core import arrays
from gramian.core.arrays import as_float64, from_numpy
from gramian.core.checks import check_choice, check_number, slices
from gramian.core.progress import shows_progress
from gramian.core.records import POSITIVE, FloatArray, ModelKind, Plan, RealArray, Seed
from gramian.engine.centered import CenteredRows
from gramian.errors import DataError, ParameterError
from gramian.models import fitted, inputs, saving
from gramian.models.pca.estimator import PCA
from gramian.models.sklearn import knows_names
from gramian.statistics.projection import inverse_deviations
from gramian.tables import table
from gramian.tables.as_rows import as_rows, weighted
from gramian.tables.rows import Block, Rows

METHODS = ("pca", "zca", "zca-cor", "pca-cor")
SHRINKAGE = "ledoit-wolf"
MOST_ENTRIES = 10**8  # of a matrix that is written out: 10,000 x 10,000, 0.8 GB
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of sums that would be 0 or 1
COLUMNS = 4096  # of the directions worked on at a time


def shrinkage_intensity(view: CenteredRows) -> float:
    """Return the weight of ``mu I`` in a shrunk covariance ``(1 - weight) S + weight mu I``, mu = trace(S)/d.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage

    if view.rows.weights is not None:
        hint = "Give a number, or no weights."
        raise ParameterError("regularization", SHRINKAGE, "needs rows of equal weight", hint)
    C = as_float64(replace(view, rows=view.rows.here()).block(slice(None), slice(None)))
    top = float(np.abs(C).max(initial=0.0))
    return float(ledoit_wolf_shrinkage(C / top, assume_centered=True)) if top > 0 else 0.0


# ------------------------------------------------------------- roots of matrices


def correction_of(products: FloatArray, rank: int) -> FloatArray | None:
    """Return ``T^-1/2`` for a T that should be the identity, or None where it is, to rounding.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        Covariance of scores over their deviations; T is the identity beyond the rank.
    rank : int
    """
    whole = np.eye(len(products))
    whole[:rank, :rank] = products[:rank, :rank]
    gap = float(np.abs(whole - np.eye(len(whole))).max(initial=0.0))
    if gap <= ROUNDING:
        return None
    values, vectors = arrays.eigh(whole)
    # It corrects rounding; where that is as large as the values themselves, it must not amplify it.
    return np.asarray((vectors / np.sqrt(np.maximum(values, 0.25))) @ vectors.T)


def orthonormal_rows(directions: Any) -> Any:
    """Return directions that are orthonormal to rounding, where they were so nearly.

    ZCA goes through the directions twice, so that what they lack shows twice in the covariance.

    Parameters
    ----------
    directions : array of shape (k, d)

    References
    ----------
    Higham (1986), Computing the polar decomposition: one step towards the nearest orthonormal rows.
    """
    k, d = directions.shape
    chunks = slices(d, COLUMNS)
    dtype = arrays.numpy_dtype(directions)

    def block(chunk: slice) -> Any:
        return arrays.to_float64(directions[:, chunk])

    gap = as_float64(sum(B @ B.T for B in map(block, chunks))) - np.eye(k)
    if float(np.abs(gap).max(initial=0.0)) <= max(2 * float(np.finfo(dtype).eps), ROUNDING):
        return np.ascontiguousarray(directions) if arrays.is_numpy(directions) else directions
    step = from_numpy(np.eye(k) - gap / 2, directions)
    turned = [arrays.to_dtype(step @ block(chunk), dtype) for chunk in chunks]
    return arrays.namespace(directions).concat(turned, axis=1)


# ---------- the map, as two thin products: no matrix of the order of the columns is made

LEAST_ROWS = 128  # in a block, so that reading the directions costs less than multiplying by them
DOUBLE_BELOW = 1 << 22  # entries of the directions up to which float32 rows are multiplied in float64
NEAR_ONE = 30  # powers of two by which data may be off before it is scaled


@dataclass(frozen=True, eq=False)
class Whitening:
    """The affine map ``z = W (x - center)`` in both directions.

    With U the directions, v the squared deviations, K the correction and c = (x - center) / divisor, W c is
    ``K diag(v)^-1/2 U c``; turned back into columns ``U.T K diag(v)^-1/2 U c``, to which ``c - U.T U c`` over
    ``rest`` is added.

    Parameters
    ----------
    directions : array of shape (k, d)
        Orthonormal rows.
    center : ndarray of shape (d,)
        Subtracted from every row.
    divisor : ndarray of shape (d,) or None
        What centred columns are divided by; infinite leaves a column out.
    deviations : ndarray of shape (k,)
        What scores are divided by; 0 leaves a direction out.
    rest : float
        Divisor of the part orthogonal to the directions; 0 leaves it out.
    correction : ndarray of shape (k, k) or None
        Inverse square root of the covariance that the divided scores were measured to have.
    turned : bool
        Whether whitened scores are turned back into columns (ZCA).
    """

    directions: Any
    center: FloatArray
    divisor: FloatArray | None
    deviations: FloatArray
    rest: float = 0.0
    correction: FloatArray | None = None
    turned: bool = False

    @cached_property
    def _unit(self) -> int:
        """Power of two that centred rows are in units of, so that no product leaves its range.

        Divided columns have none.
        """
        size = max(float(self.deviations.max(initial=0.0)), self.rest) if self.divisor is None else 1.0
        exponent = arrays.power_of_two(size)
        return exponent if abs(exponent) > NEAR_ONE else 0

    @cached_property
    def _core(self) -> FloatArray:
        """What scores, in units of the map's own, are multiplied by: (k, k), or its diagonal (k,)."""
        inverse = inverse_deviations(np.ldexp(self.deviations, -self._unit))
        if self.turned:
            inverse = inverse - self._outside
        return inverse if self.correction is None else inverse[:, None] * self.correction

    @property
    def _outside(self) -> float:
        return 1.0 / float(np.ldexp(self.rest, -self._unit)) if self.rest > 0 else 0.0

    def centered(self, rows: Rows) -> CenteredRows:
        """Return rows as the map centres and scales them."""
        double = self.directions.shape[0] * rows.shape[1] <= DOUBLE_BELOW
        divisor = np.full(len(self.center), 2.0**self._unit) if self._unit else self.divisor
        return CenteredRows(rows, self.center, divisor, np.zeros(1), 0.0, double=double)

    # ------------------------------------------------------------------- there

    def apply(self, rows: Rows, scores: Any = None) -> Any:
        """Return whitened rows, shape (n, k) or (n, d), in the kind and dtype of ``rows``.

        Parameters
        ----------
        rows : Rows
            Not yet searched for NaN: it shows in the result.
        scores : array of shape (n, k), optional
            Scores of these rows, where :meth:`measure` has kept them.

        Raises
        ------
        DataError
            For NaN and infinity, and where a result is beyond the range of the dtype.
        """
        view = self.centered(rows)
        directions, core = self._factors(view)

        def whiten(block: Block) -> Any:
            C = view.block(block.rows, slice(None))
            S = C @ directions.T if scores is None else scores[block.rows, :]
            Z = arrays.to_dtype(self._whitened(C, S, directions, core), rows.dtype)
            if not bool(rows.xp.isfinite(rows.xp.sum(rows.xp.abs(Z)))):
                rows.require_finite()
                why = f"Whitened values of a row far from the fitted rows exceed what {rows.dtype} can hold."
                raise DataError(why, "Leave out such rows, or fit with a larger regularization.")
            return Z

        with np.errstate(over="ignore", invalid="ignore"):
            return rows.map(whiten, view.row_slices(LEAST_ROWS)[0].stop)

    def _factors(self, view: CenteredRows) -> tuple[Any, Any]:
        """What centred rows, and then their scores, are multiplied by."""
        like = view.rows.like
        directions = np.ascontiguousarray(arrays.to_numpy(self.directions), dtype=view.arithmetic)
        return from_numpy(directions, like), from_numpy(self._core, like)

    def _whitened(self, C: Any, S: Any, directions: Any, core: Any) -> Any:
        # The scores are few numbers beside the rows, and may be far from the range of float32.
        P = arrays.to_float64(S)
        P = P * core[None, :] if core.ndim == 1 else P @ core
        if not self.turned:
            return P
        Z = arrays.to_dtype(P, arrays.numpy_dtype(directions)) @ directions
        return Z + arrays.to_float64(C) * self._outside if self.rest > 0 else Z

    # -------------------------------------------------------------------- back

    @np.errstate(over="ignore", invalid="ignore")
    def undo(self, Z: Any) -> Any:
        """Return rows whose whitened values are Z, as far as the map keeps them; shape (n, d).

        Parameters
        ----------
        Z : array of shape (n, k) or (n, d)

        Raises
        ------
        DataError
            Where a row is beyond the range of the values' dtype.
        """
        dtype = arrays.numpy_dtype(Z)

        def like(values: Any, kind: Any = np.float64) -> Any:
            return from_numpy(np.ascontiguousarray(values, dtype=kind), Z)

        directions = like(arrays.to_numpy(self.directions), dtype)
        deviations, rest = np.ldexp(self.deviations, -self._unit), float(np.ldexp(self.rest, -self._unit))
        P = arrays.to_float64(Z @ directions.T) if self.turned else arrays.to_float64(Z)
        if self.correction is not None:
            P = P @ like(np.linalg.inv(self.correction))
        inside = deviations - rest if self.turned else deviations
        X = arrays.to_dtype(P * like(inside)[None, :], dtype) @ directions
        X = X + arrays.to_float64(Z) * rest if self.turned and rest > 0 else X
        X = arrays.to_dtype(X * like(self._unscaled, arrays.numpy_dtype(X))[None, :], dtype) + like(
            self.center, dtype
        )
        return arrays.require_range(X, "Rows of these whitened values")

    @property
    def _unscaled(self) -> FloatArray:
        """What rows in units of the map's own are multiplied by; columns left out stay at the mean."""
        if self.divisor is None:
            return np.full(len(self.center), np.ldexp(1.0, self._unit))
        return np.where(np.isfinite(self.divisor), self.divisor, 0.0)

    # ----------------------------------------------------------- fitted rows

    def measure(self, rows: Rows, *, scores: bool, keep: bool) -> tuple[FloatArray, FloatArray, Any]:
        """Go over the fitted rows once more, with the map as it stands.

        Parameters
        ----------
        rows : Rows
        scores : bool
            Whether products of scores are wanted.
        keep : bool
            Whether the scores are kept for :meth:`apply`.

        Returns
        -------
        means : ndarray of shape (d,)
            What the column means had left, in units of the data; already taken off the others.
        products : ndarray of shape (k, k)
            ``Z.T Z`` for the scores Z over their deviations, uncorrected; zeros where it was not wanted.
        scores : array of shape (n, k) or None
            Scores, in units of the map's own, where they were to be kept.
        """
        n = rows.weight
        keep = keep and rows.keeps_scores
        inverse = inverse_deviations(np.ldexp(self.deviations, -self._unit))
        (left, products), S = rows.map_reduce(
            lambda block: self._sums(block, inverse, scores=scores, keep=keep),
            lambda first, other: ([a + b for a, b in zip(first[0], other[0], strict=True)], None),
        )
        left = left / n
        shift = as_float64(self.directions) @ left
        products = products - n * np.outer(shift * inverse, shift * inverse)
        kept = None if S is None else S - from_numpy(shift.astype(arrays.numpy_dtype(S)), S)[None, :]
        return left * self._unscaled, products, kept

    def _sums(
        self, rows: Rows, inverse: FloatArray, *, scores: bool, keep: bool
    ) -> tuple[list[FloatArray], Any]:
        """Return sums of what :meth:`measure` wants over rows in one place, and their scores if kept."""
        xp, k, view = rows.xp, len(inverse), self.centered(rows)
        directions = self._factors(view)[0]
        blocks = view.row_slices(LEAST_ROWS)

        # Blocks in the cache are short.
        wide = {} if arrays.is_numpy(rows.like) else {"dtype": xp.float64}

        def of_block(chunk: slice, C: Any) -> tuple[list[Any], list[tuple[int, Any]]]:
            weights, kept, products = rows.weights_of(chunk), [], np.zeros((k, k))
            if scores:
                S = C @ directions.T
                kept = [(chunk.start, S)] if keep else []
                P = arrays.to_float64(S) * from_numpy(inverse, S)[None, :]
                P = P if weights is None else P * xp.sqrt(from_numpy(weights, S))[:, None]
                products = as_float64(P.T @ P)
            if weights is None:
                return [as_float64(xp.sum(C, axis=0, **wide)), products], kept
            return [as_float64(from_numpy(weights, C) @ arrays.to_float64(C)), products], kept

        def share(draw: Iterator[slice]) -> tuple[list[Any], list[tuple[int, Any]]]:
            totals: list[Any] = []
            results: list[tuple[int, Any]] = []
            for chunk, C in view.along(draw, 0, blocks[0].stop):
                sums, kept = of_block(chunk, C)
                totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
                results += kept
            return totals, results

        if arrays.is_numpy(rows.like):
            results = [result for result in arrays.each_thread(share, blocks) if result[0]]
        else:
            results = list(view.on_device(of_block, 0))
        totals = [np.sum(terms, axis=0) for terms in zip(*(f for f, _ in results), strict=True)]
        if not keep:
            return totals, None
        # Threads have made blocks in any order.
        made = sorted((block for _, kept in results for block in kept), key=itemgetter(0))
        return totals, xp.concat([block for _, block in made], axis=0)

    def matrix(self) -> FloatArray:
        """Return W of ``z = W (x - center)``, shape (k, d) or (d, d)."""
        U = as_float64(self.directions)
        inner = inverse_deviations(self.deviations)[:, None] * U
        inner = inner if self.correction is None else self.correction @ inner
        if self.turned:
            inner = U.T @ inner
            if self.rest > 0:
                inner = inner + (np.eye(U.shape[1]) - U.T @ U) / self.rest
        return inner if self.divisor is None else inner / self.divisor[None, :]


# ------------------------------------------------------------------ the estimator


class WhitenerAttributes(fitted.Decomposer):
    """The attributes that only a fitted Whitener has."""

    mean_: Annotated[RealArray, "d"]
    scale_: Annotated[RealArray | None, "d"]
    components_: Annotated[RealArray, "k d"]
    eigenvalues_: Annotated[FloatArray, "k", POSITIVE]
    explained_variance_ratio_: Annotated[FloatArray, "k", POSITIVE]
    regularized_eigenvalues_: Annotated[FloatArray, "k", POSITIVE]
    regularization_: float | None
    constant_features_: Annotated[npt.NDArray[np.intp], "_", POSITIVE]
    _center: Annotated[FloatArray, "d"]
    _divisor: Annotated[FloatArray | None, "d"]
    _deviations: Annotated[FloatArray, "k", POSITIVE]
    _rest: float
    _correction: Annotated[FloatArray | None, "c c"]


@knows_names
@dataclass(eq=False, repr=False)
class Whitener(saving.Saved, fitted.InNotebooks, WhitenerAttributes):
    """Map rows to uncorrelated coordinates of variance 1.

    With the covariance ``S = U L U.T`` (columns of U the directions) and c = x - mean, z = W c where W is

    - ``"pca"``: ``L^-1/2 U.T``, the scores of PCA over their standard deviations;
    - ``"zca"``: ``S^-1/2 = U L^-1/2 U.T``, of all white z the one with the smallest mean of ``||z - c||^2``:
      whitened pictures still look like pictures;
    - ``"zca-cor"``: ``P^-1/2 V^-1/2``, P the correlation matrix and V the variances; of all white z the
      closest to the standardised columns, and the most correlated with them, summed over columns;
    - ``"pca-cor"``: the same, as scores of PCA of the standardised columns.

    Each is a rotation of each other. W is applied as two thin products and never formed.

    Parameters
    ----------
    method : {"zca", "pca", "zca-cor", "pca-cor"}, default="zca"
        The whitening transform, as defined above.
    n_components : int, float, str or None, default=None
        Number of directions to whiten, largest variance first, as in :class:`PCA`; None means all
        ``min(n_samples - 1, n_features)``. z is 0 in all other directions, so that every direction of z is
        either white or 0.
    regularization : float, "ledoit-wolf" or None, default=None
        None inverts the variances without regularization; directions at rounding level give 0, not noise. A
        number is added to every variance (squared units of the data; dimensionless for the -cor methods).
        "ledoit-wolf" shrinks, ``(1 - s) L + s mu`` with mu the mean variance, by the intensity s that
        scikit-learn estimates from rows of equal weight in memory. With all directions "zca" then divides
        the part of a row outside the fitted directions by the square root of the added variance. A
        regularization at rounding level has no effect.
    ddof : int, default=1
        Variances divide by ``n_samples - ddof``, or the sum of the weights less ``ddof``.
    random_state : int, RandomState, Generator or None, default=0
        As in :class:`PCA`.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
        Column means.
    scale_ : array of shape (n_features,) or None
        Standard deviations that the -cor methods divide by; constant columns are not used.
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, sorted by decreasing variance. In each, the first entry of largest magnitude
        is positive.
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Variances along them: eigenvalues of the covariance (of the correlation matrix for -cor).
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        Their ratios to the total variance.
    regularized_eigenvalues_ : ndarray of shape (n_components_,), float64
        Scores are divided by the square root of these; 0 for a direction that is not used.
    regularization_ : float or None
        The added variance, or the intensity of the shrinkage.
    n_components_, rank_ : int
        Number of directions, and the number of those with variance above the rank tolerance.
    plan_, spectrum_, certificate_, constant_features_, column_means_
        As in :class:`PCA`, for the directions.
    n_samples_, n_features_in_, feature_names_in_, picture_shape_
        Size and names of the fitted data.
    reading_ : dict
        For data of a file: ``source``, its name, and the options of :func:`gramian.scan` that new rows need.

    References
    ----------
    Kessy, Lewin and Strimmer (2018), Optimal whitening and decorrelation, The American Statistician 72.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Whitener
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> whitener = Whitener().fit(X)
    >>> np.cov(whitener.transform(X).T).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    >>> whitener.whitening_matrix_.round(4)
    array([[ 0.7069, -0.551 ],
           [-0.551 ,  1.0634]])
    """

    model_kind: ClassVar = ModelKind.WHITENER

    method: str = "zca"
    _: KW_ONLY
    n_components: int | float | str | None = None
    regularization: float | str | None = None
    ddof: int = 1
    random_state: Seed = 0

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any, *, sample_weight: Any = None) -> Plan:
        """Return the plan that ``fit(X, sample_weight=...)`` would follow, without fitting.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, as for :meth:`fit`.
        sample_weight : array-like of shape (n_samples,), optional
            As for :meth:`fit`.

        Returns
        -------
        Plan
            The plan of the PCA that it needs.
        """
        rows = self._rows(X, sample_weight, minimum=2, check_finite=False)
        self._rule()
        return self._pca().plan(rows)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the whitening transform of X.

        Parameters
        ----------
        X : array-like, frame, array-API array, Path or Scan of shape (n_samples, n_features)
            Samples as rows; a 3-D array (n_samples, height, width) holds pictures.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in :meth:`gramian.PCA.fit`.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        DataError
            NaN, infinity, sparse data, fewer than two rows.
        ParameterError
            A parameter outside its range.
        """
        with shows_progress("Whitener"):
            self._fit(X, sample_weight, keep=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> RealArray:
        """Find the whitening transform of X and return X whitened, as :meth:`transform` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in :meth:`fit`, which names the errors too.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            As in :meth:`fit`.

        Returns
        -------
        array of shape (n_samples, n_components) or (n_samples, n_features)
            Whitened rows, as :meth:`transform` returns them.
        """
        with shows_progress("Whitener"):
            rows, scores = self._fit(X, sample_weight, keep=True)
        return self._mapped(rows, scores)

    def _pca(self) -> PCA:
        scale = "unit" if str(self.method).endswith("-cor") else None
        return PCA(self.n_components, scale=scale, ddof=self.ddof, random_state=self.random_state)

    def _rule(self) -> float | str | None:
        """Return the rule of regularization, once the parameters are those allowed."""
        check_choice("method", self.method, METHODS)
        if isinstance(self.regularization, str):
            return str(check_choice("regularization", self.regularization, (SHRINKAGE,)))
        if self.regularization is None:
            return None
        advice = "It is added to every variance. Give 'ledoit-wolf' to estimate it, or leave it out."
        return check_number("regularization", self.regularization, least=0.0, advice=advice) or None

    def _fit(self, X: Any, sample_weight: Any, *, keep: bool) -> tuple[Rows, Any]:
        rows = self._rows(X, sample_weight, minimum=2, check_finite=False)
        rule = self._rule()
        pca = self._pca().fit(rows)
        inputs.store_features(self, X, rows)
        self._store_decomposition(pca, rows.repeats)
        mapping = self._whitening()
        means, products, scores = mapping.measure(rows, scores=rule is None, keep=keep and rule is None)
        # Rounding of the mean shows where the variance is small.
        self._center = mapping.center + means
        self.mean_ = from_numpy(self._center.astype(rows.dtype), rows.like)
        if rule is None:
            rank, degrees = int((self._deviations > 0).sum()), rows.weight - inputs.ddof_of(self.ddof, rows)
            self.regularization_, self.regularized_eigenvalues_ = None, self.eigenvalues_
            self._correction = correction_of(products / degrees, rank)
        else:
            rest = self._regularize(rule, float(pca.total_variance_) / rows.shape[1], mapping.centered(rows))
            self._deviations = np.sqrt(self.regularized_eigenvalues_)
            if self.n_components is None and self.n_components_ < rows.shape[1] and not self._reduces:
                self._rest = float(np.sqrt(rest))
        fitted.on_device(self, rows.like)
        return rows, scores

    def _regularize(self, rule: float | str, mean: float, view: CenteredRows) -> float:
        """Set variances that have no zero among them, unless what was added is itself rounding.

        Parameters
        ----------
        rule : float or "ledoit-wolf"
            What is added, or how it is estimated.
        mean : float
            Of all variances.
        view : CenteredRows
            The fitted rows, centred.

        Returns
        -------
        float
            Variance of all directions orthogonal to the k.
        """
        variances = self.eigenvalues_
        weight = shrinkage_intensity(view) if isinstance(rule, str) else 0.0
        added = weight * mean if isinstance(rule, str) else rule
        least = self.spectrum_.rank_tolerance * float(variances.max(initial=0.0))
        values = (1.0 - weight) * variances + added
        self.regularization_ = weight if isinstance(rule, str) else added
        self.regularized_eigenvalues_ = np.where(values > least, values, 0.0)
        return added if added > least else 0.0

    def _store_decomposition(self, pca: PCA, n: int) -> None:
        """Store the decomposition as the map without regularization."""
        k = pca.n_components_ if self.n_components is not None else min(pca.n_components_, n - 1)
        fitted.store_parameters(self, "method")
        self.components_ = orthonormal_rows(pca.components_[:k, :])
        self.eigenvalues_ = as_float64(pca.explained_variance_)[:k]
        self.explained_variance_ratio_ = as_float64(pca.explained_variance_ratio_)[:k]
        self.n_components_ = k
        self.rank_ = min(pca.rank_, k)
        for name in ("scale_", "n_samples_", "picture_shape_"):
            setattr(self, name, getattr(pca, name))
        self._store_account(pca._account)
        self.spectrum_, self.certificate_ = pca.spectrum_, pca.certificate_
        self.constant_features_ = arrays.to_numpy(pca.constant_features_)
        self._center = as_float64(pca._center)
        self._divisor = None if pca._divisor is None else as_float64(pca._divisor).copy()
        if self._divisor is not None:
            # A column without variance has no standardised value.
            self._divisor[self.constant_features_] = np.inf
        # Roots of ratios, also where a variance is too small to be written down.
        self._deviations, values = np.zeros(k), pca.spectrum_.values[: self.rank_]
        if self.rank_:
            self._deviations[: self.rank_] = np.sqrt(values / values[0]) * np.sqrt(self.eigenvalues_.max())
        self._rest = 0.0
        self._correction = None

    def _whitening(self) -> Whitening:
        center, deviations = as_float64(self._center), as_float64(self._deviations)
        divisor, correction = (
            None if values is None else as_float64(values) for values in (self._divisor, self._correction)
        )
        turned = fitted.parameter_at_fit(self, "method") in ("zca", "zca-cor")
        rest = self._rest
        return Whitening(self.components_, center, divisor, deviations, rest, correction, turned)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> RealArray:
        """Return X whitened: ``z = W (x - mean)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, height, width)
            Rows with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_components_) for the pca methods, else (n_samples, n_features)
            In X's kind and dtype. If X is a stack of pictures and z has a value for every pixel, the result
            is a stack of pictures (n_samples, height, width).
        """
        check_is_fitted(self)
        rows = self._new_rows(X, check_finite=False)
        return self._mapped(rows)

    def inverse_transform(self, X: Any) -> RealArray:
        """Map whitened rows back; this is exact within the retained directions.

        With n_components=None fitted rows are recovered exactly. Without regularization, new rows lose their
        part outside the retained directions; the -cor methods also lose deviations in constant columns.

        Parameters
        ----------
        X : array-like of the shape that ``transform`` returns
            Whitened rows.

        Returns
        -------
        array of shape (n_samples, n_features)
            Pictures (n_samples, height, width) if the model was fitted on pictures.
        """
        check_is_fitted(self)
        rows = self._rows(X, expected=table.Expected())
        self._require_columns(rows, self._width, "whitened values")
        mapping = self._whitening()
        back = rows.mapped(lambda block: mapping.undo(block.in_memory()), self.n_features_in_)
        return self._as_fitted(back)

    def _mapped(self, rows: Rows, scores: Any = None) -> RealArray:
        mapping, shape = self._whitening(), rows.picture_shape
        Z = rows.mapped(lambda block: mapping.apply(block, scores), self._width)
        result: RealArray = Z if shape is None or self._reduces else arrays.as_pictures(Z, shape)
        return result

    @property
    def _width(self) -> int:
        return self.n_components_ if self._reduces else self.n_features_in_

    @property
    def _reduces(self) -> bool:
        return fitted.parameter_at_fit(self, "method") in ("pca", "pca-cor")

    def _rows(self, X: Any, sample_weight: Any = None, **options: Any) -> Rows:
        rows = as_rows(X, weigh=True, estimator="Whitener", limit=arrays.memory_limit_bytes(None), **options)
        rows.require_dense(
            "Whitener does not support sparse data, because subtracting the mean would make it dense. "
            "Pass X.toarray(), for a frame X.sparse.to_dense(), or use PCA(whiten=True), which supports "
            "sparse data."
        )
        return weighted(rows, sample_weight)

    # ------------------------------------------------ summaries of the model

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return PC1, PC2, ... for the pca methods, else the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns; None means those of ``fit``.

        Returns
        -------
        ndarray of shape (n_outputs,), object
            One name for each column of the result.
        """
        if self._reduces:
            return super().get_feature_names_out(input_features)
        names: npt.NDArray[np.object_] = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return names

    @property
    def explained_variance_(self) -> FloatArray:
        """The eigenvalues, under PCA's name for them."""
        check_is_fitted(self)
        return self.eigenvalues_

    @property
    def whitening_matrix_(self) -> FloatArray:
        """W of ``z = W (x - mean)``, float64; above 100 million entries it raises an AttributeError."""
        check_is_fitted(self)
        entries = self._width * self.n_features_in_
        if entries > MOST_ENTRIES:
            raise AttributeError(
                f"whitening_matrix_ would have {entries:,} entries; the limit is {MOST_ENTRIES:,}. transform "
                "does not need this matrix; components_ and regularized_eigenvalues_ determine it."
            )
        return self._whitening().matrix()
