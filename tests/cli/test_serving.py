"""The server as a process: started, killed, started again, and refused where it would let strangers in."""

import re
import signal
import socket
import subprocess
import sys

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
def test_models_outlive_a_kill(tmp_path):
    PCA(3).fit(X).save(tmp_path / "m.gramian")
    store = tmp_path / "store"
    process, url = started("--store", str(store))
    with process:
        content = (tmp_path / "m.gramian").read_bytes()
        made = httpx.post(
            f"{url}/api/v1/models", content=content, headers=BINARY, trust_env=False, timeout=30
        )
        assert made.status_code == 201
        process.kill()
    process, url = started("--store", str(store), "--api-only", str(tmp_path / "m.gramian"))
    with process:
        models = httpx.get(f"{url}/api/v1/models", trust_env=False, timeout=30).json()
        assert [model["whose"] for model in models] == ["given", "kept"]
        assert httpx.get(f"{url}/", trust_env=False, timeout=30).status_code == 404
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(20) == 130
    assert '"route": "/api/v1/{kinds}", "status": 200' in told
    assert "Traceback" not in told


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
