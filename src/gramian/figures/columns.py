"""Figures of columns: loadings, biplot, correlation circle, and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.patches import Circle

from gramian.answers.describe import describe
from gramian.answers.rotate import Rotation
from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, counted
from gramian.core.records import FloatArray
from gramian.errors import DataError
from gramian.figures import points, style
from gramian.figures.drawing import Data, figure
from gramian.figures.labels import Labels
from gramian.figures.names import NOTHING, axis_title, component_titles, fitted, place_of
from gramian.models.pca.tables import linear_columns
from gramian.statistics.associations import LEVEL, SHOWN, Description, correlations
from gramian.statistics.components import feature_names_of, kind_of
from gramian.statistics.units import column_axis

Kind = Literal["bars", "heat", "lines"]
KINDS = ("auto", "bars", "heat", "lines")
MOST = {"bars": 20, "heat": 60, "lines": 2000}  # columns that are drawn one by one
MOST_ARROWS, NAMED_ARROWS, MOST_VARIABLES = 40, 12, 40
STRETCHES = 500  # parts of a line of more columns
FIRST = 3  # components drawn by default
LONGEST = 24  # letters of the name of a column
PANEL, BAR, CELL = 26.0, 3.3, 3.6  # millimetres of a panel of bars, at least, of a bar, and of a row of a map
LETTER = 0.175  # millimetres of a letter for each typographic point of its size
REACH = 1.15  # from the centre of a correlation circle to the edges
PALE = 0.3  # opacity of arrows without a name
FIT = 0.8  # share of the room to the edge for the longest arrow
# Of five kinds of lines and eight colours no two of 40 lines have the same.
LINES = cycler(color=style.COLOURS * 5) + cycler(linestyle=["-", "--", ":", "-.", (0, (6, 1))] * 8)


@dataclass(frozen=True, eq=False)
class LoadingsData(Data):
    """What a figure of loadings shows; ``columns`` has a row for each column and component that is drawn.

    Attributes
    ----------
    names, components : tuple of str
        Names of the columns, and titles of the components such as "PC1 (44.3 %)".
    values : ndarray of shape (n_columns, n_components)
    kind : {"bars", "heat", "lines"}
    position : ndarray of shape (n_columns,)
        Places of the columns along an axis, such as wavelengths.
    position_title, value_title : str
    drawn : list of ndarray of int
        The columns that are drawn of each component. Bars are those of its largest loadings, from the largest
        down, a map has the columns that are largest anywhere, and lines of very many columns have the
        extremes of each of 500 stretches.
    """

    names: tuple[str, ...]
    components: tuple[str, ...]
    values: FloatArray
    kind: Kind
    position: FloatArray
    position_title: str
    value_title: str
    drawn: list[npt.NDArray[np.intp]]


def loadings_data(
    model: Any,
    components: Sequence[int | str] | None = None,
    *,
    kind: str = "auto",
    data: Any = None,
    position: str = "column",
) -> LoadingsData:
    """Return what :func:`loadings` draws, whose arguments these are.

    Parameters
    ----------
    model, components, kind, data, position
        As of :func:`loadings`.

    Returns
    -------
    LoadingsData
        Frozen: names, loadings of all columns, places along an axis, titles and notes.

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
    asked = range(1, min(k, 10 if kind == "heat" else FIRST) + 1) if components is None else components
    places = [place_of(one, k, "components") for one in asked]
    values = (directions if data is None else correlations(model, data))[:, places]
    titles = [component_titles(model, k)[place] for place in places]
    what = "loading (entry of a unit vector)" if data is None else "correlation of column with score"
    note = f"{what[:1].upper()}{what[1:]}; {len(places)} of {k} components."
    return _loadings_data(names, titles, values, kind, what.split(" (")[0], note, position, "")


