"""A user's function as a kernel: of two rows, or of many at once, found out by trying."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from gramian.errors import DataError
from gramian.kernels import RBF, FunctionKernel, kernel_from_name

X = np.random.default_rng(1).standard_normal((6, 3))
Y = np.random.default_rng(2).standard_normal((4, 3))


def laplace(x, y, width=1.0):
    return np.exp(-np.abs(x - y).sum() / width)


def many(A, B, width=1.0):
    return np.exp(-cdist(A, B, "cityblock") / width)


def test_functions_are_called_with_rows_and_keywords():
    kernel = FunctionKernel(laplace, {"width": 2.0})
    expected = [[laplace(x, y, width=2.0) for y in X] for x in X]
    assert_array_equal(kernel.gram(X, X), expected)
    assert_array_equal(kernel.gram(X), expected)
    assert_array_equal(kernel.bind(X).diagonal(X), np.ones(6))
    expected = [[laplace(x, y, width=2.0) for y in Y] for x in X]
    for vectorised in (True, None):
        kernel = FunctionKernel(many, {"width": 2.0}, vectorised)
        assert kernel.resolve(X) == FunctionKernel(many, {"width": 2.0}, True)
        assert_allclose(kernel.gram(X, Y), expected, rtol=1e-14)
        assert_allclose(kernel.bind(X).diagonal(X), np.ones(6))
    seen = []

    def look(x, y):
        seen.append((x.shape, y.shape, x.dtype))
        return float(x @ y)

    K = FunctionKernel(look, vectorised=False).gram(X.astype(np.float32))
    assert set(seen) == {((3,), (3,), np.dtype(np.float64))}
    assert K.dtype == np.float32
    kept = X @ X.T

    kernel = FunctionKernel(lambda A, B: kept[: len(A), : len(B)], vectorised=True)
    before = kept.copy()
    (2 * kernel + 1).gram(X)
    assert_array_equal(kept, before)


def test_it_is_found_out_how_a_function_is_called():
    for d in [1, 2, 3]:
        for n in [1, 2, 3, 6]:
            for function, takes_many in [
                (many, True),
                (lambda x, y: x @ y.T, True),
                (lambda x, y: (x @ y.T).tolist(), True),
                (lambda x, y: x @ y.T > 0, True),
                (lambda x, y: cdist(x, y, "sqeuclidean").astype("f4"), True),
                (laplace, False),
                (np.dot, False),
                (np.inner, True),
                (lambda x, y: x @ y, False),
                (lambda x, y: float(x @ y), False),
                (lambda x, y: (x * y).sum(), False),
                (lambda x, y: (x * y).sum(axis=-1), False),
                (lambda x, y: np.exp(-((x - y) ** 2)).prod(axis=-1), False),
                (lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)), False),
                (lambda x, y: {}, False),
                (lambda x, y: x @ y.T + 1j, False),
                (lambda x, y: x @ y.T / len(x), False),
                (lambda x, y: np.tile(y.sum(axis=-1), (len(x), 1)) + np.arange(len(x))[:, None], False),
            ]:
                case = d, n, function, takes_many
                rows = np.abs(np.random.default_rng(3).standard_normal((n, d))) + 0.1
                result = FunctionKernel(function).resolve(rows).vectorised
                assert result is takes_many, case
                assert FunctionKernel(function, vectorised=True).resolve(rows).vectorised is True, case
                assert FunctionKernel(function, vectorised=False).resolve(rows).vectorised is False, case


def test_what_many_rows_give_is_what_they_give_one_by_one_or_broadcast():
    for n in [2, 3, 6]:
        for function in [lambda x, y: x @ y.T - np.mean(x @ y.T), lambda x, y: (x - x.mean(axis=0)) @ y.T]:
            assert not FunctionKernel(function).resolve(X[:n]).vectorised, (n, function)
    # x @ y of (3, 2) and (2, 2) has the right shape and means something else.
    kernel = FunctionKernel(lambda x, y: x @ y)
    for rows in (X[:, :2], X[:, :1], X[:1, :1], X[:2, :2]):
        assert_allclose(kernel.gram(rows), rows @ rows.T, rtol=1e-14)
        assert_allclose(kernel.gram(rows, rows[::-1]), rows @ rows[::-1].T, rtol=1e-14)
    kernel = FunctionKernel(lambda x, y: np.exp(-np.sum((x - y) ** 2, axis=-1)))
    assert_allclose(kernel.gram(X), RBF(gamma=1.0).gram(X), rtol=1e-12)
    pairs = FunctionKernel(lambda x, y: np.exp(-np.sum((x[:, None] - y[None]) ** 2, axis=-1)))
    assert pairs.resolve(X).vectorised
    assert_allclose(pairs.gram(X, Y), RBF(gamma=1.0).gram(X, Y), rtol=1e-12)

    def strict(x, y):
        if x.ndim != 1:
            raise ZeroDivisionError("one row at a time")
        return float(x @ y)

    assert_allclose(FunctionKernel(strict).gram(X), X @ X.T, rtol=1e-14)


@pytest.mark.parametrize("vectorised", [None, True, False])
def test_rows_cannot_be_written_into(vectorised):
    def shifts(x, y):
        x -= y[:1] if x.ndim == 2 else y
        return x @ y.T

    before = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        FunctionKernel(shifts, vectorised=vectorised).gram(X)
    assert_array_equal(X, before)


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
@pytest.mark.parametrize("function", [laplace, many])
def test_functions_see_numpy_whatever_the_rows_are(kind, function):
    xp = pytest.importorskip(kind)
    K = FunctionKernel(function).gram(xp.asarray(X), xp.asarray(Y))
    assert type(K) is type(xp.asarray(X))
    assert_array_equal(np.asarray(K), FunctionKernel(function).gram(X, Y))


def test_only_finite_numbers_are_taken_and_errors_come_through():
    for good in [1, np.float32(0.5), np.array(2.0), True]:
        K = FunctionKernel(lambda x, y, good=good: good).gram(X)
        assert K.dtype == np.float64
        assert_array_equal(K, np.full((6, 6), float(good)))
    for bad in [np.nan, np.inf, [1.0, 2.0], np.ones((1, 1)), None, "one", 1j]:
        with pytest.raises(DataError, match=r"; it must return one finite number for two rows\."):
            FunctionKernel(lambda x, y, bad=bad: bad).gram(X)

    def fails(x, y):
        raise ZeroDivisionError("from the function")

    for vectorised in (None, True, False):
        with pytest.raises(ZeroDivisionError, match="from the function"):
            FunctionKernel(fails, vectorised=vectorised).gram(X)
    for function in [
        lambda x, y: 1.0,
        lambda x, y: np.ones(len(x)),
        lambda x, y: np.ones((len(x), len(y))).astype(str),
        lambda x, y: x @ y.T * np.nan,
        lambda x, y: np.where(x @ y.T > 0, np.inf, 0),
    ]:
        with pytest.raises(DataError, match=r"; it must return finite numbers of shape \(6, 6\)\."):
            FunctionKernel(function, vectorised=True).gram(X)


def test_claims_nothing_and_compares_by_function_and_parameters():
    kernel = FunctionKernel(laplace)
    assert not kernel.psd
    assert not kernel.stationary
    assert not kernel.facts.divisible
    assert kernel.validity.status == "unknown"
    assert "no proof" in kernel.validity.reason
    # The function's own rounding is assumed, not proven.
    assert kernel.error_kind == "estimate"
    bound = kernel.bind(X)
    assert bound.relative > 0
    assert 0.3 < bound.largest <= 1.0
    assert FunctionKernel(laplace, {"width": 1.0}) == FunctionKernel(laplace, {"width": 1.0})
    assert FunctionKernel(laplace, {"width": 1.0}) != FunctionKernel(laplace, {"width": 2.0})
    assert FunctionKernel(laplace, vectorised=True) != FunctionKernel(laplace)
    assert FunctionKernel(laplace) != FunctionKernel(many)
    assert hash(FunctionKernel(laplace, {"width": 1.0})) == hash(FunctionKernel(laplace, {"width": 1.0}))
    assert FunctionKernel(laplace).get_params() == {"function": laplace, "params": None, "vectorised": None}
    assert repr(FunctionKernel(laplace)) == "callable(function=laplace)"
    assert str(FunctionKernel(laplace)) == "laplace(x, y)"
    assert str(FunctionKernel(lambda x, y: 0)) == "<lambda>(x, y)"

    class Function:
        def __call__(self, x, y):
            return float(x @ y)

    assert str(FunctionKernel(Function())) == "Function(x, y)"
    assert str(kernel_from_name(laplace) + RBF(gamma=1)) == "laplace(x, y) + exp(-1 ||x - y||^2)"


@pytest.mark.parametrize("vectorised", [True, False])
def test_what_a_value_costs_is_measured(vectorised):
    counted = []

    def product(x, y):
        counted.append(np.shape(x))
        return x @ y.T

    rows = np.random.default_rng(0).standard_normal((300, 3))
    cost = FunctionKernel(product, vectorised=vectorised).calls(rows)
    assert cost.scalar is (not vectorised)
    assert cost.seconds > 0
    # On a few rows, not on all.
    assert sum(shape[0] if vectorised else 1 for shape in counted) <= 100
