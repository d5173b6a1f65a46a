"""Names and labels of rows: as they are written, in every kind of file."""

import numpy as np
import pandas as pd
import pytest

from gramian.tables.scan import scan

NAMES = [
    *("1017", "001017", "0042", "7", "12345678901234567890", "12345678901234567891", "100E10", "1.10"),
    *("+4912", "NA", "nan", "null", "2020-01-05", "05/01/2020", "a b", "True", "1e5", "inf", "-5", "x" * 300),
]
KINDS = (["01", "1", "2"] * len(NAMES))[: len(NAMES)]
FRAME = pd.DataFrame({"id": NAMES, "a": np.arange(len(NAMES)) / 2, "b": 1.5, "kind": KINDS})
SUFFIXES = ["csv", "xlsx", "parquet"]


def save(frame, path):
    if path.suffix in (".csv", ".xlsx"):
        (frame.to_csv if path.suffix == ".csv" else frame.to_excel)(path, index=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("identifiers")
    sheet = FRAME[["kind", "id"]].iloc[::-1].reset_index(drop=True)
    for suffix in SUFFIXES:
        save(FRAME, folder / f"data.{suffix}")
        save(sheet, folder / f"sheet.{suffix}")
        save(sheet.rename(columns={"id": "sample"}), folder / f"other.{suffix}")
    return folder


def test_they_are_kept_as_written_and_join_files(files):
    for suffix in SUFFIXES:
        table = scan(files / f"data.{suffix}", id="id", label="kind").read()
        assert table.row_names == tuple(NAMES)
        assert table.labels.tolist() == KINDS
        left = scan(files / f"data.{suffix}", id="id", label="kind", exclude=["001017", "kind=01"]).read()
        assert left.row_names == tuple(
            name for name, kind in zip(NAMES, KINDS, strict=True) if name != "001017" and kind != "01"
        )
    for suffix in SUFFIXES:
        for data in SUFFIXES:
            for name in (f"sheet.{suffix}", f"other.{suffix}"):
                labels_from = f"{files / name}:kind"
                table = scan(files / f"data.{data}", id="id", drop="kind", labels_from=labels_from).read()
                assert table.labels.tolist() == KINDS


def test_whole_numbers_days_and_pivots_keep_them(tmp_path):
    whole = np.array([1017, 42, 3_000_000_000])
    for suffix in SUFFIXES:
        for ids in (whole, whole.astype(float)):
            if (suffix, ids.dtype.kind) != ("csv", "f"):  # where 1017.0 is what is written
                path = save(pd.DataFrame({"id": ids, "a": [1.5, 2, 3]}), tmp_path / f"x.{suffix}")
                assert scan(path, id="id").read().row_names == ("1017", "42", "3000000000")
    for suffix in SUFFIXES:
        days = pd.DataFrame({"day": pd.date_range("2020-01-30", periods=3), "a": [1.5, 2, 3]})
        path = save(days, tmp_path / f"x.{suffix}")
        assert scan(path).read().row_names == ("2020-01-30", "2020-01-31", "2020-02-01")
    lines = [
        f"{id},{variable},{kind},1" for id, kind in (("01", "01"), ("1", "1")) for variable in ("05", "5")
    ]
    (tmp_path / "x.csv").write_text("\n".join(["id,variable,kind,value", *lines]) + "\n")
    table = scan(tmp_path / "x.csv", pivot=["id", "variable", "value"], label="kind").read()
    assert (table.row_names, table.feature_names) == (("01", "1"), ("05", "5"))
    assert table.labels.tolist() == ["01", "1"]


def test_labels_are_numbers_where_each_number_is_written_in_one_way(tmp_path):
    for entries, expected in (
        (["1", "2", "1"], [1, 2, 1]),
        (["0", "", "1"], [0.0, np.nan, 1.0]),
        (["1.50", "2.25", "NA"], [1.5, 2.25, np.nan]),
        (["1e-05", "2", "-3"], [1e-5, 2.0, -3.0]),
        (["1.0", "2.0", "1.0"], [1.0, 2.0, 1.0]),
        (["01", "1", "?"], ["01", "1", ""]),
        (["1.10", "1.1", "2.5"], ["1.10", "1.1", "2.5"]),
        (["+49", "49", "1"], ["+49", "49", "1"]),
        (["100E10", "1", "2"], ["100E10", "1", "2"]),
        (["true", "FALSE", "true"], ["true", "FALSE", "true"]),
        ([" u", "u ", "NA"], ["u", "u", ""]),
    ):
        lines = [f"{row}.5,{entry}" for row, entry in enumerate(entries)]
        (tmp_path / "x.csv").write_text("\n".join(["a,kind", *lines]) + "\n")
        labels = scan(tmp_path / "x.csv", label="kind").read().labels
        np.testing.assert_array_equal(labels, np.array(expected))
    table = scan(tmp_path / "x.csv", label="kind").read()  # the last one
    assert table.notes == ()
    measured = np.append(np.arange(100) / 8, [1.5, 1.5])
    text = [f"{one:.3f}" for one in measured[:-1]] + ["1.5"]
    (tmp_path / "x.csv").write_text("\n".join(["a,kind", *(f"{i}.25,{one}" for i, one in enumerate(text))]))
    np.testing.assert_array_equal(scan(tmp_path / "x.csv", label="kind").read().labels, measured)
    marked = scan(tmp_path / "x.csv", label="kind", na_values=["1.5"]).read().labels
    assert np.isnan(marked).sum() == 3


def test_labels_that_differ_in_blanks_are_one_group_on_every_path(tmp_path):
    table = pd.DataFrame({"g": ["u", "u ", " v", "v", "u"], "a": [1.5, 2, 4, 5, 3], "b": [2.5, 3, 1, 2, 3]})
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet")
    table.to_excel(tmp_path / "x.xlsx", index=False)
    table[["a", "b"]].to_csv(tmp_path / "numbers.csv", index=False)
    paths = [scan(tmp_path / f"x.{kind}", label="g") for kind in ("csv", "parquet", "xlsx")]
    paths += [
        scan(tmp_path / "numbers.csv", labels_from=f"{tmp_path / f'x.{kind}'}:g")
        for kind in ("csv", "parquet")
    ]
    for one in paths:
        read = one.read()
        assert read.labels.tolist() == ["u", "u", "v", "v", "u"], one
    (tmp_path / "x.csv").write_text("a,sex\n1,f\n2,F\n3,m\n")
    assert scan(tmp_path / "x.csv", label="sex").read().notes == (
        "'f', 'F' are different groups of 'sex': if they are one, write them alike in the file",
    )
