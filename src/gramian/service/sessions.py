"""Sessions: folders of items that a cookie leads to, and the state that all requests share."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from gramian.errors import FileError
from gramian.service.guard import SESSION, get_cookie, name_of, network_of, set_cookie
from gramian.service.logs import LOG, Metrics
from gramian.service.schemas import DataQuery, Fit, Kind, Reading, Refusal, busy
from gramian.service.settings import CORES, Limits, Settings
from gramian.service.storage import Item, ItemStorage, VisibleItems, empty_work, read_as, restored, summary_of
from gramian.service.workers import FINISHED_KEPT, Job, Message, Pool, ids_in

REMEMBERED = 365 * 86400  # seconds of a cookie; the items are deleted much earlier
SMALL_BODY = 64 << 10  # bytes of rows that a worker maps in about a millisecond
NAME = re.compile("[0-9a-f]{64}")  # of a session's folder: the hash of its cookie
# Seconds after which a visitor may be replaced by a new one if there are too many:
NEW = 10.0  # one who never returned the cookie
AWAY = 600.0  # one who returned it


class Session(ItemStorage):
    """The items of a visitor, with a quota and an age, and their fits.

    Attributes
    ----------
    name : str
        Hash of the cookie.
    network : str
        Of the visitor; empty while unknown.
    returned : bool
        Whether they returned the cookie.
    jobs : dict of str to Job
    """

    def __init__(self, folder: Path, limits: Limits, network: str = "", returned: bool = True) -> None:
        super().__init__(folder, most=limits.items, bytes=limits.visitor_bytes)
        self.name, self.network, self.returned = folder.name, network, returned
        self.jobs: dict[str, Job] = {}

    @property
    def here(self) -> bool:
        """Whether nothing else removed the folder."""
        return self.folder.is_dir() and not self.folder.is_symlink()

    @property
    def running(self) -> bool:
        """Whether a fit is running."""
        return any(job.running for job in self.jobs.values())

    @property
    def away(self) -> float:
        """The seconds since the last visit."""
        with suppress(FileNotFoundError):
            return time.time() - self.folder.stat().st_mtime
        return float("inf")

    def touch(self) -> None:
        """Record a visit."""
        with suppress(FileNotFoundError):  # it was just removed
            os.utime(self.folder)


class Sessions:
    """All sessions, by the hash of their cookie; those without a recent visit are deleted."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.deleted: set[str] = set()  # ids of the items of removed sessions
        here = [one.name for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]
        self._known = {name: Session(folder / name, limits) for name in here if NAME.fullmatch(name)}
        for session in self.known:
            session.tidy()

    @property
    def known(self) -> list[Session]:
        """All, also those whose folders something else removed."""
        return list(self._known.values())

    @property
    def here(self) -> list[Session]:
        """Those whose folders are there."""
        return [session for session in self.known if session.here]

    def get(self, name: str | None) -> Session | None:
        """Return a session by its name, or None."""
        session = self._known.get(name or "")
        if session is None or session.here:
            return session
        self._known.pop(session.name, None)
        return None

    def find(self, cookie: str | None, network: str = "") -> Session | None:
        """Return the session of a cookie, which a visitor of some network returned, or None."""
        session = self.get(name_of(cookie))
        if session is not None:
            session.returned, session.network = True, session.network or network
            session.touch()
        return session

    def make(self, network: str = "") -> tuple[Session, str]:
        """Return a new session and its cookie; raises as :meth:`enter`."""
        cookie = secrets.token_urlsafe(32)
        return self.enter(str(name_of(cookie)), network, returned=False), cookie

    def enter(self, name: str, network: str = "", returned: bool = True) -> Session:
        """Return a session without items.

        Raises
        ------
        Refusal
            429 with too many visitors.
        """
        if len(here := self.here) >= self.limits.visitors:
            if (leaving := self._leaving(here, network)) is None:
                raise busy("There are too many visitors", round(NEW))
            self._remove(leaving)
        if (session := self.get(name)) is None:
            session = self._known[name] = Session(self.folder / name, self.limits, network, returned)
        return session

    def _leaving(self, sessions: list[Session], network: str) -> Session | None:
        """Return the session to remove for a new one, so that no network can lock others out."""
        idle = sorted((one for one in sessions if not one.running), key=lambda one: one.away, reverse=True)
        once = next((one for one in idle if not one.returned and one.away > NEW), None)
        sizes = Counter(one.network for one in sessions if one.network)
        largest = max(sizes, key=lambda one: sizes[one], default=network)
        crowd = None
        if sizes[largest] > sizes[network] + 1:
            crowd = next((one for one in idle if one.network == largest), None)
        return once or crowd or next((one for one in idle if one.away > AWAY), None)

    def remove_idle(self) -> None:
        """Remove sessions without a recent visit."""
        for session in self.here:
            if session.away > self.limits.idle_seconds and not session.running:
                self._remove(session)

    def _remove(self, session: Session) -> None:
        self._known.pop(session.name, None)
        self.deleted |= session.clear()


