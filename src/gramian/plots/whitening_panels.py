"""Two columns before and after whitening."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import feature_names_of
from gramian.analysis.loadings import normal_ellipse
from gramian.arrays import as_float64
from gramian.plots.names import numbers_of, place_of
from gramian.plots.points import SAMPLE
from gramian.plots.style import (
    BLUE,
    MARGIN,
    VERMILION,
    WIDTH,
    Panels,
    axis,
    headed,
    limits,
    outline,
    table,
    width,
    zero_lines,
)

SIDE = 270  # pixels at most


def whitening(model: Any, X: Any, *, x: int | str = 1, y: int | str = 2) -> Any:
    """Draw two columns before and after whitening.

    Parameters
    ----------
    model : fitted Whitener
        The model that maps the rows.
    X : array-like of shape (n_samples, n_features)
        Rows with the columns of the fit.
    x, y : int or str, default=1 and 2
        Columns, counted from 1; the whitened columns have the same positions.

    Returns
    -------
    altair.ConcatChart
        ``chart.data`` has a row for each point: row, both columns before, and both after; for more than
        2000 rows a random sample of 2000.
    """
    after = as_float64(model.transform(X))
    n = len(after)
    after = after.reshape(n, -1)
    before = as_float64(numbers_of(X)).reshape(n, -1)
    count = min(before.shape[1], after.shape[1])
    places = [
        place_of(one, count, name, f"{count} columns are whitened.") for one, name in ((x, "x"), (y, "y"))
    ]
    rows = np.arange(n)
    if n > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
    names = feature_names_of(model)
    made = [str(name) for name in model.get_feature_names_out()]
    panels, columns, result = [], {"row": rows}, []
    beside = 1 if width() < SIDE + MARGIN else 2
    side = min(SIDE, (width() - MARGIN * (beside - 1)) // beside) if width() < WIDTH else SIDE
    for when, values, called in (("before", before, names), ("after", after, made)):
        pair = values[:, places]
        line = normal_ellipse(pair)
        result.append(np.cov(pair.T))
        edges = [limits(pair[:, j], line[:, j], margin=0.04) for j in (0, 1)]
        for j, letter in enumerate("xy"):
            columns[f"{when}_{letter}"] = pair[rows, j]
        unit = "" if when == "before" else " (whitened)"
        points = alt.Chart().mark_point(filled=True, size=16, opacity=0.6, color=BLUE)
        points = points.encode(
            x=axis(alt.X, f"{when}_x", called[places[0]] + unit, edges[0]),
            y=axis(alt.Y, f"{when}_y", called[places[1]] + unit, edges[1]),
            tooltip=["row:Q", f"{when}_x:Q", f"{when}_y:Q"],
        )
        marks = [*zero_lines(), points, outline(line, color=VERMILION, strokeWidth=1.5)]
        panels.append(alt.LayerChart(layer=marks, width=side, height=side))
    head = headed(
        f"Whitening by {model.method}",
        *(
            f"{when}: variances {cov[0, 0]:.3g} and {cov[1, 1]:.3g}, covariance {_rounded(cov)};"
            for when, cov in zip(("Before", "after"), result, strict=True)
        ),
        f"{n:,} rows{f' (random sample of {SAMPLE:,}, seed 0)' if n > SAMPLE else ''}.",
        "95 % normal ellipses.",
        width=beside * side,
    )
    return Panels(data=table(columns), concat=panels, columns=beside, title=head, spacing=30)


def _rounded(covariance: Any) -> str:
    small = abs(covariance[0, 1]) < 5e-4 * np.sqrt(covariance[0, 0] * covariance[1, 1])
    return "0.000" if small else f"{covariance[0, 1]:.3g}"
