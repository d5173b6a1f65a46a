"""How much the components of a PCA would change with another sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.operations.operation import DATA, MODEL, Result, operation
from gramian.operations.shared import SEED, figure_out
from gramian.options import option

COLUMNS = (
    *("component", "variance", "variance_low", "variance_high"),
    *("ratio", "ratio_low", "ratio_high", "agreement"),
)


@dataclass(frozen=True)
class Stability:
    """The parameters of ``gramian.stability``."""

    n_resamples: int = option(
        "NUMBER",
        "Number of samples drawn with replacement.",
        200,
        label="number of samples",
    )
    level: float = option("SHARE", "Nominal coverage of the intervals.", 0.95)
    seed: int = SEED


@operation(
    MODEL,
    DATA,
    outs=[
        figure_out("Also draw the intervals: an .svg, .png, .pdf or .html file.", "stability draws a figure")
    ],
)
def stability(options: Stability, model: Any, data: Any) -> Result:
    """Show how much the components of a saved PCA would change with another sample.

    Draws the rows of the fit with replacement many times. Prints intervals of each variance and its share of
    the total, and how well each component agrees with those of the samples.
    """
    from gramian.inspect.stability import stability
    from gramian.plots.registry import function_of
    from gramian.report.facts import payload

    result = stability(
        model, data, n_resamples=options.n_resamples, level=options.level, random_state=options.seed
    )
    components = [dict(zip(COLUMNS, row, strict=True)) for row in result.rows()]
    facts = payload(result, "level", "n_resamples", "feature_names", "loading_intervals", "separated") | {
        "rows": result.n_samples,
        "components": components,
        "sentences": result.sentences(),
    }
    return Result(
        f"{result}\n",
        facts,
        tables={"components": dict(zip(COLUMNS, zip(*result.rows(), strict=True), strict=True))},
        figures={"stability": lambda: function_of("spectra", "stability")(result)},
    )
