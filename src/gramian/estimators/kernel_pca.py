"""Kernel principal component analysis."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.projection import KernelProjection
from gramian.analysis.ridge_map import RidgeMap
from gramian.arrays import (
    alike,
    as_float64,
    from_numpy,
    is_numpy,
    memory_limit_bytes,
    moved,
    numpy_dtype,
    parallel_map,
    require_range,
    to_dtype,
    to_float64,
)
from gramian.checks import amount, check_choice, duration
from gramian.engine import Solved, plan, solve, warn_of_cost
from gramian.engine.kernel import KernelProblem
from gramian.errors import (
    CertificateWarning,
    DataError,
    GramianError,
    MemoryLimitError,
    ParameterError,
)
from gramian.estimators.encoding import FUNCTIONS, KERNELS
from gramian.estimators.feature_maps import RandomFourierMap
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
from gramian.estimators.habits import (
    ALWAYS_ALL,
    NEVER_OVERWRITTEN,
    UNTIL_CERTIFIED,
    KnowsHabits,
    refuse_metadata,
)
from gramian.estimators.inputs import (
    check_features,
    check_target,
    check_tol,
    checkpointed,
    expected_columns,
    generators,
    remember_features,
    streams,
)
from gramian.estimators.kernel_rules import ask_of_kernel, with_kernel
from gramian.estimators.landmarks import APPROXIMATE, ByFeatures, some_of
from gramian.estimators.preimages import preimage_method
from gramian.estimators.saving import DECOMPOSED, Saved, register_forms
from gramian.kernels import Evaluator, Kernel, kernel_from_name
from gramian.kernels.expression import PRECOMPUTED
from gramian.operators.features import FeatureSums
from gramian.operators.kernel_source import KernelSource, MatrixSource, cross_times
from gramian.records import Ask, Plan, Repair, Target
from gramian.rows import Rows, as_rows
from gramian.rows.kinds.dask import DaskRows, is_dask
from gramian.rows.kinds.device import sent_to, tile_length
from gramian.store import Array, Given

SOLVERS = ("auto", "dense", "krylov", *APPROXIMATE)
RULES = ("parallel", "cv")
MAPPED_BY = ("X_fit_", "landmarks_", "feature_map_")
BLOCK = 480  # new rows mapped at a time by one worker


register_forms(KERNELS, FUNCTIONS)


@dataclass(eq=False, repr=False)
class KernelPCA(KnowsHabits, ByFeatures, Saved, InNotebooks, Transformer):
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
        "kernel_": Given(Kernel, equal=("m", "d")),  # a precomputed one has a column for every fitted row
        "X_fit_": Given(Array("m d", sparse=True)),
        "landmarks_?": Given(Array("m d", sparse=True)),
        "landmark_indices_?": Given(Array("m", kinds="i")),
        "feature_map_?": RandomFourierMap | None,
        "eigenvalues_": Array("k"),
        "eigenvectors_?": Array("n k"),
        "explained_variance_": Array("k"),
        "projection_coef_": Array("m k"),
        "_row_means": Array("m"),
        "_mean": float,
        "_mean_weights?": Given(Array("m")),
        "_sums?": FeatureSums | None,
        "repair_?": Repair | None,
        "_ridge_map?": RidgeMap | None,
    }

    _habits: ClassVar = {
        "eigen_solver": 'solver="dense" or "krylov" is what it is here',
        "fit_inverse_transform": "leave it out: inverse_transform works after every fit",
        "alpha": 'preimage="ridge" chooses it by itself',
        "remove_zero_eig": "leave it out: model.rank_ says how many components have an eigenvalue",
        "max_iter": UNTIL_CERTIFIED,
        "iterated_power": UNTIL_CERTIFIED,
        "copy_X": NEVER_OVERWRITTEN,
        "n_jobs": ALWAYS_ALL,
    }

    n_components: int | float | str | None = None
    _: KW_ONLY
    kernel: Any = "linear"
    gamma: float | str | None = None
    degree: int = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    center: bool = True
    solver: str = "auto"
    tol: float | None = None
    random_state: Any = None
    memory_limit: int | str | None = None
    repair: str | None = None
    preimage: str = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    device: str | None = None

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
        if self._approximate:
            rows = self._rows(X, minimum=2)
            return self._plan_features(rows, self._kernel(rows))
        spread, rows = self._here(X)
        if isinstance(self.n_components, str):
            # The number is not known before the rule was asked, which takes many fits.
            check_choice("n_components", self.n_components, RULES)
            target = Target(count=min(10, rows.shape[0]))
        else:
            target = self._target(rows)
        kernel = self._kernel(rows)
        evaluator = None if kernel is None else self._bind(kernel, rows.in_memory())
        problem = self._problem(rows, evaluator, target, spread)
        return self._planned(problem, self._ask(rows, target, problem), kernel)

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
        if self._approximate:
            self._fit_features(X, checkpoint)
        else:
            self._fit(X, checkpoint)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None, **metadata: Any
    ) -> Any:
        """Fit and return the scores ``sqrt(eigenvalue) * eigenvector``, shape (n_samples, n_components_)."""
        refuse_metadata(self, metadata)
        if self._approximate:
            rows = self._rows(X)
            return self.fit(X if rows.table is None else rows.table, checkpoint=checkpoint).transform(X)
        self._fit(X, checkpoint)
        if is_dask(X):
            return self.transform(X)
        scale, vectors = np.sqrt(as_float64(self.eigenvalues_)), self.eigenvectors_
        with np.errstate(over="ignore"):  # of float32, which the scores may be within and the scale not
            scores = to_float64(vectors) * from_numpy(scale, vectors)[None, :]
            scores = to_dtype(scores, numpy_dtype(vectors))
        return require_range(scores, "Scores")

    def _rows(self, X: Any, **options: Any) -> Rows:
        if self._approximate:
            options.setdefault("limit", memory_limit_bytes(self.memory_limit))
        rows = as_rows(X, estimator="KernelPCA", **options)
        if rows.is_sparse and self._precomputed:
            raise DataError(
                "kernel='precomputed' takes a matrix with all of its entries, and X is sparse. Pass "
                "X.toarray(), or the rows themselves with the kernel's name."
            )
        return sent_to(rows, self.device)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _asked_kernel(self) -> Kernel:
        """The kernel as its parameters say, without numbers from the data."""
        return kernel_from_name(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _kernel(self, rows: Rows) -> Kernel | None:
        """The kernel with every parameter a number; None for a precomputed one."""
        if self._precomputed:
            return None
        kernel = self._asked_kernel()
        rows = rows.at_home
        values = some_of(rows) if rows.is_stored else rows.in_memory()
        kernel.admit_sparse(values)
        return kernel.resolve(values, rows.feature_names)

    def _bind(self, kernel: Kernel, rows: Any) -> Evaluator:
        """The kernel on rows to be fitted, its entries accurate enough for ``tol``."""
        return kernel.bind(rows, self._precision(rows, self.tol), centered=bool(self.center))

    def _bound(self, fitted: Any) -> Evaluator:
        """The kernel on the fitted rows or landmarks, as it was when the model was fitted."""
        # Landmarks span what they span about the origin that the kernel has.
        centered = self.landmarks_ is None and bool(parameter_at_fit(self, "center"))
        precision = self._precision(fitted, parameter_at_fit(self, "tol"))
        kernel: Kernel = self.kernel_
        return kernel.bind(fitted, precision, centered=centered)

    @staticmethod
    def _precision(fitted: Any, tol: float | None) -> float:
        """The error of an entry, relative to the largest, that leaves ``tol`` to be reached."""
        return float(min(1e-9, 0.1 * check_tol(tol, numpy_dtype(fitted)) / fitted.shape[0] ** 0.5))

    def _warn_of_products(self, bound: Evaluator, solved: Solved, fitted: Any) -> None:
        """Say what helps where the products of sparse rows are why a certificate does not hold."""
        error = bound.relative + bound.absolute / (bound.largest or 1.0)
        held = solved.certificate is not None and solved.certificate.ok and solved.spectrum.rank > 0
        if sparse.issparse(fitted) and not held and error > self._precision(fitted, self.tol):
            warnings.warn(
                f"Products of these sparse rows leave errors of up to {error:.1e} in kernel values: rows lie "
                "many widths of the kernel from 0. Pass X.toarray(), for which differences are summed, or "
                "take a wider kernel.",
                CertificateWarning,
                stacklevel=4,
            )

    def _target(self, rows: Rows) -> Target:
        return check_target(self.n_components, rows.shape[0], rows.shape, of="kernel components")

    def _choice(self, rows: Rows, kernel: Kernel | None) -> Any:
        """What a rule says about the number of components; None where a number was given."""
        if not isinstance(self.n_components, str):
            return None
        rule = check_choice("n_components", self.n_components, RULES)
        model = with_kernel(self, kernel, n_components=None)
        choice = ask_of_kernel(model, rows, rule, rng=generators(self.random_state, 3)[2])
        if choice.number is None:
            raise ParameterError(f"n_components={rule!r}: {choice.sentence}")
        warn_of_none(choice, stacklevel=5)
        return choice

    def _ask(self, rows: Rows, target: Target, problem: KernelProblem) -> Ask:
        solver = check_choice("solver", self.solver, SOLVERS)
        self._refuse_landmarks()
        if solver == "krylov" and problem.everything and problem.clip:
            raise ParameterError(
                "solver='krylov' finds the largest eigenvalues only, and repair='clip' needs the negative "
                "ones. Leave solver at 'auto'."
            )
        tol, limit = check_tol(self.tol, rows.dtype), memory_limit_bytes(self.memory_limit, rows.like)
        return Ask(target, tol, limit, solver)

    def _here(self, X: Any) -> tuple[Any, Rows]:
        """Return the rows where they are spread, or None; and all of them here, since a model keeps them."""
        limit = memory_limit_bytes(self.memory_limit)
        rows = self._rows(X, minimum=2, **({"limit": limit} if is_dask(X) else {}))
        if not isinstance(rows, DaskRows):
            return None, rows
        try:
            return rows, rows.here()
        except MemoryLimitError as error:
            way_out = "KernelPCA(solver='nystroem') keeps landmarks in their place."
            raise MemoryLimitError(f"{error} An exact model keeps all rows. {way_out}") from error

    def _problem(
        self, rows: Rows, evaluator: Evaluator | None, target: Target, spread: Any = None
    ) -> KernelProblem:
        return KernelProblem(
            rows,
            None,
            center=bool(self.center),
            psd=evaluator is not None and evaluator.kernel.psd,
            clip=self.repair is not None and check_choice("repair", self.repair, ("clip",)) == "clip",
            calls=None if evaluator is None else evaluator.kernel.calls(rows.in_memory()),
            given=evaluator is None,
            fraction=target.fraction is not None,
            single=evaluator is not None and evaluator.single is not None,
            spread=None if evaluator is None else spread,
        )

    def _planned(self, problem: KernelProblem, ask: Ask, kernel: Kernel | None) -> Plan:
        try:
            return plan(problem.costs, ask, everything=problem.everything)
        except MemoryLimitError as error:
            said = str(error)
            if problem.spread is not None:
                tiles, room = amount(4 * problem.rows.shape[0] ** 2), amount(problem.spread.room)
                said += f" Tiles of the matrix take {tiles}, and {room} may be kept where the rows are."
            raise MemoryLimitError(
                f"{said} {self._cheaper(problem.spread or problem.rows, kernel)}"
            ) from error

    def _cheaper(self, rows: Rows, kernel: Kernel | None) -> str:
        """What takes less time than all rows, and how long, as advice."""
        advice = "A sample of the rows costs less."
        if kernel is None or not kernel.psd or isinstance(self.n_components, str) or self.repair is not None:
            return advice
        advice = "A sample of the rows costs less, or KernelPCA(solver='nystroem') with few n_landmarks."
        other = clone(self).set_params(solver="nystroem", n_components=None, kernel=kernel)
        with suppress(GramianError):
            seconds = other._plan_features(rows, kernel).seconds
            advice = (
                "KernelPCA(solver='nystroem') takes landmarks in place of all rows, here about "
                f"{duration(seconds)}; its certificate_ bounds the exact eigenvalues."
            )
        return advice

    def _fit(self, X: Any, checkpoint: str | os.PathLike[str] | None = None) -> None:
        spread, rows = self._here(X)
        kernel = self._kernel(rows)
        choice = self._choice(rows, kernel)
        target = self._target(rows) if choice is None else Target(count=max(1, choice.number))
        preimage_method(self.preimage, kernel, sparse=rows.is_sparse)
        X_fit = rows.in_memory()
        # Of an earlier fit.
        self.landmarks_ = self.landmark_indices_ = self.feature_map_ = None
        self._mean_weights = self._sums = None
        evaluator = None if kernel is None else self._bind(kernel, X_fit)
        problem = self._problem(rows, evaluator, target, spread)
        ask = self._ask(rows, target, problem)
        planned = self._planned(problem, ask, kernel)
        warn_of_cost(planned, lambda: self._cheaper(spread or rows, kernel), rows.like)
        problem.source = MatrixSource(X_fit) if evaluator is None else KernelSource(evaluator, X_fit)
        with checkpointed(self, spread or rows, checkpoint) as (problem.passes, seeds):
            solver_rng, probe_rng = streams(seeds, 2)
            solved = solve(problem, replace(ask, solver_rng=solver_rng, probe_rng=probe_rng))
        if evaluator is not None:
            self._warn_of_products(evaluator, solved, X_fit)
        found = problem.coefficients(solved, target.count)
        remember_features(self, X, rows)
        remember_parameters(self, "center", "tol")
        self.kernel_ = None if evaluator is None else evaluator.kernel
        self.X_fit_ = None if evaluator is None else rows.owned()
        self.component_choice_ = choice
        self.eigenvalues_ = found.components.values
        self.eigenvectors_ = found.vectors
        self.explained_variance_ = found.components.values / (rows.shape[0] - 1)
        self.projection_coef_ = found.coefficients
        self._row_means, self._mean = found.row_means, found.mean
        self.n_samples_ = rows.shape[0]
        self.repair_: Repair | None = found.repair
        self.picture_shape_ = rows.picture_shape
        self._ridge_map = None
        solved = replace(solved, certificate=held(solved.certificate, found.vectors))
        remember(
            self,
            found.components,
            solved,
            asked=self.n_components is not None,
            of="the centred kernel matrix" if self.center else "the kernel matrix",
            spectrum=problem.scaled(solved.spectrum),
        )
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
        rows = self._rows(X, expected=expected_columns(self), limit=limit)
        check_features(self, X, rows)
        return rows.mapped(self._mapped, self.n_components_)

    def _mapped(self, rows: Rows) -> Any:
        """Return the scores of rows that were checked."""
        xp, like, map = rows.xp, rows.like, self._projection
        work = self._block_scores(rows, map)
        n = rows.shape[0]
        size = BLOCK if is_numpy(like) else tile_length(like)
        slices = [slice(start, min(n, start + size)) for start in range(0, n, size)]
        if is_numpy(like):
            parts = parallel_map(work, slices, part="block of rows")
        else:
            parts = [work(part) for part in slices]
        scores = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        with np.errstate(over="ignore"):
            scores = to_dtype(scores - from_numpy(map.offset, like), rows.dtype)
        return require_range(scores, "Scores")

    @property
    def _projection(self) -> KernelProjection:
        """How new rows are mapped: the same for fitted rows, landmarks and random features."""
        alpha, weights = as_float64(self.projection_coef_), self._mean_weights
        weights = None if weights is None else as_float64(weights)
        n, k = alpha.shape
        if not parameter_at_fit(self, "center"):
            return KernelProjection(self._nodes, alpha, np.zeros(k), np.zeros(n))
        if weights is None:
            # Centred coefficients cancel the row means of the new kernel values; what is left is constant.
            alpha, weights = alpha - alpha.mean(axis=0), np.full(n, 1.0 / n)
        return KernelProjection(self._nodes, alpha, as_float64(self._row_means) @ alpha, weights)

    @property
    def _nodes(self) -> Any:
        """The rows that the kernel of a new row is taken with; None where there are none."""
        return self.X_fit_ if self.landmarks_ is None else self.landmarks_

    def _block_scores(self, rows: Rows, map: KernelProjection) -> Any:
        """Return the function that maps a slice of new rows to uncentred scores."""
        alpha = from_numpy(map.coefficients, rows.like)
        if self.kernel_ is None:
            return lambda part: to_float64(rows.block(part).values) @ alpha
        if self.feature_map_ is not None:
            features = self.feature_map_.feature_map_
            return lambda part: features.evaluate(rows.block(part).dense) @ alpha
        held = sparse.issparse(map.nodes)
        fitted = map.nodes if held else moved(map.nodes, rows.like)
        evaluator = self._bound(fitted)
        _, right = evaluator.encode(fitted)
        # Sparse factors are NumPy's, wherever the new rows are.
        factors = map.coefficients if held else alpha
        size = 2 * BLOCK if is_numpy(rows.like) else tile_length(rows.like)

        def work(part: slice) -> Any:
            left, _ = evaluator.encode(alike(rows.block(part).values, fitted))
            return moved(cross_times(evaluator, left, right, factors, size), rows.like)

        return work

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        with suppress(GramianError):
            tags.input_tags.sparse = (
                not self._precomputed
                and self.solver != "random-features"
                and self.n_components not in RULES
                and self._asked_kernel().takes_sparse
            )
        return tags
