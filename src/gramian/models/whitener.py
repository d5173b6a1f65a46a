"""Whitening as an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64, as_pictures, from_numpy, memory_limit_bytes, to_numpy
from gramian.core.checks import check_choice
from gramian.core.progress import shows_progress
from gramian.core.records import POSITIVE, FloatArray, ModelKind, Plan, RealArray, Seed
from gramian.errors import DataError, ParameterError
from gramian.models import fitted, inputs, saving, whitening
from gramian.models.pca.estimator import PCA
from gramian.models.sklearn import knows_names
from gramian.tables import table
from gramian.tables.as_rows import as_rows, weighted
from gramian.tables.device import sent_to
from gramian.tables.rows import Rows

MOST_ENTRIES = 10**8  # of a matrix that is written out: 10,000 x 10,000, 0.8 GB


class WhitenerAttributes(fitted.Decomposer):
    """The attributes that only a fitted Whitener has."""

    mean_: Annotated[RealArray, "d"]
    scale_: Annotated[RealArray | None, "d"]
    components_: Annotated[RealArray, "k d"]
    eigenvalues_: Annotated[FloatArray, "k", POSITIVE]
    explained_variance_ratio_: Annotated[FloatArray, "k", POSITIVE]
    regularized_eigenvalues_: Annotated[FloatArray, "k", POSITIVE]
    regularization_: float | None
    variances_: Annotated[FloatArray, "d", POSITIVE]
    constant_features_: Annotated[npt.NDArray[np.intp], "_", POSITIVE]
    _center: Annotated[FloatArray, "d"]
    _divisor: Annotated[FloatArray | None, "d"]
    _deviations: Annotated[FloatArray, "k", POSITIVE]
    _rest: float
    _correction: Annotated[FloatArray | None, "c c"]
    _triangle: Annotated[FloatArray | None, "d d"]


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
    - ``"pca-cor"``: the same, as scores of PCA of the standardised columns;
    - ``"cholesky"``: the upper triangular W of positive diagonal, the transpose of the Cholesky factor in
      ``S^-1 = L L.T``: z_j depends on columns j, j + 1, ... only.

    Each is a rotation of each other. W is applied as two thin products and never formed, except for
    ``"cholesky"``.

    Parameters
    ----------
    method : {"zca", "pca", "zca-cor", "pca-cor", "cholesky"}, default="zca"
        The whitening transform, as defined above.
    n_components : int, float, str or None, default=None
        Number of directions to whiten, largest variance first, as in :class:`PCA`; None means all
        ``min(n_samples - 1, n_features)``. z is 0 in all other directions, so that every direction of z is
        either white or 0. Not supported for ``"cholesky"``.
    regularization : float, "ledoit-wolf", "oas" or None, default=None
        None inverts the variances without regularization; directions at rounding level give 0, not noise. A
        number is added to every variance (squared units of the data; dimensionless for the -cor methods).
        "ledoit-wolf" and "oas" shrink, ``(1 - s) L + s mu`` with mu the mean variance, and estimate the
        intensity s. With all directions, "zca" and "cholesky" then divide the part of a row outside the
        fitted directions by the square root of the added variance. A regularization at rounding level has
        no effect.
    ddof : int, default=1
        Variances divide by ``n_samples - ddof``, or the sum of the weights less ``ddof``.
    random_state : int, RandomState, Generator or None, default=0
        As in :class:`PCA`.
    device : {"cuda", "cuda:1", ..., "cpu"} or None, default=None
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
    variances_ : ndarray of shape (n_features,), float64
        Variances of the columns.
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
    device: str | None = None

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
        self._check(rows)
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
            NaN, infinity, sparse data, fewer than two rows; for ``"cholesky"`` without regularization, data
            of less than full rank.
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
            rows, scores = self._fit(X, sample_weight, keep=self.method != "cholesky")
        return self._mapped(rows, scores)

    def _pca(self) -> PCA:
        scale = "unit" if str(self.method).endswith("-cor") else None
        return PCA(self.n_components, scale=scale, ddof=self.ddof, random_state=self.random_state)

    def _check(self, rows: Rows) -> float | str | None:
        """Return the rule of regularization, once the parameters suit the rows."""
        check_choice("method", self.method, whitening.METHODS)
        rule = whitening.check_regularization(self.regularization)
        if self.method != "cholesky":
            return rule
        if self.n_components is not None:
            why = 'is not supported with method="cholesky", which gives a value for every column'
            hint = 'Leave it out, or use method="zca" or "pca".'
            raise ParameterError("n_components", self.n_components, why, hint)
        if rows.shape[1] ** 2 > MOST_ENTRIES:
            raise DataError(
                f'method="cholesky" needs a matrix of {rows.shape[1]:,} x {rows.shape[1]:,} '
                f"numbers, but at most {MOST_ENTRIES:,} are allowed.",
                'Use method="zca" or "pca", which need no such matrix.',
            )
        if rule is None:
            _require_full_rank(min(rows.shape[0] - 1, rows.shape[1]), rows.shape)
        return rule

    def _fit(self, X: Any, sample_weight: Any, *, keep: bool) -> tuple[Rows, Any]:
        rows = self._rows(X, sample_weight, minimum=2, check_finite=False)
        rule = self._check(rows)
        pca = self._pca().fit(rows)
        if self.method == "cholesky" and rule is None:
            _require_full_rank(pca.rank_, rows.shape)
        inputs.store_features(self, X, rows)
        self._store_decomposition(pca, rows.repeats)
        mapping = self._whitening()
        result = mapping.measure(rows, scores=rule is None, keep=keep and rule is None)
        degrees = rows.weight - inputs.ddof_of(self.ddof, rows)
        self.variances_ = result.squares / degrees
        # Rounding of the mean shows where the variance is small.
        self._center = mapping.center + result.means
        self.mean_ = from_numpy(self._center.astype(rows.dtype), rows.home)
        if rule is None:
            rank = int((self._deviations > 0).sum())
            self.regularization_, self.regularized_eigenvalues_ = None, self.eigenvalues_
            self._correction = whitening.correction_of(result.products / degrees, rank)
        else:
            view, total = mapping.centered(rows), float(pca.total_variance_)
            view = replace(view, weighted=rows.weights is not None)
            settled = whitening.regularized(
                rule, self.eigenvalues_, total, self.spectrum_, view, result.fourth
            )
            self.regularization_, self.regularized_eigenvalues_, rest = settled
            self._deviations = np.sqrt(self.regularized_eigenvalues_)
            if self.n_components is None and self.n_components_ < rows.shape[1] and not self._reduces:
                self._rest = float(np.sqrt(rest))
        if self.method == "cholesky":
            if not (self._deviations > 0).all() or (self._rest == 0 and self.n_components_ < rows.shape[1]):
                _require_full_rank(self.rank_, rows.shape)
            self._triangle = whitening.triangular_root(
                as_float64(self.components_), self._deviations, self._rest, self._correction
            )
        fitted.on_device(self, rows.home)
        return rows, result.scores

    def _store_decomposition(self, pca: PCA, n: int) -> None:
        """Store the decomposition as the map without regularization."""
        k = pca.n_components_ if self.n_components is not None else min(pca.n_components_, n - 1)
        fitted.store_parameters(self, "method")
        self.components_ = whitening.orthonormal_rows(pca.components_[:k, :])
        self.eigenvalues_ = as_float64(pca.explained_variance_)[:k]
        self.explained_variance_ratio_ = as_float64(pca.explained_variance_ratio_)[:k]
        self.n_components_ = k
        self.rank_ = min(pca.rank_, k)
        for name in ("scale_", "n_samples_", "picture_shape_"):
            setattr(self, name, getattr(pca, name))
        self._store_account(pca._account)
        self.spectrum_, self.certificate_ = pca.spectrum_, pca.certificate_
        self.constant_features_ = to_numpy(pca.constant_features_)
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
        self._correction = self._triangle = None

    def _whitening(self) -> whitening.Whitening:
        def host(values: Any) -> FloatArray | None:
            return None if values is None else as_float64(values)

        return whitening.Whitening(
            self.components_,
            as_float64(self._center),
            host(self._divisor),
            as_float64(self._deviations),
            self._rest,
            host(self._correction),
            fitted.parameter_at_fit(self, "method") in ("zca", "zca-cor"),
            host(self._triangle),
        )

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
        back = rows.mapped(lambda part: mapping.undo(part.in_memory()), self.n_features_in_)
        return self._as_fitted(back)

    def _mapped(self, rows: Rows, scores: Any = None) -> RealArray:
        mapping, shape = self._whitening(), rows.picture_shape
        Z = rows.mapped(lambda part: mapping.apply(part, scores), self._width)
        result: RealArray = Z if shape is None or self._reduces else as_pictures(Z, shape)
        return result

    @property
    def _width(self) -> int:
        return self.n_components_ if self._reduces else self.n_features_in_

    @property
    def _reduces(self) -> bool:
        return fitted.parameter_at_fit(self, "method") in ("pca", "pca-cor")

    def _rows(self, X: Any, sample_weight: Any = None, **options: Any) -> Rows:
        rows = as_rows(X, weigh=True, estimator="Whitener", limit=memory_limit_bytes(None), **options)
        rows.require_dense(
            "Whitener does not support sparse data, because subtracting the mean would make it dense. "
            "Pass X.toarray(), for a frame X.sparse.to_dense(), or use PCA(whiten=True), which supports "
            "sparse data."
        )
        return sent_to(weighted(rows, sample_weight), self.device)

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
        self._require_few("whitening_matrix_")
        return self._whitening().matrix()

    @property
    def cross_covariance_(self) -> FloatArray:
        """Covariance of whitened with original columns of the fitted rows, as large as ``whitening_matrix_``.

        Among all whitening transforms "zca" has the largest trace, and "pca" the largest sum of squares in
        its first rows.
        """
        self._require_few("cross_covariance_")
        return self._whitening().cross_covariance(as_float64(self.eigenvalues_))

    @property
    def cross_correlation_(self) -> FloatArray:
        """Correlation of whitened with original columns of the fitted rows; "zca-cor" has the largest trace.

        Entries are 0 if a column, or its whitened value, has no variance.
        """
        self._require_few("cross_correlation_")
        covariance = self.cross_covariance_
        own = np.sqrt(np.maximum(np.sum(covariance * self.whitening_matrix_, axis=1), 0.0))
        theirs, constant = np.sqrt(as_float64(self.variances_)), to_numpy(self.constant_features_)
        theirs[constant] = 0.0
        if not self._reduces:
            own[constant] = 0.0
        outer = own[:, None] * theirs[None, :]
        return np.where(outer > 0, covariance / np.where(outer > 0, outer, 1.0), 0.0)

    def _require_few(self, name: str) -> None:
        check_is_fitted(self)
        entries = self._width * self.n_features_in_
        if entries > MOST_ENTRIES:
            raise AttributeError(
                f"{name} would have {entries:,} entries; the limit is {MOST_ENTRIES:,}. transform does not "
                "need this matrix; components_ and regularized_eigenvalues_ determine it."
            )


def _require_full_rank(rank: int, shape: tuple[int, int]) -> None:
    n, d = shape
    if rank < d:
        raise DataError(
            f'method="cholesky" needs a covariance of full rank, but {n:,} rows x {d:,} columns '
            f"have rank {rank:,} at most.",
            'Set regularization="ledoit-wolf" or a (larger) number, drop columns that depend '
            'on others, or use method="zca", which gives 0 in directions without variance.',
        )
