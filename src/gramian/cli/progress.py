"""What is going on, on standard error: a line that appears after a second, and only at a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from gramian.checks import shown
from gramian.progress import report_to

DELAY = 1.0
_lines: list[Any] = []


def say(text: str) -> None:
    """Write one line of plain text to standard error, above a progress line if there is one."""
    # What was done counts, whether or not somebody reads about it.
    with suppress(OSError), _lines[-1].away() if _lines else nullcontext():
        print(shown(" ".join(text.split())), file=sys.stderr, flush=True)


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
    from gramian.progress_bar import ProgressLine, Terminal

    line = ProgressLine(title, Terminal(), DELAY)
    _lines.append(line)
    try:
        with report_to(line):
            yield
    finally:
        line.stop()
        _lines.remove(line)
