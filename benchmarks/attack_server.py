"""``python benchmarks/attack_server.py``: attacks a running server, and commands, as a stranger would.

Starts ``gramian serve`` on the loopback and runs commands in a temporary folder, by HTTP and the shell only.
It sends hostile folders, names, models, uploads and headers, and interrupts writes. Each attack checks
statements, such as "no file changed". A false one is printed with how to repeat it, and the exit code is 1.
The script stops all that it starts. It takes two to three minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

import gramian
from gramian import PCA, KernelPCA

API = "/api/v1"
SOURCE = str(Path(gramian.__file__).resolve().parents[1])
PATIENCE = 60.0  # seconds for one command, or for a server to start or to stop
CSV, BINARY = {"Content-Type": "text/csv"}, {"Content-Type": "application/octet-stream"}
JSON = {"Content-Type": "application/json"}
PEOPLE = {"Accept": "text/html"}
# What would change a terminal or is no XML: all control characters but tab and line feed, and two others.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
CANARY = "document.documentElement.setAttribute('data-canary','ran')"
RAN = 'data-canary="ran"'
HOSTILE = (
    f"</script><script>{CANARY}</script>",
    f'"><img src="x" onerror="{CANARY}">',
    "constructor",
    "__proto__",
    "a\x01b\x0bc\x1b[31md\ufffee\u202e",
)


# ------------------------------------------------------------------ what is observed


def snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the kind, permissions, time and content of all that is in a folder; links are not followed."""
    contents: dict[str, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        stat, name = path.lstat(), str(path.relative_to(folder))
        if path.is_symlink():
            contents[name] = ("link", os.readlink(path))
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            contents[name] = ("file", stat.st_mode, stat.st_mtime_ns, content)
        else:
            contents[name] = ("folder", stat.st_mode)
    return contents


def changes(before: dict[str, tuple[Any, ...]], folder: Path, new: bool = True) -> list[str]:
    """Return what is not as it was in a folder; with ``new=False`` files that were added do not count."""
    after = snapshot(folder)
    names = before.keys() | (after.keys() if new else ())
    return sorted(name for name in names if before.get(name) != after.get(name))


def exposed(text: str, folder: Path) -> list[str]:
    """Return the places of the server's machine that a text names."""
    places = (str(folder), SOURCE, "site-packages", "Traceback")
    return [place for place in places if place in text]


@dataclass
class Attack:
    """A run: its folder, what was not as it must be, and how many statements were checked.

    Attributes
    ----------
    folder : Path
    item : str
        The attack that is running.
    findings : list of str
    checked : int
    """

    folder: Path
    item: str = ""
    findings: list[str] = field(default_factory=list)
    checked: int = 0
    skipped: list[str] = field(default_factory=list)

    def check(self, right: object, what: str, how: object = "") -> None:
        """Take note of a statement, and print it if it is false."""
        self.checked += 1
        if right:
            return
        text = f"{self.item}: {what}"
        self.findings.append(text)
        print(f"FINDING  {ascii(text)[1:-1]}", flush=True)
        if how:
            print(f"         repeat: {ascii(str(how))[1:-1][:1500]}")

    def skip(self, why: str) -> None:
        """Say what could not be tried on this machine."""
        self.skipped.append(f"{self.item}: {why}")

    def new(self, name: str) -> Path:
        """Return a new empty folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def shell(self, *arguments: object, cwd: Path, code: int | None = None, stdin: Any = None) -> Ran:
        """Run a command, which ends by itself, with an exit code of its own and without a traceback."""
        command = [sys.executable, "-m", "gramian", *map(os.fspath, arguments)]
        how = f"cd {cwd}; gramian {' '.join(map(os.fspath, arguments))}"
        ran = subprocess.run(
            command, cwd=cwd, env=environment(), stdin=stdin or subprocess.DEVNULL, capture_output=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        out, err = (text.decode("utf-8", "replace") for text in (ran.stdout, ran.stderr))
        allowed = (0, 1, 2) if code is None else (code,)
        self.check(
            ran.returncode in allowed, f"exit code {ran.returncode}, not of {allowed}: {err[-300:]}", how
        )
        self.check("Traceback" not in err, f"a traceback: {err[-300:]}", how)
        # A table on standard output keeps the names of its data.
        for text in (err,) if arguments[0] == "transform" else (out, err):
            odd = CONTROL.search(text)
            self.check(odd is None, f"prints the control character {odd and odd.group()!r}", how)
        return Ran(ran.returncode, out, err, how)


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    code: int
    out: str
    err: str
    how: str


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a server or command: without a token of ours, and with this package."""
    kept = {name: value for name, value in os.environ.items() if name != "GRAMIAN_TOKEN"}
    return kept | {"PYTHONPATH": SOURCE, "OPENBLAS_NUM_THREADS": "1"} | more


class Served:
    """A server in a process of its own.

    Attributes
    ----------
    url : str
    process : Popen
    """

    def __init__(self, log: Path, arguments: tuple[object, ...], **more: str) -> None:
        command = [sys.executable, "-m", "gramian", "serve", "--port", "0", "--no-open", "--no-token"]
        command += [os.fspath(one) if isinstance(one, Path) else str(one) for one in arguments]
        self.log, self.how = log, " ".join(command[1:])
        with open(log, "ab") as told:
            self.process = subprocess.Popen(
                command, env=environment(**more), stdout=subprocess.PIPE, stderr=told, cwd=log.parent
            )
        assert self.process.stdout is not None
        waiting = threading.Timer(PATIENCE, self.process.kill)
        waiting.start()
        line = self.process.stdout.readline().decode()  # ends also when the process does
        waiting.cancel()
        match = re.search(r"http://\S+?(?=/ )", line)
        if match is None:
            self.process.wait(PATIENCE)
        self.url = "" if match is None else match.group()

    def client(self, **options: Any) -> httpx.Client:
        """Return a visitor."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, if need be by force."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(attack: Attack, *arguments: object, **more: str) -> Iterator[Served]:
    """Run a server for the length of a block; then its standard error must tell of no failure."""
    server = Served(attack.new("server") / "log", arguments, **more)
    try:
        if not server.url:
            raise RuntimeError(f"the server did not start: {server.log.read_text()[-500:]}")
        yield server
        attack.check(server.process.poll() is None, "the server ended by itself", server.how)
    finally:
        server.end()
        check_log(attack, server)


def check_log(attack: Attack, server: Served) -> None:
    """Check that standard error tells of no failure of the server."""
    told = server.log.read_text("utf-8", "replace")
    attack.check("a request failed" not in told, f"the server failed: {told[-1200:]}", server.how)


def json_of(answer: httpx.Response) -> Any:
    """Return what an answer holds, or its text."""
    try:
        return answer.json()
    except ValueError:
        return answer.text


def table(rows: int = 12, names: tuple[str, ...] = ("a", "b", "c")) -> bytes:
    """Return a table as CSV."""
    values = np.random.default_rng(0).standard_normal((rows, len(names))) * np.arange(len(names), 0, -1)
    lines = [",".join(names), *(",".join(f"{value:.4f}" for value in row) for row in values)]
    return ("\n".join(lines) + "\n").encode()


def model_bytes(attack: Attack, model: Any = None) -> bytes:
    """Return a model file, of a PCA of three columns unless another one is given."""
    path = attack.new("model") / "m.gramian"
    X = np.random.default_rng(0).standard_normal((12, 3)) * [3, 2, 1]
    (PCA(2) if model is None else model).fit(X).save(path)
    return path.read_bytes()


# ------------------------------------------------------------------ stores


def refused_store(attack: Attack, store: Path | str, why: str) -> None:
    """Check that a folder is no store: the server ends with a message and exit code 1 or 2."""
    server = Served(attack.new("server") / "log", ("--store", store))
    server.end()
    told = server.log.read_text("utf-8", "replace")
    code = server.process.returncode
    attack.check(not server.url and code in (1, 2), f"{why}: the server started (code {code})", server.how)
    attack.check(told.strip() and "Traceback" not in told, f"{why}: it says {told[-300:]!r}", server.how)


def attack_foreign_folders(attack: Attack) -> None:
    """Folders that hold files of others are no stores, and stay as they are."""
    mine = attack.new("mine")
    (mine / "thesis.txt").write_text("mine")
    plans: dict[str, Callable[[Path], object]] = {
        "a file": lambda f: (f / "notes.txt").write_text("x"),
        "work/ with files": lambda f: ((f / "work").mkdir(), (f / "work" / "thesis.doc").write_text("x")),
        "items/ with files": lambda f: ((f / "items").mkdir(), (f / "items" / "m.txt").write_text("x")),
        "both with files": lambda f: [
            ((f / name).mkdir(), (f / name / "keep.txt").write_text("x")) for name in ("items", "work")
        ],
        "a link out of it": lambda f: [(f / "work").mkdir(), (f / "items").symlink_to(mine)],
        "a name like its own in a folder of others": lambda f: (
            (f / "work").mkdir(),
            (f / "work" / (32 * "a")).write_text("x"),
        ),
        "a link as marker": lambda f: (f / ".gramian-store").symlink_to(mine / "thesis.txt"),
        "a nested marker": lambda f: (f / ".gramian-store").write_text(100_000 * "["),
        "a pipe as marker": lambda f: os.mkfifo(f / ".gramian-store"),
        "a marker of another": lambda f: (f / ".gramian-store").write_text('{"format": "x", "version": 1}'),
    }  # fmt: skip
    whole = snapshot(mine)
    for what, make in plans.items():
        folder = attack.new("store")
        make(folder)
        before = snapshot(folder)
        refused_store(attack, folder, what)
        attack.check(not changes(before, folder), f"{what}: changed {changes(before, folder)}", "--store")
        attack.check(not changes(whole, mine), f"{what}: changed files outside of it", "--store")
    file = mine / "thesis.txt"
    for store, what in (
        ("", "an empty name"),
        (" ", "a blank"),
        (file, "a file"),
        (300 * "x", "a long name"),
    ):
        refused_store(attack, store, what)
    attack.check(not changes(whole, mine), "a file as store was changed", "--store thesis.txt")
    if os.geteuid() == 0:
        attack.skip("a read-only store, since permissions do not hold for root")
    else:
        folder = attack.new("store")
        folder.chmod(0o500)
        refused_store(attack, folder, "a read-only folder")
        folder.chmod(0o700)


DAMAGES: dict[str, Callable[[str], str]] = {
    "an unknown field": lambda text: text[:-1] + ',"new": 1}',
    "NaN": lambda text: re.sub(r'"bytes":\d+', '"bytes":NaN', text),
    "truncated": lambda text: text[: len(text) // 2],
    "an absolute file": lambda text: text[:-1] + ',"path":"/etc/hostname","given":true}',
    "a file outside": lambda text: re.sub(r'"suffix":"[^"]*"', '"suffix":"/../../x"', text),
    "another item's id": lambda text: re.sub(r'"id":"\w{32}', '"id":"' + 32 * "0", text),
    "a list": lambda text: "[1]",
    "nested": lambda text: 100_000 * "[" + 100_000 * "]",
    "not UTF-8": lambda text: text[:-1] + ',"name":"\udcff"}',
}


def attack_store(attack: Attack) -> None:
    """Neither two servers, kill -9 nor damaged descriptions make a store lose or touch anything."""
    store, outside = attack.new("parent") / "store", attack.new("outside")
    (outside / "x").write_text("mine")
    model, ids = model_bytes(attack), []
    killed = Served(attack.new("server") / "log", ("--store", store))
    try:
        one = killed.client()
        refused_store(attack, store, "a store that is in use")
        for _ in range(len(DAMAGES) + 1):
            ids.append(one.post(f"{API}/models", content=model, headers=BINARY).json()["id"])
        data = one.post(f"{API}/data", content=table(), headers=CSV).json()["id"]
    finally:
        killed.end(signal.SIGKILL)
    foreign = [store / "mine.txt", *(store / name / "mine.txt" for name in ("items", "work"))]
    for path in foreign:
        path.write_text("mine")
    (store / "items" / (32 * "e")).symlink_to(outside)
    (store / "work" / (32 * "e")).symlink_to(outside)
    with serving(attack, "--store", store) as server, server.client() as again:
        known = {item["id"] for item in again.get(f"{API}/models").json()}
        attack.check(set(ids) == known, "kill -9 and a restart lost models of the store", server.how)
        status = again.get(f"{API}/data/{data}").status_code
        attack.check(status == 200, f"after kill -9 a table answers {status}", server.how)
    damaged_store(attack, store, ids, foreign, outside)


def damaged_store(attack: Attack, store: Path, ids: list[str], foreign: list[Path], outside: Path) -> None:
    """Damage a description in each way, and let a server start with them."""
    for id, damage in zip(ids, DAMAGES.values(), strict=False):
        path = store / "items" / id / "item.json"
        path.write_bytes(damage(path.read_text()).encode("utf-8", "surrogateescape"))
    items = snapshot(store / "items")
    for _ in range(2):
        with serving(attack, "--store", store) as server, server.client() as client:
            got = client.get(f"{API}/models")
            known = {item["id"] for item in json_of(got)} if got.status_code == 200 else set()
            attack.check(known == {ids[-1]}, f"damaged descriptions: {got.status_code} {known}", server.how)
            for id in ids[:-1]:
                for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/file")):
                    status = client.request(method, f"{API}/models/{id}{path}").status_code
                    attack.check(status == 404, f"{method} of a damaged item: {status}", path)
    attack.check(not changes(items, store / "items"), f"items changed: {changes(items, store / 'items')}")
    for path in foreign:
        attack.check(path.is_file(), f"{path.relative_to(store)} of the user is gone from a store")
    attack.check((outside / "x").read_text() == "mine", "a link led out of the store")


# ------------------------------------------------------------------ requests


def attack_headers(attack: Attack) -> None:
    """Foreign hosts and origins get no answer, paths lead nowhere, and answers are quick."""
    with serving(attack) as server, server.client() as visitor:
        port = server.url.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "localhost.evil"):
            status = visitor.get("/", headers={"Host": host}).status_code
            attack.check(status == 400, f"Host {host!r} answers {status}")
        for origin in (
            "https://evil.example",
            "null",
            f"http://evil:{port}",
        ):
            sent = {"Origin": origin} | CSV
            status = visitor.post(f"{API}/data", content=table(), headers=sent).status_code
            attack.check(status == 403, f"Origin {origin!r} answers {status}")
        for method in ("POST", "PUT", "DELETE"):
            status = visitor.request(
                method, f"{API}/data", headers={"Sec-Fetch-Site": "cross-site"}
            ).status_code
            attack.check(status == 403, f"{method} of a page of another site answers {status}")
        two = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE) as raw:
            raw.sendall(two.encode())
            answer = raw.recv(100)
        attack.check(b" 400 " in answer, f"two Hosts answer {answer[:40]!r}")
        for path in (
            "/../../etc/passwd",
            "/static/..%2f..%2fapp.py",
            f"{API}/models/..%2f..%2fx",
            "/data/%00",
        ):
            got = visitor.get(path)
            attack.check(got.status_code in (401, 404, 422), f"{path} answers {got.status_code}")
            attack.check(
                not exposed(got.text, attack.folder), f"{path} names {exposed(got.text, attack.folder)}"
            )
        latency(attack, server)


def latency(attack: Attack, server: Served) -> None:
    """Check that answers over one connection do not wait for acknowledgements of TCP."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
    seconds = []
    for _ in range(60):
        began = time.perf_counter()
        connection.request("GET", API)
        connection.getresponse().read()
        seconds.append(time.perf_counter() - began)
    connection.close()
    middle = statistics.median(seconds)
    attack.check(middle < 0.02, f"an answer takes {1000 * middle:.0f} ms in the middle", f"60 GET {API}")


# ------------------------------------------------------------------ files


def attack_results(attack: Attack) -> None:
    """A folder of results from a stranger is read without any change, and links in it lead nowhere."""
    home = attack.new("home")
    (home / "t.csv").write_bytes(table())
    (home / "victim").write_text("mine")
    attack.shell("fit", "t.csv", "-o", "r", cwd=home, code=0)
    folder = home / "copy"
    shutil.copytree(home / "r", folder)
    (folder / "mine.txt").write_text("mine")
    (folder / "loadings.csv").unlink()
    (folder / "loadings.csv").symlink_to(home / "victim")
    before = snapshot(home)
    attack.shell("info", "copy", cwd=home)
    attack.shell("transform", "copy", "t.csv", cwd=home)
    attack.shell("report", "copy", "-o", attack.folder / "report.html", cwd=home)
    attack.shell("plot", "copy", "t.csv", "-o", attack.folder / "plots", cwd=home)
    with serving(attack, folder) as server, server.client() as visitor:
        visitor.get(f"{API}/models")
    attack.check(not changes(before, home), f"reading a folder changed {changes(before, home)}")
    ran = attack.shell("fit", "t.csv", "-o", "copy", cwd=home)
    attack.check((home / "victim").read_text() == "mine", "a fit wrote through a link", ran.how)
    ran = attack.shell("fit", "t.csv", "-o", "copy", cwd=home, code=0)
    attack.check((folder / "mine.txt").read_text() == "mine", "a fit removed a file", ran.how)


def attack_inputs(attack: Attack) -> None:
    """No command replaces what it reads, under whatever name, and names need not be text."""
    home = attack.new("home")
    (home / "t.csv").write_bytes(table())
    attack.shell("fit", "t.csv", "-o", "r", cwd=home, code=0)
    shutil.copy(home / "r" / "scores.csv", home / "in.csv")
    os.link(home / "t.csv", home / "hard.csv")
    (home / "soft.csv").symlink_to("t.csv")
    (home / "s").symlink_to("r")
    before = snapshot(home)
    for arguments, source in (
        (("fit", "r/scores.csv", "-o", "r"), None),
        (("fit", "r/scores.csv", "-o", "s"), None),
        (("transform", "r", "t.csv", "-o", "hard.csv"), None),
        (("transform", "r", "hard.csv", "-o", "soft.csv"), None),
        (("whiten", "t.csv", "-o", "hard.csv"), None),
        (("transform", "r", "-", "-o", "t.csv"), "t.csv"),
        (("transform", "r", "-", "-o", "hard.csv"), "t.csv"),
        (("fit", "-", "-o", "r"), "r/scores.csv"),
        (("transform", "r/model.gramian", "t.csv", "-o", "r/model.gramian"), None),
        (("report", "r", "t.csv", "-o", "t.csv"), None),
    ):
        with open(home / source, "rb") if source else open(os.devnull, "rb") as stdin:
            ran = attack.shell(*arguments, cwd=home, stdin=stdin)
        attack.check(ran.code in (1, 2), f"exit code {ran.code} where an input would be replaced", ran.how)
        attack.check(not changes(before, home), f"changed {changes(before, home)}", ran.how)
    if sys.platform == "linux":
        bad = os.fsdecode(b"\xff\x1b")
        for arguments in (
            ("fit", "t.csv", "-o", f"out{bad}"),
            ("transform", "r", "t.csv", "-o", f"x{bad}.csv"),
        ):
            attack.shell(*arguments, cwd=home, code=0)
        attack.shell("info", f"out{bad}", cwd=home, code=0)


def attack_interrupted_writes(attack: Attack) -> None:
    """SIGTERM at any moment of a write leaves the old file or the new one."""
    home = attack.new("home")
    values = np.random.default_rng(0).standard_normal((40_000, 12))
    np.save(home / "t.npy", values)
    attack.shell("fit", "t.npy", "-o", "r", cwd=home, code=0)
    (home / "out.csv").write_text("mine")
    env = environment()
    for delay in (0.0, 0.05, 0.2):
        for arguments, place in (
            (("transform", "r", "t.npy", "-o", "out.csv"), "."),
            (("fit", "t.npy", "-o", "r"), "r"),
        ):
            command = [sys.executable, "-m", "gramian", *arguments]
            process = subprocess.Popen(
                command, cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            how = f"kill -TERM of gramian {' '.join(arguments)} {delay} s after its first temporary file"
            end = time.monotonic() + PATIENCE
            while (
                process.poll() is None
                and time.monotonic() < end
                and not list((home / place).glob(".gramian-*"))
            ):
                time.sleep(0.005)
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=PATIENCE)[1].decode("utf-8", "replace")
            attack.check(
                process.returncode in (0, 143, -15), f"exit code {process.returncode}: {told[-200:]}", how
            )
            attack.check("Traceback" not in told, f"a traceback: {told[-300:]}", how)
        content = (home / "out.csv").read_bytes()
        whole = content == b"mine" or len(content.splitlines()) == len(values) + 1
        attack.check(whole, "a file was left half-written", "SIGTERM during transform -o out.csv")
        (home / "out.csv").write_text("mine")
    attack.shell("info", "r", cwd=home, code=0)


# ------------------------------------------------------------------ names


def hostile_table(path: Path) -> None:
    """Write a table whose columns, rows and labels have hostile names."""

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    rng = np.random.default_rng(0)
    lines = [",".join(["name", "kind", *map(quoted, HOSTILE)])]
    for row in range(10):
        values = map(str, rng.standard_normal(len(HOSTILE)).round(4))
        lines.append(",".join([quoted(f"{row}{HOSTILE[row % 5]}"), quoted(HOSTILE[row % 2]), *values]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def browser() -> str | None:
    """Return Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def dom(attack: Attack, program: str, url: str) -> str:
    """Return a page as it is once its scripts have run."""
    profile = attack.new("profile")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ]
    options += [
        "--virtual-time-budget=4000",
        "--dump-dom",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ]
    ran = subprocess.run([program, *options, url], capture_output=True, timeout=PATIENCE, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    return ran.stdout.decode("utf-8", "replace")


def attack_names(attack: Attack) -> None:
    """Names of columns, rows, labels and files are text: for terminals, in figures and on pages."""
    home = attack.new("home")
    hostile_table(home / "t.csv")
    name = f"t<img src=x onerror={CANARY}>\x1b[31m.csv"
    shutil.copy(home / "t.csv", home / name)
    read = ("--id", "name", "--label", "kind")
    attack.shell("fit", name, *read, "--report", "-o", "r", cwd=home, code=0)
    attack.shell("info", "r", cwd=home, code=0)
    attack.shell("info", "r", "--json", cwd=home, code=0)
    attack.shell("transform", "r", name, *read, cwd=home)
    on_terminal(attack, "transform", "r", name, *read, cwd=home)
    attack.shell("plan", name, *read, cwd=home, code=0)
    attack.shell("fit", name, "--label", HOSTILE[4], "-o", "x", cwd=home)
    attack.shell("fit", name, "--columns", "no\x1b[31m", "-o", "x", cwd=home)
    attack.shell("fit", "no\x1b[31m.csv", "-o", "x", cwd=home)
    attack.shell("fit", os.fsdecode(b"no\xff\x1b.csv"), "-o", "x", cwd=home)
    attack.shell("kernels", "test", "\x1b[31m", cwd=home)
    for kind, what in (("pdf", "scores,loadings"), ("svg", "scores,loadings,biplot"), ("png", "scores")):
        options = ("--format", kind, "-o", f"plots-{kind}")
        attack.shell("plot", "r", what, name, *read, *options, cwd=home, code=0)
    for page in (home / "r").glob("*.*"):
        if page.suffix in (".svg", ".html", ".md"):
            odd = CONTROL.search(page.read_text("utf-8"))
            attack.check(odd is None, f"{page.name} has {odd and odd.group()!r}", "gramian fit --report")
    from xml.etree import ElementTree

    for figure in [*home.glob("plots-svg/*.svg"), *home.glob("r/*.svg")]:
        try:
            tags = [element.tag.rpartition("}")[2].lower() for element in ElementTree.parse(figure).iter()]
            attack.check("script" not in tags, f"{figure.name} has a script", "gramian plot --format svg")
        except ElementTree.ParseError as error:
            attack.check(False, f"{figure.name} is no XML: {error}", "gramian plot --format svg")
    on_pages(attack, home, name)


def on_terminal(attack: Attack, *arguments: str, cwd: Path) -> None:
    """Run a command whose standard output is a terminal: a table of a stranger may not change it."""
    try:
        ours, theirs = os.openpty()
    except (AttributeError, OSError):
        attack.skip("a table on a terminal")
        return
    command, out = [sys.executable, "-m", "gramian", *arguments], b""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    with suppress(OSError):  # ends when the command has
        while more := os.read(ours, 65536):
            out += more
    process.wait(PATIENCE)
    os.close(ours)
    text = out.decode("utf-8", "replace").replace("\r\n", "\n")
    odd = CONTROL.search(text)
    attack.check(process.returncode == 0 and "PC1" in text, f"exit code {process.returncode}: {text[-200:]}")
    attack.check(odd is None, f"a terminal gets {odd and odd.group()!r}", f"gramian {' '.join(arguments)}")


def on_pages(attack: Attack, home: Path, name: str) -> None:
    """Open pages that show hostile names in a browser: no script of theirs may run."""
    program = browser()
    if program is None:
        attack.skip("pages in a browser, without Chromium")
        return
    planted = home / "planted.html"
    planted.write_text(f"<p>{HOSTILE[0]}</p>")
    attack.check(RAN in dom(attack, program, planted.as_uri()), "the canary cannot sing: the check is void")
    pages = [home / "r" / "report.html", *home.glob("plots-svg/*.svg")]
    attack.check(len(pages) > 2, f"there are only the pages {pages}")
    for page in pages:
        attack.check(RAN not in dom(attack, program, page.as_uri()), f"{page.name} runs a script of a name")
    with serving(attack, f"{home / name}", home / "r") as server, server.client() as visitor:
        data = visitor.get(f"{API}/data").json()[0]["id"]
        model = visitor.get(f"{API}/models").json()[0]["id"]
        query = f"?data={data}"
        for path in ("/", f"/data/{data}", f"/models/{model}{query}"):
            shown = dom(attack, program, server.url + path)
            attack.check("<body" in shown and len(shown) > 500, f"{path} was not shown")
            attack.check(RAN not in shown and '<img src="x"' not in shown, f"{path} runs a script of a name")
        got = visitor.get(
            f"{API}/models/{model}/report", params={"data": data, "id": "name", "label": "kind"}
        )
        attack.check(got.status_code == 200, f"the report answers {got.status_code} {got.text[:200]}")
        (home / "served.html").write_bytes(got.content)
        shown = dom(attack, program, (home / "served.html").as_uri())
        attack.check(RAN not in shown, "the report of the server runs a script of a name")


def attack_names_over_http(attack: Attack) -> None:
    """Hostile names in uploads: answers are JSON, pages show text, and nothing fails."""
    path = attack.new("home") / "t.csv"
    hostile_table(path)
    with serving(attack) as server, server.client() as visitor:
        for name in (*HOSTILE, "\ud800".encode("utf-8", "surrogatepass"), "../../x", "x" * 200, "\u202e"):
            query = {"name": name} if isinstance(name, str) else {}
            extra = "?name=%ED%A0%80" if isinstance(name, bytes) else ""
            got = visitor.post(f"{API}/data{extra}", params=query if not extra else None,
                               content=path.read_bytes(), headers=CSV)  # fmt: skip
            attack.check(got.status_code in (201, 422), f"name {name!r}: {got.status_code} {got.text[:200]}")
        rows: tuple[bytes, ...] = (
            b'[{"\\ud800": 1, "b": 2}, {"\\ud800": 3, "b": 5}]',
            b'{"columns": ["\\ud800", "\\u0000"], "values": [[1, 2], [3, 5]]}',
            b'[{"constructor": 1, "__proto__": 2}, {"constructor": 3, "__proto__": 5}]',
            b'{"columns": [1, null], "values": [[1, 2], [3, 5]]}',
            b'{"columns": ["a", "a"], "values": [[1, 2], [3, 5]]}',
            b'{"columns": {"a": 1}, "values": [[1, 2]]}',
            b'{"values": 7}', b"[[]]", b"[{}]", b'"x"', b"[[1e999]]", b"[[NaN]]", 5000 * b"[" + 5000 * b"]",
            b'[[1' + 5000 * b"0" + b"]]", b"[[true, false]]",
        )  # fmt: skip
        for body in rows:
            got = visitor.post(f"{API}/data", content=body, headers=JSON)
            attack.check(got.status_code in (201, 422), f"{body[:80]!r}: {got.status_code} {got.text[:200]}")
            if got.status_code == 201:
                id = got.json()["id"]
                for place in (
                    f"/data/{id}",
                    f"{API}/data/{id}",
                    f"{API}/data",
                    "/",
                ):
                    status = visitor.get(place, headers=PEOPLE).status_code
                    attack.check(status in (200, 422), f"{place} of {body[:80]!r}: {status}")
                fit = {"data": id, "name": "\x00\x1b<b>", "parameters": {"n_components": 1}}
                got = visitor.post(f"{API}/jobs", json=fit)
                attack.check(
                    got.status_code in (202, 422, 429),
                    f"fit of {body[:80]!r}: {got.status_code} {got.text[:200]}",
                )


# ------------------------------------------------------------------ models and uploads


def retold(content: bytes, change: Callable[[Any], object]) -> bytes:
    """Return a model file whose description was changed, with a checksum that fits."""
    import safetensors.numpy

    from gramian.models import model_file

    arrays = safetensors.numpy.load(content)
    size = int.from_bytes(content[:8], "little")
    entry = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["gramian"])
    entry.pop("checksum")
    change(entry)
    return b"".join(map(bytes, model_file.sealed(entry, arrays)))


def tampered(attack: Attack) -> Iterator[tuple[str, bytes]]:
    """Yield model files that are damaged or false."""
    content = model_bytes(attack)
    kernel = model_bytes(attack, KernelPCA(2, kernel="rbf", gamma=0.5))
    nested: Any = []
    for _ in range(300):
        nested = [nested]

    def parameters(**values: Any) -> Callable[[Any], object]:
        return lambda entry: entry["content"]["parameters"].update(values)

    def state(**values: Any) -> Callable[[Any], object]:
        return lambda entry: entry["content"]["state"].update(values)

    yield "the same", retold(content, lambda entry: None)
    yield "truncated", content[: len(content) // 2]
    yield "one byte", content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
    yield "pickle", b"\x80\x04cos\nsystem\n(S'touch /tmp/canary'\ntR."
    yield "long header", b"\xff" * 8 + content[8:]
    yield "nested parameter", retold(content, parameters(n_components=nested))
    yield "unknown parameter", retold(content, parameters(evil=1))
    yield "text parameter", retold(content, parameters(n_components="__import__('os')"))
    yield "object parameter", retold(content, parameters(random_state={"$": "os.system"}))
    yield "huge parameter", retold(content, parameters(n_components=10**30))
    yield "unknown state", retold(content, state(evil=1))
    yield "a method", retold(content, state(transform={"$": "array", "value": "state._center"}))
    yield "no state", retold(content, lambda entry: entry["content"].pop("state"))
    yield "another kind", retold(content, lambda entry: entry["content"].update({"$": "KernelPCA"}))
    yield "an unknown kind", retold(content, lambda entry: entry["content"].update({"$": "os.system"}))
    yield "content of another type", retold(content, lambda entry: entry.update(content=[1]))
    yield "a newer format", retold(content, lambda entry: entry.update(format_version=99))
    yield "a kernel that is code", retold(kernel, parameters(kernel="__import__('os').system('id')"))
    yield "a kernel of great power", retold(kernel, parameters(kernel="poly(degree=1e9)"))
    names = json.loads(json.dumps(list(HOSTILE[:3])))
    yield "names", retold(content, state(feature_names_in_=names))


def attack_models(attack: Attack) -> None:
    """Tampered models end in an answer below 500 or in a message, and run no code."""
    home = attack.new("home")
    (home / "t.csv").write_bytes(table())
    with serving(attack) as server, server.client() as visitor:
        for what, content in tampered(attack):
            got = visitor.post(f"{API}/models?name=x", content=content, headers=BINARY)
            attack.check(got.status_code < 500, f"{what}: {got.status_code} {got.text[:300]}", "POST /models")
            attack.check(not exposed(got.text, attack.folder), f"{what}: {got.text[:300]}", "POST /models")
            attack.check(what != "the same" or got.status_code == 201, f"{what}: {got.text[:300]}")
            if got.status_code == 201:
                id = got.json()["id"]
                for method, path in (
                    ("GET", "/figures"),
                    ("GET", "/code"),
                    ("POST", "/transform"),
                ):
                    sent = {"content": table(), "headers": CSV} if method == "POST" else {}
                    got = visitor.request(method, f"{API}/models/{id}{path}", **sent)
                    attack.check(got.status_code < 500, f"{what}{path}: {got.status_code} {got.text[:300]}")
                    attack.check(not exposed(got.text, attack.folder), f"{what}{path}: {got.text[:300]}")
                status = visitor.get(f"/models/{id}", headers=PEOPLE).status_code
                attack.check(status == 200, f"{what}: its page answers {status}")
            elif what in ("nested parameter", "a kernel that is code", "another kind", "pickle", "a method"):
                (home / "m.gramian").write_bytes(content)
                attack.shell("info", "m.gramian", cwd=home)
                attack.shell("transform", "m.gramian", "t.csv", cwd=home)
    attack.check(not Path("/tmp/canary").exists(), "a model ran code")


def hdf5(change: Callable[[h5py.File], object]) -> bytes:
    """Return an HDF5 file."""
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        change(file)
    return stream.getvalue()


def annotated(make: Callable[[h5py.File], object]) -> bytes:
    """Return an .h5ad file whose table of numbers is made by a function."""

    def write(file: h5py.File) -> None:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        for name, count in (("obs", 4), ("var", 3)):
            group = file.create_group(name)
            group.attrs.update(
                {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"}
            )
            group.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            group.create_dataset(
                "_index", data=[f"{name}{i}" for i in range(count)], dtype=h5py.string_dtype()
            )
        make(file)

    return hdf5(write)


def numpy_file(values: Any) -> bytes:
    """Return an .npy file."""
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def uploads(attack: Attack, secret: Path) -> Iterator[tuple[str, bytes, dict[str, str], tuple[int, ...]]]:
    """Yield what is uploaded, and the statuses that it may have."""
    X = np.random.default_rng(0).standard_normal((4, 3))
    taken, not_taken = (201,), (400, 413, 422)

    def matlab(values: Any) -> bytes:
        stream = io.BytesIO()
        scipy.io.savemat(stream, {"X": values})
        return stream.getvalue()

    def sparse(values: Any) -> bytes:
        stream = io.BytesIO()
        sp.save_npz(stream, sp.csr_matrix(values))
        return stream.getvalue()

    def parquet(**columns: Any) -> bytes:
        stream = io.BytesIO()
        pq.write_table(pa.table(columns), stream)
        return stream.getvalue()

    def zipped(**files: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return stream.getvalue()

    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((4, 3), "f8")
        layout[:] = h5py.VirtualSource(str(secret), "X", (4, 3))
        file.create_virtual_dataset("X", layout)

    raw = secret.with_suffix(".raw")
    header = numpy_file(np.zeros(2)).replace(b"(2,), ", b"(9999999999999,), ")
    bad = sp.csr_matrix(X)
    bad.indices[0] = 1000
    yield "HDF5", annotated(lambda file: file.create_dataset("X", data=X)), BINARY, taken
    yield (
        "external storage",
        annotated(lambda file: file.create_dataset("X", (4, 3), "f8", external=[(str(raw), 0, 96)])),
        BINARY,
        not_taken,
    )
    yield "virtual storage", annotated(virtual), BINARY, not_taken
    yield (
        "an external link",
        annotated(lambda file: file.__setitem__("X", h5py.ExternalLink(str(secret), "X"))),
        BINARY,
        not_taken,
    )
    yield "MATLAB 5", matlab(X), BINARY, taken
    yield "half of MATLAB 5", matlab(X)[:150], BINARY, not_taken
    yield "sparse", sparse(X), BINARY, taken
    yield (
        "sparse, false index",
        zipped(
            **{
                f"{name}.npy": numpy_file(value)
                for name, value in (
                    ("indices", bad.indices),
                    ("indptr", bad.indptr),
                    ("data", bad.data),
                    ("shape", np.array(bad.shape)),
                    ("format", np.array(b"csr")),
                )
            }
        ),
        BINARY,
        not_taken,
    )
    yield "lists in Parquet", parquet(x=[[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]]), BINARY, (201, 422)
    yield "ragged lists", parquet(x=[[1.0], [3.0, 4.0], []]), BINARY, not_taken
    yield "objects", numpy_file(np.array([{}, 1], dtype=object)), BINARY, not_taken
    yield "a false shape", header, BINARY, not_taken
    yield "half a zip", zipped(a=b"x" * 1000)[:50], BINARY, not_taken
    yield "names in a zip", zipped(**{"../../x.png": b"x", "/etc/x.png": b"x"}), BINARY, not_taken
    yield (
        "a picture that is none",
        b"\x89PNG\r\n\x1a\n" + 100 * b"\0",
        BINARY,
        not_taken,
    )
    yield "a very wide picture", huge_png(50_000, 50_000), BINARY, not_taken
    yield "an unknown type", b"x", {"Content-Type": "application/x-evil"}, (415,)
    yield "pickle", b"\x80\x04cos\nsystem\n(S'touch /tmp/canary'\ntR.", BINARY, not_taken
    yield "SQLite", b"SQLite format 3\0" + 100 * b"\0", BINARY, not_taken
    yield "binary", bytes(range(256)) * 20, BINARY, not_taken
    yield "a bomb of zeros", zipped(**{"X.npy": zeros(150_000_000)}), BINARY, (413,)
    yield "a wide table", wide_table(), CSV, (413, 422)
    yield "a bomb in Parquet", long_parquet(), BINARY, (413,)


def huge_png(width: int, height: int) -> bytes:
    """Return a picture that says it is huge."""
    import struct
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    size = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", size)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


def zeros(count: int) -> bytes:
    """Return an .npy file of so many zeros in float64, as a table of four columns."""
    stream = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": (count // 4, 4)}
    np.lib.format.write_array_header_1_0(stream, head)
    return stream.getvalue() + bytes(8 * count)


def wide_table() -> bytes:
    """Return a table of a million columns."""
    return b",".join(b"c%d" % place for place in range(1_000_000)) + b"\n" + b"1," * 999_999 + b"1\n"


def long_parquet() -> bytes:
    """Return a small file of 400 million numbers."""
    stream = io.BytesIO()
    group = pa.table({"a": np.zeros(4_000_000), "b": np.ones(4_000_000)})
    with pq.ParquetWriter(stream, group.schema, compression="zstd") as writer:
        for _ in range(50):
            writer.write_table(group, row_group_size=4_000_000)
    return stream.getvalue()


def attack_uploads(attack: Attack) -> None:
    """Files that name others, lie about their size or explode get 4xx, and no answer names a place."""
    folder = attack.new("secret")
    secret = folder / "secret.h5"
    secret.write_bytes(hdf5(lambda file: file.create_dataset("X", data=np.full((4, 3), 41.0))))
    secret.with_suffix(".raw").write_bytes(np.full(12, 42.0).tobytes())
    before = snapshot(folder)
    with serving(attack) as server, server.client() as visitor:
        for what, content, headers, statuses in uploads(attack, secret):
            for query in ("", "?header=1"):
                began = time.monotonic()
                got = visitor.post(f"{API}/data{query}", content=content, headers=headers)
                seconds = time.monotonic() - began
                allowed = (*statuses, 201)
                how = f"POST /data{query} of {len(content):,} bytes: {what}"
                attack.check(got.status_code in allowed, f"{what}: {got.status_code} {got.text[:300]}", how)
                attack.check(not exposed(got.text, attack.folder), f"{what}: {got.text[:300]}", how)
                attack.check(
                    not re.search(r"\b4[12]\.0", got.text), f"{what} shows a file of the server", how
                )
                attack.check(seconds < 40, f"{what} took {seconds:.0f} s", how)
                if len(content) > 1 << 20:
                    break
            attack.check(visitor.get(API).status_code == 200, f"no answer after {what}")
        too_long = {"Content-Length": str(300 << 20)} | CSV
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
        connection.request("POST", f"{API}/data", body=b"", headers=too_long)
        status = connection.getresponse().status
        attack.check(status == 413, f"300 MiB that are announced answer {status}")
        connection.close()
        data = visitor.post(f"{API}/data", content=table(), headers=CSV).json()["id"]
        hostile_fits(attack, visitor, data)
    attack.check(not changes(before, folder), "a file of the server was changed")
    attack.check(not Path("/tmp/canary").exists(), "an upload ran code")


def hostile_fits(attack: Attack, visitor: httpx.Client, data: str) -> None:
    """Send fits with parameters of other types, and bodies that are nested or no JSON."""
    hostile: list[dict[str, Any]] = [
        {"n_components": 10**30},
        {"n_components": {"a": 1}},
        {"random_state": "x"},
    ]
    hostile += [{"memory_limit": 1}, {"solver": "evil"}, {"tol": "NaN"}, {"kernel": "__import__('os')"}]
    for parameters in hostile:
        for estimator in ("PCA", "KernelPCA", "Whitener", "FaceSpace"):
            fit = {"data": data, "estimator": estimator, "parameters": parameters}
            got = visitor.post(f"{API}/plans", json=fit)
            attack.check(got.status_code in (200, 413, 422), f"{fit}: {got.status_code} {got.text[:300]}")
            attack.check(not exposed(got.text, attack.folder), f"{fit}: {got.text[:300]}")
    levels = (50, 150, 300, 900, 100_000)
    nested = [f'{{"data": "{data}", "parameters": {{"tol": {n * "["}{n * "]"}}}}}' for n in levels]
    for path in ("/plans", "/jobs", "/kernels"):
        for body in (
            *nested,
            "{",
            "[]",
            "null",
            '"x"',
            '{"kernel": "rbf\\ud800"}',
            "\ufeff{}",
        ):
            got = visitor.post(f"{API}{path}", content=body.encode(), headers=JSON)
            how = f"POST {path} {body[:100]}"
            attack.check(got.status_code < 500, f"{got.status_code} {got.text[:200]}", how)
            attack.check(not exposed(got.text, attack.folder), got.text[:300], how)


# ------------------------------------------------------------------ all of them


ATTACKS: dict[str, Callable[[Attack], None]] = {
    "foreign-folders": attack_foreign_folders,
    "store": attack_store,
    "headers": attack_headers,
    "results": attack_results,
    "inputs": attack_inputs,
    "interrupted-writes": attack_interrupted_writes,
    "names": attack_names,
    "names-over-http": attack_names_over_http,
    "models": attack_models,
    "uploads": attack_uploads,
}


def main(arguments: list[str] | None = None) -> int:
    """Attack, and print what is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # servers are stopped then too
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gramian-attack-", ignore_cleanup_errors=True) as folder:
        attack = Attack(Path(folder).resolve())
        for item in asked.items:
            attack.item, began, before = item, time.perf_counter(), len(attack.findings)
            try:
                ATTACKS[item](attack)
            except Exception as error:  # an attack that cannot go on is a finding like others
                attack.check(False, f"did not end: {type(error).__name__}: {str(error)[:500]}")
            if sys.stderr.isatty():
                told = f"{len(attack.findings) - before} findings, {time.perf_counter() - began:.0f} s"
                print(f"{item}: {told}", file=sys.stderr)
    for what in attack.skipped:
        print(f"not tried  {what}")
    print(f"{attack.checked:,} statements checked in {time.perf_counter() - start:.0f} s.")
    print(f"{len(attack.findings)} findings.")
    return 1 if attack.findings else 0


if __name__ == "__main__":
    sys.exit(main())
