"""Rows: one protocol for every kind of data, and the one door that makes them."""

import datetime
import operator
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gramian import PCA, Whitener
from gramian.core.arrays import as_float64, to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.tables.as_rows import as_rows
from gramian.tables.memory import SparseRows
from gramian.tables.rows import Block, Rows
from gramian.tables.scan import scan

X = np.where(np.arange(300).reshape(50, 6) % 3, np.random.default_rng(0).standard_normal((50, 6)), 0.0)
SMALL = [[1, 2], [3, 4], [5, 6]]


def dense(values):
    return to_numpy(values.toarray() if sp.issparse(values) else values)


def test_what_every_kind_says_of_itself_and_keeps(rows_kind):
    rows = as_rows(rows_kind.make(X), limit=1 << 20)
    assert rows.shape == (50, 6)
    assert rows.dtype == rows_kind.dtype
    assert rows.skips_zeros == isinstance(rows, SparseRows) == rows_kind.name.startswith("sparse")
    assert rows.feature_names is rows.row_names is rows.picture_shape is rows.table is None
    assert rows.like.shape == (0, 0)
    assert rows.xp.sum(rows.like) == 0
    assert isinstance(rows, Rows)
    assert as_rows(rows) is rows
    with pytest.raises(AttributeError, match="cannot assign to field 'values'"):
        rows.values = None
    made = rows_kind.make(X)
    rows = as_rows(made)
    if rows_kind.name not in ("sparse-float32", "dask"):
        assert shared(rows.in_memory(), made)
        assert rows.owned() is not rows.in_memory()
        assert not shared(rows.owned(), made)
    np.testing.assert_array_equal(dense(rows.owned()), dense(made))
    assert type(rows.owned()) is type(rows.in_memory())


def test_blocks_reduce_and_map_keep_the_order_of_rows(rows_kind):
    rows = as_rows(rows_kind.make(X), limit=1 << 20)
    expected = X.astype(rows_kind.dtype)
    for size in (1, 7, 50, 99, None):
        blocks = list(rows.blocks(size))
        assert [i for block in blocks for i in range(block.rows.start, block.rows.stop)] == list(range(50))
        for block in blocks:
            np.testing.assert_array_equal(to_numpy(block.dense), expected[block.rows])
            assert type(block.values) is type(rows.in_memory())
    np.testing.assert_array_equal(to_numpy(rows.block(slice(5, 9)).dense), expected[5:9])
    whole = X.astype(rows_kind.dtype).astype(float)

    def squares(block: Block):
        values = as_float64(block.dense)
        return values.T @ values

    for size in (1, 7, 50, None):
        np.testing.assert_allclose(rows.reduce(squares, np.add, size), whole.T @ whole, atol=1e-12)
        starts = rows.reduce(lambda block: [block.rows.start], operator.add, size)
        parts = [slice(0, 50)] if rows.in_one_place else rows.batches
        assert starts == [start for part in parts for start in range(part.start, part.stop, size or 50)]
        # The order of addition does not depend on the threads, so the bits do not either.
        np.testing.assert_array_equal(rows.reduce(squares, np.add, size), rows.reduce(squares, np.add, size))
    for size in (1, 7, 50, None):
        result = rows.mapped(lambda part, size=size: part.map(lambda block: block.dense[:, :2], size), 2)
        assert type(result) is type(rows.like if rows.in_one_place else rows_kind.make(X))
        np.testing.assert_array_equal(to_numpy(result), X.astype(rows_kind.dtype)[:, :2])
        if rows.in_one_place:
            assert rows.map(lambda block: rows.xp.sum(block.dense, axis=1), size).shape == (50,)


def test_errors_of_blocks_and_what_is_no_data():
    def refuse(block: Block):
        if block.rows.start == 40:
            raise DataError("row 40")
        return block.dense

    rows = as_rows(X)
    with pytest.raises(DataError, match="row 40"):
        rows.map(refuse, 10)
    with pytest.raises(DataError, match="row 40"):
        rows.reduce(refuse, operator.add, 10)
    for text in ("faces.npz::X", b"faces.npz"):
        with pytest.raises(InputTypeError, match=r"\. To read a file, write gramian\.scan\("):
            as_rows(text)
    frame = pl.DataFrame({"x": [1.0, 2.0]})
    with pytest.raises(InputTypeError, match="X is a LazyFrame, a query whose rows are not computed"):
        as_rows(frame.lazy())
    assert as_rows(frame.lazy().collect()).shape == (2, 1)
    with pytest.raises(InputTypeError, match=r"float.* argument must be"):
        as_rows(np.array([[{}, 1], [2, 3]], dtype=object))
    np.testing.assert_array_equal(as_rows(np.ma.masked_array(SMALL)).in_memory(), SMALL)
    large = np.full((10, 4), 1.7e308)  # finite numbers whose sum is not
    assert all(as_rows(rows).shape[1] == 4 for rows in (large, sp.csr_matrix(large), sp.csr_matrix((5, 4))))


