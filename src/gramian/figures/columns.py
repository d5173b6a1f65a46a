"""Figures of columns: loadings, biplot, correlation circle, and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, counted
from gramian.core.records import FloatArray
from gramian.errors import DataError
from gramian.explain.describe import describe
from gramian.explain.rotate import Rotation
from gramian.figures import _altair_style as style
from gramian.figures import points
from gramian.figures.names import NOTHING, axis_title, component_titles, fitted, place_of
from gramian.models.pca.tables import linear_columns
from gramian.statistics.associations import LEVEL, SHOWN, Description, correlations
from gramian.statistics.components import feature_names_of, kind_of
from gramian.statistics.units import column_axis

KINDS = ("auto", "bars", "heat", "lines")
MOST_BARS, MOST_CELLS, MOST_ARROWS, NAMED_ARROWS = 20, 60, 40, 10
MOST_POINTS, STRETCHES = 2000, 500  # columns that are drawn one by one, and parts of a line of more
FIRST = 3  # components drawn by default
LONGEST, LETTER = 130, 5.7  # pixels of the name of a column, and of its letters
PANEL, BAR = 90, 15  # pixels of a panel of bars, at least, and of a bar
REACH = 1.2, 1.6  # from the centre of a correlation circle to the edges, at least and at most
PALE = 0.25  # opacity of arrows without a name
FIT = 0.8  # share of the room to the edge for the longest arrow
TIP = ["component:N", "column:N", "loading:Q"]


def loadings(
    model: Any,
    components: Sequence[int | str] | None = None,
    *,
    kind: str = "auto",
    data: Any = None,
    position: str = "column",
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

    Returns
    -------
    altair.ConcatChart or altair.LayerChart
        ``chart.data`` has a row for each column and component: component, column, position and loading. Bars
        show the 20 columns with the largest loadings of each component, and a heat map 60 of all. Lines of
        more than 2,000 columns show the least and the largest loading of each of 500 stretches.

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
    >>> chart = gramian.figures.loadings(gramian.PCA(2).fit(X), [1])
    >>> chart.data["column"].to_pylist(), np.round(chart.data["loading"].to_pylist(), 2).tolist()
    (['x0', 'x1', 'x2', 'x3'], [0.99, -0.07, 0.04, -0.07])
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
    caption = f"{what[:1].upper()}{what[1:]}; {len(places)} of {k} components."
    return _loadings(names, titles, values, kind, what, ("Loadings", caption), position)


def rotation(result: Rotation) -> Any:
    """Draw rotated loadings as a heat map: a column for each rotated component.

    Parameters
    ----------
    result : gramian.explain.rotate.Rotation
        What :func:`gramian.rotate` returns.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each column and component: component, column, position and loading.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> result = gramian.rotate(gramian.PCA(2).fit(X))
    >>> chart = gramian.figures.rotation(result)
    >>> chart.data["component"].unique().to_pylist()
    ['RC1 (73.0 %)', 'RC2 (17.3 %)']
    >>> chart.save("rotation.svg")  # doctest: +SKIP
    """
    shares = zip(result.names, result.ratio, strict=True)
    titles = [f"{name} ({100 * share:.1f} %)" for name, share in shares]
    caption = f"Loadings rotated by {result.method}: component times standard deviation."
    heading = "Rotated loadings", caption
    return _loadings(result.columns, titles, result.loadings, "heat", "loading", heading, "column")


def _loadings(
    names: Sequence[str],
    titles: Sequence[str],
    values: FloatArray,
    kind: str,
    what: str,
    heading: tuple[str, str],
    position: str,
) -> Any:
    most = {"bars": MOST_BARS, "heat": MOST_CELLS}.get(kind, len(names))
    sizes = np.abs(values) if kind == "bars" else np.abs(values).max(axis=1, keepdims=True)
    shown = np.sort(np.argsort(-sizes, axis=0, kind="stable")[:most], axis=0).T
    items = np.arange(len(names), dtype=float), "column (position, counted from 0)"
    along, unit = (column_axis(names) if kind == "lines" else None) or items
    position = unit or position if position == "column" else position
    thinned = kind == "lines" and len(names) > MOST_POINTS
    places = _extremes(values, along) if thinned else np.tile(shown, (len(titles) // len(shown), 1))
    columns = {
        "component": np.repeat(titles, places.shape[1]),
        "column": [names[j] for j in places.ravel().tolist()],
        "position": along[places].ravel(),
        "loading": np.take_along_axis(values.T, places, axis=1).ravel(),
    }
    largest = f"the largest loadings{' of each component' * (len(shown) > 1)}"
    few = f"The {most} of {len(names):,} columns with {largest}." if most < len(names) else ""
    few = f"Of {len(names):,} columns the extremes of each of {STRETCHES} stretches." if thinned else few
    parts = {"data": style.table(columns), "title": style.headed(*heading, few)}
    if kind == "heat":
        bound = float(np.abs(values).max()) or 1.0
        return _heat(parts, what, len(titles), [names[j] for j in shown[0]], bound)
    edges = style.limits(values, zero=True, margin=0.04)
    if kind == "lines":
        return _lines(parts, style.axis(alt.Y, "loading", what, edges), position)
    x = style.axis(alt.X, "loading", what.split(" (")[0], edges)
    return _bars(parts, titles, x, [names[j] for j in np.unique(shown)], shown.shape[1])


def _extremes(values: FloatArray, along: FloatArray) -> npt.NDArray[np.intp]:
    """Return columns that look as all do in a line: the extremes of each stretch, shape (components, m)."""
    stretches = np.array_split(np.argsort(along, kind="stable"), STRETCHES)
    ends = [(one[values[one].argmin(axis=0)], one[values[one].argmax(axis=0)]) for one in stretches]
    places = np.array(ends).transpose(2, 0, 1)  # components x stretches x 2
    swapped = along[places[..., 0]] > along[places[..., 1]]
    places[swapped] = places[swapped][:, ::-1]
    return places.reshape(values.shape[1], -1)


def _heat(parts: dict[str, Any], what: str, across: int, names: Sequence[str], bound: float) -> Any:
    scale = alt.Scale(scheme="purpleorange", domain=[-bound, bound])
    cells = _cells("column:N", None, None).mark_rect()
    cells = cells.encode(color=alt.Color("loading:Q", scale=scale, title=what.split(" (")[0]), tooltip=TIP)
    room = style.width() + style.MARGIN - _room_for(names)
    size = {"width": max(26 * across, min(room, 60 * across)), "height": max(120, 14 * len(names))}
    return style.Layers(layer=[cells], **size, **parts)


def _cells(down: str, across_order: Any, down_order: Any) -> Any:
    """Return the places of a heat map, with a column for each component."""
    x = alt.X("component:N", sort=across_order, title=None, axis=alt.Axis(labelAngle=-45, labelOverlap=False))
    y = alt.Y(down, sort=down_order, title=None, axis=alt.Axis(labelOverlap=False))
    return style.Chart().encode(x=x, y=y)


def _lines(parts: dict[str, Any], y: Any, position: str) -> Any:
    plain = alt.Axis(format=".6~r")
    x = alt.X("position:Q", title=position, scale=alt.Scale(zero=False, nice=False), axis=plain)
    color = alt.Color("component:N", sort=None, title=None, scale=alt.Scale(range=list(style.COLOURS)))
    dash = alt.StrokeDash("component:N", sort=None, title=None)
    lines = style.Chart().mark_line(strokeWidth=1.4)
    lines = lines.encode(x=x, y=y, color=color, strokeDash=dash, tooltip=TIP)
    zero = style.chart({"zero": [0.0]}).mark_rule(color=style.ZERO).encode(y="zero:Q")
    return style.Layers(layer=[zero, lines], width=style.width(), height=style.HEIGHT - 70, **parts)


def _room_for(names: Sequence[str]) -> float:
    """Return the pixels of names, with ticks and the space to the next panel."""
    return min(LONGEST, LETTER * max(map(len, names))) + 16


def _beside(names: Sequence[str], panels: int) -> int:
    """Return how many panels of bars fit beside each other."""
    return int(max(1, min(panels, FIRST, (style.width() + style.MARGIN) // (_room_for(names) + PANEL))))


def _bars(parts: dict[str, Any], titles: Sequence[str], x: Any, names: Sequence[str], bars: int) -> Any:
    sign = alt.condition("datum.loading < 0", alt.value(style.VERMILION), alt.value(style.BLUE))
    named = alt.Axis(labelOverlap=False, labelLimit=LONGEST, minExtent=0)
    beside = _beside(names, len(titles))
    across = int((style.width() + style.MARGIN) / beside - _room_for(names) - 8)
    panels = []
    for title in titles:
        y = alt.Y("column:N", sort=None, title=None, axis=named)
        marks = style.Chart().transform_filter(alt.FieldEqualPredicate(field="component", equal=title))
        marks = marks.mark_bar().encode(y=y, x=x.axis(alt.Axis(tickCount=5)), color=sign, tooltip=TIP)
        heading = alt.Title(title, fontSize=12, fontWeight="normal", anchor="middle", frame="group")
        panels.append(marks.properties(title=heading, width=across, height=max(60, BAR * bars)))
    return style.Panels(concat=panels, columns=beside, spacing=10, **parts)


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


def biplot(
    model: Any,
    X: Any,
    *,
    x: int | str = 1,
    y: int | str = 2,
    color: Any = None,
    shape: Any = None,
    names: Sequence[Any] | None = None,
    ellipses: float | Literal["auto"] | None = "auto",
    linked: bool = False,
    mapped: Any = None,
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
    x, y, color, shape, names, ellipses, linked, mapped : optional
        As for :func:`scores`.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has the points; the arrows are those of ``loadings(model)``.

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
    >>> chart = gramian.figures.biplot(gramian.PCA(2).fit(X), X)
    >>> chart.data.num_rows
    30
    >>> chart.save("biplot.svg")  # doctest: +SKIP
    """
    directions = _directions(model)
    k = directions.shape[1]
    if k < 2:
        raise DataError("A biplot needs two components, and the model has one.", "Fit more.")
    cloud = points.Cloud(model, X, x, y, color, shape, names, mapped)
    pair = directions[:, [place_of(x, k, "x"), place_of(y, k, "y")]]
    return points.draw(cloud, ellipses, linked, Arrows(pair, feature_names_of(model)))


