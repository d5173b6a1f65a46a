"""scikit-learn's signatures on gramian's computations.

Each class is scikit-learn's own with another fit: parameters, attributes, tags and messages are inherited.
Where gramian raises an error, scikit-learn computes or raises its own. Fitted models also have gramian's
``plan_``, ``attempts_`` and ``certificate_``.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from gramian.connect.sklearn import PCA
>>> pca = PCA(2, svd_solver="full").fit(load_iris().data)
>>> pca.explained_variance_ratio_.round(4), pca.certificate_.ok
(array([0.9246, 0.0531]), True)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import sklearn.decomposition
from sklearn.utils._array_api import get_namespace
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted, validate_data

import gramian
from gramian.core.arrays import from_numpy, moved, numpy_dtype, to_dtype
from gramian.errors import GramianError, IndefiniteKernelWarning, RankWarning, ignoring
from gramian.models.fitted import Deferring

__all__ = ["PCA", "IncrementalPCA", "KernelPCA"]

# What scikit-learn's solvers approximate, gramian finds to its tolerance.
SOLVER_OF = {"covariance_eigh": "covariance", "arpack": "krylov", "randomized": "krylov", "dense": "dense"}
# gramian's attributes that a fitted model has besides scikit-learn's.
CERTIFIED = ("plan_", "attempts_", "certificate_", "_account")
VARIANCES = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
TO_THE_LAST_DIGITS = 1e-12  # residual relative to the largest eigenvalue; eigenvalues are off by its square
ROUNDING = 2e-12  # that gramian allows a share for
# scikit-learn is silent about these.
UNSAID = (RankWarning, IndefiniteKernelWarning)
WITH_GAMMA = ("poly", "rbf", "sigmoid")


class _Linear(Deferring):
    """What PCA and IncrementalPCA have in common."""

    def transform(self, X: Any) -> Any:
        """Return scores, shape (n_samples, n_components); whitened ones beyond the rank are 0."""
        model: Any = self
        scores, components = super().transform(X), model.components_  # type: ignore[misc]
        if not model.whiten:
            return scores
        inside = np.arange(model.n_components_) < getattr(model, "rank_", model.n_components_)
        return scores * from_numpy(inside.astype(numpy_dtype(components)), components)

    def _adopt(self, model: gramian.PCA) -> None:
        """Take over what gramian computed; signs are scikit-learn's, whose rule looks at the components."""
        components = model.components_
        self._store_account(model._account)
        for name in ("certificate_", "rank_", "noise_variance_"):
            setattr(self, name, getattr(model, name))
        for name in VARIANCES:
            setattr(self, name, _like(getattr(model, name), components))
        copied = get_namespace(components)[0].asarray(components, copy=True)
        self.components_ = svd_flip(None, copied, u_based_decision=False)[1]