@given(st.integers(1, 100), st.integers(1, 40))
def test_any_size_of_blocks_gives_the_same(n, size):
    rows = as_rows(np.arange(2.0 * n).reshape(n, 2))
    assert rows.reduce(lambda block: block.values.sum(), operator.add, size) == n * (2 * n - 1)
    np.testing.assert_array_equal(rows.map(lambda block: block.values, size), rows.in_memory())


def shared(values, given):
    if sp.issparse(values):
        pairs = [(getattr(values, name), getattr(given, name)) for name in ("data", "indices", "indptr")]
        return any(np.shares_memory(*pair) for pair in pairs)
    if hasattr(values, "untyped_storage"):
        return values.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()
    if hasattr(values, "to_device"):
        return values is given  # an array that NumPy may not be able to read where it is
    return np.shares_memory(values, given)


def test_what_was_converted_is_neither_copied_again_nor_kept():
    for make in [
        lambda x: np.array(x, dtype=np.uint8),
        lambda x: np.array(x, dtype=">f8"),
        list,
        lambda x: pd.DataFrame(x, dtype=np.int64),
        lambda x: pd.DataFrame({"a": [1.0, 3, 5], "b": [2, 4, 6]}),
        lambda x: sp.csc_matrix(np.array(x, dtype=float)),
        lambda x: sp.csr_matrix(np.array(x, dtype=np.float32)),
    ]:
        rows = as_rows(make(SMALL))
        assert rows.owned() is rows.in_memory()
        np.testing.assert_array_equal(dense(rows.owned()), SMALL)
    for library in [pd, pl]:
        frame = library.DataFrame(np.array(SMALL, dtype=float))
        assert not np.shares_memory(as_rows(frame).owned(), frame.to_numpy())


def test_pictures_keep_their_shape(array_kind):
    rows = as_rows(array_kind.make(X.reshape(50, 2, 3)))
    assert rows.picture_shape == (2, 3)
    assert rows.shape == (50, 6)
    np.testing.assert_array_equal(to_numpy(rows.in_memory()), X.astype(array_kind.dtype))


def test_frames_and_files_give_names_and_are_read_for_us(tmp_path):
    frame = pd.DataFrame(X[:3], columns=list("abcdef"), index=["r", "s", "t"])
    rows = as_rows(frame)
    assert rows.feature_names == tuple("abcdef")
    assert tuple(rows.row_names) == ("r", "s", "t")
    assert as_rows(pd.DataFrame(X)).feature_names is None
    assert as_rows(pd.DataFrame(X)).row_names is None
    polars = as_rows(pl.DataFrame(X, schema=list("abcdef")))
    assert polars.feature_names == tuple("abcdef")
    assert polars.row_names is None
    file = tmp_path / "t.csv"
    file.write_text("name,x,y\na,1,2\nb,3,5\n")
    for source in (file, scan(file), scan(str(file)).read()):
        rows = as_rows(source)
        assert rows.in_memory().tolist() == [[1, 2], [3, 5]]
        assert rows.feature_names == ("x", "y")
        assert rows.row_names == ("a", "b")
        assert rows.table.source.endswith("t.csv")
    np.save(tmp_path / "p.npy", np.arange(24, dtype=np.uint8).reshape(4, 3, 2))
    rows = as_rows(Path(tmp_path / "p.npy"))
    assert rows.picture_shape == (3, 2)
    assert rows.dtype == np.float32
    np.save(tmp_path / "x.npy", X)
    rows = as_rows(tmp_path / "x.npy")
    assert rows.owned() is rows.in_memory()
    table = scan(tmp_path / "x.npy").read()
    assert not np.shares_memory(as_rows(table).owned(), table.values)


def test_the_first_bad_entry_is_named_unless_left_to_the_caller(rows_kind):
    for bad in (np.nan, np.inf, -np.inf):
        holed = X.copy()
        holed[7, 3] = holed[9, 1] = bad
        made = rows_kind.make(holed)
        with pytest.raises(DataError, match="Input X contains"):
            as_rows(made)
        rows = as_rows(made, check_finite=False)
        with pytest.raises(DataError, match="Input X contains"):
            rows.require_finite()


