"""Kernels of sparse rows: never made dense, equal to those of dense rows, and within their stated error."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from exact_kernels import clusters, excess, expressions
from gramian.errors import DataError, GramianError
from gramian.kernels import (
    RBF,
    Constant,
    Cosine,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    kernel_from_name,
)
from helpers import covering

RNG = np.random.default_rng(3)
X = sp.random(40, 30, 0.2, format="csr", random_state=RNG)
TAKEN = [
    Linear(),
    Cosine(),
    Constant(2.0),
    Polynomial(degree=2),
    Sigmoid(gamma=0.1),
    RBF(sigma=1.5),
    RBF(sigma=tuple(np.linspace(0.5, 2.0, 30))),
    RBF(gamma="median"),
    Matern(2.0),
    Matern("median", nu=2.5),
    RationalQuadratic(1.0, alpha=0.5),
]


def test_the_gram_matrix_and_median_of_sparse_rows_are_those_of_dense_ones():
    Y = sp.random(9, 30, 0.2, format="coo", random_state=RNG)
    empty = sp.vstack([X, sp.csr_matrix((2, 30))])
    kinds = [(X, sp.csc_array), (X, sp.coo_matrix), (empty, sp.csr_array), (empty, sp.csr_matrix)]
    for kernel in [*TAKEN, *(k.normalized() for k in TAKEN), 0.5 + RBF() * Linear() ** 2, Cosine().exp()]:
        for rows, make in kinds:
            expected = kernel.gram(rows.toarray())
            assert_allclose(kernel.gram(make(rows)), expected, rtol=1e-11, atol=1e-13)
        fixed = kernel.resolve(X.toarray())  # a median width of two tables raises an error
        crossed = fixed.gram(X.toarray(), Y.toarray())
        for one, other in [(X, Y), (X.toarray(), Y), (X, Y.toarray())]:
            assert_allclose(fixed.gram(one, other), crossed, rtol=1e-11, atol=1e-13)
    copies = sp.vstack([X, sp.csr_matrix(np.ones((40, 1))) @ X[:1], 1e6 * X[:1]]).tocsr()
    for rows in (X, copies):
        expected = RBF(gamma="median").resolve(rows.toarray()).gamma
        assert RBF(gamma="median").resolve(rows).gamma == pytest.approx(expected, rel=1e-9)
    far = sp.csr_array(1e8 + RNG.standard_normal((9, 2)))
    with pytest.raises(DataError, match="Sparse rows far from 0 leave no digits of their median"):
        RBF(gamma="median").resolve(far)


def test_entries_in_parts_are_added_and_what_is_no_number_refused():
    parts = sp.csr_matrix((np.ones(4), [1, 1, 0, 0], [0, 3, 4]), shape=(2, 3))
    before = parts.copy()
    assert RBF(gamma=1.0).gram(parts)[0, 1] == pytest.approx(np.exp(-4.0))
    assert np.array_equal(parts.indices, before.indices)
    assert RBF(gamma=1.0).bind(X.tocsc()).relative == RBF(gamma=1.0).bind(X).relative
    for name in ["laplacian", "chi2", "matern(nu=0.5)", "rbf.on(0)", "linear + chi2"]:
        with pytest.raises(DataError, match=r"\) takes no sparse rows\. Those that do: linear, poly,"):
            kernel_from_name(name).gram(X)
    with pytest.raises(DataError, match=r"X is sparse, and callable\(function=<lambda>\) takes no"):
        kernel_from_name(lambda x, y: float(x @ y)).gram(X)
    for bad in [np.nan, 1j]:
        with pytest.raises(DataError, match=r"X has NaN or infinity, for which a|X holds complex128, which"):
            Linear().gram(sp.csr_array(np.array([[bad, 0.0]])))


@settings(max_examples=60)
@given(kernel=expressions(), seed=st.integers(0, 10**6))
def test_the_error_bound_of_any_expression_on_sparse_rows(kernel, seed):
    assume(kernel.takes_sparse)
    rng = np.random.default_rng(seed)
    rows = sp.csr_array(np.where(rng.random((5, 3)) < 0.6, rng.lognormal(0, 2, (5, 3)), 0.0))
    try:
        result = excess(kernel, rows)
    except GramianError:
        return  # no value on these rows, sparse or dense
    assert result <= 1


def test_the_error_bound_holds_for_clusters_and_at_the_ends_of_the_range():
    """Where dense rows have their mean taken off, or differences summed."""
    kernels = [
        RBF(sigma=1.0),
        RBF(sigma=(0.3, 2.0, 1.0)),
        Matern(1.0),
        Matern(0.5, nu=2.5),
        Linear(),
        Cosine(),
    ]
    kernels += [RationalQuadratic(1.0, 3.0), RationalQuadratic(0.1, 0.5), RBF(sigma=1.0).normalized() + 1.0]
    for kernel, offset, gap, near in covering(kernels, (0.0, 1e4, 1e8), (0.0, 3.0, 1e6), (1.0, 1e-9)):
        rows = clusters(gap, offset, near)
        rows[np.abs(rows) < 0.3] = 0.0
        assert excess(kernel, sp.csr_array(rows)) <= 1, (kernel, offset, gap, near)
    for scale in [1e-200, 1e-160, 1e60, 1e140]:
        for kernel in [Linear(), Cosine(), RBF(sigma=1.0), Matern(), RationalQuadratic()]:
            assert excess(kernel, sp.csr_array(scale * X[:6].toarray())) <= 1, (scale, kernel)
    with pytest.raises(DataError, match=r"rbf\(gamma=0\.5\) overflows on this data: rows reach a norm"):
        RBF(sigma=1.0).gram(sp.csr_array(1e200 * X.toarray()))
