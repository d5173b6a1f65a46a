"""scikit-learn's signatures on gramian's computations.

Each class is scikit-learn's own with another fit: parameters, attributes, tags and messages are inherited.
Where gramian raises an error, scikit-learn computes or raises its own. Fitted models also have gramian's
``plan_``, ``attempts_`` and ``certificate_``.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from gramian.compat.sklearn import PCA
>>> pca = PCA(2, svd_solver="full").fit(load_iris().data)
>>> pca.explained_variance_ratio_.round(4), pca.certificate_.ok
(array([0.9246, 0.0531]), True)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import sklearn.decomposition
import sklearn.feature_selection
import sklearn.kernel_approximation
from sklearn.feature_selection import mutual_info_classif as classif_of_scikit_learn
from sklearn.feature_selection import mutual_info_regression as regression_of_scikit_learn
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils._array_api import get_namespace
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _num_features, check_is_fitted, validate_data

import gramian
from gramian.analysis.projection import LinearProjection
from gramian.arrays import as_float64, from_numpy, moved, numpy_dtype, to_dtype
from gramian.errors import GramianError, IndefiniteKernelWarning, ParameterError, RankWarning
from gramian.estimators.deferred import defer
from gramian.estimators.onnx_graph import ExportsToONNX, Graph, kernel_scores, linear_scores

__all__ = [
    "PCA",
    "IncrementalPCA",
    "KernelCenterer",
    "KernelPCA",
    "Nystroem",
    "SequentialFeatureSelector",
    "mutual_info_classif",
    "mutual_info_regression",
]

# What scikit-learn's solvers approximate, gramian finds to its tolerance.
SOLVERS = {"covariance_eigh": "covariance", "arpack": "krylov", "randomized": "krylov", "dense": "dense"}
# gramian's attributes that a fitted model has besides scikit-learn's.
TOLD = ("plan_", "attempts_", "certificate_")
# What follows from the batches that were seen, computed when somebody asks.
FOLLOWING = (
    *TOLD,
    "rank_",
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "var_",
    "noise_variance_",
)
TO_THE_LAST_DIGITS = 1e-12  # residual relative to the largest eigenvalue; eigenvalues are off by its square
ROUNDING = 2e-12  # that gramian allows a share for
WITH_GAMMA = ("poly", "rbf", "sigmoid")
LEAST_SQUARE = 1.01e-12  # what scikit-learn raises smaller eigenvalues of landmarks to


class PCA(ExportsToONNX, sklearn.decomposition.PCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.PCA`, fitted by :class:`gramian.PCA`.

    ``"randomized"`` and ``"arpack"`` iterate until the answer is certified, to the last digits where
    ``n_oversamples`` covers all vectors. Otherwise ``n_oversamples`` has no effect, nor have ``copy``,
    ``iterated_power`` and ``power_iteration_normalizer``: data are never overwritten, and the iteration
    stops by its own measure.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features)."""
        if self._fitted(X, scores=False) is None:
            super().fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return the scores, shape (n_samples, n_components)."""
        scores = self._fitted(X, scores=True)
        return super().fit_transform(X, y) if scores is None else scores

    def transform(self, X: Any) -> Any:
        """Return scores, shape (n_samples, n_components); whitened ones beyond the rank are 0."""
        return _within_the_rank(self, super().transform(X))

    def _onnx_scores(self, graph: Graph, rows: str) -> str:
        return _linear_scores(self, graph, rows)

    def _fitted(self, X: Any, *, scores: bool) -> Any:
        """Fit by gramian; its scores (or True), or None where scikit-learn has to answer."""
        self._validate_params()
        _forget(self)
        xp = get_namespace(X)[0]
        sparse = sp.issparse(X)
        if sparse and self.svd_solver in ("full", "randomized"):
            return None
        X = validate_data(self, X, dtype=[xp.float64, xp.float32], accept_sparse=("csr", "csc"), copy=False)
        count, least = self.n_components, min(X.shape)
        # ARPACK finds all but one, and scikit-learn takes it for sparse data.
        if self.svd_solver == "arpack" or (sparse and self.svd_solver == "auto"):
            count = least - 1 if count is None else count
            if isinstance(count, (str, float)) or count >= least:
                return None
        elif isinstance(count, (str, float)) and self.svd_solver == "randomized":
            return None
        elif isinstance(count, float):
            # scikit-learn's share has to be exceeded.
            count = min(count + ROUNDING, 1.0 - ROUNDING)
        model = gramian.PCA(
            count,
            whiten=self.whiten,
            solver=SOLVERS.get(self.svd_solver, "auto"),
            tol=self._tolerance(X),
            random_state=self.random_state,
        ).set_output(transform="default")
        try:
            result = _quietly(model.fit_transform if scores else model.fit, X)
        except GramianError:
            return None
        for name in (*TOLD, "rank_", "mean_", "n_samples_", "n_components_", "noise_variance_"):
            setattr(self, name, getattr(model, name))
        for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
            setattr(self, name, _like(getattr(model, name), model.components_))
        # Signs are scikit-learn's, whose rule looks at these directions.
        self.components_ = svd_flip(None, xp.asarray(model.components_, copy=True), u_based_decision=False)[1]
        signs = xp.sign(xp.sum(self.components_ * model.components_, axis=1))
        return result * signs[None, :] if scores else True

    def _tolerance(self, X: Any) -> float | None:
        """ARPACK, LAPACK and random vectors of full number go to the last digits unless told otherwise."""
        least = min(X.shape)
        all_of_it = (
            self.svd_solver == "randomized" and (self.n_components or least) + self.n_oversamples >= least
        )
        if self.tol or not (self.svd_solver in ("arpack", "full") or all_of_it):
            return self.tol or None
        return None if "float32" in str(X.dtype) else TO_THE_LAST_DIGITS


class IncrementalPCA(ExportsToONNX, sklearn.decomposition.IncrementalPCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.IncrementalPCA`, whose batches :class:`gramian.PCA` merges exactly.

    The components are those of all rows, not an approximation that depends on the batches. This takes a
    matrix of ``n_features x n_features`` numbers; where it exceeds GRAMIAN_MEMORY_LIMIT (80 % of the
    machine's memory), scikit-learn computes. ``copy`` has no effect: data are never overwritten.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit in batches as scikit-learn's does; X of shape (n_samples, n_features), dense or sparse."""
        self.__dict__.pop("_stream", None)
        return super().fit(X, y)  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> Self:
        """Take in a batch of shape (n_samples, n_features)."""
        stream = self.__dict__.get("_stream")
        begun = stream is None and self.__dict__.get("components_") is not None
        if begun or (check_input and sp.issparse(X)):
            return super().partial_fit(X, y, check_input)  # type: ignore[no-any-return]
        rows = X
        if check_input:
            self._validate_params()
            rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=stream is None)
        count = self._count(rows.shape, stream)
        if stream is None:
            stream = gramian.PCA(count, whiten=self.whiten).set_output(transform="default")
            try:
                stream.partial_fit(rows)
            except GramianError:
                # Its batches are overwritten, so that it has to make a copy of its own.
                return super().partial_fit(X, y, check_input)  # type: ignore[no-any-return]
        else:
            stream.partial_fit(rows)
        for name in FOLLOWING:
            self.__dict__.pop(name, None)
        self._stream, self.n_components_, self.n_samples_seen_ = stream, count, stream.n_samples_
        return self

    def transform(self, X: Any) -> Any:
        """Return scores, shape (n_samples, n_components); whitened ones beyond the rank are 0."""
        return _within_the_rank(self, super().transform(X))

    def _onnx_scores(self, graph: Graph, rows: str) -> str:
        return _linear_scores(self, graph, rows)

    def _count(self, shape: tuple[int, int], stream: gramian.PCA | None) -> int:
        """Return the number of components, or refuse it in scikit-learn's words."""
        n, d = shape
        if self.n_components is None:
            return min(n, d) if stream is None else int(self.n_components_)
        count = int(self.n_components)
        if count > d:
            raise ValueError(
                f"n_components={count} invalid for n_features={d}, need more rows than columns for "
                "IncrementalPCA processing"
            )
        if stream is None and count > n:
            raise ValueError(
                f"n_components={count} must be less or equal to the batch number of samples {n} for the "
                "first partial_fit call."
            )
        if stream is not None and count != self.n_components_:
            raise ValueError(
                f"Number of input features has changed from {self.n_components_} to {count} between calls to "
                "partial_fit! Try setting n_components to a fixed value."
            )
        return count

    def _follow(self) -> None:
        """Compute what follows from the batches, where gramian merged them."""
        stream = self.__dict__.get("_stream")
        if stream is None or "components_" in self.__dict__:
            return
        with warnings.catch_warnings(action="ignore", category=RankWarning):
            components = stream.components_
        for name in (*TOLD, "rank_", "noise_variance_"):
            setattr(self, name, getattr(stream, name))
        for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
            setattr(self, name, _like(getattr(stream, name), components))
        self.components_ = svd_flip(None, components.copy(), u_based_decision=False)[1]
        self.mean_, self.var_ = stream._moments.column_moments()


