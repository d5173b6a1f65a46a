"""The centred data matrix, its moments and its products, against their formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gramian.arrays import as_float64, to_numpy
from gramian.errors import DataError
from gramian.operators.centered import Moments, center_rows, merge_moments, moments, scatter
from gramian.rows import as_rows

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((9000, 3)) * [1, 10, 0.1] + [100, -3, 0]
WIDE = RNG.standard_normal((40, 5000)) + np.linspace(-5, 5, 5000)


def view_of(X, *, center=True, scale=None, ddof=1):
    return center_rows(as_rows(X), center=center, scale=scale, ddof=ddof)


def dense(view):
    return as_float64(view.block(slice(None), slice(None)))


# --------------------------------------------------------------------- moments


@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("center", [True, False])
def test_moments_are_mean_and_sums_of_squares(X, dtype, center):
    X = X.astype(dtype)
    found = moments(as_rows(X), 0, center)
    exact = X.astype(np.float64)
    mean = exact.mean(axis=0) if center else np.zeros(X.shape[1])
    squares = ((exact - mean) ** 2).sum(axis=0)
    rtol = 1e-12 if dtype == np.float64 else 2e-6
    assert found.count == len(X)
    np.testing.assert_allclose(found.mean, mean, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.squares, squares, rtol=rtol)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("center", [True, False])
def test_scatter_is_the_scatter_matrix(dtype, center, double):
    X = TALL.astype(dtype)
    exponent, found = scatter(as_rows(X), center=center, double=double)
    exact = X.astype(np.float64)
    C = exact - exact.mean(axis=0) if center else exact
    tol = 1e-12 if dtype == np.float64 or double else 2e-6
    assert exponent == 0
    np.testing.assert_allclose(found.squares, C.T @ C, atol=tol * np.trace(C.T @ C))
    np.testing.assert_allclose(found.squares, found.squares.T, rtol=1e-14)


def test_scatter_in_one_thread_or_many():
    many = scatter(as_rows(TALL), center=True)[1]
    one = scatter(as_rows(TALL), center=True, workers_limit=0)[1]
    np.testing.assert_allclose(many.squares, one.squares, rtol=1e-12, atol=1e-9)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 5), st.integers(0, 999))
def test_merged_moments_are_those_of_all_rows(a, b, d, seed):
    X = np.random.default_rng(seed).standard_normal((a + b, d)) + 10

    def measure(part, whole):
        C = part - part.mean(axis=0)
        return Moments(len(part), part.mean(axis=0), C.T @ C if whole else (C * C).sum(axis=0))

    for whole in (False, True):
        merged = merge_moments(measure(X[:a], whole), measure(X[a:], whole))
        expected = measure(X, whole)
        assert merged.count == a + b
        np.testing.assert_allclose(merged.mean, expected.mean)
        np.testing.assert_allclose(merged.squares, expected.squares, atol=1e-11)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_sparse_moments(center, scale):
    X = np.where(RNG.random((50, 7)) < 0.3, RNG.standard_normal((50, 7)), 0) * scale
    view = view_of(sp.csr_matrix(X), center=center)
    C = (X - X.mean(axis=0) if center else X) / scale
    unit = np.ldexp(1.0, view.exponent) / scale
    np.testing.assert_allclose(view.column_squares * unit**2, (C**2).sum(axis=0), rtol=1e-12)


# ------------------------------------------------------------------------ the view


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [None, "unit", "pareto", "array"])
def test_blocks_of_the_view(array_kind, center, scale):
    exact = np.random.default_rng(1).standard_normal((30, 4)) * [1, 5, 0.1, 2] + [3, 0, 1, -9]
    exact = exact.astype(array_kind.dtype).astype(np.float64)
    given = np.array([1.0, 2.0, 4.0, 8.0])
    view = view_of(array_kind.make(exact), center=center, scale=given if scale == "array" else scale)
    C = exact - exact.mean(axis=0) if center else exact
    deviation = np.sqrt((C**2).sum(axis=0) / 29)
    divisor = {None: 1.0, "unit": deviation, "pareto": np.sqrt(deviation), "array": given}[scale]
    tol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(dense(view), C / divisor, atol=tol * 10)
    np.testing.assert_allclose(view.column_squares, ((C / divisor) ** 2).sum(axis=0), rtol=tol)
    assert view.total == pytest.approx(((C / divisor) ** 2).sum(), rel=tol)
    part = as_float64(view.block(slice(3, 9), slice(1, 3)))
    np.testing.assert_allclose(part, (C / divisor)[3:9, 1:3], atol=tol * 10)
    assert view.constant.tolist() == [False] * 4


def test_scratch_is_used_where_it_can_be():
    view = view_of(TALL)
    scratch = view.scratch(100, 3)
    block = view.block(slice(0, 60), slice(None), scratch)
    assert np.shares_memory(block, scratch)
    np.testing.assert_allclose(block, (TALL - TALL.mean(axis=0))[:60])
    plain = view_of(TALL, center=False)
    assert np.shares_memory(plain.block(slice(0, 60), slice(None), scratch), TALL)


def test_the_input_is_never_written_to():
    X = TALL.copy()
    view = view_of(X)
    view.times(np.ones((3, 2)))
    view.transposed_times(np.ones((9000, 2)))
    scatter(as_rows(X), center=True)
    np.testing.assert_array_equal(X, TALL)


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 1e100, 1e150, 1e300])
def test_data_far_from_one_is_divided_by_a_power_of_two(scale):
    view = view_of(TALL[:200] * scale)
    assert view.exponent != 0
    assert 1e-20 < view.total < 1e20
    C = (TALL[:200] - TALL[:200].mean(axis=0)) * (scale / np.ldexp(1.0, view.exponent))
    np.testing.assert_allclose(dense(view), C, rtol=1e-10, atol=1e-12 * np.abs(C).max())
    huge = view.exponent >= 512
    assert view.square_unit == (np.inf if huge else np.ldexp(1.0, 2 * view.exponent))


@pytest.mark.parametrize("scale", ["unit", "pareto"])
@pytest.mark.parametrize("magnitude", [1e-150, 1.0, 1e100, 1e150])
def test_scaling_knows_the_unit_of_the_data(scale, magnitude):
    X = TALL[:200]
    view = view_of(X * magnitude, scale=scale)
    deviation = X.std(axis=0, ddof=1)
    expected = deviation * magnitude if scale == "unit" else np.sqrt(deviation * magnitude)
    np.testing.assert_allclose(view.data_divisor, expected, rtol=1e-11)
    C = (X - X.mean(axis=0)) * magnitude / expected
    unit = np.ldexp(1.0, view.unit_exponent)
    np.testing.assert_allclose(dense(view) * unit, C, rtol=1e-9, atol=1e-11 * np.abs(C).max())


@pytest.mark.parametrize("divisor", [1e-100, 1e100])
def test_given_divisors_may_be_far_from_one(divisor):
    X = TALL[:200]
    view = view_of(X, scale=np.full(3, divisor))
    np.testing.assert_allclose(view.data_divisor, divisor, rtol=1e-14)
    assert 1e-20 < view.total < 1e20
    C = (X - X.mean(axis=0)) / divisor
    np.testing.assert_allclose(dense(view) * np.ldexp(1.0, view.unit_exponent), C, rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e20])
def test_constant_columns_are_known(value):
    X = np.insert(TALL[:50], 1, value, axis=1)
    for dtype in (np.float64, np.float32):
        for scale in (None, "unit", "pareto"):
            view = view_of(X.astype(dtype), scale=scale)
            assert view.constant.tolist() == [False, True, False, False]
            if scale:
                assert view.data_divisor[1] == 1.0
                assert (dense(view)[:, 1] == 0).all()


def test_data_that_does_not_vary_has_a_total_of_zero():
    for value in (0.1, 1e20, -7.3):
        view = view_of(np.full((13, 4), value))
        assert view.total == 0.0
        assert view.square_unit == 1.0


def test_float32_keeps_the_mean_as_a_pair():
    X = (np.random.default_rng(2).standard_normal((200, 3)) * 1e-2 + 1000.1).astype(np.float32)
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(dense(view_of(X)), C, atol=1e-7 * np.abs(C).max())


# ------------------------------------------------------------------------ products


@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_products_with_the_view(X, form, scale):
    view = view_of(form(X), scale=scale)
    C = X - X.mean(axis=0)
    C = C / C.std(axis=0, ddof=1) if scale else C
    V = RNG.standard_normal((X.shape[1], 3))
    W = RNG.standard_normal((X.shape[0], 3))
    np.testing.assert_allclose(view.times(V), C @ V, atol=1e-10)
    np.testing.assert_allclose(view.transposed_times(W), C.T @ W, atol=1e-9)


def test_products_in_every_kind(array_kind):
    X = np.random.default_rng(3).standard_normal((300, 20)) + 2
    view = view_of(array_kind.make(X))
    C = X - X.mean(axis=0)
    V, W = C[:20, :3], C[:, :2]
    forward = view.times(array_kind.make(V))
    back = view.transposed_times(array_kind.make(W))
    atol = 1e-11 if array_kind.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(to_numpy(forward), C @ V, atol=atol)
    np.testing.assert_allclose(to_numpy(back), C.T @ W, atol=atol)


@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
def test_slices_cover_everything_once(X):
    view = view_of(X)
    for slices, length in [(view.row_slices(), len(X)), (view.column_slices(), X.shape[1])]:
        assert [i for s in slices for i in range(s.start, s.stop)] == list(range(length))


# ------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("measure", [center_rows, scatter])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(9000, 3), (40, 5000)])
def test_nan_is_found_in_the_pass_that_measures(measure, bad, shape):
    if measure is scatter and shape == (40, 5000):
        shape = (40, 300)
    X = np.ones(shape)
    X[17, 2] = bad
    rows = as_rows(X, check_finite=False)
    options = {"scale": None, "ddof": 1} if measure is center_rows else {}
    with pytest.raises(DataError, match="row 17, column 2"):
        measure(rows, center=True, **options)


def test_sums_may_overflow_where_entries_do_not():
    X = np.full((10, 2), 1e308)
    X[0, 0] = -1e308
    view = view_of(X)
    assert np.isfinite(view.total)
    assert view.total > 0
