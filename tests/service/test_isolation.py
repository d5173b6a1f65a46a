"""Whatever one visitor asks, on any route, another visitor has and gets what they had before."""

import re

import numpy as np
import pytest

from gramian import PCA
from served import BINARY, CSV, FACES, NPY, X, client_of, npy, serving, until

API = "/api/v1"
TABLE = b"a,b,c\n" + b"".join(b"%.3f,%.3f,%.3f\n" % tuple(row[:3]) for row in X)
# What a visitor sends for each parameter of a query: what fits the table, and what is odd. None is left out.
QUERIES = {
    "agreed": ("true", "false"),
    "alpha": (None, "0.2"),
    "color": (None, "nothing"),
    "seed": (None, "-1"),
    "standard_errors": ("true", "maybe"),
    "shape": (None, "nothing"),
    "columns": (["a", "b", "c"], ["nothing"]),
    "components": (None, "99"),
    "count": ("2", "1000"),
    "candidates": (["linear"], ["nothing"]),
    "criterion": ("preimage", "nothing"),
    "cv": (None, "1"),
    "ddof": (None, "-1"),
    "degree": ("1", "99"),
    "draft": ("true", "maybe"),
    "draw": (None, "1"),
    "exclude": ("1", ["nothing"]),
    "estimator": (None, "nothing"),
    "features": ("2", "none"),
    "floating": (None, "true"),
    "fraction": (None, "2"),
    "kernel": (None, "nothing"),
    "max_rmse": (None, "-1"),
    "no_center": (None, "true"),
    "rules": ("elbow", "nothing"),
    "scale": (None, "nothing"),
    "drop": (None, ["c"]),
    "far": ("0.1", "0.9"),
    "id": (None, "a"),
    "keep": (None, "false"),
    "label": (None, "a"),
    "labels_from": (None, "0" * 32),
    "lags": ("1", "-1"),
    "consecutive": ("2", "0"),
    "level": ("0.9", "2"),
    "method": (None, "nothing"),
    "missing": (None, "drop-rows"),
    "n_components": (None, "0"),
    "normal": (None, "0" * 32),
    "n_resamples": ("20", "0"),
    "na_values": (None, ["7"]),
    "name": ("mine", "odd"),
    "patience": (None, "0"),
    "redundancy": (None, "nothing"),
    "regularization": ("0.1", "nothing"),
    "scoring": (None, "nothing"),
    "person": (FACES.people[0], "nobody"),
    "rows": ("0:10", "nonsense"),
    "size": (None, "3x3"),
    "format": ("csv", "nonsense"),
    "header": (None, "1"),
    "skip_footer": (None, "1"),
    "pivot": (None, "a,b,c"),
    "below_limit": (None, "half"),
    "sheet": (None, "nothing"),
    "tol": (None, "-1"),
    "top": ("1", "-1"),
    "transform": (None, "clr"),
    "transpose": (None, "true"),
    "weights": (None, "a"),
    "width": (None, "1"),
    "x": ("2", "99"),
    "y": ("1", "99"),
}
# What it sends as parts of a path, but for ids.
PARTS = {
    "kinds": ("models", "galleries", "data"),
    "who": ("known",),
    "name": ("circle", "scores"),
}


def bodies(ids, files):
    """The body of each route that takes one."""
    fit = {"data": ids["data"], "reading": {"rows": "0:10"}, "parameters": {"n_components": 1}}
    odd = {"data": ids["data"], "reading": {"rows": "nonsense"}, "name": "odd"}
    model = {"content": (files / "pca.gramian").read_bytes(), "headers": BINARY}
    gallery = {"content": (files / "people.gallery").read_bytes(), "headers": BINARY}
    faces = {"content": npy(FACES.pictures[:1]), "headers": NPY}
    return {
        "/plans": [{"json": fit}, {"json": odd}],
        "/jobs": [{"json": odd}, {"json": fit}],
        "/kernels": [{"json": {"expression": "linear", "features": 1}}],
        "/kernels/contours": [{"json": {"expression": "linear"}}],
        "/login": [{"json": {"token": "nothing"}}],
        "/models": [model],
        "/models/{id}": [model],
        "/galleries": [gallery],
        "/data": [{"content": TABLE, "headers": CSV}],
        "/faces/{id}/identify": [faces],
        "/faces/{id}/verify": [faces],
    }


def flat(routes):
    """Return all routes; later versions of FastAPI keep those of a router together."""
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from [route] if router is None else flat(router.routes)


def requests(app, ids, files, ways=(0, 1)):
    """Yield requests to every route of an application: method, path, query and body.

    A route with a part, a parameter or a body that is not in the tables above fails here: add it.
    """
    described = app.openapi()["paths"]
    by_path = bodies(ids, files)
    for route in flat(app.routes):
        paths = [route.path]
        for part in re.findall(r"{(\w+)}", route.path):
            values = ids.values() if part == "id" else PARTS[part]
            paths = [path.replace(f"{{{part}}}", value) for path in paths for value in values]
        for method in route.methods - {"HEAD", "OPTIONS"}:
            operation = described.get(route.path, {}).get(method.lower(), {})
            names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            named = {
                "data": ids["data"],
                "gallery": ids["gallery"],
                "new": ids["pca" if "pca" in ids else "model"],
            }
            known = QUERIES | {name: 2 * (id,) for name, id in named.items()} | {"meta": (None, ids["data"])}
            queries = [{name: known[name][way] for name in names} for way in (ways if names else (0,))]
            short = route.path.removeprefix(API)
            sent = by_path[short] if operation.get("requestBody", {}).get("required") else [{}]
            for path in paths:
                for body in sent:
                    for query in queries:
                        given = {name: value for name, value in query.items() if value is not None}
                        yield method, path, given, body


