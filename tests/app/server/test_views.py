"""What the server shows is what Python gives."""

import io
import json
import os
import re
import zipfile
from importlib.resources import files
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import gramian
from gramian import PCA, KernelPCA, Monitor, Whitener
from gramian.app.server import tasks
from gramian.app.server.routes import EXAMPLES
from gramian.figures.linked import MARGIN
from gramian.figures.registry import FIGURES, available
from gramian.figures.style import VARIABLES
from gramian.kernels import audit, kernel_from_name
from gramian.report.headline import headline
from gramian.report.sections import survey
from helpers import npy
from served import BINARY, CSV, FACES, X, client_of, fitted

pytest.importorskip("matplotlib", reason='no figures: pip install "gramian[plots]"')
API = "/api/v1"
JSON = {"Content-Type": "application/json"}
SHEET = {"Accept": "text/html"}


def rows_csv():
    """Five numbers with a kind, in which one value is missing."""
    lines = [",".join([*(f"{value!r}" for value in row), "uv"[i % 2]]) for i, row in enumerate(X.tolist())]
    lines[7] = lines[7].replace(lines[7].split(",")[2], "")
    return "\n".join(["a,b,c,d,e,kind", *lines]).encode()


def zipped(faces):
    from gramian.figures.images import Picture

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for place, (picture, person) in enumerate(zip(faces.pictures, faces.people, strict=True)):
            archive.writestr(f"{person}/{place}.png", Picture(picture).png())
    return stream.getvalue()


@pytest.fixture(scope="module")
def visitor(server):
    with client_of(server) as client:
        yield client


@pytest.fixture(scope="module")
def beside(visitor):
    """Data of which a text column needs a use and a hole a filling, and what then is read of it."""
    got = visitor.post(f"{API}/data?name=rows.csv", content=rows_csv(), headers=CSV)
    assert got.status_code == 201, got.text
    query = {"data": got.json()["id"], "label": "kind", "missing": "mean"}
    return got.json(), query, gramian.scan(io.BytesIO(rows_csv()), label="kind", missing="mean").read()


@pytest.fixture(scope="module")
def models(visitor, ids, files, beside, tmp_path_factory):
    """Models and their ids."""
    made = {"pca": PCA(3).fit(beside[2]), "kernel": KernelPCA(3, kernel="rbf", gamma=0.05).fit(beside[2])}
    known = {"faces": (gramian.load(files / "faces.gramian"), ids["faces"])}
    for name, model in made.items():
        path = tmp_path_factory.mktemp("made") / "m.gramian"
        model.save(path)
        sent = visitor.post(f"{API}/models", content=path.read_bytes(), headers=BINARY)
        known[name] = model, sent.json()["id"]
    return known


def numbers_in(spec):
    """All tables inside a specification, whatever they are called."""
    results = [data["values"] for data in walked(spec, "data") if "values" in data]
    return results + [rows for named in walked(spec, "datasets") for rows in named.values()]


def walked(part, key):
    if isinstance(part, dict):
        yield from [part[key]] if isinstance(part.get(key), dict) else []
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from walked(one, key)


def test_a_draft_says_what_each_column_is(beside):
    item, _, _ = beside
    facts = item["facts"]
    assert (facts["rows"], facts["columns"], facts["preview"]["width"]) == (60, 6, 6)
    kinds = {column["name"]: (column["kind"], column["missing"]) for column in facts["preview"]["columns"]}
    assert kinds["kind"] == ("text", 0)
    assert kinds["c"] == ("number", 1)
    assert facts["problem"].startswith("rows.csv has 1 column that holds no numbers: 'kind'")
    for word in ("standard input", "--"):
        assert word not in facts["problem"]


