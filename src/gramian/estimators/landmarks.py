"""Kernel PCA of many rows: by landmarks or random features, in time and memory linear in the rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian.arrays import alike, memory_limit_bytes, moved
from gramian.checks import check_choice, check_integer
from gramian.engine import plan, require_memory, solve
from gramian.engine.features import (
    FeatureProblem,
    Features,
    feature_costs,
    landmark_features,
    random_features,
)
from gramian.engine.seen import with_pass
from gramian.errors import DataError, ParameterError, UnavailableError
from gramian.estimators.feature_maps import RandomFourierMap
from gramian.estimators.fitted import on_device, remember, remember_parameters
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
from gramian.kernels.widths import MEDIAN_ROWS
from gramian.operators.features import FeatureSums, numpy_rows, rows_at
from gramian.operators.pivots import chosen
from gramian.records import Ask, FloatArray, Plan, Repair, Target
from gramian.rows import Block, Rows, as_rows
from gramian.rows.kinds.dask import DaskRows
from gramian.store import Array

APPROXIMATE = ("nystroem", "random-features")
LANDMARK_RULES = ("rpcholesky", "uniform", "kmeans")
N_LANDMARKS = 1000

register_record(FeatureSums, diagonal=Array("", least=0), rounding=Array("", least=0))


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
        if rows.is_spread:  # of which new ones are searched when they are mapped
            rows.require_finite()
        features = self._features(self.kernel_, before.count, np.float32 if before.single else np.float64)
        features = replace(features, single=before.single)
        sums = before.merged(features.sums(rows))
        self._solve_features(sums, features, rows.shape[1], began, elsewhere=True)  # none is chosen again
        self._sums = sums
        on_device(self, rows.home)
        return self

    # ------------------------------------------------------------- what is asked for

    @property
    def _any_landmarks(self: Any) -> bool:
        """Whether nothing was said of landmarks but their number."""
        return isinstance(self.landmarks, str) and self.landmarks == "rpcholesky"

    def _refuse_landmarks(self: Any) -> None:
        """Refuse parameters of landmarks where there are none."""
        if self.n_landmarks is not None or not self._any_landmarks:
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
        if solver == "random-features":
            return int(self._check_random_features(rows, kernel))
        if isinstance(asked, str):
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

    def _check_random_features(self: Any, rows: Rows, kernel: Kernel) -> int:
        if not self._any_landmarks:
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
        return alike(numpy_rows(given.owned()), numpy_rows(rows.block(slice(0, 1)).values))

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
        costs = feature_costs(rows.shape, m, self._rule, single=single, elsewhere=rows.is_spread)
        if isinstance(rows, DaskRows) and self._rule == "rpcholesky":
            need = rows.shape[0] * m * (4 if single else 8)
            way_out = "Take a smaller n_landmarks, landmarks='uniform', or more workers."
            require_memory(f"Choosing {m} landmarks where the rows are", need, rows.room, way_out)
        return plan(costs, self._feature_ask(target, rows.dtype))

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
        every = None if self.solver == "random-features" else self._bound_to_all(kernel, rows.at_home)
        self._choose(rows.at_home, kernel, m, every)
        features = self._features(kernel, rows.shape[0], rows.dtype, every)
        sums = features.sums(rows)
        remember_features(self, X, rows)
        self.kernel_, self.X_fit_ = kernel, None
        self.__dict__.pop("eigenvectors_", None)
        self.picture_shape_ = rows.picture_shape
        self.component_choice_ = self.repair_ = None
        self._ridge_map = None
        self._solve_features(sums, features, rows.shape[1], began, elsewhere=rows.is_spread)
        self._sums = sums if keep else None
        on_device(self, rows.home)

    def _choose(self: Any, rows: Rows, kernel: Kernel, m: int, every: Evaluator | None) -> None:
        """Choose landmarks, or draw random features."""
        rng = generators(self.random_state, 4)[3]
        self.feature_map_ = self.landmarks_ = self.landmark_indices_ = None
        if every is None:
            rates = np.broadcast_to(kernel.rates, rows.shape[1])  # type: ignore[attr-defined]
            made = RandomFourierMap(m, gamma=rates, random_state=rng)
            self.feature_map_ = made.fit(rows if rows.is_stored else rows.in_memory())
            made.random_state = made.gamma = None
            return
        if self._rule == "given":
            landmarks = self._given_landmarks(rows)
        else:
            single = rows.dtype == np.float32 and kernel.facts.unit_diagonal
            landmarks, self.landmark_indices_ = chosen(
                every,
                rows,
                m,
                self.landmarks,
                tol=check_tol(self.tol, rows.dtype),
                center=bool(self.center),
                rng=rng,
                dtype=np.float32 if single else np.float64,
            )
        self.landmarks_ = landmarks if sparse.issparse(landmarks) else moved(landmarks, rows.home)

    def _bound_to_all(self: Any, kernel: Kernel, rows: Rows) -> Evaluator:
        # For the precision only the number of rows counts.
        precision = self._precision(np.broadcast_to(rows.dtype.type(0), rows.shape), self.tol)
        return kernel.bind(_reaching_as_far(rows), precision)

    def _features(self: Any, kernel: Kernel, n: int, dtype: Any, every: Evaluator | None = None) -> Features:
        """What is made of rows by what was chosen."""
        if self.feature_map_ is not None:
            made = self.feature_map_
            return random_features(made.feature_map_, made.kernel_error_.bound, dtype)
        # As transform does; what a value is off by, is also what it is for all rows.
        landmarks = numpy_rows(self.landmarks_)
        precision = self._precision(landmarks, self.tol)
        return landmark_features(lambda nodes: kernel.bind(nodes, precision), landmarks, n, dtype, every)

    def _solve_features(
        self: Any, sums: FeatureSums, features: Features, d: int, began: float, *, elsewhere: bool
    ) -> None:
        """Find the eigenpairs of the features' matrix, and set what a fitted model has."""
        solver_rng, probe_rng = generators(self.random_state)
        dtype = np.dtype(np.float32 if sums.single else np.float64)
        m, rank = features.basis.shape
        shape, single = (sums.count, d), sums.single
        costs = feature_costs(shape, m, self._rule, single=single, rank=rank, elsewhere=elsewhere)
        problem = FeatureProblem(sums, features, bool(self.center), costs)
        # Whether so many may be asked for was decided before it was known how many landmarks there are.
        asked = check_target(self.n_components, sys.maxsize, (sums.count, m))
        ask = self._feature_ask(problem.reachable(asked), dtype)
        made = time.perf_counter() - began
        solved = with_pass(solve(problem, replace(ask, solver_rng=solver_rng, probe_rng=probe_rng)), made)
        components, coefficients = problem.coefficients(solved, asked.count)
        mean = sums.mean if self.center else np.zeros(m)
        remember_parameters(self, "center", "tol")
        self.projection_coef_, self._row_means = coefficients, mean * features.scale
        self._mean_weights = features.basis @ (features.basis.T @ mean)
        self._mean = float(self._row_means @ self._mean_weights)
        self.n_samples_ = sums.count
        self.eigenvalues_ = components.values
        self.explained_variance_ = components.values / max(sums.count - 1, 1)
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
    return rows_at(rows, range(0, rows.shape[0], -(-rows.shape[0] // MEDIAN_ROWS)))


def _reaching_as_far(rows: Rows) -> Any:
    """All rows; of a file, some of them and corners of the box that all lie in, no nearer than any row.

    What a kernel's values are off by depends on how far rows are from zero and from their mean.
    """
    if not rows.is_stored or rows.is_sparse:
        return rows.in_memory()

    def ends(block: Block) -> tuple[Any, Any]:
        return block.values.min(axis=0), block.values.max(axis=0)

    some = some_of(rows)
    low, high = rows.reduce(ends, lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])))
    mean = some.mean(axis=0)
    corners = [np.where(high - origin > origin - low, high, low) for origin in (0.0, mean)]
    return np.concatenate([some, np.array([low, high, *corners], dtype=some.dtype)])
