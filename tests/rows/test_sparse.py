"""Sparse input becomes float64 CSR; what is no table of numbers is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.rows.sparse import check_sparse

DENSE = np.array([[0.0, 1, 0], [2, 0, 0], [0, 0, 3]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_format_becomes_csr(form, kind):
    X = getattr(sp, f"{form}_{kind}")(DENSE)
    values, dtype = check_sparse(X, "PCA", 1)
    assert values.format == "csr"
    assert values.dtype == dtype == np.float64
    np.testing.assert_array_equal(values.toarray(), DENSE)


@pytest.mark.parametrize(
    ("given", "returned"), [("f4", "f4"), ("f8", "f8"), ("i8", "f8"), ("u1", "f8"), ("?", "f8")]
)
def test_arithmetic_is_float64_and_results_are_as_given(given, returned):
    values, dtype = check_sparse(sp.csr_matrix(DENSE.astype(given)), "PCA", 1)
    assert values.dtype == np.float64
    assert dtype == np.dtype(returned)


def test_the_input_is_left_alone():
    X = sp.csr_matrix(DENSE)
    values, _ = check_sparse(X, "PCA", 1)
    assert np.shares_memory(values.data, X.data)
    np.testing.assert_array_equal(X.toarray(), DENSE)


def test_nan_is_left_to_the_first_pass():
    X = sp.csr_matrix(np.where(DENSE == 2, np.nan, DENSE))
    values, _ = check_sparse(X, "PCA", 1)
    assert np.isnan(values.data).sum() == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_matrix(DENSE * 1j), "Complex data not supported"),
        (sp.csr_matrix(DENSE[:1]), "Found array with 1 sample.* minimum of 2 is required by PCA"),
        (sp.csr_matrix((4, 0)), "0 feature"),
        (sp.coo_array(np.ones(4)), "Expected 2D"),
    ],
)
def test_refusals(X, message):
    with pytest.raises(DataError, match=message):
        check_sparse(X, "PCA", 2)
