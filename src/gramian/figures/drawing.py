"""What figures of one table have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

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


SHARED = [
    Parameter("title", Parameter.KEYWORD_ONLY, default="auto", annotation="str | None"),
    Parameter("ax", Parameter.KEYWORD_ONLY, default=None, annotation=Any),
]


def figure(data_of: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that draws data into axes one of what the data are of.

    The figure takes the arguments of ``data_of``, ``title`` and ``ax``, and the options that the function
    takes after the data and the axes. It has our look, the title of the data, and their notes below it.
    """

    def figure_of(draw: Callable[..., Any]) -> Callable[..., Any]:
        given, own = (list(signature(one).parameters.values()) for one in (data_of, draw))
        names = {parameter.name for parameter in given}

        @style.styled
        @wraps(draw)
        def drawn(*args: Any, title: str | None = "auto", ax: Any = None, **options: Any) -> Any:
            asked = {name: options.pop(name) for name in names & options.keys()}
            data = data_of(*args, **asked)
            axes = draw(data, ax, **options)
            style.heading(axes, data.title if title == "auto" else title)
            style.note(axes, *data.notes)
            return axes

        parameters = [*given, *own[2:-1], *SHARED, own[-1]]
        drawn.__signature__ = signature(draw).replace(parameters=parameters)  # type: ignore[attr-defined]
        return drawn

    return figure_of


def whole(axis: Any) -> None:
    """Set ticks at whole numbers."""
    axis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
