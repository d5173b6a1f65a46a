"""Which kernels there are, and whether a function is one."""

from dataclasses import asdict
from typing import Annotated, Any

from gramian.app.verb import DATA, Option, Result, Seed, about, only_for
from gramian.core.checks import check_number, six_digits
from gramian.errors import ParameterError

TIME_LIMIT = 30.0  # seconds, half of what the server gives a request


def table() -> Result:
    """List all kernels with their formulas.

    Each comes with its parameters and, if it is positive semidefinite, the proof.
    """
    from gramian.kernels import table

    kernels = table()
    return Result(kernels, {"kernels": [asdict(one) for one in kernels]})


@about(doing="auditing", documented={"": "gramian.kernels.auditing:audit"})
def audit(
    kernel: str,
    data: Annotated[Any, DATA] = None,
    *,
    n_features: int | None = None,
    value_tol: float | None = None,
    random_state: Seed = 0,
    time_limit: Annotated[float | None, Option(usual=f"{TIME_LIMIT:g}", local=True)] = None,
) -> Result:
    """Check a function for positive semidefiniteness: proof or counterexample.

    EXPRESSION is made of kernels, or a formula of two rows such as "min(x,y)" or "exp(-norm(x-y))".

    Parameters
    ----------
    kernel : EXPRESSION
        Such as 'rbf(sigma=2) + linear()', a formula of two rows such as 'sum(min(x,y))', or precomputed when
        DATA is a Gram matrix.
    data
        Rows to test, in any format that fit reads. Without them, search for a counterexample.
    n_features : D, default: 1, 2 and 3
        Search among points of D features.
    value_tol : NUMBER, default: 1e-10
        Error of a precomputed matrix's entries, relative to the largest.
    time_limit : SECONDS
        Stop the search after this time, and report it.
    """
    from gramian.figures.registry import function_of
    from gramian.kernels import kernel_from_name
    from gramian.kernels.auditing import audit
    from gramian.report.facts import audit_facts

    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    if data is not None:
        searching = {"n_features": n_features, "time_limit": time_limit}
        only_for("the search without data", searching, *searching)
    elif kernel == "precomputed":
        raise ParameterError(
            "data", problem="precomputed needs data, a square Gram matrix.", hint="Name its file."
        )
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None if data is None else data.flat  # a picture is one row
    if data is not None and kernel != "precomputed":
        # Names of columns end here, and widths that depend on the data are shown as numbers.
        audited = audited.resolve(rows, data.feature_names)
    given: dict[str, Any] = {} if value_tol is None else {"value_tol": value_tol}
    given |= {"n_features": n_features, "random_state": random_state}
    report = audit(audited, rows, **given, time_limit=time_limit or TIME_LIMIT)
    drawn = {"counter-example": lambda: function_of("planes", "counter_example")(report)}
    figures = {} if report.witness is None else drawn
    text = _rounded(str(report))
    return Result(text, audit_facts(report), figures=figures)


def _rounded(text: str) -> str:
    """Return a report with the digits of a witness, which are needed, and six of all other numbers."""
    head, gap, witness = text.partition("\n\n")
    return six_digits(head) + gap + witness
