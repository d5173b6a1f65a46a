"""Figures of a fitted model as parts of a page that loads nothing."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gramian import plots
from gramian.errors import GramianError, MissingExtraError
from gramian.rows.table import Table

MOST_DRAWN = 1_000_000  # rows
LARGEST = 600_000  # letters of an .svg; a larger one becomes a .png
SHARED = re.compile(r'(\bid="|url\(#|href="#)')


def scores_chart(model: Any, table: Table, scores: Any, shown: list[int] | None) -> Any:
    """Draw rows along the first two components, in the colours of their labels.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
    scores : array of shape (n, n_components)
    shown : list of int or None
        Which rows these are, where not all.
    """
    if shown is not None:
        labels, names = table.labels, table.row_names
        table = replace(
            table,
            labels=None if labels is None else labels[shown],
            row_names=None if names is None else tuple(names[row] for row in shown),
        )
    color = None if table.labels is None else table.label_name or table.labels
    return plots.scores(model, table, mapped=scores, color=color)


class Figures:
    """Draws figures for one page, and keeps what could not be drawn.

    Attributes
    ----------
    drawn : int
    notes : list of str
    """

    def __init__(self) -> None:
        self.drawn, self.notes = 0, list[str]()

    def show(self, words: str, draw: Callable[[], Any]) -> str:
        """Return a figure as HTML, or "" and take note of why there is none.

        Parameters
        ----------
        words : str
            What it shows, for who does not see it.
        draw : callable
            Returns a chart or a picture.
        """
        try:
            found = draw()
            inside = _picture(found.png()) if isinstance(found, plots.Picture) else self._chart(found)
        except MissingExtraError as error:
            self.notes += [] if str(error) in self.notes else [str(error)]
            return ""
        except GramianError as error:  # such as data of one value, which is no reason to have no page
            self.notes.append(f"No figure of {words}: {error}")
            return ""
        self.drawn += 1
        return f'<figure role="img" aria-label="{html.escape(words)}">{inside}</figure>'

    def _chart(self, chart: Any) -> str:
        text = io.StringIO()
        chart.save(text, format="svg")
        svg = text.getvalue()
        if len(svg) > LARGEST:
            pixels = io.BytesIO()
            chart.save(pixels, format="png")
            return _picture(pixels.getvalue(), dots=2)
        # Names inside one .svg are those of the whole page.
        return SHARED.sub(rf"\1f{self.drawn}-", svg)


def _picture(png: bytes, dots: int = 1) -> str:
    """Return a picture of so many dots a pixel of the page."""
    width = int.from_bytes(png[16:20], "big") // dots
    return f'<img alt="" width="{width}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
