"""Rows in which contenders take turns in one process, and are then judged against float64."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.rows import Check, Contender, Options, Outcome, Report, Standing, pair_ratio
from harness.workers import peak_growth

REST = 0.2  # seconds, at most, in which threads that wait actively after the last work fall asleep
PREDICTED = 3.0  # factor by which the seconds of a plan may be off


def no_reason() -> str:
    return ""


@dataclass(frozen=True)
class TimedRow:
    """Work on data in memory.

    Attributes
    ----------
    about : str
        Generator, seed, spectrum, and what the peers' settings are.
    data : callable
        Makes the data; never timed.
    reference : callable
        Takes the data and returns what ``errors`` compares with, in float64.
    errors : callable
        Takes the reference and an outcome, returns named errors; the first is the table's.
    tolerances : mapping
        Largest error allowed, by name. A contender within all of them is accurate.
    ratio : float or None
        Largest ratio to the best accurate peer that the row allows.
    growth : float or None
        Largest growth of memory, in bytes, that the row allows.
    ratios : mapping
        Largest ratios to single peers, by their names.
    warm : bool
        Whether every contender runs once at full size before the clock counts.
    only_once : bool
        Whether one run is all the row can afford, whatever the command line asks for.
    patience : float
        Seconds after which a contender runs no more; a peer whose run takes most of it is not run again for
        its memory.
    against : callable
        ``min`` for a ratio to the fastest accurate peer, ``max`` for one to the slowest.
    slow : bool
        Whether the row takes minutes and runs with ``--slow`` only.
    requires : callable
        Returns why the row cannot run here, or nothing.
    """

    name: str
    about: str
    data: Callable[[], Any]
    contenders: tuple[Contender, ...]
    reference: Callable[[Any], Any]
    errors: Callable[[Any, Outcome], dict[str, float]]
    tolerances: Mapping[str, float] = field(default_factory=dict)
    ratio: float | None = None
    growth: float | None = None
    ratios: Mapping[str, float] = field(default_factory=dict)
    repeats: int = 5
    warm: bool = True
    only_once: bool = False
    patience: float = 25.0
    against: Callable[..., Any] = min
    slow: bool = False
    requires: Callable[[], str] = no_reason

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Time in turns, judge, then measure memory in one process per contender."""
        report = Report(self.name, self.about, self.tolerances, self.ratio, against=self.against)
        report.skipped = self.why_not(options)
        if report.skipped:
            return report
        chosen = [c for c in self.contenders if options.slow or not c.slow]
        taking_part = [c for c in chosen if c.installed]
        report.absent = [c.name for c in chosen if not c.installed]
        report.standings = [Standing(c.name, c.ours) for c in taking_part]
        timed = [(c, s) for c, s in zip(taking_part, report.standings, strict=True) if c.allowance is None]
        self._time_and_judge(timed, options, rehearsal)
        self._memory(options, taking_part, report.standings)
        report.checks = self._checks(report)
        return report

    def why_not(self, options: Options) -> str:
        """Why the row does not run, or nothing."""
        return "takes minutes; run with --slow" if self.slow and not options.slow else self.requires()

    def _memory(self, options: Options, taking_part: list[Contender], standings: list[Standing]) -> None:
        for contender, standing in zip(taking_part, standings, strict=True):
            if not contender.ours and standing.seconds and standing.median > 0.8 * self.patience:
                continue
            say(f"{self.name}: memory of {contender.name}")
            result = peak_growth(options, self.name, contender.name)
            standing.peak_growth = result.growth
            standing.seconds_in_child = result.seconds
            standing.failure = standing.failure or result.failure

    def contender(self, name: str) -> Contender:
        return next(c for c in self.contenders if c.name == name)

    def _time_and_judge(
        self, timed: list[tuple[Contender, Standing]], options: Options, rehearsal: TimedRow
    ) -> None:
        rehearse([c for c, _ in timed], rehearsal)
        gc.collect()
        gc.freeze()  # libraries are not searched again before every run
        data = self.data()
        states = {c.name: prepared(c, s, data) for c, s in timed}
        if self.warm:
            for contender, standing in timed:
                if not (contender.slow or standing.failure):
                    warm_up(contender, states[contender.name])
        outcomes: dict[str, Outcome] = {}
        repeats = 1 if self.only_once else options.repeats or self.repeats
        rest = 0.0
        for turn in range(repeats):
            # There and back again, so that nobody always runs after the same neighbour.
            for contender, standing in timed if turn % 2 == 0 else timed[::-1]:
                impatient = (contender.slow and turn > 0) or sum(standing.seconds) > self.patience
                if impatient or standing.failure:
                    continue
                state = states[contender.name]
                outcomes[contender.name] = time_once(contender, standing, state, rest) or Outcome()
                # As long as the work at most: caches that cool down make fits of milliseconds slower.
                rest = min(REST, standing.seconds[-1]) if standing.seconds else 0.0
                say(f"{self.name}: {turn + 1}/{repeats} {contender.name}, {standing.median:.3g} s")
        say(f"{self.name}: float64 reference")
        reference = self.reference(data)
        for _, standing in timed:
            if not standing.failure:
                self._judge(standing, reference, outcomes[standing.name])

    def _judge(self, standing: Standing, reference: Any, outcome: Outcome) -> None:
        standing.errors = self.errors(reference, outcome)
        standing.certificate = outcome.certificate
        standing.note = outcome.note
        standing.predicted = outcome.predicted
        standing.accurate = all(standing.errors[name] <= bound for name, bound in self.tolerances.items())

    def _checks(self, report: Report) -> list[Check]:
        ours = report.ours
        if ours is None or ours.failure:
            return []
        checks = [
            Check(f"{name} of ours", ours.errors[name], bound) for name, bound in self.tolerances.items()
        ]
        if self.ratio is not None and report.best_peer is not None:
            checks.append(Check(f"ours / {report.best_peer.name}", report.ratio, self.ratio))
        for peer in report.standings:
            if peer.name in self.ratios and peer.seconds:
                text = f"ours / {peer.name}"
                checks.append(Check(text, pair_ratio(ours, peer), self.ratios[peer.name]))
        if self.growth is not None and ours.peak_growth is not None:
            checks.append(Check("peak growth of ours, GB", ours.peak_growth / 1e9, self.growth / 1e9))
        if ours.predicted and ours.seconds:
            off = ours.median / ours.predicted
            checks.append(Check("measured and predicted seconds differ by", max(off, 1 / off), PREDICTED))
        if ours.certificate is not None:
            checks.append(Check("certificate not ok", float(not ours.certificate), 0.0))
        return checks


