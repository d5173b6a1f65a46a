"""Kernels of some columns, of mapped rows, and of rows scaled to length 1 in feature space."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import gramian
from exact_kernels import excess
from gramian.errors import DataError, ParameterError
from gramian.kernels import (
    RBF,
    After,
    Cosine,
    Exp,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Sigmoid,
    kernel_from_name,
)
from gramian.kernels.algebra import MAPS

X = np.abs(np.random.default_rng(3).standard_normal((14, 4))) + 0.05
Y = X[:5] * 1.3 + 0.1
NAMES = ["age", "b m i", "größe", "x"]


def test_it_is_the_kernel_of_the_columns_alone_if_they_are_there():
    for columns, picked in [
        ((0,), [0]),
        ((2, 0), [2, 0]),
        ((-1,), [3]),
        (([1, 3],), [1, 3]),
        (((1, 3),), [1, 3]),
        ((np.array([1, 3]),), [1, 3]),
        ((np.int64(2),), [2]),
        ((range(1, 3),), [1, 2]),
        ((slice(2),), [0, 1]),
        ((slice(None, None, 2),), [0, 2]),
        ((slice(None, None, -1),), [3, 2, 1, 0]),
        ((slice(np.int64(1), None),), [1, 2, 3]),
        (("age", "größe"), [0, 2]),
        (("x", 0), [3, 0]),
    ]:
        for kernel in [RBF(), Polynomial(), Laplacian("median")]:
            made = kernel.on(*columns)
            resolved = made.resolve(X, NAMES)
            assert tuple(resolved.columns) == tuple(picked), (columns, picked, kernel)
            seen = np.take(X, picked, axis=1)
            assert resolved.kernel == kernel.resolve(seen), (columns, picked, kernel)
            assert_array_equal(resolved.gram(X), kernel.gram(seen), err_msg=repr((columns, picked, kernel)))
            expected = kernel.resolve(seen).gram(seen, np.take(Y, picked, axis=1))
            assert_array_equal(resolved.gram(X, Y), expected, err_msg=repr((columns, picked, kernel)))
            assert excess(resolved, X[:4]) <= 1, (columns, picked, kernel)
    for columns in [
        (4,),
        (-5,),
        ("BMI",),
        (0, -4),
        ("age", 0),
        (0, 0),
        ([],),
        (slice(4, 9),),
        (1.5,),
        (True,),
        (None,),
        ([[0]],),
    ]:
        with pytest.raises(ParameterError, match="columns"):
            RBF().on(*columns).resolve(X, NAMES)


def test_columns_by_name_or_number_are_the_same():
    kernel = (RBF().on("x", "age") + Linear()).normalized() * Cosine().on("größe").after(np.log1p)
    resolved = kernel.resolve(X, NAMES)
    assert "on(3, 0)" in repr(resolved)
    assert ".on(2).after(log1p)" in repr(resolved)
    # The second counts among the columns that the first has picked.
    twice = RBF().on("x").on("age", "x").resolve(X, NAMES)
    assert_array_equal(twice.gram(X), RBF().gram(X[:, [3]]))
    # A map may make other columns of them, so their names are gone.
    with pytest.raises(ParameterError, match=r"is not there: X has no column names\."):
        RBF().on("age").after(StandardScaler().fit(X)).resolve(X, NAMES)
    with pytest.raises(ParameterError, match=r"is not there: X has no column names\."):
        RBF().on("age").gram(X)
    assert RBF().on(0) == RBF().on([0]) == OnColumns(RBF(), (0,)) == OnColumns(RBF(), np.array([0]))
    assert len({RBF().on(0), RBF().on([0]), RBF().on(slice(1)), RBF().on(slice(1))}) == 2
    assert RBF().on(0) != RBF().on(1)
    assert RBF().on(slice(1)) != RBF().on(slice(2))
    assert RBF().on(0).psd
    # What needs two features to be refuted need not be on one.
    assert Sigmoid(1.0).on(0, 1).validity.status == "unknown"
    assert Polynomial(1.5, 1.0, 0.0).on(0).validity.status == "unknown"
    assert Sigmoid(1.0).on(slice(0, 2)).validity.status == "unknown"
    assert (-RBF()).on(0, 1).validity.status == "unknown"


def test_it_is_the_kernel_of_mapped_rows_and_keeps_some_proofs():
    for name in MAPS:
        for kernel in [RBF(), Linear(), Polynomial(2)]:
            made = kernel.after(MAPS[name])
            assert_array_equal(
                made.gram(X, Y), kernel.gram(MAPS[name](X), MAPS[name](Y)), err_msg=repr((name, kernel))
            )
            assert_array_equal(made.gram(X), kernel.gram(MAPS[name](X)), err_msg=repr((name, kernel)))
            assert repr(made) == f"{kernel!r}.after({name})", (name, kernel)
            assert kernel_from_name(repr(made)) == made, (name, kernel)
            assert made.psd, (name, kernel)
    scaler = StandardScaler().fit(X)
    for transform in (scaler, scaler.transform):
        made = RBF().after(transform)
        assert_allclose(made.gram(X, Y), RBF().gram(scaler.transform(X), scaler.transform(Y)))
    assert repr(RBF().after(scaler)) == "rbf().after(StandardScaler)"
    assert str(RBF(gamma=1).after(np.sqrt)) == "[exp(-1 ||x - y||^2)] of sqrt(x), sqrt(y)"
    rows = RBF().after(lambda rows: rows[:, :2] > 0.5)
    assert_array_equal(rows.gram(X), RBF().gram((X[:, :2] > 0.5).astype(float)))
    assert RBF().on(0).stationary
    assert not RBF().after(np.log).stationary
    assert_array_equal(np.diag(RBF().after(np.log).gram(X)), 1)
    assert Laplacian().after(np.log).psd
    assert Sigmoid(1.0).after(np.log).validity.status == "unknown"
    assert (RBF().after(np.sqrt) ** 0.5).psd


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maps_see_numpy_rows_of_float64(kind, dtype):
    xp = pytest.importorskip(kind)
    seen = []

    def look(rows):
        seen.append((type(rows), rows.dtype, rows.flags.writeable))
        rows *= 2
        return rows

    given = xp.asarray(X.astype(dtype))
    result = RBF().after(look).gram(given)
    assert set(seen) == {(np.ndarray, np.dtype(np.float64), True)}
    assert_array_equal(np.asarray(given), X.astype(dtype))
    assert_allclose(np.asarray(result), RBF().gram(2 * X.astype(dtype)), rtol=1e-6)


def test_maps_that_return_no_rows_are_refused_and_their_errors_come_through():
    for transform in [
        lambda rows: rows.sum(axis=1),
        lambda rows: rows[:3],
        lambda rows: rows.astype(str),
        lambda rows: rows * 1j,
        lambda rows: None,
        lambda rows: np.log(rows - X[2:3, 1:2]),
    ]:
        with pytest.raises(DataError, match="he map <lambda>"):
            RBF().after(transform).gram(X)

    def fails(rows):
        raise ZeroDivisionError("from the map")

    with pytest.raises(ZeroDivisionError, match="from the map"):
        RBF().after(fails).gram(X)


def test_printed_forms_and_formulas():
    for kernel, text in [
        (RBF().on(0), "rbf().on(0)"),
        (RBF().on("a", 2), "rbf().on('a', 2)"),
        (RBF().on(slice(3)), "rbf().on(slice(None, 3))"),
        (RBF().on(slice(0, 3, 2)), "rbf().on(slice(0, 3, 2))"),
        ((RBF() + Linear()).on(np.int64(1)), "(rbf() + linear()).on(1)"),
        ((2 * RBF()).normalized(), "(2 * rbf()).normalized()"),
        (RBF().normalized().on(0).after(np.abs), "rbf().normalized().on(0).after(abs)"),
        (Exp(RBF()).normalized() ** 2, "exp(rbf()).normalized() ** 2"),
    ]:
        assert repr(kernel) == text, (kernel, text)
        assert kernel_from_name(text) == kernel, (kernel, text)
        assert str(kernel), (kernel, text)
    assert str(Linear().on(0, "b")) == "[x . y] on (0, 'b')"
    assert str(Linear().normalized()) == "[k(x, y) / sqrt(k(x, x) k(y, y)), k = x . y]"
    scaler = StandardScaler().fit(X)
    assert After(RBF(), scaler).map is scaler
    assert After(RBF(), scaler) == After(RBF(), scaler)
    frame = pd.DataFrame(X, columns=NAMES)
    assert_allclose(RBF().after(np.sqrt).gram(frame), RBF().after(np.sqrt).gram(X), rtol=1e-13)


def divided(K):
    size = np.sqrt(np.diag(K))
    return K / size / size[:, None]


def test_normalized_divides_by_the_roots_of_the_diagonal():
    for kernel in [
        Linear(),
        Polynomial(),
        Exp(Linear()),
        RBF() + Linear(),
        3 * Matern(),
        Linear() ** 2 * RBF(),
    ]:
        made = kernel.normalized()
        assert_allclose(made.gram(X), divided(kernel.gram(X)), rtol=1e-12, err_msg=repr(kernel))
        every = divided(kernel.gram(np.vstack([X, Y])))
        assert_allclose(made.gram(X, Y), every[:14, 14:], rtol=1e-12, err_msg=repr(kernel))
        assert_array_equal(np.diag(made.gram(X)), 1, err_msg=repr(kernel))
        assert_array_equal(made.bind(X).diagonal(X), 1, err_msg=repr(kernel))
        assert_allclose(made.normalized().gram(X), made.gram(X), rtol=1e-13, err_msg=repr(kernel))
        assert np.abs(made.gram(X)).max() <= 1 + 1e-14, kernel
        assert made.psd, kernel
        assert np.linalg.eigvalsh(made.gram(X))[0] > -1e-13, kernel
    rows = np.vstack([X, np.zeros((1, 4))])
    assert_allclose(Linear().normalized().gram(rows), Cosine().gram(rows), atol=1e-14)
    assert_array_equal(Linear().normalized().gram(rows)[-1], 0)
    assert_allclose(RBF().normalized().gram(X), RBF().gram(X), rtol=1e-15)
    assert Normalized(RBF()).stationary
    kernel = Polynomial(1, 1.0, -1.0).normalized()
    rows = np.array([[1.1], [10.0], [3.0]])
    bound = kernel.bind(rows)
    K = kernel.gram(rows)
    assert K[0, 1] == pytest.approx(10 / np.sqrt(0.21 * 99))
    assert np.abs(K).max() <= bound.largest
    assert excess(kernel + Linear(), rows) <= 1
    assert kernel.validity.status == "unknown"


@pytest.mark.parametrize("kind", ["numpy", "torch", "array_api_strict"])
def test_normalized_in_every_kind_of_array_needs_a_diagonal_that_has_roots(kind):
    xp = pytest.importorskip(kind)
    rows = np.vstack([X, np.zeros((1, 4))])
    result = Linear().normalized().gram(xp.asarray(rows))
    assert_allclose(np.asarray(result), Linear().normalized().gram(rows), rtol=1e-13)
    with pytest.raises(DataError, match=r"\(linear\(\) - 50\.0\)\.normalized\(\) needs k\(x, x\) >= 0, but"):
        (Linear() - 50.0).normalized().gram(xp.asarray(rows))


def test_rows_that_are_tiny_beside_others_keep_a_small_bound():
    """Rounding is small beside k(x, x) of the row itself, not only beside the largest."""
    for text in [
        "linear",
        "poly(degree=2, gamma=1, coef0=0)",
        "poly(degree=3, gamma=0.5)",
        "linear + rbf",
        "linear * poly(gamma=1)",
        "exp(linear)",
        "2 * linear ** 3",
        "(linear + 0.5).on(0, 2)",
        "linear.normalized()",
        "matern * linear",
    ]:
        rows = X[:8].copy()
        rows[2] = [1e-9, 0, 2e-9, 1e-9]
        rows[5] *= 1e-30
        kernel = kernel_from_name(text).normalized()
        assert kernel.bind(rows).absolute < 1e-12, text
        assert excess(kernel, rows) <= 1, text
    rows = X[:4].copy()
    rows[2] *= 1e-30
    assert (Linear() * (RBF() - 0.5)).normalized().bind(rows).absolute == np.inf
    rows = np.vstack([X, np.full((1, 4), 1e-12)])
    model = gramian.KernelPCA(3, kernel="linear.normalized()").fit(rows)
    same = gramian.KernelPCA(3, kernel="cosine").fit(rows)
    assert model.rank_ == 3
    assert model.certificate_.ok
    assert_allclose(model.eigenvalues_, same.eigenvalues_, rtol=1e-12)
