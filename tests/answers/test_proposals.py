"""What a table suggests before a fit: by hand, and in many tables exactly, so that a change is seen."""

import io
import re
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import datasets

import gramian
from gramian import PCA, scan
from gramian.answers.proposals import KNOWN, proposals
from gramian.errors import DataError, ParameterError
from gramian.statistics.units import beyond_answers, same_range, unit_difference
from gramian.tables.cells import units_of
from gramian.tables.column_features import chance
from gramian.tables.preview import preview
from helpers import as_proposed

PENGUINS = files("gramian").joinpath("examples", "penguins.csv").read_text(encoding="utf-8")
STRANGE = Path(__file__).parents[1] / "strange"
MEASURED = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")


def numbered(text):
    head, *lines = text.splitlines()
    return "\n".join([f"rownames,{head}", *(f"{i},{line}" for i, line in enumerate(lines, 1))])


def seen(text, method="pca", **chosen):
    content = text.encode() if isinstance(text, str) else text
    return proposals(preview(io.BytesIO(content)), method, **chosen)


def chosen(found):
    """Return proposals as (option, value) by their reasons."""
    return {one.why: (one.option, one.value) for one in found}


def brief(found):
    """Return proposals in one line."""
    return " ".join(f"{one.option}={one.value}" for one in found)


def table(**columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines)


