"""The fits of kernel PCA: exact, of all rows, and approximate, by landmarks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian import errors
from gramian.core.arrays import alike, as_float64, from_numpy, memory_limit_bytes, moved, numpy_dtype
from gramian.core.checks import check_choice, check_integer, either, solver_names
from gramian.core.records import Plan, Seed, SolveRequest, Target
from gramian.engine import certificates
from gramian.engine.features import FeatureSums, chosen, feature_costs, numpy_rows
from gramian.engine.kernel import Coefficients, FeatureProblem, Features, KernelProblem, landmark_features
from gramian.engine.solving import Schedule, Solution, plan, require_memory, run, warn_of_cost
from gramian.engine.tiles import KernelSource, MatrixSource
from gramian.errors import MemoryLimitError, ParameterError
from gramian.kernels import Evaluator, Kernel, expression, kernel_from_name, widths
from gramian.models.fitted import warn_of_none, with_orthonormality
from gramian.models.inputs import check_target, check_tol, drawn_seeds, generators
from gramian.models.kernel_pca.preimages import preimage_method
from gramian.models.kernel_pca.projection import KernelProjection, Standardisation, about_mean
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Block, Rows

if TYPE_CHECKING:
    from gramian.statistics.component_rules import ComponentChoice


@dataclass(eq=False, repr=False)
class KernelParameters:
    """The parameters of KernelPCA, which its docstring explains; fits read nothing else of an estimator."""

    n_components: int | float | str | None = None
    _: KW_ONLY
    kernel: str | Kernel | Callable[..., Any] = "linear"
    gamma: float | str | None = None
    degree: int = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    center: bool = True
    scale: str | None = None
    solver: str = "auto"
    tol: float | None = None
    random_state: Seed = 0
    memory_limit: int | str | None = None
    repair: str | None = None
    preimage: str = "auto"
    n_landmarks: int | None = None
    landmarks: Annotated[npt.ArrayLike, "_ d"] = "rpcholesky"


@dataclass(eq=False)
class KernelFit:
    """Kernel PCA of rows by one kind of method; ``solve`` finds eigenpairs, and what maps new rows.

    Attributes
    ----------
    parameters : KernelParameters
    rows : Rows
        Standardised, where that is asked for.
    scaling : Standardisation or None
        How.
    landmarks, indices
        Landmarks and their numbers; none where all rows map new ones.
    choice : ComponentChoice or None
        The answer of a rule for the number of components.
    sums : FeatureSums or None
        Sums over the rows, to which ``partial_fit`` adds.
    solution : Solution
        Its spectrum in the units of the kernel matrix.
    found : Coefficients
    """

    parameters: KernelParameters
    rows: Rows
    scaling: Standardisation | None = None
    landmarks: Any = None
    indices: Any = None
    choice: ComponentChoice | None = None
    sums: FeatureSums | None = None
    solution: Solution = field(init=False)
    found: Coefficients = field(init=False)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel with every parameter a number; None for a precomputed one."""
        if is_precomputed(self.parameters):
            return None
        kernel, rows = asked_kernel(self.parameters), self.rows
        values = some_of(rows) if not rows.free_to_revisit else rows.in_memory()
        kernel.admit_sparse(values)
        return kernel.resolve(values, rows.feature_names)

    @property
    def target(self) -> Target:
        """The number of components, or their share, that is asked for."""
        shape = self.rows.shape
        return check_target(self.parameters.n_components, shape[0], shape, what="kernel components")

    @property
    def plain_landmarks(self) -> bool:
        """Whether nothing was asked of landmarks but their number."""
        landmarks = self.parameters.landmarks
        return isinstance(landmarks, str) and landmarks == "rpcholesky"


def is_precomputed(parameters: KernelParameters) -> bool:
    """Return whether the rows are a kernel matrix."""
    return isinstance(parameters.kernel, str) and parameters.kernel == expression.PRECOMPUTED


def asked_kernel(parameters: KernelParameters) -> Kernel:
    """Return the kernel as its parameters say, without numbers from the data."""
    return kernel_from_name(
        parameters.kernel,
        gamma=parameters.gamma,
        degree=parameters.degree,
        coef0=parameters.coef0,
        params=parameters.kernel_params,
    )


