"""The counterexample of a function that is not a kernel."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.checks import counted
from gramian.errors import DataError
from gramian.kernels.auditing import AuditReport
from gramian.plots.style import BLUE, HEIGHT, VERMILION, axis, layered, limits, zero_lines

SIGNS = {"positive": BLUE, "negative": VERMILION}


def counter_example(report: AuditReport) -> Any:
    """Draw the points of a counterexample, with their weights in the negative sum.

    Parameters
    ----------
    report : AuditReport
        Of :func:`gramian.kernels.audit`, with a witness.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each point: its first two coordinates, its weight and its sign. Points
        with one coordinate lie on a line.

    Raises
    ------
    DataError
        If there is no counterexample.
    """
    witness = report.witness
    if witness is None:
        raise DataError(f"There is no counterexample for {report.kernel}.")
    points = np.asarray(witness.points, dtype=float)
    d = points.shape[1]
    weights = np.asarray(getattr(witness, "vector", np.ones(len(points))), dtype=float)
    x, y = points[:, 0], points[:, 1] if d > 1 else np.zeros(len(points))
    columns = {
        "point": [f"x{place}" for place in range(1, len(points) + 1)],
        **{"first": x, "second": y, "weight": weights, "size": np.abs(weights)},
        "sign": ["negative" if weight < 0 else "positive" for weight in weights],
    }
    edges = [limits(x, margin=0.2), limits(y, margin=0.2)]
    value = getattr(witness, "quadratic_form", None)
    why = "k(x, y) and k(y, x) differ." if value is None else f"sum v_i v_j k(x_i, x_j) = {value:.4g} < 0."
    more = [f"The first two of {d} coordinates."] if d > 2 else []
    up = axis(alt.Y, "second", "second coordinate", edges[1])
    if d == 1:  # empty, not None: Vega-Lite cannot merge no axis with that of the line through 0
        up = up.title(None).axis(labels=False, ticks=False, grid=False)
    base = alt.Chart().encode(x=axis(alt.X, "first", "first coordinate", edges[0]), y=up)
    dots = base.mark_point(filled=True, opacity=0.9).encode(
        size=alt.Size("size:Q", title="|weight v|", scale=alt.Scale(range=[40, 400])),
        color=alt.Color("sign:N", scale=alt.Scale(domain=list(SIGNS), range=list(SIGNS.values()))),
        shape=alt.Shape("sign:N", scale=alt.Scale(domain=list(SIGNS), range=["circle", "square"])),
        tooltip=["point:N", "first:Q", "second:Q", "weight:Q"],
    )
    names = base.mark_text(dx=12, dy=-10, align="left").encode(text="point:N")
    title, marks = f"Counterexample with {counted(len(points), 'point')}", [*zero_lines(), dots, names]
    return layered(columns, marks, title, why, *more, height=HEIGHT if d > 1 else 120)
