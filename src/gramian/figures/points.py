"""Figures with a point for each row: scores of two components, their groups and ellipses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from gramian.core.arrays import as_float64
from gramian.core.checks import counted, listed
from gramian.core.records import AnyArray, FloatArray
from gramian.errors import DataError, ParameterError
from gramian.figures import style
from gramian.figures.drawing import Data, figure, numbers_of, places_of
from gramian.figures.labels import Arrows, Labels, outermost
from gramian.figures.style import sampled_rows
from gramian.models.inputs import expected_columns
from gramian.statistics.associations import curve, mean_ellipse, normal_ellipse, not_normal
from gramian.statistics.components import axis_title, feature_names_of
from gramian.statistics.groups import separation_of
from gramian.tables.labels import as_array, declared_levels, has_label, in_order, label_texts
from gramian.tables.memory import index_names
from gramian.tables.metadata import label_columns, usual_hue
from gramian.tables.scan import Scan
from gramian.tables.table import Table

NAMED, MOST_NAMED = 60, 250  # rows up to which points are labelled, and the outermost ones
MOST_NUMBERS = 10  # distinct numbers above which the colours are continuous
MOST_GROUPS = len(style.COLOURS)  # with a colour and a marker each; of more, the names stand in the figure
USUAL = 0.95  # probability of an ellipse
FEWEST, FEWEST_OF_MEAN = 3, 5  # points of an ellipse; of fewer, that of the mean is the larger one
WIDER = 0.24  # share of the range by which ellipses may widen an axis
WITHOUT, PALEST = "no label", "#c4c4c4"  # the group of rows without one, and its colour


@dataclass(frozen=True, eq=False)
class Groups:
    """What sets the colours or the markers of rows.

    Attributes
    ----------
    values : ndarray of shape (n,) or None
        The class of each row, or a number for a continuous scale; None if all are the same.
    kinds : tuple of str
        The classes in order; empty for numbers.
    title : str
    """

    values: Any = None
    kinds: tuple[str, ...] = ()
    title: str = ""

    @classmethod
    def of(cls, hue: Any, n: int, model: Any = None, X: Any = None, what: str = "hue") -> Groups:
        """Read labels, numbers, or the name of a column."""
        if hue is None and what == "hue":
            usual = usual_hue(X)
            result = cls() if usual is None else cls.of(usual, n, model, X)
            return cls() if 2 * len(result.classes) > n else result  # names of rows are no groups
        if hue is None or (isinstance(hue, str) and not hue):
            return cls()
        title = str(getattr(hue, "name", None) or "")
        levels: Sequence[str] = declared_levels(hue)
        if isinstance(hue, str):
            title, hue, levels = hue, *column_of(hue, model, X, what)
        values = np.atleast_1d(as_array(hue))
        values = values.astype(object) if levels else values  # of numbers too
        _check_length(what, values if values.ndim == 1 else values[None], n)
        numeric = values.dtype.kind in "iuf"
        there = np.isfinite(values) if numeric else has_label(values)
        distinct = np.unique(values[there]) if numeric else values
        if numeric and len(distinct) > MOST_NUMBERS and what == "hue":
            return cls(values.astype(np.float64), (), title)
        texts = label_texts(values)
        kinds = label_texts(distinct).tolist() if numeric else in_order({*texts[there]}, levels)
        texts[~there] = WITHOUT
        if what == "style" and len(kinds) > MOST_GROUPS:
            problem = f"has {len(kinds)} distinct values, but there are {MOST_GROUPS} markers"
            raise ParameterError(what, allowed=problem, hint="Use hue for these.")
        return cls(texts, (*kinds, *([] if there.all() else [WITHOUT])), title)

    @cached_property
    def is_scale(self) -> bool:
        """Whether these are numbers on a continuous scale."""
        return self.values is not None and not self.kinds

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The kinds without "no label"."""
        return tuple(kind for kind in self.kinds if kind != WITHOUT)

    @cached_property
    def is_many(self) -> bool:
        """Whether there are more classes than colours, so that their names stand in the figure."""
        return len(self.classes) > MOST_GROUPS

    @cached_property
    def frequent(self) -> list[str]:
        """The classes that have a colour and a marker each: the most frequent ones."""
        counts = Counter(self.values.tolist() if self.kinds else [])
        kept = sorted(self.classes, key=lambda kind: -counts[kind])[:MOST_GROUPS]
        return [kind for kind in self.classes if kind in kept]

    def colours(self) -> dict[str, str]:
        """Return the colour of each kind, grey of those beyond the most frequent ones."""
        every = dict.fromkeys(self.classes, style.GREY) | {WITHOUT: PALEST}
        return every | dict(zip(self.frequent, style.COLOURS, strict=False))

    def markers(self) -> dict[str, str]:
        """Return the marker of each kind."""
        every = dict.fromkeys((*self.classes, WITHOUT), "o")
        return every | dict(zip(self.frequent, style.MARKERS, strict=False))


