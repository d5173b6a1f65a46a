"""Progress of long work in Python and in notebooks: a line that appears after two seconds and goes away."""

from __future__ import annotations

import html
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from gramian.checks import duration, shown
from gramian.progress import report_to, reporting

DELAY = 2.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two drawings
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
    line = ProgressLine(title, screen, DELAY)
    try:
        with report_to(line):
            yield
    finally:
        line.stop()


def _screen() -> Terminal | _Notebook | None:
    """Return where a person can see a line: the cell of a notebook or a terminal, or None."""
    if not _wanted or os.environ.get("GRAMIAN_PROGRESS", "1").lower() in ("0", "false", "no", "off"):
        return None
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    notebook = getattr(shell, "kernel", None) is not None
    if not notebook and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    # Workers of a pool share the terminal with the process that waits for them.
    main = threading.current_thread() is threading.main_thread()
    workers = sys.modules.get("multiprocessing")  # which every worker has imported
    if not main or (workers and workers.current_process().name != "MainProcess"):
        return None
    return _Notebook() if notebook else Terminal()


class Terminal:
    """The last line of a terminal."""

    def draw(self, text: str, share: float | None) -> None:
        line = text if share is None else f"[{'#' * round(20 * share):20}] {text}"
        self._put(line[: shutil.get_terminal_size().columns - 1])

    def clear(self) -> None:
        self._put("")

    def _put(self, line: str) -> None:
        with suppress(OSError):  # the terminal is gone, and the work goes on
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


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


class ProgressLine:
    """A reporter that draws what is counted, how much of it is done, and the time that is left.

    Parameters
    ----------
    title : str
    screen : Terminal or _Notebook
    delay : float
        Seconds before the line appears.
    """

    def __init__(self, title: str, screen: Terminal | _Notebook, delay: float) -> None:
        self._title, self._screen, self._delay = title, screen, delay
        self._counted, self._message, self._unit, self._done, self._total = "", "", "", 0, 0
        self._counted_from = self._counted_at = time.monotonic()
        self._drawn = False
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._keep_drawing, daemon=True)
        self._thread.start()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Take note of a message; what is counted inside of a unit that is counted is only a message."""
        with self._lock:
            if unit != self._unit and (unit is None or self._done < self._total):
                self._message = message
                return
            self._counted_at = time.monotonic()
            if unit != self._unit or done < self._done:  # another pass over the same begins anew
                self._counted_from = self._counted_at
            self._counted, self._message = message, ""
            self._unit, self._done, self._total = unit, done, total

    def stop(self) -> None:
        """Take the line away."""
        self._stopped.set()
        self._thread.join()
        with self.away():
            pass

    @contextmanager
    def away(self) -> Iterator[None]:
        """Take the line away for what is written meanwhile."""
        with self._lock:
            if self._drawn:
                self._screen.clear()
            self._drawn = False
            yield

    def _keep_drawing(self) -> None:
        pause = self._delay
        while not self._stopped.wait(pause):
            pause = PAUSE
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        self._drawn = True
        share = min(self._done / self._total, 1.0) if self._total else None
        left = ""
        if share and share < 1.0:
            took, since = self._counted_at - self._counted_from, time.monotonic() - self._counted_at
            left = f", about {duration(max(took * (1 - share) / share - since, 0.0))} left"
        said = ", ".join(filter(None, (self._counted, self._message)))
        text = f"{self._title}: {said}{left}" if said else f"{self._title} ..."
        self._screen.draw(shown(text), share)
