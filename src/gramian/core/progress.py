"""Progress of long work: loops report to whoever listens, by default a bar that appears after two seconds."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gramian.core.checks import shown

DELAY = 2.0  # seconds before the bar appears
PAUSE = 0.1  # seconds between two drawings
COUNTED = "{desc} {percentage:3.0f}%|{bar:20}| {elapsed}<{remaining}"
UNCOUNTED = "{desc} [{elapsed}]"
_wanted = True
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

    Threads see the reporter if they run in a copy of the context, as those of :mod:`gramian.core.arrays` do.
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


def track(items: Sequence[T], unit: str) -> Iterator[T]:
    """Yield items, and report which of how many is next.

    Parameters
    ----------
    items : sequence
    unit : str
        What is counted.

    Examples
    --------
    >>> list(track("abc", "letter"))
    ['a', 'b', 'c']
    """
    total = len(items)
    for done, item in enumerate(items):
        report(f"{unit} {done + 1} of {total}", unit, done, total)
        yield item
    report(f"{unit}: done", unit, total, total)


@dataclass
class Passes:
    """The number of passes over rows that are read block by block."""

    count: int = 0


# ---------------------------------------------------------------------- bars


def set_progress(show: bool) -> None:
    """Show progress of work that takes more than two seconds, or not.

    By default it is shown at a terminal and in notebooks, and never in scripts whose standard error is a file
    or a pipe. The environment variable ``GRAMIAN_PROGRESS=0`` turns it off for a process.

    Parameters
    ----------
    show : bool
        False shows nothing from now on; True is the default again.

    Examples
    --------
    >>> import gramian
    >>> gramian.set_progress(False)
    >>> gramian.set_progress(True)
    """
    global _wanted
    _wanted = bool(show)


@contextmanager
def shows_progress(title: str) -> Iterator[None]:
    """Show what the work inside reports, unless somebody listens already or nobody can see it.

    Examples
    --------
    >>> with shows_progress("PCA"):
    ...     pass
    """
    if _reporter.get() is not None or not _visible():
        yield
        return
    bar = ProgressBar(title)
    try:
        with report_to(bar):
            yield
    finally:
        bar.close()


def _visible() -> bool:
    """Return whether a person can see a bar: at a terminal, or below the cell of a notebook."""
    if not _wanted or os.environ.get("GRAMIAN_PROGRESS", "1").lower() in ("0", "false", "no", "off"):
        return False
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    notebook = getattr(shell, "kernel", None) is not None
    if not notebook and (sys.stderr is None or not sys.stderr.isatty()):
        return False
    # Workers of a pool share the terminal with the process that waits for them.
    workers = sys.modules.get("multiprocessing")  # which every worker has imported
    alone = workers is None or workers.current_process().name == "MainProcess"
    return alone and threading.current_thread() is threading.main_thread()


class ProgressBar:
    """A reporter that draws what is counted, how much of it is done, and the time that is left.

    Parameters
    ----------
    title : str
    """

    def __init__(self, title: str) -> None:
        self._title, self._text, self._counted = title, "...", ""
        self._unit: str | None = None
        self._done, self._total, self._since = 0, 0, time.time()
        self._bar: Any = None
        self._due = 0.0
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._open)
        self._timer.daemon = True
        self._timer.start()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Draw a message; what is counted inside of a unit that is counted is only a message."""
        with self._lock:
            if unit != self._unit and (unit is None or self._done < self._total):
                self._text = ", ".join(filter(None, (self._counted, message)))
            else:
                if unit != self._unit or done < self._done:  # another pass over the same begins anew
                    self._since = time.time()
                self._text = self._counted = message
                self._unit, self._done, self._total = unit, done, total
            if self._bar is not None and time.monotonic() >= self._due:
                self._draw()

    def close(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        self._timer.join()
        if self._bar is not None:
            self._bar.close()

    def _open(self) -> None:
        from tqdm import tqdm

        with self._lock:
            self._bar = tqdm(file=sys.stderr, leave=False, dynamic_ncols=True, bar_format=UNCOUNTED, delay=1)
            self._bar.delay = 0
            self._draw()

    def _draw(self) -> None:
        bar, self._due = self._bar, time.monotonic() + PAUSE
        bar.n, bar.total, bar.start_t = min(self._done, self._total), self._total or None, self._since
        bar.last_print_t = time.time()
        bar.bar_format = COUNTED if self._total else UNCOUNTED
        bar.set_description_str(shown(f"{self._title}: {self._text}"))


def say(text: str) -> None:
    """Write one line of plain text to standard error, above a bar of progress if there is one."""
    tqdm = sys.modules.get("tqdm")
    # What was done counts, whether or not somebody reads about it.
    with suppress(OSError), tqdm.tqdm.external_write_mode(file=sys.stderr) if tqdm else nullcontext():
        print(shown(" ".join(text.split())), file=sys.stderr, flush=True)