def factors(n, d, seed=0, k=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2 + rng.standard_normal((n, d))


def frame(X, names="abcdefghijklmnopqrstuvwxyz"):
    return pd.DataFrame(X, columns=list(names)[: X.shape[1]])


def test_penguins():
    expected = {
        '"species" names 3 groups of rows': ("label", "species"),
        '"island" holds text': ("drop", "island"),
        '"sex" holds text': ("drop", "sex"),
        '"year" looks like a time: its name says so and it lies within 2007 to 2009, as years do': (
            "drop",
            "year",
        ),
        "2 rows have no measurement": ("missing", "drop-rows"),
        '"body_mass_g" has 99.96 % of the variance because of its scale': ("scale", "unit"),
    }
    assert chosen(seen(PENGUINS)) == expected
    named = {'"rownames" counts the rows': ("id", "rownames")}
    assert chosen(seen(numbered(PENGUINS))) == named | expected
    kernel = seen(PENGUINS, "kernel-pca")
    assert [(one.option, one.value) for one in kernel[-3:]] == [
        *(("scale", "unit"), ("kernel", "rbf"), ("gamma", "median"))
    ]
    X = pd.read_csv(io.StringIO(PENGUINS))[list(MEASURED)].dropna()
    Z = ((X - X.mean()) / X.std()).to_numpy()
    distances = np.linalg.norm(Z[:, None] - Z[None], axis=2)[np.triu_indices(len(Z), 1)]
    assert kernel[-1].evidence["value"] == pytest.approx(0.5 / np.median(distances) ** 2, rel=0.02)


def test_a_reader_who_follows_all_proposals_gets_the_measurements():
    content = numbered(PENGUINS).encode()
    asked = as_proposed(io.BytesIO(content))
    result = asked.read()
    assert (result.feature_names, result.values.shape) == (MEASURED, (342, 4))
    assert (result.row_names[0], result.row_names[3], len(set(result.labels))) == ("1", "5", 3)
    model = PCA(2, **gramian.propose(scan(io.BytesIO(content))).parameters).fit(result)
    assert model.explained_variance_ratio_[0] == pytest.approx(0.6884, abs=1e-4)
    # What is given wins, and a stream that cannot seek is read once.
    stream = io.BytesIO(content)
    stream.seekable = lambda: False
    other = as_proposed(stream, label="sex", drop="bill_depth_mm", missing="mean")
    assert other.drop == ("bill_depth_mm", "species", "island", "year")
    assert (other.label, other.missing, other.read().values.shape) == ("sex", "mean", (344, 3))


def test_columns_that_are_no_measurements():
    n = np.arange(12)
    rest = {"a": np.sin(n), "b": np.cos(n), "kind": ["uv"[i % 2] for i in n]}
    cases = {
        "is the same in all rows": {"same": np.full(12, 3.5)},
        "holds no value": {"nothing": [""] * 12},
        "holds text": {"remark": [f"text {i % 11}" for i in n]},
        "holds dates or times": {
            "iso": [f"2024-01-{1 + i // 2:02}" for i in n],
            "german": [f"{1 + i // 2}.3.2024" for i in n],
            "clock": [f"{8 + i // 2}:30" for i in n],
        },
        'is the same as "a"': {"again": np.sin(n)},
        'is a multiple of "b", plus a constant': {"fahrenheit": np.cos(n) * 1.8 + 32},
        "has no value in 66.67 % of the rows": {"holes": ["" if i % 3 else np.sin(7.0 * i) for i in n]},
    }
    for why, columns in cases.items():
        for name, values in columns.items():
            found = chosen(seen(table(**rest, **{name: values})))
            assert found.pop('"kind" names 2 groups of rows') == ("label", "kind")
            assert found == {f'"{name}" {why}': ("drop", name)}, name
    rng = np.random.default_rng(0)
    for n_rows in (60, 200):
        birds = pd.DataFrame({"ticks": rng.poisson(5, n_rows), "height": rng.integers(400, 540, n_rows)})
        birds = birds.assign(centred=birds.height - birds.height.mean(), mass=rng.normal(70, 9, n_rows))
        found = gramian.propose(birds)
        assert found[0].why == '"centred" is a multiple of "height", plus a constant'
        assert (brief(found), found.question()) == ("drop=centred scale=unit", "")
    for name, values in {"year": 2000 + n % 3, "month": 1 + n % 12 // 2, "cluster": n % 4}.items():
        found = seen(table(**rest, **{name: values}))
        (reason,) = (one.why for one in found if one.value == name)
        assert reason.startswith(f'"{name}" looks like a '), reason
    named = {
        '"n" counts the rows': {"n": n},
        '"nth" counts the rows': {"nth": n + 1},
        '"date" is a time, another one in every row': {"date": [f"2024-02-{i + 1:02}" for i in n]},
        '"car name" has 12 texts in 12 rows': {"car name": [f"car {i}" for i in n]},
    }
    for why, columns in named.items():
        assert chosen(seen(table(**rest, **columns)))[why] == ("id", next(iter(columns))), why
    # Names say more than row numbers; remarks do not.
    for end, expected in {"": "text", " which was seen several times on the way to work": "rownames"}.items():
        read = seen(table(rownames=n + 1, **rest, text=[f"car {i}{end}" for i in n])).reading
        assert read["id"] == expected
    rng = np.random.default_rng(0)
    rest = {"a": rng.normal(size=40).round(3), "b": rng.normal(size=40).round(3)}
    measurements = {
        "mass": rng.normal(70, 9, 40).round(),
        "yearly income": rng.normal(30_000, 9000, 40).round(),
        "score": rng.integers(0, 100, 40),
        "age": rng.integers(18, 90, 40),
    }
    for name, values in measurements.items():
        assert not {"id", "drop", "label"} & seen(table(**rest, **{name: values})).reading.keys(), name
    # Nothing would be left.
    assert not seen("a,b\n1,2\n")
    # Of few rows, an order is a coincidence.
    assert not seen("a,b,c\n1,5,2\n2,9,3\n3,4,9\n")


def test_numbers_name_the_rows_by_a_telling_name_or_where_they_are_consecutive():
    rng = np.random.default_rng(3)
    X = factors(60, 4).round(3)
    random, run = rng.permutation(900_000)[:60] + 100_000, rng.permutation(60) + 100
    for name in ("patient", "sample id"):
        found = gramian.propose(frame(X, "abcd").assign(**{name: random}))
        assert brief(found) == f"id={name}"
        assert found[0].why.startswith(f'"{name}" looks like an identifier: its name says so')
    why = '"case" counts the rows in another order'
    assert chosen(gramian.propose(frame(X, "abcd").assign(case=run))) == {why: ("id", "case")}
    # Weights in grams that all differ by chance are measurements, and so are amounts of something.
    weights = rng.permutation(60)[:40] + 20
    for name in ("mass", "number of rooms", "price index", "patient weight"):
        found = gramian.propose(frame(X[:40], "abcd").assign(**{name: weights}))
        assert not {"id", "drop"} & found.reading.keys(), name
    related = frame(X, "abcd").assign(salary=(50_000 + 9_000 * X[:, 0] + rng.normal(0, 900, 60)).round())
    assert "id" not in gramian.propose(related).reading
    rain = frame(X, "abcd").assign(**{"rain (mm)": rng.permutation(900)[:60] + 100.0})
    assert not {"id", "drop"} & gramian.propose(rain).reading.keys()  # it has a unit
    huge = frame(np.column_stack([X, rng.uniform(1, 9, 60)]) * 1e150)  # every such float is an integer
    assert not {"id", "drop", "transform"} & gramian.propose(huge).reading.keys()
    noise = frame(rng.integers(0, 100_000, (60, 4)).astype(float), "abcd")
    assert not gramian.propose(noise)  # several such columns are measurements


def test_groups_and_names():
    n = np.arange(30)
    x = np.sin(n)
    first = table(
        name=[f"p{i}" for i in n], kind=[f"k{i % 3}" for i in n], other=["ab"[i % 2] for i in n], x=x
    )
    assert brief(seen(first)) == "id=name label=kind drop=other"
    many = table(city=[f"c{i % 25}" for i in n], same=["s" for _ in n], x=x)
    assert brief(seen(many)) == "id=city drop=same"
    # A time is offered last; blanks are no group.
    rest = {"x": x, "y": np.cos(3 * n)}
    cases = {
        "label=season drop=year": {"year": 2000 + n // 10, "season": ["ws"[i % 2] for i in n]},
        "label=year": {"year": 2000 + n // 10},
        "label=city drop=species": {"city": ["abc"[i % 3] for i in n], "species": ["uv"[i // 15] for i in n]},
        "label=cluster": {"cluster": n % 4},
        "label=sex drop=cluster": {"sex": ["mf"[i % 2] for i in n], "cluster": n * n % 7},
        "drop=half": {"half": ["yes" if i % 2 else " " for i in n]},
    }
    for expected, columns in cases.items():
        got = brief(seen(table(**rest, **columns)))
        assert got == expected or "cluster" in expected, (expected, got)
        assert got.split()[0] == expected.split()[0] or "sex" in expected, (expected, got)
    assert brief(seen("5.1,3.5,setosa\n4.9,3.0,other\n" * 8)) == "label=2"  # a file without a header


def test_text_among_numbers_is_no_group_and_is_shown():
    n = np.arange(20)
    marks = table(a=np.sin(n), b=["n.d." if i == 3 else i * i % 11 for i in n], c=[f"w{i % 3}" for i in n])
    assert chosen(seen(marks)) == {
        '"c" names 3 groups of rows': ("label", "c"),
        '"b" holds text among numbers, such as "n.d."': ("drop", "b"),
    }
    late = table(a=np.sin(n), b=["Bad Input" if i == 19 else i * i % 11 for i in n])
    assert chosen(seen(late)) == {'"b" holds text among numbers': ("drop", "b")}


def test_infinite_values_are_missing_whatever_the_table(tmp_path):
    X = factors(60, 5).round(6)
    X[3, 1], X[9, 1], X[4, 3] = np.inf, -np.inf, np.inf
    holes = np.where(np.isinf(X), np.nan, X)
    named = frame(X)
    paths = [tmp_path / f"table.{suffix}" for suffix in ("csv", "parquet", "xlsx", "npy")]
    named.to_csv(paths[0], index=False)
    named.to_parquet(paths[1])
    named.to_excel(paths[2], index=False)
    np.save(paths[3], X)
    other = tmp_path / "words.csv"
    other.write_text(paths[0].read_text().replace("-inf", "-Infinity"))
    for data in (*paths, other, named, pl.from_pandas(named), X):
        found = gramian.propose(data)
        assert found.reading == {"na_values": ["inf", "-inf"], "missing": "em"}
        assert re.fullmatch(r'"[b1]", "[d3]" have 3 infinite values', found[0].why)
        assert found[1].why.startswith("3 values are missing in ")
        assert found.parameters == gramian.propose(frame(holes)).parameters
    for path in (*paths, other):
        assert np.array_equal(as_proposed(path).read().values, holes, equal_nan=True)
        with pytest.raises(DataError, match=r"contains inf .infinity.: row 3"):
            scan(path).read()
    assert "na_values" not in gramian.propose(scan(paths[0], columns=["a", "c", "e"])).reading
    with pytest.raises(ParameterError, match="holds no text"):
        scan(paths[3], na_values=["err"]).read()


@pytest.mark.walk
def test_few_texts_among_numbers_are_missing_values(tmp_path):
    n, path = np.arange(100), tmp_path / "sensors.csv"

    def read(**changed):
        """Return what is proposed for three sensors, with some entries changed by their columns and rows."""
        columns = {name: [f"{np.sin((2 + j) * i):.3f}" for i in n] for j, name in enumerate("abc")}
        for name, entries in changed.items():
            for row, text in entries.items():
                columns[name][row] = text
        path.write_text(table(**columns))
        return gramian.propose(path)

    found = read(b={1: "err", 40: "err", 41: "off"}, c={7: "err"})
    assert found.reading == {"na_values": ["err", "off"], "missing": "em"}
    assert found[0].why == '"b", "c" are numbers but for "err" (3 times) and "off" (1 time)'
    assert str(found[0]).startswith("na_values=['err', 'off']: ")
    model = PCA(2, missing="em").fit(scan(path, **found.reading))
    assert model.n_features_in_ == 3
    assert len(model.imputed_.rows) == 4
    proposed = as_proposed(path).options
    assert (proposed.na_values, proposed.missing) == (("err", "off"), "em")

    # Texts that the user names are kept, and a column with another use is no measurement.
    assert gramian.propose(scan(path, na_values="err")).reading == {"na_values": ["off"], "missing": "em"}
    assert as_proposed(path, na_values="err").options.na_values == ("err", "off")
    assert "na_values" not in gramian.propose(scan(path, drop=["b", "c"])).reading
    assert gramian.propose(scan(path, columns=["a", "c"])).reading["na_values"] == ["err"]

    assert read(b=dict.fromkeys(range(20, 25), "err")).reading["na_values"] == ["err"]
    for more in (
        dict.fromkeys(range(20, 26), "err"),  # more than 5 %
        {20: "err", 30: "off", 40: "low", 50: "high"},  # four texts
        {0: "sensor", 1: "in mV"},  # of a header
    ):
        assert read(b=more).reading == {"drop": ["b"]}, more
    assert read(b={20: "1O.5"}).reading == {"slips": "read"}


def test_what_is_chosen_is_kept():
    content = PENGUINS.encode()

    def found(method="pca", **given):
        return brief(gramian.propose(scan(io.BytesIO(content), **given), method))

    usual = "drop=island drop=sex drop=year missing=drop-rows scale=unit"
    assert found() == f"label=species {usual}"
    assert found(label="island") == "drop=species drop=sex drop=year missing=drop-rows scale=unit"
    assert found(drop=["island", "body_mass_g"]) == "label=species drop=sex drop=year missing=drop-rows"
    assert found(missing="error") == "label=species drop=island drop=sex drop=year scale=unit"
    two = found(columns=["bill_length_mm", "year"])
    assert two == "label=species missing=mean scale=unit"
    assert found(rows="4:200") == f"label=species {usual.replace('missing=drop-rows ', '')}"
    assert found(transpose=True) == "drop=species drop=island drop=sex drop=year missing=drop-columns"
    holes = PENGUINS.replace("39.1", "").encode()
    assert "missing=em n_components=" in brief(seen(holes))
    assert "n_components" not in brief(seen(holes, parameters={"n_components": 2}))


def test_missing_values_are_imputed_by_as_many_components_as_predict_them():
    rng = np.random.default_rng(0)
    for k, d in ((1, 6), (3, 12)):
        X = 3 * rng.standard_normal((200, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((200, d))
        X[rng.random(X.shape) < 0.05] = np.nan
        found = gramian.propose(frame(X))
        assert found.reading == {"missing": "em"}
        (count,) = (one for one in found if one.option == "n_components")
        assert count.value == max(2, k)
        assert (count.evidence["best"], set(count.evidence["errors"]) >= {"1", "2"}) == (k, True)
        PCA(missing="em", **found.parameters).fit(X)
        assert gramian.propose(frame(X), "kernel-pca").reading == {"missing": "mean"}
    lines = ["a,b,c", *(f"{a:.3f},{b:.3f},{c:.3f}" for a, b, c in factors(20, 3))]
    empty = [*lines[:5], ",,", ",,", *lines[5:]]
    assert chosen(seen("\n".join(empty))) == {"2 rows have no measurement": ("missing", "drop-rows")}
    assert seen("\n".join([*empty, "1,,2"])).reading == {"missing": "em"}
    # Two columns, or a share of the variance, leave no number of components.
    two = ["a,b", *(f"{a:.3f},{b:.3f}" for a, b in factors(20, 2)), "1,"]
    assert seen("\n".join(two)).reading == {"missing": "mean"}
    share = seen("\n".join([*lines, "1,,2"]), parameters={"n_components": 0.9})
    assert (share.reading, share.parameters) == ({"missing": "mean"}, {})


def test_a_column_that_is_mostly_empty_goes_before_rows_are_looked_at():
    n = np.arange(40)
    X = frame(factors(40, 4)).assign(rare=np.where(n % 2, np.nan, np.sin(n)))
    X.iloc[5] = np.nan
    assert brief(gramian.propose(X)) == "drop=rare missing=drop-rows"


def test_units_differ():
    rng = np.random.default_rng(0)
    people = np.column_stack([rng.normal(175, 9, 80), rng.normal(76, 14, 80), rng.uniform(18, 70, 80)])

    def why(X, names):
        return unit_difference(names, X.std(axis=0), X)[0]

    assert why(people, ["groesse_cm", "gewicht_kg", "alter_jahre"]) == (
        "columns have different units (cm, jahre, kg)"
    )
    assert not why(people, ["a (cm)", "b (cm)", "c (cm)"])
    spread = factors(100, 6) * np.geomspace(1, 60, 6)
    assert "deviations of columns differ" in why(spread, list("abcdef"))
    assert not why(spread, [f"{name}_mm" for name in "abcdef"])
    apart = rng.standard_normal((100, 3)) * [1, 5, 4] + [0, 100, 300]
    assert why(apart, list("abc")) == "ranges of columns are apart, from a to b"
    # They share a unit: neighbours on an axis, pixels, ratings, shares of a total.
    place = np.linspace(0, 1, 80)
    peaks = np.exp(-((place - np.array([[0.3], [0.7]])) ** 2) / 0.01) * [[100], [1]]
    names = [str(j) for j in range(80)]
    assert not why(rng.dirichlet([2, 2], 60) @ peaks + 0.01 * rng.standard_normal((60, 80)), names)
    pixels = datasets.load_digits().data
    assert not why(pixels, [f"p{j}" for j in range(64)])
    assert same_range(pixels)
    assert not why(rng.dirichlet([50, 20, 1, 0.1], 60), list("abcd"))
    assert units_of(["q_a", "q_c", "mass_g", "t_c"]) == ["", "", "g", "c"]


def test_a_quantity_beside_several_of_one_name_and_range_has_another_unit():
    rng = np.random.default_rng(0)
    returns = rng.standard_normal(205)
    lags = {f"Lag{j}": returns[5 - j : 205 - j] for j in range(1, 6)}
    prices = pd.DataFrame(lags | {"Volume": rng.uniform(1, 2, 200), "Today": returns[5:]}).round(4)
    assert gramian.propose(prices).parameters == {"scale": "unit"}
    alike = prices.rename(columns={"Volume": "Lag6", "Today": "Lag0"})
    assert not gramian.propose(alike).parameters


def test_answers_and_flags_share_no_scale_with_what_goes_beyond():
    rng = np.random.default_rng(0)

    def likert(levels, n=200):
        answers = (levels + 1) / 2 + levels / 3 * rng.standard_normal((n, len(levels)))
        return np.clip(np.rint(answers), 1, levels)

    mixed = np.array([6, 6, 10])
    found = gramian.propose(pd.DataFrame(likert(mixed), columns=["sure", "glad", "easy"]))
    assert [str(one) for one in found] == ['scale=\'unit\': "easy" goes beyond the answers of "sure", 1 to 6']
    flags, counts = rng.random((60, 2)) < 0.4, rng.negative_binomial(1, 0.01, (60, 3))
    flagged = np.column_stack([flags, counts]).astype(float)
    trials = gramian.propose(pd.DataFrame(flagged, columns=["aspirin", "dose", "ai", "ci", "ni"]))
    assert trials.reading.get("transform") == "log1p"
    assert trials.parameters == {"scale": "unit"}
    alarms = {"answers": 0, "counts": 0, "alleles": 0, "of one scale": 0}
    for n, d in zip(rng.integers(12, 400, 200).tolist(), rng.integers(2, 12, 200).tolist(), strict=True):
        means = 10 ** rng.uniform(-1, 2.3, d)
        for kind, X in {
            "answers": likert(np.full(d, 5), n),
            "counts": rng.negative_binomial(0.5, 0.5 / (0.5 + means), (n, d)),
            "alleles": rng.binomial(2, rng.uniform(0.1, 0.5, d), (n, d)),
            "of one scale": rng.binomial(10, rng.uniform(0.02, 0.98, d), (n, d)),
        }.items():
            varying = X[:, np.ptp(X, axis=0) > 0].astype(float)
            alarms[kind] += varying.shape[1] > 1 and bool(beyond_answers(varying)[1])
    assert max(alarms.values()) <= 2, alarms


def test_of_several_groups_those_that_the_measures_tell_apart_are_the_label():
    rng = np.random.default_rng(0)
    kind, part = rng.integers(3, size=90), rng.integers(2, size=90)
    X = pd.DataFrame(rng.normal(size=(90, 4)) + kind[:, None], columns=list("abcd"))
    for value in (kind, 0 * kind):  # of groups that tell nothing the first ones
        table = X - kind[:, None] + value[:, None]
        table.insert(0, "part", np.array(["test", "train"])[part])
        table.insert(1, "kind", np.array(["u", "v", "w"])[kind])
        table.loc[3, "kind"], table.loc[5, "a"] = None, np.nan
        table.insert(2, "rare", np.where(np.arange(90) == 7, "no", "yes"))
        table.loc[7, ["a", "b", "c", "d"]] += 8.0 * value.any()  # one wild row
        assert gramian.propose(table).reading["label"] == ("kind" if value.any() else "part")


def test_indicators_beside_amounts_are_no_counts():
    rng = np.random.default_rng(0)
    credit = pd.DataFrame(rng.random((300, 40)) < 0.2).astype(int).add_prefix("purpose")
    credit.insert(0, "amount", rng.lognormal(7, 1, 300).astype(int) + 250)
    credit.insert(1, "age", rng.integers(19, 75, 300))
    assert "transform" not in gramian.propose(credit).reading
    assert "transform" not in gramian.propose(credit[["amount"]]).reading
    rng = np.random.default_rng(0)
    cells = rng.poisson(rng.lognormal(-2, 2.5, 60), (300, 60))  # a third of the genes are 0 or 1
    assert gramian.propose(pd.DataFrame(cells)).reading.get("transform") in ("log1p", "logcpm")


def test_a_kernel_has_the_same_units():
    wine = datasets.load_wine(as_frame=True).data
    assert gramian.propose(wine, "kernel-pca").parameters == {
        "scale": "unit",
        "kernel": "rbf",
        "gamma": "median",
    }
    chosen_already = seen(PENGUINS, "kernel-pca", parameters={"kernel": "rbf(sigma=2)", "scale": None})
    assert "gamma" not in chosen_already.parameters


def genes(n=60, samples=8, id="gene"):
    rng = np.random.default_rng(0)
    counts = rng.negative_binomial(1, 1 / (1 + rng.lognormal(3, 1.5, (n, 1))), (n, samples))
    columns = {id: [f"ENSG{i:05}" for i in range(n)]}
    return table(**columns, **{f"ctrl_{j}": counts[:, j] for j in range(samples)})


def test_genes_in_rows_are_swapped_and_counts_become_logarithms():
    logs = {"transform": "log1p"} if "transform" in KNOWN else {}
    for text in (genes(), genes(id="x"), genes(500, 6)):
        assert seen(text).reading == {"transpose": True, "id": text[: text.index(",")]} | logs
        assert not seen(text).parameters
    assert seen(genes().replace(",5,", ",,")).reading["missing"] == "mean"
    words = np.random.default_rng(1).poisson(np.random.default_rng(2).lognormal(2, 1.5, (200, 5)))
    assert gramian.propose(words).reading == logs
    rng = np.random.default_rng(0)
    for X in (
        rng.integers(1, 6, (100, 5)),  # ratings
        rng.integers(0, 256, (100, 9)),  # pixels
        rng.integers(18, 90, (100, 3)),  # ages
        rng.poisson(50, (100, 4)),
        words * 0.5,
    ):
        assert "transform" not in gramian.propose(X.astype(float)).reading
    samples = pd.DataFrame(words.T, columns=[f"ENSG{i:05}" for i in range(200)])  # levels alone are skewed
    assert gramian.propose(samples).reading == logs
    for X in (rng.poisson(50, (40, 60)), rng.integers(0, 60_000, (40, 60)), words.T * 0.5):
        assert "transform" not in gramian.propose(X.astype(float)).reading
    countries = genes().replace("ENSG", "country ").replace("gene", "country").replace("ctrl_", "score")
    assert "transpose" not in seen(countries).reading


def test_a_word_for_genes_does_not_swap_columns_of_different_units():
    rng = np.random.default_rng(5)
    names = [f"P{i:02}" for i in range(30)]
    size, price = rng.normal(150, 20, 30).round(1), rng.normal(1500, 300, 30).round(2)
    sheet = table(**{"Probe": names, "Laenge (cm)": size, "Gewicht (kg)": size / 2, "Preis": price})
    shares = table(symbol=names, price=price, volume=(price * 1000 * size).round(), ratio=size / 9)
    for text in (sheet, shares):
        assert "transpose" not in seen(text).reading
    alike = table(symbol=names, **{f"ctrl_{j}": rng.normal(8, 2, 30).round(2) for j in range(4)})
    assert seen(alike).reading["transpose"]


@pytest.mark.skipif("pivot" not in KNOWN, reason="reading has no pivot")
def test_a_long_table_is_pivoted():
    tests = ("memory", "speed", "naming")
    lines = ["subject,arm,test,score"]
    lines += [f"s{i},{'ab'[i % 2]},{one},{40 + i * 7 % 13 + len(one)}" for i in range(15) for one in tests]
    assert seen("\n".join(lines)).reading["pivot"] == ["subject", "test", "score"]


def test_a_pivot_has_a_key_that_repeats_and_fills_nearly_all_cells():
    admitted = [(a, g, d, 7 * i % 23) for i, (d, g, a) in enumerate(product("ABCDEF", "MF", "yn"))]
    lines = ["rownames,Admit,Gender,Dept,Freq"]
    lines += [",".join(map(str, (i, *one))) for i, one in enumerate(admitted, 1)]
    assert "pivot" not in seen("\n".join(lines)).reading
    read = as_proposed(io.BytesIO("\n".join(lines).encode())).read()
    assert (read.values.shape, PCA(1).fit(read).n_samples_) == ((24, 1), 24)
    pairs = list(product(range(10), "tuvwx"))
    for holes, long in ((4, True), (6, False)):
        some = [one for place, one in enumerate(pairs) if place % 8 or place >= 8 * holes]
        text = table(key=[i for i, _ in some], what=[v for _, v in some], value=np.sin(np.arange(len(some))))
        assert ("pivot" in seen(text).reading) == long, holes


def test_rules_hold_for_all_columns(tmp_path):
    rng, n = np.random.default_rng(0), 40
    X = rng.integers(0, 9, (n, 230)).astype(str).astype(object)
    X[rng.random(X.shape) < 0.05] = ""
    X[:, 225], X[:, 226], X[:, 227] = "", "7", [f"remark {i % 31}" for i in range(n)]
    X[:, 228], X[30:, 229] = X[:, 3], ""
    X[:26, 224] = ""
    lines = [",".join(f"c{j}" for j in range(230)), *map(",".join, X)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines))
    found = scan(path).preview()
    assert len(found.columns) == 230
    read = as_proposed(path).read()
    left = {"c224", "c225", "c226", "c227", "c228"}
    assert left.isdisjoint(read.feature_names)
    assert len(read.feature_names) == 225
    drops = set(gramian.propose(scan(path)).reading["drop"])
    assert drops == left
    shown = [one["name"] for one in found.facts(drops)["columns"]]
    assert len(shown) == 200
    assert left < set(shown)
    array = np.delete(X, [227], axis=1)
    array[array == ""] = "nan"
    assert gramian.propose(array.astype(float)).reading["drop"] == ["224", "225"]


def test_text_is_left_out_where_no_number_would_stay():
    """Columns that are mostly empty would be left out too, but not all of them."""
    rng, n = np.random.default_rng(0), 40
    holes = {
        f"x{j}": np.where(rng.random(n) < 0.5, "", rng.random(n).round(3).astype(str)) for j in range(21)
    }
    words = {f"t{j}": [f"w{rng.integers(30)}" for _ in range(n)] for j in range(26)}
    text = table(**words, **holes)
    read = as_proposed(io.BytesIO(text.encode())).read()
    assert set(read.feature_names) == set(holes)


def test_text_below_the_first_rows_of_a_large_file_is_proposed_to_be_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.tables.roles.LOOK", 1 << 20)
    rng, n = np.random.default_rng(0), 12_000
    columns = {f"x{j}": rng.random(n).round(6) for j in range(21)}
    for j in range(26):  # empty or numbers at first
        words = np.array([f"word {i}" for i in rng.integers(0, 99, n)], dtype=object)
        words[: n // 2] = "" if j % 2 else "7"
        columns[f"t{j}"] = words
    frame = pd.DataFrame(columns).assign(count=range(n))
    frame.to_csv(tmp_path / "large.csv", index=False)
    with pytest.raises(DataError, match="26 columns that hold no numbers"):
        scan(tmp_path / "large.csv").read()
    asked = scan(tmp_path / "large.csv")
    found = gramian.propose(asked)
    assert set(found.reading["drop"]) == {f"t{j}" for j in range(26)}
    assert replace(asked, **found.merged(asked)).read().values.shape == (n, 21)


def test_a_proposed_name_is_one_name_whatever_is_in_it():
    path, name = STRANGE / "comma_in_label.csv", "How much, if at all, do you like it?"
    (found,) = gramian.propose(path)
    assert (found.option, found.value) == ("label", name)
    read = as_proposed(path).read()
    assert (read.label_name, read.feature_names) == (name, ("a", "b", "c"))
    with pytest.raises(DataError, match="do you like it") as error:
        scan(path).read()
    assert f"label=['{name}']" in found.line()
    assert f'drop=["{name}"]' in str(error.value)
    names = '"key, of all"', '"what, then"', '"value, at last"', '"a, b"'
    lines = [f'k{i},"t, {j}",{np.sin(i + 9 * j)},"r, {j * i}"' for i in range(12) for j in range(3)]
    read = as_proposed(io.BytesIO("\n".join([",".join(names), *lines]).encode())).read()
    assert read.feature_names == ("t, 0", "t, 1", "t, 2")


def test_where_no_column_is_a_measure_those_that_name_rows_leave_and_the_rest_is_named():
    n = np.arange(60)
    frame = pd.DataFrame({"patientID": n // 2 + 100, "kind": [*"uvw"] * 20, "week": n % 30 * 4})
    found = gramian.propose(frame.assign(year=2001 + n % 25))
    assert found.reading["drop"] == ["patientID"]
    assert str(found).endswith('Kept, but look at "week" (time?), "year" (time?).')


def test_every_kind_of_data_in_memory():
    rng = np.random.default_rng(0)
    X = factors(50, 3) * [1, 200, 2]
    data = pd.DataFrame(X, columns=["a", "b", "c"])
    data.insert(0, "kind", pd.Categorical(rng.choice(["u", "v"], 50)))
    data["day"] = pd.date_range("2024-01-01", periods=50).where(np.arange(50) != 3, pd.NaT)
    data["mixed"] = ["x", 3.0, None, *["y"] * 47]
    expected = {"label": "kind", "drop": ["day"]}
    found = gramian.propose(data)
    assert (found.reading["label"], found.parameters) == ("kind", {"scale": "unit"})
    assert set(found.reading["drop"]) == {"day", "mixed"}
    import pyarrow as pa

    for other in (pa.table(data.drop(columns="mixed")), data.drop(columns="mixed")):
        assert gramian.propose(other).reading == expected
    try:
        import polars
    except ImportError:
        pass
    else:
        assert gramian.propose(polars.from_pandas(data.drop(columns="mixed"))).reading == expected
    assert brief(gramian.propose(X)) == "scale=unit"
    assert gramian.propose(X)[0].evidence["columns"] == ["1"]
    read = scan(io.BytesIO(PENGUINS.encode()), label="species", drop=["island", "sex"], missing="mean").read()
    assert brief(gramian.propose(read)) == "drop=year scale=unit"
    assert brief(gramian.propose(np.zeros((5, 4, 4)), "kernel-pca")) == "kernel=rbf gamma=median"
    assert str(gramian.propose(np.zeros((5, 4, 4)))) == "Nothing is proposed."
    with pytest.raises(gramian.errors.ParameterError, match="pca"):
        gramian.propose(X, "tsne")


def test_what_cannot_be_fitted_is_refused_as_a_fit_refuses_it():
    X = factors(12, 3)
    assert gramian.propose(X.astype(object)) == gramian.propose(X.astype(str)) == gramian.propose(X)
    assert gramian.propose(sparse.coo_array(X)) == gramian.propose(X)
    assert not gramian.propose(X.astype(np.float16))
    assert not gramian.propose(pd.DataFrame(X, columns=["a", "a", "b"]))  # names that repeat
    dates = np.array([["2024-01-01"]] * 5, dtype="M8[D]")
    unfit = (dates, X + 1j, X[:0], X[:, 0], [], None, 5, pd.DataFrame(), pd.DataFrame(columns=["a"]))
    for data in (*unfit, pd.Series(X[:, 0]), pl.DataFrame(X).lazy()):
        with pytest.raises(gramian.errors.GramianError, match=r"Complex|2D array|2-dim|minimum|rows|dates"):
            gramian.propose(data)


def test_odd_tables_are_looked_at_without_a_warning():
    odd = [
        np.full((3, 2), np.nan),
        np.zeros((1, 1)),
        np.array([[np.inf, 1.0], [2.0, -np.inf]] * 20),
        np.full((30, 3), 1e300) * np.arange(30)[:, None],
        np.eye(30),
        pd.DataFrame({"": ["a"] * 20, "x,y": range(20), '"': [1.5] * 20, "ü\u202e": [None] * 20}),
        pd.DataFrame({"a": [[1], [2]] * 10}),
        pd.DataFrame(np.random.default_rng(0).random((12, 300))),
        pd.DataFrame(index=range(5), columns=[]),
        b"a\n\n",
    ]
    for data, method in product(odd, ("pca", "kernel-pca")):
        if isinstance(data, bytes):
            assert seen(b"a\n1\n\n2\n", method) is not None
        elif data.shape[1]:
            found = gramian.propose(data, method)
            assert len(found.lines()) <= len(found)


def test_columns_that_leave_for_one_kind_of_reason_share_a_line():
    X = frame(factors(20, 3)).assign(**{f"same {j}": 1.0 for j in range(30)}, again=lambda frame: frame.a)
    found = gramian.propose(X)
    assert (len(found.reading["drop"]), len(found.lines())) == (31, 2)
    assert "'same 11'] and 18 more: 30 constants, as \"same 0\" is the same in all rows" in str(found)


def counts_of_unequal_depth(n=40, d=200, seed=0):
    """Return counts whose rows have unequal sums, and a treatment that changes a tenth of the columns."""
    rng = np.random.default_rng(seed)
    treated = np.arange(n) % 2 == 1
    shares = rng.gamma(0.7, 1, d)
    shares = (
        np.where(treated[:, None] & (np.arange(d) < d // 10), 4, 1) * shares * rng.gamma(20, 1 / 20, (n, d))
    )
    depth = rng.uniform(200_000, 4_000_000, n)
    return rng.poisson(shares / shares.sum(axis=1, keepdims=True) * depth[:, None]), treated


def test_counts_of_unequal_depth_are_brought_to_one_depth():
    counts, treated = counts_of_unequal_depth()
    X = pd.DataFrame(counts).add_prefix("ENSG")
    found = gramian.propose(X)
    assert found.reading["transform"] == "logcpm"
    (proposal,) = (one for one in found if one.option == "transform")
    assert proposal.evidence["r2"] > 0.9
    assert "unless they are brought to one depth" in proposal.why

    def r2(Z, y):
        return np.corrcoef(PCA(1).fit(Z).transform(Z)[:, 0], y)[0, 1] ** 2

    plain, deep = np.log1p(counts), np.log1p(1e6 * counts / counts.sum(axis=1, keepdims=True))
    assert r2(plain, np.log(counts.sum(axis=1))) > 0.9
    assert r2(deep, treated) > 0.9
    # Rows of one depth, and few columns, stay as they are.
    even = np.random.default_rng(0).multinomial(900_000, counts[0] / counts[0].sum(), 40)
    assert gramian.propose(pd.DataFrame(even).add_prefix("ENSG")).reading.get("transform") == "log1p"
    text = X.to_csv(index=False).encode()
    model = PCA(2).fit(scan(io.BytesIO(text), transform="log1p").read())
    table = scan(io.BytesIO(text), transform="log1p").read()
    (size,) = (one for one in gramian.diagnose(model, table) if one.code == "size")
    assert "PC1 follows the totals of the rows" in size.sentence
    assert 'transform="logcpm"' in size.remedy
    other = scan(io.BytesIO(text), transform="logcpm").read()
    assert "size" not in gramian.diagnose(PCA(2).fit(other), other).codes


def reasons(name):
    return {one.value: one.why for one in gramian.propose(STRANGE / name) if one.option == "drop"}


def test_columns_that_follow_from_a_sum_leave():
    assert reasons("soils.csv") == {"sand": '"sand" is about 100 minus the sum of "silt", "clay"'}
    found = gramian.propose(STRANGE / "players.csv")
    assert reasons("players.csv") == {
        "total": '"total" is the sum of "short", "medium", "long"',
        "Born": '"Born" is about 2022 minus "Age"',
    }
    assert not {one.name for one in found.doubtful} & {"total", "Born"}
    # What was left out by hand or by this proposal is not missed by the next one.
    assert not [
        one for one in gramian.propose(scan(STRANGE / "soils.csv", drop="silt")) if one.option == "drop"
    ]
    assert "drop" not in gramian.propose(scan(STRANGE / "players.csv", **found.reading)).reading
    rng = np.random.default_rng(0)
    groups = np.eye(3)[rng.integers(0, 3, 60)]
    X = pd.DataFrame(np.c_[groups, rng.normal(size=(60, 2))], columns=["north", "south", "west", "x", "y"])
    (gone,) = (one for one in gramian.propose(X) if one.option == "drop")
    assert gone.evidence["reason"] == "remainder"
    assert groups.mean(axis=0).max() == X[gone.value].mean()
    # Ranks sum to a number too, and so does a sum of columns that hardly vary.
    ranks = pd.DataFrame(rng.permuted(np.tile(np.arange(1.0, 5), (40, 1)), axis=1), columns=list("abcd"))
    assert not gramian.propose(ranks).reading
    steady = pd.DataFrame(100 + 0.1 * rng.normal(size=(40, 4)), columns=list("abcd"))
    assert not gramian.propose(steady).reading


def test_parts_of_a_whole_become_log_ratios_and_are_not_scaled():
    parts = np.random.default_rng(0).dirichlet([40, 9, 3, 1], 50).round(4)
    names = ["quartz", "feldspar", "mica", "ore"]
    found = gramian.propose(pd.DataFrame(parts + 0.001, columns=names))
    assert (found.reading, found.parameters) == ({"transform": "clr"}, {})
    assert found[0].why.startswith("columns are parts of a whole and sum to about 1.004")
    parts[7, 3] = 0
    found = gramian.propose(pd.DataFrame(parts, columns=names))
    assert (found.reading, found.parameters) == ({"transform": "sqrt"}, {})
    assert found[0].why.endswith("zeros have no log-ratio")


def test_skewed_amounts_over_powers_of_ten_become_logarithms():
    rng = np.random.default_rng(0)
    amounts = pd.DataFrame(np.exp(1.5 * rng.normal(size=(80, 6)))).add_prefix("metabolite ")
    found = gramian.propose(amounts)
    assert (found.reading, found.parameters) == ({"transform": "log"}, {})
    assert found[0].evidence["skewness"] > 2
    for other in (amounts - amounts.min(), amounts.clip(upper=2), np.log(amounts) + 9):
        assert gramian.propose(other).reading.get("transform") != "log"
    assert (
        gramian.propose(scan(io.BytesIO(amounts.to_csv(index=False).encode()), transform="sqrt")).reading
        == {}
    )


def test_of_proteins_one_quantity_is_analysed_sample_by_sample():
    found = gramian.propose(STRANGE / "proteins.txt")
    table = scan(STRANGE / "proteins.txt", **found.reading).read()
    assert table.row_names == tuple(
        f"LFQ intensity {sample}" for sample in ("C1", "C2", "C3", "T1", "T2", "T3")
    )
    assert table.values.shape == (6, 40)
    assert (found.reading["na_values"], found.reading["transform"]) == (["0"], "log")
    assert found[0].why.endswith('have 0, which means "not measured" in tables of proteins')
    gone = [one.why for one in found if one.option == "drop" and one.value == "Intensity C1"]
    assert gone == ['"Intensity C1" is none of 6 columns such as "LFQ intensity C1"']
    lines = (STRANGE / "proteins.txt").read_text().splitlines()
    without = "\n".join([lines[0].replace("LFQ intensity", "Coverage"), *lines[1:]])
    (gone,) = (
        one for one in gramian.propose(scan(io.BytesIO(without.encode()))) if one.value == "Coverage C1"
    )
    assert gone.why.endswith('is none of 6 columns such as "Intensity C1"')
    # Measured at several times, columns have a prefix and a suffix in common too.
    names = [f"{what}.{time}" for what in ("height", "mass") for time in (1, 2, 3)]
    assert "drop" not in gramian.propose(frame(factors(40, 6), names)).reading


def test_a_sheet_of_samples_beside_a_table_of_genes_labels_these(tmp_path):
    counts = tmp_path / "counts.tsv"
    counts.write_bytes((STRANGE / "genes.tsv").read_bytes())
    samples = scan(counts, transpose=True).read().row_names
    assert "labels_from" not in gramian.propose(counts).reading
    notes = {
        f"{name}.csv": [f"{name},{i}" for i, name in enumerate(samples)] for name in samples
    }  # no groups
    notes |= {
        "a.csv": ["s0,x", "s1,y", "s2,x"],
        "b.txt": ["", "\0"],
        "c.xlsx": ["no sheet"],
    }  # others, and none
    for name, lines in notes.items():
        (tmp_path / name).write_text("\n".join(["name,dose", *lines]))
    assert "labels_from" not in gramian.propose(counts).reading
    rows = [f"{name},{'ab'[i % 2]},{i}" for i, name in enumerate(reversed(samples))]
    (tmp_path / "scores.csv").write_text("\n".join(["name,treatment,PC1", *rows]))
    (tmp_path / "sheet.csv").write_text("\n".join(["name,treatment,dose", *rows, "another,a,9"]))
    found = gramian.propose(counts)
    assert found.reading["labels_from"] == str(tmp_path / "sheet.csv")
    assert found[-1].why == f"a table beside it names all {len(samples)} samples, and groups of them"
    table = scan(counts, **found.reading).read()
    assert (table.label_name, table.labels[-1], "dose" in table.metadata) == ("treatment", "a", True)
    chosen = scan(counts, labels_from=tmp_path / "sheet.csv")
    assert "labels_from" not in gramian.propose(chosen).reading


def test_answers_in_words_are_proposed_with_their_order_and_one_column_is_said():
    found = gramian.propose(STRANGE / "survey.csv")
    assert (
        found[0].line().startswith("answers=['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly")
    )
    assert found[0].evidence["columns"] == ["Q1", "Q2", "Q3", "Q4", "Q5"]
    assert found.reading["drop"] == ["age"]  # rather than a scale for its sake
    assert not found.parameters
    assert not found.alone
    for chosen in ({"answers": found[0].value}, {"drop": ["Q1", "Q2", "Q3", "Q4"]}):
        assert "answers" not in gramian.propose(scan(STRANGE / "survey.csv", **chosen)).reading
    texts = [f"{word},{np.sin(i * i):.3f}" for i, word in enumerate(["red", "blue", "green"] * 8)]
    found = seen("\n".join(["colour,mass", *texts]))
    assert found.alone == "mass"
    assert str(found).splitlines()[-1] == 'Only "mass" is left to analyse.'
    factors = seen("\n".join(["colour,sex,size,mass", *(f"{one[0]},{one[2]},{one}" for one in texts)]))
    assert factors.question() == (
        'Only "mass" is left to analyse. Code text as 0 and 1, or use multiple correspondence analysis.'
    )


def test_a_column_beside_a_spectrum_leaves_and_the_spectrum_is_not_scaled():
    rng = np.random.default_rng(0)
    place = np.linspace(0, 1, 60)
    peaks = np.exp(-((place - np.array([[0.2], [0.6]])) ** 2) / 0.02)
    X = rng.random((50, 2)) @ peaks + 0.01 * rng.normal(size=(50, 60))
    X = pd.DataFrame(X, columns=[str(1100 + 4 * j) for j in range(60)])
    found = gramian.propose(X.assign(Brix=rng.normal(12, 2, 50).round(1)))
    assert brief(found) == "drop=Brix"
    assert found[0].why == '"Brix" is none of the 60 columns along an axis'
    assert not gramian.propose(X)
    unnamed = X.set_axis([f"X{j}" for j in range(1, 61)], axis=1)  # as R does
    assert brief(gramian.propose(unnamed.assign(Brix=rng.normal(12, 2, 50).round(1)))) == "drop=Brix"
    assert not gramian.propose(unnamed)


def test_a_column_beside_answers_leaves_and_these_are_not_scaled():
    rng = np.random.default_rng(0)
    level = rng.normal(3.5, 1, (200, 1))
    items = np.clip(np.rint(level + rng.normal(0, 1, (200, 8))), 1, 6)
    items[:, 7] = np.minimum(items[:, 7], 5)  # whose largest answer nobody gave
    X = frame(items, [f"item {j}" for j in range(8)])
    weight = X.assign(weight=rng.normal(70, 12, 200).round(1))
    found = gramian.propose(weight)
    assert brief(found) == "drop=weight"
    assert found[0].why == '"weight" is none of the 8 columns of whole numbers from 1 to 6'
    assert not gramian.propose(X)
    counts = np.random.default_rng(1).poisson(np.r_[np.full(20, 0.8), 12, 30, 60], (60, 23))
    counts[0, 20:] = 0  # of rare and of common species
    assert "drop" not in gramian.propose(frame(counts, [f"species {chr(97 + j)}" for j in range(23)])).reading
    # Of few answers, or beside as many others, none is an exception.
    for some in (weight.iloc[:, 4:], weight.assign(**{f"w{j}": rng.normal(70, 12, 200) for j in range(7)})):
        assert "drop" not in gramian.propose(some).reading


def test_many_columns_whose_names_differ_in_a_number_are_judged_by_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(50, 9, (60, 12)).round(1)).add_prefix("district")
    assert not {"drop", "label", "id"} & gramian.propose(X).reading.keys()


def test_columns_with_holes_stay_where_another_column_follows_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)) * 10.0 ** rng.integers(-5, 6, size=12)
    X[:, 6:9] = X[:, :3] * [2, -3, 0.5] + 0.2 * X[:, :3].std(axis=0) * rng.normal(size=(40, 3))
    X[rng.random(X.shape) < [*6 * [0.05], *6 * [0.45]]] = np.nan
    leave = []
    for j in range(12):
        there = np.isfinite(X[:, j])
        others = np.delete(X, j, axis=1)[there]
        filled = np.where(np.isfinite(others), others, np.nanmean(others, axis=0))
        strongest = max(abs(np.corrcoef(X[there, j], other)[0, 1]) for other in filled.T)
        if 0.3 < (~there).mean() <= 0.6 and strongest <= max(0.3, chance(there.sum(), 11)):
            leave.append(str(j))
    table = pd.DataFrame(X, columns=[str(j) for j in range(12)])
    found = gramian.propose(table.rename(columns=lambda name: f"x{name}"))
    dropped = [one.value[1:] for one in found if one.option == "drop" and one.evidence["reason"] == "holes"]
    assert dropped == leave
    assert 0 < len(leave) < 6


def test_a_code_is_none_where_many_columns_have_it_as_a_value():
    rng = np.random.default_rng(0)
    X = rng.poisson(4, size=(30, 400))
    X[:, 0] = [9, *(rng.permutation([0, 1, 1, 2, 2, 3] * 5)[:29])]
    for width, proposed in ((400, False), (5, True)):
        table = pd.DataFrame(np.minimum(X[:, :width], 9 if width > 5 else [9, 8, 8, 8, 8]))
        said = str(gramian.propose(table.rename(columns=lambda j: f"x{j}")))
        assert ("na_values=['9']" in said) == proposed
        assert ("na_values" in said) == proposed


def test_sparse_counts_that_agree_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.04, (60, 1500)) * rng.integers(1, 4, (60, 1500)) + 0.0
    X[:, :20] = rng.poisson(2.0, (60, 20))
    X[:, 20], X[:, 21] = X[:, 3], 2 * X[:, 7]
    found = gramian.propose(pd.DataFrame(X, columns=[f"gene{j}" for j in range(1500)]))
    copies = [item.value for item in found if item.evidence.get("reason") == "copy"]
    assert copies == ["gene20", "gene21"]
