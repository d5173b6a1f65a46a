"""What PCA finds, in the plane or the space of the columns."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import component_names, feature_names_of, kind_of
from gramian.arrays import as_float64
from gramian.checks import check_integer, evenly
from gramian.errors import DataError
from gramian.plots.names import axis_title, fitted, numbers_of
from gramian.plots.points import Group
from gramian.plots.style import (
    INK,
    LINE,
    SOFT,
    axis,
    equal_axes,
    limits,
    panel,
    stacked,
    table,
    width,
    zero_lines,
)
from gramian.records import FloatArray, ModelKind

MOST_POINTS = 400
STRIP = 46  # height of a single component, in pixels


def directions(
    model: Any,
    X: Any,
    *,
    color: Any = None,
    components: int | None = None,
    view: tuple[float, float] = (35.0, 25.0),
) -> Any:
    """Draw the principal directions over the points, and the points on their projection.

    Arrows begin at the mean. Their lengths are the standard deviations of the scores, the roots of the
    variances. A thin line joins each point with its projection. The panel below shows the projection alone.

    Parameters
    ----------
    model : fitted PCA
        Of two or three columns.
    X : array-like of shape (n_samples, 2) or (n_samples, 3)
        At most 400 rows are drawn, evenly spaced.
    color : array-like of shape (n_samples,) or str, optional
        As for :func:`scores`.
    components : int, optional
        Number of components to project on, 1 or 2; by default one less than the columns.
    view : (float, float), default=(35, 25)
        Azimuth and elevation, in degrees, from which three columns are seen. The figure is a fixed
        orthographic projection: parallels remain parallel, and distance from the eye changes no size.

    Returns
    -------
    altair.VConcatChart
        ``chart.data`` has a row for each point: row, the columns (x, y, z) and their projections in fitted
        units, scores, and for three columns the place in the figure (across, up).

    Raises
    ------
    DataError
        For another model than a PCA of two or three columns.
    ParameterError
        For a number of components that the model does not have.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> chart = gramian.plots.directions(gramian.PCA().fit(X), X)
    >>> chart.data.column_names
    ['row', 'x', 'y', 'projected x', 'projected y', 'PC1']
    """
    d = int(fitted(model).n_features_in_)
    if kind_of(model) is not ModelKind.PCA or d not in (2, 3):
        raise DataError(
            f"Directions are drawn for a PCA of two or three columns, and this is a {type(model).__name__} "
            f"of {d}. Fit gramian.PCA to two or three columns, or draw a biplot."
        )
    k = int(model.n_components_)
    r = min(d - 1, k) if components is None else check_integer("components", components, 1, min(2, k))
    scale = np.ones(d) if model.scale_ is None else as_float64(model.scale_)
    mean, P = as_float64(model.mean_) / scale, as_float64(model.components_)
    every = as_float64(numbers_of(X)).reshape(-1, d) / scale
    rows = evenly(len(every), MOST_POINTS)
    points = every[rows]
    Z = (points - mean) @ P[:r].T
    onto = mean + Z @ P[:r]
    arrows = mean + np.sqrt(as_float64(model.explained_variance_))[:, None] * P
    names = [name if model.scale_ is None else f"{name} / scale" for name in feature_names_of(model)]
    group = Group.of(color, len(every), model, X)
    columns: dict[str, Any] = {"row": rows}
    columns |= {letter: points[:, j] for j, letter in enumerate("xyz"[:d])}
    columns |= {f"projected {letter}": onto[:, j] for j, letter in enumerate("xyz"[:d])}
    columns |= {name: Z[:, j] for j, name in enumerate(component_names(r))}
    columns |= group.columns(rows)
    eye = np.eye(2) if d == 2 else _eye(*view)
    places, feet, tips, start = (part @ eye.T for part in (points, onto, arrows, mean))
    frame = _frame(points, mean) @ eye.T if d == 3 else np.empty((0, 2, 2))
    around = np.concatenate([places, feet, tips, start[None], frame.reshape(-1, 2)])
    edges, height, equal = equal_axes([limits(around[:, j], margin=0.08) for j in (0, 1)])
    if d == 3:
        columns |= {"across": places[:, 0], "up": places[:, 1]}
    fields = ("x", "y") if d == 2 else ("across", "up")
    # Empty, not None: Vega-Lite cannot merge no axis with those of other layers.
    bare = {"axis": alt.Axis(labels=False, ticks=False, grid=False, domain=False)}
    x, y = (
        axis(kind, field, name if d == 2 else "", edge, **({} if d == 2 else bare))
        for kind, field, name, edge in zip((alt.X, alt.Y), fields, names, edges, strict=False)
    )
    colors = group.channels()
    dots = alt.Chart().mark_point(filled=True, size=30, opacity=0.85).encode(x=x, y=y, **colors)
    marks = [
        *_edges(frame, names),
        _segments(places, feet, color=LINE, strokeWidth=0.8, opacity=0.6),
        *([] if d == 3 else [_dots(feet)]),
        dots,
        *_arrows(start, tips, (edges[0][1] - edges[0][0]) / width()),
    ]
    deviations = ", ".join(f"{value:.4g}" for value in np.sqrt(as_float64(model.explained_variance_)))
    return stacked(
        columns,
        [panel(marks, height), _projected(model, Z, colors)],
        "Principal directions",
        f"Arrows: the roots of the variances, {deviations}.",
        f"Thin lines lead to the projection on {'PC1' if r == 1 else 'PC1 and PC2'}, below.",
        f"Orthographic projection from azimuth {view[0]:g} and elevation {view[1]:g}." if d == 3 else "",
        "" if equal else "The axes have different scales: right angles do not look right.",
        "Unit: the scale of each column." if model.scale_ is not None else "",
        f"{len(points):,} of {len(every):,} rows, evenly spaced." if len(points) < len(every) else "",
        spacing=14,
    )


def _eye(azimuth: float, elevation: float) -> FloatArray:
    """Return the two directions of the figure in space, to the right and up."""
    a, e = np.deg2rad([azimuth, elevation])
    right = [-np.sin(a), np.cos(a), 0.0]
    return np.array([right, [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]])


def _frame(points: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the three edges of the box around all points that meet in its least corner."""
    both = np.concatenate([points, mean[None]])
    low, high = np.nanmin(both, axis=0), np.nanmax(both, axis=0)
    return np.stack([np.stack([low, np.where(np.arange(3) == j, high, low)]) for j in range(3)])


