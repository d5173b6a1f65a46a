"""What is going on, on standard error: a line that appears after a second, and only at a terminal."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["progress", "say"]

DELAY = 1.0
_shown: list["_Line"] = []


def say(text: str) -> None:
    """Write one line of plain text to standard error, above a progress line if there is one."""
    text = " ".join(text.split())
    if _shown and _shown[-1].print(text):
        return
    # What was done counts, whether or not somebody reads about it.
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show what is being done, and what the solvers say about it, once it has taken a second.

    Examples
    --------
    >>> with progress("reading"):
    ...     pass
    """
    if not sys.stderr.isatty():
        yield
        return
    line = _Line(doing)
    logger = logging.getLogger("gramian")
    level = logger.level
    logger.addHandler(line)
    logger.setLevel(logging.INFO)
    _shown.append(line)
    try:
        yield
    finally:
        _shown.remove(line)
        logger.removeHandler(line)
        logger.setLevel(level)
        line.stop()


class _Line(logging.Handler):
    """A spinner with a text; it also takes the solvers' messages."""

    def __init__(self, doing: str) -> None:
        super().__init__(logging.INFO)
        self._doing = doing
        self._message = ""
        self._stopped = False
        self._status: Any = None
        self._guard = threading.RLock()
        self._timer = threading.Timer(DELAY, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        from rich.console import Console

        with self._guard:
            if not self._stopped:
                self._status = Console(stderr=True).status(self._text(), spinner="line")
                self._status.start()

    def _text(self) -> str:
        from rich.markup import escape

        return escape(f"{self._doing} ... {self._message}".rstrip())

    def emit(self, record: logging.LogRecord) -> None:
        """Show a solver's message behind what is being done."""
        with self._guard:
            self._message = record.getMessage()
            if self._status is not None:
                self._status.update(self._text())

    def print(self, text: str) -> bool:
        """Write a line above the spinner; False when the spinner is not there."""
        with self._guard:
            if self._status is None:
                return False
            self._status.console.print(text, markup=False, highlight=False, soft_wrap=True)
            return True

    def stop(self) -> None:
        """Remove the spinner."""
        with self._guard:
            self._stopped = True
            self._timer.cancel()
            if self._status is not None:
                self._status.stop()
                self._status = None
