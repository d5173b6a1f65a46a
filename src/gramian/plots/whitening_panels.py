"""Two columns, or pictures, before and after whitening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import feature_names_of
from gramian.analysis.loadings import normal_ellipse
from gramian.arrays import as_float64
from gramian.checks import evenly
from gramian.plots.images import MOST_REBUILT
from gramian.plots.names import numbers_of, place_of
from gramian.plots.pixels import Picture, contact_sheet, coordinates, grey, whitened_limit
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

SIDE, ACROSS = 270, 640  # pixels at most of a panel, and of all


def whitening(model: Any, X: Any, *, x: int | str = 1, y: int | str = 2) -> Any:
    """Draw two columns, or pictures, before and after whitening.

    Parameters
    ----------
    model : fitted Whitener, or sequence of them
        Several, such as of the methods "pca" and "zca", are drawn beside each other.
    X : array-like of shape (n_samples, n_features), or (n_samples, height, width)
        Of pictures, six evenly spaced ones are drawn.
    x, y : int or str, default=1 and 2
        Columns, counted from 1; the whitened columns have the same positions. Not for pictures.

    Returns
    -------
    altair.ConcatChart, or Picture for models of pictures
        ``chart.data`` has a row for each point: row, both columns before, and both after (of a second model
        after2); for more than 2000 rows a random sample of 2000. Scores of the pca methods are drawn as
        pictures too, line by line from the upper left, with 0 where there is no further score.
    """
    models = list(model) if isinstance(model, Sequence) else [model]
    if getattr(models[0], "picture_shape_", None) is not None:
        return _pictures(models, X)
    results = [as_float64(one.transform(X)) for one in models]
    n = len(results[0])
    results = [after.reshape(n, -1) for after in results]
    before = as_float64(numbers_of(X)).reshape(n, -1)
    count = min(one.shape[1] for one in (before, *results))
    places = [
        place_of(one, count, name, f"{count} columns are whitened.") for one, name in ((x, "x"), (y, "y"))
    ]
    rows = np.arange(n)
    if n > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
    shown: list[tuple[str, Any, list[str], str]] = [("before", before, feature_names_of(models[0]), "")]
    for number, (one, after) in enumerate(zip(models, results, strict=True), 1):
        made = [str(name) for name in one.get_feature_names_out()]
        by = "whitened" if len(models) == 1 else one.method
        shown.append((f"after{number if number > 1 else ''}", after, made, f" ({by})"))
    panels, columns, notes = [], {"row": rows}, []
    beside = 1 if width() < SIDE + MARGIN else len(shown) if width() >= WIDTH else 2
    full = ACROSS if width() >= WIDTH else width() - MARGIN * (beside - 1)
    side = min(SIDE, full // beside)
    for when, values, called, unit in shown:
        pair = values[:, places]
        line = normal_ellipse(pair)
        cov = np.cov(pair.T)
        said = "Before" if when == "before" else "after" + unit * (len(models) > 1)
        notes.append(f"{said}: variances {cov[0, 0]:.3g} and {cov[1, 1]:.3g}, covariance {_rounded(cov)};")
        edges = [limits(pair[:, j], line[:, j], margin=0.04) for j in (0, 1)]
        for j, letter in enumerate("xy"):
            columns[f"{when}_{letter}"] = pair[rows, j]
        points = alt.Chart().mark_point(filled=True, size=16, opacity=0.6, color=BLUE)
        points = points.encode(
            x=axis(alt.X, f"{when}_x", called[places[0]] + unit, edges[0]),
            y=axis(alt.Y, f"{when}_y", called[places[1]] + unit, edges[1]),
            tooltip=["row:Q", f"{when}_x:Q", f"{when}_y:Q"],
        )
        marks = [*zero_lines(), points, outline(line, color=VERMILION, strokeWidth=1.5)]
        panels.append(alt.LayerChart(layer=marks, width=side, height=side))
    head = headed(
        f"Whitening by {' and '.join(one.method for one in models)}",
        *notes,
        f"{n:,} rows{f' (random sample of {SAMPLE:,}, seed 0)' if n > SAMPLE else ''}.",
        "95 % normal ellipses.",
        width=beside * side,
    )
    return Panels(data=table(columns), concat=panels, columns=beside, title=head, spacing=30)


def _pictures(models: Sequence[Any], X: Any) -> Picture:
    """Draw pictures, one in each row, and what each model makes of them."""
    values = numbers_of(X)
    some = values[evenly(len(values), MOST_REBUILT)]
    shape = models[0].picture_shape_
    originals = as_float64(some).reshape(-1, *shape)
    edges = (0.0, 255.0) if some.dtype == np.uint8 else (float(originals.min()), float(originals.max()))
    sheet = [[grey(picture, *edges) for picture in originals]]
    for one in models:
        whitened = as_float64(one.transform(some.reshape(-1, *shape)))
        limit = whitened_limit(whitened)
        sheet.append([grey(picture, -limit, limit) for picture in coordinates(whitened, shape)])
    captions = ["original", *(one.method for one in models)] * len(originals)
    return contact_sheet([cell for row in zip(*sheet, strict=True) for cell in row], captions, len(sheet))


def _rounded(covariance: Any) -> str:
    small = abs(covariance[0, 1]) < 5e-4 * np.sqrt(covariance[0, 0] * covariance[1, 1])
    return "0.000" if small else f"{covariance[0, 1]:.3g}"
