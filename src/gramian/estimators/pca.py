"""Principal component analysis."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.components import Summary, component_names
from gramian.analysis.gaussian import Gaussian
from gramian.analysis.projection import LinearProjection
from gramian.arrays import (
    as_float64,
    from_numpy,
    memory_limit_bytes,
    namespace,
)
from gramian.errors import CertificateWarning, DataError, RankWarning
from gramian.estimators.decomposition import Decomposition, Request, decompose
from gramian.estimators.inputs import (
    check_choice,
    check_ddof,
    check_features,
    check_scale,
    check_target,
    check_tol,
    generators,
    remember_features,
)
from gramian.estimators.saving import Saved
from gramian.planning import plan_pca, warn_of_cost
from gramian.records import FloatArray, Plan, Target
from gramian.rows import Rows, as_rows

__all__ = ["PCA"]

SOLVERS = ("auto", "full", "covariance", "gram", "krylov")
FINITE_NOW = 1 << 20  # entries up to which a search for NaN before anything else costs nothing


def _variation_left(found: Decomposition, others: int) -> float:
    """Sum of the eigenvalues that were not kept; those at rounding level count as zero."""
    spectrum = found.spectrum
    tolerance = spectrum.rank_tolerance
    if spectrum.complete and spectrum.rest.size == others:
        top = float(spectrum.values[0]) if spectrum.values.size else 0.0
        rest = spectrum.rest
        return float(rest[rest > tolerance * top].sum()) * found.view.square_unit
    left = found.total - float(found.values.sum())
    return left if left > tolerance * found.total else 0.0


class PCA(Saved, TransformerMixin, BaseEstimator):
    """Principal component analysis by the cheaper of covariance and dual Gram matrix, certified.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, up to ``min(n_samples, n_features)``; a fraction in (0, 1) of the variance to
        keep; None keeps all ``min(n_samples, n_features)``.
    center : bool, default=True
        Subtract column means. Without it everything is about second moments: shares of energy.
    scale : None, "unit", "pareto" or array-like of shape (n_features,), default=None
        Divide centred columns by their standard deviation, by its square root, or by given numbers.
        Constant columns are left as they are and listed in ``constant_features_``.
    whiten : bool, default=False
        Scale scores to unit variance. Components beyond the rank give 0, never amplified noise.
    ddof : int, default=1
        Variances divide by ``n_samples - ddof``.
    solver : {"auto", "full", "covariance", "gram", "krylov"}, default="auto"
        Route to the eigenpairs; ``plan(X)`` says which one "auto" takes, and why. Every route is exact to
        ``tol``; an iteration that stalls hands over to a product route.
    tol : float or None, default=None
        Bound on residuals relative to the largest eigenvalue; None means 1e-6 (float64) or 1e-5 (float32).
    random_state : int, RandomState, Generator or None, default=None
        Start of the iteration and of the probe that certifies it.
    memory_limit : int, str or None, default=None
        Working memory beside the data and the results, in bytes or as text such as "4GB"; None takes
        GRAMIAN_MEMORY_LIMIT or 80 % of the machine's memory.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, by falling variance; in each, the first largest entry is positive.
    explained_variance_ : ndarray of shape (n_components_,), float64
        Variance of the scores, in squared units of the (scaled) data.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        Shares of the total variance.
    singular_values_ : ndarray of shape (n_components_,), float64
        Singular values of the centred (scaled) data.
    mean_ : array of shape (n_features,)
        Column means; zeros without centring.
    scale_ : array of shape (n_features,) or None
        What centred columns are divided by.
    noise_variance_ : float
        Mean of the variances left out.
    n_components_ : int
        Number of components.
    rank_ : int
        Number of components above the rank tolerance among those computed.
    plan_ : Plan
        How it was computed and why.
    spectrum_ : Spectrum
        Eigenvalues, residuals and rank tolerance as the solver left them, without the vectors.
    certificate_ : Certificate
        What is guaranteed; print it.
    reconstruction_error_ : float
        Mean square ``||x - x~||^2`` over the fitted rows, in fitted (scaled) units.
    n_samples_, n_features_in_, feature_names_in_, picture_shape_
        What the data was.

    References
    ----------
    Jolliffe (2002), Principal Component Analysis, 2nd ed.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PCA
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> pca = PCA(ddof=0).fit(X)
    >>> pca.explained_variance_.round(4)
    array([9.3419, 0.4081])
    >>> pca.components_[0].round(4)
    array([0.8086, 0.5883])
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        center: bool = True,
        scale: Any = None,
        whiten: bool = False,
        ddof: int = 1,
        solver: str = "auto",
        tol: float | None = None,
        random_state: Any = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.ddof = ddof
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.memory_limit = memory_limit

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any) -> Plan:
        """Return the plan that ``fit(X)`` would follow, without doing it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Plan
        """
        rows = as_rows(X, estimator="PCA", minimum=2, check_finite=False)
        return self._plan(rows, self._target(rows))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of X.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, array-API array, Path or Scan of shape (n_samples, n_features)
            Samples as rows; a 3-D array (n_samples, height, width) holds pictures.
        y : ignored

        Raises
        ------
        DataError
            NaN, infinity, text or complex entries, fewer than two rows.
        ParameterError
            A parameter outside of what it may be.
        MemoryLimitError
            When no route fits into ``memory_limit``.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components of X and return its scores, shape (n_samples, n_components_)."""
        rows, found = self._fit(X)
        if found.scores is None:
            return self._projection().scores(rows)
        return self._projection().whitened(found.scores)

    def _target(self, rows: Rows) -> Target:
        return check_target(self.n_components, min(rows.shape), rows.shape)

    def _plan(self, rows: Rows, target: Target) -> Plan:
        return plan_pca(
            rows.shape,
            rows.dtype,
            target,
            check_choice("solver", self.solver, SOLVERS),
            memory_limit_bytes(self.memory_limit),
            sparse=rows.is_sparse,
        )

    def _fit(self, X: Any) -> tuple[Rows, Decomposition]:
        rows = as_rows(X, estimator="PCA", minimum=2, check_finite=False)
        if rows.shape[0] * rows.shape[1] <= FINITE_NOW:
            rows.require_finite()
        target = self._target(rows)
        plan = self._plan(rows, target)
        warn_of_cost(plan, "Fewer components, or a sample of the rows, cost less.")
        n, d = rows.shape
        solver_rng, probe_rng = generators(self.random_state)
        request = Request(
            target=target,
            tol=check_tol(self.tol, rows.dtype),
            center=bool(self.center),
            scale=check_scale(self.scale, d),
            ddof=check_ddof(self.ddof, n),
            solver_rng=solver_rng,
            probe_rng=probe_rng,
        )
        found = decompose(rows, plan, request)
        remember_features(self, X, rows)
        self._remember(rows, plan, request, found)
        return rows, found

    def _remember(self, rows: Rows, plan: Plan, request: Request, found: Decomposition) -> None:
        n, d = rows.shape
        degrees = n - request.ddof
        unit = 2.0**found.view.exponent
        k = found.values.size
        least = min(n, d)
        left = _variation_left(found, least - k)
        self.n_samples_ = n
        self.picture_shape_ = rows.picture_shape
        self.components_ = namespace(found.directions).asarray(found.directions.T)
        self.explained_variance_ = found.values / degrees
        self.explained_variance_ratio_ = found.values / found.total if found.total > 0 else np.zeros(k)
        self.singular_values_ = np.sqrt(found.values)
        self._center = found.view.mean * unit
        self._divisor = found.view.data_divisor
        self.mean_ = from_numpy(self._center.astype(rows.dtype), rows.like)
        self.scale_ = (
            None if self._divisor is None else from_numpy(self._divisor.astype(rows.dtype), rows.like)
        )
        self.constant_features_ = np.flatnonzero(found.view.constant)
        self.noise_variance_ = left / degrees / (least - k) if least > k else 0.0
        self.reconstruction_error_ = left / n
        self.total_variance_ = found.total / degrees
        self.n_components_ = k
        self.rank_ = found.rank
        self.plan_ = plan
        self.spectrum_ = replace(found.spectrum, vectors=None)
        self.certificate_ = found.certificate
        if self.n_components is not None and found.rank < k:
            warnings.warn(
                f"n_components={k} but the data has rank {found.rank}: the last {k - found.rank} components "
                "have variance 0 and scores 0.",
                RankWarning,
                stacklevel=4,
            )
        if not found.certificate.ok and found.rank > 0:
            warnings.warn("; ".join(found.certificate.reasons), CertificateWarning, stacklevel=4)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> Any:
        """Return scores ``(x - mean) / scale . components.T``, shape (n_samples, n_components_).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator="PCA", check_finite=False)
        check_features(self, X, rows)
        return self._projection().scores(rows)

    def _projection(self) -> LinearProjection:
        deviations = np.sqrt(self.explained_variance_) if self.whiten else None
        return LinearProjection(self.components_, self._center, self._divisor, deviations, self.rank_)

    def inverse_transform(self, X: Any) -> Any:
        """Map scores back: ``mean + scale * (z . components)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        array of shape (n_samples, n_features)
            Pictures (n_samples, height, width) where the model was fitted on pictures.
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator="PCA")
        scores = rows.values
        if rows.is_sparse:
            scores = scores.toarray()
        if scores.shape[1] != self.n_components_:
            raise DataError(
                f"X has {scores.shape[1]} columns, but inverse_transform takes scores of "
                f"{self.n_components_} components."
            )
        back = self._projection().back(scores)
        if self.picture_shape_ is None:
            return back
        return namespace(back).reshape(back, (back.shape[0], *self.picture_shape_))

    # ------------------------------------------------ what the model says

    def summary(self) -> Summary:
        """Return standard deviation, share and cumulative share of every component, as a printable table."""
        check_is_fitted(self)
        return Summary(
            component_names(self.n_components_),
            np.sqrt(self.explained_variance_),
            self.explained_variance_ratio_,
            np.cumsum(self.explained_variance_ratio_),
        )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the scores: PC1, PC2, ..."""
        check_is_fitted(self)
        return np.array(component_names(self.n_components_), dtype=object)

    @property
    def component_pictures_(self) -> Any:
        """Components as pictures of shape (n_components_, height, width)."""
        check_is_fitted(self)
        if self.picture_shape_ is None:
            raise AttributeError(
                "component_pictures_ exists for models fitted on pictures (a 3-D array) only."
            )
        return namespace(self.components_).reshape(
            self.components_, (self.n_components_, *self.picture_shape_)
        )

    def get_covariance(self) -> FloatArray:
        """Return the model's covariance in units of the data, shape (n_features, n_features).

        References
        ----------
        Tipping and Bishop (1999), Probabilistic principal component analysis, equation 7.
        """
        return self._gaussian().covariance()

    def get_precision(self) -> FloatArray:
        """Return the inverse of :meth:`get_covariance`, shape (n_features, n_features).

        Raises
        ------
        DataError
            When the covariance is singular: directions without variance have no precision.
        """
        return self._gaussian().precision()

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row under the probabilistic PCA model, shape (n_samples,).

        References
        ----------
        Tipping and Bishop (1999), Probabilistic principal component analysis, equation 8.
        """
        gaussian = self._gaussian()
        rows = as_rows(X, estimator="PCA")
        check_features(self, X, rows)
        view = self._projection().centered(rows)
        blocks = (view.block(part, slice(None)) for part in view.row_slices())
        return np.concatenate([gaussian.log_density(as_float64(block)) for block in blocks])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X."""
        return float(self.score_samples(X).mean())

    def _gaussian(self) -> Gaussian:
        check_is_fitted(self)
        return Gaussian(
            as_float64(self.components_),
            self.explained_variance_,
            float(self.noise_variance_),
            self._divisor,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags
