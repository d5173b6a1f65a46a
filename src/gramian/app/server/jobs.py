"""Processes that parse and compute, each with limits on memory and time, and fits, which can be cancelled.

Orders and answers are lines of JSON. Nothing is unpickled.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gramian
from gramian.app.server.fields import Fit, Refusal
from gramian.app.server.items import LOG, Items
from gramian.core import arrays
from gramian.core.checks import amount, counted, duration

LONGEST_LINE = 16 << 20
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WARM = 2  # processes that wait for requests
FINISHED_KEPT = 50
Message = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    upload_bytes, rows : int
        Of one body, and of one table.
    memory, seconds : int, float
        Working memory and time of one request.
    fits, fit_memory, fit_seconds : int, int, float
        Fits at the same time, working memory and time of each.
    """

    upload_bytes: int = 256 << 20
    rows: int = 5_000_000
    memory: int = 2 << 30
    seconds: float = 60.0
    fits: int = max(1, CORES // 2)
    fit_memory: int = field(default_factory=lambda: arrays.memory_limit_bytes(None) // 2)
    fit_seconds: float = 3600.0


class Worker:
    """A process that carries out one order at a time.

    Parameters
    ----------
    process : Process
    memory : int

    Attributes
    ----------
    usable : bool
        Whether it waits for an order.
    """

    def __init__(self, process: Process, memory: int) -> None:
        self._process, self._memory, self.usable = process, memory, True

    @classmethod
    async def start(cls, memory: int, rows: int, threads: int = 1) -> Worker:
        """Start a process."""
        # The package may not be on the default path.
        path = [str(Path(gramian.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {name: value for name, value in os.environ.items() if name != "GRAMIAN_TOKEN"} | {
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "GRAMIAN_MEMORY_LIMIT": str(memory // 2),
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
        }
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "gramian.app.server.worker", str(memory), str(rows)),
            stdin=PIPE,
            stdout=PIPE,
            env=environment,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C ends the server, which ends its processes
        )
        return cls(process, memory)

    async def ask(
        self, order: Message, seconds: float, on_message: Callable[[Message], None] = lambda said: None
    ) -> Message:
        """Return the answer to an order; earlier messages go to ``on_message``.

        Raises
        ------
        Refusal
            An error of the process, its end, or the end of its time.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.usable = False
        try:
            async with asyncio.timeout(seconds):
                with suppress(ConnectionError):
                    self._process.stdin.write(json.dumps(order).encode() + b"\n")
                    await self._process.stdin.drain()
                while line := await self._process.stdout.readline():
                    said: Message = json.loads(line)
                    self.usable = said.get("usable", False)
                    if "status" in said:
                        raise Refusal(said["status"], said["error"])
                    if "answer" in said:
                        return dict(said["answer"])
                    on_message(said)
        except TimeoutError:
            limits = f"{duration(seconds)} (and {amount(self._memory)} of memory)"
            text = f"The limit of {limits} was exceeded. Use fewer rows, columns or components."
            raise Refusal(413, text) from None
        raise Refusal(
            413,
            "The process ended, most likely because it exceeded the memory limit of "
            f"{amount(self._memory)}. Use fewer rows, columns or components.",
        )

    async def end(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Job:
    """One fit in a process of its own.

    Parameters
    ----------
    state : State
    fit : Fit
    parts : dict
        What the process needs.
    """

    def __init__(self, state: State, fit: Fit, parts: Message) -> None:
        self.id, self.data = secrets.token_hex(16), fit.data
        self._facts: Message = {
            "id": self.id,
            "name": fit.name,
            "data": fit.data,
            "reading": fit.reading.options(),
            "state": "planning",
            "created": time.time(),
            "seconds": 0.0,
            "plan": None,
            "plan_text": "",
            "proposals": [],
            "progress": {"text": "", "counted": None, "done": 0, "total": 0},
            "model": None,
            "error": None,
        }
        self.planned = asyncio.Event()
        self._task = asyncio.create_task(self._run(state, fit.name, parts))

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._task.done()

    @property
    def facts(self) -> Message:
        """Its state now."""
        if self.running:
            self._facts["seconds"] = time.time() - self._facts["created"]
        return self._facts

    async def cancel(self) -> None:
        """Cancel a running fit and end its process."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self, state: State, name: str, parts: Message) -> None:
        limits, worker, path = state.limits, None, state.items.new_path(".gramian")
        outcome: Message = {"state": "failed", "error": "The server failed; its log says why.", "status": 500}
        order = {"do": "fit", "answer": {"path": str(path), "name": "the model"}, **parts}
        try:
            worker = await Worker.start(limits.fit_memory, limits.rows, max(1, CORES // limits.fits))
            facts = await worker.ask(order, limits.fit_seconds, self._on_message)
            outcome = {"model": state.items.put(path, "model", name, facts).id, "state": "done"}
        except Refusal as refusal:
            outcome |= {"error": refusal.detail, "status": refusal.status_code}
        except asyncio.CancelledError:
            outcome = {"state": "cancelled"}
        except Exception:
            LOG.exception("a fit failed")
        finally:
            if worker is not None:
                await asyncio.shield(worker.end())
            path.unlink(missing_ok=True)
            # Only now another fit may start.
            self._facts |= outcome | {"seconds": time.time() - self._facts["created"]}
            self.planned.set()

    def _on_message(self, said: Message) -> None:
        if "plan" in said:
            self._facts |= {"plan": said["plan"], "plan_text": said["text"], "proposals": said["proposals"]}
            self._facts["state"] = "running"
            self.planned.set()
        else:
            self._facts["progress"] = said


class State:
    """Items, processes and fits of a running server.

    Parameters
    ----------
    items : Items
    limits : Limits
    """

    def __init__(self, items: Items, limits: Limits) -> None:
        self.items, self.limits = items, limits
        self.jobs: dict[str, Job] = {}
        self._turns, self._idle = asyncio.Semaphore(WARM), list[Worker]()

    async def ask(self, do: str, /, **parts: Any) -> Message:
        """Return the answer of a process that waits for requests; raises as :meth:`Worker.ask`."""
        async with self._turns:
            if self._idle:
                worker = self._idle.pop()
            else:
                worker = await Worker.start(self.limits.memory, self.limits.rows)
            try:
                return await worker.ask({"do": do, **parts}, self.limits.seconds)
            finally:
                if worker.usable:
                    self._idle.append(worker)
                else:
                    await asyncio.shield(worker.end())

    def start_fit(self, fit: Fit, parts: Message) -> Job:
        """Start a fit.

        Raises
        ------
        Refusal
            429 while as many fits run as may.
        """
        ended = [id for id, job in self.jobs.items() if not job.running]
        if len(self.jobs) - len(ended) >= self.limits.fits:
            most = counted(self.limits.fits, "fit")
            raise Refusal(429, f"At most {most} at the same time. Wait for the end of one, or cancel it.")
        for id in ended[: max(0, len(ended) - FINISHED_KEPT + 1)]:
            del self.jobs[id]
        job = Job(self, fit, parts)
        self.jobs[job.id] = job
        return job

    async def end(self) -> None:
        """End all fits and processes."""
        for job in self.jobs.values():
            await job.cancel()
        for worker in self._idle:
            await worker.end()
        self.items.empty_work()
