"""Labels of points and arrows, placed when a figure is drawn so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist, allow_rasterization
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import Stroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform

from gramian.core.checks import counted
from gramian.core.records import FloatArray
from gramian.figures import style

DOT, STEP = 2.2, 3.0  # typographic points: half a point of data; between the places that block an arrow
RINGS = (0.0, 5.0, 11.0, 19.0, 29.0, 41.0)  # between a point and its label
NEAR = 3  # of these for points that are not extreme
LED = 5.0  # distance above which a line leads to the label
DIRECTIONS = 16  # in which the outermost point is extreme
GAP = 0.8  # between labels
# What it costs to cover a point, and to lead a line over another point or label, in points of distance.
WEIGHTS, CROSSED = {"points": 60, "arrows": 20, "groups": 6}, 25


@dataclass(frozen=True, eq=False)
class Group:
    """Labels of one kind: their points, their texts, and what they name."""

    points: FloatArray
    texts: list[Text]
    kind: str
    what: str


class Labels(Artist):  # type: ignore[misc]
    """Labels that are placed at the size at which the figure is drawn.

    Earlier labels come first, of points the outermost ones. A label may not cover another one; one of a point
    covers no point, unless the point is the outermost in a direction. What has no place is left out.

    Attributes
    ----------
    boxes : list of (str, Bbox)
        After drawing, the texts that are shown and where, in pixels.
    hidden : int
        How many have no place.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure(figsize=(2, 2)).subplots()
    >>> labels = Labels(ax)
    >>> labels.add(np.array([[0.5, 0.5], [0.52, 0.5]]), ["a", "b"])
    >>> ax.figure.draw_without_rendering()
    >>> [text for text, _ in labels.boxes]
    ['a', 'b']
    """

    def __init__(self, ax: Axes) -> None:
        super().__init__()
        self.set_zorder(6)
        self.set_in_layout(False)
        ax.add_artist(self)
        self.groups: list[Group] = []
        self.obstacles, self.arrows = np.empty((0, 2)), np.empty((0, 2))
        self.boxes: list[tuple[str, Bbox]] = []
        self.lines: list[Line2D] = []
        self._placed: list[Text] = []

    @property
    def hidden(self) -> int:
        """How many labels have no place."""
        return sum(len(group.texts) for group in self.groups) - len(self.boxes)

    def sentence(self) -> str:
        """Return how many labels of each kind are hidden."""
        said = []
        for group in self.groups:
            every, shown = len(group.texts), sum(text in self._placed for text in group.texts)
            if shown < every:
                said.append(f"{every - shown} of {counted(every, group.what)} hidden to avoid overlap.")
        return " ".join(said)

    def block(self, points: FloatArray, arrows: bool = False) -> None:
        """Keep labels off points of shape (n, 2), or off arrows from the origin to them."""
        if arrows:
            self.arrows = np.vstack([self.arrows, points])
        else:
            self.obstacles = np.vstack([self.obstacles, points])

    def add(
        self,
        points: FloatArray,
        texts: Sequence[Any],
        *,
        kind: Literal["points", "arrows", "groups"] = "points",
        what: str = "name",
        **look: Any,
    ) -> None:
        """Add labels of points of shape (n, 2); ``look`` is of matplotlib's Text.

        Those of "arrows" stand outwards from the origin, those of "groups" over their points; both rather
        cover other points than are left out.
        """
        look = {
            "fontsize": "small",
            "color": style.ink(),
            "alpha": 0.85,
            "ha": "center",
            "va": "center",
        } | look
        made, there = [], [place for place, text in enumerate(texts) if str(text).strip()]
        for text in (texts[place] for place in there):
            label = Text(0, 0, style.drawable(text, 28), transform=IdentityTransform(), **style.PLAIN, **look)
            label.set_figure(self.get_figure())
            made.append(label)
        self.groups.append(Group(np.asarray(points, dtype=float)[there], made, kind, what))

    @allow_rasterization  # type: ignore[untyped-decorator]
    def draw(self, renderer: Any) -> None:
        """Place the labels and draw them."""
        if not self.get_visible():
            return
        for label in self._place(renderer):
            self._draw_halo(label, renderer)
        for line in self.lines:
            line.draw(renderer)
        for label in self._placed:
            label.draw(renderer)
        self.stale = False

    def _draw_halo(self, label: Text, renderer: Any) -> None:
        """Draw an edge of the colour of the background; in an .svg with real text it is a style of it."""
        if hasattr(renderer, "writer") and style.is_real_text():
            label.set_gid("halo_")
            return
        ground = self.axes.get_facecolor()
        edge = [Stroke(linewidth=0.2 * label.get_fontsize(), foreground=ground, joinstyle="round")]
        label.set(path_effects=edge)
        label.draw(renderer)
        label.set(path_effects=[])

    def _place(self, renderer: Any) -> list[Text]:
        scale = float(renderer.points_to_pixels(1.0))
        frame = self.axes.bbox
        boxes = np.empty((0, 4))
        inside = self.axes.get_legend()
        if inside is not None:
            box = inside.get_window_extent(renderer)
            boxes = np.vstack([boxes, box.extents])
        dots = self._pixels(self.obstacles)
        lines = self._arrow_places(scale)
        self.boxes, self.lines, self._placed = [], [], []
        for group in self.groups:
            points = self._pixels(group.points)
            sizes = [label.get_window_extent(renderer).size for label in group.texts]
            halves = np.array(sizes).reshape(-1, 2) / 2 + GAP * scale
            order, extreme = _order(points, frame.bounds, group.kind)
            origin = self._pixels(np.zeros((1, 2)))[0]
            for place in order:
                at, half = points[place], halves[place]
                if not np.isfinite(at).all():
                    continue
                must = group.kind != "points" or bool(extreme[place])
                away = at - origin if group.kind == "arrows" else np.zeros(2)
                centres, costs = _candidates(half, scale, away, must, group.kind == "groups")
                centres = centres + at
                low, high = centres - half, centres + half
                free = (low >= frame.min).all(axis=1) & (high <= frame.max).all(axis=1)
                free &= ~_overlap(low, high, boxes).any(axis=1)
                if not free.any():
                    continue
                low, high, centres, costs = low[free], high[free], centres[free], costs[free]
                covered = _covered(low, high, dots, DOT * scale)
                covered = covered + 3 * _covered(low, high, lines, 0.5 * scale)
                if not must and covered.min() > 0:
                    continue
                ways = _ways(at, low, high, scale)
                crossed = np.zeros(len(low))
                for way in ways:
                    crossed += _covered(way, way, dots, DOT * scale) + _inside(way, boxes)
                best = int(np.argmin(costs + WEIGHTS[group.kind] * covered + CROSSED * crossed))
                boxes = np.vstack([boxes, [*low[best], *high[best]]])
                lines = np.vstack([lines, *(way[best : best + 1] for way in ways)])
                self._set(group.texts[place], at, centres[best], half - GAP * scale, scale)
        return self._placed

    def _set(self, label: Text, at: Any, centre: Any, half: Any, scale: float) -> None:
        label.set_position((centre[0], centre[1]))
        self._placed.append(label)
        self.boxes.append((label.get_text(), Bbox([centre - half, centre + half])))
        end = np.clip(at, centre - half, centre + half)
        if np.hypot(*(end - at)) > LED * scale:
            line = Line2D(*np.transpose([at, end]), color=style.LINE, linewidth=0.5)
            line.set(transform=IdentityTransform(), figure=self.get_figure())
            self.lines.append(line)

    def _pixels(self, points: FloatArray) -> FloatArray:
        if not len(points):
            return np.empty((0, 2))
        result: FloatArray = self.axes.transData.transform(points)
        return result

    def _arrow_places(self, scale: float) -> FloatArray:
        tips, origin = self._pixels(self.arrows), self._pixels(np.zeros((1, 2)))
        longest = float(np.hypot(*(tips - origin).T).max(initial=0.0)) if len(tips) else 0.0
        shares = np.linspace(0, 1, max(2, int(longest / (STEP * scale))))[:, None, None]
        return (origin + shares * (tips - origin)).reshape(-1, 2) if len(tips) else tips


def _order(points: FloatArray, frame: Any, kind: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the order in which labels are placed, and which of the points are outermost."""
    extreme = np.zeros(len(points), dtype=bool)
    if kind != "points" or not len(points):
        return np.arange(len(points)), extreme
    away = (np.nan_to_num(points) - np.nanmean(points, axis=0)) / np.maximum(frame[2:], 1)
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    extreme[np.argmax(away @ np.stack([np.cos(angle), np.sin(angle)]), axis=0)] = True
    return np.lexsort([-np.hypot(*away.T), ~extreme]), extreme


