"""What is asked over HTTP gets what Python gets."""

import csv
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse
from scipy.io import savemat

import gramian
from gramian import PCA
from gramian.faces import Gallery, identify
from gramian.service import api, media, pages, tasks, worker, workers
from gramian.service.sessions import SMALL_BODY, describe
from served import BINARY, CSV, FACES, NPY, X, app, client_of, npy, until

NEW = X[:4] + 0.25
LINES = {"Content-Type": "application/x-ndjson"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}


def parquet(table):
    stream = io.BytesIO()
    pa.parquet.write_table(table, stream)
    return stream.getvalue()


def table_csv(X):
    rows = [",".join(f"{value:.6f}" for value in row) + f",{'uv'[i % 2]}" for i, row in enumerate(X)]
    return "\n".join(["a,b,c,d,e,kind", *rows]).encode()


@pytest.mark.walk
def test_requests_at_the_same_time_are_answered_one_by_one(server, ids, monkeypatch):
    place, rng = f"/api/v1/models/{ids['pca']}/transform", np.random.default_rng(3)
    together, send = [], workers.Worker.send

    async def counted(self, orders):
        together.append(len(orders))
        await send(self, orders)

    monkeypatch.setattr(workers.Worker, "send", counted)
    bodies = []
    for place_of_hole in range(3):
        holes = rng.standard_normal((3, 5))
        holes[place_of_hole, 2] = np.inf
        bodies += [
            {"content": npy(holes), "headers": NPY},
            {"json": [[1, 2]]},
            {"json": [["a", 2, 3, 4, 5]]},
            {"content": b"no array", "headers": NPY},
            *({"json": rng.standard_normal((rows, 5)).tolist()} for rows in (1, 1, 1, 2, 50)),
        ]
    with client_of(server) as client:

        def answer(body):
            got = client.post(place, **body)
            return got.status_code, got.content

        alone = list(map(answer, bodies))
        assert set(together) == {1}
        with ThreadPoolExecutor(len(bodies)) as threads:
            for _ in range(10):
                assert list(threads.map(answer, bodies)) == alone  # to the last bit
    assert max(together) > 5
    statuses = [status for status, _ in alone]
    assert [statuses.count(status) for status in (200, 422)] == [15, 12]
    for number in range(3):  # of a row of the visitor's own
        assert f"row {number}" in json.loads(alone[9 * number][1])["error"]


def test_a_small_body_of_json_needs_no_file(client, ids, monkeypatch):
    place, text, stored, received = f"/api/v1/models/{ids['pca']}/transform", json.dumps(NEW.tolist()), [], []

    def counted(*given):
        stored.append(given)
        return receive(*given)

    receive = media.received
    monkeypatch.setattr(media, "received", counted)
    bodies = {
        text.encode(): 0,
        text.encode("utf-16"): 0,
        text.encode().ljust(SMALL_BODY): 0,
        text.encode().ljust(SMALL_BODY + 1): 1,
        iter([text.encode()]): 1,  # of unknown length
    }
    for body, files in bodies.items():
        stored.clear()
        received.append(client.post(place, content=body, headers={"Content-Type": "application/json"}))
        assert len(stored) == files
    assert [got.json() for got in received] == 5 * [received[0].json()]
    assert received[0].json()["rows"] == len(NEW)
    refused = client.post(place, content=b"[[1, \xff]]", headers={"Content-Type": "application/json"})
    assert (refused.status_code, "not strict JSON" in refused.json()["error"]) == (422, True)


