"""The centred data matrix, its moments and its products, against their formulas."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

import gramian
from gramian.core.arrays import as_float64
from gramian.engine.centered import center_rows, moments, scatter
from gramian.errors import DataError, DiagnosticWarning
from gramian.tables.as_rows import as_rows, weighted

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((9000, 3)) * [1, 10, 0.1] + [100, -3, 0]


def view_of(X, *, center=True, scale=None, ddof=1):
    return center_rows(as_rows(X), center=center, scale=scale, ddof=ddof)


def dense(view):
    return as_float64(view.block(slice(None), slice(None)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_first_rows_unlike_all_others_do_not_spoil_a_spread(dtype):
    X = RNG.standard_normal((8000, 30))
    X[260:] += 1e6
    X[260:, 1], X[:, 2], X[:, 3] = 7.0, 0.1, 0.0
    X = X.astype(dtype)
    exact = X.astype(np.longdouble)
    mean = exact.mean(axis=0)
    squares = ((exact - mean) ** 2).sum(axis=0)
    squares[2:4] = 0
    result = moments(as_rows(X), True)
    assert_allclose(result.squares, squares.astype(float), rtol=1e-13)
    assert_allclose(result.mean, mean.astype(float), rtol=1e-14)


def exact_moments(X):
    """Mean and sums of squares of the numbers as they are, as fractions."""
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    means = [sum(column) / len(column) for column in columns]
    return means, [sum((x - m) ** 2 for x in c) for c, m in zip(columns, means, strict=True)]


@pytest.mark.parametrize(
    ("n", "offset"), [*((30, offset) for offset in (0.0, 1e6, 1e10, -1e15)), (9000, 1e15)]
)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_far_from_the_origin_a_mean_is_a_pair(n, offset, form):
    """Blocks, too, that drift apart: errors of their means would count to first order."""
    X = np.random.default_rng(n).standard_normal((n, 2)) + np.linspace(0, 30, n)[:, None] + offset
    X = form(X)
    means, squares = exact_moments(X.toarray() if sp.issparse(X) else X)
    measures = [moments(as_rows(X), True), scatter(as_rows(X), center=True)[0]]
    for result in measures:
        found_squares = np.diag(result.squares) if result.squares.ndim == 2 else result.squares
        for mean, rest, square, exact, exact_square in zip(
            result.mean, result.rest, found_squares, means, squares, strict=True
        ):
            off = float(Fraction(float(mean)) + Fraction(float(rest)) - exact)
            spread = float(exact_square / n) ** 0.5
            assert abs(off) <= 1e-9 * spread
            assert abs(float(Fraction(float(square)) - exact_square)) <= 1e-13 * float(exact_square)


def test_sums_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).standard_normal((20_000, 8)) + 5
    results = []
    for threads in (1, 4):
        with threadpool_limits(threads, user_api="blas"):
            view = view_of(X, scale="unit")
            results.append(
                (view.fingerprint(), np.diag(scatter(as_rows(X), center=True)[0].squares).tobytes())
            )
    assert results[0] == results[1]


@pytest.mark.parametrize("offset", [0.0, 0.2, 0.3, 1e6], ids=["none", "small", "large", "far"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_blocks_with_small_means_and_others_are_as_exact(offset, dtype):
    X = RNG.standard_normal((60_000, 6)) + offset * np.array([1, -1, 0.5, 0, 0, 0])
    X[30_000:] += np.array([0, 0, 0, 1e4, 0, 0])  # where means are no longer small
    X[:, 4:] = 0.0
    X[17, 4], X[40_000, 5] = 1e8, 1e8
    X = X.astype(dtype)
    C = X.astype(np.longdouble)
    C -= C.mean(axis=0)
    exact = C.T @ C
    result, _ = scatter(as_rows(X), center=True, double=True)
    sizes = np.sqrt(np.diag(exact))
    assert (np.abs(result.squares - exact) <= 1e-13 * np.outer(sizes, sizes)).all()
    assert_allclose(result.mean, X.astype(np.longdouble).mean(axis=0).astype(float), rtol=1e-12)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("case", ["plain", "offset", "few at first", "tiny", "full", "one row", "parts"])
def test_products_of_sparse_rows_whose_columns_are_filled_unequally(center, case):
    draw = np.random.default_rng(3)
    n, d = (1, 5) if case == "one row" else (5000, 60)
    shares = np.minimum(draw.lognormal(-4, 2, d), 1.0) if case != "full" else np.ones(d)
    X = (draw.random((n, d)) < shares) * draw.lognormal(0, 1, (n, d))
    if case == "offset":  # no column is centred after it was squared that has a large mean
        X[:, 0] += 1e6
    if case == "few at first":  # columns that are nearly empty in a sample are full in a block
        X[np.arange(n) % (n // 4096 + 1) == 0, 5:] = 0
        X[2000:4000, 5:9] = 1e3
        X[:: n // 4096, 5:9] = 0
    X *= 1e-99 if case == "tiny" else 1.0
    S = sp.csr_matrix(X)
    if case == "parts":
        S = sp.csr_matrix((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    result, _ = scatter(as_rows(S), center=center)
    C = X - X.mean(axis=0) if center else X
    C = C - C.mean(axis=0) if center else C
    assert_allclose(result.squares, C.T @ C, rtol=0, atol=1e-13 * max(np.sum(C * C), 1e-300))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("case", ["alike", "unequal"])
def test_sparse_products_in_float32_know_their_error(center, case):
    draw = np.random.default_rng(4)
    n, d = 6000, 300
    shares = np.full(d, 0.07) if case == "alike" else np.minimum(draw.lognormal(-3, 1.5, d), 1.0)
    X = ((draw.random((n, d)) < shares) * draw.uniform(size=(n, d))).astype("f4")
    X[:, 0] += 3 * (case == "unequal")
    G = draw.standard_normal((d, 6))
    result, _ = scatter(as_rows(sp.csr_matrix(X)).in_float32, center=center, probe=G)
    C = X.astype(float) - (X.astype(float).mean(axis=0) if center else 0)
    exact = C.T @ C
    error, size = result.squares - exact, np.linalg.norm(exact, 2)
    # Centred zeros would round alike, and to 2e-7.
    assert 1e-10 * size < np.linalg.norm(error, 2) < (6e-8 if case == "alike" else 1e-6) * size
    assert_allclose(result.gap, error @ G, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("value", [0.0, 0.1, 28.46, 1e20])
@pytest.mark.parametrize("form", [np.float64, np.float32, sp.csr_matrix])
def test_constant_columns_are_known(value, form):
    for n in (50, 51, 8990):
        X = np.insert(TALL[:n], 1, value, axis=1)
        for scale in (None, "unit", "pareto"):
            view = view_of(form(X), scale=scale)
            assert view.constant.tolist() == [False, True, False, False]
            assert view.column_squares[1] == 0
            assert (dense(view)[:, 1] == 0).all()
            if scale:
                assert view.data_divisor[1] == 1.0


def test_columns_of_any_size_are_exact_also_zeros_and_subnormal_ones():
    for form in [np.asarray, sp.csr_matrix]:
        base = RNG.standard_normal((30, 3))
        X = base * [1e99, 1e3, 1e-98]
        C = (base - base.mean(axis=0)) / base.std(axis=0, ddof=1)
        assert_allclose(dense(view_of(form(X), scale="unit")), C, rtol=1e-12, atol=1e-14)
        assert view_of(form(X)).constant.tolist() == [False, False, False]
        X[:, 2] = 7.0
        assert view_of(form(X), scale="unit").constant.tolist() == [False, False, True]
    for form in [np.asarray, sp.csr_matrix]:
        draw = np.random.default_rng(5)
        base = draw.standard_normal((3000, 4)) @ draw.standard_normal((4, 4))
        for factors, dtype in (([1e-30, 1.0, 1e24, 1e36], np.float64), ([1.0, 1.0, 1.0, 1.0], np.float32)):
            X = (base * factors).astype("f4")
            rows = as_rows(form(X)) if form is np.asarray else as_rows(form(X)).in_float32
            assert center_rows(rows, center=True, scale="unit", ddof=1).arithmetic == dtype
            values = gramian.PCA(4, scale="unit").fit(form(X)).explained_variance_
            assert_allclose(values, np.linalg.eigvalsh(np.corrcoef(X.astype(float).T))[::-1], atol=1e-5)
    X = np.random.default_rng(2).standard_normal((20, 3))
    X[:, 1] = np.where(np.arange(20) % 2, 1e-200, -1e-200)
    with pytest.raises(DataError, match=r"column 1 is 1e-200"):
        view_of(X)
    X[:, 1] = 0.0
    X[4, 1] = 1e200
    weights = np.ones(20)
    weights[4] = 0.0
    assert center_rows(weighted(as_rows(X), weights), center=True, scale=None, ddof=1).norms[1] == 0
    X = np.random.default_rng(3).standard_normal((30, 3)).astype("f4")
    X[:, 1] *= np.float32(1e-40)
    for others in (1.0, 2e-38):
        X[:, ::2] *= np.float32(others)
        with pytest.warns(DiagnosticWarning, match="1 column holds only numbers below 1.2e-38.* column 1"):
            view = view_of(X, scale="unit")
        assert view.constant.tolist() == [False, True, False]
        with pytest.warns(DiagnosticWarning, match="counts as 0"):
            assert (dense(view_of(X))[:, 1] == 0).all() or others == 1.0


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("measure", [center_rows, scatter])
def test_a_column_beyond_the_range_is_named(array_kind, measure, center):
    if array_kind.dtype == np.float32:
        pytest.skip("every normal float32 is in range")
    for size in (1e-320, 1e-170, 1e-101, 1e101, 1e160, 1.7e308):
        X = np.random.default_rng(1).uniform(-1, 1, (40, 4))
        X[:2, 2] = 1.0, -1.0
        X[:, 2] *= size
        made = array_kind.make(X)
        options = {"scale": None, "ddof": 1} if measure is center_rows else {}
        with pytest.raises(DataError, match=r"column 2 is .* may be 1e-100 to 1e\+100. Divide it by 1e"):
            measure(as_rows(made), center=center, **options)
        with pytest.raises(DataError, match="column 2 is"):
            measure(as_rows(sp.csr_matrix(X)), center=center, **options)
    X[:, 2] = 0.0
    measure(as_rows(array_kind.make(X)), center=center, **options)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_a_probe_measures_the_error_of_float32_products(center, offset, monkeypatch):
    monkeypatch.setattr("gramian.engine.centered.CHUNK_ENTRIES", 128)  # several chunks in a block
    rng = np.random.default_rng(0)
    X, G = (rng.standard_normal((9000, 7)) + offset).astype(np.float32), rng.standard_normal((7, 4))
    X[:, 3] = 5.0  # a constant column
    found, _ = scatter(as_rows(X), center=center, probe=G)
    C = X.astype(float)
    C -= C.mean(axis=0) if center else 0.0
    error = found.squares - C.T @ C
    rounding = 1e-12 * np.linalg.norm(C) ** 2
    assert_allclose(found.gap, error @ G, atol=rounding)
    assert np.abs(found.gap).max() > 10 * rounding


@pytest.mark.parametrize(
    ("center", "scale"), [(True, None), (True, "unit"), (False, "pareto"), (True, "pareto"), (False, "array")]
)
def test_blocks_of_the_view(array_kind, center, scale):
    exact = np.random.default_rng(1).standard_normal((30, 4)) * [1, 5, 0.1, 2] + [3, 0, 1, -9]
    exact = exact.astype(array_kind.dtype).astype(np.float64)
    given = np.array([1.0, 2.0, 4.0, 8.0])
    view = view_of(array_kind.make(exact), center=center, scale=given if scale == "array" else scale)
    C = exact - exact.mean(axis=0) if center else exact
    deviation = np.sqrt((C**2).sum(axis=0) / 29)
    divisor = {None: 1.0, "unit": deviation, "pareto": np.sqrt(deviation), "array": given}[scale]
    tol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
    assert_allclose(dense(view), C / divisor, atol=tol * 10)
    assert_allclose(view.column_squares, ((C / divisor) ** 2).sum(axis=0), rtol=tol)
    assert view.total == pytest.approx(((C / divisor) ** 2).sum(), rel=tol)
    part = as_float64(view.block(slice(3, 9), slice(1, 3)))
    assert_allclose(part, (C / divisor)[3:9, 1:3], atol=tol * 10)
    assert view.constant.tolist() == [False] * 4


@pytest.mark.parametrize("offset", [1e8, 1e12, 1e15])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_far_from_the_origin_nothing_is_lost(offset, scale):
    """The numbers are multiples of 1/4, so that their differences are known exactly."""
    steps = np.random.default_rng(4).integers(-9, 9, (40, 3)) / 4.0
    C = steps - steps.mean(axis=0)
    C = C / C.std(axis=0, ddof=1) if scale else C
    view = view_of(steps + offset, scale=scale)
    # At 1e8 the second half of the mean is not worth a pass: its square is what counts.
    assert_allclose(dense(view), C, atol=1e-8 if offset == 1e8 else 1e-14)
    assert view.mean_error <= 1e-17 * view.total
    assert view_of(steps, scale=scale)._mean_in_parts[1] is None
