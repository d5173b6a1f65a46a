"""Old and new in alternation: ours from two source trees, each in a process of its own."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.report import aligned, as_bytes, as_number
from harness.rows import Options
from harness.timing import REST, TimedRow, say
from harness.workers import Run, Worker

SLOWER = 1.05  # ratio above which a row counts as slower
FEWEST, MOST = 5, 200  # pairs
PATIENCE, LIMIT = 20.0, 120.0  # seconds of a row after which the fewest pairs are enough, or any
HEADINGS = (
    "row",
    "pairs",
    "old s",
    "new s",
    "new / old",
    "95 % of it",
    "of CPU",
    "growth old",
    "growth new",
    "remarks",
)


@dataclass
class Comparison:
    """Runs of both trees, as neighbours in time."""

    row: str
    old: list[Run] = field(default_factory=list)
    new: list[Run] = field(default_factory=list)
    growth: tuple[int | None, int | None] = (None, None)
    failure: str = ""
    skipped: str = ""

    @property
    def ratios(self) -> list[float]:
        return [_quotient(b.seconds, a.seconds) for a, b in zip(self.old, self.new, strict=True)]

    @property
    def interval(self) -> tuple[float, float]:
        """Two of the ratios, which contain the median of all such pairs 95 times in 100."""
        ordered = sorted(self.ratios)
        # Ranks of a binomial distribution: how many of the pairs lie below their median.
        rank = max(0, math.floor(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))))
        return ordered[rank], ordered[-1 - rank]

    @property
    def slower(self) -> bool:
        """Slower by more than the allowance, and not by chance, of which fewer pairs say nothing."""
        ratios = self.ratios
        return len(ratios) >= FEWEST and statistics.median(ratios) > SLOWER and self.interval[0] > 1.0

    def line(self) -> tuple[str, ...]:
        """Cells of the table."""
        if self.failure or not self.ratios:
            why = (self.failure or self.skipped).strip().splitlines()[-1:]
            return (self.row, *["-"] * (len(HEADINGS) - 2), *(why or ["nothing of ours"]))
        ratio, (low, high) = statistics.median(self.ratios), self.interval
        cpu = [_quotient(b.cpu_seconds, a.cpu_seconds) for a, b in zip(self.old, self.new, strict=True)]
        remark = "SLOWER" if self.slower else "unclear: repeat it" if ratio > SLOWER else ""
        return (
            self.row,
            str(len(self.ratios)),
            *(
                as_number(statistics.median(r.seconds or math.nan for r in runs))
                for runs in (self.old, self.new)
            ),
            f"{ratio:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{statistics.median(cpu):.3f}",
            *map(as_bytes, self.growth),
            remark,
        )


def compare(options: Options, row: Any, old: Path, new: Path) -> Comparison:
    """Run ours of one row from both trees in turns, until there are enough pairs."""
    result = Comparison(row.name)
    ours = ""
    if isinstance(row, TimedRow):
        result.skipped = row.why_not(options)
        ours = next((contender.name for contender in row.contenders if contender.ours), "")
        if result.skipped or not ours:
            return result
    with ExitStack() as stack:
        workers, first = [], []
        for source in (old, new):  # one after the other: they may write the same file
            workers.append(stack.enter_context(Worker(options, row.name, ours, source)))
            first.append(workers[-1].run())
        result.growth = (first[0].growth, first[1].growth) if ours else (None, None)
        result.failure = next((run.failure for run in first if run.failure), "")
        # The first run shows the memory and warms up; a long one counts, since it is not repeated.
        if not result.failure and not getattr(row, "warm", False):
            result.old, result.new = [first[0]], [first[1]]
        began = time.monotonic()
        while not result.failure and not _enough(len(result.new), time.monotonic() - began, options, row):
            # There and back again, so that nobody always runs after the same neighbour.
            order = (0, 1) if len(result.new) % 2 == 0 else (1, 0)
            pair = dict.fromkeys(order, Run(None))
            for which in order:
                time.sleep(min(REST, first[which].seconds or 0.0))
                pair[which] = workers[which].run()
            result.failure = next((run.failure for run in pair.values() if run.failure), "")
            if not result.failure:
                result.old.append(pair[0])
                result.new.append(pair[1])
                say(f"{row.name}: {len(result.new)} pairs, {statistics.median(result.ratios):.3f}")
    return result


def _enough(pairs: int, seconds: float, options: Options, row: Any) -> bool:
    if options.repeats or options.quick:
        return pairs >= (options.repeats or 3)
    if getattr(row, "only_once", False) or seconds > LIMIT:
        return pairs >= 1
    return pairs >= MOST or (pairs >= FEWEST and seconds > PATIENCE)


def _quotient(new: float | None, old: float | None) -> float:
    return math.nan if not new or not old else new / old


def table(results: Sequence[Comparison]) -> str:
    """One line a row, and what they say together."""
    slower = [result.row for result in results if result.slower]
    done = sum(bool(result.ratios) and not result.failure for result in results)
    said = (
        f"{done} of {len(results)} rows compared; slower than {SLOWER} times: {', '.join(slower) or 'none'}"
    )
    return "\n".join([*aligned([HEADINGS, *(result.line() for result in results)]), "", said])
