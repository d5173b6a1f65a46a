"""What is asked over HTTP gets what Python gets."""

import io
import json
import os

import numpy as np
import pytest
from scipy import sparse

import gramian
from gramian import PCA
from gramian.app.server import pages, tasks, worker
from helpers import npy
from served import BINARY, CSV, FACES, Limits, X, app, client_of, fitted, serving, until

NEW = X[:4] + 0.25


def table_csv(X):
    rows = [",".join(f"{value:.6f}" for value in row) + f",{'uv'[i % 2]}" for i, row in enumerate(X)]
    return "\n".join(["a,b,c,d,e,kind", *rows]).encode()


def test_rows_rebuilt_and_cleaned_with_the_error_of_each(client, ids, files):
    pca = gramian.load(files / "pca.gramian")
    scores = pca.transform(NEW)
    scores[:, 2:] = 0
    back = pca.inverse_transform(scores)
    got = client.post(f"/api/v1/models/{ids['pca']}/reconstruct?n_components=2", json=NEW.tolist()).json()
    np.testing.assert_allclose(got["values"], back)
    error = np.linalg.norm(NEW - back, axis=1) / np.linalg.norm(NEW - pca.mean_, axis=1)
    np.testing.assert_allclose(got["error"], error)
    kernel = gramian.load(files / "kernel.gramian")
    clean, far = kernel.denoise(NEW, return_error=True)
    got = client.post(f"/api/v1/models/{ids['kernel']}/denoise", json=NEW.tolist()).json()
    np.testing.assert_allclose(got["values"], clean, atol=1e-6)
    np.testing.assert_allclose(got["error"], far, atol=1e-6)
    faces = FACES.pictures[:2]
    got = client.post(f"/api/v1/models/{ids['faces']}/transform", json=faces.tolist()).json()
    expected = gramian.load(files / "faces.gramian").transform(faces)
    np.testing.assert_allclose(got["values"], expected, atol=1e-3)
    got = client.post(f"/api/v1/models/{ids['faces']}/reconstruct", json=faces.tolist())
    assert (got.status_code, "gramian faces reconstruct" in got.json()["error"]) == (422, True)


def test_what_does_not_fit_the_model_is_said(client, ids):
    for do, model, body, word in (
        ("denoise", "pca", NEW.tolist(), "denoise needs a kernel PCA"),
        ("transform", "pca", [[1, 2]], "2 features"),
        ("reconstruct?n_components=9", "pca", NEW.tolist(), "from 1 to 3"),
    ):
        got = client.post(f"/api/v1/models/{ids[model]}/{do}", json=body)
        assert got.status_code == 422
        assert word in got.json()["error"]
    got = client.post(f"/api/v1/models/{ids['pca']}/transform?components=2", json=NEW.tolist())
    assert (got.status_code, got.json()["error"].split(":")[0]) == (422, "components")


@pytest.mark.walk
def test_files_of_arrays_are_told_from_their_content(client):
    kept, values = {}, np.where(X > 0, X, 0)
    for name, write in (
        ("npy", lambda file: np.save(file, values)),
        ("csc", lambda file: sparse.save_npz(file, sparse.csc_matrix(values))),
    ):
        stream = io.BytesIO()
        write(stream)
        got = client.post("/api/v1/data", content=stream.getvalue(), headers=BINARY)
        assert got.status_code == 201, got.text
        facts = got.json()["facts"]
        assert (facts["rows"], facts["columns"], facts["problem"]) == (60, 5, None)
        kept[name] = got.json()["id"]
    fit = {"data": kept["csc"], "parameters": {"n_components": 2}}
    model = fitted(client, fit)["id"]
    expected = PCA(2).fit_transform(values)
    for data in kept.values():
        got = client.post(f"/api/v1/models/{model}/transform?data={data}")
        assert got.status_code == 200, got.text
        np.testing.assert_allclose(got.json()["values"], expected, atol=1e-6)
    for place in ("figures/scores", "report", "code"):
        assert client.get(f"/api/v1/models/{model}/{place}?data={kept['csc']}").status_code == 200
    fit |= {"estimator": "KernelPCA", "parameters": {"kernel": "rbf", "gamma": 0.05, "n_components": 2}}
    model = fitted(client, fit)["id"]
    got = client.post(f"/api/v1/models/{model}/reconstruct?data={kept['csc']}")
    assert (got.status_code, "has no pre-images" in got.json()["error"]) == (422, True)


def test_a_fit_that_cannot_be_is_refused_at_once(client):
    data = client.post("/api/v1/data", content=npy(X), headers=BINARY).json()["id"]
    for fit, word in (
        ({"parameters": {"n_components": 99}}, "at most"),
        ({"parameters": {"n_component": 2}}, "Did you mean 'n_components'"),
        ({"parameters": {"memory_limit": "1TB"}}, "not known"),
        ({"estimator": "KernelPCA", "parameters": {"kernel": "rbf(gamm=1)"}}, "gamm"),
        ({"estimator": "FaceSpace"}, "'PCA', 'KernelPCA' or 'Whitener'"),
        ({"reading": {"columns": ["@/etc/passwd"]}}, "@/etc/passwd"),
    ):
        for place in ("/api/v1/plans", "/api/v1/jobs"):
            got = client.post(place, json={"data": data} | fit)
            assert got.status_code == 422, got.text
            assert word in got.json()["error"]
    assert client.get("/api/v1/jobs").json() == []