def correlation_circle(model: Any, X: Any = None, *, x: int | str = 1, y: int | str = 2) -> Any:
    """Draw the correlations of columns with two components, inside the unit circle.

    Parameters
    ----------
    model : fitted PCA
        The model whose components are correlated with columns.
    X : array-like of shape (n_samples, n_features), optional
        The data of the fit; by default the standard deviations that the model keeps.
    x, y : int or str
        Components.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each column, of more than 2,000 for those nearest to the circle: its
        name, both correlations, and the sum of their squares, the share of its variance that the two
        components explain.

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
    >>> model = gramian.PCA(2).fit(X)
    >>> chart = gramian.figures.correlation_circle(model)
    >>> chart.data.column_names
    ['column', 'PC1', 'PC2', 'squares']
    >>> np.round(chart.data["squares"].to_pylist(), 3).tolist()
    [1.0, 0.999, 0.021, 0.084]
    """
    k = _directions(model).shape[1]
    places = [place_of(x, k, "x"), place_of(y, k, "y")]
    if X is None:
        known = linear_columns(model, k).statistics
        if "correlation" not in known:
            raise DataError("The model subtracts no mean, so it knows no correlations. Pass the data.")
        result = known["correlation"][:, places]
    else:
        result = correlations(model, X)[:, places]
    fields = [f"PC{place + 1}" for place in places]
    squares = np.square(result).sum(axis=1)
    names, side = feature_names_of(model), style.width()
    mean, count = float(np.mean(squares)), len(names)
    if count > MOST_POINTS:
        nearest = np.sort(np.argsort(-squares, kind="stable")[:MOST_POINTS])
        names, result, squares = [names[j] for j in nearest.tolist()], result[nearest], squares[nearest]
    columns = {"column": names, fields[0]: result[:, 0], fields[1]: result[:, 1], "squares": squares}
    titles = [f"correlation with {axis_title(model, place)}" for place in places]
    angle = np.linspace(0, 2 * np.pi, 121)
    corners = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    circle = style.outline(corners, color=style.LINE, strokeWidth=1)
    # Wide enough for a label on the outer side of each arrow, where it can be of no other arrow.
    shares = [max(0.1, 1 - 2 * (points.LETTER * len(name) + 14) / side) for name in names]
    needed = max(abs(x) / share for x, share in zip(result[:, 0], shares, strict=True))
    reach = min(max(needed, REACH[0]), REACH[1])
    across, up, height = [-reach, reach], [-REACH[0], REACH[0]], round(side * REACH[0] / reach)
    labels = points.LabelLayout(across, up, (side, height))
    tooltips = (alt.Tooltip(field, type="quantitative", format=".3f") for field in (*fields, "squares"))
    tips = style.Chart().mark_point(opacity=0)
    tips = tips.encode(**style.xy(fields, titles, [across, up]), tooltip=["column:N", *tooltips])
    marks, notes = Arrows(result, names, of=count).layers(labels)
    return style.layered(
        columns,
        [circle, *style.zero_lines(), *marks, tips],
        "Correlation circle",
        f"The two components explain {100 * mean:.3g} % of a variable's variance on average; variables fully "
        "represented by these two components touch the circle.",
        *notes,
        height=height,
    )


