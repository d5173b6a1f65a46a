"""Plans, solves and certifies: the one place where a route is chosen, retried and accepted."""

from gramian.solve.linear import LinearProblem, SymmetricProblem, eigenpairs, eigenvalues, factors
from gramian.solve.solving import (
    Account,
    Problem,
    Schedule,
    Solution,
    plan,
    require_memory,
    run,
    solve,
    warn_of_cost,
)

__all__ = [
    "Account",
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
