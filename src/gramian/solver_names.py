"""The names of solvers that users can spell, declared once: parameters, messages and help read this list."""

NAMES = {
    "PCA": ("full", "covariance", "gram", "krylov"),
    "KernelPCA": ("dense", "krylov", "nystroem", "random-features"),
}
# They solve an approximation of the problem.
APPROXIMATE = ("nystroem", "random-features")


def solver_names(estimator: str, approximate: bool | None = None) -> tuple[str, ...]:
    """Return the solvers of an estimator except "auto": all, the exact or the approximate ones.

    Examples
    --------
    >>> solver_names("KernelPCA"), solver_names("KernelPCA", approximate=False)
    (('dense', 'krylov', 'nystroem', 'random-features'), ('dense', 'krylov'))
    """
    return tuple(name for name in NAMES[estimator] if approximate in (None, name in APPROXIMATE))
