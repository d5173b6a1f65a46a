"""What must not come in does not, in good time, and leaves nothing behind."""

import asyncio
import gzip
import io
import os
import signal
import socket
import struct
import time
import zipfile
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from gramian.errors import FileError, ParameterError
from helpers import npy
from served import BINARY, CSV, Limits, X, app, client_of, create_app, httpx, serving

API = "/api/v1"
JSON = {"Content-Type": "application/json"}
PEOPLE = {"Accept": "text/html"}
TOKEN = "correct-horse-battery"


def port_of(server):
    return int(server.url.rstrip("/").rpartition(":")[2])


def raw(server, head, body=b"", wait=20):
    """Send bytes as they are, and return all that comes back until the other side closes."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=wait) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def left_behind(server):
    return list(server.app.state.gramian.work.iterdir())


def bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (1 << 16, 1 << 17)}
        np.lib.format.write_array_header_1_0(head, shape)
        with archive.open("X.npy", "w", force_zip64=True) as member:
            member.write(head.getvalue())
            for _ in range(64):
                member.write(bytes(1 << 20))
    return stream.getvalue()


def of_objects():
    stream = io.BytesIO()
    np.savez(stream, X=np.array([[{}]], dtype=object))
    return stream.getvalue()


def claiming(rows):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (rows, 5)})
    return stream.getvalue() + bytes(80)


def png_of(side):
    """The head of a picture that claims to be large."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + bytes(4)


@pytest.mark.walk
def test_bodies_that_are_no_data(client, ids, server):
    transform, data = f"{API}/models/{ids['pca']}/transform", f"{API}/data"
    before = client.get(data).json()
    for place, content, headers, status in (
        (transform, b"", JSON, 400),
        (transform, b"{", JSON, 422),
        (transform, b"[[NaN, 1, 2, 3, 4]]", JSON, 422),
        (transform, b"[[1e999, 1, 2, 3, 4]]", JSON, 422),
        (transform, b"[" * 200_000, JSON, 422),
        (transform, b'{"a":' * 100_000, JSON, 422),
        (transform, b"[[" + b"9" * 5000 + b",1,2,3,4]]", JSON, 422),
        (transform, b'[["1", 2, 3, 4, 5]]', JSON, 422),
        (transform, b"[[1, 2], [3]]", JSON, 422),
        (transform, b'{"rows": 3}', JSON, 422),
        (transform, b'[{"\\ud800": 1}]', JSON, 422),
        (f"{API}/plans", b'{"data": "' + 32 * b"0" + b'", "\\ud800": 1}', JSON, 422),
        (f"{API}/plans", b"[" * 100_000, JSON, 400),
        (transform, b"\xff\xfe\x00", CSV, 400),
        (transform, npy(X), CSV | {"Content-Type": "application/x-pickle"}, 415),
        (transform, npy(X), {}, 415),
        (data, b"PAR1 and no more", BINARY, 400),
        (data, claiming(10**18), BINARY, 400),
        (data, npy(X.astype(complex)), BINARY, 422),
        (data, of_objects(), BINARY, 422),
        (data, bomb(), BINARY, 413),
        (data, gzip.compress(bytes(1 << 20)), BINARY, 400),
        (data, b"PK\x05\x06" + bytes(18), BINARY, 422),
        (data, b"\x80\x04\x95pickle", BINARY, 400),
        (data, png_of(60_000), BINARY, 400),
        (f"{API}/models", b"\x80\x04\x95pickle", BINARY, 400),
        (f"{API}/models", npy(X), BINARY, 400),
    ):
        began = time.monotonic()
        got = client.post(place, content=content, headers=headers)
        assert got.status_code == status, (content[:40], got.text)
        assert set(got.json()) == {"error"}
        assert "Traceback" not in got.text
        assert str(server.app.state.gramian.root) not in got.text
        assert time.monotonic() - began < 15
    assert left_behind(server) == []
    assert client.get(f"{API}/data").json() == before


def test_hosts_and_origins_of_others(client, server):
    own = server.url.rstrip("/")
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", ""):
        assert client.get(API, headers={"Host": host}).status_code == 400
    assert client.get(API, headers={"Host": "localhost:1"}).status_code == 200
    assert b" 400 " in raw(server, f"GET {API} HTTP/1.1\nHost: localhost\nHost: evil.example\n\n")
    head = f"POST {API}/data HTTP/1.1\nHost: localhost\nContent-Length: {5000 * '9'}\n\n"
    assert b" 40" in raw(server, head)
    # What is refused early is read to its end: the next request has the same connection.
    refused = "POST /nowhere HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc"
    got = raw(server, refused + f"GET {API} HTTP/1.1\nHost: localhost\n\n")
    assert [got.count(b"HTTP/1.1 404"), got.count(b"HTTP/1.1 200")] == [1, 1]
    for origin in ("http://evil.example", "null", "http://localhost:1", f"{own}.evil.example", own[7:]):
        for ask in (client.get, client.post):
            got = ask(f"{API}/models", headers={"Origin": origin})
            assert got.status_code == 403
            assert "access-control-allow-origin" not in got.headers
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 415), ("none", 415)):
        got = client.post(f"{API}/data", headers={"Sec-Fetch-Site": site}, content=b"x")
        assert got.status_code == status
    got = client.get(f"{API}/models", headers={"Origin": own})
    assert got.status_code == 200
    assert got.headers["content-security-policy"].startswith("default-src 'self';")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "server" not in got.headers


