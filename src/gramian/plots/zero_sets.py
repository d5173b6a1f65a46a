"""The curve on which an equation holds, over the points that it was computed from."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.arrays import as_float64
from gramian.checks import counted, evenly
from gramian.errors import DataError
from gramian.plots.contours import contour
from gramian.plots.names import numbers_of
from gramian.plots.points import Group
from gramian.plots.style import VERMILION, axis, drawable, equal_axes, layered, limits, table

CELLS = 240  # of the grid, along each axis
MOST_POINTS = 1000


def relation(law: Any, X: Any, *, color: Any = None) -> Any:
    """Draw the zero set of an equation between two columns over the rows.

    Parameters
    ----------
    law : Relation
        One of :func:`gramian.relations`, in which two columns occur.
    X : array-like of shape (n_samples, n_features)
        The rows; at most 1000 are drawn, evenly spaced.
    color : array-like of shape (n_samples,), optional
        As for :func:`scores`.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has the segments of the curve: both ends, x, y, x2, y2.

    Raises
    ------
    DataError
        For an equation between another number of columns, and for rows of other columns.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> t = np.linspace(0, 6, 100)
    >>> X = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
    >>> chart = gramian.plots.relation(gramian.relations(X)[0], X)
    >>> chart.title.text
    'x^2 + y^2 - 6 x - 4 y + 10.75 = 0'
    """
    if not hasattr(law, "powers"):
        raise DataError(
            f"A {type(law).__name__} is no single equation. Pass one, such as gramian.relations(X)[0]."
        )
    used = np.flatnonzero(np.asarray(law.powers).any(axis=0))
    names = law.feature_names
    if len(used) != 2:
        raise DataError(
            f"{law} is between {counted(len(used), 'column')}, and a curve is drawn for two. Draw an "
            "equation of two columns, or compute relations of two columns alone."
        )
    values = as_float64(numbers_of(X))
    points = values.reshape(len(values), -1)
    if points.shape[1] != len(names):
        raise DataError(f"X has {points.shape[1]} columns, and the equation is between {len(names)}.")
    pair = points[:, used]
    edges, height, equal = equal_axes([limits(pair[:, j], margin=0.12) for j in (0, 1)])
    xs, ys = (np.linspace(low, high, CELLS + 1) for low, high in edges)
    grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1)
    # The other columns do not occur in the equation, so that any value of them will do.
    rows = np.tile(points[:1], (grid[..., 0].size, 1))
    rows[:, used] = grid.reshape(-1, 2)
    left = ((rows - law.origin) / law.unit)[:, None, :] ** law.powers[None]
    heights = (left.prod(axis=2) @ law.coefficients).reshape(grid.shape[:2])
    ends = contour(grid, heights, 0.0)
    drawn = evenly(len(pair), MOST_POINTS)
    group = Group.of(color, len(pair), None, X)
    columns = {"point_x": pair[drawn, 0], "point_y": pair[drawn, 1]} | group.columns(drawn)
    across, up = (
        axis(kind, f"point_{letter}", names[used[j]], edges[j])
        for j, (kind, letter) in enumerate(((alt.X, "x"), (alt.Y, "y")))
    )
    dots = alt.Chart(table(columns)).mark_point(filled=True, size=22, opacity=0.7)
    curve = alt.Chart().mark_rule(strokeWidth=2, strokeCap="round", color=VERMILION, clip=True)
    curve = curve.encode(x="x:Q", y="y:Q", x2="x2", y2="y2")
    return layered(
        dict(zip(("x", "y", "x2", "y2"), ends.T, strict=True)),
        [curve, dots.encode(x=across, y=up, **group.channels())],
        drawable(str(law)),
        f"It holds on the curve. The rows are {law.residual:.2g} away from it (root mean square).",
        "" if equal else "The axes have different scales.",
        f"{len(drawn):,} of {len(pair):,} rows." if len(drawn) < len(pair) else "",
        height=height,
    )