@pytest.mark.walk
def test_figures_are_those_of_python(visitor, models, beside):
    _, query, table = beside
    for name, (model, id) in models.items():
        place = f"{API}/models/{id}/figures"
        shown = {} if name == "faces" else query
        expected = available(model, None if name == "faces" else table)
        listed = visitor.get(place, params=shown).json()
        assert listed["figures"] == list(listed["titles"]) == [figure.name for figure in expected]
        assert listed["columns"] == ([] if name == "faces" else ["kind", *"abcde"])
        for figure in expected:
            got = visitor.get(f"{place}/{figure.name}", params=shown)
            assert got.status_code == 200, got.text
            assert set(got.json()) == {"spec" if figure.name in tasks.LINKED else "svg", "title", "caption"}
            sent = visitor.get(f"{place}/{figure.name}", params=shown | {"format": "csv"})
            drawn = figure.data_of(model, None if name == "faces" else table, hue="kind")
            assert sent.content == tasks.as_csv(drawn.columns), figure.name
            if "svg" in got.json():
                svg = ElementTree.fromstring(got.json()["svg"])
                assert not {"script", "style", "title"} & {one.tag.rpartition("}")[2] for one in svg.iter()}
                assert not any("style" in one.attrib for one in svg.iter())  # the page forbids them
    scores = f"{API}/models/{models['pca'][1]}/figures/scores"
    got = visitor.get(scores, params=query | {"components": "3,1", "hue": "b"}).json()["spec"]
    assert set(numbers_in(got)[0][0]) >= {"PC3", "PC1"}
    loadings = scores.replace("scores", "loadings")
    for params, named in (({}, {"PC1", "PC2", "PC3"}), ({"components": "3"}, {"PC3"})):
        (rows, *_) = numbers_in(visitor.get(loadings, params=query | params).json()["spec"])
        assert {row["component"].split()[0] for row in rows} == named
    got = visitor.get(scores, params=query | {"width": 340}).json()["spec"]
    assert got["width"] == 340 - MARGIN
    assert not set(VARIABLES) & {one.lower() for one in re.findall('"(#[0-9A-Fa-f]{6})"', json.dumps(got))}
    css = visitor.get("/static/page.css").text
    assert all(f"--figure-{name}: " in css for name in VARIABLES.values())
    for wrong, word in (
        ({"components": "1,4"}, "from 1 to 3"),
        ({"components": "2,2"}, "not two different components"),
        ({"components": f"1,{10**9}"}, "from 1 to 3"),
        ({"hue": "z"}, "not a column"),
        ({"hue": 10_000 * "z"}, "not a column"),
        ({"data": "../../etc/passwd"}, "pattern"),
        ({"rows": "60:"}, "row"),
    ):
        got = visitor.get(scores, params=query | wrong)
        assert (got.status_code, word in got.json()["error"]) == (422, True), got.text
    got = visitor.get(scores)
    assert (got.status_code, "Choose the data to plot" in got.json()["error"]) == (422, True)
    for name in ("nothing", "__class__", "x" * 5000, "%2e%2e%2fpasswd", "Scree"):
        assert visitor.get(f"{API}/models/{models['pca'][1]}/figures/{name}").status_code in (404, 422)


def test_operations_over_http_answer_as_in_python(visitor, models, beside, tmp_path):
    _, query, table = beside
    model, id = models["pca"]
    place = f"{API}/models/{id}"
    listed = {one["name"]: one for one in visitor.get(f"{API}/operations").json()}
    assert set(listed) >= {"stability", "compare", "describe", "monitor"}
    assert [one["name"] for one in listed["stability"]["options"]] == ["n_resamples", "level", "random_state"]
    expected = gramian.stability(model, table, n_resamples=20, level=0.9, random_state=0)
    asked = query | {"n_resamples": 20, "level": 0.9, "draw": 400}
    got = visitor.post(f"{place}/stability", params=asked).json()
    assert got["text"].rstrip() == str(expected)
    assert got["facts"]["n_resamples"] == 20
    assert 'viewBox="0 0 300 ' in got["figures"]["stability"]["svg"]  # points of 400 pixels
    PCA(3).fit(table.values[5:]).save(tmp_path / "new.gramian")
    content = (tmp_path / "new.gramian").read_bytes()
    new = visitor.post(f"{API}/models", content=content, headers=BINARY).json()["id"]
    got = visitor.post(f"{place}/compare?new={new}&tol=1e-9").json()
    assert (got["facts"]["within_tolerance"], got["figures"]) == (False, {})
    assert visitor.post(f"{place}/compare?new={id}").json()["facts"]["largest_change"] == 0
    got = visitor.post(f"{place}/describe", params=query | {"top": 1}).json()
    assert [one["name"] for one in got["facts"]["variables"]] == ["kind"]
    batches = "\n".join(["batch", *("early" if place < 20 else "late" for place in range(60))])
    meta = visitor.post(f"{API}/data", content=batches.encode(), headers=CSV).json()["id"]
    got = visitor.post(f"{place}/describe", params=query | {"meta": meta}).json()
    assert {one["name"] for one in got["facts"]["variables"]} == {"kind", "batch"}
    for path, params, word in (
        ("stability", query | {"level": 2}, "level=2.0 must be"),
        ("stability", query | {"alpha": 0.1}, "alpha: Extra inputs are not permitted"),
        ("compare", {}, "new"),
        ("compare", {"new": "x"}, "new"),
    ):
        got = visitor.post(f"{place}/{path}", params=params)
        assert (got.status_code, word in got.json()["error"]) == (422, True), got.text


