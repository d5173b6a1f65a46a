"""Kernel PCA of all rows: exact, on tiles of their kernel matrix."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian.analysis.directions import lifted
from gramian.arrays import memory_limit_bytes
from gramian.checks import amount, check_choice, duration
from gramian.engine import Schedule, Solution, run, warn_of_cost
from gramian.engine.kernel import KernelProblem
from gramian.errors import (
    CertificateWarning,
    GramianError,
    IndefiniteKernelWarning,
    MemoryLimitError,
    ParameterError,
)
from gramian.estimators.fitted import warn_of_none, with_orthonormality
from gramian.estimators.inputs import check_target, check_tol, checkpointed, generators, streams
from gramian.estimators.kernel_fit import KernelFit, KernelModel, precision_of
from gramian.estimators.kernel_rules import components_of_kernel, with_kernel, with_kernel_rule
from gramian.estimators.landmarks import FeatureFit
from gramian.estimators.preimages import preimage_method
from gramian.kernels import Evaluator
from gramian.operators.kernel_source import KernelSource, MatrixSource
from gramian.records import Plan, SolveRequest, Target
from gramian.solvers.names import solver_names

SOLVERS = ("auto", *solver_names("KernelPCA"))
RULES = ("parallel", "cv")
NEGLIGIBLE = 1e-4  # part of the largest eigenvalue: entries rounded to float32 leave negative ones below it
# An iteration knows the smallest eigenvalue from above only.
NEGATIVE = (
    "The Gram matrix has an eigenvalue of {:.4g} or below, so this is not a valid kernel on this data. The "
    "components belong to positive eigenvalues, but distances and shares of variance in feature space have "
    "no meaning. Set negative eigenvalues to 0 (repair='clip'), or use a kernel that is positive "
    "semi-definite, such as rbf or poly."
)


@dataclass(eq=False)
class ExactFit(KernelFit):
    """Kernel PCA of all rows.

    Attributes
    ----------
    spread : DaskRows or None
        The same rows where they are spread, if they are.
    """

    spread: Any = None

    @property
    def plan(self) -> Plan:
        """The plan of the fit; for a rule, the plan for ten components."""
        count = self.parameters.n_components
        if isinstance(count, str):
            check_choice("n_components", count, RULES)
        target = Target(count=min(10, self.rows.shape[0])) if isinstance(count, str) else self._target()
        plan = self._planned(target)[2].plan
        return with_kernel_rule(plan, count, self.rows, self.kernel)

    def solve(self, checkpoint: Any = None, *, keep: bool = False) -> KernelModel:
        """Find the components, and keep all rows."""
        asked, rows, kernel = self.parameters, self.rows, self.kernel
        choice = self._choice()
        target = self._target() if choice is None else Target(count=max(1, choice.number))
        preimage_method(asked.preimage, kernel, sparse=rows.skips_zeros)
        problem, evaluator, planned = self._planned(target)
        warn_of_cost(planned.plan, self._cheaper, rows.like)
        X = rows.in_memory()
        problem.source = MatrixSource(X) if evaluator is None else KernelSource(evaluator, X)
        with checkpointed(asked, self.spread or rows, checkpoint) as (problem.passes, seeds):
            solution = run(problem, planned.seeded(*streams(seeds, 2)))
        if evaluator is not None:
            self._warn_of_products(evaluator, solution, X)
        result = problem.coefficients(solution, target.count)
        if -result.negative > NEGLIGIBLE * result.components.values[0]:
            warnings.warn(NEGATIVE.format(result.negative), IndefiniteKernelWarning, stacklevel=3)
        certificate = solution.certificate
        if rows.weights is None:
            certificate = with_orthonormality(certificate, result.vectors)
        if certificate is not None and (bounds := certificate.directions) is not None:
            r, unit = bounds.sines.size, float(np.finfo(rows.dtype).eps)
            rounded = lifted(bounds, np.ones(r), np.full(r, unit), bounds.kind)
            certificate = replace(certificate, directions=rounded)
        return KernelModel(
            rows.shape[0],
            rows.total_weight,
            "the centred kernel matrix" if asked.center else "the kernel matrix",
            None if evaluator is None else evaluator.kernel,
            replace(solution, spectrum=problem.scaled(solution.spectrum), certificate=certificate),
            result,
            None if evaluator is None else rows.owned(),
            choice,
        )

    def _target(self) -> Target:
        shape = self.rows.shape
        return check_target(self.parameters.n_components, shape[0], shape, of="kernel components")

    def _choice(self) -> Any:
        """Ask a rule for the number of components; None where a number was given."""
        asked = self.parameters
        if not isinstance(asked.n_components, str):
            return None
        rule = check_choice("n_components", asked.n_components, RULES)
        model = with_kernel(asked, self.kernel, n_components=None)
        choice = components_of_kernel(model, self.rows, rule, rng=generators(asked.random_state, 3)[2])
        if choice.number is None:
            raise ParameterError(f"n_components={rule!r}: {choice.sentence}")
        warn_of_none(choice, stacklevel=5)
        return choice

    def _planned(self, target: Target) -> tuple[KernelProblem, Evaluator | None, Schedule]:
        """Return what the engine is asked about, the kernel on the rows, and the routes."""
        asked, rows, kernel = self.parameters, self.rows, self.kernel
        evaluator, center, X = None, bool(asked.center), rows.in_memory()
        if kernel is not None:
            evaluator = kernel.bind(X, precision_of(X, asked.tol), centered=center)
        problem = KernelProblem(
            rows,
            None,
            center=center,
            psd=evaluator is not None and evaluator.kernel.psd,
            clip=asked.repair is not None and check_choice("repair", asked.repair, ("clip",)) == "clip",
            calls=None if evaluator is None else evaluator.kernel.calls(X),
            given=evaluator is None,
            fraction=target.fraction is not None,
            single=evaluator is not None and evaluator.single is not None,
            spread=None if evaluator is None or rows.weights is not None else self.spread,
        )
        if rows.weights is not None:
            problem.unit = "eigenvalues of Kc with weighted rows"
        request = self._request(problem, target)
        try:
            return problem, evaluator, problem.schedule(request)
        except MemoryLimitError as error:
            said = str(error)
            if problem.spread is not None:
                tiles, room = amount(4 * rows.shape[0] ** 2), amount(problem.spread.room)
                said += f" Tiles of the matrix take {tiles}, but the workers have room for {room}."
            raise MemoryLimitError(f"{said} {self._cheaper()}") from error

    def _request(self, problem: KernelProblem, target: Target) -> SolveRequest:
        asked, rows = self.parameters, self.rows
        solver = check_choice("solver", asked.solver, SOLVERS)
        if asked.n_landmarks is not None or not self.plain_landmarks:
            parameter = "landmarks" if asked.n_landmarks is None else "n_landmarks"
            raise ParameterError(
                f"{parameter} applies only to solver='nystroem' or 'random-features', but "
                f"solver={solver!r} uses every row. Leave it out, or set the solver."
            )
        if solver == "krylov" and problem.everything and problem.clip:
            raise ParameterError(
                "solver='krylov' finds only the largest eigenvalues, but repair='clip' needs the negative "
                "ones. Leave solver at 'auto'."
            )
        tol, limit = check_tol(asked.tol, rows.dtype), memory_limit_bytes(asked.memory_limit, rows.like)
        return SolveRequest(target, tol, limit, solver)

    def _cheaper(self) -> str:
        """Say what takes less time than all rows, and how long."""
        asked, kernel = self.parameters, self.kernel
        advice = "A sample of the rows costs less."
        if kernel is None or not kernel.psd:
            return advice
        if isinstance(asked.n_components, str) or asked.repair is not None:
            return advice
        advice = "A sample of the rows costs less, or KernelPCA(solver='nystroem') with few n_landmarks."
        other: Any = clone(asked)
        other.set_params(solver="nystroem", n_components=None, kernel=kernel)
        fit = FeatureFit(other, self.spread or self.rows)
        fit.kernel = kernel
        with suppress(GramianError):
            seconds = fit.plan.seconds
            advice = (
                "KernelPCA(solver='nystroem') uses landmarks instead of all rows and would take about "
                f"{duration(seconds)} here; its certificate_ bounds the exact eigenvalues."
            )
        return advice

    def _warn_of_products(self, bound: Evaluator, solution: Solution, fitted: Any) -> None:
        """Say what helps where the products of sparse rows are why a certificate does not hold."""
        error = bound.relative + bound.absolute / (bound.largest or 1.0)
        certified = (
            solution.certificate is not None and solution.certificate.ok and solution.spectrum.rank > 0
        )
        if sparse.issparse(fitted) and not certified and error > precision_of(fitted, self.parameters.tol):
            warnings.warn(
                f"Products of these sparse rows leave errors of up to {error:.1e} in kernel values, because "
                "rows lie many kernel widths from 0. Pass X.toarray(), so that gramian sums differences "
                "instead, or use a wider kernel.",
                CertificateWarning,
                stacklevel=4,
            )
