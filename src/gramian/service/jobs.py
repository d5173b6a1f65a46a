"""Fits in worker processes, with progress and cancellation."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

from pydantic import BaseModel

from gramian.service.items import Item
from gramian.service.problems import Problem, Refusal
from gramian.service.workers import Message

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
    state: State
    created: float
    seconds: float
    plan: dict[str, Any] | None = None
    plan_text: str = ""
    progress: Progress = Progress()
    model: str | None = None
    problem: Problem | None = None


class Job:
    """One fit.

    Parameters
    ----------
    name : str
    ids : set of str
        The items that it reads, and the model that it makes.
    run : callable
        Takes a function that receives messages of the worker, and returns the stored model.
    ended : callable
        Receives the final state.
    """

    def __init__(
        self,
        name: str,
        ids: set[str],
        run: Callable[[Callable[[Message], None]], Awaitable[Item]],
        ended: Callable[[State], object],
    ) -> None:
        self.facts = JobFacts(
            id=secrets.token_hex(16), name=name, state="planning", created=time.time(), seconds=0.0
        )
        self.ids, self._ended = ids, ended
        self.item: Item | None = None
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run(run))
        self._planned = asyncio.Event()
        self._refused: Refusal | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._task.done()

    async def planned(self) -> None:
        """Wait for the plan.

        Raises
        ------
        Refusal
            If there is none.
        """
        await self._planned.wait()
        if self.facts.state == "failed" and self._refused is not None:
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
            self._planned.set()

    def _on_message(self, said: Message) -> None:
        if "plan" in said:
            self.facts.plan, self.facts.plan_text = said["plan"], said["text"]
            self.facts.state = "running"
            self._planned.set()
        else:
            self.facts.progress = Progress(**said)
        self._note()

    def _note(self) -> None:
        self.facts.seconds = time.monotonic() - self._began
        self._changed.set()
        self._changed = asyncio.Event()
