"""Components of a PCA, rotated so that each column has a large loading on few of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.operations.operation import MODEL, Result, operation
from gramian.operations.shared import figure_out
from gramian.options import option


@dataclass(frozen=True)
class Rotate:
    """The parameters of ``gramian.rotate``."""

    method: str = option(
        "NAME",
        "varimax keeps components uncorrelated; promax lets them correlate.",
        "varimax",
        choices=("varimax", "promax"),
    )
    components: int | None = option(
        "K",
        "Rotate the first K components only.",
        usual="all with variance",
        label="number of components",
        parameters=("n_components",),
    )


@operation(
    MODEL,
    outs=[
        figure_out(
            "Also draw the rotated loadings: an .svg, .png, .pdf or .html file.", "rotate draws a figure"
        )
    ],
)
def rotate(options: Rotate, model: Any) -> Result:
    """Rotate components so that each column has a large loading on few of them.

    The model is a saved PCA. Prints the variance of each rotated component, and the columns with the largest
    loadings. Rotated components depend on how many are rotated.
    """
    from gramian.inspect.rotate import rotate
    from gramian.plots.registry import function_of
    from gramian.report.facts import payload

    result = rotate(model, options.method, n_components=options.components)
    loadings = {"column": result.columns} | dict(zip(result.names, result.loadings.T, strict=True))
    return Result(
        result,
        payload(result, "method", "columns", "loadings", "variances", "ratio")
        | payload(result, "rotation_matrix", "correlations", "lost"),
        tables={"loadings": loadings},
        figures={"rotation": lambda: function_of("columns", "rotation")(result)},
    )
