"""Events of a monitor: runs of alarms, where they begin, and the columns that begin them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted, slices
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray
from gramian.statistics import candidates

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


def runs_of(alarms: npt.NDArray[np.bool_], consecutive: int) -> list[Run]:
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


def onset_rows(alarms: npt.NDArray[np.bool_], run: Run) -> npt.NDArray[np.intp]:
    """Return the places of the first alarms of an event."""
    return run.start + np.flatnonzero(alarms[run.start : run.stop])[:ONSET]


def longest_runs(X: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the length of the longest run of exactly one value in each column, and the row where it begins.

    Examples
    --------
    >>> lengths, begins = longest_runs(np.array([[1, 5], [2, 5], [2, 6], [2, np.nan], [3, np.nan]]))
    >>> lengths.tolist(), begins.tolist()
    ([3, 2], [1, 0])
    """
    n, d = X.shape
    lengths, begins = np.ones(d, dtype=np.intp), np.zeros(d, dtype=np.intp)
    places = np.arange(1, n)[:, None]
    for part in slices(d if n > 1 else 0, max(1, PIECE // n)):
        first = np.maximum.accumulate(np.where(X[1:, part] == X[:-1, part], 0, places), axis=0)
        last = (places - first).argmax(axis=0)
        begins[part] = np.take_along_axis(first, last[None, :], axis=0)[0]
        lengths[part] = last + 2 - begins[part]
    return lengths, np.where(lengths == 1, 0, begins)


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
class Events(Tabulated):
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

    columns: Mapping[str, npt.NDArray[Any]]
    runs: tuple[Run, ...]
    consecutive: int

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def to_frame(self) -> Any:
        """Return the events as a pandas data frame."""
        return candidates.data_frame(list(zip(*self.columns.values(), strict=True)), tuple(self.columns))

    def to_markdown(self) -> str:
        """Return the events as a table of Markdown."""
        return self._grid().markdown()

    @property
    def summary(self) -> str:
        """The number of events, and what is one."""
        rule = "" if self.consecutive == 1 else f" of at least {self.consecutive} alarms in a row"
        return f"{counted(len(self), 'event')}{rule}."

    def _grid(self) -> Grid:
        heads = ("start", "end", "length", "alarms", "statistic", "excess", "variables of the first alarms")
        rows = []
        for i in range(len(self)):
            names = [str(self[f"variable {place}"][i]) for place in (1, 2, 3)]
            start, end, statistic = (str(self[name][i]) for name in ("start", "end", "statistic"))
            length, alarms, excess = int(self["length"][i]), int(self["alarms"][i]), float(self["excess"][i])
            rows.append((start, end, length, alarms, statistic, excess, ", ".join(filter(None, names))))
        return Grid(heads, rows, ("", "", "", "", "", ".3g", ""), kinds="ttnntnt")

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.summary
        if len(self):
            yield self._grid()


@dataclass(frozen=True, eq=False, repr=False)
class RunRules(Tabulated):
    """What it costs to wait for several alarms in a row: false events, and delay; prints as a table.

    Attributes
    ----------
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
    false_events: npt.NDArray[np.intp]
    delays: FloatArray | None
    rows: int

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """``consecutive``, ``false events``, ``per 1,000 rows`` and, with faulty rows, ``delay``."""
        rate = 1000 * self.false_events / max(self.rows, 1)
        found = {"consecutive": np.array(self.consecutive), "false events": self.false_events}
        found["per 1,000 rows"] = rate
        return found if self.delays is None else found | {"delay": self.delays}

    def to_frame(self) -> Any:
        """Return the rules as a pandas data frame."""
        return candidates.data_frame(list(zip(*self.columns.values(), strict=True)), tuple(self.columns))

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"Rules on {counted(self.rows, 'normal row')}:"
        columns = self.columns
        rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))
        yield Grid(tuple(columns), rows, ("", "", ".3g", ".4g")[: len(columns)], kinds="n" * len(columns))


def run_rules(
    normal: npt.NDArray[np.bool_], faulty: npt.NDArray[np.bool_] | None, consecutive: Sequence[int]
) -> RunRules:
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
    false = np.array([len(runs_of(normal, one)) for one in consecutive], dtype=np.intp)
    delays = None
    if faulty is not None:
        first = [runs_of(faulty, one)[:1] for one in consecutive]
        delays = np.array(
            [run[0].start + one if run else np.nan for run, one in zip(first, consecutive, strict=True)]
        )
    return RunRules(tuple(consecutive), false, delays, len(normal))
