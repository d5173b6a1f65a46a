"""Plans, solves and certifies: the one place where a route is chosen, retried and accepted."""

from gramian.engine.linear import LinearProblem
from gramian.engine.planning import Schedule, plan, require_memory, warn_of_cost
from gramian.engine.solving import Problem, Solution, run, solve
from gramian.engine.symmetric import SymmetricProblem, eigenpairs, eigenvalues, factors

__all__ = [
    "LinearProblem",
    "Problem",
    "Schedule",
    "Solution",
    "SymmetricProblem",
    "eigenpairs",
    "eigenvalues",
    "factors",
    "plan",
    "require_memory",
    "run",
    "solve",
    "warn_of_cost",
]
