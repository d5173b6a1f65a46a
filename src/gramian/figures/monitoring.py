"""Figures of unusual rows: control charts in their order, and what columns contribute to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from gramian.answers.explanation import SHOWN, Explanation
from gramian.core.arrays import as_float64
from gramian.core.checks import check_integer, counted, evenly, number, percent
from gramian.errors import DataError
from gramian.figures import style
from gramian.figures.drawing import CELL, DASHED, LONGEST, Data, bars, figure, heat_map, numbers_of, whole
from gramian.models.events import ONSET
from gramian.models.monitor import monitor_of
from gramian.statistics.components import feature_names_of
from gramian.tables.scan import Scan
from gramian.tables.table import Table
from gramian.tables.times import times_of

MOST_POINTS, MOST_ALARMS = 4000, 2000
YEARS = np.array(["0200", "9800"], dtype="M8[ms]")  # matplotlib draws 1 to 9999, margins among them
MOST_CELLS, BEFORE, AFTER = 15, 20, 80  # columns of a map, rows before and after the start of an event


def control_chart_data(monitor: Any, X: Any) -> Data:
    """Return what :func:`control_chart` draws; columns: position, time, and the monitor's statistics."""
    watch = monitor_of(monitor, X)
    result = watch.statistics(X, rows="auto")
    n, rows = len(result), np.arange(len(result))
    if n > MOST_POINTS:
        alarms = [row for row in result.worst(MOST_ALARMS) if result.alarms[row]]
        rows = np.unique([*evenly(n, MOST_POINTS), *alarms])
    columns: dict[str, Any] = {"position": rows} | {
        name: values[rows] for name, values in result.finite.items()
    }
    times = times_of(result["row"])
    if times is not None and not (YEARS[0] <= times.min() and times.max() <= YEARS[1]):
        times = None
    columns |= {} if times is None else {"time": times[rows]}
    few = f"{len(rows):,} rows are drawn: evenly spaced ones and the alarms." if len(rows) < n else ""
    sentence = f"{counted(int(result.alarms.sum()), 'alarm')} in {counted(n, 'row')}; limits (dashed) for "
    sentence += f"{percent(watch.limits_.alpha)} false alarms."
    return Data(columns, [sentence, few, *watch.limits_.sentences], x="row" if times is None else "")


@figure(control_chart_data)
def control_chart(data: Data, ax: Any, **scatter: Any) -> Any:
    """Draw T2 and SPE of rows in their order, over time where times name them, with limits and alarms.

    Of more than 4,000 rows it has 4,000 evenly spaced ones and the 2,000 largest alarms.

    Parameters
    ----------
    monitor : Monitor, or fitted PCA or KernelPCA
        A model without a monitor has limits by theory, for 1 % false alarms.
    X : array-like, frame or Table of shape (n_samples, n_features)
        If these are the rows of the fit, the limits are those for such rows.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, one or two, optional
        Of each statistic, by default in a new figure.
    **scatter
        Of the points, as of ``Axes.scatter``.

    Returns
    -------
    ndarray of Axes of shape (statistics, 1)
        Of T2 and SPE, as far as the model has them.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> monitor = gramian.Monitor(gramian.PCA(2), alpha=0.05).fit(X)
    >>> data = gramian.figures.control_chart_data(monitor, X[:50] + [9, 0, 0, 0, 0])
    >>> list(data.columns)[:5]
    ['position', 'row', 'T2', 'T2 limit', 'SPE']
    """
    x = data.columns.get("time", data.columns["position"])
    alarms = np.asarray(data.columns["alarm"] != "", dtype=bool)
    names = [name for name in ("T2", "SPE") if name in data.columns]
    axes = style.subplots(len(names), ax=ax, sharex=True)
    for panel, name in zip(axes.flat, names, strict=True):
        y, limits = data.columns[name], data.columns[f"{name} limit"]
        panel.plot(x, y, color=style.BLUE, lw=0.4, alpha=0.5, rasterized=len(x) > style.RASTER)
        normal = {"color": style.BLUE, "s": 8, "lw": 0}
        alarm = {"color": style.VERMILION, "marker": "D", "s": 14, "lw": 0.6, "edgecolors": style.ink()}
        alarm["clip_on"] = False
        for mask, look in ((~alarms, normal), (alarms, alarm)):
            panel.scatter(x[mask], y[mask], **look | {"rasterized": len(x) > style.RASTER} | scatter)
        if np.isfinite(limits).any():
            panel.axhline(np.nanmax(limits), color=style.VERMILION, **DASHED)
        panel.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0)), np.square))
        panel.set(ylabel=name, ylim=(0, None), xmargin=0.02)
        panel.yaxis.set_major_formatter(lambda value, _: number(value))
    whole(axes[-1, 0].xaxis, "auto")
    if "time" in data.columns:
        locator = AutoDateLocator()
        axes[-1, 0].xaxis.set(major_locator=locator, major_formatter=ConciseDateFormatter(locator))
    axes[0, 0].get_figure().align_ylabels(axes)
    return axes


def _rows(X: Any, start: int, stop: int) -> Any:
    """Return some rows of any kind, with the names of their columns."""
    if hasattr(X, "iloc"):
        return X.iloc[start:stop]
    X = X.read() if isinstance(X, Scan) else X
    some = as_float64(numbers_of(X)[start:stop])
    return Table(some, X.feature_names) if isinstance(X, Table) else some


