"""Kernel PCA of many rows: by landmarks or random features, in time and memory linear in the rows."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian.arrays import (
    alike,
    as_float64,
    dense,
    from_numpy,
    memory_limit_bytes,
    numpy_dtype,
    power_of_two,
    to_numpy,
)
from gramian.checks import check_choice, check_integer, counted, evenly
from gramian.engine import solve
from gramian.engine.features import (
    PER_CENTRE,
    Basis,
    FeatureProblem,
    approximated,
    feature_plan,
    landmark_bounds,
    plan_features,
)
from gramian.errors import DataError, ParameterError, UnavailableError
from gramian.estimators.feature_maps import RandomFourierMap
from gramian.estimators.fitted import on_device, remember
from gramian.estimators.habits import refuse_metadata
from gramian.estimators.inputs import (
    check_features,
    check_target,
    check_tol,
    expected_columns,
    generators,
    remember_features,
)
from gramian.estimators.preimages import WithPreimages, preimage_method
from gramian.estimators.saving import register_record
from gramian.kernels import RBF, Evaluator, Kernel
from gramian.kernels.feature_maps import CONFIDENCE
from gramian.kernels.widths import MEDIAN_ROWS
from gramian.operators.features import FeatureSums, KernelValues, feature_sums, numpy_rows
from gramian.operators.kernel_source import NEAR_ONE
from gramian.operators.pivots import random_pivots, rows_at
from gramian.records import Approximation, Ask, FloatArray, Plan, Repair, Target
from gramian.rows import Block, Rows, as_rows
from gramian.store import Array

APPROXIMATE = ("nystroem", "random-features")
LANDMARK_RULES = ("rpcholesky", "uniform", "kmeans")
N_LANDMARKS = 1000
NEAR_MEAN = 64  # rows whose kernel values are subtracted, on average, before products are summed

register_record(FeatureSums, shift=Array("m"), first=Array("m"), second=Array("m m"))


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of a row whose sums are taken, and what makes features of them.

    Attributes
    ----------
    values : callable
        Writes them for a block of rows.
    diagonal : callable
        From rows to k(x, x).
    shift : ndarray of shape (m,)
        Near their mean.
    basis : ndarray of shape (m, r)
    single : bool
        Whether they may be rounded to float32.
    spread : float
        Largest over least squared length that the basis was divided by.
    exponent : int
        An even number: all of them are divided by ``2**exponent``, where squares would leave float64's range.
    bounds : callable
        From a problem to what is known of its distance from the exact one.
    """

    values: Callable[[Any, Any], None]
    diagonal: Callable[[Any], Any]
    shift: FloatArray
    basis: FloatArray
    single: bool
    spread: float
    exponent: int
    bounds: Callable[[FeatureProblem], Approximation]

    def sums(self, rows: Rows) -> FeatureSums:
        """Pass over the rows."""
        return feature_sums(rows, self.values, self.shift, self.diagonal, single=self.single)