@dataclass(frozen=True, eq=False)
class Arrows:
    """Labelled arrows from the origin.

    Attributes
    ----------
    tips : ndarray of shape (d, 2)
    names : sequence of d str
    about : str
        The meaning of their length.
    of : int
        How many there are in all, if more.
    """

    tips: FloatArray
    names: Sequence[str]
    about: str = ""
    of: int = 0

    def widened(self, edge: Sequence[float]) -> list[float]:
        """Return axis limits that leave room for arrows on both sides of 0."""
        low, high = min(edge[0], 0.0), max(edge[1], 0.0)
        space = 0.08 * (high - low)
        return [min(low - space, -0.5 * high), max(high + space, -0.5 * low)]

    def scaled(self, edges: Sequence[Sequence[float]], equal: bool) -> Arrows:
        """Return longer or shorter arrows that fit well, by one factor if the axes are equal, else by two."""
        rooms = np.where(self.tips < 0, [-low for low, _ in edges], [high for _, high in edges])
        lengths = np.abs(self.tips)
        ratios = np.divide(rooms, lengths, out=np.full(lengths.shape, np.inf), where=lengths > 0)
        factors = FIT * ratios.min(axis=0, initial=np.inf)
        factors = np.where(np.isfinite(factors), factors, 1.0)
        if equal:
            factors[:] = factors.min()
            about = f"Arrows are loadings times {factors[0]:.3g}."
        else:
            about = f"Arrows are loadings times {factors[0]:.3g} along X and {factors[1]:.3g} along Y."
        return Arrows(factors * self.tips, self.names, about)

    def layers(self, labels: points.LabelLayout) -> tuple[list[Any], list[str]]:
        """Return the layers, and sentences for the caption."""
        longest = np.argsort(-np.hypot(self.tips[:, 0], self.tips[:, 1]), kind="stable")[:MOST_ARROWS]
        tips, names = self.tips[longest], [self.names[j] for j in longest]
        pixels = tips / labels.unit
        columns = {
            "arrow": names,
            "tip_x": tips[:, 0],
            "tip_y": tips[:, 1],
            "start": np.zeros(len(tips)),
            "angle": 90 - np.degrees(np.arctan2(pixels[:, 1], pixels[:, 0])),
        }
        few = min(len(tips), NAMED_ARROWS)
        columns["weight"] = [1.0 if place < few else PALE for place in range(len(tips))]
        opacity = alt.Opacity("weight:Q", scale=None, legend=None)
        base = style.chart(columns).encode(tooltip=["arrow:N"], opacity=opacity)
        turn = alt.Angle("angle:Q", scale=None)
        shafts = base.mark_rule(color=style.INK, strokeWidth=1.4)
        heads = base.mark_point(shape="triangle", filled=True, color=style.INK, size=45)
        labels.block_arrows(tips[:few])
        words, hidden = labels.layers(tips[:few], names[:few], outward=True, fontWeight="bold")
        every = max(self.of, len(self.names))
        more = every > MOST_ARROWS
        notes = [self.about, f"The {MOST_ARROWS} longest of {every:,} arrows." if more else ""]
        notes += [f"Names: the {few} longest; the others are lighter."] if few < len(tips) else []
        notes += [f"{counted(hidden, 'name')} of arrows hidden to avoid overlap."] if hidden else []
        shaft = shafts.encode(x="tip_x:Q", y="tip_y:Q", x2="start", y2="start")
        return [shaft, heads.encode(x="tip_x:Q", y="tip_y:Q", angle=turn), *words], notes


