"""What figures of one table have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib import rcParams
from matplotlib.ticker import MaxNLocator

from gramian.figures import style


@dataclass(frozen=True)
class Data:
    """What a figure draws.

    Attributes
    ----------
    title : str
        Its title, "" where it has none that says more than its axes.
    notes : list of str
        Sentences below it.
    columns : dict of str to array
        A value for each thing that is drawn.
    """

    title: str
    notes: list[str]
    columns: dict[str, Any]


def finished(data: Data, ax: Any, title: str | None = None) -> Any:
    """Return axes with a title, "auto" for that of the data, and the sentences below."""
    style.heading(ax, data.title if title == "auto" else title)
    style.note(ax, *data.notes)
    return ax


def ink() -> Any:
    """Return the colour of texts, in which lines without a meaning of their own are drawn."""
    return rcParams["text.color"]


def whole(axis: Any) -> None:
    """Set ticks at whole numbers."""
    axis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
