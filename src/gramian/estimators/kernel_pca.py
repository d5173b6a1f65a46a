"""Kernel principal component analysis."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.preimages import FeatureSpace, residuals
from gramian.analysis.projection import KernelProjection
from gramian.analysis.ridge_map import RidgeMap
from gramian.arrays import (
    as_float64,
    dense,
    from_numpy,
    memory_limit_bytes,
    moved,
    numpy_dtype,
    require_range,
    to_dtype,
    to_float64,
)
from gramian.errors import DataError, GramianError, MemoryLimitError, UnavailableError
from gramian.estimators.encoding import FUNCTIONS, KERNELS
from gramian.estimators.exact_kernel import RULES, ExactFit
from gramian.estimators.feature_maps import RandomFourierMap
from gramian.estimators.fitted import (
    InNotebooks,
    Transformer,
    on_device,
    parameter_at_fit,
    remember,
    remember_parameters,
)
from gramian.estimators.inputs import remember_features
from gramian.estimators.kernel_fit import (
    KernelFit,
    KernelModel,
    KernelParameters,
    Nodes,
    asked_kernel,
    is_precomputed,
    precision_of,
)
from gramian.estimators.landmarks import APPROXIMATE, FeatureFit
from gramian.estimators.preimages import PreimageMethod, found_rows, learned, preimage_method
from gramian.estimators.saving import DECOMPOSED, Saved, register_forms
from gramian.estimators.sklearn_hints import (
    ALWAYS_ALL,
    NEVER_OVERWRITTEN,
    UNTIL_CERTIFIED,
    KnowsHabits,
    refuse_metadata,
)
from gramian.kernels import Kernel
from gramian.operators.features import FeatureSums
from gramian.records import FloatArray, ModelKind, Plan, Repair
from gramian.rows import Rows, as_rows
from gramian.rows.expected import Expected
from gramian.rows.kinds.dask import is_dask
from gramian.rows.kinds.device import sent_to
from gramian.store import Array, Optional

MAPPED_BY = ("X_fit_", "landmarks_", "feature_map_")


register_forms(KERNELS, FUNCTIONS)


class Defaults:
    """Attributes that some fits do not set, and older files lack."""

    landmarks_: Any = None
    landmark_indices_: Any = None
    feature_map_: RandomFourierMap | None = None
    repair_: Repair | None = None
    _mean_weights: FloatArray | None = None
    _sums: FeatureSums | None = None
    _ridge_map: RidgeMap | None = None


@dataclass(eq=False, repr=False)
class KernelPCA(KnowsHabits, KernelParameters, Defaults, Saved, InNotebooks, Transformer):
    """Kernel PCA, exact and certified, without ever holding the full centred kernel matrix; or approximate.

    Parameters
    ----------
    n_components : int, float, {"parallel", "cv"} or None, default=None
        Number of components, up to ``n_samples``: it may exceed the number of features; a fraction in (0, 1)
        of the variance in feature space (kernels proven valid, or those whose whole spectrum shows no
        negative eigenvalue); a rule of :func:`gramian.choose_components`, which fits many times; None keeps
        every non-zero eigenvalue.
    kernel : str, callable or Kernel, default="linear"
        A name ("linear", "poly", "rbf", "laplacian", "matern", "rq", "cosine", "chi2", "sigmoid",
        "precomputed"), an expression such as ``"rbf(sigma=2) + 0.5 * poly(degree=3)"``, a function k(x, y)
        of two rows or k(X, Y) of many, or an object such as ``gramian.kernels.RBF(sigma=2.0)``; see
        :func:`gramian.kernels.table`.
    gamma : float, "scale", "median" or None, default=None
        Factor of rbf, poly, sigmoid, laplacian and chi2; None means ``1 / n_features`` (1 for chi2).
        "scale" is ``1 / (n_features * X.var())``, as in scikit-learn's SVC, with the variance of all entries.
        "median", for rbf and laplacian, takes the median distance between at most 5000 evenly spaced rows as
        width. Of a file that is read block by block, both look at 5000 rows.
    degree : int, default=3
        Power of poly.
    coef0 : float, default=1
        Constant of poly and sigmoid.
    kernel_params : dict or None, default=None
        Keyword arguments of a kernel function.
    center : bool, default=True
        Centre in feature space.
    solver : {"auto", "dense", "krylov", "nystroem", "random-features"}, default="auto"
        Full decomposition, or block Krylov on tiles of the kernel matrix; "auto" takes one of these two. For
        many rows, approximately, in time and memory linear in them: "nystroem" projects rows, in feature
        space, onto the span of some of them, the landmarks (any kernel proven valid); "random-features" is
        PCA of :class:`RandomFourierMap` (rbf).
    tol : float or None, default=None
        Bound on residuals relative to the largest eigenvalue; None means 1e-6 (float64) or 1e-5 (float32).
    random_state : int, RandomState, Generator or None, default=None
        Start of the iteration and of the probe that certifies it. Rounding depends on threads, as of
        :class:`PCA`, unless GRAMIAN_DETERMINISTIC=1 is set.
    memory_limit : int, str or None, default=None
        Working memory beside the data and the results; where tiles do not fit they are computed in each pass.
    repair : {"clip"} or None, default=None
        What to do about negative eigenvalues beyond rounding, which no valid kernel has: None refuses them,
        "clip" sets them to 0, finding all eigenvalues to say in ``repair_`` what that changed.
    n_landmarks : int or None, default=None
        Number of landmarks, or of random features; None means 1000, or the number of rows if that is less.
        Fewer are chosen once what they leave unexplained is within ``tol`` of the sum of k(x, x).
    landmarks : {"rpcholesky", "uniform", "kmeans"} or array-like of shape (m, n_features)
        How "nystroem" chooses landmarks: rows drawn by what those before leave unexplained (randomly pivoted
        Cholesky, which finds small clusters), rows drawn uniformly, centres of k-means, or these rows.
    preimage : {"auto", "fixed-point", "gradient", "ridge"}, default="auto"
        How ``inverse_transform`` and ``denoise`` find rows: the iteration of Mika et al., for smooth kernels
        of x - y; descent, for every smooth kernel; or a map learned by ridge regression, for any kernel.
        "auto" takes the first that applies; the linear kernel needs none of them and is exact.
    device : {"cuda", "cuda:1", ..., "cpu"} or None, default=None
        As of :class:`PCA`. All rows, encoded, have to fit on the device; tiles are computed there.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Eigenvalues of the centred kernel matrix Kc, descending.
    eigenvectors_ : array of shape (n_samples, n_components_)
        Unit eigenvectors of Kc; in each, the first largest entry is positive. Only of exact solvers.
    explained_variance_ : ndarray of shape (n_components_,), float64
        Eigenvalues divided by ``n_samples - 1``, so that the linear kernel gives those of PCA.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64, or None
        Ratios of these variances to the total in feature space; None where the kernel is not proven valid.
        With landmarks the total is an upper bound, what they leave unexplained included.
    projection_coef_ : array of shape (n_samples, n_components_)
        Coefficients alpha: scores are ``kc(x, X_fit_) @ projection_coef_``; of landmarks or features, where
        there are some, in place of fitted rows.
    X_fit_ : array of shape (n_samples, n_features)
        The fitted rows, in CSR where they were sparse. None for a precomputed kernel, and with landmarks or
        random features, which are all that such a model keeps.
    landmarks_ : array of shape (m, n_features) or None
        The landmarks of "nystroem".
    landmark_indices_ : ndarray of shape (m,) or None
        Which rows they are; None for centres and for rows that were given.
    feature_map_ : RandomFourierMap or None
        The features of "random-features".
    n_components_, rank_ : int
        Number of components, and of those above the rank tolerance.
    kernel_ : Kernel or None
        The kernel with every parameter a number.
    gamma_ : float or None
        The gamma that was used; None where the kernel has none of its own, as a sum.
    component_choice_ : ComponentChoice or None
        What the rule said, where one was asked.
    repair_ : Repair or None
        What clipping changed, where it was asked for.
    preimage_ : PreimageMethod
        Which method finds pre-images, and why.
    plan_, spectrum_, certificate_
        How it was computed, the solver's record, and what is guaranteed. Of an approximation
        ``certificate_.lower`` and ``certificate_.upper`` bound the exact eigenvalues.
    column_means_
        As of :class:`PCA`.

    References
    ----------
    Schoelkopf, Smola, Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem. Williams,
    Seeger (2001), Using the Nystroem method to speed up kernel machines. Epperly, Tropp, Webber (2024),
    Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import KernelPCA
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> KernelPCA(2, kernel="rbf", gamma=0.5).fit(X).eigenvalues_.round(4)
    array([0.632..., 0.632...])

    Of many rows, by landmarks:

    >>> X = np.random.default_rng(0).standard_normal((20_000, 3))
    >>> model = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=200, random_state=0).fit(X)
    >>> model.landmarks_.shape, model.certificate_.approximation.unexplained < 0.01 * len(X)
    ((200, 3), True)
    """

    contents: ClassVar = DECOMPOSED | {
        "kernel_": Optional(Kernel, equal=("m", "d")),  # a precomputed one has a column for every fitted row
        "X_fit_": Optional(Array("m d", sparse=True)),
        "landmarks_?": Optional(Array("m d", sparse=True)),
        "landmark_indices_?": Optional(Array("m", kinds="i")),
        "feature_map_?": RandomFourierMap | None,
        "eigenvalues_": Array("k"),
        "eigenvectors_?": Array("n k"),
        "explained_variance_": Array("k"),
        "projection_coef_": Array("m k"),
        "_row_means": Array("m"),
        "_mean": float,
        "_mean_weights?": Optional(Array("m")),
        "_sums?": FeatureSums | None,
        "repair_?": Repair | None,
        "_ridge_map?": RidgeMap | None,
    }

    model_kind: ClassVar = ModelKind.KERNEL_PCA
    # Options that select the returned values are no metadata to route.
    __metadata_request__inverse_transform: ClassVar = {"return_error": UNUSED}
    _habits: ClassVar = {
        "eigen_solver": 'use solver="dense" or solver="krylov"',
        "fit_inverse_transform": "leave it out: inverse_transform works after every fit",
        "alpha": 'leave it out: preimage="ridge" chooses it',
        "remove_zero_eig": "leave it out: model.rank_ is the number of components with a non-zero eigenvalue",
        "max_iter": UNTIL_CERTIFIED,
        "iterated_power": UNTIL_CERTIFIED,
        "copy_X": NEVER_OVERWRITTEN,
        "n_jobs": ALWAYS_ALL,
    }

    def check_restored(self) -> None:
        """Raise a ValueError unless there is exactly one thing that new rows are mapped by."""
        parts = self.X_fit_, getattr(self, "landmarks_", None), getattr(self, "feature_map_", None)
        there = [name for name, part in zip(MAPPED_BY, parts, strict=True) if part is not None]
        if len(there) != (self.kernel_ is not None):
            expected = "none of" if self.kernel_ is None else "one of"
            raise ValueError(f"{expected} {', '.join(MAPPED_BY)} belongs to its kernel_, not {there}")
        mapping = parts[-1]
        if mapping is not None and mapping.n_features_out_ != len(self.projection_coef_):
            raise ValueError("projection_coef_ has another number of rows than feature_map_ has features")
        if self.kernel_ is None and len(self.projection_coef_) != self.n_features_in_:
            raise ValueError("projection_coef_ has another number of rows than the matrix it was fitted on")

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any) -> Plan:
        """Return the plan that ``fit(X)`` would follow, without doing it."""
        return self._fit_of(X).plan

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None, **metadata: Any
    ) -> Self:
        """Find the components of X in the kernel's feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse rows stay sparse, with kernels of inner products and of expanded distances. For a
            precomputed kernel the matrix, (n_samples, n_samples). Of a Dask array or frame the kernel matrix
            stays in tiles where its chunks are; the rows come here once.
        y : ignored
        checkpoint : path, optional
            A folder in which products with the kernel matrix are kept, as by :meth:`gramian.PCA.fit`: the
            same call goes on there. Values of the kernel that fit into memory are computed anew.
        **metadata
            None: ``sample_weight`` and whatever is routed are refused with what to do instead.

        Raises
        ------
        DataError
            For sparse rows and a kernel that needs every entry of them.
        IndefiniteKernelError
            When an eigenvalue among those asked for is negative beyond rounding.
        """
        refuse_metadata(self, metadata)
        fit = self._fit_of(X)
        self._adopt(fit.solve(checkpoint), X, fit.rows)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None, **metadata: Any
    ) -> Any:
        """Fit and return the scores ``sqrt(eigenvalue) * eigenvector``, shape (n_samples, n_components_)."""
        refuse_metadata(self, metadata)
        fit = self._fit_of(X)
        result = fit.solve(checkpoint)
        self._adopt(result, X, fit.rows)
        if result.found.vectors is None or is_dask(X):
            return self.transform(X)
        scale, vectors = np.sqrt(as_float64(self.eigenvalues_)), self.eigenvectors_
        with np.errstate(over="ignore"):  # of float32, which the scores may be within and the scale not
            scores = to_float64(vectors) * from_numpy(scale, vectors)[None, :]
            scores = to_dtype(scores, numpy_dtype(vectors))
        return require_range(scores, "Scores")

    @property
    def partial_fit(self) -> Callable[..., Self]:
        """Fit on more rows: as if all rows so far had been fitted at once with the landmarks of the first.

        It takes ``X`` of shape (n_samples, n_features), array-like or sparse, and returns the model. The
        landmarks (or random features) and the kernel's parameters are those of the first call.

        Raises
        ------
        UnavailableError
            For a solver that needs all rows at once: it has no such method.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import KernelPCA
        >>> X = np.random.default_rng(0).standard_normal((600, 3))
        >>> model = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=50, random_state=0)
        >>> for start in (0, 200, 400):
        ...     model = model.partial_fit(X[start : start + 200])
        >>> model.n_samples_, len(model.landmarks_)
        (600, 50)
        """
        if not self._approximate:
            raise UnavailableError(
                f"partial_fit needs a fixed number of features, but with solver={self.solver!r} they grow "
                "with the rows. Use KernelPCA(solver='nystroem', n_landmarks=1000) or "
                "KernelPCA(solver='random-features')."
            )
        return self._fit_more

    def _fit_more(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        refuse_metadata(self, metadata)
        if self._sums is None:
            fit = self._fit_of(X)
            self._adopt(fit.solve(keep=True), X, fit.rows)
            return self
        rows = self._new_rows(X)
        assert self.kernel_ is not None
        nodes = Nodes(self.landmarks_, self.landmark_indices_, self.feature_map_)
        self._adopt(FeatureFit(self, rows).more(self.kernel_, nodes, self._sums), None, rows)
        return self

    @property
    def _approximate(self) -> bool:
        return isinstance(self.solver, str) and self.solver in APPROXIMATE

    def _rows(self, X: Any, **options: Any) -> Rows:
        if self._approximate:
            options.setdefault("limit", memory_limit_bytes(self.memory_limit))
        rows = as_rows(X, estimator="KernelPCA", **options)
        if is_precomputed(self):
            rows.require_dense(
                "kernel='precomputed' needs a dense matrix, but X is sparse. Pass X.toarray(), or the rows "
                "themselves with the kernel's name."
            )
        return sent_to(rows, self.device)

    def _fit_of(self, X: Any) -> KernelFit:
        """Return the fit to X that the solver's name asks for; an exact one keeps all rows, here."""
        if self._approximate:
            return FeatureFit(self, self._rows(X, minimum=2))
        limit = memory_limit_bytes(self.memory_limit)
        rows = self._rows(X, minimum=2, **({"limit": limit} if is_dask(X) else {}))
        if rows.in_one_place:
            return ExactFit(self, rows)
        try:
            return ExactFit(self, rows.here(), rows)
        except MemoryLimitError as error:
            way_out = "KernelPCA(solver='nystroem') stores only landmarks."
            raise MemoryLimitError(f"{error} An exact model stores all rows. {way_out}") from error

    def _adopt(self, model: KernelModel, X: Any, rows: Rows) -> None:
        """Remember what a fit found; without X, of more rows than those before."""
        result, nodes, components = model.found, model.nodes, model.found.components
        if X is not None:
            remember_features(self, X, rows)
            self.picture_shape_ = rows.picture_shape
        remember_parameters(self, "center", "tol")
        self.kernel_, self.X_fit_, self.n_samples_ = model.kernel, model.fitted, model.n
        self.landmarks_, self.landmark_indices_ = nodes.landmarks, nodes.indices
        self.feature_map_ = nodes.mapping
        self.eigenvalues_ = components.values
        self.__dict__.pop("eigenvectors_", None)
        if result.vectors is not None:
            self.eigenvectors_ = result.vectors
        self.explained_variance_ = components.values / max(model.n - 1, 1)
        self.projection_coef_, self._row_means, self._mean = (
            result.coefficients,
            result.row_means,
            result.mean,
        )
        self._mean_weights, self._sums, self._ridge_map = result.weights, model.sums, None
        self.component_choice_, self.repair_ = model.choice, result.repair
        asked = self.n_components is not None
        remember(self, components, model.solution, asked=asked, of=model.of, stacklevel=4)
        on_device(self, rows.home)

    @property
    def gamma_(self) -> float | None:
        """The gamma that was used; None where the kernel has none of its own, as a sum."""
        return getattr(self.kernel_, "gamma", None)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> Any:
        """Return the scores of new rows, shape (n_samples, n_components_).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse or dense, whatever the model was fitted on. For a precomputed kernel the matrix
            k(new, fitted), (n_samples, n_fitted).

        Notes
        -----
        The kernel matrix between new and fitted rows is filled tile by tile and never held as a whole.
        """
        check_is_fitted(self)
        limit = memory_limit_bytes(self.memory_limit)
        rows = self._new_rows(X, limit=limit)
        return rows.mapped(self._projection.scores, self.n_components_)

    @property
    def _projection(self) -> KernelProjection:
        """How new rows are mapped: the same for fitted rows, landmarks and random features."""
        alpha, weights = as_float64(self.projection_coef_), self._mean_weights
        n, k = alpha.shape
        if not parameter_at_fit(self, "center"):
            weights, offset = np.zeros(n), np.zeros(k)
        elif weights is None:
            # Centred coefficients cancel the row means of the new kernel values; what is left is constant.
            alpha, weights = alpha - alpha.mean(axis=0), np.full(n, 1.0 / n)
            offset = as_float64(self._row_means) @ alpha
        else:
            weights, offset = as_float64(weights), as_float64(self._row_means) @ alpha
        nodes = self.X_fit_ if self.landmarks_ is None else self.landmarks_
        return KernelProjection(
            self.kernel_,
            nodes,
            None if self.feature_map_ is None else self.feature_map_.feature_map_,
            alpha,
            offset,
            weights,
            1.0 if nodes is None else precision_of(nodes, parameter_at_fit(self, "tol")),
            # Landmarks span what they span about the origin that the kernel has.
            self.landmarks_ is None and bool(parameter_at_fit(self, "center")),
        )

    # ------------------------------------------------------------ pre-images

    @property
    def preimage_(self) -> PreimageMethod:
        """Which method finds pre-images, and why; it follows ``set_params(preimage=...)`` without a fit."""
        check_is_fitted(self)
        nodes = self.X_fit_ if self.landmarks_ is None else self.landmarks_
        drawn = self.feature_map_ is not None
        return preimage_method(self.preimage, self.kernel_, sparse=sparse.issparse(nodes), nodes=not drawn)

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Return rows whose images in feature space are nearest to points with the given scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.
        return_error : bool, default=False
            Return residuals as well.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
            Pictures (n_samples, height, width) where the model was fitted on pictures.
        residuals : array of shape (n_samples,), float64, only with ``return_error``
            Distances ``||phi(x) - P||`` in feature space, in units in which a row has the length
            ``sqrt(k(x, x))``. Above 0 unless P is the image of a row, which it seldom is.

        Raises
        ------
        DataError
            For another number of columns than components, for scores so large that rows leave the range of
            float64, and for a precomputed kernel.
        IndefiniteKernelError
            Where residuals are asked for and the kernel has no distances.

        Warns
        -----
        PreimageWarning
            With the number of rows whose search did not converge; they have the best row that was found.

        References
        ----------
        Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature
        spaces. Bakir, Weston, Schoelkopf (2004), Learning to find pre-images.
        """
        method = self._way_back()
        rows = as_rows(X, estimator="KernelPCA", expected=None if return_error else Expected())
        if not rows.in_one_place:
            return self._lazily(rows, self.inverse_transform)
        self._require_scores(rows)
        return self._back(method, to_float64(rows.dense_block(slice(None))), None, rows, return_error)

    def denoise(self, X: Any, return_error: bool = False) -> Any:
        """Return pre-images of the projections of rows: what of them lies along the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_error : bool, default=False
            Return residuals as well.

        Returns
        -------
        rows, residuals
            As :meth:`inverse_transform` of :meth:`transform`; where rows are searched for, X itself is tried
            as a start beside the nearest fitted rows.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import KernelPCA
        >>> angle = np.linspace(0.0, 6.2, 200)
        >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
        >>> model = KernelPCA(8, kernel="rbf", gamma=2.0).fit(circle)
        >>> row = model.denoise([[1.2, 0.9]])
        >>> np.linalg.norm(row).round(1)
        np.float64(1.0)
        """
        method = self._way_back()
        rows = self._new_rows(X)
        if not rows.in_one_place:
            if not return_error:
                return self._lazily(rows, self.denoise)
            rows = rows.here()
            rows.require_finite()
        scores, start = self._projection.scores(rows), to_float64(dense(rows.in_memory()))
        return self._back(method, to_float64(scores), start, rows, return_error)

    def _lazily(self, rows: Rows, f: Callable[[Any], Any]) -> Any:
        d = self.n_features_in_
        return self._as_fitted(rows.mapped(lambda part: f(part.in_memory()).reshape(-1, d), d))

    def _way_back(self) -> str:
        method = self.preimage_
        if not method.goes_back:
            raise DataError(method.advice)
        return method.method

    def _back(self, method: str, Z: Any, start: Any, rows: Rows, return_error: bool) -> Any:
        Z, space, xp = moved(Z[:, : self.rank_], rows.like), self._space(rows.like), rows.xp
        result = found_rows(space, method, Z, None if start is None else moved(start, rows.like), self._ridge)
        # In the precision of what came in; residuals are about what is handed back.
        with np.errstate(over="ignore"):
            returned = require_range(to_dtype(result, rows.dtype), "Rows of these scores")
        back = self._as_fitted(moved(returned, rows.home))
        if not return_error:
            return back
        if method == "exact":
            off = xp.linalg.vector_norm(to_float64(returned) - result, axis=1)
            return back, moved(off, rows.home)
        return back, from_numpy(residuals(space, to_float64(returned), Z), rows.home)

    def _ridge(self, space: FeatureSpace) -> RidgeMap:
        """Return the learned map, which the model keeps."""
        if self._ridge_map is None:
            self._ridge_map = learned(space)
        return self._ridge_map

    def _space(self, like: Any) -> FeatureSpace:
        """What was found, where the scores or rows are that are taken back."""
        map, r = self._projection, self.rank_
        fitted = moved(map.nodes, like)
        if self.landmarks_ is None:
            scores = as_float64(self.eigenvectors_)[:, :r] * np.sqrt(as_float64(self.eigenvalues_)[:r])
        else:
            scores = to_float64(map.scores(as_rows(fitted)))[:, :r]
        return FeatureSpace(
            evaluator=map.bound(fitted),
            rows=to_float64(fitted),
            coefficients=from_numpy(map.coefficients[:, :r], like),
            scores=moved(scores, like),
            mean_weights=from_numpy(map.weights, like),
            row_means=from_numpy(as_float64(self._row_means), like),
            mean=float(self._mean),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        with suppress(GramianError):
            tags.input_tags.sparse = (
                not is_precomputed(self)
                and self.solver != "random-features"
                and self.n_components not in RULES
                and asked_kernel(self).takes_sparse
            )
        return tags
