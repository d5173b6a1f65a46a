"""Processes for what must not stop, fill or end the server: each with its memory, its time and no secrets.

They are told what to do, and answer, in lines of JSON. Nothing that a process says is unpickled.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import gramian
from gramian.checks import amount, duration
from gramian.service.logs import LOG
from gramian.service.problems import Refusal, busy

LONGEST_LINE = 16 << 20
Said = dict[str, Any]


class Worker:
    """One process, which does one thing after the other."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._relay = asyncio.create_task(self._log())
        self.usable = True

    @classmethod
    async def start(cls, memory: int, threads: int) -> Worker:
        """Start a process; it is ready when it first answers."""
        # The package may be on a path that only this process knows.
        path = [str(Path(gramian.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {name: value for name, value in os.environ.items() if name != "GRAMIAN_TOKEN"} | {
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "GRAMIAN_MEMORY_LIMIT": str(memory // 2),
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
        }
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "gramian.service.worker", str(memory)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the server, which ends its processes
        )
        return cls(process)

    async def ask(self, order: Said, told: Callable[[Said], None] = lambda said: None) -> Said:
        """Return what the process answers to an order; what it says until then goes to ``told``.

        Raises
        ------
        Refusal
            Of the process, or because it ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.usable = False
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()
        while line := await self._line(self._process.stdout):
            said: Said = json.loads(line)
            if "status" in said:
                self.usable = True
                if said.get("log"):
                    LOG.warning(said["error"], extra={"told": {"traceback": said["log"]}})
                raise Refusal(said["status"], said["error"])
            if "answer" in said:
                self.usable = True
                return dict(said["answer"])
            told(said)
        raise Refusal(
            413,
            "The work was ended, most likely because it took more memory than a request has.",
            "Send less.",
        )

    async def _log(self) -> None:
        """Log each line that the process writes to its standard error."""
        assert self._process.stderr is not None
        while not self._process.stderr.at_eof():
            with suppress(ValueError):  # a line that is too long
                if line := (await self._process.stderr.readline()).decode("utf-8", "replace").rstrip():
                    LOG.warning(line, extra={"told": {"worker": self._process.pid}})

    async def _line(self, answers: asyncio.StreamReader) -> bytes:
        try:
            return await answers.readline()
        except ValueError:
            raise Refusal(413, "The answer is too long to be given.", "Ask for less.") from None

    async def end(self) -> None:
        """End the process, whatever it does."""
        self.usable = False
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        # What a process of the process holds open is not waited for.
        await asyncio.wait([self._relay], timeout=1)
        self._relay.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()


class Pool:
    """So many processes as may work at the same time; they are started when they are needed.

    Parameters
    ----------
    count : int
    memory : int
        Bytes of each.
    seconds : float
        For one order.
    waiting : int
        How many may wait until a process is free.
    patience : float
        For how many seconds.
    threads : int
        Of each.
    """

    def __init__(
        self, count: int, memory: int, seconds: float, waiting: int, patience: float, threads: int = 1
    ) -> None:
        self.count, self.memory, self.seconds = count, memory, seconds
        self.waiting, self.patience, self.threads = waiting, patience, threads
        self._slots = asyncio.Semaphore(count)
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._queue = 0
        self.busy = 0

    async def ask(self, order: Said, told: Callable[[Said], None] = lambda said: None) -> Said:
        """Let a process do something.

        Raises
        ------
        Refusal
            429 when all are busy, 413 when it takes too much, and what the process refuses.
        """
        async with self._worker() as worker:
            try:
                async with asyncio.timeout(self.seconds):
                    return await worker.ask(order, told)
            except TimeoutError:
                memory = amount(self.memory)
                raise Refusal(
                    413,
                    f"The work took more than the {duration(self.seconds)} that it may take (and {memory}).",
                    "Send less, or ask for less.",
                ) from None

    async def start(self) -> None:
        """Start a process, so that the first who ask need not wait for that."""
        if self.count:
            await self.ask({"do": "nothing"})

    async def end(self) -> None:
        """End all processes."""
        for worker in list(self._all):
            await worker.end()
        self._all.clear()

    async def _new(self) -> Worker:
        worker = await Worker.start(self.memory, self.threads)
        self._all.add(worker)
        return worker

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator[Worker]:
        await self._turn()
        worker = None
        self.busy += 1
        try:
            worker = self._idle.pop() if self._idle else await self._new()
            yield worker
        finally:
            self.busy -= 1
            self._slots.release()
            if worker is not None and worker.usable:
                self._idle.append(worker)
            elif worker is not None:
                self._all.discard(worker)
                await asyncio.shield(worker.end())

    async def _turn(self) -> None:
        """Wait until a process is free, among so many others."""
        refusal = busy("All processes are busy", 1 if self.patience else 5)
        if self._slots.locked() and self._queue >= self.waiting:
            raise refusal
        self._queue += 1
        try:
            async with asyncio.timeout(self.patience):
                await self._slots.acquire()
        except TimeoutError:
            raise refusal from None
        finally:
            self._queue -= 1
