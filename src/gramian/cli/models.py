"""From options to an estimator; an option that does not apply is refused, not ignored."""

from collections.abc import Sequence
from typing import Any

from gramian.checks import check_choice, check_seed
from gramian.cli.options import Model
from gramian.errors import ParameterError

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
    from gramian.estimators.component_choice import NAMED, check_rmse
    from gramian.estimators.kernel_pca import RULES as KERNEL_RULES
    from gramian.estimators.kernel_pca import SOLVERS as KERNEL_SOLVERS
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.pca import PCA
    from gramian.estimators.pca import SOLVERS as PCA_SOLVERS
    from gramian.estimators.preimages import PREIMAGES

    _check_applicable(options)
    memory_limit_bytes(options.memory_limit)
    pca = options.kernel is None
    allowed = {
        "solver": PCA_SOLVERS if pca else KERNEL_SOLVERS,
        "scale": ("unit", "pareto"),
        "repair": ("clip",),
        "preimage": PREIMAGES,
    }
    for name, choices in allowed.items():
        if (value := getattr(options, name)) is not None:
            check_choice(flag(name), value, choices)
    if options.max_rmse is not None:
        check_rmse(options.max_rmse)
    shared: dict[str, Any] = {
        "center": not options.no_center,
        "solver": options.solver or "auto",
        "tol": options.tol,
        "random_state": check_seed("--seed", options.seed),
        "memory_limit": options.memory_limit,
    }
    components: Any = read_components(options.components, NAMED if pca else KERNEL_RULES)
    names = PCA_ONLY if pca else KERNEL_ONLY
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    if pca:
        return PCA(components, **given, **shared)
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