def test_every_form_of_body_and_answer(client, ids, files):
    place, scores = (
        f"/api/v1/models/{ids['pca']}/transform",
        gramian.load(files / "pca.gramian").transform(NEW),
    )
    named = [dict(zip("abcde", map(float, row), strict=True)) for row in NEW]
    bodies = [
        ({"content": npy(NEW)}, NPY),
        ({"json": NEW.tolist()}, {}),
        ({"json": {"columns": list("abcde"), "values": NEW.tolist()}}, {}),
        ({"json": named}, {}),
        ({"content": "\n".join(map(json.dumps, named))}, LINES),
        ({"content": "\n".join(map(json.dumps, NEW.tolist()))}, LINES),
        ({"content": parquet(pa.Table.from_pylist(named))}, PARQUET),
        ({"content": table_csv(NEW)}, CSV),
    ]
    for body, headers in bodies:
        query = {"label": "kind"} if headers is CSV else {}
        got = client.post(place, **body, headers=headers, params=query)
        assert got.status_code == 200, got.text
        told = got.json()
        assert told["columns"] == ["PC1", "PC2", "PC3"]
        np.testing.assert_allclose(told["values"], scores, atol=1e-5)
    assert told["labels"] == ["u", "v", "u", "v"]

    def answer(kind):
        return client.post(place, json=NEW.tolist(), headers={"Accept": kind}).content

    np.testing.assert_allclose(np.load(io.BytesIO(answer("application/x-npy"))), scores)
    got = pa.parquet.read_table(io.BytesIO(answer("application/vnd.apache.parquet")))
    np.testing.assert_allclose(got["PC2"].to_numpy(), scores[:, 1])
    rows = [json.loads(line) for line in answer("application/x-ndjson").splitlines()]
    assert [row["row"] for row in rows] == [0, 1, 2, 3]
    assert answer("text/csv").splitlines()[0] == b"row,PC1,PC2,PC3"
    assert client.post(place, json=NEW.tolist(), headers={"Accept": "image/png"}).status_code == 406
    # A large answer is sent from its file.
    many = np.tile(NEW, (20_000, 1))
    got = client.post(place, content=npy(many), headers=NPY | {"Accept": "application/x-npy"})
    assert np.load(io.BytesIO(got.content)).shape == (80_000, 3)


def test_no_text_of_a_table_runs_in_a_spreadsheet(client, ids):
    names = ["=1+1", "@SUM(1)", "+1+1", "-2+3"]
    lines = [",".join(f"{value:.6f}" for value in row) + f",'{names[i]}" for i, row in enumerate(NEW)]
    body = "\n".join(["a,b,c,d,e,'=who", *lines]).encode()
    routes = [("pca", "transform"), ("pca", "reconstruct"), ("kernel", "denoise"), ("pca", "monitor")]
    for model, do in routes:
        place, query = f"/api/v1/models/{ids[model]}/{do}", {"label": "=who"}
        told = client.post(place, content=body, headers=CSV | {"Accept": "text/csv"}, params=query)
        assert told.status_code == 200, told.text
        head, *rows = csv.reader(io.StringIO(told.text))
        assert [row[head.index("'=who")] for row in rows] == [f"'{name}" for name in names]


def test_rows_rebuilt_and_cleaned_with_the_error_of_each(client, ids, files):
    pca = gramian.load(files / "pca.gramian")
    scores = pca.transform(NEW)
    scores[:, 2:] = 0
    back = pca.inverse_transform(scores)
    got = client.post(f"/api/v1/models/{ids['pca']}/reconstruct?components=2", json=NEW.tolist()).json()
    np.testing.assert_allclose(got["values"], back)
    error = np.linalg.norm(NEW - back, axis=1) / np.linalg.norm(NEW - pca.mean_, axis=1)
    np.testing.assert_allclose(got["error"], error)
    kernel = gramian.load(files / "kernel.gramian")
    clean, far = kernel.denoise(NEW, return_error=True)
    got = client.post(f"/api/v1/models/{ids['kernel']}/denoise", json=NEW.tolist()).json()
    np.testing.assert_allclose(got["values"], clean, atol=1e-6)
    np.testing.assert_allclose(got["error"], far, atol=1e-6)
    space = gramian.load(files / "faces.gramian")
    faces = FACES.pictures[:2]
    got = client.post(f"/api/v1/models/{ids['faces']}/reconstruct", content=npy(faces), headers=NPY).json()
    np.testing.assert_allclose(np.reshape(got["values"], faces.shape), space.reconstruct(faces), atol=1e-3)
    np.testing.assert_allclose(got["error"], space.errors(faces, [20])[:, 0], atol=1e-6)


def test_components_are_rows(client, ids, files):
    pca, space = (gramian.load(files / f"{name}.gramian") for name in ("pca", "faces"))
    got = client.get(f"/api/v1/models/{ids['pca']}/components?count=2").json()
    assert got["names"] == ["mean", "PC1", "PC2"]
    np.testing.assert_allclose(got["values"], [pca.mean_, *pca.components_[:2]])
    got = client.get(f"/api/v1/models/{ids['faces']}/components", headers={"Accept": "application/x-npy"})
    pictures = np.load(io.BytesIO(got.content)).reshape(-1, 28, 24)
    np.testing.assert_allclose(pictures, [space.mean_face_, *space.component_pictures()], atol=1e-5)
    assert client.get(f"/api/v1/models/{ids['kernel']}/components").status_code == 422


