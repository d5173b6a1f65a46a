"""Figures in the plane, or the space, of the columns: level lines, equations, directions, whitening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64
from gramian.core.checks import check_integer, counted, evenly
from gramian.core.records import FloatArray, ModelKind
from gramian.errors import DataError
from gramian.figures import _altair_style as style
from gramian.figures import images
from gramian.figures._altair_points import Group
from gramian.figures.names import axis_title, component_titles, fitted, numbers_of, place_of
from gramian.kernels.auditing import AuditReport
from gramian.models.pca.estimator import PCA
from gramian.statistics.associations import normal_ellipse
from gramian.statistics.components import component_names, feature_names_of, kind_of, names_of
from gramian.tables.table import Table

CELLS, LEVELS = 60, 9
ACROSS = 520  # pixels of several panels beside each other, at most
CONSTANT = 1e-9  # range of scores relative to the largest, up to which nothing varies
ENDS = ("x", "y", "x2", "y2")
BETWEEN = {"x": "x:Q", "y": "y:Q", "x2": "x2", "y2": "y2"}
SIDE = 250  # pixels at most of a panel
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
        Such as ``[PCA(2).fit(X), KernelPCA(3, kernel="rbf").fit(X)]``: a row of panels each, unless one of
        them has a single component.
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

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> t = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = gramian.KernelPCA(2, kernel="rbf(sigma=1)").fit(X)
    >>> chart = gramian.figures.kernel_contours(model, X, components=1)
    >>> sorted({row["panel"] for row in chart.data.to_pylist()})
    ['1. exp(-0.5 ||x - y||^2), PC1 (40.1 %)']
    >>> chart.save("contours.svg")  # doctest: +SKIP
    """
    given = list(models) if isinstance(models, Sequence) else [models]
    wrong = [model for model in given if model.n_features_in_ != 2]
    if wrong:
        problem = f"Contours need a model of two columns, and this one has {wrong[0].n_features_in_}."
        raise DataError(problem, "Fit it on two columns.")
    points = as_float64(numbers_of(X))
    edges = _square(style.edges_of(points, margin=0.15))
    grid = _grid(edges, CELLS)
    pieces: dict[str, list[Any]] = {name: [] for name in ("panel", "level", *ENDS)}
    titles: list[list[str]] = []
    for place, model in enumerate(given, 1):
        k = min(components, int(model.n_components_))
        result = as_float64(model.transform(_rows(grid, model)))[:, :k].reshape(*grid.shape[:2], k)
        kind = type(model).__name__ if kind_of(model).linear else str(model.kernel_ or model.kernel)
        titles.append([f"{place}. {kind}, {name}" for name in component_titles(model, k)])
        for j, title in enumerate(titles[-1]):
            for level, ends in level_lines(grid, result[..., j]):
                for column, values in zip(ENDS, ends.T, strict=True):
                    pieces[column].extend(values.tolist())
                pieces["panel"].extend([title] * len(ends))
                pieces["level"].extend([level] * len(ends))
    names = feature_names_of(given[0])
    over = _points(points, Group.of(color, len(points), given[0], X), names, edges)
    room = style.width() if style.width() < style.WIDTH else ACROSS
    if min(map(len, titles)) == 1:  # a panel alone in a row
        titles = [[title for row in titles for title in row]]
    across = [images.beside(len(row), SHOWN if room == ACROSS else max(1, room // 120)) for row in titles]
    side = min(SIDE, (room - 14 * (max(across) - 1)) // max(across))
    rows = []
    for row, many in zip(titles, across, strict=True):
        panels = (_panel(title, over, side, place % many == 0) for place, title in enumerate(row))
        rows.append(alt.concat(*panels, columns=many, spacing=14))
    return style.stacked(
        pieces,
        rows,
        "Lines of equal score",
        f"{LEVELS} evenly spaced lines for each component, thin ones of negative scores.",
        f"{len(points):,} rows{f' ({MOST_POINTS} drawn)' if len(points) > MOST_POINTS else ''}.",
        spacing=14,
    )


def _square(edges: list[list[float]]) -> list[list[float]]:
    """Return limits of equal length, so that circles are circles; ranges of very different length stay."""
    spans = [high - low for low, high in edges]
    if max(spans) > style.MOST_UNEQUAL * min(spans):
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
    names = names_of(model)
    return rows if names is None else Table(rows, names)


def _panel(title: str, over: Any, side: int, first: bool) -> Any:
    """Return the lines of a panel; the first one in a row has the Y axis of all."""
    scale = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=SCORES)
    color = alt.Color("level:Q", title="score / largest", scale=scale, legend=alt.Legend(tickCount=5))
    lines = style.Chart().transform_filter(alt.FieldEqualPredicate(field="panel", equal=title))
    width = alt.condition("datum.level < 0", alt.value(0.9), alt.value(1.8))
    lines = lines.mark_rule(strokeCap="round").encode(**BETWEEN, color=color, strokeWidth=width)
    if not first:
        over = over.encode(y=over.encoding.y.title(None).axis(labels=False, ticks=False, minExtent=0))
    look = {"fontWeight": "normal", "anchor": "middle", "frame": "group", "fontSize": 11}
    heading = alt.Title(title.rsplit(", ", 1), limit=side + 20, **look)
    return style.Panel(layer=[over, lines], title=heading, width=side, height=side)


def _points(points: FloatArray, group: Group, names: Sequence[str], edges: list[list[float]]) -> Any:
    rows = evenly(len(points), MOST_POINTS)
    columns = {"point_x": points[rows, 0], "point_y": points[rows, 1]} | group.columns(rows)
    channels = group.channels("fill", style.GREY)
    if group.values is not None:
        # A legend would draw the fill as faint as the points, inside a line that they do not have.
        look = alt.Legend(symbolOpacity=1, symbolStrokeWidth=0)
        channels = {name: channel.legend(look) for name, channel in channels.items()}
    dots = style.chart(columns).mark_point(strokeWidth=0, size=14, opacity=0.6)
    return dots.encode(**style.xy(("point_x", "point_y"), names, edges), **channels)


def _grid(edges: list[list[float]], cells: int) -> FloatArray:
    """Return the corners of so many cells along each axis, shape (cells + 1, cells + 1, 2)."""
    sides = (np.linspace(low, high, cells + 1) for low, high in edges)
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)


def level_lines(grid: FloatArray, values: FloatArray) -> list[tuple[float, FloatArray]]:
    """Return evenly spaced levels relative to the largest magnitude, and the segments of their lines."""
    low, high, largest = (float(one) for one in (values.min(), values.max(), np.abs(values).max()))
    levels = np.linspace(low, high, LEVELS + 2)[1:-1].tolist() if high - low > CONSTANT * largest else []
    return [(level / (largest or 1.0), contour(grid, values, level)) for level in levels]


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


# ---- The curve or surface on which an equation holds, over the points that it was computed from

RELATION_CELLS, NET_CELLS = 240, 24  # of the grid, along each axis, in the plane and in space
NET_LINES = 9
CURVE: dict[str, Any] = {"color": style.VERMILION, "strokeCap": "round", "strokeWidth": 1.5}
NET = CURVE | {"strokeWidth": 0.7, "opacity": 0.8}
MOST_OF_RELATION = 1000
VIEW = (35.0, 25.0)


def relation(law: Any, X: Any, *, color: Any = None, view: tuple[float, float] = VIEW) -> Any:
    """Draw the zero set of an equation over the rows: a curve of two columns, a surface of three.

    Parameters
    ----------
    law : Relation
        One of :func:`gramian.relations`, in which two or three columns occur.
    X : array-like of shape (n_samples, n_features)
        The rows; at most 1000 are drawn, evenly spaced.
    color : array-like of shape (n_samples,), optional
        As for :func:`scores`.
    view : (float, float), default=(35, 25)
        Of three columns, as for :func:`directions`.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has the segments of the curve, or of the net of lines on the surface: both ends in the
        figure, x, y, x2, y2.

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
    >>> chart = gramian.figures.relation(gramian.relations(X)[0], X)
    >>> chart.title.text
    'x^2 + y^2 - 6 x - 4 y + 10.75 = 0'
    """
    used, names = _columns_of(law), law.feature_names
    if len(used) not in (2, 3):
        raise DataError(
            f"{law} is between {counted(len(used), 'column')}, and a figure shows two or three. Draw another "
            "equation, or compute relations of two or three columns alone."
        )
    values = as_float64(numbers_of(X))
    points = values.reshape(len(values), -1)
    if points.shape[1] != len(names):
        raise DataError(f"X has {points.shape[1]} columns, and the equation is between {len(names)}.")
    some, flat = points[:, used], len(used) == 2
    net = np.empty((0, 2, 2)) if flat else zero_set(law, _ranges(some))
    fields, called = ("point_x", "point_y"), [names[j] for j in used]
    space = _Space(fields, some, called, view, net.reshape(-1, len(used)))
    lines = space.seen(zero_set(law, space.edges) if flat else net)
    drawn = evenly(len(some), MOST_OF_RELATION)
    group = Group.of(color, len(some), None, X)
    columns = dict(zip(fields, space.seen(some[drawn]).T, strict=True)) | group.columns(drawn)
    dots = style.chart(columns).mark_point(filled=True, size=34, opacity=0.85)
    dots = dots.encode(**space.place, **group.channels())
    curve = style.Chart().mark_rule(clip=True, **(CURVE if flat else NET))
    return style.layered(
        dict(zip(ENDS, lines.reshape(-1, 4).T, strict=True)),
        [*space.box, curve.encode(**BETWEEN), dots],
        style.drawable(str(law)),
        f"It holds on the {'curve' if flat else 'net'}.",
        f"The rows are {law.residual:.2g} away from it (root mean square).",
        *space.notes,
        f"{len(drawn):,} of {len(some):,} rows." if len(drawn) < len(some) else "",
        height=space.height,
    )


def _columns_of(law: Any) -> npt.NDArray[Any]:
    """Return the places of the columns that occur in an equation."""
    if not hasattr(law, "powers"):
        kind = type(law).__name__
        raise DataError(f"A {kind} is no single equation. Pass one, such as gramian.relations(X)[0].")
    return np.flatnonzero(np.asarray(law.powers).any(axis=0))


def _ranges(points: FloatArray) -> FloatArray:
    """Return the least and the largest value of each column, shape (columns, 2)."""
    return np.stack([np.nanmin(points, axis=0), np.nanmax(points, axis=0)], axis=1)


def zero_set(law: Any, edges: Any) -> FloatArray:
    """Return segments on which an equation between two or three columns holds, within limits of each.

    Parameters
    ----------
    law : Relation
    edges : array-like of shape (columns, 2)
        Of each column that occurs.

    Returns
    -------
    ndarray of shape (pieces, 2, columns)
        Of a curve; of a surface its cuts with planes, evenly spaced along each column.

    Examples
    --------
    >>> import gramian
    >>> t = np.linspace(0, 6, 100)
    >>> law = gramian.relations(np.column_stack([np.cos(t), np.sin(t)]))[0]
    >>> ends = zero_set(law, [(-2, 2), (-2, 2)])
    >>> np.allclose(np.hypot(*ends.T), 1, atol=1e-3)
    True
    """
    used, pieces = _columns_of(law), list[FloatArray]()
    for fixed in (-1,) if len(used) == 2 else range(3):
        free = [j for j in range(len(used)) if j != fixed]
        grid = _grid([edges[j] for j in free], RELATION_CELLS if fixed < 0 else NET_CELLS)
        for level in (0.0,) if fixed < 0 else np.linspace(edges[fixed][0], edges[fixed][1], NET_LINES):
            rows = np.tile(law.origin, (grid[..., 0].size, 1))  # any value of columns that do not occur
            rows[:, used[fixed]] = level
            rows[:, used[free]] = grid.reshape(-1, 2)
            ends = contour(grid, law(rows).reshape(grid.shape[:2]), 0.0).reshape(-1, 2, 2)
            pieces.append(np.full((len(ends), 2, len(used)), level))
            pieces[-1][..., free] = ends
    return np.concatenate(pieces)


class _Space:
    """The plane of two columns, or the space of three as it is seen by an eye far away.

    It has axes around points, of shape (n, columns), and around others.

    Attributes
    ----------
    eye : ndarray of shape (2, columns)
        The directions of the figure, to the right and up.
    edges, height
        Limits of the axes, and the height of the plot.
    place : dict
        The channels x and y.
    box : list
        In space, layers of three edges of the box around the points, which meet in its least corner.
    notes : list of str
    """

    def __init__(
        self,
        fields: Sequence[str],
        points: FloatArray,
        names: Sequence[str],
        view: tuple[float, float],
        *others: FloatArray,
        margin: float = 0.12,
    ) -> None:
        self.eye, self.box, self.notes = np.eye(2), list[Any](), list[str]()
        corners, more = np.empty((0, 2)), dict[str, Any]()
        if points.shape[1] == 3:
            azimuth, elevation = np.deg2rad(view)
            away = np.array([np.cos(azimuth), np.sin(azimuth)])
            self.eye = np.array([[-away[1], away[0], 0.0], [*(-np.sin(elevation) * away), np.cos(elevation)]])
            low, high = _ranges(points).T
            corners = self.seen(np.stack([low, *(np.where(np.arange(3) == j, high, low) for j in range(3))]))
            self.box = _box(corners, names)
            # Empty, not None: Vega-Lite cannot merge no axis with those of other layers.
            more = {"axis": alt.Axis(labels=False, ticks=False, grid=False, domain=False)}
            self.notes = [f"Orthographic projection from azimuth {view[0]:g} and elevation {view[1]:g}."]
            names = ("", "")
        around = np.concatenate([corners, *map(self.seen, (points, *others))])
        self.edges, self.height, equal = style.equal_axes(style.edges_of(around, margin=margin))
        if not equal:
            self.notes.append("The axes have different scales: right angles do not look right.")
        self.place = style.xy(fields, names, self.edges, **more)

    def seen(self, points: FloatArray) -> FloatArray:
        """Return the places of points in the figure."""
        return np.asarray(points @ self.eye.T)


def _box(corners: FloatArray, names: Sequence[str]) -> list[Any]:
    ends = style.chart({"end_x": corners[1:, 0], "end_y": corners[1:, 1], "name": list(names)})
    words = ends.mark_text(color=style.SOFT, fontSize=11, dy=-7)
    lines = style.segments(corners[[0, 0, 0]], corners[1:], color=style.SOFT, strokeWidth=1)
    return [lines, words.encode(x="end_x:Q", y="end_y:Q", text="name:N")]


# -------------- What PCA finds, in the plane or the space of the columns

STRIP, PLANE = 46, 340  # pixels: the height of a single component, and the width of two


def directions(
    model: Any,
    X: Any,
    *,
    color: Any = None,
    components: int | None = None,
    names: Sequence[str] | None = None,
    law: Any = None,
    view: tuple[float, float] = VIEW,
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
    names : sequence of str, optional
        Names of all directions in the figure, such as ``["u₁", "u₂"]``; by default PC1, PC2, ...
    law : Relation, optional
        Of :func:`gramian.relations`, in which all columns occur: its curve or surface is drawn too, as by
        :func:`relation`.
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
        For another model than a PCA of two or three columns, or an equation between others.
    ParameterError
        For a number of components that the model does not have.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> chart = gramian.figures.directions(gramian.PCA().fit(X), X)
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
    called = component_names(k) if names is None else [str(name) for name in names]
    if len(called) != k:
        raise DataError(f"There are {len(called)} names for {k} directions. Give one for each.")
    group = Group.of(color, len(every), model, X)
    columns: dict[str, Any] = {"row": rows}
    columns |= {letter: points[:, j] for j, letter in enumerate("xyz"[:d])}
    columns |= {f"projected {letter}": onto[:, j] for j, letter in enumerate("xyz"[:d])}
    columns |= {name: Z[:, j] for j, name in enumerate(component_names(r))}
    columns |= group.columns(rows)
    fields = ("x", "y") if d == 2 else ("across", "up")
    titles = [name if model.scale_ is None else f"{name} / scale" for name in feature_names_of(model)]
    plane = mean + _rectangle(Z) @ P[:r] if d == 3 and r == 2 else np.empty((0, d))
    net = np.empty((0, 2, d)) if law is None else _on_law(law, every * scale) / scale
    others = (onto, arrows, plane, net.reshape(-1, d))
    space = _Space(fields, np.vstack([points, mean]), titles, view, *others, margin=0.08)
    columns |= dict(zip(fields, space.seen(points).T, strict=True))
    colors, look = group.channels(), CURVE if d == 2 else NET
    curve = [] if law is None else [style.segments(*np.moveaxis(space.seen(net), 1, 0), **look)]
    marks = [
        *space.box,
        *_outlined(space, plane),
        *curve,
        *_points_and_feet(space, points, onto, colors),
        *_arrows(space, mean, arrows, called, np.concatenate([points, onto])),
    ]
    deviations = ", ".join(f"{value:.4g}" for value in np.sqrt(as_float64(model.explained_variance_)))
    return style.stacked(
        columns,
        [style.panel(marks, space.height), _projected(model, Z, called, colors)],
        "Principal directions",
        f"Arrows: the roots of the variances, {deviations}.",
        f"Thin lines lead to the projection on {' and '.join(called[:r])}, below.",
        "The rectangle lies in their plane." if len(plane) else "",
        "" if law is None else f"{style.drawable(str(law))} holds on the {'net' if d == 3 else 'curve'}.",
        *space.notes,
        "Unit: the scale of each column." if model.scale_ is not None else "",
        f"{len(points):,} of {len(every):,} rows, evenly spaced." if len(points) < len(every) else "",
        spacing=14,
    )


def _rectangle(Z: FloatArray) -> FloatArray:
    """Return the corners of the rectangle around scores of two components."""
    low, high = np.nanmin(Z, axis=0), np.nanmax(Z, axis=0)
    return np.array([low, (high[0], low[1]), high, (low[0], high[1]), low])


def _outlined(space: _Space, plane: FloatArray) -> list[Any]:
    look = {"color": style.BLUE, "strokeWidth": 1.5, "fill": style.BLUE, "fillOpacity": 0.12}
    return [style.outline(space.seen(plane), **look)] if len(plane) else []


def _on_law(law: Any, X: FloatArray) -> FloatArray:
    """Return segments of the curve or surface of an equation between all columns."""
    used, d = _columns_of(law), X.shape[1]
    if not len(law.feature_names) == len(used) == d:
        raise DataError(
            f"{law} is not an equation between the {d} columns of the model. Pass one of "
            "gramian.relations(X) in which each of them occurs."
        )
    return zero_set(law, _ranges(X))


def _points_and_feet(space: _Space, points: FloatArray, onto: FloatArray, colors: Any) -> list[Any]:
    """Return lines from points to their projections, in a plane with hollow marks there, and the points."""
    places, feet = space.seen(points), space.seen(onto)
    dots = style.Chart().mark_point(filled=True, size=30, opacity=0.85).encode(**space.place, **colors)
    hollow = style.chart({"foot_x": feet[:, 0], "foot_y": feet[:, 1]})
    hollow = hollow.mark_point(size=16, strokeWidth=1, color=style.SOFT)
    lines = style.segments(places, feet, color=style.LINE, strokeWidth=0.8, opacity=0.6)
    return [lines, *([] if space.box else [hollow.encode(x="foot_x:Q", y="foot_y:Q")]), dots]


def _arrows(
    space: _Space, mean: FloatArray, ends: FloatArray, names: Sequence[str], points: FloatArray
) -> list[Any]:
    """Return arrows from the mean, and their names near their tips, off points and arrows if they can be."""
    start, tips = space.seen(mean), space.seen(ends)
    lines = style.segments(np.broadcast_to(start, tips.shape), tips, color=style.INK, strokeWidth=2.5)
    lengths = np.linalg.norm(tips - start, axis=1, keepdims=True)
    ahead = np.divide(tips - start, lengths, out=np.zeros_like(tips), where=lengths > 0)
    aside = ahead @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    around = np.stack([ahead, ahead + aside, ahead - aside, aside, -aside])
    pixel = (space.edges[0][1] - space.edges[0][0]) / style.width()
    spots = tips + pixel * np.concatenate([away * around for away in (18, 26, 36, 48)])
    shafts = (start + np.linspace(0, 1, 30)[:, None, None] * (tips - start)).reshape(-1, 2)
    half = pixel * np.array([[4.5 * len(name), 8.0] for name in names])[:, None]  # of the letters
    between = np.abs(spots[:, :, None] - np.vstack([space.seen(points), shafts])) - half
    room = np.nanmin(between.max(axis=3), axis=2)
    best = np.argmax(np.minimum(room, 4 * pixel), axis=0)  # the first that is free, else the freest
    beyond = spots[best, np.arange(len(tips))]
    turned = np.degrees(np.arctan2(tips[:, 0] - start[0], tips[:, 1] - start[1])) % 360
    columns = {"name": list(names), "turned": turned}
    columns |= {"tip_x": tips[:, 0], "tip_y": tips[:, 1], "name_x": beyond[:, 0], "name_y": beyond[:, 1]}
    base, turn = style.chart(columns), alt.Angle("turned:Q", scale=None)
    heads = base.mark_point(shape="triangle-up", filled=True, size=90, color=style.INK, opacity=1)
    words = base.mark_text(color=style.INK, fontWeight="bold", fontSize=12)
    heads = heads.encode(x="tip_x:Q", y="tip_y:Q", angle=turn)
    return [lines, heads, words.encode(x="name_x:Q", y="name_y:Q", text="name:N")]


def _projected(model: Any, Z: FloatArray, names: Sequence[str], colors: dict[str, Any]) -> Any:
    """Return the panel of the scores: a strip of one component, or the plane of two."""
    dots = style.Chart().mark_point(filled=True, size=30, opacity=0.85)
    titles = [axis_title(model, j).replace(f"PC{j + 1}", names[j], 1) for j in range(Z.shape[1])]
    if Z.shape[1] == 1:
        x = style.axis(alt.X, "PC1", titles[0], style.limits(Z[:, 0]))
        return style.panel([style.zero_lines()[0], dots.encode(x=x, **colors)], STRIP)
    with style.room(min(PLANE, style.width() + style.MARGIN)):
        edges, height, _ = style.equal_axes(style.edges_of(Z))
        dots = dots.encode(**style.xy(("PC1", "PC2"), titles, edges), **colors)
        return style.panel([*style.zero_lines(), dots], height)


# ------------------ Two columns, or pictures, before and after whitening

PAIR_SIDE, LABELS = 250, 34  # pixels at most of a panel, and of the labels of its Y axis


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

    Raises
    ------
    ParameterError
        For an unknown column.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> chart = gramian.figures.whitening(gramian.Whitener().fit(X), X)
    >>> chart.data.column_names
    ['row', 'before_x', 'before_y', 'after_x', 'after_y']
    >>> np.std(chart.data["after_x"].to_pylist(), ddof=1).round(4).item()
    1.0
    """
    models = list(model) if isinstance(model, Sequence) else [model]
    if getattr(models[0], "picture_shape_", None) is not None:
        return _whitened_pictures(models, X)
    results = [as_float64(one.transform(X)) for one in models]
    n = len(results[0])
    results = [after.reshape(n, -1) for after in results]
    before = as_float64(numbers_of(X)).reshape(n, -1)
    count = min(one.shape[1] for one in (before, *results))
    advice = f"{count} columns are whitened."
    places = [place_of(x, count, "x", advice), place_of(y, count, "y", advice)]
    rows = style.sampled_rows(n)
    shown: list[tuple[str, Any, list[str], str]] = [("before", before, feature_names_of(models[0]), "")]
    for number, (one, after) in enumerate(zip(models, results, strict=True), 1):
        made = [str(name) for name in one.get_feature_names_out()]
        by = "whitened" if len(models) == 1 else one.method
        shown.append((f"after{number if number > 1 else ''}", after, made, f" ({by})"))
    panels, columns, notes = list[Any](), {"row": rows}, list[str]()
    room = style.width() if style.width() < style.WIDTH else ACROSS + style.MARGIN
    beside = images.beside(len(shown), min(SHOWN, max(1, room // (120 + LABELS))))
    side = min(PAIR_SIDE, room // beside - LABELS - 8)
    # The title of a Y axis lies above it, so that panels are as large as they can be.
    above = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleY": -8, "titleX": -24}
    for when, values, called, unit in shown:
        pair = values[:, places]
        line = normal_ellipse(pair)
        cov = np.cov(pair.T)
        said = "Before" if when == "before" else "after" + unit * (len(models) > 1)
        notes.append(f"{said}: variances {cov[0, 0]:.3g} and {cov[1, 1]:.3g}, covariance {_rounded(cov)};")
        fields, titles = (f"{when}_x", f"{when}_y"), [called[place] + unit for place in places]
        columns |= dict(zip(fields, pair[rows].T, strict=True))
        edges = style.edges_of(pair, line, margin=0.04)
        place = style.xy(fields, titles, edges if when == "before" else _square(edges))
        place["y"] = place["y"].axis(minExtent=0, tickCount=5, **above)
        points = style.Chart().mark_point(filled=True, size=16, opacity=0.6, color=style.BLUE)
        points = points.encode(**place, tooltip=["row:N", *(f"{field}:Q" for field in fields)])
        marks = [*style.zero_lines(), points, style.outline(line, color=style.VERMILION, strokeWidth=1.5)]
        panels.append(style.Panel(layer=marks, width=side, height=side))
    head = style.headed(
        f"Whitening by {' and '.join(one.method for one in models)}",
        *notes,
        f"{n:,} rows{f' (random sample of {style.SAMPLE:,}, seed 0)' if n > style.SAMPLE else ''}.",
        "95 % normal ellipses.",
        width=beside * (side + LABELS),
    )
    return style.Panels(data=style.table(columns), concat=panels, columns=beside, title=head, spacing=8)


def _whitened_pictures(models: Sequence[Any], X: Any) -> images.Picture:
    """Draw pictures, one in each row, and what each model makes of them."""
    values = numbers_of(X)
    some = values[evenly(len(values), images.MOST_REBUILT)]
    shape = models[0].picture_shape_
    originals = as_float64(some).reshape(-1, *shape)
    sheet = [[images.grey(picture, *images.grey_range(some)) for picture in originals]]
    for one in models:
        whitened = as_float64(one.transform(some.reshape(-1, *shape)))
        limit = images.whitened_limit(whitened)
        sheet.append([images.grey(picture, -limit, limit) for picture in images.coordinates(whitened, shape)])
    captions = ["original", *(one.method for one in models)] * len(originals)
    cells = [cell for row in zip(*sheet, strict=True) for cell in row]
    return images.contact_sheet(cells, captions, len(sheet))


def _rounded(covariance: Any) -> str:
    small = abs(covariance[0, 1]) < 5e-4 * np.sqrt(covariance[0, 0] * covariance[1, 1])
    return "0.000" if small else f"{covariance[0, 1]:.3g}"


# ----------------- The counterexample of a function that is not a kernel

TWO = ("first", "second")


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

    Examples
    --------
    >>> import gramian
    >>> report = gramian.kernels.audit(lambda x, y: abs(x - y).sum())
    >>> chart = gramian.figures.counter_example(report)
    >>> [(row["point"], row["first"], row["weight"]) for row in chart.data.to_pylist()]
    [('x1', -1.0, 1.0), ('x2', 1.0, -1.0)]
    """
    witness = report.witness
    if witness is None:
        raise DataError(f"There is no counterexample for {report.kernel}.")
    points = np.asarray(witness.points, dtype=float)
    d = points.shape[1]
    weights = np.asarray(getattr(witness, "vector", np.ones(len(points))), dtype=float)
    value = getattr(witness, "quadratic_form", None)
    pair = points[:, :2] if d > 1 else np.column_stack([points, np.zeros(len(points))])
    called = [f"x{place}" for place in range(1, len(points) + 1)]
    weighted = [f"{name}: v = {weight:.3g}" for name, weight in zip(called, weights, strict=True)]
    columns = {
        "point": called,
        "name": called if value is None else weighted,
        **{"first": pair[:, 0], "second": pair[:, 1], "weight": weights, "size": np.abs(weights)},
        "sign": ["negative" if weight < 0 else "positive" for weight in weights],
    }
    place = style.xy(TWO, [f"{name} coordinate" for name in TWO], style.edges_of(pair, margin=0.2))
    why = "k(x, y) and k(y, x) differ."
    if value is not None:
        why = f"The sum of v_i v_j k(x_i, x_j) is {value:.4g}; for a kernel it is never negative. "
        why += "Next to each point is its weight v, to which its area is proportional."
    more = [f"The first two of {d} coordinates."] if d > 2 else []
    if d == 1:  # empty, not None: Vega-Lite cannot merge no axis with that of the line through 0
        place["y"] = place["y"].title(None).axis(labels=False, ticks=False, grid=False)
    base, signs = style.Chart().encode(**place), ["positive", "negative"]
    colors = alt.Scale(domain=signs, range=[style.BLUE, style.VERMILION])
    shapes = alt.Scale(domain=signs, range=["circle", "square"])
    dots = base.mark_point(filled=True, opacity=0.9).encode(
        size=alt.Size("size:Q", legend=None, scale=alt.Scale(domainMin=0, rangeMin=0, rangeMax=400)),
        color=alt.Color("sign:N", title="weight", scale=colors),
        shape=alt.Shape("sign:N", title="weight", scale=shapes),
        tooltip=["point:N", "first:Q", "second:Q", "weight:Q"],
    )
    names = base.mark_text(dx=12, dy=-10, align="left").encode(text="name:N")
    title, marks = f"Counterexample with {counted(len(points), 'point')}", [*style.zero_lines(), dots, names]
    return style.layered(columns, marks, title, why, *more, height=style.HEIGHT if d > 1 else 120)
