"""Peak growth of memory, read from outside: one process per contender, watched through /proc.

The child makes the data, runs the contender once at the row's quick size, gives freed memory back,
resets its high-water mark and says that it is ready. The parent notes VmRSS, lets it go, and reads
VmHWM when it is done: peak growth is the highest resident size during the work less the resident
size just before it. Where there is no /proc nothing is reported.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.rows import Options

PROGRAM = Path(__file__).resolve().parents[1]
TAIL = 300  # characters of a dead child's last words


@dataclass(frozen=True)
class Growth:
    """What the parent saw; ``growth`` is None where it could not look."""

    growth: int | None
    seconds: float | None
    failure: str = ""


def peak_growth(options: Options, row: str, contender: str) -> Growth:
    """Run one contender of a row in a process of its own and watch its memory."""
    command = [sys.executable, str(PROGRAM), options.suite, "--child", row, contender]
    if options.quick:
        command.append("--quick")
    # A file takes the child's errors: a pipe that nobody empties could stop it.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        if not child.stdout.readline():
            return Growth(None, None, _last_words(child, errors))
        before = _status(child.pid).get("VmRSS")
        _tell(child.stdin)
        answer = child.stdout.readline()
        if not answer:
            return Growth(None, None, _last_words(child, errors))
        peak = _status(child.pid).get("VmHWM")
        child.stdin.close()
        result = json.loads(answer)
    growth = None if before is None or peak is None else max(peak - before, 0)
    return Growth(growth, result["seconds"], result["failure"])


def _tell(stdin: IO[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        stdin.write("go\n")
        stdin.flush()


def _last_words(child: subprocess.Popen[str], errors: IO[str]) -> str:
    child.communicate()
    errors.seek(0)
    return f"the process ended with {child.returncode}: {errors.read().strip()[-TAIL:]}"


def _status(pid: int | str) -> dict[str, int]:
    """The sizes in /proc/PID/status, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    fields = (line.replace(":", " ").split() for line in lines)
    return {f[0]: int(f[1]) * 1024 for f in fields if len(f) == 3 and f[2] == "kB"}


# ------------------------------------------------------------------ the child


def be_watched(row: Any, rehearsal: Any, name: str) -> None:
    """Do a contender's work between two signs to the parent."""
    # The protocol keeps standard output for itself; whatever a library prints goes to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    contender, small = row.contender(name), rehearsal.contender(name)
    with contextlib.suppress(Exception):
        small.run(small.prepare(rehearsal.data()))
    state = contender.prepare(row.data())
    _settle()
    if contender.allowance is not None:
        _limit_address_space(contender.allowance)
    print("ready", file=channel, flush=True)
    sys.stdin.readline()
    failure = ""
    result = None
    start = time.perf_counter()
    try:
        result = contender.run(state)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - start
    answer = {"seconds": None if failure else seconds, "failure": failure}
    print(json.dumps(answer), file=channel, flush=True)
    sys.stdin.readline()
    del result


def _settle() -> None:
    """Return freed memory to the system and reset the high-water mark."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _limit_address_space(allowance: int) -> None:
    import resource  # not on every system

    size = _status("self").get("VmSize", 0) + allowance
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
