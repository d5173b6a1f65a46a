"""The command that chooses a kernel: ``choose-kernel``."""

import json
import shlex
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.models import flag
from gramian.cli.options import Reading, as_arguments
from gramian.cli.progress import progress
from gramian.cli.selection_app import Judging
from gramian.errors import ParameterError

__all__ = ["choose_kernel", "read_numbers"]

# Options that not every criterion reads.
USERS = {"cv": ("preimage", "score"), "estimator": ("score",), "scoring": ("score",)}


def choose_kernel(data: str, reading: Reading, judging: Judging, as_json: bool) -> None:
    """Print what was tried, and the command that fits the kernel that was chosen."""
    from gramian.kernels import kernel_from_name
    from gramian.kernels.expression import PRECOMPUTED
    from gramian.selection.choose_kernel import choose_kernel as choose

    criterion = _criterion(judging, reading)
    _check_applicable(judging, criterion)
    numbers = read_numbers(judging.components, criterion)
    for text in judging.candidates or ():
        # Before the data are read. That of a matrix has a message of its own.
        if text.strip() != PRECOMPUTED:
            kernel_from_name(text)
    table = read_table(data, reading)
    # Where none is asked for, it is the choice of choose_kernel.
    validating = None if judging.estimator is None else _validating(judging.estimator, table, judging.seed)
    with progress("computing"):
        choice = choose(
            table,
            candidates=judging.candidates or None,
            criterion=criterion,
            estimator=validating,
            cv=5 if judging.cv is None else judging.cv,
            n_components=numbers,
            scoring=judging.scoring,
            random_state=judging.seed,
        )
    command = _next(data, reading, choice)
    if as_json:
        print(json.dumps(_facts(table, choice, command), indent=2, allow_nan=False))
        return
    print(f"{choice}\n\nFit it:\n  {command}")


def _criterion(judging: Judging, reading: Reading) -> str:
    from gramian.estimators.inputs import check_choice
    from gramian.selection.kernel_judging import CRITERIA

    criterion = judging.criterion
    if criterion is None:
        return "preimage" if reading.label is None else "score"
    check_choice("--criterion", criterion, CRITERIA)
    if criterion in ("alignment", "score") and reading.label is None:
        raise ParameterError(f"--criterion {criterion} reads labels. Name their column with --label.")
    return criterion


def _check_applicable(judging: Judging, criterion: str) -> None:
    """Refuse options that would be ignored."""
    for name, users in USERS.items():
        if getattr(judging, name) is None or criterion in users:
            continue
        belongs = f"{flag(name)} belongs to --criterion {' and '.join(users)}"
        if judging.criterion is None:
            raise ParameterError(
                f"{belongs}, and without --label the criterion is {criterion}. Name the column of labels "
                f"with --label, or leave {flag(name)} out."
            )
        raise ParameterError(f"{belongs}, not to --criterion {criterion}. Leave one of them out.")
    if judging.components is not None and criterion == "parallel":
        raise ParameterError(
            "--criterion parallel finds the number of components itself. Leave --components out."
        )
    if not 0 <= judging.seed < 2**32:
        raise ParameterError(f"--seed {judging.seed} must be a whole number from 0 to {2**32 - 1}.")


def read_numbers(text: str | None, criterion: str) -> list[int] | None:
    """Read which numbers of components are tried.

    Raises
    ------
    ParameterError
        For anything but whole numbers from 1, and for several where the criterion does not compare them.

    Examples
    --------
    >>> read_numbers("10", "alignment"), read_numbers("2,5, 10", "score"), read_numbers(None, "score")
    ([10], [2, 5, 10], None)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise ParameterError(
            f"--components {text} is not understood. Give a whole number such as 10, or several to choose "
            "from, such as 2,5,10."
        )
    if criterion == "alignment" and len(parts) > 1:
        raise ParameterError(
            f"--criterion alignment does not choose between --components {text}. Give one number, or none."
        )
    return [int(part) for part in parts]


def _validating(name: str, table: Any, seed: int) -> Any:
    from gramian.cli.selecting import estimator
    from gramian.selection.labels import as_target

    classes = as_target(table.labels, len(table.values))[1]
    return estimator(name, classes is not None, seed=seed)


def _next(data: str, reading: Reading, choice: Any) -> str:
    number = [] if choice.n_components is None else ["--components", str(choice.n_components)]
    chosen = ["--kernel", repr(choice.best), *number]
    return shlex.join(["gramian", "fit", data, *as_arguments(reading), *chosen, "-o", "out"])


def _facts(table: Any, choice: Any, command: str) -> dict[str, Any]:
    from gramian.report.facts import data_facts, plain

    facts: dict[str, Any] = plain(choice.to_dict())
    return {"data": data_facts(table), **facts, "next": command}
