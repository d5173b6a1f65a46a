"""The names of solvers that users can spell, declared once: parameters, messages and help read this list."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverName:
    """A value of the parameter ``solver``.

    Attributes
    ----------
    name : str
        As in ``Route.solver``.
    estimators : tuple of str
        The estimators that take it.
    approximate : bool
        Whether it solves an approximation of the problem.
    """

    name: str
    estimators: tuple[str, ...]
    approximate: bool = False


NAMES = (
    SolverName("full", ("PCA",)),
    SolverName("covariance", ("PCA",)),
    SolverName("gram", ("PCA",)),
    SolverName("dense", ("KernelPCA",)),
    SolverName("krylov", ("PCA", "KernelPCA")),
    SolverName("frequent-directions", ("PCA",), approximate=True),
    SolverName("nystroem", ("KernelPCA",), approximate=True),
    SolverName("random-features", ("KernelPCA",), approximate=True),
)


def solver_names(estimator: str, approximate: bool | None = None) -> tuple[str, ...]:
    """Return the solvers of an estimator except "auto": all, the exact or the approximate ones.

    Examples
    --------
    >>> solver_names("KernelPCA"), solver_names("KernelPCA", approximate=False)
    (('dense', 'krylov', 'nystroem', 'random-features'), ('dense', 'krylov'))
    """
    return tuple(
        one.name for one in NAMES if estimator in one.estimators and approximate in (None, one.approximate)
    )
