"""Figures of a monitor: control charts in row order, and the contributions of columns to a row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64
from gramian.core.checks import check_integer, counted, evenly, percent
from gramian.errors import ParameterError
from gramian.figures._altair_style import BLUE, VERMILION, Chart, chart, layered, panel, stacked, width
from gramian.figures.names import numbers_of, row_names_of
from gramian.models.events import ONSET, RowStatistics
from gramian.models.monitor import monitor_of
from gramian.statistics.components import feature_names_of
from gramian.tables.table import Table

MOST_POINTS, MOST_ALARMS = 4000, 2000
MOST_COLUMNS = 20
MOST_CELLS, BEFORE, AFTER = 15, 20, 80  # columns of a map, rows before and after the start of an event
SQUARES = alt.Scale(type="sqrt")  # a distance, of a squared distance
COLOURS = alt.Scale(domain=["normal", "alarm"], range=[BLUE, VERMILION])


def control_chart(monitor: Any, X: Any) -> Any:
    """Draw T2 and SPE of rows in their order, with the limits and the alarms.

    Parameters
    ----------
    monitor : Monitor, or fitted PCA or KernelPCA
        A model without a monitor has limits by theory, for 1 % false alarms.
    X : array-like, frame or Table of shape (n_samples, n_features)
        If these are the rows of the fit, the limits are those for such rows.

    Returns
    -------
    altair.VConcatChart
        ``chart.data`` has the columns of :meth:`Monitor.statistics` and ``position``, the number of the row
        in X. Above 4,000 rows it has 4,000 evenly spaced rows and the 2,000 largest alarms.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> monitor = gramian.Monitor(gramian.PCA(2), alpha=0.05).fit(X)
    >>> chart = gramian.figures.control_chart(monitor, X[:50] + [9, 0, 0, 0, 0])
    >>> chart.data.column_names[:5]
    ['position', 'row', 'T2', 'T2 limit', 'SPE']
    """
    given = monitor_of(monitor, X)
    result = given.statistics(X, rows="auto")
    places = _places(result)
    columns: dict[str, Any] = {"position": places}
    columns |= {name: values[places] for name, values in result.finite.items()}
    columns["state"] = np.where(result.alarms[places], "alarm", "normal")
    names = [name for name in ("T2", "SPE") if name in columns]
    count = int(result.alarms.sum())
    few = f"{len(places):,} rows are drawn: evenly spaced ones and the alarms."
    return stacked(
        columns,
        [_panel(name, columns, last=name == names[-1]) for name in names],
        "Control chart",
        f"{counted(count, 'alarm')} in {counted(len(result), 'row')}; limits (dashed) for "
        f"{percent(given.limits_.alpha)} false alarms.",
        few if len(places) < len(result) else "",
        *given.limits_.sentences,
    )


def _places(result: RowStatistics) -> npt.NDArray[np.intp]:
    if len(result) <= MOST_POINTS:
        return np.arange(len(result))
    alarms = [place for place in result.worst(MOST_ALARMS) if result.alarms[place]]
    return np.unique([*evenly(len(result), MOST_POINTS), *alarms])


def _panel(name: str, columns: Mapping[str, Any], *, last: bool) -> Any:
    x = alt.X("position:Q", title="row" if last else None, axis=alt.Axis(format="d", labels=last))
    y = alt.Y(f"{name}:Q", title=name, scale=SQUARES, axis=alt.Axis(format=".6~g"))
    base = Chart()
    tooltip = ["row:N", f"{name}:Q", f"{name} limit:Q", "alarm:N", *(f"contributor {j}:N" for j in (1, 2, 3))]
    color = alt.Color("state:N", scale=COLOURS, title=None)
    points = base.mark_point(filled=True, size=18, opacity=0.8).encode(x=x, y=y, color=color, tooltip=tooltip)
    line = base.mark_line(color=BLUE, strokeWidth=0.5, opacity=0.4).encode(x=x, y=y)
    limit = base.mark_rule(color=VERMILION, strokeDash=[5, 3]).encode(y=f"max({name} limit):Q")
    known = np.isfinite(columns[f"{name} limit"]).any()  # Vega warns of an axis for no number
    return panel([line, points, limit] if known else [line, points], 150)


def contributions(monitor: Any, X: Any, row: int | str | date) -> Any:
    """Draw what each column contributes to T2 and SPE of one row.

    Parameters
    ----------
    monitor : Monitor, or fitted PCA or KernelPCA
        The model by which rows are unlike others.
    X : array-like, frame or Table of shape (n_samples, n_features)
        Rows, of which one is drawn.
    row : int, str or date
        The number of the row, from 0, or its name or time.

    Returns
    -------
    altair.VConcatChart
        ``chart.data`` has the contributions of the 20 columns that contribute most to the statistic that is
        larger relative to its limit.

    Raises
    ------
    ParameterError
        If there is no such row.
    UnavailableError
        For a kernel without derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> monitor = gramian.Monitor(gramian.PCA(2)).fit(X)
    >>> chart = gramian.figures.contributions(monitor, X + [0, 0, 0, 9, 0], 7)
    >>> chart.data["column"][0].as_py()
    'x3'
    """
    given = monitor_of(monitor)
    timed = getattr(getattr(getattr(X, "index", None), "dtype", None), "kind", "") == "M"
    given_names = X.index if timed else row_names_of(X)
    names = [] if given_names is None else list(map(str, given_names))
    if isinstance(row, str | date):
        # Tables of statistics print times with a T.
        said = str(row) if str(row) in names else str(row).replace("T", " ", 1)
        if said not in names:
            raise ParameterError("row", str(row), "is not the name of a row", "Give its number, from 0.")
        place = names.index(said)
    else:
        place = check_integer("row", row, 0, len(numbers_of(X)) - 1)
    some = _rows(X, max(place - int(given.lags), 0), place + 1)
    parts = {name: part[-1] for name, part in given.contributions(some).items()}
    result = given.statistics(some)
    # By the statistic that is larger relative to its limit.
    size = np.abs(parts[max(parts, key=lambda name: float(result[name][-1] / result[f"{name} limit"][-1]))])
    top = np.argsort(-size, kind="stable")[:MOST_COLUMNS]
    columns = {"column": np.array(feature_names_of(given.model_), dtype=object)[top]}
    columns |= {name: part[top] for name, part in parts.items()}
    measured = [f"{name} {result[name][-1]:.4g} (limit {result[name + ' limit'][-1]:.4g})" for name in parts]
    numbers = X.row_numbers if isinstance(X, Table) else None
    shown = names[place] if names else place if numbers is None else numbers[place]
    more = f"{len(top)} of {len(size):,} columns." if len(top) < len(size) else ""
    panels = [_bars(name, f"contribution to {name}") for name in parts]
    return stacked(columns, panels, f"Contributions to row {shown}", f"{', '.join(measured)}.", more)


def _bars(name: str, title: str) -> Any:
    bars = Chart(width=width(), height=140).mark_bar()
    return bars.encode(
        x=alt.X("column:N", sort=None, title=None),
        y=alt.Y(f"{name}:Q", title=title),
        color=alt.condition(f"datum['{name}'] < 0", alt.value(VERMILION), alt.value(BLUE)),
        tooltip=["column:N", f"{name}:Q"],
    )


def _rows(X: Any, start: int, stop: int) -> Any:
    """Return some rows of any kind, with the names of their columns."""
    if hasattr(X, "iloc"):
        return X.iloc[start:stop]
    some = as_float64(numbers_of(X)[start:stop])
    named = isinstance(X, Table) and X.feature_names is not None
    return Table(some, X.feature_names) if named else some


def contribution_map(monitor: Any, X: Any, event: int | None = None) -> Any:
    """Draw the contributions of columns over time, around the beginning of an event.

    Parameters
    ----------
    monitor : Monitor, or fitted PCA or KernelPCA
        The model by which rows are unlike others.
    X : array-like, frame or Table of shape (n_samples, n_features)
        New rows, in the order of time.
    event : int or None, default=None
        The number of the event in ``monitor.statistics(X).events``; None means that of most alarms. Without
        events the rows around the most unusual one are drawn.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each of 20 rows before the event and 80 from its beginning on, and each
        of the 15 columns that contribute most: the contribution to the statistic that is larger relative to
        its limit, relative to this limit. Columns that contribute most to the first alarms come first.

    Raises
    ------
    ParameterError
        If there is no such event.
    UnavailableError
        For a kernel without derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> monitor = gramian.Monitor(gramian.PCA(2), consecutive=3).fit(X)
    >>> new = X[:100].copy()
    >>> new[60:, 3] += 9
    >>> chart = gramian.figures.contribution_map(monitor, new)
    >>> chart.data["column"][0].as_py()
    'x3'
    """
    given = monitor_of(monitor)
    result = given.statistics(X, rows="auto")
    count, n = len(result.events), len(result)
    if event is None:  # a single false alarm may be the first one
        event = int(np.argmax(result.events["alarms"])) if count else 0
    check_integer("event", event, 0, max(count - 1, 0))
    start = result.events.runs[event].start if count else int(result.worst(1)[0])
    low, high = max(start - BEFORE, 0), min(start + AFTER, n)
    history = max(low - int(given.lags), 0)
    parts = given.contributions(_rows(X, history, high))
    limits = {name: float(result[f"{name} limit"][0]) for name in parts}
    ratios = np.stack([result[name][low:high] / limit for name, limit in limits.items()])
    which = np.argmax(np.nan_to_num(ratios, nan=-1.0), axis=0)
    every = np.stack([part[low - history :] / limits[name] for name, part in parts.items()])
    values = np.nan_to_num(every[which, np.arange(high - low)])
    alarms = low + np.flatnonzero(result.alarms[low:high])
    first = alarms[alarms >= start][:ONSET] - low
    shown = np.argsort(-values.max(axis=0), kind="stable")[:MOST_CELLS]
    shown = shown[np.argsort(-values[first][:, shown].sum(axis=0), kind="stable")]
    names = np.array(feature_names_of(given.model_), dtype=object)[shown]
    columns = {
        "position": np.tile(np.arange(low, high), len(shown)),
        "row": np.tile(result["row"][low:high], len(shown)),
        "column": np.repeat(names, high - low),
        "contribution": np.maximum(values[:, shown], 0.0).T.ravel(),
    }
    base = Chart().encode(x=alt.X("position:O", title="row", axis=alt.Axis(labelOverlap=True)))
    scale = alt.Scale(type="sqrt", scheme="oranges", domainMin=0)
    cells = base.mark_rect().encode(
        y=alt.Y("column:N", sort=list(names), title=None, axis=alt.Axis(labelOverlap=False)),
        color=alt.Color("contribution:Q", scale=scale, title="of the limit"),
        tooltip=["row:N", "column:N", "contribution:Q"],
    )
    name = str(result["row"][start])
    where = name if name == str(start) else f"{start} ({name})"
    began = f"The event of row {where}" if count else f"Rows around {where}"
    said = f"{began}; contributions to T2 or SPE, whichever is larger, relative to its limit."
    more = f"{len(shown)} of {values.shape[1]:,} columns." if len(shown) < values.shape[1] else ""
    rule = chart({"start": [start]}).mark_rule(color=BLUE, strokeDash=[5, 3]).encode(x="start:O")
    height = max(120, 17 * len(shown))
    return layered(columns, [cells, rule], "Contributions over time", said, more, height=height)