def test_dtypes_entries_and_names_of_all_kinds():
    for given_dtype, returned in [
        *[("f4", "f4"), ("f8", "f8"), (">f8", "f8"), ("u1", "f4"), ("i1", "f4"), ("u2", "f4")],
        *[("i2", "f4"), ("f2", "f4"), ("i4", "f8"), ("i8", "f8"), ("?", "f8"), ("O", "f8")],
    ]:
        made = np.array(SMALL).astype(given_dtype)
        rows = as_rows(made)
        assert rows.dtype == rows.in_memory().dtype == np.dtype(returned)
        np.testing.assert_array_equal(rows.in_memory(), made.astype(float))
    for make in (pd.DataFrame, lambda x: pl.DataFrame(np.array(x)), list, tuple):
        np.testing.assert_array_equal(as_rows(make(SMALL)).in_memory(), SMALL)
    frame = pd.DataFrame(SMALL).astype("Int64")
    np.testing.assert_array_equal(as_rows(frame).in_memory(), SMALL)
    frame.iloc[1, 0] = pd.NA
    assert np.isnan(as_rows(frame, check_finite=False).in_memory()[1, 0])
    values = np.ones((40, 100_000), dtype=np.float32)
    values[37, 99_999] = np.nan
    values[39, 5:9] = np.nan
    with pytest.raises(DataError, match="Input X contains NaN: 5 values are missing in 2 rows and"):
        as_rows(values)
    values[39, 5] = np.inf
    with pytest.raises(DataError, match=r"Input X contains inf \(infinity\): row 39, column 5\."):
        as_rows(values)
    days = pd.date_range("2024-02-28", periods=3)
    pairs = pd.MultiIndex.from_product([["u"], [1, 2, 3]])
    for index, text in (
        ([2020, 2021, 2022], ("2020", "2021", "2022")),
        ([1, 2, 3], ("1", "2", "3")),
        ([2, 0, 1], ("2", "0", "1")),
        ([400.0, 402.5, 405.0], ("400.0", "402.5", "405.0")),
        ([0.0, 1.0, 2.0], ("0.0", "1.0", "2.0")),
        ([0, 1, 2], None),
        (days, ("2024-02-28", "2024-02-29", "2024-03-01")),
        (days + pd.Timedelta("1h"), ("2024-02-28 01:00:00", "2024-02-29 01:00:00", "2024-03-01 01:00:00")),
        (
            pd.timedelta_range("1h", periods=3, freq="h"),
            ("0 days 01:00:00", "0 days 02:00:00", "0 days 03:00:00"),
        ),
        (pd.period_range("2020", periods=3, freq="Y"), ("2020", "2021", "2022")),
        (pairs, ("('u', 1)", "('u', 2)", "('u', 3)")),
    ):
        rows = as_rows(pd.DataFrame(X[:3, :3], columns=index, index=index))
        assert rows.feature_names == text
        assert (rows.row_names and tuple(rows.row_names)) == text
    filtered = as_rows(pd.DataFrame(X[:5])[2:4]).row_names
    assert (len(filtered), filtered[-1], list(filtered[:2])) == (2, "3", ["2", "3"])
    # Only the first rows of a default index have the numbers of an index of their own.
    assert as_rows(pd.DataFrame(X[:5])[:3]).row_names is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3), "Expected 2D array, got 1D array instead"),
        (np.array(3.0), "Expected 2D array, got scalar array instead"),
        (np.ones((1, 3)), "Found array with 1 sample(s) (shape=(1, 3)) while a minimum of 2"),
        (np.ones((3, 0)), "Found array with 0 feature(s) (shape=(3, 0)) while a minimum of 1"),
        (np.ones((3, 2), dtype=complex), "Complex data not supported"),
        (np.array([["a", "1"], ["2", "3"]]), "('a'). Text is not data: drop or encode it first."),
        ([[1, 2], [3]], "inhomogeneous"),
        (np.zeros((3, 2), dtype="M8[D]"), "X holds dates or durations"),
        (
            np.ma.masked_array(SMALL, np.array(SMALL) > 4),
            "contains NaN: 2 values are missing in 1 row (1 without any value) and 2 columns: row 2",
        ),
        (sp.csr_matrix(np.eye(3) * 1j), "Complex data not supported"),
        (sp.csr_matrix(np.eye(3)[:1]), "Found array with 1 sample"),
        (sp.csr_matrix((4, 0)), "0 feature"),
        (sp.coo_array(np.ones(4)), "Expected 2D"),
    ],
)
def test_what_is_no_table_of_numbers(values, message):
    with pytest.raises(DataError, match=re.escape(message)):
        as_rows(values, estimator="KernelPCA", minimum=2)