def test_operations_on_data_answer_as_in_python(visitor, beside):
    item, query, table = beside
    reading = {name: value for name, value in query.items() if name != "data"}
    listed = {one["name"]: one["on"] for one in visitor.get(f"{API}/operations").json()}
    assert {name for name, on in listed.items() if on == "data"} >= {"whiten", "relations", "select"}
    assert not {"fit", "plan", "export", "kernels audit"} & set(listed)

    def asked(verb, **options):
        return visitor.post(f"{API}/data/{item['id']}/{verb}", params=reading | options)

    got = asked("whiten", method="pca").json()
    np.testing.assert_allclose(got["values"], Whitener("pca").fit_transform(table), atol=1e-8)
    assert got["labels"][:2] == ["u", "v"]
    got = asked("relations", degree=1, draw=400).json()
    assert got["text"].rstrip() == str(gramian.relations(table, 1))
    assert got["figures"] == {}
    assert "Nothing is drawn: no equation is between two columns." in got["notes"]
    got = asked("select", k=2).json()
    expected = gramian.FeatureFilter(k=2, random_state=0).fit(table)
    assert got["facts"]["kept"] == expected.get_feature_names_out().tolist()
    got = asked("choose-components", rules="mle,kaiser")
    assert set(got.json()["facts"]["rules"]) == {"mle", "kaiser"}
    got = asked("choose-kernel", criterion="preimage", candidates=["linear", "rbf(sigma=2)"]).json()
    choice = gramian.choose_kernel(table, candidates=["linear", "rbf(sigma=2)"], criterion="preimage")
    assert got["text"] == str(choice)
    for verb, options, field in (
        ("select", {"label": [], "columns": ["a", "b"]}, "label"),
        ("select", {"k": "many"}, "k"),
        ("select", {"estimator": "nothing", "k": "cv"}, "estimator"),
        ("whiten", {"method": "nothing"}, "method"),
        ("whiten", {"data": item["id"]}, "data"),
        ("relations", {"degree": 0}, "degree"),
        ("choose-kernel", {"criterion": "score", "label": [], "columns": ["a", "b"]}, "criterion"),
    ):
        got = asked(verb, **options)
        assert (got.status_code, field in got.json()["error"]) == (422, True), (verb, got.text)


def whitener_file(folder):
    Whitener().fit(X).save(folder / "w.gramian")
    return (folder / "w.gramian").read_bytes()


@pytest.mark.walk
def test_unusual_rows_are_those_of_the_report(visitor, models, ids, beside, tmp_path):
    _, query, table = beside
    for name in ("pca", "kernel"):
        model, id = models[name]
        got = visitor.post(f"{API}/models/{id}/monitor", params=query).json()
        result = survey(model, table, 1 << 30).statistics
        assert got["columns"] == [name for name in result.finite if name[:3] in ("T2", "T2 ", "SPE", "exc")]
        np.testing.assert_allclose(np.array(got["values"])[:, 0], result["T2"])
        for column in ("alarm", "contributor 1", "contributor 3"):
            assert got[column] == result[column].tolist()
        assert result.summary in got["notes"]
        assert [event["length"] for event in got["events"]] == result.events["length"].tolist()
    place, data = f"{API}/models/{models['pca'][1]}/monitor", query["data"]
    limited = visitor.post(place, params=query | {"normal": data, "alpha": 0.2}).json()
    expected = Monitor(models["pca"][0], alpha=0.2).fit(table).statistics(table, rows="auto")
    assert np.array(limited["values"])[0, 1] == pytest.approx(expected["T2 limit"][0])
    got = visitor.post(f"{API}/models/{models['pca'][1]}/transform", params=query | {"alpha": 0.2})
    assert (got.status_code, got.json()["error"].startswith("alpha")) == (422, True)
    assert visitor.post(place, params=query | {"alpha": 2}).status_code == 422
    Monitor(models["pca"][0], alpha=0.3).fit(table).save(tmp_path / "m.gramian")
    saved = visitor.post(
        f"{API}/models", content=(tmp_path / "m.gramian").read_bytes(), headers=BINARY
    ).json()
    assert "empirical" in saved["facts"]["limits"]
    mine = f"{API}/models/{saved['id']}"
    assert "Limits for 30.00 % false alarms" in str(
        visitor.post(f"{mine}/monitor", params=query).json()["notes"]
    )
    got = visitor.post(f"{mine}/monitor", params=query | {"alpha": 0.2})
    assert (got.status_code, "a saved monitor has its own" in got.json()["error"]) == (422, True)
    for route in ("transform", "reconstruct", "monitor"):
        got = visitor.post(f"{mine}/{route}", params=query)
        assert got.status_code == 200, (route, got.text)
    for route in ("figures", "figures/control-chart", "report", "results", "code"):
        got = visitor.get(f"{mine}/{route}", params=query)
        assert got.status_code == 200, (route, got.text)
    assert visitor.get(f"/models/{saved['id']}", params=query).status_code == 200
    whitener = visitor.post(f"{API}/models", content=whitener_file(tmp_path), headers=BINARY).json()["id"]
    got = visitor.post(f"{API}/models/{whitener}/monitor", json=X.tolist())
    assert (got.status_code, "must be a PCA or a KernelPCA" in got.json()["error"]) == (422, True)
    got = visitor.post(f"{API}/models/{ids['faces']}/monitor", json=FACES.pictures[:2].tolist())
    assert (got.status_code, "model is a FaceSpace" in got.json()["error"]) == (422, True)