def test_pages_and_paths_that_are_not_there(client, server, ids):
    data = client.post(f"{API}/data?name=rows.npy", content=npy(X), headers=BINARY).json()["id"]
    for place in (
        "/",
        "/kernels",
        "/docs",
        f"/data/{data}",
        f"/models/{ids['pca']}",
        f"/models/{ids['faces']}",
    ):
        got = client.get(place, headers=PEOPLE)
        assert (got.status_code, got.headers["cache-control"]) == (200, "no-store")
        assert "unsafe" not in got.headers["content-security-policy"]
        assert got.text.count("<h1>") == 1
    nothing = (f"/models/{32 * '0'}", "/nowhere", "/static/..%2fpage.css", "/static/%2e%2e/api.py")
    for place in (*nothing, "/static/nothing.js", "/static/%00", "/static/"):
        got = client.get(place, headers=PEOPLE)
        assert (got.status_code, "This page is not available" in got.text) == (404, True)
        assert client.get(place).json()["error"]
    assert client.get("/data/xyz", headers=PEOPLE).status_code == 422
    for tail in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "a" * 32 + "%0a", "A" * 32, "x" * 5000):
        for what in ("models", "data", "jobs"):
            assert client.get(f"{API}/{what}/{tail}").status_code in (404, 422)
    for name in ("../../x", "/etc/passwd", "a\0b", "\N{PILE OF POO}"):
        got = client.post(f"{API}/data", params={"name": name}, content=b"a,b\n1,2\n3,5\n", headers=CSV)
        assert got.json()["name"] == name
    root = server.app.state.gramian.root
    assert {path.name for path in root.iterdir()} == {".gramian-store", "items", "work"}
    assert {path.name for path in root.glob("items/*/*")} <= {
        "item.json",
        *(f"content.{kind}" for kind in ("csv", "npy", "gramian")),
    }


@pytest.mark.walk
def test_too_large_and_too_slow_and_too_much():
    limits = Limits(upload_bytes=200_000, memory=100 << 20, fits=1)
    with serving(limits=limits) as server, client_of(server) as client:
        got = client.post(f"{API}/data", content=bytes(200_001), headers=CSV)
        assert (got.status_code, "the limit of 200 kB" in got.json()["error"]) == (413, True)

        def endless():
            while True:
                yield b"1,2,3\n" * 1000

        # The connection may be closed while this side is still sending.
        with suppress(httpx.TransportError):
            assert client.post(f"{API}/data", content=endless(), headers=CSV).status_code == 413
        assert client.post(f"{API}/plans", content=bytes(2 << 20), headers=JSON).status_code == 413
        # Few bytes that take more memory than a request has.
        stream = io.BytesIO()
        pa.parquet.write_table(pa.table({"a": np.zeros(20_000_000), "b": np.zeros(20_000_000)}), stream)
        assert len(stream.getvalue()) < 200_000
        got = client.post(f"{API}/data", content=stream.getvalue(), headers=BINARY)
        assert got.status_code == 413, got.text
        assert left_behind(server) == []
        assert client.get(API).status_code == 200
    with serving(limits=Limits(seconds=0.001)) as server, client_of(server) as client:
        got = client.post(f"{API}/data", content=b"a,b\n1,2\n", headers=CSV)
        assert (got.status_code, "limit of" in got.json()["error"]) == (413, True)


@pytest.mark.walk
def test_what_explodes_ends_in_good_time():
    with serving(limits=Limits(seconds=15, memory=200 << 20)) as server, client_of(server) as client:
        wide = b",".join(b"c%d" % place for place in range(1_000_000)) + b"\n" + b"1," * 999_999 + b"1\n"
        got = client.post(f"{API}/data", content=wide, headers=CSV)
        assert (got.status_code, got.elapsed.total_seconds() < 20) == (413, True), got.text
        labels = b"a,k\n" + b"\n".join(b"1," + 200_000 * b"x" + b"%d" % place for place in range(30))
        got = client.post(f"{API}/data?label=k", content=labels, headers=CSV)
        assert (got.status_code, len(got.content) < 20_000) == (201, True), got.text
        for expression in ("rbf ** 1e9", "*".join(["(rbf + linear)"] * 60), "exp(" * 30 + "rbf" + ")" * 30):
            got = client.post(f"{API}/kernels", json={"kernel": expression})
            assert got.status_code in (200, 413, 422)
        assert client.get(API).status_code == 200
        assert left_behind(server) == []


