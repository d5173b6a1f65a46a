"""From options to an estimator; an option that does not apply is refused, not ignored."""

from collections.abc import Sequence
from typing import Any

from gramian.cli.options import Model
from gramian.errors import ParameterError

__all__ = ["estimator", "read_components"]

# Options that are parameters of a kernel whose name stands alone.
KERNEL_OPTIONS = ("gamma", "degree", "coef0")
KERNEL_ONLY = (*KERNEL_OPTIONS, "repair", "preimage")
PCA_ONLY = ("scale", "whiten", "ddof", "max_rmse")


def estimator(options: Model) -> Any:
    """Return the unfitted PCA or KernelPCA that the options describe.

    Raises
    ------
    ParameterError
        For an option that does not belong to what is computed, or whose value is not understood.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.component_choice import RULES, check_rmse
    from gramian.estimators.inputs import check_choice
    from gramian.estimators.kernel_pca import RULES as KERNEL_RULES
    from gramian.estimators.kernel_pca import SOLVERS as KERNEL_SOLVERS
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.pca import PCA
    from gramian.estimators.pca import SOLVERS as PCA_SOLVERS
    from gramian.estimators.preimages import PREIMAGES

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
    components: Any = read_components(options.components, KERNEL_RULES if options.kernel else RULES)
    if options.kernel is None:
        if options.scale is not None:
            check_choice("--scale", options.scale, ("unit", "pareto"))
        given = {
            name: value for name in ("ddof", "max_rmse") if (value := getattr(options, name)) is not None
        }
        if options.max_rmse is not None:
            check_rmse(options.max_rmse)
        return PCA(components, scale=options.scale, whiten=options.whiten, **given, **shared)
    if options.repair is not None:
        check_choice("--repair", options.repair, ("clip",))
    if options.preimage is not None:
        check_choice("--preimage", options.preimage, PREIMAGES)
    given = {name: value for name in KERNEL_ONLY if (value := getattr(options, name)) is not None}
    if options.gamma is not None:
        given["gamma"] = read_gamma(options.gamma)
    return KernelPCA(components, kernel=options.kernel, **given, **shared)


def _check_applicable(options: Model) -> None:
    from gramian.kernels.expression import PRECOMPUTED, parse

    kernel = options.kernel
    if kernel is None:
        for name in KERNEL_ONLY:
            if getattr(options, name) is not None:
                raise ParameterError(f"{flag(name)} belongs to a kernel. Add --kernel, or leave it out.")
        return
    for name in PCA_ONLY:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise ParameterError(
                f"{flag(name)} belongs to PCA and does not go with --kernel. Leave one of them out."
            )
    made = None if kernel.strip() == PRECOMPUTED else parse(kernel, "--kernel")
    alone = made is not None and kernel.strip().isidentifier()
    known = made.get_params(deep=False) if made is not None and alone else {}
    takes = [name for name in KERNEL_OPTIONS if name in known]
    for name in KERNEL_OPTIONS:
        if getattr(options, name) is not None and name not in takes:
            allowed = ", ".join(f"--{option}" for option in takes) or "no such option"
            where = "" if alone or made is None else ": write it inside of the expression"
            raise ParameterError(
                f"--{name} does not apply to --kernel {kernel}, which takes {allowed}{where}. Leave it out."
            )


def read_gamma(text: str) -> float | str:
    """Read a factor: a number, or "median".

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_gamma("0.5"), read_gamma("median")
    (0.5, 'median')
    """
    if text.strip() == "median":
        return "median"
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--gamma {text} is neither a number nor median. Give one of them.") from None


def flag(name: str) -> str:
    """Return how an option is written."""
    return f"--{name.replace('_', '-')}"


def read_components(text: str | None, rules: Sequence[str] = ()) -> int | float | str | None:
    """Read a number of components, a share of the variance, or the name of a rule.

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
    if text in rules:
        return text
    advice = "Give a number such as 10, or a share of the variance between 0 and 1 such as 0.95."
    if rules:
        advice += f" Or a rule: {', '.join(rules)}."
    try:
        value = int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ParameterError(f"--components {text} is not a number. {advice}") from None
    if not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ParameterError(f"--components {text} is out of range. {advice}")
    return value