@pytest.mark.walk
def test_what_is_taken_along_works(visitor, models, ids, beside, tmp_path):
    _, query, table = beside
    model, place = models["pca"][0], f"{API}/models/{models['pca'][1]}"
    page = visitor.get(f"{place}/report")
    assert page.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "<title>PCA of standard input</title>" in page.text
    got = visitor.get(f"{place}/results", params=query)
    with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
        archive.extractall(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"model.gramian", "summary.md", "scores.csv"}
    assert (
        "<title>PCA of standard input, applied to rows.csv</title>" in (tmp_path / "report.html").read_text()
    )
    again = gramian.load(tmp_path / "model.gramian")
    np.testing.assert_array_equal(again.transform(table), model.transform(table))
    summary = (tmp_path / "summary.md").read_text()
    assert all(word not in summary for word in ("```sh", "standard input", "work/"))
    for refused, word in ((place, "?data=ID"), (f"{API}/models/{ids['faces']}", "no folder of results")):
        got = visitor.get(f"{refused}/results", params=query if refused != place else {})
        assert (got.status_code, word in got.text) == (422, True)
    told = visitor.get(f"{place}/code", params=query).json()["python"]
    (tmp_path / "rows.csv").write_bytes(rows_csv())
    entries = {}
    exec(told.replace("'rows.csv'", repr(str(tmp_path / "rows.csv"))), entries)  # what a person would run
    np.testing.assert_allclose(entries["model"].components_, PCA(3).fit(table).components_)


def test_a_kernel(visitor):
    answer = visitor.post(f"{API}/kernels", json={"kernel": "rbf - 0.5*laplacian"}).json()
    got = answer["facts"]
    result = audit(kernel_from_name("rbf - 0.5*laplacian"), random_state=0)
    assert (got["valid"], got["verdict"], answer["text"]) == (False, "not a kernel", str(result))
    steps = [(step["expression"], step["status"]) for step in got["steps"]]
    assert steps == [  # each after its parts
        *(("rbf()", "proven"), ("laplacian()", "proven"), ("-0.5 * laplacian()", "unknown")),
        ("rbf() - 0.5 * laplacian()", "unknown"),
    ]
    assert got["formula"] == str(kernel_from_name("rbf - 0.5*laplacian"))
    got = visitor.post(f"{API}/kernels", json={"kernel": "rbf + linear", "n_features": 1}).json()
    assert got["facts"]["valid"]
    for wrong, word in (
        ("exp(exp(exp(linear)))", "overflows"),
        ("(" * 400 + "rbf" + ")" * 400, "cannot be read"),
        ("+".join(["rbf"] * 240), "nested too deeply"),
        ("__import__('os').system('id')", "not known"),
        ("rbf\n+ linear", "one line"),
    ):
        got = visitor.post(f"{API}/kernels", json={"kernel": wrong})
        assert (got.status_code, word in got.json()["error"]) == (422, True), got.text
    assert visitor.post(f"{API}/kernels", json={"kernel": "x" * 1001}).status_code == 422


