"""From ``n_components="parallel"`` and ``max_rmse`` to a number: gives rules the spectra they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg

from gramian.analysis.component_rules.eigenvalues import fraction_rule, rmse_rule
from gramian.analysis.component_rules.minka import minka
from gramian.analysis.component_rules.resampling import REPEATS, parallel_analysis, sign_flips
from gramian.analysis.component_rules.rules import ComponentChoice, Scree
from gramian.analysis.component_rules.threshold import gavish_donoho
from gramian.analysis.component_rules.validation import SPLITS, bi_cross_validation
from gramian.arrays import as_float64, is_numpy, memory_limit_bytes, namespace, power_of_two, to_numpy
from gramian.checks import check_choice
from gramian.errors import MemoryLimitError, ParameterError
from gramian.estimators.decomposition import require_range
from gramian.estimators.inputs import check_ddof, check_scale, check_target
from gramian.operators.centered import CenteredRows
from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.operators.moments import center_rows
from gramian.planning import plan_pca
from gramian.records import FloatArray, Plan, Step, Target
from gramian.rows import Rows
from gramian.solvers.dense import relative_tolerance
from gramian.solvers.krylov import Stalled, krylov

__all__ = ["RULES", "Material", "Wanted", "after_the_fit", "check_wanted", "scree_of", "settle", "with_rule"]

SPECTRAL = ("mle", "gavish-donoho")
DRAWING = ("parallel", "sign-flip", "cv")
RULES = (*SPECTRAL, *DRAWING)
OF_COVARIANCES = ("mle", "parallel", "elbow", "broken-stick", "kaiser")
# A rule's number is not known when a plan is asked for; it is planned for as many components.
PLANNED = 10
# Part of the sum of squares that may be left out, below which the trace less a sum says too little about it.
SMALL_REST = 1e-4
SMALL = 500 * 500  # entries below which the SVD takes no noticeable time
# Residual of the largest eigenvalues of data without structure: far below what chance makes them vary by.
ROUGH = 1e-3


@dataclass(frozen=True)
class Wanted:
    """What ``n_components`` and ``max_rmse`` ask for: a rule that is still to be asked, or a target."""

    target: Target
    rule: str | None = None


def check_wanted(model: Any, rows: Rows) -> Wanted:
    """Turn ``n_components`` and ``max_rmse`` of a PCA into a target to plan for, or refuse them.

    Raises
    ------
    ParameterError
        For a value that is not allowed, or a rule that has no meaning for such data.
    """
    asked, shape, least = model.n_components, rows.shape, min(rows.shape)
    if model.max_rmse is not None:
        if asked is not None:
            raise ParameterError(
                f"n_components={asked!r} and max_rmse={model.max_rmse!r} both say how many components to "
                "keep. Give one of them, and leave the other at None."
            )
        check_rmse(model.max_rmse)
        target = Target(fraction=0.5, name=f"an error of at most {model.max_rmse:g}")
        return Wanted(target, "max_rmse")
    if not isinstance(asked, str):
        return Wanted(check_target(asked, least, shape))
    rule = check_choice("n_components", asked, RULES)
    refused = refusal(rule, shape, center=bool(model.center), sparse=rows.is_sparse)
    if refused:
        raise ParameterError(f"n_components={asked!r}: {refused}")
    return Wanted(Target(count=min(PLANNED, least)), rule)


def check_rmse(max_rmse: Any) -> float:
    """Return the largest error that is allowed."""
    real = isinstance(max_rmse, Real) and not isinstance(max_rmse, bool)
    if not real or not 0 < float(max_rmse) < math.inf:
        raise ParameterError(
            f"max_rmse={max_rmse!r} must be a positive number: the root-mean-square error of one entry of "
            "the reconstruction, in the units that are fitted (those of the data where scale is None)."
        )
    return float(max_rmse)


def refusal(rule: str, shape: tuple[int, int], *, center: bool, sparse: bool) -> str:
    """Return why a rule has no meaning for such data, and what to do; "" where it has."""
    if sparse and rule in DRAWING:
        return (
            f"'{rule}' draws new data of the same size, which are dense, and X is sparse. "
            "Pass X.toarray() if it fits into memory, or use 'gavish-donoho'."
        )
    if not center and rule in OF_COVARIANCES:
        why = "it is about variances, and without centring the mean is the first component"
        if rule == "parallel":
            why = "permuting columns keeps their means, so nothing tells the mean from noise"
        return f"'{rule}' needs center=True: {why}. Use 'gavish-donoho', 'sign-flip' or 'cv'."
    if rule == "mle" and shape[0] <= shape[1]:
        return (
            f"Minka's evidence needs more rows than columns, and X has {shape[0]} rows x {shape[1]} columns. "
            "Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
    return ""


def with_rule(plan: Plan, wanted: Wanted, rows: Rows, memory_limit: int) -> Plan:
    """Return a plan with the step that asks the rule, before anything else is done.

    Raises
    ------
    MemoryLimitError
        When the rule's copies of the data do not fit.
    """
    if wanted.rule not in RULES:
        return plan
    shape, dtype = rows.shape, rows.dtype
    side = "covariance" if shape[1] <= shape[0] else "gram"
    if wanted.rule in SPECTRAL:
        route = plan_pca(shape, dtype, Target(), side, memory_limit, sparse=rows.is_sparse)
        step = Step("choose", f"all eigenvalues, for the rule '{wanted.rule}'", route.seconds)
        return replace(plan, steps=(step, *plan.steps), bytes=max(plan.bytes, route.bytes))
    size = shape[0] * shape[1]
    need = (2 if wanted.rule == "cv" else 3) * size * dtype.itemsize
    if need > memory_limit:
        raise MemoryLimitError(
            f"The rule '{wanted.rule}' needs about {need / 1e9:.3g} GB for copies of the data, and "
            f"memory_limit allows {memory_limit / 1e9:.3g} GB. Raise memory_limit, use 'gavish-donoho', or a "
            "sample of the rows."
        )
    route = plan_pca(shape, dtype, Target(count=min(PLANNED, *shape)), "auto", memory_limit)
    often = SPLITS if wanted.rule == "cv" else REPEATS + 1
    detail = "random cuts into halves" if wanted.rule == "cv" else "spectra of random data"
    step = Step("choose", f"{often} {detail}, for the rule '{wanted.rule}'", often * route.seconds)
    return replace(plan, steps=(step, *plan.steps), bytes=max(plan.bytes, route.bytes + need))


def settle(model: Any, rows: Rows, wanted: Wanted, rng: np.random.Generator) -> tuple[Target, Any]:
    """Ask the rule, and return a target that a solver understands with the rule's answer.

    The answer is None where the decomposition itself finds the number: :func:`after_the_fit` says it then.
    """
    if wanted.rule is None:
        return wanted.target, None
    n, d = rows.shape
    material = Material(
        rows,
        bool(model.center),
        check_scale(model.scale, d),
        check_ddof(model.ddof, n),
        memory_limit_bytes(model.memory_limit),
    )
    if wanted.rule == "max_rmse":
        fraction = material.fraction_for(float(model.max_rmse))
        if fraction <= 0:
            return Target(count=1), None
        if 1 - fraction > SMALL_REST:
            return replace(wanted.target, fraction=fraction), None
        choice = rmse_rule(material.scree, float(model.max_rmse))
    else:
        choice = material.choose(wanted.rule, rng)
        if choice.number is None:
            raise ParameterError(f"n_components={wanted.rule!r}: {choice.sentence}")
    return Target(count=max(int(choice.number or 0), 1)), choice


def after_the_fit(model: Any, choice: ComponentChoice | None) -> ComponentChoice | None:
    """Return the answer of the rule that a fitted model followed; None for a given number."""
    if choice is not None:
        return choice
    if model.max_rmse is not None:
        return rmse_rule(scree_of(model), float(model.max_rmse))
    asked = model.n_components
    if asked is None or isinstance(asked, (int, np.integer)):
        return None
    return fraction_rule(scree_of(model), float(asked))


def scree_of(model: Any) -> Scree:
    """Return what a fitted PCA knows about the spectrum: all of it, or a part and the trace."""
    spectrum, known = model.spectrum_, model.explained_variance_
    top = float(spectrum.values[0]) if spectrum.values.size else 0.0
    if spectrum.rest.size and known.size and top > 0:
        known = np.concatenate([known, np.maximum(spectrum.rest, 0.0) * (float(known[0]) / top)])
    d = model.n_features_in_
    return Scree(
        values=known,
        total=model.total_variance_,
        n_samples=model.n_samples_,
        n_features=d,
        varying=d - len(model.constant_features_),
        centered=bool(model.center),
        degrees=model.n_samples_ - model.ddof,
        tolerance=spectrum.rank_tolerance,
    )


@dataclass(frozen=True, eq=False)
class Material:
    """The data as rules need it: its spectrum, or its centred and scaled entries; each made once.

    Attributes
    ----------
    rows : Rows
    center, scale, ddof
        How the estimator treats the data.
    memory_limit : int
        Bytes.
    """

    rows: Rows
    center: bool
    scale: str | FloatArray | None
    ddof: int
    memory_limit: int

    @cached_property
    def view(self) -> CenteredRows:
        """The centred, scaled data; refused where its variance leaves float64."""
        view = center_rows(self.rows, center=self.center, scale=self.scale, ddof=self.ddof)
        require_range(view, self.degrees)
        return view

    @property
    def degrees(self) -> int:
        """What sums of squares are divided by."""
        return self.rows.shape[0] - self.ddof

    @property
    def varying(self) -> int:
        """Number of columns that vary."""
        return self.rows.shape[1] - int(self.view.constant.sum())

    def fraction_for(self, max_rmse: float) -> float:
        """Return the share of the sum of squares that leaves an error of ``max_rmse`` per entry."""
        if not self.view.total > 0:
            return 0.0
        n, d = self.rows.shape
        mean_square = self.view.total / (n * d)
        unit = math.sqrt(self.view.square_unit)
        return 1.0 - (max_rmse / unit / math.sqrt(mean_square)) ** 2

    @cached_property
    def scree(self) -> Scree:
        """Every eigenvalue, without any vector."""
        view = self.view
        values, tolerance = _all_eigenvalues(view, self.memory_limit)
        factor = view.square_unit / self.degrees
        n, d = self.rows.shape
        total = view.total * factor
        return Scree(values * factor, total, n, d, self.varying, self.center, self.degrees, tolerance)

    @cached_property
    def matrix(self) -> tuple[Any, float]:
        """The varying columns, centred and scaled, near 1 in size; and what turns squares into variances."""
        view = self.view
        C = to_numpy(view.block(slice(None), slice(None)))
        if view.constant.any():
            C = C[:, ~view.constant]
        exponent = power_of_two(math.sqrt(view.total / max(C.size, 1))) if view.total > 0 else 0
        C = np.ldexp(C, -exponent) if exponent else C
        return C, math.ldexp(view.square_unit, 2 * exponent) / self.degrees

    def choose(self, rule: str, rng: np.random.Generator) -> ComponentChoice:
        """Ask one of :data:`RULES`."""
        if not self.view.total > 0:
            return ComponentChoice(rule, 0, {}, "No column varies: there is nothing to find.")
        if rule == "mle":
            return minka(self.scree)
        if rule == "gavish-donoho":
            return gavish_donoho(self.scree)
        C, factor = self.matrix
        if rule == "cv":
            squares = factor * self.degrees
            return bi_cross_validation(C, leading_factors, rng, centered=self.center, factor=squares)
        size = min(self.rows.shape[0] - int(self.center), C.shape[1])
        if rule == "parallel":
            return parallel_analysis(C, self.spectrum_of, rng, size=size, factor=factor)
        squares = factor * self.degrees
        return sign_flips(C, self.spectrum_of, rng, size=size, centered=self.center, factor=squares)

    def spectrum_of(self, A: Any, count: int) -> FloatArray:
        """Return the largest eigenvalues of ``A.T A`` for a matrix that is not centred again."""
        return leading_eigenvalues(A, count, self.memory_limit)


def leading_eigenvalues(A: Any, count: int, memory_limit: int) -> FloatArray:
    """Return the ``count`` largest eigenvalues of ``A.T A``, descending, to 1e-4.

    By the route that the planner takes for so many components of such a table, without vectors.
    """
    n, d = A.shape
    least = min(n, d)
    if count == 0:
        return np.empty(0)
    if n * d > SMALL:
        plan = plan_pca((n, d), A.dtype, Target(count=count), "auto", memory_limit)
        if plan.solver == "krylov":
            found = _iterated(A, count, plan)
            if found is not None:
                return found
    G = np.asarray(A.T @ A if d <= n else A @ A.T, dtype=np.float64)
    values: FloatArray = scipy.linalg.eigvalsh(
        G, subset_by_index=[least - count, least - 1], check_finite=False
    )
    return np.maximum(values[::-1], 0.0)


def _iterated(A: Any, count: int, plan: Plan) -> FloatArray | None:
    squares = np.einsum("ij,ij->j", A, A, dtype=np.float64)
    view = CenteredRows(Rows(A, A.dtype), np.zeros(A.shape[1]), None, 0, squares, 0.0)
    operator = (GramOperator if plan.operator == "gram" else CovarianceOperator)(view)
    try:
        found = krylov(
            operator,
            Target(count=count),
            tol=ROUGH,
            block=plan.options["block"],
            columns=plan.options["columns"],
            max_passes=plan.options["max_passes"],
            rng=np.random.default_rng(0),
        )
    except Stalled:
        return None
    return found.values


def _all_eigenvalues(view: CenteredRows, memory_limit: int) -> tuple[FloatArray, float]:
    """Eigenvalues of ``C.T C``, at most ``min(n, d)`` of them, and which of them are rounding."""
    rows = view.rows
    n, d = rows.shape
    top_relative = float(np.finfo(rows.dtype).eps)
    if n * d <= SMALL and not rows.is_sparse:
        C = np.asarray(to_numpy(view.block(slice(None), slice(None))), dtype=np.float64)
        values = scipy.linalg.svdvals(C, check_finite=False) ** 2
        exact = top_relative < 1e-12
        relative = (max(n, d) * top_relative) ** 2 if exact else (4 * top_relative) ** 2
        return values, relative_tolerance(min(relative, 1.0), view.noise, float(values[0]))
    side = "covariance" if d <= n else "gram"
    plan = plan_pca((n, d), rows.dtype, Target(), side, memory_limit, sparse=rows.is_sparse)
    view = replace(view, double=bool(plan.options["double"]))
    operator = (CovarianceOperator if d <= n else GramOperator)(view)
    A = operator.dense()
    if is_numpy(A):
        values = scipy.linalg.eigvalsh(A, check_finite=False, overwrite_a=True)[::-1]
    else:
        values = as_float64(namespace(A).linalg.eigvalsh(A))[::-1]
    values = np.maximum(values, 0.0)
    return values, relative_tolerance(operator.relative_tolerance, operator.noise, float(values[0]))


def leading_factors(D: Any, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular triplets of D above rounding: (a, r), (r,), (r, b) with r <= count."""
    D = np.asarray(D, dtype=np.float64)
    a, b = D.shape
    least = min(a, b)
    if least <= 64 or 2 * count > least:
        U, s, Vt = scipy.linalg.svd(D, full_matrices=False, check_finite=False)
        keep = int(np.sum(s[:count] > max(a, b) * float(np.finfo(np.float64).eps) * s[0])) if s[0] > 0 else 0
        return U[:, :keep], s[:keep], Vt[:keep]
    G = D @ D.T if a <= b else D.T @ D
    values, vectors = scipy.linalg.eigh(G, subset_by_index=[least - count, least - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = int(np.sum(values > least * float(np.finfo(np.float64).eps) * max(float(values[0]), 0.0)))
    s, vectors = np.sqrt(values[:keep]), vectors[:, :keep]
    if a <= b:
        return vectors, s, (vectors.T @ D) / s[:, None]
    return (D @ vectors) / s, s, vectors.T
