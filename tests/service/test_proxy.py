"""Behind nginx, which speaks HTTPS: all that a browser does there works, and its cookies are secure."""

import os
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from served import CSV, httpx, serving, until

pytestmark = pytest.mark.walk

MUST = "GRAMIAN_NGINX_MUST"  # set where a skip would hide that nothing was tried
TOKEN = "correct-horse-battery"
NAME = "localhost"
SITE = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    client_max_body_size 256m;
    location / {{
      proxy_pass {inside};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""


def program(name):
    result = shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if result is None:
        (pytest.fail if os.environ.get(MUST) else pytest.skip)(f"{name} is not installed")
    return result


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.fixture
def secure(tmp_path):
    """Return a function that starts nginx in front of a server, and returns the address for browsers."""
    nginx, openssl, started = program("nginx"), program("openssl"), []
    command = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME} -addext subjectAltName=DNS:{NAME}"
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run([openssl, *command.split(), *files], check=True, capture_output=True)

    def start(server):
        port = free_port()
        site = SITE.format(folder=tmp_path, port=port, inside=server.url.rstrip("/"))
        Path(tmp_path, "site.conf").write_text(site)
        started.append(subprocess.Popen([nginx, "-p", tmp_path, "-c", tmp_path / "site.conf"]))

        def listens():
            assert started[-1].poll() is None, "nginx did not start"
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(listens)
        return f"https://{NAME}:{port}"

    yield start
    for process in started:
        process.terminate()
        process.wait(20)


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
