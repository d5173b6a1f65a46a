"""Figures as files, and as parts of a page in its colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.figures import style

HEAD = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
ROOT = '<svg aria-hidden="true" stroke-linejoin="round" stroke-linecap="butt" '
STYLE, COLOUR = re.compile(r' style="[^"]*"'), re.compile("#[0-9a-f]{6}")
NAMES = re.compile(r' id="[a-z]+_\d+"')  # to which nothing refers
ALIKE = re.compile(r'<use [^>]*?( style="[^"]*")/>(?:\s*<use [^>]*?\1/>)+')  # neighbouring points
DPI = 144  # of pixels in an .svg


@dataclass(frozen=True)
class Drawn:
    """A figure that is drawn.

    Attributes
    ----------
    content : bytes
        A file, without the title.
    title, caption : str
        A heading, or "", and the sentences below the figure.
    """

    content: bytes
    title: str
    caption: str

    def inline(self) -> str:
        """Return the .svg as a part of a page, in whose colours it is."""
        svg = NAMES.sub("", HEAD.sub("", self.content.decode())).replace("<svg ", ROOT, 1)
        svg = STYLE.sub(lambda looks: COLOUR.sub(lambda colour: style.of_page(colour[0]), looks[0]), svg)
        return ALIKE.sub(lambda points: f"<g{points[1]}>{points[0].replace(points[1], '')}</g>", svg)


def content(draw: Callable[[], Any], kind: str, width: float | None = None) -> bytes:
    """Return a figure as a file of this kind, so many millimetres wide."""
    with style.canvas(width):
        return style.encoded(draw(), kind)


def drawn(draw: Callable[[], Any], name: str, width: float | None = None, kind: str = "svg") -> Drawn:
    """Return a figure as a file, so many millimetres wide, with its title and its sentences apart from it.

    Its name makes its ids differ from those of other figures of a page.
    """
    with style.canvas(width):
        axes = draw()
        figure = next(np.asarray(axes, dtype=object).flat).figure
        if title := figure.get_suptitle():
            figure.suptitle("").set_in_layout(False)
        file = style.encoded(axes, kind, dpi=DPI if kind == "svg" else None, salt=name)
    return Drawn(file, title, style.caption(axes))


def in_page(draw: Callable[[], Any], width: float, name: str) -> dict[str, Any]:
    """Return a figure for the page of the server, as JSON."""
    drawing = drawn(draw, name, width)
    return {"svg": drawing.inline(), "title": drawing.title, "caption": drawing.caption}
