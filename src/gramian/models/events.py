"""What a monitor says of rows: a table of statistics and alarms, events, and rules for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gramian.core.checks import counted, percent, slices
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import AnyArray, BoolArray, FloatArray, IndexArray
from gramian.models.monitoring import BOTH, ControlLimits
from gramian.statistics.candidates import data_frame

PIECE = 1 << 22  # entries of columns whose runs are searched for at a time
ONSET = 3  # alarming rows at the start of an event whose contributions are averaged


class Run(NamedTuple):
    """An event by places of rows.

    Attributes
    ----------
    start, stop : int
        Its first alarm, and the row after its last one.
    """

    start: int
    stop: int


def runs_of(alarms: BoolArray, consecutive: int) -> list[Run]:
    """Return the events of alarms in order.

    An event begins with the first of ``consecutive`` alarms in a row, and ends with the last alarm before as
    many rows without.

    Examples
    --------
    >>> alarms = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 1], dtype=bool)
    >>> runs_of(alarms, 1)
    [Run(start=1, stop=2), Run(start=3, stop=5), Run(start=6, stop=7), Run(start=9, stop=10)]
    >>> runs_of(alarms, 2)
    [Run(start=3, stop=7)]
    """
    edges = np.flatnonzero(np.diff(alarms)) + 1
    found, start, stop = list[Run](), -1, 0
    for first, last in zip([0, *edges], [*edges, len(alarms)], strict=True):
        if last == first:
            continue
        if alarms[first]:
            start = first if start < 0 and last - first >= consecutive else start
            stop = last
        elif start >= 0 and last - first >= consecutive:
            found.append(Run(int(start), int(stop)))
            start = -1
    return [*found, Run(int(start), int(stop))] if start >= 0 else found


def longest_runs(X: AnyArray) -> tuple[IndexArray, IndexArray]:
    """Return the length of the longest run of exactly one value in each column, and the row where it begins.

    Examples
    --------
    >>> lengths, begins = longest_runs(np.array([[1, 5], [2, 5], [2, 6], [2, np.nan], [3, np.nan]]))
    >>> lengths.tolist(), begins.tolist()
    ([3, 2], [1, 0])
    """
    n, d = X.shape
    lengths, begins = np.ones(d, dtype=np.intp), np.zeros(d, dtype=np.intp)
    indices = np.arange(1, n)[:, None]
    for columns in slices(d if n > 1 else 0, max(1, PIECE // n)):
        first = np.maximum.accumulate(np.where(X[1:, columns] == X[:-1, columns], 0, indices), axis=0)
        last = (indices - first).argmax(axis=0)
        begins[columns] = np.take_along_axis(first, last[None, :], axis=0)[0]
        lengths[columns] = last + 2 - begins[columns]
    return lengths, np.where(lengths == 1, 0, begins)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTable(Tabulated):
    """A table by its columns: arrays of equal length by name."""

    columns: Mapping[str, AnyArray]

    def __getitem__(self, name: str) -> AnyArray:
        return self.columns[name]

    def to_frame(self) -> Any:
        """Return the columns as a pandas data frame."""
        return data_frame(list(zip(*self.columns.values(), strict=True)), tuple(self.columns))


class Frozen(NamedTuple):
    """A column that repeats one value for longer than the normal rows explain.

    Attributes
    ----------
    column : str
    start : object
        Name, time or number of the first row of the run.
    length, normal : int
        Rows of the run, and of the longest one in the normal rows.
    """

    column: str
    start: Any
    length: int
    normal: int

    def __str__(self) -> str:
        return (
            f"{self.column} has one value in {self.length:,} rows from {self.start} on, "
            f"and for at most {counted(self.normal, 'row')} in the normal ones: is it frozen?"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Events(ColumnTable):
    """Events in rows: when each begins, how long it lasts, and the columns that begin it; prints as a table.

    Attributes
    ----------
    columns : dict of str to array of shape (n_events,)
        ``start`` and ``end``: names or numbers of the rows of the first and the last alarm; ``length``: rows
        from one to the other; ``alarms`` among them; ``statistic``: "T2", "SPE" or "T2 and SPE", whichever
        exceeded its limit in the first alarms; ``excess``: the largest T2 or SPE, relative to its limit;
        ``variable 1`` to ``variable 3``: the columns that contribute most to the first three alarms, of the
        first 1,000 events.
    runs : tuple of Run
        The same by places of rows.
    consecutive : int
        Alarms in a row that begin an event.
    """

    runs: tuple[Run, ...]
    consecutive: int

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def summary(self) -> str:
        """The number of events, and what is one."""
        rule = "" if self.consecutive == 1 else f" of at least {self.consecutive} alarms in a row"
        return f"{counted(len(self), 'event')}{rule}."

    def _grid(self) -> Grid:
        heads = ("start", "end", "length", "alarms", "statistic", "excess", "variables of the first alarms")
        rows = []
        for i in range(len(self)):
            names = [str(self[f"variable {index}"][i]) for index in (1, 2, 3)]
            start, end, statistic = (str(self[name][i]) for name in ("start", "end", "statistic"))
            length, alarms, excess = int(self["length"][i]), int(self["alarms"][i]), float(self["excess"][i])
            rows.append((start, end, length, alarms, statistic, excess, ", ".join(filter(None, names))))
        return Grid(heads, rows, ("", "", "", "", "", ".3g", ""), kinds="ttnntnt")

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.summary
        if len(self):
            yield self._grid()


@dataclass(frozen=True, eq=False, repr=False)
class RunRules(ColumnTable):
    """What it costs to wait for several alarms in a row: false events, and delay; prints as a table.

    Attributes
    ----------
    columns : dict of str to array of shape (n_rules,)
        ``consecutive``, ``false events``, ``per 1,000 rows`` and, with faulty rows, ``delay``.
    consecutive : tuple of int
        Alarms in a row that begin an event.
    false_events : ndarray of shape (n_rules,), int
        Events in the normal rows.
    delays : ndarray of shape (n_rules,) or None
        Rows from the first faulty row to the one that completes the first event, both counted; NaN where
        there is no event. None without faulty rows.
    rows : int
        Number of normal rows.
    """

    consecutive: tuple[int, ...]
    false_events: IndexArray
    delays: FloatArray | None
    rows: int

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"Rules on {counted(self.rows, 'normal row')}:"
        columns = self.columns
        rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))
        yield Grid(tuple(columns), rows, ("", "", ".3g", ".4g")[: len(columns)], kinds="n" * len(columns))


def run_rules(normal: BoolArray, faulty: BoolArray | None, consecutive: Sequence[int]) -> RunRules:
    """Return the rules for alarms of normal rows, and of rows that are faulty from the first on.

    Examples
    --------
    >>> normal, faulty = np.array([0, 1, 0, 0, 1, 1, 0, 0], bool), np.array([1, 0, 1, 1], bool)
    >>> print(run_rules(normal, faulty, (1, 2)))
    Rules on 8 normal rows:
    consecutive  false events  per 1,000 rows  delay
              1             2             250      1
              2             1             125      4
    """
    false = np.array([len(runs_of(normal, count)) for count in consecutive], dtype=np.intp)
    columns = {"consecutive": np.array(consecutive), "false events": false}
    columns["per 1,000 rows"], delays = 1000 * false / max(len(normal), 1), None
    if faulty is not None:
        first = [(runs_of(faulty, count)[:1], count) for count in consecutive]
        delays = np.array([runs[0].start + count if runs else np.nan for runs, count in first])
        columns["delay"] = delays
    return RunRules(columns, tuple(consecutive), false, delays, len(normal))


@dataclass(frozen=True, eq=False, repr=False)
class RowStatistics(ColumnTable):
    """T2 and SPE of rows with their limits, alarms and contributors; prints the rows with an alarm.

    Attributes
    ----------
    columns : dict of str to array of shape (n_samples,)
        ``row``: names, times or numbers of the rows; ``T2`` and ``T2 limit``; ``SPE`` and ``SPE limit``,
        where components were discarded; ``alarm``: "T2", "SPE", "T2 and SPE" or ""; ``contributor 1`` to
        ``contributor 3``: the columns that contribute most to the statistic that is largest relative to its
        limit, "" where there are none.
    limits : ControlLimits
        The limits of T2 and SPE.
    events : Events
        Runs of alarms, and the columns that begin them.
    frozen : tuple of Frozen
        Columns with exactly one value in more than three times as many rows as ever in the normal rows, if
        that was at most a tenth of these. They raise no alarm. Normal and new rows must be dense, in memory
        and in the order of time. Empty without normal rows.
    rows : {"new", "fit"}
        Whose limits were used.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine().data[np.random.default_rng(0).permutation(178)]  # not by cultivar
    >>> monitor = gramian.Monitor(gramian.PCA(2, scale="unit")).fit(X)
    >>> new = X[:3].copy()
    >>> new[1, 0] = 30.0  # % alcohol
    >>> statistics = monitor.statistics(new)
    >>> statistics["alarm"].tolist(), str(statistics["contributor 1"][1])
    (['', 'T2 and SPE', ''], 'x0')
    """

    limits: ControlLimits
    events: Events
    frozen: tuple[Frozen, ...] = ()
    rows: str = "new"

    def __len__(self) -> int:
        return len(self.columns["row"])

    @property
    def finite(self) -> dict[str, AnyArray]:
        """The columns for a file, where a limit that does not exist is missing, and ``excess`` at the end."""
        columns = {
            name: np.where(np.isfinite(values), values, np.nan) if name.endswith(" limit") else values
            for name, values in self.columns.items()
        }
        return columns | {"excess": self.excess}

    @property
    def alarms(self) -> BoolArray:
        """Which rows have an alarm."""
        return np.asarray(self.columns["alarm"] != "")

    def worst(self, count: int = 10) -> IndexArray:
        """Return the places of the rows that are largest relative to their limits, largest first.

        Parameters
        ----------
        count : int, default=10
            The largest number of places.

        Returns
        -------
        ndarray of shape (min(count, n_samples),), int
            Places, counted from 0.
        """
        return np.argsort(-self.excess, kind="stable")[:count]

    @property
    def excess(self) -> FloatArray:
        """The larger of T2 and SPE of each row, relative to its limit."""
        names = [name for name in BOTH if name in self.columns]
        return excess_of(*([self.columns[f"{name}{end}"] for name in names] for end in ("", " limit")))

    @property
    def summary(self) -> str:
        """The number of alarms, and the limits."""
        unknown = int(np.isnan(self.columns["T2"]).sum())
        without = f" {counted(unknown, 'row has', 'rows have')} no T2, and so no alarm." if unknown else ""
        limits = {name: self.columns[f"{name} limit"][:1] for name in BOTH if name in self.columns}
        about = {"T2": "for the distance along the components (T2)", "SPE": "for that from them (SPE)"}
        sentence = ", ".join(
            f"{value:.6g} {about[name]}" for name, values in limits.items() for value in values
        )
        return (
            f"{counted(int(self.alarms.sum()), 'alarm')} in {counted(len(self), 'row')}. "
            f"Limits for {percent(self.limits.alpha)} false alarms: {sentence.replace('inf', 'unknown')}."
            f"{without}"
        )

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.summary
        yield from map(str, self.frozen)
        yield from self.limits.sentences
        names = [name for name in self.columns if not name.endswith(" limit")]
        indices = [index for index in self.worst() if self.alarms[index]]
        if len(indices) < self.alarms.sum():
            yield f"The {len(indices)} largest:"
        if indices:
            rows = [[self.columns[name][index] for name in names] for index in indices]
            cells = [[value if isinstance(value, float) else str(value) for value in row] for row in rows]
            yield Grid(names, cells, [".4g"] * len(names))
            yield from self.events._notebook()


def excess_of(values: Iterable[FloatArray], limits: Sequence[FloatArray | float]) -> FloatArray:
    """Return the largest statistic of each row, relative to its limit."""
    least = np.finfo(np.float64).tiny
    ratios = [v / np.maximum(limit, least) for v, limit in zip(values, limits, strict=True)]
    return np.asarray(np.fmax.reduce(ratios))
