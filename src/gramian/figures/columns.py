"""Figures of columns: loadings, biplot, correlation circle, and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib.patches import Circle

from gramian.answers.describe import describe
from gramian.answers.rotate import Rotation
from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, counted
from gramian.core.records import FloatArray, IndexArray
from gramian.errors import DataError
from gramian.figures import points, style
from gramian.figures.drawing import DASHED, NOTHING, Data, bars, figure, fitted, heat_map, places_of, width_of
from gramian.figures.labels import Arrows, Labels
from gramian.models.pca.tables import linear_columns
from gramian.statistics.associations import LEVEL, SHOWN, Description
from gramian.statistics.components import axis_title, component_titles, feature_names_of, kind_of
from gramian.statistics.units import column_axis

KINDS = ("auto", "bars", "lines")
MOST_BARS, MOST_VARIABLES = 20, 40
FIRST = 3  # components drawn by default
PANEL, BAR, AROUND = 26.0, 0.47, 2.0  # millimetres of a panel, at least; of a bar and its panel, a point
REACH = 1.15  # from the centre of a correlation circle to the edges
# Of five kinds of lines and eight colours no two of 40 lines have the same.
LINES = cycler(color=style.COLOURS * 5) + cycler(linestyle=["-", "--", ":", "-.", (0, (6, 1))] * 8)


@dataclass(frozen=True, eq=False)
class LoadingsData(Data):
    """What a figure of loadings shows: component, column, position along an axis, and loading.

    ``columns`` has a row for each bar or place of a line. Bars are those of the largest loadings of each
    component, from the largest down.

    Attributes
    ----------
    kind : {"bars", "lines"}
    """

    kind: str

    def of_components(self) -> dict[str, Any]:
        """Return the columns, the positions and the loadings that are drawn of each component."""
        titles, *columns = (np.array(values, dtype=object) for values in self.columns.values())
        return {title: [column[titles == title] for column in columns] for title in dict.fromkeys(titles)}


def loadings_data(
    model: Any, components: Sequence[int | str] | None = None, *, kind: str = "auto"
) -> LoadingsData:
    """Return what :func:`loadings` draws, whose arguments these are.

    Parameters
    ----------
    model, components, kind
        As of :func:`loadings`.

    Returns
    -------
    LoadingsData
        Frozen: names, loadings, places along an axis, titles and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> table = gramian.figures.loadings_data(gramian.PCA(2).fit(X), [1]).columns
    >>> table["column"], table["loading"].round(2).tolist()
    (['x0', 'x2', 'x1', 'x3'], [0.99, 0.04, -0.07, -0.07])
    """
    directions = _directions(model)
    check_choice("kind", kind, KINDS)
    names, k = feature_names_of(model), directions.shape[1]
    if kind == "auto":
        kind = "bars" if column_axis(names) is None else "lines"
    requested = range(1, min(k, FIRST) + 1) if components is None else components
    indices = places_of(requested, k)
    titles = list(map(component_titles(model, k).__getitem__, indices))
    note = f"Loading (entry of a unit vector); {len(indices)} of {k} components."
    lines = {"equal": len(names) ** -0.5} if kind == "bars" else {}
    return _loadings_data(names, titles, directions[:, indices], kind, note, lines=lines)


def _loadings_data(
    names: Sequence[str], titles: Sequence[str], values: FloatArray, kind: str, about: str, **more: Any
) -> LoadingsData:
    """Return what is drawn of loadings, and which columns these are, if not all."""
    items = np.arange(len(names), dtype=float), "column (position, counted from 0)"
    along, unit = (column_axis(names) if kind == "lines" else None) or items
    drawn, notes = [np.argsort(along, kind="stable")] * len(titles), [about]
    if kind == "bars":
        drawn = [_largest(column) for column in values.T]
        few = f"The {MOST_BARS} of {len(names):,} columns with the largest loadings"
        few += " of each component." if len(titles) > 1 else "."
        notes += [few] if len(names) > MOST_BARS else []
    every = np.concatenate(drawn)
    columns = {
        "component": np.repeat(titles, [len(indices) for indices in drawn]).tolist(),
        "column": [names[i] for i in every.tolist()],
        "position": along[every],
        "loading": np.concatenate([values[indices, j] for j, indices in enumerate(drawn)]),
    }
    y = "loading" if len(titles) > 1 else f"loading, {titles[0]}"
    x, y = ("loading", "") if kind == "bars" else (unit or "column", y)
    return LoadingsData(columns, notes, kind, x=x, y=y, **more)


def _largest(values: FloatArray) -> IndexArray:
    """Return the places of the values that are largest in magnitude, from the largest value down."""
    places = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
    return places[np.argsort(-values[places], kind="stable")]


@figure(loadings_data)
def loadings(data: LoadingsData, ax: Any, **artist: Any) -> Any:
    """Draw the loadings of components: the weight of each column.

    Parameters
    ----------
    model : fitted PCA or Whitener of kind PCA
        The model whose directions are drawn.
    components : sequence of int or str, optional
        Such as ``[1, "PC4"]``; by default the first three.
    kind : {"auto", "bars", "lines"}, default="auto"
        Bars with a panel for each component, or lines. "auto" takes lines for columns that are an axis, such
        as wavelengths or times: their names are equal but for a number that has a unit or goes in even steps.
        For all others it takes bars.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : matplotlib.axes.Axes or array of them, optional
        Where to draw: for bars one for each component. By default a new figure.
    **artist
        For ``Axes.barh`` or ``Axes.plot``.

    Returns
    -------
    matplotlib.axes.Axes, or ndarray of them for bars of several components
        Bars show the 20 columns with the largest loadings of each component, and dashed lines the loading of
        columns of equal weight.

    Raises
    ------
    DataError
        For a model without loadings, such as a kernel PCA.
    ParameterError
        For an unknown kind or component.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> axes = gramian.figures.loadings(gramian.PCA(2).fit(X))
    >>> [ax.get_title(loc="left") for ax in axes]
    ['PC1 (73.0 %)', 'PC2 (17.3 %)']
    """
    return (_bars if data.kind == "bars" else _lines)(data, ax, **artist)


def rotation_data(result: Rotation) -> LoadingsData:
    """Return what :func:`rotation` draws."""
    shares = zip(result.names, result.ratio, strict=True)
    titles = [f"{name} ({100 * share:.1f} %)" for name, share in shares]
    note = f"Loadings rotated by {result.method}: component times standard deviation."
    more = {"title": f"Rotated by {result.method}"}
    return _loadings_data(result.columns, titles, result.loadings, "bars", note, **more)


@figure(rotation_data)
def rotation(data: LoadingsData, ax: Any, **barh: Any) -> Any:
    """Draw rotated loadings as bars, with a panel for each rotated component.

    Parameters
    ----------
    result : gramian.answers.rotate.Rotation
        What :func:`gramian.rotate` returns.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : matplotlib.axes.Axes or array of them, optional
        Where to draw: one for each component. By default a new figure.
    **barh
        For ``Axes.barh``.

    Returns
    -------
    matplotlib.axes.Axes, or ndarray of them for several components
        Each has the 20 columns with the largest loadings.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> axes = gramian.figures.rotation(gramian.rotate(gramian.PCA(2).fit(X)))
    >>> [ax.get_title(loc="left") for ax in axes]
    ['RC1 (73.0 %)', 'RC2 (17.3 %)']
    """
    return _bars(data, ax, **barh)


def _bars(data: LoadingsData, ax: Any, **barh: Any) -> Any:
    components = data.of_components()
    count, most = len(components), max(len(names) for names, _, _ in components.values())
    side = width_of(data.columns["column"], "ytick.labelsize") + 3
    across = max(1, min(count, FIRST, int(style.width_mm() // (side + PANEL)))) if ax is None else count
    rows = -(-count // across)
    tall = BAR * style.size("ytick.labelsize") * most + AROUND * style.size("axes.titlesize")
    axes = style.subplots(rows, across, ax=ax, height_mm=rows * tall).ravel()
    for spare in axes[count:]:
        spare.set_visible(False)
    edges = style.limits(data.columns["loading"], zero=True, margin=0.04)
    style.note(axes, "Dashed: columns of equal weight." if data.lines else "")
    for panel, (title, (names, _, values)) in zip(axes, components.items(), strict=False):
        bars(panel, values, names, **barh)
        for at in data.lines.values():
            panel.vlines([-at, at], -0.5, len(names) - 0.5, color=style.LINE, **DASHED)
        panel.set_xlim(edges)
        style.words(panel, title=title)
    return axes[0] if count == 1 else axes[:count]


def _lines(data: LoadingsData, ax: Any, **plot: Any) -> Any:
    ax, components = style.subplots(ax=ax, height_mm=0.6 * style.width_mm()), data.of_components()
    style.zero_lines(ax, x=False)
    ax.set_prop_cycle(LINES)
    drawn = [ax.plot(at, values, **{"linewidth": 1.0} | plot)[0] for _, at, values in components.values()]
    if len(drawn) > 1:
        style.legend(ax, drawn, list(components))
    ax.margins(x=0.01)
    return ax


def _directions(model: Any) -> FloatArray:
    if not kind_of(fitted(model)).linear:
        raise DataError(
            f"A {type(model).__name__} has no loadings: its components are not linear in the columns.",
            "Draw its scores, or gramian.figures.kernel_contours for two columns.",
        )
    result = as_float64(model.components_).T
    if not result.shape[1]:
        raise DataError(NOTHING)
    return result


# ---------------------------------------------------------------------- arrows


def biplot_data(
    model: Any, X: Any = None, *, components: Sequence[int | str] = (1, 2), **options: Any
) -> points.ScoresData:
    """Return what :func:`biplot` draws, whose arguments these are.

    Parameters
    ----------
    model, X, components, hue, style, labels, ellipses, mapped
        As of :func:`biplot`.

    Returns
    -------
    ScoresData
        With ``arrows``, the loadings of two components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> data = gramian.figures.biplot_data(gramian.PCA(2).fit(X), X)
    >>> data.values.shape, data.arrows.tips.shape
    ((30, 2), (4, 2))
    """
    arrows = Arrows(_directions(model)[:, _pair(model, components)], feature_names_of(model))
    return replace(points.scores_data(model, X, components=components, **options), arrows=arrows)


biplot_data.__signature__ = signature(points.scores_data)  # type: ignore[attr-defined]


@figure(biplot_data)
def biplot(data: points.ScoresData, ax: Any, **scatter: Any) -> Any:
    """Draw rows and columns together: scores as points, and loadings as arrows.

    The inner product of a point and an arrow, divided by the factor in the caption, is the part of the
    centred value that the two components explain. If the axes have different scales, each coordinate of an
    arrow has its own factor.

    Parameters
    ----------
    model : fitted PCA
        The model whose rows and columns are drawn.
    X : array-like of shape (n_samples, n_features)
        Rows to map.
    components : pair of int or str, default=(1, 2)
        Two components.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    hue, style, labels, ellipses, mapped : optional
        As for :func:`scores`.
    **scatter
        For ``Axes.scatter``.

    Returns
    -------
    matplotlib.axes.Axes
        The 40 longest arrows, and names of the 12 longest, of more if the axes are wide.

    Raises
    ------
    DataError
        If the model has only one component.
    ParameterError
        As in :func:`scores`.

    References
    ----------
    Gabriel (1971), The biplot graphic display of matrices with application to principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> ax = gramian.figures.biplot(gramian.PCA(2).fit(X), X, s=8)
    >>> ax.figure.savefig("biplot.svg")  # doctest: +SKIP
    """
    return points.draw(data, ax, **scatter)


def _pair(model: Any, components: Any) -> list[int]:
    """Return the places of two components of a linear model."""
    k = _directions(model).shape[1]
    indices = points.pair_of(components, k)
    if len(indices) < 2:
        hint = "Fit more." if k == 1 else "Name two, such as (1, 2)."
        raise DataError("A figure with arrows needs two components.", hint)
    return indices


def correlation_circle_data(
    model: Any, description: Description | None = None, *, components: Sequence[int | str] = (1, 2)
) -> Data:
    """Return what :func:`correlation_circle` draws, whose arguments these are.

    Parameters
    ----------
    model, description, components
        As of :func:`correlation_circle`.

    Returns
    -------
    Data
        ``columns`` has the correlations of each column, and in "squares" the sums of their squares: the
        shares of its variance that the two components explain; with a description "described" too.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> gramian.figures.correlation_circle_data(gramian.PCA(2).fit(X)).columns["squares"].round(3).tolist()
    [1.0, 0.999, 0.021, 0.084]
    """
    indices = _pair(model, components)
    statistics = linear_columns(model, model.n_components_).statistics
    if "correlation" not in statistics:
        raise DataError("The model subtracts no mean, so it knows no correlations. Draw loadings.")
    result, names = statistics["correlation"][:, indices], feature_names_of(model)
    mean, own = 100 * float(np.square(result).sum(axis=1).mean()), len(names)
    about = f"The two explain {mean:.3g} % of a variable's variance on average, and all of one at the circle."
    if description is not None:
        numbers = np.flatnonzero(np.isfinite(description.r[:, indices]).all(axis=1))
        names = [*names, *(description.variables[i] for i in numbers.tolist())]
        result = np.vstack([result, description.r[numbers][:, indices]])
    columns: dict[str, Any] = {"column": names}
    columns |= {f"PC{index + 1}": result[:, j] for j, index in enumerate(indices)}
    columns["squares"], notes = np.square(result).sum(axis=1), [about]
    if description is not None:
        columns["described"] = np.arange(len(names)) >= own
        notes.append("In colour: variables that the model does not use.")
    x, y = (f"correlation with {axis_title(model, index)}" for index in indices)
    return Data(columns, notes, x=x, y=y)


@figure(correlation_circle_data)
def correlation_circle(data: Data, ax: Any, **circle: Any) -> Any:
    """Draw the correlations of columns with two components, inside the unit circle.

    Parameters
    ----------
    model : fitted PCA
        The model whose components are correlated with columns.
    description : Description, optional
        Of :func:`gramian.describe`: the numbers that it describes are drawn in another colour.
    components : pair of int or str, default=(1, 2)
        Components.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    **circle
        For ``matplotlib.patches.Circle``, such as ``edgecolor="black"``.

    Returns
    -------
    matplotlib.axes.Axes
        The 40 longest arrows, and names of the 12 longest, of more if the axes are wide.

    Raises
    ------
    DataError
        For a model of second moments (``center=False``).
    ParameterError
        For an unknown component.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> ax = gramian.figures.correlation_circle(gramian.PCA(2).fit(X))
    >>> ax.get_ylabel().startswith("correlation with PC2 (")
    True
    """
    ax = style.subplots(ax=ax, height_mm=0.9 * style.width_mm())
    look = {"fill": False, "edgecolor": style.LINE, "linewidth": 0.8}
    ax.add_patch(Circle((0, 0), 1, **look | circle))
    style.zero_lines(ax)
    names, x, y, _, *described = data.columns.values()
    tips, names, labels = np.stack([x, y], axis=1), np.array(names, dtype=object), Labels(ax)
    own = ~described[0] if described else np.isfinite(x)
    style.note(ax, Arrows(tips[own], names[own]).draw(ax, labels))
    if not own.all():
        style.note(ax, Arrows(tips[~own], names[~own]).draw(ax, labels, color=style.VERMILION))
    style.note(ax, labels)
    style.set_edges(ax, [[-REACH, REACH]] * 2, equal=True)
    return ax


# -------------- Heat map of how much metadata explains of the components


def metadata_data(description: Any, X: Any = None) -> Data:
    """Return what :func:`metadata` draws.

    Parameters
    ----------
    description, X
        As of :func:`metadata`.

    Returns
    -------
    Data
        ``columns`` has a row for each variable and component, of which the first is all of them, weighted by
        their variances.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> description = gramian.describe(gramian.PCA(2).fit(X), X, {"batch": ["a", "b", "c"] * 10})
    >>> gramian.figures.metadata_data(description).columns["component"]
    ['all, weighted', 'PC1', 'PC2']
    """
    description = description if isinstance(description, Description) else describe(description, X)
    names = list(description.variables[:MOST_VARIABLES])
    if not names:
        raise DataError("No column of the metadata can be drawn.", " ".join(description.sentences()))
    v, components = len(names), ["all, weighted", *description.components[:SHOWN]]
    k = len(components)
    every = counted(len(description.explained_variance), "component")
    sentence = (
        "Shares of variance in % (r2, eta squared of categories). * marks an adjusted p below 0.05. First: "
    )
    notes = [f"{sentence}{every} weighted by their variances."]
    if v < len(description.variables):
        notes.append(f"The {v} of {len(description.variables):,} columns that explain most.")
    r2 = np.column_stack([description.weighted_r2[:v], description.r2[:v, : k - 1]])
    p = np.column_stack([np.full(v, np.nan), description.p_adjusted[:v, : k - 1]])
    columns = {"variable": np.repeat(names, k).tolist(), "component": components * v, "r2": r2.ravel()}
    columns |= {"p adjusted": p.ravel(), "rows": np.repeat(description.rows[:v], k)}
    return Data(columns, notes, title="Variance of the scores that metadata explain")


@figure(metadata_data)
def metadata(data: Data, ax: Any, **imshow: Any) -> Any:
    """Draw how much of each component's scores each variable explains.

    Parameters
    ----------
    description : Description, or fitted PCA or KernelPCA
        Of :func:`gramian.describe`, or a model that describes the labels and metadata of a table.
    X : Table, optional
        That table.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    **imshow
        For ``Axes.imshow``.

    Returns
    -------
    matplotlib.axes.Axes
        A * marks an adjusted p below 0.05. At most 10 components and 40 variables are shown.

    Raises
    ------
    DataError
        If no variable was associated.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> description = gramian.describe(gramian.PCA(2).fit(X), X, {"batch": ["a", "b", "c"] * 10})
    >>> ax = gramian.figures.metadata(description)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['all, weighted', 'PC1', 'PC2']
    """
    look: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 100} | imshow
    names, components, r2, p, _ = data.columns.values()
    components = list(dict.fromkeys(components))
    values, p = (array.reshape(-1, len(components)) for array in (100 * r2, p))
    names = names[:: len(components)]
    ax = heat_map(ax, values, names, components, "%", **look)
    # In typographic points, for three letters in a cell.
    room = 1.5 * (style.width_mm() - width_of(names, "ytick.labelsize") - 16) / len(components)
    for (i, j), value in np.ndenumerate(values):
        star = "*" if p[i, j] < LEVEL else ""
        # On cells that are light in either theme of a page.
        look = {"color": "#fdfdfd" if value > 60 else "#222222", "ha": "center", "va": "center"}
        ax.text(j, i, f"{value:.0f}{star}", fontsize=min(style.size("ytick.labelsize"), room), **look)
    return ax