def test_what_does_not_fit_the_model_is_said(client, ids):
    for do, model, body, word in (
        ("denoise", "pca", NEW.tolist(), "denoise needs a kernel PCA"),
        ("transform", "pca", [[1, 2]], "2 features"),
        ("reconstruct?components=9", "pca", NEW.tolist(), "from 1 to 3"),
    ):
        got = client.post(f"/api/v1/models/{ids[model]}/{do}", json=body)
        assert got.status_code == 422
        assert word in got.json()["error"]
    got = client.post(f"/api/v1/models/{ids['pca']}/transform?components=2", json=NEW.tolist())
    assert (got.status_code, got.json()["field"]) == (422, "components")
    got = client.post(
        f"/api/v1/faces/{ids['pca']}/identify?gallery={ids['people']}", content=npy(NEW), headers=NPY
    )
    assert (got.status_code, "not a model of faces" in got.json()["error"]) == (422, True)


@pytest.mark.walk
def test_models_come_and_go(client, server, files, ids):
    content = (files / "pca.gramian").read_bytes()
    made = client.post("/api/v1/models?name=wine/../x", content=content, headers=BINARY)
    assert made.status_code == 201
    item = made.json()
    assert (item["name"], item["whose"], item["facts"]["model"]["n_components"]) == ("wine/../x", "yours", 3)
    assert [one["whose"] for one in client.get("/api/v1/models").json()] == ["given"] * 3 + ["yours"]
    assert client.get(f"/api/v1/models/{item['id']}/file").content == content
    other = (files / "kernel.gramian").read_bytes()
    assert client.put(f"/api/v1/models/{item['id']}", content=other, headers=BINARY).status_code == 200
    assert client.get(f"/api/v1/models/{item['id']}").json()["facts"]["model"]["kind"] == "KernelPCA"
    # Another visitor has neither it nor a hint of it.
    with client_of(server) as stranger:
        stranger.post("/api/v1/data", content=b"a,b\n1,2\n3,5\n", headers=CSV)
        for ask in (stranger.get, stranger.delete):
            assert ask(f"/api/v1/models/{item['id']}").status_code == 404
        assert stranger.post(f"/api/v1/models/{item['id']}/transform", json=[[1]]).status_code == 404
        assert len(stranger.get("/api/v1/models").json()) == 3
    assert client.delete(f"/api/v1/models/{ids['pca']}").status_code == 403
    assert client.delete(f"/api/v1/models/{item['id']}").status_code == 204
    assert client.get(f"/api/v1/models/{item['id']}").status_code == 404


def test_people_are_recognised(client, ids, files):
    space = gramian.load(files / "faces.gramian")
    with Gallery.open(files / "people.gallery", space, read_only=True) as gallery:
        expected = identify(space, gallery.recogniser(), FACES.take([0, 9]))
    place = f"/api/v1/faces/{ids['faces']}/identify?gallery={ids['people']}"
    for body, headers in (
        ({"json": FACES.pictures[[0, 9]].tolist()}, {}),
        ({"content": npy(FACES.pictures[[0, 9]])}, NPY),
    ):
        got = client.post(place, **body, headers=headers)
        assert got.status_code == 200, got.text
        told = got.json()["answers"]
        assert [answer["person"] for answer in told] == [answer.person for answer in expected]
        np.testing.assert_allclose(
            [answer["score"] for answer in told], [one.score for one in expected], atol=1e-5
        )
    place = place.replace("identify", "verify") + "&person="
    got = client.post(place + FACES.people[0], content=npy(FACES.pictures[:1]), headers=NPY).json()
    assert got["answers"][0]["kind"] == "person"
    assert got["calibration"]["people"] == 12
    assert client.post(place + "nobody", content=npy(FACES.pictures[:1]), headers=NPY).status_code == 422


def test_a_picture_file_is_brought_to_the_size_of_the_model(client, ids):
    image = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    image.fromarray(FACES.pictures[0]).resize((48, 56)).save(stream, "PNG")
    place = f"/api/v1/faces/{ids['faces']}/identify?gallery={ids['people']}"
    got = client.post(place, content=stream.getvalue(), headers={"Content-Type": "image/png"})
    assert got.json()["answers"][0]["person"] == FACES.people[0]
    assert got.json()["answers"][0]["picture"] == "the data"


