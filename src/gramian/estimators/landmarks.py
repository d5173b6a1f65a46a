"""Kernel PCA of many rows: by landmarks or random features, in time and memory linear in the rows."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian.arrays import alike, memory_limit_bytes, moved
from gramian.checks import check_choice, check_integer
from gramian.engine import plan, require_memory, run
from gramian.engine.features import (
    FeatureProblem,
    Features,
    feature_costs,
    landmark_features,
    random_features,
)
from gramian.engine.stream import with_pass
from gramian.errors import ParameterError
from gramian.estimators.feature_maps import RandomFourierMap
from gramian.estimators.inputs import check_target, check_tol, generators
from gramian.estimators.kernel_fit import KernelFit, KernelModel, Nodes, precision_of, some_of
from gramian.estimators.preimages import preimage_method
from gramian.estimators.saving import register_record
from gramian.kernels import RBF, Evaluator, Kernel
from gramian.kernels.feature_maps import FourierFeatureMap
from gramian.operators.features import FeatureSums, numpy_rows
from gramian.operators.pivots import chosen
from gramian.records import Plan, SolveRequest, Target
from gramian.rows import Block, Rows, as_rows
from gramian.solvers.names import solver_names
from gramian.store import Array

APPROXIMATE = solver_names("KernelPCA", approximate=True)
LANDMARK_RULES = ("rpcholesky", "uniform", "kmeans")
N_LANDMARKS = 1000

register_record(FeatureSums, diagonal=Array("", least=0), rounding=Array("", least=0))


@dataclass(eq=False)
class FeatureFit(KernelFit):
    """Kernel PCA of features: of projections onto landmarks, or of random features."""

    @cached_property
    def plan(self) -> Plan:
        """What solving does, with predicted seconds and bytes."""
        rows, m = self.rows, self.count
        target = self._target(m)
        costs = feature_costs(rows.shape, m, self._rule, single=self._single, elsewhere=not rows.in_one_place)
        if self._rule == "rpcholesky" and (room := rows.room) is not None:
            need = rows.shape[0] * m * (4 if self._single else 8)
            way_out = "Take a smaller n_landmarks, landmarks='uniform', or more workers."
            require_memory(f"Choosing {m} landmarks where the rows are", need, room, way_out)
        return plan(costs, self._request(target, rows.dtype))

    def solve(self, checkpoint: Any = None, *, keep: bool = False) -> KernelModel:
        """Choose landmarks, or draw random features, and find the components in one pass over the rows."""
        began, rows, kernel, asked = time.perf_counter(), self.rows, self.kernel, self.parameters
        if checkpoint is not None:
            raise ParameterError(
                f"checkpoint stores products with the kernel matrix, but solver={asked.solver!r} computes "
                "none: it passes over the rows once or twice. Leave checkpoint out."
            )
        _ = self.plan  # which refuses what cannot be
        assert kernel is not None
        drawn = self._rule is None
        preimage_method(asked.preimage, kernel, sparse=rows.skips_zeros, nodes=not drawn)
        if drawn:
            every, nodes = None, self._random(kernel)
        else:
            # For the precision only the number of rows counts.
            precision = precision_of(np.broadcast_to(rows.dtype.type(0), rows.shape), asked.tol)
            every = kernel.bind(_reaching_as_far(rows.at_home), precision)
            nodes = self._landmarks(every)
        features = self._features(kernel, nodes, rows.shape[0], rows.dtype, every)
        sums = features.sums(rows)
        seconds = time.perf_counter() - began
        model = self._model(kernel, nodes, features, sums, seconds, spread=not rows.in_one_place)
        return model if keep else replace(model, sums=None)

    def more(self, kernel: Kernel, nodes: Nodes, before: FeatureSums) -> KernelModel:
        """Merge the rows with those before, with their landmarks or features and their kernel."""
        began, rows = time.perf_counter(), self.rows
        if not rows.in_one_place:  # rows in one place are checked when they are mapped
            rows.require_finite()
        dtype = np.dtype(np.float32 if before.single else np.float64)
        features = replace(self._features(kernel, nodes, before.count, dtype), single=before.single)
        sums = before.merged(features.sums(rows))
        seconds = time.perf_counter() - began
        return self._model(kernel, nodes, features, sums, seconds, spread=True)  # none is chosen again

    # ------------------------------------------------------------- what is asked for

    @cached_property
    def count(self) -> int:
        """Number of landmarks or random features; raises an error for parameters they do not support."""
        rows, kernel, asked = self.rows, self.kernel, self.parameters
        landmarks, solver = asked.landmarks, asked.solver
        if kernel is None:
            raise ParameterError(
                f"solver={solver!r} evaluates the kernel on some rows, so it does not support "
                "kernel='precomputed'. Pass the rows and the kernel itself, or leave solver at 'auto'."
            )
        if not kernel.psd:
            raise ParameterError(
                f"solver={solver!r} needs a kernel that is proven positive semi-definite, but {kernel!r} is "
                f"not: {kernel.validity.reason} Leave solver at 'auto', which checks all eigenvalues."
            )
        if asked.repair is not None:
            raise ParameterError(
                f"repair={asked.repair!r} is for kernels with negative eigenvalues, which "
                f"solver={solver!r} does not support. Leave it out."
            )
        if isinstance(asked.n_components, str):
            raise ParameterError(
                f"n_components={asked.n_components!r} is a rule that fits all rows many times. With "
                f"solver={solver!r} use a number or a fraction, or run the rule on a sample of the rows. "
                "In Python: choose_components(model, sample)."
            )
        if solver == "random-features":
            return self._count_of_random(rows, kernel)
        if isinstance(landmarks, str):
            check_choice("landmarks", landmarks, LANDMARK_RULES)
        elif asked.n_landmarks is not None:
            raise ParameterError(
                f"n_landmarks={asked.n_landmarks!r} is not allowed with an array of landmarks, which sets "
                "their number. Leave n_landmarks out."
            )
        else:
            return int(self._given.shape[0])
        if asked.n_landmarks is None:
            return int(min(N_LANDMARKS, rows.shape[0]))
        advice = "Landmarks are chosen among the rows."
        return check_integer("n_landmarks", asked.n_landmarks, 1, rows.shape[0], advice)

    def _count_of_random(self, rows: Rows, kernel: Kernel) -> int:
        if not self.plain_landmarks:
            raise ParameterError(
                "landmarks applies only to solver='nystroem': random features have none. Leave it out."
            )
        if not isinstance(kernel, RBF):
            raise ParameterError(
                f"solver='random-features' supports only the kernel rbf, not {kernel!r}. Use "
                "solver='nystroem', which supports every valid kernel."
            )
        rows.require_dense(
            "solver='random-features' needs dense rows, but X is sparse. Use solver='nystroem', or "
            "pass X.toarray()."
        )
        asked = self.parameters.n_landmarks
        return N_LANDMARKS if asked is None else check_integer("n_landmarks", asked)

    @cached_property
    def _given(self) -> Any:
        """Landmarks that the user gave, as rows of the same kind as the data."""
        rows = self.rows
        landmarks = as_rows(self.parameters.landmarks, estimator="KernelPCA(landmarks=...)")
        if landmarks.shape[1] != rows.shape[1]:
            raise ParameterError(
                f"landmarks has {landmarks.shape[1]} columns, but X has {rows.shape[1]}. Pass landmarks with "
                "the columns of X."
            )
        return alike(numpy_rows(landmarks.owned()), numpy_rows(rows.block(slice(0, 1)).values))

    def _target(self, m: int) -> Target:
        of, shape = "random features" if self._rule is None else "landmarks", self.rows.shape
        target = check_target(self.parameters.n_components, shape[0], shape, of="kernel components")
        if target.count is not None and target.count > m:
            raise ParameterError(
                f"n_components={target.count} but {m} {of} have at most {m} components. Ask for fewer, or "
                f"set n_landmarks={target.count} or more."
            )
        return target

    @property
    def _rule(self) -> str | None:
        """How landmarks are chosen; None for random features."""
        asked = self.parameters
        if asked.solver == "random-features":
            return None
        return asked.landmarks if isinstance(asked.landmarks, str) else "given"

    @property
    def _single(self) -> bool:
        """Whether float32 products will do for the choice of landmarks."""
        kernel = self.kernel
        return self.rows.dtype == np.float32 and kernel is not None and kernel.facts.unit_diagonal

    def _request(self, target: Target, dtype: Any) -> SolveRequest:
        asked = self.parameters
        return SolveRequest(target, check_tol(asked.tol, dtype), memory_limit_bytes(asked.memory_limit))

    # -------------------------------------------------------------------------- fit

    def _rng(self) -> np.random.Generator:
        return generators(self.parameters.random_state, 4)[3]

    def _random(self, kernel: Kernel) -> Nodes:
        """Draw random features."""
        rows = self.rows.at_home
        rates = np.broadcast_to(kernel.rates, rows.shape[1])  # type: ignore[attr-defined]
        mapping = RandomFourierMap(self.count, gamma=rates, random_state=self._rng())
        mapping.fit(rows if not rows.free_to_revisit else rows.in_memory())
        mapping.random_state = mapping.gamma = None
        return Nodes(mapping=mapping)

    def _landmarks(self, every: Evaluator) -> Nodes:
        """Choose landmarks."""
        asked, rows, indices, rng = self.parameters, self.rows.at_home, None, self._rng()
        if self._rule == "given":
            landmarks = self._given
        else:
            landmarks, indices = chosen(
                every,
                rows,
                self.count,
                str(asked.landmarks),
                tol=check_tol(asked.tol, rows.dtype),
                center=bool(asked.center),
                rng=rng,
                dtype=np.float32 if self._single else np.float64,
            )
        return Nodes(landmarks if sparse.issparse(landmarks) else moved(landmarks, rows.home), indices)

    def _features(
        self, kernel: Kernel, nodes: Nodes, n: int, dtype: Any, every: Evaluator | None = None
    ) -> Features:
        """Return the features of rows by landmarks or by random features."""
        if nodes.mapping is not None:
            mapping, error = nodes.mapping.feature_map_, nodes.mapping.kernel_error_.bound
            assert isinstance(mapping, FourierFeatureMap)
            return random_features(mapping, error, dtype)
        # As transform does; what a value is off by, is also what it is for all rows.
        landmarks = numpy_rows(nodes.landmarks)
        precision = precision_of(landmarks, self.parameters.tol)
        return landmark_features(lambda rows: kernel.bind(rows, precision), landmarks, n, dtype, every)

    def _model(
        self,
        kernel: Kernel,
        nodes: Nodes,
        features: Features,
        sums: FeatureSums,
        seconds: float,
        *,
        spread: bool,
    ) -> KernelModel:
        """Find the eigenpairs of the features' matrix."""
        asked, single = self.parameters, sums.single
        m, rank = features.basis.shape
        shape = (sums.count, self.rows.shape[1])
        costs = feature_costs(shape, m, self._rule, single=single, rank=rank, elsewhere=spread)
        problem = FeatureProblem(sums, features, bool(asked.center), costs)
        # Whether so many may be asked for was decided before it was known how many landmarks there are.
        target = check_target(asked.n_components, sys.maxsize, (sums.count, m))
        request = self._request(problem.reachable(target), np.dtype(np.float32 if single else np.float64))
        solution = run(problem, problem.schedule(request).seeded(*generators(asked.random_state)))
        result = problem.coefficients(solution, target.count)
        solution = replace(with_pass(solution, seconds), spectrum=problem.scaled(solution.spectrum))
        return KernelModel(
            self.rows.shape[0],
            sums.weight,
            "the approximate kernel matrix",
            kernel,
            solution,
            result,
            nodes=nodes,
            sums=sums,
        )


def _reaching_as_far(rows: Rows) -> Any:
    """All rows; of a file, some of them and corners of the box that all lie in, no nearer than any row.

    The error of kernel values depends on the distance of rows from zero and from their mean.
    """
    if rows.free_to_revisit or rows.skips_zeros:
        return rows.in_memory()

    def ends(block: Block) -> tuple[Any, Any]:
        return block.values.min(axis=0), block.values.max(axis=0)

    some = some_of(rows)
    low, high = rows.reduce(ends, lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])))
    mean = some.mean(axis=0)
    corners = [np.where(high - origin > origin - low, high, low) for origin in (0.0, mean)]
    return np.concatenate([some, np.array([low, high, *corners], dtype=some.dtype)])