# -------------- Heat map of how much metadata explains of the components

MOST_VARIABLES = 40  # variables
WEIGHTED = "all, weighted"


def metadata(description: Description) -> Any:
    """Draw how much of each component's scores each variable explains.

    Parameters
    ----------
    description : Description
        Of :func:`gramian.describe`.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each variable and component, and one for all components: variable,
        component, r2, p adjusted, rows. A * marks an adjusted p below 0.05. At most 10 components and 40
        variables are shown.

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
    >>> gramian.figures.metadata(description).data.column_names
    ['variable', 'component', 'r2', 'p adjusted', 'rows', 'label']
    """
    names = description.variables[:MOST_VARIABLES]
    if not names:
        said = " ".join(description.sentences())
        raise DataError("No column of the metadata can be drawn.", said)
    components = description.components[:SHOWN]
    k, v = len(components), len(names)
    r2 = np.column_stack([description.weighted_r2[:v], description.r2[:v, :k]])
    p = np.column_stack([np.full(v, np.nan), description.p_adjusted[:v, :k]])
    titles = [WEIGHTED, *components]
    columns = {
        "variable": np.repeat(names, k + 1),
        "component": np.tile(titles, v),
        "r2": r2.ravel(),
        "p adjusted": p.ravel(),
        "rows": np.repeat(description.rows[:v], k + 1),
        "label": [f"{a:.2f}{'*' if b < LEVEL else ''}" for a, b in zip(r2.ravel(), p.ravel(), strict=True)],
    }
    base, scale = _cells("variable:N", titles, names), alt.Scale(scheme="blues", domain=[0, 1])
    tips = ["variable:N", "component:N", "r2:Q", "p adjusted:Q", "rows:Q"]
    cells = base.mark_rect().encode(color=alt.Color("r2:Q", scale=scale, title="r2"), tooltip=tips)
    # On cells that are light in either theme of a page.
    ink = alt.condition("datum.r2 > 0.6", alt.value("white"), alt.value("#222222"))
    texts = base.mark_text(fontSize=10.5).encode(text="label:N", color=ink)
    few = f"The {MOST_VARIABLES} of {len(description.variables):,} columns that explain most."
    width = min(52 * (k + 1), max(30 * (k + 1), style.width()))
    head = style.headed(
        "Variance of the scores that metadata explain",
        "r2, or eta squared of categories. * marks an adjusted p below 0.05. The first column weights "
        f"{counted(len(description.explained_variance), 'component')} by their variances.",
        few if v < len(description.variables) else "",
        width=max(width, 320),
    )
    size = {"width": width, "height": 24 * v}
    return style.Layers(data=style.table(columns), layer=[cells, texts], title=head, **size)


def described(model: Any, table: Any) -> Any:
    """Draw the labels and metadata of a table; see :func:`metadata`."""
    return metadata(describe(model, table))
