"""scikit-learn's signatures on gramian's computations.

Each class is scikit-learn's own with another way to fit: parameters, attributes, tags and messages are
inherited. What gramian refuses is handed to scikit-learn, which computes it or says why not in its own words.
Fitted models also have gramian's ``plan_``, ``attempts_`` and ``certificate_``.

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
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import sklearn.decomposition
import sklearn.feature_selection
from sklearn.feature_selection import mutual_info_classif as classif_of_scikit_learn
from sklearn.feature_selection import mutual_info_regression as regression_of_scikit_learn
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _num_features, _num_samples, check_is_fitted, validate_data

import gramian
from gramian.arrays import from_numpy, numpy_dtype, to_dtype
from gramian.errors import GramianError, RankWarning

__all__ = [
    "PCA",
    "KernelCenterer",
    "KernelPCA",
    "SequentialFeatureSelector",
    "mutual_info_classif",
    "mutual_info_regression",
]

# What scikit-learn's solvers approximate, gramian finds to its tolerance.
SOLVERS = {"covariance_eigh": "covariance", "arpack": "krylov", "randomized": "krylov", "dense": "dense"}
# gramian's attributes that a fitted model has besides scikit-learn's.
TOLD = ("plan_", "attempts_", "certificate_")
TO_THE_LAST_DIGITS = 1e-12  # residual relative to the largest eigenvalue; eigenvalues are off by its square
ROUNDING = 2e-12  # that gramian allows a share for
WITH_GAMMA = ("poly", "rbf", "sigmoid")


class PCA(sklearn.decomposition.PCA):
    """:class:`sklearn.decomposition.PCA`, fitted by :class:`gramian.PCA`.

    ``"randomized"`` and ``"arpack"`` iterate until the answer is certified. ``copy``, ``iterated_power``,
    ``n_oversamples`` and ``power_iteration_normalizer`` have nothing to do: data are never overwritten, and
    the iteration measures when it is done.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features)."""
        self._validate_params()
        if self._fitted(X, scores=False) is None:
            super().fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return the scores, shape (n_samples, n_components)."""
        self._validate_params()
        scores = self._fitted(X, scores=True)
        return super().fit_transform(X, y) if scores is None else scores

    def _fitted(self, X: Any, *, scores: bool) -> Any:
        """Fit by gramian; its scores (or True), or None where scikit-learn has to answer."""
        _forget(self)
        if self._refused(X):
            return None
        share = self.n_components
        if isinstance(share, float):
            # scikit-learn's share has to be exceeded.
            share = min(share + ROUNDING, 1.0 - ROUNDING)
        model = gramian.PCA(
            share,
            whiten=self.whiten,
            solver=SOLVERS.get(self.svd_solver, "auto"),
            tol=self._tolerance(X),
            random_state=self.random_state,
        ).set_output(transform="default")
        try:
            found = _quietly(model.fit_transform if scores else model.fit, X)
        except GramianError:
            return None
        _remember(self, model)
        for name in ("components_", "mean_", "n_samples_", "n_components_", "noise_variance_"):
            setattr(self, name, getattr(model, name))
        self.explained_variance_ = _like(model.explained_variance_, model.components_)
        self.explained_variance_ratio_ = _like(model.explained_variance_ratio_, model.components_)
        self.singular_values_ = _like(model.singular_values_, model.components_)
        return found

    def _tolerance(self, X: Any) -> float | None:
        """ARPACK and LAPACK go to the last digits unless they are told otherwise."""
        if self.tol or self.svd_solver not in ("arpack", "full"):
            return self.tol or None
        return None if getattr(X, "dtype", None) == np.float32 else TO_THE_LAST_DIGITS

    def _refused(self, X: Any) -> bool:
        """Whether scikit-learn has a message where gramian has an answer."""
        if self.svd_solver not in ("arpack", "randomized"):
            return sp.issparse(X) and self.svd_solver == "full"
        if self.svd_solver == "randomized" and sp.issparse(X):
            return True
        least = min(_num_samples(X), _num_features(X))
        if self.n_components is None:
            return self.svd_solver == "arpack"
        return isinstance(self.n_components, (str, float)) or (
            self.svd_solver == "arpack" and self.n_components >= least
        )


class KernelPCA(sklearn.decomposition.KernelPCA):
    """:class:`sklearn.decomposition.KernelPCA`, fitted by :class:`gramian.KernelPCA`.

    ``fit_inverse_transform`` is scikit-learn's kernel ridge regression; :meth:`gramian.KernelPCA.denoise` has
    other ways back. ``max_iter``, ``iterated_power``, ``copy_X`` and ``n_jobs`` have nothing to do.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features), or (n_samples, n_samples)."""
        self._validate_params()
        _forget(self)
        model = self._unfitted(X)
        try:
            _quietly(model.fit, X)
        except GramianError:
            self._model = None
            return super().fit(X, y)  # type: ignore[no-any-return]
        _remember(self, model)
        self._model = model
        self.gamma_ = self._width(X)
        self.X_fit_ = X if model.X_fit_ is None else model.X_fit_
        found = model.rank_ if self.n_components is None or self.remove_zero_eig else model.n_components_
        self.eigenvalues_ = model.eigenvalues_[:found]
        # Signs are scikit-learn's, whose rule looks at these vectors.
        self.eigenvectors_, _ = svd_flip(model.eigenvectors_[:, :found].copy(), None)
        self._signs = np.sign(np.sum(self.eigenvectors_ * model.eigenvectors_[:, :found], axis=0))
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
        X = validate_data(self, X, reset=False)
        return self._model.transform(X)[:, : len(self._signs)] * self._signs

    def _width(self, X: Any) -> float:
        return 1 / _num_features(X) if self.gamma is None else self.gamma

    def _unfitted(self, X: Any) -> gramian.KernelPCA:
        count = self.n_components
        return gramian.KernelPCA(
            None if count is None else min(int(count), _num_samples(X)),
            kernel=self.kernel,
            gamma=self._width(X) if self.kernel in WITH_GAMMA else None,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params if callable(self.kernel) else None,
            solver=SOLVERS.get(self.eigen_solver, "auto"),
            tol=self.tol or None,
            random_state=self.random_state,
        ).set_output(transform="default")

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


