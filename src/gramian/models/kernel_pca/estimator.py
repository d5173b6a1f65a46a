"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian.core import arrays
from gramian.core.progress import shows_progress
from gramian.core.records import OPTIONAL, FloatArray, IndexArray, ModelKind, Plan, RealArray, Repair
from gramian.engine.features import FeatureSums
from gramian.errors import DataError, GramianError, IndefiniteKernelError, MemoryLimitError, UnavailableError
from gramian.kernels import Kernel
from gramian.models import fitted, inputs, saving, sklearn
from gramian.models.kernel_pca import fits, preimages, projection
from gramian.models.kernel_pca.projection import Standardisation
from gramian.statistics.findings import warn_of_findings
from gramian.tables.as_rows import as_rows, weighted
from gramian.tables.rows import Rows, require_magnitudes
from gramian.tables.table import Expected

MAPPED_BY = ("X_fit_", "landmarks_")


class KernelPCAAttributes(fitted.Decomposer):
    """The attributes that only a fitted KernelPCA has."""

    # A precomputed kernel has a column for every fitted row.
    kernel_: Kernel | None
    X_fit_: Annotated[RealArray | sparse.sparray | None, "m d"]
    landmarks_: Annotated[RealArray | sparse.sparray | None, "m d"]
    landmark_indices_: Annotated[IndexArray | None, "m"]
    eigenvalues_: Annotated[FloatArray, "k"]
    eigenvectors_: Annotated[RealArray, "n k", OPTIONAL]
    explained_variance_: Annotated[FloatArray, "k"]
    projection_coef_: Annotated[RealArray, "m k"]
    repair_: Repair | None
    _row_means: Annotated[FloatArray, "m"]
    _mean: float
    _mean_weights: Annotated[FloatArray | None, "m"]
    _sums: FeatureSums | None
    _ridge_map: preimages.RidgeMap | None
    _scaling: Standardisation | None