def test_rows_come_as_json_and_as_csv(client, ids, files):
    place, scores = (
        f"/api/v1/models/{ids['pca']}/transform",
        gramian.load(files / "pca.gramian").transform(NEW),
    )
    named = [dict(zip("abcde", map(float, row), strict=True)) for row in NEW]
    for body, headers in (
        ({"json": NEW.tolist()}, {}),
        ({"json": named}, {}),
        ({"content": table_csv(NEW)}, CSV),
    ):
        query = {"label": "kind"} if headers is CSV else {}
        got = client.post(place, **body, headers=headers, params=query)
        assert got.status_code == 200, got.text
        told = got.json()
        assert told["columns"] == ["PC1", "PC2", "PC3"]
        np.testing.assert_allclose(told["values"], scores, atol=1e-5)
    assert told["labels"] == ["u", "v", "u", "v"]
    got = client.post(place, content=npy(NEW), headers=BINARY)
    assert (got.status_code, "Send application/json, or text/csv" in got.json()["error"]) == (415, True)


def test_items_come_and_go(client, files, ids):
    content = (files / "pca.gramian").read_bytes()
    made = client.post("/api/v1/models?name=wine/../x", content=content, headers=BINARY)
    assert made.status_code == 201
    item = made.json()
    assert (item["name"], item["given"], item["facts"]["model"]["n_components"]) == ("wine/../x", False, 3)
    listed = client.get("/api/v1/models").json()
    assert [one["given"] for one in listed] == [True] * 3 + [False]
    assert (listed[-1]["about"], listed[-1]["facts"]) == ("PCA, 3 components", {})
    got = client.get(f"/api/v1/models/{item['id']}/file")
    assert (got.content, got.headers["content-type"]) == (content, BINARY["Content-Type"])
    assert client.delete(f"/api/v1/models/{ids['pca']}").status_code == 403
    assert client.delete(f"/api/v1/models/{item['id']}").status_code == 204
    got = client.get(f"/api/v1/models/{item['id']}")
    assert (got.status_code, "There is no model with this id" in got.json()["error"]) == (404, True)
    assert client.get(f"/api/v1/data/{ids['pca']}").status_code == 404
    assert client.get("/api/v1").json()["limits"]["fits"] == 1


def test_a_fit_from_its_plan_to_its_model(client):
    data = client.post("/api/v1/data?name=flowers&label=kind", content=table_csv(X), headers=CSV).json()
    assert (data["facts"]["rows"], data["facts"]["labels"]) == (60, ["u", "v"])
    fit = {"data": data["id"], "parameters": {"n_components": 2, "scale": "unit"}, "name": "flowers"}
    plan = client.post("/api/v1/plans", json=fit).json()
    assert plan["text"].startswith("Plan: solver")
    assert client.get("/api/v1/jobs").json() == []
    model = fitted(client, fit)
    (job,) = client.get("/api/v1/jobs").json()
    assert (job["plan"], job["model"], job["name"]) == (plan["plan"], model["id"], "flowers")
    # What was uploaded need not be sent again.
    scores = client.post(f"/api/v1/models/{model['id']}/transform?data={data['id']}").json()
    expected = PCA(2, scale="unit").fit_transform(np.round(X, 6))
    np.testing.assert_allclose(scores["values"], expected, atol=1e-4)
    assert scores["labels"][:3] == ["u", "v", "u"]


def test_a_plan_is_for_the_memory_of_a_fit():
    with serving(limits=Limits(fits=1, fit_memory=120 << 20)) as server, client_of(server) as client:
        content = npy(np.random.default_rng(0).standard_normal((4000, 5)))
        data = client.post("/api/v1/data", content=content, headers=BINARY).json()["id"]
        fit = {"data": data, "estimator": "KernelPCA", "parameters": {"kernel": "rbf", "n_components": 3}}
        plan = client.post("/api/v1/plans", json=fit).json()
        assert "The tiles do not fit into memory_limit" in plan["text"]


@pytest.mark.walk
def test_a_fit_is_cancelled_and_others_wait_their_turn(client, server):
    big = np.random.default_rng(1).standard_normal((6000, 60)).astype("f4")
    data = client.post("/api/v1/data?name=x.npy", content=npy(big), headers=BINARY).json()["id"]
    fit = {"data": data, "estimator": "KernelPCA", "parameters": {"kernel": "rbf", "n_components": 400}}
    job = client.post("/api/v1/jobs", json=fit).json()
    assert job["state"] == "running"
    busy = client.post("/api/v1/jobs", json=fit)
    assert (busy.status_code, "At most 1 fit at the same time. Wait" in busy.json()["error"]) == (429, True)
    assert client.get("/api/v1").elapsed.total_seconds() < 1
    until(lambda: client.get(f"/api/v1/jobs/{job['id']}").json()["progress"]["text"])
    assert client.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    # Its process is gone, and so is a fit whose data are deleted.
    again = client.post("/api/v1/jobs", json=fit).json()
    assert client.delete(f"/api/v1/data/{data}").status_code == 204
    assert again["id"] not in {one["id"] for one in client.get("/api/v1/jobs").json()}
    assert list(server.app.state.gramian.work.glob("*.gramian")) == []


def test_files_of_the_server_may_have_names_that_are_not_utf_8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("a,b\n1,x\n")
    except OSError:
        pytest.skip("names are UTF-8 here")
    item = app.given_item(path)
    source = {"path": item.path, "name": item.name, "kind": "", "given": True, "reading": {}}
    order = json.loads(json.dumps({"kind": "data", "data": source}))
    facts = json.loads(worker.answered(tasks.describe, order)[1])
    assert item.name == "?.csv"
    assert ".csv has 1 column" in facts["problem"]
    item = item.model_copy(update={"facts": facts})
    assert item.model_dump_json().encode()
    assert b"<h1>?.csv</h1>" in pages.data_page(item, facts, {}, []).body
