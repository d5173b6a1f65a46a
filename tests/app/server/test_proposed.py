"""The same proposals for each of 26 tables from Python, the shell, HTTP, and the facts of its page."""

import html
import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import gramian
from gramian import KernelPCA
from gramian.app.cli import main
from gramian.core.checks import plain
from helpers import as_proposed
from served import fitted

STRANGE = Path(__file__).parents[2] / "strange"
API, CSV = "/api/v1", {"content-type": "text/csv"}


def tables():
    """Yield 26 texts by name."""
    rng, n = np.random.default_rng(0), np.arange(60)
    for name in ("survey.csv", "proteins.txt", "soils.csv", "players.csv"):
        yield name, (STRANGE / name).read_text(encoding="utf-8")
    for name in ("iris", "wine", "breast_cancer", "diabetes", "linnerud"):
        yield name, getattr(datasets, f"load_{name}")(as_frame=True).frame.to_csv(index=False)
    penguins = files("gramian").joinpath("examples", "penguins.csv").read_text(encoding="utf-8")
    yield "penguins", penguins
    yield "penguins with a hole", penguins.replace("39.1", " ")
    head, *lines = penguins.splitlines()
    yield "rows with numbers", "\n".join([f",{head}", *(f"{i},{line}" for i, line in enumerate(lines, 1))])
    yield "no header", "\n".join(lines[10:200])
    size = rng.standard_normal(60)
    base = pd.DataFrame({"a": size, "b": 2 * size + rng.standard_normal(60), "c": rng.standard_normal(60)})
    more = {
        "people": {"groesse_cm": 175 + 9 * size, "gewicht_kg": 76 + 12 * size, "alter_jahre": n % 47 + 18},
        "patients": {"no": rng.permutation(90_000)[:60] + 10_000},
        "patients without a name": {"patient": rng.permutation(90_000)[:60] + 10_000},
        "dates": {"taken": [f"{1 + i % 28:02}.{1 + i // 28:02}.2024" for i in n]},
        "years": {"year": 2000 + n // 20},
        "commas in names": {
            "kind, or sort": np.where(n % 2, "m", "f"),
            "said, read": [f"r{i % 31}" for i in n],
        },
        "copies": {"again": size, "fahrenheit": 1.8 * size + 32, "same": 7},
        "almost empty": {"rare": np.where(n % 2, np.nan, size), "nothing": ""},
        "classes": {"cluster": n % 3, "sex": np.where(n % 2, "m", "f"), "remark": [f"r{i % 31}" for i in n]},
    }
    for name, columns in more.items():
        yield name, base.assign(**columns).round(6).to_csv(index=False)
    counts = rng.negative_binomial(1, 1 / (1 + rng.lognormal(3, 1.5, (60, 1))), (60, 8))
    genes = pd.DataFrame(counts, columns=[f"ctrl_{j}" for j in range(8)])
    yield "genes", genes.assign(gene=[f"ENSG{i:05}" for i in n]).iloc[:, ::-1].to_csv(index=False)
    yield "counts", pd.DataFrame(counts.T).add_prefix("word ").to_csv(index=False)
    text = base.round(3).to_csv(index=False, sep=";", decimal=",")
    yield "german", text
    marked = base.round(6).astype(object)
    marked.iloc[41] = "err"
    yield "texts among numbers", marked.to_csv(index=False)


def as_fit(item, method="pca"):
    """Return a fit of data with all that is proposed for it."""
    fit = {"data": item["id"], "reading": {}, "parameters": {}}
    for one in item["facts"]["proposals"][method]:
        options = fit["parameters" if one["option"] in KernelPCA().get_params() else "reading"]
        if isinstance(one["value"], list) or one["option"] == "drop":
            values = one["value"] if isinstance(one["value"], list) else [one["value"]]
            options[one["option"]] = [*options.get(one["option"], []), *values]
        else:
            options[one["option"]] = one["value"]
    return fit


def test_the_page_reads_texts_among_numbers_as_missing_values(client):
    *_, (_, text) = tables()
    id = client.post(f"{API}/data", content=text.encode(), headers=CSV).json()["id"]
    words, holes = '"err" (3 times): read as missing values.', "3 values are missing in a, b, c."
    page, undone = (
        html.unescape(client.get(f"/data/{id}", params=params).text) for params in ({}, {"na_values": ""})
    )
    assert words in page
    assert holes in page
    assert '"na_values": ["err"]' in page
    assert words in undone
    assert holes not in undone
    assert '"na_values": ""' in undone


def test_the_page_reads_slips_as_they_are_meant(client):
    text = "x,y\n" + "".join(f"{i * i % 7},{i % 5}.5\n" for i in range(30)) + "1,O.5\n"
    id = client.post(f"{API}/data", content=text.encode(), headers=CSV).json()["id"]
    page, undone = (
        html.unescape(client.get(f"/data/{id}", params=params).text) for params in ({}, {"slips": ""})
    )
    for shown in (page, undone):
        assert '"O.5" in row 30 of "y" is most likely 0.5: read as meant.' in shown
    assert '"slips": "read"' in page
    assert '"slips": ""' in undone


@pytest.mark.parametrize(
    ("method", "some"),
    [
        ("pca", slice(0, None, 2)),
        pytest.param("pca", slice(1, None, 2), marks=pytest.mark.walk),
        ("kernel-pca", slice(1, None, 4)),
    ],
)
@pytest.mark.walk
def test_the_same_is_proposed_everywhere(method, some, client, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    every = list(tables())
    assert len(every) == 26
    for name, text in every[some]:
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        found = gramian.propose(tmp_path / "table.csv", method)
        expected = [plain(vars(one)) for one in found]
        if method == "pca":
            scanned = as_proposed("table.csv")
            assert gramian.propose(scanned).active.reading == {}, name  # nothing is left to propose
        item = client.post(f"{API}/data", content=text.encode(), headers=CSV).json()
        assert item["facts"]["proposals"][method] == expected, name
        page = client.get(f"/data/{item['id']}").text
        if method == "pca":
            assert all(f'data-value="{one.value}"' in page for one in found if one.option == "label"), name

        estimator = "PCA" if method == "pca" else "KernelPCA"
        takes = {*gramian.scan.__dataclass_fields__, *getattr(gramian, estimator)().get_params()}
        expected = [one for one in expected if one["option"] in takes]
        answer = client.post(f"{API}/plans", json=as_fit(item, method) | {"estimator": estimator})
        assert answer.status_code == 200, (name, answer.text)

        kernel = ["--kernel", "rbf"] if method == "kernel-pca" else []
        capsys.readouterr()
        assert main(["fit", "table.csv", "--json", *kernel]) == 0, (name, capsys.readouterr().err)
        facts = json.loads(capsys.readouterr().out)
        active = [one for one in expected if not one["evidence"].get("automatic")]
        assert facts["proposals"] == [one for one in active if one["option"] != "kernel"], name


@pytest.mark.walk
def test_shell_server_and_report_have_one_number_of_components_and_one_most_unusual_row(
    client, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    wide = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 50)).cumsum(axis=1))
    wide.iloc[17] *= 9
    every = dict(tables()) | {"wide": wide.add_prefix("at ").to_csv(index=False)}
    for name, count in (("penguins", 4), ("wine", 10), ("wide", 10)):
        (tmp_path / "table.csv").write_text(every[name], encoding="utf-8")
        assert main(["fit", "table.csv", "-o", "m.gramian", "--json"]) == 0
        shell = json.loads(capsys.readouterr().out)
        assert main(["monitor", "m.gramian", "table.csv", "--json"]) == 0
        alarms = json.loads(capsys.readouterr().out)["worst"]
        assert main(["report", "m.gramian", "table.csv", "-o", "shell.html"]) == 0
        capsys.readouterr()

        item = client.post(f"{API}/data", content=every[name].encode(), headers=CSV)
        model = fitted(client, as_fit(item.json()))
        reading = {"data": item.json()["id"], **model["facts"]["fit"]["reading"]}
        rows = client.post(f"{API}/models/{model['id']}/monitor", params=reading).json()
        excess = [row[rows["columns"].index("excess")] for row in rows["values"]]
        numbers = rows["names"] or rows["numbers"] or range(len(excess))
        worst = [str(numbers[place]) for place in np.argsort(-np.array(excess), kind="stable")]

        reports = [
            client.get(f"{API}/models/{model['id']}/report", params=reading).text,
            (tmp_path / "shell.html").read_text(encoding="utf-8"),
        ]
        assert shell["model"]["n_components"] == model["facts"]["model"]["n_components"] == count, name
        assert [str(row["row"]) for row in alarms] == worst[: len(alarms)], name
        for report in reports:
            first = re.search(
                r"Largest T2 or SPE.*?<tbody>\s*<tr><td[^>]*><bdi>(.*?)</bdi>", report, re.DOTALL
            )
            assert first[1] == worst[0], name
            assert f"{count} components" in report, name