@dataclass(frozen=True, eq=False)
class Ellipse:
    """An ellipse of a group: of its "rows", or of their "mean", through corners of shape (m, 2)."""

    group: str
    of: str
    corners: FloatArray


@dataclass(frozen=True, eq=False)
class ScoresData(Data):
    """What a figure of scores shows; ``columns`` has the name or row, scores, group and style of each point.

    Attributes
    ----------
    values : ndarray of shape (n, 2)
        Scores. Of a single component the second column has the places of the rows.
    components : tuple of str
        Two names such as "PC1", or one.
    labels : tuple of str
        Names of all rows that stand in the figure, or none.
    hue, style : Groups
        What sets the colours, and the markers if that is another.
    ellipses : tuple of Ellipse
    drawn : ndarray of int
        The places of the rows that are drawn: all, or a random sample of very many.
    arrows : Arrows or None
        The loadings of all columns, in a biplot.
    """

    values: FloatArray
    components: tuple[str, ...]
    labels: tuple[str, ...]
    hue: Groups
    style: Groups
    ellipses: tuple[Ellipse, ...]
    drawn: AnyArray
    arrows: Arrows | None = None

    def edges(self) -> list[list[float]]:
        """Return axis limits around the rows and arrows, and around ellipses that are not far larger."""
        room = np.array(style.edges_of(self.values, margin=WIDER))
        lines = (np.clip(ellipse.corners, *room.T) for ellipse in self.ellipses)
        edges = style.edges_of(self.values, *lines, margin=0.05)
        return edges if self.arrows is None else [self.arrows.widened(edge) for edge in edges]

    def medians(self) -> FloatArray:
        """Return the medians of the classes."""
        return np.stack(
            [np.median(self.values[self.hue.values == kind], axis=0) for kind in self.hue.classes]
        )


