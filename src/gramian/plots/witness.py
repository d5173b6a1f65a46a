"""The points that show that a function is no kernel."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.checks import counted
from gramian.errors import DataError
from gramian.kernels.auditing import AuditReport
from gramian.plots.style import (
    BLUE,
    HEIGHT,
    VERMILION,
    WIDTH,
    Layers,
    axis,
    headed,
    limits,
    table,
    zero_lines,
)

SIGNS = {"positive": BLUE, "negative": VERMILION}


def counter_example(report: AuditReport) -> Any:
    """Draw the points that refute a kernel, each with its weight in the negative sum.

    Parameters
    ----------
    report : AuditReport
        Of :func:`gramian.kernels.audit`, with a witness.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each point: its first two coordinates, its weight and its sign. Points of
        one coordinate lie on a line.

    Raises
    ------
    DataError
        If no points refute the kernel.
    """
    witness = report.witness
    if witness is None:
        raise DataError(f"No points refute {report.kernel}: there is nothing to draw.")
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
    found = getattr(witness, "quadratic_form", None)
    told = (
        "k(x, y) and k(y, x) differ." if found is None else f"The sum of v_i v_j k(x_i, x_j) is {found:.4g}."
    )
    more = [f"The first two of {d} coordinates."] if d > 2 else []
    up = axis(alt.Y, "second", "second coordinate", edges[1])
    base = alt.Chart().encode(
        x=axis(alt.X, "first", "first coordinate", edges[0]), y=up if d > 1 else up.axis(None)
    )
    dots = base.mark_point(filled=True, opacity=0.9).encode(
        size=alt.Size("size:Q", title="|weight v|", scale=alt.Scale(range=[40, 400])),
        color=alt.Color("sign:N", scale=alt.Scale(domain=list(SIGNS), range=list(SIGNS.values()))),
        shape=alt.Shape("sign:N", scale=alt.Scale(domain=list(SIGNS), range=["circle", "square"])),
        tooltip=["point:N", "first:Q", "second:Q", "weight:Q"],
    )
    names = base.mark_text(dx=12, dy=-10, align="left").encode(text="point:N")
    title = headed(f"{counted(len(points), 'point')} that no kernel allows", told, *more)
    layers = [*zero_lines(), dots, names]
    return Layers(
        data=table(columns), layer=layers, title=title, width=WIDTH, height=HEIGHT if d > 1 else 120
    )
