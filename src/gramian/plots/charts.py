"""Charts as SVG text: a scatter of two columns, and ratios as bars."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import evenly
from gramian.records import FloatArray
from gramian.store import atomic_write

WIDTH, HEIGHT = 640, 480
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 56
# Okabe and Ito (2008): told apart by readers of every kind of colour vision.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"),
    *("#56B4E9", "#8C6D31", "#000000", "#7F3C8D", "#A5AA00"),
)
OTHER = "#9a9a9a"
# Ends and middle of viridis, for labels that are many different numbers.
RAMP = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
MOST_POINTS = 5000
LEGEND_WIDTH = 120


@dataclass(frozen=True)
class Chart:
    """A chart as SVG text."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to an .svg file, which appears whole or not at all."""
        with atomic_write(path) as file:
            file.write(self.svg.encode())


@dataclass(frozen=True)
class _Axes:
    """The drawing area and the numbers at its edges."""

    x: tuple[float, float]
    y: tuple[float, float]
    right: float

    def across(self, value: Any) -> Any:
        low, high = self.x
        return LEFT + (value - low) / (high - low) * (self.right - LEFT)

    def up(self, value: Any) -> Any:
        low, high = self.y
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - BOTTOM - TOP)


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Return round numbers between two limits.

    Examples
    --------
    >>> ticks(-0.7, 2.3)
    [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= raw)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]


def scatter(
    x: FloatArray,
    y: FloatArray,
    *,
    title: str,
    x_title: str,
    y_title: str,
    labels: npt.ArrayLike | None = None,
    label_title: str = "",
) -> Chart:
    """Draw points, coloured by label.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
    labels : array-like of shape (n,), optional
        Up to eight different ones get a colour each; more numbers a scale of colours; of more texts the
        most frequent ones are coloured.
    """
    n = len(x)
    shown = evenly(n, MOST_POINTS)
    colours, legend = _colours(None if labels is None else np.asarray(labels)[shown], len(shown))
    x, y = np.asarray(x, dtype=float)[shown], np.asarray(y, dtype=float)[shown]
    axes = _Axes(_limits(x), _limits(y), WIDTH - RIGHT - (LEGEND_WIDTH if legend else 0))
    radius = 3.2 if len(x) <= 500 else 2.2 if len(x) <= 2000 else 1.5
    points = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" fill="{colour}"/>'
        for a, b, colour in zip(axes.across(x), axes.up(y), colours, strict=True)
    ]
    note = "" if n <= MOST_POINTS else f" ({MOST_POINTS:,} of {n:,} rows)"
    body = [
        _frame(axes, x_title, y_title, zero=True),
        f'<g fill-opacity="0.75" stroke="none" class="points">{"".join(points)}</g>'.replace(
            "<circle ", f'<circle r="{radius}" '
        ),
        _legend(legend, label_title),
    ]
    return _page(title + note, body)


def bars(ratios: FloatArray, names: Sequence[str], *, title: str, y_title: str) -> Chart:
    """Draw ratios as bars, and the cumulative ones as a line, both in percent.

    Parameters
    ----------
    ratios : ndarray of shape (k,)
        Fractions of 1.
    names : sequence of str
    """
    k = len(ratios)
    percent = 100 * np.asarray(ratios, dtype=float)
    total = np.cumsum(percent)
    axes = _Axes((0.5, k + 0.5), (0.0, 100.0), WIDTH - RIGHT - LEGEND_WIDTH)
    width = (axes.right - LEFT) / k
    place = np.arange(1, k + 1)
    across, up = axes.across(place), axes.up(total)
    boxes = [
        f'<rect x="{a - 0.36 * width:.1f}" y="{b:.1f}" '
        f'width="{0.72 * width:.1f}" height="{axes.up(0.0) - b:.1f}"/>'
        for a, b in zip(across, axes.up(percent), strict=True)
    ]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    dots = [f'<circle r="2.6" cx="{a:.1f}" cy="{b:.1f}"/>' for a, b in zip(across, up, strict=True)]
    body = [
        _frame(axes, "", y_title, zero=False, x_ticks=False),
        f'<g fill="{COLOURS[0]}">{"".join(boxes)}</g>',
        f'<polyline points="{line}" fill="none" stroke="{COLOURS[1]}" stroke-width="1.5"/>',
        f'<g fill="{COLOURS[1]}">{"".join(dots)}</g>',
        *(_text(across[j], HEIGHT - BOTTOM + 18, names[j], "middle") for j in range(0, k, math.ceil(k / 12))),
        _legend([(COLOURS[0], "each"), (COLOURS[1], "cumulative")], ""),
    ]
    return _page(title, body)