def test_columns_that_hold_no_numbers_are_named_as_what_they_are():
    expected = (
        "2 columns hold no numbers: 'city' ({0}), 'sex' ({0}). "
        "Drop them (X.drop(columns=[...]) in pandas, X.drop([...]) in polars), or "
        "convert them to numbers first"
    )
    for library in (pd, pl):
        frame = library.DataFrame({"x": [1.0, 2.0], "city": ["a", "b"], "y": [1, 2], "sex": ["f", "m"]})
        with pytest.raises(DataError, match=re.escape(expected.format("str" if library is pd else "string"))):
            as_rows(frame)
    day, hour = datetime.date(2020, 1, 1), datetime.timedelta(hours=1)
    for frame in (
        pd.DataFrame(
            {
                "kind": pd.Categorical([1, 2]),
                "day": pd.to_datetime(["2020-01-01"] * 2).tz_localize("UTC"),
                "span": pd.to_timedelta([1, 2]),
                "object": [day, None],
                "mixed": [1, "x"],
                "numbers": np.array([1, None], dtype=object),
            }
        ),
        pl.DataFrame(
            {
                "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
                "day": [day] * 2,
                "span": [hour] * 2,
                "object": pl.Series([datetime.datetime(2020, 1, 1)] * 2),
                "mixed": ["1", "x"],
                "numbers": [1, 2],
            }
        ),
    ):
        message = (
            r"5 columns hold no numbers: 'kind' \([Cc]ategor.*\), 'day' \([Dd]ate.*\), 'span' \(.*\), "
            r"'object' \([Dd]ate.*\), 'mixed' \([Ss]tr.*\)\. Drop"
        )
        with pytest.raises(DataError, match=message):
            as_rows(frame)
        with pytest.raises(DataError, match=r"1 column holds no numbers: 'day' \([Dd]ate.*\)"):
            as_rows(frame[["day"]])


def test_array_api_integers_and_refusals():
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    for given_dtype, returned in [("uint8", "float32"), ("int16", "float32"), ("int64", "float64")]:
        rows = as_rows(xp.asarray(SMALL, dtype=getattr(xp, given_dtype)))
        assert rows.in_memory().dtype == getattr(xp, returned)
        assert rows.owned() is rows.in_memory()
    for values, message in [
        (xp.ones((3,)), "Expected a 2-D array .* got 1 dimensions. Reshape your data"),
        (xp.ones((1, 3)), r"1 sample\(s\) .* a minimum of 2 is required by PCA"),
        (xp.ones((3, 0)), r"0 feature\(s\) .* a minimum of 1 is required by PCA"),
        (xp.ones((3, 2), dtype=xp.complex128), "Complex data not supported.*X.real and X.imag"),
    ]:
        with pytest.raises(DataError, match=message):
            as_rows(values, estimator="PCA", minimum=2)


def test_torch_dtypes():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for given_dtype, returned in [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.bool, torch.float64),
    ]:
        assert as_rows(torch.ones((3, 2), dtype=given_dtype)).in_memory().dtype == returned
    tracked = torch.ones((3, 2), requires_grad=True)
    rows = as_rows(tracked)
    assert not rows.in_memory().requires_grad
    assert not shared(rows.owned(), tracked)


def test_sparse_frames_and_formats_are_sparse_rows():
    table = pd.DataFrame([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]], columns=["a", "b", "sparse"], index=["r", "s"])
    for kind in (float, np.float32, int, bool):
        values = table.astype(kind)
        rows = as_rows(values.astype(pd.SparseDtype(kind, kind(0))))
        assert rows.skips_zeros
        assert rows.feature_names == ("a", "b", "sparse")
        assert tuple(rows.row_names) == ("r", "s")
        np.testing.assert_array_equal(rows.in_memory().toarray(), values)
    for fill in (1.0, np.nan):
        rows = as_rows(table.astype(pd.SparseDtype(float, fill)))
        assert not rows.skips_zeros
        assert rows.feature_names == ("a", "b", "sparse")
        np.testing.assert_array_equal(rows.in_memory(), table)
    sparse_frame = table.astype(pd.SparseDtype(float, 0.0))
    with pytest.raises(DataError, match="Whitener does not support sparse data, because"):
        Whitener().fit(sparse_frame)
    model = PCA(1).fit(sparse_frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "sparse"]
    np.testing.assert_allclose(model.transform(sparse_frame), model.transform(table), atol=1e-12)
    for kind in ("matrix", "array"):
        for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
            made = getattr(sp, f"{form}_{kind}")(np.eye(3))
            values = as_rows(made).in_memory()
            assert values.format == "csr"
            np.testing.assert_array_equal(values.toarray(), np.eye(3))
    for given_dtype, returned in [("f4", "f4"), ("f8", "f8"), ("i8", "f8"), ("u1", "f8"), ("?", "f8")]:
        rows = as_rows(sp.csr_matrix(np.eye(3).astype(given_dtype)))
        assert rows.in_memory().dtype == np.float64
        assert rows.dtype == rows.like.dtype == np.dtype(returned)
