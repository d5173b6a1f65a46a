"""A process of its own, ``python -m gramian.service.worker BYTES``: takes orders and answers in lines."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gramian.errors import (
    FULL,
    DataError,
    FileError,
    GramianError,
    MemoryLimitError,
    MissingExtraError,
    UnavailableError,
)
from gramian.service.bodies import without_shell

Said = dict[str, Any]
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (MemoryLimitError, 413),
    (MissingExtraError, 501),
    (UnavailableError, 422),
    (DataError, 422),
    (FileError, 400),
    (GramianError, 422),
)


def main() -> None:
    """Do what is ordered until nobody orders any more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer

    def say(said: Said) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    orders: queue.SimpleQueue[Said] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    from gramian.service import looks, work

    does = work.DOES | looks.LOOKS
    confine(int(sys.argv[1]))
    while True:
        order = orders.get()
        say(answered(does[order["do"]], order, say))


def _listen(orders: queue.SimpleQueue[Said]) -> None:
    for line in sys.stdin.buffer:
        orders.put(json.loads(line))
    os._exit(0)  # the server is gone, and nobody waits for what is being done


def confine(memory: int) -> None:
    """Limit what this process may take, from what it has now, where the system can do that."""
    try:
        import resource
    except ModuleNotFoundError:
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[5]) * resource.getpagesize()
        # Of what can be written to: the program that draws reserves more addresses than there is memory.
        resource.setrlimit(resource.RLIMIT_DATA, (taken + memory, taken + memory))


def answered(work: Callable[..., Said], order: Said, say: Callable[[Said], None]) -> Said:
    """Return the answer to an order, or why there is none, in words that name no place of this machine."""
    try:
        found = work(say=say, **{name: value for name, value in order.items() if name != "do"})
        told = json.dumps(found, allow_nan=False)
        return {"answer": json.loads(named(told, order, lambda text: json.dumps(text)[1:-1]))}
    except GramianError as error:
        status, text = next(status for kind, status in STATUSES if isinstance(error, kind)), str(error)
    except MemoryError:
        status, text = 413, "This takes more memory than a request has. Send less, or ask for less."
    except OSError as error:
        status, text = (507, "The disk is full.") if error.errno in FULL else (500, "A file was not read.")
        print(repr(error), file=sys.stderr)
    except Exception as error:  # what nobody foresaw ends the request, and not the process
        traceback.print_exc()
        ours = not isinstance(error, ArithmeticError | LookupError | RecursionError | TypeError | ValueError)
        status, text = 500 if ours else 422, "The data cannot be worked on; the server's log says why."
    return {"status": status, "error": named(without_shell(text), order)}


def named(text: str, order: Said, written: Callable[[str], str] = str) -> str:
    """Return a text with names in place of the paths of an order, both as they are written in it."""
    for part in order.values():
        if isinstance(part, dict) and "path" in part:
            text = text.replace(written(part["path"]), written(part["name"]))
    return text


if __name__ == "__main__":
    main()
