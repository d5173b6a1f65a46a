"""A worker process, ``python -m gramian.app.server.worker BYTES``: carries out orders, lines of JSON.

It sends lines about its progress, then one with the status of the answer and its length, and the answer.
"""

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from errno import EFBIG
from typing import Any

from gramian import errors
from gramian.core import progress
from gramian.errors import GramianError

Message = dict[str, Any]
DEEPEST, LONGEST = 100, 4 << 20  # levels and characters of facts
SECONDS_BETWEEN, LONGEST_TEXT = 0.1, 1000  # of lines about progress, and characters of one


def main() -> None:
    """Process orders until the server ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to standard error

    def say(message: Message, content: bytes = b"") -> None:
        answers.write(json.dumps(message).encode() + b"\n" + content)
        answers.flush()

    orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    from gramian.app.server import tasks

    memory = int(sys.argv[1])
    confine(memory)
    most = data_bytes() + memory // 2
    while True:
        order = orders.get()
        with progress.report_to(Progress(say)):
            status, answer = answered(getattr(tasks, order.pop("do")), order)
        # Libraries keep memory that they have freed: the next request would meet the limit.
        usable = status != 413 and data_bytes() <= most
        say({"status": status, "bytes": len(answer), "usable": usable}, answer)


def _listen(orders: queue.SimpleQueue[Message]) -> None:
    for line in sys.stdin.buffer:
        orders.put(json.loads(line))
    os._exit(0)  # the server is gone


class Progress:
    """Sends lines about the progress of an order, but not too often."""

    def __init__(self, say: Callable[[Message], None]) -> None:
        self._say, self._last = say, 0.0
        self._counts: tuple[str | None, int, int] = (None, 0, 0)
        self._lock = threading.Lock()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        """Take note of a message, and of how many units are done."""
        with self._lock:
            if unit is not None:
                self._counts = unit, done, total
            if (now := time.monotonic()) - self._last >= SECONDS_BETWEEN:
                self._last, (unit, done, total) = now, self._counts
                self._say({"text": message[:LONGEST_TEXT], "counted": unit, "done": done, "total": total})


def confine(memory: int) -> None:
    """Limit further memory of this process and the size of its files, if the system can."""
    try:
        import resource
    except ModuleNotFoundError:
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
        taken = data_bytes()
        # Limits writable memory only: Vega reserves more addresses than there is memory.
        resource.setrlimit(resource.RLIMIT_DATA, (taken + memory, taken + memory))


def data_bytes() -> int:
    """Return the writable memory of this process, or 0 if the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def answered(work: Callable[..., Any], order: Message) -> tuple[int, bytes]:
    """Return the status and the answer to an order: a file, facts as JSON, or the text of an error.

    Facts and errors have the names of uploads instead of their paths.
    """
    names = {
        text: source["name"]
        for source in order.values()
        if isinstance(source, dict) and "path" in source and not source.get("given")
        for text in (source["path"], os.path.basename(source["path"]))
    }
    try:
        result = work(**order)
        if isinstance(result, bytes):
            return 200, result
        facts = json.dumps(_named(result, names), allow_nan=False)
        if len(facts) > LONGEST:
            raise errors.DataError("Its names are too long in total. Give columns shorter names.")
        return 200, facts.encode()
    except Exception as error:  # an unexpected error ends the request, not the process
        status, text = status_of(error, (order.get("data") or {}).get("name", "This request"))
        if not isinstance(error, GramianError):
            traceback.print_exc()
        return status, str(_named(text, names)).encode()


def _named(message: Any, names: dict[str, str], levels: int = DEEPEST) -> Any:
    """Return values with other names in their texts; serializers fail at about 200 levels."""
    if levels == 0:
        raise errors.DataError(f"The file nests values more than {DEEPEST} levels deep. Save it again.")
    if isinstance(message, dict):
        return {name: _named(value, names, levels - 1) for name, value in message.items()}
    if isinstance(message, list | tuple):
        return [_named(value, names, levels - 1) for value in message]
    if not isinstance(message, str):
        return message
    text = message.encode("utf-8", "replace").decode()
    return re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], text) if names else text


def status_of(error: Exception, what: str = "This request") -> tuple[int, str]:
    """Return the status and the message of an error about something."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    codes = {getattr(cause, "errno", None) for cause in causes}
    if codes & {*errors.FULL} - {EFBIG}:
        return 507, "The disk is full. Delete something, and try again."
    if EFBIG in codes or any(isinstance(cause, MemoryError) for cause in causes):
        limit = f"{what} exceeds the memory limit. Use fewer rows, columns or components."
        return 413, str(error) if isinstance(error, errors.MemoryLimitError) else limit
    if isinstance(error, errors.MissingExtraError):
        return 501, str(error)
    if isinstance(error, GramianError):
        return 400 if isinstance(error, errors.FileError) else 422, str(error)
    if isinstance(error, OSError):
        return 500, "A file could not be read."
    theirs = isinstance(error, ArithmeticError | LookupError | RecursionError | TypeError | ValueError)
    return 422 if theirs else 500, "The data cannot be processed. The server's log has the details."


if __name__ == "__main__":
    main()