def _loadings_data(
    names: Any, titles: Any, values: FloatArray, kind: Any, what: str, note: str, position: str, title: str
) -> LoadingsData:
    items = np.arange(len(names), dtype=float), "column (position, counted from 0)"
    along, unit = (column_axis(names) if kind == "lines" else None) or items
    drawn = [_drawn(own, kind, along) for own in values.T]
    few = f"The {MOST[kind]} of {len(names):,} columns with the largest loadings"
    if kind == "heat":
        largest = np.abs(values).max(axis=1)
        drawn = [np.sort(_drawn(largest, kind, along))] * len(titles)
    elif kind == "lines":
        few = f"Of {len(names):,} columns the extremes of each of {STRETCHES} stretches"
    elif len(titles) > 1:
        few += " of each component"
    notes = [note, f"{few}."] if len(names) > MOST[kind] else [note]
    every = np.concatenate(drawn)
    columns = {
        "component": np.repeat(titles, [len(one) for one in drawn]).tolist(),
        "column": [names[i] for i in every.tolist()],
        "position": along[every],
        "loading": np.concatenate([values[one, j] for j, one in enumerate(drawn)]),
    }
    position = unit or position if position == "column" else position
    own = tuple(names), tuple(titles), values, kind, along, position, what, drawn
    return LoadingsData(title, notes, columns, *own)


def _drawn(values: FloatArray, kind: str, along: FloatArray) -> npt.NDArray[np.intp]:
    """Return the columns with the largest values, from the largest down; for lines those along an axis."""
    if kind != "lines":
        largest = np.argsort(-np.abs(values), kind="stable")[: MOST[kind]]
        return largest[np.argsort(-values[largest], kind="stable")]
    order = np.argsort(along, kind="stable")
    if len(order) <= MOST[kind]:
        return order
    parts = np.array_split(order, STRETCHES)
    ends = [{int(part[values[part].argmin()]), int(part[values[part].argmax()])} for part in parts]
    return np.concatenate([sorted(both, key=along.__getitem__) for both in ends])