def test_a_search_for_a_counter_example_ends_at_its_time_limit():
    options = {"kernel": "rbf - 1e-9*linear", "time_limit": 1e-9, "n_features": 1}
    assert "It ended at its time limit" in json.loads(tasks.operate("kernels audit", options))["text"]


@pytest.mark.walk
def test_examples(visitor, server):
    for name, rows in (("digits", 1797), ("rings", 200), ("faces", 320)):
        got = visitor.post(f"{API}/examples/{name}")
        assert got.status_code == 201, got.text
        assert (got.json()["facts"]["rows"], got.json()["given"]) == (rows, False)
        assert (got.json()["facts"].get("picture_shape") is None) == (name == "rings")
    assert visitor.post(f"{API}/examples/other").status_code == 422
    assert list(server.app.state.gramian.work.iterdir()) == []


def excel(rows):
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def test_the_page_offers_to_choose_files_of_every_kind(client):
    offered = set(re.search('accept="(.*?)"', client.get("/").text)[1].split(","))
    assert {".csv", ".xlsx", ".npy", ".mat", ".h5ad", ".tiff", ".zip", ".gz", ".json"} <= offered
    assert not {"", ".bed"} & offered


@pytest.mark.walk
def test_files_of_every_kind_are_looked_at(client):
    draft = f"{API}/data?name=x"
    stream = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": [1, 2], "kind": ["u", "v"]}), stream)
    wide = ",".join(f"c{j}" for j in range(10_000)) + "\n" + "\n".join([",".join(["1"] * 10_000)] * 2)
    for content, headers, rows, width, problem in (
        (b"a,kind\n1,u\n2,v\n", CSV, 2, 2, "'kind'"),
        (b"a,a,b\n1,2,3\n4,5,7\n", CSV, 2, 3, None),
        (b"a,b\n1,2\n1,3\n", CSV, 2, 2, None),
        (b"a,b\n1,2\n", CSV, 1, 2, None),
        (b"a,b\n1,\n2,NA\n", CSV, 2, 2, "no value at all"),
        (b"a,b\nx,y\nu,v\n", CSV, 2, 2, "no numeric columns"),
        (wide.encode(), CSV, 2, 10_000, None),
        (b'[{"a": 1, "kind": "u"}, {"a": null, "kind": "v"}]', JSON, 2, 2, "x has"),
        (excel([["a", "kind"], [1, "u"], [2.5, "v"]]), BINARY, 2, 2, "'kind'"),
        (stream.getvalue(), BINARY, 2, 2, "'kind'"),
        (npy(X), BINARY, 60, 5, None),
        (npy(FACES.pictures), BINARY, 48, None, None),
        (zipped(FACES.take([0, 1, 2])), BINARY, 3, None, None),
    ):
        got = client.post(draft, content=content, headers=headers)
        assert got.status_code == 201, got.text
        assert len(got.content) < 60_000
        facts = got.json()["facts"]
        assert facts["rows"] == rows
        assert (facts["preview"] or {}).get("width") == width
        assert (facts["problem"] is None) == (problem is None), facts["problem"]
        if problem is not None:
            assert problem in facts["problem"]
            assert "--" not in facts["problem"]
    for content, headers, status, word in (
        (b"", CSV, 400, "empty"),
        (b"\n\n", CSV, 422, "x has no rows"),
        (b"a,b\n", CSV, 422, "x has no rows"),
        (b"a,b\n1,2,3\n4,5\n", CSV, 422, "x, line 3"),
        (npy(np.zeros((2, 3, 4, 5))), BINARY, 422, "x holds 2 x 3 x 4 x 5"),
        (npy(np.zeros((0, 5))), BINARY, 422, "no rows"),
    ):
        got = client.post(draft, content=content, headers=headers)
        assert (got.status_code, word in got.json()["error"]) == (status, True), got.text
    named = json.dumps([{5_000_000 * "x": 1}, {5_000_000 * "x": 2}])
    got = client.post(draft, content=named.encode(), headers=JSON)
    assert (got.status_code, "names are too long" in got.json()["error"]) == (422, True)
    # A label of any length is told in few letters.
    long = b"a,kind\n1," + 100_000 * b"u" + b"\n2,v\n"
    got = client.post(f"{draft}&label=kind", content=long, headers=CSV)
    assert len(got.content) < 2_000


EVIL = "a\"b'\r\n<script>alert(1)</script>\u202e{{7*7}}'); import os #"


