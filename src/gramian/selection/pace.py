"""How far a search has come and how long it will take, for the log and for standard error."""

from __future__ import annotations

import logging
import sys
import time

from gramian.selection.history import Step
from gramian.selection.plans import Plan

__all__ = ["Pace", "duration"]

log = logging.getLogger(__name__)
# Seconds between two messages within a step: on the line that a terminal rewrites, and in lines that stay.
REWRITTEN, STAYING = 0.5, 10.0


def duration(seconds: float) -> str:
    """Return seconds in words.

    Examples
    --------
    >>> duration(42), duration(400), duration(9000)
    ('42 s', '7 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Pace:
    """Says how far a search has come.

    Parameters
    ----------
    plan : Plan
    verbose : bool
        Whether to write to standard error too.
    """

    def __init__(self, plan: Plan, *, verbose: bool) -> None:
        self._plan, self._verbose = plan, verbose
        # Floating searches may try back more than once for each move, and patience may end any search early.
        early, late = plan.patience is not None, plan.floating
        self._surely = "about" if early == late else "at most" if early else "at least"
        self._each: float | None = None
        self._now = "no feature yet"
        self._moved = 0
        self._began = self._logged = self._printed = time.perf_counter()
        self._already: int | None = None

    def within(self, done: int, total: int) -> None:
        """Take note of a candidate that was scored within a step."""
        now = time.perf_counter()
        if self._already is None:
            self._already = done - 1
        if now - self._logged < REWRITTEN:
            return
        each = (now - self._began) / (done - self._already)
        left = each * (total - done + self._later(self._moved + 1))
        text = f"{self._now}, trying {done:,} of {total:,}, {self._left(left)}"
        self._logged = now
        log.info("%s", text)
        if self._verbose and now - self._printed >= STAYING:
            self._printed = now
            print(text, file=sys.stderr, flush=True)

    def step(self, step: Step, computed: int) -> None:
        """Take note of a step: ``computed`` candidates were scored for it."""
        now = time.perf_counter()
        if computed:
            self._each = (now - self._began) / computed
        self._began = self._logged = self._printed = now
        self._already, self._moved = None, self._plan.moved(step)
        self._now = f"{step.size:,} of {self._plan.n_features:,} features, {step.mean:.4g}"
        later = self._later(self._moved)
        left = f", {self._left(self._each * later)}" if self._each is not None and later else ""
        log.info("%s%s", self._now, left)
        if self._verbose:
            print(f"{self._now}{left}", file=sys.stderr, flush=True)

    def _left(self, seconds: float) -> str:
        return f"{self._surely} {duration(seconds)} left" if seconds >= 1 else "less than 1 s left"

    def _later(self, moved: int) -> int:
        """Candidates of the moves to come; floating searches try each move back at least once."""
        groups, back = len(self._plan.space.free), self._plan.floating
        return sum(groups - i + back * (i + 1) for i in range(moved, self._plan.moves))
