"""Behind nginx, which speaks HTTPS: all that a browser does there works, and its cookies are secure."""

import os
import shutil
import ssl
from contextlib import ExitStack

import pytest

from served import CSV, httpx, serving

pytestmark = pytest.mark.walk

MUST = "GRAMIAN_NGINX_MUST"  # set where a skip would hide that nothing was tried
TOKEN = "correct-horse-battery"
NAME = "localhost"


def program(name):
    result = shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if result is None:
        (pytest.fail if os.environ.get(MUST) else pytest.skip)(f"{name} is not installed")
    return result


@pytest.fixture
def secure(tmp_path, attack_server):
    """Return a function that starts nginx in front of a server, and returns the address for browsers."""
    nginx, openssl = program("nginx"), program("openssl")
    attack_server.certify(openssl, tmp_path)
    with ExitStack() as running:

        def start(server):
            front = attack_server.nginx(nginx, tmp_path, server.url.rstrip("/"))
            return f"https://{NAME}:{running.enter_context(front)}"

        yield start


def browser(url, folder):
    trusted = ssl.create_default_context(cafile=folder / "cert.pem")
    return httpx.Client(base_url=url, verify=trusted, timeout=30, trust_env=False)


def test_a_browser_behind_a_proxy(secure, tmp_path):
    with serving(token=TOKEN, hosts=[NAME], behind_proxy=True) as server:
        url = secure(server)
        with browser(url, tmp_path) as client:
            people, page = {"Accept": "text/html"}, {"Origin": url, "Sec-Fetch-Site": "same-origin"}
            assert 'id="token"' in client.get("/", headers=people).text
            assert client.get("/static/page.css").status_code == 200
            got = client.post("/api/v1/login", json={"token": TOKEN}, headers=page)
            assert got.status_code == 204, got.text
            port = url.rpartition(":")[2]
            assert got.headers["set-cookie"].startswith(f"__Host-gramian_pass_{port}=")
            assert got.headers["set-cookie"].endswith("; Secure")
            assert 'id="upload"' in client.get("/", headers=people).text
            table = b"a,b\n1,2\n3,5\n4,4\n"
            data = client.post("/api/v1/data", content=table, headers=CSV | page).json()["id"]
            assert f"__Host-gramian_visitor_{port}" in client.cookies
            fit = {"data": data, "parameters": {"n_components": 1}}
            job = client.post("/api/v1/jobs", json=fit, headers=page).json()["id"]
            with client.stream("GET", f"/api/v1/jobs/{job}/events") as events:
                assert "event: done" in list(events.iter_lines())
            assert client.get(f"/data/{data}", headers=people).status_code == 200
            # nginx replaces what a client says of the scheme.
            told = page | {"X-Forwarded-Proto": "http"}
            assert client.get("/api/v1/models", headers=told).status_code == 200
            for origin in ("https://evil.example", url.replace("https", "http"), server.url.rstrip("/")):
                assert client.get("/api/v1/models", headers={"Origin": origin}).status_code == 403


def test_a_proxy_that_was_not_announced(secure, tmp_path):
    with serving(token=TOKEN, hosts=[NAME]) as server:
        url = secure(server)
        with browser(url, tmp_path) as client:
            got = client.post("/api/v1/login", json={"token": TOKEN}, headers={"Origin": url})
            assert (got.status_code, "--behind-proxy" in got.json()["what_to_do"]) == (403, True)
