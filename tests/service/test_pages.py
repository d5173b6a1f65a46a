"""Pages for people: who gets them, what goes wrong with them, and what they draw with."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gramian import PCA
from gramian.data.table import Table
from served import BINARY, CSV, NPY, Limits, X, client_of, npy, serving, until

tasks = pytest.importorskip("gramian.service.tasks")
API = "/api/v1"
PEOPLE = {"Accept": "text/html"}


def test_pages_and_what_is_not_there(client, server, ids):
    data = client.post(f"{API}/data?name=rows", content=npy(X), headers=NPY).json()["id"]
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
        assert len(re.findall("<h1>[^<]+</h1>", got.text)) == 1
        assert client.get(place, headers={"Origin": "http://evil.example"}).status_code == 403
        got = client.head(place)
        assert (got.status_code, got.content) == (200, b"")
    nothing = ("/data/xyz", f"/models/{32 * '0'}", "/nowhere", "/static/..%2fpage.css", "/static/page.html")
    for place in (*nothing, "/static/%2e%2e/api.py", "/static/nothing.js", "/static/"):
        got = client.get(place, headers=PEOPLE)
        assert (got.status_code, "Page not found" in got.text) == (404, True)
        assert got.headers["cache-control"] == "no-store"
        assert client.get(place).json()["error"]
    # What belongs to somebody else is not there, as a page and beside a model.
    with client_of(server) as stranger:
        assert stranger.get(f"/data/{data}", headers=PEOPLE).status_code == 404
        for what in ("figures", "figures/scores", "report", "results", "code"):
            got = stranger.get(f"{API}/models/{ids['pca']}/{what}?data={data}")
            assert got.status_code == 404
            assert got.json()["error"].startswith("You have no data with this id. It was deleted, or")
        for what in ("pictures", "width"):
            assert stranger.get(f"{API}/data/{data}/{what}").status_code == 404
        got = stranger.post(f"{API}/faces/{ids['faces']}/enroll?agreed=true&data={data}")
        assert (got.status_code, "set-cookie" in got.headers) == (404, False)


def test_a_model_page_names_a_column_that_dominates_by_its_unit(client):
    rows = np.random.default_rng(0).standard_normal((30, 3)) * [1.0, 1.0, 900.0]
    data = client.post(f"{API}/data?name=rows", content=npy(rows), headers=NPY).json()["id"]
    asked = {"data": data, "parameters": {"n_components": 2}}
    job = client.post(f"{API}/jobs", json=asked).json()["id"]
    until(lambda: client.get(f"{API}/jobs/{job}").json()["state"] == "done")
    model = client.get(f"{API}/jobs/{job}/result").json()["id"]
    text = client.get(f"/models/{model}", headers=PEOPLE).text
    assert "of the variance because of its scale and decides the first component" in text
    found = client.get(f"{API}/models/{model}").json()["facts"]["diagnosis"]
    (one,) = (one for one in found if one["code"] == "scale-dominates")
    assert one["severity"] == "serious"
    assert one["remedy"] == 'If columns have different units, use scaling "unit".'


def test_tables_in_memory_are_bounded_by_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "4MB")
    monkeypatch.setattr(tasks, "_cache", {})
    for place in range(20):
        path = tmp_path / f"{place}.npy"
        path.write_bytes(b"x")
        table = tasks.cached({"path": str(path)}, lambda path: Table(np.zeros((30_000, 1))))
        assert table.values.nbytes == 240_000
        assert sum(one.values.nbytes for one in tasks._cache.values()) <= 1_000_000
    assert len(tasks._cache) == 4
    assert tasks.cached({"path": str(path)}, pytest.fail) is table
    path.unlink()
    many = tasks.cached({"path": "rows.npz::X"}, lambda path: Table(np.zeros((900_000, 1))))
    assert many.values.shape == (900_000, 1)
    assert list(tasks._cache) == []


@pytest.mark.walk
def test_a_process_that_dies_leaves_nothing(client, server, ids, tmp_path):
    pytest.importorskip("altair")
    data = client.post(f"{API}/data", content=npy(np.tile(X, (50, 1))), headers=NPY).json()["id"]
    state = server.app.state.gramian
    (worker,) = state.quick._all

    def kill():
        until(lambda: any(path.name.endswith("-folder") for path in state.work.iterdir()))
        os.kill(worker._process.pid, signal.SIGKILL)

    with ThreadPoolExecutor() as beside:
        killed = beside.submit(kill)
        while not killed.done():  # again, if a busy machine ended the request before the folder was seen
            got = client.get(f"{API}/models/{ids['pca']}/results?data={data}")
        killed.result()
    assert (got.status_code, "worker process ended" in got.json()["error"]) == (413, True)
    assert [path.name for path in state.work.iterdir() if path.name != "vega.js"] == []
    place = f"{API}/models/{ids['pca']}/figures/scores?data={data}"
    assert client.get(place).status_code == 200
    # What is sent from a file goes whatever becomes of the sending.
    PCA(100).fit(np.random.default_rng(0).standard_normal((101, 1000))).save(tmp_path / "wide.gramian")
    wide = client.post(
        f"{API}/models", content=(tmp_path / "wide.gramian").read_bytes(), headers=BINARY
    ).json()
    for asked, status in (("bytes=x", 400), ("bytes=9999999999-", 416), ("bytes=0-9", 206)):
        got = client.get(f"{API}/models/{wide['id']}/components?count=100", headers={"Range": asked})
        assert got.status_code == status
    until(lambda: not [path for path in state.work.iterdir() if path.name != "vega.js"])


@pytest.mark.walk
def test_the_program_that_draws_is_written_once(tmp_path):
    pytest.importorskip("vl_convert")
    np.savez(tmp_path / "rows.npz", X=X, Z=X)
    with serving(f"{tmp_path / 'rows.npz'}::X", limits=Limits(workers=2, fits=1)) as server:

        def fetch(_):
            with client_of(server) as client:
                got = client.get("/static/vega.js")
                assert got.headers["cache-control"] == "private, max-age=600"
                return got.status_code, len(got.content)

        with ThreadPoolExecutor(6) as many:
            (result,) = set(many.map(fetch, range(6)))
        assert (result[0], result[1] > 500_000) == (200, True)
        assert [path.name for path in server.app.state.gramian.work.iterdir()] == ["vega.js"]
        with client_of(server) as client:
            data = client.get(f"{API}/data").json()[0]
            assert (data["whose"], data["facts"]["rows"]) == ("given", 60)
            fit = {"data": data["id"], "parameters": {"n_components": 2}}
            job = client.post(f"{API}/jobs", json=fit).json()["id"]
            until(lambda: client.get(f"{API}/jobs/{job}").json()["state"] == "done")
            model = client.get(f"{API}/jobs/{job}/result").json()["id"]
            assert client.get(f"{API}/models/{model}/figures/scores?data={data['id']}").status_code == 200


@pytest.mark.walk
def test_without_what_draws_all_else_goes_on(files, tmp_path, monkeypatch):
    (tmp_path / "altair.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'altair'\", name='altair')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with serving(files / "pca.gramian") as server, client_of(server) as client:
        model = client.get(f"{API}/models").json()[0]["id"]
        data = client.post(f"{API}/data", content=npy(X), headers=NPY).json()["id"]
        for place in (f"{API}/models/{model}/figures/scores?data={data}", "/static/vega.js"):
            got = client.get(place)
            assert (got.status_code, 'pip install "gramian[plots]"' in got.json()["error"]) == (501, True)
            assert got.headers["cache-control"] == "no-store"
        got = client.post(f"{API}/kernels", json={"expression": "sigmoid"}).json()
        assert (got["verdict"], got["figure"]) == ("not a kernel", None)
        assert client.get(f"{API}/models/{model}/report?data={data}").status_code == 200
        assert client.post(f"{API}/models/{model}/monitor?data={data}").status_code == 200
        assert client.get(f"/models/{model}?data={data}").status_code == 200


@pytest.mark.walk
def test_the_token_and_no_pages(monkeypatch):
    monkeypatch.setenv("GRAMIAN_TOKEN", "s3cret-s3cret-s3cret")
    with serving(limits=Limits(workers=0)) as server, client_of(server) as client:
        for place in ("/docs", "/kernels", f"/data/{32 * '0'}?x=s3cret-s3cret-s3cret"):
            got = client.get(place, headers=PEOPLE)
            assert (got.status_code, got.headers["location"]) == (303, "/")
            assert client.get(place).status_code == 401
        page = client.get("/", headers=PEOPLE)
        assert (page.status_code, 'id="token"' in page.text, "s3cret-s3cret-s3cret" in page.text) == (
            200,
            True,
            False,
        )
        assert client.post(f"{API}/login", json={"token": "s3cret-s3cret-s3cret"}).status_code == 204
        assert 'id="upload"' in client.get("/", headers=PEOPLE).text
        assert client.get("/static/page.css").status_code == 200
    with serving(limits=Limits(workers=0), api_only=True) as server, client_of(server) as client:
        assert client.get("/docs", headers=PEOPLE).status_code == 401
        client.headers["Authorization"] = "Bearer s3cret-s3cret-s3cret"
        for place in ("/", "/kernels", f"/data/{32 * '0'}", f"/models/{32 * '0'}"):
            got = client.get(place, headers=PEOPLE)
            assert (got.status_code, got.headers["content-type"]) == (404, "application/json")
        assert client.get("/docs", headers=PEOPLE).status_code == 200


@pytest.mark.walk
def test_what_explodes_ends_in_good_time(tmp_path):
    limits = Limits(workers=1, worker_seconds=6, worker_bytes=200 << 20)
    with serving(limits=limits) as server, client_of(server) as client:
        wide = b",".join(b"c%d" % place for place in range(1_000_000)) + b"\n" + b"1," * 999_999 + b"1\n"
        got = client.post(f"{API}/data?draft=true", content=wide, headers=CSV)
        assert (got.status_code, got.elapsed.total_seconds() < 20) == (413, True), got.text
        labels = b"a,k\n" + b"\n".join(b"1," + 200_000 * b"x" + b"%d" % place for place in range(30))
        got = client.post(f"{API}/data?label=k", content=labels, headers=CSV)
        assert (got.status_code, len(got.content) < 20_000) == (201, True), got.text
        for expression in ("rbf ** 1e9", "*".join(["(rbf + linear)"] * 60), "exp(" * 30 + "rbf" + ")" * 30):
            got = client.post(f"{API}/kernels", json={"expression": expression})
            assert got.status_code in (200, 413, 422)
            assert got.elapsed.total_seconds() < 8
        assert client.get("/healthz").status_code == 200
        assert list(server.app.state.gramian.work.iterdir()) == []
