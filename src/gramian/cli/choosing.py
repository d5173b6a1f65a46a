"""The command that chooses a kernel: ``choose-kernel``."""

import json
import shlex
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.options import Reading, as_arguments
from gramian.cli.progress import progress
from gramian.errors import ParameterError

__all__ = ["choose_kernel"]


def choose_kernel(
    data: str,
    criterion: str | None,
    candidates: list[str] | None,
    reading: Reading,
    seed: int,
    as_json: bool,
) -> None:
    """Print what was tried, and the command that fits the kernel that was chosen."""
    from gramian.estimators.inputs import check_choice
    from gramian.kernels import kernel_from_name
    from gramian.kernels.named import PRECOMPUTED
    from gramian.selection.choose_kernel import choose_kernel as choose
    from gramian.selection.kernel_judging import CRITERIA

    if criterion is not None:
        check_choice("--criterion", criterion, CRITERIA)
    if criterion in ("alignment", "score") and reading.label is None:
        raise ParameterError(f"--criterion {criterion} reads labels. Name their column with --label.")
    if not 0 <= seed < 2**32:
        raise ParameterError(f"--seed {seed} must be a whole number from 0 to {2**32 - 1}.")
    for text in candidates or ():
        # Before the data are read. That of a matrix has a message of its own.
        if text.strip() != PRECOMPUTED:
            kernel_from_name(text)
    table = read_table(data, reading)
    with progress("computing"):
        choice = choose(table, candidates=candidates or None, criterion=criterion, random_state=seed)
    command = _next(data, reading, choice)
    if as_json:
        print(json.dumps(_facts(table, choice, command), indent=2, allow_nan=False))
        return
    print(f"{choice}\n\nFit it:\n  {command}")


def _next(data: str, reading: Reading, choice: Any) -> str:
    number = [] if choice.n_components is None else ["--components", str(choice.n_components)]
    chosen = ["--kernel", repr(choice.best), *number]
    return shlex.join(["gramian", "fit", data, *as_arguments(reading), *chosen, "-o", "out"])


def _facts(table: Any, choice: Any, command: str) -> dict[str, Any]:
    from gramian.report.facts import data_facts, plain

    facts: dict[str, Any] = plain(choice.to_dict())
    return {"data": data_facts(table), **facts, "next": command}
