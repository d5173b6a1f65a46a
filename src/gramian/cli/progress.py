"""What is going on, on standard error: a line that appears after a second, and only at a terminal."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gramian.faces.names import shown

DELAY = 1.0
_shown: list[Any] = []


def say(text: str) -> None:
    """Write one line of plain text to standard error, above a progress line if there is one."""
    text = shown(" ".join(text.split()))
    # What was done counts, whether or not somebody reads about it.
    with suppress(OSError):
        if _shown:
            _shown[-1].console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
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
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(f"{doing} ..."), spinner="line")
    timer = threading.Timer(DELAY, status.start)
    timer.daemon = True
    messages = logging.Handler(logging.INFO)
    messages.emit = lambda record: status.update(Text(f"{doing} ... {record.getMessage()}"))  # type: ignore[method-assign]
    logger = logging.getLogger("gramian")
    level = logger.level
    logger.addHandler(messages)
    logger.setLevel(logging.INFO)
    _shown.append(status)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
        _shown.remove(status)
        logger.removeHandler(messages)
        logger.setLevel(level)
