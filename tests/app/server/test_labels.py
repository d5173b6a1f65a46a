"""A table of labels that is uploaded beside the data, and joined to its rows wherever they are read."""

import io
import json
import zipfile

import numpy as np
import pytest

from helpers import npy
from served import BINARY, CSV, FACES, X, fitted

API = "/api/v1"
GENES = "gene,s1,s2,s3,s4,s5,s6\ng1,1,2,9,4,8,5\ng2,3,1,2,5,7,4\ng3,0,1,7,8,1,2\n"
SHEET = "batch,sample,group,age\n1,s6,B,30\n1,s5,B,31\n2,s4,B,\n2,s3,A,33\n1,s2,A,34\n2,s1,A,35\n"
ROWS = {"transpose": "true"}


def add(client, content, name, headers=CSV, **query):
    got = client.post(
        f"{API}/data", params={"name": name, "draft": "true", **query}, content=content, headers=headers
    )
    assert got.status_code == 201, got.text
    return got.json()["id"]


@pytest.fixture
def ids(client):
    return {"data": add(client, GENES, "genes.csv"), "sheet": add(client, SHEET, "samples.csv")}


def fit(client, data, reading):
    return fitted(client, {"data": data, "parameters": {"n_components": 2}, "reading": reading})["id"]


@pytest.mark.walk
def test_labels_are_joined_wherever_the_data_are_read(client, ids):
    reading = {"transpose": True, "labels_from": ids["sheet"], "transform": "log1p", "exclude": ["group=B"]}
    plan = client.post(f"{API}/plans", json={"data": ids["data"], "reading": reading})
    assert "3 rows" in plan.json()["used"]
    model = fit(client, ids["data"], reading)
    query = {"data": ids["data"], **ROWS, "labels_from": ids["sheet"]}
    figures = client.get(f"{API}/models/{model}/figures", params=query).json()
    assert figures["hue"] == "group"
    assert {"group", "batch", "age"} <= {*figures["columns"]}
    scores = client.post(f"{API}/models/{model}/transform", params=query).json()
    assert scores["labels"] == ["A", "A", "A", "B", "B", "B"]
    assert "samples.csv was joined by row names: 6 of 6 rows have an entry" in scores["notes"]
    about = client.post(f"{API}/models/{model}/describe", params=query).json()
    kinds = {one["name"]: one["kind"] for one in about["facts"]["variables"]}
    assert kinds == {"group": "category", "batch": "category", "age": "number"}
    # One column, rows in the body, and what a report says.
    one = query | {"labels_from": f"{ids['sheet']}:age"}
    bare = {name: value for name, value in one.items() if name != "data"}
    body = client.post(f"{API}/models/{model}/transform", params=bare, content=GENES, headers=CSV)
    assert body.json()["labels"] == [35, 34, 33, None, 31, 30]
    code = client.get(f"{API}/models/{model}/code", params=one).json()["python"]
    assert "labels_from='samples.csv:age'" in code.replace('"', "'")
    page = client.get(f"{API}/models/{model}/report", params=query).text
    assert "labels were joined from samples.csv" in page
    assert ids["sheet"] not in page
    # With the data they are stored: no request names them again.
    stored = add(client, GENES, "labelled.csv", transpose="true", labels_from=ids["sheet"])
    assert client.get(f"{API}/data/{stored}").json()["facts"]["labels"] == ["A", "B"]
    again = client.post(f"{API}/models/{model}/transform", params={"data": stored}).json()
    assert (again["labels"], again["values"]) == (scores["labels"], scores["values"])


def test_new_rows_are_transformed_as_those_of_the_fit(client, ids):
    model = fit(client, ids["data"], {"transpose": True, "transform": "log1p"})
    asked = {"transpose": "true"}
    new = client.post(f"{API}/models/{model}/transform", params=asked, content=GENES, headers=CSV).json()
    same = client.post(
        f"{API}/models/{model}/transform", params={**asked, "transform": "log1p", "data": ids["data"]}
    )
    assert new["values"] == same.json()["values"]