@figure(loadings_data)
def loadings(data: LoadingsData, ax: Any, **artist: Any) -> Any:
    """Draw the loadings of components: the weight of each column.

    Parameters
    ----------
    model : fitted PCA or Whitener of kind PCA
        The model whose directions are drawn.
    components : sequence of int or str, optional
        Such as ``[1, "PC4"]``; by default the first three, for "heat" the first ten.
    kind : {"auto", "bars", "heat", "lines"}, default="auto"
        Bars with a panel for each component, a heat map, or lines. "auto" takes lines for columns that are an
        axis, such as wavelengths or times: their names are equal but for a number that has a unit or goes in
        even steps. For all others it takes bars.
    data : array-like of shape (n_samples, n_features), optional
        The data of the fit: draws correlations of columns with scores instead of entries of unit vectors.
    position : str
        Title of the axis of the columns, such as "wavelength (nm)"; by default the unit in their names.
    title : str or None, default="auto"
        By default none.
    ax : matplotlib.axes.Axes or array of them, optional
        Where to draw: for bars one for each component. By default a new figure.
    **artist
        For ``Axes.barh``, ``Axes.imshow`` or ``Axes.plot``.

    Returns
    -------
    matplotlib.axes.Axes, or ndarray of them for bars of several components
        Bars show the 20 columns with the largest loadings of each component, and a heat map 60 of all. Lines
        of more than 2,000 columns show the least and the largest loading of each of 500 stretches.

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
    return {"bars": _bars, "heat": _heat, "lines": _lines}[data.kind](data, ax, **artist)


def rotation_data(result: Rotation) -> LoadingsData:
    """Return what :func:`rotation` draws."""
    shares = zip(result.names, result.ratio, strict=True)
    titles = [f"{name} ({100 * share:.1f} %)" for name, share in shares]
    note = f"Loadings rotated by {result.method}: component times standard deviation."
    said = "heat", "loading", note, "column", f"Rotated by {result.method}"
    return _loadings_data(result.columns, titles, result.loadings, *said)


@figure(rotation_data)
def rotation(data: LoadingsData, ax: Any, **imshow: Any) -> Any:
    """Draw rotated loadings as a heat map: a column for each rotated component.

    Parameters
    ----------
    result : gramian.answers.rotate.Rotation
        What :func:`gramian.rotate` returns.
    title : str or None, default="auto"
        By default the method of rotation.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    **imshow
        For ``Axes.imshow``.

    Returns
    -------
    matplotlib.axes.Axes
        Of more than 60 columns it has those of the largest loadings.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> ax = gramian.figures.rotation(gramian.rotate(gramian.PCA(2).fit(X)))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['RC1 (73.0 %)', 'RC2 (17.3 %)']
    """
    return _heat(data, ax, **imshow)


def _bars(data: LoadingsData, ax: Any, **barh: Any) -> Any:
    names = [[style.drawable(data.names[i], LONGEST) for i in one.tolist()] for one in data.drawn]
    count, most = len(names), max(map(len, names))
    side = _width_of([name for one in names for name in one], "ytick.labelsize") + 3
    across = max(1, min(count, FIRST, int(style.width_mm() // (side + PANEL)))) if ax is None else count
    rows = -(-count // across)
    axes = style.subplots(rows, across, ax=ax, height_mm=rows * (BAR * most + 12), squeeze=False).ravel()
    for spare in axes[count:]:
        spare.set_visible(False)
    edges = style.limits(data.values, zero=True, margin=0.04)
    for place, panel in enumerate(axes[:count]):
        values = data.values[data.drawn[place], place]
        colours = np.where(values < 0, style.VERMILION, style.BLUE)
        panel.barh(range(len(values)), values, **{"height": 0.75, "color": colours} | barh)
        style.ticks(panel, "y", range(len(values)), names[place])
        panel.axvline(0, color=style.LINE, linewidth=0.6)
        panel.spines["left"].set_visible(False)
        panel.set(ylim=(len(values) - 0.4, -0.6), xlim=edges)
        panel.locator_params(axis="x", nbins=4)
        style.words(panel, x=data.value_title, title=data.components[place])
    return axes[0] if count == 1 else axes[:count]


def _width_of(names: Sequence[str], letters: str) -> float:
    """Return about the millimetres of the longest name in letters of a size of rcParams."""
    return LETTER * style.size(letters) * max(map(len, names), default=1)


def _heat(data: LoadingsData, ax: Any, **imshow: Any) -> Any:
    shown, bound = data.drawn[0], float(np.abs(data.values).max()) or 1.0
    look = {"cmap": "PuOr", "vmin": -bound, "vmax": bound} | imshow
    names = [data.names[i] for i in shown.tolist()]
    return _heat_map(ax, data.values[shown], names, data.components, data.value_title, CELL, **look)


def _heat_map(
    ax: Any, values: FloatArray, rows: Any, columns: Any, unit: str, cell: float, **imshow: Any
) -> Any:
    """Draw a heat map with a scale and names of its rows and columns; a row has ``cell`` millimetres."""
    ax = style.subplots(ax=ax, height_mm=max(35.0, cell * len(rows) + 20))
    drawn = ax.imshow(values, **{"aspect": "auto"} | imshow)
    style.ticks(ax, "y", range(len(rows)), [style.drawable(name, LONGEST) for name in rows])
    turned = _width_of(columns, "xtick.labelsize") > 0.8 * style.width_mm() / len(columns)
    turn: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    style.ticks(ax, "x", range(len(columns)), columns, **turn)
    ax.spines[["left", "bottom"]].set_visible(False)
    style.colour_bar(ax, drawn, unit)
    return ax


def _lines(data: LoadingsData, ax: Any, **plot: Any) -> Any:
    own, ax = ax is None, style.subplots(ax=ax, height_mm=0.6 * style.width_mm())
    style.zero_lines(ax, x=False)
    drawn = []
    for values, shown, look in zip(data.values.T, data.drawn, LINES(), strict=False):
        drawn += ax.plot(data.position[shown], values[shown], **look | {"linewidth": 1.0} | plot)
    title = data.value_title if len(drawn) > 1 else f"{data.value_title}, {data.components[0]}"
    if len(drawn) > 1:
        style.legend(ax, drawn, data.components, own=own)
    ax.margins(x=0.01)
    style.words(ax, x=data.position_title, y=title)
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


@dataclass(frozen=True, eq=False)
class Arrows:
    """Labelled arrows from the origin.

    Attributes
    ----------
    tips : ndarray of shape (d, 2)
    names : tuple of d str
    """

    tips: FloatArray
    names: tuple[str, ...]

    def widened(self, edge: Sequence[float]) -> list[float]:
        """Return axis limits that leave room for arrows on both sides of 0."""
        low, high = min(edge[0], 0.0), max(edge[1], 0.0)
        space = 0.08 * (high - low)
        return [min(low - space, -0.5 * high), max(high + space, -0.5 * low)]

    def scaled(self, edges: Sequence[Sequence[float]], equal: bool) -> tuple[FloatArray, str]:
        """Return the tips of arrows that fit well, and a sentence about their length.

        They have one factor if the units of the axes are equal, else two: the longest reaches 0.8 of the way
        to an edge.
        """
        rooms = np.where(self.tips < 0, [-low for low, _ in edges], [high for _, high in edges])
        lengths = np.abs(self.tips)
        ratios = np.divide(rooms, lengths, out=np.full(lengths.shape, np.inf), where=lengths > 0)
        factors = FIT * ratios.min(axis=0, initial=np.inf)
        factors = np.where(np.isfinite(factors), factors, 1.0)
        about = f"Arrows are loadings times {factors[0]:.3g} along X and {factors[1]:.3g} along Y."
        if equal:
            factors[:] = factors.min()
            about = f"Arrows are loadings times {factors[0]:.3g}."
        return factors * self.tips, about

    def longest(self, tips: FloatArray) -> npt.NDArray[np.intp]:
        """Return the places of the arrows that are drawn, the longest first."""
        return np.argsort(-np.hypot(*tips.T), kind="stable")[:MOST_ARROWS]

    def draw(self, ax: Any, labels: Labels, edges: Any = None, equal: bool = True) -> str:
        """Draw the arrows, add their names to labels, and return a sentence."""
        tips, about = (self.tips, "") if edges is None else self.scaled(edges, equal)
        order = self.longest(tips)
        tips, names = tips[order], [self.names[j] for j in order[:NAMED_ARROWS].tolist()]
        ax.quiver(
            *np.zeros_like(tips).T,
            *tips.T,
            **{"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches", "width": 0.9 / 72},
            **{"headwidth": 4, "headlength": 7, "headaxislength": 7, "minlength": 0, "zorder": 4},
            color=style.ink(),
            alpha=np.where(np.arange(len(tips)) < NAMED_ARROWS, 1, PALE),
        )
        tips = tips[: len(names)]
        labels.block(tips, arrows=True)
        labels.add(tips, names, kind="arrows", what="arrow name", alpha=1, weight="bold")
        few = len(self.names) > MOST_ARROWS
        said = [about, f"The {MOST_ARROWS} longest of {len(self.names):,} arrows." if few else ""]
        if len(names) < len(order):
            said.append(f"Names: the {len(names)} longest; the others are lighter.")
        return " ".join(filter(None, said))


@dataclass(frozen=True, eq=False)
class BiplotData(Data):
    """What a biplot shows; ``columns`` has a row for each row that is drawn.

    Attributes
    ----------
    points : ScoresData
    arrows : Arrows
        The loadings of all columns.
    """

    points: points.ScoresData
    arrows: Arrows


def biplot_data(
    model: Any, X: Any = None, *, components: Sequence[int | str] = (1, 2), **options: Any
) -> BiplotData:
    """Return what :func:`biplot` draws, whose arguments these are.

    Parameters
    ----------
    model, X, components, hue, style, labels, ellipses, mapped
        As of :func:`biplot`.

    Returns
    -------
    BiplotData
        Frozen: the scores, and loadings of two components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> data = gramian.figures.biplot_data(gramian.PCA(2).fit(X), X)
    >>> data.points.values.shape, data.arrows.tips.shape
    ((30, 2), (4, 2))
    """
    arrows = Arrows(_directions(model)[:, _pair(model, components)], tuple(feature_names_of(model)))
    cloud = points.scores_data(model, X, components=components, **options)
    return BiplotData(cloud.title, cloud.notes, cloud.columns, cloud, arrows)


biplot_data.__signature__ = signature(points.scores_data)  # type: ignore[attr-defined]


@figure(biplot_data)
def biplot(data: BiplotData, ax: Any, **scatter: Any) -> Any:
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
        As for :func:`scores`.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    hue, style, labels, ellipses, mapped : optional
        As for :func:`scores`.
    **scatter
        For ``Axes.scatter``.

    Returns
    -------
    matplotlib.axes.Axes
        The 40 longest arrows, and names of the 12 longest.

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
    return points.draw(data.points, ax, data.arrows, **scatter)


def _pair(model: Any, components: Any) -> list[int]:
    """Return the places of two components of a linear model."""
    k = _directions(model).shape[1]
    places = points.places_of(components, k)
    if len(places) < 2:
        hint = "Fit more." if k == 1 else "Name two, such as (1, 2)."
        raise DataError("A figure with arrows needs two components.", hint)
    return places


@dataclass(frozen=True, eq=False)
class CircleData(Data):
    """What a correlation circle shows; ``columns`` has a row for each column.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    values : ndarray of shape (n_columns, 2)
        Their correlations with both components. The sums of their squares, ``columns["squares"]``, are the
        shares of the variance of each column that the two components explain.
    axis_titles : list of str
    """

    names: tuple[str, ...]
    values: FloatArray
    axis_titles: list[str]


def correlation_circle_data(
    model: Any, X: Any = None, *, components: Sequence[int | str] = (1, 2)
) -> CircleData:
    """Return what :func:`correlation_circle` draws, whose arguments these are.

    Parameters
    ----------
    model, X, components
        As of :func:`correlation_circle`.

    Returns
    -------
    CircleData
        Frozen: correlations, shares of variance, titles and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> gramian.figures.correlation_circle_data(gramian.PCA(2).fit(X)).columns["squares"].round(3).tolist()
    [1.0, 0.999, 0.021, 0.084]
    """
    places = _pair(model, components)
    if X is None:
        known = linear_columns(model, model.n_components_).statistics
        if "correlation" not in known:
            raise DataError("The model subtracts no mean, so it knows no correlations. Pass the data.")
        result = known["correlation"][:, places]
    else:
        result = correlations(model, X)[:, places]
    squares = np.square(result).sum(axis=1)
    mean = 100 * float(np.mean(squares))
    note = (
        f"The two components explain {mean:.3g} % of a variable's variance on average; "
        "variables fully represented by these two components touch the circle."
    )
    names = tuple(feature_names_of(model))
    columns = {"column": names, **{f"PC{place + 1}": result[:, j] for j, place in enumerate(places)}}
    titles = [f"correlation with {axis_title(model, place)}" for place in places]
    return CircleData("", [note], columns | {"squares": squares}, names, result, titles)


@figure(correlation_circle_data)
def correlation_circle(data: CircleData, ax: Any, **circle: Any) -> Any:
    """Draw the correlations of columns with two components, inside the unit circle.

    Parameters
    ----------
    model : fitted PCA
        The model whose components are correlated with columns.
    X : array-like of shape (n_samples, n_features), optional
        The data of the fit; by default the standard deviations that the model keeps.
    components : pair of int or str, default=(1, 2)
        Components.
    title : str or None, default="auto"
        By default none.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    **circle
        For ``matplotlib.patches.Circle``, such as ``edgecolor="black"``.

    Returns
    -------
    matplotlib.axes.Axes
        The 40 longest arrows, and names of the 12 longest.

    Raises
    ------
    DataError
        For a model of second moments (``center=False``) without ``X``.
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
    labels = Labels(ax)
    style.note(ax, Arrows(data.values, data.names).draw(ax, labels), labels)
    style.words(ax, x=data.axis_titles[0], y=data.axis_titles[1])
    style.set_edges(ax, [[-REACH, REACH]] * 2, equal=True)
    return ax


