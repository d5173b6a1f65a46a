"""What is known of a table before its columns have a use."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

from gramian.errors import DataError, FileError
from gramian.tables.preview import FIRST, MOST, WIDEST, preview
from gramian.tables.scan import Scan, scan
from helpers import npy


def seen(text):
    return preview(io.BytesIO(text.encode() if isinstance(text, str) else text))


def test_much_and_strange_is_told_in_short():
    wide = seen(",".join(f"c{place}" for place in range(10_000)) + "\n" + ",".join(["1"] * 10_000) + "\n")
    assert (wide.rows, wide.width, len(wide.columns), len(wide.facts()["columns"])) == (
        1,
        10_000,
        10_000,
        MOST,
    )
    long = seen(f"a,b\n{'x' * 1000},1\ny,2\n").columns[0]
    assert len(long.first[0]) == WIDEST
    (one,) = seen(npy(np.array([[np.inf], [np.nan], [2.0], [-np.inf]]))).columns
    assert (one.missing, one.distinct, one.low, one.high) == (1, 1, 2.0, 2.0)
    twice = seen("a,a\n1,2\n3,4\n")
    assert [column.name for column in twice.columns] == ["a", "a_2"]
    for wrong, error in (("\n\n", DataError), ("a,b\n1\n2,3\n", DataError)):
        with pytest.raises(error, match=r"has no rows: there is no text|input, line 2: 1 field where 2 are"):
            seen(wrong)
    with pytest.raises(FileError, match="standard input cannot be read: it is truncated, damaged or"):
        seen(b"PAR1 and no more")


def test_columns_of_arrays_sparse_matrices_and_lists_are_counted():
    with pytest.raises(DataError, match=r"standard input has no rows\. Add at least one row of numbers\."):
        preview(io.BytesIO(b"a,b\n"))
    first = seen("time,a\n0000-01-01,1\n2024-01-02,2\n").columns[0]
    assert (first.kind, first.first) == ("date", ("0000-01-01", "2024-01-02"))
    rows = [["0.5", "u", "7", "", "2020-01-02"], ["", "v", "7", "", "2020-01-03"], ["-3", "u", "", "", ""]]
    result = seen("\n".join(["a,kind,same,none,day", *map(",".join, rows)]))
    assert (result.rows, result.width) == (3, 5)
    told = {column.name: column for column in result.columns}
    assert [told[name].kind for name in ("a", "kind", "same", "day")] == [
        "number",
        "text",
        "constant",
        "date",
    ]
    assert [column.missing for column in result.columns] == [1, 0, 1, 3, 1]
    assert [told[name].distinct for name in ("a", "kind", "same", "none")] == [2, 2, 1, 0]
    assert (told["a"].low, told["a"].high) == (-3.0, 0.5)
    assert (told["none"].low, told["kind"].low) == (None, None)
    assert told["a"].first == ("0.5", "", "-3")
    for dtype in ["f4", "f8", "i2", "u1", "?"]:
        values = np.arange(20).reshape(10, 2).astype(dtype)
        result = seen(npy(values))
        assert [column.name for column in result.columns] == ["0", "1"]
        assert [column.distinct for column in result.columns] == [
            len(np.unique(column)) for column in values.T
        ]
        assert len(result.columns[0].first) == FIRST
        assert seen(npy(np.zeros((3, 4, 5)))) is None
    for form in ["csr", "csc", "coo"]:
        values = sparse.random(30, 2 * MOST, 0.3, format=form, random_state=0)
        stream = io.BytesIO()
        sparse.save_npz(stream, values)
        assert seen(stream.getvalue()) == seen(npy(values.toarray()))
    for column in (
        pa.array([[1.0, 2.0], [3.0], None, [3.0]]),
        pa.array([[1, 2], [3, 4], [1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([{"x": 1}, {"x": 2}, None, {"x": 2}]),
        pa.array([[("a", 1)], [("b", 2)], None, [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    ):
        stream = io.BytesIO()
        pa.parquet.write_table(pa.table({"odd": column, "x": [1.0, 2.0, 3.0, 4.0]}), stream)
        odd, _ = seen(stream.getvalue()).columns
        assert (odd.kind, odd.missing, odd.distinct) == ("text", column.null_count, 2)
        for read in (Scan.read, lambda asked: asked.open(1)):
            with pytest.raises(DataError, match="standard input has 1 column that holds no numbers:"):
                read(scan(io.BytesIO(stream.getvalue())))
            assert read(scan(io.BytesIO(stream.getvalue()), drop="odd")).values.shape == (4, 1)
