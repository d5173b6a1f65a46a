"""Figures of columns: loadings, biplot, correlation circle, and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Circle

from gramian.answers.describe import describe
from gramian.answers.rotate import Rotation
from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, counted
from gramian.core.records import FloatArray
from gramian.errors import DataError
from gramian.figures import points, style
from gramian.figures.drawing import Data, finished
from gramian.figures.labels import Labels
from gramian.figures.names import NOTHING, axis_title, component_titles, fitted, place_of
from gramian.models.pca.tables import linear_columns
from gramian.statistics.associations import LEVEL, SHOWN, Description, correlations
from gramian.statistics.components import feature_names_of, kind_of
from gramian.statistics.units import column_axis

Kind = Literal["bars", "heat", "lines"]
KINDS = ("auto", "bars", "heat", "lines")
MOST_BARS, MOST_CELLS, MOST_ARROWS, NAMED_ARROWS = 20, 60, 40, 12
MOST_POINTS, STRETCHES = 2000, 500  # columns that are drawn one by one, and parts of a line of more
FIRST = 3  # components drawn by default
LONGEST = 24  # letters of the name of a column
PANEL, BAR, CELL = (
    26.0,
    3.3,
    3.6,
)  # millimetres of a panel of bars, at least, of a bar, and of a line of a map
LETTER = 0.175  # millimetres of a letter for each typographic point of its size
REACH = 1.15  # from the centre of a correlation circle to the edges
PALE = 0.3  # opacity of arrows without a name
FIT = 0.8  # share of the room to the edge for the longest arrow
DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class LoadingsData:
    """What a figure of loadings shows.

    Attributes
    ----------
    names, components : tuple of str
        Names of the columns, and titles of the components such as "PC1 (44.3 %)".
    values : ndarray of shape (n_columns, n_components)
    kind : {"bars", "heat", "lines"}
    position : ndarray of shape (n_columns,)
        Places of the columns along an axis, such as wavelengths.
    position_title, value_title : str
    notes : tuple of str
    """

    names: tuple[str, ...]
    components: tuple[str, ...]
    values: FloatArray
    kind: Kind
    position: FloatArray
    position_title: str
    value_title: str
    notes: tuple[str, ...]

    def shown(self, place: int = 0) -> npt.NDArray[np.intp]:
        """Return the places of the columns that are drawn of one component.

        Parameters
        ----------
        place : int
            That of the component, from 0.

        Returns
        -------
        ndarray of int
            From the largest loading down for bars.

        Notes
        -----
        Bars are those of the largest loadings, a map has the columns that are largest anywhere in their
        order, and lines of very many columns have the extremes of each of 500 stretches.
        """
        if self.kind == "lines":
            return _extremes(self.values[:, place], self.position)
        if self.kind == "heat":
            sizes = np.abs(self.values).max(axis=1)
            return np.sort(np.argsort(-sizes, kind="stable")[:MOST_CELLS])
        own = self.values[:, place]
        largest = np.argsort(-np.abs(own), kind="stable")[:MOST_BARS]
        return largest[np.argsort(-own[largest], kind="stable")]

    @property
    def columns(self) -> dict[str, Any]:
        """The table behind the figure, with a row for each column and component that is drawn."""
        places = [self.shown(j) for j in range(len(self.components))]
        every = np.concatenate(places)
        return {
            "component": np.repeat(self.components, [len(one) for one in places]).tolist(),
            "column": [self.names[i] for i in every.tolist()],
            "position": self.position[every],
            "loading": np.concatenate([self.values[one, j] for j, one in enumerate(places)]),
        }


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
    return _loadings_data(names, titles, values, kind, what.split(" (")[0], note, position)


def _loadings_data(
    names: Sequence[str],
    titles: Sequence[str],
    values: FloatArray,
    kind: Any,
    what: str,
    note: str,
    position: str = "column",
) -> LoadingsData:
    items = np.arange(len(names), dtype=float), "column (position, counted from 0)"
    along, unit = (column_axis(names) if kind == "lines" else None) or items
    position = unit or position if position == "column" else position
    most = {"bars": MOST_BARS, "heat": MOST_CELLS, "lines": MOST_POINTS}[kind]
    few = ""
    if kind == "lines" and len(names) > most:
        few = f"Of {len(names):,} columns the extremes of each of {STRETCHES} stretches."
    elif most < len(names):
        each = " of each component" * (kind == "bars" and len(titles) > 1)
        few = f"The {most} of {len(names):,} columns with the largest loadings{each}."
    notes = tuple(filter(None, (note, few)))
    return LoadingsData(tuple(names), tuple(titles), values, kind, along, position, what, notes)


@style.styled
def loadings(
    model: Any,
    components: Sequence[int | str] | None = None,
    *,
    kind: str = "auto",
    data: Any = None,
    position: str = "column",
    title: str | None = "auto",
    ax: Any = None,
    **artist: Any,
) -> Any:
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
    result = loadings_data(model, components, kind=kind, data=data, position=position)
    return _draw_loadings(result, None if title == "auto" else title, ax, **artist)


def rotation_data(result: Rotation) -> LoadingsData:
    """Return what :func:`rotation` draws."""
    shares = zip(result.names, result.ratio, strict=True)
    titles = [f"{name} ({100 * share:.1f} %)" for name, share in shares]
    note = f"Loadings rotated by {result.method}: component times standard deviation."
    return _loadings_data(result.columns, titles, result.loadings, "heat", "loading", note)


@style.styled
def rotation(result: Rotation, *, title: str | None = "auto", ax: Any = None, **imshow: Any) -> Any:
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
    data = rotation_data(result)
    return _draw_loadings(data, f"Rotated by {result.method}" if title == "auto" else title, ax, **imshow)


def _draw_loadings(data: LoadingsData, title: str | None, ax: Any, **artist: Any) -> Any:
    draw = {"bars": _bars, "heat": _heat, "lines": _lines}[data.kind]
    axes = draw(data, ax, **artist)
    style.heading(axes, title)
    style.note(axes, *data.notes)
    return axes


def _extremes(values: FloatArray, along: FloatArray) -> npt.NDArray[np.intp]:
    """Return columns in their order along an axis; of very many the extremes of each stretch."""
    order = np.argsort(along, kind="stable")
    if len(order) <= MOST_POINTS:
        return order
    parts = np.array_split(order, STRETCHES)
    ends = [{int(part[values[part].argmin()]), int(part[values[part].argmax()])} for part in parts]
    return np.concatenate([sorted(both, key=along.__getitem__) for both in ends])


def _width_of(names: Sequence[str]) -> float:
    """Return the millimetres of names beside an axis."""
    longest = max((len(style.drawable(name, LONGEST)) for name in names), default=1)
    return LETTER * style.size("ytick.labelsize") * longest + 3


def _bars(data: LoadingsData, ax: Any, **barh: Any) -> Any:
    count, shown = len(data.components), [data.shown(place) for place in range(len(data.components))]
    names = [[data.names[i] for i in one.tolist()] for one in shown]
    side = _width_of([name for one in names for name in one])
    across = max(1, min(count, FIRST, int(style.width_mm() // (side + PANEL))))
    rows = -(-count // across) if ax is None else 1
    height = rows * (BAR * max(map(len, shown)) + 12)
    axes = style.subplots(rows, across if ax is None else count, ax=ax, height_mm=height)
    panels = np.atleast_1d(axes).ravel()
    edges = style.limits(data.values, zero=True, margin=0.04)
    for place, panel in enumerate(panels):
        if place >= count:
            panel.set_visible(False)
            continue
        values = data.values[shown[place], place]
        colors = [style.VERMILION if value < 0 else style.BLUE for value in values]
        panel.barh(range(len(values)), values, **{"height": 0.75, "color": colors} | barh)
        short = [style.drawable(name, LONGEST) for name in names[place]]
        style.ticks(panel, "y", range(len(values)), short)
        panel.axvline(0, color=style.LINE, linewidth=0.6)
        panel.spines["left"].set_visible(False)
        panel.set_ylim(len(values) - 0.4, -0.6)
        panel.set_xlim(*edges)
        panel.locator_params(axis="x", nbins=4)
        style.words(panel, x=data.value_title, title=data.components[place])
    return panels[0] if count == 1 else panels[:count]


def _heat(data: LoadingsData, ax: Any, **imshow: Any) -> Any:
    shown = data.shown()
    ax = style.subplots(ax=ax, height_mm=max(35.0, CELL * len(shown) + 22))
    bound = float(np.abs(data.values).max()) or 1.0
    look = {"cmap": "PuOr", "vmin": -bound, "vmax": bound, "aspect": "auto", "interpolation": "nearest"}
    drawn = ax.imshow(data.values[shown], **look | imshow)
    names = [style.drawable(data.names[i], LONGEST) for i in shown.tolist()]
    _map_axes(ax, names, data.components)
    style.colour_bar(ax, drawn, data.value_title)
    return ax


def _map_axes(ax: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name the rows and columns of a heat map."""
    style.ticks(ax, "y", range(len(rows)), rows)
    room = 0.8 * style.width_mm() / max(1, len(columns))
    turned = max(map(len, columns), default=0) * LETTER * style.size("xtick.labelsize") > room
    turn: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    style.ticks(ax, "x", range(len(columns)), columns, **turn)
    ax.spines[["left", "bottom"]].set_visible(False)


