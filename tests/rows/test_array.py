"""Dense input of every kind becomes float32 or float64, or a refusal that names the reason."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gramian.errors import DataError, InputTypeError
from gramian.rows.array import check_array_api, check_numpy

SMALL = [[1, 2], [3, 4], [5, 6]]


def check(X, minimum=1):
    return check_numpy(X, "PCA", minimum)


@pytest.mark.parametrize(
    ("given", "returned"),
    [
        ("f4", "f4"),
        ("f8", "f8"),
        (">f8", "f8"),
        ("u1", "f4"),
        ("i1", "f4"),
        ("u2", "f4"),
        ("i2", "f4"),
        ("f2", "f4"),
        ("i4", "f8"),
        ("i8", "f8"),
        ("?", "f8"),
        ("O", "f8"),
    ],
)
def test_dtypes(given, returned):
    X = np.array(SMALL).astype(given)
    checked = check(X)
    assert checked.dtype == np.dtype(returned)
    np.testing.assert_array_equal(checked, X.astype(float))


def test_float_arrays_are_not_copied():
    for dtype in (np.float32, np.float64):
        for order in "CF":
            X = np.array(SMALL, dtype=dtype, order=order)
            assert np.shares_memory(check(X), X)
    X = np.array(SMALL, dtype=float)
    X.flags.writeable = False
    assert np.shares_memory(check(X), X)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda x: pl.DataFrame(np.array(x)), list, tuple])
def test_tables_of_other_kinds(make):
    np.testing.assert_array_equal(check(make(SMALL)), SMALL)


def test_nullable_frames():
    frame = pd.DataFrame(SMALL).astype("Int64")
    np.testing.assert_array_equal(check(frame), SMALL)
    frame.iloc[1, 0] = pd.NA
    assert np.isnan(check(frame)[1, 0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "Expected 2D array, got 1D array instead"),
        (np.float64(3), "Expected 2D array, got scalar array instead"),
        (np.ones((1, 3)), "Found array with 1 sample(s) (shape=(1, 3)) while a minimum of 2"),
        (np.ones((3, 0)), "Found array with 0 feature(s) (shape=(3, 0)) while a minimum of 1"),
        (np.ones((3, 2), dtype=complex), "Complex data not supported"),
        (np.array([["a", "b"], ["c", "d"]]), "could not convert string to float: "),
        ([[1, 2], [3]], "inhomogeneous"),
    ],
)
def test_refusals(X, message):
    with pytest.raises(DataError, match=re.escape(message)):
        check(X, 2)


def test_objects_that_are_no_numbers_are_a_type_error():
    with pytest.raises(InputTypeError, match=r"float.* argument must be"):
        check(np.array([[{}, 1], [2, 3]], dtype=object))


@pytest.mark.parametrize("library", [pd, pl])
def test_text_columns_are_named(library):
    frame = library.DataFrame({"x": [1.0, 2.0], "city": ["a", "b"], "y": [1, 2], "sex": ["f", "m"]})
    expected = (
        "2 column(s) hold text, not numbers: 'city', 'sex'. "
        "Drop them (X.drop(columns=[...]) in pandas, X.drop([...]) in polars) or encode them first."
    )
    with pytest.raises(DataError, match=re.escape(expected)):
        check(frame)


def test_categories_and_dates_are_text_too():
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b"]),
            "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
            "mixed": [1, "x"],
            "numbers": np.array([1, 2], dtype=object),
        }
    )
    with pytest.raises(DataError, match=r"3 column\(s\) hold text.*'kind', 'day', 'mixed'\."):
        check(frame)
    days = pl.DataFrame({"day": [1, 2]}).select(pl.col("day").cast(pl.Date))
    with pytest.raises(DataError, match=r"1 column.* hold text.*'day'"):
        check(days)


def test_many_text_columns_are_counted():
    frame = pd.DataFrame({f"t{j}": ["a", "b"] for j in range(11)})
    with pytest.raises(DataError, match=r"11 column\(s\).*'t7' and 3 more\. Drop"):
        check(frame)


# --------------------------------------------------------------- array-API arrays


def test_array_api_arrays_stay_where_they_are(array_kind):
    if array_kind.name.startswith("numpy"):
        pytest.skip("NumPy has its own check")
    X = array_kind.make(SMALL)
    assert check_array_api(X, "PCA", 1) is X


@pytest.mark.parametrize(
    ("given", "returned"),
    [("uint8", "float32"), ("int16", "float32"), ("int32", "float64"), ("int64", "float64")],
)
def test_array_api_integers(given, returned):
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    X = check_array_api(xp.asarray(SMALL, dtype=getattr(xp, given)), "PCA", 1)
    assert X.dtype == getattr(xp, returned)


def test_array_api_refusals():
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    for X, message in [
        (xp.ones((3,)), "Expected a 2-D array .* got 1 dimensions. Reshape your data"),
        (xp.ones((1, 3)), r"1 sample\(s\) .* a minimum of 2 is required by PCA"),
        (xp.ones((3, 0)), r"0 feature\(s\) .* a minimum of 1 is required by PCA"),
        (xp.ones((3, 2), dtype=xp.complex128), "Complex data not supported.*X.real and X.imag"),
    ]:
        with pytest.raises(DataError, match=message):
            check_array_api(X, "PCA", 2)


def test_torch_dtypes():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for given, returned in [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.bool, torch.float64),
    ]:
        X = check_array_api(torch.ones((3, 2), dtype=given), "PCA", 1)
        assert X.dtype == returned
    tracked = torch.ones((3, 2), requires_grad=True)
    assert not check_array_api(tracked, "PCA", 1).requires_grad


def test_arrays_of_text_say_what_to_do():
    with pytest.raises(DataError, match=r"could not convert string.*Text is not data: drop or encode"):
        check(np.array([["a", "1"], ["2", "3"]]))


def test_masked_entries_are_missing_values():
    plain = np.array(SMALL, dtype=float)
    np.testing.assert_array_equal(check(np.ma.masked_array(plain)), plain)
    with pytest.raises(DataError, match=r"masked array with 2 masked entries.* Fill them"):
        check(np.ma.masked_array(plain, mask=plain > 4))


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]"])
def test_dates_are_no_numbers(dtype):
    with pytest.raises(DataError, match="X holds dates or durations"):
        check(np.zeros((3, 2), dtype=dtype))