def explanation_data(explanation: Explanation) -> Data:
    """Return what :func:`explanation` draws; columns: those of its table."""
    if not np.isfinite(explanation.value):
        problem = "The columns of a kernel PCA have no contributions to the difference of groups."
        raise DataError(problem, "Print the explanation, or explain a single row.")
    columns = {name: values[:SHOWN] for name, values in explanation.table().items()}
    title = f"{explanation.statistic} of row {explanation.rows[0]}"
    if "mean" in columns:
        title = f"{counted(len(explanation.rows), 'row')} and {len(explanation.versus):,} others"
    more = f"{SHOWN} of {len(explanation.columns):,} columns." if len(explanation.columns) > SHOWN else ""
    causes = (f"{cause}." for cause in explanation.causes)
    sentences = [explanation.sentence, *causes, more, *explanation.notes]
    return Data(columns, sentences, title=title, x=f"contribution to {explanation.statistic}")


@figure(explanation_data)
def explanation(data: Data, ax: Any, **barh: Any) -> Any:
    """Draw why a row is unusual, or how two groups of rows differ: what columns contribute to it.

    The bars are of the 8 largest contributions. Below the name of a column are its value and the range that
    is usual, or the means of both groups.

    Parameters
    ----------
    explanation : Explanation
        What :func:`gramian.explain` returns.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **barh
        As of ``Axes.barh``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        For groups of a kernel PCA, whose columns have no contributions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> pca = gramian.PCA(3, scale="unit").fit(X)
    >>> ax = gramian.figures.explanation(gramian.explain(pca, X, 121))
    >>> print(ax.get_yticklabels()[0].get_text())
    ash
    3.23 (usual 1.92 to 2.74)
    """
    names, contributions = data.columns["column"], data.columns["contribution"]
    ax = style.subplots(ax=ax, height_mm=18 + 2 * CELL * len(names))
    bars(ax, contributions, names, **barh)
    shown, form = ["value", "low", "high"], "{} (usual {} to {})"
    if "mean" in data.columns:
        shown, form = ["mean", "mean_of_others"], "{}, others {}"
    rows = zip(*(data.columns[name] for name in shown), strict=True)
    texts = [form.format(*map(number, row)) for row in rows]
    lines = [f"{style.drawable(name, LONGEST)}\n{text}" for name, text in zip(names, texts, strict=True)]
    ax.set_yticklabels(lines, **style.PLAIN)
    return ax


def contribution_map_data(monitor: Any, X: Any, event: int | None = None) -> Data:
    """Return what :func:`contribution_map` draws; columns: position, row, column, contribution."""
    watch = monitor_of(monitor)
    result = watch.statistics(X, rows="auto")
    count, n = len(result.events), len(result)
    if event is None:  # a single false alarm may be the first one
        event = int(np.argmax(result.events["alarms"])) if count else 0
    check_integer("event", event, 0, max(count - 1, 0))
    start = result.events.runs[event].start if count else int(result.worst(1)[0])
    low, high = max(start - BEFORE, 0), min(start + AFTER, n)
    contributions = watch.contributions(_rows(X, low, high))
    limits = {name: float(result[f"{name} limit"][0]) for name in contributions}
    ratios = np.stack([result[name][low:high] / limit for name, limit in limits.items()])
    which = np.argmax(np.nan_to_num(ratios, nan=-1.0), axis=0)
    every = np.stack([values / limits[name] for name, values in contributions.items()])
    values = np.nan_to_num(every[which, np.arange(high - low)])
    alarms = low + np.flatnonzero(result.alarms[low:high])
    first = alarms[alarms >= start][:ONSET] - low
    shown = np.argsort(-values.max(axis=0), kind="stable")[:MOST_CELLS]
    shown = shown[np.argsort(-values[first][:, shown].sum(axis=0), kind="stable")]
    columns = {
        "position": np.tile(np.arange(low, high), len(shown)),
        "row": np.tile(result["row"][low:high], len(shown)),
        "column": np.repeat(np.array(feature_names_of(watch.model_), dtype=object)[shown], high - low),
        "contribution": np.maximum(values[:, shown], 0.0).T.ravel(),
    }
    name = str(result["row"][start])
    where = name if name == str(start) else f"{start} ({name})"
    began = f"The event of row {where}" if count else f"Rows around {where}"
    sentence = f"{began}; contributions to T2 or SPE, whichever is larger, relative to its limit."
    more = f"{len(shown)} of {values.shape[1]:,} columns." if len(shown) < values.shape[1] else ""
    return Data(columns, [sentence, more], x="row", lines={"start": start})


@figure(contribution_map_data)
def contribution_map(data: Data, ax: Any, **imshow: Any) -> Any:
    """Draw the contributions of columns over time, around the beginning of an event.

    These are of 20 rows before the event and 80 from its beginning on, and of the 15 columns that contribute
    most.

    Parameters
    ----------
    monitor : Monitor, or fitted PCA or KernelPCA
        The model by which rows are unlike others.
    X : array-like, frame or Table of shape (n_samples, n_features)
        New rows, in the order of time.
    event : int or None, default=None
        The number of the event in ``monitor.statistics(X).events``; None means that of most alarms. Without
        events the rows around the most unusual one are drawn.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **imshow
        As of ``Axes.imshow``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

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
    >>> gramian.figures.contribution_map_data(monitor, new).columns["column"][0]
    'x3'
    """
    first, last = data.columns["position"][[0, -1]]
    n = last - first + 1
    values, names = data.columns["contribution"].reshape(-1, n), data.columns["column"][::n]
    sides = first - 0.5, last + 0.5, len(names) - 0.5, -0.5
    look = {"cmap": "Oranges", "norm": PowerNorm(0.5, vmin=0), "extent": sides} | imshow
    ax = heat_map(ax, values, names, (), "of the limit", **look)
    ax.axvline(data.lines["start"], color=style.BLUE, **DASHED)
    whole(ax.xaxis)
    return ax