@pytest.mark.walk
def test_a_row_has_the_number_of_the_file_below_rows_that_were_left_out(
    client, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((80, 1)) + rng.standard_normal((80, 4)), columns=[*"abcd"])
    table.iloc[56], table.iloc[[3, 10, 11]] = [90, -80, 70, 60], np.nan
    text = table.to_csv(index=False)
    (tmp_path / "t.csv").write_text(text)
    assert main(["fit", "t.csv", "-o", "out", "--report", "--json"]) == 0
    finding = json.loads(capsys.readouterr().out)["diagnosis"][0]
    assert (finding["code"], finding["evidence"]["row"]) == ("one-row", 56)
    assert finding["sentence"].startswith("Row 56 alone has")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Row 56 alone has" in report
    assert (
        re.search(r"Largest T2 or SPE.*?<tbody>\s*<tr><td[^>]*><bdi>(.*?)</bdi>", report, re.DOTALL)[1]
        == "56"
    )
    assert (tmp_path / "out" / "scores.csv").read_text().splitlines()[4].startswith("4,")
    assert main(["monitor", "out", "t.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worst"][0]["row"] == 56

    item = client.post(f"{API}/data", content=text.encode(), headers=CSV).json()
    model = fitted(client, as_fit(item))
    evidence = model["facts"]["diagnosis"][0]["evidence"]
    reading = {"data": item["id"], **model["facts"]["fit"]["reading"]}
    rows = client.post(f"{API}/models/{model['id']}/monitor", params=reading).json()
    assert (evidence["row"], rows["numbers"][evidence["place"]]) == (56, 56)
    assert "Row 56 alone has" in client.get(f"/models/{model['id']}").text
