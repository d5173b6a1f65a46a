"""The commands about kernels: ``kernels table`` and ``kernels audit``."""

import json
import math
from typing import Annotated, Any

import typer

from gramian.cli.inputs import read_table
from gramian.cli.options import JsonFlag, Reading, as_arguments, spread
from gramian.cli.progress import progress
from gramian.errors import ParameterError

NOT_A_KERNEL = 1

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
    from gramian.kernels import table

    print(table())


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
    from gramian.kernels import kernel_from_name
    from gramian.kernels.audit import audit

    given = as_arguments(reading)
    if data is None and given:
        raise ParameterError(f"{given[0]} is about reading data, and none is given. Name the DATA to test.")
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None
    if data is not None:
        table = read_table(data, reading)
        # A picture is one row.
        rows = table.values.reshape(len(table.values), -1)
        if kernel != "precomputed":
            # Names of columns end here, and widths that depend on the data are shown as numbers.
            audited = audited.resolve(rows, table.feature_names)
    options = {} if value_tol is None else {"value_tol": value_tol}
    with progress("auditing"):
        report = audit(audited, rows, n_features=features, random_state=seed, **options)
    print(json.dumps(_facts(report), indent=2, allow_nan=False) if as_json else report)
    if report.valid is False:
        raise typer.Exit(NOT_A_KERNEL)


def _facts(report: Any) -> dict[str, Any]:
    witness = report.witness
    return {
        "kernel": report.kernel,
        "verdict": report.verdict,
        "valid": report.valid,
        "validity": {"status": report.validity.status, "reason": report.validity.reason},
        "eigenvalue": _finite(report.eigenvalue),
        "bound": _finite(report.bound),
        "asymmetry": report.asymmetry,
        "value_tol": report.value_tol,
        "tested": report.tested,
        "trials": report.trials,
        "skipped": report.skipped,
        "evaluations": report.evaluations,
        "witness": None if witness is None else _witness_facts(witness),
    }


def _finite(value: float | None) -> float | None:
    """Return a number that JSON can hold, or None: a bound that overflowed says nothing."""
    return value if value is not None and math.isfinite(value) else None


def _witness_facts(witness: Any) -> dict[str, Any]:
    facts = {
        "points": witness.points.tolist(),
        "rows": None if witness.rows is None else list(witness.rows),
        "gram": witness.gram.tolist(),
    }
    if hasattr(witness, "values"):
        return facts | {"values": list(witness.values)}
    return facts | {
        "vector": witness.vector.tolist(),
        "quadratic_form": _finite(witness.quadratic_form),
        "uncertainty": _finite(witness.uncertainty),
        "scaling": witness.scaling.tolist(),
        "eigenvalue": witness.eigenvalue,
        "bound": witness.bound,
    }
