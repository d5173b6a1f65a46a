"""What must not come in does not, in good time, and leaves nothing behind."""

import gzip
import io
import os
import re
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

from gramian.errors import FileError, MissingExtraError
from served import BINARY, CSV, NPY, Limits, X, client_of, create_app, httpx, npy, serving, until

pytestmark = pytest.mark.walk

API = "/api/v1"
JSON = {"Content-Type": "application/json"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}


def port_of(server):
    return int(server.url.rstrip("/").rpartition(":")[2])


def raw(server, head, body=b"", wait=20):
    """Send bytes as they are, and return all that comes back until the other side closes."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=wait) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def left_behind(server):
    state = server.app.state.gramian
    return list(state.work.iterdir())


def bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 16, 1 << 17)}
        )
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


def test_bodies_that_are_no_data(client, ids, server):
    transform, data = f"{API}/models/{ids['pca']}/transform", f"{API}/data"
    identify = f"{API}/faces/{ids['faces']}/identify?gallery={ids['people']}"
    zipped, npz = {"Content-Type": "application/zip"}, {"Content-Type": "application/x-npz"}
    picture = {"Content-Type": "image/png"}
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
        (transform, b'{"columns": "ab", "values": [[1]]}', JSON, 422),
        (transform, b'[{"\\ud800": 1}]', JSON, 422),
        (f"{API}/plans", b'{"data": "' + 32 * b"0" + b'", "\\ud800": 1}', JSON, 422),
        (f"{API}/plans", b"[" * 100_000, JSON, 400),
        (transform, b"\xff\xfe\x00", CSV, 400),
        (transform, b"PAR1 and no more", PARQUET, 400),
        (transform, claiming(10**18), NPY, 400),
        (transform, npy(np.full((2, 5), np.inf)), NPY, 422),
        (transform, npy(X.astype(complex)), NPY, 422),
        (transform, npy(X), CSV | {"Content-Type": "application/x-pickle"}, 415),
        (transform, npy(X), {}, 415),
        (data, of_objects(), npz, 422),
        (data, bomb(), npz, 413),
        (data, gzip.compress(bytes(1 << 20)), BINARY, 400),
        (data, b"PK\x05\x06" + bytes(18), zipped, 422),
        (data, b"\x80\x04\x95pickle", BINARY, 400),
        (identify, png_of(60_000), picture, 422),
        (f"{API}/models", b"\x80\x04\x95pickle", BINARY, 400),
        (f"{API}/models", npy(X), BINARY, 400),
        (f"{API}/galleries", b"SQLite format 3\0" + bytes(4000), BINARY, 400),
    ):
        began = time.monotonic()
        got = client.post(place, content=content, headers=headers)
        assert got.status_code == status, (content[:40], got.text)
        assert set(got.json()) <= {"error", "what_to_do", "field"}
        assert "Traceback" not in got.text
        assert str(server.app.state.gramian.work.parent) not in got.text
        assert time.monotonic() - began < 15
    assert left_behind(server) == []
    assert client.get(f"{API}/data").json() == []


def test_hosts_and_origins_of_others(client, server):
    own = server.url.rstrip("/")
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", ""):
        assert client.get("/healthz", headers={"Host": host}).status_code == 400
    assert client.get("/healthz", headers={"Host": "localhost:1"}).status_code == 200
    assert b" 400 " in raw(server, "GET /healthz HTTP/1.1\nHost: localhost\nHost: evil.example\n\n")
    assert b" 40" in raw(
        server, f"POST {API}/data HTTP/1.1\nHost: localhost\nContent-Length: {5000 * '9'}\n\n"
    )
    # What is refused early is read to its end: the next request has the same connection.
    refused = "POST /nowhere HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc"
    got = raw(server, refused + "GET /healthz HTTP/1.1\nHost: localhost\n\n")
    assert [got.count(b"HTTP/1.1 404"), got.count(b"HTTP/1.1 200")] == [1, 1]
    assert b"connection: close" not in got
    for origin in ("http://evil.example", "null", own.replace("http", "https"), "http://localhost:1"):
        for ask in (client.get, client.post):
            got = ask(f"{API}/models", headers={"Origin": origin})
            assert got.status_code == 403
            assert "access-control-allow-origin" not in got.headers
    got = client.get(f"{API}/models", headers={"Origin": own})
    assert got.status_code == 200
    assert got.headers["content-security-policy"].startswith("default-src 'self';")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "server" not in got.headers


def test_paths_are_no_paths(client, server, files):
    for tail in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "a" * 32 + "%0a", "A" * 32, "x" * 5000):
        for what in ("models", "data", "jobs"):
            assert client.get(f"{API}/{what}/{tail}").status_code in (404, 422)
    for name in ("../../x", "/etc/passwd", "a\0b", "\N{PILE OF POO}"):
        got = client.post(f"{API}/data", params={"name": name}, content=b"a,b\n1,2\n3,5\n", headers=CSV)
        assert got.json()["name"] == name
    made = re.compile(r"[0-9a-f]{32}(-[0-9a-f]{8})?(\.(csv|gramian|json|npy|facts))?")
    kept = [path.name for path in server.app.state.gramian.sessions.folder.glob("*/*")]
    assert kept
    assert all(map(made.fullmatch, kept))


def test_too_large_and_too_slow_and_too_much(monkeypatch):
    monkeypatch.setattr("gramian.service.listening.TICK", 0.5)
    sizes = {"upload_bytes": 200_000, "upload_seconds": 2, "uploads": 8, "visitor_bytes": 10_000}
    limits = Limits(workers=1, items=2, visitors=2, worker_bytes=100 << 20, **sizes)
    with serving(limits=limits) as server, client_of(server) as client:
        got = client.post(f"{API}/data", content=bytes(200_001), headers=CSV)
        assert got.status_code == 413

        def endless():
            while True:
                yield b"1,2,3\n" * 1000

        # The connection may be closed while this side is still sending.
        with suppress(httpx.TransportError):
            assert client.post(f"{API}/data", content=endless(), headers=CSV).status_code == 413
        head = f"POST {API}/data HTTP/1.1\nHost: localhost\nContent-Type: text/csv\nContent-Length: 100\n\n"
        slow = [socket.create_connection(("127.0.0.1", port_of(server)), timeout=20) for _ in range(4)]
        for connection in slow:
            connection.sendall(head.replace("\n", "\r\n").encode() + b"1,2\n")
        # A quarter of the uploads may be slow, and nobody else has to wait for them.
        assert client.post(f"{API}/login", json={"token": ""}).status_code == 204
        answers = [connection.recv(65536) for connection in slow]
        assert sorted(int(answer.split()[1]) for answer in answers) == [408, 408, 429, 429]
        for connection in slow:
            connection.close()
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=20) as gone:
            gone.sendall(head.replace("\n", "\r\n").encode() + b"1,2\n")
            until(lambda: left_behind(server))
        until(lambda: not left_behind(server), 1.9)
        assert client.post(f"{API}/login", content=bytes(2 << 20), headers=JSON).status_code == 413
        rows = b"a,b\n1,2\n3,5\n"
        for status in (201, 201, 413):
            assert client.post(f"{API}/data", content=rows, headers=CSV).status_code == status
        with client_of(server) as other:
            big = b"a,b\n" + b"1,2\n" * 5000
            assert other.post(f"{API}/data", content=big, headers=CSV).status_code == 413
        with client_of(server) as third:
            got = third.post(f"{API}/data", content=rows, headers=CSV)
            assert (got.status_code, got.headers["Retry-After"]) == (429, "10")
            # Few bytes that take more memory than a request has.
            stream = io.BytesIO()
            pa.parquet.write_table(pa.table({"a": np.zeros(20_000_000), "b": np.zeros(20_000_000)}), stream)
            assert len(stream.getvalue()) < 200_000
            got = third.post(f"{API}/data", content=stream.getvalue(), headers=PARQUET)
            assert got.status_code == 413, got.text
        server.app.state.gramian.quick.seconds = 0.001
        client.cookies.clear()
        got = client.post(f"{API}/data", content=rows, headers=CSV)
        assert (got.status_code, "exceeded its limit" in got.json()["error"]) == (413, True)
        # A head that never ends.
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=20) as endless_head:
            endless_head.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            assert endless_head.recv(1000) == b""
        assert left_behind(server) == []
        assert client.get("/healthz").status_code == 200


def test_answers_do_not_wait_for_acknowledgements(server, client):
    client.get("/healthz")
    connections = server.server_state.connections
    assert connections
    for connection in list(connections):
        result = connection.transport.get_extra_info("socket")
        assert result.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_worker_that_dies(server, client, ids):
    place = f"{API}/models/{ids['pca']}/transform"
    pool = server.app.state.gramian.quick
    (worker,) = pool._all
    os.kill(worker._process.pid, signal.SIGKILL)
    assert client.post(place, json=X[:2].tolist()).status_code == 413
    assert client.post(place, json=X[:2].tolist()).status_code == 200
    assert left_behind(server) == []


def test_the_token(monkeypatch):
    monkeypatch.setenv("GRAMIAN_TOKEN", "s3cret-s3cret-s3cret")
    with serving(limits=Limits(workers=0)) as server, client_of(server) as client:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Cookie": f"gramian_pass_{port_of(server)}=s3cret-s3cret-s3cret"},
        ):
            for place in (f"{API}/models", "/metrics", "/docs"):
                assert client.get(place, headers=headers).status_code == 401
        assert client.get("/healthz").status_code == 200
        assert (
            client.get(f"{API}/models", headers={"Authorization": "Bearer s3cret-s3cret-s3cret"}).status_code
            == 200
        )
        assert client.post(f"{API}/login", json={"token": "wrong"}).status_code == 401
        got = client.post(f"{API}/login", json={"token": "s3cret-s3cret-s3cret"})
        cookie = got.headers["set-cookie"]
        assert "HttpOnly; SameSite=Strict" in cookie
        assert "s3cret-s3cret-s3cret" not in cookie
        assert client.get(f"{API}/models").status_code == 200
        # With a token the address may be written out; a name that is not ours may not.
        assert client.get("/healthz", headers={"Host": "192.0.2.7:80"}).status_code == 200
        assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 400


def test_without_a_token_no_other_machine_is_answered():
    import asyncio

    app = create_app()
    transport = httpx.ASGITransport(app)

    async def ask():
        async with httpx.AsyncClient(transport=transport, base_url="http://192.0.2.7:8765") as client:
            got = await client.get("/healthz", headers={"Host": "localhost"})
            return got.status_code, got.json()["error"]

    status, error = asyncio.run(ask())
    assert (status, "only this machine" in error) == (403, True)


def test_what_the_server_cannot_start_with(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        create_app(tmp_path / "none.gramian")
    with pytest.raises(FileError, match="no such file"):
        create_app(tmp_path / "none.csv")


def test_the_extra_is_named(monkeypatch):
    import gramian.service

    def missing(name):
        raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")

    monkeypatch.setattr(gramian.service, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r'needs fastapi.*pip install "gramian\[app\]"'):
        gramian.service.__getattr__("create_app")
