"""The command that chooses a kernel: ``choose-kernel``."""

import json
import shlex
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from gramian.checks import check_choice, check_seed
from gramian.cli.inputs import read_table
from gramian.cli.models import flag
from gramian.cli.options import Data, JsonFlag, Reading, as_arguments, spread
from gramian.cli.progress import progress
from gramian.cli.selecting import estimator
from gramian.errors import ParameterError

CRITERIA = ("preimage", "parallel", "alignment", "score")
# Options that not every criterion reads.
USERS = {"cv": ("preimage", "score"), "estimator": ("score",), "scoring": ("score",)}


@dataclass(frozen=True)
class Judging:
    """How kernels are compared: the parameters of ``gramian.choose_kernel``."""

    criterion: Annotated[
        str | None,
        typer.Option(
            "--criterion",
            metavar="NAME",
            help="preimage or parallel; with labels also alignment or score. [preimage; score with labels]",
        ),
    ] = None
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate",
            metavar="KERNEL",
            help="A kernel to try, such as 'rbf(sigma=2)'; may be given many times. [a list that fits]",
            show_default=False,
        ),
    ] = None
    components: Annotated[
        str | None,
        typer.Option(
            "--components",
            metavar="K,K,..",
            help="preimage and score: numbers of components to try, such as 2,5,10; alignment takes one. "
            "[a list that fits]",
        ),
    ] = None
    cv: Annotated[
        int | None,
        typer.Option("--cv", metavar="FOLDS", help="preimage and score: parts, each held out once. [5]"),
    ] = None
    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator",
            metavar="NAME",
            help="score: what validates, as in select: logistic, lda, knn or tree for classes; ridge, knn or "
            "tree for numbers. [logistic or ridge, by the label]",
        ),
    ] = None
    scoring: Annotated[
        str | None,
        typer.Option("--scoring", metavar="NAME", help="score: a score of scikit-learn. [accuracy; r2]"),
    ] = None
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers. [0]", show_default=False),
    ] = 0


@spread
def choose_kernel(data: Data, reading: Reading, judging: Judging, as_json: JsonFlag = False) -> None:
    """Choose a kernel and its width.

    Prints all that were tried with their standard errors.
    """
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
    criterion = judging.criterion
    if criterion is None:
        return "score" if reading.labelled else "preimage"
    check_choice("--criterion", criterion, CRITERIA)
    if criterion in ("alignment", "score") and not reading.labelled:
        raise ParameterError(
            f"--criterion {criterion} reads labels. Name their column with --label, or their file with "
            "--labels-from."
        )
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
    check_seed("--seed", judging.seed)


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