def _limits(values: FloatArray) -> tuple[float, float]:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    margin = 0.05 * (high - low) or max(abs(high), 1.0) * 0.5
    return low - margin, high + margin


def _colours(labels: npt.NDArray[Any] | None, count: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the colour of every point, and the legend as pairs of colour and text."""
    if labels is None:
        return [COLOURS[0]] * count, []
    numeric = labels.dtype.kind in "iuf"
    kinds, place, counts = np.unique(
        labels if numeric else labels.astype(str), return_inverse=True, return_counts=True
    )
    many = len(kinds) > len(COLOURS)
    if many and numeric:
        low, high = float(kinds[0]), float(kinds[-1])
        colours = [_ramp((value - low) / (high - low)) for value in labels.tolist()]
        steps = ticks(low, high, 4)
        return colours, [(_ramp((step - low) / (high - low)), f"{step:g}") for step in steps]
    order = np.argsort(-counts, kind="stable") if many else np.arange(len(kinds))
    chosen = dict(zip(order.tolist(), COLOURS, strict=False))
    texts = [f"{kind:g}" if numeric else str(kind) for kind in kinds.tolist()]
    legend = [(colour, texts[kind]) for kind, colour in chosen.items()]
    if many:
        legend.append((OTHER, f"{len(kinds) - len(COLOURS)} others"))
    return [chosen.get(kind, OTHER) for kind in place.tolist()], legend


def _ramp(t: float) -> str:
    at = min(max(t, 0.0), 1.0) * (len(RAMP) - 1)
    i = min(int(at), len(RAMP) - 2)
    mixed = [round(a + (at - i) * (b - a)) for a, b in zip(RAMP[i], RAMP[i + 1], strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(text)}</text>'


def _frame(axes: _Axes, x_title: str, y_title: str, *, zero: bool, x_ticks: bool = True) -> str:
    bottom, middle = HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2
    parts = [
        f'<path d="M{LEFT} {TOP}V{bottom}H{axes.right}" fill="none" stroke="#555"/>',
        _text((LEFT + axes.right) / 2, HEIGHT - 14, x_title, "middle"),
        _text(18, middle, y_title, "middle", f' transform="rotate(-90 18 {middle:.1f})"'),
    ]
    for value in ticks(*axes.y):
        at = axes.up(value)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{axes.right}" stroke="{_grid(value, zero)}"/>')
        parts.append(_text(LEFT - 8, at + 4, f"{value:g}", "end"))
    for value in ticks(*axes.x) if x_ticks else ():
        at = axes.across(value)
        parts.append(f'<path d="M{at:.1f} {TOP}V{bottom}" stroke="{_grid(value, zero)}"/>')
        parts.append(_text(at, bottom + 18, f"{value:g}", "middle"))
    return "".join(parts)


def _grid(value: float, zero: bool) -> str:
    return "#bbb" if zero and value == 0 else "#eee"


def _legend(entries: list[tuple[str, str]], title: str) -> str:
    x = WIDTH - LEGEND_WIDTH - RIGHT + 18
    parts = [_text(x, TOP + 4, _short(title), more=' font-weight="bold"')] if entries and title else []
    for place, (colour, text) in enumerate(entries):
        y = TOP + 24 + 20 * place
        parts.append(f'<circle r="4.5" cx="{x + 5}" cy="{y - 4}" fill="{colour}"/>')
        parts.append(_text(x + 16, y, _short(text)))
    return "".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= 16 else text[:15] + "…"


def _page(title: str, body: list[str]) -> Chart:
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">'
    )
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    heading = _text(LEFT, 24, title, more=' font-size="14" font-weight="bold"')
    return Chart(
        "\n".join([start, f"<title>{html.escape(title)}</title>", background, heading, *body, "</svg>\n"])
    )
