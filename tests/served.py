"""A server in a thread with what it is asked about, and clients: ``from served import serving``."""

import importlib
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from drawn import drawn_faces

app = pytest.importorskip("gramian.app.server.app", reason='no server: pip install "gramian[app]"')
create_app, Limits = app.create_app, app.Limits
Worker = importlib.import_module("gramian.app.server.state").Worker
httpx = pytest.importorskip("httpx", reason="httpx, which asks the server, is not installed")

X = np.random.default_rng(0).standard_normal((60, 5)) * [5, 4, 3, 2, 1]
FACES = drawn_faces(12, 4, size=(24, 28))
BINARY = {"Content-Type": "application/octet-stream"}
CSV = {"Content-Type": "text/csv"}


def client_of(server, **options):
    return httpx.Client(base_url=server.url.rstrip("/"), timeout=120, trust_env=False, **options)


@contextmanager
def serving(*sources, limits=None, **options):
    made = create_app(*sources, limits=limits or Limits(fits=1), **options)
    answers = threading.Event()
    server = app.Listener(made, "127.0.0.1", 0, lambda url: answers.set())
    thread = threading.Thread(target=server.listen)
    thread.start()
    try:
        while not answers.wait(0.1):
            assert thread.is_alive(), "the server did not start"
        server.app, server.thread = made, thread
        yield server
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def warm_fits(server):
    """Give the process of a fit that has ended well to the next fit of this server: a start takes 2 s."""
    start, end, idle = Worker.start, Worker.end, []

    async def started(memory, threads=1):
        ours = (
            threading.current_thread() is server.thread
            and memory == server.app.state.gramian.limits.fit_memory
        )
        return idle.pop() if ours and idle else await start(memory, threads)

    async def ended(worker):
        if worker.usable and threading.current_thread() is server.thread:
            idle.append(worker)
        else:
            await end(worker)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Worker, "start", started)
        patched.setattr(Worker, "end", ended)
        yield
    server.app.state.gramian._idle += idle  # it ends them with its own


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def fitted(client, fit):
    """Return the facts of the model of a fit, once it has ended."""
    got = client.post("/api/v1/jobs", json=fit)
    assert got.status_code == 202, got.text
    place = f"/api/v1/jobs/{got.json()['id']}"
    until(lambda: client.get(place).json()["state"] != "running")
    job = client.get(place).json()
    assert job["state"] == "done", job["error"]
    return client.get(f"/api/v1/models/{job['model']}").json()