class ByFeatures(WithPreimages):
    """Gives kernel PCA ``solver="nystroem"`` and ``"random-features"``, and with them ``partial_fit``."""

    landmarks_: Any = None
    landmark_indices_: Any = None
    feature_map_: RandomFourierMap | None = None
    _mean_weights: FloatArray | None = None
    _sums: FeatureSums | None = None
    repair_: Repair | None = None

    @property
    def _approximate(self: Any) -> bool:
        return isinstance(self.solver, str) and self.solver in APPROXIMATE

    @property
    def partial_fit(self: Any) -> Callable[..., Any]:
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
                f"partial_fit needs features that do not grow with the rows, and solver={self.solver!r} has "
                "none. Write KernelPCA(solver='nystroem', n_landmarks=1000) or "
                "KernelPCA(solver='random-features')."
            )
        return self._fit_more  # type: ignore[no-any-return]

    def _fit_more(self: Any, X: Any, y: Any = None, **metadata: Any) -> Any:
        refuse_metadata(self, metadata)
        before = self._sums
        if before is None:
            self._fit_features(X, keep=True)
            return self
        began = time.perf_counter()
        rows = self._rows(X, expected=expected_columns(self))
        check_features(self, X, rows)
        functions: Functions = self._functions_again(before)
        sums = before + functions.sums(rows)
        self._solve_features(sums, functions, rows.shape[1], began)
        self._sums = sums
        on_device(self, rows.home)
        return self

    # ------------------------------------------------------------- what is asked for

    def _refuse_landmarks(self: Any) -> None:
        """Refuse parameters of landmarks where there are none."""
        by_name = isinstance(self.landmarks, str)
        if self.n_landmarks is not None or not by_name or self.landmarks != "rpcholesky":
            given = "landmarks" if self.n_landmarks is None else "n_landmarks"
            raise ParameterError(
                f"{given} belongs to solver='nystroem' or 'random-features', and solver={self.solver!r} "
                "takes every row. Leave it out, or set the solver."
            )

    def _check_approximate(self: Any, rows: Rows, kernel: Kernel | None) -> int:
        """Refuse what landmarks and random features cannot do; return how many there will be."""
        asked, solver = self.landmarks, self.solver
        if kernel is None:
            raise ParameterError(
                f"solver={solver!r} evaluates the kernel on some rows, and kernel='precomputed' is a matrix "
                "of all. Give the rows and the kernel itself, or leave solver at 'auto'."
            )
        if not kernel.psd:
            raise ParameterError(
                f"solver={solver!r} needs a kernel that is proven positive semi-definite, and of {kernel!r} "
                f"it is not: {kernel.validity.reason} Leave solver at 'auto', which looks at all eigenvalues."
            )
        if self.repair is not None:
            raise ParameterError(
                f"repair={self.repair!r} is about kernels with negative eigenvalues, which solver={solver!r} "
                "does not take. Leave it out."
            )
        if isinstance(self.n_components, str):
            raise ParameterError(
                f"n_components={self.n_components!r} is a rule that fits all rows many times. With "
                f"solver={solver!r} give a number or a fraction; choose_components(model, sample) asks rules."
            )
        by_name = isinstance(asked, str)
        if solver == "random-features":
            return int(self._check_random_features(rows, kernel, by_name and asked == "rpcholesky"))
        if by_name:
            check_choice("landmarks", asked, LANDMARK_RULES)
        elif self.n_landmarks is not None:
            raise ParameterError(
                f"n_landmarks={self.n_landmarks!r} and landmarks are both given, and the rows in landmarks "
                "are as many as they are. Leave n_landmarks out."
            )
        else:
            return int(self._given_landmarks(rows).shape[0])
        if self.n_landmarks is None:
            return int(min(N_LANDMARKS, rows.shape[0]))
        advice = "Landmarks are rows, of which there are no more."
        return check_integer("n_landmarks", self.n_landmarks, 1, rows.shape[0], advice)

    def _check_random_features(self: Any, rows: Rows, kernel: Kernel, default: bool) -> int:
        if not default:
            raise ParameterError(
                "landmarks belongs to solver='nystroem': random features have none. Leave it out."
            )
        if not isinstance(kernel, RBF):
            raise ParameterError(
                f"solver='random-features' is for the kernel rbf, and this is {kernel!r}. Write "
                "solver='nystroem', which takes every valid kernel."
            )
        if rows.is_sparse:
            raise DataError(
                "solver='random-features' takes dense rows, and X is sparse. Write solver='nystroem', or "
                "pass X.toarray()."
            )
        return N_LANDMARKS if self.n_landmarks is None else check_integer("n_landmarks", self.n_landmarks)

    def _given_landmarks(self: Any, rows: Rows) -> Any:
        """Landmarks that the user gave, as rows of the same kind as the data."""
        given = as_rows(self.landmarks, estimator="KernelPCA(landmarks=...)")
        if given.shape[1] != rows.shape[1]:
            raise ParameterError(
                f"landmarks has {given.shape[1]} columns and X has {rows.shape[1]}. Landmarks are rows like "
                "those of X."
            )
        values = given.in_memory()
        kept = sparse.issparse(values)
        return alike(values if kept else to_numpy(values), numpy_rows(rows.block(slice(0, 1)).values))

    def _approximate_target(self: Any, rows: Rows, m: int) -> Target:
        of = "landmarks" if self.solver == "nystroem" else "random features"
        target = check_target(self.n_components, rows.shape[0], rows.shape, of="kernel components")
        if target.count is not None and target.count > m:
            raise ParameterError(
                f"n_components={target.count} but {m} {of} have at most {m} components. Ask for fewer, or "
                f"for n_landmarks={target.count} or more."
            )
        return target

    # ------------------------------------------------------------------------- plan

    def _plan_features(self: Any, rows: Rows, kernel: Kernel | None) -> Plan:
        """What ``fit`` would do, with predicted seconds and bytes."""
        m = self._check_approximate(rows, kernel)
        target = self._approximate_target(rows, m)
        single = rows.dtype == np.float32 and kernel is not None and kernel.facts.unit_diagonal
        ask = self._feature_ask(target, rows.dtype)
        return plan_features(rows.shape, m, ask, rule=self._rule, single=single)

    @property
    def _rule(self: Any) -> str | None:
        """How landmarks are chosen; None for random features."""
        if self.solver == "random-features":
            return None
        return self.landmarks if isinstance(self.landmarks, str) else "given"

    def _feature_ask(self: Any, target: Target, dtype: Any) -> Ask:
        return Ask(target, check_tol(self.tol, dtype), memory_limit_bytes(self.memory_limit))

    # -------------------------------------------------------------------------- fit

    def _fit_features(self: Any, X: Any, checkpoint: Any = None, *, keep: bool = False) -> None:
        began = time.perf_counter()
        if checkpoint is not None:
            raise ParameterError(
                f"checkpoint keeps products with the kernel matrix, and solver={self.solver!r} makes none: "
                "it passes over the rows once or twice. Leave checkpoint out."
            )
        rows = self._rows(X, minimum=2)
        kernel = self._kernel(rows)
        self._plan_features(rows, kernel)
        preimage_method(self.preimage, kernel, sparse=rows.is_sparse, nodes=self.solver == "nystroem")
        m = self._check_approximate(rows, kernel)
        rng = generators(self.random_state, 4)[3]
        self.feature_map_ = self.landmarks_ = self.landmark_indices_ = None
        if self.solver == "random-features":
            functions = self._random_features(rows, kernel, m, rng)
        else:
            functions = self._landmark_functions(rows, kernel, m, rng)
        sums = functions.sums(rows)
        remember_features(self, X, rows)
        self.kernel_, self.X_fit_ = kernel, None
        self.__dict__.pop("eigenvectors_", None)
        self.picture_shape_ = rows.picture_shape
        self.component_choice_ = self.repair_ = None
        self._ridge_map = None
        self._solve_features(sums, functions, rows.shape[1], began)
        self._sums = sums if keep else None
        on_device(self, rows.home)

    def _landmark_functions(
        self: Any, rows: Rows, kernel: Kernel, m: int, rng: np.random.Generator
    ) -> Functions:
        """Choose landmarks and orthonormalise them."""
        # For the precision only the number of rows counts.
        shape_only = np.broadcast_to(rows.dtype.type(0), rows.shape)
        every = kernel.bind(_reaching_as_far(rows), self._precision(shape_only))
        landmarks, indices = self._chosen(rows, every, m, rng)
        self.landmark_indices_ = indices
        self.landmarks_ = landmarks if sparse.issparse(landmarks) else from_numpy(landmarks, rows.home)
        found: Functions = self._of_landmarks(kernel, landmarks, rows.shape[0], rows.dtype, every)
        # Near the mean of rows, which landmarks that were given need not be near to.
        some = rows_at(rows, np.array(evenly(rows.shape[0], NEAR_MEAN)))
        values = np.empty((some.shape[0], landmarks.shape[0]))
        found.values(some, values)
        return replace(found, shift=values.mean(axis=0))

    def _of_landmarks(
        self: Any, kernel: Kernel, landmarks: Any, n: int, dtype: Any, every: Evaluator | None = None
    ) -> Functions:
        # As transform does; what a value is off by, is also what it is for all rows.
        evaluator = kernel.bind(landmarks, self._precision(landmarks))
        relative = max(bound.relative for bound in (evaluator, every or evaluator))
        absolute = max(bound.absolute for bound in (evaluator, every or evaluator))
        diagonal = as_float64(evaluator.diagonal(landmarks))
        largest = float(diagonal.max(initial=0.0))
        if not np.isfinite(n * n * largest):
            raise DataError(
                "The eigenvalues of this kernel matrix are larger than float64 can hold. Divide the data, or "
                "the kernel, by a power of ten first."
            )
        exponent = 2 * (power_of_two(largest) // 2) if abs(power_of_two(largest)) > NEAR_ONE else 0
        values = KernelValues(evaluator, landmarks, 2.0**-exponent)
        W, diagonal = np.empty((landmarks.shape[0],) * 2), diagonal * 2.0**-exponent
        values(landmarks, W)
        W = (W + W.T) / 2
        np.fill_diagonal(W, diagonal)
        basis = Basis.of(W, relative, absolute * 2.0**-exponent)
        single = dtype == np.float32 and evaluator.facts.unit_diagonal and basis.allows_single(W, n)
        by = counted(len(W), "landmark")
        return Functions(
            values,
            lambda X: as_float64(evaluator.diagonal(X)) * 2.0**-exponent,
            W.mean(axis=0),
            basis.vectors,
            single,
            basis.largest / basis.smallest,
            exponent,
            lambda problem: landmark_bounds(problem, basis, by),
        )

    def _chosen(self: Any, rows: Rows, evaluator: Evaluator, m: int, rng: np.random.Generator) -> Any:
        """Landmarks by the rule that was asked for, and which rows they are, where they are rows."""
        if not isinstance(self.landmarks, str):
            return self._given_landmarks(rows), None
        if self.landmarks == "kmeans":
            return _centres(rows, m, rng), None
        if self.landmarks == "uniform":
            indices = np.sort(rng.choice(rows.shape[0], size=m, replace=False))
        else:
            single = rows.dtype == np.float32 and evaluator.facts.unit_diagonal
            indices = random_pivots(
                evaluator,
                rows,
                m,
                tol=check_tol(self.tol, rows.dtype),
                center=bool(self.center),
                rng=rng,
                dtype=np.float32 if single else np.float64,
            )
            if not len(indices):
                # Where k(x, x) is 0 everywhere, any row will do.
                indices = np.zeros(1, dtype=np.intp)
        return rows_at(rows, indices), indices

    def _random_features(
        self: Any, rows: Rows, kernel: Kernel, m: int, rng: np.random.Generator
    ) -> Functions:
        rates = np.broadcast_to(kernel.rates, rows.shape[1])  # type: ignore[attr-defined]
        made = RandomFourierMap(m, gamma=rates, random_state=rng)
        self.feature_map_ = made.fit(rows if rows.is_stored else dense(numpy_rows(rows.in_memory())))
        made.random_state = made.gamma = None
        found: Functions = self._of_map(made, rows.dtype)
        return found

    def _of_map(self: Any, made: RandomFourierMap, dtype: Any) -> Functions:
        mapping, error = made.feature_map_, made.kernel_error_
        m = len(mapping)
        single = dtype == np.float32

        def values(X: Any, out: Any) -> None:
            out[...] = mapping.evaluate(X, out.dtype)

        def bounds(problem: FeatureProblem) -> Approximation:
            n = problem.sums.count
            off = n * error.bound
            by = counted(m, "random feature")
            return Approximation(by, None, float(n), off, off, "probabilistic", 1.0 - CONFIDENCE)

        zero = np.zeros(m)
        return Functions(values, lambda X: np.ones(len(X)), zero, np.eye(m), single, 1.0, 0, bounds)

    def _functions_again(self: Any, sums: FeatureSums) -> Functions:
        """The functions of an earlier call, whose sums are about the same point and in the same precision."""
        dtype = np.dtype(np.float32 if sums.single else np.float64)
        if self.feature_map_ is not None:
            found: Functions = self._of_map(self.feature_map_, dtype)
        else:
            found = self._of_landmarks(self.kernel_, numpy_rows(self.landmarks_), sums.count, dtype)
        return replace(found, shift=sums.shift, single=sums.single)

    def _solve_features(self: Any, sums: FeatureSums, functions: Functions, d: int, began: float) -> None:
        """Find the eigenpairs of the features' matrix, and set what a fitted model has."""
        solver_rng, probe_rng = generators(self.random_state)
        centered, unit = bool(self.center), 2.0**functions.exponent
        problem = FeatureProblem(sums, functions.basis, centered, functions.spread, unit)
        bounds = functions.bounds(problem)
        total = float(np.trace(problem.matrix)) + (bounds.unexplained or 0.0)
        dtype = np.dtype(np.float32 if sums.single else np.float64)
        m = len(functions.shift)
        # Whether so many may be asked for was decided before it was known how many landmarks there are.
        target = check_target(self.n_components, sys.maxsize, (sums.count, m))
        asked = target.count
        if asked is not None:
            target = Target(count=min(asked, functions.basis.shape[1]))
        target = problem.reachable(target, total, bounds.by)
        ask = replace(self._feature_ask(target, dtype), solver_rng=solver_rng, probe_rng=probe_rng)
        solved = approximated(solve(problem, ask), bounds.scaled(unit))
        components, coefficients = problem.coefficients(solved, asked, total)
        B, mean = functions.basis, sums.mean if centered else np.zeros(m)
        self.projection_coef_, self._row_means = coefficients, mean * unit
        self._mean_weights = B @ (B.T @ mean)
        self._mean = float(self._row_means @ self._mean_weights)
        self.n_samples_ = sums.count
        self.eigenvalues_ = components.values
        self.explained_variance_ = components.values / max(sums.count - 1, 1)
        told = feature_plan(solved.plan, (sums.count, d), m, rule=self._rule, single=sums.single)
        solved = replace(solved, plan=replace(told, took=time.perf_counter() - began))
        remember(
            self,
            components,
            solved,
            asked=self.n_components is not None,
            of="the approximate kernel matrix",
            spectrum=problem.scaled(solved.spectrum),
        )


def some_of(rows: Rows) -> Any:
    """Return evenly spaced rows, from which the parameters of a kernel are found."""
    return rows.every(-(-rows.shape[0] // MEDIAN_ROWS))


def _reaching_as_far(rows: Rows) -> Any:
    """All rows; of a file, some of them and corners of the box that all lie in, no nearer than any row.

    What a kernel's values are off by depends on how far rows are from zero and from their mean.
    """
    if not rows.is_stored:
        return numpy_rows(rows.in_memory())
    if rows.is_sparse:
        return rows.in_memory()

    def ends(block: Block) -> tuple[Any, Any]:
        return block.values.min(axis=0), block.values.max(axis=0)

    some = some_of(rows)
    low, high = rows.reduce(ends, lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])))
    mean = some.mean(axis=0)
    corners = [np.where(high - origin > origin - low, high, low) for origin in (0.0, mean)]
    return np.concatenate([some, np.array([low, high, *corners], dtype=some.dtype)])


def _centres(rows: Rows, m: int, rng: np.random.Generator) -> Any:
    """Centres of k-means on rows drawn at random."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    n = rows.shape[0]
    some = rows_at(rows, np.sort(rng.choice(n, size=min(n, PER_CENTRE * m), replace=False)))
    with warnings.catch_warnings():
        # Fewer different rows than centres: the centres that are left over are copies.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MiniBatchKMeans(m, n_init=1, random_state=int(rng.integers(2**31)))
        found = model.fit(some).cluster_centers_
    return alike(np.asarray(found, dtype=numpy_dtype(rows.like)), some)
