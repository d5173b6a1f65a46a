"""A contender in a process of its own, which runs when it is told and is watched through /proc.

The child makes the data, runs the contender once at the row's quick size, gives freed memory back,
resets its high-water mark and says that it is ready. For every line that it reads it runs once, and
answers with the seconds. The parent notes VmRSS before a run and VmHWM after it: peak growth is the
highest resident size during the first run less the resident size just before it. Where there is no
/proc nothing is reported.
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
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.rows import Options

PROGRAM = Path(__file__).resolve().parents[1]
TAIL = 300  # characters of a dead child's last words


@dataclass(frozen=True)
class Run:
    """One run of a worker; ``growth`` is of its first run, and None where nobody could look."""

    seconds: float | None
    cpu_seconds: float | None = None
    growth: int | None = None
    failure: str = ""


class Worker:
    """A process with one contender of a row; without a contender it measures the whole row.

    ``source`` is the folder from which the process imports gramian, instead of the installed one.
    """

    def __init__(self, options: Options, row: str, contender: str = "", source: Path | None = None) -> None:
        command = [sys.executable, str(PROGRAM), options.suite, "--child", row, contender]
        if options.quick:
            command.append("--quick")
        # Both of two sources are to have compiled modules after the first run.
        settings = {} if source is None else {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
        # A file takes the child's errors: a pipe that nobody empties could stop it.
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed by __exit__
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | settings,
        )
        self._source = source
        self._imported = ""

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.communicate()
        self._errors.close()

    def run(self) -> Run:
        """Let the contender run once, after it has got ready, and say what was seen."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        if not self._imported:
            self._imported = self._child.stdout.readline().strip()
            if not self._imported:
                return Run(None, failure=self._last_words())
            if self._source is not None and self._source not in Path(self._imported).parents:
                return Run(None, failure=f"gramian comes from {self._imported}, not from {self._source}")
        before = _together(self._child.pid, "VmRSS")
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write("go\n")
            self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            return Run(None, failure=self._last_words())
        peak = _together(self._child.pid, "VmHWM")
        growth = None if before is None or peak is None else max(peak - before, 0)
        return Run(growth=growth, **json.loads(answer))

    def _last_words(self) -> str:
        self._child.communicate()
        self._errors.seek(0)
        return f"the process ended with {self._child.returncode}: {self._errors.read().strip()[-TAIL:]}"


def peak_growth(options: Options, row: str, contender: str) -> Run:
    """Run one contender of a row in a process of its own and watch its memory."""
    with Worker(options, row, contender) as worker:
        return worker.run()


def _together(pid: int, field: str) -> int | None:
    """A size of a process and of those that it started and that run; None where there is no /proc."""
    sizes = [_status(other).get(field, 0) for other in (pid, *_started_by(pid))]
    return sum(sizes) if sizes[0] else None


def _started_by(pid: int) -> list[str]:
    started = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end while we look
            # PID (NAME) STATE PARENT ...
            if int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == pid:
                started.append(path.parent.name)
    return started


def _status(pid: int | str) -> dict[str, int]:
    """The sizes in /proc/PID/status, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    fields = (line.replace(":", " ").split() for line in lines)
    return {f[0]: int(f[1]) * 1024 for f in fields if len(f) == 3 and f[2] == "kB"}


# ------------------------------------------------------------------ the child


def serve(options: Options, row: Any, rehearsal: Any, name: str) -> None:
    """Do a contender's work whenever the parent says so."""
    import gramian

    # The protocol keeps standard output for itself; whatever a library prints goes to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    work = _contender_work(row, rehearsal, name) if name else _row_work(options, row)
    print(gramian.__file__, file=channel, flush=True)
    gc.freeze()  # libraries are not searched again before every run
    while sys.stdin.readline():
        seconds, failure = None, ""
        gc.collect()
        began = _cpu_seconds()
        try:
            seconds = work()
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        answer = {"seconds": seconds, "cpu_seconds": _cpu_seconds() - began, "failure": failure}
        print(json.dumps(answer), file=channel, flush=True)


def _cpu_seconds() -> float:
    """Of all threads of the process, and of the processes that it started and that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _contender_work(row: Any, rehearsal: Any, name: str) -> Callable[[], float]:
    contender, small = row.contender(name), rehearsal.contender(name)
    with contextlib.suppress(Exception):
        small.run(small.prepare(rehearsal.data()))
    state = contender.prepare(row.data())
    _settle()
    if contender.allowance is not None:
        _limit_address_space(contender.allowance)
    kept: list[Any] = []

    def work() -> float:
        kept.clear()
        start = time.perf_counter()
        result = contender.run(state)
        seconds = time.perf_counter() - start
        # Freed before the next run only, so that freeing it is not timed.
        kept.append(result)
        return seconds

    return work


def _row_work(options: Options, row: Any) -> Callable[[], float]:
    once = replace(options, repeats=1)

    def work() -> float:
        ours = row.measure(once, row).ours
        if ours.failure:
            raise RuntimeError(ours.failure)
        return float(ours.median)

    return work


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
