"""The command ``compare``."""

from typing import Annotated

import typer

from gramian.cli.inputs import read_model
from gramian.cli.options import JsonFlag, argument, option
from gramian.cli.outputs import answer

BEYOND = 3


def compare(
    old: Annotated[str, argument("OLD", "A model file that gramian fit has written.")],
    new: Annotated[str, argument("NEW", "A model file, fitted on the same columns.")],
    tolerance: float | None = option(
        "NUMBER",
        "Largest accepted change: of a variance relative to the largest, of a direction in radians. [any]",
    ),
    as_json: JsonFlag = False,
) -> None:
    """Compare two saved PCA models: did an upgrade, a machine or new rows change the result?

    Matches components whatever their order and signs, and says whether the error bounds of both fits explain
    the changes. Exit code 3 means that a change exceeds --tolerance.
    """
    from gramian.analysis.comparison import check_tolerance, compare
    from gramian.report.facts import payload

    limit = check_tolerance(tolerance)
    result = compare(read_model(old), read_model(new))
    within = limit is None or result.within(limit)
    facts = payload(result, "explained", "largest_change", "largest_angle") | {
        "within_tolerance": within,
        "sentences": result.sentences(),
        "components": [dict(zip(COLUMNS, row, strict=True)) for row in result.rows()],
    }
    beyond = "" if within else f"\n\nA change exceeds the tolerance of {limit:g}."
    answer(as_json, facts, f"{result}{beyond}")
    if not within:
        raise typer.Exit(BEYOND)


COLUMNS = (
    *("old", "new", "old_variance", "new_variance", "change", "change_explained"),
    *("angle", "angle_explained"),
)