def _candidates(half: Any, scale: float, away: Any, far: bool, over: bool) -> tuple[FloatArray, FloatArray]:
    """Return places relative to a point, and what each costs: near ones, and outward ones, are better."""
    moves, costs = ([(0.0, 0.0)], [-40.0]) if over else ([], [])
    for ring in RINGS if far else RINGS[:NEAR]:
        side, up = half + (DOT + 0.6 + ring) * scale
        around = [(side, 0.0), (-side, 0.0), (0.0, up), (0.0, -up)]
        around += [(side, up), (-side, up), (side, -up), (-side, -up)]
        around += [(side / 2, up), (-side / 2, up), (side / 2, -up), (-side / 2, -up)]
        around += [(side, up / 2), (-side, up / 2), (side, -up / 2), (-side, -up / 2)] if ring else []
        moves += around
        costs += [2 * ring + 0.4 * place for place in range(len(around))]
    places, cost = np.array(moves), np.array(costs)
    if np.hypot(*away) > 0:
        turned = places @ away / (np.hypot(*places.T) * np.hypot(*away))
        cost = cost + 14 * (1 - turned)
    return places, cost


def _overlap(low: FloatArray, high: FloatArray, boxes: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which of m boxes overlap which of n, shape (m, n)."""
    apart = (boxes[:, :2] >= high[:, None]) | (boxes[:, 2:] <= low[:, None])
    return np.asarray(~apart.any(axis=2))


def _ways(at: Any, low: FloatArray, high: FloatArray, scale: float) -> list[FloatArray]:
    """Return places on the way from a point to each of m boxes, beyond the point itself."""
    ends = np.clip(at, low, high)
    away = ends - at
    distance = np.hypot(*away.T)
    start = np.minimum(2 * DOT * scale / np.maximum(distance, 1e-9), 1.0)[:, None]
    shares = (start, (2 * start + 1) / 3, (start + 2) / 3) if (distance > LED * scale).any() else ()
    return [np.where((distance > LED * scale)[:, None], at + share * away, np.nan) for share in shares]


def _inside(places: FloatArray, boxes: FloatArray) -> npt.NDArray[np.intp]:
    """Return in how many boxes each of m places is."""
    inside = (places[:, None] > boxes[:, :2]) & (places[:, None] < boxes[:, 2:])
    return np.asarray(inside.all(axis=2).sum(axis=1))


def _covered(low: FloatArray, high: FloatArray, points: FloatArray, radius: float) -> npt.NDArray[np.intp]:
    """Return how many points each of m boxes covers."""
    inside = (points > low[:, None] - radius) & (points < high[:, None] + radius)
    return np.asarray(inside.all(axis=2).sum(axis=1))