def look(client, ids):
    """All that a visitor sees and gets, but for what changes with time."""
    answers = {}
    for kind in ("models", "galleries", "data"):
        for item in client.get(f"{API}/{kind}").json():
            answers[item["id"]] = item, client.get(f"{API}/{kind}/{item['id']}").json()
            answers[item["id"], "page"] = client.get(f"/{kind}/{item['id']}").text
    answers["jobs"] = client.get(f"{API}/jobs").json()
    for id in ids["data"], ids["own data"]:
        answers[id, "width"] = client.get(f"{API}/data/{id}/width").json()
        applied = client.post(f"{API}/models/{ids['pca']}/transform?data={id}").json()
        answers[id, "scores"] = applied["values"]
        plan = client.post(f"{API}/plans", json={"data": id, "parameters": {"n_components": 2}})
        answers[id, "plan"] = plan.status_code, plan.json()["plan"]["solver"], plan.json()["text"].count("\n")
    answers["file"] = client.get(f"{API}/models/{ids['own model']}/file").content
    return answers


@pytest.fixture(scope="module")
def shared(files, tmp_path_factory):
    """A server with models, a gallery and data for everybody."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "table.csv").write_bytes(TABLE)
    PCA(2).fit(X[:, :3]).save(folder / "small.gramian")
    store = folder / "store"
    sources = (
        folder / "small.gramian",
        files / "faces.gramian",
        files / "people.gallery",
        folder / "table.csv",
    )
    with serving(*sources, store=store) as server:
        yield server


def asking(server):
    """A visitor whose requests do not wait for each other, as many small ones of one connection do."""
    return client_of(server, headers={"Connection": "close"})


def given_ids(client):
    kinds = ("models", "galleries", "data")
    named = {item["name"]: item["id"] for kind in kinds for item in client.get(f"{API}/{kind}").json()}
    names = {
        "pca": "small.gramian",
        "faces": "faces.gramian",
        "gallery": "people.gallery",
        "data": "table.csv",
    }
    return {name: named[file] for name, file in names.items()}


def own_items(client, files):
    """Let a visitor have something of every kind."""
    model = (files / "kernel.gramian").read_bytes()
    gallery = (files / "people.gallery").read_bytes()
    ids = {
        "own model": client.post(f"{API}/models?keep=false", content=model, headers=BINARY).json()["id"],
        "own gallery": client.post(f"{API}/galleries", content=gallery, headers=BINARY).json()["id"],
        "own data": client.post(f"{API}/data?columns=a&columns=b&columns=c", content=TABLE, headers=CSV),
    }
    ids["own data"] = ids["own data"].json()["id"]
    fit = {"data": ids["own data"], "parameters": {"n_components": 1}}
    job = client.post(f"{API}/jobs", json=fit).json()["id"]
    until(lambda: client.get(f"{API}/jobs/{job}").json()["state"] == "done")
    return ids | {"job": job}


@pytest.mark.walk
def test_no_request_changes_what_another_visitor_has(shared, files):
    with asking(shared) as one, asking(shared) as other:
        ids = given_ids(other)
        mine = own_items(other, files)
        before = look(other, ids | mine)
        answered = 0
        for method, path, query, body in requests(shared.app, ids, files):
            if path.startswith(("/docs", "/static")) or path.endswith(("/report", "/results")):
                continue  # these look at nothing that others have, or take seconds
            got = one.request(method, path, params=query, **body)
            assert got.status_code not in (405, 500), (method, path, query, got.text)
            answered += got.status_code < 300
        assert answered > 40
        after = look(other, ids | mine)
        kept = {item["id"] for item in other.get(f"{API}/models").json() if item["whose"] == "kept"}
        assert kept  # by the first visitor, for everybody
        assert {key: answer for key, answer in after.items() if not kept & {*np.ravel(key)}} == before


def test_no_route_leads_to_what_another_visitor_has(shared, files):
    with asking(shared) as one, asking(shared) as other:
        ids = given_ids(other)
        mine = own_items(other, files)
        own_items(one, files)
        before = look(other, ids | mine)
        hidden = {"model": mine["own model"], "job": mine["job"]}
        hidden |= {"data": mine["own data"], "gallery": mine["own gallery"]}
        tried = 0
        for method, path, query, body in requests(shared.app, hidden, files, ways=(0,)):
            named = f"{path} {query} {body.get('json')}"
            if not any(id in named for id in hidden.values()):
                continue
            got = one.request(method, path, params=query, **body)
            assert got.status_code in (404, 422), (method, path, query, got.text)
            tried += got.status_code == 404
        assert tried > 40
        assert look(other, ids | mine) == before
