"""The commands of ``gramian kernels`` and their options."""

from typing import Annotated

import typer

from gramian.cli.options import JsonFlag, Reading, spread

__all__ = ["kernels"]

kernels = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@kernels.callback(invoke_without_command=True)
def kernels_group(context: typer.Context) -> None:
    """List kernels, or test whether one is valid.

    A function is a kernel if it is symmetric and none of its Gram matrices has a negative eigenvalue.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@kernels.command("table")
@spread
def kernels_table() -> None:
    """List all kernels with their formulas.

    Their parameters too, and whether they are valid, with the proof.
    """
    from gramian.cli import kernels as body

    body.table()


@kernels.command("audit")
@spread
def kernels_audit(
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION",
            help="Such as 'rbf(sigma=2) + linear()', or precomputed when DATA is a Gram matrix.",
            show_default=False,
        ),
    ],
    *,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to test, in any form that fit reads. Without them, counter-examples are searched for.",
            show_default=False,
        ),
    ] = None,
    reading: Reading,
    features: Annotated[
        int | None,
        typer.Option("--features", metavar="D", help="Search among points of D features. [1, 2 and 3]"),
    ] = None,
    value_tol: Annotated[
        float | None,
        typer.Option(
            "--value-tol",
            metavar="NUMBER",
            help="How far values of a precomputed matrix may be off, relative to the largest. [1e-10]",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers. [0]", show_default=False),
    ] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Say whether a function is a kernel, with proof or counter-example.

    Exits with 1 when it is none.
    """
    from gramian.cli import kernels as body

    body.audit(kernel, data, reading, features, value_tol, seed, as_json)
