"""Figures as files, and as parts of a page: small, in the colours of the page, with ids of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from gramian.figures import style

FONTS = "Arial, Helvetica, 'Liberation Sans', sans-serif"  # in whose widths texts are placed
HEAD = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
STYLE = re.compile(r' style="([^"]*)"')
IDS = re.compile(r' id="([^"]+)"')
REFERENCE = re.compile(r'(?:xlink:href="|(url\())#([^")]+)')
TURNED = re.compile(r' transform="rotate\(-?0 [^"]*"')
NUMBER = re.compile(r"(\d)(?:\.0+\b|(\.\d\d?)\d*)")
DPI = 144  # of pixels in an .svg
USE = re.compile(r"<use (\S+ \S+ \S+)( [^>]*)/>")


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

    def inline(self, name: str) -> str:
        """Return the .svg for a page that may forbid styles in its tags: they become attributes.

        Parameters
        ----------
        name : str
            What ids begin with, since those of all figures are ids of one page.
        """
        svg = HEAD.sub("", self.content.decode())
        head, *pieces = (piece for piece in re.split(r"(<[^>]+>)", svg) if piece.strip())
        used = {match[2] for match in REFERENCE.finditer(svg)} & {*IDS.findall(svg)}
        ids = {id: f"{name}-{number}" for number, id in enumerate(sorted(used))}
        tags = [_tag(piece, ids) if piece[0] == "<" else piece for piece in pieces]
        view = re.search(r' viewBox="[^"]*"', head)
        looks = f'font-family="{FONTS}" stroke-linejoin="round" stroke-linecap="butt"'
        root = f'<svg xmlns="http://www.w3.org/2000/svg"{view[0] if view else ""} {looks} aria-hidden="true">'
        return "".join([root, *_gathered(tags)])


def content(draw: Callable[[], Any], kind: str, width: float | None = None) -> bytes:
    """Return a figure as a file of this kind, so many millimetres wide."""
    with style.canvas(width):
        return style.encoded(draw(), kind)


def drawn(draw: Callable[[], Any], width: float | None = None, kind: str = "svg") -> Drawn:
    """Return a figure as a file, so many millimetres wide, with its title and its sentences apart from it."""
    with style.canvas(width):
        axes = draw()
        figure = next(np.asarray(axes, dtype=object).flat).figure
        if title := figure.get_suptitle():
            figure.suptitle("").set_in_layout(False)
        file = style.encoded(axes, kind, dpi=DPI if kind == "svg" else None)
    return Drawn(file, title, style.caption(axes))


def in_page(draw: Callable[[], Any], width: float, name: str) -> dict[str, Any]:
    """Return a figure for the page of the server, as JSON."""
    drawing = drawn(draw, width)
    return {"svg": drawing.inline(name), "title": drawing.title, "caption": drawing.caption}


def _tag(tag: str, ids: Mapping[str, str]) -> str:
    tag = STYLE.sub(lambda match: _attributes(match[1]), tag)
    tag = IDS.sub(lambda match: f' id="{ids[match[1]]}"' if match[1] in ids else "", tag)
    tag = REFERENCE.sub(lambda match: f"{match[1] or 'href=' + chr(34)}#{ids[match[2]]}", tag)
    if "base64" in tag:
        return tag.replace("xlink:href", "href")
    tag = NUMBER.sub(r"\1\2", TURNED.sub("", tag))
    return re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0].rstrip()), tag)


def _attributes(looks: str) -> str:
    """Return a style as attributes, in the font and in the colours of the page."""
    if looks == "fill: #ffffff":  # a background
        return ' fill="none"'
    pairs = (look.split(": ") for look in looks.split("; ") if look and not look.startswith("font-family"))
    return "".join(f' {key}="{style.of_page(value)}"' for key, value in pairs)


def _gathered(tags: Sequence[str]) -> Iterator[str]:
    """Yield tags, those of neighbouring points that look alike in a group that has their look."""
    points = [USE.fullmatch(tag) for tag in tags]
    for look, alike in groupby(zip(tags, points, strict=True), lambda pair: pair[1] and pair[1][2]):
        if look:
            yield f"<g{look}>{''.join(f'<use {point[1]}/>' for _, point in alike if point)}</g>"
        else:
            yield from (tag for tag, _ in alike)
