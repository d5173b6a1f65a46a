"""A worker process, ``python -m gramian.app.server.worker BYTES``: answers orders in lines of JSON."""

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from errno import EFBIG
from inspect import signature
from typing import Any

from gramian import errors
from gramian.errors import GramianError, MemoryLimitError

Message = dict[str, Any]
DEEPEST, LONGEST = 100, 4 << 20  # levels and characters of an answer
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (MemoryLimitError, 413),
    (errors.MissingExtraError, 501),
    (errors.FileError, 400),
    (GramianError, 422),
)


def main() -> None:
    """Process orders until the server ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries goes to standard error

    def say(message: Message) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    from gramian.app.server import tasks

    memory = int(sys.argv[1])
    confine(memory)
    most = data_bytes() + memory // 2
    while True:
        order = orders.get()
        reply = answered(getattr(tasks, order["do"]), order, say)
        # Libraries keep memory that they have freed: the next request would meet the limit.
        say(reply | {"usable": reply.get("usable", True) and data_bytes() <= most})


def _listen(orders: queue.SimpleQueue[Message]) -> None:
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


def answered(work: Callable[..., Any], order: Message, say: Callable[[Message], None]) -> Message:
    """Return the answer to an order or an error, with names of uploads instead of their paths.

    Content that a task returns is written to the file of the answer.
    """
    arguments = order | {"say": say}
    for name in {"do", "say", "answer"} - signature(work).parameters.keys():
        arguments.pop(name, None)
    names = {
        text: source["name"]
        for source in order.values()
        if isinstance(source, dict) and "path" in source and not source.get("given")
        for text in (source["path"], os.path.basename(source["path"]))
    }
    try:
        result = work(**arguments)
        if isinstance(result, bytes):
            with open(order["answer"]["path"], "xb") as file:
                file.write(result)
            return {"answer": {}}
        answer = _named(result, names)
        if len(json.dumps(answer, allow_nan=False)) > LONGEST:
            raise errors.DataError("Its names are too long in total. Give columns shorter names.")
        return {"answer": answer}
    except Exception as error:  # an unexpected error ends the request, not the process
        status, text = status_of(
            error, (order.get("data") or order.get("source") or {}).get("name", "This request")
        )
        if not isinstance(error, GramianError):
            traceback.print_exc()
        usable = status != 413 or isinstance(error, MemoryLimitError)
        return {"status": status, "error": _named(text, names), "usable": usable}


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
    if any(
        isinstance(cause, OSError) and cause.errno in errors.FULL and cause.errno != EFBIG for cause in causes
    ):
        return 507, "The disk is full. Delete something, and try again."
    if any(isinstance(cause, MemoryError) or getattr(cause, "errno", 0) == EFBIG for cause in causes):
        limit = f"{what} exceeds the memory limit. Use fewer rows, columns or components."
        return 413, str(error) if isinstance(error, MemoryLimitError) else limit
    if isinstance(error, GramianError):
        return next(status for kind, status in STATUSES if isinstance(error, kind)), str(error)
    if isinstance(error, OSError):
        return 500, "A file could not be read."
    theirs = isinstance(error, ArithmeticError | LookupError | RecursionError | TypeError | ValueError)
    return 422 if theirs else 500, "The data cannot be processed. The server's log has the details."


if __name__ == "__main__":
    main()
