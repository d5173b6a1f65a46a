"""Whether an upgrade, a machine or new rows changed a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.checks import check_number
from gramian.operations.operation import Input, Result, operation
from gramian.options import option

COLUMNS = (
    *("old", "new", "old_variance", "new_variance", "change", "change_explained"),
    *("angle", "angle_explained"),
)


@dataclass(frozen=True)
class Compare:
    """What change is accepted."""

    tol: float | None = option(
        "NUMBER",
        "Largest accepted change: of a variance relative to the largest, of a direction in radians.",
        usual="any",
    )


@operation(
    Input("old", "model", "OLD", "A model file that gramian fit has written."),
    Input("new", "model", "NEW", "A model file, fitted on the same columns."),
)
def compare(options: Compare, old: Any, new: Any) -> Result:
    """Compare two saved PCA models: did an upgrade, a machine or new rows change the result?

    Matches components whatever their order and signs, and says whether the error bounds of both fits explain
    the changes. Exit code 3 means that a change exceeds --tol.
    """
    from gramian.inspect.compare import compare
    from gramian.report.facts import payload

    limit = None
    if options.tol is not None:
        limit = check_number("tol", options.tol, least=0.0, advice="0 allows no difference at all.")
    result = compare(old, new)
    within = limit is None or result.within(limit)
    rows = list(result.rows())
    facts = payload(result, "explained", "largest_change", "largest_angle") | {
        "within_tolerance": within,
        "sentences": result.sentences(),
        "components": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
    }
    beyond = "" if within else f"\n\nA change exceeds the tolerance of {limit:g}."
    tables = {"components": dict(zip(COLUMNS, zip(*rows, strict=True), strict=False))}
    return Result(f"{result}{beyond}", facts, tables=tables, alarm=not within)
