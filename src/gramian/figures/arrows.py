"""Arrows of columns: loadings over points, and correlations inside a circle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import number
from gramian.core.records import FloatArray
from gramian.figures import style
from gramian.figures.labels import Labels

MOST, NAMED = 40, 12  # arrows that are drawn, and that have a name: the longest
PALE = 0.3  # opacity of the others
FIT = 0.8  # share of the room to the edge for the longest arrow


def draw_arrows(ax: Any, start: FloatArray, steps: FloatArray, **quiver: Any) -> None:
    """Draw arrows from one point, by steps of shape (d, 2) in units of the axes."""
    look = {
        "angles": "xy",
        "scale_units": "xy",
        "scale": 1,
        "units": "inches",
        "width": 0.9 / 72,
        "zorder": 4,
    }
    look |= {"headwidth": 4, "headlength": 7, "headaxislength": 7, "minlength": 0, "color": style.ink()}
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
        about = (
            f"Arrows are loadings times {number(factors[0], 3)} along X and {number(factors[1], 3)} along Y."
        )
        if equal:
            factors[:] = factors.min()
            about = f"Arrows are loadings times {number(factors[0], 3)}."
        return factors * self.tips, about

    def longest(self, tips: FloatArray) -> npt.NDArray[np.intp]:
        """Return the places of the arrows that are drawn, the longest first."""
        return np.argsort(-np.hypot(*tips.T), kind="stable")[:MOST]

    def draw(self, ax: Any, labels: Labels, edges: Any = None, equal: bool = True) -> str:
        """Draw the arrows, add their names to labels, and return a sentence."""
        tips, about = (self.tips, "") if edges is None else self.scaled(edges, equal)
        order = self.longest(tips)
        tips, names = tips[order], [self.names[j] for j in order[:NAMED].tolist()]
        draw_arrows(ax, np.zeros(2), tips, alpha=np.where(np.arange(len(tips)) < NAMED, 1, PALE))
        # Axes of equal units, when they know their size, may cut limits to the range of the data around 0.
        ax.update_datalim([*tips, *-tips])
        tips = tips[: len(names)]
        labels.block(along(tips))
        labels.add(tips, names, kind="arrows", what="arrow name", alpha=1, weight="bold")
        few = len(self.names) > MOST
        sentences = [about, f"The {MOST} longest of {len(self.names):,} arrows." if few else ""]
        if len(names) < len(order):
            sentences.append(f"Names: the {len(names)} longest; the others are lighter.")
        return " ".join(filter(None, sentences))