def scores_data(
    model: Any,
    X: Any = None,
    *,
    components: int | str | Sequence[int | str] = (1, 2),
    hue: Any = None,
    style: Any = None,
    labels: Any = None,
    ellipses: bool = True,
    mapped: Any = None,
) -> ScoresData:
    """Return what :func:`scores` draws, whose arguments these are.

    Parameters
    ----------
    model, X, components, hue, style, labels, ellipses, mapped
        As of :func:`scores`.

    Returns
    -------
    ScoresData
        Frozen: scores, names, groups, ellipses, titles and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> data = gramian.figures.scores_data(gramian.PCA(3).fit(X), X, hue=["a", "b"] * 15)
    >>> data.values.shape, data.hue.kinds, list(data.columns)
    ((30, 2), ('a', 'b'), ['row', 'PC1', 'PC2', 'group'])
    """
    X = X.read(expected_columns(model)) if isinstance(X, Scan) else X
    Z = as_float64(_mapped(model, X) if mapped is None else mapped)
    n, k = Z.shape
    groups, markers = Groups.of(hue, n, model, X), Groups.of(style, n, model, X, "style")
    indices = pair_of(components, k)
    single = len(indices) == 1
    values = np.stack([Z[:, indices[0]], np.arange(n)], axis=1) if single else Z[:, indices]
    names = None if labels is False else labels
    if labels is None:
        names = getattr(X, "row_names", None)
        names = index_names(X) if names is None else names
    elif isinstance(labels, str):
        names = column_of(labels, model, X, "labels")[0]
    if names is not None:
        _check_length("labels", names, n)
        names = tuple("" if name is None else str(name) for name in names)
    written = names or ()
    if labels is None and (n > NAMED or groups.is_many):
        written = () if groups.is_many or single else _outermost(values, written)
    lines, sentences = _ellipses(values, groups) if ellipses and not single else ([], [])
    drawn, few = sampled_rows(n)
    notes = [few, *["Names: the outermost rows."] * ("" in written and labels is None)]
    if groups.is_scale and (without := int(np.isnan(groups.values).sum())):
        notes.append(f"{counted(without, 'row')} without {groups.title or 'a value'} not drawn.")
    components = tuple(f"PC{index + 1}" for index in indices)
    x, y = axis_title(model, indices[0]), "row" if single else axis_title(model, indices[1])
    numbers = getattr(X, "row_numbers", None)
    every = names or (range(n) if numbers is None else numbers)
    columns = {"row" if names is None else "name": [every[i] for i in drawn.tolist()]}
    columns |= dict(zip([*components, "position"], values[drawn].T, strict=False))
    looks = {"group": groups.values, "style": markers.values}
    columns |= {name: column[drawn].tolist() for name, column in looks.items() if column is not None}
    title = _separation(values[:, : len(indices)], components, groups)
    about = values, components, written, groups, markers, tuple(lines), drawn
    return ScoresData(columns, notes + sentences, *about, title=title, x=x, y=y)


@figure(scores_data)
def scores(data: ScoresData, ax: Any, **scatter: Any) -> Any:
    """Draw the scores of two components.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or FaceSpace
        The model that maps the rows.
    X : array-like of shape (n_samples, n_features), optional
        Rows to map. An exact KernelPCA keeps the scores of its training rows; other models need them again.
    components : pair of int or str, default=(1, 2)
        Components, such as 3 or ``"PC3"``; a unit of both has the same length, unless one range is more than
        three times the other. A single component is drawn over the order of the rows.
    hue : array-like of shape (n_samples,), str, optional
        Labels or numbers that set the colour, or the name of a column of ``X`` that the model uses, or of its
        labels and metadata; by default the first labels of a table, and ``""`` for one colour. Up to eight
        classes get a colour and a marker each; of more, the others are grey, and the names of all stand at
        their medians. More than ten distinct numbers get a continuous scale.
    style : array-like of shape (n_samples,), str, optional
        Labels that set the marker, in place of those that set the colour; at most eight classes.
    labels : sequence of n_samples, str or False, optional
        Names of rows ("" for none), or the name of a column of them; by default the row names of ``X`` for up
        to 60 rows, and of the outermost of up to 250. They are written where they do not overlap.
    ellipses : bool, default=True
        Whether to draw the normal ellipse of each class, of probability 0.95, and the confidence ellipse of
        its mean (thick): for classes that spread like a normal distribution, unless one component is a curve
        of the other.
    title : str or None, default="auto"
        "auto" names groups that a component separates from all others.
    mapped : array-like of shape (n_samples, n_components), optional
        Known scores, in place of those of ``X``.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default in a new figure.
    **scatter
        For ``Axes.scatter``, such as ``s=10`` or ``alpha=0.5``.

    Returns
    -------
    matplotlib.axes.Axes
        Of more than 10,000 rows it has a random sample.

    Raises
    ------
    ParameterError
        For an unknown component or column, or a wrong number of colours or labels.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> ax = gramian.figures.scores(gramian.PCA(3).fit(X), X, components=("PC1", 3), hue=X[:, 0], s=8)
    >>> ax.get_xlabel().startswith("PC1 (")
    True
    >>> ax.figure.savefig("scores.pdf")  # doctest: +SKIP
    """
    return draw(data, ax, **scatter)


