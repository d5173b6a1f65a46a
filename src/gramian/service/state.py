"""The state of one running application: its visitors, its items and its workers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from gramian.errors import FileError
from gramian.service.item_storage import ItemStorage
from gramian.service.items import Item, summary_of
from gramian.service.jobs import FINISHED_KEPT, Job
from gramian.service.logs import LOG
from gramian.service.metrics import Metrics
from gramian.service.problems import Refusal
from gramian.service.schemas import Kind
from gramian.service.settings import CORES, Settings
from gramian.service.store_folder import empty_work, is_whole, restore_temporary
from gramian.service.visitors import Visitor, Visitors
from gramian.service.workers import Message, Pool, ids_in


class State:
    """What all requests share.

    Parameters
    ----------
    settings : Settings
    root : Path
        The folder of all items, prepared as a store.
    sources : sequence of Item
        Items of the command line.
    metrics : Metrics
    """

    def __init__(self, settings: Settings, root: Path, sources: Sequence[Item], metrics: Metrics) -> None:
        limits = settings.limits
        self.settings, self.limits, self.sources, self.metrics = settings, limits, list(sources), metrics
        self.root, self.work = root, root / "work"
        empty_work(self.work)  # files of a server that was killed
        self.visitors = Visitors(root / "visitors", limits)
        self.shared: ItemStorage | None = None
        if settings.store is not None:
            self.shared = ItemStorage(root / "models", "kept", limits.store_items, limits.store_bytes)
            self.shared.tidy()
        self.quick = Pool(
            limits.workers, limits.worker_bytes, limits.worker_seconds, limits.waiting, limits.patience
        )
        threads = max(1, CORES // limits.fits)
        self.fits = Pool(limits.fits, limits.fit_bytes, limits.fit_seconds, 0, 0.0, threads)
        metrics.gauge("gramian_busy_workers", "Workers that are busy.", lambda: self.quick.busy)
        metrics.gauge("gramian_running_fits", "Fits that are running.", lambda: self.fits.busy)
        metrics.gauge("gramian_visitors", "Visitors with items.", lambda: self.visitors.count)

    def check_folders(self) -> None:
        """Check that the folders are there. A temporary one is created again, without its items.

        Raises
        ------
        Refusal
            503 if there is no folder.
        """
        temporary = self.settings.store is None
        if is_whole(self.root, temporary):
            return
        what = "temporary folder" if temporary else "folder of the store"
        try:
            if not temporary:
                raise FileError(f"{self.root} is not whole. Restore it, and restart the server.")
            restore_temporary(self.root)
            LOG.warning("The temporary folder was removed by another program, and created again, empty.")
        except FileError as error:
            LOG.error(str(error))
            raise Refusal(503, f"The server's {what} was removed.", "Ask the administrator.") from error

    async def begin(self) -> None:
        """Start a worker, and describe the items of the command line."""
        await self.quick.start()
        for place, item in enumerate(self.sources):
            try:
                facts = await self.quick.ask(describe(item.kind, item.payload(Path()), draft=True))
            except Refusal as refusal:
                facts = {"error": refusal.problem.error}
                LOG.warning(f"{item.name}: {refusal.problem.error}")
            known = {"summary": summary_of(item.kind, facts), "details": json.dumps(facts)}
            self.sources[place] = item.model_copy(update=known)

    async def end(self) -> None:
        """End all fits and workers."""
        for visitor in self.visitors.known:
            for job in visitor.jobs.values():
                await job.cancel()
        await self.quick.end()
        await self.fits.end()
        if self.work.is_dir():
            empty_work(self.work)

    def start_fit(self, visitor: Visitor, name: str, order: Message) -> Job:
        """Start a fit whose model the visitor will own.

        Raises
        ------
        Refusal
            If their storage is full.
        """
        visitor.storage.check_space(0)
        path = self.work / f"{secrets.token_hex(16)}.gramian"
        order = {"do": "fit", "answer": {"path": str(path), "name": "the model"}, **order}

        async def run(on_message: Callable[[Message], None]) -> Item:
            try:
                facts = await self.fits.ask(order, on_message)
                visitor.touch()
                return visitor.storage.put(path, "model", name, facts)
            finally:
                path.unlink(missing_ok=True)

        job = Job(name, ids_in(order), run, lambda state: self.metrics.jobs.labels(state).inc())
        ended = [id for id, one in visitor.jobs.items() if not one.running]
        for id in ended[: max(0, len(ended) - FINISHED_KEPT + 1)]:
            del visitor.jobs[id]
        visitor.jobs[job.facts.id] = job
        return job

    async def forget(self, *ids: str) -> None:
        """Remove what is left of deleted items: the jobs that read or made them, and their copies in memory.

        Parameters
        ----------
        *ids : str
            Deleted items, besides those of visitors who were removed.
        """
        gone, self.visitors.deleted = {*ids, *self.visitors.deleted}, set()
        for visitor in self.visitors.known:
            for id, job in list(visitor.jobs.items()):
                if not job.ids.isdisjoint(gone):
                    del visitor.jobs[id]
                    await job.cancel()
        await self.quick.forget(gone)
        await self.fits.forget(gone)


def describe(kind: Kind, payload: dict[str, Any], draft: bool = False) -> Message:
    """Return the order to describe an item."""
    return {"do": f"describe_{kind}", kind: payload} | ({"draft": draft} if kind == "data" else {})


async def state_of(request: Request) -> State:
    """Return the state of the application, whose folders are there."""
    state: State = request.app.state.gramian
    state.check_folders()
    return state


AppState = Annotated[State, Depends(state_of)]
