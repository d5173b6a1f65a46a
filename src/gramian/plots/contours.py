"""Contours of components in the plane of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import feature_names_of, kind_of
from gramian.arrays import as_float64
from gramian.checks import evenly
from gramian.errors import DataError
from gramian.estimators.pca import PCA
from gramian.plots.names import component_titles, numbers_of
from gramian.plots.points import Group
from gramian.plots.style import GREY, MARGIN, MOST_UNEQUAL, WIDTH, axis, limits, stacked, table, width
from gramian.records import FloatArray
from gramian.rows.table import Table

CELLS, LEVELS = 60, 9
SIDE = 190  # pixels
SHOWN = 3  # components of a model
MOST_POINTS = 400
SCORES = ["#542788", "#998ec3", "#a0a0a0", "#f1a340", "#b35806"]  # purple to orange, grey at 0


def kernel_contours(models: Any, X: Any, *, color: Any = None, components: int = SHOWN) -> Any:
    """Draw lines of equal score of each component in the plane of two columns, for one or more models.

    Linear PCA has parallel lines. For points on a circle, a component of kernel PCA has circular lines: it is
    a function of the radius.

    Parameters
    ----------
    models : fitted PCA or KernelPCA, or a sequence of them
        Such as ``[PCA(2).fit(X), KernelPCA(3, kernel="rbf").fit(X)]``: a row of panels each.
    X : array-like of shape (n_samples, 2)
        Points drawn below the lines; at most 400, evenly spaced.
    color : array-like of shape (n_samples,) or str, optional
        As for :func:`scores`.
    components : int, default=3
        The maximum for each model.

    Returns
    -------
    altair.VConcatChart
        ``chart.data`` has the segments of all lines: panel, level, and both ends.

    Raises
    ------
    DataError
        For models with another number of columns than two.

    References
    ----------
    Schoelkopf, Smola and Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem, fig. 2.
    """
    given = list(models) if isinstance(models, Sequence) else [models]
    wrong = [model for model in given if model.n_features_in_ != 2]
    if wrong:
        raise DataError(
            f"Contours need a model of two columns, and this one has {wrong[0].n_features_in_}. "
            "Fit it on two columns."
        )
    points = as_float64(numbers_of(X))
    edges = _square([limits(points[:, 0], margin=0.15), limits(points[:, 1], margin=0.15)])
    xs, ys = (np.linspace(low, high, CELLS + 1) for low, high in edges)
    grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1)
    pieces: dict[str, list[Any]] = {name: [] for name in ("panel", "level", "x", "y", "x2", "y2")}
    titles: list[list[str]] = []
    for place, model in enumerate(given, 1):
        k = min(components, int(model.n_components_))
        result = as_float64(model.transform(_rows(grid, model)))[:, :k].reshape(*grid.shape[:2], k)
        kind = type(model).__name__ if kind_of(model).linear else str(model.kernel_ or model.kernel)
        titles.append([f"{place}. {kind}, {name}" for name in component_titles(model, k)])
        for j, title in enumerate(titles[-1]):
            size = float(np.abs(result[..., j]).max()) or 1.0
            low, high = float(result[..., j].min()), float(result[..., j].max())
            for level in np.linspace(low, high, LEVELS + 2)[1:-1] if high > low else []:
                ends = contour(grid, result[..., j], float(level))
                for column, values in zip(("x", "y", "x2", "y2"), ends.T, strict=True):
                    pieces[column].extend(values.tolist())
                pieces["panel"].extend([title] * len(ends))
                pieces["level"].extend([float(level) / size] * len(ends))
    names = feature_names_of(given[0])
    over = _points(points, Group.of(color, len(points), given[0], X), names, edges)
    beside = SHOWN if width() >= WIDTH else max(1, (width() + MARGIN) // (SIDE + MARGIN))
    lines = [
        alt.concat(*(_panel(title, over) for title in some), columns=beside, spacing=14) for some in titles
    ]
    return stacked(
        pieces,
        lines,
        "Lines of equal score",
        f"{LEVELS} evenly spaced lines for each component.",
        f"{len(points):,} rows{f' ({MOST_POINTS} drawn)' if len(points) > MOST_POINTS else ''}.",
        spacing=14,
    )


def _square(edges: list[list[float]]) -> list[list[float]]:
    """Return limits of equal length, so that circles are circles; ranges of very different length stay."""
    spans = [high - low for low, high in edges]
    if max(spans) > MOST_UNEQUAL * min(spans):
        return edges
    middles = [(low + high) / 2 for low, high in edges]
    return [[middle - max(spans) / 2, middle + max(spans) / 2] for middle in middles]


def compared(model: Any, table: Any, *, color: Any = None) -> Any:
    """Draw contours of a model; those of a kernel PCA below those of plain PCA."""
    alone = kind_of(model).linear or len(table.values) < 2
    return kernel_contours([model] if alone else [PCA(2).fit(table), model], table, color=color)


def _rows(grid: FloatArray, model: Any) -> Any:
    """Return the points of a grid as rows with the column names of a model."""
    rows = grid.reshape(-1, 2)
    named = getattr(model, "feature_names_in_", None) is not None
    return Table(rows, tuple(feature_names_of(model))) if named else rows


def _panel(title: str, over: Any) -> Any:
    scale = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=SCORES)
    color = alt.Color("level:Q", title="score / largest", scale=scale, legend=alt.Legend(tickCount=5))
    lines = alt.Chart().transform_filter(alt.FieldEqualPredicate(field="panel", equal=title))
    lines = lines.mark_rule(strokeWidth=1.6, strokeCap="round").encode(
        x="x:Q", y="y:Q", x2="x2", y2="y2", color=color
    )
    heading = alt.Title(
        title, fontSize=11, fontWeight="normal", anchor="middle", frame="group", limit=SIDE + 20
    )
    return alt.LayerChart(layer=[over, lines], title=heading, width=SIDE, height=SIDE)


def _points(points: FloatArray, group: Group, names: Sequence[str], edges: list[list[float]]) -> Any:
    rows = evenly(len(points), MOST_POINTS)
    columns = {"point_x": points[rows, 0], "point_y": points[rows, 1]} | group.columns(rows)
    channels = group.channels("fill", GREY)
    if group.values is not None:
        # A legend would draw the fill as faint as the points, inside a line that they do not have.
        look = alt.Legend(symbolOpacity=1, symbolStrokeWidth=0)
        channels = {name: channel.legend(look) for name, channel in channels.items()}
    x, y = axis(alt.X, "point_x", names[0], edges[0]), axis(alt.Y, "point_y", names[1], edges[1])
    dots = alt.Chart(table(columns)).mark_point(strokeWidth=0, size=14, opacity=0.6)
    return dots.encode(x=x, y=y, **channels)


def contour(grid: FloatArray, values: FloatArray, level: float) -> FloatArray:
    """Return the segments of a level line of values on a grid.

    Parameters
    ----------
    grid : ndarray of shape (m, n, 2)
    values : ndarray of shape (m, n)
    level : float

    Returns
    -------
    ndarray of shape (pieces, 4)
        Both ends: x, y, x, y. Values are linear in each half of a cell.

    Examples
    --------
    >>> grid = np.stack(np.meshgrid([0.0, 1.0], [0.0, 1.0], indexing="ij"), axis=-1)
    >>> sorted(contour(grid, grid[..., 0], 0.25)[:, [0, 2]].ravel().tolist())
    [0.25, 0.25, 0.25, 0.25]
    """
    corners = np.concatenate([grid, values[..., None]], axis=-1)
    a, b, c, d = (corners[i, j].reshape(-1, 3) for i, j in _CORNERS)
    triangles = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    above = triangles[..., 2] > level
    crossed = above.any(axis=1) & ~above.all(axis=1)
    triangles, above = triangles[crossed], above[crossed]
    # One corner is alone on its side; the line crosses the two edges that meet there.
    alone = np.argmax(above == (above.sum(axis=1) == 1)[:, None], axis=1)
    place = np.arange(len(triangles))
    tip = triangles[place, alone]
    ends = []
    for step in (1, 2):
        other = triangles[place, (alone + step) % 3]
        share = (level - tip[:, 2]) / (other[:, 2] - tip[:, 2])
        ends.append(tip[:, :2] + share[:, None] * (other[:, :2] - tip[:, :2]))
    return np.concatenate(ends, axis=1)


_FROM, _TO = slice(None, -1), slice(1, None)
_CORNERS = (_FROM, _FROM), (_TO, _FROM), (_FROM, _TO), (_TO, _TO)