def draw(data: ScoresData, ax: Any, **scatter: Any) -> Any:
    """Draw scores, perhaps with arrows."""
    single, arrows = not data.components[1:], data.arrows
    ax, edges, equal = style.subplots(ax=ax), data.edges(), False
    if not single:
        edges, equal = style.equal_units(ax, edges)
    style.zero_lines(ax, y=not single)
    colours = data.hue.colours()
    for ellipse in data.ellipses:
        width = 1.8 if ellipse.of == "mean" else 0.7
        ax.plot(*ellipse.corners.T, color=colours[ellipse.group], linewidth=width, alpha=0.9, zorder=2.5)
    draw_points(ax, data, **({} if arrows is None else {"alpha": 0.6}) | scatter)
    draw_legend(ax, data, **scatter)
    labels = Labels(ax)
    style.note(ax, *data.notes, "" if equal or single else "The axes have different scales.")
    if arrows is not None:
        style.note(ax, arrows.draw(ax, labels, edges, equal))
    labels.block(data.values[data.drawn])
    if data.hue.is_many:
        named: dict[str, Any] = {"kind": "groups", "what": "group name", "weight": "bold", "alpha": 1}
        labels.add(data.medians(), data.hue.classes, **named)
    if data.labels:
        labels.add(data.values, data.labels, what="row name")
    style.note(ax, labels)
    style.set_edges(ax, edges, equal)
    return ax


def draw_points(ax: Any, data: Any, **scatter: Any) -> None:
    """Draw the points of each marker."""
    rows, hue, shapes = np.asarray(data.drawn), data.hue, data.style if data.style.kinds else data.hue
    n, colours, markers, drawn = len(rows), hue.colours(), shapes.markers(), None
    look: dict[str, Any] = {
        **{"s": 16 if n <= 150 else 9, "alpha": 0.85 if n <= 2000 else 0.6, "zorder": 2},
        **{"linewidths": 0.3 if n <= 2000 else 0, "edgecolors": [ax.get_facecolor()]},
        **{"rasterized": n > style.RASTER, "color": style.BLUE},
    }
    if hue.is_scale:
        del look["color"]
        look |= {"cmap": "viridis", "vmin": np.nanmin(hue.values), "vmax": np.nanmax(hue.values)}
        rows = rows[np.isfinite(hue.values[rows])]
    for kind in shapes.kinds or [WITHOUT]:
        some = rows[shapes.values[rows] == kind] if shapes.kinds else rows
        if hue.is_scale:
            look["c"] = hue.values[some]
        elif hue.kinds:
            look["color"] = [colours[value] for value in hue.values[some]]
        drawn = ax.scatter(*data.values[some].T, **look | {"marker": markers[kind]} | scatter)
    if hue.is_scale:
        style.colour_bar(ax, drawn, hue.title)


def draw_legend(ax: Any, data: Any, **scatter: Any) -> None:
    """Add a legend of colours, and of markers if these are others."""
    hues = () if data.hue.is_many else data.hue.kinds  # else medians have names
    colours, markers = data.hue.colours(), data.hue.markers()
    looks = [(colours[kind], scatter.get("marker", markers[kind])) for kind in hues]
    if data.style.kinds:
        looks = [(colour, "o") for colour, _ in looks]
        looks += [(style.ink(), data.style.markers()[kind]) for kind in data.style.kinds]
    plain = {"linestyle": "", "markersize": 4.5, "markeredgewidth": 0}
    handles = [Line2D([], [], color=colour, marker=marker, **plain) for colour, marker in looks]
    title = ", ".join(filter(None, dict.fromkeys([data.hue.title if hues else "", data.style.title])))
    if handles:
        style.legend(ax, handles, [*hues, *data.style.kinds], title)


