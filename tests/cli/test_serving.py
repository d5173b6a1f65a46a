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
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    found = re.match(r"gramian answers at (http://127\.0\.0\.1:\d+)/ until Ctrl-C", first)
    assert found, first + process.stderr.read()
    return process, found[1]


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
        process.kill()
    process, url = started("--store", str(store), "--api-only", str(tmp_path / "m.gramian"))
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
            assert client.get(f"/api/v1/models/{own['id']}").status_code == 404
            assert client.delete(f"/api/v1/models/{kept['id']}").status_code == 204
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(20) == 130
    assert '"route": "/api/v1/{kinds}", "status": 200' in told
    assert "Traceback" not in told
    assert sorted(path.name for path in store.iterdir()) == ["models", "visitors"]


def test_what_is_refused(gramian, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    ran = gramian("serve", "--host", "0.0.0.0")
    assert (ran.code, "there is no token. Give --token" in ran.err) == (2, True)
    ran = gramian("serve", tmp_path / "none.gramian")
    assert (ran.code, "no such file" in ran.err) == (1, True)
    ran = gramian("serve", "--port", "99999")
    assert (ran.code, "from 0 to 65535" in ran.err) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = gramian("serve", "--no-open", "--port", taken.getsockname()[1])
    assert (ran.code, "cannot be listened at" in ran.err) == (2, True)