def _edges(frame: FloatArray, names: list[str]) -> list[Any]:
    if not len(frame):
        return []
    lines = _segments(frame[:, 0], frame[:, 1], color=SOFT, strokeWidth=1)
    ends = table({"end_x": frame[:, 1, 0], "end_y": frame[:, 1, 1], "name": names})
    words = alt.Chart(ends).mark_text(color=SOFT, fontSize=11, dy=-7)
    return [lines, words.encode(x="end_x:Q", y="end_y:Q", text="name:N")]


def _segments(first: FloatArray, second: FloatArray, **looks: Any) -> Any:
    ends = {"from_x": first[:, 0], "from_y": first[:, 1], "to_x": second[:, 0], "to_y": second[:, 1]}
    return alt.Chart(table(ends)).mark_rule(**looks).encode(x="from_x:Q", y="from_y:Q", x2="to_x", y2="to_y")


def _dots(feet: FloatArray) -> Any:
    places = table({"foot_x": feet[:, 0], "foot_y": feet[:, 1]})
    return alt.Chart(places).mark_point(size=16, strokeWidth=1, color=SOFT).encode(x="foot_x:Q", y="foot_y:Q")


def _arrows(start: FloatArray, tips: FloatArray, pixel: float) -> list[Any]:
    """Return arrows, and their names beyond their tips; ``pixel`` is the width of one."""
    lines = _segments(np.broadcast_to(start, tips.shape), tips, color=INK, strokeWidth=2.5)
    lengths = np.linalg.norm(tips - start, axis=1, keepdims=True)
    beyond = tips + 18 * pixel * np.divide(tips - start, lengths, out=np.zeros_like(tips), where=lengths > 0)
    turned = np.degrees(np.arctan2(tips[:, 0] - start[0], tips[:, 1] - start[1])) % 360
    columns = {"name": component_names(len(tips)), "turned": turned}
    columns |= {"tip_x": tips[:, 0], "tip_y": tips[:, 1], "name_x": beyond[:, 0], "name_y": beyond[:, 1]}
    base, turn = alt.Chart(table(columns)), alt.Angle("turned:Q", scale=None)
    heads = base.mark_point(shape="triangle-up", filled=True, size=90, color=INK, opacity=1)
    words = base.mark_text(color=INK, fontWeight="bold", fontSize=12)
    heads = heads.encode(x="tip_x:Q", y="tip_y:Q", angle=turn)
    return [lines, heads, words.encode(x="name_x:Q", y="name_y:Q", text="name:N")]


def _projected(model: Any, Z: FloatArray, colors: dict[str, Any]) -> Any:
    """Return the panel of the scores: a strip of one component, or the plane of two."""
    dots = alt.Chart().mark_point(filled=True, size=30, opacity=0.85)
    if Z.shape[1] == 1:
        x = axis(alt.X, "PC1", axis_title(model, 0), limits(Z[:, 0]))
        return panel([zero_lines()[0], dots.encode(x=x, **colors)], STRIP)
    edges, height, _ = equal_axes([limits(Z[:, j]) for j in (0, 1)])
    x, y = (axis(kind, f"PC{j + 1}", axis_title(model, j), edges[j]) for j, kind in enumerate((alt.X, alt.Y)))
    return panel([*zero_lines(), dots.encode(x=x, y=y, **colors)], height)
