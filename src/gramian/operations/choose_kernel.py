"""Which kernel, and which width of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.errors import ParameterError
from gramian.operations.operation import DATA, Result, operation
from gramian.operations.select import estimator, is_discrete, refuse_several_labels
from gramian.operations.shared import SEED, read_counts
from gramian.options import option


@dataclass(frozen=True)
class ChooseKernel:
    """The parameters of ``gramian.choose_kernel``."""

    criterion: str | None = option(
        "NAME",
        "preimage, or with labels score.",
        usual="preimage; score with labels",
        choices=("preimage", "score"),
    )
    candidates: list[str] | None = option(
        "KERNEL",
        "A kernel to compare, such as 'rbf(sigma=2)'; may be repeated.",
        None,
        "--candidate",
        usual="a default list",
    )
    n_components: str | None = option(
        "K,K,..",
        "Numbers of components to compare, such as 2,5,10.",
        None,
        "--components",
        usual="a default list",
        label="number of components",
    )
    cv: int = option("FOLDS", "Number of cross-validation folds.", 5, label="number of folds")
    estimator: str | None = option(
        "NAME",
        "score: estimator, as in select: logistic, lda, knn or tree for classes; ridge, knn or tree for "
        "numbers.",
        usual="logistic or ridge, by the label",
    )
    scoring: str | None = option(
        "NAME", "score: name of a scikit-learn score.", usual="accuracy; r2", label="score"
    )
    seed: int = SEED


@operation(DATA, application="gramian.selection")
def choose_kernel(options: ChooseKernel, data: Any) -> Result:
    """Choose a kernel and its width.

    Prints all kernels of the comparison with their standard errors.
    """
    from gramian.report.facts import data_facts
    from gramian.selection.choose_kernel import choose_kernel

    refuse_several_labels(data)
    if data.labels is None and (options.criterion == "score" or options.estimator is not None):
        raise ParameterError(
            "criterion",
            problem="--criterion score and --estimator need labels.",
            hint="Name their column with --label, or their file with --labels-from.",
        )
    given: dict[str, Any] = vars(options) | {"candidates": options.candidates or None}
    given["random_state"] = given.pop("seed")
    if options.n_components is not None:
        given["n_components"] = read_counts(options.n_components)
    if options.estimator is not None:
        given["estimator"] = estimator(options.estimator, is_discrete(data), options.seed)
    choice = choose_kernel(data, **given)
    fit = {"kernel": repr(choice.best)}
    if choice.n_components is not None:
        fit["components"] = str(choice.n_components)
    return Result(choice, {"data": data_facts(data), **choice.to_dict()}, fit=fit)
