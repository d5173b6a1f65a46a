"""What is going on, on standard error: a line that appears after a second, and only at a terminal."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gramian.checks import shown

DELAY = 1.0
_shown: list["_Line"] = []


def say(text: str) -> None:
    """Write one line of plain text to standard error, above a progress line if there is one."""
    text = shown(" ".join(text.split()))
    # What was done counts, whether or not somebody reads about it.
    with suppress(OSError):
        if _shown and _shown[-1].bar is not None:
            _shown[-1].bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)


class _Line(logging.Handler):
    """One line made of what gramian's loggers say; where they count parts, a bar and the time left."""

    def __init__(self, doing: str) -> None:
        super().__init__()
        self.bar: Any = None
        self._doing, self._part, self._said = doing, "", ""
        self._counted, self._done, self._total = "", 0, 0
        self._timer = threading.Timer(DELAY, self._appear)
        self._timer.daemon = True

    def start(self) -> None:
        """Let the line appear when work has taken a while."""
        self._timer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a message, and of how many parts are done; 0 of 0 is work that is not counted.

        What is counted inside of a part that is counted itself is only said.
        """
        counted, done, total = getattr(record, "parts", (None, 0, 0))
        if counted == self._counted or (counted is not None and self._done == self._total):
            if self.bar is not None and counted != self._counted:
                self.bar.reset(self.bar.task_ids[0])
            self._counted, self._done, self._total = counted, done, total
            self._part, self._said = record.getMessage(), ""
        else:
            self._said = record.getMessage()
        self._draw()

    def stop(self) -> None:
        """Take the line away."""
        self._timer.cancel()
        self._timer.join()
        if self.bar is not None:
            self.bar.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        with self.lock:  # type: ignore[union-attr]
            text = SpinnerColumn("line"), TextColumn("{task.description}", markup=False)
            self._columns = {
                False: text,
                True: (*text, BarColumn(20), TextColumn("about"), TimeRemainingColumn(), TextColumn("left")),
            }
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.add_task("")
            self._draw()
            self.bar.start()

    def _draw(self) -> None:
        if self.bar is None:
            return
        text = shown(f"{self._doing} ... {', '.join(filter(None, (self._part, self._said)))}")
        self.bar.columns = self._columns[self._total > 0]
        self.bar.update(
            self.bar.task_ids[0], description=text, completed=self._done, total=self._total or None
        )


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show what is being done, and what the loggers say about it, once it has taken a second.

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
    logger.setLevel(logging.DEBUG)
    _shown.append(line)
    line.start()
    try:
        yield
    finally:
        line.stop()
        _shown.remove(line)
        logger.removeHandler(line)
        logger.setLevel(level)
