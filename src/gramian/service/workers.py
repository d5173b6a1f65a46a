"""Worker processes, which protect the server: each has limits on memory and time, and no secrets.

Orders and answers are lines of JSON. Nothing is unpickled.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, Field

import gramian
from gramian.checks import amount, duration
from gramian.service.logs import LOG
from gramian.service.schemas import Problem, Refusal, busy
from gramian.service.storage import Item

LONGEST_LINE = 16 << 20
MOST_IDS = 100_000  # that a process may have seen until it is replaced
ITEM = re.compile("(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
MOST_TOGETHER = 32  # small orders that a worker has at a time
LEAST_TOGETHER = 16  # with which it gets more: it works while the server sends answers
SOON = 1  # seconds until a busy server may have time
TOO_MANY = "Too many of your requests are in progress"
Message = dict[str, Any]
Order = tuple[Message, "asyncio.Future[Message]"]
Batch = deque[Order]
Reply = TypeVar("Reply")


def ids_in(order: Message) -> set[str]:
    """Return the ids of the files that an order names: of items, uploads and answers.

    Examples
    --------
    >>> ids_in({"do": "describe_data", "data": {"path": f"/tmp/work/{32 * 'a'}.csv"}}) == {32 * "a"}
    True
    """
    return set(ITEM.findall(json.dumps(order)))


class Worker:
    """One process, which handles one order at a time.

    Attributes
    ----------
    usable : bool
        Whether it waits for an order.
    left : int
        Replies to come; 0 after its failure.
    ids : set of str
        Files that it has seen. Their content may still be in its memory.
    spent : bool
        Whether it ends after its order.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._relay = asyncio.create_task(self._log())
        self.usable, self.left, self.spent = True, 0, False
        self.ids: set[str] = set()

    @classmethod
    async def start(cls, memory: int, threads: int) -> Worker:
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
            *(sys.executable, "-P", "-m", "gramian.service.worker", str(memory)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C ends the server, which ends its workers
        )
        return cls(process)

    async def ask(self, order: Message, on_message: Callable[[Message], None] = lambda said: None) -> Message:
        """Return the answer to an order; raises as :meth:`reply`."""
        await self.send([order])
        answer = await self.reply(on_message)
        assert answer is not None, "time was up before the first order"
        return answer

    async def send(self, orders: Sequence[Message]) -> None:
        """Send orders, each of which has a reply of its own."""
        assert self._process.stdin is not None
        self.usable, self.left = False, self.left + len(orders)
        line = json.dumps(orders)
        self.ids.update(ITEM.findall(line))
        self.spent |= len(self.ids) > MOST_IDS
        with suppress(ConnectionError):
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()

    async def reply(self, on_message: Callable[[Message], None] = lambda said: None) -> Message | None:
        """Return the answer to the next order, or None if there was no time for it.

        Earlier messages go to ``on_message``.

        Raises
        ------
        Refusal
            An error of the process, or its end.
        """
        assert self._process.stdout is not None
        left, self.left = self.left - 1, 0  # unless it replies
        while line := await self._line(self._process.stdout):
            said: Message = json.loads(line)
            if "exhausted" in said:  # the last message about an order
                self.left = 0 if said["exhausted"] else left
                self.usable = not (self.left or said["exhausted"])
            if "status" in said:
                if said.get("log"):
                    LOG.warning(said["error"], extra={"payload": {"traceback": said["log"]}})
                raise Refusal(said["status"], said["error"], field=said.get("field"))
            if "answer" in said:
                answer: Message | None = said["answer"]
                return answer
            on_message(said)
        raise Refusal(
            413,
            "The worker process ended, most likely because the request exceeded the memory limit.",
            "Use fewer rows, columns or components.",
        )

    async def _log(self) -> None:
        """Log each line that the process writes to its standard error."""
        assert self._process.stderr is not None
        while not self._process.stderr.at_eof():
            with suppress(ValueError):  # an overlong line
                if line := (await self._process.stderr.readline()).decode("utf-8", "replace").rstrip():
                    LOG.warning(line, extra={"payload": {"worker": self._process.pid}})

    async def _line(self, answers: asyncio.StreamReader) -> bytes:
        try:
            return await answers.readline()
        except ValueError:
            raise Refusal(413, "The response is too large.", "Request fewer rows or columns.") from None

    async def end(self) -> None:
        """Kill the process."""
        self.usable = False
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        # Do not wait for a grandchild that keeps the pipe open.
        await asyncio.wait([self._relay], timeout=1)
        self._relay.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()


