"""Numbers that stand for missing values, and numbers that do not."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gramian
import gramian.errors
from gramian.tables.codes import codes_of
from gramian.tables.preview import of_numbers
from gramian.tables.reading import Remembered

RNG = np.random.default_rng(0)
AGES, RATINGS = RNG.integers(18, 85, 200).astype(float), RNG.integers(1, 6, 200).astype(float)
WEIGHTS, CHANGES = RNG.normal(70, 9, 200).round(1), RNG.normal(0, 3, 200).round(2)


def codes(values, *more):
    values = np.concatenate([values, more])
    return codes_of(of_numbers(["x"], values[None])[0])


def test_codes_are_found_and_values_are_none():
    for values, more in [
        (AGES, [-9.0]),
        (AGES, [999.0] * 4),
        (RATINGS, [99.0]),
        (RATINGS, [77.0, 77.0, 88.0, 99.0]),
        (100 + WEIGHTS, [0.0, 0.0]),
        (WEIGHTS, [-9999.0]),
        (WEIGHTS, [5000.0, 5000.0]),
        (CHANGES, [-99.99] * 9),
        (CHANGES, [-200.0]),
        (np.tile(np.r_[60.0:99.0, 100.0], 6), [99.0] * 60),
    ]:
        found = codes(values, *more)
        assert set(found) == set(more)
        assert sum(found.values()) == np.isin(np.concatenate([values, more]), more).sum()
    for values in [
        *(AGES, RATINGS, WEIGHTS, CHANGES),
        np.r_[WEIGHTS, 140.0],  # one wild value may be real
        np.r_[RNG.exponential(3, 200), 90.0],
        RNG.poisson(9, 300).astype(float),
        np.r_[RNG.integers(1, 9, 200), [24.0] * 90],  # Boston's index of highways
        np.where(RNG.random(200) < 0.6, 0.0, RNG.gamma(2, 30, 200)),
        np.minimum(RNG.normal(50, 30, 300).round(), 99.0),  # two digits
        np.array([0.0, 1.0] * 50),
        np.full(30, -999.0),
    ]:
        assert codes(values) == {}


def test_a_code_is_proposed_and_read_as_missing(data_dir):
    for name, code, missing in (
        ("F01_code_-200", "-200", 91),
        ("F01_likert_99", "99", 181),
        ("F01_returns_-99.99", "-99.99", 840),
    ):
        path = data_dir / "strange" / f"{name}.csv"
        found = gramian.propose(path)
        assert found.reading["na_values"] == [code]
        assert "apart from all other values" in found[0].why
        table = gramian.scan(path, **found.reading).read()
        assert np.isnan(table.values).sum() <= missing
        assert np.isnan(table.values).any() or "missing" in found.reading
        assert float(code) not in table.values


def test_a_code_that_is_a_value_elsewhere_is_proposed_for_its_column():
    frame = {
        "answer": np.r_[RATINGS, [99.0] * 9],
        "age": np.r_[AGES, 99.0, AGES[:8]],
        "x": np.r_[WEIGHTS, WEIGHTS[:9]],
    }
    lines = [",".join(frame), *(",".join(map(str, row)) for row in zip(*frame.values(), strict=True))]
    data = "\n".join(lines).encode()
    found = gramian.propose(gramian.scan(io.BytesIO(data)))
    assert found.reading["na_values"] == ["answer=99"]
    assert found[0].why.endswith('as a code of missing ones (a value like others in "age")')
    table = gramian.scan(io.BytesIO(data), **found.reading).read()
    assert np.isnan(table.values[:, 0]).sum() == 9
    assert (table.values[:, 1] == 99).sum() == 1
    again = gramian.propose(gramian.scan(io.BytesIO(data), na_values={"answer": 99}))
    assert "na_values" not in again.reading


def test_missing_values_of_one_column(tmp_path):
    text = "time;CO;age\n1;2,6;5\n2;-200,0;99\n3;n.d.;7\n4;2,2;-200\n"
    (tmp_path / "air.csv").write_text(text)
    pd.DataFrame({"CO": [2.6, -200.0], "T": [-200.0, 3.0]}).to_parquet(tmp_path / "air.parquet")
    for given in ({"CO": [-200, "n.d."], "age": "99"}, "CO=-200,CO=n.d.,age=99"):
        table = gramian.scan(tmp_path / "air.csv", na_values=given, missing="em").read()
        assert np.isnan(table.values).tolist() == [
            [False] * 3,
            [False, True, True],
            [False, True, False],
            [False] * 3,
        ]
        assert table.values[3, 2] == -200
    table = gramian.scan(tmp_path / "air.parquet", na_values="CO=-200", missing="em").read()
    assert np.isnan(table.values).tolist() == [[False, False], [True, False]]
    again = gramian.scan(tmp_path / "air.parquet", na_values=(Remembered("-"), Remembered("CO=-200")))
    assert np.isnan(replace(again, missing="em").read().values).sum() == 1  # as new rows of a model are read
    for file in ("air.csv", "air.parquet"):
        with pytest.raises(gramian.errors.ParameterError, match=r"na_values='OC': .* has no such column"):
            gramian.scan(tmp_path / file, na_values="OC=-200").read()
