"""What is going on, on standard error: a line that appears after a second, and only at a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gramian.checks import shown
from gramian.progress import report_to

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


class _Line:
    """One line made of what work reports; where it counts units, a bar and the time left."""

    def __init__(self, title: str) -> None:
        self.bar: Any = None
        self._title, self._unit_text, self._message = title, "", ""
        self._unit: str | None = ""
        self._done, self._total = 0, 0
        self._lock = threading.RLock()
        self._timer = threading.Timer(DELAY, self._appear)
        self._timer.daemon = True

    def start(self) -> None:
        """Let the line appear when work has taken a while."""
        self._timer.start()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Take note of a message, and of how many units are done.

        What is counted inside of a unit that is counted itself is only a message.
        """
        with self._lock:
            if unit == self._unit or (unit is not None and self._done == self._total):
                # Another pass over the same begins anew.
                if self.bar is not None and (unit != self._unit or done < self._done):
                    self.bar.reset(self.bar.task_ids[0])
                self._unit, self._done, self._total = unit, done, total
                self._unit_text, self._message = message, ""
            else:
                self._message = message
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

        with self._lock:
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
        text = shown(f"{self._title} ... {', '.join(filter(None, (self._unit_text, self._message)))}")
        self.bar.columns = self._columns[self._total > 0]
        self.bar.update(
            self.bar.task_ids[0], description=text, completed=self._done, total=self._total or None
        )


@contextmanager
def progress(title: str) -> Iterator[None]:
    """Show what is being done, and how far it is, once it has taken a second.

    Examples
    --------
    >>> with progress("reading"):
    ...     pass
    """
    if not sys.stderr.isatty():
        yield
        return
    line = _Line(title)
    _shown.append(line)
    line.start()
    try:
        with report_to(line):
            yield
    finally:
        line.stop()
        _shown.remove(line)
