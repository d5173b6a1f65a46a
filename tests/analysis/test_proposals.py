"""What a table suggests before a fit: by hand, and where nothing must be suggested."""

import io
from importlib.resources import files

import numpy as np
import pytest

from gramian import PCA, scan
from gramian.analysis.proposals import columns_to_drop, proposals
from gramian.analysis.units import dominant_columns
from gramian.io.preview import preview

PENGUINS = files("gramian").joinpath("examples", "penguins.csv").read_text(encoding="utf-8")
IDENTIFIER = "looks like an identifier: every row has another number"
MEASURED = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")


def proposed(text):
    """Return proposals as (option, value) by their reasons."""
    content = text.encode() if isinstance(text, str) else text
    return {one.why: (one.option, one.value) for one in proposals(preview(io.BytesIO(content), "table"))}


def numbered(text):
    head, *lines = text.splitlines()
    return "\n".join([f"rownames,{head}", *(f"{i},{line}" for i, line in enumerate(lines, 1))])


def table(**columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines)


def test_penguins():
    expected = {
        '"species" names 3 groups of rows': ("label", "species"),
        '"island" holds text': ("drop", "island"),
        '"sex" holds text': ("drop", "sex"),
        '"year" looks like a year': ("drop", "year"),
        "2 rows have no measurement": ("missing", "drop-rows"),
        '"body_mass_g" has 99.96 % of the variance because of its scale': ("scale", "unit"),
    }
    assert proposed(PENGUINS) == expected
    named = {'"rownames" counts the rows': ("id", "rownames")}
    assert proposed(numbered(PENGUINS)) == named | expected


def test_a_reader_who_follows_all_proposals_gets_the_measurements():
    content = numbered(PENGUINS).encode()
    reading, scale = {}, None
    for option, value in proposed(content).values():
        if option == "scale":
            scale = value
        else:
            reading.setdefault(option, []).append(value)
    single = {option: values if option == "drop" else values[0] for option, values in reading.items()}
    result = scan(io.BytesIO(content), **single).read()
    assert (result.feature_names, result.values.shape) == (MEASURED, (342, 4))
    assert (result.row_names[0], result.row_names[3], len(set(result.labels))) == ("1", "5", 3)
    model = PCA(2, scale=scale).fit(result)
    assert (np.abs(model.components_[0]) > 0.3).all()
    assert model.explained_variance_ratio_[0] == pytest.approx(0.6884, abs=1e-4)
    assert dominant_columns(np.var(result.values, axis=0, ddof=1)).tolist() == [3]


def test_columns_that_are_no_measurements():
    n = np.arange(12)
    rest = {"a": np.sin(n), "b": np.cos(n)}
    cases = {
        "counts the rows": {"n": n, "nth": n + 1},
        "looks like a year": {"year": 2000 + n % 3, "birthYear": 1950 + n, "Jahr": 1800 + 25 * n},
        IDENTIFIER: {"id": 7 * n, "sampleId": n**2, "case_no": 90 - n},
        "is the same in all rows": {"same": np.full(12, 3.5)},
        "holds no value": {"nothing": [""] * 12},
        "holds text": {"remark": [f"text {i % 11}" for i in n]},
    }
    for why, columns in cases.items():
        for name, values in columns.items():
            assert proposed(table(**rest, **{name: values})) == {f'"{name}" {why}': ("drop", name)}, name
    measurements = {
        "year": [2000.5, *n[1:]],  # not whole
        "years": 3000 + n,  # too late
        "yearling": 2000 + n % 3,
        "dose": 2000 + n % 3,
        "id": n // 2,  # repeated
        "idle": 7 * n,
        "rank": n[::-1],
        "t": n + 2,
    }
    for name, values in measurements.items():
        assert ("drop", name) not in proposed(table(**rest, **{name: values})).values(), name
    # Nothing would be left.
    assert proposed("a,b\n1,2\n") == {}
    # Of few rows, an order is a coincidence.
    assert proposed("a,b,c\n1,5,2\n2,9,3\n3,4,9\n") == {}


def test_groups_and_names():
    n = np.arange(30)
    x = np.sin(n)
    first = table(
        name=[f"p{i}" for i in n], kind=[f"k{i % 3}" for i in n], other=["ab"[i % 2] for i in n], x=x
    )
    found = proposed(first)
    assert found['"name" has another text in every row'] == ("id", "name")
    assert found['"kind" names 3 groups of rows'] == ("label", "kind")
    assert found['"other" holds text'] == ("drop", "other")
    many = table(city=[f"c{i % 25}" for i in n], same=["s" for _ in n], x=x)
    assert set(proposed(many).values()) == {("drop", "city"), ("drop", "same")}


def test_missing_values_that_have_other_values_beside_them_are_the_users_choice():
    lines = ["a,b,c", *(f"{i % 5},{i % 7},{i % 3}" for i in range(20))]
    whole = [*lines, ",,", ",,"]
    assert proposed("\n".join(whole)) == {"2 rows have no measurement": ("missing", "drop-rows")}
    assert proposed("\n".join([*whole, "1,,2"])) == {}
    assert proposed("\n".join([*lines, "1,,2"])) == {}


def test_columns_without_names_and_too_many_suggest_nothing():
    stream = io.BytesIO()
    np.save(stream, np.column_stack([np.arange(50), np.zeros(50), 1e6 * np.sin(np.arange(50))]))
    assert proposed(stream.getvalue()) == {}
    rng = np.random.default_rng(0)
    wide = table(**{f"c{j}": rng.standard_normal(3) * (1e4 if j == 5 else 1) for j in range(250)})
    assert proposed(wide) == {}


def test_tables_that_are_read_already():
    read = scan(io.BytesIO(PENGUINS.encode()), label="species", drop=["island", "sex"], missing="mean").read()
    assert [(one.value, one.why) for one in columns_to_drop(read)] == [("year", '"year" looks like a year')]
    assert columns_to_drop(scan(io.BytesIO(b"a,b\n1,2\n3,4\n")).read()) == ()