class SequentialFeatureSelector(sklearn.feature_selection.SequentialFeatureSelector):
    """:class:`sklearn.feature_selection.SequentialFeatureSelector`, searched by gramian's.

    Without targets, for sparse data, with routed parameters and for splits that can be read once only it is
    scikit-learn's own search.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Select; X of shape (n_samples, n_features), y of shape (n_samples,)."""
        self._validate_params()
        self.__dict__.pop("history_", None)
        if params or y is None or sp.issparse(X) or isinstance(self.cv, Iterator):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]
        try:
            found = self._searched(X, y)
        except GramianError:
            found = None
        if found is None:
            return super().fit(X, y)  # type: ignore[no-any-return]
        _remember(self, found, told=("history_", "support_", "n_features_to_select_"))
        return self

    def _searched(self, X: Any, y: Any) -> gramian.SequentialFeatureSelector | None:
        d = _num_features(X)
        asked, tol = self.n_features_to_select, self.tol
        if asked == "auto":
            count = d // 2 if tol is None else d - 1
        else:
            count = asked if isinstance(asked, int) else int(d * asked)
        if not 0 < count < d or (tol is not None and tol < 0 and self.direction == "forward"):
            return None
        search = gramian.SequentialFeatureSelector(
            self.estimator,
            n_features_to_select=count,
            direction=self.direction,
            cv=self.cv,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
        )
        return search.fit(X, y) if asked != "auto" or tol is None else _while_better(search, X, y, tol)


def _while_better(
    search: gramian.SequentialFeatureSelector, X: Any, y: Any, tol: float
) -> gramian.SequentialFeatureSelector | None:
    """Search step by step until one gains less than ``tol``, as scikit-learn does; scores are kept."""
    search.set_params(warm_start=True)
    d, forward = _num_features(X), search.direction == "forward"
    before, best = -np.inf, None
    for moved in range(1, d):
        search.set_params(n_features_to_select=moved if forward else d - moved).fit(X, y)
        if search.score_ - before < tol:
            break
        before, best = search.score_, search.n_features_to_select_
    return None if best is None else search.set_params(n_features_to_select=best).fit(X, y)


def mutual_info_classif(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """scikit-learn's ``mutual_info_classif`` by :func:`gramian.mutual_information`, in nats."""
    shared = {"n_neighbors": n_neighbors, "random_state": random_state, "n_jobs": n_jobs}
    if (found := _information(X, y, True, discrete_features, shared)) is not None:
        return found
    return classif_of_scikit_learn(X, y, discrete_features=discrete_features, copy=copy, **shared)


def mutual_info_regression(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """scikit-learn's ``mutual_info_regression`` by :func:`gramian.mutual_information`, in nats."""
    shared = {"n_neighbors": n_neighbors, "random_state": random_state, "n_jobs": n_jobs}
    if (found := _information(X, y, False, discrete_features, shared)) is not None:
        return found
    return regression_of_scikit_learn(X, y, discrete_features=discrete_features, copy=copy, **shared)


def _information(X: Any, y: Any, classes: bool, discrete: Any, shared: dict[str, Any]) -> Any:
    """Values of shape (n_features,), or None where scikit-learn has to answer."""
    if sp.issparse(X):
        return None
    # gramian's "auto" looks at the values of a column.
    discrete = False if isinstance(discrete, str) and discrete == "auto" else discrete
    try:
        return gramian.mutual_information(X, y, discrete=discrete, discrete_target=classes, **shared).values
    except GramianError:
        return None


def _quietly(work: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        # scikit-learn says nothing of components without variance.
        warnings.simplefilter("ignore", RankWarning)
        return work(X)


def _forget(model: Any) -> None:
    for name in TOLD:
        model.__dict__.pop(name, None)


def _remember(model: Any, found: Any, told: tuple[str, ...] = TOLD) -> None:
    """Copy what is known of the input, and what gramian tells of its work."""
    for name in (*told, "n_features_in_", "feature_names_in_"):
        if hasattr(found, name):
            setattr(model, name, getattr(found, name))
        else:
            model.__dict__.pop(name, None)


def _like(values: Any, components: Any) -> Any:
    """Values in the kind and dtype of the components, as scikit-learn has them."""
    return to_dtype(from_numpy(values, components), numpy_dtype(components))
