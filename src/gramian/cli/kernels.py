"""The commands about kernels: ``kernels audit`` and ``kernels table``."""

import json
import math
from typing import Any

import typer

from gramian.cli.inputs import read_table
from gramian.cli.options import Reading, as_arguments
from gramian.cli.progress import progress
from gramian.errors import ParameterError

__all__ = ["audit", "table"]

NOT_A_KERNEL = 1


def table() -> None:
    """Print the list of all kernels."""
    from gramian.kernels import table as listed

    print(listed())


def audit(
    kernel: str,
    data: str | None,
    reading: Reading,
    features: int | None,
    value_tol: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print whether a function is a kernel.

    Raises
    ------
    typer.Exit
        With code 1 when it is none.
    """
    from gramian.kernels import kernel_from_name
    from gramian.kernels.audit import audit as audit_kernel

    given = as_arguments(reading)
    if data is None and given:
        raise ParameterError(f"{given[0]} is about reading data, and none is given. Name the DATA to test.")
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None
    if data is not None:
        table = read_table(data, reading)
        rows = _values(table)
        if kernel != "precomputed":
            # Names of columns end here, and widths that depend on the data are shown as numbers.
            audited = audited.resolve(rows, table.feature_names)
    options = {} if value_tol is None else {"value_tol": value_tol}
    with progress("auditing"):
        report = audit_kernel(audited, rows, n_features=features, random_state=seed, **options)
    print(json.dumps(_facts(report), indent=2, allow_nan=False) if as_json else report)
    if report.valid is False:
        raise typer.Exit(NOT_A_KERNEL)


def _values(table: Any) -> Any:
    """Return the rows of a table, a picture being one row."""
    return table.values.reshape(len(table.values), -1)


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
