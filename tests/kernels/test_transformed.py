"""Kernels of some columns, of mapped rows, and of rows scaled to length 1 in feature space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gramian
from exact_kernels import excess
from gramian.errors import DataError, ParameterError
from gramian.kernels import (
    RBF,
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
    kernel = (RBF().on("x", "age") + Linear()).normalized() * Cosine().on("größe")
    resolved = kernel.resolve(X, NAMES)
    assert "on(3, 0)" in repr(resolved)
    assert ".on(2)" in repr(resolved)
    # The second counts among the columns that the first has picked.
    twice = RBF().on("x").on("age", "x").resolve(X, NAMES)
    assert_array_equal(twice.gram(X), RBF().gram(X[:, [3]]))
    with pytest.raises(ParameterError, match=r"is not there: X has no column names\."):
        RBF().on("age").gram(X)
    assert RBF().on(0) == RBF().on([0]) == OnColumns(RBF(), (0,)) == OnColumns(RBF(), np.array([0]))
    assert len({RBF().on(0), RBF().on([0]), RBF().on(1)}) == 2
    assert RBF().on(0) != RBF().on(1)
    assert RBF().on(0).psd
    # What needs two features to be refuted need not be on one.
    assert Sigmoid(1.0).on(0, 1).validity.status == "unknown"
    assert Polynomial(1.5, 1.0, 0.0).on(0).validity.status == "unknown"
    assert (-RBF()).on(0, 1).validity.status == "unknown"


def test_printed_forms_and_formulas():
    for kernel, text in [
        (RBF().on(0), "rbf().on(0)"),
        (RBF().on("a", 2), "rbf().on('a', 2)"),
        ((RBF() + Linear()).on(np.int64(1)), "(rbf() + linear()).on(1)"),
        ((2 * RBF()).normalized(), "(2 * rbf()).normalized()"),
        (RBF().normalized().on(0), "rbf().normalized().on(0)"),
        (Exp(RBF()).normalized() ** 2, "exp(rbf()).normalized() ** 2"),
    ]:
        assert repr(kernel) == text, (kernel, text)
        assert kernel_from_name(text) == kernel, (kernel, text)
        assert str(kernel), (kernel, text)
    assert str(Linear().on(0, "b")) == "[x . y] on (0, 'b')"
    assert str(Linear().normalized()) == "[k(x, y) / sqrt(k(x, x) k(y, y)), k = x . y]"


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