@pytest.mark.walk
def test_a_fit_from_its_plan_to_its_model(client):
    data = client.post("/api/v1/data?name=flowers&label=kind", content=table_csv(X), headers=CSV).json()
    assert (data["facts"]["rows"], data["facts"]["labels"]) == (60, ["u", "v"])
    fit = {"data": data["id"], "parameters": {"n_components": 2, "scale": "unit"}, "name": "flowers"}
    plan = client.post("/api/v1/plans", json=fit).json()
    assert plan["text"].startswith("Plan: solver")
    assert client.get("/api/v1/jobs").json() == []
    got = client.post("/api/v1/jobs", json=fit)
    assert got.status_code == 202
    job = got.json()
    assert job["plan"]["solver"] == plan["plan"]["solver"]
    with client.stream("GET", f"/api/v1/jobs/{job['id']}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = [line for line in stream.iter_lines() if line.startswith(("event", "data"))]
    assert events[-2] == "event: done"
    model = client.get(f"/api/v1/jobs/{job['id']}/result").json()
    assert json.loads(events[-1].removeprefix("data: "))["model"] == model["id"]
    # What was uploaded need not be sent again.
    scores = client.post(f"/api/v1/models/{model['id']}/transform?data={data['id']}").json()
    expected = PCA(2, scale="unit").fit_transform(np.round(X, 6))
    np.testing.assert_allclose(scores["values"], expected, atol=1e-4)
    assert scores["labels"][:3] == ["u", "v", "u"]
    saved = client.get(f"/api/v1/models/{model['id']}/file").content
    assert saved[8:9] == b"{"


@pytest.mark.walk
def test_files_of_arrays_are_told_from_their_content(client):
    kept, values = {}, np.where(X > 0, X, 0)
    for name, write in (
        ("npy", lambda file: np.save(file, values)),
        ("csc", lambda file: sparse.save_npz(file, sparse.csc_matrix(values))),
        ("mat4", lambda file: savemat(file, {"X": values}, format="4")),
        ("mat5", lambda file: savemat(file, {"X": values}, format="5")),
    ):
        stream = io.BytesIO()
        write(stream)
        got = client.post("/api/v1/data?draft=true", content=stream.getvalue(), headers=BINARY)
        assert got.status_code == 201, got.text
        facts = got.json()["facts"]
        assert (facts["rows"], facts["columns"], facts["problem"]) == (60, 5, None)
        kept[name] = got.json()["id"]
    fit = {"data": kept["csc"], "parameters": {"n_components": 2}}
    job = client.post("/api/v1/jobs", json=fit).json()["id"]
    until(lambda: client.get(f"/api/v1/jobs/{job}").json()["state"] == "done")
    model = client.get(f"/api/v1/jobs/{job}/result").json()["id"]
    expected = PCA(2).fit_transform(values)
    for data in kept.values():
        got = client.post(f"/api/v1/models/{model}/transform?data={data}")
        assert got.status_code == 200, got.text
        np.testing.assert_allclose(got.json()["values"], expected, atol=1e-6)
    for place in ("figures/scores", "report", "code"):
        assert client.get(f"/api/v1/models/{model}/{place}?data={kept['csc']}").status_code == 200
    fit |= {"estimator": "KernelPCA", "parameters": {"kernel": "rbf", "gamma": 0.05, "n_components": 2}}
    job = client.post("/api/v1/jobs", json=fit).json()["id"]
    until(lambda: client.get(f"/api/v1/jobs/{job}").json()["state"] == "done")
    model = client.get(f"/api/v1/jobs/{job}/result").json()["id"]
    got = client.post(f"/api/v1/models/{model}/reconstruct?data={kept['csc']}")
    assert (got.status_code, "has no pre-images" in got.json()["error"]) == (422, True)


def test_a_fit_that_cannot_be_is_refused_at_once(client):
    data = client.post("/api/v1/data", content=npy(X), headers=NPY).json()["id"]
    for fit, word in (
        ({"parameters": {"n_components": 99}}, "at most"),
        ({"parameters": {"n_component": 2}}, "Did you mean 'n_components'"),
        ({"parameters": {"memory_limit": "1TB"}}, "not known"),
        ({"estimator": "KernelPCA", "parameters": {"kernel": "rbf(gamm=1)"}}, "gamm"),
        ({"estimator": "FaceSpace"}, ".zip of pictures"),
        ({"reading": {"columns": ["@/etc/passwd"]}}, "@/etc/passwd"),
    ):
        for place in ("/api/v1/plans", "/api/v1/jobs"):
            got = client.post(place, json={"data": data} | fit)
            assert got.status_code == 422, got.text
            assert word in got.json()["error"]
    assert client.get("/api/v1/jobs").json() == []


@pytest.mark.walk
def test_a_fit_is_cancelled_and_others_wait_their_turn(client):
    big = np.random.default_rng(1).standard_normal((6000, 60)).astype("f4")
    data = client.post("/api/v1/data", content=npy(big), headers=NPY).json()["id"]
    fit = {"data": data, "estimator": "KernelPCA", "parameters": {"kernel": "rbf", "n_components": 400}}
    job = client.post("/api/v1/jobs", json=fit).json()
    assert job["state"] == "running"
    [listed] = client.get("/api/v1/jobs").json()
    assert (listed["data"], listed["reading"], listed["seconds"] > job["seconds"]) == (data, {}, True)
    client.cookies, cookies = None, client.cookies
    assert client.get("/api/v1/jobs").json() == []  # of another visitor
    client.cookies = cookies
    busy = client.post("/api/v1/jobs", json=fit)
    assert (busy.status_code, int(busy.headers["Retry-After"]) > 0) == (429, True)
    assert client.get(f"/api/v1/jobs/{job['id']}/result").status_code == 409
    assert client.get("/healthz").elapsed.total_seconds() < 1
    until(lambda: client.get(f"/api/v1/jobs/{job['id']}").json()["progress"]["text"])
    assert client.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    assert [one["state"] for one in client.get("/api/v1/jobs").json()] == ["cancelled"]
    fit["parameters"]["n_components"] = 1
    fit["reading"] = {"rows": "0:50"}
    again = client.post("/api/v1/jobs", json=fit).json()
    until(lambda: client.get(f"/api/v1/jobs/{again['id']}").json()["state"] == "done")


def test_head_is_get_without_a_body(client, ids):
    data = client.post("/api/v1/data?label=kind", content=table_csv(X), headers=CSV).json()["id"]
    fit = {"data": data, "parameters": {"n_components": 1}}
    job = client.post("/api/v1/jobs", json=fit).json()["id"]
    until(lambda: client.get(f"/api/v1/jobs/{job}").json()["state"] == "done")
    model = f"/api/v1/models/{ids['pca']}"
    places = [
        "/",
        "/healthz",
        "/docs",
        "/static/page.css",
        "/api/v1",
        "/api/v1/openapi.json",
        "/api/v1/models",
    ]
    places += [model, f"{model}/file", f"{model}/components", f"/api/v1/jobs/{job}/events"]
    for place in (*places, "/nowhere", f"/api/v1/models/{32 * '0'}"):
        head, got = client.head(place), client.get(place)
        assert (head.status_code, head.content) == (got.status_code, b"")
        varies = ("date", "set-cookie")
        assert {name: value for name, value in head.headers.items() if name not in varies} == {
            name: value for name, value in got.headers.items() if name not in varies
        }
    assert client.head(f"{model}/transform").status_code == 405
    text = client.get("/metrics").text
    assert 'gramian_requests_total{method="HEAD",route="/api/v1/models/{id}/file",status="200"}' in text


def test_what_watches_and_what_explains(client, ids):
    assert client.get("/healthz").json() == {"status": "ok"}
    client.post(f"/api/v1/models/{ids['pca']}/transform", json=NEW.tolist())
    text = client.get("/metrics").text
    assert 'gramian_requests_total{method="POST",route="/api/v1/models/{id}/transform",status="200"}' in text
    assert "gramian_running_fits 0.0" in text
    page = client.get("/docs")
    assert "POST /api/v1/jobs" in page.text
    assert client.get("/").status_code == 200
    assert "<h1>" in client.get("/").text
    assert client.get("/api/v1").json()["keeps_models"] is False


def test_files_of_the_server_may_have_names_that_are_not_utf_8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("a,b\n1,x\n")
    except OSError:
        pytest.skip("names are UTF-8 here")
    item = app.item_of(path)
    order = json.loads(json.dumps(describe(item.kind, item.payload(Path()), draft=True)))
    facts = worker.answered(tasks.TASKS[order["do"]], order, say=None)["answer"]
    assert item.name == "\\udcff.csv"
    assert facts["problem"].startswith("\\udcff.csv has 1 column")
    assert api.facts_of(item, facts).model_dump_json().encode()
    assert b"<h1>\\udcff.csv</h1>" in pages.data_page(item, facts, {}, ()).body
