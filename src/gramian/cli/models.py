"""From options to an estimator; an option that does not apply is refused, not ignored."""

from typing import Any

from gramian.cli.options import Model
from gramian.errors import ParameterError

__all__ = ["estimator", "read_components"]

# What each named kernel takes beside the data.
KERNEL_OPTIONS = {
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "cosine": (),
    "precomputed": (),
}
PCA_ONLY = ("scale", "whiten", "ddof")


def estimator(options: Model) -> Any:
    """Return the unfitted PCA or KernelPCA that the options describe.

    Raises
    ------
    ParameterError
        For an option that does not belong to what is computed, or whose value is not understood.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.inputs import check_choice
    from gramian.estimators.kernel_pca import SOLVERS as KERNEL_SOLVERS
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.pca import PCA
    from gramian.estimators.pca import SOLVERS as PCA_SOLVERS

    _check_applicable(options)
    if not 0 <= options.seed < 2**32:
        raise ParameterError(f"--seed {options.seed} must be a whole number from 0 to {2**32 - 1}.")
    memory_limit_bytes(options.memory_limit)
    shared: dict[str, Any] = {
        "center": not options.no_center,
        "solver": options.solver or "auto",
        "tol": options.tol,
        "random_state": options.seed,
        "memory_limit": options.memory_limit,
    }
    check_choice("--solver", shared["solver"], PCA_SOLVERS if options.kernel is None else KERNEL_SOLVERS)
    components = read_components(options.components)
    if options.kernel is None:
        if options.scale is not None:
            check_choice("--scale", options.scale, ("unit", "pareto"))
        given: dict[str, Any] = {} if options.ddof is None else {"ddof": options.ddof}
        return PCA(components, scale=options.scale, whiten=options.whiten, **given, **shared)
    names = KERNEL_OPTIONS[options.kernel]
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    return KernelPCA(components, kernel=options.kernel, **given, **shared)


def _check_applicable(options: Model) -> None:
    kernel = options.kernel
    if kernel is None:
        for name in ("gamma", "degree", "coef0"):
            if getattr(options, name) is not None:
                raise ParameterError(f"--{name} belongs to a kernel. Add --kernel, or leave it out.")
        return
    if kernel not in KERNEL_OPTIONS:
        raise ParameterError(f"--kernel {kernel} is not known. Allowed: {', '.join(KERNEL_OPTIONS)}.")
    for name in PCA_ONLY:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise ParameterError(
                f"--{name} belongs to PCA and does not go with --kernel. Leave one of them out."
            )
    for name in ("gamma", "degree", "coef0"):
        if getattr(options, name) is not None and name not in KERNEL_OPTIONS[kernel]:
            takes = ", ".join(f"--{option}" for option in KERNEL_OPTIONS[kernel]) or "no parameter"
            raise ParameterError(
                f"--{name} does not apply to --kernel {kernel}, which takes {takes}. Leave it out."
            )


def read_components(text: str | None) -> int | float | None:
    """Read a number of components or a share of the variance.

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_components("10"), read_components("0.95"), read_components(None)
    (10, 0.95, None)
    """
    if text is None:
        return None
    advice = "Give a number such as 10, or a share of the variance between 0 and 1 such as 0.95."
    try:
        value = int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ParameterError(f"--components {text} is not a number. {advice}") from None
    if not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ParameterError(f"--components {text} is out of range. {advice}")
    return value