@sklearn.knows_names
@dataclass(eq=False, repr=False)
class KernelPCA(fits.KernelParameters, saving.Saved, fitted.InNotebooks, fitted.Drawn, KernelPCAAttributes):
    """Kernel PCA: components that are nonlinear in the columns, exact and certified, or by landmarks.

    >>> import numpy as np
    >>> from gramian import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((200, 3)) * [1, 10, 1000]  # or a frame, a Path, a Scan
    >>> model = KernelPCA(2, kernel="rbf", gamma="median", scale="unit").fit(X)
    >>> scores, variances = model.transform(X), model.explained_variance_
    >>> scores.shape
    (200, 2)

    Rows are samples. These parameters matter first:

    - ``kernel``: how alike two rows are; "rbf" is by their distance, and the default "linear" is PCA;
    - ``gamma="median"``: the width of the kernel, by the median distance of rows, a first value to try;
    - ``scale="unit"``: for columns of different units, because a width mixes them;
    - ``n_components``: a number such as 10, or a share of the variance such as 0.95;
    - ``solver="nystroem"``: time and memory linear in the number of rows.

    Next: ``print(model.summary())``, ``model.plot()``, ``model.denoise(X)``, ``model.save("model.gramian")``;
    ``gramian.diagnose(model, X)`` says what may mislead, ``gramian.choose_kernel(X)`` compares kernels. The
    guide is docs/kernel_pca.md, and docs/which_method.md says when another method is better.

    Parameters
    ----------
    n_components : int, float, {"parallel", "cv"} or None, default=None
        Number of components, up to ``n_samples``; it may exceed the number of features. A fraction in (0, 1)
        of the variance in feature space, for kernels that are proven valid or have no negative eigenvalue on
        the data. A rule of :func:`gramian.choose_components`, which fits many times. None keeps every
        non-zero eigenvalue.
    kernel : str, callable or Kernel, default="linear"
        A name ("linear", "poly", "rbf", "laplacian", "matern", "rq", "cosine", "chi2", "sigmoid",
        "precomputed"), an expression such as ``"rbf(sigma=2) + 0.5 * poly(degree=3)"``, a function k(x, y)
        of two rows or k(X, Y) of many, or an object such as ``gramian.kernels.RBF(sigma=2.0)``; see
        :func:`gramian.kernels.table`.
    gamma : float, "scale", "median" or None, default=None
        Factor of rbf, poly, sigmoid, laplacian and chi2; None means ``1 / n_features`` (1 for chi2).
        "scale" is ``1 / (n_features * X.var())``, as in scikit-learn's SVC, with the variance of all entries.
        "median", for rbf and laplacian, sets the width to the median distance between at most 1000 evenly
        spaced rows. For a file that is read block by block, both use 1000 rows.
    degree : int, default=3
        Power of poly.
    coef0 : float, default=1
        Constant of poly and sigmoid.
    kernel_params : dict or None, default=None
        Keyword arguments of a kernel function.
    center : bool, default=True
        Centre in feature space.
    scale : None or "unit", default=None
        "unit" subtracts its mean from each column, and divides by its standard deviation (ddof 1), before the
        kernel; with weights both are weighted. It acts on the rows of the fit, new rows and your landmarks,
        and pre-images are in the units of the columns again. Constant columns become 0. Kernel widths are in
        these units, and the certificate is about the standardised rows, computed in float64 and rounded to
        the type of X. Sparse rows become dense.
    solver : {"auto", "dense", "krylov", "nystroem"}, default="auto"
        "dense" is a full decomposition, "krylov" a block Krylov iteration on tiles of the kernel matrix;
        "auto" chooses one of these two. "nystroem" is approximate, with time and memory linear in the number
        of rows: it projects rows, in feature space, onto the span of some of them, the landmarks, for any
        kernel that is proven valid. For random features, use PCA of :class:`RandomFourierMap`.
    tol : float or None, default=None
        Bound on residuals relative to the largest eigenvalue; None means 1e-6 (float64) or 1e-5 (float32).
    random_state : int, RandomState, Generator or None, default=0
        Seed of the iteration, of the probe that certifies it, and of landmarks. As in
        :class:`PCA`, None draws a new seed at each fit, and rounding depends on the number of threads,
        which OMP_NUM_THREADS=1 fixes.
    memory_limit : int, str or None, default=None
        Working memory excluding the data and the results. Tiles that do not fit are recomputed in each pass.
    repair : {"clip"} or None, default=None
        Treatment of negative eigenvalues beyond rounding, which no valid kernel has. None raises an
        IndefiniteKernelError; "clip" computes all eigenvalues, sets the negative ones to 0, and reports the
        change in ``repair_``.
    n_landmarks : int or None, default=None
        Number of landmarks; None means 1000, or the number of rows if that is less.
        The choice stops earlier if the unexplained part of the sum of k(x, x) is within ``tol`` of it.
    landmarks : {"rpcholesky", "uniform"} or array-like of shape (m, n_features)
        How "nystroem" chooses landmarks. "rpcholesky" is randomly pivoted Cholesky, which draws rows by
        their unexplained part and so finds small clusters; "uniform" draws rows uniformly. An
        array contains your own landmarks, such as the centres of k-means.
    preimage : {"auto", "fixed-point", "ridge"}, default="auto"
        How ``inverse_transform`` and ``denoise`` find rows: "fixed-point" is the iteration of Mika et al.,
        for rbf, rq, and matern with nu=1.5 or 2.5; "ridge" is a map learned by ridge regression, for any
        kernel, in which all fitted rows count alike.
        "auto" uses the first that applies; the linear kernel needs none of them and is exact.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,), float64
        Eigenvalues of the centred kernel matrix Kc, descending.
    eigenvectors_ : array of shape (n_samples, n_components_)
        Unit eigenvectors of Kc, for exact solvers only. In each, the first entry of largest magnitude is
        positive. With weights w their squares sum to 1 as ``sum w v^2``, as for repeated rows.
    explained_variance_ : ndarray of shape (n_components_,), float64
        Eigenvalues divided by ``n_samples - 1``, or the sum of the weights less 1, so that the linear kernel
        gives those of PCA.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64, or None
        Ratios of these variances to the total in feature space; None if the kernel is not proven valid.
        With landmarks the total is an upper bound that includes the unexplained part.
    projection_coef_ : array of shape (n_samples, n_components_)
        Coefficients alpha: scores are ``kc(x, X_fit_) @ projection_coef_``. With landmarks it has one row for
        each of them instead of each fitted row.
    X_fit_ : array of shape (n_samples, n_features)
        The fitted rows, in CSR if they were sparse; standardised with ``scale``. None for a precomputed
        kernel and with landmarks, which alone are stored then.
    landmarks_ : array of shape (m, n_features) or None
        The landmarks of "nystroem"; standardised with ``scale``.
    landmark_indices_ : ndarray of shape (m,) or None
        Indices of the landmarks among the rows; None for your own landmarks.
    mean_, scale_ : ndarray of shape (n_features,), float64, or None
        What ``scale`` subtracts from columns and divides them by.
    n_components_, rank_ : int
        Number of components, and of those above the rank tolerance.
    kernel_ : Kernel or None
        The kernel with every parameter a number.
    gamma_ : float or None
        The gamma of the kernel; None if the kernel has no single gamma, such as a sum.
    component_choice_ : ComponentChoice or None
        The answer of the rule in ``n_components``, if it is one.
    repair_ : Repair or None
        The change by ``repair="clip"``.
    preimage_ : PreimageMethod
        The method that finds pre-images, and its reason.
    plan_, spectrum_, certificate_
        The method of the fit, the solver's record, and the error bounds. For an approximate solver
        ``certificate_.lower`` and ``certificate_.upper`` bound the exact eigenvalues.
    column_means_
        As in :class:`PCA`.

    References
    ----------
    Schoelkopf, Smola, Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem. Williams,
    Seeger (2001), Using the Nystroem method to speed up kernel machines. Epperly, Tropp, Webber (2024),
    Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky.

    Examples
    --------
    For many rows, use landmarks:

    >>> import numpy as np
    >>> from gramian import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((20_000, 3))
    >>> model = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=200, random_state=0).fit(X)
    >>> model.landmarks_.shape, model.certificate_.approximation.unexplained < 0.01 * len(X)
    ((200, 3), True)
    """

    model_kind: ClassVar = ModelKind.KERNEL_PCA
    # Options that select the returned values are no metadata to route.
    __metadata_request__inverse_transform: ClassVar = {"return_error": UNUSED}
    _habits: ClassVar = {
        "eigen_solver": 'use solver="dense" or solver="krylov"',
        "fit_inverse_transform": "leave it out: inverse_transform works after every fit",
        "alpha": 'leave it out: preimage="ridge" chooses it',
        "remove_zero_eig": "leave it out: model.rank_ is the number of components with a non-zero eigenvalue",
        "max_iter": sklearn.UNTIL_CERTIFIED,
        "iterated_power": sklearn.UNTIL_CERTIFIED,
        "copy_X": sklearn.NEVER_OVERWRITTEN,
        "n_jobs": sklearn.ALWAYS_ALL,
    }

    def _check_restored(self) -> None:
        """Raise a ValueError unless there is exactly one thing that new rows are mapped by."""
        there = [name for name in MAPPED_BY if getattr(self, name) is not None]
        if len(there) != (self.kernel_ is not None):
            expected = "none of" if self.kernel_ is None else "one of"
            raise ValueError(f"{expected} {', '.join(MAPPED_BY)} belongs to its kernel_, not {there}")
        if self.kernel_ is None and len(self.projection_coef_) != self.n_features_in_:
            raise ValueError("projection_coef_ has another number of rows than the matrix it was fitted on")

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any, *, sample_weight: Any = None) -> Plan:
        """Return the plan that ``fit(X, sample_weight=...)`` would follow, without fitting.

        Parameters
        ----------
        X : array-like, Path or Scan of shape (n_samples, n_features)
            The data, as for :meth:`fit`.
        sample_weight : array-like of shape (n_samples,), optional
            As for :meth:`fit`.

        Returns
        -------
        Plan
            Prints as a list of steps with predicted seconds and memory.
        """
        return self._fit_of(X, sample_weight).plan

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the components of X in the kernel's feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse rows stay sparse, with kernels of inner products and of expanded distances. For a
            precomputed kernel, X is the matrix, (n_samples, n_samples). An exact solver
            brings the rows of a Dask array or frame to this process.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in :meth:`gramian.PCA.fit`: means in feature space are weighted, and
            eigenvalues are those of ``W^1/2 Kc W^1/2``. The choice of landmarks and of kernel widths does not
            use weights.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        DataError
            For sparse rows and a kernel that does not support them, and for weights that are negative, not
            finite, all zero, or sum to 1 or less.
        IndefiniteKernelError
            If one of the requested eigenvalues is negative beyond rounding.
        """
        with shows_progress("KernelPCA"):
            fit = self._fit_of(X, sample_weight).solve()
            self._adopt(fit, X)
        warn_of_findings(self)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> RealArray:
        """Fit and return the scores ``sqrt(eigenvalue) * eigenvector``, shape (n_samples, n_components_).

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
        array of shape (n_samples, n_components_)
            The scores, in the kind and dtype of X.
        """
        self.fit(X, sample_weight=sample_weight)
        warn_of_findings(self)
        if "eigenvectors_" not in vars(self) or arrays.is_dask(X):
            return self.transform(X)
        vectors = self.eigenvectors_
        scale = arrays.from_numpy(np.sqrt(arrays.as_float64(self.eigenvalues_)), vectors)
        with np.errstate(over="ignore"):  # of float32, which the scores may be within and the scale not
            scores = arrays.to_dtype(arrays.to_float64(vectors) * scale[None, :], arrays.numpy_dtype(vectors))
        result: RealArray = arrays.require_range(scores, "Scores")
        return result

    def _has_fixed_features(self) -> bool:
        """Return whether more rows add none to what the model stores, as ``partial_fit`` needs."""
        if not self._approximate:
            why = f"needs a fixed number of features, but with solver={self.solver!r} they grow with the rows"
            hint = "Use solver='nystroem' with n_landmarks=1000."
            raise UnavailableError("partial_fit", allowed=why, hint=hint)
        return True

    @available_if(_has_fixed_features)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Update the model with more rows; the result is a fit to all rows so far.

        The first call chooses the landmarks and the kernel's parameters. Solvers that
        need all rows at once have no ``partial_fit``: looking for it raises an AttributeError.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            As in :meth:`fit`.

        Returns
        -------
        self
            The estimator, with these rows.

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
        before: FeatureSums | None = vars(self).get("_sums")
        if before is None:
            fit = self._fit_of(X, sample_weight).solve()
            self._adopt(fit, X)
        else:
            rows = self._new_rows(X, sample_weight=sample_weight)
            require_magnitudes(rows)
            rows = rows if self._scaling is None else self._scaling.rows(rows)
            nodes = self.landmarks_, self.landmark_indices_
            fit = fits.FeatureFit(self, rows, self._scaling, *nodes)
            fit.kernel = self.kernel_
            self._adopt(fit.more(before), None)
        self._sums = fit.sums
        return self

    @property
    def _approximate(self) -> bool:
        return isinstance(self.solver, str) and self.solver in fits.APPROXIMATE

    def _rows(self, X: Any, sample_weight: Any = None, **options: Any) -> Rows:
        if self._approximate:
            options.setdefault("limit", arrays.memory_limit_bytes(self.memory_limit))
        columns = not fits.is_precomputed(self) and "expected" not in options
        rows = as_rows(X, weigh=True, estimator="KernelPCA", check_finite=not columns, **options)
        if fits.is_precomputed(self):
            rows.require_dense(
                'kernel="precomputed" needs a dense matrix, but X is sparse. Pass X.toarray(), or the rows '
                "themselves with the kernel's name."
            )
        rows = weighted(rows, sample_weight)
        if columns and (unseen := require_magnitudes(rows)).size:
            seen = np.isin(np.arange(rows.shape[1]), unseen, invert=True).astype(rows.dtype)
            rows = rows.converted(lambda values: arrays.dense(values) * arrays.from_numpy(seen, values))
        return rows

    def _fit_of(self, X: Any, sample_weight: Any = None) -> fits.ExactFit | fits.FeatureFit:
        """Return the fit to X of the chosen solver; an exact one stores all rows in this process."""
        options: dict[str, Any] = {"minimum": 2, "sample_weight": sample_weight}
        if not self._approximate and arrays.is_dask(X):
            options["limit"] = arrays.memory_limit_bytes(self.memory_limit)
        rows = self._rows(X, **options)
        scaling = Standardisation.of(self.scale, rows, precomputed=fits.is_precomputed(self))
        rows = rows if scaling is None else scaling.rows(rows)
        if self._approximate:
            return fits.FeatureFit(self, rows, scaling)
        if rows.in_one_place:
            return fits.ExactFit(self, rows, scaling)
        try:
            return fits.ExactFit(self, rows.here(), scaling)
        except MemoryLimitError as error:
            nystroem = "KernelPCA(solver='nystroem')"
            way_out = f"{nystroem} stores only landmarks."
            raise MemoryLimitError(f"{error} An exact model stores all rows. {way_out}") from error

    def _adopt(self, fit: fits.ExactFit | fits.FeatureFit, X: Any) -> None:
        """Set the attributes from the result of a fit; X is None if ``partial_fit`` added rows."""
        rows, result, components = fit.rows, fit.found, fit.found.components
        more, weight = X is None, fit.weight
        self._unequal = rows.weights is not None or (more and vars(self).get("_unequal", False))
        self.n_samples_ = rows.shape[0] + (self.n_samples_ if more else 0)
        if not more:
            inputs.store_features(self, X, rows)
            self.picture_shape_ = rows.picture_shape
        fitted.store_parameters(self, "center", "tol")
        self.kernel_, self.X_fit_ = fit.kernel, fit.stored_rows
        self.landmarks_, self.landmark_indices_ = fit.landmarks, fit.indices
        self.eigenvalues_ = components.values
        self.__dict__.pop("eigenvectors_", None)
        if result.vectors is not None:
            self.eigenvectors_ = result.vectors
        self.explained_variance_ = components.values / (weight - 1 if weight > 1 else 1)
        self.projection_coef_, self._mean_weights = result.coefficients, result.weights
        self._row_means, self._mean = result.row_means, result.mean
        self._sums, self._ridge_map, self._scaling = None, None, fit.scaling
        self.component_choice_, self.repair_ = fit.choice, result.repair
        requested = self.n_components is not None
        fitted.store_solution(self, components, fit.solution, rows, requested=requested, matrix=fit.matrix)

    @property
    def gamma_(self) -> float | None:
        """The gamma of the kernel; None if the kernel has no single gamma, such as a sum."""
        return getattr(self.kernel_, "gamma", None)

    @property
    def mean_(self) -> FloatArray | None:
        """The means that ``scale="unit"`` subtracts from the columns, float64; None without it."""
        return None if self._scaling is None else self._scaling.center + self._scaling.rest

    @property
    def scale_(self) -> FloatArray | None:
        """The standard deviations that it divides them by, 1 for a constant column; None without it."""
        divisor = None if self._scaling is None else self._scaling.divisor
        return None if divisor is None else np.where(divisor > 0, divisor, 1.0)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> RealArray:
        """Return the scores of new rows, shape (n_samples, n_components_).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse or dense, for every model. For a precomputed kernel, X is the matrix k(new, fitted),
            (n_samples, n_fitted).

        Returns
        -------
        array of shape (n_samples, n_components_)
            The scores, in the kind and dtype of X; lazy for Dask's collections.

        Notes
        -----
        The kernel matrix between new and fitted rows is computed tile by tile and never stored as a whole.
        """
        check_is_fitted(self)
        limit = arrays.memory_limit_bytes(self.memory_limit)
        return self._scores(self._new_rows(X, limit=limit))

    def _scores(self, rows: Rows) -> RealArray:
        return rows.mapped(self._projection.scores, self.n_components_)

    def table(self, what: str, X: Any = None) -> Any:
        """Return scores, squared cosines and contributions of rows in feature space.

        Parameters
        ----------
        what : {"rows"}
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of str to ndarray
            As :meth:`gramian.PCA.table`, with distances from the mean in feature space. ``distance`` and
            ``cos2`` are missing for sparse rows, a precomputed kernel, and a kernel that is not positive
            semidefinite.

        Raises
        ------
        ParameterError
            For ``"columns"``: the components are no directions of the columns.
        """
        from gramian.models.pca.tables import kernel_table

        check_is_fitted(self)
        return kernel_table(self, what, X)

    def _scores_and_squares(self, rows: Rows) -> tuple[FloatArray, FloatArray | None]:
        """Return scores of rows, and squared distances from the mean where the kernel gives distances."""
        scores, r = arrays.as_float64(self._scores(rows)), self.rank_
        if not self.preimage_.goes_back or not rows.in_one_place:
            return scores, None
        space, left = self._space(rows.like), []
        with suppress(IndefiniteKernelError):
            for block in rows.blocks():
                values = self._standardised(arrays.to_float64(block.dense))
                Z = arrays.from_numpy(scores[block.rows, :r], rows.like)
                left.append(preimages.residuals(space, values, Z))
            squares = np.concatenate(left) ** 2 + np.sum(scores**2, axis=1)
            return scores, squares if np.isfinite(squares).all() else None
        return scores, None

    @property
    def _projection(self) -> projection.KernelProjection:
        """The map of new rows, the same for fitted rows and landmarks."""
        center = bool(fitted.parameter_at_fit(self, "center"))
        found = self.projection_coef_, self._mean_weights, self._row_means
        nodes = self.X_fit_ if self.landmarks_ is None else self.landmarks_
        precision = 1.0 if nodes is None else fits.precision_of(nodes, fitted.parameter_at_fit(self, "tol"))
        # Landmarks span what they span about the origin that the kernel has.
        map = self.kernel_, nodes, *projection.about_mean(*found, center), precision
        return projection.KernelProjection(*map, self.landmarks_ is None and center, self._scaling)

    def _standardised(self, values: Any) -> Any:
        """Return rows, dense and of float64, as the kernel takes them."""
        return values if self._scaling is None else self._scaling.apply(values, np.dtype(np.float64))

    # ------------------------------------------------------------ pre-images

    @property
    def preimage_(self) -> preimages.PreimageMethod:
        """The method that finds pre-images, and its reason; ``set_params(preimage=...)`` needs no new fit."""
        check_is_fitted(self)
        nodes = self.X_fit_ if self.landmarks_ is None else self.landmarks_
        return preimages.preimage_method(self.preimage, self.kernel_, sparse=sparse.issparse(nodes))

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
            Pictures (n_samples, height, width) if the model was fitted on pictures.
        residuals : array of shape (n_samples,), float64, only with ``return_error``
            Distances ``||phi(x) - P||`` in feature space, where a row x has the length ``sqrt(k(x, x))``.
            They are 0 only if the point P is the image of a row, which is rare.

        Raises
        ------
        DataError
            If the number of columns is not that of the components, if scores are so large that rows overflow
            float64, and for a precomputed kernel.
        IndefiniteKernelError
            If ``return_error`` is True and the kernel has no distances.

        Warns
        -----
        PreimageWarning
            If the search does not converge for some rows; the result has the best row of each search.

        References
        ----------
        Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature
        spaces. Bakir, Weston, Schoelkopf (2004), Learning to find pre-images.
        """
        method = self._way_back()
        rows = as_rows(X, estimator="KernelPCA", expected=None if return_error else Expected())
        if not rows.in_one_place:
            return self._lazily(rows, self.inverse_transform)
        self._require_columns(rows, self.n_components_, "scores")
        return self._back(method, arrays.to_float64(rows.block(slice(None)).dense), None, rows, return_error)

    def denoise(self, X: Any, return_error: bool = False) -> Any:
        """Return pre-images of the rows' projections onto the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit.
        return_error : bool, default=False
            Return residuals as well.

        Returns
        -------
        rows, residuals
            As :meth:`inverse_transform` of :meth:`transform`. An iterative search also starts from X itself,
            in addition to the nearest fitted rows.

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
        scores = self._projection.scores(rows)
        start = self._standardised(arrays.to_float64(arrays.dense(rows.in_memory())))
        return self._back(method, arrays.to_float64(scores), start, rows, return_error)

    def _lazily(self, rows: Rows, f: Callable[[Any], Any]) -> Any:
        d = self.n_features_in_
        return self._as_fitted(rows.mapped(lambda block: f(block.in_memory()).reshape(-1, d), d))

    def _way_back(self) -> str:
        method = self.preimage_
        if not method.goes_back:
            raise DataError(method.advice)
        return method.method

    def _back(self, method: str, Z: Any, start: Any, rows: Rows, return_error: bool) -> Any:
        Z, space, xp = arrays.moved(Z[:, : self.rank_], rows.like), self._space(rows.like), rows.xp
        result = preimages.found_rows(
            space, method, Z, None if start is None else arrays.moved(start, rows.like), self._ridge
        )
        # In the units and precision of what came in; residuals are about what is handed back.
        restored = result if self._scaling is None else self._scaling.back(result)
        with np.errstate(over="ignore"):
            returned = arrays.require_range(arrays.to_dtype(restored, rows.dtype), "Rows of these scores")
        back = self._as_fitted(arrays.moved(returned, rows.like))
        if not return_error:
            return back
        again = self._standardised(arrays.to_float64(returned))
        if method == "exact":
            return back, arrays.moved(xp.linalg.vector_norm(again - result, axis=1), rows.like)
        return back, arrays.from_numpy(preimages.residuals(space, again, Z), rows.like)

    def _ridge(self, space: preimages.FeatureSpace) -> preimages.RidgeMap:
        """Return the learned map, which the model caches."""
        if self._ridge_map is None:
            self._ridge_map = preimages.learn_map(
                arrays.as_float64(space.scores), arrays.as_float64(space.rows)
            )
        return self._ridge_map

    def _space(self, like: Any) -> preimages.FeatureSpace:
        """What was found, where the scores or rows are that are taken back."""
        map, r = self._projection, self.rank_
        fitted = arrays.moved(map.nodes, like)
        if self.landmarks_ is None:
            scores = arrays.as_float64(self.eigenvectors_)[:, :r] * np.sqrt(
                arrays.as_float64(self.eigenvalues_)[:r]
            )
        else:
            scores = arrays.to_float64(replace(map, scaling=None).scores(as_rows(fitted)))[:, :r]
        coefficients, row_means = map.coefficients[:, :r], arrays.as_float64(self._row_means)
        alpha, weights, means = (arrays.from_numpy(A, like) for A in (coefficients, map.weights, row_means))
        nodes, scores = arrays.to_float64(fitted), arrays.moved(scores, like)
        numbers = nodes, alpha, scores, weights, means, float(self._mean)
        return preimages.FeatureSpace(map.bound(fitted), *numbers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = fits.is_precomputed(self)
        with suppress(GramianError):
            tags.input_tags.sparse = (
                not fits.is_precomputed(self)
                and self.n_components not in fits.COUNT_RULES
                and (self.scale is not None or fits.asked_kernel(self).takes_sparse)  # scaled rows are dense
            )
        return tags