def pair_of(components: Any, k: int) -> list[int]:
    """Return the places, from 0, of one or two components; of a single one where there is no other.

    Raises
    ------
    ParameterError
        For more of them, equal or unknown ones.

    Examples
    --------
    >>> pair_of((1, "PC3"), 5), pair_of(2, 5), pair_of((1, 2), 1), pair_of("PC1", 1)
    ([0, 2], [1], [0], [0])
    """
    first = components[:1] if k == 1 and isinstance(components, Sequence | np.ndarray) else components
    indices = places_of(components if isinstance(components, str) else first, k)
    if not 0 < len(indices) <= 2 or len(set(indices)) < len(indices):
        hint = "Name two different components, such as (1, 3), or one."
        raise ParameterError("components", components, "are not two different components", hint)
    return indices


def _mapped(model: Any, X: Any) -> Any:
    if X is not None:
        return model.transform(X)
    vectors = getattr(model, "eigenvectors_", None)
    if vectors is not None:
        return as_float64(vectors) * np.sqrt(as_float64(model.eigenvalues_))
    raise DataError("The model does not contain its training rows.", "Pass them: scores(model, X).")


def _outermost(values: FloatArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the outermost of some hundred rows, "" of the others; numbers are no names."""
    if not NAMED < len(names) <= MOST_NAMED or not any(map(str.isalpha, "".join(names))):
        return ()
    _, extreme = outermost(values, np.maximum(np.ptp(values, axis=0), np.finfo(np.float64).tiny))
    return tuple(name if shown else "" for name, shown in zip(names, extreme, strict=True))


def _check_length(name: str, values: Any, n: int) -> None:
    if len(values) != n:
        problem = f"has {len(values)} entries for {n} rows"
        raise ParameterError(name, allowed=problem, hint="Give one for each row.")


def column_of(name: str, model: Any, X: Any, what: str) -> tuple[Any, Sequence[str]]:
    """Return a column of the data or its labels, and its ordered categories.

    Raises
    ------
    ParameterError
        If there is no such column.
    """
    levels = X.levels.get(name, ()) if isinstance(X, Table) else ()
    further = label_columns(X) if isinstance(X, Table) else {}
    if name in further:
        return further[name], levels
    columns = feature_names_of(model)
    if X is None or name not in columns:
        problem = f"is not a column of the data: {listed([*columns, *further])}"
        hint = "Name one of these, or give one label for each row."
        raise ParameterError(what, name, problem, hint)
    return numbers_of(X)[:, columns.index(name)], ()


def _separation(values: FloatArray, components: Sequence[str], groups: Groups) -> str:
    """Return which groups a component separates, if all rows that are looked at are on their side."""
    if not 1 < len(groups.classes) <= MOST_GROUPS:
        return ""
    result = separation_of(values, np.where(groups.values == WITHOUT, "", groups.values))
    if result is None or result.component is None or result.sided < 1:
        return ""
    sides = [result.group, *([result.others] if len(groups.classes) == 2 else [])]
    texts = (" and ".join(map(style.drawable, side)) for side in sides)
    what = (
        f"{groups.title} " if groups.classes[0].isdigit() and groups.title else ""
    )  # of 4, 6 and 8 cylinders
    return f"{components[result.component]} separates {what}{' from '.join(texts)}"


def _ellipses(values: FloatArray, groups: Groups) -> tuple[list[Ellipse], list[str]]:
    """Return the ellipses of classes, and sentences about them."""
    result, without, kinds = list[Ellipse](), [], () if groups.is_many else groups.classes
    if kinds and any(curve(pair) is not None for pair in (values, values[:, ::-1])):
        return [], ["No ellipses: the rows lie on a curve."]
    for kind in kinds:
        members = values[groups.values == kind]
        if len(members) >= FEWEST_OF_MEAN and not_normal(members):
            without.append(kind)
            continue
        if len(members) >= FEWEST:
            result.append(Ellipse(kind, "rows", normal_ellipse(members, USUAL)))
        if len(members) >= FEWEST_OF_MEAN:
            result.append(Ellipse(kind, "mean", mean_ellipse(members, USUAL)))
    about = f"Ellipses: {100 * USUAL:g} % of a normal distribution (thin), and of its mean (thick)."
    notes = [about] if result else []
    if without:
        notes.append(f"No ellipse of {listed(without)}: not spread like a normal distribution.")
    return result, notes
