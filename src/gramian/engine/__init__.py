"""Asks, plans, solves, certifies: the one place where a route is chosen, retried and accepted."""

from gramian.engine.features import Basis, FeatureProblem, approximated, landmark_bounds
from gramian.engine.kernel import KernelProblem
from gramian.engine.linear import LinearProblem
from gramian.engine.planning import plan, warn_of_cost
from gramian.engine.solving import Problem, Solved, solve
from gramian.engine.symmetric import SymmetricProblem, eigenpairs, eigenvalues, factors

__all__ = [
    "Basis",
    "FeatureProblem",
    "KernelProblem",
    "LinearProblem",
    "Problem",
    "Solved",
    "SymmetricProblem",
    "approximated",
    "eigenpairs",
    "eigenvalues",
    "factors",
    "landmark_bounds",
    "plan",
    "solve",
    "warn_of_cost",
]
