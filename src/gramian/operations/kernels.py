"""Which kernels there are, and whether a function is one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from gramian.checks import check_number, six_digits
from gramian.errors import ParameterError
from gramian.operations.operation import DATA, Input, Result, operation
from gramian.operations.shared import SEED
from gramian.options import only_for, option

TIME_LIMIT = 30.0  # seconds, as long as a server works for a visitor


@dataclass(frozen=True)
class Table:
    """Nothing is left open."""


@operation(name="kernels table")
def table(options: Table) -> Result:
    """List all kernels with their formulas.

    Each comes with its parameters and, if it is positive semidefinite, the proof.
    """
    from gramian.kernels import table

    kernels = table()
    return Result(kernels, {"kernels": [asdict(one) for one in kernels]})


@dataclass(frozen=True)
class Audit:
    """The parameters of ``gramian.kernels.audit``."""

    features: int | None = option(
        "D",
        "Search among points of D features.",
        usual="1, 2 and 3",
        label="number of columns",
        parameters=("n_features",),
    )
    value_tol: float | None = option(
        "NUMBER",
        "Error of a precomputed matrix's entries, relative to the largest.",
        usual="1e-10",
        label="error of entries",
    )
    seed: int = SEED
    time_limit: float | None = option(
        "SECONDS", "Stop the search after this time, and report it.", usual=f"{TIME_LIMIT:g}", local=True
    )


@operation(
    Input(
        "kernel",
        "text",
        "EXPRESSION",
        "Such as 'rbf(sigma=2) + linear()', a formula of two rows such as 'sum(min(x,y))', or precomputed "
        "when DATA is a Gram matrix.",
    ),
    replace(
        DATA,
        help="Rows to test, in any format that fit reads. Without them, search for a counterexample.",
        required=False,
    ),
    name="kernels audit",
    doing="auditing",
)
def audit(options: Audit, kernel: str, data: Any = None) -> Result:
    """Check a function for positive semidefiniteness: proof or counterexample.

    EXPRESSION is made of kernels, or a formula of two rows such as "min(x,y)" or "exp(-norm(x-y))".
    """
    from gramian.kernels import kernel_from_name
    from gramian.kernels.auditing import audit
    from gramian.plots.registry import function_of
    from gramian.report.facts import audit_facts

    if options.time_limit is not None:
        check_number("time_limit", options.time_limit, above=0)
    if data is not None:
        only_for("the search without DATA", options, "features", "time_limit")
    elif kernel == "precomputed":
        raise ParameterError(
            "data", problem="precomputed needs DATA, a square Gram matrix.", hint="Name its file."
        )
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None if data is None else data.flat  # a picture is one row
    if data is not None and kernel != "precomputed":
        # Names of columns end here, and widths that depend on the data are shown as numbers.
        audited = audited.resolve(rows, data.feature_names)
    given: dict[str, Any] = {} if options.value_tol is None else {"value_tol": options.value_tol}
    given |= {"n_features": options.features, "random_state": options.seed}
    report = audit(audited, rows, **given, time_limit=options.time_limit or TIME_LIMIT)
    drawn = {"counter-example": lambda: function_of("planes", "counter_example")(report)}
    figures = {} if report.witness is None else drawn
    text = _rounded(str(report))
    return Result(text, audit_facts(report), figures=figures)


def _rounded(text: str) -> str:
    """Return a report with the digits of a witness, which are needed, and six of all other numbers."""
    head, gap, witness = text.partition("\n\n")
    return six_digits(head) + gap + witness