# -------------- Heat map of how much metadata explains of the components


@dataclass(frozen=True, eq=False)
class MetadataData(Data):
    """What a figure of metadata shows; ``columns`` has a row for each variable and component.

    Attributes
    ----------
    variables, components : list of str
        The first component is all of them, weighted by their variances.
    r2, p_adjusted : ndarray of shape (n_variables, n_components)
    """

    variables: list[str]
    components: list[str]
    r2: FloatArray
    p_adjusted: FloatArray


def metadata_data(description: Description) -> MetadataData:
    """Return what :func:`metadata` draws.

    Parameters
    ----------
    description : Description
        Of :func:`gramian.describe`.

    Returns
    -------
    MetadataData
        Frozen: explained shares, adjusted p, and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> description = gramian.describe(gramian.PCA(2).fit(X), X, {"batch": ["a", "b", "c"] * 10})
    >>> gramian.figures.metadata_data(description).components
    ['all, weighted', 'PC1', 'PC2']
    """
    names = list(description.variables[:MOST_VARIABLES])
    if not names:
        raise DataError("No column of the metadata can be drawn.", " ".join(description.sentences()))
    v, components = len(names), ["all, weighted", *description.components[:SHOWN]]
    k = len(components)
    every = counted(len(description.explained_variance), "component")
    said = "r2, or eta squared of categories. * marks an adjusted p below 0.05. The first column weights "
    notes = [f"{said}{every} by their variances."]
    if v < len(description.variables):
        notes.append(f"The {v} of {len(description.variables):,} columns that explain most.")
    r2 = np.column_stack([description.weighted_r2[:v], description.r2[:v, : k - 1]])
    p = np.column_stack([np.full(v, np.nan), description.p_adjusted[:v, : k - 1]])
    columns = {"variable": np.repeat(names, k).tolist(), "component": components * v, "r2": r2.ravel()}
    columns |= {"p adjusted": p.ravel(), "rows": np.repeat(description.rows[:v], k)}
    return MetadataData(
        "Variance of the scores that metadata explain", notes, columns, names, components, r2, p
    )


@figure(metadata_data)
def metadata(data: MetadataData, ax: Any, **imshow: Any) -> Any:
    """Draw how much of each component's scores each variable explains.

    Parameters
    ----------
    description : Description
        Of :func:`gramian.describe`.
    title : str or None, default="auto"
        By default what is drawn.
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
    look: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 1} | imshow
    ax = _heat_map(ax, data.r2, data.variables, data.components, "r2", 5.5, **look)
    room = 0.36 * style.width_mm() / len(data.components)
    for (i, j), value in np.ndenumerate(data.r2):
        star = "*" if data.p_adjusted[i, j] < LEVEL else ""
        # On cells that are light in either theme of a page.
        look = {"color": "#fdfdfd" if value > 0.6 else "#222222", "ha": "center", "va": "center"}
        ax.text(j, i, f"{value:.2f}{star}", fontsize=min(style.size("ytick.labelsize"), room), **look)
    return ax


def described(model: Any, table: Any, **options: Any) -> Any:
    """Draw the labels and metadata of a table; see :func:`metadata`."""
    return metadata(describe(model, table), **options)


def described_data(model: Any, table: Any) -> MetadataData:
    """Return what :func:`described` draws."""
    return metadata_data(describe(model, table))
