"""Progress of long work: whoever wants to show it sets a reporter, and loops report to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class Reporter(Protocol):
    """Shows how far work is. It may be called by several threads at once."""

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Take note of a message, and of how many units are done.

        Parameters
        ----------
        message : str
        unit : str or None
            What is counted; "" for a stage of work that is not counted, and None for a message in between.
        done, total : int
        """


R = TypeVar("R", bound=Reporter)
_reporter: ContextVar[Reporter | None] = ContextVar("_reporter", default=None)


@contextmanager
def report_to(reporter: R) -> Iterator[R]:
    """Send the progress of what runs inside to a reporter, which is yielded.

    Threads see the reporter if they run in a copy of the context, as those of :mod:`gramian.arrays` do.
    """
    token = _reporter.set(reporter)
    try:
        yield reporter
    finally:
        _reporter.reset(token)


def reporting() -> bool:
    """Whether there is a reporter."""
    return _reporter.get() is not None


def report(message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
    """Send a message to the reporter, if there is one."""
    reporter = _reporter.get()
    if reporter is not None:
        reporter.update(message, unit, done, total)


def note(log: logging.Logger, message: str, *values: object) -> None:
    """Log a message at level INFO, and send it to the reporter; values are put into words where one is."""
    log.info(message, *values)
    if reporting():
        report(message % values if values else message)


def track(items: Sequence[T], unit: str, *, text: Callable[[int], str] | None = None) -> Iterator[T]:
    """Yield items, and report which of how many is next.

    Parameters
    ----------
    items : sequence
    unit : str
        What is counted.
    text : callable, optional
        Makes the message from the number of items done.

    Examples
    --------
    >>> list(track("abc", "letter"))
    ['a', 'b', 'c']
    """
    total = len(items)
    for done, item in enumerate(items):
        report(text(done) if text else f"{unit} {done + 1} of {total}", unit, done, total)
        yield item
    report(f"{unit}: done", unit, total, total)


def pace(done: int, total: int, what: str, began: float) -> str:
    """Return how many of how many are done, and how fast since a time of ``time.perf_counter``.

    Examples
    --------
    >>> pace(0, 2000, "rows", time.perf_counter())
    '0 of 2,000 rows'
    """
    rate = done / max(time.perf_counter() - began, 1e-9)
    return f"{done:,} of {total:,} {what}" + (f", {rate:,.0f} {what}/s" if done else "")


@dataclass
class Passes:
    """Counts the passes over rows that are read block by block, and reports how far each is."""

    count: int = 0

    def run(
        self,
        batches: Sequence[T],
        work: Callable[[T], S],
        combine: Callable[[S, S], S],
        kind: str,
        progress: tuple[Sequence[int], int, str],
    ) -> S:
        """Combine the results of one pass, batch after batch.

        Parameters
        ----------
        batches : sequence
            Parts of the data.
        work : callable
            Of one of them.
        combine : callable
            Of the results of earlier batches and of the next one.
        kind : str
            What is computed, in words.
        progress : (sequence of int, int, str)
            How much is done when each batch begins, of how many, of what.
        """
        (starts, total, what), began = progress, time.perf_counter()
        self.count += 1
        unit = f"pass {self.count}"

        def text(done: int) -> str:
            return f"{unit} ({kind}): {pace(starts[done], total, what, began)}"

        return reduce(combine, map(work, track(batches, unit, text=text)))