defer(IncrementalPCA, FOLLOWING, IncrementalPCA._follow)


class KernelPCA(ExportsToONNX, sklearn.decomposition.KernelPCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.KernelPCA`, fitted by :class:`gramian.KernelPCA`.

    ``fit_inverse_transform`` is scikit-learn's kernel ridge regression; :meth:`gramian.KernelPCA.denoise` has
    other methods. ``max_iter``, ``iterated_power``, ``copy_X`` and ``n_jobs`` have no effect.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features), or (n_samples, n_samples)."""
        self._validate_params()
        _forget(self)
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        rows = validate_data(self, X, accept_sparse="csr", copy=self.copy_X)
        if sp.issparse(rows) and self.fit_inverse_transform:
            self._model = None
            return super().fit(X, y)  # type: ignore[no-any-return]
        self.gamma_ = 1 / rows.shape[1] if self.gamma is None else self.gamma
        count = None if self.n_components is None else min(int(self.n_components), rows.shape[0])
        model = gramian.KernelPCA(
            count,
            kernel=self.kernel,
            gamma=self.gamma_ if self.kernel in WITH_GAMMA else None,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params if callable(self.kernel) else None,
            solver=SOLVERS.get(self.eigen_solver, "auto"),
            tol=self.tol or None,
            random_state=self.random_state,
        ).set_output(transform="default")
        try:
            _quietly(model.fit, _floating(rows))
        except GramianError:
            self._model = None
            return super().fit(X, y)  # type: ignore[no-any-return]
        self._model, self.X_fit_ = model, rows
        for name in TOLD:
            setattr(self, name, getattr(model, name))
        kept = model.rank_ if self.n_components is None or self.remove_zero_eig else model.n_components_
        self.eigenvalues_ = _like(model.eigenvalues_[:kept], model.eigenvectors_)
        # Signs are scikit-learn's, whose rule looks at these vectors.
        self.eigenvectors_, _ = svd_flip(model.eigenvectors_[:, :kept].copy(), None)
        self._signs = np.sign(np.sum(self.eigenvectors_ * model.eigenvectors_[:, :kept], axis=0))
        if self.fit_inverse_transform:
            self._learn_the_way_back()
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit and return the scores, shape (n_samples, n_components)."""
        self.fit(X, **params)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> Any:
        """Return the scores of new rows, shape (n_samples, n_components)."""
        check_is_fitted(self)
        if self._model is None:
            return super().transform(X)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self._model.transform(_floating(X))[:, : len(self._signs)] * self._signs

    def _onnx_scores(self, graph: Graph, rows: str) -> str:
        model: Any = self._model
        if model is None:
            raise ParameterError(
                "gramian could not fit this KernelPCA, and scikit-learn did. Fit one of "
                "sklearn.decomposition, which skl2onnx converts."
            )
        projection, signs = model._projection, as_float64(self._signs)
        k = len(signs)
        coefficients, offset = projection.coefficients[:, :k] * signs, projection.offset[:k] * signs
        return kernel_scores(graph, rows, replace(projection, coefficients=coefficients, offset=offset))

    def _learn_the_way_back(self) -> None:
        ridge = KernelRidge(
            alpha=self.alpha,
            kernel=self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )
        self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        self.dual_coef_ = ridge.fit(self.X_transformed_fit_, self.X_fit_).dual_coef_


class Nystroem(sklearn.kernel_approximation.Nystroem):  # type: ignore[misc]
    """:class:`sklearn.kernel_approximation.Nystroem`, safe where landmarks are equal or nearly dependent.

    The root of their kernel matrix is computed in float64, without directions that are rounding errors;
    scikit-learn divides them by 1e-6. The landmarks are scikit-learn's: rows drawn uniformly.
    :class:`gramian.KernelPCA` with ``solver="nystroem"`` has better landmarks, and error bounds.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features)."""
        super().fit(X, y)
        known: Any = vars(self)["normalization_"]
        # Rows of a matrix that is given are no landmarks.
        if self.kernel != "precomputed" and isinstance(known, np.ndarray):
            U, S, V = _root_of(known) if callable(self.kernel) else np.linalg.svd(self._landmark_kernel())
            kept = len(S) * float(np.finfo(known.dtype).eps) * S[0] < S
            self.normalization_ = ((U[:, kept] / np.sqrt(S[kept])) @ V[kept]).astype(known.dtype)
        return self

    def _landmark_kernel(self) -> Any:
        rows = self.components_.astype(np.float64)
        return pairwise_kernels(rows, metric=self.kernel, filter_params=True, **self._get_kernel_params())


def _root_of(normalization: Any) -> tuple[Any, Any, Any]:
    """The decomposition behind scikit-learn's root, so that a function is not called again."""
    U, inverse, V = np.linalg.svd(normalization)
    S = 1.0 / (inverse * inverse)
    return U[:, ::-1], np.where(S > LEAST_SQUARE, S, 0.0)[::-1], V[::-1]


class SequentialFeatureSelector(sklearn.feature_selection.SequentialFeatureSelector):  # type: ignore[misc]
    """:class:`sklearn.feature_selection.SequentialFeatureSelector`, searched by gramian's.

    scikit-learn's own search runs without targets, with routed parameters, with ``tol``, and for splits that
    can be read only once. It also runs for sparse data: gramian makes a few columns at a time dense, and many
    estimators (neighbours, stochastic gradients, a StandardScaler) treat sparse columns differently.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Select; X of shape (n_samples, n_features), y of shape (n_samples,)."""
        self._validate_params()
        self.__dict__.pop("history_", None)
        stops_early = self.n_features_to_select == "auto" and self.tol is not None
        if params or y is None or stops_early or sp.issparse(X) or isinstance(self.cv, Iterator):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]
        try:
            result = self._searched(X, y)
        except GramianError:
            result = None
        if result is None:
            return super().fit(X, y)  # type: ignore[no-any-return]
        for name in ("history_", "support_", "n_features_to_select_", "n_features_in_"):
            setattr(self, name, getattr(result, name))
        if hasattr(result, "feature_names_in_"):
            self.feature_names_in_ = result.feature_names_in_
        return self

    def _searched(self, X: Any, y: Any) -> gramian.SequentialFeatureSelector | None:
        d, count = _num_features(X), self.n_features_to_select
        count = d // 2 if count == "auto" else count if isinstance(count, int) else int(d * count)
        if not 0 < count < d or (self.tol is not None and self.tol < 0 and self.direction == "forward"):
            return None
        search = gramian.SequentialFeatureSelector(
            self.estimator,
            n_features_to_select=count,
            direction=self.direction,
            cv=self.cv,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
        )
        return search.fit(X, y)


@wraps(classif_of_scikit_learn, assigned=())
def mutual_info_classif(X: Any, y: Any, **options: Any) -> Any:
    """scikit-learn's ``mutual_info_classif`` by :func:`gramian.mutual_information`, in nats."""
    return _information(classif_of_scikit_learn, X, y, options)


@wraps(regression_of_scikit_learn, assigned=())
def mutual_info_regression(X: Any, y: Any, **options: Any) -> Any:
    """scikit-learn's ``mutual_info_regression`` by :func:`gramian.mutual_information`, in nats."""
    return _information(regression_of_scikit_learn, X, y, options)


def _information(theirs: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    """Values of shape (n_features,): gramian's, or scikit-learn's where it has to answer."""
    given = signature(theirs).bind(X, y, **options)
    given.apply_defaults()
    shared = {name: given.kwargs[name] for name in ("n_neighbors", "random_state", "n_jobs")}
    discrete = given.kwargs["discrete_features"]
    # gramian's "auto" looks at the values of a column.
    chosen = sp.issparse(X) if isinstance(discrete, str) and discrete == "auto" else discrete
    if getattr(X, "ndim", 2) == 2 and (chosen is True or not sp.issparse(X)):
        classes = theirs is classif_of_scikit_learn
        try:
            return gramian.mutual_information(X, y, discrete=chosen, discrete_target=classes, **shared).values
        except GramianError:
            pass
    return theirs(*given.args, **given.kwargs)


def _within_the_rank(model: Any, scores: Any) -> Any:
    count = model.n_components_
    if not model.whiten or getattr(model, "rank_", count) == count:
        return scores
    components = model.components_
    return scores * from_numpy((np.arange(count) < model.rank_).astype(numpy_dtype(components)), components)


def _linear_scores(model: Any, graph: Graph, rows: str) -> str:
    deviations = np.sqrt(as_float64(model.explained_variance_)) if model.whiten else None
    rank = getattr(model, "rank_", model.n_components_)
    center = as_float64(model.mean_)
    projection = LinearProjection(as_float64(model.components_), center, None, deviations, rank)
    return linear_scores(graph, rows, projection, None)


def _quietly(work: Any, X: Any) -> Any:
    # scikit-learn says nothing of components without variance and of negative eigenvalues not requested.
    with warnings.catch_warnings():
        for category in (RankWarning, IndefiniteKernelWarning):
            warnings.simplefilter("ignore", category)
        return work(X)


def _floating(X: Any) -> Any:
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _forget(model: Any) -> None:
    for name in (*TOLD, "rank_"):
        model.__dict__.pop(name, None)


def _like(values: Any, components: Any) -> Any:
    """Values in the kind and dtype of the components, as scikit-learn has them."""
    return to_dtype(moved(values, components), numpy_dtype(components))


# Where scikit-learn's names are that gramian has too.
PLACES = {
    sklearn.decomposition: ("PCA", "IncrementalPCA", "KernelPCA"),
    sklearn.kernel_approximation: ("Nystroem",),
    sklearn.feature_selection: ("SequentialFeatureSelector", "mutual_info_classif", "mutual_info_regression"),
}


def put_in_place() -> dict[str, tuple[str, ...]]:
    """Replace scikit-learn's names by gramian's, for everything that is imported from now on.

    Returns
    -------
    dict of str to tuple of str
        The names that were replaced, by module.
    """
    for module, names in PLACES.items():
        for name in names:
            setattr(module, name, globals()[name])
    return {module.__name__: tuple(names) for module, names in PLACES.items()}
