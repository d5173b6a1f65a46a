"""The first NaN or infinite entry is named, with a way out."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.rows.finite import require_finite


def test_finite_values_pass(array_kind):
    assert require_finite(array_kind.make(np.ones((4, 3)))) is None


@pytest.mark.parametrize(
    "values",
    [
        np.ones((4, 3), dtype=np.uint8),
        np.ones((2, 2), dtype=bool),
        np.empty((0, 3)),
        np.full((10, 4), 1.7e308),
        sp.csr_matrix((5, 4)),
        sp.csr_matrix(np.eye(3)),
    ],
    ids=["integers", "booleans", "empty", "overflowing sum", "sparse zeros", "sparse"],
)
def test_these_are_finite(values):
    require_finite(values)


@pytest.mark.parametrize(
    ("bad", "text", "way_out"),
    [
        (np.nan, "Input X contains NaN: row 2, column 1.", "sklearn.impute.SimpleImputer"),
        (np.inf, "Input X contains inf (infinity): row 2, column 1.", "Replace it by a finite"),
        (-np.inf, "Input X contains inf (infinity): row 2, column 1.", "Replace it by a finite"),
    ],
)
def test_the_first_bad_entry_is_named(array_kind, bad, text, way_out):
    values = np.ones((4, 3))
    values[2, 1] = bad
    with pytest.raises(DataError, match=re.escape(text) + ".*" + re.escape(way_out)):
        require_finite(array_kind.make(values))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_names_and_the_number_of_them_are_said(form):
    values = np.ones((4, 3))
    values[3, 0] = values[1, 2] = np.nan
    expected = r"NaN: row 1 \(second\), column 2 \('c'\) \(2 such values in total\)\. Fill"
    with pytest.raises(DataError, match=expected):
        require_finite(form(values), "abc", ["first", "second", "third", "fourth"])


def test_large_data_is_searched_block_by_block():
    values = np.ones((40, 100_000), dtype=np.float32)
    values[37, 99_999] = np.nan
    values[39, 5] = np.inf
    with pytest.raises(DataError, match=r"row 37, column 99999 \(2 such values"):
        require_finite(values)