# ------------------------------------------------------------------ what all requests share


class State:
    """Sessions, shared items and workers of a running application.

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
        self.sessions = Sessions(root / "visitors", limits)
        self.shared: ItemStorage | None = None
        if settings.store is not None:
            self.shared = ItemStorage(root / "models", "kept", limits.store_items, limits.store_bytes)
            self.shared.tidy()
        self.quick = Pool(
            limits.workers, limits.worker_bytes, limits.worker_seconds, limits.waiting, limits.patience
        )
        threads = max(1, CORES // limits.fits)
        self.fits = Pool(limits.fits, limits.fit_bytes, limits.fit_seconds, 0, 0.0, threads)
        metrics.workers.set_function(lambda: self.quick.busy)
        metrics.fits.set_function(lambda: self.fits.busy)
        metrics.visitors.set_function(lambda: len(self.sessions.here))

    def check_folders(self) -> None:
        """Check that the folders are there. A temporary one is created again, without its items.

        Raises
        ------
        Refusal
            503 if there is no folder.
        """
        temporary = self.settings.store is None
        try:
            if restored(self.root, temporary):
                LOG.warning("The temporary folder was removed by another program, and created again, empty.")
        except FileError as error:
            LOG.error(str(error))
            what = "temporary folder" if temporary else "folder of the store"
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
        for session in self.sessions.known:
            for job in session.jobs.values():
                await job.cancel()
        await self.quick.end()
        await self.fits.end()
        if self.work.is_dir():
            empty_work(self.work)

    def start_fit(self, session: Session, fit: Fit, order: Message) -> Job:
        """Start a fit whose model a session will own.

        Raises
        ------
        Refusal
            If it is full.
        """
        session.check_space(0)
        path = self.work / f"{secrets.token_hex(16)}.gramian"
        order = {"do": "fit", "answer": {"path": str(path), "name": "the model"}, **order}

        async def run(on_message: Callable[[Message], None]) -> Item:
            try:
                facts = await self.fits.ask(order, on_message)
                session.touch()
                return session.put(path, "model", fit.name, facts)
            finally:
                path.unlink(missing_ok=True)

        about = {"name": fit.name, "data": fit.data, "reading": fit.reading.options()}
        job = Job(about, ids_in(order), run, lambda state: self.metrics.jobs.labels(state).inc())
        ended = [id for id, one in session.jobs.items() if not one.running]
        for id in ended[: max(0, len(ended) - FINISHED_KEPT + 1)]:
            del session.jobs[id]
        session.jobs[job.facts.id] = job
        return job

    async def forget(self, *ids: str) -> None:
        """Remove what is left of deleted items: the jobs that read or made them, and their copies in memory.

        Parameters
        ----------
        *ids : str
            Deleted items, besides those of removed sessions.
        """
        gone, self.sessions.deleted = {*ids, *self.sessions.deleted}, set()
        for session in self.sessions.known:
            for id, job in list(session.jobs.items()):
                if not job.ids.isdisjoint(gone):
                    del session.jobs[id]
                    await job.cancel()
        await self.quick.forget(gone)
        await self.fits.forget(gone)


def describe(kind: Kind, part: dict[str, Any], draft: bool = False) -> Message:
    """Return the order to describe an item."""
    return {"do": f"describe_{kind}", kind: part} | ({"draft": draft} if kind == "data" else {})


async def state_of(request: Request) -> State:
    """Return the state of the application, whose folders are there."""
    state: State = request.app.state.gramian
    state.check_folders()
    return state


AppState = Annotated[State, Depends(state_of)]


class Caller(VisibleItems):
    """The visitor of a request, and the items that they can see.

    Attributes
    ----------
    request : Request
    state : State
    session : Session or None
        None while they have no items.
    """

    def __init__(self, request: Request, state: State) -> None:
        self.request, self.state, self.network = request, state, network_of(request.scope)
        self._cookie = get_cookie(request.scope, SESSION)
        self.session = state.sessions.find(self._cookie, self.network)
        super().__init__(self.session, state.shared, state.sources)

    @property
    def sends_little(self) -> bool:
        """Whether the request has a small body, whose length is known."""
        size = self.request.headers.get("content-length", "")
        known = size.isdecimal() and "transfer-encoding" not in self.request.headers
        return known and 0 < int(size) <= SMALL_BODY

    async def ask(self, do: str, /, **parts: Any) -> Message:
        """Return a worker's answer, within the share of the visitor, or of the network if there is none."""
        who = self.network if self.session is None else self.session.name
        order = {"do": do, **self._labelled(parts)}
        if "model" in parts and "data" in parts and self.sends_little:
            return await self.state.quick.ask_small(order, who)
        return await self.state.quick.ask(order, who=who)

    def _labelled(self, parts: dict[str, Any]) -> dict[str, Any]:
        """Add to data the uploaded table of their labels, if they have one.

        Raises
        ------
        Refusal
            404 for data that the visitor does not have.
        """
        for part in parts.values():
            named = part.get("reading", {}).get("labels_from") if isinstance(part, dict) else None
            if named is not None:
                id, _, column = named.partition(":")
                try:
                    part["labels"] = self.payload("data", id) | {"column": column or None}
                except Refusal as refusal:
                    said = f"The table of labels: {refusal.problem.error}"
                    raise Refusal(404, said, refusal.problem.what_to_do, field="labels_from") from refusal
        return parts

    async def describe(self, kind: Kind, part: Message, draft: bool = False) -> Message:
        """Return what a worker finds in a file."""
        order = describe(kind, part, draft)
        return await self.ask(order.pop("do"), **order)

    async def ensure_session(self) -> Session:
        """Return the session; a new one's cookie goes with the response."""
        sessions = self.state.sessions
        # A long upload may have outlasted the session.
        if self.session is not None and sessions.get(self.session.name):
            return self.session
        name = name_of(self._cookie)
        if name is not None and self.state.shared is not None:
            shared = await run_in_threadpool(self.state.shared.items)
            if any(item.owner == name for item in shared):
                # The owner of a shared model may still change it.
                self.session = sessions.enter(name, self.network)
                return self.session
        self.session, cookie = sessions.make(self.network)
        await self.state.forget()  # the session that made room, if one did
        set_cookie(self.request.scope, SESSION, cookie, REMEMBERED)
        return self.session

    def may_change(self, item: Item) -> bool:
        """Return whether the visitor may replace or delete an item.

        A shared model belongs to the visitor who added it. A server without a token serves only this machine,
        whose users may change any.
        """
        if item.whose == "kept":
            own = item.owner is not None and item.owner == name_of(self._cookie)
            return own or self.state.settings.token is None
        return item.whose == "yours"

    def changeable(self, kind: Kind, id: str) -> tuple[Item, ItemStorage]:
        """Return an item that the visitor may change, and its storage.

        Raises
        ------
        Refusal
            404 for an unknown item, 403 for one that they may not change.
        """
        item, storage = self.find(kind, id)
        if storage is None:
            text = "This item is read-only: the server was started with it."
            raise Refusal(403, text, "Change one of yours.")
        if not self.may_change(item):
            text = "Only the visitor who added this shared model may replace or delete it."
            raise Refusal(
                403, text, "Send the cookie that you received with the upload, or ask the administrator."
            )
        return item, storage

    def shown(self, id: str, query: DataQuery) -> dict[str, Any]:
        """Return what a worker needs to show a model, and data with it."""
        data = None if query.data is None else self.data(query.data, query)
        return {"model": self.payload("model", id), "data": data}

    def fit(self, fit: Fit) -> dict[str, Any]:
        """Return what a worker needs for a fit."""
        about = fit.model_dump(include={"data", "estimator", "parameters", "propose"})
        about["reading"] = fit.reading.options()
        return self._labelled({"fit": about, "data": self.data(fit.data, fit.reading)})

    async def data_facts(self, id: str, reading: Reading) -> tuple[Item, dict[str, Any]]:
        """Return data and all facts of them, as reading options show them; raises as :meth:`find`."""
        item, facts = await run_in_threadpool(self.with_facts, "data", id)
        if reading.options():
            facts = await self.describe("data", self.data(id, reading), draft=True)
        return item, facts

    def data(self, id: str, reading: Reading) -> dict[str, Any]:
        """Return what a worker needs to read uploaded data with the reading options of this request."""
        return read_as(self.payload("data", id), reading)


async def caller_of(request: Request, state: AppState) -> Caller:
    """Return the visitor of a request. FastAPI would make one of the class itself in another thread."""
    return Caller(request, state)


CurrentCaller = Annotated[Caller, Depends(caller_of)]
