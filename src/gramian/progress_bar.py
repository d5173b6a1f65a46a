"""Progress of long work in Python and in notebooks: a line that appears after two seconds and goes away."""

from __future__ import annotations

import html
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from gramian.checks import duration, shown
from gramian.progress import report_to, reporting

DELAY = 2.0  # seconds before the line appears
PAUSE = 0.1  # least seconds between two drawings
WIDTH = 100  # characters of a line on a terminal
_wanted = True


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
    screen = None if reporting() else _screen()
    if screen is None:
        yield
        return
    line = _Line(title, screen)
    try:
        with report_to(line):
            yield
    finally:
        line.stop()


def _screen() -> _Terminal | _Notebook | None:
    """Return where a person can see a line: the cell of a notebook or a terminal, or None."""
    if not _wanted or os.environ.get("GRAMIAN_PROGRESS", "1").lower() in ("0", "false", "no", "off"):
        return None
    # Workers of a pool share the terminal with the process that waits for them.
    main = threading.current_thread() is threading.main_thread()
    if not main or multiprocessing.current_process().name != "MainProcess":
        return None
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is not None:
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class _Terminal:
    """The last line of a terminal."""

    def draw(self, text: str, share: float | None) -> None:
        bar = "" if share is None else f"[{'#' * round(20 * share):20}] "
        print(f"\r\x1b[K{bar}{text[: WIDTH - len(bar)]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Notebook:
    """An output of the cell that runs, which is replaced."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, text: str, share: float | None) -> None:
        ipython = import_module("IPython.display")
        bar = "" if share is None else f'<progress max="1" value="{share:.4f}"></progress> '
        content = ipython.HTML(f"<div>{bar}{html.escape(text)}</div>")
        if self._handle is None:
            self._handle = ipython.display(content, display_id=True)
        else:
            self._handle.update(content)

    def clear(self) -> None:
        self._handle.update(import_module("IPython.display").HTML(""))


class _Line:
    """A reporter that draws what is counted, how much of it is done, and the time that is left."""

    def __init__(self, title: str, screen: _Terminal | _Notebook) -> None:
        self._title, self._screen = title, screen
        self._message, self._unit, self._done, self._total = "", "", 0, 0
        self._began = self._counted_from = time.monotonic()
        self._drawn: float | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Take note of a message; what is counted inside of a unit that is counted is only a message."""
        with self._lock:
            self._message = message
            if unit == self._unit or (unit is not None and self._done >= self._total):
                if unit != self._unit:
                    self._counted_from = time.monotonic()
                self._unit, self._done, self._total = unit, done, total
            if self._drawn is not None and time.monotonic() - self._drawn >= PAUSE:
                self._draw()

    def stop(self) -> None:
        """Take the line away."""
        self._timer.cancel()
        with self._lock:
            if self._drawn is not None:
                self._screen.clear()
            self._drawn = None
            self._title = ""

    def _appear(self) -> None:
        with self._lock:
            if self._title:  # it may have stopped meanwhile
                self._draw()

    def _draw(self) -> None:
        self._drawn = now = time.monotonic()
        share = min(self._done / self._total, 1.0) if self._total else None
        left = ""
        if share:
            left = f", about {duration((now - self._counted_from) * (1 - share) / share)} left"
        text = f"{self._title}: {self._message}{left}" if self._message else f"{self._title} ..."
        self._screen.draw(shown(text), share)