class PCA(_Linear, sklearn.decomposition.PCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.PCA`, fitted by :class:`gramian.PCA`.

    ``"randomized"`` and ``"arpack"`` iterate until the answer is certified, to the last digits where
    ``n_oversamples`` covers all vectors. Otherwise ``n_oversamples`` has no effect, nor have ``copy``,
    ``iterated_power`` and ``power_iteration_normalizer``: data are never overwritten, and the iteration
    stops by its own measure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.connect.sklearn import PCA
    >>> X = load_iris().data
    >>> pca = PCA(n_components=2).fit(X)
    >>> pca.explained_variance_ratio_.round(4)
    array([0.9246, 0.0531])
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
            solver=SOLVER_OF.get(self.svd_solver, "auto"),
            tol=self._tolerance(X),
            random_state=self.random_state,
        ).set_output(transform="default")
        try:
            with ignoring(*UNSAID):
                result = (model.fit_transform if scores else model.fit)(X)
        except GramianError:
            return None
        self.mean_, self.n_samples_, self.n_components_ = model.mean_, model.n_samples_, model.n_components_
        self._adopt(model)
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


class IncrementalPCA(_Linear, sklearn.decomposition.IncrementalPCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.IncrementalPCA`, whose batches :class:`gramian.PCA` merges exactly.

    The components are those of all rows, not an approximation that depends on the batches. This takes a
    matrix of ``n_features x n_features`` numbers; where it exceeds GRAMIAN_MEMORY_LIMIT (80 % of the
    machine's memory), scikit-learn computes. ``copy`` has no effect: data are never overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gramian.connect.sklearn import PCA, IncrementalPCA
    >>> X = load_iris().data
    >>> batches = IncrementalPCA(n_components=2, batch_size=20).fit(X)
    >>> np.allclose(batches.explained_variance_, PCA(n_components=2).fit(X).explained_variance_)
    True
    """

    # What follows from the batches so far, computed when somebody asks.
    _following = (*CERTIFIED, *VARIANCES, "rank_", "components_", "mean_", "var_", "noise_variance_")

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
        n, d = rows.shape
        most = min(n, d) if stream is None else d
        count = self.n_components or (most if stream is None else stream.n_components)
        if count > most or (stream is not None and count != stream.n_components):
            return super().partial_fit(X, y, check_input)  # type: ignore[no-any-return]
        if stream is None:
            stream = gramian.PCA(count, whiten=self.whiten).set_output(transform="default")
            try:
                stream.partial_fit(rows)
            except GramianError:
                # Its batches are overwritten, so that it has to make a copy of its own.
                return super().partial_fit(X, y, check_input)  # type: ignore[no-any-return]
        else:
            stream.partial_fit(rows)
        for name in self._following:
            self.__dict__.pop(name, None)
        self._stream, self.n_components_, self.n_samples_seen_ = stream, count, stream.n_samples_
        return self

    def _look(self) -> None:
        """Compute what follows from the batches, where gramian merged them."""
        stream = self.__dict__.get("_stream")
        if stream is None or "components_" in self.__dict__:
            return
        with ignoring(RankWarning):
            self._adopt(stream)
        self.mean_, self.var_ = stream._moments.column_moments()


class KernelPCA(Deferring, sklearn.decomposition.KernelPCA):  # type: ignore[misc]
    """:class:`sklearn.decomposition.KernelPCA`, fitted by :class:`gramian.KernelPCA`.

    ``fit_inverse_transform`` is scikit-learn's kernel ridge regression; :meth:`gramian.KernelPCA.denoise` has
    other methods. ``max_iter``, ``iterated_power``, ``copy_X`` and ``n_jobs`` have no effect.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.connect.sklearn import KernelPCA
    >>> X = load_iris().data
    >>> kernel_pca = KernelPCA(n_components=2, kernel="rbf", gamma=0.5).fit(X)
    >>> kernel_pca.eigenvalues_.round(2)
    array([42.02, 20.43])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as scikit-learn's does; X of shape (n_samples, n_features), or (n_samples, n_samples)."""
        self._validate_params()
        _forget(self)
        # There is no way back to a kernel matrix, nor to sparse rows, in scikit-learn's words.
        alone = self.fit_inverse_transform and (self.kernel == "precomputed" or sp.issparse(X))
        self._model = None if alone else self._fitted(X)
        return self if self._model is not None else super().fit(X, y)

    def _fitted(self, X: Any) -> gramian.KernelPCA | None:
        """Fit by gramian; None where scikit-learn has to answer."""
        rows = validate_data(self, X, accept_sparse="csr", copy=self.copy_X)
        self.gamma_ = 1 / rows.shape[1] if self.gamma is None else self.gamma
        count = None if self.n_components is None else min(int(self.n_components), rows.shape[0])
        parameters = {name: getattr(self, name) for name in ("kernel", "degree", "coef0", "random_state")}
        parameters["gamma"] = self.gamma_ if self.kernel in WITH_GAMMA else None
        parameters["kernel_params"] = self.kernel_params if callable(self.kernel) else None
        parameters |= {"solver": SOLVER_OF.get(self.eigen_solver, "auto"), "tol": self.tol or None}
        model = gramian.KernelPCA(count, **parameters).set_output(transform="default")
        try:
            with ignoring(*UNSAID):
                model.fit(_floating(rows))
        except GramianError:
            return None
        self.X_fit_ = rows
        self._store_account(model._account)
        self.certificate_ = model.certificate_
        kept = model.rank_ if self.n_components is None or self.remove_zero_eig else model.n_components_
        self.eigenvalues_ = _like(model.eigenvalues_[:kept], model.eigenvectors_)
        # Signs are scikit-learn's, whose rule looks at these vectors.
        self.eigenvectors_, _ = svd_flip(model.eigenvectors_[:, :kept].copy(), None)
        self._signs = np.sign(np.sum(self.eigenvectors_ * model.eigenvectors_[:, :kept], axis=0))
        if self.fit_inverse_transform:
            self._fit_inverse_transform(self.eigenvectors_ * np.sqrt(self.eigenvalues_), rows)
        return model

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


def _floating(X: Any) -> Any:
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _forget(model: Any) -> None:
    for name in (*CERTIFIED, "rank_"):
        model.__dict__.pop(name, None)


def _like(values: Any, components: Any) -> Any:
    """Values in the kind and dtype of the components, as scikit-learn has them."""
    return to_dtype(moved(values, components), numpy_dtype(components))


def put_in_place() -> None:
    """Replace scikit-learn's names by gramian's, for everything that is imported from now on."""
    for name in __all__:
        setattr(sklearn.decomposition, name, globals()[name])
