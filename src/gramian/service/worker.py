"""A worker process, ``python -m gramian.service.worker BYTES``: takes orders and answers in lines of JSON."""

from __future__ import annotations

import json
import math
import os
import queue
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from errno import EFBIG
from functools import cached_property
from typing import Any

from gramian import errors
from gramian.errors import GramianError, MemoryLimitError, shortened
from gramian.io.names import readable
from gramian.io.stored import spool_folder
from gramian.service.bodies import check_depth

Message = dict[str, Any]
TEMPORARY = (spool_folder(), tempfile.gettempdir())
SECONDS_TOGETHER = 0.1  # after which the rest of a message goes back, behind orders of other visitors
OWN = r"[0-9a-f]{32}(\.\w+)?"  # what the server calls the file of a body or an item
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (MemoryLimitError, 413),
    (errors.MissingExtraError, 501),
    (errors.UnavailableError, 422),
    (errors.DataError, 422),
    (errors.FileError, 400),
    (GramianError, 422),
)


def main() -> None:
    """Process orders until the server ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries goes to standard error

    def say(said: Message) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    orders: queue.SimpleQueue[list[Message]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    from gramian.service import tasks, views

    does = tasks.TASKS | views.VIEWS
    memory = int(sys.argv[1])
    confine(memory)
    most = data_bytes() + memory // 2
    exhausted = False
    while not exhausted:
        until = math.inf
        for order in orders.get():
            if time.monotonic() > until:
                say({"answer": None, "exhausted": False})
                continue
            until = min(until, time.monotonic() + SECONDS_TOGETHER)
            reply = answered(does[order["do"]], order, say)
            # Libraries keep memory that they have freed: the next request would meet the limit.
            exhausted = reply.get("exhausted", False) or data_bytes() > most
            say(reply | {"exhausted": exhausted})
            if exhausted:  # others carry out the rest
                break
    threading.Event().wait()


def _listen(orders: queue.SimpleQueue[list[Message]]) -> None:
    for line in sys.stdin.buffer:
        orders.put(json.loads(line))
    os._exit(0)  # the server is gone


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


def answered(work: Callable[..., Message], order: Message, say: Callable[[Message], None]) -> Message:
    """Return the answer to an order or an error, without paths of this machine."""
    places = Places(order)
    arguments = {name: value for name, value in order.items() if name != "do"}
    if order["do"] == "fit":  # the one task that says how far it is
        arguments["say"] = lambda said: say(places.hide_in(said))
    try:
        answer = places.hide_in(work(**arguments))
        json.dumps(answer, allow_nan=False)
        check_depth(answer)
        return {"answer": answer}
    except Exception as error:  # an unexpected error ends the request, not the process
        status, text = status_of(error, (order.get("data") or {}).get("name", "This request"))
        if missing := places.missing():
            status, text = (
                404,
                f"{missing} no longer exists. The server was started with it. Restore the file.",
            )
        log = "" if isinstance(error, GramianError) else traceback.format_exc()
        exhausted = status == 413 and not isinstance(error, MemoryLimitError)
        message = places.hide(text, TEMPORARY)
        field = getattr(error, "parameter", None)
        return {"status": status, "error": message, "field": field, "log": log, "exhausted": exhausted}


def status_of(error: Exception, what: str = "This request") -> tuple[int, str]:
    """Return the status and the message of an error about something."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and isinstance(cause, Exception):
        causes.append(cause)
    if any(is_full(cause) for cause in causes):
        return 507, "The server's disk is full. Try again later."
    if any(isinstance(cause, MemoryError) or getattr(cause, "errno", 0) == EFBIG for cause in causes):
        limit = f"{what} exceeds the memory limit. Use fewer rows, columns or components."
        return 413, str(error) if isinstance(error, MemoryLimitError) else limit
    if isinstance(error, GramianError):
        return next(status for kind, status in STATUSES if isinstance(error, kind)), str(error)
    if isinstance(error, OSError):
        return 500, "A file could not be read."
    theirs = isinstance(error, ArithmeticError | LookupError | RecursionError | TypeError | ValueError)
    return 422 if theirs else 500, "The data cannot be processed. The server's log has the details."


def is_full(error: Exception) -> bool:
    """Return whether an error of the system means a full disk."""
    return isinstance(error, OSError) and error.errno in errors.FULL and error.errno != EFBIG


class Places:
    """The paths of an order, which no message may contain."""

    def __init__(self, order: Message) -> None:
        self._parts = [part for part in order.values() if isinstance(part, dict) and "path" in part]

    @cached_property
    def _hidden(self) -> tuple[dict[str, str], list[str]]:
        """What messages use in place of paths, and the folders. Most messages have no text."""
        names: dict[str, str] = {}
        folders = set()
        for part in self._parts:
            path, file = part["path"], part["path"].split("::")[0]
            # The forms that messages use.
            for text in (path, readable(path), shortened(path), shortened(readable(path))):
                names[text] = part["name"]
            if re.fullmatch(OWN, base := os.path.basename(file)):
                names[base] = part["name"]
            folders.add(os.path.dirname(file))
        ordered = sorted((one for one in folders if len(one) > 1), key=len, reverse=True)
        for folder in ordered:  # the rest of a shortened path
            if len(folder) > errors.LONGEST:
                names.setdefault(shortened(folder), "a folder of the server")
        return names, ordered

    def hide(self, text: str, others: tuple[str, ...] = ()) -> str:
        """Return a text with names instead of paths, and without folders."""
        names, own = self._hidden
        folders = [*own, *others]
        if not any(place in text for place in (*names, *folders)):
            return text
        for path, name in sorted(names.items(), key=lambda item: -len(item[0])):
            text = text.replace(path, name)
        for folder in folders:
            text = re.sub(rf"(?<![\w.-]){re.escape(folder)}/(?=[^\s])", "", text)
            text = re.sub(rf"(?<![\w.-]){re.escape(folder)}(?![\w-])", "a folder of the server", text)
        return text

    def hide_in(self, said: Any) -> Any:
        """Return a message with :meth:`hide` applied to all its texts."""
        if isinstance(said, dict):
            return {name: self.hide_in(value) for name, value in said.items()}
        if isinstance(said, list | tuple):
            return [self.hide_in(value) for value in said]
        return self.hide(said) if isinstance(said, str) else said

    def missing(self) -> str | None:
        """Return the name of a source of the command line that no longer exists."""
        for part in self._parts:
            path = part["path"]
            if part.get("given") and not any(map(os.path.exists, (path, path.rpartition("::")[0]))):
                return str(part["name"])
        return None


if __name__ == "__main__":
    main()
