"""What columns and metadata have to do with each component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.checks import check_integer
from gramian.operations.operation import LARGE_DATA, META, MODEL, Out, Result, operation
from gramian.operations.shared import MEMORY_LIMIT
from gramian.options import option

STATISTICS = ("rows", "levels", "weighted_r2", "r2", "p", "p_adjusted", "r")  # of a variable


def _check_top(flag: str, value: int) -> int:
    return check_integer(flag, value, 0)


@dataclass(frozen=True)
class Describe:
    """The parameters of ``gramian.describe``."""

    top: int = option(
        "NUMBER", "Columns to list for each component.", 5, label="columns to list", check=_check_top
    )
    memory_limit: str | None = MEMORY_LIMIT


@operation(
    MODEL,
    LARGE_DATA,
    META,
    outs=[
        Out(
            "table",
            "FILE",
            "Also write a .csv or .parquet table, a line for each variable and component.",
            ends=(".csv", ".parquet"),
            writes="describe writes a table",
        )
    ],
)
def describe(options: Describe, model: Any, data: Any) -> Result:
    """Say what columns and metadata have to do with each component.

    For each column of --meta, or of --label, it prints the share of the variance of the scores that the
    column explains (r2, or eta squared of categories) with tests adjusted for their number. A batch that
    explains much of the first components is a batch effect.
    """
    from gramian.inspect.describe import describe
    from gramian.report.facts import payload

    result = describe(model, data, top=options.top)
    columns = {"name": result.variables, "kind": result.kinds} | payload(result, *STATISTICS)
    facts = {
        "variables": [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)],
        "components": [
            {"name": name, result.measure: dict(largest)}
            for name, largest in zip(result.components, result.top, strict=True)
        ],
        "left_out": dict(result.left_out),
        "notes": data.notes,
    }
    return Result(result, facts, tables={"variables": result.columns()})
