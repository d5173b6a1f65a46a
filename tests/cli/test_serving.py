"""The server as a process: started, killed, started again, and refused where it would let strangers in."""

import json
import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from gramian import PCA
from served import BINARY, X, httpx


def started(*arguments):
    command = [sys.executable, "-m", "gramian", "serve", "--no-open", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    match = re.search(r'"message": "gramian answers at (http://127\.0\.0\.1:\d+)/ until Ctrl-C', first)
    assert match, first + process.stderr.read()
    return process, match[1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.walk
def test_models_outlive_a_kill(tmp_path):
    PCA(3).fit(X).save(tmp_path / "m.gramian")
    content, store = (tmp_path / "m.gramian").read_bytes(), tmp_path / "store"
    process, url = started("--store", str(store))
    with process, httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        kept = client.post("/api/v1/models?name=wine", content=content, headers=BINARY).json()
        own = client.post("/api/v1/models?keep=false", content=content, headers=BINARY).json()
        assert (kept["whose"], own["whose"]) == ("kept", "yours")
        cookies = dict(client.cookies)
        second = [sys.executable, "-m", "gramian", "serve", "--no-open", "--port", "0", "--store", str(store)]
        ran = subprocess.run(second, capture_output=True, text=True)
        assert (ran.returncode, "is in use by another server" in ran.stderr) == (1, True)
        process.kill()
    # A visitor is known at the port where they were.
    again = ("--port", url.rpartition(":")[2], "--api-only")
    process, url = started("--store", str(store), *again, str(tmp_path / "m.gramian"))
    with process:
        with httpx.Client(base_url=url, trust_env=False, timeout=30) as other:
            assert [model["whose"] for model in other.get("/api/v1/models").json()] == ["given", "kept"]
            assert other.get(f"/api/v1/models/{own['id']}").status_code == 404
            scores = other.post(f"/api/v1/models/{kept['id']}/transform", json=X[:2].tolist()).json()
            np.testing.assert_allclose(scores["values"], PCA(3).fit(X).transform(X[:2]))
            assert other.get("/").status_code == 404
        with httpx.Client(base_url=url, trust_env=False, timeout=30, cookies=cookies) as client:
            assert client.get(f"/api/v1/models/{own['id']}").status_code == 200
            assert client.post(f"/api/v1/models/{own['id']}/keep").json()["whose"] == "kept"
            assert client.post(f"/api/v1/models/{kept['id']}/keep").status_code == 409
            assert client.get(f"/api/v1/models/{own['id']}").json()["whose"] == "kept"
            assert client.delete(f"/api/v1/models/{kept['id']}").status_code == 204
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(20) == 130
    assert '"route": "/api/v1/{kinds}", "status": 200' in told
    assert "Traceback" not in told
    assert json.loads(told.splitlines()[-1])["message"] == "stopped"
    assert sorted(path.name for path in store.iterdir()) == [".gramian-store", "models", "visitors", "work"]
    assert list((store / "work").iterdir()) == []


NOISE = """
import gc, threading, warnings

class Broken:
    def __del__(self):
        raise ValueError("of a destructor")

def noisy(startup):
    async def begin(state):
        warnings.warn("of the server")
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        Broken()
        gc.collect()
        await startup(state)
    return begin
"""


@pytest.mark.walk
def test_standard_error_is_lines_of_json(tmp_path):
    (tmp_path / "noise.py").write_text(NOISE)
    (tmp_path / "run.py").write_text(
        "import noise\n"
        "from gramian.cli import main\n"
        "from gramian.service.sessions import State\n"
        "State.begin = noise.noisy(State.begin)\n"
        "raise SystemExit(main())\n"
    )
    command = [sys.executable, str(tmp_path / "run.py"), "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or "gramian answers" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        lines += process.stderr.readlines()
    assert process.returncode == 130
    told = [json.loads(line) for line in lines]
    texts = "\n".join(one["message"] + one.get("traceback", "") for one in told)
    for text in ("of the server", "ZeroDivisionError", "of a destructor", "stopped"):
        assert text in texts


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_server_without_plain_text(gramian, monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    monkeypatch.setattr("gramian.service.logs.log_as_json", lambda: None)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" has it ignored
    try:
        ran = gramian("serve", "--no-open", "--port", "0")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.code, ran.err) == (130, "")


def test_what_is_refused(gramian, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    for *options, what in (
        ("--host", "0.0.0.0", "the host 0.0.0.0"),
        ("--allow-host", "pca.example.org", "the host pca.example.org"),
        ("--behind-proxy", "a proxy"),
        ("--proxy-address", "10.0.0.1", "a proxy"),
    ):
        ran = gramian("serve", *options)
        told = f"token is missing, but {what} admits other machines. Give one, or set GRAMIAN_TOKEN."
        assert (ran.code, told in ran.err) == (2, True)
    ran = gramian("serve", "--token", "short")
    assert (ran.code, "5 characters; at least 16 are required" in ran.err) == (2, True)
    ran = gramian("serve", "--token", 20 * "x", "--proxy-address", "here")
    assert (ran.code, "here is not an address" in ran.err) == (2, True)
    ran = gramian("serve", tmp_path / "none.gramian")
    assert (ran.code, "no such file" in ran.err) == (1, True)
    ran = gramian("serve", "--port", "99999")
    assert (ran.code, "from 0 to 65535" in ran.err) == (2, True)
    (tmp_path / "file").write_text("mine")
    ran = gramian("serve", "--no-open", "--store", tmp_path / "file")
    assert (ran.code, "is not a folder. Name a new or an empty folder" in ran.err) == (1, True)
    ran = gramian("serve", "--no-open", "--store", tmp_path)
    assert (ran.code, "contains file but no .gramian-store" in ran.err) == (1, True)
    ran = gramian("serve", "--no-open", "--store", "")
    assert (ran.code, "not a folder name" in ran.err) == (2, True)
    ran = gramian("serve", "--no-open", "--store-bytes", "1GB")
    assert (ran.code, "Give --store DIR too" in ran.err) == (2, True)
    ran = gramian("serve", "--no-open", "--store", tmp_path / "new", "--store-bytes", "much")
    assert (ran.code, "is not an amount" in ran.err) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = gramian("serve", "--no-open", "--port", taken.getsockname()[1])
    assert (ran.code, "is not available" in ran.err) == (2, True)
