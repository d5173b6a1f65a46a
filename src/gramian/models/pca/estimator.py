"""Principal component analysis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.core import arrays, checks, package, records
from gramian.core.progress import shows_progress
from gramian.core.records import OPTIONAL, POSITIVE, FloatArray, IndexArray, ModelKind, Plan, RealArray
from gramian.engine import routes
from gramian.engine.solving import Schedule, warn_of_cost
from gramian.errors import DataError, MemoryLimitError, of_new_rows
from gramian.models import fitted, inputs, saving
from gramian.models.pca.fits import Decomposition, PCAParameters, TableFit
from gramian.models.sklearn import NEVER_OVERWRITTEN, UNTIL_CERTIFIED, knows_names
from gramian.statistics.components import Summary, column_norms, column_variances
from gramian.statistics.findings import warn_of_findings
from gramian.tables.as_rows import as_rows, weighted
from gramian.tables.rows import Rows, SeenRows
from gramian.tables.table import Expected

if TYPE_CHECKING:
    from gramian.engine.stream import StreamMoments
    from gramian.models.pca.missing import Filled
    from gramian.statistics import sampling
    from gramian.statistics.imputation import Imputed
    from gramian.statistics.normal_model import NormalModel, ProjectionQuality
    from gramian.statistics.projection import LinearProjection


class PCAAttributes(fitted.Decomposer):
    """The attributes that only a fitted PCA has."""

    components_: Annotated[RealArray, "k d"]
    explained_variance_: Annotated[FloatArray, "k", POSITIVE]
    explained_variance_ratio_: Annotated[FloatArray, "k", POSITIVE]
    singular_values_: Annotated[FloatArray, "k", POSITIVE]
    mean_: Annotated[RealArray, "d"]
    scale_: Annotated[RealArray | None, "d"]
    noise_variance_: float
    reconstruction_error_: float
    total_variance_: float
    constant_features_: Annotated[IndexArray, "_", POSITIVE]
    n_missing_: int
    imputed_: Imputed | None
    _center: Annotated[FloatArray, "d"]
    _divisor: Annotated[FloatArray | None, "d"]
    _weight: float
    _norms: Annotated[FloatArray, "d", POSITIVE, OPTIONAL]
    _moments: Annotated[StreamMoments, OPTIONAL]


@knows_names
@dataclass(eq=False, repr=False)
class PCA(PCAParameters, saving.Saved, fitted.InNotebooks, fitted.Drawn, PCAAttributes):
    """Principal component analysis of a table of any shape, with a bound on the error of every result.

    >>> import numpy as np
    >>> from gramian import PCA
    >>> X = np.array([[1, 20], [3, 30], [3, 50], [5, 40], [5, 60], [6, 50]])  # or a frame, a Path, a Scan
    >>> pca = PCA(2, scale="unit").fit(X)
    >>> scores, loadings, shares = pca.transform(X), pca.components_, pca.explained_variance_ratio_
    >>> shares.round(3)
    array([0.876, 0.124])

    Rows are samples. These parameters matter first:

    - ``n_components``: a number such as 10, a share of the variance such as 0.95, or a rule, "parallel";
    - ``scale="unit"``: for columns of different units;
    - ``missing="em"``: for tables with missing values;
    - ``tol``: how exact the result is, which ``print(pca.certificate_)`` confirms;
    - ``memory_limit``: the working memory; a file may be larger.

    Next: ``print(pca.summary())``, ``pca.plot(X)``, ``pca.biplot(X)``, ``pca.save("model.gramian")``;
    ``gramian.diagnose(pca, X)`` says what may mislead, ``gramian.describe`` what components are. The guide
    is docs/pca.md.

    Parameters
    ----------
    n_components : int, float, {"mle", "parallel", "sign-flip", "gavish-donoho", "cv"} or None, default=None
        Number of components, up to ``min(n_samples, n_features)``; a fraction in (0, 1) of the variance to
        keep; or a rule that chooses the number, at least 1 (see :func:`gramian.choose_components`). None
        keeps all ``min(n_samples, n_features)``.
    center : bool, default=True
        Subtract column means. If False, the variances are second moments about zero.
    scale : None, "unit", "pareto", "genotype" or array-like of shape (n_features,), default=None
        Divide centred columns by their standard deviation ("unit"), its square root ("pareto"), or your own
        divisors. "genotype" is for allele counts 0, 1, 2: it divides by ``sqrt(2 p (1 - p))`` with the
        frequency ``p = mean / 2``. Constant columns are not scaled; ``constant_features_`` lists them.
    feature_weight : array-like of shape (n_features,) or None, default=None
        Positive weights of the columns in distances between rows (``col.w`` of FactoMineR): each centred and
        scaled column is multiplied by the square root of its weight, so that ``scale_`` is the divisor over
        this root. ``components_`` are orthonormal directions of these columns. Leave a column out of X to
        give it no weight.
    ddof : int, default=1
        Variances divide by ``n_samples - ddof``, or the sum of the weights less ``ddof``.
    missing : {"error", "mean", "em", "iterative", "projection"}, default="error"
        Missing values (NaN, pandas.NA, masked entries) of the fit and of new rows. "error" raises. "mean"
        fills with column means. "em" imputes by probabilistic PCA of the observed entries, with uncertain
        directions, and decomposes the expected covariance given them; "iterative" imputes by regularised
        iterative PCA. The certificate is about that covariance, or about the filled table. Both impute with
        ``n_components`` if that is an integer, else with a number that cross-validation over observed entries
        chooses. New rows are mapped from their observed entries, by conditional expectation under the fitted
        model; with "mean" they are filled with the fitted means. "projection" maps them by least squares, and
        raises in the fit as "error" does.
    forgetting : float, default=1.0
        Forgetting factor in (0, 1]: each call of :meth:`partial_fit` multiplies the weight of all earlier
        rows by it. With f the product of these factors for a row, and w its ``sample_weight``, sums of
        squares are divided by ``sum(f w) - ddof * sum(f^2 w) / sum(f w)``. That is
        ``numpy.cov(..., aweights=f, fweights=w, ddof=ddof)``. It has no effect on :meth:`fit`, which
        processes a single batch.
    solver : {"auto", "full", "covariance", "gram", "krylov"}, default="auto"
        Method for the eigenpairs; ``plan(X)`` shows the choice of "auto" and its reason. All methods are
        exact to ``tol``; if an iteration stalls, a direct method finishes the fit.
    tol : float or None, default=None
        Bound on residuals relative to the largest eigenvalue; None means 1e-6 (float64) or 1e-5 (float32).
    certificate : {"probabilistic", "deterministic"}, default="probabilistic"
        How the rounding of products is bounded. "probabilistic" multiplies a few random vectors in float64 by
        the exact matrix and compares, which is wrong with a probability of at most 1e-6, unless a model of
        roundings predicts an error below ``tol`` (the certificate then says "estimate"). A second product in
        float64 follows only where the bound exceeds ``tol``. "deterministic" takes the worst case over all
        roundings, which float32 data may need a second product for. It has no effect on float64 data.
        Eigenvalues that an iteration may have missed are bounded by a probe of this probability in any case.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the iteration, of the probe that certifies it, and of rules that resample the data. The same
        integer reproduces the results up to rounding. With the environment variable OMP_NUM_THREADS=1 it
        reproduces them bit for bit. None draws a new seed at each fit.
    memory_limit : int, str or None, default=None
        Working memory excluding the data and the results, in bytes or as text such as "4GB". None uses
        GRAMIAN_MEMORY_LIMIT or 80 % of the machine's memory.
    whiten : bool, default=False
        Scale scores to unit variance. Scores of components beyond the rank are 0, not amplified noise.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, sorted by decreasing variance. In each, the first entry of largest magnitude
        is positive.
    explained_variance_ : ndarray of shape (n_components_,), float64
        Variance of the scores, in squared units of the (scaled) data.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        Ratios of these variances to the total.
    singular_values_ : ndarray of shape (n_components_,), float64
        Singular values of the centred (scaled) data.
    mean_ : array of shape (n_features,)
        Column means; zeros without centring.
    scale_ : array of shape (n_features,) or None
        Divisors of the centred columns.
    noise_variance_ : float
        Mean of the discarded variances. After "em" and "iterative" the variance of the noise in every column.
    n_components_ : int
        Number of components.
    component_choice_ : ComponentChoice or None
        The rule's answer and its evidence; None if ``n_components`` is no rule.
    rank_ : int
        Number of computed components above the rank tolerance.
    plan_ : Plan
        The method of the fit and its reason, with predicted and measured seconds.
    attempts_ : tuple of Attempt
        Every route that was run, in order, with the reason if it was not accepted.
    spectrum_ : Spectrum
        Eigenvalues, residuals and rank tolerance of the solver, without the vectors.
    certificate_ : Certificate
        Error bounds of the results; print it.
    sampling_ : Sampling or None
        Standard errors of the variances, and which components the rows do not separate; print it.
    reconstruction_error_ : float
        Mean square ``||x - x~||^2`` over the fitted rows, by their weights, in fitted (scaled) units; after
        "em" and "iterative" the one that is expected of complete rows.
    n_samples_, n_features_in_, feature_names_in_, picture_shape_
        Size and names of the fitted data.
    reading_ : dict
        For data of a file: ``source``, its name, and the options of :func:`gramian.scan` that new rows need.
    column_means_ : ndarray of shape (n_features,) or None
        Values that replace missing values of new files, if the data were a file read with
        ``missing="mean"``.
    n_missing_ : int
        Number of missing values in the fitted data that were filled.
    imputed_ : Imputed or None
        Rows, columns, values and standard errors of the entries that the fit imputed.
    counted_alleles_ : ndarray of shape (n_features,)
        Only for genotypes in a .bed file: the allele that each column counts; "" if the file does not say.

    References
    ----------
    Jolliffe (2002), Principal Component Analysis, 2nd ed. Chan, Golub, LeVeque (1979), Updating formulae and
    a pairwise algorithm for computing sample variances. For missing values: Tipping and
    Bishop (1999), Probabilistic principal component analysis; Ilin and Raiko (2010), Practical approaches
    to principal component analysis in the presence of missing values; Josse and Husson (2012), Handling
    missing values in exploratory multivariate data analysis methods. For genotypes: Patterson,
    Price, Reich (2006), Population structure and eigenanalysis, equations 1 to 3 without the factor 2, and
    Price et al. (2006), Principal components analysis corrects for stratification in genome-wide association
    studies.

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

    # What the decomposition of a stream sets.
    _following: ClassVar = {
        *saving.DecompositionAttributes.__annotations__,
        *PCAAttributes.__annotations__,
        "_account",
    } - {"n_samples_", "picture_shape_", "_unequal", "_moments"}
    model_kind: ClassVar = ModelKind.PCA
    _habits: ClassVar = {
        "svd_solver": 'use solver="full", "covariance", "gram" or "krylov"',
        "copy": NEVER_OVERWRITTEN,
        "iterated_power": UNTIL_CERTIFIED,
        "n_oversamples": UNTIL_CERTIFIED,
        "power_iteration_normalizer": UNTIL_CERTIFIED,
    }

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any, *, sample_weight: Any = None) -> Plan:
        """Return the plan that ``fit(X, sample_weight=...)`` would follow, without fitting.

        If ``n_components`` is a rule, its answer is not known yet, and the plan is for 10 components.
        Of a large file of text only the first 16 MB are read, and the number of its rows is estimated.

        Parameters
        ----------
        X : array-like, Path or Scan of shape (n_samples, n_features), or tuple of two int
            The data, as for :meth:`fit`; or, without data, the shape ``(n_samples, n_features)`` of a float64
            array in memory.
        sample_weight : array-like of shape (n_samples,), optional
            As for :meth:`fit`.

        Returns
        -------
        Plan
            Prints as a list of steps with predicted seconds and memory.
            It also lists the covariance and the dual Gram matrix, with the growth of their cost.

        Examples
        --------
        >>> from gramian import PCA
        >>> plan = PCA(10).plan((200, 32_256))
        >>> plan.operator
        'gram'
        >>> for line in plan.matrices:
        ...     print(line)
        covariance matrix, 32,256 x 32,256, O(n d^2 + d^3): about ...
        dual Gram matrix, 200 x 200, O(n^2 d + n^3): about ...
        """
        if isinstance(X, tuple) and len(X) == 2 and all(isinstance(size, Integral) for size in X):
            n, d = (checks.check_integer(f"shape[{axis}]", X[axis], 2 - axis) for axis in (0, 1))
            fit = TableFit(self, SeenRows(dtype=np.dtype(np.float64), shape=(n, d), like=np.empty((0, d))))
        else:
            fit, *_ = self._completed(X, sample_weight, quick=True)  # missing values change no plan
        costs = fit.problem.costs
        matrices = routes.both_matrices(costs, fit.request.target)
        return replace(fit.plan, matrices=tuple(matrices))

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the components of X.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, array-API array, Path or Scan of shape (n_samples, n_features)
            Samples as rows; a 3-D array (n_samples, height, width) holds pictures. An iterator of blocks of
            rows, such as a generator, is allowed too. Files, memory maps and blocks may be larger than
            memory. Dask arrays and frames are processed chunk by chunk on their workers. xarray's DataArray
            and X of AnnData are read with their names.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: an integer has the effect of so many equal rows, 0 that of no row.
            Sums of squares are divided by ``sample_weight.sum() - ddof``. None means 1 for every row. NaN and
            infinity are not allowed in rows of weight 0 either.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        DataError
            Infinity, text or complex entries, fewer than two rows; NaN without a method for ``missing``, and
            rows or columns without any entry; a float64 column whose largest magnitude is above 1e100, or
            below 1e-100 but not 0; weights that are negative, not finite, all zero, or not one
            for each row, and a sum of weights of ``ddof`` or less.
        ParameterError
            A parameter outside its range.
        FileError
            A file that cannot be read.
        MemoryLimitError
            If no route fits into ``memory_limit``.
        """
        with shows_progress("PCA"):
            self._fit(X, sample_weight)
        warn_of_findings(self)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> RealArray:
        """Find the components of X and return its scores, shape (n_samples, n_components_).

        Rows with missing values get the scores that :meth:`transform` gives them.

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
        with shows_progress("PCA"):
            result, fitted_rows = self._fit(X, sample_weight)
        warn_of_findings(self)
        rows, scores = result.rows, result.directions.scores
        if fitted_rows is not rows:
            return self._scores(fitted_rows)
        if scores is None or not rows.in_one_place:
            return self._scores(rows)
        whitened: RealArray = self._projection().whitened(arrays.require_range(scores, "Scores"))
        return whitened

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Update the model with a batch of rows, so that it describes all rows since the first call.

        The method merges mean and covariance exactly, in float64, and does not store the rows. A batch may
        have any size, and the order of batches matters only up to rounding. The attributes of :meth:`fit`
        exist after two rows, or after ``n_components`` rows if that is more. They are computed on first
        access, so that a batch costs one pass over it and no decomposition. ``hasattr`` is such an access.

        After :meth:`fit`, which stores no sums, it starts a new model, with a warning.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, array-API array, Path or Scan of shape (n_samples, n_features)
            At least one row, with the columns of the first batch.
        y : object, ignored
            For pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            As in :meth:`fit`. ``forgetting`` multiplies the weights of earlier rows.

        Returns
        -------
        self
            The estimator, with this batch.

        Raises
        ------
        DataError
            NaN or infinity, a column beyond the range that :meth:`fit` allows, and other columns than
            before. The model is then unchanged.
        MemoryLimitError
            If the matrix of ``n_features x n_features`` numbers does not fit into ``memory_limit``.
        ParameterError
            For a solver that needs the rows again ("full", "gram"), and for a rule that resamples the data.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.random.default_rng(0).standard_normal((1000, 5)) * [5, 4, 3, 2, 1]
        >>> model = PCA(2)
        >>> for batch in np.array_split(X, 7):
        ...     _ = model.partial_fit(batch)
        >>> np.allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-12)
        True
        """
        from gramian.models.pca.stream import add_batch

        add_batch(self, X, sample_weight)
        return self

    def _rows(self, X: Any, limit: int | None = None, sample_weight: Any = None, **options: Any) -> Rows:
        limit = arrays.memory_limit_bytes(self.memory_limit) if limit is None else limit
        if "expected" not in options and self.missing in ("mean", "em", "iterative"):
            options["missing"] = self.missing
        rows = as_rows(X, weigh=True, estimator="PCA", check_finite=False, limit=limit, **options)
        return rows if sample_weight is None else weighted(rows, sample_weight)

    def _completed(
        self, X: Any, sample_weight: Any, *, quick: bool = False
    ) -> tuple[TableFit, Rows, Filled | None, Plan | Schedule]:
        """Return the fit to X, its rows, what stands for those with missing values, and what it takes.

        A file is read in blocks if no route fits with its whole table.
        """
        limit = None
        while True:
            rows, table = self._rows(X, limit, sample_weight, minimum=2), None
            if self.missing != "error" or rows.table is not None:
                from gramian.models.pca.missing import filled

                table = filled(self, rows, quick=quick)
                rows = table.rows
            fit = TableFit(self, rows) if table is None else table.fit()
            try:
                return fit, rows, table, fit.schedule if fit.wanted.rule is None else fit.plan
            except MemoryLimitError:
                in_memory = rows.free_to_revisit and rows.resident_bytes
                if limit is not None or not in_memory or not _reads_again(X):
                    raise
            # A table may take a quarter of the limit that its file is read with: this one stays on disk now.
            limit = 3 * rows.resident_bytes

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Decomposition, Rows]:
        fit, rows, table, predicted = self._completed(X, sample_weight)
        seeds = inputs.drawn_seeds(self.random_state)
        warn_of_cost(predicted, lambda: "Fewer components, or a sample of the rows, cost less.", rows.like)
        if table is None:
            result = fit.solve(seeds)
        else:
            table, result = table.solved(fit, seeds)
        inputs.store_features(self, X, rows)
        self.picture_shape_ = rows.picture_shape
        self.__dict__.pop("_moments", None)
        self._unequal = rows.weights is not None
        self._adopt(result)
        if table is not None:
            table.store(self)
        self._norms = arrays.from_numpy(result.problem.measured().norms.copy(), rows.like)
        return result, rows if table is None else table.given

    def _adopt(self, result: Decomposition) -> None:
        """Set the attributes from the result of a fit."""
        rows, problem, solution = result.rows, result.problem, result.solution
        components, view = result.directions.components, problem.measured()
        fitted.store_parameters(self, "missing", "whiten")
        self.n_missing_, self.imputed_ = 0, None
        self._weight, degrees = problem.weight, problem.degrees
        self.n_samples_ = rows.shape[0]
        vectors = result.directions.vectors
        self.components_ = arrays.namespace(vectors).asarray(vectors.T)
        self.explained_variance_ = components.values
        self.singular_values_ = np.sqrt(components.values) * math.sqrt(degrees)
        self._center = view.mean.copy()
        scaled = problem.scale is not None or problem.metric is not None
        self._divisor = divisor = view.data_divisor if scaled else None
        self.mean_ = arrays.from_numpy(self._center.astype(rows.dtype), rows.like)
        self.scale_ = None if divisor is None else arrays.from_numpy(divisor.astype(rows.dtype), rows.like)
        self.constant_features_ = np.flatnonzero(view.constant)
        self.noise_variance_ = components.noise
        self.reconstruction_error_ = components.left * (degrees / self._weight)
        self.total_variance_ = float(components.total or 0.0)
        self.component_choice_ = choice = result.choice
        far = problem.hidden_by_offset(solution, components)
        hidden = far or (None if choice is not None and choice.number == 0 else "")
        requested = not isinstance(self.n_components, (str, type(None)))
        fitted.store_solution(
            self, components, solution, rows, requested=requested, matrix="the data", hidden=hidden
        )
        if choice is not None and isinstance(self.n_components, str):
            fitted.warn_of_none(choice)
        elif isinstance(self.n_components, float):
            from gramian.models.pca.rules import scree_of
            from gramian.statistics.component_rules import fraction_rule

            self.component_choice_ = fraction_rule(scree_of(self), self.n_components)

    # --------------------------------------------------------------- stream

    def _look(self) -> None:
        """Decompose the stream's moments unless this was done since the last batch."""
        if "_moments" in vars(self) and "components_" not in vars(self):
            from gramian.models.pca.stream import fit_of_stream

            self._adopt(fit_of_stream(self, self._moments).solve(inputs.drawn_seeds(self.random_state)))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model; a stream with too few rows raises an error of its own."""
        if "components_" not in vars(self):
            self._look()
        return "components_" in vars(self)

    def _require_savable(self) -> None:
        if "_moments" in vars(self):
            from gramian.models.pca.stream import TooFewRowsError, require_enough

            try:
                require_enough(self, self._moments)
            except TooFewRowsError:
                return  # the stream alone is saved
        check_is_fitted(self)

    def _check_restored(self) -> None:
        if "_moments" in vars(self) and set(self._moments.sizes) != {self.n_features_in_}:
            raise ValueError("_moments has another number of columns than the model")

    def biplot(self, X: Any = None, **options: Any) -> Any:
        """Draw rows as points and columns as arrows, by :func:`gramian.figures.biplot`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to draw.
        **options
            As for :meth:`plot`.

        Returns
        -------
        matplotlib.axes.Axes
            As of :meth:`plot`, which names the error too.
        """
        return package.figures().biplot(self, X, **options)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> RealArray:
        """Return scores ``(x - mean) / scale . components.T``, shape (n_samples, n_components_).

        A model that was fitted with ``missing="em"`` or "iterative" gives rows with missing values the scores
        of the row that is expected given their observed entries, under the normal model of mean, components,
        variances and noise variance. With ``missing="projection"`` they get those of least squares.
        :meth:`projection_quality` tells how certain they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN, pandas.NA and masked entries are missing values.

        Returns
        -------
        array of shape (n_samples, n_components_)
            The scores, in the kind and dtype of X; lazy for Dask's collections.

        Raises
        ------
        DataError
            For infinity; for missing values if the model was fitted with ``missing="error"``.

        Warns
        -----
        MissingValuesWarning
            For rows whose observed entries determine no scores; these are NaN.
        """
        check_is_fitted(self)
        return self._scores(self._new_rows(X))

    def projection_quality(self, X: Any) -> ProjectionQuality:
        """Return how much of each row is observed, and the standard errors of its scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with missing values (NaN).

        Returns
        -------
        ProjectionQuality
            The scores with their standard errors. A standard error is the standard deviation of the distance
            from the score of the complete row, under the fitted model: 0 for rows without missing values.

        Warns
        -----
        MissingValuesWarning
            As :meth:`transform`.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 6))
        >>> X = X + 0.1 * rng.standard_normal((100, 6))
        >>> pca = PCA(2, missing="em").fit(X)
        >>> quality = pca.projection_quality([[0.1, 0.2, np.nan, 0.0, 0.3, np.nan]])
        >>> quality.observed.round(2)
        array([0.67])
        >>> bool((quality.standard_errors < 0.5).all())
        True
        """
        from gramian.statistics.normal_model import ProjectionQuality

        check_is_fitted(self)
        rows = self._new_rows(X).here()
        n, d = rows.shape
        observed, errors = np.ones(n), np.zeros((n, self.n_components_))
        projection = replace(self._projection(), incomplete=self._normal_model(of_entries=True))
        with of_new_rows():
            scores = arrays.to_numpy(projection.scores(rows, errors))
        if (holes := rows.holes()) is not None:
            observed[list(holes.by_row)] -= np.array(list(holes.by_row.values())) / d
        return ProjectionQuality(scores, observed, projection.whitened(errors))

    def impute(self, X: Any) -> RealArray:
        """Return X with its missing values replaced by their conditional expectations under the model.

        Observed entries stay as they are. With ``missing="projection"`` the values are least-squares
        reconstructions, with ``missing="mean"`` the fitted means. Of the fitted rows the result is the table
        of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with missing values (NaN).

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The completed rows; pictures if the model was fitted on pictures.

        Warns
        -----
        MissingValuesWarning
            For rows without enough observed entries, which stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.outer(np.arange(6.0), [1.0, 2.0, 3.0])
        >>> X[2, 1] = np.nan
        >>> PCA(1, missing="em").fit(X).impute(X)[2].round(3)
        array([2., 4., 6.])
        """
        from gramian.statistics.projection import incomplete_rows, warn_of_undetermined

        check_is_fitted(self)
        rows, incomplete = self._new_rows(X), self._normal_model(of_entries=True)
        rows.require_finite(holes=True)
        values = np.array(arrays.to_numpy(arrays.dense(rows.in_memory())))
        for indices, some in incomplete_rows(rows):
            values[indices] = incomplete.filled(some)
        warn_of_undetermined(rows, np.flatnonzero(np.isnan(values).any(axis=1)))
        return self._as_fitted(arrays.from_numpy(values, rows.like))

    def _scores(self, rows: Rows) -> RealArray:
        holes = self._missing_method != "error"
        with of_new_rows():
            return rows.mapped(self._projection().scores, self.n_components_, holes=holes)

    @property
    def _maps_holes(self) -> bool:
        """Whether new rows with missing values are mapped from their observed entries, as was asked for."""
        return self._missing_method not in ("mean", "error")

    @property
    def _missing_method(self) -> str:
        # Of a stream, whose parameters are those of its next decomposition, which this must not start.
        return str(vars(self).get("_fit_parameters", {}).get("missing", "error"))

    def _normal_model(self, *, of_entries: bool = False) -> NormalModel:
        """Return the normal model: of imputed rows with the components that imputed them.

        ``noise_variance_`` is the mean of the discarded eigenvalues of the fit, as in scikit-learn. Of fewer
        rows than columns most of these are 0 and are not counted: ``of_entries`` takes the variance that is
        left in an entry of a row instead.
        """
        from gramian.statistics.normal_model import NormalModel

        check_is_fitted(self)
        rank, imputed, means = self.rank_, self.imputed_, self.column_means_
        variances, noise = arrays.as_float64(self.explained_variance_)[:rank], float(self.noise_variance_)
        if imputed is not None and imputed.noise_variance is not None:
            noise = imputed.noise_variance
            variances = np.where(np.arange(rank) < imputed.n_components, variances, 0.0)
        elif of_entries and self.n_samples_ <= self.n_features_in_ and self.total_variance_ is not None:
            varying = self.n_features_in_ - len(self.constant_features_)
            noise = max(self.total_variance_ - float(variances.sum()), 0.0) / max(varying - rank, 1)
        means = None if means is None else arrays.as_float64(means)
        scaling, strength = self._host_divisor, 1.0 if imputed is None else imputed.regularization
        normal = self.components_[:rank, :], variances, noise, arrays.as_float64(self._center), scaling
        return NormalModel(*normal, self._missing_method, strength, means)

    def _projection(self) -> LinearProjection:
        from gramian.statistics.projection import LinearProjection  # which no fit needs

        deviations = None
        if fitted.parameter_at_fit(self, "whiten"):
            deviations = np.sqrt(arrays.as_float64(self.explained_variance_))
        center, divisor = arrays.as_float64(self._center), self._host_divisor
        incomplete = self._normal_model(of_entries=True) if self._missing_method != "error" else None
        return LinearProjection(self.components_, center, divisor, deviations, self.rank_, incomplete)

    @property
    def _host_divisor(self) -> FloatArray | None:
        return None if self._divisor is None else arrays.as_float64(self._divisor)

    def inverse_transform(self, X: Any) -> RealArray:
        """Map scores back: ``mean + scale * (z . components)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores, whitened ones if the model whitens.

        Returns
        -------
        array of shape (n_samples, n_features)
            Pictures (n_samples, height, width) if the model was fitted on pictures.
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator="PCA", expected=Expected())
        self._require_columns(rows, self.n_components_, "scores")
        projection = self._projection()
        back = rows.mapped(
            lambda block: projection.back(arrays.dense(block.in_memory())), self.n_features_in_
        )
        return self._as_fitted(back)

    def dual_coefficients(self, X: Any) -> FloatArray:
        """Return the coefficients alpha that make the components sums of the fitted rows.

        With the rows c_i of X centred, and scaled, as in the fit, ``components_`` is ``alpha.T @ c``. In
        terms of the dual matrix ``K = c @ c.T``, with ``K beta = s^2 beta`` and singular value s, alpha is
        ``beta / s`` for unit vectors beta, so that ``alpha.T @ K @ alpha`` is 1. KernelPCA calls them
        ``projection_coef_``. They are the same for every solver.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components_), float64
            0 for components beyond ``rank_``, which no sum of rows gives.

        Raises
        ------
        DataError
            If X has another number of rows than the fit, or if rows of the fit counted differently.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.random.default_rng(0).standard_normal((5, 40))
        >>> pca = PCA(3).fit(X)
        >>> alpha = pca.dual_coefficients(X)
        >>> np.allclose(alpha.T @ (X - X.mean(axis=0)), pca.components_)
        True
        """
        check_is_fitted(self)
        if self.imputed_ is not None and self.imputed_.method == "em":
            raise DataError(
                'The components of missing="em" are not sums of the rows: the covariance of '
                "missing entries is part of them.",
                "Fit the rows that impute returns.",
            )
        plain = replace(self._projection(), deviations=None)
        Z = arrays.as_float64(self._new_rows(X).mapped(plain.scores, self.n_components_))
        if len(Z) != self.n_samples_ or vars(self).get("_unequal", False):
            cause = "weights" if len(Z) == self.n_samples_ else f"{len(Z):,} rows, but {self.n_samples_:,}"
            why = f"Coefficients of the fitted rows need those rows: {cause} were used in the fit."
            raise DataError(why, "Pass the X of fit, and fit without weights.")
        squares = arrays.as_float64(self.singular_values_)[: self.rank_] ** 2
        result = np.zeros(Z.shape)
        result[:, : self.rank_] = Z[:, : self.rank_] / squares
        return result

    def reconstruction_errors(self, X: Any, counts: Sequence[int] | None = None) -> FloatArray:
        """Return the squared error of each row when r components reconstruct it, for several r.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete rows.
        counts : sequence of int, optional
            Numbers r of components, 0 to ``n_components_``; by default all of these.

        Returns
        -------
        ndarray of shape (n_samples, n_counts), float64
            ``||x - x~||^2`` in fitted (scaled) units. 0 components give the distance from the mean;
            components beyond ``rank_`` change nothing, because scores there are 0. Over the rows of a
            fit without missing values the mean for ``n_components_`` is ``reconstruction_error_``.

        Raises
        ------
        ParameterError
            For a number of components that the model does not have.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
        >>> PCA(ddof=0).fit(X).reconstruction_errors(X).mean(axis=0).round(4)
        array([9.75  , 0.4081, 0.    ])
        """
        check_is_fitted(self)
        k = self.n_components_
        counts = range(k + 1) if counts is None else counts
        wanted = [checks.check_integer("counts", count, 0, k) for count in counts]
        rows, projection = self._new_rows(X), self._projection()
        directions = arrays.as_float64(self.components_)

        def errors(block: Rows) -> Any:
            block.require_finite()
            result = []
            for C in projection.centered_blocks(block, double=True):
                Z = C @ directions.T
                Z[:, self.rank_ :] = 0.0  # as in transform: there the directions are arbitrary
                left = ((C - Z @ directions) ** 2).sum(axis=1)
                # From the last component back: a difference of sums would lose the digits of small errors.
                behind = np.cumsum(np.column_stack([left, (Z**2)[:, ::-1]]), axis=1)[:, ::-1]
                result.append(behind[:, wanted])
            return arrays.from_numpy(np.concatenate(result), block.like)

        return arrays.as_float64(rows.mapped(errors, len(wanted), np.float64))

    # ------------------------------------------------ summaries of the model

    def summary(self) -> Summary:
        """Return standard deviations, explained variance ratios and their cumulative sums as a table.

        Returns
        -------
        Summary
            Prints the table, and below it what ``sampling_`` and ``certificate_`` say in one sentence each.
        """
        summary, sample = super().summary(), self.sampling_
        brief = [sample.brief] if sample is not None and sample.brief else []
        return replace(summary, notes=(*summary.notes, *brief, self.certificate_.brief))

    def table(self, what: str, X: Any = None) -> Any:
        """Return coordinates, squared cosines and contributions of the rows or of the columns.

        Parameters
        ----------
        what : {"rows", "columns"}
        X : array-like of shape (n_samples, n_features), optional
            The rows of the fit, needed for rows.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of str to ndarray
            A frame of Polars if ``X`` is one or pandas is not installed, a dict without both. Rows of a frame
            of pandas keep its index. With k components ``PC1`` to ``PCk`` are coordinates; other columns are
            named like ``cos2 PC1``.

            - coordinate of a row: its score, before whitening; of a column: ``component * sqrt(variance)``,
              under unit scale its correlation with the score.
            - correlation of a column with the score.
            - cos2: squared coordinate over the squared distance of a row from the mean, or over the variance
              of a column. Over all components it sums to 1.
            - contribution: share of the sum of squares of the component; over rows, or columns, it sums to 1.
              FactoMineR prints 100 times this. Rows of a fit in which rows count differently have none.
            - mean, standard deviation and scale of a column; distance of a row from the mean.

            Standard deviations divide by ``n_samples - ddof``. ``PCA(scale="unit", ddof=0)`` gives
            FactoMineR's numbers.

        Raises
        ------
        ParameterError
            If X is needed and missing.
        DataError
            If X has another number of rows than the fit.

        References
        ----------
        Lebart, Morineau, Warwick (1984), Multivariate Descriptive Statistical Analysis. Husson, Le, Pages
        (2017), Exploratory Multivariate Analysis by Example Using R, 2nd ed., chapter 1.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
        >>> rows = PCA(ddof=0).fit(X).table("rows", X)
        >>> float(rows["contribution PC1"].sum().round(12)), float(rows["cos2 PC1"].iloc[0].round(4))
        (1.0, 0.9998)
        """
        from gramian.models.pca.tables import linear_table

        check_is_fitted(self)
        return linear_table(self, what, X)

    @property
    def _degrees(self) -> float:
        """Divisor of sums of squares: less than ``n_samples_ - ddof`` where rows count less than 1."""
        top = float(self.explained_variance_[0])
        return float(self.singular_values_[0]) ** 2 / top if top > 0 else self.n_samples_ - float(self.ddof)

    def _column_deviations(self) -> FloatArray:
        """Return standard deviations of the fitted columns in units of the data, shape (d,)."""
        result = np.asarray(column_norms(self) / np.sqrt(self._degrees))
        result[arrays.to_numpy(self.constant_features_)] = 0.0
        return result

    @property
    def dominant_columns_(self) -> records.IntArray:
        """Columns whose scale alone decides the first components, largest first; most often none.

        They have at least 95 % of the variance together, at least 5 times the standard deviation of every
        other column, and are at most half of the columns. If they do so because of their unit, use
        ``scale="unit"``.
        """
        from gramian.statistics.units import dominant_columns

        check_is_fitted(self)
        return dominant_columns(column_variances(self))

    @property
    def sampling_(self) -> sampling.Sampling | None:
        """Standard errors of the variances, and which components the rows do not separate.

        Under normal theory, from the fitted variances and the number of rows; ``certificate_`` is about
        arithmetic alone. None without centring, for imputed fits and genotypes, and without a
        component above the rank tolerance: normal theory does not apply to these.
        :func:`gramian.stability` takes the rows, and does without normality.
        """
        from gramian.statistics.sampling import sampling_of

        check_is_fitted(self)
        return sampling_of(self)

    @property
    def component_pictures_(self) -> RealArray:
        """Components as pictures of shape (n_components_, height, width)."""
        check_is_fitted(self)
        if self.picture_shape_ is None:
            raise AttributeError("component_pictures_ is of models fitted on pictures (a 3-D array) only.")
        shape = (self.n_components_, *self.picture_shape_)
        pictures: RealArray = arrays.namespace(self.components_).reshape(self.components_, shape)
        return pictures

    def get_covariance(self) -> FloatArray:
        """Return the model's covariance in units of the data, shape (n_features, n_features).

        Returns
        -------
        ndarray of shape (n_features, n_features), float64
            In squared units of the data.

        References
        ----------
        Tipping and Bishop (1999), Probabilistic principal component analysis, equation 7.
        """
        return self._normal_model().covariance()

    def get_precision(self) -> FloatArray:
        """Return the inverse of :meth:`get_covariance`, shape (n_features, n_features).

        Returns
        -------
        ndarray of shape (n_features, n_features), float64
            In inverse squared units of the data.

        Raises
        ------
        DataError
            If the covariance is singular: directions without variance have no precision.
        """
        return self._normal_model().precision()

    def score_samples(self, X: Any) -> RealArray:
        """Return the log-likelihood of each row under the probabilistic PCA model, shape (n_samples,).

        Rows with missing values get the likelihood of their observed entries if the model was fitted with a
        method for them. The result is lazy for Dask's
        collections.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit, of any kind that ``fit`` takes.

        Returns
        -------
        array of shape (n_samples,), float64
            Natural logarithms of densities.

        References
        ----------
        Tipping and Bishop (1999), Probabilistic principal component analysis, equation 8.
        """
        from gramian.statistics.projection import incomplete_rows

        model = self._normal_model()
        rows, projection = self._new_rows(X), self._projection()
        holes = self._missing_method != "error"

        def densities(block: Rows) -> Any:
            block.require_finite(holes=holes)
            values = np.concatenate([*map(model.log_density, projection.centered_blocks(block))])
            for indices, X in incomplete_rows(block, np.flatnonzero(np.isnan(values))):
                values[indices] = model.observed_log_density(X)
            return arrays.from_numpy(values, block.like)[:, None]

        with of_new_rows():
            return rows.mapped(densities, 1, np.float64, holes=holes)[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit, of any kind that ``fit`` takes.
        y : object, ignored
            For pipelines.

        Returns
        -------
        float
            The mean of :meth:`score_samples`.
        """
        return float(arrays.as_float64(self.score_samples(X)).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.sparse = True
        if isinstance(self.n_components, str):
            from gramian.statistics.component_rules import RULES

            rule = RULES.get(self.n_components)
            tags.input_tags.sparse = rule is None or not rule.draws
        return tags


def _reads_again(X: Any) -> bool:
    """Return whether X is a file or a scan that can be read more than once, as a pipe cannot."""
    return X.is_file() or X.is_dir() if isinstance(X, Path) else getattr(X, "repeatable", False)
