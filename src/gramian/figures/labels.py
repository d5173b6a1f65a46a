"""Arrows, and labels of points and arrows, placed when a figure is drawn so that none covers another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform

from gramian.core.checks import counted, number
from gramian.core.records import AnyArray, BoolArray, FloatArray, IndexArray
from gramian.figures import style

DOT = 2.2  # typographic points of half a point of data
RINGS = (0.6, 5.6, 11.6, 19.6, 29.6, 41.6)  # between a point and its label
NEAR = 3  # of these for points that are not extreme
LED = 5.0  # distance above which a line leads to the label
GAP = 0.8  # between labels
WEIGHTS = {"points": 60, "arrows": 20, "groups": 6}  # of a covered point, in points of distance
# Directions from a point to its label, on the edge of a square, and their costs: the right one is the best.
ANGLES = 2 * np.pi * np.arange(16) / 16
AROUND = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
SIDES = AROUND / np.abs(AROUND).max(axis=1, keepdims=True)
COSTS = 3 * np.abs(SIDES).min(axis=1) - 0.5 * SIDES[:, 0]
MOST, NAMED = 40, 12  # arrows that are drawn, and that have a name: the longest
WIDE = 95.0  # millimetres of axes above which more have a name
PALE = 0.3  # opacity of the others
FIT = 0.8  # share of the room to the edge for the longest arrow
Kind = Literal["points", "arrows", "groups"]


class Labels(Artist):  # type: ignore[misc]
    """Labels that are placed at the size at which the figure is drawn.

    Earlier labels come first, of points the outermost ones. A label may not cover another one; one of a point
    covers no point, unless the point is the outermost in a direction. What has no place is left out.

    Attributes
    ----------
    drawn : list of Artist
        After drawing, the texts that are shown, and lines that lead to them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure(figsize=(2, 2)).subplots()
    >>> labels = Labels(ax)
    >>> labels.add(np.array([[0.5, 0.5], [0.52, 0.5]]), ["a", "b"])
    >>> ax.figure.draw_without_rendering()
    >>> [text.get_text() for text in labels.drawn]
    ['a', 'b']
    """

    def __init__(self, ax: Axes) -> None:
        super().__init__()
        self.set_zorder(6)
        self.set_in_layout(False)
        ax.add_artist(self)
        self.groups: list[tuple[FloatArray, list[Text], str, str]] = []
        self.obstacles = np.empty((0, 2))
        self.drawn: list[Artist] = []

    def sentence(self) -> str:
        """Return how many labels of each kind are hidden."""
        hidden = [sum(text not in self.drawn for text in texts) for _, texts, _, _ in self.groups]
        many = [counted(len(texts), what) for _, texts, _, what in self.groups]
        pairs = zip(hidden, many, strict=True)
        return " ".join(f"{few} of {every} hidden to avoid overlap." for few, every in pairs if few)

    def block(self, points: FloatArray) -> None:
        """Keep labels off points of shape (n, 2)."""
        self.obstacles = np.vstack([self.obstacles, points])

    def add(
        self, points: FloatArray, texts: Sequence[Any], kind: Kind = "points", what: str = "name", **look: Any
    ) -> None:
        """Add labels of points of shape (n, 2); ``look`` is of matplotlib's Text.

        Those of "arrows" stand outwards from the origin, those of "groups" over their points; both rather
        cover other points than are left out.
        """
        there = [index for index, text in enumerate(texts) if str(text).strip()]
        look = {"fontsize": "small", "color": style.ink(), "alpha": 0.85} | look | style.PLAIN
        look |= {"ha": "center", "va": "center", "figure": self.get_figure()}
        look["bbox"] = {"facecolor": self.axes.get_facecolor(), "alpha": 0.6, "linewidth": 0, "pad": 0.3}
        look["transform"] = IdentityTransform()
        made = [Text(0, 0, style.drawable(texts[index], 28), **look) for index in there]
        self.groups.append((np.asarray(points, dtype=float)[there], made, kind, what))

    def draw(self, renderer: Any) -> None:
        """Place the labels and draw them."""
        self._place(renderer)
        for text in self.drawn:
            text.draw(renderer)

    def _place(self, renderer: Any) -> None:
        scale, legend = float(renderer.points_to_pixels(1.0)), self.axes.get_legend()
        room = Room(self.axes.bbox.min, self.axes.bbox.max, self._pixels(self.obstacles), scale)
        if legend is not None:
            room.boxes = legend.get_window_extent(renderer).extents.reshape(1, 4)
        origin, self.drawn = self._pixels(np.zeros(2))[0], []
        for positions, texts, kind, _ in self.groups:
            points = self._pixels(positions)
            halves = [text.get_window_extent(renderer).size / 2 for text in texts]
            for index, centre in room.places(points, halves, kind, origin):
                self._set(texts[index], points[index], centre, halves[index], scale)

    def _set(self, label: Text, at: Any, centre: Any, half: Any, scale: float) -> None:
        label.set_position((centre[0], centre[1]))
        self.drawn.append(label)
        end = np.clip(at, centre - half, centre + half)
        if np.hypot(*(end - at)) > LED * scale:
            line = Line2D(*np.transpose([at, end]), color=style.LINE, linewidth=0.5)
            line.set(transform=IdentityTransform(), figure=self.get_figure())
            self.drawn.insert(0, line)

    def _pixels(self, points: FloatArray) -> FloatArray:
        return np.asarray(self.axes.transData.transform(np.reshape(points, (-1, 2))))


class Room:
    """A frame in which labels stand near their points, and none covers another.

    Parameters
    ----------
    low, high : ndarray of shape (2,)
        Its corners, in pixels.
    dots : ndarray of shape (n, 2)
        Points that labels of points do not cover.
    unit : float
        Pixels of a typographic point.
    rings : int
        How many of the distances there are for labels that must not be left out.
    """

    def __init__(self, low: Any, high: Any, dots: FloatArray, unit: float, rings: int = len(RINGS)) -> None:
        self.low, self.high, self.dots, self.unit, self.rings = low, high, dots, unit, rings
        self.boxes = np.empty((0, 4))

    def places(self, points: FloatArray, halves: Any, kind: str, origin: Any) -> Iterator[tuple[int, Any]]:
        """Yield the place of each point whose label has room, and the centre of the label.

        ``halves`` are half the widths and heights of labels, and arrows begin at ``origin``.
        """
        order, extreme = np.arange(len(points)), np.zeros(len(points), dtype=bool)
        if kind == "points" and len(points):
            away, extreme = outermost(points, np.maximum(self.high - self.low, 1))
            order = np.lexsort([-np.hypot(*away.T), ~extreme])
        named = np.isfinite(points).all(axis=1) & (np.reshape(halves, (-1, 2))[:, 0] > 0)
        for index in order[named[order]].tolist():
            at, half = points[index], halves[index] + GAP * self.unit
            must = kind != "points" or bool(extreme[index])
            away = at - origin if kind == "arrows" else np.zeros(2)
            rings = RINGS[: self.rings if must else NEAR]
            moves, costs = _candidates(half, self.unit, away, rings, kind == "groups")
            low, high = at + moves - half, at + moves + half
            free = (low >= self.low).all(axis=1) & (high <= self.high).all(axis=1)
            free &= _covered(low, high, self.boxes[:, :2], self.boxes[:, 2:]) == 0
            low, high, moves, costs = low[free], high[free], moves[free], costs[free]
            covered = _covered(low, high, self.dots - DOT * self.unit, self.dots + DOT * self.unit)
            if len(covered) and (must or covered.min() == 0):
                best = int(np.argmin(costs + WEIGHTS[kind] * covered))
                self.boxes = np.vstack([self.boxes, [*low[best], *high[best]]])
                yield index, at + moves[best]


def outermost(points: FloatArray, unit: Any) -> tuple[FloatArray, BoolArray]:
    """Return how far points are from their mean, in units, and which are the outermost in a direction."""
    away = (np.nan_to_num(points) - np.nanmean(points, axis=0)) / unit
    return away, np.isin(np.arange(len(away)), np.argmax(away @ AROUND.T, axis=0))


def _candidates(half: Any, scale: float, away: Any, rings: Any, over: bool) -> tuple[FloatArray, FloatArray]:
    """Return places relative to a point, and what each costs: near ones, and outward ones, are better."""
    candidates = np.concatenate([SIDES * (half + (DOT + ring) * scale) for ring in rings])
    costs = np.concatenate([COSTS + 2 * ring for ring in rings])
    if np.hypot(*away) > 0:
        costs = costs + 14 * (1 - candidates @ away / (np.hypot(*candidates.T) * np.hypot(*away)))
    return (np.vstack([candidates, [0, 0]]), np.append(costs, -40.0)) if over else (candidates, costs)


def _covered(low: FloatArray, high: FloatArray, lowest: FloatArray, highest: FloatArray) -> AnyArray:
    """Return how many of n boxes each of m boxes overlaps."""
    near = (lowest < high.max(axis=0, initial=-np.inf)) & (highest > low.min(axis=0, initial=np.inf))
    lowest, highest = lowest[near.all(axis=1)], highest[near.all(axis=1)]  # a few of very many
    x, y = ((lowest[:, j] < high[:, j, None]) & (highest[:, j] > low[:, j, None]) for j in (0, 1))
    return np.asarray(np.count_nonzero(x & y, axis=1))


# ------------------------------------------------------------------ arrows


def draw_arrows(ax: Any, start: FloatArray, steps: FloatArray, **quiver: Any) -> None:
    """Draw arrows from one point, by steps of shape (d, 2) in units of the axes."""
    look = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches", "color": style.ink()}
    look |= {"width": 0.9 / 72, "headwidth": 4, "headlength": 7, "headaxislength": 7, "minlength": 0}
    look["zorder"] = 4
    ax.quiver(*np.broadcast_to(start, steps.shape).T, *steps.T, **look | quiver)


def along(steps: FloatArray) -> FloatArray:
    """Return points along arrows from the origin, off which labels are kept."""
    return (np.linspace(0, 1, 60)[:, None, None] * steps).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Arrows:
    """Labelled arrows from the origin.

    Attributes
    ----------
    tips : ndarray of shape (d, 2)
    names : sequence of d str
    """

    tips: FloatArray
    names: Sequence[str]

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
        factors = np.minimum(factors, factors.min()) if equal else factors
        x, y = (number(factor, 3) for factor in factors)
        about = f"Arrows are loadings times {x if equal else f'{x} along X and {y} along Y'}."
        return factors * self.tips, about

    def longest(self, tips: FloatArray) -> IndexArray:
        """Return the places of the arrows that are drawn, the longest first."""
        return np.argsort(-np.hypot(*tips.T), kind="stable")[:MOST]

    def draw(self, ax: Any, labels: Labels, edges: Any = None, equal: bool = True, **look: Any) -> str:
        """Draw the arrows, add their names to labels, and return a sentence."""
        tips, about = (self.tips, "") if edges is None else self.scaled(edges, equal)
        order, most = self.longest(tips), round(NAMED * max(style.millimetres(ax)[0] / WIDE, 1) ** 2)
        tips, names = tips[order], [self.names[j] for j in order[:most].tolist()]
        draw_arrows(ax, np.zeros(2), tips, alpha=np.where(np.arange(len(tips)) < most, 1, PALE), **look)
        # Axes of equal units, when they know their size, may cut limits to the range of the data around 0.
        ax.update_datalim([*tips, *-tips])
        tips = tips[: len(names)]
        labels.block(along(tips))
        labels.add(tips, names, kind="arrows", what="arrow name", alpha=1, weight="bold", **look)
        few = len(self.names) > MOST
        sentences = [about, f"The {MOST} longest of {len(self.names):,} arrows." if few else ""]
        if len(names) < len(order):
            sentences.append(f"Names: the {len(names)} longest; the others are lighter.")
        return " ".join(filter(None, sentences))
