import csv
import io

import numpy as np
import pytest

from gramian.errors import ParameterError
from gramian.report.tables import feature_names, format_of, row_names, row_table, write_table
from gramian.tables.table import Table


def as_csv(columns):
    file = io.BytesIO()
    write_table(file, columns, "csv")
    return list(csv.reader(io.StringIO(file.getvalue().decode())))


def test_numbers_come_back_exactly_and_text_is_quoted():
    values = np.array([0.1, 1e-300, np.pi])
    rows = as_csv({"na,me": ["a,b", 'c"d', "é"], "x": values, "y": [1.0, None, np.nan]})
    assert rows[0] == ["na,me", "x", "y"]
    assert [row[0] for row in rows[1:]] == ["a,b", 'c"d', "é"]
    assert [float(row[1]) for row in rows[1:]] == values.tolist()
    assert [row[2] for row in rows[2:]] == ["", ""]


def test_parquet_and_npy(tmp_path):
    from pyarrow import parquet

    columns = {"row": range(3), "PC1": np.arange(3, dtype=np.float32), "PC2": np.ones(3, dtype=np.float32)}
    write_table(tmp_path / "a.parquet", columns, "parquet")
    assert parquet.read_table(tmp_path / "a.parquet").to_pydict()["PC1"] == [0.0, 1.0, 2.0]
    write_table(tmp_path / "a.npy", columns, "npy")
    result = np.load(tmp_path / "a.npy")
    assert (result.shape, result.dtype) == ((3, 2), np.float32)


def test_names_of_rows_and_features_and_labels_that_give_way():
    assert row_names(Table(np.zeros((3, 2)), row_numbers=range(5, 8))) == ("row", range(5, 8))
    assert feature_names(Table(np.zeros((3, 2)))) == ("x0", "x1")
    assert feature_names(Table(np.zeros((3, 1, 2)), picture_shape=(1, 2))) == ("r0c0", "r0c1")
    table = Table(np.zeros((2, 1)), row_names=("a", "b"), labels=np.array([1, 2]), label_name="PC1")
    columns = row_table(table, np.array([[5.0], [6.0]]))
    assert list(columns) == ["name", "PC1_2", "PC1"]
    assert columns["PC1"].tolist() == [5.0, 6.0]


def test_kinds_are_told_by_the_name():
    assert format_of("a.PARQUET") == "parquet"
    with pytest.raises(
        ParameterError, match=r"-o a\.txt does not end in \.csv, \.parquet, \.npy or \.zarr\."
    ):
        format_of("a.txt")
