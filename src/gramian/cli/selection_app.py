"""The commands that choose features and kernels, and their options."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gramian.cli.options import Data, JsonFlag, Reading, spread

__all__ = ["Judging", "Selecting", "choose_kernel", "select"]


@dataclass(frozen=True)
class Selecting:
    """How features are selected: the parameters of the two selectors."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Filters mutual-information, f, chi2, correlation; wrappers forward, backward. "
            "[mutual-information]",
            show_default=False,
        ),
    ] = "mutual-information"
    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator",
            metavar="NAME",
            help="What validates: logistic, lda, knn or tree for classes; ridge, knn or tree for numbers. "
            "All but tree on standardised columns. [logistic or ridge, by the label]",
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="K",
            help="A number such as 10, a share such as 0.1, for filters also cv or fdr, for wrappers best or "
            "one-se. [cv; best]",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", metavar="RATE", help="With --features fdr: false discovery rate. [0.05]"),
    ] = None
    cv: Annotated[
        int | None, typer.Option("--cv", metavar="FOLDS", help="Parts, each held out once. [5]")
    ] = None
    redundancy: Annotated[
        str | None,
        typer.Option("--redundancy", metavar="HOW", help="Filters: mrmr passes over what repeats others."),
    ] = None
    floating: Annotated[
        bool, typer.Option("--floating", help="Wrappers: undo steps that later ones made superfluous.")
    ] = False
    patience: Annotated[
        int | None,
        typer.Option("--patience", metavar="STEPS", help="Wrappers: stop after so many without gain. [all]"),
    ] = None
    nested: Annotated[
        bool, typer.Option("--nested", help="Wrappers: also validate the whole selection, from outside.")
    ] = False
    no_validate: Annotated[
        bool,
        typer.Option("--no-validate", help="Wrappers: score on the rows that were fitted. Teaching only."),
    ] = False
    scoring: Annotated[
        str | None,
        typer.Option(
            "--scoring", metavar="NAME", help="A score of scikit-learn. [accuracy; r2]", show_default=False
        ),
    ] = None
    neighbors: Annotated[
        int | None,
        typer.Option("--neighbors", metavar="NUMBER", help="Of knn. [5]", show_default=False),
    ] = None
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers. [0]", show_default=False),
    ] = 0


@spread
def select(
    data: Data,
    reading: Reading,
    selecting: Selecting,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A text file for the names of the chosen columns, one a line; - for standard output.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Choose the columns that tell most about a label.

    Needs --label. A filter judges each column by itself and prints the ranking; a wrapper adds or removes
    columns one by one, as the estimator validates. Both say how many were kept and why. Text, and whole
    numbers of few distinct values, are classes; other labels are numbers.
    """
    from gramian.cli import selecting as body

    body.select(data, out, reading, selecting, as_json)


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
    from gramian.cli import choosing

    choosing.choose_kernel(data, reading, judging, as_json)