@pytest.mark.walk
def test_names_are_shown_as_text(client):
    table = 'a,"b""<script>\n",kind\n1,2,<img src=x onerror=alert(1)>\n3,5,u\n4,4,u\n'
    item = client.post(f"{API}/data", params={"name": EVIL}, content=table.encode(), headers=CSV).json()
    assert item["name"] == EVIL
    page = client.get(f"/data/{item['id']}", headers=SHEET).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{7*7}}" in page
    assert "<script>alert" not in client.get("/").text
    shown = {"data": item["id"], "label": "kind"}
    fit = {"data": item["id"], "parameters": {"n_components": 1}, "name": EVIL, "reading": {"label": "kind"}}
    model = fitted(client, fit)["id"]
    assert "<script>alert" not in client.get(f"/models/{model}", params=shown).text
    for what, named in (("report", "report.html"), ("results", "results.zip"), ("file", "model.gramian")):
        got = client.get(f"{API}/models/{model}/{what}", params={} if what == "file" else shown)
        assert got.headers["content-disposition"] == f'attachment; filename="{named}"'
        if what == "report":
            assert "<script>alert" not in got.text
            assert "<img src=x" not in got.text
    told = client.get(f"{API}/models/{model}/code", params=shown).json()["python"]
    assert compile(told, "code", "exec").co_names == ("gramian", "scan", "read", "X", "PCA", "fit", "model")


def test_proposals_are_applied_by_a_client_who_wants_them(visitor):
    item = visitor.post(f"{API}/examples/penguins").json()
    assert (item["name"], item["facts"]["rows"], item["facts"]["columns"]) == ("penguins.csv", 344, 8)
    reading, parameters = {"drop": []}, {"n_components": 2}
    for one in item["facts"]["proposals"]["pca"]:
        assert set(one) == {"option", "value", "why", "evidence"}
        if one["option"] == "scale":
            parameters["scale"] = one["value"]
        elif one["option"] == "drop":
            reading["drop"].append(one["value"])
        else:
            reading[one["option"]] = one["value"]
    assert reading == {"label": "species", "drop": ["island", "sex", "year"], "missing": "drop-rows"}
    fit = {"data": item["id"], "parameters": parameters, "reading": reading}
    plan = visitor.post(f"{API}/plans", json=fit).json()
    assert plan["used"] == "4 columns, 342 rows; 2 rows without any value were left out: row 3, row 271"
    # Nothing applies them unasked.
    got = visitor.post(f"{API}/plans", json=fit | {"reading": {"drop": ["species", "island", "sex"]}})
    assert (got.status_code, 'missing="' in got.json()["error"]) == (422, True)
    for wrong, field in (({"n_components": 9}, "n_components"), ({"scale": "much"}, "scale")):
        got = visitor.post(f"{API}/plans", json=fit | {"parameters": wrong})
        assert (got.status_code, got.json()["error"].startswith(field)) == (422, True)
    page = visitor.get(f"/data/{item['id']}", headers=SHEET).text
    assert re.search(r'id="label">.*<option value="species" selected', page)
    assert re.search(r'value="year" data-kind="number" data-place="\d" aria-label="use year">', page)


def test_a_column_put_to_another_use_leaves_the_stored_one(visitor):
    content = (files("gramian") / "examples" / "penguins.csv").read_bytes()
    query = "name=penguins.csv&drop=species&drop=island&drop=sex&drop=year&missing=drop-rows"
    item = visitor.post(f"{API}/data?{query}", content=content, headers=CSV).json()
    for reading in ({"label": ["island", "sex"]}, {"weights": "year", "label": "island"}, {}):
        got = visitor.post(f"{API}/plans", json={"data": item["id"], "reading": reading})
        assert got.status_code == 200, got.text
        assert got.json()["used"].startswith("4 columns, 34")


def test_the_first_picture_of_rings_tells_them_apart(tmp_path):
    path = files("gramian") / "examples" / "rings.csv"
    table = gramian.scan(path, label="ring").read()
    KernelPCA(3, kernel="rbf(sigma='median')").fit(table).save(tmp_path / "rings.gramian")
    data = {
        "path": str(path),
        "name": "rings.csv",
        "kind": ".csv",
        "given": False,
        "reading": {"label": "ring"},
    }
    shown = tasks.figures({"path": str(tmp_path / "rings.gramian")}, data)
    assert shown["pair"] == [3, 1]
    assert shown["findings"][0].startswith("PC3 separates `inner` from `outer`")
    scores = gramian.load(tmp_path / "rings.gramian").transform(table)[:, 2]
    inner, outer = (scores[table.labels == kind] for kind in ("inner", "outer"))
    assert inner.max() < outer.min() or outer.max() < inner.min()
    PCA(2).fit(table).save(tmp_path / "linear.gramian")
    assert tasks.figures({"path": str(tmp_path / "linear.gramian")}, data)["pair"] == [1, 2]


