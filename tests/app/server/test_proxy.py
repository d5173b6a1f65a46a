"""Behind nginx, which speaks HTTPS, as docs/server_details.md says: a browser works, its cookie is secure."""

import os
import shutil
import ssl
import subprocess

import pytest

from served import CSV, fitted, httpx, serving, until

pytestmark = pytest.mark.walk

MUST = "GRAMIAN_NGINX_MUST"  # set where a skip would hide that nothing was tried
TOKEN = "correct-horse-battery"
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
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
    }}
  }}
}}
"""


def program(name):
    result = shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if result is None:
        (pytest.fail if os.environ.get(MUST) else pytest.skip)(f"{name} is not installed")
    return result


def answers(client):
    try:
        return client.get("/").status_code
    except httpx.TransportError:
        return None


def test_a_browser_behind_a_proxy(tmp_path, free_port):
    nginx, openssl = program("nginx"), program("openssl")
    certificate = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    how = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([openssl, *how.split(), *certificate], check=True, capture_output=True)
    url = f"https://localhost:{free_port}"
    with serving(token=TOKEN) as server:
        inside = server.url.rstrip("/")
        text = SITE.format(folder=tmp_path, port=free_port, inside=inside)
        (tmp_path / "site.conf").write_text(text)
        command = [nginx, "-p", tmp_path, "-c", tmp_path / "site.conf"]
        front = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=tmp_path)
        trusted = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        try:
            with httpx.Client(base_url=url, verify=trusted, timeout=30, trust_env=False) as client:
                until(lambda: answers(client) == 401)
                people, page = {"Accept": "text/html"}, {"Origin": url, "Sec-Fetch-Site": "same-origin"}
                assert 'id="token"' in client.get("/", headers=people).text
                got = client.get(f"/?token={TOKEN}")
                assert got.headers["set-cookie"].startswith(f"gramian_{free_port}=")
                assert "Secure" in got.headers["set-cookie"]
                assert got.headers["location"] == "/"
                assert 'id="upload"' in client.get("/", headers=people).text
                client.headers.update(page)
                table = b"a,b\n1,2\n3,5\n4,4\n"
                data = client.post("/api/v1/data", content=table, headers=CSV).json()["id"]
                fitted(client, {"data": data, "parameters": {"n_components": 1}})
                assert client.get(f"/data/{data}", headers=people).status_code == 200
                for origin in ("https://evil.example", inside):
                    assert client.get("/api/v1/models", headers={"Origin": origin}).status_code == 403
        finally:
            front.terminate()
            front.wait(20)


@pytest.fixture
def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]
