"""Figures in the plane of two columns: level lines, equations, directions, whitening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from contourpy import contour_generator
from matplotlib.colors import LinearSegmentedColormap

from gramian.core.arrays import as_float64
from gramian.core.checks import counted, number
from gramian.core.records import AnyArray, FloatArray, ModelKind
from gramian.errors import DataError, ParameterError
from gramian.figures import points, style
from gramian.figures.drawing import Data, figure, fitted, numbers_of, places_of
from gramian.figures.images import beside
from gramian.figures.labels import Labels, along, draw_arrows
from gramian.models.pca.estimator import PCA
from gramian.statistics.associations import normal_ellipse
from gramian.statistics.components import (
    component_names,
    component_titles,
    feature_names_of,
    kind_of,
    names_of,
)
from gramian.tables.table import Table

CELLS, LEVELS = 60, 9
CONSTANT = 1e-9  # range of scores relative to the largest, up to which nothing varies
SHOWN = 3  # components of a model
SCORES = LinearSegmentedColormap.from_list("scores", ["#b35806", "#f1a340", "#a0a0a0", "#998ec3", "#542788"])
MOST_POINTS = 400
FINE = 240  # cells along each axis of the grid of an equation
PANEL = 38  # millimetres, the least width of a panel


@dataclass(frozen=True, eq=False)
class Rows(Data):
    """Rows in the plane of two columns.

    Attributes
    ----------
    values : ndarray of shape (n, 2)
    drawn : sequence of int
        The places of those that are drawn.
    hue : points.Groups
        What sets their colours.
    names : sequence of str
        Of the columns.
    curves : sequence of ndarray of shape (m, 2)
        Lines over them.
    """

    values: FloatArray
    drawn: Any
    hue: points.Groups
    names: Sequence[str]
    curves: Sequence[FloatArray]
    style = points.Groups()


def _draw_rows(ax: Any, data: Rows, scatter: dict[str, Any], *around: FloatArray) -> None:
    """Draw points and curves, with limits around some of them, and units of one length if they can be."""
    for curve in data.curves:
        ax.plot(*curve.T, color=style.VERMILION, zorder=3)
    points.draw_points(ax, data, **scatter)
    points.draw_legend(ax, data, **scatter)
    edges, equal = style.equal_units(ax, style.edges_of(data.values, *around, margin=0.08))
    style.words(ax, x=data.names[0], y=data.names[1])
    style.set_edges(ax, edges, equal)
    style.note(ax, "" if equal else "The axes have different scales: right angles do not look right.")


# ------------------------------------------------------------- Lines of equal score


@dataclass(frozen=True, eq=False)
class Contours(Rows):
    """What :func:`kernel_contours` draws; columns: x, y and the score of each panel on a grid.

    Attributes
    ----------
    sides : pair of ndarray of shape (m,)
        The places of the grid along both axes.
    panels : list of list of str
        Titles of each row of panels.
    """

    sides: Sequence[FloatArray]
    panels: list[list[str]]


def kernel_contours_data(models: Any, X: Any, *, hue: Any = None, components: int = SHOWN) -> Contours:
    """Return what :func:`kernel_contours` draws."""
    fitted = list(models) if isinstance(models, Sequence) else [models]
    if not isinstance(models, Sequence) and not kind_of(models).linear and len(numbers_of(X)) > 1:
        fitted = [PCA(2).fit(X), models]
    if others := {int(model.n_features_in_) for model in fitted} - {2}:
        problem = f"Contours need a model of two columns, and this one has {others.pop()}."
        raise DataError(problem, "Fit it on two columns.")
    values = as_float64(numbers_of(X))
    edges = style.edges_of(values, margin=0.15)
    edges = style.widened(edges, (1, 1)) if style.is_comparable(edges) else edges  # circles are circles
    sides = [np.linspace(low, high, CELLS + 1) for low, high in edges]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    columns, titles = {"x": grid[:, 0], "y": grid[:, 1]}, list[list[str]]()
    for position, model in enumerate(fitted, 1):
        k, names = min(components, int(model.n_components_)), names_of(model)
        result = as_float64(model.transform(grid if names is None else Table(grid, names)))
        kind = type(model).__name__ if kind_of(model).linear else str(model.kernel_ or model.kernel)
        titles.append([f"{position}. {kind}, {name}" for name in component_titles(model, k)])
        columns |= dict(zip(titles[-1], result.T, strict=False))
    if min(map(len, titles)) == 1:  # a panel alone in a row
        titles = [[title for row in titles for title in row]]
    rows, few = style.sampled_rows(len(values), MOST_POINTS)
    about = f"{LEVELS} evenly spaced lines of equal score for each component, thin ones of negative scores."
    hues = points.Groups.of(hue, len(values), fitted[0], X)
    return Contours(columns, [about, few], values, rows, hues, feature_names_of(fitted[0]), (), sides, titles)


def _levels(values: FloatArray) -> FloatArray:
    """Return evenly spaced levels between the extremes."""
    low, high = values.min(), values.max()
    is_constant = high - low <= CONSTANT * max(abs(low), abs(high))
    return np.empty(0) if is_constant else np.linspace(low, high, LEVELS + 2)[1:-1]


def _panels(titles: Sequence[Any], ax: Any, space: int, more: int = 0, **options: Any) -> tuple[Any, Any]:
    """Return square axes, and those of them that have a panel, with their titles; rows keep their panels."""
    most = max(1, int(style.width_mm() // PANEL))
    across = max(beside(len(row), most) for row in titles)
    every = [title for row in titles for title in [*row, *[None] * (-len(row) % across)]]
    down, side = len(every) // across, (style.width_mm() - 12) / across
    options["height_mm"] = down * (side + space) + more
    axes = style.subplots(down, across, ax=ax, **options)
    for panel, title in zip(axes.flat, every, strict=True):
        panel.set_visible(title is not None)
        panel.set_box_aspect(1)
    return axes, [pair for pair in zip(axes.flat, every, strict=True) if pair[1] is not None]


@figure(kernel_contours_data)
def kernel_contours(data: Contours, ax: Any, **contour: Any) -> Any:
    """Draw lines of equal score of each component in the plane of two columns, for one or more models.

    Linear PCA has parallel lines. For points on a circle, a component of kernel PCA has circular lines: it is
    a function of the radius.

    Parameters
    ----------
    models : fitted PCA or KernelPCA, or a sequence of them
        Such as ``[PCA(2).fit(X), KernelPCA(3, kernel="rbf").fit(X)]``: rows of panels each, unless one of
        them has a single component. A kernel PCA alone is drawn below plain PCA.
    X : array-like of shape (n_samples, 2)
        Points drawn below the lines; of more than 400 a random sample.
    hue : array-like of shape (n_samples,) or str, optional
        As for :func:`scores`.
    components : int, default=3
        The maximum for each model.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : array of Axes, optional
        One for each place, by default in a new figure.
    **contour
        As of ``Axes.contour``.

    Returns
    -------
    ndarray of Axes
        One for each place; those without a panel are not visible.

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
    >>> gramian.figures.kernel_contours_data([model], X, components=1).panels
    [['1. exp(-0.5 ||x - y||^2), PC1 (40.1 %)']]
    """
    axes, panels = _panels(data.panels, ax, space=15, more=8, sharey=True)
    for panel, name in panels:
        score = data.columns[name].reshape(CELLS + 1, CELLS + 1)
        largest, levels = np.abs(score).max(), _levels(score)
        points.draw_points(panel, data, s=5, alpha=0.5, rasterized=True)
        look: dict[str, Any] = {"linewidths": np.where(levels < 0, 0.6, 1.2), "cmap": SCORES}
        if len(levels):
            panel.contour(*data.sides, score, levels, **look | {"vmin": -largest, "vmax": largest} | contour)
        panel.set_title(style.drawable(name).replace(", PC", "\nPC"), **style.PLAIN)
        style.words(panel, x=data.names[0], y=data.names[1] if panel in axes[:, 0] else "")
    points.draw_legend(axes[0, 0], data)
    if ax is None and (legend := axes[0, 0].get_legend()):
        legend.set_bbox_to_anchor((0, 1 + 12 * axes.shape[1] / style.width_mm()))  # above the titles
    return axes


# ------------ The curve on which an equation holds, over the points that it was computed from


def relation_data(law: Any, X: Any, *, hue: Any = None) -> Rows:
    """Return what :func:`relation` draws; columns: those of the equation, which holds on the curves."""
    used, names, values = _columns_of(law), law.feature_names, as_float64(numbers_of(X))
    if len(used) != 2:
        problem = f"{law} is between {counted(len(used), 'column')}, and a figure shows two."
        raise DataError(problem, "Draw another equation, or compute relations of two columns alone.")
    values = values.reshape(len(values), -1)
    if values.shape[1] != len(names):
        raise DataError(f"X has {values.shape[1]} columns, and the equation is between {len(names)}.")
    some, called = values[:, used], [names[j] for j in used]
    rows, few = style.sampled_rows(len(values), MOST_POINTS)
    hues, away = points.Groups.of(hue, len(values), None, X), number(law.residual, 2)
    about = f"It holds on the curve. The rows are {away} away from it (root mean square)."
    columns = dict(zip(called, some[rows].T, strict=True))
    return Rows(columns, [about, few], some, rows, hues, called, zero_set(law, some), title=str(law))


def _columns_of(law: Any) -> AnyArray:
    """Return the places of the columns that occur in an equation."""
    if not hasattr(law, "powers"):
        problem = f"A {type(law).__name__} is no single equation."
        raise DataError(problem, "Pass one, such as gramian.relations(X)[0].")
    return np.flatnonzero(np.asarray(law.powers).any(axis=0))


def zero_set(law: Any, points: FloatArray) -> list[FloatArray]:
    """Return lines on which an equation between two columns holds, in the range of points and around.

    Examples
    --------
    >>> import gramian
    >>> t = np.linspace(0, 6, 100)
    >>> points = np.column_stack([np.cos(t), np.sin(t)])
    >>> (circle,) = zero_set(gramian.relations(points)[0], points)
    >>> np.allclose(np.hypot(*circle.T), 1, atol=1e-3)
    True
    """
    used = _columns_of(law)
    sides = [np.linspace(low, high, FINE + 1) for low, high in style.edges_of(points, margin=0.12)]
    grid = np.meshgrid(*sides)
    rows = np.tile(law.origin, (grid[0].size, 1))  # any value of columns that do not occur
    rows[:, used] = np.stack(grid, axis=-1).reshape(-1, 2)
    found: Any = contour_generator(sides[0], sides[1], law(rows).reshape(grid[0].shape)).lines(0.0)
    return list(found)


@figure(relation_data)
def relation(data: Rows, ax: Any, **scatter: Any) -> Any:
    """Draw the curve of an equation between two columns over the rows.

    Parameters
    ----------
    law : Relation
        One of :func:`gramian.relations`, in which two columns occur.
    X : array-like of shape (n_samples, n_features)
        The rows; of more than 400 a random sample is drawn.
    hue : array-like of shape (n_samples,), optional
        As for :func:`scores`.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **scatter
        As of ``Axes.scatter``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

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
    >>> gramian.figures.relation_data(gramian.relations(X)[0], X).title
    'x^2 + y^2 - 6 x - 4 y + 10.75 = 0'
    """
    ax = style.subplots(ax=ax)
    _draw_rows(ax, data, scatter)
    return ax


# ------------------------------- What PCA finds, in the plane of the columns


@dataclass(frozen=True, eq=False)
class Directions(Rows):
    """What :func:`directions` draws; columns: row, the columns, their projections, and scores.

    Attributes
    ----------
    mean : ndarray of shape (2,)
    onto : ndarray of shape (rows, 2)
        The projections.
    arrows : dict of str to ndarray of shape (2,)
        The ends of the arrows, which begin at the mean, by their names.
    """

    mean: FloatArray
    onto: FloatArray
    arrows: dict[str, FloatArray]


def directions_data(model: Any, X: Any, *, hue: Any = None) -> Directions:
    """Return what :func:`directions` draws."""
    if kind_of(fitted(model)) is not ModelKind.PCA or model.n_features_in_ != 2:
        problem = f"this is a {type(model).__name__} of {model.n_features_in_}."
        hint = "Fit gramian.PCA to two columns, or draw a biplot."
        raise DataError(f"Directions are drawn for a PCA of two columns, and {problem}", hint)
    k = int(model.n_components_)
    scale = np.ones(2) if model.scale_ is None else as_float64(model.scale_)
    unit = "" if model.scale_ is None else " / scale"
    mean, P = as_float64(model.mean_) / scale, as_float64(model.components_)
    every = as_float64(numbers_of(X)).reshape(-1, 2)
    (rows, few), lengths = style.sampled_rows(len(every), MOST_POINTS), np.sqrt(model.explained_variance_)
    values = every / scale
    Z = (values[rows] - mean) @ P[:1].T
    onto = mean + Z @ P[:1]
    hues = points.Groups.of(hue, len(every), model, X)
    titles = ["x", "y", "projected x", "projected y", "PC1"]
    columns = {"row": rows} | dict(zip(titles, np.hstack([values[rows], onto, Z]).T, strict=True))
    sentences = [
        f"Arrows: the roots of the variances, {', '.join(map(number, lengths))}.",
        "Thin lines lead to the projection on PC1.",
        "Unit: the scale of each column." if unit else "",
        few,
    ]
    axes = [f"{name}{unit}" for name in feature_names_of(model)]
    arrows = dict(zip(component_names(k), mean + lengths[:, None] * P, strict=True))
    return Directions(columns, sentences, values, rows, hues, axes, (), mean, onto, arrows)


@figure(directions_data)
def directions(data: Directions, ax: Any, **scatter: Any) -> Any:
    """Draw the principal directions over the points.

    Arrows begin at the mean. Their lengths are the standard deviations of the scores, the roots of the
    variances. A thin line joins each point with its projection on PC1.

    Parameters
    ----------
    model : fitted PCA
        Of two columns.
    X : array-like of shape (n_samples, 2)
        Of more than 400 rows a random sample is drawn.
    hue : array-like of shape (n_samples,) or str, optional
        As for :func:`scores`.
    title : str, optional
        A title of the figure; by default it has none.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **scatter
        As of ``Axes.scatter``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        For another model than a PCA of two columns.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> list(gramian.figures.directions_data(gramian.PCA().fit(X), X).columns)
    ['row', 'x', 'y', 'projected x', 'projected y', 'PC1']
    """
    ax, tips = style.subplots(ax=ax), np.array(list(data.arrows.values()))
    rows = data.values[data.drawn]
    feet = np.stack([rows, data.onto, np.full_like(data.onto, np.nan)], axis=1).reshape(-1, 2)
    ax.plot(*feet.T, color=style.LINE, lw=0.5, alpha=0.6, zorder=1)
    draw_arrows(ax, data.mean, tips - data.mean)
    ax.plot(*data.onto.T, "o", mfc="none", mec=style.SOFT, mew=0.6, ms=3, zorder=1)
    labels = Labels(ax)
    labels.block(np.concatenate([rows, data.onto, data.mean + along(tips - data.mean)]))
    labels.add(tips, list(data.arrows), weight="bold")
    _draw_rows(ax, data, scatter, data.onto, tips)
    return ax


# ------------------------------------- Two columns before and after whitening


@dataclass(frozen=True, eq=False)
class Whitening(Data):
    """What :func:`whitening` draws; columns: row, before_x, before_y, after_x, after_y.

    Attributes
    ----------
    panels : sequence of Rows
        Before, and after, each with its 95 % normal ellipse.
    """

    panels: Sequence[Rows]


def whitening_data(model: Any, X: Any, *, components: Sequence[int | str] = (1, 2)) -> Whitening:
    """Return what :func:`whitening` draws."""
    n, white = len(numbers_of(X)), as_float64(model.transform(X))
    tables = as_float64(numbers_of(X)).reshape(n, -1), white.reshape(n, -1)
    count = min(table.shape[1] for table in tables)
    if len(components) != 2:
        raise ParameterError("components", components, "are not two columns", "Name two, such as (1, 3).")
    indices = places_of(components, count, f"{count} columns are whitened.")
    rows, few = style.sampled_rows(n)
    pairs = [table[:, indices] for table in tables]
    sides = np.hstack(pairs)[rows].T
    columns = {"row": rows} | dict(zip(("before_x", "before_y", "after_x", "after_y"), sides, strict=True))
    names = feature_names_of(model), [f"{name} (whitened)" for name in model.get_feature_names_out()]
    parts = zip(pairs, ([every[index] for index in indices] for every in names), strict=True)
    panels = [Rows({}, (), pair, rows, points.Groups(), on, [normal_ellipse(pair)]) for pair, on in parts]
    return Whitening(columns, [few, "95 % normal ellipses."], panels)


@figure(whitening_data)
def whitening(data: Whitening, ax: Any, **scatter: Any) -> Any:
    """Draw two columns before and after whitening.

    Parameters
    ----------
    model : fitted Whitener
        The model that whitens the rows.
    X : array-like of shape (n_samples, n_features)
        Of more than 10,000 rows a random sample is drawn.
    components : pair of int or str, default=(1, 2)
        Columns, counted from 1; the whitened columns have the same positions.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : two Axes, optional
        One for each panel, by default in a new figure.
    **scatter
        As of ``Axes.scatter``.

    Returns
    -------
    ndarray of Axes of shape (1, 2)
        Those which are given, or of a new figure.

    Raises
    ------
    ParameterError
        For an unknown column.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> data = gramian.figures.whitening_data(gramian.Whitener().fit(X), X)
    >>> list(data.columns)
    ['row', 'before_x', 'before_y', 'after_x', 'after_y']
    >>> np.std(data.columns["after_x"], ddof=1).round(4).item()
    1.0
    """
    axes, panels = _panels([data.panels], ax, space=9)
    for panel, rows in panels:
        style.zero_lines(panel)
        _draw_rows(panel, rows, {"s": 6, "linewidths": 0, "alpha": 0.6} | scatter, *rows.curves)
    return axes
