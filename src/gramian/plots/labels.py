"""Labels of points and arrows, placed without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gramian.plots.style import HEIGHT, INK, WIDTH, table
from gramian.plots.style import LINE as LINE_COLOUR
from gramian.records import FloatArray

LETTER, LINE = 6.0, 11.0  # pixels of a letter across, and of a line of text
DOT, STEP = 3.0, 5.0  # half a point; between the points that block an arrow
RINGS = (0.0, 8.0, 18.0, 30.0, 44.0, 60.0, 80.0)  # pixels between a point and its label
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

    def __init__(
        self, x_limits: Sequence[float], y_limits: Sequence[float], size: tuple[int, int] = (WIDTH, HEIGHT)
    ) -> None:
        self.corner = np.array([x_limits[0], y_limits[0]])
        self.size = np.array(size, dtype=float)
        self.unit = np.array([np.ptp(x_limits), np.ptp(y_limits)]) / self.size
        self.boxes = np.empty((0, 4))
        self.texts = np.empty((0, 4))

    def block(self, points: FloatArray) -> None:
        """Keep labels off points of shape (n, 2)."""
        at = (points - self.corner) / self.unit
        self.boxes = np.vstack([self.boxes, np.hstack([at - DOT, at + DOT])])

    def block_arrows(self, tips: FloatArray) -> None:
        """Keep labels off the lines from the origin to some points."""
        longest = float(np.hypot(*(tips / self.unit).T).max(initial=0.0))
        for share in np.linspace(0, 1, max(2, int(longest / STEP))):
            self.block(share * tips)

    def places(self, points: FloatArray, texts: Sequence[str], outward: bool = False) -> FloatArray:
        """Return the centre of each label, NaN where there is no free place; earlier labels come first.

        Parameters
        ----------
        points : ndarray of shape (n, 2)
        texts : sequence of n str
        outward : bool
            Whether to prefer places away from the origin, and to look further away.
        """
        middle = np.full((len(texts), 2), np.nan)
        for place, text in enumerate(texts):
            at = (points[place] - self.corner) / self.unit
            half = np.array([LETTER * len(text), LINE]) / 2
            away = points[place] / self.unit if outward else np.zeros(2)
            taken = np.vstack([self.boxes, self.texts])
            moves = (move for ring in RINGS[: None if outward else NEAR] for move in _moves(half, ring, away))
            result = next((m for m in moves if self._is_free(at + m - half, at + m + half, taken)), None)
            if result is not None:
                middle[place] = self.corner + (at + result) * self.unit
                self.texts = np.vstack([self.texts, np.hstack([at + result - half, at + result + half])])
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
        half = np.array([[LETTER * len(texts[i]), LINE] for i in kept]).reshape(-1, 2) / 2 * self.unit
        ends = np.clip(points[kept], middle[kept] - half, middle[kept] + half)
        far = np.hypot(*((ends - points[kept]) / self.unit).T) > NEXT
        starts = np.where(far[:, None], points[kept], ends)
        columns = {"text": [texts[i] for i in kept], "text_x": middle[kept, 0], "text_y": middle[kept, 1]}
        columns |= {"from_x": starts[:, 0], "from_y": starts[:, 1], "to_x": ends[:, 0], "to_y": ends[:, 1]}
        base = alt.Chart(table(columns))
        words = base.mark_text(**{"fontSize": 10.5, "color": INK, "baseline": "middle"} | looks)
        leaders = base.mark_rule(color=LINE_COLOUR, strokeWidth=0.6)
        layers = [
            leaders.encode(x="from_x:Q", y="from_y:Q", x2="to_x", y2="to_y"),
            words.encode(x="text_x:Q", y="text_y:Q", text="text:N"),
        ]
        return layers[0 if far.any() else 1 :], len(texts) - len(kept)


def _moves(half: FloatArray, ring: float, away: FloatArray) -> list[tuple[float, float]]:
    """Return the places around a point, this many pixels from it; the most outward ones first."""
    side, up = half + DOT + [2, 1] + ring
    moves = [(side, 0.0), (-side, 0.0), (0.0, up), (0.0, -up)]
    moves += [(side, up), (-side, up), (side, -up), (-side, -up)]
    moves += [(side / 2, up), (-side / 2, up), (side / 2, -up), (-side / 2, -up)] if ring else []
    return (
        sorted(moves, key=lambda move: -float(np.dot(move, away) / np.hypot(*move))) if away.any() else moves
    )
