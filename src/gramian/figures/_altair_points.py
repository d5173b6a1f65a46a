"""Figures with a point for each row: scores of two components, with labels placed without overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64
from gramian.core.checks import check_share, counted, listed
from gramian.core.records import FloatArray
from gramian.errors import DataError, ParameterError
from gramian.figures import _altair_style as style
from gramian.figures.names import axis_title, numbers_of, place_of, row_names_of, usual_hue
from gramian.statistics.associations import curve, mean_ellipse, normal_ellipse, not_normal
from gramian.statistics.components import decomposition_of, feature_names_of, kind_of
from gramian.tables.labels import as_array, declared_levels, has_label, in_order, label_texts
from gramian.tables.table import Table

Level = float | Literal["auto"] | None  # of ellipses
NAMED = 60  # rows up to which points are labelled
DENSE = 20_000  # rows above which the density and a sample are drawn
BINS = (64, 48)
MOST_NUMBERS = 10  # distinct numbers above which the colours are continuous
USUAL = 0.95  # probability of an ellipse
FEWEST, FEWEST_OF_MEAN = 3, 5  # points of an ellipse; of fewer, that of the mean is the larger one
STRIP = 0.3  # half the height of the points of a group on a single component
WIDER = 0.15  # share of the range by which ellipses may widen an axis
OWN_COLOURS = alt.Resolve(scale=alt.ScaleResolveMap(color="independent", shape="independent"))
LISTED = 14  # rows of the linked table
MOST_SHAPES = 8  # that can be distinguished
WITHOUT = "no label"  # the group of rows without one


def scores(
    model: Any,
    X: Any = None,
    *,
    x: int | str = 1,
    y: int | str = 2,
    color: Any = None,
    shape: Any = None,
    names: Sequence[Any] | None = None,
    ellipses: Level = "auto",
    linked: bool = False,
    mapped: Any = None,
) -> Any:
    """Draw the scores of two components.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or FaceSpace
        The model that maps the rows.
    X : array-like of shape (n_samples, n_features), optional
        Rows to map. An exact KernelPCA keeps the scores of its training rows; other models need them again.
    x, y : int or str, default=1 and 2
        Components, such as 3 or ``"PC3"``; a unit of both has the same length, unless one range is more than
        three times the other. A single component is drawn as a strip for each group.
    color : array-like of shape (n_samples,), str, optional
        Labels or numbers that set the colour, or the name of a column of ``X`` that the model uses, or of its
        labels and metadata; by default the first labels of a table, and ``""`` for one colour. The ten most
        frequent classes get a colour and a shape each, and rows without a class are grey; more than ten
        distinct numbers get a continuous scale.
    shape : array-like of shape (n_samples,), str, optional
        Labels that set the shape, in place of those that set the colour; at most eight classes.
    names : sequence of n_samples, optional
        Row names, by default those of ``X``. Up to 60 are written where they do not overlap; tooltips show
        the others.
    ellipses : float, "auto" or None, default="auto"
        Probability of the normal ellipse of each class, and of the confidence ellipse of its mean (thick);
        None for no ellipses. "auto" is 0.95 for classes that spread like a normal distribution, unless one
        component is a curve of the other.
    linked : bool, default=False
        Add a table of the rows that are selected with the pointer.
    mapped : array-like of shape (n_samples, n_components), optional
        Known scores, in place of ``X``.

    Returns
    -------
    altair.LayerChart, or altair.HConcatChart with ``linked``
        ``chart.data`` has a row for each point: row or name, both scores, and the group. For more than 20,000
        rows these are 2000 drawn at random, over the density of all rows.

    Raises
    ------
    ParameterError
        For an unknown component or column, or a wrong number of colours or names.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> chart = gramian.figures.scores(gramian.PCA(3).fit(X), X, x="PC1", y="PC3", color=X[:, 0])
    >>> chart.save("scores.pdf")  # doctest: +SKIP
    """
    cloud = Cloud(model, X, x, y, color, shape, names, mapped)
    return draw(cloud, ellipses, linked)


class Cloud:
    """The scores of two components; it takes and checks the arguments of :func:`scores`.

    Attributes
    ----------
    values : ndarray of shape (n, 2)
    fields, titles : pair of str
        Their names in the table, and on the axes. The second title is "" for a single component, whose second
        values are places within strips.
    names : sequence of str or None
    group, shape : Group
        What sets the colour, and the shape if that is another.
    unit : str
    numbers : sequence of int or None
        Those of the rows in their file; None for all of them.
    """

    def __init__(
        self, model: Any, X: Any, x: Any, y: Any, color: Any, shape: Any, names: Any, mapped: Any
    ) -> None:
        Z = as_float64(_mapped(model, X) if mapped is None else mapped)
        n, k = Z.shape
        self.group, self.shape = Group.of(color, n, model, X), Group.of(shape, n, model, X, "shape")
        across = place_of(x, k, "x")
        if k == 1:
            self.values = np.stack([Z[:, 0], _strips(n, self.group)], axis=1)
            self.fields, self.titles = ["PC1", "position"], [axis_title(model, 0), ""]
        else:
            pair = [across, place_of(y, k, "y")]
            if pair[0] == pair[1]:
                problem = f"and y are both PC{across + 1}"
                raise ParameterError("x", allowed=problem, hint="Choose two different components.")
            self.values, self.fields = Z[:, pair], [f"PC{place + 1}" for place in pair]
            self.titles = [axis_title(model, place) for place in pair]
        self.names = row_names_of(X) if names is None else names
        if self.names is not None:
            _check_length("names", self.names, n)
        self.unit, self.numbers = _unit(model), getattr(X, "row_numbers", None)

    def columns(self, rows: npt.NDArray[Any]) -> dict[str, Any]:
        """Return the table of some rows."""
        columns: dict[str, Any] = {"row": rows if self.numbers is None else [self.numbers[i] for i in rows]}
        if self.names is not None:
            columns = {"name": [str(self.names[i]) for i in rows]}
        columns |= {field: self.values[rows, j] for j, field in enumerate(self.fields)}
        return columns | self.group.columns(rows) | self.shape.columns(rows, "shape")


def draw(cloud: Cloud, ellipses: Level, linked: bool = False, arrows: Any = None) -> Any:
    """Draw scores, perhaps with arrows."""
    n, group, single = len(cloud.values), cloud.group, not cloud.titles[1]
    drawn, caption = np.arange(n) if n <= DENSE else style.sampled_rows(n), [cloud.unit]
    if n > DENSE:
        sample = f"a random sample of {len(drawn):,} of {n:,} rows (seed 0)"
        caption.append(f"Points: {sample}, over the density of all rows.")
    if group.values is not None and not group.kinds and (without := int(np.isnan(group.values).sum())):
        caption.append(f"{counted(without, 'row')} without {group.title or 'a value'} not drawn.")
    columns = cloud.columns(drawn)
    lines, notes = ([], []) if ellipses is None or single else _ellipses(cloud, ellipses)
    caption += notes
    # An ellipse of few rows may be far larger than the cloud, which must not look small.
    room = np.array(style.edges_of(cloud.values, margin=WIDER))
    edges = style.edges_of(cloud.values, *(np.clip(line, *room.T) for *_, line in lines), margin=0.05)
    if single:
        strips = len(group.kinds) or 1
        edges[1], height = [0.4 - strips, 0.6], max(120, 64 * strips)
    else:
        edges = edges if arrows is None else [arrows.widened(edge) for edge in edges]
        edges, height, equal = style.equal_axes(edges)
        caption += [] if equal else ["The axes have different scales."]
        arrows = None if arrows is None else arrows.scaled(edges, equal)
    labels = LabelLayout(edges[0], edges[1], (style.width(), height))
    labels.block(cloud.values[drawn] if n <= DENSE else np.empty((0, 2)))
    upright, level = style.zero_lines()
    marks = [*(_density(cloud.values, edges) if n > DENSE else []), upright]
    marks += _strip_names(group) if single else [level, *_outlines(lines, group)]
    points = _points(cloud, columns, edges)
    brush = alt.selection_interval(name="chosen") if linked else None
    if brush is not None:
        clear = alt.condition(brush, alt.value(0.85), alt.value(0.12))
        points = points.add_params(brush).encode(opacity=clear)
    marks.append(points)
    if arrows is not None:
        layers, notes = arrows.layers(labels)
        marks, caption = [*marks, *layers], [*caption, *notes]
    if cloud.names is not None and n <= NAMED:
        layers, hidden = labels.layers(cloud.values, columns["name"], color=style.SOFT)
        marks += layers
        caption += [f"{hidden} of {n} row labels hidden to avoid overlap."] if hidden else []
    head = style.headed(f"{'Scores' if arrows is None else 'Biplot'} of {n:,} rows", *caption)
    plot = {"layer": marks, "width": style.width(), "height": height, "resolve": OWN_COLOURS}
    if brush is None:
        return style.Layers(data=style.table(columns), title=head, **plot)
    panels = [style.Panel(**plot), _listing(brush, columns)]
    return style.Columns(data=style.table(columns), hconcat=panels, title=head, resolve=OWN_COLOURS)


def _points(cloud: Cloud, columns: Mapping[str, Any], edges: list[list[float]]) -> Any:
    n = len(cloud.values)
    size = 36 if n <= 500 else 18 if n <= DENSE else 10
    colors = cloud.group.channels()
    if cloud.shape.kinds:
        colors["shape"] = cloud.shape.shapes("shape")
    points = style.Chart().mark_point(filled=True, size=size, opacity=0.85 if n <= 2000 else 0.6)
    place = style.xy(cloud.fields, cloud.titles, edges)
    if not cloud.titles[1]:  # empty, not None: Vega-Lite cannot merge no axis with those of other layers
        place["y"] = place["y"].axis(labels=False, ticks=False, grid=False)
        if cloud.group.kinds:  # the strips have names
            own = "shape" if cloud.shape.kinds else ""
            colors = {name: one if name == own else one.legend(None) for name, one in colors.items()}
    tips = [alt.Tooltip(name, type=kind) for name, kind in _kinds(columns).items() if name != "position"]
    return points.encode(**place, tooltip=tips, **colors)


def _strips(n: int, group: Group) -> FloatArray:
    """Return the places of rows across the strips of their groups, 0, 1, ... and around."""
    around = np.modf(np.arange(n) * 0.6180339887498949)[0]  # evenly spread, in any part of the rows
    places: FloatArray = STRIP * (2 * around - 1)
    if group.kinds:
        number = {kind: -place for place, kind in enumerate(group.kinds)}
        places = places + np.array([number[kind] for kind in group.values.tolist()], dtype=float)
    return places


def _strip_names(group: Group) -> list[Any]:
    """Return the names of groups, above their strips at the left."""
    rows = style.chart({"strip": group.kinds, "above": [0.46 - place for place in range(len(group.kinds))]})
    words = rows.mark_text(align="left", dx=5, fontSize=11, color=style.SOFT)
    return [words.encode(x=alt.value(0), y="above:Q", text="strip:N")] if group.kinds else []


def _mapped(model: Any, X: Any) -> Any:
    if X is not None:
        return model.transform(X)
    vectors = getattr(model, "eigenvectors_", None)
    if vectors is not None:
        return as_float64(vectors) * np.sqrt(as_float64(model.eigenvalues_))
    raise DataError("The model does not contain its training rows.", "Pass them: scores(model, X).")


def _check_length(name: str, values: Any, n: int) -> None:
    if len(values) != n:
        problem = f"has {len(values)} entries for {n} rows"
        raise ParameterError(name, allowed=problem, hint="Give one for each row.")


def _unit(model: Any) -> str:
    if kind_of(decomposition_of(model)).kernel:
        return "Scores are coordinates in feature space."
    if getattr(model, "whiten", False):
        return "Scores have variance 1."
    scale = getattr(model, "scale", None)
    if isinstance(scale, str) and scale == "unit":
        return "Unit: standard deviations of the columns."
    return "Same unit as the columns." if scale is None else "Same unit as the scaled columns."


def _kinds(columns: Mapping[str, Any]) -> dict[str, str]:
    """Return the Vega-Lite type of each column."""
    measured = {name: np.asarray(values).dtype.kind == "f" for name, values in columns.items()}
    return {name: "quantitative" if number else "nominal" for name, number in measured.items()}


# ---------------------------------------------------------------------- groups


@dataclass(frozen=True, eq=False)
class Group:
    """The colours of rows.

    Attributes
    ----------
    values : ndarray of shape (n,) or None
        The class of each row, or a number for a continuous scale; None if all have the same colour.
    kinds : list of str
        The classes in order; empty for numbers.
    title : str
    """

    values: Any
    kinds: list[str]
    title: str

    @classmethod
    def of(cls, color: Any, n: int, model: Any = None, X: Any = None, what: str = "color") -> Group:
        """Read labels, numbers, or the name of a column; the rarest of too many classes become "others"."""
        most = MOST_SHAPES if what == "shape" else len(style.COLOURS)
        color = usual_hue(X) if color is None and what == "color" else color
        if color is None or (isinstance(color, str) and not color):
            return cls(None, [], "")
        title = str(getattr(color, "name", None) or "")
        levels: Sequence[str] = declared_levels(color)
        if isinstance(color, str):
            title, color, levels = color, *_column(color, model, X, what)
        given = np.atleast_1d(as_array(color))
        given = given.astype(object) if levels else given  # of numbers too
        _check_length(what, given if given.ndim == 1 else given[None], n)
        numeric = given.dtype.kind in "iuf"
        there = np.isfinite(given) if numeric else has_label(given)
        distinct = np.unique(given[there]) if numeric else given
        if numeric and len(distinct) > MOST_NUMBERS:
            if what == "shape":
                problem = f"has {len(distinct)} distinct numbers, but shapes are for classes"
                hint = f"Use color for numbers, or at most {MOST_NUMBERS} of them."
                raise ParameterError(what, allowed=problem, hint=hint)
            return cls(given.astype(np.float64), [], title)
        texts = label_texts(given)
        kinds = label_texts(distinct).tolist() if numeric else in_order({*texts[there]}, levels)
        texts[~there] = WITHOUT
        if len(kinds) > most:
            counts = {kind: int((texts == kind).sum()) for kind in kinds}
            frequent = sorted(kinds, key=lambda kind: -counts[kind])[: most - 1]
            others = f"{len(kinds) - len(frequent)} others"
            texts = np.array([text if text in frequent else others for text in texts], dtype=object)
            texts[~there] = WITHOUT
            kinds = [*(kind for kind in kinds if kind in frequent), others]
        return cls(texts, [*kinds, *([WITHOUT] if not there.all() else [])], title)

    def scale(self) -> Any:
        """Return the scale of colours."""
        own = sum(map(_is_class, self.kinds))
        greys = (style.GREY, "#c4c4c4")[: len(self.kinds) - own]
        return alt.Scale(domain=self.kinds, range=[*style.COLOURS[:own], *greys])

    def columns(self, rows: Sequence[int] | npt.NDArray[Any], field: str = "group") -> dict[str, Any]:
        """Return the column of the table for some rows, if there is one."""
        return {} if self.values is None else {field: self.values[rows].tolist()}

    def channels(self, color: str = "color", plain: str = style.BLUE) -> dict[str, Any]:
        """Return the channels of "color" or "fill", and of shape; ``plain`` is the colour without groups."""
        if self.values is None:
            return {color: alt.value(plain)}
        channel, title = {"color": alt.Color, "fill": alt.Fill}[color], self.title or None
        if not self.kinds:
            return {color: channel("group:Q", title=title, scale=alt.Scale(scheme="viridis"))}
        # As many names in a row of the legend as there is room for.
        columns = max(1, style.width() // (LEGEND + round(LETTER * max(map(len, self.kinds)))))
        legend = alt.Legend(columns=min(columns, len(self.kinds)))
        own = channel("group:N", title=title, scale=self.scale(), legend=legend)
        return {color: own, "shape": self.shapes("group")}

    def shapes(self, field: str) -> Any:
        """Return the channel of shape for a field of the table."""
        scale = alt.Scale(domain=self.kinds, range=list(style.SHAPES[: len(self.kinds)]))
        return alt.Shape(f"{field}:N", title=self.title or None, scale=scale)


def _column(name: str, model: Any, X: Any, what: str) -> tuple[Any, Sequence[str]]:
    """Return a column of the data or its labels, and its ordered categories."""
    levels = X.levels.get(name, ()) if isinstance(X, Table) else ()
    if getattr(X, "label_name", None) == name and X.labels is not None:
        return X.labels, levels
    further = getattr(X, "metadata", {})
    if name in further:
        return further[name], levels
    columns = feature_names_of(model)
    if X is None or name not in columns:
        problem = f"is not a column of the data: {listed([*columns, *further])}"
        hint = "Name one of these, or give one label for each row."
        raise ParameterError(what, name, problem, hint)
    return numbers_of(X)[:, columns.index(name)], ()


def _is_class(kind: str) -> bool:
    return kind != WITHOUT and not kind.endswith(" others")


def _ellipses(cloud: Cloud, level: float | str) -> tuple[list[tuple[str, str, FloatArray]], list[str]]:
    """Return the ellipses of classes, and sentences about them."""
    values, group, asked = cloud.values, cloud.group, level != "auto"
    share, result, without = check_share("ellipses", level if asked else USUAL), [], []
    kinds = list(filter(_is_class, group.kinds))
    for pair in () if asked or not kinds else ((0, 1), (1, 0)):
        if curve(values[:, pair]) is not None:
            return [], ["No ellipses: the rows lie on a curve."]
    for kind in kinds:
        members = values[group.values == kind]
        if not asked and len(members) >= FEWEST_OF_MEAN and not_normal(members):
            without.append(kind)
            continue
        if len(members) >= FEWEST:
            result.append((kind, "rows", normal_ellipse(members, share)))
        if len(members) >= FEWEST_OF_MEAN:
            result.append((kind, "mean", mean_ellipse(members, share)))
    said = [f"Ellipses: {100 * share:g} % of a normal distribution (thin), and of its mean (thick)."]
    notes = said if result else []
    if without:
        notes = [*notes, f"No ellipse of {listed(without)}: not spread like a normal distribution."]
    return result, notes


def _outlines(lines: list[tuple[str, str, FloatArray]], group: Group) -> list[Any]:
    if not lines:
        return []
    corners = np.concatenate([line for *_, line in lines])
    points = [(kind, of, j) for kind, of, line in lines for j in range(len(line))]
    columns: dict[str, Any] = dict(zip(("group", "of", "corner"), zip(*points, strict=True), strict=True))
    columns |= {"edge_x": corners[:, 0], "edge_y": corners[:, 1]}
    drawn = style.chart(columns).mark_line(opacity=0.9, clip=True)
    color = alt.Color("group:N", legend=None, scale=group.scale())
    thick = alt.condition("datum.of === 'mean'", alt.value(2.4), alt.value(1))
    drawn = drawn.encode(x="edge_x:Q", y="edge_y:Q", order="corner:Q", color=color, strokeWidth=thick)
    return [drawn.encode(detail="of:N")]


def _density(values: FloatArray, edges: list[list[float]]) -> list[Any]:
    counts, xs, ys = np.histogram2d(values[:, 0], values[:, 1], bins=BINS, range=edges)
    i, j = np.nonzero(counts)
    cells = {"left": xs[i], "right": xs[i + 1], "low": ys[j], "high": ys[j + 1], "rows": counts[i, j]}
    shade = alt.Opacity("rows:Q", title="rows in a cell", scale=alt.Scale(type="log", range=[0.1, 0.8]))
    layer = style.chart(cells).mark_rect(strokeWidth=0, color=style.LINE)
    return [layer.encode(x="left:Q", x2="right", y="low:Q", y2="high", opacity=shade)]


def _listing(brush: Any, columns: Mapping[str, Any]) -> Any:
    rows = style.Chart().transform_filter(brush).transform_window(place="row_number()")
    rows = rows.transform_filter(f"datum.place <= {LISTED}").mark_text(align="left", fontSize=11)
    rows = rows.encode(x=alt.value(0), y=alt.Y("place:O", axis=None))
    size = {"width": 64, "height": style.HEIGHT - 40, "view": alt.ViewConfig(stroke=None)}
    lists = []
    for name, kind in _kinds(columns).items():
        text = alt.Text(name, type=kind, **({"format": ".4g"} if kind == "quantitative" else {}))
        title = alt.Title(name, fontSize=11, fontWeight="bold", anchor="start", offset=4)
        lists.append(rows.encode(text=text).properties(title=title, **size))
    return alt.hconcat(*lists, spacing=4)


# ------------------- Labels of points and arrows, placed without overlap

LEGEND = 30  # pixels of a symbol of the legend, and of the space to the next
LETTER, TEXT = 6.0, 11.0  # pixels of a letter across, and of a line of text
DOT, STEP = 3.0, 5.0  # half a point; between the points that block an arrow
RINGS = (0.0, 8.0, 18.0, 30.0, 44.0)  # pixels between a point and its label
NEAR = 2  # of them for labels of points
NEXT = DOT + 6  # pixels above which a line leads to the label


class LabelLayout:
    """Places labels on the free parts of a drawing area.

    Parameters
    ----------
    x_limits, y_limits : sequence of two float
        Values at the edges of the area.
    size : (width, height)

    Examples
    --------
    >>> labels = LabelLayout([0, 100], [0, 100], (100, 100))
    >>> points = np.array([[50.0, 50.0], [52.0, 50.0]])
    >>> labels.block(points)
    >>> labels.places(points, ["a", "b"]).round().tolist()
    [[58.0, 50.0], [44.0, 50.0]]
    """

    def __init__(self, x_limits: Sequence[float], y_limits: Sequence[float], size: tuple[int, int]) -> None:
        self.corner = np.array([x_limits[0], y_limits[0]])
        self.size = np.array(size, dtype=float)
        self.unit = np.array([np.ptp(x_limits), np.ptp(y_limits)]) / self.size
        self.boxes, self.arrows, self.texts = np.empty((3, 0, 4))

    def block(self, points: FloatArray) -> None:
        """Keep labels off points of shape (n, 2)."""
        self.boxes = np.vstack([self.boxes, self._around(points)])

    def _around(self, points: FloatArray) -> FloatArray:
        at = (points - self.corner) / self.unit
        return np.hstack([at - DOT, at + DOT])

    def block_arrows(self, tips: FloatArray) -> None:
        """Keep labels off the lines from the origin to some points."""
        longest = float(np.hypot(*(tips / self.unit).T).max(initial=0.0))
        for share in np.linspace(0, 1, max(2, int(longest / STEP))):
            self.arrows = np.vstack([self.arrows, self._around(share * tips)])

    def places(self, points: FloatArray, texts: Sequence[str], outward: bool = False) -> FloatArray:
        """Return the centre of each label, NaN where there is no free place; earlier labels come first.

        Parameters
        ----------
        points : ndarray of shape (n, 2)
        texts : sequence of n str
        outward : bool
            Whether to prefer places away from the origin. Such a label rather covers points than is far.
        """
        middle = np.full((len(texts), 2), np.nan)
        for place, text in enumerate(texts):
            at = (points[place] - self.corner) / self.unit
            half = np.array([LETTER * len(text), TEXT]) / 2
            away = points[place] / self.unit if outward else np.zeros(2)
            lines = np.vstack([self.arrows, self.texts])
            every = np.vstack([self.boxes, lines])
            tries = [(ring, every) for ring in RINGS[:NEAR]]
            tries += [(ring, lines) for ring in RINGS] if outward else []
            centres = ((at + move, taken) for ring, taken in tries for move in _moves(half, ring, away))
            centre = next((c for c, taken in centres if self._is_free(c - half, c + half, taken)), None)
            if centre is not None:
                middle[place] = self.corner + centre * self.unit
                self.texts = np.vstack([self.texts, np.hstack([centre - half, centre + half])])
        return middle

    def _is_free(self, low: FloatArray, high: FloatArray, taken: FloatArray) -> bool:
        apart = (taken[:, :2] >= high) | (taken[:, 2:] <= low)
        return bool((low >= 0).all() and (high <= self.size).all() and apart.any(axis=1).all())

    def layers(
        self, points: FloatArray, texts: Sequence[str], outward: bool = False, **looks: Any
    ) -> tuple[list[Any], int]:
        """Return layers of labels and of lines to the distant ones, and the number of hidden labels."""
        middle = self.places(points, texts, outward)
        kept = np.flatnonzero(np.isfinite(middle[:, 0])).tolist()
        half = np.array([[LETTER * len(texts[i]), TEXT] for i in kept]).reshape(-1, 2) / 2 * self.unit
        ends = np.clip(points[kept], middle[kept] - half, middle[kept] + half)
        far = np.hypot(*((ends - points[kept]) / self.unit).T) > NEXT
        starts = np.where(far[:, None], points[kept], ends)
        columns = {"text": [texts[i] for i in kept], "text_x": middle[kept, 0], "text_y": middle[kept, 1]}
        columns |= {"from_x": starts[:, 0], "from_y": starts[:, 1], "to_x": ends[:, 0], "to_y": ends[:, 1]}
        base = style.Chart(style.table(columns))
        words = base.mark_text(**{"fontSize": 10.5, "color": style.INK, "baseline": "middle"} | looks)
        leaders = base.mark_rule(color=style.LINE, strokeWidth=0.6)
        words = words.encode(x="text_x:Q", y="text_y:Q", text="text:N")
        leaders = leaders.encode(x="from_x:Q", y="from_y:Q", x2="to_x", y2="to_y")
        return [leaders, words] if far.any() else [words], len(texts) - len(kept)


def _moves(half: FloatArray, ring: float, away: FloatArray) -> list[tuple[float, float]]:
    """Return the places around a point, this many pixels from it; the most outward ones first."""
    side, up = half + DOT + [2, 1] + ring
    moves = [(side, 0.0), (-side, 0.0), (0.0, up), (0.0, -up)]
    moves += [(side, up), (-side, up), (side, -up), (-side, -up)]
    moves += [(side / 2, up), (-side / 2, up), (side / 2, -up), (-side / 2, -up)] if ring else []
    if away.any():
        moves.sort(key=lambda move: -float(np.dot(move, away) / np.hypot(*move)))
    return moves