def _lines(data: LoadingsData, ax: Any, **plot: Any) -> Any:
    ax = style.subplots(ax=ax, height_mm=0.6 * style.width_mm())
    style.zero_lines(ax, x=False)
    drawn = []
    for place in range(len(data.components)):
        shown = data.shown(place)
        dash = DASHES[place // len(style.COLOURS) if len(data.components) > len(DASHES) else place]
        look = {"color": style.COLOURS[place % len(style.COLOURS)], "linestyle": dash, "linewidth": 1.0}
        drawn += ax.plot(data.position[shown], data.values[shown, place], **look | plot)
    if len(drawn) > 1:
        style.legend(ax, drawn, data.components)
    ax.margins(x=0.01)
    single = f", {data.components[0]}" if len(drawn) == 1 else ""
    style.words(ax, x=data.position_title, y=f"{data.value_title}{single}")
    return ax


def _directions(model: Any) -> FloatArray:
    if not kind_of(fitted(model)).linear:
        raise DataError(
            f"A {type(model).__name__} has no loadings: its components are not linear in the columns.",
            "Draw its scores, or " + "gramian.figures.kernel_contours for two columns.",
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
        few = len(order) if len(order) <= NAMED_ARROWS else NAMED_ARROWS
        for place, j in enumerate(order.tolist()):
            look: dict[str, Any] = {"arrowstyle": "-|>,head_length=0.35,head_width=0.16", "shrinkA": 0}
            look |= {
                "shrinkB": 0,
                "color": style.ink(),
                "linewidth": 0.9,
                "alpha": 1 if place < few else PALE,
            }
            arrow = ax.annotate("", tips[j], (0, 0), arrowprops=look, zorder=4)
            arrow.set_in_layout(False)
        named = order[:few]
        labels.block(tips[named], arrows=True)
        texts = [self.names[j] for j in named.tolist()]
        labels.add(tips[named], texts, kind="arrows", what="arrow name", alpha=1, weight="bold")
        said = [about]
        if len(self.names) > MOST_ARROWS:
            said.append(f"The {MOST_ARROWS} longest of {len(self.names):,} arrows.")
        if few < len(order):
            said.append(f"Names: the {few} longest; the others are lighter.")
        return " ".join(filter(None, said))


@dataclass(frozen=True, eq=False)
class BiplotData:
    """What a biplot shows.

    Attributes
    ----------
    points : ScoresData
    arrows : Arrows
        The loadings of all columns.
    """

    points: points.ScoresData
    arrows: Arrows

    @property
    def columns(self) -> dict[str, Any]:
        """The table of the rows that are drawn."""
        return self.points.columns


def biplot_data(
    model: Any, X: Any = None, *, components: Sequence[int | str] = (1, 2), **options: Any
) -> BiplotData:
    """Return what :func:`biplot` draws, whose arguments these are.

    Parameters
    ----------
    model, X, components
        As of :func:`biplot`.
    **options
        ``hue``, ``style``, ``labels``, ``ellipses`` and ``mapped`` of :func:`scores`.

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
    directions = _directions(model)
    k = directions.shape[1]
    if k < 2:
        raise DataError("A biplot needs two components, and the model has one.", "Fit more.")
    cloud = points.scores_data(model, X, components=components, **options)
    pair = directions[:, _pair(components, k)]
    return BiplotData(cloud, Arrows(pair, tuple(feature_names_of(model))))


@style.styled
def biplot(
    model: Any,
    X: Any = None,
    *,
    components: Sequence[int | str] = (1, 2),
    title: str | None = "auto",
    ax: Any = None,
    **options: Any,
) -> Any:
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
    **options
        ``hue``, ``style``, ``labels``, ``ellipses`` and ``mapped`` as for :func:`scores`; others are for
        ``Axes.scatter``.

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
    own = {name: options.pop(name) for name in points.OPTIONS if name in options}
    data = biplot_data(model, X, components=components, **own)
    return points.draw(data.points, title, ax, data.arrows, **options)


def _pair(components: Any, k: int) -> list[int]:
    places = points.places_of(components, k)
    if len(places) < 2:
        raise DataError("A figure with arrows needs two components.", "Name two, such as (1, 2).")
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
    k = _directions(model).shape[1]
    if k < 2:
        raise DataError("A correlation circle needs two components, and the model has one.", "Fit more.")
    places = _pair(components, k)
    if X is None:
        known = linear_columns(model, k).statistics
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


@style.styled
def correlation_circle(
    model: Any,
    X: Any = None,
    *,
    components: Sequence[int | str] = (1, 2),
    title: str | None = "auto",
    ax: Any = None,
    **circle: Any,
) -> Any:
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
    data = correlation_circle_data(model, X, components=components)
    ax = style.subplots(ax=ax, height_mm=0.9 * style.width_mm())
    look = {"fill": False, "edgecolor": style.LINE, "linewidth": 0.8}
    ax.add_patch(Circle((0, 0), 1, **look | circle))
    style.zero_lines(ax)
    labels = Labels(ax)
    style.note(ax, Arrows(data.values, data.names).draw(ax, labels), labels)
    style.words(ax, x=data.axis_titles[0], y=data.axis_titles[1])
    style.set_edges(ax, [[-REACH, REACH]] * 2, equal=True)
    return finished(data, ax, title)


# -------------- Heat map of how much metadata explains of the components

MOST_VARIABLES = 40  # variables
WEIGHTED = "all, weighted"


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
    names = description.variables[:MOST_VARIABLES]
    if not names:
        said = " ".join(description.sentences())
        raise DataError("No column of the metadata can be drawn.", said)
    v, components = len(names), [WEIGHTED, *description.components[:SHOWN]]
    k = len(components)
    notes = [
        "r2, or eta squared of categories. * marks an adjusted p below 0.05. The first column weights "
        f"{counted(len(description.explained_variance), 'component')} by their variances.",
    ]
    if v < len(description.variables):
        every = len(description.variables)
        notes.append(f"The {MOST_VARIABLES} of {every:,} columns that explain most.")
    r2 = np.column_stack([description.weighted_r2[:v], description.r2[:v, : k - 1]])
    p = np.column_stack([np.full(v, np.nan), description.p_adjusted[:v, : k - 1]])
    columns = {"variable": np.repeat(names, k).tolist(), "component": components * v, "r2": r2.ravel()}
    columns |= {"p adjusted": p.ravel(), "rows": np.repeat(description.rows[:v], k)}
    title = "Variance of the scores that metadata explain"
    return MetadataData(title, notes, columns, list(names), components, r2, p)


@style.styled
def metadata(description: Description, *, title: str | None = "auto", ax: Any = None, **imshow: Any) -> Any:
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
    data = metadata_data(description)
    v, k = data.r2.shape
    ax = style.subplots(ax=ax, height_mm=max(30.0, 5.5 * v + 20))
    look: dict[str, Any] = {
        "cmap": "Blues",
        "vmin": 0,
        "vmax": 1,
        "aspect": "auto",
        "interpolation": "nearest",
    }
    drawn = ax.imshow(data.r2, **look | imshow)
    small = min(style.size("ytick.labelsize"), 0.8 * style.width_mm() / k * 0.45)
    for i, j in np.ndindex(v, k):
        value, star = data.r2[i, j], "*" if data.p_adjusted[i, j] < LEVEL else ""
        # On cells that are light in either theme of a page.
        ink = "#fdfdfd" if value > 0.6 else "#222222"
        ax.text(j, i, f"{value:.2f}{star}", ha="center", va="center", color=ink, fontsize=small)
    _map_axes(ax, data.variables, data.components)
    style.colour_bar(ax, drawn, "r2")
    return finished(data, ax, title)


def described(model: Any, table: Any, **options: Any) -> Any:
    """Draw the labels and metadata of a table; see :func:`metadata`."""
    return metadata(describe(model, table), **options)


def described_data(model: Any, table: Any) -> MetadataData:
    """Return what :func:`described` draws."""
    return metadata_data(describe(model, table))
