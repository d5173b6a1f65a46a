"""The commands about kernels: ``kernels table`` and ``kernels audit``."""

from typing import Annotated, Any

import typer

from gramian.checks import check_number, six_digits
from gramian.cli.inputs import read_table
from gramian.cli.options import (
    Application,
    JsonFlag,
    Reading,
    Seed,
    argument,
    as_arguments,
    help_alone,
    option,
)
from gramian.cli.outputs import answer
from gramian.cli.progress import progress
from gramian.errors import ParameterError
from gramian.wording import worded

TIME_LIMIT = 30.0  # seconds, as long as a server works for a visitor

kernels = Application()


@kernels.callback(invoke_without_command=True)
def kernels_group(context: typer.Context) -> None:
    """List kernels, or check one for positive semidefiniteness.

    A function is a kernel if it is symmetric and none of its Gram matrices has a negative eigenvalue.
    """
    help_alone(context)


@kernels.command("table")
def kernels_table() -> None:
    """List all kernels with their formulas.

    Each comes with its parameters and, if it is positive semidefinite, the proof.
    """
    from gramian.kernels import table

    print(table())


@kernels.command("audit")
def kernels_audit(
    kernel: Annotated[
        str,
        argument(
            "EXPRESSION",
            "Such as 'rbf(sigma=2) + linear()', a formula of two rows such as 'sum(min(x,y))', or "
            "precomputed when DATA is a Gram matrix.",
        ),
    ],
    *,
    data: Annotated[
        str | None,
        argument(
            "DATA",
            "Rows to test, in any format that fit reads. Without them, search for a counterexample.",
        ),
    ] = None,
    reading: Reading,
    features: int | None = option("D", "Search among points of D features. [1, 2 and 3]"),
    value_tol: float | None = option(
        "NUMBER", "Error of a precomputed matrix's entries, relative to the largest. [1e-10]"
    ),
    seed: Seed = 0,
    time_limit: float | None = option(
        "SECONDS", f"Stop the search after this time, and report it. [{TIME_LIMIT:g}]"
    ),
    as_json: JsonFlag = False,
) -> None:
    """Check a function for positive semidefiniteness: proof or counterexample.

    EXPRESSION is made of kernels, or a formula of two rows such as "min(x,y)" or "exp(-norm(x-y))".
    """
    from gramian.kernels import kernel_from_name
    from gramian.kernels.auditing import audit
    from gramian.report.facts import audit_facts

    if time_limit is not None:
        check_number("--time-limit", time_limit, above=0)
        if data is not None:
            raise ParameterError("--time-limit applies only to the search without DATA. Leave it out.")
    given = as_arguments(reading)
    if data is None:
        if given:
            raise ParameterError(
                f"{given[0]} applies only to DATA, and there is none. Name the DATA to test."
            )
        if kernel == "precomputed":
            raise ParameterError("precomputed needs DATA, a square Gram matrix. Name its file.")
    if data is not None and features is not None:
        raise ParameterError("--features applies only to the search without DATA. Leave it out.")
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None
    if data is not None:
        table = read_table(data, reading)
        # A picture is one row.
        rows = table.flat
        if kernel != "precomputed":
            # Names of columns end here, and widths that depend on the data are shown as numbers.
            audited = audited.resolve(rows, table.feature_names)
    options: dict[str, Any] = {} if value_tol is None else {"value_tol": value_tol}
    options |= {"n_features": features, "random_state": seed, "time_limit": time_limit or TIME_LIMIT}
    with progress("auditing"):
        report = audit(audited, rows, **options)
    # The digits of a witness are needed, those of a kernel are not.
    head, gap, witness = str(report).partition("\n\n")
    answer(as_json, audit_facts(report), worded(six_digits(head), "shell") + gap + witness)
