"""The one door for user data."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from gramian.arrays import to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.rows import Rows, as_rows
from gramian.rows.scan import scan

X = np.random.default_rng(0).standard_normal((50, 6))


def test_rows_of_every_kind(array_kind):
    rows = as_rows(array_kind.make(X))
    assert rows.shape == (50, 6)
    assert rows.dtype == array_kind.dtype
    assert not rows.is_sparse
    assert type(rows.like) is type(rows.values)
    assert rows.feature_names is rows.row_names is rows.picture_shape is rows.table is None
    assert as_rows(rows) is rows
    rows.require_finite()
    np.testing.assert_allclose(to_numpy(rows.dense_block(slice(5, 9))), X[5:9].astype(array_kind.dtype))
    assert rows.xp.sum(rows.like) == 0


def test_blocks_cover_all_rows_in_order():
    rows = as_rows(X)
    for size in (1, 7, 50, 99, None):
        blocks = list(rows.blocks(size))
        assert [i for b in blocks for i in range(b.start, b.stop)] == list(range(50))
    assert np.shares_memory(rows.dense_block(slice(3, 9)), X)


def test_sparse_rows():
    dense = np.where(X > 1, X, 0).astype(np.float32)
    rows = as_rows(sp.coo_matrix(dense))
    assert rows.is_sparse
    assert rows.shape == (50, 6)
    assert rows.dtype == np.float32
    assert rows.values.dtype == np.float64
    assert rows.xp is np
    assert rows.like.dtype == np.float32
    np.testing.assert_array_equal(rows.dense_block(slice(10, 20)), dense[10:20])


def test_pictures_keep_their_shape(array_kind):
    rows = as_rows(array_kind.make(X.reshape(50, 2, 3)))
    assert rows.picture_shape == (2, 3)
    assert rows.shape == (50, 6)
    np.testing.assert_allclose(to_numpy(rows.values), X.astype(array_kind.dtype))


def test_frames_give_names():
    frame = pd.DataFrame(X[:3], columns=list("abcdef"), index=["r", "s", "t"])
    rows = as_rows(frame)
    assert rows.feature_names == tuple("abcdef")
    assert rows.row_names == ("r", "s", "t")
    assert as_rows(pd.DataFrame(X)).feature_names is None
    assert as_rows(pd.DataFrame(X)).row_names is None
    polars = as_rows(pl.DataFrame(X, schema=list("abcdef")))
    assert polars.feature_names == tuple("abcdef")
    assert polars.row_names is None


def test_files_give_names_and_the_table(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("name,x,y\na,1,2\nb,3,5\n")
    for source in (file, scan(file), scan(str(file)).read()):
        rows = as_rows(source)
        assert rows.values.tolist() == [[1, 2], [3, 5]]
        assert rows.feature_names == ("x", "y")
        assert rows.row_names == ("a", "b")
        assert rows.table.source.endswith("t.csv")


def test_files_of_pictures(tmp_path):
    np.save(tmp_path / "p.npy", np.arange(24, dtype=np.uint8).reshape(4, 3, 2))
    rows = as_rows(Path(tmp_path / "p.npy"))
    assert rows.picture_shape == (3, 2)
    assert rows.shape == (4, 6)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("text", ["faces.npz::X", b"faces.npz"])
def test_text_is_neither_data_nor_a_path(text):
    with pytest.raises(InputTypeError, match=r"To read a file, write gramian\.scan\(.*pathlib\.Path"):
        as_rows(text)


def test_nan_is_refused_unless_left_to_the_caller(array_kind):
    bad = X.copy()
    bad[7, 3] = np.nan
    made = array_kind.make(bad)
    with pytest.raises(DataError, match="row 7, column 3"):
        as_rows(made)
    rows = as_rows(made, check_finite=False)
    with pytest.raises(DataError, match="row 7, column 3"):
        rows.require_finite()


def test_the_least_number_of_rows_and_whose_data_it_is():
    with pytest.raises(DataError, match="while a minimum of 3 is required by KernelPCA"):
        as_rows(X[:2], estimator="KernelPCA", minimum=3)


def test_rows_are_frozen():
    rows = as_rows(X)
    assert isinstance(rows, Rows)
    with pytest.raises(AttributeError, match="cannot assign to field 'values'"):
        rows.values = None
