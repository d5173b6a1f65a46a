"""Figures as files, and as parts of a page in its colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.figures import style

FONTS = "Arial, Helvetica, 'Liberation Sans', sans-serif"  # in whose widths texts are placed
HEAD = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
ROOT = re.compile(r"<svg[^>]*?( viewBox=\"[^\"]*\")[^>]*>")
NAMES = re.compile(r' id="[a-z]+_\d+"')  # to which nothing refers
TAG, STYLE = re.compile("<[^>]+>"), re.compile(r' style="([^"]*)"')
TURNED = re.compile(r' transform="rotate\(-?0 [^"]*"')
NUMBER = re.compile(r"(\d)(?:\.0+\b|(\.\d\d?)\d*)")
ALIKE = re.compile(r"<use \S+ \S+ \S+( [^>]*)/>(?:<use \S+ \S+ \S+\1/>)+")  # neighbouring points
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
        """Return the .svg as a part of a page in its colours, which may forbid styles in tags."""
        looks = f'font-family="{FONTS}" stroke-linejoin="round" stroke-linecap="butt" aria-hidden="true"'
        svg = NAMES.sub("", HEAD.sub("", self.content.decode()))
        svg = ROOT.sub(lambda root: f'<svg xmlns="http://www.w3.org/2000/svg"{root[1]} {looks}>', svg, 1)
        svg = TAG.sub(lambda tag: _small(tag[0]), re.sub(r">\s+<", "><", svg))
        return ALIKE.sub(lambda points: f"<g{points[1]}>{points[0].replace(points[1], '')}</g>", svg)


def _small(tag: str) -> str:
    """Return a tag with attributes for its style, and numbers of two digits after the point."""
    tag = STYLE.sub(lambda style: _attributes(style[1]), tag).replace("xlink:href", "href")
    if "base64" in tag:
        return tag
    tag = NUMBER.sub(r"\1\2", TURNED.sub("", tag))
    return re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0].strip()), tag)


def _attributes(looks: str) -> str:
    """Return a style as attributes, in the font and in the colours of the page."""
    if looks == "fill: #ffffff":  # a background
        return ' fill="none"'
    pairs = (look.split(": ") for look in looks.split("; ") if look and not look.startswith("font-family"))
    return "".join(f' {key}="{style.of_page(value)}"' for key, value in pairs)


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
