"""Polynomial equations that all rows satisfy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gramian.errors import DataError
from gramian.operations.operation import DATA, Result, operation
from gramian.operations.shared import figure_out
from gramian.options import option

# Attributes of a relation in JSON, in addition to the columns.
FIELDS = (
    *("equation", "terms", "powers", "coefficients", "errors", "residual", "held_out", "noise_level"),
    *("limit", "origin", "unit"),
)


@dataclass(frozen=True)
class Relations:
    """The parameters of ``gramian.relations``."""

    degree: int = option("NUMBER", "Largest degree of the equations.", 2)
    tol: float | None = option(
        "NUMBER",
        "Largest accepted residual, relative to the standard deviation of each column.",
        usual="by the data",
        label="tolerance",
    )


def _one_pass(options: Relations) -> bool:
    return options.degree == 1


def _heeds(proposal: Any) -> bool:
    """Return whether a proposal leaves equations between columns as they are."""
    named = proposal.option in ("id", "label", "na_values")
    return named or proposal.evidence.get("reason") in ("text", "date", "identifier", "empty")


@operation(
    replace(DATA, streamed=_one_pass),
    outs=[
        figure_out(
            "A figure of the first equation between two columns, or else three: .svg, .png, .pdf or .html.",
            "relations draws a figure",
            key="out",
        )
    ],
    application="gramian.laws",
    heeds=_heeds,
)
def relations(options: Relations, data: Any) -> Result:
    """Find polynomial equations that all rows satisfy.

    For instance x^2 + y^2 - 1 = 0, in the units of the columns, with residuals.
    """
    from gramian.laws.relations import relations
    from gramian.plots.registry import function_of
    from gramian.report.facts import data_facts, payload

    result = relations(data, options.degree, tol=options.tol)
    facts = {
        "data": data_facts(data),
        "degree": result.degree,
        "monomials": result.n_monomials,
        "distinct_rows": result.n_samples if result.distinct else None,
        "relations": [payload(one, *FIELDS) | {"columns": one.feature_names} for one in result],
        "nearest_other": result.nearest,
        "limit": result.limit,
        "reason": result.reason,
    }

    def draw() -> Any:
        columns = [int(law.powers.any(axis=0).sum()) for law in result]
        first = next((columns.index(count) for count in (2, 3) if count in columns), None)
        if first is None:
            raise DataError(f"Nothing is drawn: no equation is between two or three columns.\n{result}")
        return function_of("planes", "relation")(result[first], data)

    return Result(f"{result}\n", facts, figures={"relation": draw})
