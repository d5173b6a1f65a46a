"""Principal component analysis."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.analysis.component_rules.table import RULES
from gramian.analysis.components import Summary, component_names
from gramian.analysis.gaussian import Gaussian
from gramian.analysis.projection import LinearProjection
from gramian.arrays import (
    as_float64,
    dense,
    from_numpy,
    memory_limit_bytes,
    moved,
    namespace,
    require_range,
)
from gramian.checks import check_choice
from gramian.engine import LinearProblem, Solved, plan, solve, warn_of_cost
from gramian.engine.linear import Directions
from gramian.engine.seen import (
    FREQUENT_DIRECTIONS,
    OfSeen,
    SketchProblem,
    problem_of,
    sketch_costs,
    with_pass,
)
from gramian.errors import MemoryLimitError, ParameterError
from gramian.estimators.component_choice import (
    Wanted,
    after_the_fit,
    check_wanted,
    settle,
    with_rule,
)
from gramian.estimators.fitted import (
    InNotebooks,
    Transformer,
    held,
    on_device,
    parameter_at_fit,
    remember,
    remember_parameters,
    warn_of_none,
)
from gramian.estimators.habits import NEVER_OVERWRITTEN, UNTIL_CERTIFIED, KnowsHabits, refuse_metadata
from gramian.estimators.inputs import (
    check_ddof,
    check_features,
    check_scale,
    check_tol,
    checkpointed,
    expected_columns,
    remember_features,
    streams,
)
from gramian.estimators.saving import DECOMPOSED, Saved
from gramian.estimators.streaming import Streaming
from gramian.operators.seen import Seen
from gramian.records import Ask, FloatArray, Plan, Remainder, Target
from gramian.rows import Rows, as_rows
from gramian.rows.expected import Expected
from gramian.rows.kinds.device import sent_to
from gramian.rows.scan import Scan
from gramian.store import Array, Given, Shown

SOLVERS = ("auto", "full", "covariance", "gram", "krylov", FREQUENT_DIRECTIONS)
CHECKPOINT_INSTEAD = "save the data with numpy.save and give its pathlib.Path"
FINITE_NOW = 1 << 20  # entries up to which a search for NaN before anything else costs nothing


@dataclass(eq=False, repr=False)
class PCA(KnowsHabits, Streaming, Saved, InNotebooks, Transformer):
    """Principal component analysis by the cheaper of covariance and dual Gram matrix, certified.

    Parameters
    ----------
    n_components : int, float, {"mle", "parallel", "sign-flip", "gavish-donoho", "cv"} or None, default=None
        Number of components, up to ``min(n_samples, n_features)``; a fraction in (0, 1) of the variance to
        keep; a rule that finds the number (see :func:`gramian.choose_components`), at least 1; None keeps all
        ``min(n_samples, n_features)``.
    center : bool, default=True
        Subtract column means. Without it everything is about second moments: ratios of energy.
    scale : None, "unit", "pareto", "genotype" or array-like of shape (n_features,), default=None
        Divide centred columns by their standard deviation, by its square root, or by given numbers; or, for
        counts 0, 1, 2 of an allele, by ``sqrt(2 p (1 - p))`` with its frequency ``p = mean / 2``.
        Constant columns are left as they are and listed in ``constant_features_``.
    whiten : bool, default=False
        Scale scores to unit variance. Components beyond the rank give 0, never amplified noise.
    ddof : int, default=1
        Variances divide by ``n_samples - ddof``.
    solver : {"auto", "full", "covariance", "gram", "krylov", "frequent-directions"}, default="auto"
        Route to the eigenpairs; ``plan(X)`` says which one "auto" takes, and why. Every route is exact to
        ``tol``; an iteration that stalls hands over to a product route. "frequent-directions" alone, which
        "auto" never takes, is approximate: a sketch made in one pass, for tables or streams of more columns
        than their covariance leaves memory for. Its variances are none too large, and too small by no more
        than the certificate states. It takes a number of components, and no ``scale``.
    tol : float or None, default=None
        Bound on residuals relative to the largest eigenvalue; None means 1e-6 (float64) or 1e-5 (float32),
        and for "frequent-directions" whatever the sketch reaches.
    random_state : int, RandomState, Generator or None, default=None
        Start of the iteration, of the probe that certifies it, and of rules that draw from the data. The same
        integer gives the same results up to rounding; with the environment variable GRAMIAN_DETERMINISTIC=1
        the same bits, whatever the number of threads.
    memory_limit : int, str or None, default=None
        Working memory beside the data and the results, in bytes or as text such as "4GB"; None takes
        GRAMIAN_MEMORY_LIMIT or 80 % of the machine's memory.
    max_rmse : float or None, default=None
        In place of ``n_components``: keep the fewest components with a root-mean-square reconstruction error
        of at most this per entry, ``sqrt(sum |x - x~|^2 / (n d))``, in fitted (scaled) units.
    forgetting : float, default=1.0
        In (0, 1]: with each call of :meth:`partial_fit` the weight of all rows before is multiplied by it.
        Means and variances are then weighted ones, as of ``numpy.cov(..., aweights=w, ddof=ddof)``: sums of
        squares are divided by ``sum(w) - ddof * sum(w^2) / sum(w)``. :meth:`fit` is one batch: nothing comes
        before it that could be forgotten.
    sketch_size : int or None, default=None
        Rows of the sketch of "frequent-directions"; None takes twice the number of components, at least 20.
    device : {"cuda", "cuda:1", ..., "cpu"} or None, default=None
        Where PyTorch works on NumPy arrays and files: they are moved there, block by block where they are
        large, and results come back as NumPy arrays; "cpu" is the host. None works where the data is.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Orthonormal directions, by falling variance; in each, the first largest entry is positive.
    explained_variance_ : ndarray of shape (n_components_,), float64
        Variance of the scores, in squared units of the (scaled) data.
    explained_variance_ratio_ : ndarray of shape (n_components_,), float64
        Ratios of these variances to the total.
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
    component_choice_ : ComponentChoice or None
        What the rule found, and why; None where a number or None was asked for.
    rank_ : int
        Number of components above the rank tolerance among those computed.
    plan_ : Plan
        How it was computed and why: the route that gave the answer, with predicted and measured seconds.
    attempts_ : tuple of Attempt
        Every route that was run, in order, and why it was not enough.
    spectrum_ : Spectrum
        Eigenvalues, residuals and rank tolerance as the solver left them, without the vectors.
    certificate_ : Certificate
        What is guaranteed; print it.
    reconstruction_error_ : float
        Mean square ``||x - x~||^2`` over the fitted rows, in fitted (scaled) units.
    n_samples_, n_features_in_, feature_names_in_, picture_shape_
        What the data was.
    column_means_ : ndarray of shape (n_features,) or None
        What fills missing values of new files, where the data was a file read with ``missing="mean"``.
    counted_alleles_ : ndarray of shape (n_features,)
        Of genotypes in a .bed file only: the allele that each column counts; "" where the file does not say.

    References
    ----------
    Jolliffe (2002), Principal Component Analysis, 2nd ed. Chan, Golub, LeVeque (1979), Updating formulae and
    a pairwise algorithm for computing sample variances. Ghashami, Liberty, Phillips, Woodruff (2016),
    Frequent Directions: simple and deterministic matrix sketching, theorem 1.1. For genotypes: Patterson,
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

    contents: ClassVar = DECOMPOSED | {
        "components_": Array("k d"),
        "explained_variance_": Array("k", least=0),
        "singular_values_": Array("k", least=0),
        "mean_": Array("d"),
        "scale_": Given(Array("d"), "scale"),
        "_center": Array("d"),
        "_center_rest?": Array("d"),
        "_divisor": Given(Array("d"), "scale"),
        "_remainder?": Shown((Remainder,), {"columns": "d"}),
        "constant_features_": Array("_", least=0, kinds="iu"),
        "noise_variance_": float,
        "reconstruction_error_": float,
        "total_variance_": float,
        "_seen?": Shown((Seen,), {"sizes": "d d d d d"}),
    }

    _habits: ClassVar = {
        "svd_solver": 'solver="full", "covariance", "gram" or "krylov" is what it is here',
        "copy": NEVER_OVERWRITTEN,
        "iterated_power": UNTIL_CERTIFIED,
        "n_oversamples": UNTIL_CERTIFIED,
        "power_iteration_normalizer": UNTIL_CERTIFIED,
    }

    n_components: int | float | str | None = None
    _: KW_ONLY
    center: bool = True
    scale: Any = None
    whiten: bool = False
    ddof: int = 1
    solver: str = "auto"
    tol: float | None = None
    random_state: Any = None
    memory_limit: int | str | None = None
    max_rmse: float | None = None
    forgetting: float = 1.0
    sketch_size: int | None = None
    device: str | None = None

    # ------------------------------------------------------------------ fit

    def plan(self, X: Any) -> Plan:
        """Return the plan that ``fit(X)`` would follow, without doing it.

        The number that a rule finds is not known before: the plan is then for 10 components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Plan
        """
        rows = self._rows_to_fit(X)
        self._sketch_size(rows.shape[1])
        wanted = check_wanted(self, rows)
        return self._plan(rows, wanted, self._ask(rows, wanted.target))

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None, **metadata: Any
    ) -> Self:
        """Find the components of X.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, array-API array, Path or Scan of shape (n_samples, n_features)
            Samples as rows; a 3-D array (n_samples, height, width) holds pictures. Also an iterator of blocks
            of rows, such as a generator. Files, memory maps and blocks may be larger than memory. Chunks of a
            Dask array or frame are worked on where they are.
        y : ignored
        checkpoint : path, optional
            A folder in which what passes over a file have found is kept: at the end of each, and once a
            minute. After a crash the same call goes on from there, and gives what it would have given. The
            folder stays when the fit is done, and the same call then gives the same again without reading;
            remove it when the model is saved.
        **metadata
            None: ``sample_weight`` and whatever is routed are refused with what to do instead.

        Raises
        ------
        DataError
            NaN, infinity, text or complex entries, fewer than two rows.
        ParameterError
            A parameter outside of what it may be, a checkpoint of another fit, or one of data in memory.
        FileError
            A file or checkpoint that cannot be read or written; what the checkpoint has stays.
        MemoryLimitError
            When no route fits into ``memory_limit``.
        """
        refuse_metadata(self, metadata)
        self._fit(X, checkpoint)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None, **metadata: Any
    ) -> Any:
        """Find the components of X and return its scores, shape (n_samples, n_components_)."""
        refuse_metadata(self, metadata)
        rows, found = self._fit(X, checkpoint)
        if found.scores is None or rows.is_spread:
            return rows.mapped(self._projection().scores, self.n_components_)
        return self._projection().whitened(require_range(found.scores, "Scores"))

    def _rows(self, X: Any, limit: int | None = None, **options: Any) -> Rows:
        limit = memory_limit_bytes(self.memory_limit) if limit is None else limit
        rows = as_rows(X, estimator="PCA", check_finite=False, limit=limit, **options)
        return sent_to(rows, self.device)

    def _rows_to_fit(self, X: Any, **options: Any) -> Rows:
        """Return rows; of a file in blocks if its table in memory leaves too little for every route."""
        X = Scan(X) if isinstance(X, Path) else X
        rows = self._rows(X, minimum=2, **options)
        if rows.is_stored or not (rows.held and isinstance(X, Scan) and X.repeatable):
            return rows
        wanted = check_wanted(self, rows)
        try:
            self._plan(rows, wanted, self._ask(rows, wanted.target))
        except MemoryLimitError:
            # A table in memory may take a quarter of the limit.
            return self._rows(X, 4 * rows.held - 1, minimum=2, **options)
        return rows

    def _ask(self, rows: Rows, target: Target) -> Ask:
        """What is asked of the engine, but for random streams, which a plan does not need."""
        return Ask(
            target,
            check_tol(self.tol, rows.dtype),
            memory_limit_bytes(self.memory_limit, rows.like) - rows.held,
            check_choice("solver", self.solver, SOLVERS),
            held=rows.held,
        )

    def _problem(self, rows: Rows) -> LinearProblem:
        center = bool(self.center)
        scale, ddof = check_scale(self.scale, rows, center), check_ddof(self.ddof, rows.shape[0])
        return LinearProblem(rows, center, scale, ddof)

    def _plan(self, rows: Rows, wanted: Wanted, ask: Ask) -> Plan:
        size = self._sketch_size(rows.shape[1])
        if size is not None:
            return plan(sketch_costs(rows.shape, size), ask)
        problem = self._problem(rows)
        return with_rule(plan(problem.costs, ask), wanted, problem, ask.memory_limit)

    def _fit(self, X: Any, checkpoint: str | os.PathLike[str] | None = None) -> tuple[Rows, Directions]:
        rows = self._rows_to_fit(X, in_place=checkpoint is not None)
        size = self._sketch_size(rows.shape[1])
        if checkpoint is not None and (size is not None or not rows.is_stored):
            raise ParameterError(
                f"checkpoint={os.fspath(checkpoint)!r} keeps what passes over a file have found, and this "
                f"{'sketch makes one pass' if size is not None else 'data is in memory'}. Leave it out, or "
                f"{'take another solver' if size is not None else CHECKPOINT_INSTEAD}."
            )
        with checkpointed(self, rows, checkpoint) as (passes, seeds):
            if passes is not None:
                rows = replace(rows, passes=passes)  # type: ignore[call-arg]
            if not rows.is_stored and rows.shape[0] * rows.shape[1] <= FINITE_NOW:
                rows.require_finite()
            wanted = check_wanted(self, rows)
            found = self._plan(rows, wanted, self._ask(rows, wanted.target))
            warn_of_cost(found, lambda: "Fewer components, or a sample of the rows, cost less.", rows.like)
            problem = self._problem(rows)
            if size is not None:
                # One pass, as by a single batch.
                problem = problem_of(self._merged(None, rows), None, int(problem.ddof))
            answer = self._decompose(rows, problem, wanted, seeds)
        remember_features(self, X, rows)
        self.picture_shape_ = rows.picture_shape
        self.__dict__.pop("_seen", None)
        self._adopt(rows, problem, *answer)
        self._remainder = problem.remainder(*answer[:2])
        return rows, answer[1]

    def _decompose(
        self, rows: Rows, problem: LinearProblem, wanted: Wanted, seeds: list[int]
    ) -> tuple[Solved, Directions, ComponentChoice | None]:
        """Ask the rule and the engine; nothing is remembered yet."""
        solver_rng, probe_rng, rule_rng = streams(seeds, 3)
        ask = replace(self._ask(rows, wanted.target), solver_rng=solver_rng, probe_rng=probe_rng)
        target, choice = settle(self, problem, wanted, rule_rng)
        if isinstance(problem, SketchProblem):
            target = target if target.count is not None else Target(count=min(*rows.shape, problem.size))
            ask = ask if self.tol is not None else replace(ask, tol=np.inf)
        solved = solve(problem, replace(ask, target=target))
        if isinstance(problem, OfSeen):
            solved = with_pass(solved, problem.seen.seconds)
        found = problem.directions(solved, target.count)
        # A stream is solved in NumPy, whatever kind its rows were.
        found = replace(found, vectors=moved(found.vectors, rows.home))
        solved = replace(
            solved,
            plan=with_rule(solved.plan, wanted, problem, ask.memory_limit),
            certificate=held(solved.certificate, found.vectors),
        )
        return solved, found, choice

    def _adopt(
        self,
        rows: Rows,
        problem: LinearProblem,
        solved: Solved,
        found: Directions,
        choice: ComponentChoice | None,
    ) -> None:
        """Remember an answer."""
        self._remember(rows, problem, found)
        asked = not isinstance(self.n_components, (str, type(None)))
        told = choice is not None and choice.number == 0
        remember(
            self,
            found.components,
            solved,
            asked=asked,
            of="the data",
            spectrum=solved.spectrum,
            told=told,
            hidden=problem.hidden_by_offset(solved, found.components),
        )
        self.component_choice_ = choice = after_the_fit(self, choice)
        if choice is not None and isinstance(self.n_components, str):
            warn_of_none(choice, stacklevel=3)
        on_device(self, rows.home)

    def _remember(self, rows: Rows, problem: LinearProblem, found: Directions) -> None:
        components, view, degrees = found.components, problem.data_view(), problem.degrees
        remember_parameters(self, "whiten")
        self.n_samples_ = rows.shape[0]
        self.components_ = namespace(found.vectors).asarray(found.vectors.T)
        self.explained_variance_ = components.values
        self.singular_values_ = np.sqrt(components.values) * np.sqrt(degrees)
        self._center = view.mean * 2.0**view.exponent
        self.__dict__.pop("_center_rest", None)
        if view.rest is not None:
            self._center_rest = view.rest * 2.0**view.exponent
        self._divisor = view.data_divisor
        self.mean_ = from_numpy(self._center.astype(rows.dtype), rows.home)
        self.scale_ = (
            None if self._divisor is None else from_numpy(self._divisor.astype(rows.dtype), rows.home)
        )
        self.constant_features_ = np.flatnonzero(view.constant)
        self.noise_variance_ = components.noise
        self.reconstruction_error_ = components.left * (degrees / problem.weight)
        self.total_variance_ = float(components.total or 0.0)

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> Any:
        """Return scores ``(x - mean) / scale . components.T``, shape (n_samples, n_components_).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = self._rows(X, expected=expected_columns(self))
        check_features(self, X, rows)
        return rows.mapped(self._projection().scores, self.n_components_)

    def _projection(self) -> LinearProjection:
        deviations = None
        if parameter_at_fit(self, "whiten"):
            deviations = np.sqrt(as_float64(self.explained_variance_))
        center = as_float64(self._center)
        return LinearProjection(self.components_, center, self._host_divisor, deviations, self.rank_)

    @property
    def _host_divisor(self) -> FloatArray | None:
        return None if self._divisor is None else as_float64(self._divisor)

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
        rows = as_rows(X, estimator="PCA", expected=Expected())
        self._require_scores(rows)
        projection = self._projection()
        back = rows.mapped(lambda part: projection.back(dense(part.in_memory())), self.n_features_in_)
        return self._as_fitted(back)

    # ------------------------------------------------ what the model says

    def summary(self) -> Summary:
        """Return standard deviations, explained variance ratios and their cumulative sums as a table."""
        check_is_fitted(self)
        ratios = as_float64(self.explained_variance_ratio_)
        return Summary(
            component_names(self.n_components_),
            np.sqrt(as_float64(self.explained_variance_)),
            ratios,
            np.cumsum(ratios),
            getattr(self, "component_choice_", None),
        )

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

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each row under the probabilistic PCA model, shape (n_samples,).

        It is lazy for Dask's collections.

        References
        ----------
        Tipping and Bishop (1999), Probabilistic principal component analysis, equation 8.
        """
        gaussian = self._gaussian()
        rows = self._rows(X, expected=expected_columns(self))
        check_features(self, X, rows)
        projection = self._projection()

        def densities(part: Rows) -> Any:
            part.require_finite()
            view = projection.centered(part)
            blocks = (view.block(some, slice(None)) for some in view.row_slices())
            found = np.concatenate([gaussian.log_density(as_float64(block)) for block in blocks])
            return from_numpy(found, part.like)[:, None]

        return rows.mapped(densities, 1, np.float64)[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X."""
        return float(as_float64(self.score_samples(X)).mean())

    def _gaussian(self) -> Gaussian:
        check_is_fitted(self)
        return Gaussian(
            as_float64(self.components_),
            as_float64(self.explained_variance_),
            float(self.noise_variance_),
            self._host_divisor,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        rule = RULES.get(self.n_components) if isinstance(self.n_components, str) else None
        tags.input_tags.sparse = rule is None or not rule.draws
        return tags
