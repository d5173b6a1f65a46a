"""Columns: which become numbers, names and labels, which are refused; and those of Parquet files."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from gramian import scan
from gramian.errors import DataError
from gramian.tables.columns import ColumnsInMemory, table_of_columns
from gramian.tables.formats.parquet import ParquetSource
from gramian.tables.reading import ReadingOptions


def make(data, names=..., **choice):
    arrays = [c if isinstance(c, pa.ChunkedArray) else pa.chunked_array([c]) for c in data]
    if names is ...:
        names = [f"c{index}" for index in range(len(arrays))]
    return table_of_columns(
        ColumnsInMemory(arrays, None if names is None else tuple(names), "x.parquet"),
        ReadingOptions(**choice),
    )


def test_columns_that_become_row_names_and_those_that_do_not():
    table = make([["a", "b"], [1, 2]])
    assert table.row_names == ("a", "b")
    assert table.notes == ('row names were taken from column "c0", which holds unique text',)
    for first in (["1", "2.5", "#DIV/0!", "x"], ["1,000.5", "2,000.5", "none"], ["1", "NA", "x"]):
        with pytest.raises(DataError, match=r"x\.parquet has 1 column that holds no numbers:"):
            make([first, [1] * len(first)])
    for name in ("", "rownames", "Unnamed: 0", "__index_level_0__"):
        table = make([[1, 2], [1.5, 2.5]], [name, "x"])
        assert table.row_names == ("1", "2")
        assert table.feature_names == ("x",)
        assert "row names were taken from" in table.notes[0]
    for first in ([1, 1], [1.5, 2.5], [1, None]):
        assert make([first, [1.5, 2.5]], ["", "x"]).feature_names == ("column 0", "x")
    assert make([[1, 2]], [""]).values.tolist() == [[1], [2]]
    table = make([[0, 1], ["a", "b"], [3, 4]], ["", "name", "x"], id="name")
    assert table.row_names == ("a", "b")
    assert table.feature_names == ("x",)
    assert "left out" in table.notes[0]
    assert make([["u", "v"], [5, 6], [3, 4]], id="c1", drop=("c0",)).row_names == ("5", "6")


def test_labels_chunks_names_and_parquet():
    for values, expected in [
        ([1, 2], [1, 2]),
        ([1.5, None], [1.5, np.nan]),
        ([1, None], [1, np.nan]),
        (["u", None], ["u", ""]),
        ([True, False], ["True", "False"]),
    ]:
        np.testing.assert_array_equal(make([values, [1, 2]], label="c0").labels, expected)
    table = make([["u", "u"], ["a", "b"], [1, 2]], label="c0")
    assert table.labels.tolist() == ["u", "u"]
    assert table.row_names == ("a", "b")
    column = pa.chunked_array([[1, 2], [3], [4, 5]])
    assert make([column], rows=slice(1, 4)).values[:, 0].tolist() == [2, 3, 4]
    table = make([pa.chunked_array([["a", "b"], ["c", "d", "e"]]), column], rows=slice(0, 5, 2))
    assert table.values[:, 0].tolist() == [1, 3, 5]
    assert table.row_names == ("a", "c", "e")
    table = make([[1], [2], [3]], ["a", "a", "b"])
    assert table.feature_names == ("a", "a_2", "b")
    assert table.notes == ("repeated column names were numbered: 'a'",)
    table = make([[1, 2], ["u", "u"], [3, 4]], None, label="1", columns=("2", "0"))
    assert table.values.tolist() == [[3, 1], [4, 2]]
    assert table.feature_names is None
    table = make([[1, 2], pa.array([None, None])], ["x", ""])
    assert table.feature_names == ("x",)
    assert table.notes == ("an empty last column without a name was left out",)
    columns, names = read_parquet(written(pa.table({"x": [1], "y": [2.5]})), "x")
    assert names == ("x", "y")
    assert [column.to_pylist() for column in columns] == [[1], [2.5]]
    with pytest.raises(DataError, match=r"x has no columns\. Give each column of numbers a name of"):
        read_parquet(written(pa.table({})), "x")
    for name in (None, "place"):
        frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name=name))
        columns, names = read_parquet(written(pa.Table.from_pandas(frame)), "x")
        assert names == (name or "__index_level_0__", "x")
        assert columns[0].to_pylist() == ["a", "b"]
    assert read_parquet(written(pa.Table.from_pandas(pd.DataFrame({"x": [1, 2]}))), "x")[1] == ("x",)
    for text in (b"{nonsense", 100_000 * b"["):
        table = pa.table({"x": [1]}).replace_schema_metadata({b"pandas": text})
        assert read_parquet(written(table), "x")[1] == ("x",)


def test_columns_that_hold_no_numbers_are_refused_and_counted():
    slip, long = ["10", "11", "12.O"], ["a" * 1000] * 2
    dates = [pa.array([1, 2], kind) for kind in (pa.date32(), pa.timestamp("s"))]
    others = [pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}]), pa.array([b"a", b"b"])]
    for columns, count in (
        ([[1, 2], ["f", "f"], ["Rome", "Rome"]], "2 columns that hold"),
        ([[1, 2], *[["u", "u"]] * 11], "11 columns that hold"),
        ([slip, [1, 2, 3]], "1 column that holds"),
        *(([[1, 2], column], "1 column that holds") for column in (long, *dates, *others)),
    ):
        with pytest.raises(DataError, match=rf"x\.parquet has {count} no numbers:"):
            make(columns)
    for columns, choice, said in (
        ([], {}, r"rows\. Add at least one row of numbers\."),
        ([pa.array([], pa.float64())], {}, r"rows\. Add at least one row of numbers\."),
        ([[1, 2]], {"drop": ("c0",)}, r"numeric columns\. At least one column"),
        ([["a", "b"], ["u", "u"]], {}, "numeric columns:"),
    ):
        with pytest.raises(DataError, match=rf"x\.parquet has no {said}"):
            make(columns, **choice)


def test_numbers_of_every_type_dictionaries_and_nulls():
    for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2)):
        column = pa.array(np.array([1, 2], np.float16) if kind == pa.float16() else [1, 2], kind)
        table = make([column])
        single = kind in (pa.float16(), pa.float32())
        assert table.values.dtype == (np.float32 if single else np.float64)
        assert table.values.tolist() == [[1], [2]]
    assert make([[2**53 + 1]]).values[0, 0] == 2.0**53
    table = make(
        [
            pa.array(["a", "b"]).dictionary_encode(),
            pa.array([5, 6]).dictionary_encode(),
            [True, None],
            pa.array([None, None]),
            pa.array(["u", "u"]).cast(pa.string_view()),
        ],
        label="c4",
    )
    assert table.row_names == ("a", "b")
    np.testing.assert_array_equal(table.values, [[5, 1, np.nan], [6, np.nan, np.nan]])


def written(table):
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return io.BytesIO(buffer.getvalue())


def read_parquet(file, name):
    source = ParquetSource([file], name)
    (batch,) = source.batches(None)
    return batch, source.names


def test_columns_of_words_are_read_as_they_are_when_everything_is_tried(monkeypatch):
    rng = np.random.default_rng(0)
    cells = [
        "a",
        "B c",
        "NA",
        "",
        "-",
        "Inf",
        "true",
        "False",
        "$",
        "%",
        "nan",
        "<",
        "May",
        "1",
        "2,5",
        "<3",
        "€4",
        "1.1.2024",
    ]
    columns = [
        rng.choice(rng.choice(cells, rng.integers(1, 5)), 12).tolist() for _ in range(400)
    ]  # of few kinds each
    lines = [",".join(f"c{at}" for at in range(400))]
    lines += [",".join(f'"{column[row]}"' for column in columns) for row in range(12)]
    data = "\n".join(lines).encode()

    def read():
        seen = scan(io.BytesIO(data)).preview()
        return (
            [(c.name, c.kind, c.missing, c.distinct, c.first) for c in seen.columns],
            seen.marks,
            seen.slips,
        )

    fast = read()
    assert {kind for _, kind, *_ in fast[0]} >= {"text", "number", "constant"}
    monkeypatch.setattr("gramian.tables.strings.words", lambda columns, na_values: set())
    assert read() == fast
