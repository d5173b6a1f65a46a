"""Eigenpairs of matrices that are there already, and of tables as they stand: for rules and criteria."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.arrays import as_float64, memory_limit_bytes
from gramian.engine.linear import LinearProblem
from gramian.engine.solving import Problem, solve
from gramian.operators.costs import SymmetricCosts
from gramian.operators.operator import Operator, SymmetricMatrix
from gramian.records import FloatArray, SolveRequest, Spectrum, Target
from gramian.rows import as_rows
from gramian.solvers.route import Route

# Residual of the largest eigenvalues of data without structure: far below what chance makes them vary by.
ROUGH = 1e-3


@dataclass(eq=False)
class SymmetricProblem(Problem):
    """A symmetric matrix that is given."""

    A: Any
    psd: bool = False
    unit: str = "eigenvalues"

    @property
    def costs(self) -> SymmetricCosts:
        """What products with it take."""
        return SymmetricCosts(int(self.A.shape[0]))

    def build(self, route: Route) -> SymmetricMatrix:
        """Return the matrix as an operator."""
        return SymmetricMatrix(self.A, psd=self.psd)

    def truncate(self, result: Spectrum, operator: Operator, request: SolveRequest) -> Spectrum:
        """Cut off what a whole decomposition finds beyond a number that was asked for."""
        return result if request.target.count is None else result.first(request.target.count)


def _request(
    target: Target, memory_limit: int | None, *, vectors: bool = True, tol: float = 1e-12
) -> SolveRequest:
    limit = memory_limit_bytes(None) if memory_limit is None else memory_limit
    return SolveRequest(target, tol, limit, vectors=vectors, certify=False)


def eigenpairs(A: Any) -> tuple[FloatArray, FloatArray]:
    """Return every eigenvalue, descending, and eigenvectors as columns of a symmetric matrix."""
    spectrum = solve(SymmetricProblem(A), _request(Target(), None)).spectrum
    return spectrum.values, as_float64(spectrum.vectors)


def leading_pairs(A: Any, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a positive semi-definite matrix, and eigenvectors as columns."""
    problem, request = SymmetricProblem(A, psd=True), _request(Target(count=count), None, tol=1e-10)
    spectrum = solve(problem, request).spectrum
    return spectrum.values, as_float64(spectrum.vectors)


def eigenvalues(A: Any) -> FloatArray:
    """Return every eigenvalue of a symmetric matrix, descending."""
    request = _request(Target(), None, vectors=False)
    return solve(SymmetricProblem(A), request).spectrum.values


def leading_values(A: Any, count: int, memory_limit: int | None = None) -> FloatArray:
    """Return the ``count`` largest eigenvalues of ``A.T A`` for a table that is not centred, to 1e-3.

    By the route that is predicted to be fastest for so many components of such a table, without vectors.
    """
    if count == 0:
        return np.empty(0)
    problem = LinearProblem(as_rows(A), center=False, ddof=0)
    request = _request(Target(count=count), memory_limit, vectors=False, tol=ROUGH)
    solution = solve(problem, request)
    return np.maximum(solution.spectrum.values[:count] * problem.measured().square_unit, 0.0)


def factors(A: Any, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading singular triplets of A above rounding: (a, r), (r,), (r, b) with r <= count."""
    problem = LinearProblem(as_rows(np.asarray(A, dtype=np.float64)), center=False, ddof=0)
    solution = solve(problem, replace(_request(Target(count=count), None), tol=1e-9))
    result = problem.directions(solution, None)
    r = result.components.rank
    s = np.sqrt(solution.spectrum.values[:r] * problem.measured().square_unit)
    V = as_float64(result.vectors)[:, :r]
    return (np.asarray(A, dtype=np.float64) @ V) / s, s, V.T
