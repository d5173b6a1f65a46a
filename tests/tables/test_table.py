"""Tables and the pure operations on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import DataError, ParameterError
from gramian.tables.choose import table_of
from gramian.tables.reading import ReadingOptions, pick_columns, pick_rows
from gramian.tables.source import ArraySource, Header
from gramian.tables.table import Table, contiguous, transpose, unique_names


def table_from_array(array, choice, name):
    return table_of(ArraySource.of(Header(array.shape, array.dtype, lambda: array), name), choice)


def test_tables_are_short_typed_and_picked_by_name():
    table = Table(np.zeros((3, 4), dtype=np.float32), source="a.csv")
    assert repr(table) == "Table(3 x 4, float32, source='a.csv')"
    with pytest.raises(ParameterError, match=r"reaches outside the 400 rows of x\. Rows are counted from"):
        pick_rows(400, slice(0, 2286), "x")
    assert pick_columns(["a", "b", "c", "d"], ReadingOptions(columns=("d", "a")), "x")[0] == [3, 0]
    for option in ("columns", "drop", "id", "label", "weights"):
        value = "murdr" if option in ("id", "label", "weights") else ("murdr",)
        with pytest.raises(ParameterError, match=r": x has no such column\. Did you mean"):
            pick_columns(["Murder", "Rape"], ReadingOptions(**{option: value}), "x")
    with pytest.raises(ParameterError, match=r": x has no such column\. Its 2 columns are"):
        pick_columns(["Murder", "Rape"], ReadingOptions(columns=("zzz",)), "x")
    assert table_from_array(np.ones((2, 2), np.int16), ReadingOptions(), "x").values.dtype == np.int16
    assert table_from_array(np.ones((2, 2), bool), ReadingOptions(), "x").values.tolist() == [[1, 1]] * 2
    with pytest.raises(DataError, match=r"x has no columns left\. Drop fewer columns, or choose some"):
        table_from_array(np.eye(2), ReadingOptions(drop=("0", "1")), "x")
    values = np.arange(12.0).reshape(3, 4)
    table = table_from_array(values, ReadingOptions(rows=slice(1, 3), drop=("1",), id="0", label="3"), "x")
    np.testing.assert_array_equal(table.values, values[1:3, [2]])
    assert table.row_names == ("4", "8")
    assert table.labels.tolist() == [7.0, 11.0]
    assert table.row_numbers == range(1, 3)
    table = Table(np.arange(6).reshape(3, 2), feature_names=("s1", "s2"), row_names=("g", "h", "g"))
    turned = transpose(table)
    assert turned.values.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert turned.feature_names == ("g", "h", "g_2")
    assert turned.row_names == ("s1", "s2")
    assert turned.notes == ("repeated row names were numbered: 'g'",)
    with pytest.raises(ParameterError, match=r"transpose=True is for tables, but memory holds pictures\."):
        transpose(Table(np.zeros((1, 2, 2)), picture_shape=(2, 2)))
    assert contiguous(values) is values
    assert np.shares_memory(contiguous(values.T), values)
    assert contiguous(values[:, ::2]).flags.c_contiguous
    swapped = contiguous(values.astype(">f8"))
    assert swapped.dtype.isnative
    np.testing.assert_array_equal(swapped, values)


@given(st.lists(st.sampled_from(["a", "b", "a_2", "a_3", "", "column 1"]), max_size=12))
def test_unique_names_are_unique_and_keep_first_occurrences(names):
    unique, repeated = unique_names(names)
    assert len(unique) == len(names)
    assert len(set(unique)) == len(names)
    for position, name in enumerate(names):
        if name and name not in names[:position]:
            filled = {f"column {place}" for place, other in enumerate(names) if not other}
            assert unique[position] == name or name in filled
    assert all(names.count(name) > 1 or name.startswith("column") for name in repeated)


@given(st.integers(1, 20), st.integers(-20, 20), st.integers(-20, 20), st.integers(1, 4))
def test_pick_rows_is_python_slicing_inside_the_table(n, start, stop, step):
    rows = slice(start, stop, step)
    expected = list(range(n))[rows]
    if max(start, stop) > n or min(start, stop) < -n:
        with pytest.raises(ParameterError, match="reaches outside"):
            pick_rows(n, rows, "x")
    elif not expected:
        with pytest.raises(ParameterError, match="selects none"):
            pick_rows(n, rows, "x")
    else:
        assert list(pick_rows(n, rows, "x")) == expected
