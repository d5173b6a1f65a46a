"""The command ``describe``, and metadata in ``plot``, ``report`` and ``transform``."""

import json
from pathlib import Path

import numpy as np
import pytest

import gramian as package


@pytest.fixture
def samples(flower_model):
    """Metadata of the flowers in another order: f0, f3, ... were measured by one person."""
    rows = [f"f{i},{'ann' if i % 3 == 0 else 'bob'},{i % 2}.5,{i * i}" for i in range(30)]
    Path("samples.csv").write_text("flower,person,plot,age\n" + "\n".join(reversed(rows)) + "\n")


def test_metadata_are_described(samples, gramian):
    ran = gramian.works("describe m.gramian flowers.csv --drop species --meta samples.csv")
    assert "samples.csv was joined by row names: 30 of 30 rows have an entry" in ran.err
    lines = ran.out.splitlines()
    assert lines[0].split() == ["weighted", "PC1", "PC2", "PC3"]
    assert {line.split()[0] for line in lines[1:4]} == {"person", "plot", "age"}
    assert any(line.startswith("  PC1: length ") for line in lines)
    options = "--drop species --meta samples.csv --top 1 -o d.csv --json"
    ran = gramian(f"describe m.gramian flowers.csv {options}")
    facts = ran.json
    assert facts["files"] == ["d.csv"]
    table = package.scan("flowers.csv", drop="species").read()
    found = package.describe(package.load("m.gramian"), table, "samples.csv")
    for facts_of, r2, adjusted in zip(facts["variables"], found.r2, found.p_adjusted, strict=True):
        np.testing.assert_allclose(facts_of["r2"], r2)
        np.testing.assert_allclose(facts_of["p_adjusted"], adjusted)
    assert [len(one["loading"]) for one in facts["components"]] == [1, 1, 1]
    assert len(Path("d.csv").read_text().splitlines()) == 1 + 3 * 3


def test_columns_of_the_data_are_described(flower_model, gramian):
    text = Path("flowers.csv").read_text().splitlines()
    head, *rows = text
    rows = [f"{row},{'old' if i < 9 else 'young'}" for i, row in enumerate(rows)]
    Path("more.csv").write_text("\n".join([f"{head},group", *rows]) + "\n")
    ran = gramian("describe m.gramian more.csv --label species,group --json")
    assert {one["name"] for one in ran.json["variables"]} == {"group", "species"}
    ran = gramian("transform m.gramian more.csv --label species,group")
    assert ran.out.splitlines()[0] == "name,species,group,PC1,PC2,PC3"
    assert ran.out.splitlines()[1].startswith('"f0","setosa","old",')


@pytest.mark.walk
def test_figures_and_report_show_several_groupings(samples, gramian):
    pytest.importorskip("matplotlib")
    text = Path("flowers.csv").read_text().splitlines()
    head, *rows = text
    Path("more.csv").write_text(
        "\n".join([f"{head},group", *(f"{row},g{i % 4}" for i, row in enumerate(rows))]) + "\n"
    )
    drawn = {}
    for name, options in {
        "labels": "more.csv --label species,group",
        "colour": "more.csv --hue species",
        "options": "more.csv --hue species --style group",
        "meta": "more.csv --drop species,group --meta samples.csv --hue age --style person",
    }.items():
        gramian.works(f"plot m.gramian scores,metadata,biplot {options} -o {name}")
        drawn[name] = Path(name, "scores.svg").read_text()
    assert drawn["labels"] == drawn["colour"]
    assert "g3" not in drawn["labels"]  # a second grouping is drawn where it is asked for
    assert all(word in drawn["options"] for word in ("species", "virginica", "group", "g3"))
    assert all(word in drawn["meta"] for word in ("age", "person", "bob"))
    assert "weighted" in Path("meta", "metadata.svg").read_text()
    gramian.works("report m.gramian more.csv --drop species,group --meta samples.csv -o r.html")
    page = Path("r.html").read_text()
    assert "<h2>Metadata</h2>" in page
    assert "2 categories, n = 30" in page
    assert "joined by row names" in page


def test_refusals(samples, gramian):
    Path("bare.csv").write_text("length,width,height\n1,2,3\n2,3,5\n")
    for words, arguments in (
        ("meta is needed", "describe m.gramian bare.csv"),
        ("ends in .csv or .parquet", "describe m.gramian flowers.csv --label species -o d.npy"),
        ("is an input of this command", "describe m.gramian flowers.csv --meta samples.csv -o samples.csv"),
        ("meta is about the rows of DATA", "plot m.gramian --meta samples.csv"),
        ("meta is about the rows of DATA", "report m.gramian --meta samples.csv"),
        ("no such column", "describe m.gramian flowers.csv --label species,colour"),
        (
            "distinct values, but there are 8 markers",
            "plot m.gramian flowers.csv --style length --hue species",
        ),
        ("needs another model or DATA. Available: scores,", "plot m.gramian metadata bare.csv"),
    ):
        gramian.refuses(arguments, 2, words)


def test_texts_of_questions_are_in_the_table_and_the_facts(folder, gramian):
    rows = [f"{i * i % 7},{i % 5},{i % 3},{'ab'[i % 2]}" for i in range(20)]
    head = "Q1,Q2,Q3,Q4\nHow old are you?,How tall?,,Are you well?"
    Path("survey.csv").write_text("\n".join([head, *rows]))
    gramian.works("fit survey.csv --n-components 2 --as-is --label Q4 -o m.gramian")
    gramian.works("describe m.gramian survey.csv --label Q4 -o d.csv")
    lines = Path("d.csv").read_text().splitlines()
    assert lines[0].strip('"').endswith("description")
    assert all("Are you well?" in line for line in lines[1:])
    facts = json.loads(gramian.works("describe m.gramian survey.csv --label Q4 --json").out)
    texts = {"Q4": "Are you well?", "Q1": "How old are you?", "Q2": "How tall?"}
    assert facts["descriptions"] == texts
