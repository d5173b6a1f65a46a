import csv
from pathlib import Path

import numpy as np
import pytest

import gramian as package


def write_process(path, n, seed, odd=()):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2)) @ [[3, 2, 1, 0.5], [0, 1, 2, 3]] + 0.3 * rng.normal(size=(n, 4)) + 20
    for place in odd:
        rows[place, 2] += 9
    lines = ["hour,feed,steam,level,purge"]
    lines += [f"h{i}," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(rows)]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def plant(folder, gramian):
    """Files of a process, and a model of its first rows."""
    write_process("fit.csv", 400, 0)
    write_process("normal.csv", 600, 1)
    write_process("new.csv", 50, 2, odd=(7, 31))
    gramian.works("fit fit.csv --n-components 2 -o m.gramian")
    return folder


def test_a_table_of_alarms(plant, gramian):
    ran = gramian("monitor m.gramian new.csv --normal normal.csv -o alarms.csv --fail")
    assert ran.code == 3, ran.err
    rows = list(csv.DictReader(Path("alarms.csv").read_text().splitlines()))
    names = ["row", "T2", "T2 limit", "SPE", "SPE limit", "alarm"]
    assert list(rows[0]) == [*names, "contributor 1", "contributor 2", "contributor 3", "excess"]
    X = package.scan("new.csv").read()
    monitor = package.Monitor(package.load("m.gramian")).fit(package.scan("normal.csv"))
    expected = monitor.statistics(X)
    for name in ("T2", "SPE", "T2 limit", "SPE limit"):
        np.testing.assert_allclose([float(row[name]) for row in rows], expected[name])
    assert [row["row"] for row in rows if row["alarm"]] == ["h7", "h31"]
    assert {rows[7]["contributor 1"], rows[31]["contributor 1"]} == {"level"}
    assert "2 alarms in 50 rows." in ran.out
    gramian.works("monitor m.gramian normal.csv --alpha 1e-09 --fail")
    gramian.works("monitor m.gramian new.csv --normal normal.csv")


def test_a_frozen_sensor_is_named_and_fails(plant, gramian):
    head, *rows = Path("normal.csv").read_text().splitlines()
    parts = [row.split(",") for row in rows[:60]]
    for row in parts[20:]:
        row[4] = parts[20][4]
    Path("frozen.csv").write_text("\n".join([head, *map(",".join, parts)]) + "\n")
    asked = "monitor m.gramian frozen.csv --normal normal.csv --alpha 1e-12"
    ran = gramian(f"{asked} --fail")
    said = (
        "purge has one value in 40 rows from h20 on, and for at most 1 row in the normal ones: is it frozen?"
    )
    assert ran.code == 3, ran.err
    assert said in ran.out
    assert gramian(f"{asked} --json").json["frozen"] == [
        {"column": "purge", "start": "h20", "length": 40, "normal": 1}
    ]


def test_standard_output_and_json(plant, gramian):
    ran = gramian("monitor m.gramian new.csv -o -")
    assert ran.out.startswith("row,T2,T2 limit,SPE,SPE limit,alarm,")
    assert len(ran.out.splitlines()) == 51
    facts = gramian("monitor m.gramian new.csv --json").json
    assert (facts["rows"], facts["alarms"], facts["alpha"]) == (50, 2, 0.01)
    assert {one["method"] for one in facts["limits"]} == {"Beta", "F", "Jackson-Mudholkar"}
    assert {row["row"] for row in facts["worst"]} == {"h7", "h31"}
    # The rows of the fit are recognised, and get their own limits.
    worst = gramian("monitor m.gramian fit.csv --alpha 0.2 --json").json
    beta = next(one["value"] for one in worst["limits"] if one["method"] == "Beta")
    assert worst["worst"][0]["T2 limit"] == beta


def test_a_saved_monitor_is_a_model(plant, gramian):
    ran = gramian.works("monitor m.gramian new.csv --normal normal.csv --alpha 0.05 --save w.gramian")
    again = gramian("monitor w.gramian new.csv")
    assert ran.out == f"{again.out}Written: w.gramian\n"
    assert "empirical" in gramian("info w.gramian").out
    scores = [gramian(f"transform {name} new.csv").out for name in ("m.gramian", "w.gramian")]
    assert scores[0] == scores[1] != ""
    gramian.works("monitor w.gramian new.csv --normal fit.csv")
    gramian.refuses("monitor w.gramian new.csv --alpha 0.5", 2, "a saved monitor has its own")


def test_events_and_rules(plant, gramian):
    write_process("late.csv", 60, 3, odd=range(40, 60))
    made = "--normal normal.csv --consecutive 3"
    ran = gramian(f"monitor m.gramian late.csv {made}")
    assert (ran.code, "1 event of at least 3 alarms in a row." in ran.out) == (0, True), ran.err
    facts = gramian(f"monitor m.gramian late.csv {made} --json").json
    (event,) = facts["events"]
    assert (event["start"], event["length"], event["variable 1"]) == ("h40", 20, "level")
    assert [rule["consecutive"] for rule in facts["rules"]] == [1, 2, 3, 5, 10]
    assert gramian("monitor m.gramian late.csv --json").json["rules"] == []


def test_a_kernel_needs_normal_rows_for_a_limit_of_spe(plant, gramian):
    made = "--kernel rbf --gamma 0.01 --solver nystroem --n-landmarks 30"
    gramian.works(f"fit fit.csv {made} --n-components 2 -o k.gramian")
    ran = gramian("monitor k.gramian new.csv -o a.csv")
    assert "SPE has no limit" in ran.out
    assert "no limit" not in ran.err
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert {row["SPE limit"] for row in rows} == {""}
    ran = gramian("monitor k.gramian new.csv --normal normal.csv -o -")
    assert {row["SPE limit"] for row in csv.DictReader(ran.out.splitlines())}.isdisjoint({""})


def test_refusals(plant, gramian):
    gramian("whiten fit.csv -o white.gramian")
    for arguments, said in (
        ("white.gramian new.csv", "model is a Whitener, but must be a PCA or a KernelPCA"),
        ("m.gramian new.csv --alpha 2", "must be a number above 0 and below 1"),
        (
            "m.gramian new.csv --save x.csv",
            "save='x.csv': monitor writes a model. Name a file that ends in .gramian",
        ),
        ("m.gramian new.csv --save m.gramian", "is an input of this command"),
        ("m.gramian new.csv --normal normal.csv -o normal.csv", "is an input of this command"),
        ("m.gramian new.csv -o a.txt", "does not end in .csv"),
    ):
        gramian.refuses(f"monitor {arguments}", 2, said)