def test_cards_show_what_comes_out_of_their_examples():
    folder = files("gramian.app") / "page"
    start = (folder / "start.html").read_text(encoding="utf-8")
    cards = dict(re.findall(r'\("(\w+)", "(\w+\.\w+)", "', start))
    assert set(cards) == set(EXAMPLES)
    read = {name: (folder / picture).read_bytes() for name, picture in cards.items()}
    for name, groups, dots in (("penguins", 3, 300), ("rings", 2, 200)):
        paths = re.findall(r'<path d="((?:M\d+ \d+h0)+)"', read[name].decode())
        assert (len(paths), sum(path.count("M") for path in paths)) == (groups, dots)
    across = [[int(x) for x in re.findall(r"M(\d+)", path)] for path in paths]
    assert max(across[0]) < min(across[1]) or max(across[1]) < min(across[0])
    assert all(read[name][:4] == b"\x89PNG" for name in ("digits", "faces"))


def test_every_figure_has_a_part_of_the_page():
    template = (files("gramian.app") / "page" / "model.html").read_text(encoding="utf-8")
    parts = " ".join(re.findall(r'part\(.*"([a-z -]+)"\)', template)).split()
    # A biplot is a switch of the scores; error bounds at rounding are a sentence.
    assert sorted([*parts, "biplot", "eigenvalues"]) == sorted(figure.name for figure in FIGURES)


def test_choices_and_findings_of_the_figures(visitor, models, beside):
    _, query, table = beside
    place = f"{API}/models/{models['pca'][1]}/figures"
    listed = visitor.get(place, params=query).json()
    assert (listed["hue"], listed["groups"]) == ("kind", {"kind": sorted(set(table.labels))})
    model = models["pca"][0]
    assert listed["findings"] == [*headline(model, table, model.transform(table)).sentences]
    scores = visitor.get(f"{place}/scores", params=query | {"hue": "", "style": "kind"}).json()["spec"]
    rows = max(numbers_in(scores), key=len)
    assert "style" in rows[0]
    assert "group" not in rows[0]
    told = visitor.get(f"{API}/models/{models['pca'][1]}/code").json()
    assert told["methods"].startswith("Principal component analysis (Jolliffe and Cadima, 2016)")


@pytest.mark.walk
def test_figures_are_files_with_sensible_names(visitor, models, beside):
    _, query, table = beside
    id = models["pca"][1]
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "csv": b"row,"}
    for figure in ("scores", "loadings", "scree", "control-chart"):
        for format, start in starts.items():
            got = visitor.get(f"{API}/models/{id}/figures/{figure}", params=query | {"format": format})
            assert got.status_code == 200, got.text
            assert got.headers["content-disposition"].endswith(f'{figure}.{format}"')
            if format == "svg":
                assert "var(" not in got.text  # in the light colours, without the page
            if (figure, format) == ("scores", "csv"):
                lines = got.text.splitlines()
                assert lines[0].split(",")[1:3] == ["PC1", "PC2"]
                assert len(lines) == len(table.values) + 1
            elif format != "csv":
                assert got.content.startswith(start)
    assert visitor.get(f"{API}/models/{id}/figures/scores?format=exe").status_code == 422


def test_a_model_page_names_a_column_that_dominates_by_its_unit(client):
    rows = np.random.default_rng(0).standard_normal((30, 3)) * [1.0, 1.0, 900.0]
    data = client.post(f"{API}/data?name=rows", content=npy(rows), headers=BINARY).json()["id"]
    asked = {"data": data, "parameters": {"n_components": 2}}
    model = fitted(client, asked)["id"]
    text = client.get(f"/models/{model}", headers=SHEET).text
    assert "of the variance because of its scale and decides the first component" in text
    found = client.get(f"{API}/models/{model}").json()["facts"]["diagnosis"]
    (one,) = (one for one in found if one["code"] == "scale-dominates")
    assert one["severity"] == "serious"
    assert one["remedy"] == 'If columns have different units, use scale="unit".'


