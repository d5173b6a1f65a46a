"""What figures of one table have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from gramian.core import arrays, checks
from gramian.core.records import AnyArray, FloatArray
from gramian.errors import DataError, ParameterError
from gramian.figures import style
from gramian.statistics.components import decomposition_of
from gramian.tables.scan import Scan

CELL = 4.2  # millimetres of a row with a name
LONGEST = 24  # letters of such a name
SHARED = (
    Parameter("title", Parameter.KEYWORD_ONLY, default="auto", annotation="str | None"),
    Parameter("ax", Parameter.KEYWORD_ONLY, default=None, annotation=Any),
)
LETTER = 0.175  # millimetres of a letter for each typographic point of its size
DASHED: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 0.9}  # look of a line at a limit


NOTHING = "The model has no components to draw."


@dataclass(frozen=True, eq=False)
class Data:
    """What a figure draws.

    Attributes
    ----------
    columns : dict of str to array
        A value for each thing that is drawn.
    notes : sequence of str
        Sentences below it.
    title : str
        Its title, "" where it has none that says more than its axes.
    x, y : str
        Titles of the axes: below the last row of panels, and beside the first panel; "" where these have
        their own.
    lines : dict of str to float
        What dashed lines mark, by its name.
    """

    columns: dict[str, Any]
    notes: Sequence[str]
    title: str = field(default="", kw_only=True)
    x: str = field(default="", kw_only=True)
    y: str = field(default="", kw_only=True)
    lines: Mapping[str, float] = field(default_factory=dict, kw_only=True)


def figure(data_of: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that draws data into axes one of what the data are of.

    The figure takes the arguments of ``data_of``, ``title``, ``ax``, and further keywords of the main artist.
    It has our look, the titles of the data, and their notes below it.
    """

    def figure_of(draw: Callable[..., Any]) -> Callable[..., Any]:
        of_data, of_artist = list(signature(data_of).parameters.values()), signature(draw).parameters
        names = {parameter.name for parameter in of_data}

        @wraps(draw)
        def drawn(*args: Any, title: str | None = "auto", ax: Any = None, **options: Any) -> Any:
            with style.defaults() if ax is None else nullcontext():
                data = data_of(*args, **{name: options.pop(name) for name in names & options.keys()})
                axes = draw(data, ax, **options)
                panels = np.atleast_2d(np.asarray(axes, dtype=object))
                for panel in panels[-1]:
                    style.words(panel, x=data.x)
                style.words(panels[0, 0], y=data.y)
                style.heading(axes, data.title if title == "auto" else title)
                style.note(axes, *data.notes)
            return axes

        *_, artist = of_artist.values()
        parameters = [*of_data, *SHARED, artist]
        drawn.__signature__ = signature(draw).replace(parameters=parameters)  # type: ignore[attr-defined]
        return drawn

    return figure_of


def fitted(model: Any) -> Any:
    """Return a fitted decomposition, for a FaceSpace the one that it contains.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    """
    check_is_fitted(model)
    return decomposition_of(model)


def places_of(components: Any, count: int, advice: str = "") -> list[int]:
    """Return the places, from 0, of components given as 3 or "PC3", one or several.

    Raises
    ------
    ParameterError
        If there is no such component.

    Examples
    --------
    >>> places_of(("PC3", 1), 5), places_of(2, 5)
    ([2, 0], [1])
    """
    if count == 0:
        raise DataError(NOTHING)
    several = [components] if isinstance(components, int | str | np.integer) else components
    indices, advice = [], advice or f"The model has PC1 to PC{count}."
    for component in several:
        number = str(component).strip().upper().removeprefix("PC")
        if not number.isdecimal():
            raise ParameterError("components", component, "is not a component", f"Choose PC1 to PC{count}.")
        indices.append(checks.check_integer("components", int(number), 1, count, advice) - 1)
    return indices


def numbers_of(X: Any) -> AnyArray:
    """Return the numbers of an array, a data frame, a table or a file that is read."""
    X = X.read() if isinstance(X, Scan) else X
    values = getattr(X, "values", X)
    return arrays.to_numpy(X if callable(values) else values)


def whole(axis: Any, most: Any = 12) -> None:
    """Set ticks at whole numbers; "auto" is as many as there is room for."""
    axis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))


def width_of(names: Sequence[str], letters: str) -> float:
    """Return about the millimetres of the longest name in letters of a size of rcParams."""
    return LETTER * style.size(letters) * min(max(map(len, names), default=1), LONGEST)


def named_rows(ax: Any, names: Sequence[Any], longest: int = LONGEST) -> None:
    """Make the Y axis places 0, 1, ... from the top, each with its name."""
    style.ticks(ax, "y", range(len(names)), names, longest)
    ax.set_ylim(len(names) - 0.4, -0.6)


def bars(ax: Any, values: FloatArray, names: Sequence[Any], **barh: Any) -> None:
    """Draw a bar with its name for each value, from the top, in one colour below 0 and in another above."""
    colours = np.where(values < 0, style.VERMILION, style.BLUE)
    ax.barh(range(len(values)), values, **{"height": 0.75, "color": colours} | barh)
    ax.axvline(0, color=style.LINE, linewidth=0.6)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=4)
    named_rows(ax, names)


def heat_map(
    ax: Any, values: FloatArray, rows: Sequence[Any], columns: Sequence[str], unit: str, **imshow: Any
) -> Any:
    """Draw a heat map with the names of its rows, of its columns if they have any, and a scale of colours."""
    ax = style.subplots(ax=ax, height_mm=max(35.0, CELL * len(rows) + 20))
    drawn = ax.imshow(values, **{"aspect": "auto", "interpolation": "nearest"} | imshow)
    named_rows(ax, rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.spines[:].set_visible(False)
    ax.grid(False)  # of a style sheet
    style.colour_bar(ax, drawn, unit)
    if columns:
        room = style.width_mm() - width_of(rows, "ytick.labelsize") - 16
        turned = width_of(columns, "xtick.labelsize") > 0.9 * room / len(columns)
        turn: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        style.ticks(ax, "x", range(len(columns)), columns, **turn)
    return ax
