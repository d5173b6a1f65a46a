"""Several labels, and metadata from frames and files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gramian import scan
from gramian.errors import DataError, ParameterError
from gramian.tables.as_rows import as_rows
from gramian.tables.metadata import as_metadata, as_variable, labels_of, with_metadata
from gramian.tables.table import Table


def test_numbers_and_text_of_every_kind():
    nan = np.nan
    for given, expected in (
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
        ([1.5, None, "NaN", pd.NA], [1.5, nan, nan, nan]),
        (["a", None, "NaN", pd.NA], ["a", "", "", ""]),
        ([1.5, None, 2], [1.5, nan, 2.0]),
        (pd.Series([1, pd.NA], dtype="Int64"), [1.0, nan]),
        (pd.Series(["a", None], dtype="string"), ["a", ""]),
        (pd.Series(["a", nan]), ["a", ""]),
        (pd.Series([3, 1], dtype="category"), ["3", "1"]),
        (pd.Series([True, pd.NA], dtype="boolean"), ["True", ""]),
        (np.array([True, False]), ["True", "False"]),
        (pl.Series(["x", None]), ["x", ""]),
        (pl.Series([1, None]), [1.0, nan]),
        (pl.Series(["x", "y"], dtype=pl.Categorical), ["x", "y"]),
        ([None, None], ["", ""]),
    ):
        found = as_variable("v", given)
        np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype))
    with pytest.raises(DataError, match=r"The metadata have no column\. Give one or more, such as"):
        as_metadata({})
    assert labels_of(Table(np.zeros((2, 2)))) == {}


def test_columns_of_a_file_are_joined_by_name(tmp_path):
    file = tmp_path / "samples.csv"
    file.write_text("sample,batch,dose,note\ns3,b,1.5,x\ns1,a,,\ns9,b,2,y\n")
    table = Table(np.zeros((3, 2)), row_names=("s1", "s2", "s3"))
    found = with_metadata(table, file)
    assert found.metadata["batch"].tolist() == ["a", "", "b"]
    np.testing.assert_array_equal(found.metadata["dose"], [np.nan, np.nan, 1.5])
    assert found.metadata["note"].tolist() == ["", "", "x"]
    assert "2 of 3 rows have an entry" in found.notes[-1]
    by_note = as_metadata(file, id="dose")
    assert by_note.row_names[1] == ""
    assert set(by_note.columns) == {"sample", "batch", "note"}
    without = with_metadata(Table(np.zeros((3, 2))), file)
    assert without.metadata["batch"].tolist() == ["b", "a", "b"]
    (tmp_path / "names.csv").write_text("sample\ns1\ns2\n")
    assert list(as_metadata(tmp_path / "names.csv").columns) == ["sample"]


def test_several_labels_of_every_kind_of_file(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "sex": ["f", "m", "f"], "b": [4.0, 5, 6], "site": [7, 8, 7]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", frame[["a", "b", "site"]].to_numpy())
    for name in ("t.csv", "t.parquet"):
        for label in ("sex,site", ["sex", "site"]):
            table = scan(tmp_path / name, label=label).read()
            assert (table.feature_names, table.label_name) == (("a", "b"), "sex")
            assert table.labels.tolist() == ["f", "m", "f"]
            assert table.metadata["site"].tolist() == [7, 8, 7]
            assert "'sex' was used as labels, 'site' as metadata" in table.origin.asked
    table = scan(tmp_path / "t.csv", label="site,sex", rows="1:", columns="b").read()
    assert (table.labels.tolist(), table.metadata["sex"].tolist()) == ([8, 7], ["m", "f"])
    table = scan(tmp_path / "t.npy", label="2,0").read()
    np.testing.assert_array_equal(table.values, [[4.0], [5.0], [6.0]])
    assert (table.labels.tolist(), table.metadata["0"].tolist()) == ([7, 8, 7], [1, 2, 3])
    (tmp_path / "holes.csv").write_text("a,sex,site\n1,f,x\n,m,y\n3,f,z\n")
    table = scan(tmp_path / "holes.csv", label="sex,site", missing="drop-rows").read()
    assert {name: values.tolist() for name, values in labels_of(table).items()} == {
        "sex": ["f", "f"],
        "site": ["x", "z"],
    }
    (tmp_path / "comma.csv").write_text('a,"b,c",d\n1,x,2\n2,y,3\n')
    assert scan(tmp_path / "comma.csv", label='"b,c"').read().labels.tolist() == ["x", "y"]
    for label, message in [
        ("sex,colour", r"has no such column\. Its 4 columns"),
        ("sex,sex", "columns, drop, id, label and"),
        ([], r"label=\[\] holds no names\. Give some,"),
    ]:
        with pytest.raises(ParameterError, match=message):
            scan(tmp_path / "t.csv", label=label).read()


def test_an_index_of_numbers_joins_as_names_do():
    X = pd.DataFrame(np.arange(12.0).reshape(6, 2), columns=["a", "b"])
    groups = pd.DataFrame({"g": list("uvwxyz")})
    later = groups.set_axis(range(10, 16))
    shuffled = X.iloc[[4, 2, 0, 5, 1, 3]]
    for data, given, expected, how in (
        (X, groups, "uvwxyz", "order"),
        (shuffled, groups, "ywuzvx", "row names"),
        (shuffled, groups["g"], "ywuzvx", "row names"),
        (shuffled, groups.loc[shuffled.index[::-1]], "ywuzvx", "row names"),
        (shuffled, {"g": list("uvwxyz")}, "uvwxyz", "order"),
        (shuffled[:3], groups, "ywu", "row names"),
        (shuffled[:3], groups[:3], "uvw", "order"),  # they do not name all rows: nobody said so
        (X.set_axis(range(10, 16)), later[::-1], "uvwxyz", "row names"),
        (X.iloc[[1, 1, 2]], groups["g"].iloc[[1, 1, 2]], "vvw", "row names"),  # equal names in equal order
        (
            X.set_axis(pd.date_range("2024", periods=6)),
            later.set_axis(pd.date_range("2024", periods=6)[::-1]),
            "zyxwvu",
            "row names",
        ),
    ):
        rows = as_rows(data)
        columns, note = as_metadata(given).joined(rows.shape[0], rows.row_names)
        assert "".join(columns["g"]) == expected
        assert f"joined by {how}" in note
