"""Tables in Parquet files."""

import io

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from gramian.errors import DataError, FileError
from gramian.rows.parquet_files import read_parquet


def written(table):
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def test_columns_and_names():
    columns, names = read_parquet(io.BytesIO(written(pa.table({"x": [1], "y": [2.5]}))), "x")
    assert names == ["x", "y"]
    assert [column.to_pylist() for column in columns] == [[1], [2.5]]


@pytest.mark.parametrize("name", [None, "place"])
def test_the_index_of_pandas_comes_first(name):
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name=name))
    columns, names = read_parquet(io.BytesIO(written(pa.Table.from_pandas(frame))), "x")
    assert names == [name or "__index_level_0__", "x"]
    assert columns[0].to_pylist() == ["a", "b"]


def test_a_counting_index_of_pandas_is_no_column():
    frame = pd.DataFrame({"x": [1, 2]})
    assert read_parquet(io.BytesIO(written(pa.Table.from_pandas(frame))), "x")[1] == ["x"]


def test_damaged_metadata_of_pandas_does_no_harm():
    table = pa.table({"x": [1]}).replace_schema_metadata({b"pandas": b"{nonsense"})
    assert read_parquet(io.BytesIO(written(table)), "x")[1] == ["x"]


def test_no_columns():
    with pytest.raises(DataError, match="has no columns"):
        read_parquet(io.BytesIO(written(pa.table({}))), "x")


@pytest.mark.parametrize("keep", [4, 20, -1, -20])
def test_truncated(keep):
    data = written(pa.table({"x": list(range(100))}))
    with pytest.raises(FileError, match="truncated or damaged Parquet"):
        read_parquet(io.BytesIO(data[:keep]), "x")