def test_the_table_that_was_read_last_stays_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "_latest", {})
    model, parts, data = PCA(2).fit(np.eye(4)), {"path": "m.gramian"}, []
    for place in range(3):
        path = tmp_path / f"{place}.npy"
        np.save(path, np.eye(4) + place)
        data.append({"path": str(path), "name": "x", "kind": ".npy", "given": False, "reading": {}})
        tables = [tasks.rows_for(model, parts, data[place]) for _ in range(2)]
        assert tables[0] is tables[1]
        assert [*tasks._latest.values()] == tables[:1]
    np.save(path, np.eye(4) * 5)
    os.utime(path, ns=(1, 1))
    assert tasks.rows_for(model, parts, data[2]).values[0, 0] == 5


def test_a_reference_period_sets_the_limits_of_figure_and_table(client):
    X, hours = np.random.default_rng(0).standard_normal((90, 4)), np.arange(90) * np.timedelta64(1, "h")
    X[60:, 1] += 9
    names = [str(one).replace("T", " ") for one in np.datetime64("2024-05-01T00") + hours]
    lines = [",".join([name, *map(str, row)]) for name, row in zip(names, X.tolist(), strict=True)]
    content = "\n".join(["time,a,b,c,d", *lines]).encode()
    data = client.post(f"{API}/data?name=log.csv&id=time", content=content, headers=BINARY).json()["id"]
    place = f"{API}/models/{fitted(client, {'data': data, 'parameters': {'n_components': 2}})['id']}"
    asked = {"data": data, "id": "time", "reference": "2024-05-01,2024-05-02 23"}
    listed = client.get(f"{place}/figures", params={"data": data, "id": "time"}).json()
    assert listed["ordered"]
    rows = client.post(f"{place}/monitor", params=asked | {"consecutive": 5}).json()
    expected = Monitor(PCA(2), consecutive=5).fit(X[:48]).statistics(X)
    np.testing.assert_allclose(np.array(rows["values"])[:, 0], expected["T2"])
    (event,) = rows["events"]
    assert (event["start"], event["variable 1"]) == (names[60], "b")
    drawn = client.get(f"{place}/figures/control-chart", params=asked | {"format": "csv"}).text
    first = dict(zip(*(line.split(",") for line in drawn.splitlines()[:2]), strict=True))
    assert float(first["T2 limit"]) == pytest.approx(expected["T2 limit"][0])
    spec = client.get(f"{place}/figures/control-chart", params=asked).json()["spec"]
    assert [panel["layer"][1]["params"][0]["name"] for panel in spec["vconcat"]] == [
        "period_T2",
        "period_SPE",
    ]
    got = client.get(f"{place}/figures/control-chart", params=asked | {"reference": "2031-01,2031-02"})
    assert (got.status_code, "has 0 rows of log.csv" in got.json()["error"]) == (422, True)
    data = client.post(f"{API}/data?name=rows", content=npy(X[:60]), headers=BINARY).json()["id"]
    place = f"{API}/models/{fitted(client, {'data': data})['id']}"
    assert client.get(f"{place}/figures", params={"data": data}).json()["ordered"] is False


def test_the_code_repeats_a_corrected_fit(client, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).standard_normal((40, 4)).round(3).tolist()
    lines = [f'"r$\'{i}, <b>",{",".join(map(str, row))}' for i, row in enumerate(rows)]
    content = "\n".join(["name,a=b,b,c,d", *lines]).encode()
    (tmp_path / "t.csv").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    data = client.post(f"{API}/data?name=t.csv", content=content, headers=BINARY).json()["id"]
    cells = {"id": "name", "corrections": ["r$'3, <b>:a=b=1.5", "r$'4, <b>:c="], "exclude": ["r$'9, <b>"]}
    kernel = {"n_components": 2, "kernel": "rbf", "gamma": 0.1, "scale": "unit"}
    fits = (
        ("PCA", {"n_components": 2}, "em"),
        ("PCA", {"scale": "unit"}, "mean"),
        ("KernelPCA", kernel, "mean"),
    )
    for kind, parameters, missing in fits:
        reading = cells | {"missing": missing}
        order = {"data": data, "estimator": kind, "parameters": parameters, "reading": reading}
        place = f"{API}/models/{fitted(client, order)['id']}"
        code = client.get(f"{place}/code", params={"data": data, **reading}).json()
        made = {}
        exec(code["python"], made)
        (tmp_path / "page.gramian").write_bytes(client.get(f"{place}/file").content)
        expected = gramian.load("page.gramian").explained_variance_
        assert made["model"].n_samples_ == 39
        np.testing.assert_allclose(made["model"].explained_variance_, expected)
