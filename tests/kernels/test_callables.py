"""A user's function as a kernel."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.kernels import Callable

X = np.random.default_rng(1).standard_normal((6, 3))


def laplace(x, y, width=1.0):
    return np.exp(-np.abs(x - y).sum() / width)


def test_is_called_with_two_rows_and_keywords():
    kernel = Callable(laplace, {"width": 2.0})
    expected = [[laplace(x, y, width=2.0) for y in X] for x in X]
    np.testing.assert_array_equal(kernel.gram(X, X), expected)
    np.testing.assert_array_equal(kernel.gram(X), expected)
    np.testing.assert_array_equal(kernel.diagonal(X), np.ones(6))


def test_rows_are_vectors_of_float64():
    seen = []

    def look(x, y):
        seen.append((x.shape, y.shape, x.dtype))
        return float(x @ y)

    Callable(look).gram(X.astype(np.float32))
    assert set(seen) == {((3,), (3,), np.dtype(np.float64))}


@pytest.mark.parametrize("bad", [np.nan, np.inf, [1.0, 2.0], np.ones((1, 1))])
def test_anything_but_one_finite_number_is_refused(bad):
    with pytest.raises(DataError, match="must return one finite number"):
        Callable(lambda x, y: bad).gram(X)


@pytest.mark.parametrize("bad", [None, "one", 1j])
def test_what_is_no_real_number_is_refused(bad):
    with pytest.raises(DataError, match="must return one finite number"):
        Callable(lambda x, y: bad).gram(X)


@pytest.mark.parametrize("good", [1, np.float32(0.5), np.array(2.0), True])
def test_numbers_of_any_kind_are_taken(good):
    K = Callable(lambda x, y: good).gram(X)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, np.full((6, 6), float(good)))


def test_errors_of_the_function_come_through():
    def fails(x, y):
        raise ZeroDivisionError("from the function")

    with pytest.raises(ZeroDivisionError, match="from the function"):
        Callable(fails).gram(X)


def test_claims_nothing():
    kernel = Callable(laplace)
    assert not kernel.psd
    assert not kernel.stationary
    assert "no proof" in kernel.validity
    # The function's own rounding is assumed, not proven.
    assert kernel.error_kind == "estimate"
    assert kernel.bind(X).relative > 0


def test_compares_by_function_and_parameters():
    assert Callable(laplace, {"width": 1.0}) == Callable(laplace, {"width": 1.0})
    assert Callable(laplace, {"width": 1.0}) != Callable(laplace, {"width": 2.0})
    assert hash(Callable(laplace, {"width": 1.0})) == hash(Callable(laplace, {"width": 1.0}))
    assert Callable(laplace).get_params() == {"function": laplace, "params": None}
