"""What a running server holds: models and data on disk, processes that compute, and fits.

Each item has a folder of its own, which is filled in ``work`` and moves to ``items`` as a whole. Anybody may
have changed a store meanwhile, so descriptions are checked, and no link is followed. Processes have limits on
memory and time; orders are lines of JSON, answers are bytes, and nothing is unpickled.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import secrets
import shutil
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

import gramian
from gramian.app.server.fields import ID, Fit, Kind, Reading, Refusal
from gramian.app.verb import model_path
from gramian.core import arrays
from gramian.core.atomic import as_file_error, as_path, atomic_write, locked
from gramian.core.checks import amount, counted, duration
from gramian.errors import FileError, ParameterError, shortened

LOG = logging.getLogger("gramian.app.server")
LONGEST = 8 << 20  # bytes of a description
DESCRIPTION = "item.json"
MARKER, CONTENT = ".gramian-store", b'{"format": "gramian-store", "version": 2}'
METHODS = {"KernelPCA": "Kernel PCA", "FaceSpace": "Eigenfaces", "Whitener": "Whitening"}
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WARM = 2  # processes that wait for requests
FINISHED_KEPT = 50
Message = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    upload_bytes : int
        Of one body.
    memory, seconds : int, float
        Working memory and time of one request.
    fits, fit_memory, fit_seconds : int, int, float
        Fits at the same time, working memory and time of each.
    """

    upload_bytes: int = 256 << 20
    memory: int = 2 << 30
    seconds: float = 60.0
    fits: int = max(1, CORES // 2)
    fit_memory: int = field(default_factory=lambda: arrays.memory_limit_bytes(None) // 2)
    fit_seconds: float = 3600.0


# ------------------------------------------------------------------ items


class Item(BaseModel):
    """A model or data. Its description is read strictly.

    Attributes
    ----------
    id, kind, name
    created : float
        Seconds since 1970.
    bytes : int
    suffix : str
        Of its file.
    about : str
        What lists say of it.
    reading : Reading
        Which part of data is read, and how.
    facts : dict
    given : bool
        Whether the server was started with it: it is read-only.
    path : str
        Its file.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    id: str = Field(pattern=ID)
    kind: Kind
    name: str = Field(min_length=1, max_length=200)
    created: float = Field(ge=0)
    bytes: int = Field(default=0, ge=0)
    suffix: str = Field(default="", pattern=r"^(\.[a-z0-9]{1,10})?$")
    about: str = Field(default="", max_length=400)
    reading: Reading = Reading()
    facts: dict[str, Any] = {}
    given: bool = False
    path: str = Field(default="", exclude=True)

    def with_facts(self, facts: Message, size: int) -> Item:
        """Return it with what a process found in its file."""
        if "error" in facts:
            about = shortened(facts["error"])
        elif self.kind == "data":
            noun = "picture" if facts.get("picture_shape") else "row"
            about = ", ".join([*([counted(facts["rows"], noun)] if "rows" in facts else []), amount(size)])
        else:
            kind, count = facts["model"]["kind"], facts["model"].get("n_components")
            components = [] if count is None else [counted(count, "component")]
            about = ", ".join([METHODS.get(kind, kind), *components])
        return self.model_copy(update={"facts": facts, "about": about, "bytes": size})

    def source(self, reading: Reading | None = None) -> Message:
        """Return what a process needs to open it; ``arguments`` as a report has those of ``scan``.

        Parameters
        ----------
        reading : Reading, optional
            Further options of reading. A column that these put to another use leaves the stored one.
        """
        further = {} if reading is None else reading.options()
        options = self.reading.options() | further
        chosen = [further[option] for option in ("id", "label", "weights") if option in further]
        used = {name for value in chosen for name in ([value] if isinstance(value, str) else value)}
        for option in {"columns", "drop"} & options.keys() - further.keys():
            options[option] = [name for name in options[option] if name not in used] or None
        path, name, sheet = self.path, self.name, options.pop("sheet", None)
        if sheet is not None:
            path, name = (f"{text.partition('::')[0]}::{sheet}" for text in (path, name))
        about = {"path": path, "name": name, "kind": self.suffix, "given": self.given or sheet is not None}
        return about | {"reading": options, "arguments": {"path": name, **options}}


def given_item(source: str) -> Item:
    """Return a source of the command line; its name gives the kind.

    Raises
    ------
    FileError
        If it does not exist.
    """
    path = model_path(source)
    file = path if path.exists() or "::" not in source else Path(source.rpartition("::")[0])
    if not file.exists():
        raise FileError(f"{source}: no such file or folder. Check the name.")
    return Item(
        id=secrets.token_hex(16),
        kind="model" if path.suffix == ".gramian" else "data",
        name=Path(source).name.encode("utf-8", "replace").decode()[:200],
        created=file.stat().st_mtime,
        bytes=file.stat().st_size if file.is_file() else 0,
        given=True,
        path=os.path.abspath(path),
    )


# ------------------------------------------------------------------ processes


@dataclass
class Worker:
    """A process that carries out one order at a time.

    Attributes
    ----------
    process : Process
    memory : int
    usable : bool
        Whether it waits for an order.
    """

    process: Process
    memory: int
    usable: bool = True

    @classmethod
    async def start(cls, memory: int, threads: int = 1) -> Worker:
        """Start a process."""
        # The package may not be on the default path.
        path = [str(Path(gramian.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "GRAMIAN_MEMORY_LIMIT": str(memory // 2),
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)),
        }
        environment.pop("GRAMIAN_TOKEN", None)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "gramian.app.server.worker", str(memory)),
            stdin=PIPE,
            stdout=PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C ends the server, which ends its processes
        )
        return cls(process, memory)

    async def ask(
        self, order: Message, seconds: float, on_progress: Callable[[Message], None] | None = None
    ) -> bytes:
        """Return the answer to an order; how far it is goes to ``on_progress``.

        Raises
        ------
        Refusal
            An error of the process, its end, or the end of its time.
        """
        sent, received = self.process.stdin, self.process.stdout
        assert sent is not None
        assert received is not None
        self.usable = False
        try:
            async with asyncio.timeout(seconds):
                with suppress(ConnectionError, asyncio.IncompleteReadError):
                    sent.write(json.dumps(order).encode() + b"\n")
                    await sent.drain()
                    while line := await received.readline():
                        message: Message = json.loads(line)
                        if "status" in message:
                            content = await received.readexactly(message["bytes"])
                            self.usable = message["usable"]
                            if message["status"] != 200:
                                raise Refusal(message["status"], content.decode())
                            return content
                        if on_progress is not None:
                            on_progress(message)
            limit = f"the memory limit of {amount(self.memory)}"
            problem = f"The process ended, most likely because it exceeded {limit}."
        except TimeoutError:
            limits = f"{duration(seconds)} (and {amount(self.memory)} of memory)"
            problem = f"The limit of {limits} was exceeded."
        raise Refusal(413, f"{problem} Use fewer rows, columns or components.")

    async def end(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


class Job:
    """One fit in a process of its own.

    Parameters
    ----------
    state : State
    fit : Fit
    plan : dict
    order : dict
        What the process needs.
    """

    def __init__(self, state: State, fit: Fit, plan: Message, order: Message) -> None:
        self._facts: Message = {
            "id": secrets.token_hex(16),
            "name": fit.name,
            "data": fit.data,
            "reading": fit.reading.options(),
            "state": "running",
            "created": time.time(),
            "seconds": 0.0,
            "plan": plan["plan"],
            "plan_text": plan["text"],
            "progress": {"text": "", "counted": None, "done": 0, "total": 0},
            "model": None,
            "error": None,
        }
        self._task = asyncio.create_task(self._run(state, order))

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

    async def _run(self, state: State, order: Message) -> None:
        limits, on_progress = state.limits, self._facts["progress"].update
        outcome: Message = {"state": "failed", "error": "The server failed; its log says why."}
        try:
            with state.building("model", self._facts["name"], ".gramian") as item:
                order |= {"do": "fit", "path": item.path}
                worker = await Worker.start(limits.fit_memory, max(1, CORES // limits.fits))
                try:
                    facts = json.loads(await worker.ask(order, limits.fit_seconds, on_progress))
                finally:
                    await asyncio.shield(worker.end())
                outcome = {"state": "done", "model": state.put(item, facts).id}
        except Refusal as refusal:
            outcome["error"] = refusal.detail
        except asyncio.CancelledError:
            outcome = {"state": "cancelled"}
        except Exception:
            LOG.exception("a fit failed")
        self._facts |= outcome | {"seconds": time.time() - self._facts["created"]}


# ------------------------------------------------------------------ all of it


class State:
    """Items, processes and fits of a running server.

    Parameters
    ----------
    root : Path
        A folder from :func:`store_folder`.
    given : sequence of Item
        Items of the command line.
    limits : Limits
    """

    def __init__(self, root: Path, items: Sequence[Item], limits: Limits) -> None:
        self.root, self.work, self.given, self.limits = root, root / "work", list(items), limits
        self.jobs: dict[str, Job] = {}
        self._skipped: set[str] = set()
        self.program: bytes | None = None  # what draws figures on a page
        self._turns, self._idle = asyncio.Semaphore(WARM), list[Worker]()
        self.empty_work()

    def empty_work(self) -> None:
        """Remove the server's own temporary files, such as those of a server that was killed."""
        for path in self.work.iterdir():
            if re.match(r"[0-9a-f]{32}", path.name):
                shutil.rmtree(path, ignore_errors=True)
                if path.is_symlink() or path.is_file():
                    path.unlink()

    @contextmanager
    def building(self, kind: Kind, name: str, suffix: str = "") -> Iterator[Item]:
        """Yield an item in a folder of its own, whose file is to be written; it goes unless it was stored."""
        id = secrets.token_hex(16)
        folder = self.work / id
        item = Item(id=id, kind=kind, name=name, created=time.time(), suffix=suffix)
        folder.mkdir(mode=0o700)
        try:
            yield item.model_copy(update={"path": str(folder / f"content{suffix}")})
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def put(self, item: Item, facts: Message) -> Item:
        """Store an item whose file is written.

        Raises
        ------
        Refusal
            507 if the disk is full; nothing has changed then.
        """
        item = item.with_facts(facts, os.path.getsize(item.path))
        folder, stored = Path(item.path).parent, self.root / "items" / item.id
        try:
            with atomic_write(folder / DESCRIPTION, mode=0o600) as opened:
                opened.write(item.model_dump_json(exclude_defaults=True).encode())
            with open(item.path, "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(folder, stored)
        except (OSError, FileError) as error:
            raise Refusal(507, f"Nothing was saved: {error}") from error
        return item.model_copy(update={"path": str(stored / Path(item.path).name)})

    def all(self, kind: Kind) -> list[Item]:
        """Return all items of a kind, the oldest first."""
        read = [self._read(path.name) for path in (self.root / "items").iterdir()]
        stored = sorted((item for item in read if item is not None), key=lambda item: item.created)
        return [item for item in (*self.given, *stored) if item.kind == kind]

    def find(self, kind: Kind, id: str) -> Item:
        """Return an item.

        Raises
        ------
        Refusal
            404 if there is none.
        """
        item = next((item for item in self.given if item.id == id), None) or self._read(id)
        if item is not None and item.kind == kind:
            return item
        place = f"/api/v1/{'models' if kind == 'model' else 'data'}"
        raise Refusal(404, f"There is no {kind} with this id. GET {place} lists all.")

    def _read(self, id: str) -> Item | None:
        folder = self.root / "items" / id
        described = folder / DESCRIPTION
        try:
            if not re.fullmatch(ID, id) or not folder.is_dir():
                return None
            if described.stat().st_size > LONGEST:
                raise ValueError("its description is too long")
            item = Item.model_validate_json(described.read_bytes())
            file = folder / f"content{item.suffix}"
            if item.id != id or item.given or not file.is_file():
                raise ValueError("it is not a description of this item")
            if any(path.is_symlink() for path in (folder, described, file)):
                raise ValueError("it is a link")
            return item.model_copy(update={"path": str(file)})
        except (OSError, ValueError) as error:
            if id not in self._skipped:
                self._skipped.add(id)
                LOG.warning(f"{folder} was skipped and left in place: {' '.join(str(error).split())[:300]}")
            return None

    def remove(self, item: Item) -> None:
        """Remove an item.

        Raises
        ------
        Refusal
            403 for one of the command line.
        """
        if item.given:
            raise Refusal(403, "This item is read-only: the server was started with it.")
        os.replace(self.root / "items" / item.id, self.work / item.id)
        shutil.rmtree(self.work / item.id, ignore_errors=True)

    async def ask(self, do: str, /, **message: Any) -> bytes:
        """Return the answer of a process that waits for requests; raises as :meth:`Worker.ask`."""
        async with self._turns:
            worker = self._idle.pop() if self._idle else await Worker.start(self.limits.memory)
            try:
                return await worker.ask({"do": do, **message}, self.limits.seconds)
            finally:
                if worker.usable:
                    self._idle.append(worker)
                else:
                    await asyncio.shield(worker.end())

    async def describe(self, item: Item, reading: Reading | None = None) -> Message:
        """Return the facts that a process finds in a file, also as other options of reading show them."""
        if item.facts and not (reading and reading.options()):
            return dict(item.facts)
        return dict(json.loads(await self.ask("describe", kind=item.kind, data=item.source(reading))))

    def start_fit(self, fit: Fit, plan: Message, order: Message) -> Job:
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
        if len(ended) >= FINISHED_KEPT:
            del self.jobs[ended[0]]
        job = Job(self, fit, plan, order)
        self.jobs[job.facts["id"]] = job
        return job

    async def end(self) -> None:
        """End all fits and processes."""
        for job in self.jobs.values():
            await job.cancel()
        for worker in self._idle:
            await worker.end()
        self.empty_work()


# ------------------------------------------------------------------ the folder of results


@contextmanager
def store_folder(store: str | os.PathLike[str]) -> Iterator[Path]:
    """Create or check a folder of results; yield its absolute path while this process has it alone.

    Raises
    ------
    ParameterError
        If the name is empty.
    FileError
        If the folder holds other files, cannot be written to, or another server uses it.
    """
    root = Path(os.path.realpath(as_path(store)))
    if not os.fspath(store).strip():
        raise ParameterError("store", os.fspath(store), "is not a folder name", "Name a folder.")
    if os.path.lexists(root) and not root.is_dir():
        raise FileError(f"store {shortened(store)} is not a folder. Name a new or an empty folder.")
    with as_file_error(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, f"store {root} is in use by another server. Stop it, or name another folder."):
        with as_file_error(root):
            _prepare(root)
        yield root


def _prepare(root: Path) -> None:
    """Check the marker of a store, or make one of an empty folder."""
    marker = root / MARKER
    if os.path.lexists(marker):
        # A link may lead elsewhere, and opening a pipe would block.
        if marker.is_symlink() or not marker.is_file() or marker.read_bytes() != CONTENT:
            problem = f"was written by another version of gramian, or {MARKER} is damaged"
            raise FileError(f"store {root} {problem}. Name another folder.")
    elif others := sorted(os.listdir(root)):
        problem = f"contains {shortened(others[0])} but no {MARKER}, so it is not a store"
        raise FileError(f"store {root} {problem}. Name a new or an empty folder.")
    for folder in (root, root / "items", root / "work"):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or not os.access(folder, os.W_OK | os.X_OK):
            problem = f"store {folder} is a link or write-protected"
            raise FileError(f"{problem}. Make it a folder of your own, or name another store.")
    if not marker.exists():
        with atomic_write(marker, mode=0o600) as file:
            file.write(CONTENT)
