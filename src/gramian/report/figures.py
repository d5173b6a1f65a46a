"""Figures of a fitted model as parts of a self-contained page."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gramian import plots
from gramian.analysis.associations import telling_pair
from gramian.errors import GramianError, MissingExtraError, needs
from gramian.plots.names import groupings
from gramian.plots.registry import FIGURES
from gramian.rows.table import Table

MOST_DRAWN = 1_000_000  # rows
LARGEST = 600_000  # characters of an .svg; a larger one becomes a .png
TITLES = {figure.name: figure.title for figure in FIGURES}
ROOM = 400  # pixels: text of a figure is readable on a phone and in a column of a wide page
SHARED = re.compile(r'(\bid="|url\(#|href="#)')


def scores_chart(
    model: Any,
    table: Table,
    scores: Any,
    shown: list[int] | None,
    name: str = "scores",
    pair: tuple[int, int] | None = None,
) -> Any:
    """Draw the scores of two components, coloured by label.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
    scores : array of shape (n, n_components)
    shown : list of int or None
        The indices of these rows, None for all.
    name : {"scores", "biplot"}
    pair : (int, int), optional
        The components, counted from 1; by default :func:`shown_first` for scores.
    """
    if shown is not None:
        names = table.row_names
        names = None if names is None else tuple(names[row] for row in shown)
        table = replace(table, row_names=names, **table.labels_at(shown))
    x, y = pair or (shown_first(table, scores)[0] if name == "scores" else (1, 2))
    return getattr(plots, name)(model, table, mapped=scores, x=x, y=y, **groupings(table))


def shown_first(table: Table, scores: Any) -> tuple[tuple[int, int], str]:
    """Return the two components that show the groups of the labels apart, and why if not the first two."""
    labels, values = table.labels, np.asarray(scores)
    if labels is None or len(labels) != len(values) or values.shape[1] < 2:
        return (1, 2), ""
    return telling_pair(values, labels, table.label_name or "")


def figures(*shown: str) -> str:
    """Return figures beside each other where there is room."""
    inside = "\n".join(filter(None, shown))
    return f'<div class="figures">{inside}</div>' if inside else ""


class Figures:
    """Draws figures for one page, and notes those that it cannot draw.

    Attributes
    ----------
    drawn : int
    notes : list of str
    """

    def __init__(self) -> None:
        self.drawn, self.notes = 0, list[str]()

    def show(self, name: str, draw: Callable[[], Any]) -> str:
        """Return a figure as HTML, or "" with a note of the reason.

        Parameters
        ----------
        name : str
            Of the registry, whose title describes it to screen readers.
        draw : callable
            Returns a chart or a picture.
        """
        try:
            with needs("plots", "altair", "Drawing figures"):
                from gramian.plots.style import room
            with room(ROOM):
                drawn = draw()
                inside = _picture(drawn.png()) if isinstance(drawn, plots.Picture) else self._chart(drawn)
        except MissingExtraError as error:
            self.notes += [] if str(error) in self.notes else [str(error)]
            return ""
        except GramianError as error:  # such as constant data: the page has other figures
            self.notes.append(f"No figure {TITLES[name]!r}: {error}")
            return ""
        self.drawn += 1
        return f'<figure role="img" aria-label="{html.escape(TITLES[name])}">{inside}</figure>'

    def _chart(self, chart: Any) -> str:
        text = io.StringIO()
        chart.save(text, format="svg")
        svg = text.getvalue()
        if len(svg) > LARGEST:
            pixels = io.BytesIO()
            chart.save(pixels, format="png")
            return _picture(pixels.getvalue(), dots=2)
        from gramian.plots.style import svg_in_page

        # Ids of one .svg are ids of the whole page.
        return SHARED.sub(rf"\1f{self.drawn}-", svg_in_page(svg))


def _picture(png: bytes, dots: int = 1) -> str:
    """Return a picture with this many dots for each pixel of the page."""
    width = int.from_bytes(png[16:20], "big") // dots
    return f'<img alt="" width="{width}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
