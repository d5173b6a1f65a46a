"""What one running application has: its visitors, its shelves and its processes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from gramian.service.descriptions import summary_of
from gramian.service.items import Item, Reach, Shelf
from gramian.service.jobs import FINISHED_KEPT, Job
from gramian.service.logs import LOG
from gramian.service.metrics import Metrics
from gramian.service.problems import Refusal
from gramian.service.schemas import Kind
from gramian.service.settings import CORES, Settings
from gramian.service.storage import empty_work
from gramian.service.visitors import Visitor, Visitors
from gramian.service.workers import Pool, Said


class State:
    """Everything that requests share.

    Parameters
    ----------
    settings : Settings
    root : Path
        Where everything is kept.
    given : sequence of Item
        What the server was started with.
    metrics : Metrics
    """

    def __init__(self, settings: Settings, root: Path, given: Sequence[Item], metrics: Metrics) -> None:
        limits = settings.limits
        self.settings, self.limits, self.given, self.metrics = settings, limits, list(given), metrics
        self.work = root / "work"
        self.work.mkdir(mode=0o700, exist_ok=True)
        empty_work(self.work)  # what a server that was killed has left
        self.visitors = Visitors(root / "visitors", limits)
        self.kept: Shelf | None = None
        if settings.store is not None:
            self.kept = Shelf(root / "models", "kept", limits.store_items, limits.store_bytes)
            self.kept.tidy()
        self.quick = Pool(
            limits.workers, limits.worker_bytes, limits.worker_seconds, limits.waiting, limits.patience
        )
        threads = max(1, CORES // limits.fits)
        self.fits = Pool(limits.fits, limits.fit_bytes, limits.fit_seconds, 0, 0.0, threads)
        metrics.gauge("gramian_busy_workers", "Processes at work.", lambda: self.quick.busy)
        metrics.gauge("gramian_running_fits", "Fits at work.", lambda: self.fits.busy)
        metrics.gauge("gramian_visitors", "Visitors who keep something.", lambda: self.visitors.count)

    async def begin(self) -> None:
        """Start processes, and look at what the server was started with."""
        await self.quick.start()
        for place, item in enumerate(self.given):
            try:
                facts = await self.quick.ask(look(item.kind, item.part(Path()), draft=True))
            except Refusal as refusal:
                facts = {"error": refusal.problem.error}
                LOG.warning(f"{item.name}: {refusal.problem.error}")
            summary, details = summary_of(item.kind, facts), json.dumps(facts)
            self.given[place] = replace(item, summary=summary, details=details)

    async def end(self) -> None:
        """End all fits and processes."""
        for visitor in self.visitors.known:
            for job in visitor.jobs.values():
                await job.cancel()
        await self.quick.end()
        await self.fits.end()
        empty_work(self.work)

    def reach(self, visitor: Visitor | None) -> Reach:
        """Return what a visitor can see."""
        return Reach(None if visitor is None else visitor.shelf, self.kept, self.given)

    def start_fit(self, visitor: Visitor, name: str, order: Said) -> Job:
        """Begin a fit whose model will be the visitor's.

        Raises
        ------
        Refusal
            If they have too much already.
        """
        visitor.shelf.check_room(0)
        path = self.work / f"{secrets.token_hex(16)}.gramian"

        async def run(told: Callable[[Said], None]) -> Item:
            try:
                answer = {"path": str(path), "name": "the model"}
                facts = await self.fits.ask({"do": "fit", "answer": answer, **order}, told)
                visitor.touch()
                return visitor.shelf.put(path, "model", name, facts)
            finally:
                path.unlink(missing_ok=True)

        job = Job(name, run, lambda state: self.metrics.jobs.labels(state).inc())
        ended = [id for id, one in visitor.jobs.items() if not one.running]
        for id in ended[: max(0, len(ended) - FINISHED_KEPT + 1)]:
            del visitor.jobs[id]
        visitor.jobs[job.facts.id] = job
        return job


def look(kind: Kind, part: dict[str, Any], draft: bool = False) -> Said:
    """Return the order to say what something is."""
    return {"do": f"look at {kind}", kind: part} | ({"draft": draft} if kind == "data" else {})


def state_of(request: Request) -> State:
    """Return what the application has."""
    found: State = request.app.state.gramian
    return found


Here = Annotated[State, Depends(state_of)]