class _Slots(asyncio.Semaphore):
    """Workers that all, or one visitor, may use at the same time."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.waiting = self.turns = 0  # orders, and how many turns there will be for them
        self.small: Batch = deque()  # orders that go to a worker together
        self.tasks = 0  # that hand them out, ...
        self.begins = False  # ... one of which waits for its turn

    @asynccontextmanager
    async def one(self, waiting: int, patience: float, refusal: Refusal, orders: int) -> AsyncIterator[None]:
        """Wait for one, and use it for the length of a block; refuse when too many wait, or too long."""
        if orders:
            self.admit(waiting, refusal)
        self.waiting, self.turns = self.waiting + orders, self.turns + 1
        try:
            async with asyncio.timeout(patience):
                await self.acquire()
        except TimeoutError:
            raise refusal from None
        finally:
            self.waiting, self.turns = self.waiting - orders, self.turns - 1
        try:
            yield
        finally:
            self.release()

    def admit(self, waiting: int, refusal: Refusal) -> None:
        """Refuse one more order where it would wait, and too many wait already."""
        if self.waiting >= waiting and (self.locked() or self.tasks):
            raise refusal

    def put(self, orders: Iterable[Order]) -> None:
        """Put small orders before those that wait."""
        before = len(self.small)
        self.small.extendleft(orders)
        self.waiting += len(self.small) - before

    def taken(self, most: int) -> Batch:
        """Take the first small orders, without those that nobody waits for."""
        taken = Batch()
        while self.small and len(taken) < most:
            self.waiting -= 1
            if not (order := self.small.popleft())[1].done():
                taken.append(order)
        return taken


class Pool:
    """A limited number of workers, which are started when needed.

    A quarter of them, at least one, works for one visitor, so that their slow orders do not delay others.

    Parameters
    ----------
    count : int
    memory : int
        Bytes of each worker.
    seconds : float
        Time of one order.
    waiting : int
        Orders that may wait for a worker.
    patience : float
        Seconds that they wait.
    threads : int
        Of each worker.
    """

    def __init__(
        self, count: int, memory: int, seconds: float, waiting: int, patience: float, threads: int = 1
    ) -> None:
        self.count, self.memory, self.seconds = count, memory, seconds
        self.waiting, self.patience, self.threads = waiting, patience, threads
        self._slots = _Slots(count)
        self._shares: WeakValueDictionary[str, _Slots] = WeakValueDictionary()
        self._working: set[asyncio.Task[None]] = set()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self.busy = 0

    async def ask(
        self,
        order: Message,
        on_message: Callable[[Message], None] = lambda said: None,
        who: str | None = None,
    ) -> Message:
        """Send an order to a worker.

        Parameters
        ----------
        order : dict
        on_message : callable
            Receives the messages before the answer.
        who : str, optional
            The visitor whose share of the workers is used; by default there is no share.

        Raises
        ------
        Refusal
            429 when all are busy, 413 beyond a limit, and errors of the worker.
        """
        async with self._turn(who), self._worker(ids_in(order)) as worker:
            return await self._within_time(worker.ask(order, on_message))

    async def ask_small(self, order: Message, who: str) -> Message:
        """Send a small order, together with others of the visitor that wait for a worker meanwhile.

        Only messages are common. A worker carries out one order after the other, each as if it were alone.
        What is left after some time, or by a process that ended, waits for another turn. Parameters and
        errors are those of :meth:`ask`.
        """
        share = self._share(who)
        share.admit(self.waiting, busy(TOO_MANY, SOON))
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        share.small.append((order, answer))
        share.waiting += 1
        if not share.begins and not (share.tasks and share.locked()):
            share.begins, share.tasks = True, share.tasks + 1
            task = asyncio.create_task(self._work_off(share, who))
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return await answer

    async def _work_off(self, share: _Slots, who: str) -> None:
        """Have workers carry out the small orders of a visitor, in as many turns as it takes."""
        try:
            while share.small:
                share.begins = True
                try:
                    async with self._turn(who, orders=0):
                        share.begins = False
                        if share.small:
                            async with self._worker(ids_in(share.small[0][0])) as worker:
                                await self._hand_out(share, worker)
                except Exception as error:
                    share.begins = False
                    for _, answer in share.taken(MOST_TOGETHER):
                        answer.set_exception(error)
        except asyncio.CancelledError:  # the server ends
            for _, answer in share.taken(len(share.small)):
                answer.cancel()
            raise
        finally:
            share.begins, share.tasks = False, share.tasks - 1

    async def _hand_out(self, share: _Slots, worker: Worker) -> None:
        """Send small orders to a worker, and more before it is done, unless others wait for one."""
        sent, late = Batch(), Batch()
        more = share.taken(MOST_TOGETHER)
        try:
            while sent or more:
                if more:
                    sent.extend(more)
                    await worker.send([order for order, _ in more])
                answer = sent[0][1]
                try:
                    if (reply := await self._within_time(worker.reply())) is None:
                        late.append(sent[0])
                    elif not answer.done():
                        answer.set_result(reply)
                except Refusal as refusal:
                    if not answer.done():
                        answer.set_exception(refusal)
                sent.popleft()
                if sent and not worker.left:
                    break
                enough = (
                    len(sent) > LEAST_TOGETHER or late or worker.spent or share.turns or self._slots.turns
                )
                more = share.taken(0 if enough else MOST_TOGETHER - len(sent))
        finally:
            share.put(reversed([*late, *sent]))

    async def _within_time(self, reply: Awaitable[Reply]) -> Reply:
        try:
            async with asyncio.timeout(self.seconds):
                return await reply
        except TimeoutError:
            memory = amount(self.memory)
            raise Refusal(
                413,
                f"The request exceeded its limit of {duration(self.seconds)} (and {memory} of memory).",
                "Use fewer rows, columns or components.",
            ) from None

    async def start(self) -> None:
        """Start a worker in advance, however long a busy machine takes to load it."""
        if self.count:
            async with self._turn(None), self._worker(ids_in({})) as worker:
                await worker.ask({"do": "nothing"}, lambda said: None)

    async def end(self) -> None:
        """End all workers."""
        for task in self._working:
            task.cancel()
        for worker in list(self._all):
            await worker.end()
        self._all.clear()

    async def forget(self, ids: Collection[str]) -> None:
        """End all workers that have seen one of these files, busy ones after their order.

        A process overwrites neither its cache nor memory that it has freed, so only its end removes them.
        """
        for worker in [one for one in self._all if not one.ids.isdisjoint(ids)]:
            worker.spent = True
            if worker in self._idle:
                self._idle.remove(worker)
                self._all.discard(worker)
                await worker.end()

    async def _new(self) -> Worker:
        worker = await Worker.start(self.memory, self.threads)
        self._all.add(worker)
        return worker

    @asynccontextmanager
    async def _worker(self, ids: Collection[str]) -> AsyncIterator[Worker]:
        worker = None
        self.busy += 1
        try:
            # One that has seen these files may have them in its cache.
            worker = max(reversed(self._idle), key=lambda one: len(one.ids.intersection(ids)), default=None)
            if worker is None:
                worker = await self._new()
            else:
                self._idle.remove(worker)
            yield worker
        finally:
            self.busy -= 1
            if worker is not None and worker.usable and not worker.spent:
                self._idle.append(worker)
            elif worker is not None:
                self._all.discard(worker)
                await asyncio.shield(worker.end())

    def _share(self, who: str) -> _Slots:
        return self._shares.setdefault(who, _Slots(max(1, self.count // 4)))

    @asynccontextmanager
    async def _turn(self, who: str | None, orders: int = 1) -> AsyncIterator[None]:
        """Wait for a turn of the visitor, and then for a free worker; 0 orders are counted elsewhere."""
        seconds = SOON if self.patience else 5
        share = _Slots(self.count) if who is None else self._share(who)
        async with (
            # The visitor's own orders end in this time.
            share.one(self.waiting, self.seconds, busy(TOO_MANY, seconds), orders),
            self._slots.one(self.waiting, self.patience, busy("The server is busy", seconds), 1),
        ):
            yield


# -------------- Fits in worker processes, with progress and cancellation

STILL_HERE = 15.0  # seconds between keep-alive comments of a stream
FINISHED_KEPT = 50
ENDED = ("done", "failed", "cancelled")
State = Literal["planning", "running", "done", "failed", "cancelled"]


class Progress(BaseModel):
    """What a fit last said: what it does, and how many of how many parts are done."""

    text: str = ""
    counted: str | None = None
    done: int = 0
    total: int = 0


class JobFacts(BaseModel):
    """The state of a fit."""

    id: str
    name: str
    data: str = Field(description="Id of the data.")
    reading: dict[str, Any] = Field(description="Reading options of the fit.")
    state: State
    created: float
    seconds: float
    plan: dict[str, Any] | None = None
    plan_text: str = ""
    proposals: list[dict[str, Any]] = []
    progress: Progress = Progress()
    model: str | None = None
    problem: Problem | None = None


class Job:
    """One fit.

    Parameters
    ----------
    about : dict
        Name, data and reading options.
    ids : set of str
        The items that it reads, and the model that it makes.
    run : callable
        Takes a function that receives messages of the worker, and returns the stored model.
    ended : callable
        Receives the final state.
    """

    def __init__(
        self,
        about: Message,
        ids: set[str],
        run: Callable[[Callable[[Message], None]], Awaitable[Item]],
        ended: Callable[[State], object],
    ) -> None:
        self._facts = JobFacts(
            id=secrets.token_hex(16), state="planning", created=time.time(), seconds=0.0, **about
        )
        self.ids, self._ended = ids, ended
        self.item: Item | None = None
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run(run))
        self._refused: Refusal | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._task.done()

    @property
    def facts(self) -> JobFacts:
        """Its state now."""
        if self.running:
            self._facts.seconds = time.monotonic() - self._began
        return self._facts

    async def planned(self) -> None:
        """Wait for the plan.

        Raises
        ------
        Refusal
            If there is none.
        """
        while self.facts.state == "planning":
            await self._changed.wait()
        if self._refused is not None:
            raise self._refused

    async def cancel(self) -> None:
        """Cancel a running fit and end its process."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def events(self) -> AsyncIterator[str]:
        """Yield the state and every change of it as server-sent events."""
        while True:
            changed, ended = self._changed, self.facts.state in ENDED
            yield f"event: {self.facts.state}\ndata: {self.facts.model_dump_json()}\n\n"
            if ended:
                return
            while not changed.is_set():
                try:
                    async with asyncio.timeout(STILL_HERE):
                        await changed.wait()
                except TimeoutError:
                    yield ": still here\n\n"

    async def _run(self, run: Callable[[Callable[[Message], None]], Awaitable[Item]]) -> None:
        try:
            self.item = await run(self._on_message)
            self.facts.model = self.item.id
            self.facts.state = "done"
        except Refusal as refusal:
            self._refused = refusal
            self.facts.state, self.facts.problem = "failed", refusal.problem
        except asyncio.CancelledError:
            self.facts.state = "cancelled"
        except Exception:
            self.facts.state, self.facts.problem = "failed", Problem(error="Internal server error.")
            raise
        finally:
            self._ended(self.facts.state)
            self._note()

    def _on_message(self, said: Message) -> None:
        if "plan" in said:
            self.facts.plan, self.facts.plan_text = said["plan"], said["text"]
            self.facts.proposals = said["proposals"]
            self.facts.state = "running"
        else:
            self.facts.progress = Progress(**said)
        self._note()

    def _note(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
