"""When rows in the order of time leave the pattern of the first half of them, and by which column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.records import ModelKind
from gramian.errors import DataError, GramianWarning, ignoring
from gramian.models.monitor import Monitor, monitor_of
from gramian.statistics.components import column_names, kind_of
from gramian.tables.as_rows import as_rows
from gramian.tables.table import Table
from gramian.tables.times import HOUR, in_time, set_back, times_of
from gramian.tables.treatment import rows_taken_of

FEWEST, MOST_NUMBERS = 60, 2_000_000  # rows, and numbers, that are looked at
CONSECUTIVE = 5  # alarms in a row that begin an event
EXCESS, ALONE = 2.0, 0.7  # times the limit; share of what one column explains


@dataclass(frozen=True)
class Departure:
    """An event in the second half of rows in the order of time, as the first half is normal.

    Attributes
    ----------
    reference, last, start, end : str
        Names of the last row of the first half, of the last row before the event, and of its first and last.
    seconds : float
        From start to end.
    column : str
        Whose change alone explains the largest part of the event.
    statistic : str
        "T2", "SPE" or "T2 and SPE", whichever exceeded its limit first.
    excess : float
        The largest of them relative to its limit.
    further : int
        Events after it, of any cause.
    set_back : str
        Name of the first row after a local clock was set back; "" where it was not.
    watch : Monitor
        The monitor of the first half.
    """

    reference: str
    last: str
    start: str
    end: str
    seconds: float
    column: str
    statistic: str
    excess: float
    further: int
    set_back: str
    watch: Monitor = field(repr=False, compare=False)


def departure_of(model: Any, table: Table) -> Departure | None:
    """Return the first event of rows in the order of time that the change of a single column explains.

    The model is fitted again to the first half, which sets the limits. None for rows without times, for
    tables that are large or have missing values, and where no such event is clear.

    Parameters
    ----------
    model : fitted PCA
    table : Table
        The rows of the fit.

    Notes
    -----
    With the statistics ``x' M x`` of a centred and scaled row x, T2 and SPE each divided by its limit, the
    mean x of the event and g = M x, a change of column j alone removes at most ``g_j^2 / M_jj``.

    References
    ----------
    Alcala, C. F., and Qin, S. J. (2009). Reconstruction-based contribution for process monitoring.
    Automatica 45, 1593-1600.
    """
    values = table.values
    if kind_of(model) is not ModelKind.PCA or not isinstance(values, np.ndarray) or values.ndim != 2:
        return None
    n, half, k = len(values), len(values) // 2, int(model.n_components_)
    small = n >= FEWEST and 4 * k <= n and values.size <= MOST_NUMBERS
    if not small or not in_time(table.row_names) or not np.isfinite(values).all():
        return None
    names = table.row_names or ()
    times: Any = times_of(names)
    if names[half - 1] == names[half]:  # the first half has no end
        return None
    try:
        with ignoring(GramianWarning):
            reference = names[0], names[half - 1]
            watch = monitor_of(model, table, reference=reference, consecutive=CONSECUTIVE)
            later = watch.statistics(rows_taken_of(table, np.arange(half, n)))
    except DataError:  # the first half does not vary
        return None
    fitted: Any = watch.model_
    events = later.events
    r = int(fitted.rank_)
    directions, variances = as_float64(fitted.components_)[:r], as_float64(fitted.explained_variance_)[:r]
    M = (directions.T / variances) @ directions / later["T2 limit"][0]
    if "SPE limit" in later.columns:
        M += (np.eye(len(M)) - directions.T @ directions) / later["SPE limit"][0]
    for i, run in enumerate(events.runs):
        rows = values[half + run.start : half + run.stop]
        x = next(fitted._projection().centered_blocks(as_rows(rows.mean(axis=0)[None])))[0]
        g = M @ x
        explained = g**2 / np.maximum(np.diag(M), np.finfo(float).tiny)
        j = int(explained.argmax())
        if events["excess"][i] >= EXCESS and x @ g > 1 and explained[j] >= ALONE * (x @ g):
            first, last = half + run.start, half + run.stop - 1
            back = set_back(times)
            hours = int(((back > first) & (back <= last)).sum())
            return Departure(
                *(names[half - 1], names[first - 1], names[first], names[last]),
                seconds=(times[last] - times[first] + hours * HOUR) / np.timedelta64(1, "s"),
                column=column_names(model)[j],
                statistic=str(events["statistic"][i]),
                excess=float(events["excess"][i]),
                further=len(events) - i - 1,
                set_back=str(names[back[0]]) if len(back) else "",
                watch=watch,
            )
    return None
