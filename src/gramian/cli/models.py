"""From options to an estimator; an option that does not apply is an error."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from gramian.checks import check_choice
from gramian.cli.options import Model, given_options, only_for
from gramian.errors import ParameterError

# Options that are parameters of a kernel whose name stands alone.
KERNEL_OPTIONS = ("gamma", "degree", "coef0")
# What the shell calls by another name than Python.
PARAMETERS = {"components": "n_components", "landmarks": "n_landmarks", "landmark_rule": "landmarks"}
PARAMETERS |= {"no_center": "center", "seed": "random_state"}


def estimator(options: Model) -> Any:
    """Return the unfitted PCA or KernelPCA that the options describe.

    Raises
    ------
    ParameterError
        For an option that does not belong to what is computed, or whose value is not understood.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.component_choice import NAMED, check_rmse
    from gramian.estimators.exact_kernel import RULES
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.pca import PCA
    from gramian.solvers.names import solver_names

    pca = options.kernel is None
    kind: type[Any] = PCA if pca else KernelPCA
    names = {one.name: PARAMETERS.get(one.name, one.name) for one in fields(options)}
    takes = inspect.signature(kind).parameters
    what = "a kernel, which --kernel names" if pca else "PCA, without --kernel"
    only_for(what, options, *(option for option, name in names.items() if name not in takes))
    if options.kernel is not None:
        _check_kernel_options(options, options.kernel)
    memory_limit_bytes(options.memory_limit)
    if options.solver is not None:
        check_choice("--solver", options.solver, ("auto", *solver_names(kind.__name__)))
    if options.max_rmse is not None:
        check_rmse(options.max_rmse)
    given: dict[str, Any] = {names[option]: value for option, value in given_options(options).items()}
    given["n_components"] = read_components(options.components, NAMED if pca else RULES)
    given["center"] = not options.no_center
    if options.gamma is not None:
        given["gamma"] = number_or_name("--gamma", options.gamma, ("median", "scale"))
    return kind(**given)


def _check_kernel_options(options: Model, kernel: str) -> None:
    from gramian.kernels.expression import PRECOMPUTED, parse

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