@pytest.mark.walk
def test_only_uploaded_tables_give_labels(client, ids):
    pictures = io.BytesIO()
    with zipfile.ZipFile(pictures, "w") as archive:
        from PIL import Image

        for place, picture in enumerate(FACES.pictures[:2]):
            one = io.BytesIO()
            Image.fromarray(np.asarray(picture).astype(np.uint8)).save(one, "png")
            archive.writestr(f"a/{place}.png", one.getvalue())
    kinds = {
        "zip": add(client, pictures.getvalue(), "p.zip", {"Content-Type": "application/zip"}),
        "short": add(client, SHEET[:30], "short.csv"),
        "matrix": add(client, npy(X), "x.npy", BINARY),
    }
    model = client.get(f"{API}/models").json()[0]["id"]
    gone = add(client, SHEET, "gone.csv")
    assert client.delete(f"{API}/data/{gone}").status_code == 204
    for id, status in (
        *((id, 404) for id in (gone, model, "0" * 32)),
        *((id, 400) for id in kinds.values()),
        *((id, 422) for id in ("samples.csv", "/etc/passwd", f"{ids['sheet']}::x/../y"[:20], "")),
        (f"{ids['sheet']}:nothing", 422),
    ):
        reading = {"transpose": True, "labels_from": id}
        got = client.post(f"{API}/plans", json={"data": ids["data"], "reading": reading})
        assert got.status_code in (status, 422), (id, got.text)
        if status == 404:
            assert got.json()["error"].startswith("labels_from=")
        for path in ("jobs", "data"):
            how = {"json": {"data": ids["data"], "reading": reading}}
            if path == "data":
                how = {"params": {"labels_from": id, **ROWS}, "content": GENES, "headers": CSV}
            assert client.post(f"{API}/{path}", **how).status_code in (status, 400, 422), (id, path)
        query = {"data": ids["data"], "labels_from": id, **ROWS}
        assert client.get(f"{API}/data/{ids['data']}/width", params=query).status_code >= 400
    assert client.get(f"{API}/jobs").json() == []


def test_a_table_of_labels_in_json_and_in_a_workbook(client, ids):
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for line in SHEET.splitlines():
        book.active.append(line.split(","))
    book.save(stream)
    records = [
        dict(zip(("sample", "group"), line.split(",")[1:3], strict=True)) for line in SHEET.splitlines()[1:]
    ]
    model = fit(client, ids["data"], {"transpose": True})
    for content, headers in (
        (stream.getvalue(), BINARY),
        (json.dumps(records), {"Content-Type": "application/json"}),
    ):
        sheet = add(client, content, "sheet", headers)
        query = {"data": ids["data"], "labels_from": sheet, **ROWS}
        got = client.post(f"{API}/models/{model}/transform", params=query)
        assert got.json()["labels"] == ["A", "A", "A", "B", "B", "B"], got.text


def test_names_stay_as_written_and_rows_without_a_label_are_left_out(client):
    names, rng = ["1017", "001017", "0042", "7", "NA", "1e5", "+49", "1.10"], np.random.default_rng(0)
    rows = [
        {"id": name, "a": row + 0.5, "b": value, "kind": "uv"[row % 2] if row % 4 else None}
        for row, (name, value) in enumerate(zip(names, rng.standard_normal(8).round(3).tolist(), strict=True))
    ]
    lines = [",".join("" if one is None else str(one) for one in row.values()) for row in rows]
    for content, headers in (
        ("\n".join(["id,a,b,kind", *lines]), CSV),
        (json.dumps(rows), {"Content-Type": "application/json"}),
    ):
        data = add(client, content, "rows", headers)
        model = fit(client, data, {"id": "id", "label": ["kind"]})
        query = {"data": data, "id": "id", "label": "kind"}
        got = client.post(f"{API}/models/{model}/transform", params=query).json()
        assert got["names"] == names
        assert got["labels"] == ["", "v", "u", "v", "", "v", "u", "v"]
        asked = {"k": 1, "score_func": "f", "id": "id", "label": "kind"}
        chosen = client.post(f"{API}/data/{data}/select", params=asked).json()
        assert "2 of 8 rows have no label and were left out." in chosen["notes"], chosen
