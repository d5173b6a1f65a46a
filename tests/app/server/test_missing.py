"""Missing values over HTTP: the choice, the fit, and new rows."""

import numpy as np
import pytest

from gramian import PCA
from gramian.models.monitor import monitor_of
from served import CSV, X, client_of, fitted

HOLED = X.round(4)
HOLED[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
HOLED[7] = np.nan


def holed_csv():
    lines = [",".join("" if value != value else repr(value) for value in row) for row in HOLED.tolist()]
    return "\n".join(["a,b,c,d,e", *lines]).encode()


@pytest.fixture(scope="module")
def visitor(server):
    with client_of(server) as client:
        yield client


def test_the_default_refuses_and_the_choice_imputes(visitor):
    data = visitor.post("/api/v1/data?name=holes.csv", content=holed_csv(), headers=CSV).json()
    missing = int(np.isnan(HOLED).sum())
    assert f"{missing} values are missing in " in data["facts"]["problem"]
    assert "--" not in data["facts"]["problem"]
    page = visitor.get(f"/data/{data['id']}", headers={"Accept": "text/html"}).text
    assert f"{missing} values are missing in a, b, c, d, e" in page
    for choice in ("em", "mean", "drop-rows", "drop-columns"):
        assert f'data-missing="{choice}"' in page
    fit = {"data": data["id"], "parameters": {"n_components": 2}, "reading": {"missing": "em"}, "name": "m"}
    refused = visitor.post("/api/v1/plans", json=fit | {"reading": {}})
    assert (refused.status_code, "values are missing in" in refused.json()["error"]) == (422, True)
    refused = visitor.post("/api/v1/plans", json=fit | {"estimator": "KernelPCA"})
    assert (refused.status_code, "imputes by a PCA" in refused.json()["error"]) == (422, True)
    model = fitted(visitor, fit)["id"]
    whole = np.delete(HOLED, 7, axis=0)
    expected = PCA(2, missing="em", random_state=0).fit(whole)
    got = visitor.post(f"/api/v1/models/{model}/transform?data={data['id']}&missing=em").json()
    np.testing.assert_allclose(got["values"], expected.transform(whole), atol=1e-8)
    assert any("1 row without any value was left out: row 7" in note for note in got["notes"])
    # The page of the model reads the data as the fit did.
    shown = visitor.get(f"/models/{model}?data={data['id']}&missing=em", headers={"Accept": "text/html"})
    assert shown.status_code == 200
    for figure in visitor.get(f"/api/v1/models/{model}/figures?data={data['id']}&missing=em").json()[
        "figures"
    ]:
        path = f"/api/v1/models/{model}/figures/{figure}?data={data['id']}&missing=em"
        assert visitor.get(path, headers={"Accept": "image/svg+xml"}).status_code == 200


def test_new_rows_with_nulls(visitor, ids):
    rows = [[1, 2, 3, None, 5], [None] * 5, [1, 2, 3, 4, 5]]
    values = np.array([[np.nan if value is None else value for value in row] for row in rows])
    refused = visitor.post(f"/api/v1/models/{ids['pca']}/transform", json=rows)
    assert refused.status_code == 422
    assert "A PCA that was fitted with missing=" in refused.json()["error"]
    data = visitor.post("/api/v1/data?name=holes.csv&missing=em", content=holed_csv(), headers=CSV).json()
    fit = {"data": data["id"], "parameters": {"n_components": 3}, "reading": {"missing": "em"}, "name": "em"}
    model = fitted(visitor, fit)["id"]
    expected = PCA(3, missing="em").fit(np.delete(HOLED, 7, axis=0))
    answer = visitor.post(f"/api/v1/models/{model}/transform", json=rows).json()
    assert any("too few observed entries" in note and "row 1" in note for note in answer["notes"])
    got = answer["values"]
    assert got[1] == [None] * 3
    np.testing.assert_allclose([got[0], got[2]], expected.transform(values[[0, 2]]), atol=1e-8)
    answer = visitor.post(f"/api/v1/models/{model}/reconstruct", json=rows).json()
    assert np.isfinite(np.array(answer["values"], dtype=float)).all()
    assert any("1 row with too few values was left out: row 1" in note for note in answer["notes"])
    answer = visitor.post(f"/api/v1/models/{model}/monitor", json=rows).json()
    table = monitor_of(expected).statistics(values[[0, 2]])
    np.testing.assert_allclose([row[0] for row in answer["values"][::2]], table["T2"])
    assert answer["values"][1][0] is None
    assert any("too few observed entries" in note and "row 1" in note for note in answer["notes"])
