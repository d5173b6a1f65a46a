"""From options to an estimator; an option that does not apply is an error."""

from collections.abc import Sequence
from typing import Any

from gramian.checks import check_choice
from gramian.cli.options import Model, only_for, spelled
from gramian.errors import ParameterError

# Options that are parameters of a kernel whose name stands alone.
KERNEL_OPTIONS = ("gamma", "degree", "coef0")
KERNEL_ONLY = (*KERNEL_OPTIONS, "repair", "preimage")
# What the shell calls by another name than Python.
LANDMARKS = {"landmarks": "n_landmarks", "landmark_rule": "landmarks"}
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
    from gramian.estimators.exact_kernel import RULES as KERNEL_RULES
    from gramian.estimators.exact_kernel import SOLVERS as KERNEL_SOLVERS
    from gramian.estimators.inputs import SCALES
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.landmarks import LANDMARK_RULES
    from gramian.estimators.linear_fit import SOLVERS as PCA_SOLVERS
    from gramian.estimators.pca import PCA
    from gramian.estimators.preimages import PREIMAGES

    _check_applicable(options)
    memory_limit_bytes(options.memory_limit)
    pca = options.kernel is None
    allowed = {
        "solver": PCA_SOLVERS if pca else KERNEL_SOLVERS,
        "scale": SCALES,
        "repair": ("clip",),
        "preimage": PREIMAGES,
        "landmark_rule": LANDMARK_RULES,
    }
    for name, choices in allowed.items():
        if (value := getattr(options, name)) is not None:
            check_choice(spelled(name), value, choices)
    if options.max_rmse is not None:
        check_rmse(options.max_rmse)
    shared: dict[str, Any] = {
        "center": not options.no_center,
        "solver": options.solver or "auto",
        "tol": options.tol,
        "random_state": options.seed,
        "memory_limit": options.memory_limit,
        "device": options.device,
    }
    components: Any = read_components(options.components, NAMED if pca else KERNEL_RULES)
    names = PCA_ONLY if pca else KERNEL_ONLY
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    if pca:
        return PCA(components, **given, **shared)
    given |= {
        to: getattr(options, name) for name, to in LANDMARKS.items() if getattr(options, name) is not None
    }
    given["gamma"] = number_or_name("--gamma", options.gamma, ("median", "scale"))
    assert options.kernel is not None
    return KernelPCA(components, kernel=options.kernel, **given, **shared)


def _check_applicable(options: Model) -> None:
    from gramian.kernels.expression import PRECOMPUTED, parse

    kernel = options.kernel
    if kernel is None:
        only_for("a kernel, which --kernel names", options, *KERNEL_ONLY, *LANDMARKS)
        return
    only_for("PCA, without --kernel", options, *PCA_ONLY)
    if options.solver != "nystroem":
        only_for("--solver nystroem", options, "landmark_rule")
        if options.solver != "random-features":
            only_for("--solver nystroem or random-features", options, "landmarks")
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


def read_components(text: str | None, rules: Sequence[str] = ()) -> int | float | str | None:
    """Read a number of components, an explained variance ratio, or the name of a rule.

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
    advice = "Give a number such as 10, or an explained variance ratio between 0 and 1 such as 0.95."
    if rules:
        advice += f" Or a rule: {', '.join(rules)}."
    return number_or_share("--components", text, advice)


def number_or_name(option: str, text: str | None, names: Sequence[str]) -> float | str | None:
    """Read a number, or one of some names; None stays None."""
    if text is None or text.strip() in names:
        return text and text.strip()
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option} {text} is neither a number nor {' or '.join(names)}.") from None


def number_or_share(option: str, text: str, advice: str) -> int | float:
    """Read a whole number from 1, or a share between 0 and 1."""
    try:
        value = int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ParameterError(f"{option} {text} is not understood. {advice}") from None
    if not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ParameterError(f"{option} {text} is out of range. {advice}")
    return value


def read_counts(option: str, text: str) -> list[int]:
    """Read numbers of components, in rising order.

    Raises
    ------
    ParameterError
        For anything but whole numbers from 1.

    Examples
    --------
    >>> read_counts("-r", "10"), read_counts("-r", "5,2, 10")
    ([10], [2, 5, 10])
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise ParameterError(
            f"{option} {text} is not understood. Give a whole number such as 10, or several, such as 2,5,10."
        )
    return sorted({int(part) for part in parts})