def precision_of(fitted: Any, tol: float | None) -> float:
    """Return the error of an entry, relative to the largest, that leaves ``tol`` to be reached."""
    return float(min(1e-9, 0.1 * check_tol(tol, numpy_dtype(fitted)) / fitted.shape[0] ** 0.5))


def some_of(rows: Rows) -> Any:
    """Return evenly spaced rows, from which the parameters of a kernel are found."""
    return rows.at(range(0, rows.shape[0], -(-rows.shape[0] // widths.MEDIAN_ROWS)))


# ----------- landmarks: time and memory linear in the rows

APPROXIMATE = solver_names("KernelPCA", approximate=True)
LANDMARK_RULES = ("rpcholesky", "uniform")
N_LANDMARKS = 1000


@dataclass(eq=False)
class FeatureFit(KernelFit):
    """Kernel PCA of projections onto landmarks."""

    matrix: ClassVar = "the approximate kernel matrix"
    stored_rows: ClassVar = None

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        assert self.sums is not None
        return self.sums.weight

    @cached_property
    def plan(self) -> Plan:
        """What solving does, with predicted seconds and bytes."""
        rows, m = self.rows, self.count
        target = self.target
        if target.count is not None and target.count > m:
            why = f"but {m} landmarks have at most {m} components"
            hint = f"Ask for fewer, or set n_landmarks={target.count!r} or more."
            raise ParameterError("n_components", target.count, why, hint)
        costs = feature_costs(rows.shape, m, self._rule, single=self._single, elsewhere=not rows.in_one_place)
        if self._rule == "rpcholesky" and (room := rows.room) is not None:
            need = rows.shape[0] * m * (4 if self._single else 8)
            way_out = 'Take a smaller n_landmarks, landmarks="uniform", or more workers.'
            require_memory(f"Choosing {m} landmarks where the rows are", need, room, way_out)
        return plan(costs, self._request(target, rows.dtype))

    def solve(self) -> Self:
        """Choose landmarks, and find the components in one pass over the rows."""
        began, rows, kernel, parameters = time.perf_counter(), self.rows, self.kernel, self.parameters
        _ = self.plan  # which refuses what cannot be
        assert kernel is not None
        preimage_method(parameters.preimage, kernel, sparse=rows.skips_zeros)
        # For the precision only the number of rows counts.
        precision = precision_of(np.broadcast_to(rows.dtype.type(0), rows.shape), parameters.tol)
        every = kernel.bind(_reaching_as_far(rows), precision)
        landmarks = self._given
        if landmarks is None:
            options = {
                "tol": check_tol(parameters.tol, rows.dtype),
                "center": bool(parameters.center),
                "dtype": np.float32 if self._single else np.float64,
            }
            rng = generators(parameters.random_state, 4)[3]
            landmarks, self.indices = chosen(every, rows, self.count, self._rule, rng, **options)
        self.landmarks = landmarks if sparse.issparse(landmarks) else moved(landmarks, rows.like)
        features = self._features(rows.shape[0], rows.dtype, every)
        return self._decomposed(features, features.sums(rows), began, spread=not rows.in_one_place)

    def more(self, before: FeatureSums) -> Self:
        """Merge the rows with those before, with their landmarks and their kernel."""
        began, rows = time.perf_counter(), self.rows
        if not rows.in_one_place:  # rows in one place are checked when they are mapped
            rows.require_finite()
        dtype = np.dtype(np.float32 if before.single else np.float64)
        features = replace(self._features(before.count, dtype), single=before.single)
        return self._decomposed(features, before.merged(features.sums(rows)), began, spread=True)

    # ------------------------------------------------------------- what is asked for

    @cached_property
    def count(self) -> int:
        """Number of landmarks; raises an error for parameters they do not support."""
        rows, kernel, parameters = self.rows, self.kernel, self.parameters
        landmarks, solver = parameters.landmarks, parameters.solver
        if kernel is None:
            why = 'evaluates the kernel on some rows, so it does not support kernel="precomputed"'
            hint = "Pass the rows and the kernel itself, or leave solver at 'auto'."
            raise ParameterError("solver", solver, why, hint)
        if not kernel.psd:
            why = (
                f"needs a kernel that is proven positive semi-definite, but {kernel!r} is not: "
                f"{kernel.validity.reason}"
            )
            hint = "Leave solver at 'auto', which checks all eigenvalues."
            raise ParameterError("solver", solver, why, hint)
        if parameters.repair is not None:
            why = f"is for kernels with negative eigenvalues, which solver={solver!r} does not support"
            raise ParameterError("repair", parameters.repair, why, "Leave it out.")
        if isinstance(parameters.n_components, str):
            why = "is a rule that fits all rows many times"
            hint = (
                f"With solver={solver!r} use a number or a fraction, or run the rule on a sample of "
                "the rows: choose_components(model, sample)."
            )
            raise ParameterError("n_components", parameters.n_components, why, hint)
        if isinstance(landmarks, str):
            check_choice("landmarks", landmarks, LANDMARK_RULES)
        elif parameters.n_landmarks is not None:
            why = "is not allowed with an array of landmarks, which sets their number"
            raise ParameterError("n_landmarks", parameters.n_landmarks, why, "Leave n_landmarks out.")
        else:
            return int(self._given.shape[0])
        if parameters.n_landmarks is None:
            return int(min(N_LANDMARKS, rows.shape[0]))
        advice = "Landmarks are chosen among the rows."
        return check_integer("n_landmarks", parameters.n_landmarks, 1, rows.shape[0], advice)

    @cached_property
    def _given(self) -> Any:
        """Landmarks that the user gave, as rows of the same kind as the data; None where a rule chooses."""
        rows = self.rows
        if isinstance(self.parameters.landmarks, str):
            return None
        landmarks = as_rows(self.parameters.landmarks, estimator="KernelPCA(landmarks=...)")
        if landmarks.shape[1] != rows.shape[1]:
            why = f"has {landmarks.shape[1]} columns, but X has {rows.shape[1]}"
            raise ParameterError("landmarks", allowed=why, hint="Pass landmarks with the columns of X.")
        if self.scaling is not None:
            landmarks = self.scaling.rows(landmarks)
        return alike(numpy_rows(landmarks.owned()), numpy_rows(rows.block(slice(0, 1)).values))

    @property
    def _rule(self) -> str:
        """How landmarks are chosen."""
        landmarks = self.parameters.landmarks
        return landmarks if isinstance(landmarks, str) else "given"

    @property
    def _single(self) -> bool:
        """Whether float32 products will do for the choice of landmarks."""
        kernel = self.kernel
        return self.rows.dtype == np.float32 and kernel is not None and kernel.facts.unit_diagonal

    def _request(self, target: Target, dtype: Any) -> SolveRequest:
        parameters = self.parameters
        return SolveRequest(
            target, check_tol(parameters.tol, dtype), memory_limit_bytes(parameters.memory_limit)
        )

    # -------------------------------------------------------------------------- fit

    def _features(self, n: int, dtype: Any, every: Evaluator | None = None) -> Features:
        """Return the features of rows by landmarks."""
        kernel = self.kernel
        assert kernel is not None
        # As transform does; what a value is off by, is also what it is for all rows.
        landmarks = numpy_rows(self.landmarks)
        precision = precision_of(landmarks, self.parameters.tol)
        like = self.rows.like
        return landmark_features(lambda rows: kernel.bind(rows, precision), landmarks, n, dtype, like, every)

    def _decomposed(self, features: Features, sums: FeatureSums, began: float, *, spread: bool) -> Self:
        """Find the eigenpairs of the features' matrix."""
        parameters, single = self.parameters, sums.single
        m, rank = features.basis.shape
        shape = (sums.count, self.rows.shape[1])
        costs = feature_costs(shape, m, self._rule, single=single, rank=rank, elsewhere=spread)
        problem = FeatureProblem(sums, features, bool(parameters.center), costs)
        # Whether so many may be asked for was decided before it was known how many landmarks there are.
        target = check_target(parameters.n_components, sys.maxsize, (sums.count, m))
        request = self._request(problem.reachable(target), np.dtype(np.float32 if single else np.float64))
        problem.earlier = time.perf_counter() - began
        solution = run(problem, problem.schedule(request), drawn_seeds(parameters.random_state))
        self.sums, self.found = sums, problem.coefficients(solution, target.count)
        self.solution = replace(solution, spectrum=solution.spectrum.scaled(problem.factor()))
        return self


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


# ------------------------------- all rows, on tiles of their kernel matrix

KERNEL_SOLVERS = ("auto", *solver_names("KernelPCA"))
COUNT_RULES = ("parallel", "cv")
NEGLIGIBLE = 1e-4  # part of the largest eigenvalue: entries rounded to float32 leave negative ones below it
# An iteration knows the smallest eigenvalue from above only.
NEGATIVE = (
    "The Gram matrix has an eigenvalue of NUMBER or below, so this is not a valid kernel on this data. The "
    "components belong to positive eigenvalues, but distances and shares of variance in feature space have "
    'no meaning. Set negative eigenvalues to 0 (repair="clip"), or use a kernel that is '
    "positive semi-definite, such as rbf or poly."
)


@dataclass(eq=False)
class ExactFit(KernelFit):
    """Kernel PCA of all rows, in this process."""

    @property
    def matrix(self) -> str:
        """Of what the components are."""
        return "the centred kernel matrix" if self.parameters.center else "the kernel matrix"

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.rows.weight

    @property
    def stored_rows(self) -> Any:
        """The rows that the model keeps; None for a precomputed kernel."""
        return None if self.kernel is None else self.rows.owned()

    @property
    def plan(self) -> Plan:
        """The plan of the fit; for a rule, the plan for ten components."""
        count = self.parameters.n_components
        if not isinstance(count, str):
            return self._planned(self.target)[2].plan
        check_choice("n_components", count, COUNT_RULES)
        plan = self._planned(Target(count=min(10, self.rows.shape[0])))[2].plan
        from gramian.models.kernel_pca.rules import with_kernel_rule

        return with_kernel_rule(plan, count)

    def solve(self) -> Self:
        """Find the components."""
        parameters, rows, kernel = self.parameters, self.rows, self.kernel
        if isinstance(parameters.n_components, str):
            rule = check_choice("n_components", parameters.n_components, COUNT_RULES)
            from gramian.models.kernel_pca.rules import components_of_kernel, with_kernel

            model = with_kernel(parameters, kernel, n_components=None, scale=None)
            rng = generators(parameters.random_state, 3)[2]
            self.choice = answer = components_of_kernel(model, rows, rule, rng=rng)
            if answer.number is None:
                raise ParameterError("n_components", rule, f": {answer.sentence}")
            warn_of_none(answer)
        target = self.target if self.choice is None else Target(count=max(1, int(self.choice.number or 0)))
        preimage_method(parameters.preimage, kernel, sparse=rows.skips_zeros)
        problem, evaluator, planned = self._planned(target)
        warn_of_cost(planned, self._cheaper, rows.like)
        X = rows.in_memory()
        problem.source = MatrixSource(X) if evaluator is None else KernelSource(evaluator, X)
        solution = run(problem, planned, drawn_seeds(parameters.random_state))
        if evaluator is not None:
            self._warn_of_products(evaluator, solution, X)
        result = problem.coefficients(solution, target.count)
        if -result.negative > NEGLIGIBLE * result.components.values[0]:
            errors.IndefiniteKernelWarning(NEGATIVE.replace("NUMBER", f"{result.negative:.4g}")).warn()
        certificate = solution.certificate
        if certificate is not None:
            bounds = certificate.directions
            if bounds is not None:
                r, unit = bounds.sines.size, float(np.finfo(rows.dtype).eps)
                bounds = certificates.lifted(bounds, np.ones(r), np.full(r, unit), bounds.kind)
            vectors = result.vectors if rows.weights is None else result.vectors[:, :0]
            certificate = with_orthonormality(certificate, vectors, bounds)
        self.solution = replace(
            solution, spectrum=solution.spectrum.scaled(problem.factor()), certificate=certificate
        )
        if evaluator is not None:
            self.kernel = evaluator.kernel
        self.found = result if rows.weights is None else self._completed(result)
        return self

    def _completed(self, result: Coefficients) -> Coefficients:
        """Return a result that holds rows of weight 0 too, of which the weighted matrix says nothing."""
        rows, parameters, zero = self.rows, self.parameters, np.flatnonzero(self.rows.weights == 0)
        if not zero.size:
            return result
        nodes, center = None if self.kernel is None else rows.in_memory(), bool(parameters.center)
        alpha, offset, weights = about_mean(result.coefficients, result.weights, result.row_means, center)
        precision, k = 1.0 if nodes is None else precision_of(nodes, parameters.tol), alpha.shape[1]
        both, offsets = np.column_stack([alpha, weights]), np.append(offset, 0.0)
        maps = KernelProjection(self.kernel, nodes, both, offsets, weights, precision, center)
        values = as_float64(maps.scores(as_rows(rows.at(zero))))
        vectors, top = as_float64(result.vectors).copy(), np.sqrt(result.components.values)
        vectors[zero] = np.divide(values[:, :k], top, out=np.zeros((len(zero), k)), where=top > 0)
        result.row_means[zero] = values[:, k]
        return replace(result, vectors=from_numpy(vectors.astype(rows.dtype), result.vectors))

    def _planned(self, target: Target) -> tuple[KernelProblem, Evaluator | None, Schedule]:
        """Return what the engine is asked about, the kernel on the rows, and the routes."""
        parameters, rows, kernel = self.parameters, self.rows, self.kernel
        evaluator, center, X = None, bool(parameters.center), rows.in_memory()
        if kernel is not None:
            evaluator = kernel.bind(X, precision_of(X, parameters.tol), centered=center)
        clip = parameters.repair is not None
        if clip:
            check_choice("repair", parameters.repair, ("clip",))
        problem = KernelProblem(rows, None, center, psd=False, clip=clip, given=evaluator is None)
        problem.fraction = target.fraction is not None
        if evaluator is not None:
            problem.psd, problem.single = evaluator.kernel.psd, evaluator.single is not None
            problem.calls = evaluator.kernel.calls(X)
        if rows.weights is not None:
            problem.unit = "eigenvalues of Kc with weighted rows"
        solver = check_choice("solver", parameters.solver, KERNEL_SOLVERS)
        if parameters.n_landmarks is not None or not self.plain_landmarks:
            raise ParameterError(
                "landmarks" if parameters.n_landmarks is None else "n_landmarks",
                allowed=f"applies only to solver={either(APPROXIMATE)}, but solver={solver!r} uses every row",
                hint="Leave it out, or set the solver.",
            )
        if solver == "krylov" and problem.everything and problem.clip:
            why = 'finds only the largest eigenvalues, but repair="clip" needs the negative ones'
            raise ParameterError("solver", solver, why, "Leave solver at 'auto'.")
        tol = check_tol(parameters.tol, rows.dtype)
        limit = memory_limit_bytes(parameters.memory_limit, rows.like)
        try:
            return problem, evaluator, problem.schedule(SolveRequest(target, tol, limit, solver))
        except MemoryLimitError as error:
            raise MemoryLimitError(f"{error} {self._cheaper()}") from error

    def _cheaper(self) -> str:
        """Say what takes less time than all rows."""
        parameters, kernel = self.parameters, self.kernel
        number = parameters.repair is None and not isinstance(parameters.n_components, str)
        approximate = number and kernel is not None and kernel.psd
        other = ", or KernelPCA(solver='nystroem') with few n_landmarks" * approximate
        return f"A sample of the rows costs less{other}."

    def _warn_of_products(self, bound: Evaluator, solution: Solution, fitted: Any) -> None:
        """Say what helps where the products of sparse rows are why a certificate does not hold."""
        error = bound.relative + bound.absolute / (bound.largest or 1.0)
        certified = (
            solution.certificate is not None and solution.certificate.ok and solution.spectrum.rank > 0
        )
        if sparse.issparse(fitted) and not certified and error > precision_of(fitted, self.parameters.tol):
            errors.CertificateWarning(
                f"Products of these sparse rows leave errors of up to {error:.1e} in kernel values, because "
                "rows lie many kernel widths from 0. Pass X.toarray(), so that gramian sums differences "
                "instead, or use a wider kernel."
            ).warn()
