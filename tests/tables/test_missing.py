"""Missing values: refused, filled, dropped."""

import numpy as np
import pytest

from gramian.errors import DataError, ParameterError
from gramian.tables.table import Table
from gramian.tables.treatment import handle_missing

NAN = np.nan


def table(values, **fields):
    return Table(np.array(values, dtype=float), **fields)


def test_means_and_dropped_rows_keep_types_and_names():
    filled = handle_missing(table([[1, NAN], [NAN, 3], [2, 5]], notes=("before",)), "mean")
    np.testing.assert_allclose(filled.values, [[1, 4], [1.5, 3], [2, 5]], rtol=1e-15)
    assert filled.notes == ("before", "2 missing values in 2 columns were filled with column means")
    for scale in (1e-300, 1.0, 1e300):
        whole = table([[scale], [scale]])
        assert handle_missing(whole) is whole
        filled = handle_missing(table([[scale], [scale], [NAN]]), "mean")
        np.testing.assert_allclose(filled.values[2, 0], scale, rtol=1e-15)
    with pytest.raises(DataError, match='missing="mean" needs a value in every column, but column'):
        handle_missing(table([[1, NAN], [2, NAN]], feature_names=("y", "x")), "mean")
    many = np.full((2, 12), NAN)
    with pytest.raises(DataError, match='missing="mean" needs a value in every column, but column'):
        handle_missing(Table(many), "mean")
    holed = Table(np.asfortranarray([[1, NAN], [3, 4]], dtype=np.float32))
    filled = handle_missing(holed, "mean").values
    assert filled.dtype == np.float32
    assert filled.flags.f_contiguous
    assert np.isnan(holed.values[0, 1])
    pictures = np.arange(12.0).reshape(2, 2, 3)
    pictures[0, 1, 1] = NAN
    filled = handle_missing(Table(pictures, picture_shape=(2, 3)), "mean").values
    assert filled.shape == (2, 2, 3)
    assert filled[0, 1, 1] == filled[1, 1, 1]
    for values in (np.eye(3), np.asfortranarray(np.eye(3)), np.eye(3, dtype=int)):
        whole = Table(values)
        assert handle_missing(whole) is whole
        assert handle_missing(whole, "mean").values is values
    dropped = handle_missing(
        table(
            [[1, 2], [NAN, 3], [4, 5]],
            row_names=("a", "b", "c"),
            labels=np.array(["u", "v", "w"]),
            row_numbers=range(3),
        ),
        "drop-rows",
    )
    assert dropped.values.tolist() == [[1, 2], [4, 5]]
    assert dropped.row_names == ("a", "c")
    assert dropped.labels.tolist() == ["u", "w"]
    assert list(dropped.row_numbers) == [0, 2]
    assert dropped.notes == ("rows with missing values were dropped: 1 of 3",)
    dropped = handle_missing(table([[1, 2, NAN], [4, 5, 6]], feature_names=("a", "b", "c")), "drop-columns")
    assert dropped.values.tolist() == [[1, 2], [4, 5]]
    assert dropped.feature_names == ("a", "b")
    assert dropped.notes == ("columns with missing values were dropped: 1 of 3",)
    with pytest.raises(DataError, match='missing="drop-rows" leaves none of the 2 rows of memory:'):
        handle_missing(table([[1, NAN], [NAN, 2]]), "drop-rows")
    with pytest.raises(DataError, match='missing="drop-columns" leaves none of the 2 columns of'):
        handle_missing(table([[1, NAN], [NAN, 2]]), "drop-columns")
    with pytest.raises(ParameterError, match="would drop pixels and with them the shape of the"):
        handle_missing(Table(np.full((2, 1, 1), NAN), picture_shape=(1, 1)), "drop-columns")