def rehearse(contenders: list[Contender], rehearsal: TimedRow) -> None:
    """Run each contender at the row's quick size, so that imports and BLAS buffers are in place."""
    data = rehearsal.data()
    for contender in contenders:
        small = rehearsal.contender(contender.name)
        # What fails here fails again at full size, where it is recorded.
        with contextlib.suppress(Exception), quiet():
            small.run(small.prepare(data))


def prepared(contender: Contender, standing: Standing, data: Any) -> Any:
    """The state that the timed function takes; a failure is the contender's, not the row's."""
    try:
        with quiet():
            return contender.prepare(data)
    except Exception as error:
        standing.failure = described(error)
        return None


def warm_up(contender: Contender, state: Any) -> None:
    """Run once at full size without measuring."""
    with contextlib.suppress(Exception), quiet():
        contender.run(state)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def time_once(contender: Contender, standing: Standing, state: Any, rest: float) -> Outcome | None:
    """Time one run after a rest, and keep its outcome, its warnings or its failure."""
    gc.collect()
    time.sleep(rest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            result = contender.run(state)
            seconds = time.perf_counter() - start
        except Exception as error:
            standing.failure = described(error)
            return None
    standing.seconds.append(seconds)
    standing.warnings = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return contender.outcome(state, result)


def say(text: str) -> None:
    """Progress: one line, rewritten, on standard error if that is a terminal; an empty text clears it."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)
