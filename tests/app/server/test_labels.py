"""A table of labels that is uploaded beside the data, and joined to its rows wherever they are read."""

import json

import numpy as np
import pytest

from served import CSV, fitted

API = "/api/v1"
GENES = "gene,s1,s2,s3,s4,s5,s6\ng1,1,2,9,4,8,5\ng2,3,1,2,5,7,4\ng3,0,1,7,8,1,2\n"
SHEET = "batch,sample,group,age\n1,s6,B,30\n1,s5,B,31\n2,s4,B,\n2,s3,A,33\n1,s2,A,34\n2,s1,A,35\n"
ROWS = {"transpose": "true"}


def add(client, content, name, headers=CSV, **query):
    got = client.post(f"{API}/data", params={"name": name, **query}, content=content, headers=headers)
    assert got.status_code == 201, got.text
    return got.json()["id"]


@pytest.fixture
def ids(client):
    return {"data": add(client, GENES, "genes.csv"), "sheet": add(client, SHEET, "samples.csv")}


def fit(client, data, reading):
    return fitted(client, {"data": data, "parameters": {"n_components": 2}, "reading": reading})["id"]


def test_new_rows_are_transformed_as_those_of_the_fit(client, ids):
    model = fit(client, ids["data"], {"transpose": True, "transform": "log1p"})
    asked = {"transpose": "true"}
    new = client.post(f"{API}/models/{model}/transform", params=asked, content=GENES, headers=CSV).json()
    same = client.post(
        f"{API}/models/{model}/transform", params={**asked, "transform": "log1p", "data": ids["data"]}
    )
    assert new["values"] == same.json()["values"]


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
