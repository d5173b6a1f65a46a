"""Rows about starting up: every run is a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.rows import Check, Options, Report, Standing
from harness.timing import say


@dataclass(frozen=True)
class Command:
    """A command line; with ``reports`` set it prints its own seconds as its last line."""

    name: str
    argv: tuple[str, ...]
    ours: bool = False
    reports: bool = False


@dataclass(frozen=True)
class ProcessRow:
    """Commands in turns; limits are on ours in seconds, or as a ratio to the other."""

    name: str
    about: str
    commands: tuple[Command, ...]
    ratio: float | None = None
    seconds: float | None = None
    repeats: int = 9
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Run all commands once to warm the file cache, then in turns."""
        report = Report(self.name, self.about, self.tolerances, self.ratio)
        report.standings = [Standing(c.name, c.ours) for c in self.commands]
        repeats = 3 if options.quick else options.repeats or self.repeats
        for turn in range(repeats + 1):
            for command, standing in zip(self.commands, report.standings, strict=True):
                if not standing.failure:
                    _run(command, standing)
                    if turn == 0:
                        standing.seconds.clear()
        for standing in report.standings:
            standing.accurate = not standing.failure
            say(f"{self.name}: {standing.name}, {standing.failure or f'{standing.median:.3g} s'}")
        report.checks = self._checks(report)
        return report

    def _checks(self, report: Report) -> list[Check]:
        ours = report.ours
        if ours is None or not ours.seconds:
            return []
        checks = []
        if self.seconds is not None:
            checks.append(Check("seconds of ours", statistics.median(ours.seconds), self.seconds))
        if self.ratio is not None and report.best_peer is not None:
            checks.append(Check(f"ours / {report.best_peer.name}", report.ratio, self.ratio))
        return checks


def _run(command: Command, standing: Standing) -> None:
    start = time.perf_counter()
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        standing.failure = f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
    else:
        standing.seconds.append(float(done.stdout.split()[-1]) if command.reports else seconds)
