"""The server as a process: started, killed, started again, and refused where it would let strangers in."""

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
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    match = re.match(r"gramian answers at (http://127\.0\.0\.1:\d+/\S*) until Ctrl-C", first)
    assert match, first + process.stderr.read()
    return process, match[1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.walk
def test_models_outlive_a_kill(tmp_path):
    PCA(3).fit(X).save(tmp_path / "m.gramian")
    content, store = (tmp_path / "m.gramian").read_bytes(), tmp_path / "store"
    process, url = started("--store", str(store))
    with process, httpx.Client(trust_env=False, timeout=30, follow_redirects=True) as client:
        api = url.partition("?")[0] + "api/v1"
        assert client.get(f"{api}/models").status_code == 401
        assert client.get(url).status_code == 200  # the address has the token, which sets a cookie
        kept = client.post(f"{api}/models?name=wine", content=content, headers=BINARY).json()
        second = [sys.executable, "-m", "gramian", "serve", "--no-open", "--port", "0", "--store", str(store)]
        ran = subprocess.run(second, capture_output=True, text=True)
        assert (ran.returncode, "is in use by another server" in ran.stderr) == (1, True)
        process.kill()
    process, url = started("--store", str(store), "--no-token", str(tmp_path / "m.gramian"))
    with process, httpx.Client(base_url=f"{url}api/v1", trust_env=False, timeout=30) as client:
        assert [model["given"] for model in client.get("/models").json()] == [True, False]
        scores = client.post(f"/models/{kept['id']}/transform", json=X[:2].tolist()).json()
        np.testing.assert_allclose(scores["values"], PCA(3).fit(X).transform(X[:2]))
        assert client.delete(f"/models/{kept['id']}").status_code == 204
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(20) == 130
    assert "Traceback" not in told
    assert sorted(path.name for path in store.iterdir()) == [".gramian-store", "items", "work"]
    assert list((store / "work").iterdir()) == []


def test_the_token_is_new_or_given_or_none(gramian, monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    monkeypatch.setattr("gramian.app.server.app.Listener.run", lambda self, sockets: self._ready(self.url))
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    addresses = [gramian("serve --port 0").out.split()[3] for _ in range(2)]
    assert [re.sub(r"\d+/", "0/", one)[:26] for one in addresses] == 2 * ["http://127.0.0.1:0/?token="]
    assert opened == addresses
    assert len({one.partition("token=")[2] for one in addresses}) == 2
    assert "?token" not in gramian("serve --port 0 --no-open --no-token").out
    assert opened == addresses
    monkeypatch.setenv("GRAMIAN_TOKEN", 20 * "x")
    ran = gramian("serve --port 0 --no-open --host 0.0.0.0")
    assert (f"?token={20 * 'x'} " in ran.out, "put TLS before it" in ran.err) == (True, True)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_server(gramian, monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" has it ignored
    try:
        ran = gramian("serve --no-open --port 0")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.code, "Traceback" in ran.err) == (130, False)


def test_what_is_refused(gramian, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for options, code, text in (
            ("--no-token --host 0.0.0.0", 2, "token is missing, but the host 0.0.0.0"),
            ("--no-token --allow-host pca.example.org", 2, "the host pca.example.org"),
            (f"--no-token --token {20 * 'x'}", 2, "Leave out one option."),
            ("--token short", 2, "5 characters; at least 16 are required"),
            ("none.gramian", 1, "no such file"),
            ("--port 99999", 2, "from 0 to 65535"),
            ("--store file", 1, "is not a folder. Name a new or an empty folder"),
            ("--store .", 1, "contains file but no .gramian-store"),
            ("--store ''", 2, "not a folder name"),
            (f"--port {taken.getsockname()[1]}", 2, "is not available"),
        ):
            gramian.refuses(f"serve --no-open {options}", code, text)
