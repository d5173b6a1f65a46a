"""``python benchmarks service [--quick]``: a server under load, on the loopback of this machine.

``gramian serve`` runs as a process of its own. 200 clients, each with one connection that stays open, ask it
for the scores of one row, and then for the scores of a table and for the name of a face in turns. They ask
again as soon as they are answered; who gets 429 waits for as long as it says. The clients share one thread
that does little else than copy bytes, since its processor time is none of the server's; how much of it there
is, and how much the server and its workers take, is printed for each answer. Memory is the sum over the
server and its processes, without what they share, once a second.

One client alone, on one connection that stays open, asks for ``/healthz``: what a request takes that does
nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from harness.rows import Check, Options, Report, Row, Standing
from harness.timing import say

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)


@dataclass
class Load:
    """What clients saw, and the processor seconds of the server, its workers and the clients."""

    seconds: dict[str, list[float]]
    processor: tuple[float, float, float] = (0.0, 0.0, 0.0)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    memory: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class LoadRow:
    """So many clients for so long."""

    name: str
    clients: int
    duration: float
    asks: tuple[str, ...]

    @property
    def about(self) -> str:
        asked = {
            "one row": "scores of one row of 30 columns (JSON)",
            "transform": "scores of 20 rows of 30 columns (.npy)",
            "identify": "the name of a drawn face of 24x28 pixels among 30 people (.npy)",
        }
        what = ", and ".join(asked[one] for one in self.asks)
        return f"{self.clients} clients for {self.duration:g} s{' in turns' * (len(self.asks) > 1)}: {what}"

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Serve, ask, and say how long answers took."""
        load = Load({what: [] for what in self.asks})
        with tempfile.TemporaryDirectory() as folder, _served(Path(folder), *_files(Path(folder))) as server:
            asyncio.run(_ask(load, *server, self))
        return self._report(load)

    def _report(self, load: Load) -> Report:
        report = Report(self.name, self.about, {})
        for what, seconds in load.seconds.items():
            shown = ", ".join(
                f"{100 * q:g} % {1e3 * value:.0f} ms"
                for q, value in zip(QUANTILES, np.quantile(seconds or [np.nan], QUANTILES), strict=True)
            )
            note = f"{len(seconds) / self.duration:.0f} a second; latency {shown}"
            report.standings.append(Standing(what, what == self.asks[0], seconds, note=note, accurate=True))
            say(f"  {what}: {note}")
        answers = sum(load.statuses.values())
        names = ("server", "workers", "clients")
        taken = ", ".join(
            f"{name} {1e3 * seconds / max(answers, 1):.2f} ms"
            for name, seconds in zip(names, load.processor, strict=True)
        )
        say(f"  processor time of an answer: {taken}")
        good = sum(count for status, count in load.statuses.items() if 200 <= status < 300)
        late = load.memory[len(load.memory) // 2 :]
        early = load.memory[len(load.memory) // 4 : len(load.memory) // 2]
        growth = max(late, default=0) / max(max(early, default=1), 1)
        report.standings[0].note += f"; all answers by status: {dict(load.statuses)}; processor: {taken}"
        report.standings[0].peak_growth = max(load.memory, default=0)
        report.checks = [
            Check("answers that are neither 2xx nor 429", answers - good - load.statuses[429], 0),
            Check("connections that broke", load.broken, 0),
            Check("memory of the second half over that of the second quarter", growth, 1.1),
        ]
        return report


@dataclass(frozen=True)
class KeepAliveRow:
    """So many requests on one connection."""

    name: str
    requests: int

    @property
    def about(self) -> str:
        return f"{self.requests} requests for /healthz, one after the other on one connection"

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Serve, ask, and say how long answers took."""
        with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as (port, _):
            seconds = asyncio.run(_ask_in_turn(port, self.requests))
        milliseconds = 1e3 * float(np.median(seconds))
        note = f"median {milliseconds:.2f} ms, 99 % {1e3 * np.quantile(seconds, 0.99):.2f} ms"
        say(f"  keep-alive: {note}")
        standing = Standing("healthz", True, seconds, note=note, accurate=True)
        check = Check("median milliseconds of a request", milliseconds, 2.0)
        return Report(self.name, self.about, {}, standings=[standing], checks=[check])


def rows(quick: bool) -> list[Row]:
    """Return one connection, and many."""
    clients, duration = (20, 5.0) if quick else (200, 60.0)
    return [
        KeepAliveRow("keep-alive", 200),
        LoadRow("one-row", clients, duration / 2, ("one row",)),
        LoadRow("load", clients, duration, ("transform", "identify")),
    ]


# ------------------------------------------------------------------ the server


@contextmanager
def _served(folder: Path, *files: str) -> Iterator[tuple[int, int]]:
    """Serve files by a process; yield its port and its id."""
    command = [sys.executable, "-m", "gramian", "serve", *files, "--no-open", "--port", "0"]
    log = folder / "log"
    with log.open("wb") as told, subprocess.Popen(command, stdout=told, stderr=told) as process:
        try:
            yield _port(process, log), process.pid
        finally:
            process.terminate()


def _files(folder: Path) -> list[str]:
    from example_data import drawn_faces

    from gramian import PCA
    from gramian.faces import FaceSpace
    from gramian.faces.gallery import enroll_into

    PCA(10).fit(np.random.default_rng(0).standard_normal((2000, 30))).save(folder / "pca.gramian")
    faces = drawn_faces(30, 4, size=(24, 28))
    space = FaceSpace(30).fit(faces)
    space.save(folder / "faces.gramian")
    enroll_into(folder / "people.gallery", space, faces.people, space.transform(faces), faces.hashes)
    return [str(folder / name) for name in ("pca.gramian", "faces.gramian", "people.gallery")]


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    for _ in range(600):
        if match := re.search(rb"http://127\.0\.0\.1:(\d+)/", log.read_bytes()):
            return int(match[1])
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def memory_of(pid: int) -> int:
    """Bytes of a process and its children, of which shared pages count in part."""
    total = 0
    for one in (pid, *_children(pid)):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            total += 1024 * int(line.split()[1]) if line.startswith("Pss:") else 0
    return total


def processor_of(pid: int) -> tuple[float, float]:
    """Processor seconds of a process, and of its children that have not ended."""

    def of(one: int) -> float:
        spent = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")

    children = _children(pid)
    return (of(pid), sum(map(of, children))) if Path("/proc/self/stat").exists() else (0.0, 0.0)


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return list(map(int, children.read_text().split())) if children.exists() else []


# ------------------------------------------------------------------ the clients


async def _ask(load: Load, port: int, pid: int, row: LoadRow) -> None:
    ids = await _ids(port)
    rng = np.random.default_rng(1)
    from example_data import drawn_faces

    face = drawn_faces(30, 1, size=(24, 28), seed=2).pictures[:1]
    transform = f"/api/v1/models/{ids['pca']}/transform"
    identify = f"/api/v1/faces/{ids['faces']}/identify?gallery={ids['people']}"
    single = json.dumps(rng.standard_normal((1, 30)).tolist()).encode()
    requests = {
        "one row": _request(transform, single, "application/json"),
        "transform": _request(transform, _npy(rng.standard_normal((20, 30)))),
        "identify": _request(identify, _npy(face)),
    }
    asked = [(what, requests[what]) for what in row.asks]
    end = time.perf_counter() + row.duration
    watching = asyncio.create_task(_watch(load, pid))
    before = (*processor_of(pid), time.process_time())
    clients = [_Client(load, asked, end, turn) for turn in range(row.clients)]
    await asyncio.gather(*(client.ask_until_the_end(port) for client in clients))
    after = (*processor_of(pid), time.process_time())
    load.processor = tuple(late - early for early, late in zip(before, after, strict=True))
    watching.cancel()


async def _ask_in_turn(port: int, count: int) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await _answer(reader)
        seconds.append(time.perf_counter() - began)
    writer.close()
    return seconds


async def _watch(load: Load, pid: int) -> None:
    while True:
        load.memory.append(memory_of(pid))
        await asyncio.sleep(1)


class _Client(asyncio.Protocol):
    """Asks again as soon as an answer is complete. Streams take three times as long."""

    def __init__(self, load: Load, asked: list[tuple[str, bytes]], end: float, turn: int) -> None:
        self._load, self._asked, self._end, self._turn = load, asked, end, turn

    async def ask_until_the_end(self, port: int) -> None:
        """Connect, and again when the server has closed the connection."""
        loop = asyncio.get_running_loop()
        while time.perf_counter() < self._end:
            self._closed, self._received, self._waits = loop.create_future(), b"", False
            try:
                await loop.create_connection(lambda: self, "127.0.0.1", port)
                await self._closed
            except ConnectionError:
                self._load.broken += 1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, complete, body = self._received.partition(b"\r\n\r\n")
        if not complete or len(body) < int(_value(head, b"content-length")):
            return
        status, now = int(head[9:12]), time.perf_counter()
        self._load.statuses[status] += 1
        self._received, self._waits = b"", False
        if _value(head, b"connection") == b"close":
            self._transport.close()
        elif status == 429:
            later = min(float(_value(head, b"retry-after")), max(0.0, self._end - now))
            self._closed.get_loop().call_later(later, self._ask)
        else:
            self._load.seconds[self._what].append(now - self._began)
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.broken += self._waits
        self._closed.set_result(None)

    def _ask(self) -> None:
        if time.perf_counter() >= self._end:
            self._transport.close()
            return
        self._what, request = self._asked[self._turn % len(self._asked)]
        self._turn, self._waits, self._began = self._turn + 1, True, time.perf_counter()
        self._transport.write(request)


def _value(head: bytes, name: bytes) -> bytes:
    found = re.search(rb"(?i)\r\n" + name + rb": *([^\r]*)", head)
    return b"" if found is None else found[1]


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split()[1]), headers, body


async def _ids(port: int) -> dict[str, str]:
    entries = {}
    for kind in ("models", "galleries"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /api/v1/{kind} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        _, _, body = await _answer(reader)
        entries |= {item["name"].partition(".")[0]: item["id"] for item in json.loads(body)}
        writer.close()
    return entries


def _request(place: str, body: bytes, kind: str = "application/x-npy") -> bytes:
    head = f"POST {place} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _npy(values: Any) -> bytes:
    stream = BytesIO()
    np.save(stream, values)
    return stream.getvalue()