@pytest.mark.walk
def test_a_process_that_dies(server, client, ids):
    place = f"{API}/models/{ids['pca']}/transform"
    assert client.post(place, json=X[:2].tolist()).status_code == 200
    for worker in server.app.state.gramian._idle:
        os.kill(worker.process.pid, signal.SIGKILL)
    statuses = [client.post(place, json=X[:2].tolist()).status_code for _ in range(3)]
    assert statuses[-1] == 200
    assert set(statuses) <= {200, 413}
    assert left_behind(server) == []


@pytest.mark.walk
def test_without_what_draws_all_else_goes_on(files, tmp_path, monkeypatch):
    for name in ("matplotlib", "vl_convert"):
        error = f'raise ModuleNotFoundError("No module named {name!r}", name={name!r})'
        (tmp_path / f"{name}.py").write_text(error)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with serving(files / "pca.gramian") as server, client_of(server) as client:
        model = client.get(f"{API}/models").json()[0]["id"]
        data = client.post(f"{API}/data", content=npy(X), headers=BINARY).json()["id"]
        figure = f"{API}/models/{model}/figures/scores?data={data}"
        for place, extra in ((figure, "plots"), ("/static/vega.js", "app")):
            got = client.get(place)
            assert (got.status_code, f'pip install "gramian[{extra}]"' in got.json()["error"]) == (501, True)
        got = client.post(f"{API}/kernels", json={"kernel": "sigmoid"}).json()
        assert got["facts"]["verdict"] == "not a kernel"
        assert client.get(f"{API}/models/{model}/report?data={data}").status_code == 200
        assert client.get(f"/models/{model}?data={data}").status_code == 200


def test_the_token_and_its_cookie():
    with serving(token=TOKEN) as server, client_of(server) as client:
        cookie = f"gramian_{port_of(server)}"
        wrong = ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"})
        for headers in (*wrong, {"Cookie": f"{cookie}={TOKEN}"}):
            for place in (f"{API}/models", "/docs", "/", f"{API}/models?token=wrong"):
                got = client.get(place, headers=headers)
                assert (got.status_code, got.headers["www-authenticate"]) == (401, "Bearer")
        page = client.get("/", headers=PEOPLE)
        assert (page.status_code, 'name="token"' in page.text, TOKEN in page.text) == (401, True, False)
        assert client.get("/static/page.css").status_code == 200
        assert client.get(API, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert client.post(f"{API}/data?token={TOKEN}", content=b"a\n1\n", headers=CSV).status_code == 401
        got = raw(server, f"GET //evil.example/?token={TOKEN} HTTP/1.1\nHost: localhost\n\n")
        assert b"location: /evil.example/" in got
        got = client.get(f"/kernels?token={TOKEN}")
        text = got.headers["set-cookie"]
        assert (got.status_code, got.headers["location"]) == (303, "/kernels")
        assert text.startswith(f"{cookie}=")
        assert "HttpOnly" in text
        assert "SameSite=strict" in text
        assert TOKEN not in text
        assert "Secure" not in text
        assert client.get("/", headers=PEOPLE).status_code == 200
        behind = {"X-Forwarded-Proto": "https"}
        client.cookies.clear()
        assert "Secure" in client.get(f"/?token={TOKEN}", headers=behind).headers["set-cookie"]
        # With a token the address may be written out; a name that is not ours may not.
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert client.get(API, headers=bearer | {"Host": "192.0.2.7:80"}).status_code == 200
        assert client.get(API, headers=bearer | {"Host": "evil.example"}).status_code == 400


def test_without_a_token_no_other_machine_is_answered():
    transport = httpx.ASGITransport(create_app())

    async def ask():
        async with httpx.AsyncClient(transport=transport, base_url="http://192.0.2.7:8765") as client:
            got = await client.get(API, headers={"Host": "localhost"})
            return got.status_code, got.json()["error"]

    status, error = asyncio.run(ask())
    assert (status, "only this machine" in error) == (403, True)


def test_what_the_server_cannot_start_with(tmp_path):
    for name in ("none.gramian", "none.csv"):
        with pytest.raises(FileError, match="no such file"):
            create_app(tmp_path / name)
    with pytest.raises(ParameterError, match=r"^token has 5 characters; at least 16 are required\."):
        create_app(token="short")
    with pytest.raises(ParameterError, match=r"the host pca\.example admits other machines"):
        create_app(hosts=["localhost", "pca.example"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f"^port={port} is not available"):
            app.Listener(create_app(), "127.0.0.1", port, print)
