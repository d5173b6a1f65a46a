"""The command that chooses a kernel: ``choose-kernel``."""

import shlex
from dataclasses import asdict, dataclass
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.models import read_counts
from gramian.cli.options import Data, JsonFlag, Reading, Seed, as_arguments, option
from gramian.cli.outputs import answer
from gramian.cli.progress import progress
from gramian.cli.selecting import estimator
from gramian.errors import ParameterError

READ_LABELS = ("alignment", "score")


@dataclass(frozen=True)
class Judging:
    """How kernels are compared: the parameters of ``gramian.choose_kernel``."""

    criterion: str | None = option(
        "NAME",
        "preimage or parallel; with labels also alignment or score. [preimage; score with labels]",
        choices=("preimage", "parallel", *READ_LABELS),
    )
    candidates: list[str] | None = option(
        "KERNEL",
        "A kernel to compare, such as 'rbf(sigma=2)'; may be repeated. [a default list]",
        None,
        "--candidate",
    )
    n_components: str | None = option(
        "K,K,..",
        "preimage and score: numbers of components to compare, such as 2,5,10; one for alignment. "
        "[a default list]",
        None,
        "--components",
    )
    cv: int = option("FOLDS", "preimage and score: number of cross-validation folds. [5]", 5)
    estimator: str | None = option(
        "NAME",
        "score: estimator, as in select: logistic, lda, knn or tree for classes; ridge, knn or tree for "
        "numbers. [logistic or ridge, by the label]",
    )
    scoring: str | None = option("NAME", "score: name of a scikit-learn score. [accuracy; r2]")
    random_state: Seed = 0


def choose_kernel(data: Data, reading: Reading, judging: Judging, as_json: JsonFlag = False) -> None:
    """Choose a kernel and its width.

    Prints all kernels of the comparison with their standard errors.
    """
    from gramian.report.facts import data_facts
    from gramian.selection.choose_kernel import choose_kernel as choose

    given = asdict(judging) | {"candidates": judging.candidates or None}
    if judging.n_components is not None:
        given["n_components"] = read_counts("--components", judging.n_components)
    reading.refuse_several_labels()
    if not reading.labelled and (judging.criterion in READ_LABELS or judging.estimator is not None):
        raise ParameterError(
            "--criterion alignment and score, and --estimator, need labels. Name their column with --label, "
            "or their file with --labels-from."
        )
    table = read_table(data, reading)
    if judging.estimator is not None:
        given["estimator"] = _validating(judging.estimator, table, judging.random_state)
    with progress("computing"):
        choice = choose(table, **given)
    command = _next(data, reading, choice)
    facts = {"data": data_facts(table), **choice.to_dict(), "next": command}
    answer(as_json, facts, f"{choice}\n\nFit it:\n  {command}")


def _validating(name: str, table: Any, seed: int) -> Any:
    from gramian.selection.labels import as_target

    classes = as_target(table.labels, table.values.shape[0])[1]
    return estimator(name, classes is not None, seed)


def _next(data: str, reading: Reading, choice: Any) -> str:
    number = [] if choice.n_components is None else ["--components", str(choice.n_components)]
    chosen = ["--kernel", repr(choice.best), *number]
    return shlex.join(["gramian", "fit", data, *as_arguments(reading), *chosen, "-o", "out"])
