"""Labels of points and arrows, placed without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gramian.plots.style import HEIGHT, INK, WIDTH, table
from gramian.records import FloatArray

LETTER, LINE = 6.0, 11.0  # pixels of a letter across, and of a line of text
DOT, STEP = 3.0, 5.0  # half a point; between the points that block an arrow


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
            Whether to prefer places away from the origin.
        """
        middle = np.full((len(texts), 2), np.nan)
        for place, text in enumerate(texts):
            at = (points[place] - self.corner) / self.unit
            half = np.array([LETTER * len(text), LINE]) / 2
            side, up = half + DOT + [2, 1]
            moves = [(side, 0), (-side, 0), (0, up), (0, -up)]
            moves += [(side, up), (-side, up), (side, -up), (-side, -up)]
            if outward:
                moves.sort(key=lambda move: -float(np.dot(move, points[place] / self.unit) / np.hypot(*move)))
            # A label of an arrow may cover points if there is no free place, but never another label.
            for taken in (np.vstack([self.boxes, self.texts]), self.texts)[: 1 + outward]:
                result = next((m for m in moves if self._is_free(at + m - half, at + m + half, taken)), None)
                if result is not None:
                    middle[place] = self.corner + (at + result) * self.unit
                    self.texts = np.vstack([self.texts, np.hstack([at + result - half, at + result + half])])
                    break
        return middle

    def _is_free(self, low: FloatArray, high: FloatArray, taken: FloatArray) -> bool:
        apart = (taken[:, :2] >= high) | (taken[:, 2:] <= low)
        return bool((low >= 0).all() and (high <= self.size).all() and apart.any(axis=1).all())

    def layer(
        self, points: FloatArray, texts: Sequence[str], color: str = INK, outward: bool = False
    ) -> tuple[Any, int]:
        """Return a layer of labels, and the number of hidden ones."""
        middle = self.places(points, texts, outward)
        kept = np.flatnonzero(np.isfinite(middle[:, 0])).tolist()
        columns = {"text": [texts[i] for i in kept], "text_x": middle[kept, 0], "text_y": middle[kept, 1]}
        layer = alt.Chart(table(columns)).mark_text(fontSize=10.5, color=color, baseline="middle")
        return layer.encode(x="text_x:Q", y="text_y:Q", text="text:N"), len(texts) - len(kept)
